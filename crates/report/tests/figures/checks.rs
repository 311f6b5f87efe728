//! Predictive checks.

use bnn_mcmc::fit::PredictiveChecks;
use bnn_mcmc::predict::PredictiveCheck;
use bnn_mcmc_report::figure::{Mark, Scale};
use bnn_mcmc_report::figures::predictive;
use ndarray::{Array2, array};
use shared::refused;

use crate::common::check;
use crate::predictive::points_of;

fn checks() -> PredictiveChecks {
    let of = |name: &str, observed, replicated: &[f64]| PredictiveCheck {
        name: name.into(),
        observed,
        replicated: replicated.to_vec(),
    };
    PredictiveChecks {
        column: "visits".into(),
        classes: None,
        posterior: vec![
            of("mean", 0.75, &[0.5, 1.0, 1.0, 1.5]),
            of("share of zeros", 0.5, &[0.25, 0.25, 0.25, 0.25]),
        ],
        prior: vec![],
        observed: array![0.0, 0.0, 1.0, 2.0],
        replicated: array![[0.0, 1.0, 1.0, 2.0], [1.0, 1.0, 1.0, 3.0], [0.0, 0.0, 0.0, 1.0]],
        of_prior: array![[0.0, 0.0, 40.0, 2.0], [1.0, 90.0, 3.0, -2.0]],
    }
}

#[test]
fn shares_of_counts_stand_beside_replicated_ones() {
    let figure = predictive::checks(&checks()).unwrap();
    check(&figure);
    let marks = &figure.panels[0].marks;
    let [observed, prior] = ["observed", "prior"].map(|name| points_of(marks, name));
    assert_eq!(observed, [[0.0, 0.5], [1.0, 0.25], [2.0, 0.25]]);
    // What lies far outside the observed range is in no bar, and counts as a response.
    assert_eq!(prior, [[0.0, 0.25], [1.0, 0.125], [2.0, 0.125]]);
    let Mark::Band { low, high, .. } = &marks[0] else { panic!() };
    // Quantiles of 5 and 95 % between three shares: 0.25, 0, 0.75 of zeros.
    assert!((low[0] - 0.025).abs() < 1e-12 && (high[0] - 0.7).abs() < 1e-12, "{low:?} {high:?}");
}

#[test]
fn statistics_are_scaled_by_the_replicated_ones() {
    let figure = predictive::checks(&checks()).unwrap();
    let panel = &figure.panels[1];
    assert_eq!(panel.y.scale, Scale::Names(vec!["mean".into(), "share of zeros".into()]));
    let Mark::Intervals { intervals, .. } = &panel.marks[1] else { panic!() };
    // Quantiles of 5, 50 and 95 %: 0.575, 1, 1.425.
    let scale = 0.85 / 3.29;
    assert!((intervals[0].value + 0.25 / scale).abs() < 1e-12);
    assert!((intervals[0].inner[0] + 0.125 / scale).abs() < 1e-12, "{:?}", intervals[0]);
    // Replicates that are all equal have no length, and the observed share is drawn as far off as any.
    assert_eq!((intervals[1].inner, intervals[1].value), ([0.0, 0.0], 8.0));
}

#[test]
fn classes_have_no_sizes_and_nothing_is_no_figure() {
    let classes = Some(["no", "yes"].map(String::from).to_vec());
    let figure = predictive::checks(&PredictiveChecks { classes, ..checks() }).unwrap();
    check(&figure);
    assert_eq!(figure.panels.len(), 1);
    // Whole observations have bars of width 1 around them though replicates are not whole.
    let replicated = array![[0.3, 1.2, 1.9, 2.2], [-0.4, 0.6, 1.1, 2.4]];
    let figure = predictive::checks(&PredictiveChecks { replicated, ..checks() }).unwrap();
    let observed = points_of(&figure.panels[0].marks, "observed");
    assert_eq!(observed, [[-1.0, 0.0], [0.0, 0.5], [1.0, 0.25], [2.0, 0.25], [3.0, 0.0]]);
    let real = PredictiveChecks { observed: array![0.5, 0.5, 0.5], ..checks() };
    let same = PredictiveChecks { replicated: Array2::from_elem((2, 3), 0.5), ..real };
    check(&predictive::checks(&same).unwrap());
    let none = PredictiveChecks { posterior: vec![], ..checks() };
    refused!(predictive::checks(&none), Argument {});
}
