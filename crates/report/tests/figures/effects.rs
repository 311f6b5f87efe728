//! Effects of columns.

use bnn_mcmc::explain::Effect;
use bnn_mcmc::fit::Fit;
use bnn_mcmc::prelude::*;
use bnn_mcmc_report::figure::{Mark, Scale};
use bnn_mcmc_report::figures::effects;
use ndarray::Array3;
use shared::refused;

use crate::common::check;
use crate::predictive;

/// `y = size + 2 [colour = red]`, over a year of days.
fn fit() -> Fit {
    let mut rng = ChainRng::new(1, 0);
    let mut text = String::from("size,colour,day,at,y\n");
    for i in 0..80 {
        let (size, red) = (rng.normal(), i % 3 == 1);
        let colour = if red { "red" } else { "blue" };
        let y = size + if red { 2.0 } else { 0.0 } + 0.1 * rng.normal();
        let (month, day, hour) = (1 + i % 12, 1 + i * 5 % 28, i * 7 % 24);
        text += &format!("{size},{colour},2023-{month:02}-{day:02},{hour:02}:30,{y}\n");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.csv");
    std::fs::write(&path, text).unwrap();
    Fit::regression("y").hidden(&[]).chains(2).draws(200).seed(1).read_csv(path).unwrap()
}

#[test]
fn an_effect_is_drawn_with_its_intervals() {
    let explainer = fit().explain().unwrap();
    let effect = explainer.partial_dependence("size").unwrap();
    let figure = effects::curve(&effect).unwrap();
    check(&figure);
    let marks = &figure.panels[0].marks;
    let mean = predictive::points_of(marks, "mean");
    let (expected, interval) = (effect.mean(), effect.interval(0.9).unwrap());
    for (k, [x, y]) in mean.iter().enumerate() {
        assert_eq!((*x, *y), (effect.points.values[k], expected[(k, 0)]));
    }
    let band = marks.iter().find_map(|mark| match mark {
        Mark::Band { low, high, .. } => Some((low, high)),
        _ => None,
    });
    let (low, high) = band.unwrap();
    assert_eq!(*low, interval.lower.column(0).to_vec());
    assert_eq!(*high, interval.upper.column(0).to_vec());
    let single = marks.iter().filter(|mark| matches!(mark, Mark::Line { .. })).count();
    assert_eq!(single, 1 + 8);
    let rug = predictive::points_of(marks, "values of the rows");
    assert_eq!((rug[0][0], rug[rug.len() - 1][0]), (mean[0][0], mean[mean.len() - 1][0]));

    // Labels are intervals, a line each; times have years or hours.
    let figure = effects::curve(&explainer.partial_dependence("colour").unwrap()).unwrap();
    check(&figure);
    assert_eq!(figure.panels[0].y.scale, Scale::Names(vec!["blue".into(), "red".into()]));
    let Mark::Intervals { intervals, .. } = &figure.panels[0].marks[0] else { panic!() };
    assert!((intervals[1].value - intervals[0].value - 2.0).abs() < 0.1);
    for (column, label, low, high) in
        [("day", "day (year)", 2023.0, 2024.0), ("at", "at (hour)", 0.0, 24.0)]
    {
        let figure = effects::curve(&explainer.accumulated_local_effect(column).unwrap()).unwrap();
        check(&figure);
        assert_eq!(figure.panels[0].x.label, label);
        let points = predictive::points_of(&figure.panels[0].marks, "mean");
        assert!(points.iter().all(|[x, _]| (low..=high).contains(x)), "{points:?}");
    }
    let none = Effect { draws: Array3::zeros((0, 3, 1)), ..effect };
    refused!(effects::curve(&none), Shape { found: "0" });
}

#[test]
fn importance_is_drawn_the_largest_first() {
    let explainer = fit().explain().unwrap();
    let importance = explainer.importance(2, 1).unwrap();
    let figure = effects::importance(&importance).unwrap();
    check(&figure);
    let Scale::Names(names) = &figure.panels[0].y.scale else { panic!() };
    assert_eq!(names[..2], ["size", "colour"]);
    let intervals = figure.panels[0].marks.iter().find_map(|mark| match mark {
        Mark::Intervals { intervals, .. } => Some(intervals),
        _ => None,
    });
    assert!(intervals.unwrap().windows(2).all(|pair| pair[0].value >= pair[1].value));
    refused!(effects::importance(&[]), Argument { value: "empty" });
}

#[test]
fn two_columns_are_cells() {
    let explainer = fit().explain().unwrap();
    let effect = explainer.partial_dependence_pair("size", "colour").unwrap();
    let figure = effects::pair(&effect).unwrap();
    check(&figure);
    let Mark::Cells { values, .. } = &figure.panels[0].marks[0] else { panic!() };
    let mean = effect.mean();
    assert_eq!((values.len(), values[0].len()), (2, 10));
    assert_eq!(values[1][3], mean[(3, 1, 0)]);
}
