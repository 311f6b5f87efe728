//! Independent normal noise around a model's outputs.

use ndarray::Array2;

use super::{
    LN_TAU, Likelihood, NormalNoise, SecondOrderLikelihood, Tangent, Weights, check_outputs,
    mismatch, subtract,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::simd::Vector;
use crate::engine::{Tile, TileMut};
use crate::error::ordinary_sd;
use crate::layout::Layout;
use crate::portable::{exp, ln};
use crate::rng::ChainRng;

/// y = f(x) + noise, noise ~ N(0, tau^2), the same tau for all response columns.
///
/// ```
/// use bnn_mcmc::likelihood::{Gaussian, Likelihood};
/// assert_eq!(Gaussian::sampled().layout().parameter_names(), ["log_noise_variance"]);
/// assert_eq!(Gaussian::fixed(0.5)?.layout().dim(), 0);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// For N response values (rows times columns) with variance tau^2 and SSE the sum of squared
/// residuals,
///
/// ```text
/// ell            = -N/2 log(2 pi tau^2) - SSE / (2 tau^2)
/// d ell / d f    = (y - f) / tau^2
/// d ell / d eta  = -N/2 + SSE / (2 tau^2),       eta = log tau^2
/// ```
///
/// and second derivatives, observed and expected over y,
///
/// ```text
/// f, f:  -1 / tau^2            f, eta:  -(y - f) / tau^2     eta, eta:  -SSE / (2 tau^2)
///        -1 / tau^2                     0                               -N / 2
/// ```
///
/// A sampled variance lives on the log scale, as the block `log_noise_variance` = eta. The Jacobian
/// of that change of variables is in the prior
/// ([`LogInverseGamma`](crate::prior::LogInverseGamma)), never here.
#[derive(Clone, Copy, Debug)]
pub struct Gaussian {
    fixed_variance: Option<f64>,
}

impl Gaussian {
    /// The noise variance is a parameter: block `log_noise_variance`, one number, with a prior of
    /// its own, such as [`LogInverseGamma`](crate::prior::LogInverseGamma).
    pub fn sampled() -> Self {
        Self { fixed_variance: None }
    }

    /// The noise has the known standard deviation `sd`, in units of the response, from 1e-150 to
    /// 1e150: its square must be an ordinary number.
    pub fn fixed(sd: f64) -> Result<Self, Error> {
        let sd = ordinary_sd("sd of the Gaussian likelihood", sd)?;
        Ok(Self { fixed_variance: Some(sd * sd) })
    }

    /// The weighted sum of squared residuals of a tile.
    pub(crate) fn squared_error(out: Tile, y: Tile, weights: Weights) -> f64 {
        let of_column = |j| {
            let rows = out.column(j).iter().zip(y.column(j)).zip(weights);
            rows.map(|((f, y), w)| w * ((y - f) * (y - f))).sum::<f64>() //~ weighted-squares
        };
        (0..out.columns()).map(of_column).sum()
    }

    /// eta = log tau^2.
    pub(crate) fn log_variance(&self, phi: &[f64]) -> f64 {
        self.fixed_variance.map_or_else(|| phi[0], ln)
    }
}

impl Likelihood for Gaussian {
    fn layout(&self) -> Layout {
        match self.fixed_variance {
            Some(_) => Layout::new(),
            None => Layout::new().with("log_noise_variance", &[]),
        }
    }

    fn description(&self) -> Option<String> {
        Some(match self.fixed_variance {
            Some(variance) => format!("Gaussian with variance {variance}"),
            None => "Gaussian with a sampled variance".into(),
        })
    }

    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        let Response::Real(y) = response else {
            return Err(mismatch("Gaussian", response, "real numbers"));
        };
        check_outputs("Gaussian", n_outputs, y.ncols())?;
        Ok(y.clone())
    }

    fn log_lik_rows(&self, phi: &[f64], out: TileMut, y: Tile, rows: &mut [f64]) {
        let out = out.as_tile();
        let eta = self.log_variance(phi);
        rows.fill(0.0);
        for j in 0..out.columns() {
            for ((row, f), y) in rows.iter_mut().zip(out.column(j)).zip(y.column(j)) {
                *row += (y - f) * (y - f);
            }
        }
        //~ gaussian-constant
        let constant = -0.5 * out.columns() as f64 * (LN_TAU + eta);
        let scale = -0.5 * exp(-eta);
        for row in rows {
            *row = scale * *row + constant;
        }
    }

    fn log_lik_grad(
        &self,
        phi: &[f64],
        out: Tile,
        y: Tile,
        weights: Weights,
        mut d_out: TileMut,
        d_phi: &mut [f64],
    ) -> f64 {
        let eta = self.log_variance(phi);
        let precision = exp(-eta);
        let sse: f64 = (0..out.columns())
            .map(|j| {
                let rows = [y.column(j), out.column(j)];
                scaled_residuals(rows, weights, precision, d_out.column(j))
            })
            .sum();
        let n = weights.sum() * out.columns() as f64; //~ gaussian-count
        if let Some(d_eta) = d_phi.first_mut() {
            *d_eta += 0.5 * (precision * sse - n); //~ gaussian-noise-gradient
        }
        -0.5 * (n * (LN_TAU + eta) + precision * sse)
    }

    fn variance(&self, phi: &[f64], _out: Tile, mut variance: TileMut) -> bool {
        variance.values().fill(self.fixed_variance.unwrap_or_else(|| exp(phi[0])));
        true
    }

    fn residuals(&self, out: Tile, y: Tile, d_out: TileMut) -> bool {
        subtract(y, out, d_out);
        true
    }

    fn normal_noise(&self) -> Option<NormalNoise> {
        Some(NormalNoise::Equal(*self))
    }

    fn mean(&self, _phi: &[f64], out: Tile, mut mean: TileMut) {
        mean.values().copy_from_slice(out.values());
    }

    fn draw(&self, phi: &[f64], out: TileMut, _y: Tile, rng: &mut ChainRng, mut drawn: TileMut) {
        let (out, tau) = (out.as_tile(), exp(0.5 * self.log_variance(phi))); //~ gaussian-noise-sd
        for j in 0..out.columns() {
            for (y, f) in drawn.column(j).iter_mut().zip(out.column(j)) {
                *y = f + tau * rng.normal();
            }
        }
    }
}

dispatch! {
    /// Writes scale w (y - f) into `d`, and returns the sum of w (y - f)^2, given y and f in `rows` and w.
    fn scaled_residuals(rows: [&[f64]; 2], w: Weights, scale: f64, d: &mut [f64]) -> f64
        => scaled_residuals_body
}

#[inline(always)]
fn scaled_residuals_body<V: Vector<f64>>(
    level: V::Level,
    rows: [&[f64]; 2],
    w: Weights,
    scale: f64,
    d: &mut [f64],
) -> f64 {
    if w.are_ones() {
        residuals_by::<V, false>(level, rows, &w, scale, d)
    } else {
        residuals_by::<V, true>(level, rows, &w, scale, d)
    }
}

/// The same; w = 1 unless `WEIGHTED`.
#[inline(always)]
fn residuals_by<V: Vector<f64>, const WEIGHTED: bool>(
    level: V::Level,
    [y, f]: [&[f64]; 2],
    w: &[f64],
    scale: f64,
    d: &mut [f64],
) -> f64 {
    let scales = V::splat(level, scale);
    let mut sums = [V::splat(level, 0.0); 2];
    let whole = y.len() - y.len() % V::LANES;
    // By places: what makes pairs is not always inlined here.
    let n = y.len() / V::LANES;
    let (ys, fs) = (&V::chunks(y)[..n], &V::chunks(f)[..n]);
    let (ws, ds) = (&V::chunks(w)[..n], &mut V::chunks_mut(d)[..n]);
    for i in 0..n {
        let residual = V::load(level, &ys[i]).sub(V::load(level, &fs[i]));
        let weighted = if WEIGHTED { V::load(level, &ws[i]).mul(residual) } else { residual };
        // Two sums by turns, so that additions wait less for each other.
        sums = [sums[1], weighted.mul_add(residual, sums[0])];
        scales.mul(weighted).store(&mut ds[i]);
    }
    let mut sum = sums[0].add(sums[1]).sum();
    for i in whole..y.len() {
        let residual = y[i] - f[i];
        let weighted = if WEIGHTED { w[i] * residual } else { residual };
        sum += weighted * residual;
        d[i] = scale * weighted;
    }
    sum
}

impl SecondOrderLikelihood for Gaussian {
    fn log_lik_tangent(
        &self,
        curvature: Curvature,
        at: Tangent,
        mut r_d_out: TileMut,
        r_d_phi: &mut [f64],
    ) {
        let Tangent { phi, mean, y, weights, r_out, r_phi, .. } = at;
        let precision = exp(-self.log_variance(phi));
        let r_eta = r_phi.first().copied().unwrap_or(0.0);
        // sum w (y - f) R f and SSE.
        let (mut cross, mut sse) = (0.0, 0.0);
        for j in 0..mean.columns() {
            let (f, y, r) = (mean.column(j), y.column(j), r_out.column(j));
            let d = r_d_out.column(j);
            match curvature {
                Curvature::Observed => {
                    for ((((d, f), y), r), w) in d.iter_mut().zip(f).zip(y).zip(r).zip(weights) {
                        let residual = y - f;
                        cross += w * (residual * r);
                        sse += w * (residual * residual);
                        *d = w * (-precision * (r + residual * r_eta));
                    }
                }
                Curvature::Expected => {
                    let rows = d.iter_mut().zip(r).zip(weights);
                    rows.for_each(|((d, r), w)| *d = w * (-precision * r));
                }
            }
        }
        if let Some(r_d_eta) = r_d_phi.first_mut() {
            *r_d_eta -= match curvature {
                Curvature::Observed => precision * (cross + 0.5 * sse * r_eta),
                Curvature::Expected => 0.5 * (weights.sum() * mean.columns() as f64) * r_eta,
            };
        }
    }
}
