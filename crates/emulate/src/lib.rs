//! Emulators that learn a log likelihood from points at which it was evaluated, for
//! [`bnn_mcmc::surrogate`].
//!
//! | emulator | what it is | cost of an evaluation |
//! | --- | --- | --- |
//! | [`RandomFeatures`] | a linear combination of random functions, fitted to ell | features x d |
//! | [`NetworkEmulator`] | a network trained on ell, or on the predictions of all rows | its weights |
//!
//! Each of them is an [`Emulator`](bnn_mcmc::surrogate::Emulator), which
//! [`Surrogate`](bnn_mcmc::surrogate::Surrogate) makes a target. The points are draws of a short run,
//! and an emulator knows nothing about the rest of the space:
//! [`SurrogateError::measure`](bnn_mcmc::surrogate::SurrogateError::measure) compares it with the truth
//! where the chain has been.
//!
//! # Calibrate, emulate, sample
//! The three steps of Cleary et al. (J. Comput. Phys. 424, 2021, doi:10.1016/j.jcp.2020.109716),
//! applied to networks by Moslemi, Meng, Lan and Shahbaba (FBNN, arXiv:2312.11799), are a short run,
//! an emulator, and a run on it:
//!
//! ```
//! use bnn_mcmc::prelude::*;
//! use bnn_mcmc::sampler::{DelayedAcceptance, Init};
//! use bnn_mcmc::surrogate::{Surrogate, SurrogateError};
//! use bnn_mcmc_emulate::RandomFeatures;
//! # let x = ndarray::Array2::from_shape_fn((40, 2), |(i, j)| ((7 * i + 3 * j) % 11) as f64 / 5.0 - 1.0);
//! # let y = x.column(0).mapv(|x| 0.5 * x + 0.1);
//! # let data = Dataset::regression(x, y)?;
//! let priors = Priors::all(Normal::new(0.0, 1.0)?);
//! let posterior = Posterior::new(Linear::new(2, 1)?, Gaussian::fixed(0.3)?, &data, priors)?;
//! // Calibrate.
//! let short = Sampler::new(&posterior, Mala::default()).warmup(200).draws(100).seed(1).run()?;
//! // Emulate.
//! let features = RandomFeatures { features: 60, ..RandomFeatures::default() };
//! let surrogate = Surrogate::new(&posterior, features.fit(&posterior, &short)?);
//! // Sample: on the surrogate alone, from where the short run ended ...
//! let starts = Init::ends_of(&short);
//! let draws = Sampler::new(&surrogate, Hmc::default()).init(starts.clone()).draws(300).run()?;
//! println!("{}", draws.verdict()?); // samples an approximation
//! println!("{}", SurrogateError::measure(&surrogate, &posterior, &draws, 100)?);
//! // ... or exactly.
//! let exact = DelayedAcceptance::new(&surrogate, Hmc::default(), 2);
//! let draws = Sampler::new(&posterior, exact).init(starts).draws(300).run()?;
//! println!("accepted by both stages: {:?}", draws.accept_rate());
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```
//!
//! # When not to use them
//! Where the full gradient is fast, which it is up to some hundred thousand rows: the table of the
//! guide's page on [surrogates](bnn_mcmc::guide::surrogates) has no row in which an emulator that
//! learns reaches Hamiltonian Monte Carlo on all rows.
//!
//! # Reproducibility
//! Equal seeds give equal emulators on one kind of processor. Their products are those of `ndarray`
//! and `nalgebra`, which the library's [portable mode](bnn_mcmc::portable) does not reach.

#![warn(missing_docs)]

mod network;
mod pairs;
mod perceptron;
mod random_features;
mod training;

pub use network::{Emulated, FittedNetwork, NetworkEmulator, NetworkWorkspace};
pub use random_features::{FeaturesWorkspace, FittedFeatures, RandomFeatures};

use bnn_mcmc::Error;
use ndarray::{ArrayView1, ArrayView2, ArrayViewMut1};

/// Adds the sum of factors_i row_i to `out`.
fn add_combination(factors: ArrayView1<f64>, rows: ArrayView2<f64>, mut out: ArrayViewMut1<f64>) {
    factors.iter().zip(rows.rows()).for_each(|(factor, row)| out.scaled_add(*factor, &row));
}

fn positive(name: &str, value: f64) -> Result<(), Error> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(Error::argument(name, value, "a finite number above 0"))
}

/// The program of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
