//! Tables of text: CSV and its relatives.

mod blocks;
mod choices;
mod column;
mod dates;
mod decimal;
mod describe;
mod findings;
mod frame;
mod learn;
mod lines;
mod numbers;
mod role;
mod sample;
mod schema;
mod stand_in;
mod table;
mod table_column;
mod typed;

use std::fmt;
use std::io::Read;
use std::path::Path;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

pub use self::blocks::StoredCsv;
pub use self::choices::{Charset, DateOrder, Encoding};
pub use self::column::Fill;
pub(crate) use self::column::{indicator, new_group};
pub use self::dates::Dates;
pub use self::decimal::Decimal;
pub use self::describe::{ColumnDescription, Description};
pub use self::findings::Finding;
pub(crate) use self::findings::{FEW_GRADES, ROWS_OF_GRADE};
pub use self::frame::{FateOfText, LearntFeatures, TextOfKinds};
pub use self::learn::classes_in_order;
pub use self::lines::Lines;
use self::sample::Sample;
pub use self::sample::rows_drawn;
pub use self::schema::Schema;
pub use self::stand_in::StandIn;
use self::table::Table;
pub use self::table_column::{TableColumn, ValueKind};
pub use self::typed::{ColumnType, TypedTable, Value};
use super::gzip::{Source, default_limit};
use super::{Dataset, Task};
use crate::Error;

/// Names one or more columns of a table.
///
/// `"name"`, `["name", "name"]` and a position convert into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Columns {
    /// The last column.
    Last,
    /// Columns by name; `#1`, `#2`, ... in a table without header.
    Named(Vec<String>),
    /// Columns by position, counted from 0.
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

/// Reads a table of text as a [`Dataset`].
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
///
/// ```
/// use bnn_mcmc::data::CsvReader;
/// let train = "sex,length,rings\nM,0.4,15\nF,0.5,7\nM,0.6,9\n";
/// let test = "sex,length,rings\nF,0.3,8\n";
///
/// let train = CsvReader::regression("rings").read(train.as_bytes())?;
/// assert_eq!(train.dataset.feature_names(), ["sex=F", "sex=M", "length"]);
/// // A test file is read as the training file was: the same columns, levels and classes.
/// let test = train.schema.read(test.as_bytes())?;
/// assert_eq!(test.dataset.x().row(0).to_vec(), [1.0, 0.0, 0.3]);
///
/// // What it lacks, and what is new in it, is said.
/// let new = train.schema.read("sex,length,rings\nF,NA,8\nI,0.2,5\n".as_bytes())?;
/// assert_eq!(new.dataset.x(), &ndarray::array![[1.0, 0.0, 0.5], [0.0, 0.0, 0.2]]);
/// assert_eq!(
///     new.stand_ins[0].to_string(),
///     "`length` has no value in 1 row: the median 0.5 stands there"
/// );
/// assert_eq!(
///     new.stand_ins[1].to_string(),
///     "`sex` has labels in 1 row that the training file does not have: `I`"
/// );
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # What is taken for what
/// - **Cells** are split at the delimiter and stripped of blanks. A cell may be enclosed in
///   quotation marks, then it may hold the delimiter, and `""` for a quotation mark, but no line
///   break. Blank lines are skipped. Lines end in LF, CRLF or CR.
/// - **Numbers** are written as in Rust and most languages, `-1.5e3`, unless
///   [`decimal`](CsvReader::decimal) says otherwise. Infinite numbers are errors.
/// - **Missing values** of features: see [`Fill`]. Rows whose response is missing are left out,
///   and [`CsvData::dropped`] names them; with
///   [`drop_missing_rows`](CsvReader::drop_missing_rows) all rows with a missing value. See
///   [`missing`](CsvReader::missing) for the cells that stand for one.
/// - **Categorical features** are the columns named by [`categorical`](CsvReader::categorical) and
///   those in which no cell is a number, also not one in another way of writing (`1,5`), or a date;
///   `1st` and `25-34` are labels. A column that was not named is refused as a likely identifier if it
///   has more than 50 levels, or more than 10 and more than half as many as there are rows. A level
///   that does not occur in the training file is 0 in all features of its column; as a
///   [code](Encoding::Codes), the median.
/// - **Dates and times** in ISO 8601 and the usual forms become the features of [`Dates`], if all cells
///   of a column are some; a column that was named as categorical keeps its labels. Where day and month
///   are numbers in an order that no cell tells, it is an error: see
///   [`date_order`](CsvReader::date_order).
/// - **Levels and classes** are sorted by size if all of them are numbers, else as text in the
///   order of Unicode: capitals before small letters. They count from 0 in this order. One
///   number written in two ways (`1` and `1.0`) is an error.
/// - **Gzip** is recognised by its first two bytes and unpacked, UTF-16 by its byte-order mark; other text
///   is UTF-8 unless [`charset`](CsvReader::charset) says otherwise.
/// - **Sizes**: more than 1 GiB of text is refused unless [`limit`](CsvReader::limit) allows it or [some of its
///   rows](CsvReader::sample) are to be drawn.
///   Numbers of more than four times as many bytes, which labels can become, are refused as well,
///   and so are names of features (`column=level`). A row has at most 2^20 cells, a column at most
///   2^16 levels or classes. While a file is read, memory holds its text, which is unpacked first, 8
///   bytes for each number of the data set, and for each column, level, class and feature some 200
///   bytes and a few copies of its name. Numbers that do not fit into [memory](crate::memory) are
///   refused.
/// - **Row** in an error is the line of the file, counted from 1; **columns** without a header are
///   named `#1`, `#2`, ...
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exposure: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    row_weights: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    groups: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    classes: Vec<String>,
    #[serde(default, skip_serializing_if = "Charset::is_utf8")]
    charset: Charset,
    #[serde(default, skip_serializing_if = "Decimal::is_plain")]
    decimal: Decimal,
    #[serde(default, skip_serializing_if = "DateOrder::is_auto")]
    date_order: DateOrder,
    /// Whether missing values are drawn by the fit: only the words about them differ.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    imputes: bool,
    #[serde(default = "default_limit")]
    limit: u64,
    /// Of a training file alone.
    #[serde(skip)]
    sample: Option<Sample>,
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
            exposure: None,
            row_weights: None,
            groups: Vec::new(),
            event: None,
            until: None,
            classes: Vec::new(),
            charset: Charset::Utf8,
            decimal: Decimal::Plain,
            date_order: DateOrder::Auto,
            imputes: false,
            limit: default_limit(),
            sample: None,
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

    /// For counts: one column of how often something happened, or a column for each category;
    /// binomial data are successes and failures.
    pub fn counts(response: impl Into<Columns>) -> Self {
        Self::new(Task::Counts, response.into())
    }

    /// For times, some of which are known only to be longer, or to lie between bounds, in one column; another one says
    /// which, named by [`event`](Self::event) or [`until`](Self::until).
    ///
    /// ```
    /// use bnn_mcmc::data::CsvReader;
    /// let reader = CsvReader::survival("days").event("died");
    /// let data = reader.read("age,days,died\n61,310,1\n44,1022,0\n".as_bytes())?.dataset;
    /// let (from, to) = data.response().bounds().unwrap();
    /// assert_eq!((from[0], to[0]), (310.0, 310.0));
    /// assert_eq!((from[1], to[1]), (1022.0, f64::INFINITY));
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn survival(response: impl Into<Columns>) -> Self {
        Self::new(Task::Survival, response.into())
    }

    /// For a response of any kind.
    pub fn of(task: Task, response: impl Into<Columns>) -> Self {
        Self::new(task, response.into())
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

    /// The encoding of categorical features as numbers; [`Encoding::OneHot`] by default.
    pub fn encoding(self, encoding: Encoding) -> Self {
        Self { encoding, ..self }
    }

    /// The cells that stand for a missing value, in capitals or small letters. Without this
    /// call they are the empty cell, `NA`, `N/A`, `NaN`, `null` and `?`.
    pub fn missing<S: Into<String>>(self, markers: impl IntoIterator<Item = S>) -> Self {
        Self { missing: markers.into_iter().map(Into::into).collect(), ..self }
    }

    /// Leaves out rows with a missing value in a feature, too, rather than [filling](Fill) it.
    /// [`CsvData::dropped`] names these rows.
    pub fn drop_missing_rows(self) -> Self {
        Self { drop_missing_rows: true, ..self }
    }

    /// The column of the exposure of a count, such as the years in which it was counted: numbers
    /// above 0. Its logarithm, `log column`, is the last feature, for a model with an
    /// [offset](crate::model::Offset). Rows without it are left out.
    pub fn exposure(self, column: impl Into<String>) -> Self {
        Self { exposure: Some(column.into()), ..self }
    }

    /// The column of the weights of rows: a row of weight w stands for w rows that are equal to it
    /// ([`Dataset::with_weights`]), finite numbers from 0 on, not all 0. It is no feature. A cell without a weight is an
    /// error, unless [rows with missing values are left out](Self::drop_missing_rows). Medians that stand in for missing
    /// values are weighted. A later file with a header may lack the column, and has no weights then; one without a
    /// header has all columns, or neither the response nor the weights.
    ///
    /// ```
    /// use bnn_mcmc::data::CsvReader;
    /// let reader = CsvReader::regression("rings").row_weights("shells");
    /// let data = reader.read("length,shells,rings\n0.4,3,15\n0.5,1,7\n".as_bytes())?.dataset;
    /// assert_eq!(data.feature_names(), ["length"]);
    /// assert_eq!(data.weights().unwrap().to_vec(), [3.0, 1.0]);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn row_weights(self, column: impl Into<String>) -> Self {
        Self { row_weights: Some(column.into()), ..self }
    }

    /// The column of the weights of rows, if there is one.
    pub(crate) fn weights_column(&self) -> Option<&str> {
        self.row_weights.as_deref()
    }

    /// The column that says of each time whether its event happened then (1 or true), or had not happened by then (0 or
    /// false). It is no feature. Rows without it are left out.
    pub fn event(self, column: impl Into<String>) -> Self {
        Self { event: Some(column.into()), ..self }
    }

    /// The column of the upper bounds of times, equal to the time if it was observed. Missing or `inf` says that there
    /// is none. It is no feature.
    pub fn until(self, column: impl Into<String>) -> Self {
        Self { until: Some(column.into()), ..self }
    }

    /// Whether missing values are drawn by the fit.
    pub(crate) fn imputed(self, imputes: bool) -> Self {
        Self { imputes, ..self }
    }

    /// The name of the feature that is the log of the exposure, if there is one.
    pub(crate) fn offset(&self) -> Option<String> {
        self.exposure.as_ref().map(|column| format!("log {column}"))
    }

    /// A column of the group that a row belongs to, such as a school or a patient, for a model with
    /// [intercepts of groups](crate::model::Skip::intercepts); another call is another grouping. Cells are labels, and any number of levels is
    /// right. After the features come one indicator for each group, `column=group`, and one for a group that
    /// the training file does not have, `column is new`. Rows of the training file without a group are left
    /// out; in other files their group is a new one.
    ///
    /// ```
    /// use bnn_mcmc::data::CsvReader;
    /// let train = "school,size,score\nA,20,1.5\nB,25,1.7\nA,22,1.1\n";
    /// let schema = CsvReader::regression("score").group("school").read(train.as_bytes())?.schema;
    /// assert_eq!(schema.feature_names(), ["size", "school=A", "school=B", "school is new"]);
    /// let new = schema.read_features("school,size\nB,18\nC,30\n".as_bytes())?;
    /// assert_eq!(new.x, ndarray::array![[18.0, 0.0, 1.0, 0.0], [30.0, 0.0, 0.0, 1.0]]);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn group(mut self, column: impl Into<String>) -> Self {
        self.groups.push(column.into());
        self
    }

    /// The columns of groups.
    pub(crate) fn groupings(&self) -> &[String] {
        &self.groups
    }

    /// The classes in their order, such as `["poor", "fair", "good"]` for an
    /// [`Ordinal`](crate::likelihood::Ordinal) likelihood. A class that is not named is an error; one
    /// that does not occur is left out.
    pub fn classes<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        Self { classes: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// The encoding of the text; [`Charset::Utf8`] by default. UTF-16 with a byte-order mark is recognised.
    pub fn charset(self, charset: Charset) -> Self {
        Self { charset, ..self }
    }

    /// The writing of numbers; [`Decimal::Plain`] by default.
    ///
    /// ```
    /// use bnn_mcmc::data::{CsvReader, Decimal};
    /// let reader = CsvReader::regression("y").delimiter(b';').decimal(Decimal::Comma);
    /// let data = reader.read("a;y\n1,5;1.200\n2;3.400,25\n".as_bytes())?.dataset;
    /// assert_eq!(data.real()?.column(0).to_vec(), [1200.0, 3400.25]);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn decimal(self, decimal: Decimal) -> Self {
        Self { decimal, ..self }
    }

    /// The order of day and month where both are numbers; [`DateOrder::Auto`] by default.
    pub fn date_order(self, date_order: DateOrder) -> Self {
        Self { date_order, ..self }
    }

    /// More than `bytes` bytes of text, counted after unpacking, are refused, and numbers or names
    /// of features of more than four times as many bytes. Without this call the limit is 1 GiB.
    pub fn limit(self, bytes: u64) -> Self {
        Self { limit: bytes, ..self }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If the file cannot be opened, or anything in it is not as the [`CsvReader`] says. The
    /// message names the row, the column and the value where there is one to blame.
    pub fn read_path(&self, path: impl AsRef<Path>) -> Result<CsvData, Error> {
        self.read_source(Source::open(path.as_ref())?)
    }

    /// Reads from anything that yields bytes; errors call it `input`.
    ///
    /// # Errors
    /// The errors of [`read_path`](Self::read_path).
    pub fn read(&self, source: impl Read) -> Result<CsvData, Error> {
        self.read_source(Source::new("input", source)?)
    }

    fn read_source(&self, mut source: Source) -> Result<CsvData, Error> {
        let (text, drawn_from) = self.training_text(&mut source)?;
        let read = self.learn(&Table::new(self, &source.name, &text, 2)?)?;
        Ok(CsvData { drawn_from, ..read })
    }

    /// Reads a table whose columns have types.
    ///
    /// # Errors
    /// The errors of [`read_path`](Self::read_path); a column of [another type](ColumnType::Other) that is
    /// not [ignored](Self::ignore).
    pub fn read_table(&self, table: &TypedTable) -> Result<CsvData, Error> {
        table.check_limit(self.limit)?;
        let read = self.learn(&Table::typed(table, 2)?)?;
        Ok(CsvData { drawn_from: table.drawn_from(), ..read })
    }

    fn learn(&self, table: &Table) -> Result<CsvData, Error> {
        let roles = self.assign_columns(table)?;
        let reader = Self { sample: None, ..self.clone() };
        let (schema, count) = Schema::fit(&reader, table, roles)?;
        schema.train(table, count)
    }

    /// The columns of the response, as they were named.
    pub(crate) fn response(&self) -> &Columns {
        &self.response
    }

    /// The text of a file, as UTF-8.
    fn text(&self, source: &mut Source) -> Result<Vec<u8>, Error> {
        let bytes = source.read_text(self.limit)?;
        self.decoded(bytes, source)
    }

    fn decoded(&self, bytes: Vec<u8>, source: &Source) -> Result<Vec<u8>, Error> {
        self.decoded_as(self.encoding_of(&bytes), bytes, source)
    }

    /// The encoding of a text with this beginning.
    fn encoding_of(&self, beginning: &[u8]) -> &'static encoding_rs::Encoding {
        match (encoding_rs::Encoding::for_bom(beginning), self.charset) {
            (Some((encoding, _)), _) => encoding,
            (None, Charset::Latin1) => encoding_rs::WINDOWS_1252,
            (None, _) => encoding_rs::UTF_8,
        }
    }

    fn decoded_as(
        &self,
        encoding: &'static encoding_rs::Encoding,
        bytes: Vec<u8>,
        source: &Source,
    ) -> Result<Vec<u8>, Error> {
        // Of UTF-8 wrong bytes are named by their lines later.
        if encoding == encoding_rs::UTF_8 {
            return Ok(bytes);
        }
        let (text, has_errors) = encoding.decode_with_bom_removal(&bytes);
        match has_errors {
            true => Err(source.problem(format!("the file is not {} text", encoding.name()))),
            false => Ok(text.into_owned().into_bytes()),
        }
    }
}

impl CsvReader {
    /// The settings of single columns that were made, beside those that are always said.
    fn columns_in_words(&self) -> String {
        let named = |what: &str, column: &Option<String>| match column {
            None => String::new(),
            Some(column) => format!("; {what}: `{column}`"),
        };
        let some = |what: &str, names: &[String]| match names {
            [] => String::new(),
            names => format!("; {what}: {}", listed(names)),
        };
        let bounds = match (&self.event, &self.until) {
            (event @ Some(_), _) => named("event", event),
            (None, until) => named("until", until),
        };
        [
            named("exposure", &self.exposure),
            named("weights of rows", &self.row_weights),
            some("groups", &self.groups),
            bounds,
            some("classes in order", &self.classes),
        ]
        .concat()
    }

    /// The settings of how cells are written, where they are not those of a plain file.
    fn writing_in_words(&self) -> String {
        let charset = match self.charset {
            Charset::Utf8 => "",
            Charset::Latin1 => "; text in Latin-1",
        };
        let numbers = match self.decimal {
            Decimal::Plain => "",
            Decimal::Point => "; numbers with a decimal point, thousands apart",
            Decimal::Comma => "; numbers with a decimal comma",
        };
        let order = match self.date_order {
            DateOrder::Auto => "",
            DateOrder::DayFirst => "; dates with the day first",
            DateOrder::MonthFirst => "; dates with the month first",
        };
        [charset, numbers, order].concat()
    }
}

/// Names in a line, or that there are none.
fn listed(names: &[String]) -> String {
    match names {
        [] => "none".to_string(),
        names => format!("`{}`", names.join("`, `")),
    }
}

/// The settings by which a file is read, in words.
impl fmt::Display for CsvReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.task.word();
        let response = match &self.response {
            Columns::Last => "the last column".to_string(),
            Columns::Named(names) => listed(names),
            Columns::At(places) => format!("column {places:?}, from 0"),
        };
        let header = match self.header {
            Header::Expected => "the first line, whose names are no numbers",
            Header::Insisted => "the first line",
            Header::None => "none",
        };
        let apart = match self.delimiter {
            Delimiter::Byte(b'\t') => "a tab".to_string(),
            Delimiter::Byte(byte) => format!("`{}`", char::from(byte).escape_debug()),
            Delimiter::Blanks => "blanks".to_string(),
            Delimiter::Detect => "what the first line has".to_string(),
        };
        let encoding = match self.encoding {
            Encoding::OneHot => "one-hot",
            Encoding::DropFirst => "one-hot without the first",
            Encoding::Codes => "numbered",
        };
        let ends = match self.drop_missing_rows {
            true => "leave their rows out",
            false => "are filled in",
        };
        write!(
            f,
            "response: {response}, {kind}; header: {header}; cells apart by {apart}; columns left out: {}; columns \
             taken for labels besides columns of text: {}, {encoding}; missing values, which {ends}: {}{}{}; at most \
             {} bytes",
            listed(&self.ignored),
            listed(&self.categorical),
            listed(&self.missing),
            self.columns_in_words(),
            self.writing_in_words(),
            self.limit
        )
    }
}

/// The result of reading a file: the data, and how to read other files in the same way.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CsvData {
    /// The rows.
    pub dataset: Dataset,
    /// The columns, levels and classes found, to read a test file with.
    pub schema: Schema,
    /// The line of the file that each row comes from, counted from 1; of a [`TypedTable`] its row.
    pub lines: Lines,
    /// The lines of the file that were left out because of a missing value: of the response, or of any
    /// column if [`drop_missing_rows`](CsvReader::drop_missing_rows) was asked for.
    pub dropped: Vec<usize>,
    /// The cells of features that something else stands in for.
    pub stand_ins: Vec<StandIn>,
    /// The number of rows of the file, if only [some](CsvReader::sample) were drawn; of a [`TypedTable`], if some were
    /// [skipped](TypedTable::skip_rows).
    pub drawn_from: Option<usize>,
}

/// The features of rows whose response is not known. From [`Schema::read_features_path`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Features {
    /// `[rows x features]`.
    pub x: Array2<f64>,
    /// The names of the features.
    pub names: Vec<String>,
    /// The line of the file that each row comes from, counted from 1; of a [`TypedTable`] its row.
    pub lines: Lines,
    /// The lines of the file that were left out because of a missing value; empty unless
    /// [`drop_missing_rows`](CsvReader::drop_missing_rows) was asked for.
    pub dropped: Vec<usize>,
    /// The cells of features that something else stands in for.
    pub stand_ins: Vec<StandIn>,
    /// The columns of the file that the training file does not have, which were not read.
    pub unused: Vec<String>,
}

#[cfg(test)]
mod tests;
