//! Figures of how a sampler worked: energies, trajectories, divergences, ladders, and the training
//! of emulators and approximations.
//!
//! | figure | shows | of |
//! | --- | --- | --- |
//! | [`energy`] | whether momenta reach all energies | HMC, NUTS |
//! | [`divergences`] | when transitions diverged | every sampler |
//! | [`counts`] | how long trajectories are | HMC, NUTS, MCLMC |
//! | [`ladder`] | how states move between temperatures | power posteriors |
//! | [`loss`] | how an optimiser came down | optimisers with a held-out score |
//! | [`emulator`] | how good a surrogate is | emulators |
//!
//! If there are more than eight chains, a panel with a line for each shows the eight worst, and its
//! title says so.

use std::collections::BTreeMap;

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::{DIVERGENT_LIMIT, EBFMI_LIMIT, ebfmi};
use bnn_mcmc::draws::LadderReport;
use bnn_mcmc::optimise::Fit;
use ndarray::ArrayView2;

use super::Quantity;
use super::bins::density_mark;
use super::chains::Shown;
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place, Scale, Symbol, number};

/// The most points of a line along the run.
const POINTS: usize = 400;
/// The most different values that are counted one by one.
const VALUES: u64 = 40;

/// The energies H at the draws, centred in each chain, against their changes from one draw to the
/// next, and the energy Bayesian fraction of missing information of each chain
/// ([`ebfmi`]).
///
/// `energy` is the statistic `energy` of a run of HMC or NUTS alone, `[chain, draw]`, without
/// thinning: of thinned draws the changes are too large
/// ([`Draws::ebfmi`](bnn_mcmc::draws::Draws::ebfmi) is `None` for them). Densities are by
/// [`density`](bnn_mcmc::diagnostics::density()), of equal values a vertical line; energies that are not
/// finite are left out of them, and counted in the caption. Source: Betancourt 2017, arXiv:1701.02434, section 6.1.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc_report::figures::sampler;
/// let data = Dataset::regression(ndarray::array![[0.0], [1.0]], ndarray::array![1.0, 2.0])?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
/// let draws = Sampler::new(&posterior, Nuts::default()).warmup(200).draws(200).run()?;
/// let figure = sampler::energy(draws.stat("energy")?)?;
/// assert_eq!(figure.panels.len(), 2);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// No chains, and fewer than two draws.
pub fn energy(energy: ArrayView2<f64>) -> Result<Figure, Error> {
    let (chains, draws) = energy.dim();
    if chains == 0 || draws < 2 {
        let found = format!("{chains} chains of {draws} draws");
        return Err(Error::shape("energies", found, "at least one chain of two draws"));
    }
    let (mut levels, mut changes) = (Vec::new(), Vec::new());
    for chain in energy.outer_iter() {
        let finite: Vec<f64> = chain.iter().copied().filter(|h| h.is_finite()).collect();
        let mean = finite.iter().sum::<f64>() / finite.len() as f64;
        levels.extend(finite.iter().map(|h| h - mean));
        changes.extend(chain.windows(2).into_iter().map(|w| w[1] - w[0]).filter(|d| d.is_finite()));
    }
    let left_out = chains * draws - levels.len();
    let mut caption = format!(
        "Left: the density of the energies at the draws, less their mean in each chain, and the density of \
         their changes from one draw to the next. The two curves of a good run are about equally wide. \
         Right, by chain: the mean square of the changes over the variance of the energies (E-BFMI). Below \
         the grey line at {EBFMI_LIMIT} momenta change the energy too little, and the tails are badly \
         explored."
    );
    if left_out > 0 {
        caption += &format!(" {left_out} energies are not finite, and left out on the left.");
    }
    let mut densities = Panel::new("energies", Axis::new("energy (nats)"), Axis::new("density"));
    for (k, (name, values)) in [("at draws", levels), ("changes", changes)].into_iter().enumerate()
    {
        let mark = density_mark(values, Some(name.to_owned()), Colour::Series(k));
        densities = mark.into_iter().fold(densities, Panel::mark);
    }
    let fractions = ebfmi(energy);
    let most = fractions.iter().copied().filter(|f| f.is_finite()).fold(1.0, f64::max);
    let by_chain = Panel::new(
        "E-BFMI",
        Axis::new("chain").range(-0.5, chains as f64 - 0.5),
        Axis::new("E-BFMI").range(0.0, 1.1 * most),
    )
    .mark(Mark::Rule {
        name: Some(format!("limit {EBFMI_LIMIT}")),
        colour: Colour::Muted,
        place: Place::Horizontal(EBFMI_LIMIT),
    })
    .mark(Mark::Points {
        name: None,
        colour: Colour::Series(0),
        symbol: Symbol::Dot,
        points: fractions.iter().enumerate().map(|(chain, f)| [chain as f64, *f]).collect(),
    });
    Ok(Figure::new("energy", "Energies", caption).panel(densities).panel(by_chain))
}

/// The number of divergent transitions so far, by chain.
///
/// `divergent` is the statistic of that name, `[chain, draw]`. For thinned draws it counts all
/// transitions since the draw before, so that the sum counts all transitions, and may be larger
/// than the number of draws. The lines have up to 400 points.
///
/// # Errors
/// No chains, or no draws.
pub fn divergences(divergent: ArrayView2<f64>) -> Result<Figure, Error> {
    let (chains, draws) = divergent.dim();
    if chains == 0 || draws == 0 {
        let found = format!("{chains} chains of {draws} draws");
        return Err(Error::shape("divergences", found, "at least one draw"));
    }
    let caption = format!(
        "Divergent transitions so far, by chain; {} up to the last draw, in all chains. Of a thinned run \
         the transitions between two draws count, too. Good runs have next to none; where more than {} % \
         of all transitions diverge, a part of the distribution was left out. Where a line is steep, the \
         chain was at a place that the sampler could not follow.",
        number(divergent.sum()),
        number(100.0 * DIVERGENT_LIMIT)
    );
    let shown = Shown::worst(divergent.outer_iter(), |chain| chain.sum());
    let most = divergent.outer_iter().map(|chain| chain.sum()).fold(1.0, f64::max);
    let mut panel = Panel::new(
        shown.title(""),
        Axis::new("draw").range(0.0, draws as f64),
        Axis::new("divergent transitions so far").range(0.0, 1.05 * most),
    );
    let every = draws.div_ceil(POINTS);
    for (chain, colour, name) in shown.iter() {
        let mut sum = 0.0;
        let mut points = vec![[0.0, 0.0]];
        for (i, value) in divergent.row(chain).iter().enumerate() {
            sum += value;
            if (i + 1) % every == 0 || i + 1 == draws {
                points.push([(i + 1) as f64, sum]);
            }
        }
        panel = panel.mark(Mark::Line { name, colour, points });
    }
    Ok(Figure::new("divergences", "Divergent transitions", caption).panel(panel))
}

/// The share of each chain's draws at each value of statistics that count, such as `tree_depth`,
/// `leapfrog_steps` or `gradient_evals`.
///
/// If the values of a statistic range over more than 40 whole numbers, the shares are of values
/// from one power of two to the next, and the axis is logarithmic.
///
/// # Errors
/// No statistic; a statistic without chains or draws, or with a value that is not a whole number from
/// 0 to 2^53.
pub fn counts(statistics: &[Quantity]) -> Result<Figure, Error> {
    if statistics.is_empty() {
        return Err(Error::argument("statistics", "none", "at least one"));
    }
    let caption = "How long trajectories are: the share of each chain's draws at each number on the \
                   horizontal axis. Chains that have learnt the same step size have about the same \
                   shares.";
    let mut figure = Figure::new("counts", "Lengths of trajectories", caption);
    let mut is_binned = false;
    for Quantity { name, values } in statistics {
        let (chains, draws) = values.dim();
        if chains == 0 || draws == 0 {
            let found = format!("{chains} chains of {draws} draws");
            return Err(Error::shape(format!("draws of `{name}`"), found, "at least one draw"));
        }
        let is_count = |v: &f64| (0.0..=(1u64 << 53) as f64).contains(v) && v.fract() == 0.0;
        if let Some(value) = values.iter().find(|v| !is_count(v)) {
            return Err(Error::argument(*name, value, "whole numbers from 0 to 2^53"));
        }
        let ends = |(low, high): (u64, u64), v: &f64| (low.min(*v as u64), high.max(*v as u64));
        let (low, high) = values.iter().fold((u64::MAX, 0), ends);
        let is_fine = high - low < VALUES;
        is_binned |= !is_fine;
        let x = match is_fine {
            true => Axis::new(*name).range(low as f64 - 0.5, high as f64 + 0.5),
            false => Axis::new(format!("{name}, by powers of two")).scale(Scale::Log),
        };
        let mean = values.mean().unwrap_or(f64::NAN);
        let shown = Shown::worst(values.outer_iter(), |chain| {
            (chain.mean().unwrap_or(f64::NAN) - mean).abs()
        });
        let y = Axis::new("share of draws");
        let mut panel = Panel::new(shown.title(name), x, y);
        for (chain, colour, name) in shown.iter() {
            // The places run from the smallest to the largest value of all chains, so that all
            // lines have all places.
            let mut shares = BTreeMap::new();
            match is_fine {
                true => shares.extend((low..=high).map(|value| (value, 0))),
                false => shares.extend((0..=high.ilog2()).map(|k| (1 << k, 0))),
            }
            for value in values.row(chain) {
                let value = *value as u64;
                let place = if is_fine { value } else { 1 << value.max(1).ilog2() };
                *shares.entry(place).or_insert(0) += 1;
            }
            let points =
                shares.iter().map(|(value, n)| [*value as f64, f64::from(*n) / draws as f64]);
            panel = panel.mark(Mark::Line { name, colour, points: points.collect() });
        }
        figure = figure.panel(panel);
    }
    if is_binned {
        figure.caption += " By powers of two, 8 stands for 8 to 15.";
    }
    Ok(figure)
}

/// The ladder of each chain of power posteriors: its temperatures, how often states of neighbouring
/// rungs are exchanged, and how often moves within each rung are accepted.
///
/// Rungs are counted from 0, the prior, whose power 0 has no place on a logarithmic axis.
///
/// # Errors
/// No report.
pub fn ladder(reports: &[LadderReport]) -> Result<Figure, Error> {
    if reports.is_empty() {
        return Err(Error::argument("reports", "none", "at least one"));
    }
    let trips: u64 = reports.iter().map(|report| report.round_trips).sum();
    let barrier = reports.iter().map(LadderReport::barrier).fold(f64::NAN, f64::max);
    let rungs = reports.iter().map(LadderReport::suggested_rungs).max().unwrap_or(0);
    let caption = format!(
        "The power of the likelihood at each rung, the share of exchanges accepted between it and the next, \
         and the mean acceptance probability of the moves within it. A good ladder exchanges about equally \
         often between all neighbours. States made {trips} round trips from the posterior to the prior and back, \
         in {} chains; the largest barrier (the sum of the shares of refused exchanges) is {barrier:.2}, for \
         which {rungs} rungs are enough.",
        reports.len()
    );
    let lowest = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let shown = Shown::worst(reports.iter(), |report| -lowest(&report.swap_accept));
    let last = reports.iter().map(|report| report.betas.len()).max().unwrap_or(1).max(2) - 1;
    let rung = || Axis::new("rung").range(-0.3, last as f64 + 0.3);
    let share = |label: &str| Axis::new(label).range(0.0, 1.0);
    let powers = Axis::new("power of the likelihood").scale(Scale::Log);
    let mut panels = [
        Panel::new(shown.title("temperatures"), rung(), powers),
        Panel::new(shown.title("exchanges"), rung(), share("accepted, with the next rung")),
        Panel::new(shown.title("moves"), rung(), share("accepted within the rung")),
    ];
    for (chain, colour, name) in shown.iter() {
        let report = &reports[chain];
        // An exchange stands between its two rungs.
        let lines = [(&report.betas, 0.0), (&report.swap_accept, 0.5), (&report.accept_prob, 0.0)];
        for (panel, (values, between)) in panels.iter_mut().zip(lines) {
            let points = values.iter().enumerate().map(|(k, v)| [k as f64 + between, *v]);
            let points = points.collect();
            panel.marks.push(Mark::Line { name: name.clone(), colour, points });
        }
    }
    let figure = Figure::new("ladder", "Ladder of temperatures", caption);
    Ok(panels.into_iter().fold(figure, Figure::panel))
}

/// The history of ascents: minus the mean log density of training, and minus the held-out score, with a
/// cross where the point was taken. Both are losses: lower is better.
///
/// `fits` are the fits of an ensemble, or a single one. If there are more than eight fits, the
/// figure shows the eight whose last held-out scores are the worst.
///
/// # Errors
/// If no fit has a history: only those with early stopping do.
pub fn loss(fits: &[Fit]) -> Result<Figure, Error> {
    let without = fits.iter().filter(|fit| fit.history.is_empty()).count();
    if without == fits.len() {
        let found = format!("{without} without evaluations");
        return Err(Error::argument("fits", found, "at least one with early stopping"));
    }
    let mut caption = "Minus the mean log density that came with the gradients since the evaluation \
                       before, and minus the score of the held-out rows, by the number of steps; lower \
                       is better, and the cross is the point that was taken. Good curves have levelled \
                       off; where the second rises while the first falls, the training data are learnt \
                       by heart."
        .to_owned();
    if without > 0 {
        caption += &format!(" {without} of {} fits have no history.", fits.len());
    }
    let shown = Shown::worst(fits.iter(), |fit| fit.history.last().map_or(0.0, |e| -e.score));
    let mut panels = [
        Panel::new(
            shown.title("training"),
            Axis::new("step"),
            Axis::new("minus log density (nats)"),
        ),
        Panel::new(shown.title("held-out rows"), Axis::new("step"), Axis::new("minus score")),
    ];
    for (number, colour, _) in shown.iter() {
        let fit = &fits[number];
        for (k, panel) in panels.iter_mut().enumerate() {
            let losses = fit.history.iter().map(|e| [e.step as f64, -[e.estimate, e.score][k]]);
            let points: Vec<_> = losses.collect();
            let taken = points.iter().copied().filter(|p| p[0] == fit.step as f64).collect();
            let name = (fits.len() > 1).then(|| format!("fit {number}"));
            panel.marks.push(Mark::Line { name, colour, points });
            panel.marks.push(Mark::Points {
                name: None,
                colour: Colour::Ink,
                symbol: Symbol::Cross,
                points: taken,
            });
        }
    }
    let figure = Figure::new("loss", "Loss curves", caption);
    Ok(panels.into_iter().fold(figure, Figure::panel))
}

/// The log likelihood by an emulator against the true one, at the same points, such as draws.
///
/// The figure follows Moslemi, Meng, Lan and Shahbaba (FBNN), figure 5. An emulator may be off by a
/// constant, which does not change the distribution that is sampled; `SurrogateError` measures the
/// rest ([`bnn_mcmc::surrogate`]).
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::emulate::RandomFeatures;
/// use bnn_mcmc::surrogate::Emulator;
/// use bnn_mcmc::targets::Target;
/// use bnn_mcmc_report::figures::sampler;
/// # let x = ndarray::Array2::from_shape_fn((40, 2), |(i, j)| ((7 * i + 3 * j) % 11) as f64 / 5.0 - 1.0);
/// # let y = x.column(0).mapv(|x| 0.5 * x + 0.1);
/// # let data = Dataset::regression(x, y)?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let posterior = Posterior::new(Linear::new(2, 1)?, Gaussian::fixed(0.3)?, &data, priors)?;
/// let draws = Sampler::new(&posterior, Mala::default()).warmup(200).draws(100).seed(1).run()?;
/// let features = RandomFeatures { features: 60, ..RandomFeatures::default() };
/// let emulator = features.fit(&posterior, &draws)?;
/// let truth = draws.stat("log_likelihood")?;
/// let mut workspace = emulator.workspace();
/// let emulated: Vec<f64> = draws
///     .flat()
///     .outer_iter()
///     .map(|q| emulator.log_likelihood(&q.to_vec(), &mut workspace))
///     .collect();
/// let truth: Vec<f64> = truth.iter().copied().collect();
/// let figure = sampler::emulator(&truth, &emulated)?;
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// Slices of different lengths, or empty ones.
pub fn emulator(truth: &[f64], emulated: &[f64]) -> Result<Figure, Error> {
    if truth.len() != emulated.len() || truth.is_empty() {
        let expected = format!("{}, and at least 1", truth.len());
        return Err(Error::shape("emulated log likelihoods", emulated.len(), expected));
    }
    let points: Vec<[f64; 2]> = truth.iter().zip(emulated).map(|(t, e)| [*t, *e]).collect();
    let left_out = points.iter().filter(|p| !(p[0].is_finite() && p[1].is_finite())).count();
    let mut caption =
        "The log likelihood by the emulator against the true one. Points of a good emulator \
                       lie along the grey line, or along a line parallel to it."
            .to_owned();
    if left_out > 0 {
        let n = points.len();
        caption += &format!(" {left_out} of {n} points are not finite, and left out.");
    }
    let mut panel = Panel::new(
        "",
        Axis::new("true log likelihood (nats)"),
        Axis::new("emulated log likelihood (nats)"),
    )
    .mark(Mark::Rule { name: None, colour: Colour::Muted, place: Place::Diagonal })
    .mark(Mark::Points { name: None, colour: Colour::Series(0), symbol: Symbol::Dot, points });
    panel.aspect = 0.9;
    Ok(Figure::new("emulator", "Emulated log likelihood", caption).panel(panel))
}
