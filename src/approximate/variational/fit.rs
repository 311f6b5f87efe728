//! Independent normals that were fitted.

use std::time::Instant;

use crate::Error;
use crate::approximate::Origin;
use crate::draws::Draws;
use crate::engine::elementary::exp_in_place;
use crate::optimise::Optimum;
use crate::targets::Target;

/// Independent normals that were fitted to a posterior by [`MeanField`](super::MeanField) or an
/// [`Optimiser`](crate::optimise::Optimiser) on an [`Elbo`](super::Elbo).
#[derive(Clone, Debug)]
pub struct VariationalFit {
    mean: Vec<f64>,
    sd: Vec<f64>,
    elbo: (f64, f64),
    /// The steps that were made, at most as many as configured.
    pub steps: usize,
    /// The number of steps that led to a point where something was not finite, and were taken back.
    /// If there are any, the point is the last that was finite; if there are many, the learning
    /// rate is too large.
    pub taken_back: usize,
    /// The number of steps made, and the mean of the estimates of the bound since the entry before.
    /// The first entry is the start; the others follow each epoch, or each thousandth of the steps
    /// where that is longer, or each evaluation of a score that may stop the ascent.
    pub history: Vec<(usize, f64)>,
    origin: Origin,
}

impl VariationalFit {
    pub(super) fn new<T: Target>(base: &T, fit: &Optimum, elbo: (f64, f64)) -> Self {
        let (mean, log_sd) = fit.q.split_at(fit.q.len() / 2);
        let mut sd = log_sd.to_vec();
        exp_in_place(&mut sd);
        let method = "mean-field variational inference";
        let origin = Origin::new(base, method, Instant::now());
        Self {
            mean: mean.to_vec(),
            sd,
            elbo,
            steps: fit.steps,
            taken_back: fit.taken_back,
            history: fit.history.iter().map(|e| (e.step, e.estimate)).collect(),
            origin: origin.with_problems(std::slice::from_ref(fit)),
        }
    }

    /// With the time that the fit took.
    pub(super) fn began(mut self, began: Instant) -> Self {
        self.origin.seconds = began.elapsed().as_secs_f64();
        self
    }

    /// The mean of every coordinate of q.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The standard deviation of every coordinate of q.
    pub fn sd(&self) -> &[f64] {
        &self.sd
    }

    /// An unbiased estimate of the evidence lower bound in nats, from all rows, and its standard
    /// error.
    ///
    /// log p(y) is at least as large: by the KL divergence from the posterior to the normals.
    pub fn elbo(&self) -> (f64, f64) {
        self.elbo
    }

    /// `n` independent draws of q, as one chain.
    ///
    /// # Errors
    /// If `n` is 0, or the draws are larger than the [limit](crate::memory).
    pub fn draws(&self, n: usize, seed: u64) -> Result<Draws, Error> {
        self.origin.draws(n, seed, |rng, q| {
            rng.fill_normal(q);
            for ((q, mean), sd) in q.iter_mut().zip(&self.mean).zip(&self.sd) {
                *q = mean + sd * *q; //~ variational-draw
            }
        })
    }
}
