//! Calibration, against scipy and counts by hand.

use bnn_mcmc::predict::{Loo, Pit, Reliability, ReliabilityBin};
use bnn_mcmc::rng::ChainRng;
use bnn_mcmc::testing::{Sbc, Simulated};
use bnn_mcmc_report::figure::{Figure, Mark, Place};
use bnn_mcmc_report::figures::calibration;
use bnn_mcmc_report::figures::predictive::Method;
use ndarray::{Array2, Array3, Axis, s};
use serde::Deserialize;
use shared::{refused, said};

use crate::common::check;
use crate::predictive::{Golden as Regression, close, points_of};

#[derive(Deserialize)]
struct Golden {
    u: Vec<f64>,
    histogram: Vec<f64>,
    each_bar: [f64; 2],
    difference: Vec<f64>,
    bins: Vec<[f64; 5]>,
    each_bin: Vec<[f64; 2]>,
    ece: f64,
    each_level: Vec<[f64; 2]>,
    left_out: Vec<f64>,
    each_left_out: Vec<[f64; 2]>,
}

impl Golden {
    fn read() -> Self {
        serde_json::from_str(include_str!("../golden/calibration.json")).unwrap()
    }

    fn reliability(&self) -> Reliability {
        let bin = |[lower, upper, rows, confidence, accuracy]: &[f64; 5]| ReliabilityBin {
            lower: *lower,
            upper: *upper,
            rows: *rows as usize,
            weight: *rows,
            confidence: *confidence,
            accuracy: *accuracy,
        };
        Reliability { bins: self.bins.iter().map(bin).collect() }
    }
}

fn of(values: &[f64]) -> Pit {
    Pit { values: Array2::from_shape_vec((values.len(), 1), values.to_vec()).unwrap() }
}

#[test]
fn transforms_are_those_of_numpy_and_scipy() {
    let golden = Golden::read();
    let figure = calibration::pit(&of(&golden.u));
    check(&figure);
    let [histogram, ecdf] = &figure.panels[..] else { panic!("not two panels") };
    let Mark::Bars { heights, edges, .. } = &histogram.marks[0] else { panic!("no bars") };
    close(heights, &golden.histogram, 1e-12);
    assert_eq!((edges[0], edges[20]), (0.0, 1.0));
    let Mark::Band { low, high, .. } = &histogram.marks[1] else { panic!("no band") };
    close(&[low[0], high[0]], &golden.each_bar, 1e-12);
    let Mark::Line { points, .. } = &ecdf.marks[2] else { panic!("no line") };
    let y: Vec<f64> = points[1..].iter().map(|at| at[1]).collect();
    close(&y, &golden.difference, 1e-12);
    // It leaves the band, and says so.
    let Mark::Band { low, high, .. } = &ecdf.marks[0] else { panic!("no band") };
    let outside = y.iter().zip(&low[1..]).zip(&high[1..]);
    let outside = outside.filter(|((y, low), high)| *y < low || *y > high).count();
    assert!(outside > 3);
    assert!(figure.caption.contains(&format!("at {outside} of 100 places")), "{}", figure.caption);
    assert_eq!(calibration::loo_pit(&of(&golden.u)).panels, figure.panels);
}

#[test]
fn uniform_transforms_stay_in_the_band_and_others_do_not() {
    let mut rng = ChainRng::new(5, 0);
    let uniform: Vec<f64> = (0..2_000).map(|_| rng.uniform()).collect();
    let narrow: Vec<f64> = uniform.iter().map(|u| 0.5 + 0.9 * (u - 0.5)).collect();
    let mut figure = calibration::loo_pit(&of(&uniform));
    said!(figure.caption);
    figure.name = "pit-uniform".into();
    check(&figure);
    let mut figure = calibration::pit(&of(&narrow));
    said!(figure.caption);
    figure.name = "pit-narrow".into();
    check(&figure);
    let size = figure.svg_elements().iter().map(String::len).max().unwrap();
    assert!(size < 20_000, "{size}");
}

#[test]
fn transforms_of_no_values_and_nan_are_drawn() {
    for values in [&[][..], &[f64::NAN], &[0.5, f64::NAN], &[0.0, 1.0], &[0.5; 300]] {
        let figure = calibration::pit(&of(values));
        check(&figure);
        let missing = values.iter().filter(|u| u.is_nan()).count();
        assert_eq!(figure.caption.contains(&format!("left out: {missing}.")), missing > 0);
    }
}

fn log_likelihood(rows: usize) -> Array3<f64> {
    let mut rng = ChainRng::new(2, 0);
    // A row that no draw explains.
    let scale = |row: usize| if row == 3 { 9.0 } else { 0.1 };
    Array3::from_shape_fn((4, 250, rows), |(_, _, row)| -scale(row) * rng.normal().powi(2))
}

#[test]
fn k_of_each_row_is_shown_beside_its_threshold() {
    let mut log_lik = log_likelihood(40);
    // A row whose likelihood is the same at all draws has no k, and is reliable.
    log_lik.slice_mut(s![.., .., 7]).fill(-1.0);
    let loo = Loo::from_log_likelihood(log_lik.view(), None).unwrap();
    let figure = calibration::pareto_k(&loo);
    check(&figure);
    let marks = &figure.panels[0].marks;
    let (reliable, unreliable) = (points_of(marks, "reliable"), points_of(marks, "unreliable"));
    assert_eq!(unreliable, [[3.0, loo.rows[3].k]]);
    assert!(loo.rows[3].k > 0.7 && reliable.len() == 39);
    assert!(reliable.iter().all(|[_, k]| k.is_nan() || *k <= 2.0 / 3.0));
    // 1 - 1 / log10(1000) = 2/3.
    let Mark::Rule { place: Place::Horizontal(threshold), .. } = marks[0] else {
        panic!("no threshold")
    };
    assert!((threshold - 2.0 / 3.0).abs() < 1e-12);
    said!(figure.caption);
}

#[test]
fn k_of_many_rows_is_a_small_file() {
    let one = log_likelihood(100);
    let views: Vec<_> = (0..42).map(|_| one.view()).collect();
    let many = ndarray::concatenate(Axis(2), &views).unwrap();
    let loo = Loo::from_log_likelihood(many.view(), Some(1.0)).unwrap();
    let mut figure = calibration::pareto_k(&loo);
    figure.name = "pareto-k-many".into();
    check(&figure);
    assert_eq!(points_of(&figure.panels[0].marks, "unreliable").len(), 42);
    assert_eq!(points_of(&figure.panels[0].marks, "reliable").len(), 600);
    said!(figure.caption);
    assert!(figure.svg_elements()[0].len() < 20_000, "{}", figure.svg_elements()[0].len());
    let nan = Loo::from_log_likelihood(Array3::zeros((1, 25, 3)).view(), Some(1.0)).unwrap();
    check(&calibration::pareto_k(&nan));
}

#[test]
fn reliability_has_the_band_of_scipy() {
    let golden = Golden::read();
    let curve = golden.reliability();
    let figure = calibration::reliability(&[("", &curve)]).unwrap();
    check(&figure);
    let marks = &figure.panels[0].marks;
    let Mark::Band { x, low, high, .. } = &marks[0] else { panic!("no band") };
    close(x, &golden.bins.iter().map(|bin| bin[3]).collect::<Vec<_>>(), 0.0);
    close(low, &golden.each_bin.iter().map(|ends| ends[0]).collect::<Vec<_>>(), 1e-12);
    close(high, &golden.each_bin.iter().map(|ends| ends[1]).collect::<Vec<_>>(), 1e-12);
    let Mark::Line { points, .. } = &marks[2] else { panic!("no curve") };
    assert!(points.iter().zip(&golden.bins).all(|(at, bin)| *at == [bin[3], bin[4]]));
    let ece = format!("error over these bins is {:.3}.", golden.ece);
    assert!(figure.caption.contains(&ece), "{}", figure.caption);
    // No bar between bins that do not touch.
    let Mark::Bars { edges, heights, .. } = &figure.panels[1].marks[0] else { panic!("no bars") };
    assert_eq!(edges, &[0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
    assert_eq!(heights, &[7.0, 0.0, 31.0, 40.0, 0.0, 122.0]);

    let mut both = calibration::reliability(&[("NUTS", &curve), ("<b>&\"", &curve)]).unwrap();
    both.name = "reliability-two".into();
    check(&both);
    said!(both.caption);
    refused!(calibration::reliability(&[]), Argument { name: "curves", value: "empty" });
    let (rows, weight) = (3, 3.0);
    let bin =
        ReliabilityBin { lower: 1.0, upper: 1.0, rows, weight, confidence: 1.0, accuracy: 1.0 };
    let nan = ReliabilityBin { confidence: f64::NAN, accuracy: f64::NAN, ..bin };
    for bins in [vec![], vec![bin], vec![nan]] {
        check(&calibration::reliability(&[("", &Reliability { bins })]).unwrap());
    }
}

#[test]
fn coverage_counts_observations_within_quantiles() {
    let regression = Regression::read();
    let predictions = regression.predictions();
    let method = Method { name: "a <b> & c", predictions: &predictions };
    let figure = calibration::coverage(&[method]).unwrap();
    check(&figure);
    let marks = &figure.panels[0].marks;
    let Mark::Band { low, high, .. } = &marks[0] else { panic!("no band") };
    let golden = Golden::read().each_level;
    close(low, &golden.iter().map(|ends| ends[0]).collect::<Vec<_>>(), 1e-12);
    close(high, &golden.iter().map(|ends| ends[1]).collect::<Vec<_>>(), 1e-12);
    let points = points_of(marks, "a <b> & c");
    assert_eq!(points.len(), 19);
    let observed = predictions.observed().unwrap().real().unwrap();
    for [level, share] in points {
        let is_inside = |row: usize| {
            let drawn = predictions.predictive_draws();
            let mut drawn: Vec<f64> = drawn.slice(s![.., .., row, 0]).iter().copied().collect();
            drawn.sort_by(f64::total_cmp);
            let quantile = |p: f64| {
                let at = p * (drawn.len() - 1) as f64;
                let (k, rest) = (at.floor() as usize, at.fract());
                drawn[k] + rest * (drawn[(k + 1).min(drawn.len() - 1)] - drawn[k])
            };
            let y = observed[(row, 0)];
            y >= quantile(0.5 - 0.5 * level) && y <= quantile(0.5 + 0.5 * level)
        };
        let inside = (0..90).filter(|row| is_inside(*row)).count();
        assert!((share - inside as f64 / 90.0).abs() < 1e-12, "level {level}: {share}");
    }
    // As each level by itself.
    for (level, point) in (1..20).map(|k| f64::from(k) / 20.0).zip(points_of(marks, "a <b> & c")) {
        assert_eq!(point, [level, predictions.coverage(level).unwrap().share]);
    }
    refused!(calibration::coverage(&[]), Argument { name: "methods", value: "empty" });
    let data = regression.data().select(&[0, 1]).unwrap();
    let few = crate::predictive::linear(&data, Array3::from_elem((1, 1, 4), f64::NAN));
    let few = Method { name: "", predictions: &few };
    refused!(
        calibration::coverage(&[method, few]),
        Shape { what: "rows and columns of predictions" }
    );
    check(&calibration::coverage(&[few]).unwrap());
}

#[test]
fn coverage_of_rows_left_out_is_that_of_numpy() {
    let golden = Golden::read();
    let figure = calibration::coverage_of_pit(&of(&golden.u));
    check(&figure);
    let marks = &figure.panels[0].marks;
    let Mark::Band { low, high, .. } = &marks[0] else { panic!("no band") };
    close(low, &golden.each_left_out.iter().map(|ends| ends[0]).collect::<Vec<_>>(), 1e-12);
    close(high, &golden.each_left_out.iter().map(|ends| ends[1]).collect::<Vec<_>>(), 1e-12);
    let Mark::Line { points, .. } = &marks[2] else { panic!("no line") };
    close(&points.iter().map(|at| at[1]).collect::<Vec<_>>(), &golden.left_out, 1e-12);
    assert!(points.iter().zip(1..).all(|(at, k)| (at[0] - f64::from(k) / 20.0).abs() < 1e-12));
    assert_ne!(figure.name, "coverage");

    // Of the same predictions, the transform and the intervals differ by little.
    let predictions = Regression::read().predictions();
    let by_intervals = calibration::coverage(&[Method { name: "", predictions: &predictions }]);
    let by_pit = calibration::coverage_of_pit(&predictions.pit(1).unwrap());
    let line = |figure: &Figure| match &figure.panels[0].marks[2] {
        Mark::Line { points, .. } => points.clone(),
        mark => panic!("{mark:?}"),
    };
    for (a, b) in line(&by_intervals.unwrap()).iter().zip(line(&by_pit)) {
        assert!((a[1] - b[1]).abs() < 0.05, "{a:?} {b:?}");
    }
    for values in [&[][..], &[f64::NAN], &[0.5, f64::NAN]] {
        let figure = calibration::coverage_of_pit(&of(values));
        check(&figure);
        let missing = values.iter().filter(|u| u.is_nan()).count();
        assert_eq!(figure.caption.contains(&format!("left out: {missing}.")), missing > 0);
    }
}

/// Ranks are counted by hand, and a line leaves the band where the report says that ranks are not uniform.
#[test]
fn ranks_of_simulations_are_beside_their_band() {
    let of = |power: f64| {
        let simulate = |mut rng: ChainRng| {
            let draws = Array2::from_shape_simple_fn((1, 19), || rng.uniform());
            Ok(Simulated::of("x", rng.uniform().powf(power), draws.view()))
        };
        Sbc::new().simulations(200).draws(19).alpha(0.05).run(simulate).unwrap()
    };
    for (power, inside) in [(1.0, true), (2.0, false)] {
        let report = of(power);
        let figure = calibration::ranks(&report);
        check(&figure);
        let [panel] = &figure.panels[..] else { panic!("not one panel") };
        let [Mark::Band { x, low, high, .. }, _, Mark::Line { points, .. }] = &panel.marks[..]
        else {
            panic!("no band and line")
        };
        assert_eq!((x.len(), points.len()), (21, 21));
        for (k, [at, difference]) in points.iter().enumerate() {
            let below = report.ranks().iter().filter(|rank| (**rank as usize) < k).count();
            let share = k as f64 / 20.0;
            assert!((at - share).abs() < 1e-12 && (x[k] - share).abs() < 1e-12);
            assert!((difference - (below as f64 / 200.0 - share)).abs() < 1e-12, "{k}");
        }
        let is_inside = (0..21).all(|k| (low[k] - 1e-12..=high[k] + 1e-12).contains(&points[k][1]));
        let is_even = report.p_values()[0] > report.alpha();
        assert_eq!((is_inside, is_even), (inside, inside));
    }
}
