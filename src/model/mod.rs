//! Models: the map f(x; w) from inputs to outputs, and its derivative.
//!
//! A model is independent of likelihoods and priors. The link (sigmoid, softmax) belongs to the
//! [likelihood](crate::likelihood), so a model's output layer is linear unless asked otherwise.
//!
//! [`SecondOrderModel`] adds the derivative of the derivative, which a Hessian needs.

/// The walk of a [`Model`] whose workspace has a `network` of the engine.
macro_rules! walk_of_network {
    () => {
        fn begin(&self, w: &[f64], ws: &mut Self::Workspace) {
            ws.network.begin(w);
        }

        fn forward(&self, w: &[f64], x: Tile, out: TileMut, ws: &mut Self::Workspace) {
            ws.network.forward(w, x, out);
        }

        fn backward(
            &self,
            w: &[f64],
            x: Tile,
            d_out: Tile,
            grad: &mut [f64],
            ws: &mut Self::Workspace,
        ) {
            ws.network.backward(w, x, d_out, grad);
        }

        fn finish(&self, grad: &mut [f64], ws: &mut Self::Workspace) {
            ws.network.finish(grad);
        }
    };
}

/// Row-by-row descent of a [`Model`] whose network computes in f64.
macro_rules! descent_of_network {
    () => {
        fn descend_rows(
            &self,
            w: &mut [f64],
            x: &Tiles,
            y: &Tiles,
            rate: f64,
            ws: &mut Self::Workspace,
        ) -> bool {
            ws.network.descend(w, x, y, rate)
        }
    };
}

mod init;
mod linear;
mod linearised;
mod log_sd;
pub mod logistic;
mod mlp;
mod mlp_f32;
mod non_centred;
mod offset;
mod skip;

pub use crate::engine::Activation;
pub use init::WeightInit;
pub use linear::Linear;
pub(crate) use linearised::LINEARISED;
pub use linearised::Linearised;
pub use log_sd::LogSd;
pub use mlp::Mlp;
pub use mlp_f32::MlpF32;
pub use non_centred::NonCentred;
pub use offset::Offset;
pub use skip::Skip;
pub(crate) use skip::{columns, layers};

use std::ops::Range;

use crate::Error;
use crate::engine::{Tile, TileMut, Tiles};
use crate::layout::Layout;

/// The most inputs, units or outputs of a layer, 2^24: the number of its weights is then a `usize`.
const MAX_SIZE: usize = 1 << 24;

/// A parametric function of the inputs, evaluated on one [tile](crate::engine) of rows at a time.
///
/// The layout's blocks say what the flat vector `w` holds. A workspace belongs to one chain. One
/// evaluation at w is [`begin`](Self::begin); for every tile [`forward`](Self::forward) and, if its
/// derivative is wanted, [`backward`](Self::backward); and [`finish`](Self::finish).
pub trait Model: Sync {
    /// Scratch memory of one chain: activations of one tile, and whatever else is needed.
    type Workspace: Send;

    /// The named blocks of w.
    fn layout(&self) -> Layout;

    /// The number of input columns.
    fn n_inputs(&self) -> usize;

    /// The number of output columns.
    fn n_outputs(&self) -> usize;

    /// The function in words: `Mlp 4-10-3, tanh`. A posterior refuses to predict with draws of a
    /// model with another description; `None`, the default, is not compared. Keep it when the type
    /// moves.
    fn description(&self) -> Option<String> {
        None
    }

    /// The axes of blocks along which the inputs lie, as block and number of the axis; none by
    /// default. Files of draws name their places by the features.
    fn input_axes(&self) -> Vec<(String, usize)> {
        Vec::new()
    }

    /// The axes of blocks along which the outputs lie, as block and number of the axis; none by
    /// default. Files of draws name their places by the responses or classes.
    fn output_axes(&self) -> Vec<(String, usize)> {
        Vec::new()
    }

    /// Axes of blocks whose places have names of their own, as block, number of the axis and names;
    /// none by default. Files of draws write them.
    fn named_axes(&self) -> Vec<(String, usize, Vec<String>)> {
        Vec::new()
    }

    /// The most rows of a tile that the model is given: a multiple of
    /// [`LANES`](crate::engine::LANES), at most [`TILE_ROWS`](crate::engine::TILE_ROWS).
    ///
    /// The default is 192, not 256: columns that are a power of two apart compete for the same
    /// places of the cache.
    fn tile_rows(&self) -> usize {
        192
    }

    /// Scratch memory for tiles of up to [`TILE_ROWS`](crate::engine::TILE_ROWS) rows.
    fn workspace(&self) -> Self::Workspace;

    /// Begins an evaluation at `w`: called once, before the first tile. Does nothing by default.
    fn begin(&self, _w: &[f64], _ws: &mut Self::Workspace) {}

    /// Writes f(x; w) into `out` `[rows x n_outputs]`. The padding of `out` may hold anything.
    fn forward(&self, w: &[f64], x: Tile, out: TileMut, ws: &mut Self::Workspace);

    /// Adds to `grad` (as long as `w`) the derivative of sum(d_out * f(x; w)) with respect to w, now
    /// or in [`finish`](Self::finish).
    ///
    /// Called after [`forward`](Self::forward) with the same `w`, `x` and workspace, so that its
    /// activations can be used again. The padding of `d_out` is zero.
    fn backward(&self, w: &[f64], x: Tile, d_out: Tile, grad: &mut [f64], ws: &mut Self::Workspace);

    /// Adds to `grad` the sums that [`backward`](Self::backward) has kept in the workspace, and
    /// resets them: called once, after the last tile. Does nothing by default.
    fn finish(&self, _grad: &mut [f64], _ws: &mut Self::Workspace) {}

    /// The linear layer that the model ends in, if it ends in one whose weights can be [integrated
    /// out](crate::targets::Marginal); else an error that describes the model. By default it is not
    /// known.
    fn output_layer(&self) -> Result<OutputLayer, Error> {
        let found = self.description().unwrap_or_else(|| "a model of your own".into());
        Err(Error::argument("model", found, LINEAR_OUTPUTS))
    }

    /// Moves `w` by one pass of gradient descent on half the squared error, row by row, if the model
    /// has a faster way than [`backward`](Self::backward) for one row after the other; returns
    /// whether it has. None by default.
    ///
    /// ```text
    /// w <- w + rate J(x_i)^T (y_i - f(x_i; w)),   i = 1, .., N
    /// ```
    ///
    /// `y` has as many columns as the model has outputs, and is cut into tiles as `x` is. The
    /// likelihood's parameters and the prior play no part. If it returns false, `w` is unchanged.
    fn descend_rows(
        &self,
        _w: &mut [f64],
        _x: &Tiles,
        _y: &Tiles,
        _rate: f64,
        _ws: &mut Self::Workspace,
    ) -> bool {
        false
    }
}

/// The models whose output layer can be integrated out, in words.
const LINEAR_OUTPUTS: &str = "Linear, or an Mlp in f64 whose outputs have no activation";

/// The linear layer that a model ends in: f(x; w) = W h(x; v) + V_1 x_1 + V_2 x_2 + .. + b with w = (v, W, b,
/// V_1, V_2, ..), W `[K x H]` row-major, b `[K]`, and V_i `[K x D_i]` row-major for some of the inputs, x_i.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputLayer {
    /// The layers before, a network of the first inputs with the weights v and H outputs; without any, h(x)
    /// are the inputs before x_1.
    pub hidden: Option<NonCentred<Mlp>>,
    /// Whether there is a b.
    pub bias: bool,
    /// The inputs x_1, x_2, ..: [skip-layer connections and groups](Skip). Each begins where the one
    /// before ends, and the last one ends with the inputs.
    pub beside: Vec<Range<usize>>,
    /// Whether as many outputs follow that are no part of the layer, the log standard deviations of the
    /// noise: [linear in the features](LogSd), with weights `[K x D]` and biases `[K]` after the layer's own.
    pub log_sd: bool,
}

/// A model with second derivatives, by the R-operator: R = d/dr at w + r v, the derivative along v.
///
/// ```text
/// R f                       = J v                      forward_tangent
/// R [J^T d_out]             = J^T (R d_out) + (R J^T) d_out      backward_tangent
/// ```
///
/// J is the Jacobian of the outputs of a tile with respect to w. The order of calls on one tile is
/// [`forward`](Model::forward); [`keep_backward`](Self::keep_backward) with d_out; then for each v
/// `forward_tangent` and `backward_tangent`: computations that do not depend on v are done once. A
/// product with the Gauss-Newton matrix, J^T C J v, is `forward_tangent`, then
/// [`backward`](Model::backward) with C J v and [`finish`](Model::finish), and needs no
/// `keep_backward`. Source: B. Pearlmutter, Neural Computation 6, 1994,
/// doi:10.1162/neco.1994.6.1.147.
pub trait SecondOrderModel: Model {
    /// Goes back through the model once with d_out, whose padding is zero, and keeps in the
    /// workspace the results that all directions share.
    fn keep_backward(&self, w: &[f64], x: Tile, d_out: Tile, ws: &mut Self::Workspace);

    /// Writes J v into `r_out` `[rows x n_outputs]`, v as long as w. The padding of `r_out` may hold
    /// anything.
    fn forward_tangent(
        &self,
        w: &[f64],
        x: Tile,
        v: &[f64],
        r_out: TileMut,
        ws: &mut Self::Workspace,
    );

    /// Adds to `hv` (as long as w) the derivative along v of the gradient that
    /// [`backward`](Model::backward) adds, where d_out moves by `r_d_out`, whose padding is zero.
    /// Called after [`keep_backward`](Self::keep_backward), and
    /// [`forward_tangent`](Self::forward_tangent) with the same v.
    fn backward_tangent(
        &self,
        w: &[f64],
        x: Tile,
        v: &[f64],
        r_d_out: Tile,
        hv: &mut [f64],
        ws: &mut Self::Workspace,
    );
}
