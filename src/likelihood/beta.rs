//! Shares between 0 and 1, one logit of a mean for each.

use ndarray::Array2;

use super::gamma_functions::{digamma_excess, log_inverse_rest, trigamma_excess};
use super::{
    Likelihood, ORDINARY, SecondOrderLikelihood, Tangent, Weights, check_outputs, logistic,
    mismatch, sigmoid, weighted,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::{Tile, TileMut};
use crate::layout::Layout;
use crate::message::number;
use crate::portable::{exp, ln, ln_1p};
use crate::rng::ChainRng;

/// y ~ Beta(m phi, (1 - m) phi) with mean m = sigmoid(f(x)) and precision phi: variance m (1 - m) / (1 + phi).
///
/// The response is shares or rates above 0 and below 1: 0 and 1 themselves have no density, and are refused.
/// The model has one output for each response column; phi is the same for all. With a = m phi, b = (1 - m) phi and
/// lambda = log phi,
///
/// ```text
/// ell               = log Gamma(phi) - log Gamma(a) - log Gamma(b) + (a - 1) log y + (b - 1) log(1 - y)
/// d ell / d f       = phi m (1 - m) (logit y - psi(a) + psi(b))
/// d ell / d lambda  = phi psi(phi) - a psi(a) - b psi(b) + a log y + b log(1 - y)
/// ```
///
/// The terms are large beside the sums for a large precision, and infinite for an extreme mean. With
///
/// ```text
/// Q(x) = x log x - x + log(2 pi)/2 - log Gamma(x),   E(x) = x (psi(x) - log x),   T(x) = x^2 psi'(x) - x
/// K    = m log(m / y) + (1 - m) log((1 - m) / (1 - y))
/// ```
///
/// none of which is large, and log a = lambda - softplus(-f), log b = lambda - softplus(f), they are
///
/// ```text
/// ell               = -phi K + Q(a) + Q(b) - Q(phi) - log(2 pi)/2 - log y - log(1 - y)
/// d ell / d f       = a (1 - m) (logit y - f) - (1 - m) E(a) + m E(b)
/// d ell / d lambda  = -phi K + E(phi) - E(a) - E(b)
/// ```
///
/// and second derivatives, where an expectation over y has 0 for the first derivatives,
///
/// ```text
/// f, f:            (1 - 2 m) d ell/d f - a (1 - m) - (1 - m)^2 T(a) - m^2 T(b)
/// f, lambda:       d ell/d f + m T(b) - (1 - m) T(a)
/// lambda, lambda:  d ell/d lambda + T(phi) - T(a) - T(b)
/// ```
///
/// The precision is sampled, as the block `log_precision` = lambda. Outside phi from 1e-100 to 1e100 the density is
/// taken to be 0. Draws that would be rounded to 0 or 1 are the nearest number between.
///
/// Source: Ferrari and Cribari-Neto, Journal of Applied Statistics 31, 2004, doi:10.1080/0266476042000214501.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use ndarray::array;
/// let data = Dataset::regression(array![[0.0], [1.0], [2.0]], array![0.1, 0.35, 0.8])?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?).with("log_precision", Normal::new(2.5, 1.5)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Beta, &data, priors)?;
/// assert_eq!(posterior.layout().block_names(), ["w", "b", "log_precision"]);
///
/// let whole = Dataset::regression(array![[0.0], [1.0]], array![0.1, 1.0])?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?).with("log_precision", Normal::new(2.5, 1.5)?);
/// let error = Posterior::new(Linear::new(1, 1)?, Beta, &whole, priors).unwrap_err();
/// assert!(error.to_string().contains("row 2 is 1"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Beta;

/// Whether `y` is a share that has a density.
pub(crate) fn is_share(y: f64) -> bool {
    0.0 < y && y < 1.0
}

/// The values that a share may have, and what can be done about 0 and 1.
pub(crate) const SHARES: &str =
    "above 0 and below 1: a beta distribution has no density at the ends";
pub(crate) const NOT_AT_ENDS: &str =
    "write the nearest share that a measurement can tell from 0 or 1 in their place";

/// phi and lambda, of the precision.
struct Precision {
    phi: f64,
    lambda: f64,
    /// Q(phi).
    rest: f64,
    /// E(phi).
    excess: f64,
}

impl Precision {
    /// `None` where the density is taken to be 0.
    fn new(phi: &[f64]) -> Option<Self> {
        let (lambda, phi) = (phi[0], exp(phi[0]));
        let (rest, excess) = (log_inverse_rest(phi, lambda), digamma_excess(phi, lambda));
        ORDINARY.contains(&phi).then_some(Self { phi, lambda, rest, excess })
    }

    fn at(&self, f: f64) -> Shape {
        let [tail, m, n] = logistic(f);
        let (log_m, log_n) = (f.min(0.0) - tail, -f.max(0.0) - tail);
        let (a, b) = (self.phi * m, self.phi * n);
        let logs = [self.lambda + log_m, self.lambda + log_n];
        Shape { m, n, log_m, log_n, a, b, logs }
    }
}

/// m, n = 1 - m, a, b, and the logarithms of all of them.
struct Shape {
    m: f64,
    n: f64,
    log_m: f64,
    log_n: f64,
    a: f64,
    b: f64,
    logs: [f64; 2],
}

impl Shape {
    /// K, given log y and log(1 - y).
    fn divergence(&self, [log_y, log_z]: [f64; 2]) -> f64 {
        self.m * (self.log_m - log_y) + self.n * (self.log_n - log_z)
    }

    /// ell.
    fn value(&self, precision: &Precision, y: [f64; 2]) -> f64 {
        let rests = log_inverse_rest(self.a, self.logs[0]) + log_inverse_rest(self.b, self.logs[1]);
        let constant = 0.5 * ln(std::f64::consts::TAU) + y[0] + y[1];
        rests - precision.rest - precision.phi * self.divergence(y) - constant //~ beta-density
    }

    /// d ell / d f and d ell / d lambda.
    fn slopes(&self, precision: &Precision, f: f64, y: [f64; 2]) -> [f64; 2] {
        let of_a = digamma_excess(self.a, self.logs[0]);
        let of_b = digamma_excess(self.b, self.logs[1]);
        let pull = self.a * self.n * (y[0] - y[1] - f);
        let d_f = pull - self.n * of_a + self.m * of_b; //~ beta-gradient
        let d_lambda = precision.excess - of_a - of_b - precision.phi * self.divergence(y);
        [d_f, d_lambda]
    }

    /// The second derivatives (f, f), (f, lambda) and (lambda, lambda), given the first ones, or zeros for their
    /// expectations.
    fn curvature(&self, phi: f64, [d_f, d_lambda]: [f64; 2]) -> [f64; 3] {
        let (of_a, of_b) = (trigamma_excess(self.a), trigamma_excess(self.b));
        let (m, n) = (self.m, self.n);
        [
            (n - m) * d_f - self.a * n - n * n * of_a - m * m * of_b,
            d_f + m * of_b - n * of_a,
            d_lambda + trigamma_excess(phi) - of_a - of_b,
        ]
    }
}

/// log y and log(1 - y) of row `i` of response column `j` of `columns`.
fn logs(y: Tile, columns: usize, j: usize, i: usize) -> [f64; 2] {
    [y.column(j)[i], y.column(columns + j)[i]]
}

impl Likelihood for Beta {
    fn layout(&self) -> Layout {
        Layout::new().with("log_precision", &[])
    }

    fn description(&self) -> Option<String> {
        Some("beta with a sampled precision".into())
    }

    /// Columns: log y of each response column, then log(1 - y).
    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        let Response::Real(y) = response else {
            return Err(mismatch("beta", response, "real numbers above 0 and below 1"));
        };
        check_outputs("beta", n_outputs, y.ncols())?;
        if let Some(((row, _), y)) = y.indexed_iter().find(|(_, y)| !is_share(**y)) {
            let found = format!("row {} is {}, but must be {SHARES}", row + 1, number(*y));
            let error = Error::table("response for the beta likelihood", found);
            return Err(error.advise([NOT_AT_ENDS.into()]));
        }
        let columns = y.ncols();
        Ok(Array2::from_shape_fn((y.nrows(), 2 * columns), |(i, j)| match j < columns {
            true => ln(y[(i, j)]),
            false => ln_1p(-y[(i, j - columns)]),
        }))
    }

    fn log_lik_rows(&self, phi: &[f64], out: TileMut, y: Tile, rows: &mut [f64]) {
        let Some(precision) = Precision::new(phi) else {
            return rows.fill(f64::NEG_INFINITY);
        };
        let out = out.as_tile();
        rows.fill(0.0);
        for j in 0..out.columns() {
            for (i, (row, f)) in rows.iter_mut().zip(out.column(j)).enumerate() {
                *row += precision.at(*f).value(&precision, logs(y, out.columns(), j, i));
            }
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
        let Some(precision) = Precision::new(phi) else {
            d_out.values().fill(0.0);
            return f64::NEG_INFINITY;
        };
        let mut ell = 0.0;
        for j in 0..out.columns() {
            for (i, (f, d)) in out.column(j).iter().zip(d_out.column(j)).enumerate() {
                let (shape, y) = (precision.at(*f), logs(y, out.columns(), j, i));
                let [d_f, d_lambda] = shape.slopes(&precision, *f, y);
                ell += weighted(weights[i], shape.value(&precision, y));
                *d = weighted(weights[i], d_f);
                d_phi[0] += weighted(weights[i], d_lambda);
            }
        }
        ell
    }

    fn mean(&self, _phi: &[f64], out: Tile, mut mean: TileMut) {
        for (mean, f) in mean.values().iter_mut().zip(out.values()) {
            *mean = sigmoid(*f);
        }
    }

    fn variance(&self, phi: &[f64], out: Tile, mut variance: TileMut) -> bool {
        let phi = exp(phi[0]);
        for (variance, f) in variance.values().iter_mut().zip(out.values()) {
            *variance = sigmoid(*f) * sigmoid(-f) / (1.0 + phi);
        }
        true
    }

    /// With independent G_a ~ Gamma(a) and G_b ~ Gamma(b), y = G_a / (G_a + G_b).
    fn draw(&self, phi: &[f64], out: TileMut, _y: Tile, rng: &mut ChainRng, mut drawn: TileMut) {
        let (phi, out) = (exp(phi[0]), out.as_tile());
        for j in 0..drawn.columns() {
            for (y, f) in drawn.column(j).iter_mut().zip(out.column(j)) {
                let [a, b] = [sigmoid(*f), sigmoid(-f)].map(|m| log_gamma_draw(m * phi, rng));
                let share = sigmoid(a - b); //~ beta-draw
                *y = share.clamp(f64::MIN_POSITIVE, 1.0 - 0.5 * f64::EPSILON);
            }
        }
    }
}

/// The logarithm of a draw of Gamma(shape), which itself may be too small for a number: for U uniform,
/// Gamma(shape) is Gamma(shape + 1) U^(1/shape).
fn log_gamma_draw(shape: f64, rng: &mut ChainRng) -> f64 {
    match shape < 1.0 {
        true => ln(rng.gamma(shape + 1.0)) + ln(1.0 - rng.uniform()) / shape,
        false => ln(rng.gamma(shape)),
    }
}

impl SecondOrderLikelihood for Beta {
    fn log_lik_tangent(
        &self,
        curvature: Curvature,
        at: Tangent,
        mut r_d_out: TileMut,
        r_d_phi: &mut [f64],
    ) {
        let Tangent { phi, out, y, weights, r_out, r_phi, .. } = at;
        let Some(precision) = Precision::new(phi) else {
            return r_d_out.values().fill(0.0);
        };
        let r_lambda = r_phi[0];
        for j in 0..out.columns() {
            let rows = out.column(j).iter().zip(r_out.column(j)).zip(r_d_out.column(j));
            for (i, ((f, r_f), d)) in rows.enumerate() {
                let shape = precision.at(*f);
                let slopes = match curvature {
                    Curvature::Observed => {
                        shape.slopes(&precision, *f, logs(y, out.columns(), j, i))
                    }
                    Curvature::Expected => [0.0; 2],
                };
                let [of_f, of_both, of_lambda] = shape.curvature(precision.phi, slopes);
                *d = weighted(weights[i], of_f * r_f + of_both * r_lambda);
                r_d_phi[0] += weighted(weights[i], of_both * r_f + of_lambda * r_lambda);
            }
        }
    }
}
