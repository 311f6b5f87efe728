//! MCLMC samples what its discretised dynamics leave unchanged: variances and energy errors against those derived
//! for normals, the order of the bias, its velocity, its warm-up. Sabotaged copies fail.

use std::sync::{Arc, Mutex};

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Step};
use bnn_mcmc::targets::Point;
use bnn_mcmc::testing::GaussianTarget;

use crate::by_hand::{ByHand, Transition};
use crate::fixtures::{Needle, dot};
use crate::microcanonical::{Cliff, turn};

use shared::{refused, said};

const DIM: usize = 60;
const CURVATURES: [f64; 3] = [0.4, 1.0, 2.0];

/// Normal, with each of the curvatures in a third of the coordinates.
fn normal() -> GaussianTarget {
    let mut covariance = vec![0.0; DIM * DIM];
    for i in 0..DIM {
        covariance[i * (DIM + 1)] = 1.0 / CURVATURES[i % 3];
    }
    GaussianTarget::new(vec![0.0; DIM], &covariance).unwrap()
}

fn mean_of_three(value: impl Fn(f64) -> f64) -> f64 {
    CURVATURES.map(value).iter().sum::<f64>() / 3.0
}

/// Variances times curvatures of the steps in many dimensions, with eps = h / sqrt(d).
///
/// In the limit of many dimensions sums over coordinates are constants. B multiplies P = sqrt(d) u by 1/cosh(delta)
/// and adds -tanh(delta)/sqrt(G) k q, where G is the mean of k^2 q^2 and delta = eps sqrt(G)/2. So each coordinate
/// makes leapfrog steps with the momentum P/cosh(delta), kicks of half the length r = 2 tanh(delta)/(eps sqrt(G)) in
/// units of eps, and drifts by eps: they conserve p^2 + r k (1 - eps^2 r k/4) q^2.
fn variances(eps: f64) -> [f64; 3] {
    let at = |delta: f64| {
        let r = delta.tanh() / delta;
        CURVATURES.map(|k| 1.0 / (delta.cosh().powi(2) * r * (1.0 - eps * eps * r * k / 4.0)))
    };
    let mut delta = 0.5 * eps;
    for _ in 0..200 {
        let ratios = at(delta);
        let g: f64 = CURVATURES.iter().zip(ratios).map(|(k, ratio)| k * ratio).sum::<f64>() / 3.0;
        delta = 0.5 * eps * g.sqrt();
    }
    at(delta)
}

/// The mean squared energy error of a step per dimension, to leading order in eps.
fn energy_variance(eps: f64) -> f64 {
    let mean = mean_of_three(|k| k);
    eps.powi(6) / 16.0 * mean_of_three(|k| k * (k - 2.0 / 3.0 * mean).powi(2))
}

#[test]
fn the_first_order_of_the_derived_variances_is_that_of_the_documentation() {
    let (eps, mean) = (0.02f64, mean_of_three(|k| k));
    for (ratio, k) in variances(eps).into_iter().zip(CURVATURES) {
        let first = eps * eps / 4.0 * (k - 2.0 / 3.0 * mean);
        assert!((ratio - 1.0 - first).abs() < 1e-3 * eps * eps, "{k}: {ratio} {first}");
    }
}

fn run<A>(target: &GaussianTarget, algorithm: &A, seed: u64) -> Draws
where
    A: Clone + for<'t> Algorithm<&'t GaussianTarget>,
{
    let centre = vec![0.0; target.dim()];
    let sampler = Sampler::new(target, algorithm.clone()).chains(32).warmup(300).draws(1_500);
    sampler.seed(seed).init(Init::Around { centre, sd: 0.5 }).run().unwrap()
}

/// Mean over draws and standard error over chains.
fn mean_and_error(draws: &Draws, value: impl Fn(&[f64]) -> f64) -> (f64, f64) {
    let n = draws.n_chains() as f64;
    let of_chain = |c| {
        let sum: f64 = (0..draws.n_draws()).map(|d| value(draws.draw(c, d).unwrap())).sum();
        sum / draws.n_draws() as f64
    };
    let means: Vec<f64> = (0..draws.n_chains()).map(of_chain).collect();
    let mean = means.iter().sum::<f64>() / n;
    let squares: f64 = means.iter().map(|m| (m - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0) / n).sqrt())
}

/// Variance times curvature of the coordinates of each curvature, with standard errors.
fn measured<A>(algorithm: &A, seed: u64) -> [(f64, f64); 3]
where
    A: Clone + for<'t> Algorithm<&'t GaussianTarget>,
{
    let draws = run(&normal(), algorithm, seed);
    [0, 1, 2].map(|first| {
        mean_and_error(&draws, |q| {
            let sum: f64 = q.iter().skip(first).step_by(3).map(|q| q * q).sum();
            CURVATURES[first] * sum / (DIM as f64 / 3.0)
        })
    })
}

/// Whether they are those of steps of eps, but for what 60 dimensions are short of many.
fn agree(measured: &[(f64, f64); 3], eps: f64) -> bool {
    let exact = variances(eps);
    let close = |((mean, error), exact): (&(f64, f64), f64)| {
        *error < 0.01 && (mean - exact).abs() < 5.0 * error + 0.03 * eps * eps
    };
    measured.iter().zip(exact).all(close)
}

/// Steps of eps, without any adaptation.
fn plain(eps: f64) -> Mclmc {
    let unit = (DIM as f64).sqrt();
    Mclmc {
        step_size: eps * unit,
        path_length: Some(unit),
        steps: Some(4),
        adapt_step_size: false,
        preconditioner: Preconditioner::Identity,
        ..Mclmc::default()
    }
}

#[test]
fn variances_and_energy_errors_are_those_of_the_discretised_dynamics() {
    let mut biases = Vec::new();
    for eps in [0.3, 0.6] {
        let found = measured(&plain(eps), 1);
        println!("eps = {eps}: {found:?}, derived {:?}", variances(eps));
        assert!(agree(&found, eps), "{eps}: {found:?}");
        biases.push(found[2].0 - 1.0);
        // Stiff directions are too wide and soft ones too narrow.
        let soft = eps < 0.5 || found[0].0 < 1.0 - 5.0 * found[0].1;
        assert!(found[2].0 > 1.0 + 5.0 * found[2].1 && soft, "{eps}: {found:?}");
    }
    assert!((3.5..5.0).contains(&(biases[1] / biases[0])), "order h^2: {biases:?}");

    // With a test behind equal steps there is no bias.
    let Mclmc { step_size, path_length, adapt_step_size, preconditioner, .. } = plain(0.6);
    let mams = Mams { step_size, path_length, adapt_step_size, preconditioner, ..Mams::default() };
    let found = measured(&mams, 2);
    println!("MAMS: {found:?}");
    assert!(found.iter().all(|(mean, error)| (mean - 1.0).abs() < 5.0 * error), "{found:?}");

    let draws = run(&normal(), &plain(0.2), 3);
    let (found, derived) =
        (draws.stat("energy_variance").unwrap().mean().unwrap(), energy_variance(0.2));
    println!("energy variance {found:e}, derived {derived:e}");
    assert!((found / derived - 1.0).abs() < 0.1, "{found:e} {derived:e}");
    // The errors of an iteration's four steps are correlated, and partly cancel.
    let total = draws.stat("energy_error").unwrap().mapv(|e| e * e).mean().unwrap();
    assert!(total > 0.0 && total < 16.0 * DIM as f64 * found);
}

/// What a careless implementation of MCLMC gets wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    Nothing,
    /// A without B.
    NoTurn,
    /// The direction is never refreshed.
    NoRefreshment,
    /// The change of volume with the wrong sign, in the energy.
    KineticSign,
}

use Mistake::*;

/// MCLMC from its definition, with hyperbolic functions.
#[derive(Clone)]
struct PlainMclmc {
    step_size: f64,
    path_length: f64,
    mistake: Mistake,
    /// The sum of squared energy errors per dimension, and their number.
    energy: Arc<Mutex<(f64, f64)>>,
}

impl<T: GradTarget> Transition<T> for PlainMclmc {
    type Memory = Option<Vec<f64>>;
    fn memory(&self, _: &T) -> Self::Memory {
        None
    }

    fn step(
        &self,
        memory: &mut Self::Memory,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let (h, dim) = (self.step_size, target.dim() as f64);
        let unit = |mut u: Vec<f64>| {
            let length = dot(&u, &u).sqrt();
            u.iter_mut().for_each(|u| *u /= length);
            u
        };
        let mut u = memory
            .take()
            .unwrap_or_else(|| unit((0..target.dim()).map(|_| rng.normal()).collect()));
        for _ in 0..4 {
            current.eval_grad(target, ws);
            let (before, mut kinetic) = (current.log_density().total(), 0.0);
            if self.mistake != NoTurn {
                kinetic += turn(&mut u, 0.5 * h, current.grad());
            }
            current.set(|q| q.iter_mut().zip(&u).for_each(|(q, u)| *q += h * u));
            current.eval_grad(target, ws);
            if self.mistake != NoTurn {
                kinetic += turn(&mut u, 0.5 * h, current.grad());
            }
            let kinetic = if self.mistake == KineticSign { -kinetic } else { kinetic };
            let error = kinetic - (current.log_density().total() - before);
            let mut energy = self.energy.lock().unwrap();
            *energy = (energy.0 + error * error / dim, energy.1 + 1.0);
            if self.mistake != NoRefreshment {
                let nu = (((2.0 * h / self.path_length).exp() - 1.0) / dim).sqrt();
                u = unit(u.iter().map(|u| u + nu * rng.normal()).collect());
            }
        }
        *memory = Some(u);
        Step { accept_prob: None, accepted: true, divergent: false, gradient_evals: 4 }
    }
}

#[test]
fn sabotaged_copies_fail_and_the_same_code_without_a_mistake_passes() {
    let eps = 0.3;
    for mistake in [Nothing, NoTurn, NoRefreshment, KineticSign] {
        let energy = Arc::new(Mutex::new((0.0, 0.0)));
        let unit = (DIM as f64).sqrt();
        let (step_size, path_length) = (eps * unit, unit);
        let copy = ByHand(PlainMclmc { step_size, path_length, mistake, energy: energy.clone() });
        let variances = agree(&measured(&copy, 4), eps);
        let (sum, steps) = *energy.lock().unwrap();
        let energy = (sum / steps / energy_variance(eps) - 1.0).abs() < 0.2;
        println!("{mistake:?}: variances {variances}, energies {energy}, {}", sum / steps);
        assert_eq!(variances && energy, mistake == Nothing, "{mistake:?}");
    }
}

/// On a flat target the path is a random walk whose direction has the correlation e^(-n h/L) after n steps: it is
/// kept from one iteration to the next.
#[test]
fn the_direction_is_forgotten_on_the_path_length() {
    let dim = 40;
    let mut covariance = vec![0.0; dim * dim];
    covariance.iter_mut().step_by(dim + 1).for_each(|v| *v = 1e12);
    let target = GaussianTarget::new(vec![0.0; dim], &covariance).unwrap();
    let (h, length, n) = (1.0f64, 10.0, 15usize);
    for steps in [1, 3] {
        let mclmc = Mclmc {
            step_size: h,
            path_length: Some(length),
            steps: Some(steps),
            ..Mclmc::default()
        };
        let sampler = Sampler::new(&target, mclmc).chains(2).warmup(0).draws(6_000).seed(3);
        let draws = sampler.init(Init::Points(vec![vec![0.0; dim]; 2])).run().unwrap();
        let lag = n / steps as usize;
        let mut squares = (0.0, 0.0);
        for c in 0..2 {
            for d in lag..draws.n_draws() {
                let (a, b) = (draws.draw(c, d - lag).unwrap(), draws.draw(c, d).unwrap());
                let squared: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
                squares = (squares.0 + squared, squares.1 + 1.0);
            }
        }
        let expected: f64 =
            (0..n * n).map(|i| h * h * (-h * (i / n).abs_diff(i % n) as f64 / length).exp()).sum();
        let ratio = squares.0 / squares.1 / expected;
        println!("{steps} steps: {ratio}");
        assert!((ratio - 1.0).abs() < 0.03, "{steps} steps: {ratio}");
    }
}

/// Warm-up reaches the energy variance that is aimed at, from any step size and from far away, and the path length
/// of 2 sqrt(d) standard deviations that a normal needs; what bias is left falls with the energy variance.
#[test]
fn warm_up_finds_the_step_size_and_the_path_length() {
    let dim = 30;
    for (variance, step_size, distance) in [
        (1.0, 0.1, 0.5),
        (1e-4, 1e-6, 0.5),
        (1e-4, 1e6, 1.0),
        (1.0, 0.1, 1e3),
        (1.0, 0.1, 10.0),
        (1e6, 0.1, 2.0),
    ] {
        let mut covariance = vec![0.0; dim * dim];
        covariance.iter_mut().step_by(dim + 1).for_each(|v| *v = variance);
        let target = GaussianTarget::new(vec![0.0; dim], &covariance).unwrap();
        for preconditioner in [Preconditioner::DiagonalFromGradients, Preconditioner::Identity] {
            if preconditioner == Preconditioner::Identity && distance > 100.0 {
                // The way is too long for steps that no map makes longer.
                continue;
            }
            let mclmc = Mclmc { step_size, preconditioner, ..Mclmc::default() };
            let centre = vec![0.0; dim];
            let sampler = Sampler::new(&target, mclmc).draws(2_000).seed(1);
            let draws = sampler.init(Init::Around { centre, sd: distance }).run().unwrap();
            let stat = |name: &str| draws.stat(name).unwrap().mean().unwrap();
            let unit = match preconditioner {
                Preconditioner::Identity => (dim as f64 * variance).sqrt(),
                _ => (dim as f64).sqrt(),
            };
            let (energy, length) = (stat("energy_variance"), stat("path_length") / unit);
            let case = format!("{variance}, {step_size}, {distance}, {preconditioner:?}");
            let (mean, error) = mean_and_error(&draws, |q| dot(q, q) / dim as f64 / variance);
            println!("{case}: {energy:e}, {length} sqrt(d), variance {mean} +- {error}");
            assert!((energy / 5e-4).ln().abs() < 0.5, "{case}: {energy:e}");
            assert!((1.4..2.8).contains(&length), "{case}: {length} sqrt(d)");
            assert!((mean - 1.036).abs() < 5.0 * error + 0.01 && error < 0.02, "{case}: {mean}");
            assert_eq!(draws.divergences(), 0);
        }
    }
    // (144 v)^(1/3)/12 in many dimensions.
    let target = GaussianTarget::standard(dim).unwrap();
    let bias = [5e-3f64, 5e-4, 5e-5].map(|energy_variance| {
        let draws = run(&target, &Mclmc { energy_variance, ..Mclmc::default() }, 6);
        let (mean, error) = mean_and_error(&draws, |q| dot(q, q) / dim as f64);
        let derived = (144.0 * energy_variance).cbrt() / 12.0;
        println!("{energy_variance:e}: {} +- {error}, derived {derived}", mean - 1.0);
        assert!(error < 0.002 && (mean - 1.0 - derived).abs() < 5.0 * error + 0.1 * derived);
        mean - 1.0
    });
    assert!(bias[0] > 1.7 * bias[1] && bias[1] > 1.7 * bias[2], "{bias:?}");
}

/// A map learnt late in a short warm-up leaves no time to learn the path length again.
#[test]
fn a_path_length_does_not_outlive_its_coordinates() {
    let dim = 30;
    let mut covariance = vec![0.0; dim * dim];
    covariance.iter_mut().step_by(dim + 1).for_each(|v| *v = 1e6);
    let target = GaussianTarget::new(vec![0.0; dim], &covariance).unwrap();
    for warmup in [100, 200] {
        let init = Init::Around { centre: vec![0.0; dim], sd: 1e3 };
        let sampler = Sampler::new(&target, Mclmc::default()).warmup(warmup).draws(100).seed(1);
        let draws = sampler.init(init).run().unwrap();
        for length in draws.stat("path_length").unwrap() {
            let length = length / (dim as f64).sqrt();
            assert!((1.0..4.0).contains(&length), "{warmup}: {length} sqrt(d)");
        }
        // Half of L is two steps or so; in the old coordinates it would be dozens.
        let iterations = (draws.n_chains() * (warmup + 100)) as f64;
        let gradients = draws.gradient_evals() as f64 / iterations;
        println!("{warmup}: {gradients} gradients an iteration");
        assert!(gradients < 5.0, "{warmup}: {gradients}");
    }
}

/// A long direction that no diagonal map can tell from the others decides the path length.
#[test]
fn slow_directions_get_longer_paths() {
    // One eigenvalue of 10.9 and nine of 0.1: 2 sqrt(d sum(l^2)/sum(l)) = 2 sqrt(10 * 10.06).
    let dim = 10;
    let mut covariance = vec![0.9; dim * dim];
    covariance.iter_mut().step_by(dim + 1).for_each(|v| *v = 1.0);
    let target = GaussianTarget::new(vec![0.0; dim], &covariance).unwrap();
    let mclmc = Mclmc { preconditioner: Preconditioner::Identity, ..Mclmc::default() };
    let draws = Sampler::new(&target, mclmc).warmup(4_000).seed(2).run().unwrap();
    let eigenvalues: (f64, f64) = (1.0 + 0.9 * 9.0, 0.1);
    let (sum, squares) = (10.0, eigenvalues.0.powi(2) + 9.0 * eigenvalues.1.powi(2));
    let expected = 2.0 * (dim as f64 * squares / sum).sqrt();
    for length in draws.stat("path_length").unwrap().column(0) {
        println!("{length}, expected {expected}");
        assert!((0.7..1.4).contains(&(length / expected)), "{length}, not {expected}");
    }
    // Half of it is an iteration.
    let steps = draws.stat("leapfrog_steps").unwrap();
    let (length, h) = (draws.stat("path_length").unwrap(), draws.stat("step_size").unwrap());
    assert_eq!(steps[(0, 7)], (0.5 * length[(0, 7)] / h[(0, 7)]).ceil());
    assert_eq!(draws.stat("gradient_evals").unwrap().sum(), steps.sum());
}

#[test]
fn it_says_that_it_has_no_test() {
    let target = GaussianTarget::standard(3).unwrap();
    let draws = Sampler::new(&target, Mclmc::default()).seed(1).run().unwrap();
    assert_eq!(draws.unadjusted(), Some(Vec::new()));
    assert!(draws.stat("accept_prob").unwrap().iter().all(|a| a.is_nan()));
    let verdict = draws.verdict().unwrap();
    assert!(verdict.is_converged() && verdict.unadjusted == Some(Vec::new()));
    // What is said behind the outcome.
    said!(verdict.to_string().split_once("; ").unwrap().1);
}

#[test]
fn what_is_no_number_is_not_entered() {
    let start = Init::Points(vec![vec![0.0; 2]; 2]);
    let cases = [(0.0, false), (f64::NAN, true), (f64::INFINITY, true), (f64::NEG_INFINITY, true)];
    for (value, diverges) in cases {
        let target = Needle(value);
        for step_size in [0.1, 1e308] {
            let mclmc = Mclmc { step_size, adapt_step_size: step_size < 1.0, ..Mclmc::default() };
            let run = Sampler::new(&target, mclmc).chains(2).warmup(20).draws(20);
            let draws = run.init(start.clone()).run().unwrap();
            assert!(draws.values().iter().all(|q| q.is_finite()), "{value}");
            assert!(draws.divergences() > 0 || (!diverges && step_size < 1.0), "{value}");
        }
        // Steps of a flat density grow without end, and stay numbers.
        let run = Sampler::new(&target, Mclmc::default()).chains(2).warmup(4_000).draws(20);
        let draws = run.init(start.clone()).run().unwrap();
        assert!(draws.values().iter().all(|q| q.is_finite()), "{value}");
    }
    for steep in [1e200, f64::INFINITY, f64::NAN, -1e200] {
        let target = Cliff(steep);
        let draws =
            Sampler::new(&target, Mclmc::default()).chains(2).init(start.clone()).run().unwrap();
        assert!(draws.values().iter().all(|q| q.is_finite()), "{steep}");
        // A chain that cannot go on stays where it is, and goes on in another direction.
        let values = draws.values();
        let accepted = draws.stat("accepted").unwrap();
        for ((c, d), accepted) in accepted.indexed_iter().filter(|((_, d), _)| *d > 0) {
            let moved = values[[c, d, 0]] != values[[c, d - 1, 0]];
            assert_eq!(moved, *accepted == 1.0, "{steep}");
        }
        let rejected = accepted.iter().filter(|a| **a == 0.0).count();
        assert_eq!(draws.divergences() as usize, rejected, "{steep}");
        assert!((1..1_500).contains(&rejected), "{steep}: {rejected}");
    }
}

#[test]
fn wrong_settings_are_named() {
    let run = |target: &GaussianTarget, algorithm: Mclmc| Sampler::new(target, algorithm).run();
    let plane = GaussianTarget::standard(2).unwrap();
    let line = GaussianTarget::standard(1).unwrap();
    let (name, allowed) = ("dimensions of the target of MCLMC", "at least 2");
    let of_line = run(&line, Mclmc::default());
    refused!(of_line, Argument { name: name, value: 1, allowed: allowed });
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mclmc = Mclmc { path_length: Some(bad), ..Mclmc::default() };
        refused!(run(&plane, mclmc), Argument { name: "path_length", value: bad });
        let mclmc = Mclmc { energy_variance: bad, ..Mclmc::default() };
        refused!(run(&plane, mclmc), Argument { name: "energy_variance", value: bad });
        let mclmc = Mclmc { step_size: bad, ..Mclmc::default() };
        refused!(run(&plane, mclmc), Argument { name: "step_size", value: bad });
    }
    for steps in [0, u32::MAX] {
        let mclmc = Mclmc { steps: Some(steps), ..Mclmc::default() };
        refused!(run(&plane, mclmc), Argument { name: "steps", value: steps });
    }
}
