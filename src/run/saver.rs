//! The checkpoints of a run: the times at which they are written, their contents, and how a run
//! goes on from one.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::chain::{Chain, ChainData, Place, least_done};
use super::ending::Sizes;
use crate::Error;
use crate::draws::checkpoint::{Every, Fingerprint, Store, Stored, agree};

/// The settings of a run's checkpoints: the path, the times, and the identity of the run.
pub(super) struct Checkpoint {
    pub path: PathBuf,
    pub every: Every,
    pub run: Fingerprint,
}

/// The part of a checkpoint besides the draws that all chains have made and the states of kernels
/// and records, which follow it.
#[derive(Serialize, Deserialize)]
struct RunState<'a> {
    starts: Cow<'a, [Vec<f64>]>,
    frozen: bool,
    seconds: [f64; 2],
    chains: Vec<ChainState<'a>>,
}

#[derive(Serialize, Deserialize)]
struct ChainState<'a> {
    at: Cow<'a, Place>,
    /// Values and statistics of draws that other chains have not made yet.
    ahead: [Cow<'a, [f64]>; 2],
}

impl RunState<'_> {
    /// Returns an error if the sizes differ from the sizes of `chains`, which have `rows` draws on
    /// disk together.
    fn check(&self, chains: &[Box<dyn Chain + '_>], rows: usize) -> Result<(), String> {
        let dim = chains[0].data().at.point.q().len();
        let fits = |(data, state): (&ChainData, &ChainState)| {
            let ChainData { kept, n_stats, .. } = data;
            let [values, stats] = [0, 1].map(|i| state.ahead[i].len());
            let ahead = stats / n_stats;
            state.at.point.q().len() == dim
                && rows / chains.len() + ahead == state.at.done[1]
                && values == ahead * kept
                && stats == ahead * n_stats
        };
        let is_sound = self.chains.len() == chains.len()
            && self.starts.len() == chains.len()
            && rows.is_multiple_of(chains.len())
            && self.starts.iter().all(|start| start.len() == dim)
            && chains.iter().map(|chain| chain.data()).zip(&self.chains).all(fits);
        if is_sound { Ok(()) } else { Err("its sizes do not fit this run".into()) }
    }
}

/// Begins the chains of a run.
type Begin<'b> = &'b dyn Fn(&mut [Box<dyn Chain + '_>]) -> Result<(), Error>;

/// Writes the checkpoints of a run.
pub(super) struct Saver {
    store: Store,
    every: Every,
    starts: Vec<Vec<f64>>,
    /// Draws or warm-up iterations of each chain since the last checkpoint, and when that was.
    since: usize,
    last: Instant,
    /// The reason why the last checkpoint failed.
    pub error: Option<Error>,
}

impl Saver {
    /// Brings the chains to where the checkpoint is; without one, begins it. `begin` is called in either case.
    pub fn open(
        checkpoint: Checkpoint,
        sizes: &Sizes,
        begin: Begin,
        chains: &mut [Box<dyn Chain + '_>],
        frozen: &mut bool,
        seconds: &mut [f64; 2],
    ) -> Result<Self, Error> {
        let Checkpoint { path, every, run } = checkpoint;
        every.check()?;
        let ChainData { kept, n_stats, .. } = *chains[0].data();
        let (n, draws) = (chains.len(), sizes.draws);
        let mut row_index = 0;
        let (store, stored) = Store::open::<RunState>(&path, run, kept + n_stats, |row| {
            // More draws than were asked for take no memory.
            if row_index / n < draws {
                let data = chains[row_index % n].data_mut();
                data.values.extend_from_slice(&row[..kept]);
                data.stats.extend_from_slice(&row[kept..]);
            }
            row_index += 1;
        })?;
        let starts = chains.iter().map(|chain| chain.data().at.point.q().to_vec()).collect();
        let (since, last) = (0, Instant::now());
        let mut saver = Self { store, every, starts, since, last, error: None };
        let Some(Stored { state, kernels }) = stored else {
            begin(chains)?;
            // The time that an evaluation takes says whether the first step can be cut.
            chains.iter_mut().for_each(|chain| chain.evaluate());
            saver.save(chains, *frozen, *seconds);
            return saver.error.take().map_or(Ok(saver), Err);
        };
        let unusable = |problem| Error::checkpoint(&path, problem);
        state.check(chains, saver.store.rows()).map_err(unusable)?;
        (*frozen, *seconds) = (state.frozen, state.seconds);
        let differs = |c, what: &str, there: f64, here: f64| {
            Err(unusable(format!(
                "it belongs to another run: {what} of chain {c} is {there} there and {here} here"
            )))
        };
        let mut kernels = &kernels[..];
        for (chain, state) in chains.iter_mut().zip(state.chains) {
            chain.read(&mut kernels).map_err(unusable)?;
            let data = chain.data_mut();
            let c = data.index;
            let [values, stats] = state.ahead;
            data.values.extend_from_slice(&values);
            data.stats.extend_from_slice(&stats);
            data.at = state.at.into_owned();
            let there = data.at.log_density;
            chain.evaluate();
            let here = chain.data().at.log_density;
            for (what, there, here) in [
                ("log likelihood at the position", there.likelihood, here.likelihood),
                ("log prior at the position", there.prior, here.prior),
            ] {
                if !agree(there, here) {
                    return differs(c, what, there, here);
                }
            }
        }
        if !kernels.is_empty() {
            return Err(unusable("its content does not fit this run".into()));
        }
        let numbers = chains.iter().map(|chain| chain.data().index);
        for (c, (there, here)) in numbers.zip(state.starts.iter().zip(&saver.starts)) {
            for (i, (there, here)) in there.iter().zip(here).enumerate() {
                if !agree(*there, *here) {
                    let what = format!("coordinate {i} of the starting point");
                    return differs(c, &what, *there, *here);
                }
            }
        }
        let is_finished =
            least_done(chains, 0) >= sizes.warmup && least_done(chains, 1) >= sizes.draws;
        if !is_finished {
            saver.store.check_writable()?;
        }
        begin(chains)?;
        Ok(saver)
    }

    /// Draws or iterations until the next checkpoint.
    pub fn until_due(&self) -> usize {
        match self.every {
            Every::Draws(n) => n - self.since,
            Every::Seconds(_) => usize::MAX,
        }
    }

    pub fn is_due(&mut self, advanced: usize) -> bool {
        self.since += advanced;
        match self.every {
            Every::Draws(n) => self.since >= n,
            Every::Seconds(s) => self.last.elapsed().as_secs_f64() >= s,
        }
    }

    /// Whether the run has something that is not on disk.
    pub fn is_behind(&self) -> bool {
        self.since > 0 || self.error.is_some()
    }

    /// Whether checkpoints have no place any more.
    pub fn has_no_folder(&self) -> bool {
        self.error.is_some() && self.store.has_no_folder()
    }

    pub fn save(&mut self, chains: &[Box<dyn Chain + '_>], frozen: bool, seconds: [f64; 2]) {
        self.error = self.try_save(chains, frozen, seconds).err();
        (self.since, self.last) = (0, Instant::now());
    }

    fn try_save(
        &mut self,
        chains: &[Box<dyn Chain + '_>],
        frozen: bool,
        seconds: [f64; 2],
    ) -> Result<(), Error> {
        let common = least_done(chains, 1);
        let mut kernels = Vec::new();
        chains.iter().try_for_each(|chain| chain.write(&mut kernels))?;
        let states = chains.iter().map(|chain| ChainState {
            at: Cow::Borrowed(&chain.data().at),
            ahead: chain.data().rows_from(common).map(Cow::Borrowed),
        });
        let state = RunState {
            starts: Cow::Borrowed(&self.starts),
            frozen,
            seconds,
            chains: states.collect(),
        };
        let stored = self.store.rows() / chains.len();
        let rows = (stored..common).flat_map(|d| chains.iter().flat_map(move |c| c.data().row(d)));
        self.store.write(&state, &kernels, rows)
    }
}
