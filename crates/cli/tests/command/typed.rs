//! Tables in Parquet files.

use std::fs::{self, File};
use std::sync::Arc;

use bnn_mcmc::data::{CsvReader, RowFile, Schema, Stored};
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::parser::parse_message_type;
use serde_json::Value;
use shared::said;

use super::*;

/// The values of a column, each of which may be missing.
enum Column {
    Real(Vec<Option<f64>>),
    Whole(Vec<Option<i64>>),
    Text(Vec<Option<String>>),
    Bool(Vec<Option<bool>>),
}

impl Column {
    fn kind(&self) -> &'static str {
        match self {
            Self::Real(_) => "DOUBLE",
            Self::Whole(_) => "INT64",
            Self::Text(_) => "BYTE_ARRAY",
            Self::Bool(_) => "BOOLEAN",
        }
    }
}

/// Writes the columns in groups of so many rows.
fn write(path: &Path, columns: &[(&str, Column)], rows: usize, height: usize, codec: Compression) {
    let field = |(name, column): &(&str, Column)| {
        let text = if matches!(column, Column::Text(_)) { " (STRING)" } else { "" };
        format!("OPTIONAL {} {name}{text};", column.kind())
    };
    let fields: Vec<String> = columns.iter().map(field).collect();
    let schema = parse_message_type(&format!("message t {{ {} }}", fields.join(" "))).unwrap();
    let settings = Arc::new(WriterProperties::builder().set_compression(codec).build());
    let mut file =
        SerializedFileWriter::new(File::create(path).unwrap(), Arc::new(schema), settings).unwrap();
    for first in (0..rows).step_by(height) {
        let part = first..rows.min(first + height);
        let mut group = file.next_row_group().unwrap();
        for (_, column) in columns {
            let mut to = group.next_column().unwrap().unwrap();
            macro_rules! put {
                ($values:expr, $kind:ty, $value:expr) => {{
                    let part = &$values[part.clone()];
                    let levels: Vec<i16> = part.iter().map(|v| i16::from(v.is_some())).collect();
                    let there: Vec<_> = part.iter().flatten().map($value).collect();
                    to.typed::<$kind>().write_batch(&there, Some(&levels), None).unwrap();
                }};
            }
            match column {
                Column::Real(values) => put!(values, DoubleType, |v| *v),
                Column::Whole(values) => put!(values, Int64Type, |v| *v),
                Column::Text(values) => put!(values, ByteArrayType, |v| ByteArray::from(&v[..])),
                Column::Bool(values) => put!(values, BoolType, |v| *v),
            }
            to.close().unwrap();
        }
        group.close().unwrap();
    }
    file.close().unwrap();
}

/// Columns of so many rows, and the same as CSV.
fn table(rows: usize) -> (Vec<(&'static str, Column)>, String) {
    let x = |i: usize| (i != 4).then_some((i * i % 17) as f64 / 3.0);
    let n = |i: usize| (i != 7).then_some((i * 31 % 101) as i64 - 50);
    let t = |i: usize| (i % 9 != 5).then(|| ["a", "b,\"c\"", "é"][i % 3].to_string());
    let b = |i: usize| Some(i % 5 < 2);
    let y = |i: usize| (i != 2).then_some((i % 13) as f64 - 0.3 * (i % 4) as f64);
    let mut text = String::from("x,n,t,b,y\n");
    for i in 0..rows {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let quoted = |text: String| format!("\"{}\"", text.replace('"', "\"\""));
        let cells = [
            number(x(i)),
            n(i).map_or(String::new(), |n| n.to_string()),
            t(i).map_or(String::new(), quoted),
            u8::from(b(i).unwrap()).to_string(),
            number(y(i)),
        ];
        text.push_str(&(cells.join(",") + "\n"));
    }
    let columns = vec![
        ("x", Column::Real((0..rows).map(x).collect())),
        ("n", Column::Whole((0..rows).map(n).collect())),
        ("t", Column::Text((0..rows).map(t).collect())),
        ("b", Column::Bool((0..rows).map(b).collect())),
        ("y", Column::Real((0..rows).map(y).collect())),
    ];
    (columns, text)
}

/// `fit.json` without what tells a table of types from text, and the lines of the rows.
fn described(place: &Place, run: &str) -> (Value, Value) {
    let mut all = json(&place.read(&format!("{run}/fit.json")));
    let fields = all.as_object_mut().unwrap();
    let dropped = fields.remove("dropped").unwrap();
    for field in ["crc32", "lines"] {
        fields.remove(field).unwrap();
    }
    for column in fields["schema"]["columns"].as_array_mut().unwrap() {
        column.as_object_mut().unwrap().remove("bools");
    }
    (all, dropped)
}

#[test]
fn a_parquet_file_gives_the_draws_of_the_same_text() {
    let place = Place::new();
    let (columns, text) = table(60);
    place.write("t.csv", &text);
    for (name, height, codec) in [
        ("t.parquet", 7, Compression::SNAPPY),
        ("plain.parquet", 60, Compression::UNCOMPRESSED),
        ("gzip.pq", 11, Compression::GZIP(Default::default())),
    ] {
        write(&place.path(name), &columns, 60, height, codec);
    }
    let fit = |table: &str, run: &str, more: &str| {
        place.run(&format!("fit {table} --target y --out {run} --quiet {SMALL} {more}")).well()
    };
    fit("t.csv", "csv", "");
    for (table, run) in [("t.parquet", "a"), ("plain.parquet", "b"), ("gzip.pq", "c")] {
        fit(table, run, "");
        assert_eq!(place.read(&format!("{run}/data.csv")), place.read("csv/data.csv"), "{table}");
        let ((all, dropped), (csv, lines)) = (described(&place, run), described(&place, "csv"));
        // Among its fields are checksums of the draws, the rows and the verdict.
        assert_eq!(all, csv, "{table}");
        // Row 3 is in line 4.
        assert_eq!((dropped, lines), (serde_json::json!([3]), serde_json::json!([4])));
    }
    said!(place.run("check t.parquet --target y").well());

    // Predictions of new rows, of either kind by the run of either kind.
    let of_csv = place.run("predict csv t.csv").well();
    let named = of_csv.replacen("row,line,", "row,table_row,", 1);
    let of_parquet = place.run("predict csv t.parquet").well();
    let places = |text: &str| -> Vec<usize> {
        text.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect()
    };
    let without = |text: &str| -> Vec<String> {
        let cut = |line: &str| line.splitn(3, ',').nth(2).unwrap().to_string();
        text.lines().map(cut).collect()
    };
    assert_eq!(without(&of_parquet), without(&named));
    assert_eq!(places(&of_parquet), (1..=60).collect::<Vec<_>>());
    assert_eq!(places(&of_csv), (2..=61).collect::<Vec<_>>());
    assert_eq!(place.run("predict a t.parquet").well(), of_parquet);
    assert_eq!(place.run("predict a t.csv").well(), of_csv);
    let scored = |run: &str, table: &str| {
        place.run(&format!("predict {run} {table} --scores --out p.csv")).well()
    };
    assert_eq!(scored("a", "t.parquet"), scored("csv", "t.csv"));
    said!(place.run("predict a t.parquet --scores --out p.csv").err);

    // Predictions as Parquet: the same numbers, in the same columns.
    assert_eq!(place.run("predict a t.parquet --out p.parquet").well(), "");
    let file = SerializedFileReader::new(File::open(place.path("p.parquet")).unwrap()).unwrap();
    let names: Vec<String> = file
        .metadata()
        .file_metadata()
        .schema_descr()
        .columns()
        .iter()
        .map(|column| column.name().to_string())
        .collect();
    let mut lines = vec![names.join(",")];
    for row in file.get_row_iter(None).unwrap() {
        let cell = |(_, field): (&String, &Field)| match field {
            Field::Long(value) => value.to_string(),
            Field::Double(value) => value.to_string(),
            Field::Str(text) => text.clone(),
            other => panic!("{other:?}"),
        };
        lines.push(row.unwrap().get_column_iter().map(cell).collect::<Vec<_>>().join(","));
    }
    assert_eq!(lines, of_parquet.lines().collect::<Vec<_>>());
}

#[test]
fn rows_of_a_parquet_file_are_named_as_rows() {
    let place = Place::new();
    let number = |i: usize| Some(i as f64 % 7.0);
    let odd = |i: usize| if i == 16 { Some(f64::INFINITY) } else { number(i * i) };
    let columns = [
        ("x", Column::Real((0..40).map(odd).collect())),
        ("big", Column::Whole((0..40).map(|i| Some((1 << 53) + 1 + i)).collect())),
        ("y", Column::Real((0..40).map(number).collect())),
    ];
    write(&place.path("t.parquet"), &columns, 40, 9, Compression::SNAPPY);
    said!(place.run("check t.parquet --target y").out);
    said!(place.run("fit t.parquet --target y --out r").error(1));
    // Classes of true and false, and categories beyond the training rows.
    let columns = [
        ("x", Column::Real((0..40).map(number).collect())),
        ("y", Column::Bool((0..40).map(|i| Some(i % 7 > 3)).collect())),
    ];
    write(&place.path("b.parquet"), &columns, 40, 9, Compression::SNAPPY);
    let run = place.run(&format!("fit b.parquet --target y --out b {SMALL}"));
    said!(run.err.lines().next().unwrap());
    run.well();
    let far = [("x", Column::Real(vec![Some(99.0), None]))];
    write(&place.path("far.parquet"), &far, 2, 9, Compression::SNAPPY);
    let predicted = place.run("predict b far.parquet");
    said!(predicted.err);
    let text = predicted.well();
    assert!(text.starts_with("row,table_row,class,") && text.contains("\n0,1,True,"), "{text}");
}

#[test]
fn parquet_files_that_cannot_be_used_are_refused() {
    let place = Place::new();
    let (columns, text) = table(30);
    place.write("text.parquet", &text);
    place.write("empty.parquet", "");
    write(&place.path("t.parquet"), &columns, 30, 30, Compression::SNAPPY);
    let whole = fs::read(place.path("t.parquet")).unwrap();
    fs::write(place.path("cut.parquet"), &whole[..whole.len() / 2]).unwrap();
    write(&place.path("none.parquet"), &columns, 0, 30, Compression::SNAPPY);
    let schema = parse_message_type("message t { REQUIRED DOUBLE a; REQUIRED DOUBLE a; }").unwrap();
    let twice = File::create(place.path("twice.parquet")).unwrap();
    let twice = SerializedFileWriter::new(twice, Arc::new(schema), Default::default()).unwrap();
    twice.close().unwrap();
    for name in ["text", "empty", "cut", "twice", "lacking"] {
        said!(place.run(&format!("fit {name}.parquet --target y --out r")).error(1));
        said!(place.run(&format!("check {name}.parquet --target y")).error(1));
        assert!(!place.path("r").exists(), "{name}");
    }
    said!(place.run("fit none.parquet --target y --out r").error(1));
    for flags in ["--delimiter ;", "--header no", "--charset latin-1", "--decimal comma"] {
        let flags = format!("fit t.parquet --target y --out r {flags}");
        said!(place.run(&flags).error(2));
    }
    said!(place.run("fit t.parquet --target y --out r --limit 100").error(1));
    place.run(&format!("fit t.parquet --target y --out r --quiet {SMALL}")).well();
    said!(place.run("predict r text.parquet").error(1));
    said!(place.run("predict r t.parquet --out p.arrow").error(2));
    said!(place.run("predict r t.parquet --out t.parquet").error(1));
    assert_eq!(fs::read(place.path("t.parquet")).unwrap(), whole);
    // Nested columns are named, and may be left out.
    fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/polars.parquet"),
        place.path("p.parquet"),
    )
    .unwrap();
    said!(place.run("check p.parquet --target y").out);
    said!(place.run("fit p.parquet --target y --out s").error(1));
    place.run(&format!("fit p.parquet --target y --ignore list --out s {SMALL}")).well();
    fs::write(place.path("a.feather"), b"ARROW1\0\0 and more").unwrap();
    said!(place.run("check a.feather").error(1));
}

/// Copies a file that another program wrote.
fn copy(place: &Place, name: &str) {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    fs::copy(files.join(name), place.path(name)).unwrap();
}

#[test]
fn files_of_other_programs_give_the_rows_of_the_same_text() {
    let place = Place::new();
    let labels = "text,large text,view,category,number category,ordered";
    let others = "list,struct,map,binary,duration,list of categories";
    let small = "--target y --hidden 0 --chains 1 --warmup 5 --draws 5 --quiet";
    copy(&place, "types.csv");
    let mut fit = place.command(&format!("fit types.csv --out csv {small}"));
    ended(fit.args(["--categorical", labels])).well();
    copy(&place, "types.parquet");
    let mut fit = place.command(&format!("fit types.parquet --out typed {small}"));
    ended(fit.args(["--ignore", others])).well();
    assert_eq!(place.read("typed/data.csv"), place.read("csv/data.csv"));
}

#[test]
fn classes_are_in_the_order_of_their_type() {
    let place = Place::new();
    copy(&place, "polars.parquet");
    let fit = |out: &str, flags: &str| {
        let fit = "fit polars.parquet --target enum --ignore list --quiet";
        place.run(&format!("{fit} --out {out} {flags} {SMALL}")).well();
        json(&place.read(&format!("{out}/fit.json")))["class_names"].to_string()
    };
    // One of the three does not occur.
    assert_eq!(fit("a", "--noise ordinal"), r#"["low","high"]"#);
    assert_eq!(fit("b", "--noise ordinal --classes high,low"), r#"["high","low"]"#);
    // Without an order they are in the order of text, as in a file of text.
    assert_eq!(fit("c", ""), r#"["high","low"]"#);
}

/// Rows that are drawn of a Parquet file which is longer than the limit.
#[test]
fn rows_are_drawn_of_a_parquet_file_that_is_too_long() {
    let place = Place::new();
    let (columns, _) = table(600);
    write(&place.path("t.parquet"), &columns, 600, 100, Compression::SNAPPY);
    let check = |more: &str| place.run(&format!("check t.parquet --limit 9000{more}"));
    let error = check("").error(1);
    let is_told = |text: &str, words: &[&str]| {
        assert!(words.iter().all(|words| text.contains(words)), "{words:?}: {text}");
    };
    is_told(&error, &["more than 9000 bytes", "--most-rows"]);
    let drawn = check(" --target y --most-rows 100").well();
    let rows = "t.parquet: 100 rows of 600, drawn at random, 5 columns";
    is_told(&drawn, &[rows, "`fit` accepts it"]);
}

/// A table as a file of rows: those that a program of the library reads from the table itself.
#[test]
fn tables_of_any_size_are_stored_as_rows() {
    let place = Place::new();
    let (columns, text) = table(600);
    place.write("t.csv", &text);
    write(&place.path("t.parquet"), &columns, 600, 250, Compression::SNAPPY);
    let whole = CsvReader::regression("y").read_path(place.path("t.csv")).unwrap();
    let read = |name: &str| RowFile::open(place.path(name)).unwrap();
    // A limit by which the Parquet file is of several blocks.
    for (table, more) in [("t.csv", ""), ("t.parquet", ""), ("t.parquet", " --limit 8000")] {
        let store = format!("store {table} --target y --out t.rows --stored f64{more}");
        let ended = place.run(&store);
        for words in [
            "regression, since `y` holds numbers",
            "599 rows of 9 features, ",
            "t.rows.schema.json; 1 row left out because of missing values",
        ] {
            assert!(ended.err.contains(words), "{words}: {}", ended.err);
        }
        assert_eq!(ended.well(), "");
        let rows = read("t.rows");
        assert_eq!(rows.stored(), &Stored::F64);
        // Medians of gaps are those of the first block.
        let (ours, theirs) = (rows.read(0..599).unwrap(), &whole.dataset);
        assert_eq!(ours.feature_names(), theirs.feature_names(), "{table}");
        assert_eq!(ours.real().unwrap(), theirs.real().unwrap());
        let differing = ours.x().indexed_iter().filter(|(at, x)| **x != theirs.x()[*at]).count();
        assert!(if more.is_empty() { differing == 0 } else { differing <= 2 }, "{differing}");
        let schema: Schema = serde_json::from_str(&place.read("t.rows.schema.json")).unwrap();
        assert_eq!(schema.feature_names(), theirs.feature_names());
        if more.is_empty() && table == "t.csv" {
            assert_eq!(schema.read_path(place.path("t.csv")).unwrap().dataset, *theirs);
        }
    }
    // In one byte: whole numbers as they are, others within half a step of 255.
    place.run("store t.parquet --target y --out t.rows --stored u8").well();
    let rows = read("t.rows");
    for (j, name) in rows.feature_names().iter().enumerate() {
        let (ours, theirs) = (rows.read(0..599).unwrap(), whole.dataset.x());
        let (ours, theirs) = (ours.x().column(j).to_vec(), theirs.column(j).to_vec());
        let error = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let most = if name == "x" { 16.0 / 3.0 / 255.0 / 2.0 + 1e-12 } else { 0.0 };
        assert!(error <= most, "{name}: {error}");
    }
    place.run("store iris.csv --target species --out iris.rows").well();
    assert_eq!(read("iris.rows").response_names(), ["species"]);
    // Longer than a block, of which a sample says what the columns are.
    let lines: String = (0..1_500_000).map(|i| format!("{}.25,{}\n", i, i % 7)).collect();
    place.write("long.csv", &format!("x,y\n{lines}"));
    place.run("store long.csv --target y --task regression --out t.rows").well();
    assert_eq!(read("t.rows").rows(), 1_500_000);
    let files = |of: &Place| {
        let mut names: Vec<String> = of.files(".").into_keys().collect();
        names.retain(|name| !name.ends_with(".csv") && !name.ends_with(".parquet"));
        names
    };
    let all = ["iris.rows", "iris.rows.schema.json", "t.rows", "t.rows.schema.json"];
    assert_eq!(files(&place), all);

    place.write("large.csv", "x,y\n1e300,1\n2,2\n3,3\n");
    place.write("broken.csv", "x,y\n1,1\n2,2\n3\n");
    for (flags, code, words) in [
        ("t.csv", 2, "--target COLUMN"),
        ("t.csv --target z", 1, "no column of t.csv named `z`"),
        ("t.csv --target y --impute 3", 2, "`--impute` is of a fit"),
        ("t.csv --target y --validation 0.2", 2, "`--validation` is of a fit"),
        ("t.parquet --target y --decimal comma", 2, "`--decimal` is for tables of text"),
        ("none.csv --target y", 1, "none.csv"),
        ("large.csv --target y", 1, "large.csv, line 2, column `x`"),
        ("broken.csv --target y --stored u8", 1, "line 4"),
    ] {
        let error = place.run(&format!("store {flags} --out a.rows")).error(code);
        assert!(error.contains(words), "{flags}: {error}");
    }
    let error = place.run("store t.csv --target y --out no/a.rows").error(1);
    assert!(error.contains("no/a.rows, but must be a file in a folder that is there"), "{error}");
    assert_eq!(files(&place), all, "nothing is left of what was refused");
}

/// A file of rows takes the place of such a file alone, and one process writes it.
#[cfg(unix)]
#[test]
fn nothing_but_a_file_of_rows_is_written_over() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    let (_, text) = table(600);
    for (name, text) in [
        ("t.csv", &text[..]),
        ("own.txt", "mine"),
        ("a.part", "mine"),
        ("b.wide", "mine"),
        ("c.schema.json", "mine"),
    ] {
        place.write(name, text);
    }
    symlink(place.path("t.csv"), place.path("link")).unwrap();
    fs::hard_link(place.path("t.csv"), place.path("hard")).unwrap();
    let before = place.files(".");
    for out in ["t.csv", "link", "hard", "own.txt", "a", "b", "c", "/dev/null"] {
        let store = format!("store t.csv --target y --stored u8 --out {out}");
        let error = place.run(&store).error(1);
        assert!(error.contains("but must be a"), "{out}: {error}");
        assert_eq!(place.files("."), before, "{out}");
    }
    // Where a link leads to rows, those are written, and the link stays.
    place.run("store t.csv --target y --out rows").well();
    symlink(place.path("rows"), place.path("to")).unwrap();
    place.run("store t.csv --target y --stored f64 --out to").well();
    assert!(fs::symlink_metadata(place.path("to")).unwrap().is_symlink());
    assert_eq!(RowFile::open(place.path("rows")).unwrap().stored(), &Stored::F64);
    // Another process is writing.
    let writer = RowFile::create(place.path("rows"), Stored::F64).unwrap();
    let error = place.run("store t.csv --target y --out rows").error(1);
    assert!(error.contains("another process is writing this file"), "{error}");
    assert!(place.path("rows.part").exists());
    drop(writer);
    place.run("store t.csv --target y --out rows").well();
}
