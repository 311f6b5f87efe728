//! What simulation-based calibration found.

use std::fmt;

use ndarray::{Array2, ArrayView2};

use super::ranks::{self, Reference};
use super::simulated::Ranked;

/// The ranks of all simulations, and whether they are uniform.
#[derive(Clone, Debug)]
pub struct SbcReport {
    names: Vec<String>,
    /// `[simulation, quantity]`.
    ranks: Array2<u32>,
    p_values: Vec<f64>,
    /// The effective draws of each quantity, in the simulation that nine of ten exceed.
    ess: Vec<f64>,
    reference: Reference,
}

impl SbcReport {
    pub(super) fn new(
        names: Vec<String>,
        simulations: impl Iterator<Item = Ranked>,
        reference: Reference,
    ) -> Self {
        let mut ranks = Array2::zeros((reference.simulations, names.len()));
        let mut ess = vec![Vec::new(); names.len()];
        for (mut row, ranked) in ranks.rows_mut().into_iter().zip(simulations) {
            row.iter_mut().zip(&ranked.ranks).for_each(|(to, rank)| *to = *rank);
            ess.iter_mut().zip(&ranked.ess).for_each(|(all, ess)| all.push(*ess));
        }
        let low = |mut all: Vec<f64>| {
            all.sort_unstable_by(f64::total_cmp);
            all[all.len() / 10]
        };
        let ess = ess.into_iter().map(low).collect();
        let p_values = ranks.columns().into_iter();
        let p_values = p_values.map(|of| reference.p_value(of.iter().copied())).collect();
        Self { names, ranks, p_values, ess, reference }
    }

    /// Whether no quantity's ranks give reason to doubt, and chains are long enough for that to mean something: in nine of
    /// ten simulations each quantity has at least half as many effective draws as it is ranked among. Ranks among fewer
    /// are more often extreme, whatever the sampler does.
    pub fn passes(&self) -> bool {
        self.is_tested() && self.p_values.iter().all(|p| *p > self.reference.alpha)
    }

    fn is_tested(&self) -> bool {
        self.least_ess() >= 0.5 * self.reference.draws as f64
    }

    /// The names of the quantities.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The ranks of the true values, `[simulation, quantity]`, 0 to the number of draws.
    pub fn ranks(&self) -> ArrayView2<'_, u32> {
        self.ranks.view()
    }

    /// For each quantity the chance that uniform ranks are as far from uniform. A quantity fails where it is not above
    /// [`alpha`](Self::alpha).
    pub fn p_values(&self) -> &[f64] {
        &self.p_values
    }

    /// A quantity's chance of a false alarm: the chance for all, over their number.
    pub fn alpha(&self) -> f64 {
        self.reference.alpha
    }

    /// The band for a figure of the ranks' empirical distribution function: `[u, low, high]` for u = k / (L + 1), k = 1 .. L. The share of ranks below k
    /// is between low and high at every k at once, with probability 1 - [`alpha`](Self::alpha) under a right sampler.
    pub fn band(&self) -> Vec<[f64; 3]> {
        self.reference.band()
    }

    /// The effective draws that nine of ten simulations have, of the quantity with the fewest.
    pub fn least_ess(&self) -> f64 {
        self.ess.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// What this number of simulations finds with probability 0.99: the least displacement of a posterior in its standard deviations, and
    /// the least factor above 1 and the largest below 1 by which its standard deviation is wrong. `None` stands for more than 5, or less than 1/5. Of normal posteriors, by simulation.
    pub fn detects(&self) -> [Option<f64>; 3] {
        ranks::found(&self.reference)
    }
}

impl fmt::Display for SbcReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, draws) = (self.reference.simulations, self.reference.draws);
        let verdict = match (self.is_tested(), self.passes()) {
            (false, _) => "NOT TESTED, chains are too short",
            (_, true) => "calibrated",
            (_, false) => "NOT CALIBRATED",
        };
        writeln!(f, "{verdict}; {n} simulations, ranks among {draws} draws")?;
        if !self.is_tested() {
            let (ess, wanted) = (self.least_ess(), format!("{draws} are wanted"));
            writeln!(f, "  a quantity has {ess:.0} effective draws, {wanted}: run longer chains")?;
        }
        for (name, p) in self.names.iter().zip(&self.p_values) {
            let mark = if *p <= self.reference.alpha { "  ranks are not uniform" } else { "" };
            writeln!(f, "  {name:24} p = {p:.1e}{mark}")?;
        }
        Ok(())
    }
}
