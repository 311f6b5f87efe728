//! What a fit decides, beside the same parts put together by hand: which rows are learnt from, how they are scaled,
//! priors, starts, seeds, units.

use bnn_mcmc::fit::{Fit, Method, Noise, Recipe, Settings, WeightPrior};
use bnn_mcmc::model::LogSd;
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, array};
use shared::refused;

/// Two features of different size, and a response around 500, in so many rows. The last rows hold the extremes.
fn data(rows: usize) -> Dataset {
    let mut rng = ChainRng::new(11, 0);
    let x = Array2::from_shape_fn((rows, 2), |(i, j)| {
        (rng.normal() + i as f64 / rows as f64) * [1.0, 40.0][j] + [0.0, 300.0][j]
    });
    let noise: Array1<f64> = (0..rows).map(|_| 10.0 * rng.normal()).collect();
    let y = 500.0 + 30.0 * &x.column(0) + 0.5 * &x.column(1) + noise;
    Dataset::regression(x, y).unwrap()
}

fn recipe() -> Recipe {
    Fit::regression("y").hidden(&[3]).method(Method::Nuts).chains(2).warmup(60).draws(20).seed(3)
}

/// Mean and standard deviation, divided by n.
fn moments(column: ArrayView1<f64>) -> (f64, f64) {
    let mean = column.sum() / column.len() as f64;
    (mean, (column.mapv(|v| (v - mean).powi(2)).sum() / column.len() as f64).sqrt())
}

/// Each column less its mean, over its standard deviation, both of the rows of `like`.
fn standardised(x: ArrayView2<f64>, like: ArrayView2<f64>) -> Array2<f64> {
    let mut z = x.to_owned();
    for (mut column, like) in z.columns_mut().into_iter().zip(like.columns()) {
        let (mean, sd) = moments(like);
        column.mapv_inplace(|v| (v - mean) / sd);
    }
    z
}

fn close(what: &str, found: f64, expected: f64) {
    let tolerance = 1e-9 * (1.0 + expected.abs());
    assert!((found - expected).abs() < tolerance, "{what}: {found}, not {expected}");
}

/// The names of the columns of the hand-made data sets, so that they are those of the fit.
fn named(x: Array2<f64>, y: Array2<f64>, like: &Dataset) -> Dataset {
    let data = Dataset::regression(x, y).unwrap();
    let data = data.with_feature_names(like.feature_names().to_vec()).unwrap();
    data.with_response_names(like.response_names().to_vec()).unwrap()
}

/// The priors that the recipe's documentation states.
fn noise_prior() -> LogInverseGamma {
    LogInverseGamma::new(0.5, 0.005).unwrap()
}

#[test]
fn rows_scales_ranges_and_draws_are_those_of_the_parts() {
    let data = data(60);
    let fit = recipe().validation(0.25).fit(&data).unwrap();

    // Rows are chosen by the seed of the recipe.
    let (train, rest) = data.train_test_split(0.25, 3).unwrap();
    assert_eq!(fit.training(), &train);
    assert_eq!(fit.validation(), Some(&rest));

    // Scales and ranges know the training rows alone.
    let y = train.real().unwrap();
    let scales =
        fit.feature_scaler().columns().iter().chain(fit.response_scaler().unwrap().columns());
    for (scale, column) in scales.zip(train.x().columns().into_iter().chain(y.columns())) {
        let (mean, sd) = moments(column);
        close(&scale.name, scale.shift, mean);
        close(&scale.name, scale.scale, sd);
    }
    for (range, column) in fit.ranges().iter().zip(train.x().columns()) {
        let mut sorted = column.to_vec();
        sorted.sort_by(f64::total_cmp);
        assert_eq!((range.low, range.high), (sorted[0], sorted[sorted.len() - 1]));
    }

    // The posterior, and the draws of its chains.
    let z = standardised(train.x().view(), train.x().view());
    let scaled = named(z, standardised(y.view(), y.view()), &train);
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    let priors = Priors::by_fan_in(&network).with("log_noise_variance", noise_prior());
    let posterior =
        Posterior::new(network.clone(), Gaussian::sampled(), &scaled, priors.clone()).unwrap();
    // A difference in the last digit makes another chain: the chains are of what the fit has scaled.
    let same = Posterior::new(network, Gaussian::sampled(), &scaled_as_in(&fit), priors).unwrap();
    let centre = vec![0.0; posterior.dim()];
    let sampler = Sampler::new(&same, Nuts::default()).chains(2).seed(3);
    let sampler = sampler.warmup(60).draws(20).init(Init::Around { centre, sd: 0.1 });
    assert_eq!(fit.draws().values(), sampler.run().unwrap().values());

    let q: Vec<f64> = (0..posterior.dim()).map(|i| 0.4 * (i as f64 + 1.0).sin()).collect();
    let density = posterior.log_density(&q, &mut posterior.workspace());
    let of_fit = fit.posterior().log_density(&q, &mut fit.posterior().workspace());
    close("log likelihood", of_fit.likelihood, density.likelihood);
    close("log prior", of_fit.prior, density.prior);

    // Predictions in the units of the table, and what the rows left out say.
    let (mean, sd) = moments(y.column(0));
    let z = named(
        standardised(rest.x().view(), train.x().view()),
        (rest.real().unwrap() - mean) / sd,
        &train,
    );
    let on_scale = fit.posterior().predict(fit.draws(), &z).unwrap();
    let own = fit.predict(&rest).unwrap();
    let new = fit.predict_new(rest.x().view()).unwrap().predictions;
    for ((scaled, own), new) in on_scale.mean().iter().zip(own.mean()).zip(new.mean()) {
        close("prediction", *own, mean + sd * scaled);
        close("prediction of a new row", *new, mean + sd * scaled);
    }
}

/// Settings that are given at once are those that are given one by one.
#[test]
fn settings_at_once_are_those_one_by_one() {
    let written = |recipe: Recipe| serde_json::to_value(recipe).unwrap();
    let one_by_one = || Fit::regression("y").impute(2).hidden(&[3]).seed(4);
    let settings = one_by_one().as_settings().clone();
    assert_eq!(settings.impute, Some(2));
    let at_once = Fit::regression("y").settings(settings);
    assert_eq!(written(at_once), written(one_by_one()));
    let none = one_by_one().settings(Settings::default());
    assert_eq!(written(none), written(Fit::regression("y")));
}

/// A plan shows what is sampled, with nothing left open, and its run is the fit.
#[test]
fn a_plan_is_all_that_is_decided_and_its_run_is_the_fit() {
    let data = data(60);
    let open = Fit::regression("y").hidden(&[3]).validation(0.25).draws(20).warmup(60).seed(3);
    let plan = open.plan(&data, None).unwrap();
    let Settings { chains, warmup, draws, noise, method, weights, .. } =
        plan.recipe().as_settings();
    assert_eq!((*chains, *warmup, *draws), (Some(4), Some(60), Some(20)));
    assert_eq!(*method, Some(Method::Collapsed));
    assert_eq!((*noise, *weights), (Some(Noise::Gaussian), Some(WeightPrior::FanIn)));
    let text = plan.to_string();
    assert!(
        text.contains("one hidden layer of 3 units") && text.contains("4 chains of 60"),
        "{text}"
    );

    let (fit, rows) = (open.fit(&data).unwrap(), plan.training().x().clone());
    let planned = plan.run().unwrap();
    assert_eq!(planned.draws().values(), fit.draws().values());
    assert_eq!((fit.training().x(), fit.plan().to_string()), (&rows, planned.recipe().to_string()));

    refused!(open.impute(5).plan(&data, None), Argument { name: "impute", value: 5 });
}

/// The training rows as the fit has scaled them.
fn scaled_as_in(fit: &Fit) -> Dataset {
    let scaled = fit.feature_scaler().scale_features(fit.training()).unwrap();
    fit.response_scaler().unwrap().scale_response(&scaled).unwrap()
}

#[test]
fn transforms_of_rows_left_out_are_of_the_scaled_training_rows() {
    let fit = recipe().validation(0.25).fit(&data(60)).unwrap();
    let by_hand = fit.posterior().loo_pit(fit.draws(), &scaled_as_in(&fit), 7).unwrap();
    assert_eq!(fit.loo_pit(7).unwrap().values, by_hand.values);
}

#[test]
fn priors_of_noise_and_of_counts_are_those_that_a_recipe_says() {
    let q_of = |dim: usize| -> Vec<f64> { (0..dim).map(|i| 0.3 * (i as f64).cos()).collect() };
    let short = |recipe: Recipe| recipe.hidden(&[3]).chains(1).warmup(5).draws(2);
    // log degrees of freedom ~ N(2, 1).
    let data = data(40);
    let fit = short(Fit::regression("y").noise(Noise::StudentT)).fit(&data).unwrap();
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    let priors = Priors::by_fan_in(&network)
        .with("log_squared_scale", noise_prior())
        .with("log_degrees_of_freedom", Normal::new(2.0, 1.0).unwrap());
    let likelihood = StudentTNoise::sampled();
    let by_hand = Posterior::new(network, likelihood, &scaled_as_in(&fit), priors).unwrap();
    let q = q_of(by_hand.dim());
    let prior = fit.posterior().log_density(&q, &mut fit.posterior().workspace()).prior;
    close("Student's t", prior, by_hand.log_density(&q, &mut by_hand.workspace()).prior);

    // Slopes of a log scale ~ N(0, 0.5^2), its bias ~ N(-1.5, 1.5^2).
    let recipe = Fit::regression("y").noise(Noise::HeteroscedasticStudentT);
    let fit = short(recipe).fit(&data).unwrap();
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    let priors = Priors::by_fan_in(&network)
        .with("log_sd", Normal::new(0.0, 0.5).unwrap())
        .with("log_sd_bias", Normal::new(-1.5, 1.5).unwrap())
        .with("log_degrees_of_freedom", Normal::new(2.0, 1.0).unwrap());
    let (model, likelihood) = (LogSd::new(network).unwrap(), StudentTNoise::heteroscedastic());
    let by_hand = Posterior::new(model, likelihood, &scaled_as_in(&fit), priors).unwrap();
    let q = q_of(by_hand.dim());
    let prior = fit.posterior().log_density(&q, &mut fit.posterior().workspace()).prior;
    close("heteroscedastic", prior, by_hand.log_density(&q, &mut by_hand.workspace()).prior);

    // log dispersion ~ N(1, 1.5^2), and the output's bias around the log of the mean count, half a count more.
    let counts: Array1<f64> = (0..40).map(|i| f64::from((i * i % 23) as u8)).collect();
    let mean = (counts.sum() + 0.5) / 40.0;
    let counts = Dataset::counts(data.x().clone(), counts).unwrap();
    let fit = short(Fit::counts("y")).fit(&counts).unwrap();
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    let priors = Priors::by_fan_in(&network)
        .with("log_dispersion", Normal::new(1.0, 1.5).unwrap())
        .with("b1", Normal::new(mean.ln(), 1.0).unwrap());
    let scaled = fit.feature_scaler().scale_features(&counts).unwrap();
    let by_hand = Posterior::new(network, NegativeBinomial::sampled(), &scaled, priors).unwrap();
    let q = q_of(by_hand.dim());
    let prior = fit.posterior().log_density(&q, &mut fit.posterior().workspace()).prior;
    close("counts", prior, by_hand.log_density(&q, &mut by_hand.workspace()).prior);
    // Chains start there, too: without a warm-up they have hardly moved.
    let start = Fit::counts("y").hidden(&[3]).chains(4).warmup(0).draws(1).fit(&counts).unwrap();
    let bias = start.draws().block("b1").unwrap().mean().unwrap();
    assert!((bias - mean.ln()).abs() < 0.5, "{bias}, not {}", mean.ln());
}

/// The log prior of a fit at some q, and of a posterior by hand with the same network.
fn compare_priors<L: Likelihood>(label: &str, fit: &Fit, likelihood: L, priors: Priors) {
    let scaled = fit.feature_scaler().scale_features(fit.training()).unwrap();
    let network = Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap();
    let by_hand = Posterior::new(network, likelihood, &scaled, priors).unwrap();
    let q: Vec<f64> = (0..by_hand.dim()).map(|i| 0.3 * (i as f64).cos()).collect();
    let found = fit.posterior().log_density(&q, &mut fit.posterior().workspace());
    let expected = by_hand.log_density(&q, &mut by_hand.workspace());
    close(label, found.prior, expected.prior);
    close(label, found.likelihood, expected.likelihood);
}

/// Shares are not standardised.
#[test]
fn priors_of_shares_grades_and_extra_zeros_are_those_that_a_recipe_says() {
    let short = |recipe: Recipe| recipe.hidden(&[3]).chains(1).warmup(5).draws(2);
    let fan_in = || Priors::by_fan_in(&Mlp::new(&[2, 3, 1], Activation::Tanh).unwrap());
    let normal = |mean: f64, sd: f64| Normal::new(mean, sd).unwrap();
    let x = data(40).x().clone();

    let counts: Array1<f64> = (0..40).map(|i| f64::from((i * i % 23) as u8)).collect();
    let mean = ((counts.sum() + 0.5) / 40.0).ln();
    let counts = Dataset::counts(x.clone(), counts).unwrap();
    let fit = short(Fit::counts("y").noise(Noise::ZeroInflatedNegativeBinomial)).fit(&counts);
    let priors = fan_in()
        .with("log_dispersion", normal(1.0, 1.5))
        .with("logit_extra_zeros", normal(0.0, 1.5))
        .with("b1", normal(mean, 1.0));
    let likelihood = ZeroInflated::negative_binomial();
    compare_priors("zeros", &fit.unwrap(), likelihood, priors);
    let fit = short(Fit::counts("y").noise(Noise::ZeroInflatedPoisson)).fit(&counts).unwrap();
    let priors = fan_in().with("logit_extra_zeros", normal(0.0, 1.5)).with("b1", normal(mean, 1.0));
    compare_priors("zeros", &fit, ZeroInflated::poisson(), priors);

    for noise in [Noise::HurdlePoisson, Noise::HurdleNegativeBinomial] {
        let fit = short(Fit::counts("y").noise(noise)).fit(&counts).unwrap();
        let priors = fan_in().with("logit_zeros", normal(0.0, 1.5)).with("b1", normal(mean, 1.0));
        match noise {
            Noise::HurdlePoisson => compare_priors("hurdle", &fit, Hurdle::poisson(), priors),
            _ => {
                let priors = priors.with("log_dispersion", normal(1.0, 1.5));
                compare_priors("hurdle", &fit, Hurdle::negative_binomial(), priors);
            }
        }
    }

    let shares: Array1<f64> = (0..40).map(|i| f64::from((i % 19 + 1) as u8) / 200.0).collect();
    let mean = shares.mean().unwrap();
    let logit = (mean / (1.0 - mean)).ln();
    let shares = Dataset::regression(x.clone(), shares).unwrap();
    let fit = short(Fit::regression("y").noise(Noise::Beta)).fit(&shares).unwrap();
    let priors = fan_in().with("log_precision", normal(2.5, 1.5)).with("b1", normal(logit, 1.0));
    compare_priors("shares", &fit, Beta, priors);
    assert!(fit.response_scaler().is_none());

    let grades = (0..40).map(|i| i % 5).collect();
    let names = ["1", "2", "3", "4", "5"];
    let grades = Dataset::classification(x, grades, names).unwrap();
    let fit = short(Fit::classification("y").noise(Noise::Ordinal)).fit(&grades).unwrap();
    // The cutpoints of five classes of one size are logit(k/5): the last is log 4, the first -log 4.
    let increment = (2.0 * 4f64.ln() / 3.0).ln();
    let priors = fan_in().with("log_increments", normal(increment, 1.0));
    let likelihood = Ordinal::new(5).unwrap().with_first_cutpoint(0.0).unwrap();
    compare_priors("grades", &fit, likelihood, priors.with("b1", normal(4f64.ln(), 1.5)));
}

#[test]
fn values_outside_the_range_are_told_on_both_sides() {
    let x = array![[0.0, 10.0], [1.0, 20.0], [3.0, 15.0], [2.0, 12.0]];
    let data = Dataset::regression(x, array![1.0, 2.0, 4.0, 3.0]).unwrap();
    let fit = recipe().warmup(5).draws(2).fit(&data).unwrap();
    // Both ends belong to the range.
    let new = array![[0.0, 20.0], [-0.5, 10.0], [3.0, 9.0], [3.5, 21.0]];
    let outside = fit.predict_new(new.view()).unwrap().outside;
    let found: Vec<_> =
        outside.iter().map(|o| (o.row, o.range.feature.as_str(), o.value)).collect();
    assert_eq!(found, [(1, "x1", -0.5), (2, "x2", 9.0), (3, "x1", 3.5), (3, "x2", 21.0)]);
}

#[test]
fn judged_rows_are_spread_over_all_training_rows() {
    let fit = recipe().hidden(&[]).warmup(5).draws(4).fit(&data(501)).unwrap();
    let rows = fit.judged_rows();
    assert_eq!((rows.len(), rows[0]), (200, 0));
    assert!(rows.windows(2).all(|pair| (2..=3).contains(&(pair[1] - pair[0]))), "{rows:?}");
    assert!(rows[199] >= 498, "{rows:?}");
    assert_eq!(fit.judged().unwrap().mean().dim(), (2, 4, 200, 1));
    let few = recipe().hidden(&[]).warmup(5).draws(4).fit(&data(7)).unwrap();
    assert_eq!(few.judged_rows(), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn classes_keep_their_shares_among_validation_rows() {
    let x = data(60).x().clone();
    let class = (0..60).map(|i| usize::from(i % 6 == 0)).collect();
    let data = Dataset::classification(x, class, ["many", "few"]).unwrap();
    let short = |seed| {
        let recipe = Fit::classification("class").hidden(&[2]).chains(1).warmup(5).draws(2);
        recipe.validation(0.2).seed(seed).fit(&data).unwrap()
    };
    for seed in 0..4 {
        let fit = short(seed);
        let sizes = |rows: &Dataset| rows.response().class_sizes().unwrap();
        assert_eq!(sizes(fit.validation().unwrap()), [10, 2], "seed {seed}");
        assert_eq!(sizes(fit.training()), [40, 8]);
    }
    assert!(short(0).validation() != short(1).validation());
}
