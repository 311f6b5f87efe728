//! Predictions beside observations.

use bnn_mcmc::data::Dataset;
use bnn_mcmc::prelude::*;
use bnn_mcmc_report::figure::{Colour, Figure, Mark};
use bnn_mcmc_report::figures::predictive::{self, Method};
use ndarray::{Array2, Array3, array};
use serde::Deserialize;
use shared::{refused, said};

use crate::common::check;

const HOSTILE: &str = "<script>\"&'";

#[derive(Deserialize)]
pub struct Golden {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    q: Vec<Vec<Vec<f64>>>,
    share: f64,
    feature: Averages,
    component: Averages,
    rows: Averages,
    normal: Ends,
}

#[derive(Deserialize)]
struct Averages {
    x: Vec<f64>,
    mean: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    /// Of curves that are smoothed.
    observed: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct Ends {
    x: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Golden {
    pub fn read() -> Self {
        serde_json::from_str(include_str!("../golden/predictive.json")).unwrap()
    }

    pub fn data(&self) -> Dataset {
        let x = Array2::from_shape_fn((90, 3), |(i, j)| self.x[i][j]);
        let y = Array2::from_shape_fn((90, 1), |(i, _)| self.y[i]);
        Dataset::regression(x, y).unwrap().with_response_names([HOSTILE]).unwrap()
    }

    pub fn predictions(&self) -> Predictions {
        linear(&self.data(), Array3::from_shape_fn((2, 40, 4), |(c, s, j)| self.q[c][s][j]))
    }
}

/// Predictions of a linear model with noise of sd 1, by weights and bias.
pub fn linear(data: &Dataset, q: Array3<f64>) -> Predictions {
    let model = Linear::new(data.n_features(), 1).unwrap();
    let priors = Priors::all(Normal::new(0.0, 5.0).unwrap());
    let posterior = Posterior::new(model, Gaussian::fixed(1.0).unwrap(), data, priors).unwrap();
    let draws = Draws::new(posterior.layout().clone(), q).unwrap();
    posterior.predict(&draws, data).unwrap()
}

/// A band, in the order in which they are drawn.
fn band(figure: &Figure, k: usize) -> (&[f64], &[f64], &[f64]) {
    let bands = figure.panels[0].marks.iter().filter_map(|mark| match mark {
        Mark::Band { x, low, high, .. } => Some((&x[..], &low[..], &high[..])),
        _ => None,
    });
    bands.collect::<Vec<_>>()[k]
}

pub fn points_of(marks: &[Mark], of: &str) -> Vec<[f64; 2]> {
    let points = marks.iter().filter_map(|mark| match mark {
        Mark::Points { name, points, .. } | Mark::Line { name, points, .. } => {
            (name.as_deref() == Some(of)).then_some(&points[..])
        }
        _ => None,
    });
    points.flatten().copied().collect()
}

#[track_caller]
pub fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance, "{found}, not {expected}");
    }
}

fn is_golden(figure: &Figure, golden: &Averages) {
    let (x, low, high) = band(figure, 1);
    close(x, &golden.x, 1e-12);
    close(low, &golden.low, 1e-10);
    close(high, &golden.high, 1e-10);
    let line = |name| points_of(&figure.panels[0].marks, name).iter().map(|at| at[1]).collect();
    let mean: Vec<f64> = line("mean");
    close(&mean, &golden.mean, 1e-10);
    close(&line("observed, smoothed"), golden.observed.as_deref().unwrap_or_default(), 1e-10);
    // The interval of a new observation is wider, by noise of sd 1.
    let (_, new_low, new_high) = band(figure, 0);
    let width = |low: &[f64], high: &[f64]| {
        low.iter().zip(high).map(|(low, high)| high - low).sum::<f64>() / low.len() as f64
    };
    let of_noise = (width(new_low, new_high).powi(2) - width(low, high).powi(2)).sqrt();
    assert!((of_noise - 2.0 * 1.645).abs() < 0.5, "{of_noise}");
}

#[test]
fn bands_are_those_of_numpy() {
    let golden = Golden::read();
    let (data, predictions) = (golden.data(), golden.predictions());
    let one = [Method { name: "", predictions: &predictions }];
    let by_feature = predictive::against_feature(&one, &data, 1, 0, 0.9).unwrap();
    is_golden(&by_feature, &golden.feature);
    said!(by_feature.caption);
    let by_component = predictive::against_first_component(&one, &data, 0, 0.9).unwrap();
    is_golden(&by_component, &golden.component);
    let percent = (1000.0 * golden.share).round() / 10.0;
    let label = &by_component.panels[0].x.label;
    assert!(label.contains(&format!("{percent} % of variance")), "{label}");
    let rows: Vec<f64> = (0..90).map(f64::from).collect();
    let along = predictive::along(&one, &rows, "row", 0, 0.9).unwrap();
    is_golden(&along, &golden.rows);
    let (_, low, high) = band(&along, 0);
    let interval = predictions.predictive_interval(0.9).unwrap();
    assert!(low == interval.lower.column(0).to_vec() && high == interval.upper.column(0).to_vec());
    said!(along.caption);
    [by_feature, by_component, along].iter().for_each(check);
}

#[test]
fn each_observation_is_a_point_inside_or_outside_its_interval() {
    let golden = Golden::read();
    let predictions = golden.predictions();
    let one = [Method { name: HOSTILE, predictions: &predictions }];
    let figure = predictive::observed_against_predicted(&one, 0, 0.8).unwrap();
    check(&figure);
    let mean = predictions.posterior_mean().unwrap();
    let interval = predictions.predictive_interval(0.8).unwrap();
    let marks = &figure.panels[0].marks;
    let (inside, outside) = (points_of(marks, "observed"), points_of(marks, "outside interval"));
    assert_eq!(inside.len() + outside.len(), 90);
    assert!(outside.len() > 5, "one in five is expected outside");
    for i in 0..90 {
        let y = golden.y[i];
        let is_inside = y >= interval.lower[(i, 0)] && y <= interval.upper[(i, 0)];
        let points = if is_inside { &inside } else { &outside };
        assert!(points.contains(&[mean[(i, 0)], y]), "row {i}");
    }
}

/// How often a curve turns.
fn turns(y: &[f64]) -> usize {
    y.windows(3).filter(|y| (y[1] - y[0]) * (y[2] - y[1]) < 0.0).count()
}

/// A curve goes up and down as the model does along this feature, and not as the rows that happen to be
/// neighbours differ in others; and it reaches from the first row to the last.
#[test]
fn curves_are_smooth_and_reach_the_last_row() {
    let mut rng = ChainRng::new(3, 0);
    let x = Array2::from_shape_fn((200, 2), |(i, j)| [i as f64 / 200.0, rng.normal()][j]);
    let data = Dataset::regression(x, vec![0.0; 200].into_iter().collect::<ndarray::Array1<_>>());
    let data = data.unwrap();
    let predictions = linear(&data, array![[[1.0, 3.0, 0.0], [1.0, 3.1, 0.2]]]);
    let one = [Method { name: "", predictions: &predictions }];
    let figure = predictive::against_feature(&one, &data, 0, 0, 0.9).unwrap();
    let curve: Vec<f64> =
        points_of(&figure.panels[0].marks, "mean").iter().map(|at| at[1]).collect();
    let means = predictions.posterior_mean().unwrap().column(0).to_vec();
    let averages: Vec<f64> =
        means.chunks(8).map(|rows| rows.iter().sum::<f64>() / rows.len() as f64).collect();
    assert!(turns(&averages) > 10, "{averages:?}");
    assert!(turns(&curve) <= 5, "{curve:?}");

    let golden = Golden::read();
    let predictions = golden.predictions();
    let one = [Method { name: "", predictions: &predictions }];
    let means = predictions.posterior_mean().unwrap();
    let [low, high] = [f64::min, f64::max].map(|end| means.iter().copied().reduce(end).unwrap());
    let figure = predictive::observed_against_predicted(&one, 0, 0.9).unwrap();
    let (x, ..) = band(&figure, 0);
    assert_eq!((x[0], x[x.len() - 1]), (low, high));
    // Of a single feature, too, whose many rows are averaged.
    let x = Array2::from_shape_fn((500, 1), |(i, _)| (i * i) as f64);
    let data = Dataset::regression(x.clone(), x).unwrap();
    let predictions = linear(&data, array![[[1.0, 0.0], [1.0, 2.0]]]);
    let one = [Method { name: "", predictions: &predictions }];
    let figure = predictive::against_feature(&one, &data, 0, 0, 0.9).unwrap();
    let (x, ..) = band(&figure, 0);
    assert_eq!((x[0], x[x.len() - 1]), (0.0, 499.0 * 499.0));
    // The means are x + 1, so are their averages. The ends are moved to the first and the last row.
    let line = points_of(&figure.panels[0].marks, "mean");
    let inner = 1..line.len() - 1;
    assert!((100..=200).contains(&line.len()), "{}", line.len());
    let [x, mean] = [0, 1].map(|i| line[inner.clone()].iter().map(|at| at[i]).collect::<Vec<_>>());
    let expected: Vec<f64> = x.iter().map(|x| x + 1.0).collect();
    close(&mean, &expected, 1e-9);
}

#[test]
fn methods_stand_side_by_side_on_the_same_axes() {
    let golden = Golden::read();
    let (data, predictions) = (golden.data(), golden.predictions());
    let wild = linear(&data, Array3::from_shape_fn((1, 3, 4), |(_, s, j)| (s * j) as f64));
    let method = |name, predictions| Method { name, predictions };
    let both = [method("NUTS", &predictions), method(HOSTILE, &wild)];
    let figures = [
        predictive::against_first_component(&both, &data, 0, 0.95).unwrap(),
        predictive::observed_against_predicted(&both, 0, 0.95).unwrap(),
    ];
    for figure in &figures {
        check(figure);
        let [a, b] = &figure.panels[..] else { panic!("{} panels", figure.panels.len()) };
        assert!(a.y.range.is_some() && a.y.range == b.y.range);
        assert_eq!((&a.title[..], &b.title[..]), ("NUTS", HOSTILE));
    }
    assert!(figures[1].panels[0].x.range.is_some());
    assert_eq!(figures[1].panels[0].x.range, figures[1].panels[1].x.range);
}

#[test]
fn residuals_have_the_band_of_scipy() {
    let golden = Golden::read();
    let (n, x) = (21, Array2::from_shape_fn((21, 1), |(i, _)| i as f64));
    let data = Dataset::regression(x, Array2::from_elem((n, 1), 3.0)).unwrap();
    let predictions = linear(&data, array![[[1.0, 0.0], [1.0, 2.0]]]);
    // The quantile residuals of these are the normal quantiles themselves.
    let u = Array2::from_shape_fn((n, 1), |(i, _)| ((i * 8) % 21) as f64 / 21.0 + 0.5 / 21.0);
    let figure = predictive::residuals(&predictions, &bnn_mcmc::predict::Pit { values: u }, 0);
    let figure = figure.unwrap();
    check(&figure);
    // Residuals of means i + 1.
    let Mark::Points { points, .. } = &figure.panels[0].marks[1] else { panic!("no points") };
    for (i, point) in points.iter().enumerate() {
        close(point, &[i as f64 + 1.0, 2.0 - i as f64], 1e-12);
    }
    let marks = &figure.panels[2].marks;
    let Mark::Band { x, low, high, .. } = &marks[0] else { panic!("no band") };
    close(x, &golden.normal.x, 1e-7);
    close(low, &golden.normal.low, 1e-7);
    close(high, &golden.normal.high, 1e-7);
    let Mark::Points { points, .. } = &marks[2] else { panic!("no points") };
    assert!(points.len() == n && points.iter().all(|[x, y]| (x - y).abs() < 1e-7));
    // Half of the standard normal lies within 0.6745 of 0.
    let Mark::Bars { edges, heights, .. } = &figure.panels[1].marks[0] else { panic!("no bars") };
    let total: f64 = edges.windows(2).zip(heights).map(|(e, h)| (e[1] - e[0]) * h).sum();
    assert!((total - 1.0).abs() < 1e-12);
    let Mark::Line { points, .. } = &figure.panels[1].marks[1] else { panic!("no line") };
    let peak = points.iter().map(|at| at[1]).fold(0.0, f64::max);
    assert!((peak - 0.398_942_280_4).abs() < 1e-9);

    let missing = Array2::from_shape_fn((n, 1), |(i, _)| if i == 0 { f64::NAN } else { 0.5 });
    let pit = bnn_mcmc::predict::Pit { values: missing };
    let figure = predictive::residuals(&predictions, &pit, 0).unwrap();
    check(&figure);
    said!(figure.caption);
    let wrong = bnn_mcmc::predict::Pit { values: Array2::zeros((3, 1)) };
    let figure = predictive::residuals(&predictions, &wrong, 0);
    refused!(figure, Shape { found: "(3, 1)", expected: "(21, 1)" });
}

#[test]
fn changes_are_differences_from_the_last_value() {
    // Last values 0, 1, 2, 3; then 1, 3, 1, 3; the model says last value + 1/2.
    let x = array![[0.0], [1.0], [2.0], [3.0]];
    let data = Dataset::regression(x, array![1.0, 3.0, 1.0, 3.0]).unwrap();
    let predictions = linear(&data, array![[[1.0, 0.4], [1.0, 0.6]]]);
    let last = bnn_mcmc::predict::persistence(&data).unwrap();
    let figure = predictive::changes(&predictions, last.view(), 0).unwrap();
    check(&figure);
    let Mark::Points { points, .. } = &figure.panels[0].marks[3] else { panic!("no points") };
    for (point, change) in points.iter().zip([1.0, 2.0, -1.0, 0.0]) {
        close(point, &[change, 0.5], 1e-12);
    }
    // Squared errors 1/4 + 9/4 + 9/4 + 1/4 against 1 + 4 + 1 + 0; two of three directions.
    said!(figure.caption);
    let flat = predictive::changes(&predictions, data.real().unwrap().view(), 0).unwrap();
    check(&flat);
}

#[test]
fn bad_arguments_are_named() {
    let golden = Golden::read();
    let (data, predictions) = (golden.data(), golden.predictions());
    let one = [Method { name: "", predictions: &predictions }];
    let rows: Vec<f64> = (0..90).map(f64::from).collect();
    refused!(
        predictive::along(&[], &rows, "row", 0, 0.9),
        Argument { name: "methods", value: "empty" }
    );
    refused!(
        predictive::along(&one, &rows[1..], "row", 0, 0.9),
        Shape { what: "rows of predictions" }
    );
    refused!(
        predictive::along(&one, &rows, "row", 1, 0.9),
        Argument { name: "column", value: "1" }
    );
    refused!(predictive::along(&one, &rows, "row", 0, 1.0), Argument { name: "level", value: "1" });
    let mut broken = rows.clone();
    broken[3] = f64::NAN;
    refused!(
        predictive::along(&one, &broken, "row", 0, 0.9),
        Argument { name: "place", value: "NaN" }
    );
    broken[3] = 60.0;
    refused!(
        predictive::along(&one, &broken, "row", 0, 0.9),
        Argument { name: "place", value: "4 after 60" }
    );
    refused!(
        predictive::against_feature(&one, &data, 3, 0, 0.9),
        Argument { name: "feature", value: "3" }
    );
    refused!(
        predictive::observed_against_predicted(&[], 0, 0.9),
        Argument { name: "methods", value: "empty" }
    );

    // No draws; rows whose response is not known; classes.
    let none = linear(&data, Array3::zeros((2, 0, 4)));
    let none = [Method { name: "", predictions: &none }];
    assert!(predictive::along(&none, &rows, "row", 0, 0.9).is_err());
    let posterior = Posterior::new(
        Linear::new(3, 1).unwrap(),
        Gaussian::fixed(1.0).unwrap(),
        &data,
        Priors::all(Normal::new(0.0, 5.0).unwrap()),
    )
    .unwrap();
    let draws = Draws::new(posterior.layout().clone(), Array3::zeros((1, 1, 4))).unwrap();
    let new = posterior.predict_new(&draws, data.x().view()).unwrap();
    let new = [Method { name: "", predictions: &new }];
    refused!(
        predictive::observed_against_predicted(&new, 0, 0.9),
        Argument { name: "predictions", value: "of new rows" }
    );
    // A band needs no observations.
    let figure = predictive::along(&new, &rows, "row", 0, 0.9).unwrap();
    check(&figure);
    assert_eq!(figure.panels[0].marks.len(), 3);
    let classes = Dataset::classification(data.x().clone(), vec![0; 90], ["a", "b"]).unwrap();
    let posterior = Posterior::new(
        Linear::new(3, 1).unwrap(),
        Bernoulli,
        &classes,
        Priors::all(Normal::new(0.0, 5.0).unwrap()),
    )
    .unwrap();
    let draws = Draws::new(posterior.layout().clone(), Array3::zeros((1, 1, 4))).unwrap();
    let classes = posterior.predict(&draws, &classes).unwrap();
    let classes = [Method { name: "", predictions: &classes }];
    refused!(
        predictive::along(&classes, &rows, "row", 0, 0.9),
        Argument { name: "response of the predictions", value: "classes" }
    );
}

#[test]
fn numbers_that_are_none_or_all_the_same_are_drawn() {
    let constant = Dataset::regression(Array2::zeros((5, 2)), Array2::zeros((5, 1))).unwrap();
    for fill in [0.0, f64::NAN, 1e300] {
        let predictions = linear(&constant, Array3::from_elem((1, 1, 3), fill));
        let one = [Method { name: "a", predictions: &predictions }; 2];
        check(&predictive::against_feature(&one, &constant, 0, 0, 0.9).unwrap());
        check(&predictive::against_first_component(&one, &constant, 0, 0.9).unwrap());
        check(&predictive::observed_against_predicted(&one, 0, 0.9).unwrap());
        let pit = predictions.pit(1).unwrap();
        check(&predictive::residuals(&predictions, &pit, 0).unwrap());
        let last = bnn_mcmc::predict::persistence(&constant).unwrap();
        check(&predictive::changes(&predictions, last.view(), 0).unwrap());
    }
    let single = Dataset::regression(Array2::ones((1, 1)), Array2::ones((1, 1))).unwrap();
    let predictions = linear(&single, Array3::ones((1, 1, 2)));
    let one = [Method { name: "", predictions: &predictions }];
    check(&predictive::against_first_component(&one, &single, 0, 0.9).unwrap());
}

#[test]
fn counts_are_observed_on_their_own_scale() {
    let x = Array2::from_shape_fn((60, 1), |(i, _)| i as f64 / 30.0);
    let counts = Array2::from_shape_fn((60, 1), |(i, _)| ((i * 7) % 5 + i / 10) as f64);
    let data = Dataset::counts(x, counts).unwrap();
    let priors = Priors::all(Normal::new(0.0, 5.0).unwrap());
    let posterior = Posterior::new(Linear::new(1, 1).unwrap(), Poisson, &data, priors).unwrap();
    let q = Array3::from_shape_fn((2, 50, 2), |(_, s, j)| [1.0, 0.2][j] + 0.002 * s as f64);
    let draws = Draws::new(posterior.layout().clone(), q).unwrap();
    let predictions = posterior.predict(&draws, &data).unwrap();
    let one = [Method { name: "", predictions: &predictions }];
    let figure = predictive::against_feature(&one, &data, 0, 0, 0.9).unwrap();
    check(&figure);
    let (_, low, high) = band(&figure, 0);
    assert!(low.iter().chain(high).all(|count| *count >= 0.0));
    let marks = &figure.panels[0].marks;
    let mut points = points_of(marks, "observed");
    points.extend(points_of(marks, "outside interval"));
    assert!(points.len() == 60 && points.contains(&[1.0, 3.0]), "{points:?}");
}

#[test]
fn many_rows_make_a_small_file() {
    let n = 20_000;
    let mut rng = ChainRng::new(1, 0);
    let x = Array2::from_shape_simple_fn((n, 3), || rng.normal());
    let y = Array2::from_shape_fn((n, 1), |(i, _)| x.row(i).sum() + rng.normal());
    let data = Dataset::regression(x, y).unwrap();
    let q =
        Array3::from_shape_fn((1, 20, 4), |(_, s, j)| [1.0, 1.0, 1.0, 0.0][j] + 0.01 * s as f64);
    let predictions = linear(&data, q);
    let one = [Method { name: "", predictions: &predictions }];
    let rows: Vec<f64> = (0..n).map(|i| i as f64).collect();
    let mut figures = [
        predictive::along(&one, &rows, "row", 0, 0.95).unwrap(),
        predictive::against_first_component(&one, &data, 0, 0.95).unwrap(),
        predictive::observed_against_predicted(&one, 0, 0.95).unwrap(),
        predictive::residuals(&predictions, &predictions.pit(1).unwrap(), 0).unwrap(),
    ];
    for (k, figure) in figures.iter_mut().enumerate() {
        figure.name = format!("many-{k}");
        said!(figure.caption);
        let size = figure.svg_elements().iter().map(String::len).max().unwrap();
        assert!(size < 20_000, "{}: {size}", figure.name);
        check(figure);
    }
    let colours = figures[0].panels[0].marks.iter().filter_map(|mark| match mark {
        Mark::Band { colour, .. } => Some(*colour),
        _ => None,
    });
    assert_eq!(colours.collect::<Vec<_>>(), [Colour::Series(4), Colour::Series(0)]);
}

#[test]
fn a_heavy_tail_is_seen_in_the_quantile_plot() {
    let n = 5_000;
    let data = Dataset::regression(Array2::zeros((n, 1)), Array2::zeros((n, 1))).unwrap();
    let predictions = linear(&data, array![[[0.0, 0.0], [0.0, 0.0]]]);
    // Uniform but for ten rows far in the right tail.
    let u = |(i, _)| match i {
        0..10 => 1.0 - 1e-9 / (i as f64 + 1.0),
        i => (i as f64 - 9.5) / 4_990.0,
    };
    let pit = bnn_mcmc::predict::Pit { values: Array2::from_shape_fn((n, 1), u) };
    let figure = predictive::residuals(&predictions, &pit, 0).unwrap();
    check(&figure);
    let marks = &figure.panels[2].marks;
    let (Mark::Band { high, .. }, Mark::Points { points, .. }) = (&marks[0], &marks[2]) else {
        panic!("{marks:?}")
    };
    assert_eq!((points.len(), high.len()), (200, 200));
    // All ten are there, above the band.
    let far: Vec<usize> = (0..200).filter(|k| points[*k][1] > 5.0).collect();
    assert_eq!(far, (190..200).collect::<Vec<_>>());
    assert!(far.iter().all(|k| points[*k][1] > high[*k]));
    // Phi^-1(1 - 1e-10) by scipy.
    assert!((points[199][1] - 6.361_340_902_404_056).abs() < 1e-5, "{:?}", points[199]);
    // The smallest, one by one: Phi^-1 of 0.5, 1.5, .. of 4,990.
    let normal = |k: usize| points[k][1];
    assert!((0..19).all(|k| normal(k) < normal(k + 1)) && (normal(0) + 3.718_510_704).abs() < 1e-6);
    said!(figure.caption);
}

#[test]
fn the_first_component_of_many_features_is_exact_where_it_is_known() {
    // 400 features follow t and 200 follow u, which is orthogonal to t: standardised, the first
    // component is sqrt(400) t and has 400/600 of the variance.
    for n in [40, 4_000] {
        let (t, u) = (|i: usize| [1.0, -1.0][i % 2], |i: usize| [1.0, -1.0][i / 2 % 2]);
        let of = |(i, j): (usize, usize)| match j {
            0..400 => 3.0 + (1.0 + j as f64) * t(i),
            _ => (j as f64) * u(i) - 1.0,
        };
        let x = Array2::from_shape_fn((n, 600), of);
        let data = Dataset::regression(x, Array2::zeros((n, 1))).unwrap();
        let predictions = linear(&data, Array3::zeros((1, 2, 601)));
        let one = [Method { name: "", predictions: &predictions }];
        let figure = predictive::against_first_component(&one, &data, 0, 0.9).unwrap();
        check(&figure);
        assert!(figure.panels[0].x.label.ends_with("(66.7 % of variance)"));
        let mut x: Vec<f64> = band(&figure, 0).0.to_vec();
        x.sort_by(f64::total_cmp);
        let (first, last) = (x[0], x[x.len() - 1]);
        // Half of 4,000 rows make the component.
        let tolerance = if n == 40 { 1e-6 } else { 0.05 };
        assert!(
            (first + 20.0).abs() < tolerance && (last - 20.0).abs() < tolerance,
            "{first} {last}"
        );
    }
}
