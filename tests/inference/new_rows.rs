//! Predictions of rows whose response is not known, and predictions in the response's own units.

use bnn_mcmc::data::{MinMax, Standardise};
use bnn_mcmc::layout::Layout;
use bnn_mcmc::likelihood::{Bernoulli, Binomial, Gaussian};
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, Array3, Axis, array, s};
use shared::refused;

use super::fixtures::normals;

/// Draws with recorded seed, so that predictive draws are those of a run.
fn draws(layout: &Layout, seed: u64) -> Draws {
    let values = normals(seed, (40, layout.dim()));
    let values = values.into_shape_with_order((2, 20, layout.dim())).unwrap();
    Draws::new(layout.clone(), values).unwrap()
}

#[test]
fn new_rows_are_predicted_as_rows_with_a_response_are() {
    let (x, priors) = (normals(1, (12, 2)), || Priors::all(Normal::new(0.0, 1.0).unwrap()));
    let real = Dataset::regression(x.clone(), normals(2, (12, 2))).unwrap();
    let posterior =
        Posterior::new(Linear::new(2, 2).unwrap(), Gaussian::fixed(0.5).unwrap(), &real, priors());
    let posterior = posterior.unwrap();
    let q = draws(posterior.layout(), 3);
    let known = posterior.predict(&q, &real).unwrap();
    let new = posterior.predict_new(&q, x.view()).unwrap();
    assert_eq!((new.mean(), new.predictive_draws()), (known.mean(), known.predictive_draws()));
    assert_eq!(new.predictive_interval(0.9).unwrap(), known.predictive_interval(0.9).unwrap());
    // What Monte Carlo error leaves open of log densities is known with a response alone.
    let [new_words, words] = [&new, &known].map(|p| p.verdict().unwrap().to_string());
    assert!(words.starts_with(&new_words) && words.contains("have not settled"), "{words}");
    assert_eq!(new.summary().unwrap().rows[3].name, "row 1, y2");
    assert!(new.predictive_summary().is_ok());
    assert!(new.observed().is_none() && new.log_density().is_none());
    assert_eq!(new.chain(1).unwrap().mean(), known.chain(1).unwrap().mean());
    let (name, value) = ("response of the predicted rows", "not known");
    for unknown in [
        new.scores().map(drop),
        new.coverage(0.9).map(drop),
        new.crps().map(drop),
        new.pit(1).map(drop),
        new.skill(Array2::zeros((12, 2)).view()).map(drop),
    ] {
        refused!(unknown, Argument { name: name, value: value });
    }
    refused!(new.confusion(), Argument { allowed: "classes" });

    let classes = (0..12).map(|i| i % 2).collect();
    let classes = Dataset::classification(x.clone(), classes, ["no", "yes"]).unwrap();
    let posterior =
        Posterior::new(Linear::new(2, 1).unwrap(), Bernoulli, &classes, priors()).unwrap();
    let q = draws(posterior.layout(), 4);
    let known = posterior.predict(&q, &classes).unwrap();
    let new = posterior.predict_new(&q, x.view()).unwrap();
    assert_eq!((new.mean(), new.predictive_draws()), (known.mean(), known.predictive_draws()));
    assert_eq!(new.uncertainty().unwrap(), known.uncertainty().unwrap());
    for unknown in [new.scores().map(drop), new.brier().map(drop), new.confusion().map(drop)] {
        refused!(unknown, Argument { name: name, value: value });
    }
    assert!(new.predictive_interval(0.9).is_err());

    // Of counts a single trial is drawn.
    let counts = Array2::from_shape_fn((12, 2), |(i, j)| (1 + i * (1 + j)) as f64);
    let counts = Dataset::counts(x.clone(), counts).unwrap();
    let posterior =
        Posterior::new(Linear::new(2, 1).unwrap(), Binomial, &counts, priors()).unwrap();
    let new = posterior.predict_new(&draws(posterior.layout(), 5), x.view()).unwrap();
    assert!(new.predictive_draws().sum_axis(Axis(3)).iter().all(|trials| *trials == 1.0));
}

#[test]
fn inputs_that_do_not_fit_are_errors() {
    let data = Dataset::regression(normals(1, (12, 2)), Array1::zeros(12)).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior =
        Posterior::new(Linear::new(2, 1).unwrap(), Gaussian::fixed(0.5).unwrap(), &data, priors);
    let posterior = posterior.unwrap();
    let q = draws(posterior.layout(), 3);
    let of = |x: Array2<f64>| posterior.predict_new(&q, x.view()).map(drop);
    refused!(of(Array2::zeros((3, 5))), Shape { found: 5, expected: 2 });
    refused!(of(Array2::zeros((0, 2))), Shape { what: "rows of the data", found: 0 });
    let nan = of(array![[0.0, 1.0], [f64::NAN, 2.0]]);
    refused!(nan, Cell { row: "row 2", column: "#1" });
}

/// The posterior of a regression in other units is the posterior in the first ones, transformed: with
/// noise and priors that are scaled alike, everything that is predicted must be equal.
#[test]
fn unscaled_predictions_are_those_of_the_unscaled_response() {
    let x = normals(6, (30, 2));
    let y = normals(7, (30, 2)) * &array![40.0, 0.3] + &array![500.0, -2.0];
    let own = Dataset::regression(x, y).unwrap().with_response_names(["strength", "loss"]).unwrap();
    let priors = || Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = |data: &Dataset, sd: f64| {
        Posterior::new(Linear::new(2, 2).unwrap(), Gaussian::fixed(sd).unwrap(), data, priors())
            .unwrap()
    };
    let standardise = Standardise::new().fit_response(&own).unwrap();
    let to_range = MinMax::new().to_range(-1.0, 2.0).fit_response(&own).unwrap();
    for scaler in [standardise, to_range] {
        let scaled = scaler.scale_response(&own).unwrap();
        let small = posterior(&scaled, 0.5);
        let q = draws(small.layout(), 8);
        let unscaled = small.predict(&q, &scaled).unwrap().unscaled(&scaler).unwrap();
        assert_eq!(unscaled.response_names(), ["strength", "loss"]);

        // f = shift + (z - low) scale is linear in the weights; one column at a time, since the two have
        // noise of different standard deviations.
        let low = scaler.transform(array![[0.0, 0.0]].view()).unwrap();
        for column in 0..2 {
            let scale = scaler.columns()[column].scale;
            let zero = -low[[0, column]] * scale; // what 0 is in own units
            let mut values = q.values().to_owned();
            // The layout is w [output, feature], b [output].
            values.mapv_inplace(|w| w * scale);
            values.slice_mut(s![.., .., 4..]).mapv_inplace(|b| b + zero);
            let values: Array3<f64> = values;
            let large = posterior(&own, 0.5 * scale);
            let q = Draws::new(large.layout().clone(), values).unwrap();
            let direct = large.predict(&q, &own).unwrap();
            let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{a} {b}");
            let of = |a: ndarray::ArrayView4<f64>| a.slice_move(s![.., .., .., column]).to_owned();
            for (a, b) in of(unscaled.mean()).iter().zip(&of(direct.mean())) {
                close(*a, *b);
            }
            for (a, b) in of(unscaled.predictive_draws()).iter().zip(&of(direct.predictive_draws()))
            {
                close(*a, *b);
            }
            let seen = unscaled.observed().unwrap().real().unwrap();
            for (a, b) in seen.iter().zip(own.real().unwrap()) {
                close(*a, *b);
            }
        }
    }
    // Densities: of one column, with the Jacobian.
    let one =
        Dataset::regression(own.x().clone(), own.real().unwrap().column(0).to_owned()).unwrap();
    let scaler = Standardise::new().fit_response(&one).unwrap();
    let scaled = scaler.scale_response(&one).unwrap();
    let single = |data: &Dataset, sd: f64| {
        Posterior::new(Linear::new(2, 1).unwrap(), Gaussian::fixed(sd).unwrap(), data, priors())
            .unwrap()
    };
    let small = single(&scaled, 0.5);
    let q = draws(small.layout(), 9);
    let predictions = small.predict(&q, &scaled).unwrap().unscaled(&scaler).unwrap();
    let (scale, shift) = (scaler.columns()[0].scale, scaler.columns()[0].shift);
    for (chain, n, row) in [(0, 0, 0), (1, 7, 5), (1, 19, 29)] {
        let mean = predictions.mean()[[chain, n, row, 0]];
        let y = one.real().unwrap()[[row, 0]];
        let sd: f64 = 0.5 * scale;
        let density = -0.5 * ((y - mean) / sd).powi(2) - (sd * std::f64::consts::TAU.sqrt()).ln();
        let found = predictions.log_density().unwrap()[[chain, n, row]];
        assert!((found - density).abs() < 1e-9, "{found} {density}");
    }
    // Scores are in these units, too.
    let (own_units, scaled_units) =
        (predictions.scores().unwrap(), small.predict(&q, &scaled).unwrap());
    let scaled_units = scaled_units.scores().unwrap();
    for name in ["rmse", "mae", "crps", "width_95"] {
        let (a, b) =
            (own_units.get(name).unwrap().posterior, scaled_units.get(name).unwrap().posterior);
        assert!((a - scale * b).abs() < 1e-9 * a, "{name}: {a} {b} {shift}");
    }
    let other = one.clone().with_response_names(["weight"]).unwrap();
    let other = Standardise::new().fit_response(&other).unwrap();
    let allowed = "`weight`, on which the scaling was fitted";
    refused!(predictions.unscaled(&other), Argument { name: "column 1", allowed: allowed });
    let both = Standardise::new().fit_response(&own).unwrap();
    assert!(predictions.unscaled(&both).is_err());
}

#[test]
fn columns_of_the_file_say_what_their_quantiles_are_of() {
    let data = Dataset::regression(array![[0.0], [1.0]], array![1.0, 2.0]).unwrap();
    let data = data.with_response_names(["strength"]).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let noise = Gaussian::fixed(3.0).unwrap();
    let posterior = Posterior::new(Linear::new(1, 1).unwrap(), noise, &data, priors).unwrap();
    let q = draws(posterior.layout(), 3);
    let text = |p: &bnn_mcmc::predict::Predictions| {
        let mut csv = Vec::new();
        p.write_csv(&mut csv).unwrap();
        String::from_utf8(csv).unwrap()
    };
    let known = text(&posterior.predict(&q, &data).unwrap());
    let header =
        "row,response,observed,mean,mean_sd,mean_q05,mean_q50,mean_q95,new_q05,new_q50,new_q95";
    assert_eq!(known.lines().next().unwrap(), header);
    assert!(known.lines().nth(2).unwrap().starts_with("1,strength,2,"));
    let new = posterior.predict_new(&q, data.x().view()).unwrap();
    let table = text(&new);
    assert_eq!(table.lines().next().unwrap(), header.replace(",observed", ""));
    let numbers: Vec<f64> = table
        .lines()
        .nth(1)
        .unwrap()
        .split(',')
        .skip(2)
        .map(|cell| cell.parse().unwrap())
        .collect();
    let mean = new.posterior_mean().unwrap()[[0, 0]];
    assert!((numbers[0] - mean).abs() < 1e-12);
    let (of_mean, of_new) =
        (new.mean_interval(0.9).unwrap(), new.predictive_interval(0.9).unwrap());
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    close(numbers[2], of_mean.lower[[0, 0]]);
    close(numbers[4], of_mean.upper[[0, 0]]);
    close(numbers[5], of_new.lower[[0, 0]]);
    close(numbers[7], of_new.upper[[0, 0]]);
}
