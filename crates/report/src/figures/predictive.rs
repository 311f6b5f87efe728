//! Predictions beside observations: real responses, and counts in one column.
//!
//! Each figure shows one column of the response. Two intervals are drawn around a prediction: of
//! the mean function, which more data would make narrower, and of a new observation, which has
//! noise besides.

use bnn_mcmc::Error;
use bnn_mcmc::data::{Dataset, Response, Standardise};
use bnn_mcmc::predict::{Pit, Predictions};
use bnn_mcmc::rng::ChainRng;
use faer::{MatRef, Side};
use ndarray::{Array1, Array2, ArrayView2, Axis as Along};
use statrs::distribution::{Beta, Continuous, ContinuousCDF, Normal};

use super::bins::{edges, evenly, evenly_with_ends, extent, neighbours, shares};
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place, Symbol, number};

/// The most points of a panel: more of them would make a large file and hide each other.
const MOST_POINTS: usize = 600;
/// The most groups that rows in a given order, and rows of a single input, are averaged over.
const FINE: usize = 200;
/// The places at which a smooth curve is computed.
const GRID: usize = 60;
/// The smallest and the largest quantile residuals that are all drawn, at each end.
const EXTREMES: usize = 20;
/// The most features whose covariance matrix is decomposed.
const EXACT: usize = 500;
/// The most rows, and the most iterations, that make the first principal component of more features.
const POWER: (usize, usize) = (2_000, 100);

/// Predictions by one method, and its name.
#[derive(Clone, Copy, Debug)]
pub struct Method<'a> {
    /// The name of the method; empty where there is only one.
    pub name: &'a str,
    /// The predictions of the method.
    pub predictions: &'a Predictions,
}

/// Predictions along rows in their order, such as the rows of a series, with intervals of this
/// `level`: one panel for each method, on the same axes.
///
/// `place` says where each row is, such as its year, and ascends; `label` names it.
///
/// # Errors
/// No method; methods with other columns or rows; a column that does not exist; a place that is not
/// finite or smaller than the one before it; and the errors of
/// [`Predictions::predictive_interval`].
pub fn along(
    methods: &[Method],
    place: &[f64],
    label: &str,
    column: usize,
    level: f64,
) -> Result<Figure, Error> {
    if let Some(value) = place.iter().find(|x| !x.is_finite()) {
        return Err(Error::argument("place", value, "finite in every row"));
    }
    if let Some(pair) = place.windows(2).find(|pair| pair[0] > pair[1]) {
        let value = format!("{} after {}", pair[1], pair[0]);
        return Err(Error::argument("place", value, "ascending"));
    }
    let figure = Figure::new("predictions-along-rows", format!("Predictions along {label}"), "");
    bands(figure, methods, (place, label), Curve::grouped(place), column, level)
}

/// Predictions against one feature, counted from 0, with intervals of this `level`: one panel for
/// each method, on the same axes. `data` are the rows that were predicted.
///
/// Rows that are neighbours in this feature differ in others. So the mean and the ends of the
/// intervals are smoothed, and beside them, if they are known, the observations: a marginal model
/// plot (Cook and Weisberg 1997, doi:10.1080/01621459.1997.10474002), whose two curves agree if the
/// model is right. The smoother is the local linear regression of LOWESS (Cleveland 1979,
/// doi:10.1080/01621459.1979.10481038) with tricube weights on the nearest half of the rows. With a
/// single feature there are no other features to smooth over.
///
/// # Errors
/// No such feature, and the errors of [`along`].
pub fn against_feature(
    methods: &[Method],
    data: &Dataset,
    feature: usize,
    column: usize,
    level: f64,
) -> Result<Figure, Error> {
    let Some(name) = data.feature_names().get(feature) else {
        let allowed = format!("less than {}", data.n_features());
        return Err(Error::argument("feature", feature, allowed));
    };
    let x = data.x().column(feature).to_vec();
    let curve = if data.n_features() == 1 { Curve::grouped(&x) } else { Curve::smooth(&x) };
    let figure = Figure::new("predictions-against-feature", format!("Predictions by {name}"), "");
    bands(figure, methods, (&x, name), curve, column, level)
}

/// Predictions against the first principal component of the standardised features, with intervals
/// of this `level`: one panel for each method, on the same axes. It is figure 6 of the FBNN paper
/// (arXiv:2312.11799), smoothed as in [`against_feature`]. `data` are the rows that were predicted.
///
/// With more than 500 features the component is found by up to 100 power iterations on at most
/// 2,000 rows, evenly spaced, so that time and memory are in proportion to the features.
///
/// # Errors
/// The errors of [`along`]; features whose covariance has no eigenvalues that can be computed.
pub fn against_first_component(
    methods: &[Method],
    data: &Dataset,
    column: usize,
    level: f64,
) -> Result<Figure, Error> {
    let (x, share) = first_component(data)?;
    let label = format!("first principal component ({} % of variance)", percent(share));
    let title = "Predictions by the first principal component of the features";
    let figure = Figure::new("predictions-against-component", title, "");
    bands(figure, methods, (&x, &label), Curve::smooth(&x), column, level)
}

/// Observations against the mean predictions, with intervals of this `level`, whose ends are smoothed as in
/// [`against_feature`]: one panel for each method, on the same axes.
///
/// # Errors
/// The errors of [`along`]; no observations.
pub fn observed_against_predicted(
    methods: &[Method],
    column: usize,
    level: f64,
) -> Result<Figure, Error> {
    let mut panels = Vec::new();
    let mut caption = String::new();
    for Method { name, predictions } in methods {
        let cells = Cells::new(predictions, column, level)?;
        cells.observed()?;
        let curve = Curve::smooth(&cells.mean);
        let x = Axis::new(format!("predicted {}", cells.name));
        let y = Axis::new(format!("observed {}", cells.name));
        let name_of_band = format!("{} % interval", percent(level));
        let new = band(name_of_band, 4, &cells.mean, &cells.of_new, &curve);
        let panel = Panel { aspect: 0.9, ..Panel::new(*name, x, y) }.mark(new);
        let panel = panel.mark(diagonal("predicted = observed"));
        let (points, thinned) = cells.points(&cells.mean);
        panels.push(points.into_iter().fold(panel, Panel::mark));
        caption = format!(
            "Each point is a row: its observation against the mean prediction. The band is the {level} % \
             interval of a new observation{}. If the model is right, new rows lie around the line, about \
             {} % of them outside their own interval.{thinned}",
            curve.in_words(cells.mean.len()),
            percent(1.0 - level),
            level = percent(level),
        );
    }
    same_axes(&mut panels, true);
    let figure = Figure::new("observed-against-predicted", "Observed against predicted", caption);
    with_panels(figure, panels)
}

/// Residuals against the mean predictions, in the response's units; and, by the [probability
/// integral transform](Pit) u of each row, the histogram and the normal quantile plot of quantile
/// residuals Phi^-1(u) (Dunn and Smyth 1996, doi:10.1080/10618600.1996.10474708), which are
/// standard normal for any response if the model is right.
///
/// `pit` is of the same rows: [`Predictions::pit`], or of rows left out
/// [`loo_pit`](bnn_mcmc::posterior::Posterior::loo_pit).
///
/// # Errors
/// A column that does not exist, a transform of other rows, no observations, and the errors of
/// [`Predictions::predictive_interval`].
pub fn residuals(predictions: &Predictions, pit: &Pit, column: usize) -> Result<Figure, Error> {
    const LEVEL: f64 = 0.95;
    let cells = Cells::new(predictions, column, LEVEL)?;
    let observed = cells.observed()?;
    let expected = (cells.mean.len(), predictions.response_names().len());
    if pit.values.dim() != expected {
        return Err(Error::shape(
            "rows and columns of the probability integral transform",
            format!("{:?}", pit.values.dim()),
            format!("{expected:?}"),
        ));
    }
    let residual: Vec<f64> = observed.iter().zip(&cells.mean).map(|(y, mean)| y - mean).collect();
    let points =
        cells.mean.iter().zip(&residual).map(|(mean, residual)| [*mean, *residual]).collect();
    let (points, thinned) = thin(points);
    let by_mean = Panel::new(
        "",
        Axis::new(format!("predicted {}", cells.name)),
        Axis::new("observed - predicted"),
    )
    .mark(Mark::Rule { name: None, colour: Colour::Muted, place: Place::Horizontal(0.0) })
    .mark(dots(None, Colour::Series(0), Symbol::Dot, points));

    let normal = Normal::standard();
    let mut quantile: Vec<f64> =
        pit.values.column(column).iter().map(|u| normal_quantile(&normal, *u)).collect();
    let bars = edges(-4.0, 4.0, 32);
    let width = bars[1] - bars[0];
    let heights = shares(&quantile, &bars).into_iter().map(|share| share / width).collect();
    let curve = edges(-4.0, 4.0, 80).into_iter().map(|z| [z, normal.pdf(z)]).collect();
    let histogram = Panel::new("", Axis::new("quantile residual (no unit)"), Axis::new("density"))
        .mark(Mark::Bars { name: None, colour: Colour::Series(0), edges: bars, heights })
        .mark(Mark::Line {
            name: Some("standard normal".into()),
            colour: Colour::Ink,
            points: curve,
        });

    quantile.retain(|z| !z.is_nan());
    quantile.sort_by(f64::total_cmp);
    let places = evenly_with_ends(quantile.len(), FINE, EXTREMES);
    let n = quantile.len() as f64;
    let x: Vec<f64> = places.iter().map(|k| normal.inverse_cdf((*k as f64 + 0.5) / n)).collect();
    let end = |p: f64| -> Vec<f64> {
        let end = |k: &usize| match Beta::new(*k as f64 + 1.0, n - *k as f64) {
            Ok(beta) => normal_quantile(&normal, beta.inverse_cdf(p)),
            Err(_) => f64::NAN,
        };
        places.iter().map(end).collect()
    };
    let points = x.iter().zip(&places).map(|(x, k)| [*x, quantile[*k]]).collect();
    let (low, high) = (end(0.5 - 0.5 * LEVEL), end(0.5 + 0.5 * LEVEL));
    let plot =
        Panel::new("", Axis::new("standard normal quantile"), Axis::new("quantile residual"))
            .mark(Mark::Band {
                name: Some("95 %, each".into()),
                colour: Colour::Muted,
                x,
                low,
                high,
            })
            .mark(diagonal("standard normal"))
            .mark(dots(None, Colour::Series(0), Symbol::Dot, points));
    let extremes = match places.len() < quantile.len() {
        true => format!(
            " Of {} quantile residuals the last panel has {FINE}, with the {EXTREMES} smallest and largest.",
            quantile.len()
        ),
        false => String::new(),
    };
    let missing = match pit.values.nrows() - quantile.len() {
        0 => String::new(),
        n => format!(" Rows without a quantile residual, whose transform is no number: {n}."),
    };
    let caption = format!(
        "The first panel has the residuals of the predicted mean: if the model is right, those of new rows \
         scatter around 0 without a pattern. The quantile residual of a row is the standard normal \
         quantile of its probability integral transform. If the model is right, for new rows and rows \
         left out the histogram follows the curve, and each point of the last panel, the residuals in \
         their order, lies within the band with probability 0.95.{thinned}{missing}{extremes}"
    );
    let figure = Figure::new("residuals", format!("Residuals of {}", cells.name), caption);
    Ok(figure.panel(by_mean).panel(histogram).panel(plot))
}

/// Predicted against true changes of a series from its last known value, for one step of the
/// horizon: the delta-y plot. `last` are the last known values, `[row, column]`, from
/// [`persistence`](bnn_mcmc::predict::persistence).
///
/// # Errors
/// A column that does not exist, no observations, and the errors of [`Predictions::skill`].
pub fn changes(
    predictions: &Predictions,
    last: ArrayView2<f64>,
    column: usize,
) -> Result<Figure, Error> {
    let cells = Cells::new(predictions, column, 0.95)?;
    let observed = cells.observed()?;
    let skill = predictions.skill(last)?;
    let points: Vec<[f64; 2]> = (last.column(column).iter().zip(observed).zip(&cells.mean))
        .map(|((last, y), mean)| [y - last, mean - last])
        .collect();
    let of_known_sign = points.iter().filter(|p| p[0] != 0.0).count();
    let right = points.iter().filter(|p| p[0] * p[1] > 0.0).count();
    let (points, thinned) = thin(points);
    let rule = |place| Mark::Rule { name: None, colour: Colour::Muted, place };
    let x = Axis::new(format!("true change of {}", cells.name));
    let y = Axis::new("predicted change");
    let panel = Panel { aspect: 0.9, ..Panel::new("", x, y) }
        .mark(rule(Place::Horizontal(0.0)))
        .mark(rule(Place::Vertical(0.0)))
        .mark(diagonal("predicted = true"))
        .mark(dots(None, Colour::Series(0), Symbol::Dot, points));
    let columns = match predictions.response_names().len() {
        1 => String::new(),
        n => format!(" over all {n} columns"),
    };
    let caption = format!(
        "Changes from the last known value of the series. A prediction that only repeats this value \
         lies on the horizontal line, a perfect one on the diagonal. The skill against persistence, the \
         prediction of no change, is {skill:.3}{columns} (1 is perfect, 0 no better), and the direction \
         is right in {} % of {of_known_sign} changes.{thinned}",
        percent(right as f64 / of_known_sign as f64)
    );
    let title = format!("Predicted and true changes of {}", cells.name);
    Ok(Figure::new("changes", title, caption).panel(panel))
}

/// One column of predictions, row by row.
struct Cells {
    name: String,
    mean: Vec<f64>,
    /// The ends of the interval of the mean function.
    of_mean: [Vec<f64>; 2],
    /// The ends of the interval of a new observation.
    of_new: [Vec<f64>; 2],
    observed: Option<Vec<f64>>,
}

impl Cells {
    fn new(predictions: &Predictions, column: usize, level: f64) -> Result<Self, Error> {
        let names = predictions.response_names();
        let Some(name) = names.get(column) else {
            return Err(Error::argument("column", column, format!("less than {}", names.len())));
        };
        let of = |values: &Array2<f64>| values.column(column).to_vec();
        let new = predictions.predictive_interval(level)?;
        let observed = match predictions.observed() {
            Some(Response::Counts(y)) if y.ncols() > 1 => {
                let allowed = "real numbers or counts in one column";
                return Err(Error::argument("response", "counts in several categories", allowed));
            }
            Some(Response::Real(y) | Response::Counts(y)) => Some(of(y)),
            _ => None,
        };
        let mean = predictions.mean_interval(level)?;
        Ok(Self {
            name: name.clone(),
            mean: of(&predictions.posterior_mean()?),
            of_mean: [of(&mean.lower), of(&mean.upper)],
            of_new: [of(&new.lower), of(&new.upper)],
            observed,
        })
    }

    fn observed(&self) -> Result<&[f64], Error> {
        let missing = || Error::argument("predictions", "of new rows", "of rows with a response");
        self.observed.as_deref().ok_or_else(missing)
    }

    /// The observations within their own intervals and the observations outside, and a sentence on
    /// rows left out.
    fn points(&self, x: &[f64]) -> (Vec<Mark>, String) {
        let Some(observed) = &self.observed else {
            return (Vec::new(), String::new());
        };
        let mut order: Vec<usize> = (0..x.len()).collect();
        order.sort_by(|a, b| x[*a].total_cmp(&x[*b]));
        let shown = evenly(x.len(), MOST_POINTS).into_iter().map(|k| order[k]);
        let is_inside =
            |i: &usize| observed[*i] >= self.of_new[0][*i] && observed[*i] <= self.of_new[1][*i];
        let (inside, outside): (Vec<usize>, Vec<usize>) = shown.partition(is_inside);
        let points = |rows: Vec<usize>| rows.into_iter().map(|i| [x[i], observed[i]]).collect();
        let marks = [
            dots(Some("observed"), Colour::Muted, Symbol::Dot, points(inside)),
            dots(Some("outside interval"), Colour::Series(3), Symbol::Cross, points(outside)),
        ];
        (marks.to_vec(), thinned(x.len()))
    }
}

/// Panels of bands and observations.
fn bands(
    figure: Figure,
    methods: &[Method],
    (x, label): (&[f64], &str),
    curve: Curve,
    column: usize,
    level: f64,
) -> Result<Figure, Error> {
    let mut panels = Vec::new();
    let (mut thinned, mut beside) = (String::new(), "");
    for Method { name, predictions } in methods {
        let cells = Cells::new(predictions, column, level)?;
        if cells.mean.len() != x.len() {
            return Err(Error::shape("rows of predictions", cells.mean.len(), x.len()));
        }
        let new = format!("new observation, {} %", percent(level));
        let new = band(new, 4, x, &cells.of_new, &curve);
        let mean = band(format!("mean, {} %", percent(level)), 0, x, &cells.of_mean, &curve);
        let panel = Panel::new(*name, Axis::new(label), Axis::new(&cells.name));
        let line = |name: &str, colour, values: &[f64]| Mark::Line {
            name: Some(name.into()),
            colour,
            points: curve
                .places(x)
                .into_iter()
                .zip(curve.along(x, values))
                .map(<[f64; 2]>::from)
                .collect(),
        };
        let (points, left_out) = cells.points(x);
        let mut panel = points.into_iter().fold(panel.mark(new), Panel::mark);
        panel = panel.mark(mean);
        if let (Curve::Smooth(_), Some(observed)) = (&curve, &cells.observed) {
            panel = panel.mark(line("observed, smoothed", Colour::Series(1), observed));
            beside = " The second curve is of the observations, smoothed in the same way: if the model is \
                      right, both curves agree.";
        }
        panels.push(panel.mark(line("mean", Colour::Ink, &cells.mean)));
        thinned = left_out;
    }
    same_axes(&mut panels, false);
    let caption = format!(
        "The line is the posterior mean, and around it are {level} % intervals of the mean function and, \
         wider, of a new observation{smoothed}. If the model is right, about {outside} % of new \
         observations lie outside their own interval, in no particular place.{beside}{thinned}",
        level = percent(level),
        outside = percent(1.0 - level),
        smoothed = curve.in_words(x.len()),
    );
    with_panels(Figure { caption, ..figure }, panels)
}

fn with_panels(figure: Figure, panels: Vec<Panel>) -> Result<Figure, Error> {
    match panels.is_empty() {
        true => Err(Error::argument("methods", "empty", "at least one method")),
        false => Ok(Figure { panels, ..figure }),
    }
}

/// Gives panels that stand beside each other the same vertical axis, and the same horizontal one if
/// x differs between them.
fn same_axes(panels: &mut [Panel], x_too: bool) {
    if panels.len() < 2 {
        return;
    }
    let points = |panel: &Panel| -> Vec<[f64; 2]> { panel.marks.iter().flat_map(places).collect() };
    let all: Vec<[f64; 2]> = panels.iter().flat_map(points).collect();
    let range = |axis: usize| {
        let [low, high] = extent(all.iter().map(|at| at[axis]));
        let room = 0.04 * (high - low);
        (high > low).then_some([low - room, high + room])
    };
    for panel in panels {
        panel.y.range = range(1);
        if x_too {
            panel.x.range = range(0);
        }
    }
}

/// The points of the marks that are drawn here.
fn places(mark: &Mark) -> Vec<[f64; 2]> {
    match mark {
        Mark::Line { points, .. } | Mark::Points { points, .. } => points.clone(),
        Mark::Band { x, low, high, .. } => {
            let ends = |ends: &[f64]| -> Vec<[f64; 2]> {
                x.iter().zip(ends).map(|(x, y)| [*x, *y]).collect()
            };
            [ends(low), ends(high)].concat()
        }
        _ => Vec::new(),
    }
}

/// Intervals along a curve.
fn band(
    name: String,
    series: usize,
    x: &[f64],
    [low, high]: &[Vec<f64>; 2],
    curve: &Curve,
) -> Mark {
    Mark::Band {
        name: Some(name),
        colour: Colour::Series(series),
        x: curve.places(x),
        low: curve.along(x, low),
        high: curve.along(x, high),
    }
}

/// The way in which the numbers of rows become a curve along x, from the smallest x to the largest.
enum Curve {
    /// Averages over groups of neighbours: of rows that differ in nothing else.
    Groups(Vec<Vec<usize>>),
    /// Local linear regression, at these places.
    Smooth(Vec<f64>),
}

impl Curve {
    fn grouped(x: &[f64]) -> Self {
        Self::Groups(neighbours(x, FINE))
    }

    fn smooth(x: &[f64]) -> Self {
        let [low, high] = extent(x.iter().copied());
        Self::Smooth(if low < high { edges(low, high, GRID) } else { vec![low] })
    }

    /// The x of the curve.
    fn places(&self, x: &[f64]) -> Vec<f64> {
        match self {
            Self::Groups(groups) => {
                let mut places = averages(x, groups);
                // A curve of averages would end before the last row.
                let [low, high] = extent(x.iter().copied());
                if let [first, .., last] = &mut places[..] {
                    (*first, *last) = (low, high);
                }
                places
            }
            Self::Smooth(places) => places.clone(),
        }
    }

    /// The curve of these values of the rows.
    fn along(&self, x: &[f64], values: &[f64]) -> Vec<f64> {
        match self {
            Self::Groups(groups) => averages(values, groups),
            Self::Smooth(places) => local_linear(x, values, places),
        }
    }

    /// The description for the caption.
    fn in_words(&self, rows: usize) -> String {
        match self {
            Self::Groups(groups) if groups.len() == rows => String::new(),
            Self::Groups(groups) => {
                let groups = groups.len();
                format!(", averaged over {groups} groups of neighbouring rows ({rows} in all)")
            }
            Self::Smooth(_) => {
                ", smoothed by local linear regression on the nearest half of the rows".into()
            }
        }
    }
}

fn averages(values: &[f64], groups: &[Vec<usize>]) -> Vec<f64> {
    let average =
        |rows: &Vec<usize>| rows.iter().map(|i| values[*i]).sum::<f64>() / rows.len() as f64;
    groups.iter().map(average).collect()
}

/// Local linear regression of `values` on x with tricube weights
///
/// ```text
/// w_i = (1 - |(x_i - x_0) / h|^3)^3,        h the distance to the k-th nearest row, k = n/2 or 8, the larger
/// ```
///
/// at each place x_0, within the range of the values. Where the nearest rows have one x, it is their mean.
fn local_linear(x: &[f64], values: &[f64], places: &[f64]) -> Vec<f64> {
    const FEWEST: usize = 8;
    let mut rows: Vec<usize> =
        (0..x.len()).filter(|i| x[*i].is_finite() && values[*i].is_finite()).collect();
    if rows.is_empty() {
        return vec![f64::NAN; places.len()];
    }
    rows.sort_by(|a, b| x[*a].total_cmp(&x[*b]));
    let k = rows.len().div_ceil(2).max(FEWEST).min(rows.len());
    let [low, high] = extent(rows.iter().map(|i| values[*i]));
    let mut start = 0;
    let at = |place: &f64| {
        // The k nearest are neighbours in order, and move on with the place.
        while start + k < rows.len() && x[rows[start + k]] - place < place - x[rows[start]] {
            start += 1;
        }
        let near = &rows[start..start + k];
        // A little more than the farthest, so that it counts, too.
        let h = 1.0001 * (x[near[k - 1]] - place).abs().max((place - x[near[0]]).abs());
        let weight = |i: usize| match h > 0.0 {
            true => (1.0 - ((x[i] - place) / h).abs().powi(3)).max(0.0).powi(3),
            false => 1.0,
        };
        let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for i in near {
            let (weight, dx, y) = (weight(*i), x[*i] - place, values[*i]);
            (w, wx, wy) = (w + weight, wx + weight * dx, wy + weight * y);
            (wxx, wxy) = (wxx + weight * dx * dx, wxy + weight * dx * y);
        }
        let spread = w * wxx - wx * wx;
        // The intercept at the place, if there is a slope to be found.
        let value = match spread > 1e-12 * w * wxx {
            true => (wxx * wy - wx * wxy) / spread,
            false => wy / w,
        };
        value.clamp(low, high)
    };
    places.iter().map(at).collect()
}

/// The points that are drawn, at most [`MOST_POINTS`], and a sentence on the others.
fn thin(points: Vec<[f64; 2]>) -> (Vec<[f64; 2]>, String) {
    let shown = evenly(points.len(), MOST_POINTS).into_iter().map(|k| points[k]).collect();
    (shown, thinned(points.len()))
}

fn thinned(rows: usize) -> String {
    match rows > MOST_POINTS {
        true => format!(" Of {rows} observations {MOST_POINTS} are drawn, at equal distances."),
        false => String::new(),
    }
}

fn dots(name: Option<&str>, colour: Colour, symbol: Symbol, points: Vec<[f64; 2]>) -> Mark {
    Mark::Points { name: name.map(Into::into), colour, symbol, points }
}

fn diagonal(name: &str) -> Mark {
    Mark::Rule { name: Some(name.into()), colour: Colour::Ink, place: Place::Diagonal }
}

fn percent(share: f64) -> String {
    match share.is_finite() {
        true => number((1000.0 * share).round() / 10.0),
        false => "?".into(),
    }
}

/// The standard normal quantile, NaN where u is no probability.
fn normal_quantile(normal: &Normal, u: f64) -> f64 {
    if (0.0..=1.0).contains(&u) { normal.inverse_cdf(u) } else { f64::NAN }
}

/// The scores of each row on the first principal component of the standardised features, and its
/// share of their variance. The largest loading is positive.
fn first_component(data: &Dataset) -> Result<(Vec<f64>, f64), Error> {
    let scaler = Standardise::new().allow_constant().fit_features(data)?;
    let z = scaler.transform(data.x().view())?;
    let mut loadings = match z.ncols() {
        ..=EXACT => by_covariance(&z)?,
        _ => by_power_iterations(&z),
    };
    let largest = loadings.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
    loadings *= largest.unwrap_or(1.0).signum();
    let scores = z.dot(&loadings);
    let squares = |values: &mut dyn Iterator<Item = &f64>| values.map(|v| v * v).sum::<f64>();
    let share = squares(&mut scores.iter()) / squares(&mut z.iter());
    Ok((scores.to_vec(), share))
}

/// The eigenvector of the largest eigenvalue of the covariance matrix of rows with mean 0.
fn by_covariance(z: &Array2<f64>) -> Result<Array1<f64>, Error> {
    let features = z.ncols();
    let covariance = z.t().dot(z) / z.nrows() as f64;
    let covariance = covariance.as_standard_layout();
    let flat = covariance.as_slice().expect("it was put in standard order");
    let eigen = MatRef::from_row_major_slice(flat, features, features)
        .self_adjoint_eigen(Side::Lower)
        .map_err(|_| Error::argument("features", "of extreme scale", "of moderate scale"))?;
    Ok(Array1::from_shape_fn(features, |j| eigen.U()[(j, features - 1)]))
}

/// The result of [`by_covariance`] for some of the rows, without the matrix: v <- Z^T Z v / |Z^T Z
/// v| from a start with a fixed seed, until v changes by less than 1e-9.
fn by_power_iterations(z: &Array2<f64>) -> Array1<f64> {
    let some = z.select(Along(0), &evenly(z.nrows(), POWER.0));
    let mut rng = ChainRng::new(0, 0);
    let mut v = Array1::from_shape_simple_fn(z.ncols(), || rng.normal());
    v /= v.dot(&v).sqrt();
    for _ in 0..POWER.1 {
        let mut next = some.t().dot(&some.dot(&v));
        let length = next.dot(&next).sqrt();
        if !(length > 0.0 && length.is_finite()) {
            break;
        }
        next /= length;
        let change = (&next - &v).mapv(f64::abs).sum();
        v = next;
        if change < 1e-9 {
            break;
        }
    }
    v
}
