//! Differences of log gamma functions and their derivatives, without cancellation.
//!
//! For x > 0 and a >= 0,
//!
//! ```text
//! g(a, x)  = log Gamma(x + a) - log Gamma(x) - a log x
//! psi(x + a) - psi(x),        psi'(x + a) - psi'(x),        psi = d log Gamma / dx
//! ```
//!
//! For large x each is small beside the terms that it is a difference of. From x = 16 on, Stirling's
//! series takes their place (DLMF 5.11.1, 5.11.2): with S(x) = 1/(12 x) - 1/(360 x^3) + ..., whose
//! derivatives the others are,
//!
//! ```text
//! log Gamma(x) = (x - 1/2) log x - x + log(2 pi)/2 + S(x)
//! g(a, x)      = (x + a - 1/2) log(1 + a/x) - a + S(x + a) - S(x)
//! ```
//!
//! Of one gamma function alone there are three numbers that are small where it is large, and finite at x = 0:
//!
//! ```text
//! x log x - x + log(2 pi)/2 - log Gamma(x) = (log x)/2 - S(x)
//! x (psi(x) - log x)                       = x S'(x) - 1/2
//! x^2 psi'(x) - x                          = x^2 S''(x) + 1/2
//! ```

use crate::portable::{ln, ln_1p, ln_gamma};

/// The argument from which on the series are exact to 1e-15.
const LARGE: f64 = 16.0;

/// g(a, x) = log Gamma(x + a) - log Gamma(x) - a log x.
pub(super) fn log_rise(a: f64, x: f64) -> f64 {
    if x < LARGE {
        return ln_gamma(x + a) - ln_gamma(x) - a * ln(x);
    }
    (x + a - 0.5) * ln_1p(a / x) - a + (stirling(x + a) - stirling(x)) //~ stirling-rest
}

/// psi(x + a) - psi(x).
pub(super) fn digamma_rise(a: f64, x: f64) -> f64 {
    if x < LARGE {
        return digamma(x + a) - digamma(x);
    }
    ln_1p(a / x) + (digamma_rest(x + a) - digamma_rest(x))
}

/// psi'(x + a) - psi'(x), which is negative.
pub(super) fn trigamma_rise(a: f64, x: f64) -> f64 {
    if x < LARGE {
        return trigamma(x + a) - trigamma(x);
    }
    -a / x / (x + a) + (trigamma_rest(x + a) - trigamma_rest(x))
}

/// x log x - x + log(2 pi)/2 - log Gamma(x), given the logarithm, also for x below the smallest number.
pub(super) fn log_inverse_rest(x: f64, log: f64) -> f64 {
    match x < LARGE {
        true => log - ln_gamma(x + 1.0) + x * (log - 1.0) + 0.5 * ln(std::f64::consts::TAU),
        false => 0.5 * log - stirling(x),
    }
}

/// x (psi(x) - log x), given the logarithm.
pub(super) fn digamma_excess(x: f64, log: f64) -> f64 {
    match x < LARGE {
        true => x * (digamma(x + 1.0) - log) - 1.0,
        false => x * digamma_rest(x),
    }
}

/// x^2 psi'(x) - x.
pub(super) fn trigamma_excess(x: f64) -> f64 {
    match x < LARGE {
        true => 1.0 - x + x * x * trigamma(x + 1.0),
        false => 0.5 + trigamma_series(x) / x,
    }
}

/// psi(x) = psi(x + 1) - 1/x.
fn digamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < LARGE {
        sum -= 1.0 / x;
        x += 1.0;
    }
    sum + ln(x) + digamma_rest(x)
}

/// psi'(x) = psi'(x + 1) + 1/x^2.
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < LARGE {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    sum + 1.0 / x + trigamma_rest(x)
}

/// S(x).
fn stirling(x: f64) -> f64 {
    let z = 1.0 / (x * x);
    (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z / 1188.0)))) / x
}

/// psi(x) - log x.
fn digamma_rest(x: f64) -> f64 {
    let z = 1.0 / (x * x);
    let series = 1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z * (1.0 / 240.0 - z / 132.0)));
    -0.5 / x - z * series
}

/// psi'(x) - 1/x.
fn trigamma_rest(x: f64) -> f64 {
    1.0 / (x * x) * (0.5 + trigamma_series(x) / x)
}

/// x^3 (psi'(x) - 1/x - 1/(2 x^2)).
fn trigamma_series(x: f64) -> f64 {
    let z = 1.0 / (x * x);
    1.0 / 6.0 - z * (1.0 / 30.0 - z * (1.0 / 42.0 - z * (1.0 / 30.0 - z * (5.0 / 66.0))))
}
