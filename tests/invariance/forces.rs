//! Trajectories by a force that is not the gradient: any function of the position leaves the target unchanged,
//! however wrong, and what is none does not.

use std::sync::Mutex;

use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::Algorithm;
use bnn_mcmc::targets::Point;
use bnn_mcmc::testing::{GaussianTarget, Invariance, InvarianceReport};

use crate::fixtures::correlated;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Force {
    /// In steps of 1/4, of another distribution's density, and NaN in places.
    Wrong,
    /// The gradient at the point before.
    Late,
    /// `Wrong`, in whose density the test believes.
    Tested,
}

struct Forced {
    target: GaussianTarget,
    force: Force,
    before: Mutex<Vec<f64>>,
}

impl Forced {
    fn new(force: Force) -> Self {
        let target = correlated();
        let before = Mutex::new(vec![0.0; target.dim()]);
        Self { target, force, before }
    }

    fn rough(q: &[f64]) -> LogDensity {
        let value = q.iter().map(|q| -0.3 * q * q).sum::<f64>() + q[0].sin();
        LogDensity::from(if q[0] > 1.5 { f64::NAN } else { value })
    }

    fn test<'t, A: Algorithm<&'t Self>>(&'t self, algorithm: A) -> InvarianceReport {
        let setup = Invariance { steps: 4, ..Invariance::default() };
        setup.run(self, &algorithm, |rng, q| self.target.draw(rng, q)).unwrap()
    }
}

impl Target for Forced {
    type Workspace = <GaussianTarget as Target>::Workspace;
    fn dim(&self) -> usize {
        self.target.dim()
    }
    fn workspace(&self) -> Self::Workspace {
        self.target.workspace()
    }
    fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        match self.force {
            Force::Tested => Self::rough(q),
            _ => self.target.log_density(q, ws),
        }
    }
}

impl GradTarget for Forced {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        self.target.log_density_grad(q, grad, ws)
    }

    fn has_own_force(&self) -> bool {
        true
    }

    fn force(&self, q: &[f64], force: &mut [f64], ws: &mut Self::Workspace) -> LogDensity {
        if self.force == Force::Late {
            let mut before = self.before.lock().unwrap();
            self.target.log_density_grad(&before, force, ws);
            before.copy_from_slice(q);
            return self.target.log_density(q, ws);
        }
        for (f, q) in force.iter_mut().zip(q) {
            *f = if *q < -1.8 { f64::NAN } else { (4.0 * (0.3 - 1.3 * q)).round() / 4.0 };
        }
        Self::rough(q)
    }
}

fn hmc(step_size: f64) -> Hmc {
    Hmc { step_size, path_length: 3.0 * step_size, ..Hmc::default() }
}

fn mams(step_size: f64) -> Mams {
    Mams { step_size, path_length: Some(3.0 * step_size), ..Mams::default() }
}

#[test]
fn a_wrong_force_leaves_the_target_unchanged() {
    let target = Forced::new(Force::Wrong);
    let check = |what: &str, report: InvarianceReport| {
        assert!(report.passes() && (0.05..0.995).contains(&report.accept_rate), "{what}: {report}");
    };
    for step_size in [0.2, 0.6] {
        check("HMC", target.test(hmc(step_size)));
        check("MAMS", target.test(mams(2.0 * step_size)));
    }
    // Beside kernels that leave the gradient at the point they share.
    let mala = Mala { step_size: 0.6, ..Mala::default() };
    check("MALA and HMC", target.test(Cycle(mala.clone(), hmc(0.4))));
    let mixture = Mixture { first: mala, second: mams(0.8), probability: 0.5 };
    check("MALA or MAMS", target.test(mixture));
    check("NUTS and HMC", target.test(Cycle(Nuts { step_size: 0.5, ..Nuts::default() }, hmc(0.4))));
}

#[test]
fn a_force_of_the_way_and_another_density_at_the_ends_are_seen() {
    for force in [Force::Late, Force::Tested] {
        let target = Forced::new(force);
        // Not by long steps of which hardly any is accepted.
        let seen = |test: &dyn Fn(f64) -> InvarianceReport| {
            [0.2, 0.4, 0.8].into_iter().any(|step_size| !test(step_size).passes())
        };
        assert!(seen(&|step_size| target.test(hmc(step_size))), "{force:?}, HMC");
        assert!(seen(&|step_size| target.test(mams(step_size))), "{force:?}, MAMS");
    }
}

/// The point has room for one of the two, and neither is taken for the other.
#[test]
fn a_force_is_not_taken_for_the_gradient() {
    let target = Forced::new(Force::Wrong);
    let (mut point, mut ws) = (Point::new(target.dim()), target.workspace());
    point.set(|q| q.fill(0.7));
    let mut expected = [vec![0.0; target.dim()], vec![0.0; target.dim()]];
    let rough = target.force(point.q(), &mut expected[0], &mut ws);
    let density = target.log_density_grad(point.q(), &mut expected[1], &mut ws);
    assert!(expected[0] != expected[1] && rough != density);
    for _ in 0..2 {
        assert!(point.eval_force(&target, &mut ws) && !point.eval_force(&target, &mut ws));
        assert!(point.has_force() && !point.has_grad() && point.force() == expected[0]);
        assert_eq!(point.rough_density(), rough);
        assert_eq!(point.eval(&target, &mut ws), density);
        assert_eq!(point.eval_grad(&target, &mut ws), density);
        assert!(point.has_grad() && point.grad() == expected[1]);
    }
    point.set(|q| q[0] += 1.0);
    assert!(!point.has_force());
}
