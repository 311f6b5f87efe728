//! Names of arrays, which are names of folders.

use std::collections::HashMap;

/// The longest name of a folder, in bytes: systems allow 255.
const LONGEST: usize = 120;

/// Hands out a name of its own to each array of a group, the same ones in the same order.
///
/// Letters and digits of ASCII and `_-.,=+@[]()` stay, as do blanks within a name; of other
/// characters each byte of their UTF-8 is written `%E2`. So are a dot or a blank at an end, the
/// first of two underscores at the beginning (Zarr keeps them for itself), and the first underscore
/// of a last `_dim_0`, which names an axis. A name that is too long is cut, and its CRC-32 put
/// behind `~`. A name that is taken, also in other letter case, gets `~2`, `~3`, .. behind it. `~`
/// and `%` of a name itself are escaped: the result is one name, not a path.
pub(crate) struct Names {
    /// The number of times that a name was asked for, by name in lower case.
    taken: HashMap<String, usize>,
}

impl Names {
    /// With names that no array can have.
    pub fn new(reserved: &[&str]) -> Self {
        let reserved = ["chain", "draw", "zarr.json"].iter().chain(reserved);
        Self { taken: reserved.map(|name| (name.to_string(), 1)).collect() }
    }

    /// The name of the folder of the next array, which is called `name`.
    pub fn next(&mut self, name: &str) -> String {
        let mut escaped = escape(name);
        if escaped.len() > LONGEST {
            escaped.truncate(LONGEST - 9);
            escaped.push_str(&format!("~{:08x}", crc32fast::hash(name.as_bytes())));
        }
        let uses = self.taken.entry(escaped.to_ascii_lowercase()).or_insert(0);
        *uses += 1;
        match *uses {
            1 => escaped,
            n => format!("{escaped}~{n}"),
        }
    }
}

fn escape(name: &str) -> String {
    if name.is_empty() {
        return "~".into();
    }
    let lower = name.to_ascii_lowercase();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let axis = lower.rfind("_dim_").filter(|at| digits(&lower[at + 5..]));
    let last = name.len() - 1;
    let mut escaped = String::with_capacity(name.len());
    for (i, byte) in name.bytes().enumerate() {
        let is_kept = match byte {
            b'.' | b' ' => i > 0 && i < last, //~ zarr-name-dots
            b'_' => Some(i) != axis && !(i == 0 && name.starts_with("__")),
            b'-' | b',' | b'=' | b'+' | b'@' | b'[' | b']' | b'(' | b')' => true,
            _ => byte.is_ascii_alphanumeric(),
        };
        match is_kept {
            true => escaped.push(byte.into()),
            false => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::{Component, Path};

    use super::*;
    use crate::rng::Anything;

    #[test]
    fn names_are_escaped() {
        let mut names = Names::new(&["lp"]);
        for (name, expected) in [
            ("w0", "w0"),
            ("W0", "W0~2"),
            ("w[1,2]", "w[1,2]"),
            ("cold.step_size", "cold.step_size"),
            ("a b", "a b"),
            ("", "~"),
            (".", "%2E"),
            ("..", "%2E%2E"),
            ("../../etc", "%2E.%2F..%2Fetc"),
            ("a/b\\c", "a%2Fb%5Cc"),
            (" x ", "%20x%20"),
            ("50%~", "50%25%7E"),
            ("β", "%CE%B2"),
            ("__x", "%5F_x"),
            ("w0_dim_1", "w0%5Fdim_1"),
            ("dim_1", "dim_1"),
            ("chain", "chain~2"),
            ("Draw", "Draw~2"),
            ("lp", "lp~2"),
            ("lp", "lp~3"),
            ("zarr.json", "zarr.json~2"),
            ("C:\0", "C%3A%00"),
        ] {
            assert_eq!(names.next(name), expected);
        }
        let long = names.next(&"x".repeat(1000));
        assert!(long.len() == LONGEST && long != names.next(&"x".repeat(1001)), "{long}");
    }

    #[test]
    fn every_name_is_one_harmless_folder() {
        let fixed = ["chain", "draw", "w_dim_0", "W_DIM_0", "~2"];
        let name = |any: &mut Anything| match any.below(3) {
            0 => any.text(),
            1 => any.text_of("._/~%abcABC", 0..5),
            _ => fixed[any.below(fixed.len())].into(),
        };
        Anything::cases(256, |any| {
            let mut names = Names::new(&[]);
            let mut found = HashSet::new();
            for name in any.list(1..20, name) {
                let name = names.next(&name);
                let parts: Vec<_> = Path::new(&name).components().collect();
                assert!(matches!(parts[..], [Component::Normal(one)] if one == name.as_str()));
                assert!(name.is_ascii() && name.len() < 150);
                assert!(
                    !name.starts_with("__") && !name.to_lowercase().ends_with("_dim_0"),
                    "{name}"
                );
                assert!(found.insert(name.to_lowercase()), "{name}");
            }
        });
    }
}
