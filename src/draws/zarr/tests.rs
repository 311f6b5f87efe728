//! Written draws are read back to the bit, and nothing else is read.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::*;
use crate::draws::checkpoint::Fingerprint;
use crate::draws::{Approximation, Divergence, LadderReport, Part, Report};
use crate::rng::Anything;
use crate::targets::TargetInfo;

fn name(any: &mut Anything) -> String {
    let odd =
        ["", ".", "..", "../x", "a/b", "w[1,2]", "chain", "DRAW", "lp", "__a", "a_dim_0", "β\0"];
    match any.below(4) {
        0 => any.text(),
        1 => any.text_of("abcABC0._/~%", 1..4),
        2 => odd[any.below(odd.len())].into(),
        _ => "ü".repeat(250 + any.below(1750)),
    }
}

fn info(any: &mut Anything) -> RunInfo {
    let floats = |any: &mut Anything| any.list(0..4, Anything::float);
    let integer = |any: &mut Anything| any.integer() as usize;
    let text = |any: &mut Anything| any.option(Anything::text);
    let ladder = |any: &mut Anything| LadderReport {
        betas: floats(any),
        accept_prob: floats(any),
        swap_accept: floats(any),
        swap_rate: any.float(),
        divergences: any.list(0..4, Anything::integer),
        restarts: any.integer(),
        round_trips: any.integer(),
    };
    let report =
        |any: &mut Anything| Report { unadjusted: any.below(2) == 0, ladder: any.option(ladder) };
    let divergence = |any: &mut Anything| Divergence {
        chain: integer(any),
        draw: integer(any),
        position: floats(any),
    };
    let part = |any: &mut Anything| {
        let mut run = Fingerprint::default();
        run.add("seed", any.text());
        let at_start = [0.5, -1e300];
        Part {
            chains: integer(any)..integer(any),
            of: integer(any),
            thin: integer(any),
            run,
            at_start,
        }
    };
    let target = |any: &mut Anything| TargetInfo {
        model: text(any),
        likelihood: text(any),
        data: any.option(|any| any.integer() as u32),
    };
    let approximation = |any: &mut Anything| match any.below(3) {
        0 => Approximation::Surrogate(any.text()),
        1 => Approximation::Fitted { method: any.text() },
        _ => Approximation::Mixture { weights: vec![1.0 / any.integer() as f64, 0.1] },
    };
    RunInfo {
        seed: any.integer(),
        algorithm: text(any),
        parameters: integer(any),
        warmup: integer(any),
        thin: integer(any),
        stopped_early: any.below(2) == 0,
        warmup_seconds: any.float(),
        sampling_seconds: any.float(),
        climbed: any.list(0..3, Anything::integer),
        warmup_divergences: any.list(0..3, Anything::integer),
        warmup_gradient_evals: any.list(0..3, Anything::integer),
        divergences: any.list(0..3, divergence),
        approximation: any.option(approximation),
        target: any.option(target),
        part: any.option(part),
        reports: any.list(0..3, report),
        checkpoint_error: text(any),
        recorder_error: text(any),
        panic: text(any),
    }
}

/// `None` if two names are one.
fn draws(any: &mut Anything) -> Option<Draws> {
    let block = |any: &mut Anything| (name(any), any.list(0..4, |any| any.below(4)), any.below(2));
    let blocks = any.list(0..5, block);
    let (stat_names, shape) = (any.list(0..4, name), (any.below(4), any.below(5)));
    let info = info(any);
    let layout = Layout::from_arrays(blocks.iter().map(|(n, s, f)| (&n[..], &s[..], *f)))?;
    let mut numbers =
        |width| Array3::from_shape_simple_fn((shape.0, shape.1, width), || any.float());
    let (values, stats) = (numbers(layout.dim()), numbers(stat_names.len()));
    Some(Draws { stat_names, stats, info, ..Draws::new(layout, values).ok()? })
}

/// All that draws hold, with the bits of floats.
fn bytes_of(draws: &Draws) -> Vec<u8> {
    let mut bytes = Vec::new();
    let floats = |all: &Array3<f64>| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let all = (
        (&draws.layout, &draws.stat_names, &draws.info),
        (draws.values.dim(), floats(&draws.values)),
        (draws.stats.dim(), floats(&draws.stats)),
    );
    crate::cbor::write(&all, &mut bytes).unwrap();
    bytes
}

#[test]
fn draws_are_read_back_bit_for_bit() {
    let mut read = 0;
    Anything::cases(64, |any| {
        let Some(draws) = draws(any) else { return };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("draws");
        draws.to_zarr(&path).unwrap();
        assert_eq!(bytes_of(&Draws::from_zarr(&path).unwrap()), bytes_of(&draws));
        // Nothing was left beside the folder.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        read += 1;
    });
    assert!(read > 32, "only {read} cases have different names");
}

/// Draws with a padded chunk would be too large here: `tests/run/zarr.rs` has them.
fn example() -> Draws {
    let layout = Layout::new().with("w", &[2, 3]).with("β", &[]);
    let values = Array3::from_shape_fn((2, 3, 7), |(c, d, p)| (c * 31 + d * 7 + p) as f64 / 8.0);
    let stats = Array3::from_shape_fn((2, 3, 3), |(c, d, i)| (c + d) as f64 - i as f64);
    let stat_names = ["log_likelihood", "log_prior", "divergent"].map(String::from).into();
    Draws { stats, stat_names, ..Draws::new(layout, values).unwrap() }
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_in(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// Damages one file in one way; the draws must be refused, or be what they were where the file has
/// no part in them.
fn damage(cases: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("draws");
    let draws = example();
    draws.to_zarr(&path).unwrap();
    let files = files_in(&path);
    let is_number = |file: &Path| {
        let read = [
            "posterior/w/c",
            "posterior/%CE%B2/c",
            "sample_stats/divergent/c",
            "sample_stats/log_prior/c",
        ];
        read.iter().any(|part| file.starts_with(path.join(part)))
    };
    let mut refused = 0;
    Anything::cases(cases, |any| {
        let file = &files[any.below(files.len())];
        let whole = fs::read(file).unwrap();
        let mut bytes = whole.clone();
        let at = any.below(bytes.len());
        match any.below(4) {
            0 | 1 => bytes[at] ^= 1 << any.below(8),
            2 => bytes.truncate(at),
            _ => bytes.push(0),
        }
        fs::write(file, bytes).unwrap();
        let read = Draws::from_zarr(&path);
        fs::write(file, whole).unwrap();
        match read {
            Ok(read) => {
                assert!(!is_number(file), "{}", file.display());
                assert_eq!(bytes_of(&read), bytes_of(&draws));
            }
            Err(error) => {
                assert!(error.is_data() || error.is_io(), "{error}");
                refused += 1;
            }
        }
    });
    println!("{cases} damaged folders, {refused} refused, the others read as they were");
    assert!(refused > cases / 4);
}

#[test]
fn damaged_folders_are_refused() {
    damage(400);
}

#[test]
#[ignore = "long: cargo test --release --lib zarr::tests -- --ignored --nocapture"]
fn much_damage_is_refused() {
    damage(200_000);
}

#[test]
fn hostile_attributes_are_refused_before_memory_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("draws");
    example().to_zarr(&path).unwrap();
    let root = path.join("zarr.json");
    let whole: Json = serde_json::from_slice(&fs::read(&root).unwrap()).unwrap();
    let refused = |place: &str, value: Json| {
        let mut edited = whole.clone();
        *edited.pointer_mut(&format!("/attributes/bnn_mcmc/{place}")).unwrap() = value;
        let own = &mut edited["attributes"]["bnn_mcmc"];
        if place.starts_with("contents") {
            own["crc32"] = json::checksum(&own["contents"]).into();
        }
        fs::write(&root, edited.to_string()).unwrap();
        Draws::from_zarr(&path).unwrap_err()
    };
    // A missing file of an array, whose name is made of the attributes.
    for (place, value, file) in [
        ("format", json!(1), "sample_stats/log_likelihood"),
        ("contents/blocks/0/name", json!("../../w"), "posterior/%2E.%2F..%2Fw"),
        ("contents/blocks/1/name", json!("w"), "posterior/w~2"),
        ("contents/statistics/0", json!("/etc"), "sample_stats/%2Fetc"),
    ] {
        let error = refused(place, value);
        let Error::Io { path: lost, .. } = &error else { panic!("{error:?}") };
        assert_eq!(*lost, path.join(file).join("zarr.json"));
    }
    // A part of the problem, of which the rest are checksums and reasons of another library.
    for (place, value, part) in [
        ("format", json!(3), "its format has version 3, this crate reads 1 to 2"),
        ("format", json!(0), "its format has version 0, this crate reads 1 to 2"),
        ("crc32", json!(7), "the checksum of its attributes is"),
        ("contents", json!(null), "its attributes cannot be read"),
        ("contents/draws", json!(u64::MAX), "`shape` of `posterior/w` is [2,3,2,3], but must be"),
        ("contents/draws", json!(2), "it counts more draws than it has room for"),
        ("contents/written", json!([3]), "but must be [1,3,2,3]"),
        ("contents/written", json!([0, 2]), "its checksum is"),
        ("contents/blocks/0/shape", json!([1u64 << 40, 1u64 << 40]), "more numbers than fit"),
        ("contents/blocks/0/shape", json!([u64::MAX]), "more numbers than fit"),
        ("contents/blocks/0/shape", json!([1u64 << 50]), "but must be [2,3,1125899906842624]"),
        ("contents/blocks/0/shape", json!([3, 2]), "`shape` of `posterior/w` is [2,3,2,3]"),
        ("contents/checksums/posterior~1w", json!(3), "and 3 is stated"),
        ("contents/run/seed", json!(-1), "its attributes cannot be read"),
    ] {
        let error = refused(place, value.clone());
        let Error::Table { problem, .. } = &error else { panic!("{place} {value}: {error:?}") };
        assert!(problem.contains(part), "{place} {value}: {error}");
    }
    fs::write(&root, whole.to_string()).unwrap();
    assert_eq!(Draws::from_zarr(&path).unwrap(), example());

    // Many draws of nothing take nothing.
    let mut own = whole.clone();
    let contents = &mut own["attributes"]["bnn_mcmc"]["contents"];
    contents["blocks"] = json!([]);
    contents["statistics"] = json!([]);
    contents["draws"] = json!(u64::MAX);
    contents["written"] = json!([u64::MAX, u64::MAX]);
    let crc = json::checksum(contents);
    own["attributes"]["bnn_mcmc"]["crc32"] = crc.into();
    fs::write(&root, own.to_string()).unwrap();
    assert!(Draws::from_zarr(&path).is_err());

    let none = "it is no folder of draws that bnn-mcmc wrote";
    for (text, begin) in [("[]", none), ("{}", none), ("x", "it is no JSON")] {
        fs::write(&root, text).unwrap();
        let Err(Error::Table { problem, .. }) = Draws::from_zarr(&path) else { panic!("{text}") };
        assert!(problem.starts_with(begin), "{problem}");
    }
    fs::remove_file(&root).unwrap();
    assert!(Draws::from_zarr(&path).unwrap_err().is_io());
}

#[test]
fn chains_of_unequal_length_have_nan_and_are_cut() {
    let (layout, info) = (Layout::new().with("a", &[2]), RunInfo::default());
    let values = [vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![7.0, 8.0], vec![]];
    let folder = tempfile::tempdir().unwrap();
    let write = |written: &[usize], path: &Path| {
        let chains = ChainArrays {
            layout: &layout,
            stat_names: &[],
            info: &info,
            draws: 3,
            written,
            values: values.iter().map(|v| &v[..]).collect(),
            stats: vec![&[]; 3],
        };
        let mut folder = Folder::create(path).unwrap();
        let attributes = chains.write(&mut folder, &|_, _| None).unwrap();
        folder.finish(attributes).unwrap();
    };
    let path = folder.path().join("cut");
    write(&[3, 1, 0], &path);
    assert_eq!(Draws::from_zarr(&path).unwrap().values().dim(), (3, 0, 2));
    let chunk = |chain: usize| fs::read(path.join(format!("posterior/a/c/{chain}/0/0")));
    let numbers = |bytes: Vec<u8>| -> Vec<f64> {
        bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
    };
    assert_eq!(numbers(chunk(0).unwrap()), values[0]);
    let second = numbers(chunk(1).unwrap());
    assert_eq!(second[..2], values[1]);
    assert!(second.len() == 6 && second[2..].iter().all(|x| x.is_nan()));
    assert!(chunk(2).is_err());
}

/// A folder of the previous format: every file, with numbers in hexadecimal digits.
#[test]
fn folders_of_the_first_format_are_read() {
    let files: std::collections::BTreeMap<String, String> =
        serde_json::from_str(include_str!("../../../tests/golden/draws_format_1.json")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old.zarr");
    for (name, text) in &files {
        let bytes = match name.ends_with("zarr.json") {
            true => text.clone().into_bytes(),
            false => {
                let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
                (0..text.len()).step_by(2).map(digits).collect()
            }
        };
        fs::create_dir_all(old.join(name).parent().unwrap()).unwrap();
        fs::write(old.join(name), bytes).unwrap();
    }
    assert!(old.join("sample_stats/log_likelihood").exists());
    let draws = Draws::from_zarr(&old).unwrap();
    assert_eq!(draws.values().dim(), (2, 3, 1));
    let q = draws.values()[(1, 2, 0)];
    let constant = 0.5 * (2.0 * std::f64::consts::PI).ln();
    let density = draws.stat("log_likelihood").unwrap()[(1, 2)];
    assert!((density + 0.5 * q * q + constant).abs() < 1e-12, "{density} at {q}");

    // Written again it has the name that ArviZ takes for nothing else, and is the same draws.
    let new = folder.path().join("new.zarr");
    draws.to_zarr(&new).unwrap();
    assert_eq!(Draws::from_zarr(&new).unwrap(), draws);
    assert!(!new.join("sample_stats/log_likelihood").exists());
    let bytes = |path: PathBuf| fs::read(path.join("c/1/0")).unwrap();
    assert_eq!(
        bytes(new.join("sample_stats/joint_log_likelihood")),
        bytes(old.join("sample_stats/log_likelihood"))
    );
}
