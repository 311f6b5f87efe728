//! Markov chain Monte Carlo for Bayesian linear, logistic and neural-network models.
//!
//! From a table to posterior draws, with a verdict on whether to trust them, and predictions with
//! their uncertainty.
//!
//! # From a table to an answer
//!
//! [`fit`] is where to begin: a [`Fit`](fit::Fit) reads a CSV file, chooses a model by cross-validation, samples its
//! posterior, says whether the chains may be believed, and predicts new rows in the
//! units of the table.
//!
//! ```no_run
//! use bnn_mcmc::prelude::*;
//!
//! // The model that predicts best, features and response standardised, four chains.
//! // Killed, the same call goes on; finished, it loads the folder `run`.
//! let recipe = Fit::regression("strength").validation(0.2).seed(1).progress().in_folder("run");
//! let fit = recipe.read_csv("concrete.csv")?;
//! println!("{}", fit.verdict()?);
//! println!("{}", fit.scores(fit.validation().unwrap_or(fit.data()))?);
//!
//! // New rows, without the response. Predictions are in its units, with intervals.
//! let new = fit.predict_csv("new.csv")?;
//! println!("{new}"); // how many rows lie outside the range of the training data
//! new.predictions.to_csv("predictions.csv")?;
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```
//!
//! [`Fit::classification`](fit::Fit::classification) and [`Fit::counts`](fit::Fit::counts) take
//! classes and counts. The command `bnn-mcmc`, the Python package and the report of the repository
//! are faces of a `Fit`, for people who do not write Rust.
//!
//! # What to do when
//!
//! The [`guide`] has programs to copy for common tasks:
//! [which sampler](guide::which_sampler),
//! [networks with a real response](guide::regression_networks),
//! [whether MCMC is needed at all](guide::instead_of_mcmc),
//! [predictions](guide::predictions),
//! [what the model says of its columns](guide::effects),
//! [which model is better](guide::which_model),
//! [densities of your own](guide::own_densities),
//! [large networks](guide::large_networks),
//! [many rows](guide::many_rows),
//! [densities that cost much](guide::surrogates),
//! [modes far apart](guide::modes_and_evidence) and
//! [symmetries](guide::symmetries).
//!
//! # The parts, by hand
//!
//! A `Fit` puts parts together, and each of them works without it:
//!
//! ```text
//! data -> model x likelihood x prior = Posterior (a Target)
//!      -> an Algorithm builds a Kernel -> Sampler, the only loop -> Draws
//!      -> diagnostics, predict, evidence
//! ```
//!
//! ```
//! use bnn_mcmc::prelude::*;
//!
//! # #[cfg(feature = "datasets")] {
//! use bnn_mcmc::data::{Standardise, bundled};
//!
//! // Data: split, then scaled by the training rows alone.
//! let (train, test) = bundled::iris().stratified_split(0.3, 1)?;
//! let scaler = Standardise::new().fit_features(&train)?;
//! let (train, test) = (scaler.scale_features(&train)?, scaler.scale_features(&test)?);
//!
//! // Model x likelihood x prior = posterior.
//! let network = Mlp::new(&[4, 10, 3], Activation::Tanh)?;
//! let priors = Priors::all(Normal::new(0.0, 1.0)?);
//! let posterior = Posterior::new(network, Categorical, &train, priors)?;
//!
//! // Draws: 4 chains of 1,000 iterations of warm-up and 1,000 draws.
//! let draws = Sampler::new(&posterior, Nuts::default()).seed(1).run()?;
//!
//! // Predictions, their quality, and whether to believe them.
//! let predictions = posterior.predict(&draws, &test)?;
//! println!("{}", predictions.scores()?);
//! println!("{}", predictions.verdict()?);
//! # }
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```
//!
//! A density of your own takes three methods ([`Target`](targets::Target)), a sampler of your own
//! two traits ([`Algorithm`](sampler::Algorithm) and [`Kernel`](sampler::Kernel)).
//!
//! # The story, module by module
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`fit`] | a table, a model, a run and its answers in one, saved in a folder |
//! | [`guide`] | what to do when, as programs to copy |
//! | [`data`] | data sets, in memory and in files of rows, CSV and IDX files, scaling, splits, time series |
//! | [`model`] | f(x; w) and its derivatives: linear, logistic, multilayer perceptron (in f32, too), linearised |
//! | [`likelihood`] | p(y given f): Gaussian with one noise or one for each row, Student-t, shares, classes, also in order, counts |
//! | [`prior`] | densities over named blocks of parameters, hierarchical if need be |
//! | [`posterior`] | their product: [`Posterior`](posterior::Posterior), with predictions, leave-one-out and the rest |
//! | [`targets`] | log densities as samplers see them; your own targets |
//! | [`sampler`] | [`Sampler`](sampler::Sampler), which is the loop, and the kernels: NUTS, HMC, MAMS, MALA (on a box, too), SMMALA, random walk, pCN, power posteriors, Langevin integrators on full or minibatch gradients, Gibbs, independence, on blocks, with the output layer integrated out, with a test by an expensive density, and in combination; your own kernels |
//! | [`adapt`] | step sizes and covariances learnt during warm-up, which [`Scale`](sampler::Scale) puts together for kernels |
//! | [`optimise`] | Adam and SGD on full or minibatch gradients, early stopping: starting points |
//! | [`draws`] | what a run returns; [recorders](draws::recorder), which keep something else of every draw; [checkpoints](draws::checkpoint); [Zarr folders](draws::zarr), for ArviZ and to load draws again |
//! | [`diagnostics`] | R-hat, effective sample size, Monte Carlo error, symmetries of weights, densities, the Stein discrepancy, and the verdict |
//! | [`approximate`] | methods that people use instead of sampling: ensembles, Laplace, variational inference, SWAG, dropout, distillation |
//! | [`evidence`] | log p(y) by stepping stone and thermodynamic integration, Bayes factors |
//! | [`predict`] | predictions, posterior and prior predictive draws, intervals, calibration, scores, leave-one-out cross-validation, uncertainty of classes |
//! | [`explain`] | effects of columns, their importance |
//! | [`update`] | new rows for a posterior that was sampled, without a new run |
//! | [`ranks`] | several processes that evaluate together, by MPI: rows of a posterior, rungs of a ladder |
//! | [`memory`] | the limit on the size of results, checked before they are allocated |
//! | [`engine`] | tiles: a few rows at a time, for models and likelihoods of your own |
//! | [`surrogate`] | cheap densities in the place of expensive ones |
//! | [`layout`], [`rng`] | names of parameters, random streams |
//! | [`error`], [`message`] | what can go wrong, and what can be done about it, in the words of who reads it |
//! | [`testing`] | gradient checks, invariance tests, targets with exact draws |
//!
//! # Notation
//!
//! q is the flat parameter vector, d its length, g the gradient of the log density, eps the step
//! size, ell the log likelihood. Variances that are sampled live on the log scale,
//! eta = log tau^2. Arrays of draws are `[chain, draw, parameter]`.
//!
//! # Step sizes
//!
//! `step_size` is always the standard deviation of the Gaussian noise of one proposal; for HMC and
//! NUTS it is the standard deviation of the position after one leapfrog step from a fresh momentum,
//! which is MALA's proposal.
//!
//! | sampler | proposal | adapted to acceptance |
//! | --- | --- | --- |
//! | [`Rwm`](sampler::Rwm) | q + eps L z | 0.234 (0.44 if d = 1) |
//! | [`Mala`](sampler::Mala) | q + eps^2/2 L L^T g + eps L z | 0.574 |
//! | [`TruncatedMala`](sampler::TruncatedMala) | the same, truncated to the box [a, b] | 0.574 |
//! | [`Smmala`](sampler::Smmala) | q + eps^2/2 G^-1 g + eps G^-1/2 z, G = G(q) | 0.65 |
//! | [`Hmc`](sampler::Hmc), [`Nuts`](sampler::Nuts) | the leapfrog step eps of a trajectory | 0.8 |
//! | [`Mams`](sampler::Mams) | a step of length h, at speed 1 in all coordinates together | 0.9 |
//! | [`Pcn`](sampler::Pcn) | m + sqrt(1 - eps^2) (q - m) + eps xi, xi from the prior N(m, C) less m | 0.234 |
//! | [`LangevinGradient`](sampler::LangevinGradient) | D(q) + eps z, or q + eps z | 0.234 |
//!
//! [`Mclmc`](sampler::Mclmc) makes the steps of `Mams` without a test, and adapts h to a variance
//! of their energy errors; its bias is of order h^2.
//!
//! The integrators of [Langevin dynamics](sampler::Integrator) have no acceptance and adapt
//! nothing; their `step_size` is the time step h:
//!
//! | integrator | step | bias |
//! | --- | --- | --- |
//! | [`EulerMaruyama`](sampler::EulerMaruyama), [`Sgld`](sampler::Sgld) | q + h g + sqrt(2 h/B) R | order h |
//! | [`LeimkuhlerMatthews`](sampler::LeimkuhlerMatthews) | q + h g + sqrt(h/(2 B)) (R_n + R_(n+1)) | order h^2 |
//! | [`Baoab`](sampler::Baoab), [`Obabo`](sampler::Obabo) | kicks by h/2 g, drifts by h/2 or h of p/m | order h^2 |
//! | [`Sghmc`](sampler::Sghmc) | v + h g - h C v + noise, then q + h v | order h |
//!
//! # Features
//!
//! - `datasets` (default): iris, abalone, Boston housing, ionosphere, red wine, sunspot and digits
//!   data, embedded; brings `tables`.
//! - `tables` (default): from a table to an answer. [`fit`], [`explain`], [`update`], and in [`data`] CSV files, typed tables and
//!   IDX files. Without it (`default-features = false`) the crate is targets, models, likelihoods, priors, samplers, draws,
//!   diagnostics and predictions: it reads no table, chooses no model, knows no time limit of a fit, and compiles in two
//!   thirds of the time.
//! - `progress`: a progress bar (`sampler::progress_bar`).
//! - `autodiff`: gradients of densities of your own by dual numbers (`targets::Autodiff`).
//!
//! # Reproducibility
//!
//! Equal seeds give equal draws, bit for bit, for any number of threads, on one kind of processor.
//! Processors with other vector instructions round differently in the last digit, after which
//! chains differ, while the distribution that they sample does not. With `BNN_MCMC_PORTABLE=1` in
//! the environment draws are the same on every processor, and slower ([`portable`]).
//!
//! # Where the rest is
//!
//! [`design`] gives the reasons for the way the crate is built, [`changelog`] the changes from
//! version to version. Every module begins with its equations and a runnable example.

#![warn(missing_docs)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![cfg_attr(docsrs, feature(doc_cfg))]
// What only tables and fits call.
#![cfg_attr(not(feature = "tables"), allow(dead_code, unused_imports))]

#[macro_use]
mod forward;

pub mod adapt;
pub mod approximate;
mod cbor;
mod cells;
mod choice;
mod curvature;
mod cut;
pub mod data;
#[allow(clippy::disallowed_methods)]
pub mod diagnostics;
pub mod draws;
#[macro_use]
pub mod engine;
pub mod error;
#[allow(clippy::disallowed_methods)]
pub mod evidence;
#[cfg(feature = "tables")]
#[allow(clippy::disallowed_methods)]
pub mod explain;
#[cfg(feature = "tables")]
pub mod fit;
mod gradient;
mod kernel;
// Its programs need the data sets.
#[cfg(any(feature = "datasets", not(doctest)))]
pub mod guide;
pub mod layout;
pub mod likelihood;
mod linalg;
pub mod memory;
pub mod message;
pub mod model;
pub mod optimise;
mod order;
#[allow(clippy::disallowed_methods)]
pub mod portable;
pub mod posterior;
#[allow(clippy::disallowed_methods)]
pub mod predict;
pub mod prelude;
pub mod prior;
pub mod ranks;
pub mod rng;
mod run;
pub mod sampler;
pub mod surrogate;
pub mod targets;
#[allow(clippy::disallowed_methods)]
pub mod testing;
mod threads;
#[cfg(feature = "tables")]
pub mod update;

pub use error::Error;

/// The version of this crate, for reports and files.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The arrays of the public interface.
pub use ndarray;

/// The reasons for the design of the crate.
///
#[doc = include_str!("../DESIGN.md")]
pub mod design {}

/// The changes from version to version.
///
#[doc = include_str!("../CHANGELOG.md")]
pub mod changelog {}

/// The programs of the README, compiled.
#[cfg(all(doctest, feature = "datasets"))]
#[doc = include_str!("../README.md")]
mod readme {}
