//! One transition of each kernel, random numbers included, on the networks of `problems`.
//!
//!     cargo bench --bench step
//!
//! The floor of a MALA step is one gradient, of a random-walk step one log density: both are timed
//! beside the steps. HMC takes 8 leapfrog steps and NUTS 7, so many gradients are their floor: the
//! momentum, the energies, the tree and its scalar products come on top. SMMALA is timed where its
//! matrices are small; what they cost is in the bench `second_order`.

use std::hint::black_box;

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Fisher, Kernel, Smmala, SoftAbs};
use bnn_mcmc::target::{FisherTarget, HessTarget, Point};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

#[allow(dead_code)]
mod problems;

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

fn all<T: GradTarget>(criterion: &mut Criterion, key: char, target: &T) {
    let q = problems::theta0(key);
    let (mut ws, mut grad) = (target.workspace(), vec![0.0; q.len()]);
    criterion.bench_with_input(BenchmarkId::new("log density", key), &key, |b, _| {
        b.iter(|| target.log_density(black_box(&q), &mut ws));
    });
    criterion.bench_with_input(BenchmarkId::new("gradient", key), &key, |b, _| {
        b.iter(|| target.log_density_grad(black_box(&q), &mut grad, &mut ws));
    });
    let step_size = 1e-3;
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

fn steps(criterion: &mut Criterion) {
    all(criterion, 'c', &problems::network_categorical('c'));
    all(criterion, 'd', &problems::network_gaussian('d'));
    local(criterion, 'c', &problems::network_categorical('c'));
    local(criterion, 'd', &problems::network_gaussian('d'));
    all(criterion, 'f', &problems::network_categorical('f'));
}

criterion_group!(benches, steps);
criterion_main!(benches);
