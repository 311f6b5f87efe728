//! Figures of the uncertainty of classifications: wrong ones, and the inputs that look most
//! uncertain.

use bnn_mcmc::Error;
use bnn_mcmc::predict::{ChainProbabilities, ConfusionMatrix, Measure, Uncertainty};
use ndarray::{ArrayView1, ArrayView2, s};

use super::bins::{edges, extent, shares};
use crate::figure::{Axis, Colour, Figure, Mark, Palette, Panel, Place, Scale, shortened};

/// The most classes of a confusion matrix that can be read.
const MOST_CLASSES: usize = 30;
/// The bars of a histogram.
const BARS: usize = 20;
/// The most images, and the most inputs along the chains, of one figure.
const MOST_PANELS: usize = 24;
/// The most draws of a chain that are drawn.
const MOST_DRAWS: usize = 120;
/// The most classes whose probabilities are drawn along the chains.
const MOST_LINES: usize = 3;
/// The measures that add up: predictive entropy = expected entropy + mutual information.
const MEASURES: [Measure; 3] =
    [Measure::PredictiveEntropy, Measure::ExpectedEntropy, Measure::MutualInformation];

/// The number of rows for each pair of an observed and a predicted class. If there are more than 30
/// classes, the figure shows the 30 with the most errors.
pub fn confusion(matrix: &ConfusionMatrix) -> Figure {
    let (counts, all) = (&matrix.counts, matrix.names.len());
    let mut classes: Vec<usize> = (0..all).collect();
    let mut note = String::new();
    if all > MOST_CLASSES {
        let errors = |class: &usize| {
            counts.row(*class).sum() + counts.column(*class).sum() - 2 * counts[(*class, *class)]
        };
        classes.sort_by_key(|class| std::cmp::Reverse(errors(class)));
        classes.truncate(MOST_CLASSES);
        classes.sort_unstable();
        note = format!(" Shown are the {MOST_CLASSES} of {all} classes with the most errors.");
    }
    let names = || classes.iter().map(|class| &matrix.names[*class]);
    let table = |cell: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        classes.iter().map(|row| classes.iter().map(|col| cell(*row, *col)).collect()).collect()
    };
    let values = table(&|row, column| counts[(row, column)] as f64 / counts.row(row).sum() as f64);
    // Counts are written if they fit into the cells, of which so many are beside each other.
    let digits = counts.iter().max().map_or(1, |count| count.to_string().len());
    let mut text = Vec::new();
    if digits * classes.len() <= 34 {
        let word = |count: usize| if count == 0 { String::new() } else { count.to_string() };
        let of_row = |row: &usize| classes.iter().map(|col| word(counts[(*row, *col)])).collect();
        text = classes.iter().map(of_row).collect();
        note += " Numbers count rows; cells without a number have none.";
    }
    let x = Axis::names("predicted class", names());
    let y = Axis::names("observed class", names()).reversed();
    let panel = Panel { aspect: 0.9, ..Panel::new("", x, y) }.mark(Mark::Cells {
        values,
        range: [0.0, 1.0],
        palette: Palette::Viridis,
        text,
    });
    let errors = counts.sum() - counts.diag().sum();
    let caption = format!(
        "Colours are shares of the rows of each observed class. Rows on the diagonal are predicted right: all \
         but {errors} of {} are.{note}",
        counts.sum()
    );
    Figure::new("confusion", "Confusion matrix", caption).panel(panel)
}

/// Histograms of predictive entropy, expected entropy and mutual information; where the `observed`
/// classes are known, of inputs that are predicted right and of inputs that are not.
///
/// # Errors
/// If there is not one class for each input, or one does not exist.
pub fn entropies(uncertainty: &Uncertainty, observed: Option<&[usize]>) -> Result<Figure, Error> {
    let all: Vec<usize> = (0..uncertainty.inputs()).collect();
    let of = |inputs: &[usize], measure| -> Vec<f64> {
        inputs.iter().map(|i| uncertainty.measure(measure)[*i]).collect()
    };
    let groups = match observed {
        None => vec![(None, all)],
        Some(observed) => {
            // It checks them.
            uncertainty.scores(observed)?;
            let is_right = |i: &usize| predicted(uncertainty.mean().row(*i)) == observed[*i];
            let (right, wrong) = all.into_iter().partition(is_right);
            vec![(Some("right"), right), (Some("wrong"), wrong)]
        }
    };
    let note = match &groups[..] {
        [(_, right), (_, wrong)] => format!(
            " {} inputs are predicted right and {} wrong, and the shares are of each group: wrong \
             predictions should be the more uncertain.",
            right.len(),
            wrong.len()
        ),
        _ => String::new(),
    };
    let histograms = |measure| -> Vec<(Option<String>, Vec<f64>)> {
        let group = |(name, inputs): &(Option<&str>, Vec<usize>)| {
            (name.map(Into::into), of(inputs, measure))
        };
        groups.iter().map(group).collect()
    };
    Ok(measures("entropies", "Uncertainty of the predictions", &note, histograms))
}

/// Histograms of predictive entropy, expected entropy and mutual information: of inputs like the
/// training data (`inside`), and of others (`outside`).
///
/// # Errors
/// If the classes of `outside` are others.
pub fn inside_and_outside(inside: &Uncertainty, outside: &Uncertainty) -> Result<Figure, Error> {
    let separation = inside.separation(outside)?;
    let note = format!(
        " The shares are of {} inputs inside and {} outside; the area under the ROC curve, which is 0.5 \
         where a measure does not tell them apart and 1 where it does without error, is {}.",
        separation.inside,
        separation.outside,
        MEASURES.map(|m| format!("{:.3} for the {m}", separation.get(m))).join(", "),
    );
    let histograms = |measure| {
        let of = |name: &str, of: &Uncertainty| (Some(name.into()), of.measure(measure).to_vec());
        vec![of("inside", inside), of("outside", outside)]
    };
    Ok(measures("inside-and-outside", "Uncertainty inside and outside", &note, histograms))
}

/// A panel for each measure, with a histogram for each group.
fn measures(
    name: &str,
    title: &str,
    note: &str,
    groups: impl Fn(Measure) -> Vec<(Option<String>, Vec<f64>)>,
) -> Figure {
    let caption = format!(
        "How uncertain the class of an input is, in nats. The predictive entropy is the whole of it: the \
         entropy of the probabilities averaged over the draws. The expected entropy, the mean of the \
         entropies by each draw, would remain if the weights were known; the mutual information is the \
         rest, which more data would reduce.{note}"
    );
    let mut figure = Figure::new(name, title, caption);
    for measure in MEASURES {
        let groups = groups(measure);
        let [_, most] = extent(groups.iter().flat_map(|(_, values)| values.iter().copied()));
        let edges = edges(0.0, if most > 0.0 { most } else { 1.0 }, BARS);
        let x = Axis::new(format!("{measure} (nats)"));
        let mut panel = Panel::new("", x, Axis::new("share of inputs"));
        for (k, (name, values)) in groups.into_iter().enumerate() {
            let heights = shares(&values, &edges);
            let (colour, edges) = (Colour::Series([0, 3][k % 2]), edges.clone());
            panel = panel.mark(Mark::Bars { name, colour, edges, heights });
        }
        figure = figure.panel(panel);
    }
    figure
}

/// The images that are most uncertain by a measure, each with its predicted class and its
/// probability, and the observed class if it is known.
///
/// `pixels` `[input, pixel]` are the features, row by row of the image from above; large values are
/// drawn dark. `size` are the image's numbers of rows and columns.
///
/// # Errors
/// Pixels of other inputs or of another size; no images or more than 24; classes as in
/// [`entropies`].
pub fn most_uncertain_images(
    uncertainty: &Uncertainty,
    measure: Measure,
    pixels: ArrayView2<f64>,
    size: [usize; 2],
    observed: Option<&[usize]>,
    images: usize,
) -> Result<Figure, Error> {
    if images == 0 || images > MOST_PANELS {
        return Err(Error::argument("images", images, format!("1 to {MOST_PANELS}")));
    }
    if pixels.nrows() != uncertainty.inputs() {
        return Err(Error::shape("rows of pixels", pixels.nrows(), uncertainty.inputs()));
    }
    let [rows, columns] = size;
    if rows.checked_mul(columns) != Some(pixels.ncols()) || pixels.ncols() == 0 {
        return Err(Error::shape(
            "columns of pixels",
            pixels.ncols(),
            format!("{rows} x {columns}"),
        ));
    }
    if let Some(observed) = observed {
        uncertainty.scores(observed)?;
    }
    let ranking = uncertainty.ranking(measure);
    let shown = &ranking[..images.min(ranking.len())];
    let range = extent(shown.iter().flat_map(|i| pixels.row(*i).to_vec()));
    let names = uncertainty.class_names();
    let caption = format!(
        "The {} of {} images with the largest {measure}, the most uncertain first: the predicted class with \
         its probability{}.",
        shown.len(),
        ranking.len(),
        if observed.is_some() { ", and the observed class" } else { "" }
    );
    let title = format!("Most uncertain images by {measure}");
    let mut figure = Figure::new("most-uncertain-images", title, caption);
    for input in shown {
        let mean = uncertainty.mean();
        let class = predicted(mean.row(*input));
        let truth = observed.map(|observed| match observed[*input] {
            truth if truth == class => ", right".to_owned(),
            truth => format!(", is {}", shortened(&names[truth])),
        });
        let title = format!(
            "{} ({:.2}){}",
            shortened(&names[class]),
            mean[(*input, class)],
            truth.unwrap_or_default()
        );
        let pixel =
            |row: usize| pixels.slice(s![*input, row * columns..(row + 1) * columns]).to_vec();
        let bare = || Axis::new("").scale(Scale::Bare);
        let x = bare().range(-0.5, columns as f64 - 0.5);
        let y = bare().range(rows as f64 - 0.5, -0.5);
        let aspect = (rows as f64 / columns as f64).clamp(0.5, 2.0);
        figure = figure.panel(Panel { aspect, ..Panel::new(title, x, y) }.mark(Mark::Cells {
            values: (0..rows).map(pixel).collect(),
            range,
            palette: Palette::Grey,
            text: Vec::new(),
        }));
    }
    figure.columns = Some(4);
    Ok(figure)
}

/// Class probabilities of single inputs along the chains, which stand one after the other: a panel
/// for each input, with the classes that are most probable on average.
pub fn along_chains(probabilities: &ChainProbabilities) -> Figure {
    let values = probabilities.values();
    let (chains, draws, inputs, classes) = values.dim();
    let every = draws.div_ceil(MOST_DRAWS).max(1);
    let lines = if classes == 2 { 1 } else { classes.min(MOST_LINES) };
    let names = probabilities.class_names();
    let mut notes = String::new();
    if every > 1 {
        notes += &format!(" One draw of {every} is drawn.");
    }
    if lines < classes {
        notes += &match lines {
            1 => " The other class has the rest.".to_owned(),
            lines => format!(" Of {classes} classes, the {lines} most probable ones are drawn."),
        };
    }
    if inputs > MOST_PANELS {
        notes += &format!(" Shown are the first {MOST_PANELS} of {inputs} inputs.");
    }
    let caption = format!(
        "The probabilities of classes by each draw, chain by chain; vertical lines stand between the chains. Chains that \
         agree have the same level and the same spread.{notes}"
    );
    let mut figure =
        Figure::new("probabilities-along-chains", "Probabilities along the chains", caption);
    for (k, input) in probabilities.inputs().iter().enumerate().take(MOST_PANELS) {
        let of_input = values.slice(s![.., .., k, ..]);
        let mut order: Vec<usize> = (0..classes).collect();
        let total: Vec<f64> =
            (0..classes).map(|class| of_input.slice(s![.., .., class]).sum()).collect();
        order.sort_by(|a, b| total[*b].total_cmp(&total[*a]));
        order.truncate(lines);
        let x = Axis::new("draw, of all chains").range(0.0, ((chains * draws).max(1)) as f64);
        let y = Axis::new("probability").range(0.0, 1.0);
        let mut panel = Panel::new(format!("input {input}"), x, y);
        for class in order {
            for chain in 0..chains {
                let points = (0..draws)
                    .step_by(every)
                    .map(|draw| [(chain * draws + draw) as f64, of_input[(chain, draw, class)]]);
                panel = panel.mark(Mark::Line {
                    name: Some(shortened(&names[class])),
                    colour: Colour::Series(class),
                    points: points.collect(),
                });
            }
        }
        for chain in 1..chains {
            let place = Place::Vertical((chain * draws) as f64);
            panel = panel.mark(Mark::Rule { name: None, colour: Colour::Ink, place });
        }
        figure = figure.panel(panel);
    }
    figure
}

/// The most probable class; of equals, the first.
fn predicted(mean: ArrayView1<f64>) -> usize {
    (0..mean.len()).rev().max_by(|a, b| mean[*a].total_cmp(&mean[*b])).unwrap_or(0)
}
