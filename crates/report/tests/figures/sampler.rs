//! Figures of samplers, against numpy, scipy and arviz (`tests/golden/sampler.py`).

use bnn_mcmc::draws::LadderReport;
use bnn_mcmc::optimise::{Evaluation, Optimum};
use bnn_mcmc::targets::LogDensity;
use bnn_mcmc_report::figure::{Figure, Mark, Panel, Place};
use bnn_mcmc_report::figures::{Quantity, sampler};
use ndarray::{Array2, array};
use serde::Deserialize;
use shared::{refused, said};

use crate::common::check;

#[derive(Deserialize)]
struct Golden {
    energy: Vec<Vec<f64>>,
    ebfmi: Vec<f64>,
    levels: Curve,
    changes: Curve,
    divergent: Vec<Vec<f64>>,
    cumulated: Vec<Vec<f64>>,
    depth: Vec<Vec<f64>>,
    depth_shares: Vec<Vec<f64>>,
    steps: Vec<Vec<f64>>,
    steps_shares: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Curve {
    x: Vec<f64>,
    y: Vec<f64>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../golden/sampler.json")).unwrap()
}

fn array(rows: &[Vec<f64>]) -> Array2<f64> {
    Array2::from_shape_vec((rows.len(), rows[0].len()), rows.concat()).unwrap()
}

fn lines(panel: &Panel) -> Vec<Vec<[f64; 2]>> {
    let lines = panel.marks.iter().filter_map(|mark| match mark {
        Mark::Line { points, .. } => Some(points.clone()),
        _ => None,
    });
    lines.collect()
}

fn points(panel: &Panel) -> Vec<[f64; 2]> {
    let points = panel.marks.iter().filter_map(|mark| match mark {
        Mark::Points { points, .. } => Some(points.clone()),
        _ => None,
    });
    points.flatten().collect()
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (k, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{k}: {a} is not {b}");
    }
}

fn column(points: &[[f64; 2]], k: usize) -> Vec<f64> {
    points.iter().map(|p| p[k]).collect()
}

#[test]
fn energies() {
    let golden = golden();
    let figure = sampler::energy(array(&golden.energy).view()).unwrap();
    check(&figure);
    let both = lines(&figure.panels[0]);
    for (line, expected) in both.iter().zip([&golden.levels, &golden.changes]) {
        let some: Vec<_> = line.iter().copied().step_by(25).collect();
        assert_close(&column(&some, 0), &expected.x);
        assert_close(&column(&some, 1), &expected.y);
    }
    assert_eq!(both.len(), 2);
    assert_close(&column(&points(&figure.panels[1]), 1), &golden.ebfmi);
    let limit = Place::Horizontal(0.3);
    let is_limit = |mark: &Mark| matches!(mark, Mark::Rule { place, .. } if *place == limit);
    assert!(figure.panels[1].marks.iter().any(is_limit));
}

#[test]
fn energies_of_a_run_are_those_of_its_own_diagnostic() {
    use bnn_mcmc::prelude::*;
    let x = Array2::from_shape_fn((20, 2), |(i, j)| ((7 * i + 3 * j) % 11) as f64 / 5.0 - 1.0);
    let y = x.column(0).mapv(|x| 0.5 * x + 0.1);
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let likelihood = Gaussian::fixed(0.3).unwrap();
    let posterior = Posterior::new(Linear::new(2, 1).unwrap(), likelihood, &data, priors).unwrap();
    let sampler = Sampler::new(&posterior, Nuts::default()).warmup(200).draws(300).seed(1);
    let draws = sampler.run().unwrap();
    let figure = sampler::energy(draws.stat("energy").unwrap()).unwrap();
    check(&figure);
    assert_eq!(column(&points(&figure.panels[1]), 1), draws.ebfmi().unwrap());
    let names = ["tree_depth", "leapfrog_steps"];
    let statistics = names.map(|name| Quantity { name, values: draws.stat(name).unwrap() });
    let figure = sampler::counts(&statistics).unwrap();
    check(&figure);
    for panel in &figure.panels {
        for line in lines(panel) {
            assert!((column(&line, 1).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
    check(&sampler::divergences(draws.stat("divergent").unwrap()).unwrap());
}

#[test]
fn divergences_along_the_run() {
    let golden = golden();
    let figure = sampler::divergences(array(&golden.divergent).view()).unwrap();
    check(&figure);
    for (line, cumulated) in lines(&figure.panels[0]).iter().zip(&golden.cumulated) {
        assert_eq!((line.len(), line[0], line[334]), (335, [0.0, 0.0], [1000.0, cumulated[999]]));
        for [draw, sum] in &line[1..] {
            assert_eq!(*sum, cumulated[*draw as usize - 1]);
        }
    }
    let total: f64 = golden.cumulated.iter().map(|c| c[999]).sum();
    assert!(figure.caption.contains(&format!("by chain; {total} up to the last draw")));
    said!(figure.caption);
    // Thinned draws count the same transitions.
    let every = array(&golden.divergent);
    let every = Array2::from_shape_fn((3, 100), |(c, i)| {
        every.slice(ndarray::s![c, 10 * i..10 * (i + 1)]).sum()
    });
    let thinned = sampler::divergences(every.view()).unwrap();
    check(&thinned);
    assert_eq!(thinned.caption, figure.caption);
    for (line, cumulated) in lines(&thinned.panels[0]).iter().zip(&golden.cumulated) {
        assert_eq!(line[100], [100.0, cumulated[999]]);
    }
}

#[test]
fn depths_and_steps() {
    let golden = golden();
    let (depth, steps) = (array(&golden.depth), array(&golden.steps));
    let figure = sampler::counts(&[
        Quantity { name: "tree_depth", values: depth.view() },
        Quantity { name: "leapfrog_steps", values: steps.view() },
    ])
    .unwrap();
    check(&figure);
    for (line, shares) in lines(&figure.panels[0]).iter().zip(&golden.depth_shares) {
        assert_eq!(column(line, 0), [2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_close(&column(line, 1), shares);
    }
    for (line, counts) in lines(&figure.panels[1]).iter().zip(&golden.steps_shares) {
        assert_eq!(column(line, 0), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
        let shares: Vec<f64> = counts.iter().map(|n| n / 150.0).collect();
        assert_close(&column(line, 1), &shares);
    }
}

fn report(swap: f64) -> LadderReport {
    LadderReport {
        betas: vec![0.0, 0.1, 1.0],
        swap_accept: vec![0.6, swap],
        swap_rate: 0.5,
        accept_prob: vec![f64::NAN, 0.7, 0.9],
        divergences: vec![0, 1, 2],
        restarts: 5,
        round_trips: 4,
    }
}

#[test]
fn ladders() {
    let figure = sampler::ladder(&[report(0.3), report(0.5)]).unwrap();
    check(&figure);
    let [powers, exchanges, moves] = &figure.panels[..] else { panic!("three panels") };
    assert_eq!(lines(powers)[0], [[0.0, 0.0], [1.0, 0.1], [2.0, 1.0]]);
    assert_eq!(lines(exchanges)[1], [[0.5, 0.6], [1.5, 0.5]]);
    assert_eq!(lines(moves)[0][1..], [[1.0, 0.7], [2.0, 0.9]]);
    // (1 - 0.6) + (1 - 0.3) and 2 * 1.1 + 1, rounded up.
    said!(figure.caption);
    // Of many chains those with the rarest exchanges.
    let many: Vec<_> = (0..12).map(|k| report(0.9 - 0.05 * f64::from(k))).collect();
    let figure = sampler::ladder(&many).unwrap();
    check(&figure);
    assert_eq!(lines(&figure.panels[1])[7][1], [1.5, many[11].swap_accept[1]]);
    assert_eq!(figure.panels[0].title, "temperatures (8 of 12 chains)");
    refused!(sampler::ladder(&[]), Argument { name: "reports", value: "none" });
    let nothing = LadderReport {
        betas: vec![f64::NAN; 2],
        swap_accept: Vec::new(),
        accept_prob: vec![f64::NAN; 2],
        ..report(f64::NAN)
    };
    check(&sampler::ladder(std::slice::from_ref(&nothing)).unwrap());
    check(&sampler::ladder(&[LadderReport { betas: Vec::new(), ..nothing }]).unwrap());
}

fn fit(scores: &[f64], step: usize) -> Optimum {
    let log_density = LogDensity { likelihood: -3.0, prior: -1.0, beta: 1.0 };
    let evaluation = |(k, score): (usize, &f64)| Evaluation {
        step: 50 * k,
        score: *score,
        estimate: -100.0 + k as f64,
    };
    Optimum {
        q: vec![0.0],
        log_density,
        log_density_at_start: log_density,
        step,
        steps: 50 * scores.len(),
        taken_back: 0,
        history: scores.iter().enumerate().map(evaluation).collect(),
    }
}

#[test]
fn losses() {
    let fits = [fit(&[-9.0, -4.0, -5.0], 50), fit(&[], 7), fit(&[-8.0, f64::NAN], 0)];
    let figure = sampler::loss(&fits).unwrap();
    check(&figure);
    let [training, held_out] = &figure.panels[..] else { panic!("two panels") };
    assert_eq!(lines(training)[0], [[0.0, 100.0], [50.0, 99.0], [100.0, 98.0]]);
    assert_eq!(lines(held_out)[0], [[0.0, 9.0], [50.0, 4.0], [100.0, 5.0]]);
    assert_eq!(points(held_out), [[50.0, 4.0], [0.0, 8.0]]);
    assert_eq!(points(training), [[50.0, 99.0], [0.0, 100.0]]);
    said!(figure.caption);
    for none in [&[][..], &fits[1..2]] {
        refused!(sampler::loss(none), Argument { name: "fits" });
    }
}

#[test]
fn emulators() {
    let figure = sampler::emulator(&[-3.0, -2.0, f64::NAN], &[-3.1, -1.8, 0.0]).unwrap();
    check(&figure);
    assert_eq!(points(&figure.panels[0])[..2], [[-3.0, -3.1], [-2.0, -1.8]]);
    said!(figure.caption);
    for (truth, emulated) in [(&[1.0][..], &[][..]), (&[], &[])] {
        assert!(sampler::emulator(truth, emulated).is_err());
    }
}

type Make = fn(&Array2<f64>) -> Result<Figure, bnn_mcmc::Error>;

#[test]
fn hostile_statistics_are_drawn_or_refused() {
    let nan = Array2::from_elem((3, 20), f64::NAN);
    let mut one = golden().energy;
    one[1][4] = f64::NAN;
    let figure = sampler::energy(array(&one).view()).unwrap();
    check(&figure);
    said!(figure.caption);
    let constant = Array2::from_elem((2, 10), 5.0);
    let make: [Make; 3] = [
        |values| sampler::energy(values.view()),
        |values| sampler::divergences(values.view()),
        |values| sampler::counts(&[Quantity { name: "<depth> & \"", values: values.view() }]),
    ];
    for (k, make) in make.iter().enumerate() {
        for empty in [Array2::zeros((0, 5)), Array2::zeros((5, 0))] {
            assert!(make(&empty).is_err());
        }
        check(&make(&constant).unwrap());
        check(&make(&array![[0.0, 1e15], [1.0, 3.0]]).unwrap());
        match make(&nan) {
            Ok(figure) => check(&figure),
            Err(error) => said!(format!("{k}: {error}")),
        }
    }
    let error = sampler::counts(&[Quantity { name: "depth", values: array![[1.5]].view() }]);
    refused!(error, Argument { name: "depth", value: "1.5" });
    assert!(sampler::counts(&[]).is_err());
    // Forty chains: those with the most.
    let many = Array2::from_shape_fn((40, 30), |(c, i)| f64::from(u8::from(c > 31 && i % 7 == 1)));
    for make in make {
        check(&make(&many).unwrap());
    }
    let figure = sampler::divergences(many.view()).unwrap();
    assert_eq!(figure.panels[0].title, "8 of 40 chains");
    assert!(lines(&figure.panels[0]).iter().all(|line| line[30] == [30.0, 5.0]));
}
