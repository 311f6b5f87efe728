//! What Hamiltonian Monte Carlo and NUTS learn in warm-up, the divergences they tell, and bad settings.

use bnn_mcmc::draws::Divergence;
use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::GaussianTarget;
use shared::refused;

use crate::fixtures::{Funnel, Needle, correlated};

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
    let run = |algorithm: Nuts| Sampler::new(&target, algorithm).run();
    for max_depth in [0, 21] {
        let nuts = Nuts { max_depth, ..Nuts::default() };
        refused!(run(nuts), Argument { name: "max_depth", value: max_depth });
    }
    let nuts = Nuts { target_accept: 1.0, ..Nuts::default() };
    refused!(run(nuts), Argument { name: "target_accept", value: 1 });
    let nuts = Nuts { step_size: f64::NAN, ..Nuts::default() };
    refused!(run(nuts), Argument { name: "step_size", value: "NaN" });
    let run = |algorithm: Hmc| Sampler::new(&target, algorithm).run();
    let hmc = Hmc { path_length: 0.0, ..Hmc::default() };
    refused!(run(hmc), Argument { name: "path_length", value: 0 });
    refused!(run(Hmc { jitter: 1.5, ..Hmc::default() }), Argument { name: "jitter", value: 1.5 });
    refused!(run(Hmc { max_steps: 0, ..Hmc::default() }), Argument { name: "max_steps", value: 0 });
    let rwm = Rwm { preconditioner: Preconditioner::DiagonalFromGradients, ..Rwm::default() };
    let value = "DiagonalFromGradients";
    refused!(Sampler::new(&target, rwm).run(), Argument { name: "preconditioner", value: value });
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
