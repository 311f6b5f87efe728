//! Mean-field variational inference: the independent normals that are closest to a posterior.

mod elbo;
mod expectation;
mod fit;
mod local;
mod prior;

pub use elbo::Elbo;
pub use expectation::{DensitySamples, Expectation, WeightSamples};
pub use fit::VariationalFit;
pub use local::LocalNoise;

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::gradient::Minibatch;
use crate::optimise::{Adam, Ascent, Optimiser};
use crate::targets::MinibatchTarget;
use crate::{Error, memory};

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

/// Mean-field variational inference: the independent normals that are closest to a posterior, by an
/// ascent `A` on minibatches.
///
/// Among all q = N(mu, diag(s^2)) it is the one with the least KL divergence to the posterior,
/// which is the one with the largest **evidence lower bound** (ELBO),
///
/// ```text
/// ELBO = E_q[log p(y | q)] + E_q[log p(q)] + sum_i log s_i + d/2 (1 + log 2 pi)
///      = log p(y) - KL(N(mu, diag(s^2)), posterior)
/// ```
///
/// The ascent moves mu and rho = log s, whose gradients come from samples q = mu + s * eps,
/// eps ~ N(0, I) (the reparameterisation), of the rows of a minibatch b:
///
/// ```text
/// d / d mu   =  N/|b| sum_b grad ell_i(q)                + grad E_q[log p(q)]
/// d / d rho  = (N/|b| sum_b grad ell_i(q)) * eps * s + 1 + ...
/// ```
///
/// Rows count N/|b|-fold and the prior once, so that the mean over noise and batches is the
/// gradient of the bound. Adam moves each rho by about the learning rate per step, whatever the
/// scale of s.
///
/// **Priors.** The expectation of normal priors is exact, coordinate by coordinate,
///
/// ```text
/// E_q[log N(q; m, t^2)] = -log(2 pi t^2)/2 - ((mu - m)^2 + s^2) / (2 t^2)
/// ```
///
/// and for all other priors, hierarchical ones among them, it is estimated from the sample.
/// Posteriors with improper priors or boxes are refused.
///
/// **Local reparameterisation** ([`Elbo::local`]) is for networks. A sample of the weights is one
/// for all rows of a batch: their errors add up. But the pre-activations of a row are themselves
/// independent normals given the layer's inputs h, so that every row and unit can have noise of its
/// own: with means M and variances V of a layer's weights, m and v of its biases,
///
/// ```text
/// a = M h + m + sqrt(V h^2 + v) * eps
/// ```
///
/// It has the same expectation for every row, hence for their sum, and less variance. The
/// parameters of the likelihood are drawn once for each batch.
///
/// **When not to use it.** The normals are too narrow where parameters are correlated: for a normal
/// posterior of precision P they have the variances 1 / P_ii, not the diagonal of P^-1, which is
/// larger. They describe one mode of many. In a wide network whole units may return to their prior,
/// with no effect on the outputs, since their KL divergence costs more than they explain. Where
/// chains are affordable, compare the predictions.
///
/// **Cost.** A step with a weight sample costs one gradient of the minibatch, a step of local
/// reparameterisation 2.2 times as much in the table below; beside it O(d). The bound at the end
/// takes `elbo_samples` times all rows, forward. The fit itself runs on one thread.
///
/// Measured (`benches/peers/rivals_torch.py`, and the same problem here): an MLP 90-50-1, tanh,
/// 100,000 simulated rows, batches of 512, Adam; CPU seconds per epoch on a busy machine of two
/// processors; the bound after as many epochs, its standard error; variances of the gradient.
///
/// | | seconds per epoch | epochs | bound | variance for mu, for rho |
/// | --- | --- | --- | --- | --- |
/// | local reparameterisation | 0.11 to 0.16 | 20 | -31,280 (21) | 1, 1 |
/// | weight samples | 0.05 to 0.08 | 20 | -37,800 (71) | 1.0 to 1.3, 26 to 33 |
/// | weight samples | 0.05 to 0.08 | 45 | -32,720 (43) | |
/// | PyTorch 2.15, local, f32, one thread | 0.27 to 0.28 | | | |
/// | PyTorch 2.15, local, f64, one thread | 0.43 to 0.47 | | | |
/// | PyTorch 2.15, local, f32, two threads | 0.32 and more | | | |
///
/// Sources: Graves, NeurIPS 2011 (variational inference for networks with minibatches); Kingma,
/// Salimans and Welling, NeurIPS 2015, arXiv:1506.02557 (local reparameterisation); Blundell,
/// Cornebise, Kavukcuoglu and Wierstra, ICML 2015, arXiv:1505.05424 (weight samples; there with
/// softplus in place of exp for s).
///
/// ```
/// use bnn_mcmc::approximate::{Elbo, MeanField};
/// use bnn_mcmc::prelude::*;
/// # #[cfg(feature = "datasets")] {
/// let (train, test) = bnn_mcmc::data::bundled::iris().stratified_split(0.3, 1)?;
/// let network = Mlp::new(&[4, 8, 3], Activation::Tanh)?;
/// let posterior = Posterior::new(network, Categorical, &train, Priors::all(Normal::new(0.0, 1.0)?))?;
///
/// let mut start = vec![0.0; 67];
/// posterior.draw_start(&mut ChainRng::new(1, 0), &mut start)?;
/// let adam = Adam { learning_rate: 0.02, steps: 3000, ..Adam::new(Minibatch { size: 35 }) };
/// let fit = MeanField::new(adam).fit(&Elbo::local(&posterior)?.seed(1), &start)?;
/// let (bound, error) = fit.elbo();
/// assert!(bound > -75.0 && error < 2.0, "{bound} +- {error}");
/// assert_eq!(fit.taken_back, 0);
///
/// let draws = fit.draws(500, 1)?;
/// assert!(posterior.predict(&draws, &test)?.confusion()?.accuracy() > 0.9);
/// # }
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanField<A = Adam<Minibatch>> {
    /// The ascent: an [`Adam`], an [`Sgd`](crate::optimise::Sgd) or your own, on minibatches.
    pub ascent: A,
    /// The standard deviation of all coordinates at the start, above 0.
    pub initial_sd: f64,
    /// The number of estimates on all rows from which the bound is computed at the end, at least 2.
    pub elbo_samples: usize,
}

impl<A> MeanField<A> {
    /// With this ascent, standard deviations of 0.05 at the start, and 20 estimates at the end.
    pub fn new(ascent: A) -> Self {
        Self { ascent, initial_sd: 0.05, elbo_samples: 20 }
    }
}

impl Default for MeanField {
    /// 10,000 steps of Adam at a rate of 0.01 in batches of 32 rows.
    fn default() -> Self {
        let adam = Adam::new(Minibatch::default());
        Self::new(Adam { learning_rate: 0.01, steps: 10_000, ..adam })
    }
}

impl<A: Ascent<Source = Minibatch> + Clone> MeanField<A> {
    /// Fits the normals, from means at `start`. The seed of `elbo` is the seed of the noise and of
    /// the minibatches. Stopping by a score of held-out rows: see [`Elbo`].
    ///
    /// # Errors
    /// An argument out of range, more rows in a minibatch than there are, a start that is not as
    /// long as q or where the estimate or its gradient is not finite.
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
        let samples = [(self.elbo_samples, "elbo_samples")];
        memory::check::<f64>("estimates of the bound at the end", &samples, "take fewer")?;
        let size = self.ascent.gradient().size.max(1);
        let every = (elbo.n_obs() / size).max(self.ascent.steps() / 1000).max(1);
        let (mut history, mut sum, mut n) = (Vec::new(), 0.0, 0);
        let fit = Optimiser::new(elbo, self.ascent.clone()).seed(elbo.noise_seed()).run_observed(
            0,
            &start,
            |step, _, estimate| {
                (sum, n) = (sum + estimate, n + 1);
                if step.is_multiple_of(every) || step == self.ascent.steps() {
                    history.push((step, sum / f64::from(n)));
                    (sum, n) = (0.0, 0u32);
                }
            },
        )?;
        history.insert(0, (0, fit.log_density_at_start.total()));
        let mut finished = elbo.finish(&fit, self.elbo_samples)?.began(began);
        finished.history = history;
        Ok(finished)
    }
}
