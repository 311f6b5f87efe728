//! Surrogates: gradients, what is exact where, and what is refused.

use bnn_mcmc::evidence::Evidence;
use bnn_mcmc::optimise::{Adam, Ascent};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::PowerPosteriors;
use bnn_mcmc::surrogate::{Emulator, RowSubset, Surrogate, SurrogateError};
use ndarray::{Array2, Array3};

type Network = Posterior<Mlp, Gaussian>;

/// A regression by a network 2-3-1 on 200 rows, with sampled noise.
fn posterior() -> Network {
    let x = Array2::from_shape_fn((200, 2), |(i, j)| ((7 * i + 3 * j) % 23) as f64 / 11.0 - 1.0);
    let y =
        Array2::from_shape_fn((200, 1), |(i, _)| (2.0 * x[[i, 0]]).sin() + 0.3 * (i as f64).cos());
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap()
}

fn short_run(posterior: &Network) -> Draws {
    let sampler = Sampler::new(posterior, Mala::default()).chains(2).warmup(500).draws(150);
    sampler.seed(3).run().unwrap()
}

/// ell* is the likelihood part, and its gradient that of finite differences, at three places.
fn check_gradient<E: Emulator>(what: &str, surrogate: &Surrogate<&Network, E>, draws: &Draws) {
    let (dim, mut ws) = (surrogate.dim(), surrogate.workspace());
    for (place, q) in
        [(0, 5), (0, 149), (1, 70)].map(|(c, n)| draws.draw(c, n).unwrap()).iter().enumerate()
    {
        let mut grad = vec![0.0; dim];
        let value = surrogate.log_density_grad(q, &mut grad, &mut ws);
        let again = surrogate.log_density(q, &mut ws);
        assert!(
            (value.likelihood - again.likelihood).abs() <= 1e-9 * value.likelihood.abs().max(1.0)
        );
        assert_eq!(value.prior.to_bits(), again.prior.to_bits(), "{what}");
        for i in 0..dim {
            let h = 1e-5;
            let mut at = |step: f64| {
                let mut q = q.to_vec();
                q[i] += step;
                surrogate.log_density(&q, &mut ws).total()
            };
            // Of fourth order.
            let difference = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
            let scale = grad.iter().fold(1.0, |most: f64, g| most.max(g.abs()));
            let error = (grad[i] - difference).abs();
            assert!(error < 2e-6 * scale, "{what}, place {place}, {i}: {} {difference}", grad[i]);
        }
    }
}

#[test]
fn gradients_of_row_subsets_are_exact() {
    let posterior = posterior();
    let draws = short_run(&posterior);
    let centre = draws.draw(0, 149).unwrap();
    let rows = || RowSubset::new(&posterior, 40, 1).unwrap();
    check_gradient("rows", &Surrogate::new(&posterior, rows()), &draws);
    let first = rows().first_order(&posterior, centre).unwrap();
    check_gradient("first order", &Surrogate::new(&posterior, first), &draws);
    let second = rows().second_order(&posterior, centre).unwrap();
    check_gradient("second order", &Surrogate::new(&posterior, second), &draws);
}

#[test]
fn rows_with_control_variates_are_exact_to_their_order() {
    let posterior = posterior();
    let mut ws = posterior.workspace();
    let mut centre = vec![0.1; posterior.dim()];
    Adam { learning_rate: 0.02, ..Adam::default() }.maximise(&posterior, &mut centre).unwrap();
    let at = |size: f64| -> Vec<f64> {
        centre.iter().enumerate().map(|(i, c)| c + size * (1.7 * i as f64).sin()).collect()
    };
    let mut truth = |q: &[f64]| posterior.log_density(q, &mut ws).likelihood;
    let rows = || RowSubset::new(&posterior, 30, 7).unwrap();
    // All rows are the posterior itself.
    let all = RowSubset::new(&posterior, 200, 1).unwrap();
    assert!((all.log_likelihood(&at(0.3), &mut all.workspace()) - truth(&at(0.3))).abs() < 1e-10);
    // The error of order k falls as size^(k + 1).
    let orders = [
        (rows(), 0),
        (rows().first_order(&posterior, &centre).unwrap(), 2),
        (rows().second_order(&posterior, &centre).unwrap(), 3),
    ];
    for (subset, power) in orders {
        let mut own = subset.workspace();
        let mut error =
            |size| (subset.log_likelihood(&at(size), &mut own) - truth(&at(size))).abs();
        let (far, near) = (error(0.02), error(0.01));
        match power {
            0 => assert!(near > 1.0, "{near}"),
            _ => {
                let ratio = far / near / 2f64.powi(power);
                assert!((0.8..1.25).contains(&ratio), "order {power}: {far} {near}");
            }
        }
    }
}

#[test]
fn draws_of_a_surrogate_are_labelled_and_its_error_is_measured() {
    let posterior = posterior();
    let rows = Surrogate::new(&posterior, RowSubset::new(&posterior, 20, 1).unwrap());
    let draws =
        Sampler::new(&rows, Mala::default()).chains(2).warmup(300).draws(100).run().unwrap();
    let verdict = draws.verdict().unwrap().to_string();
    assert!(
        verdict.contains("20 of 200 rows") && verdict.contains("not the posterior"),
        "{verdict}"
    );
    let error = SurrogateError::measure(&rows, &posterior, &draws, 50).unwrap();
    assert!(error.sd > 1.0 && error.effective_share < 0.5, "{error}");
    let all = Surrogate::new(&posterior, RowSubset::new(&posterior, 200, 1).unwrap());
    let error = SurrogateError::measure(&all, &posterior, &draws, 50).unwrap();
    assert!(error.sd < 1e-10 && (error.effective_share - 1.0).abs() < 1e-10, "{error}");
    let ladder = PowerPosteriors::new(Rwm::default());
    let evidence = |draws: Draws| Evidence::of(&draws).unwrap().warnings().join("; ");
    let of_rows = Sampler::new(&rows, ladder.clone()).chains(2).warmup(50).draws(50).run();
    assert!(evidence(of_rows.unwrap()).contains("a surrogate: this is its evidence"));
    let own = Sampler::new(&posterior, ladder).chains(2).warmup(50).draws(50).run().unwrap();
    assert!(!evidence(own).contains("surrogate"));
    // The posterior's own draws are not labelled.
    let own = Sampler::new(&posterior, Rwm::default()).chains(2).draws(20).run().unwrap();
    assert!(!own.verdict().unwrap().to_string().contains("not the posterior"));
}

/// A flat emulator that learnt from the positions within a distance of a centre.
struct Within {
    centre: Vec<f64>,
    distance: f64,
}

impl Emulator for Within {
    type Workspace = ();
    fn workspace(&self) {}
    fn log_likelihood(&self, _: &[f64], _: &mut ()) -> f64 {
        0.0
    }
    fn add_grad(&self, _: f64, _: &[f64], _: &mut [f64], _: &mut ()) -> f64 {
        0.0
    }
    fn is_extrapolating(&self, q: &[f64]) -> bool {
        let square = q.iter().zip(&self.centre).map(|(q, c)| (q - c).powi(2)).sum::<f64>();
        square.sqrt() > self.distance
    }
    fn description(&self) -> String {
        "a flat emulator".into()
    }
}

#[test]
fn draws_outside_what_an_emulator_learnt_from_are_counted() {
    let posterior = posterior();
    let centre: Vec<f64> = (0..posterior.dim()).map(|i| 0.1 * (i as f64).sin()).collect();
    let at = |distance: &dyn Fn(usize) -> f64| {
        let values = Array3::from_shape_fn((2, 50, centre.len()), |(chain, n, i)| {
            let shift = if i == n % centre.len() { distance(50 * chain + n) } else { 0.0 };
            centre[i] + shift
        });
        Draws::new(posterior.layout().clone(), values).unwrap()
    };
    let emulator = Within { centre: centre.clone(), distance: 1.0 };
    let surrogate = Surrogate::new(&posterior, emulator);
    let near = at(&|n| 0.009 * n as f64);
    let error = SurrogateError::measure(&surrogate, &posterior, &near, 100).unwrap();
    assert_eq!(error.extrapolated, 0, "{error}");
    assert!(!error.to_string().contains("outside"));
    // A tenth of the draws farther away.
    let far = at(&|n| if n % 10 == 3 { 1.5 } else { 0.5 });
    let error = SurrogateError::measure(&surrogate, &posterior, &far, 100).unwrap();
    assert_eq!(error.extrapolated, 10, "{error}");
    assert!(
        error.to_string().contains("10 of 100 lie outside the cloud of points that it learnt from"),
        "{error}"
    );
}

/// At the model's own outputs it is the posterior's, and its derivatives are those of finite differences,
/// for one and for several tiles of rows and outputs in two columns.
#[test]
fn the_likelihood_of_outputs_is_the_posteriors() {
    for rows in [200, 600] {
        let x = Array2::from_shape_fn((rows, 2), |(i, j)| ((7 * i + 3 * j) as f64).sin());
        let y = Array2::from_shape_fn((rows, 2), |(i, j)| ((3 * i + j) as f64).cos());
        let data = Dataset::regression(x, y).unwrap();
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap())
            .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
        let network = Mlp::new(&[2, 3, 2], Activation::Tanh).unwrap();
        let posterior = Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap();
        let dim = posterior.dim();
        let q: Vec<f64> = (0..dim).map(|i| 0.3 * (i as f64).cos()).collect();
        let (mut ws, mut f) = (posterior.workspace(), vec![0.0; 2 * rows]);
        posterior.write_outputs(&q, &mut f, &mut ws).unwrap();
        let draws = Array3::from_shape_vec((1, 1, dim), q.clone()).unwrap();
        let draws = Draws::new(posterior.layout().clone(), draws).unwrap();
        let predicted = posterior.predict(&draws, &data).unwrap().posterior_mean().unwrap();
        assert!(predicted.iter().zip(&f).all(|(a, b)| (a - b).abs() < 1e-12));
        let whole = posterior.log_density(&q, &mut ws).likelihood;
        let mut at =
            |q: &[f64], f: &[f64]| posterior.log_likelihood_of_outputs(q, f, &mut ws).unwrap();
        assert!((at(&q, &f) - whole).abs() < 1e-9 * whole.abs());

        let (mut d_f, mut grad) = (vec![f64::NAN; f.len()], vec![1.0; dim]);
        let mut own = posterior.workspace();
        let value =
            posterior.add_grad_of_outputs(3.0, &q, &f, &mut d_f, &mut grad, &mut own).unwrap();
        assert!((value - whole).abs() < 1e-9 * whole.abs());
        assert!(grad[..dim - 1].iter().all(|g| *g == 1.0), "weights do not enter");
        let h = 1e-5;
        let shifted = |of: &[f64], i: usize, by: f64| {
            let mut of = of.to_vec();
            of[i] += by;
            of
        };
        for i in [0, 1, 2, 399, 2 * rows - 1] {
            let difference = at(&q, &shifted(&f, i, h)) - at(&q, &shifted(&f, i, -h));
            let expected = difference / (2.0 * h);
            assert!((d_f[i] - expected).abs() < 1e-5, "{rows}, {i}: {} {expected}", d_f[i]);
        }
        let last = dim - 1;
        let of_noise = at(&shifted(&q, last, h), &f) - at(&shifted(&q, last, -h), &f);
        let expected = 1.0 + 3.0 * of_noise / (2.0 * h);
        assert!((grad[last] - expected).abs() < 1e-4, "{} {expected}", grad[last]);

        for (q, n) in [(&q[1..], f.len()), (&q[..], f.len() - 1)] {
            let error = posterior.log_likelihood_of_outputs(q, &f[..n], &mut own).unwrap_err();
            assert!(matches!(error, Error::Shape { .. }), "{error}");
            assert!(posterior.write_outputs(q, &mut f.clone()[..n], &mut own).is_err());
        }
        let short = &mut d_f[1..];
        assert!(posterior.add_grad_of_outputs(1.0, &q, &f, short, &mut grad, &mut own).is_err());
    }
}

#[test]
fn what_fits_no_rows_is_refused() {
    let posterior = posterior();
    for rows in [0, 201] {
        let error = RowSubset::new(&posterior, rows, 1).unwrap_err().to_string();
        assert!(error.contains("rows of the subset") && error.contains("200"), "{error}");
    }
    let rows = RowSubset::new(&posterior, 20, 1).unwrap();
    assert!(rows.clone().first_order(&posterior, &[0.0]).is_err());
    assert!(rows.first_order(&posterior, &vec![f64::NAN; posterior.dim()]).is_err());
}
