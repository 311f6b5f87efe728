//! What is made of a fit: files for ArviZ in own units, leave-one-out, more draws, tables wider than the training file.

use std::fs;
use std::path::Path;

use bnn_mcmc::fit::{Candidate, Fit, Method, Noise, Recipe, WeightPrior};
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::HessTarget;
use ndarray::{Array1, Array2, array, s};
use shared::{failed, refused, said};

use crate::fixtures::assert_other_fit;

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
    let compared = Loo::compare(&[("network", &loo), ("all rows", &all)]);
    refused!(compared, Shape { what: "rows of `all rows`" });
    let others = recipe().validation(0.2).seed(4).fit(&data).unwrap().loo().unwrap();
    let doubled = data.real().unwrap() * 2.0;
    let doubled = Dataset::regression(data.x().clone(), doubled).unwrap();
    let doubled = recipe().validation(0.2).fit(&doubled).unwrap().loo().unwrap();
    for (name, other) in [("others", &others), ("doubled", &doubled), ("scaled", &scaled)] {
        let compared = Loo::compare(&[("network", &loo), (name, other)]);
        // The words hold checksums.
        failed!(compared, Shape { what: format!("response of `{name}`") });
    }
    let what = "response of the training data, scaled";
    let scaler = fit.response_scaler().unwrap();
    refused!(scaled.unscaled(scaler, fit.validation().unwrap()), Shape { what: what });
    refused!(others.unscaled(scaler, fit.training()), Shape { what: what });

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
        said!(format!("{method:?}, {target:?}: {recipe}"));
        recipe.fit(&data())
    };
    for method in [Method::Nuts, Method::Collapsed, Method::Tempered] {
        let (usually, often) = (by(method, None), by(method, Some(0.98)));
        let rate = |fit: &Fit| match LadderReport::of(fit.draws()) {
            // Of the rung at the posterior.
            Ok(ladder) => ladder[0].accept_prob[ladder[0].betas.len() - 1],
            Err(_) => fit.draws().stat("accept_prob").unwrap().mean().unwrap(),
        };
        let (usually, often) = (rate(&usually.unwrap()), rate(&often.unwrap()));
        assert!(often > usually + 0.03, "{method:?}: {usually} {often}");
        refused!(by(method, Some(1.0)), Argument { name: "target_accept", value: 1 });
    }
    // A recipe without it is written as before.
    let json = serde_json::to_value(recipe()).unwrap();
    assert!(json.get("target_accept").is_none() && json.get("draws").is_some(), "{json}");
}

#[test]
fn a_thinned_fit_predicts_by_its_draws_and_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let fit = recipe().fit(&data()).unwrap();
    let thinned = fit.thinned(4).unwrap();
    let (all, few) = (fit.predict(&data()).unwrap(), thinned.predict(&data()).unwrap());
    assert_eq!(few.mean(), all.mean().slice(ndarray::s![.., 3..;4, .., ..]));
    refused!(fit.thinned(41), Argument { value: 41 });
    refused!(thinned.save(folder.path().join("run")), Argument { name: "fit", value: "thinned" });
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
    assert_other_fit(with(30).fit(&data), "recipe.draws", ["70", "30"]);
    assert_other_fit(with(90).warmup(50).fit(&data), "recipe.warmup", ["100", "50"]);
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
    refused!(with(100).fit(&data), Table {});
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
    said!(wide);
    assert!(narrow.unused.is_empty());
    said!(narrow);
    let scored = file("scored.csv", "age,strength,plant\n1,2,A\n2,3,B\n");
    refused!(fit.read(scored), Table {});
    refused!(fit.predict_csv(file("none.csv", "plant\nA\n")), UnknownName { name: "age" });

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
    refused!(fit.save(&theirs), Table {});
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 1);
}

#[test]
fn a_share_that_keeps_no_row_is_named_as_it_was_given() {
    for share in [0.001, 0.999] {
        let fit = recipe().validation(share).fit(&data());
        refused!(fit, Argument { name: "validation", value: share });
    }
}

#[test]
fn a_recipe_says_what_it_stands_for() {
    said!(recipe().validation(0.25).in_folder("run"));
    said!(Fit::counts(3).hidden(&[]).weights(WeightPrior::Horseshoe));
}

/// What is chosen where nothing was said, and that a fit remembers what it was.
#[test]
fn network_and_method_are_chosen_by_the_noise() {
    // Their words name units and sampler.
    let given = |recipe: Recipe| recipe.skip(false);
    for recipe in [
        given(Fit::regression("y")),
        Fit::regression("y").method(Method::Nuts),
        Fit::regression("y").hidden(&[9, 501]),
        Fit::regression("y").method(Method::Tempered),
        Fit::regression("y").hidden(&[]),
        given(Fit::regression("y").noise(Noise::Heteroscedastic)),
        given(Fit::regression(["y", "z"]).noise(Noise::Heteroscedastic)),
        given(Fit::regression("y").noise(Noise::StudentT)),
        given(Fit::classification("y")),
        given(Fit::counts("y")),
        Fit::counts("y").method(Method::Mams),
        // By name.
        Fit::regression("y").model(Candidate::Linear),
        Fit::counts("y").model(Candidate::NetworkHurdle).hidden(&[7]),
        // Left to the data.
        Fit::regression("y"),
        Fit::counts("y").noise(Noise::Poisson).validation(0.2),
    ] {
        said!(recipe);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    recipe().in_folder(&path).fit(&data()).unwrap();
    let written = |folder: &Path| -> serde_json::Value {
        serde_json::from_slice(&fs::read(folder.join("fit.json")).unwrap()).unwrap()
    };
    assert_eq!(written(&path)["recipe"]["method"], "collapsed");
    // What was chosen is written down, too.
    let default = folder.path().join("default");
    let short = Fit::regression("strength").skip(false).chains(1).warmup(2).draws(4);
    let fit = short.in_folder(&default).fit(&data()).unwrap();
    assert_eq!(fit.draws().info().algorithm.as_deref(), Some("Collapsed(Mams)"));
    assert_eq!(written(&default)["recipe"]["hidden"], serde_json::json!([100]));
    assert_eq!(Fit::load(&default).unwrap().draws(), fit.draws());
    // The same by name is the same fit; another method is not.
    recipe().method(Method::Collapsed).in_folder(&path).fit(&data()).unwrap();
    let other = recipe().method(Method::Nuts).in_folder(&path).fit(&data());
    assert_other_fit(other, "recipe.method", ["\"collapsed\"", "\"nuts\""]);
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
        (recipe().noise(Noise::HeteroscedasticStudentT), data()),
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
            let name = file.file_name().unwrap().to_string_lossy();
            let is_checkpoint = file.parent() == Some(&*run) && name.starts_with("checkpoint");
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
    let problem = format!("it has {} bytes, but must have {}", bytes.len() - 1, bytes.len());
    refused!(Fit::load(&run), Table { problem: problem });
    // The checkpoint is damaged, too: what is wrong with both is said, and nothing is touched.
    let head = fs::read(run.join("checkpoint")).unwrap();
    fs::write(run.join("checkpoint"), &head[..40]).unwrap();
    let Error::Table { problem, .. } = failed!(recipe.fit(&data()), Table {}) else {
        unreachable!()
    };
    let has = |part: &str| problem.contains(part);
    assert!(has(" bytes, but must have ") && has("it is truncated or damaged: "), "{problem}");
    assert_eq!(fs::read(&chunk).unwrap(), &bytes[1..]);
    for name in ["checkpoint", "checkpoint.draws"] {
        fs::remove_file(run.join(name)).unwrap();
    }
    for without in [Fit::load(&run), recipe.fit(&data())] {
        refused!(without, Table {});
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
    refused!(Fit::load(&whole), Table {});
    let merged = Fit::merge(&whole).unwrap();
    said!(merged.rebuilt()[0]);
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
    let huge = recipe().hidden(&[1 << 24, 1 << 24]).fit(&data());
    failed!(huge, Memory { name: "dim of the target" });
    let rows = |n: usize| data().select(&(0..n).collect::<Vec<_>>()).unwrap();
    let what = "training rows";
    refused!(recipe().fit(&rows(1)), Shape { what: what, found: 1, expected: "at least 2" });
    let few = recipe().validation(0.7).fit(&rows(3));
    refused!(few, Shape { what: what, found: 1 });
    let flat = Dataset::regression(data().x().clone(), Array1::from_elem(30, 7.0)).unwrap();
    refused!(recipe().fit(&flat), Table {});
    let narrow = recipe().fit(&data()).unwrap().predict_new(array![[1.0]].view());
    let what = "number of features of the new rows";
    refused!(narrow, Shape { what: what, found: 1, expected: 2 });
}

/// The parts of the uncertainty beside all numbers that they are made of, for noise that rows share and noise that they do not.
#[test]
fn noise_of_one_row_is_that_of_all_where_it_is_equal() {
    let x = Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    let y = x.mapv(|x| 3.0 + x + (1.0 + x) * (17.0 * x).sin());
    let data = Dataset::regression(x, y).unwrap();
    for noise in [None, Some(Noise::Heteroscedastic), Some(Noise::StudentT)] {
        let recipe = Fit::regression("y").hidden(&[]).chains(2).warmup(100).draws(50);
        let recipe = match noise {
            Some(noise) => recipe.noise(noise),
            None => recipe,
        };
        let fit = recipe.fit(&data).unwrap();
        let new = fit.data().x().slice(s![..5, ..]).to_owned();
        let parts = fit.decompose(new.view()).unwrap();
        let sd = fit.predict_noise_sd(new.view()).unwrap();
        for row in 0..5 {
            let of_row = sd.slice(s![.., .., row, 0]);
            let expected = of_row.iter().map(|sd| sd * sd).sum::<f64>() / of_row.len() as f64;
            let found = parts.noise[[row, 0]];
            assert!((found / expected - 1.0).abs() < 1e-12 || found == expected, "{noise:?}");
        }
        let predictions = fit.predict_new(new.view()).unwrap().predictions;
        let other = fit.data().x().slice(s![..1, ..]).to_owned();
        refused!(fit.decompose_predictions(other.view(), &predictions), Shape {});
    }
}
