//! Whether chains have arrived: their log likelihoods compared.

use ndarray::{ArrayView1, ArrayView2, Axis, s};

use super::Cause;
use crate::diagnostics::ess_mean;

/// The distance between the mean log likelihoods of two chains, in standard deviations of a chain,
/// from which on a [`Verdict`](super::Verdict) says that the chains have not arrived.
///
/// Within one mode with d directions that the data tell about, the log likelihood of draws is its largest value
/// less half a chi-squared variable of d degrees of freedom: its standard deviation is sqrt(d/2). From four
/// standard deviations on the bands of two standard deviations around the chains' means no longer overlap.
/// A mode that is lower by so much has next to no mass, unless it is wider by as many powers of e.
pub const LEVELS_APART: f64 = 4.0;
/// The difference between the mean log likelihoods of a chain's second and first half, in standard
/// deviations of the draws within the halves, from which on the chain counts as rising. The
/// difference is three and a half where the log likelihood rises along a line, without noise.
/// Stationary chains do so by chance if they hold a few effective draws, but seldom more than half
/// of the chains.
pub const RISING: f64 = 1.5;
/// The Monte Carlo errors by which levels differ at least, so that few effective draws are not taken for
/// different levels.
const LEVEL_ERRORS: f64 = 5.0;

/// The cause of disagreement if chains have not arrived, by their log likelihoods `[chain, draw]`: the levels of
/// two chains are far apart, or more than half of the chains still rise.
pub(super) fn not_arrived(log_likelihood: ArrayView2<f64>) -> Option<Cause> {
    if log_likelihood.len_of(Axis(1)) < 4 {
        return None;
    }
    let levels: Vec<Level> = log_likelihood.rows().into_iter().map(Level::of).collect();
    let halves = log_likelihood.len_of(Axis(1)) / 2;
    let is_rising = |chain: ArrayView1<f64>| {
        let [first, second] = [chain.slice(s![..halves]), chain.slice(s![halves..])].map(Level::of);
        //~ log-likelihood-rise
        second.mean - first.mean > RISING * ((first.sd.powi(2) + second.sd.powi(2)) / 2.0).sqrt()
    };
    let rising = log_likelihood.rows().into_iter().filter(|chain| is_rising(*chain)).count();
    let lowest = levels.iter().min_by(|a, b| a.mean.total_cmp(&b.mean))?;
    let highest = levels.iter().max_by(|a, b| a.mean.total_cmp(&b.mean))?;
    let gap = highest.mean - lowest.mean;
    // The sd of most chains: one that drifts has a large one, and one that hardly moves a small one.
    let mut sds: Vec<f64> = levels.iter().map(|level| level.sd).collect();
    sds.sort_unstable_by(f64::total_cmp);
    let sd = sds[sds.len() / 2];
    let is_apart =
        //~ levels-apart
        gap > LEVELS_APART * sd && gap > LEVEL_ERRORS * highest.error.hypot(lowest.error);
    let rises = 2 * rising > levels.len();
    (is_apart || rises).then_some(Cause::NotArrived {
        lowest: lowest.mean,
        highest: highest.mean,
        sd,
        rising: rises,
    })
}

/// The level of one chain's log likelihood.
struct Level {
    mean: f64,
    sd: f64,
    /// The Monte Carlo error of the mean.
    error: f64,
}

impl Level {
    fn of(chain: ArrayView1<f64>) -> Self {
        let (mean, sd) = (chain.mean().unwrap_or(f64::NAN), chain.std(1.0));
        let ess = ess_mean(chain.insert_axis(Axis(0)));
        // A constant has no error.
        let error = if sd == 0.0 { 0.0 } else { sd / ess.max(1.0).sqrt() };
        Self { mean, sd, error }
    }
}
