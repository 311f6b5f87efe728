//! Kernels on networks with a linear part, sampled scales and models of the noise leave the joint distribution of
//! parameters and responses unchanged: q from the prior, a response given q, some steps, and q is from the prior again.
//! The output layer is integrated out or not. The responses come from plain loops that share nothing with the models.

use bnn_mcmc::fit::AnyLikelihood;
use bnn_mcmc::likelihood::StudentTNoise;
use bnn_mcmc::model::{LogSd, NonCentred, Skip};
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel};
use bnn_mcmc::targets::{Point, Tempered};

use ndarray::Array2;

use crate::fixtures::worst_of;

const ROWS: usize = 12;

type Network = LogSd<NonCentred<Skip<Mlp>>>;
type Noisy = Posterior<Network, AnyLikelihood>;

/// What differs between the cases: the noise, and, to be noticed, the responses.
#[derive(Clone, Copy)]
struct Case {
    /// Whether log standard deviations are linear in the features.
    log_sd: bool,
    student_t: bool,
    /// The factor of the log variances of the scales of inputs: 1/2 in the model.
    power: f64,
    /// The degrees of freedom of the responses, times those of q.
    tails: f64,
    /// The factor of the intercepts of groups in the responses: 1 in the model; `None` if there are no groups.
    intercepts: Option<f64>,
}

const NORMAL: Case =
    Case { log_sd: false, student_t: false, power: 0.5, tails: 1.0, intercepts: None };

/// Groups, of which no row is in the last.
const GROUPS: usize = 4;

/// 2-3-1 with a scale for each input, a linear part, and intercepts of groups if asked.
fn network(case: Case) -> Network {
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    let mut network = Skip::new(network).unwrap();
    if case.intercepts.is_some() {
        network =
            network.intercepts("site", ["a", "b", "c", "d"].map(String::from).into()).unwrap();
    }
    let network = NonCentred::new(network).by_column("w0", "log_relevance", &["a", "b"]).unwrap();
    if case.log_sd { LogSd::new(network).unwrap() } else { LogSd::without(network) }
}

fn features() -> Array2<f64> {
    Array2::from_shape_fn((ROWS, 2), |(i, j)| ((3 * i + 5 * j) % 12) as f64 / 5.5 - 1.0)
}

fn group(row: usize) -> usize {
    row % (GROUPS - 1)
}

fn posterior(case: Case, y: &[f64]) -> Noisy {
    let y = Array2::from_shape_vec((ROWS, 1), y.to_vec()).unwrap();
    let indicator = |(i, j)| f64::from(u8::from(group(i) == j));
    let groups = case.intercepts.map_or(0, |_| GROUPS);
    let groups = Array2::from_shape_fn((ROWS, groups), indicator);
    let x = ndarray::concatenate![ndarray::Axis(1), features(), groups];
    let data = Dataset::regression(x, y).unwrap();
    let half_t = || LogHalfT::new(6.0, 0.8).unwrap();
    let normal = |mean, sd| Normal::new(mean, sd).unwrap();
    let mut priors = Priors::all(normal(0.1, 0.7))
        .with("log_relevance", half_t())
        .hierarchical("w1", "log_output_variance", half_t())
        .hierarchical("skip", "log_skip_variance", half_t());
    priors = match (case.log_sd, case.student_t) {
        (true, _) => priors.with("log_sd_bias", normal(-1.5, 0.3)),
        (false, true) => priors.with("log_squared_scale", normal(-3.0, 0.4)),
        (false, false) => priors.with("log_noise_variance", normal(-3.0, 0.4)),
    };
    if case.student_t {
        priors = priors.with("log_degrees_of_freedom", normal(1.1, 0.5));
    }
    if case.intercepts.is_some() {
        priors = priors.hierarchical("group_site", "log_variance_site", half_t());
    }
    let likelihood = match (case.log_sd, case.student_t) {
        (true, true) => AnyLikelihood::StudentTNoise(StudentTNoise::heteroscedastic()),
        (false, true) => AnyLikelihood::StudentTNoise(StudentTNoise::sampled()),
        (true, false) => AnyLikelihood::HeteroscedasticGaussian(HeteroscedasticGaussian),
        (false, false) => AnyLikelihood::Gaussian(Gaussian::sampled()),
    };
    Posterior::new(network(case), likelihood, &data, priors).unwrap()
}

/// A response given q.
fn response(
    case: Case,
    q: &[f64],
    rng: &mut ChainRng,
    layout: &bnn_mcmc::layout::Layout,
) -> Vec<f64> {
    let of = |name: &str| &q[layout.range(name).unwrap()];
    let (w0, b0, w1, b1, v) = (of("w0"), of("b0"), of("w1"), of("b1"), of("skip"));
    let scale: Vec<f64> = of("log_relevance").iter().map(|s| (case.power * s).exp()).collect();
    let intercepts = layout.range("group_site").map(|range| &q[range]);
    let row = |(i, x): (usize, ndarray::ArrayView1<f64>)| {
        let unit = |k: usize| {
            let z: f64 = (0..2).map(|j| scale[j] * w0[2 * k + j] * x[j]).sum();
            (z + b0[k]).tanh()
        };
        let hidden: f64 = (0..3).map(|k| w1[k] * unit(k)).sum();
        let intercept =
            intercepts.map_or(0.0, |u| case.intercepts.unwrap_or_default() * u[group(i)]);
        let mean = hidden + v[0] * x[0] + v[1] * x[1] + b1[0] + intercept;
        let sd = match (case.log_sd, case.student_t) {
            (true, _) => {
                let g = of("log_sd");
                let of_group = g.get(2 + group(i)).unwrap_or(&0.0);
                (g[0] * x[0] + g[1] * x[1] + of_group + of("log_sd_bias")[0]).exp()
            }
            (false, true) => (0.5 * of("log_squared_scale")[0]).exp(),
            (false, false) => (0.5 * of("log_noise_variance")[0]).exp(),
        };
        let noise = rng.normal();
        if !case.student_t {
            return mean + sd * noise;
        }
        let nu = case.tails * of("log_degrees_of_freedom")[0].exp();
        mean + sd * noise / (rng.gamma(0.5 * nu) / (0.5 * nu)).sqrt()
    };
    features().rows().into_iter().enumerate().map(row).collect()
}

/// The largest |z| of the means of q' - q and q'^2 - q^2, and the smallest p-value of Kolmogorov-Smirnov tests of q'
/// against fresh draws of the prior.
fn joint<A>(algorithm: &A, case: Case) -> (f64, f64)
where
    A: for<'t> Algorithm<&'t Noisy>,
{
    let replicates = 3_000;
    let any = posterior(case, &[0.0; ROWS]);
    let d = any.dim();
    let columns = || vec![Vec::with_capacity(replicates); d];
    let (mut after, mut fresh, mut moves) = (columns(), columns(), vec![Vec::new(); 2 * d]);
    let mut rng = ChainRng::new(8, 0);
    let (mut q, mut other) = (vec![0.0; d], vec![0.0; d]);
    for _ in 0..replicates {
        any.draw_prior(&mut rng, &mut q).unwrap();
        any.draw_prior(&mut rng, &mut other).unwrap();
        let target = posterior(case, &response(case, &q, &mut rng, any.layout()));
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
fn assert_passes<A>(what: &str, algorithm: A, case: Case)
where
    A: for<'t> Algorithm<&'t Noisy>,
{
    let (z, p) = joint(&algorithm, case);
    assert!(z < 5.0 && p > 1e-6, "{what}: {z} {p}");
}

fn mala() -> Mala {
    Mala { step_size: 0.1, adapt_step_size: false, ..Mala::default() }
}

#[test]
fn networks_with_parts_are_sampled_in_all_coordinates() {
    assert_passes("HMC", hmc(0.1), NORMAL);
    let mams = Mams { step_size: 0.3, path_length: Some(1.2), ..Mams::default() };
    assert_passes("MAMS", mams, NORMAL);
}

#[test]
fn networks_with_parts_are_sampled_with_the_output_layer_integrated_out() {
    for step_size in [0.12, 0.35] {
        assert_passes("collapsed HMC", Collapsed::new(hmc(step_size)), NORMAL);
    }
    // Beside kernels that move all coordinates, and another of its kind.
    assert_passes("after MALA", Cycle(mala(), Collapsed::new(hmc(0.25))), NORMAL);
    let nuts = Nuts { step_size: 0.25, max_depth: 4, ..Nuts::default() };
    assert_passes("two", Cycle(Collapsed::new(nuts), Collapsed::new(hmc(0.6))), NORMAL);
}

#[test]
fn models_of_the_noise_are_sampled_in_all_coordinates_and_with_the_output_layer_integrated_out() {
    for (log_sd, student_t) in [(true, false), (false, true), (true, true)] {
        let case = Case { log_sd, student_t, ..NORMAL };
        let what = |of: &str| format!("{of}, {log_sd} {student_t}");
        assert_passes(&what("HMC"), hmc(0.1), case);
        for step_size in [0.12, 0.4] {
            assert_passes(&what("collapsed HMC"), Collapsed::new(hmc(step_size)), case);
        }
        assert_passes(&what("after MALA"), Cycle(mala(), Collapsed::new(hmc(0.25))), case);
        let mams = Mams { step_size: 0.6, path_length: Some(1.2), ..Mams::default() };
        let nuts = Nuts { step_size: 0.3, max_depth: 4, ..Nuts::default() };
        assert_passes(&what("two"), Cycle(Collapsed::new(nuts), Collapsed::new(mams)), case);
    }
}

#[test]
fn intercepts_of_groups_are_sampled_in_all_coordinates_and_integrated_out() {
    let case = Case { intercepts: Some(1.0), ..NORMAL };
    assert_passes("HMC", hmc(0.1), case);
    for step_size in [0.12, 0.35] {
        assert_passes("collapsed HMC", Collapsed::new(hmc(step_size)), case);
    }
    assert_passes("after MALA", Cycle(mala(), Collapsed::new(hmc(0.25))), case);
    let nuts = Nuts { step_size: 0.25, max_depth: 4, ..Nuts::default() };
    assert_passes("two", Cycle(Collapsed::new(nuts), Collapsed::new(hmc(0.6))), case);
    for noise in [Case { log_sd: true, ..case }, Case { student_t: true, ..case }] {
        assert_passes("other noise", Collapsed::new(hmc(0.3)), noise);
    }
    let other = Case { intercepts: Some(2.5), ..case };
    for z in [joint(&Collapsed::new(hmc(0.35)), other).0, joint(&hmc(0.1), other).0] {
        assert!(z > 6.0, "{z}");
    }
}

#[test]
fn scales_of_the_other_sign_are_noticed() {
    let case = Case { power: -0.5, ..NORMAL };
    for z in [joint(&Collapsed::new(hmc(0.35)), case).0, joint(&hmc(0.1), case).0] {
        assert!(z > 6.0, "{z}");
    }
}

#[test]
fn lighter_tails_than_the_model_are_noticed() {
    for log_sd in [false, true] {
        let case = Case { log_sd, student_t: true, tails: 6.0, ..NORMAL };
        let (z, _) = joint(&Collapsed::new(hmc(0.35)), case);
        assert!(z > 6.0, "{z}");
    }
}

/// Student-t noise to a power is a mixture with other weights. The draws of a long run without the integral stay
/// draws of the tempered posterior under steps with it. A line has one mode, which the long run explores.
#[test]
fn tempered_student_t_noise_is_left_unchanged() {
    let mut rng = ChainRng::new(12, 0);
    let y = features().rows().into_iter().map(|x| x[0] + 0.3 * rng.normal().powi(3)).collect();
    let y = Array2::from_shape_vec((ROWS, 1), y).unwrap();
    let data = Dataset::regression(features(), y).unwrap();
    let normal = |mean, sd| Normal::new(mean, sd).unwrap();
    let priors = Priors::all(normal(0.1, 0.7))
        .with("log_squared_scale", normal(-2.0, 1.0))
        .with("log_degrees_of_freedom", normal(1.1, 0.7));
    let line = Linear::new(2, 1).unwrap();
    let posterior = Posterior::new(line, StudentTNoise::sampled(), &data, priors).unwrap();
    for beta in [0.1, 0.6] {
        let target = Tempered::new(&posterior, beta).unwrap();
        let sampler = Sampler::new(&target, Nuts::default()).chains(2).warmup(1_000).thin(8);
        let draws = sampler.draws(1_500).seed(3).run().unwrap();
        let mut kernel = Collapsed::new(hmc(0.8)).kernel(&&target, &rng).unwrap();
        kernel.freeze();
        let d = posterior.dim();
        let (mut ws, mut point, mut moves) =
            (target.workspace(), Point::new(d), vec![Vec::new(); 2 * d]);
        for chain in draws.values().outer_iter() {
            for before in chain.outer_iter() {
                point.set(|to| to.copy_from_slice(before.as_slice().unwrap()));
                point.eval(&&target, &mut ws);
                kernel.step(&&target, &mut point, &mut ws, &mut rng);
                for i in 0..d {
                    let (new, old) = (point.q()[i], before[i]);
                    moves[i].push(new - old);
                    moves[d + i].push(new * new - old * old);
                }
            }
        }
        let (z, _) = worst_of(&moves, Vec::new(), Vec::new());
        assert!(z < 5.0, "{beta}: {z}");
    }
}
