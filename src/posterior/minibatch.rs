//! Estimates of the log density and its gradient from a part of the rows.

use std::iter::once;

use super::{Observed, Posterior, PosteriorWorkspace};
use crate::engine::{Tile, TileStorage};
use crate::likelihood::Likelihood;
use crate::model::Model;
use crate::targets::{LogDensity, MinibatchTarget};

/// Rows of a minibatch, as tiles; allocated at its first use.
#[derive(Debug)]
pub(crate) struct Gathered {
    x: TileStorage,
    y: TileStorage,
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Adds the gradients of N/|b| sum_b w_i ell_i, b being `rows`, at `K` positions, like
    /// [`add_full_grad`](Self::add_full_grad). Each row is fetched once.
    fn add_minibatch_grads<const K: usize>(
        &self,
        factor: f64,
        rows: &[usize],
        q: [&[f64]; K],
        grad: &mut [&mut [f64]; K],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> [f64; K] {
        let weight = self.x.rows() as f64 / rows.len() as f64;
        let mut gathered = ws.minibatch.take();
        let mut likelihood = [0.0; K];
        self.for_each_gathered(rows, &mut gathered, |x, y| {
            for k in 0..K {
                let (factor, tile) = (factor * weight, once((x, y))); //~ minibatch-weight
                likelihood[k] += self.add_log_lik_grad(factor, tile, q[k], grad[k], ws);
            }
        });
        ws.minibatch = gathered;
        likelihood.map(|likelihood| weight * likelihood)
    }

    /// Calls `visit(x, y)` for `rows`, a tile at a time.
    pub(crate) fn for_each_gathered(
        &self,
        rows: &[usize],
        gathered: &mut Option<Gathered>,
        mut visit: impl FnMut(Tile, Observed),
    ) {
        let tile_rows = self.model.tile_rows();
        let gathered = gathered.get_or_insert_with(|| Gathered {
            x: TileStorage::zeros(tile_rows * self.x.columns()),
            y: TileStorage::zeros(tile_rows * self.y.columns()),
        });
        for rows in rows.chunks(tile_rows) {
            let x = self.x.gather(rows, &mut gathered.x);
            let y = self.y.gather(rows, &mut gathered.y);
            visit(x, self.observed(y));
        }
    }

    /// The estimates by `rows` at `K` positions, with the gradients of the tempered ones. `prior`
    /// overwrites its argument with its gradient and returns its log density.
    pub(super) fn minibatch_grads_at<const K: usize>(
        &self,
        beta: f64,
        rows: &[usize],
        q: [&[f64]; K],
        mut grad: [&mut [f64]; K],
        prior: impl Fn(&[f64], &mut [f64]) -> f64,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> [LogDensity; K] {
        let log_prior: [f64; K] = std::array::from_fn(|k| prior(q[k], grad[k]));
        if log_prior.iter().all(|prior| *prior == f64::NEG_INFINITY) {
            return [LogDensity::OUTSIDE; K];
        }
        let likelihood = self.add_minibatch_grads(beta, rows, q, &mut grad, ws);
        std::array::from_fn(|k| {
            if beta == 0.0 {
                prior(q[k], grad[k]); // alone, also where the likelihood's is not finite
            }
            match log_prior[k] {
                f64::NEG_INFINITY => LogDensity::OUTSIDE,
                prior => LogDensity::new(likelihood[k], prior),
            }
        })
    }
}

impl<M: Model, L: Likelihood> MinibatchTarget for Posterior<M, L> {
    fn n_obs(&self) -> usize {
        self.x.rows()
    }

    fn minibatch_grad_at(
        &self,
        beta: f64,
        rows: &[usize],
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let [estimate] =
            self.minibatch_grads_at(beta, rows, [q], [grad], |q, g| self.prior_grad(q, g), ws);
        estimate
    }

    fn minibatch_grad_pair_at(
        &self,
        beta: f64,
        rows: &[usize],
        q: [&[f64]; 2],
        grad: [&mut [f64]; 2],
        ws: &mut Self::Workspace,
    ) -> [LogDensity; 2] {
        self.minibatch_grads_at(beta, rows, q, grad, |q, g| self.prior_grad(q, g), ws)
    }
}
