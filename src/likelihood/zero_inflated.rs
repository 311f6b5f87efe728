//! Counts with more zeros than their distribution has.

use ndarray::Array2;

use super::count_rows::{Counts, Rows, draw};
use super::{
    Likelihood, SecondOrderLikelihood, Tangent, Weights, check_outputs, encode_plain_counts,
    exp_of, sigmoid, softplus, weighted,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::{Tile, TileMut};
use crate::layout::Layout;
use crate::rng::ChainRng;

/// y = 0 with probability w, otherwise a [`Poisson`](super::Poisson) or
/// [`NegativeBinomial`](super::NegativeBinomial) count of mean mu = e^f(x), which may be 0 as well.
///
/// The response is one column of counts, the model has one output. w is the same for all rows, and is sampled
/// on the logit scale. With the output eta = log mu, omega = logit w, and p(y) the density of the count,
///
/// ```text
/// y > 0:  ell = -softplus(omega) + log p(y)
/// y = 0:  ell = log(w + (1 - w) p(0))
///             = max(a, b) + softplus(-|a - b|),   a = -softplus(-omega),   b = -softplus(omega) + log p(0)
/// ```
///
/// The second line is a sum of exponentials without overflow. Let theta be eta or rho = log r, the dispersion of
/// a negative binomial count, and v = sigmoid(omega - log p(0)) the probability that a zero is one of the
/// extra zeros. Then
///
/// ```text
///                    y > 0                   y = 0
/// d ell / d omega    -w                      v - w
/// d ell / d theta    d log p(y) / d theta    (1 - v) d log p(0) / d theta
/// ```
///
/// and second derivatives, with q = v (1 - v) for y = 0, else 0, and the sums over the rows above,
///
/// ```text
/// omega, omega:   q - w (1 - w)
/// omega, theta:   -q d log p(0) / d theta
/// theta, theta':  (1 - v or 1) d^2 log p(y) / d theta d theta' + q (d log p(0) / d theta) (d log p(0) / d theta')
/// ```
///
/// Since y = 0 has the probability w / v, their expectations are these with w (1 - v) for q, and (1 - w) times
/// the expected second derivatives of the count in the place of the first term of the last line.
/// The mean is (1 - w) mu, the variance (1 - w) (mu + mu^2 / r + w mu^2).
///
/// Blocks: `log_dispersion` = rho of negative binomial counts, then `logit_extra_zeros` = omega. Where zeros
/// are as many as the count alone explains, the data say of w only that it is small: its prior matters.
/// Outside r from 1e-100 to 1e100 the density is taken to be 0.
///
/// Source: Lambert, Technometrics 34, 1992, doi:10.2307/1269547.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use ndarray::array;
/// let x = array![[0.0], [1.0], [2.0], [3.0]];
/// let data = Dataset::counts(x, array![0.0, 5.0, 0.0, 7.0])?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?)
///     .with("log_dispersion", Normal::new(1.0, 1.5)?)
///     .with("logit_extra_zeros", Normal::new(0.0, 1.5)?);
/// let likelihood = ZeroInflated::negative_binomial();
/// let posterior = Posterior::new(Linear::new(1, 1)?, likelihood, &data, priors)?;
/// let names = ["w", "b", "log_dispersion", "logit_extra_zeros"];
/// assert_eq!(posterior.layout().block_names(), names);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ZeroInflated {
    counts: Counts,
}

impl ZeroInflated {
    /// Poisson counts with extra zeros.
    pub fn poisson() -> Self {
        Self { counts: Counts::Poisson }
    }

    /// Negative binomial counts with extra zeros, whose dispersion is sampled, too.
    pub fn negative_binomial() -> Self {
        Self { counts: Counts::NegativeBinomial }
    }

    fn name(&self) -> String {
        format!("zero-inflated {}", self.counts.name())
    }

    /// The rows of a tile; `None` where the density is taken to be 0.
    fn rows<'o>(&self, phi: &[f64], out: Tile<'o>) -> Option<(Rows<'o>, Zeros)> {
        let (rho, omega) = self.counts.own(phi);
        let r = self.counts.dispersion(rho)?;
        Some((Rows::new(out, r, rho), Zeros::new(omega)))
    }
}

/// omega, and numbers derived from it.
struct Zeros {
    omega: f64,
    w: f64,
    /// log w and log(1 - w).
    log_w: f64,
    log_rest: f64,
}

impl Zeros {
    fn new(omega: f64) -> Self {
        let (log_w, log_rest) = (-softplus(-omega), -softplus(omega));
        Self { omega, w: sigmoid(omega), log_w, log_rest }
    }

    /// log(w + (1 - w) p(0)), given log p(0).
    fn log_zero(&self, log_p: f64) -> f64 {
        let (extra, counted) = (self.log_w, self.log_rest + log_p);
        let apart = (self.omega - log_p).abs();
        extra.max(counted) + softplus(-apart) //~ extra-zeros
    }

    /// v and 1 - v, given log p(0).
    fn shares(&self, log_p: f64) -> [f64; 2] {
        [sigmoid(self.omega - log_p), sigmoid(log_p - self.omega)]
    }
}

impl Likelihood for ZeroInflated {
    fn layout(&self) -> Layout {
        self.counts.layout("logit_extra_zeros")
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
        let Some((counts, zeros)) = self.rows(phi, out.as_tile()) else {
            return rows.fill(f64::NEG_INFINITY);
        };
        let (y, log_factorial) = (y.column(0), y.column(1));
        for (i, row) in rows.iter_mut().enumerate() {
            let log_p = counts.value(i, y[i], log_factorial[i]);
            *row = if y[i] == 0.0 { zeros.log_zero(log_p) } else { zeros.log_rest + log_p };
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
        let Some((counts, zeros)) = self.rows(phi, out) else {
            d_out.values().fill(0.0);
            return f64::NEG_INFINITY;
        };
        let (y, log_factorial) = (y.column(0), y.column(1));
        let [mut ell, mut d_rho, mut d_omega] = [0.0; 3];
        for (i, d) in d_out.column(0).iter_mut().enumerate() {
            let (log_p, slope) = (counts.value(i, y[i], log_factorial[i]), counts.slope(i, y[i]));
            let (value, [v, rest]) = match y[i] {
                0.0 => (zeros.log_zero(log_p), zeros.shares(log_p)),
                _ => (zeros.log_rest + log_p, [0.0, 1.0]),
            };
            let [of_eta, of_rho] = slope.map(|slope| weighted(rest, slope)); //~ share-of-zeros
            ell += weighted(weights[i], value);
            *d = weighted(weights[i], of_eta);
            d_rho += weighted(weights[i], of_rho);
            d_omega += weights[i] * (v - zeros.w);
        }
        self.counts.add(d_rho, d_omega, d_phi);
        ell
    }

    fn mean(&self, phi: &[f64], out: Tile, mut mean: TileMut) {
        let rest = sigmoid(-self.counts.own(phi).1);
        exp_of(out, mean.reborrow());
        mean.values().iter_mut().for_each(|mean| *mean = weighted(rest, *mean));
    }

    fn variance(&self, phi: &[f64], out: Tile, mut variance: TileMut) -> bool {
        let (rho, omega) = self.counts.own(phi);
        let r = self.counts.dispersion(rho).unwrap_or(f64::NAN);
        let (w, rest) = (sigmoid(omega), sigmoid(-omega));
        exp_of(out, variance.reborrow());
        for v in variance.values() {
            *v = weighted(rest, *v + *v * *v * (1.0 / r + w));
        }
        true
    }

    fn draw(&self, phi: &[f64], out: TileMut, _y: Tile, rng: &mut ChainRng, mut drawn: TileMut) {
        let (rho, omega) = self.counts.own(phi);
        let (r, w) = (self.counts.dispersion(rho).unwrap_or(f64::NAN), sigmoid(omega));
        exp_of(out.as_tile(), drawn.reborrow());
        for y in drawn.column(0) {
            let (is_extra, count) = (rng.uniform() < w, draw(*y, r, rng)); //~ zero-inflated-draw
            *y = if is_extra && !count.is_nan() { 0.0 } else { count };
        }
    }
}

impl SecondOrderLikelihood for ZeroInflated {
    fn log_lik_tangent(
        &self,
        curvature: Curvature,
        at: Tangent,
        mut r_d_out: TileMut,
        r_d_phi: &mut [f64],
    ) {
        let Tangent { phi, out, y, weights, r_out, r_phi, .. } = at;
        let Some((counts, zeros)) = self.rows(phi, out) else {
            return r_d_out.values().fill(0.0);
        };
        let (r_rho, r_omega) = self.counts.own(r_phi);
        let (mut of_rho, mut of_omega) = (0.0, 0.0);
        for (i, d) in r_d_out.column(0).iter_mut().enumerate() {
            let y = y.column(0)[i];
            let r = [r_out.column(0)[i], r_rho];
            let [v, rest] = zeros.shares(counts.value(i, 0.0, 0.0));
            let ([of_eta, own], q) = match (curvature, y) {
                (Curvature::Observed, 0.0) => {
                    (counts.tangent(i, 0.0, r).map(|t| weighted(rest, t)), v * rest)
                }
                (Curvature::Observed, _) => (counts.tangent(i, y, r), 0.0),
                (Curvature::Expected, _) => {
                    let share = sigmoid(-zeros.omega);
                    (counts.expected_tangent(i, r).map(|t| weighted(share, t)), zeros.w * rest)
                }
            };
            // The logarithm of the odds that a zero is an extra one has the derivative `apart`.
            let slope = counts.slope(i, 0.0);
            let apart = match q {
                0.0 => 0.0,
                _ => q * (r_omega - slope[0] * r[0] - slope[1] * r[1]),
            };
            *d = weighted(weights[i], of_eta - weighted(apart, slope[0]));
            of_rho += weighted(weights[i], own - weighted(apart, slope[1]));
            of_omega += weights[i] * (apart - zeros.w * sigmoid(-zeros.omega) * r_omega);
        }
        self.counts.add(of_rho, of_omega, r_d_phi);
    }
}
