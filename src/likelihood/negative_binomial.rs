//! Counts that vary more than Poisson's, one logarithm of a mean.

use std::sync::LazyLock;

use ndarray::Array2;

use super::gamma_functions::{digamma_rise, log_rise, trigamma_rise};
use super::{
    Likelihood, ORDINARY, SecondOrderLikelihood, Tangent, Weights, check_outputs, draw_poisson,
    encode_plain_counts, exp_of, ordinary, sigmoid, weighted,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::elementary::{sigmoid_in_place, softplus_in_place};
use crate::engine::{TILE_ROWS, Tile, TileMut};
use crate::layout::Layout;
use crate::portable::{exp, exp_m1, ln, ln_1p};
use crate::rng::ChainRng;

/// y ~ NegativeBinomial with mean mu = e^f(x) and dispersion r: variance mu + mu^2 / r.
///
/// The response is one column of counts, the model has one output. The larger r, the less dispersion:
/// r -> inf is [`Poisson`](super::Poisson). r is the `size` of R, and the `phi` of Stan's
/// `neg_binomial_2_log` (Hilbe 2011, doi:10.1017/CBO9780511973420). y is Poisson with a rate that is
/// Gamma-distributed with shape r and mean mu.
///
/// With the output eta = log mu, rho = log r, z = eta - rho and p = sigmoid(z) = mu / (r + mu),
///
/// ```text
/// ell            = log Gamma(y + r) - log Gamma(r) - log y! - r softplus(z) - y softplus(-z)
/// d ell / d eta  = y - (y + r) p
/// d ell / d rho  = r (psi(y + r) - psi(r) - softplus(z)) - d ell / d eta
/// ```
///
/// and second derivatives, with delta = psi'(y + r) - psi'(r),
///
/// ```text
/// eta, eta:  -(y + r) p (1 - p)                   expected over y:  -r p
/// eta, rho:  p d ell / d eta                                        0
/// rho, rho:  d ell/d rho + (1 - p) d ell/d eta + r p + r^2 delta    r p + r^2 E delta
/// ```
///
/// The last expectation has no closed form. It is an integral of one dimension, which is computed to
/// about 1e-12 for all mu and r.
///
/// A sampled r lives on the log scale, as the block `log_dispersion` = rho. Outside r from 1e-100 to
/// 1e100 the density is taken to be 0. The density is finite for all eta from -1e200 to 1e200.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use ndarray::array;
/// let data = Dataset::counts(array![[0.0], [1.0], [2.0]], array![0.0, 2.0, 17.0])?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?).with("log_dispersion", Normal::new(0.0, 1.0)?);
/// let likelihood = NegativeBinomial::sampled();
/// let posterior = Posterior::new(Linear::new(1, 1)?, likelihood, &data, priors)?;
/// assert_eq!(posterior.layout().block_names(), ["w", "b", "log_dispersion"]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NegativeBinomial {
    fixed: Option<f64>,
}

impl NegativeBinomial {
    /// The dispersion is a parameter: block `log_dispersion` = log r, one number, with a prior of
    /// its own.
    pub fn sampled() -> Self {
        Self { fixed: None }
    }

    /// The dispersion `r` is known, from 1e-100 to 1e100.
    pub fn fixed(r: f64) -> Result<Self, Error> {
        Ok(Self { fixed: Some(ordinary("dispersion of the negative binomial likelihood", r)?) })
    }

    /// r and log r.
    fn dispersion(&self, phi: &[f64]) -> (f64, f64) {
        self.fixed.map_or_else(|| (exp(phi[0]), phi[0]), |r| (r, ln(r)))
    }

    /// log Gamma(y + r) - log Gamma(r) - log y!, where `constant` holds the terms that do not
    /// depend on phi.
    fn coefficient(&self, y: f64, constant: f64, r: f64, rho: f64) -> f64 {
        if self.fixed.is_some() { constant } else { constant + log_rise(y, r) + y * rho }
    }
}

/// p = sigmoid(z) and softplus(-|z|) of all rows.
pub(super) struct Links {
    p: [f64; TILE_ROWS],
    softplus: [f64; TILE_ROWS],
}

impl Links {
    pub(super) fn new(out: Tile, rho: f64) -> Self {
        let (mut p, mut softplus) = ([0.0; TILE_ROWS], [0.0; TILE_ROWS]);
        for ((p, s), eta) in p.iter_mut().zip(&mut softplus).zip(out.column(0)) {
            *p = eta - rho;
            *s = -p.abs();
        }
        sigmoid_in_place(&mut p[..out.stride()]);
        softplus_in_place(&mut softplus[..out.stride()]);
        Self { p, softplus }
    }

    /// -r softplus(z) - y softplus(-z). Neither half cancels for large r or large |z|.
    pub(super) fn log_probability(&self, i: usize, z: f64, y: f64, r: f64) -> f64 {
        let certain = if z > 0.0 {
            -r * z
        } else if y == 0.0 {
            0.0
        } else {
            y * z
        };
        certain - (y + r) * self.softplus[i]
    }

    /// p, 1 - p and softplus(z).
    pub(super) fn parts(&self, i: usize, z: f64) -> [f64; 3] {
        [self.p[i], sigmoid(-z), self.softplus[i] + z.max(0.0)]
    }

    /// y - (y + r) p.
    pub(super) fn d_eta(&self, i: usize, y: f64, r: f64) -> f64 {
        y - (y + r) * self.p[i]
    }

    /// d ell / d rho.
    pub(super) fn d_rho(&self, i: usize, z: f64, y: f64, r: f64) -> f64 {
        let softplus = self.softplus[i] + z.max(0.0);
        r * (digamma_rise(y, r) - softplus) - self.d_eta(i, y, r) //~ dispersion-gradient
    }

    /// Second derivatives: (eta, eta) and (eta, rho).
    pub(super) fn of_eta(&self, i: usize, y: f64, r: f64) -> [f64; 2] {
        let p = self.p[i];
        [-(y + r) * p * (1.0 - p), p * self.d_eta(i, y, r)]
    }

    /// The second derivative (rho, rho).
    pub(super) fn of_rho(&self, i: usize, z: f64, y: f64, r: f64) -> f64 {
        let (p, delta) = (self.p[i], r * (r * trigamma_rise(y, r)));
        self.d_rho(i, z, y, r) + (1.0 - p) * self.d_eta(i, y, r) + r * p + delta
    }

    /// The expectation over y of the second derivative (eta, eta); (eta, rho) has 0, and (rho, rho)
    /// has -[`information`].
    pub(super) fn expected_of_eta(&self, i: usize, r: f64) -> f64 {
        -r * self.p[i]
    }
}

impl Likelihood for NegativeBinomial {
    fn layout(&self) -> Layout {
        match self.fixed {
            Some(_) => Layout::new(),
            None => Layout::new().with("log_dispersion", &[]),
        }
    }

    fn description(&self) -> Option<String> {
        Some(match self.fixed {
            Some(r) => format!("negative binomial with dispersion {r}"),
            None => "negative binomial with a sampled dispersion".into(),
        })
    }

    /// Columns: y; the coefficient of a known r, or -log y!.
    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        let mut encoded = encode_plain_counts("negative binomial", response)?;
        check_outputs("negative binomial", n_outputs, 1)?;
        for mut row in encoded.rows_mut() {
            let own = self.fixed.map_or(0.0, |r| log_rise(row[0], r) + row[0] * ln(r));
            row[1] = own - row[1];
        }
        Ok(encoded)
    }

    fn log_lik_rows(&self, phi: &[f64], out: TileMut, y: Tile, rows: &mut [f64]) {
        let (r, rho) = self.dispersion(phi);
        if !ORDINARY.contains(&r) {
            return rows.fill(f64::NEG_INFINITY);
        }
        let out = out.as_tile();
        let links = Links::new(out, rho);
        let (y, constant, eta) = (y.column(0), y.column(1), out.column(0));
        for (i, row) in rows.iter_mut().enumerate() {
            let probability = links.log_probability(i, eta[i] - rho, y[i], r);
            *row = self.coefficient(y[i], constant[i], r, rho) + probability;
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
        let (r, rho) = self.dispersion(phi);
        if !ORDINARY.contains(&r) {
            d_out.values().fill(0.0);
            return f64::NEG_INFINITY;
        }
        let links = Links::new(out, rho);
        let (y, constant, eta) = (y.column(0), y.column(1), out.column(0));
        let mut ell = 0.0;
        for (i, d) in d_out.column(0).iter_mut().enumerate() {
            let z = eta[i] - rho;
            ell += weighted(weights[i], self.coefficient(y[i], constant[i], r, rho));
            ell += weighted(weights[i], links.log_probability(i, z, y[i], r));
            *d = weighted(weights[i], links.d_eta(i, y[i], r));
            if let Some(d_rho) = d_phi.first_mut() {
                *d_rho += weighted(weights[i], links.d_rho(i, z, y[i], r));
            }
        }
        ell
    }

    fn mean(&self, _phi: &[f64], out: Tile, mean: TileMut) {
        exp_of(out, mean);
    }

    fn variance(&self, phi: &[f64], out: Tile, mut variance: TileMut) -> bool {
        let (r, _) = self.dispersion(phi);
        exp_of(out, variance.reborrow());
        variance.values().iter_mut().for_each(|v| *v += *v * (*v / r));
        true
    }

    /// Poisson, with a rate from Gamma(shape r, mean mu).
    fn draw(&self, phi: &[f64], out: TileMut, _y: Tile, rng: &mut ChainRng, mut drawn: TileMut) {
        let (r, _) = self.dispersion(phi);
        exp_of(out.as_tile(), drawn.reborrow());
        for y in drawn.column(0) {
            let rate = *y * (rng.gamma(r) / r); //~ negative-binomial-draw
            *y = draw_poisson(rate, rng);
        }
    }
}

impl SecondOrderLikelihood for NegativeBinomial {
    fn log_lik_tangent(
        &self,
        curvature: Curvature,
        at: Tangent,
        mut r_d_out: TileMut,
        r_d_phi: &mut [f64],
    ) {
        let Tangent { phi, out, mean, y, weights, r_out, r_phi } = at;
        let (r, rho) = self.dispersion(phi);
        let links = Links::new(out, rho);
        let r_rho = r_phi.first().copied().unwrap_or(0.0);
        let (y, r_eta) = (y.column(0), r_out.column(0));
        let mut sum = 0.0;
        for (i, d) in r_d_out.column(0).iter_mut().enumerate() {
            let w = weights[i];
            match curvature {
                Curvature::Observed => {
                    let [of_eta, of_both] = links.of_eta(i, y[i], r);
                    *d = weighted(w, of_eta * r_eta[i] + of_both * r_rho);
                    sum += weighted(w, of_both * r_eta[i]);
                    if r_rho != 0.0 {
                        let of_rho = links.of_rho(i, out.column(0)[i] - rho, y[i], r);
                        sum += weighted(w, of_rho * r_rho);
                    }
                }
                Curvature::Expected => {
                    *d = weighted(w, links.expected_of_eta(i, r) * r_eta[i]);
                    if r_rho != 0.0 {
                        sum -= weighted(w, information(mean.column(0)[i], r) * r_rho);
                    }
                }
            }
        }
        if let Some(r_d_rho) = r_d_phi.first_mut() {
            *r_d_rho += sum;
        }
    }
}

/// Nodes s_k and weights h s_k e^-s_k of the trapezoidal rule for log s, of step h, where s e^-s is
/// not negligible.
fn nodes() -> &'static [(f64, f64)] {
    const H: f64 = 0.3;
    static NODES: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| {
        (-100..=12).map(|k| exp(H * f64::from(k))).map(|s| (s, H * s * exp(-s))).collect()
    });
    &NODES
}

/// The information on rho, -r p - r^2 E delta, for any mu, infinity included.
///
/// With psi'(x) = int_0^inf t e^-xt / (1 - e^-t) dt, E e^-yt = e^-A and p / r = 1/r - 1/(r + mu), it is
///
/// ```text
/// r^2 int_0^inf e^-rt [(t - u)/u (1 - e^-A) - e^-A (1 - e^-d)] dt
///     u = 1 - e^-t,   x = mu u / r,   A = r log(1 + x),   d = mu t - A = mu (t - u) + r (x - log(1 + x))
/// ```
///
/// where nothing cancels if t - u and x - log(1 + x) are computed as such. In log(r t) the integrand
/// is analytic in a strip of half width pi/2 around the real line, and the trapezoidal rule of step
/// 0.3 is exact to about 1e-12.
pub(super) fn information(mu: f64, r: f64) -> f64 {
    let of = |&(s, weight): &(f64, f64)| {
        let t = s / r;
        let u = -exp_m1(-t);
        let (t_less, x) = (less_saturated(t, u), mu / r * u);
        let log = ln_1p(x);
        let rise = -exp_m1(-r * log);
        let rest = match 1.0 - rise {
            0.0 => 0.0,
            decay => decay * -exp_m1(-(mu * t_less + r * less_log(x, log))),
        };
        r * weight * (t_less / u * rise - rest)
    };
    nodes().iter().map(of).sum::<f64>().max(0.0)
}

/// t - u for u = 1 - e^-t.
fn less_saturated(t: f64, u: f64) -> f64 {
    match t < 0.1 {
        true => t * t * (1..=8).rev().fold(0.0, |sum, k| (1.0 - t * sum) / f64::from(k + 1)),
        false => t - u,
    }
}

/// x - log(1 + x), given the logarithm. For small x, with z = x / (2 + x), it is x z - 2 (z^3/3 +
/// z^5/5 + ...).
fn less_log(x: f64, log: f64) -> f64 {
    let z = x / (2.0 + x);
    match x < 0.1 {
        true => {
            let series = (1..=6).rev().fold(0.0, |sum, k| sum * z * z + 1.0 / f64::from(2 * k + 1));
            x * z - 2.0 * z * z * z * series
        }
        false => x - log,
    }
}
