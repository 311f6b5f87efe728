//! Quantiles of sorted values.

/// The quantile at `p` of values in ascending order, by linear interpolation between order statistics:
/// type 7 of Hyndman and Fan 1996 (doi:10.1080/00031305.1996.10473566), NumPy's default, to the last
/// bit.
///
/// The intervals of predictions and the quantiles of summaries are these. NaN for no values, for values
/// with NaN, which [`f64::total_cmp`] puts at either end, and for `p` outside \[0, 1\].
///
/// ```
/// use bnn_mcmc::diagnostics::quantile;
/// let mut values = [3.0, 1.0, 2.0, 10.0];
/// values.sort_by(f64::total_cmp);
/// assert_eq!(quantile(&values, 0.5), 2.5);
/// assert_eq!(quantile(&values, 1.0), 10.0);
/// assert!(quantile(&[], 0.5).is_nan());
/// ```
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    quantile_by(sorted.len(), p, |i| sorted[i])
}

/// The [`quantile`] of `n` values, the i-th smallest of which is `value(i)`, counted from 0.
pub(super) fn quantile_by(n: usize, p: f64, value: impl Fn(usize) -> f64) -> f64 {
    let Some(last) = n.checked_sub(1) else { return f64::NAN };
    if !(0.0..=1.0).contains(&p) || value(0).is_nan() || value(last).is_nan() {
        return f64::NAN;
    }
    let place = last as f64 * p;
    let below = (place.floor() as usize).min(last);
    let (a, b) = (value(below), value((below + 1).min(last)));
    let t = place - below as f64;
    // NumPy interpolates from the nearer end; `x <= quantile` depends on the last bit.
    if a == b || t == 0.0 {
        a
    } else if t >= 0.5 {
        b - (b - a) * (1.0 - t)
    } else {
        a + (b - a) * t
    }
}
