//! Sensitivity to the prior against arviz-stats, closed forms, and refits under other priors.

use bnn_mcmc::diagnostics::{Influence, PowerScaling, Sensitivity};
use bnn_mcmc::fit::{Fit, Method, WeightPrior};
use bnn_mcmc::prelude::*;
use ndarray::Array2;
use shared::refused;

use crate::fixtures::Congruential;

const GOLDEN: &str = include_str!("../golden/sensitivity.json");

/// Scale of the prior, whether it is Cauchy, mean and number of the data, chains, draws, autocorrelation.
type Model = (f64, bool, f64, f64, usize, usize, f64);

#[test]
fn sensitivities_are_those_of_arviz() {
    let golden: serde_json::Value = serde_json::from_str(GOLDEN).unwrap();
    let models = golden["models"].as_array().unwrap();
    assert_eq!(models.len(), 10);
    for (number, golden) in models.iter().enumerate() {
        let model: Model = serde_json::from_value(golden["model"].clone()).unwrap();
        let (scale, is_cauchy, mean, n, chains, draws, phi) = model;
        let precision = n + 1.0 / (scale * scale);
        let (centre, sd) = (mean * n / precision, 1.0 / precision.sqrt());
        let mut random = Congruential(101 + number as u64);
        let mut q = Array2::zeros((chains, draws));
        for mut chain in q.rows_mut() {
            let mut z = random.normal();
            for q in &mut chain {
                z = phi * z + (1.0 - phi * phi).sqrt() * random.normal();
                *q = centre + sd * z;
            }
        }
        let sum = golden["sum"].as_f64().unwrap();
        assert!((q.sum() - sum).abs() < 1e-9, "other draws");
        let log_prior = q.mapv(|q| {
            let t = q / scale;
            if is_cauchy { -(t * t).ln_1p() } else { -0.5 * t * t }
        });
        let log_likelihood = q.mapv(|q| -0.5 * n * (q - mean).powi(2));
        let scaling = PowerScaling::new(log_prior.view(), log_likelihood.view()).unwrap();
        for (k, values) in [q.clone(), q.mapv(f64::exp), &q * &q].iter().enumerate() {
            let Sensitivity { prior, likelihood } = scaling.of(values.view()).unwrap();
            for (name, found) in [("prior", prior), ("likelihood", likelihood)] {
                let expected = golden[name][k].as_f64().unwrap();
                assert!(
                    (found - expected).abs() < 1e-10,
                    "{number} {name} {k}: {found} {expected}"
                );
            }
        }
    }
}

/// A straight line whose slope of about 1 is learnt from so many rows, under N(0, sd^2).
fn line(rows: usize, sd: f64) -> Fit {
    let x = Array2::from_shape_fn((rows, 1), |(i, _)| (i as f64 * 0.7).sin());
    let y = Array2::from_shape_fn((rows, 1), |(i, _)| x[[i, 0]] + 0.5 * (i as f64 * 1.9).cos());
    let data = Dataset::regression(x, y).unwrap();
    let recipe = Fit::regression("y").hidden(&[]).weights(WeightPrior::Normal { sd });
    recipe.method(Method::Nuts).seed(3).fit(&data).unwrap()
}

#[test]
fn a_prior_is_told_to_matter_where_it_does() {
    for (rows, sd, expected) in [
        (200, 1.0, Influence::Robust),
        // Squeezed to a tenth of what the data say, and hardly touched by five rows.
        (200, 0.05, Influence::Conflict),
        (5, 0.02, Influence::Prior),
    ] {
        let found = line(rows, sd).sensitivity().unwrap();
        let slope = found.parameters.iter().find(|(name, _)| name == "w0[0,0]").unwrap().1;
        assert_eq!(slope.influence(), expected, "{rows} {sd}: {slope:?}");
        let (prior, conflict) = found.rows_influenced();
        let many = rows.min(200) / 2;
        match expected {
            Influence::Robust => assert_eq!((prior, conflict), (0, 0)),
            Influence::Conflict => assert!(conflict > many, "{found:?}"),
            Influence::Prior => assert!(prior > many, "{found:?}"),
        }
        assert!(found.in_words().starts_with(&expected.to_string()), "{}", found.in_words());
    }
}

fn normal(x: f64, sd: f64) -> f64 {
    -0.5 * (x / sd).powi(2) - sd.ln()
}

/// Densities written out, by the documentation of `Recipe`, and predictions by the draws themselves.
#[test]
fn sensitivities_of_a_fit_are_of_its_uppermost_priors_and_its_predictions() {
    let fit = line(30, 0.7);
    let draws = fit.draws();
    let of = |name: &str| draws.parameter(name).unwrap().to_owned();
    let (w, b, t) = (of("w0[0,0]"), of("b0[0]"), of("log_noise_variance"));
    // Of log v, v inverse gamma of shape 1/2 and scale 1/200, up to a constant.
    let inverse_gamma = |t: f64| -0.5 * t - 0.005 * (-t).exp();
    let by = |sd: f64| move |x: f64| normal(x, sd);
    let log_prior = w.mapv(by(0.7)) + b.mapv(by(0.7)) + t.mapv(inverse_gamma);
    let x = fit.training().x();
    let scaled = fit.feature_scaler().transform(x.view()).unwrap();
    let scaling = |log_prior: &Array2<f64>, fit: &Fit| {
        PowerScaling::new(log_prior.view(), fit.draws().stat("log_likelihood").unwrap()).unwrap()
    };
    let (found, expected) = (fit.sensitivity().unwrap(), scaling(&log_prior, &fit));
    let same = |found: Sensitivity, values: &Array2<f64>, scaling: &PowerScaling| {
        let expected = scaling.of(values.view()).unwrap();
        let off =
            (found.prior - expected.prior).abs() + (found.likelihood - expected.likelihood).abs();
        assert!(off < 1e-9, "{found:?} {expected:?}");
    };
    assert_eq!((found.rows, found.predictions.len()), (30, 30));
    for (row, found) in found.predictions.iter().enumerate() {
        same(*found, &(&w * scaled[[row, 0]] + &b), &expected);
    }

    // Of weights with a sampled variance the prior is not scaled.
    let x = Array2::from_shape_fn((40, 2), |(i, j)| ((i * (j + 1)) as f64 * 0.37).sin());
    let data = Dataset::regression(x.clone(), x.slice(ndarray::s![.., ..1]).to_owned()).unwrap();
    let recipe = Fit::regression("y").hidden(&[3]).weights(WeightPrior::Ard).method(Method::Nuts);
    let fit = recipe.chains(2).warmup(200).draws(200).seed(4).fit(&data).unwrap();
    let q = fit.draws();
    let mut log_prior = Array2::zeros((2, 200));
    for (name, sd) in [("w1", 1.0 / 3f64.sqrt()), ("b0", 1.0), ("b1", 1.0)] {
        for place in q.layout().range(name).unwrap() {
            log_prior += &q.values().index_axis(ndarray::Axis(2), place).mapv(by(sd));
        }
    }
    for place in q.layout().range("log_relevance").unwrap() {
        // Of log v, sqrt(v) half-Cauchy of scale 1.
        let density = |t: f64| 0.5 * t - t.exp().ln_1p();
        log_prior += &q.values().index_axis(ndarray::Axis(2), place).mapv(density);
    }
    log_prior += &q.parameter("log_noise_variance").unwrap().mapv(inverse_gamma);
    let (found, expected) = (fit.sensitivity().unwrap(), scaling(&log_prior, &fit));
    let names: Vec<&str> = found.parameters.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names, ["log_noise_variance", "log_relevance[0]", "log_relevance[1]"]);
    for (name, found) in &found.parameters {
        same(*found, &q.parameter(name).unwrap().to_owned(), &expected);
    }
}

#[test]
fn an_ensemble_is_not_of_a_posterior() {
    let x = Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    let data = Dataset::regression(x.clone(), x.mapv(f64::sin)).unwrap();
    let recipe = Fit::regression("y").hidden(&[3]).method(Method::Ensemble).warmup(100).draws(20);
    refused!(recipe.fit(&data).unwrap().sensitivity(), Argument { name: "draws" });
}
