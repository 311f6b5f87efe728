//! A column of a table among the features: its value in a row, and the features of another value.

use std::fmt;
use std::ops::Range;

use ndarray::ArrayView1;

use super::column::Column;
use super::role::Role;
use super::{Encoding, Schema};
use crate::Error;
use crate::message::number;

/// A column of a table that a model learns from, and the features that it has become. Values are numbers, **the place
/// of a label among the [`levels`](Self::levels)**, 1 and 0 of true and false, and seconds of times, as
/// [`Dates::of`](super::Dates::of) counts them.
///
/// ```
/// use bnn_mcmc::data::CsvReader;
/// let text = "sex,length,rings\nM,0.4,15\nF,0.5,7\nM,0.6,9\n";
/// let schema = CsvReader::regression("rings").read(text.as_bytes())?.schema;
/// let [sex, length] = &schema.feature_columns()[..] else { panic!() };
/// assert_eq!((sex.name(), sex.features()), ("sex", 0..2));
/// assert_eq!(sex.parse("M")?, 1.0);
/// assert_eq!(sex.encode(1.0)?, [0.0, 1.0]); // sex=F, sex=M
/// assert_eq!(sex.in_words(1.0), "M");
/// assert_eq!(length.encode(0.3)?, [0.3]);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TableColumn {
    column: Column,
    encoding: Encoding,
    features: Range<usize>,
}

/// The kind of the values of a [`TableColumn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Numbers.
    Number,
    /// Labels, groups, and true and false: places in a list.
    Label,
    /// Days, perhaps with a time: seconds since the beginning of 1970.
    Date,
    /// Times of the day: seconds since midnight.
    Clock,
}

/// Times are whole in thousandths of a second, so that midnight stays on its day.
const MILLISECONDS: f64 = 1000.0;

impl Schema {
    /// The columns of the table that become features, in the order of their features: labels, dates and numbers in the
    /// order of the table, then the columns of [groups](super::CsvReader::group).
    pub fn feature_columns(&self) -> Vec<TableColumn> {
        let encoding = self.reader.encoding;
        let own = self.columns.iter().filter(|column| column.role == Role::Feature);
        let own = own.map(|column| (column, column.width(encoding)));
        let groups = self.in_order_of_groups().map(|column| (column, column.indicators().count()));
        let mut first = 0;
        own.chain(groups)
            .map(|(column, width)| {
                let features = first..first + width;
                first = features.end;
                TableColumn { column: column.clone(), encoding, features }
            })
            .collect()
    }
}

impl TableColumn {
    /// A column of numbers for each feature of data that were not read from a table.
    pub fn of_features(names: &[String]) -> Vec<Self> {
        let number = |(place, name): (usize, &String)| Self {
            column: Column {
                name: name.clone(),
                role: Role::Feature,
                levels: None,
                bools: false,
                dates: None,
                missing: None,
            },
            encoding: Encoding::OneHot,
            features: place..place + 1,
        };
        names.iter().enumerate().map(number).collect()
    }

    /// The name of the column.
    pub fn name(&self) -> &str {
        &self.column.name
    }

    /// The places of its features.
    pub fn features(&self) -> Range<usize> {
        self.features.clone()
    }

    fn is_group(&self) -> bool {
        matches!(self.column.role, Role::Group(_))
    }

    /// The labels, or false and true; of [groups](super::CsvReader::group) a new one comes last. `None` of numbers and
    /// times.
    pub fn levels(&self) -> Option<Vec<String>> {
        if self.column.bools {
            return Some(["false", "true"].map(String::from).to_vec());
        }
        let mut levels = self.column.levels.clone()?;
        levels.extend(self.is_group().then(|| "a new group".to_string()));
        Some(levels)
    }

    /// The kind of its values.
    pub fn kind(&self) -> ValueKind {
        match &self.column.dates {
            Some(dates) if dates.has_years() => ValueKind::Date,
            Some(_) => ValueKind::Clock,
            None if self.levels().is_some() => ValueKind::Label,
            None => ValueKind::Number,
        }
    }

    /// The value in a row of all features; `None` where it is missing.
    pub fn value(&self, row: ArrayView1<f64>) -> Option<f64> {
        let own: Vec<f64> = self.features().map(|place| row[place]).collect();
        let is_missing = self.column.is_marked() && own.last().is_some_and(|mark| *mark != 0.0);
        if is_missing || own.iter().any(|x| x.is_nan()) {
            return None;
        }
        let one = || own.iter().position(|x| *x == 1.0);
        match &self.column.dates {
            Some(dates) => {
                let seconds = dates.time(&own)?;
                Some((seconds * MILLISECONDS).round() / MILLISECONDS)
            }
            None if self.is_group() => one().map(|code| code as f64),
            None if self.column.is_number(self.encoding) => own.first().copied(),
            // All levels but the first have a feature of their own.
            None if self.encoding == Encoding::DropFirst => {
                Some(one().map_or(0.0, |code| (code + 1) as f64))
            }
            None => one().map(|code| code as f64),
        }
    }

    /// The features of a value.
    ///
    /// # Errors
    /// A value that is not finite, or of labels no place in their list.
    pub fn encode(&self, value: f64) -> Result<Vec<f64>, Error> {
        let levels = self.levels().map(|levels| levels.len());
        let is_allowed = match levels {
            Some(levels) => value.fract() == 0.0 && (0.0..levels as f64).contains(&value),
            None => value.is_finite(),
        };
        if !is_allowed {
            let allowed = match levels {
                Some(1) => "the place of the only label, 0".into(),
                Some(levels) => format!("the place of one of {levels} labels, from 0"),
                None => "a finite number".into(),
            };
            return Err(Error::argument(self.name(), value, allowed));
        }
        let mut features = Vec::with_capacity(self.features.len());
        let column = &self.column;
        match &column.dates {
            Some(dates) => column.push_time(dates, value, &mut features),
            None if self.is_group() => {
                features.resize(self.features.len(), 0.0);
                features[value as usize] = 1.0;
            }
            None if column.is_number(self.encoding) => column.push_number(value, &mut features),
            None => column.push_label(Some(value as usize), self.encoding, &mut features),
        }
        Ok(features)
    }

    /// The value that a text stands for: a number, one of the labels, `true` or `false`, or a time as the table has
    /// them or as in ISO 8601.
    ///
    /// # Errors
    /// A text that is none of these.
    pub fn parse(&self, text: &str) -> Result<f64, Error> {
        let text = text.trim();
        if let Some(levels) = self.levels() {
            let is = |level: &String| match self.column.bools {
                true => level.eq_ignore_ascii_case(text), // `True` in text
                false => level == text,
            };
            let known = levels.iter().position(is);
            let bit = ["0", "1"].iter().position(|bit| *bit == text && self.column.bools);
            return match known.or(bit) {
                Some(place) => Ok(place as f64),
                None => {
                    let what = format!("value of `{}`", self.name());
                    Err(Error::UnknownName { what, name: text.into(), known: levels })
                }
            };
        }
        match &self.column.dates {
            Some(dates) => {
                let allowed = "a time as in the table, or such as 2024-01-31";
                let time = dates.read(text).or_else(|| dates.read_iso(text));
                time.ok_or_else(|| Error::argument(self.name(), text, allowed))
            }
            None => {
                let number = text.parse().ok().filter(|x: &f64| x.is_finite());
                number.ok_or_else(|| Error::argument(self.name(), text, "a finite number"))
            }
        }
    }

    /// A value as the table has it, a number to six digits.
    pub fn in_words(&self, value: f64) -> String {
        match (&self.column.dates, self.levels()) {
            (Some(dates), _) => dates.shown(value),
            (None, Some(levels)) => levels.get(value as usize).cloned().unwrap_or_default(),
            (None, None) => number(format!("{value:.5e}").parse().unwrap_or(value)),
        }
    }
}

/// The name.
impl fmt::Display for TableColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
