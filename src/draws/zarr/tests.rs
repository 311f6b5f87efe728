//! Written draws are read back to the bit, and nothing else is read.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value as Json;

use super::*;
use crate::draws::checkpoint::Fingerprint;
use crate::draws::{Approximation, Divergence, LadderReport, Part, Report};
use crate::targets::TargetInfo;

/// Any bits, and more often those that are lost most easily.
fn float() -> impl Strategy<Value = f64> {
    let rare = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 5e-324, 0.1, f64::MAX];
    prop_oneof![any::<u64>().prop_map(f64::from_bits), prop::sample::select(rare.to_vec())]
}

fn name() -> impl Strategy<Value = String> {
    let odd =
        ["", ".", "..", "../x", "a/b", "w[1,2]", "chain", "DRAW", "lp", "__a", "a_dim_0", "β\0"];
    prop_oneof![
        any::<String>(),
        "[a-cA-C0._/~%]{1,3}",
        prop::sample::select(odd.to_vec()).prop_map(String::from),
        (250usize..2000).prop_map(|n| "ü".repeat(n)),
    ]
}

fn info() -> impl Strategy<Value = RunInfo> {
    let floats = || prop::collection::vec(float(), 0..4);
    let ladder = (floats(), floats(), float(), any::<[u64; 3]>()).prop_map(
        |(betas, swap_accept, swap_rate, n)| LadderReport {
            accept_prob: betas.clone(),
            betas,
            swap_accept,
            swap_rate,
            divergences: n.to_vec(),
            restarts: n[0],
            round_trips: n[1],
        },
    );
    let report = (any::<bool>(), prop::option::of(ladder))
        .prop_map(|(unadjusted, ladder)| Report { unadjusted, ladder });
    let divergence = (any::<usize>(), any::<usize>(), floats())
        .prop_map(|(chain, draw, position)| Divergence { chain, draw, position });
    let text = || prop::option::of(any::<String>());
    let part = prop::option::of((any::<[usize; 3]>(), any::<String>())).prop_map(|part| {
        part.map(|([start, end, of], value)| {
            let mut run = Fingerprint::default();
            run.add("seed", value);
            Part { chains: start..end, of, thin: start, run, at_start: [0.5, -1e300] }
        })
    });
    let target = (text(), text(), prop::option::of(any::<u32>()))
        .prop_map(|(model, likelihood, data)| TargetInfo { model, likelihood, data });
    (
        (any::<u64>(), any::<[usize; 3]>(), any::<bool>(), [float(), float()]),
        prop::collection::vec(any::<u64>(), 0..3),
        prop::collection::vec(divergence, 0..3),
        prop::collection::vec(report, 0..3),
        [text(), text(), text(), text(), text()],
        (prop::option::of(target), part),
    )
        .prop_map(
            |(
                (seed, n, stopped_early, seconds),
                counts,
                divergences,
                reports,
                texts,
                (target, part),
            )| {
                let [algorithm, approximation, checkpoint_error, recorder_error, panic] = texts;
                RunInfo {
                    seed,
                    algorithm,
                    parameters: n[0],
                    warmup: n[1],
                    thin: n[2],
                    stopped_early,
                    warmup_seconds: seconds[0],
                    sampling_seconds: seconds[1],
                    climbed: counts.clone(),
                    warmup_divergences: counts.clone(),
                    warmup_gradient_evals: counts,
                    divergences,
                    approximation: approximation.map(|text| match n[0] % 3 {
                        0 => Approximation::Surrogate(text),
                        1 => Approximation::Fitted { method: text },
                        _ => Approximation::Mixture { weights: vec![1.0 / n[0] as f64, 0.1] },
                    }),
                    target,
                    part,
                    reports,
                    checkpoint_error,
                    recorder_error,
                    panic,
                }
            },
        )
}

fn draws() -> impl Strategy<Value = Draws> {
    let block = (name(), prop::collection::vec(0usize..4, 0..4), 0usize..2);
    (
        prop::collection::vec(block, 0..5),
        prop::collection::vec(name(), 0..4),
        (0usize..4, 0usize..5),
        prop::collection::vec(float(), 1..40),
        info(),
    )
        .prop_filter_map(
            "two names are one",
            |(blocks, stat_names, (chains, draws), floats, info)| {
                let layout =
                    Layout::from_arrays(blocks.iter().map(|(n, s, f)| (&n[..], &s[..], *f)))?;
                let mut floats = floats.iter().cycle().copied();
                let mut numbers = |width| {
                    Array3::from_shape_simple_fn((chains, draws, width), || {
                        floats.next().unwrap_or(0.0)
                    })
                };
                let values = numbers(layout.dim());
                let stats = numbers(stat_names.len());
                Some(Draws { stat_names, stats, info, ..Draws::new(layout, values).ok()? })
            },
        )
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

proptest! {
    #![proptest_config(Config::with_cases(64))]
    #[test]
    fn draws_are_read_back_bit_for_bit(draws in draws()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("draws");
        draws.to_zarr(&path).unwrap();
        prop_assert_eq!(bytes_of(&Draws::from_zarr(&path).unwrap()), bytes_of(&draws));
        // Nothing was left beside the folder.
        prop_assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
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
fn damage(cases: u32) {
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
    let refused = std::cell::Cell::new(0);
    let mut runner =
        TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let how = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..8u32, 0..4u8);
    let result = runner.run(&how, |(file, at, bit, kind)| {
        let file = &files[file.index(files.len())];
        let whole = fs::read(file).unwrap();
        let mut bytes = whole.clone();
        let at = at.index(bytes.len());
        match kind {
            0 | 1 => bytes[at] ^= 1 << bit,
            2 => bytes.truncate(at),
            _ => bytes.push(0),
        }
        fs::write(file, bytes).unwrap();
        let read = Draws::from_zarr(&path);
        fs::write(file, whole).unwrap();
        match read {
            Ok(read) => {
                prop_assert!(!is_number(file), "{}", file.display());
                prop_assert_eq!(bytes_of(&read), bytes_of(&draws));
            }
            Err(error) => {
                prop_assert!(error.is_data() || error.is_io(), "{}", error);
                refused.set(refused.get() + 1);
            }
        }
        Ok(())
    });
    println!("{cases} damaged folders, {} refused, the others read as they were", refused.get());
    result.unwrap();
    assert!(refused.get() > cases / 4);
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
