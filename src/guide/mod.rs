//! A guide by tasks, with programs to copy.
//!
//! Every program is a whole `src/main.rs` of a package that depends on `bnn-mcmc`; run it with
//! `cargo run --release`.

/// Which sampler: the cost of an effective draw, and the needs of each sampler.
///
#[doc = include_str!("which_sampler.md")]
pub mod which_sampler {}

/// Tables as people have them: gaps, labels, dates, exposures.
///
#[doc = include_str!("tables.md")]
pub mod tables {}

/// Networks with a real response: settings under which they converge.
///
#[doc = include_str!("regression_networks.md")]
pub mod regression_networks {}

/// Do I need MCMC? The alternatives, measured beside the exact posterior.
///
#[doc = include_str!("instead_of_mcmc.md")]
pub mod instead_of_mcmc {}

/// Predictions: scores, intervals, and what a classifier does not know.
///
#[doc = include_str!("predictions.md")]
pub mod predictions {}

/// Effects: what the model says of its columns.
///
#[doc = include_str!("effects.md")]
pub mod effects {}

/// Which model is better: leave-one-out cross-validation, and the evidence.
///
#[doc = include_str!("which_model.md")]
pub mod which_model {}

/// Clusters: chains as jobs of Slurm, GNU parallel, Kubernetes and Dask.
///
#[doc = include_str!("clusters.md")]
pub mod clusters {}

/// Densities of your own: constraints, and gradients that need not be written.
///
#[doc = include_str!("own_densities.md")]
pub mod own_densities {}

/// Large networks: f32, minibatches, and runs that keep no weights.
///
#[doc = include_str!("large_networks.md")]
pub mod large_networks {}

/// Many rows: tables that do not fit into memory.
///
#[doc = include_str!("many_rows.md")]
pub mod many_rows {}

/// Surrogates: a cheap density in the place of an expensive one, and still the exact posterior.
///
#[doc = include_str!("surrogates.md")]
pub mod surrogates {}

/// Modes that no single chain crosses, and the evidence.
///
#[doc = include_str!("modes_and_evidence.md")]
pub mod modes_and_evidence {}

/// The difficulties of a network's posterior: symmetries and curvature.
///
#[doc = include_str!("symmetries.md")]
pub mod symmetries {}
