//! How long chains stand still on a small network, and whether Monte Carlo errors know of it: the numbers in the
//! documentation of [`Hmc`] and [`Mams`].
//!
//! ```text
//! cargo test --release -p bnn-mcmc-tests --test inference -- --ignored --nocapture standing_still
//! ```

use bnn_mcmc::diagnostics::mcse_mean;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use ndarray::Array2;

type Network = Posterior<Mlp, Gaussian>;

/// Independent runs of each sampler, with other seeds.
const RUNS: u64 = 40;

/// Three tanh units on 50 rows of a sine with known noise: 10 parameters, priors N(0, 1).
fn network() -> Network {
    let mut rng = ChainRng::new(1, 0);
    let x = Array2::from_shape_simple_fn((50, 1), || 2.0 * rng.uniform() - 1.0);
    let y = x.mapv(|x| (3.0 * x).sin() + 0.1 * rng.normal());
    let model = Mlp::new(&[1, 3, 1], Activation::Tanh).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let likelihood = Gaussian::fixed(0.1).unwrap();
    Posterior::new(model, likelihood, &Dataset::regression(x, y).unwrap(), priors).unwrap()
}

/// The most draws in a row, of any chain, that are the same.
fn longest(draws: &Draws) -> usize {
    let mut longest = 1;
    for chain in 0..draws.n_chains() {
        let mut standing = 1;
        for i in 1..draws.n_draws() {
            let stood = draws.draw(chain, i) == draws.draw(chain, i - 1);
            standing = if stood { standing + 1 } else { 1 };
            longest = longest.max(standing);
        }
    }
    longest
}

/// The median, and the largest, of the longest stretches; the standard deviation of the runs' mean log likelihoods, over the
/// median of the Monte Carlo errors that the runs report of them.
fn measure<A>(name: &str, posterior: &Network, algorithm: A) -> (usize, usize, f64)
where
    A: for<'t> Algorithm<&'t Network> + Clone + serde::Serialize,
{
    let (mut stretches, mut means, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 0..RUNS {
        let sampler = Sampler::new(posterior, algorithm.clone()).chains(4).seed(seed);
        let draws = sampler.warmup(1_000).draws(1_000).run().unwrap();
        stretches.push(longest(&draws));
        let log_likelihood = draws.stat("log_likelihood").unwrap();
        means.push(log_likelihood.mean().unwrap());
        errors.push(mcse_mean(log_likelihood));
    }
    let n = RUNS as f64;
    let mean = means.iter().sum::<f64>() / n;
    let sd = (means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    stretches.sort_unstable();
    errors.sort_by(f64::total_cmp);
    let median = |k: usize| k / 2;
    let (middle, most) = (stretches[median(stretches.len())], stretches[stretches.len() - 1]);
    let error = errors[median(errors.len())];
    println!(
        "{name:4}: longest stretch of equal draws {middle} in the median run, {most} in the worst; mean log \
         likelihood: sd {sd:.3} over the runs, Monte Carlo error {error:.3} in the median run: {:.2} times",
        sd / error
    );
    (middle, most, sd / error)
}

#[test]
#[ignore = "minutes: the numbers in the documentation of Hmc and Mams"]
fn trajectories_of_fixed_length_stand_still_on_a_small_network() {
    let posterior = network();
    let nuts = measure("Nuts", &posterior, Nuts::default());
    let hmc = measure("Hmc", &posterior, Hmc::default());
    let mams = measure("Mams", &posterior, Mams::default());
    assert!(hmc.0 > 3 * nuts.0 && hmc.1 > 5 * nuts.1, "{hmc:?} {nuts:?}");
    assert!(mams.1 > 5 * nuts.1, "{mams:?} {nuts:?}");
}
