//! The walk through the dense layers of a network whose weights are independent normals: forward with
//! noise, and back to their means and variances.
//!
//! The pre-activations of a row, given the inputs h of a layer, are independent normals. With means M
//! and variances V of the weights, m and v of the biases,
//!
//! ```text
//! a = M h + m + s * eps,   s = sqrt(V h^2 + v),   eps ~ N(0, I)
//! ```
//!
//! and with delta the derivative with respect to a, and e = delta * eps / (2 s),
//!
//! ```text
//! dM = delta h^T,  dm = row sums of delta,  dV = e (h^2)^T,  dv = row sums of e
//! dh = M^T delta + 2 h * V^T e
//! ```

use super::layer::Layer;
use super::network::{finish, inputs_product, product, weights_product};
use super::{Tile, TileMut, TileStorage};
use crate::rng::ChainRng;

/// Numbers for the weights and biases of a network, for their means and for their variances.
pub(crate) struct Pair<T> {
    pub(crate) mean: T,
    pub(crate) variance: T,
}

/// The layers of a network with noise, and the scratch memory of one chain.
#[derive(Clone, Debug)]
pub(crate) struct NoisyNetwork {
    shapes: Vec<Layer>,
    layers: Vec<NoisyLayer>,
    /// The derivatives with respect to a layer's pre-activations and to their variances, and to its
    /// inputs and their squares.
    delta: [TileStorage; 2],
    below: [TileStorage; 2],
    /// The sums of the gradient with respect to means and variances, of every layer.
    sums: [TileStorage; 2],
    /// Whether the sums hold nothing yet.
    fresh: bool,
}

#[derive(Clone, Debug)]
struct NoisyLayer {
    /// h^2 of the inputs.
    squares: TileStorage,
    /// s and eps.
    sd: TileStorage,
    noise: TileStorage,
    /// The outputs, and the values that their activation keeps.
    h: TileStorage,
    kept: TileStorage,
}

impl NoisyNetwork {
    /// `shapes`, each of which has as many inputs as the one before has units.
    pub(crate) fn new(shapes: Vec<Layer>) -> Self {
        let tile = TileStorage::for_columns;
        let layer = |shape: &Layer| NoisyLayer {
            squares: tile(shape.inputs),
            sd: tile(shape.units),
            noise: tile(shape.units),
            h: tile(shape.units),
            kept: tile(if shape.activation.keeps() { shape.units } else { 0 }),
        };
        let widest = shapes.iter().map(|shape| shape.units).max().unwrap_or(0);
        let n_sums = shapes.iter().map(Layer::n_sums::<f64>).sum();
        Self {
            layers: shapes.iter().map(layer).collect(),
            delta: [(); 2].map(|()| tile(widest)),
            below: [(); 2].map(|()| tile(widest)),
            sums: [(); 2].map(|()| TileStorage::zeros(n_sums)),
            fresh: true,
            shapes,
        }
    }

    /// Begins a gradient.
    pub(crate) fn begin(&mut self) {
        self.fresh = true;
    }

    /// Writes outputs for `x` with noise from `rng` into `out`.
    pub(crate) fn forward(
        &mut self,
        w: Pair<&[f64]>,
        x: Tile,
        rng: &mut ChainRng,
        mut out: TileMut,
    ) {
        let (stride, mut start) = (x.stride(), 0);
        for l in 0..self.shapes.len() {
            let (before, rest) = self.layers.split_at_mut(l);
            let (shape, layer) = (&self.shapes[l], &mut rest[0]);
            let (biases, end) = (start + shape.n_weights(), start + shape.len());
            let input = input(before, x, shape.inputs * stride);
            let squares = &mut layer.squares[..input.len()];
            //~ noisy-variance
            squares.iter_mut().zip(input).for_each(|(square, h)| *square = h * h);
            let n = shape.units * stride;
            let [h, sd, noise] =
                [&mut layer.h, &mut layer.sd, &mut layer.noise].map(|t| &mut t[..n]);
            product(&w.mean[start..biases], &w.mean[biases..end], input, stride, h);
            product(&w.variance[start..biases], &w.variance[biases..end], squares, stride, sd);
            rng.fill_normal(noise);
            for ((h, sd), noise) in h.iter_mut().zip(sd).zip(noise) {
                *sd = sd.sqrt();
                *h += *sd * *noise;
            }
            let kept = &mut layer.kept[..if shape.activation.keeps() { n } else { 0 }];
            shape.activation.forward(h, kept);
            start = end;
        }
        let last = &self.layers[self.layers.len() - 1].h;
        let n = out.values().len();
        out.values().copy_from_slice(&last[..n]);
    }

    /// Adds the gradient of the tile that `forward` saw last to the sums. The padding of `d_out` is zero.
    pub(crate) fn backward(&mut self, w: Pair<&[f64]>, x: Tile, d_out: Tile) {
        let stride = x.stride();
        self.delta[0][..d_out.values().len()].copy_from_slice(d_out.values());
        let (mut end, mut end_sums) =
            (self.shapes.iter().map(Layer::len).sum(), self.sums[0].len());
        for l in (0..self.shapes.len()).rev() {
            let (before, rest) = self.layers.split_at_mut(l);
            let (shape, layer) = (&self.shapes[l], &rest[0]);
            let n = shape.units * stride;
            let [delta, e] = self.delta.each_mut().map(|delta| &mut delta[..n]);
            let kept = &layer.kept[..if shape.activation.keeps() { n } else { 0 }];
            shape.activation.backward(&layer.h[..n], kept, delta);
            for ((e, delta), (noise, sd)) in
                e.iter_mut().zip(&*delta).zip(layer.noise.iter().zip(&*layer.sd))
            {
                *e = if *sd > 0.0 { 0.5 * delta * noise / sd } else { 0.0 };
            }
            let input = input(before, x, shape.inputs * stride);
            let squares = &layer.squares[..input.len()];
            let (start, start_sums) = (end - shape.len(), end_sums - shape.n_sums::<f64>());
            let [sums, sums_v] = self.sums.each_mut().map(|sums| &mut sums[start_sums..end_sums]);
            weights_product(delta, input, stride, sums, shape.bias, self.fresh);
            weights_product(e, squares, stride, sums_v, shape.bias, self.fresh);
            if l > 0 {
                let weights = start..start + shape.n_weights();
                let [below, below_v] = self.below.each_mut().map(|t| &mut t[..input.len()]);
                inputs_product(&w.mean[weights.clone()], delta, stride, below);
                inputs_product(&w.variance[weights], e, stride, below_v);
                for ((below, h), below_v) in below.iter_mut().zip(input).zip(below_v) {
                    *below += 2.0 * h * *below_v; //~ noisy-variance-back
                }
                std::mem::swap(&mut self.delta, &mut self.below);
            }
            (end, end_sums) = (start, start_sums);
        }
        self.fresh = false;
    }

    /// Adds the sums to the gradients with respect to means and variances.
    pub(crate) fn finish(&mut self, grad: Pair<&mut [f64]>) {
        if !self.fresh {
            finish(&self.shapes, &self.sums[0], grad.mean);
            finish(&self.shapes, &self.sums[1], grad.variance);
            self.fresh = true;
        }
    }
}

/// The inputs of the layer that follows the layers `before`.
fn input<'a>(before: &'a [NoisyLayer], x: Tile<'a>, len: usize) -> &'a [f64] {
    before.last().map_or(x.values(), |below| &below.h[..len])
}
