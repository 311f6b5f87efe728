//! Python's spelling of settings in the library's messages.

use bnn_mcmc::message::{Setting, Vocabulary};

/// The parameters of the estimators.
pub struct Parameters;

impl Vocabulary for Parameters {
    fn setting(&self, setting: Setting, value: Option<&str>) -> Option<String> {
        let parameter = match setting {
            Setting::Model => "model",
            Setting::Within => "minutes",
            Setting::MostRows => "most_rows",
            Setting::Hidden => "hidden",
            Setting::Activation => "activation",
            Setting::Skip => "skip",
            Setting::Weights | Setting::WeightsSd => "weight_prior",
            Setting::Noise => "noise",
            Setting::Transform => "response_transform",
            Setting::PowerFeatures => "power_features",
            Setting::Method => "method",
            Setting::TargetAccept => "target_accept",
            Setting::Chains => "chains",
            Setting::Warmup => "warmup",
            Setting::Draws => "draws",
            Setting::Seed => "random_state",
            Setting::Threads => "n_jobs",
            Setting::Exposure => "exposure",
            Setting::Group => "group",
            Setting::Folder => "folder",
            // Tables are read, and rows are kept, by others.
            Setting::Target
            | Setting::Task
            | Setting::Event
            | Setting::Until
            | Setting::RowWeights
            | Setting::Ignore
            | Setting::Categorical
            | Setting::Encoding
            | Setting::Delimiter
            | Setting::Header
            | Setting::Missing
            | Setting::DropMissing
            | Setting::Classes
            | Setting::Charset
            | Setting::Decimal
            | Setting::DateOrder
            | Setting::Limit
            | Setting::Validation
            | Setting::CheckpointEvery
            | Setting::MaxDepth => return None,
        };
        Some(match (setting, value) {
            (_, None) => format!("`{parameter}`"),
            (Setting::Hidden, Some(units)) => format!("`{parameter}=({units},)`"),
            (_, Some(value)) if value.parse::<f64>().is_ok() => format!("`{parameter}={value}`"),
            (_, Some(value)) => format!("`{parameter}=\"{value}\"`"),
        })
    }
}
