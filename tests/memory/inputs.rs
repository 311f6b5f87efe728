//! What users hand in as files: CSV tables, images in IDX files, and draws. Whatever is in them, memory is bounded by
//! the text, and work grows in proportion to it.

use std::fmt::Write as _;
use std::io::Write;

use bnn_mcmc::data::{Columns, CsvData, CsvReader, Encoding, IdxReader};
use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use ndarray::Array3;
use shared::refused;

use crate::allocator::{alone, peak};

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// What is held besides text and numbers: buffers, and the state of two gzip decoders.
pub const FIXED: usize = 256 << 10;
/// For each column and each chain: its name, and what finds it by name.
pub const PER_NAME: usize = 512;

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
            (CsvReader::regression("y"), "column `id` holds text of more than 50 kinds", 3.0),
            // 65,536 of the identifiers are kept as classes.
            (
                CsvReader::classification("id"),
                "column `id` has more than 65536 classes: is this a regression?",
                4.5,
            ),
        ] {
            let (read, most) = peak(|| reader.read(text.as_bytes()).map(drop));
            refused!(read, Table { problem: problem });
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
pub fn idx(sizes: &[u32], elements: &[u8]) -> Vec<u8> {
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
            let (read, most) = peak(|| small.read(bytes).map(drop));
            refused!(read, Table { table: "input" });
            assert!(most < (3 << 20) + FIXED, "{most}");
        }
        let exact = CsvReader::regression("y").limit(text.len() as u64);
        assert_eq!(exact.read(&packed[..]).unwrap().dataset.rows(), 1 << 20);
        assert!(exact.limit(text.len() as u64 - 1).read(&packed[..]).is_err());

        // Labels that become far more numbers than there is text.
        let mut text = String::from("id,y\n");
        (0..5_000).for_each(|i| writeln!(text, "id{i},{i}").unwrap());
        let reader = CsvReader::regression("y").categorical(["id"]);
        let (read, most) = peak(|| reader.clone().limit(1_000_000).read(text.as_bytes()).map(drop));
        refused!(read, Table { table: "input" });
        assert!(most < 4_000_000, "{most}");

        // A long name in front of each level of its column.
        let mut text = format!("{},y\n", "x".repeat(1_000_000));
        (0..100).for_each(|i| writeln!(text, "level{:02},{i}", i % 50).unwrap());
        let reader = CsvReader::regression("y");
        let (read, most) = peak(|| reader.clone().limit(2_000_000).read(text.as_bytes()).map(drop));
        refused!(read, Table { table: "input" });
        assert!(most < 4 * text.len() + FIXED, "{most}");
        assert!(reader.encoding(Encoding::Codes).limit(2_000_000).read(text.as_bytes()).is_ok());

        // Images: by the header, before anything is read.
        let labels = idx(&[600], &[0; 600]);
        let images = idx(&[600, 100, 100], &vec![7; 6_000_000]);
        let reader = IdxReader::new().limit(5_000_000);
        for images in [gzip(&images), images] {
            let (read, most) = peak(|| reader.read(&images[..], &labels[..]).map(drop));
            refused!(read, Table { table: "images" });
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
