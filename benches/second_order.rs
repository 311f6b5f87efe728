//! What second derivatives cost, in gradients, and what SMMALA makes of them.
//!
//!     cargo bench --bench second_order            (costs)
//!     cargo bench --bench second_order -- ess     (effective draws per second of processor time)

use std::hint::black_box;

use bnn_mcmc::data::{Standardise, bundled};
use bnn_mcmc::likelihood::SecondOrderLikelihood;
use bnn_mcmc::model::SecondOrderModel;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Fisher, Kernel, Smmala, SoftAbs};
use bnn_mcmc::targets::{FisherTarget, HessTarget, Point, Tempered};
use bnn_mcmc::testing::GaussianTarget;
use problems::machine::median_seconds;

fn step_seconds<'t, T: Target, A: Algorithm<&'t T>>(target: &'t T, algorithm: &A) -> f64 {
    let mut rng = ChainRng::new(1, 0);
    let mut kernel = algorithm.kernel(&target, &rng).unwrap();
    let (mut ws, mut point) = (target.workspace(), Point::new(target.dim()));
    point.set(|q| rng.fill_normal(q));
    point.eval(&target, &mut ws);
    median_seconds(|| {
        kernel.step(&target, &mut point, &mut ws, &mut rng);
    })
}

fn costs<M: SecondOrderModel, L: SecondOrderLikelihood>(name: &str, posterior: &Posterior<M, L>) {
    let (d, mut ws) = (posterior.dim(), posterior.workspace());
    let mut rng = ChainRng::new(1, 0);
    let (mut q, mut v, mut out) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
    rng.fill_normal(&mut q);
    rng.fill_normal(&mut v);
    let mut matrix = vec![0.0; d * d];
    let gradient = median_seconds(|| {
        black_box(posterior.log_density_grad(black_box(&q), &mut out, &mut ws));
    });
    let product = median_seconds(|| {
        posterior.neg_hessian_product_at(1.0, black_box(&q), &v, &mut out, &mut ws);
    });
    let hessian =
        median_seconds(|| posterior.neg_hessian_at(1.0, black_box(&q), &mut matrix, &mut ws));
    let fisher = median_seconds(|| posterior.fisher_at(1.0, black_box(&q), &mut matrix, &mut ws));
    let step_size = 1e-3;
    let mala = step_seconds(posterior, &Mala { step_size, ..Mala::default() });
    let soft = step_seconds(posterior, &Smmala { step_size, ..Smmala::<SoftAbs>::default() });
    let metric = step_seconds(posterior, &Smmala { step_size, ..Smmala::new(Fisher) });
    println!(
        "{name:22} {d:4} {:9.1} {:8.2} {:8.1} {:8.1} {:9.1} {:9.1} {:9.1}",
        gradient * 1e6,
        product / gradient,
        hessian / gradient,
        fisher / gradient,
        mala * 1e6,
        soft * 1e6,
        metric * 1e6,
    );
}

/// Effective draws per second of processor time: the smallest bulk ESS of the predictions.
fn effective<'t, M, L, A>(
    name: &str,
    posterior: &'t Posterior<M, L>,
    data: &Dataset,
    a: A,
    [n, thin]: [usize; 2],
) where
    M: SecondOrderModel,
    L: SecondOrderLikelihood,
    A: Algorithm<&'t Posterior<M, L>> + Clone,
{
    for seed in [1, 2] {
        let start = cpu_time::ProcessTime::now();
        let sampler =
            Sampler::new(posterior, a.clone()).warmup(n * thin / 2).draws(n).thin(thin).seed(seed);
        let draws = sampler.run().unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let summary = posterior.predict(&draws, data).unwrap().summary().unwrap();
        let (ess, r_hat) = (summary.min_ess_bulk(), summary.max_rhat());
        let accept = draws.accept_rate().iter().sum::<f64>() / 4.0;
        let step = draws.stat("step_size").unwrap().mean().unwrap();
        println!(
            "{name:28} ESS {ess:7.0}, {:8.1} /s, {:6.1} per 1,000 steps, R-hat {r_hat:.3}, \
             accept {accept:.2}, step {step:.3}, {seconds:.1} s",
            ess / seconds,
            ess / (4 * n * thin) as f64 * 1e3
        );
    }
}

/// As [`effective`], of the parameters themselves.
fn effective_parameters<'t, T: Target, A: Algorithm<&'t T>>(
    name: &str,
    target: &'t T,
    algorithm: A,
    n: usize,
) {
    let start = cpu_time::ProcessTime::now();
    let draws = Sampler::new(target, algorithm).warmup(n / 2).draws(n).seed(1).run().unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let summary = draws.summary().unwrap();
    let (ess, r_hat) = (summary.min_ess_bulk(), summary.max_rhat());
    let step = draws.stat("step_size").unwrap().mean().unwrap();
    println!(
        "{name:28} ESS {ess:7.0}, {:8.1} /s, {:6.1} per 1,000 steps, R-hat {r_hat:.3}, \
         step {step:.3}",
        ess / seconds,
        ess / (4 * n) as f64 * 1e3
    );
}

/// A hierarchical prior alone: a funnel of `weights` + 1 dimensions.
fn funnel(weights: usize) {
    let x = ndarray::Array2::zeros((1, weights));
    let data = Dataset::regression(x, ndarray::array![[0.0]]).unwrap();
    let hyper = LogInverseGamma::new(1.0, 1.0).unwrap();
    let priors = Priors::new().hierarchical("w", "log_variance", hyper);
    let model = Linear::new(weights, 1).unwrap().without_bias();
    let posterior = Posterior::new(model, Gaussian::fixed(1.0).unwrap(), &data, priors).unwrap();
    let prior = Tempered::new(&posterior, 0.0).unwrap();
    println!("\nhierarchical normal, {} parameters", prior.dim());
    effective_parameters("MALA", &prior, Mala::default(), 40_000);
    for alpha in [0.1, 1.0, 10.0] {
        let soft = Smmala::new(SoftAbs { alpha });
        effective_parameters(&format!("SMMALA SoftAbs {alpha}"), &prior, soft, 10_000);
    }
    effective_parameters("SMMALA Fisher", &prior, Smmala::new(Fisher), 10_000);
}

/// A normal with standard deviations from 0.001 to 1,000, where every metric is constant.
fn normal(dim: usize) {
    let mut covariance = vec![0.0; dim * dim];
    for i in 0..dim {
        let exponent = 6.0 * i as f64 / (dim - 1) as f64 - 3.0;
        covariance[i * dim + i] = 10f64.powf(2.0 * exponent);
    }
    let target = GaussianTarget::new(vec![0.0; dim], &covariance).unwrap();
    println!("\nnormal, {dim} parameters");
    effective_parameters("MALA", &target, Mala::default(), 20_000);
    effective_parameters("SMMALA SoftAbs 1e8", &target, Smmala::new(SoftAbs { alpha: 1e8 }), 5_000);
    effective_parameters("SMMALA Fisher", &target, Smmala::new(Fisher), 5_000);
}

fn comparison<M: SecondOrderModel, L: SecondOrderLikelihood>(
    name: &str,
    posterior: &Posterior<M, L>,
    data: &Dataset,
    [mala, smmala]: [[usize; 2]; 2],
) {
    println!("\n{name}, {} parameters", posterior.dim());
    effective("MALA", posterior, data, Mala::default(), mala);
    for alpha in [0.1, 1.0, 10.0] {
        let soft = Smmala::new(SoftAbs { alpha });
        effective(&format!("SMMALA SoftAbs {alpha}"), posterior, data, soft, smmala);
    }
    effective("SMMALA Fisher", posterior, data, Smmala::new(Fisher), smmala);
}

fn main() {
    let standard = |data: Dataset| {
        Standardise::new()
            .allow_constant()
            .fit_features(&data)
            .unwrap()
            .scale_features(&data)
            .unwrap()
    };
    let x = ndarray::array![[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
    let xor = Dataset::classification(x, vec![0, 1, 1, 0], ["0", "1"]).unwrap();
    let (iris, ionosphere) = (standard(bundled::iris()), standard(bundled::ionosphere()));
    let priors = |sd| Priors::all(Normal::new(0.0, sd).unwrap());
    let mlp = |sizes: &[usize], activation| Mlp::new(sizes, activation).unwrap();
    let sigmoid = Activation::Sigmoid;
    let tanh = Activation::Tanh;
    let small = Posterior::new(mlp(&[2, 2, 1], sigmoid), Bernoulli, &xor, priors(10f64.sqrt()));
    let small = small.unwrap();
    let three = Posterior::new(mlp(&[4, 3, 3], sigmoid), Categorical, &iris, priors(1.0)).unwrap();
    let ten = Posterior::new(mlp(&[4, 10, 3], tanh), Categorical, &iris, priors(1.0)).unwrap();
    let wide = mlp(&[34, 10, 1], tanh);
    let wide = Posterior::new(wide, Bernoulli, &ionosphere, priors(1.0)).unwrap();
    let linear = Linear::new(34, 1).unwrap();
    let linear = Posterior::new(linear, Bernoulli, &ionosphere, priors(1.0)).unwrap();
    if std::env::args().any(|a| a == "ess") {
        normal(35);
        funnel(2);
        funnel(10);
        comparison("xor, MLP 2-2-1 sigmoid", &small, &xor, [[40_000, 1], [10_000, 1]]);
        comparison("ionosphere, linear", &linear, &ionosphere, [[5_000, 4], [2_500, 1]]);
        comparison("iris, MLP 4-3-3 sigmoid", &three, &iris, [[5_000, 40], [5_000, 2]]);
        comparison("iris, MLP 4-10-3 tanh", &ten, &iris, [[5_000, 20], [2_500, 1]]);
        return;
    }
    println!("costs in gradients; a gradient and the steps in microseconds\n");
    println!(
        "{:22} {:>4} {:>9} {:>8} {:>8} {:>8} {:>9} {:>9} {:>9}",
        "", "d", "gradient", "product", "Hessian", "Fisher", "MALA", "SoftAbs", "Fisher"
    );
    costs("xor, 2-2-1", &small);
    costs("iris, 4-3-3", &three);
    costs("ionosphere, linear", &linear);
    costs("iris, 4-10-3", &ten);
    costs("ionosphere, 34-10-1", &wide);
}
