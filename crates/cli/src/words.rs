//! The command's spelling of settings in the library's messages.

use bnn_mcmc::diagnostics::Verdict;
use bnn_mcmc::message::{Setting, Vocabulary};

use crate::output::{bad, good, quoted};

/// The flags of `fit`.
pub struct Flags;

impl Vocabulary for Flags {
    fn setting(&self, setting: Setting, value: Option<&str>) -> Option<String> {
        let flag = setting.flag()?;
        Some(match (setting, value) {
            // Either flag says it.
            (Setting::Chains, None) => "`--chains` (or `--of`)".into(),
            (Setting::Ignore, None) => "`--ignore` (or `--features`)".into(),
            (_, None) => format!("`--{flag}`"),
            (Setting::Ignore | Setting::Categorical | Setting::Group, Some(column)) => {
                format!("`--{flag} {}`", quoted(column))
            }
            (_, Some(value)) => format!("`--{flag} {}`", value.replace('_', "-")),
        })
    }
}

/// No flags: of a table of new rows, which is read as the training table was.
pub struct NewRows;

impl Vocabulary for NewRows {
    fn setting(&self, _: Setting, _: Option<&str>) -> Option<String> {
        None
    }
}

/// The sentence of a verdict.
pub fn sentence(verdict: &Verdict) -> String {
    let text = verdict.in_words(&Flags);
    if verdict.is_settled() { good(&text) } else { bad(&text) }
}

#[cfg(test)]
mod tests {
    use bnn_mcmc::message::Advice;
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::Cli;

    /// The texts in backticks of a message.
    fn named(message: &str) -> Vec<String> {
        message.split('`').skip(1).step_by(2).map(String::from).collect()
    }

    /// Whether `fit` has the flag, and takes the value if there is one.
    fn is_accepted(typed: &str) -> bool {
        let command = Cli::command();
        let fit = command.find_subcommand("fit").unwrap();
        let Some(typed) = typed.strip_prefix("--") else { return false };
        let (flag, value) = match typed.split_once(' ') {
            Some((flag, value)) => (flag, Some(value.trim_matches('\''))),
            None => (typed, None),
        };
        let is_known = fit.get_arguments().any(|argument| argument.get_long() == Some(flag));
        let flag = format!("--{flag}");
        let required = ["--target", "--out"].into_iter().filter(|other| flag != **other);
        let mut line = vec!["bnn-mcmc", "fit", "data.csv"];
        required.for_each(|flag| line.extend([flag, "x"]));
        let Some(value) = value else { return is_known };
        line.extend([&flag[..], value]);
        is_known && Cli::try_parse_from(line).is_ok()
    }

    /// The list of all that messages can name: settings, and advice of every kind.
    #[test]
    fn every_message_names_flags_that_fit_takes() {
        let settings = Setting::ALL.iter().filter_map(|setting| Flags.setting(*setting, None));
        let advice = Advice::examples();
        let clauses = advice.iter().filter_map(|advice| advice.clause(&Flags));
        let (mut messages, mut flags) = (0, 0);
        for message in settings.chain(clauses) {
            messages += 1;
            for typed in named(&message) {
                flags += 1;
                assert!(is_accepted(&typed), "{typed}: {message}");
            }
            assert!(!message.contains("::") && !message.contains('_'), "{message}");
        }
        println!("{messages} messages with {flags} flags");
        assert!(messages >= 50 && flags >= 40, "{messages} {flags}");
        assert!(!is_accepted("--hiden 3") && !is_accepted("--hidden x"));
        assert!(!is_accepted("--weights fan_in") && !is_accepted("hidden"));
    }

    #[test]
    fn messages_about_new_rows_name_no_flag() {
        for advice in Advice::examples() {
            let clause = advice.clause(&NewRows).unwrap_or_default();
            assert!(!clause.contains("--") && named(&clause).is_empty(), "{clause}");
        }
    }
}
