//! The same draws for any number of threads, whatever samples them.

use std::sync::atomic::{AtomicBool, Ordering};

use bnn_mcmc::data::Task;
use bnn_mcmc::fit::{Fit, Method, Noise, Recipe};
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2};

/// Rows enough for several shares of each gradient.
const ROWS: usize = 8_000;

fn task(noise: Option<Noise>) -> Task {
    noise.map_or(Task::Classification, Noise::task)
}

/// Responses between 0 and 1 for shares, whole numbers for counts and classes, bounds for times.
fn data(noise: Option<Noise>) -> Dataset {
    let x = Array2::from_shape_fn((ROWS, 10), |(i, j)| ((3 * i + 7 * j + i * j) as f64).sin());
    let mut rng = ChainRng::new(4, 0);
    let share: Array1<f64> =
        x.column(0).iter().map(|x| 1.0 / (1.0 + (-x - rng.normal()).exp())).collect();
    match task(noise) {
        Task::Regression => Dataset::regression(x, share),
        Task::Counts => Dataset::counts(x, share.mapv(|share| (6.0 * share).floor())),
        Task::Survival => Dataset::survival(x, share, &[true, false, true, true].repeat(ROWS / 4)),
        Task::Classification => {
            let labels: Vec<_> = share.iter().map(|share| (3.0 * share) as usize).collect();
            Dataset::classification(x, labels, ["a", "b", "c"])
        }
    }
    .unwrap()
}

const METHODS: [Method; 5] =
    [Method::Nuts, Method::Mams, Method::Collapsed, Method::Tempered, Method::Ensemble];

/// `None` are classes.
const NOISES: [Option<Noise>; 16] = [
    None,
    Some(Noise::Ordinal),
    Some(Noise::Gaussian),
    Some(Noise::Heteroscedastic),
    Some(Noise::StudentT),
    Some(Noise::HeteroscedasticStudentT),
    Some(Noise::Beta),
    Some(Noise::Poisson),
    Some(Noise::NegativeBinomial),
    Some(Noise::ZeroInflatedPoisson),
    Some(Noise::ZeroInflatedNegativeBinomial),
    Some(Noise::HurdlePoisson),
    Some(Noise::HurdleNegativeBinomial),
    Some(Noise::LogNormal),
    Some(Noise::Weibull),
    Some(Noise::Normal),
];

/// Whether the output layer can be integrated out.
fn is_collapsible(noise: Option<Noise>) -> bool {
    let Some(noise) = noise else { return false };
    let real = [Noise::Gaussian, Noise::Heteroscedastic, Noise::StudentT];
    real.contains(&noise) || noise == Noise::HeteroscedasticStudentT
}

/// Compares the bits of the draws on 1, 2 and 8 threads, beside threads that take the processors from them.
fn compare(pairs: impl Iterator<Item = (Method, Option<Noise>)>) {
    let ended = AtomicBool::new(false);
    let spin = || {
        while !ended.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    };
    let compared = std::thread::scope(|scope| {
        (0..2).for_each(|_| drop(scope.spawn(spin)));
        let compared: Vec<_> = pairs.map(|(method, noise)| same(method, noise)).collect();
        ended.store(true, Ordering::Relaxed);
        compared
    });
    let differing: Vec<_> = compared.into_iter().flatten().collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// The method, noise and number of threads whose draws are others than on one thread.
fn same(method: Method, noise: Option<Noise>) -> Vec<String> {
    let data = data(noise);
    let on = |threads| {
        let recipe = Fit::of(task(noise), "y").hidden(&[50]).method(method);
        let recipe = noise.into_iter().fold(recipe, Recipe::noise);
        let chains = if method == Method::Ensemble { 2 } else { 1 };
        recipe.chains(chains).warmup(4).draws(3).seed(2).threads(threads).fit(&data).unwrap()
    };
    let one = on(1);
    let differs = |threads: &usize| on(*threads).draws().values() != one.draws().values();
    let differing = [2, 8].into_iter().filter(differs);
    differing.map(|threads| format!("{method:?}, {noise:?}, {threads} threads")).collect()
}

#[test]
fn on_any_number_of_threads() {
    let collapsed = NOISES.into_iter().filter(|noise| is_collapsible(*noise));
    let collapsed = collapsed.map(|noise| (Method::Collapsed, noise));
    let others = [(Method::Nuts, None), (Method::Mams, Some(Noise::StudentT))];
    compare(collapsed.chain(others).chain([(Method::Ensemble, Some(Noise::StudentT))]));
}

#[test]
#[ignore = "long"]
fn on_any_number_of_threads_long() {
    let all = NOISES.into_iter().flat_map(|noise| METHODS.map(|method| (method, noise)));
    let known = |(method, noise): &(Method, Option<Noise>)| {
        *method != Method::Collapsed || is_collapsible(*noise)
    };
    compare(all.filter(known));
}
