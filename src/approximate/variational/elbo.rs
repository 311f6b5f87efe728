//! The evidence lower bound as a target for optimisers.

use std::f64::consts::TAU;

use super::expectation::{DensitySamples, Expectation, WeightSamples};
use super::local::LocalNoise;
use super::{At, Normals, VariationalFit};
use crate::engine::elementary::exp_in_place;
use crate::error::{finite, positive};
use crate::layout::Layout;
use crate::likelihood::Likelihood;
use crate::model::{Mlp, Model};
use crate::optimise::Optimum;
use crate::portable::ln;
use crate::posterior::Posterior;
use crate::rng::ChainRng;
use crate::targets::{GradTarget, LogDensity, MinibatchTarget, Target};
use crate::{Error, memory, threads};

/// The parts of a seed's streams that give the noise of gradients, and the noise of values.
const NOISE: u64 = u64::from_le_bytes(*b"elbonois");
const VALUES: u64 = u64::from_le_bytes(*b"elbovalu");

/// The evidence lower bound of independent normals, as a target over their means and log standard
/// deviations: the function that an [`Optimiser`](crate::optimise::Optimiser) climbs.
///
/// With d parameters q of the log density, v = (mu, rho) has 2 d coordinates, in the blocks `mean`
/// and `log_sd`:
///
/// ```text
/// log density(v) = E[log p(y | q)] + E[log p(q)] + sum_i rho_i + d/2 (1 + log 2 pi),
/// q_i ~ N(mu_i, e^(2 rho_i)) independent
/// ```
///
/// Its `likelihood` is the first expectation, its `prior` minus the KL divergence to the prior.
/// Both are **estimates**: gradients have noise of their own at every evaluation, from a stream of
/// the seed that begins with the workspace, and log densities come from one sample whose noise is
/// always the same. No sampler may use it. For most uses [`MeanField`](super::MeanField), which
/// says how the expectations are estimated, is the short way.
///
/// ```
/// use bnn_mcmc::approximate::Elbo;
/// use bnn_mcmc::optimise::{EarlyStopping, Optimiser};
/// use bnn_mcmc::prelude::*;
/// # #[cfg(feature = "datasets")] {
/// let (train, rest) = bnn_mcmc::data::bundled::iris().stratified_split(0.3, 1)?;
/// let network = Mlp::new(&[4, 8, 3], Activation::Tanh)?;
/// let posterior = Posterior::new(network, Categorical, &train, Priors::all(Normal::new(0.0, 1.0)?))?;
/// let held_out = posterior.held_out(&rest)?;
///
/// // Stopped by the score of the means; any other function of v would do.
/// let elbo = Elbo::local(&posterior)?.seed(1);
/// let adam = Adam { learning_rate: 0.01, steps: 2000, ..Adam::new(Minibatch { size: 35 }) };
/// let ascent = Optimiser::new(&elbo, adam)
///     .seed(1)
///     .early_stopping(EarlyStopping::default(), |v| held_out.score(elbo.means(v)))
///     .run(&elbo.start(&[0.0; 67], 0.05)?)?;
/// let fit = elbo.finish(&ascent, 20)?;
/// assert!(held_out.score(fit.mean())? > -0.35);
/// # }
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Elbo<E> {
    expectation: E,
    seed: u64,
}

impl<'a, M: Model, L: Likelihood> Elbo<WeightSamples<'a, M, L>> {
    /// The bound for a posterior, by one sample of all weights for each minibatch.
    ///
    /// # Errors
    /// If a block has an improper prior, or one without a density on the whole line.
    pub fn new(posterior: &'a Posterior<M, L>) -> Result<Self, Error> {
        Ok(Self { expectation: WeightSamples::new(posterior)?, seed: 0 })
    }
}

impl<'a, L: Likelihood> Elbo<LocalNoise<'a, L>> {
    /// The bound for the posterior of a network, by local reparameterisation.
    ///
    /// # Errors
    /// The errors of [`new`](Elbo::new).
    pub fn local(posterior: &'a Posterior<Mlp, L>) -> Result<Self, Error> {
        Ok(Self { expectation: LocalNoise::new(posterior)?, seed: 0 })
    }
}

impl<'a, T: GradTarget> Elbo<DensitySamples<'a, T>> {
    /// The bound for any density with a gradient, by one sample of q for each gradient. The density
    /// counts as one row of data: give the ascent `Minibatch { size: 1 }`.
    pub fn of_density(target: &'a T) -> Self {
        Self { expectation: DensitySamples::of_density(target), seed: 0 }
    }

    /// The bound for any density with gradients from minibatches, by one sample of q for each
    /// minibatch.
    pub fn of_rows(target: &'a T) -> Self
    where
        T: MinibatchTarget,
    {
        Self { expectation: DensitySamples::of_rows(target), seed: 0 }
    }
}

impl<E: Expectation> Elbo<E> {
    /// The seed of the noise; 0 by default.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(super) fn noise_seed(&self) -> u64 {
        self.seed
    }

    /// v where the means are `mean` and all standard deviations `sd`.
    ///
    /// # Errors
    /// If `mean` is not as long as q or not finite, or `sd` not above 0.
    pub fn start(&self, mean: &[f64], sd: f64) -> Result<Vec<f64>, Error> {
        let dim = self.expectation.base().dim();
        if mean.len() != dim {
            return Err(Error::shape("length of the start", mean.len(), dim));
        }
        for (i, mean) in mean.iter().enumerate() {
            finite(&format!("coordinate {i} of the start"), *mean)?;
        }
        let log_sd = ln(positive("initial standard deviation", sd)?);
        Ok([mean, &vec![log_sd; dim]].concat())
    }

    /// The means in v.
    pub fn means<'v>(&self, v: &'v [f64]) -> &'v [f64] {
        &v[..v.len() / 2]
    }

    /// The mean of `samples` independent estimates of the bound at v, each from all rows, and its
    /// standard error. The noise depends on the seed and on nothing else.
    ///
    /// # Errors
    /// If `samples` is less than 2, or v of the wrong length.
    pub fn estimate(&self, v: &[f64], samples: usize) -> Result<(f64, f64), Error> {
        threads::ready()?;
        if samples < 2 {
            return Err(Error::argument("samples of the ELBO", samples, "at least 2"));
        }
        if v.len() != self.dim() {
            return Err(Error::shape("length of v", v.len(), self.dim()));
        }
        memory::check::<f64>(
            "estimates of the ELBO",
            &[(samples, "samples")],
            "take fewer samples",
        )?;
        let each = |ws: &mut ElboWorkspace<E::Workspace>, k: usize| {
            ws.rng = ChainRng::new(self.seed, k as u64).child(VALUES);
            self.value(v, ws).total()
        };
        let values = threads::map_with(samples, &|| self.workspace(), &each);
        let n = samples as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        Ok((mean, (variance / n).sqrt()))
    }

    /// The approximation where an ascent ended, with its bound from `samples` estimates.
    ///
    /// # Errors
    /// The errors of [`estimate`](Self::estimate), for the point of `fit`.
    pub fn finish(&self, fit: &Optimum, samples: usize) -> Result<VariationalFit, Error> {
        let elbo = self.estimate(&fit.q, samples)?;
        if !elbo.0.is_finite() {
            let allowed =
                "finite: a normal distribution leaves every box, and a rate may be too large";
            return Err(Error::argument("evidence lower bound", elbo.0, allowed));
        }
        Ok(VariationalFit::new(self.expectation.base(), fit, elbo))
    }

    /// An estimate of the bound, with the noise of the workspace.
    fn value(&self, v: &[f64], ws: &mut ElboWorkspace<E::Workspace>) -> LogDensity {
        let ElboWorkspace { base, rng, sd } = ws;
        let at = normals(v, sd);
        with_entropy(self.expectation.value(at, rng, base), v)
    }
}

/// Scratch memory of an [`Elbo`], and the random stream of its noise.
#[derive(Debug)]
pub struct ElboWorkspace<W> {
    base: W,
    rng: ChainRng,
    sd: Vec<f64>,
}

/// The means and standard deviations of v.
fn normals<'v>(v: &'v [f64], sd: &'v mut [f64]) -> At<'v> {
    let (mean, log_sd) = v.split_at(sd.len());
    sd.copy_from_slice(log_sd);
    exp_in_place(sd);
    Normals { mean, sd }
}

/// The bound: expectations plus the entropy of the normals.
fn with_entropy(expectations: LogDensity, v: &[f64]) -> LogDensity {
    let d = v.len() / 2;
    let entropy = v[d..].iter().sum::<f64>() + 0.5 * d as f64 * (1.0 + ln(TAU));
    LogDensity::new(expectations.likelihood, expectations.prior + entropy) //~ elbo-entropy
}

impl<E: Expectation> Target for Elbo<E> {
    type Workspace = ElboWorkspace<E::Workspace>;

    fn dim(&self) -> usize {
        2 * self.expectation.base().dim()
    }

    fn workspace(&self) -> Self::Workspace {
        ElboWorkspace {
            base: self.expectation.workspace(),
            rng: ChainRng::new(self.seed, 0).child(NOISE),
            sd: vec![0.0; self.expectation.base().dim()],
        }
    }

    /// The log density from one sample, whose noise is always the same.
    fn log_density(&self, v: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        let of_values = ChainRng::new(self.seed, 0).child(VALUES);
        let of_gradients = std::mem::replace(&mut ws.rng, of_values);
        let value = self.value(v, ws);
        ws.rng = of_gradients;
        value
    }

    fn layout(&self) -> Layout {
        let d = self.expectation.base().dim();
        Layout::new().with("mean", &[d]).with("log_sd", &[d])
    }

    fn data_checksum(&self) -> Option<u32> {
        self.expectation.base().data_checksum()
    }
}

impl<E: Expectation> GradTarget for Elbo<E> {
    fn log_density_grad(
        &self,
        v: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let rows: Vec<usize> = (0..self.n_obs()).collect();
        self.minibatch_grad_at(1.0, &rows, v, grad, ws)
    }
}

impl<E: Expectation> MinibatchTarget for Elbo<E> {
    fn n_obs(&self) -> usize {
        self.expectation.n_obs()
    }

    fn minibatch_grad_at(
        &self,
        beta: f64,
        rows: &[usize],
        v: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let ElboWorkspace { base, rng, sd } = ws;
        let at = normals(v, sd);
        grad.fill(0.0);
        let (d_mean, d_log_sd) = grad.split_at_mut(at.mean.len());
        let d = Normals { mean: d_mean, sd: &mut *d_log_sd };
        let expectations = self.expectation.add_grad(beta, rows, at, d, rng, base);
        // d sd / d rho = sd, and the entropy grows by rho.
        //~ elbo-entropy-gradient
        d_log_sd.iter_mut().zip(at.sd).for_each(|(d, sd)| *d = *d * sd + 1.0);
        with_entropy(expectations, v)
    }
}
