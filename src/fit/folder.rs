//! A fit in a folder: saved, loaded, and run there.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{FeatureRange, Fit, Origin, Parts, Recipe, parts, rows};
use crate::Error;
use crate::data::{Lines, Scaler, Schema};
use crate::draws::Draws;
use crate::draws::checkpoint::{is_at, sync_folder};
use crate::error::Difference;
use crate::message::{Advice, Plain, Setting};

/// The version of the format of `fit.json` and `data.csv`.
const FORMAT: u32 = 1;

pub(super) const FIT: &str = "fit.json";
pub(super) const DATA: &str = "data.csv";
pub(super) const DRAWS: &str = "draws.zarr";
pub(super) const VERDICT: &str = "verdict.txt";
const CHECKPOINT: &str = "checkpoint";
const LOCK: &str = ".bnn-mcmc.lock";
/// Draws that are whole, but not in their place yet.
const NEW: &str = ".draws.zarr.new";
/// The draws that `fit.json` is of, while others are put in their place.
const OLD: &str = ".draws.zarr.old";
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
    /// The line of each row in the file; earlier versions did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<Lines>,
    /// The features' names in order, and the response's.
    pub feature_names: Vec<String>,
    pub response_names: Vec<String>,
    pub class_names: Option<Vec<String>>,
    /// The CRC-32 of `data.csv`.
    data_crc32: u32,
    /// The CRC-32 of `verdict.txt`, of a fit that is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict_crc32: Option<u32>,
    /// The [checksum](checksum_of) of `draws.zarr`, of a fit that is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    draws_crc32: Option<u32>,
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
    /// What is written of a fit that is finished, with its verdict and the checksum of its draws, or of one
    /// that has none yet.
    pub(super) fn of(
        parts: &Parts,
        data: &[u8],
        verdict: Option<(&str, u32)>,
    ) -> Result<Self, Error> {
        let recipe = serde_json::to_value(&parts.recipe);
        let names = parts.data.response().class_names();
        let saved = Self {
            format: FORMAT,
            bnn_mcmc: crate::VERSION.into(),
            finished: verdict.is_some(),
            recipe: recipe.map_err(|e| Error::argument("recipe", e, "writable as JSON"))?,
            schema: parts.origin.schema.clone(),
            dropped: parts.origin.dropped.clone(),
            lines: parts.origin.lines.clone(),
            feature_names: parts.data.feature_names().to_vec(),
            response_names: parts.data.response_names().to_vec(),
            class_names: names.map(<[String]>::to_vec),
            data_crc32: crc32fast::hash(data),
            verdict_crc32: verdict.map(|(text, _)| crc32fast::hash(text.as_bytes())),
            draws_crc32: verdict.map(|(_, draws)| draws),
            network: parts.posterior.model().sizes().to_vec(),
            parameters: parts.posterior.layout().dim(),
            features: parts.features.clone(),
            response: parts.response.clone(),
            ranges: parts.ranges.clone(),
            crc32: 0,
        };
        Ok(Self { crc32: saved.checksum(), ..saved })
    }

    /// The text of `fit.json` in this folder.
    pub(super) fn text(&self, folder: &Path) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(self);
        let text = text.map_err(|e| problem(&folder.join(FIT), e.to_string()))?;
        Ok(format!("{text}\n"))
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// The recipe of the fit in `folder`.
    fn recipe(&self, folder: &Path) -> Result<Recipe, Error> {
        let unread = |e| problem(&folder.join(FIT), format!("its recipe cannot be read: {e}"));
        serde_json::from_value(self.recipe.clone()).map_err(unread)
    }

    pub(super) fn verdict_crc32(&self) -> Option<u32> {
        self.verdict_crc32
    }

    fn checksum(&self) -> u32 {
        let text = serde_json::to_vec(&Self { crc32: 0, ..self.clone() });
        crc32fast::hash(&text.unwrap_or_default())
    }

    /// The first thing by which this fit differs from `other`: a setting, or the rows. It may have more
    /// draws; of a run that is not finished, also fewer.
    pub(super) fn difference(&self, other: &Self) -> Option<Difference> {
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
        (!is_same).then_some(Difference::Rows)
    }
}

/// The draws of each chain that a recipe asks for.
fn draws(recipe: &Value) -> Option<u64> {
    recipe.get("draws").and_then(Value::as_u64)
}

/// The first place at which `there` is not as it is `here`, and both values.
fn difference(place: &str, here: &Value, there: &Value) -> Option<Difference> {
    if here == there {
        return None;
    }
    if let (Some(here), Some(there)) = (here.as_object(), there.as_object()) {
        return here.keys().chain(there.keys()).find_map(|key| {
            let [here, there] = [here, there].map(|o| o.get(key).cloned().unwrap_or_default());
            difference(&format!("{place}.{key}"), &here, &there)
        });
    }
    Some(Difference::Setting {
        name: place.into(),
        setting: setting(place),
        there: shown(there),
        asked: shown(here),
    })
}

/// The setting at a place of `fit.json`, such as `recipe.reader.response.Named`.
fn setting(place: &str) -> Option<Setting> {
    let mut names = place.rsplit('.');
    names.find_map(|name| Setting::ALL.iter().copied().find(|setting| setting.name() == name))
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

pub(super) fn other_fit(path: &Path, problem: impl Into<String>, difference: Difference) -> Error {
    let advice = vec![Advice::OtherFolder];
    Error::OtherFit {
        path: path.into(),
        problem: problem.into(),
        difference: difference.into(),
        advice,
    }
}

pub(super) fn problem(path: &Path, problem: impl Into<String>) -> Error {
    Error::table(path.display().to_string(), problem)
}

pub(super) fn save(folder: &Path, fit: &Fit) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    let _lock = Lock::take(folder)?;
    let ours = match read(folder)? {
        // A process was killed while it saved a fit here. A run has a checkpoint.
        Read::Saved(there) if !there.finished && !folder.join(CHECKPOINT).exists() => {
            &[LOCK, FIT, DATA, VERDICT, DRAWS, OLD][..]
        }
        _ => &[LOCK],
    };
    check_entries(folder, ours)?;
    finish(folder, fit, &rows::to_csv(&fit.parts.data)?)
}

/// The lock on a folder, which is given back when this is dropped, and by the system when the process ends.
#[must_use]
pub(super) struct Lock {
    path: PathBuf,
    _file: fs::File,
}

impl Lock {
    /// # Errors
    /// If another process has the lock for half a second, or there can be none.
    pub fn take(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(LOCK);
        // A run that has just ended may leave its lock for a moment: to a process that another thread was
        // starting meanwhile, until that lets go of what it has inherited.
        for _ in 0..=50 {
            let file = fs::File::options().write(true).create(true).truncate(false).open(&path);
            let file = file.map_err(|e| Error::io(&path, e))?;
            // There are file systems without locks.
            let is_ours = !matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
            // The process that had the lock has removed its file.
            if is_ours && is_at(&file, &path) != Some(false) {
                return Ok(Self { path, _file: file });
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Err(problem(folder, "another process is running in this folder"))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // What cannot be removed does no harm.
        let _ = fs::remove_file(&self.path);
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
    let of_draws = |name: &str| {
        let name = name.trim_start_matches('.');
        name.strip_prefix(DRAWS).is_some_and(|rest| rest.starts_with('.'))
    };
    [FIT, DATA, VERDICT].iter().any(|file| name == format!("{file}{UNFINISHED}"))
        || name == NEW
        || (name.starts_with('.') && name.ends_with(UNFINISHED) && of_draws(name))
}

/// An error if there is anything in the folder but `ours` and what was being written.
pub(super) fn check_entries(folder: &Path, ours: &[&str]) -> Result<(), Error> {
    let mut entries = entries(folder)?.into_iter();
    match entries.find(|name| !ours.contains(&&name[..]) && !is_unfinished(name)) {
        None => Ok(()),
        Some(name) => Err(not_empty(folder, &name)),
    }
}

/// An error if the rows of another fit, or somebody's own file, would be written over.
pub(super) fn check_data(folder: &Path, data: &[u8]) -> Result<(), Error> {
    match fs::read(folder.join(DATA)) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Ok(there) if there == data => Ok(()),
        _ => Err(not_empty(folder, DATA)),
    }
}

fn not_empty(folder: &Path, name: &str) -> Error {
    problem(folder, format!("it is not empty: there is `{name}`")).advise([Advice::OtherFolder])
}

/// Removes what processes that were killed have left, but for locks. The folder is locked. Of two folders of draws, those
/// stay that `fit.json` is of.
pub(super) fn tidy(folder: &Path) -> Result<(), Error> {
    let (draws, old) = (folder.join(DRAWS), folder.join(OLD));
    if old.exists() {
        let finished = read_json(folder)?.filter(|saved| saved.finished);
        let recipe = finished.map(|saved| saved.recipe(folder)).transpose()?;
        let is_of = |path: &Path| recipe.as_ref().is_some_and(|r| read_draws(path, r).is_ok());
        if recipe.is_none() || is_of(&draws) {
            remove(&old)?;
        } else if is_of(&old) {
            remove(&folder.join(NEW))?;
            if draws.exists() {
                rename(&draws, &folder.join(NEW))?;
            }
            rename(&old, &draws)?;
        }
        // Else neither can be read, now or ever: nothing is removed.
    }
    let mut left = entries(folder)?.into_iter().filter(|name| is_unfinished(name));
    left.try_for_each(|name| remove(&folder.join(name)))
}

/// Whether there is something for [`tidy`] to do, or a lock that a process which was killed has left.
fn is_untidy(folder: &Path) -> bool {
    let names = entries(folder).unwrap_or_default();
    names.iter().any(|name| [OLD, LOCK].contains(&&name[..]) || is_unfinished(name))
}

/// Removes a file or a folder, if it is there.
fn remove(path: &Path) -> Result<(), Error> {
    let is_folder = path.symlink_metadata().is_ok_and(|there| there.is_dir());
    match if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) } {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io(path, e)),
        _ => Ok(()),
    }
}

fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    fs::rename(from, to).and_then(|()| sync_folder(to)).map_err(|e| Error::io(to, e))
}

/// Writes everything. The folder is locked. At each moment it holds the fit that was there, or this one:
/// which of them is said by `fit.json`, which comes last, when all else is on the disk. The draws of the
/// fit that was there stay until then, under another name at last, which [`load`] knows.
pub(super) fn finish(folder: &Path, fit: &Fit, data: &[u8]) -> Result<(), Error> {
    let verdict = verdict(fit);
    tidy(folder)?;
    if !folder.join(FIT).exists() {
        // The folder is ours from here on, also if this process is killed.
        write_json(folder, &Saved::of(&fit.parts, data, None)?)?;
    }
    write_data(folder, data)?;
    let [draws, new, old] = [DRAWS, NEW, OLD].map(|name| folder.join(name));
    fit.draws.to_zarr(&new)?;
    sync_all(&new).map_err(|e| Error::io(&new, e))?;
    let crc32 = checksum_of(&new).map_err(|e| Error::io(&new, e))?;
    match draws.metadata() {
        Err(e) if e.kind() == ErrorKind::NotFound => {}
        Ok(there) if there.is_dir() => rename(&draws, &old)?,
        Ok(_) => return Err(Error::io(&draws, ErrorKind::NotADirectory.into())),
        Err(e) => return Err(Error::io(&draws, e)),
    }
    rename(&new, &draws)?;
    write(&folder.join(VERDICT), verdict.as_bytes())?;
    write_json(folder, &Saved::of(&fit.parts, data, Some((&verdict, crc32)))?)?;
    // What cannot be removed now is removed later.
    let _ = remove(&old);
    Ok(())
}

/// The CRC-32 of the names and bytes of all files below a Zarr folder, but for what the root says of the run,
/// which has times in it and a checksum of its own.
pub(super) fn checksum_of(zarr: &Path) -> io::Result<u32> {
    let (mut files, mut folders) = (Vec::new(), vec![zarr.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let mut crc = crc32fast::Hasher::new();
    for path in files {
        let name = path.strip_prefix(zarr).unwrap_or(&path);
        let mut bytes = fs::read(&path)?;
        if name == Path::new("zarr.json") {
            let root: Value = serde_json::from_slice(&bytes)?;
            bytes = serde_json::to_vec(&root["consolidated_metadata"])?;
        }
        crc.update(name.to_string_lossy().as_bytes());
        crc.update(&bytes);
    }
    Ok(crc.finalize())
}

/// What `verdict.txt` holds.
pub(super) fn verdict(fit: &Fit) -> String {
    // The folder may be read by people who have made it with any face.
    let verdict =
        fit.verdict().map_or_else(|e| e.in_words(&Plain), |verdict| verdict.in_words(&Plain));
    format!("{verdict}\n")
}

/// Writes the rows, unless they are there.
fn write_data(folder: &Path, data: &[u8]) -> Result<(), Error> {
    let path = folder.join(DATA);
    match fs::read(&path).is_ok_and(|there| there == data) {
        true => Ok(()),
        false => write(&path, data),
    }
}

/// Flushes all files below `path` to the disk, and the folders that hold them.
fn sync_all(path: &Path) -> io::Result<()> {
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
    write(&folder.join(FIT), saved.text(folder)?.as_bytes())
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
    let mut saved = match read(folder)? {
        Read::Saved(saved) => *saved,
        Read::Damaged(error) => return Err(with_advice(folder, error)),
        Read::Nothing if !folder.exists() => {
            return Err(Error::io(folder, ErrorKind::NotFound.into()));
        }
        Read::Nothing => {
            let nothing = "there is no `fit.json`: it is not the folder of a fit";
            return Err(match folder.join(CHECKPOINT).exists() {
                true => with_advice(folder, problem(&folder.join(FIT), "it is not there")),
                false => problem(folder, nothing),
            });
        }
    };
    loop {
        if !saved.finished {
            let advice = [Advice::GoOn, Advice::EndWithFewerDraws];
            return Err(problem(&folder.join(FIT), "the run is not finished").advise(advice));
        }
        let error = match load_finished(folder, &saved) {
            Ok(fit) => return Ok(fit),
            Err(error) => error,
        };
        // Another process may have put more draws in the place of these meanwhile.
        match read_json(folder) {
            Ok(Some(now)) if now != saved => saved = now,
            _ => return Err(with_advice(folder, error)),
        }
    }
}

/// The fit that `saved` is of.
pub(super) fn load_finished(folder: &Path, saved: &Saved) -> Result<Fit, Error> {
    let recipe = saved.recipe(folder)?;
    let data_path = folder.join(DATA);
    let bytes = fs::read(&data_path).map_err(|e| Error::io(&data_path, e))?;
    if crc32fast::hash(&bytes) != saved.data_crc32 {
        return Err(problem(&data_path, "it is not as it was written: its checksum differs"));
    }
    let data = rows::from_csv(&bytes, saved).map_err(|e| problem(&data_path, e))?;
    let Saved { schema, lines, dropped, .. } = saved.clone();
    let parts = Parts::new(recipe, &data, Origin { schema, lines, dropped })?;
    let path = folder.join(DRAWS);
    let draws = read_draws(&path, &parts.recipe)
        .or_else(|error| read_draws(&folder.join(OLD), &parts.recipe).map_err(|_| error))?;
    let fit = Fit { parts: parts.into(), draws, save_error: None, rebuilt: Vec::new() };
    // The density at the first draw says whether the draws are of this posterior.
    let first = fit.parts.train.select(&[0])?;
    let checked = fit.parts.posterior.predict(&fit.draws, &first);
    checked.map_err(|e| problem(&path, format!("it holds the draws of another run: {e}")))?;
    Ok(fit)
}

/// As [`load_finished`]; what no draw depends on is an error, too, if it is not as it was written: what
/// other programs read of `draws.zarr`.
pub(super) fn load_whole(folder: &Path, saved: &Saved) -> Result<Fit, Error> {
    let fit = load_finished(folder, saved)?;
    let path = folder.join(DRAWS);
    match saved.draws_crc32 {
        Some(crc) if checksum_of(&path).ok() != Some(crc) => {
            Err(problem(&path, "a file in it is lacking, or is not as it was written"))
        }
        _ => Ok(fit),
    }
}

/// The draws at `path`, which are those of a run of `recipe`.
fn read_draws(path: &Path, recipe: &Recipe) -> Result<Draws, Error> {
    let draws = Draws::from_zarr(path)?;
    let checked = recipe.check_draws(&draws);
    checked.map_err(|e| problem(path, format!("it holds the draws of another run: {e}")))?;
    Ok(draws)
}

/// Whether a file is not what was written, or not there. What the system refuses to read may be whole.
fn is_damage(error: &Error) -> bool {
    use ErrorKind::{IsADirectory, NotADirectory, NotFound, UnexpectedEof};
    match error {
        Error::Io { source, .. } => {
            [IsADirectory, NotADirectory, NotFound, UnexpectedEof].contains(&source.kind())
        }
        error => error.is_data(),
    }
}

/// The error, with what can be done about damage in a folder.
pub(super) fn with_advice(folder: &Path, error: Error) -> Error {
    if !is_damage(&error) {
        return error;
    }
    let has_parts = || entries(folder).is_ok_and(|names| names.iter().any(|n| parts::is_part(n)));
    let advice = if folder.join(CHECKPOINT).exists() {
        "begin it again in the same way, which rebuilds it from the checkpoint"
    } else if has_parts() {
        "merge the parts again, which rebuilds it"
    } else {
        "no checkpoint is left to rebuild it from: take it from a copy, or delete the folder and begin it \
         again in the same way, which makes the same draws anew"
    };
    match error {
        Error::Io { path, source } => problem(&path, source.to_string()).advise([advice.into()]),
        other => other.advise([advice.into()]),
    }
}

/// What is at the place of `fit.json`.
pub(super) enum Read {
    Nothing,
    Damaged(Error),
    Saved(Box<Saved>),
}

/// # Errors
/// A file that the system refuses to read, or one of another version of this crate.
pub(super) fn read(folder: &Path) -> Result<Read, Error> {
    let path = folder.join(FIT);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Read::Nothing),
        Err(e) => return Err(Error::io(path, e)),
    };
    let damaged = |what: String| Ok(Read::Damaged(problem(&path, what)));
    let value: Value = match serde_json::from_slice(&bytes) {
        Ok(value) => value,
        Err(e) => return damaged(format!("it is not JSON: {e}")),
    };
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
        None => return damaged("it is not of a fit: it has no `format`".into()),
    }
    let saved: Saved = match serde_json::from_value(value) {
        Ok(saved) => saved,
        Err(e) => return damaged(e.to_string()),
    };
    if saved.crc32 != saved.checksum() {
        return damaged("it was edited or damaged: its checksum differs".into());
    }
    Ok(Read::Saved(Box::new(saved)))
}

/// What `fit.json` holds, if it is there. One that is damaged is an error.
pub(super) fn read_json(folder: &Path) -> Result<Option<Saved>, Error> {
    match read(folder)? {
        Read::Nothing => Ok(None),
        Read::Damaged(error) => Err(error),
        Read::Saved(saved) => Ok(Some(*saved)),
    }
}

/// What a run finds in its folder.
enum There {
    /// No `fit.json`, and no checkpoint.
    Nothing,
    /// A run that has not come to its end.
    Unfinished(Box<Saved>),
    /// A fit with fewer draws than are asked for.
    Fewer,
    /// A file that can be rebuilt from what is asked for and the checkpoint, if that is there.
    Damaged(Error),
    /// What is asked for, and the checksum of its verdict.
    Whole(Box<Fit>, Option<u32>),
}

/// A run that is asked for.
struct Wanted<'r> {
    folder: &'r Path,
    parts: Parts,
    data: Vec<u8>,
    saved: Saved,
}

/// Runs a fit in `folder`, goes on with it, or loads it.
pub(super) fn run(folder: &Path, parts: Parts) -> Result<Fit, Error> {
    let data = rows::to_csv(&parts.data)?;
    let saved = Saved::of(&parts, &data, None)?;
    let wanted = Wanted { folder, parts, data, saved };
    // Also where nothing can be written.
    let first = match wanted.look()? {
        There::Whole(fit, crc) => return Ok(wanted.mended(*fit, crc)),
        There::Damaged(error) => Some(error),
        _ => None,
    };
    if let Some(chains) = &wanted.parts.recipe.only_chains {
        parts::check_others(folder, chains, &wanted.saved)?;
    }
    let is_new = !folder.exists();
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    let lock = Lock::take(folder).map_err(|refused| match first {
        // Where nothing can be written, the damage is what there is to say.
        Some(damage) if refused.is_io() => with_advice(folder, damage),
        _ => refused,
    })?;
    let fit = wanted.run();
    drop(lock);
    if is_new && fit.is_err() {
        // Only an empty folder can be removed: a run that was refused leaves none.
        let _ = fs::remove_dir(folder);
    }
    fit
}

impl Wanted<'_> {
    /// What is in the folder; an error if it is another fit.
    fn look(&self) -> Result<There, Error> {
        let there = match read(self.folder)? {
            Read::Saved(there) => there,
            Read::Damaged(error) => return Ok(There::Damaged(error)),
            Read::Nothing if self.folder.join(CHECKPOINT).exists() => {
                return Ok(There::Damaged(problem(&self.folder.join(FIT), "it is not there")));
            }
            Read::Nothing => return Ok(There::Nothing),
        };
        if let Some(difference) = self.saved.difference(&there) {
            let path = self.folder.join(FIT);
            return Err(other_fit(&path, "the folder holds another fit", difference));
        }
        if !there.finished {
            return Ok(There::Unfinished(there));
        }
        if draws(&there.recipe) < draws(&self.saved.recipe) {
            return Ok(There::Fewer);
        }
        let fit = match load_whole(self.folder, &there) {
            Ok(fit) => fit,
            Err(error) if is_damage(&error) => return Ok(There::Damaged(error)),
            Err(error) => return Err(error),
        };
        let (part, asked) = (&fit.draws.info().part, &self.parts.recipe.only_chains);
        let part = part.as_ref().map(|part| &part.chains);
        if part != asked.as_ref() {
            let shown = |p: Option<&Range<usize>>| p.map_or("all".into(), |p| format!("{p:?}"));
            let (here, asked) = (shown(part), shown(asked.as_ref()));
            let other = format!("it holds the chains {here} of the fit, and {asked} are asked for");
            return Err(problem(self.folder, other));
        }
        if fit.draws.info().stopped_early {
            let stopped = "it holds a run that was stopped early and saved";
            let advice = [Advice::OtherFolder, "load it".into()];
            return Err(problem(self.folder, stopped).advise(advice));
        }
        Ok(There::Whole(Box::new(fit), there.verdict_crc32))
    }

    /// The fit, with the folder in order, if it can be written.
    fn mended(&self, fit: Fit, verdict_crc32: Option<u32>) -> Fit {
        mended(self.folder, fit, verdict_crc32, true)
    }

    /// Runs, or goes on. The folder is locked.
    fn run(self) -> Result<Fit, Error> {
        let Self { folder, data, saved, .. } = &self;
        let [fit_path, data_path, checkpoint] =
            [FIT, DATA, CHECKPOINT].map(|name| folder.join(name));
        let had_data = data_path.exists();
        // What cannot be put in order does no harm.
        let _ = tidy(folder);
        let mut there = self.look()?;
        let mut said = Vec::new();
        let is_known = matches!(read(folder)?, Read::Saved(_));
        if let There::Damaged(error) = &there
            && is_known
            && !fs::read(&data_path).is_ok_and(|there| there == *data)
        {
            // The rows are those that are asked for, by the checksum in `fit.json`.
            said.push(rebuilt(error, "written anew"));
            write_data(folder, data)?;
            there = self.look()?;
        }
        let there = match there {
            // It may have been finished before the lock was taken.
            There::Whole(mut fit, crc) => {
                fit.rebuilt.append(&mut said);
                return Ok(mended(folder, *fit, crc, false));
            }
            There::Damaged(error) if !checkpoint.exists() => {
                return Err(with_advice(folder, error));
            }
            There::Fewer if !checkpoint.exists() => {
                let gone = "a finished run goes on to more draws from its `checkpoint`, which is not there";
                return Err(problem(folder, gone).advise([Advice::OtherFolder]));
            }
            other => other,
        };
        match &there {
            There::Nothing => {
                // A process that was killed before it wrote `fit.json` may have left the data.
                check_entries(folder, &[LOCK, DATA])?;
                check_data(folder, data)?;
                write_json(folder, saved)?;
                write_data(folder, data)?;
            }
            There::Unfinished(there) if there.recipe != saved.recipe => write_json(folder, saved)?,
            There::Damaged(_) if !is_known => check_data(folder, data)?,
            _ => {}
        }
        let sampled = self.parts.recipe.sample(&self.parts, Some(&checkpoint));
        let draws = sampled.map_err(|error| {
            // A setting that the sampler refuses does not claim the folder, and changes nothing there.
            match &there {
                There::Unfinished(there) if checkpoint.exists() => {
                    let _ = write_json(folder, there);
                }
                There::Nothing if checkpoint.exists() => {}
                There::Nothing | There::Unfinished(_) => {
                    let data = (!had_data).then_some(&data_path);
                    for path in [&fit_path].into_iter().chain(data) {
                        let _ = fs::remove_file(path);
                    }
                }
                There::Damaged(damage) => {
                    let both =
                        format!("{damage}; it cannot be rebuilt from the checkpoint: {error}");
                    return problem(folder, both);
                }
                There::Fewer | There::Whole(..) => {}
            }
            error
        })?;
        if let There::Damaged(error) = &there {
            said.push(rebuilt(error, "rebuilt from the checkpoint"));
        }
        let Self { folder, data, parts, .. } = self;
        let mut fit = Fit { parts: parts.into(), draws, save_error: None, rebuilt: said };
        if !fit.draws.info().stopped_early {
            // The draws are in memory and in the checkpoint.
            if let Err(error) = finish(folder, &fit, &data) {
                fit.parts.recipe.report(&format!("the fit could not be saved: {error}"));
                fit.save_error = Some(error);
            }
        }
        Ok(fit)
    }
}

/// What is said of damage that was mended.
pub(super) fn rebuilt(damage: &Error, how: &str) -> String {
    format!("{damage}: {how}")
}

/// The fit that was found whole, with what else is in its folder put in order: what processes that were
/// killed have left, and a verdict that is not the one that was written. Nothing of it is needed, so that a
/// folder in which nothing can be written, or another process runs, is no error.
pub(super) fn mended(
    folder: &Path,
    mut fit: Fit,
    verdict_crc32: Option<u32>,
    needs_lock: bool,
) -> Fit {
    let path = folder.join(VERDICT);
    let is_as_written = || match (verdict_crc32, fs::read(&path)) {
        (Some(crc), Ok(there)) => crc32fast::hash(&there) == crc,
        (_, there) => there.is_ok() && verdict_crc32.is_none(),
    };
    if !is_untidy(folder) && is_as_written() {
        return fit;
    }
    let lock = needs_lock.then(|| Lock::take(folder));
    let is_changed =
        read_json(folder).ok().flatten().is_none_or(|s| s.verdict_crc32 != verdict_crc32);
    if lock.as_ref().is_some_and(Result::is_err) || is_changed || tidy(folder).is_err() {
        return fit;
    }
    let text = verdict(&fit);
    let is_right = is_as_written() || fs::read(&path).is_ok_and(|there| there == text.as_bytes());
    if !is_right && write(&path, text.as_bytes()).is_ok() {
        fit.rebuilt.push(rebuilt(&problem(&path, "it is not as it was written"), "written anew"));
    }
    fit
}
