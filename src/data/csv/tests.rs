use ndarray::array;

use super::*;
use crate::error::Row;
use crate::error::checks::fails;
use crate::message::Advice;
use crate::rng::Anything;

const FLOWERS: &str = "length,width,kind\n1.5,2,rose\n-1e1,+.5,Lily\n3,4.,rose\n";

fn parsed(reader: &CsvReader, text: &str) -> Result<CsvData, Error> {
    reader.read(text.as_bytes())
}

fn message(reader: &CsvReader, text: &str) -> String {
    reader.read(text.as_bytes()).unwrap_err().to_string()
}

fn kind() -> CsvReader {
    CsvReader::classification("kind")
}

fn y() -> CsvReader {
    CsvReader::regression("y")
}

#[test]
fn a_plain_table_is_read() {
    let data = kind().read(FLOWERS.as_bytes()).unwrap();
    let set = &data.dataset;
    assert_eq!(set.feature_names(), ["length", "width"]);
    assert_eq!(set.response_names(), ["kind"]);
    assert_eq!(set.response().class_names().unwrap(), ["Lily", "rose"]);
    assert_eq!(set.classes().unwrap(), [1, 0, 1]);
    assert_eq!(set.x().row(1).to_vec(), [-10.0, 0.5]);
    assert!(data.dropped.is_empty());
    assert_eq!(data.schema.class_names().unwrap(), ["Lily", "rose"]);
}

#[test]
fn byte_order_mark_line_ends_blank_lines_and_quotation_marks_do_no_harm() {
    let expected = kind().read(FLOWERS.as_bytes()).unwrap().dataset;
    for text in [
        format!("\u{FEFF}{FLOWERS}"),
        FLOWERS.replace('\n', "\r\n"),
        FLOWERS.replace('\n', "\r"),
        FLOWERS.replace('\n', "\n  \n\n"),
        format!("\n{}", FLOWERS.trim_end()),
        FLOWERS.replace(',', " , "),
        FLOWERS.replace("rose", " \"rose\" ").replace("kind", "\"kind\""),
    ] {
        assert_eq!(kind().read(text.as_bytes()).unwrap().dataset, expected, "{text:?}");
    }
    for (delimiter, with) in [(b';', ";"), (b'\t', "\t"), (b' ', " "), (b'|', "|")] {
        let text = FLOWERS.replace(',', with);
        let read = kind().delimiter(delimiter).read(text.as_bytes()).unwrap().dataset;
        assert_eq!(read, expected);
        let read = kind().detect_delimiter().read(text.as_bytes()).unwrap().dataset;
        assert_eq!(read, expected);
    }
    // A trailing tab ends an empty cell, it is no blank to be stripped.
    let tabs = "a\tkind\t\n1\tx\t\n2\ty\t\n";
    fails!(parsed(&kind().delimiter(b'\t'), tabs), Table { problem: "column 3 has no name" });
    for blanks in ["   ", " \t "] {
        let text = FLOWERS.replace(',', blanks).replace('\n', " \r\n  ");
        assert_eq!(kind().whitespace().read(text.as_bytes()).unwrap().dataset, expected);
    }
}

#[test]
fn quoted_cells_hold_delimiters_and_quotation_marks() {
    let text = "\"a, b\",kind\n1,\"x, y\"\n2,\"say \"\"z\"\"\"\n";
    let data = kind().read(text.as_bytes()).unwrap().dataset;
    assert_eq!(data.feature_names(), ["a, b"]);
    assert_eq!(data.response().class_names().unwrap(), ["say \"z\"", "x, y"]);
    let data = kind().whitespace().read("\"a b\" kind\n1 x\n2 \"y z\"\n".as_bytes()).unwrap();
    assert_eq!(data.dataset.feature_names(), ["a b"]);
}

#[test]
fn mixed_line_ends_are_errors_and_drop_no_row() {
    let text = "x,kind\n1,a\r3,b\n5,a\n7,b\n";
    let expected =
        "input: line 2: a carriage return inside the line (are line ends mixed?): `1,a\\r3,b`";
    assert_eq!(message(&kind(), text), expected);
    // CRLF here and LF there is harmless.
    let text = "x,kind\r\n1,a\n3,b\r\n5,a\n";
    assert_eq!(kind().read(text.as_bytes()).unwrap().dataset.rows(), 3);
}

#[test]
fn quotation_marks_that_swallow_lines_are_errors() {
    assert_eq!(
        message(&kind(), "a,kind\n1,\"x\n2,y\n3,z\n"),
        "input: line 2: a quotation mark is not closed on its line: `1,\\\"x`"
    );
    // The mark in the middle of a cell is none; the one after the comma is never closed.
    assert_eq!(
        message(&kind(), "a,kind\n1\"0,\"x\n2,y\n"),
        "input: line 2: a quotation mark is not closed on its line: `1\\\"0,\\\"x`"
    );
}

#[test]
fn the_response_is_named_or_counted_and_columns_without_header_have_numbers() {
    let text = "1 2 3\n4 5 7\n";
    let reader = |columns: Columns| CsvReader::regression(columns).no_header().whitespace();
    let last = reader(Columns::Last).read(text.as_bytes()).unwrap().dataset;
    assert_eq!(last.feature_names(), ["#1", "#2"]);
    assert_eq!(last.real().unwrap().column(0).to_vec(), [3.0, 7.0]);
    assert_eq!(reader(2.into()).read(text.as_bytes()).unwrap().dataset, last);
    assert_eq!(reader("#3".into()).read(text.as_bytes()).unwrap().dataset, last);
    let two = reader(["#3", "#1"].into()).read(text.as_bytes()).unwrap().dataset;
    assert_eq!(two.response_names(), ["#3", "#1"]);
    assert_eq!(two.real().unwrap().row(1).to_vec(), [7.0, 4.0]);
    assert_eq!(
        message(&reader(3.into()), text),
        "`position of the response` is 3, but must be 0 to 2"
    );
    assert_eq!(
        message(&kind(), "a,b\n1,2\n"),
        "there is no column of input named `kind`; there are: `a`, `b`"
    );
    let twice = reader(["#1", "#1"].into());
    fails!(parsed(&twice, text), Argument { name: "response", value: "column `#1`" });
    let two = parsed(&CsvReader::classification(["a", "b"]), "a,b\n1,2\n");
    fails!(two, Argument { name: "response", value: "2 columns" });
}

#[test]
fn files_without_rows_are_told_apart() {
    for (text, end) in [
        ("", "input: the file is empty"),
        ("\n \r\n", "input: the file is empty"),
        ("\n\u{feff}", "input: the file is empty"),
        ("a,kind\n", "input: there is a header, but no row below it"),
        (
            "a;kind\n1;2\n",
            "the first row has a single column, `a;kind`: is another delimiter used?",
        ),
        ("kind\nx\n", "the first row has a single column, `kind`: is another delimiter used?"),
    ] {
        assert!(message(&kind(), text).ends_with(end), "{}", message(&kind(), text));
    }
}

#[test]
fn headers_that_cannot_be_right_are_errors() {
    let iris = "5.1,3.5,setosa\n4.9,3.0,virginica\n";
    assert_eq!(
        message(&CsvReader::classification(Columns::Last), iris),
        "input: the header has a number for a name, `5.1`: say `CsvReader::no_header` if \
         there is no header, or say `CsvReader::header` if this is a name"
    );
    let years = CsvReader::regression("y").header().read("2019,2020,y\n1,2,3\n".as_bytes());
    assert_eq!(years.unwrap().dataset.feature_names(), ["2019", "2020"]);
    assert_eq!(message(&y(), "a,y,a\n1,2,3\n"), "input: columns 1 and 3 have the same name, `a`");
    assert_eq!(
        message(&y(), ",a,y\n1,2,3\n"),
        "input: column 1 has no name: name it, or leave it out by `CsvReader::ignore([\"#1\"])`"
    );
    let data = y().ignore(["#1"]).read(",a,y\n1,2,3\n".as_bytes()).unwrap();
    assert_eq!(data.dataset.feature_names(), ["a"]);
    fails!(parsed(&y().no_header(), "a,y\n1,2\n"), UnknownName { name: "y" });
    let last = CsvReader::regression(Columns::Last).no_header();
    let message = last.read("a,y\n1,2\n".as_bytes()).unwrap_err().to_string();
    assert_eq!(message, "input, line 1, column `#1`: `a` is not a number: is this row a header?");
}

#[test]
fn rows_of_another_length_are_named() {
    assert_eq!(
        message(&y(), "a,y\n1,2\n\n1,2,3\n"),
        "input: line 4 has 3 cells, but the header has 2"
    );
    assert_eq!(
        message(&CsvReader::regression(Columns::Last).no_header(), "1,2\n1\n"),
        "input: line 2 has 1 cell, but the first row has 2"
    );
}

#[test]
fn bad_numbers_are_named_with_row_and_column() {
    let labels = Advice::Categorical { column: "a".into(), if_labels: true };
    for (text, row, column, expected, advised) in [
        ("a,y\n1,2\nlong,3\n", 3, "a", "`long` is not a number", Some(labels.clone())),
        ("a,y\n1,2\ninf,3\n", 3, "a", "`inf` is not a finite number", None),
        ("a,y\n1,2\n1e999,3\n", 3, "a", "`1e999` is not a finite number", None),
        ("a,y\n\"1,5\",2\n", 2, "a", "`1,5` is not a number", Some(Advice::DecimalMark)),
        ("a,y\n1,x\n", 2, "y", "`x` is not a number", Some(Advice::ReadClasses)),
        (
            "a,y\n2,2\n1\u{0}\u{1b}[0m,1\n",
            3,
            "a",
            "`1\\0\\u{1b}[0m` is not a number",
            Some(labels.clone()),
        ),
    ] {
        let found = parsed(&y(), text);
        let Err(Error::Cell { row: r, column: c, problem, advice, .. }) = found else {
            panic!("{found:?}")
        };
        assert_eq!((r, &c[..], &problem[..]), (Row::Line(row), column, expected));
        assert_eq!(advice, Vec::from_iter(advised), "{expected}");
    }
    let long = message(&y(), &format!("a,y\n1,{}\n", "x".repeat(1000)));
    assert!(long.len() < 200, "{long}");
}

#[test]
fn bytes_that_are_no_text_are_errors() {
    let error = y().read(&b"a,y\n1,2\ncaf\xE9,3\n"[..]).unwrap_err().to_string();
    let expected = "input: line 3 is not UTF-8 text (byte 0xe9): save it as UTF-8, or say `Charset::Latin1` if it is \
                    Latin-1";
    assert_eq!(error, expected);
    // Latin-1 by its name, UTF-16 by its mark, of both orders of bytes, and not half of a character.
    let levels = |read: Result<CsvData, Error>| read.unwrap().schema.levels("a").unwrap().to_vec();
    let text = "a,y\ncaf\u{e9},1\n\u{20ac}5,2\n";
    let expected = ["caf\u{e9}", "\u{20ac}5"];
    let latin = y().charset(Charset::Latin1);
    assert_eq!(levels(latin.read(&b"a,y\ncaf\xE9,1\n\x805,2\n"[..])), expected);
    assert_eq!(levels(latin.read(format!("\u{feff}{text}").as_bytes())), expected, "by its mark");
    let units: Vec<u16> = format!("\u{feff}{text}").encode_utf16().collect();
    let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    assert_eq!(levels(y().read(&little[..])), expected);
    assert_eq!(levels(y().read(&big[..])), expected);
    let half = y().read(&little[..little.len() - 1]);
    fails!(half, Table { problem: "the file is not UTF-16LE text" });
}

#[test]
fn delimiters_that_cannot_work_are_errors() {
    for byte in [b'"', b'\n', b'\r', 0xC3] {
        assert!(message(&y().delimiter(byte), "a,y\n1,2\n").starts_with("`delimiter` is byte"));
    }
}

#[test]
fn missing_values_are_reported_or_dropped_openly() {
    let text = "a,b,y\n1,x,1\n2,,2\nNA,?,3\n4,x,nan\n5,z,5\n";
    let data = y().drop_missing_rows().read(text.as_bytes()).unwrap();
    assert_eq!(data.dropped, [3, 4, 5]);
    assert_eq!(data.dataset.feature_names(), ["a", "b=x", "b=z"]);
    assert_eq!(data.dataset.rows(), 2);
    // An ignored column may lack what it likes.
    let data = y().ignore(["b"]).drop_missing_rows().read(text.as_bytes()).unwrap();
    assert_eq!(data.dropped, [4, 5]);
    let own = y().missing(["-999"]);
    let row = "line 3";
    let filled = parsed(&own, "a,y\n1,2\n-999,3\n").unwrap();
    assert_eq!(filled.dataset.x(), &array![[1.0, 0.0], [1.0, 1.0]]);
    fails!(parsed(&own, "a,y\n1,2\nNA,3\n"), Cell { row: row, problem: "`NA` is not a number" });
    fails!(parsed(&own, "a,y\n1,2\n,3\n"), Cell { row: row, problem: "`` is not a number" });
    let none = parsed(&y().drop_missing_rows(), "a,y\n,2\n1,\n");
    fails!(none, Table { problem: "missing values leave no row: 2 in all, in 2 of 2 rows" });
    fails!(
        parsed(&y(), "a,y\n1,NA\n2,?\n"),
        Table { problem: "missing values leave no row: 2 in all, in 2 of 2 rows" }
    );
}

/// The median stands in for a missing number, no label for a missing label, and one feature says so; in new
/// rows the same numbers stand in, though nothing was missing in training, and new labels do no harm.
#[test]
fn missing_values_and_unknown_levels_have_something_that_stands_in_for_them() {
    let text = "a,b,c,y\n1,x,1,1\n,x,2,2\n7,?,3,3\n3,z,4,NA\n2,z,5,5\n5,z,6,6\n";
    let data = y().read(text.as_bytes()).unwrap();
    assert_eq!(data.dropped, [5]);
    let names = ["a", "a is missing", "b=x", "b=z", "b is missing", "c"];
    assert_eq!(data.dataset.feature_names(), names);
    assert_eq!(data.schema.columns_of_features(), ["a", "a", "b", "b", "b", "c"]);
    // The median of 1, 7, 2 and 5.
    let x = array![
        [1.0, 0.0, 1.0, 0.0, 0.0, 1.0],
        [3.5, 1.0, 1.0, 0.0, 0.0, 2.0],
        [7.0, 0.0, 0.0, 0.0, 1.0, 3.0],
        [2.0, 0.0, 0.0, 1.0, 0.0, 5.0],
        [5.0, 0.0, 0.0, 1.0, 0.0, 6.0],
    ];
    assert_eq!(data.dataset.x(), &x);
    let said: Vec<String> = data.stand_ins.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "`a` has no value in 1 row: the median 3.5 stands there, and `a is missing` is 1 there",
            "`b` has no value in 1 row: `b is missing` is 1 there"
        ]
    );
    // New rows, by a schema that was stored.
    let stored = serde_json::to_string(&data.schema).unwrap();
    let schema: Schema = serde_json::from_str(&stored).unwrap();
    let new = schema.read_features("c,b,a\n,w,\n9,v,4\n8,w,NA\n".as_bytes()).unwrap();
    let x = array![
        [3.5, 1.0, 0.0, 0.0, 0.0, 3.0],
        [4.0, 0.0, 0.0, 0.0, 0.0, 9.0],
        [3.5, 1.0, 0.0, 0.0, 0.0, 8.0],
    ];
    assert_eq!(new.x, x);
    let said: Vec<String> = new.stand_ins.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "`a` has no value in 2 rows: the median 3.5 stands there, and `a is missing` is 1 there",
            "`c` has no value in 1 row: the median 3 stands there",
            "`b` has labels in 3 rows that the training file does not have: `w`, `v`"
        ]
    );
    // The other encodings.
    let encoded = |encoding, text: &str| {
        let data = y().encoding(encoding).read(text.as_bytes()).unwrap();
        let new = data.schema.read_features("b\n?\nw\nq\n".as_bytes()).unwrap();
        (data.dataset.feature_names().to_vec(), new.x)
    };
    let labels = "b,y\nx,1\nw,2\nv,3\n,4\n";
    let (names, x) = encoded(Encoding::DropFirst, labels);
    assert_eq!(names, ["b=w", "b=x", "b is missing"]);
    assert_eq!(x, array![[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]);
    let (names, x) = encoded(Encoding::Codes, labels);
    assert_eq!(names, ["b", "b is missing"]);
    assert_eq!(x, array![[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]]);
    // Schemas of earlier versions know of nothing that could stand in.
    let mut old: serde_json::Value = serde_json::from_str(&stored).unwrap();
    for column in old["columns"].as_array_mut().unwrap() {
        column.as_object_mut().unwrap().remove("missing");
    }
    let old: Schema = serde_json::from_value(old).unwrap();
    let problem = "missing value (``); 1 in all, in 1 of 1 row";
    let found = old.read_features("a,b,c\n,x,1\n".as_bytes());
    fails!(found, Cell { row: "line 2", column: "a", problem: problem });
    let problem = "`w` is not among the levels of the training file: x, z";
    let found = old.read_features("a,b,c\n1,w,1\n".as_bytes());
    fails!(found, Cell { row: "line 2", column: "b", problem: problem });
    // Columns that are missing altogether, and flags that are there or not.
    let problem = "column `a` has no value in any row";
    fails!(parsed(&y(), "a,y\n,1\n?,2\n"), Table { problem: problem });
    let flag = y().read("a,y\nyes,1\n,2\nyes,3\n".as_bytes()).unwrap();
    assert_eq!(flag.dataset.x(), &array![[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]);
}

/// Of 06:00 and 18:00 one cosine, of 05:00 and 07:00 one sine, to the bit: what a column does not vary in is constant.
#[test]
fn times_that_mirror_one_another_have_the_same_numbers() {
    let dates = Dates::of([0.0, 1.0], true);
    let at = |seconds: usize| {
        let mut x = Vec::new();
        dates.push(seconds as f64, &mut x);
        [x[0], x[1]]
    };
    for second in 0..=43_200 {
        let ([sin, cos], [of_sin, of_cos]) = (at(second), at((86_400 - second) % 86_400));
        assert_eq!((-sin, cos), (of_sin, of_cos), "{second}");
        let ([sin, cos], [of_sin, of_cos]) = (at(second), at(43_200 - second));
        assert_eq!((sin, -cos), (of_sin, of_cos), "{second}");
        let angle = std::f64::consts::TAU * second as f64 / 86_400.0;
        assert!((sin - angle.sin()).abs() < 1e-15 && (cos - angle.cos()).abs() < 1e-15);
    }
}

/// The reference values are Python's `datetime`.
#[test]
fn dates_become_elapsed_time_season_weekday_and_hour() {
    let text = "at,y\n2023-01-01,1\n2024-02-29,2\n2025-03-01T18:00:00Z,3\n,4\n";
    let data = y().read(text.as_bytes()).unwrap();
    let names = [
        "at years",
        "at season sin",
        "at season cos",
        "at=Thursday",
        "at=Saturday",
        "at=Sunday",
        "at hour sin",
        "at hour cos",
        "at is missing",
    ];
    assert_eq!(data.dataset.feature_names(), names);
    assert_eq!(data.schema.columns_of_features(), ["at"; 9]);
    let x = array![
        [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0],
        [1.1608725709631273, 0.848351197812304, 0.5294338912181852, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        [2.1649999657761625, 0.8565509959010036, 0.5160623910158528, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0],
        [1.1608725709631273, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    ];
    let largest = (data.dataset.x() - &x).iter().fold(0.0, |m: f64, d| m.max(d.abs()));
    assert!(largest < 1e-12, "{}", data.dataset.x());
    // New rows in another file, by a schema that was stored, before the first one in training.
    let stored = serde_json::to_string(&data.schema).unwrap();
    let schema: Schema = serde_json::from_str(&stored).unwrap();
    assert_eq!(schema, data.schema);
    let new = schema.read_features("at\n2023-01-01\n2022-01-01\n".as_bytes()).unwrap();
    assert_eq!(new.x.row(0), data.dataset.x().row(0));
    assert!((new.x[[1, 0]] + 365.0 / 365.2425).abs() < 1e-14);
    let problem = "`1 May 2024` is no date as the training file has";
    let other = schema.read_features("at\n1 May 2024\n".as_bytes());
    fails!(other, Cell { row: "line 2", column: "at", problem: problem });
    // What does not vary, or says nothing, is no feature.
    let names = |cells: &[&str]| {
        let text: String = cells.iter().map(|cell| format!("\"{cell}\",1\n")).collect();
        let data = parsed(&y(), &format!("d,y\n{text}")).unwrap();
        data.dataset.feature_names().join("; ")
    };
    assert_eq!(names(&["2024-05", "2024-06", "2024-08"]), "d years");
    assert_eq!(names(&["1.5.2024", "2.5.2024", "12.5.2024"]), "d years");
    assert_eq!(names(&["01.05.24", "02.05.24", "15.05.24"]), "d years; d=Wednesday; d=Thursday");
    assert_eq!(names(&["May 1, 2024", "June 1, 2026"]), "d years; d season sin; d season cos");
    assert_eq!(names(&["10:30", "23:59", "0:10"]), "d hour sin; d hour cos");
    assert_eq!(names(&["10:30 PM", "11:59 AM"]), "d hour sin; d hour cos");
    for cells in ["13.01.24", "13.01.2024", "1/13/24", "01/13/2024", "13-Jan-24", "2024/1/13"] {
        let data = parsed(&y(), &format!("d,y\n{cells},1\n")).unwrap();
        assert_eq!(data.schema.in_words()[0].1, "dates: years since 2024-01-13", "{cells}");
    }
    let clock = y().read("d,y\n6:00,1\n?,2\n12:00:00,3\n".as_bytes()).unwrap();
    let x = array![[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]];
    assert!((clock.dataset.x() - &x).iter().all(|d| d.abs() < 1e-15));
}

#[test]
fn dates_that_may_be_two_days_are_refused() {
    let of = |cells: [&str; 3], order: DateOrder| {
        let text: String = cells.iter().map(|cell| format!("{cell},1\n")).collect();
        let data = parsed(&y().date_order(order), &format!("d,y\n{text}"))?;
        Ok(data.dataset.x().column(0).mapv(|years| (years * 365.2425).round()).to_vec())
    };
    use DateOrder::{Auto, DayFirst, MonthFirst};
    // One cell tells.
    assert_eq!(of(["1/2/2024", "2/2/2024", "13/2/2024"], Auto).unwrap(), [0.0, 1.0, 12.0]);
    assert_eq!(of(["1/2/2024", "2/2/2024", "2/13/2024"], Auto).unwrap(), [0.0, 31.0, 42.0]);
    let open = ["1/2/2024", "2/2/2024", "3/3/2024"];
    assert_eq!(of(open, DayFirst).unwrap(), [0.0, 1.0, 31.0]);
    assert_eq!(of(open, MonthFirst).unwrap(), [0.0, 31.0, 61.0]);
    let Err(Error::Cell { row: Row::Line(2), column, problem, advice, .. }) = of(open, Auto) else {
        panic!("accepted")
    };
    let expected = "`1/2/2024` may be 1 February 2024 or 2 January 2024, and no cell of the column tells which";
    assert_eq!((&column[..], &problem[..]), ("d", expected));
    assert_eq!(advice, [Advice::DateOrder]);
    // What is the same in both orders tells nothing.
    let Err(Error::Cell { row, problem, .. }) = of(["1/1/2024", "1/2/2024", "2/2/2024"], Auto)
    else {
        panic!("accepted")
    };
    assert_eq!((row, &problem[..]), (Row::Line(3), expected));
    let Err(Error::Cell { problem, .. }) = of(["1/1/2024", "2/2/2024", "3/3/2024"], Auto) else {
        panic!("accepted")
    };
    assert!(problem.contains("may have the day first or the month first"), "{problem}");
    let problem = "`1/2/2024` is no date in the order that was asked for";
    let wrong = of(["1/2/2024", "2/2/2024", "13/2/2024"], MonthFirst);
    fails!(wrong, Cell { row: "line 2", problem: problem });
    let problem = "`2024-02-01` is not a date that is written as `1.2.2024` is";
    let mixed = of(["1.2.2024", "2.2.2024", "2024-02-01"], Auto);
    fails!(mixed, Cell { row: "line 4", problem: problem });
    let problem = "`31.02.2024` is not a date that is written as `1.2.2024` is";
    fails!(of(["1.2.2024", "31.02.2024", ""], Auto), Cell { row: "line 3", problem: problem });
    let problem = "`31/02/2024` looks like a date, but is none";
    fails!(of(["31/02/2024", "", ""], Auto), Cell { row: "line 2", problem: problem });
    // As labels, if asked for.
    let labels = y().categorical(["d"]).read("d,y\n2024-05-01,1\n2024-05-02,2\n".as_bytes());
    let names = ["d=2024-05-01", "d=2024-05-02"];
    assert_eq!(labels.unwrap().dataset.feature_names(), names);
}

#[test]
fn labels_may_begin_with_digits() {
    let levels = |cells: [&str; 4]| {
        let text: String = cells.iter().map(|cell| format!("{cell},1\n")).collect();
        parsed(&y(), &format!("a,y\n{text}")).map(|data| data.schema.levels("a").map(<[_]>::len))
    };
    for cells in [
        ["1st", "2nd", "3rd", "1st"],
        ["10th", "11th", "12th", "9th"],
        ["18-24", "25-34", "35-44", "45+"],
        ["1. < HS Grad", "2. HS Grad", "2. HS Grad", "3. College"],
        ["5m", "5kg", "5", "x"].map(|cell| if cell == "5" { "6m" } else { cell }),
    ] {
        assert!(levels(cells).unwrap().is_some_and(|n| n >= 3), "{cells:?}");
    }
    let problem = "column `a` holds numbers with a unit, such as `11%`";
    fails!(levels(["12%", "11%", "13%", "12%"]), Table { problem: problem });
    let of = |cells: &str| found(&y(), &format!("a,y\n{cells}"));
    let unit = Finding::Unit { column: "a".into(), cell: "11 kg".into() };
    assert_eq!(of("12 kg,1\n11 kg,2\n"), [unit]);
    // Numbers in another writing are none of these.
    for cell in ["1 200", "1_000", "1.200.300"] {
        let problem = format!("`{cell}` is not a number");
        fails!(levels([cell, cell, "3_0", "4_0"]), Cell { row: "line 2", problem: &problem });
    }
    // Many labels for the rows that there are.
    let text = |kinds: usize| rows("part,y", 30, |i| format!("p{},{i}", i % kinds));
    assert!(parsed(&y(), &text(15)).is_ok());
    let problem = "column `part` holds text of 16 kinds in 30 rows";
    fails!(parsed(&y(), &text(16)), Table { problem: problem });
    let many = Finding::ManyLabels { column: "part".into(), labels: Some(16), rows: 30 };
    assert_eq!(found(&y(), &text(16)), [many]);
}

#[test]
fn categorical_features_in_all_three_encodings() {
    let text = "a,s,y\n1,M,1\n2,F,2\n3,I,3\n";
    let read = |encoding| y().encoding(encoding).read(text.as_bytes()).unwrap().dataset;
    let one_hot = read(Encoding::OneHot);
    assert_eq!(one_hot.feature_names(), ["a", "s=F", "s=I", "s=M"]);
    assert_eq!(one_hot.x().row(1).to_vec(), [2.0, 1.0, 0.0, 0.0]);
    let drop_first = read(Encoding::DropFirst);
    assert_eq!(drop_first.feature_names(), ["a", "s=I", "s=M"]);
    assert_eq!(drop_first.x().row(1).to_vec(), [2.0, 0.0, 0.0]);
    let codes = read(Encoding::Codes);
    assert_eq!(codes.feature_names(), ["a", "s"]);
    assert_eq!(codes.x().column(1).to_vec(), [2.0, 0.0, 1.0]);
    let named = y().categorical(["a"]).read("a,y\n10,1\n9,2\n".as_bytes()).unwrap();
    assert_eq!(named.dataset.feature_names(), ["a=9", "a=10"]);
    assert_eq!(named.schema.levels("a").unwrap(), ["9", "10"]);
    fails!(parsed(&y().categorical(["z"]), text), UnknownName { name: "z" });
    fails!(
        parsed(&y().categorical(["y"]), text),
        Argument { name: "categorical", value: "column `y`" }
    );
    let one_level = parsed(&y().encoding(Encoding::DropFirst), "a,y\nx,1\nx,2\n");
    fails!(
        one_level,
        Table { problem: "column `a` is `x` in all rows: nothing is left without the first level" }
    );
}

#[test]
fn identifiers_are_not_taken_for_levels() {
    let rows = |n: usize| (0..n).map(|i| format!("id{i},{i},{i}\n")).collect::<String>();
    let text = format!("name,a,y\n{}", rows(51));
    let problem = "column `name` holds text of more than 50 kinds";
    fails!(parsed(&y(), &text), Table { problem: problem });
    assert!(y().ignore(["name"]).read(text.as_bytes()).is_ok());
    let named = y().categorical(["name"]).read(text.as_bytes()).unwrap();
    assert_eq!(named.dataset.n_features(), 52);
}

#[test]
fn classes_are_sorted_by_size_or_alphabetically() {
    let names = |text: &str| {
        let data = kind().read(text.as_bytes()).unwrap().dataset;
        data.response().class_names().unwrap().to_vec()
    };
    assert_eq!(names("a,kind\n1,10\n2,-1\n3,9\n"), ["-1", "9", "10"]);
    assert_eq!(names("a,kind\n1,10\n2,9\n3,x\n"), ["10", "9", "x"]);
    assert_eq!(
        message(&kind(), "a,kind\n1,1\n2,1.0\n"),
        "input: column `kind` has labels that are the same number, `1` and `1.0`: write them \
         in one way"
    );
    assert_eq!(
        message(&kind(), "a,kind\n1,x\n2,x\n"),
        "input: all rows are of one class, `kind` = `x`"
    );
    let many: String = (0..60).map(|i| format!("{i},{i}.5\n")).collect();
    let many = parsed(&kind(), &format!("a,kind\n{many}"));
    fails!(
        many,
        Table { problem: "column `kind` has 60 classes in 60 rows: is this a regression?" }
    );
}

#[test]
fn classes_have_the_order_in_which_they_are_named() {
    let text = "a,kind\n1,good\n2,poor\n3,good\n4,fair\n";
    let reader = kind().classes(["poor", "fair", "good", "best"]);
    let data = reader.read(text.as_bytes()).unwrap();
    assert_eq!(data.dataset.response().class_names().unwrap(), ["poor", "fair", "good"]);
    assert_eq!(data.dataset.classes().unwrap(), [2, 0, 2, 1]);
    let words = data.schema.in_words();
    assert_eq!(
        words[1].1,
        "response, 3 classes; no row has the class `best`, which the model does not have"
    );
    let problem = "column `kind` has the class `fair`, which is not among those that were named: \
                   poor, good";
    fails!(parsed(&kind().classes(["poor", "good"]), text), Table { problem: problem });
    let error = y().classes(["a"]).read("a,y\n1,2\n".as_bytes()).unwrap_err();
    assert!(matches!(&error, Error::Argument { name, .. } if name == "classes"), "{error}");
}

#[test]
fn counts_are_whole_numbers() {
    let one = CsvReader::counts("hits").read("dose,hits\n1,3\n2,0\n".as_bytes()).unwrap().dataset;
    assert_eq!(one.response().counts().unwrap().column(0).to_vec(), [3.0, 0.0]);
    let bad = parsed(&CsvReader::counts("hits"), "dose,hits\n1,3\n2,-4\n");
    let large = "x,y\n1,2\n2,100000000000000000\n".as_bytes();
    let beyond = CsvReader::counts("y").read(large).unwrap_err().to_string();
    assert!(beyond.contains("line 3, column `y`: `100000000000000000` is beyond 2^53"), "{beyond}");
    let is_not = |cell: &str| format!("`{cell}` is not a count (0, 1, 2, ...)");
    fails!(bad, Cell { row: "line 3", column: "hits", problem: is_not("-4") });
    let reader = CsvReader::counts(["hits", "misses"]);
    let data = reader.read("dose,misses,hits\n1,3,4\n".as_bytes()).unwrap().dataset;
    assert_eq!(data.response().counts().unwrap().row(0).to_vec(), [4.0, 3.0]);
    for bad in ["-1", "0.5"] {
        let read = parsed(&reader, &format!("dose,misses,hits\n1,{bad},4\n"));
        fails!(read, Cell { column: "misses", problem: is_not(bad) });
    }
    let large = parsed(&reader, "dose,misses,hits\n1,1e300,4\n");
    let problem = "`1e300` is beyond 2^53, up to which numbers hold a count";
    fails!(large, Cell { column: "misses", problem: problem });
}

#[test]
fn a_test_file_is_read_as_the_training_file_was() {
    let train = "a,s,kind\n1,M,x\n2,F,y\n";
    let schema = kind().read(train.as_bytes()).unwrap().schema;
    let stored = serde_json::to_string(&schema).unwrap();
    let schema: Schema = serde_json::from_str(&stored).unwrap();
    let test = schema.read("kind,s,a\ny,F,3\n".as_bytes()).unwrap();
    assert_eq!(test.dataset.feature_names(), ["a", "s=F", "s=M"]);
    assert_eq!(test.dataset.x().row(0).to_vec(), [3.0, 1.0, 0.0]);
    assert_eq!(test.dataset.classes().unwrap(), [1]);
    assert_eq!(test.schema, schema);
    let read = |text: &str| schema.read(text.as_bytes());
    let problem = "`z` is not among the classes of the training file: x, y";
    let other = read("a,s,kind\n1,M,x\n2,F,z\n");
    fails!(other, Cell { row: "line 3", column: "kind", problem: problem });
    fails!(read("a,kind\n1,x\n"), UnknownName { what: "column of input", name: "s" });
    let problem = "column `b` is not in the training file";
    fails!(read("a,s,b,kind\n1,M,1,x\n"), Table { problem: problem });
    let reader = CsvReader::regression(Columns::Last).no_header();
    let schema = reader.read("1,2\n3,4\n".as_bytes()).unwrap().schema;
    assert!(schema.read("5,6\n".as_bytes()).is_ok());
    let error = schema.read("5,6,7\n".as_bytes()).unwrap_err().to_string();
    assert_eq!(error, "input: the table has 3 columns, but the training file has 2");
}

#[test]
fn gzip_is_unpacked() {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(FLOWERS.as_bytes()).unwrap();
    let mut packed = packed.finish().unwrap();
    let plain = kind().read(FLOWERS.as_bytes()).unwrap();
    assert_eq!(kind().read(&packed[..]).unwrap(), plain);
    assert_eq!(plain.schema.read(&packed[..]).unwrap(), plain);
    // What follows is the reason, which the library that unpacks gives.
    let damaged = |read: Result<CsvData, Error>| {
        let Err(Error::Table { problem, .. }) = read else { panic!("{read:?}") };
        assert!(problem.starts_with("the gzip data cannot be "), "{problem}");
    };
    for cut in [2, 9, packed.len() - 1] {
        damaged(kind().read(&packed[..cut]));
    }
    packed[12] ^= 0x55;
    damaged(kind().read(&packed[..]));
}

#[test]
fn files_that_cannot_be_opened_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.csv");
    for path in [&path, folder.path()] {
        let read = y().read_path(path);
        assert!(matches!(&read, Err(Error::Io { path: found, .. }) if found == path), "{read:?}");
    }
    std::fs::write(&path, "a,y\n1,x\n").unwrap();
    let table = path.display().to_string();
    fails!(y().read_path(&path), Cell { table: table, row: "line 2", column: "y" });
}

#[test]
fn features_are_read_without_a_response() {
    let train = "id,sex,length,rings\n1,M,0.4,15\n2,F,0.5,7\n3,M,0.6,9\n";
    let schema = CsvReader::regression("rings").ignore(["id"]).read(train.as_bytes()).unwrap();
    let schema = schema.schema;
    let read = |text: &str| schema.read_features(text.as_bytes());
    let expected = array![[1.0, 0.0, 0.3], [0.0, 1.0, 0.2]];
    for text in [
        "sex,length\nF,0.3\nM,0.2\n",
        "length,sex,id\n0.3,F,7\n0.2,M,8\n",
        // The contents of the response's column are not checked.
        "id,rings,sex,length\n7,?,F,0.3\n8,soon,M,0.2\n",
    ] {
        let new = read(text).unwrap();
        assert_eq!(
            (&new.x, &new.names[..]),
            (&expected, &["sex=F", "sex=M", "length"].map(String::from)[..])
        );
        assert!(new.dropped.is_empty() && new.unused.is_empty());
    }
    let wider = read("colour,sex,length,rings,\nred,F,0.3,,\nNA,M,0.2,,7\n").unwrap();
    assert_eq!(wider.x, expected);
    assert_eq!(wider.unused, ["colour", "#5"]);
    fails!(read("length,id\n0.3,1\n"), UnknownName { name: "sex" });
    fails!(read("length\n0.3\n"), UnknownName { name: "sex" });
    assert_eq!(read("sex,length\nI,\n").unwrap().x, array![[0.0, 0.0, 0.5]]);
    let problem = "there is a header, but no row below it";
    fails!(read("sex,length\n"), Table { problem: problem });
    fails!(read(""), Table { problem: "the file is empty" });
}

#[test]
fn features_without_header_are_found_by_position() {
    let reader = CsvReader::classification(0).no_header().drop_missing_rows();
    let schema = reader.read("a,1,2\nb,3,4\n".as_bytes()).unwrap().schema;
    let expected = array![[5.0, 6.0]];
    for text in ["5,6\n,7\n", "a,5,6\na,,7\n", "?,5,6\n?,NA,7\n"] {
        let new = schema.read_features(text.as_bytes()).unwrap();
        assert_eq!((&new.x, &new.dropped[..]), (&expected, &[2][..]));
    }
    for (text, columns) in [
        ("5\n", "1 column, but the training file has 2"),
        ("5,6,7,8\n", "4 columns, but the training file has 3"),
    ] {
        let problem = format!("the table has {columns}");
        fails!(schema.read_features(text.as_bytes()), Table { problem: problem });
    }
}

#[test]
fn a_single_feature_is_a_single_column() {
    let schema = CsvReader::regression("y").read("x,y\n1,2\n3,4\n".as_bytes()).unwrap().schema;
    let new = schema.read_features("x\n5\n6\n".as_bytes()).unwrap();
    assert_eq!(new.x, array![[5.0], [6.0]]);
}

#[test]
fn a_table_is_described_before_anything_is_chosen() {
    let text = "id;kind;size;empty;mixed\n1;b;2.5;NA;1\n2;a;?;NA;x\n10;b;-1e1;NA;1,5\n";
    let reader = y().detect_delimiter();
    let table = reader.describe(text.as_bytes()).unwrap();
    assert_eq!((table.rows, table.complete), (3, 0));
    let names: Vec<&str> = table.columns.iter().map(|column| &column.name[..]).collect();
    assert_eq!(names, ["id", "kind", "size", "empty", "mixed"]);
    let [id, kind, size, empty, mixed] = &table.columns[..] else { unreachable!() };
    let counted = |values: &[(&str, usize)]| {
        Some(values.iter().map(|(value, n)| (value.to_string(), *n)).collect::<Vec<_>>())
    };
    assert_eq!((id.range, id.is_counts, id.is_text), (Some((1.0, 10.0)), true, false));
    assert_eq!(id.values, counted(&[("1", 1), ("2", 1), ("10", 1)]), "by size");
    assert_eq!((kind.is_text, kind.range), (true, None));
    assert_eq!(kind.values, counted(&[("a", 1), ("b", 2)]));
    assert_eq!((size.missing, size.range, size.is_counts), (1, Some((-10.0, 2.5)), false));
    assert_eq!((empty.missing, empty.is_text, empty.is_counts), (3, false, false));
    assert_eq!(
        (mixed.is_text, &mixed.first_not_number),
        (false, &Some((Row::Line(3), "x".into())))
    );
    // Without a header all rows count; one column is enough; rows of other lengths are refused.
    let table = y().no_header().describe("1\n2\n".as_bytes()).unwrap();
    assert_eq!((table.rows, &table.columns[0].name[..]), (2, "#1"));
    let ragged = y().describe("a,b\n1\n".as_bytes());
    fails!(ragged, Table { problem: "line 2 has 1 cell, but the header has 2" });
    // More values than are counted.
    let many: String = (0..1001).map(|i| format!("{i}\n")).collect();
    let table = y().describe(format!("a\n{many}").as_bytes()).unwrap();
    assert_eq!(table.columns[0].values, None);
    assert_eq!(table.columns[0].range, Some((0.0, 1000.0)));
}

/// Rows are found in the file again, whatever lies between them.
#[test]
fn every_row_knows_its_line() {
    let text = "a,y\n1,2\n\n3,NA\nNA,4\n5,6\r\n7,8\n";
    let read = CsvReader::regression("y").drop_missing_rows().read(text.as_bytes()).unwrap();
    assert_eq!((read.lines.iter().collect(), read.dropped), (vec![2, 6, 7], vec![4, 5]));
    // The response of new rows does not count.
    let new = read.schema.read_features(text.as_bytes()).unwrap();
    assert_eq!((new.lines.iter().collect(), new.dropped), (vec![2, 4, 6, 7], vec![5]));
    let plain = CsvReader::regression(1).no_header().read("1,2\n3,4\n".as_bytes()).unwrap();
    assert_eq!((plain.lines.iter().collect(), plain.dropped), (vec![1, 2], vec![]));
}

fn found(reader: &CsvReader, text: &str) -> Vec<Finding> {
    reader.findings(&reader.describe(text.as_bytes()).unwrap())
}

/// A table of `rows` rows, whose cells are made of the number of the row.
fn rows(header: &str, rows: usize, cells: impl Fn(usize) -> String) -> String {
    (0..rows).fold(format!("{header}\n"), |text, i| text + &cells(i) + "\n")
}

#[test]
fn what_is_wrong_with_columns_is_found() {
    let name = |name: &str| name.to_string();
    let text = rows("id,empty,same,day,a,copy,leak,word,y", 12, |i| {
        let (a, y) = (i * 7 % 5, i * i % 11);
        format!("{},,3,2024-01-{:02},{a},{a}.0,{y}e0,w{i},{y}", 100 + i, i + 1)
    });
    let all = found(&y(), &text);
    let id = || Finding::Identifier { column: name("id") };
    let day = |labels| {
        let (column, cell) = (name("day"), name("2024-01-01"));
        Finding::Dates { column, row: Row::Line(2), cell, labels }
    };
    let expected = [
        id(),
        Finding::Empty { column: name("empty") },
        Finding::Constant { column: name("same"), value: name("3") },
        Finding::Copy { column: name("copy"), of: name("a") },
        Finding::CopyOfResponse { column: name("leak"), response: name("y") },
        Finding::ManyLabels { column: name("word"), labels: Some(12), rows: 12 },
    ];
    assert_eq!(all, expected);
    let refused: Vec<&str> =
        all.iter().filter(|finding| finding.is_refused()).map(Finding::column).collect();
    assert_eq!(refused, ["empty", "same", "word"]);
    // By position, and as labels, which dates should not be.
    let labels = CsvReader::regression(8).categorical(["day"]);
    assert_eq!(found(&labels, &text)[3], day(Some(12)));
    assert!(all.iter().all(|finding| match finding {
        Finding::Dates { .. } =>
            !finding.advice().iter().any(|advice| matches!(advice, Advice::Categorical { .. })),
        _ => finding.to_string().starts_with(&format!("`{}` ", finding.column())),
    }));
    // Of what is left out nothing is said, nor of copies of it.
    let few = y().ignore(["id", "empty", "same", "day", "a", "leak", "word"]);
    assert_eq!(found(&few, &text), []);
    // A table of sensible columns.
    assert_eq!(found(&kind(), FLOWERS), []);
}

#[test]
fn cells_labels_and_digits_are_found() {
    let text = rows("part,mixed,big,y", 60, |i| {
        let mixed = if i == 4 { "bad".into() } else { i.to_string() };
        let y = if i == 7 { "NA".into() } else { (i % 35).to_string() };
        format!("p{i},{mixed},{},{y}", 9_007_199_254_740_992_u64 + i as u64 % 7)
    });
    let said = |reader: &CsvReader| -> Vec<String> {
        found(reader, &text).iter().map(ToString::to_string).collect()
    };
    let digits = "`big` holds whole numbers beyond 2^53, whose last digits are lost, such as \
                  `9007199254740993` in line 3";
    let many = "`part` holds text of more than 50 kinds";
    let mixed = "`mixed` holds numbers, but line 6 has `bad`";
    let missing = "`y` has no value in 1 row: left out";
    assert_eq!(said(&y()), [many, mixed, digits, missing]);
    let classes = "`y` holds numbers, which are taken for 35 classes without an order";
    let by_class =
        CsvReader::classification("y").drop_missing_rows().categorical(["part", "mixed"]);
    let labels = |name| format!("`{name}` is taken for 60 labels in 60 rows, each a feature");
    assert_eq!(
        said(&by_class),
        [
            &labels("part"),
            "`part` numbers the rows, as an identifier does",
            &labels("mixed"),
            digits,
            classes
        ]
    );
    // The column as the response, with many digits.
    let long = "9".repeat(60);
    let text = format!("a,y\n1,2\n2,{long}\n3,-9007199254740993\n5,9007199254740994\n");
    let lost = &found(&y(), &text)[0];
    let Finding::LostDigits { row: Row::Line(3), is_response: true, .. } = lost else {
        panic!("{lost:?}")
    };
    assert_eq!(lost.advice(), ["subtract a constant from it".into()]);
    assert_eq!(found(&y(), "a,y\n1,9007199254740992\n3,-9007199254740994\n4,1e300\n"), []);
}

#[test]
fn dates_and_times_are_known() {
    let is_date = super::table::is_date;
    for date in [
        "2024-05-01",
        "2024/5/1",
        "1.5.2024",
        "01.05.24",
        "31/12/2024",
        "12/31/24",
        "5/1/24",
        "2024-05",
        "2024-05-01T10:30",
        "2024-05-01 10:30:00.123",
        "2024-05-01T10:30:00+02:00",
        "2024-05-01T10:30:00-05:00",
        "2024-05-01 10:30-0500",
        "2024-05-01T10:30:00Z",
        "1 May 2024",
        "1-May-24",
        "May 1, 2024",
        "10:30",
        "23:59:59",
        "10:30 PM",
    ] {
        assert!(is_date(date), "{date}");
    }
    for other in [
        "",
        "1",
        "-1.5",
        "1.2.3",
        "1.2.20",
        "10.0.0.1",
        "1-2",
        "12-34",
        "2024",
        "2024-13-01",
        "32/1/2024",
        "13/13/2024",
        "3:1",
        "a:bc",
        "may",
        "1 large 2024",
        "x-y-z",
        "555-1234",
        "1,5",
        "2024-05-01-02",
        "10:30-11:30",
    ] {
        assert!(!is_date(other), "{other}");
    }
    let text = "day,y\n2024-05-01,1\nsoon,2\n";
    let Err(Error::Cell { row, column, problem, advice, .. }) = parsed(&y(), text) else {
        panic!("accepted")
    };
    assert_eq!((row, &column[..]), (Row::Line(2), "day"));
    assert_eq!(problem, "`2024-05-01` is a date, and other cells of the column are none");
    assert_eq!(advice, [Advice::MarkMissing]);
    // How a file is read is said in words.
    let words = y().ignore(["id"]).drop_missing_rows().delimiter(b'\t').to_string();
    assert_eq!(
        words,
        "response: `y`, real; header: the first line, whose names are no numbers; cells apart by a tab; columns \
         left out: `id`; columns taken for labels besides columns of text: none, one-hot; missing values, which \
         leave their rows out: ``, `NA`, `N/A`, `NaN`, `null`, `?`; at most 1073741824 bytes"
    );
}

/// Files are read like a table that was no file: labels in its order, true and false in any writing,
/// columns that were left out in any state.
#[test]
fn files_are_read_like_a_table_that_was_none() {
    let mut table = TypedTable::of_frame("X");
    table.add_column("code", ColumnType::Labels, ["8", "10", "9"].map(Value::Text));
    table.add_column("ripe", ColumnType::Bools, [true, false, true].map(Value::Bool));
    table.add_column("same", ColumnType::Numbers, [1.0; 3].map(Value::Number));
    table.add_column("1", ColumnType::Numbers, [1.0, 2.0, 3.0].map(Value::Number));
    let learnt = Schema::of_features(&CsvReader::regression("y"), &table, None).unwrap().schema;
    let schema = learnt.clone().with_response(CsvReader::regression("y"), None).unwrap();
    assert_eq!(schema.feature_names(), ["code=8", "code=9", "code=10", "ripe", "1"]);
    let text = "1,ripe,code\n0.5,true,10\n1,FALSE,8\n2,1,9\n3,0.0,9\n";
    let new = schema.read_features(text.as_bytes()).unwrap();
    assert_eq!(new.names, schema.feature_names());
    assert_eq!(new.x.column(3).to_vec(), [1.0, 0.0, 1.0, 0.0]);
    assert_eq!(new.x.row(0).to_vec(), [0.0, 0.0, 1.0, 1.0, 0.5]);
    let wrong = schema.read_features("1,ripe,code\n0.5,2,10\n".as_bytes()).unwrap_err();
    assert!(
        matches!(&wrong, Error::Cell { row: Row::Line(2), column, .. } if column == "ripe"),
        "{wrong}"
    );
    // It outlives the process.
    let text = serde_json::to_string(&schema).unwrap();
    assert_eq!(serde_json::from_str::<Schema>(&text).unwrap(), schema);
    // Arguments that do not belong together are refused.
    let refused = |reader: CsvReader, classes: Option<Vec<String>>| {
        let error = learnt.clone().with_response(reader, classes).unwrap_err();
        assert!(matches!(error, Error::Argument { .. }), "{error}");
    };
    refused(CsvReader::regression("ripe"), None);
    refused(CsvReader::regression(0), None);
    refused(CsvReader::classification("y"), None);
    refused(CsvReader::regression("y"), Some(vec!["a".into(), "b".into()]));
}

/// A typed table of these columns, each with its cells.
fn typed(columns: &[(&str, ColumnType, &[&str])]) -> TypedTable {
    let named = columns.iter().map(|(name, kind, _)| (*name, kind.clone()));
    let mut table = TypedTable::new("t.parquet", named, 1 << 20);
    for row in 0..columns[0].2.len() {
        columns.iter().for_each(|(.., cells)| table.push(Some(cells[row])).unwrap());
        table.end_row().unwrap();
    }
    table
}

#[test]
fn typed_tables_are_read_as_the_same_text() {
    use ColumnType::{Bools, Dates, Labels, Numbers, Text};
    let y = ["1", "2", "3.5", "", "5", "6"];
    let table = typed(&[
        ("n", Numbers, &["0.1", "", "-3e-300", "9007199254740993", "7", "NaN"]),
        ("b", Bools, &["True", "False", "", "True", "True", "False"]),
        ("t", Text, &["é, \"a\"", " b ", "b", "NA", "?", "b"]),
        ("code", Text, &["01", "1.5", "", "10", "10", "01"]),
        ("c", Labels, &["9", "10", "9", "9", "10", ""]),
        (
            "d",
            Dates,
            &["2024-05-01", "2024-05-01T10:30:00.25", "", "2025-07-01", "1999-01-01", "2024-05-09"],
        ),
        ("y", Numbers, &y),
    ]);
    let csv = "n,b,t,code,c,d,y\n\
        0.1,1,\"é, \"\"a\"\"\",01,9,2024-05-01,1\n\
        ,0, b ,1.5,10,2024-05-01T10:30:00.25,2\n\
        -3e-300,,b,,9,,3.5\n\
        9007199254740993,1,NA,10,9,2025-07-01,\n\
        7,1,?,10,10,1999-01-01,5\n\
        NaN,0,b,01,,2024-05-09,6\n";
    let reader = CsvReader::regression("y");
    let expected = reader.clone().categorical(["c", "code"]).read(csv.as_bytes()).unwrap();
    let found = reader.read_table(&table).unwrap();
    assert_eq!(found.dataset, expected.dataset);
    assert_eq!(found.dropped, [4]);
    assert_eq!((found.lines.place(3), found.lines.get(4)), (Some(Row::Number(5)), Some(6)));
    assert_eq!(found.schema.levels("code").unwrap(), ["01", "1.5", "10"]);
    // Each is read by the schema of the other.
    assert_eq!(found.schema.read_features(csv.as_bytes()).unwrap().x, {
        expected.schema.read_features_table(&table).unwrap().x
    });
    assert_eq!(found.schema.read_table(&table).unwrap().dataset, found.dataset);
    // Settings on the form of text have no effect.
    let other = reader.clone().delimiter(b';').no_header().decimal(Decimal::Comma);
    let other = other.read_table(&table).unwrap();
    assert_eq!(other.dataset, expected.dataset);
    let described = reader.describe_table(&table).unwrap();
    assert_eq!((described.rows, described.complete), (6, 1));
    let column = |name: &str| described.columns.iter().find(|c| c.name == name).unwrap();
    assert!(column("code").is_text && column("b").is_text && !column("n").is_text);
    assert_eq!(column("code").range, None);
    assert_eq!(column("n").lost_digits, Some((Row::Number(4), "9007199254740993".into())));
    assert_eq!(column("d").dates, Some((Row::Number(1), "2024-05-01".into())));
}

/// Numbers that are handed over as such are those of their text, whatever the column is for.
#[test]
fn numbers_of_typed_tables_are_those_of_their_text() {
    use ColumnType::{Bools, Labels, Numbers};
    let names = ["x", "code", "g", "b", "k", "y"];
    let types = [Numbers, Numbers, Numbers, Bools, Labels, Numbers];
    let reader = |task: Task, y: &str| CsvReader::of(task, y).missing(["-999", "1e-7", "nan"]);
    Anything::cases(60, |any| {
        let columns = names.into_iter().zip(types.clone());
        let mut table = TypedTable::new("t.parquet", columns, 1 << 20);
        let mut text = String::from("x,code,g,b,k,y\n");
        for i in 0..40 {
            let x = (any.below(2001) as f64 - 1000.5) * 10f64.powi(any.below(40) as i32 - 20);
            let x = [x, -0.0, -999.0, 1e-7, f64::NAN, 1e17][any.below(6)];
            let (code, g, k) = (any.below(3) as f64 / 2.0, any.below(4) as f64, 1e20);
            let (b, y) = (any.below(2) == 1, (i % 3) as f64);
            let values = [x, code, g].map(Value::Number).into_iter();
            let values =
                values.chain([Value::Bool(b), Value::Number(k - g * 1e19), Value::Number(y)]);
            values.for_each(|value| table.push(value).unwrap());
            table.end_row().unwrap();
            let (b, k) = (u8::from(b), k - g * 1e19);
            text += &format!("{},{code},{g},{b},{k:e},{y}\n", written(x));
        }
        for (task, target, labels) in [
            (Task::Regression, "y", vec!["k"]),
            (Task::Classification, "y", vec!["k", "code"]),
            (Task::Counts, "y", vec!["k", "code"]),
            (Task::Classification, "code", vec!["k"]),
        ] {
            let reader = reader(task, target).categorical(labels).group("g");
            let expected = reader.read(text.as_bytes()).unwrap();
            let found = reader.read_table(&table).unwrap();
            assert_eq!(found.dataset, expected.dataset, "{text}");
            assert_eq!(found.stand_ins, expected.stand_ins);
            // Each reads the other's rows as its own.
            let crossed = expected.schema.read_table(&table).unwrap().dataset;
            assert_eq!(crossed, found.schema.read(text.as_bytes()).unwrap().dataset);
            let [of_text, of_types] =
                [reader.describe(text.as_bytes()), reader.describe_table(&table)]
                    .map(Result::unwrap);
            for (a, b) in of_text.columns.iter().zip(&of_types.columns) {
                // True and false, and labels, are no numbers.
                let same = (a.missing, a.is_counts, a.range) == (b.missing, b.is_counts, b.range);
                assert!(
                    ["b", "k"].contains(&&*a.name) || (same && a.values == b.values),
                    "{}",
                    a.name
                );
            }
        }
    });
}

/// A number in the form in which programs write it.
fn written(x: f64) -> String {
    let size = x.abs();
    match size == 0.0 || (1e-5..1e17).contains(&size) {
        true => x.to_string(),
        false => format!("{x:e}"),
    }
}

/// Blanks at the ends of labels do not count, and are named.
#[test]
fn blanks_at_the_ends_of_labels_are_found() {
    use ColumnType::{Labels, Numbers, Text};
    let table = typed(&[
        ("k", Text, &["a", "b", " a", "b "]),
        ("g", Labels, &["u\t", "v", "u", "v"]),
        ("l", Text, &["c ", "d", "c", "d"]),
        ("x", Numbers, &[" 1", "2", "3", "5"]),
        ("y", Numbers, &["1", "2", "3", "4"]),
    ]);
    let reader = CsvReader::regression("y").group("g").ignore(["l"]);
    let found = reader.findings(&reader.describe_table(&table).unwrap());
    let blanks = |column: &str, row, cell: &str| {
        let (column, row, cell) = (column.into(), Row::Number(row), cell.into());
        Finding::Blanks { column, row, cell }
    };
    assert_eq!(found, [blanks("k", 3, " a"), blanks("g", 1, "u\t")]);
    assert_eq!(
        found[0].to_string(),
        "`k` has labels with blanks at their ends, such as ` a` in row 3, which do not count"
    );
    assert!(!found[0].is_refused());
    assert_eq!(reader.read_table(&table).unwrap().schema.levels("k").unwrap(), ["a", "b"]);
}

#[test]
fn columns_that_are_read_one_by_one_make_the_same_table() {
    use ColumnType::{Numbers, Text};
    let columns = || [("k", Text), ("y", Numbers)];
    let mut by_rows = TypedTable::new("t", columns(), 1 << 20);
    let mut by_columns = by_rows.clone();
    for (i, k) in ["a", "b", "a"].iter().enumerate() {
        by_rows.skip_rows(i);
        by_rows.push(Some(*k)).unwrap();
        by_rows.push(Value::Number(i as f64)).unwrap();
        by_rows.end_row().unwrap();
        by_columns.push_in(0, Value::Text(k)).unwrap();
    }
    fails!(by_columns.push_in(2, Value::Missing), Shape { what: "cells of a row" });
    fails!(by_columns.clone().end_rows([1, 3, 6]), Shape { what: "values of a column" });
    (0..3).for_each(|i| by_columns.push_in(1, Value::Number(f64::from(i))).unwrap());
    fails!(by_columns.clone().end_rows([1, 3, 3]), Argument { name: "number of a row" });
    by_columns.end_rows([1, 3, 6]).unwrap();
    assert_eq!(by_columns, by_rows);
    assert_eq!((by_rows.rows(), by_rows.bytes()), (6, 3 * 17));
}

#[test]
fn cells_of_typed_tables_hold_any_text() {
    use ColumnType::{Labels, Numbers};
    let texts = ["a\nb", "\u{FEFF}", "\"", "x\r\ny", "'", "a\nb"];
    let cells = &["1", "2", "3", "4", "5", "inf"];
    let table = typed(&[("t", Labels, &texts), ("y", Numbers, cells)]);
    let reader = CsvReader::regression("y");
    // Rows are counted, and not lines.
    let (place, column) = (Row::Number(6), "y");
    fails!(reader.read_table(&table), Cell { table: "t.parquet", row: place, column: column });
    let classes = CsvReader::classification("t").read_table(&table).unwrap_err();
    assert_eq!(classes.to_string(), "t.parquet, row 6, column `y`: `inf` is not a finite number");
    let table = typed(&[("t", Labels, &texts[..5]), ("y", Numbers, &cells[..5])]);
    let read = reader.read_table(&table).unwrap();
    assert_eq!(read.schema.levels("t").unwrap(), ["\"", "'", "a\nb", "x\r\ny", "\u{FEFF}"]);
    // One column of nothing has rows all the same.
    let one = typed(&[("x", Numbers, &["", "1", ""])]);
    let schema = CsvReader::regression("y").read("x,y\n1,2\n3,4\n".as_bytes()).unwrap().schema;
    assert_eq!(schema.read_features_table(&one).unwrap().x, array![[2.0], [1.0], [2.0]]);
}

#[test]
fn bools_of_typed_tables_are_found_among_labels_and_numbers() {
    let new = typed(&[("b", ColumnType::Bools, &["True", "False", ""])]);
    for (text, expected) in [
        ("b,y\n1,1\n0,2\n,3\n", array![[1.0, 0.0], [0.0, 0.0], [0.5, 1.0]]),
        ("b,y\ntrue,1\nfalse,2\nfalse,4\n", array![[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]),
    ] {
        let reader = CsvReader::regression("y").categorical(if text.contains("true") {
            vec!["b"]
        } else {
            vec![]
        });
        let schema = reader.read(text.as_bytes()).unwrap().schema;
        assert_eq!(schema.read_features_table(&new).unwrap().x, expected, "{text}");
    }
    // In text, too, true and false are one feature, in any writing, also of one of them alone.
    let y = ("y", ColumnType::Numbers, &["1", "2", "3"][..]);
    for cells in [&["True", "False", "True"][..], &["True", "", "False"], &["True", "True", "True"]]
    {
        let of_types = typed(&[("b", ColumnType::Bools, cells), y.clone()]);
        let reader = CsvReader::regression("y");
        let lower = cells.iter().zip(1..).map(|(cell, y)| format!("{},{y}\n", cell.to_lowercase()));
        let text = format!("b,y\n{}", lower.collect::<String>());
        let [read, of_types] =
            [reader.read(text.as_bytes()), reader.read_table(&of_types)].map(Result::unwrap);
        assert_eq!(read.dataset, of_types.dataset);
        assert_eq!(
            read.schema.read_features_table(&new).unwrap().x.ncols(),
            read.dataset.n_features()
        );
        assert!(read.schema.read_features("b\nyes\n".as_bytes()).is_err());
    }
    let groups = CsvReader::regression("y")
        .group("b")
        .read("b,x,y\ntrue,1,1\nfalse,2,2\ntrue,5,3\n".as_bytes());
    assert_eq!(groups.unwrap().dataset.n_features(), 4); // x, two groups and a new one
    let classes = typed(&[
        ("x", ColumnType::Numbers, &["1", "2", "3"]),
        ("b", ColumnType::Bools, &["True", "False", "True"]),
    ]);
    let read = CsvReader::classification("b").read_table(&classes).unwrap();
    assert_eq!(read.schema.class_names().unwrap(), ["False", "True"]);
    assert_eq!(read.dataset.classes().unwrap(), [1, 0, 1]);
}

#[test]
fn dates_of_typed_tables_are_found_where_text_had_another_order() {
    let text = "d,y\n13.5.2024,1\n14.5.2024,2\n15.5.2024,3\n";
    let schema = CsvReader::regression("y").read(text.as_bytes()).unwrap().schema;
    let new = typed(&[("d", ColumnType::Dates, &["2024-05-14"])]);
    let as_text = schema.read_features("d\n14.5.2024\n".as_bytes()).unwrap();
    assert_eq!(schema.read_features_table(&new).unwrap().x, as_text.x);
}

#[test]
fn typed_tables_that_cannot_be_used_are_refused() {
    use ColumnType::{Numbers, Other};
    let list = || Other("list".into());
    let table = typed(&[
        ("x", Numbers, &["1", "2"]),
        ("tags", list(), &["", ""]),
        ("y", Numbers, &["1", "2"]),
    ]);
    let reader = CsvReader::regression("y");
    assert_eq!(
        reader.read_table(&table).unwrap_err().to_string(),
        "t.parquet: column `tags` has the type list, which is neither numbers, text, true and false, nor dates: \
         convert it, or leave it out by `CsvReader::ignore([\"tags\"])`"
    );
    let described = reader.describe_table(&table).unwrap();
    assert_eq!(described.complete, 2);
    let found = reader.findings(&described);
    assert_eq!(found[1], Finding::OtherType { column: "tags".into(), kind: "list".into() });
    assert!(found[1].is_refused());
    let read = reader.clone().ignore(["tags"]).read_table(&table).unwrap();
    // It may be there among new rows, too, and other ones besides.
    assert_eq!(read.schema.read_features_table(&table).unwrap().x, array![[1.0], [2.0]]);
    let new = typed(&[("x", list(), &[""])]);
    fails!(read.schema.read_features_table(&new), Table { table: "t.parquet" });
    let (a, b) = (("a", Numbers, &["1"][..]), (" a ", Numbers, &["1"][..]));
    let twice = reader.describe_table(&typed(&[a.clone(), b])).unwrap_err().to_string();
    assert_eq!(twice, "t.parquet: columns 1 and 2 have the same name, `a`");
    let unnamed = reader.read_table(&typed(&[(" ", Numbers, &["1"]), ("y", Numbers, &["1"])]));
    fails!(unnamed, Table { problem: "column 1 has no name" });
    let one = typed(&[("y", Numbers, &["1"])]);
    fails!(reader.read_table(&one), Table { problem: "the table has 1 column, but needs 2" });
    let empty = TypedTable::new("t.parquet", [("x", Numbers), ("y", Numbers)], 40);
    fails!(reader.read_table(&empty), Table { problem: "the table has no rows" });
    let none = TypedTable::new("t.parquet", [("x", Numbers); 0], 9);
    fails!(reader.describe_table(&none), Table { problem: "the table has 0 columns, but needs 1" });
    let mut large = empty.clone();
    let mut add = |cells: &[&str]| {
        cells.iter().try_for_each(|cell| large.push(Some(*cell)))?;
        large.end_row()
    };
    add(&["1", "2"]).unwrap();
    fails!(add(&["3"]), Shape { what: "cells of a row", found: 1, expected: 2 });
    add(&["3", "4"]).unwrap();
    fails!(add(&["5", "6"]), Table { table: "t.parquet" });
    // What is too much is refused before it is read.
    fails!(empty.clone().reserve(3), Table { table: "t.parquet" });
    empty.clone().reserve(2).unwrap();
    let mut wide = TypedTable::new("t.parquet", [("x", Numbers), ("y", Numbers)], u64::MAX);
    fails!(wide.reserve(1 << 50), Memory { name: "t.parquet" });
    // The row that was not whole.
    fails!(reader.read_table(&large), Shape { what: "values of a column" });
    fails!(reader.clone().limit(5).read_table(&table), Table { table: "t.parquet" });
}
