//! The gradient over all rows.

use serde::{Deserialize, Serialize};

use super::source::{KNOWN, arrival};
use super::{GradSource, GradStream};
use crate::Error;
use crate::kernel::Step;
use crate::rng::ChainRng;
use crate::targets::{GradTarget, LogDensity, Point};

/// The gradient of the log density itself, over all rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullGrad;

impl<T: GradTarget> GradSource<T> for FullGrad {
    type Stream = Self;

    fn name(&self) -> String {
        "FullGrad".into()
    }

    fn stream(&self, _target: &T) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl<T: GradTarget> GradStream<T> for FullGrad {
    type State = ();

    const IS_EXACT: bool = true;

    fn state(&self) {}

    fn restore(&mut self, (): ()) {}

    fn eval(
        &mut self,
        target: &T,
        point: &mut Point,
        ws: &mut T::Workspace,
        _rng: &mut ChainRng,
    ) -> Step {
        if point.has_grad() {
            return KNOWN;
        }
        let density = point.eval_grad(target, ws);
        arrival(density, point.grad(), 1)
    }

    fn grad<'a>(&'a self, point: &'a Point) -> &'a [f64] {
        point.grad()
    }

    fn estimate(&self, point: &Point) -> LogDensity {
        point.log_density()
    }
}
