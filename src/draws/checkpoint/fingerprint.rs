//! The identity of a run, and the comparison of two runs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::cbor::{self, Value};

/// Arrays of more numbers than this are one entry of a [`Fingerprint`].
const NAMED_ALONE: usize = 64;

/// The identity of a run: names and values, to be compared and shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fingerprint(BTreeMap<String, String>);

impl Fingerprint {
    pub fn add(&mut self, name: &str, value: impl ToString) {
        self.0.insert(name.into(), value.to_string());
    }

    /// Adds every number and word of a configuration under its own name, but long arrays of numbers
    /// as one checksum: they may be as long as q.
    pub fn add_config(&mut self, name: &str, config: &impl Serialize) -> Result<(), Error> {
        let config = cbor::value_of(config).map_err(|e| {
            Error::argument(name, "a configuration that serde refuses", format!("data: {e}"))
        })?;
        self.add_value(name, &config);
        Ok(())
    }

    fn add_value(&mut self, name: &str, value: &Value) {
        match value {
            Value::Map(fields) => {
                for (key, value) in fields {
                    self.add_value(&format!("{name}.{}", text(key)), value);
                }
            }
            Value::Array(items) => {
                if let Some(crc) = checksum(items) {
                    return self
                        .add(name, format!("{} numbers with checksum {crc:08x}", items.len()));
                }
                for (i, value) in items.iter().enumerate() {
                    self.add_value(&format!("{name}[{i}]"), value);
                }
            }
            leaf => self.add(name, text(leaf)),
        }
    }

    /// The differences between the run of a file and this one, in words.
    pub fn differences(&self, here: &Self) -> Option<String> {
        const SHOWN: usize = 4;
        let names: BTreeSet<_> = self.0.keys().chain(here.0.keys()).collect();
        let differing: Vec<_> =
            names.into_iter().filter(|name| self.0.get(*name) != here.0.get(*name)).collect();
        let show = |value: Option<&String>| value.map_or("absent", String::as_str).to_string();
        let mut list: Vec<String> = differing
            .iter()
            .take(SHOWN)
            .map(|name| {
                let (found, expected) = (show(self.0.get(*name)), show(here.0.get(*name)));
                format!("`{name}` is {found} there and {expected} here")
            })
            .collect();
        if differing.len() > SHOWN {
            list.push(format!("and {} more", differing.len() - SHOWN));
        }
        (!list.is_empty()).then(|| list.join("; "))
    }
}

/// The checksum of the bits of an array, if it holds only numbers, and many of them.
fn checksum(items: &[Value]) -> Option<u32> {
    if items.len() <= NAMED_ALONE {
        return None;
    }
    let mut crc = crc32fast::Hasher::new();
    for item in items {
        match item {
            Value::Float(x) => crc.update(&x.to_bits().to_le_bytes()),
            Value::Integer(i) => crc.update(&i.to_le_bytes()),
            _ => return None,
        }
    }
    Some(crc.finalize())
}

/// One value of a configuration; floats with as many digits as tell them apart.
fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Integer(i) => i.to_string(),
        Value::Float(x) => format!("{x:?}"),
        Value::Bool(b) => b.to_string(),
        Value::Null => "none".into(),
        other => format!("{other:?}"),
    }
}

/// Whether two evaluations of the same thing agree, up to the rounding of another processor.
pub(crate) fn agree(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-10 * a.abs().max(b.abs()).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(config: &impl Serialize) -> Fingerprint {
        let mut run = Fingerprint::default();
        run.add_config("algorithm", config).unwrap();
        run
    }

    #[test]
    fn differences_are_named_with_both_values() {
        #[derive(Serialize)]
        struct Config(f64, Option<Vec<u8>>);
        let differences =
            |a, b| run_of(&a).differences(&run_of(&b)).unwrap_or_else(|| "none".into());
        let same = |x: f64| assert_eq!(differences(Config(x, None), Config(x, None)), "none");
        [0.1, f64::NAN, f64::INFINITY, -0.0].into_iter().for_each(same);
        assert_eq!(
            differences(Config(0.1, None), Config(f64::NAN, Some(vec![3]))),
            "`algorithm[0]` is 0.1 there and NaN here; `algorithm[1]` is none there and absent \
             here; `algorithm[1][0]` is absent there and 3 here"
        );
        assert_eq!(
            differences(Config(0.0, None), Config(-0.0, None)),
            "`algorithm[0]` is 0.0 there and -0.0 here"
        );
        let many = differences(Config(0.0, Some(vec![1; 9])), Config(0.0, Some(vec![2; 9])));
        assert!(many.ends_with("and 5 more"), "{many}");
    }

    #[test]
    fn long_arrays_of_numbers_are_one_entry() {
        #[derive(Serialize)]
        struct Config<N> {
            mass: Vec<N>,
            size: usize,
        }
        fn of<N: Serialize>(mass: Vec<N>) -> Fingerprint {
            run_of(&Config { mass, size: 3 })
        }
        let floats = |n: usize| (0..n).map(|i| i as f64 - 7.5).collect::<Vec<_>>();
        assert_eq!(of(floats(NAMED_ALONE)).0.len(), NAMED_ALONE + 1);
        let long = of(floats(65));
        let keys: Vec<_> = long.0.keys().collect();
        assert_eq!(keys, ["algorithm.mass", "algorithm.size"]);
        // The checksum by zlib, in Python, of the numbers packed as "<65d".
        assert_eq!(long.0["algorithm.mass"], "65 numbers with checksum d8b20117");
        let integers = of((0..65).collect::<Vec<i32>>());
        assert_eq!(integers.0["algorithm.mass"], "65 numbers with checksum 49ecb2c8");
        assert_eq!(of(vec!["word"; 65]).0.len(), 66);

        // Every number counts, its sign if it is zero, its place, and how many there are.
        let differs = |other: Vec<f64>| {
            let differences = long.differences(&of(other)).unwrap_or_default();
            let expected = "`algorithm.mass` is 65 numbers with checksum d8b20117 there and ";
            assert!(differences.starts_with(expected), "{differences}");
            assert!(!differences.contains(';'), "{differences}");
        };
        for i in 0..65 {
            let mut other = floats(65);
            other[i] = other[i].next_up();
            differs(other);
        }
        let mut other = floats(65);
        other.swap(3, 64);
        differs(other);
        differs(floats(66));
        assert_eq!(long.differences(&of(floats(65))), None);
        let [zero, minus] = [0.0, -0.0].map(|x| of(vec![x; 65]));
        assert!(zero.differences(&minus).is_some());
    }
}
