//! Samplers against the exact posterior of linear regression, within Monte Carlo error.

use bnn_mcmc::diagnostics::ess_mean;
use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::{ConjugateRegression, NoiseVariance};
use ndarray::{Array2, Axis};

use super::fixtures::correlated_features;

fn posterior(likelihood: Gaussian) -> Posterior<Linear, Gaussian> {
    let (x, y) = correlated_features();
    let data = Dataset::regression(x, y.insert_axis(Axis(1))).unwrap();
    let mut priors = Priors::all(Normal::new(0.0, 1.5).unwrap());
    if likelihood.layout().dim() > 0 {
        priors = priors.with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    }
    Posterior::new(Linear::new(3, 1).unwrap(), likelihood, &data, priors).unwrap()
}

fn exact(noise: NoiseVariance) -> ConjugateRegression {
    let (x, y) = correlated_features();
    ConjugateRegression::new(x.view(), y.view(), 1.5, noise).unwrap()
}

/// Every mean, variance and covariance within 5 Monte Carlo standard errors of the exact one. A
/// coordinate's error is sd / sqrt(ESS); a second moment's is that of the product's own chain.
fn assert_matches(draws: &Draws, exact: &ConjugateRegression) {
    let (mean, covariance) = (exact.mean(), exact.covariance());
    for i in 0..exact.dim() {
        let chain_i = draws.values().index_axis(Axis(2), i).to_owned();
        for j in i..exact.dim() {
            let product = (&chain_i - mean[i]) * (&draws.values().index_axis(Axis(2), j) - mean[j]);
            let ess = ess_mean(product.view());
            assert!(ess > 400.0, "ESS {ess} says too little about ({i}, {j})");
            let error = product.mean().unwrap() - covariance[(i, j)];
            let limit = 5.0 * product.std(1.0) / ess.sqrt();
            assert!(error.abs() < limit, "covariance ({i}, {j}): off by {error}, allowed {limit}");
        }
        let ess = ess_mean(chain_i.view());
        assert!(ess > 400.0, "ESS {ess} says too little about coordinate {i}");
        let error = chain_i.mean().unwrap() - mean[i];
        let limit = 5.0 * (covariance[(i, i)] / ess).sqrt();
        assert!(error.abs() < limit, "mean {i}: off by {error}, allowed {limit}");
    }
}

#[test]
fn mala_with_known_and_with_sampled_noise() {
    for preconditioner in
        [Preconditioner::Identity, Preconditioner::Diagonal, Preconditioner::Dense]
    {
        let mala = Mala { preconditioner, ..Mala::default() };
        let run = |p: &Posterior<_, _>| {
            Sampler::new(p, mala.clone()).warmup(3_000).draws(10_000).seed(5).run().unwrap()
        };
        let fixed = run(&posterior(Gaussian::fixed(0.5).unwrap()));
        assert_matches(&fixed, &exact(NoiseVariance::Fixed(0.5)));
        let sampled = run(&posterior(Gaussian::sampled()));
        assert_matches(&sampled, &exact(NoiseVariance::InverseGamma { shape: 2.0, scale: 0.5 }));
        for rate in sampled.accept_rate() {
            assert!((rate - 0.574).abs() < 0.08, "{preconditioner:?}: acceptance {rate}");
        }
    }
}

#[test]
fn nuts_hmc_and_mams_with_known_and_with_sampled_noise() {
    for preconditioner in [
        Preconditioner::Identity,
        Preconditioner::Diagonal,
        Preconditioner::DiagonalFromGradients,
        Preconditioner::Dense,
        Preconditioner::DenseFromGradients,
    ] {
        let nuts = Nuts { preconditioner, ..Nuts::default() };
        let hmc = Hmc { preconditioner, ..Hmc::default() };
        let mams = Mams { preconditioner, ..Mams::default() };
        let (fixed, sampled) = (Gaussian::fixed(0.5).unwrap(), Gaussian::sampled());
        let inverse_gamma = NoiseVariance::InverseGamma { shape: 2.0, scale: 0.5 };
        for (likelihood, noise) in [(fixed, NoiseVariance::Fixed(0.5)), (sampled, inverse_gamma)] {
            let (posterior, exact) = (posterior(likelihood), exact(noise));
            let draws = Sampler::new(&posterior, nuts.clone()).draws(5_000).seed(5).run().unwrap();
            assert_matches(&draws, &exact);
            let draws = Sampler::new(&posterior, hmc.clone()).draws(5_000).seed(5).run().unwrap();
            assert_matches(&draws, &exact);
            let draws = Sampler::new(&posterior, mams.clone()).draws(5_000).seed(5).run().unwrap();
            assert_matches(&draws, &exact);
        }
    }
}

#[test]
fn random_walk_with_known_and_with_sampled_noise() {
    for preconditioner in [Preconditioner::Diagonal, Preconditioner::Dense] {
        let rwm = Rwm { preconditioner, ..Rwm::default() };
        let run = |p: &Posterior<_, _>| {
            Sampler::new(p, rwm.clone()).warmup(4_000).draws(40_000).seed(5).run().unwrap()
        };
        let fixed = run(&posterior(Gaussian::fixed(0.5).unwrap()));
        assert_matches(&fixed, &exact(NoiseVariance::Fixed(0.5)));
        let sampled = run(&posterior(Gaussian::sampled()));
        assert_matches(&sampled, &exact(NoiseVariance::InverseGamma { shape: 2.0, scale: 0.5 }));
        for rate in sampled.accept_rate() {
            assert!((rate - 0.234).abs() < 0.06, "{preconditioner:?}: acceptance {rate}");
        }
    }
}

/// The reference itself: its draws have its moments, and its evidence is the prior's average.
#[test]
fn the_exact_posterior_agrees_with_itself() {
    let exact = exact(NoiseVariance::InverseGamma { shape: 2.0, scale: 0.5 });
    let (mean, covariance) = (exact.mean(), exact.covariance());
    let n = 200_000;
    let mut rng = ChainRng::new(3, 0);
    let mut draws = Array2::zeros((n, exact.dim()));
    for mut row in draws.rows_mut() {
        exact.draw(&mut rng, row.as_slice_mut().unwrap());
    }
    for i in 0..exact.dim() {
        let column = draws.column(i);
        let sd = covariance[(i, i)].sqrt();
        assert!((column.mean().unwrap() - mean[i]).abs() < 5.0 * sd / (n as f64).sqrt());
        let variance = column.var(1.0);
        assert!((variance / covariance[(i, i)] - 1.0).abs() < 0.02, "{variance}");
    }
}

/// log p(y) of two observations with known noise, against the bivariate normal density.
#[test]
fn the_exact_evidence_is_the_marginal_normal_density() {
    let x = ndarray::array![[0.5], [-1.0]];
    let y = ndarray::array![0.3, 1.1];
    let exact =
        ConjugateRegression::new(x.view(), y.view(), 2.0, NoiseVariance::Fixed(0.7)).unwrap();
    // y ~ N(0, 0.49 I + 4 (x x^T + 1 1^T)).
    let k =
        |i: usize, j: usize| 4.0 * (x[(i, 0)] * x[(j, 0)] + 1.0) + if i == j { 0.49 } else { 0.0 };
    let (a, b, c): (f64, f64, f64) = (k(0, 0), k(0, 1), k(1, 1));
    let det = a * c - b * b;
    let quadratic = (c * y[0] * y[0] - 2.0 * b * y[0] * y[1] + a * y[1] * y[1]) / det;
    let log_density = -(std::f64::consts::TAU.ln()) - 0.5 * det.ln() - 0.5 * quadratic;
    approx::assert_relative_eq!(exact.log_evidence().unwrap(), log_density, max_relative = 1e-12);
}

/// The reference's prior of the noise, which is the posterior at beta = 0, against the mean and
/// variance of log tau^2 for tau^2 ~ IG(a, b): log b - psi(a) and psi'(a).
#[test]
fn the_exact_prior_of_the_noise_is_inverse_gamma() {
    use statrs::function::gamma::digamma;
    let (a, b) = (2.0, 0.5);
    let prior = exact(NoiseVariance::InverseGamma { shape: a, scale: b }).tempered(0.0).unwrap();
    let (mean, variance) = (prior.mean()[4], prior.covariance()[(4, 4)]);
    approx::assert_relative_eq!(mean, b.ln() - digamma(a), max_relative = 1e-9);
    // psi'(2) = pi^2 / 6 - 1.
    let trigamma = std::f64::consts::PI.powi(2) / 6.0 - 1.0;
    approx::assert_relative_eq!(variance, trigamma, max_relative = 1e-8);
    // The prior is normalised: its evidence is 1.
    assert!(prior.log_evidence().unwrap().abs() < 1e-9);
}
