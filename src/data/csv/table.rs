//! The cells of a file, and the columns made of them.
//!
//! Cells are split here rather than by the crate `csv`, since that reads on past a quotation mark
//! which is never closed: the rest of the file would become one cell.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::{Column, CsvReader, Delimiter, Header, MANY_LEVELS, Role, Task};
use crate::Error;
use crate::data::dataset::shortened;

/// The cells of a file: as many in each row as there are names.
pub(super) struct Table<'a> {
    file: String,
    header: Header,
    pub(super) names: Vec<String>,
    /// The line of each row, counted from 1, and its cells.
    pub(super) rows: Vec<(usize, Vec<Cow<'a, str>>)>,
}

impl<'a> Table<'a> {
    pub(super) fn parse(reader: &CsvReader, file: &str, bytes: &'a [u8]) -> Result<Self, Error> {
        let problem = |problem| Error::Table { table: file.into(), problem };
        let text = decode(bytes).map_err(problem)?;
        // Old Macintosh files have CR alone; a CR before LF is a blank at the end of a cell.
        let line_end = if text.contains('\n') { '\n' } else { '\r' };
        let mut lines =
            text.split(line_end).enumerate().filter(|(_, l)| !l.trim().is_empty()).peekable();
        let Some((_, first)) = lines.peek() else {
            return Err(problem("the file is empty".into()));
        };
        let separator = Separator::new(reader.delimiter, first)?;
        let mut rows = Vec::new();
        for (i, line) in lines {
            let cells = separator.split(line).map_err(|what| {
                problem(format!("row {}: {what}: `{}`", i + 1, shown(line.trim())))
            })?;
            rows.push((i + 1, cells));
        }
        let first = &rows[0].1;
        let n_columns = first.len();
        if n_columns < 2 {
            return Err(problem(format!(
                "the first row has a single column, `{}`: is another delimiter used?",
                shown(&first[0])
            )));
        }
        let mut names: Vec<String> = (0..n_columns).map(numbered).collect();
        if reader.header != Header::None {
            if let (Header::Expected, Some(number)) = (
                reader.header,
                first.iter().find(|name| starts_like_number(name) && is_number(name)),
            ) {
                return Err(problem(format!(
                    "the header has a number for a name, `{}`: call `no_header` if there is no \
                     header, or `header` if this is a name",
                    shown(number)
                )));
            }
            for (name, cell) in names.iter_mut().zip(first).filter(|(_, cell)| !cell.is_empty()) {
                *name = cell.to_string();
            }
            let mut seen = HashMap::new();
            for (j, name) in names.iter().enumerate() {
                if let Some(earlier) = seen.insert(name, j) {
                    return Err(problem(format!(
                        "columns {} and {} have the same name, `{}`",
                        earlier + 1,
                        j + 1,
                        shown(name)
                    )));
                }
            }
        }
        if let Some((line, cells)) = rows.iter().find(|(_, cells)| cells.len() != n_columns) {
            let what = if reader.header == Header::None { "the first row" } else { "the header" };
            return Err(problem(format!(
                "row {line} has {} cells, but {what} has {n_columns}",
                cells.len()
            )));
        }
        if reader.header != Header::None {
            rows.remove(0);
        }
        if rows.is_empty() {
            return Err(problem("there is a header, but no row below it".into()));
        }
        Ok(Self { file: file.into(), header: reader.header, names, rows })
    }

    pub(super) fn problem(&self, problem: String) -> Error {
        Error::Table { table: self.file.clone(), problem }
    }

    fn cell_problem(&self, line: usize, column: usize, problem: String) -> Error {
        let column = shown(&self.names[column]);
        Error::Cell { table: self.file.clone(), row: line, column, problem }
    }

    pub(super) fn position(&self, name: &str) -> Result<usize, Error> {
        self.names.iter().position(|n| n == name).ok_or_else(|| Error::UnknownName {
            what: format!("column of {}", self.file),
            name: name.into(),
            known: self.names.clone(),
        })
    }

    /// The cells of a column with their lines.
    fn column(&self, j: usize) -> impl Iterator<Item = (usize, &str)> {
        self.rows.iter().map(move |(line, cells)| (*line, cells[j].as_ref()))
    }

    /// Brings the columns into the order of the training file.
    pub(super) fn reorder(&mut self, columns: &[Column]) -> Result<(), Error> {
        if self.header == Header::None {
            if self.names.len() != columns.len() {
                let (found, expected) = (self.names.len(), columns.len());
                return Err(self.problem(format!(
                    "there are {found} columns, but the training file has {expected}"
                )));
            }
            return Ok(());
        }
        let order =
            columns.iter().map(|c| self.position(&c.name)).collect::<Result<Vec<_>, _>>()?;
        let known: HashSet<usize> = order.iter().copied().collect();
        if let Some(new) = (0..self.names.len()).find(|j| !known.contains(j)) {
            return Err(self.problem(format!(
                "column `{}` is not in the training file",
                shown(&self.names[new])
            )));
        }
        for (_, cells) in &mut self.rows {
            *cells = order.iter().map(|&j| cells[j].clone()).collect();
        }
        self.names = columns.iter().map(|c| c.name.clone()).collect();
        Ok(())
    }

    /// Refuses missing values or drops their rows, and returns the lines of these.
    pub(super) fn drop_missing(
        &mut self,
        reader: &CsvReader,
        roles: &[Role],
    ) -> Result<Vec<usize>, Error> {
        let is_missing = |cell: &str| reader.missing.iter().any(|m| m.eq_ignore_ascii_case(cell));
        let (mut first, mut count, mut lines) = (None, 0, Vec::new());
        for (line, cells) in &self.rows {
            let used = cells.iter().enumerate().filter(|(j, _)| roles[*j] != Role::Ignored);
            for (j, cell) in used.filter(|(_, cell)| is_missing(cell)) {
                first.get_or_insert((*line, j, shown(cell)));
                count += 1;
                if lines.last() != Some(line) {
                    lines.push(*line);
                }
            }
        }
        let Some((line, column, cell)) = first else { return Ok(lines) };
        let in_all = format!("{count} in all, in {} of {} rows", lines.len(), self.rows.len());
        if !reader.drop_missing_rows {
            return Err(self.cell_problem(
                line,
                column,
                format!(
                    "missing value (`{cell}`); {in_all}: fill them in, or leave these rows out by \
                     `drop_missing_rows`"
                ),
            ));
        }
        if lines.len() == self.rows.len() {
            return Err(self.problem(format!("no row is without missing values: {in_all}")));
        }
        self.rows.retain(|(line, _)| lines.binary_search(line).is_err());
        Ok(lines)
    }

    /// Whether no cell of a column is a number or starts like one.
    pub(super) fn is_text(&self, j: usize) -> bool {
        self.column(j).all(|(_, cell)| !is_number(cell) && !starts_like_number(cell))
    }

    /// The different cells of a column: by size if all are numbers, else alphabetically.
    pub(super) fn levels(&self, j: usize) -> Result<Vec<String>, Error> {
        let mut levels: Vec<&str> = self.column(j).map(|(_, cell)| cell).collect();
        levels.sort_unstable();
        levels.dedup();
        let numbers: Option<Vec<f64>> =
            levels.iter().map(|l| l.parse().ok().filter(|v: &f64| v.is_finite())).collect();
        if let Some(numbers) = numbers {
            let mut both: Vec<_> = numbers.into_iter().zip(levels).collect();
            both.sort_by(|a, b| a.0.total_cmp(&b.0));
            if let Some(pair) = both.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(self.problem(format!(
                    "column `{}` has labels that are the same number, `{}` and `{}`: write them \
                     in one way",
                    shown(&self.names[j]),
                    shown(pair[0].1),
                    shown(pair[1].1)
                )));
            }
            levels = both.into_iter().map(|(_, level)| level).collect();
        }
        Ok(levels.into_iter().map(String::from).collect())
    }

    pub(super) fn classes(&self, j: usize) -> Result<Vec<String>, Error> {
        let classes = self.levels(j)?;
        let name = shown(&self.names[j]);
        if let [only] = classes.as_slice() {
            let only = shown(only);
            return Err(self.problem(format!("all rows are of one class, `{name}` = `{only}`")));
        }
        if classes.len() > MANY_LEVELS && classes.len() > self.rows.len() / 2 {
            return Err(self.problem(format!(
                "column `{name}` has {} classes in {} rows: is this a regression?",
                classes.len(),
                self.rows.len()
            )));
        }
        Ok(classes)
    }

    /// The position of each cell among the levels.
    pub(super) fn codes(&self, j: usize, levels: &[String], role: Role) -> Result<Vec<f64>, Error> {
        let code: HashMap<&str, usize> =
            levels.iter().enumerate().map(|(code, level)| (level.as_str(), code)).collect();
        let known = if role == Role::Feature { "levels" } else { "classes" };
        self.column(j)
            .map(|(line, cell)| {
                code.get(cell).map(|&code| code as f64).ok_or_else(|| {
                    let problem = format!(
                        "`{}` is not among the {known} of the training file: {}",
                        shown(cell),
                        shortened(levels)
                    );
                    self.cell_problem(line, j, problem)
                })
            })
            .collect()
    }

    /// A column of finite numbers, or of counts.
    pub(super) fn numbers(&self, j: usize, task: Task, role: Role) -> Result<Vec<f64>, Error> {
        let counts = task == Task::Counts && role != Role::Feature;
        self.column(j)
            .enumerate()
            .map(|(i, (line, cell))| {
                let problem = match cell.parse::<f64>() {
                    Ok(value) if value.is_finite() => {
                        if !counts || (value >= 0.0 && value.fract() == 0.0) {
                            return Ok(value);
                        }
                        "is not a count (0, 1, 2, ...)"
                    }
                    Ok(_) => "is not a finite number",
                    Err(_) if cell.contains(',') && is_number(&cell.replace(',', ".")) => {
                        "is not a number: write decimals with a point"
                    }
                    Err(_) if i == 0 && self.header == Header::None => {
                        "is not a number: is this row a header?"
                    }
                    Err(_) if role == Role::Feature => {
                        "is not a number: name the column in `categorical` if it holds labels"
                    }
                    Err(_) => "is not a number: classes are read by `CsvReader::classification`",
                };
                Err(self.cell_problem(line, j, format!("`{}` {problem}", shown(cell))))
            })
            .collect()
    }
}

/// Where a line is cut into cells.
#[derive(Clone, Copy)]
enum Separator {
    Char(char),
    Blanks,
}

impl Separator {
    fn new(delimiter: Delimiter, first_line: &str) -> Result<Self, Error> {
        match delimiter {
            Delimiter::Byte(byte) if !byte.is_ascii() || b"\"\r\n".contains(&byte) => {
                let allowed = "one ASCII character other than a quotation mark or a line end";
                Err(Error::argument("delimiter", format!("byte {byte:#04x}"), allowed))
            }
            Delimiter::Byte(byte) => Ok(Self::Char(char::from(byte))),
            Delimiter::Blanks => Ok(Self::Blanks),
            Delimiter::Detect => {
                // What is enclosed in quotation marks does not count.
                let outside: String = first_line.trim().split('"').step_by(2).collect();
                let found = ['\t', ';', '|', ','].into_iter().find(|c| outside.contains(*c));
                Ok(found.map_or(Self::Blanks, Self::Char))
            }
        }
    }

    fn ends_cell(self, c: char) -> bool {
        match self {
            Self::Char(delimiter) => c == delimiter,
            Self::Blanks => c.is_whitespace(),
        }
    }

    /// The cells of one line; what is wrong with the line, if it cannot be cut.
    fn split(self, line: &str) -> Result<Vec<Cow<'_, str>>, &'static str> {
        let is_blank = |c: char| c.is_whitespace() && !self.ends_cell(c);
        let mut cells = Vec::new();
        // A CRLF's CR must not become a cell when blanks separate.
        let mut rest = line.trim_end_matches(['\r', '\n']);
        loop {
            if let Self::Blanks = self {
                rest = rest.trim_start();
                if rest.is_empty() {
                    break;
                }
            }
            rest = rest.trim_start_matches(is_blank);
            let (cell, tail) = match rest.strip_prefix('"') {
                Some(quoted) => {
                    let (cell, tail) =
                        unquote(quoted).ok_or("a quotation mark is not closed on its line")?;
                    (Cow::Owned(cell.trim().to_string()), tail.trim_start_matches(is_blank))
                }
                None => {
                    let (cell, tail) =
                        rest.split_at(rest.find(|c| self.ends_cell(c)).unwrap_or(rest.len()));
                    (Cow::Borrowed(cell.trim()), tail)
                }
            };
            cells.push(cell);
            match tail.chars().next() {
                None => break,
                Some(c) if self.ends_cell(c) => rest = &tail[c.len_utf8()..],
                Some(_) => return Err("text follows a closing quotation mark"),
            }
        }
        Ok(cells)
    }
}

/// What an opened quotation holds, and what follows it; `None` if it is never closed.
fn unquote(mut rest: &str) -> Option<(String, &str)> {
    let mut cell = String::new();
    loop {
        let (text, tail) = rest.split_once('"')?;
        cell.push_str(text);
        match tail.strip_prefix('"') {
            Some(more) => {
                cell.push('"');
                rest = more;
            }
            None => return Some((cell, tail)),
        }
    }
}

pub(super) fn load(path: &Path) -> Result<(String, Vec<u8>), Error> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    Ok((path.display().to_string(), bytes))
}

/// The text without byte order mark, or what is wrong with it.
fn decode(bytes: &[u8]) -> Result<&str, String> {
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err("the file is UTF-16 text; save it as UTF-8".into());
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        let byte = bytes[error.valid_up_to()];
        format!("row {line} is not UTF-8 text (byte {byte:#04x}); save the file as UTF-8")
    })
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f64>().is_ok()
}

/// Whether the first character, or the one after a sign or a point, is a digit.
fn starts_like_number(cell: &str) -> bool {
    cell.trim_start_matches(['+', '-', '.']).starts_with(|c: char| c.is_ascii_digit())
}

pub(super) fn numbered(column: usize) -> String {
    format!("#{}", column + 1)
}

/// A cell as it may stand in a message: of one line, printable and not long.
pub(super) fn shown(cell: &str) -> String {
    const LENGTH: usize = 40;
    let mut text: String = cell.chars().take(LENGTH).flat_map(char::escape_debug).collect();
    if cell.chars().nth(LENGTH).is_some() {
        text.push_str("...");
    }
    text
}
