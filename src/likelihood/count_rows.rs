//! Poisson and negative binomial counts row by row, for likelihoods that do more with some rows than add their log
//! densities up.
//!
//! eta = log mu is the output, rho = log r the dispersion. A Poisson count has no rho: derivatives with respect to
//! it are 0. The equations are as for [`Poisson`](super::Poisson) and
//! [`NegativeBinomial`](super::NegativeBinomial).

use super::gamma_functions::log_rise;
use super::negative_binomial::{Links, information};
use super::poisson::less_rate;
use super::{ORDINARY, draw_poisson, ln_1m_exp, over_exp_m1, weighted};
use crate::engine::elementary::exp_in_place;
use crate::engine::{TILE_ROWS, Tile};
use crate::layout::Layout;
use crate::portable::{exp, exp_m1, ln};
use crate::rng::ChainRng;

/// A distribution of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    Poisson,
    NegativeBinomial,
}

impl Counts {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Poisson => "Poisson",
            Self::NegativeBinomial => "negative binomial",
        }
    }

    /// r, infinite for Poisson counts; `None` where the density is taken to be 0.
    pub(super) fn dispersion(self, rho: f64) -> Option<f64> {
        let r = match self {
            Self::Poisson => return Some(f64::INFINITY),
            Self::NegativeBinomial => exp(rho),
        };
        ORDINARY.contains(&r).then_some(r)
    }

    /// The blocks of phi: rho, which a Poisson count has not, and omega, called `zeros`.
    pub(super) fn layout(self, zeros: &str) -> Layout {
        let layout = match self {
            Self::Poisson => Layout::new(),
            Self::NegativeBinomial => Layout::new().with("log_dispersion", &[]),
        };
        layout.with(zeros, &[])
    }

    /// rho, 0 of a Poisson count, and omega; or the entries of a direction for these.
    pub(super) fn own(self, phi: &[f64]) -> (f64, f64) {
        let omega = phi[phi.len() - 1];
        (if self == Self::Poisson { 0.0 } else { phi[0] }, omega)
    }

    /// Adds the values for rho and omega to the values for phi.
    pub(super) fn add(self, of_rho: f64, of_omega: f64, to_phi: &mut [f64]) {
        if self == Self::NegativeBinomial {
            to_phi[0] += of_rho;
        }
        to_phi[to_phi.len() - 1] += of_omega;
    }
}

/// One draw of a count of mean `mu`: Poisson, with a rate from Gamma(shape r, mean mu).
pub(super) fn draw(mu: f64, r: f64, rng: &mut ChainRng) -> f64 {
    let rate = if r == f64::INFINITY { mu } else { mu * (rng.gamma(r) / r) };
    draw_poisson(rate, rng)
}

/// The rows of a tile.
pub(super) struct Rows<'o> {
    eta: &'o [f64],
    mu: [f64; TILE_ROWS],
    /// Of negative binomial counts: r, rho, and the links.
    dispersed: Option<(f64, f64, Links)>,
}

impl<'o> Rows<'o> {
    pub(super) fn is_dispersed(&self) -> bool {
        self.dispersed.is_some()
    }

    pub(super) fn mu(&self, i: usize) -> f64 {
        self.mu[i]
    }

    /// r, infinite for Poisson counts.
    pub(super) fn r(&self) -> f64 {
        self.dispersed.as_ref().map_or(f64::INFINITY, |(r, ..)| *r)
    }

    /// The rows whose outputs are `out`, with the dispersion r = e^rho, infinite for Poisson counts.
    pub(super) fn new(out: Tile<'o>, r: f64, rho: f64) -> Self {
        let mut mu = [0.0; TILE_ROWS];
        mu[..out.stride()].copy_from_slice(&out.values()[..out.stride()]);
        exp_in_place(&mut mu[..out.stride()]);
        let dispersed = (r < f64::INFINITY).then(|| (r, rho, Links::new(out, rho)));
        Self { eta: out.column(0), mu, dispersed }
    }

    /// log p(y) of row `i`; `log_factorial` is log y!.
    pub(super) fn value(&self, i: usize, y: f64, log_factorial: f64) -> f64 {
        match &self.dispersed {
            None => less_rate(weighted(y, self.eta[i]) - log_factorial, self.mu[i]),
            Some((r, rho, links)) => {
                let coefficient = log_rise(y, *r) + y * rho - log_factorial;
                coefficient + links.log_probability(i, self.eta[i] - rho, y, *r)
            }
        }
    }

    /// -log p(0) of row `i`.
    pub(super) fn no_zero(&self, i: usize) -> NoZero {
        let Some((r, rho, links)) = &self.dispersed else {
            return NoZero { a: self.mu[i], log_a: self.eta[i], p: 0.0, slope: 1.0, bend: 0.0 };
        };
        let z = self.eta[i] - rho;
        let [p, rest, softplus] = links.parts(i, z);
        // Below, p and softplus(z) are e^z to all digits, or 0.
        let (log, slope) = match z < -40.0 {
            true => (z, 1.0),
            false => (ln(softplus), p / softplus),
        };
        let bend = slope * (rest - slope);
        NoZero { a: r * softplus, log_a: rho + log, p, slope, bend }
    }

    /// The derivatives of log p(y) of row `i` with respect to eta and rho.
    pub(super) fn slope(&self, i: usize, y: f64) -> [f64; 2] {
        match &self.dispersed {
            None => [y - self.mu[i], 0.0],
            Some((r, rho, links)) => {
                [links.d_eta(i, y, *r), links.d_rho(i, self.eta[i] - rho, y, *r)]
            }
        }
    }

    /// The second derivatives of log p(y) of row `i` along the direction (R eta, R rho).
    pub(super) fn tangent(&self, i: usize, y: f64, [r_eta, r_rho]: [f64; 2]) -> [f64; 2] {
        let Some((r, rho, links)) = &self.dispersed else {
            return [-weighted(r_eta, self.mu[i]), 0.0];
        };
        let [of_eta, of_both] = links.of_eta(i, y, *r);
        let of_rho = match r_rho {
            0.0 => 0.0,
            _ => links.of_rho(i, self.eta[i] - rho, y, *r) * r_rho,
        };
        [of_eta * r_eta + of_both * r_rho, of_both * r_eta + of_rho]
    }

    /// The expectation over y of [`tangent`](Self::tangent).
    pub(super) fn expected_tangent(&self, i: usize, [r_eta, r_rho]: [f64; 2]) -> [f64; 2] {
        let Some((r, _, links)) = &self.dispersed else {
            return [-weighted(r_eta, self.mu[i]), 0.0];
        };
        let of_rho = if r_rho == 0.0 { 0.0 } else { -information(self.mu[i], *r) * r_rho };
        [links.expected_of_eta(i, *r) * r_eta, of_rho]
    }
}

/// A = -log p(0) and its derivatives, of which log A has the simple ones:
///
/// ```text
/// Poisson              A = mu                 d log A / d eta = 1
/// negative binomial    A = r softplus(z)      d log A / d eta = lambda = p / softplus(z)
///                                             d log A / d rho = 1 - lambda
/// ```
///
/// The second derivatives of log A are b, -b and b for (eta, eta), (eta, rho) and (rho, rho), b = lambda (1 - p - lambda).
pub(super) struct NoZero {
    pub(super) a: f64,
    log_a: f64,
    /// Of negative binomial counts, else 0.
    pub(super) p: f64,
    /// lambda.
    pub(super) slope: f64,
    /// b.
    pub(super) bend: f64,
}

impl NoZero {
    /// log(1 - p(0)) = log(1 - e^-A), also where A is too small for a number.
    pub(super) fn log_probability(&self) -> f64 {
        match self.a {
            0.0 => self.log_a,
            a if a < 1.0 => self.log_a + ln(-exp_m1(-a) / a),
            a => ln_1m_exp(a),
        }
    }

    /// d log A / d eta and d log A / d rho.
    pub(super) fn slopes(&self, is_dispersed: bool) -> [f64; 2] {
        [self.slope, if is_dispersed { 1.0 - self.slope } else { 0.0 }]
    }

    /// M = A / (e^A - 1) = d log(1 - e^-A) / d log A.
    pub(super) fn m(&self) -> f64 {
        over_exp_m1(self.a)
    }
}
