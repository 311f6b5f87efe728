//! Residuals against predictions, and quantile residuals against the standard normal distribution.

use bnn_mcmc::Error;
use bnn_mcmc::predict::{Pit, Predictions};
use statrs::distribution::{Beta, Continuous, ContinuousCDF, Normal};

use super::cells::Cells;
use super::{FINE, thin};
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place, Symbol};
use crate::figures::bins::{edges, evenly_with_ends, shares};

/// The smallest and the largest quantile residuals that are all drawn, at each end.
const EXTREMES: usize = 20;
/// The level of the band of each quantile residual.
const LEVEL: f64 = 0.95;

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
    let points = observed.iter().zip(&cells.mean).map(|(y, mean)| [*mean, y - mean]).collect();
    let (points, thinned) = thin(points);
    let by_mean = Panel::new(
        "",
        Axis::new(format!("predicted {}", cells.name)),
        Axis::new("observed - predicted"),
    )
    .mark(Mark::rule(Colour::Muted, Place::Horizontal(0.0)))
    .mark(Mark::points(Colour::Series(0), Symbol::Dot, points));

    let normal = Normal::standard();
    let mut quantile: Vec<f64> =
        pit.values.column(column).iter().map(|u| normal_quantile(&normal, *u)).collect();
    let histogram = histogram(&quantile, &normal);
    quantile.retain(|z| !z.is_nan());
    quantile.sort_by(f64::total_cmp);
    let (plot, extremes) = quantile_plot(&quantile, &normal);
    let missing = match pit.values.nrows() - quantile.len() {
        0 => String::new(),
        n => format!(" Rows without a quantile residual, whose transform is no number: {n}."),
    };
    let centre = cells.centre;
    let caption = format!(
        "The first panel has the residuals of the predicted {centre}: if the model is right, those of new rows \
         scatter around 0 without a pattern. The quantile residual of a row is the standard normal \
         quantile of its probability integral transform. If the model is right, for new rows and rows \
         left out the histogram follows the curve, and each point of the last panel, the residuals in \
         their order, lies within the band with probability 0.95.{thinned}{missing}{extremes}"
    );
    let figure = Figure::new("residuals", format!("Residuals of {}", cells.name), caption);
    Ok(figure.panel(by_mean).panel(histogram).panel(plot))
}

/// The histogram of quantile residuals, with the standard normal density.
fn histogram(quantile: &[f64], normal: &Normal) -> Panel {
    let bars = edges(-4.0, 4.0, 32);
    let width = bars[1] - bars[0];
    let heights = shares(quantile, &bars).into_iter().map(|share| share / width).collect();
    let curve = edges(-4.0, 4.0, 80).into_iter().map(|z| [z, normal.pdf(z)]).collect();
    Panel::new("", Axis::new("quantile residual (no unit)"), Axis::new("density"))
        .mark(Mark::Bars { name: None, colour: Colour::Series(0), edges: bars, heights })
        .mark(Mark::line(Colour::Ink, curve).named("standard normal"))
}

/// The normal quantile plot of quantile residuals, which are ascending, and a sentence on those that it leaves out.
fn quantile_plot(quantile: &[f64], normal: &Normal) -> (Panel, String) {
    let places = evenly_with_ends(quantile.len(), FINE, EXTREMES);
    let n = quantile.len() as f64;
    //~ report-residuals
    let x: Vec<f64> = places.iter().map(|k| normal.inverse_cdf((*k as f64 + 0.5) / n)).collect();
    let end = |p: f64| -> Vec<f64> {
        let end = |k: &usize| match Beta::new(*k as f64 + 1.0, n - *k as f64) {
            Ok(beta) => normal_quantile(normal, beta.inverse_cdf(p)),
            Err(_) => f64::NAN,
        };
        places.iter().map(end).collect()
    };
    let points = x.iter().zip(&places).map(|(x, k)| [*x, quantile[*k]]).collect();
    let (name, colour) = (Some("95 %, each".into()), Colour::Muted);
    let (low, high) = (end(0.5 - 0.5 * LEVEL), end(0.5 + 0.5 * LEVEL));
    let panel =
        Panel::new("", Axis::new("standard normal quantile"), Axis::new("quantile residual"))
            .mark(Mark::Band { name, colour, x, low, high })
            .mark(Mark::rule(Colour::Ink, Place::Diagonal).named("standard normal"))
            .mark(Mark::points(Colour::Series(0), Symbol::Dot, points));
    let extremes = match places.len() < quantile.len() {
        true => format!(
            " Of {} quantile residuals the last panel has {FINE}, with the {EXTREMES} smallest and largest.",
            quantile.len()
        ),
        false => String::new(),
    };
    (panel, extremes)
}

/// The standard normal quantile, NaN where u is no probability.
fn normal_quantile(normal: &Normal, u: f64) -> f64 {
    if (0.0..=1.0).contains(&u) { normal.inverse_cdf(u) } else { f64::NAN }
}
