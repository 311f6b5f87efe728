//! Where unadjusted kernels and optimisers take their gradients from.

mod epoch;
mod full;
mod minibatch;
mod source;

pub use epoch::Epoch;
pub use full::FullGrad;
pub use minibatch::{ControlVariates, Minibatch};
pub use source::{GradSource, GradStream};
