//! The choice of a model by the data: candidates, compared by cross-validation.

mod candidates;
mod decision;
mod folds;
mod race;

use std::borrow::Cow;
use std::fmt;
use std::time::Instant;

use serde::{Deserialize, Serialize};

pub(super) use self::candidates::DEEP_ROWS;
use self::candidates::DEEP_TIMES;
pub(super) use self::decision::decided;
use self::decision::mean_and_error;
pub(super) use self::race::Runner;
pub(super) use self::folds::{DRAWS, FOLDS, WARMUP, weights_of};
use super::choices::Candidate;
use super::forecast::Pace;
use super::{Origin, Parts, Recipe};
use crate::Error;
use crate::data::{Dataset, Split};
use crate::message::{Choice, count, duration, listed};
use crate::sampler::StopHandle;

/// The stream of random numbers of a search, which no chain has.
pub(super) const STREAM: u64 = u64::MAX - 1;

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
/// whose mean is at most one standard error, or 0.005, below the best one's, with the error of the mean difference over paired
/// rows. **Candidates race over the folds**: after each of them those are out that are two and a half standard errors behind another one, or
/// that, at one standard error above their mean, would not be 0.005 better than a simpler one. Where the time for a search is over, the rows
/// count that all that are left have predicted. The transform of a positive response is chosen before, by linear models: the logarithm, or
/// Yeo and Johnson's power. Where a network is chosen for one real response of 250 rows or more, [`NetworkDeep`](Candidate::NetworkDeep) is
/// compared as well, if its chains would end in time. The folds have four fifths of the rows, and chains are short and single, which is to the disadvantage of the
/// larger models.
///
/// A real response of at most 12 different values of 20 rows or more on average, such as grades, is given no noise by row: a density that narrows
/// onto such values grows without bound, while its mean gets worse. Classes in order ([`Noise::Ordinal`](super::Noise::Ordinal)) suit it better than any
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
        /// The mean log predictive density of a row, in nats: of the chosen candidate, and the difference.
        log_density: f64,
        /// That mean less the one of the chosen candidate.
        difference: f64,
        /// The standard error of the difference; 0 for the chosen candidate.
        se_difference: f64,
        /// The number of rows that both have predicted: not all if one of them was out before.
        #[serde(default)]
        rows: usize,
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
                Some(Trial::Scored { log_density: linear, difference, se_difference, .. }),
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
                Trial::Scored { log_density, difference, se_difference, rows } => {
                    write!(
                        f,
                        "{end}{name:24} {log_density:>9.3}  {difference:+.3} +- {se_difference:.3}"
                    )?;
                    if (1..self.rows).contains(rows) {
                        write!(f, ", out after {}", count(*rows, "row"))?;
                    }
                }
                Trial::Failed(why) => write!(f, "{end}{name:24}         -  {why}")?,
            }
        }
        Ok(())
    }
}

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
    fn prefers_logs(
        &self,
        folds: &[Split],
        weights: &[f64],
        of: (&Dataset, &Origin),
        deadline: Option<Instant>,
    ) -> Result<Option<bool>, Error> {
        let is_positive = of.0.response().real().is_some_and(|y| y.iter().all(|y| *y > 0.0));
        let is_open = self.candidates_for(of.0).contains(&Candidate::NetworkTransformed);
        if !(is_positive && is_open) {
            return Ok(None);
        }
        let model = |takes_logs| {
            let mut recipe = self.clone();
            recipe.takes_logs = takes_logs;
            Runner::new(Candidate::LinearTransformed, Candidate::LinearTransformed.of(&recipe, 1))
        };
        let mut runners = [model(false), model(true)];
        self.race(&mut runners, folds, weights, of, deadline)?;
        let [Ok(power), Ok(log)] = [&runners[0].held, &runners[1].held] else { return Ok(None) };
        let (difference, error) = race::difference(log, power, weights);
        self.report(&format!(
            "transform   the logarithm is {difference:+.3} +- {error:.3} from Yeo-Johnson in a linear model"
        ));
        Ok(Some(difference > 0.0)) //~ log-or-power
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
        let weights = weights_of(&folds, data);
        own.takes_logs =
            self.prefers_logs(&folds, &weights, (data, origin), deadline)?.unwrap_or(false);
        let of = |candidate: Candidate| Runner::new(candidate, candidate.of(&own, columns));
        let mut runners: Vec<Runner> = candidates.into_iter().map(of).collect();
        self.race(&mut runners, &folds, &weights, (data, origin), deadline)?;
        let (mut search, mut pace) = decided(&runners, &weights);
        if let (Some(deep), Some(shallow)) = (self.deeper(search.chosen, columns, rows), pace) {
            let chains = folds.len().div_ceil(self.workers().min(folds.len()));
            let seconds = DEEP_TIMES * shallow.of_fold() * chains as f64;
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_none_or(|left| seconds < left.as_secs_f64()) {
                let (chosen, time) = (search.chosen, duration(seconds));
                self.report(&format!(
                    "            {chosen} is best so far: {deep} is compared, too, in about {time}"
                ));
                runners.push(of(deep));
                self.race(&mut runners, &folds, &weights, (data, origin), deadline)?;
                (search, pace) = decided(&runners, &weights);
            } else {
                let left = duration(left.unwrap_or_default().as_secs_f64());
                let why =
                    format!("not tried: it takes about {}, and {left} are left", duration(seconds));
                search.tried.push(Tried { candidate: deep, outcome: Trial::Failed(why) });
            }
        }
        if self.reader.offset().is_none() && search.rows > 0 {
            search.intercept_only = self
                .intercept_only(data, &folds)
                .map(|densities| mean_and_error(&densities, &weights).0)
                .filter(|density| density.is_finite());
        }
        self.report(&search.to_string());
        let mut recipe = search.chosen.of(&own, columns);
        recipe.search = Some(search);
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
        let runner = |(candidate, held)| Runner {
            held,
            ..Runner::new(candidate, Fit::regression("y"))
        };
        let runners: Vec<Runner> = candidates.into_iter().zip(held).map(runner).collect();
        decided(&runners, weights)
    }

    const THREE: [Candidate; 3] =
        [Candidate::Linear, Candidate::Network, Candidate::NetworkTransformed];

    /// Differences of -0.2 and 0.1 in turns: their mean is -0.05, and its standard error over 4 rows 0.15 / sqrt(3).
    #[test]
    fn the_simplest_within_a_standard_error_is_chosen() {
        let held_out = [held(&[-3.0; 4]), held(&[-1.2, -0.9, -1.2, -0.9]), held(&[-1.0; 4])];
        let (search, _) = found(THREE, held_out, &[]);
        assert_eq!((search.chosen, search.rows), (Candidate::Network, 4));
        let Some(Trial::Scored { log_density, difference, se_difference, .. }) =
            search.of(Candidate::NetworkTransformed)
        else {
            panic!("{search}")
        };
        assert!((log_density + 1.0).abs() < 1e-12 && (difference - 0.05).abs() < 1e-12);
        assert!((se_difference - 0.15 / 3f64.sqrt()).abs() < 1e-12);

        // A difference of -0.2 in every row has no error, and is more than one.
        let held_out = [held(&[-3.0; 4]), held(&[-1.2; 4]), held(&[-1.0; 4])];
        assert_eq!(found(THREE, held_out, &[]).0.chosen, Candidate::NetworkTransformed);
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
