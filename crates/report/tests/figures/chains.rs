//! Figures of chains, against scipy, arviz and numpy (`tests/golden/chains.py`).

use bnn_mcmc::rng::ChainRng;
use bnn_mcmc_report::figure::{Colour, Figure, Mark, Panel, Place};
use bnn_mcmc_report::figures::Quantity;
use bnn_mcmc_report::figures::chains;
use ndarray::{Array2, array, s};
use serde::Deserialize;
use shared::{refused, said};

use crate::common::check;

#[derive(Deserialize)]
struct Golden {
    draws: Vec<Vec<f64>>,
    rank_counts: Vec<Vec<f64>>,
    thinning: usize,
    at: Vec<usize>,
    counts: Vec<Vec<f64>>,
    density: Curve,
    autocorrelation: Vec<Vec<f64>>,
    ess_bulk: Vec<f64>,
    ess_tail: Vec<f64>,
    running_at: Vec<f64>,
    running_mean: Vec<Vec<f64>>,
    mean: f64,
    mcse: f64,
}

#[derive(Deserialize)]
struct Curve {
    x: Vec<f64>,
    y: Vec<f64>,
}

fn golden() -> (Golden, Array2<f64>) {
    let golden: Golden = serde_json::from_str(include_str!("../golden/chains.json")).unwrap();
    let (chains, draws) = (golden.draws.len(), golden.draws[0].len());
    let values = Array2::from_shape_vec((chains, draws), golden.draws.concat()).unwrap();
    (golden, values)
}

/// The lines of chains, by number.
fn lines(panel: &Panel) -> Vec<Vec<[f64; 2]>> {
    let lines = panel.marks.iter().filter_map(|mark| match mark {
        Mark::Line { points, .. } => Some(points.clone()),
        _ => None,
    });
    lines.collect()
}

/// The x, lower and upper end of the band.
fn band(panel: &Panel) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let band = panel.marks.iter().find_map(|mark| match mark {
        Mark::Band { x, low, high, .. } => Some((x.clone(), low.clone(), high.clone())),
        _ => None,
    });
    band.expect("a band")
}

fn heights(points: &[[f64; 2]]) -> Vec<f64> {
    points.iter().map(|p| p[1]).collect()
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (k, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{k}: {a} is not {b}");
    }
}

type Make = fn(&[Quantity]) -> Result<Figure, bnn_mcmc::Error>;

/// All figures of chains.
const ALL: [Make; 6] = [
    chains::trace,
    chains::rank_ecdf,
    chains::density,
    |quantities| chains::autocorrelation(quantities, 30),
    chains::ess,
    chains::running_mean,
];

#[test]
fn traces_and_rank_histograms() {
    let (golden, values) = golden();
    let figure = chains::trace(&[Quantity { name: "w", values: values.view() }]).unwrap();
    check(&figure);
    assert_eq!((figure.panels.len(), figure.columns), (2, Some(2)));
    for (c, line) in lines(&figure.panels[0]).iter().enumerate() {
        assert_eq!(heights(line), golden.draws[c]);
        assert_eq!(line[199][0], 199.0);
    }
    let histograms = lines(&figure.panels[1]);
    for (steps, counts) in histograms.iter().zip(&golden.rank_counts) {
        let tops: Vec<f64> = heights(steps).into_iter().step_by(2).collect();
        assert_eq!(tops, *counts);
        assert_eq!((steps[0][0], steps[1][0], steps[39][0]), (0.0, 40.0, 800.0));
    }
    let rule = Place::Horizontal(10.0);
    assert!(figure.panels[1].marks.iter().any(
        |mark| matches!(mark, Mark::Rule { place, colour: Colour::Muted, .. } if *place == rule)
    ));
}

#[test]
fn ranks_of_equal_values_are_spread_out() {
    // Values of few kinds, alike in all chains: no bin may have much more than its share.
    let values = Array2::from_shape_fn((4, 1000), |(_, i)| f64::from(u8::from(i % 2 == 0)) - 0.0);
    let figure = chains::trace(&[Quantity { name: "coin", values: values.view() }]).unwrap();
    for line in lines(&figure.panels[1]) {
        assert!(line.iter().all(|p| (25.0..=75.0).contains(&p[1])), "{line:?}");
        assert_eq!(heights(&line).iter().sum::<f64>(), 2000.0);
    }
}

#[test]
fn rank_ecdfs_and_their_band() {
    let (golden, values) = golden();
    let figure = chains::rank_ecdf(&[Quantity { name: "w", values: values.view() }]).unwrap();
    check(&figure);
    let panel = &figure.panels[0];
    assert_eq!(panel.title, format!("w, one draw in {}", golden.thinning));
    let draws = 200.0 / golden.thinning as f64;
    let share: Vec<f64> = golden.at.iter().map(|t| *t as f64 / (4.0 * draws)).collect();
    let lines = lines(panel);
    for (line, counts) in lines.iter().zip(&golden.counts) {
        let inner = &line[1..line.len() - 1];
        assert_close(&inner.iter().map(|p| p[0]).collect::<Vec<_>>(), &share, 1e-12);
        let expected: Vec<f64> = counts.iter().zip(&share).map(|(n, s)| n / draws - s).collect();
        assert_close(&heights(inner), &expected, 1e-12);
        assert_eq!((line[0], line[line.len() - 1]), ([0.0, 0.0], [1.0, 0.0]));
    }
    // The shifted chain leaves the band, downwards.
    let (x, low, _) = band(panel);
    assert_eq!(x.len(), lines[3].len());
    assert!(heights(&lines[3]).iter().zip(&low).any(|(y, low)| y < low));
}

/// Of runs of four autocorrelated chains, the share in which all stay inside the band.
fn share_inside(correlation: f64, shift: f64, draws: usize, runs: u64) -> f64 {
    let inside = (0..runs).filter(|run| {
        let mut rng = ChainRng::new(*run, 9);
        let mut values = Array2::zeros((4, draws));
        for (c, mut chain) in values.outer_iter_mut().enumerate() {
            let mut x = rng.normal();
            for value in &mut chain {
                x = correlation * x + (1.0 - correlation * correlation).sqrt() * rng.normal();
                *value = x + if c == 0 { shift } else { 0.0 };
            }
        }
        let figure = chains::rank_ecdf(&[Quantity { name: "x", values: values.view() }]).unwrap();
        let (_, low, high) = band(&figure.panels[0]);
        lines(&figure.panels[0]).iter().all(|line| {
            let ends = low.iter().zip(&high);
            heights(line).iter().zip(ends).all(|(y, (low, high))| low <= y && y <= high)
        })
    });
    inside.count() as f64 / runs as f64
}

#[test]
fn good_chains_stay_inside_and_shifted_ones_do_not() {
    for correlation in [0.0, 0.5, 0.9] {
        let share = share_inside(correlation, 0.0, 1000, 200);
        println!("correlation {correlation}: {share} inside");
        assert!(share > 0.9, "{correlation}: {share}");
        let share = share_inside(correlation, 1.0, 1000, 50);
        println!("correlation {correlation}, shifted: {share} inside");
        assert!(share < 0.3, "{correlation}, shifted: {share}");
    }
}

/// The signs of the difference at a fifth and four fifths of all draws, for a chain whose normal draws are
/// moved and stretched beside three chains that are not.
fn signs_of(shift: f64, scale: f64) -> [f64; 2] {
    let mut rng = ChainRng::new(5, 0);
    let mut values = Array2::from_shape_simple_fn((4, 2000), || rng.normal());
    values.row_mut(0).mapv_inplace(|x| shift + scale * x);
    let figure = chains::rank_ecdf(&[Quantity { name: "x", values: values.view() }]).unwrap();
    let line = &lines(&figure.panels[0])[0];
    [0.2, 0.8].map(|share| {
        let at = line.iter().min_by(|a, b| (a[0] - share).abs().total_cmp(&(b[0] - share).abs()));
        at.unwrap()[1].signum()
    })
}

#[test]
fn the_caption_says_what_lines_mean() {
    // 'above 0 throughout: too low'; 'above 0 on the left and below on the right: too widely'.
    assert_eq!(signs_of(-0.5, 1.0), [1.0, 1.0]);
    assert_eq!(signs_of(0.5, 1.0), [-1.0, -1.0]);
    assert_eq!(signs_of(0.0, 2.0), [1.0, -1.0]);
    assert_eq!(signs_of(0.0, 0.5), [-1.0, 1.0]);
    let (_, values) = golden();
    let figure = chains::rank_ecdf(&[Quantity { name: "w", values: values.view() }]).unwrap();
    said!(figure.caption);
}

#[test]
fn densities() {
    let (golden, values) = golden();
    let figure = chains::density(&[Quantity { name: "w", values: values.view() }]).unwrap();
    check(&figure);
    let line = &lines(&figure.panels[0])[0];
    let some: Vec<[f64; 2]> = line.iter().copied().step_by(25).collect();
    assert_close(&some.iter().map(|p| p[0]).collect::<Vec<_>>(), &golden.density.x, 1e-9);
    assert_close(&heights(&some), &golden.density.y, 1e-9);
}

#[test]
fn autocorrelations() {
    let (golden, values) = golden();
    let figure =
        chains::autocorrelation(&[Quantity { name: "w", values: values.view() }], 20).unwrap();
    check(&figure);
    for (line, expected) in lines(&figure.panels[0]).iter().zip(&golden.autocorrelation) {
        assert_close(&heights(line), expected, 1e-9);
        assert_eq!(line[20][0], 20.0);
    }
    let (_, low, high) = band(&figure.panels[0]);
    // 1.96 / sqrt(200)
    assert_close(&[low[0], high[1]], &[-0.138_590_382_434_967_78, 0.138_590_382_434_967_78], 1e-12);
}

#[test]
fn effective_sample_sizes() {
    let (golden, values) = golden();
    let figure = chains::ess(&[Quantity { name: "w", values: values.view() }]).unwrap();
    check(&figure);
    let lines = lines(&figure.panels[0]);
    assert_close(&heights(&lines[0]), &golden.ess_bulk, 1e-6);
    assert_close(&heights(&lines[1]), &golden.ess_tail, 1e-6);
    assert_eq!(lines[0].iter().map(|p| p[0]).sum::<f64>(), 1100.0);
    let needed = Place::Horizontal(400.0);
    let is_needed = |mark: &Mark| matches!(mark, Mark::Rule { place, .. } if *place == needed);
    assert!(figure.panels[0].marks.iter().any(is_needed));
}

#[test]
fn running_means() {
    let (golden, values) = golden();
    let figure = chains::running_mean(&[Quantity { name: "w", values: values.view() }]).unwrap();
    check(&figure);
    for (line, expected) in lines(&figure.panels[0]).iter().zip(&golden.running_mean) {
        assert_eq!(line.iter().map(|p| p[0]).collect::<Vec<_>>(), golden.running_at);
        assert_close(&heights(line), expected, 1e-9);
    }
    let (_, low, high) = band(&figure.panels[0]);
    let error = 1.959_963_984_540_054 * golden.mcse;
    assert_close(&[low[0], high[0]], &[golden.mean - error, golden.mean + error], 1e-6);
}

#[test]
fn of_many_chains_the_farthest_are_shown() {
    let mut values = Array2::from_shape_fn((30, 50), |(c, i)| ((7 * c + i * i) % 50) as f64);
    for (k, c) in [3, 5, 8, 11, 17, 20, 26, 29].into_iter().enumerate() {
        values.row_mut(c).mapv_inplace(|v| v + 100.0 * (-1f64).powi(k as i32));
    }
    let figure = chains::trace(&[Quantity { name: "w", values: values.view() }]).unwrap();
    check(&figure);
    assert_eq!(figure.panels[0].title, "w (8 of 30 chains)");
    let names = figure.panels[0].marks.iter().map(|mark| match mark {
        Mark::Line { name, .. } => name.clone().unwrap(),
        mark => panic!("{mark:?}"),
    });
    let expected = [3, 5, 8, 11, 17, 20, 26, 29].map(|c| format!("chain {c}"));
    assert_eq!(names.collect::<Vec<_>>(), expected);
}

#[test]
fn hostile_draws_are_drawn_or_refused_by_name() {
    let mut rng = ChainRng::new(3, 0);
    let name = "<script>alert(\"&\")</script>";
    let normal = Array2::from_shape_simple_fn((3, 40), || rng.normal());
    let mut with_nan = normal.clone();
    with_nan[[1, 20]] = f64::NAN;
    let mut with_infinity = normal.clone();
    with_infinity[[0, 3]] = f64::NEG_INFINITY;
    let mut stuck = normal.clone();
    stuck.row_mut(2).fill(0.7);
    let hostile = [
        normal.clone(),
        with_nan,
        with_infinity,
        stuck,
        Array2::from_elem((3, 40), f64::NAN),
        Array2::from_elem((3, 40), 1e300),
        Array2::from_elem((3, 40), -0.0),
        array![[1.0], [2.0]],
        array![[1.0, 2.0], [2.0, f64::INFINITY]],
        normal.mapv(|x| x * 1e-320),
        normal.slice(s![.., ..;7]).to_owned(),
    ];
    for (k, values) in hostile.iter().enumerate() {
        for make in ALL {
            let figure = make(&[Quantity { name, values: values.view() }])
                .unwrap_or_else(|error| panic!("{k}: {error}"));
            check(&figure);
        }
    }
    let single = normal.slice(s![..1, ..]);
    // Of a single chain there are no ranks, and no word of them.
    let figure = chains::trace(&[Quantity { name, values: single }]).unwrap();
    assert_eq!((figure.panels.len(), &*figure.title), (1, "Traces"));
    said!(figure.caption);
    for (k, make) in ALL.into_iter().enumerate() {
        let figure = make(&[Quantity { name, values: single }]);
        match k {
            1 => refused!(figure, Argument { name: "chains", value: 1 }),
            _ => check(&figure.unwrap()),
        }
        refused!(make(&[]), Argument { name: "quantities", value: "none" });
        for empty in [Array2::zeros((0, 5)), Array2::zeros((5, 0))] {
            let figure = make(&[Quantity { name, values: empty.view() }]);
            refused!(figure, Shape { what: format!("draws of `{name}`") });
        }
    }
    // A density is of the finite draws; what has none is named.
    let density = |values| chains::density(&[Quantity { name: "w", values }]).unwrap();
    let figure = density(hostile[1].view());
    assert!(figure.caption.ends_with(" 1 numbers that are not finite are left out."));
    let without = normal.slice(s![1, ..]).into_iter().copied().enumerate();
    let without: Vec<f64> = without.filter(|(i, _)| *i != 20).map(|(_, x)| x).collect();
    let without = Array2::from_shape_vec((1, 39), without).unwrap();
    assert_eq!(lines(&figure.panels[0])[1], lines(&density(without.view()).panels[0])[0]);
    let mut none = normal.clone();
    none.row_mut(1).fill(f64::NAN);
    let figure = density(none.view());
    assert_eq!(lines(&figure.panels[0]).len(), 2);
    said!(figure.caption);
}

#[test]
fn long_chains_are_small_pictures() {
    let mut rng = ChainRng::new(4, 0);
    let values = Array2::from_shape_simple_fn((4, 100_000), || rng.normal());
    for make in ALL {
        let start = std::time::Instant::now();
        let figure = make(&[Quantity { name: "w", values: values.view() }]).unwrap();
        let made = start.elapsed();
        let sizes: Vec<usize> = figure
            .panels
            .iter()
            .map(|panel| Figure::new("x", "", "").panel(panel.clone()).svg_elements()[0].len())
            .collect();
        println!(
            "{}: {:.0} ms to make, {:.0} ms with drawing, bytes {sizes:?}",
            figure.name,
            1e3 * made.as_secs_f64(),
            1e3 * start.elapsed().as_secs_f64()
        );
        assert!(sizes.iter().all(|size| *size < 40_000), "{}: {sizes:?}", figure.name);
    }
}
