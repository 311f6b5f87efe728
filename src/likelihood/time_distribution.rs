//! Distributions of times.

use serde::{Deserialize, Serialize};

use super::ORDINARY;
use super::normal_tails::{self, Tail};
use crate::portable::{exp, exp_m1, ln, ln_1p, ln_gamma};

/// The family of a [`TimeDistribution`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimeFamily {
    /// T = mu + sigma Z with Z standard normal: real numbers rather than times, of any sign.
    Normal,
    /// log T = mu + sigma Z with Z standard normal.
    LogNormal,
    /// log T = mu + sigma W with P(W > w) = exp(-e^w): T has the scale e^mu and the shape 1 / sigma.
    Weibull,
}

impl TimeFamily {
    /// Whether the logarithm has a location and a scale: times are above 0.
    pub fn is_of_logs(self) -> bool {
        self != Self::Normal
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::LogNormal => "log-normal",
            Self::Weibull => "Weibull",
        }
    }
}

/// The distribution of a time T: what a draw of a [`Censored`](super::Censored) model's parameters says of a row.
///
/// | family | survival P(T > t), z = (log t - mu) / sigma | mean |
/// | --- | --- | --- |
/// | normal | Phi(-z) with z = (t - mu) / sigma | mu |
/// | log-normal | Phi(-z) | e^(mu + sigma^2 / 2) |
/// | Weibull | exp(-e^z) | e^mu Gamma(1 + sigma) |
///
/// ```
/// use bnn_mcmc::likelihood::{TimeDistribution, TimeFamily};
/// let time = TimeDistribution { family: TimeFamily::Weibull, location: 2.0, scale: 0.5 };
/// let median = time.quantile(0.5);
/// assert!((time.survival(median) - 0.5).abs() < 1e-14);
/// assert!(time.restricted_mean(5.0) < 5.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeDistribution {
    /// The family.
    pub family: TimeFamily,
    /// mu, in the unit of the time or of its logarithm.
    pub location: f64,
    /// sigma, above 0.
    pub scale: f64,
}

impl TimeDistribution {
    /// z of a time; -inf for logarithms of times of 0 or less.
    fn z(&self, time: f64) -> f64 {
        let y = match self.family.is_of_logs() {
            true => ln(time.max(0.0)),
            false => time,
        };
        (y - self.location) / self.scale
    }

    /// log P(T > t).
    pub fn log_survival(&self, time: f64) -> f64 {
        match self.family {
            TimeFamily::Weibull => -exp(self.z(time)),
            _ => Tail::above(self.z(time)).log,
        }
    }

    /// P(T > t).
    pub fn survival(&self, time: f64) -> f64 {
        match self.family {
            TimeFamily::Weibull => exp(-exp(self.z(time))),
            _ => normal_tails::tail(self.z(time)),
        }
    }

    /// The time that is not exceeded with probability `p`, above 0 and below 1; NaN for others.
    pub fn quantile(&self, p: f64) -> f64 {
        if !(0.0 < p && p < 1.0) {
            return f64::NAN;
        }
        let z = match self.family {
            TimeFamily::Weibull => ln(-ln_1p(-p)),
            _ => normal_tails::quantile(p),
        };
        let y = self.location + self.scale * z; //~ time-quantile
        if self.family.is_of_logs() { exp(y) } else { y }
    }

    /// E T.
    pub fn mean(&self) -> f64 {
        let Self { location, scale, .. } = *self;
        match self.family {
            TimeFamily::Normal => location,
            TimeFamily::LogNormal => exp(location + 0.5 * scale * scale),
            TimeFamily::Weibull => exp(location + ln_gamma(1.0 + scale)),
        }
    }

    /// Var T.
    pub fn variance(&self) -> f64 {
        let Self { location, scale, .. } = *self;
        let squared = scale * scale;
        match self.family {
            TimeFamily::Normal => squared,
            TimeFamily::LogNormal => exp(2.0 * location + squared) * exp_m1(squared),
            TimeFamily::Weibull => {
                let log_mean = ln_gamma(1.0 + scale);
                let excess = ln_gamma(1.0 + 2.0 * scale) - 2.0 * log_mean;
                exp(2.0 * (location + log_mean)) * exp_m1(excess.max(0.0))
            }
        }
    }

    /// The restricted mean E min(T, `until`), for times the area below the survival function from 0 to `until`:
    ///
    /// ```text
    /// normal      until - sigma (z Phi(z) + phi(z))
    /// log-normal  e^(mu + sigma^2/2) Phi(z - sigma) + until Phi(-z)
    /// Weibull     e^mu sigma gamma(sigma, e^z), with the lower incomplete gamma function
    /// ```
    pub fn restricted_mean(&self, until: f64) -> f64 {
        let (z, sigma) = (self.z(until), self.scale);
        if self.family.is_of_logs() && until <= 0.0 {
            return until;
        }
        match self.family {
            TimeFamily::Normal => {
                until - sigma * (z * normal_tails::tail(-z) + exp(normal_tails::log_density(z)))
            }
            TimeFamily::LogNormal => {
                let below = self.location + 0.5 * sigma * sigma + Tail::above(sigma - z).log;
                exp(below) + until * normal_tails::tail(z) //~ restricted-mean
            }
            TimeFamily::Weibull => self.restricted_weibull(until, exp(z)),
        }
    }

    /// x = e^z. For small x a series, and for large x the mean less a continued fraction (DLMF 8.11.4, 8.9.2).
    fn restricted_weibull(&self, until: f64, x: f64) -> f64 {
        let sigma = self.scale;
        if x < sigma + 1.0 {
            let (mut term, mut sum, mut n) = (1.0, 1.0, 0.0);
            while term > 1e-17 * sum {
                n += 1.0;
                term *= x / (sigma + n);
                sum += term;
            }
            return until * (exp(-x) * sum).min(1.0);
        }
        if x > 745.0 {
            return self.mean();
        }
        let fraction = (1..=200).rev().fold(0.0, |rest, n| {
            let n = f64::from(n);
            n * (sigma - n) / (x + 2.0 * n + 1.0 - sigma + rest)
        });
        self.mean() - until * sigma * exp(-x) / (x + 1.0 - sigma + fraction)
    }

    /// Whether the scale can be worked with.
    pub(super) fn is_ordinary(&self) -> bool {
        ORDINARY.contains(&self.scale)
    }
}
