//! The parts of a fit that jobs of their own have run, each in a folder inside the fit's.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folder::{
    Lock, PART, chains_of, check_data, entries, finish, load_finished, load_whole, mended, rebuilt,
    tidy, with_advice,
};
use super::saved::{Read, Saved, other_fit, problem, read, read_json};
use super::{Fit, Plan};
use crate::Error;
use crate::draws::Draws;
use crate::message::{Advice, listed};

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
    let (mut seen, mut begun) = (Vec::<(&String, Range<usize>)>::new(), Vec::new());
    for name in &names {
        let path = folder.join(name);
        if let Some(chains) = chains_of(name) {
            if let Some((other, theirs)) = seen.iter().find(|(_, seen)| overlap(seen, &chains)) {
                return Err(same_chains(&path, &chains, &folder.join(other), theirs));
            }
            seen.push((name, chains));
        }
        if let Some(saved) = read_json(&path)? {
            begun.push((name, path, saved));
        }
    }
    if begun.is_empty() && !names.is_empty() {
        let names = listed(names.iter().map(|name| format!("`{name}`")).collect());
        let problem_of = "without `fit.json`: the job has not begun, or was refused";
        return Err(problem(folder, format!("all parts are {problem_of} ({names})")));
    }
    check_complete(folder, &begun)?;
    let mut first: Option<(PathBuf, Saved)> = None;
    let (mut whole, mut draws) = (None, Vec::new());
    for (_, path, saved) in begun {
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
        let Fit { plan, draws: of_part, .. } =
            load_finished(&path, &saved).map_err(|error| with_advice(&path, error))?;
        draws.push(Arc::unwrap_or_clone(of_part));
        whole.get_or_insert(plan);
        first.get_or_insert((path, saved));
    }
    let (Some((_, saved)), Some(plan)) = (first, whole) else {
        return Err(problem(folder, no_parts()));
    };
    let _lock = Lock::take(folder)?;
    write(folder, &saved, plan, draws)
}

fn no_parts() -> String {
    format!("there are no parts of a fit, in folders `{PART}..`")
}

/// Returns an error unless the parts that were begun have all chains and are finished. It names all chains that lack, so
/// that their jobs can be begun at once.
fn check_complete(folder: &Path, begun: &[(&String, PathBuf, Saved)]) -> Result<(), Error> {
    let Some((_, path, saved)) = begun.first() else {
        return Err(problem(folder, no_parts()));
    };
    let all = 0..saved.recipe(path)?.sizes().chains;
    let of = |is_finished: bool| {
        let parts = begun.iter().filter(move |(_, _, saved)| saved.finished == is_finished);
        parts.filter_map(|(name, ..)| chains_of(name)).collect::<Vec<_>>()
    };
    let (finished, unfinished) = (of(true), of(false));
    let has = |parts: &[Range<usize>], chain| parts.iter().any(|part| part.contains(&chain));
    let is_missing = |chain| !has(&finished, chain) && !has(&unfinished, chain); //~ missing-chains
    let missing = runs(&all, is_missing);
    let unfinished = runs(&all, |chain| has(&unfinished, chain));
    let mut found = Vec::new();
    if !missing.is_empty() {
        found.push(format!(
            "no part has the chains {} of {all:?}: their job has not begun",
            ranges(&missing)
        ));
    }
    if !unfinished.is_empty() {
        found.push(format!("the chains {} of {all:?} are not finished", ranges(&unfinished)));
    }
    match (found.is_empty(), unfinished.is_empty()) {
        (true, _) => Ok(()),
        (_, true) => Err(problem(folder, found.join("; "))),
        (_, false) => {
            let advice = [Advice::GoOn, Advice::EndWithFewerDraws];
            Err(problem(folder, found.join("; ")).advise(advice))
        }
    }
}

/// The longest ranges within `all` whose numbers all have a property.
fn runs(all: &Range<usize>, has: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for i in all.clone().filter(|i| has(*i)) {
        match runs.last_mut() {
            Some(last) if last.end == i => last.end += 1,
            _ => runs.push(i..i + 1),
        }
    }
    runs
}

/// `0..2, 3..4 and 6..8`.
fn ranges(ranges: &[Range<usize>]) -> String {
    listed(ranges.iter().map(|range| format!("{range:?}")).collect())
}

/// Merges `draws`, and writes them unless they are there. The folder is locked.
fn write(folder: &Path, saved: &Saved, plan: Arc<Plan>, draws: Vec<Draws>) -> Result<Fit, Error> {
    let data = plan.sum_of_rows()?;
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
    let fit = Fit { rebuilt: said, ..Fit::new(plan, Draws::merge(draws)?) };
    finish(folder, &fit, &data)?;
    Ok(fit)
}
