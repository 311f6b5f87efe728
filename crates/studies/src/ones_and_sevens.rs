//! What a network does not know: ones and sevens, by Langevin dynamics.
//!
//!     cargo run --release -p bnn-mcmc-studies -- ones_and_sevens
//!     cargo run --release -p bnn-mcmc-studies -- ones_and_sevens --mnist DIR
//!
//! The study of the dissertation *Bayesian uncertainty reduction analysis by Langevin dynamics sampling*
//! (University of Edinburgh): a ReLU network with two hidden layers learns to tell 1 from 7 by SGD; from
//! there BAOAB, Euler-Maruyama and Leimkuhler-Matthews sample, and predictions are averages over what
//! they visit ('proper') or those of the average network ('lazy'). Without `--mnist` on 8x8 digits
//! (64-100-100-2); with it on the IDX files in DIR (784-1200-1200-2 in f32, on minibatches): the test files
//! are split in two unless the training files are there, too. A network with a quarter more units in each
//! hidden layer stands beside it as the dissertation's bigger network F.
//!
//! Printed, with the numbers of the dissertation's tables:
//!
//! - for each sampler the step size, seconds, gradients (of all chains; that of a minibatch counts as one), the
//!   mean loss (minus the log likelihood of all training images) and its R-hat;
//! - how many test images have |p1 - p7| below a threshold (table 7), and what these counts hide: accuracy, log
//!   predictive density and calibration error on the test images, and how well uncertainty tells other digits (0, 2,
//!   3, ...) from ones and sevens (AUROC of the predictive entropy; its standard error is about 0.01);
//! - the images that the SGD point is least sure of (tables 2 to 4 and 6), with the measures of
//!   `predict::Uncertainty`;
//! - probabilities along the chains for two of them (table 8).
//!
//! Three densities are sampled from the SGD point:
//!
//! - **cooled**: the dissertation's, pi^B with B = 10^5 under its weight decay of 1/20, a prior N(0, 20). It
//!   is a small neighbourhood of the mode: what is averaged there are near-copies of one network. In the
//!   dissertation's number of steps the chains do not even settle there: they still descend from the SGD point
//!   (R-hat of the loss far above 1), and turn what they lose in height into motion (`kinetic T` above 1).
//! - **posterior**: the same at B = 1. Weights of this prior make logits of thousands; no step size is short
//!   enough where the likelihood turns and long enough to get anywhere. `q^2/prior`, the mean of q^2 in units
//!   of the prior's variance, would be close to 1 (there are far more weights than images), and the run ends
//!   long before. It is no sample of the posterior, and is printed to say so.
//! - **scaled**: B = 1 under N(0, 2/fan-in), the scale at which such networks are started. It is sampled with
//!   ease: `R-hat` and `q^2/prior` are near 1. Whether its predictions are better is for the table to say.
//!
//! None of the samplers has a Metropolis test. Their bias is in no column; `kinetic T`, which should be 1,
//! shows how far gradient noise, too long steps or a descent that goes on heat BAOAB. The others step by
//! h^2/2, BAOAB's step in the limit of high friction; in the dissertation's setting they have its h, 0.001, and a
//! tenth of that on MNIST, where with minibatches of a few hundred images they explode at 0.001. All chains start
//! at one point, that of SGD: R-hat near 1 is no proof that they would agree from elsewhere.

use std::path::{Path, PathBuf};
use std::time::Instant;

use bnn_mcmc::data::{IdxReader, bundled};
use bnn_mcmc::diagnostics::rhat;
use bnn_mcmc::model::WeightInit;
use bnn_mcmc::predict::{ChainProbabilities, Measure, THRESHOLDS, Uncertainty};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use ndarray::Array2;

use crate::shared::AnyError;

const CLASSES: [&str; 2] = ["1", "7"];
const OTHERS: [&str; 8] = ["0", "2", "3", "4", "5", "6", "8", "9"];
/// Images of other digits that are looked at.
const MOST_OTHERS: usize = 1000;
/// Images in the first table.
const SHOWN: usize = 8;

#[derive(clap::Args)]
pub struct Args {
    /// Folder with MNIST's IDX files, plain or gzip; 8x8 digits if not given
    #[arg(long)]
    mnist: Option<PathBuf>,
    /// Few steps and a small network, for a quick check
    #[arg(long)]
    quick: bool,
    /// Seed of all random streams
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Chains of each sampler, all from the SGD point
    #[arg(long, default_value_t = 2)]
    chains: usize,
    /// Steps of warm-up
    #[arg(long, default_value_t = 800)]
    warmup: usize,
    /// Draws of each chain
    #[arg(long, default_value_t = 500)]
    draws: usize,
    /// Steps per draw
    #[arg(long, default_value_t = 2)]
    thin: usize,
    /// Rows of a minibatch; default: all for the 8x8 digits, 256 for MNIST
    #[arg(long)]
    batch: Option<usize>,
    /// Only one of cooled, posterior and scaled
    #[arg(long)]
    only: Option<String>,
    /// Steps of SGD
    #[arg(long, default_value_t = 1000)]
    sgd_steps: usize,
    /// Folder to write the uncertainty of every test image to, a CSV file per row of the table, and
    /// losses.csv, along.csv and images.csv: losses and probabilities along the chains, and images
    #[arg(long)]
    out: Option<PathBuf>,
}

pub fn run(mut args: Args) -> Result<(), AnyError> {
    if args.quick {
        (args.warmup, args.draws, args.thin, args.sgd_steps) = (20, 30, 1, 200);
    }
    let images = match &args.mnist {
        None => Images::digits(args.seed)?,
        Some(folder) => Images::mnist(folder, args.seed)?,
    };
    let (inputs, n) = (images.train.n_features(), images.train.rows());
    println!(
        "{n} training images, {} test images, {} images of other digits",
        images.test.rows(),
        images.others.rows()
    );
    let batch = args.batch.unwrap_or(if args.mnist.is_some() { 256.min(n) } else { n });
    let units = match (&args.mnist, args.quick) {
        (_, true) => 20,
        (None, false) => 100,
        (Some(_), false) => 1200,
    };
    let mlp = |units: usize| Mlp::new(&[inputs, units, units, 2], Activation::Relu);
    let [network, bigger] = [mlp(units)?, mlp(units + units / 4)?];
    match args.mnist {
        None => study([network, bigger], &images, batch, &args)?,
        Some(_) => study([network.in_f32(), bigger.in_f32()], &images, batch, &args)?,
    }
    if let Some(peak) = peak_memory() {
        println!("\npeak resident memory: {:.0} MB", peak / 1e6);
    }
    Ok(())
}

struct Images {
    train: Dataset,
    test: Dataset,
    others: Dataset,
}

impl Images {
    fn digits(seed: u64) -> Result<Self, AnyError> {
        let digits = bundled::digits();
        let pixels = digits.x() / 16.0;
        let digits = digits.with_x(pixels)?;
        let (train, test) = digits.select_classes(CLASSES)?.stratified_split(0.5, seed)?;
        let (others, _) = digits.select_classes(OTHERS)?.split_at(MOST_OTHERS)?;
        Ok(Self { train, test, others })
    }

    fn mnist(folder: &Path, seed: u64) -> Result<Self, AnyError> {
        let file = |name: &str| {
            let plain = folder.join(name);
            if plain.exists() { plain } else { folder.join(format!("{name}.gz")) }
        };
        let read = |part: &str, classes: &[&str]| {
            let [images, labels] = ["images-idx3-ubyte", "labels-idx1-ubyte"]
                .map(|kind| file(&format!("{part}-{kind}")));
            IdxReader::new().classes(classes.iter().copied()).read_path(images, labels)
        };
        let test = read("t10k", &CLASSES)?;
        let (others, _) = read("t10k", &OTHERS)?.split_at(MOST_OTHERS)?;
        let (train, test) = match file("train-images-idx3-ubyte").exists() {
            true => (read("train", &CLASSES)?, test),
            false => test.stratified_split(0.5, seed)?,
        };
        Ok(Self { train, test, others })
    }
}

/// What a network or an average of networks says.
struct Row {
    name: String,
    test: Uncertainty,
    others: Uncertainty,
}

fn study<M: Model + Clone>(
    [network, bigger]: [M; 2],
    images: &Images,
    batch: usize,
    args: &Args,
) -> Result<(), AnyError> {
    let Images { train, test, .. } = images;
    let decayed = || Normal::new(0.0, 20f64.sqrt()).map(Priors::all);
    let mut scaled = Priors::new();
    let (mut fan_ins, layout) = (Vec::new(), network.layout());
    for block in layout.blocks() {
        // A bias has the scale of the weights beside it.
        fan_ins.extend(block.shape.get(1).map(|fan_in| *fan_in as f64));
        let fan_in = fan_ins[fan_ins.len() - 1];
        scaled = scaled.with(&block.name, Normal::new(0.0, (2.0 / fan_in).sqrt())?);
    }
    let scaled = Posterior::new(network.clone(), Categorical, train, scaled)?;
    let decayed_posterior = Posterior::new(network, Categorical, train, decayed()?)?;
    let (q, row) = train_by_sgd(&decayed_posterior, "SGD", images, args)?;
    let bigger = Posterior::new(bigger, Categorical, train, decayed()?)?;
    let (_, bigger) = train_by_sgd(&bigger, "SGD, bigger network", images, args)?;
    let mut rows = vec![row, bigger];

    let worst = rows[0].test.ranking(Measure::PredictiveEntropy);
    let worst = &worst[..SHOWN.min(worst.len())];
    println!(
        "\n{:31} {:>8} {:>7} {:>9} {:>10} {:>11} {:>11} {:>8}",
        "", "h", "seconds", "gradients", "loss", "R-hat of it", "kinetic T", "q^2/prior"
    );
    // A tenth of the time in which the widest layer's prior pulls back; the likelihood is steeper.
    let short = 0.1 * (2.0 / fan_ins.iter().fold(0.0, |a: f64, b| a.max(*b))).sqrt();
    let settings = [
        ("cooled", &decayed_posterior, 1e5, [1e-3, if args.mnist.is_some() { 1e-4 } else { 1e-3 }]),
        ("posterior", &decayed_posterior, 1.0, [1e-3, 0.5e-6]),
        ("scaled", &scaled, 1.0, [short, 0.5 * short * short]),
    ];
    let mut paths = Vec::new();
    let mut losses = Vec::new();
    if let Some(only) = args.only.as_ref().filter(|only| settings.iter().all(|s| s.0 != **only)) {
        return Err(format!("--only is `{only}`, not cooled, posterior or scaled").into());
    }
    for (name, posterior, inverse_temperature, [step_size, overdamped]) in settings {
        if args.only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let start = Start { name, posterior, q: &q, images, args, along: &worst[..2] };
        let gradient = || Minibatch { size: batch };
        let baoab = Baoab { step_size, inverse_temperature, ..Baoab::new(gradient()) };
        // Euler-Maruyama on minibatches is SGLD.
        let euler = Sgld { step_size: overdamped, inverse_temperature, ..Sgld::new(gradient()) };
        let kept = LeimkuhlerMatthews {
            step_size: overdamped,
            inverse_temperature,
            ..LeimkuhlerMatthews::new(gradient())
        };
        let found = [
            start.sample(baoab, "BAOAB")?,
            start.sample(euler, "Euler-Maruyama")?,
            start.sample(kept, "Leimkuhler-Matthews")?,
        ];
        for Found { rows: both, path, loss } in found {
            if paths.len() < 2 {
                paths.push((both[1].name.clone(), path));
            }
            losses.push((both[1].name.clone(), loss));
            rows.extend(both);
        }
    }
    counts(&rows, test)?;
    worst_images(&rows, worst, test)?;
    println!("\nAlong the chains, the two images that SGD is least sure of (table 8)");
    for (name, path) in &paths {
        println!("\n{name}\n{path}");
    }
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder)?;
        for row in &rows {
            let name: String = row.name.chars().filter(|c| !matches!(c, ',' | '=' | ' ')).collect();
            row.test.to_csv(folder.join(format!("{name}.csv")))?;
        }
        write(folder, &losses, &paths)?;
        let mut csv = csv::Writer::from_path(folder.join("images.csv"))?;
        let pixels = (0..test.n_features()).map(|k| format!("pixel_{k}"));
        csv.write_record(["image", "label"].map(String::from).into_iter().chain(pixels))?;
        for image in worst {
            let start = [image.to_string(), CLASSES[test.classes()?[*image]].to_string()];
            let pixels = test.x().row(*image).to_vec();
            csv.write_record(start.into_iter().chain(pixels.iter().map(f64::to_string)))?;
        }
        csv.flush()?;
    }
    Ok(())
}

/// Writes what is known along the chains.
fn write(
    folder: &Path,
    losses: &[(String, Array2<f64>)],
    paths: &[(String, ChainProbabilities)],
) -> Result<(), AnyError> {
    let mut csv = csv::Writer::from_path(folder.join("losses.csv"))?;
    csv.write_record(["sampler", "chain", "draw", "loss"])?;
    for (name, losses) in losses {
        for ((chain, draw), loss) in losses.indexed_iter() {
            csv.serialize((name, chain, draw, loss))?;
        }
    }
    csv.flush()?;
    let mut csv = csv::Writer::from_path(folder.join("along.csv"))?;
    csv.write_record(["sampler", "chain", "draw", "image", "p_7"])?;
    for (name, path) in paths {
        for ((chain, draw, k, class), p) in path.values().indexed_iter() {
            if class == 1 {
                csv.serialize((name, chain, draw, path.inputs()[k], p))?;
            }
        }
    }
    csv.flush()?;
    Ok(())
}

/// The dissertation's tables 1 and 5.
fn train_by_sgd<M: Model>(
    posterior: &Posterior<M, Categorical>,
    name: &str,
    images: &Images,
    args: &Args,
) -> Result<(Vec<f64>, Row), AnyError> {
    let Images { train, test, others } = images;
    let began = Instant::now();
    let mut q = vec![0.0; posterior.dim()];
    WeightInit::HeNormal.draw(posterior.layout(), &mut ChainRng::new(args.seed, 0), &mut q)?;
    let sgd = Sgd {
        // That of a mean over the rows is 0.02.
        learning_rate: 0.02 / train.rows() as f64,
        momentum: 0.9,
        steps: args.sgd_steps,
        ..Sgd::new(Minibatch { size: 64.min(train.rows()) })
    };
    let fit = Optimiser::new(posterior, sgd).seed(args.seed).run(&q)?;
    let seconds = began.elapsed().as_secs_f64();
    let uncertainty = |data: &Dataset| posterior.uncertainty_at(&fit.q, data.x().view());
    let (of_train, of_test) = (uncertainty(train)?, uncertainty(test)?);
    let correct = |u: &Uncertainty, data: &Dataset| -> Result<_, Error> {
        let rows = data.rows();
        Ok(format!("{:.0} of {rows}", score(u, data, "accuracy")? * rows as f64))
    };
    println!(
        "\n{name}, {} weights: correct in training {}, in test {}; loss {:.2} and {:.2} ({seconds:.1} s)",
        posterior.dim(),
        correct(&of_train, train)?,
        correct(&of_test, test)?,
        -score(&of_train, train, "log_predictive_density")? * train.rows() as f64,
        -score(&of_test, test, "log_predictive_density")? * test.rows() as f64,
    );
    let row = Row { name: name.into(), others: uncertainty(others)?, test: of_test };
    Ok((fit.q, row))
}

fn score(uncertainty: &Uncertainty, data: &Dataset, name: &str) -> Result<f64, Error> {
    Ok(uncertainty.scores(data.classes()?)?.get(name).map_or(f64::NAN, |s| s.posterior))
}

/// What a sampler found.
struct Found {
    /// Lazy and proper predictions.
    rows: [Row; 2],
    /// Probabilities along the chains.
    path: ChainProbabilities,
    /// The loss of all training images, `[chain, draw]`.
    loss: Array2<f64>,
}

/// Where samplers start, and what is looked at.
struct Start<'p, M> {
    name: &'p str,
    posterior: &'p Posterior<M, Categorical>,
    q: &'p [f64],
    images: &'p Images,
    along: &'p [usize],
    args: &'p Args,
}

impl<'p, M: Model> Start<'p, M> {
    /// Lazy and proper predictions of a sampler, and probabilities along its chains. No draw is kept:
    /// predictions and the mean of q are streamed.
    fn sample<A: Algorithm<&'p Posterior<M, Categorical>>>(
        &self,
        algorithm: A,
        sampler: &str,
    ) -> Result<Found, AnyError> {
        let Self { posterior, q, images, along, args, .. } = *self;
        let x = [&images.test, &images.others].map(|data| data.x().view());
        let test = StreamedUncertainty::new(posterior, x[0])?.along(along)?;
        let others = StreamedUncertainty::new(posterior, x[1])?;
        let (draws, records) = Sampler::new(posterior, algorithm)
            .chains(args.chains)
            .warmup(args.warmup)
            .draws(args.draws)
            .thin(args.thin)
            .seed(args.seed)
            .init(Init::Points(vec![q.to_vec(); args.chains]))
            .keep(Keep::Statistics)
            .run_with(&(Moments, (&test, &others)))?;
        let (mut moments, mut of_test, mut of_others) = (Vec::new(), Vec::new(), Vec::new());
        for (mean, (test, others)) in records {
            moments.push(mean);
            of_test.push(test);
            of_others.push(others);
        }
        let mean_of = |stat: &str| draws.stat(stat).ok().and_then(|stat| stat.mean());
        let kinetic = mean_of("kinetic_temperature");
        // -2 log p(q) is the sum of q^2 in units of the variance, but for a constant.
        let zeros = vec![0.0; posterior.dim()];
        let at_zero = posterior.log_density(&zeros, &mut posterior.workspace()).prior;
        let squares =
            mean_of("log_prior").map(|prior| 2.0 * (at_zero - prior) / zeros.len() as f64);
        let gradients = draws.stat("gradient_evals")?.sum()
            + draws.info().warmup_gradient_evals.iter().sum::<u64>() as f64;
        println!(
            "{:31} {:8.1e} {:7.1} {gradients:9} {:>10} {:11.3} {:>11} {:>9}",
            format!("{sampler}, {}", self.name),
            mean_of("step_size").unwrap_or(f64::NAN),
            draws.info().warmup_seconds + draws.info().sampling_seconds,
            number(-mean_of("log_likelihood").unwrap_or(f64::NAN)),
            rhat(draws.stat("log_likelihood")?),
            kinetic.map_or(String::new(), number),
            number(squares.unwrap_or(f64::NAN)),
        );
        if draws.divergences() > 0 {
            println!("  {} of its steps were not finite and not made", draws.divergences());
        }
        let mean = RunningMoments::merged(&moments)?;
        let lazy = |x| posterior.uncertainty_at(mean.mean(), x);
        let name = |how: &str| format!("{sampler}, {}, {how}", self.name);
        let lazy = Row { name: name("lazy"), test: lazy(x[0])?, others: lazy(x[1])? };
        let proper = Row {
            name: name("proper"),
            test: test.uncertainty(&of_test)?,
            others: others.uncertainty(&of_others)?,
        };
        let loss = draws.stat("log_likelihood")?.mapv(|log_likelihood| -log_likelihood);
        Ok(Found { rows: [lazy, proper], path: test.along_chains(&of_test)?, loss })
    }
}

fn number(x: f64) -> String {
    if x.abs() < 1e5 { format!("{x:.4}") } else { format!("{x:.1e}") }
}

/// The dissertation's tables 2 to 4 and 6: a column for each image.
fn worst_images(rows: &[Row], worst: &[usize], test: &Dataset) -> Result<(), AnyError> {
    println!("\nThe test images that SGD is least sure of (tables 2 to 4 and 6): P(7)");
    let line = |name: &str, cells: Vec<String>| {
        let cells: Vec<_> = cells.iter().map(|cell| format!(" {cell:>7}")).collect();
        println!("{name:39}{}", cells.concat());
    };
    line("image", worst.iter().map(ToString::to_string).collect());
    let classes = test.classes()?;
    line("label", worst.iter().map(|i| CLASSES[classes[*i]].to_string()).collect());
    for row in rows {
        let mean = row.test.mean();
        line(&row.name, worst.iter().map(|i| format!("{:.4}", mean[(*i, 1)])).collect());
    }
    println!("\nTheir variation ratio V, predictive entropy H and mutual information I, in nats");
    for row in rows.iter().filter(|row| !row.name.ends_with("lazy")) {
        let measures = [
            ("V", Measure::VariationRatio),
            ("H", Measure::PredictiveEntropy),
            ("I", Measure::MutualInformation),
        ];
        for (symbol, measure) in measures {
            let values = row.test.measure(measure);
            let cells = worst.iter().map(|i| format!("{:.4}", values[*i])).collect();
            line(&format!("{} {symbol}", row.name), cells);
        }
    }
    Ok(())
}

/// The dissertation's table 7, and what it hides.
fn counts(rows: &[Row], test: &Dataset) -> Result<(), AnyError> {
    println!("\nTest images with |p1 - p7| below (table 7), and what the counts hide");
    let thresholds = THRESHOLDS.map(|t| format!(" {t:>5.1}")).concat();
    let scores = ["accuracy", "log_predictive_density", "ece"];
    println!("{:39}{thresholds} {:>9} {:>8} {:>7} {:>7}", "", "accuracy", "log p", "ECE", "AUROC");
    for row in rows {
        let counts = row.test.counts_below(CLASSES, &THRESHOLDS)?;
        let counts: String = counts.iter().map(|count| format!(" {count:>5}")).collect();
        let [accuracy, log_density, ece] = scores.map(|name| score(&row.test, test, name));
        let area = row.test.separation(&row.others)?.get(Measure::PredictiveEntropy);
        println!(
            "{:39}{counts} {:9.4} {:8.4} {:7.4} {area:7.3}",
            row.name, accuracy?, log_density?, ece?
        );
    }
    Ok(())
}

/// The most memory that this process has held so far, in bytes, where the system tells.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(1024.0 * kilobytes)
}
