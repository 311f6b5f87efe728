//! Settings of a reader that take one of a few values.

use serde::{Deserialize, Serialize};

use crate::choice::choice;

/// The encoding of a categorical feature as numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// One column of 0 and 1 for each level, named `column=level`.
    #[default]
    OneHot,
    /// [`OneHot`](Self::OneHot) without the first level: for models with an intercept, where the
    /// full set would be collinear.
    DropFirst,
    /// One column with the number of the level, counted from 0. It imposes an order.
    Codes,
}

choice! { "encoding", Encoding {
    Self::OneHot, Self::OneHot, "one_hot", "A column of 0 and 1 for each label";
    Self::DropFirst, Self::DropFirst, "drop_first", "As one-hot, without the first label";
    Self::Codes, Self::Codes, "codes", "One column with the number of the label, counted from 0, which imposes an order";
} }

/// The encoding of a text as bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Charset {
    /// UTF-8, and UTF-16 if the text begins with a byte-order mark.
    #[default]
    Utf8,
    /// Latin-1, as Windows writes it (code page 1252).
    Latin1,
}

choice! { "charset", Charset {
    Self::Utf8, Self::Utf8, "utf_8", "UTF-8, and UTF-16 with a byte-order mark";
    Self::Latin1, Self::Latin1, "latin_1", "Latin-1, as Windows writes it (code page 1252)";
} }

impl Charset {
    pub(super) fn is_utf8(&self) -> bool {
        *self == Self::Utf8
    }
}

/// The order of day and month in dates that have both as numbers, such as `1/2/2024`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DateOrder {
    /// The order that suits all dates of the column. An error if both do.
    #[default]
    Auto,
    /// The day comes before the month.
    DayFirst,
    /// The month comes before the day.
    MonthFirst,
}

choice! { "date order", DateOrder {
    Self::Auto, Self::Auto, "auto", "The order that suits all dates of the column";
    Self::DayFirst, Self::DayFirst, "day_first", "The day comes before the month";
    Self::MonthFirst, Self::MonthFirst, "month_first", "The month comes before the day";
} }

impl DateOrder {
    pub(super) fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}
