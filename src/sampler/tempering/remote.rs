//! The rungs of a ladder on several ranks.
//!
//! Rank 0 has the chain: the exchanges, the random stream of the ladder, warm-up, checkpoints. A rung that is on another rank has its kernel
//! there, with its scales, matrices and random stream. In each step its point travels there and back, a few numbers for each coordinate,
//! and nothing else; its whole state does when a run begins, and for a checkpoint.

use std::collections::BTreeMap;
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
    pub(super) fn remote(&self) -> Option<Remote> {
        let shared = self.0.as_ref().filter(|shared| shared.ranks.size() > 1)?;
        let ladder = shared.number.fetch_add(1, Ordering::Relaxed);
        Some(Remote { ranks: shared.ranks.clone(), ladder })
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
        let order: (u64, usize, Order<()>) = (0, 0, Order::End);
        (1..shared.ranks.size()).for_each(|to| shared.ranks.send(to, ORDERS, &written(&order)));
    }
}

/// What a rank does with a rung.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "S: Serialize", deserialize = "S: DeserializeOwned"))]
enum Order<S> {
    /// Takes it, with its state.
    Take(Box<RungState<S>>),
    /// Moves it from here, and replies with [`Moved`].
    Step(Point),
    Adapt(WarmupProgress),
    Retemper(f64),
    Freeze,
    /// Replies with its [`RungState`].
    Report,
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
}

impl Remote {
    /// The rank of rung `k` of `rungs`: the coldest one is here.
    fn rank(&self, k: usize, rungs: usize) -> usize {
        (rungs - 1 - k) % self.ranks.size()
    }

    fn send<S: Serialize>(&self, k: usize, rungs: usize, order: Order<S>) {
        let bytes = written(&(self.ladder, k, order));
        self.ranks.send(self.rank(k, rungs), ORDERS, &bytes);
    }

    fn reply<R: DeserializeOwned>(&self, k: usize, rungs: usize) -> R {
        let from = self.rank(k, rungs);
        let bytes = self.ranks.receive(from, tag(self.ladder, k));
        cbor::read(&mut &bytes[..]).unwrap_or_else(|e| self.ranks.abort(&e))
    }

    /// One step of each rung.
    pub fn step<T, K>(&self, rungs: &mut [Rung<T, K>], here: impl FnOnce(Vec<&mut Rung<T, K>>))
    where
        T: PowerTarget + Copy + Send,
        K: Kernel<Tempered<T>>,
    {
        let n = rungs.len();
        let mut own = Vec::new();
        let mut others = Vec::new();
        for (k, rung) in rungs.iter_mut().enumerate() {
            if self.rank(k, n) == 0 {
                own.push(rung);
                continue;
            }
            if !rung.is_taken {
                self.send(k, n, Order::Take(Box::new(rung.state())));
                rung.is_taken = true;
            }
            self.send(k, n, Order::<()>::Step(rung.point.clone()));
            others.push((k, rung));
        }
        // Replies are waited for in any case: a rank that is about to send one does nothing else.
        let here = catch_unwind(AssertUnwindSafe(|| here(own)));
        for (k, rung) in others {
            let Moved { point, last, accept_probs, divergences } = self.reply(k, n);
            (rung.point, rung.last) = (point, last);
            (rung.accept_probs, rung.divergences) = (accept_probs, divergences); //~ remote-counts
        }
        here.unwrap_or_else(|payload| resume_unwind(payload));
    }

    pub fn adapt(&self, k: usize, rungs: usize, warmup: WarmupProgress) {
        self.send(k, rungs, Order::<()>::Adapt(warmup));
    }

    pub fn retemper(&self, k: usize, rungs: usize, beta: f64) {
        self.send(k, rungs, Order::<()>::Retemper(beta));
    }

    pub fn freeze(&self, k: usize, rungs: usize) {
        self.send(k, rungs, Order::<()>::Freeze);
    }

    pub fn state<S: DeserializeOwned>(&self, k: usize, rungs: usize) -> RungState<S> {
        self.send(k, rungs, Order::<()>::Report);
        self.reply(k, rungs)
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

fn follow<T, A>(ranks: &dyn Ranks, algorithm: &A, target: T) -> Result<(), Error>
where
    T: PowerTarget + Copy + Send,
    A: Algorithm<Tempered<T>>,
{
    let mut rungs: BTreeMap<(u64, usize), Rung<T, A::Kernel>> = BTreeMap::new();
    loop {
        let bytes = ranks.receive(0, ORDERS);
        let read: Result<(u64, usize, Order<_>), _> = cbor::read(&mut &bytes[..]);
        let (ladder, k, order) = read.unwrap_or_else(|e| ranks.abort(&e));
        let reply = |bytes: &[u8]| ranks.send(0, tag(ladder, k), bytes);
        let known = rungs.get_mut(&(ladder, k));
        match (order, known) {
            (Order::End, _) => return Ok(()),
            (Order::Take(state), _) => {
                rungs.insert((ladder, k), Rung::of_state(algorithm, target, *state)?);
            }
            (_, None) => ranks.abort(&format!("rung {k} of ladder {ladder} is not here")),
            (Order::Step(point), Some(rung)) => {
                rung.point = point;
                rung.step();
                let Rung { point, last, accept_probs, divergences, .. } = rung;
                reply(&written(&Moved {
                    point: point.clone(),
                    last: *last,
                    accept_probs: *accept_probs,
                    divergences: *divergences,
                }));
            }
            (Order::Adapt(warmup), Some(rung)) => {
                if let (Some(kernel), Some(step)) = (&mut rung.kernel, &rung.last) {
                    kernel.adapt(step, &rung.point, warmup); //~ remote-adapt
                }
            }
            // Where the algorithm refuses, the rung keeps its own, as it does on rank 0.
            (Order::Retemper(beta), Some(rung)) => _ = rung.retemper(algorithm, beta),
            (Order::Freeze, Some(rung)) => rung.freeze(),
            (Order::Report, Some(rung)) => reply(&written(&rung.state())),
        }
    }
}

fn written(data: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    cbor::write(data, &mut bytes).expect("the state of a kernel can be written");
    bytes
}

/// The tag of replies about a rung.
fn tag(ladder: u64, k: usize) -> u32 {
    /// More rungs than any ladder has.
    const RUNGS: u64 = 1 << 14;
    REPLIES + ((ladder % (1 << 16)) * RUNGS + k as u64) as u32
}
