//! Draws as a table: columns `chain` and `draw`, then one per parameter.

use std::io::{Read, Write};
use std::path::Path;

use ndarray::Array3;

use super::Draws;
use crate::Error;
use crate::layout::Layout;

impl Draws {
    /// Writes `chain,draw,<parameters>` to a file. Numbers are read back as the same bits; names
    /// that hold a comma are quoted.
    ///
    /// Errors: the draws hold no parameters, or the file cannot be written.
    pub fn to_csv(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.check_any_parameter()?;
        let path = path.as_ref();
        let file = std::fs::File::create(path).map_err(|e| Error::io(path, e))?;
        self.write_csv(std::io::BufWriter::new(file)).map_err(|e| Error::io(path, e))
    }

    /// As [`to_csv`](Self::to_csv), to any writer.
    pub fn write_csv(&self, writer: impl Write) -> std::io::Result<()> {
        self.check_any_parameter().map_err(std::io::Error::other)?;
        let mut csv = csv::Writer::from_writer(writer);
        let mut record = vec!["chain".to_string(), "draw".to_string()];
        record.extend(self.layout().parameter_names());
        csv.write_record(&record)?;
        for (c, chain) in self.values().outer_iter().enumerate() {
            for (d, draw) in chain.outer_iter().enumerate() {
                record.clear();
                record.extend([c.to_string(), d.to_string()]);
                record.extend(draw.iter().map(f64::to_string));
                csv.write_record(&record)?;
            }
        }
        csv.flush()
    }

    /// Reads draws of any origin: a header, one row per draw, one column per parameter. A column
    /// `chain` tells chains apart (without it there is one); a column `draw` orders the draws
    /// (without it the rows' order counts). Other spellings are not recognised.
    ///
    /// Errors name the row and column of a missing or non-numeric value, and chains of unequal
    /// length. NaN and infinite values are read: diagnostics report them.
    pub fn from_csv(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
        Self::read_csv(std::io::BufReader::new(file), &path.display().to_string())
    }

    /// As [`from_csv`](Self::from_csv), from any reader; `table` is its name in error messages.
    pub fn read_csv(reader: impl Read, table: &str) -> Result<Self, Error> {
        let problem = |problem: String| Error::Table { table: table.into(), problem };
        let mut csv = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(reader);
        let header = csv.headers().map_err(|e| problem(e.to_string()))?.clone();
        let find = |name: &str| header.iter().position(|h| h == name);
        let (chain_column, draw_column) = (find("chain"), find("draw"));
        let columns: Vec<usize> = (0..header.len())
            .filter(|i| Some(*i) != chain_column && Some(*i) != draw_column)
            .collect();
        if columns.is_empty() {
            return Err(problem("it has no column besides `chain` and `draw`".into()));
        }
        let names: Vec<String> = columns.iter().map(|i| header[*i].to_string()).collect();
        let mut seen = std::collections::HashSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
            return Err(problem(format!("two columns are called `{twice}`")));
        }
        // Chains in order of appearance, each with (draw, values) in order of rows.
        type Chain = Vec<(f64, Vec<f64>)>;
        let mut chains: Vec<(String, Chain)> = Vec::new();
        for (i, record) in csv.records().enumerate() {
            let record = record.map_err(|e| problem(e.to_string()))?;
            let row = record.position().map_or(i + 2, |p| p.line() as usize);
            let number = |column: usize| -> Result<f64, Error> {
                let text = &record[column];
                text.parse().map_err(|_| Error::Cell {
                    table: table.into(),
                    row,
                    column: header[column].into(),
                    problem: match text {
                        "" => "the value is missing".into(),
                        _ => format!("`{text}` is not a number"),
                    },
                })
            };
            let label = chain_column.map_or("", |c| &record[c]).to_string();
            let draw = draw_column.map_or(Ok(i as f64), number)?;
            let values = columns.iter().map(|c| number(*c)).collect::<Result<Vec<_>, _>>()?;
            match chains.iter_mut().find(|(name, _)| *name == label) {
                Some((_, draws)) => draws.push((draw, values)),
                None => chains.push((label, vec![(draw, values)])),
            }
        }
        let Some((_, first)) = chains.first() else {
            return Err(problem("it has a header but no draws".into()));
        };
        let n_draws = first.len();
        if let Some((label, draws)) = chains.iter().find(|(_, d)| d.len() != n_draws) {
            return Err(problem(format!(
                "chain {label} has {} draws, chain {} has {n_draws}: all must have the same number",
                draws.len(),
                chains[0].0
            )));
        }
        for (_, draws) in &mut chains {
            draws.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        for (label, draws) in &chains {
            if let Some(pair) = draws.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(problem(format!("draw {} of chain {label} is there twice", pair[0].0)));
            }
        }
        let shape = (chains.len(), n_draws, names.len());
        let flat = chains.into_iter().flat_map(|(_, d)| d).flat_map(|(_, v)| v).collect();
        let values = Array3::from_shape_vec(shape, flat).map_err(|e| problem(e.to_string()))?;
        Draws::new(Layout::from_parameter_names(&names), values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for (table, message) in [
            ("", "no column besides"),
            ("chain,draw\n0,0\n", "no column besides"),
            ("chain,draw,a\n", "no draws"),
            ("chain,a\n0,1\n0,x\n", "memory, row 3, column `a`: `x` is not a number"),
            ("chain,a\n0,1\n0,\n", "row 3, column `a`: the value is missing"),
            ("chain,a\n0,1\n1,2\n1,3\n", "chain 1 has 2 draws, chain 0 has 1"),
            ("chain,draw,a\n0,0,1\n0,0,2\n", "draw 0 of chain 0 is there twice"),
            ("a,a\n0,1\n", "two columns are called `a`"),
            ("a,b\n0,1\n0\n", "found record with 1 fields"),
        ] {
            let error = Draws::read_csv(table.as_bytes(), "memory").unwrap_err();
            assert!(error.is_data() && error.to_string().contains(message), "{error}");
        }
        let unordered = "draw,chain,a\n1,x,2\n0,x,1\n0,y,3\n1,y,4\n";
        let draws = Draws::read_csv(unordered.as_bytes(), "memory").unwrap();
        assert_eq!(draws.parameter("a").unwrap(), ndarray::array![[1.0, 2.0], [3.0, 4.0]]);
    }
}
