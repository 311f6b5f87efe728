//! What users hand in as files: CSV tables, images in IDX files, and draws. Whatever is in them, names and
//! numbers come back as they stand there, memory is bounded by the text, work grows in proportion to it, and
//! nothing panics.
//!
//! The fuzz test on demand: `FUZZ_CASES=1000000 cargo test --release --test memory inputs:: -- --ignored --nocapture`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::time::Instant;

use bnn_mcmc::data::{Columns, CsvData, CsvReader, Encoding, IdxReader};
use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use ndarray::Array3;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop, prop_oneof, proptest};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::allocator::{alone, peak};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

// Round trips of draws.

/// Draws of parameters with these names, each a block of its own, written and read.
fn written_and_read(names: &[String], values: &Array3<f64>) -> Draws {
    let layout = names.iter().fold(Layout::new(), |layout, name| layout.with(name, &[]));
    let mut csv = Vec::new();
    Draws::new(layout, values.clone()).unwrap().write_csv(&mut csv).unwrap();
    Draws::read_csv(&csv[..], "memory").unwrap()
}

fn names_read(names: &[&str]) -> Vec<String> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let values = Array3::zeros((1, 2, names.len()));
    written_and_read(&names, &values).layout().parameter_names()
}

#[test]
fn names_of_incomplete_and_interleaved_arrays_are_taken_literally() {
    alone(|| {
        for names in [
            &["w[1]"][..],
            &["w[1]", "w[2]"],
            &["w[0]", "b[0]", "w[1]", "b[1]"],
            &["w[0]", "w[2]"],
            &["w[0]", "w[1]", "b", "w[2]"],
            &["w[00]"],
            &["w[+1]"],
            &["w", "w[0]", "w[1]"],
            &["w[0,0]", "w[0,1]", "w[1,0]"],
            &["w[0][0]", "w[0]"],
            &["w[]", "w[0,]", "]", "[0]", "w[18446744073709551615]"],
            &[
                " w",
                "w",
                "w ",
                "\tw[0]",
                "",
                "\"w\"",
                "a \"b\"",
                "a,b",
                "a\nb",
                "a\rb\r\n",
                "\u{feff}w",
            ],
            &["chain", "draw", "w"],
        ] {
            assert_eq!(names_read(names), names);
        }
        let layout = |names: &[&str]| {
            let names = names.iter().map(ToString::to_string).collect::<Vec<_>>();
            written_and_read(&names, &Array3::zeros((1, 1, names.len()))).layout().clone()
        };
        let found = layout(&["w[0,0]", "w[0,1]", "w[1,0]", "w[1,1]", "b[0]", "s"]);
        assert_eq!(found, Layout::new().with("w", &[2, 2]).with("b", &[1]).with("s", &[]));
        // A block whose parts are apart is none: its draws would come in another order.
        assert_eq!(layout(&["w[0]", "b", "w[1]"]).block_names(), ["w[0]", "b", "w[1]"]);
        // Stan and R count from 1. The block is one, its parts are called as they were.
        let stan = layout(&["theta[1]", "theta[2]", "m[1,1]", "m[1,2]"]);
        assert_eq!(stan.block_names(), ["theta", "m"]);
        assert_eq!(stan.parameter_names(), ["theta[1]", "theta[2]", "m[1,1]", "m[1,2]"]);
    });
}

/// Names of blocks, from plain to weird.
fn block_name() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z][a-z0-9_]{0,4}",
        2 => "[ab,\"\\[\\]01 .é\t\r\n-]{0,6}",
        1 => Just("chain".to_string()),
        1 => Just("draw".to_string()),
    ]
}

fn shape() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..4, 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn draws_come_back_with_their_names_and_bits(
        blocks in prop::collection::vec((block_name(), shape()), 1..5),
        // Which parameters are kept, in which order: all in order, some in order, some in any.
        order in 0..3, seed in 0u64..1000, chains in 1usize..4, draws in 1usize..4,
    ) {
        alone(|| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut seen = HashSet::new();
            let mut layout = Layout::new();
            for (name, shape) in &blocks {
                let next = Layout::new().with(name, shape);
                if next.parameter_names().iter().all(|name| !seen.contains(name)) {
                    seen.extend(next.parameter_names());
                    layout = layout.then(&next);
                }
            }
            let mut names = layout.parameter_names();
            if order > 0 {
                names.retain(|_| random.random_bool(0.7));
            }
            if order > 1 {
                for i in 1..names.len() {
                    names.swap(i, random.random_range(0..=i));
                }
            }
            if !names.is_empty() {
                let values = Array3::from_shape_fn((chains, draws, names.len()), |_| loop {
                    let value = f64::from_bits(random.random());
                    if !value.is_nan() { break value }
                });
                let back = written_and_read(&names, &values);
                assert_eq!(back.layout().parameter_names(), names);
                assert!(back.values().iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits()));
            }
            // Whole blocks with plain names stay blocks.
            let plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if layout.blocks().iter().all(|b| plain(&b.name)) {
                let names = layout.parameter_names();
                let back = written_and_read(&names, &Array3::zeros((1, 1, names.len())));
                let unique: HashSet<&String> = layout.blocks().iter().map(|b| &b.name).collect();
                if unique.len() == layout.blocks().len() {
                    assert_eq!(*back.layout(), layout);
                }
            }
        });
    }
}

// Memory.

/// What is held besides text and numbers: buffers, and the state of two gzip decoders.
const FIXED: usize = 256 << 10;
/// For each column and each chain: its name, and what finds it by name.
const PER_NAME: usize = 512;

/// A table of `rows` with a header, whose cells are all `cell` in length.
fn table(rows: usize, columns: usize, digits: usize) -> String {
    let mut text = (0..columns).map(|j| format!("c{j:03}")).collect::<Vec<_>>().join(",");
    for i in 0..rows {
        text.push('\n');
        for j in 0..columns {
            let comma = if j == 0 { "" } else { "," };
            write!(text, "{comma}{:0digits$}", (7 * i + 13 * j) % 10usize.pow(digits as u32))
                .unwrap();
        }
    }
    text
}

fn last() -> CsvReader {
    CsvReader::regression(Columns::Last)
}

fn check_peak(what: &str, peak: usize, text: usize, times: f64) {
    let ratio = (peak as f64 - FIXED as f64) / text as f64;
    println!("{what}: {peak} bytes for {text} of text, {:.2} times", peak as f64 / text as f64);
    assert!(ratio <= times, "{what}: {peak} bytes for {text} of text");
}

#[test]
fn tables_take_at_most_four_times_their_text() {
    alone(|| {
        let read = |reader: &CsvReader, bytes: &[u8]| {
            let (data, most) = peak(|| reader.read(bytes).unwrap().dataset);
            (data.rows(), most)
        };
        for digits in [2, 6, 15] {
            let text = table(86_000 / (digits + 1) * 5 / 2, 20, digits);
            let (_, most) = read(&last(), text.as_bytes());
            check_peak(&format!("{digits} digits"), most, text.len(), 4.0);
            let (_, most) = read(&last(), &gzip(text.as_bytes()));
            check_peak(&format!("{digits} digits, gzip"), most, text.len(), 4.0);
        }
        // The data set alone takes four times the text here.
        let text = table(108_000, 20, 1);
        check_peak("1 digit", read(&last(), text.as_bytes()).1, text.len(), 5.0);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, &text).unwrap();
        let most = peak(|| last().read_path(&file).unwrap()).1;
        check_peak("1 digit, file", most, text.len(), 5.0);

        // Labels, classes, and rows that are left out.
        let kinds = ["setosa", "versicolor", "virginica"];
        let mut text = String::from("a,b,kind\n");
        for i in 0..200_000 {
            let missing = if i % 3 == 0 { "NA" } else { "17.25" };
            writeln!(text, "{missing},{},{}", ["left", "right"][i % 2], kinds[i % 3]).unwrap();
        }
        let reader =
            CsvReader::classification("kind").encoding(Encoding::Codes).drop_missing_rows();
        let (rows, most) = read(&reader.clone().missing(["NA"]), text.as_bytes());
        assert_eq!(rows, 133_333);
        check_peak("labels", most, text.len(), 4.0);
        // A column of identifiers is refused, without all of them in memory.
        let mut text = String::from("id,y\n");
        (0..100_000).for_each(|i| writeln!(text, "id{i},{i}").unwrap());
        for (reader, problem, times) in [
            (CsvReader::regression("y"), "more than 50 kinds", 3.0),
            // 65,536 of the identifiers are kept as classes.
            (CsvReader::classification("id"), "more than 65536 classes", 4.5),
        ] {
            let (error, most) = peak(|| reader.read(text.as_bytes()).unwrap_err().to_string());
            assert!(error.contains(problem), "{error}");
            check_peak("identifiers", most, text.len(), times);
        }
    });
}

#[test]
fn what_is_refused_takes_no_more() {
    alone(|| {
        let header = "a,y\n1,2\n";
        let long = 3_000_000;
        for (what, text) in [
            ("a row of commas", format!("{header}{}\n", ",".repeat(long))),
            ("a header of commas", format!("{}\n{header}", ",".repeat(long))),
            ("an open quotation mark", format!("{header}\"{}", "1,2\n".repeat(long / 4))),
            ("one cell", format!("{header}1,{}\n", "x".repeat(long))),
            ("escaped quotation marks", format!("{header}1,\"{}\"\n", "\"\"".repeat(long / 2))),
            (
                "no number in the last row",
                format!("{header}{}x,1\n", "1.25,2.5\n".repeat(long / 9)),
            ),
            ("blank lines", "\n".repeat(long)),
        ] {
            let (error, most) = peak(|| CsvReader::regression("y").read(text.as_bytes()).is_err());
            assert!(error, "{what}");
            let most = most.saturating_sub(if what == "a header of commas" { 48 << 20 } else { 0 });
            check_peak(what, most, text.len(), 4.0);
            if what != "a header of commas" {
                let draws = text.replacen("a,y", "a,b", 1);
                let (error, most) = peak(|| Draws::read_csv(draws.as_bytes(), "memory").is_err());
                assert!(error, "{what}");
                check_peak(&format!("draws, {what}"), most, text.len(), 4.0);
            }
        }
    });
}

#[test]
fn draws_take_at_most_four_times_their_text() {
    alone(|| {
        for (parameters, rows) in [(1, 100_000), (20, 10_000)] {
            for turned in [false, true] {
                let mut text = String::from("chain,draw");
                (0..parameters).for_each(|p| write!(text, ",w[{p}]").unwrap());
                for i in 0..rows {
                    let draw = if turned { rows - i } else { i };
                    write!(text, "\n{},{draw}", i % 2).unwrap();
                    (0..parameters).for_each(|p| write!(text, ",{}", (i * p) % 10).unwrap());
                }
                let (draws, most) = peak(|| Draws::read_csv(text.as_bytes(), "memory").unwrap());
                assert_eq!((draws.n_chains(), draws.n_draws()), (2, rows / 2));
                let order = if turned { "turned" } else { "in order" };
                // The draws alone take nearly four times the text where there are many columns of one digit.
                let times = if parameters == 1 { 4.0 } else { 5.0 };
                check_peak(&format!("{parameters} parameters, {order}"), most, text.len(), times);
            }
        }
        let long = Draws::new(
            Layout::vector("w", 50),
            Array3::from_shape_fn((4, 500, 50), |(c, d, p)| ((c + 2 * d + 3 * p) as f64).sin()),
        );
        let mut text = Vec::new();
        long.unwrap().write_csv(&mut text).unwrap();
        let most = peak(|| Draws::read_csv(&text[..], "memory").unwrap()).1;
        check_peak("draws as they are written", most, text.len(), 3.0);
    });
}

/// An IDX file of bytes.
fn idx(sizes: &[u32], elements: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, 8, sizes.len() as u8];
    sizes.iter().for_each(|n| file.extend(n.to_be_bytes()));
    file.extend(elements);
    file
}

#[test]
fn images_take_their_bytes_and_the_data_set() {
    alone(|| {
        let n = 3000;
        let pixels: Vec<u8> = (0..n * 400).map(|i| (i % 251) as u8).collect();
        let labels: Vec<u8> = (0..n).map(|i| (i % 10) as u8).collect();
        let (images, labels) = (idx(&[n as u32, 20, 20], &pixels), idx(&[n as u32], &labels));
        for (what, images) in [("plain", images.clone()), ("gzip", gzip(&images))] {
            for (reader, rows) in
                [(IdxReader::new(), n), (IdxReader::new().classes(["1", "7"]), n / 5)]
            {
                let (data, most) = peak(|| reader.read(&images[..], &labels[..]).unwrap());
                assert_eq!(data.rows(), rows);
                // Each pixel becomes a number of 8 bytes.
                let returned = rows * (400 * 8 + 8) + 400 * 48;
                check_peak(&format!("{what}, {rows} images, result"), returned, pixels.len(), 9.0);
                let beyond = most.saturating_sub(returned);
                check_peak(&format!("{what}, {rows} images, beyond it"), beyond, pixels.len(), 3.0);
            }
        }
    });
}

// Limits.

#[test]
fn limits_hold_and_are_named_with_what_raises_them() {
    alone(|| {
        // A table of 100 MB in 100 kB of gzip.
        let text = format!("a,y\n{}", "0,0\n".repeat(1 << 20));
        let packed = gzip(text.as_bytes());
        let small = CsvReader::regression("y").limit(1 << 20);
        for bytes in [&packed[..], text.as_bytes()] {
            let (error, most) = peak(|| small.read(bytes).unwrap_err());
            assert!(error.is_data());
            assert_eq!(
                error.to_string(),
                "input: the text is longer than 1048576 bytes, which is the limit: raise the limit by \
             `CsvReader::limit` if the file is to be trusted"
            );
            assert!(most < (3 << 20) + FIXED, "{most}");
        }
        let exact = CsvReader::regression("y").limit(text.len() as u64);
        assert_eq!(exact.read(&packed[..]).unwrap().dataset.rows(), 1 << 20);
        assert!(exact.limit(text.len() as u64 - 1).read(&packed[..]).is_err());

        // Labels that become far more numbers than there is text.
        let mut text = String::from("id,y\n");
        (0..5_000).for_each(|i| writeln!(text, "id{i},{i}").unwrap());
        let reader = CsvReader::regression("y").categorical(["id"]);
        let (error, most) =
            peak(|| reader.clone().limit(1_000_000).read(text.as_bytes()).unwrap_err());
        assert_eq!(
            error.to_string(),
            "input: 5000 rows of 5000 features with their response take 200040000 bytes as numbers, but \
         at most 4000000 are allowed, four times the limit of text: raise the limit by `CsvReader::limit`, \
         or make one column of all labels of a column by `Encoding::Codes`"
        );
        assert!(most < 4_000_000, "{most}");

        // A long name in front of each level of its column.
        let mut text = format!("{},y\n", "x".repeat(1_000_000));
        (0..50).for_each(|i| writeln!(text, "level{i:02},{i}").unwrap());
        let reader = CsvReader::regression("y");
        let (error, most) =
            peak(|| reader.clone().limit(2_000_000).read(text.as_bytes()).unwrap_err());
        assert_eq!(
            error.to_string(),
            "input: 50 rows of 50 features with their response take 50000400 bytes as names, but at most \
         8000000 are allowed, four times the limit of text: raise the limit by `CsvReader::limit`, or make \
         one column of all labels of a column by `Encoding::Codes`"
        );
        assert!(most < 4 * text.len() + FIXED, "{most}");
        assert!(reader.encoding(Encoding::Codes).limit(2_000_000).read(text.as_bytes()).is_ok());

        // Images: by the header, before anything is read.
        let labels = idx(&[600], &[0; 600]);
        let images = idx(&[600, 100, 100], &vec![7; 6_000_000]);
        let reader = IdxReader::new().limit(5_000_000);
        for images in [gzip(&images), images] {
            let (error, most) = peak(|| reader.read(&images[..], &labels[..]).unwrap_err());
            assert_eq!(
                error.to_string(),
                "images: its header says that 6000000 bytes follow, but at most 5000000 are read: raise \
             the limit by `IdxReader::limit` if the file is to be trusted"
            );
            assert!(most < FIXED, "{most}");
        }
    });
}

// Work. Each of these would take minutes if it grew with the square of its size.

#[test]
fn many_chains_are_read_in_linear_work() {
    alone(|| {
        let chains = 200_000;
        let mut text = String::from("chain,draw,a\n");
        for draw in 0..2 {
            (0..chains).for_each(|c| writeln!(text, "chain{c},{draw},{}.5", c + draw).unwrap());
        }
        let (draws, most) = peak(|| Draws::read_csv(text.as_bytes(), "memory").unwrap());
        assert_eq!((draws.n_chains(), draws.n_draws()), (chains, 2));
        assert_eq!(draws.draw(chains - 1, 1), Some(&[chains as f64 + 0.5][..]));
        assert!(most <= 4 * text.len() + chains * PER_NAME, "{most}");
        // One chain, from the last draw to the first.
        let mut text = String::from("draw,a\n");
        (0..chains).for_each(|d| writeln!(text, "{},{}", chains - d, chains - d).unwrap());
        let draws = Draws::read_csv(text.as_bytes(), "memory").unwrap();
        assert!(draws.values().iter().enumerate().all(|(i, v)| *v == i as f64 + 1.0));
    });
}

#[test]
fn many_columns_are_read_in_linear_work() {
    alone(|| {
        let columns = 200_000;
        let join = |cell: &dyn Fn(usize) -> String, turned: bool| {
            let places = 0..columns;
            let cells: Vec<String> = match turned {
                true => places.rev().map(cell).collect(),
                false => places.map(cell).collect(),
            };
            cells.join(",")
        };
        let text = |turned| {
            let names = join(&|j| format!("c{j}"), turned);
            format!(
                "{names}\n{}\n{}\n",
                join(&|j| j.to_string(), turned),
                join(&|j| (j + 1).to_string(), turned)
            )
        };
        let (plain, turned) = (text(false), text(true));
        let many: Vec<String> = (0..columns / 2).map(|j| format!("c{j}")).collect();
        let reader = CsvReader::regression(format!("c{}", columns - 1));
        let (data, most): (CsvData, _) = peak(|| reader.read(plain.as_bytes()).unwrap());
        assert!(most <= 4 * plain.len() + columns * PER_NAME, "{most}");
        let again = data.schema.read(turned.as_bytes()).unwrap();
        assert!(again.dataset == data.dataset);
        let some = reader.clone().ignore(many.clone()).read(plain.as_bytes()).unwrap();
        assert_eq!(some.dataset.n_features(), columns / 2 - 1);
        let codes = reader.categorical(many).encoding(Encoding::Codes);
        assert_eq!(codes.read(plain.as_bytes()).unwrap().dataset.n_features(), columns - 1);
        let outputs: Vec<String> = (1..columns).map(|j| format!("c{j}")).collect();
        let wide = CsvReader::regression(outputs).read(plain.as_bytes()).unwrap();
        assert_eq!(wide.dataset.response_names().len(), columns - 1);

        let array = plain.replace('c', "w");
        let (draws, most) = peak(|| Draws::read_csv(array.as_bytes(), "memory").unwrap());
        assert_eq!(draws.values().dim(), (1, 2, columns));
        assert!(most <= 4 * array.len() + columns * PER_NAME, "{most}");
        // An array of one block, and one whose two halves are apart.
        for (names, blocks) in [
            (join(&|j| format!("w[{j}]"), false), 1),
            (join(&|j| format!("{}[{}]", ["a", "b"][j % 2], j / 2), false), columns),
        ] {
            let names = names.split(',').map(String::from).collect::<Vec<_>>();
            assert_eq!(Layout::from_parameter_names(&names).blocks().len(), blocks);
        }
    });
}

// Fuzz.

/// What the files of a fuzz test did.
#[derive(Default, Debug)]
struct Tally {
    read: usize,
    refused: usize,
    /// The most memory, in units of the text, that a file of at least 256 kB took.
    most_memory: f64,
}

const TOKENS: [&str; 30] = [
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
    for i in 0..rows {
        let (a, b): (f64, f32) = (random.random(), random.random());
        let (side, class) = (["left", "\"r,i\""][i % 2], ["x", "y", "z"][i % 3]);
        match kind {
            0 => writeln!(text, "{a},{},{side},{},{class}", i % 5, i % 7).unwrap(),
            _ => writeln!(text, "{},{},{a},{b},{i}", i % 2, i / 2).unwrap(),
        }
    }
    text
}

fn csv_reader(random: &mut ChaCha8Rng, many: bool) -> CsvReader {
    let reader = match random.random_range(0..5) {
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
    let reader = if random.random() { reader.categorical(["side"]) } else { reader };
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
