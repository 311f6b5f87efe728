//! Figures of Papamarkou, Hinkle, Young and Womble, *Challenges in Markov chain Monte Carlo for Bayesian
//! neural networks*, Statist. Sci. 37 (2022), arXiv:1910.06539, on this crate's runs.
//!
//!     cargo run --release -p bnn-mcmc-studies -- challenges --from FOLDER --out FIGURES
//!
//! | file | answers to | input: `cargo run --release -p bnn-mcmc-studies --` |
//! | --- | --- | --- |
//! | `figure-1a-solutions.svg` | figure 1(a): solutions of gradient descent on exclusive or in parallel coordinates | `xor --out FOLDER/xor` |
//! | `figure-1b-densities.svg` | figure 1(b): densities of the solutions, and of the posterior | the same |
//! | `figure-1c-chain.svg` | figure 1(c): a chain of truncated MALA under a uniform prior | the same |
//! | `figure-5-traces.svg` | figures 5(c) to (e): MALA under wider and wider priors | the same |
//! | `figure-5-running-means.svg` | figure 5(h): running means of the same chains | the same |
//! | `figure-5-path.svg` | the way of a chain between the orders of the two hidden units | the same |
//! | `evidence.svg` | power posteriors: evidence by number of hidden units | `evidence --out FOLDER/evidence.csv` |

use bnn_mcmc_report::figure::{Axis, Colour, Figure, Interval, Mark, Panel, Symbol};
use bnn_mcmc_report::figures::{chains, parameters};
use ndarray::Array2;

use crate::shared::AnyError;
use crate::shared::figures::{Folders, Table, make, points, quantity};

const XOR: &str = "xor --out FOLDER/xor";
/// The weight of figures 1(b), 1(c) and 5.
const WEIGHT: &str = "w0[0,0]";

pub type Args = Folders;

pub fn run(folders: Folders) -> Result<(), AnyError> {
    make(&folders, &[solutions, densities, chain_on_a_box, by_prior, evidence])
}

/// The parameters that a table has columns of.
fn names() -> Vec<String> {
    let names = ["w0[0,0]", "w0[0,1]", "w0[1,0]", "w0[1,1]", "b0[0]", "b0[1]"];
    names.into_iter().chain(["w1[0,0]", "w1[0,1]", "b1[0]"]).map(String::from).collect()
}

fn solutions(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table("xor/solutions.csv", XOR)?;
    let names = names();
    let mut groups = Vec::new();
    for start in table.values("start")? {
        let rows = table.select(&[("start", &start)])?;
        let mut values = Array2::zeros((rows.rows(), names.len()));
        for (k, name) in names.iter().enumerate() {
            values.column_mut(k).assign(&ndarray::aview1(&rows.numbers(name)?));
        }
        groups.push((format!("from {start}"), values));
    }
    let groups: Vec<parameters::Solutions> = groups
        .iter()
        .map(|(name, values)| parameters::Solutions { name, values: values.view() })
        .collect();
    let mut figure = parameters::parallel(&names, &groups)?;
    figure.title = "Solutions of gradient descent on exclusive or".into();
    folders.write("figure-1a-solutions.svg", &figure)
}

fn densities(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table("xor/densities.csv", XOR)?.select(&[("parameter", WEIGHT)])?;
    let caption = "The density of one weight over the solutions of gradient descent from two initial \
                   distributions, and over the posterior on the box. The solutions are where descents end, \
                   and no draws of a posterior: the densities need not agree.";
    let x = Axis::new(WEIGHT);
    let mut panel = Panel::new("", x, Axis::new("density"));
    for (k, of) in table.values("of")?.iter().enumerate() {
        let rows = table.select(&[("of", of)])?;
        let points = points(&rows.numbers("x")?, &rows.numbers("density")?);
        panel =
            panel.mark(Mark::Line { name: Some(of.clone()), colour: Colour::Series(k), points });
    }
    let figure = Figure::new("densities", "Solutions and posterior", caption).panel(panel);
    folders.write("figure-1b-densities.svg", &figure)
}

/// The first chain of a sampler under a prior.
fn chain(table: &Table, sampler: &str, prior: &str, name: &str) -> Result<Array2<f64>, AnyError> {
    table.select(&[("sampler", sampler), ("prior", prior)])?.chains(name)
}

fn chain_on_a_box(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table("xor/chains.csv", XOR)?;
    let values = chain(&table, "truncated MALA", "U(-10, 10)", WEIGHT)?;
    let mut figure = chains::trace(&[quantity(WEIGHT, values.view())])?;
    figure.title = "A chain of truncated MALA under U(-10, 10)".into();
    folders.write("figure-1c-chain.svg", &figure)
}

/// Traces and running means of MALA under priors of growing variance.
fn by_prior(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table("xor/chains.csv", XOR)?;
    let mut drawn = Vec::new();
    for (sampler, prior) in [
        ("MALA", "N(0, 10)"),
        ("MALA", "N(0, 100)"),
        ("MALA", "N(0, 1000)"),
        ("power posteriors", "N(0, 1000)"),
    ] {
        let name = format!("{WEIGHT}, {sampler}, {prior}");
        drawn.push((name, chain(&table, sampler, prior, WEIGHT)?));
    }
    let quantities: Vec<_> =
        drawn.iter().map(|(name, values)| quantity(name, values.view())).collect();
    let mut traces = chains::trace(&quantities)?;
    traces.title = "Chains on exclusive or under wider and wider priors".into();
    folders.write("figure-5-traces.svg", &traces)?;
    let mut means = chains::running_mean(&quantities)?;
    means.title = "Running means under wider and wider priors".into();
    folders.write("figure-5-running-means.svg", &means)?;

    let (x, y) = ("w1[0,0]", "w1[0,1]");
    let [a, b] = [x, y].map(|name| chain(&table, "MALA", "N(0, 10)", name));
    let (a, b) = (a?, b?);
    let mut path = parameters::path([quantity(x, a.view()), quantity(y, b.view())], 0, 60)?;
    path.title = "MALA between the orders of the two hidden units".into();
    folders.write("figure-5-path.svg", &path)
}

/// Log evidence with its standard error, and the score of rows that it has not seen.
fn evidence(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table("evidence.csv", "evidence --out FOLDER/evidence.csv")?;
    let caption = "Networks for iris by number of hidden units: the log evidence of 105 rows, with one and \
                   two standard errors where these are wider than the dot, and the log predictive density of the 45 others. A difference of 3 \
                   nats in log evidence is odds of 20 to 1.";
    let labels = || table.text("hidden").map(<[String]>::to_vec);
    let intervals =
        table.numbers("log_evidence")?.into_iter().zip(table.numbers("standard_error")?);
    let intervals = intervals.enumerate().map(|(k, (value, error))| Interval {
        at: k as f64,
        value,
        inner: [value - error, value + error],
        outer: [value - 2.0 * error, value + 2.0 * error],
    });
    let scores = table.numbers("log_predictive_density")?.into_iter().enumerate();
    let figure = Figure::new("evidence", "How many hidden units?", caption)
        .panel(
            Panel::new(
                "evidence",
                Axis::new("log evidence, nats"),
                Axis::names("hidden units", labels()?).reversed(),
            )
            .mark(Mark::Intervals {
                name: None,
                colour: Colour::Series(0),
                intervals: intervals.collect(),
            }),
        )
        .panel(
            Panel::new(
                "test rows",
                Axis::new("log predictive density, nats per row"),
                Axis::names("hidden units", labels()?).reversed(),
            )
            .mark(Mark::Points {
                name: None,
                colour: Colour::Series(1),
                symbol: Symbol::Dot,
                points: scores.map(|(k, score)| [score, k as f64]).collect(),
            }),
        );
    folders.write("evidence.svg", &figure)
}
