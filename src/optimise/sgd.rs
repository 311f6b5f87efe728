//! Stochastic gradient ascent with momentum.

use serde::{Deserialize, Serialize};

use super::Ascent;
use crate::Error;
use crate::gradient::FullGrad;

/// Stochastic gradient ascent with momentum, with gradients from `S`.
///
/// With g~_t the gradient at q_t of the log density, or its estimate (see
/// [`GradSource`](crate::sampler::GradSource)), momentum mu and rate r_t, from v_0 = 0,
///
/// ```text
/// v_(t+1) = mu v_t + r_t g~_t        q_(t+1) = q_t + v_(t+1)
/// ```
///
/// r_t falls from `learning_rate` to 0 along half a cosine, so that the noise of minibatches dies
/// away. With mu = 0 it is plain gradient ascent. Going back, and which point is returned: see
/// [`optimise`](crate::optimise). Cost: one gradient per step; memory d.
///
/// **Units of the learning rate.** g~ is a gradient of a log density, and as such a *sum* over the
/// N rows, also where a minibatch estimates it. A rate r_mean for the mean loss of a row, as
/// deep-learning code has it, is here r = r_mean / N. On a mode of curvature k (-1 times the second
/// derivative, of order N) full gradients converge if
///
/// ```text
/// r k < 2 (1 + mu)
/// ```
///
/// for the largest k, and the slowest direction takes about (1 - mu)/(r k) steps, for its smallest
/// k.
///
/// Momentum multiplies the noise. With gradients of covariance V, independent from step to step,
/// and a rate that does not fall, q varies about the mode with
///
/// ```text
/// Var q = r V (1 + mu) / (k (1 - mu) (2 (1 + mu) - r k)),   about r V / (2 k (1 - mu)) for small r
/// ```
///
/// When not to use it: where scales of coordinates differ much ([`Adam`](super::Adam) has a step
/// for each), or nothing is known about the curvature.
///
/// Sources: Robbins and Monro, Annals of Mathematical Statistics 22, 1951,
/// doi:10.1214/aoms/1177729586; momentum: Polyak, USSR Computational Mathematics and Mathematical
/// Physics 4(5), 1964, doi:10.1016/0041-5553(64)90137-5; the cosine: Loshchilov and Hutter, ICLR
/// 2017, arXiv:1608.03983 (there with restarts).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sgd<S = FullGrad> {
    /// The rate at the start, of a gradient that is a sum over rows; above 0.
    pub learning_rate: f64,
    /// The number of steps, at least 1.
    pub steps: usize,
    /// mu, in [0, 1).
    pub momentum: f64,
    /// The source of the gradients.
    pub gradient: S,
}

impl<S> Sgd<S> {
    /// With these gradients, and else as by default: 1,000 steps, a learning rate of 1e-3, a
    /// momentum of 0.9.
    pub fn new(gradient: S) -> Self {
        Self { learning_rate: 1e-3, steps: 1000, momentum: 0.9, gradient }
    }
}

impl Default for Sgd {
    fn default() -> Self {
        Self::new(FullGrad)
    }
}

impl<S: Sync> Ascent for Sgd<S> {
    type Source = S;
    type State = Vec<f64>;

    fn gradient(&self) -> &S {
        &self.gradient
    }

    fn steps(&self) -> usize {
        self.steps
    }

    fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    fn check(&self) -> Result<(), Error> {
        if (0.0..1.0).contains(&self.momentum) {
            Ok(())
        } else {
            Err(Error::argument("momentum", self.momentum, "at least 0 and less than 1"))
        }
    }

    fn state(&self, dim: usize) -> Vec<f64> {
        vec![0.0; dim]
    }

    fn step(&self, rate: f64, grad: &[f64], q: &mut [f64], v: &mut Vec<f64>) {
        for ((q, g), v) in q.iter_mut().zip(grad).zip(v) {
            *v = self.momentum * *v + rate * g;
            *q += *v;
        }
    }
}
