//! The model of a recipe: likelihood, network and priors.

use ndarray::{ArrayView1, ArrayView2, Axis};

use super::{
    CUTPOINTS, ColumnsOf, DEGREES, DISPERSION, EXTRA_ZEROS, GROUPS, HORSESHOE, LOG_SD_BIAS,
    LOG_SD_SLOPES, OF_SKIP, OUTPUTS, PRECISION, RELEVANCE, Recipe, SCALES, SQUARED_SCALE,
    TIME_SCALE,
};
use crate::Error;
use crate::data::{Dataset, Response, Task, Transform};
use crate::fit::choices::{Method, Noise, WeightPrior};
use crate::fit::{AnyLikelihood, Network};
use crate::likelihood::{
    Bernoulli, Beta, Categorical, Censored, Gaussian, HeteroscedasticGaussian, Hurdle, Likelihood,
    NegativeBinomial, Ordinal, Poisson, StudentTNoise, TimeFamily, ZeroInflated,
};
use crate::message::Setting;
use crate::model::{LogSd, Mlp, Model, NonCentred, Offset, Skip};
use crate::portable::{ln, ln_1p};
use crate::posterior::Posterior;
use crate::prior::{LogHalfCauchy, LogHalfT, LogInverseGamma, Normal, Priors};

impl Recipe {
    /// The transform of the features.
    pub(in crate::fit) fn transform_of_features(&self) -> Transform {
        match self.power_features {
            Some(true) => Transform::YeoJohnson,
            None | Some(false) => Transform::None,
        }
    }

    /// The family of times, if the response is some.
    pub(super) fn times(&self) -> Option<TimeFamily> {
        match self.noise.or(Noise::default_of(self.task))? {
            Noise::LogNormal => Some(TimeFamily::LogNormal),
            Noise::Weibull => Some(TimeFamily::Weibull),
            Noise::Normal => Some(TimeFamily::Normal),
            _ => None,
        }
    }

    /// Whether means of the response are exponentials of what is learnt.
    pub(in crate::fit) fn has_log_link(&self) -> bool {
        self.task == Task::Counts || self.times().is_some_and(TimeFamily::is_of_logs)
    }

    /// The likelihood of times, in units of the training rows.
    pub(super) fn likelihood_of_times(
        &self,
        family: TimeFamily,
        train: &Dataset,
    ) -> Result<AnyLikelihood, Error> {
        let censored = Censored::of(family);
        let train = train.counted();
        let Some((lower, upper)) = train.response().bounds() else {
            return Ok(AnyLikelihood::Censored(censored)); // which says what it expects
        };
        let floor = if family.is_of_logs() { 0.0 } else { f64::NEG_INFINITY };
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
        Ok(AnyLikelihood::Censored(censored.in_units(centre, spread)?)) //~ units-of-times
    }

    /// The likelihood of classes, and the number of outputs of the network.
    pub(super) fn likelihood_of_classes(
        &self,
        response: &Response,
    ) -> Result<(AnyLikelihood, usize), Error> {
        // If the response is of another kind, the likelihood says what it expects.
        let classes = response.class_names().map_or(2, <[String]>::len);
        Ok(match self.noise {
            None if classes > 2 => (AnyLikelihood::Categorical(Categorical), classes),
            None => (AnyLikelihood::Bernoulli(Bernoulli), 1),
            Some(Noise::Ordinal) => {
                let ordinal = Ordinal::new(classes)?.with_first_cutpoint(0.0)?;
                (AnyLikelihood::Ordinal(ordinal), 1)
            }
            Some(_) => {
                let allowed = "chosen for real responses and counts: of classes `ordinal` alone";
                let error = Error::argument("noise", "chosen for classes", allowed);
                return Err(error.of(Setting::Noise));
            }
        })
    }

    /// The log of the mean count for an exposure of 1, half a count more for a mean of 0; `None` if the
    /// response is not a count.
    pub(super) fn log_mean_rate(&self, train: &Dataset) -> Option<f64> {
        let counts = train.response().counts()?;
        let offset = || train.x().column(train.n_features() - 1).mapv(crate::portable::exp);
        let exposure = match self.reader.offset() {
            Some(_) => summed(offset().view().insert_axis(Axis(1)), train.weights()),
            None => train.total_weight(),
        };
        Some(ln((summed(counts.view(), train.weights()) + 0.5) / exposure)) //~ mean-count
    }

    /// The likelihood, and the number of outputs of the network: of means, if the noise is by row.
    pub(super) fn likelihood(&self, train: &Dataset) -> Result<(AnyLikelihood, usize), Error> {
        let (response, width) = (train.response(), train.response().width());
        let Some(default) = Noise::default_of(self.task) else {
            return self.likelihood_of_classes(response);
        };
        Ok(match self.noise.unwrap_or(default) {
            Noise::Gaussian => (AnyLikelihood::Gaussian(Gaussian::sampled()), width),
            Noise::Heteroscedastic => {
                (AnyLikelihood::HeteroscedasticGaussian(HeteroscedasticGaussian), width)
            }
            Noise::HeteroscedasticStudentT => {
                (AnyLikelihood::StudentTNoise(StudentTNoise::heteroscedastic()), width)
            }
            Noise::StudentT => (AnyLikelihood::StudentTNoise(StudentTNoise::sampled()), width),
            Noise::Poisson => (AnyLikelihood::Poisson(Poisson), 1),
            Noise::NegativeBinomial => {
                (AnyLikelihood::NegativeBinomial(NegativeBinomial::sampled()), 1)
            }
            Noise::ZeroInflatedPoisson => (AnyLikelihood::ZeroInflated(ZeroInflated::poisson()), 1),
            Noise::ZeroInflatedNegativeBinomial => {
                (AnyLikelihood::ZeroInflated(ZeroInflated::negative_binomial()), 1)
            }
            Noise::HurdlePoisson => (AnyLikelihood::Hurdle(Hurdle::poisson()), 1),
            Noise::HurdleNegativeBinomial => {
                (AnyLikelihood::Hurdle(Hurdle::negative_binomial()), 1)
            }
            Noise::Beta => (AnyLikelihood::Beta(Beta), width),
            Noise::LogNormal => (self.likelihood_of_times(TimeFamily::LogNormal, train)?, 1),
            Noise::Weibull => (self.likelihood_of_times(TimeFamily::Weibull, train)?, 1),
            Noise::Normal => (self.likelihood_of_times(TimeFamily::Normal, train)?, 1),
            Noise::Ordinal => {
                let error = Error::argument("noise", Noise::Ordinal, "chosen for classes");
                return Err(error.of(Setting::Noise));
            }
        })
    }

    /// The posterior of scaled training rows, whose features come from the columns `groups` of the
    /// table.
    pub(in crate::fit) fn posterior(
        &self,
        train: &Dataset,
        groups: &[String],
    ) -> Result<Posterior<Network, AnyLikelihood>, Error> {
        let (likelihood, outputs) = self.likelihood(train)?;
        let ColumnsOf { features, groupings } = self.columns_of(train)?;
        let mut sizes = vec![features];
        sizes.extend(self.layers());
        sizes.push(outputs);
        let network =
            Mlp::new(&sizes, self.activation).map_err(|error| error.of(Setting::Hidden))?;
        let network = self.network(network, groups, &groupings, train.response().width())?;
        let output = format!("w{}", self.layers().len());
        let mut priors = match self.prior() {
            WeightPrior::FanIn => Priors::by_fan_in(&network),
            WeightPrior::Normal { sd } => {
                let normal = Normal::new(0.0, sd).map_err(|error| error.of(Setting::WeightsSd))?;
                Priors::all(normal)
            }
            WeightPrior::Ard => {
                Priors::by_fan_in(&network).ard("w0", RELEVANCE, LogHalfCauchy::new(1.0)?)
            }
            WeightPrior::Horseshoe => Priors::by_fan_in(&network).horseshoe(
                "w0",
                RELEVANCE,
                HORSESHOE,
                LogHalfCauchy::new(1.0)?,
            ),
            WeightPrior::Scales => {
                let of_outputs = self.output_scale();
                let relevance = self.scale(if self.curves { of_outputs } else { 1.0 })?;
                let mut priors = Priors::by_fan_in(&network).with(RELEVANCE, relevance);
                if self.curves {
                    // One scale for the line of a feature, and one for its curves.
                    priors = priors.with("w0", Normal::new(0.0, 1.0)?);
                }
                // Standard weights have the prior of fan-in, and their scale is relative to it.
                let is_sampled = network.layout().range(OUTPUTS).is_some();
                let mut parts = Vec::new();
                if let Some(units) = self.layers().last() {
                    parts.push((output.as_str(), OUTPUTS, *units));
                }
                if self.has_skip() {
                    parts.push(("skip", OF_SKIP, sizes[0]));
                }
                for (block, log_variance, inputs) in parts {
                    priors = match is_sampled {
                        true => priors.with(log_variance, self.scale(of_outputs)?),
                        false => {
                            let scale = self.scale(of_outputs / (inputs as f64).sqrt())?;
                            priors.hierarchical(block, log_variance, scale)
                        }
                    };
                }
                priors
            }
        };
        for (column, _) in &groupings {
            //~ groups-of-fit
            let scale = LogHalfT::new(GROUPS, self.group_scale())?;
            let block = Skip::<Mlp>::block_of_groups(column);
            priors = priors.hierarchical(&block, &variance_of(column), scale);
        }
        //~ noise-prior-of-fit
        let squared_scale = LogInverseGamma::new(SQUARED_SCALE.0, SQUARED_SCALE.1)?;
        if self.is_by_row() {
            priors = priors
                .with("log_sd", Normal::new(0.0, LOG_SD_SLOPES)?)
                .with("log_sd_bias", Normal::new(LOG_SD_BIAS.0, LOG_SD_BIAS.1)?);
        }
        priors = match &likelihood {
            AnyLikelihood::Gaussian(_) => priors.with("log_noise_variance", squared_scale),
            AnyLikelihood::StudentTNoise(_) => {
                //~ degrees-of-fit
                let degrees = Normal::new(DEGREES.0, DEGREES.1)?;
                let priors = priors.with("log_degrees_of_freedom", degrees);
                match self.is_by_row() {
                    true => priors,
                    false => priors.with("log_squared_scale", squared_scale),
                }
            }
            AnyLikelihood::ZeroInflated(_) => {
                //~ extra-zeros-of-fit
                priors.with("logit_extra_zeros", Normal::new(EXTRA_ZEROS.0, EXTRA_ZEROS.1)?)
            }
            AnyLikelihood::Hurdle(_) => {
                priors.with("logit_zeros", Normal::new(EXTRA_ZEROS.0, EXTRA_ZEROS.1)?)
            }
            AnyLikelihood::Beta(_) => {
                //~ precision-of-fit
                priors.with("log_precision", Normal::new(PRECISION.0, PRECISION.1)?)
            }
            AnyLikelihood::Censored(_) => {
                //~ scale-of-times
                priors.with("log_scale", Normal::new(TIME_SCALE.0, TIME_SCALE.1)?)
            }
            AnyLikelihood::Ordinal(_) => match train.response().class_names() {
                Some(classes) if classes.len() > 2 => {
                    let mean = mean_log_increment(classes.len());
                    //~ increments-of-fit
                    priors.with("log_increments", Normal::new(mean, CUTPOINTS.1)?)
                }
                _ => priors,
            },
            _ => priors,
        };
        if likelihood.layout().range("log_dispersion").is_some() {
            //~ dispersion-of-fit
            priors = priors.with("log_dispersion", Normal::new(DISPERSION.0, DISPERSION.1)?);
        }
        if let Some((mean, sd)) = self.prior_of_bias(train) {
            priors = priors.with(&self.output_bias(), Normal::new(mean, sd)?);
        }
        Posterior::new(network, likelihood, train, priors)
    }

    /// The network with the parts that the recipe asks for. Scales of an output layer that is
    /// integrated out belong to its prior.
    pub(super) fn network(
        &self,
        network: Mlp,
        groups: &[String],
        groupings: &[(String, Vec<String>)],
        columns: usize,
    ) -> Result<Network, Error> {
        let mut network = match self.has_skip() {
            true => Skip::new(network)?,
            false => Skip::without(network),
        };
        for (column, groups) in groupings {
            network = network.intercepts(column, groups.clone())?;
        }
        let mut network = NonCentred::new(network);
        if self.prior() == WeightPrior::Scales {
            network = network.by_column("w0", RELEVANCE, groups)?;
            let is_integrated = !matches!(self.chosen_method(columns), Method::Nuts | Method::Mams)
                && self.can_collapse(columns);
            if !self.layers().is_empty() && !is_integrated {
                network = network.by_block(&format!("w{}", self.layers().len()), OUTPUTS)?;
                if self.has_skip() {
                    network = network.by_block("skip", OF_SKIP)?;
                }
            }
        }
        let network = match self.is_by_row() {
            true => LogSd::new(network)?,
            false => LogSd::without(network),
        };
        Ok(match self.reader.offset() {
            Some(_) => Offset::new(network),
            None => Offset::without(network),
        })
    }

    /// The prior of a log variance of [`WeightPrior::Scales`] whose standard deviation is about `scale`.
    pub(super) fn scale(&self, scale: f64) -> Result<LogHalfT, Error> {
        LogHalfT::new(SCALES, scale)
    }

    /// The prior scale of the outputs: of logits 4, so that classes can be told apart with
    /// certainty, else 1.
    pub(in crate::fit) fn output_scale(&self) -> f64 {
        //~ scale-of-logits
        if self.task == Task::Classification { 4.0 } else { 1.0 }
    }

    /// The scale of the prior of the standard deviation of intercepts of groups: of logits 2, else 1.
    pub(in crate::fit) fn group_scale(&self) -> f64 {
        self.output_scale().sqrt()
    }

    /// Whether there is a linear part beside hidden layers.
    pub(in crate::fit) fn has_skip(&self) -> bool {
        self.skip == Some(true) && !self.layers().is_empty()
    }

    /// Mean and standard deviation of the output's bias, where they differ from other biases'.
    pub(super) fn prior_of_bias(&self, train: &Dataset) -> Option<(f64, f64)> {
        match train.response() {
            Response::Counts(_) => self.log_mean_rate(train).map(|mean| (mean, 1.0)),
            Response::Real(y) if self.has_shares() => {
                let values = train.total_weight() * y.ncols() as f64;
                let mean = summed(y.view(), train.weights()) / values;
                Some((ln(mean) - ln_1p(-mean), 1.0)) //~ share-bias
            }
            Response::Classes { names, .. } if self.is_ordinal() => {
                Some((ln(names.len() as f64 - 1.0), CUTPOINTS.0)) //~ ordinal-bias
            }
            Response::Real(_) | Response::Classes { .. } | Response::Censored { .. } => None,
        }
    }

    /// The name of the block of the output's bias.
    pub(super) fn output_bias(&self) -> String {
        format!("b{}", self.layers().len())
    }

    /// Whether the noise is of Student's t.
    pub(in crate::fit) fn has_tails(&self) -> bool {
        matches!(self.noise, Some(Noise::StudentT | Noise::HeteroscedasticStudentT))
    }

    /// Whether the noise has a model of its own.
    pub(in crate::fit) fn is_by_row(&self) -> bool {
        matches!(self.noise, Some(Noise::Heteroscedastic | Noise::HeteroscedasticStudentT))
    }

    /// Whether the response is shares between 0 and 1.
    pub(in crate::fit) fn has_shares(&self) -> bool {
        self.noise == Some(Noise::Beta)
    }

    /// Whether the classes are in order.
    pub(in crate::fit) fn is_ordinal(&self) -> bool {
        self.noise == Some(Noise::Ordinal)
    }

    /// Whether the noise is normal, with one variance.
    pub(super) fn has_one_variance(&self) -> bool {
        matches!((self.task, self.noise), (Task::Regression, None | Some(Noise::Gaussian)))
    }

    /// The units of each hidden layer, chosen by the noise if they were not.
    pub(in crate::fit) fn layers(&self) -> &[usize] {
        match &self.hidden {
            Some(units) => units,
            None if self.task == Task::Regression && !self.has_shares() => &[100],
            None => &[40],
        }
    }

    /// The prior of the weights.
    pub(in crate::fit) fn prior(&self) -> WeightPrior {
        self.weights.unwrap_or_default()
    }
}

/// The sum of all values of rows, each as many times as the weight of its row says.
fn summed(values: ArrayView2<f64>, weights: Option<ArrayView1<f64>>) -> f64 {
    match weights {
        None => values.sum(),
        //~ weighted-centre
        Some(w) => values.rows().into_iter().zip(w).map(|(row, w)| w * row.sum()).sum(),
    }
}

/// The block of the log variance of the intercepts of groups.
pub(super) fn variance_of(column: &str) -> String {
    format!("log_variance_{column}")
}

/// The log of the mean increment of the cutpoints of K > 2 classes of one size: the last cutpoint is log(K - 1), and
/// the first one minus that.
pub(in crate::fit) fn mean_log_increment(classes: usize) -> f64 {
    let k = classes as f64;
    ln(2.0 * ln(k - 1.0) / (k - 2.0))
}
