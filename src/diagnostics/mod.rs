//! Convergence diagnostics: have the chains converged, and how precise are their estimates?
//!
//! | question | functions |
//! | --- | --- |
//! | Do the chains agree? | [`rhat()`], [`rhat_rank`], [`rhat_folded`], [`rhat_split`], [`rhat_base`] |
//! | Do they agree in all directions at once? | [`rhat_multivariate`], [`rhat_multivariate_base`] |
//! | How many independent draws are these worth? | [`ess_bulk`], [`ess_tail`], [`ess_mean`], [`ess_sd`], [`ess_median`], [`ess_quantile`], [`ess_local`], [`ess_per_chain`] |
//! | How far off may an estimate be? | [`mcse_mean`], [`mcse_sd`], [`mcse_median`], [`mcse_quantile`] |
//! | How does a chain forget? | [`autocovariance`], [`autocorrelation`] |
//! | Does Hamiltonian Monte Carlo explore all energies? | [`ebfmi()`] |
//! | How are the draws distributed, also on a box? | [`density()`], [`density_on_box`], [`quantile()`] |
//! | Are these draws of that target, if the sampler is biased? | [`Stein`] |
//! | Do they differ by hidden units' order and signs only? | [`Symmetries`], [`Canonical`], [`Modes`], [`BeforeAfter`] |
//! | Does a quantity depend on the prior, and on the data? | [`PowerScaling`], [`Sensitivity`] |
//! | Do two samplers agree on the posterior covariance? | [`CovarianceComparison`] |
//! | All of it, for every parameter | [`Summary`] |
//! | May I trust this run? | [`Predictions::verdict`](crate::predict::Predictions::verdict), [`Draws::verdict`](crate::draws::Draws::verdict), or a [`Judge`] and its [`Verdict`] |
//!
//! The functions of chains take one quantity, `[chain, draw]`, and never fail: undefined values are
//! NaN. They equal arviz-stats 0.8.0; the few deliberate deviations are named in the documentation
//! of [`rhat()`], [`ess_bulk`], [`mcse_sd`] and [`mcse_quantile`]. Densities, Stein discrepancies,
//! the multivariate R-hat, symmetries and comparisons return errors, and have no counterpart in
//! ArviZ.
//!
//! ```
//! use bnn_mcmc::diagnostics::{ess_bulk, mcse_mean, rhat};
//! let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
//! let draws = ndarray::Array2::from_shape_simple_fn((4, 1000), || rng.normal());
//! assert!(rhat(draws.view()) < 1.01 && ess_bulk(draws.view()) > 3000.0);
//! assert!((mcse_mean(draws.view()) - 1.0 / 4000_f64.sqrt()).abs() < 0.002);
//! ```
//!
//! # Weight space misleads
//! Hidden units of a network can be permuted, and those with an odd activation flipped, without
//! changing the function (see [`Symmetries`]). Each mode of the weights' posterior so has H! 2^H
//! copies for a layer of H tanh units, and diagnostics of the raw weights are misleading in both
//! directions:
//!
//! - **Chains in different copies** disagree in every weight, and R-hat is large, though all say
//!   the same about every function. Their means, correlations and covariances are averages over copies.
//! - **Chains in one copy** agree, and R-hat is near 1, though none has visited any other: if the
//!   modes differ by more than a symmetry, this is how a missed mode looks, too.
//! - **A chain that hops between copies** has few effective draws of weights and many of
//!   predictions.
//!
//! So look at the [`Verdict`] on predictions, log likelihood and log prior first. Then bring the
//! draws to their [canonical](Canonical) form: the disagreement that is left does not come from unit
//! labels, though it may still be harmless, since [`Symmetries`] leave out other maps that keep the
//! function. And a marginal of canonical weights belongs to the chosen copy: it is cut off at the
//! copy's border.
//!
//! ```
//! use bnn_mcmc::diagnostics::{BeforeAfter, Symmetries};
//! use bnn_mcmc::prelude::*;
//! let x = ndarray::Array2::from_shape_fn((20, 1), |(i, _)| i as f64 / 5.0 - 2.0);
//! let data = Dataset::regression(x.clone(), x.mapv(|x| 3.0 * x.tanh()))?;
//! let network = Mlp::new(&[1, 1, 1], Activation::Tanh)?; // one unit: two copies of each mode
//! let priors = Priors::all(Normal::new(0.0, 2.0)?);
//! let posterior = Posterior::new(network, Gaussian::fixed(0.3)?, &data, priors)?;
//! let (copy, other) = (vec![1.0, 0.0, 3.0, 0.0], vec![-1.0, 0.0, -3.0, 0.0]);
//! let start = Init::Points(vec![copy.clone(), copy, other.clone(), other]);
//! let sampler = Sampler::new(&posterior, Nuts::default()).chains(4).init(start);
//! let draws = sampler.warmup(300).draws(300).seed(1).run()?;
//!
//! let symmetries = Symmetries::new(posterior.model(), draws.layout())?;
//! let canonical = symmetries.canonical(&draws, None)?;
//! println!("{canonical}");
//! println!("{}", BeforeAfter::new(&draws.summary()?, &canonical.draws.summary()?)?);
//! assert_eq!((canonical.all.visited(), canonical.order), (2, 2.0));
//! assert!(draws.summary()?.max_rhat() > 1.5);
//! assert!(canonical.draws.summary()?.max_rhat() < 1.1);
//! assert!(posterior.predict(&draws, &data)?.summary()?.max_rhat() < 1.1);
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

mod autocorr;
mod canonical;
mod chains;
mod covariance;
mod density;
mod draws;
mod energy;
mod ess;
mod geyer;
mod mcse;
mod multivariate;
mod nested;
mod pareto;
mod quantile;
mod ranks;
mod rhat;
mod sensitivity;
mod stein;
mod summary;
mod symmetry;
mod verdict;
mod workspace;

pub use autocorr::{autocorrelation, autocovariance};
pub use canonical::{BeforeAfter, BeforeAfterRow, Canonical, Modes};
pub use covariance::{Agreement, CovarianceComparison, Differences};
pub use density::{Density, density, density_on_box};
pub use energy::ebfmi;
pub(crate) use ess::EssMean;
pub use ess::{
    TAIL, ess_bulk, ess_local, ess_mean, ess_median, ess_per_chain, ess_quantile, ess_sd, ess_tail,
};
pub use mcse::{mcse_mean, mcse_median, mcse_quantile, mcse_sd};
pub use multivariate::{rhat_multivariate, rhat_multivariate_base};
pub use nested::rhat_nested;
pub(crate) use pareto::Psis;
pub use quantile::quantile;
pub use rhat::{rhat, rhat_base, rhat_folded, rhat_rank, rhat_split};
pub use sensitivity::{Influence, PowerScaling, SENSITIVITY_LIMIT, Sensitivity};
pub use stein::{Stein, SteinDiscrepancy};
pub use summary::{BlockRow, BlockSummary, Summary, SummaryRow};
pub use symmetry::{HiddenUnit, Symmetries, SymmetryElement};
pub use verdict::{
    ACCEPTANCE, APART_LIMITS, BETWEEN_LIMIT, CUT_OFF, Cause, DEPTH_LIMIT, DIVERGENT_LIMIT,
    DRIFT_LIMIT, EBFMI_LIMIT, ESS_PER_CHAIN, ESS_WITHIN, InUse, Judge, LEVELS_APART,
    LONG_TRAJECTORY, MonteCarloError, NARROW, OTHERS_LIMIT, Outcome, QuantityGroup, RHAT_LIMIT,
    RISING, SECOND_STAGE_LIMIT, SETTLED_LOG_DENSITY, SETTLED_MEAN, SETTLED_SHARE, SLOW, STILL,
    TEMPERATURE_LIMITS, Trajectories, Verdict,
};
