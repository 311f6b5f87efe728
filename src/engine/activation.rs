//! Activation functions of hidden and output layers, and their derivatives.

use serde::{Deserialize, Serialize};

use super::elementary::{exp, map, one_minus_exp_minus, sigmoid, softplus, tanh, tanh_in};
use super::simd::{Real, Vector};
use crate::choice::choice;

/// The function that a layer applies to its weighted sums z, element by element.
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
/// derivative of ReLU is 0 almost everywhere, and 0 is used everywhere: the kink at 0, where it
/// does not exist, contributes nothing to a Hessian.
///
/// ```
/// use bnn_mcmc::model::Activation;
/// let mut z = [-1.0, 0.0, 2.0];
/// Activation::Relu.apply(&mut z);
/// assert_eq!(z, [0.0, 0.0, 2.0]);
/// assert_eq!("tanh".parse::<Activation>()?, Activation::Tanh);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// z itself: a linear layer.
    Identity,
    /// 1 / (1 + e^-z), between 0 and 1.
    Sigmoid,
    /// tanh z, between -1 and 1: the default.
    #[default]
    Tanh,
    /// max(z, 0). Its derivative jumps at 0, where it is taken as 0.
    Relu,
    /// ln(1 + e^z), a smooth ReLU.
    Softplus,
    /// z / (1 + e^-z), also called swish.
    Silu,
}

impl Activation {
    /// Replaces every z by its activation, to a relative error of about 1e-15. NaN stays NaN.
    pub fn apply(self, z: &mut [f64]) {
        match self {
            Self::Silu => {
                let mut sigmoids = [0.0; 64];
                for z in z.chunks_mut(sigmoids.len()) {
                    self.forward(z, &mut sigmoids[..z.len()]);
                }
            }
            _ => self.forward(z, &mut []),
        }
    }

    /// Replaces every z by its activation, like [`apply`](Self::apply), and writes the derivative
    /// there into `derivative` (as long as `z`): for a network of your own. Does not allocate.
    ///
    /// ```
    /// use bnn_mcmc::model::Activation;
    /// let (mut z, mut derivative) = ([-1.0, 2.0], [0.0; 2]);
    /// Activation::Relu.apply_with_derivative(&mut z, &mut derivative);
    /// assert_eq!((z, derivative), ([0.0, 2.0], [0.0, 1.0]));
    /// ```
    pub fn apply_with_derivative(self, z: &mut [f64], derivative: &mut [f64]) {
        let mut kept = [0.0; 64];
        for (z, d) in z.chunks_mut(kept.len()).zip(derivative.chunks_mut(kept.len())) {
            let kept = if self.keeps() { &mut kept[..z.len()] } else { &mut [][..] };
            self.forward(z, kept);
            d.fill(1.0);
            self.backward(z, kept, d);
        }
    }

    /// Whether a number per element is kept for the derivatives, beside the value.
    pub(crate) fn keeps(self) -> bool {
        self == Self::Silu
    }

    /// Applies the activation like [`apply`](Self::apply); `kept` is as long as `z` if the
    /// activation [keeps](Self::keeps), else empty. Exponentials are computed in f64.
    pub(crate) fn forward<F: Real>(self, z: &mut [F], kept: &mut [F]) {
        forward(self, z, kept);
    }

    /// Applies the activation like [`forward`](Self::forward), but tanh in F throughout, and the sigmoid as
    /// (1 + tanh(z/2))/2: in f32 to a few units of 6e-8, with twice as many numbers in a register.
    pub(crate) fn forward_in_own<F: Real>(self, z: &mut [F], kept: &mut [F]) {
        match self {
            Self::Tanh => tanh_in_place(z),
            Self::Sigmoid => sigmoid_in_place(z),
            Self::Silu => {
                kept.copy_from_slice(z);
                sigmoid_in_place(kept);
                z.iter_mut().zip(kept).for_each(|(z, s)| *z *= *s);
            }
            Self::Identity | Self::Relu | Self::Softplus => forward(self, z, kept),
        }
    }

    /// Multiplies `d` by the derivative, where [`forward`](Self::forward) left `y` and `kept`.
    pub(crate) fn backward<F: Real>(self, y: &[F], kept: &[F], d: &mut [F]) {
        backward(self, y, kept, d);
    }

    /// Whether the second derivative is other than zero.
    pub(crate) fn bends(self) -> bool {
        !matches!(self, Self::Identity | Self::Relu)
    }

    /// Multiplies `d` by the second derivative, where the activation left `y` and `kept`.
    pub(crate) fn second(self, y: &[f64], kept: &[f64], d: &mut [f64]) {
        second(self, y, kept, d);
    }
}

/// Multiplies every element of `d` by an expression of the corresponding element y: `multiply!(d, y, |y| ..)`.
macro_rules! multiply {
    ($d:expr, $from:expr, |$y:ident| $factor:expr) => {
        for (d, y) in $d.iter_mut().zip($from) {
            let $y = *y;
            *d *= $factor;
        }
    };
}

#[inline(always)]
fn forward_body<F: Real, V: Vector<F>>(
    _: V::Level,
    activation: Activation,
    z: &mut [F],
    kept: &mut [F],
) {
    let zero = F::default();
    match activation {
        Activation::Identity => {}
        Activation::Sigmoid => map!(z, |z| F::of(sigmoid::<V::Level>(z.wide()))),
        Activation::Tanh => map!(z, |z| F::of(tanh::<V::Level>(z.wide()))),
        Activation::Relu => {
            for z in z {
                *z = if *z < zero { zero } else { *z };
            }
        }
        Activation::Softplus => map!(z, |z| F::of(softplus::<V::Level>(z.wide()).0)),
        Activation::Silu => {
            kept.copy_from_slice(z);
            map!(kept, |z| F::of(sigmoid::<V::Level>(z.wide())));
            for (z, s) in z.iter_mut().zip(kept) {
                *z *= *s;
            }
        }
    }
}
#[inline(always)]
fn backward_body<F: Real, V: Vector<F>>(
    _: V::Level,
    activation: Activation,
    y: &[F],
    kept: &[F],
    d: &mut [F],
) {
    let fused = F::multiply_add::<V::Level>;
    match activation {
        Activation::Identity => {}
        Activation::Sigmoid => multiply!(d, y, |y| fused(-y, y, y)), //~ sigmoid-derivative
        Activation::Tanh => multiply!(d, y, |y| fused(-y, y, F::ONE)), //~ tanh-derivative
        Activation::Relu => {
            let zero = F::default();
            for (d, y) in d.iter_mut().zip(y) {
                *d = if *y > zero { *d } else { zero }; //~ relu-derivative
            }
        }
        Activation::Softplus => {
            //~ softplus-derivative
            multiply!(d, y, |y| F::of(one_minus_exp_minus::<V::Level>(y.wide())))
        }
        Activation::Silu => {
            for ((d, y), s) in d.iter_mut().zip(y).zip(kept) {
                *d *= fused(*y, F::ONE - *s, *s); //~ silu-derivative
            }
        }
    }
}
#[inline(always)]
fn second_body<V: Vector<f64>>(
    _: V::Level,
    activation: Activation,
    y: &[f64],
    kept: &[f64],
    d: &mut [f64],
) {
    let fused = f64::multiply_add::<V::Level>;
    match activation {
        Activation::Identity | Activation::Relu => d.fill(0.0),
        Activation::Sigmoid => multiply!(d, y, |y| fused(-y, y, y) * fused(-2.0, y, 1.0)),
        Activation::Tanh => multiply!(d, y, |y| -2.0 * y * fused(-y, y, 1.0)),
        Activation::Softplus => {
            multiply!(d, y, |y| exp::<V::Level>(-y) * one_minus_exp_minus::<V::Level>(y))
        }
        Activation::Silu => {
            for ((d, y), s) in d.iter_mut().zip(y).zip(kept) {
                *d *= (1.0 - s) * fused(*y, fused(-2.0, *s, 1.0), 2.0 * s);
            }
        }
    }
}

dispatch! {
    fn forward<F>(activation: Activation, z: &mut [F], kept: &mut [F]) => forward_body
}
dispatch! {
    fn backward<F>(activation: Activation, y: &[F], kept: &[F], d: &mut [F]) => backward_body
}
#[inline(always)]
fn tanh_body<F: Real, V: Vector<F>>(_: V::Level, z: &mut [F]) {
    map!(z, |z| tanh_in::<F, V::Level>(z));
}
#[inline(always)]
fn sigmoid_body<F: Real, V: Vector<F>>(_: V::Level, z: &mut [F]) {
    let half = F::of(0.5);
    map!(z, |z| F::multiply_add::<V::Level>(half, tanh_in::<F, V::Level>(half * z), half));
}

dispatch! {
    fn tanh_in_place<F>(z: &mut [F]) => tanh_body
}
dispatch! {
    fn sigmoid_in_place<F>(z: &mut [F]) => sigmoid_body
}
dispatch! {
    fn second(activation: Activation, y: &[f64], kept: &[f64], d: &mut [f64]) => second_body
}

choice! { "activation", Activation {
    Self::Identity, Self::Identity, "identity", "z itself, which makes layers linear";
    Self::Sigmoid, Self::Sigmoid, "sigmoid", "1 / (1 + exp(-z)), between 0 and 1";
    Self::Tanh, Self::Tanh, "tanh", "tanh z, between -1 and 1";
    Self::Relu, Self::Relu, "relu", "The larger of z and 0";
    Self::Softplus, Self::Softplus, "softplus", "ln(1 + exp(z)), a smooth relu";
    Self::Silu, Self::Silu, "silu", "z / (1 + exp(-z)), also called swish";
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Choice;

    #[test]
    fn names_are_read_back_and_unknown_ones_listed() {
        for &activation in Activation::ALL {
            assert_eq!(activation.to_string().parse::<Activation>().unwrap(), activation);
            let json = serde_json::to_string(&activation).unwrap();
            assert_eq!(json, format!("\"{activation}\""));
            assert_eq!(serde_json::from_str::<Activation>(&json).unwrap(), activation);
        }
        let error = "gelu".parse::<Activation>().unwrap_err();
        let crate::Error::UnknownName { name, known, .. } = &error else { panic!("{error:?}") };
        assert_eq!((&name[..], known.len()), ("gelu", Activation::ALL.len()));
    }

    #[test]
    fn derivatives_match_central_differences() {
        let z: Vec<f64> = (-60..=60).map(|i| f64::from(i) * 0.1 + 0.03).collect();
        let h = 1e-6;
        let sigmoids =
            |by: f64| z.iter().map(|z| 1.0 / (1.0 + (-z - by).exp())).collect::<Vec<_>>();
        for &activation in Activation::ALL {
            let shifted = |by: f64| {
                let mut y: Vec<f64> = z.iter().map(|z| z + by).collect();
                activation.apply(&mut y);
                y
            };
            let (y, kept) = (shifted(0.0), sigmoids(0.0));
            let mut d = vec![2.0; z.len()];
            activation.backward(&y, &kept, &mut d);
            let (mut both, mut derivative) = (z.clone(), vec![f64::NAN; z.len()]);
            activation.apply_with_derivative(&mut both, &mut derivative);
            assert_eq!(both, y, "{activation}");
            let close = |(one, two): (&f64, &f64)| (2.0 * one - two).abs() < 1e-13;
            assert!(derivative.iter().zip(&d).all(close), "{activation}");
            for ((d, up), down) in d.iter().zip(shifted(h)).zip(shifted(-h)) {
                let numeric = 2.0 * (up - down) / (2.0 * h);
                assert!((d - numeric).abs() < 1e-8, "{activation}: {d} and {numeric}");
            }
            // The second derivative against differences of the first.
            let slopes = |by: f64| {
                let mut d = vec![1.0; z.len()];
                activation.backward(&shifted(by), &sigmoids(by), &mut d);
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
        for &activation in Activation::ALL {
            let mut z = [f64::NAN, 1.0];
            activation.apply(&mut z);
            assert!(z[0].is_nan() && z[1].is_finite(), "{activation}");
        }
    }
}
