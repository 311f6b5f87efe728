//! Second derivatives: Hessians, Fisher information, and products with a vector.

use super::{Observed, Posterior, PosteriorWorkspace};
use crate::Error;
use crate::engine::gemm::{Matrix, gemm};
use crate::engine::{LentTiles, Tile, TileMut, TileStorage};
use crate::likelihood::{SecondOrderLikelihood, Tangent};
use crate::message::Advice;
use crate::model::{Model, OutputLayer, SecondOrderModel};
use crate::targets::{Curvature, FisherTarget, HessTarget, Target};

/// The number of products with a vector that [`Posterior::curvature_of`] keeps at a time.
const ROWS_AT_ONCE: usize = 64;

/// Scratch memory of second derivatives, allocated at their first use.
#[derive(Debug)]
pub(super) struct SecondOrderScratch {
    /// E[y | f], of one tile; directions of f, and derivatives of d_out along them.
    pub(super) mean: TileStorage,
    pub(super) r_out: TileStorage,
    pub(super) r_d_out: TileStorage,
    /// A direction, and a product with it.
    v: Vec<f64>,
    hv: Vec<f64>,
}

impl<M: SecondOrderModel, L: SecondOrderLikelihood> Posterior<M, L> {
    /// Adds to each row of `out` (as long as q) the product of the log likelihood's Hessian at q, or
    /// its expectation, with the direction that `direction(row, v)` makes of the previous one.
    fn add_likelihood_products(
        &self,
        curvature: Curvature,
        q: &[f64],
        out: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
        scratch: &mut SecondOrderScratch,
        mut direction: impl FnMut(usize, &mut [f64]),
    ) {
        let (w, phi) = self.split(q);
        let outputs = self.model.n_outputs();
        let SecondOrderScratch { mean, r_out, r_d_out, v, hv } = scratch;
        self.model.begin(w, &mut ws.model);
        let mut tiles = self.tiles();
        while let Some((x, Observed { y, weights })) = tiles.next_tile() {
            let (rows, stride) = (x.rows(), x.stride());
            let mut f = TileMut::new(&mut ws.out[..stride * outputs], rows);
            let mean = &mut mean[..stride * self.likelihood.n_means(outputs)];
            self.model.forward(w, x, f.reborrow(), &mut ws.model);
            self.likelihood.mean(phi, f.as_tile(), TileMut::new(mean, rows));
            let mean = Tile::new(mean, rows);
            if curvature == Curvature::Observed {
                let mut d_out = TileMut::new(&mut ws.d_out[..stride * outputs], rows);
                let d_phi = &mut hv[..self.n_phi]; // not needed
                let (f, d) = (f.as_tile(), d_out.reborrow());
                self.likelihood.log_lik_grad(phi, f, y, weights, d, d_phi);
                d_out.clear_padding();
                self.model.keep_backward(w, x, d_out.as_tile(), &mut ws.model);
            }
            let mut r_out = TileMut::new(&mut r_out[..stride * outputs], rows);
            let mut r_d_out = TileMut::new(&mut r_d_out[..stride * outputs], rows);
            for (row, hv) in out.chunks_exact_mut(q.len()).enumerate() {
                direction(row, v);
                let (v_w, v_phi) = self.split(v);
                let (hv_w, hv_phi) = hv.split_at_mut(self.n_weights);
                let hv_phi = &mut hv_phi[..self.n_phi];
                self.model.forward_tangent(w, x, v_w, r_out.reborrow(), &mut ws.model);
                let (out, r_out, r_phi) = (f.as_tile(), r_out.as_tile(), v_phi);
                let at = Tangent { phi, out, mean, y, weights, r_out, r_phi };
                self.likelihood.log_lik_tangent(curvature, at, r_d_out.reborrow(), hv_phi);
                r_d_out.clear_padding();
                let r_d_out = r_d_out.as_tile();
                match curvature {
                    Curvature::Observed => {
                        self.model.backward_tangent(w, x, v_w, r_d_out, hv_w, &mut ws.model);
                    }
                    Curvature::Expected => {
                        self.model.backward(w, x, r_d_out, hv_w, &mut ws.model);
                        self.model.finish(hv_w, &mut ws.model);
                    }
                }
            }
        }
    }

    /// Takes the scratch memory out of the workspace; to be put back.
    pub(super) fn second_order_scratch(
        &self,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> SecondOrderScratch {
        let outputs = self.model.n_outputs();
        ws.second.take().unwrap_or_else(|| SecondOrderScratch {
            mean: TileStorage::for_columns(self.likelihood.n_means(outputs)),
            r_out: TileStorage::for_columns(outputs),
            r_d_out: TileStorage::for_columns(outputs),
            v: vec![0.0; self.layout.dim()],
            hv: vec![0.0; self.layout.dim()],
        })
    }

    /// Overwrites `out` with minus the matrix of second derivatives.
    fn curvature_at(
        &self,
        curvature: Curvature,
        beta: f64,
        q: &[f64],
        out: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) {
        let d = self.layout.dim();
        let mut scratch = self.second_order_scratch(ws);
        out.fill(0.0);
        if beta != 0.0 {
            // Row j is the product with the unit vector j; rows of hierarchical scales stay zero.
            let n = self.n_weights + self.n_phi;
            self.add_likelihood_products(
                curvature,
                q,
                &mut out[..n * d],
                ws,
                &mut scratch,
                |j, v| {
                    v.fill(0.0);
                    v[j] = 1.0;
                },
            );
            out[..n * d].iter_mut().for_each(|h| *h *= -beta);
        }
        for (j, row) in out.chunks_exact_mut(d).enumerate() {
            let prior = self.prior_row(curvature, q, j, &mut scratch);
            row.iter_mut().zip(prior).for_each(|(h, prior)| *h -= prior);
        }
        symmetrise(out, d);
        ws.second = Some(scratch);
    }

    /// The entries `[n x n]`, row-major, of minus the matrix of second derivatives at q that belong to
    /// these n `coordinates`. Memory grows with n^2 and with the length of q, and not with its square.
    pub(crate) fn curvature_of(
        &self,
        curvature: Curvature,
        coordinates: &[usize],
        q: &[f64],
    ) -> Vec<f64> {
        let n = coordinates.len();
        let mut ws = self.workspace();
        let mut scratch = self.second_order_scratch(&mut ws);
        let mut out = match self.plain_output_layer(coordinates) {
            Some(layer) => self.output_layer_curvature(curvature, &layer, q, &mut ws, &mut scratch),
            None => self.likelihood_rows(curvature, coordinates, q, &mut ws, &mut scratch),
        };
        for (j, out) in coordinates.iter().zip(out.chunks_exact_mut(n)) {
            let prior = self.prior_row(curvature, q, *j, &mut scratch);
            out.iter_mut().zip(coordinates).for_each(|(out, k)| *out = -*out - prior[*k]);
        }
        symmetrise(&mut out, n);
        out
    }

    /// The log likelihood's part of [`curvature_of`](Self::curvature_of), with its own sign, by products with unit vectors.
    fn likelihood_rows(
        &self,
        curvature: Curvature,
        coordinates: &[usize],
        q: &[f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
        scratch: &mut SecondOrderScratch,
    ) -> Vec<f64> {
        let (d, n) = (self.layout.dim(), coordinates.len());
        let mut out = vec![0.0; n * n];
        let mut rows = vec![0.0; ROWS_AT_ONCE.min(n) * d];
        let chunks = coordinates.chunks(ROWS_AT_ONCE).zip(out.chunks_mut(ROWS_AT_ONCE * n));
        for (chunk, out) in chunks {
            let rows = &mut rows[..chunk.len() * d];
            rows.fill(0.0);
            self.add_likelihood_products(curvature, q, rows, ws, scratch, |j, v| {
                v.fill(0.0);
                v[chunk[j]] = 1.0; //~ hessian-rows
            });
            for (row, out) in rows.chunks_exact(d).zip(out.chunks_exact_mut(n)) {
                out.iter_mut().zip(coordinates).for_each(|(out, k)| *out = row[*k]);
            }
        }
        out
    }

    /// The model's output layer, if all of its weights and no others are these `coordinates`, and all of its inputs are units of a
    /// hidden layer, or the features of a model without one.
    fn plain_output_layer(&self, coordinates: &[usize]) -> Option<OutputLayer> {
        let layer = self.model.output_layer().ok()?;
        if !layer.beside.is_empty() || layer.log_sd {
            return None;
        }
        let (start, inputs) = match &layer.hidden {
            Some(hidden) => (hidden.layout().dim(), hidden.n_outputs()),
            None => (0, self.model.n_inputs()),
        };
        let all = start..start + self.model.n_outputs() * (inputs + usize::from(layer.bias));
        (all.end == self.n_weights && coordinates.iter().copied().eq(all)).then_some(layer)
    }

    /// The log likelihood's matrix of second derivatives with respect to the weights of the output layer, in one pass over the rows.
    ///
    /// The outputs of row i are f = W h_i + b. With a_i = (h_i, 1) and R_i `[K x K]` the matrix of second derivatives of
    /// the row's log likelihood with respect to f, or its expectation, the entry of weight j of output k and weight m of output l
    /// is sum_i R_ikl a_ij a_im: f has no second derivatives with respect to these weights.
    fn output_layer_curvature(
        &self,
        curvature: Curvature,
        layer: &OutputLayer,
        q: &[f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
        scratch: &mut SecondOrderScratch,
    ) -> Vec<f64> {
        let (w, phi) = self.split(q);
        let outputs = self.model.n_outputs();
        let SecondOrderScratch { mean, r_out, r_d_out, v, hv } = scratch;
        let (no_direction, unused) = (&mut v[..self.n_phi], &mut hv[..self.n_phi]);
        no_direction.fill(0.0);
        let hidden = layer.hidden.as_ref();
        let units = hidden.map_or(self.model.n_inputs(), Model::n_outputs);
        let side = units + usize::from(layer.bias);
        let mut hidden = hidden.map(|hidden| {
            let mut of_hidden = hidden.workspace();
            let w = &w[..hidden.layout().dim()];
            hidden.begin(w, &mut of_hidden);
            (hidden, w, of_hidden)
        });
        self.model.begin(w, &mut ws.model);
        // Of the tile: a, and R a for some outputs l.
        let mut basis = TileStorage::for_columns(side);
        let mut products = TileStorage::for_columns(outputs * side);
        // For each output k the entries with l = k, .., K - 1 `[(K - k) side x side]`.
        let mut sums: Vec<_> =
            (0..outputs).map(|k| vec![0.0; (outputs - k) * side * side]).collect();
        let mut tiles = self.tiles();
        while let Some((x, Observed { y, weights })) = tiles.next_tile() {
            let (rows, stride) = (x.rows(), x.stride());
            let mut f = TileMut::new(&mut ws.out[..stride * outputs], rows);
            self.model.forward(w, x, f.reborrow(), &mut ws.model);
            let mean = &mut mean[..stride * self.likelihood.n_means(outputs)];
            self.likelihood.mean(phi, f.as_tile(), TileMut::new(mean, rows));
            let mean = Tile::new(mean, rows);
            let (h, ones) = basis[..stride * side].split_at_mut(stride * units);
            match &mut hidden {
                Some((hidden, w, ws)) => hidden.forward(w, x, TileMut::new(h, rows), ws),
                None => h.copy_from_slice(x.values()),
            }
            ones.fill(1.0);
            let basis = &basis[..stride * side];
            for (k, sums) in sums.iter_mut().enumerate() {
                let mut unit = TileMut::new(&mut r_out[..stride * outputs], rows);
                unit.values().fill(0.0);
                unit.column(k).fill(1.0);
                let mut r = TileMut::new(&mut r_d_out[..stride * outputs], rows);
                let (out, r_out, r_phi) = (f.as_tile(), unit.as_tile(), &*no_direction);
                let at = Tangent { phi, out, mean, y, weights, r_out, r_phi };
                self.likelihood.log_lik_tangent(curvature, at, r.reborrow(), unused);
                let products = &mut products[..(outputs - k) * side * stride];
                let of_outputs = products.chunks_exact_mut(side * stride);
                for (r, products) in r.values()[k * stride..].chunks_exact(stride).zip(of_outputs) {
                    for (to, a) in products.chunks_exact_mut(stride).zip(basis.chunks_exact(stride))
                    {
                        to.iter_mut().zip(a).zip(r).for_each(|((to, a), r)| *to = a * r);
                    }
                }
                let factors =
                    [Matrix::rows(products, stride), Matrix::rows(basis, stride).transposed()];
                gemm([(outputs - k) * side, side, rows], 1.0, factors, sums, side, true);
            }
        }
        // The weights of an output are not beside its bias.
        let place =
            |k: usize, j: usize| if j < units { k * units + j } else { outputs * units + k };
        let n = outputs * side;
        let mut out = vec![0.0; n * n];
        for (k, sums) in sums.iter().enumerate() {
            for (row, sums) in sums.chunks_exact(side).enumerate() {
                let (l, j) = (k + row / side, row % side); //~ output-layer-place
                for (m, sum) in sums.iter().enumerate() {
                    let (one, other) = (place(k, m), place(l, j));
                    out[one * n + other] = *sum;
                    out[other * n + one] = *sum;
                }
            }
        }
        out
    }

    /// Row `j` of the log prior's matrix of second derivatives.
    fn prior_row<'s>(
        &self,
        curvature: Curvature,
        q: &[f64],
        j: usize,
        SecondOrderScratch { v, hv, .. }: &'s mut SecondOrderScratch,
    ) -> &'s [f64] {
        v.fill(0.0);
        v[j] = 1.0;
        hv.fill(0.0);
        for block in &self.priors {
            block.add_hessian_product(curvature, q, v, hv);
        }
        hv
    }

    /// Overwrites `out` with H v, H minus the Hessian of beta ell + log p at q: exact, without a
    /// matrix, by the R-operator. All vectors are as long as q, and `ws` is made by
    /// [`workspace`](crate::targets::Target::workspace).
    ///
    /// A prior whose second derivative is not known is left out; see
    /// [`check_hessian`](HessTarget::check_hessian).
    pub fn neg_hessian_product_at(
        &self,
        beta: f64,
        q: &[f64],
        v: &[f64],
        out: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) {
        let observed = Curvature::Observed;
        out.fill(0.0);
        if beta != 0.0 {
            let mut scratch = self.second_order_scratch(ws);
            self.add_likelihood_products(observed, q, out, ws, &mut scratch, |_, direction| {
                direction.copy_from_slice(v);
            });
            ws.second = Some(scratch);
            out.iter_mut().for_each(|h| *h *= beta);
        }
        for block in &self.priors {
            block.add_hessian_product(observed, q, v, out);
        }
        out.iter_mut().for_each(|h| *h = -*h);
    }

    /// An error that names the first block whose prior has no curvature.
    pub(crate) fn check_curvature(&self, curvature: Curvature) -> Result<(), Error> {
        let zeros = vec![0.0; self.layout.dim()];
        let mut product = zeros.clone();
        for block in &self.priors {
            if !block.add_hessian_product(curvature, &zeros, &zeros, &mut product) {
                let advice = Advice::in_rust("implement `Prior::add_hessian_product` for it");
                return Err(Error::prior(
                    format!("the curvature of the prior of block `{}` is not known", block.name),
                    self.layout.block_names(),
                )
                .advise([advice]));
            }
        }
        Ok(())
    }
}

/// Replaces a matrix that is symmetric except for rounding by the mean of the matrix and its
/// transpose.
fn symmetrise(a: &mut [f64], dim: usize) {
    for i in 0..dim {
        for j in 0..i {
            let mean = 0.5 * (a[i * dim + j] + a[j * dim + i]);
            a[i * dim + j] = mean;
            a[j * dim + i] = mean;
        }
    }
}

impl<M: SecondOrderModel, L: SecondOrderLikelihood> HessTarget for Posterior<M, L> {
    fn neg_hessian_at(&self, beta: f64, q: &[f64], out: &mut [f64], ws: &mut Self::Workspace) {
        self.curvature_at(Curvature::Observed, beta, q, out, ws);
    }

    fn check_hessian(&self) -> Result<(), Error> {
        self.check_curvature(Curvature::Observed)
    }
}

impl<M: SecondOrderModel, L: SecondOrderLikelihood> FisherTarget for Posterior<M, L> {
    fn fisher_at(&self, beta: f64, q: &[f64], out: &mut [f64], ws: &mut Self::Workspace) {
        self.curvature_at(Curvature::Expected, beta, q, out, ws);
    }

    fn check_fisher(&self) -> Result<(), Error> {
        self.check_curvature(Curvature::Expected)
    }
}
