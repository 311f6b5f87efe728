//! An algorithm on the marginal density, and an exact draw of the coordinates that were integrated
//! out.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::draws::Report;
use crate::rng::ChainRng;
use crate::sampler::climb::halve;
use crate::sampler::{Algorithm, Kernel, Step, WarmupProgress};
use crate::targets::{
    Cached, ConditionallyGaussian, Forces, Marginal, MarginalWorkspace, Point, Target,
};

/// `algorithm` on a posterior whose output-layer weights are integrated out, and these weights drawn
/// afresh: for regressions with normal noise, [`Gaussian`](crate::likelihood::Gaussian) or, of one
/// response column, [`HeteroscedasticGaussian`](crate::likelihood::HeteroscedasticGaussian), and with
/// [`StudentTNoise`](crate::likelihood::StudentTNoise) of one response column.
///
/// With W the weights and biases of the linear output layer and v all other coordinates (hidden
/// weights, the log noise variance, hierarchical scales), a step is
///
/// ```text
/// v' ~ K(v, .),   K the step of `algorithm` on p(v | y) = integral p(v, W | y) dW
/// W' ~ p(W | v', y), a normal distribution
/// ```
///
/// Where the log standard deviation of the noise is an output of the model, W are the weights of
/// the mean, and v has the output weights of the log standard deviation.
///
/// Student-t noise is normal given a weight u_i of each row. With nu the degrees of freedom and w the other
/// coordinates of v, a step is then
///
/// ```text
/// nu'  from p(nu | w, W, y)   by a slice, and likewise the scale of all rows
/// u  ~ p(u | w, nu', W, y)    gamma distributions
/// w' ~ K(w, .),               K the step of `algorithm` on p(w | nu', u, y)
/// W' ~ p(W | w', nu', u, y)   a normal distribution
/// ```
///
/// Each line leaves p(w, nu, W, u | y) unchanged. u is forgotten after the step: q is all the state. One gradient more is
/// needed in each step, since the density has changed since the last one, and the step is not reversible.
///
/// The joint density stays unchanged: if (v, W) is a draw of p(v, W | y), then v is one of p(v | y), v'
/// is again, and so is (v', W') of p(v', W' | y). Every step does so on its own, whatever other kernels
/// do before and after it: a [`Cycle`](crate::sampler::Cycle) with any of them, such as
/// [`GibbsNoise`](crate::sampler::GibbsNoise), is valid in any order. (In partially collapsed Gibbs
/// samplers the order matters because they move v without drawing W.) It is reversible if `algorithm`
/// is.
///
/// The output weights make the posterior of a network a thin curved ridge, which no fixed metric
/// follows; without them trajectories take longer steps. On a network 4-10-1 for the sunspot series NUTS
/// has 2.7 effective draws per 1,000 gradients instead of 0.06, and [`Mams`](crate::sampler::Mams) 3.2.
/// Wide networks converge by it ([`regression_networks`](crate::guide::regression_networks)).
///
/// State, layout and draws are the posterior's, so that predictions, recorders, checkpoints and
/// files of draws work as for any other kernel. The log density of a draw is the joint one;
/// statistics such as `energy` are the inner kernel's, of the [`Marginal`] density. `accept_prob`
/// and `accepted` are the inner step's: W moves in any case.
///
/// Cost of a step: the cost of `algorithm`, with
/// [gradients](crate::posterior::Posterior::collapsed) that cost about 3 n m^2 floating-point
/// operations more for n rows and m weights of one output, and for the draw n m^2 and one log
/// density. With n m^2 of 2^24 or more, [`Hmc`](crate::sampler::Hmc) and [`Mams`](crate::sampler::Mams) as
/// `algorithm` move by [forces](crate::targets::GradTarget::force) in f32, which take less than half of the
/// time, and test in f64: the distribution is the same. [`with_forces`](Self::with_forces) decides otherwise. For a
/// likelihood, prior or model for which there is no such integral it is refused with
/// the reason. On a [`Tempered`](crate::targets::Tempered) posterior, and so inside
/// [`PowerPosteriors`](crate::sampler::PowerPosteriors), the likelihood under the integral has the
/// power beta: the density of each rung, and the evidence, are the same as without it.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// let x = ndarray::Array2::from_shape_fn((30, 1), |(i, _)| i as f64 / 15.0 - 1.0);
/// let y = x.column(0).mapv(|x| (3.0 * x).sin());
/// let network = Mlp::new(&[1, 6, 1], Activation::Tanh)?;
/// let priors = Priors::by_fan_in(&network)
///     .with("log_noise_variance", LogInverseGamma::new(2.0, 0.1)?);
/// let posterior = Posterior::new(network, Gaussian::sampled(), &Dataset::regression(x, y)?, priors)?;
/// let draws = Sampler::new(&posterior, Collapsed::new(Nuts::default()))
///     .chains(2)
///     .warmup(200)
///     .draws(200)
///     .run()?;
/// assert_eq!(draws.values().dim(), (2, 200, posterior.dim()));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// Source: Liu, J. Am. Stat. Assoc. 89, 1994, doi:10.1080/01621459.1994.10476829 (collapsing); van Dyk
/// and Park, J. Am. Stat. Assoc. 103, 2008, doi:10.1198/016214508000000409 (when the order matters).
#[doc(alias = "Rao-Blackwellised")]
#[doc(alias = "marginal")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Collapsed<A> {
    /// The algorithm that moves the other coordinates.
    pub algorithm: A,
    /// The numbers in which its forces are computed.
    #[serde(default)]
    pub forces: Forces,
}

impl<A> Collapsed<A> {
    /// `algorithm` on the marginal density.
    pub fn new(algorithm: A) -> Self {
        Self { algorithm, forces: Forces::Auto }
    }

    /// Computes forces in these numbers. NUTS, MALA and others that need more than a force at each step have
    /// gradients in any case, and so do views of the marginal density, such as [`OnBlocks`](crate::sampler::OnBlocks)
    /// has.
    pub fn with_forces(self, forces: Forces) -> Self {
        Self { forces, ..self }
    }
}

/// The transition of [`Collapsed`].
pub struct CollapsedKernel<T: Target, K> {
    view: Marginal<T>,
    inner: K,
    ws: MarginalWorkspace<T::Workspace>,
    walker: Walker,
    /// The point at which a draw is tried, and whether the latest draw failed there.
    drawn: Vec<f64>,
    draw_failed: bool,
}

/// The position of the inner kernel, and the position of the chain that it belongs to.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Walker {
    point: Point,
    is_at: Cached<()>,
}

/// The state of a [`Collapsed`]: the inner kernel's, and its values of the marginal density at the
/// chain's position.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CollapsedState<K> {
    inner: K,
    walker: Walker,
}

impl<T, A> Algorithm<T> for Collapsed<A>
where
    T: ConditionallyGaussian + Copy + Send,
    A: Algorithm<Marginal<T>>,
{
    type Kernel = CollapsedKernel<T, A::Kernel>;

    fn name(&self) -> String {
        format!("Collapsed({})", self.algorithm.name())
    }

    fn kernel(&self, target: &T, rng: &ChainRng) -> Result<Self::Kernel, Error> {
        let view = Marginal::new(*target)?.with_forces(self.forces);
        Ok(CollapsedKernel {
            inner: self.algorithm.kernel(&view, rng)?,
            ws: view.workspace(),
            walker: Walker { point: Point::new(view.dim()), is_at: Cached::new(()) },
            drawn: vec![0.0; target.dim()],
            draw_failed: false,
            view,
        })
    }

    fn matrix_numbers(&self, target: &T) -> usize {
        let of_inner = |view| self.algorithm.matrix_numbers(&view);
        Marginal::new(*target).map_or(0, of_inner).saturating_add(target.matrix_numbers())
    }

    fn is_reversible(&self, target: &T) -> bool {
        let of_inner = |view| self.algorithm.is_reversible(&view);
        !target.is_refreshed() && Marginal::new(*target).is_ok_and(of_inner)
    }
}

impl<T, K> Kernel<T> for CollapsedKernel<T, K>
where
    T: ConditionallyGaussian + Copy + Send,
    K: Kernel<Marginal<T>>,
{
    type State = CollapsedState<K::State>;

    fn state(&self) -> Self::State {
        CollapsedState { inner: self.inner.state(), walker: self.walker.clone() }
    }

    fn restore(&mut self, state: Self::State) {
        self.inner.restore(state.inner);
        self.walker = state.walker;
    }

    fn approach(&mut self, target: &T, start: &mut Point, ws: &mut T::Workspace) -> u64 {
        let Self { view, inner, ws: own, walker: Walker { point, .. }, .. } = self;
        point.set(|v| view.gather(start.q(), v));
        let before = point.q().to_vec();
        view.refresh(None, &mut start.q().to_vec(), own);
        halve(view, point, own);
        let gradients = inner.approach(view, point, own);
        if point.q() != before {
            // The output layer stays: the first step draws it.
            start.set(|q| view.scatter(point.q(), q));
            start.eval(target, ws);
        }
        gradients
    }

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let Self { view, inner, ws: own, walker: Walker { point, is_at }, drawn, draw_failed } =
            self;
        drawn.copy_from_slice(current.q());
        let has_changed = view.refresh(Some(rng), drawn, own);
        //~ collapsed-moved
        if has_changed || !is_at.is_of(current) {
            point.set(|v| view.gather(drawn, v));
        }
        let mut step = inner.step(view, point, own, rng);
        view.scatter(point.q(), drawn);
        // Where the chain starts, the marginal density need not be finite.
        *draw_failed = !view.draw_conditional(rng, drawn, own);
        if !*draw_failed {
            current.set(|q| q.copy_from_slice(drawn));
        } else {
            step.accepted = false; //~ collapsed-taken-back
            step.divergent = true; //~ collapsed-divergent
            point.set(|v| view.gather(current.q(), v));
        }
        current.eval(target, ws);
        is_at.set(current, |()| {});
        step
    }

    fn adapt(&mut self, step: &Step, current: &Point, warmup: WarmupProgress) {
        // Not where the step ended if it was taken back since.
        if !self.walker.is_at.is_of(current) {
            self.walker.point.set(|v| self.view.gather(current.q(), v));
        }
        self.inner.adapt(step, &self.walker.point, warmup);
    }

    fn freeze(&mut self) {
        self.inner.freeze();
    }

    fn diverged_at(&self, q: &mut [f64]) {
        let mut v = vec![0.0; self.walker.point.q().len()];
        //~ collapsed-failed
        if self.draw_failed {
            self.view.gather(&self.drawn, &mut v);
            return self.view.scatter(&v, q);
        }
        self.view.gather(q, &mut v);
        self.inner.diverged_at(&mut v);
        self.view.scatter(&v, q);
    }

    fn stat_names(&self) -> Vec<String> {
        self.inner.stat_names()
    }

    fn stats(&self, out: &mut [f64]) {
        self.inner.stats(out);
    }

    fn report(&self) -> Report {
        self.inner.report()
    }
}
