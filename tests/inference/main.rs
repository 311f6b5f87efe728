//! What is said of draws: diagnostics, predictions, their calibration, evidence, exact posteriors.

#[path = "../shared/said.rs"]
mod said;

mod approximate;
mod approximate_laplace;
mod approximate_variational;
mod arrived;
mod checks;
mod conformal;
mod conjugate;
mod constrained;
mod diagnostics;
mod distribution;
mod evidence;
mod explain;
mod fixtures;
mod likelihoods;
mod loo;
mod mixture;
mod new_rows;
mod predict;
mod predict_calibration;
mod predict_regression;
mod reference;
mod sbc;
mod sensitivity;
mod standing_still;
mod symmetry;
mod transforms;
mod uncertainty;
mod update;
#[cfg(feature = "datasets")]
mod verdict;
mod verdict_causes;
mod verdict_outcomes;
