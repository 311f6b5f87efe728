//! Calibration: whether probabilities mean what they say.

use bnn_mcmc::Error;
use bnn_mcmc::predict::{Loo, Pit, Reliability};

use super::band::{binomial_interval, uniform_band};
use super::bins::{edges, evenly};
use super::predictive::Method;
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place, Symbol, number};

/// The level of the bands.
const LEVEL: f64 = 0.95;
/// The most rows that are drawn as points.
const MOST_POINTS: usize = 600;

/// The probability integral transform of predicted rows: its histogram, and its distribution
/// function.
pub fn pit(pit: &Pit) -> Figure {
    uniformity("pit", "Probability integral transform", pit)
}

/// The probability integral transform of rows left out, from
/// [`loo_pit`](bnn_mcmc::posterior::Posterior::loo_pit): its histogram, and its distribution
/// function.
pub fn loo_pit(pit: &Pit) -> Figure {
    uniformity("loo-pit", "Probability integral transform of rows left out", pit)
}

fn uniformity(name: &str, title: &str, pit: &Pit) -> Figure {
    let mut values: Vec<f64> = pit.values.iter().copied().filter(|u| !u.is_nan()).collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let share = |count: u64| count as f64 / n as f64;

    // On average 20 values in a bar, or more.
    let bars = (n / 20).clamp(5, 20);
    let counts = pit.histogram(bars).unwrap_or_default();
    let expected = 1.0 / bars as f64;
    let [low, high] = binomial_interval(n, expected, 1.0 - LEVEL).map(share);
    let x = Axis::new("probability integral transform").range(0.0, 1.0);
    let histogram = Panel::new("", x.clone(), Axis::new("share of observations"))
        .mark(Mark::Bars {
            name: None,
            colour: Colour::Series(0),
            edges: edges(0.0, 1.0, bars),
            heights: counts.into_iter().map(|count| share(count as u64)).collect(),
        })
        .mark(Mark::Band {
            name: Some("95 %, each bar".into()),
            colour: Colour::Muted,
            x: vec![0.0, 1.0],
            low: vec![low; 2],
            high: vec![high; 2],
        })
        .mark(Mark::Rule {
            name: Some("uniform".into()),
            colour: Colour::Ink,
            place: Place::Horizontal(expected),
        });

    let band = uniform_band(n, LEVEL);
    let difference = |counts: &[u64]| -> Vec<f64> {
        counts.iter().zip(&band.z).map(|(count, z)| share(*count) - z).collect()
    };
    let counts: Vec<u64> =
        band.z.iter().map(|z| values.partition_point(|u| u <= z) as u64).collect();
    let outside = (counts.iter().zip(band.low.iter().zip(&band.high)))
        .filter(|(count, (low, high))| !(*low..=*high).contains(count))
        .count();
    let at = |values: Vec<f64>| -> Vec<[f64; 2]> {
        let points = band.z.iter().zip(values).map(|(z, value)| [*z, value]);
        [[0.0, 0.0]].into_iter().chain(points).collect()
    };
    let ends = |counts| [vec![0.0], difference(counts)].concat();
    let ecdf = Panel::new("", x, Axis::new("ECDF - uniform"))
        .mark(Mark::Band {
            name: Some("95 %, whole curve".into()),
            colour: Colour::Muted,
            x: [vec![0.0], band.z.clone()].concat(),
            low: ends(&band.low),
            high: ends(&band.high),
        })
        .mark(Mark::Rule { name: None, colour: Colour::Ink, place: Place::Horizontal(0.0) })
        .mark(Mark::Line {
            name: None,
            colour: Colour::Series(0),
            points: at(difference(&counts)),
        });
    let verdict = match (n, outside) {
        (0, _) => "There are no values.".to_owned(),
        (_, 0) => "This curve stays within it.".to_owned(),
        (_, outside) => format!("This curve leaves it at {outside} of {} places.", band.z.len()),
    };
    let missing = missing(pit);
    let caption = format!(
        "Where an observation lies in its predictive distribution: 0 is below all predictive draws, 1 \
         above. If the distributions are right, it lies anywhere with equal probability. Bars are high at \
         both ends if the distributions are too narrow, in the middle if they are too wide, and at one end \
         if they are biased. The curve of the second panel is the empirical distribution function less the \
         uniform one; for {n} independent uniform values it stays within the band with probability 0.95. \
         {verdict}{missing}"
    );
    Figure::new(name, title, caption).panel(histogram).panel(ecdf)
}

/// The shape k of the Pareto distribution for each row of [`Loo`], with the threshold for this
/// number of draws.
pub fn pareto_k(loo: &Loo) -> Figure {
    let (unreliable, threshold) = (loo.unreliable(), loo.threshold());
    let mut is_reliable = vec![true; loo.rows.len()];
    unreliable.iter().for_each(|row| is_reliable[*row] = false);
    let reliable: Vec<usize> = (0..loo.rows.len()).filter(|row| is_reliable[*row]).collect();
    let shown = |rows: &[usize]| -> Vec<[f64; 2]> {
        let rows = evenly(rows.len(), MOST_POINTS).into_iter().map(|k| rows[k]);
        rows.map(|row| [row as f64, loo.rows[row].k]).collect()
    };
    let points = |name: &str, colour, symbol, rows: &[usize]| Mark::Points {
        name: Some(name.into()),
        colour,
        symbol,
        points: shown(rows),
    };
    let rule = |name: String, colour, k| Mark::Rule {
        name: Some(name),
        colour,
        place: Place::Horizontal(k),
    };
    let panel = Panel::new("", Axis::new("row"), Axis::new("Pareto k (no unit)"))
        .mark(rule(format!("threshold {}", rounded(threshold)), Colour::Series(3), threshold))
        .mark(points("reliable", Colour::Series(0), Symbol::Dot, &reliable))
        .mark(points("unreliable", Colour::Series(3), Symbol::Cross, &unreliable));
    let thinned = match reliable.len().max(unreliable.len()) > MOST_POINTS {
        true => format!(" Of each kind {MOST_POINTS} rows at most are drawn, at equal distances."),
        false => String::new(),
    };
    let missing = match loo.rows.iter().filter(|row| row.k.is_nan()).count() {
        0 => String::new(),
        rows => format!(" Rows without a k, which are not drawn: {rows}."),
    };
    let caption = format!(
        "How heavy the tail of a row's importance ratios is, by which leave-one-out predictions are \
         computed; below the line is good. {} of {} rows are unreliable: k lies above the threshold for {} \
         draws, or cannot be estimated, since the posterior without the row differs too much from the one \
         with it.{thinned}{missing}",
        unreliable.len(),
        loo.rows.len(),
        loo.draws,
    );
    Figure::new("pareto-k", "Reliability of leave-one-out by row", caption).panel(panel)
}

/// The reliability curves of classifications, each with the name of its method, and the number of
/// rows in each bin. The name may be empty where there is only one.
///
/// # Errors
/// No curve.
pub fn reliability(curves: &[(&str, &Reliability)]) -> Result<Figure, Error> {
    if curves.is_empty() {
        return Err(Error::argument("curves", "empty", "at least one curve"));
    }
    let lowest = curves.iter().flat_map(|(_, curve)| &curve.bins).map(|bin| bin.lower);
    let from = lowest.fold(1.0, f64::min).clamp(0.0, 0.9);
    let x = Axis::new("confidence (probability)").range(from, 1.0);
    let y = Axis::new("accuracy (share of rows)").range(0.0, 1.03);
    let mut accuracy = Panel { aspect: 0.9, ..Panel::new("", x.clone(), y) };
    let mut counts = Panel { aspect: 0.9, ..Panel::new("", x, Axis::new("rows")) };
    if let [(_, curve)] = curves {
        let ends = curve.bins.iter().map(|bin| {
            let ends = binomial_interval(bin.rows, bin.confidence, 1.0 - LEVEL);
            ends.map(|count| count as f64 / bin.rows as f64)
        });
        let (low, high) = ends.map(|[low, high]| (low, high)).unzip();
        accuracy = accuracy.mark(Mark::Band {
            name: Some("95 %, each bin".into()),
            colour: Colour::Muted,
            x: curve.bins.iter().map(|bin| bin.confidence).collect(),
            low,
            high,
        });
    }
    accuracy = accuracy.mark(Mark::Rule {
        name: Some("calibrated".into()),
        colour: Colour::Ink,
        place: Place::Diagonal,
    });
    let mut errors = Vec::new();
    for (k, (method, curve)) in curves.iter().enumerate() {
        let colour = Colour::Series(k);
        let points: Vec<[f64; 2]> =
            curve.bins.iter().map(|bin| [bin.confidence, bin.accuracy]).collect();
        accuracy = curve_of(accuracy, method, k, points);
        let (edges, heights) = bars(curve);
        counts = counts.mark(Mark::Bars { name: entry(method), colour, edges, heights });
        let of = if method.is_empty() { String::new() } else { format!(" of {method}") };
        let ece = curve.ece();
        errors.push(format!("The expected calibration error{of} over these bins is {ece:.3}."));
    }
    let band = match curves {
        [_] => {
            "; the band holds a bin of so many rows with probability 0.95 if new rows are calibrated"
        }
        _ => "",
    };
    let caption = format!(
        "Rows in bins of similar confidence, the probability of the predicted class; accuracy is the share of \
         rows that are predicted right. Below the diagonal a classification is overconfident in these rows, \
         above it too cautious{band}. {}",
        errors.join(" ")
    );
    Ok(Figure::new("reliability", "Reliability", caption).panel(accuracy).panel(counts))
}

/// Bars of the number of rows, with none between bins that do not touch.
fn bars(curve: &Reliability) -> (Vec<f64>, Vec<f64>) {
    let (mut edges, mut heights) = (Vec::new(), Vec::new());
    for bin in &curve.bins {
        match edges.last() {
            Some(end) if *end >= bin.lower => {}
            Some(_) => {
                edges.push(bin.lower);
                heights.push(0.0);
            }
            None => edges.push(bin.lower),
        }
        edges.push(bin.upper);
        heights.push(bin.rows as f64);
    }
    (edges, heights)
}

/// The share of observations within their predictive intervals at levels 0.05, 0.1, .., 0.95, over
/// all rows and columns of each method's predictions.
///
/// # Errors
/// No method, methods with other numbers of rows or columns, and the errors of
/// [`coverages`](bnn_mcmc::predict::Predictions::coverages).
pub fn coverage(methods: &[Method]) -> Result<Figure, Error> {
    let Some(first) = methods.first() else {
        return Err(Error::argument("methods", "empty", "at least one method"));
    };
    let cells = |method: &Method| {
        let (_, _, rows, columns) = method.predictions.predictive_draws().dim();
        rows * columns
    };
    let n = cells(first);
    let mut panel = coverage_panel(n);
    for (k, method) in methods.iter().enumerate() {
        if cells(method) != n {
            return Err(Error::shape("rows and columns of predictions", cells(method), n));
        }
        let coverages = method.predictions.coverages(&levels())?;
        let points = coverages.iter().map(|coverage| [coverage.level, coverage.share]).collect();
        panel = curve_of(panel, method.name, k, points);
    }
    let caption = format!(
        "The share of observations that lie within their predictive intervals, by the level of the \
         intervals. Below the diagonal the intervals are too narrow for these rows, above it too wide; \
         intervals of counts cover more than their level. If the intervals are right for new rows, the \
         band holds the share of {n} independent new observations with probability 0.95 at each level."
    );
    Ok(Figure::new("coverage", "Coverage of predictive intervals", caption).panel(panel))
}

/// The [`coverage`] by the probability integral transform u of rows left out, from
/// [`loo_pit`](bnn_mcmc::posterior::Posterior::loo_pit): an observation lies within the interval of
/// a level with equal tails where |u - 1/2| <= level/2. It is the coverage of the training rows,
/// each predicted without itself.
///
/// A transform of counts is spread at random over the probability of each count, so that the share
/// equals the level here, too. NaN are left out, and counted in the caption.
pub fn coverage_of_pit(pit: &Pit) -> Figure {
    let values: Vec<f64> = pit.values.iter().copied().filter(|u| !u.is_nan()).collect();
    let n = values.len();
    let share = |level: f64| {
        let inside = values.iter().filter(|u| (**u - 0.5).abs() <= 0.5 * level).count();
        [level, inside as f64 / n as f64]
    };
    let points = levels().into_iter().map(share).collect();
    let caption = format!(
        "The share of observations that lie within the predictive intervals from all other rows, by the \
         level of the intervals. Below the diagonal the intervals are too narrow, above it too wide. The \
         band holds the share of {n} independent observations with probability 0.95 at each level if the \
         intervals are right.{}",
        missing(pit)
    );
    let title = "Coverage of predictive intervals of rows left out";
    Figure::new("loo-coverage", title, caption).panel(curve_of(coverage_panel(n), "", 0, points))
}

/// The levels of intervals whose coverage is shown.
fn levels() -> Vec<f64> {
    (1..20).map(|k| f64::from(k) / 20.0).collect()
}

/// The panel for the coverage of n observations, with the band that belongs to them.
fn coverage_panel(n: usize) -> Panel {
    let levels = levels();
    let ends = levels.iter().map(|level| {
        binomial_interval(n, *level, 1.0 - LEVEL).map(|count| count as f64 / n as f64)
    });
    let (low, high) = ends.map(|[low, high]| (low, high)).unzip();
    let x = Axis::new("level of the predictive interval").range(0.0, 1.0);
    let y = Axis::new("share of observations within").range(0.0, 1.03);
    Panel { aspect: 0.9, ..Panel::new("", x, y) }
        .mark(Mark::Band {
            name: Some("95 %, each level".into()),
            colour: Colour::Muted,
            x: levels,
            low,
            high,
        })
        .mark(Mark::Rule {
            name: Some("calibrated".into()),
            colour: Colour::Ink,
            place: Place::Diagonal,
        })
}

/// The sentence of a caption about transforms that are NaN; empty if there are none.
fn missing(pit: &Pit) -> String {
    match pit.values.iter().filter(|u| u.is_nan()).count() {
        0 => String::new(),
        missing => format!(" Values that are no number, which are left out: {missing}."),
    }
}

/// A curve with its name in the legend, where the drawing marks it, or else with a point for each
/// number.
fn curve_of(panel: Panel, method: &str, k: usize, points: Vec<[f64; 2]>) -> Panel {
    let (name, colour) = (entry(method), Colour::Series(k));
    let dots = Mark::Points { name: None, colour, symbol: Symbol::Dot, points: points.clone() };
    let is_named = name.is_some();
    let panel = panel.mark(Mark::Line { name, colour, points });
    if is_named { panel } else { panel.mark(dots) }
}

/// The entry of a method in the legend.
fn entry(method: &str) -> Option<String> {
    (!method.is_empty()).then(|| method.to_owned())
}

fn rounded(value: f64) -> String {
    number((1000.0 * value).round() / 1000.0)
}
