//! The pairs that emulators learn from: a position, and the target's log likelihood and gradient
//! there.

use ndarray::{Array1, Array2, Axis};
use rand::seq::SliceRandom;

use crate::Error;
use crate::draws::Draws;
use crate::rng::ChainRng;
use crate::surrogate::positions;
use crate::targets::PowerGradTarget;

/// Positions, centred and scaled, with log likelihoods and their gradients.
pub(super) struct Pairs {
    pub scaling: Scaling,
    /// z `[pair, coordinate]`.
    pub z: Array2<f64>,
    /// ell.
    pub log_likelihood: Array1<f64>,
    /// d ell / d z `[pair, coordinate]`.
    pub gradients: Array2<f64>,
    /// Whether a pair is held out.
    pub held_out: Vec<bool>,
}

/// z = (q - mean) / sd.
#[derive(Clone, Debug)]
pub(super) struct Scaling {
    pub mean: Vec<f64>,
    pub sd: Vec<f64>,
    /// The largest |z|^2 of the pairs.
    reach: f64,
}

impl Scaling {
    /// Writes z.
    pub fn apply(&self, q: &[f64], z: &mut [f64]) {
        for (i, z) in z.iter_mut().enumerate() {
            *z = (q[i] - self.mean[i]) / self.sd[i];
        }
    }

    /// |z|^2.
    fn square(&self, q: &[f64]) -> f64 {
        let z = q.iter().zip(&self.mean).zip(&self.sd).map(|((q, mean), sd)| (q - mean) / sd);
        z.map(|z| z * z).sum()
    }

    /// Whether q is farther from the mean of the pairs than any of them.
    pub fn is_outside(&self, q: &[f64]) -> bool {
        self.square(q) > self.reach //~ emulator-reach
    }
}

/// The names in errors for the number of pairs and for the draws that they are made of.
pub(super) const LEARNING: [&str; 2] = ["pairs", "draws to learn from"];

impl Pairs {
    /// Evaluates `target` at `pairs` of the draws, of which the share `held_out` is set apart.
    ///
    /// Errors: draws of another target, too few of them, a value that is not finite, values or
    /// coordinates that are all the same.
    pub fn of<T: PowerGradTarget>(
        target: &T,
        draws: &Draws,
        pairs: usize,
        held_out: f64,
        rng: &mut ChainRng,
    ) -> Result<Self, Error> {
        if !(0.05..=0.5).contains(&held_out) {
            return Err(Error::argument("held_out", held_out, "from 0.05 to 0.5"));
        }
        let mut z = positions(target, draws, pairs, LEARNING)?;
        let mut gradients = Array2::zeros(z.dim());
        let (mut ws, mut of_prior) = (target.workspace(), vec![0.0; target.dim()]);
        let mut log_likelihood = Array1::zeros(pairs);
        for (i, q) in z.rows().into_iter().enumerate() {
            let q = q.to_slice().expect("rows are contiguous");
            let mut row = gradients.row_mut(i);
            let grad = row.as_slice_mut().expect("rows are contiguous");
            let value = target.log_density_grad(q, grad, &mut ws);
            target.log_prior_grad(q, &mut of_prior, &mut ws);
            grad.iter_mut().zip(&of_prior).for_each(|(grad, prior)| *grad -= prior);
            log_likelihood[i] = value.likelihood;
            if !value.is_finite() || grad.iter().any(|g| !g.is_finite()) {
                let found = format!("{} at pair {i}", value.likelihood);
                let allowed = "finite, with its gradient, at every draw to learn from";
                return Err(Error::argument("log likelihood", found, allowed));
            }
        }
        if log_likelihood.iter().all(|ell| *ell == log_likelihood[0]) {
            let found = format!("{} at all {pairs} pairs", log_likelihood[0]);
            let allowed = "different at different draws: did the chain move?";
            return Err(Error::argument("log likelihood", found, allowed));
        }
        let mean = z.mean_axis(Axis(0)).map_or_else(Vec::new, |mean| mean.to_vec());
        let mut sd = z.std_axis(Axis(0), 1.0).to_vec();
        // A coordinate in which the draws do not differ is not scaled.
        sd.iter_mut().filter(|sd| **sd <= 0.0).for_each(|sd| *sd = 1.0);
        let mut scaling = Scaling { mean, sd, reach: 0.0 };
        for (mut z, mut gradient) in z.rows_mut().into_iter().zip(gradients.rows_mut()) {
            let q = z.to_vec();
            scaling.apply(&q, z.as_slice_mut().expect("rows are contiguous"));
            scaling.reach = scaling.square(&q).max(scaling.reach);
            gradient.iter_mut().zip(&scaling.sd).for_each(|(g, sd)| *g *= sd);
        }
        // Neighbours on a chain are alike: blocks of them are held out, and equal ones stay together.
        let blocks = pairs.min(40) / 2;
        let n_held_out = ((blocks as f64 * held_out).round() as usize).clamp(1, blocks - 1);
        let mut of_block: Vec<bool> = (0..blocks).map(|i| i < n_held_out).collect();
        of_block.shuffle(rng);
        let mut held_out: Vec<bool> = (0..pairs).map(|i| of_block[i * blocks / pairs]).collect();
        for i in 1..pairs {
            if z.row(i) == z.row(i - 1) {
                held_out[i] = held_out[i - 1];
            }
        }
        if held_out.windows(2).all(|pair| pair[0] == pair[1]) {
            let found = "that hardly ever move";
            return Err(Error::argument("draws to learn from", found, "some different positions"));
        }
        Ok(Self { scaling, z, log_likelihood, gradients, held_out })
    }

    /// The numbers of the pairs that are held out, or not.
    pub fn rows(&self, held_out: bool) -> Vec<usize> {
        (0..self.held_out.len()).filter(|i| self.held_out[*i] == held_out).collect()
    }
}
