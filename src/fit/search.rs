//! The choice of a model by the data: candidates, compared by cross-validation.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ndarray::ArrayView1;
use rand::RngCore;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::choices::{Candidate, Method, Noise, WeightPrior};
use super::forecast::Pace;
use super::told::Listener;
use super::{Fit, Origin, Parts, Recipe};
use crate::Error;
use crate::data::{Dataset, FEW_GRADES, ROWS_OF_GRADE, Response, Split, Task, Transform};
use crate::error::caught;
use crate::message::{Choice, Plain, count, duration, listed};
use crate::portable::{ln, ln_gamma};
use crate::rng::ChainRng;
use crate::sampler::StopHandle;
use crate::threads;

/// The folds of the rows: each is predicted by a chain on the rows of the others.
pub(super) const FOLDS: usize = 5;
/// The most rows that candidates are compared on.
const MOST_ROWS: usize = 2000;
/// The iterations of warm-up of a chain on the rows outside a fold, and its draws.
pub(super) const WARMUP: usize = 150;
pub(super) const DRAWS: usize = 100;
/// The stream of random numbers of a search, which no chain has.
pub(super) const STREAM: u64 = u64::MAX - 1;
/// The units of the hidden layer of a network that is a candidate.
const UNITS: usize = 20;
/// The hidden layers of [`Candidate::NetworkDeep`], and the fewest rows that it is tried on.
const DEEP: [usize; 2] = [40, 40];
pub(super) const DEEP_ROWS: usize = 250;
/// A deep network's time per chain over the chosen one-layer network's: 0.8 to 4.0 on five tables.
const DEEP_TIMES: f64 = 4.0;
/// The event that a candidate which takes too long does not come to.
const PREDICTED: &str = "it had predicted all rows";
/// The levels of the predictive intervals whose coverage is told.
const LEVELS: [f64; 3] = [0.5, 0.9, 0.95];

/// The search of a model: how well each [`Candidate`] predicts rows that it has not seen.
///
/// The training rows, at most 2,000 of them at random, are dealt to K = 5 folds; classes keep their shares. A candidate
/// predicts the rows of a fold by one short chain on all other folds, 150 iterations of warm-up and
/// 100 draws, with means, standard deviations and the transform learnt anew. (Medians and labels are the table's.) With q the draws on
/// the rows outside the fold k(i) of row i,
///
/// ```text
/// lpd_i(candidate) = log mean_q p(y_i | x_i, q),      d_i = lpd_i(candidate) - lpd_i(chosen)
/// ```
///
/// in the response's own units, so that candidates with and without a transform compare. The chosen one is the simplest
/// whose mean is at most one standard error below the best one's, with the error of the mean difference over paired
/// rows. Where a network is chosen for one real response of 250 rows or more, [`NetworkDeep`](Candidate::NetworkDeep) is
/// compared as well, if its chains would end in time. The folds have four fifths of the rows, and chains are short and single, which is to the disadvantage of the
/// larger models.
///
/// A real response of at most 12 different values of 20 rows or more on average, such as grades, is given no noise by row: a density that narrows
/// onto such values grows without bound, while its mean gets worse. Classes in order ([`Noise::Ordinal`]) suit it better than any
/// density.
///
/// Sources: cross-validation of log densities, Vehtari and Lampinen 2002,
/// <https://doi.org/10.1162/08997660260293292>; the rule of one standard error, Breiman, Friedman, Olshen and Stone 1984,
/// Classification and Regression Trees, section 3.4.3, <https://doi.org/10.1201/9781315139470>.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// The candidate that was chosen.
    #[serde(with = "crate::choice::by_name")]
    pub chosen: Candidate,
    /// The number of rows that were predicted.
    pub rows: usize,
    /// The candidates, from the simplest one on.
    pub tried: Vec<Tried>,
    /// Of each level, 0.5, 0.9 and 0.95, the share of rows that lie within the chosen candidate's predictive interval;
    /// empty for classes and times. By the rank of the response among the predictive draws, ties at random.
    pub coverage: Vec<(f64, f64)>,
    /// The mean log density of a row without any feature, by the response of the other folds alone: a normal distribution of their mean and
    /// variance, the shares of classes with one row more in each, a negative binomial distribution of the moments of counts. `None` of
    /// times, and of counts with an exposure or in categories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intercept_only: Option<f64>,
}

/// One candidate of a [`Search`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The candidate.
    #[serde(with = "crate::choice::by_name")]
    pub candidate: Candidate,
    /// The scores, or the reason why there are none.
    #[serde(flatten)]
    pub outcome: Trial,
}

/// The scores of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trial {
    /// It has predicted all rows.
    Scored {
        /// The mean log predictive density of a row, in nats.
        log_density: f64,
        /// That mean less the one of the chosen candidate.
        difference: f64,
        /// The standard error of the difference; 0 for the chosen candidate.
        se_difference: f64,
    },
    /// It could not be fitted.
    Failed(String),
}

impl Search {
    /// The scores of a candidate.
    pub fn of(&self, candidate: Candidate) -> Option<&Trial> {
        let tried = self.tried.iter().find(|tried| tried.candidate == candidate);
        tried.map(|tried| &tried.outcome)
    }

    /// What was found, in sentences: how well the chosen candidate predicts beside the linear one, and the coverage of
    /// its intervals.
    pub fn in_words(&self) -> Vec<String> {
        let rows = count(self.rows, "row");
        let mut said = Vec::new();
        match (self.of(self.chosen), self.of(Candidate::Linear)) {
            (Some(Trial::Scored { log_density, .. }), _) if self.chosen == Candidate::Linear => {
                let failed = self.tried.iter().filter(|t| matches!(t.outcome, Trial::Failed(_)));
                let unknown = match failed.count() {
                    0 => String::new(),
                    n => format!(" ({} could not be compared)", count(n, "candidate")),
                };
                said.push(format!(
                    "the linear model: no other predicts {rows} better by more than a standard error{unknown}; its log \
                     density of a row that it has not seen is {log_density:.3}"
                ));
            }
            (
                Some(Trial::Scored { log_density, .. }),
                Some(Trial::Scored { log_density: linear, difference, se_difference }),
            ) => said.push(format!(
                "log density of a row that it has not seen {log_density:.3}, of the linear model {linear:.3}: {:.3} +- \
                 {se_difference:.3} more, by cross-validation of {rows}",
                -difference
            )),
            (Some(Trial::Scored { log_density, .. }), _) => {
                said.push(format!("log density of a row that it has not seen {log_density:.3}"));
            }
            _ => said.push("no candidate could be compared with another".into()),
        }
        if let (Some(density), Some(line)) = (self.intercept_only, said.last_mut()) {
            *line += &format!("; without any feature {density:.3}");
        }
        if !self.coverage.is_empty() {
            let percent = |values: Vec<f64>, digits: usize| {
                listed(values.iter().map(|v| format!("{:.digits$}", 100.0 * v)).collect())
            };
            let (levels, shares) = self.coverage.iter().copied().unzip();
            said.push(format!(
                "intervals of {} % cover {} % of these rows",
                percent(levels, 0),
                percent(shares, 1)
            ));
        }
        said
    }
}

/// A line for each candidate.
impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, Tried { candidate, outcome }) in self.tried.iter().enumerate() {
            let (end, name) = (if i == 0 { "" } else { "\n" }, candidate.name());
            match outcome {
                Trial::Scored { log_density, .. } if *candidate == self.chosen => {
                    write!(f, "{end}{name:24} {log_density:>9.3}  chosen")?;
                }
                Trial::Scored { log_density, difference, se_difference } => {
                    write!(
                        f,
                        "{end}{name:24} {log_density:>9.3}  {difference:+.3} +- {se_difference:.3}"
                    )?;
                }
                Trial::Failed(why) => write!(f, "{end}{name:24}         -  {why}")?,
            }
        }
        Ok(())
    }
}

/// The predictions of a fold by one candidate.
pub(super) struct Held {
    log_densities: Vec<f64>,
    /// The [transform](crate::predict::Pit) of each response, row by row; none of classes and times.
    pit: Vec<f64>,
    pub pace: Pace,
}

impl Candidate {
    /// The recipe with this model, for so many columns of a response. What the recipe says itself stays.
    pub(super) fn of(self, recipe: &Recipe, columns: usize) -> Recipe {
        let (noise, transform) = match (self, recipe.task) {
            (Self::Network, Task::Regression) if columns == 1 => {
                (Some(Noise::StudentT), Transform::None)
            }
            (
                Self::LinearTransformed | Self::NetworkTransformed | Self::NetworkDeep,
                Task::Regression,
            ) => (Some(Noise::StudentT), Transform::YeoJohnson),
            (Self::NetworkHeteroscedastic, _) => {
                (Some(Noise::HeteroscedasticStudentT), Transform::YeoJohnson)
            }
            (Self::LinearHurdle | Self::NetworkHurdle, _) => {
                (Some(Noise::HurdleNegativeBinomial), Transform::None)
            }
            (Self::LinearWeibull | Self::NetworkWeibull, _) => {
                (Some(Noise::Weibull), Transform::None)
            }
            (
                Self::Linear
                | Self::LinearTransformed
                | Self::Network
                | Self::NetworkTransformed
                | Self::NetworkDeep,
                task,
            ) => (Noise::default_of(task), Transform::None),
        };
        let is_open = recipe.has_open_noise();
        let (hidden, weights) = match self {
            linear if linear.is_linear() => match recipe.task {
                Task::Regression => (vec![], WeightPrior::FanIn),
                //~ scale-of-linear
                _ => (vec![], WeightPrior::Scales),
            },
            Self::NetworkDeep => (DEEP.to_vec(), WeightPrior::Scales),
            _ => (vec![UNITS], WeightPrior::Scales),
        };
        let mut own = recipe.clone();
        own.model = None;
        own.hidden.get_or_insert(hidden);
        own.skip.get_or_insert(!self.is_linear());
        //~ powers-of-candidate
        own.power_features.get_or_insert(self != Self::Linear);
        own.weights.get_or_insert(weights);
        own.noise = own.noise.or(noise);
        if is_open {
            own.transform = transform;
        }
        let has_t = matches!(own.noise, Some(Noise::StudentT | Noise::HeteroscedasticStudentT));
        let method = match (own.method, own.chosen_method(columns)) {
            (Some(given), _) => given,
            (None, chosen) if own.layers().is_empty() => chosen,
            //~ method-of-candidate
            (None, Method::Collapsed) if !has_t => Method::Collapsed,
            (None, _) => Method::Mams,
        };
        own.method(method)
    }
}

impl Recipe {
    /// Whether the model is to be chosen by the data: no setting of it was given.
    pub(super) fn is_open(&self) -> bool {
        let Self { model, hidden, skip, weights, method, .. } = self;
        let is_given = [model.is_some(), hidden.is_some(), skip.is_some(), weights.is_some()];
        !is_given.contains(&true) && method.is_none()
    }

    /// Whether neither noise nor transform was given.
    fn has_open_noise(&self) -> bool {
        self.noise.is_none() && self.transform.is_none()
    }

    /// The candidates for a response of so many columns, from the simplest one on.
    pub(super) fn candidates(&self, columns: usize) -> Vec<Candidate> {
        use Candidate::{
            Linear, LinearHurdle, LinearTransformed, LinearWeibull, Network, NetworkDeep,
            NetworkHeteroscedastic, NetworkHurdle, NetworkTransformed, NetworkWeibull,
        };
        let known: &[Candidate] = match self.task {
            Task::Regression if self.has_open_noise() && columns == 1 => &[
                Linear,
                LinearTransformed,
                Network,
                NetworkTransformed,
                NetworkHeteroscedastic,
                NetworkDeep,
            ],
            Task::Regression => &[Linear, Network],
            Task::Counts if self.has_open_noise() => {
                &[Linear, LinearTransformed, LinearHurdle, Network, NetworkHurdle]
            }
            Task::Survival if self.has_open_noise() => {
                &[Linear, LinearTransformed, LinearWeibull, Network, NetworkWeibull]
            }
            Task::Classification | Task::Counts | Task::Survival => {
                &[Linear, LinearTransformed, Network]
            }
        };
        // Of other responses than real ones it differs from the linear model by the powers of the features alone.
        let is_another = self.task == Task::Regression || self.power_features.is_none();
        known.iter().copied().filter(|known| *known != LinearTransformed || is_another).collect()
    }

    /// The candidates that are always compared.
    pub(super) fn first_candidates(&self, columns: usize) -> Vec<Candidate> {
        let mut candidates = self.candidates(columns);
        candidates.retain(|candidate| *candidate != Candidate::NetworkDeep);
        candidates
    }

    /// The candidates that are always compared on these rows: noise by row not where the response has few different values, such as
    /// grades.
    pub(super) fn candidates_for(&self, data: &Dataset) -> Vec<Candidate> {
        let mut candidates = self.first_candidates(data.response().width());
        if has_few_values(data.response()) {
            candidates.retain(|candidate| *candidate != Candidate::NetworkHeteroscedastic); //~ few-values
        }
        candidates
    }

    /// The candidate that is tried after the first ones have been compared on so many rows: a deep network where a network
    /// was chosen.
    pub(super) fn deeper(
        &self,
        chosen: Candidate,
        columns: usize,
        rows: usize,
    ) -> Option<Candidate> {
        let is_tried = !chosen.is_linear() && rows >= DEEP_ROWS;
        let deep = Candidate::NetworkDeep;
        (is_tried && self.candidates(columns).contains(&deep)).then_some(deep)
    }

    /// The recipe with the model that predicts best, and the pace of its chains. Candidates that have not predicted all
    /// rows by the deadline are out.
    ///
    /// # Errors
    /// Rows that no candidate can be fitted to; if the run was asked to end.
    pub(super) fn search(
        &self,
        data: &Dataset,
        origin: &Origin,
        deadline: Option<Instant>,
    ) -> Result<(Self, Option<Pace>), Error> {
        let columns = data.response().width();
        let mut candidates = self.candidates_for(data);
        // What is wrong with the table, or with a setting, is said before time is spent.
        let stopped = StopHandle::new();
        stopped.stop();
        let first = candidates[0].of(self, columns).stop_handle(&stopped);
        let parts = Parts::new(first, Cow::Borrowed(data), origin.clone())?;
        drop(parts.recipe.sample(&parts, None)?);
        drop(parts);
        let folds = self.folds(data)?;
        let rows: usize = folds.iter().map(|fold| fold.test.len()).sum();
        let names: Vec<String> = candidates.iter().map(|c| c.name().to_string()).collect();
        self.report(&format!(
            "model       chosen among {} by the log densities of {}, in {} folds",
            listed(names),
            count(rows, "row"),
            folds.len()
        ));
        let models: Vec<Self> = candidates.iter().map(|c| c.of(self, columns)).collect();
        let mut held = self.predict_folds(&models, &folds, data, origin, deadline)?;
        let weights = weights_of(&folds, data);
        let (mut search, mut pace) = decided(&candidates, &held, &weights);
        if let (Some(deep), Some(shallow)) = (self.deeper(search.chosen, columns, rows), pace) {
            let chains = folds.len().div_ceil(self.workers().min(folds.len()));
            let seconds = DEEP_TIMES * shallow.of_fold() * chains as f64;
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_none_or(|left| seconds < left.as_secs_f64()) {
                let (chosen, time) = (search.chosen, duration(seconds));
                self.report(&format!(
                    "            {chosen} is best so far: {deep} is compared, too, in about {time}"
                ));
                let models = [deep.of(self, columns)];
                held.extend(self.predict_folds(&models, &folds, data, origin, deadline)?);
                candidates.push(deep);
                (search, pace) = decided(&candidates, &held, &weights);
            } else {
                let left = duration(left.unwrap_or_default().as_secs_f64());
                let why =
                    format!("not tried: it takes about {}, and {left} are left", duration(seconds));
                search.tried.push(Tried { candidate: deep, outcome: Trial::Failed(why) });
            }
        }
        if self.reader.offset().is_none() && search.rows > 0 {
            search.intercept_only = intercept_only(data, &folds)
                .map(|densities| mean_and_error(&densities, &weights).0)
                .filter(|density| density.is_finite());
        }
        self.report(&search.to_string());
        let mut recipe = search.chosen.of(self, columns);
        recipe.search = Some(search);
        let rows = self.rows_by_fold(data, &folds[0])?;
        Ok((recipe, pace.map(|pace| pace.times(rows))))
    }

    /// The number of training rows as a multiple of a fold's.
    pub(super) fn rows_by_fold(&self, data: &Dataset, fold: &Split) -> Result<f64, Error> {
        let all = self.split(data)?.map_or(data.rows(), |split| split.train.len());
        Ok(all as f64 / fold.train.len() as f64)
    }

    /// The predictions of all folds by each model.
    pub(super) fn predict_folds(
        &self,
        models: &[Self],
        folds: &[Split],
        data: &Dataset,
        origin: &Origin,
        deadline: Option<Instant>,
    ) -> Result<Vec<Result<Held, Error>>, Error> {
        let mut rng = ChainRng::new(self.seed, STREAM);
        let each = models.iter().flat_map(|model| folds.iter().map(move |fold| (model, fold)));
        let jobs = each.map(|(model, fold)| model.clone().of_fold(fold.clone(), rng.next_u64()));
        let (next, stop) = (AtomicUsize::new(0), StopHandle::new());
        let jobs: Vec<Self> = jobs.map(|job| job.stop_handle(&stop)).collect();
        let origin = Origin { schema: origin.schema.clone(), ..Origin::default() };
        let done: Vec<Mutex<Option<Result<Held, Error>>>> =
            jobs.iter().map(|_| Mutex::new(None)).collect();
        // Each worker has a thread of its own, so that the time of a chain is its own.
        let work = || -> Result<(), Error> {
            let pool = threads::pool(1)?;
            loop {
                let job = next.fetch_add(1, Ordering::Relaxed);
                let Some(recipe) = jobs.get(job).filter(|_| !stop.is_stopped()) else {
                    return Ok(());
                };
                let held = pool
                    .install(|| caught("a chain on a fold", || recipe.predict_fold(data, &origin)));
                let held = held.and_then(|held| held);
                *done[job].lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
            }
        };
        let workers = self.workers().min(jobs.len());
        thread::scope(|scope| {
            let begun = (0..workers).map(|_| thread::Builder::new().spawn_scoped(scope, work));
            let workers: Vec<_> = begun.map_while(Result::ok).collect();
            if workers.is_empty() {
                return work(); // by this thread, without a deadline
            }
            while !workers.iter().all(thread::ScopedJoinHandle::is_finished) {
                if self.stop.is_stopped()
                    || deadline.is_some_and(|deadline| Instant::now() > deadline)
                {
                    stop.stop();
                }
                thread::sleep(Duration::from_millis(20));
            }
            // The work of one that could not begin is done by the others.
            let ended = workers.into_iter().map(|worker| worker.join().unwrap_or(Ok(())));
            let ended: Vec<Result<(), Error>> = ended.collect();
            match ended.iter().any(Result::is_ok) {
                true => Ok(()),
                false => ended.into_iter().collect(),
            }
        })?;
        if self.stop.is_stopped() {
            return Err(Error::Stopped { before: "a model was chosen".into() });
        }
        let mut done = done.into_iter().map(|job| {
            let held = job.into_inner().unwrap_or_else(PoisonError::into_inner);
            held.unwrap_or_else(|| Err(Error::Stopped { before: PREDICTED.into() }))
        });
        let mut of_model = || -> Result<Held, Error> {
            let folds: Vec<Result<Held, Error>> = done.by_ref().take(folds.len()).collect();
            let mut all =
                Held { log_densities: Vec::new(), pit: Vec::new(), pace: Pace::default() };
            let n = folds.len() as f64;
            for fold in folds {
                let Held { log_densities, pit, pace } = fold?;
                all.log_densities.extend(log_densities);
                all.pit.extend(pit);
                all.pace.first += pace.first / n;
                all.pace.later += pace.later / n;
            }
            Ok(all)
        };
        Ok(models.iter().map(|_| of_model()).collect())
    }

    /// The folds of the rows that are not kept for validation, or of some of them.
    pub(super) fn folds(&self, data: &Dataset) -> Result<Vec<Split>, Error> {
        let mut rows = match self.split(data)? {
            None => (0..data.rows()).collect(),
            Some(split) => split.train,
        };
        if rows.len() > MOST_ROWS {
            rows.shuffle(&mut ChainRng::new(self.seed, STREAM).child(0));
            rows.truncate(MOST_ROWS);
            rows.sort_unstable();
        }
        let own = data.select(&rows)?;
        let folds = match self.task {
            Task::Classification => own.folds_by_class(FOLDS.min(own.rows()), self.seed),
            _ => own.k_folds(FOLDS.min(own.rows()), self.seed),
        };
        let of_data = |list: Vec<usize>| list.into_iter().map(|row| rows[row]).collect();
        let folds = folds?.into_iter();
        //~ rows-of-fold
        Ok(folds.map(|f| Split { train: of_data(f.train), test: of_data(f.test) }).collect())
    }

    /// The recipe of a short chain on the training rows of a fold.
    fn of_fold(self, fold: Split, seed: u64) -> Self {
        let mut recipe = self.chains(1).warmup(WARMUP).draws(DRAWS).seed(seed);
        recipe.rows = Some(fold);
        (recipe.folder, recipe.only_chains, recipe.threads) = (None, None, None);
        recipe.listener = Listener::None;
        recipe
    }

    /// The predictions of the test rows of the recipe's fold.
    fn predict_fold(&self, data: &Dataset, origin: &Origin) -> Result<Held, Error> {
        let parts = Parts::new(self.clone(), Cow::Borrowed(data), origin.clone())?;
        let draws = parts.recipe.sample(&parts, None)?;
        let sampling = draws.info().sampling_seconds;
        let warmup = draws.info().warmup_seconds;
        let pace = Pace { first: warmup / WARMUP as f64, later: sampling / DRAWS as f64 };
        if draws.info().stopped_early {
            return Err(Error::Stopped { before: PREDICTED.into() });
        }
        let fit = Fit { parts: parts.into(), draws, save_error: None, rebuilt: Vec::new() };
        let rows = fit.validation().expect("a fold has test rows");
        let predictions = fit.predict(rows)?;
        let log_densities = predictions.log_predictive_densities()?.to_vec();
        if let Some(wrong) = log_densities.iter().find(|density| !density.is_finite()) {
            return Err(Error::argument("log density of a row", wrong, "finite"));
        }
        let pit = match data.response() {
            Response::Real(_) | Response::Counts(_) => {
                predictions.pit(self.seed)?.values.into_iter().collect()
            }
            Response::Classes { .. } | Response::Censored { .. } => Vec::new(),
        };
        Ok(Held { log_densities, pit, pace })
    }

    /// The number of threads of a run.
    pub(super) fn workers(&self) -> usize {
        self.threads.unwrap_or_else(rayon::current_num_threads)
    }
}

/// The weights of the test rows of all folds, if rows have weights.
pub(super) fn weights_of(folds: &[Split], data: &Dataset) -> Vec<f64> {
    let test = folds.iter().flat_map(|fold| &fold.test);
    test.filter_map(|&row| data.weights().map(|w| w[row])).collect()
}

/// The search that these predictions make, of rows with weights if there are any, and the pace of the chosen candidate:
/// of the first one if none has predicted all rows.
pub(super) fn decided(
    candidates: &[Candidate],
    held: &[Result<Held, Error>],
    weights: &[f64],
) -> (Search, Option<Pace>) {
    let scored = || held.iter().enumerate().filter_map(|(i, held)| Some((i, held.as_ref().ok()?)));
    let mean = |values: Vec<f64>| mean_and_error(&values, weights);
    let log_density = |held: &Held| mean(held.log_densities.clone()).0;
    let less = |own: &Held, other: &Held| {
        let pairs = own.log_densities.iter().zip(&other.log_densities);
        mean(pairs.map(|(own, other)| own - other).collect()) //~ search-difference
    };
    let best = scored().max_by(|(_, a), (_, b)| log_density(a).total_cmp(&log_density(b)));
    let chosen = best.and_then(|(_, best)| {
        scored().find(|(_, held)| {
            let (difference, error) = less(held, best);
            difference >= -error //~ one-standard-error
        })
    });
    let outcome = |held: &Result<Held, Error>| match (held, chosen) {
        (Ok(held), Some((_, chosen))) => {
            let (difference, se_difference) = less(held, chosen);
            Trial::Scored { log_density: log_density(held), difference, se_difference }
        }
        (Ok(_), None) => Trial::Failed("there is none to compare it with".into()),
        (Err(error), _) => Trial::Failed(error.in_words(&Plain)),
    };
    let tried = candidates.iter().zip(held);
    let tried =
        tried.map(|(candidate, held)| Tried { candidate: *candidate, outcome: outcome(held) });
    let (place, pit, pace) =
        chosen.map_or((0, &[][..], None), |(place, held)| (place, &held.pit[..], Some(held.pace)));
    let rows = chosen.map_or(0, |(_, held)| held.log_densities.len());
    let search = Search {
        chosen: candidates[place],
        rows,
        tried: tried.collect(),
        coverage: coverage(pit, rows, weights),
        intercept_only: None,
    };
    (search, pace)
}

/// Whether a real response has at most [`FEW_GRADES`] different values, each of [`ROWS_OF_GRADE`] rows on average.
fn has_few_values(response: &Response) -> bool {
    let Response::Real(y) = response else { return false };
    let mut values: Vec<f64> = Vec::new();
    for value in y {
        if !values.contains(value) {
            values.push(*value);
        }
        if values.len() > FEW_GRADES {
            return false;
        }
    }
    y.nrows() >= ROWS_OF_GRADE * values.len()
}

/// The log densities of [`Search::intercept_only`], fold by fold.
fn intercept_only(data: &Dataset, folds: &[Split]) -> Option<Vec<f64>> {
    let w = |row: usize| data.weights().map_or(1.0, |w| w[row]);
    let mut densities = Vec::new();
    for Split { train, test } in folds {
        let total: f64 = train.iter().map(|row| w(*row)).sum();
        let moments = |y: ArrayView1<f64>| {
            let mean = train.iter().map(|&row| w(row) * y[row]).sum::<f64>() / total;
            let squares = train.iter().map(|&row| w(row) * (y[row] - mean).powi(2));
            (mean, squares.sum::<f64>() / total)
        };
        match data.response() {
            Response::Real(y) => {
                let columns: Vec<_> = y.columns().into_iter().map(moments).collect();
                let log_density = |(y, (mean, variance)): (&f64, &(f64, f64))| {
                    let squared = (y - mean).powi(2) / variance;
                    -0.5 * (ln(std::f64::consts::TAU * variance) + squared)
                };
                let of_row =
                    |&row: &usize| y.row(row).iter().zip(&columns).map(log_density).sum::<f64>();
                densities.extend(test.iter().map(of_row));
            }
            Response::Classes { index, names } => {
                let mut rows = vec![1.0; names.len()];
                train.iter().for_each(|&row| rows[index[row]] += w(row));
                let all = total + names.len() as f64;
                densities.extend(test.iter().map(|&row| ln(rows[index[row]] / all)));
            }
            Response::Counts(y) if y.ncols() == 1 => {
                let (mean, variance) = moments(y.column(0));
                let mean = mean.max(0.5 / total);
                // Hardly different from a Poisson distribution where counts scatter less than one.
                let size = mean * mean / (variance - mean).max(1e-6 * mean * mean);
                let log_mass = |&row: &usize| {
                    let y = y[[row, 0]];
                    let ways = ln_gamma(y + size) - ln_gamma(size) - ln_gamma(y + 1.0);
                    ways + size * ln(size / (size + mean)) + y * ln(mean / (size + mean))
                };
                densities.extend(test.iter().map(log_mass));
            }
            Response::Counts(_) | Response::Censored { .. } => return None,
        }
    }
    Some(densities)
}

/// The mean of values of rows, by their weights if there are any, and its standard error. Rows whose weights sum to less
/// than their number count as many as they are.
fn mean_and_error(values: &[f64], weights: &[f64]) -> (f64, f64) {
    let w = |row: usize| weights.get(row).copied().unwrap_or(1.0);
    let total: f64 = (0..values.len()).map(w).sum();
    let counted = (0..values.len()).filter(|row| w(*row) > 0.0).count() as f64;
    let n = total.max(counted).max(2.0);
    let sum: f64 = values.iter().enumerate().map(|(row, value)| w(row) * value).sum();
    let mean = sum / total;
    let squares = values.iter().enumerate().map(|(row, value)| w(row) * (value - mean).powi(2));
    (mean, (squares.sum::<f64>() / total / (n - 1.0)).sqrt())
}

/// Of each level, the share of rows within the central interval.
fn coverage(pit: &[f64], rows: usize, weights: &[f64]) -> Vec<(f64, f64)> {
    if pit.is_empty() {
        return Vec::new();
    }
    // Several columns of a response count alike.
    let w = |cell: usize| weights.get(cell / (pit.len() / rows)).copied().unwrap_or(1.0);
    let total: f64 = (0..pit.len()).map(w).sum();
    let share = |level: f64| {
        let inside = pit.iter().enumerate().filter(|(_, u)| (*u - 0.5).abs() <= 0.5 * level);
        inside.map(|(cell, _)| w(cell)).sum::<f64>() / total
    };
    LEVELS.iter().map(|&level| (level, share(level))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Fit;

    #[test]
    fn a_deep_network_is_tried_on_many_rows_where_a_network_is_best() {
        let recipe = Fit::regression("y");
        let tried = |chosen, columns, rows| recipe.deeper(chosen, columns, rows);
        assert_eq!(tried(Candidate::Network, 1, 250), Some(Candidate::NetworkDeep));
        assert_eq!(tried(Candidate::Network, 1, 249), None);
        assert_eq!(tried(Candidate::LinearTransformed, 1, 250), None);
        assert_eq!(tried(Candidate::Network, 2, 250), None);
        assert_eq!(Fit::counts("y").deeper(Candidate::Network, 1, 250), None);
    }

    fn held(log_densities: &[f64]) -> Result<Held, Error> {
        let pit = Vec::new();
        Ok(Held { log_densities: log_densities.to_vec(), pit, pace: Pace::default() })
    }

    const THREE: [Candidate; 3] =
        [Candidate::Linear, Candidate::Network, Candidate::NetworkTransformed];

    /// Differences of -0.2 and 0.1 in turns: their mean is -0.05, and its standard error over 4 rows 0.15 / sqrt(3).
    #[test]
    fn the_simplest_within_a_standard_error_is_chosen() {
        let held_out = [held(&[-3.0; 4]), held(&[-1.2, -0.9, -1.2, -0.9]), held(&[-1.0; 4])];
        let (search, _) = decided(&THREE, &held_out, &[]);
        assert_eq!((search.chosen, search.rows), (Candidate::Network, 4));
        let Some(Trial::Scored { log_density, difference, se_difference }) =
            search.of(Candidate::NetworkTransformed)
        else {
            panic!("{search}")
        };
        assert!((log_density + 1.0).abs() < 1e-12 && (difference - 0.05).abs() < 1e-12);
        assert!((se_difference - 0.15 / 3f64.sqrt()).abs() < 1e-12);

        // A difference of -0.2 in every row has no error, and is more than one.
        let held_out = [held(&[-3.0; 4]), held(&[-1.2; 4]), held(&[-1.0; 4])];
        assert_eq!(decided(&THREE, &held_out, &[]).0.chosen, Candidate::NetworkTransformed);
    }

    /// Student's t is what makes each step of `Collapsed` dear, and classes have no layer to integrate out.
    #[test]
    fn networks_are_sampled_by_mams_unless_their_noise_is_normal() {
        let of = |candidate: Candidate, recipe: Recipe, columns| {
            candidate.of(&recipe, columns).method.expect("of a candidate")
        };
        let (network, y) = (Candidate::Network, || Fit::regression("y"));
        assert_eq!(of(network, y(), 1), Method::Mams);
        assert_eq!(of(network, y(), 2), Method::Collapsed);
        assert_eq!(of(network, y().noise(Noise::Gaussian), 1), Method::Collapsed);
        assert_eq!(of(network, y().noise(Noise::Heteroscedastic), 1), Method::Collapsed);
        assert_eq!(of(network, y().hidden(&[600]).noise(Noise::Gaussian), 1), Method::Mams);
        assert_eq!(of(network, y().method(Method::Collapsed), 1), Method::Collapsed);
        assert_eq!(of(network, Fit::classification("y"), 1), Method::Mams);
        assert_eq!(of(network, Fit::counts("y").method(Method::Nuts), 1), Method::Nuts);
        assert_eq!(of(Candidate::Linear, y(), 1), Method::Nuts);
    }

    #[test]
    fn a_row_of_weight_two_is_two_rows() {
        let of = |rows: [&[f64]; 2], weights: &[f64]| {
            let held_out = rows.map(held);
            let (search, _) = decided(&THREE[..2], &held_out, weights);
            let coverage = coverage(&[0.5, 0.99, 0.2][..rows[0].len().min(3)], 3, weights);
            (search.tried, coverage)
        };
        let (weighted, shares) = of([&[-1.0, -2.0, -4.0], &[-1.5, -1.0, -3.0]], &[2.0, 1.0, 1.0]);
        let (written, _) = of([&[-1.0, -1.0, -2.0, -4.0], &[-1.5, -1.5, -1.0, -3.0]], &[]);
        for (own, other) in weighted.iter().zip(&written) {
            let numbers = |tried: &Tried| match tried.outcome {
                Trial::Scored { log_density, difference, se_difference } => {
                    [log_density, difference, se_difference]
                }
                Trial::Failed(_) => panic!("it was scored"),
            };
            for (own, other) in numbers(own).into_iter().zip(numbers(other)) {
                assert!((own - other).abs() < 1e-12, "{weighted:?} {written:?}");
            }
        }
        // 0.5 counts twice and is in every interval, 0.99 in none, 0.2 in the 90 and 95 % ones.
        assert_eq!(shares, [(0.5, 0.5), (0.9, 0.75), (0.95, 0.75)]);
    }

    /// Shares of a whole, too, make the standard errors of as many rows.
    #[test]
    fn weights_that_sum_to_one_are_weights() {
        let values = [1.0, 2.0, 3.0, 4.0];
        let (mean, error) = mean_and_error(&values, &[]);
        assert_eq!(mean, 2.5);
        assert!((error - (5.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
        assert_eq!(mean_and_error(&values, &[0.25; 4]), (mean, error));
        let (mean, error) = mean_and_error(&values, &[1.0, 0.0, 0.0, 0.0]);
        assert_eq!((mean, error), (1.0, 0.0));
    }

    #[test]
    fn grades_get_no_noise_by_row() {
        let of = |y: ndarray::Array1<f64>| {
            let x = ndarray::Array2::from_shape_fn((y.len(), 1), |(i, _)| i as f64);
            let data = Dataset::regression(x, y).unwrap();
            let candidates = Fit::regression("y").candidates_for(&data);
            candidates.contains(&Candidate::NetworkHeteroscedastic)
        };
        let y = |rows: usize, values: usize| (0..rows).map(|i| 0.5 * (i % values) as f64).collect();
        assert!(!of(y(120, 6)) && !of(y(240, 12)));
        assert!(of(y(119, 6)) && of(y(400, 13)) && of(y(400, 400)));
    }

    #[test]
    fn what_failed_is_not_chosen_and_where_all_fail_the_first_is() {
        let failed = || Err(Error::Stopped { before: PREDICTED.into() });
        let (search, _) = decided(&THREE, &[failed(), held(&[-1.0, -2.0]), failed()], &[]);
        assert_eq!(search.chosen, Candidate::Network);
        let lines = search.to_string();
        assert!(lines.contains("-  ended before it had predicted all rows"), "{lines}");
        assert_eq!(search.in_words(), ["log density of a row that it has not seen -1.500"]);
        let (search, _) = decided(&THREE, &[held(&[-1.0, -2.0]), failed(), failed()], &[]);
        let said = search.in_words();
        assert!(said[0].contains("(2 candidates could not be compared)"), "{said:?}");
        let (search, pace) = decided(&THREE, &[failed(), failed(), failed()], &[]);
        assert_eq!((search.chosen, search.rows), (Candidate::Linear, 0));
        assert!(pace.is_none());
    }

    #[test]
    fn a_density_without_features_is_of_the_other_folds() {
        let of = |data: Dataset, train: &[usize], test: &[usize]| {
            let fold = Split { train: train.into(), test: test.into() };
            intercept_only(&data, &[fold])
        };
        let x = |rows: usize| ndarray::Array2::from_shape_fn((rows, 1), |(i, _)| i as f64);
        let close = |found: Option<Vec<f64>>, expected: &[f64]| {
            let found = found.unwrap();
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-4, "{found} {expected}");
            }
        };
        let root = 0.5 * std::f64::consts::TAU.ln();
        let real = Dataset::regression(x(4), ndarray::array![[1.0], [3.0], [2.0], [4.0]]).unwrap();
        close(of(real.clone(), &[0, 1], &[2, 3]), &[-root, -root - 2.0]);
        // Twice 1 and twice 3, and a row that does not count.
        let weighted = real.with_weights([2.0, 2.0, 1.0, 0.0]).unwrap();
        close(of(weighted, &[0, 1, 3], &[2]), &[-root]);
        let names = ["a", "b", "c"].map(String::from).to_vec();
        let classes = Dataset::classification(x(4), vec![0, 0, 1, 2], names).unwrap();
        close(of(classes, &[0, 1, 2], &[3, 0]), &[(1.0f64 / 6.0).ln(), 0.5f64.ln()]);
        // Mean 2 and variance 4: of size 2, so that 0 and 1 have the probability 1/4.
        let counts = |y: [f64; 4]| {
            let y = ndarray::Array2::from_shape_vec((4, 1), y.to_vec()).unwrap();
            Dataset::counts(x(4), y).unwrap()
        };
        close(of(counts([0.0, 4.0, 0.0, 1.0]), &[0, 1], &[2, 3]), &[0.25f64.ln(); 2]);
        // Of no variance: Poisson.
        close(of(counts([2.0, 2.0, 0.0, 1.0]), &[0, 1], &[2, 3]), &[-2.0, 2f64.ln() - 2.0]);
    }
}
