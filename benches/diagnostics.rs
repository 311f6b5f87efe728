//! R-hat, bulk and tail ESS of one parameter of 4 x 50,000 draws (AR(1) with correlation 0.9, the
//! process of workload W4), of one of 5 x 25,000 (the shape of W4's case S, which has 200 of them),
//! and summaries of many parameters, which share plans, tables and buffers.
//!
//! For single-threaded figures: `RAYON_NUM_THREADS=1 cargo bench --bench diagnostics`.

use std::hint::black_box;

use bnn_mcmc::diagnostics::{Summary, SummaryRow, ess_bulk, ess_tail, rhat};
use bnn_mcmc::rng::ChainRng;
use criterion::{Criterion, criterion_group, criterion_main};
use ndarray::{Array3, Axis};

fn ar1(chains: usize, draws: usize, parameters: usize) -> Array3<f64> {
    let mut rng = ChainRng::new(21, 0);
    let mut x = Array3::zeros((chains, draws, parameters));
    for mut lane in x.lanes_mut(Axis(1)) {
        let mut state = rng.normal();
        for value in &mut lane {
            *value = state;
            state = 0.9 * state + 0.19_f64.sqrt() * rng.normal();
        }
    }
    x
}

fn diagnostics(c: &mut Criterion) {
    for (chains, draws) in [(4, 50_000), (5, 25_000)] {
        let x = ar1(chains, draws, 1);
        let x = x.index_axis(Axis(2), 0);
        let shape = format!("{chains} x {draws}");
        c.bench_function(&format!("rhat, {shape}"), |b| b.iter(|| rhat(black_box(x))));
        c.bench_function(&format!("ess_bulk, {shape}"), |b| b.iter(|| ess_bulk(black_box(x))));
        c.bench_function(&format!("ess_tail, {shape}"), |b| b.iter(|| ess_tail(black_box(x))));
        c.bench_function(&format!("whole row, {shape}"), |b| {
            b.iter(|| SummaryRow::new("x", black_box(x)))
        });
    }
    for (chains, draws, parameters) in [(4, 5_000, 200), (5, 25_000, 20)] {
        let x = ar1(chains, draws, parameters);
        let names: Vec<String> = (0..parameters).map(|i| format!("x[{i}]")).collect();
        c.bench_function(&format!("summary, {chains} x {draws} x {parameters}"), |b| {
            b.iter(|| Summary::new(&names, black_box(x.view())))
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = diagnostics
}
criterion_main!(benches);
