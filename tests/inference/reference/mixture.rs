//! A mixture of two normal distributions: theta N(mu_1, s_1^2) + (1 - theta) N(mu_2, s_2^2), mu_1 < mu_2.

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{Density, Number};
use serde::Deserialize;

use super::{Own, Reference, log_sum, normal};

#[derive(Deserialize)]
pub struct TwoNormals {
    y: Vec<f64>,
}

impl TwoNormals {
    pub fn new(reference: &Reference) -> Self {
        reference.data()
    }
}

impl Density for TwoNormals {
    fn layout(&self) -> Layout {
        Layout::new().with("mu", &[2]).with("sigma", &[2]).with("theta", &[])
    }

    /// mu_k ~ N(0, 2^2), sigma_k ~ half-N(2), theta ~ Beta(5, 5).
    fn log_density<N: Number>(&self, q: &[N]) -> (N, N) {
        let [mu1, mu2, s1, s2, theta] = q.try_into().expect("five parameters");
        let (share1, share2) = (theta.ln(), (-theta + 1.0).ln());
        let row = |y: &f64| {
            let y = N::from(*y);
            log_sum(share1 + normal(y, mu1, s1), share2 + normal(y, mu2, s2))
        };
        let likelihood = self.y.iter().map(row).sum();
        let squares: N = [mu1, mu2, s1, s2].iter().map(|x| (*x / 2.0).powi(2)).sum();
        (likelihood, squares * -0.5 + (share1 + share2) * 4.0)
    }
}

impl Own for TwoNormals {
    fn constraints(&self) -> Vec<(&'static str, Constraint)> {
        let share = Constraint::Bounded { lower: 0.0, upper: 1.0 };
        vec![("mu", Constraint::Ordered), ("sigma", Constraint::Positive), ("theta", share)]
    }
}
