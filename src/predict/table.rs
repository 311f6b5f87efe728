//! Predictions as a table: a line for each row and response column, or each row and class.

use std::io::{BufWriter, Write};
use std::path::Path;

use ndarray::ArrayView1;

use super::Predictions;
use super::cells::map_cells;
use super::predictions::to_file;
use crate::Error;
use crate::data::{Response, csv_cell, guarded};
use crate::diagnostics::quantile;

/// The quantiles in tables.
const QUANTILES: [f64; 3] = [0.05, 0.5, 0.95];

/// The numbers of [`Predictions::table`], which has lines for the first row, then for the second one, and so on.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionTable {
    /// What a row has a line for each of: `response` or `class`.
    pub of: &'static str,
    /// The names of these responses or classes.
    pub names: Vec<String>,
    /// The columns of numbers: the name, and the number in each line.
    pub columns: Vec<(String, Vec<f64>)>,
}

impl PredictionTable {
    /// The number of lines.
    pub fn lines(&self) -> usize {
        self.columns.first().map_or(0, |(_, numbers)| numbers.len())
    }

    fn add<const N: usize>(&mut self, names: [String; N], cells: &[[f64; N]]) {
        for (k, name) in names.into_iter().enumerate() {
            self.columns.push((name, cells.iter().map(|cell| cell[k]).collect()));
        }
    }
}

impl Predictions {
    /// One line for each row and response column, or each row and class. `observed` is there if the
    /// response was observed.
    ///
    /// | response | columns |
    /// | --- | --- |
    /// | real, counts | `row, response, observed, mean, mean_sd, mean_q05, mean_q50, mean_q95, new_q05, new_q50, new_q95` |
    /// | numbers with bounds | `row, response, observed_from, observed_to, mean, mean_sd, mean_q05, mean_q50, mean_q95, new_q05, new_q50, new_q95, median, median_q05, median_q95` |
    /// | classes | `row, class, observed, probability, probability_sd, probability_q05, probability_q50, probability_q95` |
    ///
    /// `mean` is the posterior mean of E\[y | x, q\], and columns that begin with `mean_` give the
    /// spread of that expectation over the draws, the uncertainty about it. Where there are [medians](Self::centre) in place of
    /// expectations these columns are `median`, `median_sd`, `median_q05`, `median_q50` and `median_q95`. `new_` are quantiles of
    /// a new observation, which include its noise. They are left out of counts in several
    /// categories, whose means are proportions. `observed` is 1 for the class that was observed and
    /// 0 for the others. Names that a spreadsheet would take for formulas have a single quote
    /// before them, which [`unguarded`](crate::data::unguarded) takes away. [`table`](Self::table) has the same as numbers.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn to_csv(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        to_file(path.as_ref(), |file| self.write_csv(file))
    }

    /// Writes the table of [`to_csv`](Self::to_csv), and of numbers with bounds the probabilities to exceed `times`
    /// besides: for each time t the columns `survival_t`, the mean over draws, `survival_t_q05` and `survival_t_q95`.
    ///
    /// # Errors
    /// Times where the response is not numbers with bounds, or that are not finite; if the file cannot be written.
    pub fn to_csv_at(&self, path: impl AsRef<Path>, times: &[f64]) -> Result<(), Error> {
        if !times.is_empty() {
            self.survival()?;
        }
        if let Some(time) = times.iter().find(|time| !time.is_finite()) {
            return Err(Error::argument("times", time, "finite numbers"));
        }
        to_file(path.as_ref(), |file| self.write_csv_at(file, times))
    }

    /// Writes the table of [`to_csv`](Self::to_csv) to any writer.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_csv(&self, writer: impl Write) -> std::io::Result<()> {
        self.write_csv_at(writer, &[])
    }

    /// Writes the table of [`to_csv_at`](Self::to_csv_at) to any writer.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_csv_at(&self, writer: impl Write, times: &[f64]) -> std::io::Result<()> {
        let mut csv = BufWriter::new(writer);
        let table = self.table(times);
        let cell = |name: &String| csv_cell(&guarded(name)).into_owned();
        let names: Vec<String> = table.names.iter().map(cell).collect();
        write!(csv, "row,{}", table.of)?;
        table.columns.iter().try_for_each(|(name, _)| write!(csv, ",{name}"))?;
        writeln!(csv)?;
        for line in 0..table.lines() {
            write!(csv, "{},{}", line / names.len(), names[line % names.len()])?;
            table.columns.iter().try_for_each(|(_, numbers)| write!(csv, ",{}", numbers[line]))?;
            writeln!(csv)?;
        }
        csv.flush()
    }

    /// The table of [`to_csv_at`](Self::to_csv_at) as numbers.
    pub fn table(&self, times: &[f64]) -> PredictionTable {
        let names = self.column_names();
        let [of, mean] = match self.is_of_classes() {
            true => ["class", "probability"],
            false => ["response", self.centre().name()],
        };
        let mut table = PredictionTable { of, names, columns: Vec::new() };
        if let Ok(observed) = self.observed_columns()
            && self.times.is_none()
        {
            table.columns.push(("observed".into(), observed.iter().copied().collect()));
        }
        if let Some((lower, upper)) = self.observed().and_then(Response::bounds) {
            for (name, bounds) in [("observed_from", lower), ("observed_to", upper)] {
                table.columns.push((name.into(), bounds.to_vec()));
            }
        }
        let ends = ["", "_sd", "_q05", "_q50", "_q95"];
        table.add(ends.map(|end| format!("{mean}{end}")), &self.means_in_table());
        let of_categories = matches!(&self.response, Response::Counts(y) if y.ncols() > 1);
        if !self.is_of_classes() && !of_categories {
            let of_new = |sorted: &[f64]| QUANTILES.map(|p| self.quantile_of_new(sorted, p));
            let cells = map_cells(self.predictive_draws(), &|_, sorted| of_new(sorted));
            table.add(["new_q05", "new_q50", "new_q95"].map(String::from), &cells);
        }
        for (name, cells) in self.times_in_table(times) {
            table.add(["", "_q05", "_q95"].map(|end| format!("{name}{end}")), &cells);
        }
        table
    }

    /// Mean, standard deviation and quantiles of the means of each row and column.
    fn means_in_table(&self) -> Vec<[f64; 5]> {
        map_cells(self.mean(), &|_, sorted| {
            let values = ArrayView1::from(sorted);
            let sd = if sorted.len() > 1 { values.std(1.0) } else { f64::NAN };
            let [low, median, high] = QUANTILES.map(|p| quantile(sorted, p));
            [values.mean().unwrap_or(f64::NAN), sd, low, median, high]
        })
    }
}
