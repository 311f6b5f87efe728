//! What the studies with classes have in common.

use bnn_mcmc::data::Standardise;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::LangevinGradient;
use bnn_mcmc::targets::{DescentRule, Objective};

use crate::shared::{self, AnyError, Kin, Line, Options, Plan, Run, Setup, Task};

impl Task for Bernoulli {}
impl Task for Categorical {}

pub const LINES: [Line; 3] = [
    Line::new("accuracy, posterior mean, %", "accuracy", 100.0, 1),
    Line::new("accuracy, single draws, %", "accuracy", 100.0, 1).single_draws(),
    Line::new("log predictive density", "log_predictive_density", 1.0, 3),
];

/// Features scaled by the training rows alone. The tutorial's settings want its files as they are,
/// and do not scale features that are within [-1, 1].
pub fn setup((train, test): (Dataset, Dataset), options: &Options) -> Result<Setup, Error> {
    let is_small = || train.x().iter().all(|x| x.abs() <= 1.0);
    if options.paper && (options.train.is_some() || is_small()) {
        return Ok(Setup {
            train,
            test,
            scaling: "features taken as they are".into(),
            units: None,
        });
    }
    let scaler = Standardise::new().allow_constant().fit_features(&train)?;
    Ok(Setup {
        train: scaler.scale_features(&train)?,
        test: scaler.scale_features(&test)?,
        scaling: "features standardised by the training rows".into(),
        units: None,
    })
}

/// N(0, 1) priors on all weights, unless the tutorial's settings are asked for.
pub fn plan(kin: Kin, setup: &Setup, options: &Options) -> Result<Plan, Error> {
    if options.paper {
        // The squared error, which the tutorial descends, is not defined for classes here.
        return Plan::paper(kin, Objective::LogPosterior);
    }
    let dense = kin == Kin::Linear && is_binary(setup);
    let preconditioner = if dense { Preconditioner::Dense } else { Preconditioner::Diagonal };
    let langevin = LangevinGradient::default();
    // The curvature of the log likelihood grows with the number of rows.
    let learning_rate = 1.0 / setup.train.rows() as f64;
    Ok(Plan {
        kin,
        priors: Priors::all(Normal::new(0.0, 1.0)?),
        prior: "N(0, 1) on every weight".into(),
        mala: Mala { preconditioner, ..Mala::default() },
        nuts: Nuts::default(),
        langevin: LangevinGradient {
            descent: DescentRule { learning_rate, ..langevin.descent },
            ..langevin
        },
        start_sd: None,
    })
}

/// Samples the model of `plan`: with one logit for two classes, else with one for each class, as the
/// tutorial has for any number.
pub fn run(plan: &Plan, setup: &Setup, options: &Options) -> Result<Run, AnyError> {
    if is_binary(setup) && !options.paper {
        return shared::fit(Bernoulli, 1, plan, setup, options);
    }
    shared::fit(Categorical, setup.train.response().width(), plan, setup, options)
}

fn is_binary(setup: &Setup) -> bool {
    setup.train.response().width() == 2
}

/// Samples both models, after it has said what is to be done.
pub fn run_both(setup: &Setup, options: &Options) -> Result<[Run; 2], AnyError> {
    let plans = [plan(Kin::Linear, setup, options)?, plan(Kin::Mlp, setup, options)?];
    shared::print_setup(setup, &plans, options);
    if options.paper {
        let classes = setup.train.response().width() as f64;
        println!(
            "mlp: softmax of sigmoid outputs, as in the tutorial: no probability is above {:.3}",
            1.0 / (1.0 + (classes - 1.0) * (-1f64).exp())
        );
    }
    Ok([run(&plans[0], setup, options)?, run(&plans[1], setup, options)?])
}
