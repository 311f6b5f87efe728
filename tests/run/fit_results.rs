//! What is made of a fit: files for ArviZ in own units, leave-one-out, more draws, tables wider than the training file.

use std::fs;
use std::path::Path;

use bnn_mcmc::fit::{Fit, Method, Noise, Recipe, WeightPrior};
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::HessTarget;
use ndarray::{Array1, Array2, array};

/// strength = 500 + 100 age + 20 z, in 30 rows.
fn data() -> Dataset {
    let mut rng = ChainRng::new(5, 0);
    let x = Array2::from_shape_simple_fn((30, 2), || rng.normal());
    let y: Array1<f64> =
        x.rows().into_iter().map(|r| 500.0 + 100.0 * r[0] + 20.0 * rng.normal()).collect();
    let data = Dataset::regression(x, y).unwrap().with_feature_names(["age", "water"]).unwrap();
    data.with_response_names(["strength"]).unwrap()
}

fn recipe() -> Recipe {
    Fit::regression("strength").hidden(&[2]).chains(2).warmup(100).draws(40).seed(3)
}

fn floats(path: &Path) -> Vec<f64> {
    let bytes = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
}

fn message<T>(result: Result<T, Error>) -> String {
    result.map(|_| ()).unwrap_err().to_string()
}

#[test]
fn zarr_is_in_the_units_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.zarr");
    let fit = recipe().validation(0.2).fit(&data()).unwrap();
    fit.to_zarr(&path).unwrap();
    let train = fit.training();
    assert_eq!((train.rows(), fit.data().rows()), (24, 30));
    assert_eq!(Draws::from_zarr(&path).unwrap(), *fit.draws());

    let predictions = fit.predict(train).unwrap();
    let density = predictions.log_density().unwrap();
    let scaler = &fit.response_scaler().unwrap().columns()[0];
    for chain in 0..2 {
        let chunk = |group: &str| floats(&path.join(format!("{group}/strength/c/{chain}/0/0")));
        let drawn = predictions.predictive_draws();
        let drawn = drawn.index_axis(ndarray::Axis(0), chain);
        let written = chunk("posterior_predictive");
        assert_eq!(written, drawn.iter().copied().collect::<Vec<_>>());
        let mean = written.iter().sum::<f64>() / written.len() as f64;
        assert!((400.0..600.0).contains(&mean), "{mean}");

        let written = Array2::from_shape_vec((40, 24), chunk("log_likelihood")).unwrap();
        assert_eq!(written, density.index_axis(ndarray::Axis(0), chain));
        // By the normal density of the response in its own units.
        for (draw, row) in [(0, 0), (7, 20), (39, 23)] {
            let eta = fit.draws().block("log_noise_variance").unwrap()[[chain, draw, 0]];
            let sd = scaler.scale * (0.5 * eta).exp();
            let z =
                (train.real().unwrap()[[row, 0]] - predictions.mean()[[chain, draw, row, 0]]) / sd;
            let expected = -0.5 * z * z - sd.ln() - 0.5 * std::f64::consts::TAU.ln();
            assert!((written[[draw, row]] - expected).abs() < 1e-9, "{expected}");
        }
    }
    let observed = floats(&path.join("observed_data/strength/c/0"));
    assert_eq!(observed, train.real().unwrap().iter().copied().collect::<Vec<_>>());
    let x = floats(&path.join("constant_data/x/c/0/0"));
    assert_eq!(x, train.x().iter().copied().collect::<Vec<_>>());
    assert!(fit.to_zarr(&path).unwrap_err().is_io());
}

#[test]
fn leave_one_out_is_in_own_units_and_compares_fits_of_the_same_rows() {
    let data = data();
    let fit = recipe().validation(0.2).fit(&data).unwrap();
    let loo = fit.loo().unwrap();
    let density = fit.predict(fit.training()).unwrap();
    let by_hand = Loo::from_log_likelihood(density.log_density().unwrap(), None).unwrap();
    for (a, b) in [
        (loo.elpd, by_hand.elpd),
        (loo.se, by_hand.se),
        (loo.p_loo, by_hand.p_loo),
        (loo.rows[5].elpd, by_hand.rows[5].elpd),
        (loo.rows[5].k, by_hand.rows[5].k),
    ] {
        assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()), "{a} {b}");
    }
    // The scaled response's is larger by the log of its scale for each row.
    let scaled = fit.posterior().loo(fit.draws()).unwrap();
    let scale = fit.response_scaler().unwrap().columns()[0].scale;
    assert!((scaled.elpd - loo.elpd - 24.0 * scale.ln()).abs() < 1e-9);

    let line = recipe().hidden(&[]).validation(0.2).fit(&data).unwrap().loo().unwrap();
    let compared = Loo::compare(&[("network", &loo), ("line", &line)]).unwrap();
    assert_eq!(compared.rows, 24);
    // Other rows, as many others, another response, the scaled response.
    let all = recipe().fit(&data).unwrap().loo().unwrap();
    let error = message(Loo::compare(&[("network", &loo), ("all rows", &all)]));
    assert!(
        error.contains("`rows of `all rows``") || error.contains("rows of `all rows`"),
        "{error}"
    );
    let others = recipe().validation(0.2).seed(4).fit(&data).unwrap().loo().unwrap();
    let doubled = data.real().unwrap() * 2.0;
    let doubled = Dataset::regression(data.x().clone(), doubled).unwrap();
    let doubled = recipe().validation(0.2).fit(&doubled).unwrap().loo().unwrap();
    for (name, other) in [("others", &others), ("doubled", &doubled), ("scaled", &scaled)] {
        let error = message(Loo::compare(&[("network", &loo), (name, other)]));
        assert!(error.contains(&format!("response of `{name}`")), "{error}");
        assert!(error.contains("as of `network`"), "{error}");
    }
    let error = message(scaled.unscaled(fit.response_scaler().unwrap(), fit.validation().unwrap()));
    assert!(error.contains("of 6 rows, expected the one of this LOO, of 24 rows"), "{error}");
    let error = message(others.unscaled(fit.response_scaler().unwrap(), fit.training()));
    assert!(error.contains("response of the training data, scaled"), "{error}");

    // Of classes there is nothing to scale.
    let class = data.x().column(0).iter().map(|x| usize::from(*x > 0.0)).collect();
    let classes = Dataset::classification(data.x().clone(), class, ["young", "old"]).unwrap();
    let fit = Fit::classification("class").hidden(&[2]).chains(2).warmup(50).draws(40);
    let fit = fit.fit(&classes).unwrap();
    assert_eq!(fit.loo().unwrap(), fit.posterior().loo(fit.draws()).unwrap());
}

#[test]
fn the_target_of_acceptance_reaches_every_sampler() {
    let by = |method: Method, target: Option<f64>| {
        let recipe = recipe().chains(6).warmup(300).draws(200).method(method);
        let recipe = target.into_iter().fold(recipe, |recipe, a| recipe.target_accept(a));
        let fit = recipe.clone().fit(&data());
        (recipe.to_string(), fit)
    };
    for (method, usual) in [(Method::Nuts, 0.8), (Method::Collapsed, 0.9), (Method::Tempered, 0.8)]
    {
        let (words, usually) = by(method, None);
        assert!(words.contains(&format!("an acceptance of {usual}")), "{words}");
        let (words, often) = by(method, Some(0.98));
        assert!(words.contains("an acceptance of 0.98"), "{words}");
        let rate = |fit: &Fit| match LadderReport::of(fit.draws()) {
            // Of the rung at the posterior.
            Ok(ladder) => ladder[0].accept_prob[ladder[0].betas.len() - 1],
            Err(_) => fit.draws().stat("accept_prob").unwrap().mean().unwrap(),
        };
        let (usually, often) = (rate(&usually.unwrap()), rate(&often.unwrap()));
        assert!(often > usually + 0.03, "{method:?}: {usually} {often}");
        assert!(message(by(method, Some(1.0)).1).contains("target_accept"));
    }
    // A recipe without it is written as before.
    let json = serde_json::to_string(&recipe()).unwrap();
    assert!(!json.contains("target_accept"), "{json}");
}

#[test]
fn a_thinned_fit_predicts_by_its_draws_and_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let fit = recipe().fit(&data()).unwrap();
    let thinned = fit.thinned(4).unwrap();
    let (all, few) = (fit.predict(&data()).unwrap(), thinned.predict(&data()).unwrap());
    assert_eq!(few.mean(), all.mean().slice(ndarray::s![.., 3..;4, .., ..]));
    assert!(message(fit.thinned(41)).contains("1 to 40 draws"));
    assert!(message(thinned.save(folder.path().join("run"))).contains("thinned"));
    fit.save(folder.path().join("run")).unwrap();

    // What a verdict is passed on.
    let judged = fit.judged().unwrap();
    assert_eq!(fit.judged_rows(), (0..30).collect::<Vec<_>>());
    assert_eq!(judged.verdict().unwrap(), fit.verdict().unwrap());
    let scaler = fit.response_scaler().unwrap();
    let own = judged.unscaled(scaler).unwrap().posterior_mean().unwrap();
    approx::assert_relative_eq!(own, all.posterior_mean().unwrap(), max_relative = 1e-12);

    // Of scaled responses, as PIT is the same in all units.
    let scaled = fit.feature_scaler().scale_features(&data()).unwrap();
    let scaled = scaler.scale_response(&scaled).unwrap();
    let pit = fit.posterior().loo_pit(fit.draws(), &scaled, 7).unwrap();
    assert_eq!(fit.loo_pit(7).unwrap(), pit);
}

#[test]
fn a_finished_run_goes_on_with_more_draws() {
    let folder = tempfile::tempdir().unwrap();
    let (run, data) = (folder.path().join("run"), data());
    let with = |draws: usize| recipe().draws(draws).in_folder(&run);
    let whole = recipe().draws(70).fit(&data).unwrap();
    with(30).fit(&data).unwrap();
    // A run that cannot be: the fit stays.
    assert!(with(usize::MAX / 64).fit(&data).is_err());
    assert_eq!(Fit::load(&run).unwrap().draws().n_draws(), 30);
    let more = with(70).fit(&data).unwrap();
    assert_eq!(more.draws().values(), whole.draws().values());
    let errors = |fit: &Fit| fit.draws().stat("energy_error").unwrap().to_owned();
    assert_eq!(errors(&more), errors(&whole));
    assert_eq!(Fit::load(&run).unwrap().draws().values(), whole.draws().values());
    assert_eq!(Fit::load(&run).unwrap().recipe().to_string(), recipe().draws(70).to_string());

    // Fewer draws, and another setting with more draws.
    let error = message(with(30).fit(&data));
    assert!(error.contains("`recipe.draws` is 70, not 30"), "{error}");
    let error = message(with(90).warmup(50).fit(&data));
    assert!(error.contains("`recipe.warmup` is 100, not 50"), "{error}");
    // Stopped at once, it goes on later, and holds the fit of before until then.
    let stop = StopHandle::new();
    stop.stop();
    let part = with(90).stop_handle(&stop).fit(&data).unwrap();
    assert!(part.draws().info().stopped_early && part.draws().n_draws() >= 70);
    assert_eq!(Fit::load(&run).unwrap().draws().values(), whole.draws().values());
    assert_eq!(with(70).fit(&data).unwrap().draws().values(), whole.draws().values());
    assert_eq!(with(90).fit(&data).unwrap().draws().n_draws(), 90);

    for name in ["checkpoint", "checkpoint.draws"] {
        fs::remove_file(run.join(name)).unwrap();
    }
    let error = message(with(100).fit(&data));
    assert!(error.contains("from its `checkpoint`, which is not there"), "{error}");
    assert_eq!(with(90).fit(&data).unwrap().draws().n_draws(), 90);
}

#[test]
fn a_horseshoe_is_fitted_saved_and_loaded() {
    let folder = tempfile::tempdir().unwrap();
    for hidden in [&[3][..], &[]] {
        let fit = recipe().weights(WeightPrior::Horseshoe).hidden(hidden).fit(&data()).unwrap();
        let blocks = fit.draws().layout().block_names();
        assert!(blocks.ends_with(&["log_relevance".into(), "log_scale".into()]), "{blocks:?}");
        // The first feature matters, the second does not.
        let relevance = fit.draws().block("log_relevance").unwrap();
        let mean =
            relevance.mean_axis(ndarray::Axis(0)).unwrap().mean_axis(ndarray::Axis(0)).unwrap();
        assert!(mean[0] > mean[1] + 1.0, "{mean}");
        let path = folder.path().join(hidden.len().to_string());
        fit.save(&path).unwrap();
        assert_eq!(Fit::load(&path).unwrap().draws(), fit.draws());
    }
}

#[test]
fn a_wider_file_is_read_and_says_what_was_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    // A byte-order mark before the first name.
    let train = file("train.csv", "\u{FEFF}age,strength\n1,2\n2,3\n3,5\n4,4\n");
    let fit = recipe().read_csv(&train).unwrap();
    assert_eq!(fit.data().feature_names(), ["age"]);
    let narrow = fit.predict_csv(file("narrow.csv", "age\n2\n3\n")).unwrap();
    let wide = file("wide.csv", "\u{FEFF}plant,strength,age,note\nA,?,2,\nB,x,3,NA\n");
    let wide = fit.predict_csv(wide).unwrap();
    assert_eq!(wide.unused, ["plant", "note"]);
    assert_eq!(wide.predictions.mean(), narrow.predictions.mean());
    let text = wide.to_string();
    assert!(text.contains("2 rows predicted; column `plant` and 1 more not used"), "{text}");
    assert!(narrow.unused.is_empty() && !narrow.to_string().contains("not used"));
    let error = message(fit.read(file("scored.csv", "age,strength,plant\n1,2,A\n2,3,B\n")));
    assert!(error.contains("column `plant` is not in the training file: leave it out"), "{error}");
    let error = message(fit.predict_csv(file("none.csv", "plant\nA\n")));
    assert!(error.contains("`age`"), "{error}");

    // A name with a mark in it, in a data set that was made by hand, is saved and loaded.
    let odd = Dataset::regression(array![[1.0], [2.0], [4.0]], array![1.0, 3.0, 2.0]).unwrap();
    let odd = odd.with_feature_names(["\u{FEFF}age"]).unwrap();
    let fit = recipe().fit(&odd).unwrap();
    fit.save(folder.path().join("odd")).unwrap();
    let loaded = Fit::load(folder.path().join("odd")).unwrap();
    assert_eq!(loaded.data(), fit.data());
}

#[test]
fn what_a_killed_save_leaves_is_removed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let fit = recipe().fit(&data()).unwrap();
    let saved = folder.path().join("saved");
    let left = saved.join(".draws.zarr.4711-0.tmp");
    fs::create_dir_all(left.join("posterior")).unwrap();
    fs::write(left.join("posterior/zarr.json"), "{}").unwrap();
    fs::write(saved.join("verdict.txt.tmp"), "conv").unwrap();
    fs::write(saved.join(".bnn-mcmc.lock"), "").unwrap();
    fit.save(&saved).unwrap();
    let mut names: Vec<_> = fs::read_dir(&saved)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["data.csv", "draws.zarr", "fit.json", "verdict.txt"]);
    assert!(Fit::load(&saved).is_ok());
    // What is not ours stays.
    let theirs = folder.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join(".draws.tmp"), "").unwrap();
    assert!(message(fit.save(&theirs)).contains("it is not empty: there is `.draws.tmp`"));
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 1);
}

#[test]
fn a_share_that_keeps_no_row_is_named_as_it_was_given() {
    for share in [0.001, 0.999] {
        let error = message(recipe().validation(share).fit(&data()));
        assert!(error.contains(&format!("`validation` is {share}")), "{error}");
        assert!(error.contains("such a share of 30 rows that some are kept"), "{error}");
    }
}

#[test]
fn a_recipe_says_what_it_stands_for() {
    let text = recipe().validation(0.25).in_folder("run").to_string();
    for part in [
        "response    `strength`, real\n",
        "validation  a share of 0.25 of the rows",
        "network     one hidden layer of 2 units, tanh\n",
        "weights     N(0, 1/2) into the outputs, N(0, 1) for the rest\n",
        "tau^2 ~ inverse gamma of shape 0.5 and scale 0.005\n",
        "starts      N(0, 0.1^2)\n",
        "output layer integrated out, Mams",
        "2 chains of 100 iterations of warm-up and 40 draws, seed 3\n",
        "folder      run\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = Fit::counts(3).hidden(&[]).weights(WeightPrior::Horseshoe).to_string();
    for part in [
        "response    column [3], counted from 0, counts\n",
        "lambda_j ~ C+(0, 1), tau ~ C+(0, 1)",
        "N(log of the mean count, 1) for the output's bias",
        "negative binomial",
        "log dispersion ~ N(1, 1.5^2)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// What is chosen where nothing was said, and that a fit remembers what it was.
#[test]
fn network_and_method_are_chosen_by_the_noise() {
    let nuts = "sampler     Nuts";
    for (recipe, units, sampler) in [
        (
            Fit::regression("y"),
            "layer of 100 units",
            "sampler     output layer integrated out, Mams",
        ),
        (Fit::regression("y").method(Method::Nuts), "layer of 100 units", nuts),
        (Fit::regression("y").hidden(&[9, 501]), "layers of 9, 501 units", nuts),
        (
            Fit::regression("y").method(Method::Tempered),
            "layer of 100 units",
            "sampler     output layer integrated out, PowerPosteriors",
        ),
        (Fit::regression("y").hidden(&[]), "linear: no hidden layer", nuts),
        (
            Fit::regression("y").noise(Noise::Heteroscedastic),
            "layer of 40 units",
            "sampler     output weights of the mean integrated out, Mams",
        ),
        (Fit::regression(["y", "z"]).noise(Noise::Heteroscedastic), "layer of 40 units", nuts),
        (Fit::regression("y").noise(Noise::StudentT), "layer of 40 units", nuts),
        (Fit::classification("y"), "layer of 40 units", nuts),
        (Fit::counts("y"), "layer of 40 units", nuts),
    ] {
        let text = recipe.to_string();
        assert!(text.contains(units) && text.contains(sampler), "{text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    recipe().in_folder(&path).fit(&data()).unwrap();
    let written = fs::read_to_string(path.join("fit.json")).unwrap();
    assert!(written.replace(' ', "").contains("\"method\":\"collapsed\""), "{written}");
    // What was chosen is written down, too.
    let default = folder.path().join("default");
    let short = Fit::regression("strength").chains(1).warmup(2).draws(4);
    let fit = short.in_folder(&default).fit(&data()).unwrap();
    assert_eq!(fit.draws().info().algorithm.as_deref(), Some("Collapsed(Mams)"));
    let written = fs::read_to_string(default.join("fit.json")).unwrap();
    let written: String = written.split_whitespace().collect();
    assert!(written.contains("\"hidden\":[100]"), "{written}");
    assert_eq!(Fit::load(&default).unwrap().draws(), fit.draws());
    // The same by name is the same fit; another method is not.
    recipe().method(Method::Collapsed).in_folder(&path).fit(&data()).unwrap();
    let error = message(recipe().method(Method::Nuts).in_folder(&path).fit(&data()));
    assert!(error.contains("`recipe.method`"), "{error}");
    // Two responses, each with a noise of its own, are sampled whole.
    let two = Array2::from_shape_fn((30, 2), |(i, k)| f64::from((i * (k + 2) % 7) as u8));
    let two = Dataset::regression(data().x().clone(), two).unwrap();
    let fit = recipe().noise(Noise::Heteroscedastic).fit(&two).unwrap();
    assert_eq!(fit.draws().info().algorithm.as_deref(), Some("Nuts"));
}

/// Second derivatives by differences of gradients, for each likelihood that a recipe can ask for.
#[test]
fn fits_have_second_derivatives() {
    let counts = data().x().map(|x| (3.0 * x).exp().min(20.0).floor());
    let counts = Dataset::counts(data().x().clone(), counts.column(0).to_owned()).unwrap();
    let class = |k: usize| {
        let class = (0..30).map(|i| i % k).collect();
        Dataset::classification(data().x().clone(), class, (0..k).map(|c| format!("{c}"))).unwrap()
    };
    let short = |recipe: Recipe| recipe.hidden(&[2]).chains(1).warmup(20).draws(2);
    for (recipe, data) in [
        (recipe(), data()),
        (recipe().noise(Noise::Heteroscedastic), data()),
        (recipe().noise(Noise::StudentT), data()),
        (Fit::counts("y"), counts.clone()),
        (Fit::counts("y").noise(Noise::Poisson), counts),
        (Fit::classification("y"), class(2)),
        (Fit::classification("y"), class(3)),
    ] {
        let fit = short(recipe).fit(&data).unwrap();
        let posterior = fit.posterior();
        let d = posterior.layout().dim();
        let (mut ws, mut hessian) = (posterior.workspace(), vec![0.0; d * d]);
        let q: Vec<f64> = (0..d).map(|i| 0.3 * (i as f64 + 1.0).sin()).collect();
        posterior.neg_hessian_at(1.0, &q, &mut hessian, &mut ws);
        let mut gradient = |q: &[f64]| {
            let mut grad = vec![0.0; d];
            posterior.log_density_grad(q, &mut grad, &mut ws);
            grad
        };
        for j in 0..d {
            let step = |by: f64| {
                let mut moved = q.clone();
                moved[j] += by;
                moved
            };
            let (up, down) = (gradient(&step(1e-5)), gradient(&step(-1e-5)));
            for i in 0..d {
                let expected = -(up[i] - down[i]) / 2e-5;
                let found = hessian[i * d + j];
                assert!(
                    (found - expected).abs() < 1e-4 * (1.0 + expected.abs()),
                    "{found} {expected}"
                );
            }
        }
    }
}

#[test]
fn predictions_of_two_fits_have_noise_in_common_unless_it_is_reseeded() {
    let data = data();
    let [a, b] = [recipe(), recipe().hidden(&[])].map(|recipe| recipe.fit(&data).unwrap());
    let noise = |fit: &Fit, seed: u64| {
        let scaler = fit.response_scaler().unwrap();
        let scaled = fit.feature_scaler().scale_features(&data).unwrap();
        let scaled = scaler.scale_response(&scaled).unwrap();
        let p = fit.posterior().predict_seeded(fit.draws(), &scaled, seed).unwrap();
        let mut noise = &p.predictive_draws() - &p.mean();
        let eta = fit.draws().block("log_noise_variance").unwrap();
        for ((chain, draw, ..), value) in noise.indexed_iter_mut() {
            *value /= (0.5 * eta[[chain, draw, 0]]).exp();
        }
        noise
    };
    let same = &noise(&a, 3) - &noise(&b, 3);
    assert!(same.iter().all(|d| d.abs() < 1e-9));
    let other = &noise(&a, 3) - &noise(&b, 4);
    assert!(other.iter().all(|d| d.abs() > 1e-9));
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn damage_anywhere_is_noticed_or_does_no_harm() {
    // In memory: what is rebuilt is flushed to the disk, file by file.
    let folder = crate::checkpoint_faults::faulty_folder();
    let run = folder.path().join("run");
    let recipe = recipe().warmup(10).draws(5).in_folder(&run);
    let (data, mut refused, mut rebuilt) = (data(), 0, 0);
    let names = || fs::read_dir(&run).unwrap().count();
    let all = (recipe.fit(&data).unwrap(), names()).1;
    let draws = recipe.fit(&data).unwrap().draws().clone();
    for file in files(&run) {
        let bytes = fs::read(&file).unwrap();
        let mut flipped = bytes.clone();
        flipped[bytes.len() / 2] ^= 4;
        for damaged in [Some(&bytes[..bytes.len() / 2]), Some(&flipped), Some(&[]), None] {
            match damaged {
                Some(bytes) => fs::write(&file, bytes).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
            match Fit::load(&run) {
                // A rebuilt folder holds other seconds.
                Ok(fit) => assert_eq!(fit.draws().values(), draws.values(), "{}", file.display()),
                Err(_) => refused += 1,
            }
            // The same call rebuilds the fit, from the checkpoint and the rows, and says so.
            let place = file.display();
            let is_checkpoint =
                file.parent() == Some(&*run) && place.to_string().contains("/checkpoint");
            match recipe.fit(&data) {
                Ok(fit) => {
                    assert!(fit.save_error().is_none(), "{place}");
                    assert_eq!(fit.draws().values(), draws.values(), "{place}");
                    rebuilt += usize::from(!fit.rebuilt().is_empty());
                }
                Err(error) => panic!("{place}: {error}"),
            }
            if !is_checkpoint {
                assert_eq!(Fit::load(&run).unwrap().draws().values(), draws.values(), "{place}");
                assert_eq!(recipe.fit(&data).unwrap().rebuilt(), [""; 0], "{place}");
                assert_eq!(names(), all, "{place}");
                let holds_seconds = file.ends_with("draws.zarr/zarr.json");
                assert!(holds_seconds || fs::read(&file).unwrap() == bytes, "{place}");
            }
            fs::write(&file, &bytes).unwrap();
        }
    }
    assert!(refused > 100 && rebuilt >= refused, "{refused} {rebuilt}");
}

#[test]
fn damage_without_a_checkpoint_is_named_with_what_can_be_done() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let recipe = recipe().warmup(10).draws(5).in_folder(&run);
    let draws = recipe.fit(&data()).unwrap().draws().values().to_owned();
    let chunk = run.join("draws.zarr/posterior/w0/c/0/0/0/0");
    let bytes = fs::read(&chunk).unwrap();
    fs::write(&chunk, &bytes[1..]).unwrap();
    let with = message(Fit::load(&run));
    assert!(
        with.contains("begin it again in the same way, which rebuilds it from the checkpoint"),
        "{with}"
    );
    // The checkpoint is damaged, too: what is wrong with both is said, and nothing is touched.
    let head = fs::read(run.join("checkpoint")).unwrap();
    fs::write(run.join("checkpoint"), &head[..40]).unwrap();
    let both = message(recipe.fit(&data()));
    assert!(both.contains("bytes, but must have") && both.contains("truncated"), "{both}");
    assert_eq!(fs::read(&chunk).unwrap(), &bytes[1..]);
    for name in ["checkpoint", "checkpoint.draws"] {
        fs::remove_file(run.join(name)).unwrap();
    }
    for without in [message(Fit::load(&run)), message(recipe.fit(&data()))] {
        let n = bytes.len();
        let found = format!("w0/c/0/0/0/0: it has {} bytes, but must have {n}", n - 1);
        assert!(without.contains(&found), "{without}");
        let advice =
            "no checkpoint is left to rebuild it from: take it from a copy, or delete the folder";
        assert!(without.contains(advice), "{without}");
    }
    // What does not need the checkpoint is rebuilt without it.
    fs::write(&chunk, &bytes).unwrap();
    fs::remove_file(run.join("verdict.txt")).unwrap();
    fs::write(run.join("data.csv"), "x").unwrap();
    let fit = recipe.fit(&data()).unwrap();
    assert_eq!(fit.rebuilt().len(), 2, "{:?}", fit.rebuilt());
    assert_eq!(Fit::load(&run).unwrap().draws().values(), draws);
    // Of a merged fit it is the parts that it is rebuilt from.
    let whole = folder.path().join("whole");
    for chain in 0..2 {
        let part = recipe.clone().in_folder(&whole).only_chains(chain..chain + 1);
        part.fit(&data()).unwrap();
    }
    Fit::merge(&whole).unwrap();
    fs::remove_file(whole.join("draws.zarr/zarr.json")).unwrap();
    let error = message(Fit::load(&whole));
    assert!(error.contains("merge the parts again, which rebuilds it"), "{error}");
    let merged = Fit::merge(&whole).unwrap();
    assert!(merged.rebuilt()[0].ends_with("rebuilt from the parts"), "{:?}", merged.rebuilt());
    assert_eq!(Fit::load(&whole).unwrap().draws().values(), draws);
}

#[test]
fn locks_leave_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let has_lock = || run.join(".bnn-mcmc.lock").exists();
    let stop = StopHandle::new();
    stop.stop();
    // Stopped, refused by the sampler, finished, refused for want of a checkpoint.
    assert!(recipe().stop_handle(&stop).in_folder(&run).fit(&data()).is_ok() && !has_lock());
    assert!(recipe().draws(usize::MAX / 64).in_folder(&run).fit(&data()).is_err() && !has_lock());
    assert!(recipe().in_folder(&run).fit(&data()).is_ok() && !has_lock());
    fs::rename(run.join("checkpoint"), folder.path().join("checkpoint")).unwrap();
    assert!(recipe().draws(50).in_folder(&run).fit(&data()).is_err() && !has_lock());
    // One that a killed process has left is removed by the call that loads the fit.
    fs::write(run.join(".bnn-mcmc.lock"), "").unwrap();
    assert!(recipe().in_folder(&run).fit(&data()).is_ok() && !has_lock());
}

#[test]
fn what_cannot_be_fitted_is_refused_before_it_is_made() {
    // A network of some petabytes.
    let error = message(recipe().hidden(&[1 << 24, 1 << 24]).fit(&data()));
    assert!(error.contains("dim of the target"), "{error}");
    let rows = |n: usize| data().select(&(0..n).collect::<Vec<_>>()).unwrap();
    assert!(
        message(recipe().fit(&rows(1))).contains("training rows: found 1, expected at least 2")
    );
    assert!(message(recipe().validation(0.7).fit(&rows(3))).contains("training rows: found 1"));
    let flat = Dataset::regression(data().x().clone(), Array1::from_elem(30, 7.0)).unwrap();
    let error = message(recipe().fit(&flat));
    assert!(error.contains("constant (7) over all 30 rows: there is nothing to learn"), "{error}");
    let error = message(recipe().fit(&data()).unwrap().predict_new(array![[1.0]].view()));
    assert_eq!(error, "number of features of the new rows: found 1, expected 2");
}
