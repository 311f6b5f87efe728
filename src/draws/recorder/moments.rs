//! The running mean and variance of q.

use serde::{Deserialize, Serialize};

use super::{ChainPlan, OneDraw, Recorder};
use crate::Error;
use crate::adapt::Variance;
use crate::memory;
use crate::targets::Target;

/// Records mean and variance of every coordinate of q, over all draws of a chain, by Welford's
/// [formulas](crate::adapt::Variance). Memory: 16 bytes per parameter and chain.
///
/// Weights of a network can be permuted without changing its function: their mean is an average
/// over the arrangements that the chain has visited.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::standard(3)?;
/// let sampler = Sampler::new(&target, Nuts::default()).keep(Keep::Statistics);
/// let (_, chains) = sampler.run_with(&Moments)?;
/// let all = RunningMoments::merged(&chains)?;
/// assert_eq!(all.draws(), 4_000);
/// assert!(all.variance().iter().all(|v| (v - 1.0).abs() < 0.2));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments;

/// The number of draws so far, their mean and their variance. From [`Moments`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunningMoments(Variance);

impl RunningMoments {
    /// No draws yet, of `dim` coordinates.
    ///
    /// # Errors
    /// If mean and variance of so many do not fit into memory.
    pub fn new(dim: usize) -> Result<Self, Error> {
        let size = [(2, "vectors"), (dim, "numbers")];
        memory::check::<f64>("dim", &size, "take fewer coordinates")?;
        Ok(Self(Variance::new(dim)))
    }

    /// Adds one draw, as long as the others.
    ///
    /// # Errors
    /// If `q` is longer or shorter than the moments.
    pub fn add(&mut self, q: &[f64]) -> Result<(), Error> {
        if q.len() != self.dim() {
            return Err(Error::shape("length of q", q.len(), self.dim()));
        }
        self.0.update(q);
        Ok(())
    }

    /// Adds all draws of `other`, as of another chain.
    ///
    /// # Errors
    /// If `other` has another number of coordinates.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        if other.dim() != self.dim() {
            return Err(Error::shape("coordinates to merge", other.dim(), self.dim()));
        }
        self.0.merge(&other.0);
        Ok(())
    }

    /// The moments of all draws of all chains.
    ///
    /// # Errors
    /// If there is no chain, or they have different numbers of coordinates.
    pub fn merged(chains: &[Self]) -> Result<Self, Error> {
        let Some((first, others)) = chains.split_first() else {
            return Err(Error::shape("chains to merge", 0, "at least 1"));
        };
        let mut all = first.clone();
        others.iter().try_for_each(|chain| all.merge(chain))?;
        Ok(all)
    }

    /// The number of coordinates.
    pub fn dim(&self) -> usize {
        self.0.mean().len()
    }

    /// The number of draws.
    pub fn draws(&self) -> u64 {
        self.0.count() as u64
    }

    /// The mean of each coordinate; 0 without draws.
    pub fn mean(&self) -> &[f64] {
        self.0.mean()
    }

    /// The sample variance (divisor n - 1) of each coordinate; NaN below two draws.
    pub fn variance(&self) -> Vec<f64> {
        let mut variance = vec![f64::NAN; self.dim()];
        if self.draws() > 1 {
            self.0.variance(&mut variance);
        }
        variance
    }
}

impl<T: Target> Recorder<T> for Moments {
    type Record = RunningMoments;
    type State = RunningMoments;

    fn name(&self) -> String {
        "Moments".into()
    }

    fn begin(
        &self,
        target: &T,
        plan: ChainPlan,
        from: Option<RunningMoments>,
    ) -> Result<RunningMoments, Error> {
        let size = [(plan.chains_here, "chains"), (2, "vectors"), (target.dim(), "parameters")];
        memory::check::<f64>("recorded moments", &size, "take fewer chains")?;
        from.map_or_else(|| RunningMoments::new(target.dim()), Ok)
    }

    fn record(
        &self,
        record: &mut RunningMoments,
        _: &T,
        draw: OneDraw,
        _: &mut T::Workspace,
    ) -> Result<(), Error> {
        record.add(draw.q)
    }

    fn state(&self, record: &RunningMoments) -> Result<RunningMoments, Error> {
        Ok(record.clone())
    }
}
