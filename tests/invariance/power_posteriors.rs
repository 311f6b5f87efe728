//! Power posteriors leave every rung's density unchanged, and sabotaged copies do not.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel, Ladder, Step, Swaps, metropolis_test};
use bnn_mcmc::targets::{
    BoxSupport, GaussianReference, GradTarget, HessTarget, LogDensity, Point, PowerGradTarget,
    PowerTarget, Target, Tempered,
};
use bnn_mcmc::testing::{ConjugateRegression, Invariance, InvarianceReport, NoiseVariance};

use crate::by_hand::{ByHand, Transition};
use crate::power_posteriors_runs::regression;

/// Prior N(1, 2^2) and a likelihood with two modes, in one dimension: at every temperature, exact
/// draws by inversion of a tabulated distribution function.
#[derive(Clone, Debug)]
struct TwoModes {
    prior: Normal,
}

impl TwoModes {
    fn new() -> Self {
        Self { prior: Normal::new(1.0, 2.0).unwrap() }
    }

    fn parts(&self, x: f64) -> (LogDensity, f64, f64) {
        let mode =
            |weight: f64, at: f64, sd: f64| weight / sd * (-0.5 * ((x - at) / sd).powi(2)).exp();
        let (a, b) = (mode(0.7, -1.5, 0.4), mode(0.3, 2.0, 0.6));
        let slope = (-a * (x + 1.5) / 0.16 - b * (x - 2.0) / 0.36) / (a + b);
        // The constant makes log densities that a wrong swap would confuse with the prior's.
        let density = LogDensity::new((a + b).ln() + 3.0, self.prior.log_density(&[x]));
        (density, slope, -(x - 1.0) / 4.0)
    }

    /// The distribution function of the density at the power `beta`, on a fine grid.
    fn table(&self, beta: f64) -> Vec<f64> {
        let weight =
            |i: usize| LogDensity { beta, ..self.parts(cell(i) + 0.5 * WIDTH).0 }.total().exp();
        let mut sum = 0.0;
        (0..CELLS)
            .map(|i| {
                sum += weight(i);
                sum
            })
            .collect()
    }
}

const CELLS: usize = 8000;

const WIDTH: f64 = 20.0 / CELLS as f64;

fn cell(i: usize) -> f64 {
    -9.0 + WIDTH * i as f64
}

/// A draw from a [`TwoModes::table`].
fn draw_from(table: &[f64], rng: &mut ChainRng) -> f64 {
    let u = table[CELLS - 1] * rng.uniform();
    cell(table.partition_point(|below| *below <= u).min(CELLS - 1)) + WIDTH * rng.uniform()
}

impl Target for TwoModes {
    type Workspace = ();
    fn dim(&self) -> usize {
        1
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        self.parts(q[0]).0
    }
}

impl GradTarget for TwoModes {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        self.log_density_grad_at(1.0, q, grad, ws)
    }
}

impl PowerTarget for TwoModes {
    fn draw_reference(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        self.prior.draw(rng, q)
    }
}

impl PowerGradTarget for TwoModes {
    fn log_density_grad_at(
        &self,
        beta: f64,
        q: &[f64],
        grad: &mut [f64],
        _: &mut (),
    ) -> LogDensity {
        let (density, likelihood, prior) = self.parts(q[0]);
        grad[0] = beta * likelihood + prior;
        density
    }
}

impl HessTarget for TwoModes {
    fn neg_hessian_at(&self, beta: f64, q: &[f64], out: &mut [f64], _: &mut ()) {
        let slope = |x: f64| self.parts(x).1;
        let (h, x) = (1e-4, q[0]);
        // Central differences of fourth order: any deterministic metric serves.
        let difference =
            8.0 * (slope(x + h) - slope(x - h)) - slope(x + 2.0 * h) + slope(x - 2.0 * h);
        out[0] = 0.25 - beta * difference / (12.0 * h);
    }
}

impl BoxSupport for TwoModes {
    fn bounds(&self, lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error> {
        (lower[0], upper[0]) = (f64::NEG_INFINITY, f64::INFINITY);
        Ok(())
    }
}

impl GaussianReference for TwoModes {
    fn gaussian_reference(
        &self,
        _: &[usize],
        _: &[f64],
        mean: &mut [f64],
        sd: &mut [f64],
        _: &mut (),
    ) -> Result<(), Error> {
        (mean[0], sd[0]) = (1.0, 2.0);
        Ok(())
    }
}

/// All rungs of a ladder as one target: the product of the tempered densities.
struct Population<T> {
    base: T,
    betas: Vec<f64>,
}

impl<T: PowerTarget> Target for Population<T> {
    type Workspace = T::Workspace;
    fn dim(&self) -> usize {
        self.base.dim() * self.betas.len()
    }
    fn workspace(&self) -> T::Workspace {
        self.base.workspace()
    }
    fn log_density(&self, q: &[f64], ws: &mut T::Workspace) -> LogDensity {
        let rungs = q.chunks(self.base.dim()).zip(&self.betas);
        let tempered = |(q, beta): (&[f64], &f64)| {
            LogDensity { beta: *beta, ..self.base.log_density(q, ws) }.total()
        };
        LogDensity::from(rungs.map(tempered).sum::<f64>())
    }
}

/// The crate's kernel, moving the whole population: the rungs are set before each step, which is as many
/// transitions of the kernel as the second number says.
struct OnPopulation<A>(PowerPosteriors<A>, usize);

struct OnPopulationKernel<'t, T: PowerTarget, A: Algorithm<Tempered<&'t T>> + Clone + Send> {
    kernel: <PowerPosteriors<A> as Algorithm<&'t T>>::Kernel,
    transitions: usize,
    cold: Point,
}

impl<'t, T, A> Algorithm<&'t Population<T>> for OnPopulation<A>
where
    T: PowerTarget,
    A: Algorithm<Tempered<&'t T>> + Clone + Send,
{
    type Kernel = OnPopulationKernel<'t, T, A>;
    fn name(&self) -> String {
        "OnPopulation".into()
    }

    fn kernel(&self, target: &&'t Population<T>, rng: &ChainRng) -> Result<Self::Kernel, Error> {
        let base: &'t T = &target.base;
        let (kernel, cold) = (self.0.kernel(&base, rng)?, Point::new(base.dim()));
        Ok(OnPopulationKernel { kernel, transitions: self.1, cold })
    }
}

impl<'t, T, A> Kernel<&'t Population<T>> for OnPopulationKernel<'t, T, A>
where
    T: PowerTarget,
    A: Algorithm<Tempered<&'t T>> + Clone + Send,
{
    type State = ();
    fn state(&self) {}
    fn restore(&mut self, _: ()) {}

    fn step(
        &mut self,
        target: &&'t Population<T>,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let base: &'t T = &target.base;
        let (dim, cold) = (base.dim(), target.betas.len() - 1);
        for (k, q) in current.q().chunks(dim).enumerate() {
            match k {
                _ if k < cold => self.kernel.start_at(k, q).unwrap(),
                _ => self.cold.set(|own| own.copy_from_slice(q)),
            }
        }
        let mut step = self.kernel.step(&base, &mut self.cold, ws, rng);
        for _ in 1..self.transitions {
            let next = self.kernel.step(&base, &mut self.cold, ws, rng);
            step.accepted |= next.accepted;
        }
        current.set(|q| {
            for (k, q) in q.chunks_mut(dim).enumerate() {
                q.copy_from_slice(self.kernel.position(k).unwrap_or(self.cold.q()));
            }
        });
        step
    }
}

const BETAS: [f64; 4] = [0.0, 0.1, 0.4, 1.0];

fn ladder() -> Ladder {
    Ladder::Given(BETAS.to_vec())
}

fn two_modes() -> Population<TwoModes> {
    Population { base: TwoModes::new(), betas: BETAS.to_vec() }
}

fn test_two_modes<'t, A>(population: &'t Population<TwoModes>, algorithm: &A) -> InvarianceReport
where
    A: Algorithm<&'t Population<TwoModes>>,
{
    test_steps(4, population, algorithm)
}

fn test_steps<'t, A>(
    steps: usize,
    population: &'t Population<TwoModes>,
    algorithm: &A,
) -> InvarianceReport
where
    A: Algorithm<&'t Population<TwoModes>>,
{
    let setup = Invariance { replicates: 20_000, steps, ..Invariance::default() };
    let tables = BETAS.map(|beta| population.base.table(beta));
    let draw = |rng: &mut ChainRng, q: &mut [f64]| {
        q.iter_mut().zip(&tables).for_each(|(q, table)| *q = draw_from(table, rng));
    };
    setup.run(population, algorithm, draw).unwrap()
}

#[test]
fn every_rung_keeps_its_density_with_any_kernel_and_any_swaps() {
    let population = two_modes();
    for swaps in [Swaps::EvenOdd, Swaps::Categorical { decay: 0.5 }] {
        let of = |report: InvarianceReport| assert!(report.passes(), "{swaps:?}: {report}");
        let rwm = Rwm { step_size: 0.7, ..Rwm::default() };
        of(test_two_modes(&population, &OnPopulation(tempered(rwm, swaps), 1)));
        let mala = Mala { step_size: 0.6, ..Mala::default() };
        of(test_two_modes(&population, &OnPopulation(tempered(mala, swaps), 1)));
        let pcn = Pcn { step_size: 0.4, ..Pcn::default() };
        of(test_two_modes(&population, &OnPopulation(tempered(pcn, swaps), 1)));
        let smmala = Smmala { step_size: 0.7, ..Smmala::new(SoftAbs { alpha: 1.0 }) };
        of(test_two_modes(&population, &OnPopulation(tempered(smmala, swaps), 1)));
        let truncated = TruncatedMala { step_size: 0.6, ..TruncatedMala::default() };
        of(test_two_modes(&population, &OnPopulation(tempered(truncated, swaps), 1)));
        let blocks = OnBlocks::new(&["q"], Rwm { step_size: 1.2, ..Rwm::default() });
        of(test_two_modes(&population, &OnPopulation(tempered(blocks, swaps), 1)));
    }
    let nuts = Nuts { step_size: 0.5, adapt_step_size: false, ..Nuts::default() };
    let report = test_two_modes(&population, &OnPopulation(tempered(nuts, Swaps::EvenOdd), 1));
    assert!(report.passes(), "{report}");
}

fn tempered<A>(inner: A, swaps: Swaps) -> PowerPosteriors<A> {
    PowerPosteriors { ladder: ladder(), swaps, ..PowerPosteriors::new(inner) }
}

/// Two coordinates that are each a [`TwoModes`], for kernels that need two dimensions.
#[derive(Clone, Debug)]
struct OnPlane(TwoModes);

impl Target for OnPlane {
    type Workspace = ();
    fn dim(&self) -> usize {
        2
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        let [a, b] = [q[0], q[1]].map(|x| self.0.parts(x).0);
        LogDensity::new(a.likelihood + b.likelihood, a.prior + b.prior)
    }
}

impl GradTarget for OnPlane {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        self.log_density_grad_at(1.0, q, grad, ws)
    }
}

impl PowerTarget for OnPlane {
    fn draw_reference(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        q.iter_mut().try_for_each(|q| self.0.draw_reference(rng, std::slice::from_mut(q)))
    }
}

impl PowerGradTarget for OnPlane {
    fn log_density_grad_at(
        &self,
        beta: f64,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut (),
    ) -> LogDensity {
        for (q, grad) in q.iter().zip(grad.iter_mut()) {
            let (_, likelihood, prior) = self.0.parts(*q);
            *grad = beta * likelihood + prior;
        }
        self.log_density(q, ws)
    }
}

#[test]
fn every_rung_keeps_its_density_with_mams() {
    let population = Population { base: OnPlane(TwoModes::new()), betas: BETAS.to_vec() };
    let tables = BETAS.map(|beta| population.base.0.table(beta));
    let draw = |rng: &mut ChainRng, q: &mut [f64]| {
        let rungs = q.chunks_mut(2).zip(&tables);
        rungs.for_each(|(q, table)| q.fill_with(|| draw_from(table, rng)));
    };
    let (step_size, path_length) = (0.7, Some(2.0));
    let mams = Mams { step_size, path_length, adapt_step_size: false, ..Mams::default() };
    for (steps, transitions) in [(4, 1), (1, 4)] {
        let algorithm = OnPopulation(tempered(mams.clone(), Swaps::EvenOdd), transitions);
        let setup = Invariance { steps, ..Invariance::default() };
        let report = setup.run(&population, &algorithm, draw).unwrap();
        assert!(report.passes(), "{report}");
    }
}

/// Transitions one after the other: an exchange meets points whose gradients and metrics the kernels of
/// both rungs have just computed, and moves positions away from them.
#[test]
fn what_kernels_know_does_not_travel_with_exchanges() {
    let population = two_modes();
    let test = |report: InvarianceReport| assert!(report.passes(), "{report}");
    let mala = Mala { step_size: 0.6, ..Mala::default() };
    test(test_steps(1, &population, &OnPopulation(tempered(mala, Swaps::EvenOdd), 4)));
    let smmala = Smmala { step_size: 0.7, ..Smmala::new(SoftAbs { alpha: 1.0 }) };
    test(test_steps(1, &population, &OnPopulation(tempered(smmala, Swaps::EvenOdd), 4)));

    let algorithm = tempered(ByHand(Suspicious), Swaps::Categorical { decay: 0.5 });
    let draws = Sampler::new(&population.base, algorithm).draws(500).run().unwrap();
    assert!(LadderReport::of(&draws).unwrap().iter().all(|report| report.swap_rate > 0.2));
}

/// A random walk that believes nothing: what the point says of density and gradient must be what the target
/// says.
#[derive(Clone)]
struct Suspicious;

impl<T: GradTarget> Transition<T> for Suspicious {
    type Memory = Point;
    fn memory(&self, target: &T) -> Self::Memory {
        Point::new(target.dim())
    }

    fn step(
        &self,
        memory: &mut Self::Memory,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let mut grad = vec![0.0; target.dim()];
        let fresh = target.log_density_grad(current.q(), &mut grad, ws);
        assert_eq!(current.eval(target, ws), fresh);
        assert_eq!((current.eval_grad(target, ws), current.grad()), (fresh, &grad[..]));
        memory.set(|q| q.iter_mut().zip(current.q()).for_each(|(q, at)| *q = at + rng.normal()));
        let log_ratio = memory.eval_grad(target, ws).total() - fresh.total();
        metropolis_test(current, memory, log_ratio, 1, rng)
    }
}

/// Of two rungs at given states, how often they are exchanged.
#[test]
fn exchanges_have_their_exact_probability() {
    let (base, betas) = (TwoModes::new(), [0.3, 1.0]);
    let target = &base;
    // Moves within rungs are too small to be taken for an exchange.
    let rwm = Rwm { step_size: 1e-9, ..Rwm::default() };
    let ladder = Ladder::Given(betas.to_vec());
    let algorithm = PowerPosteriors { ladder, ..PowerPosteriors::new(rwm) };
    let mut rng = ChainRng::new(4, 0);
    let mut kernel = algorithm.kernel(&target, &rng).unwrap();
    let mut cold = Point::new(1);
    let (mut surplus, mut variance) = (0.0, 0.0);
    for _ in 0..20_000 {
        let [hot, start] = [rng.uniform(), rng.uniform()].map(|u| 7.0 * u - 3.5);
        kernel.start_at(0, &[hot]).unwrap();
        cold.set(|q| q[0] = start);
        kernel.step(&target, &mut cold, &mut (), &mut rng);
        let exchanged = (cold.q()[0] - hot).abs() < (cold.q()[0] - start).abs();
        let ell = |q: f64| base.parts(q).0.likelihood;
        let p = ((betas[1] - betas[0]) * (ell(hot) - ell(start))).exp().min(1.0);
        surplus += f64::from(u8::from(exchanged)) - p;
        variance += p * (1.0 - p);
        // Pairs take turns: a ladder of two has nothing to exchange in every second round.
        kernel.step(&target, &mut cold, &mut (), &mut rng);
    }
    let z = surplus / variance.sqrt();
    assert!(z.abs() < 5.0, "{surplus:+.0} exchanges of 20,000 more than expected, z = {z:.1}");
}

/// The definition written out, with a random walk within rungs, and one classical mistake or none.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mistake {
    None,
    FlippedSign,
    PosteriorForLikelihood,
    TemperedPrior,
}

struct Definition(Mistake);

struct DefinitionKernel {
    mistake: Mistake,
    rungs: [Point; 4],
    proposal: Point,
}

impl Algorithm<&Population<TwoModes>> for Definition {
    type Kernel = DefinitionKernel;
    fn name(&self) -> String {
        "Definition".into()
    }
    fn kernel(&self, _: &&Population<TwoModes>, _: &ChainRng) -> Result<DefinitionKernel, Error> {
        let point = || Point::new(1);
        let rungs = [point(), point(), point(), point()];
        Ok(DefinitionKernel { mistake: self.0, rungs, proposal: point() })
    }
}

/// beta (ell + log p) where it should be beta ell + log p.
struct TemperedPrior<'t>(&'t TwoModes, f64);

impl Target for TemperedPrior<'_> {
    type Workspace = ();
    fn dim(&self) -> usize {
        1
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(self.1 * self.0.parts(q[0]).0.total())
    }
}

impl<'t> Kernel<&'t Population<TwoModes>> for DefinitionKernel {
    type State = ();
    fn state(&self) {}
    fn restore(&mut self, _: ()) {}

    fn step(
        &mut self,
        target: &&'t Population<TwoModes>,
        current: &mut Point,
        _: &mut (),
        rng: &mut ChainRng,
    ) -> Step {
        let (base, mistake) = (&target.base, self.mistake);
        let mut last = None;
        for ((rung, q), beta) in self.rungs.iter_mut().zip(current.q()).zip(BETAS) {
            rung.set(|own| own[0] = *q);
            let move_ = 0.7 * rng.normal();
            self.proposal.set(|own| own[0] = q + move_);
            let log_density = |point: &mut Point| match mistake {
                Mistake::TemperedPrior => point.eval(&TemperedPrior(base, beta), &mut ()),
                _ => point.eval(&Tempered::new(base, beta).unwrap(), &mut ()),
            };
            let log_ratio = log_density(&mut self.proposal).total() - log_density(rung).total();
            last = Some(metropolis_test(rung, &mut self.proposal, log_ratio, 0, rng));
        }
        let pmf = |i: usize, j: usize| {
            let weight = |k: usize| (-0.5 * i.abs_diff(k) as f64).exp();
            weight(j) / (0..4).filter(|k| *k != i).map(weight).sum::<f64>()
        };
        for (i, beta) in BETAS.into_iter().enumerate() {
            let (mut u, mut j) = (rng.uniform(), if i < 3 { 3 } else { 2 });
            for k in (0..4).filter(|k| *k != i) {
                u -= pmf(i, k);
                if u < 0.0 {
                    j = k;
                    break;
                }
            }
            let ell = |k: usize| {
                let density = base.parts(self.rungs[k].q()[0]).0;
                match mistake {
                    Mistake::PosteriorForLikelihood => density.total(),
                    _ => density.likelihood,
                }
            };
            let mut log_ratio = (beta - BETAS[j]) * (ell(j) - ell(i));
            if mistake == Mistake::FlippedSign {
                log_ratio = -log_ratio;
            }
            if rng.uniform().ln() < log_ratio {
                self.rungs.swap(i, j);
            }
        }
        current.set(|q| q.iter_mut().zip(&self.rungs).for_each(|(q, rung)| *q = rung.q()[0]));
        last.unwrap()
    }
}

#[test]
fn classical_mistakes_are_noticed() {
    let population = two_modes();
    let report = test_two_modes(&population, &Definition(Mistake::None));
    assert!(report.passes(), "{report}");
    for mistake in [Mistake::FlippedSign, Mistake::PosteriorForLikelihood, Mistake::TemperedPrior] {
        let report = test_two_modes(&population, &Definition(mistake));
        assert!(!report.passes(), "{mistake:?}: {report}");
    }
}

/// A posterior with its noise sampled, in blocks, whose exact draws are known at all temperatures.
#[test]
fn every_rung_of_a_regression_with_sampled_noise() {
    let (x, y) = regression(6, 1);
    let noise = NoiseVariance::InverseGamma { shape: 3.0, scale: 1.0 };
    let exact = ConjugateRegression::new(x.view(), y.view(), 1.0, noise).unwrap();
    let exact: Vec<_> = BETAS.iter().map(|beta| exact.tempered(*beta).unwrap()).collect();
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(3.0, 1.0).unwrap());
    let base = Posterior::new(Linear::new(1, 1).unwrap(), Gaussian::sampled(), &data, priors);
    let population = Population { base: base.unwrap(), betas: BETAS.to_vec() };
    let draw = |rng: &mut ChainRng, q: &mut [f64]| {
        exact.iter().zip(q.chunks_mut(3)).for_each(|(exact, q)| exact.draw(rng, q));
    };
    let setup = Invariance { replicates: 20_000, steps: 6, ..Invariance::default() };
    let weights = OnBlocks::new(&["w", "b"], Mala { step_size: 0.5, ..Mala::default() });
    let algorithm = OnPopulation(tempered(Cycle(weights, GibbsNoise), Swaps::EvenOdd), 1);
    let report = setup.run(&population, &algorithm, draw).unwrap();
    assert!(report.passes(), "{report}");
    let all = Mala { step_size: 0.4, ..Mala::default() };
    let algorithm = OnPopulation(tempered(all, Swaps::Categorical { decay: 0.5 }), 1);
    let report = setup.run(&population, &algorithm, draw).unwrap();
    assert!(report.passes(), "{report}");
}
