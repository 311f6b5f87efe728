//! Counts with an exposure.

use std::fmt::Write;
use std::fs;

use bnn_mcmc::fit::{Fit, Noise, Recipe, WeightPrior};
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, Axis};
use shared::refused;
use statrs::distribution::{DiscreteCDF, Poisson};
use tempfile::TempDir;

const ROWS: usize = 240;

fn x(i: usize) -> f64 {
    ((7 * i) % 31) as f64 / 15.0 - 1.0
}

fn years(i: usize) -> f64 {
    [0.1, 0.25, 0.5, 1.0][i % 4]
}

/// Quantiles of a Poisson variable with the mean years exp(1 + 0.8 x).
fn count(i: usize) -> u64 {
    let u = (i as f64 * 0.618_033_988_749_894_9).fract();
    let poisson = Poisson::new(years(i) * (1.0 + 0.8 * x(i)).exp()).unwrap();
    poisson.inverse_cdf(0.001 + 0.998 * u)
}

/// A table with the exposure in the middle.
fn table(folder: &TempDir) -> std::path::PathBuf {
    let mut text = String::from("x,years,kind,claims\n");
    for i in 0..ROWS {
        writeln!(text, "{},{},{},{}", x(i), years(i), ["a", "b"][i % 2], count(i)).unwrap();
    }
    let path = folder.path().join("claims.csv");
    fs::write(&path, text).unwrap();
    path
}

fn linear() -> Recipe {
    let recipe = Fit::counts("claims").noise(Noise::Poisson).exposure("years").hidden(&[]);
    let recipe = recipe.weights(WeightPrior::Normal { sd: 1.0 }).reader(|r| r.ignore(["kind"]));
    recipe.chains(4).warmup(500).draws(1000).seed(3)
}

/// The mean and the standard deviation of intercept and slope, of x itself, on a grid of the posterior;
/// the prior as the recipe has it, of the standardised feature.
fn on_a_grid() -> [[f64; 2]; 2] {
    let values = Array1::from_iter((0..ROWS).map(x));
    let (mean, sd) = (values.mean().unwrap(), values.std(0.0));
    let sum: u64 = (0..ROWS).map(count).sum();
    let exposure: f64 = (0..ROWS).map(years).sum();
    let centre = ((sum as f64 + 0.5) / exposure).ln();
    let steps = 200;
    let at =
        |k: usize, middle: f64, half: f64| middle + half * (2.0 * k as f64 / steps as f64 - 1.0);
    let mut points = Vec::new();
    for j in 0..=steps {
        for k in 0..=steps {
            let (a, b) = (at(j, 0.98, 0.45), at(k, 0.85, 0.7));
            let prior = -0.5 * (a + b * mean - centre).powi(2) - 0.5 * (b * sd).powi(2);
            let of_row = |i: usize| {
                let log_mean = a + b * x(i) + years(i).ln();
                count(i) as f64 * log_mean - log_mean.exp()
            };
            points.push((prior + (0..ROWS).map(of_row).sum::<f64>(), [a, b]));
        }
    }
    let most = points.iter().map(|point| point.0).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = points.iter().map(|point| (point.0 - most).exp()).sum();
    let expectation = |of: &dyn Fn([f64; 2]) -> f64| -> f64 {
        points.iter().map(|(density, q)| (density - most).exp() * of(*q)).sum::<f64>() / total
    };
    [0, 1].map(|k| {
        let mean = expectation(&|q| q[k]);
        [mean, expectation(&|q| (q[k] - mean).powi(2)).sqrt()]
    })
}

/// The posterior on a grid by this file's own density, and the maximum likelihood estimate of a Poisson GLM with
/// the offset log(years), by statsmodels 0.14: 0.98084176 and 0.84634997 with standard errors 0.061256 and 0.098115.
/// Without the offset it is 0.2096 and 0.8104.
#[test]
fn rates_are_those_of_a_glm_with_an_offset() {
    let folder = TempDir::new().unwrap();
    let fit = linear().read_csv(table(&folder)).unwrap();
    let names = fit.data().feature_names();
    assert_eq!(names, ["x", "log years"]);
    assert_eq!(fit.network().sizes(), [1, 1]);
    let scale = &fit.feature_scaler().columns()[0];
    assert_eq!((fit.feature_scaler().columns()[1].shift, fit.ranges().len()), (0.0, 1));
    let draws = fit.draws();
    let (w, b) = (draws.block("w0").unwrap(), draws.block("b0").unwrap());
    let slope = w.index_axis(Axis(2), 0).mapv(|w| w / scale.scale);
    let intercept = &b.index_axis(Axis(2), 0) - &slope.mapv(|slope| slope * scale.shift);
    for ((found, [mean, sd]), (glm, error)) in [intercept, slope]
        .iter()
        .zip(on_a_grid())
        .zip([(0.98084176, 0.061256), (0.84634997, 0.098115)])
    {
        let effective = bnn_mcmc::diagnostics::ess_mean(found.view());
        let z = (found.mean().unwrap() - mean) / (sd / effective.sqrt());
        assert!(z.abs() < 4.0, "{z}: {} and {mean}", found.mean().unwrap());
        assert!((found.std(0.0) / sd - 1.0).abs() < 0.1, "{} and {sd}", found.std(0.0));
        assert!((mean - glm).abs() < 0.15 * error && (sd / error - 1.0).abs() < 0.05);
    }
}

/// The expected count is the rate times the exposure, whatever the network, and the prior of the
/// bias is around the log of the mean rate.
#[test]
fn expected_counts_are_proportional_to_the_exposure() {
    let folder = TempDir::new().unwrap();
    let path = table(&folder);
    let recipe =
        Fit::counts("claims").exposure("years").hidden(&[4]).chains(2).warmup(200).draws(200);
    let fit = recipe.read_csv(&path).unwrap();
    assert_eq!(fit.data().feature_names(), ["x", "kind=a", "kind=b", "log years"]);
    let new = folder.path().join("new.csv");
    fs::write(&new, "years,kind,x\n0.1,a,0.3\n0.5,a,0.3\n1,a,0.3\n20,a,0.3\n").unwrap();
    let predicted = fit.predict_csv(&new).unwrap();
    assert!(predicted.outside.is_empty(), "an exposure is not extrapolated");
    let mean = predicted.predictions.posterior_mean().unwrap();
    for (i, years) in [0.1, 0.5, 1.0, 20.0].into_iter().enumerate() {
        assert!((mean[[i, 0]] / mean[[2, 0]] / years - 1.0).abs() < 1e-12, "{mean}");
    }
    let truth = (1.0_f64 + 0.8 * 0.3).exp();
    assert!((mean[[2, 0]] / truth - 1.0).abs() < 0.2, "{mean} and {truth}");
    // Saved, loaded, and with draws by name.
    fit.save(folder.path().join("run")).unwrap();
    let loaded = Fit::load(folder.path().join("run")).unwrap();
    assert_eq!(loaded.predict_csv(&new).unwrap().predictions.posterior_mean().unwrap(), mean);
    fit.to_zarr(folder.path().join("draws.zarr")).unwrap();
    assert!(fit.loo().unwrap().elpd.is_finite());
    // Without it, the mean count of all rows is believed in.
    let (sum, exposure) = ((0..ROWS).map(count).sum::<u64>(), (0..ROWS).map(years).sum::<f64>());
    let bias = ((sum as f64 + 0.5) / exposure).ln();
    let posterior = fit.posterior();
    let place = posterior.layout().range("b1").unwrap().start;
    let mut q = vec![0.0; posterior.dim()];
    let mut prior = |value: f64| {
        q[place] = value;
        posterior.log_density(&q, &mut posterior.workspace()).prior
    };
    assert!(prior(bias) > prior(bias + 0.01) && prior(bias) > prior(bias - 0.01));
}

#[test]
fn wrong_exposures_are_named() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.csv");
    let read = |recipe: Recipe, cells: [&str; 4]| {
        let rows: String =
            cells.iter().enumerate().map(|(i, e)| format!("{i},{e},{i}\n")).collect();
        fs::write(&path, format!("x,years,y\n{rows}")).unwrap();
        recipe.exposure("years").hidden(&[]).chains(1).warmup(5).draws(5).read_csv(&path)
    };
    for cell in ["0", "-1", "inf", "NaN0"] {
        let found = read(Fit::counts("y"), ["1", cell, "1", "1"]);
        refused!(found, Cell { row: "line 3", column: "years" });
    }
    // A row without an exposure is left out, and a constant one is no harm.
    assert_eq!(read(Fit::counts("y"), ["1", "?", "1", "1"]).unwrap().dropped(), [3]);
    assert_eq!(read(Fit::counts("y"), ["2", "2", "2", "2"]).unwrap().dropped(), [0; 0]);
    refused!(read(Fit::regression("y"), ["1", "1", "1", "1"]), Argument { name: "exposure" });
    refused!(read(Fit::counts("years"), ["1", "1", "1", "1"]), Argument { name: "exposure" });
    let fit = read(Fit::counts("y"), ["1", "2", "3", "1"]).unwrap();
    fs::write(&path, "x\n1\n").unwrap();
    refused!(fit.predict_csv(&path), UnknownName { name: "years" });
    // A data set has its logarithm as the last feature.
    let data = Dataset::counts(
        Array2::from_shape_fn((4, 2), |(i, j)| (i * j) as f64),
        ndarray::array![[1.0], [0.0], [2.0], [1.0]],
    )
    .unwrap();
    let recipe = Fit::counts("y").exposure("years").hidden(&[]).chains(1).warmup(5).draws(5);
    refused!(recipe.fit(&data), Argument { name: "exposure" });
    let named = data.with_feature_names(["x", "log years"]).unwrap();
    let turned = named.select_features(["log years", "x"]).unwrap();
    refused!(recipe.fit(&turned), Argument { name: "exposure" });
}
