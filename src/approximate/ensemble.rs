//! Modes as draws: one is MAP, several are a deep ensemble.

use std::time::Instant;

use super::Origin;
use crate::draws::Draws;
use crate::optimise::Optimum;
use crate::targets::Target;
use crate::{Error, memory};

/// The points where ascents on `target` ended, each `repeated` times, as draws
/// `[member, repeated, parameter]`.
///
/// A single fit is the maximum a posteriori (MAP), or the maximum-likelihood fit where the ascent
/// was on [`Posterior::log_likelihood`](crate::posterior::Posterior::log_likelihood): one network,
/// whose predictions ignore the uncertainty of its weights. Several fits, from dispersed starts,
/// are a deep ensemble. The spread of its members is a heuristic measure of uncertainty: more
/// members do not bring it closer to the posterior's. The fits must be of `target`, which is not
/// checked.
///
/// A member is a chain: [`Stacking`](crate::predict::Stacking) weighs chains by held-out rows, and
/// [`Draws::mixture`] takes the weights. All its draws are equal. Mean predictions and densities
/// need no more than one, but intervals of new observations are quantiles of one observation for
/// each draw: repeat members until there are some hundreds.
///
/// Under a hierarchical prior whose scale may become 0
/// ([`LogHalfCauchy`](crate::prior::LogHalfCauchy)) there is no mode: the log density grows without
/// limit as weights and scale go to 0 together.
///
/// An [`Optimiser`](crate::optimise::Optimiser) provides dispersed starts, minibatches, early
/// stopping and members in parallel. Source: Lakshminarayanan, Pritzel and Blundell, NeurIPS 2017,
/// arXiv:1612.01474.
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
/// let map = ensemble(&posterior, &fits[..1], 500)?;
/// let members = ensemble(&posterior, &fits, 20)?;
/// assert_eq!(members.values().dim(), (5, 20, 67));
/// let predictions = posterior.predict(&members, &test)?;
/// assert!(predictions.scores()?.get("accuracy").is_some_and(|score| score.posterior > 0.9));
/// assert!(matches!(predictions.verdict()?.outcome, Outcome::Approximation { .. }));
/// # }
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// No fits or repetitions, points that are not as long as q or not finite, more draws than fit into
/// memory.
pub fn ensemble<T: Target>(target: &T, fits: &[Optimum], repeated: usize) -> Result<Draws, Error> {
    if repeated == 0 {
        return Err(Error::argument("repeated", 0, "at least 1"));
    }
    let method = match fits.len() {
        0 => return Err(Error::argument("number of fits", 0, "at least 1")),
        1 => "the mode that an ascent found".to_string(),
        n => format!("a deep ensemble of {n} members"),
    };
    let (dim, members) = (target.dim(), fits.len());
    let size = [(members, "members"), (repeated, "repetitions"), (dim, "parameters")];
    memory::check::<f64>("draws of an ensemble", &size, "take fewer repetitions")?;
    let mut values = Vec::with_capacity(members * repeated * dim);
    for (member, fit) in fits.iter().enumerate() {
        if fit.q.len() != dim {
            return Err(Error::shape(format!("length of q of member {member}"), fit.q.len(), dim));
        }
        if let Some(i) = fit.q.iter().position(|q| !q.is_finite()) {
            let what = format!("coordinate {i} of member {member}");
            return Err(Error::argument(what, fit.q[i], "finite"));
        }
        (0..repeated).for_each(|_| values.extend_from_slice(&fit.q));
    }
    let origin = Origin::new(target, method, Instant::now()).with_problems(fits);
    origin.draws_of(0, (members, repeated), values)
}
