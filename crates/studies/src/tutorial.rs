//! Figures of Chandra and Simmons, *Bayesian neural networks via MCMC: a Python-based tutorial*,
//! IEEE Access 12 (2024), arXiv:2304.02595, on this crate's runs.
//!
//!     cargo run --release -p bnn-mcmc-studies -- tutorial --from FOLDER --out FIGURES
//!
//! | file | answers to | input: `cargo run --release -p bnn-mcmc-studies --` |
//! | --- | --- | --- |
//! | `figure-05-posterior.svg`, `figure-05-trace.svg` | figure 5: posterior and trace of a proportion | `binomial --out FOLDER/binomial` |
//! | `figures-08-09-predictions.svg` | figures 8 and 9: predictions of the sunspot series by the linear model and the network | `sunspot --out FOLDER/sunspot` |
//! | `changes.svg` | the same predictions as changes from the last value | the same |
//! | `figure-10-rhat.svg` | figure 10: R-hat of all parameters by data set, model and settings | `tutorial_tables --out FOLDER/tables` |
//! | `figure-11-*.svg` | figure 11: posterior and trace of one weight of each model, sunspot | `sunspot --out FOLDER/sunspot` |
//! | `figure-12-*.svg` | figure 12: the same for iris | `iris --out FOLDER/iris` |
//! | `weights-iris.svg`, `forest-iris.svg` | all weights of figure 12's linear model at once | the same |

use bnn_mcmc::diagnostics::{Summary, SummaryRow};
use bnn_mcmc::predict::persistence;
use bnn_mcmc_report::figure::Figure;
use bnn_mcmc_report::figures::{chains, parameters, predictive, rhat};
use ndarray::ArrayView2;
use serde::Deserialize;

use crate::shared::AnyError;
use crate::shared::figures::{Folders, SUNSPOT, make, quantity, sunspot};

const IRIS: &str = "iris --out FOLDER/iris";

pub type Args = Folders;

pub fn run(folders: Folders) -> Result<(), AnyError> {
    make(&folders, &[figure_5, figures_8_and_9, figure_10, figures_11_and_12, all_weights])
}

/// A proportion, with the exact Beta(51, 51).
fn figure_5(folders: &Folders) -> Result<(), AnyError> {
    let draws = folders.draws("binomial/draws.csv", "binomial --out FOLDER/binomial")?;
    let p = quantity("p", draws.parameter("p")?);
    // The normalising constant by the trapezium rule.
    let x = |i: u32| f64::from(i) / 1000.0;
    let bare = |x: f64| 4f64.powi(50) * (x * (1.0 - x)).powi(50);
    let area: f64 = (0..=1000).map(|i| bare(x(i))).sum::<f64>() / 1000.0;
    let exact: Vec<[f64; 2]> = (300..=700).map(|i| [x(i), bare(x(i)) / area]).collect();
    let posterior = parameters::histogram(p, Some(("Beta(51, 51)", &exact)))?;
    folders.write("figure-05-posterior.svg", &posterior)?;
    folders.write("figure-05-trace.svg", &chains::trace(&[p])?)
}

/// Predictions of a series, with 95 % intervals.
fn figures_8_and_9(folders: &Folders) -> Result<(), AnyError> {
    let (linear, test) = sunspot(folders, "linear")?;
    let (network, _) = sunspot(folders, "mlp")?;
    let methods = [("linear model", &linear), ("network 4-10-1", &network)];
    let methods = methods.map(|(name, predictions)| predictive::Method { name, predictions });
    let place: Vec<f64> = (0..test.rows()).map(|row| row as f64).collect();
    let figure = predictive::along(&methods, &place, "test row", 0, 0.95)?;
    folders.write("figures-08-09-predictions.svg", &figure)?;
    let last = persistence(&test)?;
    folders.write("changes.svg", &predictive::changes(&network, last.view(), 0)?)
}

/// A line of `tables.json`.
#[derive(Deserialize)]
struct Line {
    data: String,
    model: String,
    settings: String,
    rhat_of_parameters: Vec<Option<f64>>,
}

/// R-hat over parameters: a panel for each data set and settings, a column for each model.
fn figure_10(folders: &Folders) -> Result<(), AnyError> {
    let path = folders.input("tables/tables.json", "tutorial_tables --out FOLDER/tables")?;
    let lines: Vec<Line> = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let mut figure: Option<Figure> = None;
    for group in lines.chunk_by(|a, b| (&a.data, &a.settings) == (&b.data, &b.settings)) {
        let summaries: Vec<Summary> = group.iter().map(summary).collect();
        let names = group.iter().map(|line| line.model.as_str());
        let models: Vec<(&str, &Summary)> = names.zip(&summaries).collect();
        let mut own = rhat::models(&models)?;
        for panel in &mut own.panels {
            panel.title = format!("{}, {} settings", group[0].data, group[0].settings);
        }
        match &mut figure {
            Some(figure) => figure.panels.extend(own.panels),
            None => figure = Some(own),
        }
    }
    let mut figure = figure.ok_or("tables.json has no lines")?;
    figure.columns = Some(2);
    folders.write("figure-10-rhat.svg", &figure)
}

/// R-hat of each parameter; all else is unknown.
fn summary(line: &Line) -> Summary {
    let unknown = SummaryRow::new("", ArrayView2::from(&[[f64::NAN]]));
    let row = |rhat: &Option<f64>| SummaryRow { rhat: rhat.unwrap_or(f64::NAN), ..unknown.clone() };
    Summary { rows: line.rhat_of_parameters.iter().map(row).collect() }
}

/// One weight of each model: posterior and trace.
fn figures_11_and_12(folders: &Folders) -> Result<(), AnyError> {
    for (number, data, study) in [(11, "sunspot", SUNSPOT), (12, "iris", IRIS)] {
        let linear = folders.draws(&format!("{data}/linear/draws.csv"), study)?;
        let network = folders.draws(&format!("{data}/mlp/draws.csv"), study)?;
        let of_linear = quantity("w[0,0], linear model", linear.parameter("w[0,0]")?);
        let of_network = quantity("w0[0,0], network", network.parameter("w0[0,0]")?);
        let mut posterior = parameters::histogram(of_linear, None)?;
        posterior.panels.extend(parameters::histogram(of_network, None)?.panels);
        posterior.title = format!("A weight of each model, {data}");
        folders.write(&format!("figure-{number}-posterior.svg"), &posterior)?;
        let density = chains::density(&[of_linear, of_network])?;
        folders.write(&format!("figure-{number}-by-chain.svg"), &density)?;
        let trace = chains::trace(&[of_linear, of_network])?;
        folders.write(&format!("figure-{number}-trace.svg"), &trace)?;
    }
    Ok(())
}

/// Every weight of the linear model of iris.
fn all_weights(folders: &Folders) -> Result<(), AnyError> {
    let draws = folders.draws("iris/linear/draws.csv", IRIS)?;
    folders.write("weights-iris.svg", &parameters::weights(&draws)?)?;
    folders.write("correlations-iris.svg", &parameters::correlations(&draws)?)?;
    let names = draws.layout().parameter_names();
    let quantities: Result<Vec<_>, bnn_mcmc::Error> =
        names.iter().map(|name| Ok(quantity(name, draws.parameter(name)?))).collect();
    folders.write("forest-iris.svg", &parameters::forest(&quantities?)?)?;
    let pairs = parameters::pairs(&draws, &["w[0,0]", "w[1,0]", "w[2,0]", "b[0]"])?;
    folders.write("pairs-iris.svg", &pairs)
}
