//! Against MAPIE's intervals and sets, which `tests/golden/conformal.py` writes.

use ndarray::{Array1, Array2, array};
use serde::Deserialize;

use super::split::Band;
use super::*;

#[derive(Deserialize)]
struct Golden {
    levels: Vec<f64>,
    rows: usize,
    /// Mean, sd, lower and upper end of each row.
    prediction: Vec<[f64; 4]>,
    y: Vec<f64>,
    split: Split,
    jackknife: Jackknife,
    classes: Classes,
}

/// The ends by level and new row.
#[derive(Deserialize)]
struct Split {
    absolute: Vec<Vec<[f64; 2]>>,
    normalised: Vec<Vec<[f64; 2]>>,
    quantiles: Vec<Vec<[f64; 2]>>,
}

#[derive(Deserialize)]
struct Jackknife {
    rows: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    ends: Vec<Vec<[f64; 2]>>,
}

#[derive(Deserialize)]
struct Classes {
    p: Vec<[f64; 3]>,
    index: Vec<usize>,
    sets: Vec<Vec<[u8; 3]>>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../../../tests/golden/conformal.json")).unwrap()
}

fn close(found: (f64, f64), expected: [f64; 2]) {
    let off = (found.0 - expected[0]).abs().max((found.1 - expected[1]).abs());
    assert!(off < 1e-10, "{found:?} {expected:?}");
}

#[test]
fn split_intervals_are_those_of_mapie() {
    let golden = golden();
    let n = golden.rows;
    let bands = |score: ConformalScore| -> Vec<Band> {
        let band = |[mean, sd, lower, upper]: &[f64; 4]| match score {
            ConformalScore::Quantiles => Band { lower: *lower, upper: *upper, unit: 1.0 },
            ConformalScore::Normalised => Band { lower: *mean, upper: *mean, unit: *sd },
            _ => Band { lower: *mean, upper: *mean, unit: 1.0 },
        };
        golden.prediction.iter().map(band).collect()
    };
    for (score, expected) in [
        (ConformalScore::Absolute, &golden.split.absolute),
        (ConformalScore::Normalised, &golden.split.normalised),
        (ConformalScore::Quantiles, &golden.split.quantiles),
    ] {
        let bands = bands(score);
        let scores: Vec<f64> =
            bands[..n].iter().zip(&golden.y).map(|(band, y)| band.score(*y)).collect();
        for (level, expected) in golden.levels.iter().zip(expected) {
            let q = conformal_quantile(&scores, *level).unwrap();
            assert_eq!(expected.len(), bands.len() - n);
            bands[n..].iter().zip(expected).for_each(|(band, e)| close(band.interval(q), *e));
        }
    }
}

#[test]
fn jackknife_plus_is_that_of_mapie() {
    let Jackknife { rows, x, y, ends } = golden().jackknife;
    // The line by least squares without row i.
    let line = |left_out: usize| {
        let kept = || (0..rows).filter(|i| *i != left_out);
        let n = (rows - 1) as f64;
        let [mx, my] = [&x, &y].map(|v| kept().map(|i| v[i]).sum::<f64>() / n);
        let slope = kept().map(|i| (x[i] - mx) * (y[i] - my)).sum::<f64>()
            / kept().map(|i| (x[i] - mx).powi(2)).sum::<f64>();
        move |at: f64| my + slope * (at - mx)
    };
    let new = x.len() - rows;
    let left_out = Array2::from_shape_fn((rows, new), |(i, j)| line(i)(x[rows + j]));
    let residuals: Vec<f64> = (0..rows).map(|i| (y[i] - line(i)(x[i])).abs()).collect();
    for (level, expected) in golden().levels.iter().zip(ends) {
        let found = jackknife_plus(left_out.view(), &residuals, *level).unwrap();
        assert_eq!(found.level, *level);
        let ends = found.lower.iter().zip(&found.upper);
        ends.zip(expected).for_each(|((lower, upper), e)| close((*lower, *upper), e));
    }
    // 8 rows are too few for a level of 0.9.
    let few = jackknife_plus(Array2::zeros((8, 2)).view(), &[1.0; 8], 0.9).unwrap();
    assert!(few.lower.iter().all(|end| *end == f64::NEG_INFINITY));
    assert!(few.upper.iter().all(|end| *end == f64::INFINITY));
}

#[test]
fn sets_are_those_of_mapie() {
    let Golden { levels, rows, classes: Classes { p, index, sets }, .. } = golden();
    let score = |i: usize, class| split::of_class(Array1::from(p[i].to_vec()).view(), class);
    let scores: Vec<f64> = (0..rows).map(|i| score(i, index[i])).collect();
    for (level, expected) in levels.iter().zip(&sets) {
        let q = conformal_quantile(&scores, *level).unwrap();
        for (j, expected) in expected.iter().enumerate() {
            let set = [0, 1, 2].map(|class| u8::from(score(rows + j, class) <= q));
            assert_eq!(set, *expected);
        }
    }
}

#[test]
fn the_rank_is_the_smallest_whose_share_of_n_plus_1_reaches_the_level() {
    for n in 1..300_usize {
        // Levels in hundredths, for which whole numbers say what is right.
        for hundredths in 1..100 {
            let k = (hundredths * (n + 1)).div_ceil(100);
            assert_eq!(rank(n, hundredths as f64 / 100.0), k, "{n} {hundredths}");
        }
    }
    for hundredths in 1..100 {
        let level = hundredths as f64 / 100.0;
        let n = enough(level);
        assert!(rank(n, level) <= n && (n == 1 || rank(n - 1, level) > n - 1), "{level} {n}");
    }
    assert!(enough(1.0 - f64::EPSILON) > 1 << 50);
}

#[test]
fn ends_keep_ties_and_their_order() {
    // The mean is 0.3 and y 0.1: 0.3 - (0.3 - 0.1) rounds to more than 0.1.
    let band = |lower, upper| Band { lower, upper, unit: 1.0 };
    let equal = band(0.3, 0.3);
    for y in [0.1, 0.7, 1e-9, 1e9] {
        let (lower, upper) = equal.interval(equal.score(y));
        assert!(lower <= y && y <= upper, "{y}");
    }
    // A quantile below 0 that empties the interval leaves its middle.
    let (lower, upper) = band(0.0, 2.0).interval(-1.5);
    assert!(lower == upper && (lower - 1.0).abs() < 1e-12);
    let whole_line = (f64::NEG_INFINITY, f64::INFINITY);
    assert_eq!(Band { lower: 0.0, upper: 0.0, unit: 0.0 }.interval(f64::INFINITY), whole_line);
    // Where all draws are equal, the mean alone fits.
    let flat = Band { lower: 2.0, upper: 2.0, unit: 0.0 };
    assert_eq!((flat.score(2.0), flat.score(2.5)), (0.0, f64::INFINITY));
    assert_eq!(whole(0.3 * 10.0 - 1e-12, 4.999_999_999_999), (3.0, 5.0));
    assert_eq!(whole(-3.2, f64::INFINITY), (0.0, f64::INFINITY));
    // No count lies between the ends.
    assert_eq!(
        (whole(3.2, 3.4), whole(3.6, 3.8), whole(-0.8, -0.2)),
        ((3.0, 3.0), (4.0, 4.0), (0.0, 0.0))
    );
    // Draws that are infinite say nothing of the row.
    assert_eq!(band(f64::INFINITY, f64::INFINITY).interval(1.0), whole_line);
    assert_eq!(band(f64::NAN, f64::NAN).interval(1.0), whole_line);
    assert_eq!(array![percent(0.9), percent(0.955)], array!["90 %", "95.5 %"]);
}
