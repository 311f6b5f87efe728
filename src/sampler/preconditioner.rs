//! The scale of proposals: a step size and a linear map L, with M = L L^T.
//!
//! Proposals are made in the coordinates of x = L^-1 q, in which a well-chosen L makes the target
//! about isotropic. M is learnt during warm-up as the (co)variance of the chain, regularised as
//! n/(n+5) V + 5/(n+5) 1e-3 I (Stan reference manual; the second term is absolute, so that parameters
//! of standard deviation far below 0.01 are stepped over too carefully: scale the features), and the
//! step size by
//! [dual averaging](crate::adapt::DualAveraging).

use serde::{Deserialize, Serialize};

use super::{Step, WarmupProgress};
use crate::Error;
use crate::adapt::{Covariance, DualAveraging, Variance, Windows};
use crate::error::positive;
use crate::linalg::cholesky::Cholesky;
use crate::target::Point;

/// Which linear map of the proposals is learnt during warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preconditioner {
    /// None: all coordinates have the same scale.
    Identity,
    /// A scale for each coordinate; O(d) per step.
    #[default]
    Diagonal,
    /// A full covariance matrix; O(d^2) per step and in memory, O(d^3) a few times in all.
    ///
    /// For linear models, whose posterior is about one ellipsoid: for slope and intercept of
    /// `examples/linear_toy.rs`, whose correlation is -0.86, it gave twelve times as many effective
    /// draws as [`Diagonal`](Self::Diagonal). Not for networks: on iris it left MALA with fewer than
    /// a tenth of the effective draws that [`Diagonal`](Self::Diagonal) gives.
    Dense,
}

/// A step size and a linear map, adapted during warm-up. See the [module](self).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scale {
    step_size: f64,
    map: Map,
    adaptation: Option<Adaptation>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Map {
    Identity,
    Diagonal(Vec<f64>),
    Dense(Cholesky),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Adaptation {
    dual: DualAveraging,
    adapt_step_size: bool,
    moments: Moments,
    /// Known from the first step of warm-up on.
    windows: Option<Windows>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Moments {
    None,
    Diagonal(Variance),
    Dense(Covariance),
}

impl Scale {
    /// The scale before warm-up: `step_size` > 0 and the identity map.
    ///
    /// `target_accept` in (0, 1) is what the step size is adapted to; `None` keeps it fixed.
    pub fn new(
        dim: usize,
        step_size: f64,
        target_accept: Option<f64>,
        preconditioner: Preconditioner,
    ) -> Result<Self, Error> {
        positive("step_size", step_size)?;
        if let Some(target) = target_accept
            && !(target > 0.0 && target < 1.0)
        {
            return Err(Error::argument("target_accept", target, "between 0 and 1, exclusive"));
        }
        let (map, moments) = match preconditioner {
            Preconditioner::Identity => (Map::Identity, Moments::None),
            Preconditioner::Diagonal => {
                (Map::Diagonal(vec![1.0; dim]), Moments::Diagonal(Variance::new(dim)))
            }
            Preconditioner::Dense => {
                let mut identity = square(dim)?;
                identity.iter_mut().step_by(dim + 1).for_each(|x| *x = 1.0);
                let identity = Cholesky::new("identity", &identity, dim)?;
                (Map::Dense(identity), Moments::Dense(Covariance::new(dim)))
            }
        };
        let adaptation = Some(Adaptation {
            dual: DualAveraging::new(step_size, target_accept.unwrap_or(0.5)),
            adapt_step_size: target_accept.is_some(),
            moments,
            windows: None,
        });
        Ok(Self { step_size, map, adaptation })
    }

    /// The present step size.
    pub fn step_size(&self) -> f64 {
        self.step_size
    }

    /// out = L x.
    pub fn mul(&self, x: &[f64], out: &mut [f64]) {
        match &self.map {
            Map::Identity => out.copy_from_slice(x),
            Map::Diagonal(sd) => {
                for ((out, x), sd) in out.iter_mut().zip(x).zip(sd) {
                    *out = sd * x;
                }
            }
            Map::Dense(factor) => factor.mul_lower(x, out),
        }
    }

    /// out = L^T x.
    pub fn mul_transpose(&self, x: &[f64], out: &mut [f64]) {
        match &self.map {
            Map::Dense(factor) => factor.mul_lower_transpose(x, out),
            _ => self.mul(x, out),
        }
    }

    /// Learns from one step of the warm-up.
    pub fn adapt(&mut self, step: &Step, current: &Point, warmup: WarmupProgress) {
        let Some(adaptation) = &mut self.adaptation else { return };
        if adaptation.adapt_step_size {
            adaptation.dual.update(step.accept_prob.unwrap_or(0.0));
            self.step_size = adaptation.dual.step_size();
        }
        let windows = adaptation.windows.get_or_insert_with(|| Windows::new(warmup.total));
        if !windows.contains(warmup.iteration) {
            return;
        }
        match &mut adaptation.moments {
            Moments::None => return,
            Moments::Diagonal(variance) => variance.update(current.q()),
            Moments::Dense(covariance) => covariance.update(current.q()),
        }
        if windows.ends_after(warmup.iteration) && self.map.learn(&mut adaptation.moments) {
            // In the new coordinates a step of the same length means something else: the target is
            // about a standard normal there.
            let dim = current.q().len() as f64;
            if adaptation.adapt_step_size {
                adaptation.dual.restart(1.0 / dim.sqrt());
                self.step_size = adaptation.dual.step_size();
            }
        }
    }

    /// Ends the adaptation.
    pub fn freeze(&mut self) {
        if let Some(adaptation) = self.adaptation.take()
            && adaptation.adapt_step_size
            && adaptation.windows.is_some()
        {
            self.step_size = adaptation.dual.averaged();
        }
    }
}

/// A matrix of zeros, or an error if a dense preconditioner does not fit into memory.
fn square(dim: usize) -> Result<Vec<f64>, Error> {
    let mut matrix = Vec::new();
    // The factor, the running covariance, and a copy of either while a window ends.
    let fits = dim.checked_mul(dim).and_then(|n| n.checked_mul(4)).is_some_and(|n| {
        let fits = matrix.try_reserve_exact(n).is_ok();
        matrix.shrink_to_fit();
        fits
    });
    if !fits {
        let gib = 4.0 * 8.0 * (dim as f64).powi(2) / (1u64 << 30) as f64;
        let allowed = format!(
            "Diagonal or Identity: with {dim} parameters, Dense needs {gib:.0} GiB per chain"
        );
        return Err(Error::argument("preconditioner", "Dense", allowed));
    }
    matrix.resize(dim * dim, 0.0);
    Ok(matrix)
}

impl Map {
    /// Takes up the moments of one window and resets them. False if they are of no use: a chain
    /// that did not move, or a matrix that is not positive definite.
    fn learn(&mut self, moments: &mut Moments) -> bool {
        const PSEUDO_COUNT: f64 = 5.0;
        const PRIOR_VARIANCE: f64 = 1e-3;
        let weights =
            |n: f64| (n / (n + PSEUDO_COUNT), PRIOR_VARIANCE * PSEUDO_COUNT / (n + PSEUDO_COUNT));
        match (self, moments) {
            (Map::Diagonal(sd), Moments::Diagonal(variance)) => {
                let (data, prior) = weights(variance.count());
                let mut learnt = vec![0.0; sd.len()];
                variance.variance(&mut learnt);
                variance.reset();
                let moved = learnt.iter().all(|v| v.is_finite() && *v > 0.0);
                if moved {
                    for (sd, v) in sd.iter_mut().zip(learnt) {
                        *sd = (data * v + prior).sqrt();
                    }
                }
                moved
            }
            (Map::Dense(factor), Moments::Dense(covariance)) => {
                let (data, prior) = weights(covariance.count());
                let dim = covariance.mean().len();
                let mut learnt = vec![0.0; dim * dim];
                covariance.covariance(&mut learnt);
                covariance.reset();
                let moved = learnt.iter().step_by(dim + 1).all(|v| v.is_finite() && *v > 0.0);
                learnt.iter_mut().for_each(|c| *c *= data);
                learnt.iter_mut().step_by(dim + 1).for_each(|v| *v += prior);
                match Cholesky::new("covariance", &learnt, dim) {
                    Ok(new) if moved => {
                        *factor = new;
                        true
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }
}
