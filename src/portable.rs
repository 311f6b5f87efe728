//! The portable mode: the same draws on every processor.
//!
//! Processors with wider vectors add numbers in another order, and the elementary functions of the C
//! library differ in the last digit between its versions and between processors. Chains are chaotic:
//! two that differ in one last digit soon differ in all digits, while their distribution stays the
//! same. The environment variable `BNN_MCMC_PORTABLE=1`, read once, at first use, makes draws, their
//! statistics and log densities the same bits on every processor with IEEE 754 arithmetic in f64
//! (x86-64, aarch64, ...):
//!
//! - kernels run on vectors of 16 bytes, with a product and a sum rounded separately;
//! - exp, ln and their kin are the `libm` crate's, which are written in Rust;
//! - normal and gamma variables are drawn by algorithms of this crate (so that the draws of a seed
//!   differ from those without the mode).
//!
//! Excepted are Kronecker-factored Laplace approximations
//! ([`Laplace::kronecker`](crate::approximate::LaplaceApproximation::kronecker)), whose products are
//! ndarray's; predictive draws of counts; and densities and emulators of one's own that call the
//! standard library's functions or ndarray's products. Diagnostics, scores and evidence agree to rounding.
//!
//! The price is speed: on a processor with AVX-512 a gradient takes from 2.2 times (linear, 1,000
//! rows) to 4.5 times (11-50-50-1, 1,599 rows) as long.

use std::sync::OnceLock;

/// Whether the mode is on: `BNN_MCMC_PORTABLE` is set, and neither empty nor 0.
pub fn is_on() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| {
        std::env::var_os("BNN_MCMC_PORTABLE").is_some_and(|v| !(v.is_empty() || v == "0"))
    })
}

/// Defines functions that are the standard library's, and `libm`'s in portable mode.
macro_rules! functions {
    ($($name:ident($x:ident $(, $y:ident)?): $standard:expr, $libm:expr;)*) => {$(
        #[inline]
        pub(crate) fn $name($x: f64 $(, $y: f64)?) -> f64 {
            if is_on() { $libm } else { $standard }
        }
    )*};
}

functions! {
    exp(x): x.exp(), libm::exp(x);
    ln(x): x.ln(), libm::log(x);
    exp_m1(x): x.exp_m1(), libm::expm1(x);
    ln_1p(x): x.ln_1p(), libm::log1p(x);
    cos(x): x.cos(), libm::cos(x);
    cosh(x): x.cosh(), libm::cosh(x);
    tanh(x): x.tanh(), libm::tanh(x);
    powf(x, y): x.powf(y), libm::pow(x, y);
    hypot(x, y): x.hypot(y), libm::hypot(x, y);
    erf(x): statrs::function::erf::erf(x), libm::erf(x);
    ln_factorial(n): statrs::function::factorial::ln_factorial(n as u64), libm::lgamma(n + 1.0);
    ln_gamma(x): statrs::function::gamma::ln_gamma(x), libm::lgamma(x);
}
