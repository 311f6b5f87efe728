//! The figures of `examples/gallery`: two fits of bundled data, and what they found.
//!
//!     cargo run --release -p bnn-mcmc-studies -- gallery examples/gallery
//!     cargo run --release -p bnn-mcmc-studies -- gallery examples/gallery --check
//!
//! With `--check` nothing is written: the numbers of the figures are compared with those of `gallery.json`, of each
//! mark its least, mean and largest number, up to a tenth of the range of its panel, since draws differ in their last digits between
//! kinds of processors, and after some hundred iterations altogether. Of figures that show the chance in draws, words and kinds of
//! marks are compared.

use std::fs;
use std::path::{Path, PathBuf};

use bnn_mcmc::Error;
use bnn_mcmc::data::bundled;
use bnn_mcmc::fit::{Candidate, Fit};
use bnn_mcmc::predict::Bins;
use bnn_mcmc_report::figure::Figure;
use bnn_mcmc_report::figures::predictive::{self, Method};
use bnn_mcmc_report::figures::{Quantity, calibration, chains, effects, uncertainty};
use ndarray::Axis;
use serde_json::{Value, json};

use crate::shared::AnyError;

/// The share of a panel's range up to which numbers are alike.
const ALIKE: f64 = 0.1;
const SUMMARY: &str = "gallery.json";
/// The figures that show the chance in draws.
const OF_CHANCE: [&str; 1] = ["ranks"];

#[derive(clap::Args)]
pub struct Args {
    /// The folder of the gallery
    folder: PathBuf,
    /// Compare with the numbers that are there, and write nothing
    #[arg(long)]
    check: bool,
}

pub fn run(args: Args) -> Result<(), AnyError> {
    Ok(done(&figures()?, &args.folder, args.check)?)
}

/// All figures.
fn figures() -> Result<Vec<Figure>, Error> {
    let recipe = Fit::regression("medv").model(Candidate::NetworkTransformed).validation(0.3);
    let houses = recipe.warmup(500).draws(500).seed(1).fit(&bundled::boston())?;
    let new = houses.validation().expect("rows were kept");
    let predictions = houses.predict(new)?;
    let methods = [Method { name: "", predictions: &predictions }];
    let explainer = houses.explain()?;
    let judged = houses.judged()?;
    let shown = [
        Quantity { name: "log likelihood (nats)", values: houses.draws().stat("log_likelihood")? },
        Quantity {
            name: "prediction of the first training row (standardised)",
            values: judged.quantities().index_axis_move(Axis(2), 0),
        },
    ];
    let ripe = Fit::classification("species").hidden(&[]).validation(0.3).warmup(500).draws(500);
    let species = ripe.seed(1).fit(&bundled::iris())?;
    let classes = species.predict(species.validation().expect("rows were kept"))?;
    let named = |name: &str, figure: Figure| Figure { name: name.into(), ..figure };
    Ok(vec![
        named("observed", predictive::observed_against_predicted(&methods, 0, 0.9)?),
        named("coverage", calibration::coverage(&methods)?),
        named("checks", predictive::checks(&houses.predictive_checks()?[0])?),
        named("importance", effects::importance(&explainer.importance(5, 1)?)?),
        named("effect", effects::curve(&explainer.partial_dependence("lstat")?)?),
        named("pair", effects::pair(&explainer.partial_dependence_pair("lstat", "rm")?)?),
        named("ranks", chains::rank_ecdf(&shown)?),
        named("leave-one-out", calibration::pareto_k(&houses.loo()?)),
        named("confusion", uncertainty::confusion(&classes.confusion()?)),
        named("reliability", {
            let curve = classes.reliability(Bins::default())?;
            calibration::reliability(&[("", &curve)])?
        }),
    ])
}

/// Writes the figures, or compares them.
fn done(figures: &[Figure], folder: &Path, is_check: bool) -> Result<(), Error> {
    let summaries: Vec<Value> = figures.iter().map(summary).collect();
    let path = folder.join(SUMMARY);
    if is_check {
        let text = fs::read_to_string(&path).map_err(|error| Error::io(&path, error))?;
        let known: Vec<Value> = serde_json::from_str(&text)
            .map_err(|e| Error::argument(SUMMARY, e, "as this program writes it"))?;
        for (place, found) in summaries.iter().enumerate() {
            let known = known.get(place).unwrap_or(&Value::Null);
            let name = &figures[place].name;
            compared(found, known).map_err(|difference| {
                Error::argument(format!("figure {name}"), difference, "as in gallery.json")
            })?;
            let svg = folder.join(format!("{name}.svg"));
            fs::metadata(&svg).map_err(|error| Error::io(&svg, error))?;
        }
        println!("{} figures are those of {}", figures.len(), folder.display());
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))?;
    for figure in figures {
        let svg = folder.join(format!("{}.svg", figure.name));
        fs::write(&svg, figure.to_svg()).map_err(|error| Error::io(&svg, error))?;
        println!("{}: {}", svg.display(), figure.title);
    }
    let lines: Vec<String> = summaries.iter().map(ToString::to_string).collect();
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    fs::write(&path, text).map_err(|error| Error::io(&path, error))
}

/// Of a figure its words, and of each mark its kind and its least, mean and largest number.
fn summary(figure: &Figure) -> Value {
    let panels = figure.panels.iter().map(|panel| {
        let marks = panel.marks.iter().map(|mark| {
            let whole = serde_json::to_value(mark).unwrap_or_default();
            let mut numbers = Vec::new();
            collect(&whole, &mut numbers);
            let n = numbers.len().max(1) as f64;
            let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
            let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mean = numbers.iter().sum::<f64>() / n;
            json!({ "mark": whole["mark"], "name": whole["name"], "numbers": [least, mean, most] })
        });
        json!({ "x": panel.x.label, "y": panel.y.label, "marks": marks.collect::<Vec<_>>() })
    });
    json!({ "name": figure.name, "title": figure.title, "panels": panels.collect::<Vec<_>>() })
}

/// All numbers of a value, but for those of colours.
fn collect(value: &Value, numbers: &mut Vec<f64>) {
    match value {
        Value::Number(number) => numbers.extend(number.as_f64()),
        Value::Array(all) => all.iter().for_each(|one| collect(one, numbers)),
        Value::Object(all) => all
            .iter()
            .filter(|(key, _)| *key != "colour")
            .for_each(|(_, one)| collect(one, numbers)),
        _ => {}
    }
}

/// Whether summaries are alike, or what is not.
fn compared(found: &Value, known: &Value) -> Result<(), String> {
    for key in ["name", "title"] {
        if found[key] != known[key] {
            return Err(format!("{key} {} in the place of {}", found[key], known[key]));
        }
    }
    let panels = |of: &Value| of["panels"].as_array().cloned().unwrap_or_default();
    let (ours, theirs) = (panels(found), panels(known));
    if ours.len() != theirs.len() {
        return Err(format!("{} panels in the place of {}", ours.len(), theirs.len()));
    }
    for (own, other) in ours.iter().zip(&theirs) {
        let marks = |of: &Value| of["marks"].as_array().cloned().unwrap_or_default();
        let (own_marks, other_marks) = (marks(own), marks(other));
        let kinds = |marks: &[Value]| -> Vec<Value> {
            marks.iter().map(|mark| json!([mark["mark"], mark["name"]])).collect()
        };
        if own["x"] != other["x"]
            || own["y"] != other["y"]
            || kinds(&own_marks) != kinds(&other_marks)
        {
            return Err("other axes or marks".into());
        }
        let mut all = Vec::new();
        other_marks.iter().for_each(|mark| collect(&mark["numbers"], &mut all));
        let range = all.iter().copied().fold(f64::NEG_INFINITY, f64::max)
            - all.iter().copied().fold(f64::INFINITY, f64::min);
        if OF_CHANCE.iter().any(|name| found["name"] == *name) {
            continue;
        }
        for (a, b) in own_marks.iter().zip(&other_marks) {
            let [mut ours, mut theirs] = [Vec::new(), Vec::new()];
            collect(&a["numbers"], &mut ours);
            collect(&b["numbers"], &mut theirs);
            let is_far = |(a, b): (&f64, &f64)| (a - b).abs() > ALIKE * range;
            if ours.len() != theirs.len() || ours.iter().zip(&theirs).any(is_far) {
                return Err(format!("{} {ours:?} in the place of {theirs:?}", a["mark"]));
            }
        }
    }
    Ok(())
}
