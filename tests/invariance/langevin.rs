//! Unadjusted Langevin kernels: stationary variances against the exact discretised ones, the bias of
//! stochastic gradients, exact resumes, divergences, bad arguments.

use bnn_mcmc::diagnostics::{Outcome, Verdict};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, GradSource, Kernel, Phase, Step};
use bnn_mcmc::targets::{MinibatchTarget, Point};
use bnn_mcmc::testing::{ConjugateRegression, GaussianTarget, NoiseVariance};
use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};
use shared::{refused, said};

/// U = k q^2/2 for each of the given curvatures.
fn harmonic(curvatures: &[f64]) -> GaussianTarget {
    let d = curvatures.len();
    let mut covariance = vec![0.0; d * d];
    curvatures.iter().enumerate().for_each(|(i, k)| covariance[i * (d + 1)] = 1.0 / k);
    GaussianTarget::new(vec![0.0; d], &covariance).unwrap()
}

/// Mean and standard error over chains of the mean of `value` over draws.
fn mean_and_error(draws: &Draws, value: impl Fn(usize, usize) -> f64) -> (f64, f64) {
    let (chains, n) = (draws.n_chains(), draws.n_draws());
    let means: Array1<f64> =
        (0..chains).map(|c| (0..n).map(|d| value(c, d)).sum::<f64>() / n as f64).collect();
    (means.mean().unwrap(), means.std(1.0) / (chains as f64).sqrt())
}

const CHAINS: usize = 64;

fn run<A>(target: &GaussianTarget, algorithm: &A, seed: u64) -> Draws
where
    A: Clone + for<'t> Algorithm<&'t GaussianTarget>,
{
    let centre = vec![0.0; target.dim()];
    Sampler::new(target, algorithm.clone())
        .chains(CHAINS)
        .warmup(500)
        .draws(6_000)
        .seed(seed)
        .init(Init::Around { centre, sd: 0.5 })
        .run()
        .unwrap()
}

/// How many standard errors the stationary variance of each coordinate is from `variance(k)`.
fn deviations<A>(algorithm: &A, curvatures: &[f64], variance: impl Fn(f64) -> f64) -> Vec<f64>
where
    A: Clone + for<'t> Algorithm<&'t GaussianTarget>,
{
    let target = harmonic(curvatures);
    let draws = run(&target, algorithm, 7);
    assert_eq!(draws.divergences(), 0);
    let z = curvatures.iter().enumerate().map(|(i, k)| {
        let (mean, error) = mean_and_error(&draws, |c, d| draws.draw(c, d).unwrap()[i].powi(2));
        // Precise enough to tell a wrong factor from the right one.
        assert!(error / mean < 0.02, "{error} of {mean}");
        (mean - variance(*k)) / error
    });
    z.collect()
}

#[track_caller]
fn assert_small(deviations: &[f64], what: &str) {
    assert!(deviations.iter().all(|z| z.abs() < 5.0), "{what}: {deviations:?} standard errors");
}

/// (h, B); h k <= 0.3.
const OVERDAMPED: [(f64, f64); 2] = [(0.1, 1.0), (0.05, 4.0)];
const CURVATURES: [f64; 3] = [0.7, 1.5, 3.0];

#[test]
fn overdamped_variances_are_those_of_the_discretised_dynamics() {
    for (h, beta) in OVERDAMPED {
        let em = EulerMaruyama { step_size: h, inverse_temperature: beta, ..Default::default() };
        let lm = LeimkuhlerMatthews {
            step_size: h,
            inverse_temperature: beta,
            ..LeimkuhlerMatthews::<FullGrad>::default()
        };
        let of_em = |k: f64| 2.0 / (beta * k * (2.0 - h * k));
        assert_small(&deviations(&em, &CURVATURES, of_em), "Euler-Maruyama");
        assert_small(&deviations(&lm, &CURVATURES, |k| 1.0 / (beta * k)), "Leimkuhler-Matthews");
        // They are not each other's.
        let wrong = deviations(&em, &CURVATURES, |k| 1.0 / (beta * k));
        assert!(wrong[2].abs() > 5.0, "{wrong:?}");
    }
}

/// Leimkuhler-Matthews with two fresh normals in each step.
#[derive(Clone)]
struct FreshNormals {
    step_size: f64,
    inverse_temperature: f64,
}

struct FreshKernel(FreshNormals, Point);

impl<T: GradTarget> Algorithm<T> for FreshNormals {
    type Kernel = FreshKernel;
    fn name(&self) -> String {
        "FreshNormals".into()
    }
    fn kernel(&self, target: &T, _: &ChainRng) -> Result<FreshKernel, Error> {
        Ok(FreshKernel(self.clone(), Point::new(target.dim())))
    }
}

impl<T: GradTarget> Kernel<T> for FreshKernel {
    type State = ();
    fn state(&self) {}
    fn restore(&mut self, (): ()) {}
    fn step(&mut self, t: &T, at: &mut Point, ws: &mut T::Workspace, rng: &mut ChainRng) -> Step {
        at.eval_grad(t, ws);
        let (h, noise) =
            (self.0.step_size, (self.0.step_size / self.0.inverse_temperature / 2.0).sqrt());
        self.1.set(|q| {
            for ((q, old), g) in q.iter_mut().zip(at.q()).zip(at.grad()) {
                *q = old + h * g + noise * (rng.normal() + rng.normal());
            }
        });
        std::mem::swap(at, &mut self.1);
        Step { accept_prob: None, accepted: true, divergent: false, gradient_evals: 1 }
    }
}

#[test]
fn fresh_normals_sample_the_wrong_temperature() {
    for (h, beta) in OVERDAMPED {
        let fresh = FreshNormals { step_size: h, inverse_temperature: beta };
        let failed = deviations(&fresh, &CURVATURES, |k| 1.0 / (beta * k));
        assert!(failed.iter().all(|z| *z < -50.0), "{failed:?}");
        // It is this, about half, that they sample.
        let wrong = |k: f64| 1.0 / (beta * k * (2.0 - h * k));
        assert_small(&deviations(&fresh, &CURVATURES, wrong), "fresh normals");
    }
}

#[test]
fn underdamped_variances_are_those_of_the_discretised_dynamics() {
    // Masses with h^2 k/m up to 0.9, so that the orders show.
    for (h, beta, gamma, m) in [(0.2, 1.0, 1.0, 0.5), (0.3, 2.0, 5.0, 0.4), (0.1, 0.5, 2.0, 0.1)] {
        let curvatures = [0.8, 1.0];
        let mass = Mass::Diagonal(vec![m, 2.0 * m]);
        let of = |i: usize| (curvatures[i], m * (i + 1) as f64);
        let target = harmonic(&curvatures);
        let baoab = Baoab {
            step_size: h,
            inverse_temperature: beta,
            friction: gamma,
            mass: mass.clone(),
            ..Baoab::<FullGrad>::default()
        };
        let obabo = Obabo {
            step_size: h,
            inverse_temperature: beta,
            friction: gamma,
            mass,
            ..Obabo::<FullGrad>::default()
        };
        // h^2 w^2/4 with w^2 = k/m.
        let w = |i: usize| h * h * of(i).0 / of(i).1 / 4.0;
        let mean = |f: &dyn Fn(usize) -> f64| 0.5 * (f(0) + f(1));
        let check = |draws: Draws, var_q: &dyn Fn(usize) -> f64, temperature: f64, what: &str| {
            for i in 0..2 {
                let (v, e) = mean_and_error(&draws, |c, d| draws.draw(c, d).unwrap()[i].powi(2));
                assert!(e / v < 0.02);
                assert_small(&[(v - var_q(i)) / e], &format!("{what}, Var q_{i}, h = {h}"));
            }
            // The mean of Var p / m over both coordinates.
            let stat = draws.stat("kinetic_temperature").unwrap();
            let (v, e) = mean_and_error(&draws, |c, d| stat[(c, d)] / beta);
            assert!(e / v < 0.02);
            assert_small(&[(v - temperature) / e], &format!("{what}, Var p, h = {h}"));
        };
        let exact = |i: usize| 1.0 / (beta * of(i).0);
        let cold = mean(&|i| (1.0 - w(i)) / beta);
        check(run(&target, &baoab, 3), &exact, cold, "BAOAB");
        let wide = |i: usize| exact(i) / (1.0 - w(i));
        check(run(&target, &obabo, 4), &wide, 1.0 / beta, "OBABO");
    }
}

#[test]
fn sghmc_with_full_gradients_has_the_variances_of_its_recursion() {
    for (h, beta, c) in [(0.3, 1.0, 1.0), (0.2, 2.0, 3.0)] {
        let sghmc =
            Sghmc { step_size: h, inverse_temperature: beta, friction: c, ..Sghmc::new(FullGrad) };
        let k = 1.5;
        let draws = run(&harmonic(&[k]), &sghmc, 5);
        let (q, e_q) = mean_and_error(&draws, |c, d| draws.draw(c, d).unwrap()[0].powi(2));
        let stat = draws.stat("kinetic_temperature").unwrap();
        let (v, e_v) = mean_and_error(&draws, |c, d| stat[(c, d)] / beta);
        let (hc, hk) = (h * c, h * h * k);
        let exact_q = 1.0 / (beta * k * (1.0 - hk / (4.0 - 2.0 * hc)));
        let exact_v = 1.0 / (beta * (1.0 - hc / 2.0 - hk / 4.0));
        assert!(e_q / q < 0.02 && e_v / v < 0.02);
        assert_small(&[(q - exact_q) / e_q, (v - exact_v) / e_v], "SGHMC");
        assert!((v - 1.0 / beta).abs() > 5.0 * e_v, "the first order shows");
    }
}

/// A line through 60 points, known noise: the posterior is normal, its covariance is known.
fn regression() -> (Posterior<Linear, Gaussian>, ConjugateRegression) {
    let mut rng = ChainRng::new(11, 0);
    let x = Array2::from_shape_fn((60, 1), |_| rng.normal());
    let y = Array1::from_iter(x.column(0).iter().map(|x| 0.5 - x + 0.5 * rng.normal()));
    let exact =
        ConjugateRegression::new(x.view(), y.view(), 1.0, NoiseVariance::Fixed(0.5)).unwrap();
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let (line, noise) = (Linear::new(1, 1).unwrap(), Gaussian::fixed(0.5).unwrap());
    (Posterior::new(line, noise, &data, priors).unwrap(), exact)
}

/// Relative errors of the posterior variances, averaged over both coordinates, with standard error.
fn variance_error<A>(
    (posterior, exact): &(Posterior<Linear, Gaussian>, ConjugateRegression),
    algorithm: A,
    time: f64,
    h: f64,
) -> (f64, f64)
where
    A: for<'t> Algorithm<&'t Posterior<Linear, Gaussian>>,
{
    // About as many effective draws for each step size: thinned to equal times.
    let thin = (time / h).round() as usize;
    let draws = Sampler::new(posterior, algorithm)
        .chains(16)
        .warmup(100 * thin)
        .draws(2500)
        .thin(thin)
        .init(Init::Points(vec![exact.mean(); 16]))
        .run()
        .unwrap();
    assert_eq!(draws.divergences(), 0);
    let (mean, covariance) = (exact.mean(), exact.covariance());
    mean_and_error(&draws, |c, d| {
        let q = draws.draw(c, d).unwrap();
        (0..2).map(|i| (q[i] - mean[i]).powi(2) / covariance[(i, i)] - 1.0).sum::<f64>() / 2.0
    })
}

/// The variances of the gradient of a batch of 6 of the 60 rows, at the posterior mean.
fn gradient_noise(
    (posterior, exact): &(Posterior<Linear, Gaussian>, ConjugateRegression),
) -> [f64; 2] {
    let (q, mut ws) = (exact.mean(), posterior.workspace());
    let mut grad_of = |rows: &[usize]| {
        let mut grad = [0.0; 2];
        posterior.minibatch_grad_at(1.0, rows, &q, &mut grad, &mut ws);
        grad
    };
    let all: Vec<usize> = (0..60).collect();
    let mean = grad_of(&all);
    // The estimate by one row is 60 times its gradient, and the prior's.
    let mut variance = [0.0; 2];
    for row in all {
        let grad = grad_of(&[row]);
        (0..2).for_each(|i| variance[i] += (grad[i] - mean[i]).powi(2) / 59.0);
    }
    variance.map(|v| v / 6.0 * (1.0 - 6.0 / 60.0))
}

#[test]
fn the_bias_of_stochastic_gradients_falls_with_the_step_size() {
    let problem = regression();
    let mode = problem.1.mean();
    let minibatch = Minibatch { size: 6 };
    let variates = ControlVariates { size: 6, mode };
    println!("sampler            h        relative error of variances");
    let table = |name: &str, steps: &[f64], error: &dyn Fn(f64) -> (f64, f64)| -> Vec<f64> {
        let errors = steps.iter().map(|h| {
            let (mean, se) = error(*h);
            println!("{name:14} {h:8.1e}  {mean:+9.4} +- {se:.4}");
            assert!(se < 0.03);
            mean
        });
        errors.collect()
    };
    // Curvature: about 240.
    let steps = [1e-3, 2.5e-4, 6.25e-5];
    let sgld = table("SGLD", &steps, &|h| {
        let sgld = Sgld { step_size: h, ..Sgld::new(minibatch.clone()) };
        variance_error(&problem, sgld, 4e-3, h)
    });
    assert!(sgld[0] > 2.0 * sgld[1] && sgld[1] > 2.0 * sgld[2].max(0.03), "{sgld:?}");
    // The batches of an epoch nearly cancel: h^2 V R/6, not h V/2, is added to the variances.
    let (v, h, r) = (gradient_noise(&problem), steps[1], 10.0);
    let covariance = problem.1.covariance();
    let added = |variance: &dyn Fn(f64) -> f64| {
        (0..2).map(|i| (0.5 * h + variance(v[i])) / covariance[(i, i)]).sum::<f64>() / 2.0
    };
    let (epochs, independent) = (added(&|v| h * h * v * r / 6.0), added(&|v| h * v / 2.0));
    println!("SGLD at h = {h}: expected {epochs:.3}, of independent batches {independent:.3}");
    assert!((sgld[1] / epochs - 1.0).abs() < 0.25 && independent > 3.0 * sgld[1], "{sgld:?}");
    let control = table("SGLD, variates", &steps, &|h| {
        let sgld = Sgld { step_size: h, ..Sgld::new(variates.clone()) };
        variance_error(&problem, sgld, 4e-3, h)
    });
    assert!(control[0] < 0.5 * sgld[0] && control[0] > 0.05, "{control:?}");
    assert!(control[0] > 2.0 * control[1].max(0.02), "{control:?}");
    let steps = [0.04, 0.01, 0.0025];
    let sghmc = table("SGHMC", &steps, &|h| {
        let sghmc = Sghmc { step_size: h, friction: 15.0, ..Sghmc::new(minibatch.clone()) };
        variance_error(&problem, sghmc, 0.08, h)
    });
    assert!(sghmc[0] > 2.0 * sghmc[1] && sghmc[1] > 2.0 * sghmc[2].max(0.03), "{sghmc:?}");
    let baoab = table("BAOAB", &steps, &|h| {
        let baoab = Baoab { step_size: h, friction: 15.0, ..Baoab::new(minibatch.clone()) };
        variance_error(&problem, baoab, 0.08, h)
    });
    assert!(baoab[0] > 2.0 * baoab[1] && baoab[1] > 2.0 * baoab[2].max(0.03), "{baoab:?}");
    let control = table("BAOAB, variates", &steps, &|h| {
        let baoab = Baoab { step_size: h, friction: 15.0, ..Baoab::new(variates.clone()) };
        variance_error(&problem, baoab, 0.08, h)
    });
    assert!(control[0].abs() < 0.5 * baoab[0], "{control:?}");
}

/// All kernels on all sources, each handed to `visit`.
macro_rules! for_each_kernel {
    ($visit:ident, $h:expr, $mode:expr) => {
        let (h, schedule) = ($h, StepSchedule::Cyclical { period: 7 });
        let minibatch = Minibatch { size: 7 };
        let variates = ControlVariates { size: 7, mode: $mode };
        $visit("em", EulerMaruyama { step_size: h * h, ..EulerMaruyama::default() });
        $visit("lm", LeimkuhlerMatthews { step_size: h * h, ..LeimkuhlerMatthews::new(FullGrad) });
        $visit(
            "lm, minibatch",
            LeimkuhlerMatthews { step_size: h * h, ..LeimkuhlerMatthews::new(minibatch.clone()) },
        );
        $visit("baoab", Baoab { step_size: h, schedule, ..Baoab::new(FullGrad) });
        $visit(
            "baoab, minibatch",
            Baoab { step_size: h, schedule, ..Baoab::new(minibatch.clone()) },
        );
        $visit("obabo", Obabo { step_size: h, ..Obabo::new(FullGrad) });
        $visit("obabo, variates", Obabo { step_size: h, ..Obabo::new(variates.clone()) });
        $visit("sgld", Sgld { step_size: h * h, schedule, ..Sgld::new(minibatch.clone()) });
        $visit("sgld, variates", Sgld { step_size: h * h, ..Sgld::new(variates.clone()) });
        $visit("sghmc", Sghmc { step_size: h, ..Sghmc::new(minibatch.clone()) });
    };
}

type Line = Posterior<Linear, Gaussian>;

/// Draws and statistics, bit for bit.
#[track_caller]
fn assert_same(a: &Draws, b: &Draws, what: &str) {
    assert_eq!(a.values(), b.values(), "{what}");
    for stat in a.stat_names() {
        let bits = |d: &Draws| d.stat(stat).unwrap().mapv(f64::to_bits);
        assert_eq!(bits(a), bits(b), "{what}, {stat}");
    }
}

#[test]
fn draws_depend_neither_on_threads_nor_on_being_stopped() {
    fn visit<A>(name: &str, algorithm: A)
    where
        A: Clone + Serialize + for<'t> Algorithm<&'t Line>,
    {
        let (posterior, _) = regression();
        let run = |threads| {
            let sampler = Sampler::new(&posterior, algorithm.clone()).chains(3);
            sampler.warmup(100).draws(100).thin(2).seed(4).threads(threads)
        };
        let whole = run(1).run().unwrap();
        assert!(whole.divergences() == 0 && whole.values().iter().all(|q| q.is_finite()));
        assert_same(&run(4).run().unwrap(), &whole, name);
        let folder = tempfile::tempdir().unwrap();
        for (phase, done) in [(Phase::Warmup, 40), (Phase::Sampling, 30)] {
            let path = folder.path().join(format!("{phase:?}"));
            let stop = StopHandle::new();
            let stopping = run(2).stop_handle(&stop).checkpoint(&path, Every::Draws(7));
            let stopping = stopping.on_progress(|p| {
                if p.phase == phase && p.done >= done {
                    stop.stop();
                }
            });
            assert!(stopping.run().unwrap().info().stopped_early);
            let resumed = run(2).checkpoint(&path, Every::Draws(7)).run().unwrap();
            assert_same(&resumed, &whole, name);
        }
    }
    for_each_kernel!(visit, 0.02, vec![0.5, -1.0]);
}

fn through_json<T: Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

/// Without the loop, at every place in an epoch: momentum, kept normals and epoch are in the state.
#[test]
fn a_restored_kernel_goes_on_exactly() {
    fn visit<A>(name: &str, algorithm: A)
    where
        A: for<'t> Algorithm<&'t Line>,
    {
        let (posterior, _) = regression();
        let target = &posterior;
        let run = |break_at: Option<usize>| {
            let mut rng = ChainRng::new(9, 0);
            let mut kernel = algorithm.kernel(&target, &rng).unwrap();
            let (mut ws, mut point) = (target.workspace(), Point::new(2));
            point.eval(target, &mut ws);
            for iteration in 0..40 {
                if Some(iteration) == break_at {
                    let state = through_json(&kernel.state());
                    (rng, point) = (through_json(&rng), through_json(&point));
                    kernel = algorithm.kernel(&target, &ChainRng::new(0, 0)).unwrap();
                    kernel.restore(state);
                }
                kernel.step(&target, &mut point, &mut ws, &mut rng);
            }
            point.q().to_vec()
        };
        let whole = run(None);
        for break_at in [0, 1, 2, 7, 8, 9, 16, 17, 39] {
            assert_eq!(run(Some(break_at)), whole, "{name}, broken at {break_at}");
        }
    }
    for_each_kernel!(visit, 0.02, vec![0.5, -1.0]);
}

/// In a cycle another kernel moves the chain: the gradient that was kept is not used there.
#[test]
fn a_gradient_is_not_used_where_it_was_not_evaluated() {
    let (posterior, _) = regression();
    let jump = Independence { proposal: Normal::new(0.0, 1.0).unwrap() };
    let sgld = Sgld { step_size: 1e-9, ..Sgld::new(Minibatch { size: 60 }) };
    let target = &posterior;
    let mut rng = ChainRng::new(3, 0);
    let mut kernel = sgld.kernel(&target, &rng).unwrap();
    let mut other = jump.kernel(&target, &rng).unwrap();
    let (mut ws, mut point) = (target.workspace(), Point::new(2));
    let first = kernel.step(&target, &mut point, &mut ws, &mut rng);
    assert_eq!(first.gradient_evals, 2, "at the start and at the end");
    let mut moves = 0;
    for _ in 0..200 {
        let moved = other.step(&target, &mut point, &mut ws, &mut rng).accepted;
        let step = kernel.step(&target, &mut point, &mut ws, &mut rng);
        assert_eq!(step.gradient_evals, 1 + u32::from(moved));
        assert_eq!((step.accept_prob, step.accepted, step.divergent), (None, true, false));
        moves += u32::from(moved);
    }
    assert!(moves > 0);
}

/// log p = ln q - q for q > 0, NaN or with an infinite gradient elsewhere.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum Hostile {
    Density,
    Gradient,
    Support,
}

impl Target for Hostile {
    type Workspace = ();
    fn dim(&self) -> usize {
        1
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        match self {
            _ if q[0] > 0.0 => LogDensity::from(q[0].ln() - q[0]),
            Self::Density => LogDensity::from(f64::NAN),
            Self::Gradient => LogDensity::from(0.0),
            Self::Support => LogDensity::OUTSIDE,
        }
    }
}

impl GradTarget for Hostile {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad[0] = if q[0] > 0.0 { 1.0 / q[0] - 1.0 } else { f64::INFINITY };
        self.log_density(q, ws)
    }
}

impl MinibatchTarget for Hostile {
    fn n_obs(&self) -> usize {
        10
    }
    fn minibatch_grad_at(
        &self,
        _: f64,
        _: &[usize],
        q: &[f64],
        g: &mut [f64],
        ws: &mut (),
    ) -> LogDensity {
        self.log_density_grad(q, g, ws)
    }
}

#[test]
fn a_chain_stays_where_it_is_if_it_cannot_go_on() {
    fn visit<A>(name: &str, algorithm: A)
    where
        A: Clone + for<'t> Algorithm<&'t Hostile>,
    {
        for target in [Hostile::Density, Hostile::Gradient, Hostile::Support] {
            let draws = Sampler::new(&target, algorithm.clone())
                .warmup(0)
                .draws(2000)
                .init(Init::Points(vec![vec![1.0]; 4]))
                .run()
                .unwrap();
            assert!(draws.values().iter().all(|q| *q > 0.0 && q.is_finite()), "{name}");
            let stayed = draws.stat("accepted").unwrap().iter().filter(|a| **a == 0.0).count();
            let divergences = draws.divergences() as usize;
            assert!(stayed > 0, "{name}");
            let counted = if matches!(target, Hostile::Support) { 0 } else { stayed };
            assert_eq!(divergences, counted, "{name}");
            // It recovers: both sides of the mode are visited after the first failure.
            let last = draws.values().slice(ndarray::s![.., 1000.., 0]).to_owned();
            assert!(last.iter().any(|q| *q > 1.5) && last.iter().any(|q| *q < 0.7), "{name}");
            // What is recorded is the log density of the draw.
            let recorded = draws.stat("log_likelihood").unwrap();
            let q = draws.draw(2, 700).unwrap();
            assert_eq!(recorded[(2, 700)], target.log_density(q, &mut ()).likelihood, "{name}");
        }
    }
    for_each_kernel!(visit, 0.6, vec![1.0]);
}

#[test]
fn steps_follow_their_schedule_through_warm_up() {
    let target = harmonic(&[1.0]);
    let schedule = StepSchedule::Polynomial { exponent: 0.5, scale: 10.0 };
    let baoab = Baoab { step_size: 0.3, schedule, ..Baoab::new(FullGrad) };
    let draws = Sampler::new(&target, baoab).chains(1).warmup(20).draws(10).thin(3).run().unwrap();
    let steps = draws.stat("step_size").unwrap();
    for d in 0..10 {
        let n = (20 + 3 * d + 2) as f64;
        approx::assert_relative_eq!(steps[(0, d)], 0.3 * (1.0 + n / 10.0).powf(-0.5));
    }
    assert_eq!(draws.gradient_evals(), 1 + 20 + 30, "one gradient a step");
}

#[test]
fn bad_arguments_are_refused_by_name() {
    let (posterior, _) = regression();
    let target = &posterior;
    let rng = ChainRng::new(1, 0);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let b = Baoab::<FullGrad>::default();
        let lm = LeimkuhlerMatthews::<FullGrad>::default();
        let e = EulerMaruyama::default();
        let (mass, scale) = (Mass::Diagonal(vec![1.0, bad]), bad);
        let schedule = StepSchedule::Polynomial { exponent: 0.5, scale };
        for (baoab, name) in [
            (Baoab { step_size: bad, ..b.clone() }, "step_size"),
            (Baoab { friction: bad, ..b.clone() }, "friction"),
            (Baoab { inverse_temperature: bad, ..b.clone() }, "inverse_temperature"),
            (Baoab { mass, ..b.clone() }, "mass[1]"),
            (Baoab { schedule, ..b }, "scale"),
        ] {
            refused!(baoab.kernel(&target, &rng), Argument { name: name, value: bad });
        }
        let name = "inverse_temperature";
        let hot = LeimkuhlerMatthews { inverse_temperature: bad, ..lm };
        refused!(hot.kernel(&target, &rng), Argument { name: name, value: bad });
        let hot = EulerMaruyama { inverse_temperature: bad, ..e };
        refused!(hot.kernel(&target, &rng), Argument { name: name, value: bad });
    }
    let o = Obabo::<FullGrad>::default();
    let mass = Mass::Diagonal(vec![1.0]);
    let short = Obabo { mass, ..o.clone() };
    refused!(short.kernel(&target, &rng), Shape { what: "length of `mass`", found: 1 });
    for exponent in [0.0, 1.1, f64::NAN] {
        let schedule = StepSchedule::Polynomial { exponent, scale: 1.0 };
        let obabo = Obabo { schedule, ..o.clone() };
        refused!(obabo.kernel(&target, &rng), Argument { name: "exponent", value: exponent });
    }
    let schedule = StepSchedule::Cyclical { period: 0 };
    let obabo = Obabo { schedule, ..o };
    refused!(obabo.kernel(&target, &rng), Argument { name: "period", value: 0 });
    for size in [0, 61] {
        let name = "size of a minibatch";
        let sgld = Sgld::new(Minibatch { size });
        refused!(sgld.kernel(&target, &rng), Argument { name: name, value: size });
        let sghmc = Sghmc::new(ControlVariates { size, mode: vec![0.0; 2] });
        refused!(sghmc.kernel(&target, &rng), Argument { name: name, value: size });
    }
    let mode = |mode: Vec<f64>| Sgld::new(ControlVariates { size: 6, mode });
    let short = mode(vec![0.0]).kernel(&target, &rng);
    refused!(short, Shape { what: "length of `mode`", found: 1, expected: 2 });
    let nan = mode(vec![0.0, f64::NAN]).kernel(&target, &rng);
    refused!(nan, Argument { name: "log density at `mode`", value: "NaN" });
    let sghmc = Sghmc::<Minibatch>::default();
    let stiff = Sghmc { step_size: 0.5, friction: 4.0, ..sghmc };
    refused!(stiff.kernel(&target, &rng), Argument { name: "friction", value: 4 });
    let whole = GradSource::stream(&Minibatch { size: 60 }, &target);
    assert!(whole.is_ok(), "all rows are a minibatch, too");
}

#[test]
fn samplers_without_a_test_are_labelled_and_wrong_temperatures_told() {
    let target = GaussianTarget::standard(4).unwrap();
    let labels = |draws: Draws| {
        let verdict = draws.verdict().unwrap();
        assert_eq!(verdict.unadjusted, draws.unadjusted());
        (draws.unadjusted(), verdict)
    };
    // What is said behind the outcome, whose numbers are those of the draws.
    let behind = |verdict: &Verdict| match verdict.to_string().split_once("; ") {
        Some((_, behind)) => behind.to_string(),
        None => String::new(),
    };
    let of = |h| Baoab { step_size: h, ..Baoab::default() };
    let (temperatures, verdict) = labels(sampler(&target, of(0.5)));
    let temperatures = temperatures.unwrap();
    // 1 - h^2/4, here 0.9375.
    assert!(temperatures.len() == 4 && temperatures.iter().all(|t| (t - 0.94).abs() < 0.1));
    assert!(verdict.is_converged(), "{verdict}");
    said!(behind(&verdict));
    let (_, verdict) = labels(sampler(&target, of(1.9)));
    let Outcome::WrongTemperature { chains, temperature, max_rhat } = &verdict.outcome else {
        panic!("{verdict}")
    };
    assert!(*chains == [0, 1, 2, 3] && *temperature < 1.0 && *max_rhat < 2.0, "{verdict}");
    said!(behind(&verdict));

    let (temperatures, verdict) =
        labels(sampler(&target, Cycle(Mala::default(), EulerMaruyama::default())));
    assert_eq!(temperatures, Some(Vec::new()));
    said!(behind(&verdict));
    let (temperatures, verdict) = labels(sampler(&target, Mala::default()));
    assert_eq!(temperatures, None);
    assert_eq!(behind(&verdict), "", "{verdict}");
}

fn sampler<'t, A: Algorithm<&'t GaussianTarget>>(
    target: &'t GaussianTarget,
    algorithm: A,
) -> Draws {
    Sampler::new(target, algorithm).draws(2000).seed(6).run().unwrap()
}
