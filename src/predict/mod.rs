//! Predictions: what the draws say about given inputs, and how good it is.
//!
//! A prediction is an average over posterior draws. For draw s and input x, f(x; q_s) gives an
//! expected response E[y | x, q_s] and, where a response y was observed, a density p(y | x, q_s);
//! a posterior predictive draw y_s is drawn from that density:
//!
//! ```text
//! posterior mean prediction    E[y | x] = mean_s E[y | x, q_s]
//! log predictive density       log mean_s p(y | x, q_s)
//! posterior predictive draws   y_s ~ p(y | x, q_s)
//! ```
//!
//! The spread of E[y | x, q_s] over draws is the uncertainty about the mean function. The spread of
//! y_s, which is wider, is the uncertainty about a new observation.
//!
//! | question | answer | response |
//! | --- | --- | --- |
//! | all usual scores in a table | [`scores`](Predictions::scores) | any |
//! | where will y, or its mean, lie? | [`predictive_interval`](Predictions::predictive_interval), [`mean_interval`](Predictions::mean_interval) | real, counts |
//! | how large is the noise, for each row? | [`predict_noise_sd`](crate::posterior::Posterior::predict_noise_sd) | real, counts in one column |
//! | where will y lie, or which classes may it be, whatever the chains did? | [`Conformal`], [`Fit::conformal`](crate::fit::Fit::conformal) | one real response, counts in one column, classes |
//! | are the intervals right, and how wide? | [`coverage`](Predictions::coverage) | real, counts |
//! | is the whole distribution right? | [`crps`](Predictions::crps), [`pit`](Predictions::pit) | real, counts |
//! | better than a reference, such as [`persistence`]? | [`skill`](Predictions::skill) | real |
//! | how much does it matter that the chains disagree? | [`chains_apart`](Predictions::chains_apart) | real, counts |
//! | how much is left open by the number of draws? | [`monte_carlo_error`](Predictions::monte_carlo_error) | any |
//! | do the chains agree, and if not, what did each find? | [`verdict`](Predictions::verdict), [`summary`](Predictions::summary), [`chain`](Predictions::chain) | any |
//! | how long will it take, and with what probability longer? | [`survival`](Predictions::survival) | numbers with bounds |
//! | which classes are confused? | [`confusion`](Predictions::confusion) | classes |
//! | are the probabilities right? | [`brier`](Predictions::brier), [`reliability`](Predictions::reliability) | classes |
//! | would the model have made rows like these? | [`check`](Predictions::check), [`Fit::predictive_checks`](crate::fit::Fit::predictive_checks) | real, counts, classes |
//! | how much of the uncertainty could more rows remove? | [`decompose`](Predictions::decompose) | any |
//! | how uncertain are they, and why? | [`uncertainty`](Predictions::uncertainty), [`along_chains`](Predictions::along_chains) | classes |
//! | the same, and mean and sd, of draws too large to keep? | [`StreamedUncertainty`], [`StreamedMoments`] | classes, real |
//! | are these inputs unlike the training data? | [`separation`](Predictions::separation) | classes |
//! | how well are rows predicted that the model did not see, without refits? | [`Posterior::loo`](crate::posterior::Posterior::loo) | any |
//! | which of several models predicts better? | [`Loo::compare`] | any |
//! | is the whole distribution right for rows left out? | [`Posterior::loo_pit`](crate::posterior::Posterior::loo_pit) | real, counts |
//! | what does the model expect before it sees the data? | [`Posterior::prior_predictive`](crate::posterior::Posterior::prior_predictive) | any |
//!
//! ```
//! use bnn_mcmc::prelude::*;
//! use ndarray::{Array2, array};
//!
//! // y = 2 x + N(0, 0.5^2), and 1,000 draws that know it.
//! let mut rng = ChainRng::new(1, 0);
//! let x = Array2::from_shape_fn((500, 1), |_| rng.normal());
//! let y = x.mapv(|x| 2.0 * x + 0.5 * rng.normal());
//! let data = Dataset::regression(x, y)?;
//! let priors = Priors::all(Normal::new(0.0, 5.0)?);
//! let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
//! let q = array![2.0, 0.0].broadcast((1, 1_000, 2)).unwrap().to_owned();
//! let draws = Draws::new(posterior.layout().clone(), q)?;
//!
//! let predictions = posterior.predict(&draws, &data)?;
//! println!("{}", predictions.scores()?);
//! let covered = predictions.coverage(0.95)?;
//! assert!((covered.share - 0.95).abs() < 0.03);
//! assert!((covered.mean_width - 2.0 * 1.96 * 0.5).abs() < 0.05);
//! assert!(predictions.pit(1)?.ks_distance() < 1.6 / 500f64.sqrt());
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```
//!
//! Draws of functions can be compared between chains where weights cannot (hidden units may be
//! permuted): the [verdict](crate::diagnostics::Verdict) on a run is passed on them.

mod calibration;
mod cells;
mod check;
mod classification;
mod conformal;
mod decomposition;
mod held_out;
mod loo;
mod noise;
mod per_draw;
mod predictions;
mod prior;
mod regression;
mod scores;
mod settled;
mod stacking;
mod streamed;
mod survival;
mod table;
mod uncertainty;
mod zarr;

pub use calibration::{Bins, Pit, Reliability, ReliabilityBin};
pub use check::PredictiveCheck;
pub use classification::ConfusionMatrix;
pub(crate) use conformal::check_level;
pub use conformal::{
    AddOneIn, Conformal, ConformalScore, JackknifePlus, PredictionSets, SplitConformal,
    conformal_quantile, jackknife_plus,
};
pub use decomposition::Decomposition;
pub use held_out::HeldOut;
pub use loo::{ComparedModel, Loo, LooComparison, LooRow};
pub(crate) use loo::{largest_k, smoothing::Smoothing};
pub use predictions::{Centre, Predictions};
pub(crate) use regression::moments;
pub use regression::{Coverage, Interval, crps, persistence};
pub use scores::{Score, Scores};
pub use stacking::Stacking;
pub use streamed::{PredictiveMoments, StreamedMoments, StreamedUncertainty};
pub use survival::{Survival, concordance, integrated_brier};
pub use table::PredictionTable;
pub use uncertainty::{
    ChainProbabilities, Measure, MeasureSummary, RunningUncertainty, Separation, THRESHOLDS,
    Uncertainty, auroc,
};
