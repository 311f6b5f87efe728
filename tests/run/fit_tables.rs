//! Tables of fits: what is wrong with one, the names of rows, columns and classes, and tables that were no file.

use std::fmt::Write;
use std::fs;
use std::sync::{Arc, Mutex};

use bnn_mcmc::data::{ColumnType, CsvReader, Schema, TypedTable, Value};
use bnn_mcmc::fit::{Fit, Told, WeightPrior};
use bnn_mcmc::prelude::*;
use ndarray::{Array2, array, s};
use shared::refused;
use tempfile::TempDir;

use crate::fit::{recipe, training_file};

/// A label that only a row of weight 0 has, an hour whose cosine is one number: features that a table makes of a column have no
/// effect where they are constant. Of a column none of whose features differs, the column is named.
#[test]
fn what_is_derived_of_a_column_and_constant_has_no_effect() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let read = |rows: &dyn Fn(usize) -> [String; 3], told: &mut Vec<String>| {
        let mut text = String::from("at,kind,w,y\n");
        for i in 0..30 {
            let [at, kind, weight] = rows(i);
            writeln!(text, "{at},{kind},{weight},{}", ((i * 7) % 11) as f64 / 10.0).unwrap();
        }
        fs::write(&path, text).unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let listener = lines.clone();
        let recipe = Fit::regression("y").hidden(&[]).row_weights("w").chains(1).warmup(50);
        let recipe = recipe.draws(20).on_progress(move |news| {
            if let Told::Line(line) = news {
                listener.lock().unwrap().push(line.to_string());
            }
        });
        let fit = recipe.read_csv(&path);
        *told = lines.lock().unwrap().clone();
        fit
    };
    let mut told = Vec::new();
    let hour = |i: usize| ["08:00", "16:00"][i % 2].to_string();
    let kind = |i: usize| ["a", "b"][i / 15].to_string();
    let rare = |i: usize| match i {
        3 => [hour(i), "c".into(), "0".into()],
        _ => [hour(i), kind(i), "1".into()],
    };
    let fit = read(&rare, &mut told).unwrap();
    assert_eq!(
        told[..2],
        [
            "`at hour cos` is the same in all rows: it has no effect",
            "`kind=c` is the same in all rows: it has no effect",
        ]
    );
    // Half an hour later is half an hour away.
    fs::write(&path, "at,kind\n08:00,a\n08:30,a\n").unwrap();
    let new = fit.predict_csv(&path).unwrap();
    let mean = |row: usize| new.predictions.mean().slice(s![.., .., row, 0]).mean().unwrap();
    assert!((mean(0) - mean(1)).abs() < 1.0, "{} {}", mean(0), mean(1));

    let dates = |i: usize| [format!("{}-01-01", 1990 + i), kind(i), "1".into()];
    let fit = read(&dates, &mut told).unwrap();
    assert_eq!(fit.data().feature_names()[..2], ["at years", "kind=a"]);
    let alone =
        |i: usize| [hour(i), ["a", "b"][usize::from(i == 3)].into(), u8::from(i != 3).to_string()];
    refused!(
        read(&alone, &mut told),
        Table { table: "column `kind`", problem: "constant (1) over all 29 rows" }
    );
}

#[test]
fn a_wrong_table_is_an_error_that_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let read = |text: &str| {
        fs::write(&path, text).unwrap();
        Fit::regression("strength").read_csv(&path)
    };
    refused!(read(""), Table { problem: "the file is empty" });
    let header = "there is a header, but no row below it";
    refused!(read("age,strength\n"), Table { problem: header });
    refused!(read("age,weight\n1,2\n"), UnknownName { name: "strength" });
    refused!(
        read("age,strength\n1,2\n1,3\n"),
        Table { table: "column `age`", problem: "constant (1) over all 2 rows" }
    );
    refused!(
        read("age,strength\n1,2\n2,2\n"),
        Table { table: "column `strength`", problem: "constant (2) over all 2 rows" }
    );
    let row = "line 3";
    refused!(read("age,strength\n1,2\n2,\n"), Shape { what: "training rows", found: "1" });
    refused!(read("age,strength\n1,2\nx,3\n"), Cell { row: row, column: "age" });
    let problem = "`inf` is not a finite number";
    refused!(read("age,strength\n1,2\n2,inf\n"), Cell { row: row, problem: problem });
    let data = Dataset::regression(array![[0.0], [1.0], [2.0]], array![0.0, 2.0, 1.0]).unwrap();
    for (recipe, name, value) in [
        (Fit::regression("y").validation(1.0), "validation", "1"),
        (Fit::regression("y").validation(f64::NAN), "validation", "NaN"),
        (Fit::regression("y").chains(0), "chains", "0"),
        (Fit::regression("y").hidden(&[0]), "sizes", "[1, 0, 1]"),
        (
            Fit::regression("y").weights(WeightPrior::Normal { sd: -1.0 }),
            "sd of the normal prior",
            "-1",
        ),
    ] {
        refused!(recipe.fit(&data), Argument { name: name, value: value });
    }
    let what = "response for the Bernoulli likelihood";
    refused!(Fit::classification("y").fit(&data), Shape { what: what });
    let fit = Fit::regression("y").hidden(&[]).warmup(20).draws(20).fit(&data).unwrap();
    assert!(fit.predict_new(Array2::zeros((2, 3)).view()).is_err());
    assert!(fit.predict_new(array![[f64::NAN]].view()).is_err());
}

/// Rows are named by their line in the file, also after a split, a blank line, rows left out, and loading.
#[test]
fn rows_of_a_fit_know_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = training_file(folder.path());
    let text = fs::read_to_string(&path).unwrap().replacen("\n5,", "\n\n5,", 1);
    fs::write(&path, &text).unwrap();
    let run = folder.path().join("run");
    let recipe = recipe().validation(0.25).chains(1).warmup(20).draws(10).in_folder(&run);
    let fit = recipe.read_csv(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for fit in [&fit, &Fit::load(&run).unwrap()] {
        let (train, kept) = (fit.training(), fit.validation().unwrap());
        let named = (0..train.rows()).map(|row| (train, row, fit.training_row_name(row)));
        let kept = (0..kept.rows()).map(|row| (kept, row, fit.validation_row_name(row)));
        let all: Vec<_> = named.chain(kept).collect();
        assert_eq!(all.len(), 57);
        for (rows, row, name) in all {
            let line: usize = name.strip_prefix("line ").unwrap().parse().unwrap();
            let strength = rows.real().unwrap()[(row, 0)];
            assert!(lines[line - 1].ends_with(&format!(",{strength}")), "{name}: {strength}");
        }
    }
    // A folder of an earlier version, which did not keep them: the checksum is of what stands there.
    let json = run.join("fit.json");
    let text = fs::read_to_string(&json).unwrap();
    let start = text.find("\n  \"lines\": {").unwrap();
    let end = start + text[start..].find("\n  },").unwrap() + "\n  },".len();
    let without = format!("{}{}", &text[..start], &text[end..]);
    let mut is_inside = false;
    let compact: String = without
        .chars()
        .filter(|c| {
            is_inside ^= *c == '"';
            is_inside || !c.is_whitespace()
        })
        .collect();
    let (rest, _) = compact.rsplit_once(':').unwrap();
    let crc32 = crc32fast::hash(format!("{rest}:0}}").as_bytes());
    let (rest, _) = without.rsplit_once(':').unwrap();
    fs::write(&json, format!("{rest}: {crc32}\n}}\n")).unwrap();
    let old = Fit::load(&run).unwrap();
    assert!(old.lines().is_none() && old.draws() == fit.draws());
    assert_eq!(old.training_row_name(3), format!("row {}", fit.split().unwrap().train[3]));
    // Of a data set that is of no file: places in it.
    let given = fit.data().clone();
    let fit = self::recipe().validation(0.25).chains(1).warmup(20).draws(10).fit(&given).unwrap();
    let place = fit.split().unwrap().train[3];
    assert_eq!(fit.training_row_name(3), format!("row {place}"));
    assert_eq!(fit.training().x().row(3), given.x().row(place));
}

/// Names of classes and columns that a spreadsheet takes for formulas are guarded wherever they are written,
/// and read as they were.
#[test]
fn names_that_begin_as_formulas_are_guarded() {
    let folder = tempfile::tempdir().unwrap();
    let x = Array2::from_shape_fn((30, 2), |(i, j)| ((i * 7 + j * 5) % 11) as f64);
    let classes = ["=HYPERLINK(\"x\")", "-1", "+a", "\tb", "plain"];
    let data = Dataset::classification(x, (0..30).map(|i| i % 5).collect(), classes).unwrap();
    let data = data.with_feature_names(["=a", "@b"]).unwrap();
    let run = folder.path().join("run");
    let fit = Fit::classification("class").hidden(&[2]).chains(1).warmup(10).draws(5);
    let fit = fit.in_folder(&run).fit(&data).unwrap();
    let mut bytes = Vec::new();
    fit.predict(&data).unwrap().write_csv(&mut bytes).unwrap();
    fit.draws().summary().unwrap().write_csv(&mut Vec::new()).unwrap();
    let rows = fs::read(run.join("data.csv")).unwrap();
    let mut names = std::collections::BTreeSet::new();
    for (file, column) in [(&bytes, 1), (&rows, 2)] {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&file[..]);
        for record in reader.records() {
            let record = record.unwrap();
            for cell in &record {
                let is_number = cell.parse::<f64>().is_ok();
                assert!(is_number || !cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{cell}");
            }
            names.insert(bnn_mcmc::data::unguarded(&record[column]).to_owned());
        }
    }
    assert!(classes.iter().all(|class| names.contains(*class)), "{names:?}");
    let loaded = Fit::load(&run).unwrap();
    assert_eq!(loaded.data(), &data);
    // Draws whose parameters have such names.
    let layout = bnn_mcmc::layout::Layout::new().with("=q", &[]).with("'=q", &[]);
    let draws = Draws::new(layout, ndarray::Array3::ones((1, 2, 2))).unwrap();
    let mut bytes = Vec::new();
    draws.write_csv(&mut bytes).unwrap();
    assert!(bytes.starts_with(b"chain,draw,'=q,''=q\n"));
    let back = Draws::read_csv(&bytes[..], "draws").unwrap();
    assert_eq!(back.layout().parameter_names(), ["=q", "'=q"]);
}

/// A table that was no file, with the schema that says how files are read like it, is the fit of the file
/// that holds the same rows; written without flushing, it is the same folder.
#[test]
fn a_fit_of_a_table_reads_files_like_it() {
    let folder = TempDir::new().unwrap();
    let recipe = Fit::regression("y").hidden(&[3]).chains(2).warmup(20).draws(10).seed(1);
    let mut text = String::from("kind,x,y\n");
    for i in 0..30 {
        writeln!(text, "{},{},{}", ["b", "a"][i % 2], i % 7, i * i % 11).unwrap();
    }
    let file = folder.path().join("table.csv");
    fs::write(&file, text).unwrap();
    let read = CsvReader::regression("y").header().read_path(&file).unwrap();
    let of_file = recipe.fit_like(&read.dataset, &read.schema).unwrap();
    let mut table = TypedTable::of_frame("X");
    table.add_column("kind", ColumnType::Labels, ["a", "b"].map(Value::Text));
    table.add_column("x", ColumnType::Numbers, [0.0, 1.0].map(Value::Number));
    let learnt = Schema::of_features(&CsvReader::regression("y"), &table, None).unwrap();
    let schema = learnt.schema.with_response(CsvReader::regression("y"), None).unwrap();
    let of_table = recipe.fit_like(&read.dataset, &schema).unwrap();
    let predicted =
        |fit: &Fit| fit.predict_csv(&file).unwrap().predictions.posterior_mean().unwrap();
    assert_eq!(predicted(&of_table), predicted(&of_file));
    of_table.save(folder.path().join("saved")).unwrap();
    of_table.save_unflushed(folder.path().join("unflushed")).unwrap();
    for name in ["fit.json", "data.csv", "verdict.txt"] {
        let bytes = |parent: &str| fs::read(folder.path().join(parent).join(name)).unwrap();
        assert_eq!(bytes("saved"), bytes("unflushed"), "{name}");
    }
    let loaded = Fit::load(folder.path().join("unflushed")).unwrap();
    assert_eq!(predicted(&loaded), predicted(&of_table));
    assert_eq!(loaded.schema(), Some(&schema));
    assert!(of_table.save_unflushed(folder.path().join("unflushed")).is_err(), "it is not empty");
    // Features of another name, and too few of them.
    let other = read.dataset.clone().with_feature_names(["kind=a", "kind=c", "x"]).unwrap();
    assert!(matches!(recipe.fit_like(&other, &schema), Err(Error::Argument { .. })));
    let few = Dataset::regression(array![[1.0], [0.0]], array![1.0, 2.0]).unwrap();
    let few = few.with_feature_names(["kind=a"]).unwrap();
    assert!(matches!(recipe.fit_like(&few, &schema), Err(Error::Shape { .. })));
}
