//! Emulators that learn a log likelihood from points at which it was evaluated.
//!
//! | emulator | what it is | cost of an evaluation |
//! | --- | --- | --- |
//! | [`RandomFeatures`] | a linear combination of random functions, fitted to ell | features x d |
//! | [`NetworkEmulator`] | a network trained on ell, or on the predictions of all rows | its weights |
//!
//! Each of them is an [`Emulator`](crate::surrogate::Emulator), which
//! [`Surrogate`](crate::surrogate::Surrogate) makes a target. The points are draws of a short run,
//! and an emulator knows nothing about the rest of the space. [`crate::surrogate`] has a complete
//! program.

mod network;
mod pairs;
mod random_features;

pub use network::{Emulated, FittedNetwork, NetworkEmulator};
pub use random_features::{FittedFeatures, RandomFeatures};
