//! Dropout, as a target for optimisers.

use std::ops::Range;

use crate::layout::Layout;
use crate::rng::ChainRng;
use crate::targets::{GradTarget, LogDensity, MinibatchTarget, Target};

/// The gradients of `base`, a network's log likelihood, with some inputs and units of the first
/// hidden layer left out: others at every evaluation of a minibatch.
///
/// A network in which they are left out is the same network with the weights that start from them
/// set to 0; those of the others are divided by the share that is kept. The density itself is that
/// of the whole network.
pub(super) struct Dropout<T> {
    base: T,
    rate: f64,
    /// The weights of the first two layers: where they are in q, and how many inputs a layer has.
    layers: Vec<(Range<usize>, usize)>,
    seed: u64,
}

/// Scratch memory of [`Dropout`].
pub(super) struct DropoutWorkspace<W> {
    base: W,
    rng: ChainRng,
    q: Vec<f64>,
    /// The factor of each coordinate of q.
    factors: Vec<f64>,
}

impl<T: Target> Dropout<T> {
    /// `sizes` are those of the network, whose weights begin q.
    pub fn new(base: T, rate: f64, sizes: &[usize], seed: u64) -> Self {
        let layout = base.layout();
        let layer = |l: usize| layout.range(&format!("w{l}")).map(|range| (range, sizes[l]));
        // Hidden units of a network without a second layer cannot be left out: they are outputs.
        let layers = (0..2.min(sizes.len() - 1)).filter_map(layer).collect();
        Self { base, rate, layers, seed }
    }

    /// Draws which inputs are left out.
    fn draw(&self, ws: &mut DropoutWorkspace<T::Workspace>) {
        for (range, inputs) in &self.layers {
            for input in 0..*inputs {
                let is_kept = ws.rng.uniform() >= self.rate;
                let factor = if is_kept { 1.0 / (1.0 - self.rate) } else { 0.0 };
                let weights = ws.factors[range.clone()].iter_mut().skip(input).step_by(*inputs);
                weights.for_each(|f| *f = factor);
            }
        }
    }
}

impl<T: Target> Target for Dropout<T> {
    type Workspace = DropoutWorkspace<T::Workspace>;

    fn dim(&self) -> usize {
        self.base.dim()
    }

    fn workspace(&self) -> Self::Workspace {
        let dim = self.base.dim();
        let (q, factors) = (vec![0.0; dim], vec![1.0; dim]);
        DropoutWorkspace {
            base: self.base.workspace(),
            rng: ChainRng::new(self.seed, 2),
            q,
            factors,
        }
    }

    fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        self.base.log_density(q, &mut ws.base)
    }

    fn layout(&self) -> Layout {
        self.base.layout()
    }
}

impl<T: GradTarget> GradTarget for Dropout<T> {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        self.base.log_density_grad(q, grad, &mut ws.base)
    }
}

impl<T: MinibatchTarget> MinibatchTarget for Dropout<T> {
    fn n_obs(&self) -> usize {
        self.base.n_obs()
    }

    fn minibatch_grad_at(
        &self,
        beta: f64,
        rows: &[usize],
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        self.draw(ws);
        ws.q.iter_mut().zip(q.iter().zip(&ws.factors)).for_each(|(to, (q, f))| *to = q * f);
        let value = self.base.minibatch_grad_at(beta, rows, &ws.q, grad, &mut ws.base);
        grad.iter_mut().zip(&ws.factors).for_each(|(grad, f)| *grad *= f);
        value
    }
}
