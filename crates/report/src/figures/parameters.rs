//! Parameters: how they are distributed, alone, in pairs and all together.
//!
//! [`pairs`], [`weights`] and [`correlations`] take the draws of a run; [`forest`],
//! [`forest_by_chain`], [`plane`], [`path`] and [`histogram`] take any quantities, such as parameters,
//! predictions or the log likelihood; [`parallel`] takes vectors of parameters from anywhere, such as
//! the ends of many descents.

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::{ESS_PER_CHAIN, RHAT_LIMIT, SummaryRow, quantile};
use bnn_mcmc::draws::Draws;
use bnn_mcmc::layout::Block;
use ndarray::{ArrayView2, Axis as Along};

use super::Quantity;
use super::bins::{bars_for, density_mark, edges, evenly, left_out, shares, without_density};
use crate::figure::{
    Axis, BoxPlot, Colour, Figure, Interval, Mark, Palette, Panel, Place, Scale, Symbol,
};

/// The most parameters of a pair plot.
const PAIRS: usize = 6;
/// The most points of a panel of a pair plot.
const PAIR_POINTS: usize = 600;
/// The most points of a single scatter plot.
const POINTS: usize = 2_000;
/// The most names on an axis.
const NAMES: usize = 40;
/// The most rows of a matrix of correlations.
const CORRELATED: usize = 24;
/// The most rows of such a matrix into which numbers are written.
const WRITTEN: usize = 10;
/// The most parameters whose correlations are computed.
const MOST_CORRELATED: usize = 2_000;
/// The most draws of a parameter that a box plot is made of.
const BOX_DRAWS: usize = 1_000;
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

/// Median and intervals of quantities, with R-hat and the bulk effective sample size of each beside
/// them; if there are more than 40 quantities, the 40 with the largest R-hat. Quantities without
/// R-hat, such as those whose draws are all equal, come after all others.
///
/// # Errors
/// No quantities.
pub fn forest(quantities: &[Quantity]) -> Result<Figure, Error> {
    let (rows, note) = worst(quantities, NAMES)?;
    let axis =
        || Axis::names("quantity", rows.iter().map(|(quantity, _)| quantity.name)).reversed();
    let aspect = aspect_of(rows.len());
    let panel = |title: &str, x: Axis| Panel { aspect, ..Panel::new(title, x, axis()) };
    let at_rows = |of: fn(&SummaryRow) -> f64| -> Vec<[f64; 2]> {
        rows.iter().enumerate().map(|(k, (_, row))| [of(row), k as f64]).collect()
    };
    let intervals = rows.iter().enumerate();
    let intervals = intervals.map(|(k, (quantity, row))| {
        let inner = quantiles(quantity.values.iter().copied(), [0.25, 0.75]);
        Interval { at: k as f64, value: row.q50, inner, outer: [row.q05, row.q95] }
    });
    let mut caption = format!(
        "{note}A dot is the median of all draws, the thick line holds half of them and the thin line \
         90 %."
    );
    let mut figure = Figure::new("forest", "Quantities at a glance", "").panel(
        panel("median and intervals", Axis::new("value")).mark(Mark::Intervals {
            // A line in the legend, as in the other panels, so that rows stand side by side.
            name: Some("50 % and 90 %".into()),
            colour: Colour::Series(0),
            intervals: intervals.collect(),
        }),
    );
    let rhat = at_rows(|row| row.rhat);
    let ess = at_rows(|row| row.ess_bulk);
    let chains = quantities[0].values.nrows();
    let dots = |points| Mark::Points {
        name: None,
        colour: Colour::Series(0),
        symbol: Symbol::Dot,
        points,
    };
    let limit = |name: String, at: f64| Mark::Rule {
        name: Some(name),
        colour: Colour::Muted,
        place: Place::Vertical(at),
    };
    if rhat.iter().any(|[rhat, _]| rhat.is_finite()) {
        let name = format!("limit {RHAT_LIMIT}");
        figure = figure.panel(
            panel("R-hat", Axis::new("R-hat")).mark(limit(name, RHAT_LIMIT)).mark(dots(rhat)),
        );
        caption += " R-hat compares the chains, and should be left of its limit.";
    } else {
        caption += " R-hat takes two chains of at least four finite draws.";
    }
    if ess.iter().any(|[ess, _]| ess.is_finite()) {
        let least = ESS_PER_CHAIN * chains as f64;
        let x = Axis::new("bulk ESS in draws").scale(Scale::Log);
        figure = figure.panel(
            panel("effective sample size", x)
                .mark(limit(format!("limit {least}"), least))
                .mark(dots(ess)),
        );
        caption += " The effective sample size (ESS) is the number of independent draws that the \
                    draws are worth, and should be right of its limit.";
    }
    caption += &left_out(rows.iter().map(|(quantity, _)| quantity.values));
    figure.caption = caption;
    figure.columns = Some(figure.panels.len());
    Ok(figure)
}

/// Median and intervals of quantities, for each chain by itself; of many quantities those with the
/// largest R-hat, so that there are some 40 lines. Quantities without R-hat come after all others.
///
/// # Errors
/// No quantities.
pub fn forest_by_chain(quantities: &[Quantity]) -> Result<Figure, Error> {
    let chains = quantities.iter().map(|quantity| quantity.values.nrows()).max().unwrap_or(0);
    let (rows, note) = worst(quantities, (NAMES / chains.max(1)).max(3))?;
    let caption = format!(
        "{note}A dot is the median of one chain, the thick line holds half of its draws and the thin \
         line 90 %; chains stand in their order, from above. Chains that agree have about the same \
         intervals.{}",
        left_out(rows.iter().map(|(quantity, _)| quantity.values))
    );
    let y = Axis::names("quantity", rows.iter().map(|(quantity, _)| quantity.name)).reversed();
    let panel = Panel::new("median, 50 % and 90 % intervals", Axis::new("value"), y);
    let mut panel = Panel { aspect: aspect_of(rows.len() * chains), ..panel };
    for chain in 0..chains {
        let offset = 0.7 * ((chain as f64 + 0.5) / chains as f64 - 0.5);
        let intervals = rows.iter().enumerate().filter_map(|(k, (quantity, _))| {
            let of_chain = (chain < quantity.values.nrows())
                .then(|| quantity.values.index_axis(Along(0), chain))?;
            let [low, lower, median, upper, high] =
                quantiles(of_chain.iter().copied(), [0.05, 0.25, 0.5, 0.75, 0.95]);
            let at = k as f64 + offset;
            Some(Interval { at, value: median, inner: [lower, upper], outer: [low, high] })
        });
        panel = panel.mark(Mark::Intervals {
            name: (chains <= 8).then(|| format!("chain {chain}")),
            colour: Colour::Series(chain),
            intervals: intervals.collect(),
        });
    }
    Ok(Figure::new("forest-by-chain", "Quantities by chain", caption).panel(panel))
}

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
    // The diagonal is 1, and the upper triangle says the same as the lower.
    let lower =
        |i: usize, j: usize| if j < i { correlation[(shown[i], shown[j])] } else { f64::NAN };
    let n = shown.len();
    let values: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| lower(i, j)).collect()).collect();
    let labels = || shown.iter().map(|i| names[*i].as_str());
    let text = written(&values, n <= WRITTEN);
    let cells = Mark::Cells { values, range: [-1.0, 1.0], palette: Palette::Viridis, text };
    let title = match n == dim {
        true => "parameters".to_owned(),
        false => format!("the {n} of {dim} parameters with the largest correlations"),
    };
    let panel = Panel::new(
        title,
        Axis::names("parameter", labels()),
        Axis::names("parameter", labels()).reversed(),
    );
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
    let mut figure = Figure::new("correlations", "Correlations of parameters", "")
        .panel(Panel { aspect: 0.9, ..panel.mark(cells) });

    let blocks = draws.layout().blocks();
    if (2..=CORRELATED).contains(&blocks.len()) && blocks.len() < dim {
        let between = |a: &Block, b: &Block| {
            let pairs = a.range.clone().flat_map(|i| b.range.clone().map(move |j| (i, j)));
            let sizes = pairs.filter(|(i, j)| i != j).map(|at| correlation[at].abs());
            sizes.filter(|c| c.is_finite()).fold(f64::NAN, f64::max)
        };
        let of_row = |i: usize| -> Vec<f64> {
            let up_to = |j: usize| if j <= i { between(&blocks[i], &blocks[j]) } else { f64::NAN };
            (0..blocks.len()).map(up_to).collect()
        };
        let values: Vec<Vec<f64>> = (0..blocks.len()).map(of_row).collect();
        let text = written(&values, blocks.len() <= WRITTEN);
        let labels = || draws.layout().block_names();
        let panel = Panel::new(
            "largest size between blocks",
            Axis::names("block", labels()),
            Axis::names("block", labels()).reversed(),
        );
        let cells = Mark::Cells { values, range: [0.0, 1.0], palette: Palette::Viridis, text };
        figure = figure.panel(Panel { aspect: 0.9, ..panel.mark(cells) });
        caption += " The second panel has, for each pair of blocks, the correlation of largest size \
                    between two different parameters, without its sign.";
    }
    figure.caption = caption;
    Ok(figure)
}

/// Box plots of all parameters, one panel for each block; of a block with more than 40 parameters
/// those whose medians are farthest from 0 in heights of their boxes.
///
/// # Errors
/// No draws, or draws without parameters.
pub fn weights(draws: &Draws) -> Result<Figure, Error> {
    check_any(draws)?;
    let (total, used) = (count(draws), evenly(count(draws), BOX_DRAWS));
    let flat = draws.flat();
    let names = draws.layout().parameter_names();
    let mut caption =
        "The box holds the middle half of a parameter's draws, and the line in it is \
                       the median; whiskers reach to the last draw within 1.5 heights of the box, \
                       and dots are draws beyond."
            .to_owned();
    if used.len() < total {
        caption += &format!(" Of {total} draws {} are used, evenly spaced.", used.len());
    }
    caption += " The sign of a parameter whose box lies across 0 is not known; so it is, too, with a \
                weight of a hidden unit that changes places or signs with another.";
    let mut figure = Figure::new("weights", "Parameters by block", "");
    let (mut left_out, mut is_cut) = (0, false);
    for block in draws.layout().blocks() {
        let mut boxes: Vec<(usize, BoxPlot)> = Vec::new();
        for at in block.range.clone() {
            let values: Vec<f64> = used.iter().map(|draw| flat[(*draw, at)]).collect();
            left_out += values.iter().filter(|v| !v.is_finite()).count();
            boxes.extend(BoxPlot::new(0.0, &values).map(|plot| (at, plot)));
        }
        let all = boxes.len();
        if all > NAMES {
            let distance = |plot: &BoxPlot| (plot.median / (plot.upper - plot.lower)).abs();
            boxes.sort_by(|(_, a), (_, b)| distance(b).total_cmp(&distance(a)));
            boxes.truncate(NAMES);
            boxes.sort_by_key(|(at, _)| *at);
            is_cut = true;
        }
        let title = match all > NAMES {
            true => format!("{}: {NAMES} of {all}", block.name),
            false => block.name.clone(),
        };
        let labels: Vec<&str> = boxes.iter().map(|(at, _)| names[*at].as_str()).collect();
        let boxes = boxes.iter().enumerate();
        let boxes = boxes.map(|(k, (_, plot))| BoxPlot { at: k as f64, ..plot.clone() }).collect();
        figure = figure.panel(
            Panel::new(title, Axis::names("parameter", labels), Axis::new("value"))
                .mark(Mark::Rule {
                    name: None,
                    colour: Colour::Muted,
                    place: Place::Horizontal(0.0),
                })
                .mark(Mark::Boxes { name: None, colour: Colour::Series(0), boxes }),
        );
    }
    if is_cut {
        caption += &format!(
            " Of blocks with more than {NAMES} parameters those are shown whose median is farthest \
             from 0 in heights of the box."
        );
    }
    if left_out > 0 {
        caption += &format!(" {left_out} numbers that are not finite are left out.");
    }
    figure.caption = caption;
    Ok(figure)
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

/// The draws of two quantities in their plane, coloured by chain; of more than 2,000 draws 2,000,
/// evenly spaced.
///
/// # Errors
/// Quantities of different shapes, and no draws.
pub fn plane([x, y]: [Quantity; 2]) -> Result<Figure, Error> {
    check_pair(&x, &y)?;
    let (chains, draws) = x.values.dim();
    // At least one draw of each chain is used.
    let used = evenly(draws, (POINTS / chains).max(1));
    let mut panel = Panel::new("", Axis::new(x.name), Axis::new(y.name));
    for chain in 0..chains {
        panel = panel.mark(Mark::Points {
            name: (2..=8).contains(&chains).then(|| format!("chain {chain}")),
            colour: Colour::Series(chain),
            symbol: Symbol::Dot,
            points: used.iter().map(|i| [x.values[(chain, *i)], y.values[(chain, *i)]]).collect(),
        });
    }
    let (all, shown) = (chains * draws, chains * used.len());
    let caption = format!(
        "Each point is a draw ({shown} of {all}, evenly spaced), coloured by chain. If the chains agree, \
         their colours are mixed everywhere.{}",
        left_out([x.values, y.values])
    );
    Ok(Figure::new("plane", format!("{} and {}", x.name, y.name), caption).panel(panel))
}

/// The way of one chain through the plane of two quantities: its first draws, joined by a line.
///
/// # Errors
/// Quantities of different shapes, no draws, a chain that there is not, and no or more than 2,000
/// draws to be shown.
pub fn path([x, y]: [Quantity; 2], chain: usize, draws: usize) -> Result<Figure, Error> {
    check_pair(&x, &y)?;
    if chain >= x.values.nrows() {
        let allowed = format!("below {}, the number of chains", x.values.nrows());
        return Err(Error::argument("chain", chain, allowed));
    }
    if !(1..=POINTS).contains(&draws) {
        return Err(Error::argument("draws", draws, format!("1 to {POINTS}")));
    }
    let of_chain = x.values.row(chain).into_iter().zip(y.values.row(chain));
    let points: Vec<[f64; 2]> = of_chain.take(draws).map(|(x, y)| [*x, *y]).collect();
    let caption = format!(
        "The first {} draws of chain {chain}, in their order; the triangle is the first. A good chain \
         crosses the whole region again and again.{}",
        points.len(),
        left_out([x.values, y.values])
    );
    let title = format!("The way of a chain: {} and {}", x.name, y.name);
    let first = points[..1].to_vec();
    let panel = Panel::new("", Axis::new(x.name), Axis::new(y.name))
        .mark(Mark::Line { name: None, colour: Colour::Series(4), points: points.clone() })
        .mark(Mark::Points { name: None, colour: Colour::Series(0), symbol: Symbol::Dot, points })
        .mark(Mark::Points {
            name: Some("first draw".into()),
            colour: Colour::Series(3),
            symbol: Symbol::Triangle,
            points: first,
        });
    Ok(Figure::new("path", title, caption).panel(panel))
}

/// The draws of one quantity as a histogram whose area is 1, beside a curve that is known, such as an
/// exact density: its name, and its x and y.
///
/// # Errors
/// No draws.
pub fn histogram(quantity: Quantity, curve: Option<(&str, &[[f64; 2]])>) -> Result<Figure, Error> {
    if quantity.values.is_empty() {
        return Err(Error::argument("number of draws", 0, "at least 1"));
    }
    let mut finite: Vec<f64> = quantity.values.iter().copied().filter(|v| v.is_finite()).collect();
    finite.sort_by(f64::total_cmp);
    let mut panel = Panel::new("", Axis::new(quantity.name), Axis::new("density"));
    let mut caption = "The draws of all chains as a histogram whose area is 1.".to_owned();
    let (colour, ends) = (Colour::Series(0), (finite.first(), finite.last()));
    match ends {
        (Some(low), Some(high)) if low == high => {
            let (name, place) = (Some("all draws".to_owned()), Place::Vertical(*low));
            panel = panel.mark(Mark::Rule { name, colour, place });
        }
        (Some(low), Some(high)) if (high - low).is_finite() => {
            let (name, edges) = (Some("draws".to_owned()), edges(*low, *high, bars_for(&finite)));
            let width = edges[1] - edges[0];
            let heights = shares(&finite, &edges).into_iter().map(|share| share / width).collect();
            panel = panel.mark(Mark::Bars { name, colour, edges, heights });
        }
        (Some(_), _) => caption += " The draws are too far apart for bars.",
        (None, _) => {}
    }
    if let Some((name, points)) = curve {
        let (name, points) = (Some(name.to_owned()), points.to_vec());
        panel = panel.mark(Mark::Line { name, colour: Colour::Ink, points });
        caption += " If draws are of the distribution of the curve, bars follow it but for Monte Carlo \
                    noise, which is large where draws are few.";
    }
    caption += &left_out([quantity.values]);
    let title = format!("The distribution of {}", quantity.name);
    Ok(Figure::new("histogram", title, caption).panel(panel))
}

/// Quantities with their summaries.
type Rows<'q, 'v> = Vec<(&'q Quantity<'v>, SummaryRow)>;

/// The quantities with the largest R-hat, in the order that they were given in, their summaries,
/// and the sentence of a caption about the choice: nothing if all are shown. Those without R-hat
/// come last.
fn worst<'q, 'v>(
    quantities: &'q [Quantity<'v>],
    most: usize,
) -> Result<(Rows<'q, 'v>, String), Error> {
    if quantities.is_empty() {
        return Err(Error::argument("number of quantities", 0, "at least 1"));
    }
    let summaries = quantities.iter().map(|quantity| SummaryRow::new("", quantity.values));
    let mut rows: Vec<(usize, SummaryRow)> = summaries.enumerate().collect();
    let (all, mut note) = (rows.len(), String::new());
    if all > most {
        let undefined = rows.iter().filter(|(_, row)| row.rhat.is_nan()).count();
        let key = |row: &SummaryRow| if row.rhat.is_nan() { f64::NEG_INFINITY } else { row.rhat };
        rows.sort_by(|(_, a), (_, b)| key(b).total_cmp(&key(a)));
        rows.truncate(most);
        rows.sort_by_key(|(k, _)| *k);
        note = match undefined {
            0 => format!("The {most} of {all} quantities with the largest R-hat. "),
            n if n == all => format!("The first {most} of {all} quantities: none has an R-hat. "),
            n => format!(
                "The {most} of {all} quantities with the largest R-hat; {n} without R-hat, such as \
                 constant ones, come after all others. "
            ),
        };
    }
    Ok((rows.into_iter().map(|(k, row)| (&quantities[k], row)).collect(), note))
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

/// Quantiles of values, NaN if one is not finite.
fn quantiles<const N: usize>(values: impl Iterator<Item = f64>, at: [f64; N]) -> [f64; N] {
    let mut sorted: Vec<f64> = values.collect();
    if sorted.iter().any(|value| !value.is_finite()) {
        return [f64::NAN; N];
    }
    sorted.sort_by(f64::total_cmp);
    quantiles_of_sorted(&sorted, at)
}

fn quantiles_of_sorted<const N: usize>(sorted: &[f64], at: [f64; N]) -> [f64; N] {
    at.map(|p| quantile(sorted, p))
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

/// Height over width of a panel with this number of lines of text.
fn aspect_of(lines: usize) -> f64 {
    (0.2 + 0.05 * lines as f64).clamp(0.5, 2.0)
}

/// The number of draws of all chains.
fn count(draws: &Draws) -> usize {
    draws.n_chains() * draws.n_draws()
}

fn check_any(draws: &Draws) -> Result<(), Error> {
    if count(draws) == 0 {
        return Err(Error::argument("number of draws", 0, "at least 1"));
    }
    if draws.layout().dim() == 0 {
        return Err(Error::argument("number of parameters", 0, "at least 1"));
    }
    Ok(())
}

fn check_pair(x: &Quantity, y: &Quantity) -> Result<(), Error> {
    if x.values.dim() != y.values.dim() {
        let what = format!("chains and draws of `{}`, beside those of `{}`", y.name, x.name);
        let size = |(chains, draws): (usize, usize)| format!("{chains} x {draws}");
        return Err(Error::shape(what, size(y.values.dim()), size(x.values.dim())));
    }
    if x.values.is_empty() {
        return Err(Error::argument("number of draws", 0, "at least 1"));
    }
    Ok(())
}
