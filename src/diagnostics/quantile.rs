//! Quantiles of sorted values.

/// The quantile at `p` of sorted values; see [`quantile_by`].
pub(crate) fn quantile(sorted: &[f64], p: f64) -> f64 {
    quantile_by(sorted.len(), p, |i| sorted[i])
}

/// The quantile at `p` of `n` values, the i-th smallest of which is `value(i)`, by linear
/// interpolation between order statistics (type 7 of Hyndman and Fan 1996, NumPy's default, to the
/// last bit). NaN for no values, values with NaN, which the total order puts at either end, and `p`
/// outside [0, 1].
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
