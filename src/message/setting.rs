//! The settings of users, and how the library spells them.

use serde::{Deserialize, Serialize};

/// The spelling of settings in the messages of one face.
///
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
///
/// A row is what it is, the variant, and its names: in `fit.json`, in Rust, as a flag of the command, as a parameter of Python and in
/// plain words; empty where users of that face cannot set it.
macro_rules! settings {
    ($($(#[$doc:meta])* $setting:ident = $name:literal, $rust:literal, $flag:literal, $parameter:literal,
        $words:literal;)*) => {
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

            /// The flag of the command `bnn-mcmc`, without dashes before it; `None` if there is none.
            pub fn flag(self) -> Option<&'static str> {
                some(match self {
                    $(Self::$setting => $flag,)*
                })
            }

            /// The parameter of the estimators in Python; `None` if there is none.
            pub fn parameter(self) -> Option<&'static str> {
                some(match self {
                    $(Self::$setting => $parameter,)*
                })
            }

            /// The method or type of the library.
            fn rust(self) -> &'static str {
                match self {
                    $(Self::$setting => $rust,)*
                }
            }

            /// The words of readers who may have made a run with any face; `None` of what is no setting of a run.
            fn words(self) -> Option<&'static str> {
                some(match self {
                    $(Self::$setting => $words,)*
                })
            }
        }
    };
}

settings! {
    /// The columns to predict.
    Target = "response", "CsvReader::regression", "target", "", "";
    /// The kind of the response: `regression`, `classification`, `counts` or `survival`.
    Task = "task", "task", "task", "", "";
    /// The columns to leave out.
    Ignore = "ignored", "CsvReader::ignore", "ignore", "", "";
    /// The columns that hold labels.
    Categorical = "categorical", "CsvReader::categorical", "categorical", "", "";
    /// The encoding of labels as numbers: `codes`, ...
    Encoding = "encoding", "CsvReader::encoding", "encoding", "", "";
    /// The character that separates cells.
    Delimiter = "delimiter", "CsvReader::delimiter", "delimiter", "", "";
    /// Whether the first line holds names: `yes` or `no`.
    Header = "header", "CsvReader::header", "header", "", "";
    /// The text that stands for a missing value.
    Missing = "missing", "CsvReader::missing", "missing", "", "";
    /// Whether rows with missing values are left out.
    DropMissing = "drop_missing_rows", "CsvReader::drop_missing_rows", "drop-missing", "", "";
    /// The column of the exposure of counts.
    Exposure = "exposure", "CsvReader::exposure", "exposure", "exposure", "";
    /// The column of the weights of rows.
    RowWeights = "row_weights", "CsvReader::row_weights", "row-weights", "", "";
    /// The columns of the group that a row belongs to.
    Group = "group", "CsvReader::group", "group", "group", "";
    /// The column that says whether the event of a time happened.
    Event = "event", "CsvReader::event", "event", "", "";
    /// The column of the upper bounds of times.
    Until = "until", "CsvReader::until", "until", "", "";
    /// The classes in their order.
    Classes = "classes", "CsvReader::classes", "classes", "", "";
    /// The encoding of the text: `utf_8` or `latin_1`.
    Charset = "charset", "CsvReader::charset", "charset", "", "";
    /// The writing of numbers: `plain`, `point` or `comma`.
    Decimal = "decimal", "CsvReader::decimal", "decimal", "", "";
    /// The order of day and month in dates.
    DateOrder = "date_order", "CsvReader::date_order", "date-order", "", "";
    /// The most bytes that are read.
    Limit = "limit", "CsvReader::limit", "limit", "", "";
    /// The share of rows that are kept for validation.
    Validation = "validation", "validation", "validation", "", "the share of validation rows";
    /// The model by name: `linear`, `network`, ...
    Model = "model", "model", "model", "model", "the model";
    /// The time that a fit may take.
    Within = "within", "within", "minutes", "minutes", "the time";
    /// What a run ends with, where the number of draws is open: `settled` or `converged`.
    RunUntil = "run_until", "run_until", "run-until", "run_until", "what a run ends with";
    /// The most rows that a model is fitted to.
    MostRows = "most_rows", "most_rows", "most-rows", "most_rows", "the number of rows";
    /// The units of the hidden layers.
    Hidden = "hidden", "hidden", "hidden", "hidden", "the hidden layers";
    /// The activation of hidden units.
    Activation = "activation", "activation", "activation", "activation", "the activation";
    /// Whether a linear part stands beside the hidden layers.
    Skip = "skip", "skip", "skip", "skip", "the linear part";
    /// The prior of the weights: `fan_in`, `normal`, `ard`, `horseshoe` or `scales`.
    Weights = "weights", "weights", "weights", "weight_prior", "the prior of the weights";
    /// The standard deviation of the normal prior of the weights.
    WeightsSd = "sd", "WeightPrior::Normal", "weights-sd", "weight_prior", "the standard deviation of the weights";
    /// The distribution of the noise.
    Noise = "noise", "noise", "noise", "noise", "the noise";
    /// The transform of a real response: `none`, `log`, `box_cox` or `yeo_johnson`.
    Transform = "transform", "transform", "transform", "response_transform", "the transform of the response";
    /// Whether each feature comes after a power transform.
    PowerFeatures = "power_features", "power_features", "power-features", "power_features", "the power transform of the features";
    /// The method that samples the posterior: `nuts`, `collapsed` or `tempered`.
    Method = "method", "method", "method", "method", "the method";
    /// The acceptance probability that warm-up aims at.
    TargetAccept = "target_accept", "target_accept", "target-accept", "target_accept", "the target of acceptance";
    /// The number of chains.
    Chains = "chains", "chains", "chains", "chains", "the number of chains";
    /// Iterations of warm-up.
    Warmup = "warmup", "warmup", "warmup", "warmup", "the warm-up";
    /// Draws of each chain.
    Draws = "draws", "draws", "draws", "draws", "the number of draws";
    /// The seed of random numbers.
    Seed = "seed", "seed", "seed", "random_state", "the seed";
    /// The number of threads.
    Threads = "threads", "threads", "threads", "n_jobs", "the number of threads";
    /// The times at which checkpoints are written.
    CheckpointEvery = "checkpoint_every", "checkpoint_every", "checkpoint-every", "", "the interval of checkpoints";
    /// The folder of a run.
    Folder = "folder", "Recipe::in_folder", "out", "folder", "the folder";
    /// The depth at which trajectories of NUTS are cut off.
    MaxDepth = "max_depth", "max_depth", "", "", "";
}

fn some(name: &'static str) -> Option<&'static str> {
    Some(name).filter(|name| !name.is_empty())
}

/// The vocabulary of the library: names of its methods and types. `Display` of errors and verdicts uses it.
#[derive(Clone, Copy, Debug, Default)]
pub struct InRust;

impl Vocabulary for InRust {
    fn setting(&self, setting: Setting, value: Option<&str>) -> Option<String> {
        let name = match (setting, value) {
            (Setting::Hidden, Some(units)) => return Some(format!("{units} hidden units")),
            (Setting::Ignore | Setting::Categorical, Some(column)) => {
                return Some(format!("`{}([{column:?}])`", setting.rust()));
            }
            (Setting::Group, Some(column)) => {
                return Some(format!("`{}({column:?})`", setting.rust()));
            }
            (Setting::TargetAccept, Some(value)) => {
                return Some(format!("`target_accept: {value}`"));
            }
            (Setting::Task, Some("classification")) => "CsvReader::classification",
            (Setting::Task, Some("regression")) => "CsvReader::regression",
            (Setting::Task, Some("counts")) => "CsvReader::counts",
            (Setting::Task, Some("survival")) => "CsvReader::survival",
            (Setting::Encoding, Some("codes")) => "Encoding::Codes",
            (Setting::Header, Some("no")) => "CsvReader::no_header",
            (Setting::Charset, Some("latin_1")) => "Charset::Latin1",
            (Setting::Weights, Some("fan_in")) => "Priors::by_fan_in",
            (Setting::Method, Some("tempered")) => "PowerPosteriors",
            (Setting::Method, Some("collapsed")) => "Collapsed",
            (Setting::Method, Some("nuts")) => "Nuts",
            (Setting::Model, Some("network")) => "Candidate::Network",
            (Setting::Transform, Some("yeo_johnson")) => "Transform::YeoJohnson",
            _ => setting.rust(),
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
        use Setting::{Hidden, Method, Model, TargetAccept, Transform, Validation, Weights};
        match (setting, value) {
            // The words of the advice already say what to set.
            (Validation | Model | Weights | Method | Transform, Some(_)) => Some(String::new()),
            (Hidden, Some(units)) => Some(format!("{units} hidden units")),
            (TargetAccept, Some(value)) => Some(value.into()),
            _ => setting.words().map(String::from),
        }
    }
}
