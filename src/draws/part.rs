//! Parts of a run, which were sampled as separate jobs, put together.

use std::ops::Range;

use ndarray::{ArrayView3, Axis, concatenate, s};
use serde::{Deserialize, Serialize};

use super::checkpoint::{Fingerprint, agree};
use super::{Draws, RunInfo};
use crate::message::count;
use crate::{Error, memory};

/// The part of a run's chains that some draws are from. Made by
/// [`Sampler::only_chains`](crate::sampler::Sampler::only_chains).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The numbers of the chains.
    pub chains: Range<usize>,
    /// The number of chains of the whole run.
    pub of: usize,
    /// Steps of a draw, before any thinning of the finished draws.
    pub(crate) thin: usize,
    /// The identity of the run.
    pub(crate) run: Fingerprint,
    /// Log likelihood and log prior where chain 0 starts: another model, prior or start has others.
    pub(crate) at_start: [f64; 2],
}

impl Draws {
    /// Puts the draws of a whole run together from its parts, in any order, which separate jobs
    /// made with [`Sampler::only_chains`](crate::sampler::Sampler::only_chains). They are equal to
    /// the draws of one job, bit for bit, with all statistics and all of [`RunInfo`] but the
    /// seconds, which are the slowest part's. Chains of different lengths (a job was stopped) are
    /// cut to the draws that all have.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// use bnn_mcmc::testing::GaussianTarget;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let target = GaussianTarget::standard(3)?;
    /// let run = || Sampler::new(&target, Nuts::default()).chains(4).seed(1);
    ///
    /// // Each job, with its number from the cluster's environment:
    /// for job in 0..4 {
    ///     let part = run()
    ///         .only_chains(job..job + 1)
    ///         .checkpoint(folder.join(format!("{job}.checkpoint")), Every::default())
    ///         .run()?;
    ///     part.to_zarr(folder.join(format!("{job}.zarr")))?;
    /// }
    ///
    /// // When all are done:
    /// let parts: Result<Vec<_>, _> =
    ///     (0..4).map(|job| Draws::from_zarr(folder.join(format!("{job}.zarr")))).collect();
    /// let draws = Draws::merge(parts?)?;
    /// assert_eq!(draws.values(), run().run()?.values());
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// Draws that are no part of a run, parts of different runs (the message names the difference),
    /// a chain that is missing or there twice, or draws that do not fit into memory a second time.
    pub fn merge(parts: impl IntoIterator<Item = Self>) -> Result<Self, Error> {
        let mut parts: Vec<Self> = parts.into_iter().collect();
        let refused = |given: String, allowed: &str| Error::argument("parts", given, allowed);
        let whole = "parts of a run";
        for (i, draws) in parts.iter().enumerate() {
            let Some(part) = &draws.info.part else {
                return Err(refused(format!("draws {i}, which are no part of a run"), whole));
            };
            if part.chains.len() != draws.n_chains() {
                let given = format!("draws {i}, with {}", count(draws.n_chains(), "chain"));
                return Err(refused(given, &format!("chains {:?}", part.chains)));
            }
        }
        let of = |draws: &Self| draws.info.part.clone().map_or(0..0, |part| part.chains);
        parts.sort_by_key(|draws| of(draws).start);
        let Some(first) = parts.first() else { return Err(refused("none".into(), whole)) };
        for other in &parts[1..] {
            if let Some(difference) = first.difference(other) {
                let given = format!("chains {:?} of another run than {:?}", of(other), of(first));
                return Err(refused(given, &format!("of one run: {difference}")));
            }
        }
        let chains = first.info.part.as_ref().map_or(0, |part| part.of);
        let mut next = 0;
        for part in parts.iter().map(of).chain(std::iter::once(chains..chains)) {
            if part.start < next {
                return Err(refused(
                    format!("a list with chain {} twice", part.start),
                    "one with each chain once",
                ));
            }
            if part.start > next {
                let given = format!("none with the chains {:?}", next..part.start);
                return Err(refused(given, &format!("all chains of 0..{chains}")));
            }
            next = part.end;
        }
        let draws = parts.iter().map(Self::n_draws).min().unwrap_or(0);
        let width = first.layout.dim() + first.stat_names.len();
        let size = [(chains, "chains"), (draws, "draws"), (width, "parameters and statistics")];
        memory::check::<f64>("merged draws", &size, "take fewer draws")?;
        let joined = |of: fn(&Self) -> ArrayView3<f64>| {
            let cut: Vec<_> =
                parts.iter().map(|part| of(part).slice_move(s![.., ..draws, ..])).collect();
            concatenate(Axis(0), &cut)
                .map_err(|e| refused("of different shapes".into(), &e.to_string()))
        };
        Ok(Self {
            values: joined(|part| part.values.view())?,
            stats: joined(|part| part.stats.view())?,
            layout: first.layout.clone(),
            stat_names: first.stat_names.clone(),
            info: merged(&parts, draws),
        })
    }

    /// The difference between the runs of which these draws and `other` are parts, in words.
    fn difference(&self, other: &Self) -> Option<String> {
        let [here, there] = [self, other].map(|draws| draws.info.part.as_ref());
        let by_name = here?.run.differences(&there?.run);
        let (own, others) = (&self.info.target, &other.info.target);
        let target = (own != others).then(|| format!("the target is {own:?}, and {others:?}"));
        let [own, others] = [here?.at_start, there?.at_start];
        let agrees = own.iter().zip(&others).all(|(a, b)| agree(*a, *b));
        let start = (!agrees).then(|| {
            format!(
                "log likelihood and log prior where chain 0 starts are {own:?}, and {others:?}: \
                 model, prior or start differ"
            )
        });
        // Differences by operations on the draws since the run.
        let thinned = (self.info.thin != other.info.thin).then(|| "only some are thinned".into());
        let names = self.layout != other.layout || self.stat_names != other.stat_names;
        let names = names.then(|| "the parameters or statistics differ".into());
        by_name.or(target).or(start).or(thinned).or(names) //~ parts-of-other-runs
    }
}

/// The information on the whole run, from its `parts` cut to `draws` draws.
fn merged(parts: &[Draws], draws: usize) -> RunInfo {
    let infos = || parts.iter().map(|part| &part.info);
    let longest = |seconds: fn(&RunInfo) -> f64| infos().map(seconds).fold(0.0, f64::max);
    let first_of = |error: fn(&RunInfo) -> &Option<String>| infos().find_map(|i| error(i).clone());
    let all = |counts: fn(&RunInfo) -> &Vec<u64>| infos().flat_map(counts).copied().collect();
    let are_cut = parts.iter().any(|part| part.n_draws() > draws);
    // They are counted before any thinning of the finished draws.
    let thinned = infos().find_map(|info| Some(info.thin / info.part.as_ref()?.thin.max(1)));
    let end = draws.saturating_mul(thinned.unwrap_or(1));
    let divergences = infos().flat_map(|info| &info.divergences);
    RunInfo {
        stopped_early: are_cut || infos().any(|info| info.stopped_early), //~ cut-parts
        warmup_seconds: longest(|info| info.warmup_seconds),
        sampling_seconds: longest(|info| info.sampling_seconds),
        climbed: all(|info| &info.climbed),
        warmup_divergences: all(|info| &info.warmup_divergences),
        warmup_gradient_evals: all(|info| &info.warmup_gradient_evals),
        divergences: divergences.filter(|d| !are_cut || d.draw < end).cloned().collect(),
        part: None,
        reports: infos().flat_map(|info| info.reports.clone()).collect(),
        checkpoint_error: first_of(|info| &info.checkpoint_error),
        recorder_error: first_of(|info| &info.recorder_error),
        panic: first_of(|info| &info.panic),
        ..parts[0].info.clone()
    }
}
