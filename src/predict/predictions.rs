//! Predictions for rows, with each draw.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use ndarray::{
    Array, Array1, Array2, Array3, Array4, ArrayView, ArrayView1, ArrayView3, ArrayView4, Axis,
    RemoveAxis, ShapeError, concatenate, s,
};
use serde::{Deserialize, Serialize};

use super::survival::Times;
use crate::Error;
use crate::data::Response;
use crate::diagnostics::{InUse, Judge, Summary, Trajectories, Verdict};
use crate::draws::Approximation;
use crate::message::{Advice, count};
use crate::posterior::unweighted_only;

/// Predictions for the rows of a data set, from
/// [`Posterior::predict`](crate::posterior::Posterior::predict), or for new rows whose response is not
/// known, from [`Posterior::predict_new`](crate::posterior::Posterior::predict_new).
///
/// They are on the scale of the response that the posterior was given; [`unscaled`](Self::unscaled)
/// converts them to the units of the response before it was scaled.
#[derive(Clone, Debug)]
pub struct Predictions {
    /// E[y | x, q], or what `centre` says, `[chain, draw, row, column]`.
    pub(super) mean: Array4<f64>,
    pub(super) centre: Centre,
    /// Var[y | x, q] of normal noise, `[chain, draw, row, column]`, or of one row if it is the same in
    /// all; `None` of other noise.
    pub(super) noise: Option<Array4<f64>>,
    /// log p(y | x, q), `[chain, draw, row]`; `None` if no response was observed.
    pub(super) log_density: Option<Array3<f64>>,
    /// y ~ p(y | x, q), `[chain, draw, row, column of the response]`.
    pub(super) drawn: Array4<f64>,
    /// The distributions of times by each draw, of numbers with bounds.
    pub(super) times: Option<Times>,
    /// The observed response, or a placeholder of the same kind.
    pub(super) response: Response,
    pub(super) response_names: Vec<String>,
    /// The weights of the rows in scores, if they have any.
    pub(super) weights: Option<Array1<f64>>,
    pub(super) trace: Trace,
}

/// What the point predictions of [`Predictions`] are, by each draw: means, or medians where there is no mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Centre {
    /// E\[y | x, q\].
    #[default]
    Mean,
    /// The median of y given x and q: after a transform of the response with noise that is not normal, such as Student's t, whose mean
    /// does not exist after a logarithm and, after a root, only with enough degrees of freedom.
    Median,
}

impl Centre {
    /// `mean` or `median`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
        }
    }

    /// Whether it is the mean.
    pub fn is_mean(&self) -> bool {
        *self == Self::Mean
    }
}

/// Quantities of the draws themselves, not of the predicted rows.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    /// `[chain, draw]`.
    pub(super) log_likelihood: Array2<f64>,
    /// `[chain, draw]`.
    pub(super) log_prior: Array2<f64>,
    /// The number of divergent transitions of each chain.
    pub(super) divergences: Vec<u64>,
    /// The number of transitions of each chain.
    pub(super) transitions: u64,
    pub(super) trajectories: Trajectories,
    pub(super) in_use: InUse,
    /// For samplers without a test: `kinetic_temperature` of each chain, or empty.
    pub(super) unadjusted: Option<Vec<f64>>,
    /// The approximation that was sampled in place of the posterior.
    pub(super) approximation: Option<Approximation>,
    /// The panic that ended the run.
    pub(super) panic: Option<String>,
}

impl Predictions {
    /// What [`mean`](Self::mean) and [`posterior_mean`](Self::posterior_mean) are: means, or after a transform of a response whose
    /// noise is not normal medians, see [`unscaled`](Self::unscaled).
    pub fn centre(&self) -> Centre {
        self.centre
    }

    /// The mean response of each row by each draw: E\[y | x, q\], `[chain, draw, row, column]`; medians where
    /// [`centre`](Self::centre) says so.
    pub fn mean(&self) -> ArrayView4<'_, f64> {
        self.mean.view()
    }

    /// The log density of the observed response of each row by each draw: log p(y | x, q),
    /// `[chain, draw, row]`; `None` if no response was observed.
    pub fn log_density(&self) -> Option<ArrayView3<'_, f64>> {
        self.log_density.as_ref().map(|density| density.view())
    }

    /// Posterior predictive draws, one response y ~ p(y | x, q) for each draw of q and each row:
    /// `[chain, draw, row, column]`, on the scale of the observed response and with its columns.
    /// For classes there is one column, the position of the class among the names.
    pub fn predictive_draws(&self) -> ArrayView4<'_, f64> {
        self.drawn.view()
    }

    /// The posterior mean prediction E\[y | x\], the mean of [`mean`](Self::mean) over all draws of
    /// all chains: `[row, column]`. Where [`centre`](Self::centre) says so, it is the posterior mean of the median.
    ///
    /// # Errors
    /// If there are no draws.
    pub fn posterior_mean(&self) -> Result<Array2<f64>, Error> {
        let average = self.draws_of_mean()?.mean_axis(Axis(0));
        Ok(average.expect("there is at least one draw"))
    }

    /// The predictions of one chain alone, to compare chains that disagree.
    ///
    /// # Errors
    /// If there is no such chain.
    pub fn chain(&self, chain: usize) -> Result<Self, Error> {
        let chains = self.mean.len_of(Axis(0));
        if chain >= chains {
            return Err(Error::argument("chain", chain, format!("less than {chains}")));
        }
        let trace = &self.trace;
        let of_chain = |all: &[f64]| all.get(chain).copied().into_iter().collect();
        let of_chain4 = |all: &Array4<f64>| all.slice(s![chain..=chain, .., .., ..]).to_owned();
        Ok(Self {
            mean: of_chain4(&self.mean),
            centre: self.centre,
            noise: self.noise.as_ref().map(of_chain4),
            log_density: self.log_density().map(|l| l.slice(s![chain..=chain, .., ..]).to_owned()),
            drawn: of_chain4(&self.drawn),
            times: self
                .times
                .as_ref()
                .map(|times| Times { parameters: of_chain4(&times.parameters), ..*times }),
            response: self.response.clone(),
            response_names: self.response_names.clone(),
            weights: self.weights.clone(),
            trace: Trace {
                log_likelihood: trace.log_likelihood.slice(s![chain..=chain, ..]).to_owned(),
                log_prior: trace.log_prior.slice(s![chain..=chain, ..]).to_owned(),
                divergences: vec![trace.divergences[chain]],
                transitions: trace.transitions,
                trajectories: trace.trajectories.of_chain(chain),
                in_use: trace.in_use.clone(),
                unadjusted: trace.unadjusted.as_deref().map(of_chain),
                approximation: trace.approximation.clone(),
                panic: trace.panic.clone(),
            },
        })
    }

    /// The predictions of the same rows by the chains of several runs, one after the other.
    ///
    /// # Errors
    /// Other numbers of draws, rows or columns, or other noise.
    pub(crate) fn pooled(all: Vec<Self>) -> Result<Self, Error> {
        let Some(first) = all.first() else {
            return Err(Error::argument("predictions", "none", "of at least one run"));
        };
        let of_draws = |of: fn(&Trace) -> &Array2<f64>| {
            let views: Vec<_> = all.iter().map(|one| of(&one.trace).view()).collect();
            let problem = |e| Error::argument("predictions", e, "of one shape");
            concatenate(Axis(0), &views).map_err(problem)
        };
        let unadjusted: Option<Vec<_>> =
            all.iter().map(|one| one.trace.unadjusted.clone()).collect();
        let trace = Trace {
            log_likelihood: of_draws(|trace| &trace.log_likelihood)?,
            log_prior: of_draws(|trace| &trace.log_prior)?,
            divergences: all.iter().flat_map(|one| one.trace.divergences.clone()).collect(),
            transitions: first.trace.transitions,
            trajectories: Trajectories::pooled(all.iter().map(|one| &one.trace.trajectories)),
            in_use: first.trace.in_use.clone(),
            unadjusted: unadjusted.map(|each| each.concat()),
            approximation: first.trace.approximation.clone(),
            panic: all.iter().find_map(|one| one.trace.panic.clone()),
        };
        Self::joined(&all, Axis(0), trace)
    }

    /// The predictions of the same rows by parts of the draws, one part after the other in each chain.
    pub(crate) fn of_parts(
        mut parts: Vec<Self>,
        trace: impl FnOnce() -> Result<Trace, Error>,
    ) -> Result<Self, Error> {
        match parts.len() {
            1 => Ok(parts.swap_remove(0)),
            _ => Self::joined(&parts, Axis(1), trace()?),
        }
    }

    /// Predictions of the same rows along the axis of chains, 0, or of draws, 1.
    fn joined(all: &[Self], axis: Axis, trace: Trace) -> Result<Self, Error> {
        fn joined<D: RemoveAxis>(
            axis: Axis,
            arrays: &[ArrayView<f64, D>],
        ) -> Result<Array<f64, D>, Error> {
            let problem = |e: ShapeError| Error::argument("predictions", e, "of one shape");
            let whole = concatenate(axis, arrays).map_err(problem)?;
            Ok(if whole.is_standard_layout() {
                whole
            } else {
                whole.as_standard_layout().into_owned()
            })
        }
        // `None` of all, or of none.
        fn each<'p, T>(
            all: &'p [Predictions],
            of: impl Fn(&'p Predictions) -> Option<T>,
        ) -> Result<Option<Vec<T>>, Error> {
            let some: Vec<T> = all.iter().filter_map(of).collect();
            match some.len() {
                0 => Ok(None),
                n if n == all.len() => Ok(Some(some)),
                n => Err(Error::shape("predictions of one kind", n, all.len())),
            }
        }
        let Some(first) = all.first() else {
            return Err(Error::argument("predictions", "none", "of at least one run"));
        };
        let noise = each(all, |one| one.noise.as_ref().map(|noise| noise.view()))?;
        let times = each(all, |one| one.times.as_ref().map(|times| times.parameters.view()))?;
        let density = each(all, Self::log_density)?;
        let family = first.times.as_ref().map(|times| times.family);
        let parameters = times.map(|all| joined(axis, &all)).transpose()?;
        let mean: Vec<_> = all.iter().map(|one| one.mean.view()).collect();
        let drawn: Vec<_> = all.iter().map(|one| one.drawn.view()).collect();
        Ok(Self {
            mean: joined(axis, &mean)?,
            centre: first.centre,
            noise: noise.map(|all| joined(axis, &all)).transpose()?,
            log_density: density.map(|all| joined(axis, &all)).transpose()?,
            drawn: joined(axis, &drawn)?,
            times: family.zip(parameters).map(|(family, parameters)| Times { family, parameters }),
            response: first.response.clone(),
            response_names: first.response_names.clone(),
            weights: first.weights.clone(),
            trace,
        })
    }

    /// The observed response; `None` for [new rows](crate::posterior::Posterior::predict_new).
    pub fn observed(&self) -> Option<&Response> {
        self.log_density.is_some().then_some(&self.response) //~ blank-response
    }

    /// The [weights](crate::data::Dataset::with_weights) of the rows, if they have any: scores are weighted means.
    pub fn weights(&self) -> Option<ArrayView1<'_, f64>> {
        self.weights.as_ref().map(|w| w.view())
    }

    /// An error if rows have weights, for `what` has no place for them.
    pub(super) fn check_unweighted(&self, what: &str) -> Result<(), Error> {
        match self.weights {
            Some(_) => Err(unweighted_only(what)),
            None => Ok(()),
        }
    }

    /// Records the acceptance that the run's warm-up aimed at, and whether rows were kept from the model.
    pub(crate) fn with_settings(mut self, target_accept: f64, validation: bool) -> Self {
        self.trace.in_use.target_accept = Some(target_accept);
        self.trace.in_use.validation = validation;
        self
    }

    /// Whether the response is classes.
    pub(super) fn is_of_classes(&self) -> bool {
        self.response.class_names().is_some()
    }

    /// The names of the response's columns, or the single name of a class column.
    pub fn response_names(&self) -> &[String] {
        &self.response_names
    }

    /// [`mean`](Self::mean) as quantities to diagnose, `[chain, draw, row * column]`.
    pub fn quantities(&self) -> ArrayView3<'_, f64> {
        as_quantities(self.mean())
    }

    /// The [verdict](Verdict) on the run that these predictions were made from: on the predictions,
    /// on the log likelihood and the log prior of the draws, and on divergences and trajectories. This
    /// is the verdict that counts for networks. If the run has not converged it says why, as far as it can
    /// be told, and how much [that matters](Self::chains_apart) for predictions of a real response or counts.
    pub fn verdict(&self) -> Result<Verdict, Error> {
        let chains = self.trace.divergences.len() as u64;
        Judge::new()
            .quantities("predictions", self.quantities())
            .log_likelihood(self.trace.log_likelihood.view())
            .quantity("log prior", self.trace.log_prior.view())
            .divergences(
                self.trace.divergences.iter().sum(),
                self.trace.transitions.saturating_mul(chains),
            )
            .trajectories(self.trace.trajectories.clone())
            .in_use(self.trace.in_use.clone())
            .chains_apart(self.chains_apart().unwrap_or(f64::NAN))
            .monte_carlo_error(self.monte_carlo_error().ok())
            .unadjusted(self.trace.unadjusted.clone())
            .approximation(self.trace.approximation.clone())
            .panic(self.trace.panic.clone())
            .judge()
    }

    /// Mean, quantiles and diagnostics of every prediction: one row for each row and column, named
    /// `row 3, virginica` (rows count from 0).
    pub fn summary(&self) -> Result<Summary, Error> {
        self.summary_named(|row, column| format!("row {row}, {column}"))
    }

    /// The [summary](Self::summary), in which `name` calls each row, which is counted from 0, and column.
    ///
    /// # Errors
    /// The errors of [`summary`](Self::summary).
    pub fn summary_named(&self, name: impl Fn(usize, &str) -> String) -> Result<Summary, Error> {
        let (rows, columns) = (self.mean.dim().2, self.column_names());
        let of_row = |row| columns.iter().map(move |column| (row, column));
        let cells = (0..rows).flat_map(of_row).map(|(row, column)| name(row, column));
        Summary::new(&cells.collect::<Vec<_>>(), self.quantities())
    }

    /// Mean, quantiles and diagnostics of the [posterior predictive draws](Self::predictive_draws), as
    /// [`summary`](Self::summary) has them of the means.
    ///
    /// Noise hides disagreement: where chains differ by less than the noise, R-hat is near 1 here,
    /// and the chains disagree about the mean function all the same. Read it beside the R-hat of
    /// [`summary`](Self::summary), by which the [`verdict`](Self::verdict) judges.
    ///
    /// # Errors
    /// If the response is classes, whose draws are names rather than quantities.
    pub fn predictive_summary(&self) -> Result<Summary, Error> {
        self.check_numbers()?;
        let rows = self.drawn.dim().2;
        Summary::new(
            &cell_names(rows, &self.response_names),
            as_quantities(self.predictive_draws()),
        )
    }

    pub(crate) fn column_names(&self) -> Vec<String> {
        let columns = self.mean.dim().3;
        match &self.response {
            Response::Classes { names, .. } if columns == 1 => vec![names[1].clone()],
            Response::Classes { names, .. } => names.clone(),
            // For two counts there is one expected proportion, the first one's.
            _ => self.response_names[..columns.min(self.response_names.len())].to_vec(),
        }
    }

    /// The observed response, on the scale of the means.
    pub(super) fn observed_columns(&self) -> Result<Array2<f64>, Error> {
        let (response, _) = self.known()?;
        let (_, _, rows, columns) = self.mean.dim();
        let indicator = |hit: bool| f64::from(u8::from(hit));
        Ok(Array2::from_shape_fn((rows, columns), |(i, j)| match response {
            Response::Real(y) => y[(i, j)],
            Response::Classes { index, .. } if columns == 1 => index[i] as f64,
            Response::Classes { index, .. } => indicator(index[i] == j),
            Response::Counts(counts) if counts.ncols() == 1 => counts[(i, j)],
            Response::Counts(counts) => counts[(i, j)] / counts.row(i).sum(),
            Response::Censored { lower, upper } if lower[i] == upper[i] => lower[i],
            Response::Censored { .. } => f64::NAN,
        }))
    }

    /// The means of all draws, `[draw, row, column]`; an error if there are no draws.
    pub(super) fn draws_of_mean(&self) -> Result<ArrayView3<'_, f64>, Error> {
        let (chains, draws, rows, columns) = self.mean.dim();
        let n = chains * draws;
        if n == 0 || rows == 0 {
            let found = format!("{} of {}", count(n, "draw"), count(rows, "row"));
            return Err(Error::shape("predictions to score", found, "at least 1 of 1"));
        }
        let flat = self.mean.view().into_shape_with_order((n, rows, columns));
        Ok(flat.expect("predictions are stored in standard order"))
    }

    /// The observed response and its log densities; an error if there are none.
    pub(super) fn known(&self) -> Result<(&Response, ArrayView3<'_, f64>), Error> {
        self.log_density().map(|densities| (&self.response, densities)).ok_or_else(|| {
            let allowed = "observed, to compare predictions with";
            let advice =
                Advice::in_rust("predict rows with their response by `Posterior::predict`");
            Error::argument("response of the predicted rows", "not known", allowed).advise([advice])
        })
    }

    /// An error if the response is classes.
    pub(super) fn check_numbers(&self) -> Result<(), Error> {
        match &self.response {
            Response::Real(_) | Response::Counts(_) | Response::Censored { .. } => Ok(()),
            Response::Classes { .. } => Err(self.wrong_kind("real numbers or counts")),
        }
    }

    /// The observed response if it is real or counts.
    pub(super) fn numbers(&self) -> Result<&Array2<f64>, Error> {
        self.check_numbers()?;
        match self.known()?.0 {
            Response::Real(y) | Response::Counts(y) => Ok(y),
            Response::Classes { .. } | Response::Censored { .. } => {
                Err(self.wrong_kind("real numbers or counts"))
            }
        }
    }

    /// The observed classes if the response is classes.
    pub(super) fn classes(&self) -> Result<&[usize], Error> {
        self.response.classes().ok_or_else(|| self.wrong_kind("classes"))?;
        self.known()?.0.classes().ok_or_else(|| self.wrong_kind("classes"))
    }

    pub(super) fn wrong_kind(&self, wanted: &str) -> Error {
        let kind = match &self.response {
            Response::Real(_) => "real numbers",
            Response::Classes { .. } => "classes",
            Response::Counts(_) => "counts",
            Response::Censored { .. } => "numbers with bounds",
        };
        Error::argument("response of the predictions", kind, wanted)
    }
}

/// `[chain, draw, row, column]` as `[chain, draw, row * column]`.
pub(super) fn as_quantities(values: ArrayView4<f64>) -> ArrayView3<f64> {
    let (chains, draws, rows, columns) = values.dim();
    values
        .into_shape_with_order((chains, draws, rows * columns))
        .expect("predictions are stored in standard order")
}

/// `row 3, virginica` for each row and column.
pub(super) fn cell_names(rows: usize, columns: &[String]) -> Vec<String> {
    let name = |row: usize| columns.iter().map(move |column| format!("row {row}, {column}"));
    (0..rows).flat_map(name).collect()
}

/// Writes to a new file; errors name it.
pub(super) fn to_file(
    path: &Path,
    write: impl FnOnce(BufWriter<File>) -> std::io::Result<()>,
) -> Result<(), Error> {
    let file = File::create(path).map_err(|e| Error::io(path, e))?;
    write(BufWriter::new(file)).map_err(|e| Error::io(path, e))
}
