//! Which of several models predicts better?

use std::fmt;

use serde::{Deserialize, Serialize};

use super::super::scores::nan_as_null;
use super::{Loo, sum_and_error};
use crate::Error;
use crate::message::number;

/// Below this difference of elpd models predict about alike, and the standard error of the
/// difference is not to be trusted (Sivula et al. 2020).
const SMALL_DIFFERENCE: f64 = 4.0;

/// Below this number of rows standard errors tend to be too small (Sivula et al. 2020).
const FEW_ROWS: usize = 100;

/// Models by their elpd, the best first; printed as a table. From [`Loo::compare`].
///
/// With n rows and d_i = elpd_i(model) - elpd_i(best), in nats,
///
/// ```text
/// difference = sum_i d_i,      se_difference = sqrt(n sum_i (d_i - difference / n)^2 / (n - 1))
/// ```
///
/// The error is computed from paired rows: it is mostly smaller than the errors of the two elpd,
/// since the same rows are hard for both models. A difference of some standard errors is a
/// difference in prediction. Both numbers deceive in three cases (Sivula, Magnusson, Matamoros and
/// Vehtari 2020, arXiv:2008.10296), of which the table warns: a difference below 4, of models that
/// predict about alike; fewer than 100 rows, where the error tends to be too small; and models that
/// both miss the data badly, as rows with a bad k and a p_loo above the number of parameters show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LooComparison {
    /// The models, by falling elpd; models of equal elpd in the order in which they were given.
    pub models: Vec<ComparedModel>,
    /// The number of rows, n.
    pub rows: usize,
}

/// One model of a [`LooComparison`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedModel {
    /// The name that it was given.
    pub name: String,
    /// The expected log predictive density of the model, in nats.
    pub elpd: f64,
    /// The elpd of the model less the elpd of the best model: 0 for the best, else negative.
    pub difference: f64,
    /// The standard error of the difference; 0 for the best model.
    #[serde(with = "nan_as_null")]
    pub se_difference: f64,
    /// The effective number of parameters.
    pub p_loo: f64,
    /// The number of rows whose estimate is [unreliable](Loo::unreliable).
    pub unreliable: usize,
}

impl Loo {
    /// Compares models of the same rows by name: the difference of each from the best, with its
    /// standard error. See [`LooComparison`].
    ///
    /// # Errors
    /// Fewer than two models, two of one name, different numbers or weights of rows, or, where both are known,
    /// different responses (other rows, another order, another unit). The error names the models
    /// that differ.
    pub fn compare(models: &[(&str, &Self)]) -> Result<LooComparison, Error> {
        if models.len() < 2 {
            return Err(Error::argument("number of models", models.len(), "at least 2"));
        }
        let (first, known) = (models[0], models.iter().find(|(_, loo)| loo.response.is_some()));
        for (i, (name, loo)) in models.iter().enumerate() {
            if models[..i].iter().any(|(other, _)| other == name) {
                return Err(Error::argument(
                    "name of a model",
                    format!("`{name}` twice"),
                    "another one for each",
                ));
            }
            if loo.rows.len() != first.1.rows.len() {
                let expected = format!("{}, as of `{}`", first.1.rows.len(), first.0);
                return Err(Error::shape(format!("rows of `{name}`"), loo.rows.len(), expected));
            }
            if loo.weights != first.1.weights {
                let name = format!("weights of the rows of `{name}`");
                let shown = |loo: &Self| match loo.weights.is_empty() {
                    true => "none".to_string(),
                    false => format!("of the sum {}", number(loo.weights.iter().sum())),
                };
                let expected = format!("the same as of `{}`, {}", first.0, shown(first.1));
                return Err(Error::argument(name, shown(loo), expected));
            }
            if let (Some(found), Some((other, Self { response: Some(expected), .. }))) =
                (loo.response, known)
                && found != *expected
            {
                return Err(Error::shape(
                    format!("response of `{name}`"),
                    format!("checksum {found:08x}"),
                    format!(
                        "checksum {expected:08x}, as of `{other}`: the same rows of the same response, in one order \
                         and one unit"
                    ),
                ));
            }
        }
        let mut sorted = models.to_vec();
        sorted.sort_by(|a, b| b.1.elpd.total_cmp(&a.1.elpd));
        let best = sorted[0].1;
        let compared = |(i, (name, loo)): (usize, &(&str, &Self))| {
            let (difference, se_difference) = if i == 0 { (0.0, 0.0) } else { loo.less(best) };
            ComparedModel {
                name: (*name).to_string(),
                elpd: loo.elpd,
                difference,
                se_difference,
                p_loo: loo.p_loo,
                unreliable: loo.unreliable().len(),
            }
        };
        let models = sorted.iter().enumerate().map(compared).collect();
        Ok(LooComparison { models, rows: best.rows.len() })
    }

    /// The difference from another elpd of the same rows, and its standard error.
    fn less(&self, other: &Self) -> (f64, f64) {
        let each = self.rows.iter().zip(&other.rows).map(|(a, b)| a.elpd - b.elpd);
        let (difference, error) = sum_and_error(&self.weights, each);
        (difference, error) //~ loo-difference-error
    }
}

impl LooComparison {
    /// Reasons not to take differences and errors at their word; empty if there are none.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let names = |models: Vec<&ComparedModel>| {
            models.iter().map(|m| format!("`{}`", m.name)).collect::<Vec<_>>().join(", ")
        };
        let others = self.models.iter().skip(1);
        let close: Vec<_> = others.filter(|m| m.difference.abs() < SMALL_DIFFERENCE).collect();
        if !close.is_empty() {
            warnings.push(format!(
                "less than {SMALL_DIFFERENCE} from `{}`: {}. Models so close predict about alike, and the standard error of \
                 so small a difference is unreliable",
                self.models[0].name,
                names(close)
            ));
        }
        if self.rows < FEW_ROWS {
            warnings.push(format!(
                "{} rows are fewer than {FEW_ROWS}: standard errors of differences tend to be too small",
                self.rows
            ));
        }
        let unreliable: Vec<_> = self.models.iter().filter(|m| m.unreliable > 0).collect();
        if !unreliable.is_empty() {
            warnings.push(format!(
                "some rows of {} have a k too large for their estimate, which is then not reliable",
                names(unreliable)
            ));
        }
        warnings
    }
}

impl fmt::Display for LooComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |m: &ComparedModel| m.name.chars().count();
        let width = self.models.iter().map(name).max().unwrap_or(0).max(5);
        write!(f, "{:width$} {:>12} {:>12}", "model", "elpd_loo", "difference")?;
        writeln!(f, " {:>12} {:>9} {:>10}", "its error", "p_loo", "unreliable")?;
        for m in &self.models {
            write!(f, "{:width$} {:12.2} {:12.2}", m.name, m.elpd, m.difference)?;
            writeln!(f, " {:12.2} {:9.2} {:10}", m.se_difference, m.p_loo, m.unreliable)?;
        }
        self.warnings().iter().try_for_each(|warning| writeln!(f, "warning: {warning}"))
    }
}
