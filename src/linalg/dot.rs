//! Scalar products.

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
