//! A table of every parameter's moments, quantiles and diagnostics.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use ndarray::{ArrayView2, ArrayView3, Axis, s};
use serde::{Deserialize, Serialize};

use super::chains::{Chains, mean_and_variance};
use super::ess::TAIL;
use super::geyer;
use super::rhat;
use super::workspace::Workspace;
use crate::Error;
use crate::data::{csv_cell, guarded};
use crate::layout::Layout;
use crate::threads;

/// The summary of one parameter over all draws of all chains. Undefined values are NaN, which JSON
/// turns into `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryRow {
    /// The name of the parameter.
    pub name: String,
    /// The mean.
    pub mean: f64,
    /// The standard deviation, with S - 1 in the denominator for S draws in all.
    pub sd: f64,
    /// The Monte Carlo standard error of the mean, [`mcse_mean`](super::mcse_mean).
    pub mcse_mean: f64,
    /// The 5% quantile, by linear interpolation (type 7 of Hyndman and Fan 1996, the default of
    /// NumPy and of arviz-stats).
    pub q05: f64,
    /// The median.
    pub q50: f64,
    /// The 95% quantile, by linear interpolation.
    pub q95: f64,
    /// The bulk effective sample size, [`ess_bulk`](super::ess_bulk).
    pub ess_bulk: f64,
    /// The tail effective sample size, [`ess_tail`](super::ess_tail).
    pub ess_tail: f64,
    /// The headline R-hat, [`rhat`](super::rhat()).
    pub rhat: f64,
    /// R-hat of the split chains without ranks, [`rhat_split`](super::rhat_split).
    pub rhat_split: f64,
    /// R-hat of the folded draws, [`rhat_folded`](super::rhat_folded).
    pub rhat_folded: f64,
}

impl SummaryRow {
    /// The summary of one parameter, `draws` being `[chain, draw]`.
    ///
    /// It sorts once, and so is quicker than the single functions one after the other.
    pub fn new(name: impl Into<String>, draws: ArrayView2<f64>) -> Self {
        let chains = Chains::new(draws);
        Self::of(name.into(), &chains, &mut Workspace::for_one())
    }

    fn of(name: String, chains: &Chains, workspace: &mut Workspace) -> Self {
        let nan = f64::NAN;
        let (mean, variance) = mean_and_variance(&chains.values);
        let mut row = Self {
            name,
            mean,
            sd: variance.sqrt(),
            mcse_mean: nan,
            q05: nan,
            q50: nan,
            q95: nan,
            ess_bulk: nan,
            ess_tail: nan,
            rhat: nan,
            rhat_split: nan,
            rhat_folded: nan,
        };
        if chains.has_nan() {
            return row;
        }
        workspace.load(chains);
        [row.q05, row.q50, row.q95] = [TAIL.0, 0.5, TAIL.1].map(|p| workspace.sorted().quantile(p));
        if !chains.are_usable(1) {
            return row;
        }
        let (rhat_rank, ess_bulk) = workspace.rhat_rank_and_ess_bulk();
        row.ess_bulk = ess_bulk;
        row.ess_tail = workspace.ess_tail(chains, TAIL);
        let split = chains.split();
        row.mcse_mean = row.sd / geyer::of_series(&split, &mut workspace.fft).sqrt();
        if chains.are_usable(2) {
            row.rhat_split = split.rhat();
            row.rhat_folded = workspace.rhat_folded();
            row.rhat = rhat::rank_or_folded(rhat_rank, row.rhat_folded);
        }
        row
    }

    /// The numbers in the order of the columns.
    fn numbers(&self) -> [f64; 11] {
        [
            self.mean,
            self.sd,
            self.mcse_mean,
            self.q05,
            self.q50,
            self.q95,
            self.ess_bulk,
            self.ess_tail,
            self.rhat,
            self.rhat_split,
            self.rhat_folded,
        ]
    }
}

/// Moments, quantiles, effective sample sizes and R-hat of every parameter, as a table.
///
/// ```
/// use bnn_mcmc::{diagnostics::Summary, layout::Layout};
/// let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
/// let draws = ndarray::Array3::from_shape_simple_fn((4, 500, 3), || rng.normal());
/// let layout = Layout::new().with("w0", &[2]).with("b0", &[]);
/// let summary = Summary::new(&layout.parameter_names(), draws.view())?;
/// println!("{summary}\n{}", summary.by_block(&layout)?);
/// assert!(summary.max_rhat() < 1.02);
/// let mut csv = Vec::new();
/// summary.write_csv(&mut csv).unwrap();
/// assert!(csv.starts_with(b"name,mean,sd,mcse_mean,q05,q50,q95,ess_bulk,ess_tail,rhat"));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The rows, in the order of the parameters.
    pub rows: Vec<SummaryRow>,
}

impl Summary {
    /// Summarises `draws`, `[chain, draw, parameter]`, with one name for each parameter.
    ///
    /// Parameters are shared out over the threads of rayon's pool; the result does not depend on
    /// their number. A parameter with NaN draws has NaN diagnostics.
    ///
    /// # Errors
    /// If there are not as many names as parameters.
    pub fn new(names: &[String], draws: ArrayView3<f64>) -> Result<Self, Error> {
        threads::ready()?;
        if names.len() != draws.len_of(Axis(2)) {
            return Err(Error::shape("parameter names", names.len(), draws.len_of(Axis(2))));
        }
        Ok(Self { rows: summarise(draws, &|p| names[p].clone()) })
    }

    /// The largest R-hat; NaN if any is NaN, or if there is no parameter.
    pub fn max_rhat(&self) -> f64 {
        worst(&self.rows, |r| r.rhat, f64::max)
    }

    /// The smallest bulk effective sample size; NaN if any is NaN, or if there is no parameter.
    pub fn min_ess_bulk(&self) -> f64 {
        worst(&self.rows, |r| r.ess_bulk, f64::min)
    }

    /// The smallest tail effective sample size; NaN if any is NaN, or if there is no parameter.
    pub fn min_ess_tail(&self) -> f64 {
        worst(&self.rows, |r| r.ess_tail, f64::min)
    }

    /// The worst values within each block of `layout`, whose parameters the rows are.
    ///
    /// # Errors
    /// If the layout has another number of parameters than this summary.
    pub fn by_block(&self, layout: &Layout) -> Result<BlockSummary, Error> {
        if layout.dim() != self.rows.len() {
            return Err(Error::shape("parameters of the layout", layout.dim(), self.rows.len()));
        }
        let block_row = |name: &str, rows: &[SummaryRow]| BlockRow {
            name: name.to_string(),
            parameters: rows.len(),
            undefined: rows.iter().filter(|r| r.rhat.is_nan()).count(),
            rhat: worst(rows, |r| r.rhat, f64::max),
            rhat_split: worst(rows, |r| r.rhat_split, f64::max),
            rhat_folded: worst(rows, |r| r.rhat_folded, f64::max),
            ess_bulk: worst(rows, |r| r.ess_bulk, f64::min),
            ess_tail: worst(rows, |r| r.ess_tail, f64::min),
        };
        let blocks = layout.blocks().iter();
        Ok(BlockSummary {
            rows: blocks.map(|b| block_row(&b.name, &self.rows[b.range.clone()])).collect(),
        })
    }

    /// Writes all rows as CSV: a header, then numbers in the shortest form that reads back as the
    /// same number, `NaN` for undefined values, and names quoted where they contain commas, with a
    /// single quote before names that a spreadsheet would take for formulas ([`guarded`]).
    ///
    /// # Errors
    /// If `path` cannot be written.
    pub fn to_csv(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        std::fs::File::create(path)
            .and_then(|file| self.write_csv(file))
            .map_err(|source| Error::io(path, source))
    }

    /// Writes the table of [`Summary::to_csv`] to any writer.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_csv(&self, writer: impl io::Write) -> io::Result<()> {
        let mut csv = io::BufWriter::new(writer);
        writeln!(csv, "name,{}", COLUMNS.join(","))?;
        for row in &self.rows {
            let numbers = row.numbers().map(|x| x.to_string());
            writeln!(csv, "{},{}", csv_cell(&guarded(&row.name)), numbers.join(","))?;
        }
        csv.flush()
    }
}

/// The columns after the name, in a CSV file and (as [`HEADER`]) in a terminal.
const COLUMNS: [&str; 11] = [
    "mean",
    "sd",
    "mcse_mean",
    "q05",
    "q50",
    "q95",
    "ess_bulk",
    "ess_tail",
    "rhat",
    "rhat_split",
    "rhat_folded",
];

/// The worst diagnostics of one block of parameters: a row of a [`BlockSummary`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockRow {
    /// The name of the block.
    pub name: String,
    /// The number of parameters in the block.
    pub parameters: usize,
    /// The number of parameters whose headline R-hat is NaN: a single chain, NaN or constant draws.
    pub undefined: usize,
    /// The largest headline R-hat; NaN if any is NaN.
    pub rhat: f64,
    /// The largest R-hat of split chains without ranks; NaN if any is NaN.
    pub rhat_split: f64,
    /// The largest R-hat of folded draws; NaN if any is NaN.
    pub rhat_folded: f64,
    /// The smallest bulk effective sample size; NaN if any is NaN.
    pub ess_bulk: f64,
    /// The smallest tail effective sample size; NaN if any is NaN.
    pub ess_tail: f64,
}

/// The worst diagnostics of each block of parameters, as a table. From [`Summary::by_block`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockSummary {
    /// The rows, in the order of the layout.
    pub rows: Vec<BlockRow>,
}

/// The worst of a column, `choose` being `max` or `min`; NaN if any is NaN or there is none.
fn worst(rows: &[SummaryRow], of: impl Fn(&SummaryRow) -> f64, choose: fn(f64, f64) -> f64) -> f64 {
    rows.iter()
        .map(of)
        .reduce(|a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { choose(a, b) })
        .unwrap_or(f64::NAN)
}

/// Summarises every parameter of `[chain, draw, parameter]`, in parallel.
pub(super) fn summarise(
    draws: ArrayView3<f64>,
    name: &(dyn Fn(usize) -> String + Sync),
) -> Vec<SummaryRow> {
    // Eight parameters share a cache line, so that gathering them one by one would read each line
    // eight times.
    const GATHERED: usize = 8;
    let (chains, length, parameters) = draws.dim();
    let gathered = (parameters / rayon::current_num_threads().max(1)).clamp(1, GATHERED);
    let scores = Workspace::scores_for(chains, length);
    let rows = threads::map_with(
        parameters.div_ceil(gathered),
        &|| (Workspace::for_many(scores.clone()), Vec::new()),
        &|(workspace, buffer): &mut (Workspace, Vec<f64>), block| {
            let range = block * gathered..((block + 1) * gathered).min(parameters);
            let size = chains * length;
            buffer.resize(range.len() * size, 0.0);
            for (c, chain) in draws.slice(s![.., .., range.clone()]).outer_iter().enumerate() {
                for (t, draw) in chain.outer_iter().enumerate() {
                    for (p, &x) in draw.iter().enumerate() {
                        buffer[p * size + c * length + t] = x;
                    }
                }
            }
            let row = |(i, p): (usize, usize)| {
                let values = &buffer[i * size..(i + 1) * size];
                let of = Chains::from_slice(values, chains, length);
                SummaryRow::of(name(p), &of, workspace)
            };
            range.enumerate().map(row).collect::<Vec<_>>()
        },
    );
    rows.into_iter().flatten().collect()
}

/// Above this many rows, `{}` shows the beginning and the end only; `{:#}` shows all.
const SHOWN: usize = 40;

const HEADER: [&str; 12] = [
    "", "mean", "sd", "mcse", "5%", "50%", "95%", "ess bulk", "ess tail", "R-hat", "split",
    "folded",
];

/// An aligned table for the terminal, with the worst parameters named below it. If there are more
/// than 40 rows, `{}` shows the first 30 and the last 10, and `{:#}` shows all.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let n = self.rows.len();
        let all = f.alternate() || n <= SHOWN;
        let (head, tail) = if all { (n, n) } else { (30, n - 10) };
        let cells = |row: &SummaryRow| {
            let mut cells = vec![row.name.clone()];
            for (x, column) in row.numbers().into_iter().zip(COLUMNS) {
                cells.push(match column {
                    "ess_bulk" | "ess_tail" => count(x),
                    "rhat" | "rhat_split" | "rhat_folded" => ratio(x),
                    _ => short(x),
                });
            }
            cells
        };
        let mut table = vec![HEADER.map(String::from).to_vec()];
        table.extend(self.rows[..head].iter().map(cells));
        if !all {
            table.push(vec![format!("... {} more", tail - head)]);
        }
        table.extend(self.rows[tail..].iter().map(cells));
        write_table(f, &table)?;

        let defined =
            |of: fn(&SummaryRow) -> f64| self.rows.iter().filter(move |r| !of(r).is_nan());
        let highest = defined(|r| r.rhat).max_by(|a, b| a.rhat.total_cmp(&b.rhat));
        let fewest = defined(|r| r.ess_bulk).min_by(|a, b| a.ess_bulk.total_cmp(&b.ess_bulk));
        if let Some(row) = highest {
            writeln!(f, "largest R-hat: {} ({})", ratio(row.rhat), row.name)?;
        }
        if let Some(row) = fewest {
            writeln!(f, "fewest effective draws: {} ({})", count(row.ess_bulk), row.name)?;
        }
        let undefined = self.rows.iter().filter(|r| r.rhat.is_nan()).count();
        if undefined > 0 {
            writeln!(f, "R-hat undefined: {undefined} of {n} parameters")?;
        }
        Ok(())
    }
}

impl fmt::Display for BlockSummary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let header =
            ["", "parameters", "undefined", "R-hat", "split", "folded", "ess bulk", "ess tail"];
        let mut table = vec![header.map(String::from).to_vec()];
        table.extend(self.rows.iter().map(|row| {
            vec![
                row.name.clone(),
                row.parameters.to_string(),
                row.undefined.to_string(),
                ratio(row.rhat),
                ratio(row.rhat_split),
                ratio(row.rhat_folded),
                count(row.ess_bulk),
                count(row.ess_tail),
            ]
        }));
        write_table(f, &table)
    }
}

/// The first column to the left, the others to the right.
pub(super) fn write_table(f: &mut fmt::Formatter, table: &[Vec<String>]) -> fmt::Result {
    let columns = table.iter().map(Vec::len).max().unwrap_or(0);
    let width_of = |c: usize| {
        table.iter().filter_map(|row| row.get(c)).map(|s| s.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width_of).collect();
    for row in table {
        let mut line = String::new();
        for (c, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            line += &if c == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
        }
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Four significant digits.
pub(super) fn short(x: f64) -> String {
    let magnitude = x.abs();
    if x == 0.0 || !x.is_finite() {
        x.to_string()
    } else if (1e-3..1e5).contains(&magnitude) {
        let decimals = (3 - magnitude.log10().floor() as i32).clamp(0, 6) as usize;
        format!("{x:.decimals$}")
    } else {
        format!("{x:.3e}")
    }
}

/// A number of draws, as a whole number.
pub(super) fn count(x: f64) -> String {
    format!("{x:.0}")
}

/// An R-hat.
pub(super) fn ratio(x: f64) -> String {
    if x.abs() < 1000.0 { format!("{x:.3}") } else { short(x) }
}
