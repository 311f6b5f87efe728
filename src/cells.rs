//! Texts cut into rows of cells: what tables and draws have in common.
//!
//! Cells are parts of the text, not copies, unless they hold escaped quotation marks. A row is cut into
//! cells when it is asked for, so that a text of any length costs one row of them.
//!
//! The crate `csv`, which the tests compare with, does not do for this: it copies each row into a buffer
//! without a bound, and has neither runs of blanks as separators, nor blanks around cells in quotation
//! marks, nor the line numbers of files whose lines end in CR alone.

use std::borrow::Cow;

use crate::Error;
use crate::message::count;

/// What rows are handed to: the line of each, and its cells.
pub(crate) type TakesRow<'f, 't> = &'f mut dyn FnMut(usize, &[Cow<'t, str>]) -> Result<(), Error>;

/// The largest number of cells in a row: a column has a name, and its name takes memory.
const MOST_COLUMNS: usize = 1 << 20;

/// The separator between two cells.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Separator {
    Char(char),
    /// A run of blanks and tabs.
    Blanks,
}

/// The rows of a text from some line on.
#[derive(Clone)]
pub(crate) struct Rows<'t> {
    rest: &'t str,
    /// The line at which `rest` begins, counted from 1.
    line: usize,
    separator: Separator,
    line_end: char,
    /// Cells in quotation marks keep the blanks at their ends and may hold line ends.
    pub(crate) verbatim: bool,
}

impl<'t> Rows<'t> {
    pub(crate) fn new(text: &'t str, separator: Separator) -> Self {
        // Old Macintosh files have CR alone; a CR before LF is a blank at the end of a line.
        let line_end = if text.contains('\n') { '\n' } else { '\r' };
        Self { rest: text, line: 1, separator, line_end, verbatim: false }
    }

    /// The rows of a text that begins at a later line of the same file.
    pub(crate) fn of_rest<'r>(&self, text: &'r str, line: usize) -> Rows<'r> {
        Rows { line, verbatim: self.verbatim, ..Rows::new(text, self.separator) }
    }

    /// The cells of the first row that is not blank; none in a text without one.
    pub(crate) fn first(&mut self) -> Result<Vec<Cow<'t, str>>, String> {
        let mut cells = Vec::new();
        match self.next(&mut cells, MOST_COLUMNS)? {
            Some((_, count)) if count > MOST_COLUMNS => Err(format!(
                "the first row has {count} cells, but at most {MOST_COLUMNS} columns are allowed"
            )),
            _ => Ok(cells),
        }
    }

    /// Whether a character counts for nothing at the ends of a cell or line. A tab that separates cells
    /// does count.
    fn is_blank(&self, c: char) -> bool {
        c.is_whitespace() && self.separator != Separator::Char(c)
    }

    /// Goes to the next row that is not blank, puts its cells into `cells`, of which `most` are kept, and
    /// returns its line with the number of its cells; `None` at the end of the text.
    pub(crate) fn next(
        &mut self,
        cells: &mut Vec<Cow<'t, str>>,
        most: usize,
    ) -> Result<Option<(usize, usize)>, String> {
        cells.clear();
        loop {
            // Files put one after the other may have a byte-order mark within.
            self.rest = self.rest.trim_start_matches('\u{FEFF}');
            let (line, rest) = match self.rest.split_once(self.line_end) {
                Some((line, rest)) => (line, Some(rest)),
                None => (self.rest, None),
            };
            if line.contains(|c| !self.is_blank(c)) {
                break;
            }
            let Some(rest) = rest else { return Ok(None) };
            (self.rest, self.line) = (rest, self.line + 1);
        }
        let (line, row) = (self.line, self.rest);
        let (mut count, mut last) = (0, false);
        while !last {
            let cell;
            (cell, last) = self.next_cell().map_err(|problem| {
                let row = shown(row.split(self.line_end).next().unwrap_or_default());
                format!("line {line}: {problem}: `{row}`")
            })?;
            if let Some(cell) = cell {
                count += 1;
                if count <= most {
                    cells.push(cell);
                }
            }
        }
        self.line += 1;
        Ok(Some((line, count)))
    }

    /// Hands the rest of the rows to `take`, each with its line. They must have as many cells as the row
    /// above them: `width` is what that is called, and the number of its cells.
    pub(crate) fn each(
        &self,
        table: &str,
        (what, width): (&str, usize),
        take: TakesRow<'_, 't>,
    ) -> Result<(), Error> {
        let problem = |problem: String| Error::table(table, problem);
        let (mut rows, mut cells) = (self.clone(), Vec::new());
        while let Some((line, found)) = rows.next(&mut cells, width).map_err(problem)? {
            if found != width {
                let found = count(found, "cell");
                return Err(problem(format!("line {line} has {found}, but {what} has {width}")));
            }
            take(line, &cells)?;
        }
        Ok(())
    }

    /// The next cell of a row, and whether it is the last. A run of blanks at the end of a line is
    /// followed by none.
    fn next_cell(&mut self) -> Result<(Option<Cow<'t, str>>, bool), &'static str> {
        let (separator, line_end) = (self.separator, self.line_end);
        let separates = |c| match separator {
            Separator::Char(separator) => c == separator,
            Separator::Blanks => c == ' ' || c == '\t',
        };
        self.rest = self.rest.trim_start_matches(|c| c != line_end && self.is_blank(c));
        let mut cell = Cow::Borrowed("");
        let quoted = self.rest.strip_prefix('"');
        let mut inside = quoted;
        while let Some(text) = inside {
            let Some((part, rest)) = text
                .split_once('"')
                .filter(|(part, _)| self.verbatim || !part.contains(['\n', '\r']))
            else {
                return Err("a quotation mark is not closed on its line");
            };
            cell += part;
            self.line += part.matches(line_end).count();
            self.rest = rest;
            inside = rest.strip_prefix('"');
            if inside.is_some() {
                cell += "\"";
            }
        }
        let end = self.rest.find(|c| c == line_end || separates(c)).unwrap_or(self.rest.len());
        let (bare, rest) = self.rest.split_at(end);
        let mut rest = rest.chars();
        let last = rest.next().is_none_or(|c| c == line_end);
        self.rest = rest.as_str();
        let bare = bare.trim_end();
        if bare.contains('\r') {
            return Err("a carriage return inside the line (are line ends mixed?)");
        }
        cell += bare;
        if !self.verbatim {
            cell = match cell {
                Cow::Borrowed(cell) => Cow::Borrowed(cell.trim()),
                Cow::Owned(cell) => Cow::Owned(cell.trim().into()),
            };
        }
        let none = separator == Separator::Blanks && cell.is_empty() && quoted.is_none();
        Ok(((!none).then_some(cell), last))
    }
}

/// The text, which begins at this line of its file, without byte-order mark, or the problem with it.
pub(crate) fn decode(bytes: &[u8], line: usize) -> Result<&str, String> {
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err("the file is UTF-16 text".into());
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let line = line + good.iter().filter(|byte| **byte == b'\n').count();
        let byte = bytes[error.valid_up_to()];
        format!("line {line} is not UTF-8 text (byte {byte:#04x})")
    })
}

/// A text for a cell of a table, such that no spreadsheet takes it for a formula: a single quote is
/// put before it if it begins with `=`, `+`, `-`, `@`, a tab, a carriage return or a line feed, as
/// [OWASP](https://owasp.org/www-community/attacks/CSV_Injection) advises; the wide forms `＝`, `＋`,
/// `－` and `＠` count, too. A text that is a finite number is not changed. So that [`unguarded`]
/// gives every text back, one that begins with single quotes before such a character gets another.
///
/// The CSV files of this crate that hold names from a table are written so: the header and the classes of
/// predictions, names of parameters and quantities, and the rows in the folder of a fit.
///
/// ```
/// use bnn_mcmc::data::{guarded, unguarded};
/// assert_eq!(guarded("=1+1"), "'=1+1");
/// assert_eq!(guarded("-1.5"), "-1.5");
/// assert_eq!(guarded("low"), "low");
/// assert_eq!(unguarded("'=1+1"), "=1+1");
/// assert_eq!(unguarded(&guarded("'=")), "'=");
/// assert_eq!(unguarded("'tis"), "'tis");
/// ```
pub fn guarded(text: &str) -> Cow<'_, str> {
    let is_number = || text.parse().is_ok_and(|value: f64| value.is_finite());
    match is_formula(text) && !is_number() {
        true => format!("'{text}").into(),
        false => text.into(),
    }
}

/// The text that [`guarded`] made a cell of.
pub fn unguarded(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|text| is_formula(text)).unwrap_or(cell)
}

/// Whether a text, except for single quotes before it, begins as a formula does.
fn is_formula(text: &str) -> bool {
    let begins = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    text.trim_start_matches('\'').starts_with(begins)
}

/// A text as a cell of CSV: in quotation marks if it holds a comma, a quotation mark or a line end, has
/// blanks at its ends, or holds another character that programs take for the end of a cell (semicolon,
/// tab, vertical bar). Usually of a [`guarded`] text.
///
/// ```
/// use bnn_mcmc::data::{csv_cell, guarded};
/// assert_eq!(csv_cell("low"), "low");
/// assert_eq!(csv_cell(&guarded("=A1,\"x\"")), "\"'=A1,\"\"x\"\"\"");
/// ```
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    match text.contains([',', '"', '\n', '\r', ';', '\t', '|']) || text.trim() != text {
        true => format!("\"{}\"", text.replace('"', "\"\"")).into(),
        false => text.into(),
    }
}

/// The form of a cell in a message: of one line, printable and not long.
///
/// ```
/// assert_eq!(bnn_mcmc::data::shown("a\nb"), "a\\nb");
/// ```
pub fn shown(cell: &str) -> String {
    const LENGTH: usize = 40;
    let mut text: String = cell.chars().take(LENGTH).flat_map(char::escape_debug).collect();
    if cell.chars().nth(LENGTH).is_some() {
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Anything;

    fn rows(text: &str, separator: Separator, verbatim: bool) -> Vec<Vec<Cow<'_, str>>> {
        let (mut rows, mut all, mut cells) = (Rows::new(text, separator), Vec::new(), Vec::new());
        rows.verbatim = verbatim;
        while rows.next(&mut cells, MOST_COLUMNS).unwrap().is_some() {
            all.push(cells.clone());
        }
        all
    }

    #[test]
    fn cells_are_those_that_the_csv_crate_wrote() {
        Anything::cases(256, |any| {
            let cell = |any: &mut Anything| any.text_of("a1,;\" \t\n\ré", 0..7);
            let table = any.list(1..5, |any| any.list(1..5, cell));
            let necessary = any.below(2) == 1;
            let quotes =
                [csv::QuoteStyle::Always, csv::QuoteStyle::Necessary][usize::from(necessary)];
            let mut csv = csv::WriterBuilder::new()
                .flexible(true)
                .quote_style(quotes)
                .from_writer(Vec::new());
            table.iter().for_each(|row| csv.write_record(row).unwrap());
            let text = String::from_utf8(csv.into_inner().unwrap()).unwrap();
            let read = rows(&text, Separator::Char(','), true);
            if !necessary {
                assert_eq!(read, table);
            }
            // Cells without quotation marks lose the blanks at their ends; rows of them are skipped.
            let trimmed =
                |cells: &Vec<String>| cells.iter().map(|c| c.trim().to_string()).collect();
            let expected: Vec<Vec<String>> = table.iter().map(trimmed).collect();
            let read: Vec<Vec<String>> = read
                .iter()
                .map(|row| row.iter().map(|cell| cell.trim().into()).collect())
                .collect();
            if !necessary || table.iter().all(|row| row.len() > 1 || !row[0].trim().is_empty()) {
                assert_eq!(read, expected);
            }
        });
    }

    /// No cell that is written begins as a formula, and each is read as the text that it was.
    #[test]
    fn texts_are_guarded_and_read_again() {
        Anything::cases(256, |any| {
            let text = |any: &mut Anything| any.text_of("-+=@'a1,;\" \t\n\ré＝", 1..7);
            let texts = any.list(1..5, text);
            let row: Vec<_> =
                texts.iter().map(|text| csv_cell(&guarded(text)).into_owned()).collect();
            let mut read = csv::ReaderBuilder::new();
            let text = std::io::Cursor::new(row.join(",") + "\n");
            let mut read = read.has_headers(false).from_reader(text);
            let cells = read.records().next().unwrap().unwrap();
            assert!(cells.iter().map(unguarded).eq(texts.iter().map(String::as_str)), "{row:?}");
            for cell in &cells {
                let begins = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝']);
                assert!(!begins || cell.parse::<f64>().is_ok_and(f64::is_finite), "{cell}");
            }
        });
    }

    #[test]
    fn quotation_marks_blanks_and_line_ends() {
        let comma = Separator::Char(',');
        let blanks = Separator::Blanks;
        for (text, separator, expected) in [
            ("a,\"b\"\"c\", d ", comma, "a|b\"c|d"),
            (" \" a,b \" ,\"c\" d,e\"f\"", comma, "a,b|c d|e\"f\""),
            ("a,\n\n,b\r\n \r\n\u{FEFF}c,d", comma, "a|/|b/c|d"),
            ("a,b\rc,d\r", comma, "a|b/c|d"),
            (" a \t b\t\n\"c d\"  \"\"\n", blanks, "a|b/c d|"),
            ("a\t\tb\t", Separator::Char('\t'), "a||b|"),
            ("a\tb\n\t\n \r\n\nc\td", Separator::Char('\t'), "a|b/|/c|d"),
            ("", comma, ""),
        ] {
            let rows = rows(text, separator, false);
            let rows: Vec<String> = rows.iter().map(|row| row.join("|")).collect();
            assert_eq!(rows.join("/"), expected, "{text:?}");
        }
        assert_eq!(rows("\" a\n\"\n b", comma, true), [[" a\n"], ["b"]]);
    }
}
