//! The choice of a model by the data: candidates, compared by cross-validation.

mod candidates;
mod decision;
mod folds;
mod race;
mod result;

use std::borrow::Cow;
use std::time::Instant;

pub(super) use self::candidates::DEEP_ROWS;
use self::candidates::DEEP_TIMES;
pub(super) use self::decision::decided;
use self::decision::mean_and_error;
pub(super) use self::folds::{DRAWS, FOLDS, WARMUP, weights_of};
use self::race::{ENOUGH, Race};
pub(super) use self::race::{Runner, Timed};
pub use self::result::{Search, Trial, Tried};
use super::choices::Candidate;
use super::time::Pace;
use super::{Origin, Plan, Recipe};
use crate::Error;
use crate::data::Dataset;
use crate::message::{Choice, count, duration, listed};
use crate::sampler::StopHandle;

/// The stream of random numbers of a search, which no chain has.
pub(super) const STREAM: u64 = u64::MAX - 1;

/// The predictions of the first folds by one candidate.
#[derive(Default)]
pub(super) struct Held {
    log_densities: Vec<f64>,
    /// The [transform](crate::predict::Pit) of each response, row by row; none of classes and times.
    pit: Vec<f64>,
    /// The mean over folds.
    pub pace: Pace,
    folds: usize,
}

impl Held {
    /// Adds the predictions of the next fold.
    fn add(&mut self, fold: Self) {
        let (before, after) = (self.folds as f64, (self.folds + fold.folds) as f64);
        let mean = |own: f64, more: f64| (own * before + more * fold.folds as f64) / after;
        self.pace.first = mean(self.pace.first, fold.pace.first);
        self.pace.later = mean(self.pace.later, fold.pace.later);
        self.log_densities.extend(fold.log_densities);
        self.pit.extend(fold.pit);
        self.folds += fold.folds;
    }
}

impl Recipe {
    /// Whether the linear model predicts a positive response better after a logarithm than after Yeo and Johnson's power; `None` if
    /// the transform is not open, or the response is not positive.
    fn prefers_logs(&self, race: Race) -> Result<Option<bool>, Error> {
        let data = race.of.0;
        let is_positive = data.response().real().is_some_and(|y| y.iter().all(|y| *y > 0.0));
        let is_open = self.candidates_for(data).contains(&Candidate::NetworkTransformed);
        if !(is_positive && is_open) {
            return Ok(None);
        }
        let model = |takes_logs| {
            let mut recipe = self.clone();
            recipe.decided.takes_logs = takes_logs;
            Runner::new(Candidate::LinearTransformed, Candidate::LinearTransformed.of(&recipe, 1))
        };
        let mut runners = [model(false), model(true)];
        race.run(&mut runners)?;
        let [Ok(power), Ok(log)] = [&runners[0].held, &runners[1].held] else { return Ok(None) };
        let (difference, error) = race::difference(log, power, race.weights);
        self.report(&format!(
            "transform   the logarithm is {difference:+.3} +- {error:.3} from Yeo-Johnson in a linear model"
        ));
        Ok(Some(difference > 0.0)) //~ log-or-power
    }

    /// Adds the deep network to the candidates where a network is best so far, unless it is among them; or the reason why it is not
    /// tried.
    fn add_deep(
        &self,
        runners: &mut Vec<Runner>,
        of: impl Fn(Candidate) -> Runner,
        Race { folds, weights, of: (data, _), deadline, .. }: Race,
    ) -> Option<Tried> {
        let (search, pace) = decided(runners, weights);
        let (chosen, rows) = (search.chosen, folds.iter().map(|fold| fold.test.len()).sum());
        let deep = self.deeper(chosen, data.response().width(), rows)?;
        if runners.iter().any(|runner| runner.candidate == deep) {
            return None;
        }
        // Until it can be compared.
        let chains = ENOUGH.min(folds.len()).div_ceil(self.workers().min(ENOUGH));
        let seconds = DEEP_TIMES * pace?.of_fold() * chains as f64;
        let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
        let time = duration(seconds);
        if let Some(left) = left.map(|left| left.as_secs_f64()).filter(|left| seconds > *left) {
            let left = duration(left);
            let why = format!("not tried: it takes about {time}, and {left} are left");
            return Some(Tried { candidate: deep, outcome: Trial::Failed(why) });
        }
        self.report(&format!(
            "            {chosen} is best so far: {deep} is compared, too, in about {time}"
        ));
        runners.push(of(deep));
        None
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
        let candidates = self.candidates_for(data);
        let mut own = self.clone();
        // What is wrong with the table, or with a setting, is said before time is spent.
        let stopped = StopHandle::new();
        stopped.stop();
        let first = candidates[0].of(self, columns).stop_handle(&stopped);
        let plan = Plan::new(first, Cow::Borrowed(data), origin.clone())?;
        drop(plan.recipe.sample(&plan, None)?);
        drop(plan);
        let folds = self.folds(data)?;
        let rows: usize = folds.iter().map(|fold| fold.test.len()).sum();
        let names: Vec<String> = candidates.iter().map(|c| c.name().to_string()).collect();
        self.report(&format!(
            "model       chosen among {} by the log densities of {}, in {} folds",
            listed(names),
            count(rows, "row"),
            folds.len()
        ));
        let weights = weights_of(&folds, data);
        let of = (data, origin);
        let race = Race { recipe: self, folds: &folds, weights: &weights, of, deadline };
        own.decided.takes_logs = self.prefers_logs(race)?.unwrap_or(false);
        let of = |candidate: Candidate| Runner::new(candidate, candidate.of(&own, columns));
        let mut runners: Vec<Runner> = candidates.into_iter().map(of).collect();
        // A deep network takes long: it begins as soon as no linear model can be chosen any more, else if a network is chosen.
        race.run_stage(&mut runners, 1)?;
        let mut untried = None;
        if runners.iter().all(|of| of.running().is_none() || !of.candidate.is_linear()) {
            untried = self.add_deep(&mut runners, of, race);
        }
        race.run(&mut runners)?;
        if untried.is_none() {
            untried = self.add_deep(&mut runners, of, race);
            race.run(&mut runners)?;
        }
        let (mut search, pace) = decided(&runners, &weights);
        search.tried.extend(untried);
        if self.reader.offset().is_none() && search.rows > 0 {
            search.intercept_only = self
                .intercept_only(data, &folds)
                .map(|densities| mean_and_error(&densities[..search.rows], &weights).0)
                .filter(|density| density.is_finite());
        }
        self.report(&search.to_string());
        let mut recipe = search.chosen.of(&own, columns);
        recipe.decided.search = Some(search);
        let rows = self.rows_by_fold(data, &folds[0])?;
        Ok((recipe, pace.map(|pace| pace.times(rows))))
    }
}

#[cfg(test)]
mod tests {
    use super::decision::coverage;
    use super::folds::PREDICTED;
    use super::*;
    use crate::data::{Split, Task};
    use crate::fit::{Fit, Method, Noise};

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
        Ok(Held { log_densities: log_densities.to_vec(), pit, pace: Pace::default(), folds: 1 })
    }

    /// The search that candidates with these predictions make.
    fn found<const N: usize>(
        candidates: [Candidate; N],
        held: [Result<Held, Error>; N],
        weights: &[f64],
    ) -> (Search, Option<Pace>) {
        let runner =
            |(candidate, held)| Runner { held, ..Runner::new(candidate, Fit::regression("y")) };
        let runners: Vec<Runner> = candidates.into_iter().zip(held).map(runner).collect();
        decided(&runners, weights)
    }

    const THREE: [Candidate; 3] =
        [Candidate::Linear, Candidate::Network, Candidate::NetworkTransformed];

    /// Differences of -0.2 and 0.1 in turns: their mean is -0.05, and its standard error over 4 rows 0.15 / sqrt(3).
    #[test]
    fn the_simplest_without_a_network_within_a_standard_error_is_chosen_else_the_best() {
        let within = || held(&[-1.2, -0.9, -1.2, -0.9]);
        // Of networks the best one.
        let (search, _) = found(THREE, [held(&[-3.0; 4]), within(), held(&[-1.0; 4])], &[]);
        assert_eq!(search.chosen, Candidate::NetworkTransformed);
        let alike = [held(&[-3.0; 4]), held(&[-1.004; 4]), held(&[-1.0; 4])];
        assert_eq!(found(THREE, alike, &[]).0.chosen, Candidate::Network);

        let three = [Candidate::Linear, Candidate::Additive, Candidate::NetworkTransformed];
        let (search, _) = found(three, [held(&[-3.0; 4]), within(), held(&[-1.0; 4])], &[]);
        assert_eq!((search.chosen, search.rows), (Candidate::Additive, 4));
        let Some(Trial::Scored { log_density, difference, se_difference, .. }) =
            search.of(Candidate::NetworkTransformed)
        else {
            panic!("{search}")
        };
        assert!((log_density + 1.0).abs() < 1e-12 && (difference - 0.05).abs() < 1e-12);
        assert!((se_difference - 0.15 / 3f64.sqrt()).abs() < 1e-12);

        // A difference of -0.2 in every row has no error, and is more than one.
        let held_out = [held(&[-3.0; 4]), held(&[-1.2; 4]), held(&[-1.0; 4])];
        assert_eq!(found(three, held_out, &[]).0.chosen, Candidate::NetworkTransformed);
    }

    /// Student's t is what makes each step of `Collapsed` dear, and classes have no layer to integrate out.
    #[test]
    fn networks_are_sampled_by_mams_unless_their_noise_is_normal() {
        let of = |candidate: Candidate, recipe: Recipe, columns| {
            candidate.of(&recipe, columns).settings.method.expect("of a candidate")
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
            let (search, _) = found([Candidate::Linear, Candidate::Network], held_out, weights);
            let coverage = coverage(&[0.5, 0.99, 0.2][..rows[0].len().min(3)], 3, weights);
            (search.tried, coverage)
        };
        let (weighted, shares) = of([&[-1.0, -2.0, -4.0], &[-1.5, -1.0, -3.0]], &[2.0, 1.0, 1.0]);
        let (written, _) = of([&[-1.0, -1.0, -2.0, -4.0], &[-1.5, -1.5, -1.0, -3.0]], &[]);
        for (own, other) in weighted.iter().zip(&written) {
            let numbers = |tried: &Tried| match tried.outcome {
                Trial::Scored { log_density, difference, se_difference, .. } => {
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
        let (search, _) = found(THREE, [failed(), held(&[-1.0, -2.0]), failed()], &[]);
        assert_eq!(search.chosen, Candidate::Network);
        let lines = search.to_string();
        assert!(lines.contains("-  ended before it had predicted any rows"), "{lines}");
        assert_eq!(search.in_words(), ["log density of a row that it has not seen -1.500"]);
        let (search, _) = found(THREE, [held(&[-1.0, -2.0]), failed(), failed()], &[]);
        let said = search.in_words();
        assert!(said[0].contains("(2 candidates could not be compared)"), "{said:?}");
        let (search, pace) = found(THREE, [failed(), failed(), failed()], &[]);
        assert_eq!((search.chosen, search.rows), (Candidate::Linear, 0));
        assert!(pace.is_none());
    }

    #[test]
    fn a_density_without_features_is_of_the_other_folds() {
        let of = |data: Dataset, train: &[usize], test: &[usize]| {
            let fold = Split { train: train.into(), test: test.into() };
            let task = Task::of(data.response());
            Fit::of(task, "y").intercept_only(&data, &[fold])
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
