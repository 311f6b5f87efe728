//! The diagnostics against arviz-stats 0.8.0 (tests/golden/diagnostics.py), against known values,
//! and against hostile input.

use std::collections::BTreeMap;

use bnn_mcmc::diagnostics::*;
use bnn_mcmc::layout::Layout;
use ndarray::{Array2, Array3, ArrayView2, Axis, s};
use proptest::prelude::*;
use serde_json::Value;
use shared::said;

use super::fixtures::{ar1, draws_of};

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

fn names(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("w[{i},0]")).collect()
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
    said!(summary.to_string().lines().last().unwrap());

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
