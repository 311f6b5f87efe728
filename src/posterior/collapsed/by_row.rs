//! The two passes on one tile where the noise differs between rows.

use super::Shape;
use crate::engine::elementary::exp_in_place;
use crate::engine::network::product;
use crate::engine::simd::Vector;
use crate::engine::{Tile, TileStorage};
use crate::linalg::dot::dot;

/// Scratch memory.
#[derive(Debug)]
pub(super) struct ByRow {
    /// m + 1 columns: in the first pass P^1/2 Phi, with its ones, and P^1/2 y; in the second P Phi
    /// A^-1, and P.
    columns: TileStorage,
    /// A^-1 `[m x C]` without the column that meets the ones, and that column.
    covariance: Vec<f64>,
    of_ones: Vec<f64>,
}

impl ByRow {
    pub(super) fn new(shape: &Shape) -> Self {
        let m = shape.m();
        Self {
            columns: TileStorage::for_columns(m + 1),
            covariance: vec![0.0; m * shape.columns()],
            of_ones: vec![0.0; if shape.bias { m } else { 0 }],
        }
    }

    /// P^1/2 Phi, with its ones, and P^1/2 y of a tile, from the columns of Phi without the ones
    /// and with zeros in the padding.
    pub(super) fn weigh(
        &mut self,
        shape: &Shape,
        layer: &[f64],
        beta: f64,
        phi: &[f64],
        y: Tile,
    ) -> (&[f64], Tile<'_>) {
        let (rows, stride) = (y.rows(), y.stride());
        let columns = &mut self.columns[..(shape.m() + 1) * stride];
        let (weighted, root) = columns.split_at_mut(shape.m() * stride);
        let (weights, bias) = shape.of_log_sd(layer);
        product(weights, bias, phi, stride, root);
        root.iter_mut().for_each(|s| *s = -*s);
        exp_in_place(root);
        root[rows..].fill(0.0);
        let factor = beta.sqrt(); //~ by-row-power
        root.iter_mut().for_each(|root| *root *= factor);
        let (of_phi, of_ones) = weighted.split_at_mut(phi.len());
        scale_rows(phi, root, of_phi);
        of_ones.iter_mut().zip(&*root).for_each(|(one, root)| *one = *root); //~ by-row-ones
        root.iter_mut().zip(y.values()).for_each(|(root, y)| *root *= y); //~ by-row-response
        (weighted, Tile::new(root, rows))
    }

    /// Takes A^-1 = D B^-1 D.
    pub(super) fn set_covariance(&mut self, shape: &Shape, sd: &[f64], inverse: &[f64]) {
        let m = shape.m();
        for (j, row) in inverse.chunks_exact(m).enumerate() {
            let covariance = |i: usize| sd[j] * row[i] * sd[i];
            let to = &mut self.covariance[j * shape.columns()..][..shape.columns()];
            to.iter_mut().enumerate().for_each(|(i, to)| *to = covariance(i));
            if let Some(to) = self.of_ones.get_mut(j) {
                *to = covariance(shape.columns());
            }
        }
    }

    /// Copies the covariance that [`set_covariance`](Self::set_covariance) has written into another
    /// scratch memory.
    pub(super) fn copy_covariance(&mut self, from: &Self) {
        self.covariance.copy_from_slice(&from.covariance);
        self.of_ones.copy_from_slice(&from.of_ones);
    }

    /// Makes g of the derivative of beta ell with respect to s, the second column of `d_out`, whose
    /// padding is zero, and adds d / d beta_s to `grad`.
    pub(super) fn add_log_sd_grad(
        &mut self,
        shape: &Shape,
        beta: f64,
        phi: &[f64],
        out: Tile,
        d_out: &mut [f64],
        grad: &mut [f64],
    ) {
        let (rows, stride) = (out.rows(), out.stride());
        let columns = &mut self.columns[..(shape.m() + 1) * stride];
        let (spread, precision) = columns.split_at_mut(shape.m() * stride);
        precision.iter_mut().zip(out.column(1)).for_each(|(p, s)| *p = -2.0 * s);
        exp_in_place(&mut precision[..rows]);
        precision[rows..].fill(0.0);
        precision.iter_mut().for_each(|p| *p *= beta);
        product(&self.covariance, &self.of_ones, phi, stride, spread);
        let g = &mut d_out[stride..2 * stride];
        let (of_phi, of_ones) = spread.split_at_mut(phi.len());
        add_variance(phi, precision, of_phi, g);
        for ((g, t), p) in g.iter_mut().zip(of_ones).zip(&*precision) {
            *g += *t * p; //~ by-row-bias-variance
        }
        let coordinate = |j| shape.coordinate(shape.integrated, j);
        for (j, phi) in phi.chunks_exact(stride).enumerate() {
            grad[coordinate(j)] += dot::<8>(g, phi);
        }
        if shape.bias {
            grad[coordinate(shape.columns())] += g.iter().sum::<f64>();
        }
    }

    /// Writes d / d Phi, of the tile of [`add_log_sd_grad`](Self::add_log_sd_grad), with `layer`
    /// the mean mu and the weights of s, and `d_out` the derivatives P r and g.
    pub(super) fn write_d_phi(
        &self,
        shape: &Shape,
        layer: &[f64],
        d_out: &[f64],
        d_phi: &mut [f64],
    ) {
        let (d_mu, g) = d_out.split_at(d_out.len() / 2);
        let (of_mu, (of_s, _)) = (&layer[..shape.units], shape.of_log_sd(layer));
        combine([of_mu, of_s], [d_mu, g], &self.columns, d_phi);
    }
}

dispatch! {
    /// Writes the columns of `phi`, each times `factors`.
    fn scale_rows(phi: &[f64], factors: &[f64], to: &mut [f64]) => scale_rows_body
}

#[inline(always)]
fn scale_rows_body<V: Vector<f64>>(_: V::Level, phi: &[f64], factors: &[f64], to: &mut [f64]) {
    let n = factors.len();
    for (to, phi) in to.chunks_exact_mut(n).zip(phi.chunks_exact(n)) {
        for ((to, phi), factor) in to.iter_mut().zip(phi).zip(factors) {
            *to = phi * factor;
        }
    }
}

dispatch! {
    /// Multiplies the columns of `spread` by P, and adds their products with the columns of `phi`
    /// to `g`.
    fn add_variance(phi: &[f64], precision: &[f64], spread: &mut [f64], g: &mut [f64]) => add_variance_body
}

#[inline(always)]
fn add_variance_body<V: Vector<f64>>(
    _: V::Level,
    phi: &[f64],
    precision: &[f64],
    spread: &mut [f64],
    g: &mut [f64],
) {
    let n = precision.len();
    for (spread, phi) in spread.chunks_exact_mut(n).zip(phi.chunks_exact(n)) {
        for (((t, phi), p), g) in spread.iter_mut().zip(phi).zip(precision).zip(&mut *g) {
            *t *= p;
            *g += phi * *t; //~ by-row-mean-variance
        }
    }
}

dispatch! {
    /// Writes a_j u + b_j v - spread_j into column j of `to`.
    fn combine(weights: [&[f64]; 2], columns: [&[f64]; 2], spread: &[f64], to: &mut [f64]) => combine_body
}

#[inline(always)]
fn combine_body<V: Vector<f64>>(
    _: V::Level,
    [a, b]: [&[f64]; 2],
    [u, v]: [&[f64]; 2],
    spread: &[f64],
    to: &mut [f64],
) {
    let columns = to.chunks_exact_mut(u.len()).zip(spread.chunks_exact(u.len()));
    for ((to, t), (a, b)) in columns.zip(a.iter().zip(b)) {
        for (((to, t), u), v) in to.iter_mut().zip(t).zip(u).zip(v) {
            *to = a * u + b * v - t; //~ by-row-hidden
        }
    }
}
