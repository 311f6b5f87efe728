//! The normal distribution N(mu, sigma^2) truncated to [a, b], exact however far mu lies outside.
//!
//! Everything is measured from c, the point of [a, b] closest to mu, in units of sigma: with
//! t = |c - mu| / sigma, and u = |x - c| / sigma on one side of it,
//!
//! ```text
//! log p(x) = -u^2/2 - t u - log R - log sigma,   R = integral over [a, b] of e^(-u^2/2 - t u) dx/sigma
//! ```
//!
//! in which phi(t), that would underflow at t = 39, has cancelled. For mu outside, with
//! w = (b - a) / sigma and erfcx x = e^(x^2) erfc x,
//!
//! ```text
//! R(t, w) = int_0^w e^(-u^2/2 - t u) du
//!         = sqrt(pi/2) [erfcx(t/sqrt 2) - e^(-w^2/2 - t w) erfcx((t + w)/sqrt 2)]
//! ```
//!
//! whose difference cancels where w is small: there, 8-point Gauss-Legendre quadrature is exact to
//! rounding. For mu inside, c = mu, t = 0 and R is a sum of two, sqrt(pi/2) erf(w/sqrt 2) for each
//! side: nothing cancels.
//!
//! Draws by rejection, after Robert, Stat. Comput. 5, 1995, doi:10.1007/BF00143942: u from the
//! exponential distribution of rate lambda on [0, w], by its inverse cdf, is accepted with
//! probability e^(-(u - s)^2/2), s = lambda - t. The best lambda for w = infinity,
//! s = (sqrt(t^2 + 4) - t) / 2 <= 1, is taken where s <= w; below that, s = 0. At least 60 % are
//! accepted. For mu inside one side is chosen first, in proportion to its R; where more than half of
//! the normal distribution lies inside, it is drawn from until a draw does.

use crate::portable::{cosh, erf, exp, exp_m1, hypot, ln, ln_1p};
use crate::rng::ChainRng;

const SQRT_HALF_PI: f64 = 1.253_314_137_315_500_3;
/// Positive nodes on [-1, 1] and weights of 8-point Gauss-Legendre quadrature.
const NODES: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_26),
];

/// One coordinate of a proposal. See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct TruncatedNormal {
    mean: f64,
    sd: f64,
    lower: f64,
    upper: f64,
    /// c, the point of the interval closest to the mean.
    nearest: f64,
    t: f64,
    /// R of the part of the interval below c, and above it.
    below: f64,
    above: f64,
}

impl TruncatedNormal {
    /// N(mean, sd^2) on [lower, upper]; lower < upper, either may be infinite, and sd > 0. If the
    /// mean is not finite, densities and draws are NaN.
    pub fn new(mean: f64, sd: f64, lower: f64, upper: f64) -> Self {
        let nearest = mean.clamp(lower, upper);
        let t = (nearest - mean).abs() / sd;
        let inside = |w: f64| SQRT_HALF_PI * erf(w * std::f64::consts::FRAC_1_SQRT_2);
        let (below, above) = if !mean.is_finite() {
            (f64::NAN, f64::NAN)
        } else if t == 0.0 {
            (inside((mean - lower) / sd), inside((upper - mean) / sd))
        } else if mean < lower {
            (0.0, half_mass(t, (upper - lower) / sd))
        } else {
            (half_mass(t, (upper - lower) / sd), 0.0)
        };
        Self { mean, sd, lower, upper, nearest, t, below, above }
    }

    /// log p(x) + log sd, for x in [lower, upper].
    pub fn log_density(&self, x: f64) -> f64 {
        let u = (x - self.nearest).abs() / self.sd;
        -u * (0.5 * u + self.t) - ln(self.below + self.above) //~ truncated-density
    }

    /// A draw, always in [lower, upper].
    pub fn draw(&self, rng: &mut ChainRng) -> f64 {
        let mass = self.below + self.above;
        if mass.is_nan() {
            return f64::NAN;
        }
        if self.t == 0.0 && mass >= SQRT_HALF_PI {
            loop {
                let x = self.mean + self.sd * rng.normal();
                if self.lower <= x && x <= self.upper {
                    return x;
                }
            }
        }
        let is_below = match self.t == 0.0 {
            true => rng.uniform() * mass < self.below,
            false => self.nearest == self.upper,
        };
        let (c, sd) = (self.nearest, self.sd);
        let x = if is_below {
            c - sd * draw_half(self.t, (c - self.lower) / sd, rng)
        } else {
            c + sd * draw_half(self.t, (self.upper - c) / sd, rng)
        };
        x.clamp(self.lower, self.upper)
    }
}

/// R(t, w) for t >= 0 and w >= 0, which may be infinite.
fn half_mass(t: f64, w: f64) -> f64 {
    let h = 0.5 * w;
    let slope = (t + h) * h;
    if h <= 0.5 && slope <= 0.5 {
        // Around the middle of the interval, u = h + h x.
        let sum: f64 = NODES
            .iter()
            .map(|(x, weight)| weight * exp(-0.5 * (h * x).powi(2)) * cosh(slope * x))
            .sum();
        return 2.0 * h * exp(-(0.5 * h + t) * h) * sum;
    }
    let scale = std::f64::consts::FRAC_1_SQRT_2;
    let decay = exp(-w * (0.5 * w + t));
    let far = if decay == 0.0 { 0.0 } else { decay * erfcx((t + w) * scale) };
    SQRT_HALF_PI * (erfcx(t * scale) - far)
}

/// A draw of u in [0, w], of density e^(-u^2/2 - t u) / R(t, w).
fn draw_half(t: f64, w: f64, rng: &mut ChainRng) -> f64 {
    let best = 2.0 / (t + hypot(t, 2.0));
    let s = if best <= w { best } else { 0.0 };
    let lambda = t + s;
    let y = lambda * w;
    loop {
        let v = rng.uniform();
        let u = if y < 1e-16 {
            v * w // the exponential is constant on the interval
        } else {
            (-ln_1p(v * exp_m1(-y)) / lambda).min(w)
        };
        // Written so that NaN, which no finite t gives, ends the loop.
        let rejected = rng.uniform() >= exp(-0.5 * (u - s).powi(2));
        if !rejected {
            return u;
        }
    }
}

/// e^(x^2) erfc x for x >= 0.
fn erfcx(x: f64) -> f64 {
    cdflib::special::error_fc_scaled(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (t, w, R(t, w)), by mpmath 1.3 with 60 digits.
    const HALF_MASS: &[(f64, f64, f64)] = &[
        (0.0, 1e-06, 9.999999999998333e-07),
        (0.0, 0.015625, 0.015624364240404785),
        (0.0, 0.25, 0.24742006684175272),
        (0.0, 0.9375, 0.8165323760411527),
        (0.0, 1.125, 0.9267142166309817),
        (0.0, 3.0, 1.2499304447415476),
        (0.0, f64::INFINITY, 1.2533141373155003),
        (0.0625, 1e-06, 9.999999687498338e-07),
        (0.0625, 0.015625, 0.015616737794254687),
        (0.0625, 0.25, 0.2455070891022171),
        (0.0625, 0.9375, 0.7947157224974638),
        (0.0625, 1.125, 0.8980400824244754),
        (0.0625, 3.0, 1.1904266061147117),
        (0.0625, f64::INFINITY, 1.1931829647319152),
        (0.75, 1e-06, 9.999996249999271e-07),
        (0.75, 0.015625, 0.01553317365021221),
        (0.75, 0.25, 0.22571786562378943),
        (0.75, 0.9375, 0.6006351522654484),
        (0.75, 1.125, 0.6516326755111972),
        (0.75, 3.0, 0.7522775679883313),
        (0.75, f64::INFINITY, 0.7525711790634081),
        (2.0, 1e-06, 9.999990000004999e-07),
        (2.0, 0.015625, 0.015382761718137268),
        (2.0, 0.25, 0.19495222947274826),
        (2.0, 0.9375, 0.3907279763824706),
        (2.0, 1.125, 0.40490304324763093),
        (2.0, 3.0, 0.4213639200374448),
        (2.0, f64::INFINITY, 0.4213692292880545),
        (5.0, 1e-06, 9.999975000039999e-07),
        (5.0, 0.015625, 0.015029637709293935),
        (5.0, 0.25, 0.1416554801542004),
        (5.0, 0.9375, 0.1918348174117419),
        (5.0, 1.125, 0.19250312584863924),
        (5.0, 3.0, 0.1928081042968804),
        (5.0, f64::INFINITY, 0.19280810471531576),
        (30.0, 1e-06, 9.999850001498323e-07),
        (30.0, 0.015625, 0.01247341713818242),
        (30.0, 0.25, 0.033278717127477986),
        (30.0, 0.9375, 0.03329641907248452),
        (30.0, 1.125, 0.033296419072497176),
        (30.0, 3.0, 0.03329641907249721),
        (30.0, f64::INFINITY, 0.03329641907249721),
        (60.0, 1e-06, 9.999700005998242e-07),
        (60.0, 0.015625, 0.010139585993080178),
        (60.0, 0.25, 0.016662035970060867),
        (60.0, 0.9375, 0.016662040889713754),
        (60.0, 1.125, 0.016662040889713754),
        (60.0, 3.0, 0.016662040889713754),
        (60.0, f64::INFINITY, 0.016662040889713754),
        (1000.0, 1e-06, 9.995001666248417e-07),
        (1000.0, 0.015625, 0.000999998836287995),
        (1000.0, 0.25, 0.0009999990000029999),
    ];

    #[test]
    fn masses_are_exact_in_the_tails_and_on_narrow_intervals() {
        for (t, w, exact) in HALF_MASS {
            let found = half_mass(*t, *w);
            assert!((found / exact - 1.0).abs() < 1e-13, "R({t}, {w}) = {found}, not {exact}");
        }
        assert!((half_mass(1e200, 3.0) / 1e-200 - 1.0).abs() < 1e-13);
    }

    /// Where both ways of computing R meet, they agree.
    #[test]
    fn quadrature_and_difference_meet() {
        for t in [0.0, 0.3, 1.0, 7.0, 100.0, 1e6] {
            // The largest w with (t + h) h <= 1/2 and h <= 1/2.
            let h: f64 = (1.0 / (t + (t * t + 2.0f64).sqrt())).min(0.5);
            let (below, above) =
                (half_mass(t, 2.0 * h * (1.0 - 1e-9)), half_mass(t, 2.0 * h * (1.0 + 1e-9)));
            // The derivative of R is at most 1.
            assert!((above - below).abs() <= 4.1e-9 * h, "{t}: {below} {above}");
            assert!(above > below);
        }
    }

    /// Draws and density agree with each other: Kolmogorov-Smirnov against the exact cdf, at every
    /// distance of the mean from the interval, for all three ways to draw.
    #[test]
    fn draws_have_the_exact_distribution_and_stay_inside() {
        let (n, inf) = (100_000, f64::INFINITY);
        let mut rng = ChainRng::new(1, 0);
        for (mean, lower, upper) in [
            (0.0, -inf, inf),
            (0.0, -1.0, 1.0),
            (0.3, -0.1, 0.6),
            (0.3, -1e-3, 2.0),
            (0.3, 0.299, inf),
            (0.9, -3.0, 1.0),
            (0.0, 0.0, 1.0),
            (0.0, 1e-5, 1e-3),
            (-0.5, 0.0, 0.4),
            (-0.5, 0.0, 2.5),
            (-1e-9, 0.0, 3.0),
            (-3.0, 0.0, inf),
            (3.0, -inf, 0.0),
            (-30.0, 0.0, inf),
            (-30.0, 0.0, 1.0),
            (-30.0, 0.0, 0.02),
            (60.0, -inf, 0.0),
            (60.0, -1.0, 0.0),
            (60.0, -0.01, 0.0),
            (-1e6, 0.0, 1.0),
            (1e9, -1.0, 1.0),
        ] {
            let sd = 0.5;
            let (mean, lower, upper) = (sd * mean + 2.0, sd * lower + 2.0, sd * upper + 2.0);
            let p = TruncatedNormal::new(mean, sd, lower, upper);
            let mut x: Vec<f64> = (0..n).map(|_| p.draw(&mut rng)).collect();
            assert!(x.iter().all(|x| (lower..=upper).contains(x)), "{p:?}");
            x.sort_by(f64::total_cmp);
            // The mass of [lower, x] as a share of all: of the same density on a shorter interval.
            let c = p.nearest;
            let log_all = -p.log_density(c);
            let cdf = |x: f64| {
                if x <= lower {
                    return 0.0;
                }
                let part = TruncatedNormal::new(mean, sd, lower, x);
                // Both relative to the density at c, or at x where the interval ends before c.
                let end = part.nearest;
                (-part.log_density(end) + (p.log_density(end) - p.log_density(c)) - log_all).exp()
            };
            let d = (0..n).map(|i| (cdf(x[i]) - (i as f64 + 0.5) / n as f64).abs());
            let d = d.fold(0.5 / n as f64, f64::max) * (n as f64).sqrt();
            assert!(d < 2.0, "{p:?}: sqrt(n) D = {d}"); // p-value 7e-4 at 2
        }
    }

    /// Comparison with cdfs that are independent of this file: the exponential limit far out, whose
    /// error is below 1 / t^2, and statrs' normal cdf near the mean.
    #[test]
    fn draws_agree_with_other_peoples_distributions() {
        use statrs::distribution::{ContinuousCDF, Normal};
        let n = 100_000;
        let mut rng = ChainRng::new(2, 0);
        let mut worst = |p: TruncatedNormal, cdf: &dyn Fn(f64) -> f64| {
            let mut x: Vec<f64> = (0..n).map(|_| p.draw(&mut rng)).collect();
            x.sort_by(f64::total_cmp);
            let d = (0..n).map(|i| (cdf(x[i]) - (i as f64 + 0.5) / n as f64).abs());
            d.fold(0.0, f64::max) * (n as f64).sqrt()
        };
        for t in [30.0, 60.0, 1e4] {
            let above = TruncatedNormal::new(-t, 1.0, 0.0, 2.0);
            let below = TruncatedNormal::new(t, 1.0, -f64::INFINITY, 0.0);
            let exponential = |u: f64| -(-t * u).exp_m1();
            let slack = (n as f64).sqrt() / (t * t);
            assert!(worst(above, &exponential) < 2.0 + slack, "{t} below the interval");
            assert!(worst(below, &|x| 1.0 - exponential(-x)) < 2.0 + slack, "{t} above it");
        }
        let normal = Normal::new(0.0, 1.0).unwrap();
        for (a, b) in [(-1.0, 2.0), (0.1, 0.3), (-0.2, 0.3), (2.0, 5.0), (-4.0, -1.0)] {
            let z = normal.cdf(b) - normal.cdf(a);
            let p = TruncatedNormal::new(0.0, 1.0, a, b);
            let d = worst(p, &|x| (normal.cdf(x) - normal.cdf(a)) / z);
            assert!(d < 2.0, "[{a}, {b}]: {d}");
            let exact = (-0.5 * b * b).exp() / std::f64::consts::TAU.sqrt() / z;
            assert!((p.log_density(b) - exact.ln()).abs() < 1e-9, "[{a}, {b}]");
        }
    }

    #[test]
    fn a_mean_that_is_not_finite_gives_nan() {
        let mut rng = ChainRng::new(1, 0);
        for mean in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let p = TruncatedNormal::new(mean, 1.0, 0.0, 1.0);
            assert!(p.draw(&mut rng).is_nan() && p.log_density(0.5).is_nan());
        }
        for (mean, sd) in
            [(1e300, 1.0), (-1e300, 1e-10), (0.5, 1e130), (1e200, 1e130), (0.5, 1e-300)]
        {
            let p = TruncatedNormal::new(mean, sd, 0.0, 1.0);
            assert!((0.0..=1.0).contains(&p.draw(&mut rng)), "{mean}, {sd}");
        }
    }
}
