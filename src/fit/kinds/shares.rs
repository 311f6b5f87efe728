//! Shares between 0 and 1, which are not standardised.

use super::{Kind, Variant, normal, real, summed};
use crate::Error;
use crate::data::{Dataset, Split, Transform};
use crate::fit::choices::WeightPrior;
use crate::fit::{AnyLikelihood, Origin};
use crate::likelihood::{Beta, NOT_AT_ENDS, SHARES, is_share};
use crate::message::{Setting, number};
use crate::portable::{ln, ln_1p};
use crate::prior::{Normal, Priors};

/// Mean and standard deviation of the log of a precision of shares.
const PRECISION: (f64, f64) = (2.5, 1.5);

/// Shares with a beta distribution.
pub(super) struct Shares;

impl Kind for Shares {
    fn likelihood(&self, train: &Dataset) -> Result<(AnyLikelihood, usize), Error> {
        Ok((AnyLikelihood::Beta(Beta), train.response().width()))
    }

    fn with_own(&self, priors: Priors, _train: &Dataset) -> Result<Priors, Error> {
        //~ precision-of-fit
        Ok(priors.with("log_precision", Normal::new(PRECISION.0, PRECISION.1)?))
    }

    fn in_words(&self) -> String {
        let precision = normal("log precision", PRECISION);
        format!("beta, the logit of the mean is the output, {precision}")
    }

    fn check(&self, data: &Dataset, origin: &Origin, after: Transform) -> Result<(), Error> {
        let Some(y) = data.response().real() else { return Ok(()) };
        if !after.is_none() {
            let allowed = "chosen for real responses other than shares, whose output is a logit";
            let error = Error::argument("transform", "chosen for shares", allowed);
            return Err(error.of(Setting::Transform));
        }
        match y.indexed_iter().find(|(_, y)| !is_share(**y)) {
            None => Ok(()),
            Some((cell, y)) => {
                let problem = format!("{} is no share, which must be {SHARES}", number(*y));
                Err(origin.wrong_response(data, cell, problem, NOT_AT_ENDS))
            }
        }
    }

    fn bias(&self, train: &Dataset, _has_offset: bool) -> Option<(f64, f64)> {
        let y = train.response().real()?;
        let values = train.total_weight() * y.ncols() as f64;
        let mean = summed(y.view(), train.weights()) / values;
        Some((ln(mean) - ln_1p(-mean), 1.0)) //~ share-bias
    }

    fn bias_in_words(&self) -> Option<(&'static str, String)> {
        Some(("the logit of the mean share", "1".into()))
    }

    fn prior_of_linear(&self) -> WeightPrior {
        WeightPrior::FanIn
    }

    fn candidates(&self, _columns: usize) -> &'static [Variant] {
        real::SEVERAL
    }

    fn intercept_only(&self, data: &Dataset, fold: &Split) -> Option<Vec<f64>> {
        real::NORMAL.intercept_only(data, fold)
    }
}
