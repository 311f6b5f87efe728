//! R-hat at a glance, against arviz and numpy (`tests/golden/rhat.py`).

use bnn_mcmc::diagnostics::Summary;
use bnn_mcmc::layout::Layout;
use bnn_mcmc_report::figure::{BoxPlot, Figure, Mark, Place, Scale};
use bnn_mcmc_report::figures::rhat;
use ndarray::Array3;
use serde::Deserialize;
use shared::{refused, said};

use crate::common::check;

#[derive(Deserialize)]
struct Golden {
    draws: Vec<Vec<Vec<f64>>>,
    rhat: Vec<f64>,
    boxes: Vec<[f64; 5]>,
    above: usize,
}

fn golden() -> (Golden, Summary) {
    let golden: Golden = serde_json::from_str(include_str!("../golden/rhat.json")).unwrap();
    let draws = Array3::from_shape_vec((3, 40, 24), golden.draws.concat().concat()).unwrap();
    let names: Vec<String> = (0..24).map(|k| format!("w{k}")).collect();
    let summary = Summary::new(&names, draws.view()).unwrap();
    (golden, summary)
}

fn layout() -> Layout {
    Layout::new().with("weights", &[3, 5]).with("biases", &[5]).with("noise", &[4])
}

fn boxes(figure: &Figure) -> Vec<BoxPlot> {
    let boxes = figure.panels[0].marks.iter().find_map(|mark| match mark {
        Mark::Boxes { boxes, .. } => Some(boxes.clone()),
        _ => None,
    });
    boxes.expect("boxes")
}

fn points(figure: &Figure, wanted: &str) -> Vec<[f64; 2]> {
    let points = figure.panels[0].marks.iter().find_map(|mark| match mark {
        Mark::Points { name: Some(name), points, .. } if name == wanted => Some(points.clone()),
        _ => None,
    });
    points.unwrap_or_default()
}

fn names(figure: &Figure) -> Vec<String> {
    match &figure.panels[0].x.scale {
        Scale::Names(names) => names.clone(),
        scale => panic!("{scale:?}"),
    }
}

/// R-hats of a summary, whatever the draws.
fn summary(rhats: &[f64]) -> Summary {
    let (_, mut summary) = golden();
    let row = summary.rows[0].clone();
    summary.rows = rhats
        .iter()
        .map(|&rhat| bnn_mcmc::diagnostics::SummaryRow { rhat, ..row.clone() })
        .collect();
    summary
}

#[test]
fn blocks_against_arviz_and_numpy() {
    let (golden, summary) = golden();
    let figure = rhat::blocks(&summary, &layout()).unwrap();
    check(&figure);
    assert_eq!(names(&figure), ["weights", "biases", "noise"]);
    for (k, (plot, expected)) in boxes(&figure).iter().zip(&golden.boxes).enumerate() {
        let found = [plot.low, plot.lower, plot.median, plot.upper, plot.high];
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < 1e-9, "{k}: {a} is not {b}");
        }
        assert_eq!(plot.at, k as f64);
    }
    // Every parameter is a point or beyond the whiskers.
    let mut all: Vec<f64> = points(&figure, "parameter").iter().map(|p| p[1]).collect();
    all.extend(boxes(&figure).iter().flat_map(|plot| plot.outliers.clone()));
    all.sort_by(f64::total_cmp);
    let mut expected = golden.rhat;
    expected.sort_by(f64::total_cmp);
    assert_eq!(all.len(), 24);
    assert!(all.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9), "{all:?}");
    assert!(points(&figure, "parameter").iter().all(|p| (p[0] - p[0].round()).abs() <= 0.25));
    assert!(figure.caption.contains(&format!("{} of 24 above 1.01", golden.above)));
    let rule = Place::Horizontal(1.01);
    let is_limit = |mark: &Mark| matches!(mark, Mark::Rule { place, .. } if *place == rule);
    assert!(figure.panels[0].marks.iter().any(is_limit));
}

#[test]
fn models_side_by_side() {
    let (_, first) = golden();
    let second = summary(&[1.0, 1.001, 1.002]);
    let figure = rhat::models(&[("mlp, iris", &first), ("<linear> & \"x\"", &second)]).unwrap();
    check(&figure);
    assert_eq!(names(&figure), ["mlp, iris", "<linear> & \"x\""]);
    let both = boxes(&figure);
    assert_eq!((both.len(), both[1].median, both[1].at), (2, 1.001, 1.0));
}

#[test]
fn undefined_and_infinite_values_are_crosses() {
    let values = [f64::NAN, 1.2, f64::INFINITY, 1.0];
    let figure = rhat::models(&[("a", &summary(&values)), ("b", &summary(&values[..1]))]).unwrap();
    check(&figure);
    let crosses = points(&figure, "undefined or infinite");
    assert_eq!(crosses.iter().map(|p| p[0].round()).collect::<Vec<_>>(), [0.0, 0.0, 1.0]);
    assert!(crosses.iter().all(|p| p[1] > 1.2));
    said!(figure.caption);
}

#[test]
fn of_many_blocks_the_worst_are_shown() {
    let mut rhats: Vec<f64> = (0..100).map(|k| 1.0 + f64::from(k * 37 % 100) / 1000.0).collect();
    rhats[50] = f64::NAN;
    let layout = (0..100).fold(Layout::new(), |layout, k| layout.with(&format!("b{k}"), &[1]));
    let figure = rhat::blocks(&summary(&rhats), &layout).unwrap();
    check(&figure);
    let names = names(&figure);
    let is_shown = |k: usize| names.contains(&format!("b{k}"));
    assert_eq!(names.len(), 40);
    assert!((0..100).all(|k| is_shown(k) != (rhats[k] < 1.0605)), "{names:?}");
    said!(figure.caption);
}

#[test]
fn many_parameters_are_a_small_picture() {
    let rhats: Vec<f64> = (0..100_000).map(|k| 1.0 + 0.02 * (f64::from(k) / 1e5).powi(6)).collect();
    let layout = Layout::new().with("a", &[50_000]).with("b", &[50_000]);
    let figure = rhat::blocks(&summary(&rhats), &layout).unwrap();
    check(&figure);
    let shown = points(&figure, "parameter");
    assert_eq!(shown.len(), 400);
    let size = figure.svg_elements()[0].len();
    assert!(size < 40_000, "{size}");
}

#[test]
fn nothing_to_show_is_refused() {
    let (_, summary) = golden();
    refused!(
        rhat::blocks(&summary, &Layout::vector("w", 3)),
        Shape { what: "parameters of the layout", found: 3, expected: 24 }
    );
    refused!(rhat::models(&[]), Argument { name: "parameters", value: "none" });
    assert!(rhat::models(&[("none", &Summary::default())]).is_err());
}

#[test]
fn predictions_stand_in_a_column_for_each_class() {
    let (golden, mut summary) = golden();
    for (k, row) in summary.rows.iter_mut().enumerate() {
        row.name = format!("row {}, {}", k / 2, ["setosa", "<b>, \"&"][k % 2]);
    }
    let figure = rhat::predictions(&summary).unwrap();
    check(&figure);
    assert_eq!(names(&figure), ["setosa", "<b>, \"&"]);
    let even: Vec<f64> = golden.rhat.iter().copied().step_by(2).collect();
    let expected = BoxPlot::new(0.0, &even).unwrap();
    approx(boxes(&figure)[0].median, expected.median);
    approx(boxes(&figure)[0].high, expected.high);
    said!(figure.caption);
    assert!(rhat::predictions(&Summary { rows: Vec::new() }).is_err());
}

fn approx(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-10, "{found} {expected}");
}

#[test]
fn characters_that_xml_does_not_allow_or_nobody_sees_are_replaced() {
    // The last two turn the text around them.
    let name = "a\u{1B}[31m\0\u{B}\u{FFFE}b\u{7F}é\u{202E}\u{200F}";
    let mut figure = rhat::models(&[(name, &golden().1)]).unwrap();
    figure.caption = format!("Of {name}.");
    figure.panels[0].title = name.to_owned();
    let parsed = |svg: &str| -> (String, String) {
        let document = roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{error}"));
        let texts = document.descendants().filter_map(|node| node.text());
        let label = document.root_element().attribute("aria-label").unwrap();
        (texts.collect(), label.to_owned())
    };
    let shown = "a\u{FFFD}[31m\u{FFFD}\u{FFFD}\u{FFFD}b\u{FFFD}é\u{FFFD}\u{FFFD}";
    for svg in [&figure.to_svg(), &figure.svg_elements()[0]] {
        let (texts, label) = parsed(svg);
        assert!(texts.contains(shown), "{texts:?}");
        assert!(label.contains(shown), "{label:?}");
    }
}

#[test]
fn a_range_that_is_none_is_that_of_the_marks() {
    let (_, summary) = golden();
    let usual = rhat::models(&[("a", &summary)]).unwrap();
    for [from, to] in [[f64::NAN, f64::NAN], [0.0, 2.0], [f64::NEG_INFINITY, 1.0]] {
        // A logarithmic axis.
        let mut figure = usual.clone();
        figure.panels[0].y.range = Some([from, to]);
        check(&figure);
        assert_eq!(figure.to_svg(), usual.to_svg());
    }
}
