//! Eight schools, whose effects vary around a mean: y_j ~ N(theta_j, s_j^2), theta_j ~ N(mu, tau^2), mu ~ N(0, 5^2), tau ~ half-Cauchy(5).

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{Density, Number};
use serde::Deserialize;

use super::{Own, Reference};

#[derive(Deserialize)]
pub struct Schools {
    y: Vec<f64>,
    sigma: Vec<f64>,
}

impl Schools {
    pub fn new(reference: &Reference) -> Self {
        reference.data()
    }
}

impl Density for Schools {
    /// theta_j = mu + tau z_j.
    fn layout(&self) -> Layout {
        Layout::new().with("z", &[8]).with("mu", &[]).with("tau", &[])
    }

    fn log_density<N: Number>(&self, theta: &[N]) -> (N, N) {
        let (z, mu, tau) = (&theta[..8], theta[8], theta[9]);
        let mut prior = (mu / 5.0).powi(2) * -0.5 - (tau / 5.0).powi(2).ln_1p();
        let mut likelihood = N::from(0.0);
        for ((z, y), s) in z.iter().zip(&self.y).zip(&self.sigma) {
            prior -= z.powi(2) * 0.5;
            likelihood -= ((mu + tau * *z - *y) / *s).powi(2) * 0.5;
        }
        (likelihood, prior)
    }
}

impl Own for Schools {
    fn constraints(&self) -> Vec<(&'static str, Constraint)> {
        vec![("tau", Constraint::Positive)]
    }

    fn reported(&self, theta: &[f64]) -> Vec<f64> {
        let (mu, tau) = (theta[8], theta[9]);
        theta[..8].iter().map(|z| mu + tau * z).chain([mu, tau]).collect()
    }
}
