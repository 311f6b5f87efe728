//! Times, and other numbers with bounds.

use super::{Kind, Noise, Variant, normal};
use crate::Error;
use crate::data::{Dataset, Transform};
use crate::fit::choices::Candidate;
use crate::fit::{AnyLikelihood, Origin};
use crate::likelihood::{Censored, NOT_AT_ZERO, TIMES, TimeFamily};
use crate::message::number;
use crate::prior::{Normal, Priors};

/// Mean and standard deviation of the log of the scale of times.
const TIME_SCALE: (f64, f64) = (-0.5, 1.0);

/// Times of this family.
pub(super) struct Times(pub TimeFamily);

impl Kind for Times {
    /// In units of the training rows.
    fn likelihood(&self, train: &Dataset) -> Result<(AnyLikelihood, usize), Error> {
        let censored = Censored::of(self.0);
        let train = train.counted();
        let Some((lower, upper)) = train.response().bounds() else {
            return Ok((AnyLikelihood::Censored(censored), 1)); // which says what it expects
        };
        let floor = if self.0.is_of_logs() { 0.0 } else { f64::NEG_INFINITY };
        let column = format!("column `{}`", train.response_names()[0]);
        let nothing = |problem: &str| {
            Error::table(&column, problem)
                .advise(["there is nothing to learn of this response".into()])
        };
        if upper.iter().all(|u| *u == f64::INFINITY) {
            return Err(nothing("every row is right-censored: no event happened"));
        }
        if lower.iter().all(|l| *l <= floor) {
            return Err(nothing(
                "every row is left-censored: no time is known to be longer than any other",
            ));
        }
        let (lower, upper) = (lower.to_vec(), upper.to_vec());
        let weights = train.weights().map(|w| w.to_vec());
        let units = censored.fitted_units(&lower, &upper, weights.as_deref());
        let Some((centre, spread)) = units else {
            return Err(nothing("the same time in every row"));
        };
        Ok((AnyLikelihood::Censored(censored.in_units(centre, spread)?), 1)) //~ units-of-times
    }

    fn with_own(&self, priors: Priors, _train: &Dataset) -> Result<Priors, Error> {
        //~ scale-of-times
        Ok(priors.with("log_scale", Normal::new(TIME_SCALE.0, TIME_SCALE.1)?))
    }

    fn in_words(&self) -> String {
        format!(
            "{} times with bounds, the output is the location, both in units of the training rows' spread around their \
             centre, {}",
            self.0.words(),
            normal("log scale", TIME_SCALE)
        )
    }

    /// An error if times have no logarithm, or say nothing.
    fn check(&self, data: &Dataset, origin: &Origin, _after: Transform) -> Result<(), Error> {
        let Some((lower, upper)) = data.response().bounds().filter(|_| self.0.is_of_logs()) else {
            return Ok(());
        };
        let is_time = |(l, u): (&f64, &f64)| *u > 0.0 && (*l >= 0.0 || *l == f64::NEG_INFINITY);
        match lower.iter().zip(upper).position(|row| !is_time(row)) {
            None => Ok(()),
            Some(row) => {
                let time = if upper[row] > 0.0 { lower[row] } else { upper[row] };
                let problem = format!("{} is no time, which must be {TIMES}", number(time));
                Err(origin.wrong_response(data, (row, 0), problem, NOT_AT_ZERO))
            }
        }
    }

    fn has_log_link(&self) -> bool {
        self.0.is_of_logs()
    }

    fn candidates(&self, _columns: usize) -> &'static [Variant] {
        const WEIBULL: Option<Noise> = Some(Noise::Weibull);
        &[
            (Candidate::Linear, None, Transform::None),
            (Candidate::LinearTransformed, None, Transform::None),
            (Candidate::LinearWeibull, WEIBULL, Transform::None),
            (Candidate::Additive, None, Transform::None),
            (Candidate::Network, None, Transform::None),
            (Candidate::NetworkCurves, None, Transform::None),
            (Candidate::NetworkWeibull, WEIBULL, Transform::None),
        ]
    }
}
