//! The loop: chains, warm-up, random streams, storage, progress.
//!
//! Chain c of a run with seed s draws from the stream (s, c) and from nothing else, so results are
//! the same bits for any number of threads. Chains advance together, in rounds of about 20 ms
//! (where iterations are slow, of eight or of half a second): between two rounds progress is
//! reported, and [checkpoints](crate::draws::checkpoint) are written.
//!
//! A [`Sampler`] builds its chains for one target, kernel and recorder. From there on the loop knows
//! them as [`Chain`](chain::Chain)s only, so that it is compiled once and not anew for every
//! combination.

mod chain;
mod ending;
mod init;
mod progress;
mod rounds;
mod sampler;
mod saver;

pub use init::Init;
#[cfg(feature = "progress")]
pub use progress::progress_bar;
pub use progress::{ChainProgress, Phase, Progress, StopHandle, progress_log, progress_report};
pub use sampler::Sampler;
pub(crate) use sampler::{check_chains, check_layout, check_only};
