//! Numbers as people write them.

use serde::{Deserialize, Serialize};

use crate::choice::choice;

/// The writing of numbers in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decimal {
    /// As in Rust and most languages: a decimal point, and nothing between thousands.
    #[default]
    Plain,
    /// A decimal point; commas, blanks or apostrophes may stand between thousands: `1,234.5`.
    Point,
    /// A decimal comma; points, blanks or apostrophes may stand between thousands: `1.234,5`.
    Comma,
}

choice! { "decimal mark", Decimal {
    Self::Plain, Self::Plain, "plain", "A point, and nothing between thousands";
    Self::Point, Self::Point, "point", "A point; commas, blanks or apostrophes may stand between thousands";
    Self::Comma, Self::Comma, "comma", "A comma; points, blanks or apostrophes may stand between thousands";
} }

impl Decimal {
    pub(super) fn is_plain(&self) -> bool {
        *self == Self::Plain
    }

    /// The number of a cell; `None` if it is none in this writing.
    pub(super) fn parse(self, cell: &str) -> Option<f64> {
        match self {
            Self::Plain => cell.parse().ok(),
            Self::Point => grouped(cell, '.', ','),
            Self::Comma => grouped(cell, ',', '.'),
        }
    }
}

/// The number of a cell with this decimal mark, between whose thousands `other`, a blank or an apostrophe may
/// stand: the same between all, and three digits after each.
fn grouped(cell: &str, mark: char, other: char) -> Option<f64> {
    let start = cell.len() - cell.trim_start_matches(['+', '-']).len();
    let (sign, rest) = cell.split_at(start);
    let end = rest.find(['e', 'E']).unwrap_or(rest.len());
    let (number, exponent) = rest.split_at(end);
    let (whole, fraction) = number.split_once(mark).unwrap_or((number, ""));
    let separator = whole.chars().find(|c| !c.is_ascii_digit());
    let digits = match separator {
        None => whole.to_string(),
        Some(c) if c == other || " \u{a0}\u{202f}'\u{2019}".contains(c) => {
            let mut groups = whole.split(c);
            let first = groups.next().is_some_and(|group| (1..=3).contains(&group.len()));
            let is_group =
                |group: &str| group.len() == 3 && group.bytes().all(|b| b.is_ascii_digit());
            if !first || !groups.all(is_group) {
                return None;
            }
            whole.replace(c, "")
        }
        Some(_) => return None,
    };
    // All that is left is plain: `1.5.2` has two marks, and is none.
    format!("{sign}{digits}.{fraction}{exponent}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_their_mark_and_their_thousands() {
        use Decimal::{Comma, Plain, Point};
        for (cell, plain, point, comma) in [
            ("1.5", Some(1.5), Some(1.5), None),
            ("1,5", None, None, Some(1.5)),
            ("-1.234,5", None, None, Some(-1234.5)),
            ("1,234.5", None, Some(1234.5), None),
            ("1,234", None, Some(1234.0), Some(1.234)),
            ("1.234", Some(1.234), Some(1.234), Some(1234.0)),
            ("1 234 567", None, Some(1234567.0), Some(1234567.0)),
            ("1\u{a0}234,5e-2", None, None, Some(12.345)),
            ("12\u{2019}345'678", None, None, None),
            ("12'345'678", None, Some(12345678.0), Some(12345678.0)),
            ("1234,567", None, None, Some(1234.567)),
            ("12,34,567", None, None, None),
            ("1.234.56", None, None, None),
            (",5", None, None, Some(0.5)),
            ("5,", None, None, Some(5.0)),
            ("1,2,3", None, None, None),
            ("", None, None, None),
            (",", None, None, None),
            ("+-5", None, None, None),
            ("1,500,000.25", None, Some(1500000.25), None),
        ] {
            for (decimal, expected) in [(Plain, plain), (Point, point), (Comma, comma)] {
                assert_eq!(decimal.parse(cell), expected, "{cell} {decimal}");
            }
        }
    }
}
