//! Files that were changed at random: they are read or refused, in memory that is bounded by the text, and nothing
//! panics. A million on demand:
//!
//!     FUZZ_CASES=1000000 cargo test --release -p bnn-mcmc-tests --test memory fuzz:: -- --ignored --nocapture

use std::fmt::Write as _;
use std::io::Read;
use std::time::Instant;

use bnn_mcmc::data::{Columns, CsvReader, DateOrder, Encoding, IdxReader};
use bnn_mcmc::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::allocator::{alone, peak};
use crate::inputs::{FIXED, PER_NAME, gzip, idx};

/// What the files of a fuzz test did.
#[derive(Default, Debug)]
struct Tally {
    read: usize,
    refused: usize,
    /// The most memory, in units of the text, that a file of at least 256 kB took.
    most_memory: f64,
}

const TOKENS: [&str; 37] = [
    "NaN",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "-1e-999",
    "0x1p3",
    "\"",
    "\"\"",
    "\"\"\"",
    "\u{feff}",
    "\r\n",
    "\n",
    "\r",
    ",",
    ",,,,,,,,",
    ";",
    "\t",
    " ",
    "|",
    "NA",
    "?",
    "chain",
    "draw",
    "w[0]",
    "[",
    "]",
    "18446744073709551616",
    "é",
    "\0",
    "2024-05-01",
    "31/12/2024 23:59:59.9",
    "1/2/24",
    "10:30",
    "12kg",
    "1st",
    "0",
];

fn mutate(bytes: &mut Vec<u8>, random: &mut ChaCha8Rng) {
    for _ in 0..random.random_range(0..4) {
        let n = bytes.len();
        let at = random.random_range(0..=n);
        let chunk = at..random.random_range(at..=n.min(at + 200));
        match random.random_range(0..9) {
            0 if n > 0 => bytes[at % n] ^= 1 << random.random_range(0..8),
            1 if random.random_bool(0.3) => bytes.truncate(at),
            2 => drop(bytes.drain(chunk)),
            3 => {
                let copy = bytes[chunk].repeat(random.random_range(1..4));
                bytes.splice(at..at, copy).for_each(drop);
            }
            4 => {
                let noise: Vec<u8> =
                    (0..random.random_range(1..9)).map(|_| random.random()).collect();
                bytes.splice(at..at, noise).for_each(drop);
            }
            // A number of a binary header, or of the first columns.
            5 => {
                let at = 4 * random.random_range(0..5usize);
                let size = [0u32, 1, 2, 255, 65_536, 1 << 20, u32::MAX - 1, u32::MAX];
                let size = size[random.random_range(0..8)].to_be_bytes();
                bytes.iter_mut().skip(at).zip(size).for_each(|(b, s)| *b = s);
            }
            _ => {
                let token = TOKENS[random.random_range(0..TOKENS.len())];
                let token = token.repeat(random.random_range(1..3));
                // At the beginning of a cell, mostly.
                let from = random.random_range(0..=n);
                let cell = bytes[from..].iter().position(|b| b",\n".contains(b));
                let at = cell.map_or(at, |cell| from + cell + 1);
                bytes.splice(at..at, token.into_bytes()).for_each(drop);
            }
        }
    }
}

/// A valid file of one of the kinds 0 (table), 1 (draws); few rows, or many.
fn valid_text(kind: usize, rows: usize, random: &mut ChaCha8Rng) -> String {
    let mut text = String::from(["a,b,side,hits,kind\n", "chain,draw,\"w[0]\",\"w[1]\",s\n"][kind]);
    let has_dates: bool = random.random_bool(0.3);
    for i in 0..rows {
        let (a, b): (f64, f32) = (random.random(), random.random());
        let (side, class) = (["left", "\"r,i\""][i % 2], ["x", "y", "z"][i % 3]);
        let side = match has_dates {
            true => format!("{}/{}/{}", 1 + i % 12, 1 + i % 28, 2000 + i % 40),
            false => side.to_owned(),
        };
        match kind {
            0 => writeln!(text, "{a},{},{side},{},{class}", i % 5, i % 7).unwrap(),
            _ => writeln!(text, "{},{},{a},{b},{i}", i % 2, i / 2).unwrap(),
        }
    }
    text
}

fn csv_reader(random: &mut ChaCha8Rng, many: bool) -> CsvReader {
    let reader = match random.random_range(0..9) {
        // Indicators of many rows are more numbers than a refused file is counted for.
        6 if !many => CsvReader::regression("hits").group("side").group("kind"),
        7 if !many => CsvReader::classification("kind").group("hits"),
        5 => CsvReader::counts("hits").exposure("a").date_order(DateOrder::DayFirst),
        8 => CsvReader::regression("hits").row_weights("b").ignore(["side"]),
        0 => CsvReader::classification("kind"),
        1 => CsvReader::regression("hits"),
        2 => CsvReader::counts(["hits", "b"]),
        3 => CsvReader::regression(1).no_header().ignore(["#1"]).categorical(["#3", "#4", "#5"]),
        _ => CsvReader::classification(Columns::Last),
    };
    let reader = match random.random_range(0..12) {
        0 => reader.detect_delimiter(),
        1 => reader.whitespace(),
        2 => reader.delimiter(b';'),
        _ => reader,
    };
    let reader = if random.random() { reader.drop_missing_rows() } else { reader };
    // A column of groups is no feature.
    let has_side = !reader.to_string().contains("groups: `side`");
    let reader = if random.random() && has_side { reader.categorical(["side"]) } else { reader };
    match random.random_range(0..3) {
        0 if !many => reader.encoding(Encoding::DropFirst),
        1 if !many => reader,
        _ => reader.encoding(Encoding::Codes),
    }
}

/// How many bytes are in a file when it is unpacked, as far as it can be.
fn unpacked_size(bytes: &[u8]) -> usize {
    if !bytes.starts_with(&[0x1F, 0x8B]) {
        return bytes.len();
    }
    let (mut source, mut buffer, mut size) =
        (flate2::read::MultiGzDecoder::new(bytes), [0; 8192], 0);
    while let Ok(n @ 1..) = source.read(&mut buffer) {
        size += n;
    }
    size.max(bytes.len())
}

/// Bytes and names of a data set.
fn returned(data: &Dataset) -> (usize, usize) {
    let outputs = data.response_names().len();
    (8 * data.rows() * (data.n_features() + outputs), data.n_features() + outputs)
}

fn fuzz(cases: usize, seed: u64) -> Tally {
    let mut tally = Tally::default();
    let shm = std::path::Path::new("/dev/shm");
    let folder =
        if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() }.unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let schema = {
        let text = valid_text(0, 12, &mut ChaCha8Rng::seed_from_u64(0));
        CsvReader::classification("kind").read(text.as_bytes()).unwrap().schema
    };
    for case in 0..cases {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(case as u64);
        let many = (case / 4) % 100 == 0;
        let rows = if many { 8000 } else { random.random_range(1..40) };
        let kind = case % 4; // table, draws, images, schema
        let mut files = match kind {
            0 | 3 => vec![valid_text(0, rows, &mut random).into_bytes()],
            1 => vec![valid_text(1, rows, &mut random).into_bytes()],
            _ => {
                let pixels: Vec<u8> = (0..rows * 30).map(|_| random.random()).collect();
                let labels: Vec<u8> = (0..rows).map(|i| (i % 3) as u8).collect();
                vec![idx(&[rows as u32, 5, 6], &pixels), idx(&[rows as u32], &labels)]
            }
        };
        for file in &mut files {
            mutate(file, &mut random);
            if kind != 1 && random.random_bool(0.4) {
                *file = gzip(file);
                if random.random_bool(0.4) {
                    mutate(file, &mut random);
                }
            }
        }
        let on_disk = random.random_range(0..16) == 0;
        if on_disk {
            std::fs::write(&first, &files[0]).unwrap();
            std::fs::write(&second, files.last().unwrap()).unwrap();
        }
        let reader = csv_reader(&mut random, many);
        let images =
            if random.random() { IdxReader::new() } else { IdxReader::new().classes(["2", "1"]) };
        let bytes = &files[0][..];
        // Bytes and names of what was read.
        let run = || -> Result<(usize, usize), Error> {
            Ok(match (kind, on_disk) {
                (0, false) => returned(&reader.read(bytes)?.dataset),
                (0, true) => returned(&reader.read_path(&first)?.dataset),
                (3, false) => returned(&schema.read(bytes)?.dataset),
                (3, true) => returned(&schema.read_path(&first)?.dataset),
                (2, false) => returned(&images.read(bytes, &files[1][..])?),
                (2, true) => returned(&images.read_path(&first, &second)?),
                (_, on_disk) => {
                    let draws = if on_disk {
                        Draws::from_csv(&first)?
                    } else {
                        Draws::read_csv(bytes, "memory")?
                    };
                    (8 * draws.values().len(), draws.layout().dim() + draws.n_chains())
                }
            })
        };
        let (outcome, most) = peak(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)));
        let outcome = outcome.unwrap_or_else(|_| panic!("case {case} of seed {seed} panicked"));
        let text: usize = files.iter().map(|file| unpacked_size(file)).sum();
        let (numbers, names) = *outcome.as_ref().unwrap_or(&(0, 0));
        // A refused file may have a header of its own making.
        let line =
            bytes.split(|b| b"\r\n".contains(b)).find(|line| !line.is_empty()).unwrap_or_default();
        let cells = line.iter().filter(|b| b", ;\t|".contains(b)).count();
        let fixed = FIXED + PER_NAME * names.max(cells + 1);
        assert!(
            most <= (4 * text).max(text + numbers) + fixed,
            "case {case} of seed {seed}: {most} bytes for {text} of text and {numbers} of numbers: {:?}",
            outcome.err().map(|error| error.to_string())
        );
        if text >= 256 << 10 {
            let ratio = most as f64 / text as f64;
            tally.most_memory = tally.most_memory.max(ratio);
        }
        match outcome {
            Ok(_) => tally.read += 1,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                tally.refused += 1;
            }
        }
    }
    tally
}

#[test]
fn mutated_files_are_read_or_refused() {
    alone(|| {
        let tally = fuzz(4_000, 1);
        println!("{tally:?}");
        // The files are near enough to valid ones for both ends.
        assert!(tally.read > 400 && tally.refused > 1000, "{tally:?}");
    });
}

#[test]
#[ignore = "a million files: on demand"]
fn a_million_mutated_files_are_read_or_refused() {
    alone(|| {
        let variable = |name: &str, default| {
            std::env::var(name).map_or(default, |n| n.parse().expect("a whole number"))
        };
        let (cases, seed) = (variable("FUZZ_CASES", 1_000_000), variable("FUZZ_SEED", 2));
        let start = Instant::now();
        let tally = fuzz(cases as usize, seed);
        println!("{cases} cases, seed {seed}: {tally:?}, {:.0} s", start.elapsed().as_secs_f64());
    });
}
