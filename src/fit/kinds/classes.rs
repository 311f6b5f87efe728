//! Classes in no order.

use super::{Kind, total, weight};
use crate::Error;
use crate::data::{Dataset, Split};
use crate::fit::AnyLikelihood;
use crate::likelihood::{Bernoulli, Categorical};
use crate::portable::ln;

/// Two classes, with the logit of the second as the output, or more, with an output for each.
pub(super) struct Classes;

impl Kind for Classes {
    fn likelihood(&self, train: &Dataset) -> Result<(AnyLikelihood, usize), Error> {
        Ok(match number(train) {
            classes if classes > 2 => (AnyLikelihood::Categorical(Categorical), classes),
            _ => (AnyLikelihood::Bernoulli(Bernoulli), 1),
        })
    }

    fn in_words(&self) -> String {
        "Bernoulli of two classes, one output; categorical of more, an output for each".into()
    }

    /// Of logits, so that classes can be told apart with certainty.
    fn output_scale(&self) -> f64 {
        4.0 //~ scale-of-logits
    }

    /// The logs of the shares of the classes in the other rows, and one row more of each class.
    fn intercept_only(&self, data: &Dataset, fold: &Split) -> Option<Vec<f64>> {
        let index = data.response().classes()?;
        let mut rows = vec![1.0; number(data)];
        fold.train.iter().for_each(|&row| rows[index[row]] += weight(data, row));
        let all = total(data, fold) + rows.len() as f64;
        Some(fold.test.iter().map(|&row| ln(rows[index[row]] / all)).collect())
    }
}

/// The number of classes. Of another kind of response, the likelihood says what it expects.
pub(super) fn number(train: &Dataset) -> usize {
    train.response().class_names().map_or(2, <[String]>::len)
}
