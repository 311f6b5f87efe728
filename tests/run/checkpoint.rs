//! Checkpoints: a run that was stopped or extended gives the draws of one that was not.

use std::path::{Path, PathBuf};

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Every, Kernel, Step, WarmupProgress};
use bnn_mcmc::targets::Point;
use bnn_mcmc::testing::GaussianTarget;
use rand::RngCore;
use serde::{Deserialize, Serialize};
use shared::stopping::Stopping;

use crate::fixtures::{assert_same, gaussian};

/// The files of a run in a folder of their own.
pub struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("run.checkpoint")
    }
    pub fn draws(&self) -> PathBuf {
        self.folder.path().join("run.checkpoint.draws")
    }
    pub fn temporary(&self) -> PathBuf {
        self.folder.path().join("run.checkpoint.tmp")
    }
    pub fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|f| (f.clone(), std::fs::read(f).unwrap())).collect()
    }
    pub fn copy(&self) -> Self {
        let copy = Self::new();
        for (file, bytes) in self.contents() {
            std::fs::write(copy.folder.path().join(file.file_name().unwrap()), bytes).unwrap();
        }
        copy
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
    let preconditioner = Preconditioner::DenseFromGradients;
    stopped_equals_uninterrupted(&Nuts { preconditioner, ..Nuts::default() }, 3);
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

pub fn short(path: &Path, draws: usize) -> Result<Draws, Error> {
    let target = gaussian();
    Sampler::new(&target, Mala::default())
        .chains(2)
        .warmup(60)
        .draws(draws)
        .seed(5)
        .checkpoint(path, Every::Draws(10))
        .run()
}

pub fn without_checkpoint(draws: usize) -> Draws {
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
