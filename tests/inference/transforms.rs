//! Predictions of a response that was transformed: densities, means, quantiles and scores in its own units.

use bnn_mcmc::data::{Scaler, Standardise, Transform};
use bnn_mcmc::predict::Centre;
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, Array3, Axis, s};

use crate::fixtures::normals;

/// A response above 0 that depends on one feature.
fn data(rows: usize) -> Dataset {
    let x = normals(31, (rows, 1));
    let noise = normals(32, (rows, 1));
    let y = (0.5 + 0.6 * &x + 0.5 * &noise).mapv(f64::exp) * 20.0;
    Dataset::regression(x, y).unwrap()
}

/// A linear posterior of the transformed response, with its scaler.
fn posterior<L: Likelihood>(
    transform: Transform,
    likelihood: L,
    outputs: usize,
) -> (Posterior<Linear, L>, Scaler, Dataset) {
    let data = data(80);
    let scaler = Standardise::new().after(transform).fit_response(&data).unwrap();
    let scaled = scaler.scale_response(&data).unwrap();
    let priors = Priors::all(Normal::new(0.0, 2.0).unwrap());
    let priors = likelihood
        .layout()
        .blocks()
        .iter()
        .fold(priors, |priors, block| priors.with(&block.name, Normal::new(0.0, 1.0).unwrap()));
    let model = Linear::new(1, outputs).unwrap();
    (Posterior::new(model, likelihood, &scaled, priors).unwrap(), scaler, data)
}

/// The same q so many times, in two chains.
fn repeated<M: Model, L: Likelihood>(of: &Posterior<M, L>, q: &[f64], n: usize) -> Draws {
    let values = Array3::from_shape_fn((2, n, q.len()), |(_, _, i)| q[i]);
    Draws::new(of.layout().clone(), values).unwrap()
}

const TRANSFORMS: [Transform; 3] = [Transform::Log, Transform::BoxCox, Transform::YeoJohnson];

/// Rows with the same features and all responses there are: the densities add up to 1.
#[test]
fn predictive_densities_integrate_to_one() {
    for transform in TRANSFORMS {
        let (posterior, scaler, _) = posterior(transform, Gaussian::sampled(), 1);
        // w, b, log variance: two draws that differ.
        let q = ndarray::array![[[0.7, 0.1, -1.0]], [[0.2, -0.3, -0.2]]];
        let q = Draws::new(posterior.layout().clone(), q).unwrap();
        let (from, to) =
            if transform == Transform::YeoJohnson { (-300.0, 4e3) } else { (1e-9, 4e3) };
        let n = 100_001;
        let y = Array1::linspace(from, to, n);
        let step = y[1] - y[0];
        let grid = Dataset::regression(Array2::from_elem((n, 1), 0.4), y).unwrap();
        let scaled = scaler.scale_response(&grid).unwrap();
        let predictions = posterior.predict(&q, &scaled).unwrap().unscaled(&scaler).unwrap();
        let density = predictions.log_density().unwrap().mapv(f64::exp).mean_axis(Axis(0)).unwrap();
        let sum = density.sum() * step;
        println!("{transform}: {sum}");
        assert!((sum - 1.0).abs() < 2e-3, "{transform}: {sum}");
    }
}

/// The mean of very many draws of one q is E[y | x, q], for noise that is equal and for noise by row; the
/// quantiles are those of z, transformed back.
#[test]
fn means_are_those_of_the_draws() {
    fn check<L: Likelihood>(transform: Transform, likelihood: L, outputs: usize, q: &[f64]) {
        let (posterior, scaler, data) = posterior(transform, likelihood, outputs);
        let draws = repeated(&posterior, q, 5_000);
        let few = scaler.scale_response(&data.select(&[3, 11, 42]).unwrap()).unwrap();
        let on_scale = posterior.predict(&draws, &few).unwrap();
        let own = on_scale.unscaled(&scaler).unwrap();
        let drawn = own.predictive_draws();
        for row in 0..3 {
            let of_row = drawn.slice(s![.., .., row, 0]);
            let (mean, se) = (of_row.mean().unwrap(), of_row.std(1.0) / 100.0);
            let found = own.mean()[[0, 0, row, 0]];
            assert!((found - mean).abs() < 4.0 * se, "{transform}, row {row}: {found} {mean} {se}");
            // Which is none of g^-1(E z).
            let f = ndarray::array![[on_scale.mean()[[0, 0, row, 0]]]];
            let median = scaler.inverse(f.view()).unwrap()[[0, 0]];
            assert!((median - mean).abs() > 8.0 * se, "{transform}, row {row}: {median} {mean}");
        }
        // The 0.9 quantile lies between two draws, of which the transform is the same two.
        let upper = own.predictive_interval(0.8).unwrap().upper;
        for (row, upper) in upper.column(0).iter().enumerate() {
            let of_row = on_scale.predictive_draws().slice(s![.., .., row, 0]).to_owned();
            let mut z: Vec<f64> = of_row.into_iter().collect();
            z.sort_by(f64::total_cmp);
            let at = (0.9 * (z.len() - 1) as f64) as usize;
            let around = ndarray::array![[z[at]], [z[at + 1]]];
            let y = scaler.inverse(around.view()).unwrap();
            assert!((y[[0, 0]]..=y[[1, 0]]).contains(upper), "{transform}: {y} {upper}");
        }
        // The row's one chain, and new rows.
        assert_eq!(on_scale.chain(1).unwrap().unscaled(&scaler).unwrap().mean().dim().0, 1);
        let new = posterior.predict_new(&draws, few.x().view()).unwrap().unscaled(&scaler).unwrap();
        assert_eq!(new.mean(), own.mean());
    }
    for transform in TRANSFORMS {
        check(transform, Gaussian::sampled(), 1, &[0.6, 0.1, -0.7]);
        // w and b of the mean, and of the log standard deviation.
        check(transform, HeteroscedasticGaussian, 2, &[0.6, 0.4, 0.1, -0.4]);
    }
}

/// By hand: y is log-normal, the mean is e^(mu + s^2/2), the density has 1/y.
#[test]
fn the_logarithm_is_that_of_the_textbook() {
    let (posterior, scaler, data) = posterior(Transform::Log, Gaussian::sampled(), 1);
    let q = repeated(&posterior, &[0.6, 0.1, -0.7], 3);
    let scaled = scaler.scale_response(&data).unwrap();
    let own = posterior.predict(&q, &scaled).unwrap().unscaled(&scaler).unwrap();
    let y = data.real().unwrap();
    let logs = y.mapv(f64::ln);
    let (shift, scale) = (logs.mean().unwrap(), logs.std(0.0));
    let sd = scale * (-0.35f64).exp();
    for row in 0..data.rows() {
        let mu = shift + scale * (0.6 * data.x()[[row, 0]] + 0.1);
        let mean = (mu + 0.5 * sd * sd).exp();
        assert!((own.mean()[[1, 2, row, 0]] / mean - 1.0).abs() < 1e-12);
        let z = (logs[[row, 0]] - mu) / sd;
        let density = -0.5 * z * z - (sd * std::f64::consts::TAU.sqrt()).ln() - logs[[row, 0]];
        assert!((own.log_density().unwrap()[[0, 1, row]] - density).abs() < 1e-9);
    }
}

/// Student's t has no mean after a logarithm: the median stands for it, and scores are finite or infinite.
#[test]
fn the_median_stands_for_the_mean_of_heavy_tails() {
    let (posterior, scaler, data) = posterior(Transform::Log, StudentTNoise::sampled(), 1);
    // Half a degree of freedom: draws beyond the largest number.
    let q = repeated(&posterior, &[0.6, 0.1, 0.0, -0.7], 4_000);
    let scaled = scaler.scale_response(&data).unwrap();
    let on_scale = posterior.predict(&q, &scaled).unwrap();
    let own = on_scale.unscaled(&scaler).unwrap();
    let f = on_scale.mean().slice(s![0, 0, .., ..]).to_owned();
    assert_eq!(own.mean().slice(s![0, 0, .., ..]), scaler.inverse(f.view()).unwrap());
    assert!(own.predictive_draws().iter().any(|y| y.is_infinite()));
    let median = own.summary().unwrap().rows[5].mean;
    let drawn = own.predictive_draws().slice(s![.., .., 5, 0]).to_owned();
    let below = drawn.iter().filter(|y| **y < median).count() as f64 / drawn.len() as f64;
    assert!((below - 0.5).abs() < 0.03, "{below}");
    // No column is called a mean.
    assert_eq!([own.centre(), on_scale.centre()], [Centre::Median, Centre::Mean]);
    let header = |predictions: &Predictions| {
        let mut bytes = Vec::new();
        predictions.write_csv(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap().lines().next().unwrap().to_string()
    };
    let new = "new_q05,new_q50,new_q95";
    for (predictions, name) in [(&own, "median"), (&on_scale, "mean")] {
        let columns = format!("{name},{name}_sd,{name}_q05,{name}_q50,{name}_q95,{new}");
        assert_eq!(header(predictions), format!("row,response,observed,{columns}"));
        let scores = predictions.scores().unwrap().to_string();
        assert!(scores.contains(&format!("posterior {name} ")), "{scores}");
    }
    let scores = own.scores().unwrap();
    // The medians of all draws, by hand.
    let mut error = 0.0;
    for (row, y) in data.real().unwrap().column(0).iter().enumerate() {
        let drawn = own.predictive_draws().slice(s![.., .., row, 0]).to_owned();
        let mut drawn: Vec<f64> = drawn.into_iter().collect();
        drawn.sort_by(f64::total_cmp);
        error += (0.5 * (drawn[3_999] + drawn[4_000]) - y).abs() / 80.0;
    }
    let found = scores.get("mae_median").unwrap();
    assert!((found.posterior / error - 1.0).abs() < 1e-12 && found.draws_mean.is_nan());
    assert_eq!(scores.get("crps").unwrap().posterior, f64::INFINITY);
    assert!(scores.get("rmse").unwrap().posterior.is_finite());
    assert!(scores.get("coverage_95").unwrap().posterior > 0.5);
    // Ranks among the draws do not know of units.
    assert_eq!(own.pit(1).unwrap().values, on_scale.pit(1).unwrap().values);
}
