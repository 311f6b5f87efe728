//! Real numbers, which are standardised.

use super::{Kind, Noise, Variant, moments, normal};
use crate::Error;
use crate::data::{Dataset, Split, Transform};
use crate::fit::AnyLikelihood;
use crate::fit::choices::{Candidate, WeightPrior};
use crate::likelihood::{Gaussian, HeteroscedasticGaussian, StudentTNoise};
use crate::portable::ln;
use crate::prior::{LogInverseGamma, Normal, Priors};

/// Shape and scale of the inverse gamma prior of squared scales of noise.
const SQUARED_SCALE: (f64, f64) = (0.5, 0.005);
/// Mean and standard deviation of the log of degrees of freedom.
const DEGREES: (f64, f64) = (2.0, 1.0);
/// Standard deviation of the slopes of log standard deviations of noise in the features, and mean and standard
/// deviation of their biases.
const LOG_SD_SLOPES: f64 = 0.5;
const LOG_SD_BIAS: (f64, f64) = (-1.5, 1.5);

/// The candidates for one column, and for several.
const ONE: &[Variant] = &[
    (Candidate::Linear, None, Transform::None),
    (Candidate::LinearTransformed, T, Transform::YeoJohnson),
    (Candidate::Additive, T, Transform::YeoJohnson),
    (Candidate::Network, T, Transform::None),
    (Candidate::NetworkTransformed, T, Transform::YeoJohnson),
    (Candidate::NetworkCurves, T, Transform::YeoJohnson),
    (Candidate::NetworkHeteroscedastic, T_BY_ROW, Transform::YeoJohnson),
    (Candidate::NetworkDeep, T, Transform::YeoJohnson),
];
const T: Option<Noise> = Some(Noise::StudentT);
const T_BY_ROW: Option<Noise> = Some(Noise::HeteroscedasticStudentT);
pub(super) const SEVERAL: &[Variant] = &[
    (Candidate::Linear, None, Transform::None),
    (Candidate::Additive, None, Transform::None),
    (Candidate::Network, None, Transform::None),
];

/// Real numbers with normal noise, or with Student's t.
pub(super) struct Real {
    pub has_tails: bool,
    pub is_by_row: bool,
}

pub(super) const NORMAL: Real = Real { has_tails: false, is_by_row: false };

impl Kind for Real {
    fn likelihood(&self, train: &Dataset) -> Result<(AnyLikelihood, usize), Error> {
        let likelihood = match (self.has_tails, self.is_by_row) {
            (false, false) => AnyLikelihood::Gaussian(Gaussian::sampled()),
            (false, true) => AnyLikelihood::HeteroscedasticGaussian(HeteroscedasticGaussian),
            (true, false) => AnyLikelihood::StudentTNoise(StudentTNoise::sampled()),
            (true, true) => AnyLikelihood::StudentTNoise(StudentTNoise::heteroscedastic()),
        };
        Ok((likelihood, train.response().width()))
    }

    fn with_own(&self, mut priors: Priors, _train: &Dataset) -> Result<Priors, Error> {
        if self.has_tails {
            //~ degrees-of-fit
            priors = priors.with("log_degrees_of_freedom", Normal::new(DEGREES.0, DEGREES.1)?);
        }
        if self.is_by_row {
            return Ok(priors
                .with("log_sd", Normal::new(0.0, LOG_SD_SLOPES)?)
                .with("log_sd_bias", Normal::new(LOG_SD_BIAS.0, LOG_SD_BIAS.1)?));
        }
        //~ noise-prior-of-fit
        let squared_scale = LogInverseGamma::new(SQUARED_SCALE.0, SQUARED_SCALE.1)?;
        let name = if self.has_tails { "log_squared_scale" } else { "log_noise_variance" };
        Ok(priors.with(name, squared_scale))
    }

    fn in_words(&self) -> String {
        let (shape, scale) = SQUARED_SCALE;
        let one = format!("tau^2 ~ inverse gamma of shape {shape} and scale {scale}");
        let bias = normal("bias", LOG_SD_BIAS);
        let by_row =
            format!("is linear in the features, with slopes ~ N(0, {LOG_SD_SLOPES}^2) and {bias}");
        let degrees = normal("log degrees of freedom", DEGREES);
        match (self.has_tails, self.is_by_row) {
            (false, false) => format!("normal, one standard deviation tau, {one}"),
            (false, true) => format!("normal, its log standard deviation {by_row}"),
            (true, false) => format!("Student's t of scale tau, {one}, {degrees}"),
            (true, true) => format!("Student's t, its log scale {by_row}, {degrees}"),
        }
    }

    fn hidden(&self) -> &'static [usize] {
        &[100]
    }

    fn is_scaled(&self) -> bool {
        true
    }

    fn has_tails(&self) -> bool {
        self.has_tails
    }

    fn is_by_row(&self) -> bool {
        self.is_by_row
    }

    fn can_collapse(&self, columns: usize, is_weighted: bool) -> bool {
        let has_one_variance = !self.has_tails && !self.is_by_row;
        columns == 1 || (has_one_variance && !is_weighted) //~ weighted-columns
    }

    fn prior_of_linear(&self) -> WeightPrior {
        WeightPrior::FanIn
    }

    fn candidates(&self, columns: usize) -> &'static [Variant] {
        if columns == 1 { ONE } else { SEVERAL }
    }

    /// The log densities of normal distributions with the moments of the other rows.
    fn intercept_only(&self, data: &Dataset, fold: &Split) -> Option<Vec<f64>> {
        let y = data.response().real()?;
        let columns: Vec<_> = y.columns().into_iter().map(|y| moments(data, fold, y)).collect();
        let log_density = |(y, (mean, variance)): (&f64, &(f64, f64))| {
            let squared = (y - mean).powi(2) / variance;
            -0.5 * (ln(std::f64::consts::TAU * variance) + squared)
        };
        let of_row = |&row: &usize| y.row(row).iter().zip(&columns).map(log_density).sum::<f64>();
        Some(fold.test.iter().map(of_row).collect())
    }
}
