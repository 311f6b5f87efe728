//! Every Metropolis kernel leaves its target unchanged, and sabotaged copies do not.
//!
//! A sabotaged kernel is the same code with one classical mistake. That its test fails shows that
//! the test would notice; that the copy without a mistake passes shows that nothing else did it.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel, Step, metropolis_test};
use bnn_mcmc::target::Point;
use bnn_mcmc::testing::{ConjugateRegression, GaussianTarget, Invariance, InvarianceReport, Noise};
use ndarray::{Array1, Array2};

fn correlated() -> GaussianTarget {
    let covariance = [1.0, 0.6, 0.2, 0.6, 2.0, -0.3, 0.2, -0.3, 0.5];
    GaussianTarget::new(vec![1.0, -0.5, 0.0], &covariance).unwrap()
}

fn test<'t, A>(target: &'t GaussianTarget, algorithm: &A) -> InvarianceReport
where
    A: Algorithm<&'t GaussianTarget>,
{
    Invariance::default().run(target, algorithm, |rng, q| target.draw(rng, q)).unwrap()
}

#[test]
fn random_walk_metropolis() {
    let target = correlated();
    for step_size in [0.3, 1.5] {
        let report = test(&target, &Rwm { step_size, ..Rwm::default() });
        assert!(report.passes(), "{report}");
    }
    // A kernel that never moves leaves everything invariant, and does not pass.
    let report = test(&target, &Rwm { step_size: 1e6, ..Rwm::default() });
    assert!(!report.passes() && report.to_string().contains("hardly moves"), "{report}");
}

#[test]
fn mala() {
    let target = correlated();
    for step_size in [0.4, 1.1] {
        let report = test(&target, &Mala { step_size, ..Mala::default() });
        assert!(report.passes() && report.accept_rate < 0.97, "{report}");
    }
}

#[test]
fn independence() {
    let target = correlated();
    let report = test(&target, &Independence { proposal: Normal::new(0.5, 1.7).unwrap() });
    assert!(report.passes() && report.accept_rate > 0.05, "{report}");
}

/// A kernel whose preconditioner was learnt: what warm-up leaves behind must be invariant too.
#[derive(Clone)]
struct Warmed<A> {
    inner: A,
}

impl<'t, A> Algorithm<&'t GaussianTarget> for Warmed<A>
where
    A: Algorithm<&'t GaussianTarget>,
{
    type Kernel = A::Kernel;

    fn kernel(&self, target: &&'t GaussianTarget, rng: &ChainRng) -> Result<A::Kernel, Error> {
        let mut kernel = self.inner.kernel(target, rng)?;
        let (mut rng, mut ws) = (rng.child(1), target.workspace());
        let mut point = Point::new(target.dim());
        point.eval(target, &mut ws);
        for iteration in 0..600 {
            let step = kernel.step(target, &mut point, &mut ws, &mut rng);
            let progress = bnn_mcmc::sampler::WarmupProgress { iteration, total: 600 };
            kernel.adapt(&step, &point, progress);
        }
        kernel.freeze();
        Ok(kernel)
    }
}

#[test]
fn kernels_with_learnt_preconditioners() {
    let target = correlated();
    for preconditioner in
        [Preconditioner::Identity, Preconditioner::Diagonal, Preconditioner::Dense]
    {
        let report = test(&target, &Warmed { inner: Mala { preconditioner, ..Mala::default() } });
        assert!(report.passes(), "MALA, {preconditioner:?}: {report}");
        assert!((0.45..0.7).contains(&report.accept_rate), "MALA, {preconditioner:?}: {report}");
        let report = test(&target, &Warmed { inner: Nuts { preconditioner, ..Nuts::default() } });
        assert!(report.passes(), "NUTS, {preconditioner:?}: {report}");
        let report = test(&target, &Warmed { inner: Rwm { preconditioner, ..Rwm::default() } });
        assert!(report.passes(), "RWM, {preconditioner:?}: {report}");
        assert!((0.15..0.4).contains(&report.accept_rate), "RWM, {preconditioner:?}: {report}");
    }
    let preconditioner = Preconditioner::DiagonalFromGradients;
    for report in [
        test(&target, &Warmed { inner: Nuts { preconditioner, ..Nuts::default() } }),
        test(&target, &Warmed { inner: Hmc { preconditioner, ..Hmc::default() } }),
        test(&target, &Warmed { inner: Mala { preconditioner, ..Mala::default() } }),
    ] {
        assert!(report.passes(), "{preconditioner:?}: {report}");
    }
}

/// On the posterior of a regression with sampled noise, whose exact draws are known: the Jacobian
/// of log tau^2, the scale of the prior and the likelihood's normalisation are part of what is
/// tested. Targets with a mistake in one of them must fail under the same settings.
#[test]
fn the_posterior_of_a_regression() {
    let (x, y) = regression_data();
    let noise = Noise::InverseGamma { shape: 2.0, scale: 0.5 };
    let exact = ConjugateRegression::new(x.view(), y.view(), 0.5, noise).unwrap();
    let data = Dataset::regression(x, y).unwrap();
    let posterior = |sd, shape, scale| {
        let priors = Priors::all(Normal::new(0.0, sd).unwrap())
            .with("log_noise_variance", LogInverseGamma::new(shape, scale).unwrap());
        Posterior::new(Linear::new(2, 1).unwrap(), Gaussian::sampled(), &data, priors).unwrap()
    };
    let setup = Invariance { steps: 100, ..Invariance::default() };
    let draw = |rng: &mut ChainRng, q: &mut [f64]| exact.draw(rng, q);
    let mala = Mala { step_size: 0.2, ..Mala::default() };
    let rwm = Rwm { step_size: 0.2, ..Rwm::default() };
    let right = posterior(0.5, 2.0, 0.5);
    for report in [setup.run(&right, &mala, draw).unwrap(), setup.run(&right, &rwm, draw).unwrap()]
    {
        assert!(report.passes() && (0.2..0.95).contains(&report.accept_rate), "{report}");
    }
    for (mistake, wrong) in [
        // The density of tau^2 read as one of log tau^2, as the tutorial has it.
        ("no Jacobian", posterior(0.5, 3.0, 0.5)),
        ("the prior's sd read as its variance", posterior(0.5f64.sqrt(), 2.0, 0.5)),
        ("the prior's variance read as its sd", posterior(0.25, 2.0, 0.5)),
        ("shape and scale exchanged", posterior(0.5, 0.5, 2.0)),
    ] {
        for report in
            [setup.run(&wrong, &mala, draw).unwrap(), setup.run(&wrong, &rwm, draw).unwrap()]
        {
            assert!(!report.passes(), "{mistake}: {report}");
        }
    }
}

fn regression_data() -> (Array2<f64>, Array1<f64>) {
    let x = Array2::from_shape_fn((12, 2), |(i, j)| ((i * (j + 2)) as f64 * 0.7).sin());
    let y = Array1::from_shape_fn(12, |i| x[(i, 0)] - 0.5 + 0.4 * (i as f64 * 2.3).cos());
    (x, y)
}

/// What a careless implementation gets wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    Nothing,
    /// MALA whose ratio treats the proposal as symmetric.
    NoProposalRatio,
    /// MALA with drift eps^2 instead of eps^2 / 2 on the way back.
    WrongDriftBack,
    /// MALA with three quarters of the drift on the way back.
    SlightlyWrongDriftBack,
    /// MALA that accepts a little too often.
    Generous,
    /// MALA whose ratio divides by the step size instead of its square.
    RatioByStep,
    /// MALA that uses the old point's gradient on the way back.
    StaleGradient,
    /// MALA with the ratio's sign turned.
    RatioSign,
    /// Random walk that accepts with the ratio's square root.
    HalfRatio,
    /// Random walk with a proposal that is not symmetric: a shift.
    ShiftedProposal,
    /// Random walk that keeps the proposal's density for the old point after a rejection.
    StaleDensity,
    /// Independence proposals without the proposal density.
    NoProposalDensity,
}

use Mistake::*;

/// Textbook kernels, written the long way round, with room for mistakes.
#[derive(Clone)]
struct Sabotaged {
    kind: Kind,
    mistake: Mistake,
    step_size: f64,
}

#[derive(Clone, Copy)]
enum Kind {
    Mala,
    RandomWalk,
    Independence,
}

struct SabotagedKernel {
    config: Sabotaged,
    proposal: Point,
    stale: Option<f64>,
}

impl<'t> Algorithm<&'t GaussianTarget> for Sabotaged {
    type Kernel = SabotagedKernel;

    fn kernel(&self, target: &&'t GaussianTarget, _: &ChainRng) -> Result<SabotagedKernel, Error> {
        let proposal = Point::new(target.dim());
        Ok(SabotagedKernel { config: self.clone(), proposal, stale: None })
    }
}

impl<'t> Kernel<&'t GaussianTarget> for SabotagedKernel {
    type State = Option<f64>;

    fn state(&self) -> Option<f64> {
        self.stale
    }

    fn restore(&mut self, state: Option<f64>) {
        self.stale = state;
    }

    fn step(
        &mut self,
        target: &&'t GaussianTarget,
        current: &mut Point,
        ws: &mut Vec<f64>,
        rng: &mut ChainRng,
    ) -> Step {
        let (eps, mistake) = (self.config.step_size, self.config.mistake);
        let old = current.eval_grad(target, ws).total();
        let z: Vec<f64> = (0..target.dim()).map(|_| rng.normal()).collect();
        self.proposal.set(|q| {
            for (i, q) in q.iter_mut().enumerate() {
                *q = match self.config.kind {
                    Kind::Mala => current.q()[i] + 0.5 * eps * eps * current.grad()[i] + eps * z[i],
                    Kind::RandomWalk => {
                        let shift = if mistake == ShiftedProposal { 0.3 * eps } else { 0.0 };
                        current.q()[i] + eps * z[i] + shift
                    }
                    Kind::Independence => 0.5 + 1.7 * z[i],
                };
            }
        });
        let new = self.proposal.eval_grad(target, ws).total();
        // log N(to; from + drift * gradient, eps^2), up to a constant.
        let density = |to: &Point, from: &Point, gradient: &Point, drift: f64| {
            let squares: f64 = (0..z.len())
                .map(|i| (to.q()[i] - from.q()[i] - drift * gradient.grad()[i]).powi(2))
                .sum();
            let width = if mistake == RatioByStep { eps } else { eps * eps };
            -0.5 * squares / width
        };
        let ratio = match self.config.kind {
            Kind::Mala => {
                let drift = 0.5 * eps * eps;
                let there = density(&self.proposal, current, current, drift);
                let gradient = if mistake == StaleGradient { &*current } else { &self.proposal };
                let drift_back = match mistake {
                    WrongDriftBack => eps * eps,
                    SlightlyWrongDriftBack => 0.75 * drift,
                    _ => drift,
                };
                let back = density(current, &self.proposal, gradient, drift_back);
                match mistake {
                    NoProposalRatio => new - old,
                    Generous => new - old + back - there + 0.2,
                    RatioSign => new - old - (back - there),
                    _ => new - old + back - there,
                }
            }
            Kind::RandomWalk => match mistake {
                HalfRatio => 0.5 * (new - old),
                StaleDensity => new - self.stale.unwrap_or(old),
                _ => new - old,
            },
            Kind::Independence => {
                let g = |p: &Point| -> f64 {
                    p.q().iter().map(|q| -0.5 * ((q - 0.5) / 1.7).powi(2)).sum()
                };
                let proposal =
                    if mistake == NoProposalDensity { 0.0 } else { g(current) - g(&self.proposal) };
                new - old + proposal
            }
        };
        self.stale = Some(new);
        metropolis_test(current, &mut self.proposal, ratio, 1, rng)
    }
}

#[test]
fn sabotaged_kernels_fail_and_the_same_kernels_without_the_mistake_pass() {
    let target = correlated();
    for (kind, step_size, mistakes) in [
        (
            Kind::Mala,
            1.1,
            &[
                NoProposalRatio,
                WrongDriftBack,
                SlightlyWrongDriftBack,
                Generous,
                StaleGradient,
                RatioSign,
            ][..],
        ),
        // At a step near 1 its square is near it, too.
        (Kind::Mala, 0.6, &[RatioByStep][..]),
        (Kind::RandomWalk, 1.2, &[HalfRatio, ShiftedProposal, StaleDensity][..]),
        (Kind::Independence, 1.0, &[NoProposalDensity][..]),
    ] {
        let run = |mistake| test(&target, &Sabotaged { kind, mistake, step_size });
        let right = run(Mistake::Nothing);
        assert!(right.passes(), "without a mistake: {right}");
        for mistake in mistakes {
            let report = run(*mistake);
            assert!(!report.passes(), "{mistake:?} was not noticed: {report}");
        }
    }
}
