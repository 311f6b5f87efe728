//! Results that do not fit into memory are refused, with their size, before anything is allocated.

use bnn_mcmc::data::simulate::{Classification, Regression};
use bnn_mcmc::data::{CsvReader, IdxReader};
use bnn_mcmc::draws::recorder::ChainPlan;
use bnn_mcmc::memory::set_limit;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Smmala, SoftAbs};
use bnn_mcmc::testing::Invariance;
use ndarray::{Array1, Array2, Array3};
use shared::refused;

use crate::allocator::{alone, given, peak};

fn data(rows: usize) -> Dataset {
    Dataset::regression(Array2::zeros((rows, 1)), Array1::zeros(rows)).unwrap()
}

/// A line with known noise; two parameters.
fn line() -> Posterior<Linear, Gaussian> {
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let linear = Linear::new(1, 1).unwrap();
    Posterior::new(linear, Gaussian::fixed(1.0).unwrap(), &data(3), priors).unwrap()
}

/// 4 chains of 1,000 draws of a line at 10^6 rows are 96 GB of predictions.
#[test]
fn predictions_larger_than_memory_are_refused_with_a_way_out() {
    alone(|| {
        set_limit(Some(1 << 30));
        let (posterior, many) = (line(), data(1_000_000));
        let draws = Draws::new(posterior.layout().clone(), Array3::zeros((4, 1000, 2))).unwrap();
        refused!(posterior.predict(&draws, &many), Memory { name: "predictions" });
        let mean = posterior.predict_mean(&draws, many.x().view());
        refused!(mean, Memory { name: "predictions" });
        set_limit(Some(7_999_999));
        let at = posterior.predict_at(&[0.0, 0.0], many.x().view());
        refused!(at, Memory { name: "predictions" });
        set_limit(Some(8_000_000));
        assert!(posterior.predict_at(&[0.0, 0.0], many.x().view()).is_ok());
    });
}

/// To the byte, before anything is made of the text.
#[test]
fn files_larger_than_memory_are_refused() {
    alone(|| {
        let table =
            || CsvReader::regression("y").read("kind,y\nleft,1\nright,2\nleft,3\n".as_bytes());
        let images = [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3][..], &[0; 6]].concat();
        let labels = [0, 0, 8, 1, 0, 0, 0, 2, 4, 7];
        let images = || IdxReader::new().read(&images[..], &labels[..]);
        let draws = || Draws::read_csv("chain,a\n0,1\n0,2\n1,3\n1,4\n".as_bytes(), "memory");
        set_limit(Some(3 * 3 * 8 - 1));
        refused!(table(), Memory { name: "data set of input" });
        set_limit(Some(3 * 3 * 8));
        assert!(table().is_ok());
        set_limit(Some(2 * 3 * 8 - 1));
        refused!(images(), Memory { name: "data set of images" });
        set_limit(Some(2 * 3 * 8));
        assert!(images().is_ok());
        set_limit(Some(2 * 2 * 8 - 1));
        refused!(draws(), Memory { name: "draws of memory" });
        set_limit(Some(2 * 2 * 8));
        assert!(draws().is_ok());
    });
}

/// To the byte; and what is simulated takes its table, and nothing else that grows with the rows.
#[test]
fn simulated_tables_larger_than_memory_are_refused() {
    alone(|| {
        let (rows, features, informative) = (20_000, 100, 10);
        let regression = Regression { rows, features, informative, ..Regression::default() };
        let classification =
            Classification { rows, features, informative, ..Classification::default() };
        let bytes = 20_000 * 101 * 8;
        let draw = [&|| regression.draw(1), &|| classification.draw(1)] as [&dyn Fn() -> _; 2];
        for draw in draw {
            set_limit(Some(bytes as u64 - 1));
            refused!(draw(), Memory { name: "simulated table" });
            set_limit(Some(bytes as u64));
            let (data, most) = peak(|| draw().unwrap());
            assert_eq!(data.x().dim(), (rows, features));
            assert!(most < bytes + 100_000, "{most} of {bytes}");
            // What the limit allows, the system may still refuse.
            drop(data);
            refused!(given(bytes / 2, draw), Memory { name: "simulated table" });
            refused!(given(bytes - 80_000, draw), Memory { name: "simulated table" });
        }
        let wide = Classification { informative: 50, redundant: 0, ..classification };
        set_limit(Some(4 * 51 * 50 * 8 - 1));
        refused!(wide.clusters(1), Memory { name: "matrices of the clusters" });
        set_limit(Some(4 * 51 * 50 * 8));
        assert!(wide.clusters(1).is_ok());
    });
}

/// To the byte, over all chains.
#[test]
fn what_just_fits_is_computed() {
    alone(|| {
        let posterior = line();
        let draws = Draws::new(posterior.layout().clone(), Array3::zeros((4, 10, 2))).unwrap();
        let bytes = 4 * 10 * 3 * 3 * 8;
        set_limit(Some(bytes));
        assert!(posterior.predict(&draws, &data(3)).is_ok());
        set_limit(Some(bytes - 1));
        refused!(posterior.predict(&draws, &data(3)), Memory { name: "predictions" });
    });
}

/// Sizes that fit for one chain, but not for all of them.
#[test]
fn draws_and_records_are_summed_over_chains() {
    alone(|| {
        let posterior = line();
        // 2 parameters and 6 to 9 statistics: 128 to 176 bytes for a draw and its copy.
        set_limit(Some(250_000));
        let run = |chains| {
            Sampler::new(&posterior, Rwm::default()).chains(chains).warmup(10).draws(1000).run()
        };
        assert!(run(1).is_ok());
        refused!(run(4), Memory { name: "draws" });
        refused!(run(usize::MAX), Memory { name: "chains" });

        let plan =
            |chains| ChainPlan { chain: 0, chains, chains_here: chains, draws: 1000, run: 0 };
        let recorder = EveryKth { every: 1, keep: Keep::All };
        set_limit(Some(8000));
        assert!(recorder.begin(&posterior, plan(1), None).is_ok());
        let begun = recorder.begin(&posterior, plan(2), None);
        refused!(begun, Memory { name: "recorded draws" });

        set_limit(Some(2 * 2 * 2 * 8));
        assert!(Moments.begin(&posterior, plan(2), None).is_ok());
        set_limit(Some(2 * 2 * 2 * 8 - 1));
        let begun = Moments.begin(&posterior, plan(2), None);
        refused!(begun, Memory { name: "recorded moments" });

        let x = data(100);
        let streamed = StreamedMoments::new(&posterior, x.x().view()).unwrap();
        set_limit(Some(100 * 5 * 8));
        assert!(streamed.begin(&posterior, plan(1), None).is_ok());
        let begun = streamed.begin(&posterior, plan(2), None);
        refused!(begun, Memory { name: "streamed predictions" });

        // Of each input the mean, sum and votes of all classes, and the sum of entropies.
        let names: Vec<String> = (0..10).map(|class| class.to_string()).collect();
        let classes =
            Dataset::classification(Array2::zeros((10, 1)), (0..10).collect(), names).unwrap();
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
        let linear = Linear::new(1, 10).unwrap();
        let posterior = Posterior::new(linear, Categorical, &classes, priors).unwrap();
        let streamed = StreamedUncertainty::new(&posterior, x.x().view()).unwrap();
        let bytes = 2 * 100 * (3 * 10 + 1) * 8;
        set_limit(Some(bytes));
        assert!(streamed.begin(&posterior, plan(2), None).is_ok());
        set_limit(Some(bytes - 1));
        let begun = streamed.begin(&posterior, plan(2), None);
        refused!(begun, Memory { name: "streamed predictions" });
    });
}

/// What the check says fits, and the system does not give after all, is an error and not an abort.
#[test]
fn draws_that_the_system_does_not_give_are_refused() {
    alone(|| {
        let posterior = line();
        // Room for all chains, and one more for each but the first: of 9 chains 17, of which 10 are checked.
        let each = 200_000 * 9 * 8;
        let run =
            || Sampler::new(&posterior, Rwm::default()).chains(9).warmup(0).draws(200_000).run();
        refused!(given(14 * each, run), Memory { name: "draws" });
    });
}

/// Matrices count, for all chains and parts of the algorithm.
#[test]
fn matrices_are_counted_before_a_run_begins() {
    alone(|| {
        type Line = Posterior<Linear, Gaussian>;
        fn run<A>(target: &Line, algorithm: A) -> Result<Draws, Error>
        where
            for<'t> A: Algorithm<&'t Line>,
        {
            Sampler::new(target, algorithm).chains(2).warmup(0).draws(1).run()
        }
        let wide = Dataset::regression(Array2::zeros((3, 99)), Array1::zeros(3)).unwrap();
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
        let linear = Linear::new(99, 1).unwrap();
        let target = Posterior::new(linear, Gaussian::fixed(1.0).unwrap(), &wide, priors).unwrap();
        set_limit(Some(1_000_000));
        let dense = || Rwm { preconditioner: Preconditioner::Dense, ..Rwm::default() };
        assert!(run(&target, Rwm::default()).is_ok());
        assert!(run(&target, dense()).is_ok());
        let mixture = Mixture { first: dense(), second: dense(), probability: 0.5 };
        let on_blocks = OnBlocks::new(&["*"], Cycle(dense(), dense()));
        refused!(run(&target, Cycle(dense(), dense())), Memory { name: "chains" });
        refused!(run(&target, PowerPosteriors::new(dense())), Memory { name: "chains" });
        refused!(run(&target, mixture), Memory { name: "chains" });
        refused!(run(&target, on_blocks), Memory { name: "chains" });
        set_limit(Some(480_000));
        refused!(run(&target, Smmala::new(SoftAbs::default())), Memory { name: "chains" });
        let invariance = Invariance { replicates: 2, ..Invariance::default() };
        let replicated = invariance.run(&target, &dense(), |_, q| q.fill(0.0));
        refused!(replicated, Memory { name: "chains" });
    });
}

/// Kernels that are made while the ladder is adapted do not ask how much memory is left.
#[test]
fn draws_do_not_depend_on_the_memory_that_is_left() {
    alone(|| {
        let posterior = line();
        let run = |limit| {
            let sampler = Sampler::new(&posterior, PowerPosteriors::new(Rwm::default()));
            let sampler = sampler.chains(1).warmup(300).draws(50);
            let draws = sampler.on_progress(move |_| set_limit(limit)).run().unwrap();
            set_limit(None);
            draws
        };
        let (plenty, little) = (run(None), run(Some(1)));
        let betas =
            |draws: &Draws| draws.info().reports[0].ladder.clone().map(|ladder| ladder.betas);
        assert_eq!(betas(&plenty), betas(&little));
        assert_eq!(plenty.values(), little.values());
    });
}

/// A few draws of a long run, from its checkpoint.
#[test]
fn draws_that_are_not_asked_for_take_no_memory() {
    alone(|| {
        let posterior = line();
        let folder = tempfile::tempdir().unwrap();
        let run = |draws| {
            let sampler =
                Sampler::new(&posterior, Rwm::default()).chains(2).warmup(10).draws(draws);
            sampler.checkpoint(folder.path().join("run"), Every::default()).run().unwrap()
        };
        let whole = run(50_000);
        let (first, most) = peak(|| run(100));
        assert_eq!(first.values(), whole.values().slice(ndarray::s![.., ..100, ..]));
        assert!(most < 2 << 20, "{most}"); // the buffer that the file is read through has 1 MiB
    });
}

/// Blocks of leave-one-out, its result, and draws from the prior.
#[test]
fn leave_one_out_and_prior_draws_larger_than_memory_are_refused() {
    alone(|| {
        let posterior = line();
        let draws = posterior.prior_draws(4_000, 1).unwrap();
        set_limit(Some(4_000 * 3 * 8));
        assert!(posterior.loo(&draws).is_ok());
        set_limit(Some(4_000 * 3 * 8 - 1));
        refused!(posterior.loo(&draws), Memory { name: "log likelihoods" });
        refused!(posterior.loo_pit(&draws, &data(3), 1), Memory { name: "predictions" });
        refused!(posterior.prior_draws(1 << 40, 1), Memory { name: "draws" });
        set_limit(Some(100 * 32 - 1));
        let log_lik = Array3::from_shape_fn((4, 25, 100), |(c, s, i)| (c + 3 * s + 7 * i) as f64);
        let loo = Loo::from_log_likelihood(log_lik.view(), None);
        refused!(loo, Memory { name: "leave-one-out" });
    });
}
