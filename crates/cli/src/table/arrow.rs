//! The schema of Arrow that pandas, polars and R put into a Parquet file: zones of times, durations, and categories
//! (<https://arrow.apache.org/docs/format/Columnar.html>). The numbers of fields below are their places in the tables of
//! `Schema.fbs` and `Message.fbs`.

use super::flat::{Broken, Flat};

/// The most fields of a schema.
const MOST_FIELDS: usize = 1 << 20;

/// A column, as far as its Parquet type does not tell it.
#[derive(Debug, PartialEq)]
pub struct Field {
    pub name: String,
    /// The zone of times.
    pub zone: Option<String>,
    pub is_duration: bool,
    /// Whether the values are categories.
    pub is_categorical: bool,
    /// Whether they are categories in an order.
    pub is_ordered: bool,
}

/// The fields of a schema that is written as Base64.
pub fn fields_of_base64(text: &str) -> Result<Vec<Field>, Broken> {
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len()), 0u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return Err(Broken),
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    let message = Flat::root(without_length(&bytes).ok_or(Broken)?)?;
    let fields = message.table(2)?.ok_or(Broken)?.tables(1)?;
    if fields.len() > MOST_FIELDS {
        return Err(Broken);
    }
    fields.into_iter().map(field).collect()
}

/// The message behind its length, and behind the mark that newer versions put before that.
fn without_length(bytes: &[u8]) -> Option<&[u8]> {
    match bytes.first_chunk::<4>()? {
        [0xFF, 0xFF, 0xFF, 0xFF] => bytes.get(8..),
        _ => bytes.get(4..),
    }
}

fn field(of: Flat) -> Result<Field, Broken> {
    const MOMENT: u8 = 10;
    const DURATION: u8 = 18;
    let (kind, values, dictionary) = (of.byte(2)?, of.table(3)?.ok_or(Broken)?, of.table(4)?);
    let zone = if kind == MOMENT { values.text(1)?.map(String::from) } else { None };
    let is_ordered = dictionary.map_or(Ok(false), |dictionary| dictionary.bool(2))?;
    let name = of.text(0)?.unwrap_or_default().into();
    let (is_duration, is_categorical) = (kind == DURATION, dictionary.is_some());
    Ok(Field { name, zone, is_duration, is_categorical, is_ordered })
}
