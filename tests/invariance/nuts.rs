//! NUTS against its definition, and the definition with mistakes.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Kernel, Step};
use bnn_mcmc::targets::Point;
use bnn_mcmc::testing::GaussianTarget;

use crate::fixtures::{TwoModes, correlated, dot, six_steps};

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
            let reports = [six_steps(&normal, &plain), six_steps(&TwoModes, &plain)];
            if mistake == Mistake::Nothing {
                assert!(reports.iter().all(|r| r.passes()), "{} {}", reports[0], reports[1]);
            } else {
                let noticed = reports.iter().any(|r| !r.passes());
                assert!(noticed, "{mistake:?} was not noticed: {} {}", reports[0], reports[1]);
            }
        }
    }
}
