//! Which chains a panel shows: all, or of many the worst.

use crate::figure::Colour;
use crate::figures::Quantity;

/// The most chains in one panel.
const SHOWN: usize = 8;

/// The chains of a panel.
pub(super) struct Shown {
    /// The numbers of the chains, ascending.
    chains: Vec<usize>,
    /// The number of all chains.
    of: usize,
}

impl Shown {
    /// All chains of a quantity, or those whose means lie farthest from the mean of all.
    pub(super) fn of(quantity: &Quantity) -> Self {
        let mean = quantity.values.mean().unwrap_or(f64::NAN);
        Self::worst(quantity.values.outer_iter(), |chain| {
            (chain.mean().unwrap_or(f64::NAN) - mean).abs()
        })
    }

    /// All chains, or the eight with the largest score; NaN counts as the largest.
    pub(super) fn worst<C>(
        chains: impl ExactSizeIterator<Item = C>,
        score: impl Fn(C) -> f64,
    ) -> Self {
        let of = chains.len();
        if of <= SHOWN {
            return Self { chains: (0..of).collect(), of };
        }
        let key = |score: f64| if score.is_nan() { f64::INFINITY } else { score };
        let scores: Vec<f64> = chains.map(|chain| key(score(chain))).collect();
        let mut order: Vec<usize> = (0..of).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        order.truncate(SHOWN);
        order.sort_unstable();
        Self { chains: order, of }
    }

    /// The number, colour and name of each chain. After the seven colours comes the colour of text.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, Colour, Option<String>)> + '_ {
        self.chains.iter().enumerate().map(|(k, chain)| {
            let colour = if k < SHOWN - 1 { Colour::Series(k) } else { Colour::Ink };
            (*chain, colour, Some(format!("chain {chain}")))
        })
    }

    /// A panel's title, with how many chains it shows if these are not all.
    pub(super) fn title(&self, name: &str) -> String {
        match (self.chains.len() == self.of, name) {
            (true, _) => name.to_owned(),
            (false, "") => format!("{} of {} chains", self.chains.len(), self.of),
            (false, _) => format!("{name} ({} of {} chains)", self.chains.len(), self.of),
        }
    }
}
