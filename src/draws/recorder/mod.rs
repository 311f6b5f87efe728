//! Recorders: what is kept of a run besides, or instead of, its draws.
//!
//! A [`Recorder`] sees every draw of every chain, once, and keeps a record of its choice.
//! [`Sampler::run_with`](crate::sampler::Sampler::run_with) returns one record per chain;
//! [`Sampler::keep`](crate::sampler::Sampler::keep) says how much of q is to be in the draws as
//! well.
//!
//! ```
//! # #[cfg(feature = "datasets")] {
//! use bnn_mcmc::data::bundled;
//! use bnn_mcmc::prelude::*;
//!
//! let (train, test) = bundled::iris().stratified_split(0.3, 1)?;
//! let network = Mlp::new(&[4, 10, 3], Activation::Tanh)?;
//! let priors = Priors::all(Normal::new(0.0, 1.0)?);
//! let posterior = Posterior::new(network, Categorical, &train, priors)?;
//!
//! // No weights are stored: their moments, and what every draw says about the test rows.
//! let streamed = StreamedUncertainty::new(&posterior, test.x().view())?;
//! let (draws, records) = Sampler::new(&posterior, Hmc::default())
//!     .warmup(100)
//!     .draws(100)
//!     .keep(Keep::Statistics)
//!     .run_with(&(Moments, &streamed))?;
//! let (moments, chains): (Vec<_>, Vec<_>) = records.into_iter().unzip();
//!
//! assert_eq!(draws.layout().dim(), 0);
//! println!("{}", draws.density_summary()?);
//! println!("{}", streamed.uncertainty(&chains)?);
//! println!("{:?}", RunningMoments::merged(&moments)?.mean());
//! # }
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```
//!
//! # Memory
//! Per chain; d parameters (or the parameters of the chosen blocks), S draws, C classes.
//!
//! | what is kept | memory in bytes | for |
//! | --- | --- | --- |
//! | [`Keep::All`](super::Keep) | 8 d S | small models |
//! | [`Keep::Blocks`](super::Keep) | 8 d S of these blocks | a noise variance, a last layer |
//! | [`Keep::Statistics`](super::Keep) | 8 x 6 S, and a kernel's own | in any case |
//! | [`Moments`] | 16 d | posterior means and standard deviations |
//! | [`EveryKth`] | 4 d S / k | predictions later, at half the memory |
//! | [`OnDisk`] | 4 d; 4 (d + 1) S / k on disk | predictions later, of any size |
//! | [`StreamedUncertainty`](crate::predict::StreamedUncertainty) | 24 C + 8 per input; 8 C S more per chosen row | classes at known inputs |
//! | [`StreamedMoments`](crate::predict::StreamedMoments) | 40 per input and output | a real response at known inputs |
//!
//! All of it is reserved when the run begins, unless that exceeds the [limit](crate::memory) on
//! memory for all chains together: afterwards no built-in recorder allocates. At the end the chains
//! of the [`Draws`](super::Draws), and their statistics, are appended to the first chain's, and
//! each is freed in turn. Room for that is reserved in the beginning, too: for 4 chains 1.75 times
//! the size of the draws, of which at most 1.25 times are ever written.
//! [`Draws::summary`](super::Draws::summary) takes 88 to 140 bytes per draw, as long as one
//! parameter is summarised, for each thread. Streamed predictions add scratch memory for one tile
//! of rows, and share the inputs, which take 8 bytes per number once.
//!
//! The memory of the loop itself does not depend on the number of draws. In vectors of d numbers of
//! 8 bytes, per chain:
//!
//! | | vectors |
//! | --- | --- |
//! | position and its gradient | 2 |
//! | the candidate for a starting point, before the run | 1 |
//! | before a step that [can be cut](crate::sampler::StopHandle): a copy of position and gradient | 2 |
//! | divergent positions, if there are any | 1, more while all have 10^6 numbers or fewer, 100 at most |
//! | with checkpoints: the starting point | 1 |
//! | while one is written: a copy of position and gradient | 2 |
//! | and all of these, encoded, in a buffer that grows by doubling | 3.4, for a moment up to 8 |
//!
//! A checkpoint copies and encodes the kernel's state and the records in the same way, and the kernel's state is
//! copied before a step that can be cut. The most that a run of one chain holds at a time, loop and kernel,
//! measured with the default preconditioner and a warm-up, without checkpoints and without what the target
//! needs, of steps that cannot be cut (`tests/memory/runs.rs`): Langevin integrators on full gradients 6
//! vectors, random walk 11, MALA 14, HMC 15, NUTS 26 and 5 more for each doubling that `max_depth` allows. A dense
//! preconditioner takes d vectors: not for networks.
//!
//! # Streams of draws
//! Records do not depend on the number of threads. Chains of a run that was stopped may differ by
//! some draws: the [`Draws`](super::Draws) are cut to the draws that all have, **records hold all
//! draws of their chain**. The same is true of a checkpoint with more draws than the resumed run
//! asks for.
//!
//! If a recorder fails (the disk is full), the run ends at that draw as if it had been asked to
//! stop: the draws come back with [`RunInfo::recorder_error`](super::RunInfo::recorder_error). No
//! checkpoint is written any more: the last one agrees with the records, and the run can go on from
//! there when the reason is gone, without a gap.
//!
//! # Your own recorder
//! Record and state may be the same type. This one keeps the largest |q| of a chain:
//!
//! ```
//! use bnn_mcmc::draws::recorder::{ChainPlan, OneDraw, Recorder};
//! use bnn_mcmc::prelude::*;
//! use bnn_mcmc::testing::GaussianTarget;
//!
//! struct Largest;
//!
//! impl<T: Target> Recorder<T> for Largest {
//!     type Record = f64;
//!     type State = f64;
//!     fn name(&self) -> String {
//!         "Largest".into()
//!     }
//!     fn begin(&self, _: &T, _: ChainPlan, from: Option<f64>) -> Result<f64, Error> {
//!         Ok(from.unwrap_or(0.0))
//!     }
//!     fn record(
//!         &self,
//!         largest: &mut f64,
//!         _: &T,
//!         draw: OneDraw,
//!         _: &mut T::Workspace,
//!     ) -> Result<(), Error> {
//!         *largest = draw.q.iter().fold(*largest, |a, q| a.max(q.abs()));
//!         Ok(())
//!     }
//!     fn state(&self, largest: &f64) -> Result<f64, Error> {
//!         Ok(*largest)
//!     }
//! }
//!
//! let target = GaussianTarget::standard(3)?;
//! let (draws, largest) = Sampler::new(&target, Mala::default()).run_with(&Largest)?;
//! let all = draws.values().iter().fold(0.0f64, |a, q| a.max(q.abs()));
//! assert_eq!(largest.into_iter().fold(0.0, f64::max), all);
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

mod every_kth;
mod moments;
mod on_disk;

pub use every_kth::{EveryKth, StoredDraws};
pub use moments::{Moments, RunningMoments};
pub use on_disk::{ChainFile, FileRecord, OnDisk};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::targets::{LogDensity, Target};

/// One draw, as a recorder sees it.
#[derive(Clone, Copy, Debug)]
pub struct OneDraw<'a> {
    /// The number of the draw within its chain, counted from 0.
    pub index: usize,
    /// The position q, with all coordinates.
    pub q: &'a [f64],
    /// The log density at the position.
    pub log_density: LogDensity,
}

/// The plan of a chain: its place in the run, and its number of draws.
#[derive(Clone, Copy, Debug)]
pub struct ChainPlan {
    /// The number of the chain, counted from 0.
    pub chain: usize,
    /// The number of chains of the whole run.
    pub chains: usize,
    /// The number of chains that this process runs: all of them, unless
    /// [`Sampler::only_chains`](crate::sampler::Sampler::only_chains) chooses some. The memory of
    /// recorders is counted for these chains.
    pub chains_here: usize,
    /// Draws of each chain, if nothing ends the run early.
    pub draws: usize,
    /// The number that tells records of this run from records of other runs: the CRC-32 of seed,
    /// chains, warm-up, thinning, the [name](crate::sampler::Algorithm::name) of the algorithm and
    /// the names and shapes of the parameters. It is the same for all chains, and when the run is
    /// repeated or goes on, even to more draws. The configuration of the algorithm and the data are
    /// not part of it, which only a [checkpoint](crate::draws::checkpoint) knows; and one in 4e9
    /// other runs has the same number.
    pub run: u32,
}

/// Sees every draw of every chain and keeps a record of its choice. See the [module](self).
///
/// A tuple of two to four recorders is a recorder, and so is a reference to one.
pub trait Recorder<T: Target>: Sync {
    /// The record of one chain.
    type Record: Send;

    /// All that a record depends on, for checkpoints.
    type State: Serialize + DeserializeOwned + Send;

    /// The name of the recorder, which checkpoints hold: a checkpoint with another name is refused.
    /// Keep the name when the type moves.
    fn name(&self) -> String;

    /// The record of one chain before its first draw, or `from` the result of
    /// [`state`](Self::state) in the checkpoint that the run goes on from. Checks the configuration
    /// and allocates all memory.
    fn begin(
        &self,
        target: &T,
        plan: ChainPlan,
        from: Option<Self::State>,
    ) -> Result<Self::Record, Error>;

    /// Takes in the next draw. `ws` is scratch memory. An error ends the run.
    fn record(
        &self,
        record: &mut Self::Record,
        target: &T,
        draw: OneDraw,
        ws: &mut T::Workspace,
    ) -> Result<(), Error>;

    /// The state from which [`begin`](Self::begin) goes on exactly. Called before a checkpoint is
    /// written: a record on disk is to be safe there when this returns. An error makes that
    /// checkpoint fail, and the run goes on.
    fn state(&self, record: &Self::Record) -> Result<Self::State, Error>;

    /// The configuration that records depend on besides the run: a checkpoint with another one is
    /// refused.
    fn config(&self) -> String {
        String::new()
    }
}

/// The recorder that records nothing, of runs without one.
impl<T: Target> Recorder<T> for () {
    type Record = ();
    type State = ();

    fn name(&self) -> String {
        "()".into()
    }

    fn begin(&self, _: &T, _: ChainPlan, _: Option<()>) -> Result<(), Error> {
        Ok(())
    }

    fn record(&self, _: &mut (), _: &T, _: OneDraw, _: &mut T::Workspace) -> Result<(), Error> {
        Ok(())
    }

    fn state(&self, _: &()) -> Result<(), Error> {
        Ok(())
    }
}

impl<T: Target, R: Recorder<T>> Recorder<T> for &R {
    type Record = R::Record;
    type State = R::State;

    forward! { self => (**self);
        fn name() -> String;
    }

    forward! { self => (**self);
        fn begin(
            target: &T, plan: ChainPlan, from: Option<Self::State>,
        ) -> Result<Self::Record, Error>;
    }

    forward! { self => (**self);
        fn record(
            record: &mut Self::Record, target: &T, draw: OneDraw, ws: &mut T::Workspace,
        ) -> Result<(), Error>;
    }

    forward! { self => (**self);
        fn state(record: &Self::Record) -> Result<Self::State, Error>;
    }

    forward! { self => (**self);
        fn config() -> String;
    }
}

macro_rules! tuple {
    ($($R:ident $i:tt),+) => {
        /// All of them, in order.
        impl<T: Target, $($R: Recorder<T>),+> Recorder<T> for ($($R,)+) {
            type Record = ($($R::Record,)+);
            type State = ($($R::State,)+);

            fn name(&self) -> String {
                format!("({})", [$(self.$i.name()),+].join(", "))
            }

            fn begin(
                &self,
                target: &T,
                plan: ChainPlan,
                from: Option<Self::State>,
            ) -> Result<Self::Record, Error> {
                let mut each = ($(None::<$R::State>,)+);
                if let Some(from) = from {
                    $(each.$i = Some(from.$i);)+
                }
                Ok(($(self.$i.begin(target, plan, each.$i)?,)+))
            }

            fn record(
                &self,
                record: &mut Self::Record,
                target: &T,
                draw: OneDraw,
                ws: &mut T::Workspace,
            ) -> Result<(), Error> {
                $(self.$i.record(&mut record.$i, target, draw, ws)?;)+
                Ok(())
            }

            fn state(&self, record: &Self::Record) -> Result<Self::State, Error> {
                Ok(($(self.$i.state(&record.$i)?,)+))
            }

            fn config(&self) -> String {
                [$(self.$i.config()),+].join("; ")
            }
        }
    };
}

tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);

fn check_every(every: usize) -> Result<(), Error> {
    match every {
        0 => Err(Error::argument("every", 0, "at least 1")),
        _ => Ok(()),
    }
}

/// Whether draw `index` is one of every k, the k-th of which is the first.
fn is_kth(index: usize, k: usize) -> bool {
    (index + 1).is_multiple_of(k)
}
