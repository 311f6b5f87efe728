//! The parts of a fit that jobs of their own have run, each in a folder inside the fit's.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::folder::{
    Saved, check_entries, entries, finish, load_finished, lock, problem, read_json,
};
use super::{Fit, rows};
use crate::Error;
use crate::draws::Draws;

/// What the names of the folders of parts begin with.
const PART: &str = "chains-";

/// The folder of these chains.
pub(super) fn folder_of(folder: &Path, chains: &Range<usize>) -> PathBuf {
    folder.join(format!("{PART}{chains:?}"))
}

/// Puts the parts in `folder` together and writes the fit there.
pub(super) fn merge(folder: &Path) -> Result<Fit, Error> {
    let mut names = entries(folder)?;
    names.retain(|name| name.starts_with(PART));
    names.sort();
    let mut first: Option<(PathBuf, Saved, Fit)> = None;
    let mut draws = Vec::new();
    for name in &names {
        let path = folder.join(name);
        let Some(saved) = read_json(&path)? else {
            return Err(problem(&path, "there is no `fit.json`: it is not the folder of a part"));
        };
        if !saved.is_finished() {
            let unfinished = "the part is not finished: repeat the job that began it, to go on";
            return Err(problem(&path, unfinished));
        }
        let fit = load_finished(&path, &saved)?;
        draws.push(fit.draws().clone());
        let Some((one, expected, _)) = &first else {
            first = Some((path, saved, fit));
            continue;
        };
        let here = one.display();
        let difference = expected.difference(&saved).or_else(|| saved.difference(expected));
        if let Some(difference) = difference {
            return Err(problem(&path, format!("it is not of the fit of {here}: {difference}")));
        }
    }
    let Some((_, _, fit)) = first else {
        let none = format!("there are no parts of a fit, in folders `{PART}..`");
        return Err(problem(folder, none));
    };
    let fit = Fit { draws: Draws::merge(draws)?, ..fit };
    let _lock = lock(folder)?;
    let ours: Vec<&str> = names.iter().map(String::as_str).chain([super::folder::LOCK]).collect();
    let written = check_entries(folder, &ours)
        .and_then(|()| finish(folder, &fit, &rows::to_csv(fit.data())?));
    let _ = std::fs::remove_file(folder.join(super::folder::LOCK));
    written.map(|()| fit)
}
