//! Draws as a table: columns `chain` and `draw`, then one per parameter.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::path::Path;

use ndarray::Array3;

use super::Draws;
use crate::Error;
use crate::cells::{Rows, Separator, csv_cell, decode, guarded, shown, unguarded};
use crate::error::Row;
use crate::layout::Layout;
use crate::memory;
use crate::message::count;

impl Draws {
    /// Writes `chain,draw,<parameters>` to a file. Numbers are read back as the same bits, names as the
    /// same names: one that holds a comma, a quotation mark, a line end or blanks at its ends is quoted, and one
    /// that a spreadsheet would take for a formula is [`guarded`].
    ///
    /// The information on how the draws were made is lost, so that verdicts on draws of an
    /// [approximation](crate::approximate) that are read back take the draws for chains:
    /// [`to_zarr`](Self::to_zarr) keeps that information.
    ///
    /// # Errors
    /// If the draws hold no parameters, or the file cannot be written.
    pub fn to_csv(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.check_any_parameter()?;
        let path = path.as_ref();
        let file = std::fs::File::create(path).map_err(|e| Error::io(path, e))?;
        self.write_csv(file).map_err(|e| Error::io(path, e))
    }

    /// Writes the table of [`to_csv`](Self::to_csv) to any writer.
    pub fn write_csv(&self, writer: impl Write) -> std::io::Result<()> {
        self.check_any_parameter().map_err(std::io::Error::other)?;
        let mut writer = std::io::BufWriter::new(writer);
        let mut line = String::from("chain,draw");
        for name in self.layout().parameter_names() {
            line.extend([",", &csv_cell(&guarded(&name))]);
        }
        for (c, chain) in self.chain_numbers().zip(self.values().outer_iter()) {
            for (d, draw) in chain.outer_iter().enumerate() {
                writeln!(writer, "{line}")?;
                line = format!("{c},{d}");
                draw.iter().for_each(|value| line.extend([",", &value.to_string()]));
            }
        }
        writeln!(writer, "{line}")?;
        writer.flush()
    }

    /// Reads draws of any origin: a header, one row per draw, one column per parameter. A column
    /// `chain` tells chains apart (without it there is one); a column `draw` orders the draws
    /// (without it the rows' order counts). Other spellings are not recognised. Parameters are called
    /// as their columns are, and form the blocks of [`Layout::from_parameter_names`].
    ///
    /// While it is read, memory holds the text, 8 bytes for each number in it, and 8 more for each draw
    /// of a chain whose draws are not in order.
    ///
    /// Errors name the row and column of a missing or non-numeric value, and chains of unequal
    /// length. NaN and infinite values are read: diagnostics report them.
    pub fn from_csv(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
        Self::read_csv(file, &path.display().to_string())
    }

    /// Reads draws like [`from_csv`](Self::from_csv), from any reader; `table` is its name in error
    /// messages.
    pub fn read_csv(mut reader: impl Read, table: &str) -> Result<Self, Error> {
        let problem = |problem: String| Error::table(table, problem);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(|e| Error::io(table, e))?;
        bytes.shrink_to_fit();
        let advice = ["save it as UTF-8".into()];
        let text = decode(&bytes, 1).map_err(|found| problem(found).advise(advice))?;

        let mut rows = Rows::new(text, Separator::Char(','));
        let columns = CsvColumns::of(&mut rows).map_err(problem)?;
        let chains = columns.chains(&rows, table)?;
        columns.draws(&rows, &chains, table)
    }
}

/// The columns of draws in a CSV file.
struct CsvColumns<'t> {
    header: Vec<Cow<'t, str>>,
    chain: Option<usize>,
    draw: Option<usize>,
    parameters: Vec<usize>,
    names: Vec<String>,
}

/// The chains of draws in a CSV file, in order of appearance.
#[derive(Default)]
struct CsvChains<'t> {
    places: HashMap<Cow<'t, str>, usize>,
    /// The number of draws of each.
    n_draws: usize,
}

impl CsvChains<'_> {
    fn label(&self, chain: usize) -> String {
        let found = self.places.iter().find(|(_, place)| **place == chain);
        found.map_or("".into(), |(label, _)| shown(label))
    }
}

impl<'t> CsvColumns<'t> {
    fn of(rows: &mut Rows<'t>) -> Result<Self, String> {
        rows.verbatim = true;
        let header = rows.first()?;
        rows.verbatim = false;
        let find = |name: &str| header.iter().position(|h| h == name);
        let (chain, draw) = (find("chain"), find("draw"));
        let is_parameter = |i: &usize| Some(*i) != chain && Some(*i) != draw;
        let parameters: Vec<usize> = (0..header.len()).filter(is_parameter).collect();
        if parameters.is_empty() {
            return Err("it has no column besides `chain` and `draw`".into());
        }
        let names: Vec<String> =
            parameters.iter().map(|i| unguarded(&header[*i]).to_string()).collect();
        let mut seen = HashSet::with_capacity(names.len());
        if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
            return Err(format!("two columns are called `{}`", shown(twice)));
        }
        Ok(Self { header, chain, draw, parameters, names })
    }

    /// A first pass counts the draws of each chain.
    fn chains(&self, rows: &Rows<'t>, table: &str) -> Result<CsvChains<'t>, Error> {
        let problem = |problem: String| Error::table(table, problem);
        let mut chains = CsvChains::default();
        let mut sizes: Vec<usize> = Vec::new();
        rows.each(table, ("the header", self.header.len()), &mut |_, cells| {
            let label = self.chain.map_or("", |c| &cells[c]);
            match chains.places.get(label) {
                Some(&chain) => sizes[chain] += 1,
                None => {
                    let label = self.chain.map_or(Cow::Borrowed(""), |c| cells[c].clone());
                    chains.places.insert(label, sizes.len());
                    sizes.push(1);
                }
            }
            Ok(())
        })?;
        let Some(&n_draws) = sizes.first() else {
            return Err(problem("it has a header but no draws".into()));
        };
        chains.n_draws = n_draws;
        match sizes.iter().position(|size| *size != n_draws) {
            None => Ok(chains),
            Some(chain) => Err(problem(format!(
                "chain {} has {}, chain {} has {n_draws}: all must have the same number",
                chains.label(chain),
                count(sizes[chain], "draw"),
                chains.label(0)
            ))),
        }
    }

    /// A second pass puts the numbers where they belong.
    fn draws(self, rows: &Rows<'t>, chains: &CsvChains<'t>, table: &str) -> Result<Draws, Error> {
        let problem = |problem: String| Error::table(table, problem);
        let (n_chains, n_draws) = (chains.places.len(), chains.n_draws);
        let (dim, n_order) = (self.parameters.len(), usize::from(self.draw.is_some()));
        let size = [(n_chains, "chains"), (n_draws, "draws"), (dim + n_order, "columns")];
        memory::check::<f64>(&format!("draws of {table}"), &size, "read fewer of them")?;
        let mut values = vec![0.0; n_chains * n_draws * dim];
        let mut draws = vec![0.0; n_chains * n_draws * n_order];
        let mut left = vec![n_draws; n_chains];
        rows.each(table, ("the header", self.header.len()), &mut |row, cells| {
            let number = |column: usize| self.number(&cells[column], column, row, table);
            let chain = chains.places[self.chain.map_or("", |c| &cells[c])];
            let at = (chain + 1) * n_draws - left[chain];
            left[chain] -= 1;
            if let Some(column) = self.draw {
                draws[at] = number(column)?;
            }
            for (value, column) in values[at * dim..].iter_mut().zip(&self.parameters) {
                *value = number(*column)?;
            }
            Ok(())
        })?;
        let of_chains = values.chunks_exact_mut(n_draws * dim).zip(draws.chunks_exact(n_draws));
        for (chain, (values, draws)) in of_chains.enumerate() {
            if draws.is_sorted_by(|a, b| a < b) {
                continue;
            }
            let mut order: Vec<usize> = (0..n_draws).collect();
            order.sort_unstable_by(|a, b| draws[*a].total_cmp(&draws[*b]).then(a.cmp(b)));
            if let Some(pair) = order.windows(2).find(|pair| draws[pair[0]] == draws[pair[1]]) {
                let (draw, chain) = (draws[pair[0]], chains.label(chain));
                return Err(problem(format!("draw {draw} of chain {chain} is there twice")));
            }
            reorder(values, dim, &mut order);
        }
        let values = Array3::from_shape_vec((n_chains, n_draws, dim), values)
            .map_err(|e| problem(e.to_string()))?;
        Draws::new(Layout::from_parameter_names(&self.names), values)
    }

    fn number(&self, text: &str, column: usize, row: usize, table: &str) -> Result<f64, Error> {
        text.parse().map_err(|_| Error::Cell {
            table: table.into(),
            row: Row::Line(row),
            column: shown(&self.header[column]),
            problem: match text.is_empty() {
                true => "the value is missing".into(),
                false => format!("`{}` is not a number", shown(text)),
            },
            advice: Vec::new(),
        })
    }
}

/// Puts the row of `dim` values that is at `order[i]` in place i, for every i, along the cycles of `order`.
fn reorder(values: &mut [f64], dim: usize, order: &mut [usize]) {
    for start in 0..order.len() {
        let mut at = start;
        while order[at] != start {
            let from = std::mem::replace(&mut order[at], at);
            let (low, high) = values.split_at_mut(at.max(from) * dim);
            low[at.min(from) * dim..][..dim].swap_with_slice(&mut high[..dim]);
            at = from;
        }
        order[at] = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;

    #[test]
    fn a_table_is_read_back_bit_for_bit() {
        let layout = Layout::new().with("w0", &[2, 2]).with("log_noise_variance", &[]);
        let values = Array3::from_shape_fn((2, 3, 5), |(c, d, p)| {
            ((c * 31 + d * 7 + p) as f64).sin() * 10f64.powi(p as i32 * 60 - 120)
        });
        let draws = Draws::new(layout, values).unwrap();
        let mut csv = Vec::new();
        draws.write_csv(&mut csv).unwrap();
        assert!(csv.starts_with(b"chain,draw,\"w0[0,0]\",\"w0[0,1]\""));
        let back = Draws::read_csv(&csv[..], "memory").unwrap();
        assert_eq!(back, draws);
    }

    #[test]
    fn bad_tables_are_refused_with_their_place() {
        let read = |table: &str| Draws::read_csv(table.as_bytes(), "memory");
        for (cell, problem) in [("x", "`x` is not a number"), ("", "the value is missing")] {
            let read = read(&format!("chain,a\n0,1\n0,{cell}\n"));
            let (table, row, column) = ("memory", "line 3", "a");
            fails!(read, Cell { table: table, row: row, column: column, problem: problem });
        }
        for (table, problem) in [
            ("", "it has no column besides `chain` and `draw`"),
            ("chain,draw\n0,0\n", "it has no column besides `chain` and `draw`"),
            ("chain,draw,a\n", "it has a header but no draws"),
            (
                "chain,a\n0,1\n1,2\n1,3\n",
                "chain 1 has 2 draws, chain 0 has 1: all must have the same number",
            ),
            ("chain,draw,a\n0,0,1\n0,0,2\n", "draw 0 of chain 0 is there twice"),
            ("a,a\n0,1\n", "two columns are called `a`"),
            ("\"a\nb\",\"a\nb\"\n0,1\n", "two columns are called `a\\nb`"),
            (
                "chain,a\nx\u{7},1\ny,2\ny,3\n",
                "chain y has 2 draws, chain x\\u{7} has 1: all must have the same number",
            ),
            ("a,b\n0,1\n0\n", "line 3 has 1 cell, but the header has 2"),
            ("a\n\"1\n2\n", "line 2: a quotation mark is not closed on its line: `\\\"1`"),
        ] {
            fails!(read(table), Table { table: "memory", problem: problem });
        }
        let unordered = "draw,chain,a\n1,x,2\n0,x,1\n0,y,3\n1,y,4\n";
        let draws = Draws::read_csv(unordered.as_bytes(), "memory").unwrap();
        assert_eq!(draws.parameter("a").unwrap(), ndarray::array![[1.0, 2.0], [3.0, 4.0]]);
    }
}
