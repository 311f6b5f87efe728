//! E_q log p(y, q) of a network by local reparameterisation.

use super::expectation::Expectation;
use super::prior::{ExpectedPrior, Sample};
use super::{At, Normals};
use crate::Error;
use crate::engine::noisy::{NoisyNetwork, Pair};
use crate::engine::{LentTiles, TILE_ROWS, Tile, TileMut, TileStorage};
use crate::likelihood::Likelihood;
use crate::model::{Mlp, Model};
use crate::posterior::Gathered;
use crate::posterior::{Observed, Posterior, weighted_sum};
use crate::rng::ChainRng;
use crate::targets::{LogDensity, Target};

/// Noise of its own for every row and unit, in place of a sample of the weights: for the
/// [`Posterior`] of an [`Mlp`].
#[derive(Clone, Debug)]
pub struct LocalNoise<'a, L> {
    posterior: &'a Posterior<Mlp, L>,
    prior: ExpectedPrior<'a>,
    n_weights: usize,
    n_phi: usize,
}

/// Scratch memory of [`LocalNoise`].
#[derive(Debug)]
pub struct LocalWorkspace {
    network: NoisyNetwork,
    sample: Sample,
    /// The variances of the weights, and the gradient with respect to them.
    variance: Vec<f64>,
    d_variance: Vec<f64>,
    d_phi: Vec<f64>,
    out: TileStorage,
    d_out: TileStorage,
    gathered: Option<Gathered>,
}

impl<'a, L: Likelihood> LocalNoise<'a, L> {
    pub(super) fn new(posterior: &'a Posterior<Mlp, L>) -> Result<Self, Error> {
        let n_weights = posterior.model().layout().dim();
        let n_phi = posterior.likelihood().layout().dim();
        let phi = n_weights..n_weights + n_phi;
        let prior = ExpectedPrior::new(posterior.layout(), posterior.priors(), phi)?;
        Ok(Self { posterior, prior, n_weights, n_phi })
    }

    /// Draws the part of q that is sampled, and computes the variances of the weights.
    fn begin(&self, at: At, rng: &mut ChainRng, ws: &mut LocalWorkspace) {
        self.prior.draw(at, rng, &mut ws.sample);
        ws.variance.iter_mut().zip(at.sd).for_each(|(variance, sd)| *variance = sd * sd);
        ws.network.begin();
    }
}

impl<L: Likelihood> Expectation for LocalNoise<'_, L> {
    type Base = Posterior<Mlp, L>;
    type Workspace = LocalWorkspace;

    fn base(&self) -> &Self::Base {
        self.posterior
    }

    fn n_obs(&self) -> usize {
        self.posterior.n_obs()
    }

    fn workspace(&self) -> LocalWorkspace {
        let columns = self.posterior.model().n_outputs();
        LocalWorkspace {
            network: NoisyNetwork::new(self.posterior.model().layers()),
            sample: Sample::new(self.posterior.dim()),
            variance: vec![0.0; self.n_weights],
            d_variance: vec![0.0; self.n_weights],
            d_phi: vec![0.0; self.n_phi],
            out: TileStorage::for_columns(columns),
            d_out: TileStorage::for_columns(columns),
            gathered: None,
        }
    }

    fn value(&self, at: At, rng: &mut ChainRng, ws: &mut LocalWorkspace) -> LogDensity {
        self.begin(at, rng, ws);
        let LocalWorkspace { network, sample, variance, out, .. } = ws;
        let (mean, phi) = (&at.mean[..self.n_weights], &sample.q[self.n_weights..][..self.n_phi]);
        let columns = self.posterior.model().n_outputs();
        let (mut likelihood, mut log_lik) = (0.0, [0.0; TILE_ROWS]);
        let mut tiles = self.posterior.tiles();
        while let Some((x, Observed { y, weights })) = tiles.next_tile() {
            let mut out = TileMut::new(&mut out[..x.stride() * columns], x.rows());
            network.forward(Pair { mean, variance: &*variance }, x, rng, out.reborrow());
            let rows = &mut log_lik[..x.rows()];
            self.posterior.likelihood().log_lik_rows(phi, out, y, rows);
            likelihood += weighted_sum(rows, weights);
        }
        LogDensity::new(likelihood, self.prior.value(at, sample))
    }

    fn add_grad(
        &self,
        beta: f64,
        rows: &[usize],
        at: At,
        mut grad: Normals<&mut [f64]>,
        rng: &mut ChainRng,
        ws: &mut LocalWorkspace,
    ) -> LogDensity {
        self.begin(at, rng, ws);
        let LocalWorkspace { network, sample, variance, d_variance, d_phi, out, d_out, gathered } =
            ws;
        let n = self.n_weights;
        let (mean, phi) = (&at.mean[..n], &sample.q[n..][..self.n_phi]);
        let (columns, model_likelihood) =
            (self.posterior.model().n_outputs(), self.posterior.likelihood());
        let weight = self.n_obs() as f64 / rows.len() as f64;
        let factor = beta * weight; //~ local-weight
        let mut likelihood = 0.0;
        d_phi.fill(0.0);
        self.posterior.for_each_gathered(rows, gathered, |x: Tile, observed: Observed| {
            let Observed { y, weights } = observed;
            let len = x.stride() * columns;
            let mut out = TileMut::new(&mut out[..len], x.rows());
            let mut d_out = TileMut::new(&mut d_out[..len], x.rows());
            network.forward(Pair { mean, variance: &*variance }, x, rng, out.reborrow());
            let (f, d) = (out.as_tile(), d_out.reborrow());
            likelihood += model_likelihood.log_lik_grad(phi, f, y, weights, d, d_phi);
            d_out.values().iter_mut().for_each(|d| *d *= factor);
            d_out.clear_padding();
            network.backward(Pair { mean, variance: &*variance }, x, d_out.as_tile());
        });
        d_variance.fill(0.0);
        network.finish(Pair { mean: &mut grad.mean[..n], variance: d_variance });
        for ((d_sd, sd), d_variance) in grad.sd.iter_mut().zip(at.sd).zip(d_variance) {
            *d_sd += 2.0 * sd * *d_variance;
        }
        self.prior.clear(sample);
        for (grad, d_phi) in sample.grad[n..].iter_mut().zip(d_phi) {
            *grad += factor * *d_phi; //~ local-phi-gradient
        }
        let prior = self.prior.add_grad(at, sample, &mut grad);
        self.prior.add_sampled(sample, &mut grad);
        LogDensity::new(weight * likelihood, prior)
    }
}
