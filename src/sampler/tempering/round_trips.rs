//! The travel of states on the ladder: exchanges, restarts and round trips.

use serde::{Deserialize, Serialize};

/// The moves of states between the rungs, since the start or the end of warm-up.
///
/// A replica is a state that is followed through its exchanges. It makes a restart when it comes from
/// beta_0 to beta = 1, and a round trip when it had been at beta = 1 before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Travel {
    /// Rounds of exchanges.
    pub rounds: u64,
    /// Sums of the neighbours' acceptance probabilities.
    pub neighbours: Vec<f64>,
    pub proposed: u64,
    pub accepted: u64,
    /// The replica at each rung.
    pub replicas: Vec<usize>,
    /// For each replica, the end of the ladder that it visited last.
    last_end: Vec<LastEnd>,
    pub restarts: u64,
    pub round_trips: u64,
}

/// The end of the ladder that a replica visited last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum LastEnd {
    /// The state was at neither end.
    Neither,
    /// beta = 1.
    Cold,
    /// beta_0, and it was never at beta = 1.
    HotOnly,
    /// beta_0, and it was at beta = 1 before: half of a round trip.
    HotAfterCold,
}

impl Travel {
    pub fn new(rungs: usize) -> Self {
        Self {
            rounds: 0,
            neighbours: vec![0.0; rungs - 1],
            proposed: 0,
            accepted: 0,
            replicas: (0..rungs).collect(),
            last_end: vec![LastEnd::Neither; rungs],
            restarts: 0,
            round_trips: 0,
        }
    }

    /// Notes which replicas are at the two ends of the ladder after a round of exchanges.
    pub fn visit_ends(&mut self) {
        let hot = &mut self.last_end[self.replicas[0]];
        *hot = match *hot {
            LastEnd::Neither => LastEnd::HotOnly,
            LastEnd::Cold => LastEnd::HotAfterCold,
            still_hot => still_hot,
        };
        let cold = &mut self.last_end[self.replicas[self.replicas.len() - 1]];
        self.restarts += u64::from(matches!(*cold, LastEnd::HotOnly | LastEnd::HotAfterCold));
        self.round_trips += u64::from(*cold == LastEnd::HotAfterCold);
        *cold = LastEnd::Cold;
    }
}
