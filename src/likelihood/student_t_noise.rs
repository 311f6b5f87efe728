//! Independent Student-t noise around a model's outputs.

use ndarray::Array2;

use super::gamma_functions::{digamma_rise, log_rise, trigamma_rise};
use super::{Likelihood, ORDINARY, SecondOrderLikelihood, check_outputs, mismatch, ordinary};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::{Tile, TileMut};
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
    /// tau^2.
    squared_scale: Option<f64>,
    degrees_of_freedom: Option<f64>,
}

impl StudentTNoise {
    /// Scale and degrees of freedom are parameters: blocks `log_squared_scale` and
    /// `log_degrees_of_freedom`, one number each, with priors of their own.
    pub fn sampled() -> Self {
        Self { squared_scale: None, degrees_of_freedom: None }
    }

    /// The scale tau is known, in units of the response, from 1e-50 to 1e50.
    pub fn with_scale(self, tau: f64) -> Result<Self, Error> {
        if !(1e-50..=1e50).contains(&tau) {
            let name = "scale of the Student-t likelihood";
            return Err(Error::argument(name, tau, "from 1e-50 to 1e50"));
        }
        // Squares of the bounds are rounded.
        let squared = (tau * tau).clamp(*ORDINARY.start(), *ORDINARY.end());
        Ok(Self { squared_scale: Some(squared), ..self })
    }

    /// The degrees of freedom are known, from 1e-100 to 1e100.
    pub fn with_degrees_of_freedom(self, nu: f64) -> Result<Self, Error> {
        let nu = ordinary("degrees of freedom of the Student-t likelihood", nu)?;
        Ok(Self { degrees_of_freedom: Some(nu), ..self })
    }

    fn terms(&self, phi: &[f64]) -> Terms {
        let squared = self.squared_scale.unwrap_or_else(|| exp(phi[0]));
        let nu = || exp(phi[phi.len() - 1]);
        Terms { nu: self.degrees_of_freedom.unwrap_or_else(nu), tau: squared.sqrt(), squared }
    }

    /// The values for eta and lambda, from the values for phi; 0 where a parameter is fixed.
    fn expanded(&self, of_phi: &[f64]) -> [f64; 2] {
        let mut own = of_phi.iter();
        [self.squared_scale, self.degrees_of_freedom]
            .map(|fixed| if fixed.is_none() { own.next().copied().unwrap_or(0.0) } else { 0.0 })
    }

    /// Adds the values for eta and lambda to the values for phi, leaving out fixed parameters.
    fn add(&self, values: [f64; 2], to_phi: &mut [f64]) {
        let fixed = [self.squared_scale, self.degrees_of_freedom];
        let sampled = values.into_iter().zip(fixed).filter(|(_, fixed)| fixed.is_none());
        to_phi.iter_mut().zip(sampled).for_each(|(to, (value, _))| *to += value);
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

    fn value(&self, residual: f64) -> Value {
        let t = residual / self.tau;
        let square = t * t;
        // t / (tau (nu + t^2)) and u; far out t itself may be infinite.
        let (u, slope) = match square.is_infinite() {
            true => (1.0, 0.0),
            false => (square / (self.nu + square), t / (self.nu + square) / self.tau),
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
        if self.squared_scale.is_none() {
            layout = layout.with("log_squared_scale", &[]);
        }
        if self.degrees_of_freedom.is_none() {
            layout = layout.with("log_degrees_of_freedom", &[]);
        }
        layout
    }

    fn description(&self) -> Option<String> {
        let text = |fixed: Option<f64>| fixed.map_or("sampled".into(), |value| value.to_string());
        let (scale, nu) = (text(self.squared_scale), text(self.degrees_of_freedom));
        Some(format!("Student-t noise, squared scale {scale}, degrees of freedom {nu}"))
    }

    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        let Response::Real(y) = response else {
            return Err(mismatch("Student-t", response, "real numbers"));
        };
        check_outputs("Student-t", n_outputs, y.ncols())?;
        Ok(y.clone())
    }

    fn log_lik_rows(&self, phi: &[f64], out: TileMut, y: Tile, rows: &mut [f64]) {
        let terms = self.terms(phi);
        if !terms.are_ordinary() {
            return rows.fill(f64::NEG_INFINITY);
        }
        let out = out.as_tile();
        rows.fill(out.columns() as f64 * terms.constant());
        for j in 0..out.columns() {
            for ((row, f), y) in rows.iter_mut().zip(out.column(j)).zip(y.column(j)) {
                *row -= 0.5 * (terms.nu + 1.0) * terms.value(y - f).log_tail;
            }
        }
    }

    fn log_lik_grad(
        &self,
        phi: &[f64],
        out: Tile,
        y: Tile,
        mut d_out: TileMut,
        d_phi: &mut [f64],
    ) -> f64 {
        let terms = self.terms(phi);
        if !terms.are_ordinary() {
            d_out.values().fill(0.0);
            return f64::NEG_INFINITY;
        }
        let (mut tails, mut excesses) = (0.0, 0.0);
        for j in 0..out.columns() {
            for ((d, f), y) in d_out.column(j).iter_mut().zip(out.column(j)).zip(y.column(j)) {
                let value = terms.value(y - f);
                *d = (terms.nu + 1.0) * value.slope;
                tails += value.log_tail;
                excesses += value.excess;
            }
        }
        let n = (out.rows() * out.columns()) as f64;
        if !d_phi.is_empty() {
            let d_lambda = n * terms.nu_digamma() - terms.nu * tails + excesses;
            self.add([0.5 * excesses, 0.5 * d_lambda], d_phi);
        }
        n * terms.constant() - 0.5 * (terms.nu + 1.0) * tails
    }

    fn residuals(&self, out: Tile, y: Tile, d_out: TileMut) -> bool {
        super::subtract(y, out, d_out);
        true
    }

    fn mean(&self, _phi: &[f64], out: Tile, mut mean: TileMut) {
        mean.values().copy_from_slice(out.values());
    }

    /// tau^2 nu / (nu - 2), infinite for nu <= 2.
    fn variance(&self, phi: &[f64], _out: Tile, mut variance: TileMut) -> bool {
        let Terms { nu, tau, .. } = self.terms(phi);
        let v = if nu > 2.0 { tau * tau / (1.0 - 2.0 / nu) } else { f64::INFINITY };
        variance.values().fill(v);
        true
    }

    fn draw(&self, phi: &[f64], out: TileMut, _y: Tile, rng: &mut ChainRng, mut drawn: TileMut) {
        // z / sqrt(c / nu), with z normal and c = 2 Gamma(nu / 2) chi-squared.
        let (Terms { nu, tau, .. }, out) = (self.terms(phi), out.as_tile());
        for j in 0..out.columns() {
            for (y, f) in drawn.column(j).iter_mut().zip(out.column(j)) {
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
        phi: &[f64],
        out: Tile,
        _mean: Tile,
        y: Tile,
        r_out: Tile,
        r_phi: &[f64],
        mut r_d_out: TileMut,
        r_d_phi: &mut [f64],
    ) {
        let terms = self.terms(phi);
        let Terms { nu, tau, .. } = terms;
        let [r_eta, r_lambda] = self.expanded(r_phi);
        // nu D and nu^2 D', which only lambda needs.
        let (digamma, trigamma) = match r_lambda != 0.0 {
            true => (terms.nu_digamma(), nu * (nu * trigamma_rise(0.5, 0.5 * nu))),
            false => (0.0, 0.0),
        };
        let mut sums = [0.0; 2];
        for j in 0..out.columns() {
            let (f, y, r) = (out.column(j), y.column(j), r_out.column(j));
            for (i, d) in r_d_out.column(j).iter_mut().enumerate() {
                match curvature {
                    Curvature::Observed => {
                        let Value { u, slope, log_tail, excess } = terms.value(y[i] - f[i]);
                        let of_f = (nu + 1.0) * (1.0 - u) * (2.0 * u - 1.0) / (nu * tau * tau);
                        let [of_eta, of_lambda] = [-(nu + 1.0) * slope * (1.0 - u), slope * excess];
                        *d = of_f * r[i] + of_eta * r_eta + of_lambda * r_lambda;
                        let both = 0.5 * u * excess;
                        let of_scale = -0.5 * (nu + 1.0) * u * (1.0 - u);
                        sums[0] += of_eta * r[i] + of_scale * r_eta + both * r_lambda;
                        let tail = digamma + 0.5 * trigamma - nu * log_tail + nu * u;
                        let of_nu = 0.5 * tail + both;
                        sums[1] += of_lambda * r[i] + both * r_eta + of_nu * r_lambda;
                    }
                    Curvature::Expected => {
                        *d = -(nu + 1.0) / ((nu + 3.0) * tau * tau) * r[i];
                        let both = nu / ((nu + 1.0) * (nu + 3.0));
                        sums[0] += -0.5 * nu / (nu + 3.0) * r_eta + both * r_lambda;
                        let of_nu = 0.25 * trigamma + 0.5 * nu / (nu + 1.0) + both;
                        sums[1] += both * r_eta + of_nu * r_lambda;
                    }
                }
            }
        }
        self.add(sums, r_d_phi);
    }
}
