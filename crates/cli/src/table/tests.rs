//! Files that other programs wrote, and broken ones.

use std::fs;
use std::path::PathBuf;

use bnn_mcmc::data::{ColumnType, Description};

use super::*;

const LIMIT: u64 = 1 << 24;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

/// The table of a file.
fn opened(path: &Path) -> TypedTable {
    match Table::open(path, LIMIT, None).unwrap() {
        Table::Typed { table, .. } => table,
        Table::Text(path) => panic!("{} was taken for text", path.display()),
    }
}

/// Reads bytes as a file of this name.
fn of_bytes(name: &str, bytes: &[u8]) -> Result<Table, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    Table::open(&path, LIMIT, None)
}

fn columns_of(described: &Description, is_of: impl Fn(&ColumnType) -> bool) -> Vec<String> {
    let columns = described.columns.iter();
    let found = columns.filter(|column| column.kind.as_ref().is_some_and(&is_of));
    found.map(|column| column.name.clone()).collect()
}

/// Every cell of every type is the cell of the text, which was written without any of these readers.
#[test]
fn files_of_other_programs_give_the_numbers_of_the_same_text() {
    let text = fs::read(path("types.csv")).unwrap();
    let table = opened(&path("types.parquet"));
    let reader = CsvReader::regression("y");
    let described = reader.describe_table(&table).unwrap();
    assert_eq!(described.rows, 40);
    let other = columns_of(&described, |kind| matches!(kind, ColumnType::Other(_)));
    assert_eq!(other.len(), 6, "{other:?}");
    let labels =
        columns_of(&described, |kind| matches!(kind, ColumnType::Text | ColumnType::Labels));
    assert_eq!(labels.len(), 6, "{labels:?}");
    let read = reader.clone().ignore(other).read_table(&table).unwrap();
    let expected = reader.categorical(labels).read(&text[..]).unwrap();
    assert_eq!(read.dataset.feature_names(), expected.dataset.feature_names());
    for (j, name) in expected.dataset.feature_names().iter().enumerate() {
        let bits = |x: &CsvData| x.dataset.x().column(j).map(|x| x.to_bits());
        assert_eq!(bits(&read), bits(&expected), "{name}");
    }
    assert_eq!(read.dataset.response(), expected.dataset.response());
    assert_eq!(read.lines.place(39), Some(Row::Number(40)));
    let Table::Typed { orders, .. } = Table::open(&path("types.parquet"), LIMIT, None).unwrap()
    else {
        panic!()
    };
    let expected = ["low", "high", "none of them"].map(String::from).to_vec();
    assert_eq!(orders, Orders::from([("ordered".into(), expected)]));
}

#[test]
fn files_of_polars_have_their_text_and_categories() {
    let table = opened(&path("polars.parquet"));
    let data = CsvReader::regression("y").ignore(["list"]).read_table(&table).unwrap();
    let level = |name: &str| data.schema.levels(name).unwrap().join("|");
    assert_eq!(level("text"), "a|a text of more than twelve bytes|b");
    assert_eq!((level("category"), level("enum")), ("x|y".into(), "high|low".into()));
    let size = data.dataset.feature_names().iter().position(|name| name == "size").unwrap();
    assert_eq!(data.dataset.x().column(size).to_vec()[..4], [0.5, 1.25, 1.25, 2.0]);
    assert_eq!(data.dataset.real().unwrap()[(3, 0)], 2.0);
    // The order of the type, and not of its letters; one of them does not occur.
    let table = Table::open(&path("polars.parquet"), LIMIT, None).unwrap();
    assert_eq!(table.order_of("enum").unwrap(), ["none", "low", "high"]);
    assert_eq!((table.order_of("category"), table.order_of("text")), (None, None));
}

#[test]
fn rows_beyond_the_limit_are_refused() {
    let error = Table::open(&path("types.parquet"), 1000, None).err().unwrap().to_string();
    assert!(error.contains("the rows take more than 1000 bytes, which is the limit"), "{error}");
}

/// Rows that are drawn are rows of the file, under their numbers, each as likely as the others.
#[test]
fn rows_are_drawn_of_files_that_are_too_long() {
    let file = "types.parquet";
    let whole = opened(&path(file));
    let limit = whole.bytes() / 2;
    let described = CsvReader::regression("y").describe_table(&whole).unwrap();
    let others =
        columns_of(&described, |kind| matches!(kind, ColumnType::Other(_) | ColumnType::Dates));
    let reader = CsvReader::regression("y").ignore(others);
    let whole = reader.read_table(&whole).unwrap();
    let names = whole.dataset.feature_names();
    let numbers: Vec<usize> = whole.lines.iter().collect();
    let mut times = vec![0; numbers.len()];
    let (mut seen, mut drawn, mut compared) = (0, 0, 0);
    for seed in 0..300 {
        let sample = Some(Sample { rows: 10, seed });
        let Table::Typed { table, .. } = Table::open(&path(file), limit, sample).unwrap() else {
            panic!("text");
        };
        let Ok(read) = reader.read_table(&table) else { continue };
        assert_eq!(read.drawn_from, Some(40), "{file}");
        seen += 1;
        for (row, number) in read.lines.iter().enumerate() {
            let at = numbers.iter().position(|known| *known == number).unwrap();
            (times[at], drawn) = (times[at] + 1, drawn + 1);
            // Gaps are filled and levels found by the rows that were drawn.
            let is_gap = |name: &String| {
                let marked = names.iter().position(|known| *known == format!("{name} is missing"));
                marked.is_some_and(|marked| whole.dataset.x()[(at, marked)] == 1.0)
            };
            for (j, name) in read.dataset.feature_names().iter().enumerate() {
                let known = names.iter().position(|known| known == name);
                let Some(known) = known.filter(|_| !is_gap(name)) else {
                    continue;
                };
                compared += 1;
                let [x, y] = [read.dataset.x()[(row, j)], whole.dataset.x()[(at, known)]];
                assert_eq!(x.to_bits(), y.to_bits(), "{file}, row {number}, {name}");
            }
        }
    }
    let mean = f64::from(drawn) / times.len() as f64;
    assert!(seen > 100 && compared > 20 * drawn, "{file}: {seen} tables, {compared} cells");
    let squares: f64 = times.iter().map(|n| (f64::from(*n) - mean).powi(2) / mean).sum();
    assert!(squares < 2.0 * times.len() as f64, "{file}: {times:?}");
    // All rows at once are too long still.
    let sample = Some(Sample { rows: 40, seed: 1 });
    let words = Table::open(&path(file), limit, sample).err().unwrap().to_string();
    assert!(words.contains(&format!("more than {limit} bytes")), "{words}");
}

#[test]
fn bytes_decide_and_not_names() {
    let [parquet, text] = ["types.parquet", "types.csv"].map(|name| fs::read(path(name)).unwrap());
    for name in ["data", "data.csv", "data.parquet"] {
        assert!(matches!(of_bytes(name, &parquet), Ok(Table::Typed { .. })), "{name}");
    }
    for name in ["data", "data.csv"] {
        assert!(of_bytes(name, &text).unwrap().is_text());
    }
    // A table whose first column has such a name.
    assert!(of_bytes("data.csv", b"PAR1,ARROW1\n1,2\n").unwrap().is_text());
    // A file that is none in spite of its name is not taken for text, which its reader would refuse.
    for (name, bytes, expected) in [
        ("a.parquet", &text[..], "it is no Parquet file, which begins with PAR1"),
        ("a.parquet", b"", "the file is empty"),
        ("a.parquet", &parquet[..20_000], "the Parquet file is cut off"),
        ("a.parquet", b"PAR1", "the Parquet file cannot be read"),
        ("a.parquet", b"PAR1PAR1", "the Parquet file cannot be read"),
        ("a", b"PARE\0\0\0\0PARE", "the Parquet file is encrypted"),
        ("a.feather", b"FEA1\0\0\0\0", "Arrow files are not read: write the table as Parquet"),
        ("a", b"ARROW1\0\0", "Arrow files are not read: write the table as Parquet"),
    ] {
        let error = of_bytes(name, bytes).err().unwrap().to_string();
        assert!(error.contains(&format!("{name}: ")) && error.contains(expected), "{error}");
    }
}

/// A file of which some bytes are others gives a table or an error, and no panic that is not an error.
#[test]
fn broken_files_are_errors() {
    let (mut wrong, mut state, mut panics) = (0, 1u64, 0);
    let mut random = |below: usize| {
        // Knuth's generator.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let times: usize = std::env::var("BROKEN_FILES").map_or(200, |n| n.parse().unwrap());
    for name in ["polars.parquet", "types.parquet"] {
        let whole = fs::read(path(name)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        for _ in 0..times {
            let mut bytes = whole.clone();
            match random(3) {
                0 => {
                    let (from, to) = (random(bytes.len()), random(bytes.len()));
                    bytes.drain(from.min(to)..from.max(to));
                }
                // Most of what is read first is at the end.
                kind => {
                    for _ in 0..=random(4) {
                        let end = if kind == 1 { bytes.len() } else { 1500 };
                        let at = bytes.len() - 1 - random(end);
                        bytes[at] = [0, 1, 0x7F, 0x80, 0xFF, random(256) as u8][random(6)];
                    }
                }
            }
            fs::write(&file, &bytes).unwrap();
            if let Err(error) = Table::open(&file, LIMIT, None) {
                let error = error.to_string();
                assert!(error.contains(name), "{error}");
                wrong += 1;
                panics += usize::from(error.contains("ended at a contradiction"));
            }
        }
    }
    println!("{wrong} of {} were errors, {panics} of them panics of a reader", 2 * times);
    assert!(2 * wrong > times, "{wrong}");
}
