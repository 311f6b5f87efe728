//! Data as JSON, without a loss: JSON has neither NaN nor infinite numbers.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value as Json};

use crate::cbor::{self, Value};

/// The only key of the object that stands for a float that JSON lacks: `{"float": "NaN"}`.
const FLOAT: &str = "float";

/// Any data as JSON. Floats that are not finite become `{"float": "NaN"}`, with `Infinity`,
/// `-Infinity`, or, of a NaN with other bits, these bits: `0x7ff8000000000001`.
pub(super) fn to_json(data: &impl Serialize) -> Result<Json, String> {
    json_of(cbor::value_of(data)?)
}

/// Reads the value that [`to_json`] turned into JSON.
pub(super) fn from_json<T: DeserializeOwned>(json: Json) -> Result<T, String> {
    cbor::of_value(&value_of(json)?)
}

fn json_of(value: Value) -> Result<Json, String> {
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(b) => Json::Bool(b),
        Value::Text(text) => Json::String(text),
        Value::Float(x) => match Number::from_f64(x) {
            Some(number) => Json::Number(number),
            None => Map::from_iter([(FLOAT.to_string(), Json::String(text_of(x)))]).into(),
        },
        Value::Integer(i) => {
            let number = Number::from_i128(i);
            Json::Number(number.ok_or_else(|| format!("JSON has no number {i:?}"))?)
        }
        Value::Array(items) => {
            Json::Array(items.into_iter().map(json_of).collect::<Result<_, _>>()?)
        }
        Value::Map(fields) => {
            let field = |(key, value)| match key {
                Value::Text(key) => Ok((key, json_of(value)?)),
                other => Err(format!("JSON has no key {other:?}")),
            };
            Json::Object(fields.into_iter().map(field).collect::<Result<_, String>>()?)
        }
        other => return Err(format!("JSON has no form for {other:?}")),
    })
}

fn value_of(json: Json) -> Result<Value, String> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(b),
        Json::String(text) => Value::Text(text),
        Json::Number(n) => match (n.as_u64(), n.as_i64(), n.as_f64()) {
            (Some(n), ..) => Value::Integer(n.into()),
            (_, Some(n), _) => Value::Integer(n.into()),
            (.., Some(x)) => Value::Float(x),
            _ => return Err(format!("{n} is no number of 64 bits")),
        },
        Json::Array(items) => {
            Value::Array(items.into_iter().map(value_of).collect::<Result<_, _>>()?)
        }
        Json::Object(fields) => match (fields.len(), fields.get(FLOAT)) {
            (1, Some(Json::String(text))) => Value::Float(float_of(text)?),
            _ => {
                let field = |(key, value)| Ok((Value::Text(key), value_of(value)?));
                Value::Map(fields.into_iter().map(field).collect::<Result<_, String>>()?)
            }
        },
    })
}

fn text_of(x: f64) -> String {
    match x {
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ if x.to_bits() == f64::NAN.to_bits() => "NaN".into(), //~ zarr-nan
        _ => format!("{:#018x}", x.to_bits()),
    }
}

fn float_of(text: &str) -> Result<f64, String> {
    match text {
        "Infinity" => Ok(f64::INFINITY),
        "-Infinity" => Ok(f64::NEG_INFINITY),
        "NaN" => Ok(f64::NAN),
        _ => {
            let bits = text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
            bits.map(f64::from_bits).ok_or_else(|| format!("`{text}` is no float"))
        }
    }
}

/// The CRC-32 of JSON, whatever the order of its keys and its white space.
pub(super) fn checksum(json: &Json) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    add(json, &mut crc);
    crc.finalize()
}

fn add(json: &Json, crc: &mut crc32fast::Hasher) {
    let mut word = |kind: u8, text: &str| {
        crc.update(&[kind]);
        crc.update(&(text.len() as u64).to_le_bytes());
        crc.update(text.as_bytes());
    };
    match json {
        Json::Null => word(b'n', ""),
        Json::Bool(b) => word(b'b', if *b { "true" } else { "false" }),
        Json::Number(n) => word(b'd', &n.to_string()),
        Json::String(text) => word(b's', text),
        Json::Array(items) => {
            word(b'a', &items.len().to_string());
            items.iter().for_each(|item| add(item, crc));
        }
        Json::Object(fields) => {
            word(b'o', &fields.len().to_string());
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in fields {
                crc.update(&(key.len() as u64).to_le_bytes());
                crc.update(key.as_bytes());
                add(value, crc);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_keep_their_bits() {
        let bits = [0, 1 << 63, 1, f64::NAN.to_bits(), f64::NAN.to_bits() | 5, !0, 0x7ff0 << 48];
        let own =
            [0.1, 1.0, -3e300, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE].map(f64::to_bits);
        for bits in bits.into_iter().chain(own) {
            let text = to_json(&vec![f64::from_bits(bits)]).unwrap().to_string();
            let back: Vec<f64> = from_json(serde_json::from_str(&text).unwrap()).unwrap();
            assert_eq!(back[0].to_bits(), bits, "{text}");
        }
        assert_eq!(to_json(&f64::NAN).unwrap().to_string(), r#"{"float":"NaN"}"#);
        assert_eq!(to_json(&u64::MAX).unwrap().to_string(), "18446744073709551615");
        assert!(from_json::<f64>(serde_json::json!({"float": "nan"})).is_err());
    }

    #[test]
    fn checksums_see_every_value_and_no_order_of_keys() {
        let of = |text: &str| checksum(&serde_json::from_str(text).unwrap());
        assert_eq!(of(r#"{"a": 1, "b": [true, null]}"#), of(r#"{"b":[true,null],"a":1}"#));
        let all = [
            "[1,2]",
            "[2,1]",
            "[12]",
            "[\"1\",2]",
            "[[1],2]",
            "[[1,2]]",
            "[1,2,null]",
            "{\"1\":2}",
        ];
        for (i, a) in all.iter().enumerate() {
            all[..i].iter().for_each(|b| assert_ne!(of(a), of(b), "{a} {b}"));
        }
    }
}
