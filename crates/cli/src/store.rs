//! `store`: a table of any size as a file of rows, for programs that use the library.

use std::fs;
use std::iter;
use std::path::{Path, PathBuf};

use bnn_mcmc::Error;
use bnn_mcmc::data::{CsvReader, Schema, Stored, StoredCsv, TypedTable};
use clap::{Args, ValueEnum};

use crate::config::{Config, TableSettings};
use crate::output::{self, count, quoted};
use crate::{Ended, Failure, file, fit, folder, signals, table};

/// The rows, drawn at random, that decide what columns and response are of a text that is longer than a block: few, since a row
/// of thousands of columns takes tens of kilobytes.
const SAMPLE: usize = 300;

/// Writes a table of any size to a file of rows, for programs that use the library
///
/// The file is one of `RowFile`, which `Posterior::on_file` samples without holding it in memory. The table is read
/// block by block (16 MiB of text), and the levels of labels, the classes and the medians of columns with gaps are those of its
/// first block: its rows must be in no order. Text that is longer is read once before, for a sample of rows that says what the
/// columns are. How other tables are read in the same way is written beside it, to
/// FILE.schema.json, for `Schema::read_path`.
#[derive(Args)]
pub struct StoreArgs {
    /// The table: a CSV file, or one like it, as it is or packed by gzip; a Parquet file
    data: PathBuf,
    #[command(flatten)]
    table: TableSettings,
    /// The file of rows, which takes the place of such a file, and of no other
    #[arg(long, short, value_name = "FILE", help_heading = "File")]
    out: PathBuf,
    /// The form of the features
    #[arg(long, default_value = "f32", help_heading = "File")]
    stored: Form,
}

/// The form of numbers in the file.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Form {
    /// 8 bytes, as they are
    F64,
    /// 4 bytes, 7 digits
    F32,
    /// 2 bytes, 3 digits, up to 65,504
    F16,
    /// 1 byte: whole numbers that span at most 255 as they are, else 256 values from the smallest to the largest; written
    /// by way of a file of 8 bytes beside it
    U8,
}

pub fn run(args: StoreArgs) -> Result<Ended, Failure> {
    let StoreArgs { data, table, out, stored } = args;
    let config = Config { data: Some(data), table, ..Config::default() };
    let mut config = config.over(None)?;
    for (flag, is_given) in [
        ("--impute", config.table.impute.is_some()),
        ("--validation", config.table.validation != Some(0.0)),
    ] {
        if is_given {
            let problem = format!("`{flag}` is of a fit: all rows are stored, as they are");
            return Err(Failure::usage(problem));
        }
    }
    let data = config.data()?.to_path_buf();
    let files = Files::of(out)?;
    files.check(&data, stored)?;
    let (reader, blocks) = reader(&mut config, &data)?;
    let written = match stored {
        Form::F64 => store(&reader, &data, blocks, &files.rows, Stored::F64),
        Form::F32 => store(&reader, &data, blocks, &files.rows, Stored::F32),
        Form::F16 => store(&reader, &data, blocks, &files.rows, Stored::F16),
        Form::U8 => in_bytes(&reader, &data, blocks, &files),
    }?;
    let json = serde_json::to_string_pretty(&written.schema);
    file::write(&files.schema, &json.map_err(|e| Failure::error(e.to_string()))?)?;
    output::note(&said(&written, &files)?);
    Ok(Ended::Done)
}

/// The files that are written.
struct Files {
    rows: PathBuf,
    schema: PathBuf,
    /// The file of 8 bytes by way of which bytes are written.
    wide: PathBuf,
}

impl Files {
    /// A file of rows, with the files beside it.
    fn of(out: PathBuf) -> Result<Self, Failure> {
        let rows = out.canonicalize().unwrap_or(out);
        Ok(Self { schema: beside(&rows, ".schema.json")?, wide: beside(&rows, ".wide")?, rows })
    }

    /// An error if they could not be written, or something that is there would be lost.
    fn check(&self, data: &Path, stored: Form) -> Result<(), Failure> {
        let Self { rows, schema, wide } = self;
        for written in [rows, schema] {
            folder::check_file(written, "--out", &[data])?;
        }
        let is_schema = |path: &Path| {
            let text = fs::read(path).unwrap_or_default();
            serde_json::from_slice::<Schema>(&text).is_ok()
        };
        let in_the_way = [
            (schema, schema.exists() && !is_schema(schema)), //~ store-schema
            (wide, stored == Form::U8 && wide.exists()),     //~ store-wide
        ];
        if let Some((path, _)) = in_the_way.iter().find(|(_, is)| *is) {
            let allowed = format!("another name: {} is there, and would be lost", path.display());
            return Err(Error::argument("--out", rows.display(), allowed).into());
        }
        Ok(())
    }
}

/// A reader of the table, with what its first block or a sample says of columns and response; and the blocks, where it has types.
fn reader(
    config: &mut Config,
    data: &Path,
) -> Result<(CsvReader, Option<impl Iterator<Item = Result<TypedTable, Error>>>), Failure> {
    let mut blocks = table::blocks(data, config.limit())?;
    if blocks.is_some() {
        config.check_no_text()?;
    }
    let first = blocks.as_mut().and_then(Iterator::next).transpose()?;
    let reader = config.reader()?;
    let described = match &first {
        Some(block) => reader.describe_table(block)?,
        None => reader.limit(table::BLOCK).sample(SAMPLE, 0).describe_path(data)?,
    };
    config.name_columns(&described);
    fit::settle(config, &described)?;
    let blocks = first.map(|first| iter::once(Ok(first)).chain(blocks.into_iter().flatten()));
    Ok((config.settled_reader(&described)?, blocks))
}

/// What is said of the files.
fn said(written: &StoredCsv, files: &Files) -> Result<String, Failure> {
    let StoredCsv { rows, dropped, stand_ins, .. } = written;
    let bytes = fs::metadata(&files.rows).map_err(|e| Error::io(&files.rows, e))?.len();
    let shown = |path: &Path| quoted(&path.display().to_string());
    let mut text = format!(
        "{} of {}, {}, in {}; how other tables are read like it is in {}",
        count(rows.rows(), "row"),
        count(rows.n_features(), "feature"),
        count(usize::try_from(bytes).unwrap_or(usize::MAX), "byte"),
        shown(&files.rows),
        shown(&files.schema)
    );
    if !dropped.is_empty() {
        let left_out = count(dropped.len(), "row");
        text.push_str(&format!("; {left_out} left out because of missing values"));
    }
    for stand_in in stand_ins {
        text.push_str(&format!("; {stand_in}"));
    }
    Ok(text)
}

/// Stores the rows in bytes, by way of a file of 8 bytes that is then removed.
fn in_bytes(
    reader: &CsvReader,
    data: &Path,
    blocks: Option<impl Iterator<Item = Result<TypedTable, Error>>>,
    Files { rows, wide, .. }: &Files,
) -> Result<StoredCsv, Failure> {
    signals::begin(|| (), |()| Some(wide.clone()));
    let written = store(reader, data, blocks, wide, Stored::F64).and_then(|mut all| {
        all.rows = unless_ended(rows, || all.rows.in_bytes(rows))?;
        Ok(all)
    });
    // What this process has not written is not its own.
    let is_own = written.is_ok() || !beside(wide, ".part")?.exists();
    signals::forget(wide, || drop(is_own.then(|| fs::remove_file(wide))));
    written
}

/// Stores the blocks, or the file of text where there are none.
fn store(
    reader: &CsvReader,
    data: &Path,
    blocks: Option<impl Iterator<Item = Result<TypedTable, Error>>>,
    to: &Path,
    stored: Stored,
) -> Result<StoredCsv, Failure> {
    unless_ended(to, || match blocks {
        Some(blocks) => reader.store_tables(blocks, to, stored),
        None => reader.store_path(data, to, stored),
    })
}

/// Writes a file of rows, of which a signal leaves nothing.
fn unless_ended<T>(to: &Path, write: impl FnOnce() -> Result<T, Error>) -> Result<T, Failure> {
    let part = beside(to, ".part")?;
    // One that is there may be another process's.
    signals::begin(|| part.exists(), |is_there| (!is_there).then(|| part.clone()));
    let written = write();
    signals::forget(&part, || ());
    Ok(written?)
}

/// The path of a file beside another one, whose name goes on.
fn beside(path: &Path, ending: &str) -> Result<PathBuf, Failure> {
    let mut name = match path.file_name() {
        Some(name) => name.to_os_string(),
        None => return Err(Failure::usage(format!("`--out`: {} is no file", path.display()))),
    };
    name.push(ending);
    Ok(path.with_file_name(name))
}
