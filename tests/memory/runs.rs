//! A run that keeps statistics only holds a few vectors as long as q, for any number of draws; and
//! no built-in recorder allocates when it records.

use bnn_mcmc::draws::recorder::{ChainPlan, OneDraw};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel, Step};
use bnn_mcmc::targets::Point;
use ndarray::Array2;

use crate::allocator::{allocations_of_thread, alone, peak};

/// N(0, 1) in d dimensions, without memory of its own.
struct Standard(usize);

impl Target for Standard {
    type Workspace = ();
    fn dim(&self) -> usize {
        self.0
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(-0.5 * q.iter().map(|q| q * q).sum::<f64>())
    }
}

impl GradTarget for Standard {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad.iter_mut().zip(q).for_each(|(g, q)| *g = -q);
        self.log_density(q, ws)
    }
}

/// A kernel without memory of its own: an autoregression, exact for [`Standard`].
#[derive(Clone, serde::Serialize)]
struct Plain;

impl<T: Target> Algorithm<T> for Plain {
    type Kernel = Plain;
    fn name(&self) -> String {
        "Plain".into()
    }
    fn kernel(&self, _: &T, _: &ChainRng) -> Result<Plain, Error> {
        Ok(Plain)
    }
}

impl<T: Target> Kernel<T> for Plain {
    type State = ();
    fn state(&self) {}
    fn restore(&mut self, (): ()) {}
    fn step(&mut self, t: &T, at: &mut Point, ws: &mut T::Workspace, rng: &mut ChainRng) -> Step {
        at.set(|q| q.iter_mut().for_each(|q| *q = 0.6 * *q + 0.8 * rng.normal()));
        at.eval(t, ws);
        Step { accept_prob: None, accepted: true, divergent: false, gradient_evals: 0 }
    }
}

const D: usize = 50_000;

/// Peak of a run of one chain in vectors as long as q.
fn vectors<R: Recorder<Standard>>(recorder: &R, draws: usize, keep: Keep, checkpoint: bool) -> f64 {
    let target = Standard(D);
    let folder = tempfile::tempdir().unwrap();
    let (_, bytes) = peak(|| {
        let sampler = Sampler::new(&target, Plain).chains(1).warmup(5).draws(draws).keep(keep);
        let run = match checkpoint {
            true => {
                let path = folder.path().join("run");
                sampler.checkpoint(path, Every::Draws(20)).run_with(recorder)
            }
            false => sampler.run_with(recorder),
        };
        assert_eq!(run.unwrap().0.n_draws(), draws);
    });
    bytes as f64 / (8 * D) as f64
}

#[test]
fn statistics_alone_take_a_few_vectors() {
    alone(|| {
        // The pool of threads and other things that are set up once.
        vectors(&(), 20, Keep::Statistics, true);
        let few = |draws, checkpoint| vectors(&(), draws, Keep::Statistics, checkpoint);
        println!(
            "{:.3} {:.3} vectors, with checkpoints {:.3}",
            few(50, false),
            few(200, false),
            few(50, true)
        );
        for draws in [50, 200] {
            // Position, gradient, candidate for the start; six statistics per draw.
            assert!((2.99..3.2).contains(&few(draws, false)), "{}", few(draws, false));
            // Its start, a copy of the state, and the encoded state, which grows by doubling.
            assert!((10.0..13.5).contains(&few(draws, true)), "{}", few(draws, true));
        }
        // The measure sees what is stored: the draws, which are not copied.
        let all = vectors(&(), 50, Keep::All, false);
        assert!((52.0..54.0).contains(&all), "{all}");
        // Recorders take what their documentation says.
        let moments = vectors(&Moments, 50, Keep::Statistics, false);
        assert!((3.99..4.2).contains(&moments), "{moments}");
        let stored = vectors(&EveryKth { every: 5, keep: Keep::All }, 100, Keep::Statistics, false);
        assert!((12.0..13.2).contains(&stored), "{stored}"); // 20 rows of f32, and 2 vectors
        let folder = tempfile::tempdir().unwrap();
        let on_disk = OnDisk { path: folder.path().join("rows"), every: 5, keep: Keep::All };
        let written = vectors(&on_disk, 100, Keep::Statistics, false);
        assert!((2.5..3.2).contains(&written), "{written}");
    });
}

/// Very many draws of one parameter: what a run and its summary take at most, in units of the draws with
/// their statistics.
#[test]
fn a_long_run_and_its_summary_take_a_small_multiple_of_the_draws() {
    alone(|| {
        let target = Standard(1);
        let (chains, draws) = (4, 250_001);
        let size = (8 * chains * draws * (1 + 6)) as f64;
        let run = || {
            let sampler = Sampler::new(&target, Plain).chains(chains).warmup(5).draws(draws);
            sampler.threads(1).run().unwrap()
        };
        let alone = peak(|| drop(run())).1 as f64 / size;
        let with_summary = peak(|| drop(run().summary().unwrap())).1 as f64 / size;
        let with_verdict = peak(|| drop(run().verdict().unwrap())).1 as f64 / size;
        println!("run {alone:.3}, with summary {with_summary:.3}, with verdict {with_verdict:.3}");
        assert!((1.7..1.8).contains(&alone), "{alone}");
        assert!((2.0..4.0).contains(&with_summary), "{with_summary}");
        assert!((2.0..4.0).contains(&with_verdict), "{with_verdict}");
    });
}

/// Peak of a run of one chain in vectors as long as q, with its warm-up.
fn vectors_of<A: for<'t> Algorithm<&'t Standard>>(algorithm: A) -> f64 {
    let target = Standard(D);
    let (_, bytes) = peak(|| {
        let sampler = Sampler::new(&target, algorithm).chains(1).warmup(50).draws(20);
        sampler.keep(Keep::Statistics).run().unwrap();
    });
    bytes as f64 / (8 * D) as f64
}

#[test]
fn kernels_take_what_the_documentation_says() {
    alone(|| {
        vectors(&(), 20, Keep::Statistics, true);
        let small = 1e-3;
        let nuts = Nuts { max_depth: 5, ..Nuts::default() };
        let found = [
            ("Rwm", vectors_of(Rwm { step_size: small, ..Rwm::default() })),
            ("Mala", vectors_of(Mala { step_size: small, ..Mala::default() })),
            ("Hmc", vectors_of(Hmc { max_steps: 5, ..Hmc::default() })),
            ("Nuts, depth 5", vectors_of(nuts.clone())),
            ("Nuts, depth 6", vectors_of(Nuts { max_depth: 6, ..nuts })),
            ("Baoab", vectors_of(Baoab { step_size: small, ..Baoab::new(FullGrad) })),
            (
                "LeimkuhlerMatthews",
                vectors_of(LeimkuhlerMatthews {
                    step_size: small,
                    ..LeimkuhlerMatthews::new(FullGrad)
                }),
            ),
        ];
        println!("{found:.2?}");
        let documented = [11.0, 14.0, 15.0, 26.0 + 5.0 * 5.0, 26.0 + 6.0 * 5.0, 6.0, 6.0];
        for ((name, found), documented) in found.into_iter().zip(documented) {
            assert!((documented..documented + 0.1).contains(&found), "{name}: {found}");
        }
    });
}

/// How often the recorder allocates, in this thread, while it records 20 draws, after the first few.
/// Recorders use no other thread, and the test harness allocates in its own at any time.
fn allocations<T: Target, R: Recorder<T>>(target: &T, recorder: &R) -> usize {
    let plan = ChainPlan { chain: 0, chains: 1, chains_here: 1, draws: 30, run: 0 };
    let mut record = recorder.begin(target, plan, None).unwrap();
    let mut ws = target.workspace();
    let q = vec![0.1; target.dim()];
    let log_density = target.log_density(&q, &mut ws);
    let mut record_draw = |index| {
        let draw = OneDraw { index, q: &q, log_density };
        recorder.record(&mut record, target, draw, &mut ws).unwrap();
    };
    (0..10).for_each(&mut record_draw);
    allocations_of_thread(|| (10..30).for_each(record_draw))
}

struct Allocating;

impl<T: Target> Recorder<T> for Allocating {
    type Record = Vec<f64>;
    type State = Vec<f64>;
    fn name(&self) -> String {
        "Allocating".into()
    }
    fn begin(&self, _: &T, _: ChainPlan, from: Option<Vec<f64>>) -> Result<Vec<f64>, Error> {
        Ok(from.unwrap_or_default())
    }
    fn record(
        &self,
        last: &mut Vec<f64>,
        _: &T,
        draw: OneDraw,
        _: &mut T::Workspace,
    ) -> Result<(), Error> {
        *last = draw.q.to_vec();
        Ok(())
    }
    fn state(&self, last: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(last.clone())
    }
}

#[test]
fn recording_does_not_allocate() {
    alone(|| {
        let x = Array2::from_shape_fn((70, 2), |(i, j)| ((7 * i + 3 * j) as f64).sin());
        let class = (0..70).map(|i| i % 3).collect();
        let data = Dataset::classification(x, class, ["a", "b", "c"]).unwrap();
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
        let network = Mlp::new(&[2, 3, 3], Activation::Tanh).unwrap();
        let posterior = Posterior::new(network, Categorical, &data, priors).unwrap();
        let x = data.x().view();
        let uncertainty = StreamedUncertainty::new(&posterior, x).unwrap().along(&[1, 2]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let on_disk = OnDisk { path: folder.path().join("rows"), every: 2, keep: Keep::All };
        assert!(allocations(&posterior, &Allocating) >= 20);
        assert_eq!(allocations(&posterior, &Moments), 0);
        assert_eq!(allocations(&posterior, &EveryKth { every: 2, keep: Keep::All }), 0);
        assert_eq!(allocations(&posterior, &on_disk), 0);
        assert_eq!(allocations(&posterior, &uncertainty), 0);
        assert_eq!(allocations(&posterior, &StreamedMoments::new(&posterior, x).unwrap()), 0);
    });
}

/// Rows are taken in blocks: what leave-one-out holds grows with the draws by a thread's scratch memory only.
#[test]
fn leave_one_out_does_not_hold_draws_times_rows() {
    alone(|| {
        let rows = 1_500;
        let x = Array2::from_shape_fn((rows, 1), |(i, _)| (i as f64).sin());
        let y = x.mapv(|x| x + (50.0 * x).sin());
        let data = Dataset::regression(x, y).unwrap();
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
        let linear = Linear::new(1, 1).unwrap();
        let posterior =
            Posterior::new(linear, Gaussian::fixed(1.0).unwrap(), &data, priors).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let megabytes = |draws| {
            let draws = posterior.prior_draws(draws, 1).unwrap();
            let (loo, bytes) = peak(|| pool.install(|| posterior.loo(&draws)));
            assert_eq!(loo.unwrap().rows.len(), rows);
            bytes as f64 / 1e6
        };
        megabytes(4_000); // what is set up once
        let (few, many) = (megabytes(4_000), megabytes(16_000));
        println!("4,000 draws: {few:.1} MB of 48, 16,000 draws: {many:.1} MB of 192");
        assert!((24.0..34.0).contains(&few) && (24.0..34.0).contains(&many), "{few} {many}");
    });
}
