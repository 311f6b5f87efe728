//! Responses that the model would have made beside the observed ones.

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::quantile;
use bnn_mcmc::fit::PredictiveChecks;
use bnn_mcmc::predict::PredictiveCheck;
use ndarray::{ArrayView1, ArrayView2};

use crate::figure::{Axis, Colour, Figure, Interval, Mark, Panel, Place};
use crate::figures::bins::{edges, extent, shares};

/// The bars of a response.
const BARS: usize = 30;
/// The width of the interval of 90 % of a standard normal distribution.
const NORMAL: f64 = 3.29;
/// A deviation beyond which it does not matter how far off a statistic is.
const FAR: f64 = 8.0;
/// The most statistics.
const STATISTICS: usize = 24;

/// The shares of observed responses by size beside those of responses that the model has made, and all statistics on one scale.
///
/// # Errors
/// No statistics.
pub fn checks(checks: &PredictiveChecks) -> Result<Figure, Error> {
    if checks.posterior.is_empty() {
        return Err(Error::argument("checks", "empty", "of at least one statistic"));
    }
    let shown = &checks.posterior[..checks.posterior.len().min(STATISTICS)];
    let mut caption = String::from(
        "Responses that the model would have made in the place of the observed ones, by draws of the posterior. ",
    );
    let mut figure = Figure::new("checks", "Observed and replicated responses", "");
    if checks.classes.is_none() {
        caption += "On the left the share of responses in each bar: the band holds 90 % of the replicated shares. ";
        caption += "The prior, which has seen no response, should be wider than the data, but not by orders of magnitude; what lies \
                    outside of the axis is not drawn. ";
        figure = figure.panel(overlay(checks));
    }
    caption += "Each statistic is drawn as its deviation from the median of the replicated ones, scaled to their interval of 90 %, which is drawn with that \
                of 50 %: the dot is the observed one. A dot far outside tells what the model cannot make; one at 8 may lie farther out.";
    if checks.posterior.len() > shown.len() {
        caption += &format!(" The first {} of {} are drawn.", shown.len(), checks.posterior.len());
    }
    Ok(Figure { caption, ..figure.panel(statistics(shown)) })
}

/// The shares of responses in bars.
fn overlay(checks: &PredictiveChecks) -> Panel {
    // Single replicates may lie far out: what is beyond a quarter of the observed range is not drawn.
    let [low, high] = extent(checks.observed.iter().copied());
    let room = 0.25 * (high - low);
    let is_near = |y: &f64| (low - room..=high + room).contains(y);
    let of_model = checks.replicated.iter().copied().filter(is_near);
    let [low, high] = extent(checks.observed.iter().copied().chain(of_model));
    let are_whole = checks.observed.iter().all(|y| y.fract() == 0.0) && high - low < BARS as f64;
    let edges = match are_whole {
        true => {
            // Replicates of a real response are not whole.
            let (low, high) = (low.floor(), high.ceil());
            edges(low - 0.5, high + 0.5, (high - low) as usize + 1)
        }
        false => edges(low, if high > low { high } else { low + 1.0 }, BARS),
    };
    let middle: Vec<f64> = edges.windows(2).map(|ends| 0.5 * (ends[0] + ends[1])).collect();
    // Of the prior, what lies outside is in no bar.
    let inside = |y: ArrayView1<f64>| -> Vec<f64> {
        let ends = (edges[0], edges[edges.len() - 1]);
        let is_inside = |y: &f64| (ends.0..=ends.1).contains(y);
        y.iter().map(|y| if is_inside(y) { *y } else { f64::NAN }).collect()
    };
    let of_bars = |all: ArrayView2<f64>| -> Vec<Vec<f64>> {
        let each: Vec<Vec<f64>> =
            all.rows().into_iter().map(|row| shares(&inside(row), &edges)).collect();
        let of_bar = |bar: usize| {
            let mut shares: Vec<f64> = each.iter().map(|shares| shares[bar]).collect();
            shares.sort_by(f64::total_cmp);
            shares
        };
        (0..middle.len()).map(of_bar).collect()
    };
    let replicated = of_bars(checks.replicated.view());
    let at = |p: f64| replicated.iter().map(|shares| quantile(shares, p)).collect();
    let line = |heights: Vec<f64>| middle.iter().zip(heights).map(|(x, y)| [*x, y]).collect();
    let mean = |shares: &Vec<f64>| shares.iter().sum::<f64>() / shares.len() as f64;
    let prior = of_bars(checks.of_prior.view()).iter().map(mean).collect();
    Panel::new("", Axis::new(&checks.column), Axis::new("share of rows"))
        .mark(Mark::Band {
            name: Some("replicated, 90 %".into()),
            colour: Colour::Series(0),
            x: middle.clone(),
            low: at(0.05),
            high: at(0.95),
        })
        .mark(
            Mark::line(Colour::Ink, line(shares(&inside(checks.observed.view()), &edges)))
                .named("observed"),
        )
        .mark(Mark::line(Colour::Series(1), line(prior)).named("prior"))
}

fn statistics(shown: &[PredictiveCheck]) -> Panel {
    let interval = |(k, check): (usize, &PredictiveCheck)| {
        let mut sorted = check.replicated.clone();
        sorted.sort_by(f64::total_cmp);
        // Of heavy tails a standard deviation says nothing.
        let [low, centre, high] = [0.05, 0.5, 0.95].map(|p| quantile(&sorted, p));
        let scale = (high - low) / NORMAL;
        // Replicates that are all equal are a point at 0.
        let scaled =
            |t: f64| if t == centre { 0.0 } else { ((t - centre) / scale).clamp(-FAR, FAR) };
        let ends = |p: f64| [p, 1.0 - p].map(|p| scaled(quantile(&sorted, p)));
        let (inner, outer) = (ends(0.25), ends(0.05));
        Interval { at: k as f64, value: scaled(check.observed), inner, outer }
    };
    let intervals = shown.iter().enumerate().map(interval).collect();
    let names = shown.iter().map(|check| check.name.as_str());
    let x = Axis::new("scaled deviation");
    let aspect = (0.2 + 0.08 * shown.len() as f64).clamp(0.4, 2.5);
    Panel { aspect, ..Panel::new("", x, Axis::names("statistic", names).reversed()) }
        .mark(Mark::rule(Colour::Muted, Place::Vertical(0.0)))
        .mark(Mark::Intervals {
            name: Some("replicated, 50 % and 90 %; observed".into()),
            colour: Colour::Series(0),
            intervals,
        })
}
