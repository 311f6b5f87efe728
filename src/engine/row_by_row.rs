//! Gradient descent on half the squared error of one row after the other.
//!
//! ```text
//! w <- w + r J(x_i)^T (y_i - f(x_i; w)),   i = 1, .., N
//! ```
//!
//! Every step needs the one before it, so that lanes cannot hold rows: they hold units, or inputs
//! where derivatives go back to them. All sums have the same order as in the walk over tiles, so
//! that the results are equal to the bit, as long as all numbers are finite.

use super::layer::Layer;
use super::simd::Vector;
use super::{LANES, TileStorage, Tiles, padded};
use crate::engine::Activation;

/// The layers of a network, as one row sees them.
#[derive(Clone, Debug)]
pub(super) struct RowByRow {
    layers: Vec<LayerOfRow>,
    /// x, padded.
    row: TileStorage,
}

/// A layer with its weights in two orders, each row of which is padded, and its values for one row.
#[derive(Clone, Debug)]
pub(crate) struct LayerOfRow {
    layer: Layer,
    /// W^T `[inputs x units]`, then the biases.
    by_input: TileStorage,
    /// W `[units x inputs]`; none in the first layer.
    by_unit: TileStorage,
    h: TileStorage,
    kept: TileStorage,
    delta: TileStorage,
}

/// The most numbers of the weights in both orders, 8 MiB: a layer of one unit takes eight times its weights.
const MOST_NUMBERS: usize = 1 << 20;

impl RowByRow {
    /// Whether the weights of the layers, padded, are few enough.
    pub(super) fn fits(layers: &[Layer]) -> bool {
        let of = |l: &Layer| (l.inputs + 1) * padded(l.units) + l.units * padded(l.inputs);
        layers.iter().map(of).sum::<usize>() <= MOST_NUMBERS
    }

    pub(super) fn new(layers: &[Layer]) -> Self {
        let of_row = |(l, layer): (usize, &Layer)| {
            let (units, inputs) = (padded(layer.units), padded(layer.inputs));
            LayerOfRow {
                layer: *layer,
                by_input: TileStorage::zeros((layer.inputs + 1) * units),
                by_unit: TileStorage::zeros(if l > 0 { layer.units * inputs } else { 0 }),
                h: TileStorage::zeros(units),
                kept: TileStorage::zeros(if layer.activation.keeps() { units } else { 0 }),
                delta: TileStorage::zeros(units),
            }
        };
        Self {
            layers: layers.iter().enumerate().map(of_row).collect(),
            row: TileStorage::zeros(padded(layers[0].inputs)),
        }
    }

    /// Goes through all rows of `x` and `y` once with the rate r.
    pub(super) fn descend(&mut self, w: &mut [f64], x: &Tiles, y: &Tiles, rate: f64) {
        let mut from = &w[..];
        for layer in &mut self.layers {
            from = layer.read(from);
        }
        descend(&mut self.layers, &mut self.row, x, y, rate);
        let mut to = w;
        for layer in &self.layers {
            to = layer.write(to);
        }
    }
}

impl LayerOfRow {
    /// Takes its weights from the beginning of `w`, and returns the rest.
    fn read<'w>(&mut self, w: &'w [f64]) -> &'w [f64] {
        let Layer { inputs, units, bias, .. } = self.layer;
        let (of_units, of_inputs) = (padded(units), padded(inputs));
        let (weights, rest) = w.split_at(units * inputs);
        for (u, weights) in weights.chunks_exact(inputs).enumerate() {
            for (i, w) in weights.iter().enumerate() {
                self.by_input[i * of_units + u] = *w;
            }
            if !self.by_unit.is_empty() {
                self.by_unit[u * of_inputs..][..inputs].copy_from_slice(weights);
            }
        }
        let (biases, rest) = rest.split_at(if bias { units } else { 0 });
        self.by_input[inputs * of_units..][..biases.len()].copy_from_slice(biases);
        rest
    }

    /// Writes its weights to the beginning of `w`, and returns the rest.
    fn write<'w>(&self, w: &'w mut [f64]) -> &'w mut [f64] {
        let Layer { inputs, units, bias, .. } = self.layer;
        let of_units = padded(units);
        let (weights, rest) = w.split_at_mut(units * inputs);
        for (u, weights) in weights.chunks_exact_mut(inputs).enumerate() {
            for (i, w) in weights.iter_mut().enumerate() {
                *w = self.by_input[i * of_units + u];
            }
        }
        let (biases, rest) = rest.split_at_mut(if bias { units } else { 0 });
        biases.copy_from_slice(&self.by_input[inputs * of_units..][..biases.len()]);
        rest
    }
}

#[inline(always)]
fn descend_body<V: Vector<f64>>(
    level: V::Level,
    layers: &mut [LayerOfRow],
    row: &mut [f64],
    x: &Tiles,
    y: &Tiles,
    rate: f64,
) {
    let last = layers.len() - 1;
    for (x, y) in x.iter().zip(y.iter()) {
        for r in 0..x.rows() {
            for i in 0..x.columns() {
                row[i] = x.column(i)[r];
            }
            for l in 0..=last {
                let (below, of_layer) = layers.split_at_mut(l);
                let input = below.last().map_or(&*row, |below| &below.h);
                let LayerOfRow { layer, by_input, h, kept, .. } = &mut of_layer[0];
                let (weights, biases) = by_input.split_at(layer.inputs * h.len());
                combine::<V>(level, &input[..layer.inputs], weights, biases, h);
                if layer.activation != Activation::Identity {
                    layer.activation.forward(h, kept);
                    h[layer.units..].fill(0.0);
                }
            }
            let LayerOfRow { h, delta, layer, .. } = &mut layers[last];
            for u in 0..layer.units {
                delta[u] = y.column(u)[r] - h[u];
            }
            for l in (0..=last).rev() {
                let (below, of_layer) = layers.split_at_mut(l);
                let LayerOfRow { layer, by_input, by_unit, h, kept, delta } = &mut of_layer[0];
                if layer.activation != Activation::Identity {
                    layer.activation.backward(h, kept, delta);
                }
                let input = match below.last_mut() {
                    None => &*row,
                    Some(below) => {
                        combine::<V>(level, &delta[..layer.units], by_unit, &[], &mut below.delta);
                        let by_unit = by_unit.chunks_exact_mut(below.h.len());
                        for (weights, d) in by_unit.zip(&delta[..]) {
                            step::<V>(level, rate, *d, &below.h, weights); //~ row-by-row-step
                        }
                        &below.h
                    }
                };
                let (weights, biases) = by_input.split_at_mut(layer.inputs * delta.len());
                for (weights, x) in weights.chunks_exact_mut(delta.len()).zip(input) {
                    step::<V>(level, rate, *x, delta, weights);
                }
                if layer.bias {
                    step::<V>(level, rate, 1.0, delta, biases);
                }
            }
        }
    }
}

dispatch! {
    fn descend(layers: &mut [LayerOfRow], row: &mut [f64], x: &Tiles, y: &Tiles, rate: f64) => descend_body
}

/// out = start + the sum over k of factors[k] times the row k of `rows`; all padded, start 0 if there is none.
#[inline(always)]
fn combine<V: Vector<f64>>(
    level: V::Level,
    factors: &[f64],
    rows: &[f64],
    start: &[f64],
    out: &mut [f64],
) {
    let width = out.len();
    for first in (0..width).step_by(LANES) {
        // One or several registers, whose sums do not wait for each other.
        for (v, out) in V::chunks_mut(&mut out[first..first + LANES]).iter_mut().enumerate() {
            let at = first + v * V::LANES;
            let mut sum = match start {
                [] => V::splat(level, 0.0),
                _ => V::load(level, &V::chunks(&start[at..])[0]),
            };
            for (factor, row) in factors.iter().zip(rows.chunks_exact(width)) {
                let row = V::load(level, &V::chunks(&row[at..])[0]);
                sum = V::splat(level, *factor).mul_add(row, sum);
            }
            sum.store(out);
        }
    }
}

/// w += r (c d), in two roundings.
#[inline(always)]
fn step<V: Vector<f64>>(level: V::Level, rate: f64, c: f64, d: &[f64], w: &mut [f64]) {
    let (rate, c) = (V::splat(level, rate), V::splat(level, c));
    for (w, d) in V::chunks_mut(w).iter_mut().zip(V::chunks(d)) {
        let moved = V::load(level, w).add(rate.mul(c.mul(V::load(level, d))));
        moved.store(w);
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::engine::network::Network;
    use crate::engine::simd::testing::at_every_level;
    use crate::rng::ChainRng;

    /// A pass of a network with one hidden layer of tanh, by plain loops.
    fn plainly(w: &mut [f64], x: &Array2<f64>, y: &Array2<f64>, hidden: usize, rate: f64) {
        let (inputs, outputs) = (x.ncols(), y.ncols());
        let second = hidden * (inputs + 1);
        for (x, y) in x.rows().into_iter().zip(y.rows()) {
            let z = |u: usize| (0..inputs).map(|i| w[u * inputs + i] * x[i]).sum::<f64>();
            let h: Vec<f64> = (0..hidden).map(|u| (z(u) + w[hidden * inputs + u]).tanh()).collect();
            let out = |k: usize| {
                let row = &w[second + k * hidden..][..hidden];
                row.iter().zip(&h).map(|(w, h)| w * h).sum::<f64>()
                    + w[second + outputs * hidden + k]
            };
            let d: Vec<f64> = (0..outputs).map(|k| y[k] - out(k)).collect();
            let mut step = vec![0.0; w.len()];
            for u in 0..hidden {
                let back: f64 = (0..outputs).map(|k| d[k] * w[second + k * hidden + u]).sum();
                let back = back * (1.0 - h[u] * h[u]);
                (0..inputs).for_each(|i| step[u * inputs + i] = back * x[i]);
                step[hidden * inputs + u] = back;
                (0..outputs).for_each(|k| step[second + k * hidden + u] = d[k] * h[u]);
            }
            step[second + outputs * hidden..].copy_from_slice(&d);
            w.iter_mut().zip(step).for_each(|(w, step)| *w += rate * step);
        }
    }

    #[test]
    fn a_pass_is_that_of_plain_loops_at_every_level() {
        let (inputs, hidden, outputs) = (3, 10, 2);
        let mut rng = ChainRng::new(8, 0);
        let x = Array2::from_shape_fn((220, inputs), |_| rng.normal());
        let y = Array2::from_shape_fn((220, outputs), |_| rng.normal());
        let layer = |inputs, units, activation| Layer { inputs, units, bias: true, activation };
        let layers = vec![
            layer(inputs, hidden, Activation::Tanh),
            layer(hidden, outputs, Activation::Identity),
        ];
        let n = hidden * (inputs + 1) + outputs * (hidden + 1);
        let start: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let mut expected = start.clone();
        plainly(&mut expected, &x, &y, hidden, 0.01);
        let (x, y) = (Tiles::new(x.view()), Tiles::new(y.view()));
        at_every_level(|level| {
            let mut w = start.clone();
            assert!(Network::new(layers.clone()).descend(&mut w, &x, &y, 0.01));
            for (found, expected) in w.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-12, "{level:?}: {found}, not {expected}");
            }
        });
    }
}
