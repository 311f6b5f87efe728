//! The no-U-turn sampler: Hamiltonian Monte Carlo that finds its path length by itself.

use serde::{Deserialize, Serialize};

use super::dynamics::{Flow, HamiltonianState, Last, PhasePoint};
use super::tree::{Builder, Tree};
use crate::Error;
use crate::portable::exp;
use crate::rng::ChainRng;
use crate::sampler::climb::climb;
use crate::sampler::{Algorithm, Kernel, Preconditioner, Step, WarmupProgress};
use crate::targets::{GradTarget, Point};

/// The no-U-turn sampler.
///
/// Each transition draws a momentum and grows a trajectory of the [dynamics](crate::sampler::Hmc#dynamics) by
/// doubling: a fair coin says forwards or backwards in time, and as many leapfrog steps as the
/// trajectory has points are appended at that end. It stops when the trajectory turns back on
/// itself, or at `max_depth` doublings.
///
/// **Turning.** With rho the sum of the momenta of a trajectory whose first and last momenta are
/// p_first and p_last (momenta being standard normal, no mass matrix appears),
///
/// ```text
/// turns = p_first . rho <= 0  or  p_last . rho <= 0
/// ```
///
/// This condition is checked for every subtree that a doubling builds: a subtree that turns within
/// itself is thrown away whole, so that the trajectory could have been grown from any of its
/// points. When two halves are joined it is checked for the whole, and for each half together with
/// the nearest point of the other: without these checks a trajectory of a nearly normal target can
/// run through whole periods unnoticed (Stan's issue 2799, 2019; Stan and PyMC do the same).
///
/// **Which point.** Point z of the trajectory has weight w = exp(H_0 - H(z)). Within a subtree the
/// draw is multinomial: of two halves the second's draw is taken with probability W_2 / (W_1 +
/// W_2), W being sums of weights. Between the trajectory and a doubling it is biased towards the
/// new part, with probability min(1, W_new / W_old), which leaves the target invariant too and
/// moves further.
///
/// Warm-up adapts the step size to a mean acceptance probability of 0.8 along the trajectory, and
/// the [preconditioner](crate::sampler::Preconditioner). Cost of a transition: up to 2^max_depth - 1
/// gradients, O(d) beside each (O(d^2) with a dense preconditioner); memory 5 d (max_depth + 4)
/// numbers per chain.
///
/// Statistics per draw: `step_size`, `energy` of the draw, `energy_error` (the energy of the draw
/// less the energy at the start of the trajectory), `tree_depth` (the number of doublings, without
/// a discarded one), `leapfrog_steps` (including discarded ones), and `at_max_depth`, 1 where the
/// trajectory was cut off. `accept_prob` is the mean of min(1, w) over all leapfrog steps, and a
/// draw counts as accepted if it differs from the point before.
///
/// For a network with a real response and sampled noise take `target_accept: 0.95` and `max_depth:
/// 12`, and start from small weights (see [`Init`](crate::sampler::Init)): its posterior is a thin, curved
/// ridge. With the defaults one transition in fifty diverges there, and trajectories are cut off
/// where longer ones pay for themselves several times over.
///
/// Not for densities with many separate modes: no sampler here that follows the gradient crosses
/// between them. Source: Hoffman and Gelman, JMLR 15, 2014, arXiv:1111.4246; Betancourt, *A
/// conceptual introduction to Hamiltonian Monte Carlo*, 2017, arXiv:1701.02434, appendix A; Stan
/// reference manual, MCMC sampling.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.9, 0.9, 2.0])?;
/// let draws = Sampler::new(&target, Nuts::default()).draws(1000).seed(1).run()?;
/// assert!((draws.summary()?.rows[1].mean - -2.0).abs() < 0.1);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[doc(alias = "no-U-turn sampler")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nuts {
    /// The leapfrog step: where adaptation starts, or the value throughout if there is no warm-up.
    pub step_size: f64,
    /// The largest number of doublings, from 1 to 20.
    pub max_depth: u32,
    /// Whether warm-up adapts the step size.
    pub adapt_step_size: bool,
    /// The mean acceptance probability to adapt to.
    pub target_accept: f64,
    /// The linear map that warm-up learns from the target's scales.
    pub preconditioner: Preconditioner,
}

impl Default for Nuts {
    fn default() -> Self {
        Self {
            step_size: 0.1,
            max_depth: 10,
            adapt_step_size: true,
            target_accept: 0.8,
            preconditioner: Preconditioner::DiagonalFromGradients,
        }
    }
}

/// The transition of [`Nuts`].
#[derive(Debug)]
pub struct NutsKernel {
    state: HamiltonianState,
    /// The first and the last point of the trajectory in time.
    ends: [PhasePoint; 2],
    /// The end that moved last.
    moved: usize,
    tree: Tree,
    /// Room for the doubling of a tree of depth k, and, while one of greater depth is built, for
    /// its second half.
    doublings: Vec<Tree>,
}

impl<T: GradTarget> Algorithm<T> for Nuts {
    type Kernel = NutsKernel;

    fn name(&self) -> String {
        "Nuts".into()
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<NutsKernel, Error> {
        if !(1..=20).contains(&self.max_depth) {
            return Err(Error::argument("max_depth", self.max_depth, "from 1 to 20"));
        }
        let dim = target.dim();
        let accept = self.adapt_step_size.then_some(self.target_accept);
        Ok(NutsKernel {
            state: HamiltonianState::new(dim, self.step_size, accept, self.preconditioner)?,
            ends: [PhasePoint::new(dim, false), PhasePoint::new(dim, false)],
            moved: 0,
            tree: Tree::new(dim),
            doublings: (0..self.max_depth).map(|_| Tree::new(dim)).collect(),
        })
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        self.preconditioner.matrix_numbers(target.dim())
    }

    fn is_reversible(&self, _: &T) -> bool {
        true
    }
}

impl<T: GradTarget> Kernel<T> for NutsKernel {
    type State = HamiltonianState;

    fn state(&self) -> HamiltonianState {
        self.state.clone()
    }

    fn restore(&mut self, state: HamiltonianState) {
        self.state = state;
    }

    fn approach(&mut self, target: &T, start: &mut Point, ws: &mut T::Workspace) -> u64 {
        climb(target, start, ws)
    }

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let mut evals = u32::from(!current.has_grad());
        current.eval_grad(target, ws);
        let [first, last] = &mut self.ends;
        evals += self.state.dynamics.seek_step_size(current, first, target, ws, rng);
        let scale = &self.state.dynamics.scale;
        first.begin(current, scale, rng);
        last.copy_from(first);
        let start_energy = first.energy();
        self.tree.plant(first, 0.0, start_energy);

        let (mut forwards, mut accepted) = (true, false);
        let (mut steps, mut sum_accept, mut divergent) = (0, 0.0, false);
        let (mut depth, mut at_max_depth) = (0, true);
        while depth < self.doublings.len() {
            let go_forwards = rng.uniform() < 0.5; //~ nuts-direction
            if go_forwards != forwards {
                // The trajectory, read in the other direction.
                std::mem::swap(&mut self.tree.p_first, &mut self.tree.p_last);
                forwards = go_forwards;
            }
            let (scratch, rest) = self.doublings.split_at_mut(depth);
            let doubling = &mut rest[0];
            self.moved = usize::from(forwards);
            let mut builder = Builder {
                target,
                ws: &mut *ws,
                rng: &mut *rng,
                scale,
                step_size: if forwards { scale.step_size() } else { -scale.step_size() },
                start_energy,
                end: &mut self.ends[self.moved],
                steps: 0,
                sum_accept: 0.0,
                divergent: false,
            };
            let usable = builder.build(depth, doubling, scratch);
            steps += builder.steps;
            sum_accept += builder.sum_accept;
            divergent = builder.divergent;
            if !usable {
                at_max_depth = false;
                break;
            }
            depth += 1;
            let probability = exp(doubling.log_weight - self.tree.log_weight); //~ nuts-draw
            let (turns, taken) = self.tree.join(doubling, probability, rng);
            accepted |= taken;
            if turns {
                at_max_depth = false;
                break;
            }
        }
        let energy = self.tree.energy;
        let energy_error = energy - start_energy;
        self.state.last = Last { energy, energy_error, steps, depth: depth as u32, at_max_depth };
        std::mem::swap(current, &mut self.tree.draw);
        Step {
            accept_prob: Some(sum_accept / f64::from(steps)),
            accepted,
            divergent,
            gradient_evals: evals + steps,
        }
    }

    fn adapt(&mut self, step: &Step, current: &Point, warmup: WarmupProgress) {
        self.state.dynamics.adapt(step, current, warmup);
    }

    fn freeze(&mut self) {
        self.state.dynamics.freeze();
    }

    fn diverged_at(&self, q: &mut [f64]) {
        q.copy_from_slice(&self.ends[self.moved].before);
    }

    fn stat_names(&self) -> Vec<String> {
        ["step_size", "energy", "energy_error", "tree_depth", "leapfrog_steps", "at_max_depth"]
            .map(String::from)
            .into()
    }

    fn stats(&self, out: &mut [f64]) {
        out.copy_from_slice(&[
            self.state.dynamics.scale.step_size(),
            self.state.last.energy,
            self.state.last.energy_error,
            f64::from(self.state.last.depth),
            f64::from(self.state.last.steps),
            f64::from(u8::from(self.state.last.at_max_depth)),
        ]);
    }
}
