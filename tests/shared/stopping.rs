//! A target that ends its run.

use std::sync::atomic::{AtomicI64, Ordering};

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::BoxSupport;
use bnn_mcmc::testing::GaussianTarget;

/// Asks for a stop at its n-th evaluation, wherever in a round that is.
pub struct Stopping<T> {
    inner: T,
    left: AtomicI64,
    stop: StopHandle,
    rounding: f64,
}

impl<T> Stopping<T> {
    /// `rounding` is the relative difference between the likelihood with and without a gradient, as in
    /// targets that compute both ways on their own.
    pub fn new(inner: T, left: i64, stop: &StopHandle, rounding: f64) -> Self {
        Self { inner, left: AtomicI64::new(left), stop: stop.clone(), rounding }
    }

    fn count(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 0 {
            self.stop.stop();
        }
    }
}

impl<T: Target> Target for Stopping<T> {
    type Workspace = T::Workspace;
    fn dim(&self) -> usize {
        self.inner.dim()
    }
    fn workspace(&self) -> Self::Workspace {
        self.inner.workspace()
    }
    fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        self.count();
        self.inner.log_density(q, ws)
    }
    fn layout(&self) -> Layout {
        self.inner.layout()
    }
}

impl<T: GradTarget> GradTarget for Stopping<T> {
    fn log_density_grad(&self, q: &[f64], g: &mut [f64], ws: &mut T::Workspace) -> LogDensity {
        self.count();
        let density = self.inner.log_density_grad(q, g, ws);
        LogDensity { likelihood: density.likelihood * (1.0 + self.rounding), ..density }
    }
}

/// A box that holds all starting points and cuts off much of the target.
impl BoxSupport for Stopping<GaussianTarget> {
    fn bounds(&self, lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error> {
        lower.copy_from_slice(&[f64::NEG_INFINITY, -2.0]);
        upper.copy_from_slice(&[2.0, 2.0]);
        Ok(())
    }
}
