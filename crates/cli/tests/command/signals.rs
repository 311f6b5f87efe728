//! TERM, HUP and INT at any moment: what was made is saved, and the same command goes on to the same bytes.
//!
//! Ten moments each, with a report:
//!
//!     cargo test --release -p bnn-mcmc-cli --test command signals:: -- --ignored --nocapture

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use shared::said;
use shared::wait::wait_until;

use super::*;

const SIGNALS: [(&str, i32); 3] = [("TERM", 15), ("HUP", 1), ("INT", 2)];

const FIT: &str =
    "fit iris.csv --target species --out r --hidden 4 --chains 2 --warmup 150 --draws 400";
const MORE: &str =
    "fit iris.csv --target species --out r --hidden 4 --chains 2 --warmup 150 --draws 700";
const MERGE: &str = "merge r";
const PREDICT: &str = "predict r many.csv --out p.csv";

/// The command with the signals as a terminal leaves them, whatever the test runs under.
fn plain(place: &Place, arguments: &str) -> Command {
    let program = env!("CARGO_BIN_EXE_bnn-mcmc");
    let mut command = Command::new("env");
    command.current_dir(place.path("")).arg("--default-signal=INT,HUP,TERM").arg(program);
    command.args(arguments.split_whitespace()).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What there is before a command.
fn prepare(command: &str) -> Place {
    let place = Place::new();
    match command {
        FIT => {}
        MORE => drop(place.run(&format!("{FIT} --quiet")).well()),
        MERGE => {
            for chains in ["0..1", "1..2"] {
                // So much that a merge takes some tenths of a second.
                let part = FIT.replace("--chains 2", &format!("--chains {chains} --of 2 --quiet"));
                let part = part.replace("--warmup 150 --draws 400", "--warmup 50 --draws 3000");
                let part = part.replace("--hidden 4", "--hidden 12");
                place.run(&part).well();
            }
        }
        PREDICT => {
            place.run(&format!("{FIT} --quiet")).well();
            let iris = place.read("iris.csv");
            let (header, rows) = iris.split_once('\n').unwrap();
            place.write("many.csv", &format!("{header}\n{}", rows.repeat(60)));
            place.write("p.csv.tmp", "mine");
        }
        _ => unreachable!(),
    }
    place
}

/// What a command makes, but for what holds seconds.
fn made(place: &Place) -> BTreeMap<String, Vec<u8>> {
    let mut files = place.files("");
    for (name, bytes) in &mut files {
        if name.ends_with("/checkpoint") || name.ends_with("draws.zarr/zarr.json") {
            bytes.clear();
        }
    }
    files
}

/// Files that nobody is to find.
fn left(place: &Place) -> Vec<String> {
    let names = place.files("").into_keys();
    names
        .filter(|name| (name.contains(".tmp") || name.contains("/.")) && name != "p.csv.tmp")
        .collect()
}

/// Sends each signal at so many moments of each command; returns how often it came too late.
fn signals_at(moments: u32) {
    for command in [FIT, MORE, MERGE, PREDICT] {
        let before = prepare(command);
        let copy = |of: &Place| {
            let place = Place(tempfile::tempdir().unwrap());
            for (name, bytes) in of.files("") {
                let path = place.path(&name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
            place
        };
        let whole = copy(&before);
        let began = Instant::now();
        ended(&mut plain(&whole, command)).well();
        let (time, expected) = (began.elapsed(), made(&whole));
        assert_eq!(left(&whole), Vec::<String>::new());
        let (mut by_signal, mut heard, mut too_late, mut draws_kept) = (0, 0, 0, 0);
        for (name, number) in SIGNALS {
            for moment in 1..=moments {
                let place = copy(&before);
                let child = plain(&place, command).spawn().unwrap();
                // A process has to begin before it can listen, and does not tell of most moments.
                let wait = Duration::from_millis(5) + time * (2 * moment - 1) / (2 * moments);
                std::thread::sleep(wait);
                let kill = format!("kill -{name} {}", child.id());
                Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status().unwrap();
                let output = child.wait_with_output().unwrap();
                let err = String::from_utf8(output.stderr).unwrap();
                let at = format!("{command}: {name} after {wait:?} of {time:?}: {err}");
                match (output.status.code(), output.status.signal()) {
                    // A merge comes to its end.
                    (Some(0), _) if err.contains("once more to end at once") => heard += 1,
                    (Some(0), _) => too_late += 1,
                    (Some(code), _) => {
                        assert_eq!(code, 128 + number, "{at}");
                        by_signal += 1;
                    }
                    // Before it listened.
                    (None, signal) => assert_eq!(signal, Some(number), "{at}"),
                }
                assert_eq!(left(&place), Vec::<String>::new(), "{at}");
                if let Some((_, said)) = err.split_once("ended after ") {
                    let n: usize = said.split(' ').next().unwrap().parse().unwrap();
                    assert!(said.contains("saved in r: the same command goes on"), "{at}");
                    // Each draw of all chains has as many bytes.
                    let held = fs::metadata(place.path("r/checkpoint.draws")).unwrap().len();
                    let finished = fs::metadata(whole.path("r/checkpoint.draws")).unwrap().len();
                    let all = if command == FIT { 400 } else { 700 };
                    assert_eq!(held, finished / all * n as u64, "{at}");
                    draws_kept += n;
                }
                if command == MORE {
                    place.run("diagnose r").well();
                }
                if command == PREDICT && output.status.code() != Some(0) {
                    assert!(!place.path("p.csv").exists(), "{at}");
                }
                place.run(command).well();
                let found = made(&place);
                for (file, bytes) in &expected {
                    assert!(found.get(file) == Some(bytes), "{at}: {file}");
                }
                assert_eq!(found.len(), expected.len(), "{at}");
            }
        }
        println!(
            "{command}: {} signals, {by_signal} ended it, {heard} were heard and it came to its end, {too_late} came too \
             late; {draws_kept} draws kept",
            3 * moments
        );
    }
}

#[test]
fn a_signal_loses_no_draw_and_leaves_no_half_file() {
    signals_at(1);
}

#[test]
#[ignore = "takes minutes; run by hand, see the top of this file"]
fn signals_at_ten_moments_lose_no_draw_and_leave_no_half_file() {
    signals_at(10);
}

/// A run that is in its chains, under a shell's word before it.
fn begun(place: &Place, before: &str) -> std::process::Child {
    begun_in(place, before, FIT, "r")
}

/// The same of a command whose draws go to this folder.
fn begun_in(place: &Place, before: &str, fit: &str, folder: &str) -> std::process::Child {
    let program = env!("CARGO_BIN_EXE_bnn-mcmc");
    let long = fit.replace("--draws 400", "--draws 200000 --checkpoint-every 20draws");
    let line = format!("{before} exec env --default-signal=INT,TERM '{program}' {long}");
    let mut command = Command::new("sh");
    command.current_dir(place.path("")).args(["-c", &line]).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let draws = format!("{folder}/checkpoint.draws");
    wait_until("saved draws", || place.size(&draws) >= 10_000);
    child
}

fn send(child: &std::process::Child, signal: &str) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_run_that_ignores_hup_goes_on() {
    let place = Place::new();
    let mut child = begun(&place, "trap '' HUP;");
    send(&child, "HUP");
    // A process that a signal ends makes at most the draws of one checkpoint more.
    let (many, before) = (100_000, place.size("r/checkpoint.draws"));
    wait_until("many more draws", || {
        assert!(child.try_wait().unwrap().is_none());
        place.size("r/checkpoint.draws") > before + many
    });
    send(&child, "TERM");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(143), "{err}");
    assert_eq!(err.matches("stopping after").count(), 1, "{err}");
}

#[test]
fn a_second_signal_ends_at_once() {
    let place = Place::new();
    let child = begun(&place, "");
    send(&child, "TERM");
    send(&child, "HUP");
    let code = child.wait_with_output().unwrap().status.code();
    // The first may have ended it before the second came.
    assert!([Some(143), Some(129)].contains(&code), "{code:?}");
    place.run(FIT).well();
    assert_eq!(left(&place), Vec::<String>::new());
}

/// As batch systems end a job, and as `merge` then says which jobs are to be begun again.
#[test]
fn a_merge_names_all_chains_that_lack() {
    let place = Place::new();
    let job = |range: &str| FIT.replace("--chains 2", &format!("--chains {range} --of 8"));
    place.run(&job("1..2")).well();
    let ended = |range: &str| {
        let child = begun_in(&place, "", &job(range), &format!("r/chains-{range}"));
        send(&child, "TERM");
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
    };
    ended("2..3");
    said!(place.run("merge r").error(1));
    ended("3..5");
    ended("6..7");
    for range in ["0..1", "5..6", "7..8"] {
        place.run(&job(range)).well();
    }
    said!(place.run("merge r").error(1));
    // With the draws of the others they are finished.
    for range in ["2..3", "3..5", "6..7"] {
        place.run(&job(range)).well();
    }
    place.run("merge r").well();
}
