//! Two models of series: an autoregressive moving average, and variances that depend on the errors before (GARCH).

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{Density, Number};
use serde::Deserialize;

use super::{Own, Reference, normal};

/// e_1 = y_1 - (mu + phi mu), e_t = y_t - (mu + phi y_{t-1} + theta e_{t-1}), e ~ N(0, sigma^2).
#[derive(Deserialize)]
pub struct Arma {
    y: Vec<f64>,
}

impl Arma {
    pub fn new(reference: &Reference) -> Self {
        reference.data()
    }
}

impl Density for Arma {
    fn layout(&self) -> Layout {
        ["mu", "phi", "theta", "sigma"].iter().fold(Layout::new(), |all, name| all.with(name, &[]))
    }

    fn log_density<N: Number>(&self, q: &[N]) -> (N, N) {
        let [mu, phi, theta, sigma] = q.try_into().expect("four parameters");
        let zero = N::from(0.0);
        let mut error = -(mu + phi * mu - self.y[0]);
        let mut likelihood = normal(error, zero, sigma);
        for pair in self.y.windows(2) {
            error = -(mu + phi * pair[0] + theta * error - pair[1]);
            likelihood += normal(error, zero, sigma);
        }
        let prior = ((mu / 10.0).powi(2) + (phi / 2.0).powi(2) + (theta / 2.0).powi(2)) * -0.5
            - (sigma / 2.5).powi(2).ln_1p();
        (likelihood, prior)
    }
}

impl Own for Arma {
    fn constraints(&self) -> Vec<(&'static str, Constraint)> {
        vec![("sigma", Constraint::Positive)]
    }
}

/// y_t ~ N(mu, v_t), v_t = alpha_0 + alpha_1 (y_{t-1} - mu)^2 + beta_1 v_{t-1}; flat on alpha_0 > 0 and on alpha_1 and
/// beta_1 where both are above 0 and their sum below 1: two numbers of a simplex.
#[derive(Deserialize)]
pub struct Garch {
    y: Vec<f64>,
    sigma1: f64,
}

impl Garch {
    pub fn new(reference: &Reference) -> Self {
        reference.data()
    }
}

impl Density for Garch {
    fn layout(&self) -> Layout {
        Layout::new().with("mu", &[]).with("alpha0", &[]).with("shares", &[3])
    }

    fn log_density<N: Number>(&self, q: &[N]) -> (N, N) {
        let [mu, alpha0, alpha1, beta1, _] = q.try_into().expect("five parameters");
        let mut variance = N::from(self.sigma1 * self.sigma1);
        let mut likelihood = N::from(0.0);
        for (t, y) in self.y.iter().enumerate() {
            if t > 0 {
                variance = alpha0 + alpha1 * (mu - self.y[t - 1]).powi(2) + beta1 * variance;
            }
            likelihood -= ((mu - *y).powi(2) / variance + variance.ln()) * 0.5;
        }
        (likelihood, N::from(0.0))
    }
}

impl Own for Garch {
    fn constraints(&self) -> Vec<(&'static str, Constraint)> {
        vec![("alpha0", Constraint::Positive), ("shares", Constraint::Simplex)]
    }

    fn reported(&self, q: &[f64]) -> Vec<f64> {
        q[..4].to_vec()
    }
}
