//! Weights of rows, by a fit of a file: a row of weight w is w rows that are equal to it.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use bnn_mcmc::data::{CsvReader, StandIn, Transform};
use bnn_mcmc::diagnostics::ess_mean;
use bnn_mcmc::fit::{AnyLikelihood, Fit, Method, Network, Noise, Recipe, WeightPrior};
use bnn_mcmc::posterior::Posterior;
use bnn_mcmc::predict::Scores;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::ConditionallyGaussian;
use ndarray::Axis;
use serde::Deserialize;
use shared::refused;
use tempfile::TempDir;

const ROWS: usize = 60;

fn x(i: usize) -> f64 {
    ((7 * i) % 31) as f64 / 10.0 - 1.5
}

fn weight(i: usize) -> usize {
    [1, 3, 0, 2, 5][(i * 7 + i / 11) % 5]
}

/// The columns of the table by their names: a feature with gaps, labels, groups, exposures and responses of each kind.
fn cell(column: &str, i: usize) -> String {
    let real = 0.4 * x(i) + (3.7 * i as f64).sin();
    // The time at which a row is no longer followed.
    let end = 3.5 + ((5 * i) % 7) as f64 / 2.0;
    match column {
        "x" => x(i).to_string(),
        "gaps" if i % 9 == 4 => String::new(),
        "gaps" => ((i * i) % 23).to_string(),
        "kind" => ["a", "b", "c"][(i + i / 7) % 3].into(),
        "school" => format!("S{}", (i + i / 13) % 4),
        "years" => ["0.1", "0.5", "1", "2"][(i + i / 5) % 4].into(),
        "y" => (5.0 + real).to_string(),
        "z" => (0.3 * x(i) * x(i) + (5.3 * i as f64).cos()).to_string(),
        "price" => real.exp().to_string(),
        "share" => (1.0 / (1.0 + (-real).exp())).to_string(),
        "two" => ["no", "yes"][usize::from(real > 0.2)].into(),
        "grade" => (i64::from(real > -0.6) + i64::from(real > 0.5)).to_string(),
        "count" => ((((3 * i) % 7) / 2 + (i % 5) / 4) % 4).to_string(),
        "days" => (4.0 * (0.3 * real).exp()).min(5.0).to_string(),
        "died" => u8::from(4.0 * (0.3 * real).exp() < 5.0).to_string(),
        "followed" => (4.0 * (0.3 * real).exp()).min(end).to_string(),
        "event" => u8::from(4.0 * (0.3 * real).exp() < end).to_string(),
        "w" => weight(i).to_string(),
        other => panic!("{other}"),
    }
}

/// A table of these columns, with each row as many times as `copies` says.
fn table(folder: &TempDir, columns: &[&str], copies: impl Fn(usize) -> usize) -> PathBuf {
    let mut text = format!("{}\n", columns.join(","));
    for i in 0..ROWS {
        let line: Vec<String> = columns.iter().map(|column| cell(column, i)).collect();
        (0..copies(i)).for_each(|_| writeln!(text, "{}", line.join(",")).unwrap());
    }
    let path = folder.path().join(format!("{}-{}.csv", columns.join("-"), text.len()));
    fs::write(&path, text).unwrap();
    path
}

/// The fit of a table with weights, and the fit of the table written out.
fn both(recipe: &Recipe, columns: &[&str]) -> (Fit, Fit) {
    let folder = TempDir::new().unwrap();
    let with_weights: Vec<&str> = columns.iter().copied().chain(["w"]).collect();
    let short = table(&folder, &with_weights, |_| 1);
    let long = table(&folder, columns, weight);
    let short = recipe.clone().row_weights("w").read_csv(short);
    (short.unwrap(), recipe.read_csv(long).unwrap())
}

fn check_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(1e-300, |a: f64, x| a.max(x.abs()));
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= tolerance * size, "{what} {i}: {f} for {e}");
    }
}

/// Shift and scale of each column of features, then of responses.
fn scales(fit: &Fit) -> Vec<f64> {
    let response = fit.response_scaler().map(|scaler| scaler.columns()).unwrap_or_default();
    let columns = fit.feature_scaler().columns().iter().chain(response);
    columns.flat_map(|column| [column.shift, column.scale]).collect()
}

type OfFit = Posterior<Network, AnyLikelihood>;

/// Log likelihood, log prior and gradient at a point.
fn density(posterior: &OfFit, q: &[f64]) -> Vec<f64> {
    let (mut grad, mut ws) = (vec![0.0; q.len()], posterior.workspace());
    let density = posterior.log_density_grad(q, &mut grad, &mut ws);
    [density.likelihood, density.prior].into_iter().chain(grad).collect()
}

/// The same of the integral over the output layer.
fn marginal(posterior: &OfFit, q: &[f64]) -> Vec<f64> {
    let (mut grad, mut ws) = (vec![0.0; q.len()], posterior.workspace());
    posterior.refresh_at(1.0, None, &mut q.to_vec(), &mut ws);
    let density = posterior.log_marginal_at(1.0, q, Some(&mut grad), &mut ws);
    [density.likelihood, density.prior].into_iter().chain(grad).collect()
}

/// Everything that a fit learns from its rows is equal, the densities included.
fn check_equal(what: &str, recipe: &Recipe, columns: &[&str], method: Method) {
    let recipe = recipe.clone().chains(1).warmup(3).draws(2).seed(4);
    let (short, long) = both(&recipe, columns);
    assert_eq!(short.recipe().to_string().contains("integrated out"), method == Method::Collapsed);
    assert_eq!(short.training().total_weight(), long.training().rows() as f64, "{what}");
    assert_eq!(short.data().feature_names(), long.data().feature_names(), "{what}");
    assert_eq!(short.ranges(), long.ranges(), "{what}");
    check_close(what, &scales(&short), &scales(&long), 1e-12);
    let (a, b) = (short.posterior(), long.posterior());
    assert_eq!(a.layout(), b.layout(), "{what}");
    let mut rng = ChainRng::new(6, 0);
    let q: Vec<f64> = (0..a.dim()).map(|_| 0.4 * rng.normal()).collect();
    check_close(what, &density(a, &q), &density(b, &q), 1e-10);
    if method == Method::Collapsed {
        check_close(what, &marginal(a, &q), &marginal(b, &q), 1e-10);
    }
    // The same random numbers, and steps that differ by rounding alone; but the precisions of Student-t noise, where the
    // output layer is integrated out, are drawn for each row.
    let is_mixture = matches!(short.posterior().likelihood(), AnyLikelihood::StudentTNoise(_));
    if is_mixture && method == Method::Collapsed {
        return;
    }
    let (found, expected) = (short.draws().values(), long.draws().values());
    let flat = |values: ndarray::ArrayView3<f64>| values.iter().copied().collect::<Vec<f64>>();
    check_close(what, &flat(found.view()), &flat(expected.view()), 1e-6);
    // In the units of the response.
    let [found, expected] = [&short, &long].map(|fit| fit.scores(fit.training()).unwrap());
    assert_eq!(found.weight, Some(long.training().rows() as f64));
    for (f, e) in found.scores.iter().zip(&expected.scores) {
        // Draws of new responses differ.
        if !["mae_median", "crps", "coverage_95", "width_95"].contains(&&f.name[..]) {
            check_close(&format!("{what} {}", f.name), &[f.posterior], &[e.posterior], 1e-5);
        }
    }
}

#[test]
fn a_fit_of_weighted_rows_is_that_of_the_table_written_out() {
    use Method::{Collapsed, Nuts};
    let real = || Fit::regression("y").hidden(&[4]);
    let count = |noise| Fit::counts("count").noise(noise).exposure("years").hidden(&[3]);
    let of_counts = ["x", "kind", "years", "count"];
    let plain = ["x", "gaps", "kind", "y"];
    check_equal("linear", &real().hidden(&[]), &plain, Nuts);
    check_equal("network", &real(), &plain, Collapsed);
    check_equal("network by NUTS", &real().method(Nuts), &plain, Nuts);
    let scales = real().skip(true).weights(WeightPrior::Scales);
    check_equal("scales", &scales, &plain, Collapsed);
    check_equal("groups", &real().group("school"), &["x", "school", "y"], Collapsed);
    check_equal(
        "lines and groups",
        &real().hidden(&[]).group("school"),
        &["x", "school", "y"],
        Collapsed,
    );
    for noise in [Noise::StudentT, Noise::Heteroscedastic, Noise::HeteroscedasticStudentT] {
        check_equal(&noise.to_string(), &real().noise(noise), &plain, Collapsed);
    }
    // Several columns have one matrix in common only where all rows count once.
    let two = Fit::regression(["y", "z"]).hidden(&[4]);
    let (short, long) = both(&two.clone().chains(1).warmup(2).draws(2), &["x", "y", "z"]);
    let is_integrated = |fit: &Fit| fit.recipe().to_string().contains("integrated out");
    assert_eq!([&short, &long].map(is_integrated), [false, true]);
    check_equal("two responses", &two.method(Nuts), &["x", "kind", "y", "z"], Nuts);
    for transform in [Transform::Log, Transform::BoxCox, Transform::YeoJohnson] {
        let recipe = Fit::regression("price").hidden(&[4]).transform(transform);
        check_equal(&transform.to_string(), &recipe, &["x", "gaps", "price"], Collapsed);
    }
    let share = Fit::regression("share").noise(Noise::Beta).hidden(&[3]);
    check_equal("shares", &share, &["x", "kind", "share"], Nuts);
    check_equal(
        "two classes",
        &Fit::classification("two").hidden(&[3]),
        &["x", "kind", "two"],
        Nuts,
    );
    let grade = Fit::classification("grade").hidden(&[3]);
    check_equal("classes", &grade, &["x", "kind", "grade"], Nuts);
    check_equal("classes in order", &grade.noise(Noise::Ordinal), &["x", "kind", "grade"], Nuts);
    for noise in [
        Noise::Poisson,
        Noise::NegativeBinomial,
        Noise::ZeroInflatedPoisson,
        Noise::ZeroInflatedNegativeBinomial,
        Noise::HurdlePoisson,
        Noise::HurdleNegativeBinomial,
    ] {
        check_equal(&noise.to_string(), &count(noise), &of_counts, Nuts);
    }
    for noise in [Noise::LogNormal, Noise::Weibull, Noise::Normal] {
        let recipe = Fit::survival("days").event("died").noise(noise).hidden(&[3]);
        check_equal(&noise.to_string(), &recipe, &["x", "days", "died"], Nuts);
    }
}

/// Concordance and Brier score of rows that were followed for different times, by the same draws.
#[test]
fn scores_of_times_are_those_of_the_rows_written_out() {
    let folder = TempDir::new().unwrap();
    let short = table(&folder, &["x", "followed", "event", "w"], |_| 1);
    let recipe = Fit::survival("followed").event("event").row_weights("w").hidden(&[3]);
    let fit = recipe.chains(2).warmup(60).draws(40).seed(2).read_csv(&short).unwrap();
    let long = fit.read(table(&folder, &["x", "followed", "event"], weight)).unwrap();
    let [found, expected] = [fit.training(), &long].map(|rows| fit.scores(rows).unwrap());
    for name in ["concordance", "integrated_brier", "log_predictive_density"] {
        let of = |scores: &Scores| scores.get(name).unwrap().posterior;
        check_close(name, &[of(&found)], &[of(&expected)], 1e-12);
    }
    let plain = fit.scores(&fit.training().clone().without_weights()).unwrap();
    assert_ne!(plain.get("integrated_brier"), found.get("integrated_brier"));
}

/// Weights that are 1 change nothing, bit for bit, where the output layer is not integrated out.
#[test]
fn rows_that_all_count_once_have_the_draws_of_rows_without_weights() {
    let folder = TempDir::new().unwrap();
    for recipe in [
        Fit::regression("y").hidden(&[3]).method(Method::Nuts),
        Fit::classification("grade").hidden(&[3]),
        Fit::counts("count").hidden(&[3]),
        Fit::survival("days").event("died").hidden(&[3]),
    ] {
        let recipe = recipe.chains(2).warmup(60).draws(20).seed(5);
        let columns: &[&str] = match recipe.to_string().split('`').nth(1).unwrap() {
            "days" => &["x", "days", "died"],
            "y" => &["x", "y"],
            "grade" => &["x", "grade"],
            _ => &["x", "count"],
        };
        let path = table(&folder, columns, |_| 1);
        let data = recipe.read_csv(&path).unwrap().data().clone();
        let plain = recipe.fit(&data).unwrap();
        let ones = recipe.fit(&data.with_weights([1.0; ROWS]).unwrap()).unwrap();
        assert_eq!(plain.draws().values(), ones.draws().values());
    }
}

/// Student-t noise where the output layer is integrated out: draws that do not share random numbers.
#[test]
fn precisions_of_weighted_rows_are_those_of_their_copies() {
    let recipe = Fit::regression("y").noise(Noise::StudentT).hidden(&[2]).seed(3);
    let (short, long) = both(&recipe.chains(4).warmup(500).draws(1500), &["x", "y"]);
    let rows = ndarray::array![[-1.0], [0.0], [0.9]];
    let quantities = |fit: &Fit| {
        let mean = fit.predict_new(rows.view()).unwrap().predictions;
        let scale = fit.draws().block("log_squared_scale").unwrap();
        let of_rows = (0..3).map(|i| mean.mean().slice(ndarray::s![.., .., i, 0]).to_owned());
        of_rows.chain([scale.index_axis(Axis(2), 0).to_owned()]).collect::<Vec<_>>()
    };
    for (k, (a, b)) in quantities(&short).iter().zip(&quantities(&long)).enumerate() {
        let error = |values: &ndarray::Array2<f64>| values.var(0.0) / ess_mean(values.view());
        let z = (a.mean().unwrap() - b.mean().unwrap()) / (error(a) + error(b)).sqrt();
        assert!(z.abs() < 4.0, "{k}: z = {z}");
        let ratio = a.std(0.0) / b.std(0.0);
        assert!((ratio - 1.0).abs() < 0.15, "{k}: {ratio}");
    }
}

#[derive(Deserialize)]
struct Golden {
    glm: [[f64; 2]; 2],
    scales: Vec<[f64; 2]>,
    point: Vec<f64>,
    log_density: [f64; 2],
    mean: Vec<f64>,
    sd: Vec<f64>,
}

/// With weights that are not whole numbers, against weighted least squares by numpy (tests/golden/row_weights.py).
#[test]
fn a_linear_model_with_shares_of_rows_is_weighted_least_squares_with_a_ridge() {
    let golden: Golden = serde_json::from_str(include_str!("../golden/row_weights.json")).unwrap();
    let folder = TempDir::new().unwrap();
    let mut text = String::from("x,w,u,y\n");
    for i in 0..40 {
        let (x, u) = (((7 * i) % 31) as f64 / 8.0, ((5 * i) % 13) as f64 / 4.0);
        let y = x / 2.0 - u / 4.0 + ((11 * i) % 17) as f64 / 8.0;
        let w = ((3 * i) % 8) as f64 / 4.0 + if i % 8 > 0 { 0.125 } else { 0.0 };
        writeln!(text, "{x},{w},{u},{y}").unwrap();
    }
    let path = folder.path().join("shares.csv");
    fs::write(&path, text).unwrap();
    let recipe = Fit::regression("y").row_weights("w").hidden(&[]);
    let recipe = recipe.weights(WeightPrior::Normal { sd: 1.5 });
    let fit = recipe.chains(4).warmup(500).draws(2500).seed(8).read_csv(&path).unwrap();
    let expected: Vec<f64> = golden.scales.iter().flatten().copied().collect();
    check_close("scales", &scales(&fit), &expected, 1e-12);
    let found = &density(fit.posterior(), &golden.point)[..2];
    check_close("log density", found, &golden.log_density, 1e-12);
    for (k, (mean, sd)) in golden.mean.iter().zip(&golden.sd).enumerate() {
        let values = fit.draws().values().index_axis(Axis(2), k).to_owned();
        let z = (values.mean().unwrap() - mean) / (sd / ess_mean(values.view()).sqrt());
        assert!(z.abs() < 4.0, "{k}: z = {z}, {} for {mean}", values.mean().unwrap());
        let ratio = values.std(0.0) / sd;
        assert!((ratio - 1.0).abs() < 0.06, "{k}: {} for {sd}", values.std(0.0));
    }
}

/// Rates of counts with an exposure, against statsmodels' GLM with `freq_weights`: a prior that is wide beside the errors
/// moves the mean by less than a fifth of them.
#[test]
fn rates_of_weighted_rows_are_those_of_a_glm() {
    let golden: Golden = serde_json::from_str(include_str!("../golden/row_weights.json")).unwrap();
    let folder = TempDir::new().unwrap();
    let mut text = String::from("x,w,years,claims\n");
    for i in 0..120 {
        let (x, years) = (((7 * i) % 31) as f64 / 16.0 - 1.0, [0.25, 0.5, 1.0, 2.0][i % 4]);
        let claims = (years * (2.5 + 1.5 * x) * ((5 * i) % 8 + 1) as f64 / 4.0).floor();
        writeln!(text, "{x},{},{years},{claims}", [1.0, 3.0, 0.5, 2.5, 1.5][i % 5]).unwrap();
    }
    let path = folder.path().join("claims.csv");
    fs::write(&path, text).unwrap();
    let recipe = Fit::counts("claims").noise(Noise::Poisson).exposure("years").hidden(&[]);
    let recipe = recipe.weights(WeightPrior::Normal { sd: 5.0 }).chains(4).warmup(500).draws(2500);
    let fit = |recipe: Recipe| recipe.seed(3).read_csv(&path).unwrap();
    let estimates = |fit: &Fit| {
        let (scale, draws) = (&fit.feature_scaler().columns()[0], fit.draws());
        let [w, b] = ["w0", "b0"].map(|name| draws.block(name).unwrap());
        let slope = w.index_axis(Axis(2), 0).mapv(|w| w / scale.scale);
        let intercept = &b.index_axis(Axis(2), 0) - &slope.mapv(|slope| slope * scale.shift);
        [intercept, slope].map(|values| [values.mean().unwrap(), values.std(0.0)])
    };
    let [glm, errors] = golden.glm;
    let weighted = estimates(&fit(recipe.clone().row_weights("w")));
    println!("{weighted:?} {glm:?} {errors:?}");
    for (k, [mean, sd]) in weighted.into_iter().enumerate() {
        assert!((mean - glm[k]).abs() < 0.2 * errors[k], "{k}: {mean} for {}", glm[k]);
        assert!((sd / errors[k] - 1.0).abs() < 0.06, "{k}: {sd} for {}", errors[k]);
    }
    let plain = estimates(&fit(recipe.reader(|reader| reader.ignore(["w"]))));
    let far = |k: usize| (plain[k][0] - glm[k]).abs() > 0.4 * errors[k];
    assert!(far(0) || far(1), "weights make a difference: {plain:?}");
    assert!(plain.iter().zip(errors).all(|([_, sd], error)| *sd > 1.15 * error), "{plain:?}");
}

/// A run in a folder, its copy, validation rows, and tables of new rows with and without the column.
#[test]
fn weights_go_with_their_rows() {
    let folder = TempDir::new().unwrap();
    let path = table(&folder, &["x", "w", "gaps", "y"], |_| 1);
    let recipe = Fit::regression("y").row_weights("w").hidden(&[3]).validation(0.25);
    let recipe = recipe.chains(2).warmup(60).draws(40).seed(9);
    let run = folder.path().join("run");
    let fit = recipe.clone().in_folder(&run).read_csv(&path).unwrap();
    assert_eq!(fit.data().feature_names(), ["x", "gaps", "gaps is missing"]);
    let lines = fit.schema().unwrap().in_words();
    assert_eq!(lines[1], ("w".to_string(), "weights of the rows".to_string()));
    assert!(fit.recipe().to_string().contains("weights of rows: `w`"), "{}", fit.recipe());
    let all: Vec<f64> = (0..ROWS).map(|i| weight(i) as f64).collect();
    assert_eq!(fit.data().weights().unwrap().to_vec(), all);
    let split = fit.split().unwrap();
    for (rows, places) in [(fit.training(), &split.train), (fit.validation().unwrap(), &split.test)]
    {
        let own: Vec<f64> = places.iter().map(|i| all[*i]).collect();
        assert_eq!(rows.weights().unwrap().to_vec(), own);
    }
    assert_eq!(
        fit.scores(fit.validation().unwrap()).unwrap().weight,
        Some(fit.validation().unwrap().total_weight())
    );
    let csv = fs::read_to_string(run.join("data.csv")).unwrap();
    assert!(csv.starts_with("x,gaps,gaps is missing,y,w\n"), "{csv}");

    // Loaded, and run again, the fit is the same; with other weights it is another.
    let again = Fit::load(&run).unwrap();
    assert_eq!(again.data().weights(), fit.data().weights());
    let [loo, of_again] = [&fit, &again].map(|fit| fit.loo().unwrap());
    assert_eq!((loo.elpd, loo.se, loo.p_loo), (of_again.elpd, of_again.se, of_again.p_loo));
    assert_eq!(loo.total_weight(), fit.training().total_weight());
    assert_eq!(
        recipe.clone().in_folder(&run).read_csv(&path).unwrap().draws().values(),
        fit.draws().values()
    );
    let more = recipe.clone().draws(60).in_folder(&run).read_csv(&path).unwrap();
    assert_eq!(more.draws().n_draws(), 60);
    let text = fs::read_to_string(&path).unwrap();
    let other = folder.path().join("other.csv");
    fs::write(&other, text.replacen(",3,", ",4,", 1)).unwrap();
    refused!(recipe.clone().draws(60).in_folder(&run).read_csv(&other), OtherFit {});

    // New rows need no weights, and scores say whether they had some.
    let new = folder.path().join("new.csv");
    fs::write(&new, "gaps,x,y\n1,0.5,5\n,0.1,4\n").unwrap();
    let plain = fit.read(&new).unwrap();
    assert!(plain.weights().is_none());
    let unweighted = fit.scores(&plain).unwrap();
    assert!(unweighted.weight.is_none() && !unweighted.to_string().contains("weights"));
    assert_eq!(fit.predict_csv(&new).unwrap().predictions.mean().dim().2, 2);
    fs::write(&new, "gaps,w,x,y\n1,0.5,0.5,5\n,1.5,0.1,4\n").unwrap();
    let weighted = fit.scores(&fit.read(&new).unwrap()).unwrap();
    assert_eq!(weighted.weight, Some(2.0));
    assert!(weighted.to_string().ends_with("by the weights of the rows, whose sum is 2\n"));
    assert_ne!(weighted.get("rmse"), unweighted.get("rmse"));
    fs::write(&new, "gaps,w,x\n1,many,0.5\n").unwrap();
    assert!(fit.predict_csv(&new).unwrap().unused.is_empty(), "predictions have no use for it");
    fs::write(&new, "gaps,w,x,y\n1,-1,0.5,5\n").unwrap();
    refused!(fit.read(&new), Cell { row: "line 2", column: "w" });

    // A data set brings its own.
    let of_data = recipe.fit(fit.data()).unwrap();
    assert_eq!(of_data.draws().values(), fit.draws().values());
    let without = fit.data().clone().without_weights();
    refused!(recipe.fit(&without), Argument { name: "row weights" });
    let unnamed = Fit::regression("y").hidden(&[3]).chains(1).warmup(20).draws(10);
    let saved = folder.path().join("saved");
    let unnamed = unnamed.fit(fit.data()).unwrap();
    unnamed.save(&saved).unwrap();
    assert_eq!(Fit::load(&saved).unwrap().data(), unnamed.data());
    refused!(
        fit.to_zarr(folder.path().join("for_arviz.zarr")),
        Argument { name: "weights of rows" }
    );
}

/// The median that stands in for a missing value is the median of the rows written out.
#[test]
fn medians_are_weighted() {
    let read = |text: &str| CsvReader::regression("y").row_weights("w").read(text.as_bytes());
    let data = read("x,y,w\n1,2,1\n2,3,1\n9,4,3\n,5,1\n-7,5,0\n").unwrap();
    assert_eq!(data.dataset.x().column(0).to_vec(), [1.0, 2.0, 9.0, 9.0, -7.0]);
    let StandIn::Missing { value, .. } = &data.stand_ins[0] else { panic!("{:?}", data.stand_ins) };
    assert_eq!(*value, Some(9.0));
}

#[test]
fn what_is_no_weight_is_refused() {
    let reader = || CsvReader::regression("y").row_weights("w");
    let read = |w: &str| reader().read(format!("x,w,y\n1,1,1\n2,{w},3\n5,2,1\n").as_bytes());
    assert!(read("0").is_ok());
    for wrong in ["-1", "inf", "1e999", "many", "", "NaN", "NA", "1.5 kg"] {
        refused!(read(wrong), Cell { row: "line 3", column: "w" });
    }
    refused!(read("1e300"), Argument { name: "sum of the weights of rows" });
    let zeros = "x,w,y\n1,0,1\n2,0,3\n";
    refused!(reader().read(zeros.as_bytes()), Argument { name: "weights of rows" });
    // A row that is left out needs none.
    let gap = "x,w,y\n1,1,1\n2,,\n5,2,1\n";
    assert_eq!(reader().read(gap.as_bytes()).unwrap().dropped, [3]);
    let gap = "x,w,y\n1,1,1\n2,,3\n5,2,1\n";
    assert_eq!(reader().drop_missing_rows().read(gap.as_bytes()).unwrap().dropped, [3]);
    let good = "x,w,y\n1,1,1\n2,1,3\n";
    for column in ["y", "z"] {
        assert!(CsvReader::regression("y").row_weights(column).read(good.as_bytes()).is_err());
    }
    let twice = CsvReader::regression("y").row_weights("y").read(good.as_bytes());
    refused!(twice, Argument { name: "row weights", value: "column `y`" });
    refused!(reader().ignore(["w"]).read(good.as_bytes()), Argument { name: "row weights" });
    refused!(reader().categorical(["w"]).read(good.as_bytes()), Argument { name: "categorical" });
    // Without a header, files have all columns, or neither the response nor the weights.
    let reader = CsvReader::regression(2).no_header().row_weights("#2");
    let schema = reader.read("1,1,1\n2,3,3\n".as_bytes()).unwrap().schema;
    assert_eq!(schema.read_features("7\n".as_bytes()).unwrap().x[(0, 0)], 7.0);
    assert_eq!(schema.read_features("7,1,2\n".as_bytes()).unwrap().x[(0, 0)], 7.0);
    refused!(schema.read_features("7,1\n".as_bytes()), Table { table: "input" });
    // One row that counts is too few.
    let fit = Fit::regression("y").hidden(&[]).chains(1).warmup(1).draws(1);
    let one = Dataset::regression(ndarray::array![[1.0], [2.0]], ndarray::array![1.0, 2.0]);
    let one = one.unwrap().with_weights([0.0, 9.0]).unwrap();
    refused!(fit.fit(&one), Shape { what: "training rows", found: 1 });
}
