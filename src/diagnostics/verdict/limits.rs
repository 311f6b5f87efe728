//! The numbers from which on a verdict says something.

/// The largest R-hat of a converged run (Vehtari et al. 2021, section 4.1).
pub const RHAT_LIMIT: f64 = 1.01;
/// The fewest effective draws per chain of a converged run (Vehtari et al. 2021, section 4.1).
pub const ESS_PER_CHAIN: f64 = 100.0;
/// R-hat between the halves of one chain above which that chain counts as drifting: the limit that
/// was usual for R-hat before ranks (Gelman et al., Bayesian Data Analysis, 2nd ed.).
pub const DRIFT_LIMIT: f64 = 1.1;
/// The largest R-hat that the other chains may have for a single chain to be blamed.
pub const OTHERS_LIMIT: f64 = 1.05;
/// The share of divergent transitions above which a run is not trusted, however well its chains
/// agree.
pub const DIVERGENT_LIMIT: f64 = 1e-3;
/// The share of NUTS trajectories cut off at the maximal depth above which a verdict says so.
pub const DEPTH_LIMIT: f64 = 0.01;
/// The kinetic temperatures, from the lowest to the highest, that a verdict accepts of samplers
/// without a Metropolis test. The bias of BAOAB makes its momenta colder than 1, by up to a fifth at
/// step sizes that are still in use.
pub const TEMPERATURE_LIMITS: [f64; 2] = [0.8, 1.1];
/// The mean acceptance of the second stage of [`DelayedAcceptance`](crate::sampler::DelayedAcceptance) below which
/// a verdict warns of it: fewer than one in twenty of the proposals that the surrogate made.
pub const SECOND_STAGE_LIMIT: f64 = 0.05;
/// E-BFMI below which a verdict speaks of it (Betancourt 2017, arXiv:1701.02434, section 6.1).
pub const EBFMI_LIMIT: f64 = 0.3;
/// The limits of [`Predictions::chains_apart`](crate::predict::Predictions::chains_apart): up to
/// the first, intervals of new observations are little affected by the disagreement of the chains;
/// above the second, they are not to be believed.
///
/// If the chains' means have the standard deviation a at some input, in units of the predictive standard
/// deviation of all chains together, and all is normal, then one chain's predictive distribution has the
/// variance 1 - a^2, and the 90 % interval of one chain covers 2 Phi(1.645 sqrt((1 - a^2) / (1 + a^2))) - 1
/// of what all chains together predict: 89.7 % at a = 0.1, 86.7 % at 0.3, 79.7 % at 0.5, 60.5 % at 0.76.
/// R-hat of the predictive draws is then about 1 / sqrt(1 - a^2), which is 1.05 at 0.3.
pub const APART_LIMITS: [f64; 2] = [0.3, 0.5];
/// The effective draws that a chain has by itself, at least, if it mixes within its mode, of a quantity and
/// of its distance from the median: half of what a converged chain has.
pub const ESS_WITHIN: f64 = 50.0;
/// The variance between chains over the squared Monte Carlo error of one chain, (R-hat^2 - 1) ESS, from
/// which on a [`Verdict`](super::Verdict) speaks of modes: the chains' means, or widths, scatter five times as
/// widely as the length of the chains explains.
pub const BETWEEN_LIMIT: f64 = 25.0;
/// The mean number of leapfrog steps of a trajectory from which on it counts as long.
pub const LONG_TRAJECTORY: f64 = 200.0;
/// The share of trajectories cut off at the maximal depth from which on they count as long.
pub const CUT_OFF: f64 = 0.5;
/// The mean acceptance probability from which on the step size suits the target.
pub const ACCEPTANCE: f64 = 0.5;
/// The effective draws, bulk, of the worst quantity over all draws, below which chains are slower than
/// trajectories that find their length are in one mode.
pub const SLOW: f64 = 0.02;
/// The number of units of the last hidden layer below which a network counts as narrow.
pub const NARROW: usize = 100;

/// The number of transitions in a row without a move of the chain, from which on a
/// [`Verdict`](super::Verdict) says so. At an acceptance of 0.65, so many rejections follow upon
/// each other by chance once in 10^9 transitions.
pub const STILL: usize = 20;
