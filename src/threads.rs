//! The threads that work is shared out over: as many as are asked for, or as many of them as there can be.
//!
//! Rayon makes its global pool when it is first used, and panics where a limit on threads or memory
//! leaves no room for all of its threads. So the threads are begun first, and the pool is made of those
//! that there are. No number depends on how many they are.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};

use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};

use crate::Error;

/// Makes rayon's global pool, unless it exists or the caller runs in another pool.
///
/// # Errors
/// If not even one thread can be made.
pub(crate) fn ready() -> Result<(), Error> {
    static IS_READY: Mutex<bool> = Mutex::new(false);
    if rayon::current_thread_index().is_some() {
        return Ok(());
    }
    let mut is_ready = IS_READY.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_ready {
        let mut begun = Begun::new(wanted()).map_err(|e| refused(1, &e))?;
        let builder = ThreadPoolBuilder::new().num_threads(begun.0.len());
        // It fails if the program has made the pool itself, which then serves.
        let _ = builder.spawn_handler(|worker| begun.next(worker)).build_global();
        *is_ready = true;
    }
    Ok(())
}

/// A pool of `n` threads, or of as many as there can be.
///
/// # Errors
/// If not even one thread can be made.
pub(crate) fn pool(n: usize) -> Result<ThreadPool, Error> {
    let mut begun = Begun::new(n).map_err(|e| refused(n, &e))?;
    let builder = ThreadPoolBuilder::new().num_threads(begun.0.len());
    let pool = builder.spawn_handler(|worker| begun.next(worker)).build();
    pool.map_err(|e| refused(n, &io::Error::other(e)))
}

fn refused(n: usize, error: &io::Error) -> Error {
    let allowed = format!("possible here, and the system makes no thread at all ({error})");
    Error::argument("threads", n, allowed)
}

/// The number of threads that rayon's global pool is to have.
fn wanted() -> usize {
    let set = std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse().ok());
    let all = || thread::available_parallelism().map_or(1, Into::into);
    set.filter(|n| *n > 0).unwrap_or_else(all)
}

/// Threads that wait for work.
struct Begun(Vec<Sender<ThreadBuilder>>);

impl Begun {
    /// Begins `n` threads, or as many as there can be: at least one.
    fn new(n: usize) -> io::Result<Self> {
        let mut begun = Vec::new();
        for _ in 0..n {
            let (give, take) = channel::<ThreadBuilder>();
            let work = move || {
                if let Ok(worker) = take.recv() {
                    worker.run();
                }
            };
            match Builder::new().spawn(work) {
                Ok(_) => begun.push(give),
                Err(error) if begun.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(Self(begun))
    }

    /// Lets the next of them do the work of a pool.
    fn next(&mut self, worker: ThreadBuilder) -> io::Result<()> {
        let thread = self.0.pop().ok_or(io::ErrorKind::NotFound)?;
        thread.send(worker).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
