//! The walk over tiles: the log density and its gradient.
//!
//! Forward, likelihood and backward for one tile of rows before the next. Many rows are cut into
//! shares, which threads that have nothing else to do take. How many shares there are, and the order
//! in which they are added, does not depend on the number of threads.

use std::ops::Range;
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::collapsed::Collapsed;
use super::descent::DescentScratch;
use super::minibatch::Gathered;
use super::observed::weighted_sum;
use super::second_order::SecondOrderScratch;
use super::{Observed, Posterior};
use crate::Error;
use crate::cut;
use crate::engine::{LentTiles, TILE_ROWS, Tile, TileMut, TileStorage};
use crate::layout::Layout;
use crate::likelihood::Likelihood;
use crate::model::Model;
use crate::ranks::{self, Ranks};
use crate::rng::ChainRng;
use crate::targets::{GradTarget, LogDensity, PowerGradTarget, PowerTarget, Target, TargetInfo};

/// Scratch memory of one chain on a [`Posterior`].
#[derive(Debug)]
pub struct PosteriorWorkspace<W> {
    pub(super) model: W,
    pub(super) out: TileStorage,
    pub(super) d_out: TileStorage,
    /// The derivative with respect to phi.
    pub(super) grad_phi: Vec<f64>,
    pub(super) descent: Option<DescentScratch>,
    pub(super) second: Option<SecondOrderScratch>,
    pub(super) minibatch: Option<Gathered>,
    pub(super) collapsed: Option<Collapsed>,
    /// For each share of the rows, if there are several; allocated at their first use.
    pub(super) shares: Vec<Share>,
    /// The ranks that walk the shares, if there are others than this process.
    pub(super) ranks: Option<Arc<dyn Ranks>>,
    /// For each thread that works on a share, when it does.
    pub(super) spare: Mutex<Vec<PosteriorWorkspace<W>>>,
}

/// The sums of one share of the rows.
#[derive(Debug, Default)]
pub(super) struct Share {
    pub(super) grad: Vec<f64>,
    pub(super) likelihood: f64,
}

/// What becomes of the sums of the shares where the shares are on several ranks.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Sums {
    /// Rank 0 adds them up, and has the result.
    Added,
    /// All ranks go on with them.
    NeededByAll,
}

/// The least work of a share in multiply-adds, at three for each weight and row: some 200 microseconds.
const WORK_OF_SHARE: usize = 1 << 22;

/// The most shares.
const MOST_SHARES: usize = 64;

/// The most numbers that the gradients of all shares of a chain take: 64 MiB.
const NUMBERS_OF_SHARES: usize = 1 << 23;

/// The number of shares that the tiles are cut into, which depends on the problem only: a power of two, which most machines'
/// threads take in equal parts.
fn n_shares(tiles: usize, rows: usize, weights: usize) -> usize {
    let work = rows.saturating_mul(weights).saturating_mul(3);
    let memory = NUMBERS_OF_SHARES / weights.max(1);
    let most = (work / WORK_OF_SHARE).min(MOST_SHARES).min(memory).min(tiles).max(1);
    1 << most.ilog2()
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// w and phi.
    pub(super) fn split<'q>(&self, q: &'q [f64]) -> (&'q [f64], &'q [f64]) {
        let (w, rest) = q.split_at(self.n_weights);
        (w, &rest[..self.n_phi])
    }

    /// Overwrites `grad` with the gradient of the log prior, and returns the log prior.
    pub(crate) fn prior_grad(&self, q: &[f64], grad: &mut [f64]) -> f64 {
        grad.fill(0.0);
        self.priors.iter().map(|block| block.add_grad(q, grad)).sum()
    }

    /// Adds `factor` times the gradient of the log likelihood of the rows of `tiles`, pairs of x and
    /// y, to `grad`, and returns the log likelihood.
    #[inline]
    pub(super) fn add_log_lik_grad<'a>(
        &self,
        factor: f64,
        tiles: impl LentTiles<'a, Observed<'a>>,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> f64 {
        let (w, phi) = self.split(q);
        let (grad_w, rest) = grad.split_at_mut(self.n_weights);
        let mut likelihood = 0.0;
        let mut grad_phi = std::mem::take(&mut ws.grad_phi);
        grad_phi.fill(0.0);
        self.propagate(tiles, w, grad_w, ws, |f, Observed { y, weights }, mut d_out| {
            let (d, d_phi) = (d_out.reborrow(), &mut grad_phi);
            likelihood += self.likelihood.log_lik_grad(phi, f, y, weights, d, d_phi);
            // Here, and not in the gradient, which may have millions of coordinates.
            if factor != 1.0 {
                d_out.values().iter_mut().for_each(|d| *d *= factor);
            }
        });
        rest.iter_mut().zip(&grad_phi).for_each(|(g, phi)| *g += factor * phi);
        ws.grad_phi = grad_phi;
        likelihood
    }

    /// Forward, `derivative(f, y, d_out)`, which writes `d_out`, and backward, for one tile after
    /// the other.
    #[inline]
    pub(super) fn propagate<'a>(
        &self,
        mut tiles: impl LentTiles<'a, Observed<'a>>,
        w: &[f64],
        grad_w: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
        mut derivative: impl FnMut(Tile, Observed, TileMut),
    ) {
        let PosteriorWorkspace { model, out, d_out, .. } = ws;
        self.model.begin(w, model);
        while let Some((x, y)) = tiles.next_tile() {
            let (rows, outputs) = (x.rows(), self.model.n_outputs());
            let mut out = TileMut::at_start(out, rows, outputs);
            let mut d_out = TileMut::at_start(d_out, rows, outputs);
            self.model.forward(w, x, out.reborrow(), model);
            derivative(out.as_tile(), y, d_out.reborrow());
            d_out.clear_padding();
            self.model.backward(w, x, d_out.as_tile(), grad_w, model);
        }
        self.model.finish(grad_w, model);
    }

    /// Adds `factor` times the gradient of the log likelihood of all rows to `grad`, and returns the
    /// log likelihood.
    pub(crate) fn add_full_grad(
        &self,
        factor: f64,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> f64 {
        let n = self.n_shares(self.n_weights);
        if n == 1 {
            return self.add_log_lik_grad(factor, self.tiles(), q, grad, ws);
        }
        self.for_each_share((n, q.len()), Sums::Added, ws, |share, ws, tiles| {
            share.grad.fill(0.0);
            let tiles = self.tiles_in(tiles);
            share.likelihood = self.add_log_lik_grad(factor, tiles, q, &mut share.grad, ws);
        });
        for share in &ws.shares {
            grad.iter_mut().zip(&share.grad).for_each(|(sum, g)| *sum += g);
        }
        ws.shares.iter().map(|share| share.likelihood).sum()
    }

    /// All rows, tile by tile: pairs of x and y.
    pub(crate) fn tiles(&self) -> impl LentTiles<'_, Observed<'_>> {
        self.tiles_in(0..self.x.n_tiles())
    }

    /// The rows of the tiles with these numbers.
    pub(super) fn tiles_in(&self, numbers: Range<usize>) -> impl LentTiles<'_, Observed<'_>> {
        self.x.range(numbers.clone(), self.observed_in(numbers))
    }

    /// The responses of the tiles with these numbers.
    pub(super) fn observed_in(
        &self,
        numbers: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Observed<'_>> {
        self.y.range(numbers).map(|y| self.observed(y))
    }

    /// The number of shares that the rows are cut into where a row takes three multiply-adds for
    /// each of `weights`.
    pub(super) fn n_shares(&self, weights: usize) -> usize {
        n_shares(self.x.n_tiles(), self.x.rows(), weights)
    }

    /// Calls `work` for each of `n` shares of the rows, with a workspace and the numbers of its tiles, on
    /// whatever threads of the pool are idle, or on the ranks of the workspace. The gradient of a share has as
    /// many `numbers`.
    pub(super) fn for_each_share(
        &self,
        (n, numbers): (usize, usize),
        sums: Sums,
        ws: &mut PosteriorWorkspace<M::Workspace>,
        work: impl Fn(&mut Share, &mut PosteriorWorkspace<M::Workspace>, Range<usize>) + Sync,
    ) {
        let tiles = self.x.n_tiles();
        ws.shares.resize_with(n, Share::default);
        ws.shares.iter_mut().for_each(|share| share.grad.resize(numbers, 0.0));
        let (shares, spare) = (&mut ws.shares, &ws.spare);
        let spare = || spare.lock().unwrap_or_else(PoisonError::into_inner);
        let around = cut::around();
        let work = |(k, share): (usize, &mut Share)| {
            let own = spare().pop();
            let mut own = own.unwrap_or_else(|| self.workspace());
            let tiles = k * tiles / n..(k + 1) * tiles / n; //~ share-of-tiles
            cut::within(around.clone(), || work(share, &mut own, tiles));
            spare().push(own);
        };
        if let Some(ranks) = &ws.ranks {
            // One thread: a thread that waits within an evaluation could take up another chain's, which waits for this one.
            let own = ranks::parts_of(&**ranks, ranks.rank(), n);
            let those = shares.iter_mut().enumerate().skip(own.start).take(own.len());
            those.for_each(work);
            let numbers = shares
                .iter_mut()
                .map(|Share { likelihood, grad }| [slice::from_mut(likelihood), &mut grad[..]]);
            let mut parts: Vec<_> = numbers.collect();
            ranks::collect(&**ranks, &mut parts, sums == Sums::NeededByAll);
            return;
        }
        // A thread with other chains pending, or outside a thread pool, evaluates all of its shares
        // itself.
        if rayon_core::current_thread_has_pending_tasks() == Some(false) {
            shares.par_iter_mut().enumerate().for_each(work);
        } else {
            shares.iter_mut().enumerate().for_each(work);
        }
    }

    /// The log likelihood of all rows.
    pub(crate) fn full_log_lik(&self, q: &[f64], ws: &mut PosteriorWorkspace<M::Workspace>) -> f64 {
        let n = self.n_shares(self.n_weights);
        if n == 1 {
            return self.log_lik_of(q, self.tiles(), ws);
        }
        self.for_each_share((n, 0), Sums::Added, ws, |share, ws, tiles| {
            share.likelihood = self.log_lik_of(q, self.tiles_in(tiles), ws);
        });
        ws.shares.iter().map(|share| share.likelihood).sum()
    }

    /// The log likelihood of the rows of `tiles`, pairs of x and y.
    pub(crate) fn log_lik_of<'a>(
        &self,
        q: &[f64],
        tiles: impl LentTiles<'a, Observed<'a>>,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> f64 {
        let (mut likelihood, mut log_lik) = (0.0, [0.0; TILE_ROWS]);
        self.for_each_output(q, tiles, ws, |phi, out, Observed { y, weights }| {
            let rows = &mut log_lik[..out.rows()];
            self.likelihood.log_lik_rows(phi, out, y, rows);
            likelihood += weighted_sum(rows, weights);
        });
        likelihood
    }

    /// Calls `visit(phi, outputs, with)` for all pairs of a tile of x and its companion `with`, in
    /// order.
    pub(crate) fn for_each_output<'a, W>(
        &self,
        q: &[f64],
        mut tiles: impl LentTiles<'a, W>,
        ws: &mut PosteriorWorkspace<M::Workspace>,
        mut visit: impl FnMut(&[f64], TileMut, W),
    ) {
        let (w, phi) = self.split(q);
        let PosteriorWorkspace { model, out, .. } = ws;
        self.model.begin(w, model);
        while let Some((x, with)) = tiles.next_tile() {
            let mut out = TileMut::at_start(out, x.rows(), self.model.n_outputs());
            self.model.forward(w, x, out.reborrow(), model);
            visit(phi, out, with);
        }
    }
}

impl<M: Model, L: Likelihood> Target for Posterior<M, L> {
    type Workspace = PosteriorWorkspace<M::Workspace>;

    fn dim(&self) -> usize {
        self.layout.dim()
    }

    fn workspace(&self) -> Self::Workspace {
        let columns = self.model.n_outputs();
        PosteriorWorkspace {
            model: self.model.workspace(),
            out: TileStorage::for_columns(columns),
            d_out: TileStorage::for_columns(columns),
            grad_phi: vec![0.0; self.n_phi],
            descent: None,
            second: None,
            minibatch: None,
            collapsed: None,
            shares: Vec::new(),
            ranks: None,
            spare: Mutex::default(),
        }
    }

    fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        let prior = self.log_prior(q, ws);
        if prior == f64::NEG_INFINITY {
            return LogDensity::OUTSIDE;
        }
        LogDensity::new(self.full_log_lik(q, ws), prior)
    }

    fn layout(&self) -> Layout {
        self.layout.clone()
    }

    fn draw_start(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        self.draw_prior(rng, q)
    }

    fn data_checksum(&self) -> Option<u32> {
        Some(*self.checksum.get_or_init(|| {
            let mut crc = crc32fast::Hasher::new();
            self.x.add_to(&mut crc);
            self.y.add_to(&mut crc);
            crc.finalize()
        }))
    }

    fn info(&self) -> Option<TargetInfo> {
        Some(TargetInfo {
            model: self.model.description(),
            likelihood: self.likelihood.description(),
            data: self.data_checksum(),
        })
    }
}

impl<M: Model, L: Likelihood> GradTarget for Posterior<M, L> {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        self.log_density_grad_at(1.0, q, grad, ws)
    }
}

impl<M: Model, L: Likelihood> PowerTarget for Posterior<M, L> {
    fn draw_reference(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        self.draw_prior(rng, q)
    }

    fn log_prior(&self, q: &[f64], _: &mut Self::Workspace) -> f64 {
        self.priors.iter().map(|block| block.log_density(q)).sum()
    }
}

impl<M: Model, L: Likelihood> PowerGradTarget for Posterior<M, L> {
    fn log_density_grad_at(
        &self,
        beta: f64,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let prior = self.prior_grad(q, grad);
        if prior == f64::NEG_INFINITY {
            return LogDensity::OUTSIDE;
        }
        let likelihood = self.add_full_grad(beta, q, grad, ws);
        if beta == 0.0 {
            self.prior_grad(q, grad); // alone, also where the likelihood's is not finite
        }
        LogDensity::new(likelihood, prior)
    }

    fn log_prior_grad(&self, q: &[f64], grad: &mut [f64], _: &mut Self::Workspace) -> f64 {
        self.prior_grad(q, grad)
    }
}
