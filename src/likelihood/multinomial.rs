//! Counts over K categories, K logits.

use ndarray::Array2;

use super::categorical::softmax;
use super::{
    Likelihood, SecondOrderLikelihood, Tangent, Weights, check_outputs, check_trials,
    cumulate_softmax, draw_binomial, mismatch, row_maximum, softmax_parts, softmax_tangent,
    weighted,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::elementary::ln_in_place;
use crate::engine::{TILE_ROWS, Tile, TileMut};
use crate::portable::ln_factorial;
use crate::rng::ChainRng;

/// c ~ Multinomial(n, softmax(f(x))). The response has one column of counts per category.
///
/// With counts c, n their sum, and logits z,
///
/// ```text
/// ell            = log(n! / prod c_k!) + sum c_k z_k - n logsumexp(z)
/// d ell / d z_k  = c_k - n softmax(z)_k
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Multinomial;

impl Likelihood for Multinomial {
    fn description(&self) -> Option<String> {
        Some("Multinomial".into())
    }

    /// Columns: the K counts, n, the log multinomial coefficient.
    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        let Response::Counts(counts) = response else {
            return Err(mismatch("multinomial", response, "counts per category"));
        };
        let k = counts.ncols();
        if k == 1 {
            let wanted = "counts of two or more categories; use Poisson for counts in one column";
            return Err(mismatch("multinomial", response, wanted));
        }
        check_outputs("multinomial", n_outputs, k)?;
        check_trials("multinomial", counts)?;
        let mut y = Array2::zeros((counts.nrows(), k + 2));
        for (mut y, counts) in y.rows_mut().into_iter().zip(counts.rows()) {
            y.slice_mut(ndarray::s![..k]).assign(&counts);
            y[k] = counts.sum();
            //~ multinomial-coefficient
            y[k + 1] = ln_factorial(y[k]) - counts.iter().map(|c| ln_factorial(*c)).sum::<f64>();
        }
        Ok(y)
    }

    fn log_lik_rows(&self, _phi: &[f64], mut out: TileMut, y: Tile, rows: &mut [f64]) {
        let (k, stride) = (out.columns(), out.stride());
        let (mut maximum, mut sum) = ([0.0; TILE_ROWS], [0.0; TILE_ROWS]);
        let maximum = &mut maximum[..stride];
        // Differences from the largest logit, which all logits of a row may share a part of.
        row_maximum(out.values(), maximum);
        rows.copy_from_slice(y.column(k + 1));
        for j in 0..k {
            let logits = out.column(j).iter().zip(&*maximum);
            for ((row, (z, m)), c) in rows.iter_mut().zip(logits).zip(y.column(j)) {
                *row += weighted(*c, z - m);
            }
        }
        softmax_parts(out.values(), maximum, &mut sum[..stride]);
        ln_in_place(&mut sum[..stride]);
        for (i, row) in rows.iter_mut().enumerate() {
            *row -= y.column(k)[i] * sum[i];
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
        let (k, stride) = (out.columns(), out.stride());
        let (mut maximum, mut sum) = ([0.0; TILE_ROWS], [0.0; TILE_ROWS]);
        d_out.values().copy_from_slice(out.values());
        softmax_parts(d_out.values(), &mut maximum[..stride], &mut sum[..stride]);
        let (n, constant) = (y.column(k), y.column(k + 1));
        let mut ell = 0.0;
        for j in 0..k {
            let (c, z) = (y.column(j), out.column(j));
            for (i, d) in d_out.column(j).iter_mut().enumerate() {
                *d = weights[i] * (c[i] - n[i] * *d / sum[i]);
                ell += weights[i] * weighted(c[i], z[i] - maximum[i]);
            }
        }
        ln_in_place(&mut sum[..stride]);
        for i in 0..out.rows() {
            ell += weights[i] * (constant[i] - n[i] * sum[i]);
        }
        ell
    }

    fn mean(&self, _phi: &[f64], out: Tile, mean: TileMut) {
        softmax(out, mean);
    }

    /// Category by category from the last: c_k ~ Binomial(n_k, p_k / (p_1 + ... + p_k)) with n_k the
    /// trials that are left.
    fn draw(
        &self,
        _phi: &[f64],
        mut out: TileMut,
        y: Tile,
        rng: &mut ChainRng,
        mut drawn: TileMut,
    ) {
        cumulate_softmax(&mut out);
        let (out, k) = (out.as_tile(), out.columns());
        for (i, n) in y.column(k).iter().enumerate() {
            let mut left = *n;
            for j in (1..k).rev() {
                let (below, up_to) = (out.column(j - 1)[i], out.column(j)[i]);
                // Without trials left, all that is below may have probability 0.
                let share = if left == 0.0 { 0.0 } else { (up_to - below) / up_to };
                let count = draw_binomial(left, share, rng);
                drawn.column(j)[i] = count;
                left -= count;
            }
            drawn.column(0)[i] = left;
        }
    }
}

impl SecondOrderLikelihood for Multinomial {
    /// -n p_k (R z_k - sum_j p_j R z_j), observed and expected.
    fn log_lik_tangent(&self, _: Curvature, at: Tangent, r_d_out: TileMut, _r_d_phi: &mut [f64]) {
        let Tangent { mean, y, weights, r_out, .. } = at;
        softmax_tangent(Some(y.column(r_out.columns())), weights, mean, r_out, r_d_out);
    }
}
