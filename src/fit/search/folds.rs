//! The folds of a search: the predictions of their rows by a chain on the rows of the others.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rand::RngCore;
use rand::seq::SliceRandom;

use super::Held;
use super::STREAM;
use crate::data::{Dataset, Split};
use crate::error::caught;
use crate::fit::time::Pace;
use crate::fit::told::Listener;
use crate::fit::{Fit, Origin, Plan, Recipe};
use crate::rng::ChainRng;
use crate::sampler::StopHandle;
use crate::{Error, threads};

/// The folds of the rows: each is predicted by a chain on the rows of the others.
pub(in crate::fit) const FOLDS: usize = 5;
/// The most rows that candidates are compared on.
pub(super) const MOST_ROWS: usize = 2000;
/// The iterations of warm-up of a chain on the rows outside a fold, and its draws.
pub(in crate::fit) const WARMUP: usize = 150;
pub(in crate::fit) const DRAWS: usize = 100;
/// The event that a candidate which takes too long does not come to.
pub(super) const PREDICTED: &str = "it had predicted any rows";

impl Recipe {
    /// The number of training rows as a multiple of a fold's.
    pub(in crate::fit) fn rows_by_fold(&self, data: &Dataset, fold: &Split) -> Result<f64, Error> {
        let all = self.split(data)?.map_or(data.rows(), |split| split.train.len());
        Ok(all as f64 / fold.train.len() as f64)
    }

    /// The predictions of folds, by their numbers, by a model each, begun in this order as far as there are workers; an error where
    /// they were not made by the deadline.
    pub(in crate::fit) fn predict_folds(
        &self,
        jobs: &[(&Self, usize)],
        folds: &[Split],
        (data, origin): (&Dataset, &Origin),
        deadline: Option<Instant>,
    ) -> Result<Vec<Result<Held, Error>>, Error> {
        let (next, stop) = (AtomicUsize::new(0), StopHandle::new());
        let is_over = || deadline.is_some_and(|deadline| Instant::now() > deadline);
        if is_over() {
            stop.stop(); // before a chain has begun
        }
        let chain = |&(model, number): &(&Self, usize)| {
            // Chains of all models have the same seed.
            let seed =
                ChainRng::new(self.settings.seed, STREAM).child(2 + number as u64).next_u64();
            model.clone().of_fold(folds[number].clone(), seed).stop_handle(&stop)
        };
        let jobs: Vec<Self> = jobs.iter().map(chain).collect();
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
                if self.here.stop.is_stopped() || is_over() {
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
        if self.here.stop.is_stopped() {
            return Err(Error::Stopped { before: "a model was chosen".into() });
        }
        let of_job = |job: Mutex<Option<_>>| {
            let held = job.into_inner().unwrap_or_else(PoisonError::into_inner);
            held.unwrap_or_else(|| Err(Error::Stopped { before: PREDICTED.into() }))
        };
        Ok(done.into_iter().map(of_job).collect())
    }

    /// The folds of the rows that are not kept for validation, or of some of them.
    pub(in crate::fit) fn folds(&self, data: &Dataset) -> Result<Vec<Split>, Error> {
        let mut rows = match self.split(data)? {
            None => (0..data.rows()).collect(),
            Some(split) => split.train,
        };
        if rows.len() > MOST_ROWS {
            rows.shuffle(&mut ChainRng::new(self.settings.seed, STREAM).child(0));
            rows.truncate(MOST_ROWS);
            rows.sort_unstable();
        }
        let own = data.select(&rows)?;
        let folds = match self.task.has_classes() {
            true => own.folds_by_class(FOLDS.min(own.rows()), self.settings.seed),
            false => own.k_folds(FOLDS.min(own.rows()), self.settings.seed),
        };
        let of_data = |list: Vec<usize>| list.into_iter().map(|row| rows[row]).collect();
        let folds = folds?.into_iter();
        //~ rows-of-fold
        Ok(folds.map(|f| Split { train: of_data(f.train), test: of_data(f.test) }).collect())
    }

    /// The log densities of [`Search::intercept_only`](crate::fit::Search::intercept_only), fold by fold.
    pub(super) fn intercept_only(&self, data: &Dataset, folds: &[Split]) -> Option<Vec<f64>> {
        let each = folds.iter().map(|fold| self.kind().intercept_only(data, fold));
        Some(each.collect::<Option<Vec<_>>>()?.concat())
    }

    /// The recipe of a short chain on the training rows of a fold.
    pub(super) fn of_fold(self, fold: Split, seed: u64) -> Self {
        let mut recipe = self.chains(1).warmup(WARMUP).draws(DRAWS).seed(seed);
        recipe.decided.rows = Some(fold);
        (recipe.here.folder, recipe.here.only_chains, recipe.here.threads) = (None, None, None);
        recipe.here.listener = Listener::None;
        recipe
    }

    /// The predictions of the test rows of the recipe's fold.
    pub(super) fn predict_fold(&self, data: &Dataset, origin: &Origin) -> Result<Held, Error> {
        let plan = Plan::new(self.clone(), Cow::Borrowed(data), origin.clone())?;
        let draws = plan.recipe.sample(&plan, None)?;
        let sampling = draws.info().sampling_seconds;
        let warmup = draws.info().warmup_seconds;
        let pace = Pace { first: warmup / WARMUP as f64, later: sampling / DRAWS as f64 };
        if draws.info().stopped_early {
            return Err(Error::Stopped { before: PREDICTED.into() });
        }
        let fit = Fit::new(plan, draws);
        let rows = fit.validation().expect("a fold has test rows");
        let predictions = fit.predict(rows)?;
        let log_densities = predictions.log_predictive_densities()?.to_vec();
        if let Some(wrong) = log_densities.iter().find(|density| !density.is_finite()) {
            return Err(Error::argument("log density of a row", wrong, "finite"));
        }
        let pit = match self.task.has_classes() || self.task.has_bounds() {
            true => Vec::new(),
            false => predictions.pit(self.settings.seed)?.values.into_iter().collect(),
        };
        Ok(Held { log_densities, pit, pace, folds: 1 })
    }

    /// The number of threads of a run.
    pub(in crate::fit) fn workers(&self) -> usize {
        self.here.threads.unwrap_or_else(rayon::current_num_threads)
    }
}

/// The weights of the test rows of all folds, if rows have weights.
pub(in crate::fit) fn weights_of(folds: &[Split], data: &Dataset) -> Vec<f64> {
    let test = folds.iter().flat_map(|fold| &fold.test);
    test.filter_map(|&row| data.weights().map(|w| w[row])).collect()
}
