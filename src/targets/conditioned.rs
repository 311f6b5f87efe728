//! A target as a function of some of its coordinates, the others held fixed.

use std::sync::Arc;

use super::{GradTarget, LogDensity, Target, TargetInfo};
use crate::Error;
use crate::layout::Layout;
use crate::rng::ChainRng;

/// The density of some named blocks of `base`, given all other coordinates.
///
/// The full vector, with the values that are held fixed, lives in the workspace: the view itself
/// does not hold it, so that it cannot keep stale values of the other blocks by mistake. Its log
/// density is the density of the full vector; as a function of the blocks this differs from the
/// conditional density by a constant.
///
/// Made by [`OnBlocks`](crate::sampler::OnBlocks).
#[derive(Clone, Debug)]
pub struct Conditioned<T> {
    base: T,
    coordinates: Arc<[usize]>,
    layout: Layout,
}

/// Scratch memory of one chain on a [`Conditioned`] target.
#[derive(Debug)]
pub struct ConditionedWorkspace<W> {
    /// The full vector; the values of the other coordinates are to be set before each use.
    pub q: Vec<f64>,
    grad: Vec<f64>,
    /// For a full matrix of second derivatives; empty until one is asked for.
    pub(super) matrix: Vec<f64>,
    base: W,
}

impl<T: Target> Conditioned<T> {
    /// The blocks called `names` (or by patterns such as `w*`), in the order they have in `base`.
    ///
    /// Errors: a name that matches no block, no name at all.
    pub fn new<S: AsRef<str>>(base: T, names: &[S]) -> Result<Self, Error> {
        let full = base.layout();
        let (mut coordinates, mut layout) = (Vec::new(), Layout::new());
        for name in names.iter().map(AsRef::as_ref) {
            if !full.blocks().iter().any(|block| block.matches(name)) {
                return Err(Error::UnknownName {
                    what: "parameter block".into(),
                    name: name.into(),
                    known: full.block_names(),
                });
            }
        }
        for block in full.blocks() {
            if names.iter().any(|name| block.matches(name.as_ref())) {
                coordinates.extend(block.range.clone());
                layout = layout.with_block(block);
            }
        }
        if coordinates.is_empty() {
            return Err(Error::argument("blocks", "empty", "at least one block name"));
        }
        Ok(Self { base, coordinates: coordinates.into(), layout })
    }

    /// The full target.
    pub fn base(&self) -> &T {
        &self.base
    }

    /// The coordinates of the full vector that this target is a function of.
    pub fn coordinates(&self) -> &[usize] {
        &self.coordinates
    }

    /// Writes the blocks of the full vector `from` into `to`.
    pub fn gather(&self, from: &[f64], to: &mut [f64]) {
        for (to, c) in to.iter_mut().zip(&*self.coordinates) {
            *to = from[*c];
        }
    }

    /// Writes the blocks `from` into the full vector `to`.
    pub fn scatter(&self, from: &[f64], to: &mut [f64]) {
        for (from, c) in from.iter().zip(&*self.coordinates) {
            to[*c] = *from;
        }
    }

    /// Writes the blocks of the vector that [`full`](Self::full) gave as scratch into `to`.
    pub(crate) fn gather_scratch(&self, ws: &ConditionedWorkspace<T::Workspace>, to: &mut [f64]) {
        self.gather(&ws.grad, to);
    }

    /// Puts the blocks `q` into the workspace's full vector; returns it with a vector as long for
    /// scratch, and the base's workspace.
    pub(crate) fn full<'w>(
        &self,
        q: &[f64],
        ws: &'w mut ConditionedWorkspace<T::Workspace>,
    ) -> (&'w [f64], &'w mut [f64], &'w mut T::Workspace) {
        self.scatter(q, &mut ws.q);
        (&ws.q, &mut ws.grad, &mut ws.base)
    }
}

impl<T: Target> Target for Conditioned<T> {
    type Workspace = ConditionedWorkspace<T::Workspace>;

    fn dim(&self) -> usize {
        self.coordinates.len()
    }

    fn workspace(&self) -> Self::Workspace {
        let zeros = vec![0.0; self.base.dim()];
        ConditionedWorkspace {
            q: zeros.clone(),
            grad: zeros,
            matrix: Vec::new(),
            base: self.base.workspace(),
        }
    }

    fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        let (q, _, ws) = self.full(q, ws);
        self.base.log_density(q, ws)
    }

    fn layout(&self) -> Layout {
        self.layout.clone()
    }

    fn draw_start(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        let mut full = vec![0.0; self.base.dim()];
        self.base.draw_start(rng, &mut full)?;
        self.gather(&full, q);
        Ok(())
    }

    fn data_checksum(&self) -> Option<u32> {
        self.base.data_checksum()
    }

    fn approximation(&self) -> Option<String> {
        self.base.approximation()
    }

    fn info(&self) -> Option<TargetInfo> {
        self.base.info()
    }
}

impl<T: GradTarget> GradTarget for Conditioned<T> {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let (q, full_grad, base) = self.full(q, ws);
        let log_density = self.base.log_density_grad(q, full_grad, base);
        self.gather_scratch(ws, grad);
        log_density
    }
}
