//! Predictions and scores of given draws, by hand.

use bnn_mcmc::prelude::*;
use ndarray::Array3;
use shared::{failed, refused};

use super::fixtures::data_sets;

#[test]
fn predictions_are_those_of_the_draws() {
    let data = &data_sets(70, 7)[3];
    let model = Mlp::new(&[3, 2, 3], Activation::Tanh).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(model, Categorical, data, priors).unwrap();
    let mut rng = ChainRng::new(8, 0);
    let values = Array3::from_shape_fn((2, 3, posterior.dim()), |_| rng.normal());
    let draws = Draws::new(posterior.layout().clone(), values).unwrap();
    let predictions = posterior.predict(&draws, data).unwrap();
    let Response::Classes { index, .. } = data.response() else { unreachable!() };
    let mut hits = 0;
    for chain in 0..2 {
        for draw in 0..3 {
            let q = draws.draw(chain, draw).unwrap();
            let mut ell = 0.0;
            for row in 0..data.rows() {
                let p = predictions.mean().slice_move(ndarray::s![chain, draw, row, ..]).to_owned();
                approx::assert_relative_eq!(p.sum(), 1.0, max_relative = 1e-12);
                let log_p = predictions.log_density().unwrap()[(chain, draw, row)];
                approx::assert_relative_eq!(p[index[row]].ln(), log_p, max_relative = 1e-10);
                ell += log_p;
                let best = (0..3).fold(0, |best, k| if p[k] > p[best] { k } else { best });
                hits += usize::from(best == index[row]);
            }
            let target = posterior.log_density(q, &mut posterior.workspace());
            approx::assert_relative_eq!(ell, target.likelihood, max_relative = 1e-12);
        }
    }
    let scores = predictions.scores().unwrap();
    let accuracy = scores.get("accuracy").unwrap();
    approx::assert_relative_eq!(accuracy.draws_mean, hits as f64 / 420.0, max_relative = 1e-12);
    let lpd = scores.get("log_predictive_density").unwrap();
    assert!(lpd.posterior > lpd.draws_mean, "Jensen's inequality");
    assert!(scores.get("rmse").is_none());
    assert_eq!(predictions.quantities().dim(), (2, 3, 70 * 3));
    let mean = posterior.predict_mean(&draws, data.x().view()).unwrap();
    assert_eq!(mean, predictions.mean());

    let mut csv = Vec::new();
    predictions.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert_eq!(csv.lines().count(), 1 + 70 * 3);
    assert!(csv.starts_with("row,class,observed,probability,probability_sd,probability_q05,probability_q50,probability_q95\n0,class 0,1,"));

    // Draws that come back from a table bring no statistics: the verdict is the same.
    let mut csv = Vec::new();
    draws.write_csv(&mut csv).unwrap();
    let from_csv = Draws::read_csv(&csv[..], "memory").unwrap();
    assert!(!posterior.predict(&from_csv, data).unwrap().verdict().unwrap().is_converged());
    // The same rows with the classes' names in another order are not the same data.
    let names = ["class 1", "class 0", "class 2"];
    let renamed = Dataset::classification(data.x().clone(), index.clone(), names).unwrap();
    let name = "classes of the data, name 1";
    refused!(posterior.predict(&draws, &renamed), Argument { name: name, value: "`class 1`" });
    // Draws of a posterior with the same parameters, but another density.
    let relu = Mlp::new(&[3, 2, 3], Activation::Relu).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let other = Posterior::new(relu, Categorical, data, priors).unwrap();
    let run = Sampler::new(&other, Rwm::default()).warmup(0).draws(5).run().unwrap();
    let (found, expected) = ("Mlp 3-2-3, relu", "Mlp 3-2-3, tanh");
    let what = "model of the draws";
    let of_relu = posterior.predict(&run, data);
    refused!(of_relu, Shape { what: what, found: found, expected: expected });
    assert_eq!(other.predict(&run, data).unwrap().summary().unwrap().rows.len(), 70 * 3);

    // And with another prior.
    let (tanh, wide) =
        (Mlp::new(&[3, 2, 3], Activation::Tanh).unwrap(), Normal::new(0.0, 2.0).unwrap());
    let wide = Posterior::new(tanh, Categorical, data, Priors::all(wide)).unwrap();
    let run = Sampler::new(&wide, Rwm::default()).warmup(0).draws(5).run().unwrap();
    let what = "log prior of the first draw (is it of another posterior?)";
    failed!(posterior.predict(&run, data), Shape { what: what });

    let other = Draws::new(bnn_mcmc::layout::Layout::vector("q", 2), Array3::zeros((1, 1, 2)));
    let vector = posterior.predict(&other.unwrap(), data);
    refused!(vector, Shape { what: "parameters of the draws" });
    let none = Draws::new(posterior.layout().clone(), Array3::zeros((2, 0, posterior.dim())));
    let none = posterior.predict(&none.unwrap(), data).unwrap();
    assert!(none.scores().unwrap_err().is_argument());
}

#[test]
fn regression_scores_are_the_textbook_ones() {
    let x = ndarray::array![[0.0], [1.0], [2.0]];
    let y = ndarray::array![[0.0], [2.0], [1.0]];
    let data = Dataset::regression(x, y).unwrap();
    let model = Linear::new(1, 1).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(model, Gaussian::fixed(0.5).unwrap(), &data, priors).unwrap();
    // Two draws: f = x and f = 0. Their mean is x / 2.
    let values = ndarray::array![[[1.0, 0.0], [0.0, 0.0]]];
    let draws = Draws::new(posterior.layout().clone(), values).unwrap();
    let scores = posterior.predict(&draws, &data).unwrap().scores().unwrap();
    let rmse = scores.get("rmse").unwrap();
    approx::assert_relative_eq!(rmse.posterior, (2.25f64 / 3.0).sqrt(), max_relative = 1e-14);
    let each = [(2.0f64 / 3.0).sqrt(), (5.0f64 / 3.0).sqrt()];
    approx::assert_relative_eq!(rmse.draws_mean, (each[0] + each[1]) / 2.0, max_relative = 1e-14);
    let sd = (each[1] - each[0]) / 2f64.sqrt();
    approx::assert_relative_eq!(rmse.draws_sd, sd, max_relative = 1e-12);
    approx::assert_relative_eq!(scores.get("mae").unwrap().posterior, 0.5, max_relative = 1e-14);
    let density = |d: f64| (-0.5 * d * d / 0.25).exp() / (std::f64::consts::TAU * 0.25).sqrt();
    let lpd = [(0.0, 0.0), (1.0, 2.0), (1.0, 1.0)]
        .map(|(a, b)| ((density(a) + density(b)) / 2.0).ln())
        .iter()
        .sum::<f64>()
        / 3.0;
    let measured = scores.get("log_predictive_density").unwrap().posterior;
    approx::assert_relative_eq!(measured, lpd, max_relative = 1e-12);
}
