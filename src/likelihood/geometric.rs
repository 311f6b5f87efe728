//! Counts of failures before the first success, one logarithm of a mean.

use ndarray::Array2;

use super::{
    Likelihood, SecondOrderLikelihood, check_outputs, draw_poisson, encode_plain_counts, exp_of,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::elementary::{sigmoid_in_place, softplus_in_place};
use crate::engine::{TILE_ROWS, Tile, TileMut};
use crate::rng::ChainRng;

/// y ~ Geometric with mean mu = e^f(x), and variance mu + mu^2:
/// [`NegativeBinomial`](super::NegativeBinomial) with a dispersion of 1.
///
/// With the output eta = log mu and p = sigmoid(eta) = mu / (1 + mu),
///
/// ```text
/// ell               = y eta - (y + 1) softplus(eta)
/// d ell / d eta     = y - (y + 1) p
/// d^2 ell / d eta^2 = -(y + 1) p (1 - p),     expected over y: -p
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Geometric;

/// p = sigmoid(eta) and softplus(-|eta|) of all rows.
fn links(out: Tile) -> ([f64; TILE_ROWS], [f64; TILE_ROWS]) {
    let (mut p, mut softplus) = ([0.0; TILE_ROWS], [0.0; TILE_ROWS]);
    for ((p, s), eta) in p.iter_mut().zip(&mut softplus).zip(out.column(0)) {
        (*p, *s) = (*eta, -eta.abs());
    }
    sigmoid_in_place(&mut p[..out.stride()]);
    softplus_in_place(&mut softplus[..out.stride()]);
    (p, softplus)
}

/// y eta - (y + 1) softplus(eta), where `softplus` is that of -|eta|.
fn log_probability(y: f64, eta: f64, softplus: f64) -> f64 {
    let certain = match eta > 0.0 {
        true => -eta,
        false if y == 0.0 => 0.0,
        false => y * eta,
    };
    certain - (y + 1.0) * softplus //~ geometric-density
}

impl Likelihood for Geometric {
    fn description(&self) -> Option<String> {
        Some("geometric".into())
    }

    /// Columns: y, and one that is not used.
    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        let y = encode_plain_counts("geometric", response)?;
        check_outputs("geometric", n_outputs, 1)?;
        Ok(y)
    }

    fn log_lik_rows(&self, _phi: &[f64], out: TileMut, y: Tile, rows: &mut [f64]) {
        let out = out.as_tile();
        let (_, softplus) = links(out);
        for (i, row) in rows.iter_mut().enumerate() {
            *row = log_probability(y.column(0)[i], out.column(0)[i], softplus[i]);
        }
    }

    fn log_lik_grad(
        &self,
        _phi: &[f64],
        out: Tile,
        y: Tile,
        mut d_out: TileMut,
        _d_phi: &mut [f64],
    ) -> f64 {
        let (p, softplus) = links(out);
        let (y, eta) = (y.column(0), out.column(0));
        let mut ell = 0.0;
        for (i, d) in d_out.column(0).iter_mut().enumerate() {
            ell += log_probability(y[i], eta[i], softplus[i]);
            *d = y[i] - (y[i] + 1.0) * p[i];
        }
        ell
    }

    fn mean(&self, _phi: &[f64], out: Tile, mean: TileMut) {
        exp_of(out, mean);
    }

    fn variance(&self, _phi: &[f64], out: Tile, mut variance: TileMut) -> bool {
        exp_of(out, variance.reborrow());
        variance.values().iter_mut().for_each(|v| *v += *v * *v);
        true
    }

    /// Poisson, with a rate that is exponentially distributed.
    fn draw(&self, _phi: &[f64], out: TileMut, _y: Tile, rng: &mut ChainRng, mut drawn: TileMut) {
        exp_of(out.as_tile(), drawn.reborrow());
        drawn.column(0).iter_mut().for_each(|y| *y = draw_poisson(*y * rng.gamma(1.0), rng));
    }
}

impl SecondOrderLikelihood for Geometric {
    fn log_lik_tangent(
        &self,
        curvature: Curvature,
        _phi: &[f64],
        out: Tile,
        _mean: Tile,
        y: Tile,
        r_out: Tile,
        _r_phi: &[f64],
        mut r_d_out: TileMut,
        _r_d_phi: &mut [f64],
    ) {
        let (p, _) = links(out);
        let (y, r_eta) = (y.column(0), r_out.column(0));
        for (i, d) in r_d_out.column(0).iter_mut().enumerate() {
            *d = match curvature {
                Curvature::Observed => -(y[i] + 1.0) * p[i] * (1.0 - p[i]) * r_eta[i],
                Curvature::Expected => -p[i] * r_eta[i],
            };
        }
    }
}
