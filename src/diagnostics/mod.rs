//! Convergence diagnostics: have the chains converged, and how precise are their estimates?
//!
//! | question | functions |
//! | --- | --- |
//! | Do the chains agree? | [`rhat()`], [`rhat_rank`], [`rhat_folded`], [`rhat_split`], [`rhat_base`] |
//! | How many independent draws are these worth? | [`ess_bulk`], [`ess_tail`], [`ess_mean`], [`ess_sd`], [`ess_median`], [`ess_quantile`], [`ess_local`], [`ess_per_chain`] |
//! | How far off may an estimate be? | [`mcse_mean`], [`mcse_sd`], [`mcse_median`], [`mcse_quantile`] |
//! | How does a chain forget? | [`autocovariance`], [`autocorrelation`] |
//! | Does Hamiltonian Monte Carlo explore all energies? | [`ebfmi()`] |
//! | All of it, for every parameter | [`Summary`] |
//! | May I trust this run? | [`Judge`] and its [`Verdict`] |
//!
//! The functions take one quantity, `[chain, draw]`, and never fail: what is undefined is NaN. They
//! equal arviz-stats 0.8.0; the few deliberate deviations are named in each file's documentation.
//!
//! **Weight space misleads.** Hidden units of a network can be permuted without changing the
//! function, so that weights disagree between chains whose predictions agree. Look at the
//! [`Verdict`] on predictions, log-likelihood and log-prior first, and at the weights second.
//!
//! ```
//! use bnn_mcmc::diagnostics::{ess_bulk, mcse_mean, rhat};
//! let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
//! let draws = ndarray::Array2::from_shape_simple_fn((4, 1000), || rng.normal());
//! assert!(rhat(draws.view()) < 1.01 && ess_bulk(draws.view()) > 3000.0);
//! assert!((mcse_mean(draws.view()) - 1.0 / 4000_f64.sqrt()).abs() < 0.002);
//! ```

pub mod autocorr;
pub mod canonical;
mod chains;
pub mod covariance;
pub mod energy;
pub mod ess;
pub mod mcse;
pub mod multivariate;
mod ranks;
pub mod rhat;
pub mod summary;
pub mod symmetry;
pub mod verdict;
mod workspace;

pub use autocorr::{autocorrelation, autocovariance};
pub use canonical::{BeforeAfter, BeforeAfterRow, Canonical, Modes};
pub use covariance::{Agreement, CovarianceComparison, Differences};
pub use energy::ebfmi;
pub use ess::{
    TAIL, ess_bulk, ess_local, ess_mean, ess_median, ess_per_chain, ess_quantile, ess_sd, ess_tail,
};
pub use mcse::{mcse_mean, mcse_median, mcse_quantile, mcse_sd};
pub use multivariate::{rhat_multivariate, rhat_multivariate_base};
pub use rhat::{rhat, rhat_base, rhat_folded, rhat_rank, rhat_split};
pub use summary::{BlockRow, BlockSummary, Summary, SummaryRow};
pub use symmetry::{Element, Symmetries, Unit};
pub use verdict::{Judge, Outcome, Verdict};
