//! Distributions under constraints whose moments are known, sampled by their free numbers.

use bnn_mcmc::diagnostics::ess_mean;
use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{Autodiff, Density, Number};
use ndarray::{Array2, Axis, array};

/// log p(theta) of a block of `n` numbers.
struct Known<const N: usize>(Kind);

enum Kind {
    /// Exponential of mean 1.
    Exponential,
    /// Dirichlet, of a row of three the parameters 2, 3 and 4.
    Dirichlet,
    /// Independent N(0, 1): under an order the order statistics of so many draws.
    Normals,
}

impl<const K: usize> Density for Known<K> {
    fn layout(&self) -> Layout {
        Layout::new().with("theta", &[K])
    }

    fn log_density<N: Number>(&self, theta: &[N]) -> (N, N) {
        let sum: N = match self.0 {
            Kind::Exponential => theta.iter().map(|t| -*t).sum(),
            Kind::Dirichlet => {
                theta.iter().zip([1.0, 2.0, 3.0]).map(|(t, power)| t.ln() * power).sum()
            }
            Kind::Normals => theta.iter().map(|t| t.powi(2) * -0.5).sum(),
        };
        (sum, N::from(0.0))
    }
}

/// Means and mean squares within 4.5 of their Monte Carlo errors.
fn assert_moments<D: Density>(density: D, constraint: Constraint, exact: &[[f64; 2]]) {
    let target = Constrained::new(Autodiff::new(density), &[("theta", constraint)]).unwrap();
    let draws = Sampler::new(&target, Nuts::default()).draws(5_000).seed(3).run().unwrap();
    let theta = draws.constrained(&target).unwrap();
    assert_eq!(theta.layout().block_names(), ["theta"]);
    assert_eq!(theta.stat("log_prior").unwrap(), draws.stat("log_prior").unwrap());
    for (i, [mean, mean_square]) in exact.iter().enumerate() {
        let of = theta.values().index_axis(Axis(2), i).to_owned();
        for (what, values, exact) in
            [("mean", of.clone(), mean), ("mean square", &of * &of, mean_square)]
        {
            let error = (values.var(1.0) / ess_mean(values.view())).sqrt();
            let z = (values.mean().unwrap() - exact) / error;
            assert!(z.abs() < 4.5 && error < 0.05, "{constraint:?}: {what} of {i}: z = {z}");
        }
    }
}

#[test]
fn constrained_densities_have_the_moments_of_their_distributions() {
    assert_moments(Known::<1>(Kind::Exponential), Constraint::Positive, &[[1.0, 2.0]]);
    // e^-theta on (-1, 3), by its integrals.
    let (lower, upper) = (-1.0f64, 3.0f64);
    let mass = (-lower).exp() - (-upper).exp();
    let first = ((lower + 1.0) * (-lower).exp() - (upper + 1.0) * (-upper).exp()) / mass;
    let second = |t: f64| (t * t + 2.0 * t + 2.0) * (-t).exp();
    let bounded = [first, (second(lower) - second(upper)) / mass];
    assert_moments(Known::<1>(Kind::Exponential), Constraint::Bounded { lower, upper }, &[bounded]);
    let share = |alpha: f64| [alpha / 9.0, alpha * (alpha + 1.0) / 90.0];
    assert_moments(
        Known::<3>(Kind::Dirichlet),
        Constraint::Simplex,
        &[share(2.0), share(3.0), share(4.0)],
    );
    // Of three normal draws the largest has the mean 3 / (2 sqrt(pi)) and the mean square 1 + sqrt(3) / (2 pi).
    let pi = std::f64::consts::PI;
    let largest = 1.5 / pi.sqrt();
    let square = 1.0 + 3f64.sqrt() / (2.0 * pi);
    let middle = 3.0 - 2.0 * square;
    assert_moments(
        Known::<3>(Kind::Normals),
        Constraint::Ordered,
        &[[-largest, square], [0.0, middle], [largest, square]],
    );
    // Of two exponential draws the smaller has mean 1/2, and the larger 1 more.
    assert_moments(
        Known::<2>(Kind::Exponential),
        Constraint::PositiveOrdered,
        &[[0.5, 0.5], [1.5, 3.5]],
    );
}

/// A regression under flat priors: sigma^2 is scaled inverse chi-squared with n - d - 1 degrees of freedom, and the
/// coefficients are Student's t around least squares.
#[test]
fn flat_priors_have_the_posterior_of_the_textbook() {
    let x: Array2<f64> = Array2::from_shape_fn((12, 1), |(i, _)| (i as f64 - 5.5) / 3.0);
    let y = Array2::from_shape_fn((12, 1), |(i, _)| (1.7 * i as f64).sin() + 0.2 * i as f64);
    let data = Dataset::regression(x.clone(), y.clone()).unwrap();
    let flat = Flat::of_numbers();
    let priors = Priors::new().with("w", flat).with("b", flat);
    let priors = priors.with("log_noise_variance", Flat::of_sd());
    let model = Linear::new(1, 1).unwrap();
    let posterior = Posterior::new(model, Gaussian::sampled(), &data, priors).unwrap();
    assert!(posterior.prior_draws(1, 1).unwrap_err().to_string().contains("flat"));

    let start = Init::Around { centre: vec![0.0; 3], sd: 0.1 };
    let nuts = Nuts { target_accept: 0.9, ..Nuts::default() };
    let draws = Sampler::new(&posterior, nuts).init(start).draws(10_000).seed(5).run().unwrap();
    // x is centred: slope and intercept are independent.
    let slope = (&x * &y).sum() / (&x * &x).sum();
    let intercept = y.mean().unwrap();
    let residuals = &y - &(&x * slope) - intercept;
    let squares = residuals.mapv(|r| r * r).sum();
    // p(sigma) is flat: 1/sigma^2 is Gamma((12 - 2 - 1) / 2, squares / 2), with the mean 9 / squares.
    let values = draws.values();
    let precision = values.index_axis(Axis(2), 2).mapv(|eta| (-eta).exp());
    let exact = array![slope, intercept, 9.0 / squares];
    for (i, of) in [
        values.index_axis(Axis(2), 0).to_owned(),
        values.index_axis(Axis(2), 1).to_owned(),
        precision,
    ]
    .iter()
    .enumerate()
    {
        let error = (of.var(1.0) / ess_mean(of.view())).sqrt();
        let z = (of.mean().unwrap() - exact[i]) / error;
        assert!(z.abs() < 4.5, "coordinate {i}: z = {z}");
    }
    // Var w = E sigma^2 / Sxx, E sigma^2 = squares / (9 - 2).
    let w = values.index_axis(Axis(2), 0).to_owned();
    let squared = w.mapv(|w| (w - slope).powi(2));
    let error = (squared.var(1.0) / ess_mean(squared.view())).sqrt();
    let exact = squares / 7.0 / (&x * &x).sum();
    let z = (squared.mean().unwrap() - exact) / error;
    assert!(z.abs() < 4.5, "variance of the slope: z = {z}");
}

/// The eight schools' gradient as it is written by hand, beside dual numbers.
struct Schools {
    y: [f64; 8],
    sigma: [f64; 8],
}

impl Density for Schools {
    fn layout(&self) -> Layout {
        Layout::new().with("mu", &[]).with("log_tau", &[]).with("theta", &[8])
    }

    fn log_density<N: Number>(&self, q: &[N]) -> (N, N) {
        let (mu, log_tau) = (q[0], q[1]);
        let tau = log_tau.exp();
        let mut prior = log_tau - (mu / 5.0).powi(2) * 0.5 - (tau / 5.0).powi(2).ln_1p();
        let mut likelihood = N::from(0.0);
        for ((theta, y), sigma) in q[2..].iter().zip(self.y).zip(self.sigma) {
            prior -= ((*theta - mu) / tau).powi(2) * 0.5 + log_tau;
            likelihood -= ((*theta - y) / sigma).powi(2) * 0.5;
        }
        (likelihood, prior)
    }
}

#[test]
fn gradients_by_dual_numbers_are_those_by_hand() {
    let schools = Schools {
        y: [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0],
        sigma: [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0],
    };
    let q = [4.0, 0.5, 3.0, -2.0, 1.0, 0.5, -1.0, 0.0, 2.0, 1.5];
    let (mu, tau) = (q[0], f64::exp(q[1]));
    let ratio = (tau / 5.0).powi(2);
    let mut by_hand = [0.0; 10];
    (by_hand[0], by_hand[1]) = (-mu / 25.0, 1.0 - 2.0 * ratio / (1.0 + ratio));
    for j in 0..8 {
        let z = (q[2 + j] - mu) / tau;
        by_hand[0] += z / tau;
        by_hand[1] += z * z - 1.0;
        by_hand[2 + j] = (schools.y[j] - q[2 + j]) / schools.sigma[j].powi(2) - z / tau;
    }
    // Ten parameters: a whole pass of eight, and one of two.
    let target = Autodiff::new(schools);
    let mut grad = [f64::NAN; 10];
    let density = target.log_density_grad(&q, &mut grad, &mut target.workspace());
    for (dual, hand) in grad.iter().zip(by_hand) {
        assert!((dual - hand).abs() < 1e-12 * hand.abs().max(1.0), "{dual}, {hand}");
    }
    let value = target.log_density(&q, &mut target.workspace());
    assert!((value.prior - density.prior).abs() < 1e-12 * value.prior.abs());
    assert!((value.likelihood - density.likelihood).abs() < 1e-12 * value.likelihood.abs());
}
