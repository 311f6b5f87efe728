//! A normal distribution as a target, with exact draws.

use crate::Error;
use crate::linalg::cholesky::Cholesky;
use crate::portable::ln;
use crate::rng::ChainRng;
use crate::targets::{BoxSupport, FisherTarget, GradTarget, HessTarget, LogDensity, Target};

/// N(mean, covariance), normalised.
#[derive(Clone, Debug)]
pub struct GaussianTarget {
    mean: Vec<f64>,
    /// The Cholesky factor of the covariance.
    factor: Cholesky,
    precision: Vec<f64>,
    log_constant: f64,
}

impl GaussianTarget {
    /// Mean (d numbers) and covariance matrix (d x d, row-major, positive definite).
    pub fn new(mean: Vec<f64>, covariance: &[f64]) -> Result<Self, Error> {
        let dim = mean.len();
        if dim == 0 {
            return Err(Error::argument("length of `mean`", 0, "at least 1"));
        }
        let factor = Cholesky::new("covariance", covariance, dim)?;
        let log_det_half: f64 = factor.lower().iter().step_by(dim + 1).map(|l| ln(*l)).sum();
        let log_constant = -0.5 * dim as f64 * ln(std::f64::consts::TAU) - log_det_half;
        let mut target = Self { mean, factor, precision: vec![0.0; dim * dim], log_constant };
        // Column j of the precision is minus the gradient one unit along coordinate j from the mean.
        let (mut q, mut z, mut grad) = (target.mean.clone(), vec![0.0; dim], vec![0.0; dim]);
        for j in 0..dim {
            q[j] += 1.0;
            target.log_density_grad(&q, &mut grad, &mut z);
            q[j] = target.mean[j];
            for (i, g) in grad.iter().enumerate() {
                target.precision[i * dim + j] = -g;
            }
        }
        Ok(target)
    }

    /// N(0, I) in `dim` dimensions, 1 to 10,000: matrices of `dim` squared numbers are kept.
    pub fn standard(dim: usize) -> Result<Self, Error> {
        if !(1..=10_000).contains(&dim) {
            return Err(Error::argument("dim", dim, "1 to 10000"));
        }
        let mut identity = vec![0.0; dim * dim];
        identity.iter_mut().step_by(dim + 1).for_each(|x| *x = 1.0);
        Self::new(vec![0.0; dim], &identity)
    }

    /// Draws q exactly.
    pub fn draw(&self, rng: &mut ChainRng, q: &mut [f64]) {
        let mut z = vec![0.0; q.len()];
        rng.fill_normal(&mut z);
        self.factor.mul_lower(&z, q);
        for (q, mean) in q.iter_mut().zip(&self.mean) {
            *q += mean;
        }
    }

    /// Writes z = L^-1 (q - mean).
    fn standardise(&self, q: &[f64], z: &mut [f64]) {
        let dim = q.len();
        for i in 0..dim {
            let row = &self.factor.lower()[i * dim..i * dim + i + 1];
            let known: f64 = row[..i].iter().zip(&*z).map(|(l, z)| l * z).sum();
            z[i] = (q[i] - self.mean[i] - known) / row[i];
        }
    }
}

impl Target for GaussianTarget {
    type Workspace = Vec<f64>;

    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn workspace(&self) -> Vec<f64> {
        vec![0.0; self.dim()]
    }

    fn log_density(&self, q: &[f64], z: &mut Vec<f64>) -> LogDensity {
        self.standardise(q, z);
        LogDensity::from(self.log_constant - 0.5 * z.iter().map(|z| z * z).sum::<f64>())
    }
}

impl GradTarget for GaussianTarget {
    /// The gradient is -L^-T z.
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], z: &mut Vec<f64>) -> LogDensity {
        let log_density = self.log_density(q, z);
        let (dim, lower) = (q.len(), self.factor.lower());
        for i in (0..dim).rev() {
            let known: f64 = (i + 1..dim).map(|k| lower[k * dim + i] * grad[k]).sum();
            grad[i] = (-z[i] - known) / lower[i * dim + i];
        }
        log_density
    }
}

impl BoxSupport for GaussianTarget {
    /// The bounds: there are none.
    fn bounds(&self, lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error> {
        lower.fill(f64::NEG_INFINITY);
        upper.fill(f64::INFINITY);
        Ok(())
    }
}

impl HessTarget for GaussianTarget {
    /// beta times the precision matrix.
    fn neg_hessian_at(&self, beta: f64, _: &[f64], out: &mut [f64], _: &mut Vec<f64>) {
        out.iter_mut().zip(&self.precision).for_each(|(out, p)| *out = beta * p);
    }
}

impl FisherTarget for GaussianTarget {
    /// The Fisher information is the negative Hessian, which does not depend on q.
    fn fisher_at(&self, beta: f64, q: &[f64], out: &mut [f64], ws: &mut Vec<f64>) {
        self.neg_hessian_at(beta, q, out, ws);
    }
}
