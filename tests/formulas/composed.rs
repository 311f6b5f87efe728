//! Models made of parts: a linear part beside a network, weights that are products with sampled scales, and a model of
//! the noise, in the joint density and with the output layer integrated out. The references are plain loops over rows.

use bnn_mcmc::layout::Layout;
use bnn_mcmc::likelihood::{SecondOrderLikelihood, StudentTNoise};
use bnn_mcmc::model::{LogSd, NonCentred, Offset, SecondOrderModel, Skip};
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{ConditionallyGaussian, Marginal, MarginalWorkspace, Tempered};
use bnn_mcmc::testing::{gradient_error, hessian_error};
use ndarray::Array2;
use shared::refused;
use statrs::distribution::{Continuous, StudentsT};

use crate::fixtures::inverse;

const GROUPS: [usize; 3] = [0, 0, 1];

type Deep = Skip<NonCentred<Mlp>>;

/// 3-5-4-k with scales by groups of inputs and of the second layer, and a linear part.
fn deep(outputs: usize) -> Deep {
    let network = Mlp::new(&[3, 5, 4, outputs], Activation::Tanh).unwrap();
    let scaled =
        NonCentred::new(network).by_column("w0", "log_relevance", &["a", "a", "b"]).unwrap();
    Skip::new(scaled.by_block("w1", "log_layer_variance").unwrap()).unwrap()
}

fn features(rows: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, 3), |(i, j)| ((5 * i + 3 * j) % 17) as f64 / 6.0 - 1.4)
}

fn responses(rows: usize, columns: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, k)| {
        (1.3 * (i + 2 * k) as f64).sin() + 0.1 * i as f64
    })
}

fn random(dim: usize, sd: f64, seed: u64) -> Vec<f64> {
    let mut q = vec![0.0; dim];
    ChainRng::new(seed, 0).fill_normal(&mut q);
    q.iter_mut().for_each(|q| *q *= sd);
    q
}

/// The rows of W x + b for the blocks `w` and `b` of q.
fn layer(q: &[f64], layout: &Layout, w: &str, b: &str, x: &[f64]) -> Vec<f64> {
    let (w, b) = (layout.range(w).unwrap(), &q[layout.range(b).unwrap()]);
    let rows = q[w].chunks(x.len());
    rows.zip(b).map(|(w, b)| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>() + b).collect()
}

/// The last hidden layer of [`deep`] at one row.
fn hidden(q: &[f64], model: &Deep, x: &[f64]) -> Vec<f64> {
    let layout = model.layout();
    let mut q = q.to_vec();
    let sd = |name: &str, at: usize| (0.5 * q[layout.range(name).unwrap().start + at]).exp();
    let by_input: Vec<f64> = GROUPS.iter().map(|g| sd("log_relevance", *g)).collect();
    let by_layer = sd("log_layer_variance", 0);
    for (i, w) in q[layout.range("w0").unwrap()].iter_mut().enumerate() {
        *w *= by_input[i % 3];
    }
    q[layout.range("w1").unwrap()].iter_mut().for_each(|w| *w *= by_layer);
    let tanh = |z: Vec<f64>| z.into_iter().map(f64::tanh).collect::<Vec<f64>>();
    let first = tanh(layer(&q, &layout, "w0", "b0", x));
    tanh(layer(&q, &layout, "w1", "b1", &first))
}

/// Outputs of [`deep`] at one row.
fn outputs(q: &[f64], model: &Deep, x: &[f64]) -> Vec<f64> {
    let layout = model.layout();
    let linear = q[layout.range("skip").unwrap()].chunks(3);
    let linear = linear.map(|v| v.iter().zip(x).map(|(v, x)| v * x).sum::<f64>());
    let network = layer(q, &layout, "w2", "b2", &hidden(q, model, x));
    network.iter().zip(linear).map(|(f, v)| f + v).collect()
}

fn half_t() -> LogHalfT {
    LogHalfT::new(3.0, 0.8).unwrap()
}

/// The log standard deviation of [`LogSd`] at one row.
fn log_sd(q: &[f64], layout: &Layout, x: &[f64]) -> f64 {
    layer(q, layout, "log_sd", "log_sd_bias", x)[0]
}

/// Normal priors of other means than 0, half-t scales, and sampled scales of the output layer's weights if asked.
fn priors(hierarchical: bool) -> Priors {
    let normal = |mean, sd| Normal::new(mean, sd).unwrap();
    let priors = Priors::all(normal(0.1, 0.9)).with("log_*", half_t());
    match hierarchical {
        true => priors.hierarchical("w2", "log_output_variance", half_t()).hierarchical(
            "skip",
            "log_skip_variance",
            half_t(),
        ),
        false => priors.with("w2", normal(-0.2, 0.6)).with("skip", normal(0.3, 0.5)),
    }
}

#[test]
fn outputs_are_those_of_plain_loops() {
    let (model, x) = (deep(2), features(230));
    let data = Dataset::regression(x.clone(), responses(230, 2)).unwrap();
    let posterior =
        Posterior::new(model.clone(), Gaussian::fixed(0.5).unwrap(), &data, priors(false)).unwrap();
    let q = random(posterior.dim(), 0.8, 3);
    let draws = Draws::new(
        posterior.layout().clone(),
        ndarray::Array3::from_shape_vec((1, 1, q.len()), q.clone()).unwrap(),
    )
    .unwrap();
    let found = posterior.predict(&draws, &data).unwrap();
    for (i, row) in x.rows().into_iter().enumerate() {
        for (k, expected) in outputs(&q, &model, &row.to_vec()).into_iter().enumerate() {
            approx::assert_relative_eq!(
                found.posterior_mean().unwrap()[[i, k]],
                expected,
                epsilon = 1e-12
            );
        }
    }
}

#[test]
fn gradients_and_hessians_match_finite_differences() {
    fn check(likelihood: impl SecondOrderLikelihood, outputs: usize, data: &Dataset) {
        check_model(deep(outputs), likelihood, data, 0.7);
    }
    fn check_model(
        model: impl SecondOrderModel,
        likelihood: impl SecondOrderLikelihood,
        data: &Dataset,
        sd: f64,
    ) {
        let posterior = Posterior::new(model, likelihood, data, priors(true)).unwrap();
        for seed in 1..4 {
            let q = random(posterior.dim(), sd, seed);
            let error = gradient_error(&posterior, &q);
            assert!(error < 1e-7, "gradient: {error}");
            let error = hessian_error(&posterior, &q);
            assert!(error < 1e-6, "Hessian: {error}");
        }
    }
    let real = Dataset::regression(features(30), responses(30, 2)).unwrap();
    check(Gaussian::sampled(), 2, &real);
    let with_noise = |outputs| LogSd::new(deep(outputs)).unwrap();
    check_model(with_noise(2), HeteroscedasticGaussian, &real, 0.7);
    // Of t beside small scales finite differences are exact for smaller steps only.
    check_model(with_noise(2), StudentTNoise::heteroscedastic(), &real, 0.35);
    let one = Dataset::regression(features(30), responses(30, 1)).unwrap();
    check(HeteroscedasticGaussian, 2, &one);
    let classes = (0..30).map(|i| (i * i) % 3).collect();
    let names = ["a", "b", "c"].map(String::from).to_vec();
    check(Categorical, 3, &Dataset::classification(features(30), classes, names).unwrap());
}

/// The log density of the response given everything but the integrated weights, and mean and covariance of these
/// weights (h, x, 1) of each integrated output, from the n x n covariance of the response.
fn reference(
    q: &[f64],
    model: &Deep,
    x: &Array2<f64>,
    y: &Array2<f64>,
    hierarchical: bool,
    log_sd_of_row: &dyn Fn(usize) -> f64,
) -> (f64, Vec<Vec<f64>>, Array2<f64>) {
    let n = x.nrows();
    let rows = x.rows().into_iter().map(|row| {
        let row = row.to_vec();
        [hidden(q, model, &row), row, vec![1.0]].concat()
    });
    let phi: Vec<f64> = rows.flatten().collect();
    let phi = Array2::from_shape_vec((n, 8), phi).unwrap();
    let d = q.len();
    // The last two coordinates are the log variances of the output layer.
    let (mean, sd): (Vec<f64>, Vec<f64>) = (0..8)
        .map(|j| match (j, hierarchical) {
            (0..4, true) => (0.0, (0.5 * q[d - 2]).exp()),
            (4..7, true) => (0.0, (0.5 * q[d - 1]).exp()),
            (0..4, false) => (-0.2, 0.6),
            (4..7, false) => (0.3, 0.5),
            _ => (0.1, 0.9),
        })
        .unzip();
    let s = Array2::from_diag(&sd.iter().map(|sd| sd * sd).collect::<ndarray::Array1<f64>>());
    let mean = ndarray::Array1::from(mean);
    let noise = (0..n).map(|i| (2.0 * log_sd_of_row(i)).exp()).collect::<ndarray::Array1<f64>>();
    let covariance = phi.dot(&s).dot(&phi.t()) + Array2::from_diag(&noise);
    let (precision, log_det) = inverse(&covariance);
    let (mut log_density, mut means) = (0.0, Vec::new());
    for y in y.columns() {
        let r = &y - &phi.dot(&mean);
        let solved = precision.dot(&r);
        let log_norm = n as f64 * (2.0 * std::f64::consts::PI).ln() + log_det;
        log_density -= 0.5 * (log_norm + r.dot(&solved));
        means.push((&mean + &s.dot(&phi.t()).dot(&solved)).to_vec());
    }
    let gain = s.dot(&phi.t()).dot(&precision);
    let conditional = &s - &gain.dot(&phi).dot(&s);
    (log_density, means, conditional)
}

/// A marginal density given the weights of rows that are typical at q, if the noise is a mixture.
struct Given<'a, T> {
    marginal: &'a Marginal<T>,
    q: &'a [f64],
}

impl<T: ConditionallyGaussian> Target for Given<'_, T> {
    type Workspace = MarginalWorkspace<T::Workspace>;

    fn dim(&self) -> usize {
        self.marginal.dim()
    }

    fn workspace(&self) -> Self::Workspace {
        let mut ws = self.marginal.workspace();
        self.marginal.refresh(None, &mut self.q.to_vec(), &mut ws);
        ws
    }

    fn log_density(&self, v: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        self.marginal.log_density(v, ws)
    }
}

impl<T: ConditionallyGaussian> GradTarget for Given<'_, T> {
    fn log_density_grad(
        &self,
        v: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        self.marginal.log_density_grad(v, grad, ws)
    }
}

/// Density, gradient and conditional draws of the marginal at q, against the reference. `at(k, j)` is the coordinate of
/// weight j of output k.
fn check_marginal<T: ConditionallyGaussian>(
    posterior: T,
    q: &[f64],
    (log_density, means, covariance): (f64, Vec<Vec<f64>>, Array2<f64>),
) {
    let (layout, marginal) = (posterior.layout(), Marginal::new(posterior).unwrap());
    let outputs = layout.range("b2").unwrap().len();
    let at = |k: usize, j: usize| {
        let (block, width, j) = match j {
            0..4 => ("w2", 4, j),
            4..7 => ("skip", 3, j - 4),
            _ => ("b2", 1, 0),
        };
        layout.range(block).unwrap().start + k * width + j
    };
    let integrated: Vec<usize> = marginal.integrated().iter().cloned().flatten().collect();
    let expected: Vec<usize> =
        (0..means.len()).flat_map(|k| (0..8).map(move |j| (k, j))).map(|(k, j)| at(k, j)).collect();
    assert!(expected.iter().all(|i| integrated.contains(i)) && integrated.len() == expected.len());
    assert!(outputs >= means.len());
    let given = Given { marginal: &marginal, q };
    let (mut ws, mut v) = (given.workspace(), vec![0.0; marginal.dim()]);
    marginal.gather(q, &mut v);
    let found = marginal.log_density(&v, &mut ws);
    approx::assert_relative_eq!(found.likelihood, log_density, max_relative = 1e-11);
    let error = gradient_error(&given, &v);
    assert!(error < 1e-7, "gradient: {error}");
    let (n, mut rng, mut full) = (20_000, ChainRng::new(5, 0), q.to_vec());
    let mut draws = Vec::new();
    for _ in 0..n {
        marginal.scatter(&v, &mut full);
        assert!(marginal.draw_conditional(&mut rng, &mut full, &mut ws));
        draws.push(full.clone());
    }
    for (k, mean) in means.iter().enumerate() {
        for i in 0..8 {
            let shift = draws.iter().map(|q| q[at(k, i)] - mean[i]).sum::<f64>() / n as f64;
            let variance = covariance[[i, i]];
            assert!(shift.abs() < 4.5 * (variance / n as f64).sqrt(), "mean of {k}, {i}: {shift}");
            for j in 0..=i {
                let products =
                    draws.iter().map(|q| (q[at(k, i)] - mean[i]) * (q[at(k, j)] - mean[j]));
                let (found, expected) = (products.sum::<f64>() / n as f64, covariance[[i, j]]);
                let error = (variance * covariance[[j, j]] + expected * expected) / n as f64;
                assert!(
                    (found - expected).abs() < 4.5 * error.sqrt(),
                    "covariance of {k}: {i}, {j}"
                );
            }
        }
    }
}

#[test]
fn the_linear_part_is_integrated_out_with_the_output_layer() {
    let (x, y) = (features(25), responses(25, 2));
    let data = Dataset::regression(x.clone(), y.clone()).unwrap();
    for hierarchical in [false, true] {
        let posterior =
            Posterior::new(deep(2), Gaussian::sampled(), &data, priors(hierarchical)).unwrap();
        let q = random(posterior.dim(), 0.6, 7);
        let eta = q[posterior.layout().range("log_noise_variance").unwrap().start];
        let reference = reference(&q, &deep(2), &x, &y, hierarchical, &|_| 0.5 * eta);
        check_marginal(&posterior, &q, reference);
        // A power of the likelihood: the precision is multiplied, and the constant is not.
        let beta = 0.3;
        let tempered = Marginal::new(Tempered::new(&posterior, beta).unwrap()).unwrap();
        let (mut ws, mut v) = (tempered.workspace(), vec![0.0; tempered.dim()]);
        tempered.gather(&q, &mut v);
        let found = tempered.log_density(&v, &mut ws).total() - {
            let marginal = posterior.collapsed().unwrap();
            marginal.log_density(&v, &mut marginal.workspace()).prior
        };
        let hot = self::reference(&q, &deep(2), &x, &y, hierarchical, &|_| 0.5 * (eta - beta.ln()));
        let log_two_pi = (2.0 * std::f64::consts::PI).ln();
        let expected = hot.0 + 25.0 * ((1.0 - beta) * (log_two_pi + eta) - beta.ln());
        approx::assert_relative_eq!(found, expected, max_relative = 1e-10);
    }
}

#[test]
fn the_linear_part_of_the_mean_is_integrated_out_where_the_noise_is_an_output() {
    let (x, y) = (features(25), responses(25, 1));
    let data = Dataset::regression(x.clone(), y.clone()).unwrap();
    for hierarchical in [false, true] {
        let posterior =
            Posterior::new(deep(2), HeteroscedasticGaussian, &data, priors(hierarchical)).unwrap();
        let q = random(posterior.dim(), 0.6, 8);
        let log_sd = |i: usize| outputs(&q, &deep(2), &x.row(i).to_vec())[1];
        let reference = reference(&q, &deep(2), &x, &y, hierarchical, &log_sd);
        check_marginal(&posterior, &q, reference);
    }
}

#[test]
fn the_output_layer_of_the_mean_is_integrated_out_beside_a_model_of_the_noise() {
    let (x, y) = (features(25), responses(25, 1));
    let data = Dataset::regression(x.clone(), y.clone()).unwrap();
    for hierarchical in [false, true] {
        let model = LogSd::new(deep(1)).unwrap();
        let posterior =
            Posterior::new(model, HeteroscedasticGaussian, &data, priors(hierarchical)).unwrap();
        assert!(posterior.collapsed().is_ok());
        let q = random(posterior.dim(), 0.6, 8);
        let s = |i: usize| log_sd(&q, posterior.layout(), &x.row(i).to_vec());
        check_marginal(&posterior, &q, reference(&q, &deep(1), &x, &y, hierarchical, &s));
    }
}

/// Given a weight w_i of each row Student-t noise is normal, with precision w_i e^-2s_i: the weights of the EM
/// algorithm, beta (nu + 1) / (nu + t_i^2), stand for those that are drawn.
#[test]
fn student_t_noise_is_normal_given_weights_of_rows() {
    let (x, y) = (features(25), responses(25, 1));
    let data = Dataset::regression(x.clone(), y.clone()).unwrap();
    let sampled = StudentTNoise::sampled();
    let known = sampled.with_scale(0.4).unwrap().with_degrees_of_freedom(3.0).unwrap();
    let by_row = StudentTNoise::heteroscedastic();
    for (beta, likelihood) in
        [(1.0, sampled), (1.0, known), (1.0, by_row), (0.3, sampled), (0.3, by_row)]
    {
        let model = match likelihood.layout().block_names()[..] {
            [ref nu] if nu.starts_with("log_degrees") => LogSd::new(deep(1)).unwrap(),
            _ => LogSd::without(deep(1)),
        };
        let posterior = Posterior::new(model, likelihood, &data, priors(false)).unwrap();
        let (q, layout) = (random(posterior.dim(), 0.6, 11), posterior.layout().clone());
        let of = |name: &str| layout.range(name).map(|range| q[range.start]);
        let nu = of("log_degrees_of_freedom").map_or(3.0, f64::exp);
        let s = |i: usize| match layout.range("log_sd") {
            Some(_) => log_sd(&q, &layout, &x.row(i).to_vec()),
            None => of("log_squared_scale").map_or(0.4f64.ln(), |eta| 0.5 * eta),
        };
        let weight = |i: usize| {
            let t = (y[[i, 0]] - outputs(&q, &deep(1), &x.row(i).to_vec())[0]) * (-s(i)).exp();
            beta * (nu + 1.0) / (nu + t * t)
        };
        let mut reference =
            reference(&q, &deep(1), &x, &y, false, &|i| s(i) - 0.5 * weight(i).ln());
        let log_two_pi = (2.0 * std::f64::consts::PI).ln();
        reference.0 += (0..25)
            .map(|i| 0.5 * log_two_pi - 0.5 * weight(i).ln() + (1.0 - beta) * s(i))
            .sum::<f64>();
        check_marginal(Tempered::new(&posterior, beta).unwrap(), &q, reference);
        // By itself it is a function of more than the coordinates.
        refused!(posterior.collapsed(), Argument { name: "likelihood" });
        let marginal = Marginal::new(&posterior).unwrap();
        assert!(marginal.layout().range("log_degrees_of_freedom").is_none());
        let density = marginal.log_density(&vec![0.0; marginal.dim()], &mut marginal.workspace());
        assert!(density.likelihood.is_nan());
    }
}

#[test]
fn rows_of_several_shares_give_the_sum() {
    // Rows enough for several shares: the sum over two halves of the data, each of which is one reference of the
    // crate itself with fewer shares, is no sum for a marginal; so the joint density is compared.
    let rows = 60_000;
    let (x, y) = (features(rows), responses(rows, 1));
    let data = Dataset::regression(x.clone(), y.clone()).unwrap();
    let posterior = Posterior::new(deep(2), HeteroscedasticGaussian, &data, priors(false)).unwrap();
    check_shares(&posterior);
    // Each share has the weights of its rows. One output is less work, so that it takes more rows.
    let rows = 300_000;
    let data = Dataset::regression(features(rows), responses(rows, 1)).unwrap();
    let model = LogSd::new(deep(1)).unwrap();
    let t = StudentTNoise::heteroscedastic();
    check_shares(&Posterior::new(model, t, &data, priors(false)).unwrap());
}

fn check_shares<T: ConditionallyGaussian>(posterior: &T) {
    let q = random(posterior.dim(), 0.3, 9);
    let marginal = Marginal::new(posterior).unwrap();
    let given = Given { marginal: &marginal, q: &q };
    let (mut ws, mut v) = (given.workspace(), vec![0.0; marginal.dim()]);
    marginal.gather(&q, &mut v);
    // p(y | v) = p(y, beta | v) / p(beta | y, v) at any beta; at the mean of many draws the ratio is the same as at one.
    let (mut grad, mut along) = (v.clone(), v.clone());
    marginal.log_density_grad(&v, &mut grad, &mut ws);
    let direction = random(v.len(), 1.0, 10);
    let mut at = |h: f64| {
        along.iter_mut().zip(&v).zip(&direction).for_each(|((a, v), d)| *a = v + h * d);
        marginal.log_density(&along, &mut ws).total()
    };
    let h = 1e-4;
    let difference = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
    let slope: f64 = grad.iter().zip(&direction).map(|(g, d)| g * d).sum();
    assert!((slope - difference).abs() < 1e-5 * slope.abs().max(1.0), "{slope} {difference}");
}

#[test]
fn parts_that_do_not_fit_are_refused_by_name() {
    let network = || Mlp::new(&[3, 5, 2], Activation::Tanh).unwrap();
    let non_centred = || NonCentred::new(network());
    let name = |result: Result<NonCentred<Mlp>, Error>| match result.unwrap_err() {
        Error::Argument { name, value, .. } => format!("{name}: {value}"),
        Error::Shape { what, found, .. } => format!("{what}: {found}"),
        Error::UnknownName { name, .. } => format!("unknown: {name}"),
        other => panic!("{other:?}"),
    };
    assert_eq!(name(non_centred().by_block("w7", "s")), "unknown: w7");
    assert_eq!(name(non_centred().by_block("w0", "b0")), "name of a block of log variances: b0");
    assert_eq!(name(non_centred().by_column("b0", "s", &["x"; 2])), "block: b0");
    assert_eq!(name(non_centred().by_column("w0", "s", &["x", "y"])), "columns of `w0`: 2");
    let twice = non_centred().by_block("w0", "s").unwrap().by_block("w0", "t");
    assert_eq!(name(twice), "block: w0");
    let data = Dataset::regression(features(9), responses(9, 2)).unwrap();
    // What cannot be integrated out: scales of the output layer itself, two linear parts, a linear part beside a line.
    fn refused(model: impl Model + std::fmt::Debug, data: &Dataset) {
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
        let posterior = Posterior::new(model, Gaussian::fixed(1.0).unwrap(), data, priors).unwrap();
        match posterior.collapsed().unwrap_err() {
            Error::Argument { name, .. } => assert_eq!(name, "model"),
            other => panic!("{other:?}"),
        }
    }
    refused(non_centred().by_block("w1", "s").unwrap(), &data);
    refused(Skip::new(Linear::new(3, 2).unwrap()).unwrap(), &data);
    match Skip::new(Skip::new(network()).unwrap()).unwrap_err() {
        Error::Argument { value, .. } => assert_eq!(value, "skip"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn layers_after_the_first_have_priors_by_fan_in() {
    let data = Dataset::regression(features(9), responses(9, 1)).unwrap();
    let model = || Skip::new(Mlp::new(&[3, 6, 5, 1], Activation::Tanh).unwrap()).unwrap();
    let priors = Priors::by_fan_in(&model());
    let posterior = Posterior::new(model(), Gaussian::fixed(1.0).unwrap(), &data, priors).unwrap();
    let (mut rng, n) = (ChainRng::new(3, 0), 4000);
    let mut squares = vec![0.0; posterior.dim()];
    let mut q = squares.clone();
    for _ in 0..n {
        posterior.draw_prior(&mut rng, &mut q).unwrap();
        squares.iter_mut().zip(&q).for_each(|(sum, q)| *sum += q * q / n as f64);
    }
    for (block, variance) in [
        ("w0", 1.0),
        ("b0", 1.0),
        ("w1", 1.0 / 6.0),
        ("b1", 1.0),
        ("w2", 0.2),
        ("b2", 1.0),
        ("skip", 1.0 / 3.0),
    ] {
        let found = &squares[posterior.layout().range(block).unwrap()];
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        let error = variance * (2.0 / (n * found.len()) as f64).sqrt();
        assert!((mean - variance).abs() < 4.5 * error, "{block}: {mean}");
    }
}

#[test]
fn the_half_t_prior_has_the_density_of_statrs_and_draws_from_it() {
    for (nu, scale) in [(1.0, 0.7), (3.0, 2.0), (30.0, 1e-3)] {
        let prior = LogHalfT::new(nu, scale).unwrap();
        let t = StudentsT::new(0.0, 1.0, nu).unwrap();
        for x in [-60.0, -9.0, -1.0, 0.0, 2.5, 20.0, 200.0] {
            let sd = (0.5f64 * x).exp();
            let expected = (t.ln_pdf(sd / scale) + 2f64.ln() - scale.ln()) + (0.5 * sd).ln();
            approx::assert_relative_eq!(
                prior.log_density(&[x]),
                expected,
                max_relative = 1e-9,
                epsilon = 1e-9
            );
            let (mut grad, h) = ([0.0], 1e-4);
            prior.add_grad(&[x], &mut grad);
            let difference =
                (prior.log_density(&[x + h]) - prior.log_density(&[x - h])) / (2.0 * h);
            assert!((grad[0] - difference).abs() < 1e-6, "{x}: {} {difference}", grad[0]);
        }
        // The median and the 90 % quantile of |T|.
        use statrs::distribution::ContinuousCDF;
        let (mut rng, mut x) = (ChainRng::new(4, 0), vec![0.0; 40_000]);
        prior.draw(&mut rng, &mut x).unwrap();
        for p in [0.1, 0.5, 0.9] {
            let quantile = 2.0 * (scale * t.inverse_cdf(0.5 + 0.5 * p)).ln();
            let share = x.iter().filter(|x| **x < quantile).count() as f64 / x.len() as f64;
            assert!(
                (share - p).abs() < 4.5 * (p * (1.0 - p) / x.len() as f64).sqrt(),
                "{nu}: {share}"
            );
        }
    }
    let (half_t, cauchy) = (LogHalfT::new(1.0, 0.3).unwrap(), LogHalfCauchy::new(0.3).unwrap());
    for x in [-20.0, -2.0, 0.0, 9.0] {
        approx::assert_relative_eq!(
            half_t.log_density(&[x]),
            cauchy.log_density(&[x]),
            max_relative = 1e-13
        );
    }
    assert!(LogHalfT::new(0.0, 1.0).is_err() && LogHalfT::new(3.0, 0.0).is_err());
}

/// The density with an offset is that of the same model by plain loops, with the offset added to its outputs;
/// gradient and Hessian are its derivatives.
#[test]
fn an_offset_is_added_to_the_outputs() {
    let x = features(25);
    let offset = |i: usize| ((i * i) % 7) as f64 / 3.0 - 1.0;
    let with_offset =
        Array2::from_shape_fn((25, 4), |(i, j)| if j == 3 { offset(i) } else { x[[i, j]] });
    let counts = Array2::from_shape_fn((25, 1), |(i, _)| ((3 * i) % 5) as f64);
    let data = Dataset::counts(with_offset, counts.clone()).unwrap();
    let priors = priors(true);
    let posterior = Posterior::new(Offset::new(deep(1)), Poisson, &data, priors).unwrap();
    let q = random(posterior.dim(), 0.5, 4);
    let reference: f64 = (0..25)
        .map(|i| {
            let f = outputs(&q, &deep(1), &x.row(i).to_vec())[0] + offset(i);
            counts[[i, 0]] * f - f.exp() - statrs::function::gamma::ln_gamma(counts[[i, 0]] + 1.0)
        })
        .sum();
    let found = posterior.log_density(&q, &mut posterior.workspace()).likelihood;
    assert!((found - reference).abs() < 1e-10 * reference.abs(), "{found} and {reference}");
    assert!(gradient_error(&posterior, &q) < 1e-6);
    assert!(hessian_error(&posterior, &q) < 1e-5);
    assert!(Offset::new(deep(1)).output_layer().is_err(), "it is not integrated out");
    assert_eq!(Offset::without(deep(1)).output_layer().unwrap(), deep(1).output_layer().unwrap());
}
