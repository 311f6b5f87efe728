//! Predictive checks: exact under the prior, by hand, and against data that a model cannot make.

use bnn_mcmc::data::CsvReader;
use bnn_mcmc::fit::{Fit, Noise, PredictiveChecks};
use bnn_mcmc::predict::PredictiveCheck;
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, ArrayView1, Axis};
use shared::refused;

fn sd(y: ArrayView1<f64>) -> f64 {
    y.std(0.0)
}

#[test]
fn transforms_are_uniform_where_the_prior_has_made_the_data() {
    let mut rng = ChainRng::new(5, 0);
    let x = Array2::from_shape_simple_fn((15, 2), || rng.normal());
    let design = Dataset::regression(x.clone(), Array1::zeros(15)).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let model = Linear::new(2, 1).unwrap();
    let posterior = Posterior::new(model, Gaussian::fixed(0.5).unwrap(), &design, priors).unwrap();
    let mut bars = [[0_f64; 10]; 3];
    let sets = 500;
    for set in 0..sets {
        let made = posterior.prior_predictive(1, &design, set).unwrap();
        let y = made.predictive_draws().index_axis_move(Axis(0), 0).index_axis_move(Axis(0), 0);
        let data = Dataset::regression(x.clone(), y.to_owned()).unwrap();
        let prior = posterior.prior_predictive(99, &data, 100_000 + set).unwrap();
        let mean = prior.check(0, "mean", |y| y.sum() / 15.0).unwrap();
        let spread = prior.check(0, "sd", sd).unwrap();
        let first = prior.check(0, "first", |y| y[0]).unwrap();
        for (bars, check) in bars.iter_mut().zip([mean, spread, first]) {
            assert_eq!(check.replicated.len(), 99);
            bars[((check.pit() * 10.0) as usize).min(9)] += 1.0;
        }
    }
    for bars in bars {
        let expected = sets as f64 / 10.0;
        let chi2: f64 = bars.iter().map(|n| (n - expected).powi(2) / expected).sum();
        // The 0.999 quantile of 9 degrees of freedom.
        assert!(chi2 < 27.9, "{bars:?}: {chi2}");
    }
}

#[test]
fn ties_count_half_and_tails_twice() {
    let check = |observed, replicated: &[f64]| PredictiveCheck {
        name: "mean".into(),
        observed,
        replicated: replicated.to_vec(),
    };
    let tied = check(2.0, &[1.0, 2.0, 2.0, 3.0]);
    assert_eq!((tied.pit(), tied.p_value()), (0.5, 1.0));
    let low = check(0.0, &[1.0, 2.0, 2.0, 3.0]);
    assert_eq!((low.pit(), low.p_value()), (0.1, 0.2));
    let high = check(9.0, &[1.0, 2.0, 2.0, 3.0]);
    assert_eq!((high.pit(), (high.p_value() * 10.0).round()), (0.9, 2.0));
    assert!(check(f64::NAN, &[1.0]).pit().is_nan() && check(1.0, &[f64::NAN]).p_value().is_nan());
}

fn named<'c>(checks: &'c [PredictiveCheck], name: &str) -> &'c PredictiveCheck {
    checks.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn zeros_that_a_model_cannot_make_are_found() {
    let mut rng = ChainRng::new(7, 0);
    let n = 200;
    let x = Array2::from_shape_simple_fn((n, 1), || rng.normal());
    let mut counts = Array2::zeros((n, 1));
    for i in 0..n {
        // A third of the rows are zero, the others Poisson with mean 4.
        let mut k = -1.0;
        let mut left = 4.0;
        while left > 0.0 {
            left += rng.uniform().ln();
            k += 1.0;
        }
        counts[(i, 0)] = if i % 3 == 0 { 0.0 } else { k };
    }
    let data = Dataset::counts(x, counts).unwrap();
    let checks = |noise| -> PredictiveChecks {
        let recipe = Fit::counts("visits").hidden(&[]).noise(noise).chains(2).draws(300).seed(1);
        let fit = recipe.fit(&data).unwrap();
        fit.predictive_checks().unwrap().remove(0)
    };
    let poisson = checks(Noise::Poisson);
    let zeros = named(&poisson.posterior, "share of zeros");
    assert!(zeros.p_value() < 0.01 && zeros.observed > 0.3, "{}", zeros.p_value());
    assert!(named(&poisson.posterior, "mean").p_value() > 0.2);
    assert_eq!(poisson.replicated.dim(), (40, n));
    let inflated = checks(Noise::ZeroInflatedPoisson);
    assert!(named(&inflated.posterior, "share of zeros").p_value() > 0.1);
    assert_eq!(inflated.prior.len(), inflated.posterior.len());
    assert_eq!(inflated.prior[0].replicated.len(), 200);
    assert_eq!((inflated.column.as_str(), inflated.classes), ("y1", None));
}

#[test]
fn statistics_of_labels_are_of_their_rows() {
    let mut rng = ChainRng::new(3, 0);
    let mut text = String::from("colour,size,weight\n");
    let mut reds = Vec::new();
    for i in 0..60 {
        let (colour, size) = (["red", "blue", "rare"][if i < 4 { 2 } else { i % 2 }], rng.normal());
        let weight = 3.0 + size + 0.3 * rng.normal() + if colour == "red" { 2.0 } else { 0.0 };
        text += &format!("{colour},{size},{weight}\n");
        if colour == "red" {
            reds.push(weight);
        }
    }
    let table = CsvReader::regression("weight").read(text.as_bytes()).unwrap();
    let recipe = Fit::regression("weight").hidden(&[]).chains(2).draws(300);
    let fit = recipe.fit_like(&table.dataset, &table.schema).unwrap();
    let checks = fit.predictive_checks().unwrap().remove(0);
    let names: Vec<&str> = checks.posterior.iter().map(|check| check.name.as_str()).collect();
    // Four rows are too few.
    let expected = [
        "mean",
        "standard deviation",
        "smallest",
        "largest",
        "mean where colour = blue",
        "mean where colour = red",
    ];
    assert_eq!(names, expected);
    let red = named(&checks.posterior, "mean where colour = red");
    let mean = reds.iter().sum::<f64>() / reds.len() as f64;
    assert!((red.observed - mean).abs() < 1e-9);
    let replicated = red.replicated.iter().sum::<f64>() / red.replicated.len() as f64;
    assert!((replicated - mean).abs() < 0.1, "{replicated} {mean}");
    // The model has learnt the response, and the prior has not.
    let spread = |check: &PredictiveCheck| Array1::from(check.replicated.clone()).std(0.0);
    assert!(spread(&checks.prior[0]) > 5.0 * spread(&checks.posterior[0]));
}

#[test]
fn weights_count_rows() {
    let mut rng = ChainRng::new(3, 0);
    let x = Array2::from_shape_simple_fn((30, 1), || rng.normal());
    let y = x.column(0).mapv(|x| x * x);
    let weights: Vec<f64> = (0..30).map(|i| (i % 3) as f64).collect();
    let data = Dataset::regression(x, y.clone()).unwrap();
    let weighted = data.with_weights(weights.clone()).unwrap();
    let fit = Fit::regression("y").hidden(&[]).chains(2).draws(100).fit(&weighted).unwrap();
    let checks = fit.predictive_checks().unwrap().remove(0);
    let written_out: Vec<f64> =
        y.iter().zip(&weights).flat_map(|(y, w)| std::iter::repeat_n(*y, *w as usize)).collect();
    let written_out = Array1::from(written_out);
    let observed: Vec<f64> = checks.posterior.iter().map(|check| check.observed).collect();
    let low = written_out.fold(f64::INFINITY, |a, b| a.min(*b));
    let high = written_out.fold(0.0, |a: f64, b| a.max(*b));
    let expected = [written_out.sum() / written_out.len() as f64, written_out.std(0.0), low, high];
    for (found, expected) in observed.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9, "{observed:?} {expected:?}");
    }
    assert_eq!(checks.observed.len(), 20);
}

#[test]
fn shares_of_classes_and_what_has_no_checks() {
    let mut rng = ChainRng::new(9, 0);
    let x = Array2::from_shape_simple_fn((40, 1), || rng.normal());
    let index: Vec<usize> = x.iter().map(|x| usize::from(*x > 0.3)).collect();
    let share = index.iter().sum::<usize>() as f64 / 40.0;
    let names = ["no", "yes"].map(String::from).to_vec();
    let data = Dataset::classification(x.clone(), index, names.clone()).unwrap();
    let fit = Fit::classification("ripe").hidden(&[]).chains(2).draws(100).fit(&data).unwrap();
    let checks = fit.predictive_checks().unwrap().remove(0);
    assert_eq!(checks.classes, Some(names));
    assert_eq!(checks.posterior[1].name, "share of yes");
    assert!((checks.posterior[1].observed - share).abs() < 1e-12);
    assert!(checks.posterior[1].p_value() > 0.1);

    let predictions = fit.predict(&data).unwrap();
    refused!(predictions.check(1, "mean", sd), Argument {});
    let new = fit.predict_new(x.view()).unwrap().predictions;
    assert!(new.check(0, "mean", sd).is_err());
    let bounds = (Array1::from_elem(40, 1.0), Array1::from_elem(40, f64::INFINITY));
    let mut lower = bounds.0;
    lower.iter_mut().for_each(|time| *time += rng.uniform());
    let times = Dataset::censored(x, lower.clone(), lower).unwrap();
    let fit = Fit::survival("days").hidden(&[]).chains(2).draws(100).fit(&times).unwrap();
    let error = fit.predictive_checks().unwrap_err().to_string();
    assert!(error.contains("numbers with bounds"), "{error}");
}
