//! What the examples with a real response have in common: linear model against MLP D-10-1, normal
//! noise whose variance is sampled, and least squares beside them.

use bnn_mcmc::data::Standardize;
use bnn_mcmc::data::scale::ColumnScale;
use bnn_mcmc::ndarray::{Array1, Array2, ArrayView2, Axis, concatenate};
use bnn_mcmc::prelude::*;
use serde_json::{Value, json};

use crate::shared::{self, AnyError, Line, Options, Run, Setup, Task};

impl Task for Gaussian {
    /// Small weights, noise about as wide as a scaled response: chains that start from draws of the
    /// prior are likely to end where many hidden units are saturated, and to stay there.
    fn start(dim: usize) -> Init {
        Init::Around { center: vec![0.0; dim], sd: 0.1 }
    }

    fn pcn<M: Model>(
        posterior: &Posterior<M, Self>,
        options: &Options,
    ) -> Result<(Draws, Value), AnyError> {
        let algorithm = Cycle(OnBlocks::new(&["w*", "b*"], Pcn::default()), GibbsNoise);
        shared::sample(posterior, algorithm, Self::start(posterior.dim()), options)
    }
}

/// A reference prediction of the test rows `[row, column]`, in units of the response.
pub struct Reference {
    pub name: &'static str,
    pub prediction: Array2<f64>,
}

/// Samples both models and prints the comparison; `digits` of errors. The skill is that against
/// the first reference; least squares comes after the references that are given.
pub fn compare(
    (train, test): (Dataset, Dataset),
    mut references: Vec<Reference>,
    digits: usize,
    options: &Options,
) -> Result<(), AnyError> {
    let least_squares = least_squares(&train, test.x().view())?;
    references.push(Reference { name: "least squares", prediction: least_squares });
    let mut baselines = Vec::new();
    for Reference { name, prediction } in &references {
        let squared = (prediction - test.real()?).mapv(|d| d * d);
        baselines.push((*name, squared.mean().unwrap_or(f64::NAN).sqrt()));
    }

    // Scaled by the training rows alone; files are taken as they are.
    let (scaled_train, scaled_test, scaler) = if options.train.is_some() {
        (train, test, None)
    } else {
        let features = Standardize::new().allow_constant().fit_features(&train)?;
        let response = Standardize::new().fit_response(&train)?;
        let scale = |d: &Dataset| response.scale_response(&features.scale_features(d)?);
        (scale(&train)?, scale(&test)?, Some(response))
    };
    let units: Option<ColumnScale> = scaler.as_ref().and_then(|s| s.columns().first().cloned());
    let features = scaled_train.n_features();
    println!(
        "{} training rows, {} test rows, {features} features; sampler: {:?}",
        scaled_train.rows(),
        scaled_test.rows(),
        options.sampler
    );
    match &units {
        Some(units) => println!(
            "features and response standardised by the training rows; scores in units of the \
             response\n(log predictive density: less log {:.4}, the Jacobian of its scaling)",
            units.scale
        ),
        None => println!("files taken as they are, scores in their units"),
    }

    // IG(2, b) has the weight of four observations, and mean b: noise of 3 % of the response's
    // standard deviation. Small, so as not to widen the noise of data with hardly any; the tail
    // of the prior towards larger noise is heavy.
    let scale = 1e-3 * scaled_train.real()?.var(0.0);
    let priors = Priors::all(Normal::new(0.0, 1.0)?)
        .with("log_noise_variance", LogInverseGamma::new(2.0, scale)?);
    let prior = format!("N(0, 1) on every weight, IG(2, {scale:.3e}) on the noise variance");
    println!("priors: {prior}");
    let setup = Setup { train: &scaled_train, test: &scaled_test, options, priors, prior, units };

    let linear = Linear::new(features, 1)?;
    let mlp = Mlp::new(&[features, 10, 1], Activation::Tanh)?;
    let dense = Mala { preconditioner: Preconditioner::Dense, ..Mala::default() };
    let noise = Gaussian::sampled();
    let mut runs = [
        shared::fit("linear".into(), linear, noise, dense, &setup)?,
        shared::fit(format!("mlp {features}-10-1 tanh"), mlp, noise, Mala::default(), &setup)?,
    ];

    let first = &references[0];
    let reference = match &scaler {
        Some(scaler) => scaler.transform(first.prediction.view())?,
        None => first.prediction.clone(),
    };
    for Run { report, predictions, units, .. } in &mut runs {
        let more = &mut report.more;
        more.insert("skill".into(), json!(predictions.skill(reference.view())?));
        more.insert("skill_reference".into(), json!(first.name));
        let baselines = baselines.iter().map(|(n, rmse)| (n.to_string(), json!(rmse)));
        more.insert("baselines_test_rmse".into(), Value::Object(baselines.collect()));
        let units = units.as_ref().map(|u| json!({ "shift": u.shift, "scale": u.scale }));
        more.insert("response_scaling".into(), json!(units));
    }

    let lines = [
        Line::new("RMSE, posterior mean", "rmse", 1.0, digits),
        Line::new("RMSE, single draws", "rmse", 1.0, digits).single_draws(),
        Line::new("MAE, posterior mean", "mae", 1.0, digits),
        Line::new("CRPS", "crps", 1.0, digits),
        Line::new("95 % interval, coverage, %", "coverage_95", 100.0, 1),
        Line::new("95 % interval, width", "width_95", 1.0, digits),
        Line::new("log predictive density", "log_predictive_density", 1.0, 3),
    ];
    let skill = format!("test skill, {}", first.name);
    shared::print_runs(&runs, &lines, &[(&skill, "skill", 3)]);
    for Run { report, .. } in runs.iter().filter(|r| !r.report.verdict.starts_with("converged")) {
        println!(
            "The scores of `{}` are those of these draws, not of its posterior.",
            report.model
        );
    }
    println!();
    for (name, rmse) in &baselines {
        println!("test RMSE of {name}: {rmse:.digits$}");
    }
    shared::write(options, &runs)
}

/// Predictions at `x` of least squares with an intercept, fitted to the training rows: columns are
/// made orthogonal one after the other, and those that depend on others (as one-hot columns do)
/// are left out.
fn least_squares(train: &Dataset, x: ArrayView2<f64>) -> Result<Array2<f64>, AnyError> {
    let (n, y) = (train.rows(), train.real()?.column(0));
    if x.ncols() != train.n_features() {
        let found = x.ncols().to_string();
        return Err(Error::shape("features of the test rows", found, train.n_features()).into());
    }
    let all = concatenate(Axis(0), &[train.x().view(), x])?;
    // Columns over training and test rows; norms and products are those of the training rows.
    let mut basis: Vec<Array1<f64>> = Vec::new();
    let dot = |a: &Array1<f64>, b: &Array1<f64>| -> f64 {
        a.iter().zip(b).take(n).map(|(a, b)| a * b).sum()
    };
    let ones = Array1::ones(all.nrows());
    for column in std::iter::once(ones).chain(all.columns().into_iter().map(|c| c.to_owned())) {
        let before = dot(&column, &column).sqrt();
        let mut rest = column;
        for _ in 0..2 {
            for q in &basis {
                let product = dot(q, &rest);
                rest.scaled_add(-product, q);
            }
        }
        let norm = dot(&rest, &rest).sqrt();
        if norm > 1e-9 * before {
            basis.push(rest / norm);
        }
    }
    let mut prediction = Array2::zeros((x.nrows(), 1));
    for q in &basis {
        let coefficient: f64 = q.iter().zip(y).map(|(q, y)| q * y).sum();
        for (p, q) in prediction.iter_mut().zip(q.iter().skip(n)) {
            *p += coefficient * q;
        }
    }
    Ok(prediction)
}
