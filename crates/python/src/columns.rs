//! Data frames as tables, and what is learnt of their columns.

use bnn_mcmc::data::{
    ColumnType, CsvReader, FateOfText, LearntFeatures, Schema, StandIn, TextOfKinds, TypedTable,
    Value, shown,
};
use bnn_mcmc::message::number;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::error::raised;

/// A data frame as a table with types.
#[pyclass(module = "bnn_mcmc._native")]
pub struct Table(TypedTable);

#[pymethods]
impl Table {
    #[new]
    fn new() -> Self {
        Self(TypedTable::of_frame("X"))
    }

    /// Adds a column of numbers, or of true and false as 1 and 0. NaN is missing.
    fn add_numbers(&mut self, name: &str, numbers: PyReadonlyArray1<f64>, are_bools: bool) {
        let kind = if are_bools { ColumnType::Bools } else { ColumnType::Numbers };
        let value = |number: &f64| match are_bools && !number.is_nan() {
            true => Value::Bool(*number != 0.0),
            false => Value::Number(*number),
        };
        self.0.add_column(name, kind, numbers.as_array().iter().map(value));
    }

    /// Adds a column of times: seconds since 1970, or since midnight if they are of a clock, which is in this time zone, if it is
    /// known. NaN is missing.
    fn add_times(
        &mut self,
        name: &str,
        times: PyReadonlyArray1<f64>,
        is_clock: bool,
        zone: Option<String>,
    ) {
        let times = times.as_array();
        let values = times.iter().map(|time| Value::Number(*time));
        self.0.add_column(name, ColumnType::Times { is_clock, zone }, values);
    }

    /// Adds a column of text, which may be that of categories.
    fn add_texts(&mut self, name: &str, texts: Vec<Option<PyBackedStr>>, are_categories: bool) {
        let kind = if are_categories { ColumnType::Labels } else { ColumnType::Text };
        let values = texts.iter().map(|text| text.as_deref().into());
        self.0.add_column(name, kind, values);
    }
}

/// What is known of the columns of a training table, by which other tables become numbers.
#[pyclass(frozen, module = "bnn_mcmc._native")]
pub struct Columns(pub Schema);

#[pymethods]
impl Columns {
    /// What is known of the columns of this table, its rows as numbers, and what is to be said.
    #[staticmethod]
    fn learn<'py>(
        py: Python<'py>,
        table: PyRef<'_, Table>,
        weights: Option<Vec<f64>>,
        groups: Vec<String>,
        exposure: Option<String>,
    ) -> PyResult<(Self, Bound<'py, PyArray2<f64>>, Vec<String>)> {
        let reader = groups.into_iter().fold(CsvReader::counts("y"), CsvReader::group);
        let reader = exposure.into_iter().fold(reader, CsvReader::exposure);
        let table = &table.0;
        let learnt = py.detach(|| Schema::of_features(&reader, table, weights)).map_err(raised)?;
        let LearntFeatures { schema, x, constant, text, .. } = learnt;
        let mut said: Vec<String> = text.iter().map(of_text).collect();
        let blanks = table.blank_ends().map(|(column, row, label)| {
            format!(
                "column `{column}` has labels with blanks at their ends, such as `{label}` in row {row}, which do not \
                 count"
            )
        });
        said.extend(blanks);
        let constant: Vec<String> = constant
            .iter()
            .map(|(name, value)| format!("`{name}` ({})", six_digits(*value)))
            .collect();
        if !constant.is_empty() {
            let constant = constant.join(", ");
            said.push(format!(
                "columns that are constant over all training rows are left out: {constant}"
            ));
        }
        Ok((Self(schema), x.into_pyarray(py), said))
    }

    /// The rows of another table as numbers, and what is to be said.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        table: PyRef<'_, Table>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Vec<String>)> {
        let table = &table.0;
        let read = py.detach(|| self.0.read_features_table(table)).map_err(raised)?;
        let said = read.stand_ins.iter().filter_map(of_stand_in).collect();
        Ok((read.x.into_pyarray(py), said))
    }

    /// The names of the numbers.
    fn features(&self) -> Vec<String> {
        self.0.feature_names()
    }

    /// Reads what `text` wrote.
    #[staticmethod]
    fn read(text: &str) -> PyResult<Self> {
        serde_json::from_str(text).map(Self).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    fn text(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// For pickles.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("read")?, (slf.get().text(),)))
    }
}

/// The classes of a response in so many rows in the order of a file.
#[pyfunction]
pub fn classes_in_order(classes: Vec<String>, rows: usize) -> PyResult<Vec<String>> {
    let found = bnn_mcmc::data::classes_in_order(classes, rows);
    found.map_err(|problem| PyValueError::new_err(format!("y {problem}")))
}

fn rows(count: usize) -> String {
    if count == 1 { "1 row".into() } else { format!("{count} rows") }
}

/// What is done with a column of text of more kinds than are labels.
fn of_text(text: &TextOfKinds) -> String {
    let TextOfKinds { column, kinds, fate, .. } = text;
    let rows = rows(text.rows);
    let setting = match fate {
        FateOfText::Groups => format!(", as by `group=\"{column}\"`"),
        _ => String::new(),
    };
    format!(
        "column `{column}`, text of {kinds} kinds in {rows}, {fate}{setting}; as a category its kinds would be labels"
    )
}

/// What stands in for values that training did not have; `None` where training had gaps, too.
fn of_stand_in(found: &StandIn) -> Option<String> {
    Some(match found {
        StandIn::Missing { marked: true, .. } => return None,
        StandIn::Missing { column, rows: count, value, .. } => {
            let stands = value.map_or("no label".into(), six_digits);
            let rows = rows(*count);
            format!(
                "column `{column}` has no value in {rows}, and had all in training: {stands} stands there"
            )
        }
        StandIn::UnknownLevel { column, levels, rows: count } => {
            let (rows, levels) = (rows(*count), listed(levels));
            format!("column `{column}` has labels in {rows} that training did not have: {levels}")
        }
        StandIn::NewGroup { column, groups, rows: count } => {
            let (rows, groups) = (rows(*count), listed(groups));
            format!(
                "column `{column}` has groups in {rows} that training did not have: {groups}; the intercept of a new \
                 group stands there"
            )
        }
        other => other.to_string(),
    })
}

/// Labels in a line.
fn listed(labels: &[String]) -> String {
    let labels: Vec<String> = labels.iter().map(|label| shown(label)).collect();
    labels.join(", ")
}

/// A number to six digits.
fn six_digits(value: f64) -> String {
    number(format!("{value:.5e}").parse().unwrap_or(value))
}
