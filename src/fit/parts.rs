//! The parts of a fit that jobs of their own have run, each in a folder inside the fit's.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folder::{
    Lock, PART, chains_of, check_data, entries, finish, load_finished, load_whole, mended, rebuilt,
    tidy, with_advice,
};
use super::saved::{Read, Saved, other_fit, problem, read, read_json};
use super::{Fit, Parts};
use crate::Error;
use crate::draws::Draws;
use crate::message::Advice;

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end //~ overlapping-jobs
}

/// Returns an error if another part beside the one in `folder`, which is `saved`, has some of the
/// same chains or belongs to another fit, so that the error does not come from [`merge`] after all
/// the work. Parts that cannot be read are left to [`merge`].
pub(super) fn check_others(
    folder: &Path,
    chains: &Range<usize>,
    saved: &Saved,
) -> Result<(), Error> {
    let Some(whole) = folder.parent().filter(|whole| whole.is_dir()) else { return Ok(()) };
    let mut names = entries(whole)?;
    names.sort();
    for name in names {
        let other = whole.join(&name);
        let Some(theirs) = chains_of(&name).filter(|theirs| theirs != chains) else { continue };
        let Ok(Some(there)) = read_json(&other) else { continue };
        // They may be asked for more draws one after the other.
        if let Some(difference) = saved.difference(&there) {
            let found = format!("the part beside it, {}, is of another fit", other.display());
            return Err(other_fit(folder, found, difference));
        }
        if overlap(chains, &theirs) {
            return Err(same_chains(folder, chains, &other, &theirs));
        }
    }
    Ok(())
}

fn same_chains(one: &Path, a: &Range<usize>, other: &Path, b: &Range<usize>) -> Error {
    let shared = a.start.max(b.start)..a.end.min(b.end);
    let shared = match shared.len() {
        1 => format!("chain {}", shared.start),
        _ => format!("chains {shared:?}"),
    };
    problem(one, format!("{shared} would be there twice, here and in {}", other.display()))
}

/// Puts the parts in `folder` together and writes the fit there, or loads it if that was done before.
pub(super) fn merge(folder: &Path) -> Result<Fit, Error> {
    let mut names = entries(folder)?;
    names.retain(|name| name.starts_with(PART));
    names.sort();
    let mut first: Option<(PathBuf, Saved)> = None;
    let (mut whole, mut draws) = (None, Vec::new());
    let mut seen: Vec<(&String, Range<usize>)> = Vec::new();
    for name in &names {
        let path = folder.join(name);
        if let Some(chains) = chains_of(name) {
            if let Some((other, theirs)) = seen.iter().find(|(_, seen)| overlap(seen, &chains)) {
                return Err(same_chains(&path, &chains, &folder.join(other), theirs));
            }
            seen.push((name, chains));
        }
        let Some(saved) = read_json(&path)? else {
            return Err(problem(
                &path,
                "there is no `fit.json`: its job has not begun, or was refused",
            ));
        };
        if !saved.finished {
            let advice = [Advice::GoOn, Advice::EndWithFewerDraws];
            return Err(problem(&path, "the part is not finished").advise(advice));
        }
        if let Some((one, expected)) = &first
            && let Some(difference) =
                expected.difference(&saved).or_else(|| saved.difference(expected))
        {
            let found = format!("it is not of the fit of {}", one.display());
            return Err(other_fit(&path, found, difference));
        }
        let Fit { parts, draws: of_part, .. } =
            load_finished(&path, &saved).map_err(|error| with_advice(&path, error))?;
        draws.push(of_part);
        whole.get_or_insert(parts);
        first.get_or_insert((path, saved));
    }
    let (Some((_, saved)), Some(parts)) = (first, whole) else {
        let none = format!("there are no parts of a fit, in folders `{PART}..`");
        return Err(problem(folder, none));
    };
    let has = |chain: &usize| seen.iter().any(|(_, chains)| chains.contains(chain));
    let all = 0..parts.recipe.sizes().chains;
    if let Some(from) = all.clone().find(|chain| !has(chain)) {
        let to = (from..all.end).find(has).unwrap_or(all.end);
        let lacking =
            format!("no part has the chains {:?} of {all:?}: their job has not begun", from..to);
        return Err(problem(folder, lacking));
    }
    let _lock = Lock::take(folder)?;
    write(folder, &saved, parts, draws)
}

/// Merges `draws`, and writes them unless they are there. The folder is locked.
fn write(folder: &Path, saved: &Saved, parts: Arc<Parts>, draws: Vec<Draws>) -> Result<Fit, Error> {
    let data = parts.to_csv()?;
    let mut said = Vec::new();
    let _ = tidy(folder);
    let mut mend = |error: &Error| said.push(rebuilt(error, "rebuilt from the parts"));
    match read(folder)? {
        Read::Saved(there) => {
            if let Some(difference) = saved.difference(&there) {
                let found = "it holds another fit than its parts";
                return Err(other_fit(folder, found, difference));
            }
            // Fewer draws are written over.
            if there.finished && there.difference(saved).is_none() {
                match load_whole(folder, &there) {
                    Ok(fit) => return Ok(mended(folder, fit, there.verdict_crc32, false)),
                    Err(error) => mend(&error),
                }
            }
        }
        // Other files in the folder stay; only the files of a fit are replaced.
        Read::Nothing => check_data(folder, &data)?,
        Read::Damaged(error) => {
            check_data(folder, &data)?;
            mend(&error);
        }
    }
    let fit = Fit { parts, draws: Draws::merge(draws)?, save_error: None, rebuilt: said };
    finish(folder, &fit, &data)?;
    Ok(fit)
}
