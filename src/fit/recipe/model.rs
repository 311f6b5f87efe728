//! The model of a recipe: likelihood, network and priors.

use super::{ColumnsOf, GROUPS, HORSESHOE, OF_SKIP, OUTPUTS, RELEVANCE, Recipe, SCALES};
use crate::Error;
use crate::data::{Dataset, Transform};
use crate::fit::choices::{Method, WeightPrior};
use crate::fit::kinds::Noise;
use crate::fit::{AnyLikelihood, Network};
use crate::message::Setting;
use crate::model::{LogSd, Mlp, Model, NonCentred, Offset, Skip};
use crate::posterior::Posterior;
use crate::prior::{LogHalfCauchy, LogHalfT, Normal, Priors};

impl Recipe {
    /// The transform of the features.
    pub(in crate::fit) fn transform_of_features(&self) -> Transform {
        match self.settings.power_features {
            Some(true) => Transform::YeoJohnson,
            None | Some(false) => Transform::None,
        }
    }

    /// The likelihood, and the number of outputs of the network: of means, if the noise is by row.
    fn likelihood(&self, train: &Dataset) -> Result<(AnyLikelihood, usize), Error> {
        let is_other = |noise: &Noise| noise.task().has_classes() != self.task.has_classes();
        let error = match self.settings.noise.filter(is_other) {
            None => return self.kind().likelihood(train),
            Some(_) if self.task.has_classes() => {
                let allowed = "chosen for real responses and counts: of classes `ordinal` alone";
                Error::argument("noise", "chosen for classes", allowed)
            }
            Some(noise) => Error::argument("noise", noise, "chosen for classes"),
        };
        Err(error.of(Setting::Noise))
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
        let network = Mlp::new(&sizes, self.settings.activation)
            .map_err(|error| error.of(Setting::Hidden))?;
        let network = self.network(network, groups, &groupings, train.response().width())?;
        let mut priors = self.priors_of_weights(&network, features)?;
        for (column, _) in &groupings {
            //~ groups-of-fit
            let scale = LogHalfT::new(GROUPS, self.group_scale())?;
            let block = Skip::<Mlp>::block_of_groups(column);
            priors = priors.hierarchical(&block, &variance_of(column), scale);
        }
        priors = self.kind().with_own(priors, train)?;
        if let Some((mean, sd)) = self.prior_of_bias(train) {
            priors = priors.with(&self.output_bias(), Normal::new(mean, sd)?);
        }
        Posterior::new(network, likelihood, train, priors)
    }

    /// The priors of the network's weights, for so many features.
    fn priors_of_weights(&self, network: &Network, features: usize) -> Result<Priors, Error> {
        Ok(match self.prior() {
            WeightPrior::FanIn => Priors::by_fan_in(network),
            WeightPrior::Normal { sd } => {
                let normal = Normal::new(0.0, sd).map_err(|error| error.of(Setting::WeightsSd))?;
                Priors::all(normal)
            }
            WeightPrior::Ard => {
                Priors::by_fan_in(network).ard("w0", RELEVANCE, LogHalfCauchy::new(1.0)?)
            }
            WeightPrior::Horseshoe => Priors::by_fan_in(network).horseshoe(
                "w0",
                RELEVANCE,
                HORSESHOE,
                LogHalfCauchy::new(1.0)?,
            ),
            WeightPrior::Scales => self.priors_of_scales(network, features)?,
        })
    }

    /// The priors of [`WeightPrior::Scales`].
    fn priors_of_scales(&self, network: &Network, features: usize) -> Result<Priors, Error> {
        let output = format!("w{}", self.layers().len());
        let of_outputs = self.kind().output_scale();
        let is_additive = self.decided.curves && self.layers().is_empty();
        let relevance = self.scale(if is_additive { of_outputs } else { 1.0 })?;
        let mut priors = Priors::by_fan_in(network).with(RELEVANCE, relevance);
        if is_additive {
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
            parts.push(("skip", OF_SKIP, features));
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
        Ok(priors)
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
        let network = match self.kind().is_by_row() {
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

    /// The scale of the prior of the standard deviation of intercepts of groups: of logits 2, else 1.
    pub(in crate::fit) fn group_scale(&self) -> f64 {
        self.kind().output_scale().sqrt()
    }

    /// Whether there is a linear part beside hidden layers.
    pub(in crate::fit) fn has_skip(&self) -> bool {
        self.settings.skip == Some(true) && !self.layers().is_empty()
    }

    /// Mean and standard deviation of the output's bias, where they differ from other biases'.
    pub(super) fn prior_of_bias(&self, train: &Dataset) -> Option<(f64, f64)> {
        self.kind().bias(train, self.reader.offset().is_some())
    }

    /// The name of the block of the output's bias.
    pub(super) fn output_bias(&self) -> String {
        format!("b{}", self.layers().len())
    }

    /// The units of each hidden layer, chosen by the noise if they were not.
    pub(in crate::fit) fn layers(&self) -> &[usize] {
        match &self.settings.hidden {
            Some(units) => units,
            None => self.kind().hidden(),
        }
    }

    /// The prior of the weights.
    pub(in crate::fit) fn prior(&self) -> WeightPrior {
        self.settings.weights.unwrap_or_default()
    }
}

/// The block of the log variance of the intercepts of groups.
pub(super) fn variance_of(column: &str) -> String {
    format!("log_variance_{column}")
}
