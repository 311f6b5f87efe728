//! The scratch memory of one chain, and its operations on one tile.

use super::Shape;
use super::by_row::{ByRow, Rows};
use super::force::InF32;
use crate::engine::gram::Gram;
use crate::engine::network::product;
use crate::engine::{LentTiles, TILE_ROWS, Tile, TileMut, TileStorage};
use crate::linalg::local_metric::{Factorisation, Factoriser, LocalMetric};
use crate::model::{Mlp, Model, NonCentred};
use crate::posterior::Observed;
use crate::prior::BlockPrior;

/// Scratch memory, and values that do not change from one evaluation to the next.
#[derive(Debug)]
pub(in crate::posterior) struct Collapsed {
    pub(super) shape: Shape,
    pub(super) hidden: Option<Hidden>,
    /// If the noise differs between rows, or is a mixture.
    pub(super) by_row: Option<ByRow>,
    /// w_i of all rows, if the noise is a mixture and they were drawn. Shares of the rows read the chain's w_i.
    pub(super) mixture: Option<Vec<f64>>,
    /// The priors of the output layer's weights that are not integrated out.
    pub(super) rest: Vec<BlockPrior>,
    sums: Gram<f64>,
    /// Phi^T Phi, with P between them if it differs between rows, and B^-1.
    pub(super) gram: Vec<f64>,
    pub(super) inverse: Vec<f64>,
    /// Y^T Phi of the outputs that are integrated out, with P as in `gram`.
    pub(super) cross: Vec<f64>,
    /// All weights of the layer: the mean mu of the integrated weights, and the other weights as in q.
    pub(super) mean: Vec<f64>,
    /// m0 and D, nu of each output, and a right-hand side.
    pub(super) prior_mean: Vec<f64>,
    pub(super) sd: Vec<f64>,
    pub(super) nu: Vec<f64>,
    pub(super) rhs: Vec<f64>,
    pub(super) factoriser: Factoriser,
    pub(super) factor: LocalMetric,
    /// Whether the evaluation is of a force, in f32, and its scratch memory, allocated at its first use.
    pub(super) is_force: bool,
    pub(super) in_f32: Option<InF32>,
}

/// The layers before the output layer.
#[derive(Debug)]
pub(super) struct Hidden {
    pub(super) network: NonCentred<Mlp>,
    /// One or more tiles: tile i of the rows has the place i modulo their number.
    kept: Vec<Kept>,
    /// The derivative with respect to Phi.
    d_phi: TileStorage,
    /// The matrix `[H x (K + C)]` that makes the first of the second where all rows have the same
    /// noise, and its bias.
    pub(super) back: Vec<f64>,
    pub(super) back_bias: Vec<f64>,
}

/// The activations of one tile.
#[derive(Debug)]
struct Kept {
    ws: <NonCentred<Mlp> as Model>::Workspace,
    /// The derivative with respect to the outputs, then Phi without its ones.
    stacked: TileStorage,
}

/// The largest size of the kept tiles, one tile aside, in numbers: 1 MiB, about the size of a
/// processor core's own cache.
const KEPT: usize = 1 << 17;

/// The columns of Phi on tile `number` of the rows, x, without the ones and with zeros in the padding.
pub(super) fn basis<'a>(
    hidden: &'a mut Option<Hidden>,
    shape: &Shape,
    w: &[f64],
    number: usize,
    x: Tile<'a>,
) -> &'a [f64] {
    let Some(Hidden { network, kept, .. }) = hidden else { return x.values() };
    let place = number % kept.len();
    let Kept { ws, stacked } = &mut kept[place];
    let phi = &mut stacked[shape.outputs * x.stride()..][..shape.columns() * x.stride()];
    let (h, features) = phi.split_at_mut(shape.units * x.stride());
    let mut h = TileMut::new(h, x.rows());
    network.forward(&w[..shape.start], shape.of_hidden(x), h.reborrow(), ws);
    h.clear_padding();
    features.copy_from_slice(shape.beside(x)); //~ collapsed-skip-features
    phi
}

impl Hidden {
    fn new(shape: &Shape, network: NonCentred<Mlp>, tiles: usize) -> Self {
        let Shape { units, outputs, bias, .. } = *shape;
        let columns = shape.columns();
        let all: usize = network.base().sizes()[1..].iter().sum();
        let back = if shape.by_row { 0 } else { units };
        let n = (KEPT / (TILE_ROWS * (outputs + 4 * all))).clamp(1, tiles);
        let kept = |_| Kept {
            ws: network.workspace(),
            stacked: TileStorage::for_columns(outputs + columns),
        };
        Self {
            kept: (0..n).map(kept).collect(),
            d_phi: TileStorage::for_columns(units),
            back: vec![0.0; back * (outputs + columns)],
            back_bias: vec![0.0; if bias { back } else { 0 }],
            network,
        }
    }

    /// The number of tiles that are kept.
    pub(super) fn n_kept(&self) -> usize {
        self.kept.len()
    }

    /// Begins a pass over the rows.
    pub(super) fn begin(&mut self, shape: &Shape, w: &[f64]) {
        self.kept.iter_mut().for_each(|kept| self.network.begin(&w[..shape.start], &mut kept.ws));
    }

    /// The columns that [`basis`] has written for the tile `number`.
    pub(super) fn phi(&self, shape: &Shape, number: usize, stride: usize) -> &[f64] {
        let stacked = &self.kept[number % self.kept.len()].stacked;
        &stacked[shape.outputs * stride..][..shape.columns() * stride]
    }

    /// Adds the gradient of the tile `number`, whose activations are there, now or in
    /// [`finish`](Self::finish). `d_out` is the derivative of beta ell with respect to the outputs.
    pub(super) fn backward(
        &mut self,
        shape: &Shape,
        w: &[f64],
        (number, x): (usize, Tile),
        d_out: &[f64],
        grad: &mut [f64],
    ) {
        let (place, stride) = (number % self.kept.len(), x.stride());
        let Kept { ws, stacked } = &mut self.kept[place];
        stacked[..d_out.len()].copy_from_slice(d_out);
        let stacked = &stacked[..(shape.outputs + shape.columns()) * stride];
        let mut d_phi = TileMut::new(&mut self.d_phi[..shape.units * stride], x.rows());
        product(&self.back, &self.back_bias, stacked, stride, d_phi.values());
        d_phi.clear_padding();
        let (w, grad) = (&w[..shape.start], &mut grad[..shape.start]);
        self.network.backward(w, shape.of_hidden(x), d_phi.as_tile(), grad, ws);
    }

    /// Does the work of [`backward`](Self::backward) where `write_d_phi` writes the derivative with
    /// respect to Phi, with zeros in the padding.
    pub(super) fn backward_from(
        &mut self,
        shape: &Shape,
        w: &[f64],
        (number, x): (usize, Tile),
        write_d_phi: impl FnOnce(&mut [f64]),
        grad: &mut [f64],
    ) {
        let place = number % self.kept.len();
        let d_phi = &mut self.d_phi[..shape.units * x.stride()];
        write_d_phi(d_phi);
        let (w, grad) = (&w[..shape.start], &mut grad[..shape.start]);
        let (x, d_phi) = (shape.of_hidden(x), Tile::new(d_phi, x.rows()));
        self.network.backward(w, x, d_phi, grad, &mut self.kept[place].ws);
    }

    /// Ends a pass over the rows.
    pub(super) fn finish(&mut self, shape: &Shape, grad: &mut [f64]) {
        let grad = &mut grad[..shape.start];
        self.kept.iter_mut().for_each(|kept| self.network.finish(grad, &mut kept.ws));
    }
}

impl Collapsed {
    /// For rows in so many `tiles`, with the priors of the output layer's weights that are not
    /// integrated out.
    pub(super) fn new(
        shape: Shape,
        network: Option<NonCentred<Mlp>>,
        by_row: Option<ByRow>,
        rest: Vec<BlockPrior>,
        tiles: usize,
    ) -> Self {
        let Shape { outputs, integrated, bias, .. } = shape;
        let (m, cholesky) = (shape.m(), Factorisation::Cholesky);
        let zeros = |n: usize| vec![0.0; n];
        Self {
            hidden: network.map(|network| Hidden::new(&shape, network, tiles)),
            by_row,
            mixture: None,
            rest,
            // Ones that are weighted are a column like any other.
            sums: if shape.by_row {
                Gram::new(m, integrated, false)
            } else {
                Gram::new(shape.columns(), outputs, bias)
            },
            gram: zeros(m * m),
            inverse: zeros(m * m),
            cross: zeros(integrated * m),
            mean: zeros(outputs * m),
            prior_mean: zeros(m),
            sd: zeros(m),
            nu: zeros(integrated * m),
            rhs: zeros(m),
            factoriser: Factoriser::new(m, cholesky),
            factor: LocalMetric::new(),
            is_force: false,
            in_f32: None,
            shape,
        }
    }

    /// The work of a row, in place of the number of weights, where the rows are cut into shares: the number of weights of the hidden
    /// layers, and of entries of Phi^T Phi and Y^T Phi; a quarter of these, since each share has such products of its own.
    pub(super) fn work_of_row(&self) -> usize {
        let work = self.shape.start + self.gram.len() + self.cross.len();
        if self.is_force { work / 8 } else { work / 4 } // in half the time
    }

    /// Overwrites `gram` and `cross` by the sums of the products of the rows of numbered `tiles`. `mixture` has w_i of all rows.
    pub(super) fn sum_rows<'a>(
        &mut self,
        beta: f64,
        q: &[f64],
        mixture: Option<&[f64]>,
        (mut number, tile_rows): (usize, usize),
        mut tiles: impl LentTiles<'a, Observed<'a>>,
        [gram, cross]: [&mut [f64]; 2],
    ) {
        if self.is_force
            && let Some(hidden) = &self.hidden
        {
            return InF32::of(&mut self.in_f32, &self.shape, hidden).sum_rows(
                &self.shape,
                q,
                tiles,
                gram,
                cross,
            );
        }
        self.sums.clear();
        self.shape.take(q, &mut self.mean);
        if let Some(hidden) = &mut self.hidden {
            hidden.begin(&self.shape, q);
        }
        while let Some((x, Observed { y, weights })) = tiles.next_tile() {
            let phi = basis(&mut self.hidden, &self.shape, q, number, x);
            let (phi, y) = match &mut self.by_row {
                Some(by_row) => {
                    let mixture = mixture.map(|weights| &weights[number * tile_rows..]);
                    let rows = Rows { phi, x, y, weights, mixture };
                    by_row.weigh(&self.shape, q, &self.mean, beta, rows)
                }
                None => (phi, y),
            };
            self.sums.add(phi, y.values(), y.rows());
            number += 1;
        }
        self.sums.write(gram, cross);
    }

    /// Writes the matrix by which the derivatives with respect to Phi are made of those with
    /// respect to the outputs, times mu, and of Phi, times -K P_beta A^-1, whose last column meets
    /// the ones; or, if the noise differs between rows, A^-1.
    pub(super) fn set_back(&mut self, precision: f64) {
        let Self { shape, hidden, by_row, inverse, mean, sd, .. } = self;
        if let Some(by_row) = by_row {
            by_row.set_covariance(shape, sd, inverse);
            return;
        }
        let Some(hidden) = hidden else { return };
        let (m, factor) = (shape.m(), -(shape.outputs as f64) * precision); //~ collapsed-covariance
        let rows = hidden.back.chunks_exact_mut(shape.outputs + shape.columns());
        for (j, (row, inverse)) in rows.zip(inverse.chunks_exact(m)).enumerate() {
            let (of_outputs, of_phi) = row.split_at_mut(shape.outputs);
            for (k, to) in of_outputs.iter_mut().enumerate() {
                *to = mean[shape.at(k, j)];
            }
            let covariance = |i: usize| factor * sd[j] * inverse[i] * sd[i];
            of_phi.iter_mut().enumerate().for_each(|(i, to)| *to = covariance(i));
            if let Some(bias) = hidden.back_bias.get_mut(j) {
                *bias = covariance(shape.columns());
            }
        }
    }
}
