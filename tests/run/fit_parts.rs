//! The linear part and the sampled scales that a recipe asks for, beside the same model put together by hand.

use std::fmt::Write;

use bnn_mcmc::fit::{AnyLikelihood, Fit, Method, Network, Noise, Recipe, WeightPrior};
use bnn_mcmc::model::{NonCentred, Skip};
use bnn_mcmc::prelude::*;

/// A number, a column of three labels, another number; a real response and a class.
fn table() -> String {
    let mut text = String::from("size,colour,age,y,kind\n");
    for i in 0..40 {
        let (size, age) = ((7 * i) % 13, (3 * i) % 10);
        let colour = ["red", "green", "blue"][(i * i + i / 3) % 3];
        let y = 0.5 * size as f64 + (age as f64).sin() + if colour == "red" { 2.0 } else { 0.0 };
        writeln!(text, "{size}.5,{colour},{age},{y},{}", ["a", "b", "c"][(i / 2) % 3]).unwrap();
    }
    text
}

fn fit(recipe: Recipe) -> Fit {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("table.csv");
    std::fs::write(&file, table()).unwrap();
    recipe.chains(1).warmup(5).draws(2).seed(4).read_csv(file).unwrap()
}

fn half_t(scale: f64) -> LogHalfT {
    LogHalfT::new(30.0, scale).unwrap()
}

/// The fit's density is that of `model` and `priors`, on the rows that the fit has scaled.
fn check<M: Model>(fit: &Fit, model: M, priors: Priors) {
    let mut scaled = fit.feature_scaler().scale_features(fit.training()).unwrap();
    if let Some(scaler) = fit.response_scaler() {
        scaled = scaler.scale_response(&scaled).unwrap();
    }
    let own: &Posterior<Network, AnyLikelihood> = fit.posterior();
    let by_hand = Posterior::new(model, *own.likelihood(), &scaled, priors).unwrap();
    assert_eq!(own.layout(), by_hand.layout());
    let q: Vec<f64> = (0..own.dim()).map(|i| 0.4 * (1.0 + 2.0 * i as f64).sin()).collect();
    let found = own.log_density(&q, &mut own.workspace());
    let expected = by_hand.log_density(&q, &mut by_hand.workspace());
    assert_eq!(found.likelihood.to_bits(), expected.likelihood.to_bits());
    approx::assert_relative_eq!(found.prior, expected.prior, max_relative = 1e-13);
}

/// The columns of the features size, colour=blue, colour=green, colour=red, age.
const COLUMNS: [&str; 5] = ["size", "colour", "colour", "colour", "age"];

fn noise_prior() -> LogInverseGamma {
    LogInverseGamma::new(0.5, 0.005).unwrap()
}

#[test]
fn scales_of_an_output_layer_that_is_integrated_out_belong_to_its_prior() {
    let recipe = || Fit::regression("y").reader(|r| r.ignore(["kind"])).hidden(&[6]);
    let fit = fit(recipe().skip(true).weights(WeightPrior::Scales));
    assert_eq!(fit.recipe().to_string().matches("linear part").count(), 2);
    let network = Mlp::new(&[5, 6, 1], Activation::Tanh).unwrap();
    let network = NonCentred::new(network).by_column("w0", "log_relevance", &COLUMNS).unwrap();
    let network = Skip::new(network).unwrap();
    let priors = Priors::by_fan_in(&network)
        .with("log_relevance", half_t(1.0))
        .hierarchical("w1", "log_output_variance", half_t((1.0f64 / 6.0).sqrt()))
        .hierarchical("skip", "log_skip_variance", half_t(0.2f64.sqrt()))
        .with("log_noise_variance", noise_prior());
    check(&fit, network, priors);
    assert_eq!(fit.draws().info().algorithm.as_deref(), Some("Collapsed(Mams)"));
}

#[test]
fn scales_of_an_output_layer_that_is_sampled_are_non_centred() {
    let recipe = || Fit::regression("y").reader(|r| r.ignore(["kind"])).hidden(&[6]);
    let recipe = recipe().weights(WeightPrior::Scales).noise(Noise::StudentT).method(Method::Nuts);
    let network = Mlp::new(&[5, 6, 1], Activation::Tanh).unwrap();
    let network = NonCentred::new(network).by_column("w0", "log_relevance", &COLUMNS).unwrap();
    let network = network.by_block("w1", "log_output_variance").unwrap();
    let priors = Priors::by_fan_in(&network)
        .with("log_relevance", half_t(1.0))
        .with("log_output_variance", half_t(1.0))
        .with("log_squared_scale", noise_prior())
        .with("log_degrees_of_freedom", Normal::new(2.0, 1.0).unwrap());
    check(&fit(recipe), network, priors);
}

#[test]
fn logits_of_classes_have_a_larger_scale() {
    let recipe = || Fit::classification("kind").reader(|r| r.ignore(["y"])).hidden(&[6, 4]);
    let fitted = fit(recipe().skip(true).weights(WeightPrior::Scales));
    let network = Mlp::new(&[5, 6, 4, 3], Activation::Tanh).unwrap();
    let network = NonCentred::new(Skip::new(network).unwrap());
    let network = network.by_column("w0", "log_relevance", &COLUMNS).unwrap();
    let network = network.by_block("w2", "log_output_variance").unwrap();
    let network = network.by_block("skip", "log_skip_variance").unwrap();
    let priors = Priors::by_fan_in(&network)
        .with("log_relevance", half_t(1.0))
        .with("log_output_variance", half_t(4.0))
        .with("log_skip_variance", half_t(4.0));
    check(&fitted, network, priors);
    // Without scales, the linear part has the prior by fan-in; a linear model has no second linear part.
    let plain = fit(recipe().skip(true));
    let network = Skip::new(Mlp::new(&[5, 6, 4, 3], Activation::Tanh).unwrap()).unwrap();
    check(&plain, network.clone(), Priors::by_fan_in(&network));
    let linear = fit(recipe().hidden(&[]).skip(true));
    let network = Mlp::new(&[5, 3], Activation::Tanh).unwrap();
    check(&linear, network.clone(), Priors::by_fan_in(&network));
}

#[test]
fn a_saved_fit_with_parts_predicts_the_same_after_it_is_loaded() {
    let recipe = Fit::regression("y").reader(|r| r.ignore(["kind"])).hidden(&[5]).skip(true);
    let fit = fit(recipe.weights(WeightPrior::Scales).method(Method::Nuts));
    let folder = tempfile::tempdir().unwrap();
    fit.save(folder.path().join("run")).unwrap();
    let loaded = Fit::load(folder.path().join("run")).unwrap();
    assert_eq!(loaded.recipe().to_string(), fit.recipe().to_string());
    let rows = fit.training();
    let [own, again] = [&fit, &loaded].map(|fit| fit.predict(rows).unwrap());
    assert_eq!(own.mean(), again.mean());
    // Scales bear the names of the table's columns.
    let named = fit.posterior().model().named_axes();
    let names = ["size", "colour", "age"].map(String::from).to_vec();
    assert_eq!(named, [("log_relevance".to_string(), 0, names)]);
}
