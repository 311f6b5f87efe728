//! Counts of successes and failures, one logit.

use ndarray::Array2;

use super::{
    Likelihood, SecondOrderLikelihood, Tangent, Weights, check_outputs, check_trials,
    draw_binomial, logit_tangent, mismatch, weighted,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::elementary::{sigmoid_in_place, softplus_in_place};
use crate::engine::{TILE_ROWS, Tile, TileMut};
use crate::portable::ln_factorial;
use crate::rng::ChainRng;

/// k ~ Binomial(n, sigmoid(f(x))). The response has the columns (successes, failures).
///
/// With k successes in n trials and the logit z of a success,
///
/// ```text
/// ell          = log C(n, k) + k z - n softplus(z)
///              = log C(n, k) - n softplus(-|z|) - (n - k) max(z, 0) - k max(-z, 0)
/// d ell / d z  = k - n sigmoid(z)
/// ```
///
/// The second form has no cancellation, and is finite for every finite z.
#[derive(Clone, Copy, Debug, Default)]
pub struct Binomial;

impl Likelihood for Binomial {
    fn description(&self) -> Option<String> {
        Some("Binomial".into())
    }

    /// Columns: k, n, log C(n, k).
    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        let Response::Counts(counts) = response else {
            return Err(mismatch("binomial", response, "counts of (successes, failures)"));
        };
        if counts.ncols() != 2 {
            return Err(mismatch(
                "binomial",
                response,
                "counts of (successes, failures); use Multinomial for more categories",
            ));
        }
        check_outputs("binomial", n_outputs, 1)?;
        check_trials("binomial", counts)?;
        Ok(Array2::from_shape_fn((counts.nrows(), 3), |(i, j)| {
            let (k, n) = (counts[(i, 0)], counts[(i, 0)] + counts[(i, 1)]);
            //~ binomial-coefficient
            [k, n, ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)][j]
        }))
    }

    fn log_lik_rows(&self, _phi: &[f64], mut out: TileMut, y: Tile, rows: &mut [f64]) {
        let (k, n, constant) = (y.column(0), y.column(1), y.column(2));
        for (i, row) in rows.iter_mut().enumerate() {
            *row = constant[i] - wrong_side(k[i], n[i], out.column(0)[i]);
        }
        out.values().iter_mut().for_each(|z| *z = -z.abs());
        softplus_in_place(out.values());
        for (i, row) in rows.iter_mut().enumerate() {
            *row -= n[i] * out.column(0)[i];
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
        let (k, n, constant) = (y.column(0), y.column(1), y.column(2));
        let z = out.column(0);
        let mut softplus = [0.0; TILE_ROWS];
        let softplus = &mut softplus[..out.stride()];
        for (s, z) in softplus.iter_mut().zip(out.values()) {
            *s = -z.abs();
        }
        softplus_in_place(softplus);
        d_out.values().copy_from_slice(out.values());
        sigmoid_in_place(d_out.values());
        let mut ell = 0.0;
        for (i, d) in d_out.column(0).iter_mut().enumerate() {
            let of_row = constant[i] - n[i] * softplus[i] - wrong_side(k[i], n[i], z[i]);
            ell += weighted(weights[i], of_row);
            *d = weights[i] * (k[i] - n[i] * *d); //~ binomial-gradient
        }
        ell
    }

    fn mean(&self, _phi: &[f64], out: Tile, mut mean: TileMut) {
        mean.values().copy_from_slice(out.values());
        sigmoid_in_place(mean.values());
    }

    fn n_drawn(&self, _n_outputs: usize) -> usize {
        2
    }

    fn draw(
        &self,
        _phi: &[f64],
        mut out: TileMut,
        y: Tile,
        rng: &mut ChainRng,
        mut drawn: TileMut,
    ) {
        sigmoid_in_place(out.values());
        for (i, (n, p)) in y.column(1).iter().zip(out.column(0)).enumerate() {
            let successes = draw_binomial(*n, *p, rng);
            drawn.column(0)[i] = successes;
            drawn.column(1)[i] = n - successes;
        }
    }
}

/// (n - k) max(z, 0) + k max(-z, 0), with 0 * inf = 0.
fn wrong_side(k: f64, n: f64, z: f64) -> f64 {
    let count = if z > 0.0 { n - k } else { k };
    if count == 0.0 { 0.0 } else { count * z.abs() }
}

impl SecondOrderLikelihood for Binomial {
    /// R [k - n sigmoid z] = -n p (1 - p) R z, observed and expected.
    fn log_lik_tangent(
        &self,
        _: Curvature,
        at: Tangent,
        mut r_d_out: TileMut,
        _r_d_phi: &mut [f64],
    ) {
        let Tangent { mean, y, weights, r_out, .. } = at;
        let n = Some(y.column(1));
        logit_tangent(n, weights, mean.column(0), r_out.column(0), r_d_out.column(0));
    }
}
