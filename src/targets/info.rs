//! The model, likelihood and data that a target is the density of.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::model::LINEARISED;

/// Model, likelihood and data of a posterior, by which its draws are told from the draws of another
/// posterior: see [`RunInfo::target`](crate::draws::RunInfo::target). The prior is not part of it:
/// a different prior shows in the log prior at the first draw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetInfo {
    /// The [description of the model](crate::model::Model::description), if it has one.
    pub model: Option<String>,
    /// The [description of the likelihood](crate::likelihood::Likelihood::description), if it has one.
    pub likelihood: Option<String>,
    /// The [checksum of the data](crate::targets::Target::data_checksum), if there are any.
    pub data: Option<u32>,
}

impl TargetInfo {
    /// An error unless draws of this target are draws of `expected`, as far as both are known.
    pub(crate) fn check(&self, expected: &Self) -> Result<(), Error> {
        for (what, found, expected) in [
            ("model", &self.model, &expected.model),
            ("likelihood", &self.likelihood, &expected.likelihood),
        ] {
            if let (Some(found), Some(expected)) = (found, expected)
                && found != expected
                // A model that is linearised is one for the weights of its base.
                && !expected.strip_prefix(&**found).is_some_and(|rest| rest.starts_with(LINEARISED))
            {
                return Err(Error::shape(format!("{what} of the draws"), found, expected));
            }
        }
        match (self.data, expected.data) {
            (Some(found), Some(expected)) if found != expected => Err(Error::shape(
                "data of the draws (other rows are predicted by the posterior of the training data)",
                format!("training data with checksum {found:08x}"),
                format!("{expected:08x} (the order of rows counts)"),
            )),
            _ => Ok(()),
        }
    }
}
