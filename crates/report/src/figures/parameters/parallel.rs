//! Solutions in parallel coordinates.

use bnn_mcmc::Error;
use ndarray::ArrayView2;

use super::NAMES;
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place};
use crate::figures::bins::evenly;

/// The most lines of a panel of parallel coordinates.
const SOLUTIONS: usize = 100;

/// Vectors of parameters that belong together, for [`parallel`].
#[derive(Clone, Copy, Debug)]
pub struct Solutions<'a> {
    /// The name of what the solutions have in common, such as the prior that they started from or
    /// the mode that they are in.
    pub name: &'a str,
    /// The vectors, `[solution, parameter]`.
    pub values: ArrayView2<'a, f64>,
}

/// Parallel coordinates: a line for each solution, through its parameters; a panel for each group.
/// All panels have the same vertical axis. If a group has more than 100 solutions, 100 of them are
/// drawn, evenly spaced.
///
/// # Errors
/// No groups, no names, or more than 40, and a group with another number of parameters.
pub fn parallel(names: &[String], groups: &[Solutions]) -> Result<Figure, Error> {
    if !(1..=NAMES).contains(&names.len()) {
        return Err(Error::argument("number of parameters", names.len(), format!("1 to {NAMES}")));
    }
    if groups.is_empty() {
        return Err(Error::argument("number of groups", 0, "at least 1"));
    }
    let mut panels = Vec::with_capacity(groups.len());
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (k, group) in groups.iter().enumerate() {
        if group.values.ncols() != names.len() {
            let what = format!("parameters of the solutions `{}`", group.name);
            return Err(Error::shape(what, group.values.ncols(), names.len()));
        }
        let (all, shown) = (group.values.nrows(), evenly(group.values.nrows(), SOLUTIONS));
        let mut points = Vec::new();
        for solution in shown.iter().map(|row| group.values.row(*row)) {
            points.extend(solution.iter().enumerate().map(|(i, value)| [i as f64, *value]));
            // The line breaks here.
            points.push([f64::NAN; 2]);
            for value in solution.iter().filter(|value| value.is_finite()) {
                (low, high) = (low.min(*value), high.max(*value));
            }
        }
        let title = match shown.len() {
            n if n == all => format!("{}: {all} solutions", group.name),
            n => format!("{}: {n} of {all} solutions", group.name),
        };
        panels.push((title, Mark::Line { name: None, colour: Colour::Series(k), points }));
    }
    let caption = "Each line is one solution, and goes through the values of its parameters from left \
                   to right. Solutions in one mode run together, as a bundle of lines. Modes that \
                   differ only in the order of hidden units, or in their signs, have bundles with the \
                   same values in other places, or with other signs.";
    let mut figure = Figure::new("parallel", "Solutions in parallel coordinates", caption);
    for (title, line) in panels {
        let x = Axis::names("parameter", names.iter().map(String::as_str));
        let y = match low < high {
            true => Axis::new("value").range(low, high),
            false => Axis::new("value"),
        };
        let zero = Mark::Rule { name: None, colour: Colour::Muted, place: Place::Horizontal(0.0) };
        let has_zero = low < 0.0 && high > 0.0;
        let panel = Panel::new(title, x, y);
        let panel = if has_zero { panel.mark(zero) } else { panel };
        figure = figure.panel(panel.mark(line));
    }
    Ok(figure)
}
