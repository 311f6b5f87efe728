//! **W3**, NUTS: 4 chains of 1,000 iterations of warm-up and 1,000 draws on problems a, b and d, default
//! settings, one thread. Smallest bulk ESS (of the coordinates; for d of the network's output at the
//! first 20 rows of X) per CPU second of warm-up and sampling, and per 1,000 gradients of sampling.

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use cpu_time::ProcessTime;
use ndarray::Axis;
use serde_json::json;

use crate::emit;

pub fn run() {
    case('a', &problems::linear_gaussian('a'));
    case('b', &problems::linear_bernoulli('b'));
    case('d', &problems::network_gaussian('d'));
}

/// Five runs of one case, one for d.
fn case<M: Model, L: Likelihood>(key: char, posterior: &Posterior<M, L>) {
    let theta0 = problems::theta0(key);
    let start = |c: usize| {
        let shifted = theta0.iter().enumerate();
        shifted.map(|(i, q)| q + 0.1 * (i as f64 + 7.0 * c as f64).sin()).collect::<Vec<f64>>()
    };
    let mut rows: Vec<[f64; 9]> = Vec::new();
    for seed in 1..=if key == 'd' { 1 } else { 5 } {
        let clock = ProcessTime::now();
        let draws = Sampler::new(posterior, Nuts::default())
            .chains(4)
            .warmup(1000)
            .draws(1000)
            .threads(1)
            .seed(seed)
            .init(Init::Points((0..4).map(start).collect()))
            .run()
            .unwrap();
        let seconds = clock.elapsed().as_secs_f64();
        let summary = if key == 'd' {
            // Function space: the network's output at the first 20 rows.
            let x = problems::data(key);
            let outputs = posterior.predict_mean(&draws, x.x().slice(ndarray::s![..20, ..]));
            let outputs = outputs.unwrap().remove_axis(Axis(3));
            let names = Layout::vector("f", 20);
            Draws::new(names, outputs).unwrap().summary().unwrap()
        } else {
            draws.summary().unwrap()
        };
        let warmup = draws.info().warmup_gradient_evals.iter().sum::<u64>() as f64;
        let sampling = draws.gradient_evals() as f64 - warmup;
        let ess = summary.min_ess_bulk();
        rows.push([
            ess / seconds,
            1e3 * ess / sampling,
            ess,
            summary.max_rhat(),
            warmup,
            sampling,
            draws.divergences() as f64,
            (warmup + sampling) / seconds,
            draws.stat("accept_prob").unwrap().mean().unwrap_or(f64::NAN),
        ]);
    }
    let median = |k: usize| {
        let mut column: Vec<f64> = rows.iter().map(|r| r[k]).collect();
        column.sort_by(f64::total_cmp);
        column[column.len() / 2]
    };
    let more = json!({
        "ess_per_1000_grads": median(1), "ess": median(2), "rhat": median(3), "warm_grads": median(4),
        "draw_grads": median(5), "divergences": median(6), "grads_per_s": median(7), "accept": median(8),
    });
    emit("W3", &format!("{key} nuts"), 1, "ess/s", rows.iter().map(|r| r[0]).collect(), more);
}
