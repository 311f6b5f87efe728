//! Gradients of a user's density by dual numbers, beside the gradient of the same posterior.
//!
//!     cargo bench --features autodiff --bench dual_numbers

use std::hint::black_box;

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{Autodiff, Density, Number};
use criterion::Criterion;
use ndarray::{Array2, ArrayView1};
use problems::machine::median_seconds;

/// The density of a logistic regression without bias on 200 rows, N(0, 1) weights, as a user writes it.
struct Logistic {
    x: Array2<f64>,
    y: Vec<usize>,
}

impl Density for Logistic {
    fn layout(&self) -> Layout {
        Layout::vector("w", self.x.ncols())
    }

    fn log_density<N: Number>(&self, w: &[N]) -> (N, N) {
        let row = |(x, y): (ArrayView1<f64>, &usize)| {
            let logit: N = x.iter().zip(w).map(|(x, w)| *w * *x).sum();
            let signed = if *y == 1 { -logit } else { logit };
            -signed.exp().ln_1p()
        };
        let likelihood = self.x.rows().into_iter().zip(&self.y).map(row).sum();
        let squares: N = w.iter().map(|w| w.powi(2)).sum();
        (likelihood, squares * -0.5)
    }
}

/// The gradient by dual numbers beside that of the posterior, whose log density has the same derivatives.
fn by_dual_numbers(d: usize, criterion: &mut Criterion) {
    let x = Array2::from_shape_vec((200, d), problems::normals(11, 200 * d)).unwrap();
    let y: Vec<usize> = x.column(0).iter().map(|x| usize::from(*x > 0.3)).collect();
    let data = Dataset::classification(x.clone(), y.clone(), ["no", "yes"]).unwrap();
    let model = Linear::new(d, 1).unwrap().without_bias();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(model, Bernoulli, &data, priors).unwrap();
    let dual = Autodiff::new(Logistic { x, y });
    let q = problems::normals(12, d);
    let (mut grad, mut ws, mut dual_ws) = (q.clone(), posterior.workspace(), dual.workspace());
    let mut by_hand = |grad: &mut [f64]| posterior.log_density_grad(black_box(&q), grad, &mut ws);
    let mut by_dual = |grad: &mut [f64]| dual.log_density_grad(black_box(&q), grad, &mut dual_ws);
    let mut value_ws = dual.workspace();
    let value = median_seconds(|| {
        black_box(dual.log_density(black_box(&q), &mut value_ws));
    });
    let seconds = [
        value,
        median_seconds(|| {
            black_box(by_dual(&mut grad));
        }),
        median_seconds(|| {
            black_box(by_hand(&mut grad));
        }),
    ];
    let [value, dual, hand] = seconds.map(|s| 1e6 * s);
    println!(
        "{d:10} {value:12.1} {dual:12.1} {:12.1} {hand:12.1} {:8.1}",
        dual / value,
        dual / hand
    );
    criterion.bench_function(&format!("dual numbers/{d}"), |b| {
        b.iter(|| by_dual(&mut grad));
    });
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    println!(
        "{:>10} {:>12} {:>12} {:>12} {:>12} {:>8}",
        "parameters", "value, us", "by duals, us", "of a value", "by hand, us", "ratio"
    );
    for d in [2, 8, 16, 32, 64, 128] {
        by_dual_numbers(d, &mut criterion);
    }
    criterion.final_summary();
}
