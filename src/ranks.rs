//! Several processes that evaluate together: the ranks of MPI.
//!
//! What cannot be cut into chains has one machine otherwise: the gradient of a posterior of very many rows, and the rungs of a ladder
//! of temperatures. Two functions share it out:
//!
//! - [`Posterior::on_ranks`](crate::posterior::Posterior::on_ranks): each rank evaluates some of the rows. Of
//!   [rows in a file](crate::data::RowFile), which each rank opens and checks as a whole, it reads these alone from then on.
//! - [`PowerPosteriors::on_ranks`](crate::sampler::PowerPosteriors::on_ranks): each rank moves the states of some rungs.
//!
//! Both run the sampler on rank 0 alone, which has all decisions, files, clocks and signals; the other ranks do what it asks for until
//! its run has ended. Draws have the same bits for any number of ranks on one kind of processor, or with
//! `BNN_MCMC_PORTABLE=1` on any ([`portable`](crate::portable)); other kinds are refused. The parts into which a sum is cut, and the
//! order in which they are added, depend on the problem alone, and no number is added on its way. Checkpoints are as in a run of one
//! process, which goes on from them with any number of ranks.
//!
//! One of the two functions at a time: rungs whose rows are on the same ranks would wait for each other.
//!
//! A [`Ranks`] carries the messages. `crates/mpi` of the repository has one by MPI; [`local`] has one by threads of this process, for
//! tests and to see what is sent.
//!
//! That a run has the same result on one machine with one thread or several, and on several machines, is the parallelism invariance of
//! Pigeons.jl (Surjanovic and others, *Pigeons.jl: Distributed sampling from intractable distributions*, JuliaCon 2023,
//! <https://github.com/Julia-Tempering/Pigeons.jl>), whose rungs are on the ranks of MPI, too.

use std::fmt;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::simd::Level;

/// One of several processes, each with a number, and the messages between them.
///
/// Messages from one rank to another with the same tag arrive in the order in which they were sent. A rank whose partner is gone has
/// nothing to go on with: these functions end the process, or panic.
pub trait Ranks: fmt::Debug + Send + Sync {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// Sends bytes to a rank.
    fn send(&self, to: usize, tag: u32, bytes: &[u8]);

    /// Waits for the next bytes from a rank with this tag. Other threads of the process may send meanwhile.
    fn receive(&self, from: usize, tag: u32) -> Vec<u8>;

    /// Sends bytes of rank 0 to all others, and returns them; all ranks call it. By default each rank that has them sends them on to
    /// two others.
    fn broadcast(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let rank = self.rank();
        if rank > 0 {
            bytes = self.receive((rank - 1) / 2, BROADCAST);
        }
        let next = [2 * rank + 1, 2 * rank + 2].into_iter().filter(|to| *to < self.size());
        next.for_each(|to| self.send(to, BROADCAST, &bytes));
        bytes
    }

    /// Ends all ranks, since this one cannot go on.
    fn abort(&self, why: &str) -> ! {
        panic!("rank {} of {} ended: {why}", self.rank(), self.size());
    }
}

/// The tag of what rank 0 sends to all.
const BROADCAST: u32 = 0;
/// The tag of parts of a sum.
const PARTS: u32 = 1;
/// The tag of orders of rank 0.
pub(crate) const ORDERS: u32 = 2;
/// The first tag of replies.
pub(crate) const REPLIES: u32 = 3;

/// Ends all ranks unless this one is like rank 0, by these words and by its instructions, on which the last bits depend.
pub(crate) fn check_alike(ranks: &dyn Ranks, what: &str) {
    let level = format!("{:?}", Level::current());
    let level = level.split('(').next().unwrap_or_default();
    let own = format!("{what}, instructions {level}");
    let first = ranks.broadcast(own.clone().into_bytes());
    if first != own.as_bytes() {
        let first = String::from_utf8_lossy(&first);
        ranks.abort(&format!("it has {own}, and rank 0 has {first}"));
    }
}

/// The parts, of `n`, that a rank has.
pub(crate) fn parts_of(ranks: &dyn Ranks, rank: usize, n: usize) -> Range<usize> {
    rank * n / ranks.size()..(rank + 1) * n / ranks.size()
}

/// Brings the numbers of `parts`, of which each rank knows [its own](parts_of), to rank 0, and from there to all ranks if `to_all`.
pub(crate) fn collect<const N: usize>(
    ranks: &dyn Ranks,
    parts: &mut [[&mut [f64]; N]],
    to_all: bool,
) {
    let n = parts.len();
    if ranks.rank() != 0 {
        ranks.send(0, PARTS, &bytes_of(&parts[parts_of(ranks, ranks.rank(), n)]));
    } else {
        for from in 1..ranks.size() {
            let bytes = ranks.receive(from, PARTS);
            read(&bytes, &mut parts[parts_of(ranks, from, n)]); //~ parts-of-rank
        }
    }
    if to_all {
        let bytes = if ranks.rank() == 0 { bytes_of(parts) } else { Vec::new() };
        let bytes = ranks.broadcast(bytes);
        if ranks.rank() != 0 {
            read(&bytes, parts);
        }
    }
}

fn bytes_of<const N: usize>(parts: &[[&mut [f64]; N]]) -> Vec<u8> {
    let numbers = || parts.iter().flatten();
    let mut bytes = vec![0; 8 * numbers().map(|numbers| numbers.len()).sum::<usize>()];
    let mut rest = &mut bytes[..];
    for numbers in numbers() {
        let (to, behind) = rest.split_at_mut(8 * numbers.len());
        let each = to.as_chunks_mut::<8>().0.iter_mut().zip(&**numbers);
        each.for_each(|(to, number)| *to = number.to_le_bytes());
        rest = behind;
    }
    bytes
}

fn read<const N: usize>(mut bytes: &[u8], parts: &mut [[&mut [f64]; N]]) {
    for numbers in parts.iter_mut().flatten() {
        let (from, behind) = bytes.split_at(8 * numbers.len());
        let each = numbers.iter_mut().zip(from.as_chunks::<8>().0);
        each.for_each(|(number, from)| *number = f64::from_le_bytes(*from));
        bytes = behind;
    }
}

/// Runs `work` on so many ranks, each a thread of this process, and returns what they return.
///
/// # Panics
/// Where the work of a rank does.
pub fn local<R: Send>(size: usize, work: impl Fn(Arc<dyn Ranks>) -> R + Sync) -> Vec<R> {
    let mut ranks: Vec<_> =
        (0..size).map(|rank| Local { rank, to: Vec::new(), from: Vec::new() }).collect();
    for to in 0..size {
        for from in 0..size {
            let (sender, receiver) = channel();
            ranks[from].to.push(sender);
            ranks[to].from.push(Mutex::new((receiver, Vec::new())));
        }
    }
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            ranks.into_iter().map(|rank| scope.spawn(move || work(Arc::new(rank)))).collect();
        threads.into_iter().map(|thread| thread.join().expect("the work of a rank")).collect()
    })
}

/// A tag and bytes.
type Message = (u32, Vec<u8>);

/// A rank that is a thread.
struct Local {
    rank: usize,
    to: Vec<Sender<Message>>,
    /// Of each rank: its messages, and those that were met while another tag was looked for.
    from: Vec<Mutex<(Receiver<Message>, Vec<Message>)>>,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "thread {} of {}", self.rank, self.size())
    }
}

impl Ranks for Local {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.from.len()
    }

    fn send(&self, to: usize, tag: u32, bytes: &[u8]) {
        // A rank that is gone is missed where it should reply.
        let _ = self.to[to].send((tag, bytes.to_vec()));
    }

    fn receive(&self, from: usize, tag: u32) -> Vec<u8> {
        let mut messages = self.from[from].lock().unwrap_or_else(PoisonError::into_inner);
        let (next, met) = &mut *messages;
        if let Some(place) = met.iter().position(|(of, _)| *of == tag) {
            return met.remove(place).1;
        }
        loop {
            let (of, bytes) = next.recv().expect("a rank that sends");
            if of == tag {
                return bytes;
            }
            met.push((of, bytes));
        }
    }
}
