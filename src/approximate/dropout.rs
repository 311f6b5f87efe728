//! Monte Carlo dropout: hidden units are left out at random, in training and in prediction.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::Origin;
use super::masked::{Masked, Masks};
use crate::Error;
use crate::data::Dataset;
use crate::draws::Draws;
use crate::gradient::Minibatch;
use crate::likelihood::Likelihood;
use crate::model::{Model, layers};
use crate::optimise::{Ascent, Optimiser, Optimum};
use crate::posterior::Posterior;
use crate::rng::ChainRng;
use crate::run::Init;

/// The part of a seed's streams that masks of the training are drawn from.
const MASKS: u64 = u64::from_le_bytes(*b"dropouts");

/// Masks by which a rate is scored.
const SCORED: usize = 100;

/// Monte Carlo dropout: plain data.
///
/// The network is trained on minibatches, for each of which a random subset of the hidden units is
/// left out; each draw is the network without another random subset. To leave unit j of a hidden
/// layer out is to set the weights that start from j to 0; with p the `rate`, the weights of the
/// units that are kept are divided by 1 - p, so that the next layer gets the same input on average:
///
/// ```text
/// w~_ij = w_ij b_j/(1 - p),   b_j = 0 with probability p, else 1
/// ascent on    E_b[ log p(y | w~) ] + log p(w)
/// ```
///
/// So a draw of the masks gives a vector of weights, and the draws have the form of draws from any
/// posterior. Within a minibatch all rows have the same mask. Inputs, biases and the likelihood's
/// own parameters are not left out. In a model of your own, blocks with two axes are taken to be
/// the weights of its layers, in order.
///
/// The spread of the predictions follows from a rate that is chosen, not learnt: it does not shrink
/// as rows are added, and is as wide where there are data as where there are none. When not to use
/// it: where that spread is to be believed. Cost: one gradient for each step, one network in
/// memory.
///
/// Source: Gal and Ghahramani, ICML 2016, arXiv:1506.02142.
///
/// ```
/// use bnn_mcmc::approximate::Dropout;
/// use bnn_mcmc::prelude::*;
/// # #[cfg(feature = "datasets")] {
/// let (train, test) = bnn_mcmc::data::bundled::iris().stratified_split(0.3, 1)?;
/// let network = Mlp::new(&[4, 20, 3], Activation::Tanh)?;
/// let posterior = Posterior::new(network, Categorical, &train, Priors::all(Normal::new(0.0, 1.0)?))?;
/// let adam = Adam { learning_rate: 0.01, steps: 1000, ..Adam::new(Minibatch { size: 32 }) };
/// let fit = Dropout { rate: 0.2, ..Dropout::new(adam) }.fit(&posterior, &Init::Random, 1)?;
/// let draws = fit.draws(200, 1)?;
/// let scores = posterior.predict(&draws, &test)?.scores()?;
/// assert!(scores.get("accuracy").is_some_and(|score| score.posterior > 0.9));
/// # }
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dropout<A> {
    /// The ascent that trains the network.
    pub ascent: A,
    /// p, the share of hidden units that is left out, from 0 to less than 1.
    pub rate: f64,
}

impl<A> Dropout<A> {
    /// A tenth of the units, left out while this ascent runs.
    pub fn new(ascent: A) -> Self {
        Self { ascent, rate: 0.1 }
    }
}

impl<A: Ascent<Source = Minibatch> + Clone> Dropout<A> {
    /// Trains the network of `posterior` from where `from` starts a chain.
    ///
    /// # Errors
    /// A rate out of range, a model without hidden units; the errors of [`Optimiser::run_each`].
    pub fn fit<M: Model, L: Likelihood>(
        &self,
        posterior: &Posterior<M, L>,
        from: &Init,
        seed: u64,
    ) -> Result<DropoutFit, Error> {
        let began = Instant::now();
        check_rate(self.rate)?;
        let layout = posterior.model().layout();
        let (weights, _) = layers(&layout);
        if weights.len() < 2 {
            let found = posterior.model().description().unwrap_or_else(|| "of your own".into());
            let allowed = "one with hidden units, which can be left out";
            return Err(Error::argument("model", found, allowed));
        }
        let masks = Masks::new(self.rate, weights.into_iter().skip(1));
        let rng = ChainRng::new(seed, 0).child(MASKS);
        let prior = |q: &[f64], grad: &mut [f64]| posterior.prior_grad(q, grad);
        let target = Masked::new(posterior.log_likelihood(), masks.clone(), rng, prior);
        let optimiser = Optimiser::new(&target, self.ascent.clone()).seed(seed);
        let fit = optimiser.run_each(from, 1)?.remove(0);
        let method = format!("Monte Carlo dropout at rate {}", self.rate);
        let origin =
            Origin::new(posterior, method, began).with_problems(std::slice::from_ref(&fit));
        Ok(DropoutFit { rate: self.rate, fit, masks, origin })
    }

    /// Trains one network for each of `rates`, and returns the one whose draws predict the held-out
    /// rows best, by the mean over rows of their log predictive density in nats, with these scores
    /// in the order of `rates`.
    ///
    /// Rows that were used to choose a rate are no longer test rows.
    ///
    /// # Errors
    /// No rates; as [`fit`](Self::fit), and as
    /// [`Posterior::predict`](crate::posterior::Posterior::predict).
    pub fn choose_rate<M: Model, L: Likelihood>(
        &self,
        posterior: &Posterior<M, L>,
        held_out: &Dataset,
        rates: &[f64],
        from: &Init,
        seed: u64,
    ) -> Result<(DropoutFit, Vec<f64>), Error> {
        rates.iter().try_for_each(|rate| check_rate(*rate))?;
        let mut best: Option<(DropoutFit, f64)> = None;
        let mut scores = Vec::with_capacity(rates.len());
        for rate in rates {
            let fit = Self { rate: *rate, ..self.clone() }.fit(posterior, from, seed)?;
            let draws = fit.draws(SCORED, seed)?;
            let scored = posterior.predict(&draws, held_out)?.scores()?;
            let score = scored.get("log_predictive_density").map_or(f64::NAN, |s| s.posterior);
            scores.push(score);
            if best.as_ref().is_none_or(|(_, best)| best.is_nan() || score > *best) {
                best = Some((fit, score));
            }
        }
        let (fit, _) = best.ok_or_else(|| Error::argument("number of rates", 0, "at least 1"))?;
        Ok((fit, scores))
    }
}

fn check_rate(rate: f64) -> Result<(), Error> {
    match (0.0..1.0).contains(&rate) {
        true => Ok(()),
        false => Err(Error::argument("rate of dropout", rate, "from 0 to less than 1")),
    }
}

/// A network that was trained with [`Dropout`].
#[derive(Clone, Debug)]
pub struct DropoutFit {
    /// The rate.
    pub rate: f64,
    /// The end of the training: its `q` are the weights of the whole network.
    pub fit: Optimum,
    masks: Masks,
    origin: Origin,
}

impl DropoutFit {
    /// `n` draws, each the network without a random subset of its hidden units.
    ///
    /// # Errors
    /// No draws, or more than fit into memory.
    pub fn draws(&self, n: usize, seed: u64) -> Result<Draws, Error> {
        let mut factors = vec![1.0; self.fit.q.len()];
        self.origin.draws(n, seed, |rng, q| {
            self.masks.draw(rng, &mut factors);
            q.iter_mut().zip(self.fit.q.iter().zip(&factors)).for_each(|(q, (w, f))| *q = w * f);
        })
    }
}
