//! Activation functions of hidden and output layers, and their derivatives.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::engine::elementary;

/// What a layer does to its weighted sums z, element by element.
///
/// | name | value | derivative, from the value y | second derivative |
/// | --- | --- | --- | --- |
/// | identity | z | 1 | 0 |
/// | sigmoid | 1 / (1 + e^-z) | y (1 - y) | y (1 - y) (1 - 2 y) |
/// | tanh | tanh z | 1 - y^2 | -2 y (1 - y^2) |
/// | relu | max(z, 0) | 1 where y > 0, else 0 | 0 |
/// | softplus | ln(1 + e^z) | 1 - e^-y | e^-y (1 - e^-y) |
/// | silu | z s, s = sigmoid z | s + y (1 - s) | (1 - s) (2 s + y (1 - 2 s)) |
///
/// SiLU is the only one whose derivatives do not follow from its value: it keeps s. The second
/// derivative of ReLU is 0 almost everywhere, and that is what is used: the kink at 0, where it does
/// not exist, contributes nothing to a Hessian.
///
/// ```
/// use bnn_mcmc::model::Activation;
/// let mut z = [-1.0, 0.0, 2.0];
/// Activation::Relu.apply(&mut z);
/// assert_eq!(z, [0.0, 0.0, 2.0]);
/// assert_eq!("tanh".parse::<Activation>()?, Activation::Tanh);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// z itself: a linear layer.
    Identity,
    /// 1 / (1 + e^-z), between 0 and 1.
    Sigmoid,
    /// tanh z, between -1 and 1.
    Tanh,
    /// max(z, 0). Its derivative jumps at 0, where it is taken as 0.
    Relu,
    /// ln(1 + e^z), a smooth ReLU.
    Softplus,
    /// z / (1 + e^-z), also called swish.
    Silu,
}

impl Activation {
    /// All activations.
    pub const ALL: [Self; 6] =
        [Self::Identity, Self::Sigmoid, Self::Tanh, Self::Relu, Self::Softplus, Self::Silu];

    /// The name that [`FromStr`] reads and [`Display`](fmt::Display) writes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Sigmoid => "sigmoid",
            Self::Tanh => "tanh",
            Self::Relu => "relu",
            Self::Softplus => "softplus",
            Self::Silu => "silu",
        }
    }

    /// Replaces every z by its activation, to a relative error of about 1e-15. NaN stays NaN.
    pub fn apply(self, z: &mut [f64]) {
        match self {
            Self::Silu => {
                let mut sigmoids = [0.0; 64];
                for z in z.chunks_mut(sigmoids.len()) {
                    elementary::silu_in_place(z, &mut sigmoids[..z.len()]);
                }
            }
            _ => self.forward(z, &mut []),
        }
    }

    /// Whether [`forward`](Self::forward) keeps a number per element for the backward pass.
    pub(crate) fn keeps(self) -> bool {
        self == Self::Silu
    }

    /// As [`apply`](Self::apply); `kept` is as long as `z` if [`keeps`](Self::keeps), else empty.
    pub(crate) fn forward(self, z: &mut [f64], kept: &mut [f64]) {
        match self {
            Self::Identity => {}
            Self::Sigmoid => elementary::sigmoid_in_place(z),
            Self::Tanh => elementary::tanh_in_place(z),
            Self::Relu => elementary::relu_in_place(z),
            Self::Softplus => elementary::softplus_in_place(z),
            Self::Silu => elementary::silu_in_place(z, kept),
        }
    }

    /// Multiplies `d` by the derivative, where [`forward`](Self::forward) left `y` and `kept`.
    pub(crate) fn backward(self, y: &[f64], kept: &[f64], d: &mut [f64]) {
        match self {
            Self::Identity => {}
            Self::Sigmoid => elementary::sigmoid_backward(y, d),
            Self::Tanh => elementary::tanh_backward(y, d),
            Self::Relu => elementary::relu_backward(y, d),
            Self::Softplus => elementary::softplus_backward(y, d),
            Self::Silu => elementary::silu_backward(y, kept, d),
        }
    }

    /// Whether the second derivative is other than zero.
    pub(crate) fn bends(self) -> bool {
        !matches!(self, Self::Identity | Self::Relu)
    }

    /// Multiplies `d` by the second derivative, where [`forward`](Self::forward) left `y` and `kept`.
    pub(crate) fn second(self, y: &[f64], kept: &[f64], d: &mut [f64]) {
        match self {
            Self::Identity | Self::Relu => d.fill(0.0),
            Self::Sigmoid => elementary::sigmoid_second(y, d),
            Self::Tanh => elementary::tanh_second(y, d),
            Self::Softplus => elementary::softplus_second(y, d),
            Self::Silu => elementary::silu_second(y, kept, d),
        }
    }
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Activation {
    type Err = Error;

    /// Reads a name, in any case. The error lists all names.
    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|a| a.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| Error::UnknownName {
            what: "activation".into(),
            name: name.into(),
            known: Self::ALL.map(|a| a.name().to_string()).into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_unknown_ones_listed() {
        for activation in Activation::ALL {
            assert_eq!(activation.to_string().parse::<Activation>().unwrap(), activation);
            let json = serde_json::to_string(&activation).unwrap();
            assert_eq!(json, format!("\"{activation}\""));
            assert_eq!(serde_json::from_str::<Activation>(&json).unwrap(), activation);
        }
        let error = "gelu".parse::<Activation>().unwrap_err();
        assert!(error.is_argument());
        assert!(error.to_string().contains("gelu") && error.to_string().contains("softplus"));
    }

    #[test]
    fn derivatives_match_central_differences() {
        let z: Vec<f64> = (-60..=60).map(|i| f64::from(i) * 0.1 + 0.03).collect();
        let h = 1e-6;
        for activation in Activation::ALL {
            let shifted = |by: f64| {
                let mut y: Vec<f64> = z.iter().map(|z| z + by).collect();
                activation.apply(&mut y);
                y
            };
            let (mut y, mut kept) = (z.clone(), vec![0.0; z.len()]);
            activation.forward(&mut y, &mut kept);
            assert_eq!(y, shifted(0.0));
            let mut d = vec![2.0; z.len()];
            activation.backward(&y, &kept, &mut d);
            for ((d, up), down) in d.iter().zip(shifted(h)).zip(shifted(-h)) {
                let numeric = 2.0 * (up - down) / (2.0 * h);
                assert!((d - numeric).abs() < 1e-8, "{activation}: {d} and {numeric}");
            }
            // The second derivative against differences of the first.
            let slopes = |by: f64| {
                let (mut y, mut kept) = (z.clone(), vec![0.0; z.len()]);
                y.iter_mut().for_each(|y| *y += by);
                activation.forward(&mut y, &mut kept);
                let mut d = vec![1.0; z.len()];
                activation.backward(&y, &kept, &mut d);
                d
            };
            let mut second = vec![2.0; z.len()];
            activation.second(&y, &kept, &mut second);
            assert_eq!(activation.bends(), second.iter().any(|s| *s != 0.0));
            for ((s, up), down) in second.iter().zip(slopes(h)).zip(slopes(-h)) {
                let numeric = 2.0 * (up - down) / (2.0 * h);
                assert!((s - numeric).abs() < 1e-8, "{activation}: {s} and {numeric}");
            }
        }
    }

    #[test]
    fn nan_is_not_hidden() {
        for activation in Activation::ALL {
            let mut z = [f64::NAN, 1.0];
            activation.apply(&mut z);
            assert!(z[0].is_nan() && z[1].is_finite(), "{activation}");
        }
    }
}
