//! Independent Student-t noise around a model's outputs.

use ndarray::Array2;

use super::gamma_functions::{digamma_rise, log_rise, trigamma_rise};
use super::{
    Likelihood, NormalNoise, ORDINARY, SecondOrderLikelihood, Tangent, Weights, check_outputs,
    mismatch, ordinary, weighted,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::elementary::exp_in_place;
use crate::engine::{TILE_ROWS, Tile, TileMut};
use crate::layout::Layout;
use crate::portable::{exp, ln, ln_1p};
use crate::rng::ChainRng;

/// y = f(x) + tau T, T ~ Student's t with nu degrees of freedom, the same tau and nu for all
/// response columns.
///
/// Heavy tails: outliers pull the mean function less than they do under
/// [`Gaussian`](super::Gaussian) noise, which is the limit nu -> inf. tau is a scale in units of
/// the response; the standard deviation is tau sqrt(nu / (nu - 2)), which exists for nu > 2; with
/// nu <= 1 there is no mean either, and predictions are of the location f(x) instead. For each
/// response value, with t = (y - f) / tau, u = t^2 / (nu + t^2), eta = log tau^2 and lambda = log
/// nu,
///
/// ```text
/// ell               = log Gamma((nu + 1)/2) - log Gamma(nu/2) - 1/2 log(pi nu) - eta/2
///                     - (nu + 1)/2 log(1 + t^2/nu)
/// d ell / d f       = (nu + 1) t / (tau (nu + t^2))
/// d ell / d eta     = ((nu + 1) u - 1) / 2
/// d ell / d lambda  = (nu D - 1 - nu log(1 + t^2/nu) + (nu + 1) u) / 2
///
///    D = psi((nu + 1)/2) - psi(nu/2)
/// ```
///
/// and second derivatives, observed and expected over y, with D' = psi'((nu + 1)/2) - psi'(nu/2) and
/// g = d ell / d f,
///
/// ```text
/// f, f:            (nu + 1) (2 u - 1) / (tau^2 (nu + t^2))    -(nu + 1) / ((nu + 3) tau^2)
/// f, eta:          -g (1 - u)                                 0
/// f, lambda:       t ((nu + 1) u - 1) / (tau (nu + t^2))      0
/// eta, eta:        -(nu + 1) u (1 - u) / 2                    -nu / (2 (nu + 3))
/// eta, lambda:     u ((nu + 1) u - 1) / 2                     nu / ((nu + 1) (nu + 3))
/// lambda, lambda:  (nu D + nu^2 D'/2 - nu log(1 + t^2/nu)     nu^2 D'/4 + nu / (2 (nu + 1))
///                    + nu u + u ((nu + 1) u - 1)) / 2           + nu / ((nu + 1) (nu + 3))
/// ```
///
/// (Lange, Little and Taylor 1989, doi:10.1080/01621459.1989.10478852.) The sampled parameters are
/// on the log scale: the blocks `log_squared_scale` = eta, for which
/// [`LogInverseGamma`](crate::prior::LogInverseGamma) has the Jacobian, and
/// `log_degrees_of_freedom` = lambda. Few data tell nu = 10 from nu = 30: its prior matters.
/// Outside tau^2 and nu from 1e-100 to 1e100 the density of a sampled one is taken to be 0.
///
/// With [`heteroscedastic`](Self::heteroscedastic) tau differs between rows: a model with outputs f_1,
/// .., f_K has s_1, .., s_K after them, tau = e^s, and derivatives with respect to s = eta / 2 are
/// twice, and the second of s and s four times, those above.
/// [`LogSd`](crate::model::LogSd) is such a model.
///
/// Given a precision lambda_i for each response value, lambda_i ~ Gamma(nu / 2, rate nu / 2), the noise is
/// normal with variance tau^2 / lambda_i: with one response column
/// [`Collapsed`](crate::sampler::Collapsed) draws these precisions and integrates the output layer out.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use ndarray::array;
/// let data = Dataset::regression(array![[0.0], [1.0], [2.0]], array![0.1, 1.0, 40.0])?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?)
///     .with("log_squared_scale", LogInverseGamma::new(2.0, 0.5)?)
///     .with("log_degrees_of_freedom", Normal::new(2.0, 1.0)?); // nu from 1 to 50, mostly
/// let likelihood = StudentTNoise::sampled();
/// let posterior = Posterior::new(Linear::new(1, 1)?, likelihood, &data, priors)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StudentTNoise {
    squared_scale: SquaredScale,
    degrees_of_freedom: Option<f64>,
}

/// tau^2.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SquaredScale {
    Sampled,
    Fixed(f64),
    /// Outputs of the model.
    ByRow,
}

impl StudentTNoise {
    /// Scale and degrees of freedom are parameters: blocks `log_squared_scale` and
    /// `log_degrees_of_freedom`, one number each, with priors of their own.
    pub fn sampled() -> Self {
        Self { squared_scale: SquaredScale::Sampled, degrees_of_freedom: None }
    }

    /// Degrees of freedom are a parameter, and the logarithm of the scale is an output of the model, one for
    /// each response column after its locations.
    pub fn heteroscedastic() -> Self {
        Self { squared_scale: SquaredScale::ByRow, degrees_of_freedom: None }
    }

    /// The scale tau is known, in units of the response, from 1e-50 to 1e50.
    pub fn with_scale(self, tau: f64) -> Result<Self, Error> {
        if !(1e-50..=1e50).contains(&tau) {
            let name = "scale of the Student-t likelihood";
            return Err(Error::argument(name, tau, "from 1e-50 to 1e50"));
        }
        // Squares of the bounds are rounded.
        let squared = (tau * tau).clamp(*ORDINARY.start(), *ORDINARY.end());
        Ok(Self { squared_scale: SquaredScale::Fixed(squared), ..self })
    }

    /// The degrees of freedom are known, from 1e-100 to 1e100.
    pub fn with_degrees_of_freedom(self, nu: f64) -> Result<Self, Error> {
        let nu = ordinary("degrees of freedom of the Student-t likelihood", nu)?;
        Ok(Self { degrees_of_freedom: Some(nu), ..self })
    }

    /// Whether tau is an output of the model.
    pub(crate) fn is_heteroscedastic(&self) -> bool {
        self.squared_scale == SquaredScale::ByRow
    }

    /// tau^2, or 1 if it differs between rows, and nu.
    pub(crate) fn squared_scale_and_nu(&self, phi: &[f64]) -> (f64, f64) {
        let Terms { squared, nu, .. } = self.terms(phi);
        (squared, nu)
    }

    /// The places of eta and of lambda among the parameters that are sampled.
    pub(crate) fn places(&self) -> [Option<usize>; 2] {
        let of_scale = (self.squared_scale == SquaredScale::Sampled).then_some(0);
        [of_scale, self.degrees_of_freedom.is_none().then_some(of_scale.map_or(0, |_| 1))]
    }

    /// The sum of w log p of response values without the terms -log tau, given nu and pairs of t^2 and w.
    pub(crate) fn log_density(nu: f64, squares: impl Iterator<Item = (f64, f64)>) -> f64 {
        let (terms, mut n, mut tails) = (Terms { nu, tau: 1.0, squared: 1.0 }, 0.0, 0.0);
        for (square, weight) in squares {
            n += weight;
            tails += weighted(weight, ln_1p(square / nu));
        }
        n * terms.constant() - 0.5 * (nu + 1.0) * tails
    }

    /// nu and tau; tau = 1 if it differs between rows.
    fn terms(&self, phi: &[f64]) -> Terms {
        let squared = match self.squared_scale {
            SquaredScale::Sampled => exp(phi[0]),
            SquaredScale::Fixed(squared) => squared,
            SquaredScale::ByRow => 1.0,
        };
        let nu = || exp(phi[phi.len() - 1]);
        Terms { nu: self.degrees_of_freedom.unwrap_or_else(nu), tau: squared.sqrt(), squared }
    }

    /// The number of response columns of a model with so many outputs.
    fn columns(&self, n_outputs: usize) -> usize {
        if self.is_heteroscedastic() { n_outputs / 2 } else { n_outputs }
    }

    /// The logarithms of the scales of the rows of response column `j`, if they differ.
    fn log_scales<'o>(&self, out: Tile<'o>, j: usize) -> Option<&'o [f64]> {
        let columns = self.columns(out.columns());
        self.is_heteroscedastic().then(|| out.column(columns + j))
    }

    /// The scales of the rows of response column `j`.
    fn scales<'b>(
        &self,
        terms: &Terms,
        out: Tile,
        j: usize,
        buffer: &'b mut [f64; TILE_ROWS],
    ) -> &'b [f64] {
        let scales = &mut buffer[..out.rows()];
        match self.log_scales(out, j) {
            Some(s) => {
                scales.copy_from_slice(s);
                exp_in_place(scales);
            }
            None => scales.fill(terms.tau),
        }
        scales
    }

    /// The values for eta and lambda, from the values for phi; 0 where a parameter is not sampled.
    fn expanded(&self, of_phi: &[f64]) -> [f64; 2] {
        self.places().map(|place| place.and_then(|at| of_phi.get(at)).copied().unwrap_or(0.0))
    }

    /// Adds the values for eta and lambda to the values for phi, leaving out what is not sampled.
    fn add(&self, values: [f64; 2], to_phi: &mut [f64]) {
        for (value, place) in values.into_iter().zip(self.places()) {
            if let Some(to) = place.and_then(|at| to_phi.get_mut(at)) {
                *to += value;
            }
        }
    }
}

/// nu, tau, and numbers derived from them.
#[derive(Clone, Copy)]
struct Terms {
    nu: f64,
    tau: f64,
    /// tau^2, as it was given.
    squared: f64,
}

impl Terms {
    fn are_ordinary(&self) -> bool {
        ORDINARY.contains(&self.nu) && ORDINARY.contains(&self.squared)
    }

    /// The normaliser of one value.
    fn constant(&self) -> f64 {
        // log Gamma(x + 1/2) - log Gamma(x) = log_rise(1/2, x) + log(x)/2 at x = nu/2.
        log_rise(0.5, 0.5 * self.nu) - 0.5 * ln(std::f64::consts::TAU) - ln(self.tau)
    }

    /// nu D.
    fn nu_digamma(&self) -> f64 {
        self.nu * digamma_rise(0.5, 0.5 * self.nu)
    }

    /// Of a residual of a row with the scale `tau`.
    fn value(&self, residual: f64, tau: f64) -> Value {
        // 0 / 0: a row that is fitted exactly has a density, however small its scale.
        let of_tau = |x: f64| if residual == 0.0 { 0.0 } else { x / tau };
        let t = of_tau(residual);
        let square = t * t;
        // t / (tau (nu + t^2)) and u; far out t itself may be infinite.
        let (u, slope) = match square.is_infinite() {
            true => (1.0, 0.0),
            false => (square / (self.nu + square), of_tau(t / (self.nu + square))),
        };
        let log_tail = ln_1p(square / self.nu);
        Value { u, slope, log_tail, excess: (self.nu + 1.0) * u - 1.0 }
    }
}

/// The terms of one response value.
struct Value {
    u: f64,
    slope: f64,
    log_tail: f64,
    /// (nu + 1) u - 1.
    excess: f64,
}

impl Likelihood for StudentTNoise {
    fn layout(&self) -> Layout {
        let mut layout = Layout::new();
        if self.squared_scale == SquaredScale::Sampled {
            layout = layout.with("log_squared_scale", &[]);
        }
        if self.degrees_of_freedom.is_none() {
            layout = layout.with("log_degrees_of_freedom", &[]);
        }
        layout
    }

    fn description(&self) -> Option<String> {
        let nu = self.degrees_of_freedom.map_or("sampled".into(), |nu| nu.to_string());
        let scale = match self.squared_scale {
            SquaredScale::Sampled => "squared scale sampled".into(),
            SquaredScale::Fixed(squared) => format!("squared scale {squared}"),
            SquaredScale::ByRow => "scale an output of the model".to_string(),
        };
        Some(format!("Student-t noise, {scale}, degrees of freedom {nu}"))
    }

    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        let Response::Real(y) = response else {
            return Err(mismatch("Student-t", response, "real numbers"));
        };
        match self.is_heteroscedastic() {
            true => check_outputs("heteroscedastic Student-t", n_outputs, 2 * y.ncols())?,
            false => check_outputs("Student-t", n_outputs, y.ncols())?,
        }
        Ok(y.clone())
    }

    fn log_lik_rows(&self, phi: &[f64], out: TileMut, y: Tile, rows: &mut [f64]) {
        let terms = self.terms(phi);
        if !terms.are_ordinary() {
            return rows.fill(f64::NEG_INFINITY);
        }
        let (out, mut buffer) = (out.as_tile(), [0.0; TILE_ROWS]);
        let columns = self.columns(out.columns());
        rows.fill(columns as f64 * terms.constant());
        for j in 0..columns {
            let scales = self.scales(&terms, out, j, &mut buffer);
            let values = out.column(j).iter().zip(y.column(j)).zip(scales);
            for (row, ((f, y), tau)) in rows.iter_mut().zip(values) {
                *row -= 0.5 * (terms.nu + 1.0) * terms.value(y - f, *tau).log_tail;
            }
            if let Some(s) = self.log_scales(out, j) {
                rows.iter_mut().zip(s).for_each(|(row, s)| *row -= s);
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
        let terms = self.terms(phi);
        if !terms.are_ordinary() {
            d_out.values().fill(0.0);
            return f64::NEG_INFINITY;
        }
        let (mut tails, mut excesses, mut log_scales) = (0.0, 0.0, 0.0);
        let columns = self.columns(out.columns());
        let mut buffer = [0.0; TILE_ROWS];
        for j in 0..columns {
            let scales = self.scales(&terms, out, j, &mut buffer);
            let values = out.column(j).iter().zip(y.column(j)).zip(scales);
            for (i, ((f, y), tau)) in values.enumerate() {
                let value = terms.value(y - f, *tau);
                let w = weights[i];
                d_out.column(j)[i] = weighted(w, (terms.nu + 1.0) * value.slope);
                if self.is_heteroscedastic() {
                    //~ student-t-scale-gradient
                    d_out.column(columns + j)[i] = weighted(w, value.excess);
                }
                tails += weighted(w, value.log_tail);
                excesses += weighted(w, value.excess);
            }
            let sum = |s: &[f64]| s.iter().zip(weights).map(|(s, w)| w * s).sum::<f64>();
            log_scales += self.log_scales(out, j).map_or(0.0, sum);
        }
        let n = weights.sum() * columns as f64;
        if !d_phi.is_empty() {
            let d_lambda = n * terms.nu_digamma() - terms.nu * tails + excesses;
            self.add([0.5 * excesses, 0.5 * d_lambda], d_phi);
        }
        n * terms.constant() - log_scales - 0.5 * (terms.nu + 1.0) * tails
    }

    fn residuals(&self, out: Tile, y: Tile, d_out: TileMut) -> bool {
        if self.is_heteroscedastic() {
            return false;
        }
        super::subtract(y, out, d_out);
        true
    }

    fn normal_noise(&self) -> Option<NormalNoise> {
        Some(NormalNoise::Mixture(*self))
    }

    fn n_means(&self, n_outputs: usize) -> usize {
        self.columns(n_outputs)
    }

    fn mean(&self, _phi: &[f64], out: Tile, mut mean: TileMut) {
        let n = mean.values().len();
        mean.values().copy_from_slice(&out.values()[..n]);
    }

    /// tau^2 nu / (nu - 2), infinite for nu <= 2.
    fn variance(&self, phi: &[f64], out: Tile, mut variance: TileMut) -> bool {
        let (terms, mut buffer) = (self.terms(phi), [0.0; TILE_ROWS]);
        let nu = terms.nu;
        for j in 0..variance.columns() {
            let scales = self.scales(&terms, out, j, &mut buffer);
            for (v, tau) in variance.column(j).iter_mut().zip(scales) {
                *v = if nu > 2.0 { tau * tau / (1.0 - 2.0 / nu) } else { f64::INFINITY };
            }
        }
        true
    }

    fn n_drawn(&self, n_outputs: usize) -> usize {
        self.columns(n_outputs)
    }

    fn draw(&self, phi: &[f64], out: TileMut, _y: Tile, rng: &mut ChainRng, mut drawn: TileMut) {
        // z / sqrt(c / nu), with z normal and c = 2 Gamma(nu / 2) chi-squared.
        let (terms, out, mut buffer) = (self.terms(phi), out.as_tile(), [0.0; TILE_ROWS]);
        let nu = terms.nu;
        for j in 0..drawn.columns() {
            let scales = self.scales(&terms, out, j, &mut buffer);
            for (y, (f, tau)) in drawn.column(j).iter_mut().zip(out.column(j).iter().zip(scales)) {
                //~ student-t-noise-draw
                *y = f + tau * (rng.normal() * (0.5 * nu / rng.gamma(0.5 * nu)).sqrt());
            }
        }
    }
}

impl SecondOrderLikelihood for StudentTNoise {
    fn log_lik_tangent(
        &self,
        curvature: Curvature,
        at: Tangent,
        mut r_d_out: TileMut,
        r_d_phi: &mut [f64],
    ) {
        let Tangent { phi, out, y, weights, r_out, r_phi, .. } = at;
        let terms = self.terms(phi);
        let nu = terms.nu;
        let [r_eta, r_lambda] = self.expanded(r_phi);
        // nu D and nu^2 D', which only lambda needs.
        let (digamma, trigamma) = match r_lambda != 0.0 {
            true => (terms.nu_digamma(), nu * (nu * trigamma_rise(0.5, 0.5 * nu))),
            false => (0.0, 0.0),
        };
        let (mut sums, mut buffer) = ([0.0; 2], [0.0; TILE_ROWS]);
        let columns = self.columns(out.columns());
        for j in 0..columns {
            let (f, y, r) = (out.column(j), y.column(j), r_out.column(j));
            let scales = self.scales(&terms, out, j, &mut buffer);
            for (i, (tau, w)) in scales.iter().zip(weights).enumerate() {
                // The direction of the row's eta.
                let r_eta = match self.log_scales(r_out, j) {
                    Some(r_s) => 2.0 * r_s[i],
                    None => r_eta,
                };
                let (d_f, d_eta);
                match curvature {
                    Curvature::Observed => {
                        let Value { u, slope, log_tail, excess } = terms.value(y[i] - f[i], *tau);
                        let of_f = (nu + 1.0) * (1.0 - u) * (2.0 * u - 1.0) / (nu * tau * tau);
                        let [of_eta, of_lambda] = [-(nu + 1.0) * slope * (1.0 - u), slope * excess];
                        d_f = of_f * r[i] + of_eta * r_eta + of_lambda * r_lambda;
                        let both = 0.5 * u * excess;
                        let of_scale = -0.5 * (nu + 1.0) * u * (1.0 - u);
                        d_eta = of_eta * r[i] + of_scale * r_eta + both * r_lambda;
                        let tail = digamma + 0.5 * trigamma - nu * log_tail + nu * u;
                        let of_nu = 0.5 * tail + both;
                        let of_row = of_lambda * r[i] + both * r_eta + of_nu * r_lambda;
                        sums[1] += weighted(*w, of_row);
                    }
                    Curvature::Expected => {
                        d_f = -(nu + 1.0) / ((nu + 3.0) * tau * tau) * r[i];
                        let both = nu / ((nu + 1.0) * (nu + 3.0));
                        d_eta = -0.5 * nu / (nu + 3.0) * r_eta + both * r_lambda;
                        let of_nu = 0.25 * trigamma + 0.5 * nu / (nu + 1.0) + both;
                        sums[1] += weighted(*w, both * r_eta + of_nu * r_lambda);
                    }
                }
                r_d_out.column(j)[i] = weighted(*w, d_f);
                sums[0] += weighted(*w, d_eta);
                if self.is_heteroscedastic() {
                    r_d_out.column(columns + j)[i] = weighted(*w, 2.0 * d_eta);
                }
            }
        }
        self.add(sums, r_d_phi);
    }
}
