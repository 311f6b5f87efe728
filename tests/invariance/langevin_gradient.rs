//! The Langevin-gradient sampler: its map is gradient descent, its transition leaves the posterior
//! unchanged, and the published ratio does not.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, LangevinGradient, Step, metropolis_test};
use bnn_mcmc::targets::{Descent, DescentRule, Objective, Pass, Point};
use bnn_mcmc::testing::{ConjugateRegression, Invariance, InvarianceReport};
use ndarray::Array2;

use crate::by_hand::{ByHand, Transition};
use crate::fixtures::{Regression, regression, regression_data};

use shared::refused;

fn rule(objective: Objective, pass: Pass, depth: usize) -> DescentRule {
    DescentRule { objective, pass, learning_rate: 0.004, depth }
}

const RULES: [(Objective, Pass); 4] = [
    (Objective::SquaredError, Pass::Batch),
    (Objective::SquaredError, Pass::PerRow),
    (Objective::LogPosterior, Pass::Batch),
    (Objective::LogPosterior, Pass::PerRow),
];

/// Gradient descent of a linear model, written out.
fn descend_plainly(rule: &DescentRule, q: &[f64]) -> Vec<f64> {
    let (x, y) = regression_data(70);
    let mut image = q.to_vec();
    let precision = match rule.objective {
        Objective::SquaredError => 1.0,
        Objective::LogPosterior => (-q[3]).exp(),
    };
    let residual = |w: &[f64], i: usize| y[i] - w[0] * x[(i, 0)] - w[1] * x[(i, 1)] - w[2];
    let prior = if rule.objective == Objective::LogPosterior { 1.0 / 0.25 } else { 0.0 };
    for _ in 0..rule.depth {
        let rows: Vec<Vec<usize>> = match rule.pass {
            Pass::Batch => vec![(0..70).collect()],
            Pass::PerRow => (0..70).map(|i| vec![i]).collect(),
        };
        for rows in rows {
            let w = image.clone();
            let share = rows.len() as f64 / 70.0;
            for j in 0..3 {
                let input = |i: usize| if j < 2 { x[(i, j)] } else { 1.0 };
                let gradient: f64 =
                    rows.iter().map(|i| precision * residual(&w, *i) * input(*i)).sum();
                image[j] += rule.learning_rate * (gradient - share * prior * w[j]);
            }
        }
    }
    image
}

#[test]
fn the_map_is_gradient_descent() {
    let (_, posterior) = regression(70);
    let q = [0.3, -0.8, 0.4, -0.9];
    let mut ws = posterior.workspace();
    assert_eq!(posterior.moves(), [true, true, true, false]);
    // Twice: nothing of one rule is left for another in the workspace.
    for (objective, pass) in RULES.into_iter().chain(RULES) {
        for depth in [1, 3] {
            let rule = rule(objective, pass, depth);
            let mut image = [0.0; 4];
            posterior.descend(&rule, &q, &mut image, &mut ws);
            for (found, expected) in image.iter().zip(descend_plainly(&rule, &q)) {
                approx::assert_relative_eq!(*found, expected, max_relative = 1e-11);
            }
            assert_eq!(image[3], q[3]);
        }
    }
}

fn test<'t>(
    algorithm: &impl Algorithm<&'t Regression>,
    target: &'t Regression,
    exact: &ConjugateRegression,
    replicates: usize,
) -> InvarianceReport {
    let setup = Invariance { replicates, steps: 30, ..Invariance::default() };
    setup.run(target, algorithm, |rng, q| exact.draw(rng, q)).unwrap()
}

#[test]
fn the_transition_is_invariant_for_every_map_and_on_blocks() {
    let (exact, posterior) = regression(70);
    for (objective, pass) in RULES {
        let sampler = LangevinGradient {
            step_size: 0.08,
            other_step_size: 0.15,
            langevin_rate: 0.7,
            descent: rule(objective, pass, 1),
            ..LangevinGradient::default()
        };
        let report = test(&sampler, &posterior, &exact, 6_000);
        assert!(report.passes() && report.accept_rate > 0.1, "{objective:?} {pass:?}: {report}");
        // The gradient of the log posterior depends on the noise, which another kernel moves.
        let cycle = Cycle(OnBlocks::new(&["w", "b"], sampler), GibbsNoise);
        let report = test(&cycle, &posterior, &exact, 6_000);
        assert!(report.passes(), "{objective:?} {pass:?} on blocks: {report}");
    }
}

/// The published mistake: squares divided by the step size, not by its square.
#[derive(Clone)]
struct Published {
    by_square: bool,
}
impl<'t> Transition<&'t Regression> for Published {
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
        let rule = rule(Objective::SquaredError, Pass::Batch, 1);
        let step = [0.08, 0.08, 0.08, 0.15];
        let (mut there, mut back) = ([0.0; 4], [0.0; 4]);
        target.descend(&rule, current.q(), &mut there, ws);
        memory.set(|q| {
            for i in 0..4 {
                q[i] = there[i] + step[i] * rng.normal();
            }
        });
        target.descend(&rule, memory.q(), &mut back, ws);
        let new = memory.eval(target, ws).total();
        let mut ratio = new - current.log_density().total();
        for i in 0..4 {
            let width = if self.by_square { step[i] * step[i] } else { step[i] };
            ratio += ((memory.q()[i] - there[i]).powi(2) - (current.q()[i] - back[i]).powi(2))
                / (2.0 * width);
        }
        metropolis_test(current, memory, ratio, 2, rng)
    }
}

#[test]
fn the_published_ratio_is_noticed() {
    let (exact, posterior) = regression(70);
    let right = test(&ByHand(Published { by_square: true }), &posterior, &exact, 20_000);
    assert!(right.passes(), "{right}");
    let published = test(&ByHand(Published { by_square: false }), &posterior, &exact, 20_000);
    assert!(!published.passes(), "{published}");
}

#[test]
fn bad_settings_are_refused_by_name() {
    let (_, posterior) = regression(70);
    let good = LangevinGradient::default;
    let descent = good().descent;
    let flat = DescentRule { depth: 0, ..descent };
    let unknown = DescentRule { learning_rate: f64::NAN, ..descent };
    for (sampler, name, value) in [
        (LangevinGradient { step_size: 0.0, ..good() }, "step_size", "0"),
        (LangevinGradient { other_step_size: -1.0, ..good() }, "other_step_size", "-1"),
        (LangevinGradient { langevin_rate: 1.5, ..good() }, "langevin_rate", "1.5"),
        (LangevinGradient { descent: flat, ..good() }, "depth", "0"),
        (LangevinGradient { descent: unknown, ..good() }, "learning_rate", "NaN"),
    ] {
        let run = Sampler::new(&posterior, sampler).run();
        refused!(run, Argument { name: name, value: value });
    }
    let x = Array2::from_shape_fn((4, 1), |(i, _)| i as f64);
    let data = Dataset::classification(x, vec![0, 1, 0, 1], ["a", "b"]).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let logistic = Posterior::new(Linear::new(1, 1).unwrap(), Bernoulli, &data, priors).unwrap();
    let squared = LangevinGradient {
        descent: DescentRule { objective: Objective::SquaredError, ..descent },
        ..good()
    };
    let run = Sampler::new(&logistic, squared).run();
    refused!(run, Argument { name: "objective", value: "SquaredError" });
    assert!(Sampler::new(&logistic, good()).draws(10).run().is_ok());
}
