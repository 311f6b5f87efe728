//! The scratch memory of one chain, and what is done with it on one tile.

use super::Shape;
use crate::engine::gram::Gram;
use crate::engine::network::product;
use crate::engine::{Tile, TileMut, TileStorage};
use crate::linalg::local_metric::{Factorisation, Factoriser, LocalMetric};
use crate::model::{Mlp, Model};

/// Scratch memory, and what does not change from one evaluation to the next.
#[derive(Debug)]
pub(in crate::posterior) struct Collapsed {
    pub(super) shape: Shape,
    pub(super) hidden: Option<Hidden>,
    pub(super) sums: Gram,
    /// Phi^T Phi, then P_beta times A^-1.
    pub(super) gram: Vec<f64>,
    pub(super) inverse: Vec<f64>,
    /// Y^T Phi, and the mean mu, in the order of the layer's weights in q: W, then b.
    pub(super) cross: Vec<f64>,
    pub(super) mean: Vec<f64>,
    /// m0 and D, nu of each output, and a right-hand side.
    pub(super) prior_mean: Vec<f64>,
    pub(super) sd: Vec<f64>,
    pub(super) nu: Vec<f64>,
    pub(super) rhs: Vec<f64>,
    pub(super) factoriser: Factoriser,
    pub(super) factor: LocalMetric,
}

/// The layers before the output layer, and a tile of theirs.
#[derive(Debug)]
pub(super) struct Hidden {
    pub(super) mlp: Mlp,
    pub(super) ws: <Mlp as Model>::Workspace,
    /// The derivative with respect to the outputs, then Phi without its ones.
    pub(super) stacked: TileStorage,
    /// The derivative with respect to Phi.
    pub(super) d_phi: TileStorage,
    /// The matrix `[H x (K + H)]` that makes the second of the first, and its bias.
    pub(super) back: Vec<f64>,
    pub(super) back_bias: Vec<f64>,
}

/// The columns of Phi on the tile x, without the ones and with zeros in the padding.
pub(super) fn basis<'a>(
    hidden: &'a mut Option<Hidden>,
    shape: &Shape,
    w: &[f64],
    x: Tile<'a>,
) -> &'a [f64] {
    let Some(Hidden { mlp, ws, stacked, .. }) = hidden else { return x.values() };
    let phi = &mut stacked[shape.outputs * x.stride()..][..shape.units * x.stride()];
    let mut phi = TileMut::new(phi, x.rows());
    mlp.forward(&w[..shape.start], x, phi.reborrow(), ws);
    phi.clear_padding();
    &stacked[shape.outputs * x.stride()..][..shape.units * x.stride()]
}

impl Hidden {
    /// What [`basis`] has written.
    pub(super) fn phi(&self, shape: &Shape, stride: usize) -> &[f64] {
        &self.stacked[shape.outputs * stride..][..shape.units * stride]
    }

    /// Adds the gradient of a tile. `d_out` is the derivative of ell with respect to the outputs.
    pub(super) fn backward(
        &mut self,
        beta: f64,
        shape: &Shape,
        w: &[f64],
        x: Tile,
        d_out: Tile,
        grad: &mut [f64],
    ) {
        let stride = x.stride();
        let outputs = shape.outputs * stride;
        for (to, d) in self.stacked[..outputs].iter_mut().zip(d_out.values()) {
            *to = beta * d;
        }
        let stacked = &self.stacked[..outputs + shape.units * stride];
        let mut d_phi = TileMut::new(&mut self.d_phi[..shape.units * stride], x.rows());
        product(&self.back, &self.back_bias, stacked, stride, d_phi.values());
        d_phi.clear_padding();
        let (w, grad) = (&w[..shape.start], &mut grad[..shape.start]);
        self.mlp.backward(w, x, d_phi.as_tile(), grad, &mut self.ws);
    }
}

impl Collapsed {
    pub(super) fn new(shape: Shape, mlp: Option<Mlp>) -> Self {
        let Shape { units, outputs, bias, .. } = shape;
        let (m, cholesky) = (shape.m(), Factorisation::Cholesky);
        let zeros = |n: usize| vec![0.0; n];
        let hidden = mlp.map(|mlp| Hidden {
            ws: mlp.workspace(),
            stacked: TileStorage::for_columns(outputs + units),
            d_phi: TileStorage::for_columns(units),
            back: zeros(units * (outputs + units)),
            back_bias: zeros(if bias { units } else { 0 }),
            mlp,
        });
        Self {
            hidden,
            sums: Gram::new(units, outputs, bias),
            gram: zeros(m * m),
            inverse: zeros(m * m),
            cross: zeros(outputs * m),
            mean: zeros(outputs * m),
            prior_mean: zeros(m),
            sd: zeros(m),
            nu: zeros(outputs * m),
            rhs: zeros(m),
            factoriser: Factoriser::new(m, cholesky),
            factor: LocalMetric::new(),
            shape,
        }
    }

    /// What takes the place of weights where the rows are cut into shares: those of the hidden layers, and
    /// the numbers of Phi^T Phi and Y^T Phi.
    pub(super) fn work_of_row(&self) -> usize {
        self.shape.start + self.gram.len() + self.cross.len()
    }

    /// Sums the products of the rows of `tiles`, and forgets those of other rows.
    pub(super) fn add_rows<'a>(
        &mut self,
        w: &[f64],
        tiles: impl Iterator<Item = (Tile<'a>, Tile<'a>)>,
    ) {
        self.sums.clear();
        if let Some(Hidden { mlp, ws, .. }) = &mut self.hidden {
            mlp.begin(&w[..self.shape.start], ws);
        }
        for (x, y) in tiles {
            self.sums.add(basis(&mut self.hidden, &self.shape, w, x), y);
        }
    }

    /// Writes the matrix by which the derivatives with respect to Phi are made of those with respect
    /// to the outputs, times mu, and of Phi, times -K P_beta A^-1, whose last column meets the ones.
    pub(super) fn set_back(&mut self, precision: f64) {
        let Self { shape, hidden: Some(hidden), inverse, mean, sd, .. } = self else { return };
        let (m, factor) = (shape.m(), -(shape.outputs as f64) * precision);
        let rows = hidden.back.chunks_exact_mut(shape.outputs + shape.units);
        for (j, (row, inverse)) in rows.zip(inverse.chunks_exact(m)).enumerate() {
            let (of_outputs, of_phi) = row.split_at_mut(shape.outputs);
            for (k, to) in of_outputs.iter_mut().enumerate() {
                *to = mean[shape.at(k, j)];
            }
            let covariance = |i: usize| factor * sd[j] * inverse[i] * sd[i];
            of_phi.iter_mut().enumerate().for_each(|(i, to)| *to = covariance(i));
            if let Some(bias) = hidden.back_bias.get_mut(j) {
                *bias = covariance(shape.units);
            }
        }
    }
}
