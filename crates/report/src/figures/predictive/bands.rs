//! Intervals and observations along one axis, of rows, of a feature or of a component.

use bnn_mcmc::Error;

use super::cells::Cells;
use super::curve::Curve;
use super::{Method, percent, same_axes, with_panels};
use crate::figure::{Axis, Colour, Figure, Mark, Panel};

/// Panels of bands and observations.
pub(super) fn bands(
    figure: Figure,
    methods: &[Method],
    (x, label): (&[f64], &str),
    curve: Curve,
    column: usize,
    level: f64,
) -> Result<Figure, Error> {
    let mut panels = Vec::new();
    let (mut thinned, mut beside, mut centre) = (String::new(), "", "mean");
    for Method { name, predictions } in methods {
        let cells = Cells::new(predictions, column, level)?;
        if cells.mean.len() != x.len() {
            return Err(Error::shape("rows of predictions", cells.mean.len(), x.len()));
        }
        let new = format!("new observation, {} %", percent(level));
        let new = band(new, 4, x, &cells.of_new, &curve);
        centre = cells.centre;
        let mean = band(format!("{centre}, {} %", percent(level)), 0, x, &cells.of_mean, &curve);
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
        panels.push(panel.mark(line(centre, Colour::Ink, &cells.mean)));
        thinned = left_out;
    }
    same_axes(&mut panels, false);
    let caption = format!(
        "The line is the posterior mean{of}, and around it are {level} % intervals of the {centre} function and, \
         wider, of a new observation{smoothed}. If the model is right, about {outside} % of new \
         observations lie outside their own interval, in no particular place.{beside}{thinned}",
        of = if centre == "mean" { "" } else { " of the median" },
        level = percent(level),
        outside = percent(1.0 - level),
        smoothed = curve.in_words(x.len()),
    );
    with_panels(Figure { caption, ..figure }, panels)
}

/// Intervals along a curve.
pub(super) fn band(
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
