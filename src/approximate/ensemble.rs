//! Modes as draws: one is MAP, several are a deep ensemble.

use std::time::Instant;

use super::Origin;
use crate::draws::Draws;
use crate::optimise::Fit;
use crate::targets::Target;
use crate::{Error, memory};

/// The points where ascents on `target` ended, as draws `[member, 1, parameter]`.
///
/// One is the maximum a posteriori (MAP), or the maximum-likelihood fit where the ascent was on
/// [`Posterior::log_likelihood`](crate::targets::Posterior::log_likelihood): one network, whose
/// predictions know nothing of the uncertainty of its weights. Several, from dispersed starts, are a deep
/// ensemble: the spread of its members is a measure of what is not known, in practice a good one, but
/// with no density behind it that more members would converge to. Members are chains of one draw each, so that
/// [`Stacking`](crate::predict::Stacking) weighs them by held-out rows and [`Draws::mixture`] takes the weights.
///
/// Dispersed starts, minibatches, early stopping and members in parallel are those of an
/// [`Optimiser`](crate::optimise::Optimiser). Source: Lakshminarayanan, Pritzel and Blundell, NeurIPS
/// 2017, arXiv:1612.01474.
///
/// ```
/// use bnn_mcmc::approximate::ensemble;
/// use bnn_mcmc::diagnostics::Outcome;
/// use bnn_mcmc::prelude::*;
/// # #[cfg(feature = "datasets")] {
/// let (train, test) = bnn_mcmc::data::bundled::iris().stratified_split(0.3, 1)?;
/// let network = Mlp::new(&[4, 8, 3], Activation::Tanh)?;
/// let posterior = Posterior::new(network, Categorical, &train, Priors::all(Normal::new(0.0, 1.0)?))?;
/// let adam = Adam { learning_rate: 0.05, steps: 300, ..Adam::default() };
/// let fits = Optimiser::new(&posterior, adam).seed(1).run_each(&Init::Random, 5)?;
///
/// let map = ensemble(&posterior, &fits[..1])?;
/// let members = ensemble(&posterior, &fits)?;
/// assert_eq!(members.values().dim(), (5, 1, 67));
/// let predictions = posterior.predict(&members, &test)?;
/// assert!(predictions.accuracy()? > 0.9);
/// assert!(matches!(predictions.verdict()?.outcome, Outcome::Approximation { .. }));
/// # }
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// No fits, or points that are not as long as q or not finite.
pub fn ensemble<T: Target>(target: &T, fits: &[Fit]) -> Result<Draws, Error> {
    let method = match fits.len() {
        0 => return Err(Error::argument("number of fits", 0, "at least 1")),
        1 => "the mode that an ascent found (MAP)".to_string(),
        n => format!("a deep ensemble of {n} members"),
    };
    let (dim, members) = (target.dim(), fits.len());
    let size = [(members, "members"), (dim, "parameters")];
    memory::check::<f64>("draws of an ensemble", &size, "take fewer members")?;
    let mut values = Vec::with_capacity(members * dim);
    for (member, fit) in fits.iter().enumerate() {
        if fit.q.len() != dim {
            return Err(Error::shape(format!("length of q of member {member}"), fit.q.len(), dim));
        }
        if let Some(i) = fit.q.iter().position(|q| !q.is_finite()) {
            let what = format!("coordinate {i} of member {member}");
            return Err(Error::argument(what, fit.q[i], "finite"));
        }
        values.extend_from_slice(&fit.q);
    }
    Origin::new(target, method, Instant::now()).draws_of(0, (members, 1), values)
}
