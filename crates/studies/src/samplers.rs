//! What an effective draw costs: four problems by four samplers, as the table of the guide
//! (`src/guide/which_sampler.md`) has it.
//!
//!     cargo run --release -p bnn-mcmc-studies -- samplers
//!
//! Data, priors, settings and lengths of run are those of the studies `iris`, `ionosphere` and
//! `sunspot`. The output is the guide's table in Markdown. A cell has the smallest bulk effective
//! sample size of the predictions of the test rows, first over the seconds of the whole run, warm-up
//! included, then per 1,000 gradients, of which `Rwm` takes none. Of a run that the verdict does not
//! call converged it has the largest R-hat of predictions, log likelihood and log prior if that is the
//! reason and at most 1.1, and otherwise "did not converge". Seconds are right on a quiet machine only.

use bnn_mcmc::data::bundled;
use bnn_mcmc::prelude::*;

use crate::shared::{AnyError, Kin, Kind, Options, Run, classification, regression};

#[derive(clap::Args)]
pub struct Args {
    /// Seed of the splits and of all random streams
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Short runs, to see that everything works
    #[arg(long)]
    quick: bool,
}

const SAMPLERS: [Kind; 4] = [Kind::Rwm, Kind::Mala, Kind::Hmc, Kind::Nuts];

/// In words, with the model.
const PROBLEMS: [(Problem, Kin, &str); 4] = [
    (Problem::Iris, Kin::Mlp, "iris, MLP 4-10-3"),
    (Problem::Ionosphere, Kin::Linear, "ionosphere, linear"),
    (Problem::Ionosphere, Kin::Mlp, "ionosphere, MLP 34-10-1"),
    (Problem::Sunspot, Kin::Mlp, "sunspot, MLP 4-10-1, sampled noise"),
];

#[derive(Clone, Copy)]
enum Problem {
    Iris,
    Ionosphere,
    Sunspot,
}

impl Problem {
    fn run(self, kin: Kin, options: &Options) -> Result<Run, AnyError> {
        let classes = match self {
            Self::Iris => bundled::iris(),
            Self::Ionosphere => bundled::ionosphere(),
            Self::Sunspot => {
                let setup = regression::setup(bundled::sunspot_windows(), options)?;
                let plan = regression::plan(kin, &setup, options)?;
                return regression::run(&plan, &setup, options);
            }
        };
        let data = classes.stratified_split(0.3, options.seed)?;
        let setup = classification::setup(data, options)?;
        classification::run(&classification::plan(kin, &setup, options)?, &setup, options)
    }
}

pub fn run(args: Args) -> Result<(), AnyError> {
    println!("| | {} |", SAMPLERS.map(|sampler| format!("`{sampler:?}`")).join(" | "));
    println!("| --- | --- | --- | --- | --- |");
    for (problem, kin, words) in PROBLEMS {
        let (mut cells, mut parameters) = (Vec::new(), 0);
        for sampler in SAMPLERS {
            let Args { seed, quick } = args;
            let (sampler, chains) = (Some(sampler), quick.then_some(2));
            let options = Options { sampler, chains, seed, quick, ..Options::default() };
            let run = problem.run(kin, &options)?;
            parameters = run.report.parameters;
            cells.push(cell(&run)?);
        }
        println!("| {words}, {parameters} parameters | {} |", cells.join(" | "));
    }
    Ok(())
}

fn cell(run: &Run) -> Result<String, Error> {
    let (report, verdict) = (&run.report, run.predictions.verdict()?);
    if !verdict.is_converged() {
        let rhat = verdict.max_rhat();
        return Ok(match rhat > verdict.rhat_limit && rhat <= 1.1 {
            // Rounded up: what is above the limit looks so.
            true => format!("R-hat {:.3}", (1e3 * rhat).ceil() / 1e3),
            false => "did not converge".into(),
        });
    }
    let ess = report.function_space.ess_bulk;
    let per_second = ess / (report.seconds_warmup + report.seconds_sampling);
    let per_second = match (per_second / 1e3).floor() {
        0.0 => format!("{per_second:.0} /s"),
        thousands => format!("{thousands},{:03.0} /s", per_second - 1e3 * thousands),
    };
    if report.gradient_evals == 0 {
        return Ok(per_second);
    }
    let per_gradients = 1e3 * ess / report.gradient_evals as f64;
    let digits = if per_gradients < 1.0 { 2 } else { 1 };
    Ok(format!("{per_second}; {per_gradients:.digits$}"))
}
