//! One sentence about a run: may it be trusted, and if not, what is to be done?

mod judge;
mod outcome;
mod words;

pub use judge::{
    DEPTH_LIMIT, DIVERGENT_LIMIT, DRIFT_LIMIT, EBFMI_LIMIT, ESS_PER_CHAIN, Judge, OTHERS_LIMIT,
    RHAT_LIMIT, TEMPERATURE_LIMITS,
};
pub use outcome::{Outcome, QuantityGroup, Verdict};
