//! Linear models with one or several outputs.

use serde::{Deserialize, Serialize};

use super::{Activation, MAX_SIZE, Model, OutputLayer, SecondOrderModel};
use crate::Error;
use crate::engine::layer::Layer;
use crate::engine::network::Network;
use crate::engine::{Tile, TileMut, Tiles};
use crate::layout::Layout;

/// A linear model.
///
/// f(x) = W x + b with W `[K x D]` and b `[K]`. On a tile of R rows: F = W X + b `[K x R]`,
/// dW = d_out X^T, db = the row sums of d_out: 4 N K D floating-point operations for N rows.
/// Second derivatives are zero, and a tangent is the model itself at v: R F = V X + v_b.
/// With a Gaussian likelihood this is linear regression; for logistic regression see
/// [`logistic`](super::logistic).
///
/// ```
/// use bnn_mcmc::model::{Linear, Model};
/// let model = Linear::new(8, 1)?;
/// assert_eq!(model.layout().block_names(), ["w", "b"]);
/// assert_eq!(model.without_bias().layout().dim(), 8);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Linear {
    n_inputs: usize,
    n_outputs: usize,
    bias: bool,
}

impl Linear {
    /// A linear model from `n_inputs` features to `n_outputs` outputs, with bias.
    ///
    /// # Errors
    /// [`Error::Argument`] if either is zero or above 2^24.
    pub fn new(n_inputs: usize, n_outputs: usize) -> Result<Self, Error> {
        for (name, value) in [("n_inputs", n_inputs), ("n_outputs", n_outputs)] {
            if !(1..=MAX_SIZE).contains(&value) {
                return Err(Error::argument(name, value, format!("1 to {MAX_SIZE}")));
            }
        }
        Ok(Self { n_inputs, n_outputs, bias: true })
    }

    /// Removes the bias: the model has b = 0 and no block `b`.
    pub fn without_bias(mut self) -> Self {
        self.bias = false;
        self
    }
}

/// Scratch memory of a [`Linear`] model: the partial sums of its gradient.
#[derive(Clone, Debug)]
pub struct LinearWorkspace {
    network: Network<f64>,
}

impl Model for Linear {
    type Workspace = LinearWorkspace;

    /// `w` `[K, D]` row-major, then `b` `[K]` unless without bias.
    fn layout(&self) -> Layout {
        let layout = Layout::new().with("w", &[self.n_outputs, self.n_inputs]);
        if self.bias { layout.with("b", &[self.n_outputs]) } else { layout }
    }

    fn n_inputs(&self) -> usize {
        self.n_inputs
    }

    fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    fn description(&self) -> Option<String> {
        Some(format!("Linear {}-{}", self.n_inputs, self.n_outputs))
    }

    fn input_axes(&self) -> Vec<(String, usize)> {
        vec![("w".into(), 1)]
    }

    fn output_axes(&self) -> Vec<(String, usize)> {
        vec![("w".into(), 0), ("b".into(), 0)]
    }

    fn workspace(&self) -> LinearWorkspace {
        let layer = Layer {
            inputs: self.n_inputs,
            units: self.n_outputs,
            bias: self.bias,
            activation: Activation::Identity,
        };
        LinearWorkspace { network: Network::new(vec![layer]) }
    }

    fn output_layer(&self) -> Result<OutputLayer, Error> {
        Ok(OutputLayer { hidden: None, bias: self.bias, beside: Vec::new(), log_sd: false })
    }

    walk_of_network!();
    descent_of_network!();
}

impl SecondOrderModel for Linear {
    fn keep_backward(&self, _: &[f64], _: Tile, _: Tile, _: &mut LinearWorkspace) {}

    fn forward_tangent(
        &self,
        _: &[f64],
        x: Tile,
        v: &[f64],
        r_out: TileMut,
        ws: &mut LinearWorkspace,
    ) {
        ws.network.forward(v, x, r_out);
    }

    fn backward_tangent(
        &self,
        w: &[f64],
        x: Tile,
        _: &[f64],
        r_d_out: Tile,
        hv: &mut [f64],
        ws: &mut LinearWorkspace,
    ) {
        ws.network.backward(w, x, r_d_out, hv);
        ws.network.finish(hv);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;

    #[test]
    fn zero_sizes_are_named() {
        fails!(Linear::new(0, 1), Argument { name: "n_inputs", value: 0 });
        fails!(Linear::new(1, 0), Argument { name: "n_outputs", value: 0 });
    }
}
