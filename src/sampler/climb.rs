//! A short ascent from starts of which warm-up could make nothing.
//!
//! Where the log density is -1e15, differences that an acceptance test asks for are lost to rounding,
//! and no step size is right for the way from there: chains stand still for a whole run. Draws of a
//! wide prior do it, such as of a network whose outputs are the logarithms of standard deviations.
//! Kernels with a gradient climb from such a start, each coordinate by steps of its own that depend on
//! the sign of its derivative alone (Rprop: Riedmiller and Braun, IEEE International Conference on
//! Neural Networks 1993, doi:10.1109/ICNN.1993.298623), and no further than warm-up needs. The chain
//! then begins elsewhere, and samples what it samples from any start.

use crate::targets::{GradTarget, Point, Target};

/// A log density below this is climbed from.
const HOPELESS: f64 = -1e8;
/// A log density above this is left to warm-up.
const ENOUGH: f64 = -1e5;
/// The least gain of a step, as a share of the log density, for which it is worth to go on.
const LEAST_GAIN: f64 = 1e-3;
/// The most gradients.
const MOST: u64 = 200;
/// The first step of a coordinate, the longest, and the factors by which steps change.
const FIRST: f64 = 0.1;
const LONGEST: f64 = 1.0;
const LONGER: f64 = 1.2;
const SHORTER: f64 = 0.5;
const BACK: f64 = 0.3;

/// The most times that a position is halved.
const HALVINGS: usize = 60;

/// Halves the coordinates of `point` until its log density is finite, for densities that overflow far
/// from the origin.
pub(crate) fn halve<T: Target>(target: &T, point: &mut Point, ws: &mut T::Workspace) {
    for _ in 0..HALVINGS {
        if point.eval(target, ws).is_finite() {
            break;
        }
        point.set(|q| q.iter_mut().for_each(|q| *q *= 0.5));
    }
}

/// Climbs from `point`, whose log density was evaluated, if it is hopeless; returns the number of
/// gradients that this took.
pub(crate) fn climb<T: GradTarget>(target: &T, point: &mut Point, ws: &mut T::Workspace) -> u64 {
    //~ hopeless-start
    if point.log_density().total() >= HOPELESS {
        return 0;
    }
    let mut best = point.eval_grad(target, ws).total();
    let (mut gradients, mut steps) = (1, vec![FIRST; point.q().len()]);
    let (mut q, mut grad) = (point.q().to_vec(), point.grad().to_vec());
    while gradients < MOST && best < ENOUGH {
        point.set(|to| {
            for (((to, q), grad), step) in to.iter_mut().zip(&q).zip(&grad).zip(&steps) {
                *to = q + step * if *grad == 0.0 { 0.0 } else { grad.signum() };
            }
        });
        let reached = point.eval_grad(target, ws).total();
        gradients += 1;
        // NaN is no gain.
        if reached > best {
            for ((step, before), now) in steps.iter_mut().zip(&grad).zip(point.grad()) {
                let factor = if before.signum() == now.signum() { LONGER } else { SHORTER };
                *step = (*step * factor).min(LONGEST);
            }
            let gain = reached - best;
            q.copy_from_slice(point.q());
            grad.copy_from_slice(point.grad());
            best = reached;
            if gain < LEAST_GAIN * best.abs() {
                break;
            }
        } else {
            steps.iter_mut().for_each(|step| *step *= BACK);
        }
    }
    point.set(|to| to.copy_from_slice(&q));
    point.eval(target, ws);
    gradients
}
