//! The sources of gradients for unadjusted kernels and optimisers.

mod epoch;
mod full;
mod minibatch;
mod source;

pub use epoch::Epoch;
pub use full::FullGrad;
pub use minibatch::{ControlVariates, Minibatch};
pub use source::{GradSource, GradStream};
