//! Correlations of parameters, and the largest between two blocks.

use bnn_mcmc::Error;
use bnn_mcmc::draws::Draws;
use bnn_mcmc::layout::Block;
use ndarray::Array2;

use super::check_any;
use crate::figure::{Axis, Figure, Mark, Palette, Panel};

/// The most rows of a matrix of correlations.
const CORRELATED: usize = 24;
/// The most rows of such a matrix into which numbers are written.
const WRITTEN: usize = 10;
/// The most parameters whose correlations are computed.
const MOST_CORRELATED: usize = 2_000;

/// The correlations of all draws of all chains, as a heat map; of more than 24 parameters those 24
/// with the largest correlation with any other. Beside it, for parameters in several blocks, the
/// largest size of a correlation between two blocks.
///
/// Correlations of a network's weights are averages over the copies of each mode, which
/// [`Symmetries`](bnn_mcmc::diagnostics::Symmetries) take out.
///
/// # Errors
/// Fewer than two parameters, or more than 2,000, and no draws.
pub fn correlations(draws: &Draws) -> Result<Figure, Error> {
    check_any(draws)?;
    let dim = draws.layout().dim();
    if !(2..=MOST_CORRELATED).contains(&dim) {
        let allowed = format!("2 to {MOST_CORRELATED}: keep some of the blocks (`Keep::blocks`)");
        return Err(Error::argument("number of parameters", dim, allowed));
    }
    let (correlation, names) = (draws.correlation(), draws.layout().parameter_names());
    let shown = most_correlated(&correlation);
    // The diagonal is 1, and the upper triangle says the same as the lower.
    let lower =
        |i: usize, j: usize| if j < i { correlation[(shown[i], shown[j])] } else { f64::NAN };
    let n = shown.len();
    let values = (0..n).map(|i| (0..n).map(|j| lower(i, j)).collect()).collect();
    let labels: Vec<&str> = shown.iter().map(|i| names[*i].as_str()).collect();
    let title = match n == dim {
        true => "parameters".to_owned(),
        false => format!("the {n} of {dim} parameters with the largest correlations"),
    };
    let constant = (0..dim).filter(|i| correlation[(*i, *i)].is_nan()).count();
    let mut caption =
        "The correlation of two parameters over all draws. Where it is near 1 or -1, a \
                       sampler that moves one parameter at a time, or has no dense metric, makes \
                       short steps."
            .to_owned();
    if constant > 0 {
        caption += &format!(
            " {constant} parameters whose draws are all equal or not finite have none, and stay empty."
        );
    }
    let mut figure = Figure::new("correlations", "Correlations of parameters", "").panel(matrix(
        title,
        "parameter",
        &labels,
        values,
        -1.0,
    ));

    let blocks = draws.layout().blocks();
    if (2..=CORRELATED).contains(&blocks.len()) && blocks.len() < dim {
        let values = between_blocks(blocks, &correlation);
        let names = draws.layout().block_names();
        figure = figure.panel(matrix(
            "largest size between blocks".into(),
            "block",
            &names,
            values,
            0.0,
        ));
        caption += " The second panel has, for each pair of blocks, the correlation of largest size \
                    between two different parameters, without its sign.";
    }
    figure.caption = caption;
    Ok(figure)
}

/// At most [`CORRELATED`] parameters: those with the largest correlation with any other.
fn most_correlated(correlation: &Array2<f64>) -> Vec<usize> {
    let dim = correlation.nrows();
    let largest = |i: usize| {
        let others = (0..dim).filter(|j| *j != i).map(|j| correlation[(i, j)].abs());
        others.filter(|c| c.is_finite()).fold(f64::NEG_INFINITY, f64::max)
    };
    let mut shown: Vec<usize> = (0..dim).collect();
    if dim > CORRELATED {
        shown.sort_by(|i, j| largest(*j).total_cmp(&largest(*i)));
        shown.truncate(CORRELATED);
        shown.sort_unstable();
    }
    shown
}

/// The largest size of a correlation between two blocks, in the lower triangle of a matrix.
fn between_blocks(blocks: &[Block], correlation: &Array2<f64>) -> Vec<Vec<f64>> {
    let between = |a: &Block, b: &Block| {
        let pairs = a.range.clone().flat_map(|i| b.range.clone().map(move |j| (i, j)));
        let sizes = pairs.filter(|(i, j)| i != j).map(|at| correlation[at].abs());
        sizes.filter(|c| c.is_finite()).fold(f64::NAN, f64::max)
    };
    let of_row = |i: usize| -> Vec<f64> {
        let up_to = |j: usize| if j <= i { between(&blocks[i], &blocks[j]) } else { f64::NAN };
        (0..blocks.len()).map(up_to).collect()
    };
    (0..blocks.len()).map(of_row).collect()
}

/// The panel of a matrix with names on both axes, and colours from `low` to 1.
fn matrix(
    title: String,
    kind: &str,
    names: &[impl AsRef<str>],
    values: Vec<Vec<f64>>,
    low: f64,
) -> Panel {
    let axis = || Axis::names(kind, names.iter().map(AsRef::as_ref));
    let text = written(&values, names.len() <= WRITTEN);
    let cells = Mark::Cells { values, range: [low, 1.0], palette: Palette::Viridis, text };
    Panel { aspect: 0.9, ..Panel::new(title, axis(), axis().reversed()).mark(cells) }
}

/// Correlations as text, with two digits.
fn written(values: &[Vec<f64>], is_written: bool) -> Vec<Vec<String>> {
    let word = |value: &f64| match value.is_finite() {
        true => format!("{value:.2}"),
        false => String::new(),
    };
    match is_written {
        true => values.iter().map(|row| row.iter().map(word).collect()).collect(),
        false => Vec::new(),
    }
}
