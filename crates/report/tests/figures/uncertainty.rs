//! Uncertainty of classifications, against numpy and scipy.

use bnn_mcmc::predict::{ChainProbabilities, ConfusionMatrix, Measure, Uncertainty};
use bnn_mcmc_report::figure::{Colour, Figure, Mark};
use bnn_mcmc_report::figures::uncertainty;
use ndarray::{Array2, Array3, Array4, array};
use serde::Deserialize;
use shared::{refused, said};

use crate::common::check;
use crate::predictive::{close, points_of};

const NAMES: [&str; 4] = ["<script>\"&", "two", "a name of more than eighteen letters", "4"];

#[derive(Deserialize)]
struct Golden {
    p: Vec<Vec<Vec<f64>>>,
    observed: Vec<usize>,
    histograms: Vec<Histograms>,
    most_uncertain: Vec<usize>,
    predicted: Vec<usize>,
    probability: Vec<f64>,
}

#[derive(Deserialize)]
struct Histograms {
    edges: Vec<f64>,
    right: Vec<f64>,
    wrong: Vec<f64>,
}

impl Golden {
    fn read() -> Self {
        serde_json::from_str(include_str!("../golden/uncertainty.json")).unwrap()
    }

    fn uncertainty(&self) -> Uncertainty {
        let p = Array3::from_shape_fn((30, 60, 4), |(s, i, c)| self.p[s][i][c]);
        Uncertainty::new(p.view(), NAMES).unwrap()
    }
}

fn bars(figure: &Figure, panel: usize) -> Vec<(&[f64], &[f64])> {
    let bars = figure.panels[panel].marks.iter().filter_map(|mark| match mark {
        Mark::Bars { edges, heights, .. } => Some((&edges[..], &heights[..])),
        _ => None,
    });
    bars.collect()
}

#[test]
fn entropies_have_the_histograms_of_numpy() {
    let golden = Golden::read();
    let uncertainty = golden.uncertainty();
    let figure = uncertainty::entropies(&uncertainty, Some(&golden.observed)).unwrap();
    check(&figure);
    for (panel, golden) in golden.histograms.iter().enumerate() {
        let [right, wrong] = bars(&figure, panel)[..] else { panic!("not two groups") };
        close(right.0, &golden.edges, 1e-12);
        close(right.1, &golden.right, 1e-12);
        close(wrong.1, &golden.wrong, 1e-12);
    }
    let right = golden.observed.iter().zip(&golden.predicted).filter(|(a, b)| a == b).count();
    assert!(figure.caption.contains(&format!("{right} inputs are predicted right")));
    let all = uncertainty::entropies(&uncertainty, None).unwrap();
    check(&all);
    assert_eq!(bars(&all, 2).len(), 1);
    let few = uncertainty::entropies(&uncertainty, Some(&[0; 3]));
    refused!(few, Shape { what: "observed classes" });
    let other = uncertainty::entropies(&uncertainty, Some(&[4; 60]));
    refused!(other, Argument { name: "observed class" });
}

#[test]
fn inside_and_outside_share_their_bars() {
    let golden = Golden::read();
    let inside = golden.uncertainty();
    let vague = Uncertainty::new(Array3::from_elem((2, 5, 4), 0.25).view(), NAMES).unwrap();
    let figure = uncertainty::inside_and_outside(&inside, &vague).unwrap();
    check(&figure);
    let [(edges, _), (outside_edges, outside)] = bars(&figure, 0)[..] else { panic!("not two") };
    assert_eq!(edges, outside_edges);
    // Their predictive entropy is ln 4, and the largest there is.
    assert!((edges[20] - 4f64.ln()).abs() < 1e-12);
    assert!((outside[19] - 1.0).abs() < 1e-12);
    said!(figure.caption);
    let other = Uncertainty::new(Array3::from_elem((1, 1, 2), 0.5).view(), ["a", "b"]).unwrap();
    assert!(uncertainty::inside_and_outside(&inside, &other).is_err());
    // All equal, and no entropy at all.
    let mut certain = Array3::zeros((2, 5, 4));
    certain.slice_mut(ndarray::s![.., .., 0]).fill(1.0);
    let certain = Uncertainty::new(certain.view(), NAMES).unwrap();
    check(&uncertainty::inside_and_outside(&certain, &certain).unwrap());
}

#[test]
fn the_most_uncertain_images_are_shown_as_they_are() {
    let golden = Golden::read();
    let uncertainty = golden.uncertainty();
    let pixels = Array2::from_shape_fn((60, 6), |(i, j)| (10 * i + j) as f64);
    let images = |observed, count| {
        uncertainty::most_uncertain_images(
            &uncertainty,
            Measure::PredictiveEntropy,
            pixels.view(),
            [2, 3],
            observed,
            count,
        )
    };
    let figure = images(Some(&golden.observed[..]), 5).unwrap();
    check(&figure);
    for (panel, input) in figure.panels.iter().zip(&golden.most_uncertain) {
        let Mark::Cells { values, .. } = &panel.marks[0] else { panic!("no image") };
        let first = (10 * input) as f64;
        let [above, below] =
            [[first, first + 1.0, first + 2.0], [first + 3.0, first + 4.0, first + 5.0]];
        assert_eq!(values, &[above, below]);
        let name = |class: usize| match NAMES[class].len() {
            0..=18 => NAMES[class],
            _ => "a name of more th…",
        };
        let (class, truth) = (golden.predicted[*input], golden.observed[*input]);
        let right = match class == truth {
            true => "right".to_owned(),
            false => format!("is {}", name(truth)),
        };
        let title = format!("{} ({:.2}), {right}", name(class), golden.probability[*input]);
        assert_eq!(panel.title, title);
        assert_eq!((panel.y.range, panel.x.range), (Some([1.5, -0.5]), Some([-0.5, 2.5])));
    }
    check(&images(None, 24).unwrap());
    refused!(images(None, 0), Argument { name: "images", value: "0" });
    refused!(images(None, 25), Argument { name: "images", value: "25" });
    refused!(images(Some(&[0; 2]), 5), Shape { what: "observed classes" });
    let of = |pixels: &Array2<f64>, size| {
        uncertainty::most_uncertain_images(
            &uncertainty,
            Measure::Disagreement,
            pixels.view(),
            size,
            None,
            2,
        )
    };
    refused!(of(&pixels, [3, 3]), Shape { what: "columns of pixels", expected: "3 x 3" });
    refused!(of(&pixels, [usize::MAX, 2]), Shape { what: "columns of pixels" });
    refused!(of(&Array2::zeros((60, 0)), [0, 0]), Shape { what: "columns of pixels" });
    refused!(of(&Array2::zeros((6, 6)), [2, 3]), Shape { what: "rows of pixels" });
    check(&of(&Array2::from_elem((60, 6), f64::NAN), [6, 1]).unwrap());
}

#[test]
fn a_confusion_matrix_counts_rows() {
    let matrix = ConfusionMatrix {
        counts: array![[8, 1, 1, 0], [0, 4, 0, 0], [2, 0, 18, 0], [0, 0, 0, 0]],
        names: NAMES.map(String::from).to_vec(),
    };
    let figure = uncertainty::confusion(&matrix);
    check(&figure);
    let Mark::Cells { values, text, .. } = &figure.panels[0].marks[0] else { panic!("no cells") };
    assert_eq!(values[0], [0.8, 0.1, 0.1, 0.0]);
    assert_eq!(values[2], [0.1, 0.0, 0.9, 0.0]);
    assert!(values[3].iter().all(|share| share.is_nan()));
    assert_eq!(text[2], ["2", "", "18", ""]);
    said!(figure.caption);

    // Of many classes those that are confused: each odd class with the one before it.
    let mut counts = Array2::zeros((100, 100));
    for class in (1..58).step_by(2) {
        counts[(class, class - 1)] = 1 + class;
    }
    let names: Vec<String> = (0..100).map(|class| format!("class {class}")).collect();
    let mut figure = uncertainty::confusion(&ConfusionMatrix { counts, names });
    figure.name = "confusion-many".into();
    check(&figure);
    let Mark::Cells { values, text, .. } = &figure.panels[0].marks[0] else { panic!("no cells") };
    assert!(values.len() == 30 && text.is_empty());
    assert_eq!(figure.panels[0].marks.len(), 1);
    said!(figure.caption);
    assert!((0..30).step_by(2).all(|k| values[k + 1][k] == 1.0));
    let none = ConfusionMatrix { counts: Array2::zeros((0, 0)), names: Vec::new() };
    check(&uncertainty::confusion(&none));
}

#[test]
fn probabilities_run_along_the_chains() {
    let p = |(chain, draw, input, class): (usize, usize, usize, usize)| {
        let p = 0.4 + 0.1 * chain as f64 + 1e-4 * draw as f64 + 0.01 * input as f64;
        [p, 0.9 - p, 0.06, 0.04][class]
    };
    let p = Array4::from_shape_fn((3, 1000, 2, 4), p);
    let chains = ChainProbabilities::new(p.view(), &[1], NAMES).unwrap();
    let figure = uncertainty::along_chains(&chains);
    check(&figure);
    assert_eq!(figure.panels[0].title, "input 1");
    let marks = &figure.panels[0].marks;
    let first = points_of(marks, NAMES[0]);
    // Every ninth draw of each chain, one chain after the other.
    assert_eq!(first.len(), 3 * 112);
    said!(figure.caption);
    close(&first[0], &[0.0, 0.41], 1e-12);
    close(&first[113], &[1009.0, 0.51 + 9e-4], 1e-12);
    let drawn = |class: usize| {
        marks.iter().any(
            |mark| matches!(mark, Mark::Line { colour, .. } if *colour == Colour::Series(class)),
        )
    };
    assert_eq!([0, 1, 2, 3].map(drawn), [true, true, true, false]);
    assert!(figure.svg_elements()[0].len() < 20_000, "{}", figure.svg_elements()[0].len());

    // Two classes are one line; no draws, NaN.
    let two = Array4::from_elem((2, 10, 30, 1), 0.3);
    let all: Vec<usize> = (0..30).collect();
    let two = ChainProbabilities::new(two.view(), &all, ["<b>", "&"]).unwrap();
    let mut figure = uncertainty::along_chains(&two);
    figure.name = "probabilities-two".into();
    check(&figure);
    assert_eq!(figure.panels.len(), 24);
    assert_eq!(points_of(&figure.panels[0].marks, "<b>")[3], [3.0, 0.7]);
    said!(figure.caption);
    for (draws, fill) in [(0, 0.5), (3, f64::NAN)] {
        let odd = Array4::from_elem((1, draws, 1, 2), fill);
        let odd = ChainProbabilities::new(odd.view(), &[0], ["a", "b"]).unwrap();
        check(&uncertainty::along_chains(&odd));
    }
}
