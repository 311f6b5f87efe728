//! What a checkpoint knows of its run, and damage: it is refused, or the draws are right. More of it, with a report:
//!
//!     cargo test --release -p bnn-mcmc-tests --test run checkpoint_damage:: -- --ignored --nocapture

use std::fs::{self, File};
use std::path::Path;

use bnn_mcmc::draws::recorder::OnDisk;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Every, Minibatch, Sgld};
use bnn_mcmc::targets::{Conditioned, Tempered, WithReference};
use bnn_mcmc::testing::GaussianTarget;
use rand::Rng;
use shared::said;

use crate::checkpoint_faults::{
    assert_same, begins, faulty_folder, folder, run, sampler, uninterrupted,
};
use crate::fixtures::gaussian;

#[test]
fn rows_in_another_order_are_another_run() {
    let x = ndarray::Array2::from_shape_fn((400, 2), |(i, j)| ((7 * i + 3 * j) as f64).sin());
    let y = ndarray::Array1::from_iter(x.rows().into_iter().map(|r| r[0] - 2.0 * r[1]));
    let posterior = |order: &[usize]| {
        let rows = ndarray::Axis(0);
        let data = Dataset::regression(x.select(rows, order), y.select(rows, order)).unwrap();
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
        let linear = Linear::new(2, 1).unwrap();
        Posterior::new(linear, Gaussian::fixed(0.5).unwrap(), &data, priors).unwrap()
    };
    let folder = folder();
    let run = |order: &[usize], draws| {
        Sampler::new(&posterior(order), Sgld::new(Minibatch { size: 8 }))
            .warmup(20)
            .draws(draws)
            .checkpoint(folder.path().join("run"), Every::default())
            .run()
    };
    let order: Vec<usize> = (0..400).collect();
    // Views of a target have its data.
    let whole = posterior(&order);
    let reference = Normal::new(0.0, 1.0).unwrap();
    let checksum = whole.data_checksum().unwrap();
    assert_eq!(posterior(&order).data_checksum(), Some(checksum));
    for view in [
        Target::data_checksum(&&whole),
        Tempered::new(&whole, 0.5).unwrap().data_checksum(),
        Conditioned::new(&whole, &["b".to_string()]).unwrap().data_checksum(),
        WithReference::new(&whole, reference).data_checksum(),
        whole.log_likelihood().data_checksum(),
    ] {
        assert_eq!(view, Some(checksum));
    }
    assert_eq!(gaussian().data_checksum(), None);
    run(&order, 20).unwrap();
    let mut other = order.clone();
    other.swap(380, 390);
    // The checksums themselves are not the same on every processor.
    let Err(Error::Checkpoint { problem, .. }) = run(&other, 30) else { panic!("another order") };
    assert!(problem.contains("`checksum of the data` is "), "{problem}");
    // The response of another row while x is the same, and the other way about.
    let (mut other_x, mut other_y) = (x.clone(), y.clone());
    other_x.swap((380, 1), (390, 1));
    other_y.swap(380, 390);
    for (x, y) in [(x.clone(), other_y), (other_x, y.clone())] {
        let data = Dataset::regression(x, y).unwrap();
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
        let linear = Linear::new(2, 1).unwrap();
        let other = Posterior::new(linear, Gaussian::fixed(0.5).unwrap(), &data, priors).unwrap();
        assert_ne!(other.data_checksum(), Some(checksum));
    }
    assert_eq!(run(&order, 30).unwrap().n_draws(), 30);
}

#[test]
fn no_file_holds_the_path_of_a_type() {
    let folder = folder();
    let target = gaussian();
    let rows = OnDisk { path: folder.path().join("rows"), every: 5, keep: Keep::All };
    let algorithm = bnn_mcmc::sampler::Cycle(Mala::default(), Rwm::default());
    Sampler::new(&target, algorithm)
        .draws(20)
        .checkpoint(folder.path().join("run"), Every::default())
        .run_with(&(Moments, rows))
        .unwrap();
    let head = fs::read(folder.path().join("run")).unwrap();
    let holds = |text: &[u8]| head.windows(text.len()).any(|window| window == text);
    assert!(!holds(b"::"), "a type's path is in the head");
    assert!(holds(b"Cycle(Mala, Rwm)") && holds(b"(Moments, OnDisk)"));
    // The number of a run is the same for all compilers, and wherever modules move.
    let rows = ChainFile::open(folder.path().join("rows.chain0")).unwrap();
    assert_eq!(rows.run(), crc32fast::hash(b"0 4 1000 1 Cycle(Mala, Rwm) on q[2]"));
}

#[test]
fn a_large_file_that_is_no_checkpoint_is_not_read() {
    let folder = folder();
    let path = folder.path().join("run");
    run(&path, 10).unwrap();
    File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let error = run(&path, 10).unwrap_err();
    assert!(error.is_checkpoint(), "{error}");
}

/// Heads that are damaged and have the right checksum nevertheless: sizes in them may claim anything.
#[test]
fn sizes_in_a_head_are_not_trusted() {
    let folder = faulty_folder();
    let path = folder.path().join("run");
    run(&path, 12).unwrap();
    let intact = fs::read(&path).unwrap();
    let sealed = |change: &dyn Fn(&mut [u8])| {
        let mut head = intact.clone();
        change(&mut head);
        let crc = crc32fast::hash(&head[32..]).to_le_bytes();
        head[28..32].copy_from_slice(&crc);
        fs::write(&path, &head).unwrap();
        run(&path, 12)
    };
    assert_same(&sealed(&|_| {}).unwrap(), &uninterrupted(12));
    // Bytes, text, an array, a map of 2^63 - 1 items.
    let (mut refused, mut cases) = (0, 0);
    for at in 32..intact.len() - 9 {
        for kind in [0x5b, 0x7b, 0x9b, 0xbb] {
            let found = sealed(&|head| {
                head[at..at + 9].fill(0xff);
                head[at..at + 2].copy_from_slice(&[kind, 0x7f]);
            });
            refused += usize::from(found.is_err_and(|e| e.is_checkpoint()));
            cases += 1;
        }
    }
    // The others are numbers that now have other digits.
    assert!(refused > cases / 2, "{refused} of {cases}");
    // Draws of a chain that neither file has, or fewer than they have.
    let done: Vec<usize> =
        (0..intact.len() - 7).filter(|i| intact[*i..].starts_with(b"done\x82\x14")).collect();
    assert_eq!(done.len(), 2, "chains");
    for draws in [11, 13, 0] {
        // The folder is not one that `said!` knows.
        let Err(Error::Checkpoint { problem, .. }) = sealed(&|head| head[done[1] + 6] = draws)
        else {
            panic!("{draws} draws")
        };
        said!(problem);
    }
}

/// Damages files of several runs in many ways: a resume gives the right draws or an error that leaves
/// the files as they are.
fn damage(cases: usize, seed: u64) {
    /// Head and draws.
    type Pair = [Vec<u8>; 2];
    type Change = fn(Sampler<'_, GaussianTarget, Mala>) -> Sampler<'_, GaussianTarget, Mala>;
    let read = |path: &Path| -> Pair {
        [path.to_path_buf(), path.with_extension("draws")].map(|file| fs::read(file).unwrap())
    };
    let folder = faulty_folder();
    let path = folder.path().join("run");
    // This run at four times, and three others.
    let mut runs: Vec<Pair> = Vec::new();
    for draws in [0, 6, 12, 15] {
        run(&path, draws).unwrap();
        runs.push(read(&path));
    }
    let target = gaussian();
    let others: [(&str, Change); 3] = [
        ("seed", |s| s.seed(6)),
        ("chains", |s| s.chains(3)),
        ("keep", |s| s.keep(Keep::Statistics)),
    ];
    for (name, other) in others {
        let path = folder.path().join(name);
        other(sampler(&target, 12)).checkpoint(&path, Every::Draws(10)).run().unwrap();
        runs.push(read(&path));
    }
    let whole = uninterrupted(15);
    let mut rng = ChainRng::new(seed, 0);
    let mut below = |n: usize| rng.random_range(0..n);
    let (mut exact, mut refused) = (0, 0);
    for case in 0..cases {
        let mut pair = runs[below(4)].clone();
        let intact = pair.clone();
        let which = below(2);
        let length = pair[which].len();
        let (from, to) = (below(length + 1), below(length + 1));
        let (from, to) = (from.min(to), from.max(to));
        let other = runs[below(runs.len())][below(2)].clone();
        let bytes = &mut pair[which];
        match below(9) {
            // Single bits, in all places.
            0 if length > 0 => {
                (0..1 + below(3)).for_each(|_| bytes[below(length)] ^= 1 << below(8))
            }
            1 => bytes.truncate(from),
            2 => (from..to).for_each(|i| bytes[i] = below(256) as u8),
            // A page that was never written.
            3 => bytes[from..to].fill(0),
            4 => drop(bytes.splice(from..to, other)),
            // Of another moment of this run, of another run, or of the other kind.
            5 => *bytes = other,
            // The beginning of one, the end of another.
            6 => {
                let cut = from.min(other.len());
                bytes.truncate(cut);
                bytes.extend_from_slice(&other[cut..]);
            }
            7 => pair.swap(0, 1),
            _ => bytes.extend((0..1 + below(100)).map(|_| below(256) as u8)),
        }
        for (file, bytes) in ["run", "run.draws"].iter().zip(&pair) {
            fs::write(folder.path().join(file), bytes).unwrap();
        }
        match run(&path, 15) {
            Ok(draws) => {
                assert!(draws.n_draws() == 15 && begins(&draws, &whole), "case {case}");
                exact += 1;
            }
            Err(error) => {
                assert!(error.is_checkpoint(), "case {case}: {error}");
                let is_named = matches!(&error, Error::Checkpoint { path, .. } if path.parent() == Some(folder.path()));
                assert!(is_named, "case {case}: {error}");
                assert!(read(&path) == pair && pair != intact, "case {case}: {error}");
                refused += 1;
            }
        }
    }
    println!(
        "{cases} damaged checkpoints: {refused} refused, {exact} with exactly the right draws"
    );
    assert!(exact > cases / 100 && refused > cases / 2, "{exact} {refused}");
}

#[test]
fn damage_is_refused_or_harmless() {
    damage(3000, 1);
}

#[test]
#[ignore = "takes minutes; run by hand, see the top of this file"]
fn much_damage_is_refused_or_harmless() {
    damage(120_000, 2);
}
