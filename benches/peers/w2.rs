//! **W2**: transitions per second, random numbers included, positions and statistics stored, one thread; fixed
//! step sizes, from where 3,000 steps of Adam lead.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use bnn_mcmc::targets::PowerGradTarget;
use serde_json::json;

use crate::{emit, rates};

/// The step sizes of the peers: random walk, MALA (the drift's, h^2 / 2), HMC, SGLD, BAOAB, pCN.
struct Steps {
    rwm: f64,
    mala: f64,
    hmc: f64,
    sgld: f64,
    baoab: f64,
    pcn: Option<f64>,
}

pub fn run() {
    let steps = Steps { rwm: 0.12, mala: 0.02, hmc: 0.1, sgld: 0.01, baoab: 0.1, pcn: Some(0.05) };
    problem('c', &problems::network_categorical('c'), steps);
    let steps = Steps { rwm: 0.004, mala: 1.5e-5, hmc: 0.004, sgld: 2e-5, baoab: 0.004, pcn: None };
    problem('d', &problems::network_gaussian('d'), steps);
    let steps =
        Steps { rwm: 0.02, mala: 0.002, hmc: 0.03, sgld: 0.001, baoab: 0.03, pcn: Some(0.003) };
    problem('f', &problems::network_categorical('f'), steps);
}

fn problem<M: Model, L: Likelihood>(key: char, posterior: &Posterior<M, L>, steps: Steps) {
    let start = Init::Points(vec![problems::theta0(key)]);
    let adam = Adam { learning_rate: 0.01, steps: 3000, ..Adam::default() };
    let start = adam.starts(posterior, &start, 1, 1).unwrap();
    let case = |name: &str| format!("{key} {name}");
    let preconditioner = Preconditioner::Identity;
    let fixed =
        Rwm { step_size: steps.rwm, adapt_step_size: false, preconditioner, ..Rwm::default() };
    measure(&case("rwm"), posterior, &start, &fixed);
    let step_size = (2.0 * steps.mala).sqrt();
    let mala = Mala { step_size, adapt_step_size: false, preconditioner, ..Mala::default() };
    measure(&case("mala"), posterior, &start, &mala);
    let hmc = Hmc {
        step_size: steps.hmc,
        path_length: 20.0 * steps.hmc,
        jitter: 0.0,
        adapt_step_size: false,
        preconditioner,
        ..Hmc::default()
    };
    measure(&case("hmc20"), posterior, &start, &hmc);
    let sgld = Sgld { step_size: steps.sgld, ..Sgld::new(FullGrad) };
    measure(&case("sgld"), posterior, &start, &sgld);
    let baoab = Baoab { step_size: steps.baoab, ..Baoab::new(FullGrad) };
    measure(&case("baoab"), posterior, &start, &baoab);
    if let Some(step_size) = steps.pcn {
        let pcn = Pcn { step_size, adapt_step_size: false, ..Pcn::default() };
        measure(&case("pcn"), posterior, &start, &pcn);
    }
}

fn measure<T, A>(case: &str, target: &T, start: &Init, algorithm: &A)
where
    T: PowerGradTarget,
    A: for<'t> Algorithm<&'t T> + Clone,
{
    let mut accept = f64::NAN;
    let rates = rates(|n| {
        let draws = Sampler::new(target, algorithm.clone())
            .chains(1)
            .warmup(0)
            .draws(n)
            .threads(1)
            .seed(1)
            .init(start.clone())
            .run()
            .unwrap();
        accept = draws.accept_rate()[0];
    });
    emit("W2", case, 1, "steps/s", rates, json!({ "accept": accept }));
}
