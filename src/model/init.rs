//! Starting weights: random, at the scale that keeps activations and gradients of order one.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::layout::{Block, Layout};
use crate::rng::ChainRng;

/// The distribution of starting weights. Biases start at zero.
///
/// A weight matrix `[H, D]` has fan-in D and fan-out H. All distributions have mean zero:
///
/// | | standard deviation | meant for |
/// | --- | --- | --- |
/// | [`WeightInit::GlorotNormal`], [`WeightInit::GlorotUniform`] | sqrt(2 / (D + H)) | tanh, sigmoid |
/// | [`WeightInit::HeNormal`] | sqrt(2 / D) | ReLU, softplus, SiLU |
/// | [`WeightInit::LecunNormal`] | 1 / sqrt(D) | linear models, tanh |
/// | [`WeightInit::Normal`] | as given | comparison with papers that say so |
///
/// Glorot (also called Xavier): X. Glorot and Y. Bengio, AISTATS 2010. He: K. He et al., ICCV
/// 2015. LeCun: Y. LeCun et al., Efficient BackProp, 1998.
///
/// ```
/// use bnn_mcmc::{model::{Activation, WeightInit, Mlp, Model}, rng::ChainRng};
/// let layout = Mlp::new(&[4, 10, 3], Activation::Tanh)?.layout().with("log_noise_variance", &[]);
/// let mut q = vec![-1.0; layout.dim()];
/// WeightInit::GlorotNormal.draw(&layout, &mut ChainRng::new(1, 0), &mut q)?;
/// assert!(q[layout.range("b0").unwrap()].iter().all(|b| *b == 0.0));
/// assert_eq!(q[layout.dim() - 1], -1.0); // not a weight, not a bias: left alone
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightInit {
    /// N(0, 2 / (D + H)).
    GlorotNormal,
    /// Uniform between -sqrt(6 / (D + H)) and sqrt(6 / (D + H)).
    GlorotUniform,
    /// N(0, 2 / D).
    HeNormal,
    /// N(0, 1 / D).
    LecunNormal,
    /// N(0, sd^2) for all weights.
    Normal {
        /// The standard deviation, finite and not negative.
        sd: f64,
    },
}

impl WeightInit {
    /// Writes starting values into the blocks of `q` that hold a model's weights and biases.
    ///
    /// A block named `w` or `w0`, `w1`, ... of shape `[H, D]` is drawn; one named `b` or `b0`,
    /// `b1`, ... of shape `[H]` becomes zero; all others (such as a log variance) stay unchanged.
    ///
    /// # Errors
    /// [`Error::Shape`] if `q` is not as long as `layout` says, [`Error::Argument`] for an `sd`
    /// that is negative or not finite.
    pub fn draw(&self, layout: &Layout, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        if q.len() != layout.dim() {
            return Err(Error::shape("length of q", q.len(), layout.dim()));
        }
        if let Self::Normal { sd } = self
            && !(sd.is_finite() && *sd >= 0.0)
        {
            return Err(Error::argument("sd", sd, "finite and not negative"));
        }
        for block in layout.blocks() {
            let values = &mut q[block.range.clone()];
            match block.shape[..] {
                [fan_out, fan_in] if is_numbered(block, 'w') => {
                    self.draw_weights(fan_in as f64, fan_out as f64, rng, values);
                }
                [_] if is_numbered(block, 'b') => values.fill(0.0),
                _ => {}
            }
        }
        Ok(())
    }

    fn draw_weights(&self, fan_in: f64, fan_out: f64, rng: &mut ChainRng, w: &mut [f64]) {
        let sd = match self {
            Self::GlorotNormal | Self::GlorotUniform => (2.0 / (fan_in + fan_out)).sqrt(),
            Self::HeNormal => (2.0 / fan_in).sqrt(),
            Self::LecunNormal => 1.0 / fan_in.sqrt(),
            Self::Normal { sd } => *sd,
        };
        if *self == Self::GlorotUniform {
            let half_width = 3f64.sqrt() * sd;
            w.iter_mut().for_each(|w| *w = half_width * (2.0 * rng.uniform() - 1.0));
        } else {
            rng.fill_normal(w);
            w.iter_mut().for_each(|w| *w *= sd);
        }
    }
}

/// Whether the block's name is `letter`, alone or with a number.
fn is_numbered(block: &Block, letter: char) -> bool {
    let number = block.name.strip_prefix(letter);
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;

    #[test]
    fn weights_have_the_documented_mean_and_spread() {
        let (fan_in, fan_out) = (300.0f64, 100.0);
        let layout = Layout::new().with("w0", &[100, 300]).with("b0", &[100]).with("scale", &[2]);
        for (init, sd) in [
            (WeightInit::GlorotNormal, (2.0 / (fan_in + fan_out)).sqrt()),
            (WeightInit::GlorotUniform, (2.0 / (fan_in + fan_out)).sqrt()),
            (WeightInit::HeNormal, (2.0 / fan_in).sqrt()),
            (WeightInit::LecunNormal, 1.0 / fan_in.sqrt()),
            (WeightInit::Normal { sd: 0.3 }, 0.3),
        ] {
            let mut q = vec![7.0; layout.dim()];
            init.draw(&layout, &mut ChainRng::new(3, 0), &mut q).unwrap();
            let w = &q[layout.range("w0").unwrap()];
            let n = w.len() as f64;
            let mean = w.iter().sum::<f64>() / n;
            let variance = w.iter().map(|w| w * w).sum::<f64>() / n;
            assert!(mean.abs() < 5.0 * sd / n.sqrt(), "{init:?}: mean {mean}");
            // The standard error of a normal's variance is sd^2 sqrt(2 / n): 0.8 % here.
            assert!((variance / (sd * sd) - 1.0).abs() < 0.04, "{init:?}: variance {variance}");
            let largest = w.iter().fold(0.0, |m: f64, w| m.max(w.abs())) / sd;
            assert_eq!(largest <= 3f64.sqrt(), init == WeightInit::GlorotUniform, "{init:?}");
            assert!(q[layout.range("b0").unwrap()].iter().all(|b| *b == 0.0));
            assert_eq!(q[layout.range("scale").unwrap()], [7.0, 7.0]);
        }
    }

    #[test]
    fn wrong_arguments_are_named() {
        let layout = Layout::new().with("w", &[1, 2]);
        let mut rng = ChainRng::new(1, 0);
        let long = WeightInit::HeNormal.draw(&layout, &mut rng, &mut [0.0; 3]);
        fails!(long, Shape { found: 3, expected: 2 });
        for sd in [-1.0, f64::NAN, f64::INFINITY] {
            let drawn = WeightInit::Normal { sd }.draw(&layout, &mut rng, &mut [0.0; 2]);
            fails!(drawn, Argument { name: "sd", value: sd });
        }
    }
}
