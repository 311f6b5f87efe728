//! From a CSV file to predictions of new rows: a network fitted, saved, loaded and asked.
//!
//!     cargo run --release --example table
//!     cargo run --release --example table -- --data train.csv --response strength --new new.csv
//!
//! Without arguments it fits the quality of red wines, a fifth of whose rows are kept for validation.
//! With `--folder` the run is kept: Ctrl-C, and what batch systems send, ends it after the draw that each
//! chain is in, with the results of what it has, and the exit code of the signal; the same command goes on
//! from there, and loads the fit once it is finished. A library installs no signal handlers: this program does, and hands
//! the library a `StopHandle`. The command `bnn-mcmc fit` (`crates/cli`) has flags for every setting of a fit.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bnn_mcmc::fit::Fit;
use bnn_mcmc::sampler::StopHandle;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// What is asked for on the command line.
struct Args {
    data: PathBuf,
    response: String,
    validation: f64,
    new: Option<PathBuf>,
    out: PathBuf,
    folder: Option<PathBuf>,
    is_quick: bool,
}

const HELP: &str = "\
--data FILE         the training file, with a header [default: data/wine_red.csv]
--response NAME     the column to predict [default: quality]
--validation SHARE  the share of rows that is kept for validation [default: 0.2]
--new FILE          new rows to predict; the response may be lacking
--out FILE          where to write their predictions [default: predictions.csv]
--folder FOLDER     a folder to run in
--quick             few draws of a small network: to see that it works";

impl Args {
    fn parse() -> Result<Self, String> {
        let mut args = Self {
            data: "data/wine_red.csv".into(),
            response: "quality".into(),
            validation: 0.2,
            new: None,
            out: "predictions.csv".into(),
            folder: None,
            is_quick: false,
        };
        let mut words = std::env::args().skip(1);
        while let Some(flag) = words.next() {
            if flag == "--quick" {
                args.is_quick = true;
                continue;
            }
            let known = ["--data", "--response", "--validation", "--new", "--out", "--folder"];
            if !known.contains(&flag.as_str()) {
                return Err(format!("unknown argument `{flag}`; what there is:\n{HELP}"));
            }
            let value = words.next().ok_or_else(|| format!("`{flag}` needs a value"))?;
            match flag.as_str() {
                "--data" => args.data = value.into(),
                "--response" => args.response = value,
                "--validation" => {
                    let share = value.parse();
                    args.validation =
                        share.map_err(|_| format!("--validation: `{value}` is no number"))?;
                }
                "--new" => args.new = Some(value.into()),
                "--out" => args.out = value.into(),
                _ => args.folder = Some(value.into()),
            }
        }
        Ok(args)
    }
}

fn main() {
    let args = Args::parse().unwrap_or_else(|error| {
        eprintln!("error: {error}");
        std::process::exit(2);
    });
    let (stop, signal) = (StopHandle::new(), Arc::new(AtomicUsize::new(0)));
    let ended = listen(&stop, &signal).map_err(Into::into).and_then(|()| run(&args, &stop));
    if let Err(error) = ended {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
    match signal.load(Ordering::Relaxed) {
        0 => {}
        signal => std::process::exit(128 + signal as i32),
    }
}

/// From now on the first of these signals ends the run, and the second the program.
fn listen(stop: &StopHandle, heard: &Arc<AtomicUsize>) -> std::io::Result<()> {
    let mut signals = vec![SIGINT, SIGTERM];
    #[cfg(unix)]
    if !is_ignored(signal_hook::consts::SIGHUP) {
        signals.push(signal_hook::consts::SIGHUP);
    }
    for signal in signals {
        flag::register_conditional_shutdown(signal, 128 + signal, stop.flag())?;
        flag::register(signal, stop.flag())?;
        flag::register_usize(signal, heard.clone(), signal as usize)?;
    }
    Ok(())
}

/// Whether a signal is ignored, as HUP is under `nohup`; known where there is `/proc`.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn run(args: &Args, stop: &StopHandle) -> Result<(), Box<dyn Error>> {
    let mut recipe = Fit::regression(args.response.as_str())
        .reader(|reader| reader.detect_delimiter())
        .chains(4)
        .warmup(1000)
        .draws(1000)
        .validation(args.validation)
        .seed(1)
        .stop_handle(stop)
        .progress();
    if args.is_quick {
        recipe = recipe.hidden(&[4]).warmup(60).draws(40);
    }
    if let Some(folder) = &args.folder {
        recipe = recipe.in_folder(folder);
    }
    let fit = recipe.read_csv(&args.data)?;
    if fit.draws().info().stopped_early {
        let n = fit.draws().n_draws();
        println!("stopped after {n} draws of each chain");
        if let Some(folder) = &args.folder {
            println!("saved in {}: the same command goes on", folder.display());
        }
        if n == 0 {
            return Ok(());
        }
    }
    fit.rebuilt().iter().for_each(|what| println!("{what}"));
    if let Some(error) = fit.save_error() {
        println!("not saved: {error}");
    }
    println!(
        "{} rows of {} features; network {:?}, {} parameters",
        fit.data().rows(),
        fit.data().n_features(),
        fit.network().sizes(),
        fit.draws().layout().dim()
    );
    println!("{}", fit.verdict()?);
    if let Some(rows) = fit.validation() {
        println!("\n{} validation rows, in the units of `{}`:", rows.rows(), args.response);
        println!("{}", fit.scores(rows)?);
    }
    if let Some(new) = &args.new {
        let predicted = fit.predict_csv(new)?;
        println!("{predicted}");
        predicted.predictions.to_csv(&args.out)?;
        println!("predictions are in {}", args.out.display());
    }
    Ok(())
}
