//! The length of trajectories: random, around a length that warm-up may tune.
//!
//! A trajectory takes the time t = n h, with n steps of size h and
//!
//! ```text
//! n = min(max_steps, ceil(L u / h)),   u ~ U(1 - jitter, 1 + jitter)
//! ```
//!
//! u does not depend on the position, so that each n has a Metropolis ratio of its own.
//!
//! **Tuning.** With x(t) the trajectory in the coordinates x of q = L_q x, where L_q is the linear map learnt in
//! warm-up, j(t) = a(t) |x(t) - x(0)|^2, a(t) the probability with which its point at time t would be accepted, and
//! t = L u as above, the expected squared jump per unit of cost is
//!
//! ```text
//! C(L) = J(L) / L,   J(L) = E[j(L u)]
//! ```
//!
//! The length is tuned to where C(L) = C(L/2): the maximum of C lies between the two. Every trajectory of warm-up
//! has an estimate of both, since the first half of it is a trajectory of length L/2:
//!
//! ```text
//! log L <- log L + (k + 10)^-0.6 clip((j(t) - 2 j(t/2)) / J_k, -2, 2)
//! ```
//!
//! J_k is the running mean of j(t), and the length that is kept comes from the running mean of log
//! L with weights k^-0.75. Where L is far too short, j(t) grows with t^2 and the bracket is 1/2;
//! where it is far too long, j has come to rest and the bracket is -1: whatever the target, and
//! with noise that does not grow with L. (The derivative of |x(t) - x(0)|^2 at the end of a
//! trajectory, times t, estimates dJ/dlog L too, but its noise grows with t: paths that were ten
//! times too long did not come back.)
//!
//! For a standard normal and jitter 1, J is proportional to 1 - sin(2 L)/(2 L) in the time of HMC: C is largest at
//! L = pi/2, and C(L) = C(L/2) at L = 2.13. The effective sample size of the mean, (1 - r)/(1 + r) with r = sin(2
//! L)/(2 L), is largest for its cost at L = 2.0, because draws on the other side of the mean are worth more than
//! independent ones: hence the longer of the two. For other normals each principal direction in x weighs by its
//! variance: long directions, which are the slow ones, decide. A new linear map makes another target of it, so that
//! tuning starts afresh.
//!
//! Sources: the expected squared jump as a criterion, Pasarica and Gelman, Statistica Sinica 20, 2010; for path
//! lengths, by stochastic ascent in warm-up, Hoffman, Radul and Sountsov, AISTATS 2021, PMLR 130 (ChEES-HMC: the
//! jump of |x - E x|^2, of many chains together), and Sountsov and Hoffman 2021, arXiv:2110.11576 (along a
//! principal direction, and per cost).

use serde::{Deserialize, Serialize};

use crate::linalg::dot::dot;
use crate::portable::{exp, ln, powf};
use crate::rng::ChainRng;
use crate::sampler::Scale;
use crate::targets::Point;

/// The length of trajectories, and how it is tuned.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RandomPath {
    length: f64,
    tuning: Option<Tuning>,
}

/// The state of the tuning of the length.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tuning {
    /// The length from which tuning starts in new coordinates.
    start: f64,
    /// k, the trajectories since then.
    trajectories: f64,
    /// The running mean of log L.
    log_averaged: f64,
    /// J_k.
    mean_jump: f64,
    /// j(t) of the latest trajectory.
    jump: f64,
    /// j(t) - 2 j(t/2) of the latest trajectory.
    gain: f64,
}

impl Tuning {
    fn new(start: f64) -> Self {
        let log_averaged = ln(start);
        Self { start, trajectories: 0.0, log_averaged, mean_jump: 0.0, jump: 0.0, gain: 0.0 }
    }
}

impl RandomPath {
    /// Trajectories of `length`, which is where tuning starts if it is `tuned`.
    pub fn new(length: f64, tuned: bool) -> Self {
        Self { length, tuning: tuned.then(|| Tuning::new(length)) }
    }

    /// L.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// Draws n, which is at least 1 and at most `most`.
    pub fn steps(&self, step_size: f64, jitter: f64, most: u32, rng: &mut ChainRng) -> u32 {
        let u = 1.0 + jitter * (2.0 * rng.uniform() - 1.0); //~ path-jitter
        // The comparison is false for numbers that do not fit into an integer.
        let wanted = (self.length * u / step_size).ceil().max(1.0);
        if wanted < f64::from(most) { wanted as u32 } else { most }
    }

    /// j at a point `to` of a trajectory from `from`, where the energy is higher by `error`; 0 unless the length is
    /// tuned. `scratch` is as long as q.
    pub fn jump(
        &self,
        from: &Point,
        to: &Point,
        error: f64,
        scale: &Scale,
        scratch: &mut [f64],
    ) -> f64 {
        if self.tuning.is_none() {
            return 0.0;
        }
        let ends = to.q().iter().zip(from.q());
        scratch.iter_mut().zip(ends).for_each(|(d, (to, from))| *d = to - from);
        scale.solve(scratch);
        exp((-error).min(0.0)) * dot::<8>(scratch, scratch)
    }

    /// Takes in a trajectory of `steps` steps, whose `jumps` are j after `half` of them and at its end.
    pub fn observe(&mut self, half: u32, steps: u32, jumps: [f64; 2]) {
        let Some(tuning) = &mut self.tuning else { return };
        let [middle, end] = jumps;
        // Where half a step is missing, by the square of the time.
        let ratio = f64::from(steps) / (2.0 * f64::from(half));
        let gain = end - 2.0 * ratio * ratio * middle; //~ path-cost
        (tuning.jump, tuning.gain) = if gain.is_finite() { (end, gain) } else { (0.0, 0.0) };
    }

    /// Learns from the latest trajectory; the length stays between `shortest` and `longest`.
    pub fn learn(&mut self, shortest: f64, longest: f64) {
        let Some(tuning) = &mut self.tuning else { return };
        tuning.trajectories += 1.0;
        let k = tuning.trajectories;
        // The mean of the latest thirty, or so: the first ones are of a chain that is still on its way.
        tuning.mean_jump += (tuning.jump - tuning.mean_jump) / k.min(30.0);
        if tuning.mean_jump > 0.0 {
            let slope = (tuning.gain / tuning.mean_jump).clamp(-2.0, 2.0);
            let log_length = ln(self.length) + powf(k + 10.0, -0.6) * slope; //~ path-ascent
            let log_length = log_length.min(ln(longest)).max(ln(shortest));
            self.length = exp(log_length);
            let weight = powf(k, -0.75);
            tuning.log_averaged += weight * (log_length - tuning.log_averaged);
        }
    }

    /// Starts afresh, in other coordinates.
    pub fn restart(&mut self) {
        if let Some(Tuning { start, .. }) = self.tuning {
            *self = Self::new(start, true);
        }
    }

    /// Ends the tuning.
    pub fn freeze(&mut self) {
        if let Some(tuning) = self.tuning.take()
            && tuning.trajectories > 0.0
        {
            self.length = exp(tuning.log_averaged);
        }
    }
}
