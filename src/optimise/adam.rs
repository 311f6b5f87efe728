//! Adam: gradient ascent with a step for each coordinate.
//!
//! With g_t = grad log pi(q_t), element by element,
//!
//! ```text
//! m_t = beta1 m_(t-1) + (1 - beta1) g_t         v_t = beta2 v_(t-1) + (1 - beta2) g_t^2
//! q_(t+1) = q_t + r_t m_t / (1 - beta1^t) / (sqrt(v_t / (1 - beta2^t)) + epsilon)
//! ```
//!
//! Each coordinate moves by about r_t per step, whatever the scale of the gradient; r_t falls from
//! `learning_rate` to 0 along half a cosine, so that the end is quiet. Where the log density or its
//! gradient is not finite the ascent goes back to the best point so far, with m and v forgotten and
//! r halved from there on. Cost: one gradient per step.
//!
//! Source: Kingma and Ba, ICLR 2015, arXiv:1412.6980, algorithm 1 (there a descent).

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::positive;
use crate::rng::ChainRng;
use crate::sampler::Init;
use crate::target::{GradTarget, LogDensity};

/// Adam. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adam {
    /// The rate at the start, about the distance that each coordinate moves in the first steps.
    pub learning_rate: f64,
    /// The number of steps, at least 1.
    pub steps: usize,
    /// The decay of the gradient's running mean, in [0, 1).
    pub beta1: f64,
    /// The decay of the squared gradient's running mean, in [0, 1).
    pub beta2: f64,
    /// Added to the root of the squared gradient, above 0.
    pub epsilon: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Self { learning_rate: 0.02, steps: 1000, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }
}

impl Adam {
    /// Moves `q` to the best point on the way from `q` on, and returns the log density there.
    ///
    /// Errors: an argument out of range, `q` of the wrong length or of a log density that is not
    /// finite.
    pub fn maximise<T: GradTarget>(&self, target: &T, q: &mut [f64]) -> Result<LogDensity, Error> {
        self.check()?;
        if q.len() != target.dim() {
            return Err(Error::shape("length of q", q.len(), target.dim()));
        }
        let (mut ws, zeros) = (target.workspace(), vec![0.0; q.len()]);
        let (mut mean, mut squares, mut grad) = (zeros.clone(), zeros.clone(), zeros);
        let mut at = q.to_vec();
        let mut density = target.log_density_grad(&at, &mut grad, &mut ws);
        if !density.is_finite() {
            let what = "log density at the start of the ascent";
            return Err(Error::argument(what, density.total(), "finite"));
        }
        // Squares must be finite too.
        let is_usable = |grad: &[f64]| grad.iter().all(|g| (g * g).is_finite());
        if let Some(i) = grad.iter().position(|g| !(g * g).is_finite()) {
            let what = format!("coordinate {i} of the gradient at the start of the ascent");
            return Err(Error::argument(what, grad[i], "a number whose square is finite"));
        }
        let mut best_grad = grad.clone();
        let (mut best, mut factor) = (density, 1.0);
        let (mut power1, mut power2) = (1.0, 1.0);
        for step in 0..self.steps {
            power1 *= self.beta1;
            power2 *= self.beta2;
            let phase = std::f64::consts::PI * step as f64 / self.steps as f64;
            let rate = factor * self.learning_rate * 0.5 * (1.0 + phase.cos());
            for i in 0..at.len() {
                mean[i] = self.beta1 * mean[i] + (1.0 - self.beta1) * grad[i];
                squares[i] = self.beta2 * squares[i] + (1.0 - self.beta2) * grad[i] * grad[i];
                let scale = (squares[i] / (1.0 - power2)).sqrt() + self.epsilon;
                at[i] += rate * mean[i] / (1.0 - power1) / scale;
            }
            density = target.log_density_grad(&at, &mut grad, &mut ws);
            if !(density.is_finite() && is_usable(&grad)) {
                at.copy_from_slice(q);
                grad.copy_from_slice(&best_grad);
                mean.fill(0.0);
                squares.fill(0.0);
                (power1, power2) = (1.0, 1.0);
                factor *= 0.5;
            } else if density.total() > best.total() {
                best = density;
                q.copy_from_slice(&at);
                best_grad.copy_from_slice(&grad);
            }
        }
        Ok(best)
    }

    /// One point for each of `chains` chains: the ascent from where `from` starts them.
    ///
    /// Errors: as [`maximise`](Self::maximise) and [`Sampler::run`](crate::sampler::Sampler::run).
    pub fn starts<T: GradTarget>(
        &self,
        target: &T,
        from: &Init,
        chains: usize,
        seed: u64,
    ) -> Result<Init, Error> {
        self.check()?;
        let mut ws = target.workspace();
        let points = (0..chains).map(|chain| {
            let mut rng = ChainRng::new(seed, chain as u64).child(u64::MAX);
            let point = from.find(target, chain, chains, &mut rng, &mut ws)?;
            let mut q = point.q().to_vec();
            self.maximise(target, &mut q)?;
            Ok(q)
        });
        Ok(Init::Points(points.collect::<Result<_, Error>>()?))
    }

    fn check(&self) -> Result<(), Error> {
        positive("learning_rate", self.learning_rate)?;
        positive("epsilon", self.epsilon)?;
        if self.steps == 0 {
            return Err(Error::argument("steps", 0, "at least 1"));
        }
        for (name, beta) in [("beta1", self.beta1), ("beta2", self.beta2)] {
            if !(0.0..1.0).contains(&beta) {
                return Err(Error::argument(name, beta, "at least 0 and less than 1"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;
    use crate::testing::GaussianTarget;

    #[test]
    fn finds_the_mode_of_a_badly_scaled_normal() {
        let target = GaussianTarget::new(vec![3.0, -2.0], &[1.0, 0.03, 0.03, 0.01]).unwrap();
        let mut q = [0.0, 0.0];
        let adam = Adam { learning_rate: 0.05, ..Adam::default() };
        let best = adam.maximise(&target, &mut q).unwrap();
        let mode = target.log_density(&[3.0, -2.0], &mut target.workspace());
        assert!(mode.total() - best.total() < 1e-3, "{q:?}");
    }

    /// log p = ln q - q for q > 0, NaN elsewhere; the mode is at 1.
    struct Half;

    impl Target for Half {
        type Workspace = ();
        fn dim(&self) -> usize {
            1
        }
        fn workspace(&self) {}
        fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
            LogDensity::from(q[0].ln() - q[0])
        }
    }

    impl GradTarget for Half {
        fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
            grad[0] = 1.0 / q[0] - 1.0;
            self.log_density(q, ws)
        }
    }

    #[test]
    fn takes_back_steps_out_of_the_domain() {
        let mut q = [3.0];
        Adam { learning_rate: 2.9, ..Adam::default() }.maximise(&Half, &mut q).unwrap();
        assert!((q[0] - 1.0).abs() < 0.01, "{q:?}");
        let error = Adam::default().maximise(&Half, &mut [-1.0]).unwrap_err();
        assert!(error.to_string().contains("start of the ascent"), "{error}");
        // The gradient is infinite where the density is still finite.
        let error = Adam::default().maximise(&Half, &mut [1e-200]).unwrap_err();
        assert!(error.to_string().contains("coordinate 0 of the gradient"), "{error}");
    }

    #[test]
    fn wrong_arguments_are_named_and_starts_differ() {
        let target = GaussianTarget::standard(2).unwrap();
        for (adam, name) in [
            (Adam { learning_rate: -1.0, ..Adam::default() }, "learning_rate"),
            (Adam { steps: 0, ..Adam::default() }, "steps"),
            (Adam { beta2: 1.0, ..Adam::default() }, "beta2"),
            (Adam { epsilon: f64::NAN, ..Adam::default() }, "epsilon"),
        ] {
            let error = adam.maximise(&target, &mut [0.0, 0.0]).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
        let few = Adam { steps: 2, ..Adam::default() };
        let starts = few.starts(&target, &Init::Random, 3, 1).unwrap();
        let Init::Points(points) = starts else { panic!("points") };
        assert!(points.len() == 3 && points[0] != points[1]);
    }
}
