//! The rungs of a ladder on several ranks.
//!
//! Rank 0 has the chain: the exchanges, the random stream of the ladder, warm-up, checkpoints. A rung that is on another rank has its kernel
//! there, with its scales, matrices and random stream. In each step its point travels there and back, a few numbers for each coordinate.
//! Its whole state does when a run begins, for a checkpoint, and before each step where steps take more than half a second: such a
//! step can be cut.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::rung::{Rung, RungState};
use crate::Error;
use crate::cbor;
use crate::error::unwound;
use crate::ranks::{ORDERS, REPLIES, Ranks};
use crate::sampler::{Algorithm, Kernel, Step, WarmupProgress};
use crate::targets::{Point, PowerTarget, Tempered};

/// Where the rungs of a ladder take their steps: on threads of this process, or on [several ranks](crate::ranks). Draws do not depend
/// on it, and it is not part of the settings of a run.
#[derive(Clone, Debug, Default)]
pub struct Replicas(Option<Arc<Shared>>);

/// What all ladders of a process share.
struct Shared {
    ranks: Arc<dyn Ranks>,
    /// Of ladders, of which each chain has one.
    number: AtomicU64,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.ranks.fmt(f)
    }
}

impl PartialEq for Replicas {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Replicas {
    pub(super) fn on(ranks: &Arc<dyn Ranks>) -> Self {
        Self(Some(Arc::new(Shared { ranks: ranks.clone(), number: AtomicU64::new(0) })))
    }

    /// The ranks for the next ladder, if there are several.
    pub(super) fn remote(&self, rungs: usize) -> Option<Remote> {
        let shared = self.0.as_ref().filter(|shared| shared.ranks.size() > 1)?;
        let ladder = shared.number.fetch_add(1, Ordering::Relaxed);
        Some(Remote { ranks: shared.ranks.clone(), ladder, rungs, is_taken: false })
    }

    /// Tells the other ranks, when it is dropped, that there are no orders any more.
    pub(super) fn ended(&self) -> Ended<'_> {
        Ended(self)
    }
}

/// See [`Replicas::ended`].
pub(super) struct Ended<'r>(&'r Replicas);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let Some(shared) = &self.0.0 else { return };
        let order: (u64, Order<()>) = (0, Order::End);
        (1..shared.ranks.size()).for_each(|to| shared.ranks.send(to, ORDERS, &written(&order)));
    }
}

/// What a rank does with its rungs of a ladder.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "S: Serialize", deserialize = "S: DeserializeOwned"))]
enum Order<S> {
    /// Takes them, with their numbers and states.
    Take(Vec<(usize, RungState<S>)>),
    /// Moves each from here, and replies with a [`Moved`] for each.
    Step(Vec<Point>),
    Adapt(WarmupProgress),
    /// Moves them to these places, of all rungs of the ladder.
    Retemper(Vec<f64>),
    Freeze,
    /// Replies with their states.
    Report,
    /// The ladder is needed no more.
    Forget,
    End,
}

/// A rung after a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Moved {
    point: Point,
    last: Option<Step>,
    accept_probs: (f64, u64),
    divergences: u64,
}

/// A ladder some of whose rungs are on other ranks.
pub(super) struct Remote {
    ranks: Arc<dyn Ranks>,
    ladder: u64,
    /// The number of rungs.
    rungs: usize,
    /// Whether the other ranks have their rungs as they are here.
    is_taken: bool,
}

impl Remote {
    /// The rank of rung `k`: the coldest one is here.
    fn rank(&self, k: usize) -> usize {
        (self.rungs - 1 - k) % self.ranks.size()
    }

    /// Whether rung `k` has its kernel on another rank.
    pub fn has(&self, k: usize) -> bool {
        self.is_taken && self.rank(k) != 0
    }

    /// The other ranks, with the numbers of their rungs.
    fn others(&self) -> impl Iterator<Item = (usize, impl Iterator<Item = usize>)> {
        let own = move |rank| (0..self.rungs).filter(move |k| self.rank(*k) == rank);
        // A short ladder has no rungs for some ranks.
        (1..self.ranks.size().min(self.rungs)).map(move |rank| (rank, own(rank)))
    }

    fn send<S: Serialize>(&self, to: usize, order: &Order<S>) {
        self.ranks.send(to, ORDERS, &written(&(self.ladder, order)));
    }

    fn send_to_all(&self, order: &Order<()>) {
        if self.is_taken {
            self.others().for_each(|(rank, _)| self.send(rank, order));
        }
    }

    fn reply<R: DeserializeOwned>(&self, from: usize) -> Vec<R> {
        let bytes = self.ranks.receive(from, tag(self.ladder));
        cbor::read(&mut &bytes[..]).unwrap_or_else(|e| self.ranks.abort(&e))
    }

    /// One step of each rung; `here` makes this rank's steps.
    pub fn step<T, K>(
        &mut self,
        rungs: &mut [Rung<T, K>],
        here: impl FnOnce(&mut [&mut Rung<T, K>]),
    ) where
        T: PowerTarget + Copy + Send,
        K: Kernel<Tempered<T>>,
    {
        for (rank, own) in self.others() {
            let own: Vec<usize> = own.collect();
            if !self.is_taken {
                let states = own.iter().map(|k| (*k, rungs[*k].state())).collect();
                self.send(rank, &Order::Take(states));
            }
            let points = own.iter().map(|k| rungs[*k].point.clone()).collect();
            self.send(rank, &Order::<()>::Step(points));
        }
        self.is_taken = true;
        let own = rungs.iter_mut().enumerate().filter(|(k, _)| self.rank(*k) == 0);
        let mut own: Vec<_> = own.map(|(_, rung)| rung).collect();
        // Replies are waited for in any case: a rank that is about to send one does nothing else.
        let here = catch_unwind(AssertUnwindSafe(|| here(&mut own)));
        for (rank, own) in self.others() {
            for (k, moved) in own.zip(self.reply(rank)) {
                let Moved { point, last, accept_probs, divergences } = moved;
                let rung = &mut rungs[k];
                (rung.point, rung.last) = (point, last);
                (rung.accept_probs, rung.divergences) = (accept_probs, divergences); //~ remote-counts
            }
        }
        here.unwrap_or_else(|payload| resume_unwind(payload));
    }

    pub fn adapt(&self, warmup: WarmupProgress) {
        self.send_to_all(&Order::Adapt(warmup));
    }

    pub fn retemper(&self, betas: &[f64]) {
        self.send_to_all(&Order::Retemper(betas.to_vec()));
    }

    pub fn freeze(&self) {
        self.send_to_all(&Order::Freeze);
    }

    /// The states of all rungs; `here` gives the states of this rank.
    pub fn states<S: DeserializeOwned>(
        &self,
        here: impl Fn(usize) -> RungState<S>,
    ) -> Vec<RungState<S>> {
        self.send_to_all(&Order::Report);
        let mut elsewhere: Vec<Option<RungState<S>>> = (0..self.rungs).map(|_| None).collect();
        for (rank, own) in self.others().filter(|_| self.is_taken) {
            for (k, state) in own.zip(self.reply(rank)) {
                elsewhere[k] = Some(state);
            }
        }
        let all = elsewhere.into_iter().enumerate();
        all.map(|(k, state)| state.unwrap_or_else(|| here(k))).collect()
    }

    /// The rungs here have other states, which the other ranks do not know.
    pub fn forget(&mut self) {
        self.is_taken = false;
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.send_to_all(&Order::Forget);
    }
}

/// Follows the orders of rank 0 until there are none any more.
pub(super) fn serve<T, A>(ranks: &dyn Ranks, algorithm: &A, target: T)
where
    T: PowerTarget + Copy + Send,
    A: Algorithm<Tempered<T>>,
{
    match unwound(|| follow(ranks, algorithm, target)) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => ranks.abort(&error.to_string()),
        Err(unwound) => ranks.abort(&unwound.at("a step of a rung").to_string()),
    }
}

/// The rungs of a ladder that are on a rank, with their numbers.
type Own<T, K> = Vec<(usize, Rung<T, K>)>;

fn follow<T, A>(ranks: &dyn Ranks, algorithm: &A, target: T) -> Result<(), Error>
where
    T: PowerTarget + Copy + Send,
    A: Algorithm<Tempered<T>>,
{
    // Few: a chain has one.
    let mut ladders: Vec<(u64, Own<T, A::Kernel>)> = Vec::new();
    loop {
        let bytes = ranks.receive(0, ORDERS);
        let read: Result<(u64, Order<_>), _> = cbor::read(&mut &bytes[..]);
        let (ladder, order) = read.unwrap_or_else(|e| ranks.abort(&e));
        let reply = |bytes: &[u8]| ranks.send(0, tag(ladder), bytes);
        let known = ladders.iter().position(|(number, _)| *number == ladder);
        let place = known.unwrap_or_else(|| {
            ladders.push((ladder, Vec::new()));
            ladders.len() - 1
        });
        let rungs = &mut ladders[place].1;
        match order {
            Order::End => return Ok(()),
            Order::Take(states) => {
                let taken = states.into_iter().map(|(k, state)| {
                    Rung::of_state(algorithm, target, state).map(|rung| (k, rung))
                });
                *rungs = taken.collect::<Result<_, Error>>()?;
            }
            Order::Step(points) => {
                let moved = rungs.iter_mut().zip(points).map(|((_, rung), point)| {
                    rung.point = point;
                    rung.step();
                    let Rung { point, last, accept_probs, divergences, .. } = rung;
                    Moved {
                        point: point.clone(),
                        last: *last,
                        accept_probs: *accept_probs,
                        divergences: *divergences,
                    }
                });
                reply(&written(&moved.collect::<Vec<_>>()));
            }
            Order::Adapt(warmup) => {
                for (_, Rung { kernel, last, point, .. }) in rungs {
                    if let (Some(kernel), Some(step)) = (kernel, last) {
                        kernel.adapt(step, point, warmup); //~ remote-adapt
                    }
                }
            }
            Order::Retemper(betas) => {
                for (k, rung) in rungs {
                    // Where the algorithm refuses, the rung keeps its own, as it does on rank 0.
                    let _ = rung.retemper(algorithm, betas[*k]);
                }
            }
            Order::Forget => _ = ladders.swap_remove(place),
            Order::Freeze => rungs.iter_mut().for_each(|(_, rung)| rung.freeze()),
            Order::Report => {
                reply(&written(&rungs.iter().map(|(_, rung)| rung.state()).collect::<Vec<_>>()));
            }
        }
    }
}

fn written(data: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    cbor::write(data, &mut bytes).expect("the state of a kernel can be written");
    bytes
}

/// The tag of replies about a ladder.
fn tag(ladder: u64) -> u32 {
    /// The largest tag that every MPI allows is 32,767.
    const TAGS: u64 = 30_000;
    REPLIES + (ladder % TAGS) as u32
}
