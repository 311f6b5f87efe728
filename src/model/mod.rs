//! Models: the map f(x; w) from inputs to outputs, and its derivative.
//!
//! A model knows nothing of likelihoods and priors. The link (sigmoid, softmax) belongs to the
//! [likelihood](crate::likelihood), so a model's output layer is linear unless asked otherwise.

pub mod activation;
pub mod init;
pub mod linear;
pub mod logistic;
pub mod mlp;

pub use activation::Activation;
pub use init::WeightInit;
pub use linear::Linear;
pub use mlp::Mlp;

use crate::layout::Layout;
use crate::tile::{Tile, TileMut};

/// The most inputs, units or outputs of a layer, 2^24: the number of its weights is then a `usize`.
const MAX_SIZE: usize = 1 << 24;

/// A parametric function of the inputs, evaluated on one [tile](crate::tile) of rows at a time.
///
/// The layout's blocks say what the flat vector `w` holds. A workspace belongs to one chain.
pub trait Model: Sync {
    /// Scratch memory of one chain: activations of one tile, and whatever else is needed.
    type Workspace: Send;

    /// The named blocks of w.
    fn layout(&self) -> Layout;

    /// The number of input columns.
    fn n_inputs(&self) -> usize;

    /// The number of output columns.
    fn n_outputs(&self) -> usize;

    /// Scratch memory for tiles of up to [`TILE_ROWS`](crate::tile::TILE_ROWS) rows.
    fn workspace(&self) -> Self::Workspace;

    /// Writes f(x; w) into `out` `[rows x n_outputs]`. The padding of `out` may hold anything.
    fn forward(&self, w: &[f64], x: Tile, out: TileMut, ws: &mut Self::Workspace);

    /// Adds to `grad` (as long as `w`) the derivative of sum(d_out * f(x; w)) with respect to w.
    ///
    /// Called after [`forward`](Self::forward) with the same `w`, `x` and workspace, so that its
    /// activations can be used again. The padding of `d_out` is zero.
    fn backward(&self, w: &[f64], x: Tile, d_out: Tile, grad: &mut [f64], ws: &mut Self::Workspace);
}
