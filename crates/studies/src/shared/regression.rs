//! What the studies with a real response have in common: linear model against MLP D-10-1, normal
//! noise whose variance is sampled, least squares beside them, and what the chains have found each if
//! they disagree.

use bnn_mcmc::data::{MinMax, Standardise};
use bnn_mcmc::ndarray::{Array1, Array2, ArrayView2, Axis, concatenate};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::LangevinGradient;
use bnn_mcmc::targets::{DescentRule, Objective};
use serde_json::{Value, json};

use crate::shared::{self, AnyError, Kin, Line, Options, Plan, Run, Setup, Task};

impl Task for Gaussian {
    fn pcn<M: Model>(
        posterior: &Posterior<M, Self>,
        start: Init,
        options: &Options,
    ) -> Result<(Draws, Value), AnyError> {
        let algorithm = Cycle(OnBlocks::new(&["w*", "b*"], Pcn::default()), GibbsNoise);
        shared::sample(posterior, algorithm, start, options)
    }
}

/// A reference prediction of the test rows `[row, column]`, in units of the response.
pub struct Reference {
    pub name: &'static str,
    pub prediction: Array2<f64>,
    /// Its test RMSE.
    pub rmse: f64,
}

impl Reference {
    pub fn new(name: &'static str, prediction: Array2<f64>, test: &Dataset) -> Result<Self, Error> {
        let squared = (&prediction - test.real()?).mapv(|d| d * d);
        Ok(Self { name, prediction, rmse: squared.mean().unwrap_or(f64::NAN).sqrt() })
    }

    pub fn least_squares(train: &Dataset, test: &Dataset) -> Result<Self, AnyError> {
        let prediction = least_squares(train, test.x().view())?;
        Ok(Self::new("least squares", prediction, test)?)
    }
}

/// Scaled by the training rows alone; files are taken as they are. With the tutorial's settings the
/// response must lie in [0, 1], the range of a sigmoid: what does so is taken as it is.
pub fn setup((train, test): (Dataset, Dataset), options: &Options) -> Result<Setup, Error> {
    let within = |y: &f64| (0.0..=1.0).contains(y);
    let as_it_is = match options.paper {
        true => train.real()?.iter().all(within),
        false => options.train.is_some(),
    };
    if as_it_is {
        let scaling = "data taken as they are, scores in their units".into();
        return Ok(Setup { train, test, scaling, units: None });
    }
    let (features, response, how) = if options.paper {
        let scaling = MinMax::new().allow_constant();
        (scaling.fit_features(&train)?, scaling.fit_response(&train)?, "scaled to [0, 1]")
    } else {
        let features = Standardise::new().allow_constant().fit_features(&train)?;
        (features, Standardise::new().fit_response(&train)?, "standardised")
    };
    let scale = |d: &Dataset| response.scale_response(&features.scale_features(d)?);
    let jacobian = response.columns().first().map_or(f64::NAN, |column| column.scale);
    let scaling = format!(
        "features and response {how} by the training rows; scores in units of the response\n(log \
         predictive density: less log {jacobian:.4}, the Jacobian of its scaling)"
    );
    let units = Some(response.clone());
    Ok(Setup { train: scale(&train)?, test: scale(&test)?, scaling, units })
}

pub fn plan(kin: Kin, setup: &Setup, options: &Options) -> Result<Plan, Error> {
    let noise = "log_noise_variance";
    if options.paper {
        let plan = Plan::paper(kin, Objective::SquaredError)?;
        return Ok(Plan {
            priors: plan.priors.with(noise, LogInverseGamma::new(0.0, 0.0)?),
            prior: format!("{}, 1/tau^2 on the noise variance", plan.prior),
            ..plan
        });
    }
    // IG(2, b) has the weight of four observations, and mean b: noise of 3 % of the response's
    // standard deviation. Small, so as not to widen the noise of data with hardly any; the tail
    // of the prior towards larger noise is heavy.
    let scale = 1e-3 * setup.train.real()?.var(0.0);
    let dense = kin == Kin::Linear;
    let preconditioner = if dense { Preconditioner::Dense } else { Preconditioner::Diagonal };
    let langevin = LangevinGradient::default();
    // Of the squared error, whose curvature grows with the number of rows. That of the log
    // posterior grows with the inverse of the noise variance too, which is not known beforehand.
    let learning_rate = 0.1 / setup.train.rows() as f64;
    let objective = Objective::SquaredError;
    Ok(Plan {
        kin,
        priors: Priors::all(Normal::new(0.0, 1.0)?).with(noise, LogInverseGamma::new(2.0, scale)?),
        prior: format!("N(0, 1) on every weight, IG(2, {scale:.3e}) on the noise variance"),
        mala: Mala { preconditioner, ..Mala::default() },
        nuts: match kin {
            Kin::Linear => Nuts { preconditioner, ..Nuts::default() },
            // The posterior is a thin, curved ridge: longer trajectories pay for themselves several
            // times over, and smaller steps diverge less often in its narrow places.
            Kin::Mlp => Nuts { max_depth: 12, target_accept: 0.95, ..Nuts::default() },
        },
        langevin: LangevinGradient {
            descent: DescentRule { objective, learning_rate, ..langevin.descent },
            ..langevin
        },
        // Small weights, noise about as wide as a scaled response: chains that start from draws of
        // the prior are likely to end where many hidden units are saturated, and to stay there.
        start_sd: Some(0.1),
    })
}

pub fn run(plan: &Plan, setup: &Setup, options: &Options) -> Result<Run, AnyError> {
    shared::fit(Gaussian::sampled(), 1, plan, setup, options)
}

/// Samples both models and prints the comparison; `digits` of errors. The skill is that against
/// the first reference; least squares comes after the references that are given.
pub fn compare(
    data: (Dataset, Dataset),
    mut references: Vec<Reference>,
    digits: usize,
    options: &Options,
) -> Result<(), AnyError> {
    references.push(Reference::least_squares(&data.0, &data.1)?);
    let setup = setup(data, options)?;
    let plans = [plan(Kin::Linear, &setup, options)?, plan(Kin::Mlp, &setup, options)?];
    shared::print_setup(&setup, &plans, options);
    if options.paper {
        println!(
            "1/tau^2 is improper: with a network that could fit every response, so would be the posterior"
        );
    }
    let mut runs = [run(&plans[0], &setup, options)?, run(&plans[1], &setup, options)?];

    let first = &references[0];
    for Run { report, predictions, .. } in &mut runs {
        let more = &mut report.more;
        more.insert("skill".into(), json!(predictions.skill(first.prediction.view())?));
        more.insert("skill_reference".into(), json!(first.name));
        let baselines = references.iter().map(|r| (r.name.to_string(), json!(r.rmse)));
        more.insert("baselines_test_rmse".into(), Value::Object(baselines.collect()));
        let column = setup.units.as_ref().and_then(|scaler| scaler.columns().first());
        let units = column.map(|u| json!({ "shift": u.shift, "scale": u.scale }));
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
    let failed = |r: &&Run| r.report.verdict.starts_with("not converged:");
    for run in runs.iter().filter(failed) {
        print_chains(run, digits)?;
    }
    if runs.iter().any(|r| failed(&r)) && !options.is_hamiltonian() {
        println!(
            "Chains that had found the posterior would agree in both numbers. For a network, rather \
             than more of\nthe same, take a sampler that moves further in each step: `--sampler nuts`."
        );
    }
    println!();
    for Reference { name, rmse, .. } in &references {
        println!("test RMSE of {name}: {rmse:.digits$}");
    }
    shared::write(options, &runs)
}

/// What each chain found, of a run that has not converged.
fn print_chains(run: &Run, digits: usize) -> Result<(), AnyError> {
    let Run { draws, predictions, report, .. } = run;
    println!(
        "\n`{}`: the scores are those of these draws, not of the posterior. What the chains found:",
        report.model
    );
    for (chain, log_lik) in draws.stat("log_likelihood")?.rows().into_iter().enumerate() {
        let scores = predictions.chain(chain)?.scores()?;
        println!(
            "  chain {chain}: log likelihood {:.1} +- {:.1}, test RMSE of its own mean {:.digits$}",
            log_lik.mean().unwrap_or(f64::NAN),
            log_lik.std(1.0),
            scores.get("rmse").map_or(f64::NAN, |s| s.posterior)
        );
    }
    Ok(())
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
