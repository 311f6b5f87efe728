//! The settings of users, and how the library spells them.

use serde::{Deserialize, Serialize};

/// The spelling of settings in the messages of one face.
///
/// The match on [`Setting`] is exhaustive, so that a new setting does not compile before each face says how
/// its users type it, or that they cannot.
pub trait Vocabulary {
    /// A setting as users type it, with a value if one is advised: `` `--hidden` ``, `` `--hidden 100` ``.
    /// `None` if users of this face cannot set it; an empty text if there is nothing to type.
    ///
    /// Values are numbers, names of columns, and choices by their names in `fit.json`, such as `fan_in`.
    fn setting(&self, setting: Setting, value: Option<&str>) -> Option<String>;

    /// Whether users write Rust, so that advice may name items of the library.
    fn is_rust(&self) -> bool {
        false
    }
}

/// Declares the settings, so that none is left out of their list.
macro_rules! settings {
    ($($(#[$doc:meta])* $setting:ident = $name:literal,)*) => {
        /// A setting of a fit or of a run that messages can name.
        ///
        /// Deliberately exhaustive: a [`Vocabulary`] says of each how it is spelled.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Setting {
            $($(#[$doc])* $setting,)*
        }

        impl Setting {
            /// All settings.
            pub const ALL: &'static [Self] = &[$(Self::$setting,)*];

            /// The name in `fit.json`, of settings that are written there.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$setting => $name,)*
                }
            }
        }
    };
}

settings! {
    /// The columns to predict.
    Target = "response",
    /// The kind of the response: `regression`, `classification`, `counts` or `survival`.
    Task = "task",
    /// The columns to leave out.
    Ignore = "ignored",
    /// The columns that hold labels.
    Categorical = "categorical",
    /// The encoding of labels as numbers: `codes`, ...
    Encoding = "encoding",
    /// The character that separates cells.
    Delimiter = "delimiter",
    /// Whether the first line holds names: `yes` or `no`.
    Header = "header",
    /// The text that stands for a missing value.
    Missing = "missing",
    /// Whether rows with missing values are left out.
    DropMissing = "drop_missing_rows",
    /// The column of the exposure of counts.
    Exposure = "exposure",
    /// The column of the weights of rows.
    RowWeights = "row_weights",
    /// The columns of the group that a row belongs to.
    Group = "group",
    /// The column that says whether the event of a time happened.
    Event = "event",
    /// The column of the upper bounds of times.
    Until = "until",
    /// The classes in their order.
    Classes = "classes",
    /// The encoding of the text: `utf_8` or `latin_1`.
    Charset = "charset",
    /// The writing of numbers: `plain`, `point` or `comma`.
    Decimal = "decimal",
    /// The order of day and month in dates.
    DateOrder = "date_order",
    /// The most bytes that are read.
    Limit = "limit",
    /// The share of rows that are kept for validation.
    Validation = "validation",
    /// The model by name: `linear`, `network`, ...
    Model = "model",
    /// The time that a fit may take.
    Within = "within",
    /// The most rows that a model is fitted to.
    MostRows = "most_rows",
    /// The units of the hidden layers.
    Hidden = "hidden",
    /// The activation of hidden units.
    Activation = "activation",
    /// Whether a linear part stands beside the hidden layers.
    Skip = "skip",
    /// The prior of the weights: `fan_in`, `normal`, `ard`, `horseshoe` or `scales`.
    Weights = "weights",
    /// The standard deviation of the normal prior of the weights.
    WeightsSd = "sd",
    /// The distribution of the noise.
    Noise = "noise",
    /// The transform of a real response: `none`, `log`, `box_cox` or `yeo_johnson`.
    Transform = "transform",
    /// Whether each feature comes after a power transform.
    PowerFeatures = "power_features",
    /// The method that samples the posterior: `nuts`, `collapsed` or `tempered`.
    Method = "method",
    /// The acceptance probability that warm-up aims at.
    TargetAccept = "target_accept",
    /// The number of chains.
    Chains = "chains",
    /// Iterations of warm-up.
    Warmup = "warmup",
    /// Draws of each chain.
    Draws = "draws",
    /// The seed of random numbers.
    Seed = "seed",
    /// The number of threads.
    Threads = "threads",
    /// The times at which checkpoints are written.
    CheckpointEvery = "checkpoint_every",
    /// The folder of a run.
    Folder = "folder",
    /// The depth at which trajectories of NUTS are cut off.
    MaxDepth = "max_depth",
}

/// The vocabulary of the library: names of its methods and types. `Display` of errors and verdicts uses it.
#[derive(Clone, Copy, Debug, Default)]
pub struct InRust;

impl Vocabulary for InRust {
    fn setting(&self, setting: Setting, value: Option<&str>) -> Option<String> {
        let name = match (setting, value) {
            (Setting::Hidden, Some(units)) => return Some(format!("{units} hidden units")),
            (Setting::Ignore, Some(column)) => {
                return Some(format!("`CsvReader::ignore([{column:?}])`"));
            }
            (Setting::Categorical, Some(column)) => {
                return Some(format!("`CsvReader::categorical([{column:?}])`"));
            }
            (Setting::Group, Some(column)) => {
                return Some(format!("`CsvReader::group({column:?})`"));
            }
            (Setting::TargetAccept, Some(value)) => {
                return Some(format!("`target_accept: {value}`"));
            }
            (Setting::Target, _) => "CsvReader::regression",
            (Setting::Task, Some("classification")) => "CsvReader::classification",
            (Setting::Task, Some("regression")) => "CsvReader::regression",
            (Setting::Task, Some("counts")) => "CsvReader::counts",
            (Setting::Ignore, _) => "CsvReader::ignore",
            (Setting::Categorical, _) => "CsvReader::categorical",
            (Setting::Encoding, Some("codes")) => "Encoding::Codes",
            (Setting::Encoding, _) => "CsvReader::encoding",
            (Setting::Delimiter, _) => "CsvReader::delimiter",
            (Setting::Header, Some("no")) => "CsvReader::no_header",
            (Setting::Header, _) => "CsvReader::header",
            (Setting::Missing, _) => "CsvReader::missing",
            (Setting::DropMissing, _) => "CsvReader::drop_missing_rows",
            (Setting::Exposure, _) => "CsvReader::exposure",
            (Setting::RowWeights, _) => "CsvReader::row_weights",
            (Setting::Group, _) => "CsvReader::group",
            (Setting::Task, Some("survival")) => "CsvReader::survival",
            (Setting::Event, _) => "CsvReader::event",
            (Setting::Until, _) => "CsvReader::until",
            (Setting::Classes, _) => "CsvReader::classes",
            (Setting::Charset, Some("latin_1")) => "Charset::Latin1",
            (Setting::Charset, _) => "CsvReader::charset",
            (Setting::Decimal, _) => "CsvReader::decimal",
            (Setting::DateOrder, _) => "CsvReader::date_order",
            (Setting::Limit, _) => "CsvReader::limit",
            (Setting::Weights, Some("fan_in")) => "Priors::by_fan_in",
            (Setting::Method, Some("tempered")) => "PowerPosteriors",
            (Setting::Method, Some("collapsed")) => "Collapsed",
            (Setting::Method, Some("nuts")) => "Nuts",
            (Setting::Model, Some("network")) => "Candidate::Network",
            (Setting::Transform, Some("yeo_johnson")) => "Transform::YeoJohnson",
            (Setting::WeightsSd, _) => "WeightPrior::Normal",
            (Setting::Folder, _) => "Recipe::in_folder",
            // Called the same wherever they are set.
            (
                Setting::Task
                | Setting::Validation
                | Setting::Model
                | Setting::Within
                | Setting::MostRows
                | Setting::Hidden
                | Setting::Activation
                | Setting::Skip
                | Setting::Weights
                | Setting::Noise
                | Setting::Transform
                | Setting::PowerFeatures
                | Setting::Method
                | Setting::TargetAccept
                | Setting::Chains
                | Setting::Warmup
                | Setting::Draws
                | Setting::Seed
                | Setting::Threads
                | Setting::CheckpointEvery
                | Setting::MaxDepth,
                _,
            ) => setting.name(),
        };
        Some(format!("`{name}`"))
    }

    fn is_rust(&self) -> bool {
        true
    }
}

/// Plain words, for pages and files whose readers may have made the run with any face.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Vocabulary for Plain {
    fn setting(&self, setting: Setting, value: Option<&str>) -> Option<String> {
        let words = match setting {
            // The words of the advice say it.
            Setting::Validation if value.is_some() => "",
            Setting::Validation => "the share of validation rows",
            Setting::Hidden => match value {
                Some(units) => return Some(format!("{units} hidden units")),
                None => "the hidden layers",
            },
            Setting::Model if value.is_some() => "",
            Setting::Model => "the model",
            Setting::Within => "the time",
            Setting::MostRows => "the number of rows",
            Setting::Activation => "the activation",
            Setting::Skip => "the linear part",
            // The words of the advice already say what to set.
            Setting::Weights | Setting::Method | Setting::Transform if value.is_some() => "",
            Setting::Weights => "the prior of the weights",
            Setting::WeightsSd => "the standard deviation of the weights",
            Setting::Noise => "the noise",
            Setting::Transform => "the transform of the response",
            Setting::PowerFeatures => "the power transform of the features",
            Setting::Method => "the method",
            Setting::TargetAccept => match value {
                Some(value) => return Some(value.into()),
                None => "the target of acceptance",
            },
            Setting::Chains => "the number of chains",
            Setting::Warmup => "the warm-up",
            Setting::Draws => "the number of draws",
            Setting::Seed => "the seed",
            Setting::Threads => "the number of threads",
            Setting::CheckpointEvery => "the interval of checkpoints",
            Setting::Folder => "the folder",
            // A fit has no such setting.
            Setting::MaxDepth => return None,
            // Settings for reading a table do not occur in a page or a file about a run.
            Setting::Target
            | Setting::Task
            | Setting::Ignore
            | Setting::Categorical
            | Setting::Encoding
            | Setting::Delimiter
            | Setting::Header
            | Setting::Missing
            | Setting::DropMissing
            | Setting::Exposure
            | Setting::RowWeights
            | Setting::Group
            | Setting::Event
            | Setting::Until
            | Setting::Classes
            | Setting::Charset
            | Setting::Decimal
            | Setting::DateOrder
            | Setting::Limit => return None,
        };
        Some(words.into())
    }
}
