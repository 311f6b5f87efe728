//! Runs that end early: by a panic in a user's code, asked to stop within a long draw, or with enough draws.

use std::sync::Mutex;
use std::time::Duration;

use bnn_mcmc::diagnostics::Outcome;
use bnn_mcmc::draws::recorder::{ChainPlan, OneDraw};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel, Phase, Step, WarmupProgress};
use bnn_mcmc::targets::Point;
use bnn_mcmc::testing::GaussianTarget;
use shared::refused;

use crate::fixtures::{assert_same, watched};

#[test]
fn a_panic_in_a_density_keeps_the_draws_and_the_checkpoint() {
    let whole_target = watched(2, |_| ());
    let whole = Sampler::new(&whole_target, Rwm::default()).warmup(50).draws(3000).run().unwrap();
    for threads in [1, 4] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let target = watched(2, |n| assert!(n != 6000, "no such row: {n}"));
        let sampler = Sampler::new(&target, Rwm::default()).warmup(50).draws(3000);
        let sampler = sampler.threads(threads).checkpoint(&path, Every::Draws(100));
        let draws = sampler.run().unwrap();
        let n = draws.n_draws();
        assert!((1000..1500).contains(&n), "{n}");
        assert_eq!(draws.values(), whole.values().slice(ndarray::s![.., ..n, ..]));
        assert!(draws.info().stopped_early);
        // Which chain makes this evaluation, and how far it is, depends on threads.
        let told = draws.info().panic.as_ref().unwrap();
        assert!(
            told.starts_with("chain ") && told.ends_with(" panicked: no such row: 6000"),
            "{told}"
        );
        let stays = "the run panicked, so the last checkpoint stays";
        assert_eq!(draws.info().checkpoint_error.as_deref(), Some(stays));
        let verdict = draws.verdict().unwrap();
        assert!(!verdict.is_converged());
        assert_eq!(verdict.outcome, Outcome::Panicked { message: told.clone() });
        // The checkpoint is whole, and the run goes on from it when the density is mended.
        let target = watched(2, |_| ());
        let sampler = Sampler::new(&target, Rwm::default()).warmup(50).draws(3000);
        let resumed = sampler.checkpoint(&path, Every::Draws(100)).run().unwrap();
        assert_same(&resumed, &whole);
        let evaluated = target.count();
        assert!(evaluated < 4 * 2100, "it began anew: {evaluated}");
    }
}

#[test]
fn a_stop_within_a_thinned_draw_takes_one_step() {
    let stop = StopHandle::new();
    let stopper = stop.clone();
    let target = watched(2, |n| {
        if n == 5000 {
            stopper.stop();
        }
    });
    let sampler = Sampler::new(&target, Rwm::default()).chains(2).warmup(5).draws(3).thin(500_000);
    let draws = sampler.stop_handle(&stop).threads(1).run().unwrap();
    assert!(draws.info().stopped_early && draws.n_draws() == 0);
    // Each chain finishes the step that it is in.
    let evaluated = target.count();
    assert!(evaluated <= 5000 + 2 * 2, "{evaluated}");
}

/// Stops within draws of a hundred steps, at one place after the other, and goes on each time.
#[test]
fn a_run_stopped_within_thinned_draws_goes_on_bit_for_bit() {
    let quiet = watched(2, |_| ());
    let (whole, moments) = run_of(&quiet, 1).run_with(&Moments).unwrap();
    for threads in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let (mut sizes, mut resumed) = (Vec::new(), None);
        for _ in 0..40 {
            // 157 evaluations after the beginning of this part: within draws, not between them.
            let stop = StopHandle::new();
            let (stopper, first) = (stop.clone(), sizes.is_empty());
            let target = watched(2, move |n| {
                if n == if first { 300 } else { 157 } {
                    stopper.stop();
                }
            });
            let sampler = run_of(&target, threads);
            let sampler = sampler.stop_handle(&stop).checkpoint(&path, Every::Draws(1000));
            let (draws, records) = sampler.run_with(&Moments).unwrap();
            // Each chain finishes the step it is in.
            let made = target.count();
            assert!(!draws.info().stopped_early || made <= 300 + 3 * 4, "{made}");
            sizes.push(draws.n_draws());
            if !draws.info().stopped_early {
                resumed = Some((draws, records));
                break;
            }
        }
        let (draws, records) = resumed.expect("40 parts make the whole");
        assert!(sizes.len() > 20, "{sizes:?}");
        assert_same(&draws, &whole);
        for (a, b) in records.iter().zip(&moments) {
            assert_eq!((a.mean(), a.variance()), (b.mean(), b.variance()));
        }
    }
}

fn run_of<T: Target>(target: &T, threads: usize) -> Sampler<'_, T, Rwm> {
    let sampler = Sampler::new(target, Rwm::default()).chains(3).warmup(20).draws(15);
    sampler.thin(100).threads(threads)
}

/// The condition is looked at after 10 draws, 20, 40 and no more, also by runs that go on.
#[test]
fn a_run_ends_with_enough_draws_also_after_a_stop() {
    let target = GaussianTarget::standard(2).unwrap();
    let run = |draws| Sampler::new(&target, Rwm::default()).chains(3).warmup(20).draws(draws);
    let asked = Mutex::new(Vec::new());
    let enough = |least: usize| {
        let asked = &asked;
        move |so_far: &Draws| {
            assert!(!so_far.info().stopped_early && so_far.info().reports.len() == 3);
            asked.lock().unwrap().push(so_far.n_draws());
            so_far.n_draws() >= least
        }
    };
    let ended = run(1000).until(10, enough(25)).run().unwrap();
    assert_same(&ended, &run(40).run().unwrap());
    assert_eq!(std::mem::take(&mut *asked.lock().unwrap()), [10, 20, 40]);
    let never = run(50).until(10, enough(1000)).run().unwrap();
    assert_same(&never, &run(50).run().unwrap());
    assert_eq!(std::mem::take(&mut *asked.lock().unwrap()), [10, 20, 40]);
    assert_same(&run(7).until(10, enough(0)).run().unwrap(), &run(7).run().unwrap());

    // A run of as many draws as were made so far is one that was stopped then.
    for (made, expected) in
        [(5, vec![10, 20, 40]), (20, vec![20, 40]), (21, vec![40]), (40, vec![40])]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        run(made).checkpoint(&path, Every::Draws(3)).run().unwrap();
        asked.lock().unwrap().clear();
        let gone_on = run(1000).until(10, enough(25)).checkpoint(&path, Every::Draws(3));
        assert_same(&gone_on.run().unwrap(), &ended);
        assert_eq!(*asked.lock().unwrap(), expected);
    }

    // The draws so far come back if the condition panics.
    let panics = run(1000).until(10, |so_far| so_far.n_draws() < 20 || panic!("what of it"));
    assert_eq!(panics.run().unwrap().n_draws(), 10);
    let panics = run(1000).until(10, |so_far| so_far.n_draws() >= 20 && panic!("what of it"));
    let draws = panics.run().unwrap();
    assert!(draws.info().stopped_early && draws.n_draws() == 20);
    assert!(draws.info().panic.as_ref().is_some_and(|panic| panic.contains("what of it")));
}

/// Rounds grow from one draw at most eightfold, so that the end is soon after the least number of draws.
#[test]
fn a_run_ends_when_its_time_is_up() {
    let target = GaussianTarget::standard(2).unwrap();
    let run = |draws| Sampler::new(&target, Rwm::default()).chains(3).warmup(20).draws(draws);
    let whole = |draws| run(draws).run().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for least in [0, 1, 2, 40] {
        let path = folder.path().join(format!("run{least}"));
        let ended = run(1_000_000).within(Duration::ZERO, least);
        let ended = ended.checkpoint(&path, Every::Draws(7)).run().unwrap();
        let n = ended.n_draws();
        assert!(!ended.info().stopped_early && n >= least.max(1) && n <= 9 * least.max(1), "{n}");
        assert_same(&ended, &whole(n));
        // It goes on like a run of as many draws.
        let gone_on = run(500).checkpoint(&path, Every::Draws(7)).run().unwrap();
        assert_same(&gone_on, &whole(500));
    }
    assert_same(&run(30).within(Duration::ZERO, 31).run().unwrap(), &whole(30));
    assert_same(&run(30).within(Duration::MAX, 1).run().unwrap(), &whole(30));
}

#[test]
fn a_panic_before_the_first_draw_is_an_error() {
    let run = |n: usize| {
        let target = watched(2, move |i| assert!(i != n, "evaluation {n}"));
        let sampler = Sampler::new(&target, Rwm::default()).warmup(100).draws(50);
        sampler.threads(2).run()
    };
    refused!(run(2), Panic { place: "chain 1, at its start,", message: "evaluation 2" });
    // The chain depends on threads.
    let Err(Error::Panic { place, message }) = run(150) else { panic!("it went on") };
    assert!(place.ends_with(" iterations of warm-up"), "{place}");
    assert_eq!(message, "evaluation 150");
}

/// Draws from N(0, 1), and panics where it is told to.
#[derive(Clone, Copy, serde::Serialize)]
struct Clumsy(&'static str);

impl<T: Target> Algorithm<T> for Clumsy {
    type Kernel = ClumsyKernel;
    fn name(&self) -> String {
        "Clumsy".into()
    }
    fn kernel(&self, _: &T, _: &ChainRng) -> Result<ClumsyKernel, Error> {
        self.panics_in("kernel");
        Ok(ClumsyKernel { place: *self, steps: 0 })
    }
}

impl Clumsy {
    fn panics_in(&self, place: &'static str) {
        if self.0 == place {
            std::panic::panic_any(format!("in {place}"));
        }
    }
}

struct ClumsyKernel {
    place: Clumsy,
    steps: usize,
}

impl<T: Target> Kernel<T> for ClumsyKernel {
    type State = usize;
    fn state(&self) -> usize {
        if self.steps > 30 {
            self.place.panics_in("state");
        }
        self.steps
    }
    fn restore(&mut self, steps: usize) {
        self.steps = steps;
    }
    fn step(&mut self, t: &T, at: &mut Point, ws: &mut T::Workspace, rng: &mut ChainRng) -> Step {
        at.set(|q| q.iter_mut().for_each(|q| *q = rng.normal()));
        at.eval(t, ws);
        self.steps += 1;
        if self.steps == 40 {
            self.place.panics_in("step");
        }
        Step { accept_prob: None, accepted: true, divergent: false, gradient_evals: 0 }
    }
    fn adapt(&mut self, _: &Step, _: &Point, _: WarmupProgress) {
        self.place.panics_in("adapt");
    }
    fn freeze(&mut self) {
        self.place.panics_in("freeze");
    }
    fn report(&self) -> bnn_mcmc::draws::Report {
        self.place.panics_in("report");
        bnn_mcmc::draws::Report::default()
    }
}

impl<T: Target> Recorder<T> for Clumsy {
    type Record = usize;
    type State = usize;
    fn name(&self) -> String {
        "Clumsy".into()
    }
    fn begin(&self, _: &T, _: ChainPlan, from: Option<usize>) -> Result<usize, Error> {
        self.panics_in("begin");
        Ok(from.unwrap_or(0))
    }
    fn record(
        &self,
        record: &mut usize,
        _: &T,
        draw: OneDraw,
        _: &mut T::Workspace,
    ) -> Result<(), Error> {
        if draw.index == 20 {
            self.panics_in("record");
        }
        *record += 1;
        Ok(())
    }
    fn state(&self, record: &usize) -> Result<usize, Error> {
        Ok(*record)
    }
}

#[test]
fn a_panic_in_any_code_of_the_user_is_told_and_what_was_made_is_kept() {
    let target = watched(2, |_| ());
    let whole = Sampler::new(&target, Clumsy("")).warmup(5).draws(50).run().unwrap();
    for (place, least, most) in [
        ("kernel", None, 0),
        ("begin", None, 0),
        ("adapt", None, 0),
        ("freeze", None, 0),
        ("step", Some(20), 34),
        ("record", Some(10), 20),
        ("state", Some(20), 49),
        ("progress", Some(10), 49),
        ("report", Some(50), 50),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let sampler = |clumsy| {
            let sampler = Sampler::new(&target, Clumsy(clumsy)).warmup(5).draws(50).threads(2);
            sampler.checkpoint(&path, Every::Draws(10))
        };
        let result = sampler(place)
            .on_progress(|p| {
                if p.phase == Phase::Sampling && p.done >= 10 {
                    Clumsy(place).panics_in("progress");
                }
            })
            .run_with(&Clumsy(place));
        let message = format!("in {place}");
        let Some(least) = least else {
            let is_told =
                |e: &Error| matches!(e, Error::Panic { message: told, .. } if *told == message);
            assert!(result.as_ref().is_err_and(is_told), "{:?}", result.err());
            continue;
        };
        let (draws, records) = result.unwrap();
        let n = draws.n_draws();
        assert!((least..=most).contains(&n), "{place}: {n}");
        assert!(records.iter().all(|r| *r >= n), "{place}: {records:?}");
        assert_eq!(draws.values(), whole.values().slice(ndarray::s![.., ..n, ..]));
        let told = draws.info().panic.as_ref().unwrap();
        assert!(told.ends_with(&format!(" panicked: {message}")), "{told}");
        // The configuration is the kernel's name here, so only the recorder's panics can be mended
        // in a test: the run then goes on.
        if place == "record" {
            let mended = Sampler::new(&target, Clumsy(place)).warmup(5).draws(50).threads(2);
            let (draws, records) =
                mended.checkpoint(&path, Every::Draws(10)).run_with(&Clumsy("")).unwrap();
            assert_same(&draws, &whole);
            assert_eq!(records, [50; 4]);
        }
    }
}
