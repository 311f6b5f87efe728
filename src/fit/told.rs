//! What a fit tells of its progress, and to whom.

use std::fmt;
use std::sync::Arc;

use crate::sampler::Progress;

/// What a listener is told while a fit runs: see [`Recipe::on_progress`](super::Recipe::on_progress).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Told<'a> {
    /// A line, such as on a model that was tried.
    Line(&'a str),
    /// How far the chains are.
    Sampling(&'a Progress),
}

/// Whoever is told of a run's progress.
#[derive(Clone, Default)]
pub(super) enum Listener {
    #[default]
    None,
    /// The standard error.
    Terminal,
    Own(Arc<dyn Fn(Told) + Send + Sync>),
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Terminal => "Terminal",
            Self::Own(_) => "Own",
        })
    }
}
