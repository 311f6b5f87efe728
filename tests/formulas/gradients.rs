//! Gradients of every model x likelihood x prior against finite differences, and likelihoods
//! against their textbook formulas and at extreme logits.

use bnn_mcmc::engine::{Tile, TileMut};
use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{GaussianReference, PowerGradTarget};
use bnn_mcmc::testing::gradient_error;
use ndarray::{Array2, Array3};

const ACTIVATIONS: [Activation; 6] = [
    Activation::Identity,
    Activation::Sigmoid,
    Activation::Tanh,
    Activation::Relu,
    Activation::Softplus,
    Activation::Silu,
];

/// 70 rows (two tiles, the second with padding) of 3 features, with a response of each kind.
fn data_sets() -> Vec<Dataset> {
    let mut rng = ChainRng::new(21, 0);
    let x = Array2::from_shape_fn((70, 3), |_| rng.normal());
    let classes = |k: usize| {
        let names: Vec<String> = (0..k).map(|i| format!("class {i}")).collect();
        Dataset::classification(x.clone(), (0..70).map(|i| (i * 7 + i / 5) % k).collect(), names)
    };
    let counts = |k| Array2::from_shape_fn((70, k), |(i, j)| ((i * 3 + j * 5) % 7 + 1) as f64);
    vec![
        Dataset::regression(x.clone(), Array2::from_shape_fn((70, 1), |_| rng.normal())).unwrap(),
        Dataset::regression(x.clone(), Array2::from_shape_fn((70, 2), |_| rng.normal())).unwrap(),
        classes(2).unwrap(),
        classes(3).unwrap(),
        Dataset::counts(x.clone(), counts(2)).unwrap(),
        Dataset::counts(x.clone(), counts(3)).unwrap(),
        Dataset::counts(x.clone(), counts(1)).unwrap(),
    ]
}

/// `own` are the likelihood's own parameters.
fn priors(own: &Layout) -> Vec<Priors> {
    let noise = |priors: Priors, improper: bool| {
        let (shape, scale) = if improper { (0.0, 0.0) } else { (2.0, 0.5) };
        own.blocks().iter().fold(priors, |priors, block| {
            priors.with(&block.name, LogInverseGamma::new(shape, scale).unwrap())
        })
    };
    vec![
        noise(Priors::all(Normal::new(0.3, 0.8).unwrap()), false),
        noise(Priors::all(Uniform::new(-9.0, 9.0).unwrap()), true),
        noise(Priors::all(LogInverseGamma::new(1.5, 0.7).unwrap()), false),
        noise(Priors::all(StudentT::new(3.0, 0.2, 0.6).unwrap()), false),
        // Laplace and hierarchical priors together; the kink of the former is never met.
        noise(
            Priors::all(Laplace::new(7.0, 0.7).unwrap()).hierarchical(
                "w*",
                "log_variance",
                LogInverseGamma::new(2.0, 1.0).unwrap(),
            ),
            false,
        ),
    ]
}

/// Checks the gradient at some random points. A finite difference that straddles the kink of a ReLU
/// is wrong, so for networks that are not `smooth` the best of many points on few rows counts: no
/// wrong gradient would be right at any of them.
fn check<M: Model + Clone, L: Likelihood + Clone>(
    model: &M,
    likelihood: L,
    data: &Dataset,
    smooth: bool,
) {
    for priors in priors(&likelihood.layout()) {
        let posterior = Posterior::new(model.clone(), likelihood.clone(), data, priors).unwrap();
        let mut rng = ChainRng::new(4, 0);
        let mut least = f64::INFINITY;
        for _ in 0..if smooth { 2 } else { 12 } {
            let q: Vec<f64> = (0..posterior.dim()).map(|_| 0.7 * rng.normal()).collect();
            let error = gradient_error(&posterior, &q);
            least = least.min(error);
            let names = posterior.layout().block_names();
            assert!(error < 1e-7 || !smooth, "{error} for {names:?}");
            // The value that comes with the gradient is that of the log density alone.
            let mut ws = posterior.workspace();
            let both = posterior.log_density_grad(&q, &mut vec![0.0; q.len()], &mut ws);
            let alone = posterior.log_density(&q, &mut ws);
            approx::assert_relative_eq!(both.likelihood, alone.likelihood, max_relative = 1e-12);
            approx::assert_relative_eq!(both.prior, alone.prior, max_relative = 1e-12);
        }
        assert!(least < 1e-7, "{least} at the best of all points");
    }
}

fn check_all_likelihoods<M: Model + Clone>(model: impl Fn(usize) -> M, smooth: bool) {
    for data in &data_sets() {
        let data = if smooth { data } else { &data.select(&[0, 1, 2, 3, 4, 5, 6, 7, 8]).unwrap() };
        match data.response() {
            Response::Real(y) => {
                check(&model(y.ncols()), Gaussian::sampled(), data, smooth);
                check(&model(y.ncols()), Gaussian::fixed(0.7).unwrap(), data, smooth);
                check(&model(2 * y.ncols()), HeteroscedasticGaussian, data, smooth);
                let t = StudentTNoise::sampled();
                check(&model(y.ncols()), t, data, smooth);
                check(&model(y.ncols()), t.with_degrees_of_freedom(3.0).unwrap(), data, smooth);
                check(&model(y.ncols()), t.with_scale(0.6).unwrap(), data, smooth);
            }
            Response::Classes { names, .. } => {
                if names.len() == 2 {
                    check(&model(1), Bernoulli, data, smooth);
                }
                check(&model(names.len()), Categorical, data, smooth);
            }
            Response::Counts(counts) if counts.ncols() == 1 => {
                check(&model(1), Poisson, data, smooth);
                check(&model(1), NegativeBinomial::sampled(), data, smooth);
                check(&model(1), NegativeBinomial::fixed(1.7).unwrap(), data, smooth);
            }
            Response::Counts(counts) => {
                if counts.ncols() == 2 {
                    check(&model(1), Binomial, data, smooth);
                }
                check(&model(counts.ncols()), Multinomial, data, smooth);
            }
            other => panic!("no test for {other:?}"),
        }
    }
}

#[test]
fn linear_models_under_every_likelihood_and_prior() {
    check_all_likelihoods(|k| Linear::new(3, k).unwrap(), true);
}

#[test]
fn networks_under_every_likelihood_prior_and_activation() {
    for activation in ACTIVATIONS {
        let smooth = activation != Activation::Relu;
        check_all_likelihoods(|k| Mlp::new(&[3, 4, k], activation).unwrap(), smooth);
    }
    check_all_likelihoods(|k| Mlp::new(&[3, 5, 4, 2, k], Activation::Tanh).unwrap(), true);
}

#[test]
fn a_wrong_gradient_is_noticed() {
    struct Wrong(Posterior<Linear, Gaussian>);
    impl Target for Wrong {
        type Workspace = <Posterior<Linear, Gaussian> as Target>::Workspace;
        fn dim(&self) -> usize {
            self.0.dim()
        }
        fn workspace(&self) -> Self::Workspace {
            self.0.workspace()
        }
        fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
            self.0.log_density(q, ws)
        }
    }
    impl GradTarget for Wrong {
        fn log_density_grad(
            &self,
            q: &[f64],
            grad: &mut [f64],
            ws: &mut Self::Workspace,
        ) -> LogDensity {
            let log_density = self.0.log_density_grad(q, grad, ws);
            grad[1] += 1e-3 * (1.0 + grad[0].abs());
            log_density
        }
    }
    let data = &data_sets()[0];
    let priors = priors(&Gaussian::sampled().layout()).swap_remove(0);
    let posterior =
        Posterior::new(Linear::new(3, 1).unwrap(), Gaussian::sampled(), data, priors).unwrap();
    assert!(gradient_error(&Wrong(posterior), &[0.1, 0.2, 0.3, 0.4, 0.5]) > 1e-5);
}

/// One row with the given logits and encoded response: (log likelihood, its gradient, the mean).
fn one_row<L: Likelihood>(
    likelihood: &L,
    logits: &[f64],
    response: &Response,
) -> (f64, Vec<f64>, Vec<f64>) {
    let y = likelihood.encode(response, logits.len()).unwrap();
    let tile = |values: &[f64]| -> Vec<f64> {
        values.iter().flat_map(|v| [*v, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).collect()
    };
    let y = tile(y.as_slice().unwrap());
    let (mut out, mut d_out) = (tile(logits), tile(logits));
    let mut mean = tile(&vec![0.0; likelihood.n_means(logits.len())]);
    let (y, mut row) = (Tile::new(&y, 1), [0.0]);
    likelihood.mean(&[], Tile::new(&out, 1), TileMut::new(&mut mean, 1));
    let ell =
        likelihood.log_lik_grad(&[], Tile::new(&out, 1), y, TileMut::new(&mut d_out, 1), &mut []);
    likelihood.log_lik_rows(&[], TileMut::new(&mut out, 1), y, &mut row);
    assert!((row[0] - ell).abs() <= 1e-12 * ell.abs().max(1.0), "{} and {ell}", row[0]);
    let every_8th = |v: Vec<f64>| v.into_iter().step_by(8).collect::<Vec<_>>();
    (ell, every_8th(d_out), every_8th(mean))
}

fn class(index: usize, k: usize) -> Response {
    Response::Classes { index: vec![index], names: (0..k).map(|i| i.to_string()).collect() }
}

#[test]
fn likelihoods_are_their_textbook_formulas() {
    use approx::assert_relative_eq;
    let sigmoid = |z: f64| 1.0 / (1.0 + (-z).exp());
    for z in [-3.0, -0.2, 0.0, 1.7] {
        for y in [0, 1] {
            let (ell, d, mean) = one_row(&Bernoulli, &[z], &class(y, 2));
            let p = if y == 1 { sigmoid(z) } else { 1.0 - sigmoid(z) };
            assert_relative_eq!(ell, p.ln(), max_relative = 1e-13);
            assert_relative_eq!(d[0], y as f64 - sigmoid(z), max_relative = 1e-13);
            assert_relative_eq!(mean[0], sigmoid(z), max_relative = 1e-13);
        }
        let counts = Response::Counts(ndarray::array![[3.0, 4.0]]);
        let (ell, d, _) = one_row(&Binomial, &[z], &counts);
        let p = sigmoid(z);
        let expected = 35.0f64.ln() + 3.0 * p.ln() + 4.0 * (1.0 - p).ln();
        assert_relative_eq!(ell, expected, max_relative = 1e-12);
        assert_relative_eq!(d[0], 3.0 - 7.0 * p, max_relative = 1e-12);
    }
    let z = [0.3f64, -1.0, 2.0];
    let total: f64 = z.iter().map(|z| z.exp()).sum();
    for y in 0..3 {
        let (ell, d, mean) = one_row(&Categorical, &z, &class(y, 3));
        assert_relative_eq!(ell, (z[y].exp() / total).ln(), max_relative = 1e-13);
        for k in 0..3 {
            let p = z[k].exp() / total;
            assert_relative_eq!(mean[k], p, max_relative = 1e-13);
            assert_relative_eq!(d[k], f64::from(u8::from(k == y)) - p, max_relative = 1e-12);
        }
    }
    let counts = Response::Counts(ndarray::array![[2.0, 0.0, 3.0]]);
    let (ell, d, _) = one_row(&Multinomial, &z, &counts);
    let expected = 10.0f64.ln() + 2.0 * (z[0].exp() / total).ln() + 3.0 * (z[2].exp() / total).ln();
    assert_relative_eq!(ell, expected, max_relative = 1e-12);
    assert_relative_eq!(d[1], -5.0 * z[1].exp() / total, max_relative = 1e-12);
}

#[test]
fn extreme_logits_give_finite_values_and_gradients() {
    for size in [50.0, 800.0, 1e4, 1e150, 1e300] {
        for z in [size, -size] {
            for y in [0, 1] {
                let (ell, d, mean) = one_row(&Bernoulli, &[z], &class(y, 2));
                let wrong = (y == 1) != (z > 0.0);
                assert!((ell + if wrong { size } else { 0.0 }).abs() <= 1e-12 * size);
                let expected = if wrong { -z.signum() } else { 0.0 };
                assert!((d[0] - expected).abs() < 1e-20, "{d:?}");
                assert!((mean[0] - f64::from(u8::from(z > 0.0))).abs() < 1e-20);
                let (both, d, _) = one_row(&Categorical, &[0.0, z], &class(y, 2));
                assert!((both - ell).abs() <= 1e-12 * size);
                assert!((d[1] - expected).abs() < 1e-20);
            }
            let counts = Response::Counts(ndarray::array![[3.0, 4.0]]);
            let (ell, d, _) = one_row(&Binomial, &[z], &counts);
            let expected = if z > 0.0 { -4.0 } else { -3.0 };
            assert!(
                (ell / size - expected).abs() < 1.0 && (d[0] - expected * z.signum()).abs() < 1e-20
            );
            let sure = Response::Counts(ndarray::array![[
                if z > 0.0 { 3.0 } else { 0.0 },
                if z > 0.0 { 0.0 } else { 3.0 }
            ]]);
            assert!(one_row(&Binomial, &[z], &sure).0.abs() < 1e-20);
            let (ell, d, _) = one_row(&Multinomial, &[z, 0.0], &counts);
            assert!(ell.is_finite() && d.iter().all(|d| d.is_finite()));
        }
    }
    // What all logits of a row have in common does not matter.
    let counts = Response::Counts(ndarray::array![[3.0, 4.0]]);
    let (ell, ..) = one_row(&Multinomial, &[0.0, -1.0], &counts);
    for common in [1e9, -1e9, 1e15] {
        let (shifted, ..) = one_row(&Multinomial, &[common, common - 1.0], &counts);
        assert!((shifted - ell).abs() < 1e-12, "{shifted} and {ell}");
    }
}

#[test]
fn responses_that_do_not_fit_are_refused_with_what_would() {
    let real = Response::Real(ndarray::array![[1.0, 2.0]]);
    let counts = Response::Counts(ndarray::array![[1.0, 2.0, 3.0]]);
    let no_trials = Response::Counts(ndarray::array![[1.0, 2.0], [0.0, 0.0]]);
    let message = |result: Result<Array2<f64>, Error>| result.unwrap_err().to_string();
    for (message, part) in [
        (message(Gaussian::sampled().encode(&class(0, 2), 1)), "expected real numbers"),
        (message(Gaussian::sampled().encode(&real, 1)), "model outputs for the Gaussian"),
        (message(Bernoulli.encode(&class(0, 3), 1)), "use Categorical for more"),
        (message(Bernoulli.encode(&class(0, 2), 2)), "found 2, expected 1"),
        (message(Bernoulli.encode(&real, 1)), "expected two classes"),
        (message(Categorical.encode(&class(0, 3), 2)), "found 2, expected 3"),
        (message(Categorical.encode(&real, 2)), "expected classes"),
        (message(Binomial.encode(&counts, 1)), "use Multinomial"),
        (message(Binomial.encode(&no_trials, 1)), "row 2 has no trials"),
        (message(Multinomial.encode(&no_trials, 2)), "row 2 has no trials"),
        (message(Multinomial.encode(&real, 2)), "expected counts"),
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert!(Gaussian::fixed(0.0).unwrap_err().to_string().contains("sd of the Gaussian"));
}

#[test]
fn a_posterior_refuses_what_does_not_fit_together() {
    let data = &data_sets()[3];
    let normal = || Normal::new(0.0, 1.0).unwrap();
    let build = |model: Mlp, priors| {
        Posterior::new(model, Categorical, data, priors).unwrap_err().to_string()
    };
    let mlp = |sizes: &[usize]| Mlp::new(sizes, Activation::Tanh).unwrap();
    assert!(build(mlp(&[4, 2, 3]), Priors::all(normal())).contains("found 3, expected 4"));
    assert!(build(mlp(&[3, 2, 4]), Priors::all(normal())).contains("found 4, expected 3"));
    let uncovered = build(mlp(&[3, 2, 3]), Priors::new().with("w*", normal()));
    assert!(uncovered.contains("`b0` has no prior") && uncovered.contains("w0, b0, w1, b1"));
    let misspelt = build(mlp(&[3, 2, 3]), Priors::all(normal()).with("W0", normal()));
    assert!(misspelt.contains("`W0` matches no block"));
}

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
    let error = improper.draw(&mut ChainRng::new(1, 0), &mut [0.0]).unwrap_err();
    assert!(error.to_string().contains("Init::Around"), "{error}");
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
    let (data, model) = (&data_sets()[0], Linear::new(3, 1).unwrap());
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
    let data = &data_sets()[1];
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
    let build =
        |priors| Posterior::new(model.clone(), noise, data, priors).unwrap_err().to_string();
    let misfit = build(Priors::new().ard("*", "s", half_cauchy(1.0)));
    assert!(misfit.contains("`b` is no matrix of 3 columns"), "{misfit}");
    assert!(build(all().ard("v", "s", half_cauchy(1.0))).contains("`v` matches no block"));
    let taken = build(all().horseshoe("w", "s", "b", half_cauchy(1.0)));
    assert!(taken.contains("there is a block `b` already"), "{taken}");
}

/// The prior variance of an output does not depend on the width.
#[test]
fn priors_by_fan_in_scale_the_output_weights_only() {
    use statrs::distribution::{Continuous, Normal as Reference};
    let data = &data_sets()[0];
    let network = Mlp::new(&[3, 4, 25, 1], Activation::Tanh).unwrap();
    let priors = Priors::by_fan_in(&network);
    let noise = Gaussian::fixed(0.7).unwrap();
    let posterior = Posterior::new(network, noise, data, priors).unwrap();
    let mut rng = ChainRng::new(5, 0);
    let q: Vec<f64> = (0..posterior.dim()).map(|_| rng.normal()).collect();
    let output = posterior.layout().range("w2").unwrap();
    assert_eq!(output.len(), 25);
    let (one, fifth) = (Reference::new(0.0, 1.0).unwrap(), Reference::new(0.0, 0.2).unwrap());
    let of = |i: usize| if output.contains(&i) { &fifth } else { &one };
    let exact: f64 = q.iter().enumerate().map(|(i, q)| of(i).ln_pdf(*q)).sum();
    let found = posterior.log_density(&q, &mut posterior.workspace()).prior;
    approx::assert_relative_eq!(found, exact, max_relative = 1e-13);
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
    let data = &data_sets()[0];
    check(Linear::new(3, 1).unwrap(), "w", data);
    check(Mlp::new(&[3, 1], Activation::Tanh).unwrap(), "w0", data);
}

/// One, two and three response columns, over two tiles, with a variance known or sampled.
#[test]
fn a_gaussian_likelihood_is_a_product_over_rows_and_columns() {
    use statrs::distribution::{self as reference, Continuous};
    let mut rng = ChainRng::new(33, 0);
    let x = Array2::from_shape_fn((70, 2), |_| rng.normal());
    for columns in 1..=3 {
        let y = Array2::from_shape_fn((70, columns), |_| 1.0 + rng.normal());
        let data = Dataset::regression(x.clone(), y.clone()).unwrap();
        let q: Vec<f64> = (0..3 * columns).map(|_| rng.normal()).collect();
        let (w, b) = q.split_at(2 * columns);
        let residual = |i: usize, j: usize| {
            y[(i, j)] - (x[(i, 0)] * w[2 * j] + x[(i, 1)] * w[2 * j + 1] + b[j])
        };
        let cells = || (0..70).flat_map(|i| (0..columns).map(move |j| (i, j)));
        for (sd, sampled) in [(0.4, false), (0.4, true), (2.5, true)] {
            let normal = reference::Normal::new(0.0, sd).unwrap();
            let expected: f64 = cells().map(|(i, j)| normal.ln_pdf(residual(i, j))).sum();
            let likelihood =
                if sampled { Gaussian::sampled() } else { Gaussian::fixed(sd).unwrap() };
            let (wide, own) = (Normal::new(0.0, 1e3).unwrap(), likelihood.layout());
            let add = |priors: Priors, name: &String| priors.with(name, wide);
            let priors = own.block_names().iter().fold(Priors::all(wide), add);
            let model = Linear::new(2, columns).unwrap();
            let posterior = Posterior::new(model, likelihood, &data, priors).unwrap();
            let mut q = q.clone();
            q.extend(sampled.then_some(2.0 * sd.ln()));
            let (mut ws, mut grad) = (posterior.workspace(), vec![0.0; q.len()]);
            let alone = posterior.log_density(&q, &mut ws).likelihood;
            approx::assert_relative_eq!(alone, expected, max_relative = 1e-12);
            let both = posterior.log_likelihood().log_density_grad(&q, &mut grad, &mut ws);
            approx::assert_relative_eq!(both.likelihood, expected, max_relative = 1e-12);
            if sampled {
                let slope = |(i, j)| 0.5 * (residual(i, j) / sd).powi(2) - 0.5;
                let slope: f64 = cells().map(slope).sum();
                approx::assert_relative_eq!(grad[q.len() - 1], slope, max_relative = 1e-10);
            }
            for j in 0..columns {
                let slope: f64 = (0..70).map(|i| residual(i, j) / (sd * sd)).sum();
                approx::assert_relative_eq!(grad[2 * columns + j], slope, max_relative = 1e-10);
            }
        }
    }
}

#[test]
fn bad_prior_arguments_are_refused_by_name() {
    for (error, part) in [
        (Normal::new(f64::NAN, 1.0).unwrap_err(), "mean of the normal prior"),
        (Normal::new(0.0, 0.0).unwrap_err(), "sd of the normal prior"),
        (Normal::new(0.0, -1.0).unwrap_err(), "is -1"),
        (LogInverseGamma::new(0.0, 1.0).unwrap_err(), "shape of the inverse-gamma prior"),
        (LogInverseGamma::new(1.0, f64::INFINITY).unwrap_err(), "scale of the inverse-gamma"),
        (Laplace::new(f64::NAN, 1.0).unwrap_err(), "location of the Laplace prior"),
        (Laplace::new(0.0, 0.0).unwrap_err(), "scale of the Laplace prior"),
        (StudentT::new(0.0, 0.0, 1.0).unwrap_err(), "degrees of freedom"),
        (StudentT::new(2.0, 0.0, -1.0).unwrap_err(), "scale of the Student-t prior"),
        (Normal::new(0.0, 1e-200).unwrap_err(), "from 1e-150"),
        (LogHalfCauchy::new(0.0).unwrap_err(), "scale of the half-Cauchy prior"),
        (Uniform::new(1.0, 1.0).unwrap_err(), "[1, 1]"),
        (Uniform::new(f64::NEG_INFINITY, 1.0).unwrap_err(), "lower bound"),
        (Uniform::new(-1e308, 1e308).unwrap_err(), "finite width"),
    ] {
        assert!(error.is_argument() && error.to_string().contains(part), "{error}");
    }
}

#[test]
fn predictions_are_those_of_the_draws() {
    let data = &data_sets()[3];
    let model = Mlp::new(&[3, 2, 3], Activation::Tanh).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(model, Categorical, data, priors).unwrap();
    let mut rng = ChainRng::new(8, 0);
    let values = Array3::from_shape_fn((2, 3, posterior.dim()), |_| rng.normal());
    let draws = Draws::new(posterior.layout().clone(), values).unwrap();
    let predictions = posterior.predict(&draws, data).unwrap();
    let Response::Classes { index, .. } = data.response() else { unreachable!() };
    let mut hits = 0;
    for chain in 0..2 {
        for draw in 0..3 {
            let q = draws.draw(chain, draw).unwrap();
            let mut ell = 0.0;
            for row in 0..data.rows() {
                let p = predictions.mean().slice_move(ndarray::s![chain, draw, row, ..]).to_owned();
                approx::assert_relative_eq!(p.sum(), 1.0, max_relative = 1e-12);
                let log_p = predictions.log_density().unwrap()[(chain, draw, row)];
                approx::assert_relative_eq!(p[index[row]].ln(), log_p, max_relative = 1e-10);
                ell += log_p;
                let best = (0..3).fold(0, |best, k| if p[k] > p[best] { k } else { best });
                hits += usize::from(best == index[row]);
            }
            let target = posterior.log_density(q, &mut posterior.workspace());
            approx::assert_relative_eq!(ell, target.likelihood, max_relative = 1e-12);
        }
    }
    let scores = predictions.scores().unwrap();
    let accuracy = scores.get("accuracy").unwrap();
    approx::assert_relative_eq!(accuracy.draws_mean, hits as f64 / 420.0, max_relative = 1e-12);
    let lpd = scores.get("log_predictive_density").unwrap();
    assert!(lpd.posterior > lpd.draws_mean, "Jensen's inequality");
    assert!(scores.get("rmse").is_none());
    assert_eq!(predictions.quantities().dim(), (2, 3, 70 * 3));
    let mean = posterior.predict_mean(&draws, data.x().view()).unwrap();
    assert_eq!(mean, predictions.mean());

    let mut csv = Vec::new();
    predictions.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert_eq!(csv.lines().count(), 1 + 70 * 3);
    assert!(csv.starts_with("row,class,observed,probability,probability_sd,probability_q05,probability_q50,probability_q95\n0,class 0,1,"));

    // Draws that come back from a table bring no statistics: the verdict is the same.
    let mut csv = Vec::new();
    draws.write_csv(&mut csv).unwrap();
    let from_csv = Draws::read_csv(&csv[..], "memory").unwrap();
    assert!(!posterior.predict(&from_csv, data).unwrap().verdict().unwrap().is_converged());
    // The same rows with the classes' names in another order are not the same data.
    let names = ["class 1", "class 0", "class 2"];
    let renamed = Dataset::classification(data.x().clone(), index.clone(), names).unwrap();
    let error = posterior.predict(&draws, &renamed).unwrap_err();
    assert!(error.to_string().contains("classes of the data"), "{error}");
    // Draws of a posterior with the same parameters, but another density.
    let relu = Mlp::new(&[3, 2, 3], Activation::Relu).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let other = Posterior::new(relu, Categorical, data, priors).unwrap();
    let run = Sampler::new(&other, Rwm::default()).warmup(0).draws(5).run().unwrap();
    let error = posterior.predict(&run, data).unwrap_err();
    assert!(
        error.to_string().contains("found Mlp 3-2-3, relu, expected Mlp 3-2-3, tanh"),
        "{error}"
    );
    assert_eq!(other.predict(&run, data).unwrap().summary().unwrap().rows.len(), 70 * 3);

    // And with another prior.
    let (tanh, wide) =
        (Mlp::new(&[3, 2, 3], Activation::Tanh).unwrap(), Normal::new(0.0, 2.0).unwrap());
    let wide = Posterior::new(tanh, Categorical, data, Priors::all(wide)).unwrap();
    let run = Sampler::new(&wide, Rwm::default()).warmup(0).draws(5).run().unwrap();
    let error = posterior.predict(&run, data).unwrap_err();
    assert!(error.to_string().contains("is it of another posterior?"), "{error}");

    let other = Draws::new(bnn_mcmc::layout::Layout::vector("q", 2), Array3::zeros((1, 1, 2)));
    let error = posterior.predict(&other.unwrap(), data).unwrap_err();
    assert!(error.to_string().contains("parameters of the draws"), "{error}");
    let none = Draws::new(posterior.layout().clone(), Array3::zeros((2, 0, posterior.dim())));
    let none = posterior.predict(&none.unwrap(), data).unwrap();
    assert!(none.scores().unwrap_err().is_argument());
}

#[test]
fn regression_scores_are_the_textbook_ones() {
    let x = ndarray::array![[0.0], [1.0], [2.0]];
    let y = ndarray::array![[0.0], [2.0], [1.0]];
    let data = Dataset::regression(x, y).unwrap();
    let model = Linear::new(1, 1).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let posterior = Posterior::new(model, Gaussian::fixed(0.5).unwrap(), &data, priors).unwrap();
    // Two draws: f = x and f = 0. Their mean is x / 2.
    let values = ndarray::array![[[1.0, 0.0], [0.0, 0.0]]];
    let draws = Draws::new(posterior.layout().clone(), values).unwrap();
    let scores = posterior.predict(&draws, &data).unwrap().scores().unwrap();
    let rmse = scores.get("rmse").unwrap();
    approx::assert_relative_eq!(rmse.posterior, (2.25f64 / 3.0).sqrt(), max_relative = 1e-14);
    let each = [(2.0f64 / 3.0).sqrt(), (5.0f64 / 3.0).sqrt()];
    approx::assert_relative_eq!(rmse.draws_mean, (each[0] + each[1]) / 2.0, max_relative = 1e-14);
    let sd = (each[1] - each[0]) / 2f64.sqrt();
    approx::assert_relative_eq!(rmse.draws_sd, sd, max_relative = 1e-12);
    approx::assert_relative_eq!(scores.get("mae").unwrap().posterior, 0.5, max_relative = 1e-14);
    let density = |d: f64| (-0.5 * d * d / 0.25).exp() / (std::f64::consts::TAU * 0.25).sqrt();
    let lpd = [(0.0, 0.0), (1.0, 2.0), (1.0, 1.0)]
        .map(|(a, b)| ((density(a) + density(b)) / 2.0).ln())
        .iter()
        .sum::<f64>()
        / 3.0;
    let measured = scores.get("log_predictive_density").unwrap().posterior;
    approx::assert_relative_eq!(measured, lpd, max_relative = 1e-12);
}

/// So many rows that they are cut into shares: the gradient is the sum of those of parts that are not, and has the
/// same bits on any number of threads.
#[test]
fn gradients_by_many_rows_are_sums_of_parts_on_any_number_of_threads() {
    let (rows, parts) = (90_000, 9);
    let mut rng = ChainRng::new(22, 0);
    let x = Array2::from_shape_fn((rows, 4), |_| rng.normal());
    let y = Array2::from_shape_fn((rows, 1), |(i, _)| x[(i, 0)].sin() + 0.3 * rng.normal());
    let posterior = |rows: std::ops::Range<usize>| {
        let part = |of: &Array2<f64>| of.slice(ndarray::s![rows.clone(), ..]).to_owned();
        let data = Dataset::regression(part(&x), part(&y)).unwrap();
        let network = Mlp::new(&[4, 40, 1], Activation::Tanh).unwrap();
        let priors = priors(&Gaussian::sampled().layout()).swap_remove(0);
        Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap()
    };
    let whole = posterior(0..rows);
    let q: Vec<f64> = (0..whole.dim()).map(|_| 0.3 * rng.normal()).collect();
    let mut grad = vec![0.0; q.len()];
    let mut sum = vec![0.0; q.len()];
    let mut likelihood = 0.0;
    for part in 0..parts {
        let part = posterior(part * rows / parts..(part + 1) * rows / parts);
        let target = part.log_likelihood();
        likelihood += target.log_density_grad(&q, &mut grad, &mut target.workspace()).likelihood;
        sum.iter_mut().zip(&grad).for_each(|(sum, g)| *sum += g);
    }
    let scale = sum.iter().map(|g| g.abs()).fold(0.0, f64::max);
    let target = whole.log_likelihood();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (mut grad, mut ws) = (vec![0.0; q.len()], target.workspace());
        let densities = pool.install(|| {
            let of_gradient = target.log_density_grad(&q, &mut grad, &mut ws).likelihood;
            [of_gradient, target.log_density(&q, &mut ws).likelihood]
        });
        (densities, grad)
    };
    let (densities, grad) = on(1);
    for density in densities {
        assert!((density / likelihood - 1.0).abs() < 1e-13, "{density} {likelihood}");
    }
    for (g, sum) in grad.iter().zip(&sum) {
        assert!((g - sum).abs() < 1e-12 * scale, "{g} {sum}");
    }
    for threads in [2, 3, 8] {
        assert_eq!(on(threads), (densities, grad.clone()));
    }

    // The powers of the likelihood: beta 0 is the prior alone.
    let at = |beta| {
        let mut grad = vec![0.0; q.len()];
        let density = whole.log_density_grad_at(beta, &q, &mut grad, &mut whole.workspace());
        assert!((density.likelihood / likelihood - 1.0).abs() < 1e-13);
        grad
    };
    for ((g, prior), sum) in at(0.3).iter().zip(at(0.0)).zip(&sum) {
        assert!((g - prior - 0.3 * sum).abs() < 1e-12 * scale, "{g} {prior} {sum}");
    }
}
