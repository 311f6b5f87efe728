//! The exact posterior of Bayesian linear regression.
//!
//! y ~ N(X w, tau^2 I) with independent priors w ~ N(0, s^2 I), and tau known or
//! tau^2 ~ IG(a, b). Given eta = log tau^2 the weights are normal, with
//!
//! ```text
//! A(eta) = X^T X / tau^2 + I / s^2,   E[w | y, eta] = A^-1 X^T y / tau^2,   Cov = A^-1
//! log p(y | eta) = -N/2 log(2 pi tau^2) - d/2 log s^2 - 1/2 log|A|
//!                  - 1/2 (y^T y / tau^2 - |A^{-1/2} X^T y|^2 / tau^4)
//! ```
//!
//! In the eigenvectors of X^T X all of this is O(d) for each eta. The posterior of eta is one-
//! dimensional: it is tabulated on a fine grid, which gives every moment to many digits and exact
//! draws.

use ndarray::{Array2, ArrayView1, ArrayView2};
use statrs::function::gamma::ln_gamma;

use crate::Error;
use crate::error::positive;
use crate::linalg::eigen::symmetric_eigen;
use crate::rng::ChainRng;

/// What is known about the noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Its standard deviation.
    Fixed(f64),
    /// tau^2 ~ IG(shape, scale); (0, 0) is the improper 1/tau^2.
    InverseGamma {
        /// The shape a.
        shape: f64,
        /// The scale b.
        scale: f64,
    },
}

/// The exact posterior of linear regression. See the [module](crate::testing).
///
/// q is laid out as in a [`Posterior`](crate::target::Posterior) of a
/// [`Linear`](crate::model::Linear) model with one output: the weights, the intercept, and
/// log tau^2 if the noise is not fixed.
#[derive(Clone, Debug)]
pub struct ConjugateRegression {
    dim_w: usize,
    prior_variance: f64,
    /// Eigenvalues and eigenvectors (one after the other) of X^T X.
    values: Vec<f64>,
    vectors: Vec<f64>,
    /// X^T y in those eigenvectors.
    xty: Vec<f64>,
    /// (eta, probability), ascending in eta. One entry if the noise is fixed.
    grid: Vec<(f64, f64)>,
    /// Running sums of the probabilities.
    cumulative: Vec<f64>,
    sampled_noise: bool,
    log_evidence: f64,
}

impl ConjugateRegression {
    /// `x` `[rows x features]`, to which an intercept is added; `y` one response per row; the
    /// prior standard deviation of every weight and of the intercept.
    pub fn new(
        x: ArrayView2<f64>,
        y: ArrayView1<f64>,
        prior_sd: f64,
        noise: Noise,
    ) -> Result<Self, Error> {
        positive("prior_sd", prior_sd)?;
        if y.len() != x.nrows() || x.nrows() == 0 {
            return Err(Error::shape("number of responses", y.len(), x.nrows().max(1)));
        }
        let n = x.nrows();
        let mut design = Array2::ones((n, x.ncols() + 1));
        design.slice_mut(ndarray::s![.., ..x.ncols()]).assign(&x);
        let dim_w = design.ncols();
        let xtx = design.t().dot(&design);
        let gram: Vec<f64> = xtx.iter().copied().collect();
        let (values, vectors) = symmetric_eigen(&gram, dim_w)?;
        let xty = design.t().dot(&y);
        let xty: Vec<f64> = vectors
            .chunks_exact(dim_w)
            .map(|v| v.iter().zip(&xty).map(|(v, b)| v * b).sum())
            .collect();
        let mut this = Self {
            dim_w,
            prior_variance: prior_sd * prior_sd,
            values,
            vectors,
            xty,
            grid: Vec::new(),
            cumulative: vec![1.0],
            sampled_noise: matches!(noise, Noise::InverseGamma { .. }),
            log_evidence: f64::NAN,
        };
        let yty = y.dot(&y);
        let (a, b) = match noise {
            Noise::Fixed(sd) => {
                let eta = 2.0 * positive("noise sd", sd)?.ln();
                this.log_evidence = this.log_marginal(eta, n, yty);
                this.grid = vec![(eta, 1.0)];
                return Ok(this);
            }
            Noise::InverseGamma { shape, scale } => (shape, scale),
        };
        let constant = if a > 0.0 { a * b.ln() - ln_gamma(a) } else { 0.0 };
        let log_joint =
            |eta: f64| this.log_marginal(eta, n, yty) + constant - a * eta - b * (-eta).exp();
        // Find the mode on a coarse grid, then the range that holds all but e^-45 of the mass.
        let coarse = (-4000..=4000).map(|i| f64::from(i) * 0.01);
        let (mode, peak) = coarse
            .map(|eta| (eta, log_joint(eta)))
            .fold((f64::NAN, f64::NEG_INFINITY), |m, x| if x.1 > m.1 { x } else { m });
        let edge = |sign: f64| {
            let mut width = 0.01;
            while log_joint(mode + sign * width) > peak - 45.0 && width < 1e3 {
                width *= 1.1;
            }
            mode + sign * width
        };
        let (low, high) = (edge(-1.0), edge(1.0));
        let points = 20_000;
        let step = (high - low) / f64::from(points);
        let grid: Vec<(f64, f64)> = (0..=points)
            .map(|i| low + step * f64::from(i))
            .map(|eta| (eta, (log_joint(eta) - peak).exp()))
            .collect();
        let total: f64 = grid.iter().map(|g| g.1).sum();
        this.log_evidence = peak + (total * step).ln();
        this.grid = grid.into_iter().map(|(eta, p)| (eta, p / total)).collect();
        let mut below = 0.0;
        this.cumulative = this.grid.iter().map(|(_, p)| (below += p, below).1).collect();
        Ok(this)
    }

    /// log p(y | eta).
    fn log_marginal(&self, eta: f64, n: usize, yty: f64) -> f64 {
        let (precision, prior) = ((-eta).exp(), 1.0 / self.prior_variance);
        let mut log_det = self.dim_w as f64 * self.prior_variance.ln();
        let mut fit = 0.0;
        for (value, b) in self.values.iter().zip(&self.xty) {
            let a = value * precision + prior;
            log_det += a.ln();
            fit += b * b * precision * precision / a;
        }
        -0.5 * (n as f64 * (std::f64::consts::TAU.ln() + eta) + log_det + yty * precision - fit)
    }

    /// E[w | eta] and Var[w | eta], both in the eigenvectors.
    fn conditional(&self, eta: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        let (precision, prior) = ((-eta).exp(), 1.0 / self.prior_variance);
        self.values.iter().zip(&self.xty).map(move |(value, b)| {
            let variance = 1.0 / (value * precision + prior);
            (variance * b * precision, variance)
        })
    }

    /// The length of q.
    pub fn dim(&self) -> usize {
        self.dim_w + usize::from(self.sampled_noise)
    }

    /// log p(y), the log evidence; up to an infinite constant if the noise prior is improper.
    pub fn log_evidence(&self) -> f64 {
        self.log_evidence
    }

    /// The posterior mean of q.
    pub fn mean(&self) -> Vec<f64> {
        let mut rotated = vec![0.0; self.dim_w];
        for (eta, p) in &self.grid {
            for (r, (mean, _)) in rotated.iter_mut().zip(self.conditional(*eta)) {
                *r += p * mean;
            }
        }
        let mut mean = self.rotate_back(&rotated);
        if self.sampled_noise {
            mean.push(self.grid.iter().map(|(eta, p)| eta * p).sum());
        }
        mean
    }

    /// The posterior covariance of q `[dim x dim]`.
    pub fn covariance(&self) -> Array2<f64> {
        let (d, dim) = (self.dim_w, self.dim());
        let mean = self.mean();
        // Second moments in the eigenvectors, the noise's coordinate last.
        let mut second = Array2::<f64>::zeros((dim, dim));
        let mut first = vec![0.0; dim];
        for (eta, p) in &self.grid {
            let mut at: Vec<f64> = Vec::with_capacity(dim);
            for (i, (mean, variance)) in self.conditional(*eta).enumerate() {
                second[(i, i)] += p * variance;
                at.push(mean);
            }
            if self.sampled_noise {
                at.push(eta - mean[d]);
            }
            for i in 0..dim {
                first[i] += p * at[i];
                for j in 0..dim {
                    second[(i, j)] += p * at[i] * at[j];
                }
            }
        }
        let centred =
            Array2::from_shape_fn((dim, dim), |(i, j)| second[(i, j)] - first[i] * first[j]);
        let mut rotation = Array2::eye(dim);
        for k in 0..d {
            for i in 0..d {
                rotation[(i, k)] = self.vectors[k * d + i];
            }
        }
        rotation.dot(&centred).dot(&rotation.t())
    }

    /// Draws q exactly.
    pub fn draw(&self, rng: &mut ChainRng, q: &mut [f64]) {
        let u = rng.uniform();
        let cell = self.cumulative.partition_point(|below| *below <= u).min(self.grid.len() - 1);
        let mut eta = self.grid[cell].0;
        if self.sampled_noise {
            // Uniform within the cell of the grid.
            eta += (rng.uniform() - 0.5) * (self.grid[1].0 - self.grid[0].0);
            q[self.dim_w] = eta;
        }
        let rotated: Vec<f64> = self
            .conditional(eta)
            .map(|(mean, variance)| mean + variance.sqrt() * rng.normal())
            .collect();
        q[..self.dim_w].copy_from_slice(&self.rotate_back(&rotated));
    }

    fn rotate_back(&self, rotated: &[f64]) -> Vec<f64> {
        let mut w = vec![0.0; self.dim_w];
        for (r, vector) in rotated.iter().zip(self.vectors.chunks_exact(self.dim_w)) {
            for (w, v) in w.iter_mut().zip(vector) {
                *w += r * v;
            }
        }
        w
    }
}
