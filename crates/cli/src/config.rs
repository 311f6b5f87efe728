//! All settings of a fit: flags of the command and keys of `config.toml` are one struct.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bnn_mcmc::data::{
    Charset, ColumnDescription, CsvReader, DateOrder, Decimal, Description, Encoding, FateOfText,
    Finding, Task, Transform,
};
use bnn_mcmc::draws::checkpoint::Every;
use bnn_mcmc::fit::{Candidate, Fit, Method, Noise, Recipe, RunUntil, WeightPrior};
use bnn_mcmc::model::Activation;
use clap::{ArgAction, Args, ValueEnum};
use serde::{Deserialize, Deserializer, Serialize};

use crate::Failure;
use crate::choice::Chosen;
use crate::table::{Sample, Table, with_drawing};
use crate::task::{Asked, check_noise, choose, of_flags};

/// The name of the file of settings in the folder of a run.
pub const FILE: &str = "config.toml";

/// The settings of a fit. `None` means that a setting was not given: [`Config::over`] fills it in.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The table: a CSV file, or one like it, as it is or packed by gzip; a Parquet file
    pub data: Option<PathBuf>,
    #[command(flatten)]
    pub table: TableSettings,
    #[command(flatten)]
    pub model: ModelSettings,
    #[command(flatten)]
    pub sampler: SamplerSettings,
}

/// The settings for reading the table.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[command(next_help_heading = "Table")]
#[serde(deny_unknown_fields, default)]
pub struct TableSettings {
    /// The column to predict; several, separated by commas, for regression with several responses.
    /// Columns of a table without header are called #1, #2, ... A name that holds a comma is given by a
    /// flag of its own, here and below
    #[arg(long, short, value_name = "COLUMN")]
    #[serde(deserialize_with = "one_or_more")]
    pub target: Option<Vec<String>>,
    /// The kind of the response [default: auto]
    #[arg(long)]
    pub task: Option<Chosen<Asked>>,
    /// The columns to predict from [default: all but the target]
    #[arg(long, value_name = "COLUMNS")]
    #[serde(deserialize_with = "one_or_more")]
    pub features: Option<Vec<String>>,
    /// Columns to leave out, such as identifiers
    #[arg(long, value_name = "COLUMNS")]
    #[serde(deserialize_with = "one_or_more")]
    pub ignore: Option<Vec<String>>,
    /// Features to be taken for labels, even if they look like numbers. Columns of text always are
    #[arg(long, value_name = "COLUMNS")]
    #[serde(deserialize_with = "one_or_more")]
    pub categorical: Option<Vec<String>>,
    /// The encoding of labels as numbers [default: one-hot]
    #[arg(long)]
    pub encoding: Option<Chosen<Encoding>>,
    /// The separator of the cells: auto, blanks, tab, or one character. `auto` takes the first of
    /// tab, semicolon, vertical bar and comma that the first line holds, else blanks [default:
    /// auto]
    #[arg(long, value_name = "CHARACTER")]
    pub delimiter: Option<String>,
    /// Whether the first line holds the names of the columns [default: auto]
    #[arg(long)]
    pub header: Option<Header>,
    /// The texts that stand for a missing value, in capitals or small letters [default: an empty
    /// cell, NA, N/A, NaN, null, ?]
    #[arg(long, value_name = "TEXTS", value_delimiter = ',', allow_hyphen_values = true)]
    #[serde(deserialize_with = "one_or_more")]
    pub missing: Option<Vec<String>>,
    /// Leave out rows with missing values in any column. Otherwise missing features are filled in,
    /// and only rows without a response are left out
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "true|false")]
    pub drop_missing: Option<bool>,
    /// Draw the missing values of features in so many copies of the table (multiple imputation), each fitted with
    /// `--chains` of its own (2 are enough), and predict by all of them; 10 or more copies are good [default: fill
    /// missing values in and mark them]
    #[arg(long, value_name = "TABLES", value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub impute: Option<usize>,
    /// The column of the exposure of counts, such as the years in which they were counted: the model is of
    /// the rate, and the column is no feature
    #[arg(long, value_name = "COLUMN")]
    pub exposure: Option<String>,
    /// The column of the weights of rows, numbers from 0 on: a row of weight w counts as w rows that are equal to it,
    /// and the column is no feature. (The prior of the network's weights is `--weights`)
    #[arg(long, value_name = "COLUMN")]
    pub row_weights: Option<String>,
    /// The columns of the group that a row belongs to, such as a school: each group has an intercept, and the
    /// column is no feature
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', allow_hyphen_values = true)]
    #[serde(deserialize_with = "one_or_more")]
    pub group: Option<Vec<String>>,
    /// The column that says of each survival time whether its event happened then (1 or true) or had not happened
    /// by then (0 or false); it is no feature
    #[arg(long, value_name = "COLUMN")]
    pub event: Option<String>,
    /// The column of the upper bounds of survival times, in the place of `--event`: equal to the time if it was
    /// observed, missing if there is none
    #[arg(long, value_name = "COLUMN")]
    pub until: Option<String>,
    /// The classes in their order, for `--noise ordinal` [default: by size if all are numbers, else
    /// as text]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', allow_hyphen_values = true)]
    #[serde(deserialize_with = "one_or_more")]
    pub classes: Option<Vec<String>>,
    /// The encoding of the text [default: utf-8]
    #[arg(long)]
    pub charset: Option<Chosen<Charset>>,
    /// The writing of numbers: the decimal mark, and marks between thousands [default: plain]
    #[arg(long)]
    pub decimal: Option<Chosen<Decimal>>,
    /// The order of day and month in dates such as 1/2/2024 [default: auto]
    #[arg(long)]
    pub date_order: Option<Chosen<DateOrder>>,
    /// The share of rows that the model does not learn from, to be scored by it [default: 0]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub validation: Option<f64>,
    /// The most bytes of text that are read [default: 1073741824, 1 GiB]
    #[arg(long, value_name = "BYTES", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub limit: Option<u64>,
}

/// The model: likelihood, network, priors.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[command(next_help_heading = "Model")]
#[serde(deny_unknown_fields, default)]
pub struct ModelSettings {
    /// The model [default: the one that predicts rows best which it has not seen, by cross-validation; if any
    /// other setting of the model but noise and transforms, or the method, is given: a network as described below]
    #[arg(long)]
    pub model: Option<Chosen<Candidate>>,
    /// The units of each hidden layer, separated by commas; 0 for a linear model [default: one
    /// layer of 100 units for a real response, else of 40]
    #[arg(long, value_name = "UNITS", value_delimiter = ',', value_parser = whole::<usize>,
          allow_hyphen_values = true, action = ArgAction::Set)]
    #[serde(deserialize_with = "one_or_more")]
    pub hidden: Option<Vec<usize>>,
    /// The activation of the hidden units [default: tanh]
    #[arg(long)]
    pub activation: Option<Chosen<Activation>>,
    /// A linear part beside the hidden layers: connections from the features to the outputs
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "true|false")]
    pub skip: Option<bool>,
    /// The prior of the weights, for standardised features and response [default: fan-in]
    #[arg(long)]
    pub weights: Option<Chosen<WeightPrior>>,
    /// The standard deviation of the prior of `--weights normal` [default: 1]
    #[arg(long, value_name = "SD", allow_hyphen_values = true)]
    pub weights_sd: Option<f64>,
    /// The distribution of responses around the network's output; of classes it says whether they
    /// are in order [default: gaussian, of counts negative-binomial]
    #[arg(long)]
    pub noise: Option<Chosen<Noise>>,
    /// The transform of a real response before it is standardised; predictions, scores and
    /// comparisons are of the response itself [default: none]
    #[arg(long)]
    pub transform: Option<Chosen<Transform>>,
    /// Each feature by Yeo and Johnson's power before it is standardised, so that a few large values do not decide what the
    /// model says of all others [default: true in models that the data or a name choose, except linear; else false]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "true|false")]
    pub power_features: Option<bool>,
}

/// The settings of the sampler.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[command(next_help_heading = "Sampler")]
#[serde(deny_unknown_fields, default)]
pub struct SamplerSettings {
    /// The method [default: collapsed where it can be used at a reasonable cost, else nuts; of networks that
    /// the data or a model's name choose, other than those of normal noise, mams]. An ensemble is not the
    /// posterior: its chains are members, each optimised from a start of its own and then sampled for a short
    /// while
    #[arg(long)]
    pub method: Option<Chosen<Method>>,
    // The flag `--chains` may also say which chains a job runs: see `fit::FitArgs`.
    #[arg(skip)]
    pub chains: Option<usize>,
    /// The acceptance probability that warm-up adapts the step size to, between 0 and 1. A larger
    /// value makes smaller steps, which help against divergent transitions [default: 0.9 for the
    /// methods collapsed, mams and ensemble, else 0.8]
    #[arg(long, value_name = "PROBABILITY", allow_hyphen_values = true)]
    pub target_accept: Option<f64>,
    /// Iterations of warm-up of each chain; of an ensemble, all but the last 100 (at most half) are steps
    /// of its optimisation [default: 1000, of an ensemble 4100; 150 to 1000 by the time where the data
    /// choose the model]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub warmup: Option<usize>,
    /// Draws of each chain [default: 1000, of an ensemble 60; where the data choose the model, as many
    /// as it takes to converge, from 100 to 8000 by the time]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub draws: Option<usize>,
    /// The seed of all random numbers: equal settings and seeds give equal draws (of iterations that the time decides on,
    /// the settings are those in the folder's config.toml) [default: 0]
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// The number of threads, 0 for all that there are. No result depends on it, but numbers of iterations that the time
    /// decides on [default: 0]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// The minutes that the choice of a model and the run may take, as far as it can be foreseen: numbers of iterations
    /// that are not given are smaller if need be. Where the model is given, nothing depends on the time [default: 1 until
    /// predictions have settled, 3 on 10,000 rows or more, 10 until chains have converged]
    #[arg(long, value_name = "MINUTES", allow_hyphen_values = true)]
    pub minutes: Option<f64>,
    /// What a run ends with, unless the number of draws is given [default: settled where the data choose the model]
    #[arg(long, value_name = "END")]
    pub run_until: Option<Chosen<RunUntil>>,
    /// The most rows that the model is fitted to, drawn at random from a table which has more, and from text of more bytes than
    /// the limit as it is read [default: all, and where the data choose the model as many of them as there is time for]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub most_rows: Option<usize>,
    /// The interval at which the run is saved, so that it can go on after it was killed: seconds
    /// (`30s`) or draws of each chain (`100draws`) [default: 30s]
    #[arg(long, value_name = "INTERVAL", allow_hyphen_values = true)]
    pub checkpoint_every: Option<String>,
}

/// Whether the first line holds names.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Header {
    /// It does; a name that is a number is an error, since the file may well have no header
    Auto,
    /// It does, even if names in it are numbers
    Yes,
    /// It does not
    No,
}

impl Config {
    /// The settings that hold where nothing is said. Lacking are those that depend on the task or the method.
    pub fn defaults() -> Self {
        let none = || Some(Vec::new());
        let missing = ["", "NA", "N/A", "NaN", "null", "?"].map(String::from).to_vec();
        Self {
            data: None,
            table: TableSettings {
                target: None,
                task: Some(Chosen(Asked::Auto)),
                features: none(),
                ignore: none(),
                categorical: none(),
                encoding: Some(Chosen(Encoding::OneHot)),
                delimiter: Some("auto".into()),
                header: Some(Header::Auto),
                missing: Some(missing),
                drop_missing: Some(false),
                impute: None,
                exposure: None,
                row_weights: None,
                group: None,
                event: None,
                until: None,
                classes: None,
                charset: Some(Chosen(Charset::Utf8)),
                decimal: Some(Chosen(Decimal::Plain)),
                date_order: Some(Chosen(DateOrder::Auto)),
                validation: Some(0.0),
                limit: Some(1 << 30),
            },
            model: ModelSettings {
                model: None,
                hidden: None,
                activation: Some(Chosen(Activation::Tanh)),
                skip: None,
                weights: None,
                weights_sd: None,
                noise: None,
                transform: Some(Chosen(Transform::None)),
                power_features: None,
            },
            sampler: SamplerSettings {
                method: None,
                target_accept: None,
                chains: None,
                warmup: None,
                draws: None,
                seed: Some(0),
                threads: Some(0),
                minutes: None,
                run_until: None,
                most_rows: None,
                checkpoint_every: Some("30s".into()),
            },
        }
    }

    /// The settings of a file. A key that is not known is an error that names it and lists all that
    /// are.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let text =
            std::fs::read_to_string(path).map_err(|e| Failure::usage(format!("{shown}: {e}")))?;
        toml::from_str(&text).map_err(|e| {
            let problem = e.to_string();
            let problem = ["expected usize", "expected u64"]
                .iter()
                .fold(problem, |text, theirs| {
                    text.replace(theirs, "expected a whole number, 0 or more")
                })
                .replace("expected f64", "expected a number");
            Failure::usage(format!("{shown}: {problem}"))
        })
    }

    /// The settings of the file, if there is one, then those given by flags, over the defaults.
    pub fn over(self, file: Option<&Path>) -> Result<Self, Failure> {
        let mut all = table(&Self::defaults())?;
        if let Some(path) = file {
            put(&mut all, table(&Self::read(path)?)?);
        }
        put(&mut all, table(&self)?);
        let mut all: Self = all.try_into().map_err(|e| Failure::usage(e.to_string()))?;
        // Typed as 0, since a list of no numbers cannot be typed.
        if all.model.hidden.as_deref() == Some(&[0]) {
            all.model.hidden = Some(Vec::new());
        }
        if let Some(Chosen(WeightPrior::Normal { sd })) = all.model.weights {
            all.model.weights_sd.get_or_insert(sd);
        } else if all.model.weights_sd.is_some() {
            return Err(Failure::usage("`--weights-sd` is for `--weights normal` alone"));
        }
        if let Some(units) = all.model.hidden.as_ref().filter(|units| units.contains(&0)) {
            return Err(Failure::error(format!(
                "`--hidden` is {units:?}, but every hidden layer has at least 1 unit; a linear model, which has \
                 none, is `--hidden 0`"
            )));
        }
        if all.sampler.draws == Some(0) {
            return Err(Failure::error(
                "`--draws` is 0, but must be at least 1: verdict and predictions are made of draws",
            ));
        }
        Ok(all)
    }

    /// The settings as a file that `--config` reads.
    pub fn to_toml(&self) -> Result<String, Failure> {
        let text = toml::to_string(self).map_err(|e| Failure::error(format!("{FILE}: {e}")))?;
        let version = env!("CARGO_PKG_VERSION");
        Ok(format!(
            "# All settings of the run in this folder, written by bnn-mcmc {version}. To repeat it, where `data` is found:\n\
             # bnn-mcmc fit --config {FILE} --out ANOTHER_FOLDER\n{text}"
        ))
    }

    pub fn data(&self) -> Result<&Path, Failure> {
        let path = self.data.as_deref().ok_or_else(|| {
            Failure::usage("the table is missing: give a CSV file, as in `bnn-mcmc fit data.csv`")
        })?;
        match std::fs::metadata(path) {
            // It is looked through before it is fitted.
            Ok(there) if !there.is_file() && !there.is_dir() => Err(Failure::error(format!(
                "{}: it can be read only once, and must be a file that can be read again",
                path.display()
            ))),
            _ => Ok(path),
        }
    }

    /// Opens the table. Settings on the form of text are refused where it is of another form.
    pub fn open(&self) -> Result<Table, Failure> {
        let path = self.data()?;
        let limit = self.limit();
        let drawn = self.drawn();
        let table = Table::open(path, limit, drawn).map_err(|error| match drawn {
            None => with_drawing(error),
            Some(_) => error,
        })?;
        if !table.is_text() {
            self.check_no_text()?;
        }
        Ok(table)
    }

    /// An error if settings on the form of text are given, which a table with types has not.
    pub fn check_no_text(&self) -> Result<(), Failure> {
        let defaults = Self::defaults().table;
        let is_given = [
            ("--delimiter", self.table.delimiter != defaults.delimiter),
            ("--header", self.table.header != defaults.header),
            ("--charset", self.table.charset != defaults.charset),
            ("--decimal", self.table.decimal != defaults.decimal),
            ("--date-order", self.table.date_order != defaults.date_order),
        ];
        match is_given.iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => Err(Failure::usage(format!(
                "`{flag}` is for tables of text: leave it out, since the columns of {} have types",
                self.data()?.display()
            ))),
            None => Ok(()),
        }
    }

    pub fn target(&self) -> Result<&[String], Failure> {
        self.table.target.as_deref().filter(|target| !target.is_empty()).ok_or_else(|| {
            Failure::usage("the column to predict is missing: say it by `--target COLUMN`")
        })
    }

    /// A reader of the table, for any response.
    pub fn reader(&self) -> Result<CsvReader, Failure> {
        let reader = self.table.change(CsvReader::regression(0), &[])?;
        // As the fit will read it.
        Ok(match self.drawn() {
            Some(Sample { rows, seed }) => reader.sample(rows, seed),
            None => reader,
        })
    }

    /// The most bytes of text that are read.
    pub fn limit(&self) -> u64 {
        self.table.limit.or(Self::defaults().table.limit).unwrap_or(u64::MAX)
    }

    /// The task that was asked for, or chosen.
    fn task(&self) -> Option<Task> {
        self.table.task.and_then(|Chosen(asked)| asked.task())
    }

    /// The reader of the table for its response, once the settings are [settled](Self::settle).
    pub fn settled_reader(&self, table: &Description) -> Result<CsvReader, Failure> {
        let reader = CsvReader::of(self.task().unwrap_or_default(), self.target()?.to_vec());
        self.table.change(reader, &self.ignored(table)?)
    }

    /// The rows that are drawn of a table which is too long to be read whole.
    fn drawn(&self) -> Option<Sample> {
        Some(Sample { rows: self.sampler.most_rows?, seed: self.sampler.seed? })
    }

    /// The findings on the table before it is fitted, as far as these settings use it.
    pub fn findings(&self, table: &Description) -> Result<Vec<Finding>, Failure> {
        let TableSettings { target, features, ignore, .. } = &self.table;
        let target = target.clone().unwrap_or_default();
        let chosen = features.as_ref().filter(|features| !features.is_empty());
        let is_left_out = |name: &&String| {
            ignore.as_ref().is_some_and(|list| list.contains(*name))
                || chosen.is_some_and(|list| !list.contains(*name) && !target.contains(*name))
        };
        let names = table.columns.iter().map(|column| &column.name);
        let left_out: Vec<String> = names.filter(is_left_out).cloned().collect();
        let reader = CsvReader::of(self.task().unwrap_or_default(), target);
        Ok(self.table.change(reader, &left_out)?.findings(table))
    }

    /// Takes the lists of columns that were given by flags apart, now that the names of columns are known:
    /// an entry that is the name of a column is that column, others are names separated by commas.
    pub fn name_columns(&mut self, table: &Description) {
        let is_column = |entry: &String| table.columns.iter().any(|column| column.name == *entry);
        let TableSettings { target, features, ignore, categorical, .. } = &mut self.table;
        for list in [target, features, ignore, categorical].into_iter().flatten() {
            let apart = |entry: &String| match is_column(entry) {
                true => vec![entry.clone()],
                false => entry.split(',').map(String::from).collect(),
            };
            *list = list.iter().flat_map(apart).collect();
        }
    }

    /// Takes the order of the classes from the type of their column, if they are to be in order and no other
    /// order is given.
    pub fn take_order(&mut self, table: &Table) {
        let is_ordinal = self.model.noise.is_some_and(|Chosen(noise)| noise.task().has_classes());
        if let (true, None, Some([target])) =
            (is_ordinal, &self.table.classes, self.table.target.as_deref())
        {
            self.table.classes = table.order_of(target).map(<[String]>::to_vec); //~ order-of-type
        }
    }

    /// Text of more kinds than are labels: kinds with two rows or more on average have an intercept each, and a column in which
    /// nearly every row has its own is left out, as is one in which rows lack a value, which would be left out otherwise. Says what was
    /// done. What is named as a feature, and text of more kinds than were counted, is refused later.
    pub fn settle_text(&mut self, table: &Description) -> Result<Vec<String>, Failure> {
        let mut said = Vec::new();
        for finding in self.findings(table)? {
            let Finding::ManyLabels { column, labels: Some(kinds), .. } = finding else { continue };
            let missing = |own: &&ColumnDescription| own.name == column;
            let missing = table.columns.iter().find(missing).map_or(0, |own| own.missing);
            let (settings, rows) = (&mut self.table, table.rows - missing);
            if settings.features.as_ref().is_some_and(|features| features.contains(&column)) {
                continue;
            }
            let fate = FateOfText::of(kinds, rows, missing);
            let (list, flag) = match fate {
                FateOfText::Groups => (&mut settings.group, ", as by `--group`"),
                _ => (&mut settings.ignore, ""),
            };
            said.push(format!("`{column}`, text of {kinds} kinds in {rows} rows, {fate}{flag}"));
            list.get_or_insert_default().push(column);
        }
        Ok(said)
    }

    /// Chooses the task, if it is left to the table, and the noise of a model that is given; says of the task why.
    pub fn settle(&mut self, table: &Description) -> Result<Option<String>, Failure> {
        let TableSettings { classes, exposure, event, until, .. } = &self.table;
        let given = [classes.is_some(), exposure.is_some(), event.is_some(), until.is_some()];
        let (task, why) = match (self.task(), of_flags(given)) {
            (Some(task), _) => (task, None),
            (None, Some((task, why))) => (task, Some(why.into())),
            (None, None) => {
                let (task, why) = choose(table, self.target()?, self.data()?)?;
                (task, Some(why))
            }
        };
        if let Some(Chosen(noise)) = self.model.noise {
            check_noise(noise, task)?;
        }
        self.table.task = Some(Chosen(Asked::Task(task)));
        if !self.is_open() && self.model.model.is_none() {
            self.model.noise = self.model.noise.or(Noise::default_of(task).map(Chosen));
        }
        Ok(why)
    }

    /// The recipe, once the settings are [settled](Self::settle).
    pub fn recipe(&self, table: &Description) -> Result<Recipe, Failure> {
        let target = self.target()?.to_vec();
        let ignored = self.ignored(table)?;
        let mut recipe = Fit::of(self.task().unwrap_or_default(), target);
        // Seen here first, where an error can be told.
        self.table.change(CsvReader::regression(0), &ignored)?;
        recipe =
            recipe.reader(|reader| self.table.change(reader.clone(), &ignored).unwrap_or(reader));
        recipe = recipe.with(self.table.validation, Recipe::validation);
        self.sampler.change(self.model.change(recipe))
    }

    /// Whether the model is left to the data.
    pub fn is_open(&self) -> bool {
        let ModelSettings { model, hidden, skip, weights, .. } = &self.model;
        let is_given = [model.is_some(), hidden.is_some(), skip.is_some(), weights.is_some()];
        !is_given.contains(&true) && self.sampler.method.is_none()
    }

    /// The columns that are left out: those that are named, or all but the features that are.
    fn ignored(&self, table: &Description) -> Result<Vec<String>, Failure> {
        let names: Vec<&String> = table.columns.iter().map(|column| &column.name).collect();
        let [features, ignored] =
            [&self.table.features, &self.table.ignore].map(|list| list.clone().unwrap_or_default());
        let target = self.target()?;
        for (flag, list) in [("features", &features), ("ignore", &ignored)] {
            if let Some(both) = list.iter().find(|name| target.contains(name)) {
                let problem = format!("`{both}` is the target: it cannot be among `--{flag}`");
                return Err(Failure::usage(problem));
            }
        }
        if features.is_empty() {
            return Ok(ignored);
        }
        if let Some(both) = ignored.iter().find(|name| features.contains(name)) {
            return Err(Failure::usage(format!("`{both}` is in `--features` and in `--ignore`")));
        }
        // A name that is not there is looked for by the reader, which lists all that are.
        let unknown = features.iter().filter(|name| !names.contains(name)).cloned();
        let is_other = |name: &&&String| {
            let TableSettings { exposure, row_weights, event, until, group, .. } = &self.table;
            let mut others = [exposure, row_weights, event, until].into_iter().flatten();
            let has_role = others.any(|role| role == **name)
                || group.as_ref().is_some_and(|group| group.contains(**name));
            !features.contains(name) && !target.contains(name) && !has_role
        };
        let others = names.iter().filter(is_other);
        Ok(unknown.chain(others.map(|name| name.to_string())).collect())
    }

    /// Fills in the settings that were left to the fit, with the values that it has chosen.
    pub fn chosen(mut self, recipe: &Recipe) -> Self {
        let chosen = recipe.as_settings().clone();
        self.model = ModelSettings {
            model: recipe.model_of_curves().map(Chosen),
            hidden: chosen.hidden,
            skip: chosen.skip.or(Some(false)),
            weights: Some(Chosen(chosen.weights.unwrap_or_default())),
            noise: chosen.noise.or(self.task().and_then(Noise::default_of)).map(Chosen),
            transform: Some(Chosen(chosen.transform)),
            power_features: chosen.power_features.or(Some(false)),
            ..self.model
        };
        self.sampler = SamplerSettings {
            method: chosen.method.map(Chosen),
            run_until: recipe.has_short_trajectories().then_some(Chosen(RunUntil::Settled)),
            chains: chosen.chains,
            warmup: chosen.warmup,
            draws: chosen.draws,
            ..self.sampler
        };
        self
    }
}

/// A value that settings change.
trait Set: Sized {
    /// The value with a setting, if that is given.
    fn with<T>(self, setting: Option<T>, set: impl FnOnce(Self, T) -> Self) -> Self {
        match setting {
            Some(setting) => set(self, setting),
            None => self,
        }
    }
}

impl Set for Recipe {}
impl Set for CsvReader {}

impl TableSettings {
    /// The reader with these settings, and columns that are left out.
    fn change(&self, reader: CsvReader, ignored: &[String]) -> Result<CsvReader, Failure> {
        let list = |list: &Option<Vec<String>>| list.clone().unwrap_or_default();
        let reader = reader.ignore(ignored).categorical(list(&self.categorical));
        let reader = self.separated(match self.header {
            Some(Header::Yes) => reader.header(),
            Some(Header::No) => reader.no_header(),
            Some(Header::Auto) | None => reader,
        })?;
        Ok(reader
            .with(self.encoding, |reader, Chosen(encoding)| reader.encoding(encoding))
            .with(self.missing.as_ref(), |reader, missing| reader.missing(missing))
            .with(self.drop_missing.filter(|is| *is), |reader, _| reader.drop_missing_rows())
            .with(self.exposure.as_ref(), CsvReader::exposure)
            .with(self.row_weights.as_ref(), CsvReader::row_weights)
            .with(self.group.as_ref(), |reader, groups| {
                groups.iter().fold(reader, CsvReader::group)
            })
            .with(self.event.as_ref(), CsvReader::event)
            .with(self.until.as_ref(), CsvReader::until)
            .with(self.classes.as_ref(), |reader, classes| reader.classes(classes))
            .with(self.charset, |reader, Chosen(charset)| reader.charset(charset))
            .with(self.decimal, |reader, Chosen(decimal)| reader.decimal(decimal))
            .with(self.date_order, |reader, Chosen(order)| reader.date_order(order))
            .with(self.limit, CsvReader::limit))
    }

    /// The reader with the separator of the cells.
    fn separated(&self, reader: CsvReader) -> Result<CsvReader, Failure> {
        Ok(match self.delimiter.as_deref() {
            None | Some("auto") => reader.detect_delimiter(),
            Some("blanks") => reader.whitespace(),
            Some("tab" | "\\t") => reader.delimiter(b'\t'),
            Some(text) => match text.as_bytes() {
                [byte] if byte.is_ascii() && !b"\"\r\n".contains(byte) => reader.delimiter(*byte),
                _ => {
                    return Err(Failure::usage(format!(
                        "`--delimiter` is `{text}`, but must be auto, blanks, tab, or one ASCII character \
                         other than a quotation mark"
                    )));
                }
            },
        })
    }
}

impl ModelSettings {
    /// The recipe with these settings.
    fn change(&self, recipe: Recipe) -> Recipe {
        let Self {
            model,
            hidden,
            activation,
            skip,
            weights,
            weights_sd,
            noise,
            transform,
            power_features,
        } = self;
        let weights = weights.map(|Chosen(weights)| match (weights, *weights_sd) {
            (WeightPrior::Normal { .. }, Some(sd)) => WeightPrior::Normal { sd },
            (weights, _) => weights,
        });
        recipe
            .with(*model, |recipe, Chosen(model)| recipe.model(model))
            .with(hidden.as_deref(), Recipe::hidden)
            .with(*activation, |recipe, Chosen(activation)| recipe.activation(activation))
            .with(*skip, Recipe::skip)
            .with(weights, Recipe::weights)
            .with(*noise, |recipe, Chosen(noise)| recipe.noise(noise))
            .with(*transform, |recipe, Chosen(transform)| recipe.transform(transform))
            .with(*power_features, Recipe::power_features)
    }
}

impl SamplerSettings {
    /// The recipe with these settings.
    fn change(&self, recipe: Recipe) -> Result<Recipe, Failure> {
        let Self {
            method,
            target_accept,
            chains,
            warmup,
            draws,
            seed,
            threads,
            minutes,
            run_until,
            most_rows,
            checkpoint_every,
        } = self;
        let time = |minutes: f64| {
            Duration::try_from_secs_f64(60.0 * minutes).map_err(|_| {
                Failure::usage(format!("`--minutes` is {minutes}, but must be a number from 0 on"))
            })
        };
        let time = minutes.map(time).transpose()?;
        let every = checkpoint_every.as_deref().map(interval).transpose()?;
        Ok(recipe
            .with(*most_rows, Recipe::most_rows)
            .with(time, Recipe::within)
            .with(*run_until, |recipe, Chosen(end)| recipe.run_until(end))
            .with(*target_accept, Recipe::target_accept)
            .with(*method, |recipe, Chosen(method)| recipe.method(method))
            .with(*chains, Recipe::chains)
            .with(*warmup, Recipe::warmup)
            .with(*draws, Recipe::draws)
            .with(*seed, Recipe::seed)
            .with(threads.filter(|threads| *threads > 0), Recipe::threads)
            .with(every, Recipe::checkpoint_every))
    }
}

/// `30s` or `100draws`.
fn interval(text: &str) -> Result<Every, Failure> {
    let seconds = text.strip_suffix('s').filter(|text| !text.ends_with("draw"));
    let every = match (seconds, text.strip_suffix("draws")) {
        (Some(seconds), _) => seconds.trim().parse().ok().map(Every::Seconds),
        (None, Some(draws)) => draws.trim().parse().ok().map(Every::Draws),
        (None, None) => None,
    };
    every.ok_or_else(|| {
        let allowed = "a time in seconds, as `30s`, or a number of draws, as `100draws`";
        Failure::usage(format!("`--checkpoint-every` is `{text}`, but must be {allowed}"))
    })
}

/// A whole number that a file of settings can hold.
pub fn whole<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let number = text.trim().parse().ok().filter(|n: &u64| *n <= i64::MAX as u64);
    let number = number.and_then(|n| N::try_from(n).ok());
    number.ok_or_else(|| format!("it must be a whole number from 0 to {}", i64::MAX))
}

/// A list, or its only entry by itself.
fn one_or_more<'de, T, D>(from: D) -> Result<Option<Vec<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "expected an entry or a list of entries, as \"a\", [\"a\", \"b\"] or [20, 20]"
    )]
    enum OneOrMore<T> {
        One(T),
        More(Vec<T>),
    }
    Ok(match Option::deserialize(from)? {
        None => None,
        Some(OneOrMore::One(entry)) => Some(vec![entry]),
        Some(OneOrMore::More(list)) => Some(list),
    })
}

fn table(config: &Config) -> Result<toml::Table, Failure> {
    toml::Table::try_from(config).map_err(|e| Failure::usage(e.to_string()))
}

/// Puts every value of `from` in its place in `into`.
fn put(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(into)), toml::Value::Table(from)) => put(into, from),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(text: &str) -> Description {
        Config::defaults().reader().unwrap().describe(text.as_bytes()).unwrap()
    }

    /// A setting of the library that gets another default shows here.
    #[test]
    fn defaults_are_those_of_the_library() {
        let table = described("x,y\n1,2\n");
        let given = |recipe: Recipe| recipe.hidden(&[3]);
        for (task, hidden, plain) in [
            (Task::Regression, None, Fit::regression(["y"])),
            (Task::Regression, Some(3), given(Fit::regression(["y"]).noise(Noise::Gaussian))),
            (Task::Counts, Some(3), given(Fit::counts(["y"]).noise(Noise::NegativeBinomial))),
            (Task::Classification, Some(3), given(Fit::classification(["y"]))),
        ] {
            let mut config = Config::default().over(None).unwrap();
            config.model.hidden = hidden.map(|units| vec![units]);
            config.table.target = Some(vec!["y".into()]);
            config.table.task = Some(Chosen(Asked::Task(task)));
            config.settle(&table).unwrap();
            let ours = serde_json::to_value(config.recipe(&table).unwrap()).unwrap();
            let plain = plain.reader(|reader| reader.detect_delimiter());
            assert_eq!(ours, serde_json::to_value(plain).unwrap());
        }
    }

    #[test]
    fn flags_come_before_the_file_and_the_file_before_the_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.toml");
        std::fs::write(&path, "[table]\nignore = [\"a\"]\n[sampler]\ndraws = 5\nwarmup = 6\n")
            .unwrap();
        let mut flags = Config::default();
        flags.sampler.draws = Some(7);
        let all = flags.over(Some(&path)).unwrap();
        assert_eq!((all.sampler.draws, all.sampler.warmup), (Some(7), Some(6)));
        assert_eq!(all.table.ignore, Some(vec!["a".to_string()]));
        assert_eq!(all.table.drop_missing, Some(false));
        // Written settings are read back as the same.
        std::fs::write(&path, all.to_toml().unwrap()).unwrap();
        assert_eq!(Config::read(&path).unwrap(), all);
    }

    /// No value of a file is lost on the way: NaN is not taken for the default.
    #[test]
    fn what_is_no_number_reaches_the_library() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.toml");
        std::fs::write(&path, "[table]\nvalidation = nan\n").unwrap();
        assert!(Config::default().over(Some(&path)).unwrap().table.validation.unwrap().is_nan());
    }

    #[test]
    fn intervals_are_seconds_or_draws() {
        assert_eq!(interval("30s").unwrap(), Every::Seconds(30.0));
        assert_eq!(interval("0.5s").unwrap(), Every::Seconds(0.5));
        assert_eq!(interval("100draws").unwrap(), Every::Draws(100));
        for bad in ["30", "s", "draws", "1.5draws", "30min", ""] {
            assert_eq!(interval(bad).unwrap_err().code, 2, "{bad}");
        }
    }

    #[test]
    fn features_are_all_columns_that_are_not_left_out() {
        let table = described("a,b,c,y\n1,2,3,4\n");
        let ignored = |change: &dyn Fn(&mut TableSettings)| {
            let mut config = Config::default();
            config.table.target = Some(vec!["y".into()]);
            change(&mut config.table);
            config.ignored(&table).map_err(|e| e.code)
        };
        let list = |names: &[&str]| Some(names.iter().map(|name| name.to_string()).collect());
        assert_eq!(ignored(&|_| ()).unwrap(), Vec::<String>::new());
        assert_eq!(ignored(&|t| t.features = list(&["b"])).unwrap(), ["a", "c"]);
        assert_eq!(ignored(&|t| t.ignore = list(&["b"])).unwrap(), ["b"]);
        assert_eq!(ignored(&|t| t.features = list(&["z", "b"])).unwrap(), ["z", "a", "c"]);
        assert_eq!(ignored(&|t| t.features = list(&["y"])), Err(2));
        assert_eq!(ignored(&|t| t.ignore = list(&["y"])), Err(2));
        let both = |t: &mut TableSettings| (t.features, t.ignore) = (list(&["a"]), list(&["a"]));
        assert_eq!(ignored(&both), Err(2));
    }
}
