//! Optimisers: their definitions, minibatches, early stopping, reproducibility, bad arguments.

use bnn_mcmc::Error;
use bnn_mcmc::optimise::{Ascent, Optimum};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::GradSource;
use bnn_mcmc::targets::HessTarget;
use bnn_mcmc::testing::GaussianTarget;
use ndarray::Array2;
use shared::{failed, refused};

/// 500 rows, a linear model of five features for two classes.
fn logistic() -> Posterior<Linear, Bernoulli> {
    let mut rng = ChainRng::new(11, 0);
    let x = Array2::from_shape_fn((500, 5), |_| rng.normal());
    let truth = [1.0, -0.5, 0.0, 2.0, 0.3];
    let classes = x.rows().into_iter().map(|row| {
        let logit: f64 = row.iter().zip(truth).map(|(x, w)| x * w).sum();
        usize::from(rng.uniform() < 1.0 / (1.0 + (0.4 - logit).exp()))
    });
    let classes = classes.collect();
    let data = Dataset::classification(x, classes, vec!["no", "yes"]).unwrap();
    let priors = Priors::all(Normal::new(0.0, 3.0).unwrap());
    Posterior::new(Linear::new(5, 1).unwrap(), Bernoulli, &data, priors).unwrap()
}

/// 30 rows of two overlapping classes, for a network with more weights than rows; and 200 more.
fn overfitted() -> (Posterior<Mlp, Categorical>, Dataset) {
    let mut rng = ChainRng::new(12, 0);
    let mut rows = |n| {
        let x = Array2::from_shape_fn((n, 2), |_| rng.normal());
        let classes = x.rows().into_iter().map(|x| usize::from(x[0] + 1.5 * rng.normal() > 0.0));
        let classes = classes.collect();
        Dataset::classification(x, classes, vec!["a", "b"]).unwrap()
    };
    let (train, held_out) = (rows(30), rows(200));
    let network = Mlp::new(&[2, 20, 2], Activation::Tanh).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    (Posterior::new(network, Categorical, &train, priors).unwrap(), held_out)
}

/// Adam by its definition, from `q`: the best point.
fn adam_by_definition(target: &impl GradTarget, q: &[f64], steps: usize, rate: f64) -> Vec<f64> {
    let (beta1, beta2, epsilon) = (0.9, 0.999, 1e-8);
    let zeros = vec![0.0; q.len()];
    let (mut ws, mut q, mut g) = (target.workspace(), q.to_vec(), zeros.clone());
    let (mut m, mut v, mut p1, mut p2, mut c) = (zeros.clone(), zeros.clone(), 1.0, 1.0, 1.0);
    let density = target.log_density_grad(&q, &mut g, &mut ws).total();
    let mut best = (density, q.clone(), g.clone());
    for t in 0..steps {
        let r = c * rate * 0.5 * (1.0 + (std::f64::consts::PI * t as f64 / steps as f64).cos());
        p1 *= beta1;
        p2 *= beta2;
        for i in 0..q.len() {
            m[i] = beta1 * m[i] + (1.0 - beta1) * g[i];
            v[i] = beta2 * v[i] + (1.0 - beta2) * g[i] * g[i];
            q[i] += r * m[i] / (1.0 - p1) / ((v[i] / (1.0 - p2)).sqrt() + epsilon);
        }
        let density = target.log_density_grad(&q, &mut g, &mut ws);
        if !density.is_finite() || g.iter().any(|g| !(g * g).is_finite()) {
            (q, g) = (best.1.clone(), best.2.clone());
            (m, v, p1, p2) = (zeros.clone(), zeros.clone(), 1.0, 1.0);
            c *= 0.5;
        } else if density.total() > best.0 {
            best = (density.total(), q.clone(), g.clone());
        }
    }
    best.1
}

#[test]
fn adam_on_full_gradients_is_its_definition_bit_for_bit() {
    let (posterior, _) = overfitted();
    let start: Vec<f64> = (0..posterior.layout().dim()).map(|i| (i as f64).sin()).collect();
    for steps in [1, 7, 300] {
        let adam = Adam { steps, learning_rate: 0.1, ..Adam::default() };
        let mut q = start.clone();
        let density = adam.maximise(&posterior, &mut q).unwrap();
        assert_eq!(q, adam_by_definition(&posterior, &start, steps, 0.1));
        let again = posterior.log_density(&q, &mut posterior.workspace());
        assert!((density.total() - again.total()).abs() < 1e-9);
    }
    // Over the cliff and back, several times.
    for (steps, learning_rate) in [(20, 0.5), (100, 3.0), (100, 1.9)] {
        let adam = Adam { steps, learning_rate, ..Adam::default() };
        let mut q = [0.0];
        adam.maximise(&Cliff, &mut q).unwrap();
        assert_eq!(q.to_vec(), adam_by_definition(&Cliff, &[0.0], steps, learning_rate));
    }
}

#[test]
fn a_minibatch_of_all_rows_is_the_full_gradient() {
    let (posterior, _) = overfitted();
    let start: Vec<f64> = (0..posterior.layout().dim()).map(|i| (i as f64).sin()).collect();
    let full = Sgd { steps: 100, learning_rate: 0.01, ..Sgd::default() };
    let all = Sgd { steps: 100, learning_rate: 0.01, ..Sgd::new(Minibatch { size: 30 }) };
    let full = Optimiser::new(&posterior, full).run(&start).unwrap();
    let all = Optimiser::new(&posterior, all).run(&start).unwrap();
    assert_eq!((full.step, all.step), (100, 100)); // still climbing
    for (full, all) in full.q.iter().zip(&all.q) {
        assert!((full - all).abs() < 1e-9, "{full} {all}");
    }
}

#[test]
fn sgd_makes_the_steps_of_its_equations() {
    // log pi = -q^2/2: g = -q; rates 0.1, 0.1 (1 + cos(pi/3))/2 = 0.075, 0.1 (1 + cos(2 pi/3))/2 =
    // 0.025.
    let target = GaussianTarget::standard(1).unwrap();
    let sgd = Sgd { learning_rate: 0.1, steps: 3, momentum: 0.5, gradient: FullGrad };
    let mut q = [1.0];
    sgd.maximise(&target, &mut q).unwrap();
    // v: -0.1, -0.05 - 0.0675 = -0.1175, -0.05875 - 0.0195625 = -0.0783125
    assert!((q[0] - (1.0 - 0.1 - 0.1175 - 0.078_312_5)).abs() < 1e-15, "{q:?}");
}

#[test]
fn sgd_without_momentum_converges_on_a_quadratic_as_computed() {
    // For a curvature k each step multiplies the distance by 1 - (r k/2) (1 + cos(pi t/n)). With
    // c = 2/(r k) - 1 and z + 1/z = 2 c the product over t = 0 .. n - 1 is
    // (1 - r k) (r k/4)^(n-1) (z^n - z^-n)/(z - 1/z).
    let (variances, mean) = ([0.04, 1.0], [3.0, -2.0]);
    let target =
        GaussianTarget::new(mean.to_vec(), &[variances[0], 0.0, 0.0, variances[1]]).unwrap();
    for (n, r) in [(1, 0.01), (2, 0.02), (30, 0.02), (40, 0.03)] {
        let sgd = Sgd { learning_rate: r, steps: n, momentum: 0.0, gradient: FullGrad };
        let mut q = [4.0, 0.0];
        sgd.maximise(&target, &mut q).unwrap();
        for i in 0..2 {
            let k = 1.0 / variances[i];
            let c = 2.0 / (r * k) - 1.0;
            let z = c + (c * c - 1.0).sqrt();
            let n = n as i32;
            let factor = (1.0 - r * k) * (r * k / 4.0).powi(n - 1) * (z.powi(n) - z.powi(-n))
                / (z - 1.0 / z);
            let exact = mean[i] + factor * ([4.0, 0.0][i] - mean[i]);
            assert!((q[i] - exact).abs() < 1e-13, "{n}, {r}: {} and {exact}", q[i]);
        }
    }
}

#[test]
fn sgd_is_stable_up_to_the_rate_that_is_stated() {
    let k = 4.0;
    for momentum in [0.0, 0.5, 0.9] {
        let largest = 2.0 * (1.0 + momentum) / k;
        for (learning_rate, grows) in [(0.97 * largest, false), (1.03 * largest, true)] {
            let sgd = Sgd { momentum, ..Sgd::default() };
            let (mut q, mut v) = ([1.0], sgd.state(1));
            for _ in 0..2000 {
                let grad = [-k * q[0]];
                sgd.step(learning_rate, &grad, &mut q, &mut v);
            }
            assert_eq!(q[0].abs() > 1.0, grows, "{momentum}, {learning_rate}: {q:?}");
            assert!(grows || q[0].abs() < 1e-6, "{momentum}, {learning_rate}: {q:?}");
        }
    }
}

#[test]
fn the_noise_of_sgd_at_a_constant_rate_has_the_variance_that_is_stated() {
    let (k, r, v) = (2.0, 0.2, 9.0f64);
    for momentum in [0.0, 0.5, 0.8] {
        let sgd = Sgd { momentum, ..Sgd::default() };
        let (mut q, mut state, mut rng) = ([0.0], sgd.state(1), ChainRng::new(1, 0));
        let (mut sum, steps) = (0.0, 400_000);
        for _ in 0..steps {
            let grad = [-k * q[0] + v.sqrt() * rng.normal()];
            sgd.step(r, &grad, &mut q, &mut state);
            sum += q[0] * q[0] / f64::from(steps);
        }
        let mu = momentum;
        let exact = r * v * (1.0 + mu) / (k * (1.0 - mu) * (2.0 * (1.0 + mu) - r * k));
        assert!((sum / exact - 1.0).abs() < 0.02, "{momentum}: {sum} and {exact}");
    }
}

/// The distance of `q` from `mode` in the norm of the curvature there: posterior standard
/// deviations.
fn distance(posterior: &Posterior<Linear, Bernoulli>, q: &[f64], mode: &[f64]) -> f64 {
    let d = mode.len();
    let mut hessian = vec![0.0; d * d];
    posterior.neg_hessian_at(1.0, mode, &mut hessian, &mut posterior.workspace());
    let step: Vec<f64> = q.iter().zip(mode).map(|(q, m)| q - m).collect();
    let product = |i: usize| (0..d).map(|j| hessian[i * d + j] * step[j]).sum::<f64>();
    (0..d).map(|i| step[i] * product(i)).sum::<f64>().sqrt()
}

#[test]
fn minibatches_lead_to_the_mode_of_a_logistic_regression() {
    let posterior = logistic();
    let zeros = vec![0.0; posterior.layout().dim()];
    let mut mode = zeros.clone();
    Adam { steps: 5000, ..Adam::default() }.maximise(&posterior, &mut mode).unwrap();
    let mut grad = mode.clone();
    posterior.log_density_grad(&mode, &mut grad, &mut posterior.workspace());
    assert!(grad.iter().all(|g| g.abs() < 1e-6), "{grad:?}");
    assert!(distance(&posterior, &zeros, &mode) > 10.0);
    let mut own = zeros.clone();
    Sgd { learning_rate: 0.005, ..Sgd::default() }.maximise(&posterior, &mut own).unwrap();
    let full = distance(&posterior, &own, &mode);
    assert!(full < 1e-6, "{full}");
    for seed in 0..4 {
        let sgd = Sgd { learning_rate: 1e-3, steps: 4000, ..Sgd::new(Minibatch { size: 25 }) };
        let sgd = Optimiser::new(&posterior, sgd).seed(seed).run(&zeros).unwrap();
        let adam = Adam { learning_rate: 0.02, steps: 4000, ..Adam::new(Minibatch { size: 25 }) };
        let adam = Optimiser::new(&posterior, adam).seed(seed).run(&zeros).unwrap();
        let cv = ControlVariates { size: 25, mode: mode.clone() };
        let cv = Sgd { learning_rate: 1e-3, steps: 4000, ..Sgd::new(cv) };
        let cv = Optimiser::new(&posterior, cv).seed(seed).run(&zeros).unwrap();
        let [sgd, adam, cv] = [sgd, adam, cv].map(|fit| {
            assert_eq!((fit.step, fit.steps, fit.history.len()), (4000, 4000, 0));
            distance(&posterior, &fit.q, &mode)
        });
        println!("seed {seed}: SGD {sgd:.4}, Adam {adam:.4}, SGD with control variates {cv:.2e}");
        assert!(sgd < 0.15 && adam < 0.05 && cv < 1e-6, "{sgd} {adam} {cv}");
    }
}

/// What must hold of every ascent that was watched.
fn check_history(
    fit: &Optimum,
    stopping: EarlyStopping,
    score: impl Fn(&[f64]) -> f64,
    steps: usize,
) {
    let EarlyStopping { every, patience } = stopping;
    let best = fit.history.iter().find(|e| e.step == fit.step).unwrap();
    assert_eq!(best.score, score(&fit.q), "the point is the one that was scored");
    for (i, e) in fit.history.iter().enumerate() {
        assert_eq!(e.step, (i * every).min(steps));
        assert!(e.score < best.score || e.step >= best.step, "{e:?} is better than {best:?}");
        assert!(e.score <= best.score && e.estimate.is_finite());
    }
    let last = fit.history.last().unwrap();
    assert_eq!(last.step, fit.steps);
    let since = fit.history.iter().filter(|e| e.step > fit.step).count();
    assert!(since == patience || (since < patience && fit.steps == steps), "{since}");
}

#[test]
fn an_ascent_that_overfits_is_stopped_and_returns_the_best_scored_point() {
    let (posterior, data) = overfitted();
    let held_out = posterior.held_out(&data).unwrap();
    let score = |q: &[f64]| held_out.score(q).unwrap();
    let start: Vec<f64> = (0..posterior.layout().dim()).map(|i| 0.1 * (i as f64).sin()).collect();
    let likelihood = posterior.log_likelihood();
    let stopping = EarlyStopping { every: 10, patience: 4 };
    let adam = Adam { steps: 2005, learning_rate: 0.05, ..Adam::new(Minibatch { size: 10 }) };
    let full = Adam { steps: 2005, learning_rate: 0.05, ..Adam::default() };
    let sgd = Sgd { steps: 2005, learning_rate: 0.02, ..Sgd::new(Minibatch { size: 10 }) };
    let optimise = |stopping: EarlyStopping| {
        let watched = |q: &[f64]| held_out.score(q);
        [
            Optimiser::new(&likelihood, adam.clone()).early_stopping(stopping, watched).run(&start),
            Optimiser::new(&likelihood, full.clone()).early_stopping(stopping, watched).run(&start),
            Optimiser::new(&likelihood, sgd.clone()).early_stopping(stopping, watched).run(&start),
        ]
        .map(Result::unwrap)
    };
    let patient = EarlyStopping { every: 10, patience: 1000 };
    for (k, (stopped, whole)) in optimise(stopping).into_iter().zip(optimise(patient)).enumerate() {
        check_history(&stopped, stopping, score, 2005);
        check_history(&whole, patient, score, 2005);
        let last = whole.history.last().unwrap();
        let best = stopped.history.iter().find(|e| e.step == stopped.step).unwrap();
        println!(
            "best {:.4} at {}, stopped at {}; at the end {:.4}",
            best.score, best.step, stopped.steps, last.score
        );
        assert!(stopped.steps < 500 && whole.steps == 2005 && last.step == 2005);
        assert!(best.score > last.score + 0.2, "the fit goes on to overfit");
        assert!(last.estimate > best.estimate + 4.0, "{best:?} {last:?}");
        // The second computes the whole likelihood; of minibatches there is an estimate.
        let is_whole = k == 1;
        assert!(!is_whole || (last.estimate > -8.0 && best.estimate < -12.0), "{best:?} {last:?}");
        assert_eq!(whole.history[..stopped.history.len()], stopped.history);
        // The log density is that of the point, over all rows, and the best is not the highest.
        let density = likelihood.log_density(&stopped.q, &mut likelihood.workspace());
        assert_eq!(stopped.log_density, density);
    }
    // A score that improves all the way is not stopped; the estimate of full gradients is exact.
    let fit = Optimiser::new(&likelihood, full.clone())
        .early_stopping(EarlyStopping { every: 1, patience: 1 }, |q| Ok(-q[0].abs().min(0.0)))
        .run(&start)
        .unwrap();
    assert_eq!((fit.steps, fit.step, fit.history.len()), (1, 0, 2));
    let at_start = likelihood.log_density(&start, &mut likelihood.workspace()).total();
    assert!((fit.history[0].estimate - at_start).abs() < 1e-10);
    let json = serde_json::to_string(&fit).unwrap();
    assert_eq!(serde_json::from_str::<Optimum>(&json).unwrap(), fit);
}

#[test]
fn the_estimate_of_the_history_is_the_mean_since_the_evaluation_before() {
    let posterior = logistic();
    let zeros = vec![0.0; posterior.layout().dim()];
    let history = |every| {
        let adam = Adam { steps: 60, ..Adam::new(Minibatch { size: 25 }) };
        let stopping = EarlyStopping { every, patience: 1000 };
        let optimiser = Optimiser::new(&posterior, adam).early_stopping(stopping, |_| Ok(0.0));
        optimiser.run(&zeros).unwrap().history
    };
    let (each, twenty) = (history(1), history(20));
    assert_eq!((each.len(), twenty.len()), (61, 4));
    assert_eq!(each[0], twenty[0]);
    for (i, mean) in twenty[1..].iter().enumerate() {
        let exact = each[20 * i + 1..=20 * i + 20].iter().map(|e| e.estimate).sum::<f64>() / 20.0;
        assert!((mean.estimate - exact).abs() < 1e-9, "{mean:?} {exact}");
    }
}

#[test]
fn held_out_scores_are_mean_log_predictive_densities() {
    let posterior = logistic();
    let mut rng = ChainRng::new(3, 0);
    let x = Array2::from_shape_fn((130, 5), |_| rng.normal());
    let classes: Vec<usize> = (0..130).map(|i| (i / 3) % 2).collect();
    let names = || vec!["no".to_string(), "yes".to_string()];
    let data = Dataset::classification(x.clone(), classes.clone(), names()).unwrap();
    let held_out = posterior.held_out(&data).unwrap();
    let q = [0.3, -1.0, 0.2, 0.9, -0.4, 0.1];
    let exact = x.rows().into_iter().zip(&classes).map(|(x, class)| {
        let logit: f64 = x.iter().zip(&q).map(|(x, w)| x * w).sum::<f64>() + q[5];
        let p = 1.0 / (1.0 + (-logit).exp());
        if *class == 1 { p.ln() } else { (1.0 - p).ln() }
    });
    let exact = exact.sum::<f64>() / 130.0;
    assert!((held_out.score(&q).unwrap() - exact).abs() < 1e-13);

    refused!(held_out.score(&q[..5]), Shape { what: "length of q", found: 5, expected: 6 });
    let renamed = vec!["yes".to_string(), "no".to_string()];
    let other = Dataset::classification(x.clone(), classes.clone(), renamed).unwrap();
    let name = "classes of the data, name 1";
    refused!(posterior.held_out(&other), Argument { name: name, value: "`yes`" });
    let turned: Vec<_> = data.feature_names().iter().rev().collect();
    let turned = data.select_features(turned).unwrap();
    let name = "features of the data, column 1";
    refused!(posterior.held_out(&turned), Argument { name: name, value: "`x5`" });
    let narrow = x.slice(ndarray::s![.., ..4]).to_owned();
    let narrow = Dataset::classification(narrow, classes, names()).unwrap();
    refused!(posterior.held_out(&narrow), Shape { what: "number of features of the data" });
    let real = Dataset::regression(x, Array2::zeros((130, 1))).unwrap();
    assert!(posterior.held_out(&real).is_err());
}

#[test]
fn results_depend_on_the_seed_and_not_on_threads() {
    let (posterior, data) = overfitted();
    let held_out = posterior.held_out(&data).unwrap();
    let run = |threads, seed| {
        let adam = Adam { steps: 150, ..Adam::new(Minibatch { size: 7 }) };
        let stopping = EarlyStopping { every: 20, patience: 2 };
        let optimiser = Optimiser::new(&posterior, adam)
            .seed(seed)
            .early_stopping(stopping, |q| held_out.score(q));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| optimiser.run_each(&Init::Random, 5)).unwrap()
    };
    let fits = run(1, 1);
    assert_eq!(fits, run(2, 1));
    assert_eq!(fits, run(4, 1));
    let other = run(2, 2);
    assert!(fits.iter().zip(&other).all(|(a, b)| a.q != b.q));
    assert!((1..5).all(|c| fits[c].q != fits[0].q));

    // From one point, chains differ by their batches only; chain 0 is `run`.
    let start = vec![0.1; posterior.layout().dim()];
    let sgd = Sgd { steps: 50, ..Sgd::new(Minibatch { size: 7 }) };
    let optimiser = Optimiser::new(&posterior, sgd.clone()).seed(5);
    let fits = optimiser.run_each(&Init::Points(vec![start.clone(); 3]), 3).unwrap();
    assert_eq!(optimiser.run(&start).unwrap(), fits[0]);
    assert!(fits[1].q != fits[0].q && fits[2].q != fits[0].q && fits[2].q != fits[1].q);
    let Init::Points(points) = sgd.starts(&posterior, &Init::Points(vec![start; 3]), 3, 5).unwrap()
    else {
        panic!("points")
    };
    assert!(points.iter().zip(&fits).all(|(point, fit)| *point == fit.q));
}

/// ell(q) = q for q < 2, NaN from there on; gradients of any batch the same.
struct Cliff;

impl Target for Cliff {
    type Workspace = ();
    fn dim(&self) -> usize {
        1
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(if q[0] < 2.0 { q[0] } else { f64::NAN })
    }
}

impl GradTarget for Cliff {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        // Its square is not finite beyond 1.9, where the density is.
        grad[0] = if q[0] < 1.9 { 1.0 } else { 1e200 };
        self.log_density(q, ws)
    }
}

impl bnn_mcmc::targets::MinibatchTarget for Cliff {
    fn n_obs(&self) -> usize {
        10
    }
    fn minibatch_grad_at(
        &self,
        _: f64,
        _: &[usize],
        q: &[f64],
        grad: &mut [f64],
        ws: &mut (),
    ) -> LogDensity {
        self.log_density_grad(q, grad, ws)
    }
}

fn near_the_cliff<A: Ascent>(ascent: A)
where
    A::Source: GradSource<Cliff>,
{
    let fit = Optimiser::new(&Cliff, ascent).run(&[0.0]).unwrap();
    assert!(fit.q[0] < 1.9 && fit.q[0] > 1.8 && fit.taken_back > 0, "{fit:?}");
}

#[test]
fn steps_into_the_void_are_taken_back_and_halved() {
    let batches = Minibatch { size: 3 };
    near_the_cliff(Adam { learning_rate: 0.5, ..Adam::default() });
    near_the_cliff(Adam { learning_rate: 0.5, ..Adam::new(batches.clone()) });
    near_the_cliff(Sgd { learning_rate: 0.5, ..Sgd::default() });
    near_the_cliff(Sgd { learning_rate: 0.5, ..Sgd::new(batches.clone()) });
    for q in [1.95, 2.5] {
        let full = Optimiser::new(&Cliff, Sgd::default()).run(&[q]);
        let part = Optimiser::new(&Cliff, Sgd::new(batches.clone())).run(&[q]);
        let words = full.as_ref().unwrap_err().to_string();
        assert_eq!(words, part.unwrap_err().to_string());
        let Error::Argument { name, .. } = failed!(full, Argument {}) else { unreachable!() };
        assert!(name.ends_with(" at the start of the ascent"), "{name}");
    }
}

#[test]
fn bad_arguments_are_named() {
    fn run<A: Ascent>(ascent: A) -> Result<(), Error>
    where
        A::Source: GradSource<Posterior<Linear, Bernoulli>>,
    {
        Optimiser::new(&logistic(), ascent).run(&[0.0; 6]).map(drop)
    }
    for (result, name, value) in [
        (run(Sgd { learning_rate: 0.0, ..Sgd::default() }), "learning_rate", "0"),
        (run(Sgd { learning_rate: f64::NAN, ..Sgd::default() }), "learning_rate", "NaN"),
        (run(Sgd { steps: 0, ..Sgd::default() }), "steps", "0"),
        (run(Sgd { momentum: 1.0, ..Sgd::default() }), "momentum", "1"),
        (run(Sgd { momentum: -0.1, ..Sgd::default() }), "momentum", "-0.1"),
        (run(Sgd::new(Minibatch { size: 0 })), "size of a minibatch", "0"),
        (run(Sgd::new(Minibatch { size: 501 })), "size of a minibatch", "501"),
        (run(Adam { beta1: -0.5, ..Adam::new(Minibatch::default()) }), "beta1", "-0.5"),
        (run(Adam { steps: 0, ..Adam::new(Minibatch::default()) }), "steps", "0"),
    ] {
        refused!(result, Argument { name: name, value: value });
    }
    let no_mode = run(Sgd::new(ControlVariates { size: 5, mode: vec![] }));
    refused!(no_mode, Shape { what: "length of `mode`", found: 0 });
    let posterior = logistic();
    let watched = |every, patience| {
        let stopping = EarlyStopping { every, patience };
        Optimiser::new(&posterior, Sgd::default()).early_stopping(stopping, |q| Ok(q[0]))
    };
    refused!(watched(0, 1).run(&[0.0; 6]), Argument { name: "every", value: 0 });
    refused!(watched(1, 0).run(&[0.0; 6]), Argument { name: "patience", value: 0 });
    let short = watched(1, 1).run(&[0.0; 5]);
    refused!(short, Shape { what: "length of q", found: 5, expected: 6 });
    let none = watched(1, 1).run_each(&Init::Random, 0);
    refused!(none, Argument { name: "chains", value: 0 });
    let failing = Optimiser::new(&posterior, Sgd::default())
        .early_stopping(EarlyStopping::default(), |_| Err(Error::argument("score", 1, "another")));
    refused!(failing.run_each(&Init::Random, 2), Argument { name: "score", value: 1 });
    // NaN is an error at the start, and no improvement later: the start is returned.
    let score = |start: f64| {
        Optimiser::new(&posterior, Sgd::default())
            .early_stopping(EarlyStopping { every: 10, patience: 3 }, move |q| {
                Ok(if q == [0.5; 6] { start } else { f64::NAN })
            })
            .run(&[0.5; 6])
    };
    let nan = score(0.0).unwrap();
    assert_eq!((nan.step, nan.steps, nan.taken_back, nan.q), (0, 30, 0, vec![0.5; 6]));
    refused!(score(f64::NAN), Argument { name: "score at the start of the ascent", value: "NaN" });
}
