//! A column of the training file, and the features that its cells become.

use std::borrow::Cow;
use std::collections::HashMap;

use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use super::role::Role;
use super::typed::text_of;
use super::{Dates, Encoding};
use crate::message::{count, number};

/// A column of the training file; `levels` are the levels of a categorical feature or the classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) levels: Option<Vec<String>>,
    /// Whether the column holds true and false, which are 1 and 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) bools: bool,
    /// The features of dates or times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dates: Option<Dates>,
    /// What stands in for a missing value of a feature; `None` where it is refused, as by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) missing: Option<Fill>,
}

/// The features of a cell without a value.
///
/// A number is `value`; of labels, all features of levels are 0. If values are missing in the training
/// file, one feature more, `column is missing`, is 1 there, and 0 elsewhere: the model learns the
/// difference that it makes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fill {
    /// The number in the place of a missing one: the median of the training file. Of labels as
    /// [codes](Encoding::Codes), the median of the codes.
    pub value: f64,
    /// Whether a feature says that the value is missing.
    pub marked: bool,
}

/// The name of the indicator of a group.
pub(crate) fn indicator(column: &str, group: &str) -> String {
    format!("{column}={group}")
}

/// The name of the indicator of a group that the training file does not have.
pub(crate) fn new_group(column: &str) -> String {
    format!("{column} is new")
}

impl Column {
    /// A column of numbers, which are not filled in.
    pub(super) fn new(name: String, role: Role) -> Self {
        Self { name, role, levels: None, bools: false, dates: None, missing: None }
    }

    /// Makes the column one that is ignored.
    pub(super) fn leave_out(&mut self) {
        let missing = self.missing;
        *self = Self { missing, ..Self::new(std::mem::take(&mut self.name), Role::Ignored) };
    }

    /// Whether the column is one feature, a number, with perhaps a second one that says where it is
    /// missing.
    pub(super) fn is_number(&self, encoding: Encoding) -> bool {
        self.dates.is_none() && (self.levels.is_none() || encoding == Encoding::Codes)
    }

    /// Whether the first feature is one whose median stands in for a missing value.
    pub(super) fn has_median(&self, encoding: Encoding) -> bool {
        let has_years = self.dates.as_ref().is_some_and(Dates::has_years);
        self.role == Role::Feature && (self.is_number(encoding) || has_years)
    }

    pub(super) fn is_marked(&self) -> bool {
        self.missing.is_some_and(|fill| fill.marked)
    }

    /// The levels that have a feature of their own.
    pub(super) fn encoded_levels(&self, encoding: Encoding) -> &[String] {
        let levels = self.levels.as_deref().unwrap_or_default();
        match encoding {
            Encoding::OneHot => levels,
            Encoding::DropFirst => levels.get(1..).unwrap_or_default(),
            Encoding::Codes => &[],
        }
    }

    /// The number of features; 0 of a column that is none, and of an exposure.
    pub(super) fn width(&self, encoding: Encoding) -> usize {
        if self.role != Role::Feature {
            return 0;
        }
        let own = match &self.dates {
            Some(dates) => dates.width(),
            None if self.is_number(encoding) => 1,
            None => self.encoded_levels(encoding).len(),
        };
        own + usize::from(self.is_marked())
    }

    /// The names of the features.
    pub(super) fn features(&self, encoding: Encoding) -> impl Iterator<Item = String> + '_ {
        let is_feature = self.role == Role::Feature;
        let number = (is_feature && self.is_number(encoding)).then(|| self.name.clone());
        let levels = self.encoded_levels(encoding).iter().filter(move |_| is_feature);
        let labels = levels.map(|level| format!("{}={level}", self.name));
        let dates = self.dates.iter().filter(move |_| is_feature);
        let dates = dates.flat_map(|dates| dates.features(&self.name));
        let mark = (is_feature && self.is_marked()).then(|| format!("{} is missing", self.name));
        number.into_iter().chain(labels).chain(dates).chain(mark)
    }

    /// The names of the indicators of groups; none of a column of another kind.
    pub(super) fn indicators(&self) -> impl Iterator<Item = String> + '_ {
        let is_group = matches!(self.role, Role::Group(_));
        let levels = self.levels.iter().flatten().filter(move |_| is_group);
        let known = levels.map(|level| indicator(&self.name, level));
        known.chain(is_group.then(|| new_group(&self.name)))
    }

    /// What the column is taken for, and what is done with it, in words.
    pub(super) fn in_words(&self, encoding: Encoding, imputes: bool) -> String {
        let levels = self.levels.as_ref().map_or(0, Vec::len);
        let kind = match (self.role, &self.dates) {
            (Role::Ignored, _) => return "left out".into(),
            (Role::Response(_), _) if self.levels.is_some() => {
                return format!("response, {}", count(levels, "class"));
            }
            (Role::Response(_), _) => return "response".into(),
            (Role::Exposure, _) => return "exposure of the counts".into(),
            (Role::Weight, _) => return "weights of the rows".into(),
            (Role::Group(_), _) => {
                return format!("groups: an intercept for each of {levels}, and for a new one");
            }
            (Role::Event, _) => return "whether the event of a time happened".into(),
            (Role::Until, _) => return "upper bound of the response".into(),
            (Role::Feature, Some(dates)) => format!("dates: {}", dates.in_words()),
            (Role::Feature, None) if self.bools => "true or false".into(),
            (Role::Feature, None) if self.levels.is_none() => "numbers".into(),
            (Role::Feature, None) if encoding == Encoding::Codes => {
                format!("labels: {}, numbered", count(levels, "level"))
            }
            (Role::Feature, None) => {
                let features = self.encoded_levels(encoding).len();
                format!("labels: {} in {}", count(levels, "level"), count(features, "feature"))
            }
        };
        match self.missing {
            Some(Fill { marked: true, .. }) if imputes => {
                format!("{kind}; a missing one is drawn from rows that are like it")
            }
            Some(Fill { value, marked: true }) if self.has_median(encoding) => {
                let value = number(value);
                format!("{kind}; a missing one is the median {value}, and a feature says so")
            }
            Some(Fill { marked: true, .. }) => {
                format!("{kind}; a feature says where it is missing")
            }
            _ => kind,
        }
    }

    /// The number of each level; for cells that `are_numbers` also by the text of its number, such as `1` for `1.0`.
    pub(super) fn codes(&self, are_numbers: bool) -> Option<HashMap<Cow<'_, str>, usize>> {
        let levels = self.levels.as_deref()?;
        let mut codes = HashMap::with_capacity(levels.len());
        for (code, level) in levels.iter().enumerate().filter(|_| are_numbers) {
            codes.extend(level.parse().ok().map(|number| (text_of(number, false), code)));
        }
        codes.extend(levels.iter().enumerate().map(|(code, level)| (level.as_str().into(), code)));
        Some(codes)
    }

    /// Adds the features of a number.
    pub(super) fn push_number(&self, value: f64, x: &mut Vec<f64>) {
        x.push(value);
        self.push_mark(0.0, x);
    }

    /// Adds the features of a time in seconds.
    pub(super) fn push_time(&self, dates: &Dates, time: f64, x: &mut Vec<f64>) {
        dates.push(time, x);
        self.push_mark(0.0, x);
    }

    /// Adds the features of a label, `None` of one that has no features of its own.
    pub(super) fn push_label(&self, code: Option<usize>, encoding: Encoding, x: &mut Vec<f64>) {
        if encoding == Encoding::Codes {
            x.push(code.map_or_else(|| self.stand_in(), |code| code as f64));
        } else {
            let start = x.len();
            x.resize(start + self.encoded_levels(encoding).len(), 0.0);
            let left_out = usize::from(encoding == Encoding::DropFirst);
            if let Some(place) = code.and_then(|code| code.checked_sub(left_out)) {
                x[start + place] = 1.0;
            }
        }
        self.push_mark(0.0, x);
    }

    /// Adds the features of a missing value.
    pub(super) fn push_missing(&self, encoding: Encoding, x: &mut Vec<f64>) {
        match &self.dates {
            Some(dates) => dates.push_missing(self.stand_in(), x),
            None if self.is_number(encoding) => x.push(self.stand_in()),
            None => x.resize(x.len() + self.encoded_levels(encoding).len(), 0.0),
        }
        self.push_mark(1.0, x); //~ missing-mark
    }

    fn push_mark(&self, mark: f64, x: &mut Vec<f64>) {
        if self.is_marked() {
            x.push(mark);
        }
    }

    /// The number in the place of a missing one; NaN while it is not known.
    fn stand_in(&self) -> f64 {
        self.missing.map_or(f64::NAN, |fill| fill.value)
    }
}

/// The median of the numbers that are not NaN; 0 if there are none.
pub(super) fn median(values: ArrayView1<f64>) -> f64 {
    let n = values.iter().filter(|value| !value.is_nan()).count();
    let Some(last) = n.checked_sub(1) else { return 0.0 };
    let lower = smallest(values, n, last / 2);
    let above = |value: &&f64| value.total_cmp(&lower).is_gt();
    let known = || values.iter().filter(|value| !value.is_nan());
    // The next one, of an even number of them that has the lower one once.
    let is_again = n % 2 == 1 || known().filter(|value| !above(value)).count() > n / 2;
    let next = || known().filter(above).fold(f64::INFINITY, |low, value| low.min(*value));
    let upper = if is_again { lower } else { next() };
    0.5 * lower + 0.5 * upper + 0.0 //~ missing-median
}

/// The median of the numbers that are not NaN, of rows with these weights: half the weight W lies below it and half
/// above. It is the mean of the smallest number up to which W / 2 or more lies, and of the smallest up to which more
/// than W / 2 lies, so that with whole weights it is the [`median`] of the rows written out. 0 if there are none.
pub(super) fn weighted_median(values: ArrayView1<f64>, weights: &[f64]) -> f64 {
    let rows = values.iter().copied().zip(weights.iter().copied());
    let mut rows: Vec<(f64, f64)> = rows.filter(|(x, w)| !x.is_nan() && *w > 0.0).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * rows.iter().map(|(_, w)| w).sum::<f64>(); //~ median-weight
    let first = |is_enough: &dyn Fn(f64) -> bool| {
        let mut below = 0.0;
        let up_to = rows.iter().find(|(_, w)| {
            below += w;
            is_enough(below)
        });
        // Rounding may leave the sum of all below twice its half.
        up_to.or(rows.last()).map_or(0.0, |(x, _)| *x)
    };
    0.5 * first(&|w| w >= half) + 0.5 * first(&|w| w > half) + 0.0
}

/// The k-th smallest, from 0, of the n numbers that are not NaN: by the first bytes of their bits, one byte more in each of at most
/// eight passes, so that memory holds no copy of the column.
fn smallest(values: ArrayView1<f64>, n: usize, mut k: usize) -> f64 {
    /// The most numbers that are sorted.
    const FEW: usize = 1 << 12;
    // Bits in the order of the numbers.
    let key = |value: &f64| match value.to_bits() {
        bits if bits >> 63 == 1 => !bits,
        bits => bits | 1 << 63,
    };
    let begin_with = |prefix: u64, shift: u32| {
        let keys = values.iter().filter(|value| !value.is_nan()).map(key);
        keys.filter(move |key| key.checked_shr(shift).unwrap_or(0) == prefix)
    };
    let (mut prefix, mut shift, mut left) = (0, u64::BITS, n);
    while shift > 0 && left > FEW {
        let mut counts = [0; 256];
        begin_with(prefix, shift).for_each(|key| counts[(key >> (shift - 8)) as usize & 255] += 1);
        let mut byte = 0;
        while k >= counts[byte] {
            k -= counts[byte];
            byte += 1;
        }
        (prefix, shift, left) = (prefix << 8 | byte as u64, shift - 8, counts[byte]);
    }
    let mut few: Vec<u64> = begin_with(prefix, shift).take(FEW).collect();
    // All that are left may be the same number.
    let place = k.min(few.len() - 1);
    let (_, found, _) = few.select_nth_unstable(place);
    f64::from_bits(if *found >> 63 == 1 { *found ^ 1 << 63 } else { !*found })
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;

    #[test]
    fn medians_are_those_of_sorted_numbers() {
        let value = |i: usize| ((i * 7919) % 10_007) as f64 - 5000.0;
        for n in [1, 2, 3, 10, 4096, 4097, 9001] {
            for scale in [1.0, 1e-310, 1e300, 0.0, -1e-3] {
                let values = Array1::from_shape_fn(n, |i| scale * value(i));
                let mut sorted = values.to_vec();
                sorted.sort_unstable_by(f64::total_cmp);
                let expected = 0.5 * sorted[(n - 1) / 2] + 0.5 * sorted[n / 2] + 0.0;
                assert_eq!(median(values.view()).to_bits(), expected.to_bits(), "{n} {scale}");
                let mut gaps = values.to_vec();
                gaps.extend([f64::NAN; 3]);
                assert_eq!(median(Array1::from(gaps).view()), expected);
            }
        }
        assert_eq!(median(Array1::from(vec![f64::NAN]).view()), 0.0);
        let some = Array1::from(vec![3.0, f64::NAN, 1.0, 2.0, 9.0]);
        for (weights, expected) in [
            ([1.0, 5.0, 1.0, 1.0, 0.0], 2.0),
            ([2.0, 5.0, 1.0, 1.0, 0.0], 2.5),
            ([0.0, 5.0, 0.0, 0.0, 0.5], 9.0),
            ([0.3, 5.0, 0.1, 0.1, 0.4], 3.0),
            ([0.0, 5.0, 0.0, 0.0, 0.0], 0.0),
        ] {
            assert_eq!(weighted_median(some.view(), &weights), expected, "{weights:?}");
        }
        // Whole weights: rows written out, of which some are the same.
        let weights: Vec<f64> = (0..500).map(|i| f64::from(i * i % 7)).collect();
        let values = Array1::from_shape_fn(500, |i| ((i * 7919) % 97) as f64);
        let each = values.iter().zip(&weights);
        let long = each.flat_map(|(x, w)| vec![*x; *w as usize]).collect::<Array1<f64>>();
        assert_eq!(weighted_median(values.view(), &weights), median(long.view()));
        let ties = Array1::from_shape_fn(20_000, |i| f64::from(u8::from(i % 3 == 0)));
        assert_eq!(median(ties.view()), 0.0);
    }
}
