//! What the figures of all documents share: the folders, files that may be missing, sunspot.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bnn_mcmc::data::{Standardise, bundled};
use bnn_mcmc::predict::Predictions;
use bnn_mcmc::prelude::*;
use bnn_mcmc_report::figure::Figure;
use ndarray::{Array2, ArrayView2};

use crate::shared::AnyError;

/// Makes one figure or several.
pub type Maker = fn(&Folders) -> Result<(), AnyError>;

/// Where the outputs of the studies are, and where figures go.
#[derive(clap::Args)]
pub struct Folders {
    /// The folder with what the studies wrote: the head of the study's file has the commands
    #[arg(long)]
    from: PathBuf,
    /// The folder to write SVG files to
    #[arg(long)]
    out: PathBuf,
}

/// Makes all figures. One whose input is missing does not stop the others; the study then fails.
pub fn make(folders: &Folders, makers: &[Maker]) -> Result<(), AnyError> {
    std::fs::create_dir_all(&folders.out).map_err(|error| Error::io(&folders.out, error))?;
    let mut missing = 0;
    for maker in makers {
        if let Err(error) = maker(folders) {
            eprintln!("error: {error}");
            missing += 1;
        }
    }
    match missing {
        0 => Ok(()),
        _ => Err(format!("{missing} of {} steps drew no figure", makers.len()).into()),
    }
}

impl Folders {
    /// The path of an input, or an error that names the study which writes it.
    pub fn input(&self, file: &str, study: &str) -> Result<PathBuf, AnyError> {
        let path = self.from.join(file);
        if path.is_file() {
            return Ok(path);
        }
        let from = self.from.display();
        let command = format!(
            "cargo run --release -p bnn-mcmc-studies -- {}",
            study.replace("FOLDER", &from.to_string())
        );
        Err(format!("{} is missing; to make it: {command}", path.display()).into())
    }

    /// Draws that a study wrote.
    pub fn draws(&self, file: &str, study: &str) -> Result<Draws, AnyError> {
        Ok(Draws::from_csv(self.input(file, study)?)?)
    }

    /// A table that a study wrote.
    pub fn table(&self, file: &str, study: &str) -> Result<Table, AnyError> {
        Table::read(&self.input(file, study)?)
    }

    /// Writes a figure.
    pub fn write(&self, file: &str, figure: &Figure) -> Result<(), AnyError> {
        let path = self.out.join(file);
        std::fs::write(&path, figure.to_svg()).map_err(|error| Error::io(&path, error))?;
        println!("{}: {}", path.display(), figure.title);
        Ok(())
    }
}

/// A CSV file, by columns.
pub struct Table {
    path: String,
    columns: HashMap<String, Vec<String>>,
    rows: usize,
}

impl Table {
    fn read(path: &Path) -> Result<Self, AnyError> {
        let mut reader = csv::Reader::from_path(path)?;
        let header: Vec<String> = reader.headers()?.iter().map(String::from).collect();
        let (mut columns, mut rows) = (vec![Vec::new(); header.len()], 0);
        for record in reader.records() {
            for (column, cell) in columns.iter_mut().zip(record?.iter()) {
                column.push(cell.to_owned());
            }
            rows += 1;
        }
        let columns = header.into_iter().zip(columns).collect();
        Ok(Self { path: path.display().to_string(), columns, rows })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// A column as text.
    pub fn text(&self, name: &str) -> Result<&[String], AnyError> {
        match self.columns.get(name) {
            Some(column) => Ok(column),
            None => Err(format!("{}: there is no column `{name}`", self.path).into()),
        }
    }

    /// A column as numbers.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>, AnyError> {
        let number = |(row, cell): (usize, &String)| {
            let parsed = cell.parse();
            parsed.map_err(|_| format!("{}, row {}, column `{name}`: `{cell}`", self.path, row + 2))
        };
        Ok(self.text(name)?.iter().enumerate().map(number).collect::<Result<_, _>>()?)
    }

    /// The values of a column in the order of their first rows.
    pub fn values(&self, name: &str) -> Result<Vec<String>, AnyError> {
        let mut values: Vec<String> = Vec::new();
        for cell in self.text(name)? {
            if !values.contains(cell) {
                values.push(cell.clone());
            }
        }
        Ok(values)
    }

    /// The rows in which columns have these values.
    pub fn select(&self, wanted: &[(&str, &str)]) -> Result<Self, AnyError> {
        let mut is_wanted = vec![true; self.rows];
        for (name, value) in wanted {
            for (keep, cell) in is_wanted.iter_mut().zip(self.text(name)?) {
                *keep &= cell == value;
            }
        }
        let of = |column: &Vec<String>| {
            let kept = column.iter().zip(&is_wanted).filter(|(_, keep)| **keep);
            kept.map(|(cell, _)| cell.clone()).collect()
        };
        Ok(Self {
            path: self.path.clone(),
            columns: self.columns.iter().map(|(name, column)| (name.clone(), of(column))).collect(),
            rows: is_wanted.iter().filter(|keep| **keep).count(),
        })
    }

    /// A column as draws, `[chain, draw]`: chains are told by the column `chain`, if there is one.
    pub fn chains(&self, name: &str) -> Result<Array2<f64>, AnyError> {
        let values = self.numbers(name)?;
        let chains = match self.columns.contains_key("chain") {
            true => self.values("chain")?.len().max(1),
            false => 1,
        };
        Ok(Array2::from_shape_vec((chains, values.len() / chains), values)?)
    }
}

/// Points from two columns.
pub fn points(x: &[f64], y: &[f64]) -> Vec<[f64; 2]> {
    x.iter().zip(y).map(|(x, y)| [*x, *y]).collect()
}

/// A name and draws as a quantity.
pub fn quantity<'a>(
    name: &'a str,
    values: ArrayView2<'a, f64>,
) -> bnn_mcmc_report::figures::Quantity<'a> {
    bnn_mcmc_report::figures::Quantity { name, values }
}

/// The predictions of the sunspot test rows by the draws of the study `sunspot`, and these rows, in
/// units of the series.
pub fn sunspot(folders: &Folders, kin: &str) -> Result<(Predictions, Dataset), AnyError> {
    let draws = folders.draws(&format!("sunspot/{kin}/draws.csv"), SUNSPOT)?;
    let (train, test) = bundled::sunspot_windows();
    let features = Standardise::new().fit_features(&train)?;
    let response = Standardise::new().fit_response(&train)?;
    let scale = |data: &Dataset| response.scale_response(&features.scale_features(data)?);
    let (scaled, scaled_test) = (scale(&train)?, scale(&test)?);
    // Predictions do not depend on the priors.
    let priors = Priors::all(Normal::new(0.0, 1.0)?)
        .with("log_noise_variance", LogInverseGamma::new(2.0, 1e-3)?);
    let predictions = match kin {
        "linear" => Posterior::new(Linear::new(4, 1)?, Gaussian::sampled(), &scaled, priors)?
            .predict(&draws, &scaled_test)?,
        _ => {
            let network = Mlp::new(&[4, 10, 1], Activation::Tanh)?;
            Posterior::new(network, Gaussian::sampled(), &scaled, priors)?
                .predict(&draws, &scaled_test)?
        }
    };
    Ok((predictions.unscaled(&response)?, test))
}

/// What writes the sunspot runs.
pub const SUNSPOT: &str = "sunspot --out FOLDER/sunspot";
