//! The files of a fit in its folder: written, read, put in order.

use std::borrow::Cow;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::rows::Sum;
use super::saved::{DATA, FIT, Read, Saved, problem, read, read_json};
use super::{Fit, Origin, Plan, Recipe, rows};
use crate::Error;
use crate::draws::Draws;
use crate::draws::checkpoint::{is_at, sync_folder};
use crate::message::{Advice, Plain};

pub(super) const DRAWS: &str = "draws.zarr";
pub(super) const VERDICT: &str = "verdict.txt";
pub(super) const CHECKPOINT: &str = "checkpoint";
pub(super) const LOCK: &str = ".bnn-mcmc.lock";
/// Draws that are whole, but not in their place yet.
const NEW: &str = ".draws.zarr.new";
/// The draws that `fit.json` is of, while others are put in their place.
const OLD: &str = ".draws.zarr.old";
/// The beginning of the names of the folders of parts.
pub(super) const PART: &str = "chains-";
/// The ending of a file's name while the file is written.
const UNFINISHED: &str = ".tmp";

/// The folder of these chains.
pub(super) fn folder_of(folder: &Path, chains: &Range<usize>) -> PathBuf {
    folder.join(format!("{PART}{chains:?}"))
}

/// Whether a folder of this name holds a part.
fn is_part(name: &str) -> bool {
    chains_of(name).is_some()
}

/// The chains that a folder of this name holds.
pub(super) fn chains_of(name: &str) -> Option<Range<usize>> {
    let (from, to) = name.strip_prefix(PART)?.split_once("..")?;
    Some(from.parse().ok()?..to.parse().ok()?)
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
    finish(folder, fit, &fit.plan.sum_of_rows()?)
}

/// The lock on a folder, which is given back when this is dropped, and by the system when the process ends.
#[must_use]
pub(super) struct Lock {
    path: PathBuf,
    _file: fs::File,
}

impl Lock {
    /// # Errors
    /// If another process has the lock for half a second, or the lock file cannot be made.
    pub fn take(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(LOCK);
        // A run that has just ended may leave its lock for a moment: to a process that another
        // thread was starting meanwhile, until that process closes the file that it has inherited.
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
        // A lock file that cannot be removed does no harm.
        let _ = fs::remove_file(&self.path);
    }
}

/// The names of the entries of the folder.
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

/// An error if there is anything in the folder but `ours` and unfinished files.
pub(super) fn check_entries(folder: &Path, ours: &[&str]) -> Result<(), Error> {
    let mut entries = entries(folder)?.into_iter();
    match entries.find(|name| !ours.contains(&&name[..]) && !is_unfinished(name)) {
        None => Ok(()),
        Some(name) => Err(not_empty(folder, &name)),
    }
}

/// An error if the rows of another fit, or somebody's own file, would be written over.
pub(super) fn check_data(folder: &Path, data: &Sum) -> Result<(), Error> {
    match data.is_of(&folder.join(DATA)) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Ok(true) => Ok(()),
        _ => Err(not_empty(folder, DATA)),
    }
}

fn not_empty(folder: &Path, name: &str) -> Error {
    problem(folder, format!("it is not empty: there is `{name}`")).advise([Advice::OtherFolder])
}

/// Removes the files that killed processes have left, but not locks. The folder is locked. If there
/// are two folders of draws, the one that `fit.json` describes stays.
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
pub(super) fn finish(folder: &Path, fit: &Fit, data: &Sum) -> Result<(), Error> {
    let verdict = verdict(fit);
    tidy(folder)?;
    if !folder.join(FIT).exists() {
        // The folder is ours from here on, also if this process is killed.
        write_json(folder, &Saved::of(&fit.plan, data, None)?)?;
    }
    write_data(folder, &fit.plan, data)?;
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
    write_json(folder, &Saved::of(&fit.plan, data, Some((&verdict, crc32)))?)?;
    // Old draws that cannot be removed now are removed later.
    let _ = remove(&old);
    Ok(())
}

/// The CRC-32 of the names and bytes of all files below a Zarr folder, except the root's
/// information on the run, which has times in it and a checksum of its own.
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

/// The text of `verdict.txt`.
pub(super) fn verdict(fit: &Fit) -> String {
    // The reader of the folder may have made it with any face.
    let verdict =
        fit.verdict().map_or_else(|e| e.in_words(&Plain), |verdict| verdict.in_words(&Plain));
    format!("{verdict}\n")
}

/// Writes the rows, unless they are there.
pub(super) fn write_data(folder: &Path, plan: &Plan, data: &Sum) -> Result<(), Error> {
    let path = folder.join(DATA);
    match data.is_of(&path) {
        Ok(true) => Ok(()),
        _ => write_by(&path, |file| plan.write_rows(file).map_err(io::Error::from)),
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

pub(super) fn write_json(folder: &Path, saved: &Saved) -> Result<(), Error> {
    write(&folder.join(FIT), saved.text(folder)?.as_bytes())
}

/// Writes a file as a whole, or leaves the one that was there.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_by(path, |file| file.write_all(bytes))
}

fn write_by(
    path: &Path,
    contents: impl FnOnce(&mut fs::File) -> io::Result<()>,
) -> Result<(), Error> {
    let new = PathBuf::from(format!("{}{UNFINISHED}", path.display()));
    let written = fs::File::create(&new).and_then(|mut file| {
        contents(&mut file)?;
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
        Read::Nothing => {
            fs::metadata(folder).map_err(|e| Error::io(folder, e))?;
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
    let sum = Sum::of(&data_path).map_err(|e| Error::io(&data_path, e))?;
    if sum.crc32() != saved.data_crc32 {
        return Err(problem(&data_path, "it is not as it was written: its checksum differs"));
    }
    let file = fs::File::open(&data_path).map_err(|e| Error::io(&data_path, e))?;
    let data = rows::read(file, saved).map_err(|e| problem(&data_path, e))?;
    let Saved { schema, lines, dropped, stand_ins, .. } = saved.clone();
    let plan = Plan::new(recipe, Cow::Owned(data), Origin { schema, lines, dropped, stand_ins })?;
    let path = folder.join(DRAWS);
    let draws = read_draws(&path, &plan.recipe)
        //~ old-draws
        .or_else(|error| read_draws(&folder.join(OLD), &plan.recipe).map_err(|_| error))?;
    let fit = Fit::new(plan, draws);
    // The density at the first draw says whether the draws are of this posterior.
    let first = fit.plan.train_rows(&[0])?;
    let checked = fit.plan.posterior.predict(&fit.draws, &first);
    checked.map_err(|e| problem(&path, format!("it holds the draws of another run: {e}")))?;
    Ok(fit)
}

/// Loads a finished fit as [`load_finished`] does, and returns an error if any file of `draws.zarr`
/// differs from what was written, even one that this library does not need.
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

/// The draws at `path`; an error if they are not of a run of `recipe`.
fn read_draws(path: &Path, recipe: &Recipe) -> Result<Draws, Error> {
    let draws = Draws::from_zarr(path)?;
    let checked = recipe.check_draws(&draws);
    checked.map_err(|e| problem(path, format!("it holds the draws of another run: {e}")))?;
    Ok(draws)
}

/// Whether the error says that a file is missing or differs from what was written. A file that the
/// system refuses to read may be undamaged.
pub(super) fn is_damage(error: &Error) -> bool {
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
    let has_parts = || entries(folder).is_ok_and(|names| names.iter().any(|n| is_part(n)));
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

/// The message about damage that was mended.
pub(super) fn rebuilt(damage: &Error, how: &str) -> String {
    format!("{damage}: {how}")
}

/// Puts the rest of the folder of a whole fit in order, and returns the fit: it removes files that
/// killed processes have left, and renews a verdict that differs from the one that was written. The
/// fit does not need these files, so that a folder in which nothing can be written, or in which
/// another process runs, is not an error.
pub(super) fn mended(
    folder: &Path,
    mut fit: Fit,
    verdict_crc32: Option<u32>,
    needs_lock: bool,
) -> Fit {
    let path = folder.join(VERDICT);
    let is_as_written = || match (verdict_crc32, fs::read(&path)) {
        (Some(crc), Ok(there)) => crc32fast::hash(&there) == crc, //~ changed-verdict
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
