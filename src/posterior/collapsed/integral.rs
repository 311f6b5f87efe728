//! The two passes over the rows, and the computations between them.

use std::ops::Range;

use super::by_row::Rows;
use super::scratch::{Collapsed, Hidden, basis};
use crate::engine::network::product;
use crate::engine::{LentTiles, TileMut};
use crate::likelihood::{Likelihood, NormalNoise};
use crate::model::Model;
use crate::portable::exp;
use crate::posterior::walk::Sums;
use crate::posterior::{Observed, Posterior, PosteriorWorkspace};
use crate::prior::Family;

/// The most that rounding of B may change the log of its determinant, about.
const LOSS: f64 = 0.01;
/// The most that rounding to f32 may change B, beside its least eigenvalue, in a force.
const LOSS_OF_FORCE: f64 = 1.0;

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Computes B, its factor, nu and mu at q; returns P_beta, 1 if the sums over rows have it, or
    /// `None` if B has no factor, or not in floating-point numbers.
    pub(super) fn condition(
        &self,
        beta: f64,
        q: &[f64],
        scratch: &mut Collapsed,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> Option<f64> {
        let (_, phi) = self.split(q);
        let m = scratch.shape.m();
        scratch.shape.take(q, &mut scratch.mean);
        let mut precision = 0.0;
        if beta == 0.0 {
            scratch.gram.fill(0.0);
            scratch.cross.fill(0.0);
        } else {
            precision = match self.likelihood.normal_noise()? {
                NormalNoise::Mixture(_) if scratch.mixture.is_none() => return None,
                _ if scratch.shape.by_row => 1.0,
                //~ collapsed-noise
                NormalNoise::Equal(gaussian) => beta * exp(-gaussian.log_variance(phi)),
                NormalNoise::ByRow | NormalNoise::Mixture(_) => 1.0,
            };
            self.sum_products(beta, q, scratch, ws);
        }
        let Collapsed { shape, gram, cross, mean, .. } = scratch;
        for j in 0..m {
            let (block, coordinate) = self.block_of_column(shape, j);
            let Family::Normal { mean, sd } = block.family(q, coordinate) else { return None };
            (scratch.prior_mean[j], scratch.sd[j]) = (mean, sd);
        }
        let (prior_mean, sd) = (&scratch.prior_mean, &scratch.sd);
        let rows = scratch.factoriser.matrix.chunks_exact_mut(m).zip(gram.chunks_exact(m));
        for (i, (row, gram)) in rows.enumerate() {
            let factor = precision * sd[i];
            for ((to, gram), sd) in row.iter_mut().zip(gram).zip(sd) {
                *to = factor * gram * sd;
            }
            row[i] += 1.0;
        }
        let trace: f64 = scratch.factoriser.matrix.iter().step_by(m + 1).sum();
        let loss = m as f64 * f64::EPSILON * trace;
        if loss.is_nan() || loss > LOSS {
            return None;
        }
        //~ force-loss
        if scratch.is_force && f64::from(f32::EPSILON) * trace > LOSS_OF_FORCE {
            return None;
        }
        scratch.factoriser.factorise_alone(&mut scratch.factor);
        if !scratch.factor.is_valid() {
            return None;
        }
        let is_centred = prior_mean.iter().all(|mean| *mean == 0.0);
        for (k, nu) in scratch.nu.chunks_exact_mut(m).enumerate() {
            for (j, rhs) in scratch.rhs.iter_mut().enumerate() {
                let row = gram[j * m..][..m].iter().zip(prior_mean);
                let from_mean =
                    //~ collapsed-prior-mean
                    if is_centred { 0.0 } else { row.map(|(g, mean)| g * mean).sum::<f64>() };
                *rhs = precision * sd[j] * (cross[shape.in_sums(k, j)] - from_mean);
            }
            scratch.factor.solve(&scratch.rhs, nu);
            for j in 0..m {
                mean[shape.at(k, j)] = prior_mean[j] + sd[j] * nu[j];
            }
        }
        Some(precision)
    }

    /// Phi^T Phi and Y^T Phi of all rows, with P between them if it differs between rows.
    fn sum_products(
        &self,
        beta: f64,
        q: &[f64],
        scratch: &mut Collapsed,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) {
        let (n, tile_rows) = (self.n_shares(scratch.work_of_row()), self.model.tile_rows());
        if n == 1 {
            let mut sums = [&mut scratch.gram, &mut scratch.cross].map(std::mem::take);
            let (mixture, all) = (scratch.mixture.take(), (0, tile_rows));
            let to = sums.each_mut().map(|sums| &mut sums[..]);
            scratch.sum_rows(beta, q, mixture.as_deref(), all, self.tiles(), to);
            ([scratch.gram, scratch.cross], scratch.mixture) = (sums, mixture);
            return;
        }
        let Collapsed { gram, cross, mixture, is_force, .. } = scratch;
        let (mixture, is_force) = (mixture.as_deref(), *is_force);
        let numbers = gram.len() + cross.len();
        self.for_each_share((n, numbers), Sums::NeededByAll, ws, |share, ws, tiles| {
            let mut own = self.collapsed_scratch(ws).expect("the layer was found before");
            let to = share.grad.split_at_mut(own.gram.len()).into();
            own.is_force = is_force;
            let (first, tiles) = (tiles.start, self.tiles_in(tiles));
            own.sum_rows(beta, q, mixture, (first, tile_rows), tiles, to);
            ws.collapsed = Some(own);
        });
        gram.fill(0.0);
        cross.fill(0.0);
        for share in &ws.shares {
            let sums = gram.iter_mut().chain(cross.iter_mut());
            sums.zip(&share.grad).for_each(|(sum, part)| *sum += part);
        }
    }

    /// The log of the integral, without log p(v). Adds its gradient to `grad`.
    pub(super) fn log_integral(
        &self,
        beta: f64,
        q: &[f64],
        mut grad: Option<&mut [f64]>,
        scratch: &mut Collapsed,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> Option<f64> {
        let precision = self.condition(beta, q, scratch, ws)?;
        let (m, is_by_row) = (scratch.shape.m(), scratch.shape.by_row);
        let integrated = scratch.shape.integrated as f64;
        let power = if is_by_row { 1.0 } else { beta };
        let log_det = 2.0 * scratch.factor.half_log_det();
        let squares: f64 = scratch.nu.iter().map(|nu| nu * nu).sum();
        if let Some(grad) = grad.as_deref_mut() {
            scratch.factoriser.inverse(&scratch.factor, &mut scratch.inverse);
            self.add_scale_grad(grad, scratch);
            scratch.set_back(precision);
        }
        let likelihood = self.at_the_mean(beta, q, grad.as_deref_mut(), scratch, ws);
        if let (Some(grad), false) = (grad, is_by_row) {
            let trace: f64 = scratch.inverse.iter().step_by(m + 1).sum();
            let d_log_det = 0.5 * integrated * (m as f64 - trace);
            let phi = self.n_weights..self.n_weights + self.n_phi;
            for (grad, d_phi) in grad[phi].iter_mut().zip(&ws.grad_phi) {
                *grad += beta * d_phi + d_log_det; //~ collapsed-noise-gradient
            }
        }
        //~ collapsed-log-det
        Some(power * likelihood - 0.5 * squares - 0.5 * integrated * log_det)
    }

    /// Adds the derivatives with respect to the log variances of hierarchical priors.
    fn add_scale_grad(&self, grad: &mut [f64], scratch: &Collapsed) {
        let (shape, m) = (&scratch.shape, scratch.shape.m());
        for j in 0..m {
            let (block, coordinate) = self.block_of_column(shape, j);
            if let Some(log_variance) = block.log_variance_of(coordinate) {
                let squares: f64 = scratch.nu.iter().skip(j).step_by(m).map(|nu| nu * nu).sum();
                let known = shape.integrated as f64 * (1.0 - scratch.inverse[j * m + j]);
                grad[log_variance] += 0.5 * (squares - known); //~ collapsed-scale-gradient
            }
        }
    }

    /// The log likelihood at the mean, its derivative with respect to phi in the workspace, and the
    /// gradient of the hidden layers added to `grad`. Where the noise differs between rows, it is the log
    /// likelihood to the power beta, and the gradient with respect to the parameters of s is added.
    fn at_the_mean(
        &self,
        beta: f64,
        q: &[f64],
        grad: Option<&mut [f64]>,
        scratch: &mut Collapsed,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> f64 {
        let n = self.n_shares(scratch.work_of_row());
        if n == 1 {
            let (all, mixture) = (0..self.x.n_tiles(), scratch.mixture.take());
            let weights = mixture.as_deref();
            let found = self.rows_at_the_mean(beta, q, weights, all, true, grad, scratch, ws);
            scratch.mixture = mixture;
            return found;
        }
        let (wants_grad, of_phi) = (grad.is_some(), self.n_weights..self.n_weights + self.n_phi);
        let (mean, back) =
            (&scratch.mean, scratch.hidden.as_ref().map(|h| (&h.back, &h.back_bias)));
        let Collapsed { by_row, mixture, is_force, .. } = &*scratch;
        self.for_each_share((n, q.len()), Sums::NeededByAll, ws, |share, ws, tiles| {
            let mut own = self.collapsed_scratch(ws).expect("the layer was found before");
            own.is_force = *is_force;
            own.mean.copy_from_slice(mean);
            if let (Some(hidden), Some((back, bias))) = (&mut own.hidden, back) {
                hidden.back.copy_from_slice(back);
                hidden.back_bias.copy_from_slice(bias);
            }
            if let (Some(own), Some(by_row)) = (&mut own.by_row, by_row) {
                own.copy_covariance(by_row); //~ by-row-shares
            }
            share.grad.fill(0.0);
            let grad = wants_grad.then_some(&mut share.grad[..]);
            let weights = mixture.as_deref();
            share.likelihood =
                self.rows_at_the_mean(beta, q, weights, tiles, false, grad, &mut own, ws);
            share.grad[of_phi.clone()].copy_from_slice(&ws.grad_phi);
            ws.collapsed = Some(own);
        });
        ws.grad_phi.fill(0.0);
        for share in &ws.shares {
            let d_phi = ws.grad_phi.iter_mut().zip(&share.grad[of_phi.clone()]);
            d_phi.for_each(|(sum, d)| *sum += d);
        }
        if let Some(grad) = grad {
            for share in &ws.shares {
                let parts = grad[..self.n_weights].iter_mut().zip(&share.grad);
                parts.for_each(|(sum, d)| *sum += d);
            }
        }
        ws.shares.iter().map(|share| share.likelihood).sum()
    }

    /// Evaluates [`at_the_mean`](Self::at_the_mean) on some tiles, from the last to the first.
    /// Where it `continues`, the hidden layers were evaluated on all tiles before, of which the
    /// last ones are kept. `mixture` has w_i of all rows.
    #[allow(clippy::too_many_arguments)]
    fn rows_at_the_mean(
        &self,
        beta: f64,
        q: &[f64],
        mixture: Option<&[f64]>,
        tiles: Range<usize>,
        continues: bool,
        mut grad: Option<&mut [f64]>,
        scratch: &mut Collapsed,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> f64 {
        if scratch.is_force
            && let Some(grad) = grad
        {
            return self.rows_at_the_mean_in_f32(beta, q, tiles, grad, scratch, ws);
        }
        let Collapsed { shape, hidden, by_row, mean, .. } = scratch;
        let (w, phi) = self.split(q);
        let tile_rows = self.model.tile_rows();
        let (weights, bias) = mean.split_at(shape.columns() * shape.outputs);
        let PosteriorWorkspace { out, d_out, grad_phi, .. } = ws;
        grad_phi.fill(0.0);
        if let Some(hidden) = hidden.as_mut() {
            hidden.begin(shape, w);
        }
        let kept = if continues { hidden.as_ref().map_or(0, Hidden::n_kept) } else { 0 };
        let first_kept = tiles.end.saturating_sub(kept);
        let mut likelihood = 0.0;
        for number in tiles.rev() {
            let mut tile = self.tiles_in(number..number + 1);
            let (x, observed) = tile.next_tile().expect("one tile");
            let Observed { y, weights: of_rows } = observed;
            let (stride, len) = (x.stride(), shape.outputs * x.stride());
            let basis = match hidden {
                Some(hidden) if number >= first_kept => hidden.phi(shape, number, stride),
                _ => basis(hidden, shape, w, number, x),
            };
            let mut out = TileMut::new(&mut out[..len], x.rows());
            product(weights, bias, basis, stride, out.values());
            if let Some(by_row) = by_row {
                let mixture = mixture.map(|weights| &weights[number * tile_rows..]); //~ mixture-shares
                let rows = Rows { phi: basis, x, y, weights: of_rows, mixture };
                let mu = &out.values()[..stride];
                likelihood += by_row.at_the_mean(shape, q, mean, beta, rows, mu);
                let Some(grad) = grad.as_deref_mut() else { continue };
                by_row.add_log_sd_grad(shape, rows, grad);
                if let Some(hidden) = hidden {
                    let write = |d_phi: &mut [f64]| by_row.write_d_phi(shape, mean, stride, d_phi);
                    hidden.backward_from(shape, w, (number, x), write, grad);
                }
                continue;
            }
            let mut d_out = TileMut::new(&mut d_out[..len], x.rows());
            let (f, d) = (out.as_tile(), d_out.reborrow());
            likelihood += self.likelihood.log_lik_grad(phi, f, y, of_rows, d, grad_phi);
            let Some(grad) = grad.as_deref_mut() else { continue };
            d_out.clear_padding();
            d_out.values().iter_mut().for_each(|d| *d *= beta);
            if let Some(hidden) = hidden {
                hidden.backward(shape, w, (number, x), d_out.values(), grad);
            }
        }
        if let (Some(hidden), Some(grad)) = (hidden, grad) {
            hidden.finish(shape, grad);
        }
        likelihood
    }
}
