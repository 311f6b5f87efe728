//! The folder of a run, as it is read and written beside `fit`.

#[cfg(unix)]
use std::fs;
use std::path::{Component, Path};

use bnn_mcmc::Error;
use bnn_mcmc::fit::Fit;

use crate::Failure;

/// Whether a folder holds the fits of completed tables.
pub fn is_of_tables(path: &Path) -> bool {
    path.join("table-0").is_dir()
}

/// The run of one table in a folder.
pub fn load(path: &Path) -> Result<Fit, Failure> {
    if is_of_tables(path) {
        let shown = path.display();
        return Err(Failure::error(format!(
            "{shown}: it holds the fits of imputed tables: say which one, as {shown}/table-0; only `predict` takes all"
        )));
    }
    load_any(path)
}

/// The run in a folder, also of completed tables. One without draws is an error, since there is nothing to say of it.
pub fn load_any(path: &Path) -> Result<Fit, Failure> {
    let fit = Fit::load(path)?;
    if fit.draws().n_draws() == 0 {
        let shown = path.display();
        return Err(Failure::error(format!(
            "{shown}: the run has no draws, so that there is nothing to judge or to predict from"
        )));
    }
    Ok(fit)
}

/// Whether `fit` writes something of this name to the folder of a run.
fn is_own(name: &str) -> bool {
    const OWN: [&str; 9] = [
        "fit.json",
        "data.csv",
        "draws.zarr",
        "verdict.txt",
        "checkpoint",
        "checkpoint.draws",
        ".draws.zarr.old",
        ".bnn-mcmc.lock",
        crate::config::FILE,
    ];
    OWN.contains(&name) || name.starts_with("chains-") || name.starts_with("table-")
}

/// An error if a file that takes long to make could not be written then: [`check_place`], and a folder that is not there.
pub fn check_file(out: &Path, name: &str, inputs: &[&Path]) -> Result<(), Failure> {
    let parent = out.parent().filter(|parent| *parent != Path::new(""));
    if parent.is_some_and(|parent| !parent.is_dir()) {
        return Err(Error::argument(name, out.display(), "a file in a folder that is there").into());
    }
    check_place(out, name, inputs)
}

/// Whether two paths lead to one file.
fn is_same(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let id = |path| {
            let file = fs::metadata(path).ok().filter(|file| file.is_file());
            file.map(|file| (file.dev(), file.ino()))
        };
        id(a).is_some() && id(a) == id(b)
    }
    #[cfg(not(unix))]
    {
        let of = |path: &Path| path.canonicalize().ok();
        of(a).is_some() && of(a) == of(b)
    }
}

/// An error if a result, of which the argument `name` says where it goes, would take the place of
/// one of the `inputs`, or of something that belongs to a run, also where a link leads to it.
pub fn check_place(out: &Path, name: &str, inputs: &[&Path]) -> Result<(), Failure> {
    //~ out-over-input
    if let Some(input) = inputs.iter().find(|input| is_same(out, input)) {
        let allowed = format!("another file than {}, which is read", input.display());
        return Err(Error::argument(name, out.display(), allowed).into());
    }
    check_run(out, out, name)?;
    match out.canonicalize() {
        Ok(whole) => check_run(&whole, out, name), //~ out-through-link
        Err(_) => Ok(()),
    }
}

fn check_run(path: &Path, out: &Path, name: &str) -> Result<(), Failure> {
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    // A folder that is not there is told when the file is written.
    let (Ok(parent), Some(file)) = (parent.canonicalize(), path.file_name()) else { return Ok(()) };
    let whole = parent.join(file);
    let is_run = |folder: &&Path| folder.join("fit.json").is_file() || is_of_tables(folder);
    for folder in parent.ancestors().filter(is_run) {
        let within = whole.strip_prefix(folder).ok().and_then(|path| path.components().next());
        if let Some(Component::Normal(part)) = within
            && is_own(&part.to_string_lossy())
        {
            let allowed =
                "another name than those of the files that `fit` has written to its folder";
            return Err(Error::argument(name, out.display(), allowed).into());
        }
    }
    Ok(())
}
