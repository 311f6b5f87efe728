//! The diagnostics against arviz-stats 0.8.0 (tests/golden/diagnostics.py), against known values,
//! and against hostile input.

use std::collections::BTreeMap;

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::*;
use bnn_mcmc::layout::Layout;
use bnn_mcmc::rng::ChainRng;
use ndarray::{Array2, Array3, ArrayView2, Axis, array, s};
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
    let text = include_str!("golden/diagnostics.json");
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
