//! The evidence against exact values: conjugate regression in 1, 10 and 50 dimensions, a
//! beta-binomial, a mixture by quadrature; and the errors over twenty seeds.

use bnn_mcmc::prelude::*;
use shared::{refused, said};

use bnn_mcmc::draws::LadderReport;
use bnn_mcmc::evidence::Estimate;
use bnn_mcmc::sampler::Algorithm;
use bnn_mcmc::sampler::Ladder;
use bnn_mcmc::targets::{LogDensity, PowerTarget, Target, WithReference};
use bnn_mcmc::testing::{ConjugateRegression, NoiseVariance};
use ndarray::{Array1, Array2, Axis};

use super::fixtures::without_numbers;

/// `dim` parameters with an intercept; `rows` of noise 0.5.
fn regression(dim: usize, rows: usize, noise: NoiseVariance) -> (Dataset, ConjugateRegression) {
    let mut rng = ChainRng::new(dim as u64, 0);
    let x = Array2::from_shape_fn((rows, dim - 1), |_| rng.normal());
    let y = x.sum_axis(Axis(1)) * 0.5 + Array1::from_shape_fn(rows, |_| 0.5 * rng.normal());
    let exact = ConjugateRegression::new(x.view(), y.view(), 1.0, noise).unwrap();
    (Dataset::regression(x, y).unwrap(), exact)
}

fn known_noise(data: &Dataset) -> Posterior<Linear, Gaussian> {
    let linear = Linear::new(data.n_features(), 1).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    Posterior::new(linear, Gaussian::fixed(0.5).unwrap(), data, priors).unwrap()
}

fn fixed(rungs: usize) -> PowerPosteriors<Mala> {
    PowerPosteriors {
        ladder: Ladder::Power { rungs, exponent: 5.0 },
        adapt_ladder: false,
        ..PowerPosteriors::new(Mala::default())
    }
}

/// Within 0.1 nat at d <= 10, with 21 rungs of 4 x 2,000 draws, and within 0.25 at d = 50, with 41 of
/// 4 x 6,000.
#[test]
fn conjugate_regression_in_1_10_and_50_dimensions() {
    // One dimension is an intercept alone: a feature that is always 0 and has no say would be a
    // second parameter, so the model goes without bias.
    let (x, y) = (Array2::ones((20, 1)), Array1::from_shape_fn(20, |i| 0.3 + 0.1 * i as f64));
    let data = Dataset::regression(x, y.clone()).unwrap();
    let exact = ConjugateRegression::new(
        Array2::zeros((20, 1)).view(),
        y.view(),
        1.0,
        NoiseVariance::Fixed(0.5),
    );
    let linear = Linear::new(1, 1).unwrap().without_bias();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(linear, Gaussian::fixed(0.5).unwrap(), &data, priors).unwrap();
    check(1, 21, 2000, 0.1, &posterior, exact.unwrap().log_evidence().unwrap());

    for (dim, rungs, draws, within) in [(10, 21, 2000, 0.1), (50, 41, 6000, 0.25)] {
        let (data, exact) = regression(dim, 2 * dim, NoiseVariance::Fixed(0.5));
        let log_evidence = exact.log_evidence().unwrap();
        check(dim, rungs, draws, within, &known_noise(&data), log_evidence);
    }
}

fn check(
    dim: usize,
    rungs: usize,
    draws: usize,
    within: f64,
    posterior: &Posterior<Linear, Gaussian>,
    exact: f64,
) {
    let sampler = Sampler::new(posterior, fixed(rungs)).warmup(1000).draws(draws);
    let evidence = Evidence::of(&sampler.seed(1).run().unwrap()).unwrap();
    let (s, t) = (evidence.stepping_stone, evidence.thermodynamic);
    println!("d = {dim}: exact {exact:.3}\n{evidence}");
    assert!((s.log_evidence - exact).abs() < within, "d = {dim}: {exact}\n{evidence}");
    assert!((t.log_evidence - exact).abs() < within, "d = {dim}: {exact}\n{evidence}");
    for estimate in [s, t] {
        let error = (estimate.log_evidence - exact).abs();
        assert!(error < 4.0 * estimate.standard_error, "{dim}\n{evidence}");
    }
    assert!(evidence.warnings().is_empty(), "{evidence}");
}

/// Errors in units of the standard errors, over many seeds.
fn standardised<A>(seeds: u64, chains: usize, draws: usize, algorithm: &A) -> [Vec<f64>; 2]
where
    A: for<'t> Algorithm<&'t Posterior<Linear, Gaussian>> + Clone,
{
    let (data, exact) = regression(10, 20, NoiseVariance::Fixed(0.5));
    let (posterior, exact) = (known_noise(&data), exact.log_evidence().unwrap());
    let mut z = [Vec::new(), Vec::new()];
    for seed in 0..seeds {
        let sampler = Sampler::new(&posterior, algorithm.clone()).chains(chains).warmup(500);
        let evidence = Evidence::of(&sampler.draws(draws).seed(seed).run().unwrap()).unwrap();
        for (z, e) in z.iter_mut().zip([evidence.stepping_stone, evidence.thermodynamic]) {
            z.push((e.log_evidence - exact) / e.standard_error);
        }
    }
    z
}

#[test]
fn standard_errors_are_honest() {
    errors_are_as_said(40);
}

#[test]
#[ignore = "long"]
fn standard_errors_are_honest_long() {
    errors_are_as_said(80);
}

/// Of twenty seeds, at least 16 have the exact value within two standard errors; over many, errors
/// are as large as they are said to be, also for a single chain and a kernel that moves slowly.
fn errors_are_as_said(many: u64) {
    let covered = |z: &[f64]| z.iter().filter(|z| z.abs() <= 2.0).count();
    for adapt_ladder in [false, true] {
        let z = standardised(20, 2, 600, &PowerPosteriors { adapt_ladder, ..fixed(17) });
        assert!(covered(&z[0]) >= 16 && covered(&z[1]) >= 16, "{z:.2?}");
    }
    let slow = PowerPosteriors {
        ladder: Ladder::Power { rungs: 17, exponent: 5.0 },
        ..PowerPosteriors::new(Rwm::default())
    };
    let runs = [standardised(many, 1, 1500, &slow), standardised(many, 2, 600, &fixed(17))];
    for z in runs.iter().flatten() {
        let rms = (z.iter().map(|z| z * z).sum::<f64>() / z.len() as f64).sqrt();
        println!("rms {rms:.2}, {} of {many} within two standard errors", covered(z));
        assert!((0.75..1.3).contains(&rms), "{rms}: {z:.2?}");
        assert!(8 * covered(z) >= 7 * z.len(), "{z:.2?}");
    }
}

#[test]
fn sampled_noise_and_a_ladder_for_each_chain() {
    let noise = NoiseVariance::InverseGamma { shape: 2.0, scale: 0.5 };
    let (data, exact) = regression(4, 12, noise);
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    let linear = Linear::new(3, 1).unwrap();
    let posterior = Posterior::new(linear, Gaussian::sampled(), &data, priors).unwrap();
    let algorithm = PowerPosteriors {
        ladder: Ladder::Power { rungs: 25, exponent: 5.0 },
        ..PowerPosteriors::new(Mala::default())
    };
    let draws = Sampler::new(&posterior, algorithm).draws(2000).seed(1).run().unwrap();
    let evidence = Evidence::of(&draws).unwrap();
    let exact = exact.log_evidence().unwrap();
    let error = evidence.stepping_stone.log_evidence - exact;
    assert!(error.abs() < 0.15, "{exact}\n{evidence}");
}

/// k successes in n trials with the logit z: under p ~ Beta(1, 1), that is the logistic density of
/// z, p(k) = 1 / (n + 1).
struct BetaBinomial {
    successes: f64,
    failures: f64,
    log_choose: f64,
}

impl Target for BetaBinomial {
    type Workspace = ();
    fn dim(&self) -> usize {
        1
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        // log p = -log(1 + e^-z), log(1 - p) = log p - z; the prior's density is p (1 - p).
        let log_p = -(-q[0].abs()).exp().ln_1p() + q[0].min(0.0);
        let log_1p = log_p - q[0];
        let likelihood = self.log_choose + self.successes * log_p + self.failures * log_1p;
        LogDensity::new(likelihood, log_p + log_1p)
    }
}

impl PowerTarget for BetaBinomial {
    fn draw_reference(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        let u = 1.0 - rng.uniform();
        q[0] = u.ln() - (-u).ln_1p();
        if q[0].is_finite() { Ok(()) } else { self.draw_reference(rng, q) }
    }
}

#[test]
fn beta_binomial() {
    let target = BetaBinomial { successes: 7.0, failures: 13.0, log_choose: 77520f64.ln() };
    let draws = Sampler::new(&target, PowerPosteriors::new(Rwm::default())).draws(5000).seed(1);
    let evidence = Evidence::of(&draws.run().unwrap()).unwrap();
    let exact = -(21f64.ln());
    assert!((evidence.stepping_stone.log_evidence - exact).abs() < 0.05, "{exact}\n{evidence}");
    assert!((evidence.thermodynamic.log_evidence - exact).abs() < 0.05, "{exact}\n{evidence}");
}

/// 0.3 N(-4, 0.3^2) + 0.7 N(4, 0.5^2), times e^2, relative to N(0, 5^2).
struct Mixture;

impl Target for Mixture {
    type Workspace = ();
    fn dim(&self) -> usize {
        1
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        let part = |weight: f64, at: f64, sd: f64| {
            let constant = (weight / (sd * std::f64::consts::TAU.sqrt())).ln();
            constant - 0.5 * ((q[0] - at) / sd).powi(2)
        };
        let (a, b) = (part(0.3, -4.0, 0.3), part(0.7, 4.0, 0.5));
        LogDensity::from(2.0 + a.max(b) + (-(a - b).abs()).exp().ln_1p())
    }
}

#[test]
fn a_mixture_by_quadrature() {
    let (mut sum, h) = (0.0, 1e-3);
    for i in 0..24_000 {
        let q = -12.0 + h * (f64::from(i) + 0.5);
        sum += h * Mixture.log_density(&[q], &mut ()).total().exp();
    }
    let exact = sum.ln();
    assert!((exact - 2.0).abs() < 1e-9);
    let target = WithReference::new(Mixture, Normal::new(0.0, 5.0).unwrap());
    let draws = Sampler::new(&target, PowerPosteriors::new(Rwm::default())).draws(5000).seed(1);
    let draws = draws.run().unwrap();
    let evidence = Evidence::of(&draws).unwrap();
    assert!((evidence.stepping_stone.log_evidence - exact).abs() < 0.08, "{exact}\n{evidence}");
    assert!((evidence.thermodynamic.log_evidence - exact).abs() < 0.08, "{exact}\n{evidence}");
    let above = draws.values().iter().filter(|q| **q > 0.0).count() as f64 / 20_000.0;
    assert!((above - 0.7).abs() < 0.05, "{above}");
}

/// N(0, 1) with a likelihood that is 0, or no number, on the left.
struct Half(f64);

impl Target for Half {
    type Workspace = ();
    fn dim(&self) -> usize {
        1
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        let prior = Normal::new(0.0, 1.0).unwrap().log_density(q);
        LogDensity::new(if q[0] < 0.0 { self.0 } else { -2.0 }, prior)
    }
}

impl PowerTarget for Half {
    fn draw_reference(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        q[0] = rng.normal();
        Ok(())
    }
}

/// Half of the prior has likelihood 0: the evidence is half, and the ladder does not crowd at 0. Where
/// the likelihood is no number, the evidence is that of the rest, and this is said.
#[test]
fn likelihoods_of_zero_and_of_nan() {
    let run = |target: &Half| {
        let init = Init::Around { centre: vec![1.0], sd: 0.1 };
        let sampler = Sampler::new(target, PowerPosteriors::new(Rwm::default())).init(init);
        sampler.warmup(1000).draws(2000).run().unwrap()
    };
    let draws = run(&Half(f64::NEG_INFINITY));
    let evidence = Evidence::of(&draws).unwrap();
    let error = evidence.stepping_stone.log_evidence - (-2.0 - std::f64::consts::LN_2);
    assert!(error.abs() < 0.06 && evidence.stepping_stone.standard_error < 0.05, "{evidence}");
    assert!(!evidence.thermodynamic.log_evidence.is_finite(), "{evidence}");
    said!(evidence.warnings()[0]);
    for report in LadderReport::of(&draws).unwrap() {
        assert!(report.betas[1] > 1e-7 && (report.swap_accept[0] - 0.5).abs() < 0.1, "{report}");
    }
    let evidence = Evidence::of(&run(&Half(f64::NAN))).unwrap();
    assert!(evidence.undefined > 1000, "{evidence}");
    said!(without_numbers(&evidence.warnings()[0]));
}

/// The discretisation term against the exact error of the rule, for a posterior whose means and
/// variances of the log likelihood are known at every temperature.
#[test]
fn the_discretisation_term_is_that_of_a_regression() {
    let (data, exact) = regression(10, 100, NoiseVariance::Fixed(0.5));
    let posterior = known_noise(&data);
    let mut errors = Vec::new();
    for rungs in [13, 14] {
        let sampler = Sampler::new(&posterior, fixed(rungs)).warmup(1000).draws(20_000);
        let evidence = Evidence::of(&sampler.seed(1).run().unwrap()).unwrap();
        let error = evidence.thermodynamic.log_evidence - exact.log_evidence().unwrap();
        errors.push((error, evidence.discretisation, monte_carlo(&evidence)));
    }
    for (error, discretisation, monte_carlo) in errors.clone() {
        let size = error.abs();
        assert!(size > 4.0 * monte_carlo, "{errors:?}");
        assert!((0.7 * size..1.7 * size).contains(&discretisation), "{errors:?}");
    }
}

/// The part of thermodynamic integration's error that longer chains reduce.
fn monte_carlo(evidence: &Evidence) -> f64 {
    let (total, discretisation) = (evidence.thermodynamic.standard_error, evidence.discretisation);
    (total * total - discretisation * discretisation).sqrt()
}

/// The error that is printed for thermodynamic integration covers what its rule leaves out, from 3 rungs,
/// where that is everything, to 21, where it is nothing; and it is no larger than it need be. So the two
/// estimates are said to disagree where stepping stone fails, and not because the ladder is coarse.
#[test]
fn total_errors_cover_on_coarse_and_fine_ladders() {
    for (dim, rows) in [(2, 10), (10, 100)] {
        let (data, exact) = regression(dim, rows, NoiseVariance::Fixed(0.5));
        let (posterior, exact) = (known_noise(&data), exact.log_evidence().unwrap());
        for rungs in [3, 5, 9, 13, 21] {
            let (mut squares, mut most) = (0.0, 0.0f64);
            for seed in 0..6 {
                let sampler = Sampler::new(&posterior, fixed(rungs)).warmup(500).draws(2000);
                let evidence = Evidence::of(&sampler.seed(seed).run().unwrap()).unwrap();
                let Estimate { log_evidence, standard_error } = evidence.thermodynamic;
                let error = (log_evidence - exact).abs();
                squares += (error / standard_error).powi(2) / 6.0;
                most = most.max(error / standard_error);
                let enough = 8.0 * error + 8.0 * monte_carlo(&evidence);
                assert!(standard_error < enough, "{rungs} rungs: {exact}\n{evidence}");
            }
            println!(
                "d {dim}, {rows} rows, {rungs} rungs: rms z {:.2}, most {most:.2}",
                squares.sqrt()
            );
            assert!(squares.sqrt() < 1.6 && most < 3.0, "{rungs} rungs: {squares} {most}");
        }
    }
}

#[test]
fn what_gives_no_evidence_is_refused_and_what_is_doubtful_is_said() {
    let (data, _) = regression(2, 10, NoiseVariance::Fixed(0.5));
    let posterior = known_noise(&data);
    let evidence = |algorithm, draws| {
        let sampler = Sampler::new(&posterior, algorithm).warmup(100).draws(draws);
        Evidence::of(&sampler.run().unwrap())
    };
    let hot = Ladder::Given(vec![0.1, 1.0]);
    let of_hot = evidence(PowerPosteriors { ladder: hot, ..fixed(5) }, 50);
    refused!(of_hot, Argument { name: "beta_0 of the ladder", value: 0.1 });
    refused!(evidence(fixed(5), 3), Argument { name: "draws per chain", value: 3 });
    let plain = Sampler::new(&posterior, Mala::default()).warmup(10).draws(50).run().unwrap();
    refused!(
        Evidence::of(&plain),
        Argument { name: "draws", value: "without the report of a ladder" }
    );
    // Three rungs for a posterior that is far narrower than its prior.
    let (data, _) = regression(10, 200, NoiseVariance::Fixed(0.5));
    let posterior = known_noise(&data);
    let draws = Sampler::new(&posterior, fixed(3)).warmup(300).draws(300).run().unwrap();
    let evidence = Evidence::of(&draws).unwrap();
    // That the ladder is coarse, and that few draws count.
    assert!(evidence.discretisation > 0.5 && evidence.least_overlap < 0.01, "{evidence}");
    let draws = Sampler::new(&posterior, fixed(2)).warmup(300).draws(300).run().unwrap();
    let evidence = Evidence::of(&draws).unwrap();
    assert!(evidence.discretisation > 100.0 && evidence.discretisation.is_finite(), "{evidence}");
}

/// Every warning there is, with numbers that are the same on all processors.
#[test]
fn warnings_are_said() {
    let estimate = |log_evidence, standard_error| Estimate { log_evidence, standard_error };
    let evidence = Evidence {
        stepping_stone: estimate(-10.0, 0.6),
        thermodynamic: estimate(-12.0, 0.8),
        discretisation: 0.75,
        difference_error: 0.8,
        difference_monte_carlo: 0.1,
        least_overlap: 0.0025,
        restarts: 3,
        undefined: 2,
        of_surrogate: true,
    };
    assert_eq!(evidence.warnings().len(), 7);
    said!(evidence);
    let good = Evidence {
        stepping_stone: estimate(-10.0, 0.1),
        thermodynamic: estimate(-10.1, 0.1),
        discretisation: 0.05,
        least_overlap: 0.4,
        restarts: 100,
        undefined: 0,
        of_surrogate: false,
        ..evidence.clone()
    };
    assert!(good.warnings().is_empty(), "{good}");
    let never = |log_evidence| Evidence {
        stepping_stone: estimate(log_evidence, 0.1),
        thermodynamic: estimate(f64::NEG_INFINITY, 0.1),
        ..good.clone()
    };
    for log_evidence in [-10.0, f64::NEG_INFINITY] {
        said!(never(log_evidence));
    }
}

#[test]
fn a_bayes_factor_is_the_exact_one() {
    let mut rng = ChainRng::new(3, 0);
    let x = Array2::from_shape_fn((25, 3), |_| rng.normal());
    let y = Array1::from_shape_fn(25, |i| 0.7 * x[(i, 0)] + 0.5 * rng.normal());
    let model = |features: usize| {
        let x = x.slice(ndarray::s![.., ..features]).to_owned();
        let exact =
            ConjugateRegression::new(x.view(), y.view(), 1.0, NoiseVariance::Fixed(0.5)).unwrap();
        let posterior = known_noise(&Dataset::regression(x, y.clone()).unwrap());
        let draws = Sampler::new(&posterior, fixed(17)).draws(2000).seed(2).run().unwrap();
        (Evidence::of(&draws).unwrap(), exact.log_evidence().unwrap())
    };
    let ((small, small_exact), (large, large_exact)) = (model(1), model(3));
    let (found, exact) = (small.bayes_factor(&large), small_exact - large_exact);
    assert!(exact > 0.5, "the features without a say cost evidence: {exact}");
    let error = (found.log_bayes_factor - exact).abs();
    assert!(error < 4.0 * found.standard_error && error < 0.1, "{exact}: {found:?}");
    assert_eq!(large.bayes_factor(&small).log_bayes_factor, -found.log_bayes_factor);
}
