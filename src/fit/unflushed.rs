//! A fit in a folder that need not outlive the process.

use std::fs;
use std::path::Path;

use super::Fit;
use super::folder::{DRAWS, VERDICT, check_entries, checksum_of, verdict};
use super::saved::{DATA, FIT, Saved};
use crate::Error;

/// Writes the files that [`Fit::save`] writes, without flushing any of them to the disk.
pub(super) fn save(folder: &Path, fit: &Fit) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    check_entries(folder, &[])?;
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(|e| Error::io(path, e))
    };
    let data = fit.plan.sum_of_rows()?;
    let path = folder.join(DATA);
    let written = fs::File::create(&path).and_then(|mut to| Ok(fit.plan.write_rows(&mut to)?));
    written.map_err(|e| Error::io(path, e))?;
    let verdict = verdict(fit);
    write(VERDICT, verdict.as_bytes())?;
    let draws = folder.join(DRAWS);
    fit.draws.to_zarr(&draws)?;
    let draws_crc32 = checksum_of(&draws).map_err(|e| Error::io(&draws, e))?;
    write(FIT, Saved::of(&fit.plan, &data, Some((&verdict, draws_crc32)))?.text(folder)?.as_bytes())
}
