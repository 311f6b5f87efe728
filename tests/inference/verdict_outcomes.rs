//! Verdicts on draws made up for one outcome each.

use bnn_mcmc::diagnostics::*;
use bnn_mcmc::message::Advice;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::DelayedAcceptance;
use bnn_mcmc::testing::GaussianTarget;
use ndarray::{Array2, s};
use shared::{refused, said};

use super::fixtures::{ar1, draws_of, in_round_numbers, verdict};

#[test]
fn verdict_converged() {
    let predictions = draws_of(&[ar1(4, 2000, 0.3, 1), ar1(4, 2000, 0.5, 2)]);
    let (likelihood, prior) = (ar1(4, 2000, 0.5, 3), ar1(4, 1000, 0.2, 4));
    let verdict = Judge::new()
        .quantities("predictions", predictions.view())
        .quantity("log-likelihood", likelihood.view())
        .quantity("log-prior", prior.view())
        .judge()
        .unwrap();
    let Outcome::Converged { max_rhat, min_ess } = verdict.outcome else { panic!("{verdict}") };
    assert!(max_rhat <= 1.01 && min_ess >= 400.0);
    assert_eq!(max_rhat, verdict.groups.iter().map(|g| g.max_rhat).fold(0.0, f64::max));
    assert!((2000.0..3000.0).contains(&min_ess), "{min_ess}");
    said!(in_round_numbers(&verdict));
    let json = serde_json::to_string(&verdict).unwrap();
    assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict);
}

#[test]
fn verdict_too_few_draws() {
    let verdict = verdict(&ar1(4, 60, -0.3, 1));
    let Outcome::TooFewDraws { min_ess, wanted } = verdict.outcome else { panic!("{verdict}") };
    assert!(min_ess < 400.0 && wanted == 400.0);
    let times = (400.0 / min_ess).ceil();
    assert_eq!(verdict.advice(), [Advice::RunTimesAsLong { times }]);
    said!(in_round_numbers(&verdict));
}

#[test]
fn verdict_nearly_converged() {
    let verdict = verdict(&ar1(4, 1500, 0.95, 8));
    let Outcome::NearlyConverged { max_rhat, .. } = verdict.outcome else { panic!("{verdict}") };
    assert!(max_rhat > 1.01 && max_rhat <= 1.05);
    said!(in_round_numbers(&verdict));
}

#[test]
fn verdict_one_chain_in_another_mode() {
    let mut x = ar1(4, 1000, 0.5, 1);
    x.row_mut(3).mapv_inplace(|v| v + 3.0);
    let verdict = verdict(&x);
    let Outcome::OneChainDisagrees { chain, rhat_without, max_rhat, drifts } = verdict.outcome
    else {
        panic!("{verdict}")
    };
    assert!(chain == 3 && rhat_without < 1.02 && max_rhat > 1.2 && !drifts);
    assert_eq!(verdict.cause, Some(Cause::Modes));
    said!(in_round_numbers(&verdict));
}

#[test]
fn verdict_one_chain_drifts() {
    let mut x = ar1(4, 1000, 0.5, 1);
    x.row_mut(0).iter_mut().enumerate().for_each(|(t, v)| *v += 8.0 - 0.008 * t as f64);
    let verdict = verdict(&x);
    assert!(
        matches!(verdict.outcome, Outcome::OneChainDisagrees { chain: 0, drifts: true, .. }),
        "{verdict}"
    );
    said!(in_round_numbers(&verdict));
}

#[test]
fn verdict_every_chain_drifts() {
    let mut x = ar1(4, 1000, 0.5, 1);
    x.indexed_iter_mut().for_each(|((_, t), v)| *v += 0.005 * t as f64);
    let all = verdict(&x);
    assert!(
        matches!(&all.outcome, Outcome::ChainsDrift { drifting, .. } if *drifting == [0, 1, 2, 3])
    );
    said!(in_round_numbers(&all));
    x.row_mut(1).assign(&ar1(1, 1000, 0.5, 9).row(0));
    let most = verdict(&x);
    assert!(
        matches!(&most.outcome, Outcome::ChainsDrift { drifting, .. } if *drifting == [0, 2, 3])
    );
    said!(in_round_numbers(&most));
}

#[test]
fn verdict_several_modes() {
    let mut x = ar1(4, 1000, 0.5, 1);
    x.slice_mut(s![2.., ..]).mapv_inplace(|v| v + 3.0);
    assert!(matches!(verdict(&x).outcome, Outcome::ChainsDisagree { .. }));
    // Of two chains, neither can be blamed.
    let two = x.slice(s![1..3, ..]).to_owned();
    let verdict = verdict(&two);
    assert!(matches!(verdict.outcome, Outcome::ChainsDisagree { .. }));
    assert_eq!(verdict.cause, Some(Cause::Modes));
    said!(in_round_numbers(&verdict));
    // Nor is it said that both look stationary if one does not.
    let mut two = ar1(2, 1000, 0.5, 1);
    two.row_mut(1).iter_mut().enumerate().for_each(|(t, v)| *v += 0.008 * t as f64);
    let verdict = self::verdict(&two);
    assert!(
        matches!(&verdict.outcome, Outcome::ChainsDrift { drifting, .. } if *drifting == [1]),
        "{verdict}"
    );
    said!(in_round_numbers(&verdict));
}

#[test]
fn verdict_stuck_chain_and_constant_quantities() {
    let mut x = ar1(4, 1000, 0.5, 1);
    x.row_mut(2).fill(0.3);
    let stuck_chains = |x: &Array2<f64>| match verdict(x).outcome {
        Outcome::ChainsStuck { stuck, .. } => stuck,
        other => panic!("{other:?}"),
    };
    assert_eq!(stuck_chains(&x), [2]);

    let constant = Array2::from_elem((4, 1000), 1.0);
    assert!(matches!(verdict(&constant).outcome, Outcome::ConstantQuantities { count: 1 }));
    let good = ar1(4, 1000, 0.1, 1);
    // A constant beside others, as the log prior in a box, is no reason to doubt them.
    let verdict = Judge::new()
        .quantity("log-likelihood", good.view())
        .quantity("probability", constant.view())
        .judge()
        .unwrap();
    assert!(verdict.is_converged(), "{verdict}");
    assert_eq!(verdict.groups[1].constant, 1);
    // Constant chains that differ, or one stuck in the middle of the others, are.
    let differ = Array2::from_shape_fn((4, 1000), |(c, _)| if c == 0 { 1.0 } else { 2.0 });
    let verdict = Judge::new()
        .quantity("log-likelihood", good.view())
        .quantity("probability", differ.view())
        .judge()
        .unwrap();
    assert!(!verdict.is_converged() && verdict.groups[1].constant == 0, "{verdict}");
    let mut middle = ar1(4, 1000, 0.1, 1);
    middle.row_mut(1).fill(0.01);
    assert_eq!(stuck_chains(&middle), [1]);

    let constants = Array2::from_shape_fn((4, 100), |(c, _)| c as f64);
    assert_eq!(stuck_chains(&constants), [0, 1, 2, 3]);
}

#[test]
fn verdict_of_agreeing_chains_with_divergences() {
    let good = ar1(4, 1000, 0.1, 1);
    let judge = |n| Judge::new().quantity("x", good.view()).divergences(n, 4000).judge().unwrap();
    assert!(judge(0).is_converged());
    let few = judge(3);
    assert!(few.is_converged() && few.divergences == 3, "{few}");
    said!(in_round_numbers(&few));
    let many = judge(50);
    let Outcome::Divergent { divergences: 50, share, .. } = many.outcome else { panic!("{many}") };
    assert_eq!(share, 0.0125);
    said!(in_round_numbers(&many));
    // Also where the chains agree only nearly.
    let nearly = ar1(4, 1000, 0.95, 2);
    let judge = Judge::new().quantity("x", nearly.view()).divergences(50, 4000).judge().unwrap();
    let rhat = judge.groups[0].max_rhat;
    assert!(rhat > 1.01 && rhat < 1.05, "{rhat}");
    assert!(matches!(judge.outcome, Outcome::Divergent { divergences: 50, .. }), "{judge}");
}

#[test]
fn verdict_on_trajectories() {
    let good = ar1(4, 1000, 0.1, 1);
    let judge = |share: f64, ebfmi| {
        let judge = Judge::new().quantity("x", good.view());
        let at_max_depth = vec![share; 4];
        let trajectories = Trajectories { at_max_depth, ebfmi, ..Trajectories::default() };
        judge.trajectories(trajectories).judge().unwrap()
    };
    // Nothing of depths, nor of E-BFMI.
    let fine = judge(0.01, vec![0.9; 4]);
    assert!(fine.advice().is_empty(), "{fine}");
    said!(in_round_numbers(&fine));
    let deep = judge(0.12, vec![]);
    assert_eq!(deep.advice()[0], Advice::RaiseMaxDepth, "{deep}");
    said!(in_round_numbers(&deep));
    let slow = judge(0.0, vec![0.9, 0.2, 0.9, 0.11]);
    assert_eq!(slow.advice()[0], Advice::RunLonger, "{slow}");
    said!(in_round_numbers(&slow));
}

#[test]
fn verdict_warns_of_a_second_stage_that_accepts_next_to_nothing() {
    let good = ar1(4, 1000, 0.0, 1);
    let judge = |second_stage_accept| {
        let trajectories = Trajectories { second_stage_accept, ..Trajectories::default() };
        let judge = Judge::new().quantity("x", good.view()).trajectories(trajectories);
        judge.judge().unwrap()
    };
    let warns = |verdict: &Verdict| {
        let better = "make fewer inner steps, or a better surrogate";
        verdict.advice().contains(&Advice::InRust(better.into()))
    };
    for fine in [vec![], vec![f64::NAN; 4], vec![0.05, 0.4, 1.0, f64::NAN]] {
        let verdict = judge(fine);
        assert!(!warns(&verdict), "{verdict}");
        said!(in_round_numbers(&verdict));
    }
    let low = judge(vec![0.3, 0.012, 0.04, 0.6]);
    assert!(warns(&low), "{low}");
    said!(in_round_numbers(&low));

    // A run: a surrogate ten times as wide as the target in each of two directions, on which the chain goes far.
    let target = GaussianTarget::standard(2).unwrap();
    let wide = GaussianTarget::new(vec![0.0; 2], &[100.0, 0.0, 0.0, 100.0]).unwrap();
    let run = |steps| {
        let rwm = Rwm { step_size: 4.0, adapt_step_size: false, ..Rwm::default() };
        let algorithm = DelayedAcceptance::new(&wide, rwm, steps);
        Sampler::new(&target, algorithm).chains(2).warmup(10).draws(2_000).seed(1).run().unwrap()
    };
    // The mean over the steps at which the target was asked: not those in which nothing moved.
    let check = |draws: &Draws| {
        let of_chains = draws.trajectories().second_stage_accept;
        let all = draws.stat("second_stage_accept").unwrap();
        for (found, chain) in of_chains.iter().zip(all.outer_iter()) {
            let asked: Vec<f64> = chain.iter().copied().filter(|p| p.is_finite()).collect();
            let mean = asked.iter().sum::<f64>() / asked.len() as f64;
            assert!((found - mean).abs() < 1e-12, "{found}, {mean}");
        }
        (of_chains, all.iter().filter(|p| p.is_nan()).count())
    };
    let draws = run(30);
    assert!(check(&draws).0.iter().all(|accepted| *accepted < 0.05));
    assert!(warns(&draws.verdict().unwrap()));
    let (near, unmoved) = (run(1), 400);
    assert!(check(&near).1 > unmoved, "too few steps in which nothing moved");
    assert!(!warns(&near.verdict().unwrap()));
    assert!(
        Draws::trajectories(&Sampler::new(&target, Rwm::default()).run().unwrap())
            .second_stage_accept
            .is_empty()
    );
}

#[test]
fn verdict_on_momenta_of_a_wrong_temperature() {
    let good = ar1(4, 1000, 0.1, 1);
    for (temperatures, off) in [([0.25; 4], vec![0, 1, 2, 3]), ([1.0, 1.5, 0.9, 1.0], vec![1])] {
        let judge = Judge::new().quantity("x", good.view()).unadjusted(Some(temperatures.to_vec()));
        let verdict = judge.judge().unwrap();
        let Outcome::WrongTemperature { chains, .. } = &verdict.outcome else {
            panic!("{verdict}")
        };
        assert_eq!(*chains, off);
        said!(in_round_numbers(&verdict));
    }
}

#[test]
fn verdict_says_how_much_it_matters() {
    let mut x = ar1(4, 1000, 0.5, 1);
    let good = x.clone();
    x.row_mut(3).mapv_inplace(|v| v + 3.0);
    let of = |x: &Array2<f64>, apart: f64| {
        Judge::new().quantity("x", x.view()).chains_apart(apart).judge().unwrap()
    };
    // Little affected up to 0.3, roughly right up to 0.5.
    for apart in [0.27, 0.3, 0.31, 0.5, 0.51, f64::INFINITY] {
        let verdict = of(&x, apart);
        said!(in_round_numbers(&verdict));
        assert!(!verdict.is_converged() && verdict.apart == Some(apart));
    }
    // Where it is not known, or chains agree, nothing is said of intervals.
    let none = of(&x, f64::NAN);
    assert!(none.apart.is_none(), "{none}");
    said!(in_round_numbers(&none));
    let converged = of(&good, 0.02);
    assert!(converged.is_converged());
    assert_eq!(converged.to_string(), of(&good, f64::NAN).to_string());
    assert_eq!(converged.apart, Some(0.02));
    // Small or not, chains that disagree have not converged.
    assert!(!of(&x, 0.0).is_converged());
    let verdict = of(&x, 0.27);
    let json = serde_json::to_string(&verdict).unwrap();
    assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict);
}

#[test]
fn verdict_on_what_cannot_be_judged() {
    let good = ar1(4, 1000, 0.1, 1);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut x = good.clone();
        x[[1, 999]] = bad;
        let verdict = verdict(&x);
        let expected = Outcome::NotFinite { group: "log-likelihood".into(), chain: 1 };
        assert_eq!(verdict.outcome, expected);
    }
    let one = verdict(&ar1(1, 1000, 0.1, 1));
    assert!(matches!(one.outcome, Outcome::OneChain { drifts: false, .. }), "{one}");
    assert_eq!(one.advice(), [Advice::MoreChains { at_least: 4 }]);
    said!(in_round_numbers(&one));
    let slow = verdict(&Array2::from_shape_fn((1, 100), |(_, t)| t as f64));
    assert!(matches!(slow.outcome, Outcome::OneChain { drifts: true, .. }), "{slow}");
    for shape in [(0, 0), (0, 5), (4, 0), (4, 3)] {
        let none = verdict(&Array2::zeros(shape));
        assert!(matches!(none.outcome, Outcome::NothingToJudge { .. }), "{none}");
    }
    let nothing = Judge::new().judge().unwrap();
    assert_eq!(nothing.outcome, Outcome::NothingToJudge { draws: 0 });
    let unequal = Judge::new()
        .quantity("log-likelihood", good.view())
        .quantity("log-prior", good.slice(s![..3, ..]));
    refused!(unequal.judge(), Shape { what: "chains of `log-prior`", found: 3, expected: 4 });
}
