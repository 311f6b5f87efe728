//! Rows and rungs on several ranks: the same bits for any number of them, also where a run goes on with another number. The ranks are threads
//! here; `crates/mpi` has them as processes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bnn_mcmc::data::{RowFile, Stored};
use bnn_mcmc::draws::LadderReport;
use bnn_mcmc::evidence::Evidence;
use bnn_mcmc::posterior::OnRanks;
use bnn_mcmc::prelude::*;
use bnn_mcmc::ranks::{self, Ranks};
use bnn_mcmc::sampler::{Algorithm, Every, Ladder, PowerPosteriors, Swaps};
use bnn_mcmc::targets::Forces;
use ndarray::Array2;
use serde::Serialize;
use shared::refused;

use crate::fixtures::assert_same;

/// Rows enough for four shares of a network with 346 weights.
const ROWS: usize = 17_000;

fn rows(n: usize) -> Dataset {
    let x = Array2::from_shape_fn((n, 5), |(i, j)| ((7 * i + 3 * j * j) as f64 * 0.37).sin());
    let y = x.column(0).mapv(|x| (2.0 * x).tanh()) + x.column(1).mapv(|x| 0.3 * (40.0 * x).sin());
    Dataset::regression(x, y).unwrap()
}

fn network(units: usize) -> Mlp {
    Mlp::new(&[5, units, units, 1], Activation::Tanh).unwrap()
}

fn noisy() -> Priors {
    let of_noise = LogInverseGamma::new(2.0, 0.5).unwrap();
    Priors::all(Normal::new(0.0, 0.5).unwrap()).with("log_noise_variance", of_noise)
}

/// What rank 0 returns; the others return nothing.
fn on_rank_0<R: Send>(size: usize, work: impl Fn(Arc<dyn Ranks>) -> Option<R> + Sync) -> R {
    let mut results = ranks::local(size, work);
    assert_eq!(results.iter().filter(|result| result.is_some()).count(), 1);
    results.remove(0).unwrap()
}

fn same_rows_for_any_ranks<M, L, A>(posterior: &Posterior<M, L>, algorithm: A)
where
    M: Model,
    L: bnn_mcmc::likelihood::Likelihood,
    A: Clone + Sync,
    A: for<'t> Algorithm<&'t Posterior<M, L>>,
    A: for<'t, 'p> Algorithm<&'t OnRanks<'p, M, L>>,
{
    let start = Init::Around { centre: vec![0.0; posterior.dim()], sd: 0.3 };
    let alone = Sampler::new(posterior, algorithm.clone());
    let alone = alone.chains(2).warmup(1).draws(2).init(start.clone()).run().unwrap();
    for size in 1..=4 {
        let draws = on_rank_0(size, |ranks| {
            posterior.on_ranks(&ranks, |target| {
                let run = Sampler::new(target, algorithm.clone()).chains(2).warmup(1).draws(2);
                run.threads(2).init(start.clone()).run().unwrap()
            })
        });
        assert_same(&draws, &alone);
        assert_eq!(draws.info().target, alone.info().target);
    }
}

#[test]
fn rows_on_ranks_give_the_same_bits() {
    let data = rows(ROWS);
    let gaussian = Posterior::new(network(15), Gaussian::sampled(), &data, noisy()).unwrap();
    let hmc = || Hmc { path_length: 3e-3, step_size: 1e-3, ..Hmc::default() };
    same_rows_for_any_ranks(&gaussian, hmc());
    same_rows_for_any_ranks(&gaussian, Rwm::default());
    same_rows_for_any_ranks(&gaussian, Collapsed::new(hmc()).with_forces(Forces::F64));
    same_rows_for_any_ranks(&gaussian, Collapsed::new(hmc()).with_forces(Forces::F32));
    let weights: Vec<f64> = (0..ROWS).map(|i| f64::from(1 + i as u32 % 3)).collect();
    let weighted = data.clone().with_weights(weights).unwrap();
    let by_row = Posterior::new(network(15), Gaussian::sampled(), &weighted, noisy()).unwrap();
    same_rows_for_any_ranks(&by_row, Collapsed::new(hmc()));
    let single = network(15).in_f32();
    let single = Posterior::new(single, Gaussian::sampled(), &data, noisy()).unwrap();
    same_rows_for_any_ranks(&single, hmc());
}

/// Fewer shares than ranks, also one: rank 0 has all, and the others what is left.
#[test]
fn ranks_may_have_no_rows() {
    for n in [200, 9_000] {
        let posterior =
            Posterior::new(network(15), Gaussian::sampled(), &rows(n), noisy()).unwrap();
        same_rows_for_any_ranks(
            &posterior,
            Collapsed::new(Mala { step_size: 1e-3, ..Mala::default() }),
        );
    }
}

/// Each rank opens the file, and reads its own rows; draws go on in one process.
#[test]
fn rows_of_a_file_on_ranks_go_on_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    let mut writer = RowFile::create(&path, Stored::F32).unwrap();
    writer.push(&rows(ROWS)).unwrap();
    writer.finish().unwrap();
    let posterior = || {
        let rows = RowFile::open(&path).unwrap();
        Posterior::on_file(network(15), Gaussian::sampled(), &rows, noisy()).unwrap()
    };
    let hmc = Hmc { path_length: 3e-3, step_size: 1e-3, ..Hmc::default() };
    let alone = posterior();
    let whole = Sampler::new(&alone, hmc.clone()).chains(1).warmup(2).draws(6).run().unwrap();
    let checkpoint = folder.path().join("checkpoint");
    let draws = |size, draws| {
        on_rank_0(size, |ranks| {
            posterior().on_ranks(&ranks, |target| {
                let run = Sampler::new(target, hmc.clone()).chains(1).warmup(2).draws(draws);
                run.checkpoint(&checkpoint, Every::Draws(1)).run().unwrap()
            })
        })
    };
    draws(3, 2);
    draws(2, 4);
    let rest = Sampler::new(&alone, hmc.clone()).chains(1).warmup(2).draws(6);
    assert_same(&rest.checkpoint(&checkpoint, Every::Draws(1)).run().unwrap(), &whole);
}

/// The precisions of rows, which rank 0 draws, are not on the other ranks.
#[test]
fn student_t_noise_is_not_integrated_on_ranks() {
    let noise = StudentTNoise::sampled();
    let of_scale = LogInverseGamma::new(2.0, 0.5).unwrap();
    let mut priors = Priors::all(Normal::new(0.0, 0.5).unwrap());
    for block in noise.layout().block_names() {
        priors = priors.with(&block, of_scale);
    }
    let posterior = Posterior::new(network(3), noise, &rows(50), priors).unwrap();
    let result = on_rank_0(2, |ranks| {
        posterior.on_ranks(&ranks, |target| {
            Sampler::new(target, Collapsed::new(Nuts::default())).draws(1).run()
        })
    });
    refused!(result, Argument { name: "likelihood" });
}

/// All draws, statistics, and what is said of the ladder.
fn assert_same_ladder(a: &Draws, b: &Draws) {
    assert_same(a, b);
    let ladders = |draws: &Draws| -> Vec<LadderReport> {
        draws.info().reports.iter().map(|report| report.ladder.clone().unwrap()).collect()
    };
    assert_eq!(format!("{:?}", ladders(a)), format!("{:?}", ladders(b)));
    let evidence = |draws: &Draws| Evidence::of(draws).map(|evidence| format!("{evidence:?}"));
    assert_eq!(evidence(a).ok(), evidence(b).ok());
}

fn same_ladder_for_any_ranks<A>(algorithm: A)
where
    A: Clone + Sync + Serialize,
    A: for<'t> Algorithm<bnn_mcmc::targets::Tempered<&'t Posterior<Mlp, Gaussian>>> + Send,
{
    let network = Mlp::new(&[5, 3, 1], Activation::Tanh).unwrap();
    let posterior = &Posterior::new(network, Gaussian::sampled(), &rows(40), noisy()).unwrap();
    let ladder = Ladder::Power { rungs: 7, exponent: 4.0 };
    let swaps = Swaps::Categorical { decay: 0.5 };
    let algorithm = PowerPosteriors { ladder, swaps, ..PowerPosteriors::new(algorithm) };
    let sampler = |algorithm, draws| {
        Sampler::new(posterior, algorithm).chains(2).warmup(120).draws(draws).threads(2)
    };
    let whole = sampler(algorithm.clone(), 30).run().unwrap();
    for size in 1..=4 {
        let draws = on_rank_0(size, |ranks| {
            algorithm.on_ranks(&ranks, posterior, |algorithm| sampler(algorithm, 30).run().unwrap())
        });
        assert_same_ladder(&draws, &whole);
    }
    // In the midst of warm-up, and later, with other ranks each time.
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("checkpoint");
    for (size, draws, stops) in [(3, 30, true), (2, 10, false), (4, 20, false), (1, 30, false)] {
        let stop = StopHandle::new();
        let draws = on_rank_0(size, |ranks| {
            algorithm.on_ranks(&ranks, posterior, |algorithm| {
                let run = sampler(algorithm, draws).checkpoint(path, Every::Draws(7));
                let handle = stop.clone();
                let run = run.stop_handle(&stop).on_progress(move |progress| {
                    if stops && progress.done > 20 {
                        handle.stop();
                    }
                });
                run.run().unwrap()
            })
        });
        assert_eq!(draws.info().stopped_early, stops);
        if draws.n_draws() == 30 {
            assert_same_ladder(&draws, &whole);
        }
    }
    assert_same_ladder(
        &sampler(algorithm, 30).checkpoint(path, Every::Draws(7)).run().unwrap(),
        &whole,
    );
}

#[test]
fn rungs_on_ranks_give_the_same_bits() {
    same_ladder_for_any_ranks(Nuts::default());
    same_ladder_for_any_ranks(Collapsed::new(Mams::default()));
}

/// What fails on a rank ends all of them: another posterior, and an evaluation.
#[test]
fn a_rank_that_fails_ends_all() {
    let posterior =
        |units| Posterior::new(network(units), Gaussian::sampled(), &rows(50), noisy()).unwrap();
    let message = |own: &(dyn Fn(usize) -> bool + Sync)| {
        let run = || {
            ranks::local(3, |ranks| {
                let posterior = posterior(if own(ranks.rank()) { 3 } else { 4 });
                posterior.on_ranks(&ranks, |target| {
                    let mut ws = target.workspace();
                    target.log_density(&[0.0; 4], &mut ws)
                });
            })
        };
        catch_unwind(AssertUnwindSafe(run)).unwrap_err()
    };
    // The first rank whose thread is waited for is rank 0, which misses the others or cannot evaluate.
    drop(message(&|rank| rank != 2));
    drop(message(&|_| true));
}
