//! Simplified manifold MALA: Langevin proposals in a metric that follows the target.

use serde::{Deserialize, Serialize};

use super::{MetropolisKernel, Proposal, Proposed};
use crate::Error;
use crate::error::positive;
use crate::linalg::local_metric::{Factoriser, LocalMetric};
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Preconditioner, Scale};
use crate::targets::{Cached, FisherTarget, GradTarget, HessTarget, MOST_DIMENSIONS, Point};

pub use crate::linalg::local_metric::Factorisation;

/// A matrix that follows the shape of targets `T`.
pub trait Metric<T: GradTarget>: Clone + Send + Sync {
    /// The name of the metric, which is part of the name of the [`Algorithm`] that uses it.
    fn name(&self) -> String;

    /// An error if the metric's own settings, or the target, cannot be used.
    fn check(&self, target: &T) -> Result<(), Error>;

    /// Overwrites `out` (d x d, row-major, symmetric) with the matrix at q. It may depend on q alone,
    /// and must not allocate, except at the first call on a workspace.
    fn matrix(&self, target: &T, q: &[f64], out: &mut [f64], ws: &mut T::Workspace);

    /// The factorisation that makes the matrix a metric.
    fn factorisation(&self) -> Factorisation;
}

/// Minus the Hessian, its eigenvalues l replaced by l coth(alpha l).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SoftAbs {
    /// The sharpness of the absolute value: curvatures below 1 / alpha count as 1 / alpha, so that
    /// the noise of a step has at most the standard deviation eps sqrt(alpha) in any direction, in
    /// units of the parameters, and its drift is at most eps^2 alpha |g| / 2.
    pub alpha: f64,
}

impl Default for SoftAbs {
    /// alpha = 1.
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

impl<T: HessTarget> Metric<T> for SoftAbs {
    fn name(&self) -> String {
        "SoftAbs".into()
    }

    fn check(&self, target: &T) -> Result<(), Error> {
        positive("alpha", self.alpha)?;
        target.check_hessian()
    }

    fn matrix(&self, target: &T, q: &[f64], out: &mut [f64], ws: &mut T::Workspace) {
        target.neg_hessian_at(1.0, q, out, ws);
    }

    fn factorisation(&self) -> Factorisation {
        Factorisation::SoftAbs { alpha: self.alpha }
    }
}

/// The expected Fisher information plus the prior's precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fisher;

impl<T: FisherTarget> Metric<T> for Fisher {
    fn name(&self) -> String {
        "Fisher".into()
    }

    fn check(&self, target: &T) -> Result<(), Error> {
        target.check_fisher()
    }

    fn matrix(&self, target: &T, q: &[f64], out: &mut [f64], ws: &mut T::Workspace) {
        target.fisher_at(1.0, q, out, ws);
    }

    fn factorisation(&self) -> Factorisation {
        Factorisation::Cholesky
    }
}

/// Simplified manifold MALA.
///
/// With g = grad log pi, a metric G(q), symmetric positive definite and d x d, and the step size eps,
///
/// ```text
/// mu(q)        = q + eps^2/2 G(q)^-1 g(q)
/// q'           ~ N(mu(q), eps^2 G(q)^-1)
/// log p(q'|q)  = log|G(q)|/2 - (q' - mu(q))^T G(q) (q' - mu(q)) / (2 eps^2) + constant
/// log ratio    = log pi(q') - log pi(q) + log p(q|q') - log p(q'|q)
/// ```
///
/// each density with the metric of the point that it starts from. The terms with derivatives of G,
/// which a Langevin diffusion on the manifold has, are left out; the accept-reject step makes up for
/// that. Source: Girolami and Calderhead, JRSS B 73, 2011, doi:10.1111/j.1467-9868.2010.00765.x.
/// Where G is constant this is [`Mala`](crate::sampler::Mala) with that preconditioner.
///
/// Two metrics ([`Metric`] is open to others):
///
/// - [`SoftAbs`]: H, minus the Hessian of log pi, with each eigenvalue l replaced by l coth(alpha l):
///   abs(l) where that is large against 1 / alpha, and never below 1 / alpha (Betancourt, 2013,
///   arXiv:1212.4693);
/// - [`Fisher`]: the expected Fisher information of the likelihood plus the prior's precision, by
///   Cholesky: see [`HessTarget`](crate::targets::HessTarget).
///
/// During warm-up eps is adapted to an acceptance probability of 0.65 (0.6 to 0.7 is recommended in
/// practice; there is no theorem). A metric that is not finite or cannot be factorised rejects, and
/// counts as a divergence.
///
/// # Cost, and when it pays
///
/// A step takes one gradient and one metric: for a [`Posterior`](crate::posterior::Posterior) about d
/// products with a vector, O(d) gradients, and a factorisation, O(d^3). Both are kept, so
/// that a rejected proposal costs one metric and an accepted one none again. In microseconds
/// (`cargo bench --bench second_order`; one core of a machine that others used too):
///
/// | | d | gradient | MALA step | SMMALA, SoftAbs | SMMALA, Fisher |
/// | --- | --- | --- | --- | --- | --- |
/// | xor, MLP 2-2-1 | 9 | 0.8 | 0.7 | 18 | 5.5 |
/// | iris, MLP 4-3-3 | 27 | 5.5 | 6 | 180 | 95 |
/// | ionosphere, linear | 35 | 5.9 | 7 | 270 | 140 |
/// | iris, MLP 4-10-3 | 83 | 9 | 11 | 1,500 | 550 |
/// | ionosphere, MLP 34-10-1 | 361 | 32 | 34 | 33,000 | 11,300 |
///
/// Effective draws per 1,000 steps, and per second of processor time (smallest bulk ESS of the
/// predictions, of the parameters in the first three rows; one or two seeds, the mean). In brackets:
/// R-hat above 1.05, so that the number says little more than that it is small.
///
/// | | d | MALA | SoftAbs, alpha = 0.1 | SoftAbs, alpha = 1 | Fisher |
/// | --- | --- | --- | --- | --- | --- |
/// | normal, sds from 0.001 to 1,000 | 35 | (0.1; 24 /s) | | 138; 2,200 /s (alpha = 1e8) | 138; 13,800 /s |
/// | hierarchical normal | 3 | 17; 37,900 /s | 21; 8,100 /s | 34; 10,100 /s | 42; 43,300 /s |
/// | hierarchical normal | 11 | 5.3; 6,500 /s | 7.4; 780 /s | (0.6; 65 /s) | 8.5; 2,900 /s |
/// | xor, MLP 2-2-1 | 9 | 195; 243,000 /s | 199; 14,200 /s | 296; 21,300 /s | 30; 6,800 /s |
/// | ionosphere, linear | 35 | 5.0; 870 /s | (3.4; 12 /s) | (1.2; 4 /s) | (1.1; 8 /s) |
/// | iris, MLP 4-3-3 | 27 | 0.1; 16 /s | (1.1; 5 /s) | (0.7; 4 /s) | (0.7; 8 /s) |
/// | iris, MLP 4-10-3 | 83 | 3.3; 370 /s | (1.4; 1 /s) | (0.5; 0.3 /s) | not measured |
///
/// So it pays per step up to some ten parameters, and per second where scales differ by orders of
/// magnitude that no preconditioner has learnt, and the metric varies slowly, or where a few
/// coordinates, such as a hierarchy's log variance, set the scale of others. It does not pay for the
/// posteriors of networks, or of a logistic regression with 35 parameters: there the metric itself
/// changes within a step, and its missing derivatives keep the step size small (0.15 in place of 0.8).
/// Networks have directions without curvature and with negative curvature as well, where proposals are
/// as long as the metric allows: the smaller alpha, the shorter. alpha = 1 is the unit of priors N(0, 1);
/// Betancourt's 1e6, meant for Hamiltonian trajectories, left xor with 0.3 effective draws per 1,000
/// steps. Use [`Nuts`](crate::sampler::Nuts) first, and this on [blocks](crate::sampler::OnBlocks) of few coordinates.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::sampler::{Fisher, Smmala};
/// let x = ndarray::array![[-1.0], [-0.3], [0.4], [1.0]];
/// let data = Dataset::classification(x, vec![0, 1, 0, 1], ["no", "yes"])?;
/// let priors = Priors::all(Normal::new(0.0, 2.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Bernoulli, &data, priors)?;
/// let draws = Sampler::new(&posterior, Smmala::new(Fisher)).warmup(300).draws(300).run()?;
/// assert_eq!(draws.n_draws(), 300);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Smmala<M> {
    /// Standard deviation of a proposal's noise, in units of the metric: where adaptation starts,
    /// or the value throughout if there is no warm-up.
    pub step_size: f64,
    /// Whether warm-up adapts the step size.
    pub adapt_step_size: bool,
    /// The acceptance probability to adapt to.
    pub target_accept: f64,
    /// The metric: [`SoftAbs`] or [`Fisher`].
    pub metric: M,
}

impl<M> Smmala<M> {
    /// With this metric, and else as by default.
    pub fn new(metric: M) -> Self {
        Self { step_size: 0.5, adapt_step_size: true, target_accept: 0.65, metric }
    }
}

impl<M: Default> Default for Smmala<M> {
    fn default() -> Self {
        Self::new(M::default())
    }
}

/// q + eps^2/2 G^-1 g + eps A^-1 z, with the metric G = G(q).
#[derive(Debug)]
pub struct ManifoldLangevin<M> {
    metric: M,
    factoriser: Factoriser,
    /// The metrics of the current point and of the proposal.
    here: Cached<LocalMetric>,
    there: Cached<LocalMetric>,
    z: Vec<f64>,
    /// A^-1 z, then q - mu(q').
    move_: Vec<f64>,
}

impl<T: GradTarget, M: Metric<T>> Algorithm<T> for Smmala<M> {
    type Kernel = MetropolisKernel<ManifoldLangevin<M>>;

    fn name(&self) -> String {
        format!("Smmala({})", self.metric.name())
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<Self::Kernel, Error> {
        let dim = target.dim();
        if dim > MOST_DIMENSIONS {
            let allowed =
                format!("at most {MOST_DIMENSIONS}: SMMALA factorises a dense matrix at each step");
            return Err(Error::argument("dimension of the target", dim, allowed));
        }
        self.metric.check(target)?;
        let accept = self.adapt_step_size.then_some(self.target_accept);
        let scale = Scale::of_run(dim, self.step_size, accept, Preconditioner::Identity)?;
        let proposal = ManifoldLangevin {
            metric: self.metric.clone(),
            factoriser: Factoriser::new(dim, self.metric.factorisation()),
            here: Cached::new(LocalMetric::new()),
            there: Cached::new(LocalMetric::new()),
            z: vec![0.0; dim],
            move_: vec![0.0; dim],
        };
        MetropolisKernel::new(dim, scale, proposal)
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        let dim = target.dim();
        if dim > MOST_DIMENSIONS {
            0
        } else {
            Factoriser::numbers(dim, self.metric.factorisation())
        }
    }

    fn is_reversible(&self, _: &T) -> bool {
        true
    }
}

impl<T: GradTarget, M: Metric<T>> Proposal<T> for ManifoldLangevin<M> {
    fn propose(
        &mut self,
        target: &T,
        current: &mut Point,
        proposed: &mut Point,
        scale: &Scale,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Proposed {
        let Self { metric, factoriser, here, there, z, move_ } = self;
        let mut eval_metric = |local: &mut Cached<LocalMetric>, point: &Point, ws: &mut _| {
            local.set(point, |local| {
                metric.matrix(target, point.q(), &mut factoriser.matrix, ws);
                factoriser.factorise(point.grad(), local);
            });
        };
        let first = u32::from(!current.has_grad());
        let old = current.eval_grad(target, ws).total();
        let eps = scale.step_size();
        let drift = 0.5 * eps * eps;

        if !here.is_of(current) {
            eval_metric(here, current, ws);
        }
        let g = here.at(current);
        if !g.is_valid() {
            proposed.copy_from(current);
            return Proposed { log_ratio: f64::NAN, gradient_evals: first };
        }
        rng.fill_normal(z);
        g.colour(z, move_);
        proposed.set(|q| {
            let from = current.q().iter().zip(g.direction()).zip(&*move_);
            for (new, ((old, direction), noise)) in q.iter_mut().zip(from) {
                *new = old + drift * direction + eps * noise;
            }
        });
        let new = proposed.eval_grad(target, ws);
        let mut log_ratio = f64::NEG_INFINITY; // a rejection, whatever the metric there
        if new.is_finite() {
            eval_metric(there, proposed, ws);
            let g_back = there.at(proposed);
            log_ratio = f64::NAN; // a divergence
            if g_back.is_valid() {
                let back = current.q().iter().zip(proposed.q()).zip(g_back.direction());
                for (u, ((old, new), direction)) in move_.iter_mut().zip(back) {
                    *u = old - new - drift * direction;
                }
                let squares = z.iter().map(|z| z * z).sum::<f64>()
                    - g_back.squared_length(move_) / (eps * eps);
                log_ratio =
                    //~ smmala-ratio
                    new.total() - old + g_back.half_log_det() - g.half_log_det() + 0.5 * squares;
            }
        }
        Proposed { log_ratio, gradient_evals: 1 + first }
    }

    fn accepted(&mut self) {
        std::mem::swap(&mut self.here, &mut self.there);
    }
}
