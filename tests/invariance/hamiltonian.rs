//! Hamiltonian Monte Carlo and NUTS leave their targets unchanged, and sabotaged copies do not; what they
//! accept, and where trajectories end.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel, Step, metropolis_test};
use bnn_mcmc::targets::Point;
use bnn_mcmc::testing::{GaussianTarget, Invariance};

use crate::by_hand::{ByHand, Transition};
use crate::fixtures::{Exact, Funnel, Quarter, TwoModes, correlated, dot, nineteen, six_steps};

fn both_are_invariant<T: Exact>(name: &str, target: &T, step_sizes: [f64; 2]) {
    for step_size in step_sizes {
        for max_depth in [2, 10] {
            let report = six_steps(target, &Nuts { step_size, max_depth, ..Nuts::default() });
            assert!(report.passes(), "NUTS on {name}, step {step_size}, {max_depth}: {report}");
        }
        for jitter in [0.0, 1.0] {
            let report = six_steps(target, &Hmc { step_size, jitter, ..Hmc::default() });
            assert!(report.passes(), "HMC on {name}, step {step_size}, {jitter}: {report}");
        }
    }
}

#[test]
fn correlated_normal() {
    both_are_invariant("the normal", &correlated(), [0.35, 1.0]);
}

#[test]
fn whole_registers_and_what_is_left_over() {
    both_are_invariant("19 coordinates", &nineteen(), [0.3, 0.7]);
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
        let report = six_steps(&target, &plain);
        let right = !keep_momentum && !forget_kinetic_energy;
        assert_eq!(report.passes(), right, "{keep_momentum} {forget_kinetic_energy}: {report}");
    }
}
