//! Gaussian processes of covariance alpha^2 exp(-(x - x')^2 / (2 rho^2)): rho ~ Gamma(25, rate 4), alpha ~ half-N(2).

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{Density, Number};
use serde::Deserialize;

use super::{Own, Reference};

#[derive(Deserialize)]
struct Points {
    x: Vec<f64>,
    y: Vec<f64>,
    k: Vec<f64>,
}

impl Points {
    /// The Cholesky factor, by rows, of the covariance with `noise` on its diagonal.
    fn factor<N: Number>(&self, rho: N, alpha: N, noise: N) -> Vec<Vec<N>> {
        let n = self.x.len();
        let mut factor = vec![vec![N::from(0.0); n]; n];
        for i in 0..n {
            for j in 0..=i {
                let distance = (self.x[i] - self.x[j]).powi(2);
                let mut sum = alpha.powi(2) * (-(rho.powi(2) * 2.0).recip() * distance).exp();
                if i == j {
                    sum += noise;
                }
                sum -= factor[i][..j].iter().zip(&factor[j]).map(|(a, b)| *a * *b).sum::<N>();
                factor[i][j] = if i == j { sum.sqrt() } else { sum / factor[j][j] };
            }
        }
        factor
    }
}

fn prior<N: Number>(rho: N, alpha: N) -> N {
    rho.ln() * 24.0 - rho * 4.0 - (alpha / 2.0).powi(2) * 0.5
}

/// y ~ the process with noise of variance sigma, sigma ~ half-N(1).
pub struct Regression(Points);

impl Regression {
    pub fn new(reference: &Reference) -> Self {
        Self(reference.data())
    }
}

impl Density for Regression {
    fn layout(&self) -> Layout {
        Layout::new().with("rho", &[]).with("alpha", &[]).with("sigma", &[])
    }

    fn log_density<N: Number>(&self, q: &[N]) -> (N, N) {
        let [rho, alpha, sigma] = q.try_into().expect("three parameters");
        let factor = self.0.factor(rho, alpha, sigma);
        // z = L^-1 y.
        let mut z: Vec<N> = Vec::new();
        let mut likelihood = N::from(0.0);
        for (row, y) in factor.iter().zip(&self.0.y) {
            let known: N = row.iter().zip(&z).map(|(l, z)| *l * *z).sum();
            let diagonal = row[z.len()];
            let next = -(known - *y) / diagonal;
            likelihood -= next.powi(2) * 0.5 + diagonal.ln();
            z.push(next);
        }
        (likelihood, prior(rho, alpha) - sigma.powi(2) * 0.5)
    }
}

impl Own for Regression {
    fn constraints(&self) -> Vec<(&'static str, Constraint)> {
        ["rho", "alpha", "sigma"].map(|name| (name, Constraint::Positive)).to_vec()
    }
}

/// k ~ Poisson(e^f), f = L z the process without noise, z ~ N(0, 1).
pub struct Counts(Points);

impl Counts {
    pub fn new(reference: &Reference) -> Self {
        Self(reference.data())
    }

    fn f<N: Number>(&self, q: &[N]) -> Vec<N> {
        let factor = self.0.factor(q[0], q[1], N::from(1e-10));
        let z = &q[2..];
        factor.iter().map(|row| row.iter().zip(z).map(|(l, z)| *l * *z).sum()).collect()
    }
}

impl Density for Counts {
    fn layout(&self) -> Layout {
        Layout::new().with("rho", &[]).with("alpha", &[]).with("z", &[self.0.x.len()])
    }

    fn log_density<N: Number>(&self, q: &[N]) -> (N, N) {
        let f = self.f(q);
        let likelihood = f.iter().zip(&self.0.k).map(|(f, k)| *f * *k - f.exp()).sum();
        let squares: N = q[2..].iter().map(|z| z.powi(2)).sum();
        (likelihood, prior(q[0], q[1]) - squares * 0.5)
    }
}

impl Own for Counts {
    fn constraints(&self) -> Vec<(&'static str, Constraint)> {
        ["rho", "alpha"].map(|name| (name, Constraint::Positive)).to_vec()
    }

    fn reported(&self, q: &[f64]) -> Vec<f64> {
        [q[0], q[1]].into_iter().chain(self.f(q)).collect()
    }
}
