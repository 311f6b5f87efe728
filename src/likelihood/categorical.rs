//! K classes, K logits.

use ndarray::Array2;

use super::{
    Likelihood, SecondOrderLikelihood, check_outputs, cumulate_softmax, mismatch, softmax_parts,
    softmax_tangent,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::elementary::ln_in_place;
use crate::engine::{TILE_ROWS, Tile, TileMut};
use crate::rng::ChainRng;

/// P(class k) = softmax(f(x))_k. The model has one output per class.
///
/// With logits z and the class y,
///
/// ```text
/// ell            = z_y - logsumexp(z)
/// d ell / d z_k  = 1[k = y] - softmax(z)_k
/// ```
///
/// logsumexp subtracts the largest logit first. The K logits of a row are determined up to a
/// common constant only: the prior makes the posterior proper, and R-hat of single weights is to
/// be read with that in mind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Categorical;

impl Likelihood for Categorical {
    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        let Response::Classes { index, names } = response else {
            return Err(mismatch("categorical", response, "classes"));
        };
        check_outputs("categorical", n_outputs, names.len())?;
        Ok(Array2::from_shape_fn((index.len(), 1), |(i, _)| index[i] as f64))
    }

    fn log_lik_rows(&self, _phi: &[f64], mut out: TileMut, y: Tile, rows: &mut [f64]) {
        let stride = out.stride();
        for ((i, row), y) in rows.iter_mut().enumerate().zip(y.column(0)) {
            *row = out.values()[*y as usize * stride + i];
        }
        let (mut maximum, mut sum) = ([0.0; TILE_ROWS], [0.0; TILE_ROWS]);
        softmax_parts(out.values(), &mut maximum[..stride], &mut sum[..stride]);
        ln_in_place(&mut sum[..stride]);
        for ((row, m), log_sum) in rows.iter_mut().zip(maximum).zip(sum) {
            *row = (*row - m) - log_sum;
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
        let stride = out.stride();
        let (mut maximum, mut sum) = ([0.0; TILE_ROWS], [0.0; TILE_ROWS]);
        d_out.values().copy_from_slice(out.values());
        softmax_parts(d_out.values(), &mut maximum[..stride], &mut sum[..stride]);
        for column in d_out.values().chunks_exact_mut(stride) {
            for (d, s) in column.iter_mut().zip(&sum) {
                *d /= -s;
            }
        }
        ln_in_place(&mut sum[..stride]);
        let mut ell = 0.0;
        for (i, y) in y.column(0).iter().enumerate() {
            let at = *y as usize * stride + i;
            ell += (out.values()[at] - maximum[i]) - sum[i];
            d_out.values()[at] += 1.0;
        }
        ell
    }

    fn mean(&self, _phi: &[f64], out: Tile, mean: TileMut) {
        softmax(out, mean);
    }

    fn n_drawn(&self, _n_outputs: usize) -> usize {
        1
    }

    /// By inversion of the distribution function of the classes.
    fn draw(
        &self,
        _phi: &[f64],
        mut out: TileMut,
        _y: Tile,
        rng: &mut ChainRng,
        mut drawn: TileMut,
    ) {
        cumulate_softmax(&mut out);
        let (out, last) = (out.as_tile(), out.columns() - 1);
        for (i, y) in drawn.column(0).iter_mut().enumerate() {
            let total = out.column(last)[i];
            let u = total * rng.uniform();
            let class = (0..last).find(|k| u < out.column(*k)[i]).unwrap_or(last);
            *y = if total.is_nan() { f64::NAN } else { class as f64 };
        }
    }
}

/// Writes softmax of each row.
pub(super) fn softmax(out: Tile, mut mean: TileMut) {
    let stride = out.stride();
    let (mut maximum, mut sum) = ([0.0; TILE_ROWS], [0.0; TILE_ROWS]);
    mean.values().copy_from_slice(out.values());
    softmax_parts(mean.values(), &mut maximum[..stride], &mut sum[..stride]);
    for column in mean.values().chunks_exact_mut(stride) {
        for (p, s) in column.iter_mut().zip(&sum) {
            *p /= s;
        }
    }
}

impl SecondOrderLikelihood for Categorical {
    /// -p_k (R z_k - sum_j p_j R z_j), observed and expected.
    fn log_lik_tangent(
        &self,
        _: Curvature,
        _phi: &[f64],
        mean: Tile,
        _y: Tile,
        r_out: Tile,
        _r_phi: &[f64],
        r_d_out: TileMut,
        _r_d_phi: &mut [f64],
    ) {
        softmax_tangent(None, mean, r_out, r_d_out);
    }
}
