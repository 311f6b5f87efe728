//! Hessians of every model x likelihood x prior against finite differences of the gradient, and
//! Fisher informations against the expectation that defines them, taken by enumeration.

use bnn_mcmc::engine::{Tile, TileMut};
use bnn_mcmc::likelihood::SecondOrderLikelihood;
use bnn_mcmc::model::SecondOrderModel;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{
    Conditioned, Curvature, FisherTarget, HessTarget, PowerGradTarget, Tempered,
};
use bnn_mcmc::testing::{GaussianTarget, hessian_error};
use ndarray::{Array2, Axis};
use shared::refused;

use super::fixtures::{data_sets, priors};

/// What to do with each posterior of a model with as many outputs as a likelihood asks for.
trait Visit {
    fn visit<M: SecondOrderModel + Clone, L: SecondOrderLikelihood + Clone>(
        &mut self,
        posterior: &Posterior<M, L>,
        data: &Dataset,
    );

    /// Whether all responses of a row are enumerated, or taken at three nodes: where that cannot be done, see
    /// `likelihoods.rs`.
    fn enumerates(&self) -> bool {
        false
    }
}

/// All likelihoods, with one prior each in turn, starting from the prior `first`.
fn for_all_likelihoods<M: SecondOrderModel + Clone>(
    model: impl Fn(usize) -> M,
    rows: usize,
    first: usize,
    visit: &mut impl Visit,
) {
    let mut turn = first;
    for data in &data_sets(rows, 4) {
        macro_rules! go {
            ($k:expr, $likelihood:expr) => {{
                let likelihood = $likelihood;
                let all = priors(&likelihood.layout());
                let priors = all[turn % all.len()].clone();
                turn += 1;
                let posterior = Posterior::new(model($k), likelihood, data, priors).unwrap();
                visit.visit(&posterior, data);
            }};
        }
        match data.response() {
            Response::Real(y) => {
                go!(y.ncols(), Gaussian::sampled());
                go!(y.ncols(), Gaussian::fixed(0.7).unwrap());
                if !visit.enumerates() {
                    go!(2 * y.ncols(), HeteroscedasticGaussian);
                    go!(y.ncols(), StudentTNoise::sampled());
                    go!(y.ncols(), StudentTNoise::sampled().with_degrees_of_freedom(3.0).unwrap());
                }
            }
            Response::Classes { names, .. } => {
                if names.len() == 2 {
                    go!(1, Bernoulli);
                }
                go!(names.len(), Categorical);
                let ordinal = Ordinal::new(names.len()).unwrap();
                go!(1, ordinal);
                go!(1, ordinal.with_first_cutpoint(-0.4).unwrap());
            }
            Response::Counts(counts) if counts.ncols() == 1 => {
                if !visit.enumerates() {
                    go!(1, Poisson);
                    go!(1, NegativeBinomial::sampled());
                    go!(1, NegativeBinomial::fixed(1.7).unwrap());
                    go!(1, ZeroInflated::poisson());
                    go!(1, ZeroInflated::negative_binomial());
                    go!(1, Hurdle::negative_binomial());
                }
            }
            Response::Counts(counts) => {
                if counts.ncols() == 2 {
                    go!(1, Binomial);
                }
                go!(counts.ncols(), Multinomial);
            }
            other => panic!("no test for {other:?}"),
        }
    }
}

/// The Hessian against finite differences. A difference that straddles the kink of a ReLU is wrong:
/// there the best of some points counts, since no wrong Hessian would be right at any of them.
struct Differences {
    smooth: bool,
}

impl Visit for Differences {
    fn visit<M: SecondOrderModel + Clone, L: SecondOrderLikelihood + Clone>(
        &mut self,
        posterior: &Posterior<M, L>,
        _: &Dataset,
    ) {
        let (d, mut ws) = (posterior.dim(), posterior.workspace());
        let mut rng = ChainRng::new(4, 0);
        for beta in [0.0, 0.3, 1.0] {
            let target = Tempered::new(posterior, beta).unwrap();
            let mut least = f64::INFINITY;
            for _ in 0..if self.smooth { 1 } else { 12 } {
                let q: Vec<f64> = (0..d).map(|_| 0.7 * rng.normal()).collect();
                let error = hessian_error(&target, &q);
                least = least.min(error);
                let names = posterior.layout().block_names();
                assert!(error < 1e-7 || !self.smooth, "{error}, beta {beta}, {names:?}");
                // The matrix is symmetric, and its product with a vector is the product.
                let mut h = vec![0.0; d * d];
                posterior.neg_hessian_at(beta, &q, &mut h, &mut ws);
                let v: Vec<f64> = (0..d).map(|_| rng.normal()).collect();
                let mut hv = vec![f64::NAN; d];
                posterior.neg_hessian_product_at(beta, &q, &v, &mut hv, &mut ws);
                for i in 0..d {
                    let row = &h[i * d..(i + 1) * d];
                    let product: f64 = row.iter().zip(&v).map(|(h, v)| h * v).sum();
                    let size: f64 = row.iter().zip(&v).map(|(h, v)| (h * v).abs()).sum();
                    assert!((product - hv[i]).abs() < 1e-12 * (1.0 + size), "{product}, {}", hv[i]);
                    assert!((0..d).all(|j| h[i * d + j] == h[j * d + i]));
                }
            }
            assert!(least < 1e-7, "{least} at the best of all points, beta {beta}");
        }
    }
}

#[test]
fn hessians_of_linear_models() {
    for first in 0..5 {
        for_all_likelihoods(
            |k| Linear::new(3, k).unwrap(),
            70,
            first,
            &mut Differences { smooth: true },
        );
    }
    let without = |k| Linear::new(3, k).unwrap().without_bias();
    for_all_likelihoods(without, 9, 0, &mut Differences { smooth: true });
}

#[test]
fn hessians_of_networks() {
    for (i, activation) in Activation::ALL.iter().copied().enumerate() {
        let smooth = activation != Activation::Relu;
        for hidden in [&[4][..], &[3, 2]] {
            let model = |k| {
                let sizes = [&[3], hidden, &[k]].concat();
                Mlp::new(&sizes, activation).unwrap()
            };
            // Two tiles, the second ragged; few rows where kinks are to be missed.
            let rows = if smooth { 70 } else { 5 };
            for_all_likelihoods(model, rows, i, &mut Differences { smooth });
        }
        let squashed = |k| Mlp::new(&[3, 2, k], activation).unwrap().output_activation(activation);
        let rows = if smooth { 130 } else { 5 };
        for_all_likelihoods(squashed, rows, i, &mut Differences { smooth });
    }
    // Deep, and no hidden layer at all.
    let deep = |k| Mlp::new(&[3, 5, 4, 2, k], Activation::Tanh).unwrap();
    for_all_likelihoods(deep, 20, 0, &mut Differences { smooth: true });
    let shallow = |k| Mlp::new(&[3, k], Activation::Tanh).unwrap();
    for_all_likelihoods(shallow, 20, 1, &mut Differences { smooth: true });
}

/// Responses that one row can have, with weights under which averages are expectations under the
/// model: all classes, all counts, or the nodes of a quadrature rule that is exact for polynomials of
/// degree 5, which the products of two scores of a Gaussian are.
fn responses(
    response: &Response,
    row: usize,
    f: &[f64],
    variance: f64,
) -> Vec<(Response, Option<f64>)> {
    match response {
        Response::Classes { names, .. } => (0..names.len())
            .map(|k| (Response::Classes { index: vec![k], names: names.clone() }, None))
            .collect(),
        Response::Counts(counts) => {
            let n: f64 = counts.row(row).sum();
            let mut all = vec![vec![]];
            for _ in 1..counts.ncols() {
                all = all
                    .into_iter()
                    .flat_map(|c: Vec<f64>| {
                        let left = (n - c.iter().sum::<f64>()) as usize;
                        (0..=left).map(move |k| [&c[..], &[k as f64]].concat())
                    })
                    .collect();
            }
            all.into_iter()
                .map(|mut c| {
                    c.push(n - c.iter().sum::<f64>());
                    (Response::Counts(Array2::from_shape_vec((1, c.len()), c).unwrap()), None)
                })
                .collect()
        }
        Response::Real(_) => {
            let nodes = [(-1.0, 1.0 / 6.0), (0.0, 2.0 / 3.0), (1.0, 1.0 / 6.0)];
            let mut all = vec![(vec![], 1.0)];
            for f in f {
                all = all
                    .into_iter()
                    .flat_map(|(y, weight): (Vec<f64>, f64)| {
                        nodes.map(|(z, w)| {
                            ([&y[..], &[f + z * (3.0 * variance).sqrt()]].concat(), weight * w)
                        })
                    })
                    .collect();
            }
            all.into_iter()
                .map(|(y, w)| {
                    let y = Array2::from_shape_vec((1, y.len()), y).unwrap();
                    (Response::Real(y), Some(w))
                })
                .collect()
        }
        other => panic!("no test for {other:?}"),
    }
}

struct Expectation;

impl Visit for Expectation {
    fn enumerates(&self) -> bool {
        true
    }

    fn visit<M: SecondOrderModel + Clone, L: SecondOrderLikelihood + Clone>(
        &mut self,
        posterior: &Posterior<M, L>,
        data: &Dataset,
    ) {
        let (d, mut ws) = (posterior.dim(), posterior.workspace());
        let mut rng = ChainRng::new(6, 0);
        let q: Vec<f64> = (0..d).map(|_| 0.7 * rng.normal()).collect();
        let noise = posterior.layout().range("log_noise_variance");
        let variance = noise.map_or(0.49, |r| q[r.start].exp());
        let n_weights = posterior.model().layout().dim();
        let mut brute = vec![0.0; d * d];
        let k = posterior.model().n_outputs();
        for row in 0..data.rows() {
            let x = data.x().select(Axis(0), &[row]);
            let mut tile = vec![0.0; 8 * x.ncols()];
            x.iter().enumerate().for_each(|(j, x)| tile[8 * j] = *x);
            let (mut f, mut model_ws) = (vec![0.0; 8 * k], posterior.model().workspace());
            let (x_tile, out) = (Tile::new(&tile, 1), TileMut::new(&mut f, 1));
            posterior.model().forward(&q[..n_weights], x_tile, out, &mut model_ws);
            let f: Vec<f64> = f.iter().step_by(8).copied().collect();
            let mut total = 0.0;
            for (response, weight) in responses(data.response(), row, &f, variance) {
                let one = match response {
                    Response::Real(y) => Dataset::regression(x.clone(), y),
                    Response::Classes { index, names } => {
                        Dataset::classification(x.clone(), index, names)
                    }
                    Response::Counts(counts) => Dataset::counts(x.clone(), counts),
                    _ => unreachable!(),
                };
                // The score is the gradient of a posterior under a prior that is flat.
                let (model, likelihood) = (posterior.model(), posterior.likelihood());
                let uniform = Uniform::new(-99.0, 99.0).unwrap();
                let own = likelihood.layout();
                let flat = own
                    .blocks()
                    .iter()
                    .fold(Priors::all(uniform), |priors, block| priors.with(&block.name, uniform));
                let one =
                    Posterior::new(model.clone(), likelihood.clone(), &one.unwrap(), flat).unwrap();
                let n = one.dim();
                let mut score = vec![0.0; n];
                let density =
                    one.log_density_grad_at(1.0, &q[..n], &mut score, &mut one.workspace());
                let weight = weight.unwrap_or_else(|| density.likelihood.exp());
                total += weight;
                for i in 0..n {
                    for j in 0..n {
                        brute[i * d + j] += weight * score[i] * score[j];
                    }
                }
            }
            assert!((total - 1.0).abs() < 1e-12, "{total}");
        }
        let mut matrix = |beta: f64| {
            let mut out = vec![f64::NAN; d * d];
            posterior.fisher_at(beta, &q, &mut out, &mut ws);
            out
        };
        let (prior, hot, cold) = (matrix(0.0), matrix(0.3), matrix(1.0));
        let largest = brute.iter().fold(1.0f64, |m, b| m.max(b.abs()));
        for i in 0..d * d {
            let names = posterior.layout().block_names();
            let (found, tenth) = (cold[i] - prior[i], hot[i] - prior[i]);
            assert!((found - brute[i]).abs() < 1e-11 * largest, "{found}, {}: {names:?}", brute[i]);
            assert!((tenth - 0.3 * brute[i]).abs() < 1e-11 * largest, "{names:?}");
            assert_eq!(cold[i], cold[(i % d) * d + i / d]);
            // Priors put independent precisions in.
            assert!(prior[i] == 0.0 || i / d == i % d && prior[i] > 0.0);
        }
    }
}

#[test]
fn fisher_informations_are_expectations_of_squared_scores() {
    for first in 0..5 {
        for_all_likelihoods(|k| Linear::new(3, k).unwrap(), 5, first, &mut Expectation);
    }
    for &activation in Activation::ALL {
        let model = |k| Mlp::new(&[3, 3, 2, k], activation).unwrap();
        for_all_likelihoods(model, 67, 0, &mut Expectation);
    }
}

/// The precisions that priors have in a Fisher metric: expectations of minus the second derivative
/// under the prior itself, or one over the variance, by quadrature.
#[test]
fn precisions_of_priors_are_what_their_table_says() {
    let product = |prior: &dyn Prior, curvature, x: f64| {
        let mut hv = [1.5];
        assert!(prior.add_hessian_product(curvature, &[x], &[2.0], &mut hv));
        (1.5 - hv[0]) / 2.0
    };
    let integral = |prior: &dyn Prior, f: &dyn Fn(f64) -> f64| {
        let (n, low, high) = (400_000, -60.0, 60.0);
        let h = (high - low) / f64::from(n);
        let at = (0..n).map(|i| low + (f64::from(i) + 0.5) * h);
        at.map(|x| h * prior.log_density(&[x]).exp() * f(x)).sum::<f64>()
    };
    let by_expectation: [Box<dyn Prior>; 4] = [
        Box::new(LogHalfCauchy::new(0.7).unwrap()),
        Box::new(Normal::new(0.5, 2.0).unwrap()),
        Box::new(StudentT::new(6.0, 0.5, 1.2).unwrap()),
        Box::new(LogInverseGamma::new(2.5, 0.7).unwrap()),
    ];
    for prior in by_expectation {
        let expected = integral(&*prior, &|x| product(&*prior, Curvature::Observed, x));
        let found = product(&*prior, Curvature::Expected, 0.3);
        assert!((found / expected - 1.0).abs() < 1e-6, "{prior:?}: {found} and {expected}");
    }
    let by_variance: [(Box<dyn Prior>, f64); 2] = [
        (Box::new(Laplace::new(-1.0, 0.8).unwrap()), -1.0),
        (Box::new(Uniform::new(-1.0, 3.0).unwrap()), 1.0),
    ];
    for (prior, mean) in by_variance {
        let variance = integral(&*prior, &|x| (x - mean).powi(2));
        let found = product(&*prior, Curvature::Expected, 0.3);
        assert!((found * variance - 1.0).abs() < 1e-4, "{prior:?}: {found}");
        assert_eq!(product(&*prior, Curvature::Observed, 0.3), 0.0);
    }
    // In the far tail nothing overflows.
    let t = StudentT::new(3.0, 0.0, 1.0).unwrap();
    assert_eq!(product(&t, Curvature::Observed, 1e200), 0.0);
}

#[test]
fn hierarchies_have_their_expected_precision() {
    let data = &data_sets(5, 4)[0];
    let variance = LogInverseGamma::new(2.0, 1.0).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap()).hierarchical("w*", "s", variance);
    let model = Mlp::new(&[3, 2, 1], Activation::Tanh).unwrap();
    let posterior = Posterior::new(model, Gaussian::fixed(1.0).unwrap(), data, priors).unwrap();
    let d = posterior.dim();
    let mut q = vec![0.3; d];
    q[d - 1] = -0.5;
    let mut fisher = vec![0.0; d * d];
    posterior.fisher_at(0.0, &q, &mut fisher, &mut posterior.workspace());
    // w0 has 6 weights, b0 2, w1 2, b1 1: n = 8 under s. The shape of its own prior is 2.
    assert!((fisher[0] - 0.5f64.exp()).abs() < 1e-14 && fisher[6 * d + 6] == 1.0);
    assert_eq!(fisher[d * d - 1], 8.0 / 2.0 + 2.0);
    assert_eq!(fisher[d - 1], 0.0);
}

/// One scale for each column of the first layer, half-Cauchy around a common one.
#[test]
fn priors_with_scales_of_inputs_have_their_hessian_and_expected_precision() {
    let data = &data_sets(5, 4)[0];
    let model = Mlp::new(&[3, 2, 1], Activation::Tanh).unwrap();
    let hyper = || LogInverseGamma::new(2.0, 1.0).unwrap();
    let fixed = || Gaussian::fixed(1.0).unwrap();
    let normal = || Priors::all(Normal::new(0.0, 1.0).unwrap());
    let ard = normal().ard("w0", "s", hyper());
    let horseshoe = normal().horseshoe("w0", "s", "t", hyper());
    let mut rng = ChainRng::new(17, 0);
    for (priors, extra) in [(ard, 3), (horseshoe, 4)] {
        let posterior = Posterior::new(model.clone(), fixed(), data, priors).unwrap();
        let (d, mut ws) = (posterior.dim(), posterior.workspace());
        assert_eq!(d, 11 + extra);
        for _ in 0..5 {
            let q: Vec<f64> = (0..d).map(|_| rng.normal()).collect();
            for beta in [0.0, 1.0] {
                let target = Tempered::new(&posterior, beta).unwrap();
                let error = hessian_error(&target, &q);
                assert!(error < 1e-7, "{error}, beta {beta}, {extra}");
            }
            let mut fisher = vec![0.0; d * d];
            posterior.fisher_at(0.0, &q, &mut fisher, &mut ws);
            // Two weights of each input, in rows of three.
            for k in 0..6 {
                assert!((fisher[k * d + k] - (-q[11 + k % 3]).exp()).abs() < 1e-13);
            }
            let scale = if extra == 3 { 2.0 } else { 0.125 };
            for j in 11..14 {
                assert_eq!(fisher[j * d + j], 2.0 / 2.0 + scale);
                assert!(extra == 3 || fisher[j * d + 14] == -0.125 && fisher[14 * d + j] == -0.125);
            }
            assert!(extra == 3 || fisher[14 * d + 14] == 2.0 + 3.0 * 0.125);
        }
    }
}

/// At beta = 0 only the prior counts, also where the likelihood is not finite.
#[test]
fn a_likelihood_to_the_power_zero_does_not_enter() {
    let mut far = data_sets(5, 4)[0].clone();
    if let Response::Real(y) = far.response() {
        far = Dataset::regression(far.x() * 1e200, y.clone()).unwrap();
    }
    let normal = Normal::new(0.0, 0.5).unwrap();
    let priors = Priors::all(normal).with("log_noise_variance", normal);
    let model = Mlp::new(&[3, 2, 1], Activation::Softplus).unwrap();
    let posterior = Posterior::new(model, Gaussian::sampled(), &far, priors).unwrap();
    let (d, mut ws) = (posterior.dim(), posterior.workspace());
    let mut q = vec![1e120; d];
    q[d - 1] = -800.0;
    assert!(!posterior.log_density(&q, &mut ws).likelihood.is_finite());
    let (mut h, mut f, mut hv) = (vec![0.0; d * d], vec![0.0; d * d], vec![0.0; d]);
    posterior.neg_hessian_at(1.0, &q, &mut h, &mut ws);
    assert!(h.iter().any(|h| !h.is_finite()));
    posterior.neg_hessian_at(0.0, &q, &mut h, &mut ws);
    posterior.fisher_at(0.0, &q, &mut f, &mut ws);
    posterior.neg_hessian_product_at(0.0, &q, &vec![1.0; d], &mut hv, &mut ws);
    for i in 0..d * d {
        let identity = if i % (d + 1) == 0 { 4.0 } else { 0.0 };
        assert_eq!((h[i], f[i]), (identity, identity));
    }
    assert_eq!(hv, vec![4.0; d]);
}

#[test]
fn extreme_logits_have_finite_curvature() {
    let x = ndarray::array![[1e4], [-1e4], [0.1]];
    let class = |k: usize| {
        let names = (0..k).map(|i| i.to_string());
        Dataset::classification(x.clone(), vec![0, 1, 1], names).unwrap()
    };
    let counts = |k: usize| {
        Dataset::counts(x.clone(), Array2::from_shape_fn((3, k), |(i, j)| (1 + i + j) as f64))
            .unwrap()
    };
    fn finite<L: SecondOrderLikelihood>(likelihood: L, k: usize, data: &Dataset) {
        let model = Linear::new(1, k).unwrap();
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
        let posterior = Posterior::new(model, likelihood, data, priors).unwrap();
        let (d, mut ws) = (posterior.dim(), posterior.workspace());
        let q: Vec<f64> = (0..d).map(|i| [1.0, -1.0, 0.5, 1.5][i % 4]).collect();
        let (mut h, mut f) = (vec![0.0; d * d], vec![0.0; d * d]);
        posterior.neg_hessian_at(1.0, &q, &mut h, &mut ws);
        posterior.fisher_at(1.0, &q, &mut f, &mut ws);
        assert!(h.iter().chain(&f).all(|h| h.is_finite()), "{h:?}");
        assert_eq!(h, f, "the same where outputs are logits of a linear model");
        assert!((0..d).all(|i| h[i * d + i] >= 1.0));
    }
    finite(Bernoulli, 1, &class(2));
    finite(Categorical, 2, &class(2));
    finite(Categorical, 3, &class(3));
    finite(Binomial, 1, &counts(2));
    finite(Multinomial, 3, &counts(3));
}

#[test]
fn blocks_have_the_submatrix_and_gaussians_their_precision() {
    let data = &data_sets(9, 4)[1];
    let priors = priors(&Gaussian::sampled().layout()).swap_remove(4);
    let model = Mlp::new(&[3, 2, 2], Activation::Silu).unwrap();
    let posterior = Posterior::new(model, Gaussian::sampled(), data, priors).unwrap();
    let mut rng = ChainRng::new(3, 0);
    let q: Vec<f64> = (0..posterior.dim()).map(|_| 0.5 * rng.normal()).collect();
    let view = Conditioned::new(&posterior, &["b0", "w1", "log_variance"]).unwrap();
    let mut ws = view.workspace();
    ws.q.copy_from_slice(&q);
    let (mut part, mut full) = (vec![0.0; view.dim()], vec![0.0; q.len() * q.len()]);
    view.gather(&q, &mut part);
    let mut matrix = vec![0.0; part.len() * part.len()];
    for fisher in [false, true] {
        let mut base = posterior.workspace();
        if fisher {
            view.fisher_at(0.7, &part, &mut matrix, &mut ws);
            posterior.fisher_at(0.7, &q, &mut full, &mut base);
        } else {
            view.neg_hessian_at(0.7, &part, &mut matrix, &mut ws);
            posterior.neg_hessian_at(0.7, &q, &mut full, &mut base);
        }
        for (i, a) in view.coordinates().iter().enumerate() {
            for (j, b) in view.coordinates().iter().enumerate() {
                assert_eq!(matrix[i * part.len() + j], full[a * q.len() + b]);
            }
        }
    }
    let target = GaussianTarget::new(vec![0.0, 1.0], &[2.0, 0.5, 0.5, 1.0]).unwrap();
    assert!(hessian_error(&target, &[0.3, -1.0]) < 1e-8);
    let mut fisher = [0.0; 4];
    target.fisher_at(0.5, &[9.0, 9.0], &mut fisher, &mut target.workspace());
    for (f, expected) in fisher.iter().zip([1.0, -0.5, -0.5, 2.0]) {
        assert!((f - 0.5 * expected / 1.75).abs() < 1e-15);
    }
}

/// A prior of three methods, as a user writes it.
#[derive(Debug)]
struct Own;

impl Prior for Own {
    fn log_density(&self, x: &[f64]) -> f64 {
        -x.iter().map(|x| x.powi(4)).sum::<f64>()
    }
    fn add_grad(&self, x: &[f64], grad: &mut [f64]) -> f64 {
        grad.iter_mut().zip(x).for_each(|(g, x)| *g -= 4.0 * x.powi(3));
        self.log_density(x)
    }
    fn draw(&self, _: &mut ChainRng, x: &mut [f64]) -> Result<(), Error> {
        x.fill(0.1);
        Ok(())
    }
}

#[test]
fn a_prior_without_curvature_is_refused_by_name() {
    let data = &data_sets(9, 4)[0];
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap()).with("b", Own);
    let model = Linear::new(3, 1).unwrap();
    let posterior = Posterior::new(model, Gaussian::fixed(1.0).unwrap(), data, priors).unwrap();
    for error in [posterior.check_hessian(), posterior.check_fisher()] {
        refused!(error, Prior {});
    }
}

#[test]
fn a_wrong_hessian_is_noticed() {
    struct Wrong(GaussianTarget);
    impl Target for Wrong {
        type Workspace = Vec<f64>;
        fn dim(&self) -> usize {
            self.0.dim()
        }
        fn workspace(&self) -> Vec<f64> {
            self.0.workspace()
        }
        fn log_density(&self, q: &[f64], ws: &mut Vec<f64>) -> LogDensity {
            self.0.log_density(q, ws)
        }
    }
    impl GradTarget for Wrong {
        fn log_density_grad(&self, q: &[f64], g: &mut [f64], ws: &mut Vec<f64>) -> LogDensity {
            self.0.log_density_grad(q, g, ws)
        }
    }
    impl HessTarget for Wrong {
        fn neg_hessian_at(&self, beta: f64, q: &[f64], out: &mut [f64], ws: &mut Vec<f64>) {
            self.0.neg_hessian_at(beta, q, out, ws);
            out[1] += 1e-3;
        }
    }
    let target = GaussianTarget::standard(2).unwrap();
    assert!(hessian_error(&target, &[0.3, -1.0]) < 1e-9);
    assert!(hessian_error(&Wrong(target), &[0.3, -1.0]) > 1e-4);
}
