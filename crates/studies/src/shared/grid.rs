//! What the studies on 25 modes have in common: the target.

use bnn_mcmc::prelude::*;

/// An equal mixture of 25 normals on a square grid about the origin, 5 by 5.
pub struct Grid {
    /// The distance between neighbouring means.
    pub spacing: f64,
    /// The standard deviation of each normal, in both coordinates.
    pub sd: f64,
}

impl Grid {
    const SIDE: usize = 5;
    pub const MODES: usize = Self::SIDE * Self::SIDE;

    pub fn mean(&self, mode: usize) -> [f64; 2] {
        let at = |i: usize| self.spacing * (i as f64 - (Self::SIDE / 2) as f64);
        [at(mode / Self::SIDE), at(mode % Self::SIDE)]
    }

    /// Squared distances to the means, in standard deviations.
    fn distances(&self, q: &[f64]) -> [f64; Self::MODES] {
        std::array::from_fn(|mode| {
            let [x, y] = self.mean(mode);
            ((q[0] - x).powi(2) + (q[1] - y).powi(2)) / (self.sd * self.sd)
        })
    }

    /// The nearest mode, and the squared distance to its mean in standard deviations.
    pub fn nearest(&self, q: &[f64]) -> (usize, f64) {
        let distances = self.distances(q);
        let first = (0, distances[0]);
        let nearer = |a: (usize, f64), b: (usize, f64)| if b.1 < a.1 { b } else { a };
        distances.into_iter().enumerate().fold(first, nearer)
    }

    /// log sum exp(-distance / 2), and each mode's share of the sum.
    fn shares(&self, q: &[f64]) -> (f64, [f64; Self::MODES]) {
        let distances = self.distances(q);
        // Without it, all terms would be 0 far from the grid, and the log density -inf.
        let nearest = distances.iter().copied().fold(f64::INFINITY, f64::min);
        let mut shares = distances.map(|d| (-0.5 * (d - nearest)).exp());
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|s| *s /= sum);
        (sum.ln() - 0.5 * nearest, shares)
    }
}

impl Target for Grid {
    type Workspace = ();
    fn dim(&self) -> usize {
        2
    }
    fn workspace(&self) {}

    /// Normalised: the evidence is 1.
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        let constant = (Self::MODES as f64 * std::f64::consts::TAU * self.sd * self.sd).ln();
        LogDensity::from(self.shares(q).0 - constant)
    }
}

impl GradTarget for Grid {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        let (_, shares) = self.shares(q);
        grad.fill(0.0);
        for (mode, share) in shares.iter().enumerate() {
            for (g, (q, mean)) in grad.iter_mut().zip(q.iter().zip(self.mean(mode))) {
                *g -= share * (q - mean) / (self.sd * self.sd);
            }
        }
        self.log_density(q, ws)
    }
}
