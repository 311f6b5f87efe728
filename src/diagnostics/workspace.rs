//! The computations that the diagnostics of one quantity share: one sort, one set of ranks, buffers
//! and FFT plans.

use std::sync::Arc;

use super::autocorr::LagProducts;
use super::chains::Chains;
use super::geyer;
use super::ranks::{NormalScores, Sorted};

/// Buffers that are filled by [`Workspace::load`] and reused from quantity to quantity.
pub(super) struct Workspace {
    scores: Option<Arc<NormalScores>>,
    chains: usize,
    half: usize,
    odd: bool,
    whole: Sorted,
    halves: Sorted,
    folded: Sorted,
    normalised: Vec<f64>,
    pub fft: LagProducts,
}

impl Workspace {
    /// For one array; normal scores are computed when they are first needed.
    pub fn for_one() -> Self {
        Self::new(None)
    }

    /// A workspace for arrays of one size, which share `scores`, the normal scores of the split
    /// chains.
    pub fn for_many(scores: Arc<NormalScores>) -> Self {
        Self::new(Some(scores))
    }

    fn new(scores: Option<Arc<NormalScores>>) -> Self {
        Self {
            scores,
            chains: 0,
            half: 0,
            odd: false,
            whole: Sorted::default(),
            halves: Sorted::default(),
            folded: Sorted::default(),
            normalised: Vec::new(),
            fft: LagProducts::default(),
        }
    }

    /// The normal scores for split chains of this size.
    pub fn scores_for(chains: usize, draws: usize) -> Arc<NormalScores> {
        Arc::new(NormalScores::new(2 * chains * (draws / 2)))
    }

    /// Sorts the draws of one quantity, which hold no NaN.
    pub fn load(&mut self, chains: &Chains) {
        self.chains = chains.chains;
        self.half = chains.draws / 2;
        self.odd = chains.draws % 2 == 1;
        self.whole.sort(&chains.values);
        if self.odd {
            self.halves.halves_of(&self.whole, chains.draws);
        }
    }

    /// All draws in ascending order.
    pub fn sorted(&self) -> &Sorted {
        &self.whole
    }

    /// R-hat of the rank-normalised split chains.
    pub fn rhat_rank(&mut self) -> f64 {
        self.rank_normalised().rhat()
    }

    /// R-hat of the rank-normalised distances from the median, split.
    pub fn rhat_folded(&mut self) -> f64 {
        self.folded_normalised().map_or(f64::NAN, |chains| chains.rhat())
    }

    /// The normal scores of the split chains.
    pub fn rank_normalised(&mut self) -> Chains<'_> {
        let scores = self.scores();
        let halves = if self.odd { &self.halves } else { &self.whole };
        halves.rank_normalised(&scores, &mut self.normalised);
        Chains::from_slice(&self.normalised, 2 * self.chains, self.half)
    }

    /// The normal scores of their distances from the median; `None` where all are equal.
    pub fn folded_normalised(&mut self) -> Option<Chains<'_>> {
        let scores = self.scores();
        let halves = if self.odd { &self.halves } else { &self.whole };
        if !self.folded.fold(halves) {
            return None;
        }
        self.folded.rank_normalised(&scores, &mut self.normalised);
        Some(Chains::from_slice(&self.normalised, 2 * self.chains, self.half))
    }

    fn scores(&mut self) -> Arc<NormalScores> {
        let total = 2 * self.chains * self.half;
        self.scores.get_or_insert_with(|| Arc::new(NormalScores::new(total))).clone()
    }

    /// The R-hat and the bulk effective sample size of the rank-normalised split chains.
    pub fn rhat_rank_and_ess_bulk(&mut self) -> (f64, f64) {
        let rhat = self.rhat_rank();
        let normalised = Chains::from_slice(&self.normalised, 2 * self.chains, self.half);
        (rhat, geyer::of_series(&normalised, &mut self.fft))
    }

    /// The smaller effective sample size of the two tail quantiles.
    pub fn ess_tail(&mut self, chains: &Chains, tail: (f64, f64)) -> f64 {
        let low = self.ess_quantile(chains, tail.0);
        let high = self.ess_quantile(chains, tail.1);
        if low.is_nan() || high.is_nan() { f64::NAN } else { low.min(high) }
    }

    /// The effective sample size of 1[x <= quantile at p].
    pub fn ess_quantile(&mut self, chains: &Chains, p: f64) -> f64 {
        let quantile = self.whole.quantile(p);
        if quantile.is_nan() {
            return f64::NAN;
        }
        geyer::of_indicator(chains, |x| x <= quantile, &mut self.fft)
    }
}
