//! Counts.

use ndarray::Axis;

use super::{Kind, Noise, Variant, moments, normal, summed, total};
use crate::Error;
use crate::data::{Dataset, Split, Transform};
use crate::fit::AnyLikelihood;
use crate::fit::choices::Candidate;
use crate::likelihood::{Hurdle, NegativeBinomial, Poisson, ZeroInflated};
use crate::portable::{exp, ln, ln_gamma};
use crate::prior::{Normal, Priors};

/// Mean and standard deviation of the log of a dispersion.
const DISPERSION: (f64, f64) = (1.0, 1.5);
/// Mean and standard deviation of the logits of the shares of extra zeros and of all zeros.
const EXTRA_ZEROS: (f64, f64) = (0.0, 1.5);

/// Counts whose log mean is the output.
pub(super) struct Counts {
    /// Whether they are negative binomial, else Poisson.
    pub is_dispersed: bool,
    pub zeros: Zeros,
}

/// The zeros among counts.
#[derive(Clone, Copy)]
pub(super) enum Zeros {
    /// As many as the distribution has.
    Own,
    /// More.
    Extra,
    /// With a probability of their own.
    Apart,
}

impl Kind for Counts {
    fn likelihood(&self, _train: &Dataset) -> Result<(AnyLikelihood, usize), Error> {
        let likelihood = match (self.zeros, self.is_dispersed) {
            (Zeros::Own, false) => AnyLikelihood::Poisson(Poisson),
            (Zeros::Own, true) => AnyLikelihood::NegativeBinomial(NegativeBinomial::sampled()),
            (Zeros::Extra, false) => AnyLikelihood::ZeroInflated(ZeroInflated::poisson()),
            (Zeros::Extra, true) => AnyLikelihood::ZeroInflated(ZeroInflated::negative_binomial()),
            (Zeros::Apart, false) => AnyLikelihood::Hurdle(Hurdle::poisson()),
            (Zeros::Apart, true) => AnyLikelihood::Hurdle(Hurdle::negative_binomial()),
        };
        Ok((likelihood, 1))
    }

    fn with_own(&self, mut priors: Priors, _train: &Dataset) -> Result<Priors, Error> {
        let zeros = Normal::new(EXTRA_ZEROS.0, EXTRA_ZEROS.1)?; //~ extra-zeros-of-fit
        priors = match self.zeros {
            Zeros::Own => priors,
            Zeros::Extra => priors.with("logit_extra_zeros", zeros),
            Zeros::Apart => priors.with("logit_zeros", zeros),
        };
        if self.is_dispersed {
            //~ dispersion-of-fit
            priors = priors.with("log_dispersion", Normal::new(DISPERSION.0, DISPERSION.1)?);
        }
        Ok(priors)
    }

    fn in_words(&self) -> String {
        let (name, dispersion) = match self.is_dispersed {
            true => ("negative binomial", format!(", {}", normal("log dispersion", DISPERSION))),
            false => ("Poisson", String::new()),
        };
        let own = format!("{name}, the log of the mean is the output{dispersion}");
        let zeros = normal("logit of the share", EXTRA_ZEROS);
        match self.zeros {
            Zeros::Own => own,
            Zeros::Extra => format!("{own}, and extra zeros, {zeros}"),
            Zeros::Apart => format!(
                "zeros, {zeros}, and {name} above 0, the log of the mean with its zeros is the output{dispersion}"
            ),
        }
    }

    /// The log of the mean count for an exposure of 1, half a count more for a mean of 0.
    fn bias(&self, train: &Dataset, has_offset: bool) -> Option<(f64, f64)> {
        let counts = train.response().counts()?;
        let exposure = match has_offset {
            true => {
                let exposure = train.x().column(train.n_features() - 1).mapv(exp);
                summed(exposure.view().insert_axis(Axis(1)), train.weights())
            }
            false => train.total_weight(),
        };
        let mean = ln((summed(counts.view(), train.weights()) + 0.5) / exposure); //~ mean-count
        Some((mean, 1.0))
    }

    fn bias_in_words(&self) -> Option<(&'static str, String)> {
        Some(("the log of the mean count", "1".into()))
    }

    fn has_log_link(&self) -> bool {
        true
    }

    fn candidates(&self, _columns: usize) -> &'static [Variant] {
        const APART: Option<Noise> = Some(Noise::HurdleNegativeBinomial);
        &[
            (Candidate::Linear, None, Transform::None),
            (Candidate::LinearTransformed, None, Transform::None),
            (Candidate::LinearHurdle, APART, Transform::None),
            (Candidate::Additive, None, Transform::None),
            (Candidate::Network, None, Transform::None),
            (Candidate::NetworkCurves, None, Transform::None),
            (Candidate::NetworkHurdle, APART, Transform::None),
        ]
    }

    /// The log probabilities of a negative binomial distribution with the moments of the other rows.
    fn intercept_only(&self, data: &Dataset, fold: &Split) -> Option<Vec<f64>> {
        let y = data.response().counts().filter(|y| y.ncols() == 1)?.column(0);
        let (mean, variance) = moments(data, fold, y);
        let mean = mean.max(0.5 / total(data, fold));
        // Hardly different from a Poisson distribution where counts scatter less than one.
        let size = mean * mean / (variance - mean).max(1e-6 * mean * mean);
        let log_mass = |&row: &usize| {
            let y = y[row];
            let ways = ln_gamma(y + size) - ln_gamma(size) - ln_gamma(y + 1.0);
            ways + size * ln(size / (size + mean)) + y * ln(mean / (size + mean))
        };
        Some(fold.test.iter().map(log_mass).collect())
    }
}
