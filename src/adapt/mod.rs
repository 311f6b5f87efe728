//! Adaptation during warm-up: plain structs that kernels combine.
//!
//! Kernels adapt during warm-up only. At its end the kernel is frozen, so that the draws that are
//! kept come from one fixed, exact transition.

mod dual_averaging;
mod welford;
mod windows;

pub use dual_averaging::DualAveraging;
pub use welford::{Covariance, Variance};
pub use windows::Windows;
