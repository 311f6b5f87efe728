//! Simulation-based calibration of the models that `Fit` builds by default, with its priors.
//!
//! q is drawn from the prior and y from the model given q; the posterior given y is sampled, and the rank of a quantity of
//! q among 99 draws is uniform on 0 .. 99 (Talts and others 2018, arXiv:1804.06788). Quantities: the log likelihood of y,
//! which sees most mistakes (Modrak and others 2023, <https://doi.org/10.1214/23-BA1404>), the log prior, means of three
//! rows, and the parameters of the likelihood.

use bnn_mcmc::data::Response;
use bnn_mcmc::fit::{AnyLikelihood, Candidate, Fit, Method, Network, Noise, Recipe};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::StopHandle;
use bnn_mcmc::targets::{PowerTarget, Target};
use bnn_mcmc::testing::Sbc;
use ndarray::{Array1, Array2, Array3, s};
use shared::refused;

const ROWS: usize = 30;
/// The number of draws that a rank is taken among, and the number of bins of ranks.
const DRAWS: usize = 99;
const BINS: usize = 10;

fn x() -> Array2<f64> {
    Array2::from_shape_fn((ROWS, 2), |(i, j)| (((7 + 4 * j) * i + j) % 31) as f64 / 15.0 - 1.0)
}

/// A table for which `Fit` builds the posterior.
fn template(recipe: &Recipe, response: &str) -> Fit {
    let wave = |i: usize| (1.3 * i as f64).sin();
    let y = Array1::from_shape_fn(ROWS, wave);
    let data = match response {
        "real" => Dataset::regression(x(), y),
        "shares" => Dataset::regression(x(), y.mapv(|y| 0.5 + 0.4 * y)),
        "counts" => Dataset::counts(x(), y.mapv(|y| (3.0 + 3.0 * y).round())),
        "classes" => {
            Dataset::classification(x(), (0..ROWS).map(|i| i % 3).collect(), ["a", "b", "c"])
        }
        _ => Dataset::survival(x(), y.mapv(|y| (0.5 * y).exp()), &[true; ROWS]),
    };
    recipe.clone().chains(1).warmup(20).draws(1).fit(&data.unwrap()).unwrap()
}

/// The rows with drawn responses. Times are followed for the time 1.3.
fn simulated(rows: &Dataset, drawn: &Array1<f64>) -> Dataset {
    let x = rows.x().clone();
    let data = match rows.response() {
        // A share that is rounded to 0 or 1 is none.
        Response::Real(_) => Dataset::regression(x, drawn.clone()),
        Response::Counts(_) => Dataset::counts(x, drawn.clone()),
        Response::Classes { names, .. } => {
            Dataset::classification(x, drawn.iter().map(|y| *y as usize).collect(), names.clone())
        }
        Response::Censored { .. } => {
            let event: Vec<bool> = drawn.iter().map(|time| *time < 1.3).collect();
            Dataset::survival(x, drawn.mapv(|time| time.clamp(1e-300, 1.3)), &event)
        }
        other => panic!("{other:?}"),
    };
    let data = data.unwrap().with_feature_names(rows.feature_names()).unwrap();
    data.with_response_names(rows.response_names()).unwrap()
}

/// The quantities of each draw: `[draw, quantity]`.
fn quantities(
    posterior: &Posterior<Network, AnyLikelihood>,
    draws: &Draws,
    data: &Dataset,
) -> Array2<f64> {
    let predicted = posterior.predict(draws, data).unwrap();
    let density = predicted.log_density().unwrap();
    let n_phi = posterior.likelihood().layout().dim();
    let dim = posterior.layout().dim();
    let (mut all, mut workspace) = (Vec::new(), posterior.workspace());
    for chain in 0..draws.n_chains() {
        for draw in 0..draws.n_draws() {
            let q = draws.values().slice(s![chain, draw, ..]).to_vec();
            all.push(density.slice(s![chain, draw, ..]).sum());
            all.push(posterior.log_prior(&q, &mut workspace));
            all.extend([0, 11, 23].map(|row| predicted.mean()[[chain, draw, row, 0]]));
            all.extend(&q[dim - n_phi..]);
        }
    }
    let n = draws.n_chains() * draws.n_draws();
    Array2::from_shape_vec((n, all.len() / n), all).unwrap()
}

/// The chi-squared statistic of the ranks of each quantity in bins, of `sets` data sets. `shift` is added to the
/// parameters of the likelihood that responses are simulated by.
fn statistics(recipe: &Recipe, response: &str, sets: u64, shift: f64) -> Vec<f64> {
    let fit = template(recipe, response);
    let (prior, rows) = (fit.posterior(), fit.training().clone());
    let mut bins: Vec<[f64; BINS]> = Vec::new();
    let mut refused = 0;
    for seed in 0..sets {
        let mut truth = prior.prior_draws(1, seed).unwrap();
        if shift != 0.0 {
            let dim = prior.layout().dim();
            let mut values: Array3<f64> = truth.values().to_owned();
            values
                .slice_mut(s![.., .., dim - prior.likelihood().layout().dim()..])
                .map_inplace(|q| *q += shift);
            truth = Draws::new(prior.layout().clone(), values).unwrap();
        }
        let drawn = prior.predict_seeded(&truth, &rows, seed).unwrap();
        let data = simulated(&rows, &drawn.predictive_draws().slice(s![0, 0, .., 0]).to_owned());
        let Ok(posterior) = prior.given(&data) else {
            refused += 1;
            continue;
        };
        let sampler = Sampler::new(&posterior, Nuts::default()).chains(1).seed(seed).warmup(400);
        let draws = sampler.draws(DRAWS * 10).run().unwrap().thinned(10).unwrap();
        let (own, all) = (quantities(prior, &truth, &data), quantities(&posterior, &draws, &data));
        bins.resize(own.ncols(), [0.0; BINS]);
        for (k, bins) in bins.iter_mut().enumerate() {
            let rank = all.column(k).iter().filter(|value| **value < own[[0, k]]).count();
            bins[rank * BINS / (DRAWS + 1)] += 1.0;
        }
    }
    // Responses that cannot be, such as shares of 0 by rounding, are no data.
    assert!(refused * 20 <= sets, "{refused} of {sets}");
    let expected = (sets - refused) as f64 / BINS as f64;
    let statistic =
        |bins: &[f64; BINS]| bins.iter().map(|n| (n - expected).powi(2) / expected).sum();
    bins.iter().map(statistic).collect()
}

/// Beyond 37.3 a chi-squared number with 9 degrees of freedom is once in 43,000: of 60 quantities one or more with a
/// probability of 0.0014.
const LIMIT: f64 = 37.3;

/// `cargo test --release -p bnn-mcmc-tests --test run -- --ignored --nocapture default_priors`, with 150 sets for each model.
#[test]
#[ignore = "minutes"]
fn default_priors_are_calibrated() {
    let hidden = |recipe: Recipe| recipe.hidden(&[3]);
    let counts = |noise| hidden(Fit::counts("y").noise(noise));
    let times = |noise| hidden(Fit::survival("y").event("e").noise(noise));
    let mut worst: f64 = 0.0;
    for (name, recipe, response) in [
        ("normal", hidden(Fit::regression("y")), "real"),
        ("Student t", hidden(Fit::regression("y").noise(Noise::StudentT)), "real"),
        ("shares", hidden(Fit::regression("y").noise(Noise::Beta)), "shares"),
        ("ordinal", hidden(Fit::classification("y").noise(Noise::Ordinal)), "classes"),
        ("classes", hidden(Fit::classification("y")), "classes"),
        ("negative binomial", counts(Noise::NegativeBinomial), "counts"),
        ("zero-inflated Poisson", counts(Noise::ZeroInflatedPoisson), "counts"),
        ("zero-inflated negative binomial", counts(Noise::ZeroInflatedNegativeBinomial), "counts"),
        ("hurdle Poisson", counts(Noise::HurdlePoisson), "counts"),
        ("hurdle negative binomial", counts(Noise::HurdleNegativeBinomial), "counts"),
        ("log-normal times", times(Noise::LogNormal), "times"),
        ("Weibull times", times(Noise::Weibull), "times"),
    ] {
        let found = statistics(&recipe, response, 150, 0.0);
        println!("{name}: chi-squared {found:.1?}");
        worst = found.into_iter().fold(worst, f64::max);
    }
    assert!(worst < LIMIT, "{worst}");
    // Responses by another dispersion than the prior's are noticed.
    let shifted = statistics(&counts(Noise::NegativeBinomial), "counts", 150, 2.0);
    assert!(shifted.iter().any(|found| *found > LIMIT), "{shifted:?}");
}

/// A table for [`Recipe::calibrate`], with a response of this kind.
fn table(response: &str) -> Dataset {
    let wave = Array1::from_shape_fn(ROWS, |i| (1.3 * i as f64).sin());
    let data = match response {
        "real" => Dataset::regression(x(), wave),
        "counts" => Dataset::counts(x(), wave.mapv(|y| (3.0 + 3.0 * y).round())),
        _ => Dataset::classification(x(), (0..ROWS).map(|i| i % 3).collect(), ["a", "b", "c"]),
    };
    data.unwrap()
}

#[test]
fn a_recipe_calibrates_itself() {
    let sbc = Sbc::new().simulations(30);
    for (recipe, response) in [
        (Fit::regression("y").hidden(&[3]), "real"),
        (Fit::regression("y").model(Candidate::LinearTransformed), "real"),
        (Fit::regression("y").model(Candidate::NetworkHeteroscedastic).hidden(&[3]), "real"),
        (Fit::classification("y").model(Candidate::Network).hidden(&[3]), "classes"),
        (Fit::counts("y").hidden(&[]).method(Method::Mams), "counts"),
    ] {
        let recipe = recipe.chains(2).warmup(400).draws(600);
        let report = recipe.calibrate(&table(response), None, &sbc).unwrap();
        assert!(report.passes(), "{recipe}\n{report}");
        assert_eq!(report.names()[0], "log likelihood");
    }
}

#[test]
fn a_calibration_is_of_the_model_and_has_its_numbers() {
    let recipe = Fit::regression("y").model(Candidate::Network).hidden(&[3]);
    let report = |recipe: &Recipe, sbc: Sbc| recipe.calibrate(&table("real"), None, &sbc).unwrap();
    let sbc = Sbc::new().simulations(20);
    let short = report(&recipe.clone().chains(1).warmup(20).draws(99), sbc.clone());
    assert!(!short.passes(), "{short}");
    let names = short.names().join(" ");
    for scale in ["log_relevance[0]", "log_output_variance", "log_squared_scale", "mean of row"] {
        assert!(names.contains(scale), "{names}");
    }
    assert!(!names.contains("w0") && !names.contains("b0"), "{names}");
    // Same seed, same ranks, for any number of threads.
    let recipe = recipe.chains(1).warmup(100).draws(100);
    let of = |threads| report(&recipe, sbc.clone().threads(threads).seed(7)).ranks().to_owned();
    assert_eq!(of(1), of(3));
}

#[test]
fn what_cannot_be_calibrated_is_refused() {
    let sbc = Sbc::new().simulations(20);
    let recipe = Fit::regression("y").hidden(&[3]);
    let of = |recipe: Recipe, data: &Dataset| recipe.calibrate(data, None, &sbc);
    refused!(of(recipe.clone().method(Method::Ensemble), &table("real")), Argument {});
    let weighted = table("real").with_weights(vec![2.0; ROWS]).unwrap();
    refused!(of(recipe.clone(), &weighted), Argument {});
    refused!(of(recipe.clone().draws(40), &table("real")), Argument {});
    assert!(of(recipe.clone(), &table("classes")).is_err());
    let stop = StopHandle::new();
    stop.stop();
    assert!(of(recipe.stop_handle(&stop), &table("real")).unwrap_err().is_stopped());
}
