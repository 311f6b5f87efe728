//! The prior precision by evidence.

use std::ops::RangeInclusive;

use super::LaplaceApproximation;
use crate::Error;
use crate::error::ordinary_sd;
use crate::portable::{exp, ln};

/// Fits over the whole interval, before the search within two of its steps.
const GRID: usize = 9;
/// The search ends where log sd is known up to this.
const TOLERANCE: f64 = 0.01;
/// 1 / the golden ratio.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The result of [`prior_by_evidence`].
#[derive(Clone, Debug)]
pub struct PriorSearch {
    /// The standard deviation with the largest evidence.
    pub sd: f64,
    /// The approximation with it.
    pub fit: LaplaceApproximation,
    /// All values that were tried, as (standard deviation, log evidence), by ascending standard
    /// deviation.
    pub tried: Vec<(f64, f64)>,
}

/// The standard deviation of a prior, or any other positive scale, by the largest [Laplace
/// evidence](LaplaceApproximation::log_evidence) (empirical Bayes, type II maximum likelihood).
///
/// `fit(sd)` builds the posterior, climbs to a mode and approximates it there. Nine values from
/// `sds`, equidistant in log sd, are tried, and then a golden-section search around the best, until
/// sd is known to one per cent: some twenty fits. The evidence of a network need not have one
/// maximum, and fits that end at different modes make it rough: `tried` shows it. An sd at an end
/// of `sds` says that the interval is too short.
///
/// ```
/// use bnn_mcmc::approximate::{LaplaceApproximation, prior_by_evidence};
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::targets::Curvature;
/// use ndarray::{Array1, Array2};
/// let x = Array2::from_shape_fn((30, 4), |(i, j)| (((1 + i) * (1 + j)) as f64).sin());
/// let noise = |i| 0.3 * (i as f64).cos();
/// let y = Array1::from_shape_fn(30, |i| 2.0 * x[(i, 0)] - x[(i, 1)] + noise(i));
/// let data = Dataset::regression(x, y)?;
///
/// let search = prior_by_evidence(0.01..=100.0, |sd| {
///     let priors = Priors::all(Normal::new(0.0, sd)?);
///     let posterior = Posterior::new(Linear::new(4, 1)?, Gaussian::fixed(0.3)?, &data, priors)?;
///     let mut q = vec![0.0; 5];
///     Adam { learning_rate: 0.1, ..Adam::default() }.maximise(&posterior, &mut q)?;
///     LaplaceApproximation::full(&posterior, &q, Curvature::Observed)
/// })?;
/// assert!((0.5..2.0).contains(&search.sd));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// Source: MacKay, Neural Computation 4, 1992, doi:10.1162/neco.1992.4.3.448.
///
/// # Errors
/// An interval that is empty or not of ordinary positive numbers, and the errors of `fit`.
pub fn prior_by_evidence(
    sds: RangeInclusive<f64>,
    mut fit: impl FnMut(f64) -> Result<LaplaceApproximation, Error>,
) -> Result<PriorSearch, Error> {
    let low = ln(ordinary_sd("smallest sd", *sds.start())?);
    let high = ln(ordinary_sd("largest sd", *sds.end())?);
    if low >= high {
        let allowed = format!("above the smallest, {}", sds.start());
        return Err(Error::argument("largest sd", sds.end(), allowed));
    }
    let (mut tried, mut best) = (Vec::new(), None);
    let mut evidence = |log_sd: f64| -> Result<f64, Error> {
        let sd = exp(log_sd);
        let laplace = fit(sd)?;
        let evidence = laplace.log_evidence()?;
        tried.push((sd, evidence));
        if best.as_ref().is_none_or(|(_, _, most): &(_, _, f64)| most.is_nan() || evidence > *most)
        {
            best = Some((sd, laplace, evidence));
        }
        Ok(evidence)
    };
    let step = (high - low) / (GRID - 1) as f64;
    let (mut top, mut most) = (low, f64::NEG_INFINITY);
    for k in 0..GRID {
        let log_sd = low + step * k as f64;
        let found = evidence(log_sd)?;
        if found > most {
            (top, most) = (log_sd, found);
        }
    }
    let (mut left, mut right) = ((top - step).max(low), (top + step).min(high));
    let mut inner = [right - GOLDEN * (right - left), left + GOLDEN * (right - left)];
    let mut found = [evidence(inner[0])?, evidence(inner[1])?];
    while right - left > TOLERANCE {
        if found[0] > found[1] {
            right = inner[1];
            inner = [right - GOLDEN * (right - left), inner[0]];
            found = [evidence(inner[0])?, found[0]];
        } else {
            left = inner[0];
            inner = [inner[1], left + GOLDEN * (right - left)];
            found = [found[1], evidence(inner[1])?];
        }
    }
    tried.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (sd, fit, _) = best.expect("the first that was tried");
    Ok(PriorSearch { sd, fit, tried })
}
