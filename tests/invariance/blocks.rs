//! Kernels on blocks, their combinations, Gibbs, pCN, hierarchical priors and tempering: invariance,
//! and sabotaged copies that fail.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel, Step, metropolis_test};
use bnn_mcmc::targets::{
    Conditioned, GaussianReference, NoiseConditional, Point, PowerTarget, Tempered,
};
use bnn_mcmc::testing::{
    ConjugateRegression, GaussianTarget, Invariance, InvarianceReport, NoiseVariance,
    gradient_error,
};
use ndarray::{Array1, Array2};

use crate::by_hand::{ByHand, Transition};
use crate::fixtures::{Regression, regression, regression_data};

use shared::{failed, refused};

fn test<'t, A>(
    algorithm: &A,
    target: &'t Regression,
    exact: &ConjugateRegression,
) -> InvarianceReport
where
    A: Algorithm<&'t Regression>,
{
    let setup = Invariance { steps: 40, ..Invariance::default() };
    setup.run(target, algorithm, |rng, q| exact.draw(rng, q)).unwrap()
}

fn assert_passes(report: &InvarianceReport) {
    assert!(report.passes(), "{report}");
}

fn mala() -> Mala {
    Mala { step_size: 0.25, ..Mala::default() }
}

fn pcn() -> Pcn {
    Pcn { step_size: 0.5, ..Pcn::default() }
}

#[test]
fn blocks_gibbs_pcn_cycles_and_mixtures() {
    let (exact, posterior) = regression(12);
    let weights = ["w", "b"];
    assert_passes(&test(&Cycle(OnBlocks::new(&weights, mala()), GibbsNoise), &posterior, &exact));
    assert_passes(&test(&Cycle(OnBlocks::new(&weights, pcn()), GibbsNoise), &posterior, &exact));
    let nuts = Nuts { step_size: 0.3, ..Nuts::default() };
    assert_passes(&test(&Cycle(OnBlocks::new(&weights, nuts), GibbsNoise), &posterior, &exact));
    let hmc = Hmc { step_size: 0.3, path_length: 1.0, ..Hmc::default() };
    assert_passes(&test(&Cycle(OnBlocks::new(&weights, hmc), GibbsNoise), &posterior, &exact));
    let rwm = Rwm { step_size: 0.3, ..Rwm::default() };
    assert_passes(&test(
        &Cycle(
            OnBlocks::new(&["w"], mala()),
            Cycle(OnBlocks::new(&["b"], pcn()), OnBlocks::new(&["log_*"], rwm.clone())),
        ),
        &posterior,
        &exact,
    ));
    assert_passes(&test(
        &Mixture {
            first: mala(),
            second: Cycle(OnBlocks::new(&weights, rwm), GibbsNoise),
            probability: 0.3,
        },
        &posterior,
        &exact,
    ));
}

#[test]
fn the_prior_mean_and_the_scale_of_pcn() {
    // A prior whose mean is not 0: pCN must turn around it.
    let (x, y) = regression_data(12);
    let data = Dataset::regression(&x + 0.0, &y - 1.5).unwrap();
    let shifted = Posterior::new(
        Linear::new(2, 1).unwrap(),
        Gaussian::fixed(0.7).unwrap(),
        &data,
        Priors::all(Normal::new(0.0, 0.5).unwrap()).with("b", Normal::new(-1.5, 0.5).unwrap()),
    )
    .unwrap();
    // With y - 1.5 and b - 1.5 the posterior is that of y and b, shifted.
    let exact =
        ConjugateRegression::new(x.view(), y.view(), 0.5, NoiseVariance::Fixed(0.7)).unwrap();
    let draw = |rng: &mut ChainRng, q: &mut [f64]| {
        exact.draw(rng, q);
        q[2] -= 1.5;
    };
    let report = Invariance::default().run(&shifted, &pcn(), draw).unwrap();
    assert!(report.passes() && report.accept_rate > 0.2, "{report}");
    for mistake in [PcnMistake::NoMean, PcnMistake::PosteriorRatio] {
        let report = Invariance::default().run(&shifted, &ByHand(WrongPcn(mistake)), draw).unwrap();
        assert!(!report.passes(), "{mistake:?}: {report}");
    }
    let report =
        Invariance::default().run(&shifted, &ByHand(WrongPcn(PcnMistake::None)), draw).unwrap();
    assert!(report.passes(), "{report}");
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PcnMistake {
    None,
    /// The proposal turns around 0, the ratio is that of the likelihoods.
    NoMean,
    /// The ratio of the posteriors, as for a random walk.
    PosteriorRatio,
}

#[derive(Clone)]
struct WrongPcn(PcnMistake);

impl<'t> Transition<&'t Regression> for WrongPcn {
    type Memory = Point;
    fn memory(&self, target: &&'t Regression) -> Self::Memory {
        Point::new(target.dim())
    }

    fn step(
        &self,
        memory: &mut Self::Memory,
        target: &&'t Regression,
        current: &mut Point,
        ws: &mut <Regression as Target>::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let (mut mean, mut sd) = ([0.0; 3], [0.0; 3]);
        target.gaussian_reference(&[0, 1, 2], current.q(), &mut mean, &mut sd, ws).unwrap();
        if self.0 == PcnMistake::NoMean {
            mean = [0.0; 3];
        }
        let b: f64 = 0.5;
        memory.set(|v| {
            for i in 0..3 {
                let keep = (1.0 - b * b).sqrt();
                v[i] = mean[i] + keep * (current.q()[i] - mean[i]) + b * sd[i] * rng.normal();
            }
        });
        let new = memory.eval(target, ws);
        let old = current.log_density();
        let ratio = match self.0 {
            PcnMistake::PosteriorRatio => new.total() - old.total(),
            _ => new.likelihood - old.likelihood,
        };
        metropolis_test(current, memory, ratio, 0, rng)
    }
}

/// y ~ N(w x + b, 0.6^2), four weights N(0, e^s), s ~ log IG: exact draws come from the prior by running
/// the model forward, data and all (Geweke): the joint of (q, y) is known, so that a transition of q
/// given y, from a draw of the joint, must leave the marginal of q, the prior, unchanged.
fn successive_conditional<'a, A>(algorithm: impl Fn() -> A, steps: usize) -> (Vec<f64>, Vec<f64>)
where
    A: for<'t> Algorithm<&'t Regression> + 'a,
{
    let x = Array2::from_shape_fn((6, 4), |(i, j)| ((3 * i + 5 * j) as f64).sin());
    let mut rng = ChainRng::new(5, 0);
    let (mut moved, mut fresh) = (Vec::new(), Vec::new());
    for _ in 0..20_000 {
        let posterior = |y: Array1<f64>| {
            let priors = Priors::all(Normal::new(0.0, 1.0).unwrap()).hierarchical(
                "w",
                "log_variance",
                LogInverseGamma::new(3.0, 2.0).unwrap(),
            );
            let data = Dataset::regression(x.clone(), y).unwrap();
            let model = Linear::new(4, 1).unwrap();
            Posterior::new(model, Gaussian::fixed(0.6).unwrap(), &data, priors).unwrap()
        };
        let mut q = [0.0; 6];
        posterior(Array1::zeros(6)).draw_prior(&mut rng, &mut q).unwrap();
        fresh.push(q[5]);
        let y = x.dot(&ndarray::aview1(&q[..4])).mapv(|f| f + q[4] + 0.6 * rng.normal());
        let target = posterior(y);
        let target = &target;
        let (mut ws, mut point) = (target.workspace(), Point::new(6));
        point.set(|p| p.copy_from_slice(&q));
        point.eval(&target, &mut ws);
        let mut kernel = algorithm().kernel(&target, &rng.child(1)).unwrap();
        kernel.freeze();
        for _ in 0..steps {
            kernel.step(&target, &mut point, &mut ws, &mut rng);
        }
        moved.push(point.q()[5]);
    }
    (moved, fresh)
}

fn shift_in_errors((moved, fresh): (Vec<f64>, Vec<f64>)) -> f64 {
    let differences: Array1<f64> = moved.iter().zip(&fresh).map(|(a, b)| a - b).collect();
    differences.mean().unwrap() / (differences.std(1.0) / (differences.len() as f64).sqrt())
}

#[test]
fn hierarchical_scales_under_blocks_of_pcn_and_random_walk() {
    let rwm = || Rwm { step_size: 0.8, ..Rwm::default() };
    let right =
        || Cycle(OnBlocks::new(&["w", "b"], pcn()), OnBlocks::new(&["log_variance"], rwm()));
    let shift = shift_in_errors(successive_conditional(right, 25));
    assert!(shift.abs() < 5.0, "{shift}");
    let stale = || Cycle(ByHand(StalePcn), OnBlocks::new(&["log_variance"], rwm()));
    let shift = shift_in_errors(successive_conditional(stale, 25));
    assert!(shift.abs() > 7.0, "a stale scale was not noticed: {shift}");
}

/// pCN on the weights with the prior's scale at one value of the hierarchical scale, as
/// it may have been when the kernel was built: it has moved on since.
#[derive(Clone)]
struct StalePcn;

impl<'t> Transition<&'t Regression> for StalePcn {
    type Memory = Point;
    fn memory(&self, target: &&'t Regression) -> Self::Memory {
        Point::new(target.dim())
    }

    fn step(
        &self,
        memory: &mut Self::Memory,
        target: &&'t Regression,
        current: &mut Point,
        ws: &mut <Regression as Target>::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let (mut mean, mut sd, b) = ([0.0; 4], [0.0; 4], 0.5f64);
        let then = [0.0, 0.0, 0.0, 0.0, 0.0, 1.5];
        target.gaussian_reference(&[0, 1, 2, 3], &then, &mut mean, &mut sd, ws).unwrap();
        memory.set(|v| {
            v.copy_from_slice(current.q());
            for i in 0..4 {
                v[i] = (1.0 - b * b).sqrt() * v[i] + b * sd[i] * rng.normal();
            }
        });
        let new = memory.eval(target, ws).likelihood;
        let ratio = new - current.log_density().likelihood;
        metropolis_test(current, memory, ratio, 0, rng)
    }
}

/// At beta = 0.4, where the exact posterior is known too.
#[test]
fn tempered_kernels_and_a_gibbs_update_without_beta() {
    let (exact, posterior) = regression(12);
    let beta = 0.4;
    let exact = exact.tempered(beta).unwrap();
    let hot = Tempered::new(&posterior, beta).unwrap();
    let setup = Invariance { steps: 40, ..Invariance::default() };
    let draw = |rng: &mut ChainRng, q: &mut [f64]| exact.draw(rng, q);
    let weights = ["w", "b"];
    assert_passes(&setup.run(&hot, &mala(), draw).unwrap());
    assert_passes(&setup.run(&hot, &Rwm { step_size: 0.3, ..Rwm::default() }, draw).unwrap());
    let few = Invariance { steps: 5, ..setup };
    assert_passes(&few.run(&hot, &Nuts { step_size: 0.4, ..Nuts::default() }, draw).unwrap());
    assert_passes(&few.run(&hot, &Hmc { step_size: 0.4, ..Hmc::default() }, draw).unwrap());
    let gibbs = Cycle(OnBlocks::new(&weights, pcn()), GibbsNoise);
    assert_passes(&setup.run(&hot, &gibbs, draw).unwrap());
    let gibbs = Cycle(OnBlocks::new(&weights, pcn()), ByHand(GibbsWithoutBeta));
    let report = setup.run(&hot, &gibbs, draw).unwrap();
    assert!(!report.passes(), "{report}");

    assert!(gradient_error(&hot, &[0.3, -0.2, 0.5, -0.7]) < 1e-8);
    assert!(Tempered::new(&posterior, 1.1).unwrap_err().is_argument());
    assert!(Tempered::new(&posterior, f64::NAN).unwrap_err().is_argument());
}

/// A Gibbs update that draws from the conditional distribution at beta = 1.
#[derive(Clone)]
struct GibbsWithoutBeta;

impl<'t, 'p> Transition<&'t Tempered<&'p Regression>> for GibbsWithoutBeta {
    type Memory = ();
    fn memory(&self, _: &&'t Tempered<&'p Regression>) {}

    fn step(
        &self,
        _: &mut (),
        target: &&'t Tempered<&'p Regression>,
        current: &mut Point,
        ws: &mut <Regression as Target>::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let noise = target.noise_parameters().unwrap();
        let sse = target.squared_error(current.q(), ws);
        let (shape, scale) = (noise.shape + noise.values / 2.0, noise.scale + sse / 2.0);
        let mut eta = [0.0];
        LogInverseGamma::new(shape, scale).unwrap().draw(rng, &mut eta).unwrap();
        current.set(|q| q[noise.coordinate] = eta[0]);
        current.eval(target, ws);
        Step { accept_prob: None, accepted: true, divergent: false, gradient_evals: 0 }
    }
}

#[test]
fn at_beta_zero_the_likelihood_does_not_enter() {
    let (_, posterior) = regression(12);
    let cold = Tempered::new(&posterior, 0.0).unwrap();
    let mut ws = cold.workspace();
    // Here the squared residuals over the variance overflow; the prior does not.
    let q = [1e3, 0.2, 0.3, -705.0];
    let mut grad = [0.0; 4];
    let density = cold.log_density_grad(&q, &mut grad, &mut ws);
    assert!(!density.likelihood.is_finite());
    let prior = cold.log_density(&q, &mut ws).prior;
    assert_eq!(density.total(), prior);
    approx::assert_relative_eq!(grad[0], -1e3 / 0.25, max_relative = 1e-14);
    // Draws of the reference are draws of the prior, and pCN accepts every proposal there.
    let mut rng = ChainRng::new(1, 0);
    let mut q = [0.0; 4];
    posterior.draw_reference(&mut rng, &mut q).unwrap();
    let run = OnBlocks::new(&["w", "b"], Pcn { adapt_step_size: false, ..Pcn::default() });
    let draws = Sampler::new(&cold, run).warmup(0).draws(200).seed(2).run().unwrap();
    assert!(draws.accept_rate().iter().all(|a| *a == 1.0), "{:?}", draws.accept_rate());
}

/// Acceptance must not fall with dimensions that the data do not inform.
#[test]
fn acceptance_of_pcn_does_not_depend_on_idle_dimensions() {
    let rate = |idle: usize| {
        let mut x = Array2::zeros((20, 1 + idle));
        x.column_mut(0).assign(&Array1::linspace(-1.0, 1.0, 20));
        let y = x.column(0).mapv(|x: f64| 0.8 * x + 0.1 * (9.0 * x).sin());
        let data = Dataset::regression(x, y).unwrap();
        let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
        let model = Linear::new(1 + idle, 1).unwrap();
        let likelihood = Gaussian::fixed(0.5).unwrap();
        let posterior = Posterior::new(model, likelihood, &data, priors).unwrap();
        let pcn = Pcn { step_size: 0.3, adapt_step_size: false, ..Pcn::default() };
        let draws = Sampler::new(&posterior, pcn).warmup(500).draws(10_000).seed(3).run().unwrap();
        draws.accept_rate().iter().sum::<f64>() / 4.0
    };
    let (few, many) = (rate(0), rate(400));
    assert!((few - many).abs() < 0.02, "{few} and {many}");
    assert!(few < 0.9);
}

#[test]
fn what_a_kernel_cannot_use_is_refused_with_the_reason() {
    let (_, posterior) = regression(12);
    // The words name `log_noise_variance`.
    refused!(Sampler::new(&posterior, Pcn::default()).run(), Prior {});
    let (what, name) = ("parameter block", "v");
    let run = Sampler::new(&posterior, OnBlocks::new(&[name], mala())).run();
    let error = failed!(run, UnknownName { what: what, name: name });
    let Error::UnknownName { known, .. } = &error else { unreachable!() };
    assert_eq!(*known, ["w", "b", "log_noise_variance"]);
    let run = Sampler::new(&posterior, OnBlocks::new(&[], mala())).run();
    refused!(run, Argument { name: "blocks", value: "empty" });
    for step_size in [0.0, 1.5, f64::NAN] {
        let pcn = OnBlocks::new(&["w"], Pcn { step_size, ..Pcn::default() });
        let run = Sampler::new(&posterior, pcn).run();
        refused!(run, Argument { name: "step_size", value: step_size });
    }
    let mixture = Mixture { first: mala(), second: mala(), probability: 1.0 };
    let run = Sampler::new(&posterior, mixture).run();
    refused!(run, Argument { name: "probability", value: 1 });

    let (x, y) = regression_data(12);
    let data = Dataset::regression(x, y).unwrap();
    let build = |likelihood, priors| {
        Posterior::new(Linear::new(2, 1).unwrap(), likelihood, &data, priors).unwrap()
    };
    let normal = || Priors::all(Normal::new(0.0, 1.0).unwrap());
    let fixed = build(Gaussian::fixed(1.0).unwrap(), normal());
    let run = Sampler::new(&fixed, GibbsNoise).run();
    refused!(run, UnknownName { what: what, name: "log_noise_variance" });
    let own = normal().with("log_noise_variance", Normal::new(0.0, 1.0).unwrap());
    let normal_noise = build(Gaussian::sampled(), own);
    refused!(Sampler::new(&normal_noise, GibbsNoise).run(), Prior {});
    // A scale cannot move together with the blocks it scales.
    let hierarchy = normal().hierarchical("w", "s", Normal::new(0.0, 1.0).unwrap());
    let hierarchy = build(Gaussian::fixed(1.0).unwrap(), hierarchy);
    refused!(Sampler::new(&hierarchy, Pcn::default()).run(), Prior {});
}

#[test]
fn a_conditioned_view_is_the_full_density_in_its_blocks() {
    let (_, posterior) = regression(12);
    let view = Conditioned::new(&posterior, &["b", "log_*"]).unwrap();
    assert_eq!(view.layout().block_names(), ["b", "log_noise_variance"]);
    assert_eq!(view.coordinates(), [2, 3]);
    let mut ws = view.workspace();
    ws.q = vec![0.3, -0.4, 9.0, 9.0];
    let (mut grad, mut full) = ([0.0; 2], [0.0; 4]);
    let density = view.log_density_grad(&[0.1, -0.6], &mut grad, &mut ws);
    let q = [0.3, -0.4, 0.1, -0.6];
    let expected = posterior.log_density_grad(&q, &mut full, &mut posterior.workspace());
    assert_eq!((density, grad), (expected, [full[2], full[3]]));
}

#[test]
fn combinations_report_both_kernels_and_adapt_each() {
    let (_, posterior) = regression(12);
    let algorithm = Cycle(OnBlocks::new(&["w", "b"], Mala::default()), GibbsNoise);
    let draws = Sampler::new(&posterior, algorithm).warmup(2_000).draws(2_000).run().unwrap();
    let names = &draws.stat_names()[6..];
    assert_eq!(names, ["first.accept_prob", "first.step_size", "second.accept_prob"]);
    let accept = draws.stat("first.accept_prob").unwrap().mean().unwrap();
    assert!((accept - 0.574).abs() < 0.05, "{accept}");
    assert!(draws.stat("second.accept_prob").unwrap().iter().all(|a| a.is_nan()));
}

/// A divergence on a block is told with all coordinates: those of the block where it failed, the others
/// where the chain is.
#[test]
fn a_divergence_on_a_block_has_the_full_position() {
    let (_, posterior) = regression(12);
    let start = vec![0.1, 0.2, 0.3, -50.0];
    // With so little noise no step of this size can be followed.
    let hmc = Hmc { step_size: 1.0, adapt_step_size: false, ..Hmc::default() };
    let draws = Sampler::new(&posterior, OnBlocks::new(&["w"], hmc))
        .chains(1)
        .warmup(0)
        .draws(20)
        .init(Init::Points(vec![start.clone()]))
        .run()
        .unwrap();
    let divergences = &draws.info().divergences;
    assert!(!divergences.is_empty());
    for divergence in divergences {
        assert_eq!((divergence.position.len(), &divergence.position[2..]), (4, &start[2..]));
    }
}

/// Counts its steps in a coordinate.
struct Count(usize);

impl<T: Target> Algorithm<T> for Count {
    type Kernel = Self;
    fn name(&self) -> String {
        "Count".into()
    }
    fn kernel(&self, _: &T, _: &ChainRng) -> Result<Self, Error> {
        Ok(Self(self.0))
    }
}

impl<T: Target> Kernel<T> for Count {
    type State = ();
    fn state(&self) {}
    fn restore(&mut self, (): ()) {}
    fn step(&mut self, _: &T, at: &mut Point, _: &mut T::Workspace, _: &mut ChainRng) -> Step {
        at.set(|q| q[self.0] += 1.0);
        Step { accept_prob: None, accepted: true, divergent: false, gradient_evals: 0 }
    }
}

#[test]
fn a_mixture_uses_its_kernels_as_often_as_it_says() {
    let target = &GaussianTarget::standard(2).unwrap();
    for probability in [0.1, 0.5, 0.8] {
        let mixture = Mixture { first: Count(0), second: Count(1), probability };
        let mut rng = ChainRng::new(1, 0);
        let mut kernel = mixture.kernel(&target, &rng).unwrap();
        let (mut point, mut ws) = (Point::new(2), target.workspace());
        for _ in 0..20_000 {
            kernel.step(&target, &mut point, &mut ws, &mut rng);
        }
        let [first, second] = [point.q()[0], point.q()[1]];
        assert_eq!(first + second, 20_000.0);
        let sd = (20_000.0 * probability * (1.0 - probability)).sqrt();
        assert!((first - 20_000.0 * probability).abs() < 5.0 * sd, "{probability}: {first}");
    }
}

/// A kernel of a mixture learns its scale from its own steps, in windows that end at its own steps: none is lost where an
/// iteration is the other's.
#[test]
fn a_kernel_of_a_mixture_learns_its_scale_however_rare_it_is() {
    let target = &GaussianTarget::new(vec![0.0; 2], &[1.0, 0.0, 0.0, 1e-6]).unwrap();
    for probability in [0.1, 0.5, 0.9] {
        let mixture = Mixture { first: Hmc::default(), second: Rwm::default(), probability };
        let run = Sampler::new(target, mixture).chains(20).warmup(1_000).draws(1).seed(3);
        let draws = run.run().unwrap();
        // In units of the identity map a step is no longer than some thousandths.
        let steps = draws.stat("first.step_size").unwrap();
        assert!(steps.iter().all(|step| *step > 0.1), "{probability}: {steps}");
    }
}
