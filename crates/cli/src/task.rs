//! The kind of response in a column.

use std::path::Path;

use bnn_mcmc::Error;
use bnn_mcmc::data::{ColumnDescription, ColumnType, Description, Task};
use bnn_mcmc::fit::Noise;
use bnn_mcmc::message::Choice;

use crate::Failure;
use crate::choice::typed;
use crate::output::count;

/// The kind of the response, or that it follows from the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Asked {
    Auto,
    Task(Task),
}

impl Asked {
    /// The task, unless the table says it.
    pub fn task(self) -> Option<Task> {
        match self {
            Self::Auto => None,
            Self::Task(task) => Some(task),
        }
    }
}

impl Choice for Asked {
    const KIND: &'static str = "task";
    const ALL: &'static [Self] = &[
        Self::Auto,
        Self::Task(Task::Regression),
        Self::Task(Task::Classification),
        Self::Task(Task::Counts),
        Self::Task(Task::Survival),
    ];

    fn name(self) -> &'static str {
        self.task().map_or("auto", Choice::name)
    }

    fn help(self) -> &'static str {
        let auto = "Text is taken for classes, numbers for real; 0 and 1 alone are an error, since they may be either";
        self.task().map_or(auto, Choice::help)
    }
}

/// The column of this name; an error lists all that there are.
pub fn column<'t>(
    table: &'t Description,
    name: &str,
    file: &Path,
) -> Result<&'t ColumnDescription, Failure> {
    table.columns.iter().find(|column| column.name == name).ok_or_else(|| {
        let known = table.columns.iter().map(|column| column.name.clone()).collect();
        let what = format!("column of {}", file.display());
        Failure::from(Error::UnknownName { what, name: name.into(), known })
    })
}

/// The tasks of `--classes`, `--exposure`, `--event` and `--until`.
const FLAGS: [(Task, &str); 4] = [
    (Task::Classification, "classification, since `--classes` names them"),
    (Task::Counts, "counts, since `--exposure` is of these"),
    (Task::Survival, "survival, since `--event` is of these"),
    (Task::Survival, "survival, since `--until` is of these"),
];

/// The task of the first of these flags that is given, and why.
pub fn of_flags(given: [bool; 4]) -> Option<(Task, &'static str)> {
    FLAGS.into_iter().zip(given).find_map(|(task, is_given)| is_given.then_some(task))
}

/// An error if responses of a task do not scatter in this way; of classes the library says it.
pub fn check_noise(noise: Noise, task: Task) -> Result<(), Failure> {
    let problem = match (task, noise.task()) {
        (task, own) if task == own => return Ok(()),
        (_, Task::Survival) => {
            "is of survival times: say `--task survival`, with `--event` or `--until`"
        }
        (Task::Survival, _) => {
            "is not of survival times: say `--noise log-normal`, `--noise weibull` or `--noise normal`"
        }
        (Task::Classification, _) => return Ok(()),
        (_, Task::Classification) => "is of classes in order: say `--task classification`",
        (_, Task::Counts) => "is of counts: say `--task counts`",
        (_, Task::Regression) => {
            "is of real responses: say `--task regression`, or `--noise poisson` or `--noise negative-binomial` of counts"
        }
    };
    Err(Failure::usage(format!("`--noise {}` {problem}", typed(noise))))
}

/// Text of more kinds, and with fewer rows for each on average, is not taken for classes.
const MOST_KINDS: usize = 20;
const ROWS_OF_KIND: usize = 3;

/// The task that suits the columns of the response, and why.
pub fn choose(
    table: &Description,
    target: &[String],
    file: &Path,
) -> Result<(Task, String), Failure> {
    let columns: Vec<&ColumnDescription> =
        target.iter().map(|name| column(table, name, file)).collect::<Result<_, _>>()?;
    let Some(first) = columns.first().filter(|_| columns.len() == 1) else {
        let numbers = "regression, since there are several responses";
        return Ok((Task::Regression, numbers.into()));
    };
    if first.kind == Some(ColumnType::Bools) {
        let why = format!("classification, since `{}` holds true and false", first.name);
        return Ok((Task::Classification, why));
    }
    //~ text-response
    if first.is_text {
        return Ok((Task::Classification, of_text(first, table.rows)?));
    }
    Ok((Task::Regression, of_numbers(first)?))
}

/// The number of different values of a column, as far as they were counted.
fn different(column: &ColumnDescription) -> Option<usize> {
    column.values.as_ref().map(Vec::len)
}

/// The number of different values of a column, in words.
fn kinds(column: &ColumnDescription) -> String {
    different(column).map_or("more than 1000".into(), |n| n.to_string())
}

/// Why a column of text holds classes; an error if it may hold something else.
fn of_text(column: &ColumnDescription, rows: usize) -> Result<String, Failure> {
    let (name, kinds, different) = (&column.name, kinds(column), different(column));
    let values = column.values.as_deref().unwrap_or_default();
    let such = values.first().map(|(value, _)| format!(", such as `{value}`"));
    let such = such.unwrap_or_default();
    let classes = "say `--task classification` if they are classes";
    if column.has_unit() {
        return Err(Failure::error(format!(
            "`{name}` holds numbers with a unit{such}: take the unit out, or {classes}"
        )));
    }
    //~ many-kinds
    if different.is_none_or(|n| n > MOST_KINDS && ROWS_OF_KIND * n > rows) {
        let rows = count(rows, "row");
        return Err(Failure::error(format!(
            "`{name}` holds text of {kinds} kinds in {rows}{such}: if it stands for numbers, make it numbers; \
             {classes}"
        )));
    }
    Ok(format!("classification, since `{name}` holds text, of {kinds} kinds"))
}

/// Why a column of numbers holds real ones; an error if it may well hold something else.
fn of_numbers(column: &ColumnDescription) -> Result<String, Failure> {
    let name = &column.name;
    if column.dates.is_some() {
        return Err(Failure::error(format!(
            "`{name}` holds dates or times, which cannot be predicted: make numbers of them"
        )));
    }
    if column.is_counts && different(column) == Some(2) && column.range == Some((0.0, 1.0)) {
        return Err(Failure::error(format!(
            "`{name}` holds 0 and 1 alone, which may be classes, numbers or counts: say which by \
             `--task classification`, `--task regression` or `--task counts`"
        )));
    }
    let mut why = format!("regression, since `{name}` holds numbers");
    if column.is_counts {
        let kinds = kinds(column);
        why.push_str(&format!(
            "; they are {kinds} different whole numbers, so it could be `--task counts` or `--task \
             classification` as well"
        ));
    }
    Ok(why)
}
