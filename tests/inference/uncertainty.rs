//! The uncertainty of a classification, against closed forms, brute force and predictions by draws.

use approx::{assert_abs_diff_eq, assert_relative_eq};
use bnn_mcmc::predict::{Bins, auroc};
use bnn_mcmc::predict::{ChainProbabilities, Measure, RunningUncertainty, THRESHOLDS, Uncertainty};
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, Array3, Array4, ArrayView3, Axis, array, s};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use shared::{failed, refused, said};

const LN_2: f64 = std::f64::consts::LN_2;

fn letters(classes: usize) -> Vec<String> {
    (0..classes).map(|c| char::from(b'a' + c as u8).to_string()).collect()
}

fn uncertainty(p: ArrayView3<f64>) -> Uncertainty {
    Uncertainty::new(p, letters(p.dim().2.max(2))).unwrap()
}

/// Variation ratio, disagreement, predictive entropy, expected entropy, mutual information.
fn assert_measures(u: &Uncertainty, input: usize, expected: [f64; 5]) {
    for (measure, expected) in Measure::ALL.into_iter().zip(expected) {
        assert_abs_diff_eq!(u.measure(measure)[input], expected, epsilon = 2e-16);
    }
}

/// Random probabilities, some of them 0 and 1.
fn random(seed: u64, shape: (usize, usize, usize)) -> Array3<f64> {
    let mut rng = ChainRng::new(seed, 0);
    let mut p = Array3::from_shape_fn(shape, |_| (4.0 * rng.normal()).exp());
    for mut row in p.rows_mut() {
        if rng.uniform() < 0.2 {
            row.fill(0.0);
            row[(rng.uniform() * shape.2 as f64) as usize] = 1.0;
        }
        let sum = row.sum();
        row /= sum;
    }
    p
}

// ---------------------------------------------------------------------------------------------
// Closed forms

#[test]
fn uniform_one_hot_and_disagreeing_draws_have_closed_forms() {
    for classes in [2, 3, 10] {
        let c = classes as f64;
        // Input 0: uniform in all draws; 1: certain in all.
        let p = Array3::from_shape_fn((4, 2, classes), |(_, i, k)| match i {
            0 => 1.0 / c,
            _ => f64::from(u8::from(k == 1)),
        });
        let u = uncertainty(p.view());
        // A vote is for the first of equals: no draw disagrees with another.
        let v = 1.0 - 1.0 / c;
        for (measure, expected) in Measure::ALL.into_iter().zip([v, 0.0, c.ln(), c.ln(), 0.0]) {
            assert_abs_diff_eq!(u.measure(measure)[0], expected, epsilon = 1e-15);
        }
        assert_measures(&u, 1, [0.0; 5]);
        // Draws that are certain of one class each: all of it is information about q.
        let p =
            Array3::from_shape_fn((classes, 1, classes), |(s, _, k)| f64::from(u8::from(s == k)));
        let u = uncertainty(p.view());
        for (measure, expected) in Measure::ALL.into_iter().zip([v, v, c.ln(), 0.0, c.ln()]) {
            assert_abs_diff_eq!(u.measure(measure)[0], expected, epsilon = 1e-15);
        }
    }
    let two = uncertainty(array![[[1.0, 0.0]], [[0.0, 1.0]]].view());
    assert_measures(&two, 0, [0.5, 0.5, LN_2, 0.0, LN_2]);
    // Two of three draws for the first class, each with probability 0.9.
    let p = array![[[0.9, 0.1]], [[0.9, 0.1]], [[0.1, 0.9]]];
    let h = |p: f64| -p * p.ln() - (1.0 - p) * (1.0 - p).ln();
    let (mean, one) = (1.9 / 3.0, h(0.9));
    let u = uncertainty(p.view());
    assert_measures(&u, 0, [1.0 - mean, 1.0 / 3.0, h(mean), one, h(mean) - one]);
    assert_eq!(u.vote_share().row(0).to_vec(), [2.0 / 3.0, 1.0 / 3.0]);
    assert_abs_diff_eq!(u.mean()[(0, 0)], mean, epsilon = 1e-15);
}

#[test]
fn the_dissertation_s_point_predictions_have_its_metrics() {
    // Table 2: p_1, p_7, V, H.
    for (p, v, h) in [
        ([0.38845268, 0.6115473], 0.38845268, 0.66805094),
        ([0.34836814, 0.65163183], 0.34836814, 0.64643061),
        ([0.56526613, 0.43473384], 0.43473384, 0.68460345),
        ([0.48985422, 0.5101457], 0.48985422, 0.69294131),
    ] {
        let u = Uncertainty::new(array![[[p[0], p[1]]]].view(), ["1", "7"]).unwrap();
        assert_abs_diff_eq!(u.measure(Measure::VariationRatio)[0], v, epsilon = 1e-8);
        assert_abs_diff_eq!(u.measure(Measure::PredictiveEntropy)[0], h, epsilon = 1e-7);
        // One draw knows nothing of what it does not know.
        assert_eq!(u.measure(Measure::MutualInformation), [0.0]);
        assert_eq!(u.measure(Measure::Disagreement), [0.0]);
    }
}

#[test]
fn mutual_information_is_the_mean_divergence_from_the_mean() {
    for classes in [2, 5] {
        let p = random(classes as u64, (50, 30, classes));
        let u = uncertainty(p.view());
        let mean = p.mean_axis(Axis(0)).unwrap();
        assert_abs_diff_eq!(u.mean(), mean, epsilon = 1e-14);
        for i in 0..30 {
            let divergence = |(s, k): (usize, usize)| {
                let q = p[(s, i, k)];
                if q > 0.0 { q * (q / mean[(i, k)]).ln() } else { 0.0 }
            };
            let cells = (0..50).flat_map(|s| (0..classes).map(move |k| (s, k)));
            let expected = cells.map(divergence).sum::<f64>() / 50.0;
            assert_abs_diff_eq!(
                u.measure(Measure::MutualInformation)[i],
                expected,
                epsilon = 1e-13
            );
            let [v, d, h, e, i] = Measure::ALL.map(|measure| u.measure(measure)[i]);
            assert!((0.0..1.0).contains(&v) && (0.0..1.0).contains(&d));
            assert!(e >= 0.0 && i >= 0.0 && h <= (classes as f64).ln() + 1e-14);
            assert_abs_diff_eq!(h, e + i, epsilon = 1e-14);
        }
    }
}

#[test]
fn equal_draws_have_no_negative_information() {
    // Rounding alone would make about half of these negative.
    let one = random(3, (1, 2000, 3));
    let p = one.broadcast((7, 2000, 3)).unwrap();
    let u = uncertainty(p);
    let information = u.measure(Measure::MutualInformation);
    assert!(information.iter().all(|i| (0.0..1e-14).contains(i)));
    let difference = |(h, e): (&f64, &f64)| h - e;
    let (h, e) = (u.measure(Measure::PredictiveEntropy), u.measure(Measure::ExpectedEntropy));
    assert!(h.iter().zip(e).map(difference).any(|d| d < 0.0));
    // Digits of a variation ratio that 1 - max p would lose.
    let p = array![[[1.0, 3e-20, 0.0]]];
    assert_eq!(uncertainty(p.view()).measure(Measure::VariationRatio), [3e-20]);
}

#[test]
fn few_draws_see_too_little_information() {
    // Probabilities U(0.4, 0.6) of one of two classes: I is 1/2 Var p / (E p (1 - E p)) to leading
    // order; S draws see the share 1 - 1/S of it.
    let (mut rng, full) = (ChainRng::new(5, 0), 0.5 * (0.04 / 12.0) / 0.25);
    for draws in [2, 5, 20] {
        let p = Array3::from_shape_fn((draws, 40_000, 1), |_| 0.4 + 0.2 * rng.uniform());
        let u = Uncertainty::new(p.view(), ["a", "b"]).unwrap();
        let mean = Array1::from(u.measure(Measure::MutualInformation).to_vec()).mean().unwrap();
        assert_relative_eq!(mean, full * (1.0 - 1.0 / draws as f64), max_relative = 0.03);
    }
}

// ---------------------------------------------------------------------------------------------
// Running sums

#[test]
fn order_merging_and_storing_make_no_difference() {
    let p = random(1, (60, 20, 4));
    let whole = uncertainty(p.view());
    let mut order: Vec<usize> = (0..60).collect();
    order.sort_by_key(|s| (s * 37) % 60);
    let shuffled = uncertainty(p.select(Axis(0), &order).view());
    let running = |range: std::ops::Range<usize>| {
        let mut running = RunningUncertainty::new(20, letters(4)).unwrap();
        range.for_each(|s| running.add(p.index_axis(Axis(0), s)).unwrap());
        running
    };
    let (mut first, second) = (running(0..25), running(25..60));
    let stored = serde_json::to_string(&first).unwrap();
    assert_eq!(serde_json::from_str::<RunningUncertainty>(&stored).unwrap(), first);
    first.merge(&second).unwrap();
    assert_eq!((first.draws(), first.inputs()), (60, 20));
    for other in [shuffled, first.uncertainty().unwrap()] {
        assert_eq!(other.vote_share(), whole.vote_share());
        assert_abs_diff_eq!(other.mean(), whole.mean(), epsilon = 1e-14);
        for measure in Measure::ALL {
            for (a, b) in other.measure(measure).iter().zip(whole.measure(measure)) {
                assert_abs_diff_eq!(a, b, epsilon = 1e-13);
            }
        }
    }
    // In order, all at once or one by one: equal bits.
    assert_eq!(running(0..60).uncertainty().unwrap(), whole);
}

#[test]
fn one_column_is_the_second_of_two_classes() {
    let one = random(2, (9, 7, 2)).slice(s![.., .., 1..]).to_owned();
    let two = ndarray::concatenate![Axis(2), one.mapv(|p| 1.0 - p), one];
    let [one, two] = [one, two].map(|p| Uncertainty::new(p.view(), ["no", "yes"]).unwrap());
    assert_eq!(one, two);
}

#[test]
fn what_is_no_probability_is_an_error_and_changes_nothing() {
    let good = array![[0.25, 0.75], [1.0, 0.0]];
    let mut running = RunningUncertainty::new(2, ["a", "b"]).unwrap();
    refused!(running.uncertainty(), Shape { found: 0 });
    running.add(good.view()).unwrap();
    let before = running.clone();
    for bad in [f64::NAN, -1e-9, 1.1, f64::INFINITY] {
        let p = array![[0.25, 0.75], [bad, 1.0 - bad]];
        let (name, allowed) = ("probability of input 1", "from 0 to 1");
        refused!(running.add(p.view()), Argument { name: name, allowed: allowed });
        let one = running.add(array![[0.5], [bad]].view());
        refused!(one, Argument { name: name, allowed: allowed });
    }
    let name = "sum of the probabilities of input 1";
    let short = running.add(array![[0.5, 0.5], [0.5, 0.4]].view());
    refused!(short, Argument { name: name, value: 0.9, allowed: "1 to within 0.00001" });
    for (shape, what) in [((1, 2), "inputs"), ((2, 3), "columns"), ((2, 0), "columns")] {
        let what = format!("{what} of the probabilities");
        refused!(running.add(Array2::zeros(shape).view()), Shape { what: what });
    }
    assert_eq!(running, before);
    // Rounded to f32 they are still probabilities.
    running.add(array![[0.25, 0.75 + 3e-7], [1.0 + 2e-7, 0.0]].view()).unwrap();

    let new = |inputs, names: &[&str]| RunningUncertainty::new(inputs, names.to_vec());
    let name = "number of inputs";
    refused!(new(0, &["a", "b"]), Argument { name: name, value: 0, allowed: "at least 1" });
    // How much memory is left depends on the machine.
    for inputs in [usize::MAX, usize::MAX / 16] {
        let error = failed!(new(inputs, &["a", "b"]), Memory { name: name });
        said!(error.to_string().rsplit(": ").next().unwrap());
    }
    refused!(new(1, &["a"]), Shape { what: "number of class names", found: 1 });
    refused!(new(1, &["a", "a"]), Argument { value: "`a` twice" });
    let mut three = RunningUncertainty::new(2, ["a", "b", "c"]).unwrap();
    assert!(three.add(array![[0.5], [0.5]].view()).is_err());
    let what = "classes of the probabilities";
    refused!(three.merge(&running), Shape { what: what, found: "a, b", expected: "a, b, c" });
    let one = RunningUncertainty::new(1, ["a", "b"]).unwrap();
    refused!(running.merge(&one), Shape { what: "inputs to merge", found: 1, expected: 2 });
    assert!(Uncertainty::new(Array3::zeros((0, 2, 2)).view(), ["a", "b"]).is_err());

    let json = serde_json::to_value(&before).unwrap();
    for (field, value) in [
        ("probability", serde_json::json!([1.0])),
        ("votes", serde_json::json!([1, 1, 1])),
        ("entropy", serde_json::json!([])),
        ("class_names", serde_json::json!(["a", "b", "c"])),
    ] {
        let mut damaged = json.clone();
        damaged[field] = value;
        assert!(serde_json::from_value::<RunningUncertainty>(damaged).is_err(), "{field}");
    }
}

// ---------------------------------------------------------------------------------------------
// Rankings, counts, tables

/// Five inputs of a point prediction with |p_a - p_b| = 0.9, 0.1, 0.5, 0.1 and 0.
fn five() -> Uncertainty {
    let p = array![[[0.95, 0.05], [0.45, 0.55], [0.75, 0.25], [0.55, 0.45], [0.5, 0.5]]];
    Uncertainty::new(p.view(), ["1", "7"]).unwrap()
}

#[test]
fn the_most_uncertain_come_first() {
    let u = five();
    assert_eq!(u.ranking(Measure::VariationRatio)[0], 4);
    assert_eq!(u.ranking(Measure::PredictiveEntropy)[3..], [2, 0]);
    // Of equals, the first.
    assert_eq!(u.ranking(Measure::MutualInformation), [0, 1, 2, 3, 4]);
    let p = array![[[1.0, 0.0], [0.6, 0.4], [1.0, 0.0]], [[0.0, 1.0], [0.6, 0.4], [1.0, 0.0]]];
    let u = Uncertainty::new(p.view(), ["1", "7"]).unwrap();
    assert_eq!(u.ranking(Measure::MutualInformation)[0], 0);
    assert_eq!(u.ranking(Measure::ExpectedEntropy)[0], 1);
}

#[test]
fn counts_below_thresholds_are_of_the_mean_and_strict() {
    let u = five();
    let margins = u.margins(["7", "1"]).unwrap();
    for (margin, expected) in margins.iter().zip([0.9, 0.1, 0.5, 0.1, 0.0]) {
        assert_abs_diff_eq!(margin, &expected, epsilon = 1e-15);
    }
    assert_eq!(u.counts_below(["1", "7"], &THRESHOLDS).unwrap()[..4], [3, 3, 4, 4]);
    assert_eq!(u.counts_below(["1", "7"], &[0.0, 0.5, 1.1]).unwrap(), [0, 3, 5]);
    // Two certain draws that disagree: the margin of the mean, not the mean margin.
    let p = array![[[1.0, 0.0]], [[0.0, 1.0]]];
    let two = Uncertainty::new(p.view(), ["1", "7"]).unwrap();
    assert_eq!(two.counts_below(["1", "7"], &THRESHOLDS).unwrap(), [1; 6]);
    let unknown = u.counts_below(["1", "4"], &THRESHOLDS);
    refused!(unknown, UnknownName { what: "class", name: 4 });
    refused!(u.margins(["1", "1"]), Argument { value: "`1` twice" });
    assert!(u.counts_below(["1", "7"], &[0.5, f64::NAN]).unwrap_err().is_argument());
}

#[test]
fn tables_and_files_hold_the_numbers() {
    let u = five();
    let [v, d, h, e, i] = u.summary();
    assert_eq!((v.measure, v.max, d.max, i.max), (Measure::VariationRatio, 0.5, 0.0, 0.0));
    assert_abs_diff_eq!(v.mean, (0.05 + 0.45 + 0.25 + 0.45 + 0.5) / 5.0, epsilon = 1e-15);
    assert_abs_diff_eq!(v.median, 0.45, epsilon = 1e-15);
    assert_eq!((h.mean, h.max, h.q95), (e.mean, LN_2, e.q95));
    let text = u.to_string();
    assert_eq!(text.lines().count(), 7);
    let first_words = text.lines().skip(1).map(|line| line.split("  ").next().unwrap_or(line));
    said!(first_words.collect::<Vec<_>>().join("; "));
    said!(text.lines().next().unwrap_or_default());
    let long = format!("{u:#}");
    assert_eq!(long.lines().count(), 7 + 1 + 5);
    assert!(long.lines().nth(8).unwrap().starts_with("4  "), "{long}");

    let mut csv = Vec::new();
    u.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let mut lines = csv.lines();
    assert_eq!(
        lines.next().unwrap(),
        "input,p_1,p_7,votes_1,votes_7,variation_ratio,disagreement,predictive_entropy,\
         expected_entropy,mutual_information"
    );
    assert!(lines.next().unwrap().starts_with("0,0.95,0.05,1,0,0.05,0,0.19851"), "{csv}");
    assert_eq!(lines.count(), 4);
    assert!(u.to_csv("/no/such/folder/u.csv").unwrap_err().is_io());
}

#[test]
fn scores_of_the_mean_are_those_of_predictions() {
    let x = Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0 - 2.0);
    let mut rng = ChainRng::new(1, 0);
    let classes: Vec<usize> = (0..40).map(|_| usize::from(rng.uniform() < 0.5)).collect();
    let data = Dataset::classification(x, classes.clone(), ["1", "7"]).unwrap();
    for outputs in [1, 2] {
        let q = Array3::from_shape_fn((2, 15, 2 * outputs), |_| rng.normal());
        let (predictions, u) = both(outputs, &data, q);
        let (expected, scores) = (predictions.scores().unwrap(), u.scores(&classes).unwrap());
        assert_eq!(scores.rows, 40);
        for score in &expected.scores {
            let found = scores.get(&score.name).unwrap();
            assert_abs_diff_eq!(found.posterior, score.posterior, epsilon = 1e-12);
            assert!(found.draws_mean.is_nan());
        }
        for bins in [Bins::EqualWidth(7), Bins::EqualCount(4)] {
            let expected = predictions.reliability(bins).unwrap().ece();
            let found = u.reliability(&classes, bins).unwrap().ece();
            assert_abs_diff_eq!(found, expected, epsilon = 1e-12);
        }
        refused!(u.scores(&classes[1..]), Shape { found: 39, expected: 40 });
        refused!(u.scores(&[2; 40]), Argument { value: 2, allowed: "0 to 1" });
        assert!(u.reliability(&classes, Bins::EqualCount(0)).unwrap_err().is_argument());
    }
}

// ---------------------------------------------------------------------------------------------
// Predictions

/// Predictions by a linear model with one logit or two, and the uncertainty that was streamed.
fn both(outputs: usize, data: &Dataset, q: Array3<f64>) -> (Predictions, Uncertainty) {
    fn of<L: Likelihood>(
        likelihood: L,
        outputs: usize,
        data: &Dataset,
        q: Array3<f64>,
    ) -> (Predictions, Uncertainty) {
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
        let model = Linear::new(data.n_features(), outputs).unwrap();
        let posterior = Posterior::new(model, likelihood, data, priors).unwrap();
        let draws = Draws::new(posterior.layout().clone(), q).unwrap();
        let streamed = posterior.uncertainty(&draws, data.x().view()).unwrap();
        (posterior.predict(&draws, data).unwrap(), streamed)
    }
    if outputs == 1 { of(Bernoulli, 1, data, q) } else { of(Categorical, outputs, data, q) }
}

#[test]
fn predictions_and_streamed_draws_give_the_same_bits() {
    let x = Array2::from_shape_fn((700, 1), |(i, _)| (i as f64).sin());
    let data = Dataset::classification(x, vec![0; 700], ["1", "7"]).unwrap();
    let mut rng = ChainRng::new(3, 0);
    for outputs in [1, 2] {
        // More than one block of draws.
        let q = Array3::from_shape_fn((2, 900, 2 * outputs), |_| 3.0 * rng.normal());
        let (predictions, streamed) = both(outputs, &data, q);
        assert_eq!(predictions.uncertainty().unwrap(), streamed);
        assert_eq!(streamed.draws(), 1800);
        assert_eq!(streamed.class_names(), ["1", "7"]);
        let mean = predictions.posterior_mean().unwrap();
        let second = streamed.mean().column(1).to_owned();
        assert_abs_diff_eq!(second, mean.column(outputs - 1), epsilon = 1e-13);
    }
}

#[test]
fn lazy_and_proper_monte_carlo_differ_where_they_should() {
    // Two draws with logits +-4 of the second class: the mean of the weights is 0.
    let data = Dataset::classification(array![[1.0]], vec![0], ["1", "7"]).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let model = Linear::new(1, 1).unwrap();
    let posterior = Posterior::new(model, Bernoulli, &data, priors).unwrap();
    let q = array![[[4.0, 0.0], [2.0, 2.0], [0.0, -4.0]]];
    let draws = Draws::new(posterior.layout().clone(), q).unwrap();
    let x = array![[1.0], [-1.0], [0.5]];
    let sigmoid = |z: f64| 1.0 / (1.0 + (-z).exp());
    let proper = posterior.uncertainty(&draws, x.view()).unwrap();
    let lazy = posterior.uncertainty_at(&draws.mean(), x.view()).unwrap();
    for (i, x) in [1.0, -1.0, 0.5].into_iter().enumerate() {
        let mean = (sigmoid(4.0 * x) + sigmoid(2.0 * x + 2.0) + sigmoid(-4.0)) / 3.0;
        assert_relative_eq!(proper.mean()[(i, 1)], mean, max_relative = 1e-14);
        let of_mean = sigmoid(2.0 * x - 2.0 / 3.0);
        assert_relative_eq!(lazy.mean()[(i, 1)], of_mean, max_relative = 1e-14);
    }
    assert!(proper.measure(Measure::MutualInformation).iter().all(|i| *i > 0.05));
    assert_eq!(lazy.measure(Measure::MutualInformation), [0.0; 3]);
    assert_eq!(lazy.draws(), 1);
    let at = posterior.predict_at(&draws.mean(), x.view()).unwrap();
    assert_eq!(at.dim(), (3, 1));
    assert_eq!(at.column(0), lazy.mean().column(1));
    // Also of real responses, in their own units.
    let real = Dataset::regression(array![[1.0]], array![0.0]).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let line = Linear::new(1, 1).unwrap();
    let line = Posterior::new(line, Gaussian::fixed(1.0).unwrap(), &real, priors).unwrap();
    assert_eq!(line.predict_at(&[2.0, 1.0], x.view()).unwrap(), array![[3.0], [-1.0], [2.0]]);

    let long = [0.0; 3];
    let (at, uncertainty) =
        (posterior.predict_at(&long, x.view()), posterior.uncertainty_at(&long, x.view()));
    refused!(at, Shape { what: "length of q", found: 3, expected: 2 });
    refused!(uncertainty, Shape { what: "length of q", found: 3, expected: 2 });
    let wide = array![[1.0, 2.0]];
    assert!(posterior.predict_at(&[0.0; 2], wide.view()).unwrap_err().is_argument());
    assert!(posterior.uncertainty_at(&[0.0; 2], wide.view()).unwrap_err().is_argument());
    assert!(posterior.uncertainty(&draws, wide.view()).unwrap_err().is_argument());
    let nan = posterior.uncertainty_at(&[f64::NAN, 0.0], x.view());
    refused!(
        nan,
        Argument { name: "probability of input 0", value: "NaN", allowed: "from 0 to 1" }
    );
    let none = Array2::zeros((0, 1));
    assert!(posterior.uncertainty(&draws, none.view()).unwrap_err().is_argument());
    assert_eq!(posterior.predict_at(&[0.0; 2], none.view()).unwrap().dim(), (0, 1));
    refused!(line.uncertainty_at(&[0.0; 2], x.view()), Argument { allowed: "classes" });
    let no_draws = Draws::new(posterior.layout().clone(), Array3::zeros((2, 0, 2))).unwrap();
    assert!(posterior.uncertainty(&no_draws, x.view()).unwrap_err().is_argument());
    // No draws have no mean.
    assert!(posterior.uncertainty_at(&no_draws.mean(), x.view()).unwrap_err().is_argument());
}

#[test]
fn predictions_of_another_kind_have_no_uncertainty_of_classes() {
    let real = Dataset::regression(array![[1.0]], array![0.0]).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let line = Linear::new(1, 1).unwrap();
    let posterior = Posterior::new(line, Gaussian::fixed(1.0).unwrap(), &real, priors).unwrap();
    let draws = Draws::new(posterior.layout().clone(), Array3::zeros((1, 2, 2))).unwrap();
    let predictions = posterior.predict(&draws, &real).unwrap();
    refused!(predictions.uncertainty(), Argument { allowed: "classes" });
    refused!(predictions.along_chains(&[0]), Argument { allowed: "classes" });
    refused!(predictions.separation(&predictions), Argument { allowed: "classes" });
    let data = Dataset::classification(array![[1.0]], vec![0], ["1", "7"]).unwrap();
    let (nan, _) = both(1, &data, Array3::zeros((1, 2, 2)));
    assert!(nan.uncertainty().is_ok());
    let model = Linear::new(1, 1).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(model, Bernoulli, &data, priors).unwrap();
    let q = array![[[f64::NAN, 0.0]]];
    let draws = Draws::new(posterior.layout().clone(), q).unwrap();
    let nan = posterior.predict(&draws, &data).unwrap();
    refused!(nan.uncertainty(), Argument { value: "NaN" });
}

#[test]
fn probabilities_along_the_chains_are_those_of_the_draws() {
    let x = array![[-1.0], [0.0], [1.0], [2.0]];
    let data = Dataset::classification(x, vec![0, 1, 0, 1], ["1", "7"]).unwrap();
    let q = Array3::from_shape_fn((2, 20, 2), |(c, s, k)| (c + 2 * s + 3 * k) as f64 / 20.0);
    let (predictions, _) = both(1, &data, q);
    let along = predictions.along_chains(&[3, 1]).unwrap();
    assert_eq!(along.values().dim(), (2, 20, 2, 2));
    assert_eq!((along.inputs(), along.class_names()), (&[3, 1][..], &["1".into(), "7".into()][..]));
    for ((c, s, i, k), p) in along.values().indexed_iter() {
        let second = predictions.mean()[(c, s, [3, 1][i], 0)];
        assert_eq!(*p, if k == 1 { second } else { 1.0 - second });
    }
    let mut csv = Vec::new();
    along.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert_eq!(csv.lines().next().unwrap(), "chain,draw,input,p_1,p_7");
    assert_eq!(csv.lines().count(), 1 + 2 * 20 * 2);
    assert!(csv.lines().last().unwrap().starts_with("1,19,1,"));
    let text = along.to_string();
    assert_eq!(text.lines().count(), 1 + 2 * 2 * 8);
    assert!(text.lines().nth(8).unwrap().starts_with("       3      0       19"), "{text}");

    let error = predictions.along_chains(&[0, 4]).unwrap_err().to_string();
    assert_eq!(error, "`inputs` is 4, but must be less than 4");
    assert!(predictions.along_chains(&[]).unwrap_err().is_argument());
    let p = Array4::zeros((1, 0, 2, 3));
    let none = ChainProbabilities::new(p.view(), &[1], ["a", "b", "c"]).unwrap();
    assert_eq!(none.to_string().lines().count(), 1);
    assert!(ChainProbabilities::new(p.view(), &[1], ["a", "b"]).unwrap_err().is_argument());
    assert!(along.to_csv("/no/such/folder/along.csv").unwrap_err().is_io());
}

// ---------------------------------------------------------------------------------------------
// The area under the ROC curve

/// All pairs.
fn brute_force(inside: &[f64], outside: &[f64]) -> f64 {
    let pair = |(a, b): (f64, f64)| f64::from(u8::from(b > a)) + 0.5 * f64::from(u8::from(a == b));
    let pairs = inside.iter().flat_map(|a| outside.iter().map(move |b| (*a, *b)));
    pairs.map(pair).sum::<f64>() / (inside.len() * outside.len()) as f64
}

#[test]
fn auroc_of_known_sets() {
    assert_eq!(auroc(&[1.0, 2.0], &[3.0]).unwrap(), 1.0);
    assert_eq!(auroc(&[3.0], &[1.0, 2.0]).unwrap(), 0.0);
    assert_eq!(auroc(&[1.0; 5], &[1.0; 3]).unwrap(), 0.5);
    assert_eq!(auroc(&[0.0], &[-0.0]).unwrap(), 0.5);
    assert_eq!(auroc(&[f64::NEG_INFINITY], &[f64::INFINITY]).unwrap(), 1.0);
    // scikit-learn's roc_auc_score of [0, 0, 1, 1] and [0.1, 0.4, 0.35, 0.8].
    assert_eq!(auroc(&[0.1, 0.4], &[0.35, 0.8]).unwrap(), 0.75);
    for (inside, outside, name) in [
        (vec![], vec![1.0], "`inside` is empty"),
        (vec![1.0], vec![], "`outside` is empty"),
        (vec![1.0, f64::NAN], vec![1.0], "`inside` is NaN at 1"),
        (vec![1.0], vec![f64::NAN], "`outside` is NaN at 0"),
    ] {
        let error = auroc(&inside, &outside).unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    }
    // P(N(1, 1) > N(0, 1)) = Phi(1 / sqrt 2).
    let mut rng = ChainRng::new(1, 0);
    let mut normals =
        |mean: f64| -> Vec<f64> { (0..20_000).map(|_| mean + rng.normal()).collect() };
    let (inside, outside) = (normals(0.0), normals(1.0));
    assert_abs_diff_eq!(auroc(&inside, &outside).unwrap(), 0.760249939, epsilon = 0.01);
}

#[test]
fn separation_is_by_the_measures_of_both_sets() {
    let familiar = random(1, (20, 30, 2));
    let mut strange = random(2, (20, 10, 2));
    strange.index_axis_mut(Axis(2), 0).fill(0.5);
    strange.index_axis_mut(Axis(2), 1).fill(0.5);
    let (familiar, strange) = (uncertainty(familiar.view()), uncertainty(strange.view()));
    let separation = familiar.separation(&strange).unwrap();
    assert_eq!((separation.inside, separation.outside), (30, 10));
    for measure in Measure::ALL {
        let (a, b) = (familiar.measure(measure), strange.measure(measure));
        assert_abs_diff_eq!(separation.get(measure), brute_force(a, b), epsilon = 1e-15);
    }
    // Coins are uncertain, but all draws agree on them.
    assert_eq!(separation.get(Measure::ExpectedEntropy), 1.0);
    assert_eq!(separation.get(Measure::MutualInformation), 0.0);
    let text = separation.to_string();
    said!(text.lines().next().unwrap_or_default());
    let information = text.lines().last().unwrap_or_default();
    assert_eq!(information.split_whitespace().collect::<Vec<_>>()[2..], ["0.0000"], "{text}");
    said!(information);
    let mut csv = Vec::new();
    separation.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.starts_with("measure,auroc,inside,outside\nvariation_ratio,"), "{csv}");
    assert!(csv.ends_with("mutual_information,0.0,30,10\n"), "{csv}");
    assert!(separation.to_csv("/no/such/folder/s.csv").unwrap_err().is_io());
    assert!(familiar.separation(&uncertainty(random(1, (2, 2, 3)).view())).is_err());

    let data = |x: Array2<f64>| {
        let rows = x.nrows();
        Dataset::classification(x, vec![0; rows], ["1", "7"]).unwrap()
    };
    let q = Array3::from_shape_fn((1, 9, 2), |(_, s, k)| [4.0, s as f64 / 4.0 - 1.0][k]);
    let (known, _) = both(1, &data(array![[3.0], [-3.0], [2.0]]), q.clone());
    let (other, _) = both(1, &data(array![[0.1], [0.0]]), q);
    let separation = known.separation(&other).unwrap();
    assert_eq!(separation.get(Measure::PredictiveEntropy), 1.0);
    assert_eq!(other.separation(&known).unwrap().get(Measure::PredictiveEntropy), 0.0);
}

/// Scores with many ties.
fn scores() -> impl Strategy<Value = Vec<f64>> {
    let score = prop_oneof![
        4 => (0..4i32).prop_map(f64::from),
        1 => any::<i16>().prop_map(f64::from),
        1 => Just(-0.0),
        1 => Just(f64::INFINITY),
    ];
    prop::collection::vec(score, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn auroc_counts_all_pairs(inside in scores(), outside in scores()) {
        let area = auroc(&inside, &outside).unwrap();
        assert_abs_diff_eq!(area, brute_force(&inside, &outside), epsilon = 1e-14);
        assert_abs_diff_eq!(area + auroc(&outside, &inside).unwrap(), 1.0, epsilon = 1e-14);
    }

    #[test]
    fn nothing_panics(
        values in prop::collection::vec(
            prop_oneof![2 => 0.0..=1.0, 1 => any::<f64>(), 1 => Just(0.0), 1 => Just(1.0)], 1..24,
        ),
        shape in (1usize..4, 1usize..4),
        normal in any::<bool>(),
        input in any::<usize>(),
    ) {
        let (inputs, classes) = shape;
        let draws = values.len() / (inputs * classes);
        let cells = draws * inputs * classes;
        let mut p = Array3::from_shape_vec((draws, inputs, classes), values[..cells].to_vec()).unwrap();
        if normal && classes > 1 {
            p.rows_mut().into_iter().for_each(|mut row| {
                let sum = row.sum();
                row /= sum;
            });
        }
        let four = p.clone().insert_axis(Axis(0));
        for names in [letters(classes), letters(2), letters(3)] {
            if let Ok(u) = Uncertainty::new(p.view(), names.clone()) {
                let _ = (u.to_string(), format!("{u:#}"), u.summary(), u.write_csv(Vec::new()));
                let _ = u.counts_below(["a", "b"], &THRESHOLDS).unwrap();
                for measure in Measure::ALL {
                    assert!(u.measure(measure).iter().all(|v| *v >= 0.0));
                    assert_eq!(u.ranking(measure).len(), inputs);
                }
                let _ = (u.separation(&u).unwrap().to_string(), u.scores(&vec![input; inputs]));
            }
            for inputs in [vec![input], vec![0], vec![]] {
                if let Ok(along) = ChainProbabilities::new(four.view(), &inputs, names.clone()) {
                    let _ = (along.to_string(), along.write_csv(Vec::new()));
                }
            }
        }
    }
}
