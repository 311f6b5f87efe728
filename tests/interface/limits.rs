//! What cannot be done is refused by name, before memory is asked for: numbers of any size, inputs that
//! are no numbers, names that occur twice.

use bnn_mcmc::adapt::Windows;
use bnn_mcmc::data::Takens;
use bnn_mcmc::diagnostics::{Outcome, density};
use bnn_mcmc::layout::Layout;
use bnn_mcmc::model::logistic;
use bnn_mcmc::optimise::{EarlyStopping, Optimiser};
use bnn_mcmc::predict::RunningUncertainty;
use bnn_mcmc::predict::{Bins, Pit};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{LangevinGradient, Scale};
use bnn_mcmc::targets::DescentRule;
use bnn_mcmc::testing::{GaussianTarget, Invariance};
use ndarray::{Array2, Array3, array};
use shared::refused;
use shared::stopping::Stopping;

const MAX: usize = usize::MAX;

fn data() -> Dataset {
    let x = Array2::from_shape_fn((20, 2), |(i, j)| ((i + 3 * j) as f64).sin());
    let y = x.column(0).mapv(|x| x + 0.3 * (7.0 * x).cos());
    Dataset::regression(x, y).unwrap()
}

fn classes() -> Dataset {
    let x = Array2::from_shape_fn((30, 4), |(i, j)| ((2 * i + 5 * j) as f64).sin());
    Dataset::classification(x, (0..30).map(|i| i % 3).collect(), ["a", "b", "c"]).unwrap()
}

fn posterior(data: &Dataset) -> Posterior<Mlp, Gaussian> {
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    Posterior::new(network, Gaussian::fixed(0.3).unwrap(), data, priors).unwrap()
}

#[test]
fn every_number_that_is_too_large_or_zero_is_refused_by_name() {
    let target = GaussianTarget::standard(2).unwrap();
    let (data, classes) = (data(), classes());
    let posterior = posterior(&data);
    let run = |s: Sampler<'_, GaussianTarget, Rwm>| s.run().map(drop);
    let new = || Sampler::new(&target, Rwm::default()).warmup(0).draws(1).chains(1);
    let draws = new().draws(10).run().unwrap();
    let points = Array2::from_shape_fn((1, 10), |(_, i)| i as f64);
    let pit = Pit { values: array![[0.5]] };
    let ascent = |steps| Optimiser::new(&target, Adam { steps, ..Adam::default() });
    let watched = |every, patience| {
        let stopping = EarlyStopping { every, patience };
        ascent(3).early_stopping(stopping, |q| Ok(q[0])).run(&[1.0, 1.0]).map(drop)
    };
    let invariance = |replicates, steps| {
        let test = Invariance { replicates, steps, ..Invariance::default() };
        test.run(&target, &Rwm::default(), |rng, q| target.draw(rng, q)).map(drop)
    };
    let takens = |window, lag, stride, horizon| {
        Takens { window, lag, stride, horizon }.embed(&[0.0; 50]).map(drop)
    };
    let on = |algorithm: Minibatch| {
        Sampler::new(&posterior, Sgld { gradient: algorithm, ..Sgld::default() }).run().map(drop)
    };
    let descends = |depth| {
        let mut algorithm = LangevinGradient::default();
        algorithm.descent = DescentRule { depth, ..algorithm.descent };
        Sampler::new(&posterior, algorithm).warmup(0).draws(1).chains(1).run().map(drop)
    };
    let hmc = |max_steps| {
        let hmc = Hmc { max_steps, path_length: 1e300, ..Hmc::default() };
        Sampler::new(&target, hmc).warmup(0).draws(1).chains(1).run().map(drop)
    };
    let nuts = |max_depth| {
        Sampler::new(&target, Nuts { max_depth, ..Nuts::default() }).draws(1).run().map(drop)
    };
    let rungs = |rungs| Ladder::Power { rungs, exponent: 5.0 }.betas().map(drop);
    let recorded = |every| {
        new()
            .run_with(&EveryKth { every, keep: Keep::All })
            .map(|(_, r)| assert!(every == MAX && r[0].n_draws() == 0))
    };
    let folder = tempfile::tempdir().unwrap();
    let on_disk = |every| {
        let path = folder.path().join("rows");
        new().run_with(&OnDisk { path, every, keep: Keep::All }).map(drop)
    };
    let checkpoint = |every| {
        let path = folder.path().join(format!("run{every}"));
        new().checkpoint(path, Every::Draws(every)).run().map(drop)
    };
    let streamed = StreamedUncertainty::new;
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let iris = Posterior::new(logistic::multinomial(4, 3).unwrap(), Categorical, &classes, priors);
    let iris = iris.unwrap();
    let along = |row| streamed(&iris, classes.x().view())?.along(&[row]).map(drop);
    let scale = |kind| Scale::new(MAX, 0.1, None, kind).map(drop);

    // What is called, the name in the message, or none where all is well.
    let table: Vec<(&str, Result<(), Error>, Option<&str>)> = vec![
        ("chains", run(new().chains(MAX)), Some("chains")),
        ("many chains", run(new().chains(1 << 50)), Some("chains")),
        ("many chains without draws", run(new().draws(0).chains(1 << 50)), Some("chains")),
        ("no chains", run(new().chains(0)), Some("chains")),
        ("draws", run(new().draws(MAX)), Some("draws")),
        ("draws of all chains", run(new().draws(1 << 20).chains(1 << 40)), Some("chains")),
        ("no draws", run(new().draws(0)), None),
        ("threads", run(new().threads(MAX)), Some("threads")),
        ("no threads", run(new().threads(0)), Some("threads")),
        ("no thinning", run(new().thin(0)), Some("thin")),
        ("checkpoint", checkpoint(MAX), None),
        ("no checkpoint", checkpoint(0), Some("every")),
        ("EveryKth", recorded(MAX), None),
        ("EveryKth 0", recorded(0), Some("every")),
        ("OnDisk", on_disk(MAX), None),
        ("OnDisk 0", on_disk(0), Some("every")),
        ("along", along(MAX), Some("rows")),
        ("HMC", hmc(u32::MAX), Some("max_steps")),
        ("HMC 0", hmc(0), Some("max_steps")),
        ("NUTS", nuts(u32::MAX), Some("max_depth")),
        ("NUTS 0", nuts(0), Some("max_depth")),
        ("descent", descends(MAX), Some("depth")),
        ("descent 0", descends(0), Some("depth")),
        ("minibatch", on(Minibatch { size: MAX }), Some("size of a minibatch")),
        ("minibatch 0", on(Minibatch { size: 0 }), Some("size of a minibatch")),
        ("rungs", rungs(MAX), Some("rungs of the ladder")),
        ("no rungs", rungs(0), Some("rungs of the ladder")),
        ("scale", scale(Preconditioner::Diagonal), Some("dim")),
        ("dense scale", scale(Preconditioner::Dense), Some("dim")),
        ("dense scale of gradients", scale(Preconditioner::DenseFromGradients), Some("dim")),
        ("ascent", ascent(MAX).run(&[1.0, 1.0]).map(drop), Some("steps")),
        ("ascent 0", ascent(0).run(&[1.0, 1.0]).map(drop), Some("steps")),
        ("ascents", ascent(3).run_each(&Init::Random, MAX).map(drop), Some("chains")),
        ("no ascents", ascent(3).run_each(&Init::Random, 0).map(drop), Some("chains")),
        ("stopping", watched(MAX, MAX), None),
        ("stopping 0", watched(0, 1), Some("every")),
        ("no patience", watched(1, 0), Some("patience")),
        ("invariance", invariance(MAX, 1), Some("replicates")),
        ("no replicates", invariance(0, 1), Some("replicates")),
        ("steps of invariance", invariance(2, MAX), Some("steps")),
        ("no steps of invariance", invariance(2, 0), Some("steps")),
        ("standard normal", GaussianTarget::standard(MAX).map(drop), Some("dim")),
        ("large normal", GaussianTarget::standard(1 << 32).map(drop), Some("dim")),
        ("no normal", GaussianTarget::standard(0).map(drop), Some("dim")),
        ("linear", Linear::new(MAX, 1).map(drop), Some("n_inputs")),
        ("outputs", Linear::new(1, MAX).map(drop), Some("n_outputs")),
        ("logistic", logistic::binary(MAX).map(drop), Some("n_inputs")),
        ("logits", logistic::multinomial(1, MAX).map(drop), Some("n_outputs")),
        ("layers", Mlp::new(&[1, MAX, 1], Activation::Tanh).map(drop), Some("sizes")),
        ("window", takens(MAX, 1, 1, 1), Some("window x lag")),
        ("lag", takens(2, MAX, 1, 1), Some("window x lag")),
        ("horizon", takens(1, 1, 1, MAX), Some("window x lag")),
        ("stride", takens(2, 1, MAX, 1), None),
        ("no stride", takens(2, 1, 0, 1), Some("stride")),
        ("folds", data.k_folds(MAX, 1).map(drop), Some("k")),
        ("no folds", data.k_folds(0, 1).map(drop), Some("k")),
        ("class folds", classes.stratified_k_folds(MAX, 1).map(drop), Some("k")),
        ("split", data.split_at(MAX).map(drop), Some("n_train")),
        ("no split", data.split_at(0).map(drop), Some("n_train")),
        ("thinned", draws.thinned(MAX).map(drop), Some("k")),
        ("not thinned", draws.thinned(0).map(drop), Some("k")),
        ("density", density(points.view(), None, MAX).map(drop), Some("points")),
        ("no density", density(points.view(), None, 0).map(drop), Some("points")),
        ("histogram", pit.histogram(MAX).map(drop), Some("bins")),
        ("no histogram", pit.histogram(0).map(drop), Some("bins")),
        ("inputs", RunningUncertainty::new(MAX, ["a", "b"]).map(drop), Some("number of inputs")),
        ("no inputs", RunningUncertainty::new(0, ["a", "b"]).map(drop), Some("number of inputs")),
        ("moments", RunningMoments::new(MAX).map(drop), Some("dim")),
    ];
    for (what, result, expected) in table {
        match (result, expected) {
            (Ok(()), None) => {}
            (Err(error), Some(name)) => {
                let found = match &error {
                    Error::Argument { name, .. } | Error::Memory { name, .. } => name,
                    Error::Shape { what, .. } => what,
                    other => panic!("{what}: {other:?}"),
                };
                assert_eq!(found, name, "{what}: {error}");
            }
            (result, _) => panic!("{what}: {result:?}"),
        }
    }
    let fit = iris.uncertainty_at(&[0.1; 15], classes.x().view()).unwrap();
    let index = classes.response().classes().unwrap();
    for bins in [Bins::EqualWidth(MAX), Bins::EqualCount(MAX), Bins::EqualWidth(0)] {
        refused!(fit.reliability(index, bins), Argument { name: "bins" });
    }
    assert!(draws.draw(MAX, 0).is_none() && draws.draw(0, MAX).is_none());
    assert!(Windows::new(MAX).contains(MAX / 2) && !Windows::new(MAX).contains(MAX));
    assert_eq!(StepSchedule::Cyclical { period: u64::MAX }.step_size(0.1, u64::MAX), 0.1);
}

/// Lengths that no run comes to the end of are no mistake: the run can be stopped.
#[test]
fn endless_runs_can_be_stopped() {
    let target = GaussianTarget::standard(2).unwrap();
    let stop = StopHandle::new();
    let run = || Sampler::new(&target, Rwm::default()).chains(2).stop_handle(&stop);
    let stopper = stop.clone();
    let draws = run().warmup(MAX).on_progress(move |_| stopper.stop()).run().unwrap();
    assert!(draws.info().stopped_early && draws.n_draws() == 0);
    let stop = StopHandle::new();
    let target = Stopping::new(target, 1000, &stop, 0.0);
    let run = Sampler::new(&target, Rwm::default()).chains(2).warmup(5).thin(MAX);
    let draws = run.stop_handle(&stop).run().unwrap();
    assert!(draws.info().stopped_early && draws.n_draws() == 0);
    assert_eq!(draws.verdict().unwrap().outcome, Outcome::NothingToJudge { draws: 0 });
}

/// A user's target with a layout of its own.
struct Named(usize, Layout);

impl Target for Named {
    type Workspace = ();
    fn dim(&self) -> usize {
        self.0
    }
    fn layout(&self) -> Layout {
        self.1.clone()
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(-0.5 * q.iter().map(|q| q * q).sum::<f64>())
    }
}

#[test]
fn layouts_that_cannot_be_are_refused() {
    let twice = Layout::new().with("slope", &[2]).with("noise", &[]).with("slope", &[1]);
    let (name, value) = ("blocks of the layout", "`slope` twice");
    let target = Named(4, twice.clone());
    let run = Sampler::new(&target, Rwm::default()).run();
    refused!(run, Argument { name: name, value: value });
    let draws = Draws::new(twice, Array3::zeros((1, 5, 4)));
    refused!(draws, Argument { name: name, value: value });

    // A part of one block and the name of another.
    let twice = Layout::new().with("a", &[2]).with("b", &[]).with("a[1]", &[]);
    let (name, value) = ("parameters of the layout", "`a[1]` twice");
    let target = Named(4, twice.clone());
    let run = Sampler::new(&target, Rwm::default()).run();
    refused!(run, Argument { name: name, value: value });
    let draws = Draws::new(twice, Array3::zeros((1, 5, 4)));
    refused!(draws, Argument { name: name, value: value });
    let apart = Layout::new().with("a", &[2]).with("a[2]", &[]).with("b", &[]).with("b[0]", &[]);
    assert!(Draws::new(apart, Array3::zeros((1, 5, 5))).is_ok());

    let huge = Layout::new().with("a", &[MAX, 2]).with("b", &[3]);
    assert_eq!(huge.dim(), MAX);
    let draws = Draws::new(huge.clone(), Array3::zeros((1, 5, 1)));
    let what = "number of parameters of the draws";
    refused!(draws, Shape { what: what, found: 1, expected: MAX });
    let target = Named(MAX, huge);
    let run = Sampler::new(&target, Rwm::default()).run();
    assert!(
        matches!(&run, Err(Error::Memory { name, .. }) if name == "dim of the target"),
        "{run:?}"
    );
}

#[test]
fn inputs_to_predict_must_be_finite() {
    let data = data();
    let posterior = posterior(&data);
    let q = vec![0.1; posterior.layout().dim()];
    let draws = Array3::from_elem((1, 4, q.len()), 0.1);
    let draws = Draws::new(posterior.layout().clone(), draws).unwrap();
    let classes = classes();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let linear = logistic::multinomial(4, 3).unwrap();
    let iris = Posterior::new(linear, Categorical, &classes, priors).unwrap();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut x = data.x().to_owned();
        x[(7, 1)] = bad;
        let x = x.view();
        let mut flowers = classes.x().to_owned();
        flowers[(7, 1)] = bad;
        let flowers = flowers.view();
        for (what, result) in [
            ("predict_mean", posterior.predict_mean(&draws, x).map(drop)),
            ("predict_at", posterior.predict_at(&q, x).map(drop)),
            ("moments", StreamedMoments::new(&posterior, x).map(drop)),
            ("streamed", StreamedUncertainty::new(&iris, flowers).map(drop)),
            ("uncertainty_at", iris.uncertainty_at(&[0.1; 15], flowers).map(drop)),
        ] {
            println!("{what}");
            let problem = format!("{bad} is not a finite number");
            let (table, row, column) = ("inputs", "row 8", "#2");
            refused!(result, Cell { table: table, row: row, column: column, problem: problem });
        }
    }
    assert!(posterior.predict_at(&q, data.x().view()).is_ok());
}
