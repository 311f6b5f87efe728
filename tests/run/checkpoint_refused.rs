//! Checkpoints that cannot be trusted, or cannot be written: of another run, damaged, in use.

use std::path::Path;

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Every, Phase};
use bnn_mcmc::testing::GaussianTarget;
use proptest::prelude::*;
use serde::Serialize;
use shared::{refused, said};

use crate::checkpoint::{Files, short, without_checkpoint};
use crate::fixtures::{assert_same, gaussian};

fn problem(error: &Error) -> &str {
    let Error::Checkpoint { problem, .. } = error else { panic!("{error:?}") };
    problem
}

/// The error of a resume that must fail and must leave all files as they are.
#[track_caller]
fn left_alone(files: &Files, run: impl FnOnce() -> Result<Draws, Error>) -> Error {
    let before = files.contents();
    let error = run().expect_err("must be refused");
    assert!(files.contents() == before, "the files were changed");
    error
}

#[test]
fn another_run_is_refused_by_name() {
    type Change = fn(Sampler<'_, GaussianTarget, Mala>) -> Sampler<'_, GaussianTarget, Mala>;
    let files = Files::new();
    let run = |target: &GaussianTarget, mala: Mala, change: Change| {
        let init = Init::Points(vec![vec![0.5, 0.25]; 2]);
        change(Sampler::new(target, mala).chains(2).warmup(20).draws(20).init(init))
            .checkpoint(files.path(), Every::default())
            .run()
    };
    let same: Change = |s| s;
    run(&gaussian(), Mala::default(), same).unwrap();
    let check = |error: Error, difference: &str| {
        let begin = format!("it belongs to another run: {difference}");
        assert!(problem(&error).starts_with(&begin), "{error}");
        said!(error);
    };
    let changes: [(Change, &str); 5] = [
        (|s| s.seed(3), "`seed` is 0 there and 3 here"),
        (|s| s.warmup(21), "`warmup` is 20 there and 21 here"),
        (|s| s.thin(2), "`thin` is 1 there and 2 here"),
        (
            |s| s.chains(1).init(Init::Points(vec![vec![0.5, 0.25]])),
            "`chains` is 2 there and 1 here",
        ),
        (
            |s| s.init(Init::Points(vec![vec![0.5, 0.25], vec![0.5, 0.26]])),
            "coordinate 1 of the starting point of chain 1 is 0.25 there and 0.26 here",
        ),
    ];
    for (change, difference) in changes {
        check(left_alone(&files, || run(&gaussian(), Mala::default(), change)), difference);
    }
    // A random start has other digits on another processor.
    let random = left_alone(&files, || run(&gaussian(), Mala::default(), |s| s.init(Init::Random)));
    let difference = "coordinate 0 of the starting point of chain 0 is 0.5 there and ";
    let begin = format!("it belongs to another run: {difference}");
    assert!(problem(&random).starts_with(&begin), "{random}");
    let configs = [
        (
            Mala { step_size: 0.2, ..Mala::default() },
            "`algorithm.step_size` is 0.1 there and 0.2 here",
        ),
        (
            Mala { preconditioner: Preconditioner::Dense, ..Mala::default() },
            "`algorithm.preconditioner` is Diagonal there and Dense here",
        ),
    ];
    for (mala, difference) in configs {
        check(left_alone(&files, || run(&gaussian(), mala, same)), difference);
    }
    // Other data: the parameters are the same, the density is not.
    let other = GaussianTarget::new(vec![1.0, -2.0001], &[1.0, 0.6, 0.6, 2.0]).unwrap();
    let error = left_alone(&files, || run(&other, Mala::default(), same));
    let difference = "it belongs to another run: log likelihood at the position of chain 0 is -";
    assert!(problem(&error).starts_with(difference), "{error}");
    let wider = GaussianTarget::standard(3).unwrap();
    let error = left_alone(&files, || {
        Sampler::new(&wider, Mala::default())
            .chains(2)
            .warmup(20)
            .checkpoint(files.path(), Every::default())
            .run()
    });
    check(
        error,
        "`kept parameters` is q[2] there and q[3] here; `parameters` is q[2] there and q[3] here",
    );
    // A sampler with the same configuration is another sampler.
    #[derive(Serialize)]
    struct Twin(Mala);
    impl<T: GradTarget> Algorithm<T> for Twin {
        type Kernel = <Mala as Algorithm<T>>::Kernel;
        fn name(&self) -> String {
            "Twin".into()
        }
        fn kernel(&self, target: &T, rng: &ChainRng) -> Result<Self::Kernel, Error> {
            self.0.kernel(target, rng)
        }
    }
    let error = left_alone(&files, || {
        Sampler::new(&gaussian(), Twin(Mala::default()))
            .chains(2)
            .warmup(20)
            .init(Init::Points(vec![vec![0.5, 0.25]; 2]))
            .checkpoint(files.path(), Every::default())
            .run()
    });
    check(error, "`name of the algorithm` is Mala there and Twin here");
    run(&gaussian(), Mala::default(), same).unwrap();
}

#[test]
fn damaged_and_foreign_files_are_refused_and_left_alone() {
    let files = Files::new();
    short(&files.path(), 12).unwrap();
    let whole = files.contents();
    let (head, draws) = (&whole[0].1, &whole[1].1);
    // The problem with a file that holds these bytes: a resume leaves it alone.
    let found = |file: &Path, bytes: &[u8]| {
        std::fs::write(file, bytes).unwrap();
        let error = left_alone(&files, || short(&files.path(), 20));
        let at = std::fs::read(file).unwrap() == bytes;
        for (file, bytes) in &whole {
            std::fs::write(file, bytes).unwrap();
        }
        assert!(at);
        problem(&error).to_string()
    };
    let check = |file: &Path, bytes: &[u8], begin: &str| {
        let problem = found(file, bytes);
        assert!(problem.starts_with(begin), "{problem}");
    };
    said!(found(&files.path(), b""));
    let csv = found(&files.path(), b"chain,draw,a\n0,0,1.5\n0,1,2.5\n0,2,3.5\n");
    said!(csv);
    assert_eq!(found(&files.path(), &std::fs::read("../Cargo.lock").unwrap()), csv);
    // Of these words only the sizes differ.
    let truncated = "it is truncated";
    check(&files.path(), &[head.clone(), vec![0]].concat(), "it is truncated or damaged");
    check(&files.draws(), b"", "it is truncated: 0 bytes are left of");
    let step = 1 + head.len() / 97;
    for n in (1..head.len()).step_by(step) {
        check(&files.path(), &head[..n], truncated);
    }
    for n in (1..draws.len()).step_by(1 + draws.len() / 47) {
        check(&files.draws(), &draws[..n], truncated);
    }
    for i in (0..head.len()).step_by(step) {
        let mut bytes = head.clone();
        bytes[i] ^= 1 << (i % 8);
        match i {
            0..16 => assert_eq!(found(&files.path(), &bytes), csv),
            16..20 => check(&files.path(), &bytes, "its format has version "),
            20..28 => check(&files.path(), &bytes, "it is truncated or damaged"),
            _ => check(&files.path(), &bytes, "it is damaged"),
        }
    }
    for i in (0..draws.len()).step_by(1 + draws.len() / 47) {
        let mut bytes = draws.clone();
        bytes[i] ^= 1 << (i % 8);
        said!(found(&files.draws(), &bytes));
    }
    let mut newer = head.clone();
    newer[16] += 1;
    said!(found(&files.path(), &newer));

    // One of the two files alone.
    std::fs::remove_file(files.draws()).unwrap();
    assert!(left_alone(&files, || short(&files.path(), 20)).is_io());
    std::fs::write(files.draws(), draws).unwrap();
    std::fs::remove_file(files.path()).unwrap();
    let error = left_alone(&files, || short(&files.path(), 20));
    refused!(Err::<(), _>(error), Checkpoint {});
    std::fs::write(files.path(), head).unwrap();
    assert_same(&short(&files.path(), 20).unwrap(), &without_checkpoint(20));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever happens to the files, a resume gives the right draws or an error that leaves them
    /// as they are, never a panic.
    #[test]
    fn no_damage_panics_or_slips_through(
        which in 0..2usize,
        kind in 0..4usize,
        (at, to) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        garbage in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let files = Files::new();
        short(&files.path(), 12).unwrap();
        let (file, mut bytes) = files.contents().swap_remove(which);
        let (at, to) = (at.index(bytes.len()), to.index(bytes.len()));
        let (low, high) = (at.min(to), at.max(to));
        match kind {
            0 => bytes.truncate(at),
            1 => drop(bytes.splice(low..high, garbage)),
            2 => bytes.iter_mut().skip(at).zip(garbage).for_each(|(b, g)| *b = g),
            _ => bytes.swap(at, to),
        }
        std::fs::write(&file, &bytes).unwrap();
        let before = files.contents();
        match short(&files.path(), 15) {
            Ok(draws) => assert_same(&draws, &without_checkpoint(15)),
            Err(error) => {
                prop_assert!(error.is_checkpoint(), "{error}");
                prop_assert!(files.contents() == before);
            }
        }
    }
}

#[test]
fn a_checkpoint_that_cannot_be_written_loses_nothing() {
    // Before the run: an error, at once.
    refused!(short(Path::new("/nowhere/at/all"), 10), Io {});
    let target = gaussian();
    for every in [Every::Draws(0), Every::Seconds(-1.0), Every::Seconds(f64::NAN)] {
        let files = Files::new();
        let run = Sampler::new(&target, Rwm::default()).checkpoint(files.path(), every).run();
        refused!(run, Argument { name: "every" });
        assert!(files.contents().is_empty());
    }

    // During the run: a folder stands where the temporary file should be, for a while or for good.
    for for_good in [false, true] {
        let files = Files::new();
        let mut failures = 0;
        let draws = Sampler::new(&target, Mala::default())
            .chains(2)
            .warmup(60)
            .draws(100)
            .seed(5)
            .checkpoint(files.path(), Every::Draws(10))
            .on_progress(|p| {
                failures += usize::from(p.checkpoint_failed);
                match (p.phase, p.done) {
                    (Phase::Sampling, 30) => std::fs::create_dir(files.temporary()).unwrap(),
                    (Phase::Sampling, 80) if !for_good => {
                        std::fs::remove_dir(files.temporary()).unwrap()
                    }
                    _ => {}
                }
            })
            .run()
            .unwrap();
        assert!(failures >= 5, "{failures}");
        assert_same(&draws, &without_checkpoint(100));
        let error = &draws.info().checkpoint_error;
        assert_eq!(error.is_some(), for_good, "{error:?}");
        if for_good {
            said!(error.as_ref().unwrap());
            std::fs::remove_dir(files.temporary()).unwrap();
        }
        assert_same(&short(&files.path(), 110).unwrap(), &without_checkpoint(110));
    }
}

#[test]
fn two_runs_cannot_share_a_checkpoint() {
    let files = Files::new();
    let target = gaussian();
    let mut second = None;
    Sampler::new(&target, Mala::default())
        .chains(2)
        .warmup(60)
        .draws(30)
        .seed(5)
        .checkpoint(files.path(), Every::default())
        .on_progress(|_| second = Some(short(&files.path(), 30)))
        .run()
        .unwrap();
    refused!(second.unwrap(), Checkpoint { problem: "another process is using this checkpoint" });
}
