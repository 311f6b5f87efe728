//! Job arrays: chains that run as separate processes make, together, the run that one process makes.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bnn_mcmc::fit::Fit;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Phase};
use bnn_mcmc::testing::GaussianTarget;
use ndarray::Array2;
use proptest::prelude::*;
use serde::Serialize;
use serde_json::Value as Json;
use shared::wait::wait_until;
use shared::{failed, refused};

use crate::fixtures::assert_other_fit;

/// All that draws hold but the seconds, with the bits of floats.
#[track_caller]
fn assert_same(merged: &Draws, whole: &Draws) {
    let all = |draws: &Draws| {
        let mut json = serde_json::to_value(draws).unwrap();
        let info = json["info"].as_object_mut().unwrap();
        for name in ["warmup_seconds", "sampling_seconds"] {
            assert!(info.remove(name).is_some());
        }
        let stats = draws.stat_names().iter().map(|s| draws.stat(s).unwrap().to_owned());
        let stats: Vec<Array2<f64>> = stats.collect();
        let numbers = draws.values().to_owned().into_iter().chain(stats.into_iter().flatten());
        (json, numbers.map(f64::to_bits).collect::<Vec<_>>())
    };
    assert!(all(merged) == all(whole), "{:?}\n{:?}", merged.info(), whole.info());
}

/// A posterior with divergences, rejections and adaptation.
fn posterior() -> Posterior<Mlp, Gaussian> {
    let x = Array2::from_shape_fn((30, 2), |(i, j)| ((i * (j + 2)) as f64 * 0.37).sin());
    let y = Array2::from_shape_fn((30, 1), |(i, _)| (i as f64 * 0.5).cos());
    let data = Dataset::regression(x, y).unwrap();
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.1).unwrap());
    Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap()
}

fn check<A>(algorithm: A)
where
    A: Clone + Serialize + for<'t> Algorithm<&'t Posterior<Mlp, Gaussian>>,
{
    let posterior = posterior();
    let run = |only: Option<Range<usize>>| {
        let run = Sampler::new(&posterior, algorithm.clone()).chains(4).warmup(40).draws(30);
        let points = (0..4).map(|chain| vec![0.01 * (chain + 1) as f64; posterior.layout().dim()]);
        let run = run.thin(2).seed(7).init(Init::Points(points.collect()));
        only.into_iter().fold(run, Sampler::only_chains).run().unwrap()
    };
    let whole = run(None);
    assert_eq!(whole.info().part, None);
    for jobs in [vec![0..1, 1..2, 2..3, 3..4], vec![2..4, 0..2], Vec::from([0..3, 3..4])] {
        let parts: Vec<Draws> = jobs.iter().cloned().map(|only| run(Some(only))).collect();
        for (part, chains) in parts.iter().zip(&jobs) {
            assert_eq!(part.n_chains(), chains.len());
            assert_eq!(part.info().part.as_ref().map(|p| (&p.chains, p.of)), Some((chains, 4)));
        }
        assert_same(&Draws::merge(parts).unwrap(), &whole);
    }
}

#[test]
fn parts_of_a_run_are_the_run() {
    check(Nuts::default());
    check(Cycle(Mala { step_size: 0.3, ..Mala::default() }, GibbsNoise));
    let ladder = Ladder::Given(vec![0.0, 0.3, 1.0]);
    check(PowerPosteriors { ladder, ..PowerPosteriors::new(Hmc::default()) });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn any_partition_gives_the_run(cuts in prop::collection::btree_set(1usize..9, 0..6), seed: u64) {
        let target = GaussianTarget::standard(2).unwrap();
        let run = || Sampler::new(&target, Mala::default()).chains(9).warmup(20).draws(5).seed(seed);
        let ends: Vec<usize> = cuts.into_iter().chain([9]).collect();
        let starts = [0].into_iter().chain(ends.iter().copied());
        let mut parts: Vec<Draws> =
            starts.zip(&ends).map(|(a, b)| run().only_chains(a..*b).run().unwrap()).collect();
        parts.reverse();
        assert_same(&Draws::merge(parts).unwrap(), &run().run().unwrap());
    }
}

/// All files below a folder; of the attributes of the whole folder all but the seconds, and their
/// checksum.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_path_buf()];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let mut bytes = std::fs::read(&path).unwrap();
        let place = path.strip_prefix(folder).unwrap().to_path_buf();
        if place == Path::new("zarr.json") {
            let mut root: Json = serde_json::from_slice(&bytes).unwrap();
            let own = root["attributes"]["bnn_mcmc"].as_object_mut().unwrap();
            assert!(own.remove("crc32").is_some());
            let run = own["contents"]["run"].as_object_mut().unwrap();
            for name in ["warmup_seconds", "sampling_seconds"] {
                assert!(run.remove(name).is_some());
            }
            bytes = serde_json::to_vec(&root).unwrap();
        }
        found.insert(place, bytes);
    }
    found
}

const CHILD: &str = "BNN_MCMC_JOB";

/// One job, with a checkpoint after every 200 draws.
fn job(folder: &Path, chain: usize) -> Result<(), Error> {
    let target = GaussianTarget::standard(10)?;
    let draws = run(&target)
        .only_chains(chain..chain + 1)
        .checkpoint(folder.join(format!("{chain}.checkpoint")), Every::Draws(200))
        .on_progress(|p| {
            // One that is going to be killed waits for it, or for the end of the process that will kill it.
            if p.phase == Phase::Sampling && std::env::var_os("WAITS").is_some() {
                drop(std::io::stdin().read(&mut [0]));
            }
        })
        .run()?;
    draws.to_zarr(folder.join(format!("{chain}.zarr")))
}

fn run(target: &GaussianTarget) -> Sampler<'_, GaussianTarget, Nuts> {
    Sampler::new(target, Nuts::default()).chains(4).warmup(2_000).draws(2_000).seed(3)
}

/// Not a test of its own: what the processes run.
#[test]
fn child_process() {
    if let (Some(folder), Ok(chain)) = (std::env::var_os(CHILD), std::env::var("CHAIN")) {
        job(Path::new(&folder), chain.parse().unwrap()).unwrap();
    }
}

fn spawn(folder: &Path, chain: usize) -> Child {
    command(folder, chain).spawn().unwrap()
}

fn command(folder: &Path, chain: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "job_arrays::child_process"])
        .env(CHILD, folder)
        .env("CHAIN", chain.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

#[test]
fn processes_fill_a_folder_one_is_killed_and_a_second_for_one_chain_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // One process is killed when it has written a checkpoint.
    let checkpoint = folder.join("2.checkpoint");
    let mut killed = command(folder, 2).env("WAITS", "1").stdin(Stdio::piped()).spawn().unwrap();
    wait_until("a checkpoint", || checkpoint.exists());
    killed.kill().unwrap();
    assert!(!killed.wait().unwrap().success(), "it ended before it was killed");
    assert!(!folder.join("2.zarr").exists());

    let mut jobs: Vec<Child> = (0..4).map(|chain| spawn(folder, chain)).collect();
    assert!(jobs.iter_mut().all(|job| job.wait().unwrap().success()));
    // A second job for a chain that is done changes nothing.
    assert!(!spawn(folder, 1).wait().unwrap().success());

    let parts = (0..4).map(|chain| Draws::from_zarr(folder.join(format!("{chain}.zarr"))).unwrap());
    let merged = Draws::merge(parts).unwrap();
    let target = GaussianTarget::standard(10).unwrap();
    let whole = run(&target).run().unwrap();
    assert_same(&merged, &whole);

    // The folders are equal, byte for byte, but for the time that the runs took.
    merged.to_zarr(folder.join("merged.zarr")).unwrap();
    whole.to_zarr(folder.join("whole.zarr")).unwrap();
    let [merged, whole] = ["merged.zarr", "whole.zarr"].map(|name| files(&folder.join(name)));
    assert!(merged.len() > 20 && merged == whole);
}

#[test]
fn two_jobs_for_one_chain_are_refused_while_one_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0.checkpoint");
    let target = GaussianTarget::standard(2).unwrap();
    let job = || run(&target).only_chains(0..1).checkpoint(&path, Every::Draws(100));
    let mut second = None;
    let first = job().on_progress(|_| {
        second.get_or_insert_with(|| job().run());
    });
    first.run().unwrap();
    refused!(second.unwrap(), Checkpoint { problem: "another process is using this checkpoint" });

    for (job, here) in [(run(&target).only_chains(1..2), "1..2"), (run(&target), "absent")] {
        let difference = format!("`chains of this part` is 0..1 there and {here} here");
        let problem = format!("it belongs to another run: {difference}");
        refused!(job.checkpoint(&path, Every::Draws(100)).run(), Checkpoint { problem: problem });
    }
}

#[test]
fn records_on_disk_of_all_jobs_are_those_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let target = GaussianTarget::standard(3).unwrap();
    let run = || Sampler::new(&target, Nuts::default()).warmup(50).draws(40).seed(5);
    let on_disk = |name| OnDisk { path: folder.path().join(name), every: 2, keep: Keep::All };
    run().run_with(&on_disk("whole")).unwrap();
    for job in [0..1, 1..3, 3..4] {
        run().only_chains(job).run_with(&on_disk("parts")).unwrap();
    }
    for chain in 0..4 {
        let [whole, parts] =
            ["whole", "parts"].map(|name| std::fs::read(on_disk(name).file(chain)).unwrap());
        assert!(whole == parts, "chain {chain}");
    }
}

#[test]
fn what_is_no_part_of_the_run_is_named() {
    let target = GaussianTarget::standard(2).unwrap();
    let sampler = |step_size| {
        let mala = Mala { step_size, ..Mala::default() };
        Sampler::new(&target, mala).chains(4).warmup(10).draws(10).seed(1)
    };
    let part = |only: Range<usize>| sampler(0.1).only_chains(only).run().unwrap();
    let merged = |parts: Vec<Draws>| Draws::merge(parts);

    refused!(merged(vec![]), Argument { name: "parts", value: "none" });
    let whole = sampler(0.1).run().unwrap();
    let value = "draws 1, which are no part of a run";
    refused!(merged(vec![part(0..2), whole]), Argument { name: "parts", value: value });
    refused!(merged(vec![part(0..2), part(1..4)]), Argument { value: "a list with chain 1 twice" });
    let value = "none with the chains 1..3";
    refused!(merged(vec![part(3..4), part(0..1)]), Argument { value: value });
    refused!(merged(vec![part(0..3)]), Argument { value: "none with the chains 3..4" });
    let others = [
        (sampler(0.2), "`algorithm.step_size` is 0.1 there and 0.2 here"),
        (sampler(0.1).seed(2), "`seed` is 1 there and 2 here"),
        (sampler(0.1).chains(5), "`chains` is 4 there and 5 here"),
        (sampler(0.1).warmup(11), "`warmup` is 10 there and 11 here"),
        (sampler(0.1).keep(Keep::Statistics), "`kept parameters` is q[2] there and none here"),
    ];
    for (other, difference) in others {
        let other = other.only_chains(2..4).run().unwrap();
        let allowed = format!("of one run: {difference}");
        refused!(merged(vec![part(0..2), other]), Argument { name: "parts", allowed: allowed });
    }
    // These name log densities.
    let starts_elsewhere = |parts: Vec<Draws>| {
        let error = failed!(merged(parts), Argument { name: "parts" });
        let Error::Argument { allowed, .. } = error else { unreachable!() };
        let begin = "of one run: log likelihood and log prior where chain 0 starts are ";
        assert!(allowed.starts_with(begin), "{allowed}");
    };
    let points = Init::Points(vec![vec![0.0; 2]; 4]);
    let other = sampler(0.1).init(points).only_chains(2..4).run().unwrap();
    starts_elsewhere(vec![part(0..2), other]);
    let wider = GaussianTarget::new(vec![0.0; 2], &[2.0, 0.0, 0.0, 2.0]).unwrap();
    let mala = Mala { step_size: 0.1, ..Mala::default() };
    let other = Sampler::new(&wider, mala).chains(4).warmup(10).draws(10).seed(1).only_chains(2..4);
    starts_elsewhere(vec![part(0..2), other.run().unwrap()]);
    let network = |activation, scale| {
        let data = Dataset::regression(ndarray::array![[0.5], [1.0]], ndarray::array![0.1, 0.9]);
        let model = Mlp::new(&[1, 2, 1], activation).unwrap();
        let priors = Priors::all(Normal::new(0.0, scale).unwrap());
        Posterior::new(model, Gaussian::fixed(0.5).unwrap(), &data.unwrap(), priors).unwrap()
    };
    let part_of = |posterior: &Posterior<Mlp, Gaussian>, only: Range<usize>| {
        let start = Init::Around { centre: vec![0.0; 7], sd: 0.1 };
        let run = Sampler::new(posterior, Mala::default()).chains(2).warmup(5).draws(5);
        run.init(start).only_chains(only).run().unwrap()
    };
    let first = || part_of(&network(Activation::Tanh, 1.0), 0..1);
    let other = part_of(&network(Activation::Relu, 1.0), 1..2);
    let Err(Error::Argument { allowed, .. }) = merged(vec![first(), other]) else {
        panic!("merged")
    };
    assert!(allowed.starts_with("of one run: the target is "), "{allowed}");
    starts_elsewhere(vec![first(), part_of(&network(Activation::Tanh, 2.0), 1..2)]);
    let thinned = part(2..4).thinned(2).unwrap();
    let allowed = "of one run: only some are thinned";
    refused!(merged(vec![part(0..2), thinned]), Argument { allowed: allowed });

    for only in [2..2, 3..5, 5..6] {
        let found = format!("{only:?}");
        let allowed = "at least one chain, of 0..4";
        let run = sampler(0.1).only_chains(only).run();
        refused!(run, Argument { value: found, allowed: allowed });
    }
}

#[test]
fn a_part_has_the_numbers_and_the_noise_of_its_chains() {
    let posterior = posterior();
    let x = Array2::from_shape_fn((4, 2), |(i, j)| (i + j) as f64);
    let run = || Sampler::new(&posterior, Mala::default()).chains(3).warmup(20).draws(10).seed(4);
    let (whole, part) = (run().run().unwrap(), run().only_chains(1..3).run().unwrap());
    let drawn = |draws: &Draws| {
        posterior.predict_new(draws, x.view()).unwrap().predictive_draws().to_owned()
    };
    assert_eq!(drawn(&part), drawn(&whole).slice(ndarray::s![1.., .., .., ..]));
    let mut csv = Vec::new();
    part.write_csv(&mut csv).unwrap();
    let text = String::from_utf8(csv).unwrap();
    let chains: Vec<&str> = text.lines().skip(1).map(|l| l.split(',').next().unwrap()).collect();
    assert_eq!(chains, ["1"; 10].into_iter().chain(["2"; 10]).collect::<Vec<_>>());
    let folder = tempfile::tempdir().unwrap();
    part.to_zarr(folder.path().join("part.zarr")).unwrap();
    let numbers = std::fs::read(folder.path().join("part.zarr/posterior/chain/c/0")).unwrap();
    assert_eq!(numbers, [1i64, 2].map(i64::to_le_bytes).concat());
}

#[test]
fn a_job_that_was_stopped_cuts_the_others() {
    let target = GaussianTarget::standard(2).unwrap();
    let part = |only, draws| {
        Sampler::new(&target, Mala::default()).draws(draws).seed(1).only_chains(only).run().unwrap()
    };
    let merged = Draws::merge([part(0..3, 100), part(3..4, 60)]).unwrap();
    assert_eq!(merged.values().dim(), (4, 60, 2));
    assert!(merged.info().stopped_early);
    let whole = Sampler::new(&target, Mala::default()).draws(60).seed(1).run().unwrap();
    assert_eq!(merged.values(), whole.values());
}

#[test]
fn parts_of_a_fit_are_merged_in_its_folder() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("run");
    let x = Array2::from_shape_fn((30, 1), |(i, _)| i as f64 / 10.0);
    let y = x.mapv(f64::sin);
    let data = Dataset::regression(x.clone(), y).unwrap();
    let recipe = Fit::regression("y").hidden(&[3]).chains(3).warmup(40).draws(30).seed(2);
    let job = |chains| recipe.clone().in_folder(&folder).only_chains(chains).fit(&data);
    refused!(Fit::merge(&folder), Io {});
    job(2..3).unwrap();
    let problem = "no part has the chains 0..2 of 0..3: their job has not begun";
    refused!(Fit::merge(&folder), Table { problem: problem });
    refused!(job(2..4), Argument { value: "2..4" });
    let other = recipe.clone().draws(31).in_folder(&folder).only_chains(0..2).fit(&data);
    other.unwrap();
    assert_other_fit(Fit::merge(&folder), "recipe.draws", ["31", "30"]);
    std::fs::remove_dir_all(folder.join("chains-0..2")).unwrap();
    let part = job(0..2).unwrap();
    assert_eq!(part.draws().n_chains(), 2);
    // A second job for the same chains loads what is there.
    assert_same(job(0..2).unwrap().draws(), part.draws());

    let whole = recipe.fit(&data).unwrap();
    let merged = Fit::merge(&folder).unwrap();
    assert_same(merged.draws(), whole.draws());
    let loaded = Fit::load(&folder).unwrap();
    assert_same(loaded.draws(), whole.draws());
    // The call for all chains finds its fit there.
    assert_same(recipe.clone().in_folder(&folder).fit(&data).unwrap().draws(), whole.draws());
    let predicted = |fit: &Fit| fit.predict_new(x.view()).unwrap().predictions;
    assert_eq!(predicted(&loaded).mean(), predicted(&whole).mean());
    assert_eq!(predicted(&loaded).predictive_draws(), predicted(&whole).predictive_draws());

    // Merged again, it is loaded; a merge that was killed is repeated; more draws take the place of fewer.
    assert_same(Fit::merge(&folder).unwrap().draws(), whole.draws());
    std::fs::remove_file(folder.join("fit.json")).unwrap();
    std::fs::remove_file(folder.join("draws.zarr/zarr.json")).unwrap();
    assert_same(Fit::merge(&folder).unwrap().draws(), whole.draws());
    let longer = recipe.clone().draws(35);
    for chains in [0..2, 2..3] {
        longer.clone().in_folder(&folder).only_chains(chains).fit(&data).unwrap();
    }
    assert_same(Fit::merge(&folder).unwrap().draws(), longer.fit(&data).unwrap().draws());

    // A part is not the whole.
    let of_part = folder.join("chains-0..2");
    refused!(longer.in_folder(of_part).fit(&data), Table {});
}
