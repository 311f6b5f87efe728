//! The race of candidates over the folds: after each of them those that cannot be chosen any more are out.

use std::time::Instant;

use super::Held;
use super::decision::{decided, mean_and_error};
use super::folds::{FOLDS, weights_of};
use crate::Error;
use crate::data::{Dataset, Split};
use crate::fit::choices::Candidate;
use crate::fit::time::Pace;
use crate::fit::{Origin, Recipe};

/// The standard errors by which a candidate is behind another one when it is out.
const BEHIND: f64 = 2.5;
/// The standard errors by which a candidate is not [worth it](WORTH) when it is out, beside a simpler one.
const NOT_WORTH: f64 = 1.0;
/// Both among networks: each of them takes long, so that one that is hardly better is not waited for, and one that is hardly worse
/// on few rows is.
const OF_NETWORKS: f64 = 1.5;
/// The nats a row by which a candidate has to predict better than a simpler one to be worth it, as soon as the standard error is
/// smaller.
pub(super) const WORTH: f64 = 0.005;
/// The rows that have to be predicted before any candidate is out.
const LEAST_ROWS: usize = 30;

/// The folds that are predicted after each stage of the race, side by side: as many as make it short, and keep the processors busy.
const STAGES: [usize; 3] = [1, 3, FOLDS];

/// The folds, and the rows, after which a network that alone is left need not predict more.
pub(super) const ENOUGH: usize = 3;
const ENOUGH_ROWS: usize = 250;

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

    /// Adds the predictions of a fold, which are told in the order of their numbers.
    fn add(&mut self, number: usize, fold: Result<Held, Error>) {
        match (&mut self.held, fold) {
            (Ok(held), Ok(fold)) if held.folds == number => held.add(fold),
            // Of one before it there are none.
            (Ok(_), Ok(_)) => {}
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
            let are_networks = ![place, i].iter().any(|i| runners[*i].candidate.is_linear());
            let [far, vain] = if are_networks { [OF_NETWORKS; 2] } else { [BEHIND, NOT_WORTH] };
            let behind = mean + far * error;
            let is_out = match i < place {
                true => behind < 0.0 || mean + vain * error < WORTH,
                false => behind < -WORTH, //~ out-of-the-race
            };
            !are_few && is_out
        };
        let all = runners.iter().enumerate().filter(|(i, _)| *i != place);
        let is_out = all.filter_map(|(i, other)| Some((i, other.running()?))).any(is_beaten);
        runners[place].is_out |= is_out;
    }
}

/// Whether a network alone is left, which has predicted many rows.
fn is_decided(runners: &[Runner]) -> bool {
    let running: Vec<_> = runners.iter().filter_map(|of| Some((of, of.running()?))).collect();
    let [(runner, held)] = running[..] else { return false };
    !runner.candidate.is_linear() && held.log_densities.len() >= ENOUGH_ROWS //~ enough-rows
}

/// A race of candidates: the recipe that they are of, the folds, the weights of their rows, the table, and the deadline.
#[derive(Clone, Copy)]
pub(in crate::fit) struct Race<'a> {
    pub recipe: &'a Recipe,
    pub folds: &'a [Split],
    pub weights: &'a [f64],
    pub of: (&'a Dataset, &'a Origin),
    pub deadline: Option<Instant>,
}

impl Race<'_> {
    /// Lets those that are not out predict all folds, by [stages](STAGES), until the deadline.
    pub fn run(&self, runners: &mut [Runner]) -> Result<(), Error> {
        for end in STAGES {
            if end > ENOUGH && is_decided(runners) {
                break;
            }
            self.run_stage(runners, end)?;
        }
        Ok(())
    }

    /// Lets those that are not out predict the folds before `end` as far as they have not, and ends those that cannot be chosen any
    /// more.
    pub fn run_stage(&self, runners: &mut [Runner], end: usize) -> Result<(), Error> {
        let has_begun = runners.iter().filter_map(Runner::running).any(|held| held.folds > 0);
        if has_begun && self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Ok(());
        }
        // The larger models come last among the candidates, and begin first.
        let runs = runners.iter().enumerate().rev();
        let end = end.min(self.folds.len());
        let open = runs.filter_map(|(i, runner)| Some((i, runner.running()?.folds..end)));
        let jobs: Vec<(usize, usize)> =
            open.flat_map(|(i, folds)| folds.map(move |number| (i, number))).collect();
        if jobs.is_empty() {
            return Ok(());
        }
        let models: Vec<_> = jobs.iter().map(|&(i, number)| (&runners[i].model, number)).collect();
        let held = self.recipe.predict_folds(&models, self.folds, self.of, self.deadline)?;
        for ((i, number), held) in jobs.into_iter().zip(held) {
            runners[i].add(number, held);
        }
        end_in_vain(runners, self.weights);
        Ok(())
    }
}

impl Recipe {
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
        let race = Race {
            recipe: self,
            folds: fold,
            weights: &weights,
            of: (data, origin),
            deadline: None,
        };
        race.run(&mut runners)?;
        let (search, _) = decided(&runners, &weights);
        let rows = fold[0].train.len() + fold[0].test.len();
        let is_timed = |runner: &&Runner| runner.held.is_ok();
        let first = runners.iter().filter(is_timed).count();
        if let Some(deep) = self.deeper(search.chosen, data.response().width(), rows) {
            runners.push(of(deep));
            race.run(&mut runners)?;
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
    use crate::fit::time::Pace;

    /// Whether linear models with these log densities are out, from the simplest one on.
    fn after(log_densities: &[Vec<f64>]) -> Vec<bool> {
        out(Candidate::Linear, log_densities)
    }

    fn out(candidate: Candidate, log_densities: &[Vec<f64>]) -> Vec<bool> {
        let runner = |values: &Vec<f64>| {
            let held = Held {
                log_densities: values.clone(),
                pit: Vec::new(),
                pace: Pace::default(),
                folds: 1,
            };
            Runner { held: Ok(held), ..Runner::new(candidate, Fit::regression("y")) }
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
        // Networks are not waited for as long, and at best are one and a half better.
        let networks = |log_densities: &[Vec<f64>]| out(Candidate::Network, log_densities);
        assert_eq!(networks(&[values(40, -0.019), zero(40)]), [false, false]);
        assert_eq!(networks(&[values(40, -0.021), zero(40)]), [true, false]);
        assert_eq!(networks(&[zero(40), values(40, -0.011)]), [false, true]);
        assert_eq!(networks(&[zero(40), values(40, -0.009)]), [false, false]);
        // Few rows say nothing.
        assert_eq!(after(&[values(28, -0.5), zero(28)]), [false, false]);
    }

    #[test]
    fn a_network_that_alone_is_left_has_predicted_enough() {
        let of = |candidate, rows: usize, is_out| {
            let held = Held { log_densities: vec![-1.0; rows], folds: 3, ..Held::default() };
            Runner { held: Ok(held), is_out, ..Runner::new(candidate, Fit::regression("y")) }
        };
        let (linear, network) = (Candidate::Linear, Candidate::Network);
        let is_decided_of =
            |rows, is_out| is_decided(&[of(linear, 250, is_out), of(network, rows, false)]);
        assert!(is_decided_of(250, true));
        assert!(!is_decided_of(249, true) && !is_decided_of(250, false));
        // A linear model takes no time.
        assert!(!is_decided(&[of(linear, 250, false), of(network, 250, true)]));
    }

    #[test]
    fn what_was_predicted_by_the_deadline_counts() {
        let held = || Held { log_densities: vec![-1.0; 3], folds: 1, ..Held::default() };
        let stopped = || Err(Error::Stopped { before: "it had predicted any rows".into() });
        let mut runner = Runner::new(Candidate::Linear, Fit::regression("y"));
        runner.add(0, Ok(held()));
        runner.add(1, stopped());
        runner.add(2, Ok(held())); // the rows of the folds before it are not known
        assert_eq!(runner.running().map(|held| held.folds), Some(1));
        let mut late = Runner::new(Candidate::Linear, Fit::regression("y"));
        late.add(0, stopped());
        assert!(late.running().is_none() && late.held.is_err());
    }
}
