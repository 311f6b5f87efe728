//! Collapsed kernels leave the joint posterior unchanged, output weights included, and sabotaged copies do not.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, DelayedAcceptance, Kernel, Step};
use bnn_mcmc::targets::{ConditionallyGaussian, Marginal, Point, Tempered};
use bnn_mcmc::testing::{
    ConjugateRegression, Invariance, InvarianceReport, Noise, kolmogorov_smirnov,
};
use ndarray::{Array2, array, aview1};
use std::ops::Range;

use crate::fixtures::{Regression, regression, regression_data};

fn nuts(step_size: f64) -> Nuts {
    Nuts { step_size, max_depth: 6, ..Nuts::default() }
}

fn hmc(step_size: f64) -> Hmc {
    Hmc { step_size, path_length: 3.0 * step_size, ..Hmc::default() }
}

fn rwm(step_size: f64) -> Rwm {
    Rwm { step_size, ..Rwm::default() }
}

fn assert_passes(what: &str, report: &InvarianceReport) {
    assert!(report.passes() && report.accept_rate > 0.05, "{what}: {report}");
}

/// A linear regression with sampled noise, of which the noise alone is left.
#[test]
fn linear_regressions_against_exact_draws() {
    let (exact, posterior) = regression(12);
    let setup = Invariance { steps: 3, ..Invariance::default() };
    fn run<'t, A: Algorithm<&'t Regression>>(
        setup: &Invariance,
        posterior: &'t Regression,
        exact: &ConjugateRegression,
        algorithm: A,
    ) -> InvarianceReport {
        setup.run(posterior, &algorithm, |rng, q| exact.draw(rng, q)).unwrap()
    }
    for step_size in [0.1, 0.4, 0.7] {
        let of = |algorithm| run(&setup, &posterior, &exact, Collapsed::new(algorithm));
        assert_passes("NUTS", &of(nuts(step_size)));
        let of = |algorithm| run(&setup, &posterior, &exact, Collapsed::new(algorithm));
        assert_passes("HMC", &of(hmc(step_size)));
        let of = |algorithm| run(&setup, &posterior, &exact, Collapsed::new(algorithm));
        assert_passes("random walk", &of(rwm(step_size)));
        let mala = Mala { step_size, ..Mala::default() };
        assert_passes("MALA", &run(&setup, &posterior, &exact, Collapsed::new(mala)));
    }
    // Beside kernels that move what it knows of.
    let cycle = Cycle(Collapsed::new(nuts(0.5)), GibbsNoise);
    assert_passes("before Gibbs", &run(&setup, &posterior, &exact, cycle));
    let cycle = Cycle(GibbsNoise, Cycle(Collapsed::new(hmc(0.7)), Collapsed::new(nuts(1.0))));
    assert_passes("after Gibbs", &run(&setup, &posterior, &exact, cycle));
    let mala = Mala { step_size: 0.15, ..Mala::default() };
    let cycle = Cycle(mala, Collapsed::new(rwm(0.5)));
    assert_passes("after MALA", &run(&setup, &posterior, &exact, cycle));
    // Detailed balance, which delayed acceptance builds on: here on another regression.
    let (x, y) = regression_data(12);
    let data = Dataset::regression(x, y.mapv(|y| 1.1 * y)).unwrap();
    let priors = Priors::all(Normal::new(0.0, 0.6).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(1.5, 0.5).unwrap());
    let cheap =
        Posterior::new(Linear::new(2, 1).unwrap(), Gaussian::sampled(), &data, priors).unwrap();
    let delayed = DelayedAcceptance::new(&cheap, Collapsed::new(rwm(0.5)), 2);
    assert_passes("delayed acceptance", &run(&setup, &posterior, &exact, delayed));
}

/// A step begins where the chain is, whatever moved it there. No distribution tells: a kernel that went on from where it
/// was itself would be a chain of its own, which has the right one.
#[test]
fn a_step_begins_where_another_kernel_has_moved_the_chain() {
    let (_, posterior) = regression(12);
    let algorithm = Collapsed::new(Rwm { adapt_step_size: false, ..rwm(1e-6) });
    let mut rng = ChainRng::new(3, 0);
    let target = &&posterior;
    let mut kernel = algorithm.kernel(target, &rng).unwrap();
    let (mut current, mut ws) = (Point::new(4), posterior.workspace());
    for log_noise_variance in [0.3, -1.5, 2.0] {
        current.set(|q| q.copy_from_slice(&[0.5, -0.5, 0.1, log_noise_variance]));
        for _ in 0..3 {
            kernel.step(target, &mut current, &mut ws, &mut rng);
            assert!((current.q()[3] - log_noise_variance).abs() < 1e-4, "{:?}", current.q());
            assert!(current.q()[0] != 0.5, "the weights are drawn");
        }
    }
}

/// With the likelihood to the power 0.4, where the exact posterior is known too.
#[test]
fn tempered_posteriors_against_exact_draws() {
    let (exact, posterior) = regression(12);
    let exact = exact.tempered(0.4).unwrap();
    let hot = Tempered::new(&posterior, 0.4).unwrap();
    let setup = Invariance { steps: 3, ..Invariance::default() };
    let draw = |rng: &mut ChainRng, q: &mut [f64]| exact.draw(rng, q);
    let report = setup.run(&hot, &Collapsed::new(nuts(0.8)), draw).unwrap();
    assert_passes("NUTS", &report);
    let report = setup.run(&hot, &Cycle(Collapsed::new(hmc(1.2)), GibbsNoise), draw).unwrap();
    assert_passes("with Gibbs", &report);
}

/// Rungs are exchanged, and move to other temperatures during warm-up: evidence and moments are those of the
/// posterior.
#[test]
fn power_posteriors_keep_their_path() {
    let (x, y) = regression_data(12);
    let noise = Noise::InverseGamma { shape: 2.0, scale: 0.5 };
    let exact = ConjugateRegression::new(x.view(), y.view(), 0.5, noise).unwrap();
    let (_, posterior) = regression(12);
    let population = PowerPosteriors::new(Collapsed::new(nuts(0.5)));
    let draws =
        Sampler::new(&posterior, population).warmup(500).draws(2_000).seed(3).run().unwrap();
    let evidence = Evidence::of(&draws).unwrap();
    let (means, covariance) = (exact.mean(), exact.covariance());
    let summary = draws.summary().unwrap();
    for (j, row) in summary.rows.iter().enumerate() {
        let sd = covariance[(j, j)].sqrt();
        let error = (row.mean - means[j]).abs() / sd;
        assert!(error < 0.08 && (row.sd / sd - 1.0).abs() < 0.08, "{j}: {error}, {}", row.sd / sd);
    }
    let expected = exact.log_evidence().unwrap();
    let found = evidence.stepping_stone.log_evidence;
    assert!((found - expected).abs() < 0.1, "{found} and {expected}");
}

type Network = Posterior<Mlp, Gaussian>;

/// A network 2-2-2 whose weights, hidden and output, have one scale: w0 4, b0 2, w1 4, b1 2, the noise and the scale.
const DIM: usize = 14;
const ROWS: usize = 5;

fn network(y: Array2<f64>) -> Network {
    let x = array![[-1.2, 0.3], [-0.5, 1.0], [0.1, -0.8], [0.7, 0.4], [1.3, -1.1]];
    let priors = Priors::all(Normal::new(0.2, 0.7).unwrap())
        .hierarchical("w*", "log_variance", LogInverseGamma::new(4.0, 3.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(4.0, 1.5).unwrap());
    let model = Mlp::new(&[2, 2, 2], Activation::Tanh).unwrap();
    Posterior::new(model, Gaussian::sampled(), &Dataset::regression(x, y).unwrap(), priors).unwrap()
}

/// f(x; w), written out.
fn outputs(q: &[f64]) -> Array2<f64> {
    let x = array![[-1.2, 0.3], [-0.5, 1.0], [0.1, -0.8], [0.7, 0.4], [1.3, -1.1]];
    let matrix = |q: &[f64]| aview1(q).to_shape((2, 2)).unwrap().t().to_owned();
    let h = (x.dot(&matrix(&q[..4])) + aview1(&q[4..6])).mapv(f64::tanh);
    h.dot(&matrix(&q[6..10])) + aview1(&q[10..12])
}

/// Parameters from the prior, a response given them, `steps` steps on the posterior of that response: a draw of the prior
/// again (Geweke 2004). The largest |z| of the means of h(q') - h(q), for h each coordinate, its square and the product
/// with the next, and the smallest p-value of Kolmogorov-Smirnov tests of q' against fresh draws of the prior.
fn joint(
    replicates: usize,
    mut step: impl FnMut(&Network, &mut Point, &mut ChainRng),
) -> (f64, f64) {
    let any = network(Array2::zeros((ROWS, 2)));
    let mut rng = ChainRng::new(4, 0);
    let (mut q, mut other) = ([0.0; DIM], [0.0; DIM]);
    let mut moves = vec![Vec::new(); 3 * DIM - 1];
    let (mut after, mut fresh) = (vec![Vec::new(); DIM], vec![Vec::new(); DIM]);
    for _ in 0..replicates {
        any.draw_prior(&mut rng, &mut q).unwrap();
        any.draw_prior(&mut rng, &mut other).unwrap();
        let tau = (0.5 * q[12]).exp();
        let posterior = network(outputs(&q).mapv(|f| f + tau * rng.normal()));
        let mut point = Point::new(DIM);
        point.set(|to| to.copy_from_slice(&q));
        step(&posterior, &mut point, &mut rng);
        let new = point.q();
        for i in 0..DIM {
            moves[i].push(new[i] - q[i]);
            moves[DIM + i].push(new[i] * new[i] - q[i] * q[i]);
            if i + 1 < DIM {
                moves[2 * DIM + i].push(new[i] * new[i + 1] - q[i] * q[i + 1]);
            }
            after[i].push(new[i]);
            fresh[i].push(other[i]);
        }
    }
    let z = |h: &Vec<f64>| {
        let n = h.len() as f64;
        let mean = h.iter().sum::<f64>() / n;
        let variance = h.iter().map(|h| (h - mean).powi(2)).sum::<f64>() / (n - 1.0);
        assert!(variance > 1e-4, "hardly moves");
        (mean / (variance / n).sqrt()).abs()
    };
    let worst = moves.iter().map(z).fold(0.0, f64::max);
    let pairs = after.iter_mut().zip(&mut fresh);
    (worst, pairs.map(|(a, b)| kolmogorov_smirnov(a, b).1).fold(1.0, f64::min))
}

/// Some steps of the kernel that `algorithm` builds on `target`.
fn walk<T: Target, A: Algorithm<T>>(
    target: &T,
    algorithm: &A,
    point: &mut Point,
    rng: &mut ChainRng,
) {
    let mut ws = target.workspace();
    point.eval(target, &mut ws);
    let mut kernel = algorithm.kernel(target, rng).unwrap();
    kernel.freeze();
    for _ in 0..4 {
        let step: Step = kernel.step(target, point, &mut ws, rng);
        assert!(step.gradient_evals < 1_000);
    }
}

fn joint_of<A: for<'t> Algorithm<&'t Network>>(algorithm: A) -> (f64, f64) {
    joint(5_000, |posterior, point, rng| walk(&posterior, &algorithm, point, rng))
}

/// 41 means and 14 distributions: |z| < 5 and p > 1e-5 leave a right kernel a chance of 2e-4 to fail.
fn assert_joint(what: &str, (z, p): (f64, f64)) {
    assert!(z < 5.0 && p > 1e-5, "{what}: z {z}, p {p}");
}

#[test]
fn networks_with_one_scale_of_hidden_and_output_weights() {
    assert_joint("NUTS", joint_of(Collapsed::new(nuts(0.9))));
    assert_joint("HMC", joint_of(Collapsed::new(hmc(0.9))));
    assert_joint("random walk", joint_of(Collapsed::new(rwm(0.6))));
    let both = Cycle(Collapsed::new(hmc(0.5)), Collapsed::new(nuts(0.4)));
    assert_joint("two of them", joint_of(both));
    let gibbs = || OnBlocks::new(&["log_variance"], rwm(0.8));
    let cycle = Cycle(GibbsNoise, Cycle(Collapsed::new(hmc(0.6)), gibbs()));
    assert_joint("after Gibbs", joint_of(cycle));
    let cycle = Cycle(Cycle(gibbs(), Collapsed::new(nuts(0.6))), GibbsNoise);
    assert_joint("before Gibbs", joint_of(cycle));
    let mixture = Mixture { first: Collapsed::new(nuts(0.5)), second: nuts(0.3), probability: 0.5 };
    assert_joint("a mixture with NUTS", joint_of(mixture));
}

/// What is wrong in a marginal density or the draw after it.
#[derive(Clone, Copy, Debug)]
enum Mistake {
    NoDeterminant,
    NoPriorOfTheRest,
    WeightsAtAnotherPower,
    WeightsTooNear,
    WeightsStay,
}

#[derive(Clone, Copy)]
struct Wrong<'a>(&'a Network, Mistake);

impl Target for Wrong<'_> {
    type Workspace = <Network as Target>::Workspace;
    fn dim(&self) -> usize {
        DIM
    }
    fn workspace(&self) -> Self::Workspace {
        self.0.workspace()
    }
    fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        self.0.log_density(q, ws)
    }
    fn layout(&self) -> bnn_mcmc::layout::Layout {
        self.0.layout().clone()
    }
}

impl Wrong<'_> {
    /// log |I + P D Phi' Phi D|, by elimination.
    fn log_det(&self, q: &[f64]) -> f64 {
        let mut unit = *<&[f64; DIM]>::try_from(q).unwrap();
        let phi = Array2::from_shape_fn((ROWS, 3), |(i, j)| {
            unit[6..12].fill(0.0);
            unit[if j < 2 { 6 + j } else { 10 }] = 1.0;
            outputs(&unit)[(i, 0)]
        });
        let sd = |j: usize| if j < 2 { (0.5 * q[13]).exp() } else { 0.7 };
        let mut b = Array2::from_shape_fn((3, 3), |(i, j)| {
            let unit = if i == j { 1.0 } else { 0.0 };
            unit + (-q[12]).exp() * sd(i) * sd(j) * phi.column(i).dot(&phi.column(j))
        });
        let mut log_det = 0.0;
        for i in 0..3 {
            log_det += b[(i, i)].ln();
            for k in i + 1..3 {
                let factor = b[(k, i)] / b[(i, i)];
                let row = b.row(i).to_owned();
                b.row_mut(k).scaled_add(-factor, &row);
            }
        }
        log_det
    }
}

impl ConditionallyGaussian for Wrong<'_> {
    fn gaussian_block(&self) -> Result<Range<usize>, Error> {
        self.0.gaussian_block()
    }
    fn log_marginal_at(
        &self,
        beta: f64,
        q: &[f64],
        grad: Option<&mut [f64]>,
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let mut density = self.0.log_marginal_at(beta, q, grad, ws);
        match self.1 {
            Mistake::NoDeterminant => density.likelihood += self.log_det(q), // two responses
            Mistake::NoPriorOfTheRest => density.prior = 0.0,
            _ => {}
        }
        density
    }
    fn draw_conditional_at(
        &self,
        beta: f64,
        rng: &mut ChainRng,
        q: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> bool {
        match self.1 {
            Mistake::WeightsAtAnotherPower => self.0.draw_conditional_at(0.2, rng, q, ws),
            Mistake::WeightsTooNear => {
                self.0.draw_conditional_at(beta, rng, q, ws);
                q[6..12].iter_mut().for_each(|w| *w = 0.2 + 0.9 * (*w - 0.2));
                true
            }
            Mistake::WeightsStay => true,
            _ => self.0.draw_conditional_at(beta, rng, q, ws),
        }
    }
}

#[test]
fn mistakes_in_the_marginal_and_in_the_draw_are_seen() {
    for mistake in [
        Mistake::NoDeterminant,
        Mistake::NoPriorOfTheRest,
        Mistake::WeightsAtAnotherPower,
        Mistake::WeightsTooNear,
        Mistake::WeightsStay,
    ] {
        let algorithm = Collapsed::new(rwm(0.6));
        let (z, p) = joint(10_000, |posterior, point, rng| {
            walk(&Wrong(posterior, mistake), &algorithm, point, rng);
        });
        assert!(z > 7.0 || p < 1e-9, "{mistake:?} goes unnoticed: z {z}, p {p}");
    }
}

/// The view alone, as a target of its own: of a linear model, of which the noise alone is left.
#[test]
fn the_marginal_serves_kernels_of_its_own() {
    let (exact, posterior) = regression(12);
    let marginal: Marginal<&Regression> = posterior.collapsed().unwrap();
    let setup = Invariance { steps: 3, ..Invariance::default() };
    let draw = |rng: &mut ChainRng, v: &mut [f64]| {
        let mut q = [0.0; 4];
        exact.draw(rng, &mut q);
        v[0] = q[3];
    };
    assert_passes("NUTS", &setup.run(&marginal, &nuts(0.8), draw).unwrap());
}
