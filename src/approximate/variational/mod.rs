//! Mean-field variational inference: the independent normals that are closest to a posterior.

mod elbo;
mod expectation;
mod fit;
mod local;
mod prior;

pub use elbo::{Elbo, ElboWorkspace};
pub use expectation::{DensitySamples, Expectation, WeightSamples};
pub use fit::VariationalFit;
pub use local::{LocalNoise, LocalWorkspace};

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::optimise::{Adam, Ascent, EarlyStopping, Optimiser};
use crate::sampler::Minibatch;
use crate::targets::MinibatchTarget;

/// Numbers for the means and for the standard deviations of independent normals.
#[derive(Clone, Copy, Debug)]
pub struct Normals<T> {
    /// For the means.
    pub mean: T,
    /// For the standard deviations.
    pub sd: T,
}

/// The means and standard deviations of independent normals.
pub type At<'a> = Normals<&'a [f64]>;

/// Mean-field variational inference, with gradients that `A` climbs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanField<A = Adam<Minibatch>> {
    /// The ascent: an [`Adam`], an [`Sgd`](crate::optimise::Sgd) or your own, on minibatches.
    pub ascent: A,
    /// The standard deviation of all coordinates at the start, above 0.
    pub initial_sd: f64,
    /// From how many estimates on all rows the bound is computed at the end, at least 2.
    pub elbo_samples: usize,
}

impl<A> MeanField<A> {
    /// With this ascent, standard deviations of 0.05 at the start, and 20 estimates at the end.
    pub fn new(ascent: A) -> Self {
        Self { ascent, initial_sd: 0.05, elbo_samples: 20 }
    }
}

impl Default for MeanField {
    /// 10,000 steps of Adam at a rate of 0.01 in batches of 128 rows.
    fn default() -> Self {
        let adam = Adam::new(Minibatch { size: 128 });
        Self::new(Adam { learning_rate: 0.01, steps: 10_000, ..adam })
    }
}

impl<A: Ascent<Source = Minibatch> + Clone> MeanField<A> {
    /// Fits the normals, from means at `start`. The seed of the noise is that of `elbo`, and also that of the
    /// minibatches. Stopping by a score of held-out rows: see [`Elbo`].
    ///
    /// # Errors
    /// An argument out of range, or a start where the estimate or its gradient is not finite.
    pub fn fit<E: Expectation>(
        &self,
        elbo: &Elbo<E>,
        start: &[f64],
    ) -> Result<VariationalFit, Error> {
        let began = Instant::now();
        let start = elbo.start(start, self.initial_sd)?;
        if self.elbo_samples < 2 {
            return Err(Error::argument("elbo_samples", self.elbo_samples, "at least 2"));
        }
        // The latest point is always the best: evaluated for the history alone, once an epoch.
        let (latest, size) = (AtomicU32::new(0), self.ascent.gradient().size);
        let epoch =
            EarlyStopping { every: (elbo.n_obs() / size.max(1)).max(1), patience: usize::MAX };
        let fit = Optimiser::new(elbo, self.ascent.clone())
            .seed(elbo.noise_seed())
            .early_stopping(epoch, |_| Ok(f64::from(latest.fetch_add(1, Ordering::Relaxed))))
            .run(&start)?;
        Ok(elbo.finish(&fit, self.elbo_samples)?.began(began))
    }
}
