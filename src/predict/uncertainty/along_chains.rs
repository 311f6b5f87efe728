//! Class probabilities along the chains.

use std::fmt;
use std::io::Write;
use std::path::Path;

use ndarray::{Array4, ArrayView4, Axis};
use serde::Serialize;

use super::probabilities::{check_class_names, check_columns, of_class};
use crate::Error;
use crate::predict::predictions::to_file;

/// Class probabilities along the chains, for chosen inputs.
///
/// They come from [`Predictions::along_chains`], from [`Posterior::predict_mean`] for inputs without
/// labels, or from [`StreamedUncertainty`] while the chain runs. They are table 8 of the dissertation
/// *Bayesian uncertainty reduction analysis by Langevin dynamics sampling*.
///
/// [`Posterior::predict_mean`]: crate::posterior::Posterior::predict_mean
/// [`Predictions::along_chains`]: crate::predict::Predictions::along_chains
/// [`StreamedUncertainty`]: crate::predict::StreamedUncertainty
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainProbabilities {
    values: Array4<f64>,
    inputs: Vec<usize>,
    class_names: Vec<String>,
}

impl ChainProbabilities {
    /// Takes `inputs`, counted from 0, out of `probabilities` `[chain, draw, input, class]`; of two
    /// classes there may be one column, the probability of the second.
    ///
    /// # Errors
    /// If `inputs` is empty or names one that does not exist, there are fewer than two class names,
    /// one occurs twice, or there are not as many as columns.
    pub fn new<S: Into<String>>(
        probabilities: ArrayView4<f64>,
        inputs: &[usize],
        class_names: impl IntoIterator<Item = S>,
    ) -> Result<Self, Error> {
        let class_names: Vec<String> = class_names.into_iter().map(Into::into).collect();
        check_class_names(&class_names)?;
        let (chains, draws, all, columns) = probabilities.dim();
        check_columns(columns, class_names.len())?;
        if inputs.is_empty() {
            return Err(Error::argument("inputs", "empty", "at least one input"));
        }
        if let Some(input) = inputs.iter().find(|input| **input >= all) {
            return Err(Error::argument("inputs", input, format!("less than {all}")));
        }
        let shape = (chains, draws, inputs.len(), class_names.len());
        let values = Array4::from_shape_fn(shape, |(chain, draw, i, class)| {
            let p = probabilities.index_axis(Axis(0), chain);
            let p = p.index_axis_move(Axis(0), draw).index_axis_move(Axis(0), inputs[i]);
            of_class(p, class)
        });
        Ok(Self { values, inputs: inputs.to_vec(), class_names })
    }

    /// Takes `probabilities` of the chosen `inputs` alone; `inputs` are their numbers among all
    /// inputs.
    pub(in crate::predict) fn of_rows(
        probabilities: ArrayView4<f64>,
        inputs: &[usize],
        class_names: Vec<String>,
    ) -> Result<Self, Error> {
        let all: Vec<usize> = (0..inputs.len()).collect();
        Ok(Self { inputs: inputs.to_vec(), ..Self::new(probabilities, &all, class_names)? })
    }

    /// The probabilities, `[chain, draw, input, class]`, of the [`inputs`](Self::inputs).
    pub fn values(&self) -> ArrayView4<'_, f64> {
        self.values.view()
    }

    /// The chosen inputs, counted from 0 among all.
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// The names of the classes.
    pub fn class_names(&self) -> &[String] {
        &self.class_names
    }

    /// One line per chain, draw and input: `chain, draw, input`, then `p_1`, `p_7`, ...
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn to_csv(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        to_file(path.as_ref(), |file| self.write_csv(file))
    }

    /// Writes the table of [`to_csv`](Self::to_csv) to any writer.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_csv(&self, writer: impl Write) -> std::io::Result<()> {
        let mut csv = csv::Writer::from_writer(writer);
        let mut record = ["chain", "draw", "input"].map(String::from).to_vec();
        record.extend(self.class_names.iter().map(|name| format!("p_{name}")));
        csv.write_record(&record)?;
        for (c, chain) in self.values.outer_iter().enumerate() {
            for (s, draw) in chain.outer_iter().enumerate() {
                for (input, p) in self.inputs.iter().zip(draw.rows()) {
                    let at = [c, s, *input].map(|n| n.to_string());
                    csv.write_record(at.into_iter().chain(p.iter().map(f64::to_string)))?;
                }
            }
        }
        csv.flush()
    }
}

/// For each input and chain, eight draws at equal distances, or all if there are fewer.
impl fmt::Display for ChainProbabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        let (chains, draws, _, _) = self.values.dim();
        let columns: Vec<String> =
            self.class_names.iter().map(|n| format!(" {:>8}", format!("p {n}"))).collect();
        writeln!(f, "{:>8} {:>6} {:>8}{}", "input", "chain", "draw", columns.concat())?;
        for (i, input) in self.inputs.iter().enumerate() {
            for chain in 0..chains {
                let shown = draws.min(SHOWN);
                for draw in (1..=shown).map(|k| k * draws / shown - 1) {
                    write!(f, "{input:>8} {chain:>6} {draw:>8}")?;
                    for (class, column) in columns.iter().enumerate() {
                        let p = self.values[(chain, draw, i, class)];
                        write!(f, " {p:0$.6}", column.chars().count() - 1)?;
                    }
                    writeln!(f)?;
                }
            }
        }
        Ok(())
    }
}
