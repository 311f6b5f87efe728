//! Recorders: what they keep is what the draws say, to the bit, whether a run is stopped, resumed,
//! killed or shared out over threads; and draws without coordinates are refused where they are
//! needed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use approx::assert_relative_eq;
use bnn_mcmc::diagnostics::{CovarianceComparison, Stein, Symmetries};
use bnn_mcmc::draws::recorder::{ChainPlan, OneDraw};
use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use bnn_mcmc::testing::GaussianTarget;
use ndarray::{Array1, Array2, ArrayView2, Axis, array, s};
use rand::RngCore;

use crate::stopping::Stopping;

/// Three classes, and a network with 21 weights.
fn classes() -> (Posterior<Mlp, Categorical>, Dataset) {
    let x = Array2::from_shape_fn((40, 2), |(i, j)| ((7 * i + 3 * j) as f64).sin());
    let class = x.rows().into_iter().map(|r| match r[0] + r[1] {
        s if s < -0.5 => 0,
        s if s < 0.5 => 1,
        _ => 2,
    });
    let class = class.collect();
    let data = Dataset::classification(x, class, ["low", "mid", "high"]).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let network = Mlp::new(&[2, 3, 3], Activation::Tanh).unwrap();
    (Posterior::new(network, Categorical, &data, priors).unwrap(), data)
}

fn real(likelihood: Gaussian) -> (Posterior<Mlp, Gaussian>, Dataset) {
    let x = Array2::from_shape_fn((70, 2), |(i, j)| ((7 * i + 3 * j) as f64).sin());
    let y = Array1::from_iter(x.rows().into_iter().map(|r| r[0] * r[1]));
    let data = Dataset::regression(x, y).unwrap();
    let mut priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    for block in likelihood.layout().blocks() {
        priors = priors.with(&block.name, Normal::new(0.0, 1.0).unwrap());
    }
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    (Posterior::new(network, likelihood, &data, priors).unwrap(), data)
}

/// Names, values and statistics, bit for bit.
#[track_caller]
fn assert_same(a: &Draws, b: &Draws) {
    assert_eq!(a.layout(), b.layout());
    assert_eq!(a.values().dim(), b.values().dim());
    assert!(a.values().iter().zip(b.values()).all(|(a, b)| a.to_bits() == b.to_bits()));
    assert_same_stats(a, b);
}

#[track_caller]
fn assert_same_stats(a: &Draws, b: &Draws) {
    assert_eq!(a.stat_names(), b.stat_names());
    for name in a.stat_names() {
        let (a, b) = (a.stat(name).unwrap(), b.stat(name).unwrap());
        assert!(a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}");
        assert_eq!(a.dim(), b.dim());
    }
}

/// All that a record holds, as bytes: floats keep their bits.
fn bytes<T: Target, R: Recorder<T>>(_: &T, recorder: &R, records: &[R::Record]) -> Vec<Vec<u8>> {
    let encode =
        |record| cbor4ii::serde::to_vec(Vec::new(), &recorder.state(record).unwrap()).unwrap();
    records.iter().map(encode).collect()
}

#[track_caller]
fn assert_error<X>(result: Result<X, Error>, message: &str) -> Error {
    let error = result.err().expect("must be refused");
    assert!(error.to_string().contains(message), "{error}");
    error
}

#[test]
fn what_is_kept_does_not_change_what_is_drawn() {
    let (posterior, _) = real(Gaussian::sampled());
    let run = |keep: Keep| {
        Sampler::new(&posterior, Mala::default()).chains(2).warmup(50).draws(60).keep(keep)
    };
    let all = run(Keep::All).run().unwrap();
    let none = run(Keep::Statistics).run().unwrap();
    let some = run(Keep::blocks(["log_noise_variance", "b*"])).run().unwrap();
    assert_same_stats(&all, &none);
    assert_same_stats(&all, &some);
    assert_eq!(none.values().dim(), (2, 60, 0));
    assert_eq!(none.layout().dim(), 0);
    assert_eq!(some.layout().block_names(), ["b0", "b1", "log_noise_variance"]);
    for block in some.layout().block_names() {
        assert_eq!(some.block(&block).unwrap(), all.block(&block).unwrap());
    }
    assert_eq!(all.divergences(), none.divergences());
    assert_eq!(all.accept_rate(), none.accept_rate());

    assert_error(run(Keep::blocks(["w7"])).run(), "no parameter block named `w7`; there are: `w0`");
    assert_error(run(Keep::blocks(["w0", "w*"])).run(), "`w0` 2 times");

    // Checkpoints hold what is kept, and know what it is.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    for keep in [Keep::blocks(["b1"]), Keep::Statistics] {
        let [first, whole] = [25, 60].map(|draws| {
            run(keep.clone()).draws(draws).checkpoint(&path, Every::Draws(10)).run().unwrap()
        });
        assert_eq!(first.n_draws(), 25);
        assert_same(&whole, &run(keep.clone()).run().unwrap());
        let width = 8 * (whole.layout().dim() + whole.stat_names().len()) as u64;
        let draws = folder.path().join("run.draws");
        assert_eq!(std::fs::metadata(&draws).unwrap().len(), 2 * 60 * width);
        let error = run(Keep::All).checkpoint(&path, Every::default()).run();
        assert!(assert_error(error, "`kept parameters` is ").is_checkpoint());
        std::fs::remove_file(&path).unwrap();
        std::fs::remove_file(&draws).unwrap();
    }
}

#[test]
fn draws_without_coordinates_are_refused_where_they_are_needed() {
    let (posterior, data) = classes();
    let x = data.x().view();
    let sampler =
        |keep| Sampler::new(&posterior, Hmc::default()).warmup(50).draws(40).keep(keep).run();
    let all = sampler(Keep::All).unwrap();
    let none = sampler(Keep::Statistics).unwrap();
    let some = sampler(Keep::blocks(["b0"])).unwrap();
    let symmetries = Symmetries::new(posterior.model(), posterior.layout()).unwrap();
    for (draws, found) in [(&none, "found none"), (&some, "found b0[3]")] {
        assert_error(posterior.predict(draws, &data), found);
        assert_error(posterior.predict_mean(draws, x), found);
        assert_error(posterior.uncertainty(draws, x), found);
        assert_error(symmetries.canonical(draws, None), found);
        assert_error(symmetries.canonical(draws, Some(&all.mean())), found);
        assert_error(Stein::default().of_draws(&posterior, draws), "parameters of the draws");
        assert_error(CovarianceComparison::new(&all, draws), found);
        assert_error(posterior.uncertainty_at(&draws.mean(), x), "length of q");
    }
    let message = "parameters of the draws: found none: the run kept statistics only";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("draws.csv");
    assert_error(none.summary(), message);
    assert_error(CovarianceComparison::new(&none, &none), message);
    assert_error(none.to_csv(&path), message);
    assert!(!path.exists());
    let error = none.write_csv(Vec::new()).unwrap_err();
    assert!(error.to_string().contains(message), "{error}");
    assert_error(none.block("w0"), "named `w0`; there are: none");
    assert_error(none.parameter("b0[0]"), "named `b0[0]`; there are: none");

    // What needs no coordinates works.
    assert_eq!(none.density_summary().unwrap().rows.len(), 2);
    assert_eq!(none.thinned(4).unwrap().n_draws(), 10);
    assert!(none.mean().is_empty());
    assert_eq!(none.flat().dim(), (160, 0));
    assert_eq!((none.covariance().dim(), none.correlation().dim()), ((0, 0), (0, 0)));
    assert_eq!(none.draw(3, 39), Some(&[][..]));
    let judge = bnn_mcmc::diagnostics::Judge::new().quantities("weights", none.values());
    let judge = judge.quantity("log likelihood", none.stat("log_likelihood").unwrap());
    assert!(judge.judge().is_ok());
    assert_eq!(some.summary().unwrap().rows.len(), 3);
}

#[test]
fn evidence_needs_statistics_only() {
    let (posterior, _) = classes();
    let evidence = |keep| {
        let sampler = Sampler::new(&posterior, PowerPosteriors::new(Mala::default()));
        let sampler = sampler.chains(2).warmup(100).draws(50).keep(keep);
        format!("{:?}", Evidence::of(&sampler.run().unwrap()).unwrap())
    };
    assert_eq!(evidence(Keep::Statistics), evidence(Keep::All));
}

#[test]
fn moments_are_those_of_the_draws() {
    let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.6, 0.6, 2.0]).unwrap();
    let sampler = Sampler::new(&target, Mala::default()).chains(3).warmup(100).draws(300);
    let (draws, chains) = sampler.run_with(&Moments).unwrap();
    let check = |moments: &RunningMoments, q: ArrayView2<f64>| {
        assert_eq!(moments.draws() as usize, q.nrows());
        let (mean, variance) = (q.mean_axis(Axis(0)).unwrap(), q.var_axis(Axis(0), 1.0));
        for i in 0..2 {
            assert_relative_eq!(moments.mean()[i], mean[i], max_relative = 1e-12);
            assert_relative_eq!(moments.variance()[i], variance[i], max_relative = 1e-12);
        }
    };
    for (c, chain) in chains.iter().enumerate() {
        check(chain, draws.values().index_axis(Axis(0), c));
    }
    check(&RunningMoments::merged(&chains).unwrap(), draws.flat());
    assert!(RunningMoments::new(1).unwrap().variance()[0].is_nan());
    assert_error(RunningMoments::merged(&[]), "chains to merge");
    let other = RunningMoments::new(3).unwrap();
    assert_error(RunningMoments::merged(&[chains[0].clone(), other]), "found 3, expected 2");
    assert_error(RunningMoments::new(3).unwrap().add(&[1.0]), "length of q: found 1, expected 3");
}

#[test]
fn every_kth_draw_is_stored_in_single_precision() {
    let (posterior, _) = real(Gaussian::sampled());
    let run = || Sampler::new(&posterior, Mala::default()).chains(2).warmup(50).draws(64);
    for (every, keep) in [(1, Keep::All), (5, Keep::All), (7, Keep::blocks(["w1", "b0"]))] {
        let draws = run().keep(keep.clone()).run().unwrap();
        let (_, records) =
            run().keep(Keep::Statistics).run_with(&EveryKth { every, keep: keep.clone() }).unwrap();
        let stored = StoredDraws::to_draws(&records).unwrap();
        let expected = draws.thinned(every).unwrap();
        assert_eq!(stored.layout(), draws.layout());
        assert_eq!(stored.values(), expected.values().mapv(|x| f64::from(x as f32)));
        assert_eq!(records[1].values(), expected.values().slice(s![1, .., ..]).mapv(|x| x as f32));
        assert_eq!(records[1].n_draws(), 64 / every);
    }
    let refused = |every, keep| run().run_with(&EveryKth { every, keep });
    assert_error(refused(0, Keep::All), "`every` is 0");
    assert_error(refused(1, Keep::Statistics), "`keep` is Statistics");
    assert_error(refused(1, Keep::blocks(["v"])), "named `v`");
    assert_error(StoredDraws::to_draws(&[]), "chains of stored draws");
    let huge = 1 << 50;
    let many = Sampler::new(&posterior, Mala::default()).draws(huge).keep(Keep::Statistics);
    assert_error(many.run(), "`draws` is too large: 5 (4 chains, and room to copy one) x");
    let recorder = EveryKth { every: 2, keep: Keep::All };
    let plan = ChainPlan { chain: 0, chains: 1, chains_here: 1, draws: huge, run: 0 };
    let error = recorder.begin(&posterior, plan, None);
    let message =
        "1 chain x 562949953421312 draws x 14 parameters x 4 bytes = 31525197.4 GB, more than";
    assert_error(error, message);
}

#[test]
fn streamed_classes_are_those_of_the_draws() {
    let (posterior, _) = classes();
    // More than one tile.
    let x = Array2::from_shape_fn((130, 2), |(i, j)| ((3 * i + 5 * j) as f64).cos());
    let chosen = [129, 0, 64];
    let streamed = StreamedUncertainty::new(&posterior, x.view()).unwrap().along(&chosen).unwrap();
    for chains in [1, 3] {
        let sampler = Sampler::new(&posterior, Hmc::default()).chains(chains).warmup(50).draws(60);
        let (draws, records) = sampler.run_with(&streamed).unwrap();
        let direct = posterior.uncertainty(&draws, x.view()).unwrap();
        let summed = streamed.uncertainty(&records).unwrap();
        assert_eq!(summed.draws(), 60 * chains as u64);
        if chains == 1 {
            assert_eq!(summed, direct, "bit for bit");
        }
        assert_relative_eq!(summed.mean(), direct.mean(), epsilon = 1e-13);
        assert_eq!(summed.vote_share(), direct.vote_share());
        for measure in bnn_mcmc::predict::Measure::ALL {
            let (a, b) = (summed.measure(measure), direct.measure(measure));
            assert_relative_eq!(a, b, epsilon = 1e-12);
        }
        let along = streamed.along_chains(&records).unwrap();
        let mean = posterior.predict_mean(&draws, x.view()).unwrap();
        assert_eq!(along.inputs(), chosen);
        assert_eq!(along.class_names(), posterior.class_names().unwrap());
        assert_eq!(along.values(), mean.select(Axis(2), &chosen));
        let alone = records[0].running().uncertainty().unwrap();
        assert_eq!(alone.draws(), 60);
    }

    let new = |x: ArrayView2<f64>| StreamedUncertainty::new(&posterior, x);
    assert_error(new(array![[1.0]].view()), "number of features");
    assert_error(new(Array2::zeros((0, 2)).view()), "`number of inputs` is 0");
    assert_error(new(x.view()).unwrap().along(&[130]), "`rows` is 130, but must be less than 130");
    assert_error(new(x.view()).unwrap().along_chains(&[]), "`rows` is empty");
    assert_error(new(x.view()).unwrap().uncertainty(&[]), "draws of probabilities");
    let (regression, _) = real(Gaussian::sampled());
    assert_error(StreamedUncertainty::new(&regression, x.view()), "response of the posterior");
    let other = GaussianTarget::standard(21).unwrap();
    let error = Sampler::new(&other, Mala::default()).run_with(&streamed);
    assert_error(error, "recorder made for another posterior?): found q[21]");
    // The same layout, another function.
    let (posterior, data) = classes();
    let network = Mlp::new(&[2, 3, 3], Activation::Relu).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let other = Posterior::new(network, Categorical, &data, priors).unwrap();
    let streamed = StreamedUncertainty::new(&posterior, x.view()).unwrap();
    let error = Sampler::new(&other, Mala::default()).run_with(&streamed);
    assert_error(error, "log likelihood of the target (was the recorder made for another");
}

#[test]
fn streamed_moments_are_those_of_the_draws() {
    let x = Array2::from_shape_fn((130, 2), |(i, j)| ((3 * i + 5 * j) as f64).cos());
    for likelihood in [Gaussian::sampled(), Gaussian::fixed(0.3).unwrap()] {
        let (posterior, _) = real(likelihood);
        let streamed = StreamedMoments::new(&posterior, x.view()).unwrap();
        let sampler = Sampler::new(&posterior, Hmc::default()).chains(3).warmup(50).draws(60);
        let (draws, records) = sampler.run_with(&streamed).unwrap();
        let moments = streamed.moments(&records).unwrap();
        let mean = posterior.predict_mean(&draws, x.view()).unwrap();
        let mean = mean.into_shape_with_order((180, 130, 1)).unwrap();
        assert_eq!(moments.draws, 180);
        assert_relative_eq!(moments.mean, mean.mean_axis(Axis(0)).unwrap(), epsilon = 1e-13);
        let variance = mean.var_axis(Axis(0), 1.0);
        assert_relative_eq!(moments.sd, variance.mapv(f64::sqrt), epsilon = 1e-12);
        let noise = match draws.parameter("log_noise_variance") {
            Ok(eta) => eta.mapv(f64::exp).mean().unwrap(),
            Err(_) => 0.3 * 0.3,
        };
        let each = moments.noise_variance.as_ref().unwrap();
        assert_relative_eq!(*each, Array2::from_elem((130, 1), noise), max_relative = 1e-13);
        let total = variance.mapv(|v| (v + noise).sqrt());
        assert_relative_eq!(moments.total_sd().unwrap(), total, epsilon = 1e-12);
    }
    // Of classes: probabilities, without noise.
    let (posterior, _) = classes();
    let streamed = StreamedMoments::new(&posterior, x.view()).unwrap();
    assert_error(streamed.moments(&[]), "recorded draws");
    let sampler = Sampler::new(&posterior, Hmc::default()).chains(1).warmup(20).draws(20);
    let (draws, records) = sampler.run_with(&streamed).unwrap();
    let moments = streamed.moments(&records).unwrap();
    let uncertainty = posterior.uncertainty(&draws, x.view()).unwrap();
    assert_relative_eq!(moments.mean, uncertainty.mean(), epsilon = 1e-13);
    assert_eq!((&moments.noise_variance, moments.total_sd()), (&None, None));
}

#[test]
fn records_do_not_depend_on_stops_resumes_and_threads() {
    let (posterior, data) = classes();
    let x = data.x().view();
    let uncertainty = StreamedUncertainty::new(&posterior, x).unwrap().along(&[3, 5]).unwrap();
    let moments = StreamedMoments::new(&posterior, x).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let on_disk = |name: String| OnDisk {
        path: folder.path().join(name),
        every: 3,
        keep: Keep::blocks(["w1", "b0"]),
    };
    let files =
        |on_disk: &OnDisk| [0, 1, 2].map(|chain| std::fs::read(on_disk.file(chain)).unwrap());
    let run = |left, on_disk: &OnDisk, checkpoint: Option<(PathBuf, Every)>, threads| {
        let stop = StopHandle::new();
        let inner = posterior.clone();
        let target = Stopping::new(inner, left, &stop, 0.0);
        let sampler = Sampler::new(&target, Mala::default())
            .chains(3)
            .warmup(40)
            .draws(100)
            .threads(threads)
            .keep(Keep::blocks(["b1"]))
            .stop_handle(&stop);
        let every_kth = EveryKth { every: 4, keep: Keep::All };
        let recorder = ((Moments, every_kth), &uncertainty, &moments, on_disk);
        let (draws, records) = match checkpoint {
            Some((path, every)) => sampler.checkpoint(path, every).run_with(&recorder).unwrap(),
            None => sampler.run_with(&recorder).unwrap(),
        };
        let made = records.iter().map(|r| r.0.0.draws() as usize).collect::<Vec<_>>();
        (draws, bytes(&target, &recorder, &records), made)
    };
    let once = on_disk("once".into());
    let (whole, records, _) = run(i64::MAX, &once, None, 1);
    let written = files(&once);
    let [mut stops, mut unequal] = [0, 0];
    let mut rng = ChainRng::new(1, 0);
    for (i, every) in
        [Every::Draws(13), Every::Seconds(0.0), Every::Seconds(1e9)].into_iter().enumerate()
    {
        for threads in [1, 4] {
            let name = format!("run-{i}-{threads}");
            let (on_disk, checkpoint) = (on_disk(name.clone()), folder.path().join(name));
            loop {
                let left = (rng.next_u64() % 200) as i64;
                let (draws, here, made) =
                    run(left, &on_disk, Some((checkpoint.clone(), every)), threads);
                if !draws.info().stopped_early {
                    assert_same(&draws, &whole);
                    assert!(here == records, "records differ");
                    assert!(files(&on_disk) == written, "files differ");
                    break;
                }
                // Records have all draws of a chain, also those that other chains lack.
                assert_eq!(made.iter().copied().min(), Some(draws.n_draws()));
                stops += 1;
                unequal += usize::from(made.iter().any(|n| *n > draws.n_draws()));
            }
            // Once more: everything is there. Fewer draws leave record and files alone.
            let (draws, here, _) =
                run(i64::MAX, &on_disk, Some((checkpoint.clone(), every)), threads);
            assert_same(&draws, &whole);
            assert!(here == records && files(&on_disk) == written);
        }
    }
    assert!(stops > 20 && unequal > 0, "{stops} stops, {unequal} with unequal chains");
}

#[test]
fn another_recorder_is_refused_by_name() {
    let (posterior, data) = classes();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    fn run<T: GradTarget, R: Recorder<T>>(t: &T, path: &Path, recorder: &R) -> Result<(), Error> {
        let sampler = Sampler::new(t, Mala::default()).chains(2).warmup(10).draws(10);
        sampler.checkpoint(path, Every::default()).run_with(recorder).map(|_| ())
    }
    let kth = |every| EveryKth { every, keep: Keep::All };
    run(&posterior, &path, &kth(2)).unwrap();
    run(&posterior, &path, &kth(2)).unwrap();
    let error = assert_error(run(&posterior, &path, &kth(3)), "`recorder` is EveryKth { every: 2");
    assert!(error.is_checkpoint());
    assert_error(run(&posterior, &path, &Moments), "`name of the recorder` is ");
    assert_error(run(&posterior, &path, &()), "`name of the recorder` is ");
    let path = folder.path().join("streamed");
    let x = data.x();
    let streamed = |x: &Array2<f64>| StreamedUncertainty::new(&posterior, x.view()).unwrap();
    run(&posterior, &path, &streamed(x)).unwrap();
    let error = run(&posterior, &path, &streamed(&(x + 1.0)));
    assert_error(error, "`recorder` is 40 x 2 inputs with checksum");
    assert_error(run(&posterior, &path, &streamed(x).along(&[1]).unwrap()), "along [] there");
    run(&posterior, &path, &streamed(x)).unwrap();
}

/// Fails when chain 1 makes a certain draw, while it is told to.
struct Failing {
    at: usize,
    armed: AtomicBool,
}

impl<T: Target> Recorder<T> for Failing {
    type Record = (usize, usize);
    type State = usize;
    fn name(&self) -> String {
        "Failing".into()
    }
    fn begin(&self, _: &T, plan: ChainPlan, from: Option<usize>) -> Result<(usize, usize), Error> {
        Ok((plan.chain, from.unwrap_or(0)))
    }
    fn record(
        &self,
        (chain, seen): &mut (usize, usize),
        target: &T,
        draw: OneDraw,
        ws: &mut T::Workspace,
    ) -> Result<(), Error> {
        if *chain == 1 && draw.index == self.at && self.armed.load(Ordering::Relaxed) {
            let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(Error::io("a disk", full));
        }
        // Draws come in order, none is left out, and the density is that of the position.
        assert_eq!(draw.index, *seen);
        assert_eq!(target.log_density(draw.q, ws), draw.log_density);
        *seen += 1;
        Ok(())
    }
    fn state(&self, (_, seen): &(usize, usize)) -> Result<usize, Error> {
        Ok(*seen)
    }
}

#[test]
fn a_recorder_that_fails_ends_the_run_and_loses_nothing() {
    let (posterior, _) = classes();
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, armed: bool, checkpoint: bool, stop: &StopHandle| {
        let on_disk = OnDisk { path: folder.path().join(name), every: 2, keep: Keep::All };
        let failing = Failing { at: 37, armed: AtomicBool::new(armed) };
        // The first part of a tuple has seen the draw at which the second fails.
        let recorder = (Moments, &on_disk, failing);
        let sampler = Sampler::new(&posterior, Rwm::default())
            .chains(3)
            .warmup(20)
            .draws(80)
            .stop_handle(stop);
        let (draws, records) = match checkpoint {
            true => {
                let path = folder.path().join(format!("{name}.checkpoint"));
                sampler.checkpoint(path, Every::Draws(10)).run_with(&recorder).unwrap()
            }
            false => sampler.run_with(&recorder).unwrap(),
        };
        let files = [0, 1, 2].map(|chain| std::fs::read(on_disk.file(chain)).unwrap());
        (draws, bytes(&posterior, &recorder, &records), files)
    };
    let stop = StopHandle::new();
    let (whole, records, files) = run("whole", false, false, &stop);
    assert_eq!(whole.info().recorder_error, None);
    for checkpoint in [false, true] {
        let name = format!("failing-{checkpoint}");
        let (draws, here, _) = run(&name, true, checkpoint, &stop);
        let info = draws.info();
        assert!(info.recorder_error.as_ref().unwrap().contains("a disk"), "{info:?}");
        assert_eq!(info.checkpoint_error.is_some(), checkpoint);
        assert!(info.stopped_early && !stop.is_stopped());
        assert!((1..=38).contains(&draws.n_draws()), "{}", draws.n_draws());
        let common = whole.values().slice_move(s![.., ..draws.n_draws(), ..]);
        assert_eq!(draws.values(), common);
        assert!(here != records);
    }
    let (draws, here, there) = run("failing-true", false, true, &stop);
    assert_same(&draws, &whole);
    assert!(here == records && there == files);
}

// Files.

fn short(on_disk: &OnDisk, draws: usize, checkpoint: Option<&Path>) -> Result<Draws, Error> {
    let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.6, 0.6, 2.0]).unwrap();
    let sampler = Sampler::new(&target, Mala::default()).chains(2).warmup(30).draws(draws);
    let (draws, records) = match checkpoint {
        Some(path) => sampler.checkpoint(path, Every::Draws(10)).run_with(on_disk)?,
        None => sampler.run_with(on_disk)?,
    };
    for (chain, record) in records.iter().enumerate() {
        assert_eq!(record.path(), on_disk.file(chain));
        assert_eq!(record.n_rows() as usize, draws.n_draws() / on_disk.every);
    }
    Ok(draws)
}

/// A standard normal whose names count from 1, as those of Stan and R do.
struct FromOne;

impl Target for FromOne {
    type Workspace = ();
    fn dim(&self) -> usize {
        3
    }
    fn layout(&self) -> Layout {
        Layout::from_parameter_names(&["m", "theta[1]", "theta[2]"].map(String::from))
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(-0.5 * q.iter().map(|q| q * q).sum::<f64>())
    }
}

#[test]
fn files_keep_the_names_of_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let on_disk = OnDisk { path: folder.path().join("run"), every: 1, keep: Keep::All };
    let sampler = Sampler::new(&FromOne, Rwm::default()).warmup(5).draws(5);
    let (draws, _) = sampler.run_with(&on_disk).unwrap();
    let read = OnDisk::read(&on_disk.path).unwrap();
    assert_eq!(read.layout(), draws.layout());
    assert_eq!(read.layout().parameter_names(), ["m", "theta[1]", "theta[2]"]);
}

#[test]
fn files_hold_every_kth_draw() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let on_disk = OnDisk { path: path.clone(), every: 3, keep: Keep::All };
    let draws = short(&on_disk, 50, None).unwrap();
    let expected = draws.thinned(3).unwrap().values().mapv(|x| f64::from(x as f32));
    let read = OnDisk::read(&path).unwrap();
    assert_eq!((read.values(), read.layout()), (expected.view(), draws.layout()));
    for chain in 0..2 {
        let file = ChainFile::open(on_disk.file(chain)).unwrap();
        assert_eq!((file.chain_index(), file.n_chains()), (chain, 2));
        assert_eq!((file.every(), file.n_rows()), (3, 16));
        assert_eq!(file.layout(), draws.layout());
        for (d, row) in file.enumerate() {
            let row: Vec<f64> = row.unwrap().into_iter().map(f64::from).collect();
            assert_eq!(row, expected.slice(s![chain, d, ..]).to_vec());
        }
    }

    // A row that is not whole is left out, and the other chain cut to the same length.
    let bytes = std::fs::read(on_disk.file(1)).unwrap();
    for cut in 1..12 {
        std::fs::write(on_disk.file(1), &bytes[..bytes.len() - cut]).unwrap();
        let read = OnDisk::read(&path).unwrap();
        assert_eq!(read.values(), expected.slice(s![.., ..15, ..]));
    }
    // Damage is found, wherever it is, and what lies before it can be read.
    let header = bytes.len() - 16 * 12;
    for i in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[i] ^= 1 << (i % 8);
        std::fs::write(on_disk.file(1), &damaged).unwrap();
        let error = assert_error(OnDisk::read(&path), "run.chain1");
        assert!(error.is_data(), "{error}");
        if i >= header {
            let row = (i - header) / 12;
            assert!(error.to_string().contains(&format!("the checksum of row {row} is wrong")));
            let mut file = ChainFile::open(on_disk.file(1)).unwrap();
            assert!(file.by_ref().take(row).all(|row| row.is_ok()));
            assert!(file.next().unwrap().is_err() && file.next().is_none());
        }
    }
    for n in 0..header {
        std::fs::write(on_disk.file(1), &bytes[..n]).unwrap();
        assert_error(OnDisk::read(&path), "truncated");
    }
    std::fs::write(on_disk.file(1), std::fs::read(on_disk.file(0)).unwrap()).unwrap();
    assert_error(OnDisk::read(&path), "run.chain1: it is not of the run of chain 0");
    std::fs::copy("Cargo.lock", on_disk.file(1)).unwrap();
    assert_error(OnDisk::read(&path), "no file of draws");
    std::fs::remove_file(on_disk.file(1)).unwrap();
    assert!(assert_error(OnDisk::read(&path), "run.chain1").is_io());
    std::fs::remove_file(on_disk.file(0)).unwrap();
    assert!(assert_error(OnDisk::read(&path), "run.chain0").is_io());
}

#[test]
fn files_are_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let checkpoint = folder.path().join("checkpoint");
    let on_disk = OnDisk { path: path.clone(), every: 2, keep: Keep::All };
    let contents = || [0, 1].map(|chain| std::fs::read(on_disk.file(chain)).unwrap());
    for (every, keep, message) in
        [(0, Keep::All, "`every` is 0"), (1, Keep::Statistics, "`keep` is Statistics")]
    {
        let on_disk = OnDisk { path: path.clone(), every, keep };
        assert_error(short(&on_disk, 10, None), message);
    }
    let nowhere = OnDisk { path: folder.path().join("no/where"), ..on_disk.clone() };
    assert!(assert_error(short(&nowhere, 10, None), "no").is_io());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was begun");

    std::fs::write(on_disk.file(1), "precious").unwrap();
    for checkpoint in [None, Some(&*checkpoint)] {
        let error = short(&on_disk, 10, checkpoint);
        let error = assert_error(error, "run.chain1: it exists, and there is no checkpoint");
        assert!(error.is_checkpoint());
        assert_eq!(std::fs::read(on_disk.file(1)).unwrap(), b"precious");
        assert!(!on_disk.file(0).exists(), "the next try is not hindered by this one");
        assert!(!folder.path().join("checkpoint").exists());
    }
    std::fs::remove_file(on_disk.file(1)).unwrap();

    // A run without a draw has no file; one that goes on from there begins it.
    short(&on_disk, 0, Some(&checkpoint)).unwrap();
    assert!(!on_disk.file(0).exists());
    short(&on_disk, 20, Some(&checkpoint)).unwrap();
    let twenty = contents();
    assert_error(short(&on_disk, 20, None), "run.chain0: it exists");
    for draws in [0, 7, 20] {
        // Fewer draws leave the files alone: records have all.
        let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.6, 0.6, 2.0]).unwrap();
        let sampler = Sampler::new(&target, Mala::default()).chains(2).warmup(30).draws(draws);
        let sampler = sampler.checkpoint(&checkpoint, Every::Draws(10));
        assert_eq!(sampler.run_with(&on_disk).unwrap().1[1].n_rows(), 10);
        assert!(contents() == twenty);
    }
    // What was written after the checkpoint is cut off with the next row: whole rows, and a part
    // of one.
    let whole = OnDisk { path: folder.path().join("whole"), ..on_disk.clone() };
    short(&whole, 40, None).unwrap();
    let forty = [0, 1].map(|chain| std::fs::read(whole.file(chain)).unwrap());
    let saved = Checkpoint::of(&checkpoint);
    for extra in [0, 5, 12, 30] {
        for (chain, bytes) in twenty.iter().enumerate() {
            assert!(forty[chain].starts_with(bytes));
            let found = &forty[chain][..bytes.len() + extra];
            std::fs::write(on_disk.file(chain), found).unwrap();
        }
        let found = contents();
        for draws in [20, 21] {
            short(&on_disk, draws, Some(&checkpoint)).unwrap();
            assert!(contents() == found, "no row was added");
        }
        short(&on_disk, 22, Some(&checkpoint)).unwrap();
        let row = (forty[0].len() - twenty[0].len()) / 10;
        assert!((0..2).all(|c| contents()[c] == forty[c][..twenty[c].len() + row]));
        saved.restore();
    }
    for (chain, bytes) in twenty.iter().enumerate() {
        std::fs::write(on_disk.file(chain), bytes).unwrap();
    }
    // Files that are not what the checkpoint says are left alone.
    let refused = |bytes: &[u8], message: &str| {
        std::fs::write(on_disk.file(1), bytes).unwrap();
        assert_error(short(&on_disk, 40, Some(&checkpoint)), message);
        assert!(std::fs::read(on_disk.file(1)).unwrap() == bytes);
        std::fs::write(on_disk.file(1), &twenty[1]).unwrap();
    };
    refused(&twenty[1][..twenty[1].len() - 1], "run.chain1: it is truncated");
    let not = "run.chain1: it is not the file of this chain of this run";
    refused(&twenty[0], &format!("{not}: its `chain` is 0, expected 1"));
    refused(b"", &format!("{not}: it is truncated"));
    let mut damaged = twenty[1].clone();
    *damaged.last_mut().unwrap() ^= 1;
    refused(&damaged, "run.chain1: it is damaged: the checksum of row 9 is wrong");
    std::fs::remove_file(on_disk.file(0)).unwrap();
    assert!(assert_error(short(&on_disk, 40, Some(&checkpoint)), "run.chain0").is_io());
    std::fs::write(on_disk.file(0), &twenty[0]).unwrap();
    short(&on_disk, 40, Some(&checkpoint)).unwrap();
    assert!(contents() == forty);
}

/// The two files of a checkpoint as they were.
struct Checkpoint([(PathBuf, Vec<u8>); 2]);

impl Checkpoint {
    fn of(path: &Path) -> Self {
        let draws = PathBuf::from(format!("{}.draws", path.display()));
        Self([path.into(), draws].map(|path| (path.clone(), std::fs::read(path).unwrap())))
    }
    fn restore(&self) {
        for (path, bytes) in &self.0 {
            std::fs::write(path, bytes).unwrap();
        }
    }
}

/// Two chains on a Gaussian with this mean, every second draw on disk.
#[derive(Clone)]
struct Files {
    on_disk: OnDisk,
    checkpoint: PathBuf,
    mean: f64,
    seed: u64,
}

impl Files {
    fn new(folder: &Path, name: &str) -> Self {
        let on_disk = OnDisk { path: folder.join(name), every: 2, keep: Keep::All };
        let checkpoint = folder.join(format!("{name}.checkpoint"));
        Self { on_disk, checkpoint, mean: 1.0, seed: 1 }
    }
    /// Until there are this many draws; without any, until some iteration of warm-up.
    fn run(&self, draws: Option<usize>, checkpoint: bool) -> Result<(), Error> {
        let target = GaussianTarget::new(vec![self.mean, -2.0], &[1.0, 0.6, 0.6, 2.0]).unwrap();
        let stop = StopHandle::new();
        let mut sampler = Sampler::new(&target, Mala::default())
            .chains(2)
            .warmup(30)
            .draws(draws.unwrap_or(1))
            .seed(self.seed)
            .stop_handle(&stop)
            .on_progress(|p| {
                if draws.is_none() {
                    assert_eq!(p.phase, bnn_mcmc::sampler::Phase::Warmup);
                    stop.stop();
                }
            });
        if checkpoint {
            sampler = sampler.checkpoint(&self.checkpoint, Every::default());
        }
        sampler.run_with(&self.on_disk).map(|_| ())
    }
    fn contents(&self) -> [Vec<u8>; 2] {
        [0, 1].map(|chain| std::fs::read(self.on_disk.file(chain)).unwrap())
    }
    fn replace(&self, chain: usize, bytes: &[u8]) {
        std::fs::write(self.on_disk.file(chain), bytes).unwrap();
    }
    fn remove(&self) {
        (0..2).for_each(|chain| std::fs::remove_file(self.on_disk.file(chain)).unwrap());
    }
    /// A resume is refused with this message, and leaves the files as they are.
    #[track_caller]
    fn refuses(&self, draws: usize, message: &str) {
        let before = self.contents();
        let error = assert_error(self.run(Some(draws), true), message);
        assert!(error.is_checkpoint(), "{error}");
        assert!(self.contents() == before, "the files were changed");
    }
}

#[test]
fn a_stop_in_warm_up_does_not_hand_over_files_of_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::new(folder.path(), "run");
    let other = Files { seed: 2, ..files.clone() };
    files.run(None, true).unwrap();
    let in_warmup = Checkpoint::of(&files.checkpoint);
    assert!(!files.on_disk.file(0).exists());
    // Another run takes the names. All of it stays, also if only a part is left.
    other.run(Some(40), false).unwrap();
    let written = other.contents();
    let not = "run.chain0: it is not the file of this chain of this run: its `run` is";
    files.refuses(40, not);
    let header = written[0].len() - 20 * 12;
    for length in [header, header + 5] {
        files.replace(0, &written[0][..length]);
        files.refuses(40, not);
    }
    files.replace(0, &written[0]);
    // It takes them while this one is in its warm-up.
    other.remove();
    let mut ran = false;
    let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.6, 0.6, 2.0]).unwrap();
    let sampler = Sampler::new(&target, Mala::default()).chains(2).warmup(30).draws(40).seed(1);
    let sampler = sampler.checkpoint(&files.checkpoint, Every::default()).on_progress(|p| {
        if !std::mem::replace(&mut ran, true) {
            assert_eq!(p.phase, bnn_mcmc::sampler::Phase::Warmup);
            other.run(Some(40), false).unwrap();
        }
    });
    let (draws, _) = sampler.run_with(&files.on_disk).unwrap();
    let error = draws.info().recorder_error.as_ref().unwrap();
    assert!(error.contains("run.chain"), "{error}");
    assert!(other.contents() == written);
    other.remove();

    // A process that is killed after its first rows, and before a checkpoint has them, goes on.
    let whole = Files::new(folder.path(), "whole");
    whole.run(Some(40), false).unwrap();
    let whole = whole.contents();
    for length in [0, 3, header - 1, header, header + 5, header + 12, whole[0].len()] {
        in_warmup.restore();
        files.replace(0, &whole[0][..length]);
        files.replace(1, &whole[1]);
        files.run(None, true).unwrap();
        assert!(files.contents() == [whole[0][..length].to_vec(), whole[1].clone()]);
        files.run(Some(40), true).unwrap();
        assert!(files.contents() == whole);
    }
    // Chain 1 refuses: nothing of chain 0 is cut.
    in_warmup.restore();
    files.replace(1, &written[1]);
    files.refuses(40, "run.chain1: it is not the file of this chain of this run: its `run` is");
}

#[test]
fn rows_that_the_checkpoint_does_not_know_are_not_gone_on_from() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::new(folder.path(), "run");
    files.run(Some(40), true).unwrap();
    let own = files.contents();
    // Of another seed the file says so; other data have the same id, and other rows.
    let seed = Files { seed: 2, ..files.clone() };
    let data = Files { mean: 1.5, ..files.clone() };
    let not = "it is not the file of this chain of this run";
    for (other, message) in
        [(seed, "its `run` is"), (data, "the checksum of its first 20 rows is ")]
    {
        files.remove();
        other.run(Some(60), false).unwrap();
        assert_eq!(other.contents()[0].len(), own[0].len() + 10 * 12);
        let id = |on_disk: &OnDisk| ChainFile::open(on_disk.file(0)).unwrap().run();
        let others = id(&other.on_disk);
        files.refuses(80, &format!("run.chain0: {not}: {message}"));
        files.replace(0, &own[0]);
        assert_eq!(id(&files.on_disk) == others, message.contains("rows"));
        files.refuses(80, &format!("run.chain1: {not}: {message}"));
        // Chain 1 refuses: nothing of chain 0 is cut.
        files.replace(0, &[&own[0][..], &[7; 30]].concat());
        files.refuses(80, "run.chain1");
        // Its rows in another order.
        let (a, b) = own[1].split_at(own[1].len() - 12);
        let (a, c) = a.split_at(a.len() - 12);
        files.replace(1, &[a, b, c].concat());
        files.refuses(80, "run.chain1: it is not the file of this chain of this run: the checksum");
    }
    own.iter().enumerate().for_each(|(chain, own)| files.replace(chain, own));
    files.run(Some(60), true).unwrap();
    let whole = Files::new(folder.path(), "whole");
    whole.run(Some(60), false).unwrap();
    assert!(files.contents() == whole.contents());
}

#[test]
fn chains_of_different_runs_are_not_read_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| Files::new(folder.path(), name));
    let b = Files { seed: 2, ..b };
    a.run(Some(40), false).unwrap();
    b.run(Some(40), false).unwrap();
    let run = |files: &Files, chain| ChainFile::open(files.on_disk.file(chain)).unwrap().run();
    assert_eq!(run(&a, 0), run(&a, 1));
    assert_ne!(run(&a, 0), run(&b, 0));
    OnDisk::read(&a.on_disk.path).unwrap();
    a.replace(1, &b.contents()[1]);
    let message = format!(
        "a.chain1: it is not of the run of chain 0, or not of this chain: its `run` is {:08x}, \
         expected {:08x}",
        run(&b, 0),
        run(&a, 0)
    );
    assert!(assert_error(OnDisk::read(&a.on_disk.path), &message).is_data());
}

/// Records the number of its run.
struct Id;

impl<T: Target> Recorder<T> for Id {
    type Record = u32;
    type State = u32;
    fn name(&self) -> String {
        "Id".into()
    }
    fn begin(&self, _: &T, plan: ChainPlan, from: Option<u32>) -> Result<u32, Error> {
        assert!(from.is_none_or(|from| from == plan.run));
        Ok(plan.run)
    }
    fn record(&self, _: &mut u32, _: &T, _: OneDraw, _: &mut T::Workspace) -> Result<(), Error> {
        Ok(())
    }
    fn state(&self, run: &u32) -> Result<u32, Error> {
        Ok(*run)
    }
}

#[test]
fn a_run_has_a_number_of_its_own() {
    let target = GaussianTarget::standard(2).unwrap();
    fn id<T: GradTarget, A: for<'t> Algorithm<&'t T>>(sampler: Sampler<T, A>) -> u32 {
        let ids = sampler.run_with(&Id).unwrap().1;
        assert!(ids.iter().all(|id| *id == ids[0]), "all chains have the same");
        ids[0]
    }
    let mala = || Sampler::new(&target, Mala::default()).chains(2).warmup(10).draws(10).seed(3);
    let rwm = Sampler::new(&target, Rwm::default()).chains(2).warmup(10).draws(10).seed(3);
    let wider = GaussianTarget::standard(3).unwrap();
    let wider = Sampler::new(&wider, Mala::default()).chains(2).warmup(10).draws(10).seed(3);
    let all = [
        id(mala()),
        id(mala().seed(4)),
        id(mala().chains(3)),
        id(mala().warmup(11)),
        id(mala().thin(2)),
        id(rwm),
        id(wider),
    ];
    let different: std::collections::BTreeSet<u32> = all.into_iter().collect();
    assert_eq!(different.len(), all.len());
    // What may change when a run goes on does not change it.
    assert_eq!(id(mala().draws(20).threads(1).keep(Keep::Statistics)), all[0]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    for draws in [5, 15] {
        assert_eq!(id(mala().draws(draws).checkpoint(&path, Every::default())), all[0]);
    }
}

#[test]
fn a_file_that_cannot_be_written_ends_the_run_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let on_disk = OnDisk { path: folder.path().join("run"), every: 1, keep: Keep::All };
    let target = GaussianTarget::standard(2).unwrap();
    // A folder takes the file's name after the run has begun.
    let file = on_disk.file(1);
    let sampler = Sampler::new(&target, Mala::default()).chains(2).warmup(30).draws(50);
    let (draws, _) = sampler
        .on_progress(|_| drop(std::fs::create_dir(&file)))
        .threads(1)
        .run_with(&on_disk)
        .unwrap();
    let error = draws.info().recorder_error.as_ref().unwrap();
    assert!(error.contains("run.chain1"), "{error}");
    assert!(draws.info().stopped_early && draws.n_draws() <= 1);
}

// Killed processes.

fn long_run(folder: &Path, checkpoint: bool) -> Draws {
    let target = GaussianTarget::standard(20).unwrap();
    let on_disk = OnDisk { path: folder.join("rows"), every: 2, keep: Keep::All };
    let sampler = Sampler::new(&target, Mala::default()).chains(3).warmup(500).draws(6000).seed(8);
    let sampler = sampler.keep(Keep::Statistics);
    let (draws, _) = match checkpoint {
        true => {
            let sampler = sampler.checkpoint(folder.join("run"), Every::Draws(50));
            sampler.run_with(&(Moments, on_disk)).unwrap()
        }
        false => sampler.run_with(&(Moments, on_disk)).unwrap(),
    };
    draws
}

const CHILD: &str = "BNN_MCMC_RECORDER_CHILD";

/// Not a test of its own: what the killed processes run.
#[test]
fn child_process() {
    if let Some(folder) = std::env::var_os(CHILD) {
        long_run(Path::new(&folder), true);
    }
}

#[test]
fn a_killed_process_leaves_whole_rows_and_is_resumed_exactly() {
    let whole_folder = tempfile::tempdir().unwrap();
    let whole = long_run(whole_folder.path(), false);
    let file = |folder: &Path, chain: usize| folder.join(format!("rows.chain{chain}"));
    let rows = |folder: &Path, chain: usize| -> Vec<Vec<f32>> {
        let file = ChainFile::open(file(folder, chain)).unwrap();
        file.map(|row| row.unwrap()).collect()
    };
    let expected = [0, 1, 2].map(|chain| rows(whole_folder.path(), chain));
    assert_eq!(expected[2].len(), 3000);
    let spawn = |folder: &Path| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "recorders::child_process"])
            .env(CHILD, folder)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let began = Instant::now();
    let first = tempfile::tempdir().unwrap();
    assert!(spawn(first.path()).wait().unwrap().success());
    let duration = began.elapsed();
    let mut rng = ChainRng::new(1, 0);
    let (mut killed, mut with_rows) = (0, 0);
    let mut folder = tempfile::tempdir().unwrap();
    while killed < 8 || with_rows < 3 {
        let mut child = spawn(folder.path());
        std::thread::sleep(duration.mul_f64(0.8 * rng.uniform()).max(Duration::from_millis(1)));
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            folder = tempfile::tempdir().unwrap();
            continue;
        }
        killed += 1;
        // What is there is the beginning of what an uninterrupted run writes.
        for (chain, expected) in expected.iter().enumerate() {
            let path = file(folder.path(), chain);
            if path.exists() && std::fs::metadata(&path).unwrap().len() > 200 {
                let found = rows(folder.path(), chain);
                assert!(expected.starts_with(&found));
                with_rows += usize::from(!found.is_empty());
                let begins = std::fs::read(file(whole_folder.path(), chain)).unwrap();
                assert!(begins.starts_with(&std::fs::read(&path).unwrap()));
            }
        }
        // A copy is resumed to the end; the next process goes on with the files themselves.
        let copy = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
        assert_same(&long_run(copy.path(), true), &whole);
        for chain in 0..3 {
            let [a, b] = [copy.path(), whole_folder.path()].map(|f| file(f, chain));
            assert!(std::fs::read(a).unwrap() == std::fs::read(b).unwrap(), "chain {chain}");
        }
    }
    println!("{killed} kills, {with_rows} files with rows");
}
