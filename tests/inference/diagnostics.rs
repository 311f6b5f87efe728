//! The diagnostics against arviz-stats 0.8.0 (tests/golden/diagnostics.py), against known values,
//! and against hostile input.

use std::collections::BTreeMap;

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::*;
use bnn_mcmc::layout::Layout;
use bnn_mcmc::message::Advice;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::DelayedAcceptance;
use bnn_mcmc::targets::Target;
use bnn_mcmc::testing::GaussianTarget;
use ndarray::{Array2, Array3, ArrayView2, Axis, s};
use proptest::prelude::*;
use serde_json::Value;

/// Relative deviation that the golden comparison allows.
const TOLERANCE: f64 = 1e-9;

type Diagnostic = fn(ArrayView2<f64>) -> f64;

const DIAGNOSTICS: [(&str, Diagnostic); 22] = [
    ("rhat", rhat),
    ("rhat_rank", rhat_rank),
    ("rhat_folded", rhat_folded),
    ("rhat_split", rhat_split),
    ("rhat_base", rhat_base),
    ("ess_bulk", ess_bulk),
    ("ess_tail", ess_tail),
    ("ess_mean", ess_mean),
    ("ess_sd", ess_sd),
    ("ess_median", ess_median),
    ("ess_quantile_0.3", |x| ess_quantile(x, 0.3)),
    ("ess_local_0.2_0.4", |x| ess_local(x, 0.2, 0.4)),
    ("ess_per_chain", ess_per_chain),
    ("mcse_mean", mcse_mean),
    ("mcse_sd", mcse_sd),
    ("mcse_median", mcse_median),
    ("mcse_quantile_0.1", |x| mcse_quantile(x, 0.1)),
    ("mean", |x| SummaryRow::new("x", x).mean),
    ("sd", |x| SummaryRow::new("x", x).sd),
    ("q05", |x| SummaryRow::new("x", x).q05),
    ("q50", |x| SummaryRow::new("x", x).q50),
    ("q95", |x| SummaryRow::new("x", x).q95),
];

/// Where the crate deviates from arviz-stats on purpose: (case, diagnostic, our value).
///
/// Chains that are constant but differ have W = 0; ArviZ divides by its rounding noise in W.
const DEVIATIONS: [(&str, &str, f64); 3] = [
    ("constant chains", "rhat", f64::INFINITY),
    ("constant chains", "rhat_rank", f64::INFINITY),
    ("constant chains", "rhat_folded", f64::INFINITY),
];

fn number(v: &Value) -> f64 {
    match v {
        Value::Null => f64::NAN,
        Value::String(s) => s.parse().unwrap(),
        v => v.as_f64().unwrap(),
    }
}

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(number).collect()
}

struct Case {
    name: String,
    draws: Array2<f64>,
    values: BTreeMap<String, f64>,
    autocov: Vec<f64>,
    autocorr: Vec<f64>,
}

fn golden() -> Vec<Case> {
    let text = include_str!("../golden/diagnostics.json");
    let cases: Vec<Value> = serde_json::from_str(text).unwrap();
    let case = |c: &Value| {
        let chains: Vec<Vec<f64>> = c["draws"].as_array().unwrap().iter().map(numbers).collect();
        let shape = (chains.len(), chains[0].len());
        Case {
            name: c["name"].as_str().unwrap().to_string(),
            draws: Array2::from_shape_vec(shape, chains.concat()).unwrap(),
            values: c["values"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(k, v)| (k.clone(), number(v)))
                .collect(),
            autocov: numbers(&c["autocov"]),
            autocorr: numbers(&c["autocorr"]),
        }
    };
    cases.iter().map(case).collect()
}

/// 0 for two NaN or equal numbers, infinity where only one is NaN.
fn deviation(found: f64, expected: f64) -> f64 {
    if found == expected || found.is_nan() && expected.is_nan() {
        0.0
    } else if found.is_nan() || expected.is_nan() {
        f64::INFINITY
    } else {
        (found - expected).abs() / expected.abs().max(f64::MIN_POSITIVE)
    }
}

#[test]
fn every_function_equals_arviz() {
    let mut worst: BTreeMap<&str, f64> = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in golden() {
        for (name, f) in DIAGNOSTICS {
            let found = f(case.draws.view());
            let ours = DEVIATIONS.iter().find(|d| d.0 == case.name && d.1 == name);
            let expected = ours.map_or(case.values[name], |d| d.2);
            let off = deviation(found, expected);
            let entry = worst.entry(name).or_default();
            *entry = entry.max(off);
            if off > TOLERANCE {
                wrong.push(format!("{}: {name} = {found:e}, expected {expected:e}", case.name));
            }
        }
    }
    println!("largest relative deviations: {worst:#?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn autocovariances_equal_those_of_arviz() {
    for case in golden() {
        let (acov, acor) = (autocovariance(case.draws.view()), autocorrelation(case.draws.view()));
        let scale = acov[[0, 0]].abs();
        for (t, (c, r)) in case.autocov.iter().zip(&case.autocorr).enumerate() {
            // Relative to lag 0: autocovariances of other lags pass through 0.
            let (found, found_r) = (acov[[0, t]], acor[[0, t]]);
            let same = found.is_nan() && c.is_nan() || (found - c).abs() <= 1e-10 * scale;
            assert!(same, "{}, lag {t}: {found}, expected {c}", case.name);
            let same = found_r.is_nan() && r.is_nan() || (found_r - r).abs() <= 1e-9;
            assert!(same, "{}, lag {t}: {found_r}, expected {r}", case.name);
        }
    }
}

/// If this fails, the comparison above compares nothing.
#[test]
fn the_golden_comparison_can_fail() {
    assert!(deviation(1.0 + 1e-8, 1.0) > TOLERANCE);
    assert!(deviation(f64::NAN, 1.0) > TOLERANCE && deviation(1.0, f64::NAN) > TOLERANCE);
    assert!(deviation(f64::INFINITY, 1.0) > TOLERANCE && deviation(-1.0, 1.0) > TOLERANCE);
    let cases = golden();
    assert!(cases.len() >= 40 && cases.iter().all(|c| c.values.len() == DIAGNOSTICS.len()));
    // Every function is undefined somewhere, and finite on most cases; no two agree throughout.
    for (i, (name, f)) in DIAGNOSTICS.iter().enumerate() {
        let finite = cases.iter().filter(|c| c.values[*name].is_finite()).count();
        assert!(2 * finite > cases.len(), "{name} is finite on {finite} cases only");
        for (other, _) in &DIAGNOSTICS[i + 1..] {
            let differ = |c: &Case| deviation(f(c.draws.view()), c.values[*other]) > TOLERANCE;
            assert!(cases.iter().any(differ), "{name} passes for {other}");
        }
    }
}

#[test]
fn known_values_of_edge_cases() {
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-6 * b.abs(), "{a}, expected {b}");
    let equal = Array2::from_elem((4, 100), 0.1);
    assert!(rhat(equal.view()).is_nan() && rhat_split(equal.view()).is_nan());
    assert_eq!(ess_bulk(equal.view()), 400.0);
    assert_eq!(ess_tail(equal.view()), 400.0);
    assert_eq!(mcse_mean(equal.view()), 0.0);
    assert!(mcse_sd(equal.view()).is_nan());

    let constants = Array2::from_shape_fn((4, 100), |(c, _)| 0.1 * c as f64);
    for f in [rhat, rhat_rank, rhat_split, rhat_base] {
        assert_eq!(f(constants.view()), f64::INFINITY);
    }
    close(ess_bulk(constants.view()), 100.0 / 23.0); // 4.3478

    let alternating = Array2::from_shape_fn((4, 100), |(_, t)| if t % 2 == 0 { 1.0 } else { -1.0 });
    close(ess_bulk(alternating.view()), 400.0 * 400_f64.log10()); // 1040.824
    close(rhat(alternating.view()), 0.98_f64.sqrt()); // .98995
    assert!(rhat_folded(alternating.view()).is_nan());

    let one_chain = Array2::from_shape_fn((1, 50), |(_, t)| ((t * 17) % 50) as f64);
    assert!(rhat(one_chain.view()).is_nan() && ess_bulk(one_chain.view()).is_finite());
    for (chains, draws) in [(0, 0), (0, 10), (4, 0), (4, 3), (1, 1)] {
        let x = Array2::from_shape_fn((chains, draws), |(c, t)| (c + 2 * t) as f64);
        for (name, f) in &DIAGNOSTICS[..17] {
            assert!(f(x.view()).is_nan(), "{name} of {chains} x {draws}");
        }
    }
}

#[test]
fn diagnostics_do_not_depend_on_the_scale_of_the_draws() {
    // ArviZ takes draws that span less than 1e-15 for constant; see the documentation of ESS.
    let x = ar1(4, 200, 0.8, 3);
    let tiny = &x * 2_f64.powi(-80);
    for (name, f) in &DIAGNOSTICS[..13] {
        assert_eq!(f(x.view()), f(tiny.view()), "{name}");
    }
}

#[test]
fn a_transposed_view_gives_the_same() {
    let x = ar1(4, 101, 0.5, 4);
    let transposed = x.t().as_standard_layout().to_owned();
    for (name, f) in DIAGNOSTICS {
        assert_eq!(f(x.view()), f(transposed.t()), "{name}");
    }
}

/// The last lag of Geyer's sum lies beyond the first transform, or beyond any count of pairs: the
/// results must not depend on how the autocovariances were obtained.
#[test]
fn long_correlations_agree_with_sums_from_the_definition() {
    for (draws, phi) in [(3000, 0.99), (9000, 0.998), (20_001, 0.9995)] {
        let x = ar1(2, draws, phi, 5);
        for (f, g) in [
            (ess_mean as Diagnostic, (|v, _| v) as fn(f64, f64) -> f64),
            (ess_median, |v, median| f64::from(v <= median)),
        ] {
            let median = SummaryRow::new("x", x.view()).q50;
            let expected = slow_ess(&x.mapv(|v| g(v, median)));
            let found = f(x.view());
            assert!(deviation(found, expected) < 1e-8, "{draws}, {phi}: {found}, {expected}");
        }
    }
}

/// Split, then Geyer's sums with each autocovariance from its definition.
fn slow_ess(x: &Array2<f64>) -> f64 {
    let (chains, draws) = x.dim();
    let half = draws / 2;
    let mut parts: Vec<Vec<f64>> = Vec::new();
    for c in 0..chains {
        parts.push(x.slice(s![c, ..half]).to_vec());
        parts.push(x.slice(s![c, draws - half..]).to_vec());
    }
    let (m, n) = (parts.len() as f64, half as f64);
    let means: Vec<f64> = parts.iter().map(|p| p.iter().sum::<f64>() / n).collect();
    let acov = |t: usize| -> f64 {
        let part = |(p, m): (&Vec<f64>, &f64)| -> f64 {
            (0..half - t).map(|i| (p[i] - m) * (p[i + t] - m)).sum::<f64>() / n
        };
        parts.iter().zip(&means).map(part).sum::<f64>() / m
    };
    let within = acov(0) * n / (n - 1.0);
    let grand = means.iter().sum::<f64>() / m;
    let between = means.iter().map(|v| (v - grand).powi(2)).sum::<f64>() / (m - 1.0);
    let total = acov(0) + between;
    let rho = |t: usize| 1.0 - (within - acov(t)) / total;
    let (mut sum, mut t, mut previous) = (0.0, 0, f64::INFINITY);
    let last = loop {
        let (even, odd) = (if t == 0 { 1.0 } else { rho(t) }, rho(t + 1));
        if even + odd <= 0.0 || t + 4 >= half {
            break even.max(0.0);
        }
        previous = (even + odd).min(previous);
        sum += previous;
        t += 2;
    };
    let tau: f64 = -1.0 + 2.0 * sum + last;
    m * n / tau.max(1.0 / (m * n).log10())
}

/// An autoregressive process of order 1 with variance 1.
pub(super) fn ar1(chains: usize, draws: usize, phi: f64, seed: u64) -> Array2<f64> {
    let mut rng = ChainRng::new(seed, 0);
    let mut x = Array2::zeros((chains, draws));
    for mut chain in x.rows_mut() {
        let mut state = rng.normal();
        for draw in &mut chain {
            *draw = state;
            state = phi * state + (1.0 - phi * phi).sqrt() * rng.normal();
        }
    }
    x
}

fn names(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("w[{i},0]")).collect()
}

fn draws_of(parameters: &[Array2<f64>]) -> Array3<f64> {
    let views: Vec<_> = parameters.iter().map(|p| p.view()).collect();
    ndarray::stack(Axis(2), &views).unwrap()
}

#[test]
fn summary_rows_equal_the_single_functions_for_any_number_of_threads() {
    let parameters: Vec<_> = (0..21).map(|i| ar1(3, 151, 0.04 * i as f64, i)).collect();
    let draws = draws_of(&parameters);
    let summary = Summary::new(&names(21), draws.view()).unwrap();
    for (row, x) in summary.rows.iter().zip(&parameters) {
        let x = x.view();
        assert_eq!(row.mcse_mean, mcse_mean(x));
        assert_eq!([row.ess_bulk, row.ess_tail], [ess_bulk(x), ess_tail(x)]);
        assert_eq!(
            [row.rhat, row.rhat_split, row.rhat_folded],
            [rhat(x), rhat_split(x), rhat_folded(x)]
        );
        assert_eq!(*row, SummaryRow::new(row.name.clone(), x));
    }
    for threads in [1, 3, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let again = pool.install(|| Summary::new(&names(21), draws.view()).unwrap());
        assert_eq!(again, summary);
    }
}

#[test]
fn summary_csv_reads_back_exactly() {
    let mut draws = draws_of(&[ar1(4, 60, 0.3, 1), ar1(4, 60, 0.3, 2), ar1(4, 60, 0.3, 3)]);
    draws[[1, 5, 2]] = f64::NAN;
    let summary = Summary::new(&names(3), draws.view()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("summary.csv");
    summary.to_csv(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines();
    let header = "name,mean,sd,mcse_mean,q05,q50,q95,ess_bulk,ess_tail,rhat,rhat_split,rhat_folded";
    assert_eq!(lines.next().unwrap(), header);
    let first = lines.next().unwrap();
    assert!(first.starts_with("\"w[0,0]\","), "{first}");
    assert_eq!(lines.nth(1).unwrap(), format!("\"w[2,0]\"{}", ",NaN".repeat(11)));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<SummaryRow> = reader.deserialize().map(|r| r.unwrap()).collect();
    assert_eq!(rows[..2], summary.rows[..2]);
    assert!(summary.to_csv(folder.path().join("no/such/folder.csv")).unwrap_err().is_io());
}

#[test]
fn summary_helpers_do_not_hide_nan() {
    let layout = Layout::new().with("w", &[2]).with("b", &[]);
    let mut draws = draws_of(&[ar1(4, 60, 0.3, 1), ar1(4, 60, 0.3, 2), ar1(4, 60, 0.3, 3)]);
    let of = |draws: &Array3<f64>| Summary::new(&layout.parameter_names(), draws.view()).unwrap();
    let summary = of(&draws);
    let rhats: Vec<f64> = summary.rows.iter().map(|r| r.rhat).collect();
    assert_eq!(summary.max_rhat(), rhats[0].max(rhats[1]).max(rhats[2]));
    assert!(summary.min_ess_bulk() > 0.0 && summary.min_ess_tail() > 0.0);
    let blocks = summary.by_block(&layout).unwrap();
    assert_eq!(blocks.rows.len(), 2);
    assert_eq!((blocks.rows[0].parameters, blocks.rows[0].undefined), (2, 0));
    assert_eq!(blocks.rows[0].rhat, rhats[0].max(rhats[1]));

    draws[[0, 0, 0]] = f64::NAN;
    let summary = of(&draws);
    assert!(summary.max_rhat().is_nan());
    assert!(summary.min_ess_bulk().is_nan() && summary.min_ess_tail().is_nan());
    let blocks = summary.by_block(&layout).unwrap();
    assert!(blocks.rows[0].rhat.is_nan() && blocks.rows[0].undefined == 1);
    assert!(blocks.rows[1].rhat.is_finite());
    assert!(summary.to_string().contains("R-hat undefined: 1 of 3 parameters"), "{summary}");

    let empty = Summary::new(&[], Array3::zeros((4, 10, 0)).view()).unwrap();
    assert!(empty.max_rhat().is_nan() && empty.rows.is_empty());
    assert!(Summary::new(&names(2), draws.view()).unwrap_err().is_argument());
    assert!(summary.by_block(&Layout::vector("q", 2)).unwrap_err().is_argument());
}

#[test]
fn tables_are_aligned_and_long_ones_are_cut() {
    let many: Vec<_> = (0..100).map(|i| ar1(2, 20, 0.3, i)).collect();
    let summary = Summary::new(&names(100), draws_of(&many).view()).unwrap();
    let short = summary.to_string();
    let lines: Vec<&str> = short.lines().collect();
    assert_eq!(lines.len(), 1 + 30 + 1 + 10 + 2, "{short}");
    assert!(lines[1..31].iter().all(|l| l.len() == lines[0].len()), "{short}");
    assert_eq!(lines[31], "... 60 more");
    assert!(lines[42].starts_with("largest R-hat: "));
    assert_eq!(format!("{summary:#}").lines().count(), 1 + 100 + 2);
    let blocks = summary.by_block(&Layout::vector("w", 100)).unwrap().to_string();
    assert_eq!(blocks.lines().count(), 2);
    println!("{short}\n{blocks}");
}

/// The verdict on one quantity.
fn verdict(draws: &Array2<f64>) -> Verdict {
    let verdict = Judge::new().quantity("log-likelihood", draws.view()).judge().unwrap();
    println!("{verdict}");
    verdict
}

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
    let text = verdict.to_string();
    assert!(text.starts_with("converged: R-hat <= 1.01 and at least 2,"), "{text}");
    assert!(text.ends_with("for predictions, log-likelihood and log-prior"), "{text}");
    let json = serde_json::to_string(&verdict).unwrap();
    assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict);
}

#[test]
fn verdict_too_few_draws() {
    let verdict = verdict(&ar1(4, 60, -0.3, 1));
    let Outcome::TooFewDraws { min_ess, wanted } = verdict.outcome else { panic!("{verdict}") };
    assert!(min_ess < 400.0 && wanted == 400.0);
    let text = verdict.to_string();
    assert!(text.contains("at least 100 per chain, 400 in all") && text.contains("times as long"));
}

#[test]
fn verdict_nearly_converged() {
    let verdict = verdict(&ar1(4, 1500, 0.95, 8));
    let Outcome::NearlyConverged { max_rhat, .. } = verdict.outcome else { panic!("{verdict}") };
    assert!(max_rhat > 1.01 && max_rhat <= 1.05);
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
    assert!(verdict.to_string().contains("chain 3 (counted from 0) sits in another mode"));
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
    assert!(verdict.to_string().contains("chain 0 (counted from 0) still drifts"));
}

#[test]
fn verdict_every_chain_drifts() {
    let mut x = ar1(4, 1000, 0.5, 1);
    x.indexed_iter_mut().for_each(|((_, t), v)| *v += 0.005 * t as f64);
    let all = verdict(&x);
    assert!(
        matches!(&all.outcome, Outcome::ChainsDrift { drifting, .. } if *drifting == [0, 1, 2, 3])
    );
    assert!(all.to_string().contains("every chain still drifts"));
    x.row_mut(1).assign(&ar1(1, 1000, 0.5, 9).row(0));
    let most = verdict(&x);
    assert!(most.to_string().contains("chains 0, 2 and 3 (counted from 0) still drift"), "{most}");
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
    assert!(verdict.to_string().contains("several modes"));
    // Nor is it said that both look stationary if one does not.
    let mut two = ar1(2, 1000, 0.5, 1);
    two.row_mut(1).iter_mut().enumerate().for_each(|(t, v)| *v += 0.008 * t as f64);
    let verdict = self::verdict(&two);
    assert!(verdict.to_string().contains("chain 1 (counted from 0) still drifts"), "{verdict}");
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
    assert!(few.is_converged() && few.to_string().ends_with("; 3 transitions diverged"), "{few}");
    let many = judge(50);
    assert!(matches!(many.outcome, Outcome::Divergent { divergences: 50, .. }), "{many}");
    assert!(many.to_string().contains("(1.2 %)"), "{many}");
    // Also where the chains agree only nearly.
    let nearly = ar1(4, 1000, 0.95, 2);
    let judge = Judge::new().quantity("x", nearly.view()).divergences(50, 4000).judge().unwrap();
    let rhat = judge.groups[0].max_rhat;
    assert!(rhat > 1.01 && rhat < 1.05, "{rhat}");
    assert!(matches!(judge.outcome, Outcome::Divergent { .. }), "{judge}");
    assert!(judge.to_string().contains("50 transitions diverged"), "{judge}");
}

#[test]
fn verdict_on_trajectories() {
    let good = ar1(4, 1000, 0.1, 1);
    let judge = |share: f64, ebfmi| {
        let judge = Judge::new().quantity("x", good.view());
        let at_max_depth = vec![share; 4];
        let trajectories = Trajectories { at_max_depth, ebfmi, ..Trajectories::default() };
        judge.trajectories(trajectories).judge().unwrap().to_string()
    };
    let fine = judge(0.01, vec![0.9; 4]);
    assert!(!fine.contains("depth") && !fine.contains("E-BFMI"), "{fine}");
    let deep = judge(0.12, vec![]);
    assert!(
        deep.contains(
            "12 % of transitions are cut off at the maximal depth: let trajectories be longer"
        ),
        "{deep}"
    );
    let slow = judge(0.0, vec![0.9, 0.2, 0.9, 0.11]);
    assert!(slow.contains("E-BFMI of chains 1 and 3 (counted from 0) is low (0.11;"), "{slow}");
}

#[test]
fn verdict_warns_of_a_second_stage_that_accepts_next_to_nothing() {
    let good = ar1(4, 1000, 0.0, 1);
    let judge = |second_stage_accept| {
        let trajectories = Trajectories { second_stage_accept, ..Trajectories::default() };
        let judge = Judge::new().quantity("x", good.view()).trajectories(trajectories);
        judge.judge().unwrap().to_string()
    };
    for fine in [vec![], vec![f64::NAN; 4], vec![0.05, 0.4, 1.0, f64::NAN]] {
        let text = judge(fine);
        assert!(!text.contains("second stage"), "{text}");
    }
    let text = judge(vec![0.3, 0.012, 0.04, 0.6]);
    let warning = "the second stage of chains 1 and 2 (counted from 0) accepts 1.2 % of what moves on the surrogate";
    assert!(text.contains(warning), "{text}");

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
    let text = draws.verdict().unwrap().to_string();
    assert!(text.contains("; the second stage of every chain accepts"), "{text}");
    assert!(text.contains("make fewer inner steps, or a better surrogate"), "{text}");
    let (near, unmoved) = (run(1), 400);
    assert!(check(&near).1 > unmoved, "too few steps in which nothing moved");
    let text = near.verdict().unwrap().to_string();
    assert!(!text.contains("second stage"), "{text}");
    assert!(
        Draws::trajectories(&Sampler::new(&target, Rwm::default()).run().unwrap())
            .second_stage_accept
            .is_empty()
    );
}

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
    let mut x = ar1(4, 1000, 0.5, 1);
    x.outer_iter_mut().enumerate().for_each(|(c, mut x)| x += 3.0 * c as f64);
    let of = |units, algorithm: &str| {
        // Long trajectories make no ridge of chains that mix.
        let judge = Judge::new().quantity("x", x.view()).trajectories(trajectories(500.0));
        let judge = |in_use| judge.clone().in_use(in_use).judge().unwrap();
        let in_use = network(units, true, algorithm);
        let verdict = judge(in_use.clone());
        assert!(matches!(verdict.outcome, Outcome::ChainsDisagree { .. }), "{verdict}");
        assert_eq!(verdict.cause, Some(Cause::Modes), "{verdict}");
        assert!(verdict.to_string().contains("several modes"), "{verdict}");
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
    let mut modes = ar1(4, 1000, 0.5, 1);
    modes.outer_iter_mut().enumerate().for_each(|(c, mut x)| x += 3.0 * c as f64);
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
        (verdict.cause.clone(), verdict.to_string())
    };
    let (modes, network_of) = (Some(Cause::Modes), network);
    let ridge = |leapfrog_steps| Some(Cause::Ridge { leapfrog_steps });
    let network = Some(10);

    let (cause, text) = of(trajectories(200.0), network, true, "Nuts");
    assert_eq!(cause, ridge(200.0));
    assert!(text.contains("are long (200 leapfrog steps on average), as on a thin"), "{text}");
    assert!(text.contains("integrate the output layer out (`Collapsed`)"), "{text}");
    // Not where it cannot be done, nor where it was done.
    let (cause, text) = of(trajectories(200.0), network, false, "Nuts");
    assert_eq!(cause, ridge(200.0));
    assert!(text.contains("run longer; trajectories are long"), "{text}");
    assert!(!text.contains("Collapsed"), "{text}");
    let (cause, text) = of(trajectories(200.0), network, true, "PowerPosteriors(Collapsed(Mams))");
    assert_eq!(cause, Some(Cause::Modes));
    assert!(!text.contains("`Collapsed`"), "{text}");
    let cut_off = Trajectories { at_max_depth: vec![0.5; 4], ..trajectories(31.0) };
    let (cause, text) = of(cut_off.clone(), network, true, "Nuts");
    assert_eq!(cause, ridge(31.0));
    assert!(text.contains("trajectories are cut off (31 leapfrog steps on average)"), "{text}");
    let (cause, text) = of(cut_off, network, true, "Collapsed(Nuts)");
    assert_eq!(cause, ridge(31.0));
    assert!(text.contains("longer (`max_depth`)") && !text.contains("`Collapsed`"), "{text}");

    // Short trajectories of a network that found their length: chains hop.
    let short = trajectories(199.0);
    let (cause, text) = of(short.clone(), network, true, "Nuts");
    assert_eq!(cause, modes);
    assert!(text.contains("seldom cross between modes") && text.contains("temper"), "{text}");
    assert!(!text.contains("NUTS") && !text.contains("max_depth"), "{text}");
    // Not where there is another reason.
    let given = Trajectories { find_their_length: false, at_max_depth: vec![], ..short.clone() };
    let (cause, text) = of(given, network, true, "Hmc");
    assert_eq!(cause, None);
    assert!(text.ends_with("run longer, or sample by NUTS (`Nuts`)"), "{text}");
    // A long path that the user chose is no ridge.
    let chosen = Trajectories { at_max_depth: vec![], ..trajectories(500.0) };
    let chosen = Trajectories { find_their_length: false, ..chosen };
    assert_eq!(of(chosen, network, true, "Hmc").0, None);
    let untested = Trajectories { accept_prob: vec![f64::NAN; 4], ..trajectories(500.0) };
    assert_eq!(of(untested, network, true, "Mclmc").0, None);
    let (cause, text) = of(short.clone(), None, true, "Nuts");
    assert_eq!(cause, None);
    assert!(text.ends_with("warm up and run longer"), "{text}");
    let rejected = Trajectories { accept_prob: vec![0.4; 4], ..trajectories(500.0) };
    assert_eq!(of(rejected, network, true, "Hmc").0, None);
    let narrow = Trajectories { ebfmi: vec![0.9, 0.2, 0.9, 0.9], ..short.clone() };
    assert_eq!(of(narrow, network, true, "Nuts").0, None);
    let judge = Judge::new().quantity("x", slow.view()).in_use(network_of(network, true, "Nuts"));
    let judge = judge.trajectories(short).divergences(20, 1200);
    assert_eq!(judge.judge().unwrap().cause, None);
    let (cause, text) = of(Trajectories::default(), network, true, "Rwm");
    assert_eq!(cause, None);
    assert!(text.ends_with("run longer, or sample by NUTS (`Nuts`)"), "{text}");
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
    assert!(!good.to_string().contains("ridge"), "{good}");
}

#[test]
fn verdict_says_how_much_it_matters() {
    let mut x = ar1(4, 1000, 0.5, 1);
    let good = x.clone();
    x.row_mut(3).mapv_inplace(|v| v + 3.0);
    let of = |x: &Array2<f64>, apart: f64| {
        Judge::new().quantity("x", x.view()).chains_apart(apart).judge().unwrap()
    };
    for (apart, words) in [
        (
            0.27,
            "0.27 of a predictive standard deviation at the worst row: predictive intervals are l",
        ),
        (
            0.3,
            "0.30 of a predictive standard deviation at the worst row: predictive intervals are l",
        ),
        (0.31, "predictive intervals are only roughly right"),
        (0.51, "predictive intervals are not to be believed"),
        (f64::INFINITY, "predictive intervals are not to be believed"),
    ] {
        let verdict = of(&x, apart);
        assert!(verdict.to_string().contains(words), "{verdict}");
        assert!(!verdict.is_converged());
    }
    let none = of(&x, f64::NAN);
    assert!(none.apart.is_none() && !none.to_string().contains("intervals"), "{none}");
    let converged = of(&good, 0.02);
    assert!(converged.is_converged() && !converged.to_string().contains("intervals"));
    assert_eq!(converged.apart, Some(0.02));
    // Small or not, chains that disagree have not converged.
    assert!(!of(&x, 0.0).is_converged());
    let verdict = of(&x, 0.27);
    let json = serde_json::to_string(&verdict).unwrap();
    assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict);
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
        let (kind, advice) = match verdict.outcome {
            Outcome::OneChainDisagrees { drifts: false, .. } => (
                0,
                "run longer, or temper the posterior (`PowerPosteriors`); leaving the chain out",
            ),
            Outcome::ChainsDisagree { .. } => {
                (1, "run longer, or temper the posterior (`PowerPosteriors`)")
            }
            _ => continue,
        };
        if verdict.cause.is_some() {
            continue;
        }
        seen[kind] += 1;
        let (first, again) = (of(&x, "Hmc").to_string(), of(&x, tempered).to_string());
        assert!(first.contains(advice) && !first.contains("mode"), "{first}");
        assert!(again.contains("run longer") && !again.contains("temper"), "{again}");
        assert_eq!(
            first.contains("chain 3 (counted from 0) stays elsewhere"),
            kind == 0,
            "{first}"
        );
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
    let sentence = verdict.to_string();
    assert!(sentence.starts_with("not converged: the chains disagree"), "{sentence}");
    assert!(sentence.contains("verdict on predictions counts instead"), "{sentence}");

    let verdict = two_modes(both, Keep::Statistics).verdict().unwrap();
    assert!(matches!(verdict.outcome, Outcome::NoParameters { .. }), "{verdict}");
    assert!(!verdict.is_converged() && verdict.unkept == 2);
    let sentence = verdict.to_string();
    assert!(sentence.starts_with("not judged: R-hat <= 1.01 and at least "), "{sentence}");
    assert!(sentence.contains("the run kept none of its 2 parameters"), "{sentence}");

    let verdict = two_modes(both, Keep::blocks(["mode"])).verdict().unwrap();
    assert!(!verdict.is_converged(), "{verdict}");
    let verdict = two_modes(both, Keep::blocks(["other"])).verdict().unwrap().to_string();
    assert!(verdict.contains("for parameters, log likelihood and log prior"), "{verdict}");
    assert!(
        verdict.ends_with("; 1 of 2 parameters were not kept, and are not judged"),
        "{verdict}"
    );

    let draws = two_modes([9.0, 10.0, 10.0, 11.0], Keep::All);
    let verdict = draws.verdict().unwrap();
    assert!(verdict.is_converged(), "{verdict}");
    assert!(verdict.to_string().ends_with("for parameters, log likelihood and log prior"));
    // Draws from elsewhere have parameters only.
    let elsewhere = Draws::new(draws.layout().clone(), draws.values().to_owned()).unwrap();
    let verdict = elsewhere.verdict().unwrap();
    assert!(verdict.is_converged() && verdict.to_string().ends_with("for parameters"), "{verdict}");
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
    assert!(!verdict.to_string().contains("trajectories"), "{verdict}");
}

#[test]
fn ebfmi_of_independent_energies_is_two_and_of_slow_ones_small() {
    // sum (x_t - x_(t-1))^2 / sum (x_t - mean)^2 = 2 (1 - rho) in the limit.
    for rho in [0.0, 0.9] {
        let energies = ar1(2, 20_000, rho, 3);
        for ebfmi in bnn_mcmc::diagnostics::ebfmi(energies.view()) {
            assert!((ebfmi - 2.0 * (1.0 - rho)).abs() < 0.05, "{ebfmi}");
        }
    }
    let constant = Array2::<f64>::ones((1, 10));
    assert!(bnn_mcmc::diagnostics::ebfmi(constant.view())[0].is_nan());
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
    assert!(one.to_string().contains("R-hat between chains cannot be computed"));
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
        .quantity("log-prior", good.slice(s![..3, ..]))
        .judge()
        .unwrap_err();
    assert_eq!(unequal.to_string(), "chains of `log-prior`: found 3, expected 4");
    assert!(matches!(unequal, Error::Shape { .. }));
}

/// Any array up to 5 x 30: ordinary numbers, ties, and every special value there is.
fn hostile() -> impl Strategy<Value = Array2<f64>> {
    let value = prop_oneof![
        6 => -3.0..3.0,
        6 => (-2..3_i32).prop_map(f64::from),
        1 => proptest::num::f64::ANY,
        1 => prop::sample::select(vec![
            f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, f64::MIN_POSITIVE,
            5e-324, -0.0,
        ]),
    ];
    (0..6_usize, 0..31_usize, 0..4_u8).prop_flat_map(move |(chains, draws, kind)| {
        let calm = (-2..3_i32).prop_map(f64::from).boxed();
        let value = if kind == 0 { value.clone().boxed() } else { calm };
        prop::collection::vec(value, chains * draws)
            .prop_map(move |v| Array2::from_shape_vec((chains, draws), v).unwrap())
    })
}

proptest! {
    #[test]
    fn nothing_panics_and_nan_never_converges(x in hostile(), p in -0.5..1.5) {
        for (_, f) in DIAGNOSTICS {
            f(x.view());
        }
        ess_quantile(x.view(), p);
        mcse_quantile(x.view(), p);
        ess_local(x.view(), p, 1.0 - p);
        for p in [f64::NAN, f64::INFINITY] {
            prop_assert!(ess_quantile(x.view(), p).is_nan() && mcse_quantile(x.view(), p).is_nan());
        }
        autocorrelation(x.view());
        let verdict = Judge::new().quantity("x", x.view()).judge().unwrap();
        prop_assert!(!verdict.to_string().is_empty());
        if x.iter().any(|v| v.is_nan()) {
            prop_assert!(rhat(x.view()).is_nan() && ess_bulk(x.view()).is_nan());
            prop_assert!(!verdict.is_converged());
        }
        let draws = x.insert_axis(Axis(2));
        let summary = Summary::new(&names(1), draws.view()).unwrap();
        prop_assert!(!summary.to_string().is_empty());
    }

    #[test]
    fn rank_based_diagnostics_ignore_monotone_maps(seed in 0..1000_u64, scale in 0.1..5.0) {
        let x = ar1(3, 40, 0.5, seed);
        let mapped = x.mapv(|v| f64::exp(scale * v));
        prop_assert_eq!(rhat_rank(x.view()), rhat_rank(mapped.view()));
        prop_assert_eq!(ess_bulk(x.view()), ess_bulk(mapped.view()));
    }

    #[test]
    fn permuting_the_chains_changes_nothing(seed in 0..1000_u64) {
        let x = ar1(4, 60, 0.7, seed);
        let permuted = x.select(Axis(0), &[2, 0, 3, 1]);
        for (name, f) in DIAGNOSTICS {
            prop_assert!(deviation(f(x.view()), f(permuted.view())) < 1e-10, "{}", name);
        }
    }
}

#[test]
fn nested_rhat_equals_arviz() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../golden/rhat_nested.json")).unwrap();
    assert_eq!(cases.len(), 9);
    for case in &cases {
        let superchains: Vec<Vec<Vec<f64>>> =
            serde_json::from_value(case["draws"].clone()).unwrap();
        let shape = (superchains.len(), superchains[0].len(), superchains[0][0].len());
        let flat: Vec<f64> = superchains.concat().concat();
        let draws = Array3::from_shape_vec(shape, flat).unwrap();
        let (found, expected) = (rhat_nested(draws.view()), number(&case["rhat_nested"]));
        assert!(deviation(found, expected) < 1e-12, "{}: {found} {expected}", case["name"]);
        // The same array in another order of memory.
        let turned = draws.view().reversed_axes().as_standard_layout().into_owned();
        assert_eq!(rhat_nested(turned.view().reversed_axes()), found);
        let mut nan = draws.clone();
        nan[[0, 0, 1]] = f64::NAN;
        assert!(rhat_nested(nan.view()).is_nan());
        assert!(rhat_nested(draws.slice(s![..1, .., ..])).is_nan());
        assert!(rhat_nested(draws.slice(s![.., .., ..3])).is_nan());
        assert!(rhat_nested(draws.slice(s![.., ..0, ..])).is_nan());
    }
}
