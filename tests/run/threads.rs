//! Limits on threads and memory: fewer threads, or an error that names them.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use bnn_mcmc::fit::Fit;
use bnn_mcmc::prelude::*;
use ndarray::Array2;
use shared::said;

use crate::checkpoint_faults::faults::shim;

const CHILD: &str = "BNN_MCMC_THREADS_CHILD";

fn fit() -> Result<String, Error> {
    let x = Array2::from_shape_fn((20, 1), |(i, _)| i as f64 / 10.0);
    let data = Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin()))?;
    let recipe = Fit::regression("y").hidden(&[2]).chains(2).warmup(20).draws(20).seed(4);
    let recipe = match std::env::var(CHILD).as_deref() {
        Ok("own pool") => recipe.threads(5),
        _ => recipe,
    };
    let fit = recipe.fit(&data)?;
    fit.verdict()?;
    let sum: f64 = fit.draws().values().iter().sum();
    Ok(format!("sum {:016x}", sum.to_bits()))
}

/// Not a test of its own: what processes under a limit do, which have one thread for the test.
#[test]
fn child_process() {
    if std::env::var_os(CHILD).is_some() {
        println!("{}", fit().unwrap_or_else(|e| format!("error: {e}")));
    }
}

/// This program, doing the job, as a shell starts it after `limit`.
fn limited(how: &str, limit: &str, library: Option<&Path>, threads: usize) -> Output {
    let mut command = Command::new("sh");
    let program = std::env::current_exe().unwrap();
    let run =
        format!("{limit} exec '{}' --exact threads::child_process --nocapture", program.display());
    command.args(["-c", &run]).env(CHILD, how).env("RAYON_NUM_THREADS", "6");
    command.env("RUST_TEST_THREADS", "1").stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(library) = library {
        command.env("LD_PRELOAD", library).env("SHIM_MOST_THREADS", threads.to_string());
    }
    command.output().unwrap()
}

#[test]
fn where_threads_are_few_there_are_fewer() {
    let folder = tempfile::tempdir().unwrap();
    let library = shim(folder.path());
    let expected = fit().unwrap();
    for how in ["rayon's pool", "own pool"] {
        for most in 0..10 {
            let output = limited(how, "", Some(&library), most);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let err = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{how}, {most} threads: {text}{err}");
            // The harness of tests may take one for itself, and a run with a pool of its own leaves one for the verdict.
            let told = |what: &str| text.lines().find_map(|line| Some(line.split_once(what)?.1));
            if let Some(error) = told("error: ") {
                assert!(most < if how == "own pool" { 7 } else { 2 }, "{how}, {most}: {text}");
                said!(error);
            } else {
                assert_eq!(
                    told("sum "),
                    expected.strip_prefix("sum "),
                    "{how}, {most}: {text}{err}"
                );
            }
        }
    }
}

/// Limits of a shell on the memory of a process: it ends well, or with an error, or cannot begin.
#[test]
fn a_limit_on_memory_is_no_panic() {
    let mut ended_well = 0;
    for kilobytes in (16_000..=112_000).step_by(8_000) {
        let output = limited("rayon's pool", &format!("ulimit -v {kilobytes};"), None, 0);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        // The harness itself panics where it cannot make its own thread.
        let ours = err.contains("thread pool") || err.contains("GlobalPool");
        assert!(!ours, "{kilobytes} kB: {text}{err}");
        ended_well += usize::from(text.contains("sum "));
    }
    assert!(ended_well > 0);
}
