//! Scalar products.

use crate::engine::simd::Vector;

dispatch! {
    /// out_i = row_i . x, the rows lying one after the other.
    fn products(rows: &[f64], x: &[f64], out: &mut [f64]) => products_body
}

#[inline(always)]
fn products_body<V: Vector<f64>>(level: V::Level, rows: &[f64], x: &[f64], out: &mut [f64]) {
    let whole = x.len() - x.len() % V::LANES;
    for (out, row) in out.iter_mut().zip(rows.chunks_exact(x.len())) {
        let mut sums = [V::splat(level, 0.0); 2];
        for (a, b) in V::chunks(row).iter().zip(V::chunks(x)) {
            sums = [sums[1], V::load(level, a).mul_add(V::load(level, b), sums[0])];
        }
        let rest: f64 = row[whole..].iter().zip(&x[whole..]).map(|(a, b)| a * b).sum();
        *out = sums[0].add(sums[1]).sum() + rest;
    }
}

dispatch! {
    /// out += the sum of factors_i row_i.
    fn add_combination(factors: &[f64], rows: &[f64], out: &mut [f64]) => add_combination_body
}

#[inline(always)]
fn add_combination_body<V: Vector<f64>>(
    level: V::Level,
    factors: &[f64],
    rows: &[f64],
    out: &mut [f64],
) {
    let whole = out.len() - out.len() % V::LANES;
    for (factor, row) in factors.iter().zip(rows.chunks_exact(out.len())) {
        let factors = V::splat(level, *factor);
        for (a, out) in V::chunks(row).iter().zip(V::chunks_mut(out)) {
            factors.mul_add(V::load(level, a), V::load(level, out)).store(out);
        }
        out[whole..].iter_mut().zip(&row[whole..]).for_each(|(out, a)| *out += factor * a);
    }
}

/// The sum of a b, in `L` interleaved partial sums, which the compiler can keep in one register. The
/// result depends on `L` by rounding: with another `L`, chains draw other numbers.
#[inline]
pub(crate) fn dot<const L: usize>(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<L>(), b.as_chunks::<L>());
    let mut sums = [0.0; L];
    for (a, b) in a.iter().zip(b) {
        for i in 0..L {
            sums[i] += a[i] * b[i];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}
