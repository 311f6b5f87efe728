//! A linear part beside another model.

use super::log_sd::LOG_SD;
use super::{Activation, Model, OutputLayer, SecondOrderModel};
use crate::Error;
use crate::engine::layer::Layer;
use crate::engine::network::Network;
use crate::engine::{Tile, TileMut, TileStorage};
use crate::layout::{Block, Layout};

/// A model with a linear part beside it: skip-layer connections from the inputs to the outputs.
///
/// ```text
/// f(x; u, V) = g(x; u) + V x,   V [K x D]
/// ```
///
/// g is the base model, whose bias serves both parts. What is linear in the features need not be
/// learnt by hidden units, and outside the range of the training rows f goes on as a line where
/// the units of g are saturated. V is one more block, `skip`, after the blocks of g. For R rows of
/// a tile the linear part takes 4 K D R floating-point operations, forward and backward; its second
/// derivatives are zero. If the output layer of g can be [integrated
/// out](crate::targets::Marginal), V is integrated out with it.
///
/// Source: Ripley, *Pattern Recognition and Neural Networks* (1996), section 5.1,
/// doi:10.1017/CBO9780511812651.
///
/// ```
/// use bnn_mcmc::model::{Activation, Mlp, Model, Skip};
/// let model = Skip::new(Mlp::new(&[8, 40, 1], Activation::Tanh)?)?;
/// assert_eq!(model.layout().block_names(), ["w0", "b0", "w1", "b1", "skip"]);
/// assert_eq!(model.layout().dim(), 8 * 40 + 40 + 40 + 1 + 8);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip<M> {
    base: M,
    /// D, or 0 if there is no linear part.
    inputs: usize,
}

/// The name of the block of V.
const SKIP: &str = "skip";

/// The blocks of the weights of layers, in order, without the blocks of linear parts beside them, for the
/// outputs or for the noise; and the former, if there is one.
pub(crate) fn layers(layout: &Layout) -> (Vec<&Block>, Option<&Block>) {
    let is_matrix = |block: &&Block| block.shape.len() == 2 && block.name != LOG_SD[0];
    let matrices = layout.blocks().iter().filter(is_matrix);
    let (skip, layers): (Vec<_>, Vec<_>) = matrices.partition(|block| block.name == SKIP);
    (layers, skip.first().copied())
}

impl<M: Model> Skip<M> {
    /// `base` with a linear part beside it.
    ///
    /// # Errors
    /// A base with a block called `skip`.
    pub fn new(base: M) -> Result<Self, Error> {
        if base.layout().range(SKIP).is_some() {
            let allowed = "a model without a block of that name: one linear part is enough";
            return Err(Error::argument("block of the base", SKIP, allowed));
        }
        Ok(Self { inputs: base.n_inputs(), base })
    }

    /// `base` without a linear part, for programs that choose as they run: the same model as `base`.
    pub fn without(base: M) -> Self {
        Self { base, inputs: 0 }
    }

    /// The model beside the linear part.
    pub fn base(&self) -> &M {
        &self.base
    }

    /// The weights u of the base and the weights V.
    fn split<'w>(&self, w: &'w [f64]) -> (&'w [f64], &'w [f64]) {
        w.split_at(w.len() - self.inputs * self.n_outputs())
    }

    fn split_mut<'w>(&self, w: &'w mut [f64]) -> (&'w mut [f64], &'w mut [f64]) {
        w.split_at_mut(w.len() - self.inputs * self.n_outputs())
    }
}

/// Scratch memory of a [`Skip`] model.
#[derive(Debug)]
pub struct SkipWorkspace<W> {
    base: W,
    linear: Option<Linear>,
}

/// Scratch memory of the linear part.
#[derive(Debug)]
struct Linear {
    network: Network<f64>,
    /// V x.
    out: TileStorage,
}

impl Linear {
    /// Adds V x to `to`.
    fn add(&mut self, v: &[f64], x: Tile, mut to: TileMut) {
        let mut out = TileMut::new(&mut self.out[..to.values().len()], x.rows());
        self.network.forward(v, x, out.reborrow());
        to.values().iter_mut().zip(out.values()).for_each(|(to, part)| *to += *part); //~ skip-sum
    }
}

/// `axes` and the axis of V, if there is a V.
fn with_skip(mut axes: Vec<(String, usize)>, axis: usize, inputs: usize) -> Vec<(String, usize)> {
    axes.extend((inputs > 0).then(|| (SKIP.into(), axis)));
    axes
}

impl<M: Model> Model for Skip<M> {
    type Workspace = SkipWorkspace<M::Workspace>;

    /// The base's blocks, then `skip` `[K, D]` row-major.
    fn layout(&self) -> Layout {
        let layout = self.base.layout();
        match self.inputs {
            0 => layout,
            inputs => layout.with(SKIP, &[self.n_outputs(), inputs]),
        }
    }

    forward! { self => self.base;
        fn n_inputs() -> usize;
        fn n_outputs() -> usize;
        fn tile_rows() -> usize;
        fn named_axes() -> Vec<(String, usize, Vec<String>)>;
    }

    fn description(&self) -> Option<String> {
        let base = self.base.description()?;
        Some(if self.inputs == 0 { base } else { format!("{base}, linear part beside it") })
    }

    fn input_axes(&self) -> Vec<(String, usize)> {
        with_skip(self.base.input_axes(), 1, self.inputs)
    }

    fn output_axes(&self) -> Vec<(String, usize)> {
        with_skip(self.base.output_axes(), 0, self.inputs)
    }

    fn workspace(&self) -> Self::Workspace {
        let (inputs, units) = (self.inputs, self.n_outputs());
        let layer = Layer { inputs, units, bias: false, activation: Activation::Identity };
        let linear = (inputs > 0).then(|| Linear {
            network: Network::new(vec![layer]),
            out: TileStorage::for_columns(units),
        });
        SkipWorkspace { base: self.base.workspace(), linear }
    }

    fn begin(&self, w: &[f64], ws: &mut Self::Workspace) {
        let (u, v) = self.split(w);
        self.base.begin(u, &mut ws.base);
        if let Some(linear) = &mut ws.linear {
            linear.network.begin(v);
        }
    }

    fn forward(&self, w: &[f64], x: Tile, mut out: TileMut, ws: &mut Self::Workspace) {
        let (u, v) = self.split(w);
        self.base.forward(u, x, out.reborrow(), &mut ws.base);
        if let Some(linear) = &mut ws.linear {
            linear.add(v, x, out);
        }
    }

    fn backward(
        &self,
        w: &[f64],
        x: Tile,
        d_out: Tile,
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) {
        let ((u, v), (grad_u, grad_v)) = (self.split(w), self.split_mut(grad));
        self.base.backward(u, x, d_out, grad_u, &mut ws.base);
        if let Some(linear) = &mut ws.linear {
            linear.network.backward(v, x, d_out, grad_v); //~ skip-gradient
        }
    }

    fn finish(&self, grad: &mut [f64], ws: &mut Self::Workspace) {
        let (grad_u, grad_v) = self.split_mut(grad);
        self.base.finish(grad_u, &mut ws.base);
        if let Some(linear) = &mut ws.linear {
            linear.network.finish(grad_v);
        }
    }

    fn output_layer(&self) -> Result<OutputLayer, Error> {
        let layer = self.base.output_layer()?;
        if self.inputs == 0 {
            return Ok(layer);
        }
        if layer.hidden.is_none() {
            let found = self.description().unwrap_or_else(|| "a model of your own".into());
            let allowed = "hidden layers with a linear part beside them: beside a linear model it adds \
                           nothing";
            return Err(Error::argument("model", found, allowed));
        }
        Ok(OutputLayer { skip: true, ..layer })
    }
}

impl<M: SecondOrderModel> SecondOrderModel for Skip<M> {
    fn keep_backward(&self, w: &[f64], x: Tile, d_out: Tile, ws: &mut Self::Workspace) {
        self.base.keep_backward(self.split(w).0, x, d_out, &mut ws.base);
    }

    fn forward_tangent(
        &self,
        w: &[f64],
        x: Tile,
        v: &[f64],
        mut r_out: TileMut,
        ws: &mut Self::Workspace,
    ) {
        let (u, (of_u, of_v)) = (self.split(w).0, self.split(v));
        self.base.forward_tangent(u, x, of_u, r_out.reborrow(), &mut ws.base);
        if let Some(linear) = &mut ws.linear {
            linear.add(of_v, x, r_out);
        }
    }

    fn backward_tangent(
        &self,
        w: &[f64],
        x: Tile,
        v: &[f64],
        r_d_out: Tile,
        hv: &mut [f64],
        ws: &mut Self::Workspace,
    ) {
        let ((u, own), of_u, (hv_u, hv_v)) = (self.split(w), self.split(v).0, self.split_mut(hv));
        self.base.backward_tangent(u, x, of_u, r_d_out, hv_u, &mut ws.base);
        if let Some(linear) = &mut ws.linear {
            linear.network.backward(own, x, r_d_out, hv_v);
            linear.network.finish(hv_v);
        }
    }
}
