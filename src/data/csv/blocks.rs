//! Files that are read block by block, into a file of rows.

use std::path::Path;

use super::role::Role;
use super::schema::Places;
use super::table::Table;
use super::typed::Cell;
use super::{CsvData, CsvReader, Schema, StandIn, TypedTable};
use crate::Error;
use crate::cells::shown;
use crate::data::gzip::Source;
use crate::data::{RowFile, RowWriter, Stored};
use crate::error::Row;
use crate::message::{Advice, count};

/// The bytes of a block of text. Its numbers take some four times as much (more if a label is a column for each of many levels), once
/// more in the form in which they are stored.
pub(super) const BLOCK: usize = 1 << 24;

/// The result of [`CsvReader::store_path`]: the rows in their file, and how to read other files in the same way.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredCsv {
    /// The rows.
    pub rows: RowFile,
    /// The columns, levels and classes found, to read a test file with.
    pub schema: Schema,
    /// The lines of the file that were left out because of a missing value.
    pub dropped: Vec<usize>,
    /// The cells of features that something else stands in for.
    pub stand_ins: Vec<StandIn>,
}

impl CsvReader {
    /// Reads a file, of any size, into a [`RowFile`] at `to`, in one pass and blocks of 16 MiB of text: memory does not grow
    /// with the file, but for the responses. The [limit](Self::limit) is that of a block.
    ///
    /// What is learnt of the columns (which are labels or dates, levels, groups, classes, medians) is learnt from the first block. What
    /// later lines have beyond that is refused by its line: labels, groups and classes that the first block has not, values that are
    /// missing where it has none, text among numbers. Dates have the features that they would have in a table of the first block alone:
    /// a season if they span a year there. So the lines below the header should be in no order, as
    /// `(head -n 1 t.csv; tail -n +2 t.csv | shuf)` brings them into none.
    ///
    /// ```
    /// use bnn_mcmc::data::{CsvReader, Stored};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (path, to) = (folder.path().join("t.csv"), folder.path().join("t.rows"));
    /// # std::fs::write(&path, "age,sex,score\n31,f,2.5\n45,m,1.5\n28,f,3.25\n").unwrap();
    /// let stored = CsvReader::regression("score").store_path(&path, &to, Stored::F32)?;
    /// assert_eq!(stored.rows.feature_names(), ["age", "sex=f", "sex=m"]);
    /// assert_eq!(stored.rows.read(0..3)?, CsvReader::regression("score").read_path(&path)?.dataset);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`read_path`](Self::read_path), of the [writer](RowWriter), and what is refused above.
    pub fn store_path(
        &self,
        path: impl AsRef<Path>,
        to: impl AsRef<Path>,
        stored: Stored,
    ) -> Result<StoredCsv, Error> {
        self.store_in_blocks(Source::open(path.as_ref())?, to.as_ref(), stored, BLOCK)
    }

    /// Reads a table whose columns have types, in blocks, into a [`RowFile`] at `to`, as [`store_path`](Self::store_path) reads a
    /// file: for programs that read other files than text. `blocks` are tables of the same columns, each of the rows that follow the
    /// last one's, of which it [skips](TypedTable::skip_rows) as many as there are before its own; what is learnt is learnt from the
    /// first.
    ///
    /// ```
    /// use bnn_mcmc::data::{ColumnType, CsvReader, Stored, TypedTable, Value};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let to = folder.path().join("t.rows");
    /// let block = |k: usize| {
    ///     let columns = [("x", ColumnType::Numbers), ("y", ColumnType::Numbers)];
    ///     let mut table = TypedTable::new("data.parquet", columns, 1 << 24);
    ///     table.skip_rows(1000 * k);
    ///     for i in 1000 * k..1000 * (k + 1) {
    ///         table.push(Value::Number(i as f64))?;
    ///         table.push(Value::Number((i % 7) as f64))?;
    ///         table.end_row()?;
    ///     }
    ///     Ok(table)
    /// };
    /// let stored = CsvReader::regression("y").store_tables((0..5).map(block), &to, Stored::F32)?;
    /// assert_eq!(stored.rows.rows(), 5000);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`read_table`](Self::read_table) and of the [writer](RowWriter), what [`store_path`](Self::store_path) refuses,
    /// a block of other columns than the first, and the first error among the blocks.
    pub fn store_tables(
        &self,
        blocks: impl IntoIterator<Item = Result<TypedTable, Error>>,
        to: impl AsRef<Path>,
        stored: Stored,
    ) -> Result<StoredCsv, Error> {
        let mut blocks = blocks.into_iter();
        let first = blocks.next().ok_or_else(|| Error::table("table", "no block of rows"))??;
        first.check_limit(self.limit)?;
        let head = Table::typed(&first, 2)?;
        let learnt = self.learn(&head).map_err(|error| match blocks.next() {
            None => error,
            Some(_) => error.advise(["this is of the first block alone".into(), shuffle(&head)]),
        })?;
        let mut store = Store::begin(self, &head, learnt, to.as_ref(), stored)?;
        for block in blocks {
            let block = block?;
            block.check_limit(self.limit)?;
            if (&block.names, &block.types) != (&first.names, &first.types) {
                return Err(head.problem("a block has other columns than the first".into()));
            }
            let mut table = Table::typed(&block, 2)?;
            table.continues = true;
            store.add(&table)?;
        }
        store.finish()
    }

    fn store_in_blocks(
        &self,
        mut source: Source,
        to: &Path,
        stored: Stored,
        size: usize,
    ) -> Result<StoredCsv, Error> {
        let mut blocks = Blocks::of(size);
        let (text, _) = blocks.next(&mut source, self.limit)?.unwrap_or_default();
        let encoding = self.encoding_of(&text);
        let is_utf16 = [encoding_rs::UTF_16LE, encoding_rs::UTF_16BE].contains(&encoding);
        if !blocks.is_over && is_utf16 {
            let error = source.problem("the file is UTF-16 text, of more than one block".into());
            return Err(error.advise(["save it as UTF-8".into()]));
        }
        let text = self.decoded_as(encoding, text, &source)?;
        let head = Table::new(self, &source.name, &text, 2)?;
        let learnt = self.learn(&head).map_err(|error| match blocks.is_over {
            true => error,
            false => {
                error.advise(["this is of the first 16 MiB of text alone".into(), shuffle(&head)])
            }
        })?;
        let mut store = Store::begin(self, &head, learnt, to, stored)?;
        while let Some((text, line)) = blocks.next(&mut source, self.limit)? {
            let text = self.decoded_as(encoding, text, &source)?;
            store.add(&head.continued(&text, line)?)?;
        }
        store.finish()
    }
}

/// What to do where the first rows lack what later ones have.
fn shuffle(table: &Table) -> Advice {
    Advice::from(match table.has_lines() {
        true => "bring the lines below the header into a random order",
        false => "bring the rows into a random order",
    })
}

/// A table that is stored block by block.
struct Store<'r> {
    reader: &'r CsvReader,
    /// What was learnt from the first block.
    schema: Schema,
    /// The same, where rows without a group are left out as those of the first block were.
    here: Schema,
    /// The columns with missing values in the first block, and its number of rows in words.
    gaps: Vec<String>,
    rows: String,
    all: Sum,
}

impl<'r> Store<'r> {
    /// Begins with the block that all was learnt from.
    fn begin(
        reader: &'r CsvReader,
        table: &Table,
        first: CsvData,
        to: &Path,
        stored: Stored,
    ) -> Result<Self, Error> {
        let writer = RowFile::create(to, stored)?;
        let mut all = Sum { writer, dropped: Vec::new(), stand_ins: Vec::new() };
        all.add(&table.file, &first)?;
        let (schema, rows) = (first.schema, count(first.dataset.rows(), "row"));
        let mut here = schema.clone();
        let groups = here.columns.iter_mut().filter(|column| matches!(column.role, Role::Group(_)));
        groups.for_each(|column| column.missing = None); //~ block-group
        let gaps = first.stand_ins.iter().map(|stand_in| stand_in.column().into()).collect();
        Ok(Self { reader, schema, here, gaps, rows, all })
    }

    fn add(&mut self, table: &Table) -> Result<(), Error> {
        if table.is_blank()? {
            return Ok(());
        }
        let (here, rows) = (&self.here, &self.rows);
        let Places { order, count, .. } = here.places(table)?;
        let numbers = here.numbers(table, &order, &count)?;
        if count.complete == 0 {
            self.all.dropped.extend(numbers.dropped);
            return Ok(());
        }
        for stand_in in &numbers.stand_ins {
            let label = |new: &[String]| {
                let new = new.first().cloned().unwrap_or_default();
                let problem = format!("`{}` is not among the first {rows}", shown(&new));
                (table.first_cell(stand_in.column(), |cell| cell.text() == new), problem)
            };
            let (cell, problem) = match stand_in {
                StandIn::UnknownLevel { levels, .. } => label(levels),
                StandIn::NewGroup { groups, .. } => label(groups),
                StandIn::Missing { column, .. } if self.gaps.contains(column) => continue,
                StandIn::Missing { column, .. } => {
                    let is_missing = |cell: &Cell| table.is_missing(self.reader, cell);
                    let problem = format!("no value, which the first {rows} all have");
                    (table.first_cell(column, is_missing), problem)
                }
            };
            let Some((line, column)) = cell? else {
                return Err(table.problem(format!("column `{}`: {problem}", stand_in.column())));
            };
            return Err(table.cell_problem(line, column, problem).advise([shuffle(table)]));
        }
        let data = here.data(table, numbers)?;
        self.all.add(&table.file, &data)
    }

    fn finish(self) -> Result<StoredCsv, Error> {
        let Sum { writer, dropped, stand_ins } = self.all;
        Ok(StoredCsv { rows: writer.finish()?, schema: self.schema, dropped, stand_ins })
    }
}

/// The blocks so far.
struct Sum {
    writer: RowWriter,
    dropped: Vec<usize>,
    stand_ins: Vec<StandIn>,
}

impl Sum {
    fn add(&mut self, file: &str, block: &CsvData) -> Result<(), Error> {
        let before = self.writer.rows();
        self.writer.push(&block.dataset).map_err(|error| match error {
            // By the line of the file that is read.
            Error::Cell { row: Row::Number(row), column, problem, advice, .. } => {
                let row = block.lines.place(row - 1 - before).unwrap_or(Row::Number(row));
                Error::Cell { table: file.into(), row, column, problem, advice }
            }
            error => error,
        })?;
        self.dropped.extend(&block.dropped);
        for new in &block.stand_ins {
            let known = self.stand_ins.iter_mut().find(|known| known.column() == new.column());
            match (known, new) {
                (Some(StandIn::Missing { rows, .. }), StandIn::Missing { rows: more, .. }) => {
                    *rows += more;
                }
                _ => self.stand_ins.push(new.clone()),
            }
        }
        Ok(())
    }
}

/// A text in blocks of whole lines.
pub(super) struct Blocks {
    /// The bytes of a block, unless a line is longer.
    size: usize,
    /// The beginning of a line.
    rest: Vec<u8>,
    /// The line that it begins, counted from 1.
    line: usize,
    is_over: bool,
}

impl Blocks {
    pub(super) fn of(size: usize) -> Self {
        Self { size, rest: Vec::new(), line: 1, is_over: false }
    }

    /// The next block, of `limit` bytes at most, and the line that it begins with; `None` at the end.
    pub(super) fn next(
        &mut self,
        source: &mut Source,
        limit: u64,
    ) -> Result<Option<(Vec<u8>, usize)>, Error> {
        let mut text = std::mem::take(&mut self.rest);
        while !self.is_over {
            let more = source.read_up_to(self.size as u64)?;
            self.is_over = more.len() < self.size;
            let before = text.len();
            text.extend(more);
            // Old Macintosh files have CR alone.
            let end = |end: u8| text[before..].iter().rposition(|byte| *byte == end);
            match end(b'\n').or_else(|| end(b'\r')) {
                None => source.check_limit("line", &text, limit.max(self.size as u64))?,
                Some(_) if self.is_over => {}
                Some(end) => {
                    self.rest = text.split_off(before + end + 1);
                    break;
                }
            }
        }
        if text.is_empty() {
            return Ok(None);
        }
        let lines = |end: u8| text.iter().filter(|byte| **byte == end).count();
        let (first, here) = (self.line, lines(b'\n'));
        self.line += if here > 0 { here } else { lines(b'\r') }; //~ block-lines
        Ok(Some((text, first)))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use tempfile::TempDir;

    use super::*;
    use crate::data::{Charset, ColumnType};
    use crate::error::checks::fails;

    /// Stored in blocks of so many bytes.
    fn stored(reader: &CsvReader, text: &[u8], size: usize) -> Result<StoredCsv, Error> {
        let folder = TempDir::new().unwrap();
        let source = Source::new("t.csv", text)?;
        reader.store_in_blocks(source, &folder.path().join("t.rows"), Stored::F64, size)
    }

    fn table(end: &str) -> String {
        let mut text = format!("id,size,kind,when,y{end}");
        for i in 0..300 {
            let size = if i % 50 == 7 { String::new() } else { format!("{}.5", i * 37 % 101) };
            let y = if i % 90 == 89 { "NA".into() } else { (i % 17).to_string() };
            let kind = ["\"a, b\"", "c", "d"][i % 3];
            write!(text, "{i},{size},{kind},2024-01-{:02},{y}{end}", 1 + i % 28).unwrap();
            if i % 100 == 3 {
                text += end; // a blank line
            }
        }
        text
    }

    /// Blocks of any size give the rows of the whole file, where the first one has all that there is to learn.
    #[test]
    fn blocks_are_the_file() {
        let reader = CsvReader::regression("y").ignore(["id"]);
        for end in ["\n", "\r\n", "\r"] {
            let text = table(end);
            for text in [&text[..], text.trim_end()] {
                let whole = reader.read(text.as_bytes()).unwrap();
                let all = stored(&reader, text.as_bytes(), 1 << 20).unwrap();
                assert_eq!(all.rows.read(0..all.rows.rows()).unwrap(), whole.dataset);
                assert_eq!((&all.schema, &all.dropped), (&whole.schema, &whole.dropped));
                assert_eq!(all.stand_ins, whole.stand_ins);
                for size in [2500, 4000, 7777] {
                    let parts = stored(&reader, text.as_bytes(), size).unwrap();
                    let (rows, data) =
                        (parts.rows.read(0..parts.rows.rows()).unwrap(), &whole.dataset);
                    assert_eq!(rows.response(), data.response());
                    assert_eq!(rows.feature_names(), data.feature_names());
                    // Medians of the first block stand in for gaps.
                    let marked =
                        data.feature_names().iter().position(|name| name.ends_with("is missing"));
                    let is_gap = |i: usize| data.x()[(i, marked.unwrap())] == 1.0;
                    for (i, (row, known)) in
                        rows.x().rows().into_iter().zip(data.x().rows()).enumerate()
                    {
                        assert!(is_gap(i) || row == known, "{i}: {row} {known}");
                    }
                    assert_eq!(parts.dropped, whole.dropped);
                }
            }
        }
    }

    /// Rows that are left out, of a whole block or not, and weights of 0 in all of a block.
    #[test]
    fn rows_that_do_not_count_end_no_file() {
        let reader = CsvReader::regression("y").group("g").row_weights("w");
        let mut text = String::from("x,g,w,y\n");
        (0..60).for_each(|i| writeln!(text, "{i},{},1,{}", ["a", "b"][i % 2], i % 7).unwrap());
        (60..80).for_each(|i| writeln!(text, "{i},a,0,{}", i % 7).unwrap());
        text += "1,,1,2\n2,a,1,3\n";
        (0..40).for_each(|_| text += "1,a,1,NA\n");
        let whole = reader.read(text.as_bytes()).unwrap();
        for size in [64, 100, 150, 1000] {
            let parts = stored(&reader, text.as_bytes(), size).unwrap();
            assert_eq!(parts.rows.read(0..parts.rows.rows()).unwrap(), whole.dataset);
            assert_eq!(parts.dropped, whole.dropped);
            assert_eq!(parts.rows.weights().unwrap().slice(ndarray::s![60..80]).sum(), 0.0);
            assert!(parts.rows.blocks(10).all(|block| block.is_ok()));
        }
        let words = stored(&reader, (text + "1,c,1,2\n").as_bytes(), 100).unwrap_err();
        assert!(words.to_string().contains("column `g`: `c` is not among"), "{words}");
    }

    /// The limit is that of a line, also where it is as long as a block.
    #[test]
    fn lines_are_within_the_limit_and_not_blocks() {
        let mut text = String::from("x,y\n");
        (0..500).for_each(|i| writeln!(text, "{i}.25,{}", i % 7).unwrap());
        let reader = CsvReader::regression("y").limit(200);
        assert_eq!(stored(&reader, text.as_bytes(), 200).unwrap().rows.rows(), 500);
    }

    /// The encoding is that of the file, whatever a later block begins with.
    #[test]
    fn blocks_have_the_encoding_of_the_file() {
        let row = |y: u8| [b"caf\xe9,".as_slice(), &[b'0' + y, b'\n']].concat();
        let rows: Vec<u8> = (0..9).chain(0..9).flat_map(row).collect();
        let latin = [b"k,y\n".as_slice(), &rows].concat();
        let reader = CsvReader::regression("y").charset(Charset::Latin1);
        let text = encoding_rs::WINDOWS_1252.decode(&latin).0.into_owned();
        let utf8 = [b"\xef\xbb\xbf".as_slice(), text.as_bytes()].concat();
        for bytes in [latin, utf8] {
            let parts = stored(&reader, &bytes, 40).unwrap();
            assert_eq!(parts.rows.feature_names(), ["k=caf\u{e9}"]);
            assert_eq!(parts.rows.rows(), 18);
        }
    }

    /// Blocks of a table with types give the rows of the whole one.
    #[test]
    fn typed_blocks_are_the_table() {
        use crate::data::ColumnType::{Dates, Labels, Numbers};
        let columns = || [("size", Numbers), ("kind", Labels), ("when", Dates), ("y", Numbers)];
        let filled = |table: &mut TypedTable, rows: std::ops::Range<usize>| {
            for i in rows {
                table
                    .push((i % 50 != 7).then(|| format!("{}.5", i * 37 % 101)).as_deref())
                    .unwrap();
                table.push(Some(["a, \"b\"\n", "c", "d"][i % 3])).unwrap();
                table.push(Some(&*format!("2024-01-{:02}", 1 + i % 28))).unwrap();
                table.push((i % 90 != 89).then(|| (i % 17).to_string()).as_deref()).unwrap();
                table.end_row().unwrap();
            }
        };
        let block = |k: usize, size: usize, columns: [(&str, ColumnType); 4]| {
            let mut table = TypedTable::new("t.parquet", columns, 1 << 20);
            table.skip_rows(size * k);
            filled(&mut table, size * k..(size * (k + 1)).min(300));
            Ok(table)
        };
        let folder = TempDir::new().unwrap();
        let to = folder.path().join("t.rows");
        let reader = CsvReader::regression("y").drop_missing_rows();
        let whole = reader.read_table(&block(0, 300, columns()).unwrap()).unwrap();
        for size in [100, 150, 280, 300] {
            let blocks = (0..=300 / size).map(|k| block(k, size, columns()));
            let parts = reader.store_tables(blocks, &to, Stored::F64).unwrap();
            assert_eq!(parts.rows.read(0..parts.rows.rows()).unwrap(), whole.dataset);
            assert_eq!(parts.schema.feature_names(), whole.schema.feature_names());
            assert_eq!(parts.dropped, whole.dropped);
        }
        // Errors name the row of the whole table.
        let refused = |blocks: Vec<Result<TypedTable, Error>>| {
            let stored = CsvReader::regression("y").store_tables(blocks, &to, Stored::F16);
            stored.unwrap_err().to_string()
        };
        let mut gap = block(1, 6, columns()).unwrap();
        filled(&mut gap, 7..8);
        let words = refused(vec![block(0, 6, columns()), Ok(gap)]);
        assert!(words.starts_with("t.parquet, row 8, column `size`: no value, which"), "{words}");
        assert!(words.contains("bring the rows into a random order"), "{words}");
        let mut large = TypedTable::new("t.parquet", columns(), 1 << 20);
        large.skip_rows(30);
        for cell in ["1e9", "c", "2024-01-09", "1"] {
            large.push(Some(cell)).unwrap();
        }
        large.end_row().unwrap();
        let words = refused(vec![block(0, 30, columns()), Ok(large)]);
        assert!(words.starts_with("t.parquet, row 31, column `size`: "), "{words}");
        let other = [("size", Numbers), ("kind", Labels), ("when", Dates), ("z", Numbers)];
        let words = refused(vec![block(0, 30, columns()), block(1, 30, other)]);
        assert!(words.contains("a block has other columns"), "{words}");
        let words = refused(vec![Err(Error::table("t.parquet", "broken"))]);
        assert!(words.contains("broken"), "{words}");
        assert!(refused(Vec::new()).contains("no block of rows"));
        let words = refused(vec![block(0, 0, columns()), block(0, 30, columns())]);
        assert!(words.contains("no rows") && words.contains("of the first block alone"), "{words}");
    }

    #[test]
    fn what_the_first_block_has_not_is_refused() {
        let many = |header: &str, row: &str, last: &str| {
            let mut text = format!("{header}\n");
            (0..100).for_each(|_| text += &format!("{row}\n"));
            text + last + "\n"
        };
        let reader = CsvReader::regression("y");
        let refused = |text: String| stored(&reader, text.as_bytes(), 200).unwrap_err().to_string();
        let rows = "1,a,2\n3,b,4";
        let words = refused(many("x,k,y", rows, "1,c,2"));
        let line = "t.csv, line 202, column `k`: `c` is not among the first ";
        assert!(words.starts_with(line) && words.contains("a random order"), "{words}");
        let words = refused(many("x,k,y", rows, "1.x,b,2"));
        assert!(words.starts_with("t.csv, line 202, column `x`"), "{words}");
        let words = refused(many("x,k,y", rows, ",b,2"));
        assert!(words.starts_with("t.csv, line 202, column `x`: no value, which the"), "{words}");
        let words = refused(many("x,k,y", rows, "1,b"));
        assert!(words.contains("line 202 has 2 cells, but the header has 3"), "{words}");
        let words = refused(many("x,k,y", "1,a,2", "1,b,2"));
        assert!(words.starts_with("t.csv, line 102, column `k`: `b` is not among"), "{words}");
        let classes = CsvReader::classification("k");
        let text = many("x,k,y", "1,a,2", "1,b,2");
        let words = stored(&classes, text.as_bytes(), 200).unwrap_err().to_string();
        assert!(words.contains("of the first 16 MiB of text alone"), "{words}");
        // A line that does not end.
        let long = "x,y\n1,2\n".to_owned() + &"1".repeat(1000);
        let words = stored(&reader.clone().limit(300), long.as_bytes(), 200).unwrap_err();
        assert!(words.to_string().contains("the line is longer than 300 bytes"), "{words}");
        let mut latin = many("x,k,y", rows, "1,b,2").into_bytes();
        latin.extend(b"1,\xe9,2\n");
        let words = stored(&reader, &latin, 200).unwrap_err().to_string();
        assert!(words.contains("line 203 is not UTF-8 text (byte 0xe9)"), "{words}");
        let folder = TempDir::new().unwrap();
        let large = many("x,k,y", rows, "1e300,b,2");
        let source = Source::new("t.csv", large.as_bytes()).unwrap();
        let to = folder.path().join("t.rows");
        let error = reader.store_in_blocks(source, &to, Stored::F32, 200);
        fails!(error, Cell { table: "t.csv", row: "line 202", column: "x" });
        assert!(!to.exists());
        assert!(stored(&reader, b"", 200).unwrap_err().is_data());
        let utf16: Vec<u8> =
            "\u{feff}x,y\n1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(stored(&reader, &utf16, 200).is_ok());
        assert!(stored(&reader, &utf16, 8).unwrap_err().to_string().contains("UTF-16"));
    }
}
