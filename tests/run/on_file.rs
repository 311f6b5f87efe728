//! Posteriors whose rows lie in a file: the same draws as in memory, and no work lost when the file fails.

use std::fs;
use std::path::PathBuf;

use bnn_mcmc::approximate::LaplaceApproximation;
use bnn_mcmc::data::{MinMax, RowFile, Standardise, Stored, Transform};
use bnn_mcmc::optimise::{Adam, Optimiser};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Every, LangevinGradient};
use bnn_mcmc::targets::{
    Curvature, DescentRule, GradTarget, Marginal, MinibatchTarget, Objective, Pass, Target,
};
use ndarray::{Array1, Array2};
use shared::said;
use tempfile::TempDir;

use crate::fixtures::assert_same;

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The rows in a file, written in blocks of 100.
    fn file(&self, name: &str, data: &Dataset, stored: Stored) -> RowFile {
        let mut writer = RowFile::create(self.path(name), stored).unwrap();
        let rows: Vec<usize> = (0..data.rows()).collect();
        rows.chunks(100).for_each(|rows| writer.push(&data.select(rows).unwrap()).unwrap());
        assert_eq!(writer.rows(), data.rows());
        writer.finish().unwrap()
    }
}

fn features(rows: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, 5), |(i, j)| {
        ((7 * i + 3 * j * j) as f64 * 0.37).sin() * (1 + j) as f64
    })
}

fn regression(rows: usize) -> Dataset {
    let x = features(rows);
    let y = x.column(0).mapv(|x| (2.0 * x).tanh()) + x.column(1);
    Dataset::regression(x, y).unwrap()
}

fn priors() -> Priors {
    Priors::all(Normal::new(0.0, 1.0).unwrap())
}

/// With the prior of the noise.
fn noisy() -> Priors {
    priors().with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap())
}

fn pool() -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap()
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

/// Log densities and gradients, of all rows and of some, are the same bits. The tiles are five shares where rows times weights are
/// many, which threads of a pool have.
#[test]
fn densities_and_gradients_are_those_of_rows_in_memory() {
    fn same<M: Model, L: bnn_mcmc::likelihood::Likelihood>(
        a: &Posterior<M, L>,
        b: &Posterior<M, L>,
    ) {
        let q: Vec<f64> = (0..a.dim()).map(|i| 0.3 * (i as f64).cos()).collect();
        let [mut of_a, mut of_b] = [(); 2].map(|()| vec![0.0; q.len()]);
        let (mut ws_a, mut ws_b) = (a.workspace(), b.workspace());
        for _ in 0..2 {
            let in_pool = pool().install(|| b.log_density(&q, &mut b.workspace()));
            let densities = [a.log_density(&q, &mut ws_a), b.log_density(&q, &mut ws_b)];
            assert_eq!(densities[1], in_pool);
            assert_eq!(densities[0], densities[1]);
            assert!(densities[0].total().is_finite());
            let _ = a.log_density_grad(&q, &mut of_a, &mut ws_a);
            let _ = b.log_density_grad(&q, &mut of_b, &mut ws_b);
            assert_eq!(bits(&of_a), bits(&of_b));
        }
        let rows: Vec<usize> = (0..301).map(|i| (i * 37) % a.n_obs()).collect();
        let _ = a.minibatch_grad_at(1.0, &rows, &q, &mut of_a, &mut ws_a);
        let _ = b.minibatch_grad_at(1.0, &rows, &q, &mut of_b, &mut ws_b);
        assert_eq!(bits(&of_a), bits(&of_b));
    }
    let place = Place::new();
    for rows in [1, 191, 193, 20_000] {
        let data = regression(rows);
        let file = place.file("f64.rows", &data, Stored::F64);
        let model = || Mlp::new(&[5, 40, 30, 1], Activation::Tanh).unwrap();
        same(
            &Posterior::new(model(), Gaussian::sampled(), &data, noisy()).unwrap(),
            &Posterior::on_file(model(), Gaussian::sampled(), &file, noisy()).unwrap(),
        );
        let model = || Mlp::new(&[5, 40, 1], Activation::Tanh).unwrap().in_f32();
        same(
            &Posterior::new(model(), Gaussian::sampled(), &data, noisy()).unwrap(),
            &Posterior::on_file(model(), Gaussian::sampled(), &file, noisy()).unwrap(),
        );
    }
    // Classes with weights, of which some are 0.
    let x = features(500);
    let classes: Vec<usize> = (0..500).map(|i| (i * i) % 3).collect();
    let weights: Vec<f64> = (0..500).map(|i| f64::from(i % 4)).collect();
    let data = Dataset::classification(x, classes, ["a", "b", "c"])
        .unwrap()
        .with_weights(weights)
        .unwrap();
    let file = place.file("classes.rows", &data, Stored::F64);
    assert_eq!(file.response(), data.response());
    assert_eq!((file.weights(), file.total_weight()), (data.weights(), data.total_weight()));
    let model = || Mlp::new(&[5, 4, 3], Activation::Tanh).unwrap();
    same(
        &Posterior::new(model(), Categorical, &data, priors()).unwrap(),
        &Posterior::on_file(model(), Categorical, &file, priors()).unwrap(),
    );
}

/// What a run or an approximation makes of rows in a file, it makes of the same rows in memory.
#[test]
fn draws_are_those_of_rows_in_memory() {
    let place = Place::new();
    let data = regression(700);
    let file = place.file("f64.rows", &data, Stored::F64);
    let model = || Mlp::new(&[5, 3, 1], Activation::Tanh).unwrap();
    let a = Posterior::new(model(), Gaussian::sampled(), &data, noisy()).unwrap();
    let b = Posterior::on_file(model(), Gaussian::sampled(), &file, noisy()).unwrap();
    let nuts = |t: &Posterior<Mlp, Gaussian>| {
        Sampler::new(t, Nuts::default()).chains(2).warmup(20).draws(10).run()
    };
    assert_same(&nuts(&a).unwrap(), &nuts(&b).unwrap());
    let sghmc = |t: &Posterior<Mlp, Gaussian>| {
        let sghmc = Sghmc { step_size: 1e-3, friction: 10.0, ..Sghmc::new(Minibatch { size: 64 }) };
        Sampler::new(t, sghmc).chains(2).draws(20).run()
    };
    assert_same(&sghmc(&a).unwrap(), &sghmc(&b).unwrap());
    for pass in [Pass::Batch, Pass::PerRow] {
        for objective in [Objective::LogPosterior, Objective::SquaredError] {
            let descents = |t: &Posterior<Mlp, Gaussian>| {
                let descent = DescentRule { learning_rate: 1e-4, depth: 2, objective, pass };
                let by_descent = LangevinGradient { descent, ..LangevinGradient::default() };
                Sampler::new(t, by_descent).chains(1).warmup(5).draws(5).run()
            };
            assert_same(&descents(&a).unwrap(), &descents(&b).unwrap());
        }
    }

    let mean = nuts(&a).unwrap().mean();
    let q = &mean[..];
    let full = |t| LaplaceApproximation::full(t, q, Curvature::Expected).unwrap();
    assert_eq!(full(&a).log_evidence().unwrap(), full(&b).log_evidence().unwrap());
    let kronecker = |t| LaplaceApproximation::kronecker(t, q).unwrap();
    assert_eq!(kronecker(&a).log_evidence().unwrap(), kronecker(&b).log_evidence().unwrap());

    // The output layer integrated out, with normal noise and given weights of rows.
    let collapsed = |t: &Posterior<Mlp, Gaussian>| {
        let marginal = Marginal::new(t).unwrap();
        Sampler::new(&marginal, Nuts::default()).chains(1).warmup(10).draws(5).run()
    };
    assert_same(&collapsed(&a).unwrap(), &collapsed(&b).unwrap());
}

/// Rounded numbers in a file are those numbers, whatever form they have there.
#[test]
fn rounded_rows_are_the_rounded_rows_in_memory() {
    let place = Place::new();
    let data = regression(300);
    let limits = |j: usize| [-1.0 - j as f64, 1.0 + j as f64];
    let ranges: Vec<[f64; 2]> = (0..5).map(limits).collect();
    for (stored, error) in
        [(Stored::F32, 6e-8), (Stored::F16, 4.9e-4), (Stored::ranges(&ranges), 0.0)]
    {
        let is_u8 = matches!(stored, Stored::U8(_));
        let file = place.file("rounded.rows", &data, stored);
        let rounded = file.read(0..300).unwrap();
        assert_ne!(rounded.x(), data.x());
        for ((i, j), x) in data.x().indexed_iter() {
            let allowed = if is_u8 { (1 + j) as f64 / 255.0 } else { error * x.abs() + 3e-8 };
            assert!((rounded.x()[(i, j)] - x).abs() <= allowed, "{i} {j} {x}");
        }
        let run = |t: &Posterior<Mlp, Gaussian>| {
            Sampler::new(t, Nuts::default()).chains(1).warmup(10).draws(5).run()
        };
        let model = || Mlp::new(&[5, 3, 1], Activation::Tanh).unwrap();
        let a = Posterior::new(model(), Gaussian::sampled(), &rounded, noisy()).unwrap();
        let b = Posterior::on_file(model(), Gaussian::sampled(), &file, noisy()).unwrap();
        assert_same(&run(&a).unwrap(), &run(&b).unwrap());
    }
}

/// The same scaling, bit for bit, also by weights of rows.
#[test]
fn features_are_scaled_as_in_memory() {
    let place = Place::new();
    let weights: Vec<f64> = (0..5000).map(|i| f64::from(i % 3) * 0.7).collect();
    for data in [regression(5000), regression(5000).with_weights(weights).unwrap()] {
        let file = place.file("f64.rows", &data, Stored::F64);
        let standardise = Standardise::new();
        let scaler = file.fit_features(&standardise).unwrap();
        assert_eq!(scaler, standardise.fit_features(&data).unwrap());
        let (scaled, known) =
            (file.scaled(&scaler).unwrap(), scaler.scale_features(&data).unwrap());
        let blocks: Vec<Dataset> = scaled.blocks(1700).map(Result::unwrap).collect();
        assert_eq!(blocks.iter().map(Dataset::rows).collect::<Vec<_>>(), [1700, 1700, 1600]);
        assert_eq!(blocks[2], known.select(&(3400..5000).collect::<Vec<_>>()).unwrap());
        let y: Array2<f64> = data.real().unwrap() * 2.0;
        let doubled = scaled.with_real_response(y.clone()).unwrap();
        assert_eq!(doubled.response().real(), Some(&y));
        assert_eq!(doubled.read(0..10).unwrap().x(), scaled.read(0..10).unwrap().x());
        said!(scaled.scaled(&scaler).unwrap_err());
        said!(scaled.fit_features(&standardise).unwrap_err());
        let mut tiny = serde_json::to_value(&scaler).unwrap();
        tiny["columns"][1]["scale"] = 1e-308.into();
        said!(file.scaled(&serde_json::from_value(tiny).unwrap()).unwrap_err());
        said!(file.fit_features(&Standardise::new().after(Transform::YeoJohnson)).unwrap_err());
        said!(
            file.scaled(&MinMax::new().to_range(1.0, 2.0).fit_features(&data).unwrap())
                .unwrap_err()
        );
    }
    let mut x = features(10);
    x.column_mut(3).fill(2.5);
    let constant = Dataset::regression(x, Array1::zeros(10)).unwrap();
    let file = place.file("constant.rows", &constant, Stored::F64);
    said!(file.fit_features(&Standardise::new()).unwrap_err());
    let allowed = Standardise::new().allow_constant();
    assert_eq!(file.fit_features(&allowed).unwrap(), allowed.fit_features(&constant).unwrap());
}

/// A run ends with the error of the file, and goes on from its checkpoint where the file is whole again.
#[test]
#[cfg(unix)]
fn a_file_that_changes_ends_the_run_and_the_run_goes_on() {
    let place = Place::new();
    let data = regression(400);
    let path = place.path("train.rows");
    let open = || place.file("train.rows", &data, Stored::F32);
    let posterior = |file: &RowFile| {
        Posterior::on_file(
            Mlp::new(&[5, 3, 1], Activation::Tanh).unwrap(),
            Gaussian::sampled(),
            file,
            noisy(),
        )
        .unwrap()
    };
    fn sampler(t: &Posterior<Mlp, Gaussian>) -> Sampler<'_, Posterior<Mlp, Gaussian>, Nuts> {
        Sampler::new(t, Nuts::default()).chains(2).warmup(30).draws(200)
    }
    let whole = open();
    let expected = sampler(&posterior(&whole)).run().unwrap();

    // Cut short, and another number in its place, while a run goes on.
    let content = fs::read(&path).unwrap();
    for damage in [content[..content.len() / 2].to_vec(), {
        let mut other = content.clone();
        other[100] ^= 1;
        other
    }] {
        let file = open();
        let target = posterior(&file);
        let checkpoint = place.path("run.checkpoint");
        let damaged = std::sync::atomic::AtomicBool::new(false);
        let run = sampler(&target)
            .checkpoint(&checkpoint, Every::Draws(10))
            .on_progress(|progress| {
                if progress.phase == bnn_mcmc::sampler::Phase::Sampling
                    && !damaged.swap(true, std::sync::atomic::Ordering::Relaxed)
                {
                    fs::write(&path, &damage).unwrap();
                }
            })
            .run();
        let info = run.unwrap().info().clone();
        let reason = info.panic.unwrap();
        assert!(reason.ends_with("train.rows: the file of rows has changed since it was opened"));
        let stays = "the rows cannot be read, so the last checkpoint stays";
        assert!(info.stopped_early && info.checkpoint_error.as_deref() == Some(stays));
        assert_eq!(info.recorder_error, None);
        assert!(RowFile::open(&path).unwrap_err().is_data());
        // Other rows of the same size are refused, the same rows go on.
        let mut other = data.x().clone();
        other[(5, 2)] += 1.0;
        let others = data.clone().with_x(other).unwrap();
        let others = place.file("other.rows", &others, Stored::F32);
        let go_on = |t: &Posterior<Mlp, Gaussian>| {
            sampler(t).checkpoint(&checkpoint, Every::Draws(10)).run()
        };
        assert!(go_on(&posterior(&others)).unwrap_err().is_checkpoint());
        assert_same(&go_on(&posterior(&open())).unwrap(), &expected);
        fs::remove_file(&checkpoint).unwrap();
        fs::remove_file(place.path("run.checkpoint.draws")).unwrap();
    }
    // Before the first draw it is an error, and so it is of an optimisation.
    let file = open();
    let target = posterior(&file);
    fs::write(&path, &content[..100]).unwrap();
    let ascent = Optimiser::new(&target, Adam::default());
    assert!(ascent.run(&vec![0.1; target.dim()]).unwrap_err().is_data());
    assert!(sampler(&target).run().unwrap_err().is_data());
}

/// Threads that have a share of the rows each give their error to the run. An evaluation that nothing catches panics with it, also
/// while another thread is in a run.
#[test]
#[cfg(unix)]
fn an_error_is_of_the_work_that_it_ends() {
    let place = Place::new();
    let file = place.file("train.rows", &regression(20_000), Stored::F32);
    let network = Mlp::new(&[5, 40, 30, 1], Activation::Tanh).unwrap();
    let target = Posterior::on_file(network, Gaussian::sampled(), &file, noisy()).unwrap();
    fs::write(place.path("train.rows"), [0; 1000]).unwrap();
    let ascent = Optimiser::new(&target, Adam::default());
    let start = Init::Points(vec![vec![0.1; target.dim()]]);
    let runs = || ascent.run_each(&start, 1).map(|_| ()).unwrap_err();
    assert!(pool().install(runs).is_data());

    let data = regression(20);
    let other = Posterior::new(Linear::new(5, 1).unwrap(), Gaussian::sampled(), &data, noisy());
    let (other, mut panics) = (other.unwrap(), 0);
    let run =
        Sampler::new(&other, Nuts::default()).chains(1).warmup(5).draws(5).on_progress(|_| {
            let evaluate = || target.log_density(&vec![0.1; target.dim()], &mut target.workspace());
            let ended = std::thread::scope(|scope| scope.spawn(evaluate).join());
            let words = ended.unwrap_err().downcast::<String>().unwrap();
            assert!(
                words.ends_with("train.rows: the file of rows has changed since it was opened")
            );
            panics += 1;
        });
    assert!(run.run().unwrap().info().panic.is_none());
    assert!(panics > 0);
}
