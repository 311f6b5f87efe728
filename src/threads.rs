//! The threads that work is shared out over: as many as are asked for, or as many of them as there can be.
//!
//! Rayon makes its global pool when it is first used, and panics where a limit on threads or memory
//! leaves no room for all of its threads. So the threads are begun first, and the pool is made of those
//! that there are. No number depends on how many they are.
//!
//! Loops share out their items by [`each`] and [`map`]: what rayon needs for a loop, some two thousand lines of LLVM's
//! language, is compiled once and not for each loop.

use std::io;
use std::iter;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder};

use rayon::prelude::*;
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
    let mut is_ready = lock(&IS_READY);
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
    set.filter(|n| *n > 0).unwrap_or_else(processors)
}

/// The most threads of a pool for each processor.
const PER_PROCESSOR: usize = 16;

fn processors() -> usize {
    thread::available_parallelism().map_or(1, Into::into)
}

/// The most pieces, for each thread, into which a loop is cut.
const PIECES: usize = 16;

/// Does `work` on each of the items, which come with their places, on all threads.
pub(crate) fn each<T: Send>(items: &mut [T], work: &(dyn Fn(usize, &mut T) + Sync)) {
    each_with(items, &|| (), &|(), place, item| work(place, item));
}

/// Does `work` on each of the items, which come with their places, on all threads; no two items have the same scratch
/// memory at one time.
pub(crate) fn each_with<S: Send, T: Send>(
    items: &mut [T],
    scratch: &(dyn Fn() -> S + Sync),
    work: &(dyn Fn(&mut S, usize, &mut T) + Sync),
) {
    let size = items.len().div_ceil(PIECES * rayon::current_num_threads()).max(1);
    let pieces = items.len().div_ceil(size);
    let (left, spare) = (Mutex::new(items.chunks_mut(size).enumerate()), Mutex::new(Vec::new()));
    times(pieces, &|| {
        let piece = lock(&left).next();
        let own = lock(&spare).pop();
        let mut own = own.unwrap_or_else(scratch);
        if let Some((number, items)) = piece {
            for (i, item) in items.iter_mut().enumerate() {
                work(&mut own, number * size + i, item);
            }
        }
        lock(&spare).push(own);
    });
}

/// Does `work` on each of the items, on all threads.
///
/// # Errors
/// That of the first item whose work fails.
pub(crate) fn try_each<T: Send>(
    items: &mut [T],
    work: &(dyn Fn(&mut T) -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    let mut done: Vec<_> = items.iter_mut().map(|item| (item, Ok(()))).collect();
    each(&mut done, &|_, (item, result)| *result = work(item));
    done.into_iter().try_for_each(|(_, result)| result)
}

/// The results of `of` for 0, .., n - 1, worked out on all threads.
pub(crate) fn map<R: Send>(n: usize, of: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    map_with(n, &|| (), &|(), i| of(i))
}

/// The results of `of` for 0, .., n - 1, worked out on all threads; no two have the same scratch memory at one time.
pub(crate) fn map_with<S: Send, R: Send>(
    n: usize,
    scratch: &(dyn Fn() -> S + Sync),
    of: &(dyn Fn(&mut S, usize) -> R + Sync),
) -> Vec<R> {
    let mut results: Vec<Option<R>> = iter::repeat_with(|| None).take(n).collect();
    each_with(&mut results, scratch, &|scratch, i, result| *result = Some(of(scratch, i)));
    results.into_iter().map(|result| result.expect("each was worked out")).collect()
}

/// Does `work` so many times, on all threads.
fn times(n: usize, work: &(dyn Fn() + Sync)) {
    (0..n).into_par_iter().for_each(|_| work());
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Threads that wait for work.
struct Begun(Vec<Sender<ThreadBuilder>>);

impl Begun {
    /// Begins `n` threads, or as many as there can be, at least one, and no more than 16 for each processor: more only wait.
    fn new(n: usize) -> io::Result<Self> {
        let mut begun = Vec::new();
        // How many processors there are takes files to read.
        let n = if n <= PER_PROCESSOR { n } else { n.min(PER_PROCESSOR * processors()) };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_threads_that_only_wait() {
        let most = PER_PROCESSOR * processors();
        assert_eq!(pool(1_000_000).unwrap().current_num_threads(), most);
        assert_eq!(pool(most).unwrap().current_num_threads(), most);
        assert_eq!(pool(3).unwrap().current_num_threads(), 3);
    }

    /// Each item comes to its own turn with its place, at whatever number of threads, and in order.
    #[test]
    fn results_are_in_order_and_each_item_is_worked_on_once() {
        for (n, threads) in [(0, 2), (1, 3), (7, 1), (100, 3), (1001, 2)] {
            let squares = pool(threads).unwrap().install(|| {
                let mut places = vec![0; n];
                each(&mut places, &|place, item| *item += place);
                map_with(n, &|| 0, &|scratch, i| {
                    *scratch = i;
                    *scratch * places[i]
                })
            });
            assert_eq!(squares, (0..n).map(|i| i * i).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_error_is_that_of_the_first_item_that_fails() {
        let mut items: Vec<usize> = (0..50).collect();
        let work = |item: &mut usize| match *item {
            7 | 30 => Err(Error::argument("item", *item, "another one")),
            _ => {
                *item = 0;
                Ok(())
            }
        };
        let error = try_each(&mut items, &work).unwrap_err();
        assert!(error.to_string().contains('7'), "{error}");
        assert_eq!(items.iter().sum::<usize>(), 37);
    }
}
