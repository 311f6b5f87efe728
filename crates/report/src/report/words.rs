//! The verdict and the run in plain words.

use bnn_mcmc::diagnostics::{Outcome, Verdict};
use maud::{Markup, html};

/// How much a run may be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// All of it.
    Full,
    /// With care.
    Partial,
    /// Not at all.
    None,
}

impl Trust {
    pub(super) fn of(verdict: &Verdict) -> Self {
        match verdict.outcome {
            Outcome::Converged { .. } => Self::Full,
            Outcome::NearlyConverged { .. }
            | Outcome::TooFewDraws { .. }
            | Outcome::NoParameters { .. }
            | Outcome::Approximation { .. }
            | Outcome::Mixture { .. }
            | Outcome::OneChain { drifts: false, .. } => Self::Partial,
            _ => Self::None,
        }
    }

    /// The class of the box.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Partial => "partial",
            Self::None => "none",
        }
    }

    /// A sign that does not need colour.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Full => "✓",
            Self::Partial => "!",
            Self::None => "✗",
        }
    }
}

/// The verdict in two or three words.
pub(super) fn heading(verdict: &Verdict) -> &'static str {
    match verdict.outcome {
        Outcome::Converged { .. } => "Converged",
        Outcome::NearlyConverged { .. } => "Nearly converged",
        Outcome::TooFewDraws { .. } => "Too few draws",
        Outcome::NoParameters { .. } => "Not fully judged",
        Outcome::Approximation { .. } => "An approximation, not the posterior",
        Outcome::Mixture { .. } => "A mixture of chains, not the posterior",
        Outcome::OneChain { .. } => "A single chain",
        Outcome::Divergent { .. } => "Divergent",
        Outcome::Panicked { .. } => "Broken off",
        Outcome::NotFinite { .. } => "Not finite",
        Outcome::NothingToJudge { .. } | Outcome::ConstantQuantities { .. } => "Nothing to judge",
        _ => "Not converged",
    }
}

/// What to do with the run.
pub(super) fn advice(verdict: &Verdict) -> &'static str {
    match verdict.outcome {
        Outcome::Converged { .. } => {
            "The chains agree, and there are enough draws: predictions and their intervals may be used. \
             How good the model is, the scores and figures below tell; that the chains agree does not \
             say that the model is right."
        }
        Outcome::NearlyConverged { .. } | Outcome::TooFewDraws { .. } => {
            "Means of predictions may be used; the ends of intervals are less certain than they look. \
             Let the run go on with more draws: the same command with a larger number of draws \
             continues it."
        }
        Outcome::NoParameters { .. } => {
            "What was kept agrees, but the weights were not kept: chains in different modes of equal \
             density would look the same."
        }
        Outcome::OneChain { .. } => {
            "One chain cannot be compared with another. Run four, so that disagreement can be seen."
        }
        Outcome::Approximation { .. } | Outcome::Mixture { .. } => {
            "Diagnostics of chains do not apply. The spread of these draws is that of the method, and may \
             be far from the posterior's: judge it by scores on rows that the model has not seen."
        }
        Outcome::Divergent { .. } => {
            "The sampler failed in a part of the posterior, which is therefore not represented. Do not \
             use the intervals; the sentence above says what helps."
        }
        Outcome::Panicked { .. } | Outcome::NotFinite { .. } => {
            "The run did not end well. Do not use its numbers."
        }
        Outcome::NothingToJudge { .. } | Outcome::ConstantQuantities { .. } => {
            "There is too little to go by. Run more draws, or look for what keeps the chains from \
             moving."
        }
        _ => {
            "The chains do not agree with one another, or with themselves: the uncertainty shown below is \
             not that of the posterior. The sentence above says what helps; the figures on convergence \
             show where the chains differ."
        }
    }
}

/// A sentence in which `code` stands in backticks and **strong** words between pairs of stars, as
/// verdicts have them.
pub(super) fn marked_up(sentence: &str) -> Markup {
    html! {
        @for (k, part) in sentence.split("**").enumerate() {
            @if k % 2 == 1 { strong { (code(part)) } } @else { (code(part)) }
        }
    }
}

fn code(text: &str) -> Markup {
    html! {
        @for (k, part) in text.split('`').enumerate() {
            @if k % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A duration that people can read.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", 1000.0 * s),
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_marked_up_and_escaped() {
        let html = marked_up("a `<b>` & **not `x` this**").into_string();
        assert_eq!(html, "a <code>&lt;b&gt;</code> &amp; <strong>not <code>x</code> this</strong>");
    }

    #[test]
    fn durations_are_short() {
        for (seconds, text) in
            [(0.25, "250 ms"), (12.34, "12.3 s"), (600.0, "10 min"), (9000.0, "2.5 h")]
        {
            assert_eq!(duration(seconds), text);
        }
    }
}
