//! Tests ask for the kind and the fields of an error; its words stand once, in
//! `tests/golden/messages.txt`, under the function that meets them.
//!
//! - `refused!(result, Argument { name: "hidden", value: "0" })`: the error's kind, some of its
//!   fields as they are printed, and its words.
//! - `failed!`: the same without the words, and the error for further questions.
//! - `said!(text)`: the words of something else, such as a verdict or the output of the command.
//!
//! Temporary folders are written as `TMP`. Words that depend on draws are not for the file: ask for
//! their fields. `MESSAGES=write cargo test --release ..` renews it, and the difference is to be read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

/// The messages of each function.
type Messages = BTreeMap<String, BTreeSet<String>>;

static FILE: Mutex<Option<Messages>> = Mutex::new(None);

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/messages.txt")
}

fn read() -> Messages {
    let (mut messages, mut function) = (Messages::new(), String::new());
    for line in fs::read_to_string(path()).unwrap().lines() {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => function = name.to_string(),
            None if line.is_empty() || line.starts_with('#') => {}
            None => {
                let message = line.trim_start().to_string();
                messages.entry(function.clone()).or_default().insert(message);
            }
        }
    }
    messages
}

fn write(messages: &Messages) {
    let mut text = String::from(
        "# The words of messages, under the test that meets them. `MESSAGES=write cargo test` renews the file.\n",
    );
    for (function, messages) in messages {
        text += &format!("\n[{function}]\n");
        messages.iter().for_each(|message| text += &format!("  {message}\n"));
    }
    fs::write(path(), text).unwrap();
}

/// The text on one line, with `TMP` for temporary folders.
fn normal(text: &str) -> String {
    let folder = std::env::temp_dir();
    let begin = format!("{}/.tmp", folder.display());
    let mut parts = text.split(&begin);
    let mut normal = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        normal += &format!("TMP{rest}");
    }
    normal.trim().replace('\\', "\\\\").replace('\n', "\\n")
}

/// Compares a text with the golden file's messages of a function; `said!` gives its name.
#[track_caller]
pub fn check(function: &str, text: &str) {
    let function = function.trim_end_matches("::here").replace("::{{closure}}", "");
    let text = normal(text);
    let mut file: MutexGuard<Option<Messages>> =
        FILE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if std::env::var_os("MESSAGES").is_some_and(|value| value == "write") {
        // Other programs may be writing too: one at a time, each to what is there then.
        let lock = fs::File::create(std::env::temp_dir().join("bnn-mcmc-messages.lock")).unwrap();
        lock.lock().unwrap();
        let mut messages = read();
        if messages.entry(function).or_default().insert(text) {
            write(&messages);
        }
        return;
    }
    let messages = file.get_or_insert_with(read);
    let known = messages.get(&function).cloned().unwrap_or_default();
    assert!(
        known.contains(&text),
        "tests/golden/messages.txt has other words for {function} (`MESSAGES=write cargo test` renews it):\n\
         found: {text}\nknown: {known:#?}"
    );
}

/// Asserts that the golden file has this text for the calling function.
#[macro_export]
macro_rules! said {
    ($text:expr) => {{
        fn here() {}
        $crate::said::check(std::any::type_name_of_val(&here), &$text.to_string())
    }};
}

/// Asserts that a result is an error of this kind with these fields, and gives it back: for words
/// that depend on draws.
#[macro_export]
macro_rules! failed {
    ($result:expr, $kind:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        // Before the fields are bound: variables of the test may have their names.
        let expected: Vec<(&str, String)> = vec![$((stringify!($field), $value.to_string())),*];
        let error = match $result {
            Ok(_) => panic!("accepted: {}", stringify!($result)),
            Err(error) => error,
        };
        let found: Vec<(&str, String)> = match &error {
            bnn_mcmc::Error::$kind { $($field,)* .. } => {
                vec![$((stringify!($field), $field.to_string())),*]
            }
            other => panic!("another kind of error: {other:?}"),
        };
        assert_eq!(found, expected, "{error}");
        error
    }};
}

/// Asserts that a result is an error of this kind with these fields, and the words of the golden
/// file.
#[macro_export]
macro_rules! refused {
    ($result:expr, $kind:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        let error = $crate::failed!($result, $kind { $($field: $value),* });
        $crate::said!(error);
    }};
}
