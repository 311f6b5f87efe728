//! The accept-reject test that all Metropolis kernels share.

use super::Step;
use crate::rng::ChainRng;
use crate::target::Point;

/// Accepts `proposal` with probability min(1, e^log_ratio), by swapping it with `current`.
///
/// `log_ratio` is log pi(q') - log pi(q) + log g(q | q') - log g(q' | q), where q' is the proposal
/// and g the proposal density. The test is log u < log_ratio with u uniform on [0, 1).
///
/// - Outside the support (prior -inf): rejected, an ordinary event.
/// - A density that is NaN or infinite otherwise, a ratio that is NaN or +inf: rejected and
///   divergent. The textbook min(1, e^r) would **accept** NaN, since `f64::min(1.0, NaN)` is 1.
/// - A position that is not finite, as after an overflow, whatever the target says of it: rejected and
///   divergent.
/// - A ratio of -inf: rejected, since there is no way back.
///
/// The proposal must have been evaluated.
pub fn metropolis_test(
    current: &mut Point,
    proposal: &mut Point,
    log_ratio: f64,
    gradient_evals: u32,
    rng: &mut ChainRng,
) -> Step {
    let rejected =
        Step { accept_prob: Some(0.0), accepted: false, divergent: false, gradient_evals };
    if proposal.log_density().is_outside_support() {
        return rejected;
    }
    let is_finite =
        proposal.log_density().is_finite() && proposal.q().iter().all(|x| x.is_finite());
    if !is_finite || log_ratio.is_nan() || log_ratio == f64::INFINITY {
        return Step { divergent: true, ..rejected };
    }
    let accepted = rng.uniform().ln() < log_ratio;
    if accepted {
        std::mem::swap(current, proposal);
    }
    Step { accept_prob: Some(log_ratio.min(0.0).exp()), accepted, ..rejected }
}
