//! Chains that have not arrived, told from modes by their log likelihoods.

use bnn_mcmc::diagnostics::{Cause, InUse, Judge, LEVELS_APART, Outcome, Trajectories, Verdict};
use bnn_mcmc::fit::Method;
use bnn_mcmc::message::Advice;
use bnn_mcmc::prelude::*;
use ndarray::{Array2, ArrayView2};
use shared::said;

use super::fixtures::{self, ar1, in_round_numbers};

/// The verdict on a prediction and a log likelihood.
fn judged(prediction: ArrayView2<f64>, log_likelihood: ArrayView2<f64>) -> Verdict {
    let judge = Judge::new().quantity("prediction", prediction).log_likelihood(log_likelihood);
    let verdict = judge.judge().unwrap();
    println!("{verdict}");
    verdict
}

/// Predictions that differ by chain.
fn in_modes(seed: u64) -> Array2<f64> {
    fixtures::in_modes(1000, 0.5, seed)
}

/// A log likelihood of so few draws.
fn levels_of(draws: usize) -> Array2<f64> {
    Array2::from_shape_fn((4, draws), |(c, t)| (10 * c + t) as f64)
}

fn arrived(verdict: &Verdict) -> bool {
    !matches!(verdict.cause, Some(Cause::NotArrived { .. }))
}

/// Modes that are copies of each other have the same log likelihoods, up to Monte Carlo errors.
#[test]
fn modes_of_equal_log_likelihoods_are_modes() {
    for seed in 0..10 {
        let levels = ar1(4, 1000, 0.7, 100 + seed).mapv(|x| 1600.0 + 12.0 * x);
        let verdict = judged(in_modes(seed).view(), levels.view());
        assert_eq!(verdict.cause, Some(Cause::Modes), "{verdict}");
        said!(in_round_numbers(&verdict));
    }
}

/// Four chains between 1590 and 1638, each of which scatters by 4, are not in modes of one posterior.
#[test]
fn levels_far_apart_have_not_arrived() {
    let mut levels = ar1(4, 1000, 0.7, 5).mapv(|x| 4.0 * x);
    for (mut chain, level) in levels.outer_iter_mut().zip([1590.0, 1611.0, 1638.0, 1625.0]) {
        chain += level;
    }
    let verdict = judged(in_modes(1).view(), levels.view());
    let Some(Cause::NotArrived { lowest, highest, sd, rising: false }) = verdict.cause else {
        panic!("{verdict:?}")
    };
    assert!((lowest - 1590.0).abs() < 1.0 && (highest - 1638.0).abs() < 1.0, "{verdict}");
    assert!((sd - 4.0).abs() < 0.5, "{sd}");
    said!(in_round_numbers(&verdict));
    assert_eq!(verdict.advice(), [Advice::WarmUpAndRunLonger, Advice::StartElsewhere]);
    // Once in a JSON file and back.
    let json = serde_json::to_string(&verdict).unwrap();
    assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict);

    // One chain alone that is far below the others.
    let mut x = ar1(4, 1000, 0.5, 1);
    x.row_mut(3).mapv_inplace(|v| v + 3.0);
    let mut one = ar1(4, 1000, 0.7, 6);
    one.row_mut(3).mapv_inplace(|v| v - 9.0);
    let verdict = judged(x.view(), one.view());
    assert!(matches!(verdict.outcome, Outcome::OneChainDisagrees { chain: 3, .. }), "{verdict}");
    assert!(!arrived(&verdict), "{verdict}");
    said!(in_round_numbers(&verdict));
}

/// The limit on either side: bands of two standard deviations overlap, or do not.
#[test]
fn levels_within_the_limit_are_modes() {
    for (apart, is_apart) in [(LEVELS_APART - 0.5, false), (LEVELS_APART + 0.5, true)] {
        let mut levels = ar1(4, 4000, 0.3, 7);
        levels.row_mut(2).mapv_inplace(|x| x + apart);
        let x = fixtures::in_modes(4000, 0.5, 8);
        assert_eq!(!arrived(&judged(x.view(), levels.view())), is_apart, "{apart}");
    }
}

/// Log likelihoods that rise in all chains, at equal levels: by a line, and ever more slowly.
#[test]
fn rising_log_likelihoods_have_not_arrived() {
    let line = |t: f64| 20.0 * t;
    let slower = |t: f64| -30.0 * (-3.0 * t).exp();
    for (k, rise) in [line as fn(f64) -> f64, slower].into_iter().enumerate() {
        for seed in 0..5 {
            let mut levels = ar1(4, 1000, 0.5, seed).mapv(|x| 2.0 * x);
            levels.indexed_iter_mut().for_each(|((_, t), l)| *l += rise(t as f64 / 1000.0));
            let mut x = ar1(4, 1000, 0.5, 50 + seed);
            x.indexed_iter_mut().for_each(|((c, t), x)| *x += 0.002 * ((c + 1) * t) as f64);
            let verdict = judged(x.view(), levels.view());
            assert!(
                matches!(verdict.cause, Some(Cause::NotArrived { rising: true, .. })),
                "{k} {seed}: {verdict}"
            );
            said!(in_round_numbers(&verdict).to_string().rsplit("; ").next().unwrap_or_default());
            // Falling ones do not rise.
            let verdict = judged(x.view(), levels.mapv(|l| -l).view());
            assert!(arrived(&verdict), "{k} {seed}: {verdict}");
        }
    }
}

/// Stationary chains whose log likelihoods mix slowly are seldom said to rise, or to be apart, whatever else
/// is wrong with them.
#[test]
fn slow_stationary_log_likelihoods_are_seldom_taken_for_rising() {
    for (rho, draws) in [(0.0, 200), (0.9, 200), (0.9, 1000), (0.99, 1000)] {
        let mut wrong = 0;
        for seed in 0..100 {
            let levels = ar1(4, draws, rho, seed);
            let x = fixtures::in_modes(draws, 0.0, 500 + seed);
            let verdict = Judge::new().quantity("x", x.view()).log_likelihood(levels.view());
            wrong += u32::from(!arrived(&verdict.judge().unwrap()));
        }
        println!("{rho} {draws}: {wrong} of 100");
        assert!(wrong <= 1, "{rho} {draws}: {wrong}");
    }
}

/// Nothing is said of chains that agree, nor where no log likelihood is known.
#[test]
fn chains_that_agree_have_arrived() {
    let verdict = judged(ar1(4, 1000, 0.1, 1).view(), ar1(4, 1000, 0.1, 2).view());
    assert!(verdict.is_converged() && verdict.cause.is_none() && verdict.advice().is_empty());
    let x = in_modes(1);
    let unknown = Judge::new().quantity("prediction", x.view()).judge().unwrap();
    assert_eq!(unknown.cause, Some(Cause::Modes));
    // Too few draws to judge.
    for draws in 0..4 {
        let few = levels_of(draws);
        assert!(arrived(&judged(few.view(), few.view())), "{draws}");
    }
    // A constant log likelihood, as of draws from a prior, has arrived.
    let constant = Array2::from_elem((4, 1000), -3.0);
    assert!(arrived(&judged(x.view(), constant.view())));
}

/// A network of 40 units on 8 features whose warm-up is far too short.
#[test]
fn short_warm_up_of_a_network_has_not_arrived() {
    let mut rng = bnn_mcmc::rng::ChainRng::new(3, 0);
    let x = Array2::from_shape_simple_fn((300, 8), || rng.normal());
    let y = Array2::from_shape_fn((300, 1), |(i, _)| {
        (2.0 * x[[i, 0]]).sin() + x[[i, 1]] * x[[i, 2]] - (x[[i, 3]] + x[[i, 4]]).tanh()
    });
    let y = y.mapv(|y| y + 0.05 * rng.normal());
    let data = Dataset::regression(x, y).unwrap();
    let recipe = Fit::regression("y").hidden(&[40]).method(Method::Collapsed).seed(1);
    let short = recipe.warmup(20).draws(50).fit(&data).unwrap().verdict().unwrap();
    println!("{short}");
    assert!(!arrived(&short), "{short:?}");
    assert!(!short.advice().contains(&Advice::Temper), "{short}");
}

/// A remedy in use is never named, whatever was found.
#[test]
fn nothing_that_is_in_use_is_advised() {
    let (x, levels) = (in_modes(2), ar1(4, 1000, 0.1, 3));
    let all = InUse {
        algorithm: Some("PowerPosteriors(Collapsed(Mams))".into()),
        hidden_units: Some(100),
        prior_by_fan_in: true,
        sampled_variances: false,
        collapsible: true,
        target_accept: Some(0.99),
        validation: true,
    };
    let long = |steps, divergences: u64| {
        let trajectories = Trajectories {
            leapfrog_steps: vec![steps; 4],
            accept_prob: vec![0.8; 4],
            longest_still: vec![0, 0, 175, 3],
            find_their_length: true,
            ..Trajectories::default()
        };
        let judge = Judge::new().quantity("x", x.view()).log_likelihood(levels.view());
        let judge = judge.in_use(all.clone()).trajectories(trajectories);
        judge.divergences(divergences, 4000).judge().unwrap()
    };
    for verdict in [long(300.0, 0), long(20.0, 0), long(20.0, 100)] {
        for used in [
            Advice::Widen { units: 100 },
            Advice::PriorByFanIn,
            Advice::Temper,
            Advice::IntegrateOut,
            Advice::RaiseTargetAccept { to: Some(0.99) },
        ] {
            assert!(!verdict.advice().contains(&used), "{used:?}: {verdict}");
        }
    }
    let agree = ar1(4, 1000, 0.1, 4);
    for (now, to) in [(Some(0.8), Some(0.95)), (Some(0.95), Some(0.99)), (None, None)] {
        let in_use = InUse { target_accept: now, ..InUse::default() };
        let judge = Judge::new().quantity("x", agree.view()).in_use(in_use);
        let verdict = judge.divergences(50, 4000).judge().unwrap();
        assert_eq!(verdict.advice()[0], Advice::RaiseTargetAccept { to }, "{verdict}");
    }
}

/// Trajectories of fixed length that are rejected many times in a row.
#[test]
fn standing_still_is_said() {
    let x = ar1(4, 1000, 0.1, 1);
    let of = |longest_still: Vec<usize>| {
        let trajectories = Trajectories { longest_still, ..Trajectories::default() };
        let judge = Judge::new().quantity("x", x.view()).trajectories(trajectories);
        judge.judge().unwrap()
    };
    let verdict = of(vec![2, 175, 3, 0]);
    assert!(verdict.advice().contains(&Advice::UseNuts), "{verdict}");
    said!(in_round_numbers(&verdict));
    let none = of(vec![]);
    assert!(none.advice().is_empty(), "{none}");
    assert_eq!(of(vec![19; 4]).to_string(), none.to_string());
    // A step that is too large for the neck of a funnel, by a path of fixed length.
    let target = Funnel;
    let fixed = Hmc { adapt_path_length: false, adapt_step_size: false, ..Hmc::default() };
    let hmc = Hmc { step_size: 0.4, path_length: 2.0, ..fixed };
    let draws = Sampler::new(&target, hmc).warmup(0).draws(4000).seed(2).run().unwrap();
    let still = draws.trajectories().longest_still;
    let accepted = draws.stat("accepted").unwrap();
    for (chain, still) in accepted.rows().into_iter().zip(&still) {
        let text: String = chain.iter().map(|a| if *a == 0.0 { '0' } else { '1' }).collect();
        let longest = text.split('1').map(str::len).max().unwrap();
        assert_eq!(longest, *still);
    }
    assert!(still.iter().any(|n| *n > 20), "{still:?}");
    let nuts = Sampler::new(&target, Nuts::default()).warmup(100).draws(50).run().unwrap();
    assert!(nuts.trajectories().longest_still.is_empty());
}

/// Neal's funnel in three dimensions: v ~ N(0, 3^2), x_i ~ N(0, e^v).
struct Funnel;

impl bnn_mcmc::targets::Target for Funnel {
    type Workspace = ();
    fn dim(&self) -> usize {
        3
    }
    fn workspace(&self) {}
    fn layout(&self) -> bnn_mcmc::layout::Layout {
        bnn_mcmc::layout::Layout::vector("q", 3)
    }
    fn log_density(&self, q: &[f64], _: &mut ()) -> bnn_mcmc::targets::LogDensity {
        let squares = q[1] * q[1] + q[2] * q[2];
        (-q[0] * q[0] / 18.0 - q[0] - 0.5 * squares * (-q[0]).exp()).into()
    }
}

impl bnn_mcmc::targets::GradTarget for Funnel {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut (),
    ) -> bnn_mcmc::targets::LogDensity {
        let scale = (-q[0]).exp();
        grad[0] = -q[0] / 9.0 - 1.0 + 0.5 * (q[1] * q[1] + q[2] * q[2]) * scale;
        (grad[1], grad[2]) = (-q[1] * scale, -q[2] * scale);
        bnn_mcmc::targets::Target::log_density(self, q, ws)
    }
}
