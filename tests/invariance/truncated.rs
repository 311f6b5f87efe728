//! MALA on a box: against quadrature, against plain MALA, and where its box comes from.
//!
//! How it compares with its peers on a posterior that piles up at the bounds of its prior:
//!
//!     cargo test --release -p bnn-mcmc-tests --test invariance truncated:: -- --ignored --nocapture

use bnn_mcmc::diagnostics::{ess_bulk, ess_mean};
use bnn_mcmc::prelude::*;
use bnn_mcmc::prior::Family;
use bnn_mcmc::sampler::Algorithm;
use bnn_mcmc::targets::{BoxSupport, Conditioned, Tempered};
use bnn_mcmc::testing::GaussianTarget;
use ndarray::{Array1, Array2};
use shared::refused;

const INF: f64 = f64::INFINITY;

/// y = 0.95 x + 0.3 + noise: the slope's prior ends at 1.
fn line(priors: Priors) -> Posterior<Linear, Gaussian> {
    let x = Array2::from_shape_fn((12, 1), |(i, _)| (i as f64 * 0.9).sin());
    let y = Array1::from_shape_fn(12, |i| 0.95 * x[(i, 0)] + 0.3 + 0.6 * (i as f64 * 2.3).cos());
    let data = Dataset::regression(x, y).unwrap();
    Posterior::new(Linear::new(1, 1).unwrap(), Gaussian::fixed(0.6).unwrap(), &data, priors)
        .unwrap()
}

fn bounds<T: BoxSupport>(target: &T) -> (Vec<f64>, Vec<f64>) {
    let (mut lower, mut upper) = (vec![0.0; target.dim()], vec![0.0; target.dim()]);
    target.bounds(&mut lower, &mut upper).unwrap();
    (lower, upper)
}

#[test]
fn a_regression_with_uniform_priors_by_quadrature() {
    let priors = Priors::new()
        .with("w", Uniform::new(-1.0, 1.0).unwrap())
        .with("b", Uniform::new(0.2, 0.5).unwrap());
    let posterior = line(priors);
    // Midpoint rule: the density is smooth inside the box, the error is O(1 / n^2).
    let n = 400;
    let mut ws = posterior.workspace();
    let mut sums = [0.0; 6]; // 1, w, b, w^2, w b, b^2
    for i in 0..n {
        for j in 0..n {
            let at = |k: usize| (k as f64 + 0.5) / n as f64;
            let (w, b) = (-1.0 + 2.0 * at(i), 0.2 + 0.3 * at(j));
            let density = posterior.log_density(&[w, b], &mut ws).total().exp();
            for (sum, h) in sums.iter_mut().zip([1.0, w, b, w * w, w * b, b * b]) {
                *sum += density * h;
            }
        }
    }
    for preconditioner in
        [Preconditioner::Identity, Preconditioner::Diagonal, Preconditioner::DiagonalFromGradients]
    {
        let mala = TruncatedMala { preconditioner, ..TruncatedMala::default() };
        let draws = Sampler::new(&posterior, mala).draws(10_000).seed(2).run().unwrap();
        let (w, b) = (draws.parameter("w[0,0]").unwrap(), draws.parameter("b[0]").unwrap());
        let functions = [w.to_owned(), b.to_owned(), &w * &w, &w * &b, &b * &b];
        for (k, h) in functions.iter().enumerate() {
            let exact = sums[k + 1] / sums[0];
            let (ess, error) = (ess_mean(h.view()), h.mean().unwrap() - exact);
            assert!(ess > 4_000.0, "{preconditioner:?}, function {k}: ESS {ess}");
            assert!(
                error.abs() < 5.0 * h.std(1.0) / ess.sqrt(),
                "{preconditioner:?}, {k}: {error}"
            );
        }
        assert_eq!(draws.divergences(), 0);
        for rate in draws.accept_rate() {
            assert!(rate > 0.4, "{preconditioner:?}: acceptance {rate}");
        }
    }
}

#[test]
fn without_bounds_it_is_mala() {
    let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.6, 0.6, 2.0]).unwrap();
    for preconditioner in [Preconditioner::Identity, Preconditioner::Diagonal] {
        let mala = Mala { preconditioner, step_size: 0.9, ..Mala::default() };
        let truncated =
            TruncatedMala { preconditioner, step_size: 0.9, ..TruncatedMala::default() };
        // The same random numbers: equal up to rounding, which chains amplify with time.
        let plain = Sampler::new(&target, mala).warmup(0).draws(50).seed(4).run().unwrap();
        let draws = Sampler::new(&target, truncated).warmup(0).draws(50).seed(4).run().unwrap();
        approx::assert_abs_diff_eq!(plain.values(), draws.values(), epsilon = 1e-9);
        assert!(draws.accept_rate().iter().all(|rate| (0.2..1.0).contains(rate)));
    }
}

#[test]
fn the_box_comes_from_the_priors() {
    #[derive(Debug)]
    struct Mine(f64, f64);
    impl Prior for Mine {
        fn log_density(&self, x: &[f64]) -> f64 {
            if x.iter().all(|x| self.0 <= *x && *x <= self.1) { 0.0 } else { -INF }
        }
        fn add_grad(&self, x: &[f64], _: &mut [f64]) -> f64 {
            self.log_density(x)
        }
        fn draw(&self, rng: &mut ChainRng, x: &mut [f64]) -> Result<(), Error> {
            x.fill_with(|| self.0 + (self.1 - self.0) * rng.uniform());
            Ok(())
        }
        fn family(&self) -> Family {
            Family::Uniform { lower: self.0, upper: self.1 }
        }
    }
    let normal = || Normal::new(0.0, 1.0).unwrap();
    let uniform = Uniform::new(-1.0, 2.0).unwrap();
    assert_eq!(uniform.family(), Family::Uniform { lower: -1.0, upper: 2.0 });

    let posterior = line(Priors::all(normal()).with("w", uniform));
    let expected = (vec![-1.0, -INF], vec![2.0, INF]);
    assert_eq!(bounds(&posterior), expected);
    assert_eq!(bounds(&Tempered::new(&posterior, 0.3).unwrap()), expected);
    assert_eq!(bounds(&Conditioned::new(&posterior, &["w"]).unwrap()), (vec![-1.0], vec![2.0]));
    assert_eq!(bounds(&Conditioned::new(&posterior, &["b"]).unwrap()), (vec![-INF], vec![INF]));
    assert_eq!(bounds(&line(Priors::all(normal()))), (vec![-INF; 2], vec![INF; 2]));
    assert_eq!(bounds(&line(Priors::all(Mine(0.0, 3.0)))), (vec![0.0; 2], vec![3.0; 2]));
    // The variance of a hierarchical prior may be bounded; what it is the variance of is not.
    let hierarchical = Priors::all(normal()).hierarchical("w", "s", uniform);
    assert_eq!(bounds(&line(hierarchical.clone())), (vec![-INF, -INF, -1.0], vec![INF, INF, 2.0]));

    // It runs on all of them, and on blocks.
    let run = |posterior: Posterior<_, _>| {
        let all = Sampler::new(&posterior, TruncatedMala::default()).warmup(50).draws(50);
        all.run().unwrap();
        let algorithm = Cycle(
            OnBlocks::new(&["w"], TruncatedMala::default()),
            OnBlocks::new(&["b"], Rwm::default()),
        );
        Sampler::new(&posterior, algorithm).warmup(50).draws(50).run().unwrap()
    };
    let draws = run(line(Priors::all(Mine(0.0, 3.0))));
    assert!(draws.values().iter().all(|q| (0.0..=3.0).contains(q)));
    run(line(hierarchical));

    for (a, b) in
        [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::NAN), (INF, INF), (-INF, -INF)]
    {
        let posterior = line(Priors::all(normal()).with("b", Mine(a, b)));
        let rng = ChainRng::new(1, 0);
        let kernel = TruncatedMala::default().kernel(&&posterior, &rng);
        refused!(kernel, Argument { name: "box of b[0]", value: format!("[{a}, {b}]") });
    }
}

#[test]
fn bad_settings_are_refused_by_name() {
    let target = GaussianTarget::standard(2).unwrap();
    let run = |mala| Sampler::new(&target, mala).run();
    let new = TruncatedMala::default;
    let dense = TruncatedMala { preconditioner: Preconditioner::Dense, ..new() };
    refused!(run(dense), Argument { name: "preconditioner", value: "Dense" });
    let dense = TruncatedMala { preconditioner: Preconditioner::DenseFromGradients, ..new() };
    refused!(run(dense), Argument { name: "preconditioner", value: "DenseFromGradients" });
    for step_size in [0.0, -1.0, f64::NAN, INF] {
        let mala = TruncatedMala { step_size, ..new() };
        refused!(run(mala), Argument { name: "step_size", value: step_size });
    }
    for target_accept in [0.0, 1.0, f64::NAN] {
        let mala = TruncatedMala { target_accept, ..new() };
        refused!(run(mala), Argument { name: "target_accept", value: target_accept });
    }
}

/// A density that says it ends at 0 and 1: where `honest` is false it does not. Its gradient is
/// `slope`.
struct Slope {
    slope: f64,
    honest: bool,
}

impl Target for Slope {
    type Workspace = ();
    fn dim(&self) -> usize {
        1
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        let outside = self.honest && !(0.0..=1.0).contains(&q[0]);
        if outside { LogDensity::OUTSIDE } else { LogDensity::from(self.slope * q[0]) }
    }
}

impl GradTarget for Slope {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad[0] = self.slope;
        self.log_density(q, ws)
    }
}

impl BoxSupport for Slope {
    fn bounds(&self, lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error> {
        (lower[0], upper[0]) = (0.0, 1.0);
        Ok(())
    }
}

/// p(q) proportional to e^(slope q) on [0, 1], of mean 1/(1 - e^-slope) - 1/slope. With a step of 1
/// the proposals' mean lies slope/2 standard deviations outside.
#[test]
fn exponential_densities_that_push_against_the_bound() {
    for slope in [0.0, 5.0, -60.0, 200.0] {
        for step_size in [0.05, 1.0, 1e100] {
            let target = Slope { slope, honest: true };
            let mala = TruncatedMala {
                step_size,
                preconditioner: Preconditioner::Identity,
                ..TruncatedMala::default()
            };
            let sampler = Sampler::new(&target, mala).warmup(0).draws(20_000).seed(6);
            let draws = sampler.init(Init::Points(vec![vec![0.5]; 4])).run().unwrap();
            let q = draws.parameter("q[0]").unwrap();
            assert!(q.iter().all(|q| (0.0..=1.0).contains(q)) && draws.divergences() == 0);
            let exact: f64 =
                if slope == 0.0 { 0.5 } else { 1.0 / (1.0 - (-slope).exp()) - 1.0 / slope };
            // From the middle of the interval, a small step takes a while: without the first half.
            let q = q.slice(ndarray::s![.., 10_000..]);
            let (ess, error) = (ess_mean(q), q.mean().unwrap() - exact);
            let limit = 5.0 * q.std(1.0) / ess.sqrt();
            println!(
                "slope {slope}, step {step_size}: acceptance {:.2?}, ESS {ess:.0}",
                draws.accept_rate()
            );
            assert!(error.abs() < limit && ess > 100.0, "{slope}, {step_size}: {error}, ESS {ess}");
        }
    }
}

#[test]
fn a_position_outside_the_box_is_a_divergence_not_a_panic() {
    let target = Slope { slope: 1.0, honest: false };
    let draws = Sampler::new(&target, TruncatedMala::default())
        .chains(1)
        .warmup(10)
        .draws(20)
        .init(Init::Points(vec![vec![3.0]]))
        .run()
        .unwrap();
    assert!(draws.values().iter().all(|q| *q == 3.0) && draws.divergences() == 20);
}

/// Where warm-up finds acceptance 1 at any step, the step size grows to no harm.
#[test]
fn a_uniform_density_is_drawn_from_independently() {
    let target = Slope { slope: 0.0, honest: true };
    let init = Init::Around { centre: vec![0.5], sd: 0.1 };
    let draws = Sampler::new(&target, TruncatedMala::default())
        .draws(4_000)
        .init(init)
        .seed(1)
        .run()
        .unwrap();
    let q = draws.parameter("q[0]").unwrap();
    assert!(draws.accept_rate().iter().all(|rate| *rate > 0.999));
    assert!(ess_bulk(q) > 12_000.0, "{}", ess_bulk(q));
    assert!((q.mean().unwrap() - 0.5).abs() < 0.012);
    assert!((q.std(1.0) - 1.0 / 12f64.sqrt()).abs() < 0.006);
}

/// A logistic regression with `dim` features under U(-10, 10), whose sum determines the classes but
/// for noise of this sd: without any, the likelihood grows up to the bounds of the prior.
fn classes(dim: usize, noise: f64) -> Posterior<Linear, Bernoulli> {
    let mut rng = ChainRng::new(3, 0);
    let x = Array2::from_shape_fn((60, dim), |_| rng.normal());
    let y = x
        .rows()
        .into_iter()
        .map(|row| usize::from(row.sum() + noise * rng.normal() > 0.0))
        .collect();
    let data = Dataset::classification(x, y, ["no", "yes"]).unwrap();
    let priors = Priors::all(Uniform::new(-10.0, 10.0).unwrap());
    Posterior::new(Linear::new(dim, 1).unwrap(), Bernoulli, &data, priors).unwrap()
}

/// A regression of 200 rows on `dim` features with coefficients in [0, 10], of which the data ask for
/// -0.1 but for two.
fn non_negative(dim: usize) -> Posterior<Linear, Gaussian> {
    let mut rng = ChainRng::new(4, 0);
    let x = Array2::from_shape_fn((200, dim), |_| rng.normal());
    let y = x.rows().into_iter().map(|r| r[0] + r[1] - 0.1 * r.sum() + 0.5 * rng.normal());
    let data = Dataset::regression(x.clone(), y.collect::<Array1<f64>>()).unwrap();
    let priors = Priors::new()
        .with("w", Uniform::new(0.0, 10.0).unwrap())
        .with("b", Normal::new(0.0, 1.0).unwrap());
    let noise = Gaussian::fixed(0.5).unwrap();
    Posterior::new(Linear::new(dim, 1).unwrap(), noise, &data, priors).unwrap()
}

fn report<'t, T, A>(name: &str, posterior: &'t T, algorithm: A)
where
    T: Target,
    A: Algorithm<&'t T> + serde::Serialize,
{
    let sampler = Sampler::new(posterior, algorithm).warmup(4_000).draws(20_000).seed(1);
    let start = std::time::Instant::now();
    let draws = sampler.run().unwrap();
    let evaluations = draws.gradient_evals().max(4 * 24_000);
    let seconds = start.elapsed().as_secs_f64();
    let summary = draws.summary().unwrap();
    let ess = summary.rows.iter().map(|r| r.ess_bulk).fold(INF, f64::min);
    let rhat = summary.rows.iter().map(|r| r.rhat).fold(0.0, f64::max);
    println!(
        "  {name:16} acceptance {:.2}  step {:8.3}  ESS {ess:6.0}  per 1,000 evaluations {:6.1}  per \
         second {:8.0}  R-hat {rhat:.3}",
        draws.accept_rate().iter().sum::<f64>() / 4.0,
        draws.stat("step_size").map_or(f64::NAN, |s| s[(0, 0)]),
        1e3 * ess / evaluations as f64,
        ess / seconds,
    );
}

fn compare<T: GradTarget + BoxSupport>(name: &str, posterior: &T) {
    println!("{name}");
    report("truncated MALA", posterior, TruncatedMala::default());
    report("MALA", posterior, Mala::default());
    report("RWM", posterior, Rwm::default());
    report("NUTS", posterior, Nuts::default());
}

#[test]
#[ignore = "a report"]
fn compare_with_peers() {
    for dim in [2, 10, 30] {
        compare(&format!("separable classes, {dim} features"), &classes(dim, 0.0));
    }
    compare("classes that are not separable, 10 features", &classes(10, 2.0));
    for dim in [10, 50] {
        compare(&format!("non-negative regression, {dim} features"), &non_negative(dim));
    }
}
