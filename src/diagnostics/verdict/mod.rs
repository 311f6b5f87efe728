//! One sentence about a run: may it be trusted, and if not, what is to be done?

mod arrived;
mod cause;
mod in_use;
mod judge;
mod outcome;
mod trajectories;
mod words;

pub use arrived::{LEVELS_APART, RISING};
pub use cause::{
    ACCEPTANCE, BETWEEN_LIMIT, CUT_OFF, Cause, ESS_WITHIN, LONG_TRAJECTORY, NARROW, SLOW, STILL,
};
pub use in_use::InUse;
pub use judge::{
    APART_LIMITS, DEPTH_LIMIT, DIVERGENT_LIMIT, DRIFT_LIMIT, EBFMI_LIMIT, ESS_PER_CHAIN, Judge,
    OTHERS_LIMIT, RHAT_LIMIT, SECOND_STAGE_LIMIT, TEMPERATURE_LIMITS,
};
pub use outcome::{Outcome, QuantityGroup, Verdict};
pub use trajectories::Trajectories;
