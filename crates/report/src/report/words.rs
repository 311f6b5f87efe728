//! The verdict and the run in plain words.

use bnn_mcmc::diagnostics::{APART_LIMITS, Outcome, Verdict};
use maud::{Markup, html};

/// The degree to which a run may be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// All of the run may be trusted.
    Full,
    /// With care.
    Partial,
    /// Not at all.
    None,
}

impl Trust {
    pub(super) fn of(verdict: &Verdict) -> Self {
        match verdict.outcome {
            Outcome::Converged { .. } | Outcome::Settled { .. } => Self::Full,
            Outcome::NearlyConverged { .. }
            | Outcome::TooFewDraws { .. }
            | Outcome::Ensemble { .. }
            | Outcome::OneChain { drifts: false, .. } => Self::Partial,
            // Chains that disagree by so little that intervals are not affected.
            Outcome::OneChainDisagrees { .. }
            | Outcome::ChainsDrift { .. }
            | Outcome::ChainsDisagree { .. }
                if verdict.apart.is_some_and(|apart| apart <= APART_LIMITS[0]) =>
            {
                Self::Partial
            }
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
        Outcome::Settled { .. } => "Settled",
        Outcome::NearlyConverged { .. } => "Nearly converged",
        Outcome::TooFewDraws { .. } => "Too few draws",
        Outcome::OneChain { .. } => "A single chain",
        Outcome::Ensemble { .. } => "An ensemble, not the posterior",
        Outcome::Divergent { .. } => "Divergent",
        Outcome::Panicked { .. } => "Broken off",
        Outcome::NotFinite { .. } => "Not finite",
        Outcome::NothingToJudge { .. } | Outcome::ConstantQuantities { .. } => "Nothing to judge",
        Outcome::OneChainDisagrees { .. }
        | Outcome::ChainsStuck { .. }
        | Outcome::ChainsDrift { .. }
        | Outcome::ChainsDisagree { .. } => "Not converged",
        // No fit comes to these.
        _ => "Not to be used",
    }
}

/// The smallest effective sample size with which means may be used: their Monte Carlo error is then a
/// tenth of a standard deviation.
const ENOUGH_FOR_MEANS: f64 = 100.0;

/// Advice on what to do with the run.
pub(super) fn advice(verdict: &Verdict) -> &'static str {
    match verdict.outcome {
        Outcome::Converged { .. } => {
            "The chains agree, and there are enough draws: predictions and their intervals may be used. \
             How good the model is, the scores and figures below tell; that the chains agree does not \
             say that the model is right."
        }
        Outcome::Settled { .. } => {
            "Predictions may be used: a longer run would give the same. Parameters, effects and the ends of intervals are known \
             less well: for these let it run until it has converged."
        }
        Outcome::NearlyConverged { min_ess, .. } | Outcome::TooFewDraws { min_ess, .. }
            if min_ess >= ENOUGH_FOR_MEANS =>
        {
            "Means of predictions may be used; the ends of intervals are less certain than they look. \
             Run more draws: a run in a folder goes on where it ended, by the same call with more of \
             them."
        }
        Outcome::NearlyConverged { .. } | Outcome::TooFewDraws { .. } => {
            "There are too few draws, for means as for intervals. Run more: a run in a folder goes on \
             where it ended, by the same call with more of them."
        }
        Outcome::OneChain { .. } => {
            "One chain cannot be compared with another. Run four, so that disagreement can be seen."
        }
        Outcome::Ensemble { .. } => {
            "Means of predictions may be used. How good they and their intervals are, only scores of rows \
             that the members have not seen can tell: no diagnostic of the members does, since they are not \
             draws of the posterior. Nor may the weights be used."
        }
        Outcome::Divergent { .. } => {
            "The sampler failed in a part of the posterior, which is therefore not represented. Do not \
             use the intervals before a run with a larger target of acceptance has fewer divergent \
             transitions."
        }
        Outcome::OneChainDisagrees { .. }
        | Outcome::ChainsStuck { .. }
        | Outcome::ChainsDrift { .. }
        | Outcome::ChainsDisagree { .. } => {
            let [little, much] = APART_LIMITS;
            match verdict.apart {
                Some(apart) if apart <= little => {
                    "The chains do not agree about the mean function, but they differ by so little that \
                     intervals of new observations may be used. Do not use intervals of the mean, nor \
                     the weights. The sentence above says what helps."
                }
                Some(apart) if apart <= much => {
                    "The chains do not agree. Intervals of new observations are roughly right; do not \
                     use intervals of the mean, nor the weights. The sentence above says what helps."
                }
                _ => {
                    "The chains do not agree: the uncertainty shown below is not that of the posterior. \
                     The sentence above says what helps; the figures on convergence show where the \
                     chains differ."
                }
            }
        }
        Outcome::NothingToJudge { .. } | Outcome::ConstantQuantities { .. } => {
            "There is too little to go by. Run more draws, or look for what keeps the chains from \
             moving."
        }
        _ => "Do not use the numbers of this run before the cause has been mended.",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_marked_up_and_escaped() {
        let html = marked_up("a `<b>` & **not `x` this**").into_string();
        assert_eq!(html, "a <code>&lt;b&gt;</code> &amp; <strong>not <code>x</code> this</strong>");
    }
}
