//! Folders of fits: one fit each, stopped and gone on with, damaged, in use, or somebody else's.

use std::fs;
use std::path::Path;

use bnn_mcmc::draws::checkpoint::Every;
use bnn_mcmc::error::Difference;
use bnn_mcmc::fit::{Fit, WeightPrior};
use bnn_mcmc::prelude::*;
use shared::wait::wait_until;
use shared::{refused, said};
use tempfile::TempDir;

use crate::fit::{recipe, training_file};
use crate::fixtures::assert_other_fit;

#[test]
fn a_folder_holds_one_fit() {
    let folder = tempfile::tempdir().unwrap();
    let train = training_file(folder.path());
    let run = folder.path().join("run");
    let short = || recipe().warmup(20).draws(20).in_folder(&run);
    let fit = short().read_csv(&train).unwrap();
    // Finished, the same call loads it; threads change nothing.
    assert_eq!(short().threads(1).read_csv(&train).unwrap().draws(), fit.draws());
    for (other, setting, values) in [
        (short().seed(4), "recipe.seed", ["3", "4"]),
        (short().draws(10), "recipe.draws", ["20", "10"]),
        (short().hidden(&[2]), "recipe.hidden", ["[4]", "[2]"]),
        (
            short().reader(|reader| reader.ignore(Vec::<String>::new())),
            "recipe.reader.ignored",
            ["[\"id\"]", "[]"],
        ),
    ] {
        assert_other_fit(other.read_csv(&train), setting, values);
    }
    let mut rows = fs::read_to_string(&train).unwrap();
    rows.push_str("99,1.0,wet,520\n");
    fs::write(&train, rows).unwrap();
    let other = short().read_csv(&train);
    let difference = |e: &Error| matches!(e, Error::OtherFit { difference, .. } if **difference == Difference::Rows);
    assert!(other.as_ref().is_err_and(difference), "{other:?}");
    refused!(other, OtherFit {});
    // A folder with something else in it is left alone.
    refused!(recipe().in_folder(folder.path()).read_csv(&train), Table {});
}

#[test]
fn a_stopped_run_keeps_what_it_has_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let train = training_file(folder.path());
    let whole = recipe().read_csv(&train).unwrap();
    let run = folder.path().join("run");
    let part = stopped(&train, &run);
    let n = part.draws().n_draws();
    assert!(n > 0);
    assert_eq!(part.draws().draw(1, n - 1), whole.draws().draw(1, n - 1));
    assert!(Fit::load(&run).is_err());
    // With fewer draws than were asked for it is finished, and goes on to all of them later.
    let few = recipe().draws(n).in_folder(&run).read_csv(&train).unwrap();
    assert_eq!(few.draws().values(), part.draws().values());
    assert_eq!(Fit::load(&run).unwrap().draws(), few.draws());
    let rest = recipe().in_folder(&run).read_csv(&train).unwrap();
    assert_eq!(rest.draws().values(), whole.draws().values());
    assert!(Fit::load(&run).is_ok());
}

/// A finished fit in a folder of its own.
fn saved() -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let fit = recipe().warmup(30).draws(10).read_csv(training_file(folder.path())).unwrap();
    let saved = folder.path().join("saved");
    fit.save(&saved).unwrap();
    (folder, saved)
}

#[test]
fn damaged_and_edited_folders_are_refused_with_what_differs() {
    let (folder, saved) = saved();
    let json = fs::read_to_string(saved.join("fit.json")).unwrap();
    // The words after the beginning name versions, checksums and the place in the file.
    let refused = |begin: &str| match Fit::load(&saved) {
        Err(Error::Table { problem, .. }) if problem.starts_with(begin) => {}
        other => panic!("{begin}: {other:?}"),
    };
    for (text, problem) in [
        (json.replace("\"format\": 1", "\"format\": 7"), "it has format 7, of bnn-mcmc"),
        (json.replace("\"format\": 1", "\"format\": null"), "it is not of a fit"),
        (json[..json.len() / 2].to_string(), "it is not JSON"),
        (json.replace("\"tanh\"", "\"relu\""), "it was edited or damaged"),
        (json.replace("\"seed\": 3", "\"seed\": 4"), "it was edited or damaged"),
        (json.replace("\"shift\": 0", "\"shift\": 1"), "it was edited or damaged"),
        (json.replace("\"dry\"", "\"wry\""), "it was edited or damaged"),
        (json.replace("\"finished\": true", "\"finished\": false"), "it was edited or damaged"),
        (json.replace("\"crc32\"", "\"more\": 1, \"crc32\""), "unknown field `more`"),
    ] {
        assert_ne!(text, json, "{problem}");
        fs::write(saved.join("fit.json"), text).unwrap();
        refused(problem);
    }
    fs::write(saved.join("fit.json"), &json).unwrap();
    assert!(Fit::load(&saved).is_ok());
    let data = fs::read_to_string(saved.join("data.csv")).unwrap();
    fs::write(saved.join("data.csv"), data.replacen('5', "6", 1)).unwrap();
    refused("it is not as it was written: its checksum differs");
    fs::write(saved.join("data.csv"), data).unwrap();
    fs::remove_file(saved.join("fit.json")).unwrap();
    refused("there is no `fit.json`: it is not the folder of a fit");
    fs::write(saved.join("fit.json"), &json).unwrap();
    let draws = saved.join("draws.zarr");
    fs::remove_dir_all(&draws).unwrap();
    refused!(Fit::load(&saved), Table {});
    // Draws of other runs.
    let train = training_file(folder.path());
    let short = || recipe().warmup(30).draws(10);
    for (other, difference) in [
        (short().seed(9), "`seed` is 9, but must be 3"),
        (short().draws(11), "`draws` is 11, but must be 10"),
        (short().activation(Activation::Relu), "model of the draws"),
        (short().weights(WeightPrior::Normal { sd: 2.0 }), "log prior of the first draw ("),
    ] {
        other.read_csv(&train).unwrap().draws().to_zarr(&draws).unwrap();
        refused(&format!("it holds the draws of another run: {difference}"));
        fs::remove_dir_all(&draws).unwrap();
    }
    short().read_csv(&train).unwrap().draws().to_zarr(&draws).unwrap();
    assert!(Fit::load(&saved).is_ok());
}

/// A run in `run` that was stopped while it sampled.
fn stopped(train: &Path, run: &Path) -> Fit {
    let stop = StopHandle::new();
    let (stopper, checkpoint) = (stop.clone(), run.join("checkpoint.draws"));
    let watch = std::thread::spawn(move || {
        wait_until("the first draws", || {
            fs::metadata(&checkpoint).is_ok_and(|file| file.len() > 0)
        });
        stopper.stop();
    });
    let fit = recipe().stop_handle(&stop).in_folder(run).read_csv(train).unwrap();
    watch.join().unwrap();
    assert!(fit.draws().info().stopped_early);
    fit
}

#[test]
fn what_a_killed_process_leaves_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let (train, run) = (training_file(folder.path()), folder.path().join("run"));
    let whole = recipe().read_csv(&train).unwrap();
    stopped(&train, &run);
    // Killed while the end was written, and while `fit.json` was.
    whole.draws().thinned(2).unwrap().to_zarr(run.join("draws.zarr")).unwrap();
    fs::write(run.join("fit.json.tmp"), "{").unwrap();
    fs::write(run.join("data.csv"), "damaged").unwrap();
    let fit = recipe().in_folder(&run).read_csv(&train).unwrap();
    assert!(fit.save_error().is_none());
    assert_eq!(Fit::load(&run).unwrap().draws().values(), whole.draws().values());
    assert!(!run.join(".bnn-mcmc.lock").exists() && !run.join("fit.json.tmp").exists());

    // Killed before `fit.json` was there.
    let begun = folder.path().join("begun");
    fs::create_dir(&begun).unwrap();
    fs::copy(run.join("data.csv"), begun.join("data.csv")).unwrap();
    for name in ["data.csv.tmp", "fit.json.tmp", ".bnn-mcmc.lock"] {
        fs::write(begun.join(name), "").unwrap();
    }
    assert!(recipe().warmup(5).draws(5).in_folder(&begun).read_csv(&train).is_ok());

    // A file of somebody else is neither deleted nor overwritten, whatever it holds.
    let alone = folder.path().join("alone");
    fs::create_dir(&alone).unwrap();
    fs::copy(run.join("data.csv"), alone.join("data.csv")).unwrap();
    assert!(recipe().chains(0).in_folder(&alone).read_csv(&train).is_err());
    assert!(alone.join("data.csv").exists());
    let theirs = folder.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    fs::copy(run.join("data.csv"), theirs.join("data.csv")).unwrap();
    fs::write(theirs.join("main.rs"), "").unwrap();
    refused!(recipe().in_folder(&theirs).read_csv(&train), Table {});
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 2);
}

#[test]
fn draws_that_cannot_be_saved_are_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (train, run) = (training_file(folder.path()), folder.path().join("run"));
    let part = stopped(&train, &run);
    // Saved as it is, it is no finished run.
    let saved = folder.path().join("part");
    part.save(&saved).unwrap();
    assert_eq!(Fit::load(&saved).unwrap().draws(), part.draws());
    refused!(recipe().in_folder(&saved).read_csv(&train), Table {});

    fs::write(run.join("draws.zarr"), "in the way").unwrap();
    let fit = recipe().in_folder(&run).read_csv(&train).unwrap();
    said!(fit.save_error().unwrap());
    assert_eq!(fit.draws().n_draws(), 150);
    fs::remove_file(run.join("draws.zarr")).unwrap();
    let again = recipe().in_folder(&run).read_csv(&train).unwrap();
    assert!(again.save_error().is_none());
    assert_eq!(Fit::load(&run).unwrap().draws().values(), fit.draws().values());
}

/// A run that nobody would find ends at its next checkpoint, and its draws are kept beside its place.
#[test]
#[cfg(unix)]
fn a_run_ends_when_its_folder_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (train, run) = (training_file(folder.path()), folder.path().join("run"));
    let (from, to) = (run.clone(), folder.path().join("renamed"));
    let watch = std::thread::spawn(move || {
        let draws = from.join("checkpoint.draws");
        wait_until("the first draws", || fs::metadata(&draws).is_ok_and(|file| file.len() > 0));
        fs::rename(&from, to).unwrap();
    });
    let long = recipe().draws(60_000).checkpoint_every(Every::Draws(20));
    let error = long.in_folder(&run).read_csv(&train).unwrap_err().to_string();
    watch.join().unwrap();
    let kept = Fit::load(folder.path().join("run.kept")).unwrap();
    let n = kept.draws().n_draws();
    assert!(n > 0 && n < 60_000 && kept.draws().info().stopped_early, "{n}");
    let whole = recipe().draws(n.min(200)).read_csv(&train).unwrap();
    assert_eq!(kept.draws().draw(1, n.min(200) - 1), whole.draws().draw(1, n.min(200) - 1));
    assert!(error.contains(&format!("whose {n} draws of each chain are in ")), "{error}");
    assert!(!run.exists());
    // Also a run that comes to its end before its next checkpoint.
    let (gone, run) = (folder.path().join("gone"), folder.path().join("gone/run"));
    let watch = std::thread::spawn({
        let (gone, away) = (gone.clone(), folder.path().join("away"));
        move || {
            let checkpoint = gone.join("run/checkpoint");
            wait_until("the first checkpoint", || checkpoint.exists());
            fs::rename(gone, away).unwrap();
        }
    });
    fs::create_dir(&gone).unwrap();
    let long = recipe().draws(5000).checkpoint_every(Every::Seconds(1e9)).in_folder(&run);
    let error = long.read_csv(&train);
    watch.join().unwrap();
    let error = error.unwrap_err().to_string();
    assert!(error.contains("gone.kept"), "{error}");
    assert_eq!(Fit::load(folder.path().join("gone.kept")).unwrap().draws().n_draws(), 5000);
    assert!(!gone.exists());
}

#[test]
fn one_process_at_a_time_and_a_refused_setting_claims_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (train, run) = (training_file(folder.path()), folder.path().join("run"));
    for bad in [recipe().chains(0), recipe().threads(100_000), recipe().hidden(&[0])] {
        assert!(bad.in_folder(&run).read_csv(&train).is_err());
        assert!(!run.exists());
    }
    let stop = StopHandle::new();
    let long = recipe().draws(100_000).stop_handle(&stop).in_folder(&run);
    let (in_thread, path) = (long.clone(), train.clone());
    let running =
        std::thread::spawn(move || in_thread.read_csv(path).map(|fit| fit.draws().n_draws()));
    wait_until("a checkpoint", || run.join("checkpoint").exists());
    refused!(long.read_csv(&train), Table {});
    stop.stop();
    assert!(running.join().unwrap().is_ok());
    // The model of a run, which may have been searched, stays where the run is refused before its first checkpoint.
    for file in ["checkpoint", "checkpoint.draws"] {
        fs::remove_file(run.join(file)).unwrap();
    }
    let there = fs::read(run.join("fit.json")).unwrap();
    let refused = recipe().draws(100_000).threads(100_000).in_folder(&run).read_csv(&train);
    assert!(refused.is_err());
    assert_eq!(fs::read(run.join("fit.json")).unwrap(), there);
}
