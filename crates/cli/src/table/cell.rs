//! Values of typed columns as the text of a cell, from which the same value is read.

use std::fmt::Write;

use bnn_mcmc::data::Value;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

/// The moment that times are counted from.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
const NANOS: i128 = 1_000_000_000;

/// The meaning of the integers in a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    /// The number itself.
    Number,
    /// So many digits are behind the point; of a negative scale, so many zeros are left out at the end.
    Decimal { scale: i32 },
    /// Days since 1970.
    Day,
    /// The time since midnight, in units of which so many are a second.
    Clock { per_second: i64 },
    /// The time since 1970, in units of which so many are a second; shown on a clock of the zone, if there is
    /// one.
    Moment { per_second: i64, zone: Option<TimeZone> },
}

/// The zone of this name: of the database of zones (IANA), or an offset such as `+02:00`.
pub fn zone(name: &str) -> Result<TimeZone, String> {
    let unknown = || format!("the time zone `{name}` is not known");
    if name.is_empty() || name.eq_ignore_ascii_case("utc") || name == "Z" {
        return Ok(TimeZone::UTC);
    }
    let sign = match name.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return TimeZone::get(name).map_err(|_| unknown()),
    };
    let digits: String = name[1..].chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = match (digits.len(), digits.parse::<i32>()) {
        (2, Ok(hours)) => (hours, 0),
        (4, Ok(both)) => (both / 100, both % 100),
        _ => return Err(unknown()),
    };
    let offset = Offset::from_seconds(sign * (hours * 3600 + minutes * 60));
    offset.map(|offset| offset.to_time_zone()).map_err(|_| unknown())
}

/// A cell: its value, or that its text was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    Missing,
    Number(f64),
    Bool(bool),
    Text,
}

impl Cell {
    /// The value, whose text is this if it has one.
    pub fn value(self, text: &str) -> Value<'_> {
        match self {
            Self::Missing => Value::Missing,
            Self::Number(number) => Value::Number(number),
            Self::Bool(is) => Value::Bool(is),
            Self::Text => Value::Text(text),
        }
    }
}

/// An integer, which is written if it is no number of 64 bits.
pub fn int(value: i128, meaning: &Meaning, cell: &mut String) -> Result<Cell, String> {
    const EXACT: u128 = 1 << f64::MANTISSA_DIGITS;
    let written = match meaning {
        Meaning::Number if value.unsigned_abs() <= EXACT => return Ok(Cell::Number(value as f64)),
        Meaning::Number => write!(cell, "{value}"),
        Meaning::Decimal { scale } => return decimal(&value.to_string(), *scale, cell),
        Meaning::Day => {
            let moment = civil(value * 86_400 * NANOS)?;
            write!(cell, "{}", moment.date())
        }
        Meaning::Clock { per_second } => {
            let time = value * (NANOS / i128::from(*per_second));
            if !(0..86_400 * NANOS).contains(&time) {
                return Err(format!("{value} is no time of a day"));
            }
            write!(cell, "{}", civil(time)?.time())
        }
        Meaning::Moment { per_second, zone } => {
            let time = value * (NANOS / i128::from(*per_second));
            let moment = match zone {
                None => civil(time)?,
                Some(zone) => zone.to_datetime(instant(time)?), //~ typed-zone
            };
            year_of_four_digits(moment)?;
            // As a day where there is no more to it.
            match moment.time() == EPOCH.time() {
                true => write!(cell, "{}", moment.date()),
                false => write!(cell, "{moment}"),
            }
        }
    };
    written.map(|()| Cell::Text).map_err(|e| e.to_string())
}

/// The date and the time so many nanoseconds after the beginning of 1970.
fn civil(nanos: i128) -> Result<DateTime, String> {
    let seconds = i64::try_from(nanos.div_euclid(NANOS)).ok();
    let since = seconds.map(|s| SignedDuration::new(s, nanos.rem_euclid(NANOS) as i32));
    let moment = since.and_then(|since| EPOCH.checked_add(since).ok());
    year_of_four_digits(moment.ok_or("the date is not within the years 0 to 9999")?)
}

fn instant(nanos: i128) -> Result<Timestamp, String> {
    let moment = Timestamp::from_nanosecond(nanos);
    moment.map_err(|_| "the date is not within the years 0 to 9999".into())
}

fn year_of_four_digits(moment: DateTime) -> Result<DateTime, String> {
    match moment.year() {
        0.. => Ok(moment),
        _ => Err("the date is not within the years 0 to 9999".into()),
    }
}

/// The number of 16 bits (IEEE 754) that has these bits.
pub fn half(bits: u16) -> Cell {
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 31, f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
    };
    Cell::Number(if sign == 1 { -size } else { size })
}

pub fn text(bytes: &[u8], cell: &mut String) -> Result<Cell, String> {
    cell.push_str(std::str::from_utf8(bytes).map_err(|_| "the text is not UTF-8")?);
    Ok(Cell::Text)
}

/// Writes the integer whose two's complement has these bytes, the highest one first, as a decimal number.
pub fn big_decimal(bytes: &[u8], scale: i32, cell: &mut String) -> Result<Cell, String> {
    let is_negative = bytes.first().is_some_and(|byte| byte >> 7 == 1);
    // Digits of the size, the lowest one first, by Horner's rule.
    let (mut digits, mut carry) = (vec![0u8], u32::from(is_negative));
    let mut size: Vec<u8> = bytes.to_vec();
    if is_negative {
        for byte in size.iter_mut().rev() {
            let sum = u32::from(!*byte) + carry;
            (*byte, carry) = (sum as u8, sum >> 8);
        }
    }
    for byte in size {
        let mut carry = u32::from(byte);
        for digit in &mut digits {
            let sum = u32::from(*digit) * 256 + carry;
            (*digit, carry) = ((sum % 10) as u8, sum / 10);
        }
        while carry > 0 {
            digits.push((carry % 10) as u8);
            carry /= 10;
        }
    }
    let sign = if is_negative { "-" } else { "" };
    let digits: String = digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect();
    decimal(&format!("{sign}{digits}"), scale, cell)
}

/// Writes digits with the point `scale` places before the end.
fn decimal(digits: &str, scale: i32, cell: &mut String) -> Result<Cell, String> {
    let allowed = "a decimal number has at most 1000 digits behind the point";
    let places = usize::try_from(scale.unsigned_abs()).ok().filter(|places| *places <= 1000);
    let places = places.ok_or(allowed)?;
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    cell.push_str(sign);
    match scale {
        0 => cell.push_str(digits),
        ..0 => {
            cell.push_str(digits);
            cell.extend(std::iter::repeat_n('0', places));
        }
        1.. => {
            let padded = format!("{digits:0>width$}", width = places + 1);
            let (whole, fraction) = padded.split_at(padded.len() - places);
            cell.push_str(whole);
            cell.push('.');
            cell.push_str(fraction);
        }
    }
    Ok(Cell::Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut String)) -> String {
        let mut cell = String::new();
        write(&mut cell);
        cell
    }

    fn of_int(value: i128, meaning: &Meaning) -> Result<String, String> {
        let mut cell = String::new();
        Ok(match int(value, meaning, &mut cell)? {
            Cell::Number(number) => number.to_string(),
            _ => cell,
        })
    }

    #[test]
    fn integers_are_numbers_where_all_digits_are_held() {
        for (value, expected) in [(0, "0"), (-7, "-7"), (1 << 53, "9007199254740992")] {
            let mut cell = String::new();
            assert!(matches!(int(value, &Meaning::Number, &mut cell), Ok(Cell::Number(_))));
            assert_eq!(of_int(value, &Meaning::Number).unwrap(), expected);
        }
        for value in [(1 << 53) + 1, -(1 << 53) - 1, i128::from(u64::MAX)] {
            let mut cell = String::new();
            assert_eq!(int(value, &Meaning::Number, &mut cell), Ok(Cell::Text));
            assert_eq!(cell, value.to_string());
        }
    }

    #[test]
    fn halves_are_those_of_the_standard() {
        // numpy.float16: 1, -2, the largest, the smallest normal, the smallest, 0.1, inf.
        for (bits, value) in [
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x7BFF, 65504.0),
            (0x0400, 6.103515625e-05),
            (0x0001, 5.960464477539063e-08),
            (0x2E66, 0.0999755859375),
            (0x7C00, f64::INFINITY),
            (0x8000, -0.0),
        ] {
            let Cell::Number(half) = half(bits) else { panic!("{bits:x}") };
            assert_eq!(half.to_bits(), f64::to_bits(value), "{bits:x}");
        }
        assert!(matches!(half(0x7E00), Cell::Number(half) if half.is_nan()));
    }

    #[test]
    fn decimals_have_their_point() {
        let of = |value, scale| of_int(value, &Meaning::Decimal { scale }).unwrap();
        assert_eq!(of(12345, 2), "123.45");
        assert_eq!(of(-5, 3), "-0.005");
        assert_eq!(of(0, 2), "0.00");
        assert_eq!(of(-7, 0), "-7");
        assert_eq!(of(7, -3), "7000");
        assert!(of_int(1, &Meaning::Decimal { scale: i32::MIN }).is_err());
        for value in [0i128, 1, -1, 127, -128, 255, 256, -256, i128::MAX, i128::MIN, 10i128.pow(38)]
        {
            let cell = written(|cell| {
                assert_eq!(big_decimal(&value.to_be_bytes(), 0, cell).unwrap(), Cell::Text)
            });
            assert_eq!(cell, value.to_string());
        }
        assert_eq!(
            written(|cell| assert_eq!(big_decimal(&[0xFF, 0x38], 1, cell).unwrap(), Cell::Text)),
            "-20.0"
        );
        assert_eq!(written(|cell| assert_eq!(big_decimal(&[], 0, cell).unwrap(), Cell::Text)), "0");
    }

    #[test]
    fn times_are_those_of_a_clock_on_the_wall() {
        let at = |name: Option<&str>| Meaning::Moment {
            per_second: 1000,
            zone: name.map(|name| zone(name).unwrap()),
        };
        // Python: datetime.fromtimestamp(1714559400.25, ZoneInfo(...)).
        for (name, expected) in [
            (None, "2024-05-01T10:30:00.25"),
            (Some("UTC"), "2024-05-01T10:30:00.25"),
            (Some("Europe/Berlin"), "2024-05-01T12:30:00.25"),
            (Some("Asia/Kolkata"), "2024-05-01T16:00:00.25"),
            (Some("-03:30"), "2024-05-01T07:00:00.25"),
            (Some("+0200"), "2024-05-01T12:30:00.25"),
        ] {
            assert_eq!(of_int(1_714_559_400_250, &at(name)).unwrap(), expected, "{name:?}");
        }
        assert_eq!(of_int(1_714_521_600_000, &at(None)).unwrap(), "2024-05-01");
        assert_eq!(of_int(-1, &at(None)).unwrap(), "1969-12-31T23:59:59.999");
        assert_eq!(of_int(19_844, &Meaning::Day).unwrap(), "2024-05-01");
        assert_eq!(of_int(37_800_000, &Meaning::Clock { per_second: 1000 }).unwrap(), "10:30:00");
        for (value, meaning) in [
            (i128::from(i64::MAX), at(None)),
            (i128::from(i64::MIN), at(Some("UTC"))),
            (-1_000_000, Meaning::Day),
            (-1, Meaning::Clock { per_second: 1 }),
            (86_400, Meaning::Clock { per_second: 1 }),
        ] {
            assert!(of_int(value, &meaning).is_err(), "{value} {meaning:?}");
        }
        for name in ["Atlantis", "+1", "+ab:cd", "+99:00"] {
            assert_eq!(zone(name).unwrap_err(), format!("the time zone `{name}` is not known"));
        }
    }
}
