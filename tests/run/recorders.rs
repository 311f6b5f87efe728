//! Recorders: what they keep is what the draws say, to the bit, whether a run is stopped, resumed or shared out over
//! threads; and draws without coordinates are refused where they are needed.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use bnn_mcmc::diagnostics::{CovarianceComparison, Stein, Symmetries};
use bnn_mcmc::draws::recorder::{ChainPlan, OneDraw};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use bnn_mcmc::testing::GaussianTarget;
use ndarray::{Array1, Array2, s};
use rand::RngCore;
use shared::stopping::Stopping;
use shared::{refused, said};

use crate::fixtures::{assert_same, assert_same_stats};

/// Three classes, and a network with 21 weights.
pub fn classes() -> (Posterior<Mlp, Categorical>, Dataset) {
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

pub fn real(likelihood: Gaussian) -> (Posterior<Mlp, Gaussian>, Dataset) {
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

/// All that a record holds, as bytes: floats keep their bits.
fn bytes<T: Target, R: Recorder<T>>(_: &T, recorder: &R, records: &[R::Record]) -> Vec<Vec<u8>> {
    let encode =
        |record| cbor4ii::serde::to_vec(Vec::new(), &recorder.state(record).unwrap()).unwrap();
    records.iter().map(encode).collect()
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

    let what = "parameter block";
    refused!(run(Keep::blocks(["w7"])).run(), UnknownName { what: what, name: "w7" });
    refused!(
        run(Keep::blocks(["w0", "w*"])).run(),
        Argument { name: "blocks to keep", value: "`w0` 2 times" }
    );

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
        refused!(run(Keep::All).checkpoint(&path, Every::default()).run(), Checkpoint {});
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
    let what = "parameters of the draws";
    let statistics = "none: the run kept statistics only";
    for (draws, found, kept) in [(&none, "none", statistics), (&some, "b0[3]", "b0[3]")] {
        refused!(posterior.predict(draws, &data), Shape { what: what, found: kept });
        refused!(posterior.predict_mean(draws, x), Shape { what: what, found: kept });
        refused!(posterior.uncertainty(draws, x), Shape { what: what, found: kept });
        refused!(symmetries.canonical(draws, None), Shape { found: found });
        refused!(symmetries.canonical(draws, Some(&all.mean())), Shape { found: found });
        refused!(Stein::default().of_draws(&posterior, draws), Shape { what: what });
        refused!(CovarianceComparison::new(&all, draws), Shape { found: found });
        let length = draws.mean().len();
        refused!(
            posterior.uncertainty_at(&draws.mean(), x),
            Shape { what: "length of q", found: length }
        );
    }
    let found = statistics;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("draws.csv");
    refused!(none.summary(), Shape { what: what, found: found });
    let compared = CovarianceComparison::new(&none, &none);
    refused!(compared, Shape { what: what, found: found });
    refused!(none.to_csv(&path), Shape { what: what, found: found });
    assert!(!path.exists());
    said!(none.write_csv(Vec::new()).unwrap_err());
    refused!(none.block("w0"), UnknownName { name: "w0" });
    refused!(none.parameter("b0[0]"), UnknownName { name: "b0[0]" });

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
    refused!(run(&posterior, &path, &kth(3)), Checkpoint {});
    refused!(run(&posterior, &path, &Moments), Checkpoint {});
    refused!(run(&posterior, &path, &()), Checkpoint {});
    let path = folder.path().join("streamed");
    let x = data.x();
    let streamed = |x: &Array2<f64>| StreamedUncertainty::new(&posterior, x.view()).unwrap();
    run(&posterior, &path, &streamed(x)).unwrap();
    // Checksums of inputs are not the same on every processor.
    let found = |recorder| match run(&posterior, &path, &recorder) {
        Err(Error::Checkpoint { problem, .. }) => problem,
        other => panic!("{other:?}"),
    };
    let problem = found(streamed(&(x + 1.0)));
    assert!(problem.contains("`recorder` is 40 x 2 inputs with checksum "), "{problem}");
    let problem = found(streamed(x).along(&[1]).unwrap());
    assert!(problem.contains("along [] there"), "{problem}");
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
        said!(info.recorder_error.as_ref().unwrap());
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
