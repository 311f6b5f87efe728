//! Langevin dynamics without a Metropolis test: one kernel, and the integrators that it runs.

mod baoab;
mod euler_maruyama;
mod kernel;
mod leimkuhler_matthews;
mod obabo;
mod sghmc;
mod sgld;

pub use baoab::Baoab;
pub use euler_maruyama::EulerMaruyama;
pub use kernel::{Integrator, LangevinKernel, Mass, StepSchedule};
pub use leimkuhler_matthews::LeimkuhlerMatthews;
pub use obabo::Obabo;
pub use sghmc::Sghmc;
pub use sgld::Sgld;
