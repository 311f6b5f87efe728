//! Optimisers: towards a mode of a log density, to start chains from.
//!
//! A mode is no summary of a posterior, and in many dimensions lies far from where most of its mass
//! is; but from close to one a chain finds the bulk in few steps, where from a draw of a wide prior
//! it may end where the units of a network are saturated and gradients vanish. [`Adam::starts`]
//! runs one optimisation for each chain, from points as dispersed as you like: what the chains then
//! agree on, they have found from different sides.
//!
//! ```
//! use bnn_mcmc::optimise::Adam;
//! use bnn_mcmc::prelude::*;
//! let (train, _) = bnn_mcmc::data::bundled::iris().stratified_split(0.3, 1)?;
//! let network = Mlp::new(&[4, 3, 3], Activation::Tanh)?;
//! let posterior = Posterior::new(network, Categorical, &train, Priors::all(Normal::new(0.0, 5.0)?))?;
//! let starts = Adam { steps: 200, ..Adam::default() }.starts(&posterior, &Init::Random, 4, 1)?;
//! let draws = Sampler::new(&posterior, Nuts::default()).warmup(50).draws(50).init(starts).run()?;
//! assert_eq!(draws.n_chains(), 4);
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

pub mod adam;

pub use adam::Adam;
