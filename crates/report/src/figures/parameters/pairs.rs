//! Each pair of a few parameters, with divergent transitions and densities.

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
    let all = draws.layout().parameter_names();
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let values = draws.parameter(name)?;
        let at = all.iter().position(|other| other == name).unwrap_or(0);
        columns.push((Quantity { name, values }, at));
    }
    let divergences = &draws.info().divergences;
    // A run that kept some of the parameters knows the position of all.
    let placed: Vec<&[f64]> = divergences
        .iter()
        .map(|divergence| divergence.position.as_slice())
        .filter(|position| position.len() == all.len())
        .collect();

    let (total, shown) = (count(draws), count(draws).min(PAIR_POINTS));
    let mut caption = format!(
        "Each point is a draw ({shown} of {total}, evenly spaced) of the parameters below and to the \
         left of it; the diagonal has the density of each parameter."
    );
    caption += &match (divergences.len(), placed.len()) {
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
    caption += &left_out(columns.iter().map(|(quantity, _)| quantity.values));

    // A parameter has the same axis in all panels.
    let axis = |(quantity, at): &(Quantity, usize)| {
        let positions = placed.iter().map(|position| position[*at]);
        match ends(quantity.values.iter().copied().chain(positions)) {
            Some([low, high]) => Axis::new(quantity.name).range(low, high),
            None => Axis::new(quantity.name),
        }
    };
    let mut figure = Figure::new("pairs", "Parameters in pairs", caption);
    figure.columns = Some(columns.len());
    let mut without = Vec::new();
    for (row, below) in columns.iter().enumerate() {
        for (column, left) in columns.iter().enumerate() {
            let panel = match row.cmp(&column) {
                std::cmp::Ordering::Less => {
                    let bare = || Axis::new("").scale(Scale::Bare);
                    Panel::new("", bare(), bare())
                }
                std::cmp::Ordering::Equal => {
                    let y = Axis::new("density").scale(Scale::Bare);
                    let panel = Panel::new("", axis(below), y);
                    let values = below.0.values.iter().copied();
                    let mut mark = density_mark(values, None, Colour::Series(0));
                    if mark.is_none() {
                        without.push(below.0.name.to_owned());
                    }
                    if let (Some(Mark::Line { points, .. }), Some([low, high])) =
                        (&mut mark, panel.x.range)
                    {
                        points.retain(|[x, _]| (low..=high).contains(x));
                    }
                    mark.into_iter().fold(panel, Panel::mark)
                }
                std::cmp::Ordering::Greater => {
                    let crosses = placed.iter().map(|q| [q[left.1], q[below.1]]).collect();
                    Panel::new("", axis(left), axis(below))
                        .mark(Mark::Points {
                            name: None,
                            colour: Colour::Series(0),
                            symbol: Symbol::Dot,
                            points: points([left.0, below.0], PAIR_POINTS),
                        })
                        .mark(Mark::Points {
                            name: None,
                            colour: Colour::Series(3),
                            symbol: Symbol::Cross,
                            points: crosses,
                        })
                }
            };
            figure.panels.push(panel);
        }
    }
    figure.caption += &without_density(&without);
    Ok(figure)
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
