//! One transition of each kernel, random numbers included, on the networks of `problems`.
//!
//!     cargo bench --bench step
//!
//! The floor of a MALA step is one gradient, of a random-walk step one log density: both are timed
//! beside the steps. HMC takes 8 leapfrog steps and NUTS 7, so many gradients are their floor: the
//! momentum, the energies, the tree and its scalar products come on top. SMMALA is timed where its
//! matrices are small; what they cost is in the bench `second_order`. Power posteriors over MALA have 13
//! rungs on one thread: their floor is 12 gradients and one log density.

use std::hint::black_box;

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel};
use bnn_mcmc::targets::{
    BoxSupport, FisherTarget, HessTarget, MinibatchTarget, Point, PowerGradTarget,
};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

/// A target in the box [-3, 3]^d.
struct Boxed<'t, T>(&'t T);

impl<T: Target> Target for Boxed<'_, T> {
    type Workspace = T::Workspace;
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn workspace(&self) -> T::Workspace {
        self.0.workspace()
    }
    fn log_density(&self, q: &[f64], ws: &mut T::Workspace) -> LogDensity {
        self.0.log_density(q, ws)
    }
}

impl<T: GradTarget> GradTarget for Boxed<'_, T> {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut T::Workspace) -> LogDensity {
        self.0.log_density_grad(q, grad, ws)
    }
}

impl<T: Target> BoxSupport for Boxed<'_, T> {
    fn bounds(&self, lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error> {
        lower.fill(-3.0);
        upper.fill(3.0);
        Ok(())
    }
}

fn step<T: Target, A: for<'t> Algorithm<&'t T>>(
    criterion: &mut Criterion,
    name: &str,
    key: char,
    target: &T,
    algorithm: &A,
) {
    let target = &target;
    let mut rng = ChainRng::new(1, 0);
    let mut kernel = algorithm.kernel(target, &rng).unwrap();
    let (mut ws, mut point) = (target.workspace(), Point::new(target.dim()));
    point.set(|q| q.copy_from_slice(&problems::theta0(key)));
    point.eval(target, &mut ws);
    criterion.bench_with_input(BenchmarkId::new(name, key), &key, |b, _| {
        b.iter(|| kernel.step(target, &mut point, &mut ws, &mut rng));
    });
}

fn all<T: MinibatchTarget + BoxSupport>(criterion: &mut Criterion, key: char, target: &T) {
    let q = problems::theta0(key);
    let (mut ws, mut grad) = (target.workspace(), vec![0.0; q.len()]);
    criterion.bench_with_input(BenchmarkId::new("log density", key), &key, |b, _| {
        b.iter(|| target.log_density(black_box(&q), &mut ws));
    });
    criterion.bench_with_input(BenchmarkId::new("gradient", key), &key, |b, _| {
        b.iter(|| target.log_density_grad(black_box(&q), &mut grad, &mut ws));
    });
    let step_size = 1e-3;
    step(criterion, "baoab", key, target, &Baoab { step_size, ..Baoab::new(FullGrad) });
    let minibatch = Minibatch { size: 64 };
    let baoab = Baoab { step_size: 1e-4, ..Baoab::new(minibatch) };
    step(criterion, "baoab, minibatches of 64", key, target, &baoab);
    let truncated = TruncatedMala { step_size, ..TruncatedMala::default() };
    step(criterion, "truncated mala, no bounds", key, target, &truncated);
    step(criterion, "truncated mala, on a box", key, &Boxed(target), &truncated);
    for (name, preconditioner) in
        [("diagonal", Preconditioner::Diagonal), ("dense", Preconditioner::Dense)]
    {
        let rwm = Rwm { step_size, preconditioner, ..Rwm::default() };
        step(criterion, &format!("rwm {name}"), key, target, &rwm);
        let mala = Mala { step_size, preconditioner, ..Mala::default() };
        step(criterion, &format!("mala {name}"), key, target, &mala);
        let (path_length, jitter, adapt_step_size) = (8.0 * step_size, 0.0, false);
        let hmc = Hmc {
            step_size,
            path_length,
            jitter,
            adapt_step_size,
            preconditioner,
            ..Hmc::default()
        };
        step(criterion, &format!("hmc 8 {name}"), key, target, &hmc);
        let path_length = Some(4.5 * step_size);
        let mams =
            Mams { step_size, path_length, adapt_step_size, preconditioner, ..Mams::default() };
        step(criterion, &format!("mams 1 to 9 {name}"), key, target, &mams);
        let (steps, path_length) = (Some(5), Some(10.0 * step_size));
        let mclmc = Mclmc {
            step_size,
            path_length,
            steps,
            adapt_step_size,
            preconditioner,
            ..Mclmc::default()
        };
        step(criterion, &format!("mclmc 5 {name}"), key, target, &mclmc);
        let nuts =
            Nuts { step_size, max_depth: 3, adapt_step_size, preconditioner, ..Nuts::default() };
        step(criterion, &format!("nuts 7 {name}"), key, target, &nuts);
    }
}

fn local<T: HessTarget + FisherTarget>(criterion: &mut Criterion, key: char, target: &T) {
    let step_size = 1e-3;
    let soft = Smmala { step_size, ..Smmala::<SoftAbs>::default() };
    step(criterion, "smmala softabs", key, target, &soft);
    step(criterion, "smmala fisher", key, target, &Smmala { step_size, ..Smmala::new(Fisher) });
}

fn population<T: PowerGradTarget>(criterion: &mut Criterion, key: char, target: &T) {
    let mala = Mala { step_size: 1e-3, ..Mala::default() };
    let name = "power posteriors, 13 rungs of mala";
    step(criterion, name, key, target, &PowerPosteriors::new(mala));
}

fn steps(criterion: &mut Criterion) {
    all(criterion, 'c', &problems::network_categorical('c'));
    all(criterion, 'd', &problems::network_gaussian('d'));
    all(criterion, 'f', &problems::network_categorical('f'));
    local(criterion, 'c', &problems::network_categorical('c'));
    local(criterion, 'd', &problems::network_gaussian('d'));
    // From here on this thread is the whole pool: rungs run one after the other.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    let _pool = pool.build().unwrap();
    population(criterion, 'c', &problems::network_categorical('c'));
    population(criterion, 'f', &problems::network_categorical('f'));
}

criterion_group!(benches, steps);
criterion_main!(benches);
