//! The walk through the dense layers of a network, forward and back, on one tile of rows after another.
//!
//! One evaluation is [`begin`](Network::begin); for every tile [`forward`](Network::forward) and
//! [`backward`](Network::backward); and [`finish`](Network::finish). The instruction set is chosen once for each
//! of these calls. Everything is computed in `F`, f64 or f32; numbers come and go in f64.

use std::ops::Range;

use super::activation::Activation;
use super::layer::Layer;
use super::row_by_row::RowByRow;
use super::simd::{Real, Vector};
use super::{Tile, TileMut, TileStorage, Tiles, dense};

pub(crate) use dense::is_wide;

/// The layers of a network and the scratch memory of one chain: the activations of one tile, two tiles of
/// derivatives, and the sums of the gradient.
#[derive(Clone, Debug)]
pub(crate) struct Network<F: Real> {
    layers: Vec<Layer>,
    outputs: Vec<Outputs<F>>,
    delta: TileStorage<F>,
    delta_below: TileStorage<F>,
    /// The sums of every layer, one after the other.
    sums: TileStorage<F>,
    /// The number of rows in the sums.
    summed: usize,
    /// Weights and inputs, where they are kept in F.
    w: TileStorage<F>,
    x: TileStorage<F>,
    /// Whether activations are computed in F throughout.
    all_in_own: bool,
    /// Allocated at its first use.
    row_by_row: Option<RowByRow>,
}

/// h of a layer, and the values that its activation keeps for its derivatives.
#[derive(Clone, Debug)]
pub(crate) struct Outputs<F: Real> {
    h: TileStorage<F>,
    kept: TileStorage<F>,
}

/// Rows after which sums in f32 are added to the gradient, in f64.
pub(crate) const SUMMED_IN_F32: usize = 4096;

impl<F: Real> Network<F> {
    /// `layers`, each of which has as many inputs as the one before has units.
    pub(crate) fn new(layers: Vec<Layer>) -> Self {
        let outputs = |(l, layer): (usize, &Layer)| {
            // A linear output layer may write straight into the caller's tile.
            let own =
                l + 1 < layers.len() || layer.activation != Activation::Identity || !F::IS_F64;
            Outputs {
                h: TileStorage::for_columns(if own { layer.units } else { 0 }),
                kept: TileStorage::for_columns(if layer.activation.keeps() {
                    layer.units
                } else {
                    0
                }),
            }
        };
        let widest = layers.iter().map(|layer| layer.units).max().unwrap_or(0);
        let n_weights: usize = layers.iter().map(Layer::len).sum();
        let n_sums = layers.iter().map(Layer::n_sums::<F>).sum();
        Self {
            outputs: layers.iter().enumerate().map(outputs).collect(),
            delta: TileStorage::for_columns(widest),
            delta_below: TileStorage::for_columns(widest),
            sums: TileStorage::zeros(n_sums),
            summed: 0,
            w: TileStorage::zeros(if F::IS_F64 { 0 } else { n_weights.next_multiple_of(F::LANES) }),
            x: TileStorage::for_columns(if F::IS_F64 { 0 } else { layers[0].inputs }),
            all_in_own: false,
            row_by_row: None,
            layers,
        }
    }

    /// Takes `w` for the calls that follow.
    pub(crate) fn begin(&mut self, w: &[f64]) {
        F::keep(w, w.len(), &mut self.w);
        self.summed = 0;
    }

    /// Writes the outputs for `x`.
    pub(crate) fn forward(&mut self, w: &[f64], x: Tile, mut out: TileMut) {
        let direct = F::direct(out.values());
        self.walk(w, x, direct);
        let last = self.layers.len() - 1;
        let h = &self.outputs[last].h;
        if !h.is_empty() {
            let n = self.layers[last].units * F::stride_of(x.stride());
            F::copy_out(&h[..n], x.stride(), out.values());
        }
    }

    /// Walks through all layers, the last of which writes to `direct` if it has no memory of its own.
    fn walk(&mut self, w: &[f64], x: Tile, direct: &mut [F]) {
        let stride = F::stride_of(x.stride());
        F::keep(x.values(), x.stride(), &mut self.x);
        let x_kept = F::kept(x.values(), &self.x);
        let (w, all_in_own) = (F::kept(w, &self.w), self.all_in_own);
        let walk = Walk { layers: &self.layers, w, stride, all_in_own };
        forward(walk, &x_kept[..self.layers[0].inputs * stride], &mut self.outputs, direct);
    }

    /// Adds the gradient of a tile to the sums, or passes them on to `grad`, as long as w. The padding of
    /// `d_out` is zero.
    pub(crate) fn backward(&mut self, w: &[f64], x: Tile, d_out: Tile, grad: &mut [f64]) {
        let is_linear = self.layers.last().is_some_and(|l| l.activation == Activation::Identity);
        let direct = F::as_is(d_out.values()).filter(|_| is_linear);
        if direct.is_none() {
            F::copy_in(d_out.values(), d_out.stride(), &mut self.delta);
        }
        self.walk_back(w, x, direct, grad);
    }

    /// Does the work of [`backward`](Self::backward) with the derivative in `delta`, or in `direct` where the outputs are
    /// linear.
    fn walk_back(&mut self, w: &[f64], x: Tile, direct: Option<&[F]>, grad: &mut [f64]) {
        let stride = F::stride_of(x.stride());
        let x_kept = F::kept(x.values(), &self.x);
        let (w, all_in_own) = (F::kept(w, &self.w), self.all_in_own);
        let walk = Walk { layers: &self.layers, w, stride, all_in_own };
        let fresh = self.summed == 0;
        let deltas = [&mut *self.delta, &mut *self.delta_below];
        backward(
            walk,
            (&x_kept[..self.layers[0].inputs * stride], direct),
            &self.outputs,
            deltas,
            &mut self.sums,
            fresh,
        );
        self.summed += x.rows();
        if !F::IS_F64 && self.summed >= SUMMED_IN_F32 {
            self.finish(grad); //~ f32-sums
        }
    }

    /// Adds the sums to `grad`, as long as w, and forgets them.
    pub(crate) fn finish(&mut self, grad: &mut [f64]) {
        if self.summed > 0 {
            finish(&self.layers, &self.sums, grad);
            self.summed = 0;
        }
    }
}

impl Network<f32> {
    /// Computes activations in f32, too, from now on, with `room` for columns after the outputs.
    pub(crate) fn compute_all_in_f32(&mut self, room: usize) {
        let (Some(layer), Some(last)) = (self.layers.last(), self.outputs.last_mut()) else {
            return;
        };
        last.h = TileStorage::for_columns(layer.units + room);
        self.all_in_own = true;
    }

    /// Computes the outputs for `x` in f32, with the weights of the latest [`begin`](Self::begin).
    pub(crate) fn forward_f32(&mut self, x: Tile) {
        self.walk(&[], x, &mut []);
    }

    /// The outputs in f32, and the columns after them.
    pub(crate) fn outputs_f32(&mut self) -> &mut [f32] {
        &mut self.outputs.last_mut().expect("a layer").h
    }

    /// Does the work of [`backward`](Self::backward) where `write` writes the derivative with respect to the
    /// outputs, with zeros in the padding, from the outputs and the columns after them.
    pub(crate) fn backward_f32(
        &mut self,
        x: Tile,
        write: impl FnOnce(&[f32], &mut [f32]),
        grad: &mut [f64],
    ) {
        let last = self.layers.len() - 1;
        let n = self.layers[last].units * f32::stride_of(x.stride());
        write(&self.outputs[last].h, &mut self.delta[..n]);
        self.walk_back(&[], x, None, grad);
    }
}

impl Network<f64> {
    /// Moves `w` by gradient descent on half the squared error, row by row. Returns false, and does nothing, if a
    /// layer is wide, whose products need whole tiles, or if there are very many weights.
    pub(crate) fn descend(&mut self, w: &mut [f64], x: &Tiles, y: &Tiles, rate: f64) -> bool {
        let narrow = !self.layers.iter().any(Layer::is_wide);
        let can = narrow && RowByRow::fits(&self.layers);
        if can {
            let layers = &self.layers;
            let row_by_row = self.row_by_row.get_or_insert_with(|| RowByRow::new(layers));
            row_by_row.descend(w, x, y, rate);
        }
        can
    }
}

/// The results of a walk that second derivatives need.
impl Network<f64> {
    /// The activations of layer `l` on a tile whose columns are `stride` apart, and the values kept
    /// for derivatives; `None` for a linear output layer.
    pub(crate) fn output(&self, l: usize, stride: usize) -> Option<(&[f64], &[f64])> {
        let Outputs { h, kept } = &self.outputs[l];
        let n = self.layers[l].units * stride;
        (!h.is_empty()).then(|| (&h[..n], &kept[..n.min(kept.len())]))
    }

    /// The inputs of layer `l` on the tile x.
    pub(crate) fn input<'a>(&'a self, l: usize, x: Tile<'a>) -> &'a [f64] {
        if l == 0 {
            x.values()
        } else {
            &self.outputs[l - 1].h[..self.layers[l].inputs * x.stride()]
        }
    }

    /// Overwrites the sums of layer `l` by the product of `dz` with the layer's inputs on the tile x.
    pub(crate) fn sum_product(&mut self, l: usize, dz: &[f64], x: Tile) {
        let (stride, sums) = (x.stride(), self.sums_of(l));
        let input = match l {
            0 => x.values(),
            _ => &self.outputs[l - 1].h[..self.layers[l].inputs * stride],
        };
        weights_product(dz, input, stride, &mut self.sums[sums], self.layers[l].bias, true);
        self.summed = x.rows();
    }

    /// Adds the product of `dz` with other inputs to the sums of the weights of layer `l`.
    pub(crate) fn add_product(&mut self, l: usize, dz: &[f64], input: &[f64], stride: usize) {
        let sums = self.sums_of(l);
        weights_product(dz, input, stride, &mut self.sums[sums], false, false);
    }

    fn sums_of(&self, l: usize) -> Range<usize> {
        let start = self.layers[..l].iter().map(Layer::n_sums::<f64>).sum();
        start..start + self.layers[l].n_sums::<f64>()
    }
}

/// The arguments of a walk: layers, their weights in order, and the distance of two columns.
#[derive(Clone, Copy)]
pub(crate) struct Walk<'a, F: Real> {
    layers: &'a [Layer],
    w: &'a [F],
    stride: usize,
    all_in_own: bool,
}

#[inline(always)]
fn forward_body<F: Real, V: Vector<F>>(
    level: V::Level,
    walk: Walk<F>,
    x: &[F],
    outputs: &mut [Outputs<F>],
    direct: &mut [F],
) {
    let Walk { layers, mut w, stride, all_in_own } = walk;
    let (mut input, mut direct) = (x, Some(direct));
    for (layer, Outputs { h, kept }) in layers.iter().zip(outputs) {
        let (weights, bias);
        (weights, w) = w.split_at(layer.n_weights());
        (bias, w) = w.split_at(layer.len() - layer.n_weights());
        let n = layer.units * stride;
        let h = match h.get_mut(..n) {
            Some(h) => h,
            None => direct.take().expect("the last layer alone has no memory of its own"),
        };
        let size = [layer.units, layer.inputs];
        dense::forward::<F, V>(level, size, weights, bias, input, stride, h);
        let kept = &mut kept[..if layer.activation.keeps() { n } else { 0 }];
        if all_in_own {
            layer.activation.forward_in_own(h, kept);
        } else {
            layer.activation.forward(h, kept);
        }
        input = h;
    }
}

#[inline(always)]
fn backward_body<F: Real, V: Vector<F>>(
    level: V::Level,
    walk: Walk<F>,
    (x, mut direct): (&[F], Option<&[F]>),
    outputs: &[Outputs<F>],
    deltas: [&mut [F]; 2],
    sums: &mut [F],
    fresh: bool,
) {
    let Walk { layers, mut w, stride, .. } = walk;
    let ([mut delta, mut below], mut sums) = (deltas, sums);
    w = &w[..layers.iter().map(Layer::len).sum()];
    for (l, layer) in layers.iter().enumerate().rev() {
        let n = layer.units * stride;
        // `delta` holds the derivative with respect to h; now to z.
        let Outputs { h, kept } = &outputs[l];
        if layer.activation != Activation::Identity {
            let kept = &kept[..if layer.activation.keeps() { n } else { 0 }];
            layer.activation.backward(&h[..n], kept, &mut delta[..n]);
        }
        let delta_z = direct.take().unwrap_or(&delta[..n]);
        let (weights, of_layer);
        (w, weights) = w.split_at(w.len() - layer.len());
        (sums, of_layer) = sums.split_at_mut(sums.len() - layer.n_sums::<F>());
        let input = if l == 0 { x } else { &outputs[l - 1].h[..layer.inputs * stride] };
        let size = [layer.units, layer.inputs];
        dense::backward_weights::<F, V>(
            level,
            size,
            [delta_z, input],
            stride,
            of_layer,
            layer.bias,
            fresh,
        );
        if l > 0 {
            let weights = &weights[..layer.n_weights()];
            dense::backward_inputs::<F, V>(
                level,
                size,
                weights,
                delta_z,
                stride,
                &mut below[..layer.inputs * stride],
            );
            std::mem::swap(&mut delta, &mut below);
        }
    }
}

#[inline(always)]
fn finish_body<F: Real, V: Vector<F>>(
    level: V::Level,
    layers: &[Layer],
    sums: &[F],
    grad: &mut [f64],
) {
    let (mut sums, mut grad) = (sums, grad);
    for layer in layers {
        let (of_layer, grad_of_layer);
        (of_layer, sums) = sums.split_at(layer.n_sums::<F>());
        (grad_of_layer, grad) = grad.split_at_mut(layer.len());
        dense::add_lanes::<F, V>(level, of_layer, layer.is_wide(), grad_of_layer);
    }
}

dispatch! {
    fn forward<F>(walk: Walk<F>, x: &[F], outputs: &mut [Outputs<F>], direct: &mut [F]) => forward_body
}
dispatch! {
    /// Given the inputs, and the derivative with respect to the outputs where it is not in the first of `deltas`.
    fn backward<F>(
        walk: Walk<F>, ends: (&[F], Option<&[F]>), outputs: &[Outputs<F>], deltas: [&mut [F]; 2], sums: &mut [F],
        fresh: bool,
    ) => backward_body
}
dispatch! {
    fn finish<F>(layers: &[Layer], sums: &[F], grad: &mut [f64]) => finish_body
}

#[inline(always)]
fn product_body<F: Real, V: Vector<F>>(
    level: V::Level,
    w: &[F],
    b: &[F],
    x: &[F],
    stride: usize,
    z: &mut [F],
) {
    let size = [z.len() / stride, x.len() / stride];
    dense::forward::<F, V>(level, size, w, b, x, stride, z);
}
#[inline(always)]
fn inputs_product_body<V: Vector<f64>>(
    level: V::Level,
    w: &[f64],
    dz: &[f64],
    stride: usize,
    dx: &mut [f64],
) {
    let size = [dz.len() / stride, dx.len() / stride];
    dense::backward_inputs::<f64, V>(level, size, w, dz, stride, dx);
}
#[inline(always)]
fn weights_product_body<V: Vector<f64>>(
    level: V::Level,
    dz: &[f64],
    x: &[f64],
    stride: usize,
    sums: &mut [f64],
    bias: bool,
    fresh: bool,
) {
    let size = [dz.len() / stride, x.len() / stride];
    dense::backward_weights::<f64, V>(level, size, [dz, x], stride, sums, bias, fresh);
}

dispatch! {
    /// Z = W X + b, or W X where `b` is empty.
    fn product<F>(w: &[F], b: &[F], x: &[F], stride: usize, z: &mut [F]) => product_body
}
dispatch! {
    /// dX = W^T dZ.
    fn inputs_product(w: &[f64], dz: &[f64], stride: usize, dx: &mut [f64]) => inputs_product_body
}
dispatch! {
    /// The partial sums of dZ X^T, and of the rows of dZ for a layer with `bias`, added to `sums`, or
    /// written over them where `fresh`.
    fn weights_product(
        dz: &[f64], x: &[f64], stride: usize, sums: &mut [f64], bias: bool, fresh: bool,
    ) => weights_product_body
}
