//! Times, or other numbers, that are known exactly or to lie between bounds.

use ndarray::Array2;

use super::normal_tails::{Tail, log_density, tail};
use super::{
    Likelihood, ORDINARY, SecondOrderLikelihood, Tangent, TimeDistribution, TimeFamily, Weights,
    check_outputs, ln_1m_exp, mismatch, ordinary, over_exp_m1, weighted,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::{Tile, TileMut};
use crate::layout::Layout;
use crate::message::number;
use crate::portable::{cosh, exp, exp_m1, ln, ln_1p};
use crate::rng::ChainRng;

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;
/// pi^2 / 6.
const PI_SQUARED_SIXTH: f64 = std::f64::consts::PI * std::f64::consts::PI / 6.0;

/// T with log T = mu + sigma Z, known exactly or between bounds: survival times that are log-normal or Weibull, or
/// normal numbers without the logarithm.
///
/// The response is [`Response::Censored`], the model has one output f, and sigma is the same for all rows:
///
/// ```text
/// mu = c + r f(x),   sigma = r e^s,   Z normal, or P(Z > z) = exp(-e^z) for Weibull times
/// ```
///
/// in which c = 0 and r = 1 unless [`in_units`](Self::in_units) says otherwise. With z = (log t - mu) / sigma, and a, b
/// for z at the lower and the upper bound, the log likelihood of a row is
///
/// ```text
/// observed at t            log g(z) - log sigma - log t     the density of t itself, in its own unit
/// right-censored at t      log S(a)
/// left-censored at t       log F(b)
/// between two bounds       log(F(b) - F(a))
/// ```
///
/// with the density g, the distribution function F and the survival function S of Z; of normal numbers log t is t, and
/// the density has no term -log t. All rows are alike if censoring tells nothing about T beyond the bounds, given x.
///
/// **Tails.** Where they are small, F(b) - F(a) is a difference of numbers that are nearly 0 or 1. With h = phi / Q,
/// Q(z) = Phi(-z), m = (a + b)/2, d = b - a, and both bounds mirrored if m < 0,
///
/// ```text
/// normal, a >= 0     log Q(a) + log(1 - e^r),   r = log Q(b) - log Q(a) = -d m - log h(b) + log h(a)
/// normal, d small    log phi(m) + log d + log of the mean of e^(-m t - t^2/2) over |t| <= d/2
/// Weibull            -H_a + log(1 - e^-D),      H_a = e^a, D = H_a (e^d - 1)
/// ```
///
/// log Q and h by a continued fraction from z = 4 on, and the mean by Gauss and Legendre's rule: nothing cancels, and
/// log likelihoods and gradients are finite up to |z| of 1e150 (normal) and e^z of 1e300 (Weibull).
///
/// **Gradient.** With A = g(a) / (F(b) - F(a)) and B likewise,
///
/// ```text
/// d ell / d f = E e^-s     E = A - B = A (1 - e^(-d m)) for normal Z, H_a - M for Weibull, M = D / (e^D - 1)
/// d ell / d s = V          V = a A - b B = a E - d B
/// ```
///
/// and of a row that is observed E = -g'/g, V = z E - 1. Expected second derivatives of an observed row are as in
/// the family; of a row with bounds they are minus the information in *whether* T is in them,
/// p / (1 - p) times the product of its gradients, with p its likelihood: the bounds that the row would have had
/// otherwise are not known.
///
/// Own parameter: `log_scale` = s unless [fixed](Self::with_scale). Outside e^s from 1e-100 to 1e100 the density is
/// taken to be 0. The mean of predictions is E T, and draws are of T, as if nothing were censored;
/// [survival functions, medians and restricted means](crate::predict::Predictions::survival) come from predictions, too.
///
/// Sources: Kalbfleisch and Prentice, The Statistical Analysis of Failure Time Data, 2002,
/// doi:10.1002/9781118032985, sections 2.2 and 3.2; Tobin 1958, doi:10.2307/1907382, for normal numbers.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use ndarray::array;
/// // Died after 3.1 and 0.7 years, alive after 5.
/// let x = array![[0.0], [1.0], [0.0]];
/// let data = Dataset::survival(x, array![3.1, 0.7, 5.0], &[true, true, false])?;
/// let priors = Priors::all(Normal::new(0.0, 2.0)?).with("log_scale", Normal::new(-0.5, 1.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Censored::weibull(), &data, priors)?;
/// assert_eq!(posterior.layout().block_names(), ["w", "b", "log_scale"]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Censored {
    family: TimeFamily,
    centre: f64,
    spread: f64,
    /// sigma / spread; `None` if it is sampled.
    scale: Option<f64>,
}

impl Censored {
    fn new(family: TimeFamily) -> Self {
        Self { family, centre: 0.0, spread: 1.0, scale: None }
    }

    /// Normal numbers of any sign, such as measurements below a limit of detection.
    pub fn normal() -> Self {
        Self::new(TimeFamily::Normal)
    }

    /// Log-normal times: the hazard rises from 0, and falls later.
    pub fn log_normal() -> Self {
        Self::new(TimeFamily::LogNormal)
    }

    /// Weibull times: the hazard is a power of the time, rising if sigma is below 1. They are an accelerated failure
    /// time model and proportional hazards at once.
    pub fn weibull() -> Self {
        Self::new(TimeFamily::Weibull)
    }

    /// Censored numbers or times of this family.
    pub fn of(family: TimeFamily) -> Self {
        Self::new(family)
    }

    /// The output f and the scale e^s are in units of `spread` around `centre`: mu = centre + spread f and
    /// sigma = spread e^s. All else, log densities too, stays in the unit of the time.
    ///
    /// # Errors
    /// A centre that is not finite, a spread outside of 1e-100 to 1e100.
    pub fn in_units(self, centre: f64, spread: f64) -> Result<Self, Error> {
        if !centre.is_finite() {
            let name = "centre of the censored likelihood";
            return Err(Error::argument(name, centre, "a finite number"));
        }
        let spread = ordinary("spread of the censored likelihood", spread)?;
        Ok(Self { centre, spread, ..self })
    }

    /// The scale e^s is known: the standard deviation of Z's multiple, from 1e-100 to 1e100.
    pub fn with_scale(self, scale: f64) -> Result<Self, Error> {
        let scale = ordinary("scale of the censored likelihood", scale)?;
        Ok(Self { scale: Some(scale), ..self })
    }

    /// The family of times.
    pub fn family(&self) -> TimeFamily {
        self.family
    }

    /// e^s.
    fn scale(&self, phi: &[f64]) -> f64 {
        self.scale.unwrap_or_else(|| exp(phi[0]))
    }

    /// The distribution of T for the output `f` and the own parameters `phi`.
    pub fn distribution(&self, phi: &[f64], f: f64) -> TimeDistribution {
        let Self { family, centre, spread, .. } = *self;
        let (location, scale) = (centre + spread * f, spread * self.scale(phi));
        TimeDistribution { family, location, scale }
    }

    fn name(&self) -> String {
        format!("censored {}", self.family.words())
    }

    /// The bounds of a row on the scale of f: lower, upper, their distance, and the term that makes a density one of
    /// T. The distance is exact if the bounds are close.
    fn bounds(&self, lower: f64, upper: f64) -> [f64; 4] {
        let Self { centre, spread, .. } = *self;
        let scaled = |y: f64| (y - centre) / spread;
        let width = upper - lower;
        match self.family.is_of_logs() {
            true => {
                let (low, high) = (ln(lower.max(0.0)), ln(upper));
                let ratio = if lower > 0.0 { width / lower } else { f64::INFINITY };
                let width = if ratio < 0.5 { ln_1p(ratio) } else { high - low };
                [scaled(low), scaled(high), width / spread, high + ln(spread)] //~ density-of-time
            }
            false => [scaled(lower), scaled(upper), width / spread, ln(spread)],
        }
    }

    /// The terms of row `i`; the density of T itself if it was observed.
    fn row(&self, y: Tile, i: usize, f: f64, scale: f64) -> Terms {
        let [a, b] = [0, 1].map(|j| (y.column(j)[i] - f) / scale);
        match (y.column(2)[i], self.family) {
            (0.0, TimeFamily::Weibull) => Terms::weibull_at(a),
            (0.0, _) => Terms::normal_at(a),
            (width, TimeFamily::Weibull) => Terms::weibull(a, b, width / scale),
            (width, _) => Terms::normal(a, b, width / scale),
        }
    }

    /// Whether row `i` is observed, as 1 or 0.
    fn observed(y: Tile, i: usize) -> f64 {
        if y.column(2)[i] == 0.0 { 1.0 } else { 0.0 }
    }

    /// ell of row `i`.
    fn value(y: Tile, i: usize, terms: &Terms, log_scale: f64) -> f64 {
        match y.column(2)[i] {
            0.0 => terms.log - log_scale - y.column(3)[i],
            _ => terms.log,
        }
    }

    /// Writes mu and sigma of each row.
    pub(crate) fn parameters(&self, phi: &[f64], out: Tile, mut to: TileMut) {
        for (i, f) in out.column(0).iter().enumerate() {
            let TimeDistribution { location, scale, .. } = self.distribution(phi, *f);
            to.column(0)[i] = location;
            to.column(1)[i] = scale;
        }
    }

    /// Centre and spread of the logarithms of times, or of normal numbers, by which [`in_units`](Self::in_units) makes
    /// f about standard: mean and standard deviation of a normal distribution, by maximum likelihood given the bounds.
    ///
    /// One row more, half of it at each of m - r and m + r with the mean m and the standard deviation r of all finite
    /// bounds, keeps the maximum finite where few rows say anything. In (mu / sigma, 1 / sigma) the log likelihood is
    /// concave (Olsen 1978, doi:10.2307/1913082), so Newton's method with halved steps finds its maximum. `None` if
    /// all finite bounds are equal.
    pub(crate) fn fitted_units(
        &self,
        lower: &[f64],
        upper: &[f64],
        weights: Option<&[f64]>,
    ) -> Option<(f64, f64)> {
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let plain = Self { centre: 0.0, spread: 1.0, ..*self };
        let rows: Vec<_> = lower.iter().zip(upper).map(|(l, u)| plain.bounds(*l, *u)).collect();
        let ends = || {
            rows.iter().enumerate().flat_map(|(i, [a, b, width, _])| {
                let both = [(weight(i), *a), (weight(i), *b)];
                let ends = if *width == 0.0 { 1 } else { 2 };
                both.into_iter().take(ends).filter(|(_, y)| y.is_finite())
            })
        };
        let n: f64 = ends().map(|(w, _)| w).sum();
        let mean = ends().map(|(w, y)| w * y).sum::<f64>() / n;
        let sd = (ends().map(|(w, y)| w * (y - mean) * (y - mean)).sum::<f64>() / n).sqrt();
        if !(sd > 0.0 && sd.is_finite() && ORDINARY.contains(&sd)) {
            return None;
        }
        // On the scale of (y - mean) / sd: alpha = mu / sigma, theta = 1 / sigma.
        let scaled: Vec<[f64; 3]> =
            rows.iter().map(|[a, b, w, _]| [(a - mean) / sd, (b - mean) / sd, w / sd]).collect();
        let at = |alpha: f64, theta: f64| {
            let mut sum = Olsen::default();
            for (i, [a, b, width]) in scaled.iter().enumerate() {
                //~ weighted-units
                sum.add(weight(i), [*a, *b, *width], alpha, theta);
            }
            for end in [-1.0, 1.0] {
                sum.add(0.5, [end, end, 0.0], alpha, theta);
            }
            sum
        };
        let (mut alpha, mut theta) = (0.0, 1.0);
        let mut here = at(alpha, theta);
        for _ in 0..200 {
            let [step_alpha, step_theta] = here.step();
            let mut share = 1.0;
            let next = loop {
                let (a, t) = (alpha + share * step_alpha, theta + share * step_theta);
                let there = if t > 0.0 { at(a, t) } else { Olsen::nowhere() };
                if there.value >= here.value || share < 1e-10 {
                    break (a, t, there);
                }
                share *= 0.5;
            };
            let rises = next.2.value > here.value;
            if !rises {
                break;
            }
            (alpha, theta, here) = next;
        }
        let (mu, sigma) = (mean + sd * alpha / theta, sd / theta);
        (mu.is_finite() && ORDINARY.contains(&sigma)).then_some((mu, sigma))
    }
}

/// The log likelihood of a normal sample in (alpha, theta), with its gradient and its Hessian.
#[derive(Clone, Copy, Debug, Default)]
struct Olsen {
    value: f64,
    gradient: [f64; 2],
    hessian: [f64; 3],
}

impl Olsen {
    fn nowhere() -> Self {
        Self { value: f64::NEG_INFINITY, ..Self::default() }
    }

    /// Adds a row, with bounds and their distance, `weight` times: a = theta lower - alpha.
    fn add(&mut self, weight: f64, [lower, upper, width]: [f64; 3], alpha: f64, theta: f64) {
        let [a, b] = [lower, upper].map(|y| theta * y - alpha);
        let is_exact = width == 0.0;
        let terms = match is_exact {
            true => Terms::normal_at(a),
            false => Terms::normal(a, b, theta * width),
        };
        // d/d alpha is minus the derivative along the sum of both ends, E; a = theta y - alpha gives
        // d/d theta = -(V + alpha E) / theta, and so on for second derivatives.
        let Terms { log, e, v, s: [s0, s1, s2] } = terms;
        let of_theta = -(v + alpha * e) / theta;
        let jump = if is_exact { 1.0 } else { 0.0 };
        self.value += weight * (log + jump * ln(theta));
        self.gradient[0] += weight * e;
        self.gradient[1] += weight * (of_theta + jump / theta);
        self.hessian[0] += weight * s0;
        self.hessian[1] -= weight * (s1 + alpha * s0) / theta;
        let both = (s2 + 2.0 * alpha * s1 + alpha * alpha * s0) / (theta * theta);
        self.hessian[2] += weight * (both - jump / (theta * theta));
    }

    /// Newton's step, or along the gradient where it cannot be had.
    fn step(&self) -> [f64; 2] {
        let ([g, h], [a, b, c]) = (self.gradient, self.hessian);
        let determinant = a * c - b * b;
        let step = [(b * h - c * g) / determinant, (b * g - a * h) / determinant];
        let rises = step[0] * g + step[1] * h > 0.0;
        if rises && step.iter().all(|s| s.is_finite()) { step } else { [g, h] }
    }
}

/// Of a row, as a function of its bounds a and b in units of sigma: the log of F(b) - F(a), or log g(z) of a row that
/// is observed; E = -(d/da + d/db), V = -(a d/da + b d/db); and the second derivatives along (1, 1) twice, (1, 1) and
/// (a, b), and (a, b) twice.
#[derive(Clone, Copy, Debug, Default)]
struct Terms {
    log: f64,
    e: f64,
    v: f64,
    s: [f64; 3],
}

/// Nodes and weights of Gauss and Legendre's rule with five points on (-1, 1), for the means of even functions.
const NODES: [(f64, f64); 3] = [
    (0.0, 0.568_888_888_888_888_9),
    (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (0.906_179_845_938_664, 0.236_926_885_056_189_08),
];

impl Terms {
    fn normal_at(z: f64) -> Self {
        Self { log: log_density(z), e: z, v: z * z, s: [-1.0, -z, -z * z] }
    }

    fn weibull_at(z: f64) -> Self {
        let h = exp(z);
        Self { log: z - h, e: h - 1.0, v: z * (h - 1.0), s: [-h, -z * h, -z * z * h] }
    }

    /// `d` = b - a, which is exact where a and b are close.
    fn normal(a: f64, b: f64, d: f64) -> Self {
        let middle = 0.5 * a + 0.5 * b;
        match (a == f64::NEG_INFINITY, b == f64::INFINITY) {
            (true, true) => Self::default(),
            (false, true) => Self::normal_above(a),
            (true, false) => Self::normal_above(-b).mirrored(),
            (false, false) if middle < 0.0 => Self::normal_between(-b, -a, d).mirrored(),
            (false, false) => Self::normal_between(a, b, d),
        }
    }

    fn mirrored(self) -> Self {
        let Self { log, e, v, s: [s0, s1, s2] } = self;
        Self { log, e: -e, v, s: [s0, -s1, s2] }
    }

    fn normal_above(a: f64) -> Self {
        let Tail { log, hazard, excess } = Tail::above(a);
        let v = if hazard == 0.0 { 0.0 } else { a * hazard };
        Self { log, e: hazard, v, s: [-hazard * excess, -v * excess, -v * a * excess] }
    }

    /// For a + b >= 0. `gap` is E - a.
    fn normal_between(a: f64, b: f64, d: f64) -> Self {
        let m = 0.5 * a + 0.5 * b;
        let fall = -exp_m1(-d * m);
        let (log, at_a, gap);
        if d * m.max(1.0) < 0.1 {
            let half = 0.5 * d;
            // Both signs of a node stand together, the middle one once.
            let at = |k: usize| {
                let (t, weight) = (half * NODES[k].0, NODES[k].1);
                weight * exp(-0.5 * t * t) * cosh(m * t)
            };
            let mean = 0.5 * at(0) + at(1) + at(2); //~ narrow-bounds
            log = log_density(m) + ln(d) + ln(mean);
            at_a = exp(0.5 * half * (a + m)) / (d * mean);
            gap = None;
        } else if a >= 0.0 {
            let (near, far) = (Tail::above(a), Tail::above(b));
            let drop = d * m + (ln(far.hazard) - ln(near.hazard));
            log = near.log + ln_1m_exp(drop); //~ bounds-in-tail
            at_a = near.hazard / -exp_m1(-drop);
            let b_term = at_a * exp(-d * m);
            gap = Some(near.excess + near.hazard / exp_m1(drop) - b_term);
        } else {
            let outside = tail(b) + tail(-a);
            let root = std::f64::consts::FRAC_1_SQRT_2;
            log = match outside < 0.5 {
                true => ln_1p(-outside),
                false => ln(0.5 * (libm::erf(b * root) + libm::erf(-a * root))),
            };
            at_a = exp(log_density(a) - log);
            gap = None;
        }
        let e = at_a * fall; //~ bounds-gradient
        let d_b = match at_a * exp(-d * m) {
            0.0 => 0.0,
            at_b => d * at_b,
        };
        let gap = gap.unwrap_or(e - a);
        let v = a * e - d_b;
        let s0 = -e * gap - d_b;
        let s1 = -v * gap - d_b * b;
        let s2 = v * (d_b - a * gap) - d_b * b * (a + b);
        Self { log, e, v, s: [s0, s1, s2] }
    }

    fn weibull(a: f64, b: f64, d: f64) -> Self {
        match (a == f64::NEG_INFINITY, b == f64::INFINITY) {
            (true, true) => Self::default(),
            (false, true) => {
                let h = exp(a);
                let v = if h == 0.0 { 0.0 } else { a * h };
                Self { log: -h, e: h, v, s: [-h, -v, -a * v] }
            }
            (true, false) => {
                let h = exp(b);
                let m = over_exp_m1(h);
                let n = if m == 0.0 { 0.0 } else { m * (m + h) };
                let log = log_1m_exp(h, b);
                Self { log, e: -m, v: -b * m, s: [m - n, b * (m - n), b * b * (m - n)] }
            }
            (false, false) => Self::weibull_between(a, b, d),
        }
    }

    fn weibull_between(a: f64, b: f64, d: f64) -> Self {
        let h = exp(a);
        let w = d + over_exp_m1(d);
        let rise = if d < 1.0 { h * exp_m1(d) } else { exp(b) * -exp_m1(-d) };
        let m = over_exp_m1(rise);
        let n = if m == 0.0 { 0.0 } else { m * (m + rise) };
        let log = log_1m_exp(rise, b + ln_1m_exp(d)) - h; //~ weibull-bounds
        let d_b = if m == 0.0 { 0.0 } else { m * w };
        let (e, c) = (h - m, a + w);
        let v = a * e - d_b; //~ weibull-scale-gradient
        let n_c = if n == 0.0 { 0.0 } else { n * c };
        Self { log, e, v, s: [-e - n, -v - n_c, b * d_b - a * v - n_c * c] }
    }
}

/// log(1 - e^-x), given log x, which may be beyond the smallest number.
fn log_1m_exp(x: f64, log: f64) -> f64 {
    match x {
        x if x < 1e-17 => log,
        x if x < 0.7 => log + ln(-exp_m1(-x) / x),
        _ => ln_1m_exp(x),
    }
}

impl Likelihood for Censored {
    fn layout(&self) -> Layout {
        match self.scale {
            None => Layout::new().with("log_scale", &[]),
            Some(_) => Layout::new(),
        }
    }

    fn description(&self) -> Option<String> {
        let Self { centre, spread, .. } = self;
        let units = match (*centre, *spread) {
            (0.0, 1.0) => String::new(),
            _ => format!(", in units of {spread} around {centre}"),
        };
        let scale = self.scale.map_or("sampled".to_string(), |scale| scale.to_string());
        Some(format!("{}, scale {scale}{units}", self.name()))
    }

    /// Columns: the lower and the upper bound on the scale of f, their distance, and the term that makes a density one
    /// of T.
    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        let Response::Censored { lower, upper } = response else {
            return Err(mismatch(&self.name(), response, "numbers with bounds"));
        };
        check_outputs(&self.name(), n_outputs, 1)?;
        let mut y = Array2::zeros((lower.len(), 4));
        for (i, (mut row, (l, u))) in
            y.rows_mut().into_iter().zip(lower.iter().zip(upper)).enumerate()
        {
            let is_known = *l >= 0.0 || *l == f64::NEG_INFINITY;
            if self.family.is_of_logs() && !(*u > 0.0 && is_known) {
                let time = if *u > 0.0 { *l } else { *u };
                let found = format!("row {} is {}, but must be {TIMES}", i + 1, number(time));
                let error =
                    Error::table(format!("response for the {} likelihood", self.name()), found);
                return Err(error.advise([NOT_AT_ZERO.into()]));
            }
            row.assign(&ndarray::aview1(&self.bounds(*l, *u)));
            if l == u {
                row[2] = 0.0;
            }
        }
        Ok(y)
    }

    fn log_lik_rows(&self, phi: &[f64], out: TileMut, y: Tile, rows: &mut [f64]) {
        let scale = self.scale(phi);
        if !ORDINARY.contains(&scale) {
            return rows.fill(f64::NEG_INFINITY);
        }
        let (out, log_scale) = (out.as_tile(), ln(scale));
        for (i, (row, f)) in rows.iter_mut().zip(out.column(0)).enumerate() {
            *row = Self::value(y, i, &self.row(y, i, *f, scale), log_scale);
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
        let scale = self.scale(phi);
        if !ORDINARY.contains(&scale) {
            d_out.values().fill(0.0);
            return f64::NEG_INFINITY;
        }
        let (log_scale, mut ell, mut of_scale) = (ln(scale), 0.0, 0.0);
        for (i, (d, f)) in d_out.column(0).iter_mut().zip(out.column(0)).enumerate() {
            let terms = self.row(y, i, *f, scale);
            let w = weights[i];
            ell += weighted(w, Self::value(y, i, &terms, log_scale));
            *d = weighted(w, terms.e / scale);
            of_scale += weighted(w, terms.v - Self::observed(y, i)); //~ censored-scale-gradient
        }
        d_phi.iter_mut().for_each(|d| *d += of_scale);
        ell
    }

    fn censored(&self) -> Option<&Censored> {
        Some(self)
    }

    fn mean(&self, phi: &[f64], out: Tile, mut mean: TileMut) {
        for (mean, f) in mean.column(0).iter_mut().zip(out.column(0)) {
            *mean = self.distribution(phi, *f).mean();
        }
    }

    fn variance(&self, phi: &[f64], out: Tile, mut variance: TileMut) -> bool {
        for (v, f) in variance.column(0).iter_mut().zip(out.column(0)) {
            *v = self.distribution(phi, *f).variance();
        }
        true
    }

    /// Of normal numbers mu + sigma Z; of times e to that power, with e^W exponential for Weibull times.
    fn draw(&self, phi: &[f64], out: TileMut, _y: Tile, rng: &mut ChainRng, mut drawn: TileMut) {
        let out = out.as_tile();
        for (y, f) in drawn.column(0).iter_mut().zip(out.column(0)) {
            let time = self.distribution(phi, *f);
            let z = match self.family {
                TimeFamily::Weibull => ln(-ln_1p(-rng.uniform())),
                _ => rng.normal(),
            };
            let value = time.location + time.scale * z; //~ censored-draw
            *y = match self.family.is_of_logs() {
                _ if !time.is_ordinary() => f64::NAN,
                true => exp(value),
                false => value,
            };
        }
    }
}

impl SecondOrderLikelihood for Censored {
    fn log_lik_tangent(
        &self,
        curvature: Curvature,
        at: Tangent,
        mut r_d_out: TileMut,
        r_d_phi: &mut [f64],
    ) {
        let Tangent { phi, out, y, weights, r_out, r_phi, .. } = at;
        let (scale, r_s) = (self.scale(phi), r_phi.first().copied().unwrap_or(0.0));
        if !ORDINARY.contains(&scale) {
            return r_d_out.values().fill(0.0);
        }
        let mut of_scale = 0.0;
        for (i, (d, f)) in r_d_out.column(0).iter_mut().zip(out.column(0)).enumerate() {
            let r_f = r_out.column(0)[i] / scale;
            let terms = self.row(y, i, *f, scale);
            let [ff, fs, ss] = match (curvature, Self::observed(y, i)) {
                (Curvature::Observed, _) => {
                    let Terms { e, v, s: [s0, s1, s2], .. } = terms;
                    [s0, s1 - e, s2 - v]
                }
                (Curvature::Expected, 1.0) => self.family.expected(),
                (Curvature::Expected, _) => terms.expected(),
            };
            *d = weighted(weights[i], (ff * r_f + fs * r_s) / scale);
            of_scale += weighted(weights[i], fs * r_f + ss * r_s);
        }
        r_d_phi.iter_mut().for_each(|d| *d += of_scale);
    }
}

impl Terms {
    /// Minus the information in whether T is in its bounds, in units of sigma.
    fn expected(&self) -> [f64; 3] {
        let odds = exp(self.log) / -exp_m1(self.log);
        let odds = if self.log < 0.0 { odds } else { 0.0 };
        let Self { e, v, .. } = *self;
        let product = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { -odds * a * b };
        [product(e, e), product(e, v), product(v, v)]
    }
}

impl TimeFamily {
    /// Minus the information of a time that is observed, in units of sigma.
    fn expected(self) -> [f64; 3] {
        match self {
            Self::Normal | Self::LogNormal => [-1.0, 0.0, -2.0],
            Self::Weibull => {
                let mean = 1.0 - EULER; // E W e^W
                [-1.0, -mean, -(PI_SQUARED_SIXTH + mean * mean)]
            }
        }
    }
}

/// The times that have a logarithm, and what can be done about others.
pub(crate) const TIMES: &str = "above 0: a time has a logarithm";
pub(crate) const NOT_AT_ZERO: &str =
    "write half of the shortest time that can be told from 0 in its place, or a bound above it";
