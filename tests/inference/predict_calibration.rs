//! Calibration by models that are known to be calibrated, or known not to be, and the scores of
//! probabilities.

use approx::assert_relative_eq;
use bnn_mcmc::engine::{Tile, TileMut};
use bnn_mcmc::layout::Layout;
use bnn_mcmc::likelihood::Weights;
use bnn_mcmc::predict::Bins;
use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::{ConjugateRegression, NoiseVariance};
use ndarray::{Array2, Array3, Axis, array, s};
use shared::refused;

use super::fixtures::{binary, known, linear, normals, sigmoid, simulated, ternary};

#[test]
fn a_right_model_is_calibrated_and_wrong_ones_are_not() {
    // 4,000 rows: the standard error of the coverage is 0.0034, and 99.9 % of Kolmogorov distances
    // lie below 1.95 / sqrt(4000) = 0.031.
    let right = simulated(0.3, 0.0);
    let coverage = right.coverage(0.95).unwrap();
    assert!((coverage.share - 0.95).abs() < 0.015, "{coverage:?}");
    assert!((coverage.mean_width - 2.0 * 1.96 * 0.3).abs() < 0.02, "{coverage:?}");
    assert!((right.coverage(0.5).unwrap().share - 0.5).abs() < 0.04);
    let ks = right.pit(1).unwrap().ks_distance();
    assert!(ks < 0.031, "{ks}");
    let best = right.crps().unwrap().mean().unwrap();
    assert!((best - 0.3 / std::f64::consts::PI.sqrt()).abs() < 0.01, "{best}");
    // tau^2 in place of tau; too wide by half; shifted by a third of tau.
    for (noise, shift) in [(0.09, 0.0), (0.45, 0.0), (0.3, 0.1)] {
        let wrong = simulated(noise, shift);
        assert!(wrong.pit(1).unwrap().ks_distance() > 0.08, "{noise}, {shift}");
        assert!(wrong.crps().unwrap().mean().unwrap() > best + 0.002, "{noise}, {shift}");
    }
    let narrow = simulated(0.09, 0.0);
    assert!(narrow.coverage(0.95).unwrap().share < 0.5);
    let histogram = narrow.pit(1).unwrap().histogram(10).unwrap();
    assert!(histogram[0] > 3 * histogram[5] && histogram[9] > 3 * histogram[5], "{histogram:?}");
    assert!(simulated(0.45, 0.0).coverage(0.95).unwrap().share > 0.99);
}

/// Gaussian noise that is drawn with variance tau^4: the tutorial's mistake, sd tau^2.
#[derive(Clone, Copy)]
struct SquaredNoise(Gaussian);

impl Likelihood for SquaredNoise {
    fn layout(&self) -> Layout {
        self.0.layout()
    }
    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        self.0.encode(response, n_outputs)
    }
    fn log_lik_rows(&self, phi: &[f64], out: TileMut, y: Tile, rows: &mut [f64]) {
        self.0.log_lik_rows(phi, out, y, rows)
    }
    fn log_lik_grad(
        &self,
        phi: &[f64],
        out: Tile,
        y: Tile,
        weights: Weights,
        d: TileMut,
        d_phi: &mut [f64],
    ) -> f64 {
        self.0.log_lik_grad(phi, out, y, weights, d, d_phi)
    }
    fn mean(&self, phi: &[f64], out: Tile, mean: TileMut) {
        self.0.mean(phi, out, mean)
    }
    fn draw(&self, phi: &[f64], out: TileMut, y: Tile, rng: &mut ChainRng, drawn: TileMut) {
        self.0.draw(&[2.0 * phi[0]], out, y, rng, drawn)
    }
}

/// Coverage at 95 % of new observations and of the true mean function, over many data sets with
/// parameters from the prior and exact posterior draws, where it must be right on average; the share of
/// new observations in the intervals of the mean function; and the mean widths of both intervals.
fn conjugate_coverage<L: Likelihood + Copy>(likelihood: L) -> ([f64; 3], [f64; 2]) {
    let (prior_sd, rows, new_rows, n, sets) = (1.5, 8, 10, 400, 300);
    let (mut share, mut width) = ([0.0; 3], [0.0; 2]);
    for set in 0..sets {
        let mut rng = ChainRng::new(77, set);
        let x = Array2::from_shape_fn((rows + new_rows, 2), |_| rng.normal());
        let w = [0; 3].map(|_| prior_sd * rng.normal());
        let f = x.dot(&array![w[0], w[1]]) + w[2];
        let tau = 0.4;
        let y = f.mapv(|f| f + tau * rng.normal());
        let (old, new) = (s![..rows], s![rows.., ..]);
        let exact = ConjugateRegression::new(
            x.slice(s![..rows, ..]),
            y.slice(old),
            prior_sd,
            NoiseVariance::Fixed(tau),
        )
        .unwrap();
        let mut values = Array3::zeros((1, n, 4));
        for mut draw in values.index_axis_mut(Axis(0), 0).rows_mut() {
            let mut q = [0.0; 3];
            exact.draw(&mut rng, &mut q);
            draw.assign(&array![q[0], q[1], q[2], (tau * tau).ln()]);
        }
        let y = y.insert_axis(Axis(1));
        let data = Dataset::regression(x.slice(new).to_owned(), y.slice(new).to_owned()).unwrap();
        let (posterior, draws) = linear(likelihood, &data, 1, values);
        let predictions = posterior.predict_seeded(&draws, &data, set).unwrap();
        let coverage = predictions.coverage(0.95).unwrap();
        let [mean, interval] =
            [predictions.mean_interval(0.95), predictions.predictive_interval(0.95)]
                .map(Result::unwrap);
        // The intervals that users ask for are those whose coverage is counted.
        assert_eq!(interval.mean_width(), coverage.mean_width);
        assert_eq!(interval.coverage(y.slice(new)).unwrap(), coverage.share);
        let f = f.insert_axis(Axis(1));
        share[0] += coverage.share / sets as f64;
        share[1] += mean.coverage(f.slice(new)).unwrap() / sets as f64;
        share[2] += mean.coverage(y.slice(new)).unwrap() / sets as f64;
        width[0] += coverage.mean_width / sets as f64;
        width[1] += mean.mean_width() / sets as f64;
    }
    (share, width)
}

#[test]
fn exact_posteriors_cover_what_they_should() {
    // 300 data sets: the standard errors are about 0.006 (y) and 0.011 (f); and 400 draws cover
    // 0.945 of y.
    let (share, width) = conjugate_coverage(Gaussian::sampled());
    assert!((share[0] - 0.945).abs() < 0.02, "{share:?}");
    assert!((share[1] - 0.945).abs() < 0.035, "{share:?}");
    assert!(width[0] > 2.0 * 1.96 * 0.4 && width[1] < width[0], "{width:?}");
    // Where the noise dominates, the interval of the mean misses most observations.
    assert!(share[2] < 0.75, "{share:?}");
    let (share, _) = conjugate_coverage(SquaredNoise(Gaussian::sampled()));
    assert!(share[0] < 0.85, "the mistake of sd tau^2 goes unnoticed: {share:?}");
}

#[test]
fn discrete_responses_have_a_uniform_randomised_pit() {
    let x = normals(41, (3_000, 1));
    let mut rng = ChainRng::new(42, 0);
    let trials = 5;
    let counts = Array2::from_shape_fn((3_000, 2), |(_, j)| [0.0, f64::from(trials)][j]);
    let mut counts = counts;
    for (mut row, x) in counts.rows_mut().into_iter().zip(&x) {
        let k = (0..trials).filter(|_| rng.uniform() < sigmoid(*x)).count() as f64;
        row.assign(&array![k, f64::from(trials) - k]);
    }
    let data = Dataset::counts(x, counts).unwrap();
    let first = |bias: f64| {
        let predictions = known(Binomial, &data, 1, &[1.0, bias], 400);
        let mut pit = predictions.pit(3).unwrap();
        pit.values = pit.values.slice(s![.., ..1]).to_owned();
        (pit.ks_distance(), predictions)
    };
    let (ks, predictions) = first(0.0);
    assert!(ks < 1.95 / 3_000f64.sqrt(), "{ks}");
    assert!(first(0.3).0 > 0.06);
    // Counts are covered more often than the level says; CRPS is that of counts.
    assert!(predictions.coverage(0.8).unwrap().share > 0.8);
    assert_eq!(predictions.crps().unwrap().dim(), (3_000, 2));
    assert!(predictions.scores().unwrap().get("crps").is_none());
}

#[test]
fn confusion_and_brier_are_hand_computed() {
    let p = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.5, 0.2], [0.2, 0.2, 0.6]];
    let predictions = ternary(&p, &[0, 1, 2, 2]);
    let confusion = predictions.confusion().unwrap();
    assert_eq!(confusion.counts, array![[1, 0, 0], [0, 1, 0], [0, 1, 1]]);
    assert_eq!(confusion.accuracy(), 0.75);
    assert_eq!(confusion.recall(), [1.0, 1.0, 0.5]);
    assert_eq!(confusion.precision(), [1.0, 0.5, 1.0]);
    assert_eq!(
        confusion.to_string(),
        "observed \\ predicted a b long name\n\
         a                    1 0         0\n\
         b                    0 1         0\n\
         long name            0 1         1\n"
    );
    let brier = (0.14 + 0.26 + (0.09 + 0.25 + 0.64) + 0.24) / 4.0;
    assert_relative_eq!(predictions.brier().unwrap(), brier, max_relative = 1e-12);
    refused!(predictions.brier_binary(), Shape { found: 3, expected: 2 });

    let classes = [1, 0, 1, 0];
    for predictions in binary(&[0.9, 0.2, 0.4, 0.5], &classes) {
        let halves = (0.01 + 0.04 + 0.36 + 0.25) / 4.0;
        assert_relative_eq!(predictions.brier_binary().unwrap(), halves, max_relative = 1e-12);
        assert_relative_eq!(predictions.brier().unwrap(), 2.0 * halves, max_relative = 1e-12);
        assert_eq!(predictions.confusion().unwrap().counts, array![[2, 0], [1, 1]]);
    }
}

#[test]
fn reliability_and_ece_are_hand_computed() {
    // Confidences .9 (hit), .8 (hit), .6 (miss), .55 (hit), .9 (miss).
    let p = [0.9, 0.2, 0.4, 0.55, 0.1];
    let classes = [1, 0, 1, 1, 1];
    for predictions in binary(&p, &classes) {
        let width = predictions.reliability(Bins::EqualWidth(4)).unwrap();
        // (1/2, 3/4] holds .6 and .55, (3/4, 1] the others.
        let rows: Vec<usize> = width.bins.iter().map(|b| b.rows).collect();
        assert_eq!(rows, [2, 3]);
        let (a, b) = (&width.bins[0], &width.bins[1]);
        assert_eq!((a.lower, a.upper, b.lower, b.upper), (0.5, 0.75, 0.75, 1.0));
        assert_relative_eq!(a.confidence, 0.575, max_relative = 1e-12);
        assert_relative_eq!(b.confidence, 2.6 / 3.0, max_relative = 1e-12);
        assert_eq!((a.accuracy, b.accuracy), (0.5, 2.0 / 3.0));
        let ece = (2.0 * 0.075 + 3.0 * 0.2) / 5.0;
        assert_relative_eq!(width.ece(), ece, max_relative = 1e-12);

        let count = predictions.reliability(Bins::EqualCount(2)).unwrap();
        let rows: Vec<usize> = count.bins.iter().map(|b| b.rows).collect();
        assert_eq!(rows, [2, 3]);
        assert_relative_eq!(count.bins[1].lower, 0.8, max_relative = 1e-12);
        let mut csv = Vec::new();
        width.write_csv(&mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        assert!(csv.starts_with("lower,upper,rows,confidence,accuracy\n0.5,0.75,2,0.57"), "{csv}");
        assert_eq!(csv.lines().count(), 3);
        // The default of the table of scores: 15 bins.
        let score = predictions.scores().unwrap().get("ece").unwrap().clone();
        let fifteen = predictions.reliability(Bins::default()).unwrap().ece();
        assert_eq!(Bins::default(), Bins::EqualWidth(15));
        assert_relative_eq!(score.posterior, fifteen, max_relative = 1e-12);
        assert_relative_eq!(score.draws_mean, fifteen, max_relative = 1e-12);
    }
    // Rows of equal confidence share a bin, whatever their order; empty bins vanish.
    for classes in [[1, 1, 0, 0], [0, 1, 0, 1]] {
        let [one, _] = binary(&[0.75; 4], &classes);
        let bins = one.reliability(Bins::EqualCount(3)).unwrap().bins;
        assert_eq!((bins.len(), bins[0].rows, bins[0].accuracy), (1, 4, 0.5));
    }
    // Edges: a confidence of exactly 1 belongs to the last bin, one of 1/2 to (1/4, 1/2].
    let [one, _] = binary(&[1.0, 0.5], &[1, 0]);
    let bins = one.reliability(Bins::EqualWidth(4)).unwrap().bins;
    assert_eq!((bins[0].upper, bins[1].upper), (0.5, 1.0));
}

#[test]
fn right_probabilities_have_a_small_ece_and_overconfident_ones_a_large_one() {
    let n = 20_000;
    let z = normals(51, (n, 1)).mapv(|z| 1.5 * z);
    let mut rng = ChainRng::new(52, 0);
    let classes: Vec<usize> = z.iter().map(|z| usize::from(rng.uniform() < sigmoid(*z))).collect();
    let data = Dataset::classification(z, classes, ["a", "b"]).unwrap();
    let ece = |slope: f64, bins: Bins| {
        let predictions = known(Bernoulli, &data, 1, &[slope, 0.0], 2);
        predictions.reliability(bins).unwrap().ece()
    };
    for bins in [Bins::EqualWidth(15), Bins::EqualCount(15)] {
        // About sqrt(2 * 0.2 / (pi n / 8)) = 0.007 by chance alone.
        assert!(ece(1.0, bins) < 0.02, "{bins:?}: {}", ece(1.0, bins));
        assert!(ece(3.0, bins) > 0.1 && ece(0.3, bins) > 0.1, "{bins:?}");
    }
    let brier = |slope: f64| known(Bernoulli, &data, 1, &[slope, 0.0], 2).brier().unwrap();
    assert!(brier(1.0) < brier(1.5) && brier(1.0) < brier(0.7), "the Brier score is proper");
}
