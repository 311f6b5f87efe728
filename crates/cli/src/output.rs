//! What is written: to the terminal, in colour only where it is one, and to files, as a whole or
//! not at all.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::Verdict;
use comfy_table::{CellAlignment, Table, presets};

use crate::{Failure, words};

/// Writes to standard output. Where nobody reads on, as after `| head -1`, nothing is wrong.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::error(format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard error. One that cannot be written is no reason to fail.
pub fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// A heading.
pub fn heading(text: &str) -> String {
    styled(Style::new().bold(), text)
}

/// Text about what is well.
pub fn good(text: &str) -> String {
    styled(AnsiColor::Green.on_default(), text)
}

/// Text about what is not.
pub fn bad(text: &str) -> String {
    styled(AnsiColor::Red.on_default(), text)
}

/// The sentence of a verdict.
pub fn sentence(verdict: &Verdict) -> String {
    let text = words::in_flags(&verdict.to_string());
    if verdict.is_converged() { good(&text) } else { bad(&text) }
}

/// Lines of a table. Columns whose heading begins with `>` are aligned to the right.
pub fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(headings.iter().map(|name| name.trim_start_matches('>')));
    table.add_rows(rows);
    for (column, name) in table.column_iter_mut().zip(headings) {
        column.set_padding((0, 2));
        if name.starts_with('>') {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let text: Vec<String> = table.lines().map(|line| line.trim_end().to_string()).collect();
    match text.split_first() {
        None => String::new(),
        Some((first, rest)) => {
            let rest: String = rest.iter().map(|line| format!("{line}\n")).collect();
            format!("{}\n{rest}", heading(first))
        }
    }
}

/// The text with its first line as a heading.
pub fn under_heading(text: &str) -> String {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    format!("{}\n{rest}", heading(first))
}

/// Writes a file as a whole, or leaves the one that was there.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    // What is no file, such as /dev/stdout, stays what it is.
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return fs::write(path, bytes).map_err(|e| Error::io(path, e));
    }
    let new = PathBuf::from(format!("{}.tmp", path.display()));
    let written = fs::File::create(&new).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)
    });
    written.map_err(|e| {
        let _ = fs::remove_file(&new);
        Error::io(path, e)
    })
}

/// `1 row`, `2 rows`.
pub fn count(n: usize, what: &str) -> String {
    let more = match what {
        "class" => "classes",
        _ if n == 1 => return format!("1 {what}"),
        _ => return format!("{n} {what}s"),
    };
    if n == 1 { format!("1 {what}") } else { format!("{n} {more}") }
}

/// A word of a command line, in quotation marks if the shell would take it for something else.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./,=:+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_the_shell_would_split_them() {
        assert_eq!(quoted("petal_length"), "petal_length");
        assert_eq!(quoted("fixed acidity"), "'fixed acidity'");
        assert_eq!(quoted("#3"), "'#3'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn files_are_written_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        write(&path, b"1").unwrap();
        write(&path, b"22").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"22");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
        let error = write(&folder.path().join("no").join("b"), b"").unwrap_err();
        assert!(error.is_io() && error.to_string().contains("no/b"), "{error}");
        write(Path::new("/dev/null"), b"x").unwrap();
    }

    #[test]
    fn wide_characters_do_not_shift_columns() {
        let rows = [vec!["漢字".to_string(), "1".into()], vec!["a".into(), "22".into()]];
        let text = anstream::adapter::strip_str(&table(&["name", ">n"], rows)).to_string();
        assert_eq!(text, "name   n\n漢字   1\na     22\n");
    }
}
