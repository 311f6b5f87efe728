//! The output to the terminal, in colour only where it is a terminal.

use std::borrow::Cow;
use std::io::{ErrorKind, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, Table, presets};

use crate::Failure;

/// Writes to standard output. A closed pipe, as after `| head -1`, is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(clean(text).as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::error(format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard error. One that cannot be written is no reason to fail.
pub fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", clean(text));
}

/// Whether a character sets the direction of the text around it: such a one in a name can show the rest of
/// a line in another order.
pub fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The text with its control and bidirectional characters escaped, which names in a table can hold: all
/// but line breaks, tabs, and the styles of this file.
fn clean(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_bidirectional(c);
    if !text.contains(is_harmful) {
        return text.into();
    }
    let (mut clean, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(is_harmful) {
        clean.push_str(&rest[..at]);
        rest = &rest[at..];
        let style = STYLES.iter().find(|style| rest.starts_with(**style));
        let (shown, length) = match (style, rest.chars().next()) {
            (Some(style), _) => (style.to_string(), style.len()),
            (None, Some(c)) => (c.escape_debug().to_string(), c.len_utf8()),
            (None, None) => break,
        };
        clean.push_str(&shown);
        rest = &rest[length..];
    }
    (clean + rest).into()
}

/// The escapes that [`heading`], [`good`] and [`bad`] begin and end with.
const STYLES: [&str; 4] = ["\x1b[1m", "\x1b[32m", "\x1b[31m", "\x1b[0m"];

fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// A heading.
pub fn heading(text: &str) -> String {
    styled(Style::new().bold(), text)
}

/// Good news, in green.
pub fn good(text: &str) -> String {
    styled(AnsiColor::Green.on_default(), text)
}

/// Bad news, in red.
pub fn bad(text: &str) -> String {
    styled(AnsiColor::Red.on_default(), text)
}

/// Lines of a table. Columns whose heading begins with `>` are aligned to the right.
pub fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(headings.iter().map(|name| name.trim_start_matches('>')));
    let escaped = |cell: String| clean(&cell).into_owned();
    table.add_rows(rows.into_iter().map(|row| row.into_iter().map(escaped)));
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

/// A number, with a power of ten if it is very large or very small.
pub fn number(value: f64) -> String {
    bnn_mcmc::message::number(value)
}

/// `1 row`, `2 rows`.
pub fn count(n: usize, what: &str) -> String {
    match what {
        _ if n == 1 => format!("1 {what}"),
        "class" => format!("{n} classes"),
        _ => format!("{n} {what}s"),
    }
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
    fn nothing_but_styles_reaches_the_terminal_as_an_escape_sequence() {
        assert_eq!(clean("a\n\tb"), "a\n\tb");
        // Right to left, an isolate, a mark: each would turn the text that follows.
        let turned = clean("a\u{202E}cba\u{2066}\u{61C}\u{200F}").into_owned();
        assert_eq!(turned, "a\\u{202e}cba\\u{2066}\\u{61c}\\u{200f}");
        let text = format!(
            "{} {} {} x\x1b]0;title\x07\r\x1b[2Jy\u{9b}1mz",
            heading("h"),
            good("g"),
            bad("b")
        );
        let expected = format!(
            "{} {} {} x\\u{{1b}}]0;title\\u{{7}}\\r\\u{{1b}}[2Jy\\u{{9b}}1mz",
            heading("h"),
            good("g"),
            bad("b")
        );
        assert_eq!(clean(&text), expected);
    }

    #[test]
    fn numbers_are_short() {
        let shown = [2.0, 0.1, -4.25, 1e300, 1e-7, 123_456.0].map(number);
        assert_eq!(shown, ["2", "0.1", "-4.25", "1e300", "1e-7", "123456"]);
    }

    #[test]
    fn wide_characters_do_not_shift_columns() {
        let rows = [vec!["漢字".to_string(), "1".into()], vec!["a".into(), "22".into()]];
        let text = anstream::adapter::strip_str(&table(&["name", ">n"], rows)).to_string();
        assert_eq!(text, "name   n\n漢字   1\na     22\n");
    }
}
