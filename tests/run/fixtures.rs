//! What several of these tests use: targets that see their evaluations, draws compared bit for bit, processes
//! that tell how far they are.

use std::fmt::Debug;
use std::io::{Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bnn_mcmc::error::Difference;
use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::GaussianTarget;

pub fn gaussian() -> GaussianTarget {
    GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.6, 0.6, 2.0]).unwrap()
}

/// N(0, I) that calls `at` with the number of each evaluation, from 1.
pub struct Watched<F> {
    dim: usize,
    count: AtomicUsize,
    at: F,
}

pub fn watched<F: Fn(usize) + Sync>(dim: usize, at: F) -> Watched<F> {
    Watched { dim, count: AtomicUsize::new(0), at }
}

impl<F> Watched<F> {
    /// The number of evaluations so far.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

impl<F: Fn(usize) + Sync> Target for Watched<F> {
    type Workspace = ();
    fn dim(&self) -> usize {
        self.dim
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        (self.at)(self.count.fetch_add(1, Ordering::Relaxed) + 1);
        LogDensity::from(-0.5 * q.iter().map(|q| q * q).sum::<f64>())
    }
}

impl<F: Fn(usize) + Sync> GradTarget for Watched<F> {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad.iter_mut().zip(q).for_each(|(g, q)| *g = -q);
        self.log_density(q, ws)
    }
}

/// Names, values, statistics and the counts of the warm-up, bit for bit.
#[track_caller]
pub fn assert_same(a: &Draws, b: &Draws) {
    assert_eq!(a.layout(), b.layout());
    assert_eq!(a.values().dim(), b.values().dim());
    assert!(a.values().iter().zip(b.values()).all(|(a, b)| a.to_bits() == b.to_bits()));
    assert_same_stats(a, b);
    assert_eq!(a.info().warmup_divergences, b.info().warmup_divergences);
    assert_eq!(a.info().warmup_gradient_evals, b.info().warmup_gradient_evals);
}

#[track_caller]
pub fn assert_same_stats(a: &Draws, b: &Draws) {
    assert_eq!(a.stat_names(), b.stat_names());
    for name in a.stat_names() {
        let (a, b) = (a.stat(name).unwrap(), b.stat(name).unwrap());
        assert_eq!(a.dim(), b.dim());
        assert!(a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}");
    }
}

/// Asserts that a folder holds another fit, which differs first in this setting: its value there, and the value
/// that was asked for.
#[track_caller]
pub fn assert_other_fit<T: Debug>(result: Result<T, Error>, setting: &str, values: [&str; 2]) {
    let Err(Error::OtherFit { difference, .. }) = &result else { panic!("{result:?}") };
    let Difference::Setting { name, there, asked, .. } = &**difference else {
        panic!("{difference:?}")
    };
    assert_eq!((&name[..], [&there[..], asked]), (setting, values));
}

const REPORT: u8 = 1;

/// Tells the parent process of one more report of progress: past the harness, which keeps back what is printed.
pub fn tell() {
    let mut out = std::io::stdout();
    out.write_all(&[REPORT]).and_then(|()| out.flush()).unwrap();
}

/// The number of reports that a whole run makes, and the time between two.
#[derive(Clone, Copy)]
pub struct Pace {
    reports: usize,
    between: Duration,
}

/// A process that calls [`tell`].
pub struct Telling {
    process: Child,
    reports: ChildStdout,
}

impl Telling {
    /// This program again, for one of its tests.
    pub fn begin(test: &str, variable: &str, value: &std::path::Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test]).env(variable, value).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let reports = process.stdout.take().unwrap();
        Self { process, reports }
    }

    /// Waits for so many reports, or for the end of the process; returns how many there were.
    fn wait_for(&mut self, reports: usize) -> usize {
        let (mut made, mut bytes) = (0, [0]);
        while made < reports && self.reports.read(&mut bytes).unwrap() > 0 {
            made += usize::from(bytes == [REPORT]);
        }
        made
    }

    pub fn wait(mut self) -> Pace {
        self.wait_for(1);
        let begin = Instant::now();
        let reports = self.wait_for(usize::MAX);
        let between = begin.elapsed() / u32::try_from(reports).unwrap();
        assert!(self.process.wait().unwrap().success());
        Pace { reports, between }
    }

    /// Kills the process after a share of its reports, at any moment between two; false if it had ended before.
    pub fn kill_at(mut self, share: f64, pace: Pace) -> bool {
        let reports = share * pace.reports as f64;
        self.wait_for(reports as usize);
        let begin = Instant::now();
        while begin.elapsed() < pace.between.mul_f64(reports.fract()) {
            std::hint::spin_loop();
        }
        // A process that has ended is not killed any more: its own success is reported.
        self.process.kill().unwrap();
        !self.process.wait().unwrap().success()
    }
}
