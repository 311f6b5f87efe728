//! The names that most programs need: `use bnn_mcmc::prelude::*;`

pub use crate::Error;
pub use crate::data::{Dataset, Response};
pub use crate::diagnostics::{Summary, Verdict};
pub use crate::draws::recorder::{
    ChainFile, EveryKth, Moments, OnDisk, Recorder, RunningMoments, StoredDraws,
};
pub use crate::draws::{Draws, Keep, LadderReport};
pub use crate::evidence::Evidence;
#[cfg(feature = "tables")]
pub use crate::fit::Fit;
pub use crate::likelihood::{
    Bernoulli, Beta, Binomial, Categorical, Censored, Gaussian, HeteroscedasticGaussian, Hurdle,
    Likelihood, Multinomial, NegativeBinomial, Ordinal, Poisson, StudentTNoise, ZeroInflated,
};
pub use crate::message::Choice;
pub use crate::model::{Activation, Linear, Mlp, Model};
pub use crate::optimise::{Adam, Ascent, EarlyStopping, Optimiser, Sgd};
pub use crate::posterior::Posterior;
pub use crate::predict::{Loo, Predictions, StreamedMoments, StreamedUncertainty};
pub use crate::prior::{
    Flat, Laplace, LogHalfCauchy, LogHalfT, LogInverseGamma, Normal, Prior, Priors, StudentT,
    Uniform,
};
pub use crate::rng::ChainRng;
pub use crate::sampler::{
    Baoab, Collapsed, ControlVariates, Cycle, EulerMaruyama, Every, Fisher, FullGrad, GibbsNoise,
    Hmc, Independence, Init, Ladder, LeimkuhlerMatthews, Mala, Mams, Mass, Mclmc, Minibatch,
    Mixture, Nuts, Obabo, OnBlocks, Pcn, PowerPosteriors, Preconditioner, Rwm, Sampler, Sghmc,
    Sgld, Smmala, SoftAbs, StepSchedule, StopHandle, TruncatedMala,
};
pub use crate::targets::{Constrained, Constraint, GradTarget, LogDensity, Target, WithReference};
