//! Figures of Lu's dissertation *Bayesian uncertainty reduction analysis by Langevin dynamics sampling*
//! (University of Edinburgh), on this crate's runs.
//!
//!     cargo run --release -p bnn-mcmc-studies -- dissertation --from FOLDER --out FIGURES
//!
//! | file | answers to | input: `cargo run --release -p bnn-mcmc-studies --` |
//! | --- | --- | --- |
//! | `figure-1-trajectory.svg` | figure 1: the positions of BAOAB in a potential with wells | `langevin_1d --out FOLDER/langevin` |
//! | `figure-1-distributions.svg` | figure 1: distributions of position and momentum, against the exact ones | the same |
//! | `bias.svg` | section 2.5: the order of the bias of each integrator | the same |
//! | `figure-6-images.svg` | figure 6: ones and sevens that the network is least sure of | `ones_and_sevens --out FOLDER/digits` |
//! | `figures-7-8-losses.svg` | figures 7 and 8: the loss along the samplers, after warm-up | the same |
//! | `table-7-counts.svg` | table 7: how many images are uncertain | the same |
//! | `table-8-along.svg` | table 8: probabilities of two images along the chains | the same |

use bnn_mcmc::predict::ChainProbabilities;
use bnn_mcmc_report::figure::{Axis, Colour, Figure, Mark, Palette, Panel, Scale};
use bnn_mcmc_report::figures::{chains, parameters, uncertainty};
use ndarray::Array4;

use crate::shared::AnyError;
use crate::shared::figures::{Folders, make, points, quantity};

const LANGEVIN: &str = "langevin_1d --out FOLDER/langevin";
const DIGITS: &str = "ones_and_sevens --out FOLDER/digits";

pub type Args = Folders;

pub fn run(folders: Folders) -> Result<(), AnyError> {
    make(&folders, &[figure_1, bias, figure_6, losses, counts, along])
}

/// Position and momentum in U = q^2 (0.1 + sin^2 q), with their exact densities.
fn figure_1(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table("langevin/draws.csv", LANGEVIN)?;
    let (q, p) = (table.chains("q")?, table.chains("size_of_p")?);
    let (q, p) = (quantity("position q", q.view()), quantity("size of the momentum p", p.view()));
    folders.write("figure-1-trajectory.svg", &chains::trace(&[q])?)?;

    // No chain leaves the three inner wells.
    let end = 1.5 * std::f64::consts::PI;
    let x = |i: i32| end * f64::from(i) / 300.0;
    let bare = |q: f64| (-q * q * (0.1 + q.sin().powi(2))).exp();
    let area = (-300..=300).map(|i| bare(x(i))).sum::<f64>() * end / 300.0;
    let of_q: Vec<[f64; 2]> = (-300..=300).map(|i| [x(i), bare(x(i)) / area]).collect();
    let normal = |p: f64| (2.0 / std::f64::consts::PI).sqrt() * (-p * p / 2.0).exp();
    let of_p: Vec<[f64; 2]> =
        (0..=200).map(|i| f64::from(i) / 50.0).map(|p| [p, normal(p)]).collect();
    let mut figure = parameters::histogram(q, Some(("exact", &of_q)))?;
    figure.panels.extend(parameters::histogram(p, Some(("exact", &of_p)))?.panels);
    figure.title = "BAOAB in a potential with wells".into();
    folders.write("figure-1-distributions.svg", &figure)
}

/// The size of the bias of q^2 by step size, in logarithms.
fn bias(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table("langevin/bias.csv", LANGEVIN)?;
    let caption = "How far averages over the stationary density of an integrator are from the exact ones, \
                   without Monte Carlo noise, in logarithms: a bias of order r is a line of slope r. Steps \
                   of different integrators are no equal amounts of work or time.";
    let mut figure = Figure::new("bias", "The bias of Langevin integrators", caption);
    for (column, label) in [("bias_q2", "bias of q^2"), ("bias_u", "bias of U")] {
        let x = Axis::new("step size h").scale(Scale::Log);
        let y = Axis::new(format!("size of the {label}")).scale(Scale::Log);
        let mut panel = Panel::new("", x, y);
        for (k, name) in table.values("integrator")?.into_iter().enumerate() {
            let rows = table.select(&[("integrator", &name)])?;
            let sizes: Vec<f64> = rows.numbers(column)?.into_iter().map(f64::abs).collect();
            let points = points(&rows.numbers("h")?, &sizes);
            panel = panel.mark(Mark::Line { name: Some(name), colour: Colour::Series(k), points });
        }
        figure = figure.panel(panel);
    }
    folders.write("bias.svg", &figure)
}

/// The images that SGD is least sure of, with its probability of a seven.
fn figure_6(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table("digits/images.csv", DIGITS)?;
    let sgd = folders.table("digits/SGD.csv", DIGITS)?.numbers("p_7")?;
    let images = table.numbers("image")?;
    let mut columns = Vec::new();
    while let Ok(column) = table.numbers(&format!("pixel_{}", columns.len())) {
        columns.push(column);
    }
    let side = (columns.len() as f64).sqrt() as usize;
    let caption = "The test images with the largest predictive entropy under the network that SGD found, \
                   each with its label and the probability of a seven.";
    let mut figure = Figure::new("images", "Ones and sevens that are hard to tell", caption);
    figure.columns = Some(4);
    for (row, (image, label)) in images.iter().zip(table.text("label")?).enumerate() {
        let line = |y: usize| (0..side).map(|x| columns[y * side + x][row]).collect();
        let p = sgd.get(*image as usize).copied().unwrap_or(f64::NAN);
        let bare = || Axis::new("").scale(Scale::Bare);
        let panel = Panel::new(
            format!("image {image}, a {label}: P(7) = {p:.2}"),
            bare(),
            Axis { range: Some([side as f64 - 0.5, -0.5]), ..bare() },
        );
        let cells = Mark::Cells {
            values: (0..side).map(line).collect(),
            range: [0.0, 1.0],
            palette: Palette::Grey,
            text: Vec::new(),
        };
        figure = figure.panel(Panel { aspect: 0.95, ..panel.mark(cells) });
    }
    folders.write("figure-6-images.svg", &figure)
}

/// The loss of all training images along each sampler.
fn losses(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table("digits/losses.csv", DIGITS)?;
    let caption = "The loss of all training images along the chains, after warm-up. A chain that still \
                   falls or rises has not reached what it is to sample.";
    let mut figure = Figure::new("losses", "The loss along the samplers", caption);
    figure.columns = Some(3);
    for sampler in table.values("sampler")? {
        let losses = table.select(&[("sampler", &sampler)])?.chains("loss")?;
        let x = Axis::new("draw");
        let title = sampler.trim_end_matches(", proper");
        let mut panel = Panel::new(title, x, Axis::new("loss, nats"));
        for (chain, values) in losses.rows().into_iter().enumerate() {
            let points = values.iter().enumerate().map(|(k, loss)| [k as f64, *loss]).collect();
            panel = panel.mark(Mark::Line { name: None, colour: Colour::Series(chain), points });
        }
        figure = figure.panel(panel);
    }
    folders.write("figures-7-8-losses.svg", &figure)
}

/// How many test images have |p1 - p7| below each threshold.
fn counts(folders: &Folders) -> Result<(), AnyError> {
    let caption = "The number of test images with |p1 - p7| below a threshold, by the average over draws \
                   ('proper'). Few of them are no virtue: a network can be sure and wrong.";
    let x = Axis::new("threshold of |p1 - p7|");
    let mut panel = Panel::new("", x, Axis::new("test images below it"));
    for (k, (name, file)) in [
        ("SGD", "SGD"),
        ("BAOAB, cooled", "BAOABcooledproper"),
        ("BAOAB, posterior", "BAOABposteriorproper"),
        ("BAOAB, scaled", "BAOABscaledproper"),
    ]
    .into_iter()
    .enumerate()
    {
        let table = folders.table(&format!("digits/{file}.csv"), DIGITS)?;
        let margins = table.numbers("p_1")?.into_iter().zip(table.numbers("p_7")?);
        let margins: Vec<f64> = margins.map(|(a, b)| (a - b).abs()).collect();
        let below = |t: f64| margins.iter().filter(|margin| **margin < t).count() as f64;
        let points = (0..=50).map(|i| f64::from(i) / 50.0).map(|t| [t, below(t)]).collect();
        panel =
            panel.mark(Mark::Line { name: Some(name.into()), colour: Colour::Series(k), points });
    }
    let title = "How many images are uncertain";
    folders.write("table-7-counts.svg", &Figure::new("counts", title, caption).panel(panel))
}

/// Probabilities of a seven along the chains, for two images.
fn along(folders: &Folders) -> Result<(), AnyError> {
    let table = folders.table("digits/along.csv", DIGITS)?;
    let mut figure: Option<Figure> = None;
    for sampler in table.values("sampler")? {
        let rows = table.select(&[("sampler", &sampler)])?;
        let images: Vec<usize> = rows.values("image")?.iter().flat_map(|i| i.parse()).collect();
        let all = images.iter().max().map_or(0, |image| image + 1);
        let sampled = rows.select(&[("image", &images[0].to_string())])?.chains("p_7")?;
        let (chains, draws) = sampled.dim();
        let mut values = Array4::from_elem((chains, draws, all, 1), f64::NAN);
        for image in &images {
            let of_image = rows.select(&[("image", &image.to_string())])?.chains("p_7")?;
            for ((chain, draw), p) in of_image.indexed_iter() {
                values[(chain, draw, *image, 0)] = *p;
            }
        }
        let probabilities = ChainProbabilities::new(values.view(), &images, ["1", "7"])?;
        let mut own = uncertainty::along_chains(&probabilities);
        for panel in &mut own.panels {
            panel.title = format!("{}: {}", sampler.trim_end_matches(", proper"), panel.title);
        }
        match &mut figure {
            Some(figure) => figure.panels.extend(own.panels),
            None => figure = Some(own),
        }
    }
    let mut figure = figure.ok_or("digits/along.csv has no rows")?;
    figure.columns = Some(2);
    folders.write("table-8-along.svg", &figure)
}
