//! The shape of a layer.

use super::activation::Activation;
use super::dense;
use super::simd::Real;

/// The shape of a layer: h = phi(W x + b), W `[units x inputs]` row-major.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer {
    pub(crate) inputs: usize,
    pub(crate) units: usize,
    pub(crate) bias: bool,
    pub(crate) activation: Activation,
}

impl Layer {
    /// The number of weights, without biases.
    pub(super) fn n_weights(&self) -> usize {
        self.units * self.inputs
    }

    /// The number of weights and biases.
    pub(super) fn len(&self) -> usize {
        self.n_weights() + if self.bias { self.units } else { 0 }
    }

    pub(super) fn is_wide(&self) -> bool {
        dense::is_wide(self.units, self.inputs)
    }

    /// The number of entries that the sums of the layer's gradient take.
    pub(super) fn n_sums<F: Real>(&self) -> usize {
        if self.is_wide() { self.len().next_multiple_of(F::LANES) } else { self.len() * F::LANES }
    }
}
