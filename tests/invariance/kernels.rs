//! Every Metropolis kernel leaves its target unchanged, and sabotaged copies do not.
//!
//! A sabotaged kernel is the same code with one classical mistake. That its test fails shows that
//! the test would notice; that the copy without a mistake passes shows that nothing else did it.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel, MetropolisKernel, Scale, Step, metropolis_test};
use bnn_mcmc::targets::{BoxSupport, Point};
use bnn_mcmc::testing::{
    ConjugateRegression, GaussianTarget, Invariance, InvarianceReport, NoiseVariance,
};

use crate::by_hand::{ByHand, Transition};
use crate::fixtures::{correlated, regression_data};

use shared::{refused, said};

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
    assert!(!report.passes() && report.accept_rate < 0.01, "{report}");
    said!(report.to_string().lines().next().unwrap());
}

#[test]
fn mala() {
    let target = correlated();
    for step_size in [0.4, 1.1] {
        let report = test(&target, &Mala { step_size, ..Mala::default() });
        assert!(report.passes() && report.accept_rate < 0.97, "{report}");
    }
}

/// In ten dimensions, where a small mistake in the ratio adds up: short steps, nearly all of which are
/// accepted, and steps of which hardly half are.
#[test]
fn mala_with_small_and_with_large_steps() {
    let target = GaussianTarget::standard(10).unwrap();
    let setup = Invariance { replicates: 40_000, steps: 6, ..Invariance::default() };
    for (step_size, accepted) in [(0.5, 0.9..1.0), (1.2, 0.4..0.6)] {
        let mala = Mala { step_size, ..Mala::default() };
        let report = setup.run(&target, &mala, |rng, q| target.draw(rng, q)).unwrap();
        assert!(report.passes() && accepted.contains(&report.accept_rate), "{report}");
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
    fn name(&self) -> String {
        "Warmed".into()
    }

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

/// HMC with a path length that warm-up tunes.
fn tuned(preconditioner: Preconditioner) -> Hmc {
    Hmc { preconditioner, jitter: 1.0, adapt_path_length: true, ..Hmc::default() }
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
        let report = test(&target, &Warmed { inner: Mams { preconditioner, ..Mams::default() } });
        assert!(report.passes(), "MAMS, {preconditioner:?}: {report}");
        let report = test(&target, &Warmed { inner: tuned(preconditioner) });
        assert!(report.passes(), "HMC, tuned, {preconditioner:?}: {report}");
    }
    for preconditioner in
        [Preconditioner::DiagonalFromGradients, Preconditioner::DenseFromGradients]
    {
        for report in [
            test(&target, &Warmed { inner: Nuts { preconditioner, ..Nuts::default() } }),
            test(&target, &Warmed { inner: Hmc { preconditioner, ..Hmc::default() } }),
            test(&target, &Warmed { inner: Mala { preconditioner, ..Mala::default() } }),
            test(&target, &Warmed { inner: Mams { preconditioner, ..Mams::default() } }),
            test(&target, &Warmed { inner: tuned(preconditioner) }),
        ] {
            assert!(report.passes(), "{preconditioner:?}: {report}");
        }
    }
}

/// On the posterior of a regression with sampled noise, whose exact draws are known: the Jacobian
/// of log tau^2, the scale of the prior and the likelihood's normalisation are part of what is
/// tested. Targets with a mistake in one of them must fail under the same settings.
#[test]
fn the_posterior_of_a_regression() {
    let (x, y) = regression_data(12);
    let noise = NoiseVariance::InverseGamma { shape: 2.0, scale: 0.5 };
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
    fn name(&self) -> String {
        "Sabotaged".into()
    }

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

/// A correlated normal distribution restricted to a box that its mean lies outside of, and one more
/// coordinate, uniform.
struct InBox {
    gaussian: GaussianTarget,
}

const LOWER: [f64; 4] = [-1.0, 0.0, f64::NEG_INFINITY, -0.5];
const UPPER: [f64; 4] = [0.5, f64::INFINITY, f64::INFINITY, 1.5];

impl InBox {
    fn new() -> Self {
        Self { gaussian: correlated() }
    }

    fn contains(q: &[f64]) -> bool {
        q.iter().zip(LOWER).zip(UPPER).all(|((q, a), b)| a <= *q && *q <= b)
    }

    fn draw(&self, rng: &mut ChainRng, q: &mut [f64]) {
        q[3] = LOWER[3] + (UPPER[3] - LOWER[3]) * rng.uniform();
        self.gaussian.draw(rng, &mut q[..3]);
        while !Self::contains(q) {
            self.gaussian.draw(rng, &mut q[..3]);
        }
    }
}

impl Target for InBox {
    type Workspace = Vec<f64>;
    fn dim(&self) -> usize {
        4
    }
    fn workspace(&self) -> Vec<f64> {
        self.gaussian.workspace()
    }
    fn log_density(&self, q: &[f64], ws: &mut Vec<f64>) -> LogDensity {
        if !Self::contains(q) {
            return LogDensity::OUTSIDE;
        }
        self.gaussian.log_density(&q[..3], ws)
    }
}

impl GradTarget for InBox {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut Vec<f64>) -> LogDensity {
        grad[3] = 0.0;
        let inside = self.gaussian.log_density_grad(&q[..3], &mut grad[..3], ws);
        if Self::contains(q) { inside } else { LogDensity::OUTSIDE }
    }
}

impl BoxSupport for InBox {
    fn bounds(&self, lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error> {
        lower.copy_from_slice(&LOWER);
        upper.copy_from_slice(&UPPER);
        Ok(())
    }
}

fn test_in_box<A: for<'t> Algorithm<&'t InBox>>(algorithm: &A) -> InvarianceReport {
    let target = InBox::new();
    Invariance::default().run(&target, algorithm, |rng, q| target.draw(rng, q)).unwrap()
}

#[test]
fn truncated_mala() {
    // A small part of the box, about all of it, and much wider than it.
    for step_size in [0.3, 1.0, 3.0] {
        let report = test_in_box(&TruncatedMala { step_size, ..TruncatedMala::default() });
        println!("{step_size}: {report}");
        assert!(report.passes() && (0.02..0.97).contains(&report.accept_rate), "{report}");
    }
    // Plain MALA proposes points outside, and is right all the same.
    let report = test_in_box(&Mala { step_size: 0.3, ..Mala::default() });
    assert!(report.passes(), "{report}");
}

/// What a careless implementation of MALA on a box gets wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum BoxMistake {
    Nothing,
    /// Truncated draws, with the density of untruncated ones.
    NoNormaliser,
    /// The normaliser at the position, not at the mean of the proposal.
    NormaliserAtPosition,
    /// The two normalisers exchanged.
    NormaliserSign,
    /// The normaliser of the way there only.
    NormaliserOneWay,
    /// A draw of plain MALA moved to the nearest point of the box.
    Clamped,
}

/// MALA on a box by the textbook: plain cdfs and their inverse, good to some six sd.
#[derive(Clone)]
struct SabotagedInBox {
    mistake: BoxMistake,
    step_size: f64,
}

impl<'t> Transition<&'t InBox> for SabotagedInBox {
    type Memory = Point;
    fn memory(&self, target: &&'t InBox) -> Self::Memory {
        Point::new(target.dim())
    }

    fn step(
        &self,
        memory: &mut Self::Memory,
        target: &&'t InBox,
        current: &mut Point,
        ws: &mut Vec<f64>,
        rng: &mut ChainRng,
    ) -> Step {
        use statrs::distribution::{ContinuousCDF, Normal};
        let (eps, mistake) = (self.step_size, self.mistake);
        let mean = |p: &Point, i: usize| p.q()[i] + 0.5 * eps * eps * p.grad()[i];
        let old = current.eval_grad(target, ws).total();
        memory.set(|q| {
            for (i, q) in q.iter_mut().enumerate() {
                let normal = Normal::new(mean(current, i), eps).unwrap();
                *q = if mistake == BoxMistake::Clamped {
                    normal.inverse_cdf(rng.uniform()).clamp(LOWER[i], UPPER[i])
                } else {
                    let (a, b) = (normal.cdf(LOWER[i]), normal.cdf(UPPER[i]));
                    normal.inverse_cdf(a + rng.uniform() * (b - a)).clamp(LOWER[i], UPPER[i])
                };
            }
        });
        let new = memory.eval_grad(target, ws).total();
        let log_density = |to: &Point, from: &Point, way_back: bool| -> f64 {
            (0..4)
                .map(|i| {
                    let at = match mistake {
                        BoxMistake::NormaliserAtPosition => from.q()[i],
                        _ => mean(from, i),
                    };
                    let normal = Normal::new(at, eps).unwrap();
                    let log_z = (normal.cdf(UPPER[i]) - normal.cdf(LOWER[i])).ln();
                    let log_z = match mistake {
                        BoxMistake::NoNormaliser | BoxMistake::Clamped => 0.0,
                        BoxMistake::NormaliserOneWay if way_back => 0.0,
                        BoxMistake::NormaliserSign => -log_z,
                        _ => log_z,
                    };
                    -0.5 * ((to.q()[i] - mean(from, i)) / eps).powi(2) - log_z
                })
                .sum()
        };
        let back = log_density(current, memory, true);
        let there = log_density(memory, current, false);
        metropolis_test(current, memory, new - old + back - there, 1, rng)
    }
}

#[test]
fn sabotaged_truncated_mala_fails_and_the_same_kernel_without_the_mistake_passes() {
    let run = |mistake| test_in_box(&ByHand(SabotagedInBox { mistake, step_size: 0.7 }));
    let right = run(BoxMistake::Nothing);
    assert!(right.passes(), "without a mistake: {right}");
    // The textbook's kernel and the crate's are the same.
    let crates = test_in_box(&TruncatedMala { step_size: 0.7, ..TruncatedMala::default() });
    assert!((crates.accept_rate - right.accept_rate).abs() < 0.005, "{crates}{right}");
    for mistake in [
        BoxMistake::NoNormaliser,
        BoxMistake::NormaliserAtPosition,
        BoxMistake::NormaliserSign,
        BoxMistake::NormaliserOneWay,
        BoxMistake::Clamped,
    ] {
        let report = run(mistake);
        assert!(!report.passes(), "{mistake:?} was not noticed: {report}");
    }
}

#[test]
fn a_scale_of_another_dimension_is_refused() {
    for preconditioner in [Preconditioner::Diagonal, Preconditioner::Dense] {
        let scale = Scale::new(2, 0.1, None, preconditioner).unwrap();
        assert!(MetropolisKernel::new(2, scale.clone(), ()).is_ok());
        let kernel = MetropolisKernel::new(3, scale, ());
        refused!(kernel, Shape { what: "coordinates of the scale", found: 2, expected: 3 });
    }
}

/// The acceptance rate of `algorithm` on a regression with three features that matter and `more` that are zero.
fn acceptance<A>(more: usize, algorithm: A) -> f64
where
    A: for<'t> Algorithm<&'t Posterior<Linear, Gaussian>>,
{
    let (x, y) = regression_data(30);
    let x = ndarray::Array2::from_shape_fn(
        (30, 3 + more),
        |(i, j)| if j < 2 { x[[i, j]] } else { 0.0 },
    );
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let (model, noise) = (Linear::new(3 + more, 1).unwrap(), Gaussian::fixed(0.5).unwrap());
    let posterior = Posterior::new(model, noise, &data, priors).unwrap();
    let sampler = Sampler::new(&posterior, algorithm).warmup(0).draws(3000).seed(5);
    let draws = sampler.keep(Keep::blocks(["b"])).run().unwrap();
    draws.stat("accept_prob").unwrap().mean().unwrap()
}

#[test]
fn pcn_accepts_as_often_with_any_number_of_dimensions_that_say_nothing() {
    let pcn = || Pcn { step_size: 0.1, adapt_step_size: false, ..Pcn::default() };
    let few = acceptance(0, pcn());
    assert!((0.3..0.9).contains(&few), "{few}");
    for more in [10, 100, 1_000, 10_000] {
        let found = acceptance(more, pcn());
        assert!((found - few).abs() < 0.03, "{more}: {found}, {few} with none");
    }
    // A random walk with the same steps does not.
    let rwm = || Rwm { step_size: 0.1, adapt_step_size: false, ..Rwm::default() };
    assert!(acceptance(3_000, rwm()) < 0.2 * acceptance(0, rwm()));
}
