//! Two classes, one logit.

use ndarray::Array2;

use super::{
    Likelihood, SecondOrderLikelihood, Tangent, Weights, check_outputs, logit_tangent, mismatch,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::elementary::{STRIP, sigmoid_in_place, softplus_and_sigmoid, softplus_in_place};
use crate::engine::simd::Vector;
use crate::engine::{Tile, TileMut};
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
    fn description(&self) -> Option<String> {
        Some("Bernoulli".into())
    }

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
        weights: Weights,
        mut d_out: TileMut,
        _d_phi: &mut [f64],
    ) -> f64 {
        gradient(out.values(), y.column(0), weights, d_out.values())
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

dispatch! {
    /// Writes w (y - sigmoid z) into `d`, and returns the sum of w (y z - softplus z), given the y and w of the rows; z
    /// and `d` are padded.
    fn gradient(z: &[f64], y: &[f64], w: Weights, d: &mut [f64]) -> f64 => gradient_body
}

#[inline(always)]
fn gradient_body<V: Vector<f64>>(
    level: V::Level,
    z: &[f64],
    y: &[f64],
    w: Weights,
    d: &mut [f64],
) -> f64 {
    if w.are_ones() {
        gradient_by::<V, false>(level, z, y, &w, d)
    } else {
        gradient_by::<V, true>(level, z, y, &w, d)
    }
}

/// The same; w = 1 unless `WEIGHTED`.
#[inline(always)]
fn gradient_by<V: Vector<f64>, const WEIGHTED: bool>(
    level: V::Level,
    z: &[f64],
    y: &[f64],
    w: &[f64],
    d: &mut [f64],
) -> f64 {
    let mut sums = [V::splat(level, 0.0); 2];
    let (n, rows) = (y.len() % STRIP, y.len());
    // All but w and y are padded, perhaps by a strip.
    let strips = y.as_chunks::<STRIP>().0.iter().zip(w.as_chunks().0);
    for ((y, w), (z, d)) in strips.zip(z.as_chunks().0.iter().zip(d.as_chunks_mut().0)) {
        strip::<V, WEIGHTED>(level, z, y, w, d, &mut sums);
    }
    if n > 0 {
        // Rows of weight 0 fill the last strip.
        let ([mut z_last, mut y_last, mut w_last], mut d_last) = ([[0.0; STRIP]; 3], [0.0; STRIP]);
        z_last[..n].copy_from_slice(&z[rows - n..rows]);
        y_last[..n].copy_from_slice(&y[rows - n..]);
        w_last[..n].copy_from_slice(&w[rows - n..]);
        strip::<V, true>(level, &z_last, &y_last, &w_last, &mut d_last, &mut sums);
        d[rows - n..rows].copy_from_slice(&d_last[..n]);
    }
    sums[0].add(sums[1]).sum()
}

/// A strip of rows, whose terms are added to `sums`.
#[inline(always)]
fn strip<V: Vector<f64>, const WEIGHTED: bool>(
    level: V::Level,
    z: &[f64; STRIP],
    y: &[f64; STRIP],
    w: &[f64; STRIP],
    d: &mut [f64; STRIP],
    sums: &mut [V; 2],
) {
    let mut softplus = [0.0; STRIP];
    for i in 0..STRIP {
        (softplus[i], d[i]) = softplus_and_sigmoid::<V::Level>(z[i]);
    }
    // By places: what makes pairs is not always inlined here.
    let n = STRIP / V::LANES;
    let (ys, zs, ws) = (&V::chunks(y)[..n], &V::chunks(z)[..n], &V::chunks(w)[..n]);
    let (softplus, ds) = (&V::chunks(&softplus)[..n], &mut V::chunks_mut(d)[..n]);
    for i in 0..n {
        let (y, w) = (V::load(level, &ys[i]), V::load(level, &ws[i]));
        let slope = y.sub(V::load(level, &ds[i])); //~ bernoulli-gradient
        let ell = y.mul(V::load(level, &zs[i])).sub(V::load(level, &softplus[i]));
        let (slope, ell) = if WEIGHTED { (w.mul(slope), w.mul(ell)) } else { (slope, ell) };
        slope.store(&mut ds[i]);
        *sums = [sums[1], sums[0].add(ell)];
    }
}

impl SecondOrderLikelihood for Bernoulli {
    /// R [y - sigmoid z] = -p (1 - p) R z, observed and expected.
    fn log_lik_tangent(
        &self,
        _: Curvature,
        at: Tangent,
        mut r_d_out: TileMut,
        _r_d_phi: &mut [f64],
    ) {
        let Tangent { mean, weights, r_out, .. } = at;
        logit_tangent(None, weights, mean.column(0), r_out.column(0), r_d_out.column(0));
    }
}
