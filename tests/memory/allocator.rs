//! The system's allocator, which counts: calls of each thread, and bytes of the whole process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use bnn_mcmc::memory::set_limit;

/// Bytes that are in use, and the most that were.
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// More bytes than this are not given.
static GIVEN: AtomicUsize = AtomicUsize::new(usize::MAX);

thread_local! {
    static COUNT_OF_THREAD: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

fn add(bytes: usize) {
    // A thread that ends has no counter any more.
    let _ = COUNT_OF_THREAD.try_with(|count| count.set(count.get() + 1));
    PEAK.fetch_max(LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes, Ordering::Relaxed);
}

// SAFETY: all calls are handed to the system's allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if LIVE.load(Ordering::Relaxed).saturating_add(layout.size())
            > GIVEN.load(Ordering::Relaxed)
        {
            return std::ptr::null_mut();
        }
        add(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size); // old and new exist together, at worst
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs a test. Tests of this program count the memory of the whole process or limit it: one after
/// the other, each of which begins with the machine's limit, in a thread that has ended, with all
/// that was its own, before the next begins.
pub fn alone(test: impl FnOnce() + Send) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    set_limit(None);
    std::thread::scope(|scope| {
        if let Err(panicked) = scope.spawn(test).join() {
            resume_unwind(panicked);
        }
    });
}

/// What `f` returns, and the most memory that it had in use beyond what there was before it, in
/// bytes.
pub fn peak<T>(f: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let value = f();
    (value, PEAK.load(Ordering::Relaxed).saturating_sub(before))
}

/// What `f` returns where the system gives no more than `bytes` beyond what is in use.
pub fn given<T>(bytes: usize, f: impl FnOnce() -> T) -> T {
    GIVEN.store(LIVE.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    let value = f();
    GIVEN.store(usize::MAX, Ordering::Relaxed);
    value
}

/// The allocations of this thread during `f`.
pub fn allocations_of_thread(f: impl FnOnce()) -> usize {
    let before = COUNT_OF_THREAD.get();
    f();
    COUNT_OF_THREAD.get() - before
}

#[test]
fn the_counters_count() {
    alone(|| {
        let vec = || drop(std::hint::black_box(vec![0.0f64; 1000]));
        assert_eq!(allocations_of_thread(vec), 1);
        assert!(peak(vec).1 >= 8000);
    });
}
