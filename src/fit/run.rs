//! A fit that is run in its folder, goes on there, or is loaded.

use std::fs;
use std::ops::Range;
use std::path::Path;

use super::folder::{
    CHECKPOINT, LOCK, Lock, check_data, check_entries, finish, is_damage, load_whole, mended,
    rebuilt, tidy, with_advice, write_data, write_json,
};
use super::rows::Sum;
use super::saved::{DATA, FIT, Read, Saved, draws, other_fit, problem, read};
use super::{Fit, Plan, parts};
use crate::Error;
use crate::draws::Draws;
use crate::message::Advice;

/// The state of a run's folder.
enum There {
    /// No `fit.json`, and no checkpoint.
    Nothing,
    /// A run that has not come to its end.
    Unfinished(Box<Saved>),
    /// A fit with fewer draws than are asked for.
    Fewer,
    /// A damaged file, which can be rebuilt from the fit that is asked for and the checkpoint, if
    /// that exists.
    Damaged(Error),
    /// The fit that is asked for, and the checksum of its verdict.
    Whole(Box<Fit>, Option<u32>),
}

/// A run that is asked for.
struct Wanted<'r> {
    folder: &'r Path,
    plan: Plan,
    data: Sum,
    saved: Saved,
}

/// Saves the draws of a run whose folder is gone beside the place of what was removed or renamed, and returns the error that says so;
/// `None` if they could not be saved.
fn kept_beside(folder: &Path, fit: &Fit) -> Option<Error> {
    let mut gone = folder;
    while let Some(above) = gone.parent().filter(|above| !above.as_os_str().is_empty()) {
        if above.exists() {
            break;
        }
        gone = above;
    }
    let name = gone.file_name().unwrap_or_default().to_string_lossy();
    let beside = gone.with_file_name(format!("{name}.kept"));
    let rest = match fit.draws.n_draws() {
        0 => "which had no draws yet".to_string(),
        n => {
            fit.save(&beside).ok()?;
            format!("whose {n} draws of each chain are in {}", beside.display())
        }
    };
    let problem = format!("it was removed or renamed while the run went on, {rest}");
    Some(Error::table(gone.display().to_string(), problem))
}

/// Runs a fit in `folder`, goes on with it, or loads it.
pub(super) fn run(folder: &Path, plan: Plan) -> Result<Fit, Error> {
    let data = plan.sum_of_rows()?;
    let saved = Saved::of(&plan, &data, None)?;
    let wanted = Wanted { folder, plan, data, saved };
    // The folder is read first, so that a finished fit loads also where nothing can be written.
    let first = match wanted.look()? {
        There::Whole(fit, crc) => return Ok(wanted.mended(*fit, crc)),
        There::Damaged(error) => Some(error),
        _ => None,
    };
    if let Some(chains) = &wanted.plan.recipe.here.only_chains {
        parts::check_others(folder, chains, &wanted.saved)?;
    }
    let is_new = !folder.exists();
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    let lock = Lock::take(folder).map_err(|refused| match first {
        // Where nothing can be written, the error is about the damage.
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
    /// The state of the folder; an error if it holds another fit.
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
        //~ more-draws
        if draws(&there.recipe) < draws(&self.saved.recipe) {
            return Ok(There::Fewer);
        }
        let fit = match load_whole(self.folder, &there) {
            Ok(fit) => fit,
            Err(error) if is_damage(&error) => return Ok(There::Damaged(error)),
            Err(error) => return Err(error),
        };
        let (part, asked) = (&fit.draws.info().part, &self.plan.recipe.here.only_chains);
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
        let [data_path, checkpoint] = [DATA, CHECKPOINT].map(|name| folder.join(name));
        let had_data = data_path.exists();
        // A folder that cannot be tidied does no harm.
        let _ = tidy(folder);
        let mut there = self.look()?;
        let mut said = Vec::new();
        let is_known = matches!(read(folder)?, Read::Saved(_));
        if let There::Damaged(error) = &there
            && is_known
            && !data.is_of(&data_path).unwrap_or(false)
        {
            // The rows are those that are asked for, by the checksum in `fit.json`.
            said.push(rebuilt(error, "written anew"));
            write_data(folder, &self.plan, data)?;
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
                write_data(folder, &self.plan, data)?;
            }
            There::Unfinished(there) if there.recipe != saved.recipe => write_json(folder, saved)?,
            There::Damaged(_) if !is_known => check_data(folder, data)?,
            _ => {}
        }
        let sampled = self.plan.recipe.sample(&self.plan, Some(&checkpoint));
        let draws = sampled.map_err(|error| self.refused(error, &there, had_data))?;
        if let There::Damaged(error) = &there {
            said.push(rebuilt(error, "rebuilt from the checkpoint"));
        }
        self.kept(draws, said)
    }

    /// The error of a sampler that has not begun: it does not claim the folder, and leaves it as it was.
    fn refused(&self, error: Error, there: &There, had_data: bool) -> Error {
        let folder = self.folder;
        match there {
            // The model may be one that a search has found.
            There::Unfinished(there) => {
                let _ = write_json(folder, there); //~ chosen-model-stays
            }
            There::Nothing if folder.join(CHECKPOINT).exists() => {}
            There::Nothing => {
                let data = (!had_data).then_some(DATA);
                for name in [FIT].into_iter().chain(data) {
                    let _ = fs::remove_file(folder.join(name));
                }
            }
            There::Damaged(damage) => {
                let both = format!("{damage}; it cannot be rebuilt from the checkpoint: {error}");
                return problem(folder, both);
            }
            There::Fewer | There::Whole(..) => {}
        }
        error
    }

    /// The fit of these draws, saved in the folder unless the run was stopped; what was said is of files that are written anew.
    fn kept(self, draws: Draws, said: Vec<String>) -> Result<Fit, Error> {
        let Self { folder, data, plan, .. } = self;
        let was_open = plan.recipe.has_open_draws();
        let plan = plan.ended(&draws);
        if was_open && !draws.info().stopped_early {
            // The number of draws stands there before the files are, which takes a while.
            let _ = Saved::of(&plan, &data, None).and_then(|saved| write_json(folder, &saved));
        }
        let mut fit = Fit { rebuilt: said, ..Fit::new(plan, draws) };
        if !fit.draws.info().stopped_early {
            // The draws are in memory and in the checkpoint.
            if let Err(error) = finish(folder, &fit, &data) {
                fit.plan.recipe.report(&format!("the fit could not be saved: {error}"));
                fit.save_error = Some(error);
            }
        }
        match (!folder.exists()).then(|| kept_beside(folder, &fit)).flatten() {
            Some(kept) => Err(kept),
            None => Ok(fit),
        }
    }
}
