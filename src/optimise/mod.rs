//! Optimisers: towards a mode of a log density, to start chains from.
//!
//! A mode does not summarise a posterior, and in many dimensions lies far from where most of its
//! mass is; but from close to one a chain finds the bulk in few steps, where from a draw of a wide
//! prior it may end where the units of a network are saturated and gradients vanish.
//! [`starts`](Ascent::starts) runs one optimisation for each chain, from points as dispersed as you
//! like: what the chains then agree on, they have found from different sides.
//!
//! ```
//! use bnn_mcmc::prelude::*;
//! # #[cfg(feature = "datasets")] {
//! let (train, _) = bnn_mcmc::data::bundled::iris().stratified_split(0.3, 1)?;
//! let network = Mlp::new(&[4, 3, 3], Activation::Tanh)?;
//! let posterior = Posterior::new(network, Categorical, &train, Priors::all(Normal::new(0.0, 5.0)?))?;
//! let starts = Adam { steps: 200, ..Adam::default() }.starts(&posterior, &Init::Random, 4, 1)?;
//! let draws = Sampler::new(&posterior, Nuts::default()).warmup(50).draws(50).init(starts).run()?;
//! assert_eq!(draws.n_chains(), 4);
//! # }
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```
//!
//! With gradients of minibatches, a seed or early stopping, an [`Optimiser`] runs the ascent:
//!
//! ```
//! use bnn_mcmc::prelude::*;
//! # #[cfg(feature = "datasets")] {
//! use bnn_mcmc::data::{Standardise, bundled};
//! let (train, rest) = bundled::iris().stratified_split(0.4, 1)?;
//! let scaler = Standardise::new().fit_features(&train)?;
//! let (train, rest) = (scaler.scale_features(&train)?, scaler.scale_features(&rest)?);
//! let (stopping, test) = rest.stratified_split(0.5, 2)?;
//!
//! let network = Mlp::new(&[4, 10, 3], Activation::Tanh)?;
//! let priors = Priors::all(Normal::new(0.0, 1.0)?);
//! let posterior = Posterior::new(network, Categorical, &train, priors)?;
//!
//! let held_out = posterior.held_out(&stopping)?;
//! let sgd = Sgd { learning_rate: 0.005, steps: 2000, ..Sgd::new(Minibatch { size: 16 }) };
//! let fits = Optimiser::new(&posterior, sgd)
//!     .seed(1)
//!     .early_stopping(EarlyStopping::default(), |q| held_out.score(q))
//!     .run_each(&Init::Around { centre: vec![0.0; posterior.layout().dim()], sd: 0.1 }, 4)?;
//! assert!(fits.iter().all(|fit| fit.history[0].score < -0.9)); // the start: about log 1/3
//! assert!(fits.iter().all(|fit| held_out.score(&fit.q).unwrap() > -0.3));
//!
//! let starts = Init::Points(fits.into_iter().map(|fit| fit.q).collect());
//! let baoab = Baoab { step_size: 0.05, ..Baoab::new(Minibatch { size: 16 }) };
//! let draws = Sampler::new(&posterior, baoab).warmup(200).draws(500).init(starts).run()?;
//! println!("{}", posterior.predict(&draws, &test)?.scores()?);
//! # }
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```
//!
//! # What all have in common
//!
//! With r the `learning_rate`, step t of `steps` has the rate
//!
//! ```text
//! r_t = c r/2 (1 + cos(pi t/steps)),   c = 1 at the start
//! ```
//!
//! unless [`Optimiser::schedule`] is given another [`Schedule`].
//!
//! **Going back.** A step to where the position, the (estimated) log density or the gradient is not
//! finite is taken back, to the best point so far if gradients are full, to the last point
//! otherwise; the memory of earlier gradients is forgotten, and c halved.
//!
//! **The point that is returned** is the best by the held-out score, if there is one. Otherwise the
//! one with the highest log density if gradients are full, and the last one if they are estimates:
//! the point that looks best on its own batch need not be a good one. The noise of the last point
//! is small since r_t falls to 0.
//!
//! **Early stopping** ([`EarlyStopping`]) watches the score of held-out rows,
//! [`HeldOut::score`](crate::predict::HeldOut::score) or one of your own. The cosine schedule spans
//! all `steps`, whether they are all made or not. Rows that were used to stop are no longer test
//! rows. As the start of chains that sample the posterior it saves time; as a fit by itself it is
//! the usual guard against overfitting of
//! [`Posterior::log_likelihood`](crate::posterior::Posterior::log_likelihood), which has no prior.
//!
//! **Reproducibility.** Minibatches of chain c come from a stream of (seed, c) that no sampler
//! reads: results do not depend on the number of threads.
//!
//! **Full gradients or minibatches?** The bundled digits (1,078 training rows, standardised; MLP
//! 64-30-10 tanh, N(0, 1) priors, 2,260 weights; from N(0, 0.1^2), one seed, 100 passes over the
//! data): passes until the held-out score, evaluated once a pass, reached a level. Equal
//! probabilities score -2.3; the best of any run was -0.09. A pass took 0.5 ms with full gradients
//! and 1.3 ms in batches of 32, the score included.
//!
//! | | r | passes to -0.5 | to -0.3 | to -0.2 | best score, at pass |
//! | --- | --- | --- | --- | --- | --- |
//! | Adam, full | 0.02 | 11 | 16 | 24 | -0.13, 100 |
//! | Adam, full | 0.05 | 5 | 8 | 14 | -0.13, 59 |
//! | Adam, batches of 32 | 0.005 | 2 | 3 | 5 | -0.10, 38 |
//! | Adam, batches of 32 | 0.02 | 1 | 1 | 2 | -0.09, 17 |
//! | SGD, full | 1e-4 | 17 | 26 | 43 | -0.17, 100 |
//! | SGD, full | 3e-4 | 9 | 14 | 27 | -0.16, 100 |
//! | SGD, batches of 32 | 3e-5 | 2 | 2 | 4 | -0.11, 86 |
//! | SGD, batches of 32 | 1e-4 | 1 | 1 | 2 | -0.11, 38 |
//! | SGD, batches of 32 | 1e-3 | 37 | 50 | 54 | -0.10, 68 |
//!
//! In the last row the rate is too large until the cosine has brought it down.
//!
//! An update of your own is an [`Ascent`].

mod adam;
mod run;
mod sgd;

pub use adam::Adam;
pub(crate) use adam::Moments;
pub use run::{EarlyStopping, Evaluation, Optimiser, Optimum, Schedule};
pub(crate) use run::{Walk, furthest_fall};
pub use sgd::Sgd;

use crate::Error;
use crate::gradient::{FullGrad, GradSource};
use crate::run::Init;
use crate::targets::{GradTarget, LogDensity, Target};

/// An update rule with its settings: plain data. The loop around it is in [`Optimiser`].
pub trait Ascent: Sync {
    /// The source of the gradients: a [`GradSource`].
    type Source;
    /// The memory of earlier gradients.
    type State;

    /// The source of the gradients.
    fn gradient(&self) -> &Self::Source;

    /// The number of steps; checked by the loop to be at least 1.
    fn steps(&self) -> usize;

    /// r, the rate at the start; checked by the loop to be above 0.
    fn learning_rate(&self) -> f64;

    /// Checks the other settings; errors name them.
    fn check(&self) -> Result<(), Error>;

    /// The state before the first step, for `dim` coordinates.
    fn state(&self, dim: usize) -> Self::State;

    /// Moves `q` at rate r_t, given the gradient there (or its estimate).
    fn step(&self, rate: f64, grad: &[f64], q: &mut [f64], state: &mut Self::State);

    /// Moves `q` to the best point on the way from `q` on, and returns the log density there.
    ///
    /// For full gradients; with others, a seed or early stopping see [`Optimiser`].
    ///
    /// Errors: an argument out of range, `q` of the wrong length or of a log density or gradient
    /// that is not finite.
    fn maximise<T: GradTarget>(&self, target: &T, q: &mut [f64]) -> Result<LogDensity, Error>
    where
        Self: Ascent<Source = FullGrad> + Clone,
    {
        let fit = Optimiser::new(target, self.clone()).run(q)?;
        q.copy_from_slice(&fit.q);
        Ok(fit.log_density)
    }

    /// One point for each of `chains` chains: the ascent from where `from` starts them.
    ///
    /// Errors: the errors of [`Optimiser::run_each`].
    fn starts<T: Target>(
        &self,
        target: &T,
        from: &Init,
        chains: usize,
        seed: u64,
    ) -> Result<Init, Error>
    where
        Self: Clone,
        Self::Source: GradSource<T>,
    {
        Optimiser::new(target, self.clone()).seed(seed).starts(from, chains)
    }
}
