//! What samplers on minibatches get wrong: their bias, by step size, batch and control variates.
//!
//!     cargo run --release -p bnn-mcmc-studies -- sgmcmc_bias
//!
//! Two posteriors, each with a long run of NUTS for comparison: logistic regression on the ionosphere data
//! (35 weights, 246 training rows), where there is one mode, and a 4-3-3 network on iris (27 weights, 105
//! rows), where there are many and only predictions can be compared. The samplers have no test and no
//! acceptance probability; what they get wrong does not shrink with the length of the run, but with the
//! step size h and the noise of the gradient.
//!
//! All runs of a table visit the same number of rows: a step with control variates costs two
//! minibatches, and gets half as many steps. Columns: root mean squared error of the posterior means
//! in posterior standard deviations; mean relative error of the posterior variances (0 is right, 1 is
//! twice too large); root mean squared and largest error of the predicted probabilities of the test
//! rows. The last lines of a table are MALA's, without bias, for as many rows: its error is that of a
//! finite run, which the others have too.

use bnn_mcmc::data::{Standardise, bundled};
use bnn_mcmc::likelihood::Likelihood;
use bnn_mcmc::optimise::Adam;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use ndarray::Array2;

use crate::shared::AnyError;

#[derive(clap::Args)]
pub struct Args {
    /// Few steps, for a quick check
    #[arg(long)]
    quick: bool,
    /// Seed of all random streams
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Visits of the whole training data by each of 4 chains, of which a fifth is warm-up
    #[arg(long, default_value_t = 8_000)]
    epochs: usize,
    /// File to write the tables to, as CSV
    #[arg(long)]
    out: Option<std::path::PathBuf>,
}

pub fn run(args: Args) -> Result<(), AnyError> {
    let mut csv = args.out.as_ref().map(csv::Writer::from_path).transpose()?;
    if let Some(csv) = &mut csv {
        csv.write_record([
            "posterior",
            "sampler",
            "batch",
            "step_size",
            "means",
            "variances",
            "probabilities",
            "largest",
        ])?;
    }
    let split = |data: Dataset| -> Result<(Dataset, Dataset), Error> {
        let (train, test) = data.stratified_split(0.3, 1)?;
        let scaler = Standardise::new().allow_constant().fit_features(&train)?;
        Ok((scaler.scale_features(&train)?, scaler.scale_features(&test)?))
    };
    let priors = || Ok::<_, Error>(Priors::all(Normal::new(0.0, 1.0)?));

    let (train, test) = split(bundled::ionosphere())?;
    let logistic = Linear::new(train.n_features(), 1)?;
    let posterior = Posterior::new(logistic, Bernoulli, &train, priors()?)?;
    println!("logistic regression, {} weights, {} rows", posterior.dim(), train.rows());
    let h = [3.2e-2, 1.6e-2, 8e-3, 4e-3];
    table("logistic", &posterior, &test, &h, true, &args, &mut csv)?;

    let (train, test) = split(bundled::iris())?;
    let network = Mlp::new(&[4, 3, 3], Activation::Tanh)?;
    let posterior = Posterior::new(network, Categorical, &train, priors()?)?;
    println!("\nMLP 4-3-3, {} weights, {} rows", posterior.dim(), train.rows());
    table("network", &posterior, &test, &h, false, &args, &mut csv)?;
    if let Some(csv) = &mut csv {
        csv.flush()?;
    }
    Ok(())
}

/// What a run says of a posterior.
struct Found {
    mean: Vec<f64>,
    variance: Vec<f64>,
    probabilities: Array2<f64>,
}

impl Found {
    fn of<M: Model, L: Likelihood>(
        posterior: &Posterior<M, L>,
        draws: &Draws,
        test: &Dataset,
    ) -> Result<Self, Error> {
        Ok(Self {
            mean: draws.mean(),
            variance: draws.covariance().diag().to_vec(),
            probabilities: posterior.predict(draws, test)?.posterior_mean()?,
        })
    }

    /// Errors of means, variances and probabilities (root mean square, largest).
    fn errors(&self, exact: &Self) -> [f64; 4] {
        let d = self.mean.len() as f64;
        let moments =
            || self.mean.iter().zip(&self.variance).zip(exact.mean.iter().zip(&exact.variance));
        let means: f64 = moments().map(|((m, _), (exact, v))| (m - exact).powi(2) / v).sum();
        let variances: f64 = moments().map(|((_, v), (_, exact))| v / exact - 1.0).sum();
        let differences = (&self.probabilities - &exact.probabilities).mapv(f64::abs);
        let squares = differences.mapv(|e| e * e).sum() / differences.len() as f64;
        let largest = differences.fold(0.0, |a: f64, b| a.max(*b));
        [(means / d).sqrt(), variances / d, squares.sqrt(), largest]
    }
}

/// All samplers on one posterior. `one_mode`: whether moments of the weights and control variates
/// around one mode make sense.
fn table<M: Model, L: Likelihood>(
    name: &str,
    posterior: &Posterior<M, L>,
    test: &Dataset,
    step_sizes: &[f64],
    one_mode: bool,
    args: &Args,
    csv: &mut Option<csv::Writer<std::fs::File>>,
) -> Result<(), AnyError> {
    let draws = if args.quick { 500 } else { 20_000 };
    let exact = Sampler::new(posterior, Nuts::default()).draws(draws).seed(args.seed + 1).run()?;
    let verdict = posterior.predict(&exact.thinned(draws / 500)?, test)?.verdict()?;
    println!("NUTS, 4 x {draws} draws: {verdict}");
    let exact = Found::of(posterior, &exact, test)?;
    let mut mode = exact.mean.clone();
    Adam::default().maximise(posterior, &mut mode)?;

    println!(
        "{:<30} {:>5} {:>8} {:>8} {:>10} {:>9} {:>9}",
        "", "batch", "h", "means", "variances", "probs", "largest"
    );
    let n = posterior.n_obs();
    let epochs = if args.quick { 400 } else { args.epochs };
    let mut report = |label: &str, batch: usize, h: f64, draws: &Draws| -> Result<(), AnyError> {
        let [means, variances, probabilities, largest] =
            Found::of(posterior, draws, test)?.errors(&exact);
        let moments = if one_mode {
            format!("{means:>8.3} {variances:>+10.3}")
        } else {
            format!("{:>8} {:>10}", "", "")
        };
        let step = if h > 0.0 { format!("{h:.1e}") } else { String::new() };
        println!("{label:<30} {batch:>5} {step:>8} {moments} {probabilities:>9.4} {largest:>9.4}");
        if let Some(csv) = csv {
            csv.serialize((name, label, batch, h, means, variances, probabilities, largest))?;
        }
        Ok(())
    };
    let friction = 10.0;
    for batch in [n / 30, n / 8] {
        let plain = Minibatch { size: batch };
        let variates = ControlVariates { size: batch, mode: mode.clone() };
        let steps = epochs * n / batch;
        for h in step_sizes {
            let sgld = Sgld { step_size: *h, ..Sgld::new(plain.clone()) };
            report("SGLD", batch, *h, &sample(posterior, sgld, steps, args)?)?;
            if one_mode {
                let sgld = Sgld { step_size: *h, ..Sgld::new(variates.clone()) };
                let draws = sample(posterior, sgld, steps / 2, args)?;
                report("SGLD, control variates", batch, *h, &draws)?;
            }
        }
        // With momentum the time step that gives the same resolution is about the root.
        for h in step_sizes.iter().map(|h| h.sqrt()) {
            let sghmc = Sghmc { step_size: h, friction, ..Sghmc::new(plain.clone()) };
            report("SGHMC", batch, h, &sample(posterior, sghmc, steps, args)?)?;
            let baoab = Baoab { step_size: h, friction, ..Baoab::new(plain.clone()) };
            report("BAOAB", batch, h, &sample(posterior, baoab, steps, args)?)?;
            if one_mode {
                let baoab = Baoab { step_size: h, friction, ..Baoab::new(variates.clone()) };
                let draws = sample(posterior, baoab, steps / 2, args)?;
                report("BAOAB, control variates", batch, h, &draws)?;
            }
        }
    }
    let mala = sample(posterior, Mala::default(), epochs, args)?;
    report("MALA, all rows, exact", n, 0.0, &mala)
}

/// Four chains of `steps` steps, a fifth of them warm-up, at most 4,000 draws of each kept. The number of steps
/// between two draws is prime, so that they fall on all places in an epoch alike.
fn sample<M: Model, L: Likelihood, A>(
    posterior: &Posterior<M, L>,
    algorithm: A,
    steps: usize,
    args: &Args,
) -> Result<Draws, Error>
where
    A: for<'t> Algorithm<&'t Posterior<M, L>>,
{
    let sampling = steps - steps / 5;
    let is_prime = |n: &usize| (2..*n).all(|k| !n.is_multiple_of(k));
    let thin = match sampling / 4_000 {
        0 | 1 => 1,
        wanted => (wanted..).find(is_prime).unwrap_or(wanted),
    };
    let sampler = Sampler::new(posterior, algorithm).seed(args.seed).warmup(steps / 5);
    sampler.draws(sampling / thin).thin(thin).run()
}
