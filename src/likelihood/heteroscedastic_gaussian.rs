//! Independent normal noise whose standard deviation is an output of the model.

use ndarray::Array2;

use super::{
    LN_TAU, Likelihood, NormalNoise, SecondOrderLikelihood, Tangent, Weights, check_outputs,
    mismatch, weighted,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::elementary::exp_in_place;
use crate::engine::{TILE_ROWS, Tile, TileMut};
use crate::rng::ChainRng;

/// y = mu(x) + e^s(x) N(0, 1): a model with two outputs for each response column.
///
/// With K response columns the outputs are mu_1, ..., mu_K, s_1, ..., s_K. s is the logarithm of
/// the noise's standard deviation, so that e^s is in units of the response. There are no parameters
/// beside the model's: the prior of the weights determines the prior of the noise, too. For each
/// row and column, with t = (y - mu) e^-s,
///
/// ```text
/// ell           = -1/2 log(2 pi) - s - t^2 / 2
/// d ell / d mu  = t e^-s
/// d ell / d s   = t^2 - 1
/// ```
///
/// and second derivatives, observed and expected over y,
///
/// ```text
/// mu, mu:  -e^-2s              mu, s:  -2 t e^-s             s, s:  -2 t^2
///          -e^-2s                      0                            -2
/// ```
///
/// (Nix and Weigend 1994, doi:10.1109/ICNN.1994.374138). Where t^2 overflows the density is 0, and the
/// sampler rejects.
///
/// **Is the posterior proper?** A model that fits some row exactly can make its density as large as
/// it likes. Where j parameters of mu fit k > j rows exactly, such as rows that are equal, an
/// integral over these parameters leaves a factor e^-(k - j)s as s falls to -inf, and the prior of s
/// must fall faster for the posterior to have an integral. Normal priors of the weights keep it
/// proper where s is linear in the weights, and where it is bounded by them (tanh, sigmoid). Priors
/// with heavier tails in a linear model (Student-t, Laplace, the half-Cauchy scales of
/// [`ard`](crate::prior::Priors::ard) and [`horseshoe`](crate::prior::Priors::horseshoe)), and
/// networks of ReLUs under normal priors, can make it improper if rows are equal: s is then a
/// product of weights, or has no such moments.
///
/// The mean of predictions is mu; [`predict_noise_sd`](crate::posterior::Posterior::predict_noise_sd)
/// gives e^s.
///
/// With one response column, [`Collapsed`](crate::sampler::Collapsed) integrates the output weights
/// of mu out.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use ndarray::array;
/// let data = Dataset::regression(array![[0.0], [1.0]], array![0.1, 2.0])?;
/// let network = Mlp::new(&[1, 8, 2], Activation::Tanh)?; // mu and s
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let posterior = Posterior::new(network, HeteroscedasticGaussian, &data, priors)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct HeteroscedasticGaussian;

impl Likelihood for HeteroscedasticGaussian {
    fn description(&self) -> Option<String> {
        Some("heteroscedastic Gaussian".into())
    }

    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        let Response::Real(y) = response else {
            return Err(mismatch("heteroscedastic Gaussian", response, "real numbers"));
        };
        check_outputs("heteroscedastic Gaussian", n_outputs, 2 * y.ncols())?;
        Ok(y.clone())
    }

    fn log_lik_rows(&self, _phi: &[f64], out: TileMut, y: Tile, rows: &mut [f64]) {
        let out = out.as_tile();
        rows.fill(-0.5 * y.columns() as f64 * LN_TAU);
        for j in 0..y.columns() {
            let s = out.column(y.columns() + j);
            for_each_residual(out, y, j, |i, t, _| rows[i] -= s[i] + 0.5 * t * t);
        }
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
        let n = weights.sum() * y.columns() as f64;
        let mut ell = -0.5 * n * LN_TAU;
        for j in 0..y.columns() {
            let s = out.column(y.columns() + j);
            for_each_residual(out, y, j, |i, t, scaled| {
                d_out.column(j)[i] = weighted(weights[i], scaled);
                //~ heteroscedastic-gradient
                d_out.column(y.columns() + j)[i] = weighted(weights[i], t * t - 1.0);
                ell -= weighted(weights[i], s[i] + 0.5 * t * t);
            });
        }
        ell
    }

    fn normal_noise(&self) -> Option<NormalNoise> {
        Some(NormalNoise::ByRow)
    }

    fn n_means(&self, n_outputs: usize) -> usize {
        n_outputs / 2
    }

    fn mean(&self, _phi: &[f64], out: Tile, mut mean: TileMut) {
        let n = mean.values().len();
        mean.values().copy_from_slice(&out.values()[..n]);
    }

    fn variance(&self, _phi: &[f64], out: Tile, mut variance: TileMut) -> bool {
        let n = variance.values().len();
        let pairs = variance.values().iter_mut().zip(&out.values()[n..]);
        pairs.for_each(|(v, s)| *v = 2.0 * s);
        exp_in_place(variance.values());
        true
    }

    fn n_drawn(&self, n_outputs: usize) -> usize {
        n_outputs / 2
    }

    fn draw(
        &self,
        _phi: &[f64],
        mut out: TileMut,
        _y: Tile,
        rng: &mut ChainRng,
        mut drawn: TileMut,
    ) {
        let columns = drawn.columns();
        let n = drawn.values().len();
        exp_in_place(&mut out.values()[n..]);
        let out = out.as_tile();
        for j in 0..columns {
            let (mu, sd) = (out.column(j), out.column(columns + j));
            for (y, (mu, sd)) in drawn.column(j).iter_mut().zip(mu.iter().zip(sd)) {
                *y = mu + sd * rng.normal(); //~ heteroscedastic-draw
            }
        }
    }
}

/// Calls `visit(row, t, t e^-s)` for response column `j` of every row, with t = (y - mu) e^-s.
fn for_each_residual(out: Tile, y: Tile, j: usize, mut visit: impl FnMut(usize, f64, f64)) {
    let mut inverse = [0.0; TILE_ROWS];
    let inverse = &mut inverse[..y.rows()];
    inverse.iter_mut().zip(out.column(y.columns() + j)).for_each(|(e, s)| *e = -s);
    exp_in_place(inverse);
    let (y, mu) = (y.column(j), out.column(j));
    for (i, inverse) in inverse.iter().enumerate() {
        let residual = y[i] - mu[i];
        // 0 * inf = 0: a row that is fitted exactly has a density, however small its noise.
        let t = if residual == 0.0 { 0.0 } else { residual * inverse };
        visit(i, t, if t == 0.0 { 0.0 } else { t * inverse });
    }
}

impl SecondOrderLikelihood for HeteroscedasticGaussian {
    fn log_lik_tangent(
        &self,
        curvature: Curvature,
        at: Tangent,
        mut r_d_out: TileMut,
        _r_d_phi: &mut [f64],
    ) {
        let Tangent { out, y, weights, r_out, .. } = at;
        let k = y.columns();
        let mut precision = [0.0; TILE_ROWS];
        let precision = &mut precision[..y.rows()];
        for j in 0..k {
            precision.iter_mut().zip(out.column(k + j)).for_each(|(p, s)| *p = -2.0 * s);
            exp_in_place(precision);
            let (r_mu, r_s) = (r_out.column(j), r_out.column(k + j));
            for_each_residual(out, y, j, |i, t, scaled| {
                let (d_mu, d_s) = match curvature {
                    Curvature::Observed => {
                        (-2.0 * scaled * r_s[i], -2.0 * (scaled * r_mu[i] + t * t * r_s[i]))
                    }
                    Curvature::Expected => (0.0, -2.0 * r_s[i]),
                };
                r_d_out.column(j)[i] = weighted(weights[i], d_mu - precision[i] * r_mu[i]);
                r_d_out.column(k + j)[i] = weighted(weights[i], d_s);
            });
        }
    }
}
