//! Networks of which units are left out at random, as a target for optimisers.

use std::ops::Range;

use crate::layout::{Block, Layout};
use crate::rng::ChainRng;
use crate::targets::{GradTarget, LogDensity, MinibatchTarget, Target, TargetInfo};

/// The factors by which dropout multiplies the weights of a network.
///
/// A network in which a unit is left out is the same network with the weights that start from the
/// unit set to 0; the weights of the units that are kept are divided by the share that is kept.
#[derive(Clone, Debug)]
pub(super) struct Masks {
    rate: f64,
    /// The weights of some layers: where they are in q, and how many inputs a layer has.
    layers: Vec<(Range<usize>, usize)>,
}

impl Masks {
    /// Masks for the inputs of the layers with these weights, `[units x inputs]`, each left out at
    /// this rate.
    pub(super) fn new<'b>(rate: f64, weights: impl IntoIterator<Item = &'b Block>) -> Self {
        let layer = |block: &Block| (block.range.clone(), block.shape[1]);
        Self { rate, layers: weights.into_iter().map(layer).collect() }
    }

    /// Draws which inputs are left out, into the factors of the coordinates of q.
    pub(super) fn draw(&self, rng: &mut ChainRng, factors: &mut [f64]) {
        for (range, inputs) in &self.layers {
            for input in 0..*inputs {
                let is_kept = rng.uniform() >= self.rate;
                let factor = if is_kept { 1.0 / (1.0 - self.rate) } else { 0.0 }; //~ dropout-scale
                let weights = factors[range.clone()].iter_mut().skip(input).step_by(*inputs);
                weights.for_each(|f| *f = factor);
            }
        }
    }
}

/// The log density of a prior, with its gradient, which is overwritten.
type LogPrior<'a> = dyn Fn(&[f64], &mut [f64]) -> f64 + Sync + 'a;

/// The log likelihood `base` of a network with other units left out at every evaluation of a
/// minibatch, and the log prior of the whole network. The density itself, and its full gradient, are
/// of the whole network.
pub(super) struct Masked<'a, T> {
    base: T,
    masks: Masks,
    rng: ChainRng,
    /// The log prior, which is added at the unmasked weights.
    prior: Box<LogPrior<'a>>,
}

/// Scratch memory of [`Masked`].
pub(super) struct MaskedWorkspace<W> {
    base: W,
    rng: ChainRng,
    q: Vec<f64>,
    /// The factor of each coordinate of q.
    factors: Vec<f64>,
    of_prior: Vec<f64>,
}

impl<'a, T: Target> Masked<'a, T> {
    /// Masks are drawn from copies of `rng`, one for each workspace.
    pub(super) fn new(
        base: T,
        masks: Masks,
        rng: ChainRng,
        prior: impl Fn(&[f64], &mut [f64]) -> f64 + Sync + 'a,
    ) -> Self {
        Self { base, masks, rng, prior: Box::new(prior) }
    }

    /// `value` and `grad` with the prior's.
    fn add_prior(
        &self,
        mut value: LogDensity,
        q: &[f64],
        grad: &mut [f64],
        of_prior: &mut [f64],
    ) -> LogDensity {
        value.prior += (self.prior)(q, of_prior);
        //~ dropout-prior
        grad.iter_mut().zip(of_prior).for_each(|(grad, prior)| *grad += *prior);
        value
    }
}

impl<T: Target> Target for Masked<'_, T> {
    type Workspace = MaskedWorkspace<T::Workspace>;

    fn dim(&self) -> usize {
        self.base.dim()
    }

    fn workspace(&self) -> Self::Workspace {
        let zeros = vec![0.0; self.base.dim()];
        MaskedWorkspace {
            base: self.base.workspace(),
            rng: self.rng.clone(),
            factors: vec![1.0; zeros.len()],
            q: zeros.clone(),
            of_prior: zeros,
        }
    }

    fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        let value = self.base.log_density(q, &mut ws.base);
        self.add_prior(value, q, &mut [], &mut ws.of_prior)
    }

    fn layout(&self) -> Layout {
        self.base.layout()
    }

    fn draw_start(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), crate::Error> {
        self.base.draw_start(rng, q)
    }

    fn info(&self) -> Option<TargetInfo> {
        self.base.info()
    }
}

impl<T: GradTarget> GradTarget for Masked<'_, T> {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let value = self.base.log_density_grad(q, grad, &mut ws.base);
        self.add_prior(value, q, grad, &mut ws.of_prior)
    }
}

impl<T: MinibatchTarget> MinibatchTarget for Masked<'_, T> {
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
        self.masks.draw(&mut ws.rng, &mut ws.factors);
        ws.q.iter_mut().zip(q.iter().zip(&ws.factors)).for_each(|(to, (q, f))| *to = q * f);
        let value = self.base.minibatch_grad_at(beta, rows, &ws.q, grad, &mut ws.base);
        grad.iter_mut().zip(&ws.factors).for_each(|(grad, f)| *grad *= f); //~ dropout-chain-rule
        self.add_prior(value, q, grad, &mut ws.of_prior)
    }
}
