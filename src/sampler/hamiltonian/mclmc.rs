//! The unadjusted microcanonical Langevin sampler.

use serde::{Deserialize, Serialize};

use super::dynamics::{Flow, MAX_ENERGY_ERROR};
use super::isokinetic::Isokinetic;
use crate::Error;
use crate::draws::Report;
use crate::error::positive;
use crate::portable::powf;
use crate::rng::ChainRng;
use crate::sampler::climb::climb;
use crate::sampler::{Algorithm, Kernel, Preconditioner, Scale, Step, WarmupProgress};
use crate::targets::{GradTarget, Point};

/// The microcanonical Langevin sampler, **without a Metropolis test**: motion at constant speed, in a direction that
/// gradients turn and noise refreshes.
///
/// In the coordinates x of q = L_q x, where L_q is the linear map learnt in warm-up (see [`Preconditioner`]), with
/// d >= 2 dimensions and the direction u, |u| = 1, a step of size h is
///
/// ```text
/// B(h/2) A(h) B(h/2)                                the isokinetic step of Mams, one gradient
/// u <- normalise(u + nu z),   z ~ N(0, I),   nu = sqrt((e^(2 h/L) - 1)/d)
/// ```
///
/// A moves x by h u, and B turns u towards the gradient; [`Mams`](crate::sampler::Mams) has their equations. L is the
/// length of path on which the direction is forgotten. u belongs to the kernel's state and is kept from step to step.
/// An iteration makes `steps` steps, and the chain goes where they lead.
///
/// # What it samples
///
/// Nothing is rejected, so that it does **not sample pi** but something near: averages have a bias of order h^2. The
/// measure of it is the energy error of one step, e = sum of dK - change of log pi, where exp(-dK) is the change of
/// volume by B. For a normal with curvatures k_i in x (the inverse variances) and their mean k, in many dimensions and
/// to leading order in h,
///
/// ```text
/// k_i Var x_i - 1  =  h^2/(4 d) (k_i - 2/3 k)
/// E[e^2]/d         =  h^6/(16 d^3) mean of k_i (k_i - 2/3 k)^2
/// ```
///
/// so that stiff directions are too wide, and soft ones too narrow. Where all k_i are equal the
/// bias of variances is (144 v)^(1/3)/12 for E[e^2]/d = v: 3.5 % for the default v = 5e-4, 1.6 %
/// for 5e-5, 0.7 % for 5e-6. For one stiff direction among d - 1 soft ones it is (d v/4)^(1/3), 20
/// % for d = 60, since v is a mean over all. **R-hat does not show the bias**: chains that all
/// sample the wrong density agree, and a [verdict](crate::diagnostics::Verdict) says that there was
/// no test. Compare with [`Mams`](crate::sampler::Mams), or with a run of a tenth of
/// `energy_variance`, whose bias is 0.46 times as large.
///
/// # Warm-up
///
/// Since e is proportional to h^3, the running mean of xi = e^2/(d v), with v = `energy_variance`, gives
///
/// ```text
/// h <- (mean of min(xi, 100)/h^6)^(-1/6)
/// ```
///
/// The mean is over the latest fifth of the steps since L_q was learnt, or since h changed by a factor of 2. The
/// bound, in the place of the weights of the authors' code, lets a chain halve h again and again on its way from far
/// out, and keeps rare large errors from deciding. A step out of the support counts as xi = 100, so that h is such
/// that at most about one step in a hundred leaves it. Far out the gradient is large and h is small: a standard normal
/// in 30 dimensions was reached from 1,000 standard deviations away in 280 iterations of a warm-up of 1,000 and
/// 28,000 to 36,000 gradients (four seeds); 130,000 to 190,000 more followed, most of them while L was still what the
/// chain's way had made it. Without a linear map it was not reached at all.
///
/// L is 2 sqrt(d lambda), with the mean variance lambda = sum of l_i^2 / sum of l_i over the eigenvalues l_i of the
/// covariance of x, in which long directions weigh most: they are the slow ones. It is estimated as Var s/(2 E s) from
/// the squared distances s of x from its mean, which is exact for normals. Until L_q is learnt L is at most 10 h; then
/// it is 2 sqrt(d), as for a standard normal, until 50 positions in the new coordinates are in. (The
/// authors' code takes L from autocorrelations, which needs a stored run. sqrt(d) and the root of the summed variances
/// were tried too: on a rotated normal of variances 1 to 100 they gave less than half of the effective draws.) Everything is
/// fixed after warm-up. Each chain adapts alone.
///
/// # Cost
///
/// An iteration takes as many gradients as steps, and O(d) beside each (O(d^2) with a dense
/// preconditioner). Smallest bulk ESS per 1,000 gradients after warm-up (two chains, 1,000 + 1,000
/// iterations, two seeds, or one; of the predictions for networks), and the remaining bias: the
/// mean over all principal directions of variance over exact variance.
///
/// | | `Mams` | `Mclmc` | variance ratio |
/// | --- | --- | --- | --- |
/// | standard normal, d = 10 | 563, 514 | 263, 269 | 1.039, 1.046 |
/// | standard normal, d = 100 | 266, 230 | 289, 286 | 1.038, 1.040 |
/// | rotated normal, d = 50, variances 1 to 100 | 35, 41 | 44, 45 | 1.012, 1.010 |
/// | rotated normal, d = 50, variances 1 to 10,000 | 4.3, 3.3 | 4.7, 4.5 | 1.008, 1.009 |
/// | MLP 4-10-1, 1,000 rows, 62 parameters | 0.62 | 0.65, 0.89 | |
/// | sunspot, MLP 4-10-1 with sampled noise, 62 parameters | 0.32 | 0.35 | |
///
/// So: about as many draws per gradient as with the test of [`Mams`](crate::sampler::Mams), half as many in ten
/// dimensions and a quarter more in some harder cases.
///
/// When not to use it: where a bias of per cents matters, which is wherever [`Mams`](crate::sampler::Mams) or
/// [`Nuts`](crate::sampler::Nuts) can be afforded. It does not cross between modes either.
///
/// A step diverges if its energy error is not finite, or beyond
/// [`MAX_ENERGY_ERROR`](crate::sampler::MAX_ENERGY_ERROR) up or down. Then the chain stays where it was at the
/// beginning of the iteration, and u is drawn afresh. So it does, without a divergence, where a step leaves the
/// support: bounds are respected, but there is a bias beside them.
///
/// Statistics per draw: `step_size`, `path_length`, `leapfrog_steps` of the iteration,
/// `energy_error` (the sum of its e) and `energy_variance` (the mean of its e^2/d, whose mean over
/// draws without a divergence or a step out of the support is about the setting `energy_variance`,
/// or less).
///
/// Sources: Robnik, De Luca, Silverstein and Seljak, *Microcanonical Hamiltonian Monte Carlo*, JMLR 24, 2023,
/// arXiv:2212.08549; Robnik and Seljak, *Fluctuation without dissipation: microcanonical Langevin Monte Carlo*,
/// arXiv:2303.18221.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::standard(50)?;
/// let mclmc = Mclmc { energy_variance: 5e-5, ..Mclmc::default() };
/// let draws = Sampler::new(&target, mclmc).draws(2000).seed(1).run()?;
/// let variance = (0..50).map(|i| draws.covariance()[(i, i)]).sum::<f64>() / 50.0;
/// assert!((variance - 1.016).abs() < 0.01);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[doc(alias = "microcanonical")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mclmc {
    /// h: where adaptation starts, or the value throughout if there is no warm-up.
    pub step_size: f64,
    /// L, the length of path on which the direction is forgotten; `None` starts at sqrt(d) and is learnt in warm-up.
    pub path_length: Option<f64>,
    /// The number of steps of an iteration, each of one gradient, from 1 to 2^20; `None` takes as many as make half
    /// of L, at most 4,096.
    pub steps: Option<u32>,
    /// Whether warm-up adapts the step size.
    pub adapt_step_size: bool,
    /// The mean squared energy error of a step, divided by d, that the step size is adapted to. Less of it means
    /// less bias and more gradients.
    pub energy_variance: f64,
    /// The linear map that warm-up learns from the target's scales.
    pub preconditioner: Preconditioner,
}

impl Default for Mclmc {
    fn default() -> Self {
        Self {
            step_size: 0.1,
            path_length: None,
            steps: None,
            adapt_step_size: true,
            energy_variance: 5e-4,
            preconditioner: Preconditioner::DiagonalFromGradients,
        }
    }
}

impl<T: GradTarget> Algorithm<T> for Mclmc {
    type Kernel = MclmcKernel;

    fn name(&self) -> String {
        "Mclmc".into()
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<MclmcKernel, Error> {
        let dim = target.dim();
        if dim < 2 {
            return Err(Error::argument("dimensions of the target of MCLMC", dim, "at least 2"));
        }
        if let Some(length) = self.path_length {
            positive("path_length", length)?;
        }
        if let Some(steps) = self.steps
            && !(1..=1 << 20).contains(&steps)
        {
            return Err(Error::argument("steps", steps, "1 to 1048576"));
        }
        positive("energy_variance", self.energy_variance)?;
        Ok(MclmcKernel {
            state: MclmcState {
                scale: Scale::of_run(dim, self.step_size, None, self.preconditioner)?,
                velocity: vec![0.0; dim],
                started: false,
                path_length: self.path_length.unwrap_or((dim as f64).sqrt()),
                awaits_map: true,
                tuning: self.adapt_step_size.then(|| Tuning::new(self.step_size)),
                spread: self.path_length.is_none().then(|| Spread::new(dim)),
                last: Last { energy_error: f64::NAN, energy_variance: f64::NAN, steps: 0 },
            },
            steps: self.steps,
            wanted: self.energy_variance,
            flow: Isokinetic::new(dim, false),
            x: vec![0.0; dim],
        })
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        self.preconditioner.matrix_numbers(target.dim())
    }
}

/// The transition of [`Mclmc`].
#[derive(Debug)]
pub struct MclmcKernel {
    state: MclmcState,
    steps: Option<u32>,
    /// v.
    wanted: f64,
    flow: Isokinetic,
    /// Scratch.
    x: Vec<f64>,
}

/// The state of an MCLMC kernel: velocity, step size, linear map and path length, their adaptation, and the
/// statistics of the latest iteration.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MclmcState {
    scale: Scale,
    /// u.
    velocity: Vec<f64>,
    /// Whether u has been drawn.
    started: bool,
    /// L.
    path_length: f64,
    /// Whether this may be a warm-up in which no map has been learnt yet.
    awaits_map: bool,
    tuning: Option<Tuning>,
    spread: Option<Spread>,
    last: Last,
}

/// The statistics of the latest iteration.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Last {
    energy_error: f64,
    energy_variance: f64,
    steps: u32,
}

impl MclmcState {
    /// L and the number of steps now.
    fn path(&self, steps: Option<u32>) -> (f64, u32) {
        const MOST: f64 = 4096.0;
        let h = self.scale.step_size();
        let length = match self.awaits_map {
            true => self.path_length.min(10.0 * h),
            false => self.path_length,
        };
        let of_path = (0.5 * length / h).ceil().clamp(1.0, MOST);
        (length, steps.unwrap_or(of_path as u32))
    }
}

/// The adaptation of the step size to the energy errors of warm-up.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Tuning {
    /// h_0.
    reference: f64,
    /// The number of steps since the reference was chosen.
    steps: f64,
    /// The running mean of xi (h_0/h)^6.
    mean: f64,
}

impl Tuning {
    /// The largest xi.
    const LARGEST: f64 = 100.0;
    /// The number of steps below which the mean is not used.
    const FEWEST: f64 = 10.0;

    fn new(reference: f64) -> Self {
        Self { reference, steps: 0.0, mean: 0.0 }
    }

    /// Takes in a step of `step_size`, whose squared energy error is `xi` times the wanted one.
    fn observe(&mut self, step_size: f64, xi: f64) {
        self.steps += 1.0;
        // NaN counts as the largest.
        let relative = xi.min(Self::LARGEST) * powf(self.reference / step_size, 6.0);
        // The mean is over about the latest fifth of the steps: in the first steps the chain is
        // still on its way.
        let memory = self.steps.min(50.0 + 0.2 * self.steps);
        self.mean += (relative - self.mean) / memory;
    }

    /// The step size that follows, if there is one.
    fn learn(&mut self, failed: bool) -> Option<f64> {
        if self.steps < Self::FEWEST && !failed {
            return None;
        }
        let wanted = self.reference * powf(self.mean, -1.0 / 6.0);
        let near = wanted.clamp(0.5 * self.reference, 2.0 * self.reference);
        // A flat density bears any step: the bounds keep positions and their squares finite.
        let step_size = near.clamp(1e-100, 1e100);
        if step_size != wanted {
            *self = Self::new(step_size);
        }
        Some(step_size)
    }
}

/// The adaptation of the path length to the positions of warm-up.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Spread {
    /// The number of positions.
    n: f64,
    /// The running mean of the positions.
    mean: Vec<f64>,
    /// The running mean of s, and of its square.
    s: f64,
    s_squared: f64,
}

impl Spread {
    /// The number of positions below which they are not used.
    const FEWEST: f64 = 50.0;

    fn new(dim: usize) -> Self {
        Self { n: 0.0, mean: vec![0.0; dim], s: 0.0, s_squared: 0.0 }
    }

    fn restart(&mut self) {
        self.mean.fill(0.0);
        (self.n, self.s, self.s_squared) = (0.0, 0.0, 0.0);
    }

    fn observe(&mut self, x: &[f64]) {
        self.n += 1.0;
        let mut s = 0.0;
        for (x, mean) in x.iter().zip(&mut self.mean) {
            let d = x - *mean;
            *mean += d / self.n;
            // With the means before and after, whose errors cancel in the mean of s.
            s += d * (x - *mean);
        }
        self.s += (s - self.s) / self.n;
        self.s_squared += (s * s - self.s_squared) / self.n;
    }

    /// L = 2 sqrt(d Var s/(2 E s)), if the positions determine it.
    fn path_length(&self) -> Option<f64> {
        let variance = self.s_squared - self.s * self.s;
        //~ mclmc-path-length
        let length = 2.0 * (self.mean.len() as f64 * variance / (2.0 * self.s)).sqrt();
        (self.n >= Self::FEWEST && length.is_normal()).then_some(length)
    }
}

impl<T: GradTarget> Kernel<T> for MclmcKernel {
    type State = MclmcState;

    fn state(&self) -> MclmcState {
        self.state.clone()
    }

    fn restore(&mut self, state: MclmcState) {
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
        let begun = u32::from(!current.has_grad());
        current.eval_grad(target, ws);
        let Self { state, flow, .. } = self;
        match state.started {
            true => flow.resume(current, &state.velocity, &state.scale),
            false => flow.begin(current, &state.scale, rng),
        }
        let (length, wanted) = state.path(self.steps);
        let (h, dim) = (state.scale.step_size(), state.velocity.len() as f64);
        let start = flow.energy();
        let (mut energy, mut squares, mut steps, mut failed) = (start, 0.0, 0, false);
        while steps < wanted && !failed {
            flow.step(h, &state.scale, target, ws);
            steps += 1;
            let error = flow.energy() - energy;
            energy += error;
            failed = error.is_nan() || error.abs() > MAX_ENERGY_ERROR; //~ mclmc-failure
            let variance = error * error / dim;
            squares += variance;
            if let Some(tuning) = &mut state.tuning {
                tuning.observe(h, variance / self.wanted); //~ mclmc-step-size
            }
            flow.refresh(h / length, rng); //~ mclmc-refresh
        }
        // A position that is not finite stays so, also where the density is not aware of it.
        failed |= flow.point().q().iter().any(|q| !q.is_finite());
        let energy_variance = squares / f64::from(steps);
        state.last = Last { energy_error: energy - start, energy_variance, steps };
        let outside = flow.point().log_density().is_outside_support();
        state.started = !failed; //~ mclmc-started
        if !failed {
            state.velocity.copy_from_slice(flow.u());
            std::mem::swap(current, flow.point_mut());
        }
        let divergent = failed && !outside;
        Step { accept_prob: None, accepted: !failed, divergent, gradient_evals: begun + steps }
    }

    fn adapt(&mut self, step: &Step, current: &Point, warmup: WarmupProgress) {
        let Self { state, x, .. } = self;
        let MclmcState { scale, path_length, awaits_map, tuning, spread, .. } = state;
        if let Some(step_size) = tuning.as_mut().and_then(|t| t.learn(!step.accepted)) {
            scale.set_step_size(step_size);
        }
        let learnt = scale.adapt(step, current, warmup);
        // In the new coordinates the target is about a standard normal.
        let root = (x.len() as f64).sqrt();
        if learnt && let Some(tuning) = tuning {
            let step_size = 0.25 * root;
            *tuning = Tuning::new(step_size);
            scale.set_step_size(step_size);
        }
        if let Some(spread) = spread {
            if learnt {
                *path_length = 2.0 * root; //~ mclmc-path-length-root
            }
            if learnt || warmup.iteration == warmup.total / 2 {
                spread.restart();
            }
            x.copy_from_slice(current.q());
            scale.solve(x);
            spread.observe(x);
            if let Some(length) = spread.path_length() {
                *path_length = length;
            }
        }
        *awaits_map &= !learnt;
    }

    fn freeze(&mut self) {
        let state = &mut self.state;
        state.scale.freeze();
        (state.tuning, state.spread, state.awaits_map) = (None, None, false);
    }

    fn diverged_at(&self, q: &mut [f64]) {
        q.copy_from_slice(self.flow.before());
    }

    fn stat_names(&self) -> Vec<String> {
        ["step_size", "path_length", "leapfrog_steps", "energy_error", "energy_variance"]
            .map(String::from)
            .to_vec()
    }

    fn stats(&self, out: &mut [f64]) {
        let MclmcState { scale, path_length, last, .. } = &self.state;
        out.copy_from_slice(&[
            scale.step_size(),
            *path_length,
            f64::from(last.steps),
            last.energy_error,
            last.energy_variance,
        ]);
    }

    /// Reports that there is no Metropolis test, for
    /// [`Draws::unadjusted`](crate::draws::Draws::unadjusted).
    fn report(&self) -> Report {
        Report { unadjusted: true, ladder: None } //~ mclmc-unadjusted
    }
}
