//! The three products of a dense layer that is wide, in f32, by faer.
//!
//! The names and layouts are those of [`tile_product`](super::tile_product). Seen column by column, a
//! tile is X^T `[R x D]` and W is W^T `[D x H]`, so that all operands are taken where they are:
//!
//! - forward: Z^T = X^T W^T + b;
//! - backward through the inputs: dX^T = dZ^T W;
//! - backward to the weights: dW^T = X dZ^T.
//!
//! faer packs its operands, and takes memory for it: there is no point in this for narrow layers.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Z = W X + b.
pub fn forward(w: &[f32], b: &[f32], x: &[f32], stride: usize, z: &mut [f32]) {
    let (inputs, units) = (x.len() / stride, b.len());
    for (z, b) in z.chunks_exact_mut(stride).zip(b) {
        z.fill(*b);
    }
    let z = MatMut::from_column_major_slice_mut(z, stride, units);
    let x = MatRef::from_column_major_slice(x, stride, inputs);
    let w = MatRef::from_column_major_slice(w, inputs, units);
    matmul(z, Accum::Add, x, w, 1.0, Par::Seq);
}

/// dX = W^T dZ.
pub fn backward_inputs(w: &[f32], dz: &[f32], stride: usize, dx: &mut [f32]) {
    let (inputs, units) = (dx.len() / stride, dz.len() / stride);
    let dx = MatMut::from_column_major_slice_mut(dx, stride, inputs);
    let dz = MatRef::from_column_major_slice(dz, stride, units);
    let w = MatRef::from_column_major_slice(w, inputs, units);
    matmul(dx, Accum::Replace, dz, w.transpose(), 1.0, Par::Seq);
}

/// dW = dZ X^T.
pub fn backward_weights(dz: &[f32], x: &[f32], stride: usize, dw: &mut [f32]) {
    let (inputs, units) = (x.len() / stride, dz.len() / stride);
    let dw = MatMut::from_column_major_slice_mut(dw, inputs, units);
    let x = MatRef::from_column_major_slice(x, stride, inputs);
    let dz = MatRef::from_column_major_slice(dz, stride, units);
    matmul(dw, Accum::Replace, x.transpose(), dz, 1.0, Par::Seq);
}
