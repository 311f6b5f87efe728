//! Why chains disagree, and what is advised: modes, ridges, trajectories.

use bnn_mcmc::diagnostics::*;
use bnn_mcmc::layout::Layout;
use bnn_mcmc::message::Advice;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::Target;
use ndarray::{Array2, s};
use shared::said;

use super::fixtures::{ar1, draws_of, in_modes, in_round_numbers, verdict};

/// Trajectories of so many leapfrog steps, none of them cut off.
fn trajectories(leapfrog_steps: f64) -> Trajectories {
    Trajectories {
        at_max_depth: vec![0.0; 4],
        ebfmi: vec![0.9; 4],
        leapfrog_steps: vec![leapfrog_steps; 4],
        accept_prob: vec![0.8; 4],
        longest_still: vec![],
        find_their_length: true,
        ..Trajectories::default()
    }
}

/// A network of so many units in its last hidden layer, run by this algorithm.
fn network(hidden_units: Option<usize>, collapsible: bool, algorithm: &str) -> InUse {
    let algorithm = Some(algorithm.to_string());
    InUse { algorithm, hidden_units, collapsible, ..InUse::default() }
}

#[test]
fn verdict_on_modes_says_what_was_not_done_yet() {
    let x = in_modes(1000, 0.5, 1);
    let of = |units, algorithm: &str| {
        // Long trajectories make no ridge of chains that mix.
        let judge = Judge::new().quantity("x", x.view()).trajectories(trajectories(500.0));
        let judge = |in_use| judge.clone().in_use(in_use).judge().unwrap();
        let in_use = network(units, true, algorithm);
        let verdict = judge(in_use.clone());
        assert!(matches!(verdict.outcome, Outcome::ChainsDisagree { .. }), "{verdict}");
        assert_eq!(verdict.cause, Some(Cause::Modes), "{verdict}");
        said!(in_round_numbers(&verdict));
        // A prior by fan-in is advised where it is not in use, and nobody gives up variances for it.
        let without: Vec<_> =
            verdict.advice().into_iter().filter(|a| *a != Advice::PriorByFanIn).collect();
        let by_fan_in = InUse { prior_by_fan_in: true, ..in_use.clone() };
        let sampled = InUse { sampled_variances: true, ..in_use };
        assert_eq!([by_fan_in, sampled].map(|in_use| judge(in_use).advice()), [&without[..]; 2]);
        verdict.advice()
    };
    let (wider, prior) = (Advice::Widen { units: 100 }, Advice::PriorByFanIn);
    assert_eq!(of(Some(99), "Nuts"), [wider.clone(), prior.clone(), Advice::Temper]);
    assert_eq!(of(Some(100), "Collapsed(Nuts)"), [prior.clone(), Advice::Temper]);
    assert_eq!(of(None, "Rwm"), [Advice::Temper]);
    let tempered = of(Some(10), "PowerPosteriors(Hmc)");
    assert_eq!(tempered, [wider, prior, Advice::AdaptLadderLonger]);
}

/// Both limits, on either side: the effective draws within a chain, and the variance between.
#[test]
fn verdict_on_modes_weighs_what_is_between_against_what_is_within() {
    let mut seen = [[0; 2]; 2];
    for (seed, rho) in [(1, 0.0), (2, 0.5), (3, 0.8), (4, 0.95)] {
        for shift in [0.15, 0.2, 0.3, 0.5, 1.0, 2.0, 4.0] {
            let mut x = ar1(4, 400, rho, seed);
            x.outer_iter_mut().enumerate().for_each(|(c, mut x)| x += shift * c as f64);
            let verdict = Judge::new().quantity("x", x.view()).judge().unwrap();
            let drifts = matches!(verdict.outcome, Outcome::OneChainDisagrees { drifts: true, .. });
            if drifts || rhat(x.view()) <= OTHERS_LIMIT {
                continue;
            }
            let mut all = x.iter().copied().collect::<Vec<f64>>();
            all.sort_by(f64::total_cmp);
            let distances = x.mapv(|x| (x - (all[799] + all[800]) / 2.0).abs());
            let ess_of = |x: &Array2<f64>, c: usize| ess_bulk(x.slice(s![c..=c, ..]));
            let mut ess: Vec<f64> =
                (0..4).map(|c| ess_of(&x, c).min(ess_of(&distances, c))).collect();
            ess.sort_by(f64::total_cmp);
            let within = ess[1] >= 50.0; // three of four chains
            let between = (rhat(x.view()).powi(2) - 1.0) * ess[1] >= 25.0;
            seen[usize::from(within)][usize::from(between)] += 1;
            let modes = matches!(verdict.cause, Some(Cause::Modes));
            assert_eq!(modes, within && between, "{rho} {shift} {ess:?}: {verdict}");
        }
    }
    assert!(seen.iter().flatten().all(|n| *n > 0), "{seen:?}");
}

/// Where only the scale is slow, draws look independent, and their distances from the median do not: that
/// is no mode. A chain that is no longer than its scale's correlation may look as if it had one.
#[test]
fn verdict_on_a_slow_scale_speaks_of_no_modes() {
    let said_of = |rho: f64| {
        let (mut said, mut disagree) = (0, 0);
        for seed in 0..40 {
            let (log_scale, z) = (ar1(4, 1000, rho, seed), ar1(4, 1000, 0.0, 100 + seed));
            let x = log_scale.mapv(f64::exp) * z;
            let verdict = Judge::new().quantity("x", x.view()).judge().unwrap();
            said += u32::from(matches!(verdict.cause, Some(Cause::Modes)));
            let within = (0..4).all(|c| ess_bulk(x.slice(s![c..=c, ..])) >= ESS_WITHIN);
            disagree += u32::from(within && rhat(x.view()) > OTHERS_LIMIT);
        }
        println!("{rho}: modes of {said}, of {disagree} that disagree");
        assert!(disagree >= 20, "{rho}: {disagree}");
        said
    };
    assert_eq!([0.99, 0.995].map(said_of), [0, 0]);
    assert!(said_of(0.998) <= 2);
}

/// Of the quantity with the largest R-hat it is asked whether chains mix within, and not of all others.
#[test]
fn verdict_on_modes_where_another_quantity_drifts() {
    let modes = in_modes(1000, 0.5, 1);
    let mut slow = ar1(4, 1000, 0.5, 2);
    slow.indexed_iter_mut().for_each(|((_, t), v)| *v += 0.002 * t as f64);
    let alone = verdict(&slow);
    assert!(matches!(alone.outcome, Outcome::ChainsDrift { .. }), "{alone}");
    let both = draws_of(&[modes, slow]);
    let both = Judge::new().quantities("predictions", both.view()).judge().unwrap();
    assert!(matches!(both.outcome, Outcome::ChainsDisagree { .. }), "{both}");
    assert!(matches!(both.cause, Some(Cause::Modes)), "{both}");
}

#[test]
fn verdict_on_slow_chains_reads_their_trajectories() {
    // About two effective draws in each chain.
    let slow = ar1(4, 300, 0.99, 3);
    let of = |trajectories: Trajectories, units, collapsible, algorithm: &str| {
        let judge = Judge::new().quantity("x", slow.view()).trajectories(trajectories);
        let verdict = judge.in_use(network(units, collapsible, algorithm)).judge().unwrap();
        assert!(matches!(verdict.outcome, Outcome::ChainsDrift { .. }), "{verdict}");
        said!(in_round_numbers(&verdict));
        (verdict.cause.clone(), verdict.advice())
    };
    let longer = Advice::WarmUpAndRunLonger;
    let (modes, network_of) = (Some(Cause::Modes), network);
    let ridge = |leapfrog_steps| Some(Cause::Ridge { leapfrog_steps });
    let network = Some(10);

    let (cause, advice) = of(trajectories(200.0), network, true, "Nuts");
    assert_eq!(cause, ridge(200.0));
    assert_eq!(advice, [longer.clone(), Advice::IntegrateOut]);
    // Not where it cannot be done, nor where it was done.
    let (cause, advice) = of(trajectories(200.0), network, false, "Nuts");
    assert_eq!(cause, ridge(200.0));
    assert_eq!(advice, std::slice::from_ref(&longer));
    let algorithm = "PowerPosteriors(Collapsed(Mams))";
    let (cause, advice) = of(trajectories(200.0), network, true, algorithm);
    assert_eq!(cause, Some(Cause::Modes));
    assert!(!advice.contains(&Advice::IntegrateOut), "{advice:?}");
    let cut_off = Trajectories { at_max_depth: vec![0.5; 4], ..trajectories(31.0) };
    let (cause, _) = of(cut_off.clone(), network, true, "Nuts");
    assert_eq!(cause, ridge(31.0));
    let (cause, advice) = of(cut_off, network, true, "Collapsed(Nuts)");
    assert_eq!(cause, ridge(31.0));
    assert!(advice.contains(&Advice::RaiseMaxDepth), "{advice:?}");
    assert!(!advice.contains(&Advice::IntegrateOut), "{advice:?}");

    // Short trajectories of a network that found their length: chains hop.
    let short = trajectories(199.0);
    let (cause, advice) = of(short.clone(), network, true, "Nuts");
    assert_eq!(cause, modes);
    assert!(advice.contains(&Advice::Temper), "{advice:?}");
    for other in [Advice::UseNuts, Advice::RaiseMaxDepth] {
        assert!(!advice.contains(&other), "{advice:?}");
    }
    // Not where there is another reason.
    let given = Trajectories { find_their_length: false, at_max_depth: vec![], ..short.clone() };
    let nuts = [longer.clone(), Advice::UseNuts];
    assert_eq!(of(given, network, true, "Hmc"), (None, nuts.to_vec()));
    // A long path that the user chose is no ridge.
    let chosen = Trajectories { at_max_depth: vec![], ..trajectories(500.0) };
    let chosen = Trajectories { find_their_length: false, ..chosen };
    assert_eq!(of(chosen, network, true, "Hmc").0, None);
    let untested = Trajectories { accept_prob: vec![f64::NAN; 4], ..trajectories(500.0) };
    assert_eq!(of(untested, network, true, "Mclmc").0, None);
    assert_eq!(of(short.clone(), None, true, "Nuts"), (None, vec![longer]));
    let rejected = Trajectories { accept_prob: vec![0.4; 4], ..trajectories(500.0) };
    assert_eq!(of(rejected, network, true, "Hmc").0, None);
    let narrow = Trajectories { ebfmi: vec![0.9, 0.2, 0.9, 0.9], ..short.clone() };
    assert_eq!(of(narrow, network, true, "Nuts").0, None);
    let judge = Judge::new().quantity("x", slow.view()).in_use(network_of(network, true, "Nuts"));
    let judge = judge.trajectories(short).divergences(20, 1200);
    assert_eq!(judge.judge().unwrap().cause, None);
    assert_eq!(of(Trajectories::default(), network, true, "Rwm"), (None, nuts.to_vec()));
}

/// Chains that are too short drift, too: nothing is said of modes.
#[test]
fn verdict_on_short_runs_infers_no_modes() {
    let mut drifting = 0;
    for seed in 0..20 {
        let x = ar1(4, 50, 0.7, seed);
        let judge = Judge::new().quantity("x", x.view()).trajectories(trajectories(30.0));
        let verdict = judge.in_use(network(Some(10), true, "Nuts")).judge().unwrap();
        assert_eq!(verdict.cause, None, "{verdict}");
        drifting += usize::from(matches!(verdict.outcome, Outcome::ChainsDrift { .. }));
    }
    assert!(drifting > 0);
}

#[test]
fn verdict_of_few_draws_on_a_ridge() {
    let few = ar1(4, 60, -0.3, 1);
    let judge = |steps| {
        let judge = Judge::new().quantity("x", few.view()).trajectories(trajectories(steps));
        judge.in_use(network(Some(10), true, "Nuts")).judge().unwrap()
    };
    let long = judge(300.0);
    assert!(matches!(long.outcome, Outcome::TooFewDraws { .. }), "{long}");
    assert_eq!(long.cause, Some(Cause::Ridge { leapfrog_steps: 300.0 }));
    assert_eq!(judge(30.0).cause, None);
    // Nothing is wrong with long trajectories that get there.
    let good = ar1(4, 1000, 0.1, 1);
    let judge = Judge::new().quantity("x", good.view()).trajectories(trajectories(300.0));
    let good = judge.judge().unwrap();
    assert!(good.is_converged() && good.cause.is_none(), "{good}");
    said!(in_round_numbers(&good));
}

/// Chains that disagree for an unknown reason: tempering is advised where it was not done.
#[test]
fn verdict_advises_tempering_once() {
    let of = |x: &Array2<f64>, algorithm: &str| {
        let judge = Judge::new().quantity("x", x.view()).in_use(network(None, false, algorithm));
        let verdict = judge.judge().unwrap();
        assert_eq!(verdict.cause, None, "{verdict}");
        assert_eq!(verdict.in_use.is_tempered(), algorithm.starts_with("Power"));
        verdict
    };
    let (mut seen, tempered) = ([0; 2], "PowerPosteriors(Hmc)");
    for (seed, shift) in (0..40).flat_map(|seed| [0.0, 0.8].map(|shift| (seed, shift))) {
        // Too few effective draws in each chain to tell what separates them.
        let mut x = ar1(4, 100, 0.6, seed);
        x.row_mut(3).mapv_inplace(|v| v + shift);
        let verdict = Judge::new().quantity("x", x.view()).judge().unwrap();
        let kind = match verdict.outcome {
            Outcome::OneChainDisagrees { drifts: false, chain: 3, .. } => 0,
            Outcome::ChainsDisagree { .. } => 1,
            _ => continue,
        };
        if verdict.cause.is_some() {
            continue;
        }
        seen[kind] += 1;
        let (first, again) = (of(&x, "Hmc"), of(&x, tempered));
        assert_eq!(first.advice(), [Advice::RunLonger, Advice::Temper], "{first}");
        assert_eq!(again.advice(), [Advice::RunLonger], "{again}");
        [first, again].iter().for_each(|verdict| said!(in_round_numbers(verdict)));
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

/// Half N(-10, 1) and half N(10, 1) in `mode`, and N(0, 1) in `other`.
struct TwoModes;

impl Target for TwoModes {
    type Workspace = ();
    fn dim(&self) -> usize {
        2
    }
    fn workspace(&self) {}
    fn layout(&self) -> Layout {
        Layout::new().with("mode", &[]).with("other", &[])
    }
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        let at = |mode: f64| -0.5 * (q[0] - mode).powi(2);
        let (a, b) = (at(-10.0), at(10.0));
        LogDensity::from(a.max(b) + (-(a - b).abs()).exp().ln_1p() - 0.5 * q[1] * q[1])
    }
}

impl GradTarget for TwoModes {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        let above = 1.0 / (1.0 + (-20.0 * q[0]).exp());
        grad.copy_from_slice(&[-q[0] + 20.0 * above - 10.0, -q[1]]);
        self.log_density(q, ws)
    }
}

fn two_modes(starts: [f64; 4], keep: Keep) -> Draws {
    let starts = starts.map(|q| vec![q, 0.0]).to_vec();
    let sampler = Sampler::new(&TwoModes, Nuts::default()).keep(keep);
    sampler.init(Init::Points(starts)).seed(1).run().unwrap()
}

/// Chains in two modes of equal density agree in their log densities: no verdict calls that converged.
#[test]
fn verdict_of_draws_on_two_modes() {
    let both = [-10.0, -9.0, 9.0, 10.0];
    let draws = two_modes(both, Keep::All);
    assert!(draws.summary().unwrap().rows[0].rhat > 1.5);
    assert!(draws.density_summary().unwrap().rows[0].rhat < 1.01);
    let verdict = draws.verdict().unwrap();
    assert!(matches!(verdict.outcome, Outcome::ChainsDisagree { .. }), "{verdict}");
    assert_eq!((verdict.parameters, verdict.unkept), (2, 0));
    // That it is the verdict on predictions that counts.
    said!(in_round_numbers(&verdict));

    let verdict = two_modes(both, Keep::Statistics).verdict().unwrap();
    assert!(matches!(verdict.outcome, Outcome::NoParameters { .. }), "{verdict}");
    assert!(!verdict.is_converged() && verdict.unkept == 2);
    said!(in_round_numbers(&verdict));

    let verdict = two_modes(both, Keep::blocks(["mode"])).verdict().unwrap();
    assert!(!verdict.is_converged(), "{verdict}");
    let verdict = two_modes(both, Keep::blocks(["other"])).verdict().unwrap();
    let groups = |verdict: &Verdict| {
        verdict.groups.iter().map(|group| group.name.clone()).collect::<Vec<_>>()
    };
    let all = ["parameters", "log likelihood", "log prior"];
    assert_eq!((groups(&verdict), verdict.unkept), (all.map(String::from).to_vec(), 1));
    said!(in_round_numbers(&verdict));

    let draws = two_modes([9.0, 10.0, 10.0, 11.0], Keep::All);
    let verdict = draws.verdict().unwrap();
    assert!(verdict.is_converged() && groups(&verdict) == all, "{verdict}");
    // Draws from elsewhere have parameters only.
    let elsewhere = Draws::new(draws.layout().clone(), draws.values().to_owned()).unwrap();
    let verdict = elsewhere.verdict().unwrap();
    assert!(verdict.is_converged() && groups(&verdict) == ["parameters"], "{verdict}");
}

/// The steps of a sampler without a Metropolis test make no trajectories, however many there are.
#[test]
fn verdict_on_steps_without_a_test_speaks_of_no_ridge() {
    let sampler = Sampler::new(&TwoModes, Mclmc { steps: Some(500), ..Mclmc::default() });
    let starts = [9.0, 10.0, 10.0, 11.0].map(|q| vec![q, 0.0]).to_vec();
    let draws = sampler.init(Init::Points(starts)).warmup(100).draws(40).seed(1).run().unwrap();
    assert!(draws.stat("leapfrog_steps").unwrap().iter().all(|n| *n == 500.0));
    let trajectories = draws.trajectories();
    assert!(trajectories.leapfrog_steps.is_empty() && trajectories.accept_prob.is_empty());
    assert!(!trajectories.find_their_length);
    let verdict = draws.verdict().unwrap();
    assert!(!verdict.is_converged() && verdict.cause.is_none(), "{verdict}");
    let of_trajectories = [Advice::RaiseMaxDepth, Advice::IntegrateOut];
    assert!(!verdict.advice().iter().any(|advice| of_trajectories.contains(advice)), "{verdict}");
}
