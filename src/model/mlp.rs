//! Multilayer perceptrons (fully connected feed-forward networks) of any depth and width.
//!
//! With sizes `[H_0 = D, H_1, ..., H_m = K]`, R rows in a tile and h_0 = X `[D x R]`:
//!
//! - forward, for l = 1 to m: z_l = W_l h_{l-1} + b_l and h_l = phi_l(z_l), all `[H_l x R]`,
//!   with W_l `[H_l x H_{l-1}]` and b_l `[H_l]`; f = h_m;
//! - backward, from delta_m = d_out * phi_m'(z_m), for l = m to 1:
//!   dW_l = delta_l h_{l-1}^T, db_l = the row sums of delta_l, and, unless l = 1,
//!   delta_{l-1} = (W_l^T delta_l) * phi_{l-1}'(z_{l-1}).
//!
//! The hidden layers share one activation; the output layer is linear unless asked otherwise.
//! For N rows and P weights a forward and backward pass costs 6 N P floating-point operations,
//! less 2 N D H_1, since nothing is propagated to the inputs, and N activations per hidden unit.
//!
//! ```
//! use bnn_mcmc::model::{Activation, Mlp, Model};
//! use bnn_mcmc::tile::{Tile, TileMut, padded};
//! let mlp = Mlp::new(&[2, 3, 1], Activation::Tanh)?;
//! assert_eq!(mlp.layout().block_names(), ["w0", "b0", "w1", "b1"]);
//! let w = vec![0.1; mlp.layout().dim()];
//! let mut ws = mlp.workspace();
//! let x = [1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
//! let mut out = vec![0.0; padded(2)];
//! mlp.forward(&w, Tile::new(&x, 2), TileMut::new(&mut out, 2), &mut ws);
//! let unit = (0.1 * 1.0 + 0.1 * 3.0 + 0.1f64).tanh(); // row 0 is (1, 3)
//! assert!((out[0] - (3.0 * 0.1 * unit + 0.1)).abs() < 1e-15);
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

use super::{Activation, MAX_SIZE, Model};
use crate::Error;
use crate::layout::Layout;
use crate::linalg::tile_product;
use crate::tile::{Tile, TileMut, TileStorage};

/// A multilayer perceptron. See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mlp {
    sizes: Vec<usize>,
    hidden: Activation,
    output: Activation,
}

impl Mlp {
    /// A network of the given `sizes` `[D, H_1, ..., K]`: inputs, hidden layers if any, outputs.
    /// The output layer is linear.
    ///
    /// # Errors
    /// [`Error::Argument`] for fewer than two sizes, or a size that is zero or above 2^24.
    pub fn new(sizes: &[usize], hidden: Activation) -> Result<Self, Error> {
        if sizes.len() < 2 || sizes.contains(&0) {
            let allowed = "at least two sizes (inputs, hidden layers if any, outputs), none zero";
            return Err(Error::argument("sizes", format!("{sizes:?}"), allowed));
        }
        if let Some(size) = sizes.iter().find(|size| **size > MAX_SIZE) {
            return Err(Error::argument("sizes", size, format!("at most {MAX_SIZE} each")));
        }
        Ok(Self { sizes: sizes.to_vec(), hidden, output: Activation::Identity })
    }

    /// Applies `activation` to the outputs.
    ///
    /// Leave it out where the likelihood has a link of its own (sigmoid, softmax): a link on top
    /// of a squashed output cannot express confident predictions.
    pub fn output_activation(mut self, activation: Activation) -> Self {
        self.output = activation;
        self
    }

    /// The sizes `[D, H_1, ..., K]`.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The activation of the hidden layers.
    pub fn hidden(&self) -> Activation {
        self.hidden
    }

    /// The activation of the output layer.
    pub fn output(&self) -> Activation {
        self.output
    }

    fn n_layers(&self) -> usize {
        self.sizes.len() - 1
    }

    fn activation(&self, layer: usize) -> Activation {
        if layer + 1 == self.n_layers() { self.output } else { self.hidden }
    }
}

/// Scratch memory of an [`Mlp`]: the activations of one tile, and two tiles of derivatives.
#[derive(Clone, Debug)]
pub struct MlpWorkspace {
    layers: Vec<LayerOutput>,
    delta: TileStorage,
    delta_below: TileStorage,
}

/// h_l, and what its activation keeps for the backward pass.
#[derive(Clone, Debug)]
struct LayerOutput {
    h: TileStorage,
    kept: TileStorage,
}

impl Model for Mlp {
    type Workspace = MlpWorkspace;

    /// Layer by layer: `w0` `[H_1, D]` row-major, `b0` `[H_1]`, `w1` `[H_2, H_1]`, ...
    fn layout(&self) -> Layout {
        self.sizes.windows(2).enumerate().fold(Layout::new(), |layout, (l, size)| {
            layout.with(&format!("w{l}"), &[size[1], size[0]]).with(&format!("b{l}"), &[size[1]])
        })
    }

    fn n_inputs(&self) -> usize {
        self.sizes[0]
    }

    fn n_outputs(&self) -> usize {
        self.sizes[self.n_layers()]
    }

    fn workspace(&self) -> MlpWorkspace {
        let layer = |l: usize| {
            let (units, activation) = (self.sizes[l + 1], self.activation(l));
            // A linear output layer writes straight into the caller's tile.
            let own = l + 1 < self.n_layers() || activation != Activation::Identity;
            LayerOutput {
                h: TileStorage::for_columns(if own { units } else { 0 }),
                kept: TileStorage::for_columns(if activation.keeps() { units } else { 0 }),
            }
        };
        let widest = *self.sizes[1..].iter().max().expect("at least one layer");
        MlpWorkspace {
            layers: (0..self.n_layers()).map(layer).collect(),
            delta: TileStorage::for_columns(widest),
            delta_below: TileStorage::for_columns(widest),
        }
    }

    fn forward(&self, w: &[f64], x: Tile, mut out: TileMut, ws: &mut MlpWorkspace) {
        let stride = x.stride();
        let (mut rest, mut input) = (w, x.values());
        for (l, layer) in ws.layers.iter_mut().enumerate() {
            let (inputs, units) = (self.sizes[l], self.sizes[l + 1]);
            let (weights, tail) = rest.split_at(units * inputs);
            let (bias, tail) = tail.split_at(units);
            rest = tail;
            if layer.h.is_empty() {
                tile_product::forward(weights, bias, input, stride, out.values());
                return;
            }
            let n = units * stride;
            let h = &mut layer.h[..n];
            tile_product::forward(weights, bias, input, stride, h);
            let kept = n.min(layer.kept.len());
            self.activation(l).forward(h, &mut layer.kept[..kept]);
            input = h;
        }
        out.values().copy_from_slice(input);
    }

    fn backward(&self, w: &[f64], x: Tile, d_out: Tile, grad: &mut [f64], ws: &mut MlpWorkspace) {
        let stride = x.stride();
        let MlpWorkspace { layers, delta, delta_below } = ws;
        let mut end = w.len();
        delta[..d_out.values().len()].copy_from_slice(d_out.values());
        for l in (0..self.n_layers()).rev() {
            let (inputs, units) = (self.sizes[l], self.sizes[l + 1]);
            let n = units * stride;
            // `delta` holds the derivative with respect to h; now to z.
            let kept = n.min(layers[l].kept.len());
            if !layers[l].h.is_empty() {
                let (h, kept) = (&layers[l].h[..n], &layers[l].kept[..kept]);
                self.activation(l).backward(h, kept, &mut delta[..n]);
            }
            let start = end - units - units * inputs;
            let (dw, db) = grad[start..end].split_at_mut(units * inputs);
            let input = if l == 0 { x.values() } else { &layers[l - 1].h[..inputs * stride] };
            tile_product::backward_weights(&delta[..n], input, stride, dw, db);
            if l > 0 {
                let weights = &w[start..end - units];
                let below = &mut delta_below[..inputs * stride];
                tile_product::backward_inputs(weights, &delta[..n], stride, below);
                std::mem::swap(delta, delta_below);
            }
            end = start;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_sizes_are_named() {
        for sizes in [&[][..], &[3], &[3, 0], &[0, 2], &[2, 0, 1]] {
            let error = Mlp::new(sizes, Activation::Tanh).unwrap_err();
            assert!(error.is_argument());
            assert!(error.to_string().contains(&format!("`sizes` is {sizes:?}")), "{error}");
        }
    }

    #[test]
    fn layout_counts_the_parameters_of_the_literature() {
        let dim = |sizes: &[usize]| Mlp::new(sizes, Activation::Sigmoid).unwrap().layout().dim();
        assert_eq!(dim(&[2, 2, 1]), 9);
        assert_eq!(dim(&[4, 3, 3]), 27);
        assert_eq!(dim(&[34, 50, 2]), 1852);
    }

    #[test]
    fn every_instruction_set_gives_the_same_values_and_gradients() {
        use crate::linalg::simd::testing::at_every_level;
        use crate::rng::ChainRng;
        let mut rng = ChainRng::new(11, 0);
        for activation in Activation::ALL {
            let mlp = Mlp::new(&[5, 9, 6, 3], activation).unwrap().output_activation(activation);
            let rows = 61;
            let stride = crate::tile::padded(rows);
            let [mut x, mut d_out] = [5, 3].map(|columns| vec![0.0; columns * stride]);
            let mut w = vec![0.0; mlp.layout().dim()];
            for values in [&mut x, &mut d_out, &mut w] {
                rng.fill_normal(values);
            }
            TileMut::new(&mut x, rows).clear_padding();
            TileMut::new(&mut d_out, rows).clear_padding();
            let mut reference: Option<Vec<f64>> = None;
            at_every_level(|level| {
                let (mut ws, mut out) = (mlp.workspace(), vec![0.0; 3 * stride]);
                let mut found = vec![0.0; w.len()];
                mlp.forward(&w, Tile::new(&x, rows), TileMut::new(&mut out, rows), &mut ws);
                let d_out = Tile::new(&d_out, rows);
                mlp.backward(&w, Tile::new(&x, rows), d_out, &mut found, &mut ws);
                found.extend(out);
                for (a, b) in found.iter().zip(reference.get_or_insert_with(|| found.clone())) {
                    let error = (a - *b).abs() / (1.0 + b.abs());
                    assert!(error < 1e-12, "{activation} at {level:?}: {a} and {b}");
                }
            });
        }
    }
}
