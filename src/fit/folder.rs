//! A fit in a folder: saved, loaded, and run there.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{FeatureRange, Fit, Parts, Recipe};
use crate::Error;
use crate::data::{Dataset, Response, Scaler, Schema};
use crate::draws::Draws;
use crate::draws::checkpoint::sync_folder;

/// The version of the format of `fit.json` and `data.csv`.
const FORMAT: u32 = 1;

const FIT: &str = "fit.json";
const DATA: &str = "data.csv";
const DRAWS: &str = "draws.zarr";
const VERDICT: &str = "verdict.txt";
const CHECKPOINT: &str = "checkpoint";

/// What `fit.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Saved {
    format: u32,
    /// The version of this crate that wrote it.
    bnn_mcmc: String,
    /// Whether the run has come to its end.
    finished: bool,
    recipe: Value,
    schema: Option<Schema>,
    dropped: Vec<usize>,
    /// The features' names in order, and the response's.
    feature_names: Vec<String>,
    response_names: Vec<String>,
    class_names: Option<Vec<String>>,
    /// The CRC-32 of `data.csv`.
    data_crc32: u32,
    // What follows is known from what stands above, and written for people.
    network: Vec<usize>,
    parameters: usize,
    features: Scaler,
    response: Option<Scaler>,
    ranges: Vec<FeatureRange>,
}

impl Saved {
    fn of(parts: &Parts, data: &[u8], finished: bool) -> Result<Self, Error> {
        let recipe = serde_json::to_value(&parts.recipe);
        let names = parts.data.response().class_names();
        Ok(Self {
            format: FORMAT,
            bnn_mcmc: env!("CARGO_PKG_VERSION").into(),
            finished,
            recipe: recipe.map_err(|e| Error::argument("recipe", e, "writable as JSON"))?,
            schema: parts.schema.clone(),
            dropped: parts.dropped.clone(),
            feature_names: parts.data.feature_names().to_vec(),
            response_names: parts.data.response_names().to_vec(),
            class_names: names.map(<[String]>::to_vec),
            data_crc32: crc32fast::hash(data),
            network: parts.posterior.model().sizes().to_vec(),
            parameters: parts.posterior.layout().dim(),
            features: parts.features.clone(),
            response: parts.response.clone(),
            ranges: parts.ranges.clone(),
        })
    }

    /// The first thing in which two differ, the recipe before all else and `finished` left out.
    fn difference(&self, other: &Self) -> Option<String> {
        let as_json = |saved: &Self| {
            let mut all = serde_json::to_value(saved).unwrap_or_default();
            let mut take = |key: &str| all.as_object_mut().and_then(|all| all.remove(key));
            take("finished");
            [take("recipe").unwrap_or_default(), all]
        };
        let ([recipe, rest], [other_recipe, other_rest]) = (as_json(self), as_json(other));
        difference("recipe", &recipe, &other_recipe).or_else(|| difference("", &rest, &other_rest))
    }
}

/// The first place at which `there` is not as it is `here`, and both values.
fn difference(place: &str, here: &Value, there: &Value) -> Option<String> {
    if here == there {
        return None;
    }
    if let (Some(here), Some(there)) = (here.as_object(), there.as_object()) {
        let keys = here.keys().chain(there.keys());
        let missing = Value::String("missing".into());
        return keys.into_iter().find_map(|key| {
            let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
            let of = |object: &serde_json::Map<String, Value>| object.get(key).cloned();
            let [here, there] = [of(here), of(there)].map(|v| v.unwrap_or(missing.clone()));
            difference(&place, &here, &there)
        });
    }
    Some(format!("`{place}` is {}, not {}", shown(there), shown(here)))
}

/// The first characters of a value.
fn shown(value: &Value) -> String {
    const MOST: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn problem(path: &Path, problem: impl Into<String>) -> Error {
    Error::Table { table: path.display().to_string(), problem: problem.into() }
}

pub(super) fn save(folder: &Path, fit: &Fit) -> Result<(), Error> {
    begin(folder)?;
    let data = to_csv(&fit.parts.data)?;
    write(&folder.join(DATA), &data)?;
    finish(folder, fit, &data)
}

/// Makes the folder; an error if there is anything in it.
fn begin(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    let mut entries = fs::read_dir(folder).map_err(|e| Error::io(folder, e))?;
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(problem(folder, "the folder is not empty: choose another one")),
    }
}

/// Writes all but the data. A fit is finished when `fit.json` says so, which comes last.
fn finish(folder: &Path, fit: &Fit, data: &[u8]) -> Result<(), Error> {
    let draws = folder.join(DRAWS);
    // A process that was killed here may have left the draws.
    if !(draws.exists() && Draws::from_zarr(&draws)? == fit.draws) {
        fit.draws.to_zarr(&draws)?;
    }
    let verdict = fit.verdict().map_or_else(|e| format!("{e}"), |verdict| verdict.to_string());
    write(&folder.join(VERDICT), format!("{verdict}\n").as_bytes())?;
    write_json(folder, &Saved::of(&fit.parts, data, true)?)
}

fn write_json(folder: &Path, saved: &Saved) -> Result<(), Error> {
    let path = folder.join(FIT);
    let text = serde_json::to_string_pretty(saved).map_err(|e| problem(&path, e.to_string()))?;
    write(&path, format!("{text}\n").as_bytes())
}

/// Writes a file as a whole, or leaves the one that was there.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let new = PathBuf::from(format!("{}.tmp", path.display()));
    let written = fs::File::create(&new).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|e| Error::io(&new, e))?;
    fs::rename(&new, path).map_err(|e| Error::io(path, e))?;
    sync_folder(path).map_err(|e| Error::io(path, e))
}

pub(super) fn load(folder: &Path) -> Result<Fit, Error> {
    let saved = read_json(folder)?
        .ok_or_else(|| problem(folder, "there is no `fit.json`: it is not the folder of a fit"))?;
    let path = folder.join(FIT);
    if !saved.finished {
        let unfinished = "the run is not finished: repeat the call that began it, to go on";
        return Err(problem(&path, unfinished));
    }
    load_finished(folder, &saved)
}

fn load_finished(folder: &Path, saved: &Saved) -> Result<Fit, Error> {
    let path = folder.join(FIT);
    let recipe: Recipe = serde_json::from_value(saved.recipe.clone())
        .map_err(|e| problem(&path, format!("its recipe cannot be read: {e}")))?;
    let data_path = folder.join(DATA);
    let bytes = fs::read(&data_path).map_err(|e| Error::io(&data_path, e))?;
    if crc32fast::hash(&bytes) != saved.data_crc32 {
        return Err(problem(&data_path, "it is not as it was written: its checksum differs"));
    }
    let data = from_csv(&data_path, &bytes, saved)?;
    let parts = Parts::new(recipe, &data, saved.schema.clone(), saved.dropped.clone())?;
    let mut here = Saved::of(&parts, &bytes, true)?;
    here.bnn_mcmc.clone_from(&saved.bnn_mcmc);
    if let Some(difference) = here.difference(saved) {
        let edited = format!("it does not fit its data and recipe: {difference}. Was it edited?");
        return Err(problem(&path, edited));
    }
    let fit = Fit { parts, draws: Draws::from_zarr(folder.join(DRAWS))? };
    // The density at the first draw says whether the draws are of this posterior.
    let first = fit.parts.train.select(&[0])?;
    fit.parts.posterior.predict(&fit.draws, &first)?;
    Ok(fit)
}

fn read_json(folder: &Path) -> Result<Option<Saved>, Error> {
    let path = folder.join(FIT);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io(path, e)),
    };
    let value: Value =
        serde_json::from_str(&text).map_err(|e| problem(&path, format!("it is not JSON: {e}")))?;
    match value.get("format").and_then(Value::as_u64) {
        Some(format) if format == u64::from(FORMAT) => {}
        Some(format) => {
            let version = value.get("bnn_mcmc").and_then(|v| v.as_str()).unwrap_or("unknown");
            let known = format!(
                "it has format {format}, of bnn-mcmc {version}; this version ({}) reads format {FORMAT}",
                env!("CARGO_PKG_VERSION")
            );
            return Err(problem(&path, known));
        }
        None => return Err(problem(&path, "it is not of a fit: it has no `format`")),
    }
    serde_json::from_value(value).map(Some).map_err(|e| problem(&path, e.to_string()))
}

/// Runs a fit in `folder`, goes on with it, or loads it.
pub(super) fn run(folder: &Path, parts: Parts) -> Result<Fit, Error> {
    let data = to_csv(&parts.data)?;
    let saved = Saved::of(&parts, &data, false)?;
    match read_json(folder)? {
        None => {
            // A process that was killed before it wrote `fit.json` may have left the data.
            let data_path = folder.join(DATA);
            if fs::read(&data_path).is_ok_and(|there| there == data) {
                fs::remove_file(&data_path).map_err(|e| Error::io(&data_path, e))?;
            }
            begin(folder)?;
            write(&data_path, &data)?;
            write_json(folder, &saved)?;
        }
        Some(there) => {
            if let Some(difference) = saved.difference(&there) {
                let other = format!("the folder holds another fit, in which {difference}");
                return Err(problem(&folder.join(FIT), other));
            }
            if there.finished {
                return load_finished(folder, &there);
            }
        }
    }
    let checkpoint = folder.join(CHECKPOINT);
    let draws = parts.recipe.sample(&parts.posterior, Some(&checkpoint))?;
    let fit = Fit { parts, draws };
    if !fit.draws.info().stopped_early {
        finish(folder, &fit, &data)?;
        // What the checkpoint knows is saved.
        for name in [CHECKPOINT.to_string(), format!("{CHECKPOINT}.draws")] {
            let path = folder.join(name);
            fs::remove_file(&path).map_err(|e| Error::io(&path, e))?;
        }
    }
    Ok(fit)
}

/// The rows as text: features, then the response; numbers are read back as the same bits.
fn to_csv(data: &Dataset) -> Result<Vec<u8>, Error> {
    let failed = |e: csv::Error| Error::argument(DATA, e, "writable");
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(data.feature_names().iter().chain(data.response_names())).map_err(failed)?;
    for (i, row) in data.x().rows().into_iter().enumerate() {
        let mut record: Vec<String> = row.iter().map(f64::to_string).collect();
        match data.response() {
            Response::Real(y) | Response::Counts(y) => {
                record.extend(y.row(i).iter().map(f64::to_string));
            }
            Response::Classes { index, names } => record.push(names[index[i]].clone()),
        }
        csv.write_record(&record).map_err(failed)?;
    }
    csv.into_inner().map_err(|e| Error::argument(DATA, e, "writable"))
}

fn from_csv(path: &Path, bytes: &[u8], saved: &Saved) -> Result<Dataset, Error> {
    let unreadable = |e: String| problem(path, e);
    let mut csv = csv::Reader::from_reader(bytes);
    let header = csv.headers().map_err(|e| unreadable(e.to_string()))?.clone();
    if !header.iter().eq(saved.feature_names.iter().chain(&saved.response_names)) {
        return Err(unreadable("its columns are not those that `fit.json` names".into()));
    }
    let width = saved.feature_names.len();
    let (mut x, mut y, mut classes) = (Vec::new(), Vec::new(), Vec::new());
    for record in csv.records() {
        let record = record.map_err(|e| unreadable(e.to_string()))?;
        for (j, cell) in record.iter().enumerate() {
            if let (Some(names), true) = (&saved.class_names, j == width) {
                let class = names.iter().position(|name| name == cell);
                classes.push(class.ok_or_else(|| unreadable(format!("`{cell}` is no class")))?);
                continue;
            }
            let number =
                cell.parse().map_err(|_| unreadable(format!("`{cell}` is not a number")))?;
            if j < width { x.push(number) } else { y.push(number) }
        }
    }
    let array = |values: Vec<f64>, columns: usize| {
        let rows = values.len() / columns.max(1);
        Array2::from_shape_vec((rows, columns), values).map_err(|e| unreadable(e.to_string()))
    };
    let response = match &saved.class_names {
        Some(names) => Response::Classes { index: classes, names: names.clone() },
        None if saved.response.is_some() => Response::Real(array(y, saved.response_names.len())?),
        None => Response::Counts(array(y, saved.response_names.len())?),
    };
    let names = (saved.feature_names.clone(), saved.response_names.clone());
    Dataset::checked(array(x, width)?, response, names.0, names.1)
}
