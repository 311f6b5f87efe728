//! The potential scale reduction factor R-hat: do the chains agree with each other?

use ndarray::ArrayView2;

use super::chains::Chains;
use super::workspace::Workspace;

/// The headline R-hat of `[chain, draw]`: the larger of [`rhat_rank`] and [`rhat_folded`].
///
/// Where the folded form alone is NaN, since all draws lie equally far from the median, this is the
/// rank form. Values above 1.01 are a warning (Vehtari et al. 2021).
///
/// For m chains of n draws, with B/n the variance of the chain means (m - 1 in the denominator)
/// and W the mean of the chain variances (n - 1 in the denominator),
///
/// R-hat = sqrt((B/W + n - 1) / n)
///
/// (Gelman and Rubin 1992, doi:10.1214/ss/1177011136). It is near 1 when the chains agree.
///
/// - **split**: each chain is cut into two halves first, an odd middle draw dropped, so that a
///   chain that drifts disagrees with itself (Gelman et al., Bayesian Data Analysis, 3rd ed.).
/// - **rank**: the draws of the split chains are first replaced by normal scores of their average
///   ranks, z = Phi^-1((r - 3/8) / (S + 1/4)), so that heavy tails do no harm (Vehtari et al.
///   2021, doi:10.1214/20-BA1221).
/// - **folded**: the same for |x - median|, which sees chains of equal location that differ in
///   scale.
///
/// Papers that compare MCMC for Bayesian neural networks report split and folded separately:
/// [`rhat_split`], [`rhat_folded`].
///
/// All forms equal arviz-stats 0.8.0 (methods `rank`, `z_scale`, `folded`, `split`, `identity`).
/// In common with ArviZ: NaN for fewer than 2 chains or 4 draws, for any NaN among the draws, and
/// where all draws are equal. **One deviation**: chains that are each constant, but differ, have
/// W = 0 and R-hat = infinity; ArviZ gives some 1e15 to 1e16, its rounding noise in W.
///
/// ```
/// use bnn_mcmc::diagnostics::{rhat, rhat_folded, rhat_split};
/// let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
/// let mut draws = ndarray::Array2::from_shape_simple_fn((4, 500), || rng.normal());
/// assert!(rhat(draws.view()) < 1.01);
/// draws.row_mut(2).mapv_inplace(|x| 3.0 * x); // one chain is three times as wide
/// assert!(rhat_split(draws.view()) < 1.01);
/// assert!(rhat_folded(draws.view()) > 1.1);
/// ```
pub fn rhat(draws: ArrayView2<f64>) -> f64 {
    with_both(draws, 2, rank_or_folded)
}

/// R-hat of the rank-normalised split chains of `[chain, draw]`: agreement in location. See
/// [`rhat()`] for the formula.
pub fn rhat_rank(draws: ArrayView2<f64>) -> f64 {
    with_both(draws, 2, |rank, _| rank)
}

/// R-hat of the rank-normalised distances from the median of `[chain, draw]`, split: agreement in
/// scale. See [`rhat()`] for the formula.
pub fn rhat_folded(draws: ArrayView2<f64>) -> f64 {
    with_both(draws, 2, |_, folded| folded)
}

/// R-hat of the split chains of `[chain, draw]` as they are, without ranks. See [`rhat()`] for the
/// formula.
pub fn rhat_split(draws: ArrayView2<f64>) -> f64 {
    let chains = Chains::new(draws);
    if chains.are_usable(2) { chains.split().rhat() } else { f64::NAN } //~ rhat-split
}

/// R-hat of the chains of `[chain, draw]` as they are, neither split nor ranked: the form of Gelman
/// and Rubin (1992). See [`rhat()`] for the formula.
pub fn rhat_base(draws: ArrayView2<f64>) -> f64 {
    let chains = Chains::new(draws);
    if chains.are_usable(2) { chains.rhat() } else { f64::NAN }
}

/// R-hat between the two halves of a single chain, `[1, draw]`: the larger of rank and folded.
pub(super) fn between_halves(chain: ArrayView2<f64>) -> f64 {
    with_both(chain, 1, rank_or_folded)
}

fn with_both(draws: ArrayView2<f64>, min_chains: usize, choose: impl Fn(f64, f64) -> f64) -> f64 {
    let chains = Chains::new(draws);
    if !chains.are_usable(min_chains) {
        return f64::NAN;
    }
    let mut workspace = Workspace::for_one();
    workspace.load(&chains);
    let rank = workspace.rhat_rank();
    choose(rank, workspace.rhat_folded())
}

/// The larger of the two, where a NaN in `folded` does not count.
pub(super) fn rank_or_folded(rank: f64, folded: f64) -> f64 {
    if folded > rank { folded } else { rank } //~ rhat-folded
}
