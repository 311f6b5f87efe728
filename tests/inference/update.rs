//! Draws of before for a posterior with more rows, beside exact ones.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Collapsed, Mams};
use bnn_mcmc::testing::{ConjugateRegression, NoiseVariance, Sbc, SbcReport, Simulated};
use bnn_mcmc::update::{Update, Updated};
use ndarray::{Array2, Array3, ArrayView2, s};

const NOISE: f64 = 0.5;
/// Rows of before.
const FIRST: usize = 20;

fn x(rows: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, 2), |(i, j)| ((3 * i + 7 * j + i * j) as f64).sin())
}

fn posterior(data: &Dataset) -> Posterior<Linear, Gaussian> {
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    Posterior::new(Linear::new(2, 1).unwrap(), Gaussian::fixed(NOISE).unwrap(), data, priors)
        .unwrap()
}

/// Independent draws given these rows, `[1, draw, parameter]`, in closed form.
fn exact(rows: &Dataset, draws: usize, rng: &mut ChainRng) -> Array3<f64> {
    let y = rows.real().unwrap();
    let noise = NoiseVariance::Fixed(NOISE);
    let exact = ConjugateRegression::new(rows.x().view(), y.column(0), 1.0, noise).unwrap();
    let mut values = Array3::zeros((1, draws, exact.dim()));
    for mut q in values.rows_mut() {
        exact.draw(rng, q.as_slice_mut().unwrap());
    }
    values
}

/// Whether parameters are calibrated that are drawn given the first rows by exact draws, and given all by an update of these.
fn calibrated<A>(new: usize, update: &Update<A>) -> SbcReport
where
    A: Clone + for<'t> bnn_mcmc::sampler::Algorithm<&'t Posterior<Linear, Gaussian>>,
{
    let simulate = |mut rng: ChainRng| {
        let mut truth = vec![0.0; 3];
        let rows = Dataset::regression(x(FIRST + new), Array2::zeros((FIRST + new, 1)))?;
        posterior(&rows).draw_prior(&mut rng, &mut truth)?;
        let mean = rows.x().dot(&ndarray::arr1(&truth[..2])) + truth[2];
        let y = mean.mapv(|mean| mean + NOISE * rng.normal());
        let all = Dataset::regression(x(FIRST + new), y)?;
        let first = all.select(&(0..FIRST).collect::<Vec<_>>())?;
        let rows = all.select(&(FIRST..FIRST + new).collect::<Vec<_>>())?;
        let before = posterior(&first);
        let draws = Draws::new(before.layout().clone(), exact(&first, 1000, &mut rng))?;
        let Updated { posterior, draws, .. } = update
            .clone()
            .seed((1e9 * rng.uniform()) as u64)
            .run(&before, &first, &draws, &rows)?;
        Simulated::new(&posterior, &truth, &draws)?.with_parameters(&truth, &draws)
    };
    Sbc::new().simulations(300).run(simulate).unwrap()
}

#[test]
fn weights_alone_are_calibrated() {
    let report = calibrated(2, &Update::new(Nuts::default()));
    assert!(report.passes(), "{report}");
}

#[test]
fn moves_are_calibrated() {
    // Five times as many rows as before: weights are of no use.
    let report = calibrated(100, &Update::new(Nuts::default()).particles(100));
    assert!(report.passes(), "{report}");
    let report = calibrated(100, &Update::new(Mams::default()).particles(100));
    assert!(report.passes(), "{report}");
}

/// z-scores of the means and the standard deviations, by the effective number of our draws, at most all of them.
fn z_scores(ours: &Draws, exact: ArrayView2<f64>) -> Vec<f64> {
    let summary = ours.summary().unwrap();
    let of = |(row, values): (&bnn_mcmc::diagnostics::SummaryRow, ndarray::ArrayView1<f64>)| {
        let n = values.len() as f64;
        let mean = values.sum() / n;
        let sd = (values.mapv(|v| (v - mean).powi(2)).sum() / n).sqrt();
        let ess = row.ess_bulk.min((ours.n_chains() * ours.n_draws()) as f64);
        let error = sd * (1.0 / n + 1.0 / ess).sqrt();
        [(row.mean - mean) / error, (row.sd - sd) / error * 2f64.sqrt()]
    };
    summary.rows.iter().zip(exact.columns()).flat_map(of).collect()
}

/// A fit of one kind of sampler after the other, of rows that weights can and cannot take up.
#[test]
fn updates_have_the_moments_of_exact_draws() {
    let mut rng = ChainRng::new(4, 0);
    let y = x(400).map_axis(ndarray::Axis(1), |x| 0.8 * x[0] - 0.3 * x[1]);
    let all = Dataset::regression(x(400), y.mapv(|mean| mean + NOISE * rng.normal())).unwrap();
    for (first, new, is_moved) in [(200, 10, false), (40, 360, true)] {
        let before = all.select(&(0..first).collect::<Vec<_>>()).unwrap();
        let rows = all.select(&(first..first + new).collect::<Vec<_>>()).unwrap();
        let both = before.with_rows(&rows).unwrap();
        let reference = exact(&both, 20_000, &mut rng);
        let posterior = posterior(&before);
        let chains: Vec<Array3<f64>> = (0..4).map(|_| exact(&before, 1000, &mut rng)).collect();
        let views: Vec<_> = chains.iter().map(|chain| chain.view()).collect();
        let values = ndarray::concatenate(ndarray::Axis(0), &views).unwrap();
        let draws = Draws::new(posterior.layout().clone(), values).unwrap();
        let nuts = Update::new(Nuts::default()).run(&posterior, &before, &draws, &rows).unwrap();
        let mams = Update::new(Mams::default()).run(&posterior, &before, &draws, &rows).unwrap();
        for updated in [&nuts, &mams] {
            assert_eq!(updated.powers.len() > 1, is_moved, "{:?}", updated.powers);
            assert_eq!(updated.gradient_evals > 0, is_moved);
            assert_eq!(updated.pareto_k > 0.7, is_moved, "{}", updated.pareto_k);
            assert!(
                updated.powers.windows(2).all(|b| b[0] < b[1])
                    && updated.powers.last() == Some(&1.0)
            );
            assert_eq!(updated.draws.n_chains(), 4);
            assert_eq!(updated.draws.n_draws(), if is_moved { 200 } else { 1000 });
            assert_eq!(updated.posterior.n_obs(), first + new);
            let z = z_scores(&updated.draws, reference.slice(s![0, .., ..]));
            assert!(z.iter().all(|z| z.abs() < 4.0), "{first} + {new}: {z:.1?}");
            // Statistics are of the new posterior.
            let (q, mut ws) = (updated.draws.draw(2, 17).unwrap(), updated.posterior.workspace());
            let density = updated.posterior.log_density(q, &mut ws);
            let found = updated.draws.stat("log_likelihood").unwrap()[[2, 17]];
            assert!((found - density.likelihood).abs() < 1e-9 * density.likelihood.abs());
        }
        // The same draws, whatever the threads.
        let alone = rayon_of_one(|| {
            Update::new(Nuts::default()).run(&posterior, &before, &draws, &rows).unwrap()
        });
        assert_eq!(alone.draws.values(), nuts.draws.values());
    }
}

/// Copies that resampling leaves are no new draws.
#[test]
fn updates_by_weights_one_after_the_other_come_to_moves() {
    let mut rng = ChainRng::new(8, 0);
    let y = x(320).map_axis(ndarray::Axis(1), |x| 0.8 * x[0] - 0.3 * x[1]);
    let all = Dataset::regression(x(320), y.mapv(|mean| mean + NOISE * rng.normal())).unwrap();
    let part = |rows: std::ops::Range<usize>| all.select(&rows.collect::<Vec<_>>()).unwrap();
    let mut before = posterior(&part(0..200));
    let mut draws =
        Draws::new(before.layout().clone(), exact(&part(0..200), 1000, &mut rng)).unwrap();
    let (mut weighted, mut moved) = (0, 0);
    for first in (200..320).step_by(4) {
        let update = Update::new(Nuts::default());
        let updated =
            update.run(&before, &part(0..first), &draws, &part(first..first + 4)).unwrap();
        if updated.powers.len() > 1 || updated.gradient_evals > 0 {
            moved += 1
        } else {
            weighted += 1
        }
        (before, draws) = (updated.posterior, updated.draws);
    }
    assert!(weighted > 5 && moved > 0, "{weighted} by weights, {moved} by moves");
    let reference = exact(&all, 20_000, &mut rng);
    let z = z_scores(&draws, reference.slice(s![0, .., ..]));
    assert!(z.iter().all(|z| z.abs() < 4.0), "{z:.1?}");
}

fn rayon_of_one<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(work)
}

/// With the output layer integrated out, and rows with weights.
#[test]
fn collapsed_networks_and_weighted_rows_are_updated() {
    let y = x(90).map_axis(ndarray::Axis(1), |x| (2.0 * x[0]).sin() + x[1]);
    let weights: Vec<f64> = (0..90).map(|i| 1.0 + (i % 3) as f64 / 2.0).collect();
    let all = Dataset::regression(x(90), y).unwrap().with_weights(weights).unwrap();
    let first = all.select(&(0..40).collect::<Vec<_>>()).unwrap();
    let rows = all.select(&(40..90).collect::<Vec<_>>()).unwrap();
    let network = || Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    let of = |data: &Dataset| {
        let priors = Priors::by_fan_in(&network())
            .with("log_noise_variance", LogInverseGamma::new(3.0, 0.1).unwrap());
        Posterior::new(network(), Gaussian::sampled(), data, priors).unwrap()
    };
    let run = |posterior: &Posterior<Mlp, Gaussian>| {
        let sampler = Sampler::new(posterior, Collapsed::new(Mams::default()));
        sampler.warmup(400).draws(500).seed(3).run().unwrap()
    };
    let before = of(&first);
    let algorithm = Collapsed::new(Mams::default());
    let updated = Update::new(algorithm).run(&before, &first, &run(&before), &rows).unwrap();
    assert!(updated.powers.len() > 1);
    let refitted = run(&of(&all));
    let mean = |draws: &Draws| {
        let mean = of(&all).predict_mean(draws, x(5).view()).unwrap();
        mean.slice(s![.., .., .., 0]).to_owned()
    };
    let (ours, theirs) = (mean(&updated.draws), mean(&refitted));
    for row in 0..5 {
        let of = |all: &Array3<f64>| {
            let values = all.slice(s![.., .., row]);
            (values.mean().unwrap(), bnn_mcmc::diagnostics::mcse_mean(values))
        };
        let ((a, own), (b, other)) = (of(&ours), of(&theirs));
        let z = (a - b) / own.hypot(other);
        assert!(z.abs() < 4.0, "row {row}: {a} {b}, z = {z}");
    }
}

/// A posterior of the same parameters, given other rows.
fn posterior_of_others() -> Posterior<Linear, Gaussian> {
    posterior(&Dataset::regression(x(10), Array2::ones((10, 1))).unwrap())
}

#[test]
fn what_cannot_be_updated_is_refused() {
    let data = Dataset::regression(x(30), Array2::zeros((30, 1))).unwrap();
    let posterior = posterior(&data);
    let mut rng = ChainRng::new(1, 0);
    let draws = |n: usize, rng: &mut ChainRng| {
        Draws::new(posterior.layout().clone(), exact(&data, n, rng)).unwrap()
    };
    let update = Update::new(Nuts::default());
    let of = |update: &Update<Nuts>, draws: &Draws, rows: &Dataset| {
        update.run(&posterior, &data, draws, rows).unwrap_err().to_string()
    };
    let many = draws(100, &mut rng);
    let few = of(&update, &draws(39, &mut rng), &data);
    assert!(few.contains("39") && few.contains("at least 40"), "{few}");
    assert!(of(&update.clone().particles(3), &many, &data).contains("particles"));
    assert!(of(&update.clone().moves(0), &many, &data).contains("moves"));
    let other = data.clone().with_feature_names(["a", "b"]).unwrap();
    assert!(of(&update, &many, &other).contains("names of the features"));
    let weighted = data.clone().with_weights(vec![1.0; 30]).unwrap();
    assert!(of(&update, &many, &weighted).contains("weights of rows"));
    let classes = Dataset::classification(x(30), vec![0; 30], ["a", "b"]).unwrap();
    assert!(of(&update, &many, &classes).contains("response"));
    let run = |data: &Dataset, draws: &Draws| {
        let rows = data.select(&[0, 1]).unwrap();
        update.run(&posterior, data, draws, &rows).map(|_| ()).unwrap_err().to_string()
    };
    let reordered = data.select(&(0..30).rev().collect::<Vec<_>>()).unwrap();
    assert!(run(&reordered, &many).contains("other rows"));
    let sampled = Sampler::new(&posterior_of_others(), Nuts::default()).draws(100).run().unwrap();
    assert!(run(&data, &sampled).contains("draws"));
    let far = Dataset::regression(x(30), Array2::from_elem((30, 1), 1e200)).unwrap();
    assert!(of(&update, &many, &far).contains("log likelihood of the new rows"));
}
