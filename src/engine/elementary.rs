//! exp, ln, tanh, sigmoid and softplus over slices, in place, to a few units in the last place.
//!
//! All start from x = n ln 2 + r with |r| <= ln 2 / 2, the product n ln 2 in two parts. Then
//!
//! - exp x = 2^n (1 + r + r^2 q(r)), q a polynomial of degree 9;
//! - with the even function R = r coth(r/2) = 2 + r^2 p(r^2), p of degree 4, exp r is
//!   (R + r) / (R - r), so that one division each gives, with E = 2^n,
//!   tanh(x/2) = ((E - 1) R + (E + 1) r) / ((E + 1) R + (E - 1) r) and
//!   sigmoid x = E (R + r) / (E (R + r) + (R - r)), without cancellation, also near 0;
//! - ln x = k ln 2 + 2 atanh s with x = 2^k m, m in [sqrt(1/2), sqrt 2), s = (m - 1)/(m + 1);
//! - softplus x = max(x, 0) + ln(1 + exp(-|x|)), the logarithm again by atanh.
//!
//! The polynomials interpolate at Chebyshev nodes of their interval; truncation errors are below
//! 2e-17 of the result. NaN stays NaN. Results of exp and sigmoid below 3.3e-308 (x < -708) are
//! returned as zero: subnormal numbers are slow, and a likelihood has no use for them. Softplus and
//! its derivative follow suit.

use super::simd::{Real, Simd, Vector};

const LN_2_HI: f64 = 0.6931471803691238; // its last 20 bits are zero: n * LN_2_HI is exact
const LN_2_LO: f64 = 1.9082149292705877e-10;
const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
/// 1.5 * 2^52: adding it rounds to an integer, found in the low bits of the sum.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// Below this, exp and sigmoid return zero.
const LOWEST: f64 = -708.0;
/// Above this, exp overflows.
const HIGHEST: f64 = 709.79;

/// q in exp r = 1 + r + r^2 q(r), constant term first.
const EXP: [f64; 10] = [
    0.5000000000000001,
    0.16666666666666669,
    0.04166666666662413,
    0.008333333333330062,
    0.0013888888917213717,
    0.00019841269863053618,
    2.4801521295954376e-05,
    2.7557268459997064e-06,
    2.7620088445409746e-07,
    2.510038549551032e-08,
];
/// p in r coth(r/2) = 2 + r^2 p(r^2), constant term first.
const R_COTH: [f64; 5] = [
    0.1666666666666666,
    -0.0027777777777564404,
    6.613756471622828e-05,
    -1.6534060033836456e-06,
    4.1437662804024295e-08,
];
/// p in 2 atanh s = s (2 + s^2 p(s^2)), |s| <= (sqrt 2 - 1)^2, constant term first.
const ATANH: [f64; 7] = [
    0.666666666666667,
    0.3999999999989889,
    0.28571428626253836,
    0.22222211089379496,
    0.1818289243253687,
    0.15331611722055008,
    0.14617807153417325,
];

#[inline(always)]
fn mul_add<S: Simd>(a: f64, b: f64, c: f64) -> f64 {
    f64::multiply_add::<S>(a, b, c)
}

#[inline(always)]
fn polynomial<S: Simd, const N: usize>(x: f64, c: &[f64; N]) -> f64 {
    let mut sum = c[N - 1];
    for i in (0..N - 1).rev() {
        sum = mul_add::<S>(sum, x, c[i]);
    }
    sum
}

/// (n as the low bits of a number to shift into an exponent, r) with x = n ln 2 + r.
#[inline(always)]
fn reduce<S: Simd>(x: f64) -> (u64, f64) {
    let shifted = mul_add::<S>(x, std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = mul_add::<S>(n, -LN_2_LO, mul_add::<S>(n, -LN_2_HI, x));
    (shifted.to_bits(), r)
}

/// 2^(n + offset) from the bits that [`reduce`] returns.
#[inline(always)]
fn power_of_two(n: u64, offset: i64) -> f64 {
    f64::from_bits(n.wrapping_add((1023 + offset) as u64) << 52)
}

// `clamp`, `min` and `max` treat NaN in ways that cost instructions; these pass it on.
#[inline(always)]
fn at_most(x: f64, highest: f64) -> f64 {
    if x > highest { highest } else { x }
}
#[inline(always)]
fn at_least(x: f64, lowest: f64) -> f64 {
    if x < lowest { lowest } else { x }
}

#[inline(always)]
pub(super) fn exp<S: Simd>(x: f64) -> f64 {
    let (n, r) = reduce::<S>(at_most(at_least(x, LOWEST), HIGHEST));
    let p = mul_add::<S>(r * r, polynomial::<S, _>(r, &EXP), r) + 1.0;
    // The power is taken in two factors, since 2^1024 exceeds f64.
    let y = p * power_of_two(n, -1) * 2.0;
    if x < LOWEST { 0.0 } else { y }
}

#[inline(always)]
pub(super) fn tanh<S: Simd>(x: f64) -> f64 {
    let (n, r) = reduce::<S>(2.0 * at_most(x.abs(), 20.0));
    let e = power_of_two(n, 0);
    let c = mul_add::<S>(r * r, polynomial::<S, _>(r * r, &R_COTH), 2.0);
    let numerator = mul_add::<S>(e - 1.0, c, (e + 1.0) * r);
    let denominator = mul_add::<S>(e + 1.0, c, (e - 1.0) * r);
    at_most(numerator / denominator, 1.0).copysign(x)
}

/// tanh x in f32, to a few units in the last place, by the same formula with a shorter p.
#[inline(always)]
fn tanh_f32<S: Simd>(x: f32) -> f32 {
    const LN_2_HI: f32 = 0.693_359_4; // its last 15 bits are zero
    const LN_2_LO: f32 = -2.121_944_4e-4;
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23
    let fused = f32::multiply_add::<S>;
    let size = x.abs();
    let x2 = 2.0 * if size > 9.5 { 9.5 } else { size };
    let shifted = fused(x2, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fused(n, -LN_2_LO, fused(n, -LN_2_HI, x2));
    let e = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    let square = r * r;
    let p = fused(fused(6.607e-5, square, -2.777_73e-3), square, 0.166_666_67);
    let c = fused(square, p, 2.0); //~ tanh-f32
    let numerator = fused(e - 1.0, c, (e + 1.0) * r);
    let denominator = fused(e + 1.0, c, (e - 1.0) * r);
    let y = numerator / denominator;
    if y > 1.0 { 1.0f32 } else { y }.copysign(x)
}

/// tanh x in F.
#[inline(always)]
pub(super) fn tanh_in<F: Real, S: Simd>(x: F) -> F {
    if F::IS_F64 {
        F::of(tanh::<S>(x.wide()))
    } else {
        // Numbers of f32 go through f64 in name only.
        F::of(f64::from(tanh_f32::<S>(x.wide() as f32)))
    }
}

#[inline(always)]
pub(super) fn sigmoid<S: Simd>(x: f64) -> f64 {
    let (n, r) = reduce::<S>(at_most(at_least(x, LOWEST), 40.0));
    let c = mul_add::<S>(r * r, polynomial::<S, _>(r * r, &R_COTH), 2.0);
    let up = power_of_two(n, 0) * (c + r);
    let y = up / (up + (c - r));
    if x < LOWEST { 0.0 } else { y }
}

/// 1 - e^-y for y >= 0.
#[inline(always)]
pub(super) fn one_minus_exp_minus<S: Simd>(y: f64) -> f64 {
    let (n, r) = reduce::<S>(-at_most(y, 40.0));
    let e = power_of_two(n, 0);
    let c = mul_add::<S>(r * r, polynomial::<S, _>(r * r, &R_COTH), 2.0);
    mul_add::<S>(1.0 - e, c, -(1.0 + e) * r) / (c - r)
}

/// 2 atanh s for |s| <= (sqrt 2 - 1)^2, plus `rest`.
#[inline(always)]
fn twice_atanh<S: Simd>(s: f64, rest: f64) -> f64 {
    let z = s * s;
    let tail = mul_add::<S>(z * s, polynomial::<S, _>(z, &ATANH), rest);
    mul_add::<S>(2.0, s, tail)
}

/// ln(1 + y) for y in [0, 1].
#[inline(always)]
fn ln_1p_unit<S: Simd>(y: f64) -> f64 {
    // 1 + y above sqrt 2 is halved.
    let high = y > std::f64::consts::SQRT_2 - 1.0;
    let s = if high { y - 1.0 } else { y } / (y + if high { 3.0 } else { 2.0 });
    let rest = if high { LN_2_LO } else { 0.0 };
    twice_atanh::<S>(s, rest) + if high { LN_2_HI } else { 0.0 }
}

/// (softplus x, exp(-|x|))
#[inline(always)]
pub(super) fn softplus<S: Simd>(x: f64) -> (f64, f64) {
    let y = exp::<S>(-x.abs());
    (if x > 0.0 { x } else { 0.0 } + ln_1p_unit::<S>(y), y)
}

/// Softplus x and its derivative, the sigmoid of x: for a Bernoulli log likelihood and its gradient, with one exponential
/// for both.
#[inline(always)]
pub(crate) fn softplus_and_sigmoid<S: Simd>(x: f64) -> (f64, f64) {
    let (value, y) = softplus::<S>(x);
    (value, if x > 0.0 { 1.0 } else { y } / (1.0 + y))
}

#[inline(always)]
fn ln<S: Simd>(x: f64) -> f64 {
    const TWO_52: u64 = 0x4330_0000_0000_0000;
    const MANTISSA: u64 = (1 << 52) - 1;
    let subnormal = x < f64::MIN_POSITIVE;
    let scaled = if subnormal { x * 18_014_398_509_481_984.0 } else { x };
    let bits = scaled.to_bits().wrapping_add((1023 << 52) - SQRT_HALF_BITS);
    let m = f64::from_bits((bits & MANTISSA) + SQRT_HALF_BITS);
    let bias = 4_503_599_627_370_496.0 + if subnormal { 1023.0 + 54.0 } else { 1023.0 };
    let k = f64::from_bits((bits >> 52) | TWO_52) - bias;
    let y = mul_add::<S>(k, LN_2_HI, twice_atanh::<S>((m - 1.0) / (m + 1.0), k * LN_2_LO));
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    let y = if x < 0.0 { f64::NAN } else { y };
    if x < f64::INFINITY { y } else { x } // NaN and inf are their own logarithms
}

/// Elements that [`map!`] takes at a time, a multiple of every register's lanes.
pub(crate) const STRIP: usize = 16;

/// Replaces every element x of a slice by an expression of it: `map!(slice, |x| ..)`. The remainder, less than half a
/// strip, is padded, so that all work is in vectors. A macro, since a closure might not be inlined.
macro_rules! map {
    ($slice:expr, |$x:ident| $value:expr) => {{
        use $crate::engine::elementary::STRIP;
        let (strips, rest) = $slice.as_chunks_mut::<STRIP>();
        for strip in strips {
            for v in strip {
                let $x = *v;
                *v = $value;
            }
        }
        let (half, rest) = rest.as_chunks_mut::<{ STRIP / 2 }>();
        for half in half {
            for v in half {
                let $x = *v;
                *v = $value;
            }
        }
        if !rest.is_empty() {
            let mut half = [Default::default(); STRIP / 2];
            half[..rest.len()].copy_from_slice(rest);
            for v in &mut half {
                let $x = *v;
                *v = $value;
            }
            rest.copy_from_slice(&half[..rest.len()]);
        }
    }};
}
pub(super) use map;

#[inline(always)]
fn exp_body<V: Vector<f64>>(_: V::Level, x: &mut [f64]) {
    map!(x, |x| exp::<V::Level>(x))
}
#[inline(always)]
fn ln_body<V: Vector<f64>>(_: V::Level, x: &mut [f64]) {
    map!(x, |x| ln::<V::Level>(x))
}
#[inline(always)]
fn sigmoid_body<V: Vector<f64>>(_: V::Level, x: &mut [f64]) {
    map!(x, |x| sigmoid::<V::Level>(x))
}
#[inline(always)]
fn softplus_body<V: Vector<f64>>(_: V::Level, x: &mut [f64]) {
    map!(x, |x| softplus::<V::Level>(x).0)
}

dispatch! {
    /// x becomes e^x. Overflow gives infinity, x < -708 gives zero.
    fn exp_in_place(x: &mut [f64]) => exp_body
}
dispatch! {
    /// x becomes its natural logarithm: -inf at 0, NaN below.
    fn ln_in_place(x: &mut [f64]) => ln_body
}
dispatch! {
    /// x becomes 1 / (1 + e^-x), with a small relative error also for very negative x.
    fn sigmoid_in_place(x: &mut [f64]) => sigmoid_body
}
dispatch! {
    /// x becomes ln(1 + e^x), with a small relative error also for very negative x.
    fn softplus_in_place(x: &mut [f64]) => softplus_body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Activation;
    use crate::engine::simd::{Level, testing::at_every_level};

    /// The largest relative error of `f` against `reference` over `points`.
    fn worst(f: fn(&mut [f64]), reference: fn(f64) -> f64, points: &[f64]) -> f64 {
        let mut found = points.to_vec();
        f(&mut found);
        let error = |(x, y): (&f64, &f64)| {
            let exact = reference(*x);
            if *y == exact { 0.0 } else { ((y - exact) / exact).abs() }
        };
        points.iter().zip(&found).map(error).fold(0.0, f64::max)
    }

    fn grid(from: f64, to: f64) -> Vec<f64> {
        let n = 200_000;
        (0..=n).map(|i| from + (to - from) * f64::from(i) / f64::from(n)).collect()
    }

    /// +-10^e for e between the given exponents, with many mantissas.
    fn magnitudes(from: f64, to: f64) -> Vec<f64> {
        grid(from, to).into_iter().flat_map(|e| [10f64.powf(e), -(10f64.powf(e))]).collect()
    }

    fn std_sigmoid(x: f64) -> f64 {
        if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
    }

    fn std_softplus(x: f64) -> f64 {
        x.max(0.0) + (-x.abs()).exp().ln_1p()
    }

    fn one_minus_exp_minus_of(x: &mut [f64]) {
        let y = x.to_vec();
        x.fill(1.0);
        Activation::Softplus.backward(&y, &[], x);
    }

    #[test]
    fn tanh_in_f32_has_the_digits_of_f32() {
        at_every_level(|level| {
            let mut points = grid(-12.0, 12.0);
            points.extend(magnitudes(-30.0, 1.0));
            let mut found: Vec<f32> = points.iter().map(|x| *x as f32).collect();
            Activation::Tanh.forward_in_own(&mut found, &mut []);
            for (x, y) in points.iter().zip(&found) {
                let exact = f64::from(*x as f32).tanh();
                let error = ((f64::from(*y) - exact) / exact).abs();
                assert!(*x == 0.0 || error < 4e-7, "{level:?} {x}: {y} {exact}");
            }
            let mut ends = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, 1e30, -1e30];
            Activation::Tanh.forward_in_own(&mut ends, &mut []);
            assert!(ends[0].is_nan() && ends[1..] == [1.0, -1.0, 0.0, 1.0, -1.0], "{ends:?}");
        });
    }

    fn tanh_in_place(x: &mut [f64]) {
        Activation::Tanh.apply(x);
    }

    type Case = (&'static str, fn(&mut [f64]), fn(f64) -> f64, f64, f64, f64);
    const CASES: [Case; 6] = [
        ("1 - e^-y", one_minus_exp_minus_of, |y| -(-y).exp_m1(), 1e-300, 50.0, 1e-15),
        ("exp", exp_in_place, f64::exp, -707.9, 709.78, 6e-16),
        ("tanh", tanh_in_place, f64::tanh, -30.0, 30.0, 1e-15),
        ("sigmoid", sigmoid_in_place, std_sigmoid, -707.9, 700.0, 1e-15),
        ("softplus", softplus_in_place, std_softplus, -707.9, 800.0, 1e-15),
        ("ln", ln_in_place, f64::ln, 1e-300, 4.0, 6e-16),
    ];

    #[test]
    fn relative_errors_are_a_few_units_in_the_last_place() {
        at_every_level(|level| {
            for (name, f, reference, from, to, allowed) in CASES {
                let mut points = grid(from, to);
                points.extend(grid(from.max(-3.0), to.min(3.0)));
                let tiny = magnitudes(-300.0, to.log10());
                points.extend(tiny.iter().filter(|x| (from..=to).contains(*x)));
                if name == "ln" {
                    points.extend(magnitudes(-323.0, 308.0).iter().filter(|x| **x > 0.0));
                    points.extend(grid(1.0 - 1e-6, 1.0 + 1e-6));
                }
                let error = worst(f, reference, &points);
                println!("{level:?} {name}: {error:.2e} over {} points", points.len());
                assert!(error < allowed, "{level:?} {name}: {error:e}");
            }
        });
    }

    #[test]
    fn hostile_values_give_what_std_gives() {
        let hostile = [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            0.0,
            -0.0,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            -f64::MIN_POSITIVE,
            5e-324,
            -5e-324,
            1e-10,
            -1e-10,
            709.782712893384,
            709.7827128933841,
            710.0,
            -708.0,
            -708.0000001,
            -745.2,
            -1000.0,
            1.0,
            -1.0,
            20.0,
            -20.0,
            19.0615,
        ];
        at_every_level(|level| {
            for (name, f, reference, from, ..) in CASES {
                for x in hostile {
                    if name == "1 - e^-y" && x < from {
                        continue; // defined for y >= 0 only
                    }
                    // Alone and among others: both the padded strip and the full one.
                    let mut values = [[x; STRIP], [0.5; STRIP]].concat();
                    values.push(x);
                    f(&mut values);
                    let exact = reference(x);
                    for y in [values[0], values[STRIP - 1], values[2 * STRIP]] {
                        let same = y.is_nan() && exact.is_nan()
                            || y == exact && y.is_sign_negative() == exact.is_sign_negative()
                            || (y - exact).abs() <= 1e-15 * exact.abs()
                            || exact.abs() < 3.4e-308 && y == 0.0;
                        assert!(same, "{level:?} {name}({x:e}) = {y:e}, not {exact:e}");
                    }
                }
            }
        });
    }

    #[test]
    fn tanh_and_sigmoid_stay_in_their_range_and_all_lengths_are_handled() {
        at_every_level(|level| {
            let mut x = grid(-45.0, 45.0);
            tanh_in_place(&mut x);
            assert!(x.iter().all(|y| y.abs() <= 1.0));
            let mut x = grid(-800.0, 800.0);
            sigmoid_in_place(&mut x);
            assert!(x.iter().all(|y| (0.0..=1.0).contains(y)));
            for n in 0..50 {
                let mut x: Vec<f64> = (0..n).map(f64::from).collect();
                exp_in_place(&mut x);
                for (i, y) in x.iter().enumerate() {
                    assert!((y / (i as f64).exp() - 1.0).abs() < 1e-15, "{level:?} {n} {i}");
                }
            }
        });
        assert_eq!(Level::current(), Level::available().next().unwrap());
    }

    #[inline(always)]
    fn both_body<V: Vector<f64>>(_: V::Level, x: &mut [f64], sigmoids: &mut [f64]) {
        for (x, s) in x.iter_mut().zip(sigmoids) {
            (*x, *s) = softplus_and_sigmoid::<V::Level>(*x);
        }
    }

    dispatch! {
        fn both(x: &mut [f64], sigmoids: &mut [f64]) => both_body
    }

    #[test]
    fn softplus_and_sigmoid_are_those_of_the_single_functions() {
        at_every_level(|level| {
            for n in [0, 1, 15, 16, 40, 1000] {
                let x = &grid(-800.0, 800.0)[100_000 - n / 2..][..n];
                let (mut a, mut b, mut c, mut d) =
                    (x.to_vec(), vec![9.0; n], x.to_vec(), x.to_vec());
                both(&mut a, &mut b);
                softplus_in_place(&mut c);
                sigmoid_in_place(&mut d);
                assert_eq!(a, c, "{level:?}");
                for (b, d) in b.iter().zip(&d) {
                    assert!((b - d).abs() <= 1e-15 * d, "{level:?}: {b} and {d}");
                }
            }
            let mut s = [0.0; 4];
            let mut x = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1000.0];
            both(&mut x, &mut s);
            assert!(x[0].is_nan() && s[0].is_nan());
            assert_eq!((&x[1..], &s[1..]), (&[f64::INFINITY, 0.0, 0.0][..], &[1.0, 0.0, 0.0][..]));
        });
    }

    #[test]
    #[ignore = "a timing: cargo test --release elementary_speed -- --ignored --nocapture"]
    fn elementary_speed() {
        at_every_level(|level| {
            for (name, f, reference, ..) in CASES {
                let source: Vec<f64> = (0..4096).map(|i| 0.01 + f64::from(i) / 1024.0).collect();
                let mut x = source.clone();
                let time = |run: &mut dyn FnMut()| {
                    let mut times: Vec<f64> = (0..201)
                        .map(|_| {
                            let start = std::time::Instant::now();
                            run();
                            start.elapsed().as_nanos() as f64 / 4096.0
                        })
                        .collect();
                    times.sort_by(f64::total_cmp);
                    times[100]
                };
                let ours = time(&mut || {
                    x.copy_from_slice(&source);
                    f(&mut x);
                    std::hint::black_box(&x);
                });
                let std = time(&mut || {
                    x.iter_mut().zip(&source).for_each(|(x, s)| *x = reference(*s));
                    std::hint::black_box(&x);
                });
                println!("{level:?} {name}: {ours:.2} ns, std {std:.2} ns");
            }
        });
    }
}
