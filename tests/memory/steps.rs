//! No step allocates: neither a gradient, nor a transition, nor an adaptation outside the few
//! iterations at which a window of the warm-up ends, nor what is kept of its predictions.

use bnn_mcmc::likelihood::StudentTNoise;
use bnn_mcmc::model::LogSd;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{
    Algorithm, DelayedAcceptance, Fisher, Kernel, LangevinGradient, Smmala, SoftAbs, SurrogateHmc,
    WarmupProgress,
};
use bnn_mcmc::surrogate::{Emulator, RowSubset, Surrogate};
use bnn_mcmc::targets::{Forces, Point};

use crate::allocator::{allocations_of_thread as allocations, alone};

#[allow(dead_code)]
#[path = "../../benches/problems/mod.rs"]
mod problems;

fn check<T: GradTarget, A: for<'t> Algorithm<&'t T>>(key: char, target: &T, algorithm: &A) {
    check_from(key, &problems::theta0(key), target, algorithm);
}

fn check_from<T: GradTarget, A: for<'t> Algorithm<&'t T>>(
    key: char,
    start: &[f64],
    target: &T,
    algorithm: &A,
) {
    let target = &target;
    let mut rng = ChainRng::new(1, 0);
    let mut kernel = algorithm.kernel(target, &rng).unwrap();
    let (mut ws, mut point) = (target.workspace(), Point::new(target.dim()));
    point.set(|q| q.copy_from_slice(start));
    point.eval(target, &mut ws);
    // Some steps first: the dispatch on processor features sets itself up once, and both points of a
    // Langevin-gradient kernel get room for their drift.
    for _ in 0..50 {
        kernel.step(target, &mut point, &mut ws, &mut rng);
    }
    let total = 400;
    let mut windows = 0;
    for iteration in 0..total {
        let count = allocations(|| {
            let step = kernel.step(target, &mut point, &mut ws, &mut rng);
            std::hint::black_box(step);
        });
        assert_eq!(count, 0, "{key}, step {iteration}");
        let step = kernel.step(target, &mut point, &mut ws, &mut rng);
        let adapting =
            allocations(|| kernel.adapt(&step, &point, WarmupProgress { iteration, total }));
        windows += usize::from(adapting > 0);
    }
    assert!(windows <= 6, "{key}: adaptation allocated in {windows} iterations");
    kernel.freeze();
    assert_eq!(
        allocations(|| {
            for _ in 0..10 {
                kernel.step(target, &mut point, &mut ws, &mut rng);
            }
        }),
        0
    );
}

/// As [`check`], for kernels that ask more of a target than a gradient.
fn check_network<A>(key: char, target: &Posterior<Mlp, Gaussian>, algorithm: &A)
where
    A: for<'t> Algorithm<&'t Posterior<Mlp, Gaussian>>,
{
    check(key, target, algorithm);
}

/// As [`check`], for kernels on minibatches.
fn check_minibatch<M: Model, L: Likelihood, A>(key: char, target: &Posterior<M, L>, algorithm: &A)
where
    A: for<'t> Algorithm<&'t Posterior<M, L>>,
{
    check(key, target, algorithm);
}

/// Kernels with a surrogate, on parts of the rows.
#[test]
fn no_step_on_a_surrogate_allocates() {
    alone(|| {
        let target = problems::network_gaussian('d');
        let rows = RowSubset::new(&target, 100, 1).unwrap();
        check_surrogate(&target, rows.clone());
        check_surrogate(&target, rows.second_order(&target, &problems::theta0('d')).unwrap());
    });
}

fn check_surrogate<E: Emulator>(target: &Posterior<Mlp, Gaussian>, emulator: E) {
    let surrogate = Surrogate::new(target, emulator);
    let hmc = || Hmc { max_steps: 5, ..Hmc::default() };
    check('d', target, &DelayedAcceptance::new(&surrogate, hmc(), 2));
    check('d', target, &SurrogateHmc { surrogate: &surrogate, hmc: hmc() });
}

#[test]
fn no_step_allocates() {
    alone(|| {
        for preconditioner in [
            Preconditioner::DiagonalFromGradients,
            Preconditioner::Diagonal,
            Preconditioner::Dense,
            Preconditioner::DenseFromGradients,
        ] {
            let nuts = Nuts { preconditioner, max_depth: 5, ..Nuts::default() };
            let hmc = Hmc { preconditioner, max_steps: 20, ..Hmc::default() };
            check('b', &problems::linear_bernoulli('b'), &nuts);
            check('d', &problems::network_gaussian('d'), &nuts);
            check('d', &problems::network_gaussian('d'), &hmc);
            let tuned = Hmc { adapt_path_length: true, ..hmc };
            check('d', &problems::network_gaussian('d'), &tuned);
            let mams = Mams { preconditioner, max_steps: 20, ..Mams::default() };
            check('d', &problems::network_gaussian('d'), &mams);
            let mclmc = Mclmc { preconditioner, steps: Some(5), ..Mclmc::default() };
            check('d', &problems::network_gaussian('d'), &mclmc);
        }
        for preconditioner in
            [Preconditioner::Identity, Preconditioner::Diagonal, Preconditioner::Dense]
        {
            let mala = Mala { preconditioner, step_size: 1e-3, ..Mala::default() };
            let rwm = Rwm { preconditioner, step_size: 1e-3, ..Rwm::default() };
            check('a', &problems::linear_gaussian('a'), &mala);
            check('b', &problems::linear_bernoulli('b'), &mala);
            check('c', &problems::network_categorical('c'), &mala);
            check('d', &problems::network_gaussian('d'), &mala);
            check('d', &problems::network_gaussian('d'), &rwm);
        }
        let mala = Mala { step_size: 1e-3, ..Mala::default() };
        check('e', &problems::network_gaussian('e'), &mala);
        check('f', &problems::network_categorical('f'), &mala);
        check('g', &problems::network_gaussian('g'), &mala);
        let cycle = Cycle(
            OnBlocks::new(&["w*", "b*"], Pcn { step_size: 0.01, ..Pcn::default() }),
            Cycle(
                GibbsNoise,
                Mixture { first: mala.clone(), second: GibbsNoise, probability: 0.5 },
            ),
        );
        check_network('d', &problems::network_gaussian('d'), &cycle);
        check_network('d', &problems::network_gaussian('d'), &LangevinGradient::default());
        let nuts = Nuts { max_depth: 5, ..Nuts::default() };
        let collapsed =
            Cycle(Collapsed::new(nuts), Cycle(GibbsNoise, Collapsed::new(mala.clone())));
        check_network('d', &problems::network_gaussian('d'), &collapsed);
        let hmc = Hmc { max_steps: 10, ..Hmc::default() };
        let forced = Collapsed::new(Cycle(hmc, Mams { max_steps: 10, ..Mams::default() }));
        let forced = forced.with_forces(Forces::F32);
        check_network('d', &problems::network_gaussian('d'), &forced);
        let data = problems::data('d');
        let network = Mlp::new(&[data.n_features(), 10, 2], Activation::Tanh).unwrap();
        let priors = Priors::by_fan_in(&network);
        let by_row = Posterior::new(network, HeteroscedasticGaussian, &data, priors).unwrap();
        let nuts = Nuts { max_depth: 5, ..Nuts::default() };
        let start = problems::normals(1, by_row.layout().dim());
        let collapsed = Cycle(Collapsed::new(nuts), Collapsed::new(mala.clone()));
        check_from('d', &start, &by_row, &collapsed);
        let network = Mlp::new(&[data.n_features(), 10, 1], Activation::Tanh).unwrap();
        let priors = Priors::by_fan_in(&network)
            .with("log_degrees_of_freedom", Normal::new(2.0, 1.0).unwrap());
        let (model, noise) = (LogSd::new(network).unwrap(), StudentTNoise::heteroscedastic());
        let mixture = Posterior::new(model, noise, &data, priors).unwrap();
        let start = problems::normals(1, mixture.layout().dim());
        check_from('d', &start, &mixture, &collapsed);
        // Without bounds, with all coordinates in one box, and far outside what they want to be.
        let truncated = TruncatedMala { step_size: 1e-3, ..TruncatedMala::default() };
        check('d', &problems::network_gaussian('d'), &truncated);
        let data = problems::data('a');
        for bound in [100.0, 5.0] {
            let uniform = Uniform::new(-bound, bound).unwrap();
            let priors = Priors::all(uniform).with("log_noise_variance", uniform);
            let (model, noise) = (Linear::new(data.n_features(), 1).unwrap(), Gaussian::sampled());
            let posterior = Posterior::new(model, noise, &data, priors).unwrap();
            check('a', &posterior, &truncated);
        }
        // Eigenvalues and Cholesky factors work on memory that is handed to them.
        let soft = Smmala { step_size: 1e-3, ..Smmala::<SoftAbs>::default() };
        let fisher = Smmala { step_size: 1e-3, ..Smmala::new(Fisher) };
        check('a', &problems::linear_gaussian('a'), &soft);
        check('b', &problems::linear_bernoulli('b'), &fisher);
        check('c', &problems::network_categorical('c'), &soft);
        check('d', &problems::network_gaussian('d'), &fisher);
        check('d', &problems::network_gaussian('d'), &OnBlocks::new(&["w*"], soft));
        // Within a pool, as the loop runs its kernels: work from outside has to be handed in.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let population = PowerPosteriors::new(mala.clone());
        pool.install(|| check('c', &problems::network_categorical('c'), &population));
        // Unadjusted, with full gradients, minibatches (two tiles), and control variates.
        let baoab = Baoab { step_size: 1e-4, ..Baoab::new(Minibatch { size: 70 }) };
        check_minibatch('a', &problems::linear_gaussian('a'), &baoab);
        check_minibatch('c', &problems::network_categorical('c'), &baoab);
        let variates = ControlVariates { size: 70, mode: problems::theta0('d') };
        let obabo = Obabo { step_size: 1e-4, ..Obabo::new(variates.clone()) };
        check_minibatch('d', &problems::network_gaussian('d'), &obabo);
        let sghmc = Sghmc { step_size: 1e-4, ..Sghmc::new(variates) };
        check_minibatch('d', &problems::network_gaussian('d'), &sghmc);
        let sgld = Sgld { step_size: 1e-9, ..Sgld::new(Minibatch { size: 70 }) };
        check_minibatch('d', &problems::network_gaussian('d'), &sgld);
        check_minibatch(
            'd',
            &problems::network_gaussian('d'),
            &OnBlocks::new(&["w*"], sgld.clone()),
        );
        let population = PowerPosteriors::new(sgld);
        pool.install(|| check_minibatch('c', &problems::network_categorical('c'), &population));
        let lm = LeimkuhlerMatthews { step_size: 1e-8, ..LeimkuhlerMatthews::new(FullGrad) };
        check('d', &problems::network_gaussian('d'), &lm);
        let em = EulerMaruyama { step_size: 1e-8, ..EulerMaruyama::default() };
        check('c', &problems::network_categorical('c'), &em);
        let independence = Independence { proposal: Normal::new(0.0, 0.1).unwrap() };
        check('a', &problems::linear_gaussian('a'), &independence);
    });
}

#[test]
fn adding_a_draw_of_probabilities_does_not_allocate() {
    alone(|| {
        use bnn_mcmc::predict::RunningUncertainty;
        let mut running = RunningUncertainty::new(300, ["a", "b", "c"]).unwrap();
        let p = ndarray::Array2::from_elem((300, 3), 1.0 / 3.0);
        assert_eq!(allocations(|| running.add(p.view()).unwrap()), 0);
    });
}
