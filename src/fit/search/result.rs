//! What a search has found.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::fit::choices::Candidate;
use crate::message::{Choice, count, listed};

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
/// in the response's own units, so that candidates with and without a transform compare. The chosen one is the simplest linear or
/// additive one whose mean is at most one standard error below the best one's, with the error of the mean difference over paired rows,
/// else the best network; of those that differ by at most 0.005 the simplest. **Candidates race over the folds**: after one, three and
/// five of them those are out that are two and a half standard errors behind another one, or that, at one standard error above
/// their mean, would not be 0.005 better than a simpler one; among networks one and a half decide both. A network that alone is left after three
/// folds and 250 rows predicts no more of them. Where the time for a search is over, the rows
/// count that all that are left have predicted. The transform of a positive response is chosen before, by linear models: the logarithm, or
/// Yeo and Johnson's power. For one real response of 250 rows or more [`NetworkDeep`](Candidate::NetworkDeep) is
/// compared as well where networks alone are left after the first fold, or a network is chosen, if its chains would end in time. The folds have four fifths of the rows, and chains are short and single, which is to the disadvantage of the
/// larger models.
///
/// A real response of at most 12 different values of 20 rows or more on average, such as grades, is given no noise by row: a density that narrows
/// onto such values grows without bound, while its mean gets worse. Classes in order ([`Noise::Ordinal`](crate::fit::Noise::Ordinal)) suit it better than any
/// density.
///
/// Sources: cross-validation of log densities, Vehtari and Lampinen 2002,
/// <https://doi.org/10.1162/08997660260293292>; the rule of one standard error, Breiman, Friedman, Olshen and Stone 1984,
/// Classification and Regression Trees, section 3.4.3, <https://doi.org/10.1201/9781315139470>. It is for models that are simple: of
/// networks within one standard error the simplest was worse than the best by 0.18 on yacht and 0.06 on Boston housing, and better by 0.05
/// on penguins (a fifth of the rows each).
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
                        write!(f, ", on {}", count(*rows, "row"))?;
                    }
                }
                Trial::Failed(why) => write!(f, "{end}{name:24}         -  {why}")?,
            }
        }
        Ok(())
    }
}
