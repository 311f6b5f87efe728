//! Figures for Dong's lecture notes *Bayesian neural network*, which have none of their own: what the
//! notes derive, on this crate's runs.
//!
//!     cargo run --release -p bnn-mcmc-studies -- lecture_notes --from FOLDER --out FIGURES
//!
//! | file | shows | input: `cargo run --release -p bnn-mcmc-studies --` |
//! | --- | --- | --- |
//! | `exact-posterior.svg` | Bayesian linear regression: draws against the exact posterior | `linear_toy --out FOLDER/toy` |
//! | `pairs.svg`, `metropolis-path.svg` | the same posterior in pairs, and the way of one chain | the same |
//! | `averaging.svg` | predictive averaging: the error of the mean prediction of more and more draws | `sunspot --out FOLDER/sunspot` |
//! | `minibatches.svg` | Langevin Monte Carlo with minibatches: its error by step size | `sgmcmc_bias --out FOLDER/bias.csv` |

use bnn_mcmc::diagnostics::density;
use bnn_mcmc_report::figure::{Axis, Colour, Figure, Mark, Panel, Place, Scale};
use bnn_mcmc_report::figures::parameters;

use crate::shared::AnyError;
use crate::shared::figures::{Folders, make, points, quantity, sunspot};

const TOY: &str = "linear_toy --out FOLDER/toy";

pub type Args = Folders;

pub fn run(folders: Folders) -> Result<(), AnyError> {
    make(&folders, &[exact_posterior, averaging, minibatches])
}

fn exact_posterior(folders: &Folders) -> Result<(), AnyError> {
    let draws = folders.draws("toy/draws.csv", TOY)?;
    let exact = folders.draws("toy/exact.csv", TOY)?;
    let names = draws.layout().parameter_names();
    let caption = "Slope, intercept and the logarithm of the noise variance of a line through 100 points: \
                   the draws of four chains, and the density of independent draws of the exact posterior. \
                   Bars follow the line but for Monte Carlo noise.";
    let mut figure = Figure::new("exact-posterior", "Draws and the exact posterior", caption);
    for name in &names {
        let exact = density(exact.parameter(name)?, None, 200)?;
        let curve = points(&exact.x.to_vec(), &exact.density.to_vec());
        let of_draws = quantity(name, draws.parameter(name)?);
        let panels = parameters::histogram(of_draws, Some(("exact posterior", &curve)))?.panels;
        figure.panels.extend(panels);
    }
    folders.write("exact-posterior.svg", &figure)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    folders.write("pairs.svg", &parameters::pairs(&draws, &names)?)?;
    let [slope, intercept] = [("slope", "w[0,0]"), ("intercept", "b[0]")]
        .map(|(name, of)| Ok((name, draws.parameter(of)?)));
    let [slope, intercept]: [Result<_, bnn_mcmc::Error>; 2] = [slope, intercept];
    let ((slope, x), (intercept, y)) = (slope?, intercept?);
    let path = parameters::path([quantity(slope, x), quantity(intercept, y)], 0, 100)?;
    folders.write("metropolis-path.svg", &path)
}

/// The root mean square error of the mean prediction of the first draws, beside those of single
/// draws.
fn averaging(folders: &Folders) -> Result<(), AnyError> {
    let (predictions, test) = sunspot(folders, "mlp")?;
    let (mean, observed) = (predictions.mean(), test.real()?);
    let (chains, draws, rows, _) = mean.dim();
    let mut single = Vec::new();
    let mut averages = Vec::new();
    for chain in 0..chains {
        let mut sum = vec![0.0; rows];
        let mut line = Vec::new();
        for draw in 0..draws {
            let (mut of_draw, mut of_mean) = (0.0, 0.0);
            for row in 0..rows {
                let prediction = mean[(chain, draw, row, 0)];
                sum[row] += prediction;
                let average = sum[row] / (draw + 1) as f64;
                of_draw += (prediction - observed[(row, 0)]).powi(2);
                of_mean += (average - observed[(row, 0)]).powi(2);
            }
            single.push([(draw + 1) as f64, (of_draw / rows as f64).sqrt()]);
            line.push([(draw + 1) as f64, (of_mean / rows as f64).sqrt()]);
        }
        averages.push(line);
    }
    let every = single.len().div_ceil(1_000).max(1);
    let single = single.into_iter().step_by(every).collect();
    let caption = "Dots are the errors of single draws in their order (at most 1,000 of all chains), in \
                   shares of 147.9 sunspots; lines are the errors of the mean prediction of a chain's first \
                   draws. The error of an average is at most the mean error of its draws. Lines that end at \
                   different heights are chains that disagree.";
    let title = "The error of averages of predictions, sunspot, network 4-10-1";
    let x = Axis::new("draws in the average").scale(Scale::Log);
    let panel = Panel::new("", x, Axis::new("test RMSE"));
    let mut panel = panel.mark(Mark::Points {
        name: Some("single draws".into()),
        colour: Colour::Muted,
        symbol: bnn_mcmc_report::figure::Symbol::Dot,
        points: single,
    });
    for (chain, points) in averages.into_iter().enumerate() {
        let name = Some(format!("chain {chain}"));
        panel = panel.mark(Mark::Line { name, colour: Colour::Series(chain), points });
    }
    folders.write("averaging.svg", &Figure::new("averaging", title, caption).panel(panel))
}

/// The error of predicted probabilities by step size, one panel for each posterior and batch.
fn minibatches(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table("bias.csv", "sgmcmc_bias --out FOLDER/bias.csv")?;
    let caption = "The root mean square difference of predicted probabilities from those of a long exact \
                   run, by step size, in logarithms. A biased sampler's error falls with the step size until \
                   its chains are too slow; the line across is an exact sampler on all rows (MALA).";
    let title = "The error of minibatch samplers";
    let mut figure = Figure::new("minibatches", title, caption);
    figure.columns = Some(2);
    for posterior in table.values("posterior")? {
        let of_posterior = table.select(&[("posterior", &posterior)])?;
        let samplers = of_posterior.values("sampler")?;
        let exact = |name: &&String| name.starts_with("MALA");
        for batch in of_posterior.values("batch")? {
            let x = Axis::new("step size").scale(Scale::Log);
            let y = Axis::new("error of probabilities").scale(Scale::Log);
            let mut panel = Panel::new(format!("{posterior}, {batch} rows in a batch"), x, y);
            for (k, sampler) in samplers.iter().filter(|name| !exact(name)).enumerate() {
                let rows = of_posterior.select(&[("batch", &batch), ("sampler", sampler)])?;
                let points = points(&rows.numbers("step_size")?, &rows.numbers("probabilities")?);
                if rows.rows() > 0 {
                    let (name, colour) = (Some(sampler.clone()), Colour::Series(k));
                    panel = panel.mark(Mark::Line { name, colour, points });
                }
            }
            for sampler in samplers.iter().filter(exact) {
                let rows = of_posterior.select(&[("sampler", sampler)])?;
                for error in rows.numbers("probabilities")? {
                    let (name, place) = (Some("MALA".into()), Place::Horizontal(error));
                    panel = panel.mark(Mark::Rule { name, colour: Colour::Muted, place });
                }
            }
            // The exact run has a batch of its own: all rows.
            if panel.marks.len() > 1 {
                figure = figure.panel(panel);
            }
        }
    }
    folders.write("minibatches.svg", &figure)
}
