//! Multilayer perceptrons (fully connected feed-forward networks) of any depth and width.

use super::{
    Activation, LINEAR_OUTPUTS, MAX_SIZE, Model, NonCentred, OutputLayer, SecondOrderModel,
};
use crate::Error;
use crate::engine::layer::Layer;
use crate::engine::network::{Network, inputs_product, is_wide, product};
use crate::engine::simd::Real;
use crate::engine::{Tile, TileMut, TileStorage, Tiles};
use crate::layout::Layout;

/// A multilayer perceptron.
///
/// With sizes `[H_0 = D, H_1, ..., H_m = K]`, R rows in a tile and h_0 = X `[D x R]`:
///
/// - forward, for l = 1 to m: z_l = W_l h_{l-1} + b_l and h_l = phi_l(z_l), all `[H_l x R]`,
///   with W_l `[H_l x H_{l-1}]` and b_l `[H_l]`; f = h_m;
/// - backward, from delta_m = d_out * phi_m'(z_m), for l = m to 1:
///   dW_l = delta_l h_{l-1}^T, db_l = the row sums of delta_l, and, unless l = 1,
///   delta_{l-1} = (W_l^T delta_l) * phi_{l-1}'(z_{l-1}).
///
/// The hidden layers share one activation; the output layer is linear unless asked otherwise.
/// Products of layers with at least 100 inputs and 100 units are blocked for the cache, with a buffer
/// of a megabyte for each thread. For N rows and P weights a forward and backward pass costs 6 N P floating-point
/// operations, less 2 N D H_1, since nothing is propagated to the inputs, and N activations per
/// hidden unit.
///
/// With v = (V_l, v_l) a direction in weight space, R the derivative along it, and h_0 = X fixed,
///
/// - forward: R z_l = V_l h_{l-1} + v_l + W_l R h_{l-1}, R h_l = phi_l'(z_l) * R z_l;
/// - backward, with e_l the derivative with respect to h_l, so that delta_l = e_l * phi_l'(z_l):
///   R delta_l = R e_l * phi_l'(z_l) + e_l * phi_l''(z_l) * R z_l,
///   R dW_l = R delta_l h_{l-1}^T + delta_l (R h_{l-1})^T, R db_l = the row sums of R delta_l, and
///   R e_{l-1} = W_l^T R delta_l + V_l^T delta_l.
///
/// delta_l and e_l * phi_l'' are computed once for all directions, and products with a V_l that is
/// zero, as most are for a column of a Hessian, are left out. With forward, likelihood and delta,
/// the Hessian times a vector costs 16 N P operations, fewer in the first layer, between 1.5 and
/// 2.7 gradients.
///
/// ```
/// use bnn_mcmc::model::{Activation, Mlp, Model};
/// use bnn_mcmc::engine::{Tile, TileMut, padded};
/// let mlp = Mlp::new(&[2, 3, 1], Activation::Tanh)?;
/// assert_eq!(mlp.layout().block_names(), ["w0", "b0", "w1", "b1"]);
/// let w = vec![0.1; mlp.layout().dim()];
/// let mut ws = mlp.workspace();
/// mlp.begin(&w, &mut ws);
/// let x = [1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
/// let mut out = vec![0.0; padded(2)];
/// mlp.forward(&w, Tile::new(&x, 2), TileMut::new(&mut out, 2), &mut ws);
/// let unit = (0.1 * 1.0 + 0.1 * 3.0 + 0.1f64).tanh(); // row 0 is (1, 3)
/// assert!((out[0] - (3.0 * 0.1 * unit + 0.1)).abs() < 1e-15);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
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

    /// The layers, with scratch memory.
    pub(super) fn network<F: Real>(&self) -> Network<F> {
        Network::new(self.layers())
    }

    /// The shapes of the layers.
    pub(crate) fn layers(&self) -> Vec<Layer> {
        let layer = |(l, size): (usize, &[usize])| Layer {
            inputs: size[0],
            units: size[1],
            bias: true,
            activation: self.activation(l),
        };
        self.sizes.windows(2).enumerate().map(layer).collect()
    }

    /// The inputs of layer `l` on the tile x, and delta_l, both with a column for each unit: the
    /// results that [`forward`](Model::forward) and
    /// [`keep_backward`](SecondOrderModel::keep_backward) have left.
    pub(crate) fn kept<'w>(
        &self,
        l: usize,
        x: Tile<'w>,
        ws: &'w MlpWorkspace,
    ) -> (&'w [f64], &'w [f64]) {
        let delta = ws.tangent.as_ref().map_or(&[][..], |tangent| &tangent.layers[l].delta);
        (ws.network.input(l, x), &delta[..delta.len().min(self.sizes[l + 1] * x.stride())])
    }

    fn n_layers(&self) -> usize {
        self.sizes.len() - 1
    }

    pub(super) fn activation(&self, layer: usize) -> Activation {
        if layer + 1 == self.n_layers() { self.output } else { self.hidden }
    }
}

/// Scratch memory of an [`Mlp`]: the activations of one tile, two tiles of derivatives, and the partial
/// sums of the gradient.
#[derive(Clone, Debug)]
pub struct MlpWorkspace {
    network: Network<f64>,
    tangent: Option<Tangent>,
}

/// Scratch memory of second derivatives, allocated at their first use.
#[derive(Clone, Debug)]
struct Tangent {
    layers: Vec<LayerTangent>,
    r_delta: TileStorage,
    r_delta_below: TileStorage,
    scratch: TileStorage,
}

#[derive(Clone, Debug)]
struct LayerTangent {
    /// delta_l.
    delta: TileStorage,
    /// e_l * phi_l''(z_l), where phi_l is not piecewise linear.
    bend: TileStorage,
    /// R z_l and R h_l.
    r_z: TileStorage,
    r_h: TileStorage,
    /// Whether V_l or v_l, and whether R h_l, are other than zero.
    v_moves: bool,
    h_moves: bool,
}

impl Tangent {
    fn new(mlp: &Mlp) -> Self {
        let widest = *mlp.sizes[1..].iter().max().expect("at least one layer");
        let layer = |l: usize| {
            let units = mlp.sizes[l + 1];
            let bends = mlp.activation(l).bends();
            LayerTangent {
                delta: TileStorage::for_columns(units),
                bend: TileStorage::for_columns(if bends { units } else { 0 }),
                r_z: TileStorage::for_columns(units),
                r_h: TileStorage::for_columns(units),
                v_moves: false,
                h_moves: false,
            }
        };
        Self {
            layers: (0..mlp.n_layers()).map(layer).collect(),
            r_delta: TileStorage::for_columns(widest),
            r_delta_below: TileStorage::for_columns(widest),
            scratch: TileStorage::for_columns(widest),
        }
    }
}

/// a += b.
fn add(a: &mut [f64], b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
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

    fn description(&self) -> Option<String> {
        let sizes: Vec<_> = self.sizes.iter().map(usize::to_string).collect();
        let description = format!("Mlp {}, {}", sizes.join("-"), self.hidden);
        Some(match self.output {
            Activation::Identity => description,
            output => format!("{description}, outputs {output}"),
        })
    }

    fn input_axes(&self) -> Vec<(String, usize)> {
        vec![("w0".into(), 1)]
    }

    fn output_axes(&self) -> Vec<(String, usize)> {
        let last = self.n_layers() - 1;
        vec![(format!("w{last}"), 0), (format!("b{last}"), 0)]
    }

    /// 192, and 256 where a layer is wide.
    fn tile_rows(&self) -> usize {
        if self.sizes.windows(2).any(|size| is_wide(size[1], size[0])) { 256 } else { 192 }
    }

    fn workspace(&self) -> MlpWorkspace {
        MlpWorkspace { network: self.network(), tangent: None }
    }

    fn output_layer(&self) -> Result<OutputLayer, Error> {
        if self.output != Activation::Identity {
            let found = self.description().unwrap_or_default();
            return Err(Error::argument("model", found, LINEAR_OUTPUTS));
        }
        let hidden = || {
            NonCentred::new(Self {
                sizes: self.sizes[..self.n_layers()].to_vec(),
                hidden: self.hidden,
                output: self.hidden,
            })
        };
        Ok(OutputLayer {
            hidden: (self.n_layers() > 1).then(hidden),
            bias: true,
            beside: Vec::new(),
            log_sd: false,
        })
    }

    walk_of_network!();
    descent_of_network!();
}

impl SecondOrderModel for Mlp {
    fn keep_backward(&self, w: &[f64], x: Tile, d_out: Tile, ws: &mut MlpWorkspace) {
        let stride = x.stride();
        let tangent = ws.tangent.get_or_insert_with(|| Tangent::new(self));
        let mut end = w.len();
        let last = self.n_layers() - 1;
        tangent.layers[last].delta[..d_out.values().len()].copy_from_slice(d_out.values());
        for l in (0..self.n_layers()).rev() {
            let (inputs, units) = (self.sizes[l], self.sizes[l + 1]);
            let n = units * stride;
            let (below, from) = tangent.layers.split_at_mut(l);
            let LayerTangent { delta, bend, .. } = &mut from[0];
            let delta = &mut delta[..n];
            if let Some((h, kept)) = ws.network.output(l, stride) {
                if !bend.is_empty() {
                    bend[..n].copy_from_slice(delta);
                    self.activation(l).second(h, kept, &mut bend[..n]);
                }
                self.activation(l).backward(h, kept, delta);
            }
            let start = end - units - units * inputs;
            if let Some(below) = below.last_mut() {
                let below = &mut below.delta[..inputs * stride];
                inputs_product(&w[start..end - units], delta, stride, below);
            }
            end = start;
        }
    }

    fn forward_tangent(
        &self,
        w: &[f64],
        x: Tile,
        v: &[f64],
        mut r_out: TileMut,
        ws: &mut MlpWorkspace,
    ) {
        let stride = x.stride();
        let tangent = ws.tangent.get_or_insert_with(|| Tangent::new(self));
        let (mut start, mut moves) = (0, false);
        for l in 0..self.n_layers() {
            let (inputs, units) = (self.sizes[l], self.sizes[l + 1]);
            let n = units * stride;
            let (below, from) = tangent.layers.split_at_mut(l);
            let layer = &mut from[0];
            let (bias, end) = (start + units * inputs, start + units * inputs + units);
            layer.v_moves = v[start..end].iter().any(|v| *v != 0.0);
            let r_z = &mut layer.r_z[..n];
            if layer.v_moves {
                product(&v[start..bias], &v[bias..end], ws.network.input(l, x), stride, r_z);
            } else {
                r_z.fill(0.0);
            }
            if moves {
                let (r_input, from_below) = (&below[l - 1].r_h, &mut tangent.scratch[..n]);
                let r_input = &r_input[..inputs * stride];
                product(&w[start..bias], &[], r_input, stride, from_below);
                add(r_z, from_below);
            }
            moves |= layer.v_moves;
            layer.h_moves = moves;
            let r_h = &mut layer.r_h[..n];
            r_h.copy_from_slice(r_z);
            if let Some((h, kept)) = ws.network.output(l, stride) {
                self.activation(l).backward(h, kept, r_h);
            }
            start = end;
        }
        let last = &tangent.layers[self.n_layers() - 1].r_h;
        let n = r_out.values().len();
        r_out.values().copy_from_slice(&last[..n]);
    }

    fn backward_tangent(
        &self,
        w: &[f64],
        x: Tile,
        v: &[f64],
        r_d_out: Tile,
        hv: &mut [f64],
        ws: &mut MlpWorkspace,
    ) {
        let stride = x.stride();
        let tangent = ws.tangent.get_or_insert_with(|| Tangent::new(self));
        let Tangent { layers, r_delta, r_delta_below, scratch } = tangent;
        let mut end = w.len();
        r_delta[..r_d_out.values().len()].copy_from_slice(r_d_out.values());
        for l in (0..self.n_layers()).rev() {
            let (inputs, units) = (self.sizes[l], self.sizes[l + 1]);
            let n = units * stride;
            let LayerTangent { delta, bend, r_z, v_moves, .. } = &layers[l];
            let delta = &delta[..n];
            // `r_delta` holds R e; now R delta.
            if let Some((h, kept)) = ws.network.output(l, stride) {
                self.activation(l).backward(h, kept, &mut r_delta[..n]);
                for ((r, bend), r_z) in r_delta[..n].iter_mut().zip(&**bend).zip(&**r_z) {
                    *r += bend * r_z; //~ hessian-curvature
                }
            }
            let start = end - units - units * inputs;
            ws.network.sum_product(l, &r_delta[..n], x);
            if l > 0 {
                let below = &mut r_delta_below[..inputs * stride];
                let weights = start..end - units;
                inputs_product(&w[weights.clone()], &r_delta[..n], stride, below);
                if *v_moves {
                    let from_v = &mut scratch[..inputs * stride];
                    inputs_product(&v[weights], delta, stride, from_v);
                    add(below, from_v);
                }
                let input = &layers[l - 1];
                if input.h_moves {
                    ws.network.add_product(l, delta, &input.r_h[..inputs * stride], stride);
                }
                std::mem::swap(r_delta, r_delta_below);
            }
            end = start;
        }
        ws.network.finish(hv);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;
    use crate::message::Choice;

    #[test]
    fn wrong_sizes_are_named() {
        for sizes in [&[][..], &[3], &[3, 0], &[0, 2], &[2, 0, 1]] {
            let value = format!("{sizes:?}");
            fails!(Mlp::new(sizes, Activation::Tanh), Argument { name: "sizes", value: value });
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
        use crate::engine::simd::testing::at_every_level;
        use crate::rng::ChainRng;
        let mut rng = ChainRng::new(11, 0);
        for &activation in Activation::ALL {
            let mlp = Mlp::new(&[5, 9, 6, 3], activation).unwrap().output_activation(activation);
            let rows = 61;
            let stride = crate::engine::padded(rows);
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
                mlp.finish(&mut found, &mut ws);
                found.extend(out);
                for (a, b) in found.iter().zip(reference.get_or_insert_with(|| found.clone())) {
                    let error = (a - *b).abs() / (1.0 + b.abs());
                    assert!(error < 1e-12, "{activation} at {level:?}: {a} and {b}");
                }
            });
        }
    }
}
