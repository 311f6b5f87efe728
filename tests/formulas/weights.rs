//! Weights of rows: a row of weight w is w rows that are equal to it, in every density, derivative, score and scaling.

use bnn_mcmc::approximate::LaplaceApproximation;
use bnn_mcmc::data::{Standardise, Transform};
use bnn_mcmc::likelihood::{Censored, SecondOrderLikelihood};
use bnn_mcmc::model::{LogSd, NonCentred, Skip};
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{
    ConditionallyGaussian, Descent, DescentRule, FisherTarget, HessTarget, MinibatchTarget,
    NoiseConditional, Objective, Pass, PowerGradTarget,
};
use ndarray::{Array1, Array2, ArrayView1};
use shared::refused;

/// Weights 0, 1, 2, 3 and 5, in turn but not in the order of the rows.
fn weights(rows: usize) -> Vec<f64> {
    (0..rows).map(|i| [1.0, 3.0, 0.0, 2.0, 5.0][(i * 7 + i / 11) % 5]).collect()
}

/// The table with each row of `data` as many times as its weight says.
fn written_out(data: &Dataset) -> Dataset {
    let copies = |(i, w): (usize, &f64)| vec![i; *w as usize];
    let rows: Vec<usize> = data.weights().unwrap().iter().enumerate().flat_map(copies).collect();
    data.clone().without_weights().select(&rows).unwrap()
}

/// Data of each kind, with counts that have zeros and shares, of more rows than a tile has.
fn tables(rows: usize) -> Vec<Dataset> {
    let mut rng = ChainRng::new(31, 0);
    let x = Array2::from_shape_fn((rows, 3), |_| rng.normal());
    let mut normal = |columns| Array2::from_shape_simple_fn((rows, columns), || rng.normal());
    let [one, two] = [normal(1), normal(2)];
    let classes = |k: usize| {
        let names: Vec<String> = (0..k).map(|i| format!("class {i}")).collect();
        let index = (0..rows).map(|i| (i * 5 + i / 7) % k).collect();
        Dataset::classification(x.clone(), index, names).unwrap()
    };
    let counts = |columns| {
        let count = |(i, j): (usize, usize)| ((i * 3 + j * 5 + i / 4) % 6) as f64;
        let counts = Array2::from_shape_fn((rows, columns), count);
        counts + if columns == 1 { 0.0 } else { 1.0 }
    };
    let times = one.column(0).mapv(f64::exp);
    let events: Vec<bool> = (0..rows).map(|i| i % 3 > 0).collect();
    let all = vec![
        Dataset::regression(x.clone(), one.clone()).unwrap(),
        Dataset::regression(x.clone(), two).unwrap(),
        Dataset::regression(x.clone(), one.mapv(|y| 1.0 / (1.0 + (-y).exp()))).unwrap(),
        classes(2),
        classes(3),
        Dataset::counts(x.clone(), counts(1)).unwrap(),
        Dataset::counts(x.clone(), counts(2)).unwrap(),
        Dataset::counts(x.clone(), counts(3)).unwrap(),
        Dataset::survival(x.clone(), times, &events).unwrap(),
    ];
    all.into_iter().map(|data| data.with_weights(weights(rows)).unwrap()).collect()
}

/// Something to do with a posterior of weighted rows, and that of the rows written out.
trait Visit {
    fn visit<L: SecondOrderLikelihood + Clone>(
        &mut self,
        likelihood: &L,
        data: &Dataset,
        of: &dyn Fn(&Dataset) -> Posterior<Mlp, L>,
    );
}

fn for_all_likelihoods(rows: usize, visit: &mut impl Visit) {
    for data in &tables(rows) {
        macro_rules! go {
            ($outputs:expr, $likelihood:expr) => {{
                let likelihood = $likelihood;
                let of = |data: &Dataset| {
                    let model = Mlp::new(&[3, 4, $outputs], Activation::Tanh).unwrap();
                    let normal = Normal::new(0.1, 0.9).unwrap();
                    let own = likelihood.layout();
                    let priors = own.blocks().iter().fold(Priors::all(normal), |priors, block| {
                        priors.with(&block.name, Normal::new(0.2, 1.1).unwrap())
                    });
                    Posterior::new(model, likelihood, data, priors).unwrap()
                };
                visit.visit(&likelihood, data, &of);
            }};
        }
        match data.response() {
            Response::Real(y) => {
                let k = y.ncols();
                go!(k, Gaussian::sampled());
                go!(k, Gaussian::fixed(0.7).unwrap());
                go!(2 * k, HeteroscedasticGaussian);
                go!(k, StudentTNoise::sampled());
                go!(2 * k, StudentTNoise::heteroscedastic());
                if y.iter().all(|y| 0.0 < *y && *y < 1.0) {
                    go!(k, Beta);
                }
            }
            Response::Classes { names, .. } => {
                if names.len() == 2 {
                    go!(1, Bernoulli);
                }
                go!(names.len(), Categorical);
                go!(1, Ordinal::new(names.len()).unwrap());
            }
            Response::Counts(counts) if counts.ncols() == 1 => {
                go!(1, Poisson);
                go!(1, NegativeBinomial::sampled());
                go!(1, NegativeBinomial::fixed(1.7).unwrap());
                go!(1, ZeroInflated::poisson());
                go!(1, ZeroInflated::negative_binomial());
                go!(1, Hurdle::poisson());
                go!(1, Hurdle::negative_binomial());
            }
            Response::Counts(counts) => {
                if counts.ncols() == 2 {
                    go!(1, Binomial);
                }
                go!(counts.ncols(), Multinomial);
            }
            Response::Censored { .. } => {
                go!(1, Censored::normal());
                go!(1, Censored::log_normal());
                go!(1, Censored::weibull());
            }
            _ => unreachable!("no other response"),
        }
    }
}

fn point(dim: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChainRng::new(seed, 0);
    (0..dim).map(|_| 0.5 * rng.normal()).collect()
}

/// Checks equality beside the largest of the numbers.
fn check_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(1e-300, |a: f64, x| a.max(x.abs()));
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= tolerance * size, "{what} {i}: {f} for {e}");
    }
}

struct Densities(usize);

impl Visit for Densities {
    fn visit<L: SecondOrderLikelihood + Clone>(
        &mut self,
        likelihood: &L,
        data: &Dataset,
        of: &dyn Fn(&Dataset) -> Posterior<Mlp, L>,
    ) {
        self.0 += 1;
        let name = likelihood.description().unwrap();
        let (short, long) = (of(data), of(&written_out(data)));
        assert_eq!((short.n_obs(), long.n_obs() as f64), (data.rows(), data.total_weight()));
        let q = point(short.dim(), 3);
        let (mut a, mut b) = (short.workspace(), long.workspace());
        let (mut g, mut h) = (vec![0.0; q.len()], vec![0.0; q.len()]);
        for beta in [1.0, 0.3] {
            let found = short.log_density_grad_at(beta, &q, &mut g, &mut a);
            let expected = long.log_density_grad_at(beta, &q, &mut h, &mut b);
            check_close(&name, &[found.likelihood], &[expected.likelihood], 1e-12);
            check_close(&name, &g, &h, 1e-12);
            let alone = short.log_density(&q, &mut a);
            check_close(&name, &[alone.likelihood], &[expected.likelihood], 1e-12);
        }
        let dim = q.len();
        let (mut found, mut expected) = (vec![0.0; dim * dim], vec![0.0; dim * dim]);
        short.neg_hessian_at(0.7, &q, &mut found, &mut a);
        long.neg_hessian_at(0.7, &q, &mut expected, &mut b);
        check_close(&name, &found, &expected, 1e-12);
        short.fisher_at(0.7, &q, &mut found, &mut a);
        long.fisher_at(0.7, &q, &mut expected, &mut b);
        check_close(&name, &found, &expected, 1e-12);

        let [found, expected] = [&short, &long]
            .map(|p| LaplaceApproximation::kronecker(p, &q).unwrap().covariance().unwrap());
        let flat = |a: &Array2<f64>| a.iter().copied().collect::<Vec<f64>>();
        check_close(&name, &flat(&found), &flat(&expected), 1e-9);

        // As a function of the outputs.
        let outputs = short.model().n_outputs();
        let mut f = vec![0.0; data.rows() * outputs];
        short.write_outputs(&q, &mut f, &mut a).unwrap();
        let all = short.log_density(&q, &mut a).likelihood;
        let found = short.log_likelihood_of_outputs(&q, &f, &mut a).unwrap();
        check_close(&name, &[found], &[all], 1e-13);
        let (mut d_f, mut grad) = (f.clone(), vec![0.0; dim]);
        let found = short.add_grad_of_outputs(1.0, &q, &f, &mut d_f, &mut grad, &mut a).unwrap();
        check_close(&name, &[found], &[all], 1e-12);
        let zero = data.weights().unwrap().iter().position(|w| *w == 0.0).unwrap();
        assert!(d_f[zero * outputs..][..outputs].iter().all(|d| *d == 0.0), "{name}");

        // The mean of the estimates of all batches of one row.
        let (mut sum, mut value, n) = (vec![0.0; dim], 0.0, data.rows());
        for row in 0..n {
            let estimate =
                short.log_likelihood().minibatch_grad_at(1.0, &[row], &q, &mut g, &mut a);
            value += estimate.likelihood / n as f64;
            sum.iter_mut().zip(&g).for_each(|(sum, g)| *sum += g / n as f64);
        }
        let at_all = short.log_likelihood().log_density_grad(&q, &mut g, &mut a);
        check_close(&name, &[value], &[at_all.likelihood], 1e-12);
        check_close(&name, &sum, &g, 1e-11);
    }
}

#[test]
fn a_row_of_weight_w_is_w_rows_under_every_likelihood() {
    let mut visit = Densities(0);
    for_all_likelihoods(301, &mut visit);
    assert_eq!(visit.0, 34);
}

/// The integral over the output layer, its gradient, and moments of the layer given the rest.
fn check_marginal<M: Model, L: Likelihood>(
    what: &str,
    short: &Posterior<M, L>,
    long: &Posterior<M, L>,
    beta: f64,
) {
    let dim = short.dim();
    let q = point(dim, 5);
    let find = |posterior: &Posterior<M, L>| {
        let (mut ws, mut grad) = (posterior.workspace(), vec![0.0; dim]);
        // The weights of a mixture that the EM algorithm takes.
        posterior.refresh_at(beta, None, &mut q.clone(), &mut ws);
        let density = posterior.log_marginal_at(beta, &q, Some(&mut grad), &mut ws);
        let alone = posterior.log_marginal_at(beta, &q, None, &mut ws);
        assert_eq!(density.likelihood, alone.likelihood, "{what}");
        let (mut rng, mut drawn) = (ChainRng::new(4, 0), q.clone());
        assert!(posterior.draw_conditional_at(beta, &mut rng, &mut drawn, &mut ws));
        ([density.likelihood, density.prior], grad, drawn)
    };
    let (found, expected) = (find(short), find(long));
    assert!(expected.0[0].is_finite(), "{what}");
    check_close(what, &found.0, &expected.0, 1e-12);
    check_close(what, &found.1, &expected.1, 1e-10);
    check_close(what, &found.2, &expected.2, 1e-10);
}

#[test]
fn a_row_of_weight_w_is_w_rows_where_the_output_layer_is_integrated_out() {
    let all = tables(301);
    let (data, long) = (&all[0], written_out(&all[0]));
    let priors = |own: &[String], by_row: bool| {
        let squared = LogInverseGamma::new(2.0, 0.5).unwrap();
        let priors = Priors::all(Normal::new(0.1, 0.9).unwrap());
        let priors = own.iter().fold(priors, |priors, name| priors.with(name, squared));
        match by_row {
            true => priors.with("log_sd*", Normal::new(0.0, 0.5).unwrap()),
            false => priors.hierarchical("w1", "scale", squared),
        }
    };
    let network = |outputs| {
        Skip::new(NonCentred::new(Mlp::new(&[3, 4, outputs], Activation::Tanh).unwrap())).unwrap()
    };
    macro_rules! check {
        ($likelihood:expr, $model:expr, $by_row:expr) => {{
            let likelihood = $likelihood;
            let names = likelihood.layout();
            let names: Vec<String> = names.block_names().iter().map(|n| n.to_string()).collect();
            let make = |data: &Dataset| {
                Posterior::new($model, likelihood, data, priors(&names, $by_row)).unwrap()
            };
            for beta in [1.0, 0.4] {
                let what = likelihood.description().unwrap();
                check_marginal(&what, &make(data), &make(&long), beta);
            }
        }};
    }
    check!(Gaussian::sampled(), LogSd::without(network(1)), false);
    check!(Gaussian::fixed(0.6).unwrap(), LogSd::without(network(1)), false);
    check!(HeteroscedasticGaussian, LogSd::without(network(2)), false);
    check!(HeteroscedasticGaussian, LogSd::new(network(1)).unwrap(), true);
    let t = StudentTNoise::sampled();
    check!(t, LogSd::without(network(1)), false);
    let known = t.with_scale(0.4).unwrap().with_degrees_of_freedom(3.0).unwrap();
    check!(known, LogSd::without(network(1)), false);
    check!(StudentTNoise::heteroscedastic(), LogSd::new(network(1)).unwrap(), true);
    check!(StudentTNoise::heteroscedastic(), LogSd::without(network(2)), false);

    let make = |data| {
        let priors = priors(&["log_noise_variance".to_string()], false);
        Posterior::new(network(2), Gaussian::sampled(), data, priors).unwrap()
    };
    let (two, unweighted) = (&all[1], all[1].clone().without_weights());
    assert!(make(&unweighted).collapsed().is_ok());
    refused!(make(two).collapsed(), Argument { name: "response columns", value: 2 });
}

/// The posterior of a linear model.
fn linear(data: &Dataset) -> Posterior<Linear, Gaussian> {
    let priors = Priors::all(Normal::new(0.0, 2.0).unwrap())
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    let outputs = data.response().width();
    Posterior::new(Linear::new(3, outputs).unwrap(), Gaussian::sampled(), data, priors).unwrap()
}

#[test]
fn noise_conditionals_descents_and_scalings_count_rows_by_their_weights() {
    for data in &tables(60)[..3] {
        let long = written_out(data);
        let (a, b) = (linear(data), linear(&long));
        let q = point(a.dim(), 6);
        let (mut ws, mut ws_b) = (a.workspace(), b.workspace());
        let (found, expected) = (a.noise_parameters().unwrap(), b.noise_parameters().unwrap());
        assert_eq!(found.values, expected.values);
        let squares = [a.squared_error(&q, &mut ws), b.squared_error(&q, &mut ws_b)];
        check_close("squares", &squares[..1], &squares[1..], 1e-12);
        for objective in [Objective::SquaredError, Objective::LogPosterior] {
            let rule = DescentRule { objective, learning_rate: 1e-4, depth: 3, pass: Pass::Batch };
            a.check_descent(&rule).unwrap();
            let (mut found, mut expected) = (q.clone(), q.clone());
            a.descend(&rule, &q, &mut found, &mut ws);
            b.descend(&rule, &q, &mut expected, &mut ws_b);
            check_close("descent", &found, &expected, 1e-12);
            let rule = DescentRule { pass: Pass::PerRow, ..rule };
            refused!(a.check_descent(&rule), Argument { name: "weights of rows" });
            b.check_descent(&rule).unwrap();
        }
        for transform in [Transform::None, Transform::YeoJohnson] {
            let standardise = Standardise::new().after(transform);
            for of in [Standardise::fit_features, Standardise::fit_response] {
                let (found, expected) = (of(&standardise, data), of(&standardise, &long));
                let (found, expected) = (found.unwrap(), expected.unwrap());
                for (f, e) in found.columns().iter().zip(expected.columns()) {
                    check_close("scaling", &[f.shift, f.scale], &[e.shift, e.scale], 1e-12);
                    assert_eq!(f.transform.map(|t| t.lambda), e.transform.map(|t| t.lambda));
                }
            }
        }
    }
}

/// Draws of a linear model that do not depend on the data.
fn draws(posterior: &Posterior<Linear, Gaussian>, chains: usize, n: usize) -> Draws {
    let (mut rng, dim) = (ChainRng::new(8, 0), posterior.dim());
    let values = ndarray::Array3::from_shape_simple_fn((chains, n, dim), || 0.3 * rng.normal());
    Draws::new(posterior.layout().clone(), values).unwrap()
}

#[test]
fn leave_one_out_and_scores_are_those_of_the_rows_written_out() {
    let data = &tables(60)[0];
    let long = written_out(data);
    let (a, b) = (linear(data), linear(&long));
    let draws = draws(&a, 2, 200);
    let (found, expected) = (a.loo(&draws).unwrap(), b.loo(&draws).unwrap());
    check_close(
        "loo",
        &[found.elpd, found.se, found.p_loo],
        &[expected.elpd, expected.se, expected.p_loo],
        1e-10,
    );
    assert_eq!(found.total_weight(), long.rows() as f64);
    let zero = data.weights().unwrap().iter().position(|w| *w == 0.0).unwrap();
    assert_eq!(found.rows[zero].p_loo, 0.0);
    assert!(found.unreliable().iter().all(|row| data.weights().unwrap()[*row] > 0.0));
    let plain = linear(&data.clone().without_weights()).loo(&draws).unwrap();
    refused!(
        Loo::compare(&[("a", &found), ("b", &plain)]),
        Argument { name: "weights of the rows of `b`" }
    );

    // Scores of rows with weights by draws of a posterior that they do not belong to.
    let (found, expected) = (a.predict(&draws, data).unwrap(), a.predict(&draws, &long).unwrap());
    let [found_of, expected_of] = [&found, &expected].map(|p| p.scores().unwrap());
    for (f, e) in found_of.scores.iter().zip(&expected_of.scores) {
        assert_eq!(f.name, e.name);
        // Draws of new responses differ.
        let tolerance = if f.draws_mean.is_nan() { 0.2 } else { 1e-12 };
        check_close(&f.name, &[f.posterior], &[e.posterior], tolerance);
        if !f.draws_mean.is_nan() {
            check_close(&f.name, &[f.draws_mean, f.draws_sd], &[e.draws_mean, e.draws_sd], 1e-10);
        }
    }
    refused!(found.stacking(), Argument { name: "weights of rows" });
    let held =
        [data, &long].map(|rows| a.held_out(rows).unwrap().score(&point(a.dim(), 2)).unwrap());
    check_close("held out", &held[..1], &held[1..], 1e-12);
    // By the weights that are not whole numbers, against sums written here.
    let w: Vec<f64> = (0..60).map(|i| 0.1 + (i % 7) as f64 / 3.0).collect();
    let data = data.clone().with_weights(w.clone()).unwrap();
    let predicted = a.predict(&draws, &data).unwrap();
    let mean = predicted.posterior_mean().unwrap();
    let squares = |i: usize| (mean[(i, 0)] - data.real().unwrap()[(i, 0)]).powi(2);
    let total: f64 = w.iter().sum();
    let expected = ((0..60).map(|i| w[i] * squares(i)).sum::<f64>() / total).sqrt();
    let rmse = predicted.scores().unwrap().get("rmse").unwrap().posterior;
    check_close("rmse", &[rmse], &[expected], 1e-12);
}

#[test]
fn leave_one_out_with_a_share_of_a_row_uses_that_power() {
    // One mean, flat prior: with weights w the posterior is N(sum w y / sum w, 1 / sum w), and without a row of weight
    // 1/2 it is that of the others.
    let y: Vec<f64> = (0..30).map(|i| (1.7 * i as f64).sin()).collect();
    let x = Array2::ones((30, 1));
    let data = Dataset::regression(x, Array1::from(y.clone())).unwrap();
    let data = data.with_weights([vec![0.5; 10], vec![1.0; 20]].concat()).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1e4).unwrap());
    let model = Linear::new(1, 1).unwrap();
    let posterior = Posterior::new(model, Gaussian::fixed(1.0).unwrap(), &data, priors).unwrap();
    let w = data.weights().unwrap().to_vec();
    let mean_of = |without: Option<usize>| {
        let rows = (0..30).filter(|i| Some(*i) != without);
        let (a, b) = rows.fold((0.0, 0.0), |(a, b), i| (a + w[i] * y[i], b + w[i]));
        (a / b, 1.0 / b)
    };
    let (mean, variance) = mean_of(None);
    let mut rng = ChainRng::new(2, 0);
    // Weight and bias are only known by their sum here.
    let values = ndarray::Array3::from_shape_fn((4, 20_000, 2), |(_, _, k)| {
        if k == 0 { mean + variance.sqrt() * rng.normal() } else { 0.0 }
    });
    let draws = Draws::new(posterior.layout().clone(), values).unwrap();
    let loo = posterior.loo_with(&draws, 1.0).unwrap();
    for (i, y) in y.iter().enumerate() {
        let (m, v) = mean_of(Some(i));
        let exact = -0.5 * ((y - m).powi(2) / (1.0 + v) + (std::f64::consts::TAU * (1.0 + v)).ln());
        assert!((loo.rows[i].elpd - exact).abs() < 2e-3, "{i}: {} {exact}", loo.rows[i].elpd);
    }
    let sum: f64 = loo.rows.iter().zip(&w).map(|(row, w)| w * row.elpd).sum();
    check_close("elpd", &[loo.elpd], &[sum], 1e-14);
}

#[test]
fn weights_that_are_none_are_refused_and_extreme_ones_are_right() {
    let data = tables(10)[0].clone();
    let with = |w: [f64; 3]| data.select(&[0, 1, 2]).unwrap().with_weights(w);
    refused!(with([1.0, -0.5, 1.0]), Cell { table: "weights of rows", row: "row 2" });
    for w in [f64::NAN, f64::INFINITY] {
        refused!(with([1.0, 1.0, w]), Cell { row: "row 3" });
    }
    refused!(with([0.0; 3]), Argument { name: "weights of rows", value: "0 of all rows" });
    refused!(with([1e300, 1.0, 1.0]), Argument { name: "sum of the weights of rows" });
    refused!(with([1e300, 1e300, 1e308]), Argument { name: "sum of the weights of rows" });
    let short = data.select(&[0, 1]).unwrap().with_weights([1.0]);
    refused!(short, Shape { what: "weights of rows", found: 1, expected: 2 });
    // A row of weight 0 counts for nothing, also where it has no density; a selection of such rows alone is none.
    let mut x = data.x().clone();
    x[(1, 0)] = 1e200;
    let far = with([2.0, 0.0, 1e12]).unwrap().with_x(x.slice_move(ndarray::s![..3, ..])).unwrap();
    refused!(far.select(&[1]), Argument { name: "weights of rows" });
    let (a, b) = (linear(&far), linear(&far.select(&[0, 2]).unwrap()));
    let q = point(a.dim(), 1);
    let density = a.log_density(&q, &mut a.workspace());
    assert!(density.total().is_finite());
    assert_eq!(density, b.log_density(&q, &mut b.workspace()));
    // Weights stay with their rows.
    let (train, test) = data.train_test_split(0.3, 1).unwrap();
    assert_eq!(train.total_weight() + test.total_weight(), data.total_weight());
    let row = |rows: &Dataset, i: usize| (rows.x()[(i, 0)].to_bits(), rows.weights().unwrap()[i]);
    let all: Vec<_> = (0..10).map(|i| row(&data, i)).collect();
    assert!((0..3).all(|i| all.contains(&row(&test, i))));
    let kept: ArrayView1<f64> = data.weights().unwrap();
    let again = data.select_features(["x3", "x1"]).unwrap();
    assert_eq!(again.weights().unwrap(), kept);
}
