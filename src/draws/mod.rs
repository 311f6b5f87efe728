//! The result of a run: draws with their names, statistics per draw, and how they were made.
//!
//! A run of a large network need not store every draw: [`Keep`] says which coordinates the draws
//! hold, and [recorders](recorder) keep moments, predictions, or every k-th draw in memory or on
//! disk.

pub mod checkpoint;
mod io;
pub(crate) mod keep;
mod mixture;
mod part;
pub mod recorder;
mod report;
pub mod zarr;

pub use keep::Keep;
pub use mixture::Approximation;
pub use part::Part;
pub use report::{LadderReport, Report};

use std::ops::Range;

use ndarray::{Array2, Array3, ArrayView1, ArrayView2, ArrayView3, Axis, s};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::layout::Layout;
use crate::targets::{Constrained, Target, TargetInfo};

/// The statistics that the loop records for every draw; a kernel's own follow.
///
/// With thinning, `accept_prob` and `accepted` are means over the steps since the last draw,
/// `divergent` and `gradient_evals` are counts.
pub const STATS: [&str; 6] =
    ["log_likelihood", "log_prior", "accept_prob", "accepted", "divergent", "gradient_evals"];

/// Posterior draws `[chain, draw, parameter]` with statistics `[chain, draw]`.
///
/// The parameters are the ones that the run was told to [keep](crate::sampler::Sampler::keep). If
/// draws hold no parameters, means and covariances are empty, and methods that need parameters
/// return an error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Draws {
    layout: Layout,
    values: Array3<f64>,
    stat_names: Vec<String>,
    /// `[chain, draw, statistic]`.
    stats: Array3<f64>,
    info: RunInfo,
}

/// Information on how a run was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The seed.
    pub seed: u64,
    /// The [name of the algorithm](crate::sampler::Algorithm::name), such as `Collapsed(Nuts)`; `None` for
    /// draws from elsewhere.
    #[serde(default)]
    pub algorithm: Option<String>,
    /// The number of parameters of the target, of which the draws hold those that were
    /// [kept](Keep); 0 for draws from elsewhere, where it is not known.
    #[serde(default)]
    pub parameters: usize,
    /// Iterations of warm-up per chain.
    pub warmup: usize,
    /// Steps per stored draw.
    pub thin: usize,
    /// Whether the run ended before its last draw: by a
    /// [`StopHandle`](crate::sampler::StopHandle), a recorder that failed, or a panic. The chains are
    /// then cut to the draws that all of them have.
    pub stopped_early: bool,
    /// Wall time of warm-up, all chains.
    pub warmup_seconds: f64,
    /// Wall time of sampling, all chains.
    pub sampling_seconds: f64,
    /// The gradients of a short ascent of each chain from a start at which its log density was
    /// hopeless, below -1e8, before warm-up; 0 for chains that began where they were told. See
    /// [`Kernel::approach`](crate::sampler::Kernel::approach).
    #[serde(default)]
    pub climbed: Vec<u64>,
    /// Divergent transitions of each chain's warm-up.
    pub warmup_divergences: Vec<u64>,
    /// Gradients that each chain's warm-up evaluated.
    pub warmup_gradient_evals: Vec<u64>,
    /// The divergent transitions of sampling: the first [`Divergence::KEPT`] of each chain.
    pub divergences: Vec<Divergence>,
    /// The approximation that the draws are of, if they are not of the posterior: a
    /// [surrogate](crate::surrogate), a [fitted approximation](crate::approximate), or a
    /// [mixture](Draws::mixture). Draws that are read from CSV files have `None`.
    #[serde(default)]
    pub approximation: Option<Approximation>,
    /// Model, likelihood and data of the posterior that was sampled, itself or a view of it; `None`
    /// for other targets, and for draws from elsewhere. Another posterior refuses to predict with
    /// these draws.
    #[serde(default)]
    pub target: Option<TargetInfo>,
    /// The part of the run that these chains are, if others were run
    /// [elsewhere](crate::sampler::Sampler::only_chains).
    #[serde(default)]
    pub part: Option<Part>,
    /// The report of each chain's kernel on the whole run; empty for draws that were read from a
    /// CSV file.
    pub reports: Vec<Report>,
    /// The reason why the [checkpoint] on disk lacks the end of this run, if it does.
    pub checkpoint_error: Option<String>,
    /// The reason why a [recorder] failed, which ended the run, if one did.
    pub recorder_error: Option<String>,
    /// The message of the panic that ended the run, if one did, and which chain it was in, or of the file whose rows could not be
    /// read any more: see [`Sampler::run`](crate::sampler::Sampler::run). Verdicts on such a run say so.
    pub panic: Option<String>,
}

/// A divergent transition: one that failed where the density cannot be computed or is too curved
/// for the step size. Positions that lie together show where a model is hard to sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Divergence {
    /// The number of the chain in the whole run.
    pub chain: usize,
    /// The draw before which it happened, counted before any thinning of the finished draws.
    pub draw: usize,
    /// The position where it failed: the last position of the trajectory before the step that
    /// failed, or the proposal of a kernel without trajectories.
    pub position: Vec<f64>,
}

impl Divergence {
    /// The number of divergences of each chain that are kept, fewer if their positions have more
    /// than a million numbers.
    pub const KEPT: usize = 100;

    /// The number of divergences of each chain that are kept with `dim` parameters; at least 1.
    pub(crate) fn kept(dim: usize) -> usize {
        Self::KEPT.min(1 + 1_000_000 / dim)
    }
}

impl Draws {
    /// Draws from elsewhere: `values` is `[chain, draw, parameter]`, with as many parameters as
    /// `layout` has.
    ///
    /// # Errors
    /// If the numbers of parameters differ, or two blocks of the layout have the same name.
    pub fn new(layout: Layout, values: Array3<f64>) -> Result<Self, Error> {
        layout.check_names()?;
        let (chains, draws, parameters) = values.dim();
        if parameters != layout.dim() {
            return Err(Error::shape(
                "number of parameters of the draws",
                parameters,
                layout.dim(),
            ));
        }
        let standard = values.is_standard_layout();
        let values = if standard { values } else { values.as_standard_layout().into_owned() };
        let stats = Array3::zeros((chains, draws, 0));
        let info = RunInfo { thin: 1, ..RunInfo::default() };
        Ok(Self { layout, values, stat_names: Vec::new(), stats, info })
    }

    /// Replaces the information on how the draws were made.
    pub(crate) fn with_info(self, info: RunInfo) -> Self {
        Self { info, ..self }
    }

    /// Puts the chains of a run together, cut to the draws that all of them have: each further
    /// chain is appended to the first one, whose vectors should have room for all, and freed.
    pub(crate) fn from_chains(
        layout: Layout,
        stat_names: Vec<String>,
        chains: Vec<(Vec<f64>, Vec<f64>)>,
        info: RunInfo,
    ) -> Self {
        let (dim, n_stats, n_chains) = (layout.dim(), stat_names.len(), chains.len());
        let draws = chains.iter().map(|(_, stats)| stats.len() / n_stats).min().unwrap_or(0);
        let mut chains = chains.into_iter();
        let (mut all_values, mut all_stats) = chains.next().unwrap_or_default();
        all_values.truncate(draws * dim);
        all_stats.truncate(draws * n_stats);
        for (values, stats) in chains {
            all_values.extend_from_slice(&values[..draws * dim]);
            all_stats.extend_from_slice(&stats[..draws * n_stats]);
        }
        let array = |mut values: Vec<f64>, width| {
            values.shrink_to_fit();
            Array3::from_shape_vec((n_chains, draws, width), values)
                .expect("every chain was cut to the same number of draws")
        };
        Self {
            values: array(all_values, dim),
            stats: array(all_stats, n_stats),
            layout,
            stat_names,
            info,
        }
    }

    /// Replaces the values of the draws by `values` of the same shape, in standard order.
    pub(crate) fn with_values(&self, values: Array3<f64>) -> Self {
        debug_assert!(values.dim() == self.values.dim() && values.is_standard_layout());
        Self {
            layout: self.layout.clone(),
            values,
            stat_names: self.stat_names.clone(),
            stats: self.stats.clone(),
            info: self.info.clone(),
        }
    }

    /// The draws of the constrained parameters of `target`, from these draws of its free numbers, with their statistics. Densities
    /// are still of the free numbers, with the volume in the log prior, so that sensitivity to the prior is of that density.
    ///
    /// # Errors
    /// If the draws, or the positions of divergences, have other blocks than `target`.
    pub fn constrained<T: Target>(&self, target: &Constrained<T>) -> Result<Self, Error> {
        self.check_layout("parameters of the draws", &target.layout())?;
        let layout = target.target().layout();
        let mut values = Array3::zeros((self.n_chains(), self.n_draws(), layout.dim()));
        let mut theta = vec![0.0; layout.dim()];
        for (mut to, q) in values.rows_mut().into_iter().zip(self.values.rows()) {
            target.write(&q.to_vec(), &mut theta);
            to.assign(&ArrayView1::from(&theta));
        }
        let (stat_names, stats) = (self.stat_names.clone(), self.stats.clone());
        let mut info = self.info.clone();
        info.parameters = layout.dim();
        for divergence in &mut info.divergences {
            divergence.position = target.constrain(&divergence.position)?;
        }
        Ok(Self { layout, values, stat_names, stats, info })
    }

    /// An error unless the draws are of parameters with the names of `expected`, all of them.
    pub(crate) fn check_layout(&self, what: &str, expected: &Layout) -> Result<(), Error> {
        if self.layout.has_arrays_of(expected) {
            return Ok(());
        }
        Err(Error::shape(what, self.layout.described(), expected.described()))
    }

    /// An error if the draws hold no parameters.
    pub(crate) fn check_any_parameter(&self) -> Result<(), Error> {
        match self.layout.dim() {
            0 => Err(Error::shape(
                "parameters of the draws",
                "none: the run kept statistics only",
                "at least 1 (`StreamedUncertainty` and other recorders predict while the run goes on)",
            )),
            _ => Ok(()),
        }
    }

    /// All draws, `[chain, draw, parameter]`.
    pub fn values(&self) -> ArrayView3<'_, f64> {
        self.values.view()
    }

    /// The names of the parameters.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Information on how the run was made.
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// The numbers of the chains in the whole run: from 0 on, unless they are a [part](Part) of it.
    pub fn chain_numbers(&self) -> Range<usize> {
        let first = self.info.part.as_ref().map_or(0, |part| part.chains.start);
        first..first + self.n_chains()
    }

    /// The number of chains.
    pub fn n_chains(&self) -> usize {
        self.values.dim().0
    }

    /// The number of draws of each chain.
    pub fn n_draws(&self) -> usize {
        self.values.dim().1
    }

    /// One draw, as long as q.
    pub fn draw(&self, chain: usize, draw: usize) -> Option<&[f64]> {
        if chain < self.n_chains() && draw < self.n_draws() {
            self.values.slice(s![chain, draw, ..]).to_slice()
        } else {
            None
        }
    }

    /// The draws of one named block, `[chain, draw, parameter]`.
    pub fn block(&self, name: &str) -> Result<ArrayView3<'_, f64>, Error> {
        let range = self.layout.try_range(name)?;
        Ok(self.values.slice(s![.., .., range]))
    }

    /// The draws of one parameter, such as `w0[1,2]`, `[chain, draw]`.
    pub fn parameter(&self, name: &str) -> Result<ArrayView2<'_, f64>, Error> {
        let names = self.layout.parameter_names();
        match names.iter().position(|n| n == name) {
            Some(i) => Ok(self.values.index_axis(Axis(2), i)),
            None => Err(Error::UnknownName {
                what: "parameter".into(),
                name: name.into(),
                known: names,
            }),
        }
    }

    /// The names of the statistics: [`STATS`], then the kernel's own.
    pub fn stat_names(&self) -> &[String] {
        &self.stat_names
    }

    /// One statistic, `[chain, draw]`.
    pub fn stat(&self, name: &str) -> Result<ArrayView2<'_, f64>, Error> {
        match self.stat_names.iter().position(|n| n == name) {
            Some(i) => Ok(self.stats.index_axis(Axis(2), i)),
            None => Err(Error::UnknownName {
                what: "statistic".into(),
                name: name.into(),
                known: self.stat_names.clone(),
            }),
        }
    }

    /// The share of accepted steps of each chain; NaN without draws, and for kernels without a
    /// test, none of whose steps has an acceptance probability. NUTS moves nearly always: its step
    /// size is adapted to the statistic `accept_prob`.
    pub fn accept_rate(&self) -> Vec<f64> {
        let (Ok(accepted), Ok(prob)) = (self.stat("accepted"), self.stat("accept_prob")) else {
            return vec![f64::NAN; self.n_chains()];
        };
        let chains = accepted.rows().into_iter().zip(prob.rows());
        chains
            .map(|(accepted, prob)| match prob.iter().all(|p| p.is_nan()) {
                true => f64::NAN,
                false => accepted.mean().unwrap_or(f64::NAN),
            })
            .collect()
    }

    /// Divergent transitions while sampling, all chains.
    pub fn divergences(&self) -> u64 {
        self.stat("divergent").map_or(0, |d| d.sum() as u64)
    }

    /// The share of each chain's NUTS trajectories that were cut off at the maximal depth, if there
    /// are any; of the first NUTS kernel, if there are several.
    pub fn at_max_depth(&self) -> Option<Vec<f64>> {
        self.chain_means("at_max_depth")
    }

    /// For samplers without a Metropolis test, whose draws have a bias that no diagnostic of the chains
    /// shows: the mean of each chain's statistic `kinetic_temperature`, which should be 1, and none for
    /// samplers without momentum or with one of constant length. `None` for samplers with a test.
    pub fn unadjusted(&self) -> Option<Vec<f64>> {
        let any = self.info.reports.iter().any(|report| report.unadjusted);
        any.then(|| self.chain_means("kinetic_temperature").unwrap_or_default())
    }

    /// The mean of each chain's first statistic of that name, prefixes left out.
    pub(crate) fn chain_means(&self, stat: &str) -> Option<Vec<f64>> {
        let is_wanted = |name: &String| name.rsplit('.').next() == Some(stat);
        let i = self.stat_names.iter().position(is_wanted)?;
        let chains = self.stats.index_axis(Axis(2), i);
        Some(chains.rows().into_iter().map(|r| r.mean().unwrap_or(f64::NAN)).collect())
    }

    /// Gradients evaluated in warm-up and sampling, all chains.
    pub fn gradient_evals(&self) -> u64 {
        let sampling = self.stat("gradient_evals").map_or(0, |g| g.sum() as u64);
        sampling + self.info.warmup_gradient_evals.iter().sum::<u64>()
    }

    /// Every `k`-th draw, beginning with the `k`-th, as if the run had been thinned by `k` times as
    /// much: acceptance is averaged, and divergences and gradients are summed, over the `k` draws
    /// of which one is kept. Draws after the last multiple of `k` are dropped.
    pub fn thinned(&self, k: usize) -> Result<Self, Error> {
        if !(1..=self.n_draws().max(1)).contains(&k) {
            return Err(Error::argument("k", k, format!("1 to {} draws", self.n_draws())));
        }
        let mut thinned = self.clone();
        thinned.info.thin = self.info.thin.saturating_mul(k);
        thinned.values = self.values.slice(s![.., k - 1..;k, ..]).as_standard_layout().into_owned();
        thinned.stats = self.stats.slice(s![.., k - 1..;k, ..]).as_standard_layout().into_owned();
        for (i, name) in self.stat_names.iter().enumerate() {
            let scale = match name.as_str() {
                "accept_prob" | "accepted" => 1.0 / k as f64,
                "divergent" | "gradient_evals" => 1.0,
                _ => continue,
            };
            for ((chain, draw), value) in
                thinned.stats.index_axis_mut(Axis(2), i).indexed_iter_mut()
            {
                *value = scale * self.stats.slice(s![chain, draw * k..(draw + 1) * k, i]).sum();
            }
        }
        Ok(thinned)
    }

    /// Some draws of each chain.
    pub(crate) fn range(&self, draws: Range<usize>) -> Self {
        Self {
            layout: self.layout.clone(),
            values: self.values.slice(s![.., draws.clone(), ..]).to_owned(),
            stat_names: self.stat_names.clone(),
            stats: self.stats.slice(s![.., draws, ..]).to_owned(),
            info: self.info.clone(),
        }
    }

    /// Mean of q over all draws of all chains; NaN without draws.
    pub fn mean(&self) -> Vec<f64> {
        let flat = self.flat();
        flat.mean_axis(Axis(0)).map_or_else(|| vec![f64::NAN; flat.ncols()], |m| m.to_vec())
    }

    /// All draws of all chains, `[chain * draw, parameter]`.
    pub fn flat(&self) -> ArrayView2<'_, f64> {
        let (chains, draws, parameters) = self.values.dim();
        self.values
            .view()
            .into_shape_with_order((chains * draws, parameters))
            .expect("draws are stored in standard order")
    }

    /// Sample covariance (divisor n - 1) of q over all draws of all chains; NaN below two draws.
    pub fn covariance(&self) -> Array2<f64> {
        let flat = self.flat();
        if flat.nrows() < 2 {
            return Array2::from_elem((flat.ncols(), flat.ncols()), f64::NAN);
        }
        let centred = &flat - &ndarray::Array1::from(self.mean());
        centred.t().dot(&centred) / (flat.nrows() as f64 - 1.0)
    }

    /// Sample correlation of q over all draws of all chains. NaN in the row and the column of a
    /// parameter whose draws are all equal, and everywhere below two draws.
    ///
    /// [`CovarianceComparison`](crate::diagnostics::CovarianceComparison) says whether the draws of
    /// two samplers agree, within Monte Carlo error.
    pub fn correlation(&self) -> Array2<f64> {
        let mut correlation = self.covariance();
        let flat = self.flat();
        // Equal draws may leave rounding noise in the covariance.
        let sd = |(i, column): (usize, ndarray::ArrayView1<f64>)| {
            let constant = column.iter().all(|x| Some(x) == column.first());
            if constant { f64::NAN } else { correlation[(i, i)].sqrt() }
        };
        let sd: Vec<f64> = flat.columns().into_iter().enumerate().map(sd).collect();
        for ((i, j), c) in correlation.indexed_iter_mut() {
            *c = if i == j && sd[i] > 0.0 { 1.0 } else { (*c / sd[i] / sd[j]).clamp(-1.0, 1.0) };
        }
        correlation
    }
}
