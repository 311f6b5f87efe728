//! The independence sampler: proposals that do not depend on where the chain is.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::prior::Prior;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Kernel, Step, metropolis_test};
use crate::targets::{Point, Target};

/// Metropolis-Hastings with independent proposals from `proposal`.
///
/// ```text
/// q' ~ g,   log ratio = log pi(q') - log pi(q) + log g(q) - log g(q')
/// ```
///
/// g is any proper [`Prior`], taken as a density over the whole of q. The chain is uniformly
/// ergodic if pi / g is bounded, and may be stuck for very long where it is not: g must have the
/// heavier tails. Cost of a step: one log density. Source: Tierney, Ann. Statist. 22, 1994,
/// doi:10.1214/aos/1176325750, section 2.3.3.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Independence<P> {
    /// The proposal density g over all of q.
    pub proposal: P,
}

/// The transition of [`Independence`].
#[derive(Debug)]
pub struct IndependenceKernel<P> {
    density: P,
    proposal: Point,
}

impl<T: Target, P: Prior + Clone> Algorithm<T> for Independence<P> {
    type Kernel = IndependenceKernel<P>;

    fn name(&self) -> String {
        "Independence".into()
    }

    fn kernel(&self, target: &T, rng: &ChainRng) -> Result<Self::Kernel, Error> {
        // A density that cannot be drawn from is found here rather than in the middle of a run.
        self.proposal.draw(&mut rng.child(0), &mut vec![0.0; target.dim()])?;
        Ok(IndependenceKernel {
            density: self.proposal.clone(),
            proposal: Point::new(target.dim()),
        })
    }

    fn is_reversible(&self, _: &T) -> bool {
        true
    }
}

impl<T: Target, P: Prior> Kernel<T> for IndependenceKernel<P> {
    type State = ();

    fn state(&self) {}

    fn restore(&mut self, (): ()) {}

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        self.proposal.set(|q| {
            // Cannot fail: the density was drawn from when the kernel was built.
            if self.density.draw(rng, q).is_err() {
                q.fill(f64::NAN);
            }
        });
        let new = self.proposal.eval(target, ws).total();
        let log_ratio = new - current.eval(target, ws).total()
            + self.density.log_density(current.q()) //~ independence-ratio
            - self.density.log_density(self.proposal.q());
        metropolis_test(current, &mut self.proposal, log_ratio, 0, rng)
    }

    fn diverged_at(&self, q: &mut [f64]) {
        q.copy_from_slice(self.proposal.q());
    }
}
