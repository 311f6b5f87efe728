//! Likelihoods against their textbook formulas and at extreme logits, and what they refuse.

use bnn_mcmc::engine::{Tile, TileMut};
use bnn_mcmc::likelihood::Weights;
use bnn_mcmc::prelude::*;
use ndarray::Array2;
use shared::refused;

/// One row with the given logits and encoded response: (log likelihood, its gradient, the mean).
fn one_row<L: Likelihood>(
    likelihood: &L,
    logits: &[f64],
    response: &Response,
) -> (f64, Vec<f64>, Vec<f64>) {
    let y = likelihood.encode(response, logits.len()).unwrap();
    let tile = |values: &[f64]| -> Vec<f64> {
        values.iter().flat_map(|v| [*v, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).collect()
    };
    let y = tile(y.as_slice().unwrap());
    let (mut out, mut d_out) = (tile(logits), tile(logits));
    let mut mean = tile(&vec![0.0; likelihood.n_means(logits.len())]);
    let (y, mut row) = (Tile::new(&y, 1), [0.0]);
    likelihood.mean(&[], Tile::new(&out, 1), TileMut::new(&mut mean, 1));
    let (f, d) = (Tile::new(&out, 1), TileMut::new(&mut d_out, 1));
    let ell = likelihood.log_lik_grad(&[], f, y, Weights::ones(1), d, &mut []);
    likelihood.log_lik_rows(&[], TileMut::new(&mut out, 1), y, &mut row);
    assert!((row[0] - ell).abs() <= 1e-12 * ell.abs().max(1.0), "{} and {ell}", row[0]);
    let every_8th = |v: Vec<f64>| v.into_iter().step_by(8).collect::<Vec<_>>();
    (ell, every_8th(d_out), every_8th(mean))
}

fn class(index: usize, k: usize) -> Response {
    Response::Classes { index: vec![index], names: (0..k).map(|i| i.to_string()).collect() }
}

#[test]
fn likelihoods_are_their_textbook_formulas() {
    use approx::assert_relative_eq;
    let sigmoid = |z: f64| 1.0 / (1.0 + (-z).exp());
    for z in [-3.0, -0.2, 0.0, 1.7] {
        for y in [0, 1] {
            let (ell, d, mean) = one_row(&Bernoulli, &[z], &class(y, 2));
            let p = if y == 1 { sigmoid(z) } else { 1.0 - sigmoid(z) };
            assert_relative_eq!(ell, p.ln(), max_relative = 1e-13);
            assert_relative_eq!(d[0], y as f64 - sigmoid(z), max_relative = 1e-13);
            assert_relative_eq!(mean[0], sigmoid(z), max_relative = 1e-13);
        }
        let counts = Response::Counts(ndarray::array![[3.0, 4.0]]);
        let (ell, d, _) = one_row(&Binomial, &[z], &counts);
        let p = sigmoid(z);
        let expected = 35.0f64.ln() + 3.0 * p.ln() + 4.0 * (1.0 - p).ln();
        assert_relative_eq!(ell, expected, max_relative = 1e-12);
        assert_relative_eq!(d[0], 3.0 - 7.0 * p, max_relative = 1e-12);
    }
    let z = [0.3f64, -1.0, 2.0];
    let total: f64 = z.iter().map(|z| z.exp()).sum();
    for y in 0..3 {
        let (ell, d, mean) = one_row(&Categorical, &z, &class(y, 3));
        assert_relative_eq!(ell, (z[y].exp() / total).ln(), max_relative = 1e-13);
        for k in 0..3 {
            let p = z[k].exp() / total;
            assert_relative_eq!(mean[k], p, max_relative = 1e-13);
            assert_relative_eq!(d[k], f64::from(u8::from(k == y)) - p, max_relative = 1e-12);
        }
    }
    let counts = Response::Counts(ndarray::array![[2.0, 0.0, 3.0]]);
    let (ell, d, _) = one_row(&Multinomial, &z, &counts);
    let expected = 10.0f64.ln() + 2.0 * (z[0].exp() / total).ln() + 3.0 * (z[2].exp() / total).ln();
    assert_relative_eq!(ell, expected, max_relative = 1e-12);
    assert_relative_eq!(d[1], -5.0 * z[1].exp() / total, max_relative = 1e-12);
}

#[test]
fn extreme_logits_give_finite_values_and_gradients() {
    for size in [50.0, 800.0, 1e4, 1e150, 1e300] {
        for z in [size, -size] {
            for y in [0, 1] {
                let (ell, d, mean) = one_row(&Bernoulli, &[z], &class(y, 2));
                let wrong = (y == 1) != (z > 0.0);
                assert!((ell + if wrong { size } else { 0.0 }).abs() <= 1e-12 * size);
                let expected = if wrong { -z.signum() } else { 0.0 };
                assert!((d[0] - expected).abs() < 1e-20, "{d:?}");
                assert!((mean[0] - f64::from(u8::from(z > 0.0))).abs() < 1e-20);
                let (both, d, _) = one_row(&Categorical, &[0.0, z], &class(y, 2));
                assert!((both - ell).abs() <= 1e-12 * size);
                assert!((d[1] - expected).abs() < 1e-20);
            }
            let counts = Response::Counts(ndarray::array![[3.0, 4.0]]);
            let (ell, d, _) = one_row(&Binomial, &[z], &counts);
            let expected = if z > 0.0 { -4.0 } else { -3.0 };
            assert!(
                (ell / size - expected).abs() < 1.0 && (d[0] - expected * z.signum()).abs() < 1e-20
            );
            let sure = Response::Counts(ndarray::array![[
                if z > 0.0 { 3.0 } else { 0.0 },
                if z > 0.0 { 0.0 } else { 3.0 }
            ]]);
            assert!(one_row(&Binomial, &[z], &sure).0.abs() < 1e-20);
            let (ell, d, _) = one_row(&Multinomial, &[z, 0.0], &counts);
            assert!(ell.is_finite() && d.iter().all(|d| d.is_finite()));
        }
    }
    // What all logits of a row have in common does not matter.
    let counts = Response::Counts(ndarray::array![[3.0, 4.0]]);
    let (ell, ..) = one_row(&Multinomial, &[0.0, -1.0], &counts);
    for common in [1e9, -1e9, 1e15] {
        let (shifted, ..) = one_row(&Multinomial, &[common, common - 1.0], &counts);
        assert!((shifted - ell).abs() < 1e-12, "{shifted} and {ell}");
    }
}

/// One, two and three response columns, over two tiles, with a variance known or sampled.
#[test]
fn a_gaussian_likelihood_is_a_product_over_rows_and_columns() {
    use statrs::distribution::{self as reference, Continuous};
    let mut rng = ChainRng::new(33, 0);
    let x = Array2::from_shape_fn((70, 2), |_| rng.normal());
    for columns in 1..=3 {
        let y = Array2::from_shape_fn((70, columns), |_| 1.0 + rng.normal());
        let data = Dataset::regression(x.clone(), y.clone()).unwrap();
        let q: Vec<f64> = (0..3 * columns).map(|_| rng.normal()).collect();
        let (w, b) = q.split_at(2 * columns);
        let residual = |i: usize, j: usize| {
            y[(i, j)] - (x[(i, 0)] * w[2 * j] + x[(i, 1)] * w[2 * j + 1] + b[j])
        };
        let cells = || (0..70).flat_map(|i| (0..columns).map(move |j| (i, j)));
        for (sd, sampled) in [(0.4, false), (0.4, true), (2.5, true)] {
            let normal = reference::Normal::new(0.0, sd).unwrap();
            let expected: f64 = cells().map(|(i, j)| normal.ln_pdf(residual(i, j))).sum();
            let likelihood =
                if sampled { Gaussian::sampled() } else { Gaussian::fixed(sd).unwrap() };
            let (wide, own) = (Normal::new(0.0, 1e3).unwrap(), likelihood.layout());
            let add = |priors: Priors, name: &String| priors.with(name, wide);
            let priors = own.block_names().iter().fold(Priors::all(wide), add);
            let model = Linear::new(2, columns).unwrap();
            let posterior = Posterior::new(model, likelihood, &data, priors).unwrap();
            let mut q = q.clone();
            q.extend(sampled.then_some(2.0 * sd.ln()));
            let (mut ws, mut grad) = (posterior.workspace(), vec![0.0; q.len()]);
            let alone = posterior.log_density(&q, &mut ws).likelihood;
            approx::assert_relative_eq!(alone, expected, max_relative = 1e-12);
            let both = posterior.log_likelihood().log_density_grad(&q, &mut grad, &mut ws);
            approx::assert_relative_eq!(both.likelihood, expected, max_relative = 1e-12);
            if sampled {
                let slope = |(i, j)| 0.5 * (residual(i, j) / sd).powi(2) - 0.5;
                let slope: f64 = cells().map(slope).sum();
                approx::assert_relative_eq!(grad[q.len() - 1], slope, max_relative = 1e-10);
            }
            for j in 0..columns {
                let slope: f64 = (0..70).map(|i| residual(i, j) / (sd * sd)).sum();
                approx::assert_relative_eq!(grad[2 * columns + j], slope, max_relative = 1e-10);
            }
        }
    }
}

#[test]
fn responses_that_do_not_fit_are_refused_with_what_would() {
    let real = Response::Real(ndarray::array![[1.0, 2.0]]);
    let counts = Response::Counts(ndarray::array![[1.0, 2.0, 3.0]]);
    let no_trials = Response::Counts(ndarray::array![[1.0, 2.0], [0.0, 0.0]]);
    let gaussian = Gaussian::sampled();
    for (result, likelihood) in [
        (gaussian.encode(&class(0, 2), 1), "Gaussian"),
        (Bernoulli.encode(&class(0, 3), 1), "Bernoulli"),
        (Bernoulli.encode(&real, 1), "Bernoulli"),
        (Categorical.encode(&real, 2), "categorical"),
        (Binomial.encode(&counts, 1), "binomial"),
        (Multinomial.encode(&real, 2), "multinomial"),
    ] {
        refused!(result, Shape { what: format!("response for the {likelihood} likelihood") });
    }
    for (result, likelihood) in [
        (Binomial.encode(&no_trials, 1), "binomial"),
        (Multinomial.encode(&no_trials, 2), "multinomial"),
    ] {
        let problem = "row 2 has no trials: all its counts are 0";
        let table = format!("response for the {likelihood} likelihood");
        refused!(result, Table { table: table, problem: problem });
    }
    for (result, likelihood, [found, expected]) in [
        (gaussian.encode(&real, 1), "Gaussian", [1, 2]),
        (Bernoulli.encode(&class(0, 2), 2), "Bernoulli", [2, 1]),
        (Categorical.encode(&class(0, 3), 2), "categorical", [2, 3]),
    ] {
        let what = format!("number of model outputs for the {likelihood} likelihood");
        refused!(result, Shape { what: what, found: found, expected: expected });
    }
    refused!(Gaussian::fixed(0.0), Argument { name: "sd of the Gaussian likelihood", value: 0 });
}
