//! The two passes over the rows in f32, for forces.

use std::ops::Range;

use super::Shape;
use super::scratch::{Collapsed, Hidden};
use crate::engine::gram::Gram;
use crate::engine::network::{SUMMED_IN_F32, product};
use crate::engine::simd::Real;
use crate::engine::{LentTiles, Tile, TileMut, TileStorage};
use crate::likelihood::Likelihood;
use crate::model::{Mlp, MlpF32, Model, NonCentred};
use crate::posterior::{Observed, Posterior, PosteriorWorkspace};

/// Scratch memory. The network has one tile: h, the features beside it, which are Phi without its ones, and the
/// derivative with respect to the outputs, in columns that are [`Real::stride_of`] the columns of f64 apart.
#[derive(Debug)]
pub(super) struct InF32 {
    network: NonCentred<MlpF32>,
    ws: <NonCentred<MlpF32> as Model>::Workspace,
    sums: Gram<f32>,
    /// The response, or the outputs.
    out: TileStorage<f32>,
    /// mu, and the matrix and bias that make the derivative with respect to h of the columns of the tile.
    mean: Vec<f32>,
    back: Vec<f32>,
    back_bias: Vec<f32>,
}

fn round(from: &[f64], to: &mut [f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from as f32);
}

/// Writes zeros into the padding of every column.
fn clear_padding(columns: &mut [f32], rows: usize, stride: usize) {
    columns.chunks_exact_mut(stride).for_each(|column| column[rows..].fill(0.0));
}

impl InF32 {
    fn new(shape: &Shape, network: NonCentred<Mlp>) -> Self {
        let Shape { units, outputs, bias, .. } = *shape;
        let (columns, network) = (shape.columns(), network.in_f32());
        let mut ws = network.workspace();
        NonCentred::network_of(&mut ws).0.compute_all_in_f32(columns - units + outputs);
        Self {
            ws,
            network,
            sums: Gram::new(columns, outputs, bias),
            out: TileStorage::for_columns(outputs),
            mean: vec![0.0; outputs * shape.m()],
            back: vec![0.0; units * (columns + outputs)],
            back_bias: vec![0.0; if bias { units } else { 0 }],
        }
    }

    /// The memory in `own`, made if there is none. Each pass asks for it: the threads that take a share of the rows
    /// in the second pass may have had none in the first.
    pub(super) fn of<'a>(
        own: &'a mut Option<Self>,
        shape: &Shape,
        hidden: &Hidden,
    ) -> &'a mut Self {
        own.get_or_insert_with(|| Self::new(shape, hidden.network.clone()))
    }

    /// Computes the columns of Phi on the tile x.
    fn basis(&mut self, shape: &Shape, x: Tile) {
        let stride = f32::stride_of(x.stride());
        let (network, _) = NonCentred::network_of(&mut self.ws);
        network.forward_f32(shape.of_hidden(x));
        let phi = &mut network.outputs_f32()[..shape.columns() * stride];
        let (h, features) = phi.split_at_mut(shape.units * stride);
        clear_padding(h, x.rows(), stride);
        f32::copy_in(shape.beside(x), x.stride(), features); //~ force-skip-features
    }

    /// Overwrites `gram` and `cross` by Phi^T Phi and Y^T Phi of the rows of `tiles`.
    pub(super) fn sum_rows<'a>(
        &mut self,
        shape: &Shape,
        w: &[f64],
        mut tiles: impl LentTiles<'a, Observed<'a>>,
        gram: &mut [f64],
        cross: &mut [f64],
    ) {
        self.network.begin(&w[..shape.start], &mut self.ws);
        gram.fill(0.0);
        cross.fill(0.0);
        self.sums.clear();
        while let Some((x, Observed { y, .. })) = tiles.next_tile() {
            self.basis(shape, x);
            let stride = f32::stride_of(x.stride());
            let Self { ws, sums, out, .. } = self;
            f32::copy_in(y.values(), y.stride(), out);
            let phi = &NonCentred::network_of(ws).0.outputs_f32()[..shape.columns() * stride];
            sums.add(phi, &out[..shape.outputs * stride], x.rows());
            if sums.rows() >= SUMMED_IN_F32 {
                sums.add_to(gram, cross); //~ force-sums
                sums.clear();
            }
        }
        if self.sums.rows() > 0 {
            self.sums.add_to(gram, cross);
        }
    }

    /// Begins the second pass, with mu and, in `back`, the matrix of [`Hidden`](super::scratch::Hidden) and its bias.
    fn begin(&mut self, shape: &Shape, w: &[f64], mean: &[f64], back: [&[f64]; 2]) {
        self.network.begin(&w[..shape.start], &mut self.ws);
        round(mean, &mut self.mean);
        let width = shape.outputs + shape.columns();
        let rows = self.back.chunks_exact_mut(width).zip(back[0].chunks_exact(width));
        for (to, from) in rows {
            let (of_outputs, of_phi) = from.split_at(shape.outputs);
            round(of_phi, to);
            round(of_outputs, &mut to[shape.columns()..]);
        }
        round(back[1], &mut self.back_bias);
    }

    /// Writes the outputs at the mean on the tile x.
    fn forward(&mut self, shape: &Shape, x: Tile, out: &mut [f64]) {
        self.basis(shape, x);
        let Self { ws, mean, out: found, .. } = self;
        let stride = f32::stride_of(x.stride());
        let (weights, bias) = mean.split_at(shape.columns() * shape.outputs);
        let phi = &NonCentred::network_of(ws).0.outputs_f32()[..shape.columns() * stride];
        let found = &mut found[..shape.outputs * stride];
        product(weights, bias, phi, stride, found);
        f32::copy_out(found, x.stride(), out);
    }

    /// Adds the gradient of the tile of the latest [`forward`](Self::forward), now or in
    /// [`finish`](Self::finish). `d_out` is the derivative of beta ell with respect to the outputs.
    fn backward(&mut self, shape: &Shape, x: Tile, d_out: &[f64]) {
        let Self { ws, back, back_bias, .. } = self;
        let (network, grad) = NonCentred::network_of(ws);
        let stride = f32::stride_of(x.stride());
        let phi = shape.columns() * stride;
        f32::copy_in(d_out, x.stride(), &mut network.outputs_f32()[phi..]);
        let write = |columns: &[f32], d_h: &mut [f32]| {
            let columns = &columns[..phi + shape.outputs * stride];
            product(back, back_bias, columns, stride, d_h);
            clear_padding(d_h, x.rows(), stride);
        };
        network.backward_f32(shape.of_hidden(x), write, grad);
    }

    /// Ends the second pass.
    fn finish(&mut self, shape: &Shape, grad: &mut [f64]) {
        self.network.finish(&mut grad[..shape.start], &mut self.ws);
    }
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Does the work of [`rows_at_the_mean`](Self::rows_at_the_mean) in f32.
    pub(super) fn rows_at_the_mean_in_f32(
        &self,
        beta: f64,
        q: &[f64],
        tiles: Range<usize>,
        grad: &mut [f64],
        scratch: &mut Collapsed,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> f64 {
        let Collapsed { shape, hidden, in_f32, mean, .. } = scratch;
        let Some(hidden) = hidden else { return f64::NAN };
        let own = InF32::of(in_f32, shape, hidden); //~ force-memory
        let (w, phi) = self.split(q);
        let PosteriorWorkspace { out, d_out, grad_phi, .. } = ws;
        grad_phi.fill(0.0);
        own.begin(shape, w, mean, [&hidden.back, &hidden.back_bias]);
        let mut likelihood = 0.0;
        let mut tiles = self.tiles_in(tiles);
        while let Some((x, Observed { y, weights })) = tiles.next_tile() {
            let len = shape.outputs * x.stride();
            let mut out = TileMut::new(&mut out[..len], x.rows());
            let mut d_out = TileMut::new(&mut d_out[..len], x.rows());
            own.forward(shape, x, out.values());
            let (f, d) = (out.as_tile(), d_out.reborrow());
            likelihood += self.likelihood.log_lik_grad(phi, f, y, weights, d, grad_phi);
            d_out.clear_padding();
            d_out.values().iter_mut().for_each(|d| *d *= beta);
            own.backward(shape, x, d_out.values());
        }
        own.finish(shape, grad);
        likelihood
    }
}
