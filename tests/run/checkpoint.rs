//! Checkpoints: a run that was stopped, killed or extended gives the draws of one that was not, and
//! files that cannot be trusted are refused and left alone.
//!
//! A few processes are killed in every test run. A hundred, with a report:
//!
//!     cargo test --release --test run checkpoint:: -- --ignored --nocapture

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Every, Kernel, Phase, Step, WarmupProgress};
use bnn_mcmc::targets::{BoxSupport, Point};
use bnn_mcmc::testing::GaussianTarget;
use proptest::prelude::*;
use rand::RngCore;
use serde::{Deserialize, Serialize};

use crate::stopping::Stopping;

fn gaussian() -> GaussianTarget {
    GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.6, 0.6, 2.0]).unwrap()
}

/// Values, statistics and counts, bit for bit.
#[track_caller]
fn assert_same(a: &Draws, b: &Draws) {
    let bits = |d: &Draws| -> Vec<u64> {
        let stats = d.stat_names().iter().map(|s| d.stat(s).unwrap().to_owned());
        let stats: Vec<f64> = stats.flatten().collect();
        d.values().iter().chain(&stats).map(|x| x.to_bits()).collect()
    };
    assert_eq!(a.values().dim(), b.values().dim());
    assert!(bits(a) == bits(b), "draws or statistics differ");
    assert_eq!(a.layout(), b.layout());
    assert_eq!(a.info().warmup_divergences, b.info().warmup_divergences);
    assert_eq!(a.info().warmup_gradient_evals, b.info().warmup_gradient_evals);
}

/// The files of a run in a folder of their own.
struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }
    fn path(&self) -> PathBuf {
        self.folder.path().join("run.checkpoint")
    }
    fn draws(&self) -> PathBuf {
        self.folder.path().join("run.checkpoint.draws")
    }
    fn temporary(&self) -> PathBuf {
        self.folder.path().join("run.checkpoint.tmp")
    }
    fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|f| (f.clone(), std::fs::read(f).unwrap())).collect()
    }
    fn copy(&self) -> Self {
        let copy = Self::new();
        for (file, bytes) in self.contents() {
            std::fs::write(copy.folder.path().join(file.file_name().unwrap()), bytes).unwrap();
        }
        copy
    }
}

/// A box that holds all starting points and cuts off much of the target.
impl BoxSupport for Stopping<GaussianTarget> {
    fn bounds(&self, lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error> {
        lower.copy_from_slice(&[f64::NEG_INFINITY, -2.0]);
        upper.copy_from_slice(&[2.0, 2.0]);
        Ok(())
    }
}

/// Stops a run again and again at random moments, resumes it, and compares with one that ran
/// through.
fn stopped_equals_uninterrupted<A>(algorithm: &A, seed: u64)
where
    A: Clone + Serialize + for<'t> Algorithm<&'t Stopping<GaussianTarget>>,
{
    let mut rng = ChainRng::new(seed, 0);
    let run = |left, checkpoint: Option<(PathBuf, Every)>, threads| {
        let stop = StopHandle::new();
        let target = Stopping::new(gaussian(), left, &stop, 1e-7);
        let sampler = Sampler::new(&target, algorithm.clone())
            .chains(3)
            .warmup(300)
            .draws(200)
            .thin(2)
            .seed(seed)
            .threads(threads)
            .stop_handle(&stop);
        match checkpoint {
            Some((path, every)) => sampler.checkpoint(path, every).run().unwrap(),
            None => sampler.run().unwrap(),
        }
    };
    let whole = run(i64::MAX, None, 1);
    let (mut unequal, mut in_warmup) = (0, 0);
    for every in [Every::Draws(37), Every::Seconds(0.0), Every::Seconds(1e9)] {
        for threads in [1, 4] {
            let files = Files::new();
            let head_size = || std::fs::metadata(files.path()).unwrap().len();
            let (mut stops, mut heads) = (0, Vec::new());
            loop {
                let left = (rng.next_u64() % 600) as i64;
                let draws = run(left, Some((files.path(), every)), threads);
                if !draws.info().stopped_early {
                    assert_same(&draws, &whole);
                    break;
                }
                stops += 1;
                in_warmup += usize::from(draws.n_draws() == 0);
                let common = std::fs::metadata(files.draws()).unwrap().len();
                assert_eq!(
                    common as usize,
                    draws.n_draws() * 3 * (2 + draws.stat_names().len()) * 8
                );
                if common > 0 {
                    heads.push(head_size());
                }
            }
            assert!(stops > 0);
            // Chains that were ahead of others had their draws in the head.
            unequal += heads.iter().filter(|size| **size > head_size() + 100).count();
            // Once more: everything is there, and nothing is written.
            let before = files.contents();
            assert_same(&run(i64::MAX, Some((files.path(), every)), threads), &whole);
            assert!(files.contents() == before);
        }
    }
    assert!(in_warmup > 0 && unequal > 0, "{in_warmup} {unequal}");
}

/// A proposal that serde can write down.
#[derive(Clone, Debug, Serialize)]
struct Wide;

impl Prior for Wide {
    fn log_density(&self, x: &[f64]) -> f64 {
        Normal::new(0.0, 3.0).unwrap().log_density(x)
    }
    fn add_grad(&self, x: &[f64], grad: &mut [f64]) -> f64 {
        Normal::new(0.0, 3.0).unwrap().add_grad(x, grad)
    }
    fn draw(&self, rng: &mut ChainRng, x: &mut [f64]) -> Result<(), Error> {
        Normal::new(0.0, 3.0)?.draw(rng, x)
    }
}

/// A kernel with everything that is hard to store: NaN among the statistics, infinities in the
/// state, no acceptance probability, a count of `freeze`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Odd {
    lowest: f64,
    kept: Option<(u128, String)>,
    freezes: u32,
    adapted: Vec<usize>,
}

impl<T: Target> Algorithm<T> for Odd {
    type Kernel = Odd;
    fn name(&self) -> String {
        "Odd".into()
    }
    fn kernel(&self, _: &T, _: &ChainRng) -> Result<Odd, Error> {
        Ok(Odd { lowest: f64::INFINITY, ..self.clone() })
    }
}

impl<T: Target> Kernel<T> for Odd {
    type State = Odd;
    fn state(&self) -> Odd {
        self.clone()
    }
    fn restore(&mut self, state: Odd) {
        *self = state;
    }
    fn step(&mut self, t: &T, at: &mut Point, ws: &mut T::Workspace, rng: &mut ChainRng) -> Step {
        at.set(|q| q.iter_mut().for_each(|q| *q = 0.9 * *q + rng.normal()));
        at.eval(t, ws);
        let count = self.kept.as_ref().map_or(u128::MAX / 2, |k| k.0) + 1;
        self.kept = Some((count, "word".into()));
        if count.is_multiple_of(50) {
            self.lowest = self.lowest.min(at.q()[0]);
        }
        Step { accept_prob: None, accepted: true, divergent: false, gradient_evals: 0 }
    }
    fn adapt(&mut self, _: &Step, _: &Point, warmup: WarmupProgress) {
        self.adapted.push(warmup.iteration);
    }
    fn freeze(&mut self) {
        assert!(self.adapted.iter().copied().eq(0..self.adapted.len()));
        self.freezes += 1;
    }
    fn stat_names(&self) -> Vec<String> {
        ["lowest", "count", "nan", "freezes"].map(String::from).to_vec()
    }
    fn stats(&self, out: &mut [f64]) {
        let count = self.kept.as_ref().map_or(0, |k| k.0 % 1000);
        let nan = f64::from_bits(f64::NAN.to_bits() | count as u64);
        out.copy_from_slice(&[self.lowest, count as f64, nan, f64::from(self.freezes)]);
    }
}

#[test]
fn a_stopped_run_goes_on_exactly() {
    let kinds = [Preconditioner::Identity, Preconditioner::Diagonal, Preconditioner::Dense];
    for (seed, preconditioner) in kinds.into_iter().enumerate() {
        let seed = seed as u64;
        stopped_equals_uninterrupted(&Mala { preconditioner, ..Mala::default() }, seed);
        stopped_equals_uninterrupted(&Rwm { preconditioner, ..Rwm::default() }, 10 + seed);
    }
    stopped_equals_uninterrupted(&TruncatedMala::default(), 70);
    for (seed, preconditioner) in
        kinds.into_iter().chain([Preconditioner::DiagonalFromGradients]).enumerate()
    {
        let seed = 40 + 2 * seed as u64;
        stopped_equals_uninterrupted(&Nuts { preconditioner, ..Nuts::default() }, seed);
        stopped_equals_uninterrupted(&Hmc { preconditioner, ..Hmc::default() }, seed + 1);
        stopped_equals_uninterrupted(&Mams { preconditioner, ..Mams::default() }, seed + 2);
        stopped_equals_uninterrupted(&Mclmc { preconditioner, ..Mclmc::default() }, seed + 20);
        let tuned = Hmc { preconditioner, adapt_path_length: true, ..Hmc::default() };
        stopped_equals_uninterrupted(&tuned, seed + 3);
    }
    stopped_equals_uninterrupted(&Baoab::<FullGrad>::default(), 80);
    let lm = LeimkuhlerMatthews { step_size: 0.2, ..LeimkuhlerMatthews::new(FullGrad) };
    stopped_equals_uninterrupted(&lm, 81);
    // The statistics of a kernel that is seldom used outlast a stop.
    let second = Rwm::default();
    let mixture = Mixture { first: Nuts::default(), second: second.clone(), probability: 0.2 };
    stopped_equals_uninterrupted(&mixture, 60);
    let mixture = Mixture { first: Hmc::default(), second, probability: 0.2 };
    stopped_equals_uninterrupted(&mixture, 61);
    stopped_equals_uninterrupted(&Independence { proposal: Wide }, 20);
    stopped_equals_uninterrupted(&Odd::default(), 30);
}

#[test]
fn a_network_goes_on_exactly() {
    let rows = ndarray::Array2::from_shape_fn((40, 2), |(i, j)| ((7 * i + 3 * j) as f64).sin());
    let y = ndarray::Array1::from_iter(rows.rows().into_iter().map(|r| r[0] * r[1]));
    let data = Dataset::regression(rows, y).unwrap();
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(network, Gaussian::fixed(0.1).unwrap(), &data, priors).unwrap();
    let files = Files::new();
    let run = |draws| {
        Sampler::new(&posterior, Mala::default())
            .warmup(100)
            .draws(draws)
            .checkpoint(files.path(), Every::default())
            .run()
            .unwrap()
    };
    run(20);
    run(50);
    let whole = Sampler::new(&posterior, Mala::default()).warmup(100).draws(60).run().unwrap();
    assert_same(&run(60), &whole);
}

fn short(path: &Path, draws: usize) -> Result<Draws, Error> {
    let target = gaussian();
    Sampler::new(&target, Mala::default())
        .chains(2)
        .warmup(60)
        .draws(draws)
        .seed(5)
        .checkpoint(path, Every::Draws(10))
        .run()
}

fn without_checkpoint(draws: usize) -> Draws {
    let target = gaussian();
    let sampler = Sampler::new(&target, Mala::default()).chains(2).warmup(60).draws(draws).seed(5);
    sampler.run().unwrap()
}

#[test]
fn a_finished_run_can_be_extended_and_cut() {
    let files = Files::new();
    for draws in [0, 7, 40] {
        assert_same(&short(&files.path(), draws).unwrap(), &without_checkpoint(draws));
    }
    let before = files.contents();
    for draws in [0, 13, 40] {
        assert_same(&short(&files.path(), draws).unwrap(), &without_checkpoint(draws));
        assert!(files.contents() == before, "fewer draws leave the files alone");
    }
    assert_same(&short(&files.path(), 55).unwrap(), &without_checkpoint(55));
    assert_eq!(files.contents().len(), 2, "no temporary file is left");
}

/// N(0, I), up to a constant.
struct Standard;

const DIM: usize = 20_000;

impl Target for Standard {
    type Workspace = ();
    fn dim(&self) -> usize {
        DIM
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::new(-0.5 * q.iter().map(|q| q * q).sum::<f64>(), 0.0)
    }
}

impl GradTarget for Standard {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad.iter_mut().zip(q).for_each(|(g, q)| *g = -q);
        self.log_density(q, ws)
    }
}

#[test]
fn a_head_has_the_documented_size() {
    /// Bytes per parameter and chain, in a window of warm-up in which scales are learnt, and after
    /// warm-up.
    fn bytes<A>(algorithm: A) -> [f64; 2]
    where
        A: Clone + Serialize + for<'t> Algorithm<&'t Standard>,
    {
        [true, false].map(|in_warmup| {
            let (files, stop) = (Files::new(), StopHandle::new());
            let draws = Sampler::new(&Standard, algorithm.clone())
                .chains(2)
                .warmup(300)
                .draws(2)
                .stop_handle(&stop)
                .on_progress(|p| {
                    if in_warmup && p.done == 200 {
                        stop.stop();
                    }
                })
                .checkpoint(files.path(), Every::Draws(40))
                .run()
                .unwrap();
            assert_eq!(draws.n_draws() == 0, in_warmup);
            std::fs::metadata(files.path()).unwrap().len() as f64 / (2 * DIM) as f64
        })
    }
    let mass = Mass::Diagonal((0..DIM).map(|i| 1.0 + i as f64 / DIM as f64).collect());
    for (name, [warmup, after], found) in [
        ("Rwm", [54.0, 36.0], bytes(Rwm::default())),
        ("Mala", [54.0, 36.0], bytes(Mala::default())),
        ("Hmc", [72.0, 36.0], bytes(Hmc { max_steps: 3, ..Hmc::default() })),
        ("Nuts", [72.0, 36.0], bytes(Nuts { max_depth: 3, ..Nuts::default() })),
        ("Baoab", [36.0; 2], bytes(Baoab::<FullGrad>::default())),
        ("with masses", [36.0; 2], bytes(Baoab { mass, ..Baoab::<FullGrad>::default() })),
    ] {
        println!("{name}: {found:.1?}");
        let near = |a: f64, b: f64| (a - b).abs() < 0.5;
        assert!(near(found[0], warmup) && near(found[1], after), "{name}: {found:?}");
    }
}

#[test]
fn the_file_of_draws_is_a_plain_array() {
    let files = Files::new();
    let draws = short(&files.path(), 30).unwrap();
    let bytes = std::fs::read(files.draws()).unwrap();
    let numbers: Vec<f64> =
        bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    let width = 2 + draws.stat_names().len();
    for chain in 0..2 {
        for d in 0..30 {
            let row = &numbers[(2 * d + chain) * width..][..width];
            assert_eq!(row[..2], *draws.draw(chain, d).unwrap());
            assert_eq!(row[2], draws.stat("log_likelihood").unwrap()[(chain, d)]);
        }
    }
}

/// The error of a resume that must fail and must leave all files as they are.
#[track_caller]
fn refused(files: &Files, run: impl FnOnce() -> Result<Draws, Error>) -> Error {
    let before = files.contents();
    let error = run().expect_err("must be refused");
    assert!(files.contents() == before, "the files were changed");
    error
}

#[test]
fn another_run_is_refused_by_name() {
    type Change = fn(Sampler<'_, GaussianTarget, Mala>) -> Sampler<'_, GaussianTarget, Mala>;
    let files = Files::new();
    let run = |target: &GaussianTarget, mala: Mala, change: Change| {
        let init = Init::Points(vec![vec![0.5, 0.25]; 2]);
        change(Sampler::new(target, mala).chains(2).warmup(20).draws(20).init(init))
            .checkpoint(files.path(), Every::default())
            .run()
    };
    let same: Change = |s| s;
    run(&gaussian(), Mala::default(), same).unwrap();
    let check = |error: Error, message: &str| {
        let text = error.to_string();
        assert!(error.is_checkpoint() && text.contains("belongs to another run"), "{text}");
        assert!(text.contains(message) && text.contains("run.checkpoint"), "{text}");
    };
    let changes: [(Change, &str); 6] = [
        (|s| s.seed(3), "`seed` is 0 there and 3 here"),
        (|s| s.warmup(21), "`warmup` is 20 there and 21 here"),
        (|s| s.thin(2), "`thin` is 1 there and 2 here"),
        (|s| s.chains(1).init(Init::Points(vec![vec![0.5, 0.25]])), "`chains` is 2 there and 1"),
        (
            |s| s.init(Init::Points(vec![vec![0.5, 0.25], vec![0.5, 0.26]])),
            "coordinate 1 of the starting point of chain 1 is 0.25 there and 0.26 here",
        ),
        (|s| s.init(Init::Random), "coordinate 0 of the starting point of chain 0 is 0.5 there"),
    ];
    for (change, message) in changes {
        check(refused(&files, || run(&gaussian(), Mala::default(), change)), message);
    }
    let configs = [
        (Mala { step_size: 0.2, ..Mala::default() }, "`algorithm.step_size` is 0.1 there and 0.2"),
        (
            Mala { preconditioner: Preconditioner::Dense, ..Mala::default() },
            "`algorithm.preconditioner` is Diagonal there and Dense here",
        ),
    ];
    for (mala, message) in configs {
        check(refused(&files, || run(&gaussian(), mala, same)), message);
    }
    // Other data: the parameters are the same, the density is not.
    let other = GaussianTarget::new(vec![1.0, -2.0001], &[1.0, 0.6, 0.6, 2.0]).unwrap();
    let error = refused(&files, || run(&other, Mala::default(), same));
    check(error, "log likelihood at the position of chain 0 is -");
    let wider = GaussianTarget::standard(3).unwrap();
    let error = refused(&files, || {
        Sampler::new(&wider, Mala::default())
            .chains(2)
            .warmup(20)
            .checkpoint(files.path(), Every::default())
            .run()
    });
    check(error, "`parameters` is q[2] there and q[3] here");
    // A sampler with the same configuration is another sampler.
    #[derive(Serialize)]
    struct Twin(Mala);
    impl<T: GradTarget> Algorithm<T> for Twin {
        type Kernel = <Mala as Algorithm<T>>::Kernel;
        fn name(&self) -> String {
            "Twin".into()
        }
        fn kernel(&self, target: &T, rng: &ChainRng) -> Result<Self::Kernel, Error> {
            self.0.kernel(target, rng)
        }
    }
    let error = refused(&files, || {
        Sampler::new(&gaussian(), Twin(Mala::default()))
            .chains(2)
            .warmup(20)
            .init(Init::Points(vec![vec![0.5, 0.25]; 2]))
            .checkpoint(files.path(), Every::default())
            .run()
    });
    check(error, "`name of the algorithm` is Mala there and Twin here");
    run(&gaussian(), Mala::default(), same).unwrap();
}

#[test]
fn damaged_and_foreign_files_are_refused_and_left_alone() {
    let files = Files::new();
    short(&files.path(), 12).unwrap();
    let whole = files.contents();
    let (head, draws) = (&whole[0].1, &whole[1].1);
    let check = |file: &Path, bytes: &[u8], message: &str| {
        std::fs::write(file, bytes).unwrap();
        let error = refused(&files, || short(&files.path(), 20));
        assert!(error.is_checkpoint() && error.to_string().contains(message), "{error}");
        for (file, bytes) in &whole {
            std::fs::write(file, bytes).unwrap();
        }
    };
    check(&files.path(), b"", "it is empty");
    check(&files.path(), b"chain,draw,a\n0,0,1.5\n0,1,2.5\n0,2,3.5\n", "not a checkpoint of bnn");
    check(&files.path(), &std::fs::read("Cargo.lock").unwrap(), "not a checkpoint of bnn");
    check(&files.path(), &[head.clone(), vec![0]].concat(), "truncated or damaged");
    check(&files.draws(), b"", "it is truncated: 0 bytes are left of");
    let step = 1 + head.len() / 97;
    for n in (1..head.len()).step_by(step) {
        check(&files.path(), &head[..n], "truncated");
    }
    for n in (1..draws.len()).step_by(1 + draws.len() / 47) {
        check(&files.draws(), &draws[..n], "truncated");
    }
    for i in (0..head.len()).step_by(step) {
        let mut bytes = head.clone();
        bytes[i] ^= 1 << (i % 8);
        let message = match i {
            0..16 => "not a checkpoint",
            16..20 => "version",
            _ => "damaged",
        };
        check(&files.path(), &bytes, message);
    }
    for i in (0..draws.len()).step_by(1 + draws.len() / 47) {
        let mut bytes = draws.clone();
        bytes[i] ^= 1 << (i % 8);
        check(&files.draws(), &bytes, "it is damaged: its checksum is wrong");
    }
    let mut newer = head.clone();
    newer[16] += 1;
    check(&files.path(), &newer, "its format has version 5, this crate reads 4");

    // One of the two files alone.
    std::fs::remove_file(files.draws()).unwrap();
    assert!(refused(&files, || short(&files.path(), 20)).is_io());
    std::fs::write(files.draws(), draws).unwrap();
    std::fs::remove_file(files.path()).unwrap();
    let error = refused(&files, || short(&files.path(), 20));
    assert!(error.is_checkpoint() && error.to_string().contains("is missing"), "{error}");
    std::fs::write(files.path(), head).unwrap();
    assert_same(&short(&files.path(), 20).unwrap(), &without_checkpoint(20));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever happens to the files, a resume gives the right draws or an error that leaves them
    /// as they are, never a panic.
    #[test]
    fn no_damage_panics_or_slips_through(
        which in 0..2usize,
        kind in 0..4usize,
        (at, to) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        garbage in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let files = Files::new();
        short(&files.path(), 12).unwrap();
        let (file, mut bytes) = files.contents().swap_remove(which);
        let (at, to) = (at.index(bytes.len()), to.index(bytes.len()));
        let (low, high) = (at.min(to), at.max(to));
        match kind {
            0 => bytes.truncate(at),
            1 => drop(bytes.splice(low..high, garbage)),
            2 => bytes.iter_mut().skip(at).zip(garbage).for_each(|(b, g)| *b = g),
            _ => bytes.swap(at, to),
        }
        std::fs::write(&file, &bytes).unwrap();
        let before = files.contents();
        match short(&files.path(), 15) {
            Ok(draws) => assert_same(&draws, &without_checkpoint(15)),
            Err(error) => {
                prop_assert!(error.is_checkpoint(), "{error}");
                prop_assert!(files.contents() == before);
            }
        }
    }
}

#[test]
fn a_checkpoint_that_cannot_be_written_loses_nothing() {
    // Before the run: an error, at once.
    let error = short(Path::new("/nowhere/at/all"), 10).unwrap_err();
    assert!(error.is_io() && error.to_string().contains("/nowhere/at/all"), "{error}");
    let target = gaussian();
    for every in [Every::Draws(0), Every::Seconds(-1.0), Every::Seconds(f64::NAN)] {
        let files = Files::new();
        let run = Sampler::new(&target, Rwm::default()).checkpoint(files.path(), every).run();
        assert!(run.unwrap_err().to_string().contains("`every`"));
        assert!(files.contents().is_empty());
    }

    // During the run: a folder stands where the temporary file should be, for a while or for good.
    for for_good in [false, true] {
        let files = Files::new();
        let mut failures = 0;
        let draws = Sampler::new(&target, Mala::default())
            .chains(2)
            .warmup(60)
            .draws(100)
            .seed(5)
            .checkpoint(files.path(), Every::Draws(10))
            .on_progress(|p| {
                failures += usize::from(p.checkpoint_failed);
                match (p.phase, p.done) {
                    (Phase::Sampling, 30) => std::fs::create_dir(files.temporary()).unwrap(),
                    (Phase::Sampling, 80) if !for_good => {
                        std::fs::remove_dir(files.temporary()).unwrap()
                    }
                    _ => {}
                }
            })
            .run()
            .unwrap();
        assert!(failures >= 5, "{failures}");
        assert_same(&draws, &without_checkpoint(100));
        let error = &draws.info().checkpoint_error;
        assert_eq!(error.is_some(), for_good, "{error:?}");
        if for_good {
            assert!(error.as_ref().unwrap().contains("run.checkpoint"), "{error:?}");
            std::fs::remove_dir(files.temporary()).unwrap();
        }
        assert_same(&short(&files.path(), 110).unwrap(), &without_checkpoint(110));
    }
}

#[test]
fn two_runs_cannot_share_a_checkpoint() {
    let files = Files::new();
    let target = gaussian();
    let mut second = None;
    Sampler::new(&target, Mala::default())
        .chains(2)
        .warmup(60)
        .draws(30)
        .seed(5)
        .checkpoint(files.path(), Every::default())
        .on_progress(|_| second = Some(short(&files.path(), 30).unwrap_err()))
        .run()
        .unwrap();
    let second = second.unwrap().to_string();
    assert!(second.contains("another process is using"), "{second}");
}

// Killed processes. The run of parent and child; its length is such that kills hit both phases.

fn long_run(checkpoint: Option<&Path>, every: Every) -> Draws {
    let target = GaussianTarget::standard(10).unwrap();
    let mala = Mala { preconditioner: Preconditioner::Dense, ..Mala::default() };
    let sampler = Sampler::new(&target, mala).chains(3).warmup(1500).draws(1500).seed(8);
    match checkpoint {
        Some(path) => sampler.checkpoint(path, every).run().unwrap(),
        None => sampler.run().unwrap(),
    }
}

const CHILD: &str = "BNN_MCMC_CHECKPOINT_CHILD";

/// Not a test of its own: what the killed processes run.
#[test]
fn child_process() {
    if let Some(path) = std::env::var_os(CHILD) {
        long_run(Some(Path::new(&path)), Every::Draws(20));
    }
}

/// Kills processes at random moments until `kills` were killed, over as many runs as that takes.
/// After each kill a copy of the files is resumed to the end and compared, and the next process
/// goes on with the files themselves.
fn kill(kills: usize, seed: u64) {
    let whole = long_run(None, Every::default());
    let mut rng = ChainRng::new(seed, 0);
    let (mut killed, mut finished) = (0, 0);
    let [mut begun, mut warmup, mut sampling, mut between, mut temporary] = [0; 5];
    let mut files = Files::new();
    let spawn = |files: &Files| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "checkpoint::child_process"])
            .env(CHILD, files.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let began = Instant::now();
    assert!(spawn(&files).wait().unwrap().success());
    let duration = began.elapsed();
    assert_same(&long_run(Some(&files.path()), Every::default()), &whole);
    files = Files::new();
    while killed < kills {
        let mut child = spawn(&files);
        std::thread::sleep(duration.mul_f64(0.7 * rng.uniform()).max(Duration::from_millis(1)));
        // A process that has ended is not killed any more: its own success is reported.
        child.kill().unwrap();
        let success = child.wait().unwrap().success();
        if success {
            finished += 1;
        } else {
            killed += 1;
            let draws = std::fs::metadata(files.draws()).map_or(0, |m| m.len());
            match head_vouches_for(&files.path()) {
                None => begun += 1,
                Some(0) => warmup += 1,
                Some(_) => sampling += 1,
            }
            between += usize::from(draws > head_vouches_for(&files.path()).unwrap_or(0));
            temporary += usize::from(files.temporary().exists());
        }
        let copy = files.copy();
        assert_same(&long_run(Some(&copy.path()), Every::default()), &whole);
        if success {
            files = Files::new();
        }
    }
    println!(
        "{killed} kills, {killed} exact resumes; killed before the first checkpoint {begun}, in \
         warm-up {warmup}, in sampling {sampling}; with draws that no head vouches for {between}, \
         with a temporary file {temporary}; {finished} other processes finished first"
    );
}

/// The length that the head at `path` gives to the file of draws.
fn head_vouches_for(path: &Path) -> Option<u64> {
    let head = std::fs::read(path).ok()?;
    let mut payload = &head[32..];
    let _: serde_json::Value = cbor4ii::serde::from_reader(&mut payload).unwrap();
    let content: serde_json::Value = cbor4ii::serde::from_reader(&mut payload).unwrap();
    content["bytes"].as_u64()
}

#[test]
fn a_killed_process_is_resumed_exactly() {
    kill(5, 1);
}

#[test]
#[ignore = "takes a minute; run by hand, see the top of this file"]
fn a_hundred_killed_processes_are_resumed_exactly() {
    kill(100, 2);
}
