//! Axes: their labels, ranges and ticks.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use serde::Serialize;

/// An axis of a panel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// The quantity on the axis, with its unit.
    pub label: String,
    /// The map from values to places.
    pub scale: Scale,
    /// The ends of the axis; `None` for the range of the marks. An axis from a larger to a smaller
    /// value is reversed. A mark outside is drawn at the end. Ends that have no place on the axis,
    /// such as NaN, or 0 on a logarithmic one, count as `None`.
    pub range: Option<[f64; 2]>,
}

/// The map from values to places on an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// A linear axis.
    Linear,
    /// A logarithmic axis: values must be positive, others are left out.
    Log,
    /// Names at 0, 1, 2, ...
    Names(Vec<String>),
    /// A linear axis without ticks: for panels whose numbers do not matter.
    Bare,
}

impl Axis {
    /// A linear axis, as long as the marks need.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear, range: None }
    }

    /// The axis with another scale.
    #[must_use]
    pub fn scale(self, scale: Scale) -> Self {
        Self { scale, ..self }
    }

    /// The axis from one value to another.
    #[must_use]
    pub fn range(self, from: f64, to: f64) -> Self {
        Self { range: Some([from, to]), ..self }
    }

    /// An axis of names at 0, 1, 2, ..., with half a step to spare at both ends.
    pub fn names<S: Into<String>>(
        label: impl Into<String>,
        names: impl IntoIterator<Item = S>,
    ) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let to = names.len() as f64 - 0.5;
        Self::new(label).scale(Scale::Names(names)).range(-0.5, to.max(0.5))
    }

    /// Exchanges the ends of the axis, as for rows that are read from above.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { range: self.range.map(|[from, to]| [to, from]), ..self }
    }

    /// The axis on which values between these are drawn, of marks whose own ends are given.
    pub(super) fn coordinate(&self, low: f64, high: f64) -> Coordinate {
        let has_place = |end: &f64| end.is_finite() && (*end > 0.0 || self.scale != Scale::Log);
        let range = self.range.filter(|ends| ends.iter().all(has_place));
        let [from, to] = range.unwrap_or_else(|| self.with_room(low, high));
        Coordinate { scale: self.scale.clone(), from, to }
    }

    /// A little more than from one value to the other, as far as there are numbers.
    fn with_room(&self, low: f64, high: f64) -> [f64; 2] {
        let least = if self.scale == Scale::Log { f64::MIN_POSITIVE } else { f64::MIN };
        let ends = match self.scale {
            Scale::Log if !(low > 0.0 && high.is_finite()) => [0.1, 10.0],
            Scale::Log if low == high => [low / 2.0, high * 2.0],
            Scale::Log => {
                let room = (high / low).powf(0.04);
                [low / room, high * room]
            }
            _ if !(low.is_finite() && high.is_finite()) => [0.0, 1.0],
            _ if low == high => {
                let room = if low == 0.0 { 1.0 } else { 0.1 * low.abs() };
                [low - room, high + room]
            }
            _ => {
                let room = 0.04 * (high - low);
                [low - room, high + room]
            }
        };
        ends.map(|end| end.clamp(least, f64::MAX))
    }
}

/// An axis as plotters wants it.
pub(super) struct Coordinate {
    scale: Scale,
    from: f64,
    to: f64,
}

impl Coordinate {
    /// A value that is drawn on the axis; `None` if it cannot be.
    pub(super) fn on_axis(&self, value: f64) -> Option<f64> {
        let has_place = value.is_finite() && (value > 0.0 || self.scale != Scale::Log);
        has_place.then(|| value.clamp(self.from.min(self.to), self.from.max(self.to)))
    }

    /// The labels of at most so many ticks.
    pub(super) fn labels(&self, ticks: usize) -> Vec<String> {
        self.key_points(ticks).iter().map(|tick| self.format_ext(tick)).collect()
    }
}

impl Ranged for Coordinate {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        let share = match self.scale {
            Scale::Log => (value.ln() - self.from.ln()) / (self.to.ln() - self.from.ln()),
            _ => (value - self.from) / (self.to - self.from),
        };
        let share = if share.is_finite() { share } else { 0.5 };
        start + (share * f64::from(end - start)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let most = hint.max_num_points();
        let (low, high) = (self.from.min(self.to), self.from.max(self.to));
        match &self.scale {
            Scale::Linear => ticks(low, high, most),
            Scale::Log => log_ticks(low, high, most),
            Scale::Names(names) => (0..names.len()).map(|k| k as f64).collect(),
            Scale::Bare => Vec::new(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Coordinate {
    fn format_ext(&self, value: &f64) -> String {
        match &self.scale {
            Scale::Names(names) => {
                names.get(*value as usize).map_or_else(String::new, |name| shortened(name))
            }
            _ => number(*value),
        }
    }
}

/// The ticks of a linear axis: multiples of 1, 2 or 5 times a power of ten, at most about `most`.
fn ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    let coarse = (high - low) / most.max(1) as f64;
    let power = 10f64.powf(coarse.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|step| *step >= coarse);
    let Some(step) = step.filter(|step| step.is_normal()) else {
        return vec![low];
    };
    // A number of a hundred million steps has no digit left to tell them apart.
    let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
    if !(first.abs() < 1e8 && last.abs() < 1e8) {
        return vec![low];
    }
    (first as i64..=last as i64).map(|k| k as f64 * step).collect()
}

/// The ticks of a logarithmic axis: at most `most` powers of ten, with their doubles and quintuples
/// if all of these fit; the ticks of [`ticks`] if fewer than three such values lie inside.
fn log_ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let inside = |values: Vec<f64>| -> Vec<f64> {
        values.into_iter().filter(|v| *v >= low && *v <= high).collect()
    };
    let powers = inside(decades.clone().map(|k| 10f64.powi(k)).collect());
    let finer: Vec<f64> =
        decades.flat_map(|k| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(k))).collect();
    let finer = inside(finer);
    if finer.len() < 3 {
        ticks(low, high, most)
    } else if finer.len() <= most {
        finer
    } else {
        let every = powers.len().div_ceil(most.max(1)).max(1);
        powers.into_iter().step_by(every).collect()
    }
}

/// A name with at most 18 characters.
pub(crate) fn shortened(name: &str) -> String {
    match name.chars().count() {
        0..=18 => name.to_owned(),
        _ => name.chars().take(17).chain(['…']).collect(),
    }
}

/// A number with up to six significant digits; `NaN`, `inf` or `-inf` where it is none.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let size = value.abs().log10().floor();
    if !(-4.0..6.0).contains(&size) {
        let short = format!("{value:.3e}");
        let (digits, power) = short.split_once('e').unwrap_or((&short, "0"));
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        return format!("{digits}e{power}");
    }
    let decimals = (5.0 - size).max(0.0) as usize;
    let long = format!("{value:.decimals$}");
    match long.contains('.') {
        true => long.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => long,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.30000000000000004, "0.3"),
            (-12.5, "-12.5"),
            (100_000.0, "100000"),
            (1e6, "1e6"),
            (1.25e-5, "1.25e-5"),
            (1.0 / 3.0, "0.333333"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::MAX, "1.798e308"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn an_axis_has_room_for_its_marks() {
        let axis = Axis::new("x").coordinate(0.0, 100.0);
        assert_eq!(axis.range(), -4.0..104.0);
        assert_eq!(axis.on_axis(500.0), Some(104.0));
        assert_eq!(axis.on_axis(f64::NAN), None);
        assert_eq!(Axis::new("x").coordinate(2.0, 2.0).range(), 1.8..2.2);
        let nothing = Axis::new("x").coordinate(f64::INFINITY, f64::NEG_INFINITY);
        assert_eq!(nothing.range(), 0.0..1.0);
        let log = Axis::new("x").scale(Scale::Log).coordinate(1e-3, 1e3);
        assert_eq!(log.on_axis(-1.0), None);
        assert_eq!(log.key_points(7), [1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(log.map(&1.0, (0, 500)), 250);
    }

    #[test]
    fn ends_without_a_place_are_those_of_the_marks() {
        let linear = Axis::new("x").coordinate(0.0, 100.0).range();
        for [from, to] in [[f64::NAN, f64::NAN], [0.0, f64::INFINITY], [f64::NAN, 1.0]] {
            let axis = Axis::new("x").range(from, to).coordinate(0.0, 100.0);
            assert_eq!(axis.range(), linear, "{from}, {to}");
            assert_eq!(axis.on_axis(50.0), Some(50.0));
        }
        let log = || Axis::new("x").scale(Scale::Log);
        for [from, to] in [[0.0, 1.0], [1.0, -1.0], [f64::NAN, 1.0]] {
            let axis = log().range(from, to).coordinate(1e-2, 1e2);
            assert_eq!(axis.range(), log().coordinate(1e-2, 1e2).range());
            assert_eq!(axis.labels(6), ["0.01", "0.1", "1", "10", "100"]);
        }
        // The smallest and the largest numbers leave no room, but have ticks, in no time.
        for (low, high) in [(5e-324, 5e-324), (1e-310, 1e300), (f64::MAX, f64::MAX)] {
            let axis = log().coordinate(low, high);
            assert!(axis.labels(6).len() <= 7 && axis.range().start > 0.0, "{low} to {high}");
        }
        let all = Axis::new("x").coordinate(-f64::MAX, f64::MAX);
        assert_eq!((all.range(), all.labels(6)), (-f64::MAX..f64::MAX, vec!["-1.798e308".into()]));
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(-0.3, 1.1, 5), [0.0, 0.5, 1.0]);
        assert_eq!(ticks(0.0, 100.0, 6), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        // Too narrow for its size, or too wide for a number: one tick, in no time.
        assert_eq!(ticks(1e9, 1e9 + 1e-6, 5), [1e9]);
        assert_eq!(ticks(-f64::MAX, f64::MAX, 5), [-f64::MAX]);
        assert_eq!(log_ticks(0.5, 30.0, 7), [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]);
        assert_eq!(log_ticks(1e-30, 1e30, 7).len(), 7);
        let narrow = log_ticks(1.1, 1.4, 4);
        assert!(narrow.iter().zip([1.1, 1.2, 1.3, 1.4]).all(|(a, b)| (a - b).abs() < 1e-12));
        assert_eq!(narrow.len(), 4);
    }
}
