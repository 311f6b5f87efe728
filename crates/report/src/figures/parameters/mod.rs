//! Parameters: how they are distributed, alone, in pairs and all together.
//!
//! [`pairs`], [`weights`] and [`correlations`] take the draws of a run; [`forest`],
//! [`forest_by_chain`], [`plane`], [`path`] and [`histogram`] take any quantities, such as parameters,
//! predictions or the log likelihood; [`parallel`] takes vectors of parameters from anywhere, such as
//! the ends of many descents.

mod correlations;
mod forest;
mod forest_by_chain;
mod histogram;
mod pairs;
mod parallel;
mod path;
mod plane;
mod weights;

pub use correlations::correlations;
pub use forest::forest;
pub use forest_by_chain::forest_by_chain;
pub use histogram::histogram;
pub use pairs::pairs;
pub use parallel::{Solutions, parallel};
pub use path::path;
pub use plane::plane;
pub use weights::weights;

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::{SummaryRow, quantile};
use bnn_mcmc::draws::Draws;

use crate::figures::Quantity;

/// The most points of a single scatter plot.
const POINTS: usize = 2_000;
/// The most names on an axis.
const NAMES: usize = 40;

/// Quantities with their summaries.
type Rows<'q, 'v> = Vec<(&'q Quantity<'v>, SummaryRow)>;

/// The quantities with the largest R-hat, in the order that they were given in, their summaries,
/// and the sentence of a caption about the choice: nothing if all are shown. Those without R-hat
/// come last.
fn worst<'q, 'v>(
    quantities: &'q [Quantity<'v>],
    most: usize,
) -> Result<(Rows<'q, 'v>, String), Error> {
    if quantities.is_empty() {
        return Err(Error::argument("number of quantities", 0, "at least 1"));
    }
    let summaries = quantities.iter().map(|quantity| SummaryRow::new("", quantity.values));
    let mut rows: Vec<(usize, SummaryRow)> = summaries.enumerate().collect();
    let (all, mut note) = (rows.len(), String::new());
    if all > most {
        let undefined = rows.iter().filter(|(_, row)| row.rhat.is_nan()).count();
        let key = |row: &SummaryRow| if row.rhat.is_nan() { f64::NEG_INFINITY } else { row.rhat };
        rows.sort_by(|(_, a), (_, b)| key(b).total_cmp(&key(a)));
        rows.truncate(most);
        rows.sort_by_key(|(k, _)| *k);
        note = match undefined {
            0 => format!("The {most} of {all} quantities with the largest R-hat. "),
            n if n == all => format!("The first {most} of {all} quantities: none has an R-hat. "),
            n => format!(
                "The {most} of {all} quantities with the largest R-hat; {n} without R-hat, such as \
                 constant ones, come after all others. "
            ),
        };
    }
    Ok((rows.into_iter().map(|(k, row)| (&quantities[k], row)).collect(), note))
}

/// Quantiles of values, NaN if one is not finite.
fn quantiles<const N: usize>(values: impl Iterator<Item = f64>, at: [f64; N]) -> [f64; N] {
    let mut sorted: Vec<f64> = values.collect();
    if sorted.iter().any(|value| !value.is_finite()) {
        return [f64::NAN; N];
    }
    sorted.sort_by(f64::total_cmp);
    quantiles_of_sorted(&sorted, at)
}

fn quantiles_of_sorted<const N: usize>(sorted: &[f64], at: [f64; N]) -> [f64; N] {
    at.map(|p| quantile(sorted, p))
}

/// Height over width of a panel with this number of lines of text.
fn aspect_of(lines: usize) -> f64 {
    (0.2 + 0.05 * lines as f64).clamp(0.5, 2.0)
}

/// The number of draws of all chains.
fn count(draws: &Draws) -> usize {
    draws.n_chains() * draws.n_draws()
}

fn check_any(draws: &Draws) -> Result<(), Error> {
    if count(draws) == 0 {
        return Err(Error::argument("number of draws", 0, "at least 1"));
    }
    if draws.layout().dim() == 0 {
        return Err(Error::argument("number of parameters", 0, "at least 1"));
    }
    Ok(())
}

fn check_pair(x: &Quantity, y: &Quantity) -> Result<(), Error> {
    if x.values.dim() != y.values.dim() {
        let what = format!("chains and draws of `{}`, beside those of `{}`", y.name, x.name);
        let size = |(chains, draws): (usize, usize)| format!("{chains} x {draws}");
        return Err(Error::shape(what, size(y.values.dim()), size(x.values.dim())));
    }
    if x.values.is_empty() {
        return Err(Error::argument("number of draws", 0, "at least 1"));
    }
    Ok(())
}
