//! The lines of a file that rows come from.

use serde::{Deserialize, Serialize};

use crate::error::Row;

/// The line of a file that each row of a table comes from, or of a table [without lines](super::TypedTable)
/// its row there, counted from 1. It takes memory only where rows are not on consecutive lines: next to rows
/// that were left out, and to blank lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// The first row, and its line, of each run of rows on consecutive lines.
    runs: Vec<(usize, usize)>,
    rows: usize,
    /// Whether the rows are not of a file with lines, and are counted from 1 instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    are_rows: bool,
}

impl Lines {
    /// The places of rows in a [`TypedTable`](super::TypedTable), which has no lines.
    pub(super) fn of_rows() -> Self {
        Self { are_rows: true, ..Self::default() }
    }

    /// The place of a row, counted from 0, in a message: `line 17`, or `row 16` of a table that has no lines;
    /// `None` if there are fewer rows.
    pub fn place(&self, row: usize) -> Option<Row> {
        self.get(row).map(|line| self.named(line))
    }

    /// A line of the file, or a row of a table that has no lines, in a message.
    pub fn named(&self, line: usize) -> Row {
        if self.are_rows { Row::Number(line) } else { Row::Line(line) }
    }

    /// The name of what is counted: `line` or `row`.
    pub fn unit(&self) -> &'static str {
        if self.are_rows { "row" } else { "line" }
    }

    /// The line of a row, counted from 0; `None` if there are fewer rows.
    pub fn get(&self, row: usize) -> Option<usize> {
        let run = self.runs[..].partition_point(|(first, _)| *first <= row).checked_sub(1)?;
        let (first, line) = self.runs[run];
        (row < self.rows).then(|| line + (row - first))
    }

    /// The lines of all rows, in their order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.rows).filter_map(|row| self.get(row))
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The lines of these rows.
    pub(crate) fn of_rows_alone(&self, rows: &[usize]) -> Self {
        let mut lines = Self { are_rows: self.are_rows, ..Self::default() };
        rows.iter().filter_map(|row| self.get(*row)).for_each(|line| lines.push(line)); //~ lines-of-drawn
        lines
    }

    /// Adds the line of the next row.
    pub(super) fn push(&mut self, line: usize) {
        let is_next = self.runs.last().is_some_and(|(first, at)| at + (self.rows - first) == line);
        if !is_next {
            self.runs.push((self.rows, line));
        }
        self.rows += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_lines_take_one_entry() {
        let mut lines = Lines::default();
        let all = [2, 3, 4, 7, 8, 10, 20, 21];
        all.iter().for_each(|line| lines.push(*line));
        assert_eq!(lines.iter().collect::<Vec<_>>(), all);
        assert_eq!((lines.runs.len(), lines.rows()), (4, 8));
        assert_eq!((lines.get(3), lines.get(8)), (Some(7), None));
        assert_eq!(Lines::default().get(0), None);
    }
}
