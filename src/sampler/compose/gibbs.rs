//! Gibbs update of a Gaussian noise variance.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::portable::ln;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Kernel, Step};
use crate::targets::{NoiseConditional, NoiseParameters, Point};

/// Draws the noise variance from its conditional distribution.
///
/// With N response values, SSE the sum of squared residuals, tau^2 ~ IG(a, b) and the likelihood to
/// the power beta, the conditional distribution of the variance given the weights is
///
/// ```text
/// tau^2 | rest ~ IG(a + beta N / 2, b + beta SSE / 2)
/// ```
///
/// which is drawn exactly; q holds eta = log tau^2. Cost of a step: two log densities, one for SSE
/// and one at the new point. Moves the noise only: put it into a [`Cycle`](crate::sampler::Cycle) with a
/// kernel for the weights.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::sampler::{Cycle, GibbsNoise, OnBlocks};
/// let x = ndarray::array![[0.0], [0.3], [0.6], [1.0]];
/// let data = Dataset::regression(x, ndarray::array![4.1, 4.8, 5.9, 7.0])?;
/// let priors = Priors::all(Normal::new(0.0, 5.0)?)
///     .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::sampled(), &data, priors)?;
/// let algorithm = Cycle(OnBlocks::new(&["w", "b"], Mala::default()), GibbsNoise);
/// let draws = Sampler::new(&posterior, algorithm).draws(200).run()?;
/// assert_eq!(draws.n_draws(), 200);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// Source: Gelman et al., *Bayesian Data Analysis*, 3rd ed., section 14.2, on the log scale.
#[doc(alias = "Gibbs sampler")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GibbsNoise;

/// The transition of [`GibbsNoise`].
#[derive(Debug)]
pub struct GibbsNoiseKernel {
    noise: NoiseParameters,
}

impl<T: NoiseConditional> Algorithm<T> for GibbsNoise {
    type Kernel = GibbsNoiseKernel;

    fn name(&self) -> String {
        "GibbsNoise".into()
    }

    fn kernel(&self, target: &T, _rng: &ChainRng) -> Result<GibbsNoiseKernel, Error> {
        Ok(GibbsNoiseKernel { noise: target.noise_parameters()? })
    }

    fn is_reversible(&self, _: &T) -> bool {
        true
    }
}

impl<T: NoiseConditional> Kernel<T> for GibbsNoiseKernel {
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
        let NoiseParameters { coordinate, values, shape, scale, beta } = self.noise;
        let sse = target.squared_error(current.q(), ws);
        let shape = shape + 0.5 * beta * values; //~ gibbs-shape
        let scale = scale + 0.5 * beta * sse; //~ gibbs-rate
        let accepted =
            Step { accept_prob: None, accepted: true, divergent: false, gradient_evals: 0 };
        // No draw exists for an improper conditional (no prior, beta = 0, a perfect fit), nor for
        // residuals that are not finite.
        if ![shape, scale].iter().all(|x| *x > 0.0 && x.is_finite()) {
            return Step { accepted: false, divergent: true, ..accepted };
        }
        // Gamma(a) = Gamma(a + 1) U^(1/a): in logs, since for a small shape the variable itself underflows.
        let log_gamma = match shape < 1.0 {
            true => ln(rng.gamma(shape + 1.0)) + ln(1.0 - rng.uniform()) / shape,
            false => ln(rng.gamma(shape)),
        };
        let eta = ln(scale) - log_gamma;
        current.set(|q| q[coordinate] = eta);
        current.eval(target, ws);
        accepted
    }
}
