//! Simplified manifold MALA leaves its targets unchanged with both metrics, and sabotaged copies do
//! not; exact posteriors, exact resumes, threads, blocks, tempering.

use bnn_mcmc::draws::checkpoint::Every;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{
    Algorithm, Factorisation, Fisher, Metric, Phase, Smmala, SoftAbs, Step, metropolis_test,
};
use bnn_mcmc::targets::{FisherTarget, HessTarget, Point, Tempered};
use bnn_mcmc::testing::{
    GaussianTarget, Invariance, InvarianceReport, gradient_error, hessian_error,
};
use ndarray::Array2;

use crate::by_hand::{ByHand, Transition};
use crate::fixtures::{Exact, Funnel, correlated, regression, regression_data};

use shared::refused;

macro_rules! second_derivatives {
    ($target:ty, |$q:ident| $hessian:expr, $fisher:expr) => {
        impl HessTarget for $target {
            fn neg_hessian_at(&self, beta: f64, $q: &[f64], out: &mut [f64], _: &mut ()) {
                let h = $hessian;
                out.iter_mut().zip(h).for_each(|(out, h)| *out = beta * h);
            }
        }
        impl FisherTarget for $target {
            fn fisher_at(&self, beta: f64, $q: &[f64], out: &mut [f64], _: &mut ()) {
                let f = $fisher;
                out.iter_mut().zip(f).for_each(|(out, f)| *out = beta * f);
            }
        }
    };
}

second_derivatives!(
    Funnel,
    |q| {
        let p = (-q[0]).exp();
        let (a, b) = (-q[1] * p, -q[2] * p);
        [1.0 + 0.5 * (q[1] * q[1] + q[2] * q[2]) * p, a, b, a, p, 0.0, b, 0.0, p]
    },
    [2.0, 0.0, 0.0, 0.0, (-q[0]).exp(), 0.0, 0.0, 0.0, (-q[0]).exp()]
);

/// x ~ N(0, 1), y ~ N(B (x^2 - 1), S^2): a banana, whose Hessian is indefinite on its inner side.
struct Banana;

impl Banana {
    const B: f64 = 0.8;
    const S: f64 = 0.7;

    /// The residual of y in units of S^2, and the slope of its mean.
    fn parts(q: &[f64]) -> (f64, f64) {
        let mean = Self::B * (q[0] * q[0] - 1.0);
        ((q[1] - mean) / Self::S.powi(2), 2.0 * Self::B * q[0])
    }
}

impl Target for Banana {
    type Workspace = ();
    fn dim(&self) -> usize {
        2
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        let (r, _) = Self::parts(q);
        LogDensity::from(-0.5 * q[0] * q[0] - 0.5 * r * r * Self::S.powi(2))
    }
}

impl GradTarget for Banana {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        let (r, slope) = Self::parts(q);
        grad.copy_from_slice(&[-q[0] + r * slope, -r]);
        self.log_density(q, ws)
    }
}

second_derivatives!(
    Banana,
    |q| {
        let ((r, slope), p) = (Banana::parts(q), Banana::S.powi(-2));
        [1.0 + slope * slope * p - 2.0 * Banana::B * r, -slope * p, -slope * p, p]
    },
    {
        let ((_, slope), p) = (Banana::parts(q), Banana::S.powi(-2));
        [1.0 + slope * slope * p, -slope * p, -slope * p, p]
    }
);

impl Exact for Banana {
    fn draw(&self, rng: &mut ChainRng, q: &mut [f64]) {
        q[0] = rng.normal();
        q[1] = Self::B * (q[0] * q[0] - 1.0) + Self::S * rng.normal();
    }
}

fn test<'t, T: Exact + HessTarget + FisherTarget, A: Algorithm<&'t T>>(
    target: &'t T,
    algorithm: &A,
) -> InvarianceReport {
    let setup = Invariance { steps: 8, ..Invariance::default() };
    setup.run(target, algorithm, |rng, q| target.draw(rng, q)).unwrap()
}

#[test]
fn second_derivatives_of_the_test_targets() {
    for q in [[0.3, -1.0, 0.5], [-1.2, 0.4, 1.9]] {
        assert!(gradient_error(&Funnel, &q) < 1e-8 && hessian_error(&Funnel, &q) < 1e-8);
        assert!(gradient_error(&Banana, &q[..2]) < 1e-8 && hessian_error(&Banana, &q[..2]) < 1e-8);
    }
}

#[test]
fn both_metrics_leave_curved_targets_unchanged() {
    fn check<T: Exact + HessTarget + FisherTarget>(name: &str, target: &T, step_sizes: [f64; 2]) {
        for step_size in step_sizes {
            for alpha in [1e6, 1.0] {
                let metric = SoftAbs { alpha };
                let report = test(target, &Smmala { step_size, ..Smmala::new(metric) });
                assert!(report.passes(), "SoftAbs {alpha} on {name}, step {step_size}: {report}");
            }
            let report = test(target, &Smmala { step_size, ..Smmala::new(Fisher) });
            assert!(report.passes(), "Fisher on {name}, step {step_size}: {report}");
        }
    }
    check("the funnel", &Funnel, [0.4, 1.0]);
    check("the banana", &Banana, [0.4, 1.0]);
    check("a normal", &correlated(), [0.5, 1.2]);
}

/// Posteriors with exact draws whose curvature varies: a regression with sampled noise, and at
/// beta = 0 the hierarchical prior of a network.
#[test]
fn posteriors_are_left_unchanged() {
    let (exact, posterior) = regression(12);
    let setup = Invariance { steps: 10, ..Invariance::default() };
    let draw = |rng: &mut ChainRng, q: &mut [f64]| exact.draw(rng, q);
    let soft = Smmala { step_size: 0.8, ..Smmala::new(SoftAbs { alpha: 1e3 }) };
    let fisher = Smmala { step_size: 0.8, ..Smmala::new(Fisher) };
    for report in
        [setup.run(&posterior, &soft, draw).unwrap(), setup.run(&posterior, &fisher, draw).unwrap()]
    {
        assert!(report.passes() && (0.15..0.99).contains(&report.accept_rate), "{report}");
    }

    let (x, y) = regression_data(12);
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 0.5).unwrap()).hierarchical(
        "w*",
        "log_variance",
        LogInverseGamma::new(3.0, 2.0).unwrap(),
    );
    let model = Mlp::new(&[2, 1, 1], Activation::Tanh).unwrap();
    let posterior = Posterior::new(model, Gaussian::fixed(0.1).unwrap(), &data, priors).unwrap();
    let prior = Tempered::new(&posterior, 0.0).unwrap();
    let draw = |rng: &mut ChainRng, q: &mut [f64]| posterior.draw_prior(rng, q).unwrap();
    for report in
        [setup.run(&prior, &soft, draw).unwrap(), setup.run(&prior, &fisher, draw).unwrap()]
    {
        assert!(report.passes() && (0.15..0.99).contains(&report.accept_rate), "{report}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    Nothing,
    /// The determinants of the two metrics are left out.
    NoLogDeterminant,
    /// The way back is measured with the metric of the old point.
    MetricOfWrongPoint,
    /// The way back drifts along the gradient, not G^-1 times it.
    DriftWithoutMetric,
    /// The proposal's mean moves by eps^2, the ratio's by eps^2 / 2.
    DriftTwice,
    /// Symmetric: no proposal densities.
    NoProposalRatio,
}

/// SMMALA from its definition, on small dense matrices, with room for mistakes.
#[derive(Clone)]
struct Plain<M> {
    metric: M,
    step_size: f64,
    mistake: Mistake,
}

/// Eigenvalues and eigenvectors (columns) by Jacobi's rotations.
fn jacobi(mut a: Vec<f64>, d: usize) -> (Vec<f64>, Vec<f64>) {
    let mut v = vec![0.0; d * d];
    (0..d).for_each(|i| v[i * d + i] = 1.0);
    for _ in 0..30 {
        for p in 0..d {
            for q in p + 1..d {
                if a[p * d + q] == 0.0 {
                    continue;
                }
                let angle = 0.5 * (2.0 * a[p * d + q]).atan2(a[q * d + q] - a[p * d + p]);
                let (s, c) = angle.sin_cos();
                for k in 0..d {
                    let (x, y) = (a[k * d + p], a[k * d + q]);
                    (a[k * d + p], a[k * d + q]) = (c * x - s * y, s * x + c * y);
                    let (x, y) = (v[k * d + p], v[k * d + q]);
                    (v[k * d + p], v[k * d + q]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..d {
                    let (x, y) = (a[p * d + k], a[q * d + k]);
                    (a[p * d + k], a[q * d + k]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    ((0..d).map(|i| a[i * d + i]).collect(), v)
}

struct Local {
    values: Vec<f64>,
    vectors: Vec<f64>,
}

impl Local {
    /// Q diag(f(s)) Q^T u.
    fn apply(&self, f: impl Fn(f64) -> f64, u: &[f64]) -> Vec<f64> {
        let d = u.len();
        let mut out = vec![0.0; d];
        for k in 0..d {
            let along: f64 = (0..d).map(|i| self.vectors[i * d + k] * u[i]).sum();
            (0..d).for_each(|i| out[i] += self.vectors[i * d + k] * along * f(self.values[k]));
        }
        out
    }
    fn log_det(&self) -> f64 {
        self.values.iter().map(|s| s.ln()).sum()
    }
}

impl<M> Plain<M> {
    fn local<T: GradTarget>(&self, target: &T, q: &[f64], ws: &mut T::Workspace) -> Local
    where
        M: Metric<T>,
    {
        let mut matrix = vec![0.0; q.len() * q.len()];
        self.metric.matrix(target, q, &mut matrix, ws);
        let (mut values, vectors) = jacobi(matrix, q.len());
        if let Factorisation::SoftAbs { alpha } = self.metric.factorisation() {
            values.iter_mut().for_each(|l| *l /= (alpha * *l).tanh());
        }
        Local { values, vectors }
    }
}

impl<T: GradTarget, M: Metric<T>> Transition<T> for Plain<M> {
    type Memory = ();
    fn memory(&self, _: &T) {}

    fn step(
        &self,
        _: &mut (),
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let (eps, mistake) = (self.step_size, self.mistake);
        let old = current.eval_grad(target, ws).total();
        let here = self.local(target, current.q(), ws);
        let z: Vec<f64> = (0..target.dim()).map(|_| rng.normal()).collect();
        let inverse = |s: f64| 1.0 / s;
        let noise = here.apply(|s| 1.0 / s.sqrt(), &z);
        let direction = here.apply(inverse, current.grad());
        let twice = if mistake == Mistake::DriftTwice { 2.0 } else { 1.0 };
        let mut proposal = current.clone();
        proposal.set(|q| {
            for i in 0..q.len() {
                q[i] += twice * 0.5 * eps * eps * direction[i] + eps * noise[i];
            }
        });
        let new = proposal.eval_grad(target, ws).total();
        let there = self.local(target, proposal.q(), ws);
        // log N(to; from + eps^2/2 drift, eps^2 G^-1), up to a constant.
        let density = |to: &Point, from: &Point, drift: &[f64], local: &Local| {
            let u: Vec<f64> = (0..drift.len())
                .map(|i| to.q()[i] - from.q()[i] - 0.5 * eps * eps * drift[i])
                .collect();
            let squares: f64 = local.apply(|s| s, &u).iter().zip(&u).map(|(a, u)| a * u).sum();
            let log_det = if mistake == Mistake::NoLogDeterminant { 0.0 } else { local.log_det() };
            0.5 * log_det - 0.5 * squares / (eps * eps)
        };
        let local = if mistake == Mistake::MetricOfWrongPoint { &here } else { &there };
        let drift_back = match mistake {
            Mistake::DriftWithoutMetric => proposal.grad().to_vec(),
            _ => local.apply(inverse, proposal.grad()),
        };
        let forth = density(&proposal, current, &direction, &here);
        let back = density(current, &proposal, &drift_back, local);
        let ratio = match mistake {
            Mistake::NoProposalRatio => new - old,
            _ => new - old + back - forth,
        };
        metropolis_test(current, &mut proposal, ratio, 1, rng)
    }
}

#[test]
fn sabotaged_copies_fail_with_both_metrics_and_the_same_code_without_a_mistake_passes() {
    use Mistake::*;
    fn check<M: Metric<&'static Funnel>>(name: &str, metric: M) {
        let run = |mistake| {
            test(&Funnel, &ByHand(Plain { metric: metric.clone(), step_size: 0.8, mistake }))
        };
        let right = run(Nothing);
        assert!(right.passes(), "{name}: {right}");
        let mistakes =
            [NoLogDeterminant, MetricOfWrongPoint, DriftWithoutMetric, DriftTwice, NoProposalRatio];
        for mistake in mistakes {
            let report = run(mistake);
            assert!(!report.passes(), "{name}: {mistake:?} was not noticed: {report}");
        }
    }
    check("SoftAbs", SoftAbs { alpha: 1e3 });
    check("Fisher", Fisher);
}

/// Means and standard deviations of the exact posterior of a regression, with learnt step sizes.
#[test]
fn the_exact_posterior_of_a_regression() {
    let (exact, posterior) = regression(12);
    fn run<M>(posterior: &Posterior<Linear, Gaussian>, smmala: Smmala<M>) -> Draws
    where
        M: for<'t> Metric<&'t Posterior<Linear, Gaussian>>,
    {
        Sampler::new(posterior, smmala).warmup(10_000).draws(10_000).seed(5).run().unwrap()
    }
    for draws in
        [run(&posterior, Smmala::<SoftAbs>::default()), run(&posterior, Smmala::new(Fisher))]
    {
        let summary = draws.summary().unwrap();
        for (i, row) in summary.rows.iter().enumerate() {
            assert!(row.ess_bulk > 500.0, "{}: {}", row.name, row.ess_bulk);
            let sd = exact.covariance()[(i, i)].sqrt();
            let error = (row.mean - exact.mean()[i]).abs();
            assert!(error < 5.0 * sd / row.ess_bulk.sqrt(), "{}: {error}", row.name);
            // The noise's log variance is skew: four times the error of a normal's sd.
            assert!((row.sd / sd - 1.0).abs() < 10.0 / row.ess_bulk.sqrt(), "{}", row.name);
        }
        for rate in draws.accept_rate() {
            assert!((rate - 0.65).abs() < 0.1, "acceptance {rate}");
        }
        assert_eq!(draws.divergences(), 0);
    }
}

fn network() -> Posterior<Mlp, Gaussian> {
    let x = Array2::from_shape_fn((20, 2), |(i, j)| ((i + 3 * j) as f64).sin());
    let y = x.column(0).mapv(|x| x + 0.3 * (7.0 * x).cos());
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap())
        .hierarchical("w0", "log_variance", LogInverseGamma::new(2.0, 1.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap()
}

/// Alone, on blocks whose neighbours move, and both metrics in turn on the same point.
#[test]
fn draws_depend_neither_on_threads_nor_on_stops() {
    let posterior = network();
    let algorithm = || {
        let blocks = Cycle(
            OnBlocks::new(&["w*", "b*"], Smmala::new(Fisher)),
            OnBlocks::new(&["log_*"], Smmala::new(SoftAbs { alpha: 10.0 })),
        );
        let both = Mixture {
            first: Smmala::new(Fisher),
            second: Smmala::<SoftAbs>::default(),
            probability: 0.5,
        };
        Cycle(both, Mixture { first: blocks, second: Mala::default(), probability: 0.5 })
    };
    let run = |threads| {
        Sampler::new(&posterior, algorithm()).warmup(200).draws(150).seed(4).threads(threads)
    };
    let whole = run(1).run().unwrap();
    assert!(whole.accept_rate().iter().all(|rate| *rate > 0.2));
    assert_eq!(whole.values(), run(4).run().unwrap().values());
    let folder = tempfile::tempdir().unwrap();
    for (phase, done) in [(Phase::Warmup, 40), (Phase::Sampling, 60)] {
        let path = folder.path().join(format!("{phase:?}{done}"));
        let stop = StopHandle::new();
        let stopping = run(2).stop_handle(&stop).checkpoint(&path, Every::Draws(10));
        let stopping = stopping.on_progress(|p| {
            if p.phase == phase && p.done >= done {
                stop.stop();
            }
        });
        stopping.run().unwrap();
        let resumed = run(2).checkpoint(&path, Every::Draws(10)).run().unwrap();
        assert_eq!(resumed.values(), whole.values(), "stopped in {phase:?}");
        for stat in whole.stat_names() {
            let bits = |d: &Draws| d.stat(stat).unwrap().mapv(f64::to_bits);
            assert_eq!(bits(&resumed), bits(&whole), "{stat}, stopped in {phase:?}");
        }
    }
}

/// Each point's metric is computed once: as many as there are gradients.
#[test]
fn a_metric_is_computed_once_per_point() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    struct Counted(GaussianTarget, AtomicUsize);
    impl Target for Counted {
        type Workspace = Vec<f64>;
        fn dim(&self) -> usize {
            self.0.dim()
        }
        fn workspace(&self) -> Vec<f64> {
            self.0.workspace()
        }
        fn log_density(&self, q: &[f64], ws: &mut Vec<f64>) -> LogDensity {
            self.0.log_density(q, ws)
        }
    }
    impl GradTarget for Counted {
        fn log_density_grad(&self, q: &[f64], g: &mut [f64], ws: &mut Vec<f64>) -> LogDensity {
            self.0.log_density_grad(q, g, ws)
        }
    }
    impl FisherTarget for Counted {
        fn fisher_at(&self, beta: f64, q: &[f64], out: &mut [f64], ws: &mut Vec<f64>) {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.fisher_at(beta, q, out, ws);
        }
    }
    let target = Counted(GaussianTarget::standard(3).unwrap(), AtomicUsize::new(0));
    let smmala = Smmala { step_size: 1.5, ..Smmala::new(Fisher) };
    let sampler = Sampler::new(&target, smmala).warmup(0).draws(500).chains(1);
    let draws = sampler.run().unwrap();
    let rate = draws.accept_rate()[0];
    assert!((0.1..0.95).contains(&rate), "{rate}");
    assert_eq!(target.1.load(Ordering::Relaxed), 501, "one per proposal, and the start's");
}

/// log p = -(q^2 - 1)^2, whose Hessian is wrong where it pleases.
struct Fickle(f64);

impl Target for Fickle {
    type Workspace = ();
    fn dim(&self) -> usize {
        1
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(-(q[0] * q[0] - 1.0).powi(2))
    }
}

impl GradTarget for Fickle {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad[0] = -4.0 * q[0] * (q[0] * q[0] - 1.0);
        self.log_density(q, ws)
    }
}

impl HessTarget for Fickle {
    fn neg_hessian_at(&self, _: f64, q: &[f64], out: &mut [f64], _: &mut ()) {
        out[0] = if q[0] > 0.0 { self.0 } else { 1.0 };
    }
}

impl FisherTarget for Fickle {
    fn fisher_at(&self, beta: f64, q: &[f64], out: &mut [f64], ws: &mut ()) {
        self.neg_hessian_at(beta, q, out, ws);
    }
}

#[test]
fn a_metric_that_cannot_be_factorised_rejects_and_is_counted() {
    for (bad, soft_too) in [(f64::NAN, true), (f64::INFINITY, true), (-1.0, false), (0.0, false)] {
        let target = Fickle(bad);
        for start in [-1.0, 1.0] {
            let init = Init::Points(vec![vec![start]; 2]);
            let run = |soft: bool| {
                let (chains, warmup, draws) = (2, 50, 200);
                if soft {
                    let algorithm =
                        Smmala { step_size: 1.0, ..Smmala::new(SoftAbs { alpha: 2.0 }) };
                    let sampler = Sampler::new(&target, algorithm).chains(chains);
                    sampler.warmup(warmup).draws(draws).init(init.clone()).run().unwrap()
                } else {
                    let algorithm = Smmala { step_size: 1.0, ..Smmala::new(Fisher) };
                    let sampler = Sampler::new(&target, algorithm).chains(chains);
                    sampler.warmup(warmup).draws(draws).init(init.clone()).run().unwrap()
                }
            };
            let fisher = run(false);
            assert!(fisher.divergences() > 0, "{bad}");
            let all = fisher.values();
            assert!(all.iter().all(|q| if start < 0.0 { *q <= 0.0 } else { *q == 1.0 }), "{bad}");
            assert_eq!(run(true).divergences() > 0, soft_too, "{bad}");
        }
    }
}

#[test]
fn wrong_settings_are_named() {
    let posterior = network();
    for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let run = Sampler::new(&posterior, Smmala::new(SoftAbs { alpha })).run();
        refused!(run, Argument { name: "alpha", value: alpha });
    }
    let smmala = Smmala { step_size: 0.0, ..Smmala::new(Fisher) };
    let run = Sampler::new(&posterior, smmala).run();
    refused!(run, Argument { name: "step_size", value: 0 });
    let smmala = Smmala { target_accept: 1.0, ..Smmala::new(Fisher) };
    let run = Sampler::new(&posterior, smmala).run();
    refused!(run, Argument { name: "target_accept", value: 1 });

    /// A prior of three methods.
    #[derive(Debug)]
    struct Own;
    impl Prior for Own {
        fn log_density(&self, _: &[f64]) -> f64 {
            0.0
        }
        fn add_grad(&self, _: &[f64], _: &mut [f64]) -> f64 {
            0.0
        }
        fn draw(&self, _: &mut ChainRng, x: &mut [f64]) -> Result<(), Error> {
            x.fill(0.0);
            Ok(())
        }
    }
    let (x, y) = regression_data(12);
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap()).with("b1", Own);
    let model = Mlp::new(&[2, 2, 1], Activation::Tanh).unwrap();
    let posterior = Posterior::new(model, Gaussian::fixed(1.0).unwrap(), &data, priors).unwrap();
    for run in [
        Sampler::new(&posterior, Smmala::new(Fisher)).run(),
        Sampler::new(&posterior, Smmala::<SoftAbs>::default()).run(),
    ] {
        refused!(run, Prior {});
    }
}

/// Second derivatives of some blocks are cut out of a matrix of the whole target.
#[test]
fn a_whole_target_too_large_for_a_matrix_is_refused_for_its_blocks_too() {
    let data = Dataset::regression(Array2::ones((3, 9_000)), ndarray::Array1::zeros(3)).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let (model, noise) = (Linear::new(9_000, 1).unwrap(), Gaussian::fixed(1.0).unwrap());
    let posterior = Posterior::new(model, noise, &data, priors).unwrap();
    let soft = OnBlocks::new(&["b"], Smmala::<SoftAbs>::default());
    let fisher = OnBlocks::new(&["b"], Smmala::new(Fisher));
    for run in [Sampler::new(&posterior, soft).run(), Sampler::new(&posterior, fisher).run()] {
        refused!(run, Argument { name: "dimension of the target", value: 9001 });
    }
}
