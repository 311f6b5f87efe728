//! Zarr folders: draws of runs are read back as they were, predictions lie beside them, and draws of another posterior are
//! refused. `tests/golden/zarr_check.py` opens what `folders_for_python` writes with zarr-python, xarray and ArviZ.

use std::fs;
use std::path::Path;

use bnn_mcmc::draws::RunInfo;
use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::surrogate::{RowSubset, Surrogate};
use bnn_mcmc::targets::Tempered;
use bnn_mcmc::testing::GaussianTarget;
use ndarray::{Array1, Array2, Array3, ArrayD, array};
use serde_json::{Value, json};
use shared::{failed, refused};

fn inputs(rows: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, 2), |(i, j)| ((7 * i + 3 * j) as f64).sin())
}

fn classes(activation: Activation) -> (Posterior<Mlp, Categorical>, Dataset) {
    let x = inputs(20);
    let class = x.rows().into_iter().map(|r| usize::from(r[0] > 0.0) + usize::from(r[1] > 0.3));
    let class = class.collect();
    let data = Dataset::classification(x, class, ["low", "mid", "héigh"]).unwrap();
    let data = data.with_feature_names(["length [cm]", "β/γ"]).unwrap();
    let data = data.with_response_names(["species"]).unwrap();
    let network = Mlp::new(&[2, 3, 3], activation).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    (Posterior::new(network, Categorical, &data, priors).unwrap(), data)
}

fn real(sd: f64) -> (Posterior<Linear, Gaussian>, Dataset) {
    let x = inputs(12);
    let y = x.map_axis(ndarray::Axis(1), |r| r[0] - 0.5 * r[1]);
    let data = Dataset::regression(x, y).unwrap();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let likelihood = Gaussian::fixed(sd).unwrap();
    (Posterior::new(Linear::new(2, 1).unwrap(), likelihood, &data, priors).unwrap(), data)
}

fn run<T: GradTarget>(target: &T) -> Draws {
    Sampler::new(target, Nuts::default()).chains(2).warmup(30).draws(20).seed(3).run().unwrap()
}

#[test]
fn draws_of_runs_are_read_back_with_everything() {
    let folder = tempfile::tempdir().unwrap();
    let (posterior, data) = classes(Activation::Tanh);
    let ladder = bnn_mcmc::sampler::PowerPosteriors::new(Mala::default());
    let sampler = || Sampler::new(&posterior, Nuts::default()).chains(3).warmup(30).draws(15);
    let all = [
        run(&posterior),
        sampler().thin(3).run().unwrap(),
        sampler().draws(0).run().unwrap(),
        sampler().keep(Keep::Statistics).run().unwrap(),
        sampler().keep(Keep::blocks(["b*"])).run().unwrap(),
        Sampler::new(&posterior, ladder).chains(2).warmup(40).draws(10).run().unwrap(),
        Draws::new(Layout::vector("q", 2), Array3::zeros((2, 3, 2))).unwrap(),
    ];
    for (i, draws) in all.iter().enumerate() {
        let path = folder.path().join(i.to_string());
        draws.to_zarr(&path).unwrap();
        let back = Draws::from_zarr(&path).unwrap();
        // The heat of a ladder's coldest rung may be NaN, which equals nothing.
        assert_eq!(format!("{back:?}"), format!("{draws:?}"));
        assert!(i == 5 || back == *draws);
    }
    assert!(LadderReport::of(&Draws::from_zarr(folder.path().join("5")).unwrap()).is_ok());

    // Loaded draws predict as those in memory.
    let back = Draws::from_zarr(folder.path().join("0")).unwrap();
    let [a, b] = [&all[0], &back].map(|draws| posterior.predict(draws, &data).unwrap());
    assert_eq!(a.predictive_draws(), b.predictive_draws());
    assert_eq!(a.verdict().unwrap().to_string(), b.verdict().unwrap().to_string());
}

#[test]
fn nothing_that_exists_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let draws = run(&GaussianTarget::standard(2).unwrap());
    let path = folder.path().join("run.zarr");
    draws.to_zarr(&path).unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    for path in [&path, &file] {
        refused!(draws.to_zarr(path), Io {});
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(Draws::from_zarr(&path).unwrap(), draws);
    let lost = folder.path().join("none/run.zarr");
    let Error::Io { path: lost, .. } = failed!(draws.to_zarr(&lost), Io {}) else { unreachable!() };
    assert_eq!(lost.parent(), Some(&*folder.path().join("none")));
    refused!(draws.to_zarr(".."), Argument {});
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn damage_is_refused_by_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.zarr");
    run(&GaussianTarget::standard(2).unwrap()).to_zarr(&path).unwrap();
    let chunk = path.join("posterior/q/c/1/0/0");
    let whole = fs::read(&chunk).unwrap();
    let damaged = |bytes: &[u8]| {
        fs::write(&chunk, bytes).unwrap();
        Draws::from_zarr(&path)
    };
    let mut bytes = whole.clone();
    bytes[100] ^= 1;
    // The problem names checksums.
    let Error::Table { table, problem, .. } = failed!(damaged(&bytes), Table {}) else {
        unreachable!()
    };
    assert!(table.ends_with("run.zarr/posterior/q"), "{table}");
    assert!(problem.starts_with("it is damaged, or was edited: its checksum is "), "{problem}");
    refused!(damaged(&whole[1..]), Table { problem: "it has 319 bytes, but must have 320" });
    fs::write(&chunk, whole).unwrap();
    let file = path.join("posterior/q/zarr.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("float64", "float32")).unwrap();
    refused!(Draws::from_zarr(&path), Table {});
    fs::write(file, text).unwrap();
    assert!(Draws::from_zarr(&path).is_ok());
}

#[test]
fn draws_of_another_posterior_are_refused_with_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let (tanh, data) = classes(Activation::Tanh);
    let (relu, _) = classes(Activation::Relu);
    let path = folder.path().join("draws");
    run(&tanh).to_zarr(&path).unwrap();
    for draws in [run(&tanh), Draws::from_zarr(&path).unwrap()] {
        let (what, is, of) = ("model of the draws", "Mlp 2-3-3, tanh", "Mlp 2-3-3, relu");
        let (x, path) = (data.x().view(), folder.path().join("x"));
        refused!(relu.predict(&draws, &data), Shape { what: what, found: is, expected: of });
        refused!(relu.predict_mean(&draws, x), Shape { what: what, found: is, expected: of });
        refused!(relu.uncertainty(&draws, x), Shape { what: what, found: is, expected: of });
        refused!(relu.to_zarr(&draws, &data, path), Shape { what: what, found: is, expected: of });
    }
    let (half, data) = real(0.5);
    let (one, _) = real(1.0);
    let predicted = one.predict_mean(&run(&half), data.x().view());
    refused!(predicted, Shape { what: "likelihood of the draws" });

    let priors = || Priors::all(Normal::new(0.0, 1.0).unwrap());
    let of = |data: &Dataset| {
        let model = Linear::new(2, 1).unwrap();
        Posterior::new(model, Gaussian::fixed(0.5).unwrap(), data, priors()).unwrap()
    };
    let other = of(&data.select(&[0, 1, 2]).unwrap());
    // The checksums themselves are not the same on every processor.
    let predicted = other.predict_mean(&run(&half), data.x().view());
    let is_of_data = |e: &Error| matches!(e, Error::Shape { what, .. } if what.starts_with("data of the draws ("));
    assert!(predicted.as_ref().is_err_and(is_of_data), "{predicted:?}");
    // Other rows, by the posterior of the training data.
    assert!(half.predict(&run(&half), &data.select(&[3, 1]).unwrap()).is_ok());
    // The same data once more.
    assert!(of(&data).predict(&run(&half), &data).is_ok());
}

#[test]
fn views_of_a_posterior_and_draws_by_hand_are_accepted() {
    let (posterior, data) = real(0.5);
    let x = data.x().view();
    let info = run(&posterior).info().target.clone().unwrap();
    assert_eq!(info.model.as_deref(), Some("Linear 2-1"));
    let tempered = Tempered::new(&posterior, 0.3).unwrap();
    let rows = RowSubset::new(&posterior, 5, 1).unwrap();
    let surrogate = Surrogate::new(&posterior, rows);
    let reference = WithReference::new(&posterior, Normal::new(0.0, 3.0).unwrap());
    let all = [
        run(&tempered),
        run(&surrogate),
        run(&reference),
        run(&posterior.log_likelihood()),
        run(&&posterior),
    ];
    for draws in all {
        assert_eq!(draws.info().target, Some(info.clone()));
        assert!(posterior.predict_mean(&draws, x).is_ok());
    }
    let by_hand = Draws::new(posterior.layout().clone(), Array3::ones((1, 2, 3))).unwrap();
    assert_eq!(by_hand.info(), &RunInfo { thin: 1, ..RunInfo::default() });
    assert!(posterior.predict(&by_hand, &data).is_ok());

    // The same function in f32.
    let (tanh, data) = classes(Activation::Tanh);
    let network = tanh.model().clone().in_f32();
    let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    let single = Posterior::new(network, Categorical, &data, priors).unwrap();
    assert!(single.predict_mean(&run(&tanh), data.x().view()).is_ok());
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn floats(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
}

#[test]
fn predictions_and_names_lie_beside_the_draws() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let (posterior, data) = classes(Activation::Tanh);
    let draws = run(&posterior);
    posterior.to_zarr(&draws, &data, &path).unwrap();
    assert_eq!(Draws::from_zarr(&path).unwrap(), draws);

    let text = |place: &str| {
        let bytes = fs::read(path.join(place).join("c/0")).unwrap();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let mut at = 4;
        let names = (0..word(0)).map(|_| {
            let end = at + 4 + word(at);
            let name = String::from_utf8(bytes[at + 4..end].to_vec()).unwrap();
            at = end;
            name
        });
        names.collect::<Vec<_>>()
    };
    assert_eq!(text("posterior/w0_dim_1"), ["length [cm]", "β/γ"]);
    assert_eq!(text("posterior/w1_dim_0"), ["low", "mid", "héigh"]);
    assert_eq!(text("posterior/b1_dim_0"), ["low", "mid", "héigh"]);
    assert_eq!(text("constant_data/feature"), ["length [cm]", "β/γ"]);
    let hidden = fs::read(path.join("posterior/w0_dim_0/c/0")).unwrap();
    assert_eq!(hidden, [0i64, 1, 2].map(i64::to_le_bytes).concat());

    let predictions = posterior.predict(&draws, &data).unwrap();
    for chain in 0..2 {
        let chunk =
            |group: &str| fs::read(path.join(format!("{group}/species/c/{chain}/0/0"))).unwrap();
        let density = predictions.log_density().unwrap();
        let density = density.index_axis(ndarray::Axis(0), chain);
        assert_eq!(floats(&chunk("log_likelihood")), density.iter().copied().collect::<Vec<_>>());
        let drawn = predictions.predictive_draws();
        let drawn = drawn.index_axis(ndarray::Axis(0), chain);
        let expected: Vec<u8> = drawn.iter().flat_map(|x| (*x as i64).to_le_bytes()).collect();
        assert_eq!(chunk("posterior_predictive"), expected);
    }
    let observed = fs::read(path.join("observed_data/species/c/0")).unwrap();
    let expected = data.classes().unwrap().iter().flat_map(|c| (*c as i64).to_le_bytes());
    assert_eq!(observed, expected.collect::<Vec<_>>());
    let x = floats(&fs::read(path.join("constant_data/x/c/0/0")).unwrap());
    assert_eq!(x, data.x().iter().copied().collect::<Vec<_>>());

    let stats = |name: &str, chain: usize| {
        fs::read(path.join(format!("sample_stats/{name}/c/{chain}/0"))).unwrap()
    };
    let of = |name: &str| draws.stat(name).unwrap().row(1).to_vec();
    assert_eq!(floats(&stats("acceptance_rate", 1)), of("accept_prob"));
    let sum =
        of("log_likelihood").iter().zip(of("log_prior")).map(|(a, b)| a + b).collect::<Vec<_>>();
    assert_eq!(floats(&stats("lp", 1)), sum);
    let diverging: Vec<u8> = of("divergent").iter().map(|d| u8::from(*d > 0.0)).collect();
    assert_eq!(stats("diverging", 1), diverging);

    // Groups before their arrays, in order.
    let text = fs::read_to_string(path.join("zarr.json")).unwrap();
    let place = |node: &str| text.find(&format!("\n      \"{node}\": {{")).unwrap();
    let in_order =
        ["constant_data", "log_likelihood", "sample_stats", "constant_data/row", "posterior/b0"];
    assert!(in_order.map(place).is_sorted());
    let root: Value = serde_json::from_str(&text).unwrap();
    let array = read_json(&path.join("posterior/w0/zarr.json"));
    assert_eq!(root["consolidated_metadata"]["metadata"]["posterior/w0"], array);
    assert_eq!(array["dimension_names"], json!(["chain", "draw", "w0_dim_0", "w0_dim_1"]));
    assert_eq!(array["chunk_grid"]["configuration"]["chunk_shape"], json!([1, 20, 3, 2]));
    let classes = read_json(&path.join("observed_data/species/zarr.json"));
    assert_eq!(classes["attributes"]["class_names"], json!(["low", "mid", "héigh"]));
}

#[test]
fn responses_of_every_kind_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let x = inputs(4);
    let priors = || Priors::all(Normal::new(0.0, 1.0).unwrap());
    let counts = array![[3.0, 1.0], [0.0, 2.0], [1.0, 1.0], [5.0, 0.0]];
    let counts = Dataset::counts(x.clone(), counts).unwrap();
    let counts = counts.with_response_names(["died", "lived"]).unwrap();
    let model = Linear::new(2, 1).unwrap();
    let posterior = Posterior::new(model.clone(), Binomial, &counts, priors()).unwrap();
    let path = folder.path().join("counts");
    // An output that is NaN.
    let mut q = Array3::zeros((1, 2, 3));
    q[(0, 1, 0)] = f64::NAN;
    let draws = Draws::new(posterior.layout().clone(), q).unwrap();
    posterior.to_zarr(&draws, &counts, &path).unwrap();
    let drawn = fs::read(path.join("posterior_predictive/y/c/0/0/0/0")).unwrap();
    assert!(drawn.len() == 128 && drawn[64..].iter().all(|b| *b == 0xff));
    let observed = fs::read(path.join("observed_data/y/c/0/0")).unwrap();
    assert_eq!(observed[..16], [3i64, 1].map(i64::to_le_bytes).concat());
    let response = fs::read(path.join("posterior/b_dim_0/c/0")).unwrap();
    assert!(response.ends_with(b"died"));

    let two =
        Dataset::regression(x.clone(), array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
            .unwrap();
    let model = Linear::new(2, 2).unwrap();
    let posterior = Posterior::new(model, Gaussian::fixed(1.0).unwrap(), &two, priors()).unwrap();
    let path = folder.path().join("two");
    posterior.to_zarr(&run(&posterior), &two, &path).unwrap();
    let observed = floats(&fs::read(path.join("observed_data/y/c/0/0")).unwrap());
    assert_eq!(observed, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);

    let binary = Dataset::classification(x, vec![0, 1, 1, 0], ["no", "yes"]).unwrap();
    let posterior =
        Posterior::new(Linear::new(2, 1).unwrap(), Bernoulli, &binary, priors()).unwrap();
    let path = folder.path().join("binary");
    posterior.to_zarr(&run(&posterior), &binary, &path).unwrap();
    assert!(fs::read(path.join("posterior/w_dim_0/c/0")).unwrap().ends_with(b"yes"));
    assert!(path.join("posterior_predictive/class/c/1/0/0").exists());
}

#[test]
fn the_last_chunk_is_padded() {
    // 2 of 3 draws fit into a chunk.
    let folder = tempfile::tempdir().unwrap();
    let values = Array3::from_shape_fn((1, 3, 1_000_000), |(_, d, p)| (d * 7 + p) as f64);
    let draws = Draws::new(Layout::vector("w", 1_000_000), values).unwrap();
    let path = folder.path().join("wide");
    draws.to_zarr(&path).unwrap();
    assert_eq!(Draws::from_zarr(&path).unwrap(), draws);
    let [first, last] = ["0", "1"]
        .map(|chunk| floats(&fs::read(path.join(format!("posterior/w/c/0/{chunk}/0"))).unwrap()));
    assert_eq!([first.len(), last.len()], [2_000_000, 2_000_000]);
    assert!(last[..1_000_000] == *draws.draw(0, 2).unwrap());
    assert!(last[1_000_000..].iter().all(|x| x.is_nan()));
}

/// The files of a run that was killed: chain 1 has written fewer rows, chain 2 none.
fn killed(folder: &Path) -> (OnDisk, Draws) {
    let on_disk = OnDisk { path: folder.join("killed"), every: 1, keep: Keep::All };
    let target = GaussianTarget::standard(3).unwrap();
    Sampler::new(&target, Mala::default()).chains(3).draws(10).run_with(&on_disk).unwrap();
    let whole = OnDisk::read(&on_disk.path).unwrap();
    let file = fs::File::options().write(true).open(on_disk.file(1)).unwrap();
    // A row has 3 numbers and its checksum; the last row but two is left in half.
    file.set_len(file.metadata().unwrap().len() - 3 * 16 + 8).unwrap();
    fs::remove_file(on_disk.file(2)).unwrap();
    (on_disk, whole)
}

#[test]
fn a_killed_run_has_nan_where_nothing_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let (on_disk, whole) = killed(folder.path());
    let path = folder.path().join("zarr");
    OnDisk::to_zarr(&on_disk.path, &path).unwrap();
    let chunk = |chain: usize| fs::read(path.join(format!("posterior/q/c/{chain}/0/0")));
    let of = |chain: usize| {
        whole.values().index_axis(ndarray::Axis(0), chain).iter().copied().collect::<Vec<_>>()
    };
    assert_eq!(floats(&chunk(0).unwrap()), of(0));
    let second = floats(&chunk(1).unwrap());
    assert_eq!(second[..21], of(1)[..21]);
    assert!(second.len() == 30 && second[21..].iter().all(|x| x.is_nan()));
    assert!(chunk(2).is_err());
    assert_eq!(Draws::from_zarr(&path).unwrap().values().dim(), (3, 0, 3));

    fs::remove_file(on_disk.file(0)).unwrap();
    assert!(OnDisk::to_zarr(&on_disk.path, folder.path().join("none")).unwrap_err().is_io());
    assert!(OnDisk::read(&on_disk.path).unwrap_err().is_io());
}

/// Writes numbers for Python to compare.
struct Expected<'a> {
    folder: &'a Path,
    name: &'a str,
    arrays: Vec<Value>,
}

impl Expected<'_> {
    fn add(&mut self, place: &str, kind: &str, dims: &[&str], values: ArrayD<f64>) {
        let file = format!("{}.{}.bin", self.name, self.arrays.len());
        let bytes: Vec<u8> = match kind {
            "<i8" => values.iter().flat_map(|x| (*x as i64).to_le_bytes()).collect(),
            "|b1" => values.iter().map(|x| u8::from(*x > 0.0)).collect(),
            _ => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
        };
        fs::write(self.folder.join(&file), bytes).unwrap();
        let shape = values.shape();
        self.arrays.push(
            json!({ "place": place, "kind": kind, "dims": dims, "shape": shape, "file": file }),
        );
    }

    fn labels(&mut self, place: &str, labels: &[&str]) {
        self.arrays.push(json!({ "place": place, "labels": labels }));
    }

    fn finish(self) {
        let path = self.folder.join(format!("{}.json", self.name));
        fs::write(path, json!(self.arrays).to_string()).unwrap();
    }
}

#[test]
#[ignore = "writes folders for tests/golden/zarr_check.py to $ZARR_FOLDER"]
fn folders_for_python() {
    let folder = std::env::var("ZARR_FOLDER").unwrap();
    let folder = Path::new(&folder);
    let expected = |name| Expected { folder, name, arrays: Vec::new() };

    // Classes, with predictions and names.
    let (posterior, data) = classes(Activation::Tanh);
    let draws = run(&posterior);
    posterior.to_zarr(&draws, &data, folder.join("classes.zarr")).unwrap();
    let mut out = expected("classes");
    let (chains, n) = (draws.n_chains(), draws.n_draws());
    for block in draws.layout().blocks() {
        let shape = [&[chains, n], &block.shape[..]].concat();
        let values = draws.block(&block.name).unwrap().to_owned();
        let dims: Vec<_> =
            (0..block.shape.len()).map(|i| format!("{}_dim_{i}", block.name)).collect();
        let mut all = vec!["chain", "draw"];
        all.extend(dims.iter().map(String::as_str));
        let values = values.as_standard_layout().into_owned().into_shape_with_order(shape).unwrap();
        out.add(&format!("posterior/{}", block.name), "<f8", &all, values);
    }
    for (place, stat) in [
        ("acceptance_rate", "accept_prob"),
        ("accepted", "accepted"),
        ("divergent", "divergent"),
        ("energy", "energy"),
        ("gradient_evals", "gradient_evals"),
        ("joint_log_likelihood", "log_likelihood"),
        ("log_prior", "log_prior"),
        ("n_steps", "leapfrog_steps"),
        ("step_size", "step_size"),
        ("tree_depth", "tree_depth"),
    ] {
        let values = draws.stat(stat).unwrap().to_owned().into_dyn();
        out.add(&format!("sample_stats/{place}"), "<f8", &["chain", "draw"], values);
    }
    let stat = |name: &str| draws.stat(name).unwrap().to_owned().into_dyn();
    out.add("sample_stats/diverging", "|b1", &["chain", "draw"], stat("divergent"));
    out.add(
        "sample_stats/lp",
        "<f8",
        &["chain", "draw"],
        stat("log_likelihood") + stat("log_prior"),
    );
    let predictions = posterior.predict(&draws, &data).unwrap();
    let drawn =
        predictions.predictive_draws().index_axis_move(ndarray::Axis(3), 0).to_owned().into_dyn();
    let by_row = ["chain", "draw", "row"];
    out.add("posterior_predictive/species", "<i8", &by_row, drawn);
    out.add(
        "log_likelihood/species",
        "<f8",
        &by_row,
        predictions.log_density().unwrap().to_owned().into_dyn(),
    );
    let observed: Array1<f64> = data.classes().unwrap().iter().map(|c| *c as f64).collect();
    out.add("observed_data/species", "<i8", &["row"], observed.into_dyn());
    out.add("constant_data/x", "<f8", &["row", "feature"], data.x().clone().into_dyn());
    let (features, names) = (["length [cm]", "β/γ"], ["low", "mid", "héigh"]);
    out.labels("posterior/w0_dim_1", &features);
    out.labels("constant_data/feature", &features);
    out.labels("posterior/w1_dim_0", &names);
    out.labels("posterior/b1_dim_0", &names);
    let count = |n: usize| Array1::from_iter((0..n).map(|i| i as f64)).into_dyn();
    for (place, n) in [
        ("posterior/chain", chains),
        ("posterior/draw", n),
        ("posterior/w0_dim_0", 3),
        ("log_likelihood/row", 20),
    ] {
        out.add(place, "<i8", &[place.split('/').next_back().unwrap()], count(n));
    }
    out.finish();

    // Bits that are lost easily, odd names, indices from 1, a padded chunk.
    let names = ["β", "a/b", "..", "", "w[1,2]", "chain", "W", "w", "w_dim_0"];
    let layout = names.iter().fold(Layout::new(), |layout, name| layout.with(name, &[]));
    let layout = layout.then(&Layout::from_parameter_names(&["v[1]".into(), "v[2]".into()]));
    let rare = [
        f64::NAN,
        f64::INFINITY,
        -0.0,
        5e-324,
        0.1,
        -f64::MAX,
        f64::from_bits(0x7ff8_0000_0000_0123),
    ];
    let values = Array3::from_shape_fn((2, 5, 11), |(c, d, p)| rare[(c * 31 + d * 5 + p) % 7]);
    let draws = Draws::new(layout, values).unwrap();
    draws.to_zarr(folder.join("odd.zarr")).unwrap();
    let mut out = expected("odd");
    let places = ["%CE%B2", "a%2Fb", "%2E%2E", "~", "w[1,2]", "chain~2", "W", "w~2", "w%5Fdim_0"];
    for (i, place) in places.iter().enumerate() {
        let values = draws.values().index_axis_move(ndarray::Axis(2), i).to_owned().into_dyn();
        out.add(&format!("posterior/{place}"), "<f8", &["chain", "draw"], values);
    }
    let v = draws.block("v").unwrap().as_standard_layout().into_owned().into_dyn();
    out.add("posterior/v", "<f8", &["chain", "draw", "v_dim_0"], v);
    out.add("posterior/v_dim_0", "<i8", &["v_dim_0"], array![1.0, 2.0].into_dyn());
    out.finish();
    let values = Array3::from_shape_fn((2, 3, 1_000_000), |(c, d, p)| (c + d * 7 + p) as f64 / 3.0);
    let draws = Draws::new(Layout::vector("w", 1_000_000), values).unwrap();
    draws.to_zarr(folder.join("wide.zarr")).unwrap();
    let mut out = expected("wide");
    out.add(
        "posterior/w",
        "<f8",
        &["chain", "draw", "w_dim_0"],
        draws.values().to_owned().into_dyn(),
    );
    out.finish();

    // A run that was killed.
    let (on_disk, whole) = killed(folder);
    OnDisk::to_zarr(&on_disk.path, folder.join("killed.zarr")).unwrap();
    let mut values = whole.values().to_owned();
    values.slice_mut(ndarray::s![1, 7.., ..]).fill(f64::NAN);
    values.slice_mut(ndarray::s![2, .., ..]).fill(f64::NAN);
    let mut out = expected("killed");
    out.add("posterior/q", "<f8", &["chain", "draw", "q_dim_0"], values.into_dyn());
    out.finish();
    // A fit, in own units.
    let (_, data) = real(1.0);
    let y = data.real().unwrap().mapv(|y| 300.0 + 40.0 * y);
    let data = Dataset::regression(data.x().clone(), y).unwrap();
    let data = data.with_response_names(["strength"]).unwrap();
    let fit = Fit::regression("strength").hidden(&[3]).chains(4).warmup(200).draws(250).seed(1);
    let fit = fit.fit(&data).unwrap();
    fit.to_zarr(folder.join("fit.zarr")).unwrap();
    // As in the folder of a run: without the log likelihoods of single rows.
    fit.draws().to_zarr(folder.join("run.zarr")).unwrap();
    let predictions = fit.predict(&data).unwrap();
    let mut out = expected("fit");
    for block in fit.draws().layout().blocks() {
        let shape = [&[4, 250], &block.shape[..]].concat();
        let values = fit.draws().block(&block.name).unwrap().as_standard_layout().into_owned();
        let dims: Vec<_> =
            (0..block.shape.len()).map(|i| format!("{}_dim_{i}", block.name)).collect();
        let mut all = vec!["chain", "draw"];
        all.extend(dims.iter().map(String::as_str));
        let values = values.into_shape_with_order(shape).unwrap();
        out.add(&format!("posterior/{}", block.name), "<f8", &all, values);
    }
    let drawn = predictions.predictive_draws().index_axis_move(ndarray::Axis(3), 0).to_owned();
    out.add("posterior_predictive/strength", "<f8", &by_row, drawn.into_dyn());
    let density = predictions.log_density().unwrap();
    out.add("log_likelihood/strength", "<f8", &by_row, density.to_owned().into_dyn());
    let observed = data.real().unwrap().column(0).to_owned().into_dyn();
    out.add("observed_data/strength", "<f8", &["row"], observed);
    out.add("constant_data/x", "<f8", &["row", "feature"], data.x().clone().into_dyn());
    out.finish();
    let loo = fit.posterior().loo_with(fit.draws(), 1.0).unwrap();
    let loo = loo.unscaled(fit.response_scaler().unwrap(), &data).unwrap();
    let text = format!("{:?} {:?} {:?}", loo.elpd, loo.se, loo.p_loo);
    fs::write(folder.join("fit.loo"), text).unwrap();
}
