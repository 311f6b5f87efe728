//! Dates and times of data frames as features: those of CSV files.

use bnn_mcmc::data::Dates as Features;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use bnn_mcmc::ndarray::Array2;

/// The features of a column of dates or times, as text that outlives the process.
#[pyclass(frozen, module = "bnn_mcmc._native")]
pub struct Dates(pub Features);

#[pymethods]
impl Dates {
    /// The features for these times: seconds since 1970, or since midnight if they are of a clock. NaN is
    /// missing. The clock is in this time zone, if it is known.
    #[staticmethod]
    fn of(times: PyReadonlyArray1<f64>, is_clock: bool, zone: Option<String>) -> Self {
        Self(Features::of(times.as_array().iter().copied(), is_clock).in_zone(zone))
    }

    fn zone(&self) -> Option<&str> {
        self.0.zone()
    }

    /// Reads what `text` wrote.
    #[staticmethod]
    fn read(text: &str) -> PyResult<Self> {
        serde_json::from_str(text).map(Self).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// For pickles.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("read")?, (slf.get().text(),)))
    }

    fn text(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// The names of the features of the column of this name.
    fn features(&self, column: &str) -> Vec<String> {
        self.0.features(column)
    }

    /// The features of these times, `[row, feature]`; a missing one has `years` for the years.
    fn encoded<'py>(
        &self,
        py: Python<'py>,
        times: PyReadonlyArray1<f64>,
        years: f64,
    ) -> Bound<'py, PyArray2<f64>> {
        let (times, mut x) = (times.as_array(), Vec::new());
        for time in times {
            match time.is_nan() {
                true => self.0.push_missing(years, &mut x),
                false => self.0.push(*time, &mut x),
            }
        }
        let shape = (times.len(), self.0.width());
        Array2::from_shape_vec(shape, x).expect("as many features for each row").into_pyarray(py)
    }
}
