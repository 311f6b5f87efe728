//! Every k-th draw in memory, in single precision.

use ndarray::{Array3, ArrayView2};

use super::{ChainPlan, OneDraw, Recorder, check_every, is_kth};
use crate::Error;
use crate::draws::keep::Kept;
use crate::draws::{Draws, Keep};
use crate::memory;
use crate::message::Advice;
use crate::targets::Target;

/// Records every k-th draw, beginning with the k-th, as f32, which takes 4 bytes per kept
/// parameter, kept draw and chain. Room for all is reserved before the run begins, or an
/// [error](crate::memory) says how much it would have been.
///
/// An f32 has seven digits, and is infinite from 3.4e38 on. A checkpoint holds the whole record,
/// and is written anew each time: for long runs with checkpoints take [`OnDisk`](super::OnDisk).
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::standard(3)?;
/// let sampler = Sampler::new(&target, Mala::default()).keep(Keep::Statistics);
/// let (_, records) = sampler.run_with(&EveryKth { every: 10, keep: Keep::All })?;
/// let draws = StoredDraws::to_draws(&records)?;
/// assert_eq!(draws.values().dim(), (4, 100, 3));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EveryKth {
    /// The number k of draws of which one is recorded, at least 1.
    pub every: usize,
    /// The coordinates of q that are recorded.
    pub keep: Keep,
}

/// The draws of one chain, as f32. From [`EveryKth`].
#[derive(Clone, Debug)]
pub struct StoredDraws {
    kept: Kept,
    values: Vec<f32>,
}

impl StoredDraws {
    /// The number of draws that are stored.
    pub fn n_draws(&self) -> usize {
        self.values.len() / self.kept.dim()
    }

    /// The draws, `[draw, parameter]`.
    pub fn values(&self) -> ArrayView2<'_, f32> {
        ArrayView2::from_shape((self.n_draws(), self.kept.dim()), &self.values)
            .expect("draws are stored one after the other")
    }

    /// The draws of all chains, cut to the draws that all chains have, without statistics. They
    /// take 8 more bytes per parameter and draw.
    ///
    /// # Errors
    /// If the chains have different parameters, or do not fit into memory a second time.
    pub fn to_draws(chains: &[Self]) -> Result<Draws, Error> {
        let Some(first) = chains.first() else {
            return Err(Error::shape("chains of stored draws", 0, "at least 1"));
        };
        let layout = &first.kept.layout;
        if let Some(other) = chains.iter().find(|chain| chain.kept.layout != *layout) {
            let (found, expected) = (other.kept.layout.described(), layout.described());
            return Err(Error::shape("parameters of the chains", found, expected));
        }
        let draws = chains.iter().map(Self::n_draws).min().unwrap_or(0);
        let size = [(chains.len(), "chains"), (draws, "draws"), (layout.dim(), "parameters")];
        memory::check::<f64>("stored draws", &size, "record fewer of them")?;
        let mut values = Vec::with_capacity(chains.len() * draws * layout.dim());
        for chain in chains {
            values.extend(chain.values[..draws * layout.dim()].iter().map(|x| f64::from(*x)));
        }
        let shape = (chains.len(), draws, layout.dim());
        let values = Array3::from_shape_vec(shape, values).expect("all chains were cut alike");
        Draws::new(layout.clone(), values)
    }
}

impl<T: Target> Recorder<T> for EveryKth {
    type Record = StoredDraws;
    type State = Vec<f32>;

    fn name(&self) -> String {
        "EveryKth".into()
    }

    fn begin(
        &self,
        target: &T,
        plan: ChainPlan,
        from: Option<Vec<f32>>,
    ) -> Result<StoredDraws, Error> {
        check_every(self.every)?;
        let kept = self.keep.of(&target.layout())?.check_any()?;
        let draws = plan.draws / self.every;
        let size = [(plan.chains_here, "chains"), (draws, "draws"), (kept.dim(), "parameters")];
        let instead = "record fewer draws or blocks";
        memory::check::<f32>("recorded draws", &size, instead)
            .map_err(|error| error.advise([Advice::in_rust("record all of them `OnDisk`")]))?;
        let mut values = Vec::with_capacity(draws * kept.dim());
        values.extend(from.unwrap_or_default());
        Ok(StoredDraws { kept, values })
    }

    fn record(
        &self,
        record: &mut StoredDraws,
        _: &T,
        draw: OneDraw,
        _: &mut T::Workspace,
    ) -> Result<(), Error> {
        if is_kth(draw.index, self.every) {
            let kept = record.kept.slices(draw.q);
            record.values.extend(kept.flatten().map(|x| *x as f32));
        }
        Ok(())
    }

    fn state(&self, record: &StoredDraws) -> Result<Vec<f32>, Error> {
        Ok(record.values.clone())
    }

    fn config(&self) -> String {
        format!("{self:?}")
    }
}
