//! Collapsed kernels leave the joint posterior unchanged, output weights included, and sabotaged copies do not.

use bnn_mcmc::likelihood::StudentTNoise;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, DelayedAcceptance, Kernel, Step};
use bnn_mcmc::targets::{ConditionallyGaussian, Forces, Marginal, Point, Tempered};
use bnn_mcmc::testing::{
    ConjugateRegression, Invariance, InvarianceReport, NoiseVariance, kolmogorov_smirnov,
};
use ndarray::{Array2, Axis, array, aview1};
use shared::failed;
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
    // Student-t noise takes several moves one after the other.
    let priors = Priors::all(Normal::new(0.0, 0.6).unwrap())
        .with("log_squared_scale", LogInverseGamma::new(1.5, 0.5).unwrap());
    let noise = StudentTNoise::sampled().with_degrees_of_freedom(4.0).unwrap();
    let cheap = Posterior::new(Linear::new(2, 1).unwrap(), noise, &data, priors).unwrap();
    let delayed = DelayedAcceptance::new(&cheap, Collapsed::new(rwm(0.5)), 2);
    failed!(delayed.kernel(&&posterior, &ChainRng::new(1, 0)), Argument { name: "inner" });
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

/// v ~ N(0, 1) and w ~ N(v, 1), of which w can be drawn where v is at most 1 only.
struct DrawnInPart;

impl Target for DrawnInPart {
    type Workspace = ();
    fn dim(&self) -> usize {
        2
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(-0.5 * (q[0] * q[0] + (q[1] - q[0]).powi(2)))
    }
}

impl ConditionallyGaussian for DrawnInPart {
    fn gaussian_coordinates(&self) -> Result<Vec<Range<usize>>, bnn_mcmc::Error> {
        Ok(std::iter::once(1..2).collect())
    }
    fn log_marginal_at(
        &self,
        _: f64,
        q: &[f64],
        grad: Option<&mut [f64]>,
        _: &mut (),
    ) -> LogDensity {
        if let Some(grad) = grad {
            grad.copy_from_slice(&[-q[0], 0.0]);
        }
        LogDensity::from(-0.5 * q[0] * q[0])
    }
    fn draw_conditional_at(&self, _: f64, rng: &mut ChainRng, q: &mut [f64], _: &mut ()) -> bool {
        let possible = q[0] <= 1.0;
        if possible {
            q[1] = q[0] + rng.normal();
        }
        possible
    }
}

/// A step to where the output weights cannot be drawn is not made, and diverges there: as often as the inner kernel,
/// run apart with the same random numbers, goes there. What is left is the part where they can be drawn.
#[test]
fn a_step_whose_weights_cannot_be_drawn_is_taken_back_and_counted() {
    let target = &DrawnInPart;
    let inner = Rwm { adapt_step_size: false, ..rwm(1.5) };
    let view = Marginal::new(target).unwrap();
    let mut rng = ChainRng::new(8, 0);
    let mut kernel = Collapsed::new(inner.clone()).kernel(&target, &rng).unwrap();
    let mut apart = inner.kernel(&view, &rng).unwrap();
    let (mut chain, mut apart_ws) = (Point::new(2), view.workspace());
    let mut divergences = 0;
    for _ in 0..500 {
        let before = chain.q().to_vec();
        let (mut v, mut apart_rng) = (Point::new(1), rng.clone());
        v.set(|v| v[0] = before[0]);
        let moved = apart.step(&view, &mut v, &mut apart_ws, &mut apart_rng).accepted;
        let is_beyond = v.q()[0] > 1.0;
        let step = kernel.step(&target, &mut chain, &mut (), &mut rng);
        assert_eq!((step.divergent, step.accepted), (is_beyond, moved && !is_beyond));
        if is_beyond {
            divergences += 1;
            assert_eq!(chain.q(), before);
            let mut position = chain.q().to_vec();
            kernel.diverged_at(&mut position);
            assert_eq!(position, [v.q()[0], before[1]], "where the draw failed");
        } else {
            assert_eq!(chain.q()[0], v.q()[0]);
            assert!(chain.q()[1] != before[1], "the weights are drawn");
        }
    }
    assert!((20..250).contains(&divergences), "{divergences}");

    let setup = Invariance { steps: 3, ..Invariance::default() };
    let exact = |rng: &mut ChainRng, q: &mut [f64]| {
        q[0] = std::iter::repeat_with(|| rng.normal()).find(|v| *v <= 1.0).unwrap();
        q[1] = q[0] + rng.normal();
    };
    let report = setup.run(&target, &Collapsed::new(inner), exact).unwrap();
    assert_passes("the rest", &report);
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
    let noise = NoiseVariance::InverseGamma { shape: 2.0, scale: 0.5 };
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

/// A network 2-2-2 on five rows, its prior, and what has to be known of it elsewhere.
#[derive(Clone, Copy)]
struct Case<L> {
    likelihood: L,
    priors: fn() -> Priors,
    /// A draw of the response given q and the outputs.
    draw: fn(&[f64], &Array2<f64>, &mut ChainRng) -> Array2<f64>,
    /// K log |B| / 2, for K outputs that are integrated out, from q and Phi.
    half_log_det: fn(&[f64], &Array2<f64>) -> f64,
}

const ROWS: usize = 5;
/// Where w1 and b1 lie in q, after w0 and b0; then come the noise, if it is a parameter, and the
/// scale.
const W1: usize = 6;
const B1: usize = 10;

fn features() -> Array2<f64> {
    array![[-1.2, 0.3], [-0.5, 1.0], [0.1, -0.8], [0.7, 0.4], [1.3, -1.1]]
}

/// All weights, hidden and output, with one scale.
fn one_scale() -> Priors {
    Priors::all(Normal::new(0.2, 0.7).unwrap()).hierarchical(
        "w*",
        "log_variance",
        LogInverseGamma::new(4.0, 3.0).unwrap(),
    )
}

/// Two responses with equal noise: 14 coordinates, of which all 6 of the output layer are
/// integrated out.
fn equal() -> Case<Gaussian> {
    Case {
        likelihood: Gaussian::sampled(),
        priors: || {
            let noise = LogInverseGamma::new(4.0, 1.5).unwrap();
            one_scale().with("log_noise_variance", noise)
        },
        draw: |q, outputs, rng| {
            let tau = (0.5 * q[12]).exp();
            outputs.mapv(|f| f + tau * rng.normal())
        },
        half_log_det: |q, phi| log_det_of_b(q[13], phi, &[(-q[12]).exp(); ROWS]),
    }
}

/// One response whose log standard deviation is the second output: 13 coordinates, of which 3 are
/// integrated out.
fn by_row() -> Case<HeteroscedasticGaussian> {
    Case {
        likelihood: HeteroscedasticGaussian,
        priors: one_scale,
        draw: |_, outputs, rng| {
            let mut draw = |i: usize| outputs[(i, 0)] + outputs[(i, 1)].exp() * rng.normal();
            Array2::from_shape_fn((ROWS, 1), |(i, _)| draw(i))
        },
        half_log_det: |q, phi| {
            let s = phi.dot(&array![q[W1 + 2], q[W1 + 3], q[B1 + 1]]);
            let precisions: Vec<f64> = s.iter().map(|s| (-2.0 * s).exp()).collect();
            0.5 * log_det_of_b(q[12], phi, &precisions)
        },
    }
}

/// log |I + D Phi' P Phi D|, by elimination.
fn log_det_of_b(log_variance: f64, phi: &Array2<f64>, precisions: &[f64]) -> f64 {
    let sd = |j: usize| if j < 2 { (0.5 * log_variance).exp() } else { 0.7 };
    let mut b = Array2::from_shape_fn((3, 3), |(i, j)| {
        let unit = if i == j { 1.0 } else { 0.0 };
        let rows = precisions.iter().enumerate();
        unit + sd(i) * sd(j) * rows.map(|(row, p)| p * phi[(row, i)] * phi[(row, j)]).sum::<f64>()
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

/// The hidden outputs and ones, written out.
fn phi(q: &[f64]) -> Array2<f64> {
    let weights = aview1(&q[..4]).to_shape((2, 2)).unwrap().t().to_owned();
    let h = (features().dot(&weights) + aview1(&q[4..W1])).mapv(f64::tanh);
    ndarray::concatenate![Axis(1), h, Array2::ones((ROWS, 1))]
}

/// f(x; w), written out.
fn outputs(q: &[f64]) -> Array2<f64> {
    phi(q).dot(&array![[q[W1], q[W1 + 2]], [q[W1 + 1], q[W1 + 3]], [q[B1], q[B1 + 1]]])
}

impl<L: Likelihood + Copy> Case<L> {
    fn posterior(&self, y: Array2<f64>) -> Posterior<Mlp, L> {
        let data = Dataset::regression(features(), y).unwrap();
        let model = Mlp::new(&[2, 2, 2], Activation::Tanh).unwrap();
        Posterior::new(model, self.likelihood, &data, (self.priors)()).unwrap()
    }

    /// Parameters from the prior, a response given them, some steps on the posterior of that
    /// response: a draw of the prior again (Geweke 2004). The largest |z| of the means of h(q') -
    /// h(q), for h each coordinate, its square and the product with the next, and the smallest
    /// p-value of Kolmogorov-Smirnov tests of q' against fresh draws of the prior.
    fn joint(
        &self,
        replicates: usize,
        mut step: impl FnMut(&Posterior<Mlp, L>, &mut Point, &mut ChainRng),
    ) -> (f64, f64) {
        let mut rng = ChainRng::new(4, 0);
        let zeros = [0.0; 14];
        let y = (self.draw)(&zeros, &Array2::zeros((ROWS, 2)), &mut ChainRng::new(5, 0));
        let any = self.posterior(y);
        let dim = any.dim();
        let (mut q, mut other) = (vec![0.0; dim], vec![0.0; dim]);
        let mut moves = vec![Vec::new(); 3 * dim - 1];
        let (mut after, mut fresh) = (vec![Vec::new(); dim], vec![Vec::new(); dim]);
        for _ in 0..replicates {
            any.draw_prior(&mut rng, &mut q).unwrap();
            any.draw_prior(&mut rng, &mut other).unwrap();
            let posterior = self.posterior((self.draw)(&q, &outputs(&q), &mut rng));
            let mut point = Point::new(dim);
            point.set(|to| to.copy_from_slice(&q));
            step(&posterior, &mut point, &mut rng);
            let new = point.q();
            for i in 0..dim {
                moves[i].push(new[i] - q[i]);
                moves[dim + i].push(new[i] * new[i] - q[i] * q[i]);
                if i + 1 < dim {
                    moves[2 * dim + i].push(new[i] * new[i + 1] - q[i] * q[i + 1]);
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

    /// 41 means and 14 distributions: |z| < 5 and p > 1e-5 leave a right kernel a chance of 2e-4 to
    /// fail.
    fn assert_joint<A: for<'t> Algorithm<&'t Posterior<Mlp, L>>>(&self, what: &str, algorithm: A) {
        let step = |posterior: &Posterior<Mlp, L>, point: &mut Point, rng: &mut ChainRng| {
            walk(&posterior, &algorithm, point, rng);
        };
        let (z, p) = self.joint(5_000, step);
        assert!(z < 5.0 && p > 1e-5, "{what}: z {z}, p {p}");
    }

    fn assert_mistakes_are_seen(&self) {
        for mistake in [
            Mistake::NoDeterminant,
            Mistake::NoPriorOfTheRest,
            Mistake::WeightsAtAnotherPower,
            Mistake::WeightsTooNear,
            Mistake::WeightsForgotten,
        ] {
            let algorithm = Collapsed::new(rwm(0.6));
            let (z, p) = self.joint(10_000, |posterior, point, rng| {
                walk(&Wrong(posterior, self, mistake), &algorithm, point, rng);
            });
            assert!(z > 7.0 || p < 1e-9, "{mistake:?} goes unnoticed: z {z}, p {p}");
        }
    }
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

#[test]
fn networks_with_one_scale_of_hidden_and_output_weights() {
    let case = equal();
    case.assert_joint("NUTS", Collapsed::new(nuts(0.9)));
    case.assert_joint("HMC", Collapsed::new(hmc(0.9)));
    case.assert_joint("random walk", Collapsed::new(rwm(0.6)));
    let both = Cycle(Collapsed::new(hmc(0.5)), Collapsed::new(nuts(0.4)));
    case.assert_joint("two of them", both);
    let gibbs = || OnBlocks::new(&["log_variance"], rwm(0.8));
    let cycle = Cycle(GibbsNoise, Cycle(Collapsed::new(hmc(0.6)), gibbs()));
    case.assert_joint("after Gibbs", cycle);
    let cycle = Cycle(Cycle(gibbs(), Collapsed::new(nuts(0.6))), GibbsNoise);
    case.assert_joint("before Gibbs", cycle);
    let mixture = Mixture { first: Collapsed::new(nuts(0.5)), second: nuts(0.3), probability: 0.5 };
    case.assert_joint("a mixture with NUTS", mixture);
}

/// Trajectories by forces in f32, which this case is too small for unless it is asked.
#[test]
fn networks_with_forces_in_f32() {
    let case = equal();
    let forced = |step_size| Collapsed::new(hmc(step_size)).with_forces(Forces::F32);
    case.assert_joint("HMC", forced(0.9));
    let mams = Mams { step_size: 1.0, path_length: Some(3.0), ..Mams::default() };
    case.assert_joint("MAMS", Collapsed::new(mams.clone()).with_forces(Forces::F32));
    // The inner kernels share a point, of which one wants the gradient and the other the force.
    let inner = Cycle(hmc(0.6), Cycle(nuts(0.5), mams));
    case.assert_joint("on one point", Collapsed::new(inner).with_forces(Forces::F32));
    let gibbs = OnBlocks::new(&["log_variance"], rwm(0.8));
    case.assert_joint("after Gibbs", Cycle(GibbsNoise, Cycle(forced(0.6), gibbs)));
}

/// The weights of the mean integrated out, those of the log standard deviation not.
#[test]
fn networks_whose_noise_is_an_output() {
    let case = by_row();
    case.assert_joint("NUTS", Collapsed::new(nuts(0.5)));
    case.assert_joint("random walk", Collapsed::new(rwm(0.4)));
    let mams = Mams { step_size: 1.0, path_length: Some(3.0), ..Mams::default() };
    case.assert_joint("MAMS", Collapsed::new(mams));
    let cycle = Cycle(OnBlocks::new(&["log_variance", "w1"], rwm(0.4)), Collapsed::new(hmc(0.4)));
    case.assert_joint("after others", cycle);
}

/// What is wrong in a marginal density or the draw after it.
#[derive(Clone, Copy, Debug)]
enum Mistake {
    NoDeterminant,
    NoPriorOfTheRest,
    WeightsAtAnotherPower,
    WeightsTooNear,
    WeightsForgotten,
}

struct Wrong<'a, L>(&'a Posterior<Mlp, L>, &'a Case<L>, Mistake);

impl<L> Clone for Wrong<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Wrong<'_, L> {}

impl<L: Likelihood> Target for Wrong<'_, L> {
    type Workspace = <Posterior<Mlp, L> as Target>::Workspace;
    fn dim(&self) -> usize {
        self.0.dim()
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

impl<L: Likelihood> ConditionallyGaussian for Wrong<'_, L> {
    fn gaussian_coordinates(&self) -> Result<Vec<Range<usize>>, Error> {
        self.0.gaussian_coordinates()
    }
    fn log_marginal_at(
        &self,
        beta: f64,
        q: &[f64],
        grad: Option<&mut [f64]>,
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let mut density = self.0.log_marginal_at(beta, q, grad, ws);
        match self.2 {
            Mistake::NoDeterminant => density.likelihood += (self.1.half_log_det)(q, &phi(q)),
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
        match self.2 {
            Mistake::WeightsAtAnotherPower => self.0.draw_conditional_at(4.0, rng, q, ws),
            Mistake::WeightsTooNear => {
                self.0.draw_conditional_at(beta, rng, q, ws);
                for range in self.0.gaussian_coordinates().unwrap() {
                    q[range].iter_mut().for_each(|w| *w = 0.2 + 0.9 * (*w - 0.2));
                }
                true
            }
            Mistake::WeightsForgotten => {
                for range in self.0.gaussian_coordinates().unwrap() {
                    q[range].fill(0.0);
                }
                true
            }
            _ => self.0.draw_conditional_at(beta, rng, q, ws),
        }
    }
}

#[test]
fn mistakes_in_the_marginal_and_in_the_draw_are_seen() {
    equal().assert_mistakes_are_seen();
}

#[test]
fn mistakes_with_noise_by_row_are_seen() {
    by_row().assert_mistakes_are_seen();
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
