//! Two classes, one logit.

use ndarray::Array2;

use super::{Likelihood, SecondOrderLikelihood, check_outputs, logit_tangent, mismatch};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::elementary::{sigmoid_in_place, softplus_and_sigmoid, softplus_in_place};
use crate::engine::{TILE_ROWS, Tile, TileMut};
use crate::rng::ChainRng;

/// P(second class) = sigmoid(f(x)). The response has exactly two classes, the model one output.
///
/// With the logit z of the second class and y in {0, 1},
///
/// ```text
/// ell          = y z - softplus(z),        softplus(z) = log(1 + e^z)
/// d ell / d z  = y - sigmoid(z)
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Bernoulli;

impl Likelihood for Bernoulli {
    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        let Response::Classes { index, names } = response else {
            return Err(mismatch("Bernoulli", response, "two classes"));
        };
        if names.len() != 2 {
            return Err(mismatch("Bernoulli", response, "two classes; use Categorical for more"));
        }
        check_outputs("Bernoulli", n_outputs, 1)?;
        Ok(Array2::from_shape_fn((index.len(), 1), |(i, _)| index[i] as f64))
    }

    fn log_lik_rows(&self, _phi: &[f64], mut out: TileMut, y: Tile, rows: &mut [f64]) {
        for ((row, z), y) in rows.iter_mut().zip(out.as_tile().column(0)).zip(y.column(0)) {
            *row = y * z;
        }
        softplus_in_place(out.values());
        for (row, softplus) in rows.iter_mut().zip(out.as_tile().column(0)) {
            *row -= softplus;
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
        let mut softplus = [0.0; TILE_ROWS];
        let softplus = &mut softplus[..out.stride()];
        softplus.copy_from_slice(out.values());
        softplus_and_sigmoid(softplus, d_out.values());
        let mut ell = 0.0;
        let d_out = d_out.column(0).iter_mut();
        for (((d, softplus), z), y) in d_out.zip(softplus).zip(out.column(0)).zip(y.column(0)) {
            ell += y * z - *softplus;
            *d = y - *d;
        }
        ell
    }

    fn mean(&self, _phi: &[f64], out: Tile, mut mean: TileMut) {
        mean.values().copy_from_slice(out.values());
        sigmoid_in_place(mean.values());
    }

    fn draw(
        &self,
        _phi: &[f64],
        mut out: TileMut,
        _y: Tile,
        rng: &mut ChainRng,
        mut drawn: TileMut,
    ) {
        sigmoid_in_place(out.values());
        for (y, p) in drawn.column(0).iter_mut().zip(out.column(0)) {
            let u = rng.uniform();
            *y = if p.is_nan() { f64::NAN } else { f64::from(u8::from(u < *p)) };
        }
    }
}

impl SecondOrderLikelihood for Bernoulli {
    /// R [y - sigmoid z] = -p (1 - p) R z, observed and expected.
    fn log_lik_tangent(
        &self,
        _: Curvature,
        _phi: &[f64],
        mean: Tile,
        _y: Tile,
        r_out: Tile,
        _r_phi: &[f64],
        mut r_d_out: TileMut,
        _r_d_phi: &mut [f64],
    ) {
        logit_tangent(None, mean.column(0), r_out.column(0), r_d_out.column(0));
    }
}
