//! Targets with exact draws that several files use.

use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::{ConjugateRegression, GaussianTarget, NoiseVariance};
use ndarray::{Array1, Array2};

pub type Regression = Posterior<Linear, Gaussian>;

/// Two features and a response.
pub fn regression_data(rows: usize) -> (Array2<f64>, Array1<f64>) {
    let x = Array2::from_shape_fn((rows, 2), |(i, j)| ((i * (j + 2)) as f64 * 0.7).sin());
    let y = Array1::from_shape_fn(rows, |i| x[(i, 0)] - 0.5 + 0.4 * (i as f64 * 2.3).cos());
    (x, y)
}

/// A regression with sampled noise and a prior that matters, which every kernel of the crate can sample, and
/// its exact posterior.
pub fn regression(rows: usize) -> (ConjugateRegression, Regression) {
    let (x, y) = regression_data(rows);
    let noise = NoiseVariance::InverseGamma { shape: 2.0, scale: 0.5 };
    let exact = ConjugateRegression::new(x.view(), y.view(), 0.5, noise).unwrap();
    let priors = Priors::all(Normal::new(0.0, 0.5).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    let data = Dataset::regression(x, y).unwrap();
    let posterior =
        Posterior::new(Linear::new(2, 1).unwrap(), Gaussian::sampled(), &data, priors).unwrap();
    (exact, posterior)
}

/// A density with exact draws.
pub trait Exact: GradTarget {
    fn draw(&self, rng: &mut ChainRng, q: &mut [f64]);
}

impl Exact for GaussianTarget {
    fn draw(&self, rng: &mut ChainRng, q: &mut [f64]) {
        self.draw(rng, q);
    }
}

pub fn correlated() -> GaussianTarget {
    let covariance = [1.0, 0.6, 0.2, 0.6, 2.0, -0.3, 0.2, -0.3, 0.5];
    GaussianTarget::new(vec![1.0, -0.5, 0.0], &covariance).unwrap()
}

/// v ~ N(0, 1), and two coordinates ~ N(0, e^v): a funnel.
pub struct Funnel;

impl Target for Funnel {
    type Workspace = ();
    fn dim(&self) -> usize {
        3
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        let squares = q[1] * q[1] + q[2] * q[2];
        LogDensity::from(-0.5 * q[0] * q[0] - q[0] - 0.5 * squares * (-q[0]).exp())
    }
}

impl GradTarget for Funnel {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        let precision = (-q[0]).exp();
        grad[0] = -q[0] - 1.0 + 0.5 * (q[1] * q[1] + q[2] * q[2]) * precision;
        grad[1] = -q[1] * precision;
        grad[2] = -q[2] * precision;
        self.log_density(q, ws)
    }
}

impl Exact for Funnel {
    fn draw(&self, rng: &mut ChainRng, q: &mut [f64]) {
        q[0] = rng.normal();
        let sd = (0.5 * q[0]).exp();
        q[1] = sd * rng.normal();
        q[2] = sd * rng.normal();
    }
}
