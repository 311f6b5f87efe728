//! The rows of a file, and the problems of cells.

use std::collections::HashMap;

use super::role::Role;
use super::typed::{Cell, ColumnType, TypedTable};
use super::{CsvReader, Decimal, Delimiter, Header, Lines};
use crate::Error;
use crate::cells::{Rows, Separator, decode, shown};
use crate::data::Task;
use crate::data::dataset::{NOT_A_WEIGHT, is_count, is_weight};
use crate::error::Row;
use crate::message::{self, Advice};

/// What rows are handed to: the line of each, or its number in a table with types, and its cells.
type TakesRow<'f, 't> = &'f mut dyn FnMut(usize, &[Cell<'t>]) -> Result<(), Error>;

/// What kept rows are handed to: the line of each, its cells, and which of them are missing.
type TakesMarkedRow<'f, 't> = &'f mut dyn FnMut(usize, &[Cell<'t>], &[bool]);

/// The reason why a column of another type is refused.
pub(super) const OTHER_TYPE: &str = "which is neither numbers, text, true and false, nor dates";

/// The rows of a table in another form, which are cut into cells on every pass: only that form is kept.
pub(super) struct Table<'t> {
    pub(super) file: String,
    header: Header,
    pub(super) decimal: Decimal,
    pub(super) names: Vec<String>,
    body: Body<'t>,
    /// Whether rows of the same file were read before.
    pub(super) continues: bool,
}

/// What the rows are cut from.
enum Body<'t> {
    /// The text below the header.
    Text(Rows<'t>),
    Typed(&'t TypedTable),
}

/// The number of rows that are kept, and the number of rows left out.
pub(super) struct Count {
    pub(super) complete: usize,
    pub(super) dropped: usize,
    /// The number of missing values of each column in the rows that are kept.
    pub(super) missing: Vec<usize>,
}

/// The missing values of the rows so far.
struct Gaps {
    count: Count,
    /// Which cells of the row are missing.
    is_missing: Vec<bool>,
    /// The line, the column and the text of the first missing value.
    first: Option<(usize, usize, String)>,
    /// The number of missing values, and of rows that have any.
    all: usize,
    rows: usize,
    /// The line and the column of the first missing value whose row is left out.
    needed: Option<(usize, usize)>,
    /// Whether there is one that nothing stands in for.
    is_refused: bool,
}

impl Gaps {
    /// Of no row as yet, of so many cells.
    fn of(columns: usize) -> Self {
        let count = Count { complete: 0, dropped: 0, missing: vec![0; columns] };
        let is_missing = vec![false; columns];
        Self { count, is_missing, first: None, all: 0, rows: 0, needed: None, is_refused: false }
    }

    /// Takes one more row. Returns whether it is kept.
    fn add(
        &mut self,
        table: &Table,
        (reader, roles, fills): (&CsvReader, &[Role], &[bool]),
        line: usize,
        cells: &[Cell],
    ) -> bool {
        let (before, mut drops) = (self.all, false);
        for (j, cell) in cells.iter().enumerate() {
            self.is_missing[j] = roles[j] != Role::Ignored && table.is_missing(reader, cell);
            if !self.is_missing[j] {
                continue;
            }
            self.all += 1;
            let (is_feature, fills) = (roles[j] == Role::Feature, fills[j]);
            // A row without a weight is an error later.
            let is_needed = !is_feature && !fills && roles[j] != Role::Weight;
            if roles[j] != Role::Until && (is_needed || reader.drop_missing_rows) {
                drops = true;
                self.needed.get_or_insert((line, j));
            }
            self.is_refused |= is_feature && !fills && !reader.drop_missing_rows;
            self.first.get_or_insert_with(|| (line, j, shown(&cell.text())));
        }
        self.rows += usize::from(self.all > before);
        if drops {
            self.count.dropped += 1;
            return false;
        }
        self.count.complete += 1;
        if self.all > before {
            let missing = self.count.missing.iter_mut().zip(&self.is_missing);
            missing.for_each(|(n, is)| *n += usize::from(*is));
        }
        true
    }

    /// The count of all rows; an error if none is left, or a missing value is refused.
    fn end(self, table: &Table) -> Result<Count, Error> {
        let count = self.count;
        let rows = count.complete + count.dropped;
        if rows == 0 {
            let problem = match table.has_lines() {
                false => "the table has no rows",
                true => "there is a header, but no row below it",
            };
            return Err(table.problem(problem.into()));
        }
        if let (true, Some((line, column))) = (table.is_frame(), self.needed) {
            return Err(table.cell_problem(line, column, "the value is missing".into()));
        }
        let Some((line, column, cell)) = self.first else { return Ok(count) };
        let rows = message::count(rows, "row");
        let in_all = format!("{} in all, in {} of {rows}", self.all, self.rows);
        if self.is_refused {
            let problem = format!("missing value (`{cell}`); {in_all}");
            let advice = [Advice::FillIn, Advice::DropMissing];
            return Err(table.cell_problem(line, column, problem).advise(advice));
        }
        if count.complete == 0 && !table.continues {
            return Err(table.problem(format!("missing values leave no row: {in_all}")));
        }
        Ok(count)
    }
}

impl<'t> Table<'t> {
    /// `fewest` is the number of columns that there must be, 1 or more.
    pub(super) fn new(
        reader: &CsvReader,
        file: &str,
        bytes: &'t [u8],
        fewest: usize,
    ) -> Result<Self, Error> {
        let problem = |problem: String| Error::table(file, problem);
        let advice = ["save it as UTF-8".into(), Advice::Latin1];
        let text = decode(bytes, 1).map_err(|found| problem(found).advise(advice))?;
        let separator = separator(reader.delimiter, text)?;
        let mut body = Rows::new(text, separator);
        let top = body.clone();
        let first = body.first().map_err(problem)?;
        match &first[..] {
            [] => return Err(problem("the file is empty".into())),
            [only] if fewest > 1 => {
                return Err(problem(format!(
                    "the first row has a single column, `{}`: is another delimiter used?",
                    shown(only)
                )));
            }
            _ => {}
        }
        let n_columns = first.len();
        let mut names: Vec<String> = (0..n_columns).map(numbered).collect();
        if reader.header == Header::None {
            body = top;
        } else {
            if let (Header::Expected, Some(number)) = (
                reader.header,
                first.iter().find(|name| starts_like_number(name) && name.parse::<f64>().is_ok()),
            ) {
                let found = format!("the header has a number for a name, `{}`", shown(number));
                return Err(problem(found).advise([Advice::NoHeader, Advice::Header]));
            }
            for (name, cell) in names.iter_mut().zip(first).filter(|(_, cell)| !cell.is_empty()) {
                *name = cell.into_owned();
            }
            check_names(&names).map_err(problem)?;
        }
        let (file, header, decimal) = (file.into(), reader.header, reader.decimal);
        Ok(Self { file, header, decimal, names, body: Body::Text(body), continues: false })
    }

    /// The rows of a text that continues the file of this table at a line, under the same header.
    pub(super) fn continued<'r>(&self, bytes: &'r [u8], line: usize) -> Result<Table<'r>, Error> {
        let advice = ["save it as UTF-8".into(), Advice::Latin1];
        let text = decode(bytes, line).map_err(|found| self.problem(found).advise(advice))?;
        let (file, names) = (self.file.clone(), self.names.clone());
        let (header, decimal) = (self.header, self.decimal);
        let body = match &self.body {
            Body::Text(rows) => Body::Text(rows.of_rest(text, line)),
            Body::Typed(_) => return Err(self.problem("a table with types is no text".into())),
        };
        Ok(Table { file, header, decimal, names, body, continues: true })
    }

    /// Whether there are no rows.
    pub(super) fn is_blank(&self) -> Result<bool, Error> {
        match &self.body {
            Body::Typed(typed) => Ok(typed.places.rows() == 0),
            Body::Text(rows) => {
                let first = rows.clone().next(&mut Vec::new(), 1);
                Ok(first.map_err(|problem| self.problem(problem))?.is_none())
            }
        }
    }

    /// The line and the column of the first cell of a column that `is` holds of.
    pub(super) fn first_cell(
        &self,
        column: &str,
        is: impl Fn(&Cell) -> bool,
    ) -> Result<Option<(usize, usize)>, Error> {
        let column = self.names.iter().position(|name| name == column).unwrap_or(0);
        let mut first = None;
        self.each_row(&mut |line, cells| {
            if first.is_none() && is(&cells[column]) {
                first = Some((line, column));
            }
            Ok(())
        })?;
        Ok(first)
    }

    /// A table with types, of which there must be `fewest` columns.
    pub(super) fn typed(typed: &'t TypedTable, fewest: usize) -> Result<Self, Error> {
        typed.check_rows()?;
        let (file, names) = (typed.name.clone(), typed.names.clone());
        let (header, decimal, body) = (Header::Insisted, Decimal::Plain, Body::Typed(typed));
        let table = Self { file, header, decimal, names, body, continues: false };
        if table.names.len() < fewest {
            let found = message::count(table.names.len(), "column");
            return Err(table.problem(format!("the table has {found}, but needs {fewest}")));
        }
        check_names(&table.names).map_err(|problem| table.problem(problem))?;
        Ok(table)
    }

    /// Whether the rows are those of a data frame.
    pub(super) fn is_frame(&self) -> bool {
        self.of_types().is_some_and(|typed| typed.is_frame)
    }

    /// The numbers of a column of a data frame, none of whose rows is left out; `None` where it holds others, too.
    pub(super) fn all_numbers(&self, column: usize) -> Option<&'t [f64]> {
        self.of_types().filter(|typed| typed.is_frame)?.numbers(column)
    }

    /// The table with types, if it is one.
    pub(super) fn of_types(&self) -> Option<&'t TypedTable> {
        match self.body {
            Body::Text(_) => None,
            Body::Typed(typed) => Some(typed),
        }
    }

    /// The type of a column; `None` in a table of text.
    pub(super) fn type_of(&self, column: usize) -> Option<&'t ColumnType> {
        self.of_types().map(|typed| &typed.types[column])
    }

    /// Whether a column holds what is neither numbers, text nor dates.
    pub(super) fn is_other(&self, column: usize) -> bool {
        matches!(self.type_of(column), Some(ColumnType::Other(_)))
    }

    /// Whether the type of a column says that no cell is a number or a date.
    pub(super) fn holds_text(&self, column: usize) -> bool {
        let text = [ColumnType::Text, ColumnType::Labels, ColumnType::Bools];
        self.type_of(column).is_some_and(|of| text.contains(of))
    }

    /// An error if a column that has a role is of a type that is none for it.
    pub(super) fn check_types(&self, roles: &[Role]) -> Result<(), Error> {
        for (j, role) in roles.iter().enumerate() {
            if let (Some(ColumnType::Other(kind)), false) =
                (self.type_of(j), *role == Role::Ignored)
            {
                let column = self.names[j].clone();
                let problem =
                    format!("column `{}` has the type {kind}, {OTHER_TYPE}", shown(&column));
                let leave_out = Advice::Ignore { column, if_identifier: false };
                return Err(self.problem(problem).advise(["convert it".into(), leave_out]));
            }
        }
        Ok(())
    }

    /// Whether a cell has no value.
    pub(super) fn is_missing(&self, reader: &CsvReader, cell: &Cell) -> bool {
        cell.is_among(&reader.missing) || (!self.has_lines() && cell.is_empty())
    }

    /// The place of a row in a message, by the number that [`each_row`](Self::each_row) gives it.
    pub(super) fn place(&self, line: usize) -> Row {
        match self.has_lines() {
            true => Row::Line(line),
            false => Row::Number(line - usize::from(self.is_frame())), //~ row-of-frame
        }
    }

    /// Whether the rows are lines of a file.
    pub(super) fn has_lines(&self) -> bool {
        matches!(self.body, Body::Text(_))
    }

    /// The places of no row as yet.
    pub(super) fn no_lines(&self) -> Lines {
        if self.has_lines() { Lines::default() } else { Lines::of_rows() }
    }

    pub(super) fn problem(&self, problem: String) -> Error {
        Error::table(self.file.clone(), problem)
    }

    pub(super) fn cell_problem(&self, line: usize, column: usize, problem: String) -> Error {
        let column = shown(&self.names[column]);
        Error::Cell {
            table: self.file.clone(),
            row: self.place(line),
            column,
            problem,
            advice: Vec::new(),
        }
    }

    pub(super) fn has_header(&self) -> bool {
        self.header != Header::None
    }

    /// The place of each column by its name.
    pub(super) fn positions(&self) -> HashMap<&str, usize> {
        self.names.iter().enumerate().map(|(j, name)| (name.as_str(), j)).collect()
    }

    pub(super) fn position(
        &self,
        positions: &HashMap<&str, usize>,
        name: &str,
    ) -> Result<usize, Error> {
        positions.get(name).copied().ok_or_else(|| Error::UnknownName {
            what: format!("column of {}", self.file),
            name: name.into(),
            known: self.names.clone(),
        })
    }

    /// The place of each of `columns`, which this table must have: in any order, or in this one where
    /// there is no header. Returns, too, the names of the columns that it has besides.
    pub(super) fn order<'c>(
        &self,
        columns: impl ExactSizeIterator<Item = &'c str>,
    ) -> Result<(Vec<usize>, Vec<String>), Error> {
        if self.header == Header::None {
            let (found, expected) = (self.names.len(), columns.len());
            if found != expected {
                let found = message::count(found, "column");
                return Err(self.problem(format!(
                    "the table has {found}, but the training file has {expected}"
                )));
            }
            return Ok(((0..found).collect(), Vec::new()));
        }
        let positions = self.positions();
        let order =
            columns.map(|name| self.position(&positions, name)).collect::<Result<Vec<_>, _>>()?;
        let mut known = vec![false; self.names.len()];
        order.iter().for_each(|&j| known[j] = true);
        let besides = self.names.iter().zip(known).filter(|(_, known)| !known);
        Ok((order, besides.map(|(name, _)| name.clone()).collect()))
    }

    /// Hands every row to `take`, with its line; of a table with types, with its number, counted from 1.
    pub(super) fn each_row(&self, take: TakesRow<'_, 't>) -> Result<(), Error> {
        let mut row = Vec::with_capacity(self.names.len());
        match &self.body {
            Body::Text(rows) => {
                let what = if self.has_header() { "the header" } else { "the first row" };
                rows.each(&self.file, (what, self.names.len()), &mut |line, cells| {
                    row.clear();
                    row.extend(cells.iter().map(|cell| Cell::Text(cell.clone())));
                    take(line, &row)
                })
            }
            Body::Typed(typed) => (typed.places.iter().enumerate()).try_for_each(|(i, number)| {
                row.clear();
                row.extend((0..self.names.len()).map(|j| typed.cell(j, i)));
                take(number, &row) //~ typed-row
            }),
        }
    }

    /// Counts the rows and hands those that are kept to `take`, with the places of missing values. Rows
    /// whose response is missing are left out, and others if they are to be dropped. Where nothing
    /// `fills` a feature's missing value it is an error.
    pub(super) fn count(
        &self,
        reader: &CsvReader,
        roles: &[Role],
        fills: &[bool],
        take: TakesMarkedRow<'_, 't>,
    ) -> Result<Count, Error> {
        let mut gaps = Gaps::of(roles.len());
        self.each_row(&mut |line, cells| {
            if gaps.add(self, (reader, roles, fills), line, cells) {
                take(line, cells, &gaps.is_missing);
            }
            Ok(())
        })?;
        gaps.end(self)
    }

    /// 1 for true and 0 for false, as spreadsheets and programs write them.
    pub(super) fn truth(&self, (line, column): (usize, usize), cell: &Cell) -> Result<f64, Error> {
        let text = cell.text();
        let is = |name: &str| text.eq_ignore_ascii_case(name);
        match text.parse::<f64>() {
            Ok(value) if value == 0.0 || value == 1.0 => Ok(value),
            _ if is("true") => Ok(1.0),
            _ if is("false") => Ok(0.0),
            _ => {
                let problem = format!("`{}` is neither true (1) nor false (0)", shown(&text));
                Err(self.cell_problem(line, column, problem))
            }
        }
    }

    /// A finite number, or a count. `is_first` says that the cell is in the first row.
    pub(super) fn number(
        &self,
        (line, column): (usize, usize),
        cell: &Cell,
        (task, role): (Task, Role),
        is_first: bool,
    ) -> Result<f64, Error> {
        let counts = task.has_counts() && matches!(role, Role::Response(_));
        let mut advice = None;
        let found = cell.number(self.decimal).ok_or(());
        if let (Ok(value), Role::Feature) = (found, role)
            && value.is_finite()
        {
            return Ok(value);
        }
        let text = cell.text();
        let problem = match found {
            Ok(value) if role == Role::Exposure && !(value > 0.0 && value.is_finite()) => {
                "is not an exposure, which is a number above 0"
            }
            Ok(value) if role == Role::Weight && !is_weight(value) => NOT_A_WEIGHT,
            Ok(value) if role == Role::Until && value == f64::INFINITY => return Ok(value),
            Ok(value) if value.is_finite() => {
                if !counts || is_count(value) {
                    return Ok(value);
                }
                match value >= 0.0 && value.fract() == 0.0 {
                    true => "is beyond 2^53, up to which numbers hold a count",
                    false => "is not a count (0, 1, 2, ...)",
                }
            }
            Ok(_) => "is not a finite number",
            Err(())
                if [Decimal::Comma, Decimal::Point].iter().any(|d| d.parse(&text).is_some()) =>
            {
                advice = Some(Advice::DecimalMark);
                "is not a number"
            }
            Err(_) if is_first && self.header == Header::None && !self.continues => {
                "is not a number: is this row a header?"
            }
            Err(_) if role == Role::Feature && is_date(&text) => {
                advice = Some(Advice::MarkMissing);
                "is a date, and other cells of the column are none"
            }
            Err(_) if role == Role::Feature => {
                let column = self.names[column].clone();
                advice = Some(Advice::Categorical { column, if_labels: true });
                "is not a number"
            }
            Err(_) if matches!(role, Role::Exposure | Role::Weight | Role::Until) => {
                "is not a number"
            }
            Err(_) => {
                advice = Some(Advice::ReadClasses);
                "is not a number"
            }
        };
        let problem = format!("`{}` {problem}", shown(&text));
        Err(self.cell_problem(line, column, problem).advise(advice))
    }
}

/// The separator at which the lines of a text are cut into cells.
fn separator(delimiter: Delimiter, text: &str) -> Result<Separator, Error> {
    match delimiter {
        Delimiter::Byte(byte) if !byte.is_ascii() || b"\"\r\n".contains(&byte) => {
            let allowed = "one ASCII character other than a quotation mark or a line end";
            Err(Error::argument("delimiter", format!("byte {byte:#04x}"), allowed))
        }
        Delimiter::Byte(byte) => Ok(Separator::Char(char::from(byte))),
        Delimiter::Blanks => Ok(Separator::Blanks),
        Delimiter::Detect => {
            // Text in quotation marks does not count.
            let line = text.trim_start().split(['\n', '\r']).next().unwrap_or_default().trim();
            let outside = |c: char| line.split('"').step_by(2).any(|part| part.contains(c));
            let found = ['\t', ';', '|', ','].into_iter().find(|c| outside(*c));
            Ok(found.map_or(Separator::Blanks, Separator::Char))
        }
    }
}

/// Whether the first character, or the one after a sign or a point, is a digit.
fn starts_like_number(cell: &str) -> bool {
    cell.trim_start_matches(['+', '-', '.']).starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a cell cannot be a label, in a column that was not named as categorical: a number, one that is
/// written in another way, such as `1,5` or `1 200`, or a date. `1st` and `25-34` are labels.
pub(super) fn is_no_label(cell: &str, decimal: Decimal) -> bool {
    decimal.parse(cell).is_some()
        || (starts_like_number(cell) && (is_otherwise_written(cell) || is_date(cell)))
}

/// Whether a cell holds nothing but digits and what stands between the digits of one number.
fn is_otherwise_written(cell: &str) -> bool {
    let digits = cell.trim_start_matches(['+', '-']);
    digits.chars().all(|c| c.is_ascii_digit() || c.is_whitespace() || ".,'\u{2019}_".contains(c))
}

/// Whether a cell is a date, a time, or both: `2024-05-01`, `1.5.2024`, `05/01/24 10:30`, `1 May 2024`,
/// `2024-05`, `10:30`.
pub(super) fn is_date(cell: &str) -> bool {
    let cell = cell.trim();
    if is_time(cell) {
        return true;
    }
    // Without a day, 10:30-11:30 is no time with an offset.
    let without_offset = |time: &str| match time.rsplit_once('-') {
        Some((clock, offset)) if is_offset(offset) => is_time(clock), //~ negative-offset
        _ => is_time(time),
    };
    match cell.split_once(['T', ' ']) {
        Some((day, time)) if without_offset(time) => is_day(day),
        _ => is_day(cell),
    }
}

/// Whether a text is a time of the day: one with a colon is a time or nothing.
fn is_time(text: &str) -> bool {
    let clock = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let clock = clock.split(['+', 'Z']).next().unwrap_or_default();
    let parts: Vec<&str> = clock.split([':', '.']).collect();
    let is_part = |part: &&str| (1..=9).contains(&part.len()) && are_digits(part);
    clock.contains(':')
        && (2..=4).contains(&parts.len())
        && parts[1].len() == 2
        && parts.iter().all(is_part)
}

/// Whether a text is the offset of a time zone, without its sign.
fn is_offset(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.iter().all(|part| are_digits(part))
        && matches!((text.len(), parts.len()), (2 | 4, 1) | (5, 2))
}

/// Whether a text is a date without a time.
fn is_day(day: &str) -> bool {
    let separator = day.find(['-', '/', '.', ' ']).map(|at| &day[at..=at]);
    let Some(separator) = separator else { return false };
    let parts: Vec<&str> =
        day.split(separator).map(|part| part.trim_matches([',', '.', ' '])).collect();
    let number = |part: &str, digits: std::ops::RangeInclusive<usize>| -> Option<u32> {
        (are_digits(part) && digits.contains(&part.len())).then(|| part.parse().ok())?
    };
    let year = |part: &str| number(part, 4..=4).is_some();
    // 1.2.20 may be a version.
    let is_padded = separator == "/" || parts.iter().all(|part| part.len() >= 2);
    let short_year = |part: &str| year(part) || (is_padded && number(part, 2..=2).is_some());
    let of_day = |part: &str| number(part, 1..=2).is_some_and(|day| (1..=31).contains(&day));
    let of_month = |part: &str| number(part, 1..=2).is_some_and(|month| (1..=12).contains(&month));
    match parts[..] {
        [a, b, c] => {
            (year(a) && of_month(b) && of_day(c))
                || (short_year(c) && of_day(a) && of_day(b) && (of_month(a) || of_month(b)))
                || ((year(c) || number(c, 2..=2).is_some()) && of_day(a) && names_month(b))
                || (year(c) && names_month(a) && of_day(b))
        }
        [a, b] => separator == "-" && year(a) && of_month(b),
        _ => false,
    }
}

/// Whether a word is the name of a month or begins as one does.
fn names_month(word: &str) -> bool {
    const MONTHS: &str = "jan feb mar apr may jun jul aug sep oct nov dec";
    let start: String = word.chars().take(3).flat_map(char::to_lowercase).collect();
    let is_word = word.len() >= 3 && word.chars().all(char::is_alphabetic);
    is_word && MONTHS.split(' ').any(|month| month == start)
}

/// Whether all characters are digits.
fn are_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// An error if two columns have the same name.
fn check_names(names: &[String]) -> Result<(), String> {
    let mut seen = HashMap::with_capacity(names.len());
    for (j, name) in names.iter().enumerate() {
        if let Some(earlier) = seen.insert(name, j) {
            return Err(format!(
                "columns {} and {} have the same name, `{}`",
                earlier + 1,
                j + 1,
                shown(name)
            ));
        }
    }
    Ok(())
}

pub(super) fn numbered(column: usize) -> String {
    format!("#{}", column + 1)
}
