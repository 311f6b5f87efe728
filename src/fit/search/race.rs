//! The race of candidates over the folds: after each of them those that cannot be chosen any more are out.

use std::time::Instant;

use super::Held;
use super::decision::{decided, mean_and_error};
use super::folds::weights_of;
use crate::Error;
use crate::data::{Dataset, Split};
use crate::fit::choices::Candidate;
use crate::fit::forecast::Pace;
use crate::fit::{Origin, Recipe};

/// The standard errors by which a candidate is behind another one when it is out.
const BEHIND: f64 = 2.5;
/// The standard errors by which a candidate is not [worth it](WORTH) when it is out, beside a simpler one.
const NOT_WORTH: f64 = 1.0;
/// The nats a row by which a candidate has to predict better than a simpler one to be worth it, as soon as the standard error is
/// smaller.
pub(super) const WORTH: f64 = 0.005;
/// The rows that have to be predicted before any candidate is out.
const LEAST_ROWS: usize = 30;

/// A model, by its name if the data choose it, and the pace of its chains on a fold.
pub(in crate::fit) type Timed = (Option<Candidate>, Recipe, Pace);

/// A candidate in the race.
pub(in crate::fit) struct Runner {
    pub candidate: Candidate,
    pub model: Recipe,
    /// Its predictions of the first folds, or the reason why there are none.
    pub held: Result<Held, Error>,
    /// Whether it is out, for what it has predicted.
    pub is_out: bool,
}

impl Runner {
    pub fn new(candidate: Candidate, model: Recipe) -> Self {
        Self { candidate, model, held: Ok(Held::default()), is_out: false }
    }

    /// Its predictions, if it can be chosen.
    pub fn running(&self) -> Option<&Held> {
        self.held.as_ref().ok().filter(|_| !self.is_out)
    }

    /// Adds the predictions of the next fold.
    fn add(&mut self, fold: Result<Held, Error>) {
        match (&mut self.held, fold) {
            (Ok(held), Ok(fold)) => held.add(fold),
            // What it has predicted by the deadline counts.
            (Ok(held), Err(Error::Stopped { .. })) if held.folds > 0 => {}
            (held, Err(error)) => *held = Err(error),
            (Err(_), Ok(_)) => {}
        }
    }
}

/// The mean difference of the log densities of the rows that both have predicted, and its standard error.
pub(super) fn difference(own: &Held, other: &Held, weights: &[f64]) -> (f64, f64) {
    let pairs = own.log_densities.iter().zip(&other.log_densities);
    let differences: Vec<f64> = pairs.map(|(own, other)| own - other).collect(); //~ search-difference
    mean_and_error(&differences, weights)
}

/// Marks candidates that cannot be chosen any more: so far behind another one that being simpler does not help, or at best not
/// worth it beside a simpler one. Each is compared with those that are left, so that one always is.
fn end_in_vain(runners: &mut [Runner], weights: &[f64]) {
    for place in 0..runners.len() {
        let Some(own) = runners[place].running() else { continue };
        let is_beaten = |(i, other): (usize, &Held)| {
            let (mean, error) = difference(own, other, weights);
            let are_few = own.log_densities.len().min(other.log_densities.len()) < LEAST_ROWS;
            let behind = mean + BEHIND * error;
            let is_out = match i < place {
                true => behind < 0.0 || mean + NOT_WORTH * error < WORTH,
                false => behind < -WORTH, //~ out-of-the-race
            };
            !are_few && is_out
        };
        let all = runners.iter().enumerate().filter(|(i, _)| *i != place);
        let is_out = all.filter_map(|(i, other)| Some((i, other.running()?))).any(is_beaten);
        runners[place].is_out |= is_out;
    }
}

impl Recipe {
    /// Lets those that have not predicted all folds do so, fold by fold, until the deadline. `weights` are of the rows of all folds.
    pub(in crate::fit) fn race(
        &self,
        runners: &mut [Runner],
        folds: &[Split],
        weights: &[f64],
        (data, origin): (&Dataset, &Origin),
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        for (number, fold) in folds.iter().enumerate() {
            let runs = |runner: &Runner| runner.running().is_some_and(|held| held.folds == number);
            let places: Vec<usize> = (0..runners.len()).filter(|i| runs(&runners[*i])).collect();
            if deadline.is_some_and(|deadline| number > 0 && Instant::now() > deadline) {
                break;
            }
            let models: Vec<&Self> = places.iter().map(|place| &runners[*place].model).collect();
            let held = self.predict_fold_by(&models, (number, fold), data, origin, deadline)?;
            for (place, held) in places.into_iter().zip(held) {
                runners[place].add(held);
            }
            end_in_vain(runners, weights);
        }
        Ok(())
    }

    /// The pace of the candidates on one fold, and how many of them are always compared.
    pub(in crate::fit) fn timed_candidates(
        &self,
        fold: &[Split],
        (data, origin): (&Dataset, &Origin),
    ) -> Result<(usize, Vec<Timed>), Error> {
        let of = |candidate: Candidate| {
            Runner::new(candidate, candidate.of(self, data.response().width()))
        };
        let mut runners: Vec<Runner> = self.candidates_for(data).into_iter().map(of).collect();
        let weights = weights_of(fold, data);
        self.race(&mut runners, fold, &weights, (data, origin), None)?;
        let (search, _) = decided(&runners, &weights);
        let rows = fold[0].train.len() + fold[0].test.len();
        let is_timed = |runner: &&Runner| runner.held.is_ok();
        let first = runners.iter().filter(is_timed).count();
        if let Some(deep) = self.deeper(search.chosen, data.response().width(), rows) {
            runners.push(of(deep));
            self.race(&mut runners, fold, &weights, (data, origin), None)?;
        }
        let timed = runners.into_iter().filter_map(|runner| {
            Some((Some(runner.candidate), runner.model, runner.held.ok()?.pace))
        });
        Ok((first, timed.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Fit;
    use crate::fit::forecast::Pace;

    /// Runners with these log densities, from the simplest one on.
    fn after(log_densities: &[Vec<f64>]) -> Vec<bool> {
        let runner = |values: &Vec<f64>| {
            let held = Held {
                log_densities: values.clone(),
                pit: Vec::new(),
                pace: Pace::default(),
                folds: 1,
            };
            Runner { held: Ok(held), ..Runner::new(Candidate::Linear, Fit::regression("y")) }
        };
        let mut runners: Vec<Runner> = log_densities.iter().map(runner).collect();
        end_in_vain(&mut runners, &[]);
        runners.iter().map(|runner| runner.is_out).collect()
    }

    /// Values with this mean, and a standard error of their difference from 0 of 0.01.
    fn values(n: usize, mean: f64) -> Vec<f64> {
        let off = 0.01 * (n as f64 - 1.0).sqrt();
        (0..n).map(|i| if i % 2 == 0 { mean + off } else { mean - off }).collect()
    }

    #[test]
    fn who_is_far_behind_or_not_worth_it_is_out() {
        let zero = |n| vec![0.0; n];
        // 2.4 and 2.6 standard errors more than what it is worth behind the more complex one.
        assert_eq!(after(&[values(40, -0.029), zero(40)]), [false, false]);
        assert_eq!(after(&[values(40, -0.031), zero(40)]), [true, false]);
        // At best, one standard error more, 0.004 and 0.006 better than the simpler one.
        assert_eq!(after(&[zero(40), values(40, -0.006)]), [false, true]);
        assert_eq!(after(&[zero(40), values(40, -0.004)]), [false, false]);
        // Differences without an error that are not worth it: the simpler one stays, and of three the second is within
        // what the best is worth.
        assert_eq!(after(&[vec![-0.003; 40], zero(40)]), [false, true]);
        assert_eq!(after(&[vec![-0.009; 40], vec![-0.0045; 40], zero(40)]), [true, false, true]);
        // Few rows say nothing.
        assert_eq!(after(&[values(28, -0.5), zero(28)]), [false, false]);
    }

    #[test]
    fn what_was_predicted_by_the_deadline_counts() {
        let held = || Held { log_densities: vec![-1.0; 3], folds: 1, ..Held::default() };
        let stopped = || Err(Error::Stopped { before: "it had predicted any rows".into() });
        let mut runner = Runner::new(Candidate::Linear, Fit::regression("y"));
        runner.add(Ok(held()));
        runner.add(stopped());
        assert_eq!(runner.running().map(|held| held.folds), Some(1));
        let mut late = Runner::new(Candidate::Linear, Fit::regression("y"));
        late.add(stopped());
        assert!(late.running().is_none() && late.held.is_err());
    }
}
