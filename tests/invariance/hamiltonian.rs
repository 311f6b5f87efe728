//! Hamiltonian Monte Carlo and NUTS leave their targets unchanged, and sabotaged copies do not.

use bnn_mcmc::draws::Divergence;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel, Step, metropolis_test};
use bnn_mcmc::targets::Point;
use bnn_mcmc::testing::{GaussianTarget, Invariance, InvarianceReport};

use crate::by_hand::{ByHand, Transition};
use crate::fixtures::{Exact, Funnel, correlated};

/// 0.3 N(-m, S) + 0.7 N(m, I) on the plane: two modes, and chains that cross between them.
pub struct TwoModes;

impl TwoModes {
    const MODE: [f64; 2] = [1.4, -1.0];
    const SD: f64 = 0.6;

    /// Log densities of both components, and their log sum.
    fn parts(q: &[f64]) -> (f64, f64, f64) {
        let squares = |sign: f64| {
            (q[0] - sign * Self::MODE[0]).powi(2) + (q[1] - sign * Self::MODE[1]).powi(2)
        };
        let left = (0.3 / (Self::SD * Self::SD)).ln() - 0.5 * squares(-1.0) / Self::SD.powi(2);
        let right = 0.7f64.ln() - 0.5 * squares(1.0);
        let high = left.max(right);
        (left, right, high + ((left - high).exp() + (right - high).exp()).ln())
    }
}

impl Target for TwoModes {
    type Workspace = ();
    fn dim(&self) -> usize {
        2
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(Self::parts(q).2)
    }
}

impl GradTarget for TwoModes {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], _: &mut ()) -> LogDensity {
        let (left, right, sum) = Self::parts(q);
        let (left, right) = ((left - sum).exp(), (right - sum).exp());
        for i in 0..2 {
            let m = Self::MODE[i];
            grad[i] = -left * (q[i] + m) / Self::SD.powi(2) - right * (q[i] - m);
        }
        LogDensity::from(sum)
    }
}

impl Exact for TwoModes {
    fn draw(&self, rng: &mut ChainRng, q: &mut [f64]) {
        let (sign, sd) = if rng.uniform() < 0.3 { (-1.0, Self::SD) } else { (1.0, 1.0) };
        for (q, m) in q.iter_mut().zip(Self::MODE) {
            *q = sign * m + sd * rng.normal();
        }
    }
}

/// N(0, I) in the quarter plane of positive coordinates: trajectories leave the support.
pub struct Quarter;

impl Target for Quarter {
    type Workspace = ();
    fn dim(&self) -> usize {
        2
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        if q[0] < 0.0 || q[1] < 0.0 {
            return LogDensity::OUTSIDE;
        }
        LogDensity::from(-0.5 * (q[0] * q[0] + q[1] * q[1]))
    }
}

impl GradTarget for Quarter {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad.copy_from_slice(&[-q[0], -q[1]]);
        self.log_density(q, ws)
    }
}

impl Exact for Quarter {
    fn draw(&self, rng: &mut ChainRng, q: &mut [f64]) {
        q.fill_with(|| rng.normal().abs());
    }
}

fn test<'t, T: Exact, A: Algorithm<&'t T>>(target: &'t T, algorithm: &A) -> InvarianceReport {
    let setup = Invariance { steps: 6, ..Invariance::default() };
    setup.run(target, algorithm, |rng, q| target.draw(rng, q)).unwrap()
}

fn both_are_invariant<T: Exact>(name: &str, target: &T, step_sizes: [f64; 2]) {
    for step_size in step_sizes {
        for max_depth in [2, 10] {
            let report = test(target, &Nuts { step_size, max_depth, ..Nuts::default() });
            assert!(report.passes(), "NUTS on {name}, step {step_size}, {max_depth}: {report}");
        }
        for jitter in [0.0, 1.0] {
            let report = test(target, &Hmc { step_size, jitter, ..Hmc::default() });
            assert!(report.passes(), "HMC on {name}, step {step_size}, {jitter}: {report}");
        }
    }
}

#[test]
fn correlated_normal() {
    both_are_invariant("the normal", &correlated(), [0.35, 1.0]);
}

/// 19 coordinates: at every instruction set some fill registers, and some are left over.
#[test]
fn whole_registers_and_what_is_left_over() {
    let mut covariance = vec![0.0; 19 * 19];
    for i in 0..19 {
        covariance[20 * i] = 0.5 + 0.1 * i as f64;
    }
    let target = GaussianTarget::new(vec![0.5; 19], &covariance).unwrap();
    both_are_invariant("19 coordinates", &target, [0.3, 0.7]);
}

#[test]
fn funnel() {
    both_are_invariant("the funnel", &Funnel, [0.3, 0.9]);
}

#[test]
fn two_modes() {
    both_are_invariant("two modes", &TwoModes, [0.4, 0.9]);
}

#[test]
fn a_support_with_a_boundary() {
    both_are_invariant("the quarter", &Quarter, [0.2, 0.8]);
    let draws = Sampler::new(&Quarter, Nuts { max_depth: 3, ..Nuts::default() })
        .init(Init::Points(vec![vec![1.0, 1.0]]))
        .chains(1)
        .run()
        .unwrap();
    assert_eq!(draws.divergences(), 0, "to leave the support is no divergence");
}

/// Log densities of the rings around the origin: |q| is about k times the step size times sqrt(DIM) on
/// ring k. The gradient is reported as 0, so that trajectories are straight lines of known weights:
/// momenta in so many dimensions have about the same length.
struct Rings([f64; 4]);

const RINGS: Rings = Rings([0.0, -0.5, -0.7, -1.1]);
const FLAT: Rings = Rings([0.0; 4]);
const DIM: usize = 256;
const STEP: f64 = 0.25;

impl Rings {
    fn ring(q: &[f64]) -> usize {
        let distance = (dot(q, q) / DIM as f64).sqrt() / STEP;
        [0.5, 2f64.sqrt(), 6f64.sqrt()].iter().filter(|bound| distance > **bound).count()
    }

    /// Runs `n` transitions of `algorithm` from the origin; which ring each of them ended on, and what the
    /// kernel's statistics say of it.
    fn transitions<A>(&self, algorithm: &A, n: usize) -> Vec<(usize, Vec<f64>)>
    where
        A: for<'t> Algorithm<&'t Rings>,
    {
        let (target, mut rng) = (self, ChainRng::new(5, 0));
        let mut kernel = algorithm.kernel(&target, &rng).unwrap();
        let mut stats = vec![0.0; kernel.stat_names().len()];
        let mut point = Point::new(DIM);
        let transition = |_| {
            point.set(|q| q.fill(0.0));
            kernel.step(&target, &mut point, &mut (), &mut rng);
            kernel.stats(&mut stats);
            (Self::ring(point.q()), stats.clone())
        };
        (0..n).map(transition).collect()
    }
}

impl Target for Rings {
    type Workspace = ();
    fn dim(&self) -> usize {
        DIM
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(self.0[Self::ring(q)])
    }
}

impl GradTarget for Rings {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad.fill(0.0);
        self.log_density(q, ws)
    }
}

/// `count` of `n` events of probability `p`, in standard deviations from what is expected.
fn deviation(count: usize, n: usize, p: f64) -> f64 {
    let n = n as f64;
    (count as f64 - n * p) / (n * p * (1.0 - p)).sqrt()
}

#[test]
fn hmc_accepts_with_the_exact_probability() {
    for steps in 1..=3 {
        let path_length = (f64::from(steps) - 0.5) * STEP;
        let hmc = Hmc { step_size: STEP, path_length, jitter: 0.0, ..Hmc::default() };
        let hmc = Hmc { adapt_step_size: false, ..hmc };
        let ends = RINGS.transitions(&hmc, 40_000);
        let moved = ends.iter().filter(|(ring, _)| *ring > 0).count();
        let z = deviation(moved, ends.len(), RINGS.0[steps as usize].exp());
        assert!(z.abs() < 5.0, "{steps} steps: {moved} of {} moved, z = {z:.1}", ends.len());
    }
}

/// One leapfrog step in ten dimensions, short, and so long that hardly half of them are accepted.
#[test]
fn hmc_with_small_and_with_large_energy_errors() {
    let target = GaussianTarget::standard(10).unwrap();
    let setup = Invariance { replicates: 40_000, steps: 6, ..Invariance::default() };
    for (step_size, accepted) in [(0.5, 0.9..1.0), (1.2, 0.4..0.6)] {
        let hmc = Hmc { step_size, path_length: step_size, jitter: 0.0, ..Hmc::default() };
        let report = setup.run(&target, &hmc, |rng, q| target.draw(rng, q)).unwrap();
        assert!(report.passes() && accepted.contains(&report.accept_rate), "{report}");
    }
}

/// 5 to 15 steps, each length with probability 1/10, but for rounding up: 6 to 15.
#[test]
fn path_lengths_are_uniform_around_the_one_given() {
    let target = GaussianTarget::standard(1).unwrap();
    let hmc = Hmc { step_size: 0.1, path_length: 1.0, jitter: 0.5, ..Hmc::default() };
    let draws = Sampler::new(&target, hmc).warmup(0).draws(5_000).seed(1).run().unwrap();
    let steps = draws.stat("leapfrog_steps").unwrap();
    assert!(steps.iter().all(|s| (6.0..=15.0).contains(s)));
    for length in 6..=15 {
        let count = steps.iter().filter(|s| **s == f64::from(length)).count();
        let z = deviation(count, steps.len(), 0.1);
        assert!(z.abs() < 5.0, "{length} steps {count} times, z = {z:.1}");
    }
}

/// The probabilities with which a transition of two doublings ends on each ring, by its definition: a
/// fair coin for each direction, a draw by weight within a doubling, and the doubling's draw taken with
/// probability min(1, W_new / W_old).
#[test]
fn two_doublings_end_where_the_definition_says() {
    let nuts = Nuts { step_size: STEP, adapt_step_size: false, max_depth: 2, ..Nuts::default() };
    for rings in [RINGS, FLAT] {
        let w = rings.0.map(f64::exp);
        let mut exact = [0.0; 4];
        // The first doubling reaches ring 1, whichever its direction. The second goes on to the rings 2
        // and 3, or turns to the rings 1 and 2 on the other side: each with probability 1/2.
        for (near, far) in [(2, 3), (1, 2)] {
            let first = (w[1] / w[0]).min(1.0);
            let new = w[near] + w[far];
            let taken = (new / (w[0] + w[1])).min(1.0);
            exact[near] += 0.5 * taken * w[near] / new;
            exact[far] += 0.5 * taken * w[far] / new;
            exact[1] += 0.5 * (1.0 - taken) * first;
            exact[0] += 0.5 * (1.0 - taken) * (1.0 - first);
        }
        let ends = rings.transitions(&nuts, 100_000);
        assert!(ends.iter().all(|(_, stats)| stats[4] == 3.0), "straight lines do not turn");
        for (ring, p) in exact.into_iter().enumerate() {
            let count = ends.iter().filter(|end| end.0 == ring).count();
            assert!(p > 0.0 || count == 0, "{count} at ring {ring}");
            let z = if p > 0.0 { deviation(count, ends.len(), p) } else { 0.0 };
            assert!(z.abs() < 5.0, "ring {ring}: {count}, not {:.0}, z = {z:.1}", p * 1e5);
        }
    }
}

/// Hamiltonian Monte Carlo from its definition, three steps, with room for mistakes.
#[derive(Clone)]
struct PlainHmc {
    step_size: f64,
    keep_momentum: bool,
    forget_kinetic_energy: bool,
}

impl<T: GradTarget> Transition<T> for PlainHmc {
    type Memory = Option<Vec<f64>>;
    fn memory(&self, _: &T) -> Self::Memory {
        None
    }

    fn step(
        &self,
        memory: &mut Self::Memory,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let eps = self.step_size;
        let mut p: Vec<f64> = (0..target.dim()).map(|_| rng.normal()).collect();
        if self.keep_momentum {
            p = memory.get_or_insert(p).clone();
        }
        current.eval_grad(target, ws);
        let energy = |point: &Point, p: &[f64]| {
            let kinetic = if self.forget_kinetic_energy { 0.0 } else { 0.5 * dot(p, p) };
            kinetic - point.log_density().total()
        };
        let before = energy(current, &p);
        let mut end = current.clone();
        for _ in 0..3 {
            p.iter_mut().zip(end.grad()).for_each(|(p, g)| *p += 0.5 * eps * g);
            end.set(|q| q.iter_mut().zip(&p).for_each(|(q, p)| *q += eps * p));
            end.eval_grad(target, ws);
            p.iter_mut().zip(end.grad()).for_each(|(p, g)| *p += 0.5 * eps * g);
        }
        let ratio = before - energy(&end, &p);
        metropolis_test(current, &mut end, ratio, 3, rng)
    }
}

#[test]
fn sabotaged_copies_of_hmc_fail() {
    let target = correlated();
    for (keep_momentum, forget_kinetic_energy) in [(false, false), (true, false), (false, true)] {
        let plain = ByHand(PlainHmc { step_size: 0.6, keep_momentum, forget_kinetic_energy });
        let report = test(&target, &plain);
        let right = !keep_momentum && !forget_kinetic_energy;
        assert_eq!(report.passes(), right, "{keep_momentum} {forget_kinetic_energy}: {report}");
    }
}

/// Equal step sizes give equal trajectories: what the library's NUTS stops at is what the definition
/// stops at, also where a wrong answer would cost efficiency only.
#[test]
fn trajectories_are_as_long_as_those_of_the_definition() {
    let target = correlated();
    for step_size in [0.2, 0.7] {
        let nuts = Nuts { step_size, adapt_step_size: false, ..Nuts::default() };
        let plain = PlainNuts { step_size, mistake: Mistake::Nothing };
        let mut moved = [0.0; 2];
        let draws = Sampler::new(&target, nuts).warmup(0).draws(20_000).seed(1).run().unwrap();
        let other = Sampler::new(&target, plain).warmup(0).draws(20_000).seed(2).run().unwrap();
        for (moved, draws) in moved.iter_mut().zip([&draws, &other]) {
            let q = draws.parameter("q[1]").unwrap().to_owned();
            let rows = q.rows().into_iter();
            let jumps = rows.flat_map(|r| {
                r.windows(2).into_iter().map(|w| (w[1] - w[0]).powi(2)).collect::<Vec<_>>()
            });
            *moved = jumps.sum::<f64>() / 80_000.0;
        }
        // Squared jumps are known to about 1 %.
        assert!((moved[0] / moved[1] - 1.0).abs() < 0.05, "{step_size}: {moved:?}");
        let steps = draws.stat("leapfrog_steps").unwrap().mean().unwrap();
        let definition = other.stat("gradient_evals").unwrap().mean().unwrap();
        assert!((steps / definition - 1.0).abs() < 0.3, "{step_size}: {steps} {definition}");
    }
}

/// How often trajectories have each number of doublings: the definition's frequencies, for short steps and
/// long ones, and for steps of about a fifteenth of the period of twenty equal oscillators: after sixteen of
/// them the momenta add up to nearly 0, and only half of the trajectory with its neighbour tells that it has
/// turned. Draws of a normal target by NUTS are nearly independent, and so are their trajectories.
#[test]
fn trees_are_as_deep_as_those_of_the_definition() {
    let [line, ball] = [1, 20].map(|dim| GaussianTarget::standard(dim).unwrap());
    for (target, step_size) in [(&line, 1.1), (&correlated(), 0.35), (&ball, 0.416)] {
        let nuts = Nuts { step_size, adapt_step_size: false, max_depth: 8, ..Nuts::default() };
        let plain = PlainNuts { step_size, mistake: Mistake::Nothing };
        let n = 20_000;
        let ours = Sampler::new(target, nuts).warmup(0).draws(n / 4).seed(1).run().unwrap();
        let other = Sampler::new(target, plain).warmup(0).draws(n / 4).seed(2).run().unwrap();
        for depth in 0..=8 {
            let [a, b] = [&ours, &other].map(|draws| {
                let depths = draws.stat("tree_depth").unwrap();
                depths.iter().filter(|d| **d == f64::from(depth)).count() as f64
            });
            let z = (a - b) / (a + b).max(1.0).sqrt();
            assert!(z.abs() < 6.0, "{step_size}, depth {depth}: {a} and {b}, z = {z:.1}");
        }
    }
}

/// What a careless implementation of NUTS gets wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    Nothing,
    /// The draw of a doubling is taken whatever its weight.
    DoublingWithoutWeights,
    /// Within a doubling all points are equally likely.
    EqualWeights,
    /// The U-turn is looked for at the end that did not move.
    TurnAtWrongEnd,
    /// Only whole trajectories are checked for turning, not the subtrees of a doubling.
    NoSubtrees,
    /// The momentum is drawn once, and kept.
    MomentumNotResampled,
}

use Mistake::*;

/// NUTS from its definition, on lists of points, with room for mistakes.
#[derive(Clone)]
struct PlainNuts {
    step_size: f64,
    mistake: Mistake,
}

struct PlainNutsKernel {
    config: PlainNuts,
    kept: Option<Vec<f64>>,
    /// Doublings of the latest transition, without one that was thrown away.
    depth: u32,
}

#[derive(Clone)]
struct State {
    point: Point,
    p: Vec<f64>,
    log_weight: f64,
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl PlainNuts {
    fn turns(&self, states: &[State], moved_forwards: bool) -> bool {
        let mut rho = vec![0.0; states[0].p.len()];
        for state in states {
            rho.iter_mut().zip(&state.p).for_each(|(rho, p)| *rho += p);
        }
        let at = |state: &State| dot(&state.p, &rho) <= 0.0;
        let (first, last) = (&states[0], &states[states.len() - 1]);
        match (self.mistake, moved_forwards) {
            (TurnAtWrongEnd, true) => at(first),
            (TurnAtWrongEnd, false) => at(last),
            _ => at(first) || at(last),
        }
    }

    fn halves_turn(&self, states: &[State], forwards: bool) -> bool {
        let half = states.len() / 2;
        self.turns(states, forwards)
            || self.turns(&states[..half + 1], forwards)
            || self.turns(&states[half - 1..], forwards)
    }

    fn subtree_turns(&self, states: &[State], forwards: bool) -> bool {
        let half = states.len() / 2;
        half > 0
            && self.mistake != NoSubtrees
            && (self.subtree_turns(&states[..half], forwards)
                || self.subtree_turns(&states[half..], forwards)
                || self.halves_turn(states, forwards))
    }
}

/// One of the states by weight, and log W.
fn draw_by_weight(states: &[State], equal: bool, rng: &mut ChainRng) -> (State, f64) {
    let total: f64 = states.iter().map(|s| s.log_weight.exp()).sum();
    let weight = |s: &State| if equal { 1.0 } else { s.log_weight.exp() };
    let mut left = rng.uniform() * states.iter().map(weight).sum::<f64>();
    let chosen = states.iter().find(|s| {
        left -= weight(s);
        left < 0.0
    });
    (chosen.unwrap_or(&states[0]).clone(), total.ln())
}

impl<T: GradTarget> Algorithm<T> for PlainNuts {
    type Kernel = PlainNutsKernel;
    fn name(&self) -> String {
        "PlainNuts".into()
    }

    fn kernel(&self, _: &T, _: &ChainRng) -> Result<PlainNutsKernel, Error> {
        Ok(PlainNutsKernel { config: self.clone(), kept: None, depth: 0 })
    }
}

impl<T: GradTarget> Kernel<T> for PlainNutsKernel {
    type State = ();

    fn state(&self) {}

    fn restore(&mut self, (): ()) {}

    fn step(
        &mut self,
        target: &T,
        current: &mut Point,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let config = self.config.clone();
        let mut p: Vec<f64> = (0..target.dim()).map(|_| rng.normal()).collect();
        if config.mistake == MomentumNotResampled {
            p = self.kept.get_or_insert(p).clone();
        }
        current.eval_grad(target, ws);
        let energy = |point: &Point, p: &[f64]| 0.5 * dot(p, p) - point.log_density().total();
        let start = energy(current, &p);
        let mut trajectory = vec![State { point: current.clone(), p, log_weight: 0.0 }];
        let (mut draw, mut log_total, mut moved) = (trajectory[0].clone(), 0.0f64, false);
        let mut steps = 0;
        self.depth = 0;
        for depth in 0..8 {
            let forwards = rng.uniform() < 0.5;
            let eps = if forwards { config.step_size } else { -config.step_size };
            let mut doubling: Vec<State> = Vec::new();
            for _ in 0..1 << depth {
                let end = match forwards {
                    true => doubling.last().or(trajectory.last()),
                    false => doubling.first().or(trajectory.first()),
                };
                let mut state = end.unwrap().clone();
                for (p, g) in state.p.iter_mut().zip(state.point.grad()) {
                    *p += 0.5 * eps * g;
                }
                let p = &state.p;
                state.point.set(|q| q.iter_mut().zip(p).for_each(|(q, p)| *q += eps * p));
                state.point.eval_grad(target, ws);
                for (p, g) in state.p.iter_mut().zip(state.point.grad()) {
                    *p += 0.5 * eps * g;
                }
                state.log_weight = start - energy(&state.point, &state.p);
                doubling.insert(if forwards { doubling.len() } else { 0 }, state);
            }
            steps += doubling.len() as u32;
            if config.subtree_turns(&doubling, forwards) {
                break;
            }
            self.depth = depth + 1;
            let (new, log_new) = draw_by_weight(&doubling, config.mistake == EqualWeights, rng);
            let take = config.mistake == DoublingWithoutWeights
                || rng.uniform() < (log_new - log_total).exp();
            if take {
                (draw, moved) = (new, true);
            }
            log_total = (log_total.exp() + log_new.exp()).ln();
            let at = if forwards { trajectory.len() } else { 0 };
            trajectory.splice(at..at, doubling);
            if config.halves_turn(&trajectory, forwards) {
                break;
            }
        }
        *current = draw.point;
        Step { accept_prob: None, accepted: moved, divergent: false, gradient_evals: steps }
    }

    fn stat_names(&self) -> Vec<String> {
        vec!["tree_depth".into()]
    }

    fn stats(&self, out: &mut [f64]) {
        out[0] = f64::from(self.depth);
    }
}

#[test]
fn sabotaged_copies_fail_and_the_same_code_without_a_mistake_passes() {
    // No boundary and a moderate curvature, so that the plain copy needs no care for either.
    let normal = correlated();
    for (step_size, mistakes) in [
        (1.0, &[DoublingWithoutWeights, EqualWeights, MomentumNotResampled][..]),
        (0.35, &[TurnAtWrongEnd, NoSubtrees][..]),
    ] {
        for mistake in mistakes.iter().copied().chain([Mistake::Nothing]) {
            let plain = PlainNuts { step_size, mistake };
            let reports = [test(&normal, &plain), test(&TwoModes, &plain)];
            if mistake == Mistake::Nothing {
                assert!(reports.iter().all(|r| r.passes()), "{} {}", reports[0], reports[1]);
            } else {
                let noticed = reports.iter().any(|r| !r.passes());
                assert!(noticed, "{mistake:?} was not noticed: {} {}", reports[0], reports[1]);
            }
        }
    }
}

/// 0 near the origin, and elsewhere what is given; no gradient.
pub struct Needle(pub f64);

impl Target for Needle {
    type Workspace = ();
    fn dim(&self) -> usize {
        2
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::new(if q.iter().all(|q| q.abs() <= 1e-30) { 0.0 } else { self.0 }, 0.0)
    }
}

impl GradTarget for Needle {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad.fill(0.0);
        self.log_density(q, ws)
    }
}

#[test]
fn no_density_holds_up_the_search_for_a_step_size() {
    for (value, diverges) in
        [(0.0, false), (f64::NAN, true), (f64::INFINITY, true), (f64::NEG_INFINITY, true)]
    {
        let target = Needle(value);
        let start = Init::Points(vec![vec![0.0; 2]; 2]);
        let sampler = |algorithm: Nuts| {
            let run = Sampler::new(&target, algorithm).chains(2).warmup(20).draws(20);
            run.init(start.clone()).run().unwrap()
        };
        let draws = sampler(Nuts { max_depth: 3, ..Nuts::default() });
        assert_eq!(draws.divergences() > 0, diverges, "{value}");
        assert!(draws.values().iter().all(|q| q.is_finite()), "{value}");
        // A step that overflows where the density stays finite.
        let draws = sampler(Nuts {
            step_size: 1.7e308,
            adapt_step_size: false,
            max_depth: 3,
            ..Nuts::default()
        });
        assert!(draws.values().iter().all(|q| q.is_finite()) && draws.divergences() > 0, "{value}");
        let hmc = Hmc { step_size: 1e308, adapt_step_size: false, ..Hmc::default() };
        let run = Sampler::new(&target, hmc).chains(2).warmup(5).draws(20).init(start.clone());
        let draws = run.run().unwrap();
        assert!(draws.values().iter().all(|q| q.is_finite()), "{value}");
        assert!(draws.divergences() > 0, "{value}");
    }
}

#[test]
fn warm_up_reaches_the_target_acceptance_and_the_scales() {
    let covariance: Vec<f64> =
        (0..100).map(|k| if k % 11 == 0 { 10f64.powi(k / 11 - 5) } else { 0.0 }).collect();
    let target = GaussianTarget::new(vec![0.0; 10], &covariance).unwrap();
    for preconditioner in [Preconditioner::Diagonal, Preconditioner::DiagonalFromGradients] {
        for target_accept in [0.6, 0.8, 0.95] {
            let nuts = Nuts { target_accept, preconditioner, ..Nuts::default() };
            let draws = Sampler::new(&target, nuts).seed(1).run().unwrap();
            let accept = draws.stat("accept_prob").unwrap().mean().unwrap();
            assert!((accept - target_accept).abs() < 0.05, "{preconditioner:?}: {accept}");
            let hmc = Hmc { target_accept, preconditioner, ..Hmc::default() };
            let draws = Sampler::new(&target, hmc).seed(1).run().unwrap();
            let accept = draws.stat("accept_prob").unwrap().mean().unwrap();
            // The number of steps is whole: acceptance jumps where it changes.
            assert!((accept - target_accept).abs() < 0.1, "HMC, {preconditioner:?}: {accept}");
        }
    }
    // Variances from 1e-5 to 1e4: what is learnt makes trajectories short.
    let draws = Sampler::new(&target, Nuts::default()).seed(1).run().unwrap();
    assert!(draws.stat("leapfrog_steps").unwrap().mean().unwrap() < 10.0);
    assert!(draws.at_max_depth().unwrap().iter().all(|share| *share == 0.0));
    assert!(draws.ebfmi().unwrap().iter().all(|ebfmi| *ebfmi > 0.8));
    assert!(draws.summary().unwrap().min_ess_bulk() > 1000.0);
}

#[test]
fn divergences_are_counted_and_say_where() {
    // Steps that are fine in the wide part of the funnel, and far too long in its neck.
    let nuts = Nuts { step_size: 1.2, adapt_step_size: false, ..Nuts::default() };
    let draws = Sampler::new(&Funnel, nuts.clone()).warmup(0).draws(3000).seed(3).run().unwrap();
    let divergences = &draws.info().divergences;
    assert!(!divergences.is_empty() && divergences.len() as u64 <= draws.divergences());
    // The last position before the failure: one at which the density can be computed.
    let density = |d: &Divergence| Funnel.log_density(&d.position, &mut ()).total();
    assert!(divergences.iter().all(|d| density(d) > -1e4));
    for divergence in divergences {
        assert!(divergence.position.len() == 3 && divergence.chain < 4 && divergence.draw < 3000);
        assert_eq!(draws.stat("divergent").unwrap()[(divergence.chain, divergence.draw)], 1.0);
    }
    // As an inner kernel too, the position is that of all coordinates.
    let cycle = Cycle(Rwm { step_size: 0.1, ..Rwm::default() }, OnBlocks::new(&["q"], nuts));
    let draws = Sampler::new(&Funnel, cycle).warmup(0).draws(3000).seed(3).run().unwrap();
    assert!(draws.info().divergences.iter().all(|d| d.position.len() == 3));
    assert!(!draws.info().divergences.is_empty() && draws.at_max_depth().is_some());
}

#[test]
fn a_shallow_tree_is_cut_off_and_says_so() {
    let target = GaussianTarget::standard(2).unwrap();
    let nuts = Nuts { step_size: 1e-4, adapt_step_size: false, max_depth: 4, ..Nuts::default() };
    let draws = Sampler::new(&target, nuts).warmup(0).draws(100).run().unwrap();
    // All but those whose momentum happens to be nearly 0 and is turned round at once.
    assert!(draws.at_max_depth().unwrap().iter().all(|share| *share > 0.95));
    let steps = draws.stat("leapfrog_steps").unwrap();
    let whole = steps.iter().filter(|steps| **steps == 15.0).count();
    assert!(whole > 380, "{whole} of 400 took 2^4 - 1 steps");
}

#[test]
fn wrong_settings_are_named() {
    let target = correlated();
    let error = |algorithm: Nuts| Sampler::new(&target, algorithm).run().unwrap_err().to_string();
    assert!(error(Nuts { max_depth: 0, ..Nuts::default() }).contains("max_depth"));
    assert!(error(Nuts { max_depth: 21, ..Nuts::default() }).contains("max_depth"));
    assert!(error(Nuts { target_accept: 1.0, ..Nuts::default() }).contains("target_accept"));
    assert!(error(Nuts { step_size: f64::NAN, ..Nuts::default() }).contains("step_size"));
    let error = |algorithm: Hmc| Sampler::new(&target, algorithm).run().unwrap_err().to_string();
    assert!(error(Hmc { path_length: 0.0, ..Hmc::default() }).contains("path_length"));
    assert!(error(Hmc { jitter: 1.5, ..Hmc::default() }).contains("jitter"));
    assert!(error(Hmc { max_steps: 0, ..Hmc::default() }).contains("max_steps"));
    let rwm = Rwm { preconditioner: Preconditioner::DiagonalFromGradients, ..Rwm::default() };
    let error = Sampler::new(&target, rwm).run().unwrap_err().to_string();
    assert!(error.contains("a random walk computes no gradients"), "{error}");
}

/// A coordinate without a gradient must not keep the others from being learnt.
#[test]
fn a_flat_coordinate_among_steep_ones_is_no_hindrance() {
    struct Partly;
    impl Target for Partly {
        type Workspace = ();
        fn dim(&self) -> usize {
            3
        }
        fn workspace(&self) {}
        fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
            if q[2].abs() > 10.0 {
                return LogDensity::OUTSIDE;
            }
            LogDensity::from(-0.5 * (q[0] * q[0] * 1e6 + q[1] * q[1] * 1e-4))
        }
    }
    impl GradTarget for Partly {
        fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
            grad.copy_from_slice(&[-q[0] * 1e6, -q[1] * 1e-4, 0.0]);
            self.log_density(q, ws)
        }
    }
    let draws = Sampler::new(&Partly, Nuts::default()).seed(1).run().unwrap();
    assert!(draws.stat("leapfrog_steps").unwrap().mean().unwrap() < 20.0);
    let summary = draws.summary().unwrap();
    for (row, sd) in summary.rows.iter().zip([1e-3, 100.0, 10.0 / 3f64.sqrt()]) {
        assert!((row.sd / sd - 1.0).abs() < 0.15, "{}: {}", row.name, row.sd);
    }
}
