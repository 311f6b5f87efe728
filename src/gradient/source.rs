//! Sources of gradients, and the step that a gradient stands for.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::kernel::Step;
use crate::rng::ChainRng;
use crate::targets::{LogDensity, Point, Target};

/// A source of gradients: its configuration.
///
/// With N rows of data and a batch b of |b| of them, g~(q) is one of
///
/// ```text
/// FullGrad          grad log pi(q)
/// Minibatch         grad log p(q) + N/|b| sum_b grad ell_i(q)
/// ControlVariates   grad log pi(m) + [grad log p(q) - grad log p(m)]
///                   + N/|b| sum_b [grad ell_i(q) - grad ell_i(m)]
/// ```
///
/// where m is a mode of pi, or a point near one. All have the full gradient as their mean. The variance
/// of the second is of order N^2/|b| everywhere; the variance of the third is smaller by the factor |q - m|^2
/// (for rows of unit scale): it pays where the posterior is narrow and has one mode, and costs more
/// than it gains where q is far from m, in another mode of a network, say.
///
/// **Batches.** Rows are drawn without replacement over an epoch: each is used once before any is used
/// again, in an order that is drawn anew for every epoch. If |b| does not divide N, the N mod |b| rows
/// that are left over at the end of an epoch are left out of it (other rows each time), so that all
/// batches have the same noise. The place in the epoch and its order belong to the kernel's state: a
/// resumed run goes on with the batch that an uninterrupted one would have used.
///
/// **Thinning.** The noises of an epoch nearly add up to zero, so that the distribution that is
/// sampled depends on the place in the epoch: right after its end the bias is smallest, halfway it
/// is largest. Thinning by a number that shares a factor with N/|b| sees some of the places only.
/// On the line of [`Sgld`](crate::sampler::Sgld), with ten batches and h = 5e-4, thinned by 10, the
/// error of the variances was +0.14 at the end of epochs and +0.37 halfway; thinned by 7, +0.30.
///
/// **Cost.** A minibatch gradient costs |b|/N of a full one, one with control variates twice that;
/// both count in a step's `gradient_evals` as 1 and 2, not as parts of a full gradient. The full
/// gradient at m is computed once, when the kernel is built. O(d) beside it: the prior's gradient.
///
/// **The cost in accuracy** (`crates/studies/src/sgmcmc_bias.rs`; logistic regression, 35 weights, 246 rows,
/// against a long run of NUTS): mean relative error of the posterior variances, for as many visits
/// of rows, a step with control variates costing two minibatches. Noise of these runs: 0.02. In
/// brackets the root mean squared error of the predicted probabilities of test rows, in per cent;
/// its noise is 0.5 to 0.7.
///
/// | batch | h | SGLD | with control variates | h | SGHMC | BAOAB | BAOAB, control variates |
/// | --- | --- | --- | --- | --- | --- | --- | --- |
/// | 8 | 0.016 | +4.15 (5.9) | +2.25 (4.3) | 0.13 | +3.16 (5.5) | +2.86 (5.2) | +1.35 (3.5) |
/// | 8 | 0.008 | +0.94 (3.5) | +0.38 (2.1) | 0.089 | +1.14 (3.8) | +1.16 (3.8) | +0.46 (2.3) |
/// | 8 | 0.004 | +0.20 (1.9) | +0.06 (1.0) | 0.063 | +0.49 (2.7) | +0.49 (2.7) | +0.17 (1.5) |
/// | 30 | 0.016 | +0.50 (2.9) | +0.24 (1.7) | 0.13 | +0.57 (3.4) | +0.18 (1.8) | +0.05 (0.8) |
/// | 30 | 0.008 | +0.07 (1.2) | +0.03 (0.6) | 0.089 | +0.08 (1.2) | +0.05 (1.1) | +0.00 (0.6) |
/// | 30 | 0.004 | +0.00 (0.7) | +0.01 (0.5) | 0.063 | +0.02 (0.8) | +0.01 (0.7) | -0.00 (0.5) |
///
/// The bias falls with h and with the noise of the gradient, and control variates beat plain minibatches at
/// equal cost wherever the bias exceeds the noise of the runs. With data as few as these, MALA on all rows gets as far without bias.
///
/// No kernel with a Metropolis test has a gradient source: the test would need the exact density.
///
/// Sources: minibatches, Welling and Teh, *Bayesian learning via stochastic gradient Langevin
/// dynamics*, ICML 2011; control variates, Baker, Fearnhead, Fox and Nemeth, Statistics and Computing
/// 29, 2019, arXiv:1706.05439.
pub trait GradSource<T: Target>: Sync {
    /// The gradients of one chain.
    type Stream: GradStream<T>;

    /// The source's name, which becomes part of the [name](crate::sampler::Algorithm::name) of the
    /// algorithm that uses it.
    fn name(&self) -> String;

    /// Checks the configuration against the target and allocates the memory that a gradient needs.
    fn stream(&self, target: &T) -> Result<Self::Stream, Error>;
}

/// The gradients of one chain, with their state.
///
/// A stream holds the gradient at one position, where the chain is.
pub trait GradStream<T: Target>: Send {
    /// All that the next gradient depends on besides the position and the chain's random stream.
    type State: Serialize + DeserializeOwned + Send;

    /// Whether the gradients are exact, the log density's own, and [`estimate`](Self::estimate) is
    /// its value.
    const IS_EXACT: bool;

    /// A copy of the state.
    fn state(&self) -> Self::State;

    /// Takes up a state that a stream of the same configuration on the same target had.
    fn restore(&mut self, state: Self::State);

    /// Makes the gradient at `point` the one that is held, unless it is that already.
    ///
    /// Returns the step for a move to `point`, with the number of gradients evaluated: it is not
    /// accepted outside the support, and divergent where the density or its gradient is not finite.
    /// Then the gradient that was held before still is. Must not allocate.
    fn eval(
        &mut self,
        target: &T,
        point: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step;

    /// The gradient at `point`, which `eval` has accepted.
    fn grad<'a>(&'a self, point: &'a Point) -> &'a [f64];

    /// The log density at `point` as far as the evaluation of its gradient gives it: the value, or
    /// an unbiased estimate. It is not part of the state, hence NaN after the state was restored.
    fn estimate(&self, point: &Point) -> LogDensity;
}

/// The step where the gradient is known already.
pub(super) const KNOWN: Step =
    Step { accept_prob: None, accepted: true, divergent: false, gradient_evals: 0 };

/// The step that moves to a position with this log density and gradient.
pub(super) fn arrival(density: LogDensity, grad: &[f64], gradient_evals: u32) -> Step {
    let outside = density.is_outside_support();
    let fine = density.is_finite() && grad.iter().all(|g| g.is_finite());
    Step { accept_prob: None, accepted: fine, divergent: !fine && !outside, gradient_evals }
}
