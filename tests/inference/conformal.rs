//! Conformal intervals and sets: exact coverage of wrong predictors, jackknife+ beside exact refits, add-one-in beside exact
//! posteriors.

use bnn_mcmc::predict::{
    AddOneIn, Conformal, ConformalScore, JackknifePlus, PredictionSets, SplitConformal,
    jackknife_plus,
};
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, Array3, Axis, array};
use shared::{refused, said};

use super::fixtures::{linear, normals, sigmoid};

/// A parabola with skewed noise that grows with |x|.
fn skewed(rng: &mut ChainRng, rows: usize) -> Dataset {
    let x = Array2::from_shape_simple_fn((rows, 1), || rng.normal());
    let y = x.mapv(|x| x * x + (0.2 + x.abs()) * rng.normal().powi(2));
    Dataset::regression(x, y).unwrap()
}

/// Draws that have nothing to do with the data.
fn nonsense(parameters: usize) -> Array3<f64> {
    let values = normals(3, (20, parameters));
    values.into_shape_with_order((2, 10, parameters)).unwrap()
}

/// A linear posterior of the first rows alone, which take part in the trace of all predictions, with such draws.
fn nonsense_of<L: Likelihood>(
    likelihood: L,
    data: &Dataset,
    outputs: usize,
) -> (Posterior<Linear, L>, Draws) {
    let few = data.select(&(0..20).collect::<Vec<_>>()).unwrap();
    linear(likelihood, &few, outputs, 0.5 * nonsense((data.n_features() + 1) * outputs))
}

/// The rank k = ceil((n + 1) c) in whole numbers, for a level in per cent.
fn rank(n: usize, percent: usize) -> usize {
    (percent * (n + 1)).div_ceil(100)
}

/// The mean coverage of `new` rows beside `n` calibration rows, over many pairs of them, and its standard error.
fn coverage(
    n: usize,
    repetitions: usize,
    one: impl Fn(&[usize], &[usize], u64) -> f64,
) -> (f64, f64) {
    let width = n + 30;
    let each: Array1<f64> = (0..repetitions)
        .map(|r| {
            let all: Vec<usize> = (r * width..(r + 1) * width).collect();
            one(&all[..n], &all[n..], r as u64)
        })
        .collect();
    (each.mean().unwrap(), each.std(1.0) / (repetitions as f64).sqrt())
}

/// Without equal scores the coverage is k / (n + 1), whatever the predictor, and on whichever side of it the responses lie.
#[test]
fn a_wrong_predictor_is_covered_at_the_exact_level() {
    const REPETITIONS: usize = 500;
    for (n, percent, sign) in [(10, 80, 1.0), (19, 90, -1.0), (33, 50, 1.0)] {
        let data = skewed(&mut ChainRng::new(1, 0), REPETITIONS * (n + 30));
        let y = sign * data.real().unwrap();
        let data = Dataset::regression(data.x().clone(), y).unwrap();
        let (posterior, draws) = nonsense_of(Gaussian::fixed(0.1).unwrap(), &data, 1);
        for score in
            [ConformalScore::Absolute, ConformalScore::Normalised, ConformalScore::Quantiles]
        {
            let (covered, error) = coverage(n, REPETITIONS, |calibration, new, r| {
                let calibration = data.select(calibration).unwrap();
                let new = data.select(new).unwrap();
                let seen = posterior.predict_seeded(&draws, &calibration, 1000 + r).unwrap();
                let split = SplitConformal::new(&seen, score, percent as f64 / 100.0).unwrap();
                let interval = split.interval(&posterior.predict(&draws, &new).unwrap()).unwrap();
                assert_eq!((split.rows(), split.score()), (n, score));
                interval.coverage(new.real().unwrap().view()).unwrap()
            });
            let exact = rank(n, percent) as f64 / (n + 1) as f64;
            println!("{n} rows, {percent} %, {score:?}: {covered:.4}, exactly {exact:.4}");
            assert!((covered - exact).abs() < 4.0 * error && error < 0.01, "{covered} {exact}");
        }
    }
}

#[test]
fn wrong_probabilities_are_covered_at_the_exact_level() {
    const REPETITIONS: usize = 500;
    let (n, percent) = (10, 80);
    let rows = REPETITIONS * (n + 30);
    let (x, z) = (normals(1, (rows, 2)), normals(2, (rows, 2)));
    let of_three = |i: usize| match (x[(i, 0)] > 0.5 * z[(i, 0)], x[(i, 1)] + z[(i, 1)] > 0.3) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    };
    let three = (0..rows).map(of_three).collect();
    let three = Dataset::classification(x.clone(), three, ["a", "b", "c"]).unwrap();
    let two = (0..rows).map(|i| of_three(i).min(1)).collect();
    let two = Dataset::classification(x, two, ["a", "b"]).unwrap();
    let check = |covers: &dyn Fn(&Dataset, &Dataset) -> PredictionSets, data: &Dataset| {
        let (covered, error) = coverage(n, REPETITIONS, |calibration, new, _| {
            let new = data.select(new).unwrap();
            let sets = covers(&data.select(calibration).unwrap(), &new);
            assert_eq!(sets.sizes().len(), 30);
            sets.coverage(new.response().classes().unwrap()).unwrap()
        });
        let exact = rank(n, percent) as f64 / (n + 1) as f64;
        println!("{covered:.4}, exactly {exact:.4}");
        assert!((covered - exact).abs() < 4.0 * error, "{covered} {exact}");
    };
    let level = percent as f64 / 100.0;
    let (of_three, draws) = nonsense_of(Categorical, &three, 3);
    check(
        &|calibration, new| {
            let seen = of_three.predict(&draws, calibration).unwrap();
            let split = SplitConformal::new(&seen, ConformalScore::Probability, level).unwrap();
            split.sets(&of_three.predict(&draws, new).unwrap()).unwrap()
        },
        &three,
    );
    let (of_two, draws) = nonsense_of(Bernoulli, &two, 1);
    check(
        &|calibration, new| {
            let seen = of_two.predict(&draws, calibration).unwrap();
            let split = SplitConformal::new(&seen, ConformalScore::Probability, level).unwrap();
            split.sets(&of_two.predict(&draws, new).unwrap()).unwrap()
        },
        &two,
    );
}

/// Counts have equal scores, so that coverage is at least k / (n + 1); ends are counts.
#[test]
fn counts_are_covered_by_counts() {
    const REPETITIONS: usize = 300;
    let (n, percent) = (19, 90);
    let mut rng = ChainRng::new(4, 0);
    let x = Array2::from_shape_simple_fn((REPETITIONS * (n + 30), 1), || rng.normal());
    let y = x.mapv(|x| (1.0 + x * x + rng.normal().powi(2)).floor());
    let data = Dataset::counts(x, y).unwrap();
    let (posterior, draws) = nonsense_of(Poisson, &data, 1);
    for score in [ConformalScore::Absolute, ConformalScore::Normalised, ConformalScore::Quantiles] {
        let (covered, error) = coverage(n, REPETITIONS, |calibration, new, r| {
            let calibration = data.select(calibration).unwrap();
            let new = data.select(new).unwrap();
            let seen = posterior.predict_seeded(&draws, &calibration, 1000 + r).unwrap();
            let split = SplitConformal::new(&seen, score, percent as f64 / 100.0).unwrap();
            let interval = split.interval(&posterior.predict(&draws, &new).unwrap()).unwrap();
            let ends = interval.lower.iter().chain(&interval.upper);
            assert!(ends.into_iter().all(|end| end.fract() == 0.0 && *end >= 0.0));
            assert!(interval.lower.iter().zip(&interval.upper).all(|(low, up)| low <= up));
            interval.coverage(new.response().counts().unwrap().view()).unwrap()
        });
        println!("{score:?}: {covered:.4}");
        assert!(covered > 0.9 - 4.0 * error, "{covered}");
    }
}

/// Numbers of this mean and standard deviation, exactly: in pairs on either side of it.
fn exact_normals(mean: f64, sd: f64, n: usize) -> Vec<f64> {
    let z = normals(13, (n / 2, 1));
    let scale = sd / z.mapv(|z| z * z).mean().unwrap().sqrt();
    z.iter().flat_map(|z| [mean + scale * z, mean - scale * z]).collect()
}

/// A slope with the prior N(0, 1) and noise of sd 0.5: the posterior's mean and variance from the sums of x^2 and x y.
fn slope(xx: f64, xy: f64) -> (f64, f64) {
    let variance = 1.0 / (1.0 + xx / 0.25);
    (variance * xy / 0.25, variance)
}

/// Rows of a slope, its posterior in the library, and draws of it.
fn of_slope(rows: usize, draws: usize) -> (Dataset, Posterior<Linear, Gaussian>, Draws) {
    let x = normals(11, (rows, 1));
    let y = 1.5 * &x + 0.5 * normals(12, (rows, 1)).mapv(|z| z + 0.3 * z * z);
    let data = Dataset::regression(x, y).unwrap();
    let model = Linear::new(1, 1).unwrap().without_bias();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(model, Gaussian::fixed(0.5).unwrap(), &data, priors).unwrap();
    let (x, y) = (data.x().column(0), data.real().unwrap());
    let (mean, variance) = slope(x.dot(&x), x.dot(&y.column(0)));
    let values = exact_normals(mean, variance.sqrt(), draws);
    let values = Array3::from_shape_vec((2, draws / 2, 1), values).unwrap();
    let draws = Draws::new(posterior.layout().clone(), values).unwrap();
    (data, posterior, draws)
}

#[test]
fn jackknife_plus_is_that_of_exact_refits() {
    let (data, posterior, draws) = of_slope(25, 40_000);
    let (x, y) = (data.x().column(0), data.real().unwrap().column(0));
    let new = array![[-1.0], [0.0], [0.4], [3.0]];
    let (xx, xy) = (x.dot(&x), x.dot(&y));
    let refit = |i: usize| slope(xx - x[i] * x[i], xy - x[i] * y[i]).0;
    let left_out = Array2::from_shape_fn((25, 4), |(i, j)| refit(i) * new[(j, 0)]);
    let residuals: Vec<f64> = (0..25).map(|i| (y[i] - refit(i) * x[i]).abs()).collect();
    for level in [0.5, 0.8, 0.9] {
        let exact = jackknife_plus(left_out.view(), &residuals, level).unwrap();
        let seen = posterior.predict(&draws, &data).unwrap();
        let jackknife = JackknifePlus::new(&seen, level).unwrap();
        assert!(jackknife.loo().unreliable().is_empty());
        let found =
            jackknife.interval(&posterior.predict_new(&draws, new.view()).unwrap()).unwrap();
        let off = (&found.lower - &exact.lower).abs() + (&found.upper - &exact.upper).abs();
        println!(
            "{level}: {:?} {:?}, off by {off:?}",
            exact.lower.column(0),
            exact.upper.column(0)
        );
        assert!(off.iter().all(|off| *off < 0.005), "{off:?}");
        // With nothing left out, the residuals are too small by more than that.
        let (mean, _) = slope(xx, xy);
        let seen: Vec<f64> = (0..25).map(|i| (y[i] - mean * x[i]).abs()).collect();
        let same = Array2::from_shape_fn((25, 4), |(_, j)| mean * new[(j, 0)]);
        let naive = jackknife_plus(same.view(), &seen, level).unwrap();
        let off = (&found.upper - &naive.upper).abs();
        assert!(off.iter().any(|off| *off > 0.01), "{off:?}");
    }
}

/// Two classes of one logit q x, by sums over a grid of q.
#[test]
fn jackknife_plus_sets_are_those_of_exact_refits() {
    let n = 30;
    let (x, z) = (normals(21, (n, 1)), normals(22, (n, 1)));
    let classes: Vec<usize> = (0..n).map(|i| usize::from(x[(i, 0)] + z[(i, 0)] > 0.0)).collect();
    let data = Dataset::classification(x.clone(), classes.clone(), ["no", "yes"]).unwrap();
    let model = Linear::new(1, 1).unwrap().without_bias();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(model, Bernoulli, &data, priors).unwrap();
    let grid: Vec<f64> = (0..4_001).map(|g| -4.0 + g as f64 / 500.0).collect();
    let p = |q: f64, x: f64, class: usize| sigmoid(if class == 1 { q * x } else { -q * x });
    // The density of q on the grid, without one row or none.
    let density = |left_out: Option<usize>| -> Vec<f64> {
        let log = |q: f64| {
            let rows = (0..n).filter(|i| Some(*i) != left_out);
            -0.5 * q * q + rows.map(|i| p(q, x[(i, 0)], classes[i]).ln()).sum::<f64>()
        };
        let values: Vec<f64> = grid.iter().map(|q| log(*q).exp()).collect();
        let sum: f64 = values.iter().sum();
        values.iter().map(|value| value / sum).collect()
    };
    let mean = |density: &[f64], x: f64, class: usize| -> f64 {
        density.iter().zip(&grid).map(|(d, q)| d * p(*q, x, class)).sum()
    };
    let new = Array2::from_shape_fn((41, 1), |(j, _)| -2.0 + j as f64 / 10.0);
    let left_out: Vec<Vec<f64>> = (0..n).map(|i| density(Some(i))).collect();
    let scores: Vec<f64> =
        (0..n).map(|i| 1.0 - mean(&left_out[i], x[(i, 0)], classes[i])).collect();

    let all = density(None);
    let mut rng = ChainRng::new(23, 0);
    let draws = Array3::from_shape_simple_fn((2, 10_000, 1), || {
        let mut u = rng.uniform();
        let at = all.iter().position(|d| {
            u -= d;
            u <= 0.0
        });
        grid[at.unwrap_or(grid.len() - 1)]
    });
    let draws = Draws::new(posterior.layout().clone(), draws).unwrap();
    let seen = posterior.predict(&draws, &data).unwrap();
    let predicted = posterior.predict_new(&draws, new.view()).unwrap();
    for (percent, level) in [(70, 0.7), (90, 0.9)] {
        let sets = JackknifePlus::new(&seen, level).unwrap().sets(&predicted).unwrap();
        let mut decided = 0;
        for j in 0..41 {
            for class in 0..2 {
                let margin = |i: usize| 1.0 - mean(&left_out[i], new[(j, 0)], class) - scores[i];
                let margins: Vec<f64> = (0..n).map(margin).collect();
                let count = |limit: f64| margins.iter().filter(|m| **m > limit).count();
                // Where Monte Carlo errors of the margins do not matter.
                let [least, most] = [0.01, -0.01].map(|limit| count(limit) < rank(n, percent));
                if least == most {
                    decided += 1;
                    assert_eq!(sets.contains[(j, class)], least, "{level} {j} {class}");
                }
            }
        }
        println!("{level}: {decided} of 82 decided, {:.2} classes", sets.mean_size());
        assert!(decided > 60 && sets.mean_size() > 0.95 && sets.mean_size() < 1.95);
    }
}

#[test]
fn add_one_in_is_full_conformal_prediction_of_the_exact_posterior() {
    let n = 25;
    let (data, posterior, draws) = of_slope(n, 8_000);
    let (x, y) = (data.x().column(0), data.real().unwrap().column(0));
    let (xx, xy) = (x.dot(&x), x.dot(&y));
    let conformal = AddOneIn::new(&posterior.predict(&draws, &data).unwrap()).unwrap();
    assert_eq!(conformal.rows(), n);
    let (mut off, mut kept) = (0, 0);
    for at in [-1.5, 0.3, 2.0] {
        let candidates: Vec<f64> = (0..61).map(|g| 1.5 * at - 3.0 + g as f64 / 10.0).collect();
        let rows =
            Dataset::regression(Array2::from_elem((61, 1), at), array_of(&candidates)).unwrap();
        let predicted = posterior.predict(&draws, &rows).unwrap();
        let found = conformal.p_values(&predicted).unwrap();
        let inside = conformal.contains(&predicted, 0.8).unwrap();
        let effective = conformal.effective_draws(&predicted).unwrap();
        for (((c, found), inside), effective) in
            candidates.iter().zip(&found).zip(&inside).zip(effective)
        {
            // The posterior with (at, c), and the predictive densities under it.
            let (mean, variance) = slope(xx + at * at, xy + at * c);
            let log_density = |x: f64, y: f64| {
                let variance = 0.25 + x * x * variance;
                -0.5 * ((y - mean * x).powi(2) / variance + variance.ln())
            };
            let own = log_density(at, *c);
            let worse = (0..n).filter(|i| log_density(x[*i], y[*i]) <= own).count();
            let exact = (worse + 1) as f64 / (n + 1) as f64;
            off += usize::from((found - exact).abs() > 1e-9);
            assert!((found - exact).abs() < 1.5 / (n + 1) as f64, "{at} {c}: {found} {exact}");
            // 26 pi > 26 * 0.2 = 5.2.
            assert_eq!(*inside, (found * 26.0).round() as usize >= 6);
            kept += usize::from(*inside);
            assert!(effective <= 8_000.0 + 1e-6 && effective > 50.0, "{effective}");
        }
    }
    println!("{off} of 183 p-values differ, {kept} are in the region of 0.8");
    assert!(off <= 12 && kept > 20, "{off} {kept}");
}

fn array_of(values: &[f64]) -> Array2<f64> {
    Array1::from(values.to_vec()).insert_axis(Axis(1))
}

#[test]
fn too_few_rows_are_said_and_leave_regions_infinite() {
    let data = skewed(&mut ChainRng::new(1, 0), 30);
    let (posterior, draws) = linear(Gaussian::fixed(0.1).unwrap(), &data, 1, nonsense(2));
    let of = |rows: usize, level: f64| {
        let rows = data.select(&(0..rows).collect::<Vec<_>>()).unwrap();
        let seen = posterior.predict(&draws, &rows).unwrap();
        SplitConformal::new(&seen, ConformalScore::Quantiles, level).unwrap()
    };
    let (eight, nine) = (of(8, 0.9), of(9, 0.9));
    assert!(eight.quantile() == f64::INFINITY && nine.quantile().is_finite());
    let new = posterior.predict(&draws, &data).unwrap();
    let interval = eight.interval(&new).unwrap();
    assert!(interval.lower.iter().all(|end| *end == f64::NEG_INFINITY));
    assert!(interval.upper.iter().all(|end| *end == f64::INFINITY));
    said!(eight);
    said!(Conformal::Split(nine));
    said!(of(18, 0.95));
}

#[test]
fn jackknife_plus_says_for_whom_it_is() {
    let (data, posterior, draws) = of_slope(25, 400);
    let jackknife = JackknifePlus::new(&posterior.predict(&draws, &data).unwrap(), 0.9).unwrap();
    said!(Conformal::JackknifePlus(jackknife));
}

#[test]
fn what_conformal_prediction_cannot_be_of_is_refused_by_name() {
    let (data, posterior, draws) = of_slope(25, 400);
    let seen = posterior.predict(&draws, &data).unwrap();
    let new = posterior.predict_new(&draws, array![[1.0]].view()).unwrap();
    let score = ConformalScore::Absolute;
    for level in [0.0, 1.0, f64::NAN] {
        refused!(
            SplitConformal::new(&seen, score, level),
            Argument { name: "level", value: level }
        );
        assert!(JackknifePlus::new(&seen, level).is_err());
    }
    let name = "response of the predicted rows";
    refused!(SplitConformal::new(&new, score, 0.9), Argument { name: name });
    refused!(JackknifePlus::new(&new, 0.9), Argument { name: name });
    refused!(AddOneIn::new(&new), Argument { name: name });
    refused!(
        SplitConformal::new(&seen, ConformalScore::Probability, 0.9),
        Argument { name: "response of the predictions", value: "real numbers" }
    );
    let split = SplitConformal::new(&seen, score, 0.9).unwrap();
    refused!(split.sets(&new), Argument { name: "response of the predictions" });

    // Other draws than the training rows'.
    let few = draws.thinned(2).unwrap();
    let few = posterior.predict(&few, &data).unwrap();
    let jackknife = JackknifePlus::new(&seen, 0.9).unwrap();
    refused!(jackknife.interval(&few), Shape { found: 200, expected: 400 });
    let conformal = AddOneIn::new(&seen).unwrap();
    refused!(conformal.p_values(&few), Shape { found: 200, expected: 400 });

    // Rows with weights, several responses, draws of a mixture.
    let weighted = data.clone().with_weights(vec![2.0; 25]).unwrap();
    let weighted = posterior.predict(&draws, &weighted).unwrap();
    refused!(SplitConformal::new(&weighted, score, 0.9), Argument { name: "weights of rows" });
    let two = Dataset::regression(normals(1, (12, 1)), normals(2, (12, 2))).unwrap();
    let (of_two, draws_of_two) = linear(Gaussian::fixed(1.0).unwrap(), &two, 2, nonsense(4));
    let two = of_two.predict(&draws_of_two, &two).unwrap();
    refused!(SplitConformal::new(&two, score, 0.9), Argument { value: "several real numbers" });
    let mixture = draws.mixture(&[0.3, 0.7]).unwrap();
    let mixture = posterior.predict(&mixture, &data).unwrap();
    refused!(JackknifePlus::new(&mixture, 0.9), Argument { name: "draws" });
    refused!(AddOneIn::new(&mixture), Argument { name: "draws" });
    assert!(SplitConformal::new(&mixture, score, 0.9).is_ok());

    // A row that no weights leave out: at this level of 25 rows at most one may be unknown.
    let mut y = data.real().unwrap().clone();
    (y[(0, 0)], y[(1, 0)]) = (1e3, -1e3);
    let wild = Dataset::regression(data.x().clone(), y).unwrap();
    let (posterior, draws) = linear(Gaussian::fixed(0.5).unwrap(), &wild, 1, nonsense_near());
    let wild = posterior.predict(&draws, &wild).unwrap();
    let jackknife = JackknifePlus::new(&wild, 0.5).unwrap();
    let unknown = jackknife.loo().unreliable().len();
    assert!(unknown >= 2 && jackknife.to_string().contains("count as unknown"), "{jackknife}");
    let refused = JackknifePlus::new(&wild, 0.92).unwrap_err().to_string();
    assert!(refused.contains("rows that cannot be left out by weights"), "{refused}");
}

/// Draws around a slope of 1.5, of which a far response weighs one alone.
fn nonsense_near() -> Array3<f64> {
    let values = normals(5, (400, 2));
    let near = Array2::from_shape_fn((400, 2), |(s, k)| [1.5, 0.0][k] + 0.1 * values[(s, k)]);
    near.into_shape_with_order((2, 200, 2)).unwrap()
}
