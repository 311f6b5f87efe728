//! A recipe in words: all that it stands for.

use std::fmt;

use super::choices::{Candidate, Method, WeightPrior};
use super::recipe::{ASCENT, GROUPS, MEMBER_PATH, ROWS_OF_STEP, Recipe, SCALES, START};
use super::search::DEEP_ROWS;
use crate::data::{Columns, Transform};
use crate::message::{count, listed};
use crate::sampler::{Hmc, Mams, Nuts, Preconditioner};

/// A line of a recipe [in words](Recipe::in_words): a part, and what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct RecipeLine {
    /// The name of the part, such as `network`, of one word.
    pub name: &'static str,
    /// What it is.
    pub text: String,
}

fn line(name: &'static str, text: impl Into<String>) -> RecipeLine {
    RecipeLine { name, text: text.into() }
}

impl fmt::Display for RecipeLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:11} {}", self.name, self.text)
    }
}

/// The recipe in words, a line for each part: network, scaling, priors, likelihood, sampler with
/// its settings, starts. Priors are on the scale of standardised features and response.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// let text = Fit::regression("strength").hidden(&[16]).seed(1).to_string();
/// assert!(text.contains("noise       normal, one standard deviation tau, tau^2 ~ inverse gamma"));
/// assert!(text.contains("4 chains of 1000 iterations of warm-up and 1000 draws, seed 1"));
/// ```
impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.in_words().iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl Recipe {
    /// The lines that are printed.
    pub fn in_words(&self) -> Vec<RecipeLine> {
        let (response, columns) = match self.reader.response() {
            Columns::Last => ("the last column".to_string(), 1),
            Columns::Named(names) => (format!("`{}`", names.join("`, `")), names.len()),
            Columns::At(places) => (format!("column {places:?}, counted from 0"), places.len()),
        };
        if let Some(model) = self.settings.model {
            return model.of(self, columns).in_words();
        }
        let mut lines = vec![line("response", format!("{response}, {}", self.task.word()))];
        if self.is_open() {
            lines.push(self.validation_in_words());
            let candidates = self.first_candidates(columns).into_iter().map(|c| c.to_string());
            let mut text = format!(
                "chosen by the data among {}: the best at rows which it has not seen, or the simplest without a network \
                 within a standard error of it",
                listed(candidates.collect())
            );
            if let Some(deep) = self.deeper(Candidate::Network, columns, usize::MAX) {
                text += &format!("; of {DEEP_ROWS} rows or more also {deep}, if a network is best");
            }
            lines.push(line("model", text));
            lines.push(line("seed", self.settings.seed.to_string()));
        } else {
            lines.extend(self.model_in_words(columns));
        }
        lines.push(line("file", self.reader.to_string()));
        lines.extend(
            self.here.folder.iter().map(|folder| line("folder", folder.display().to_string())),
        );
        lines
    }
}

/// The settings of a step size, and of the linear map.
fn steps_in_words(
    is_adapted: bool,
    step_size: f64,
    target_accept: f64,
    map: Preconditioner,
) -> String {
    let steps = match is_adapted {
        true => format!("step size from {step_size} adapted to an acceptance of {target_accept}"),
        false => format!("step size {step_size}"),
    };
    let map = match map {
        Preconditioner::Identity => "one scale for all parameters",
        Preconditioner::Diagonal => "a scale for each parameter by its draws in warm-up",
        Preconditioner::DiagonalFromGradients => {
            "a scale for each parameter by its draws and gradients in warm-up"
        }
        Preconditioner::Dense => "a dense linear map by the draws of warm-up",
        Preconditioner::DenseFromGradients => {
            "a dense linear map by the draws and gradients of warm-up"
        }
    };
    format!("{steps}, {map}")
}

fn nuts_in_words(nuts: &Nuts) -> String {
    let Nuts { step_size, max_depth, adapt_step_size, target_accept, preconditioner } = *nuts;
    let steps = steps_in_words(adapt_step_size, step_size, target_accept, preconditioner);
    format!("Nuts: {steps}, at most 2^{max_depth} steps a trajectory")
}

/// MAMS that tunes the length of its trajectories.
fn tuned(mams: &Mams) -> String {
    mams_in_words(mams, "a length found in warm-up")
}

fn mams_in_words(mams: &Mams, length: &str) -> String {
    let steps = steps_in_words(
        mams.adapt_step_size,
        mams.step_size,
        mams.target_accept,
        mams.preconditioner,
    );
    let (most, first) = (mams.max_steps, mams.max_first_steps);
    format!(
        "Mams: {steps}, trajectories of {length} and at most {most} steps ({first} until the map is learnt)"
    )
}

fn hmc_in_words(hmc: &Hmc) -> String {
    let steps =
        steps_in_words(hmc.adapt_step_size, hmc.step_size, hmc.target_accept, hmc.preconditioner);
    let (length, jitter) = (hmc.path_length, hmc.jitter);
    let length = match hmc.adapt_path_length {
        true => format!("trajectories of a length found in warm-up from {length}"),
        false => format!("trajectories of length {length}"),
    };
    let (most, first) = (hmc.max_steps, hmc.max_first_steps);
    format!(
        "Hmc: {steps}, {length}, varied by {jitter} of it, and at most {most} steps ({first} until the map \
         is learnt)"
    )
}

impl Recipe {
    /// The lines of a model that is given, and of its run, for so many columns of a response.
    pub(super) fn model_in_words(&self, columns: usize) -> Vec<RecipeLine> {
        let mut lines = vec![line("scaling", self.scaling_in_words())];
        lines.extend(self.decided.drawn.map(|drawn| line("rows", drawn.to_string())));
        lines.push(self.validation_in_words());
        lines.push(line("network", self.network_in_words()));
        for column in self.reader.groupings() {
            let scale = self.group_scale();
            let text = format!(
                "an intercept for each `{column}`, N(0, omega^2), omega ~ half-t with {GROUPS} degrees of freedom, \
                 scale {scale}"
            );
            lines.push(line("groups", text));
        }
        lines.push(line("weights", self.weights_in_words()));
        lines.push(line("noise", self.kind().in_words()));
        if self.settings.transform != Transform::None && self.kind().has_tails() {
            let of = self.settings.transform.in_words();
            let text = format!("medians: after {of} this noise need not have a mean");
            lines.push(line("predicts", text));
        }
        lines.push(line("starts", self.starts_in_words()));
        lines.push(line("sampler", self.sampler_in_words(columns)));
        if let Some(table) = self.decided.imputed {
            let text = format!("{} of {}, with missing values drawn", table.number, table.of);
            lines.push(line("table", text));
        }
        lines.push(line("run", self.run_in_words()));
        lines
    }

    /// What is standardised, by which rows.
    fn scaling_in_words(&self) -> String {
        let by = |power: Transform| match power {
            Transform::None | Transform::Log => String::new(),
            power => format!(" by {}, lambda by maximum likelihood,", power.in_words()),
        };
        let of_features = self.transform_of_features();
        let features = format!("features{}", by(of_features));
        let scaled = match self.settings.transform {
            _ if !self.kind().is_scaled() => features,
            power if power == of_features => format!("features and response{}", by(power)),
            Transform::None => format!("{features} and response"),
            power => {
                let features = features.trim_end_matches(',');
                let log = if power == Transform::Log { "log of the " } else { "" };
                let end = if log.is_empty() { by(power) } else { ",".into() };
                format!("{features}, and the {log}response{end}")
            }
        };
        let of_rows = match self.decided.learnt_from {
            None => "the training rows".to_string(),
            Some(rows) => format!("those of the first {}", count(rows, "row")),
        };
        format!("{scaled} to mean 0 and standard deviation 1 over {of_rows}")
    }

    /// The layers of the network.
    fn network_in_words(&self) -> String {
        let units: Vec<String> = self.layers().iter().map(ToString::to_string).collect();
        let (layers, word) = match &units[..] {
            [] if self.decided.curves => {
                return "additive: a line and a curve of each feature".to_string();
            }
            [] => return "linear: no hidden layer".to_string(),
            [one] => ("one hidden layer", if one == "1" { "unit" } else { "units" }),
            _ => ("hidden layers", "units"),
        };
        let skip = if self.has_skip() { ", and a linear part" } else { "" };
        let of = if self.decided.curves { ", of features and their curves" } else { "" };
        format!("{layers} of {} {word}, {}{skip}{of}", units.join(", "), self.settings.activation)
    }

    /// Where the chains start.
    fn starts_in_words(&self) -> String {
        let bias = self.kind().bias_in_words();
        let bias = bias.map(|(mean, _)| format!(", around {mean} for the output's bias"));
        let ascent = match self.ascends() {
            true => format!(", then {ASCENT} steps of Adam on {ROWS_OF_STEP} rows each"),
            false => String::new(),
        };
        format!("N(0, {START}^2){}{ascent}", bias.unwrap_or_default())
    }

    /// The method with its settings, for so many columns of a response.
    fn sampler_in_words(&self, columns: usize) -> String {
        let integrated_out = || format!("{}, ", self.integrated_out());
        let if_collapsed = match self.can_collapse(columns) {
            true => integrated_out(),
            false => String::new(),
        };
        match self.chosen_method(columns) {
            Method::Nuts => nuts_in_words(&self.nuts()),
            Method::Mams => tuned(&self.mams()),
            Method::Collapsed => integrated_out() + &tuned(&self.mams()),
            Method::Ensemble => {
                let (steps, sampler) = self.ascent();
                let member = match self.can_collapse(columns) {
                    true => tuned(&self.of_member()),
                    false => {
                        let length = format!("length {MEMBER_PATH} sqrt(number of parameters)");
                        mams_in_words(&self.of_member(), &length)
                    }
                };
                format!(
                    "an ensemble, not the posterior: each member optimised by {} of Adam, then, with {} of \
                     warm-up, {if_collapsed}{member}",
                    count(steps, "step"),
                    count(sampler, "iteration"),
                )
            }
            Method::Tempered => {
                format!("{if_collapsed}PowerPosteriors of {}", hmc_in_words(&self.tempered()))
            }
        }
    }

    /// The sizes of the run, and its seed.
    fn run_in_words(&self) -> String {
        let sizes = self.sizes();
        format!(
            "{} of {} of warm-up and {}, seed {}{}",
            count(sizes.chains, "chain"),
            count(sizes.warmup, "iteration"),
            count(sizes.draws, "draw"),
            self.settings.seed,
            self.here
                .only_chains
                .as_ref()
                .map_or(String::new(), |c| format!("; only chains {c:?}"))
        )
    }

    fn validation_in_words(&self) -> RecipeLine {
        let text = match self.settings.validation {
            0.0 => "no rows".to_string(),
            share => format!("a share of {share} of the rows, at random by the seed"),
        };
        line("validation", text)
    }

    fn integrated_out(&self) -> &'static str {
        if self.kind().is_by_row() {
            "output weights of the mean integrated out"
        } else {
            "output layer integrated out"
        }
    }

    fn weights_in_words(&self) -> String {
        let bias = match self.kind().bias_in_words() {
            Some((mean, variance)) => {
                let mean = mean.trim_start_matches("the ");
                format!("; N({mean}, {variance}) for the output's bias")
            }
            None => String::new(),
        };
        let rest = match self.layers().last() {
            Some(units) if self.layers().len() == 1 => {
                format!("N(0, 1/{units}) into the outputs, N(0, 1) for the rest")
            }
            Some(_) => {
                "N(0, 1 / number of inputs) into every layer after the first, N(0, 1) for the rest"
                    .to_string()
            }
            None => "N(0, 1) for biases".to_string(),
        };
        let prior = match self.prior() {
            WeightPrior::FanIn if self.layers().is_empty() => {
                format!("N(0, 1 / number of features), {rest}")
            }
            WeightPrior::FanIn => rest,
            WeightPrior::Normal { sd } => format!("N(0, {sd}^2)"),
            WeightPrior::Ard => format!("N(0, v_j) from input j, sqrt(v_j) ~ C+(0, 1); {rest}"),
            WeightPrior::Scales => {
                let scale = self.kind().output_scale();
                let half_t = format!("half-t with {SCALES} degrees of freedom");
                let skip = if self.has_skip() { ", and of the linear part" } else { "" };
                let of = if self.decided.curves { " and of its curve" } else { "" };
                if self.decided.curves && self.layers().is_empty() {
                    return format!(
                        "N(0, 1), times a scale of the line and one of the curve of each feature, {half_t} ({scale}); {rest}{bias}"
                    );
                }
                if self.layers().is_empty() {
                    return format!(
                        "N(0, 1 / number of features), times a scale of each column of the table, {half_t} (1); {rest}{bias}"
                    );
                }
                format!(
                    "{rest}, times scales, {half_t}: of each column of the table{of} (1), of the outputs{skip} ({scale})"
                )
            }
            WeightPrior::Horseshoe => format!(
                "N(0, tau^2 lambda_j^2) from input j, lambda_j ~ C+(0, 1), tau ~ C+(0, 1); {rest}"
            ),
        };
        prior + &bias
    }
}
