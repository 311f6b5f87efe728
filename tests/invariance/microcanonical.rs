//! MAMS and HMC of tuned path length leave their targets unchanged, and sabotaged copies of MAMS do not.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel, Step, WarmupProgress, metropolis_test};
use bnn_mcmc::targets::Point;
use bnn_mcmc::testing::GaussianTarget;
use shared::refused;

use crate::by_hand::{ByHand, Transition};
use crate::fixtures::{
    Exact, Funnel, Needle, Quarter, TwoModes, correlated, dot, nineteen, six_steps,
};

/// At step sizes of which nearly all and of which about half are accepted, with single steps and with many.
fn is_invariant<T: Exact>(name: &str, target: &T, step_sizes: [f64; 2], least_accepted: f64) {
    for step_size in step_sizes {
        for path_length in [0.5 * step_size, 4.0] {
            let mams = Mams { step_size, path_length: Some(path_length), ..Mams::default() };
            let report = six_steps(target, &mams);
            let accepted = step_size == step_sizes[0] || report.accept_rate < 0.95;
            assert!(
                report.passes() && report.accept_rate > least_accepted && accepted,
                "{name}, steps of {step_size}, path {path_length}: {report}"
            );
        }
    }
}

#[test]
fn correlated_normal() {
    is_invariant("the normal", &correlated(), [0.6, 2.0], 0.15);
}

#[test]
fn whole_registers_and_what_is_left_over() {
    is_invariant("19 coordinates", &nineteen(), [1.5, 6.0], 0.2);
}

#[test]
fn funnel() {
    is_invariant("the funnel", &Funnel, [0.5, 1.5], 0.2);
}

#[test]
fn two_modes() {
    is_invariant("two modes", &TwoModes, [0.5, 1.5], 0.2);
}

#[test]
fn a_support_with_a_boundary() {
    is_invariant("the quarter", &Quarter, [0.3, 1.2], 0.1);
    let start = Init::Points(vec![vec![1.0, 1.0]]);
    let sampler = Sampler::new(&Quarter, Mams::default()).init(start).chains(1).warmup(0);
    assert_eq!(sampler.run().unwrap().divergences(), 0, "to leave the support is no divergence");
}

#[test]
fn the_number_of_steps_is_uniform_and_at_least_one() {
    let target = GaussianTarget::standard(4).unwrap();
    let mams = Mams { step_size: 0.1, path_length: Some(0.5), ..Mams::default() };
    let draws = Sampler::new(&target, mams).warmup(0).draws(5_000).seed(1).run().unwrap();
    let steps = draws.stat("leapfrog_steps").unwrap();
    for n in 1..=10 {
        let count = steps.iter().filter(|s| **s == f64::from(n)).count() as f64;
        let z = (count - 2_000.0) / (20_000.0 * 0.1 * 0.9f64).sqrt();
        assert!(z.abs() < 5.0, "{n} steps {count} times, z = {z:.1}");
    }
    assert!(steps.iter().all(|s| (1.0..=10.0).contains(s)));
    assert_eq!(draws.stat("gradient_evals").unwrap().sum(), steps.sum() + 4.0);
}

/// What a careless implementation of MAMS gets wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    Nothing,
    /// The change of volume is left out of the ratio.
    KineticDropped,
    /// The direction is drawn once, and kept.
    DirectionKept,
    /// The number of steps depends on where the chain is.
    StepsFromState,
    /// The reciprocal of the ratio.
    RatioInverted,
}

use Mistake::*;

/// MAMS from its definition, with hyperbolic functions.
#[derive(Clone)]
struct PlainMams {
    step_size: f64,
    path_length: f64,
    mistake: Mistake,
}

/// B(b), and dK.
pub fn turn(u: &mut [f64], b: f64, g: &[f64]) -> f64 {
    let (size, rest) = (dot(g, g).sqrt(), u.len() as f64 - 1.0);
    let delta = b * size / rest;
    let c = dot(u, g) / size;
    let stretch = delta.cosh() + c * delta.sinh();
    for (u, g) in u.iter_mut().zip(g) {
        *u = (*u + (delta.sinh() + c * (delta.cosh() - 1.0)) * g / size) / stretch;
    }
    rest * stretch.ln()
}

impl<T: GradTarget> Transition<T> for PlainMams {
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
        let h = self.step_size;
        let mut u: Vec<f64> = (0..target.dim()).map(|_| rng.normal()).collect();
        let length = dot(&u, &u).sqrt();
        u.iter_mut().for_each(|u| *u /= length);
        if self.mistake == DirectionKept {
            u = memory.get_or_insert(u).clone();
        }
        current.eval_grad(target, ws);
        let mut path = 2.0 * rng.uniform() * self.path_length;
        if self.mistake == StepsFromState {
            path *= 2.0 / (1.0 + current.q()[0].powi(2));
        }
        let (mut end, mut kinetic) = (current.clone(), 0.0);
        for _ in 0..(path / h).ceil().max(1.0) as u32 {
            kinetic += turn(&mut u, 0.5 * h, end.grad());
            end.set(|q| q.iter_mut().zip(&u).for_each(|(q, u)| *q += h * u));
            end.eval_grad(target, ws);
            kinetic += turn(&mut u, 0.5 * h, end.grad());
        }
        let kinetic = if self.mistake == KineticDropped { 0.0 } else { kinetic };
        let ratio = end.log_density().total() - current.log_density().total() - kinetic;
        let ratio = if self.mistake == RatioInverted { -ratio } else { ratio };
        metropolis_test(current, &mut end, ratio, 1, rng)
    }
}

#[test]
fn sabotaged_copies_fail_and_the_same_code_without_a_mistake_passes() {
    let target = correlated();
    for mistake in [Nothing, KineticDropped, DirectionKept, StepsFromState, RatioInverted] {
        let plain = ByHand(PlainMams { step_size: 1.2, path_length: 2.5, mistake });
        let report = six_steps(&target, &plain);
        assert_eq!(report.passes(), mistake == Nothing, "{mistake:?}: {report}");
    }
}

/// Equal step sizes and path lengths give equal acceptance and jumps.
#[test]
fn it_moves_and_accepts_as_the_definition_does() {
    let target = correlated();
    for step_size in [0.6, 2.0] {
        let path_length = 2.5;
        let mams = Mams { step_size, path_length: Some(path_length), ..Mams::default() };
        let plain = ByHand(PlainMams { step_size, path_length, mistake: Nothing });
        let of = |draws: &Draws| {
            let accepted = draws.stat("accept_prob").unwrap().mean().unwrap();
            let q = draws.parameter("q[1]").unwrap().to_owned();
            let jumps = q.rows().into_iter().map(|row| {
                let row: Vec<f64> = row.to_vec();
                row.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum::<f64>()
            });
            (accepted, jumps.sum::<f64>() / 80_000.0)
        };
        let ours = Sampler::new(&target, mams).warmup(0).draws(20_000).seed(1).run().unwrap();
        let other = Sampler::new(&target, plain).warmup(0).draws(20_000).seed(2).run().unwrap();
        let (ours, other) = (of(&ours), of(&other));
        // Both are known to about 1 %.
        assert!((ours.0 - other.0).abs() < 0.01, "{step_size}: {ours:?} {other:?}");
        assert!((ours.1 / other.1 - 1.0).abs() < 0.05, "{step_size}: {ours:?} {other:?}");
    }
}

/// A slope so steep that its gradient overflows when squared, or is no number.
pub struct Cliff(pub f64);

impl Target for Cliff {
    type Workspace = ();
    fn dim(&self) -> usize {
        2
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(-0.5 * q.iter().map(|q| q * q).sum::<f64>())
    }
}

impl GradTarget for Cliff {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad.iter_mut().zip(q).for_each(|(g, q)| *g = if *q > 1.0 { self.0 } else { -q });
        self.log_density(q, ws)
    }
}

#[test]
fn what_is_no_number_is_not_entered() {
    let start = Init::Points(vec![vec![0.0; 2]; 2]);
    let cases = [(0.0, false), (f64::NAN, true), (f64::INFINITY, true), (f64::NEG_INFINITY, true)];
    for (value, diverges) in cases {
        let target = Needle(value);
        for step_size in [0.1, 1e308] {
            let mams = Mams { step_size, adapt_step_size: step_size < 1.0, ..Mams::default() };
            let run = Sampler::new(&target, mams).chains(2).warmup(20).draws(20);
            let draws = run.init(start.clone()).run().unwrap();
            assert!(draws.values().iter().all(|q| q.is_finite()), "{value}");
            assert!(draws.divergences() > 0 || (!diverges && step_size < 1.0), "{value}");
        }
    }
    for steep in [1e200, f64::INFINITY, f64::NAN, -1e200] {
        let target = Cliff(steep);
        let draws = Sampler::new(&target, Mams::default()).chains(2).run().unwrap();
        assert!(draws.values().iter().all(|q| q.is_finite()), "{steep}");
    }
}

/// Path lengths of normals are tuned to about 2.13 times the scale, in units of sqrt(d) for MAMS, whatever the dimension
/// and the scale; warm-up reaches the acceptance that is aimed at.
#[test]
fn warm_up_tunes_the_path_length_and_the_step_size() {
    for (dim, variance) in [(10, 1e-4), (10, 1.0), (100, 25.0)] {
        let mut covariance = vec![0.0; dim * dim];
        covariance.iter_mut().step_by(dim + 1).for_each(|v| *v = variance);
        let target = GaussianTarget::new(vec![0.0; dim], &covariance).unwrap();
        let last = |draws: &Draws| draws.stat("path_length").unwrap().column(0).to_owned();
        let draws = Sampler::new(&target, Mams::default()).seed(1).run().unwrap();
        for length in last(&draws) {
            let relative = length / (dim as f64).sqrt();
            assert!((1.2..2.8).contains(&relative), "{dim}, {variance}: {relative} sqrt(d)");
        }
        let accepted = draws.stat("accept_prob").unwrap().mean().unwrap();
        assert!((accepted - 0.9).abs() < 0.05, "{dim}, {variance}: {accepted}");
        assert!(draws.ebfmi().is_none() && draws.summary().unwrap().min_ess_bulk() > 1_000.0);

        // From a path ten times too short, and from one ten times too long.
        for path_length in [0.15, 15.0] {
            let hmc = Hmc { path_length, jitter: 1.0, adapt_path_length: true, ..Hmc::default() };
            let draws = Sampler::new(&target, hmc).seed(1).run().unwrap();
            for length in last(&draws) {
                assert!((1.2..2.8).contains(&length), "{dim}, {variance}, {path_length}: {length}");
            }
        }
    }
}

/// Directions whose scales no diagonal map can tell apart: the long one decides.
#[test]
fn slow_directions_get_longer_paths() {
    let rho = 0.999;
    let target = GaussianTarget::new(vec![0.0; 2], &[1.0, rho, rho, 1.0]).unwrap();
    let hmc = Hmc { adapt_path_length: true, jitter: 1.0, ..Hmc::default() };
    let preconditioner = Preconditioner::Identity;
    let draws = Sampler::new(&target, Hmc { preconditioner, ..hmc.clone() }).seed(1).run().unwrap();
    // 2.13 for a standard deviation of 1; the long axis has sqrt(1 + rho).
    let expected = 2.13 * (1.0 + rho).sqrt();
    for length in draws.stat("path_length").unwrap().column(0) {
        assert!((0.6..1.6).contains(&(length / expected)), "{length}, not {expected}");
    }
}

/// The limit of the first trajectories holds until a linear map is learnt, and not where none will be.
#[test]
fn the_first_trajectories_are_short() {
    let target = GaussianTarget::new(vec![0.0; 2], &[1e-6, 0.0, 0.0, 1e-6]).unwrap();
    let target = &target;
    let hmc = Hmc { max_first_steps: 7, path_length: 30.0, jitter: 0.0, ..Hmc::default() };
    let identity = Hmc { preconditioner: Preconditioner::Identity, ..hmc.clone() };
    for (hmc, learns) in [(hmc, true), (identity, false)] {
        let mut rng = ChainRng::new(1, 0);
        let mut kernel = hmc.kernel(&target, &rng).unwrap();
        let (mut point, mut ws, mut stats) = (Point::new(2), target.workspace(), [0.0; 4]);
        let (total, mut long) = (400, 0);
        for iteration in 0..total {
            let step = kernel.step(&target, &mut point, &mut ws, &mut rng);
            Kernel::<&GaussianTarget>::stats(&kernel, &mut stats);
            // The first window ends after 85 iterations.
            let limited = learns && iteration < 85;
            assert!(!limited || stats[3] <= 7.0, "{learns}, {iteration}: {} steps", stats[3]);
            // Some diverge at once, while the step size is sought.
            long += u32::from(!limited && stats[3] > 7.0);
            let warmup = WarmupProgress { iteration, total };
            Kernel::<&GaussianTarget>::adapt(&mut kernel, &step, &point, warmup);
        }
        assert!(long > if learns { 200 } else { 300 }, "{learns}: {long} of more than 7 steps");
    }
    let hmc = Hmc { max_first_steps: 7, step_size: 1e-3, path_length: 0.1, ..Hmc::default() };
    let draws = Sampler::new(&target, hmc).warmup(0).draws(20).run().unwrap();
    assert!(draws.stat("leapfrog_steps").unwrap().iter().all(|n| *n > 7.0));
}

#[test]
fn wrong_settings_are_named() {
    let run = |target: &GaussianTarget, algorithm: Mams| Sampler::new(target, algorithm).run();
    let plane = GaussianTarget::standard(2).unwrap();
    let line = GaussianTarget::standard(1).unwrap();
    let (name, allowed) = ("dimensions of the target of MAMS", "at least 2");
    let of_line = run(&line, Mams::default());
    refused!(of_line, Argument { name: name, value: 1, allowed: allowed });
    for length in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mams = Mams { path_length: Some(length), ..Mams::default() };
        refused!(run(&plane, mams), Argument { name: "path_length", value: length });
    }
    let new = Mams::default;
    for (mams, name, value) in [
        (Mams { max_steps: 0, ..new() }, "max_steps", "0"),
        (Mams { max_first_steps: 0, ..new() }, "max_first_steps", "0"),
        (Mams { target_accept: 1.0, ..new() }, "target_accept", "1"),
        (Mams { step_size: -1.0, ..new() }, "step_size", "-1"),
    ] {
        refused!(run(&plane, mams), Argument { name: name, value: value });
    }
}
