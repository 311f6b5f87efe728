//! Figures of quantities along the chains: do the chains agree, and how much do they know?
//!
//! | figure | shows |
//! | --- | --- |
//! | [`trace`] | the draws in their order, and how the ranks of each chain are spread |
//! | [`rank_ecdf`] | whether the ranks of each chain lie where the ranks of equal chains would |
//! | [`density`] | the density of each chain |
//! | [`autocorrelation`] | how much a draw tells about later ones |
//! | [`ess`] | whether effective draws grow in proportion to draws |
//! | [`running_mean`] | whether the mean has settled |
//!
//! If there are more than eight chains, a panel shows the eight whose means lie farthest from the
//! mean of all, and its title says so. All chains count where chains are compared.
//!
//! ```
//! use bnn_mcmc_report::figures::{Quantity, chains};
//! let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
//! let values = ndarray::Array2::from_shape_simple_fn((4, 500), || rng.normal());
//! let figure = chains::trace(&[Quantity { name: "w[0,0]", values: values.view() }])?;
//! assert!(figure.to_svg().contains("chain 3"));
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::{self, ESS_PER_CHAIN};
use bnn_mcmc::rng::ChainRng;
use ndarray::{Array2, ArrayView1, ArrayView2, s};

use super::Quantity;
use super::bins::{density_mark, evenly, left_out, without_density};
use super::ecdf_band::EcdfBand;
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place};

/// The most chains in one panel.
const SHOWN: usize = 8;
/// The bins of a rank histogram, if there are as many draws.
const BINS: usize = 20;
/// The most points of a running mean.
const RUNNING_POINTS: usize = 400;
/// The shares of the draws at which effective sample sizes are computed.
const SHARES: usize = 10;
/// The standard errors of a 95 % interval.
pub(super) const NORMAL_95: f64 = 1.959963984540054;

/// The draws of each quantity by chain, and beside them histograms of their ranks among the draws of
/// all chains.
///
/// Equal values have ranks in random order, from a fixed seed. A single chain has ranks that are
/// spread evenly whatever it does: its trace stands alone. A quantity with NaN has no ranks.
///
/// Source of the rank histograms: Vehtari et al. 2021, doi:10.1214/20-BA1221, section 4.2.
///
/// # Errors
/// No quantity, and a quantity without chains or draws.
pub fn trace(quantities: &[Quantity]) -> Result<Figure, Error> {
    check(quantities)?;
    let is_single = quantities.iter().all(|q| q.values.nrows() == 1);
    let mut figure = match is_single {
        true => Figure::new(
            "trace",
            "Traces",
            "The draws of the only chain in the order of sampling. A good chain crosses the whole range of \
             values again and again, and neither stays anywhere nor drifts. Whether it would agree with \
             other chains cannot be seen.",
        ),
        false => Figure::new(
            "trace",
            "Traces and ranks",
            "Left: the draws in the order of sampling. Good chains look alike, and none stays or drifts. \
             Right: how the ranks of each chain's draws are spread among the draws of all chains. Good \
             chains have about as many draws in each bin, near the grey line.",
        ),
    };
    if !is_single {
        figure.columns = Some(2);
    }
    for quantity in quantities {
        let shown = Shown::of(quantity);
        let mut panel =
            Panel::new(shown.title(quantity.name), Axis::new("draw"), Axis::new("value"));
        for (chain, colour, name) in shown.iter() {
            let values = quantity.values.row(chain);
            let points = values.iter().enumerate().map(|(draw, value)| [draw as f64, *value]);
            panel = panel.mark(Mark::Line { name, colour, points: points.collect() });
        }
        figure = figure.panel(panel);
        if !is_single {
            figure = figure.panel(rank_histogram(quantity, &shown));
        }
    }
    Ok(figure)
}

/// The numbers of each chain's draws in bins of the ranks of all draws.
fn rank_histogram(quantity: &Quantity, shown: &Shown) -> Panel {
    let (chains, draws) = quantity.values.dim();
    let x = Axis::new("rank among all draws").range(0.0, (chains * draws) as f64);
    let y = Axis::new("draws in a bin");
    let Some(ranks) = ranks(quantity.values) else {
        return Panel::new("no ranks: some draws are not a number", x, y);
    };
    let bins = BINS.min(draws);
    let edge = |bin: usize| bin as f64 * (chains * draws) as f64 / bins as f64;
    let mut panel = Panel::new("ranks", x, y).mark(Mark::Rule {
        name: None,
        colour: Colour::Muted,
        place: Place::Horizontal(draws as f64 / bins as f64),
    });
    for (chain, colour, name) in shown.iter() {
        let mut counts = vec![0.0; bins];
        for rank in ranks.row(chain) {
            // The middle of a rank's place decides.
            counts[(2 * rank + 1) * bins / (2 * chains * draws)] += 1.0;
        }
        let steps = (0..bins).flat_map(|b| [[edge(b), counts[b]], [edge(b + 1), counts[b]]]);
        panel = panel.mark(Mark::Line { name, colour, points: steps.collect() });
    }
    panel
}

/// For each chain, the difference between the share of its draws among the lowest of all draws and
/// the share if all chains were alike, with the band in which all chains stay together with
/// probability 0.95.
///
/// With the ranks of the draws of all chains together, the empirical distribution function of a
/// chain's ranks is the line `share of its draws = share of all draws`, except for chance: the
/// figure shows the difference from it. At each place the band has the counts of a hypergeometric
/// distribution whose two-sided tail probability is not too small; the limit is found by
/// simulation, so that all chains stay inside at all places with probability 0.95. The band holds
/// for independent draws. Draws are therefore thinned to every k-th, with k the smallest power of
/// two with at most as many draws left as are effective (bulk and tail, in the median chain by
/// itself), and the panel's title says so. Of equal values the ranks are in random order, from a
/// fixed seed.
///
/// Source: Säilynoja, Bürkner, Vehtari 2022, doi:10.1007/s11222-022-10090-6.
///
/// # Errors
/// No quantity; a quantity with fewer than two chains, or without draws.
pub fn rank_ecdf(quantities: &[Quantity]) -> Result<Figure, Error> {
    check(quantities)?;
    let caption = "From left to right more and more of the lowest draws of all chains: the share of a \
                   chain's own draws among them, less the share of all draws. If the chains have one \
                   distribution, all lines stay inside the grey band with probability 0.95. The values \
                   of a chain are too low if its line is above 0 throughout, and too high if it is \
                   below; they are spread too widely if it is above 0 on the left and below on the \
                   right, and too narrowly in the opposite case.";
    let mut figure = Figure::new("rank-ecdf", "Rank ECDF differences", caption);
    let mut bands = HashMap::new();
    for quantity in quantities {
        let every = thinning(quantity.values);
        let values = quantity.values.slice(s![.., ..;every]);
        let (chains, draws) = values.dim();
        let shown = Shown::of(quantity);
        let title = match every {
            1 => shown.title(quantity.name),
            k => shown.title(&format!("{}, one draw in {k}", quantity.name)),
        };
        let x = Axis::new("share of all draws").range(0.0, 1.0);
        let y = Axis::new("difference of shares");
        let Some(ranks) = ranks(values) else {
            let title = format!("{}: no ranks, some draws are not a number", quantity.name);
            figure = figure.panel(Panel::new(title, x, y));
            continue;
        };
        let band = match bands.entry(values.dim()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(EcdfBand::new(chains, draws, 0.95)?),
        };
        // Both ends are certain.
        let share = |t: &usize| *t as f64 / (chains * draws) as f64;
        let along = |inner: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            std::iter::once(0.0).chain(inner).chain([0.0]).collect()
        };
        let mut at: Vec<f64> = along(&mut band.at.iter().map(share));
        at[band.at.len() + 1] = 1.0;
        let difference = |(t, count): (&usize, &usize)| *count as f64 / draws as f64 - share(t);
        let mut panel = Panel::new(title, x, y).mark(Mark::Band {
            name: Some("95 %, all chains together".to_owned()),
            colour: Colour::Muted,
            x: at.clone(),
            low: along(&mut band.at.iter().zip(&band.low).map(difference)),
            high: along(&mut band.at.iter().zip(&band.high).map(difference)),
        });
        for (chain, colour, name) in shown.iter() {
            let mut own = ranks.row(chain).to_vec();
            own.sort_unstable();
            let counts: Vec<usize> =
                band.at.iter().map(|t| own.partition_point(|rank| rank < t)).collect();
            let heights = along(&mut band.at.iter().zip(&counts).map(difference));
            let points = at.iter().zip(heights).map(|(x, y)| [*x, y]).collect();
            panel = panel.mark(Mark::Line { name, colour, points });
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}

/// The density of each chain's draws, by [`density`](bnn_mcmc::diagnostics::density()).
///
/// The density of a chain with more than 10,000 draws is made from 10,000 of them, evenly spaced. A
/// chain of equal draws is a vertical line. Draws that are not finite are left out, and a chain
/// without any other has no density; the caption says both.
///
/// # Errors
/// No quantity, and a quantity without chains or draws.
pub fn density(quantities: &[Quantity]) -> Result<Figure, Error> {
    check(quantities)?;
    let caption = "The density of each chain's draws. Densities of good chains lie on top of each \
                   other; one that has a hump of its own has been where the others have not.";
    let mut figure = Figure::new("density", "Densities by chain", caption);
    let mut without = Vec::new();
    for quantity in quantities {
        let shown = Shown::of(quantity);
        let y = Axis::new("density");
        let mut panel = Panel::new(shown.title(quantity.name), Axis::new("value"), y);
        for (chain, colour, name) in shown.iter() {
            match density_mark(quantity.values.row(chain).iter().copied(), name, colour) {
                Some(mark) => panel = panel.mark(mark),
                None => without.push(format!("{}, chain {chain}", quantity.name)),
            }
        }
        figure = figure.panel(panel);
    }
    figure.caption += &left_out(quantities.iter().map(|quantity| quantity.values));
    figure.caption += &without_density(&without);
    Ok(figure)
}

/// The autocorrelation of each chain at the lags from 0 to `lags`, or to the last that there is,
/// with the band that holds 95 % of the autocorrelations of independent draws, +-1.96 /
/// sqrt(draws).
///
/// # Errors
/// No quantity, and a quantity without chains or draws.
pub fn autocorrelation(quantities: &[Quantity], lags: usize) -> Result<Figure, Error> {
    check(quantities)?;
    let caption = "The correlation of a draw with the one that comes the lag later, by chain. The faster it \
                   falls into the grey band, which holds 95 % of the autocorrelations of independent \
                   draws, the more the draws are worth.";
    let mut figure = Figure::new("autocorrelation", "Autocorrelations", caption);
    for quantity in quantities {
        let draws = quantity.values.ncols();
        let shown = Shown::of(quantity);
        let last = lags.min(draws - 1);
        let limit = NORMAL_95 / (draws as f64).sqrt();
        let x = Axis::new("lag in draws").range(0.0, last.max(1) as f64);
        let mut panel = Panel::new(shown.title(quantity.name), x, Axis::new("autocorrelation"))
            .mark(Mark::Band {
                name: Some("independent draws, 95 %".to_owned()),
                colour: Colour::Muted,
                x: vec![0.0, last.max(1) as f64],
                low: vec![-limit; 2],
                high: vec![limit; 2],
            });
        for (chain, colour, name) in shown.iter() {
            let values = quantity.values.slice(s![chain..=chain, ..]);
            let correlations = diagnostics::autocorrelation(values);
            let row = correlations.row(0);
            let points = (0..=last).map(|lag| [lag as f64, row[lag]]).collect();
            panel = panel.mark(Mark::Line { name, colour, points });
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}

/// The bulk and tail effective sample sizes of all chains after each tenth of the draws, with the
/// 100 draws per chain that a verdict asks for ([`ESS_PER_CHAIN`]).
///
/// # Errors
/// No quantity, and a quantity without chains or draws.
pub fn ess(quantities: &[Quantity]) -> Result<Figure, Error> {
    check(quantities)?;
    let caption = "How many independent draws the first draws of all chains are worth (effective sample \
                   size), for the bulk and for the tails of the distribution, by the number of draws \
                   that are taken. Good lines rise in proportion to the draws and end above the grey \
                   one; a line that does not rise belongs to chains that do not agree, or that have \
                   not moved.";
    let mut figure = Figure::new("ess", "Effective sample sizes along the run", caption);
    for quantity in quantities {
        let (chains, draws) = quantity.values.dim();
        let x = Axis::new("draws of each chain").range(0.0, draws as f64);
        let y = Axis::new("effective draws of all chains");
        let mut panel = Panel::new(quantity.name, x, y).mark(Mark::Rule {
            name: Some(format!("{ESS_PER_CHAIN} per chain")),
            colour: Colour::Muted,
            place: Place::Horizontal(ESS_PER_CHAIN * chains as f64),
        });
        let mut counts: Vec<usize> = (1..=SHARES).map(|k| k * draws / SHARES).collect();
        counts.dedup();
        let first = |n: &usize| quantity.values.slice(s![.., ..*n]);
        let bulk = |n: &usize| [*n as f64, diagnostics::ess_bulk(first(n))];
        let tail = |n: &usize| [*n as f64, diagnostics::ess_tail(first(n))];
        let lines: [(_, Vec<_>); 2] = [
            ("bulk", counts.iter().map(bulk).collect()),
            ("tail", counts.iter().map(tail).collect()),
        ];
        for (k, (name, points)) in lines.into_iter().enumerate() {
            let (name, colour) = (Some(name.to_owned()), Colour::Series(k));
            panel = panel.mark(Mark::Line { name, colour, points });
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}

/// The means of each chain's first draws, at up to 400 places from the 50th part of the draws on, with
/// the 95 % interval of the mean of all draws: mean +- 1.96 Monte Carlo standard errors
/// ([`mcse_mean`](bnn_mcmc::diagnostics::mcse_mean)).
///
/// # Errors
/// No quantity, and a quantity without chains or draws.
pub fn running_mean(quantities: &[Quantity]) -> Result<Figure, Error> {
    check(quantities)?;
    let caption = "The mean of each chain's draws so far. The grey band is the 95 % interval of the mean by \
                   all draws of all chains: 1.96 Monte Carlo standard errors to both sides. Good lines \
                   level off near the band. A single chain has fewer draws than all together: of c \
                   chains that agree, the last means are spread about sqrt(c) times as widely as the \
                   band.";
    let mut figure = Figure::new("running-mean", "Running means", caption);
    for quantity in quantities {
        let draws = quantity.values.ncols();
        let shown = Shown::of(quantity);
        let title = shown.title(quantity.name);
        let mut panel = Panel::new(title, Axis::new("draw"), Axis::new("mean so far"));
        let mean = quantity.values.mean().unwrap_or(f64::NAN);
        let error = NORMAL_95 * diagnostics::mcse_mean(quantity.values);
        let first = (draws / 50).max(1);
        panel = panel.mark(Mark::Band {
            name: Some("mean of all draws, 95 %".to_owned()),
            colour: Colour::Muted,
            x: vec![first as f64, draws as f64],
            low: vec![mean - error; 2],
            high: vec![mean + error; 2],
        });
        let places = evenly(draws - first + 1, RUNNING_POINTS);
        for (chain, colour, name) in shown.iter() {
            let mut sum = 0.0;
            let mut places = places.iter().map(|k| first + k).peekable();
            let mut points = Vec::with_capacity(places.len());
            for (i, value) in quantity.values.row(chain).iter().enumerate() {
                sum += value;
                if places.next_if_eq(&(i + 1)).is_some() {
                    points.push([(i + 1) as f64, sum / (i + 1) as f64]);
                }
            }
            panel = panel.mark(Mark::Line { name, colour, points });
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}

/// An error without quantities, chains or draws.
fn check(quantities: &[Quantity]) -> Result<(), Error> {
    if quantities.is_empty() {
        return Err(Error::argument("quantities", "none", "at least one"));
    }
    for Quantity { name, values } in quantities {
        let (chains, draws) = values.dim();
        if chains == 0 || draws == 0 {
            let found = format!("{chains} chains of {draws} draws");
            return Err(Error::shape(format!("draws of `{name}`"), found, "at least one draw"));
        }
    }
    Ok(())
}

/// The chains of a panel.
pub(super) struct Shown {
    /// The numbers of the chains, ascending.
    chains: Vec<usize>,
    /// The number of all chains.
    of: usize,
}

impl Shown {
    /// All chains of a quantity, or those whose means lie farthest from the mean of all.
    fn of(quantity: &Quantity) -> Self {
        let mean = quantity.values.mean().unwrap_or(f64::NAN);
        Self::worst(quantity.values.outer_iter(), |chain| {
            (chain.mean().unwrap_or(f64::NAN) - mean).abs()
        })
    }

    /// All chains, or the eight with the largest score; NaN counts as the largest.
    pub(super) fn worst<C>(
        chains: impl ExactSizeIterator<Item = C>,
        score: impl Fn(C) -> f64,
    ) -> Self {
        let of = chains.len();
        if of <= SHOWN {
            return Self { chains: (0..of).collect(), of };
        }
        let key = |score: f64| if score.is_nan() { f64::INFINITY } else { score };
        let scores: Vec<f64> = chains.map(|chain| key(score(chain))).collect();
        let mut order: Vec<usize> = (0..of).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        order.truncate(SHOWN);
        order.sort_unstable();
        Self { chains: order, of }
    }

    /// The number, colour and name of each chain. After the seven colours comes the colour of text.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, Colour, Option<String>)> + '_ {
        self.chains.iter().enumerate().map(|(k, chain)| {
            let colour = if k < SHOWN - 1 { Colour::Series(k) } else { Colour::Ink };
            (*chain, colour, Some(format!("chain {chain}")))
        })
    }

    /// A panel's title, with how many chains it shows if these are not all.
    pub(super) fn title(&self, name: &str) -> String {
        match (self.chains.len() == self.of, name) {
            (true, _) => name.to_owned(),
            (false, "") => format!("{} of {} chains", self.chains.len(), self.of),
            (false, _) => format!("{name} ({} of {} chains)", self.chains.len(), self.of),
        }
    }
}

/// The ranks of draws among all draws, from 0, in the shape of the draws; `None` if some are NaN.
fn ranks(values: ArrayView2<f64>) -> Option<Array2<usize>> {
    if values.iter().any(|v| v.is_nan()) {
        return None;
    }
    // Adding zero makes one zero of two.
    let flat: Vec<f64> = values.iter().map(|v| v + 0.0).collect();
    let mut order: Vec<usize> = (0..flat.len()).collect();
    order.sort_unstable_by(|a, b| flat[*a].total_cmp(&flat[*b]));
    let mut rng = ChainRng::new(0, 0);
    for ties in order.chunk_by_mut(|a, b| flat[*a] == flat[*b]) {
        for i in (1..ties.len()).rev() {
            ties.swap(i, (rng.uniform() * (i + 1) as f64) as usize);
        }
    }
    let mut ranks = vec![0; flat.len()];
    order.iter().enumerate().for_each(|(rank, place)| ranks[*place] = rank);
    Array2::from_shape_vec(values.dim(), ranks).ok()
}

/// The smallest power of two, every so many draws of which are at most as many as are effective in
/// the median chain.
fn thinning(values: ArrayView2<f64>) -> usize {
    let effective = |chain: ArrayView1<f64>| {
        let chain = chain.insert_axis(ndarray::Axis(0));
        diagnostics::ess_bulk(chain).min(diagnostics::ess_tail(chain))
    };
    let mut effective: Vec<f64> =
        values.outer_iter().map(effective).filter(|ess| ess.is_finite()).collect();
    effective.sort_unstable_by(f64::total_cmp);
    let draws = values.ncols();
    match effective.get(effective.len() / 2) {
        Some(ess) if *ess < draws as f64 => {
            let factor = (draws as f64 / ess.max(1.0)).ceil() as usize;
            factor.next_power_of_two()
        }
        _ => 1,
    }
}
