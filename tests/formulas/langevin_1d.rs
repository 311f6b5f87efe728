//! The orders of the integrators' biases, from their transition operators, which the study `langevin_1d`
//! shares; and the kernels against the operators.

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;

#[path = "../../crates/studies/src/shared/transition.rs"]
mod transition;

use transition::{Integrator, Potential, THREE_WELLS, exact, order, stationary};

const SQUARE: fn(f64) -> f64 = |q| q * q;

/// U = k q^2/2 with k = 2.
const HARMONIC: Potential = Potential { u: |q| q * q, du: |q| 2.0 * q, l: 5.0 };

#[test]
fn operators_give_the_exact_harmonic_variances() {
    let variance = |integrator, h| stationary(HARMONIC, integrator, h, 120, [SQUARE])[0];
    for h in [0.05, 0.15] {
        let em = variance(Integrator::EulerMaruyama, h);
        assert!((em - 1.0 / (2.0 - 2.0 * h)).abs() < 1e-8, "{em}");
        let lm = variance(Integrator::LeimkuhlerMatthews, h);
        assert!((lm - 0.5).abs() < 1e-8, "{lm}");
    }
    for (friction, hermite, h) in [(1.0, 16, 0.2), (1.0, 16, 0.3), (50.0, 5, 0.3)] {
        let baoab = variance(Integrator::Baoab { friction, hermite }, h);
        assert!((baoab - 0.5).abs() < 1e-8, "{baoab}");
    }
    assert!((exact(HARMONIC, [SQUARE])[0] - 0.5).abs() < 1e-8);
}

/// The observed orders for q^2 and U.
fn orders(integrator: Integrator, steps: &[f64], points: usize) -> [f64; 2] {
    let functions = [SQUARE, THREE_WELLS.u];
    let truth = exact(THREE_WELLS, functions);
    let mut biases = [const { Vec::new() }; 2];
    for h in steps {
        let averages = stationary(THREE_WELLS, integrator, *h, points, functions);
        (0..2).for_each(|k| biases[k].push((averages[k] - truth[k]).abs()));
    }
    biases.map(|b| order(steps, &b))
}

#[test]
fn biases_have_the_order_that_theory_says() {
    let within = |orders: [f64; 2], of: f64, by: f64| {
        assert!(orders.iter().all(|o| (o - of).abs() <= by), "{orders:?}, not {of} +- {by}");
    };
    let em = orders(Integrator::EulerMaruyama, &[0.004, 0.009, 0.02], 200);
    within(em, 1.0, 0.2);
    let lm = orders(Integrator::LeimkuhlerMatthews, &[0.004, 0.014, 0.05], 200);
    within(lm, 2.0, 0.3);
    let steps = [0.1, 0.17, 0.3];
    let slow = orders(Integrator::Baoab { friction: 1.0, hermite: 12 }, &steps, 90);
    assert!(slow.iter().all(|o| *o >= 1.8), "{slow:?}");
    within(orders(Integrator::Baoab { friction: 50.0, hermite: 5 }, &steps, 130), 4.0, 0.4);
}

#[test]
fn operators_do_not_depend_on_their_resolution() {
    for (coarse, fine, h, points) in [
        (Integrator::EulerMaruyama, Integrator::EulerMaruyama, 0.004, (150, 240)),
        (Integrator::LeimkuhlerMatthews, Integrator::LeimkuhlerMatthews, 0.05, (150, 240)),
        (
            Integrator::Baoab { friction: 50.0, hermite: 5 },
            Integrator::Baoab { friction: 50.0, hermite: 7 },
            0.1,
            (120, 160),
        ),
    ] {
        let [a] = stationary(THREE_WELLS, coarse, h, points.0, [SQUARE]);
        let [b] = stationary(THREE_WELLS, fine, h, points.1, [SQUARE]);
        assert!((a - b).abs() < 1e-7, "{coarse:?}: {a} and {b}");
    }
}

/// log pi = -U.
struct Wells;

impl Target for Wells {
    type Workspace = ();
    fn dim(&self) -> usize {
        1
    }
    fn workspace(&self) {}
    fn log_density(&self, q: &[f64], _: &mut ()) -> LogDensity {
        LogDensity::from(-(THREE_WELLS.u)(q[0]))
    }
}

impl GradTarget for Wells {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
        grad[0] = -(THREE_WELLS.du)(q[0]);
        self.log_density(q, ws)
    }
}

/// The simulated average of U is that of the operator, and not that of the density.
fn check_kernel<A>(algorithm: A, integrator: Integrator, h: f64)
where
    A: for<'t> Algorithm<&'t Wells>,
{
    let chains = 32;
    let sampler = Sampler::new(&Wells, algorithm).chains(chains).warmup(20_000).draws(30_000);
    let around = Init::Around { centre: vec![0.0], sd: 0.3 };
    let draws = sampler.thin(20).init(around).seed(1).run().unwrap();
    assert_eq!(draws.divergences(), 0);
    let u = draws.stat("log_likelihood").unwrap().mapv(|l| -l);
    let means = u.mean_axis(ndarray::Axis(1)).unwrap();
    let (mean, error) = (means.mean().unwrap(), means.std(1.0) / (chains as f64).sqrt());
    let u = [THREE_WELLS.u];
    let ([expected], [truth]) =
        (stationary(THREE_WELLS, integrator, h, 110, u), exact(THREE_WELLS, u));
    assert!((mean - expected).abs() < 5.0 * error, "{mean} +- {error}, not {expected}");
    assert!((mean - truth).abs() > 5.0 * error, "{mean} +- {error} shows no bias");
}

#[test]
fn kernels_sample_what_their_operators_say() {
    let em = EulerMaruyama { step_size: 0.05, ..EulerMaruyama::default() };
    check_kernel(em, Integrator::EulerMaruyama, 0.05);
    let lm = LeimkuhlerMatthews { step_size: 0.06, ..LeimkuhlerMatthews::new(FullGrad) };
    check_kernel(lm, Integrator::LeimkuhlerMatthews, 0.06);
    let baoab = Baoab { step_size: 0.25, ..Baoab::new(FullGrad) };
    check_kernel(baoab, Integrator::Baoab { friction: 1.0, hermite: 14 }, 0.25);
}
