//! A fit in a folder: saved, loaded, and run there.

use std::fs;
use std::io::{ErrorKind, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{FeatureRange, Fit, Parts, Recipe, parts, rows};
use crate::Error;
use crate::data::{Scaler, Schema};
use crate::draws::Draws;
use crate::draws::checkpoint::sync_folder;

/// The version of the format of `fit.json` and `data.csv`.
const FORMAT: u32 = 1;

const FIT: &str = "fit.json";
pub(super) const DATA: &str = "data.csv";
pub(super) const DRAWS: &str = "draws.zarr";
pub(super) const VERDICT: &str = "verdict.txt";
const CHECKPOINT: &str = "checkpoint";
pub(super) const LOCK: &str = ".bnn-mcmc.lock";
/// What the name of a file ends in while it is written.
const UNFINISHED: &str = ".tmp";

/// What `fit.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Saved {
    format: u32,
    /// The version of this crate that wrote it.
    bnn_mcmc: String,
    /// Whether the run has come to its end.
    finished: bool,
    recipe: Value,
    schema: Option<Schema>,
    dropped: Vec<usize>,
    /// The features' names in order, and the response's.
    pub feature_names: Vec<String>,
    pub response_names: Vec<String>,
    pub class_names: Option<Vec<String>>,
    /// The CRC-32 of `data.csv`.
    data_crc32: u32,
    // What follows is known from what stands above, and written for people.
    network: Vec<usize>,
    parameters: usize,
    features: Scaler,
    pub response: Option<Scaler>,
    ranges: Vec<FeatureRange>,
    /// The CRC-32 of all else, as compact JSON with a 0 here.
    crc32: u32,
}

impl Saved {
    fn of(parts: &Parts, data: &[u8], finished: bool) -> Result<Self, Error> {
        let recipe = serde_json::to_value(&parts.recipe);
        let names = parts.data.response().class_names();
        let saved = Self {
            format: FORMAT,
            bnn_mcmc: crate::VERSION.into(),
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
            crc32: 0,
        };
        Ok(Self { crc32: saved.checksum(), ..saved })
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    fn checksum(&self) -> u32 {
        let text = serde_json::to_vec(&Self { crc32: 0, ..self.clone() });
        crc32fast::hash(&text.unwrap_or_default())
    }

    /// The first thing by which this fit differs from `other`: a setting, or the rows. It may have more
    /// draws; of a run that is not finished, also fewer.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let mut recipe = self.recipe.clone();
        if let (Some(own), Some(there)) = (draws(&self.recipe), draws(&other.recipe))
            && (own > there || !other.finished)
        {
            recipe["draws"] = there.into();
        }
        if let Some(difference) = difference("recipe", &recipe, &other.recipe) {
            return Some(difference);
        }
        let is_same = self.data_crc32 == other.data_crc32 && self.schema == other.schema;
        (!is_same).then(|| "the rows or columns of the table are others".into())
    }
}

/// The draws of each chain that a recipe asks for.
fn draws(recipe: &Value) -> Option<u64> {
    recipe.get("draws").and_then(Value::as_u64)
}

/// The first place at which `there` is not as it is `here`, and both values.
fn difference(place: &str, here: &Value, there: &Value) -> Option<String> {
    if here == there {
        return None;
    }
    if let (Some(here), Some(there)) = (here.as_object(), there.as_object()) {
        return here.keys().chain(there.keys()).find_map(|key| {
            let [here, there] = [here, there].map(|o| o.get(key).cloned().unwrap_or_default());
            difference(&format!("{place}.{key}"), &here, &there)
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

pub(super) fn problem(path: &Path, problem: impl Into<String>) -> Error {
    Error::Table { table: path.display().to_string(), problem: problem.into() }
}

pub(super) fn save(folder: &Path, fit: &Fit) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    let _lock = lock(folder)?;
    let saved = check_entries(folder, &[LOCK])
        .and_then(|()| finish(folder, fit, &rows::to_csv(&fit.parts.data)?));
    let _ = fs::remove_file(folder.join(LOCK));
    saved
}

/// A lock on the folder, which ends with the process if not before: it is that of the open file.
pub(super) fn lock(folder: &Path) -> Result<fs::File, Error> {
    let path = folder.join(LOCK);
    let lock = fs::File::options().write(true).create(true).truncate(false).open(&path);
    let lock = lock.map_err(|e| Error::io(&path, e))?;
    match lock.try_lock() {
        Err(fs::TryLockError::WouldBlock) => {
            Err(problem(folder, "another process is running in this folder"))
        }
        // There are file systems without locks.
        _ => Ok(lock),
    }
}

/// The names of what is in the folder.
pub(super) fn entries(folder: &Path) -> Result<Vec<String>, Error> {
    let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let entries = entries.map_err(|e| Error::io(folder, e))?;
    Ok(entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

/// Whether a process that was killed has left a file or folder of this name while it was written.
fn is_unfinished(name: &str) -> bool {
    [FIT, DATA, VERDICT].iter().any(|file| name == format!("{file}{UNFINISHED}"))
        || (name.starts_with(&format!(".{DRAWS}.")) && name.ends_with(UNFINISHED))
}

/// An error if there is anything in the folder but `ours` and what was being written.
pub(super) fn check_entries(folder: &Path, ours: &[&str]) -> Result<(), Error> {
    let mut entries = entries(folder)?.into_iter();
    match entries.find(|name| !ours.contains(&&name[..]) && !is_unfinished(name)) {
        None => Ok(()),
        Some(name) => {
            let found = format!("it is not empty: there is `{name}`; choose another folder");
            Err(problem(folder, found))
        }
    }
}

/// Writes everything. A fit is finished when `fit.json` says so, which comes last, when all else is on
/// the disk. The folder is locked.
pub(super) fn finish(folder: &Path, fit: &Fit, data: &[u8]) -> Result<(), Error> {
    for name in entries(folder)?.into_iter().filter(|name| is_unfinished(name)) {
        let left = folder.join(name);
        // What cannot be removed does no harm.
        let _ = if left.is_dir() { fs::remove_dir_all(left) } else { fs::remove_file(left) };
    }
    write(&folder.join(DATA), data)?;
    let verdict = fit.verdict().map_or_else(|e| e.to_string(), |verdict| verdict.to_string());
    write(&folder.join(VERDICT), format!("{verdict}\n").as_bytes())?;
    let draws = folder.join(DRAWS);
    if draws.exists() {
        // Of a process that was killed here, or of fewer draws: only this run writes to this folder.
        fs::remove_dir_all(&draws).map_err(|e| Error::io(&draws, e))?;
    }
    fit.draws.to_zarr(&draws)?;
    sync_all(&draws).map_err(|e| Error::io(&draws, e))?;
    write_json(folder, &Saved::of(&fit.parts, data, true)?)
}

/// Flushes all files below `path` to the disk, and the folders that hold them.
fn sync_all(path: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            sync_all(&path)?;
        } else {
            fs::File::open(&path)?.sync_all()?;
        }
    }
    // The folder of whatever is in it; its own folder is flushed with the next file there.
    sync_folder(&path.join("any"))
}

fn write_json(folder: &Path, saved: &Saved) -> Result<(), Error> {
    let path = folder.join(FIT);
    let text = serde_json::to_string_pretty(saved).map_err(|e| problem(&path, e.to_string()))?;
    write(&path, format!("{text}\n").as_bytes())
}

/// Writes a file as a whole, or leaves the one that was there.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let new = PathBuf::from(format!("{}{UNFINISHED}", path.display()));
    let written = fs::File::create(&new).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        sync_folder(path)
    });
    written.map_err(|e| {
        let _ = fs::remove_file(&new);
        Error::io(path, e)
    })
}

pub(super) fn load(folder: &Path) -> Result<Fit, Error> {
    let saved = read_json(folder)?
        .ok_or_else(|| problem(folder, "there is no `fit.json`: it is not the folder of a fit"))?;
    if !saved.finished {
        let unfinished = "the run is not finished: repeat the call that began it, to go on; with \
                          fewer draws it ends there, and can be used";
        return Err(problem(&folder.join(FIT), unfinished));
    }
    load_finished(folder, &saved)
}

pub(super) fn load_finished(folder: &Path, saved: &Saved) -> Result<Fit, Error> {
    let path = folder.join(FIT);
    let recipe: Recipe = serde_json::from_value(saved.recipe.clone())
        .map_err(|e| problem(&path, format!("its recipe cannot be read: {e}")))?;
    let data_path = folder.join(DATA);
    let bytes = fs::read(&data_path).map_err(|e| Error::io(&data_path, e))?;
    if crc32fast::hash(&bytes) != saved.data_crc32 {
        return Err(problem(&data_path, "it is not as it was written: its checksum differs"));
    }
    let data = rows::from_csv(&bytes, saved).map_err(|e| problem(&data_path, e))?;
    let parts = Parts::new(recipe, &data, saved.schema.clone(), saved.dropped.clone())?;
    let draws_path = folder.join(DRAWS);
    let draws = Draws::from_zarr(&draws_path)?;
    parts
        .recipe
        .check_draws(&draws)
        .map_err(|e| problem(&draws_path, format!("it holds the draws of another run: {e}")))?;
    let fit = Fit { parts: parts.into(), draws, save_error: None };
    // The density at the first draw says whether the draws are of this posterior.
    let first = fit.parts.train.select(&[0])?;
    fit.parts.posterior.predict(&fit.draws, &first)?;
    Ok(fit)
}

pub(super) fn read_json(folder: &Path) -> Result<Option<Saved>, Error> {
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
                crate::VERSION
            );
            return Err(problem(&path, known));
        }
        None => return Err(problem(&path, "it is not of a fit: it has no `format`")),
    }
    let saved: Saved = serde_json::from_value(value).map_err(|e| problem(&path, e.to_string()))?;
    if saved.crc32 != saved.checksum() {
        return Err(problem(&path, "it was edited or damaged: its checksum differs"));
    }
    Ok(Some(saved))
}

/// Runs a fit in `folder`, goes on with it, or loads it.
pub(super) fn run(folder: &Path, parts: Parts) -> Result<Fit, Error> {
    let only_chains = parts.recipe.only_chains.clone();
    let data = rows::to_csv(&parts.data)?;
    let saved = Saved::of(&parts, &data, false)?;
    if let Some(fit) = finished(folder, &saved, only_chains.as_ref())? {
        return Ok(fit);
    }
    if let Some(chains) = &only_chains {
        parts::check_others(folder, chains, &saved)?;
    }
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    let (_lock, lock_path) = (lock(folder)?, folder.join(LOCK));
    // It may have been finished before the lock was taken.
    if let Some(fit) = finished(folder, &saved, only_chains.as_ref())? {
        let _ = fs::remove_file(lock_path);
        return Ok(fit);
    }
    let (data_path, checkpoint) = (folder.join(DATA), folder.join(CHECKPOINT));
    // A process that was killed before it wrote `fit.json` may have left the data.
    let had_data = data_path.exists();
    let there = read_json(folder)?;
    if let Some(there) = &there {
        if there.finished && !checkpoint.exists() {
            let _ = fs::remove_file(&lock_path);
            let gone = "a finished run goes on from its `checkpoint`, which is not there: for more \
                        draws choose another folder";
            return Err(problem(folder, gone));
        }
        if there.recipe != saved.recipe {
            write_json(folder, &saved)?;
        }
    } else {
        let ours = match fs::read(&data_path).is_ok_and(|there| there == data) {
            true => &[LOCK, DATA][..],
            false => &[LOCK],
        };
        if let Err(error) = check_entries(folder, ours) {
            let _ = fs::remove_file(&lock_path);
            return Err(error);
        }
        write(&data_path, &data)?;
        write_json(folder, &saved)?;
    }
    let draws = parts.recipe.sample(&parts, Some(&checkpoint)).inspect_err(|_| {
        // A setting that the sampler refuses does not claim the folder, and changes nothing there.
        if let (Some(there), true) = (&there, checkpoint.exists()) {
            let _ = write_json(folder, there);
        } else {
            let data = (!had_data).then(|| data_path.clone());
            for path in [folder.join(FIT), lock_path.clone()].into_iter().chain(data) {
                let _ = fs::remove_file(path);
            }
        }
    })?;
    let mut fit = Fit { parts: parts.into(), draws, save_error: None };
    if !fit.draws.info().stopped_early {
        match finish(folder, &fit, &data) {
            Ok(()) => drop(fs::remove_file(lock_path)),
            // The draws are in memory and in the checkpoint.
            Err(error) => {
                fit.parts.recipe.report(&format!("the fit could not be saved: {error}"));
                fit.save_error = Some(error);
            }
        }
    }
    Ok(fit)
}

/// The fit that the folder holds, if it is finished with all draws; an error if it is another one than
/// `saved`.
fn finished(
    folder: &Path,
    saved: &Saved,
    only_chains: Option<&Range<usize>>,
) -> Result<Option<Fit>, Error> {
    let Some(there) = read_json(folder)? else { return Ok(None) };
    if let Some(difference) = saved.difference(&there) {
        let other = format!("the folder holds another fit, in which {difference}");
        return Err(problem(&folder.join(FIT), other));
    }
    if !there.finished || draws(&there.recipe) < draws(&saved.recipe) {
        return Ok(None);
    }
    let fit = load_finished(folder, &there)?;
    let part = fit.draws.info().part.as_ref().map(|part| &part.chains);
    if part != only_chains {
        let shown = |part: Option<&Range<usize>>| part.map_or("all".into(), |p| format!("{p:?}"));
        let (here, asked) = (shown(part), shown(only_chains));
        let other = format!("it holds the chains {here} of the fit, and {asked} are asked for");
        return Err(problem(folder, other));
    }
    if fit.draws.info().stopped_early {
        let stopped = "it holds a run that was stopped early and saved: choose another folder, or \
                       load it";
        return Err(problem(folder, stopped));
    }
    Ok(Some(fit))
}
