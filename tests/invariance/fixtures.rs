//! Targets with exact draws that several files use.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use bnn_mcmc::testing::{
    ConjugateRegression, GaussianTarget, Invariance, InvarianceReport, NoiseVariance,
    kolmogorov_smirnov,
};
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

/// 0.3 N(-m, S) + 0.7 N(m, I) on the plane: two modes, and chains that cross between them.
pub struct TwoModes;

impl TwoModes {
    const MODE: [f64; 2] = [1.4, -1.0];
    const SD: f64 = 0.6;

    /// Log densities of both components, and their log sum.
    fn parts(q: &[f64]) -> (f64, f64, f64) {
        let squares = |sign: f64| {
            (q[0] - sign * Self::MODE[0]).powi(2) + (q[1] - sign * Self::MODE[1]).powi(2)
        };
        let left = (0.3 / (Self::SD * Self::SD)).ln() - 0.5 * squares(-1.0) / Self::SD.powi(2);
        let right = 0.7f64.ln() - 0.5 * squares(1.0);
        let high = left.max(right);
        (left, right, high + ((left - high).exp() + (right - high).exp()).ln())
    }
}

impl Target for TwoModes {
    type Workspace = ();
    fn dim(&self) -> usize {
        2
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(Self::parts(q).2)
    }
}

impl GradTarget for TwoModes {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], _: &mut ()) -> LogDensity {
        let (left, right, sum) = Self::parts(q);
        let (left, right) = ((left - sum).exp(), (right - sum).exp());
        for i in 0..2 {
            let m = Self::MODE[i];
            grad[i] = -left * (q[i] + m) / Self::SD.powi(2) - right * (q[i] - m);
        }
        LogDensity::from(sum)
    }
}

impl Exact for TwoModes {
    fn draw(&self, rng: &mut ChainRng, q: &mut [f64]) {
        let (sign, sd) = if rng.uniform() < 0.3 { (-1.0, Self::SD) } else { (1.0, 1.0) };
        for (q, m) in q.iter_mut().zip(Self::MODE) {
            *q = sign * m + sd * rng.normal();
        }
    }
}

/// N(0, I) in the quarter plane of positive coordinates: trajectories leave the support.
pub struct Quarter;

impl Target for Quarter {
    type Workspace = ();
    fn dim(&self) -> usize {
        2
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        if q[0] < 0.0 || q[1] < 0.0 {
            return LogDensity::OUTSIDE;
        }
        LogDensity::from(-0.5 * (q[0] * q[0] + q[1] * q[1]))
    }
}

impl GradTarget for Quarter {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad.copy_from_slice(&[-q[0], -q[1]]);
        self.log_density(q, ws)
    }
}

impl Exact for Quarter {
    fn draw(&self, rng: &mut ChainRng, q: &mut [f64]) {
        q.fill_with(|| rng.normal().abs());
    }
}

/// 0 near the origin, and elsewhere what is given; no gradient.
pub struct Needle(pub f64);

impl Target for Needle {
    type Workspace = ();
    fn dim(&self) -> usize {
        2
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::new(if q.iter().all(|q| q.abs() <= 1e-30) { 0.0 } else { self.0 }, 0.0)
    }
}

impl GradTarget for Needle {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad.fill(0.0);
        self.log_density(q, ws)
    }
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// 19 coordinates: at every instruction set some fill registers, and some are left over.
pub fn nineteen() -> GaussianTarget {
    let mut covariance = vec![0.0; 19 * 19];
    for i in 0..19 {
        covariance[20 * i] = 0.5 + 0.1 * i as f64;
    }
    GaussianTarget::new(vec![0.5; 19], &covariance).unwrap()
}

/// Six transitions from each of many exact draws.
pub fn six_steps<'t, T: Exact, A: Algorithm<&'t T>>(
    target: &'t T,
    algorithm: &A,
) -> InvarianceReport {
    let setup = Invariance { steps: 6, ..Invariance::default() };
    setup.run(target, algorithm, |rng, q| target.draw(rng, q)).unwrap()
}

/// The largest |z| of the means of `moves`, and the smallest p-value of Kolmogorov-Smirnov tests of each coordinate
/// `after` some steps against `fresh` draws.
pub fn worst_of(moves: &[Vec<f64>], after: Vec<Vec<f64>>, fresh: Vec<Vec<f64>>) -> (f64, f64) {
    let z = |h: &Vec<f64>| {
        let n = h.len() as f64;
        let mean = h.iter().sum::<f64>() / n;
        let variance = h.iter().map(|h| (h - mean).powi(2)).sum::<f64>() / (n - 1.0);
        assert!(variance > 1e-3, "hardly moves");
        (mean / (variance / n).sqrt()).abs()
    };
    let worst = moves.iter().map(z).fold(0.0, f64::max);
    let pairs = after.into_iter().zip(fresh);
    let p = pairs.map(|(mut a, mut b)| kolmogorov_smirnov(&mut a, &mut b).1).fold(1.0, f64::min);
    (worst, p)
}
