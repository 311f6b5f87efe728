//! The [ranks](bnn_mcmc::ranks) of MPI: rows of a posterior, rungs of a ladder, and chains, on many machines.
//!
//! ```no_run
//! use bnn_mcmc::prelude::*;
//! use bnn_mcmc_mpi::World;
//! # use bnn_mcmc::ndarray::array;
//!
//! # fn main() -> Result<(), bnn_mcmc::Error> {
//! World::run(|world| { // on every rank
//! # let data = Dataset::regression(array![[0.0], [1.0]], array![1.0, 2.0])?;
//! # let priors = Priors::all(Normal::new(0.0, 1.0)?);
//! # let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
//! // A gradient of many rows, of which each rank has some: rank 0 samples.
//! let draws = posterior.on_ranks(&world.ranks(), |target| Sampler::new(target, Nuts::default()).run());
//! if let Some(draws) = draws {
//!     println!("{}", draws?.verdict()?);
//! }
//! # Ok::<(), bnn_mcmc::Error>(())
//! })
//! # }
//! ```
//!
//! `mpirun -n 4 program`, or `srun program`: one rank for each core, since a rank takes one thread for its rows. Programs
//! run without `mpirun`, too, as one rank.
//!
//! | | what travels | from when on it pays |
//! | --- | --- | --- |
//! | [rows](bnn_mcmc::posterior::Posterior::on_ranks) | q to each rank, and a gradient of each share of the rows back | gradients of a millisecond and more |
//! | [rungs](bnn_mcmc::sampler::PowerPosteriors::on_ranks) | a point of each rung there and back, in each step | steps of a millisecond and more |
//! | [chains](World::chains) | nothing | always; engines of job arrays do it without MPI |
//!
//! A rank that waits sleeps, for a fifth of a millisecond at most: more ranks than cores share them. A rank that cannot go on, by a panic
//! or an error of [`World::run`], says why and ends all of them (`MPI_Abort`); one that is killed is missed by `mpirun`, which ends
//! the others. The run goes on from its last checkpoint by the same command, with any number of ranks. A signal that asks for an end
//! goes to rank 0, whose [`StopHandle`](bnn_mcmc::sampler::StopHandle) ends the run as in one process: `mpirun` passes on SIGUSR1 and
//! SIGTERM to all ranks, so that all should catch them.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hint;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use bnn_mcmc::Error;
use bnn_mcmc::ranks::Ranks;
use mpi::Threading;
use mpi::environment::Universe;
use mpi::point_to_point::MatchedReceiveVec;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};

/// All ranks that were started together. The end of the program waits for all of them.
pub struct World {
    ranks: Arc<Mpi>,
    /// Ends MPI when it is dropped.
    _universe: Universe,
}

impl World {
    /// Begins MPI, once in a program.
    ///
    /// # Errors
    /// MPI was begun before, or allows no threads.
    pub fn new() -> Result<Self, Error> {
        let begun = mpi::initialize_with_threading(Threading::Serialized);
        let Some((universe, threading)) = begun else {
            return Err(Error::argument("MPI", "begun before", "begun once in a program"));
        };
        if threading < Threading::Serialized {
            let allowed = "at least `MPI_THREAD_SERIALIZED`";
            return Err(Error::argument("threads of MPI", format!("{threading:?}"), allowed));
        }
        let world = universe.world();
        let size = world.size() as usize;
        let arrived = Arc::default();
        let ranks = Arc::new(Mpi { first: 0, rank: world.rank() as usize, size, arrived });
        Ok(Self { ranks, _universe: universe })
    }

    /// Begins MPI, and runs `work`. An error of any rank ends all of them: the others would wait for it.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn run<R, E: fmt::Display>(work: impl FnOnce(&Self) -> Result<R, E>) -> Result<R, Error> {
        let world = Self::new()?;
        Ok(work(&world).unwrap_or_else(|error| world.ranks.abort(&error.to_string())))
    }

    /// These ranks, as the functions of the library want them.
    pub fn ranks(&self) -> Arc<dyn Ranks> {
        self.ranks.clone()
    }

    /// The ranks in so many teams of neighbours, each with ranks of its own from 0 on: the number of this rank's team, and its ranks. A
    /// chain, or [some of them](part_of), for each team, and its rows on the ranks of the team: more cores than shares of the
    /// rows.
    ///
    /// # Errors
    /// No team, or more teams than ranks.
    pub fn teams(&self, teams: usize) -> Result<(usize, Arc<dyn Ranks>), Error> {
        let Mpi { rank, size, ref arrived, .. } = *self.ranks;
        if !(1..=size).contains(&teams) {
            return Err(Error::argument(
                "teams",
                teams,
                format!("1 to {size}, the number of ranks"),
            ));
        }
        let first = |team: usize| (team * size).div_ceil(teams);
        let team = rank * teams / size;
        let (first, end) = (first(team), first(team + 1));
        let arrived = arrived.clone();
        Ok((team, Arc::new(Mpi { first, rank: rank - first, size: end - first, arrived })))
    }

    /// The number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.ranks.rank()
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.ranks.size()
    }

    /// The chains of this rank, of so many, for [`Sampler::only_chains`](bnn_mcmc::sampler::Sampler::only_chains); none on some ranks
    /// where there are fewer chains than ranks. [`Draws::merge`](bnn_mcmc::draws::Draws::merge) makes the draws of the
    /// whole run of all parts.
    pub fn chains(&self, chains: usize) -> Range<usize> {
        part_of(chains, self.rank(), self.size())
    }

    /// Waits until all ranks are here.
    pub fn wait_for_all(&self) {
        self.all(true);
    }

    /// Waits until all ranks are here, and tells whether `own` is true on all of them.
    pub fn all(&self, own: bool) -> bool {
        const HERE: u32 = 32_767; // the largest tag that every MPI allows
        let mut all = own;
        if self.rank() == 0 {
            for from in 1..self.size() {
                all &= self.ranks.receive(from, HERE) == [1];
            }
        } else {
            self.ranks.send(0, HERE, &[u8::from(own)]);
        }
        self.ranks.broadcast(vec![u8::from(all)]) == [1]
    }
}

impl Drop for World {
    /// Other ranks would wait for one that panics.
    fn drop(&mut self) {
        if thread::panicking() {
            self.ranks.abort("it has panicked");
        }
    }
}

/// The chains, of so many, that team or rank `number` of `of` has.
pub fn part_of(chains: usize, number: usize, of: usize) -> Range<usize> {
    number * chains / of..(number + 1) * chains / of
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.ranks.fmt(f)
    }
}

/// A rank of MPI, in a team.
struct Mpi {
    /// The number of the team's rank 0 among all.
    first: usize,
    rank: usize,
    size: usize,
    /// Calls of MPI are made while this is locked, one at a time.
    arrived: Arc<Mutex<Arrived>>,
}

/// Messages that have arrived, by sender, numbered among all ranks, and tag.
type Arrived = HashMap<(usize, u32), VecDeque<Vec<u8>>>;

impl Mpi {
    fn lock(&self) -> MutexGuard<'_, Arrived> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all messages that have arrived, of whoever is waiting to send.
    fn take(&self, arrived: &mut Arrived) {
        let any = SimpleCommunicator::world();
        while let Some(found) = any.any_process().immediate_matched_probe() {
            let (bytes, status) = found.matched_receive_vec::<u8>();
            let from = (status.source_rank() as usize, status.tag() as u32);
            arrived.entry(from).or_default().push_back(bytes);
        }
    }

    /// Calls `try_it` until it has a result, between pauses that grow.
    fn poll<R>(&self, mut try_it: impl FnMut(&mut Arrived) -> Option<R>) -> R {
        for tries in 0_u32.. {
            let mut arrived = self.lock();
            if let Some(result) = try_it(&mut arrived) {
                return result;
            }
            self.take(&mut arrived);
            drop(arrived);
            // To yield instead would cost a turn of whatever else runs on this processor.
            match tries {
                0..100 => hint::spin_loop(),
                100..2000 => thread::sleep(Duration::from_micros(20)),
                _ => thread::sleep(Duration::from_micros(200)),
            }
        }
        unreachable!("it tries until it has a result")
    }
}

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.size)
    }
}

impl Ranks for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    /// Less than 2 GiB. Returns when the other rank has begun to receive the bytes, since MPI may leave them here until it is called again;
    /// takes what arrives meanwhile, so that two ranks that send to each other do not wait for each other.
    fn send(&self, to: usize, tag: u32, bytes: &[u8]) {
        let world = SimpleCommunicator::world();
        let process = world.process_at_rank((self.first + to) as i32);
        mpi::request::scope(|scope| {
            let locked = self.lock();
            let mut request =
                Some(process.immediate_synchronous_send_with_tag(scope, bytes, tag as i32));
            drop(locked);
            self.poll(|_| match request.take()?.test() {
                Ok(_) => Some(()),
                Err(pending) => {
                    request = Some(pending);
                    None
                }
            });
        });
    }

    fn receive(&self, from: usize, tag: u32) -> Vec<u8> {
        self.poll(|arrived| {
            arrived.get_mut(&(self.first + from, tag)).and_then(VecDeque::pop_front)
        })
    }

    fn abort(&self, why: &str) -> ! {
        eprintln!("rank {} of {} cannot go on, so that all end: {why}", self.rank, self.size);
        let _ends = self.lock();
        SimpleCommunicator::world().abort(1)
    }
}
