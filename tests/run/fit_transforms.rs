//! Fits of a transformed response, beside fits of a response that was transformed by hand.

use std::fmt::Write;
use std::fs;

use bnn_mcmc::data::{Standardise, Transform};
use bnn_mcmc::fit::{Fit, Method, Noise, Recipe};
use bnn_mcmc::predict::Centre;
use bnn_mcmc::prelude::*;
use ndarray::{Array2, array};
use shared::refused;

/// A positive response around 50 that grows by a power of the features.
fn data(rows: usize) -> Dataset {
    let mut rng = ChainRng::new(5, 0);
    let x = Array2::from_shape_fn((rows, 2), |_| rng.normal());
    let y =
        x.rows().into_iter().map(|x| 50.0 * (0.8 * x[0] - 0.3 * x[1] + 0.3 * rng.normal()).exp());
    Dataset::regression(x.clone(), y.collect::<ndarray::Array1<f64>>()).unwrap()
}

fn with_response(data: &Dataset, y: Array2<f64>) -> Dataset {
    data.clone().with_real_response(y).unwrap()
}

fn recipe() -> Recipe {
    Fit::regression("y").hidden(&[3]).method(Method::Nuts).chains(2).warmup(60).draws(60).seed(3)
}

#[track_caller]
fn close(found: f64, expected: f64) {
    let tolerance = 1e-9 * (1.0 + expected.abs());
    assert!((found - expected).abs() < tolerance, "{found}, not {expected}");
}

/// The draws are those of a fit of log y; densities differ by 1/y, quantiles are e^ those of log y.
#[test]
fn the_logarithm_is_the_one_by_hand() {
    let data = data(60);
    let logs = with_response(&data, data.real().unwrap().mapv(f64::ln));
    let recipe = recipe().validation(0.25);
    let fit = recipe.clone().transform(Transform::Log).fit(&data).unwrap();
    let by_hand = recipe.fit(&logs).unwrap();
    assert_eq!(fit.draws().values(), by_hand.draws().values());
    let words = fit.recipe().to_string();
    assert!(words.contains("features, and the log of the response, to mean 0"), "{words}");

    let sum_of_logs: f64 = by_hand.training().real().unwrap().sum();
    close(fit.loo().unwrap().elpd, by_hand.loo().unwrap().elpd - sum_of_logs);
    close(fit.loo().unwrap().p_loo, by_hand.loo().unwrap().p_loo);
    assert_eq!(fit.loo_pit(1).unwrap(), by_hand.loo_pit(1).unwrap());

    let (rows, log_rows) = (fit.validation().unwrap(), by_hand.validation().unwrap());
    let (own, log) = (fit.predict(rows).unwrap(), by_hand.predict(log_rows).unwrap());
    // The observed response is as it was read.
    assert_eq!(own.observed(), Some(rows.response()));
    let density = |scores: Predictions| {
        scores.scores().unwrap().get("log_predictive_density").unwrap().posterior
    };
    let mean_log = log_rows.real().unwrap().mean().unwrap();
    close(density(own.clone()), density(log.clone()) - mean_log);
    let (drawn, log_drawn) = (own.predictive_draws(), log.predictive_draws());
    drawn.iter().zip(&log_drawn).for_each(|(y, z)| close(*y, z.exp()));
    let [y, z] = [&own, &log].map(|p| p.coverage(0.9).unwrap().share);
    assert_eq!(y, z);
    // Means of each draw: e^(mu + s^2/2), with the noise of the draw.
    let noise = by_hand.predict_noise_sd(rows.x().view()).unwrap();
    let sd = fit.predict_noise_sd(rows.x().view()).unwrap();
    for (((mean, mu), s), sd) in own.mean().iter().zip(&log.mean()).zip(&noise).zip(&sd) {
        close(*mean, (mu + 0.5 * s * s).exp());
        close(*sd, mean * (s * s).exp_m1().sqrt());
    }
    // New rows, and a thinned fit.
    let new = fit.predict_new(rows.x().view()).unwrap().predictions;
    assert_eq!(new.mean(), own.mean());
    assert!(fit.thinned(2).unwrap().scores(rows).is_ok());
}

/// lambda is learnt from the training rows alone, is in `fit.json`, and is the same after loading.
#[test]
fn lambda_is_of_the_training_rows_and_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let data = data(50);
    for transform in [Transform::BoxCox, Transform::YeoJohnson] {
        let run = folder.path().join(transform.name());
        let recipe = recipe().validation(0.3).transform(transform);
        let fit = recipe.clone().in_folder(&run).fit(&data).unwrap();
        let power = fit.response_scaler().unwrap().columns()[0].transform.unwrap();
        let standardise = Standardise::new().after(transform);
        let of = |rows: &Dataset| standardise.fit_response(rows).unwrap().columns()[0].transform;
        assert_eq!(Some(power), of(fit.training()));
        assert_ne!(Some(power), of(&data));
        let text = fs::read_to_string(run.join("fit.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["recipe"]["transform"], transform.name());
        assert_eq!(json["response"]["columns"][0]["transform"]["lambda"], power.lambda);

        let loaded = Fit::load(&run).unwrap();
        assert_eq!(loaded.response_scaler(), fit.response_scaler());
        let rows = fit.validation().unwrap();
        // As text, in which NaN is equal to NaN.
        let scores = [&loaded, &fit].map(|fit| format!("{:?}", fit.scores(rows).unwrap()));
        assert_eq!(scores[0], scores[1]);
        assert_eq!(loaded.loo().unwrap().elpd, fit.loo().unwrap().elpd);
        let other = recipe.transform(Transform::None).in_folder(&run).fit(&data).unwrap_err();
        assert!(other.to_string().contains("`recipe.transform` is"), "{other}");
    }
    // Without a transform nothing is written of it.
    let plain = folder.path().join("plain");
    recipe().in_folder(&plain).fit(&data).unwrap();
    assert!(!fs::read_to_string(plain.join("fit.json")).unwrap().contains("transform"));
}

/// Fits do not depend on the unit of the table; several columns have a transform each.
#[test]
fn units_do_not_matter_and_columns_have_their_own_transforms() {
    let one = data(40);
    let y = one.real().unwrap();
    let both = ndarray::concatenate![ndarray::Axis(1), *y, y.mapv(|y| y.sqrt() - 7.0)];
    let two = Dataset::regression(one.x().clone(), both).unwrap();
    let recipe = recipe().hidden(&[]).transform(Transform::YeoJohnson);
    let fit = recipe.fit(&two).unwrap();
    let powers: Vec<_> =
        fit.response_scaler().unwrap().columns().iter().map(|c| c.transform.unwrap()).collect();
    assert!(powers[0].lambda < powers[1].lambda, "{powers:?}");
    let scaled = fit.predict(&two).unwrap();
    assert!(scaled.mean().iter().all(|y| y.is_finite()));

    let thousandth = with_response(&two, two.real().unwrap() * 1e-3);
    let small = recipe.fit(&thousandth).unwrap();
    let elpd = |fit: &Fit| fit.loo().unwrap().elpd;
    let found = elpd(&small) - elpd(&fit) - 2.0 * 40.0 * 1e3f64.ln();
    // Chains differ in their last digits, and then in all.
    assert!(found.abs() < 4.0, "{found}");
}

/// The log density at the same draws is the one of features that were transformed by hand, and so are predictions.
/// Indicators stay as they are.
#[test]
fn features_are_transformed_as_by_hand() {
    let normal = data(80);
    let mut x = normal.x().mapv(f64::exp);
    x.column_mut(1).mapv_inplace(|x| f64::from(u8::from(x > 1.0)));
    let recipe = recipe().validation(0.25);
    let skewed = normal.clone().with_x(x).unwrap();
    let fit = recipe.clone().power_features(true).fit(&skewed).unwrap();
    let [skew, indicator] = fit.feature_scaler().columns() else { panic!() };
    let power = skew.transform.unwrap();
    assert!(power.transform == Transform::YeoJohnson && power.lambda < 0.7, "{power}");
    assert_eq!(indicator.transform, None);
    // The range is in the table's own units.
    assert!(fit.ranges()[0].high > 3.0);
    let words = fit.recipe().to_string();
    assert!(
        words.contains(
            "features by Yeo-Johnson, lambda by maximum likelihood, and response to mean"
        ),
        "{words}"
    );

    let mut by_hand = skewed.x().clone();
    by_hand.column_mut(0).mapv_inplace(|x| power.forward(x));
    let by_hand = skewed.clone().with_x(by_hand).unwrap();
    let other = recipe.clone().fit(&by_hand).unwrap();
    let target = |fit: &Fit, q: &[f64]| {
        let posterior = fit.posterior();
        posterior.log_density(q, &mut posterior.workspace()).total()
    };
    for k in 0..10 {
        let q = fit.draws().values().slice(ndarray::s![0, 6 * k, ..]).to_vec();
        close(target(&fit, &q), target(&other, &q));
    }
    let scaled = |fit: &Fit, rows: &Dataset| {
        let rows = fit.feature_scaler().scale_features(rows).unwrap();
        let rows = fit.response_scaler().unwrap().scale_response(&rows).unwrap();
        fit.posterior().predict(fit.draws(), &rows).unwrap().mean().to_owned()
    };
    let own = scaled(&fit, fit.validation().unwrap());
    let unit = &fit.response_scaler().unwrap().columns()[0];
    let predicted = fit.predict(fit.validation().unwrap()).unwrap().mean().to_owned();
    own.iter().zip(&predicted).for_each(|(z, y)| close(z * unit.scale + unit.shift, *y));

    // As it was without it; and the response's lambda is the one of a line in the transformed features.
    assert_eq!(unit.transform, None);
    let lambda = |recipe: Recipe, data: &Dataset| {
        let fit = recipe.transform(Transform::YeoJohnson).fit(data).unwrap();
        fit.response_scaler().unwrap().columns()[0].transform.unwrap().lambda
    };
    let short = recipe.clone().warmup(5).draws(5);
    let of_powers = lambda(short.clone().power_features(true), &skewed);
    assert_eq!(of_powers, lambda(short.clone(), &by_hand));
    assert_ne!(of_powers, lambda(short, &skewed));
    let plain = recipe.clone().power_features(false).fit(&skewed).unwrap();
    assert_eq!(plain.draws().values(), recipe.fit(&skewed).unwrap().draws().values());
    assert!(plain.feature_scaler().is_affine() && !fit.feature_scaler().is_affine());
}

/// Student's t has no mean after a transform, and no standard deviation.
#[test]
fn heavy_tails_have_medians() {
    let data = data(40);
    let recipe = recipe().hidden(&[]).noise(Noise::StudentT);
    let fit = recipe.clone().transform(Transform::Log).fit(&data).unwrap();
    let by_hand = with_response(&data, data.real().unwrap().mapv(f64::ln));
    let by_hand = recipe.fit(&by_hand).unwrap();
    let (own, log) = (fit.predict(&data).unwrap(), by_hand.predict(by_hand.data()).unwrap());
    own.mean().iter().zip(&log.mean()).for_each(|(y, z)| close(*y, z.exp()));
    let sd = fit.predict_noise_sd(data.x().view()).unwrap();
    assert!(sd.iter().all(|sd| *sd == f64::INFINITY));
    // Which is said.
    assert_eq!([fit.centre(), by_hand.centre()], [Centre::Median, Centre::Mean]);
    assert_eq!([own.centre(), log.centre()], [Centre::Median, Centre::Mean]);
    let words =
        [&fit, &by_hand].map(|fit| fit.recipe().to_string().contains("\npredicts    medians"));
    assert_eq!(words, [true, false]);
    let normal = self::recipe().hidden(&[]).transform(Transform::Log).fit(&data).unwrap();
    assert_eq!(normal.centre(), Centre::Mean);
    assert_eq!(normal.predict(&data).unwrap().centre(), Centre::Mean);
    assert!(!normal.recipe().to_string().contains("predicts"));
}

#[test]
fn responses_that_cannot_be_transformed_are_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let mut text = String::from("x,gain\n");
    (0..8).for_each(|i| writeln!(text, "{i},{}", [3.0, 0.5, 8.0, -2.5][i % 4]).unwrap());
    fs::write(&path, &text).unwrap();
    let recipe = recipe().hidden(&[]);
    let of = |transform| {
        let recipe = Fit::regression("gain").hidden(&[]).chains(1).warmup(10).draws(10);
        recipe.transform(transform)
    };
    for (transform, name) in [(Transform::Log, "the logarithm"), (Transform::BoxCox, "Box-Cox")] {
        let problem = format!("-2.5 cannot be transformed by {name}, which takes numbers above 0");
        refused!(
            of(transform).read_csv(&path),
            Cell { row: "line 5", column: "gain", problem: problem }
        );
    }
    let fit = of(Transform::YeoJohnson).read_csv(&path).unwrap();
    assert!(fit.scores(fit.data()).is_ok());

    let rows = data(20);
    let classes = Dataset::classification(rows.x().clone(), [0, 1].repeat(10), ["a", "b"]).unwrap();
    let refusal = Fit::classification("y").transform(Transform::Log).fit(&classes);
    refused!(refusal, Argument { name: "transform", value: "chosen for classification" });
    let counts = Dataset::counts(rows.x().clone(), rows.real().unwrap().mapv(f64::round)).unwrap();
    let refusal = Fit::counts("y").transform(Transform::BoxCox).fit(&counts);
    refused!(refusal, Argument { name: "transform", value: "chosen for counts" });

    // A new row whose response the transform is not of is named, and is no panic.
    let fit = recipe.transform(Transform::Log).fit(&rows).unwrap();
    let new = Dataset::regression(array![[0.0, 0.0], [1.0, 1.0]], array![2.0, 0.0]).unwrap();
    let problem = "0 cannot be transformed by the logarithm, which takes numbers above 0";
    refused!(fit.scores(&new), Cell { row: "row 2", column: "y1", problem: problem });
    assert!(fit.predict_new(new.x().view()).is_ok());
}
