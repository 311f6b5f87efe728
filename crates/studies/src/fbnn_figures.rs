//! Figures of Moslemi, Meng, Lan and Shahbaba, *Scaling up Bayesian neural networks with neural
//! networks* (FBNN, arXiv:2312.11799), on this crate's runs, and of the methods that are used instead
//! of sampling.
//!
//!     cargo run --release -p bnn-mcmc-studies -- fbnn_figures --from FOLDER --out FIGURES
//!
//! | file | answers to | input: `cargo run --release -p bnn-mcmc-studies --` |
//! | --- | --- | --- |
//! | `figure-1-mixture.svg` | figure 1: draws of SGHMC and pCN of a mixture of 25 normals | `mixture25_sghmc --out FOLDER/mixture25.csv` |
//! | `figure-5-emulator.svg` | figure 5: the emulated against the true log likelihood | `fbnn --out FOLDER/components.csv --predictions FOLDER/regression.csv` |
//! | `figure-6-component.svg` | figure 6: means and 95 % intervals along the first principal component | the same |
//! | `figure-7-reliability.svg` | figure 7: reliability diagrams | `fbnn --data classification --predictions FOLDER/classification.csv` |
//! | `gap.svg` | each method's mean and band in a gap of the inputs, beside the exact ones | `gap_1d --out FOLDER/gap.csv` |

use bnn_mcmc::predict::{Bins, Reliability, Uncertainty};
use bnn_mcmc_report::figure::{Axis, Colour, Figure, Mark, Panel, Symbol};
use bnn_mcmc_report::figures::{calibration, parameters, sampler};
use ndarray::{Array2, Array3};

use crate::shared::AnyError;
use crate::shared::figures::{Folders, Table, make, points, quantity};

const REGRESSION: &str = "fbnn --out FOLDER/components.csv --predictions FOLDER/regression.csv";
/// The methods that figures 6 and 7 compare.
const METHODS: [&str; 3] = ["BNN-SGHMC", "FBNN (SGHMC-pCN)", "NUTS"];

pub type Args = Folders;

pub fn run(folders: Folders) -> Result<(), AnyError> {
    make(&folders, &[figure_1, figure_5, figure_6, figure_7, gap])
}

/// Draws in the plane: two step sizes of each sampler, and independent draws.
fn figure_1(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table("mixture25.csv", "mixture25_sghmc --out FOLDER/mixture25.csv")?;
    let caption = "At most 2,000 draws of each row, coloured by chain. The target has 25 modes of equal \
                   weight. SGHMC crosses between modes only with steps whose error widens them; pCN keeps \
                   their width with every step size, and visits more of them the larger it is.";
    let mut figure = Figure::new("mixture", "Draws of a mixture of 25 normals", caption);
    figure.columns = Some(3);
    for (method, settings) in [
        ("SGHMC", &["h = 0.15", "h = 0.22"][..]),
        ("pCN", &["b = 0.05", "b = 0.5", "b = 1"]),
        ("independent draws", &[""]),
    ] {
        for setting in settings {
            let rows = table.select(&[("method", method), ("setting", setting)])?;
            if rows.rows() == 0 {
                continue;
            }
            let (x, y) = (rows.chains("x")?, rows.chains("y")?);
            let plane = parameters::plane([quantity("x", x.view()), quantity("y", y.view())])?;
            for mut panel in plane.panels {
                panel.title = format!("{method} {setting}").trim().to_owned();
                (panel.x, panel.y) = (panel.x.range(-6.0, 6.0), panel.y.range(-6.0, 6.0));
                panel.aspect = 0.9;
                figure.panels.push(panel);
            }
        }
    }
    folders.write("figure-1-mixture.svg", &figure)
}

/// Both log likelihoods along the first component, and the emulated against the true one.
fn figure_5(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table("components.csv", REGRESSION)?;
    let component = table.numbers("component_1")?;
    let (truth, emulated) = (table.numbers("log_likelihood")?, table.numbers("emulated")?);
    let every = component.len().div_ceil(1_000).max(1);
    let thinned = |points: Vec<[f64; 2]>| points.into_iter().step_by(every).collect();
    let caption = "The log likelihood at draws of FBNN (SGHMC-pCN), true and emulated by a network that \
                   has learnt from 200 draws of SGHMC; at most 1,000 draws. Points on the diagonal are \
                   emulated without error; a draw is of the posterior only as far as they lie there.";
    let dots = |name: &str, series, points| Mark::Points {
        name: Some(name.to_owned()),
        colour: Colour::Series(series),
        symbol: if series == 0 { Symbol::Dot } else { Symbol::Triangle },
        points: thinned(points),
    };
    let along = Panel::new(
        "along the draws' first principal component",
        Axis::new("first principal component"),
        Axis::new("log likelihood, nats"),
    );
    let mut figure = Figure::new("emulator", "The emulated log likelihood", caption).panel(
        along.mark(dots("true", 0, points(&component, &truth))).mark(dots(
            "emulated",
            1,
            points(&component, &emulated),
        )),
    );
    figure.panels.extend(sampler::emulator(&truth, &emulated)?.panels);
    folders.write("figure-5-emulator.svg", &figure)
}

/// Means and bands of groups of rows with neighbouring components.
fn figure_6(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table("regression.csv", REGRESSION)?;
    let caption = "Test rows by their first principal component: the observed response, and the mean \
                   and the 95 % interval of the mean function, averaged over groups of neighbouring rows, \
                   since rows with equal components differ in other features. The interval has no noise \
                   in it: observations scatter around it.";
    let mut figure =
        Figure::new("component", "Predictions along the first principal component", caption);
    figure.columns = Some(3);
    for (k, name) in METHODS.iter().enumerate() {
        let rows = table.select(&[("method", name)])?;
        if rows.rows() == 0 {
            continue;
        }
        let columns = ["component_1", "observed", "mean", "low", "high"];
        let columns: Result<Vec<Vec<f64>>, AnyError> =
            columns.into_iter().map(|column| rows.numbers(column)).collect();
        let columns = columns?;
        let mut order: Vec<usize> = (0..rows.rows()).collect();
        order.sort_by(|i, j| columns[0][*i].total_cmp(&columns[0][*j]));
        // Twenty groups, of at least three rows.
        let groups: Vec<&[usize]> = order.chunks(order.len().div_ceil(20).max(3)).collect();
        let mean = |column: usize| -> Vec<f64> {
            let of = |group: &&[usize]| {
                group.iter().map(|i| columns[column][*i]).sum::<f64>() / group.len() as f64
            };
            groups.iter().map(of).collect()
        };
        let colour = Colour::Series(k);
        let x = Axis::new("first principal component");
        let panel = Panel::new(*name, x, Axis::new("response, standardised"));
        figure = figure.panel(
            panel
                .mark(Mark::Points {
                    name: Some("observed".into()),
                    colour: Colour::Muted,
                    symbol: Symbol::Dot,
                    points: points(&columns[0], &columns[1]),
                })
                .mark(Mark::Band {
                    name: Some("95 %".into()),
                    colour,
                    x: mean(0),
                    low: mean(3),
                    high: mean(4),
                })
                .mark(Mark::Line {
                    name: Some("mean".into()),
                    colour,
                    points: points(&mean(0), &mean(2)),
                }),
        );
    }
    folders.write("figure-6-component.svg", &figure)
}

/// Reliability diagrams with equal counts, as in the paper.
fn figure_7(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table(
        "classification.csv",
        "fbnn --data classification --predictions FOLDER/classification.csv",
    )?;
    let mut curves: Vec<(&str, Reliability)> = Vec::new();
    for name in METHODS {
        let rows = table.select(&[("method", name)])?;
        if rows.rows() > 0 {
            curves.push((name, reliability(&rows)?));
        }
    }
    let curves: Vec<(&str, &Reliability)> = curves.iter().map(|(name, of)| (*name, of)).collect();
    folders.write("figure-7-reliability.svg", &calibration::reliability(&curves)?)
}

/// The reliability curve of mean probabilities of the second class.
fn reliability(rows: &Table) -> Result<Reliability, AnyError> {
    let mean = Array3::from_shape_vec((1, rows.rows(), 1), rows.numbers("mean")?)?;
    let observed: Vec<usize> = rows.numbers("observed")?.iter().map(|y| *y as usize).collect();
    Ok(Uncertainty::new(mean.view(), ["0", "1"])?.reliability(&observed, Bins::EqualCount(10))?)
}

/// Mean and two standard deviations of each method, beside the exact ones.
fn gap(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table("gap.csv", "gap_1d --out FOLDER/gap.csv")?;
    let caption = "The mean function and two standard deviations around it by each method, and the two \
                   ends of the exact band as lines. Data are where 0.7 < |x| < 2. A good method's band \
                   fills the space between the lines: narrow at the data, wide in the gap and beyond. A \
                   band that leaves the panel is cut off at its edge.";
    let mut figure = Figure::new("gap", "Uncertainty in a gap of the inputs", caption);
    figure.columns = Some(3);
    let of = |method: &str| -> Result<[Vec<f64>; 3], AnyError> {
        let rows = table.select(&[("method", method)])?;
        Ok([rows.numbers("x")?, rows.numbers("mean")?, rows.numbers("sd")?])
    };
    let ends = |[_, mean, sd]: &[Vec<f64>; 3]| {
        let end = |sign: f64| -> Vec<f64> {
            mean.iter().zip(sd).map(|(mean, sd)| mean + sign * 2.0 * sd).collect()
        };
        [end(-1.0), end(1.0)]
    };
    let exact = of("exact")?;
    let [exact_low, exact_high] = ends(&exact);
    let all = Array2::from_shape_vec(
        (2, exact_low.len()),
        [exact_low.clone(), exact_high.clone()].concat(),
    )?;
    let (low, high) = all
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(*y), high.max(*y)));
    let room = 0.3 * (high - low);
    for method in table.values("method")?.iter().filter(|method| *method != "exact") {
        let own = of(method)?;
        let [own_low, own_high] = ends(&own);
        let y = Axis::new("mean function").range(low - room, high + room);
        let mut panel = Panel::new(method.as_str(), Axis::new("x"), y)
            .mark(Mark::Band {
                name: None,
                colour: Colour::Series(0),
                x: own[0].clone(),
                low: own_low,
                high: own_high,
            })
            .mark(Mark::Line {
                name: None,
                colour: Colour::Series(0),
                points: points(&own[0], &own[1]),
            });
        for end in [&exact_low, &exact_high] {
            let points = points(&exact[0], end);
            panel = panel.mark(Mark::Line { name: None, colour: Colour::Ink, points });
        }
        figure = figure.panel(panel);
    }
    folders.write("gap.svg", &figure)
}
