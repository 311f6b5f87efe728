//! The choices that a recipe has.

use serde::{Deserialize, Serialize};

use crate::choice::choice;

/// The prior of a network's weights, on the scale of standardised features and response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WeightPrior {
    /// [`Priors::by_fan_in`](crate::prior::Priors::by_fan_in): N(0, 1/H) for the weights of every
    /// layer after the first (of a linear model, of the only layer), H the number of its inputs, and
    /// N(0, 1) for all others.
    #[default]
    FanIn,
    /// N(0, sd^2) for all weights and biases, except the bias of a count's output.
    Normal {
        /// The standard deviation, above 0.
        sd: f64,
    },
    /// Automatic relevance determination: [`FanIn`](Self::FanIn) with a separate variance for the
    /// weights of each input ([`Priors::ard`](crate::prior::Priors::ard)): irrelevant inputs are
    /// shrunk. The standard deviations are half-Cauchy of scale 1.
    Ard,
    /// The horseshoe by inputs ([`Priors::horseshoe`](crate::prior::Priors::horseshoe)):
    /// [`Ard`](Self::Ard) with a common scale that is sampled, too, half-Cauchy of scale 1. A few
    /// inputs of many are kept, the others shrunk to next to nothing. There is no slab.
    ///
    /// NUTS does not mix well in it; look at the [verdict](super::Fit::verdict). Measured with
    /// [`Method::Nuts`], of 20 inputs of which 3 matter: in a network of 8 units, 300 rows, 0.9 and
    /// 2.9 % of transitions diverged in two simulated sets, R-hat was 1.01 and 1.04 of predictions
    /// and 1.10 and 1.12 of the scales, and neither run was said to have converged. Predictions
    /// were better all the same: an error of 0.57 in new rows of the first set, whose noise is 0.5,
    /// against 0.60 by [`Ard`](Self::Ard) and 0.76 by [`FanIn`](Self::FanIn). In a linear model,
    /// 100 rows, where each scale is known from a single weight, 12 % diverged (11 % by `Ard`).
    Horseshoe,
    /// [`FanIn`](Self::FanIn) times scales that are sampled, half-t with 30 degrees of freedom, which
    /// is nearly half-normal: for each column of the table a scale of its weights in the first
    /// layer, of about 1 a priori, the same for all indicators of the labels of one column; for the
    /// outputs, about 1, of the logits of classes 4; and for the [linear part](crate::model::Skip)
    /// beside the network, if there is one, as for the outputs. Columns that do not matter are
    /// shrunk, and the size of the function is learnt. Scales are [non-centred](crate::model::NonCentred)
    /// where weights are sampled, and a part of the prior where they are integrated out. (A linear part whose scale was a
    /// part of the prior of its sampled weights made a funnel: of 4,000 draws of a network for three classes, 1,220 rows, 60 were
    /// effective, and are 719.)
    Scales,
}

/// A model that a [search](super::Search) tries: a linear one, or a network of one hidden layer of 20 tanh units
/// (two of 40 in [`NetworkDeep`](Self::NetworkDeep)) with a [linear part](super::Recipe::skip) and sampled scales
/// ([`WeightPrior::Scales`]). All but [`Linear`](Self::Linear) have [transformed features](super::Recipe::power_features).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Candidate {
    /// A linear model: of real responses with [normal](super::Noise::Gaussian) noise, of classes logistic, of counts
    /// [negative binomial](super::Noise::NegativeBinomial), of times [log-normal](super::Noise::LogNormal).
    Linear,
    /// [`Linear`](Self::Linear) in transformed features; of one real response also with the response [transformed by
    /// Yeo-Johnson](crate::data::Transform::YeoJohnson) and [Student's t](super::Noise::StudentT).
    LinearTransformed,
    /// An additive model: of each feature with six different values or more a line and a smooth curve, whose sizes are sampled
    /// ([`WeightPrior::Scales`]); else as [`LinearTransformed`](Self::LinearTransformed), of classes, counts and times as
    /// [`Linear`](Self::Linear) in transformed features.
    Additive,
    /// For counts: a log-linear model with [zeros apart](super::Noise::HurdleNegativeBinomial).
    LinearHurdle,
    /// For times: a linear model with a [Weibull](super::Noise::Weibull) distribution.
    LinearWeibull,
    /// A network: of one real response with [Student's t](super::Noise::StudentT), else with the noise of
    /// [`Linear`](Self::Linear).
    Network,
    /// For real responses: a network, else as [`LinearTransformed`](Self::LinearTransformed).
    NetworkTransformed,
    /// A network whose inputs are each feature and, of those with six different values or more, its smooth curves, as of
    /// [`Additive`](Self::Additive); else as [`NetworkTransformed`](Self::NetworkTransformed), of classes, counts and times as
    /// [`Network`](Self::Network).
    NetworkCurves,
    /// For real responses: [`NetworkTransformed`](Self::NetworkTransformed) with a scale of the noise that [depends on
    /// the features](super::Noise::HeteroscedasticStudentT).
    NetworkHeteroscedastic,
    /// For real responses: [`NetworkTransformed`](Self::NetworkTransformed) with two hidden layers of 40 units. Its chains
    /// take 0.8 to 4 times as long (5 tables), and seldom converge.
    NetworkDeep,
    /// For counts: a network, else as [`LinearHurdle`](Self::LinearHurdle).
    NetworkHurdle,
    /// For times: a network, else as [`LinearWeibull`](Self::LinearWeibull).
    NetworkWeibull,
}

impl Candidate {
    /// Whether the model has no hidden layer.
    pub fn is_linear(self) -> bool {
        use Candidate::{Additive, Linear, LinearHurdle, LinearTransformed, LinearWeibull};
        matches!(self, Linear | LinearTransformed | Additive | LinearHurdle | LinearWeibull)
    }
}

choice! { "model", Candidate {
    Self::Linear, Self::Linear, "linear",
        "Linear in the features, with the task's plainest noise; all others: after a power transform of the features";
    Self::LinearTransformed, Self::LinearTransformed, "linear_transformed",
        "Linear; a real response with Student's t after a power transform";
    Self::Additive, Self::Additive, "additive",
        "A line and a smooth curve of each feature; else as linear_transformed";
    Self::LinearHurdle, Self::LinearHurdle, "linear_hurdle", "Counts: log-linear, zeros apart";
    Self::LinearWeibull, Self::LinearWeibull, "linear_weibull", "Times: linear, Weibull";
    Self::Network, Self::Network, "network",
        "A network with a linear part and sampled scales; of one real response with Student's t";
    Self::NetworkTransformed, Self::NetworkTransformed, "network_transformed",
        "Real responses: a network, Student's t after a power transform of the response";
    Self::NetworkCurves, Self::NetworkCurves, "network_curves",
        "A network of features and their smooth curves; else as network_transformed";
    Self::NetworkHeteroscedastic, Self::NetworkHeteroscedastic, "network_heteroscedastic",
        "Real responses: as network_transformed, and the scale of the noise depends on the features";
    Self::NetworkDeep, Self::NetworkDeep, "network_deep",
        "Real responses: as network_transformed, with two hidden layers of 40 units";
    Self::NetworkHurdle, Self::NetworkHurdle, "network_hurdle", "Counts: a network, zeros apart";
    Self::NetworkWeibull, Self::NetworkWeibull, "network_weibull", "Times: a network, Weibull";
} }

/// The method that samples the posterior.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Method {
    /// [`Nuts`](crate::sampler::Nuts). The default where the output layer cannot be integrated out.
    Nuts,
    /// [`Mams`](crate::sampler::Mams) on all parameters. A [search](super::Search), and a model by
    /// [name](super::Recipe::model), takes it for networks, except where [`Collapsed`](Self::Collapsed) is the default and
    /// the noise is normal, and for linear and additive models whose scales are sampled: there NUTS took six times as long on a split of Sacramento, and 2 %
    /// of its transitions diverged.
    ///
    /// Measured with Student's t for a real response, where each step of `Collapsed` is given a weight of each row
    /// (`--model network-transformed --warmup 1000 --draws 1000`): 1.8 (CPS1985, 428 rows), 1.2 (Auto, 314) and 1.6 times
    /// (Hitters, 211) the effective draws of `Collapsed` in a second (least of predictions, log likelihood and log prior),
    /// and no divergent transitions where that had 5.
    ///
    /// Measured for classes and counts, networks of 20 units with sampled scales, 4 chains (`--model network --warmup 600
    /// --draws 600`): half the time of [`Nuts`](Self::Nuts), and 0.5 to 4 times its effective draws of the predictions (6
    /// tables; on a seventh, of collinear columns, neither had converged).
    ///
    /// In networks of two hidden layers or more trajectories have at most 256 steps. Measured on concrete (8-40-40-1, Student's t,
    /// sampled scales, 150 + 100 iterations): they would have 1,530 steps on average, take ten times as long, and no run
    /// converges either way.
    Mams,
    /// [`Mams`](crate::sampler::Mams) on the posterior whose output layer is integrated out
    /// ([`Collapsed`](crate::sampler::Collapsed)): for [`Noise::Gaussian`](super::Noise::Gaussian) with one hidden layer or
    /// more, and for the other noise of one real response column. The default of all with hidden
    /// layers. Measured on the sunspot
    /// series (4-10-1): 3 effective draws of the predictions for every 1,000 gradients, where NUTS has
    /// 0.06. For n rows and H units in the last hidden layer a gradient takes about 3 n H^2 + H^3
    /// operations more than one of NUTS: 100 units on 1,000 rows take 0.6 ms, on 100,000 rows a
    /// hundred times as long, where fewer units or NUTS are the better choice.
    Collapsed,
    /// [`PowerPosteriors`](crate::sampler::PowerPosteriors) of [`Hmc`](crate::sampler::Hmc): a
    /// ladder of tempered posteriors that exchange states, for posteriors with separate modes, with
    /// the output layer integrated out where that is the default. It takes as many times longer as the
    /// ladder has rungs.
    Tempered,
    /// An ensemble, **not the posterior**: in haste, or where modes stay apart. Each chain is a member
    /// with a start of its own, which is optimised and then sampled for a short while, in the manner of
    /// MILE. With q the parameters and ell(q) the log density of the posterior,
    ///
    /// ```text
    /// q_0 ~ N(0, 0.1^2)                                  each member its own
    /// q_(t+1) = q_t + a step of Adam along grad ell(q_t)     t = 0 .. S - 1, no random numbers
    /// draws of a chain that leaves the posterior unchanged, from the best q_t on
    /// ```
    ///
    /// S is the [warm-up](super::Recipe::warmup) less its last 100 iterations (at most half of it), which
    /// adapt the sampler. The rate of [`Adam`](crate::optimise::Adam) falls from 0.01 along half a
    /// cosine. The sampler is [`Mams`](crate::sampler::Mams), with the output layer integrated out
    /// where [`Collapsed`](Self::Collapsed) is the default, else with trajectories of mean length 7
    /// sqrt(d) in d dimensions. Two kinds of parameters stay at their starts until the ascent is over:
    /// the logarithms of sampled scales of weights, since the joint density of scales and weights has
    /// no maximum; and the weights by which [`Noise::Heteroscedastic`](super::Noise::Heteroscedastic) depends on the features, which
    /// start at 0: with a noise that may grow anywhere, rows that are hard to explain would soon be
    /// called noise.
    ///
    /// **What it is.** Each kernel leaves the posterior unchanged, but chains of some dozens of draws
    /// do not leave the neighbourhood of their mode, and the number of members in each mode is a matter
    /// of the ascents, not of the posterior's masses. The mixture of all members predicts, with equal
    /// weights or by [`Stacking`](crate::predict::Stacking). More members do not bring it closer
    /// to the posterior. So the verdict is [`Outcome::Ensemble`](crate::diagnostics::Outcome::Ensemble),
    /// never 'converged': it says how far the members' predictions are apart, and which members
    /// stand still, and asks no R-hat of them. Leave-one-out by importance weights is refused: keep
    /// [rows for validation](super::Recipe::validation), which the ascent never sees, and whose scores
    /// are the judgement of an ensemble.
    ///
    /// Sources: the way, Sommer, Robnik, Nozadze, Seljak and Ruegamer 2025, arXiv:2502.06335 (there early
    /// stopping, and a sampler without a Metropolis test); deep ensembles, Lakshminarayanan, Pritzel and
    /// Blundell 2017, arXiv:1612.01474.
    Ensemble,
}

/// What a run ends with whose number of draws is left open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunUntil {
    /// Predictions that have [settled](crate::diagnostics::Outcome::Settled), by a short warm-up: for predictions. The default.
    /// Trajectories of [`Method::Mams`] have at most 256 steps, unless there is [time](super::Recipe::within) for 16 times as many
    /// where the data choose the model. A fit that goes on from there until it has converged keeps its trajectories.
    #[default]
    Settled,
    /// Chains that have [converged](crate::diagnostics::Outcome::Converged): for parameters, effects and tails.
    Converged,
}

choice! { "end of a run", RunUntil {
    Self::Settled, Self::Settled, "settled",
        "Predictions that a longer run would hardly change";
    Self::Converged, Self::Converged, "converged",
        "Chains that have converged: for parameters, effects and tails";
} }

choice! { "weight prior", WeightPrior {
    Self::FanIn, Self::FanIn, "fan_in",
        "N(0, 1/H) for the weights of each layer after the first, of H inputs; N(0, 1) for all others";
    Self::Normal { sd: 1.0 }, Self::Normal { .. }, "normal", "N(0, sd^2) for all";
    Self::Ard, Self::Ard, "ard",
        "Fan-in, with a variance of its own for the weights of each feature, which is sampled";
    Self::Horseshoe, Self::Horseshoe, "horseshoe", "Ard, with a common scale, which is sampled, too";
    Self::Scales, Self::Scales, "scales",
        "Fan-in, with scales that are sampled: of each column of the table, of the outputs, of the linear part";
} }

choice! { "method", Method {
    Self::Nuts, Self::Nuts, "nuts", "The no-U-turn sampler, for every model";
    Self::Mams, Self::Mams, "mams", "The Metropolis-adjusted microcanonical sampler, for every model";
    Self::Collapsed, Self::Collapsed, "collapsed",
        "The output layer integrated out: one real response, one hidden layer or more";
    Self::Tempered, Self::Tempered, "tempered",
        "A ladder of tempered posteriors, for separate modes; many times slower";
    Self::Ensemble, Self::Ensemble, "ensemble",
        "Not the posterior, in haste: members that are optimised, then sampled for a short while";
} }
