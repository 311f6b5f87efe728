//! The effect of one column, with its uncertainty.

use bnn_mcmc::Error;
use bnn_mcmc::data::ValueKind;
use bnn_mcmc::diagnostics::quantile;
use bnn_mcmc::explain::Effect;
use bnn_mcmc::predict::Interval;
use ndarray::{Array2, s};

use super::{OUTPUTS, on_axis};
use crate::figure::{self, Axis, Colour, Figure, Mark, Panel, Symbol};

/// The most individual curves.
const CURVES: usize = 8;
/// The marks of the rows' values below a curve: quantiles at these many equal steps.
const RUG: usize = 20;

/// The effect of one column: mean, intervals of 50 and 90 % over draws, and of a partial dependence the curves of up to 8
/// rows. There is a panel for each of up to six outputs. Of labels, a line for each.
///
/// # Errors
/// An effect without points or draws.
pub fn curve(effect: &Effect) -> Result<Figure, Error> {
    let (draws, points, _) = effect.draws.dim();
    if draws * points == 0 {
        return Err(Error::shape("draws and points of the effect", 0, "at least 1"));
    }
    let column = &effect.points.column;
    let (name, title) = match effect.individual.is_some() {
        true => ("partial-dependence", format!("Predictions by {column}, on average")),
        false => ("accumulated-local-effect", format!("The effect of {column}, accumulated")),
    };
    let summary = Summary {
        effect,
        mean: effect.mean(),
        half: effect.interval(0.5)?,
        most: effect.interval(0.9)?,
    };
    let panel = match effect.points.kind {
        ValueKind::Label => Summary::labels,
        _ => Summary::line,
    };
    let mut figure = Figure::new(name, title, caption(effect));
    for (j, output) in effect.outputs.iter().enumerate().take(OUTPUTS) {
        let title = if effect.outputs.len() > 1 { &output[..] } else { "" };
        figure = figure.panel(panel(&summary, title, j));
    }
    Ok(figure)
}

/// An effect, with its mean and intervals of 50 and 90 %.
struct Summary<'a> {
    effect: &'a Effect,
    mean: Array2<f64>,
    half: Interval,
    most: Interval,
}

impl Summary<'_> {
    /// The panel of the output `j` of a column of labels, a line for each.
    fn labels(&self, title: &str, j: usize) -> Panel {
        let Self { effect, mean, half, most } = self;
        let names = effect.points.words.iter().map(String::as_str);
        let ends = |of: &Interval, k| [of.lower[(k, j)], of.upper[(k, j)]];
        let intervals = (0..mean.nrows()).map(|k| figure::Interval {
            at: k as f64,
            value: mean[(k, j)],
            inner: ends(half, k),
            outer: ends(most, k),
        });
        let aspect = (0.2 + 0.09 * mean.nrows() as f64).clamp(0.4, 3.0);
        let y = Axis::names(&effect.points.column, names).reversed();
        Panel { aspect, ..Panel::new(title, Axis::new(&effect.outputs[j]), y) }.mark(
            Mark::Intervals {
                name: Some("50 % and 90 %".into()),
                colour: Colour::Series(0),
                intervals: intervals.collect(),
            },
        )
    }

    /// The panel of the output `j` along a column of numbers or times.
    fn line(&self, title: &str, j: usize) -> Panel {
        let Self { effect, mean, most, .. } = self;
        let (axis, x) = on_axis(&effect.points, &effect.points.values);
        let mut panel = Panel::new(title, axis, Axis::new(&effect.outputs[j]));
        let line = |colour, y: Vec<f64>| {
            Mark::line(colour, x.iter().copied().zip(y).map(<[f64; 2]>::from).collect())
        };
        if let Some(individual) = &effect.individual {
            let rows = individual.dim().0;
            for k in 0..rows.min(CURVES) {
                let row = k * rows / rows.min(CURVES);
                let line = line(Colour::Muted, individual.slice(s![row, .., j]).to_vec());
                panel = panel.mark(if k == 0 { line.named("single rows") } else { line });
            }
        }
        let ends = |ends: &Array2<f64>| ends.column(j).to_vec();
        panel = panel.mark(Mark::Band {
            name: Some("90 %".into()),
            colour: Colour::Series(0),
            x: x.clone(),
            low: ends(&most.lower),
            high: ends(&most.upper),
        });
        panel = panel.mark(line(Colour::Ink, ends(mean)).named("mean"));
        let low = panel.marks.iter().filter_map(lowest).fold(f64::INFINITY, f64::min);
        let rug = rug(effect).into_iter().map(|x| [x, low]).collect();
        panel.mark(
            Mark::points(Colour::Series(1), Symbol::Triangle, rug).named("values of the rows"),
        )
    }
}

fn caption(effect: &Effect) -> String {
    let is_average = effect.individual.is_some();
    let are_labels = effect.points.kind == ValueKind::Label;
    let (column, outputs) = (&effect.points.column, effect.outputs.len());
    let mut caption = match is_average {
        true => format!(
            "The average prediction if all rows had this {column} and kept everything else, and its interval over draws."
        ),
        false => format!(
            "How predictions of rows change with {column} where there are rows like them, accumulated, and centred at 0; with its interval over draws."
        ),
    };
    caption += " The interval is of the mean function, without the noise of single observations.";
    if is_average && !are_labels {
        caption += " Thin lines are single rows: where they are not parallel, the column acts together with others. Where columns go \
                    together, some of these points are unlike any row.";
    }
    if !are_labels {
        caption += " Triangles are quantiles of the rows' values, in steps of 5 %.";
    }
    if outputs > OUTPUTS {
        caption += &format!(" The first {OUTPUTS} of {outputs} outputs are drawn.");
    }
    caption
}

/// The lowest point of a line or a band.
fn lowest(mark: &Mark) -> Option<f64> {
    let all: Vec<f64> = match mark {
        Mark::Line { points, .. } => points.iter().map(|[_, y]| *y).collect(),
        Mark::Band { low, .. } => low.clone(),
        _ => return None,
    };
    all.into_iter().filter(|y| y.is_finite()).reduce(f64::min)
}

/// Quantiles of the rows' values.
fn rug(effect: &Effect) -> Vec<f64> {
    let mut sorted = effect.points.of_rows.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut values: Vec<f64> =
        (0..=RUG).map(|k| quantile(&sorted, k as f64 / RUG as f64)).collect();
    values.dedup();
    on_axis(&effect.points, &values).1
}
