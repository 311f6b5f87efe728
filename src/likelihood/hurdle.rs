//! Counts whose zeros have a probability of their own.

use ndarray::Array2;

use super::count_rows::{Counts, NoZero, Rows, draw};
use super::{
    Likelihood, SecondOrderLikelihood, Tangent, Weights, check_outputs, encode_plain_counts,
    ln_1m_exp, sigmoid, softplus, weighted,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::{Tile, TileMut};
use crate::layout::Layout;
use crate::portable::{exp, exp_m1, ln, ln_1p};
use crate::rng::ChainRng;

/// y = 0 with probability w, otherwise a [`Poisson`](super::Poisson) or
/// [`NegativeBinomial`](super::NegativeBinomial) count that is known not to be 0.
///
/// The response is one column of counts, the model has one output. Where [`ZeroInflated`](super::ZeroInflated) adds
/// zeros to those that a count has, here all zeros come from w, which is the same for all rows; there may be fewer than
/// the count would have. With the output eta = log mu, of the count before its zeros are taken away, omega = logit w,
/// p(y) the density of the count and A = -log p(0),
///
/// ```text
/// y = 0:  ell = -softplus(-omega)
/// y > 0:  ell = -softplus(omega) + log p(y) - log(1 - e^-A)
/// d ell / d omega = 1 - w for y = 0, else -w
/// d ell / d theta = 0 for y = 0, else d log p(y) / d theta - M d log A / d theta,   M = A / (e^A - 1)
/// ```
///
/// for theta = eta or rho = log r, the dispersion of a negative binomial count. For a small mean A is small: then
/// log(1 - e^-A) = log A + log((1 - e^-A) / A), with log A from eta and not from A. The row
/// y > 0 has the second derivatives of log p(y) less
///
/// ```text
/// M (1 - A - M) (d log A / d theta) (d log A / d theta') + M d^2 log A / d theta d theta'
/// ```
///
/// and their expectations have, in place of the derivatives of log p(y), with p = mu / (r + mu) and information I on rho,
///
/// ```text
///            Poisson    negative binomial
/// eta, eta:  -mu        -r p - M p (d log A / d eta)
/// eta, rho:             M p (d log A / d eta)
/// rho, rho:             -I - M (I + d^2 log p(0) / d rho^2) / A
/// ```
///
/// all times 1 - w. The mean is (1 - w) mu / (1 - p(0)).
///
/// Blocks: `log_dispersion` = rho of negative binomial counts, then `logit_zeros` = omega. Outside r from 1e-100 to
/// 1e100 the density is taken to be 0.
///
/// Source: Mullahy, Journal of Econometrics 33, 1986, doi:10.1016/0304-4076(86)90002-3.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use ndarray::array;
/// let data = Dataset::counts(array![[0.0], [1.0], [2.0]], array![0.0, 1.0, 7.0])?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?).with("logit_zeros", Normal::new(0.0, 1.5)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Hurdle::poisson(), &data, priors)?;
/// assert_eq!(posterior.layout().block_names(), ["w", "b", "logit_zeros"]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Hurdle {
    counts: Counts,
}

impl Hurdle {
    /// Poisson counts above 0.
    pub fn poisson() -> Self {
        Self { counts: Counts::Poisson }
    }

    /// Negative binomial counts above 0, whose dispersion is sampled, too.
    pub fn negative_binomial() -> Self {
        Self { counts: Counts::NegativeBinomial }
    }

    fn name(&self) -> String {
        format!("hurdle {}", self.counts.name())
    }

    /// The rows of a tile; `None` where the density is taken to be 0.
    fn rows<'o>(&self, phi: &[f64], out: Tile<'o>) -> Option<Rows<'o>> {
        let rho = self.counts.own(phi).0;
        Some(Rows::new(out, self.counts.dispersion(rho)?, rho))
    }
}

/// log p(y) - log(1 - p(0)) of row `i`.
fn truncated(rows: &Rows, i: usize, y: f64, log_factorial: f64) -> f64 {
    rows.value(i, y, log_factorial) - rows.no_zero(i).log_probability() //~ above-zero-density
}

/// The derivatives of that with respect to eta and rho.
fn truncated_slope(rows: &Rows, i: usize, y: f64) -> [f64; 2] {
    let (no_zero, slope) = (rows.no_zero(i), rows.slope(i, y));
    let (m, of_a) = (no_zero.m(), no_zero.slopes(rows.is_dispersed()));
    [slope[0] - m * of_a[0], slope[1] - m * of_a[1]] //~ above-zero-gradient
}

/// The second derivatives of log(1 - p(0)) of row `i` along (R eta, R rho).
fn normaliser_tangent(rows: &Rows, no_zero: &NoZero, r: [f64; 2]) -> [f64; 2] {
    let (m, of_a) = (no_zero.m(), no_zero.slopes(rows.is_dispersed()));
    let bend = m * no_zero.bend * (r[0] - r[1]);
    let along = match m {
        0.0 => 0.0,
        m => m * (1.0 - no_zero.a - m) * (of_a[0] * r[0] + of_a[1] * r[1]),
    };
    [along * of_a[0] + bend, along * of_a[1] - bend]
}

/// The expected second derivatives of log p(y) of row `i`, given y > 0, along (R eta, R rho).
fn expected_tangent(rows: &Rows, no_zero: &NoZero, i: usize, r: [f64; 2]) -> [f64; 2] {
    let mut tangent = rows.expected_tangent(i, r);
    let of_zero = no_zero.m() * no_zero.p * no_zero.slope;
    tangent[0] -= of_zero * (r[0] - r[1]);
    tangent[1] += of_zero * r[0];
    if r[1] != 0.0 && no_zero.a > 0.0 {
        let [_, expected] = rows.expected_tangent(i, [0.0, r[1]]);
        let [_, at_zero] = rows.tangent(i, 0.0, [0.0, r[1]]);
        tangent[1] += no_zero.m() * ((expected - at_zero) / no_zero.a);
    }
    tangent
}

impl Likelihood for Hurdle {
    fn layout(&self) -> Layout {
        self.counts.layout("logit_zeros")
    }

    fn description(&self) -> Option<String> {
        Some(self.name())
    }

    /// Columns: y, log y!.
    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        let y = encode_plain_counts(&self.name(), response)?;
        check_outputs(&self.name(), n_outputs, 1)?;
        Ok(y)
    }

    fn log_lik_rows(&self, phi: &[f64], out: TileMut, y: Tile, rows: &mut [f64]) {
        let Some(counts) = self.rows(phi, out.as_tile()) else {
            return rows.fill(f64::NEG_INFINITY);
        };
        let (y, log_factorial, omega) = (y.column(0), y.column(1), self.counts.own(phi).1);
        let [zero, above] = [-softplus(-omega), -softplus(omega)];
        for (i, row) in rows.iter_mut().enumerate() {
            *row = match y[i] {
                0.0 => zero,
                y => above + truncated(&counts, i, y, log_factorial[i]),
            };
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
        let Some(counts) = self.rows(phi, out) else {
            d_out.values().fill(0.0);
            return f64::NEG_INFINITY;
        };
        let (y, log_factorial, omega) = (y.column(0), y.column(1), self.counts.own(phi).1);
        let [mut ell, mut d_rho, mut zeros, mut above] = [0.0; 4];
        for (i, d) in d_out.column(0).iter_mut().enumerate() {
            if y[i] == 0.0 {
                *d = 0.0;
                zeros += weights[i];
                continue;
            }
            let [of_eta, of_rho] = truncated_slope(&counts, i, y[i]);
            ell += weighted(weights[i], truncated(&counts, i, y[i], log_factorial[i]));
            *d = weighted(weights[i], of_eta);
            d_rho += weighted(weights[i], of_rho);
            above += weights[i];
        }
        self.counts.add(d_rho, zeros * sigmoid(-omega) - above * sigmoid(omega), d_phi);
        ell - weighted(zeros, softplus(-omega)) - weighted(above, softplus(omega))
    }

    fn mean(&self, phi: &[f64], out: Tile, mut mean: TileMut) {
        let Some(counts) = self.rows(phi, out) else {
            return mean.values().fill(f64::NAN);
        };
        let log_above = -softplus(self.counts.own(phi).1);
        for (i, (mean, eta)) in mean.column(0).iter_mut().zip(out.column(0)).enumerate() {
            *mean = exp(log_above + (eta - counts.no_zero(i).log_probability()));
        }
    }

    /// With the mean m, E y^2 is m (1 + mu + mu/r).
    fn variance(&self, phi: &[f64], out: Tile, mut variance: TileMut) -> bool {
        self.mean(phi, out, variance.reborrow());
        let Some(counts) = self.rows(phi, out) else { return true };
        for (i, v) in variance.column(0).iter_mut().enumerate() {
            let mu = counts.mu(i);
            *v *= 1.0 + mu + mu / counts.r() - *v;
        }
        true
    }

    fn draw(&self, phi: &[f64], out: TileMut, _y: Tile, rng: &mut ChainRng, mut drawn: TileMut) {
        let Some(counts) = self.rows(phi, out.as_tile()) else {
            return drawn.values().fill(f64::NAN);
        };
        let w = sigmoid(self.counts.own(phi).1);
        for (i, y) in drawn.column(0).iter_mut().enumerate() {
            let is_zero = rng.uniform() < w;
            let count = draw_above(&counts, i, rng);
            *y = if is_zero && !count.is_nan() { 0.0 } else { count };
        }
    }
}

/// A count of row `i` that is not 0.
///
/// It is the number of points of clusters, whose number is Poisson with the mean A: one point each for a Poisson
/// count, a number from the logarithmic distribution of p for a negative binomial one. In the interval from 0 to A the
/// first cluster is at -log(1 - U (1 - e^-A)), given that there is one; what follows is a count for the rest of
/// the interval.
fn draw_above(counts: &Rows, i: usize, rng: &mut ChainRng) -> f64 {
    let no_zero = counts.no_zero(i);
    let at = -ln_1p(rng.uniform() * exp_m1(-no_zero.a)); //~ first-cluster
    let rest = if no_zero.a > 0.0 { (1.0 - at / no_zero.a).max(0.0) } else { 0.0 };
    let first = match counts.is_dispersed() {
        true => draw_logarithmic(no_zero.a / counts.r(), rng),
        false => 1.0,
    };
    match counts.mu(i) {
        mu if mu.is_nan() => f64::NAN,
        mu if rest * mu > 0.0 => first + draw(rest * mu, rest * counts.r(), rng),
        _ => first,
    }
}

/// One draw of P(k) proportional to p^k / k, k = 1, 2, .., with p = 1 - e^-x: geometric, given the probability
/// 1 - (1 - p)^U of going on (Kemp 1981, doi:10.2307/2346348).
fn draw_logarithmic(x: f64, rng: &mut ChainRng) -> f64 {
    let log_on = ln_1m_exp(rng.uniform() * x);
    (1.0 + ln(1.0 - rng.uniform()) / log_on).floor().max(1.0)
}

impl SecondOrderLikelihood for Hurdle {
    fn log_lik_tangent(
        &self,
        curvature: Curvature,
        at: Tangent,
        mut r_d_out: TileMut,
        r_d_phi: &mut [f64],
    ) {
        let Tangent { phi, out, y, weights, r_out, r_phi, .. } = at;
        let Some(counts) = self.rows(phi, out) else {
            return r_d_out.values().fill(0.0);
        };
        let (r_rho, r_omega) = self.counts.own(r_phi);
        let (omega, mut of_rho) = (self.counts.own(phi).1, 0.0);
        for (i, d) in r_d_out.column(0).iter_mut().enumerate() {
            let (no_zero, r) = (counts.no_zero(i), [r_out.column(0)[i], r_rho]);
            let ([of_eta, own], share) = match (curvature, y.column(0)[i]) {
                (Curvature::Observed, 0.0) => ([0.0; 2], 0.0),
                (Curvature::Observed, y) => (counts.tangent(i, y, r), 1.0),
                (Curvature::Expected, _) => {
                    (expected_tangent(&counts, &no_zero, i, r), sigmoid(-omega))
                }
            };
            let less = normaliser_tangent(&counts, &no_zero, r);
            let share = weights[i] * share;
            *d = weighted(share, of_eta - less[0]);
            of_rho += weighted(share, own - less[1]);
        }
        let of_omega = -weights.sum() * sigmoid(omega) * sigmoid(-omega) * r_omega;
        self.counts.add(of_rho, of_omega, r_d_phi);
    }
}
