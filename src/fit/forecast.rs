//! The time of a fit, foreseen from short chains on folds.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use super::choices::Candidate;
use super::recipe::Sizes;
use super::search::{FOLDS, Timed};
use super::time::{ALL, SEARCH};
use super::{Origin, Plan, Recipe};
use crate::Error;
use crate::data::{Dataset, Schema};
use crate::message::{Choice, count, duration};

/// The time that a fit will take: [`Recipe::forecast`]. Printed, it is one sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The time of the [search](super::Search) of a model, if the data choose it.
    pub search: Option<Duration>,
    /// The time after which it all ends, if the data choose the model and the number of draws is left open.
    pub at_most: Option<Duration>,
    /// Of each model that could be timed, the run of its chains.
    pub runs: Vec<ForecastRun>,
}

/// The chains of one model in a [`Forecast`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForecastRun {
    /// The model; `None` where it is given.
    pub candidate: Option<Candidate>,
    /// The number of chains.
    pub chains: usize,
    /// The iterations of warm-up of each that there is time for.
    pub warmup: usize,
    /// The draws of each after which they are first judged.
    pub draws: usize,
    /// The number of rows, where there is [no time](Recipe::most_rows) for all.
    pub rows: Option<usize>,
    /// The time until then.
    pub time: Duration,
}

impl fmt::Display for ForecastRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { candidate, chains, warmup, draws, rows, time } = self;
        let (chains, time) = (count(*chains, "chain"), duration(time.as_secs_f64()));
        write!(f, "about {time} for {chains} of {warmup} + {draws} iterations")?;
        if let Some(rows) = rows {
            write!(f, " on {rows} of the rows")?;
        }
        candidate.map_or(Ok(()), |candidate| write!(f, " of {}", candidate.name()))
    }
}

impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: &Duration| duration(time.as_secs_f64());
        let by_time = |run: &&ForecastRun| run.time;
        let ends = (self.runs.iter().min_by_key(by_time), self.runs.iter().max_by_key(by_time));
        let (Some(shortest), Some(longest)) = ends else {
            return write!(f, "it cannot be foreseen");
        };
        if let Some(search) = &self.search {
            write!(f, "about {} to choose a model, then ", seconds(search))?;
        }
        write!(f, "{shortest}")?;
        if longest != shortest {
            write!(f, ", up to {longest}")?;
        }
        if let Some(at_most) = &self.at_most {
            let at_most = seconds(at_most);
            write!(f, "; {at_most} in all if they have not converged by then")?;
        }
        Ok(())
    }
}

impl Recipe {
    /// How long a fit would take, by a short chain of each candidate on four fifths of the rows (at most 1,600), which takes a
    /// fifth of the time of a search, or more if the search leaves out a candidate for lack of time. With a schema, of [`fit_like`](Self::fit_like), else of [`fit`](Self::fit). As many
    /// threads as the fit would have are used. All chains are meant, also where [some](Self::only_chains) are to be run.
    ///
    /// ```
    /// use bnn_mcmc::fit::Fit;
    /// # let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    /// # let data = bnn_mcmc::data::Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin()))?;
    /// let recipe = Fit::regression("y").hidden(&[8]).chains(2);
    /// let forecast = recipe.forecast(&data, None)?;
    /// assert!(forecast.search.is_none() && forecast.runs.len() == 1);
    /// println!("{forecast}"); // about 1.9 s for 2 chains of 1000 + 1000 iterations
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// A table that the recipe cannot be fitted to.
    pub fn forecast(&self, data: &Dataset, schema: Option<&Schema>) -> Result<Forecast, Error> {
        let (recipe, origin) = match schema {
            Some(schema) => self.like(data, schema)?,
            None => (self.clone(), Origin::default()),
        };
        let recipe = recipe.for_rows(data)?;
        recipe.constant_features(data, &origin)?;
        let (recipe, data, origin) = recipe.of_most_rows(Cow::Borrowed(data), origin)?;
        let data = &*data;
        let is_open = recipe.is_open();
        let model = recipe.clone().settled_or_first(is_open, data, &origin)?;
        Plan::new(model.clone(), Cow::Borrowed(data), origin.clone())?; // says what is wrong with the table
        let fold = &recipe.folds(data)?[..1];
        let (first, timed) = match is_open {
            true => recipe.timed_candidates(fold, (data, &origin))?,
            // Members of an ensemble are optimised first.
            false if recipe.is_ensemble() => (0, Vec::new()),
            false => {
                let held = recipe.predict_folds(&[(&model, 0)], fold, (data, &origin), None)?;
                let timed = held.into_iter().filter_map(Result::ok);
                (1, timed.map(|held| (None, model.clone(), held.pace)).collect())
            }
        };
        let rows = recipe.rows_by_fold(data, &fold[0])?;
        // Chains on folds run side by side, of a deep network after the others, and the search ends when its share of the
        // time is over.
        let stage = |timed: &[Timed]| {
            let seconds = || timed.iter().map(|(.., pace)| pace.of_fold());
            let all = seconds().sum::<f64>() * FOLDS as f64 / recipe.workers() as f64;
            seconds().fold(all, f64::max)
        };
        let limit = recipe.limit();
        let most = limit.map_or(f64::INFINITY, |limit| SEARCH * limit.as_secs_f64());
        let search = (stage(&timed[..first]) + stage(&timed[first..])).min(most);
        let left = limit.unwrap_or(recipe.usual_limit()).as_secs_f64() - search;
        let time = |s: f64| Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX);
        let runs = timed.into_iter().map(|(candidate, model, pace)| {
            let pace = pace.times(rows);
            let drawn = model.rows_in(pace, data.rows(), left).filter(|_| is_open);
            let share = drawn.map_or(1.0, |drawn| drawn.rows as f64 / drawn.of as f64);
            let pace = pace.times(share);
            let sizes = if is_open { model.fitting(pace, left).0 } else { model.sizes() };
            let Sizes { chains, warmup, draws } = sizes;
            let time = time(model.seconds(pace, sizes));
            ForecastRun { candidate, chains, warmup, draws, rows: drawn.map(|d| d.rows), time }
        });
        let at_most = limit.filter(|_| is_open && recipe.settings.draws.is_none());
        Ok(Forecast {
            search: is_open.then(|| time(search)),
            at_most: at_most.map(|limit| limit.mul_f64(ALL)),
            runs: runs.collect(),
        })
    }

    /// The recipe whose table is checked: of the given model, or of the first candidate.
    fn settled_or_first(
        self,
        is_open: bool,
        data: &Dataset,
        origin: &Origin,
    ) -> Result<Self, Error> {
        match is_open {
            true => Ok(self.candidates_for(data)[0].of(&self, data.response().width())),
            false => self.settled(data, origin),
        }
    }
}
