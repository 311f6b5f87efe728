//! The cells of a file, and the columns made of them.
//!
//! The crate `csv` splits lines into cells. A quotation mark that is never closed would make it take
//! the rest of the file for one cell; cells that run over the end of a line are therefore refused.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::{Column, CsvReader, Delimiter, Header, MANY_LEVELS, Role, Task};
use crate::Error;
use crate::data::dataset::shortened;
use crate::data::gzip::unpacked;

/// The cells of a file: as many in each row as there are names.
pub(super) struct Table {
    file: String,
    header: Header,
    pub(super) names: Vec<String>,
    /// The line of each row, counted from 1, and its cells.
    pub(super) rows: Vec<(usize, Vec<String>)>,
}

impl Table {
    pub(super) fn parse(reader: &CsvReader, file: &str, bytes: &[u8]) -> Result<Self, Error> {
        let problem = |problem| Error::Table { table: file.into(), problem };
        let bytes = unpacked(file, bytes)?;
        let text = decode(&bytes).map_err(problem)?;
        // Old Macintosh files have CR alone; a CR before LF is a blank at the end of a line.
        let line_end = if text.contains('\n') { '\n' } else { '\r' };
        let lines: Vec<(usize, &str)> = text
            .split(line_end)
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(i, line)| (i + 1, line.trim_end_matches('\r')))
            .collect();
        let empty = || problem("the file is empty".into());
        let (_, first) = lines.first().ok_or_else(empty)?;
        let separator = Separator::new(reader.delimiter, first)?;
        let mut rows = separator.split(&lines).map_err(problem)?;
        // A line of a byte-order mark alone is no row.
        let (_, first) = rows.first().ok_or_else(empty)?;
        let n_columns = first.len();
        if n_columns < 2 {
            return Err(problem(format!(
                "the first row has a single column, `{}`: is another delimiter used?",
                shown(first.first().map_or("", String::as_str))
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
        self.rows.iter().map(move |(line, cells)| (*line, cells[j].as_str()))
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

    /// Cuts lines, given with their numbers, into cells; says what is wrong with the first bad one.
    fn split(self, lines: &[(usize, &str)]) -> Result<Vec<(usize, Vec<String>)>, String> {
        if let Some((number, _)) = lines.iter().find(|(_, line)| line.contains('\r')) {
            return Err(format!(
                "row {number}: a carriage return inside the line: are line ends mixed?"
            ));
        }
        let text = lines.iter().fold(String::new(), |text, (_, line)| text + line + "\n");
        let (delimiter, text) = match self {
            Self::Char(delimiter) => (delimiter as u8, text),
            Self::Blanks => (b' ', text.replace('\t', " ")),
        };
        let mut csv = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .terminator(csv::Terminator::Any(b'\n'))
            .from_reader(text.as_bytes());
        let mut rows = Vec::with_capacity(lines.len());
        for (record, (number, line)) in csv.records().zip(lines) {
            let record = record.map_err(|e| e.to_string())?;
            // A cell that runs over the end of its line would swallow the lines that follow, and
            // the numbers of lines would be wrong from there on.
            if record.iter().any(|cell| cell.contains('\n')) {
                let line = shown(line);
                return Err(format!(
                    "row {number}: a quotation mark is not closed on its line: `{line}`"
                ));
            }
            let cells = record.iter().map(|cell| unquoted(cell.trim()).to_string());
            let cells = match self {
                Self::Char(_) => cells.collect(),
                // A run of blanks is one separator.
                Self::Blanks => cells.filter(|cell| !cell.is_empty()).collect(),
            };
            rows.push((*number, cells));
        }
        Ok(rows)
    }
}

/// A cell without its quotation marks, which `csv` leaves where blanks stand before the first.
fn unquoted(cell: &str) -> &str {
    cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).map_or(cell, str::trim)
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
