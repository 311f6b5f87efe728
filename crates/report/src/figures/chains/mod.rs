//! Figures of quantities along the chains: do the chains agree, and how much do they know?
//!
//! | figure | shows |
//! | --- | --- |
//! | [`trace`] | the draws in their order, and how the ranks of each chain are spread |
//! | [`rank_ecdf`] | whether the ranks of each chain lie where the ranks of equal chains would |
//! | [`density`] | the density of each chain |
//! | [`autocorrelation`] | how much a draw tells about later ones |
//! | [`ess`] | whether effective draws grow in proportion to draws |
//! | [`running_mean`] | whether the mean has settled |
//!
//! If there are more than eight chains, a panel shows the eight whose means lie farthest from the
//! mean of all, and its title says so. All chains count where chains are compared.
//!
//! ```
//! use bnn_mcmc_report::figures::{Quantity, chains};
//! let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
//! let values = ndarray::Array2::from_shape_simple_fn((4, 500), || rng.normal());
//! let figure = chains::trace(&[Quantity { name: "w[0,0]", values: values.view() }])?;
//! assert!(figure.to_svg().contains("chain 3"));
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

mod autocorrelation;
mod density;
mod ecdf_band;
mod ess;
mod rank_ecdf;
mod running_mean;
mod trace;

pub use autocorrelation::autocorrelation;
pub use density::density;
pub use ess::ess;
pub use rank_ecdf::rank_ecdf;
pub use running_mean::running_mean;
pub use trace::trace;

use bnn_mcmc::Error;
use bnn_mcmc::rng::ChainRng;
use ndarray::{Array2, ArrayView2};

use crate::figures::Quantity;

/// The standard errors of a 95 % interval.
const NORMAL_95: f64 = 1.959963984540054;

/// An error without quantities, chains or draws.
fn check(quantities: &[Quantity]) -> Result<(), Error> {
    if quantities.is_empty() {
        return Err(Error::argument("quantities", "none", "at least one"));
    }
    for Quantity { name, values } in quantities {
        let (chains, draws) = values.dim();
        if chains == 0 || draws == 0 {
            let found = format!("{chains} chains of {draws} draws");
            return Err(Error::shape(format!("draws of `{name}`"), found, "at least one draw"));
        }
    }
    Ok(())
}

/// The ranks of draws among all draws, from 0, in the shape of the draws; `None` if some are NaN.
fn ranks(values: ArrayView2<f64>) -> Option<Array2<usize>> {
    if values.iter().any(|v| v.is_nan()) {
        return None;
    }
    // Adding zero makes one zero of two.
    let flat: Vec<f64> = values.iter().map(|v| v + 0.0).collect();
    let mut order: Vec<usize> = (0..flat.len()).collect();
    order.sort_unstable_by(|a, b| flat[*a].total_cmp(&flat[*b]));
    let mut rng = ChainRng::new(0, 0);
    for ties in order.chunk_by_mut(|a, b| flat[*a] == flat[*b]) {
        for i in (1..ties.len()).rev() {
            ties.swap(i, (rng.uniform() * (i + 1) as f64) as usize); //~ report-ranks
        }
    }
    let mut ranks = vec![0; flat.len()];
    order.iter().enumerate().for_each(|(rank, place)| ranks[*place] = rank);
    Array2::from_shape_vec(values.dim(), ranks).ok()
}
