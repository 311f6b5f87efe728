//! Operations on whole rows, in vector lanes, from which factorisations are made.

use crate::engine::simd::{Real, Vector};

/// The sum of a b, in four independent vectors of partial sums.
#[inline(always)]
pub(super) fn dot<V: Vector<f64>>(level: V::Level, a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [V::splat(level, 0.0); 4];
    for (a, b) in V::chunks(a).chunks(4).zip(V::chunks(b).chunks(4)) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum = V::load(level, a).mul_add(V::load(level, b), *sum);
        }
    }
    let mut lanes = [0.0; 32];
    V::chunks_mut(&mut lanes).iter_mut().zip(sums).for_each(|(lanes, sum)| sum.store(lanes));
    let rest = a.len() - a.len() % V::LANES;
    let rest: f64 = a[rest..].iter().zip(&b[rest..]).map(|(a, b)| a * b).sum();
    lanes[..4 * V::LANES].iter().sum::<f64>() + rest
}

/// `x` becomes c x - s y, and `y` becomes s x + c y.
#[inline(always)]
pub(super) fn rotate<V: Vector<f64>>(c: f64, s: f64, x: &mut [f64], y: &mut [f64]) {
    for (x, y) in x.iter_mut().zip(y) {
        let (a, b) = (*x, *y);
        *x = f64::multiply_add::<V::Level>(c, a, -(s * b)); //~ rotation
        *y = f64::multiply_add::<V::Level>(s, a, c * b);
    }
}

/// out += factor x.
#[inline(always)]
pub(super) fn add_scaled<V: Vector<f64>>(factor: f64, x: &[f64], out: &mut [f64]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = f64::multiply_add::<V::Level>(factor, *x, *out);
    }
}

/// The largest power of 2 up to the largest absolute value, so that dividing by it rounds no normal number.
pub(super) fn power_of_two(values: &[f64]) -> f64 {
    let largest = values.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let exponent = (largest.to_bits() >> 52) as i32 - 1023;
    2f64.powi(exponent.clamp(-1000, 1000))
}
