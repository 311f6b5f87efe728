//! Tables of text: CSV and its relatives.
//!
//! ```
//! use bnn_mcmc::data::CsvReader;
//! let train = "sex,length,rings\nM,0.4,15\nF,0.5,7\nM,0.6,9\n";
//! let test = "sex,length,rings\nF,0.3,8\n";
//!
//! let train = CsvReader::regression("rings").read(train.as_bytes())?;
//! assert_eq!(train.dataset.feature_names(), ["sex=F", "sex=M", "length"]);
//! // A test file is read as the training file was: the same columns, levels and classes.
//! let test = train.schema.read(test.as_bytes())?;
//! assert_eq!(test.dataset.x().row(0).to_vec(), [1.0, 0.0, 0.3]);
//!
//! let bad = "sex,length,rings\nF,0.3,8\nI,0.2,5\n";
//! assert_eq!(
//!     train.schema.read(bad.as_bytes()).unwrap_err().to_string(),
//!     "input, row 3, column `sex`: `I` is not among the levels of the training file: F, M"
//! );
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```
//!
//! # What is taken for what
//! - **Cells** are split at the delimiter and stripped of blanks. A cell may be enclosed in
//!   quotation marks, then it may hold the delimiter, and `""` for a quotation mark, but no line
//!   break. Blank lines are skipped. Lines end in LF, CRLF or CR.
//! - **Numbers** are written as in Rust and most languages: `-1.5e3`; no decimal comma, no
//!   thousands separator. Infinite numbers are errors.
//! - **Missing values** are errors, unless [`drop_missing_rows`](CsvReader::drop_missing_rows)
//!   is asked for; see [`missing`](CsvReader::missing).
//! - **Categorical features** are the columns named by [`categorical`](CsvReader::categorical) and
//!   those in which no cell is a number, nor starts like one. Such a column with more than 50
//!   levels is refused as a likely identifier, unless it was named.
//! - **Levels and classes** are sorted by size if all of them are numbers, else as text in the
//!   order of Unicode: capitals before small letters. They count from 0 in this order. One
//!   number written in two ways (`1` and `1.0`) is an error.
//! - **Gzip** is recognised by its first two bytes and unpacked, up to 4 GiB of text.
//! - **Row** in an error is the line of the file, counted from 1; **columns** without a header are
//!   named `#1`, `#2`, ...

mod table;

use std::io::Read;
use std::path::Path;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use self::table::{Table, load, numbered, shown};
use super::{Dataset, Response};
use crate::Error;

/// More levels than this in a column that was not named as categorical are refused.
const MANY_LEVELS: usize = 50;

/// Names one or more columns of a table.
///
/// `"name"`, `["name", "name"]` and a position convert into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Columns {
    /// The last column.
    Last,
    /// By name; `#1`, `#2`, ... in a table without header.
    Named(Vec<String>),
    /// By position, counted from 0.
    At(Vec<usize>),
}

impl From<&str> for Columns {
    fn from(name: &str) -> Self {
        Self::Named(vec![name.into()])
    }
}

impl From<String> for Columns {
    fn from(name: String) -> Self {
        Self::Named(vec![name])
    }
}

impl From<usize> for Columns {
    fn from(position: usize) -> Self {
        Self::At(vec![position])
    }
}

impl<S: Into<String>, const N: usize> From<[S; N]> for Columns {
    fn from(names: [S; N]) -> Self {
        Self::Named(names.into_iter().map(Into::into).collect())
    }
}

impl<S: Into<String>> From<Vec<S>> for Columns {
    fn from(names: Vec<S>) -> Self {
        Self::Named(names.into_iter().map(Into::into).collect())
    }
}

/// How a categorical feature becomes numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// One column of 0 and 1 for each level, named `column=level`.
    #[default]
    OneHot,
    /// As [`OneHot`](Self::OneHot), without the first level: for models with an intercept, where
    /// the full set would be collinear.
    DropFirst,
    /// One column with the number of the level, counted from 0. It imposes an order.
    Codes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Task {
    Regression,
    Classification,
    Counts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Delimiter {
    Byte(u8),
    Blanks,
    Detect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Header {
    /// The first line, unless a name in it is a number.
    Expected,
    Insisted,
    None,
}

/// Reads a table of text as a [`Dataset`]. See the [module](self) for what is taken for what.
///
/// A reader is made for one kind of response and the columns that hold it. It expects a header
/// and commas, unless told otherwise.
///
/// ```
/// use bnn_mcmc::data::{Columns, CsvReader};
/// // Numbers apart by blanks or commas, no header, the class in the last column.
/// let reader = CsvReader::classification(Columns::Last).no_header().detect_delimiter();
/// let data = reader.read("5.1 3.5  0\n6.2 2.9  1\n".as_bytes())?.dataset;
/// assert_eq!(data.classes()?, [0, 1]);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CsvReader {
    task: Task,
    response: Columns,
    header: Header,
    delimiter: Delimiter,
    categorical: Vec<String>,
    ignored: Vec<String>,
    encoding: Encoding,
    missing: Vec<String>,
    drop_missing_rows: bool,
}

impl CsvReader {
    fn new(task: Task, response: Columns) -> Self {
        Self {
            task,
            response,
            header: Header::Expected,
            delimiter: Delimiter::Byte(b','),
            categorical: Vec::new(),
            ignored: Vec::new(),
            encoding: Encoding::OneHot,
            missing: ["", "NA", "N/A", "NaN", "null", "?"].map(String::from).to_vec(),
            drop_missing_rows: false,
        }
    }

    /// For a real response in one or more columns.
    pub fn regression(response: impl Into<Columns>) -> Self {
        Self::new(Task::Regression, response.into())
    }

    /// For a class, text or number, in one column.
    pub fn classification(response: impl Into<Columns>) -> Self {
        Self::new(Task::Classification, response.into())
    }

    /// For counts in two or more columns; binomial data are successes and failures.
    pub fn counts(response: impl Into<Columns>) -> Self {
        Self::new(Task::Counts, response.into())
    }

    /// The first line is a header, even if names in it are numbers. (Without this call, a name
    /// that is a number is an error, since the file may well have no header.)
    pub fn header(self) -> Self {
        Self { header: Header::Insisted, ..self }
    }

    /// There is no header; columns are named `#1`, `#2`, ...
    pub fn no_header(self) -> Self {
        Self { header: Header::None, ..self }
    }

    /// Cells are apart by this ASCII character, such as `b';'` or `b'\t'`.
    pub fn delimiter(self, delimiter: u8) -> Self {
        Self { delimiter: Delimiter::Byte(delimiter), ..self }
    }

    /// Cells are apart by one or more blanks or tabs.
    pub fn whitespace(self) -> Self {
        Self { delimiter: Delimiter::Blanks, ..self }
    }

    /// Cells are apart by the first of tab, semicolon, vertical bar and comma which the first
    /// line holds, else by blanks. All other lines must then have as many cells.
    pub fn detect_delimiter(self) -> Self {
        Self { delimiter: Delimiter::Detect, ..self }
    }

    /// Features to be taken for labels, even if they look like numbers.
    pub fn categorical<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        Self { categorical: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Columns to be left out, such as identifiers.
    pub fn ignore<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        Self { ignored: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// How categorical features become numbers: [`Encoding::OneHot`], unless told otherwise.
    pub fn encoding(self, encoding: Encoding) -> Self {
        Self { encoding, ..self }
    }

    /// The cells that stand for a missing value, in capitals or small letters. Without this
    /// call they are the empty cell, `NA`, `N/A`, `NaN`, `null` and `?`.
    pub fn missing<S: Into<String>>(self, markers: impl IntoIterator<Item = S>) -> Self {
        Self { missing: markers.into_iter().map(Into::into).collect(), ..self }
    }

    /// Leaves out rows with a missing value in a feature or the response, rather than failing.
    /// Which rows they were is told in [`CsvData::dropped`].
    pub fn drop_missing_rows(self) -> Self {
        Self { drop_missing_rows: true, ..self }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If the file cannot be opened, or anything in it is not as the [module](self) says. The
    /// message names the row, the column and the value where there is one to blame.
    pub fn read_path(&self, path: impl AsRef<Path>) -> Result<CsvData, Error> {
        let (name, bytes) = load(path.as_ref())?;
        self.read_bytes(&name, &bytes)
    }

    /// Reads from anything that yields bytes; errors call it `input`.
    ///
    /// # Errors
    /// As [`read_path`](Self::read_path).
    pub fn read(&self, mut source: impl Read) -> Result<CsvData, Error> {
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes).map_err(|e| Error::io("input", e))?;
        self.read_bytes("input", &bytes)
    }

    fn read_bytes(&self, name: &str, bytes: &[u8]) -> Result<CsvData, Error> {
        let mut table = Table::parse(self, name, bytes)?;
        let columns = self.assign_columns(&table)?;
        let dropped = table.drop_missing(self, &columns)?;
        Schema::fit(self, &table, columns)?.apply(&table, dropped)
    }

    /// The role of each column of a training file.
    fn assign_columns(&self, table: &Table) -> Result<Vec<Role>, Error> {
        let mut roles = vec![Role::Feature; table.names.len()];
        for name in &self.ignored {
            roles[table.position(name)?] = Role::Ignored;
        }
        let response = match &self.response {
            Columns::Last => vec![table.names.len() - 1],
            Columns::Named(names) => {
                names.iter().map(|n| table.position(n)).collect::<Result<_, _>>()?
            }
            Columns::At(positions) => {
                if let Some(p) = positions.iter().find(|p| **p >= table.names.len()) {
                    let allowed = format!("0 to {}", table.names.len() - 1);
                    return Err(Error::argument("position of the response", p, allowed));
                }
                positions.clone()
            }
        };
        let allowed = match self.task {
            Task::Classification => (1..=1, "one column for classification"),
            Task::Regression => (1..=usize::MAX, "one or more columns for regression"),
            Task::Counts => (2..=usize::MAX, "two or more columns for counts"),
        };
        if !allowed.0.contains(&response.len()) {
            let found = format!("{} columns", response.len());
            return Err(Error::argument("response", found, allowed.1));
        }
        for (place, &column) in response.iter().enumerate() {
            if roles[column] != Role::Feature {
                let found = format!("column `{}`", table.names[column]);
                let allowed = "a column that is not ignored, and only once";
                return Err(Error::argument("response", found, allowed));
            }
            roles[column] = Role::Response(place);
        }
        for name in &self.categorical {
            if roles[table.position(name)?] != Role::Feature {
                let found = format!("column `{name}`");
                return Err(Error::argument("categorical", found, "among the features"));
            }
        }
        for (column, name) in table.names.iter().enumerate() {
            if name == &numbered(column)
                && self.header != Header::None
                && roles[column] != Role::Ignored
            {
                return Err(table.problem(format!(
                    "column {} has no name; name it, or leave it out by `ignore([\"{name}\"])`",
                    column + 1
                )));
            }
        }
        if !roles.contains(&Role::Feature) {
            return Err(table.problem("no column is left for the features".into()));
        }
        Ok(roles)
    }
}

/// What was read: the data, and how to read other files in the same way.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CsvData {
    /// The rows.
    pub dataset: Dataset,
    /// The columns, levels and classes found, to read a test file with.
    pub schema: Schema,
    /// The lines of the file that were left out because of a missing value; empty unless
    /// [`drop_missing_rows`](CsvReader::drop_missing_rows) was asked for.
    pub dropped: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Role {
    Ignored,
    Feature,
    /// The place of the column within the response.
    Response(usize),
}

/// A column of the training file; `levels` are those of a categorical feature or of the classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Column {
    name: String,
    role: Role,
    levels: Option<Vec<String>>,
}

/// How a training file was read: applied to a test file, it gives the same features, levels and
/// classes, or an error. Can be stored with serde.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    reader: CsvReader,
    columns: Vec<Column>,
}

impl Schema {
    /// Reads another file as the training file was read.
    ///
    /// With a header, columns are matched by name and may come in another order; without, by
    /// position.
    ///
    /// # Errors
    /// As [`CsvReader::read_path`]; also if a column is lacking or new, or a level or class did
    /// not occur in the training file.
    pub fn read_path(&self, path: impl AsRef<Path>) -> Result<CsvData, Error> {
        let (name, bytes) = load(path.as_ref())?;
        self.read_bytes(&name, &bytes)
    }

    /// As [`read_path`](Self::read_path), from anything that yields bytes.
    ///
    /// # Errors
    /// As [`read_path`](Self::read_path).
    pub fn read(&self, mut source: impl Read) -> Result<CsvData, Error> {
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes).map_err(|e| Error::io("input", e))?;
        self.read_bytes("input", &bytes)
    }

    /// The classes in the order of their numbers; `None` unless this is a classification.
    pub fn class_names(&self) -> Option<&[String]> {
        self.columns
            .iter()
            .find(|c| matches!(c.role, Role::Response(_)))
            .and_then(|c| c.levels.as_deref())
    }

    /// The levels of a categorical feature in the order of their numbers; `None` if there is no
    /// such feature.
    pub fn levels(&self, feature: &str) -> Option<&[String]> {
        self.columns
            .iter()
            .find(|c| c.role == Role::Feature && c.name == feature)
            .and_then(|c| c.levels.as_deref())
    }

    fn read_bytes(&self, name: &str, bytes: &[u8]) -> Result<CsvData, Error> {
        let mut table = Table::parse(&self.reader, name, bytes)?;
        table.reorder(&self.columns)?;
        let roles: Vec<Role> = self.columns.iter().map(|c| c.role).collect();
        let dropped = table.drop_missing(&self.reader, &roles)?;
        self.apply(&table, dropped)
    }

    /// Finds out which features are categorical, their levels, and the classes.
    fn fit(reader: &CsvReader, table: &Table, roles: Vec<Role>) -> Result<Self, Error> {
        let mut columns = Vec::with_capacity(roles.len());
        for (j, role) in roles.into_iter().enumerate() {
            let name = table.names[j].clone();
            let levels = match role {
                Role::Ignored => None,
                Role::Response(_) if reader.task != Task::Classification => None,
                Role::Response(_) => Some(table.classes(j)?),
                Role::Feature if reader.categorical.contains(&name) => Some(table.levels(j)?),
                Role::Feature if !table.is_text(j) => None,
                Role::Feature => {
                    let levels = table.levels(j)?;
                    if levels.len() > MANY_LEVELS {
                        return Err(table.problem(format!(
                            "column `{name}` holds text of {} kinds: leave it out by `ignore` if \
                             it is an identifier, or name it in `categorical`",
                            levels.len()
                        )));
                    }
                    Some(levels)
                }
            };
            if let (Role::Feature, Encoding::DropFirst, Some([only])) =
                (role, reader.encoding, levels.as_deref())
            {
                return Err(table.problem(format!(
                    "column `{name}` is `{}` in all rows: nothing is left without the first level",
                    shown(only)
                )));
            }
            columns.push(Column { name, role, levels });
        }
        Ok(Self { reader: reader.clone(), columns })
    }

    /// Turns the cells into numbers.
    fn apply(&self, table: &Table, dropped: Vec<usize>) -> Result<CsvData, Error> {
        let rows = table.rows.len();
        let mut names = Vec::new();
        let mut features: Vec<Vec<f64>> = Vec::new();
        let mut response: Vec<(usize, &Column, Vec<f64>)> = Vec::new();
        for (j, column) in self.columns.iter().enumerate() {
            let Column { name, role, levels } = column;
            if *role == Role::Ignored {
                continue;
            }
            let values = match levels {
                Some(levels) => table.codes(j, levels, *role)?,
                None => table.numbers(j, self.reader.task, *role)?,
            };
            match (role, levels) {
                (Role::Response(place), _) => response.push((*place, column, values)),
                (_, Some(levels)) if self.reader.encoding != Encoding::Codes => {
                    let first = usize::from(self.reader.encoding == Encoding::DropFirst);
                    for (code, level) in levels.iter().enumerate().skip(first) {
                        names.push(format!("{name}={level}"));
                        let is_level = |v: &f64| f64::from(u8::from(*v == code as f64));
                        features.push(values.iter().map(is_level).collect());
                    }
                }
                _ => {
                    names.push(name.clone());
                    features.push(values);
                }
            }
        }
        response.sort_by_key(|(place, ..)| *place);
        let response_names = response.iter().map(|(_, column, _)| column.name.clone()).collect();
        let x = Array2::from_shape_fn((rows, features.len()), |(i, j)| features[j][i]);
        let y = Array2::from_shape_fn((rows, response.len()), |(i, j)| response[j].2[i]);
        let response = match (self.reader.task, self.class_names()) {
            (Task::Regression, _) => Response::Real(y),
            (Task::Counts, _) => Response::Counts(y),
            (Task::Classification, names) => Response::Classes {
                index: y
                    .columns()
                    .into_iter()
                    .next()
                    .map_or(Vec::new(), |c| c.mapv(|v| v as usize).to_vec()),
                names: names.unwrap_or_default().to_vec(),
            },
        };
        let dataset = Dataset::checked(x, response, names, response_names).map_err(|error| {
            if error.is_data() { error } else { table.problem(error.to_string()) }
        })?;
        Ok(CsvData { dataset, schema: self.clone(), dropped })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOWERS: &str = "length,width,kind\n1.5,2,rose\n-1e1,+.5,Lily\n3,4.,rose\n";

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
        assert!(message(&kind().delimiter(b'\t'), tabs).contains("#3"), "{tabs}");
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
        let expected = "input: row 2: a carriage return inside the line: are line ends mixed?";
        assert_eq!(message(&kind(), text), expected);
        // CRLF here and LF there is harmless.
        let text = "x,kind\r\n1,a\n3,b\r\n5,a\n";
        assert_eq!(kind().read(text.as_bytes()).unwrap().dataset.rows(), 3);
    }

    #[test]
    fn quotation_marks_that_swallow_lines_are_errors() {
        assert_eq!(
            message(&kind(), "a,kind\n1,\"x\n2,y\n3,z\n"),
            "input: row 2: a quotation mark is not closed on its line: `1,\\\"x`"
        );
        // The mark in the middle of a cell is none; the one after the comma is never closed.
        assert!(message(&kind(), "a,kind\n1\"0,\"x\n2,y\n").contains("is not closed"));
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
            "there is no column of input named `kind`; there are: a, b"
        );
        let twice = reader(["#1", "#1"].into());
        assert!(message(&twice, text).contains("column `#1`"));
        assert!(
            message(&CsvReader::classification(["a", "b"]), "a,b\n1,2\n").contains("2 columns")
        );
        assert!(message(&CsvReader::counts("a"), "a,b\n1,2\n").contains("two or more"));
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
            "input: the header has a number for a name, `5.1`: call `no_header` if there is no \
             header, or `header` if this is a name"
        );
        let years = CsvReader::regression("y").header().read("2019,2020,y\n1,2,3\n".as_bytes());
        assert_eq!(years.unwrap().dataset.feature_names(), ["2019", "2020"]);
        assert_eq!(
            message(&y(), "a,y,a\n1,2,3\n"),
            "input: columns 1 and 3 have the same name, `a`"
        );
        assert_eq!(
            message(&y(), ",a,y\n1,2,3\n"),
            "input: column 1 has no name; name it, or leave it out by `ignore([\"#1\"])`"
        );
        let data = y().ignore(["#1"]).read(",a,y\n1,2,3\n".as_bytes()).unwrap();
        assert_eq!(data.dataset.feature_names(), ["a"]);
        let message = message(&y().no_header(), "a,y\n1,2\n");
        assert!(message.contains("no column"), "{message}");
        let last = CsvReader::regression(Columns::Last).no_header();
        let message = last.read("a,y\n1,2\n".as_bytes()).unwrap_err().to_string();
        assert_eq!(
            message,
            "input, row 1, column `#1`: `a` is not a number: is this row a header?"
        );
    }

    #[test]
    fn rows_of_another_length_are_named() {
        assert_eq!(
            message(&y(), "a,y\n1,2\n\n1,2,3\n"),
            "input: row 4 has 3 cells, but the header has 2"
        );
        assert_eq!(
            message(&CsvReader::regression(Columns::Last).no_header(), "1,2\n1\n"),
            "input: row 2 has 1 cells, but the first row has 2"
        );
    }

    #[test]
    fn bad_numbers_are_named_with_row_and_column() {
        for (text, expected) in [
            (
                "a,y\n1,2\nlong,3\n",
                "row 3, column `a`: `long` is not a number: name the column in `categorical` if it \
                 holds labels",
            ),
            ("a,y\n1,2\ninf,3\n", "row 3, column `a`: `inf` is not a finite number"),
            ("a,y\n1,2\n1e999,3\n", "row 3, column `a`: `1e999` is not a finite number"),
            (
                "a,y\n\"1,5\",2\n",
                "row 2, column `a`: `1,5` is not a number: write decimals with a point",
            ),
            (
                "a,y\n1,x\n",
                "row 2, column `y`: `x` is not a number: classes are read by \
                 `CsvReader::classification`",
            ),
            ("a,y\n12kg,1\n13kg,2\n", "row 2, column `a`: `12kg` is not a number"),
            ("a,y\n1\u{0}\u{1b}[0m,1\n", "column `a`: `1\\0\\u{1b}[0m` is not a number"),
        ] {
            let message = message(&y(), text);
            assert!(message.contains(expected), "{message}");
        }
        let long = message(&y(), &format!("a,y\n1,{}\n", "x".repeat(1000)));
        assert!(long.len() < 200, "{long}");
    }

    #[test]
    fn bytes_that_are_no_text_are_errors() {
        let error = y().read(&b"a,y\n1,2\ncaf\xE9,3\n"[..]).unwrap_err().to_string();
        assert_eq!(error, "input: row 3 is not UTF-8 text (byte 0xe9); save the file as UTF-8");
        let error = y().read(&b"\xFF\xFEa\0"[..]).unwrap_err().to_string();
        assert_eq!(error, "input: the file is UTF-16 text; save it as UTF-8");
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
        assert_eq!(
            message(&y(), text),
            "input, row 3, column `b`: missing value (``); 4 in all, in 3 of 5 rows: fill them in, \
             or leave these rows out by `drop_missing_rows`"
        );
        let data = y().drop_missing_rows().read(text.as_bytes()).unwrap();
        assert_eq!(data.dropped, [3, 4, 5]);
        assert_eq!(data.dataset.feature_names(), ["a", "b=x", "b=z"]);
        assert_eq!(data.dataset.rows(), 2);
        // An ignored column may lack what it likes.
        let data = y().ignore(["b"]).drop_missing_rows().read(text.as_bytes()).unwrap();
        assert_eq!(data.dropped, [4, 5]);
        let own = y().missing(["-999"]);
        assert!(message(&own, "a,y\n1,2\n-999,3\n").contains("row 3, column `a`: missing value"));
        assert!(message(&own, "a,y\n1,2\nNA,3\n").contains("`NA` is not a number"));
        assert!(message(&own, "a,y\n1,2\n,3\n").contains("`` is not a number"));
        let none = y().drop_missing_rows();
        assert!(message(&none, "a,y\n,2\n1,\n").contains("no row is without missing values: 2"));
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
        assert!(message(&y().categorical(["z"]), text).contains("named `z`"));
        assert!(message(&y().categorical(["y"]), text).contains("among the features"));
        let one_level = y().encoding(Encoding::DropFirst);
        assert!(message(&one_level, "a,y\nx,1\nx,2\n").contains("`a` is `x` in all rows"));
    }

    #[test]
    fn identifiers_are_not_taken_for_levels() {
        let rows = |n: usize| (0..n).map(|i| format!("id{i},{i},{i}\n")).collect::<String>();
        let text = format!("name,a,y\n{}", rows(51));
        assert!(message(&y(), &text).contains("column `name` holds text of 51 kinds"));
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
        assert!(message(&kind(), &format!("a,kind\n{many}")).contains("is this a regression?"));
    }

    #[test]
    fn counts_are_whole_numbers() {
        let reader = CsvReader::counts(["hits", "misses"]);
        let data = reader.read("dose,misses,hits\n1,3,4\n".as_bytes()).unwrap().dataset;
        assert_eq!(data.response().counts().unwrap().row(0).to_vec(), [4.0, 3.0]);
        for bad in ["-1", "0.5", "1e300"] {
            let message = message(&reader, &format!("dose,misses,hits\n1,{bad},4\n"));
            assert!(message.contains("is not a count"), "{message}");
        }
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
        for (text, expected) in [
            (
                "a,s,kind\n1,M,x\n2,F,z\n",
                "row 3, column `kind`: `z` is not among the classes of the training file: x, y",
            ),
            (
                "a,s,kind\n1,I,x\n",
                "row 2, column `s`: `I` is not among the levels of the training file: F, M",
            ),
            ("a,kind\n1,x\n", "no column of input named `s`; there are: a, kind"),
            ("a,s,b,kind\n1,M,1,x\n", "column `b` is not in the training file"),
        ] {
            let message = schema.read(text.as_bytes()).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let reader = CsvReader::regression(Columns::Last).no_header();
        let schema = reader.read("1,2\n3,4\n".as_bytes()).unwrap().schema;
        assert!(schema.read("5,6\n".as_bytes()).is_ok());
        let error = schema.read("5,6,7\n".as_bytes()).unwrap_err().to_string();
        assert_eq!(error, "input: there are 3 columns, but the training file has 2");
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
        for cut in [2, 9, packed.len() - 1] {
            let error = kind().read(&packed[..cut]).unwrap_err();
            assert!(
                error.is_data() && error.to_string().contains("gzip data cannot be"),
                "{error}"
            );
        }
        packed[12] ^= 0x55;
        assert!(kind().read(&packed[..]).unwrap_err().to_string().contains("gzip data cannot be"));
    }

    #[test]
    fn files_that_cannot_be_opened_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none.csv");
        let error = y().read_path(&path).unwrap_err();
        assert!(error.is_io() && error.to_string().contains("none.csv"));
        assert!(y().read_path(folder.path()).unwrap_err().is_io());
        std::fs::write(&path, "a,y\n1,x\n").unwrap();
        let error = y().read_path(&path).unwrap_err().to_string();
        assert!(error.contains("none.csv, row 2, column `y`: `x`"), "{error}");
    }
}
