//! Numbers and lists in messages.

/// A number in its shortest form, with a power of ten from 1e15 on and below 1e-5.
///
/// ```
/// use bnn_mcmc::message::number;
/// assert_eq!([2.0, 0.1, 1e308, -1e-7, 123_456.0].map(number), ["2", "0.1", "1e308", "-1e-7", "123456"]);
/// ```
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size == 0.0 || !size.is_finite() || (1e-5..1e15).contains(&size) => {
            value.to_string()
        }
        _ => format!("{value:e}"),
    }
}

/// A duration that people can read.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", 1000.0 * s),
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// The text of a value, shortened if it is a number of very many digits.
pub(crate) fn short(text: String) -> String {
    const LONG: usize = 24;
    match text.parse() {
        Ok(value) if text.len() > LONG => number(value),
        _ => text,
    }
}

/// `1 row`, `2 rows`, `2 classes`.
pub(crate) fn count(n: usize, what: &str) -> String {
    match what {
        _ if n == 1 => format!("1 {what}"),
        _ if what.ends_with('s') => format!("{n} {what}es"),
        _ => format!("{n} {what}s"),
    }
}

/// `a, b and c`.
pub(crate) fn listed(mut names: Vec<String>) -> String {
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
}

/// A whole number, rounded down, with commas; a very large one with a power of ten.
pub(crate) fn thousands(x: f64) -> String {
    if !(0.0..1e15).contains(&x) {
        return number(x.floor());
    }
    let digits = format!("{:.0}", x.floor());
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lists_read_well() {
        let shown = [2310.7, 999.0, 1e6, f64::NAN, f64::INFINITY, 1e300].map(thousands);
        assert_eq!(shown, ["2,310", "999", "1,000,000", "NaN", "inf", "1e300"]);
        let names = |n: usize| ["a", "b", "c"][..n].iter().map(ToString::to_string).collect();
        assert_eq!([0, 1, 2, 3].map(|n| listed(names(n))), ["", "a", "a and b", "a, b and c"]);
        let counted =
            [(1, "row"), (0, "row"), (2, "class"), (1, "class")].map(|(n, w)| count(n, w));
        assert_eq!(counted, ["1 row", "0 rows", "2 classes", "1 class"]);
    }

    #[test]
    fn numbers_are_short() {
        let shown = [-0.5, 1e-5, 9.9e-6, 999_999_999_999_999.0, 1e15, f64::MIN].map(number);
        let expected =
            ["-0.5", "0.00001", "9.9e-6", "999999999999999", "1e15", "-1.7976931348623157e308"];
        assert_eq!(shown, expected);
        assert_eq!(short(1e308.to_string()), "1e308");
        assert_eq!(short(u64::MAX.to_string()), u64::MAX.to_string());
        assert_eq!(
            short("a text of more than 24 letters".into()),
            "a text of more than 24 letters"
        );
    }

    #[test]
    fn durations_are_short() {
        for (seconds, text) in
            [(0.25, "250 ms"), (12.34, "12.3 s"), (600.0, "10 min"), (9000.0, "2.5 h")]
        {
            assert_eq!(duration(seconds), text);
        }
    }
}
