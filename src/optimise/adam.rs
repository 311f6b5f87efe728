//! Adam: gradient ascent with a step for each coordinate.

use serde::{Deserialize, Serialize};

use super::Ascent;
use crate::Error;
use crate::error::positive;
use crate::gradient::FullGrad;

/// Adam, with gradients from `S`.
///
/// With g~_t the gradient at q_t of the log density, or its estimate (see
/// [`GradSource`](crate::sampler::GradSource)), element by element,
///
/// ```text
/// m_t = beta1 m_(t-1) + (1 - beta1) g~_t         v_t = beta2 v_(t-1) + (1 - beta2) g~_t^2
/// q_(t+1) = q_t + r_t m_t / (1 - beta1^t) / (sqrt(v_t / (1 - beta2^t)) + epsilon)
/// ```
///
/// Each coordinate moves by about r_t per step, whatever the scale of the gradient, and thus of the
/// number of rows; r_t falls from `learning_rate` to 0 along half a cosine, so that the end is
/// quiet. Going back, and which point is returned: see [`optimise`](crate::optimise). Cost: one
/// gradient per step; memory 2 d.
///
/// When not to use it: the steps ignore correlations, so that a long narrow ridge takes many.
///
/// Source: Kingma and Ba, ICLR 2015, arXiv:1412.6980, algorithm 1 (there a descent).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adam<S = FullGrad> {
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
    /// The source of the gradients.
    pub gradient: S,
}

impl<S> Adam<S> {
    /// With these gradients, and else as by default: 1,000 steps, a learning rate of 0.02, decays
    /// of 0.9 and 0.999.
    pub fn new(gradient: S) -> Self {
        let (beta1, beta2, epsilon) = (0.9, 0.999, 1e-8);
        Self { learning_rate: 0.02, steps: 1000, beta1, beta2, epsilon, gradient }
    }
}

impl Default for Adam {
    fn default() -> Self {
        Self::new(FullGrad)
    }
}

/// The running means of the gradient and of its square, and the powers of their decays.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Moments {
    m: Vec<f64>,
    v: Vec<f64>,
    powers: [f64; 2],
}

impl<S: Sync> Ascent for Adam<S> {
    type Source = S;
    type State = Moments;

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
        positive("epsilon", self.epsilon)?;
        for (name, beta) in [("beta1", self.beta1), ("beta2", self.beta2)] {
            if !(0.0..1.0).contains(&beta) {
                return Err(Error::argument(name, beta, "at least 0 and less than 1"));
            }
        }
        Ok(())
    }

    fn state(&self, dim: usize) -> Moments {
        Moments { m: vec![0.0; dim], v: vec![0.0; dim], powers: [1.0; 2] }
    }

    fn step(&self, rate: f64, grad: &[f64], q: &mut [f64], state: &mut Moments) {
        let Moments { m, v, powers: [power1, power2] } = state;
        *power1 *= self.beta1;
        *power2 *= self.beta2;
        for (((q, g), m), v) in q.iter_mut().zip(grad).zip(m).zip(v) {
            *m = self.beta1 * *m + (1.0 - self.beta1) * g;
            *v = self.beta2 * *v + (1.0 - self.beta2) * g * g;
            let scale = (*v / (1.0 - *power2)).sqrt() + self.epsilon;
            *q += rate * *m / (1.0 - *power1) / scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;
    use crate::run::Init;
    use crate::targets::{GradTarget, LogDensity, Target};
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
        let outside = Adam::default().maximise(&Half, &mut [-1.0]);
        fails!(outside, Argument { name: "log density at the start of the ascent" });
        // The gradient is infinite where the density is still finite.
        let steep = Adam::default().maximise(&Half, &mut [1e-200]);
        fails!(steep, Argument { name: "coordinate 0 of the gradient at the start of the ascent" });
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
            fails!(adam.maximise(&target, &mut [0.0, 0.0]), Argument { name: name });
        }
        let few = Adam { steps: 2, ..Adam::default() };
        let starts = few.starts(&target, &Init::Random, 3, 1).unwrap();
        let Init::Points(points) = starts else { panic!("points") };
        assert!(points.len() == 3 && points[0] != points[1]);
    }
}
