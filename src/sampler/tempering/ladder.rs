//! Ladders of powers of the likelihood, and how a run climbed one.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::portable::powf;

/// The powers beta_0 < ... < beta_m = 1 of the likelihood.
///
/// With r_k the mean probability that an exchange of the neighbours k and k + 1 is refused, the
/// communication barrier of a ladder is Lambda = sum r_k. Refining a ladder hardly changes it, and
/// with all r_k equal, about 2 Lambda + 1 rungs let states travel between the prior and the
/// posterior fastest for their cost (Syed, Bouchard-Côté, Deligiannidis and Doucet, JRSS B 84,
/// 2022, doi:10.1111/rssb.12464, sections 4 and 5).
///
/// Adaptation: Lambda(beta), the sum of r_k up to beta, is interpolated between the rungs, linearly
/// in beta^(1/5), and the inner rungs are put where it takes equal steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ladder {
    /// beta_i = (i / m)^exponent for i = 0 to m, with m + 1 = `rungs`.
    Power {
        /// The number of rungs, at least 2, with beta = 0 and beta = 1.
        rungs: usize,
        /// Above 0; 5 (Friel and Pettitt, JRSS B 70, 2008, doi:10.1111/j.1467-9868.2007.00650.x)
        /// puts most rungs near the prior, where tempered posteriors change fastest.
        exponent: f64,
    },
    /// These: ascending, from 0 or above to 1. Evidence needs a first rung at 0; without one there
    /// are no draws from the prior, which may then be improper.
    Given(Vec<f64>),
}

/// The most rungs of a ladder.
const MOST_RUNGS: usize = 10_000;

impl Default for Ladder {
    /// Thirteen rungs (i / 12)^5.
    fn default() -> Self {
        Self::Power { rungs: 13, exponent: 5.0 }
    }
}

impl Ladder {
    /// The powers, or an error that names the problem.
    pub fn betas(&self) -> Result<Vec<f64>, Error> {
        let betas = match self {
            Self::Power { rungs, exponent } => {
                if !(2..=MOST_RUNGS).contains(rungs) {
                    let allowed = format!("2 to {MOST_RUNGS}");
                    return Err(Error::argument("rungs of the ladder", rungs, allowed));
                }
                if !(*exponent > 0.0 && exponent.is_finite()) {
                    let name = "exponent of the ladder";
                    return Err(Error::argument(name, exponent, "a finite number above 0"));
                }
                let m = (*rungs - 1) as f64;
                (0..*rungs).map(|i| powf(i as f64 / m, *exponent)).collect()
            }
            Self::Given(betas) => betas.clone(),
        };
        // NaN is neither ascending nor within the bounds.
        let disorder = betas.windows(2).position(|pair| !matches!(pair, [a, b] if a < b));
        let found = match (&betas[..], disorder) {
            ([] | [_], _) => format!("{betas:?}"),
            (_, Some(k)) => format!("{} followed by {} (rung {})", betas[k], betas[k + 1], k + 1),
            ([first, .., last], None) if *first < 0.0 || *last != 1.0 => {
                format!("from {first} to {last}")
            }
            _ => return Ok(betas),
        };
        let allowed = match self {
            Self::Power { .. } => "strictly ascending: a smaller exponent or fewer rungs",
            Self::Given(_) => {
                "two powers or more, strictly ascending, from 0 or above to exactly 1"
            }
        };
        Err(Error::argument("betas of the ladder", found, allowed))
    }
}

/// Inner rungs at which the cumulated `rejections` of `betas` (one less) take equal steps.
pub(super) fn equalised(betas: &[f64], rejections: &[f64]) -> Vec<f64> {
    // A pair that is never refused still keeps some distance.
    let least = 1e-3 * rejections.iter().sum::<f64>() / rejections.len() as f64;
    let steps = rejections.iter().map(|r| r.max(least).max(1e-12));
    let total: f64 = steps.clone().sum();
    let last = betas.len() - 1;
    let mut equal = betas.to_vec();
    let (mut below, mut k) = (0.0, 0);
    let mut steps = steps.peekable();
    for (i, beta) in equal.iter_mut().enumerate().take(last).skip(1) {
        let wanted = total * i as f64 / last as f64; //~ ladder-step
        while let Some(step) = steps.peek()
            && below + step < wanted
            && k + 1 < last
        {
            below += step;
            k += 1;
            steps.next();
        }
        let share = steps.peek().map_or(1.0, |step| (wanted - below) / step).clamp(0.0, 1.0);
        let (low, high) = (powf(betas[k], 0.2), powf(betas[k + 1], 0.2));
        *beta = (low + share * (high - low)).powi(5);
    }
    // Rounding must not make two of them equal.
    if equal.windows(2).all(|pair| pair[0] < pair[1]) { equal } else { betas.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;

    #[test]
    fn ladders_are_ascending_and_bad_ones_are_named() {
        let betas = Ladder::default().betas().unwrap();
        assert_eq!((betas.len(), betas[0], betas[12]), (13, 0.0, 1.0));
        assert!((betas[1] - (1.0f64 / 12.0).powi(5)).abs() < 1e-18);
        assert_eq!(Ladder::Given(vec![0.1, 1.0]).betas().unwrap(), [0.1, 1.0]);
        let (rungs, exponent) = ("rungs of the ladder", "exponent of the ladder");
        let betas = "betas of the ladder";
        for (ladder, name, value) in [
            (Ladder::Power { rungs: 1, exponent: 5.0 }, rungs, "1"),
            (Ladder::Power { rungs: 4, exponent: 0.0 }, exponent, "0"),
            (Ladder::Power { rungs: 4, exponent: f64::NAN }, exponent, "NaN"),
            (Ladder::Power { rungs: 50, exponent: 200.0 }, betas, "0 followed by 0 (rung 1)"),
            (Ladder::Given(vec![]), betas, "[]"),
            (Ladder::Given(vec![0.0, 0.5]), betas, "from 0 to 0.5"),
            (Ladder::Given(vec![-0.1, 1.0]), betas, "from -0.1 to 1"),
            (Ladder::Given(vec![0.0, f64::NAN, 1.0]), betas, "0 followed by NaN (rung 1)"),
            (Ladder::Given(vec![0.0, 0.6, 0.3, 1.0]), betas, "0.6 followed by 0.3 (rung 2)"),
            (Ladder::Power { rungs: usize::MAX, exponent: 5.0 }, rungs, "18446744073709551615"),
            (Ladder::Given(vec![0.0, 0.5, 0.5, 1.0]), betas, "0.5 followed by 0.5 (rung 2)"),
        ] {
            fails!(ladder.betas(), Argument { name: name, value: value });
        }
    }

    /// A barrier that is linear in beta^(1/5) is equalised exactly, whatever the ladder was.
    #[test]
    fn rungs_take_equal_steps_of_the_barrier() {
        let betas: Vec<f64> = [0.0, 0.1, 0.15, 0.6, 0.8, 1.0].map(|u: f64| u.powi(5)).to_vec();
        let rejections: Vec<f64> =
            betas.windows(2).map(|b| 0.7 * (b[1].powf(0.2) - b[0].powf(0.2))).collect();
        let equal = equalised(&betas, &rejections);
        for (i, beta) in equal.iter().enumerate() {
            assert!((beta.powf(0.2) - 0.2 * i as f64).abs() < 1e-12, "{equal:?}");
        }
        // No information: nothing refused. The steps of the old ladder are all alike then.
        assert_eq!(equalised(&betas, &[0.0; 5]).len(), 6);
        // All of the barrier in one place: the rungs crowd there.
        let crowded = equalised(&betas, &[0.0, 0.0, 1.0, 0.0, 0.0]);
        assert!(crowded[1] > betas[2] && crowded[4] < betas[3], "{crowded:?}");
        assert!(crowded.windows(2).all(|b| b[0] < b[1]), "{crowded:?}");
    }
}
