//! Ensembles as a method of a fit: the same draws as by hand, whatever interrupts or divides the run; and what is
//! said of them.

use std::ops::Range;

use bnn_mcmc::diagnostics::{Judge, Outcome, Trajectories};
use bnn_mcmc::draws::Approximation;
use bnn_mcmc::fit::{Fit, Method, Noise, Recipe, WeightPrior};
use bnn_mcmc::message::Plain;
use bnn_mcmc::optimise::Ascent;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::FullGrad;
use ndarray::{Array2, array, s};
use shared::wait::wait_until;
use shared::{refused, said};

use crate::fixtures::assert_same;

fn x() -> Array2<f64> {
    let mut rng = ChainRng::new(5, 0);
    Array2::from_shape_simple_fn((40, 2), || rng.normal())
}

fn data() -> Dataset {
    let x = x();
    let mut rng = ChainRng::new(6, 0);
    let y = x.rows().into_iter().map(|r| 50.0 + 10.0 * (2.0 * r[0]).sin() + r[1] + rng.normal());
    let y: Vec<f64> = y.collect();
    Dataset::regression(x, ndarray::Array1::from(y)).unwrap()
}

fn of(recipe: Recipe) -> Recipe {
    recipe.method(Method::Ensemble).hidden(&[3]).chains(3).warmup(90).draws(15).seed(3)
}

fn recipe() -> Recipe {
    of(Fit::regression("y"))
}

/// Adam in which some coordinates stay.
struct Held(Adam, Vec<Range<usize>>);

impl Ascent for Held {
    type Source = FullGrad;
    type State = <Adam as Ascent>::State;

    fn gradient(&self) -> &FullGrad {
        &FullGrad
    }

    fn steps(&self) -> usize {
        self.0.steps
    }

    fn learning_rate(&self) -> f64 {
        self.0.learning_rate
    }

    fn check(&self) -> Result<(), Error> {
        self.0.check()
    }

    fn state(&self, dim: usize) -> Self::State {
        self.0.state(dim)
    }

    fn step(&self, rate: f64, grad: &[f64], q: &mut [f64], state: &mut Self::State) {
        let before = q.to_vec();
        self.0.step(rate, grad, q, state);
        for held in &self.1 {
            q[held.clone()].copy_from_slice(&before[held.clone()]);
        }
    }
}

/// All coordinates.
fn every(dim: usize) -> Vec<Range<usize>> {
    (0..dim).map(|i| i..i + 1).collect()
}

/// Half of 90 iterations are steps of the ascent, as long as the sampler's warm-up is below 100.
fn adam() -> Adam {
    Adam { steps: 45, learning_rate: 0.01, ..Adam::default() }
}

fn around(dim: usize) -> Init {
    Init::Around { centre: vec![0.0; dim], sd: 0.1 }
}

#[test]
fn members_are_chains_from_where_ascents_end() {
    let counts = data().response().real().unwrap().column(0).mapv(|y| (y / 10.0).round());
    let counts = Dataset::counts(x(), counts).unwrap();
    let fit = of(Fit::counts("y").noise(Noise::Poisson)).fit(&counts).unwrap();
    let posterior = fit.posterior();
    let mut centre = vec![0.0; posterior.dim()];
    let y = counts.response().counts().unwrap();
    centre[posterior.layout().range("b1").unwrap()].fill(((y.sum() + 0.5) / y.nrows() as f64).ln());
    let around = Init::Around { centre, sd: 0.1 };
    let starts = adam().starts(posterior, &around, 3, 3).unwrap();
    let path_length = Some(7.0 * (posterior.dim() as f64).sqrt());
    let mams = Mams { path_length, max_first_steps: 30, ..Mams::default() };
    let sampler = Sampler::new(posterior, mams).chains(3).warmup(45).draws(15).seed(3);
    let by_hand = sampler.init(starts).run().unwrap();
    assert_eq!(fit.draws().values(), by_hand.values());
    let density = |draws: &Draws| draws.stat("log_likelihood").unwrap().to_owned();
    assert_eq!(density(fit.draws()), density(&by_hand));
    // The gradients of the ascents count: one for each step and one at each start, less the one that the sampler
    // finds at its own.
    assert_eq!(fit.draws().gradient_evals(), by_hand.gradient_evals() + 3 * 45);
}

/// Scales of weights have no mode together with the weights, and a noise that may grow anywhere would explain
/// rows that are hard to predict: the ascent leaves both alone.
#[test]
fn ascents_leave_scales_and_the_shape_of_the_noise_alone() {
    let recipe = recipe().noise(Noise::Heteroscedastic).weights(WeightPrior::Ard).skip(true);
    let fit = recipe.fit(&data()).unwrap();
    let posterior = fit.posterior();
    let range = |name: &str| posterior.layout().range(name).unwrap();
    let noise = [range("log_sd")];
    assert_eq!(noise[0].len(), 2);

    // Starts where nothing moves.
    let still = Optimiser::new(posterior, Held(adam(), every(posterior.dim()))).seed(3);
    let starts = still.run_each(&around(posterior.dim()), 3).unwrap();
    let held = Held(adam(), [&noise[..], &[range("log_relevance")]].concat());
    let ascent = Optimiser::new(posterior, held);
    let member = |start: bnn_mcmc::optimise::Optimum| {
        let mut q = start.q;
        noise.iter().for_each(|range| q[range.clone()].fill(0.0));
        ascent.run(&q).unwrap().q
    };
    let starts = Init::Points(starts.into_iter().map(member).collect());
    let mams = Mams { max_first_steps: 30, ..Mams::default() };
    let sampler = Sampler::new(posterior, Collapsed::new(mams)).chains(3).warmup(45).draws(15);
    let by_hand = sampler.seed(3).init(starts).run().unwrap();
    assert_eq!(fit.draws().values(), by_hand.values());
}

#[test]
fn draws_do_not_depend_on_threads_stops_folders_and_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let long = || recipe().noise(Noise::StudentT).warmup(20_000);
    let whole = long().threads(1).fit(&data()).unwrap();
    assert_same(long().threads(3).fit(&data()).unwrap().draws(), whole.draws());

    // Ended within the ascents, and within the draws.
    let run = folder.path().join("run");
    for file in ["checkpoint", "checkpoint.draws"] {
        let stop = StopHandle::new();
        let (stopper, path) = (stop.clone(), run.join(file));
        let watch = std::thread::spawn(move || {
            let is_there = || std::fs::metadata(&path).is_ok_and(|file| file.len() > 0);
            wait_until("a checkpoint", is_there);
            stopper.stop();
        });
        let every = Every::Seconds(0.0);
        let part = long().checkpoint_every(every).stop_handle(&stop).in_folder(&run);
        let part = part.fit(&data()).unwrap();
        watch.join().unwrap();
        if file == "checkpoint" {
            assert!(part.draws().info().stopped_early && part.draws().n_draws() == 0);
        }
    }
    let resumed = long().in_folder(&run).fit(&data()).unwrap();
    assert_same(resumed.draws(), whole.draws());
    let loaded = Fit::load(&run).unwrap();
    assert_eq!(loaded.draws(), resumed.draws());
    assert_eq!(loaded.verdict().unwrap(), whole.verdict().unwrap());
    assert!(resumed.recipe().to_string().starts_with(&loaded.recipe().to_string()));
    // It goes on to more draws.
    let more = long().draws(20).in_folder(&run).fit(&data()).unwrap();
    assert_eq!(more.draws().values().slice(s![.., ..15, ..]), whole.draws().values());

    let jobs = folder.path().join("jobs");
    for chains in [2..3, 0..2] {
        long().only_chains(chains).in_folder(&jobs).fit(&data()).unwrap();
    }
    let merged = Fit::merge(&jobs).unwrap();
    assert_same(merged.draws(), whole.draws());
    let members = Some(Approximation::Ensemble { members: 3 });
    assert_eq!(merged.draws().info().approximation, members);
}

#[test]
fn what_is_said_of_an_ensemble() {
    let fit = recipe().validation(0.2).fit(&data()).unwrap();
    let mut verdict = fit.verdict().unwrap();
    let Outcome::Ensemble { members: 3, ref stuck, max_rhat } = verdict.outcome else {
        panic!("{verdict}")
    };
    assert!(stuck.is_empty() && max_rhat > 1.0 && verdict.in_use.validation);
    assert!(!verdict.is_converged() && verdict.apart.is_some_and(|apart| apart > 0.0));
    assert!(fit.scores(fit.validation().unwrap()).is_ok());
    assert_eq!(verdict.advice(), []);
    // The words, with numbers that do not depend on the processor.
    (verdict.divergences, verdict.trajectories) = (0, Trajectories::default());
    verdict.apart = Some(0.25);
    verdict.outcome = Outcome::Ensemble { members: 3, stuck: vec![], max_rhat: 1.5 };
    said!(verdict.in_words(&Plain));
    verdict.in_use.validation = false;
    verdict.outcome = Outcome::Ensemble { members: 3, stuck: vec![1], max_rhat: f64::NAN };
    said!(verdict);
    let text = fit.recipe().to_string();
    said!(text.lines().find(|line| line.starts_with("sampler")).unwrap());

    // Draws that do not change are not hidden, nor are draws that are no numbers.
    let members = Some(Approximation::Ensemble { members: 2 });
    let judged = |value: f64| {
        let values = array![[[1.0], [1.0], [1.0], [1.0]], [[2.0], [value], [2.0], [2.0]]];
        let judge = Judge::new().quantities("predictions", values.view());
        judge.approximation(members.clone()).judge().unwrap().outcome
    };
    let Outcome::Ensemble { stuck, .. } = judged(3.0) else { panic!("no ensemble") };
    assert_eq!(stuck, [0]);
    assert!(matches!(judged(f64::NAN), Outcome::NotFinite { chain: 1, .. }));

    // Importance weights are for draws of the posterior.
    refused!(fit.loo(), Argument { name: "draws", value: "an ensemble of 3 members" });
    refused!(fit.loo_pit(1), Argument { name: "draws" });
    // Weights of the members by rows that were kept.
    let weights = fit.predict(fit.validation().unwrap()).unwrap().stacking().unwrap().weights;
    let mixture = fit.draws().mixture(&weights).unwrap();
    let method = "a mixture by weights of an ensemble of 3 members".to_string();
    assert_eq!(mixture.info().approximation, Some(Approximation::Fitted { method }));
}

#[test]
fn sizes_that_make_no_ensemble_are_refused_and_defaults_are_its_own() {
    refused!(recipe().chains(1).fit(&data()), Argument { name: "chains", value: 1 });
    refused!(recipe().warmup(0).fit(&data()), Argument { name: "warmup", value: 0 });
    let text = Fit::regression("y").method(Method::Ensemble).to_string();
    assert!(text.contains("8 chains of 4100 iterations of warm-up and 60 draws"), "{text}");
    let text = Fit::regression("y").hidden(&[9]).chains(5).to_string();
    assert!(text.contains("5 chains of 1000 iterations of warm-up and 1000 draws"), "{text}");
}

#[test]
fn every_task_has_ensembles() {
    let x = x();
    let noisy = |k: usize| x.column(0).mapv(|x| ((k as f64) * x).sin());
    let two = ndarray::stack![ndarray::Axis(1), noisy(1), noisy(2)];
    let counts =
        x.column(0).mapv(|x| (3.0 * x.exp()).floor().min(50.0)).insert_axis(ndarray::Axis(1));
    let class =
        |k: usize| (0..40).map(|i| usize::from(x[(i, 0)] > 0.0) + i % 2 * (k - 2)).collect();
    let classes = |k: usize| {
        let names = ["a", "b", "c"][..k].to_vec();
        Dataset::classification(x.clone(), class(k), names).unwrap()
    };
    let regression = || Fit::regression("y");
    for (recipe, data) in [
        (
            regression().noise(Noise::Heteroscedastic),
            Dataset::regression(x.clone(), two.clone()).unwrap(),
        ),
        (regression().weights(WeightPrior::Scales), Dataset::regression(x.clone(), two).unwrap()),
        (regression().weights(WeightPrior::Horseshoe).noise(Noise::StudentT), data()),
        (Fit::counts("y"), Dataset::counts(x.clone(), counts.clone()).unwrap()),
        (Fit::counts("y").noise(Noise::Poisson), Dataset::counts(x.clone(), counts).unwrap()),
        (Fit::classification("y"), classes(2)),
        (Fit::classification("y").weights(WeightPrior::Scales), classes(3)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let fit = of(recipe).fit(&data).unwrap();
        fit.save(folder.path().join("run")).unwrap();
        let loaded = Fit::load(folder.path().join("run")).unwrap();
        assert_eq!(loaded.draws(), fit.draws());
        assert!(matches!(loaded.verdict().unwrap().outcome, Outcome::Ensemble { members: 3, .. }));
        let scores = loaded.scores(&data).unwrap();
        assert!(scores.get("log_predictive_density").unwrap().posterior.is_finite());
        fit.to_zarr(folder.path().join("for_arviz.zarr")).unwrap();
    }
    // A linear model, of which there is one mode.
    let linear = of(regression()).hidden(&[]).fit(&data()).unwrap();
    assert!(linear.draws().info().algorithm.as_deref() == Some("Member(Mams)"));
}
