//! Simulated tables of any size, whose truth is known.
//!
//! The recipes are `make_regression` and `make_classification` of scikit-learn
//! (<https://scikit-learn.org/stable/datasets/sample_generators.html>); the second goes back to I.
//! Guyon, *Design of experiments of the NIPS 2003 variable selection benchmark*, 2003. Below, N is
//! the normal and U the uniform distribution, and rows are independent.
//!
//! **[`Regression`]**: with d informative features of p,
//!
//! - w_j ~ U(0, `largest_coefficient`] for j = 1..d, and w_j = 0 for the other p - d;
//! - x_ij ~ N(0, 1), and y_i = intercept + sum_j w_j x_ij + `noise_sd` * N(0, 1).
//!
//! **[`Classification`]**: with d informative and r redundant features of p, K classes and m clusters for
//! each class, cluster k = 1..Km
//!
//! - has a centre c_k `[d]` with coordinates +s or -s, where s is the `separation`: a vertex of a hypercube
//!   of side 2 s. No two clusters have the same one, so that K m is at most 2^d;
//! - has a matrix A_k `[d x d]` of entries U[-1, 1), which gives the cluster a covariance of its own.
//!
//! B `[d x r]`, with entries U[-1, 1), is common to all clusters. A row of cluster k is (u, v, e): the
//! informative u = c_k + z A_k with z ~ N(0, I), the redundant v = u B, and the unrelated e ~ N(0, I).
//! The clusters of a class have equal shares of its rows. Rows stand in random order. At last the class
//! of each row is replaced, with probability `flipped`, by one drawn from all K classes alike, which may
//! be the old one: a share of `flipped` (1 - 1/K) of the rows changes class.
//!
//! Columns stand in the order of this text and are named `informative1`, ..., `redundant1`, ...,
//! `unrelated1`, ... scikit-learn shuffles them, and can repeat, shift and scale columns, lower the rank
//! of the features, and draw several responses; none of this is done here.
//!
//! Equal seeds give equal tables. The truth, the features and the noise of a seed are drawn from streams
//! of their own: with `noise_sd` or `flipped` at 0 the same seed gives the same features and the response
//! before the noise. A table takes 8 bytes for each number, and nothing else grows with its rows.

mod classification;
mod clusters;
mod regression;

pub use classification::Classification;
pub use clusters::Clusters;
pub use regression::Regression;

use std::ops::RangeInclusive;

use ndarray::Array2;

use super::{Dataset, Response};
use crate::rng::ChainRng;
use crate::{Error, memory};

/// The stream of a seed that simulates tables: far from the streams of the chains, and different
/// from the stream of splits.
const STREAM: u64 = u64::MAX - 1;

/// The parts of a simulated table; each is drawn from a stream of its own.
#[derive(Clone, Copy)]
enum Stream {
    Truth,
    Order,
    Features,
    Noise,
}

fn stream(seed: u64, part: Stream) -> ChainRng {
    ChainRng::new(seed, STREAM).child(part as u64)
}

/// Room for the features and the response of a table.
fn room<Y>(rows: usize, features: usize) -> Result<(Vec<f64>, Vec<Y>), Error> {
    let (name, instead) = ("simulated table", "take fewer rows or features");
    let size = [(rows, "rows"), (features.saturating_add(1), "numbers with the response")];
    memory::check::<f64>(name, &size, instead)?;
    // Names, the set that finds two alike, and one row.
    memory::check::<[f64; 16]>("names of features", &[(features, "features")], instead)?;
    let what = (name, &size[..], instead);
    Ok((memory::room(rows * features, what)?, memory::room(rows, what)?))
}

/// The table of these features, of which so many are informative, redundant and unrelated.
fn table(
    x: Vec<f64>,
    response: Response,
    columns: [usize; 3],
    response_name: &str,
) -> Result<Dataset, Error> {
    let x = Array2::from_shape_vec((response.rows(), columns.iter().sum()), x)
        .expect("every row has as many features");
    let kinds = ["informative", "redundant", "unrelated"].into_iter().zip(columns);
    let names = kinds.flat_map(|(kind, n)| (1..=n).map(move |j| format!("{kind}{j}")));
    Dataset::checked(x, response, names.collect(), vec![response_name.into()])
}

fn at_least(name: &str, value: usize, least: usize) -> Result<(), Error> {
    if value >= least {
        return Ok(());
    }
    Err(Error::argument(name, value, format!("at least {least}")))
}

fn within(name: &str, value: f64, range: RangeInclusive<f64>, allowed: &str) -> Result<(), Error> {
    if range.contains(&value) { Ok(()) } else { Err(Error::argument(name, value, allowed)) }
}
