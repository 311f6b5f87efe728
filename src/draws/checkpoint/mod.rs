//! Runs that survive: checkpoints on disk, from which a run goes on exactly.
//!
//! ```
//! use bnn_mcmc::draws::checkpoint::Every;
//! use bnn_mcmc::prelude::*;
//! use bnn_mcmc::testing::GaussianTarget;
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("run.checkpoint");
//! let target = GaussianTarget::standard(3)?;
//! let run = |draws| {
//!     Sampler::new(&target, Mala::default())
//!         .draws(draws)
//!         .seed(1)
//!         .checkpoint(&path, Every::Seconds(30.0))
//!         .run()
//! };
//! run(200)?; // killed or stopped, the same call goes on where it was
//! let longer = run(500)?; // finished, it goes on to more draws
//! let at_once = Sampler::new(&target, Mala::default()).draws(500).seed(1).run()?;
//! assert_eq!(longer.values(), at_once.values());
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```
//!
//! # What is promised
//! - A process that is killed at any moment, in warm-up too, loses at most the interval [`Every`].
//!   A new checkpoint is on the disk before the previous one is given up.
//! - A resumed run and an uninterrupted one have the same draws and statistics, bit for bit
//!   (on one kind of processor, as everywhere in this crate). A [`StopHandle`] loses nothing: a
//!   last checkpoint is written.
//! - **The file decides whether a run is resumed**: without it the run begins anew, with it the run
//!   goes on. A forgotten file cannot slip in draws of another run. Everything that determines the
//!   draws is compared, and an error names the differences: version of this crate, seed, chains,
//!   warm-up, thinning, name and configuration of the algorithm, parameters and which of them are
//!   kept, names and configurations of recorders, the data by their
//!   [checksum](crate::targets::Target::data_checksum), in which the order of rows counts, starting
//!   points, and the log density at every chain's position, which notices other models and other
//!   priors. (The last two to a relative 1e-10, so that a run may move to another processor.) To
//!   begin anew, delete the files. Code of your own that changes without changing any of these is
//!   not noticed.
//! - `draws` may differ from run to run, since a chain's draws do not depend on how many follow:
//!   more of them extend a finished run, fewer return the first ones and leave the files alone.
//!   `threads` may differ as well.
//! - A damaged, truncated or foreign file gives [`Error::Checkpoint`] and is left unchanged.
//! - A finished run can be read where nothing can be written: a folder that is read-only, files of
//!   somebody else. More draws are then an error, before any work.
//! - Two processes cannot write at the same time: the second waits for half a second and is then
//!   refused. If the first ends meanwhile, the second goes on from the files that the first has
//!   written. Files that are moved away or deleted during a run are not written any more: later
//!   checkpoints of this run fail, and another run can begin in their place.
//! - A checkpoint that cannot be written (the disk is full) ends nothing: the run goes on, tries
//!   again after each interval and at the end, and returns all draws. Meanwhile
//!   [`Progress::checkpoint_failed`] is set, and [`RunInfo::checkpoint_error`] says at the end
//!   what is missing on disk. Only a first checkpoint that fails, before any work, is an error.
//! - Where the folder of the files was removed or renamed, the run ends at its next checkpoint, as if it had been stopped,
//!   and returns the draws so far: nobody would find a later checkpoint.
//!
//! [`StopHandle`]: crate::sampler::StopHandle
//! [`Progress::checkpoint_failed`]: crate::sampler::Progress::checkpoint_failed
//! [`RunInfo::checkpoint_error`]: crate::draws::RunInfo::checkpoint_error
//!
//! # What is stored
//! Two files, to be kept together; where `path` is a symbolic link, they are with the file that it
//! points to, and have its name. `<path>.draws` holds the draws that all chains have made: an array
//! `[draw, chain, kept parameter then statistic]` of little-endian f64 without a header, to which
//! each checkpoint appends. `<path>` holds all the rest in CBOR (floats keep their bits, NaN too),
//! one item after the other: the identity of the run; length and CRC-32 of the draws, with the
//! random stream of each chain, its position with log density and gradient, counters, and draws
//! that other chains have not made yet; then for each chain the state of its kernel, and the states
//! of [recorders](crate::draws::recorder). It begins with a magic number, the format's version, its
//! length and its CRC-32.
//!
//! A checkpoint appends new draws and flushes them to the disk, writes the new head to
//! `<path>.tmp`, flushes it, and renames it over `<path>`. If the process is killed in between, the
//! old head remains, which covers the old part of the draws only. A lock on `<path>.draws`, taken
//! before anything is read, keeps a second process away. At last the folder is flushed; file
//! systems that refuse this for folders are trusted to do it by themselves.
//!
//! # Cost
//! Every draw is written once, as 8 (kept parameters + statistics) bytes. Each checkpoint adds the
//! head, two flushes to the disk, and one log density per chain. Chains wait meanwhile. Measured,
//! the head has 36 bytes per parameter and chain; in warm-up, while a diagonal preconditioner is
//! learnt, 54 (RWM, MALA) or 72 (HMC, NUTS). A dense
//! preconditioner has 9 per pair of parameters, in warm-up 18. Numbers of the algorithm's
//! configuration, such as masses, add nothing if there are many: the head has their checksum.
//!
//! Measured on a virtual machine with a shared disk: 6 to 20 ms per checkpoint, and 300 to 850 MB/s
//! for draws. So a million draws of 100 parameters, 0.9 GB per chain, take 1 to 3 s in all, and an
//! [`Every`] of 30 seconds adds less than 0.1 % for the checkpoints themselves. A resume reads
//! draws back at 1 GB/s. The checksum of a posterior's data is computed once, when the checkpoint
//! is opened, in one pass over x and y, at 2.6 GB/s.

mod fingerprint;
mod head;
mod store;

pub(crate) use fingerprint::{Fingerprint, agree};
pub(crate) use store::{Store, Stored, is_at, sync_folder};

use crate::Error;
use crate::message::{Setting, number};

/// The times at which a running [`Sampler`](crate::sampler::Sampler) writes a checkpoint. One more
/// is written at the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Every {
    /// Each time this many seconds, at least 0, have passed since the last checkpoint: at the next
    /// moment at which all chains are equally far, which comes every 20 ms; where draws are slow,
    /// after eight of them or half a second, or after each draw that takes longer.
    Seconds(f64),
    /// After this many draws, at least 1, or iterations of warm-up, of each chain.
    Draws(usize),
}

impl Default for Every {
    /// 30 seconds.
    fn default() -> Self {
        Self::Seconds(30.0)
    }
}

impl Every {
    pub(crate) fn check(self) -> Result<(), Error> {
        match self {
            Self::Draws(0) => Err(Error::argument("every", "0 draws", "at least 1 draw")),
            Self::Seconds(s) if !(s >= 0.0 && s.is_finite()) => {
                let found = format!("{} seconds", number(s));
                Err(Error::argument("every", found, "finite and at least 0"))
            }
            _ => Ok(()),
        }
        .map_err(|error| error.of(Setting::CheckpointEvery))
    }
}
