//! One sentence about a run: may it be trusted, and if not, what is to be done?

mod arrived;
mod cause;
mod in_use;
mod judge;
mod limits;
mod outcome;
mod settled;
mod trajectories;
mod words;

pub use arrived::{LEVELS_APART, RISING};
pub use cause::Cause;
pub use in_use::InUse;
pub use judge::Judge;
pub use limits::{
    ACCEPTANCE, APART_LIMITS, BETWEEN_LIMIT, CUT_OFF, DEPTH_LIMIT, DIVERGENT_LIMIT, DRIFT_LIMIT,
    EBFMI_LIMIT, ESS_PER_CHAIN, ESS_WITHIN, LONG_TRAJECTORY, NARROW, OTHERS_LIMIT, RHAT_LIMIT,
    SECOND_STAGE_LIMIT, SLOW, STILL, TEMPERATURE_LIMITS,
};
pub use outcome::{Outcome, QuantityGroup, Verdict};
pub use settled::{MonteCarloError, SETTLED_LOG_DENSITY, SETTLED_MEAN, SETTLED_SHARE};
pub use trajectories::Trajectories;
