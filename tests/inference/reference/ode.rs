//! Two systems that are solved in time, by the classical method of Runge and Kutta with steps of one length.

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{Density, Number};
use serde::Deserialize;

use super::{Own, Reference, normal};

/// The state after a time of `h` in `steps` steps, for x' = f(t, x) from `t` on.
fn solve<N: Number, const K: usize>(
    f: impl Fn(f64, [N; K]) -> [N; K],
    t: f64,
    mut x: [N; K],
    h: f64,
    steps: usize,
) -> [N; K] {
    let h = h / steps as f64;
    let along = |x: [N; K], slope: [N; K], h: f64| {
        let mut moved = x;
        moved.iter_mut().zip(slope).for_each(|(x, slope)| *x += slope * h);
        moved
    };
    for step in 0..steps {
        let t = t + step as f64 * h;
        let a = f(t, x);
        let b = f(t + 0.5 * h, along(x, a, 0.5 * h));
        let c = f(t + 0.5 * h, along(x, b, 0.5 * h));
        let d = f(t + h, along(x, c, h));
        for (slope, weight) in [(a, 1.0), (b, 2.0), (c, 2.0), (d, 1.0)] {
            x = along(x, slope, weight * h / 6.0);
        }
    }
    x
}

/// Hares u and lynxes v: u' = (a - b v) u, v' = (-c + d u) v, measured with log-normal errors, at t = 0 too.
#[derive(Deserialize)]
pub struct LotkaVolterra {
    ts: Vec<f64>,
    y_init: [f64; 2],
    y: Vec<[f64; 2]>,
}

impl LotkaVolterra {
    pub fn new(reference: &Reference) -> Self {
        reference.data()
    }
}

impl Density for LotkaVolterra {
    fn layout(&self) -> Layout {
        Layout::new().with("theta", &[4]).with("z_init", &[2]).with("sigma", &[2])
    }

    fn log_density<N: Number>(&self, q: &[N]) -> (N, N) {
        let [a, b, c, d, u, v, s_u, s_v] = q.try_into().expect("eight parameters");
        let rates = |_, [u, v]: [N; 2]| [(a - b * v) * u, (d * u - c) * v];
        let measured = |y: [f64; 2], x: [N; 2]| {
            let of = |y: f64, x: N, s: N| normal(N::from(y.ln()), x.ln(), s);
            of(y[0], x[0], s_u) + of(y[1], x[1], s_v)
        };
        let (mut t, mut x) = (0.0, [u, v]);
        let mut likelihood = measured(self.y_init, x);
        for (next, y) in self.ts.iter().zip(&self.y) {
            x = solve(rates, t, x, next - t, 10);
            likelihood += measured(*y, x);
            t = *next;
        }
        let of = |x: N, mean: f64, sd: f64| normal(x, N::from(mean), N::from(sd));
        // Log-normal densities have 1 / x beside the normal one of log x.
        let log_normal = |x: N, mean: f64| of(x.ln(), mean, 1.0) - x.ln();
        let prior = of(a, 1.0, 0.5)
            + of(c, 1.0, 0.5)
            + of(b, 0.05, 0.05)
            + of(d, 0.05, 0.05)
            + log_normal(s_u, -1.0)
            + log_normal(s_v, -1.0)
            + log_normal(u, 10f64.ln())
            + log_normal(v, 10f64.ln());
        (likelihood, prior)
    }
}

impl Own for LotkaVolterra {
    fn constraints(&self) -> Vec<(&'static str, Constraint)> {
        ["theta", "z_init", "sigma"].map(|name| (name, Constraint::Positive)).to_vec()
    }
}

/// A drug that is absorbed and eliminated: C' = e^(-k_a t) D k_a / V - (V_m / V) C / (K_m + C) from C = 0, measured with log-normal
/// errors; all parameters half-Cauchy(1).
#[derive(Deserialize)]
pub struct Elimination {
    t0: f64,
    #[serde(rename = "D")]
    dose: f64,
    #[serde(rename = "V")]
    volume: f64,
    times: Vec<f64>,
    #[serde(rename = "C_hat")]
    measured: Vec<f64>,
}

impl Elimination {
    pub fn new(reference: &Reference) -> Self {
        reference.data()
    }
}

impl Density for Elimination {
    fn layout(&self) -> Layout {
        ["k_a", "K_m", "V_m", "sigma"].iter().fold(Layout::new(), |all, name| all.with(name, &[]))
    }

    fn log_density<N: Number>(&self, q: &[N]) -> (N, N) {
        let [k_a, k_m, v_m, sigma] = q.try_into().expect("four parameters");
        let rate = |t: f64, [c]: [N; 1]| {
            let absorbed = (-k_a * t).exp() * k_a * (self.dose / self.volume);
            [absorbed - v_m / self.volume * c / (k_m + c)]
        };
        let (mut t, mut x) = (self.t0, [N::from(0.0)]);
        let mut likelihood = N::from(0.0);
        for (next, measured) in self.times.iter().zip(&self.measured) {
            x = solve(rate, t, x, next - t, 10);
            likelihood += normal(N::from(measured.ln()), x[0].ln(), sigma);
            t = *next;
        }
        let prior: N = q.iter().map(|x| -x.powi(2).ln_1p()).sum();
        (likelihood, prior)
    }
}

impl Own for Elimination {
    const DRAWS: usize = 10_000;
    /// Where both are large the data know their ratio alone: along that ridge the tails are those of the priors.
    const HEAVY_TAILED: &[&str] = &["K_m", "V_m"];

    fn constraints(&self) -> Vec<(&'static str, Constraint)> {
        ["k_a", "K_m", "V_m", "sigma"].map(|name| (name, Constraint::Positive)).to_vec()
    }
}
