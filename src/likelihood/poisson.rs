//! Counts without an upper limit, one logarithm of a rate.

use ndarray::Array2;

use super::{
    Likelihood, SecondOrderLikelihood, Tangent, Weights, check_outputs, draw_poisson,
    encode_plain_counts, exp_of, weighted,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::{Tile, TileMut};
use crate::rng::ChainRng;

/// y ~ Poisson(e^f(x)), the log link. The response is one column of counts, the model has one output.
///
/// With the output eta = log rate,
///
/// ```text
/// ell              = y eta - e^eta - log y!
/// d ell / d eta    = y - e^eta
/// d^2 ell / d eta^2 = -e^eta,     observed and expected
/// ```
///
/// Mean and variance are both e^eta: where counts vary more, use
/// [`NegativeBinomial`](super::NegativeBinomial). The density is 0 where e^eta overflows (eta >
/// 709), and the sampler rejects. Predictive draws of rates above 1.8e19 are NaN.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use ndarray::array;
/// let data = Dataset::counts(array![[0.0], [1.0], [2.0]], array![0.0, 2.0, 7.0])?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Poisson, &data, priors)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Poisson;

impl Likelihood for Poisson {
    fn description(&self) -> Option<String> {
        Some("Poisson".into())
    }

    /// Columns: y, log y!.
    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        let y = encode_plain_counts("Poisson", response)?;
        check_outputs("Poisson", n_outputs, 1)?;
        Ok(y)
    }

    fn log_lik_rows(&self, _phi: &[f64], mut out: TileMut, y: Tile, rows: &mut [f64]) {
        let (y, log_factorial) = (y.column(0), y.column(1));
        for (i, row) in rows.iter_mut().enumerate() {
            *row = weighted(y[i], out.column(0)[i]) - log_factorial[i];
        }
        crate::engine::elementary::exp_in_place(out.values());
        rows.iter_mut().zip(out.column(0)).for_each(|(row, rate)| *row = less_rate(*row, *rate));
    }

    fn log_lik_grad(
        &self,
        _phi: &[f64],
        out: Tile,
        y: Tile,
        weights: Weights,
        mut d_out: TileMut,
        _d_phi: &mut [f64],
    ) -> f64 {
        exp_of(out, d_out.reborrow());
        let (y, log_factorial, eta) = (y.column(0), y.column(1), out.column(0));
        let mut ell = 0.0;
        for (i, d) in d_out.column(0).iter_mut().enumerate() {
            let of_row = less_rate(weighted(y[i], eta[i]) - log_factorial[i], *d); //~ poisson-density
            ell += weighted(weights[i], of_row); //~ poisson-weights
            *d = weighted(weights[i], y[i] - *d);
        }
        ell
    }

    fn mean(&self, _phi: &[f64], out: Tile, mean: TileMut) {
        exp_of(out, mean);
    }

    fn variance(&self, _phi: &[f64], out: Tile, variance: TileMut) -> bool {
        exp_of(out, variance);
        true
    }

    fn draw(&self, _phi: &[f64], out: TileMut, _y: Tile, rng: &mut ChainRng, mut drawn: TileMut) {
        exp_of(out.as_tile(), drawn.reborrow());
        drawn.column(0).iter_mut().for_each(|y| *y = draw_poisson(*y, rng));
    }
}

/// y eta - log y! less the rate: -inf for an infinite rate.
pub(super) fn less_rate(log_weight: f64, rate: f64) -> f64 {
    if rate == f64::INFINITY { f64::NEG_INFINITY } else { log_weight - rate }
}

impl SecondOrderLikelihood for Poisson {
    /// R [y - e^eta] = -e^eta R eta, observed and expected.
    fn log_lik_tangent(
        &self,
        _: Curvature,
        at: Tangent,
        mut r_d_out: TileMut,
        _r_d_phi: &mut [f64],
    ) {
        let Tangent { mean, weights, r_out, .. } = at;
        let rows = mean.column(0).iter().zip(r_out.column(0)).zip(weights);
        for (d, ((rate, r), w)) in r_d_out.column(0).iter_mut().zip(rows) {
            *d = weighted(*w, -rate * r);
        }
    }
}
