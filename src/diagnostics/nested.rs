//! Nested R-hat: do groups of short chains agree, each group started from one point?

use ndarray::ArrayView3;

use super::chains::Chains;
use super::rhat::rank_or_folded;
use super::workspace::Workspace;

/// Nested R-hat of `[superchain, chain, draw]`, rank-normalised: for many short chains, in groups that
/// share a starting point (superchains), such as the members of an ensemble with a few chains each.
///
/// With t_k the mean of superchain k of K, t_mk the mean of its chain m of M, and s^2_mk the
/// variance of that chain's draws (each variance with its number less 1 in the denominator):
///
/// - B = variance of t_1 .. t_K,
/// - W = mean over k of (variance of t_1k .. t_Mk, 0 if M = 1, + mean over m of s^2_mk),
/// - nested R-hat = sqrt(1 + B / W).
///
/// Chains that have forgotten where they started give 1 + 1 / (2 M n) for n independent draws in
/// each, so that many chains make up for few draws, where [R-hat](super::rhat()) wants long ones.
/// The chains are split in halves and replaced by normal scores as for R-hat, and the larger of the
/// forms of location and of scale (folded) is returned. Source: Margossian and others, Bayesian
/// Analysis 2024, doi:10.1214/24-BA1453. Equal to arviz-stats 1.3 (`rhat_nested`, method `rank`).
///
/// NaN for fewer than 2 superchains or 4 draws, without chains, for any NaN among the draws, and
/// where all are equal.
///
/// ```
/// use bnn_mcmc::diagnostics::rhat_nested;
/// let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
/// // Four members with 16 chains of 10 draws each, of which one has not forgotten its start.
/// let mut draws = ndarray::Array3::from_shape_simple_fn((4, 16, 10), || rng.normal());
/// assert!(rhat_nested(draws.view()) < 1.01);
/// draws.index_axis_mut(ndarray::Axis(0), 2).mapv_inplace(|x| x + 2.0);
/// assert!(rhat_nested(draws.view()) > 1.1);
/// ```
pub fn rhat_nested(draws: ArrayView3<f64>) -> f64 {
    let (superchains, each, n) = draws.dim();
    let values = draws.as_standard_layout();
    let Some(values) = values.as_slice() else { return f64::NAN };
    let chains = Chains::from_slice(values, superchains * each, n);
    if superchains < 2 || !chains.are_usable(2) {
        return f64::NAN;
    }
    let mut workspace = Workspace::for_one();
    workspace.load(&chains);
    // Each chain is two halves now, side by side.
    let rank = workspace.rank_normalised().rhat_nested(2 * each);
    let folded = workspace.folded_normalised();
    rank_or_folded(rank, folded.map_or(f64::NAN, |chains| chains.rhat_nested(2 * each)))
}
