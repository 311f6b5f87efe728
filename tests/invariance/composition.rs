//! A kernel beside another of its kind with other settings leaves the target unchanged: what one of them
//! keeps of a position is never taken for what the other would have computed there.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{
    Algorithm, Fisher, GradSource, Ladder, LangevinGradient, Smmala, SoftAbs, Step, metropolis_test,
};
use bnn_mcmc::targets::{
    BoxSupport, Cached, Conditioned, Descent, DescentRule, MinibatchTarget, Objective, Pass, Point,
};
use bnn_mcmc::testing::{GaussianTarget, Invariance, InvarianceReport};
use ndarray::{Array1, Array2};
use std::sync::{Arc, Mutex};

use crate::by_hand::{ByHand, Transition};
use crate::fixtures::{Regression, regression};

fn test<'t>(
    algorithm: &impl Algorithm<&'t Regression>,
    target: &'t Regression,
) -> InvarianceReport {
    let (exact, _) = regression(70);
    let setup = Invariance { replicates: 10_000, steps: 15, ..Invariance::default() };
    setup.run(target, algorithm, |rng, q| exact.draw(rng, q)).unwrap()
}

/// `first` and `second` in a cycle and in a mixture, and in a cycle on the weights, whose density
/// changes with the noise that another kernel moves.
fn pair_is_invariant<A>(what: &str, first: A, second: A)
where
    A: Clone + for<'t> Algorithm<&'t Regression>,
    A: for<'t> Algorithm<Conditioned<&'t Regression>>,
{
    let (_, posterior) = regression(70);
    let cycle = Cycle(first.clone(), second.clone());
    let report = test(&cycle, &posterior);
    assert!(report.passes() && report.accept_rate > 0.05, "{what}, cycle: {report}");
    let mixture = Mixture { first: first.clone(), second: second.clone(), probability: 0.4 };
    let report = test(&mixture, &posterior);
    assert!(report.passes(), "{what}, mixture: {report}");
    let weights = |algorithm| OnBlocks::new(&["w", "b"], algorithm);
    let blocks = Cycle(Cycle(weights(first), weights(second)), GibbsNoise);
    let report = test(&blocks, &posterior);
    assert!(report.passes(), "{what}, on blocks: {report}");
}

#[test]
fn random_walks() {
    let of = |step_size| Rwm { step_size, ..Rwm::default() };
    pair_is_invariant("RWM", of(0.04), of(0.2));
}

#[test]
fn langevin_proposals() {
    let of = |step_size| Mala { step_size, ..Mala::default() };
    pair_is_invariant("MALA", of(0.04), of(0.12));
}

#[test]
fn hamiltonian_trajectories() {
    let hmc = |step_size, path_length| Hmc { step_size, path_length, ..Hmc::default() };
    pair_is_invariant("HMC", hmc(0.02, 0.1), hmc(0.1, 0.3));
    let nuts = |step_size, max_depth| Nuts { step_size, max_depth, ..Nuts::default() };
    pair_is_invariant("NUTS", nuts(0.03, 2), nuts(0.12, 5));
    let mams = |step_size, length| Mams { step_size, path_length: Some(length), ..Mams::default() };
    pair_is_invariant("MAMS", mams(0.06, 0.2), mams(0.2, 0.6));
}

#[test]
fn independent_proposals() {
    let of = |sd| Independence { proposal: Normal::new(0.0, sd).unwrap() };
    let target = GaussianTarget::new(vec![0.2, -0.1], &[1.0, 0.5, 0.5, 0.8]).unwrap();
    let setup = Invariance { steps: 10, ..Invariance::default() };
    let cycle = Cycle(of(1.0), of(2.0));
    let report = setup.run(&target, &cycle, |rng, q| target.draw(rng, q)).unwrap();
    assert!(report.passes(), "{report}");
}

#[test]
fn preconditioned_crank_nicolson() {
    let (_, posterior) = regression(70);
    let of = |step_size| OnBlocks::new(&["w", "b"], Pcn { step_size, ..Pcn::default() });
    let cycle = Cycle(Cycle(of(0.1), of(0.5)), GibbsNoise);
    let report = test(&cycle, &posterior);
    assert!(report.passes() && report.accept_rate > 0.1, "{report}");
}

#[test]
fn manifold_proposals() {
    let fisher = |step_size| Smmala { step_size, ..Smmala::new(Fisher) };
    pair_is_invariant("SMMALA, Fisher", fisher(0.9), fisher(1.2));
    let soft_abs = |step_size, alpha| Smmala { step_size, ..Smmala::new(SoftAbs { alpha }) };
    pair_is_invariant("SMMALA, SoftAbs", soft_abs(0.8, 0.05), soft_abs(1.1, 100.0));
}

/// Settings of two kernels whose descents differ in everything that a descent has.
fn langevin_gradients() -> [LangevinGradient; 2] {
    let of = |step_size, objective, pass, learning_rate, depth| LangevinGradient {
        step_size,
        other_step_size: 0.15,
        langevin_rate: 0.9,
        descent: DescentRule { objective, pass, learning_rate, depth },
        ..LangevinGradient::default()
    };
    [
        of(0.04, Objective::SquaredError, Pass::Batch, 0.001, 2),
        of(0.04, Objective::LogPosterior, Pass::PerRow, 0.0015, 1),
    ]
}

#[test]
fn langevin_gradient_with_different_descents() {
    let [first, second] = langevin_gradients();
    pair_is_invariant("Langevin-gradient", first.clone(), second.clone());
    let (_, posterior) = regression(70);
    // In a population, points are exchanged between rungs, and kernels are built anew when a rung moves.
    let inner = Cycle(first, second);
    let ladder = Ladder::Power { rungs: 4, exponent: 3.0 };
    let population = PowerPosteriors { ladder, ..PowerPosteriors::new(inner) };
    agrees_with_exact_draws("a population of cycles", &posterior, population);
}

/// Chains of a run against exact draws: means and mean squares of all coordinates.
fn agrees_with_exact_draws<'t>(
    what: &str,
    posterior: &'t Regression,
    algorithm: impl Algorithm<&'t Regression>,
) {
    let (exact, _) = regression(70);
    let (chains, n) = (16, 500);
    let draws =
        Sampler::new(posterior, algorithm).chains(chains).warmup(300).draws(n).run().unwrap();
    let mut rng = ChainRng::new(5, 0);
    let mut q = [0.0; 4];
    for i in 0..4 {
        for (power, name) in [(1, "mean"), (2, "mean square")] {
            let of_chain = |c: usize| {
                (0..n).map(|d| draws.draw(c, d).unwrap()[i].powi(power)).sum::<f64>() / n as f64
            };
            let means: Array1<f64> = (0..chains).map(of_chain).collect();
            let truths: Array1<f64> = (0..100_000)
                .map(|_| {
                    exact.draw(&mut rng, &mut q);
                    q[i].powi(power)
                })
                .collect();
            let variance = means.var(1.0) / chains as f64 + truths.var(1.0) / truths.len() as f64;
            let z = (means.mean().unwrap() - truths.mean().unwrap()) / variance.sqrt();
            assert!(z.abs() < 5.0, "{what}: {name} of coordinate {i}: {z} standard errors");
        }
    }
}

#[test]
fn populations_with_different_ladders() {
    let (_, posterior) = regression(70);
    let of = |rungs, step_size| PowerPosteriors {
        ladder: Ladder::Power { rungs, exponent: 3.0 },
        adapt_ladder: false,
        ..PowerPosteriors::new(Mala { step_size, ..Mala::default() })
    };
    let cycle = Cycle(of(3, 0.1), of(6, 0.05));
    agrees_with_exact_draws("a cycle of populations", &posterior, cycle);
}

/// Independent densities proportional to e^-q on [0, 1] and e^(-2 q) above 0.
struct InBox;

impl Target for InBox {
    type Workspace = ();
    fn dim(&self) -> usize {
        2
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        let inside = (0.0..=1.0).contains(&q[0]) && q[1] >= 0.0;
        if inside { LogDensity::from(-q[0] - 2.0 * q[1]) } else { LogDensity::OUTSIDE }
    }
}

impl GradTarget for InBox {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad.copy_from_slice(&[-1.0, -2.0]);
        self.log_density(q, ws)
    }
}

impl BoxSupport for InBox {
    fn bounds(&self, lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error> {
        lower.fill(0.0);
        upper.copy_from_slice(&[1.0, f64::INFINITY]);
        Ok(())
    }
}

#[test]
fn truncated_proposals() {
    let of = |step_size| TruncatedMala { step_size, ..TruncatedMala::default() };
    let draw = |rng: &mut ChainRng, q: &mut [f64]| {
        // By inversion of both distribution functions.
        q[0] = -(1.0 - rng.uniform() * (1.0 - (-1.0f64).exp())).ln();
        q[1] = -(1.0 - rng.uniform()).ln() / 2.0;
    };
    let report = Invariance::default().run(&InBox, &Cycle(of(0.2), of(1.5)), draw).unwrap();
    assert!(report.passes(), "{report}");
}

/// The textbook's Metropolis-Hastings kernel around a descent, with a place for D of the current point
/// that two kernels may share.
#[derive(Clone)]
struct Descending {
    rule: DescentRule,
    step: [f64; 4],
    shared: Option<Arc<Mutex<Cached<Vec<f64>>>>>,
}

impl<'t> Transition<&'t Regression> for Descending {
    type Memory = (Arc<Mutex<Cached<Vec<f64>>>>, Point);
    fn memory(&self, target: &&'t Regression) -> Self::Memory {
        let own = || Arc::new(Mutex::new(Cached::new(vec![0.0; 4])));
        (self.shared.clone().unwrap_or_else(own), Point::new(target.dim()))
    }

    fn step(
        &self,
        memory: &mut Self::Memory,
        target: &&'t Regression,
        current: &mut Point,
        ws: &mut <Regression as Target>::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let (Self { rule, step, .. }, (image, proposal)) = (self, memory);
        let mut image = image.lock().unwrap();
        if !image.is_of(current) {
            image.set(current, |image| target.descend(rule, current.q(), image, ws));
        }
        let there = image.at(current).clone();
        proposal.set(|q| {
            for i in 0..4 {
                q[i] = there[i] + step[i] * rng.normal();
            }
        });
        let mut back = vec![0.0; 4];
        target.descend(rule, proposal.q(), &mut back, ws);
        let mut ratio = proposal.eval(target, ws).total() - current.eval(target, ws).total();
        for i in 0..4 {
            let forth = (proposal.q()[i] - there[i]) / step[i];
            let back = (current.q()[i] - back[i]) / step[i];
            ratio += 0.5 * (forth * forth - back * back);
        }
        let step = metropolis_test(current, proposal, ratio, 2, rng);
        if step.accepted {
            image.set(current, |image| *image = back);
        }
        step
    }
}

#[test]
fn a_place_for_the_map_that_two_kernels_share_is_noticed() {
    let (_, posterior) = regression(70);
    let pair = |shared: Option<Arc<Mutex<Cached<Vec<f64>>>>>| {
        let [first, second] = langevin_gradients().map(|algorithm| {
            ByHand(Descending {
                rule: algorithm.descent,
                step: [algorithm.step_size, algorithm.step_size, algorithm.step_size, 0.15],
                shared: shared.clone(),
            })
        });
        Cycle(first, second)
    };
    let report = test(&pair(None), &posterior);
    assert!(report.passes(), "{report}");
    let shared = Arc::new(Mutex::new(Cached::new(vec![0.0; 4])));
    let report = test(&pair(Some(shared)), &posterior);
    assert!(!report.passes(), "{report}");
}

/// U = k q^2/2 in each coordinate, as a sum over rows.
struct Harmonic;

impl Harmonic {
    const K: f64 = 1.5;
    const DIM: usize = 16;
    const ROWS: usize = 4;
}

impl Target for Harmonic {
    type Workspace = ();
    fn dim(&self) -> usize {
        Self::DIM
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(-0.5 * Self::K * q.iter().map(|q| q * q).sum::<f64>())
    }
}

impl GradTarget for Harmonic {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad.iter_mut().zip(q).for_each(|(g, q)| *g = -Self::K * q);
        self.log_density(q, ws)
    }
}

impl MinibatchTarget for Harmonic {
    fn n_obs(&self) -> usize {
        Self::ROWS
    }
    /// All rows are alike: the estimate is exact, on the way that estimates take.
    fn minibatch_grad_at(
        &self,
        _: f64,
        _: &[usize],
        q: &[f64],
        grad: &mut [f64],
        ws: &mut (),
    ) -> LogDensity {
        self.log_density_grad(q, grad, ws)
    }
}

/// An update of (q, kept of the first kernel, kept of the second), all of mean zero: a linear map, and
/// independent noise.
enum Update {
    /// x\[0\] += c x\[1\].
    Add(usize, usize, f64),
    /// x *= c.
    Scale(usize, f64),
    /// x += N(0, variance).
    Noise(usize, f64),
}

use Update::{Add, Noise as AddNoise, Scale};

/// The stationary variance of q under the updates, one after the other, again and again: an update
/// x -> T x + noise takes the covariance P to T P T^T + that of the noise.
fn stationary_variance(updates: &[Update]) -> f64 {
    let mut covariance = Array2::<f64>::zeros((3, 3));
    for _ in 0..5_000 {
        for update in updates {
            let mut map = Array2::eye(3);
            match *update {
                Add(to, from, c) => map[(to, from)] = c,
                Scale(x, c) => map[(x, x)] = c,
                AddNoise(x, variance) => covariance[(x, x)] += variance,
            }
            covariance = map.dot(&covariance).dot(&map.t());
        }
    }
    covariance[(0, 0)]
}

/// The overdamped step of Euler and Maruyama.
fn euler(h: f64) -> Vec<Update> {
    vec![Scale(0, 1.0 - h * Harmonic::K), AddNoise(0, 2.0 * h)]
}

fn leimkuhler_matthews(h: f64, r: usize) -> Vec<Update> {
    let sd = (0.5 * h).sqrt();
    vec![
        Scale(0, 1.0 - h * Harmonic::K),
        Add(0, r, sd),
        Scale(r, 0.0),
        AddNoise(r, 1.0),
        Add(0, r, sd),
    ]
}

/// A by `h`, at mass m, with momentum p.
fn a(h: f64, m: f64, p: usize) -> Update {
    Add(0, p, h / m)
}

fn b(h: f64, p: usize) -> Update {
    Add(p, 0, -h * Harmonic::K)
}

fn o(h: f64, friction: f64, m: f64, p: usize) -> [Update; 2] {
    let kept = (-friction * h).exp();
    [Scale(p, kept), AddNoise(p, m * (1.0 - kept * kept))]
}

fn baoab(h: f64, friction: f64, m: f64, p: usize) -> Vec<Update> {
    let mut updates = vec![b(0.5 * h, p), a(0.5 * h, m, p)];
    updates.extend(o(h, friction, m, p));
    updates.extend([a(0.5 * h, m, p), b(0.5 * h, p)]);
    updates
}

fn obabo(h: f64, friction: f64, m: f64, p: usize) -> Vec<Update> {
    let mut updates = Vec::from(o(0.5 * h, friction, m, p));
    updates.extend([b(0.5 * h, p), a(h, m, p), b(0.5 * h, p)]);
    updates.extend(o(0.5 * h, friction, m, p));
    updates
}

fn sghmc(h: f64, c: f64, v: usize) -> Vec<Update> {
    vec![Scale(v, 1.0 - h * c), Add(v, 0, -h * Harmonic::K), AddNoise(v, 2.0 * h * c), Add(0, v, h)]
}

/// The variance of q after a cycle is that of the two discretised updates, one after the other.
fn cycle_has_variance<A>(what: &str, first: A, second: A, updates: [Vec<Update>; 2])
where
    A: for<'t> Algorithm<&'t Harmonic>,
{
    let chains = 32;
    let draws = Sampler::new(&Harmonic, Cycle(first, second))
        .chains(chains)
        .warmup(200)
        .draws(2_500)
        .init(Init::Around { centre: vec![0.0; Harmonic::DIM], sd: 0.8 })
        .run()
        .unwrap();
    let of_chain = |c: usize| {
        let values = draws.values();
        let values = values.index_axis(ndarray::Axis(0), c);
        values.iter().map(|q| q * q).sum::<f64>() / values.len() as f64
    };
    let variances: Array1<f64> = (0..chains).map(of_chain).collect();
    let error = variances.std(1.0) / (chains as f64).sqrt();
    let exact = stationary_variance(&updates.into_iter().flatten().collect::<Vec<_>>());
    let z = (variances.mean().unwrap() - exact) / error;
    assert!(error / exact < 0.01, "{what}: {error} of {exact}");
    assert!(z.abs() < 5.0, "{what}: {z} standard errors from {exact}");
}

fn integrators_on<G>(gradient: G)
where
    G: Clone + for<'t> GradSource<&'t Harmonic>,
{
    let source = std::any::type_name::<G>();
    let (h, friction, m) = ([0.1, 0.4], [0.5, 3.0], [1.0, 0.6]);
    let sgld = |i: usize| Sgld { step_size: h[i], ..Sgld::new(gradient.clone()) };
    cycle_has_variance(&format!("SGLD, {source}"), sgld(0), sgld(1), h.map(euler));

    let lm = |i: usize| LeimkuhlerMatthews {
        step_size: h[i],
        ..LeimkuhlerMatthews::new(gradient.clone())
    };
    let updates = [0, 1].map(|i| leimkuhler_matthews(h[i], i + 1));
    cycle_has_variance(&format!("Leimkuhler-Matthews, {source}"), lm(0), lm(1), updates);

    let masses = |i: usize| Mass::Diagonal(vec![m[i]; Harmonic::DIM]);
    let of_baoab = |i: usize| Baoab {
        step_size: h[i],
        friction: friction[i],
        mass: masses(i),
        ..Baoab::new(gradient.clone())
    };
    let updates = [0, 1].map(|i| baoab(h[i], friction[i], m[i], i + 1));
    cycle_has_variance(&format!("BAOAB, {source}"), of_baoab(0), of_baoab(1), updates);

    let of_obabo = |i: usize| Obabo {
        step_size: h[i],
        friction: friction[i],
        mass: masses(i),
        ..Obabo::new(gradient.clone())
    };
    let updates = [0, 1].map(|i| obabo(h[i], friction[i], m[i], i + 1));
    cycle_has_variance(&format!("OBABO, {source}"), of_obabo(0), of_obabo(1), updates);

    let of_sghmc =
        |i: usize| Sghmc { step_size: h[i], friction: friction[i], ..Sghmc::new(gradient.clone()) };
    let updates = [0, 1].map(|i| sghmc(h[i], friction[i], i + 1));
    cycle_has_variance(&format!("SGHMC, {source}"), of_sghmc(0), of_sghmc(1), updates);
}

#[test]
fn integrators_with_different_steps() {
    let of = |step_size| EulerMaruyama { step_size, ..EulerMaruyama::default() };
    cycle_has_variance("Euler-Maruyama", of(0.1), of(0.4), [0.1, 0.4].map(euler));
    integrators_on(FullGrad);
    integrators_on(Minibatch { size: Harmonic::ROWS });
}
