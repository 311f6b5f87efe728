//! K classes, K logits.

use ndarray::Array2;

use super::{
    Likelihood, SecondOrderLikelihood, Tangent, Weights, check_outputs, cumulate_softmax, mismatch,
    softmax_parts, softmax_tangent,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::elementary::ln_in_place;
use crate::engine::simd::Vector;
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
    fn description(&self) -> Option<String> {
        Some("Categorical".into())
    }

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
        weights: Weights,
        mut d_out: TileMut,
        _d_phi: &mut [f64],
    ) -> f64 {
        let stride = out.stride();
        let (mut maximum, mut sum) = ([0.0; TILE_ROWS], [0.0; TILE_ROWS]);
        let (maximum, sum) = (&mut maximum[..stride], &mut sum[..stride]);
        d_out.values().copy_from_slice(out.values());
        softmax_parts(d_out.values(), maximum, sum);
        let mut log_sum = [0.0; TILE_ROWS];
        let log_sum = &mut log_sum[..stride];
        log_sum.copy_from_slice(sum);
        ln_in_place(log_sum);
        let parts = [maximum, sum, log_sum];
        gradient(out.values(), y.column(0), weights, parts, d_out.values())
    }

    fn mean(&self, _phi: &[f64], out: Tile, mean: TileMut) {
        softmax(out, mean);
    }

    fn n_drawn(&self, _n_outputs: usize) -> usize {
        1
    }

    /// Draws by inversion of the distribution function of the classes.
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

dispatch! {
    /// Replaces e = exp(z - max z) in `d` by w (1[k = y] - e / sum e), and returns the sum of
    /// w (z_y - max z - log sum e), given the y and w of the rows, and max z, sum e and log sum e in `parts`. All but y
    /// and w are padded.
    fn gradient(z: &[f64], y: &[f64], w: Weights, parts: [&mut [f64]; 3], d: &mut [f64]) -> f64
        => gradient_body
}

#[inline(always)]
fn gradient_body<V: Vector<f64>>(
    level: V::Level,
    z: &[f64],
    y: &[f64],
    w: Weights,
    parts: [&mut [f64]; 3],
    d: &mut [f64],
) -> f64 {
    if w.are_ones() {
        gradient_by::<V, false>(level, z, y, &w, parts, d)
    } else {
        gradient_by::<V, true>(level, z, y, &w, parts, d)
    }
}

/// The same; w = 1 unless `WEIGHTED`.
#[inline(always)]
fn gradient_by<V: Vector<f64>, const WEIGHTED: bool>(
    level: V::Level,
    z: &[f64],
    y: &[f64],
    w: &[f64],
    [maximum, sum, log_sum]: [&mut [f64]; 3],
    d: &mut [f64],
) -> f64 {
    let stride = sum.len();
    for (sum, log_sum) in sum.iter_mut().zip(&mut *log_sum) {
        (*sum, *log_sum) = (1.0 / *sum, -*log_sum);
    }
    let (log_p, inverse) = (&mut log_sum[..y.len()], &sum[..y.len()]);
    for (k, (z, d)) in z.chunks_exact(stride).zip(d.chunks_exact_mut(stride)).enumerate() {
        let k = k as f64;
        // In vectors: a comparison for every class instead of a row's jump to its own.
        // By places: what makes pairs is not always inlined here.
        let n = y.len();
        let (z, w, maximum, d) = (&z[..n], &w[..n], &maximum[..n], &mut d[..n]);
        for i in 0..n {
            let is = y[i] == k;
            let slope = if is { 1.0 } else { 0.0 } - d[i] * inverse[i]; //~ softmax-gradient
            d[i] = if WEIGHTED { w[i] * slope } else { slope };
            log_p[i] += if is { z[i] - maximum[i] } else { 0.0 };
        }
    }
    let whole = y.len() - y.len() % V::LANES;
    let mut sums = V::splat(level, 0.0);
    for (log_p, w) in V::chunks(log_p).iter().zip(V::chunks(w)) {
        let log_p = V::load(level, log_p);
        sums = sums.add(if WEIGHTED { V::load(level, w).mul(log_p) } else { log_p });
    }
    let mut ell = sums.sum();
    for (log_p, w) in log_p[whole..].iter().zip(&w[whole..]) {
        ell += if WEIGHTED { w * log_p } else { *log_p };
    }
    ell
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
    fn log_lik_tangent(&self, _: Curvature, at: Tangent, r_d_out: TileMut, _r_d_phi: &mut [f64]) {
        let Tangent { mean, weights, r_out, .. } = at;
        softmax_tangent(None, weights, mean, r_out, r_d_out);
    }
}
