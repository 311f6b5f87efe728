//! Each pair of a few parameters, with divergent transitions and densities.

use std::cmp::Ordering;

use bnn_mcmc::Error;
use bnn_mcmc::draws::Draws;

use super::{check_any, count};
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Scale, Symbol};
use crate::figures::Quantity;
use crate::figures::bins::{density_mark, evenly, left_out, without_density};

/// The most parameters of a pair plot.
const PAIRS: usize = 6;
/// The most points of a panel of a pair plot.
const PAIR_POINTS: usize = 600;

/// Each pair of two to six parameters: draws as points, divergent transitions as crosses, and the
/// density of each parameter on the diagonal.
///
/// Divergent positions are from [`RunInfo::divergences`](bnn_mcmc::draws::RunInfo), the first 100
/// of each chain. Draws from CSV files have none.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc_report::figures::parameters;
///
/// # let data = Dataset::regression(ndarray::array![[0.0], [1.0], [2.0]], ndarray::array![0.0, 1.0, 3.0])?;
/// # let priors = Priors::all(Normal::new(0.0, 2.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
/// let draws = Sampler::new(&posterior, Nuts::default()).warmup(200).draws(200).run()?;
/// let figure = parameters::pairs(&draws, &["w[0,0]", "b[0]"])?;
/// assert!(figure.to_svg().starts_with("<svg"));
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// Names that the draws do not have, fewer than two of them or more than six, and no draws.
pub fn pairs(draws: &Draws, names: &[&str]) -> Result<Figure, Error> {
    if !(2..=PAIRS).contains(&names.len()) {
        let allowed = format!("2 to {PAIRS}");
        return Err(Error::argument("number of parameters", names.len(), allowed));
    }
    check_any(draws)?;
    let pairs = Pairs::of(draws, names)?;
    let mut figure = Figure::new("pairs", "Parameters in pairs", pairs.caption(draws));
    figure.columns = Some(names.len());
    let mut without = Vec::new();
    for (row, below) in pairs.columns.iter().enumerate() {
        for (column, left) in pairs.columns.iter().enumerate() {
            figure.panels.push(match row.cmp(&column) {
                Ordering::Less => {
                    let bare = || Axis::new("").scale(Scale::Bare);
                    Panel::new("", bare(), bare())
                }
                Ordering::Equal => {
                    let panel = pairs.density(below);
                    if panel.marks.is_empty() {
                        without.push(below.0.name.to_owned());
                    }
                    panel
                }
                Ordering::Greater => pairs.scatter(left, below),
            });
        }
    }
    figure.caption += &without_density(&without);
    Ok(figure)
}

/// A parameter, and its place among all.
type Column<'a> = (Quantity<'a>, usize);

/// The parameters of a pair plot, and the divergent positions.
struct Pairs<'a> {
    columns: Vec<Column<'a>>,
    placed: Vec<&'a [f64]>,
}

impl<'a> Pairs<'a> {
    fn of(draws: &'a Draws, names: &[&'a str]) -> Result<Self, Error> {
        let all = draws.layout().parameter_names();
        let column = |name: &&'a str| -> Result<Column<'a>, Error> {
            let values = draws.parameter(name)?;
            let at = all.iter().position(|other| other == name).unwrap_or(0);
            Ok((Quantity { name, values }, at))
        };
        let columns = names.iter().map(column).collect::<Result<_, _>>()?;
        let positions = draws.info().divergences.iter().map(|d| d.position.as_slice());
        // A run that kept some of the parameters knows the position of all.
        let placed = positions.filter(|position| position.len() == all.len()).collect();
        Ok(Self { columns, placed })
    }

    fn caption(&self, draws: &Draws) -> String {
        let (total, shown) = (count(draws), count(draws).min(PAIR_POINTS));
        let mut caption = format!(
            "Each point is a draw ({shown} of {total}, evenly spaced) of the parameters below and to the \
             left of it; the diagonal has the density of each parameter."
        );
        caption += &match (draws.info().divergences.len(), self.placed.len()) {
            (0, _) if draws.stat("divergent").is_err() => {
                " Whether transitions diverged is not known of these draws.".to_owned()
            }
            (0, _) => " No transition diverged.".to_owned(),
            (n, 0) => format!(
                " {n} transitions diverged at positions that these draws, of a part of the parameters, \
                 cannot place."
            ),
            (_, n) => format!(
                " Crosses are the {n} divergent transitions whose positions were kept: where they gather, \
                 the sampler could not follow the posterior. There should be none."
            ),
        };
        caption + &left_out(self.columns.iter().map(|(quantity, _)| quantity.values))
    }

    /// The axis of a parameter, which is the same in all panels.
    fn axis(&self, (quantity, at): &Column) -> Axis {
        let positions = self.placed.iter().map(|position| position[*at]);
        match ends(quantity.values.iter().copied().chain(positions)) {
            Some([low, high]) => Axis::new(quantity.name).range(low, high),
            None => Axis::new(quantity.name),
        }
    }

    /// The panel of a parameter's density, empty if it has none.
    fn density(&self, column: &Column) -> Panel {
        let panel = Panel::new("", self.axis(column), Axis::new("density").scale(Scale::Bare));
        let values = column.0.values.iter().copied();
        let mut mark = density_mark(values, None, Colour::Series(0));
        if let (Some(Mark::Line { points, .. }), Some([low, high])) = (&mut mark, panel.x.range) {
            points.retain(|[x, _]| (low..=high).contains(x));
        }
        mark.into_iter().fold(panel, Panel::mark)
    }

    /// The panel of two parameters: draws as points, divergent positions as crosses.
    fn scatter(&self, left: &Column<'a>, below: &Column<'a>) -> Panel {
        let draws = points([left.0, below.0], PAIR_POINTS);
        let crosses = self.placed.iter().map(|q| [q[left.1], q[below.1]]).collect();
        Panel::new("", self.axis(left), self.axis(below))
            .mark(Mark::points(Colour::Series(0), Symbol::Dot, draws))
            .mark(Mark::points(Colour::Series(3), Symbol::Cross, crosses))
    }
}

/// The smallest and the largest of the finite values, with some room; `None` of less than two values.
fn ends(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let room = 0.04 * (high - low);
    (room > 0.0 && room.is_finite()).then_some([low - room, high + room])
}

/// The draws of two quantities as points, at most so many, evenly spaced.
fn points([x, y]: [Quantity; 2], most: usize) -> Vec<[f64; 2]> {
    let draws = x.values.ncols();
    let used = evenly(x.values.len(), most).into_iter().map(|k| (k / draws, k % draws));
    used.map(|at| [x.values[at], y.values[at]]).collect()
}
