//! The kinds of noise by name, and the kind of response of each.

use serde::{Deserialize, Serialize};

use super::Kind;
use super::counts::{Counts, Zeros};
use super::ordered::Ordered;
use super::real::{NORMAL, Real};
use super::shares::Shares;
use super::times::Times;
use crate::choice::choice;
use crate::data::Task;
use crate::likelihood::TimeFamily;

/// The distribution of responses around the predictions of the network.
///
/// Priors of the likelihood's own parameters, on the scale of the standardised response:
///
/// | parameter | prior |
/// | --- | --- |
/// | squared scale of noise | inverse gamma of shape 1/2 and scale 1/200: tau = 0.1 / \|z\| with z standard normal |
/// | degrees of freedom | e^N(2, 1) |
/// | log standard deviation that is linear in the features | slopes N(0, 0.5^2), bias N(-1.5, 1.5^2) |
/// | dispersion | e^N(1, 1.5^2) |
/// | share of extra zeros, or of all zeros | its logit is N(0, 1.5^2): nearly uniform |
/// | precision of shares | e^N(2.5, 1.5^2): a standard deviation of 0.03 to 0.4 around a mean of 1/2 |
/// | scale of times | e^N(-0.5, 1), in units of the spread below |
/// | increments of the K - 1 cutpoints of classes in order | e^N(log(2 log(K - 1) / (K - 2)), 1) |
/// | the output's bias | of counts N(log of the mean count, 1), of shares N(logit of the mean share, 1), of K classes in order N(log(K - 1), 1.5^2) |
///
/// Of times, the output is in units of a spread around a centre: mean and standard deviation of a normal distribution of
/// the log times of the training rows, by maximum likelihood given their bounds, so that times that are longer than they
/// were followed are not taken for short ones. Log densities and predictions are in the unit of the times.
///
/// Of classes in order, the first cutpoint is 0, and minus the output's bias takes its place ([`Ordinal`](crate::likelihood::Ordinal)):
/// at the mean of its prior the first class has the probability 1/K where all else is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Noise {
    /// For real responses: [normal](crate::likelihood::Gaussian) with one standard deviation, which
    /// is sampled. The default.
    Gaussian,
    /// For real responses: [normal](crate::likelihood::HeteroscedasticGaussian) with a standard
    /// deviation whose logarithm is [linear in the features](crate::model::LogSd), apart from the
    /// network.
    Heteroscedastic,
    /// For real responses: [Student's t](crate::likelihood::StudentTNoise), for outliers; scale and
    /// degrees of freedom are sampled.
    StudentT,
    /// For real responses: [Student's t](crate::likelihood::StudentTNoise::heteroscedastic) with a scale
    /// as of [`Heteroscedastic`](Self::Heteroscedastic) noise.
    HeteroscedasticStudentT,
    /// For shares between 0 and 1, real responses that are not standardised: [beta](crate::likelihood::Beta), with
    /// the logit of the mean as the output; the precision is sampled.
    Beta,
    /// For counts: [Poisson](crate::likelihood::Poisson), whose variance is the mean.
    Poisson,
    /// For counts: [negative binomial](crate::likelihood::NegativeBinomial), whose dispersion is
    /// sampled. The default.
    NegativeBinomial,
    /// For counts: [Poisson with extra zeros](crate::likelihood::ZeroInflated::poisson), whose share is sampled.
    ZeroInflatedPoisson,
    /// For counts: [negative binomial with extra zeros](crate::likelihood::ZeroInflated::negative_binomial);
    /// share and dispersion are sampled.
    ZeroInflatedNegativeBinomial,
    /// For counts: [Poisson above 0](crate::likelihood::Hurdle::poisson), and zeros whose share is sampled.
    HurdlePoisson,
    /// For counts: [negative binomial above 0](crate::likelihood::Hurdle::negative_binomial), and zeros; their share and
    /// the dispersion are sampled.
    HurdleNegativeBinomial,
    /// For times: [log-normal](crate::likelihood::Censored::log_normal), whose scale is sampled. The default.
    LogNormal,
    /// For times: [Weibull](crate::likelihood::Censored::weibull), whose shape is sampled.
    Weibull,
    /// For numbers with bounds, such as measurements below a limit of detection:
    /// [normal](crate::likelihood::Censored::normal); the standard deviation is sampled.
    Normal,
    /// For classes in order: [cumulative logit](crate::likelihood::Ordinal), with one output and sampled cutpoints. The
    /// order is the order of the classes' numbers in the [response](crate::data::Response::Classes), which for a
    /// table is the one of [`CsvReader::classes`](crate::data::CsvReader::classes), else by size if the names
    /// are numbers, and alphabetical if not. A fit that reports its
    /// [progress](crate::fit::Recipe::progress) says it.
    Ordinal,
}

choice! { "noise", Noise {
    Self::Gaussian, Self::Gaussian, "gaussian", "Real responses: normal, one standard deviation";
    Self::Heteroscedastic, Self::Heteroscedastic, "heteroscedastic",
        "Real responses: normal, a standard deviation that depends on the features";
    Self::StudentT, Self::StudentT, "student_t", "Real responses: Student's t, for outliers";
    Self::HeteroscedasticStudentT, Self::HeteroscedasticStudentT, "heteroscedastic_student_t",
        "Real responses: Student's t, a scale that depends on the features";
    Self::Beta, Self::Beta, "beta", "Shares between 0 and 1: beta, a precision that is sampled";
    Self::NegativeBinomial, Self::NegativeBinomial, "negative_binomial",
        "Counts: the variance exceeds the mean by a dispersion that is sampled";
    Self::Poisson, Self::Poisson, "poisson", "Counts: the variance is the mean";
    Self::ZeroInflatedNegativeBinomial, Self::ZeroInflatedNegativeBinomial,
        "zero_inflated_negative_binomial", "Counts: negative binomial, with extra zeros";
    Self::ZeroInflatedPoisson, Self::ZeroInflatedPoisson, "zero_inflated_poisson",
        "Counts: Poisson, with extra zeros";
    Self::HurdleNegativeBinomial, Self::HurdleNegativeBinomial, "hurdle_negative_binomial",
        "Counts: negative binomial above 0, and zeros with a probability of their own";
    Self::HurdlePoisson, Self::HurdlePoisson, "hurdle_poisson",
        "Counts: Poisson above 0, and zeros with a probability of their own";
    Self::LogNormal, Self::LogNormal, "log_normal", "Times: log-normal, a scale that is sampled";
    Self::Weibull, Self::Weibull, "weibull", "Times: Weibull, a shape that is sampled";
    Self::Normal, Self::Normal, "normal", "Numbers with bounds, of any sign: normal";
    Self::Ordinal, Self::Ordinal, "ordinal", "Classes in the order of their numbers: cumulative logit";
} }

impl Noise {
    /// The task whose responses scatter in this way, and what a fit does in another way for them.
    pub(super) fn kind(self) -> (Task, &'static dyn Kind) {
        use Task::{Classification, Counts as Count, Regression, Survival};
        use Zeros::{Apart, Extra, Own};
        match self {
            Self::Gaussian => (Regression, &NORMAL),
            Self::Heteroscedastic => (Regression, &Real { has_tails: false, is_by_row: true }),
            Self::StudentT => (Regression, &Real { has_tails: true, is_by_row: false }),
            Self::HeteroscedasticStudentT => {
                (Regression, &Real { has_tails: true, is_by_row: true })
            }
            Self::Beta => (Regression, &Shares),
            Self::Poisson => (Count, &Counts { is_dispersed: false, zeros: Own }),
            Self::NegativeBinomial => (Count, &Counts { is_dispersed: true, zeros: Own }),
            Self::ZeroInflatedPoisson => (Count, &Counts { is_dispersed: false, zeros: Extra }),
            Self::ZeroInflatedNegativeBinomial => {
                (Count, &Counts { is_dispersed: true, zeros: Extra })
            }
            Self::HurdlePoisson => (Count, &Counts { is_dispersed: false, zeros: Apart }),
            Self::HurdleNegativeBinomial => (Count, &Counts { is_dispersed: true, zeros: Apart }),
            Self::LogNormal => (Survival, &Times(TimeFamily::LogNormal)),
            Self::Weibull => (Survival, &Times(TimeFamily::Weibull)),
            Self::Normal => (Survival, &Times(TimeFamily::Normal)),
            Self::Ordinal => (Classification, &Ordered),
        }
    }

    /// The task whose responses scatter in this way.
    pub fn task(self) -> Task {
        self.kind().0
    }

    /// The noise of a task unless another is chosen. Classes have none unless they are in order.
    pub fn default_of(task: Task) -> Option<Self> {
        match task {
            Task::Regression => Some(Self::Gaussian),
            Task::Counts => Some(Self::NegativeBinomial),
            Task::Survival => Some(Self::LogNormal),
            Task::Classification => None,
        }
    }
}
