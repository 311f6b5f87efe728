//! Kernels on networks with a linear part and sampled scales leave the joint distribution of parameters and responses
//! unchanged: q from the prior, a response given q, some steps, and q is from the prior again. The output layer is
//! integrated out or not. The responses come from plain loops that share nothing with the models.

use bnn_mcmc::model::{NonCentred, Skip};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel};
use bnn_mcmc::targets::Point;

use ndarray::Array2;

use crate::fixtures::worst_of;

const ROWS: usize = 12;

type Network = Skip<NonCentred<Mlp>>;

/// 2-3-1 with a scale for each input, and a linear part.
fn network() -> Network {
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    Skip::new(NonCentred::new(network).by_column("w0", "log_relevance", &["a", "b"]).unwrap())
        .unwrap()
}

fn features() -> Array2<f64> {
    Array2::from_shape_fn((ROWS, 2), |(i, j)| ((3 * i + 5 * j) % 12) as f64 / 5.5 - 1.0)
}

fn posterior(y: &[f64]) -> Posterior<Network, Gaussian> {
    let y = Array2::from_shape_vec((ROWS, 1), y.to_vec()).unwrap();
    let data = Dataset::regression(features(), y).unwrap();
    let half_t = || LogHalfT::new(6.0, 0.8).unwrap();
    let normal = |sd| Normal::new(0.1, sd).unwrap();
    let priors = Priors::all(normal(0.7))
        .with("log_relevance", half_t())
        .hierarchical("w1", "log_output_variance", half_t())
        .hierarchical("skip", "log_skip_variance", half_t())
        .with("log_noise_variance", Normal::new(-3.0, 0.4).unwrap());
    Posterior::new(network(), Gaussian::sampled(), &data, priors).unwrap()
}

/// A response given q. `power` is 1/2 in the model: scales are roots of variances.
fn response(
    q: &[f64],
    power: f64,
    rng: &mut ChainRng,
    layout: &bnn_mcmc::layout::Layout,
) -> Vec<f64> {
    let of = |name: &str| &q[layout.range(name).unwrap()];
    let (w0, b0, w1, b1, v) = (of("w0"), of("b0"), of("w1"), of("b1"), of("skip"));
    let scale: Vec<f64> = of("log_relevance").iter().map(|s| (power * s).exp()).collect();
    let sd = (0.5 * of("log_noise_variance")[0]).exp();
    let row = |x: ndarray::ArrayView1<f64>| {
        let unit = |k: usize| {
            let z: f64 = (0..2).map(|j| scale[j] * w0[2 * k + j] * x[j]).sum();
            (z + b0[k]).tanh()
        };
        let hidden: f64 = (0..3).map(|k| w1[k] * unit(k)).sum();
        hidden + v[0] * x[0] + v[1] * x[1] + b1[0]
    };
    features().rows().into_iter().map(|x| row(x) + sd * rng.normal()).collect()
}

/// The largest |z| of the means of q' - q and q'^2 - q^2, and the smallest p-value of Kolmogorov-Smirnov tests of q'
/// against fresh draws of the prior.
fn joint<A>(algorithm: &A, power: f64) -> (f64, f64)
where
    A: for<'t> Algorithm<&'t Posterior<Network, Gaussian>>,
{
    let replicates = 3_000;
    let any = posterior(&[0.0; ROWS]);
    let d = any.dim();
    let columns = || vec![Vec::with_capacity(replicates); d];
    let (mut after, mut fresh, mut moves) = (columns(), columns(), vec![Vec::new(); 2 * d]);
    let mut rng = ChainRng::new(8, 0);
    let (mut q, mut other) = (vec![0.0; d], vec![0.0; d]);
    for _ in 0..replicates {
        any.draw_prior(&mut rng, &mut q).unwrap();
        any.draw_prior(&mut rng, &mut other).unwrap();
        let target = posterior(&response(&q, power, &mut rng, any.layout()));
        let mut kernel = algorithm.kernel(&&target, &rng).unwrap();
        kernel.freeze();
        let (mut ws, mut point) = (target.workspace(), Point::new(d));
        point.set(|to| to.copy_from_slice(&q));
        point.eval(&&target, &mut ws);
        for _ in 0..6 {
            kernel.step(&&target, &mut point, &mut ws, &mut rng);
        }
        for i in 0..d {
            let (new, old) = (point.q()[i], q[i]);
            moves[i].push(new - old);
            moves[d + i].push(new * new - old * old);
            after[i].push(new);
            fresh[i].push(other[i]);
        }
    }
    worst_of(&moves, after, fresh)
}

fn hmc(step_size: f64) -> Hmc {
    Hmc { step_size, path_length: 3.0 * step_size, ..Hmc::default() }
}

/// At most 40 means and 20 distributions per case: |z| < 5 and p > 1e-6 leave a right kernel a chance of 5e-5 to fail.
fn assert_passes<A>(what: &str, algorithm: A)
where
    A: for<'t> Algorithm<&'t Posterior<Network, Gaussian>>,
{
    let (z, p) = joint(&algorithm, 0.5);
    assert!(z < 5.0 && p > 1e-6, "{what}: {z} {p}");
}

#[test]
fn networks_with_parts_are_sampled_in_all_coordinates() {
    assert_passes("HMC", hmc(0.1));
    let mams = Mams { step_size: 0.3, path_length: Some(1.2), ..Mams::default() };
    assert_passes("MAMS", mams);
}

#[test]
fn networks_with_parts_are_sampled_with_the_output_layer_integrated_out() {
    for step_size in [0.12, 0.35] {
        assert_passes("collapsed HMC", Collapsed::new(hmc(step_size)));
    }
    // Beside kernels that move all coordinates, and another of its kind.
    let mala = Mala { step_size: 0.1, adapt_step_size: false, ..Mala::default() };
    assert_passes("after MALA", Cycle(mala, Collapsed::new(hmc(0.25))));
    let nuts = Nuts { step_size: 0.25, max_depth: 4, ..Nuts::default() };
    assert_passes("two", Cycle(Collapsed::new(nuts), Collapsed::new(hmc(0.6))));
}

#[test]
fn scales_of_the_other_sign_are_noticed() {
    for z in [joint(&Collapsed::new(hmc(0.35)), -0.5).0, joint(&hmc(0.1), -0.5).0] {
        assert!(z > 6.0, "{z}");
    }
}
