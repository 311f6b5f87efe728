//! Gradients of every model x likelihood x prior against finite differences.

use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::PowerGradTarget;
use bnn_mcmc::testing::gradient_error;
use ndarray::Array2;
use shared::refused;

use super::fixtures::{data_sets, priors};

const ACTIVATIONS: [Activation; 6] = [
    Activation::Identity,
    Activation::Sigmoid,
    Activation::Tanh,
    Activation::Relu,
    Activation::Softplus,
    Activation::Silu,
];

/// Checks the gradient at some random points. A finite difference that straddles the kink of a ReLU
/// is wrong, so for networks that are not `smooth` the best of many points on few rows counts: no
/// wrong gradient would be right at any of them.
fn check<M: Model + Clone, L: Likelihood + Clone>(
    model: &M,
    likelihood: L,
    data: &Dataset,
    smooth: bool,
) {
    for priors in priors(&likelihood.layout()) {
        let posterior = Posterior::new(model.clone(), likelihood.clone(), data, priors).unwrap();
        let mut rng = ChainRng::new(4, 0);
        let mut least = f64::INFINITY;
        for _ in 0..if smooth { 2 } else { 12 } {
            let q: Vec<f64> = (0..posterior.dim()).map(|_| 0.7 * rng.normal()).collect();
            let error = gradient_error(&posterior, &q);
            least = least.min(error);
            let names = posterior.layout().block_names();
            assert!(error < 1e-7 || !smooth, "{error} for {names:?}");
            // The value that comes with the gradient is that of the log density alone.
            let mut ws = posterior.workspace();
            let both = posterior.log_density_grad(&q, &mut vec![0.0; q.len()], &mut ws);
            let alone = posterior.log_density(&q, &mut ws);
            approx::assert_relative_eq!(both.likelihood, alone.likelihood, max_relative = 1e-12);
            approx::assert_relative_eq!(both.prior, alone.prior, max_relative = 1e-12);
        }
        assert!(least < 1e-7, "{least} at the best of all points");
    }
}

fn check_all_likelihoods<M: Model + Clone>(model: impl Fn(usize) -> M, smooth: bool) {
    for data in &data_sets(70, 7) {
        let data = if smooth { data } else { &data.select(&[0, 1, 2, 3, 4, 5, 6, 7, 8]).unwrap() };
        match data.response() {
            Response::Real(y) => {
                check(&model(y.ncols()), Gaussian::sampled(), data, smooth);
                check(&model(y.ncols()), Gaussian::fixed(0.7).unwrap(), data, smooth);
                check(&model(2 * y.ncols()), HeteroscedasticGaussian, data, smooth);
                let t = StudentTNoise::sampled();
                check(&model(y.ncols()), t, data, smooth);
                // Where a scale is small, finite differences are not exact enough.
                check(&model(2 * y.ncols()), StudentTNoise::heteroscedastic(), data, false);
                check(&model(y.ncols()), t.with_degrees_of_freedom(3.0).unwrap(), data, smooth);
                check(&model(y.ncols()), t.with_scale(0.6).unwrap(), data, smooth);
                let shares = y.mapv(|y| 1.0 / (1.0 + (-y).exp()));
                let shares = Dataset::regression(data.x().clone(), shares).unwrap();
                check(&model(y.ncols()), Beta, &shares, smooth);
            }
            Response::Classes { names, .. } => {
                if names.len() == 2 {
                    check(&model(1), Bernoulli, data, smooth);
                }
                check(&model(names.len()), Categorical, data, smooth);
                let ordinal = Ordinal::new(names.len()).unwrap();
                check(&model(1), ordinal, data, smooth);
                check(&model(1), ordinal.with_first_cutpoint(-0.4).unwrap(), data, smooth);
            }
            Response::Counts(counts) if counts.ncols() == 1 => {
                check(&model(1), Poisson, data, smooth);
                check(&model(1), NegativeBinomial::sampled(), data, smooth);
                check(&model(1), NegativeBinomial::fixed(1.7).unwrap(), data, smooth);
                let mut zeros = counts.column(0).to_owned();
                zeros.iter_mut().step_by(2).for_each(|y| *y = 0.0);
                let zeros = Dataset::counts(data.x().clone(), zeros).unwrap();
                check(&model(1), ZeroInflated::poisson(), &zeros, smooth);
                check(&model(1), ZeroInflated::negative_binomial(), &zeros, smooth);
                check(&model(1), Hurdle::poisson(), &zeros, smooth);
                check(&model(1), Hurdle::negative_binomial(), &zeros, smooth);
            }
            Response::Counts(counts) => {
                if counts.ncols() == 2 {
                    check(&model(1), Binomial, data, smooth);
                }
                check(&model(counts.ncols()), Multinomial, data, smooth);
            }
            other => panic!("no test for {other:?}"),
        }
    }
}

#[test]
fn linear_models_under_every_likelihood_and_prior() {
    check_all_likelihoods(|k| Linear::new(3, k).unwrap(), true);
}

#[test]
fn networks_under_every_likelihood_prior_and_activation() {
    for activation in ACTIVATIONS {
        let smooth = activation != Activation::Relu;
        check_all_likelihoods(|k| Mlp::new(&[3, 4, k], activation).unwrap(), smooth);
    }
    check_all_likelihoods(|k| Mlp::new(&[3, 5, 4, 2, k], Activation::Tanh).unwrap(), true);
}

#[test]
fn a_wrong_gradient_is_noticed() {
    struct Wrong(Posterior<Linear, Gaussian>);
    impl Target for Wrong {
        type Workspace = <Posterior<Linear, Gaussian> as Target>::Workspace;
        fn dim(&self) -> usize {
            self.0.dim()
        }
        fn workspace(&self) -> Self::Workspace {
            self.0.workspace()
        }
        fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
            self.0.log_density(q, ws)
        }
    }
    impl GradTarget for Wrong {
        fn log_density_grad(
            &self,
            q: &[f64],
            grad: &mut [f64],
            ws: &mut Self::Workspace,
        ) -> LogDensity {
            let log_density = self.0.log_density_grad(q, grad, ws);
            grad[1] += 1e-3 * (1.0 + grad[0].abs());
            log_density
        }
    }
    let data = &data_sets(70, 7)[0];
    let priors = priors(&Gaussian::sampled().layout()).swap_remove(0);
    let posterior =
        Posterior::new(Linear::new(3, 1).unwrap(), Gaussian::sampled(), data, priors).unwrap();
    assert!(gradient_error(&Wrong(posterior), &[0.1, 0.2, 0.3, 0.4, 0.5]) > 1e-5);
}

#[test]
fn a_posterior_refuses_what_does_not_fit_together() {
    let data = &data_sets(70, 7)[3];
    let normal = || Normal::new(0.0, 1.0).unwrap();
    let build = |model: Mlp, priors| Posterior::new(model, Categorical, data, priors);
    let mlp = |sizes: &[usize]| Mlp::new(sizes, Activation::Tanh).unwrap();
    let inputs = build(mlp(&[4, 2, 3]), Priors::all(normal()));
    refused!(inputs, Shape { found: 3, expected: 4 });
    let outputs = build(mlp(&[3, 2, 4]), Priors::all(normal()));
    refused!(outputs, Shape { found: 4, expected: 3 });
    // The words name `b0`, and all blocks there are.
    let uncovered = build(mlp(&[3, 2, 3]), Priors::new().with("w*", normal()));
    refused!(uncovered, Prior {});
    let misspelt = build(mlp(&[3, 2, 3]), Priors::all(normal()).with("W0", normal()));
    refused!(misspelt, Prior {});
}

/// So many rows that they are cut into shares: the gradient is the sum of those of parts that are not, and has the
/// same bits on any number of threads.
#[test]
fn gradients_by_many_rows_are_sums_of_parts_on_any_number_of_threads() {
    let (rows, parts) = (90_000, 9);
    let mut rng = ChainRng::new(22, 0);
    let x = Array2::from_shape_fn((rows, 4), |_| rng.normal());
    let y = Array2::from_shape_fn((rows, 1), |(i, _)| x[(i, 0)].sin() + 0.3 * rng.normal());
    let posterior = |rows: std::ops::Range<usize>| {
        let part = |of: &Array2<f64>| of.slice(ndarray::s![rows.clone(), ..]).to_owned();
        let data = Dataset::regression(part(&x), part(&y)).unwrap();
        let network = Mlp::new(&[4, 40, 1], Activation::Tanh).unwrap();
        let priors = priors(&Gaussian::sampled().layout()).swap_remove(0);
        Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap()
    };
    let whole = posterior(0..rows);
    let q: Vec<f64> = (0..whole.dim()).map(|_| 0.3 * rng.normal()).collect();
    let mut grad = vec![0.0; q.len()];
    let mut sum = vec![0.0; q.len()];
    let mut likelihood = 0.0;
    for part in 0..parts {
        let part = posterior(part * rows / parts..(part + 1) * rows / parts);
        let target = part.log_likelihood();
        likelihood += target.log_density_grad(&q, &mut grad, &mut target.workspace()).likelihood;
        sum.iter_mut().zip(&grad).for_each(|(sum, g)| *sum += g);
    }
    let scale = sum.iter().map(|g| g.abs()).fold(0.0, f64::max);
    let target = whole.log_likelihood();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (mut grad, mut ws) = (vec![0.0; q.len()], target.workspace());
        let densities = pool.install(|| {
            let of_gradient = target.log_density_grad(&q, &mut grad, &mut ws).likelihood;
            [of_gradient, target.log_density(&q, &mut ws).likelihood]
        });
        (densities, grad)
    };
    let (densities, grad) = on(1);
    for density in densities {
        assert!((density / likelihood - 1.0).abs() < 1e-13, "{density} {likelihood}");
    }
    for (g, sum) in grad.iter().zip(&sum) {
        assert!((g - sum).abs() < 1e-12 * scale, "{g} {sum}");
    }
    for threads in [2, 3, 8] {
        assert_eq!(on(threads), (densities, grad.clone()));
    }

    // The powers of the likelihood: beta 0 is the prior alone.
    let at = |beta| {
        let mut grad = vec![0.0; q.len()];
        let density = whole.log_density_grad_at(beta, &q, &mut grad, &mut whole.workspace());
        assert!((density.likelihood / likelihood - 1.0).abs() < 1e-13);
        grad
    };
    for ((g, prior), sum) in at(0.3).iter().zip(at(0.0)).zip(&sum) {
        assert!((g - prior - 0.3 * sum).abs() < 1e-12 * scale, "{g} {prior} {sum}");
    }
}
