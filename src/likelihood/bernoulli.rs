//! Two classes, one logit.

use ndarray::Array2;

use super::{Likelihood, SecondOrderLikelihood, check_outputs, logit_tangent, mismatch};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::elementary::{sigmoid_in_place, softplus_and_sigmoid, softplus_in_place};
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
        weights: &[f64],
        mut d_out: TileMut,
        _d_phi: &mut [f64],
    ) -> f64 {
        // A part of the rows at a time: a small array is cleared.
        const ROWS: usize = 64;
        let mut softplus = [0.0; ROWS];
        let parts = out.values().chunks(ROWS).zip(d_out.values().chunks_mut(ROWS));
        let rows = y.column(0).chunks(ROWS).zip(weights.chunks(ROWS));
        parts.zip(rows).fold(0.0, |ell, ((z, d), (y, w))| {
            let softplus = &mut softplus[..z.len()];
            softplus.copy_from_slice(z);
            softplus_and_sigmoid(softplus, d);
            ell + gradient([y, z, softplus, w], d)
        })
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
    /// Replaces the sigmoids of z in `d` by w (y - sigmoid z), and returns the sum of w (y z - softplus z),
    /// given y, z, softplus z and w.
    fn gradient(rows: [&[f64]; 4], d: &mut [f64]) -> f64 => gradient_body
}

#[inline(always)]
fn gradient_body<V: Vector<f64>>(
    level: V::Level,
    [y, z, softplus, w]: [&[f64]; 4],
    d: &mut [f64],
) -> f64 {
    let mut sums = [V::splat(level, 0.0); 2];
    let whole = y.len() - y.len() % V::LANES;
    let rows = V::chunks(y).iter().zip(V::chunks(z)).zip(V::chunks(softplus)).zip(V::chunks_mut(d));
    for ((((y, z), softplus), d), w) in rows.zip(V::chunks(w)) {
        let (y, w) = (V::load(level, y), V::load(level, w));
        w.mul(y.sub(V::load(level, d))).store(d);
        let ell = y.mul(V::load(level, z)).sub(V::load(level, softplus));
        sums = [sums[1], sums[0].add(w.mul(ell))];
    }
    let mut ell = sums[0].add(sums[1]).sum();
    let rows = y.iter().zip(z).zip(softplus).zip(d).zip(w).skip(whole);
    for ((((y, z), softplus), d), w) in rows {
        ell += w * (y * z - softplus);
        *d = w * (y - *d); //~ bernoulli-gradient
    }
    ell
}

impl SecondOrderLikelihood for Bernoulli {
    /// R [y - sigmoid z] = -p (1 - p) R z, observed and expected.
    fn log_lik_tangent(
        &self,
        _: Curvature,
        _phi: &[f64],
        _out: Tile,
        mean: Tile,
        _y: Tile,
        weights: &[f64],
        r_out: Tile,
        _r_phi: &[f64],
        mut r_d_out: TileMut,
        _r_d_phi: &mut [f64],
    ) {
        logit_tangent(None, weights, mean.column(0), r_out.column(0), r_d_out.column(0));
    }
}
