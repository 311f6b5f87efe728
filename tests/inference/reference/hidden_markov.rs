//! Hidden Markov models of two states. The first observation has no distribution of states: the likelihoods of both are added.

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{Density, Number};
use serde::Deserialize;

use super::{Own, Reference, log_sum, normal};

/// The log likelihood by the forward algorithm: `theta` is the transition matrix by rows, `emit` the log densities of the t-th
/// observation in both states.
fn forward<N: Number>(theta: &[N], n: usize, emit: impl Fn(usize) -> [N; 2]) -> N {
    let log_theta = [0, 1, 2, 3].map(|i| theta[i].ln());
    let mut state = emit(0);
    for t in 1..n {
        let now = emit(t);
        let into = |k: usize| log_sum(state[0] + log_theta[k], state[1] + log_theta[2 + k]);
        state = [into(0) + now[0], into(1) + now[1]];
    }
    log_sum(state[0], state[1])
}

/// y ~ N(mu_k, 1), 0 < mu_1 < mu_2, mu_1 ~ N(3, 1), mu_2 ~ N(10, 1), flat on the rows of the transition matrix.
#[derive(Deserialize)]
pub struct Normals {
    y: Vec<f64>,
}

impl Normals {
    pub fn new(reference: &Reference) -> Self {
        reference.data()
    }
}

impl Density for Normals {
    fn layout(&self) -> Layout {
        Layout::new().with("theta", &[2, 2]).with("mu", &[2])
    }

    fn log_density<N: Number>(&self, q: &[N]) -> (N, N) {
        let (theta, mu) = q.split_at(4);
        let one = N::from(1.0);
        let emit = |t: usize| [0, 1].map(|k| normal(N::from(self.y[t]), mu[k], one));
        let prior = normal(mu[0], N::from(3.0), one) + normal(mu[1], N::from(10.0), one);
        (forward(theta, self.y.len(), emit), prior)
    }
}

impl Own for Normals {
    fn constraints(&self) -> Vec<(&'static str, Constraint)> {
        vec![("theta", Constraint::Simplex), ("mu", Constraint::PositiveOrdered)]
    }
}

/// The data of one drive.
#[derive(Deserialize)]
struct Series {
    u: Vec<f64>,
    v: Vec<f64>,
    alpha: [[f64; 2]; 2],
    #[serde(default)]
    tau: f64,
    #[serde(default)]
    rho: f64,
}

/// Two series u and v: exponential with rates phi_k and lambda_k, 0 < phi_1 < phi_2 and 0 < lambda_1 < lambda_2, or normal with
/// these means, in order, and given sds; phi_1 and lambda_1 ~ N(0, 1), phi_2 and lambda_2 ~ N(3, 1), the rows of the transition
/// matrix Dirichlet(alpha_k).
pub struct Drive {
    series: Series,
    exponential: bool,
}

impl Drive {
    pub fn exponential(reference: &Reference) -> Self {
        Self { series: reference.data(), exponential: true }
    }

    pub fn normal(reference: &Reference) -> Self {
        Self { series: reference.data(), exponential: false }
    }
}

impl Density for Drive {
    fn layout(&self) -> Layout {
        Layout::new().with("theta", &[2, 2]).with("phi", &[2]).with("lambda", &[2])
    }

    fn log_density<N: Number>(&self, q: &[N]) -> (N, N) {
        let (theta, phi, lambda) = (&q[..4], &q[4..6], &q[6..]);
        let Series { u, v, alpha, tau, rho } = &self.series;
        let exponential = |x: f64, rate: N| rate.ln() - rate * x;
        let emit = |t: usize| {
            [0, 1].map(|k| match self.exponential {
                true => exponential(u[t], phi[k]) + exponential(v[t], lambda[k]),
                false => {
                    normal(N::from(u[t]), phi[k], N::from(*tau))
                        + normal(N::from(v[t]), lambda[k], N::from(*rho))
                }
            })
        };
        let one = N::from(1.0);
        let mut prior = N::from(0.0);
        for pair in [phi, lambda] {
            prior += normal(pair[0], N::from(0.0), one) + normal(pair[1], N::from(3.0), one);
        }
        for (theta, alpha) in theta.iter().zip(alpha.as_flattened()) {
            prior += theta.ln() * (alpha - 1.0);
        }
        (forward(theta, u.len(), emit), prior)
    }
}

impl Own for Drive {
    fn constraints(&self) -> Vec<(&'static str, Constraint)> {
        let order =
            if self.exponential { Constraint::PositiveOrdered } else { Constraint::Ordered };
        vec![("theta", Constraint::Simplex), ("phi", order), ("lambda", order)]
    }
}
