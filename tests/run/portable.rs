//! Portable mode: draws that do not depend on the processor nor on the C library.

use std::collections::BTreeMap;
use std::process::Command;

use bnn_mcmc::portable;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Fisher, LangevinGradient, PowerPosteriors, Preconditioner, Smmala};
use bnn_mcmc::targets::Forces;
use ndarray::Array2;

/// FNV-1a over the bits of all draws and statistics.
fn fingerprint(draws: &Draws) -> u64 {
    let stats = draws.stat_names().iter().flat_map(|name| draws.stat(name).unwrap().to_owned());
    draws.values().iter().copied().chain(stats).fold(0xcbf2_9ce4_8422_2325, |hash, x| {
        x.to_bits()
            .to_le_bytes()
            .iter()
            .fold(hash, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
    })
}

fn regression(rows: usize, inputs: usize) -> Dataset {
    let x =
        Array2::from_shape_fn((rows, inputs), |(i, j)| ((7 * i + 3 * j) % 11) as f64 / 5.0 - 1.0);
    let y = x.rows().into_iter().map(|x| x[0] * x[1] - 0.4 * x[0] + 0.1).collect();
    Dataset::regression(x, y).unwrap()
}

fn priors() -> Priors {
    Priors::all(Normal::new(0.0, 1.0).unwrap())
        .with("b0", StudentT::new(3.0, 0.0, 1.0).unwrap())
        .with("b1", Laplace::new(0.0, 1.0).unwrap())
        .hierarchical("w0", "log_variance", LogInverseGamma::new(2.0, 1.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(0.7, 0.5).unwrap())
}

/// A fingerprint for each kind of chain.
fn fingerprints() -> BTreeMap<&'static str, u64> {
    let mut all = BTreeMap::new();
    let mlp = |sizes: &[usize], activation| {
        let mlp = Mlp::new(sizes, activation).unwrap();
        Posterior::new(mlp, Gaussian::sampled(), &regression(45, sizes[0]), priors()).unwrap()
    };
    let small = mlp(&[3, 5, 1], Activation::Tanh);
    macro_rules! run {
        ($what:literal, $posterior:expr, $algorithm:expr, $draws:literal) => {
            let sampler = Sampler::new($posterior, $algorithm).chains(2).seed(8);
            let draws = sampler.warmup($draws).draws($draws).run().unwrap();
            let moves = |c| draws.draw(c, 0) != draws.draw(c, $draws - 1);
            assert!(moves(0) && moves(1) && draws.values().iter().all(|q| q.is_finite()), $what);
            all.insert($what, fingerprint(&draws));
        };
    }
    run!("RWM", &small, Rwm::default(), 300);
    run!("MALA", &small, Mala::default(), 300);
    run!("NUTS", &small, Nuts::default(), 100);
    let dense = Hmc { preconditioner: Preconditioner::Dense, ..Hmc::default() };
    run!("HMC, dense", &small, dense, 100);
    run!("Langevin-gradient", &small, LangevinGradient::default(), 100);
    run!("BAOAB", &small, Baoab { step_size: 0.01, ..Baoab::default() }, 300);
    run!("power posteriors", &small, PowerPosteriors::new(Mala::default()), 100);
    let weights = OnBlocks::new(&["w*", "b*"], Smmala { step_size: 0.5, ..Smmala::new(Fisher) });
    run!("Gibbs and SMMALA", &small, Cycle(weights, GibbsNoise), 100);
    let logistic = mlp(&[3, 4, 1], Activation::Sigmoid);
    run!("sigmoid", &logistic, Mala::default(), 100);
    let mams = Mams { max_steps: 20, ..Mams::default() };
    let forced = Collapsed::new(mams).with_forces(Forces::F32);
    let network = Mlp::new(&[3, 120, 1], Activation::Tanh).unwrap();
    let noise = LogInverseGamma::new(0.7, 0.5).unwrap();
    let normal = Priors::by_fan_in(&network).with("log_noise_variance", noise);
    let normal = Posterior::new(network, Gaussian::sampled(), &regression(45, 3), normal).unwrap();
    run!("forces in f32", &normal, forced, 30);
    let wide = mlp(&[4, 110, 105, 1], Activation::Relu);
    run!("wide", &wide, Baoab { step_size: 1e-4, ..Baoab::default() }, 30);
    all
}

const CHILD: &str = "BNN_MCMC_TEST_PORTABLE";

/// What the parent starts; by itself it does nothing.
#[test]
fn child_process() {
    if std::env::var_os(CHILD).is_some() {
        println!("\nchain portable: {}", portable::is_on());
        for (what, fingerprint) in fingerprints() {
            println!("chain {what}: {fingerprint:016x}");
        }
    }
}

/// Written on an AMD processor with AVX-512. What changes how a kernel rounds changes its line.
const EXPECTED: &str = "
chain portable: true
chain BAOAB: 1e2bad8bfbb30e4e
chain Gibbs and SMMALA: 4cdab43d5c9f6822
chain HMC, dense: fb1ba1b351b5cb89
chain Langevin-gradient: 63fd174acff2c2c8
chain MALA: ee8e49a48cb150c8
chain NUTS: 13917128c22e85fb
chain RWM: e16db2c235a3c5ca
chain forces in f32: 383c1e7e42d8e38b
chain power posteriors: 9e00864e7835546a
chain sigmoid: f46f57d1bc13133a
chain wide: 84d8d4e6e419cf13
";

#[test]
fn portable_draws_are_the_same_on_every_processor() {
    // The C library picks its functions by what the processor has, unless it is told that it has less.
    for tunables in ["", "glibc.cpu.hwcaps=-AVX2,-AVX512F,-FMA,-FMA4,-AVX,-XSAVE"] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "portable::child_process", "--nocapture"])
            .envs([(CHILD, "1"), ("BNN_MCMC_PORTABLE", "1"), ("GLIBC_TUNABLES", tunables)])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let output = String::from_utf8(output.stdout).unwrap();
        let chains: Vec<&str> = output.lines().filter(|line| line.starts_with("chain ")).collect();
        assert_eq!(chains.join("\n"), EXPECTED.trim(), "{tunables}: {output}");
    }
}
