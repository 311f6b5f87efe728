//! The two passes on one tile where the noise differs between rows.

use super::Shape;
use crate::engine::elementary::exp_in_place;
use crate::engine::network::product;
use crate::engine::simd::Vector;
use crate::engine::{Tile, TileStorage};
use crate::likelihood::Weights;
use crate::linalg::dot::dot;
use crate::portable::ln;

/// The logarithms s of the scales of the rows: of standard deviations, where the noise is normal.
#[derive(Clone, Copy, Debug)]
pub(super) enum LogSd {
    /// Half this coordinate of q, the same for all rows.
    Coordinate(usize),
    /// This number.
    Known(f64),
    /// Outputs of the layer, Phi beta_s.
    OfLayer,
    /// G x + c, linear in the features: the first coordinate of G, which c follows.
    OfFeatures(usize),
}

/// A tile: its columns of Phi without the ones and with zeros in the padding, and its rows.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) phi: &'a [f64],
    pub(super) x: Tile<'a>,
    pub(super) y: Tile<'a>,
    /// The weights of its rows in the likelihood.
    pub(super) weights: Weights<'a>,
    /// If the noise is a mixture, w_i of its rows.
    pub(super) mixture: Option<&'a [f64]>,
}

/// Scratch memory.
#[derive(Debug)]
pub(super) struct ByRow {
    pub(super) log_sd: LogSd,
    /// m + 1 columns: in the first pass P^1/2 Phi, with its ones, and P^1/2 y; in the second P Phi
    /// A^-1, and P.
    columns: TileStorage,
    /// Of the second pass: P r, and g.
    derivatives: TileStorage,
    /// A^-1 `[m x C]` without the column that meets the ones, and that column.
    covariance: Vec<f64>,
    of_ones: Vec<f64>,
    /// H zeros, in place of beta_s where the scales are no outputs of the layer.
    zeros: Vec<f64>,
}

impl LogSd {
    /// Writes s of a tile, for the output layer in scratch memory.
    pub(super) fn write(self, shape: &Shape, q: &[f64], layer: &[f64], of: Rows, to: &mut [f64]) {
        match self {
            Self::Coordinate(eta) => to.fill(0.5 * q[eta]),
            Self::Known(s) => to.fill(s),
            Self::OfLayer => {
                let (weights, bias) = shape.of_log_sd(layer);
                product(weights, bias, of.phi, of.y.stride(), to);
            }
            Self::OfFeatures(start) => {
                let (g, c) = q[start..][..of.x.columns() + 1].split_at(of.x.columns());
                product(g, c, of.x.values(), of.y.stride(), to);
            }
        }
    }
}

impl ByRow {
    pub(super) fn new(shape: &Shape, log_sd: LogSd) -> Self {
        let m = shape.m();
        Self {
            log_sd,
            columns: TileStorage::for_columns(m + 1),
            derivatives: TileStorage::for_columns(2),
            covariance: vec![0.0; m * shape.columns()],
            of_ones: vec![0.0; if shape.bias { m } else { 0 }],
            zeros: vec![0.0; shape.units],
        }
    }

    /// P^1/2 Phi, with its ones, and P^1/2 y of a tile.
    pub(super) fn weigh(
        &mut self,
        shape: &Shape,
        q: &[f64],
        layer: &[f64],
        beta: f64,
        of: Rows,
    ) -> (&[f64], Tile<'_>) {
        let (rows, stride) = (of.y.rows(), of.y.stride());
        let columns = &mut self.columns[..(shape.m() + 1) * stride];
        let (weighted, root) = columns.split_at_mut(shape.m() * stride);
        self.log_sd.write(shape, q, layer, of, root);
        root.iter_mut().for_each(|s| *s = -*s);
        exp_in_place(root);
        root[rows..].fill(0.0);
        match of.mixture {
            Some(weights) => {
                root[..rows].iter_mut().zip(weights).for_each(|(root, w)| *root *= w.sqrt());
            }
            None => {
                let factor = beta.sqrt(); //~ by-row-power
                let rows = root.iter_mut().zip(of.weights);
                rows.for_each(|(root, w)| *root *= factor * w.sqrt()); //~ by-row-weights
            }
        }
        let (of_phi, of_ones) = weighted.split_at_mut(of.phi.len());
        scale_rows(of.phi, root, of_phi);
        of_ones.iter_mut().zip(&*root).for_each(|(one, root)| *one = *root); //~ by-row-ones
        root.iter_mut().zip(of.y.values()).for_each(|(root, y)| *root *= y); //~ by-row-response
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

    /// Copies the covariance that [`set_covariance`](Self::set_covariance) has written, from another
    /// scratch memory.
    pub(super) fn copy_covariance(&mut self, from: &Self) {
        self.covariance.copy_from_slice(&from.covariance);
        self.of_ones.copy_from_slice(&from.of_ones);
    }

    /// The terms of a tile in beta ell(mu) or, if the noise is a mixture, in the log density given the
    /// weights w, for the outputs mu. Keeps P, P r, and the derivative of these terms with respect to s.
    pub(super) fn at_the_mean(
        &mut self,
        shape: &Shape,
        q: &[f64],
        layer: &[f64],
        beta: f64,
        of: Rows,
        mu: &[f64],
    ) -> f64 {
        let (rows, stride) = (of.y.rows(), of.y.stride());
        let precision = &mut self.columns[shape.m() * stride..][..stride];
        let (weighted, g) = self.derivatives[..2 * stride].split_at_mut(stride);
        self.log_sd.write(shape, q, layer, of, g);
        precision.iter_mut().zip(&*g).for_each(|(p, s)| *p = -2.0 * s);
        exp_in_place(precision);
        precision[rows..].fill(0.0);
        match of.mixture {
            Some(weights) => {
                precision[..rows].iter_mut().zip(weights).for_each(|(p, w)| *p *= w);
            }
            None => precision.iter_mut().zip(of.weights).for_each(|(p, w)| *p *= beta * w),
        }
        let (mut sum, mut squares) = (0.0, 0.0);
        let values = of.y.values().iter().zip(mu).zip(&*precision).take(rows);
        let values = values.zip(of.weights).zip(weighted.iter_mut().zip(&mut *g));
        for ((((y, mu), p), w), (d_mu, g)) in values {
            let r = y - mu;
            *d_mu = p * r;
            let square = *d_mu * r;
            sum += w * *g; //~ by-row-log-scale
            squares += square;
            *g = square - beta * w; //~ by-row-scale
        }
        weighted[rows..].fill(0.0);
        g[rows..].fill(0.0);
        let constant = match of.mixture {
            Some(_) => 0.0,
            None => 0.5 * ln(std::f64::consts::TAU) * of.weights.iter().sum::<f64>(),
        };
        -beta * (constant + sum) - 0.5 * squares
    }

    /// Makes g of what [`at_the_mean`](Self::at_the_mean) has kept, and adds the derivatives with respect
    /// to the parameters of s to `grad`.
    pub(super) fn add_log_sd_grad(&mut self, shape: &Shape, of: Rows, grad: &mut [f64]) {
        let Rows { phi, x, .. } = of;
        let stride = x.stride();
        let columns = &mut self.columns[..(shape.m() + 1) * stride];
        let (spread, precision) = columns.split_at_mut(shape.m() * stride);
        product(&self.covariance, &self.of_ones, phi, stride, spread);
        let g = &mut self.derivatives[stride..2 * stride];
        let (of_phi, of_ones) = spread.split_at_mut(phi.len());
        add_variance(phi, precision, of_phi, g);
        for ((g, t), p) in g.iter_mut().zip(of_ones).zip(&*precision) {
            *g += *t * p; //~ by-row-bias-variance
        }
        match self.log_sd {
            LogSd::Coordinate(eta) => grad[eta] += 0.5 * g.iter().sum::<f64>(),
            LogSd::Known(_) => {}
            LogSd::OfLayer => {
                let coordinate = |j| shape.coordinate(shape.integrated, j);
                for (j, phi) in phi.chunks_exact(stride).enumerate() {
                    grad[coordinate(j)] += dot::<8>(g, phi);
                }
                if shape.bias {
                    grad[coordinate(shape.columns())] += g.iter().sum::<f64>();
                }
            }
            LogSd::OfFeatures(start) => {
                let features = x.values().chunks_exact(stride);
                let (of_g, of_c) = grad[start..][..x.columns() + 1].split_at_mut(x.columns());
                of_g.iter_mut().zip(features).for_each(|(to, x)| *to += dot::<8>(g, x));
                of_c[0] += g.iter().sum::<f64>();
            }
        }
    }

    /// Writes d / d Phi, of the tile of [`add_log_sd_grad`](Self::add_log_sd_grad), with `layer`
    /// the mean mu and the weights of s.
    pub(super) fn write_d_phi(
        &self,
        shape: &Shape,
        layer: &[f64],
        stride: usize,
        d_phi: &mut [f64],
    ) {
        let (d_mu, g) = self.derivatives[..2 * stride].split_at(stride);
        let of_s = match self.log_sd {
            LogSd::OfLayer => shape.of_log_sd(layer).0,
            _ => &self.zeros,
        };
        combine([&layer[..shape.units], of_s], [d_mu, g], &self.columns, d_phi);
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
