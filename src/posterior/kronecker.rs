//! The factors of a Kronecker-factored Fisher information, layer by layer.

use super::{Observed, Posterior};
use crate::Error;
use crate::engine::gemm::{Matrix, gemm};
use crate::engine::{LentTiles, Tile, TileMut};
use crate::likelihood::{Likelihood, SecondOrderLikelihood, Tangent, Weights};
use crate::model::{Mlp, Model, SecondOrderModel};
use crate::prior::Family;
use crate::targets::{Curvature, Target};

/// The factors of a layer's Fisher information: G (x) A, with the units before the inputs.
#[derive(Clone, Debug)]
pub(crate) struct KroneckerFactors {
    /// Inputs, without the one of the bias, and units.
    pub(crate) inputs: usize,
    pub(crate) units: usize,
    /// A = sum_i w_i a_i a_i^T / sum_i w_i `[inputs + 1, inputs + 1]`, with a_i = (h_i, 1) and the weights w_i
    /// of the rows.
    pub(crate) a: Vec<f64>,
    /// G = sum_i w_i S_i^T C_i S_i `[units, units]`, with S_i the derivative of the outputs f with
    /// respect to z of the layer, and C_i the information about f.
    pub(crate) g: Vec<f64>,
}

impl<L: SecondOrderLikelihood> Posterior<Mlp, L> {
    /// The factors of every layer at q.
    ///
    /// Row by row S^T C S = sum_k (S^T e_k) (S^T C e_k)^T, with e_k the unit vector of output k:
    /// two backward passes for each output, and no root of C.
    pub(crate) fn kronecker_factors(&self, q: &[f64]) -> Vec<KroneckerFactors> {
        let (w, phi) = self.split(q);
        let outputs = self.model.n_outputs();
        let mut factors: Vec<_> =
            self.model.sizes().windows(2).map(KroneckerFactors::new).collect();
        let mut weighted: Vec<Vec<f64>> = vec![Vec::new(); factors.len()];
        let zeros = vec![0.0; self.n_phi];
        let mut unused = zeros.clone();
        let mut ws = self.workspace();
        let mut scratch = self.second_order_scratch(&mut ws);
        self.model.begin(w, &mut ws.model);
        let mut tiles = self.tiles();
        while let Some((x, Observed { y, weights })) = tiles.next_tile() {
            let (rows, stride) = (x.rows(), x.stride());
            let mut f = TileMut::new(&mut ws.out[..stride * outputs], rows);
            self.model.forward(w, x, f.reborrow(), &mut ws.model);
            let mean = &mut scratch.mean[..stride * self.likelihood.n_means(outputs)];
            self.likelihood.mean(phi, f.as_tile(), TileMut::new(mean, rows));
            let mean = Tile::new(mean, rows);
            for (l, factors) in factors.iter_mut().enumerate() {
                factors.add_inputs(self.model.kept(l, x, &ws.model).0, x, weights);
            }
            for k in 0..outputs {
                let mut unit = TileMut::new(&mut scratch.r_out[..stride * outputs], rows);
                unit.values().fill(0.0);
                unit.column(k).fill(1.0);
                let mut info = TileMut::new(&mut scratch.r_d_out[..stride * outputs], rows);
                // Minus C e_k.
                let (out, r_out, r_phi) = (f.as_tile(), unit.as_tile(), &zeros[..]);
                let at = Tangent { phi, out, mean, y, weights, r_out, r_phi };
                let expected = Curvature::Expected;
                self.likelihood.log_lik_tangent(expected, at, info.reborrow(), &mut unused);
                info.clear_padding();
                self.model.keep_backward(w, x, info.as_tile(), &mut ws.model);
                for (l, weighted) in weighted.iter_mut().enumerate() {
                    weighted.clear();
                    weighted.extend_from_slice(self.model.kept(l, x, &ws.model).1);
                }
                self.model.keep_backward(w, x, unit.as_tile(), &mut ws.model);
                for (l, factors) in factors.iter_mut().enumerate() {
                    factors.subtract_outer(self.model.kept(l, x, &ws.model).1, &weighted[l], x);
                }
            }
        }
        let n = self.n_weighted; //~ kronecker-rows
        for KroneckerFactors { inputs, a, .. } in &mut factors {
            a.iter_mut().for_each(|a| *a /= n);
            a[(*inputs + 1) * (*inputs + 1) - 1] = 1.0;
        }
        factors
    }
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// The number of weights of the model, which are the first coordinates of q.
    pub(crate) fn n_weights(&self) -> usize {
        self.n_weights
    }

    /// The precision of the prior of each weight, given the rest of q; an error that names the
    /// first block whose prior is not normal.
    pub(crate) fn prior_precisions(&self, q: &[f64]) -> Result<Vec<f64>, Error> {
        let mut precisions = vec![0.0; self.n_weights];
        for block in self.priors.iter().filter(|block| block.range.end <= self.n_weights) {
            for k in block.range.clone() {
                let Family::Normal { sd, .. } = block.family(q, k) else {
                    let problem = format!(
                        "the prior of block `{}` is not normal, which the Kronecker-factored \
                         Laplace approximation needs: the full and the diagonal one take any",
                        block.name
                    );
                    return Err(Error::prior(problem, self.layout.block_names()));
                };
                precisions[k] = 1.0 / (sd * sd);
            }
        }
        Ok(precisions)
    }
}

impl KroneckerFactors {
    fn new(size: &[usize]) -> Self {
        let (inputs, units) = (size[0], size[1]);
        let (a, g) = (vec![0.0; (inputs + 1) * (inputs + 1)], vec![0.0; units * units]);
        Self { inputs, units, a, g }
    }

    /// Adds the weighted sum of a a^T over the rows of a tile, except for the last entry, the sum of the
    /// weights.
    fn add_inputs(&mut self, h: &[f64], x: Tile, weights: Weights) {
        let (n, side, stride) = (self.inputs, self.inputs + 1, x.stride());
        let mut weighted = vec![0.0; n * stride];
        for (to, h) in weighted.chunks_exact_mut(stride).zip(h.chunks_exact(stride)) {
            to.iter_mut().zip(h).zip(weights).for_each(|((to, h), w)| *to = w * h);
        }
        let (h_rows, by) = (Matrix::rows(&weighted, stride), Matrix::rows(h, stride).transposed());
        gemm([n, n, x.rows()], 1.0, [h_rows, by], &mut self.a, side, true);
        for (i, h) in weighted.chunks_exact(stride).enumerate() {
            let sum: f64 = h[..x.rows()].iter().sum();
            self.a[i * side + n] += sum;
            self.a[n * side + i] += sum;
        }
    }

    /// Subtracts delta weighted^T, summed over the rows of a tile, from G.
    fn subtract_outer(&mut self, delta: &[f64], weighted: &[f64], x: Tile) {
        let factors =
            [Matrix::rows(delta, x.stride()), Matrix::rows(weighted, x.stride()).transposed()];
        gemm([self.units, self.units, x.rows()], -1.0, factors, &mut self.g, self.units, true);
    }
}
