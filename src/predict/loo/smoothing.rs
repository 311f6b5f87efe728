//! Rows in parallel: the checks of their log likelihoods, and the estimate of each.

use ndarray::{ArrayView2, ArrayView3, Axis, s};

use super::LooRow;
use crate::Error;
use crate::diagnostics::{EssMean, Psis};
use crate::error::positive;
use crate::threads;

/// The fewest draws, whose tail is then five draws.
const FEWEST_DRAWS: usize = 25;

/// Log likelihoods that differ by less, for example of a class whose probability is 1 except for
/// rounding, count as equal.
const CONSTANT: f64 = 1e-12;

/// The number of rows whose draws are gathered together: the draws of neighbouring rows share cache
/// lines.
const TOGETHER: usize = 8;

/// The checked settings by which rows are smoothed.
pub(crate) struct Smoothing {
    chains: usize,
    draws: usize,
    relative_efficiency: Option<f64>,
}

/// Scratch memory of one thread.
#[derive(Default)]
pub(crate) struct Scratch {
    pub psis: Psis,
    ess: EssMean,
    /// p(y_i | q_s) relative to the largest of them.
    pub likelihood: Vec<f64>,
}

impl Smoothing {
    /// For (chains, draws of each).
    pub fn new(
        (chains, draws): (usize, usize),
        relative_efficiency: Option<f64>,
    ) -> Result<Self, Error> {
        threads::ready()?;
        let all = chains * draws;
        if all < FEWEST_DRAWS {
            let allowed = format!("at least {FEWEST_DRAWS}");
            return Err(Error::argument("number of draws of all chains", all, allowed));
        }
        match relative_efficiency {
            Some(given) => {
                positive("relative_efficiency", given)?;
            }
            None if draws < 4 => {
                let allowed = "at least 4, or the relative efficiency given";
                return Err(Error::argument("draws per chain", draws, allowed));
            }
            None => {}
        }
        Ok(Self { chains, draws, relative_efficiency })
    }

    /// `f(scratch, i, log likelihoods by chain and draw)` of each row i of `log_lik` `[chain, draw,
    /// row]`, in order. Row 0 is row `first` of the data.
    pub fn map_rows<R: Send>(
        &self,
        log_lik: ArrayView3<f64>,
        first: usize,
        f: &(dyn Fn(&mut Scratch, usize, &[f64]) -> R + Sync),
    ) -> Result<Vec<R>, Error> {
        let (n, rows) = (self.chains * self.draws, log_lik.len_of(Axis(2)));
        let groups = threads::map_with(
            rows.div_ceil(TOGETHER),
            &|| (Scratch::default(), vec![0.0; TOGETHER * n]),
            &|(scratch, gathered), group| {
                let start = group * TOGETHER;
                let group = log_lik.slice(s![.., .., start..rows.min(start + TOGETHER)]);
                for (s, of_draw) in group.lanes(Axis(2)).into_iter().enumerate() {
                    of_draw.iter().enumerate().for_each(|(k, l)| gathered[k * n + s] = *l);
                }
                let of_row = |(k, log_lik)| {
                    self.check(log_lik, first + start + k)?;
                    Ok(f(scratch, start + k, log_lik))
                };
                let width = group.len_of(Axis(2));
                gathered.chunks_exact(n).take(width).enumerate().map(of_row).collect::<Vec<_>>()
            },
        );
        groups.into_iter().flatten().collect()
    }

    /// Checks that the log likelihoods of a row are finite.
    fn check(&self, log_lik: &[f64], row: usize) -> Result<(), Error> {
        let Some(s) = log_lik.iter().position(|l| !l.is_finite()) else { return Ok(()) };
        let (chain, draw) = (s / self.draws, s % self.draws);
        let name = format!("log likelihood of row {row} at chain {chain}, draw {draw}");
        Err(Error::argument(name, log_lik[s], "a finite number (all three count from 0)"))
    }
}

impl Scratch {
    /// Smooths the importance weights of a row that stands for `weight` rows.
    pub fn row(&mut self, smoothing: &Smoothing, weight: f64, log_lik: &[f64]) -> LooRow {
        let n = log_lik.len() as f64;
        let largest = log_lik.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.likelihood.clear();
        self.likelihood.extend(log_lik.iter().map(|l| (l - largest).exp()));
        let relative_efficiency = smoothing.relative_efficiency.unwrap_or_else(|| {
            let shape = (smoothing.chains, smoothing.draws);
            let likelihood = ArrayView2::from_shape(shape, &self.likelihood)
                .expect("a row has one number for each draw");
            self.ess.of(likelihood) / n
        });
        let known = || largest + (self.likelihood.iter().sum::<f64>() / n).ln();
        if weight == 0.0 {
            // The posterior without the row is the posterior.
            let k = f64::NAN;
            return LooRow { elpd: known(), p_loo: 0.0, k, relative_efficiency };
        }
        let k = self.psis.smooth(log_lik, weight.min(1.0), relative_efficiency);
        if log_lik.iter().all(|l| largest - l < CONSTANT) {
            return LooRow { elpd: largest, p_loo: 0.0, k: f64::NAN, relative_efficiency };
        }
        let (known, elpd) = (known(), self.psis.log_mean());
        LooRow { elpd, p_loo: known - elpd, k, relative_efficiency }
    }
}
