//! Classes in order.

use super::Kind;
use super::classes::{Classes, number};
use crate::Error;
use crate::data::{Dataset, Split};
use crate::fit::AnyLikelihood;
use crate::likelihood::Ordinal;
use crate::portable::ln;
use crate::prior::{Normal, Priors};

/// Standard deviations of the first cutpoint between classes in order, and of the logs of the increments of the
/// others. Their means give classes of about one size.
const CUTPOINTS: (f64, f64) = (1.5, 1.0);

/// Classes in order, with a cumulative logit.
pub(super) struct Ordered;

impl Kind for Ordered {
    fn likelihood(&self, train: &Dataset) -> Result<(AnyLikelihood, usize), Error> {
        let ordinal = Ordinal::new(number(train))?.with_first_cutpoint(0.0)?;
        Ok((AnyLikelihood::Ordinal(ordinal), 1))
    }

    fn with_own(&self, priors: Priors, train: &Dataset) -> Result<Priors, Error> {
        let classes = number(train);
        if classes <= 2 {
            return Ok(priors);
        }
        let mean = mean_log_increment(classes);
        //~ increments-of-fit
        Ok(priors.with("log_increments", Normal::new(mean, CUTPOINTS.1)?))
    }

    fn in_words(&self) -> String {
        format!(
            "cumulative logit of the classes in their order, one output, the first cutpoint at 0, log increments of the \
             others ~ N(m, {}^2), m as of classes of one size",
            CUTPOINTS.1
        )
    }

    fn bias(&self, train: &Dataset, _has_offset: bool) -> Option<(f64, f64)> {
        let names = train.response().class_names()?;
        Some((ln(names.len() as f64 - 1.0), CUTPOINTS.0)) //~ ordinal-bias
    }

    fn bias_in_words(&self) -> Option<(&'static str, String)> {
        Some(("log(number of classes - 1)", format!("{}^2", CUTPOINTS.0)))
    }

    fn output_scale(&self) -> f64 {
        Classes.output_scale()
    }

    fn intercept_only(&self, data: &Dataset, fold: &Split) -> Option<Vec<f64>> {
        Classes.intercept_only(data, fold)
    }
}

/// The log of the mean increment of the cutpoints of K > 2 classes of one size: the last cutpoint is log(K - 1), and
/// the first one minus that.
fn mean_log_increment(classes: usize) -> f64 {
    let k = classes as f64;
    ln(2.0 * ln(k - 1.0) / (k - 2.0))
}
