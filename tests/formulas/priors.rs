//! Priors against densities from elsewhere and their own draws, and what they refuse.

use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::GaussianReference;
use bnn_mcmc::testing::gradient_error;
use shared::refused;

use super::fixtures::data_sets;

#[test]
fn priors_are_normalised_and_draw_from_themselves() {
    let cases: [(Box<dyn Prior>, f64, f64); 9] = [
        (Box::new(LogHalfCauchy::new(0.3).unwrap()), -80.0, 80.0),
        (Box::new(Laplace::new(-1.0, 0.8).unwrap()), -25.0, 25.0),
        (Box::new(StudentT::new(3.0, 0.5, 1.2).unwrap()), -400.0, 400.0),
        (Box::new(Normal::new(0.5, 2.0).unwrap()), -30.0, 30.0),
        (Box::new(LogInverseGamma::new(2.0, 0.5).unwrap()), -6.0, 25.0),
        (Box::new(LogInverseGamma::new(0.7, 3.0).unwrap()), -6.0, 60.0),
        // Half of the gamma variables behind the last are smaller than the smallest number.
        (Box::new(LogInverseGamma::new(0.05, 0.1).unwrap()), -10.0, 400.0),
        (Box::new(LogInverseGamma::new(0.001, 0.001).unwrap()), -15.0, 15_000.0),
        (Box::new(Uniform::new(-1.0, 3.0).unwrap()), -2.0, 4.0),
    ];
    for (prior, low, high) in cases {
        let n = 400_000;
        let step = (high - low) / f64::from(n);
        let at = |i: i32| low + (f64::from(i) + 0.5) * step;
        let (mut mass, mut below) = (0.0, Vec::new());
        for i in 0..n {
            mass += prior.log_density(&[at(i)]).exp() * step;
            below.push(mass);
        }
        assert!((mass - 1.0).abs() < 1e-4, "{prior:?}: {mass}");
        // Two coordinates are independent: log densities add up, or are -inf together.
        let pair = prior.log_density(&[at(n / 3), at(n / 2)]);
        let sum = prior.log_density(&[at(n / 3)]) + prior.log_density(&[at(n / 2)]);
        approx::assert_relative_eq!(pair, sum, max_relative = 1e-12);

        // Draws against the integrated density: Kolmogorov's distance.
        let mut draws = vec![0.0; 100_000];
        prior.draw(&mut ChainRng::new(2, 0), &mut draws).unwrap();
        draws.sort_by(f64::total_cmp);
        let distance = draws
            .iter()
            .enumerate()
            .map(|(i, x)| {
                let cell = (((x - low) / step) as usize).min(below.len() - 1);
                (below[cell] - i as f64 / 100_000.0).abs()
            })
            .fold(0.0, f64::max);
        assert!(distance < 2.7 / 100_000f64.sqrt(), "{prior:?}: D = {distance}");
    }
    let improper = LogInverseGamma::new(0.0, 0.0).unwrap();
    assert_eq!(improper.log_density(&[-3.0, 900.0]), 0.0);
    let name = "shape and scale of the inverse-gamma prior";
    let drawn = improper.draw(&mut ChainRng::new(1, 0), &mut [0.0]);
    refused!(drawn, Argument { name: name, value: 0 });
}

/// Values and, by differences of them, derivatives of statrs' densities, which share no code with ours.
#[test]
fn priors_have_the_densities_of_statrs() {
    use approx::assert_relative_eq;
    use statrs::distribution::{self as reference, Continuous};
    let laplace = reference::Laplace::new(-1.0, 0.8).unwrap();
    let student = reference::StudentsT::new(0.5, 1.2, 3.0).unwrap();
    let normal = reference::Normal::new(0.5, 2.0).unwrap();
    let uniform = reference::Uniform::new(-3.0, 4.0).unwrap();
    let inverse_gamma = reference::InverseGamma::new(2.5, 0.4).unwrap();
    type Case<'a> = (&'a dyn Prior, &'a dyn Fn(f64) -> f64);
    let cauchy = reference::Cauchy::new(0.0, 0.6).unwrap();
    let cases: [Case; 6] = [
        // Of x = 2 log sd: twice the density of the sd times d sd / dx = sd / 2.
        (&LogHalfCauchy::new(0.6).unwrap(), &|x| cauchy.ln_pdf((0.5 * x).exp()) + 0.5 * x),
        (&Laplace::new(-1.0, 0.8).unwrap(), &|x| laplace.ln_pdf(x)),
        (&StudentT::new(3.0, 0.5, 1.2).unwrap(), &|x| student.ln_pdf(x)),
        (&Normal::new(0.5, 2.0).unwrap(), &|x| normal.ln_pdf(x)),
        (&Uniform::new(-3.0, 4.0).unwrap(), &|x| uniform.ln_pdf(x)),
        // Of x = log v: the density of v times dv/dx = v.
        (&LogInverseGamma::new(2.5, 0.4).unwrap(), &|x| inverse_gamma.ln_pdf(x.exp()) + x),
    ];
    for (prior, log_density) in cases {
        let x: Vec<f64> = (0..11).map(|i| -2.3 + 0.45 * f64::from(i)).collect();
        let expected: f64 = x.iter().map(|x| log_density(*x)).sum();
        assert_relative_eq!(prior.log_density(&x), expected, max_relative = 1e-12);
        let mut grad = vec![0.0; x.len()];
        assert_relative_eq!(prior.add_grad(&x, &mut grad), expected, max_relative = 1e-12);
        for (x, grad) in x.iter().zip(grad) {
            let slope = (log_density(x + 1e-5) - log_density(x - 1e-5)) / 2e-5;
            assert!((grad - slope).abs() < 1e-7, "{prior:?} at {x}: {grad} and {slope}");
        }
    }
}

/// N(w; 0, e^s) for each weight, with its normaliser, times the density of s.
#[test]
fn a_hierarchical_prior_has_the_density_of_its_factors() {
    use statrs::distribution::{self as reference, Continuous};
    let priors = Priors::all(Normal::new(0.3, 0.8).unwrap()).hierarchical(
        "w*",
        "log_variance",
        LogInverseGamma::new(2.0, 1.0).unwrap(),
    );
    let (data, model) = (&data_sets(70, 7)[0], Linear::new(3, 1).unwrap());
    let noise = Gaussian::fixed(0.7).unwrap();
    let posterior = Posterior::new(model, noise, data, priors).unwrap();
    let (w, b) = ([0.3, -1.2, 0.7], 0.1);
    let exact = |s: f64| {
        let weight = reference::Normal::new(0.0, (0.5 * s).exp()).unwrap();
        let bias = reference::Normal::new(0.3, 0.8).unwrap();
        let variance = reference::InverseGamma::new(2.0, 1.0).unwrap();
        w.iter().map(|w| weight.ln_pdf(*w)).sum::<f64>()
            + bias.ln_pdf(b)
            + variance.ln_pdf(s.exp())
            + s
    };
    for s in [-2.0, 0.0, 1.5] {
        let q = [w[0], w[1], w[2], b, s];
        let (mut ws, mut grad) = (posterior.workspace(), [0.0; 5]);
        let alone = posterior.log_density(&q, &mut ws).prior;
        approx::assert_relative_eq!(alone, exact(s), max_relative = 1e-12);
        let both = posterior.log_density_grad(&q, &mut grad, &mut ws).prior;
        approx::assert_relative_eq!(both, exact(s), max_relative = 1e-12);
        // The likelihood knows nothing of s.
        let slope = (exact(s + 1e-5) - exact(s - 1e-5)) / 2e-5;
        assert!((grad[4] - slope).abs() < 1e-7, "{s}: {} and {slope}", grad[4]);
    }
}

/// N(w_kj; 0, e^s_j) with one s for each input, half-Cauchy standard deviations, and a half-Cauchy common scale.
#[test]
fn priors_with_scales_of_inputs_have_the_density_of_their_factors() {
    use statrs::distribution::{self as reference, Continuous};
    let data = &data_sets(70, 7)[1];
    let model = Linear::new(3, 2).unwrap();
    let noise = Gaussian::fixed(0.7).unwrap();
    let half_cauchy = |scale: f64| LogHalfCauchy::new(scale).unwrap();
    // Of x = log sd^2: twice the density of a Cauchy variable, times d sd / dx = sd / 2.
    let of_log_square = |x: f64, scale: f64| {
        let cauchy = reference::Cauchy::new(0.0, scale).unwrap();
        cauchy.ln_pdf((0.5 * x).exp()) + 0.5 * x
    };
    let all = || Priors::all(Normal::new(0.3, 0.8).unwrap());
    let mut rng = ChainRng::new(5, 0);
    for horseshoe in [false, true] {
        let priors = match horseshoe {
            false => all().ard("w", "s", half_cauchy(0.4)),
            true => all().horseshoe("w", "s", "t", half_cauchy(0.4)),
        };
        let posterior = Posterior::new(model.clone(), noise, data, priors).unwrap();
        let names = if horseshoe { &["w", "b", "s", "t"][..] } else { &["w", "b", "s"] };
        assert_eq!(posterior.layout().block_names(), names);
        for _ in 0..4 {
            let q: Vec<f64> = (0..posterior.dim()).map(|_| rng.normal()).collect();
            let normal = |x: f64, mean, sd| reference::Normal::new(mean, sd).unwrap().ln_pdf(x);
            let weights = (0..6).map(|i| normal(q[i], 0.0, (0.5 * q[8 + i % 3]).exp()));
            let biases = (6..8).map(|i| normal(q[i], 0.3, 0.8));
            let scale = if horseshoe { (0.5 * q[11]).exp() } else { 0.4 };
            let scales = (8..11).map(|i| of_log_square(q[i], scale));
            let common = if horseshoe { of_log_square(q[11], 0.4) } else { 0.0 };
            let exact = weights.chain(biases).chain(scales).sum::<f64>() + common;
            let (mut ws, mut grad) = (posterior.workspace(), vec![0.0; q.len()]);
            let alone = posterior.log_density(&q, &mut ws).prior;
            approx::assert_relative_eq!(alone, exact, max_relative = 1e-12);
            let both = posterior.log_density_grad(&q, &mut grad, &mut ws).prior;
            approx::assert_relative_eq!(both, exact, max_relative = 1e-12);
            let error = gradient_error(&posterior, &q);
            assert!(error < 1e-7, "{error}");
            // What kernels that draw from the prior draw with: each weight by the scale of its column.
            let (mut mean, mut sd) = ([f64::NAN; 8], [f64::NAN; 8]);
            let weights = [0, 1, 2, 3, 4, 5, 6, 7];
            posterior.gaussian_reference(&weights, &q, &mut mean, &mut sd, &mut ws).unwrap();
            for i in 0..8 {
                let of_column = || (0.0, (0.5 * q[8 + i % 3]).exp());
                let (exact_mean, exact_sd) = if i < 6 { of_column() } else { (0.3, 0.8) };
                approx::assert_relative_eq!(mean[i], exact_mean);
                approx::assert_relative_eq!(sd[i], exact_sd, max_relative = 1e-14);
            }
        }
    }
    let build = |priors| Posterior::new(model.clone(), noise, data, priors);
    // `b` is no matrix of three columns, `v` no block, and `b` one that is there already.
    refused!(build(Priors::new().ard("*", "s", half_cauchy(1.0))), Prior {});
    refused!(build(all().ard("v", "s", half_cauchy(1.0))), Prior {});
    refused!(build(all().horseshoe("w", "s", "b", half_cauchy(1.0))), Prior {});
}

/// Where the output layer is the first one, a prior that names it takes the place of that by fan-in.
#[test]
fn relevance_priors_take_the_place_of_those_by_fan_in() {
    fn check<M: Model + Clone>(model: M, name: &str, data: &Dataset) {
        let noise = Gaussian::fixed(0.7).unwrap();
        let tau = || LogHalfCauchy::new(0.2).unwrap();
        let normal = || Normal::new(0.0, 1.0).unwrap();
        let start = [Priors::by_fan_in(&model), Priors::all(normal())];
        let of = |priors: Priors| Posterior::new(model.clone(), noise, data, priors).unwrap();
        let plain = of(start[0].clone());
        for added in [
            |p: Priors, name: &str, tau| p.ard(name, "log_relevance", tau),
            |p: Priors, name: &str, tau| p.horseshoe(name, "log_relevance", "log_scale", tau),
            |p: Priors, name: &str, _| p.with(name, Normal::new(0.0, 3.0).unwrap()),
        ] {
            let [by_fan_in, by_hand] = start.clone().map(|p| of(added(p, name, tau())));
            assert_eq!(by_fan_in.layout(), by_hand.layout());
            let q: Vec<f64> = (0..by_hand.dim()).map(|i| (1.0 + i as f64).sin()).collect();
            let prior = |of: &Posterior<M, Gaussian>, q: &[f64]| {
                of.log_density(q, &mut of.workspace()).prior
            };
            assert_eq!(prior(&by_fan_in, &q), prior(&by_hand, &q));
            assert!((prior(&by_fan_in, &q) - prior(&plain, &q[..plain.dim()])).abs() > 0.01);
        }
        // A pattern does not: the name of the output layer is more exact.
        let pattern = of(start[0].clone().with("w*", Normal::new(0.0, 3.0).unwrap()));
        let q = vec![0.3; pattern.dim()];
        let found = pattern.log_density(&q, &mut pattern.workspace()).prior;
        assert_eq!(found, plain.log_density(&q, &mut plain.workspace()).prior);
    }
    let data = &data_sets(70, 7)[0];
    check(Linear::new(3, 1).unwrap(), "w", data);
    check(Mlp::new(&[3, 1], Activation::Tanh).unwrap(), "w0", data);
}

#[test]
fn bad_prior_arguments_are_refused_by_name() {
    let name = "mean of the normal prior";
    refused!(Normal::new(f64::NAN, 1.0), Argument { name: name, value: "NaN" });
    for (sd, value) in [(0.0, "0"), (-1.0, "-1"), (1e-200, "1e-200")] {
        let (name, allowed) = ("sd of the normal prior", "from 1e-150 to 1e150");
        refused!(Normal::new(0.0, sd), Argument { name: name, value: value, allowed: allowed });
    }
    let name = "shape of the inverse-gamma prior";
    refused!(LogInverseGamma::new(0.0, 1.0), Argument { name: name, value: 0 });
    let name = "scale of the inverse-gamma prior";
    refused!(LogInverseGamma::new(1.0, f64::INFINITY), Argument { name: name, value: "inf" });
    let name = "location of the Laplace prior";
    refused!(Laplace::new(f64::NAN, 1.0), Argument { name: name, value: "NaN" });
    refused!(Laplace::new(0.0, 0.0), Argument { name: "scale of the Laplace prior", value: 0 });
    let name = "degrees of freedom of the Student-t prior";
    refused!(StudentT::new(0.0, 0.0, 1.0), Argument { name: name, value: 0 });
    let name = "scale of the Student-t prior";
    refused!(StudentT::new(2.0, 0.0, -1.0), Argument { name: name, value: -1 });
    let name = "scale of the half-Cauchy prior";
    refused!(LogHalfCauchy::new(0.0), Argument { name: name, value: 0 });
    let name = "lower bound of the uniform prior";
    refused!(Uniform::new(f64::NEG_INFINITY, 1.0), Argument { name: name, value: "-inf" });
    for bound in [1.0, 1e308] {
        let lower = if bound == 1.0 { 1.0 } else { -bound };
        let (name, value) = ("box of the uniform prior", format!("[{lower}, {bound}]"));
        refused!(Uniform::new(lower, bound), Argument { name: name, value: value });
    }
}
