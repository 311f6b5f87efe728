//! One sentence about a run: may it be trusted, and if not, what is to be done?

mod cause;
mod judge;
mod outcome;
mod trajectories;
mod words;

pub use cause::{
    ACCEPTANCE, BETWEEN_LIMIT, CUT_OFF, Cause, ESS_WITHIN, LONG_TRAJECTORY, NARROW, SLOW,
};
pub use judge::{
    APART_LIMITS, DEPTH_LIMIT, DIVERGENT_LIMIT, DRIFT_LIMIT, EBFMI_LIMIT, ESS_PER_CHAIN, Judge,
    OTHERS_LIMIT, RHAT_LIMIT, TEMPERATURE_LIMITS,
};
pub use outcome::{Outcome, QuantityGroup, Verdict};
pub use trajectories::Trajectories;
