//! Scaling of columns, fitted on the training rows and applied to all.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use super::Dataset;
use super::dataset::check_finite;
use super::transform::{Line, PowerTransform, Transform};
use crate::Error;
use crate::error::Row;
use crate::message::{Advice, count, number};
use crate::portable::ln;

/// The most rows by which a transform of a column that has no line in features is learnt.
const MOST_ROWS: usize = 10_000;

/// What the columns are that a scaling is fitted on.
#[derive(Clone, Copy, PartialEq)]
enum Role<'a> {
    Values,
    Features,
    /// Responses to these features.
    Response {
        features: ArrayView2<'a, f64>,
    },
}

/// Scaling to mean 0 and standard deviation 1.
///
/// The standard deviation is the population's: sums of squares are divided by the number of rows,
/// not by one less. scikit-learn's `StandardScaler` does the same, R's `scale` does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standardise {
    /// Whether a constant column is mapped to 0 rather than refused.
    pub allow_constant: bool,
    /// The transform before the scaling.
    #[serde(default, skip_serializing_if = "Transform::is_none")]
    pub transform: Transform,
}

impl Standardise {
    /// Refuses constant columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Maps a column that is constant over the training rows to 0 (scale 1) rather than refusing
    /// it. Another value in a new row is then mapped to its difference from that constant.
    pub fn allow_constant(self) -> Self {
        Self { allow_constant: true, ..self }
    }

    /// Transforms each column before it is scaled, with the parameters that the training rows say:
    /// see [`PowerTransform`].
    ///
    /// ```
    /// use bnn_mcmc::data::{Dataset, Standardise, Transform};
    /// use ndarray::array;
    /// let data = Dataset::regression(array![[0.0], [1.0], [2.0]], array![1.0, 10.0, 100.0])?;
    /// let scaler = Standardise::new().after(Transform::Log).fit_response(&data)?;
    /// let z = scaler.transform(data.real()?.view())?;
    /// assert!((z[[2, 0]] - 1.5f64.sqrt()).abs() < 1e-12 && z[[1, 0]].abs() < 1e-12);
    /// assert!((scaler.inverse(z.view())?[[2, 0]] - 100.0).abs() < 1e-10);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn after(self, transform: Transform) -> Self {
        Self { transform, ..self }
    }

    /// Fits each column of `x` `[rows x columns]`. Columns are named `#1`, `#2`, ... in errors.
    ///
    /// # Errors
    /// If there are no rows, a number is not finite, or a column is constant or spread so widely or
    /// narrowly that its standard deviation is not an ordinary `f64`; a number that the transform is
    /// not of.
    pub fn fit(&self, x: ArrayView2<f64>) -> Result<Scaler, Error> {
        self.fit_named(x, None, &numbered(x.ncols()), Role::Values)
    }

    /// Fits the features of a training set, by the [weights](Dataset::with_weights) of its rows if they have
    /// any. Columns of two different values, such as indicators, are not transformed: scaled, they would be the same.
    /// Errors as [`fit`](Self::fit), with the features' names.
    pub fn fit_features(&self, train: &Dataset) -> Result<Scaler, Error> {
        let train = train.counted();
        self.fit_named(train.x().view(), train.weights(), train.feature_names(), Role::Features)
    }

    /// Fits the real response of a training set, by the weights of its rows, too; the parameters of a transform depend on the
    /// features, too, in whatever units. Errors as [`fit`](Self::fit), and if the response is not
    /// real.
    pub fn fit_response(&self, train: &Dataset) -> Result<Scaler, Error> {
        let train = train.counted();
        let y = train.real()?.view();
        let role = Role::Response { features: train.x().view() };
        self.fit_named(y, train.weights(), train.response_names(), role)
    }

    fn fit_named(
        &self,
        x: ArrayView2<f64>,
        weights: Option<ArrayView1<f64>>,
        names: &[String],
        role: Role,
    ) -> Result<Scaler, Error> {
        let powers = self.powers(x, weights, names, role)?;
        let transformed = match self.transform.is_none() {
            true => None,
            false => Some(forward(x, &powers)),
        };
        let x = transformed.as_ref().map_or(x, |z| z.view());
        let scaler = Scaler::fit(x, names, 0.0, self.allow_constant, |column, _, _| {
            // Differences from the first row keep the digits of columns far from 0.
            let first = column[0];
            let mean = first + mean_by(weights, column.iter().map(|v| v - first)); //~ weighted-mean
            (mean, mean_by(weights, column.iter().map(|v| (v - mean).powi(2))).sqrt())
        })?;
        let with = |(column, transform)| ColumnScale { transform, ..column };
        let columns = scaler.columns.into_iter().zip(powers).map(with).collect();
        Ok(Scaler { columns, ..scaler })
    }

    /// Fits the columns of rows that do not lie in memory, as [`fit_features`](Self::fit_features) does: a `pass` calls its argument
    /// with the weight and the numbers of each row that counts. `rows` and `total` are their number and the sum of
    /// their weights.
    pub(super) fn fit_passes(
        &self,
        (rows, total): (usize, f64),
        names: &[String],
        mut pass: impl FnMut(&mut dyn FnMut(f64, &[f64])) -> Result<(), Error>,
    ) -> Result<Scaler, Error> {
        if !self.transform.is_none() {
            let allowed = "none: transform the features before they are written";
            return Err(Error::argument("transform", self.transform, allowed));
        }
        let mut range = vec![[f64::INFINITY, f64::NEG_INFINITY]; names.len()];
        let (mut first, mut sums) = (Vec::new(), vec![0.0; names.len()]);
        pass(&mut |weight, x| {
            if first.is_empty() {
                first.extend_from_slice(x);
            }
            for (j, x) in x.iter().enumerate() {
                range[j] = [range[j][0].min(*x), range[j][1].max(*x)];
                sums[j] += weight * (x - first[j]);
            }
        })?;
        let means: Vec<f64> =
            first.iter().zip(&sums).map(|(first, sum)| first + sum / total).collect();
        let mut squares = vec![0.0; names.len()];
        pass(&mut |weight, x| {
            for ((sum, x), mean) in squares.iter_mut().zip(x).zip(&means) {
                *sum += weight * (x - mean).powi(2);
            }
        })?;
        let column = |(j, name): (usize, &String)| {
            let shift_and_scale = || (means[j], (squares[j] / total).sqrt());
            ColumnScale::new(name, rows, range[j], self.allow_constant, &shift_and_scale)
        };
        let columns = names.iter().enumerate().map(column).collect::<Result<_, _>>()?;
        Ok(Scaler { columns, low: 0.0 })
    }

    /// The transform of each column; `None` of those that stay as they are: constant columns, and features of two values.
    fn powers(
        &self,
        x: ArrayView2<f64>,
        weights: Option<ArrayView1<f64>>,
        names: &[String],
        role: Role,
    ) -> Result<Vec<Option<PowerTransform>>, Error> {
        if self.transform.is_none() {
            return Ok(vec![None; names.len()]);
        }
        let table = "values to fit a scaling on";
        check_finite(table, &x.to_owned(), names)?;
        let few = |column: ArrayView1<f64>| {
            let mut others = column.iter().filter(|y| **y != column[0]);
            let second = others.next();
            second.is_none() || (role == Role::Features && others.all(|y| Some(y) == second))
        };
        let taken: Vec<usize> = (0..x.ncols()).filter(|j| !few(x.column(*j))).collect();
        let of_taken: Vec<String> = taken.iter().map(|j| names[*j].clone()).collect();
        let columns = x.select(Axis(1), &taken);
        self.transform.check(table, columns.view(), &of_taken, |row| Row::Number(row + 1))?;
        let mut step = 1;
        let line = match role {
            Role::Response { features } => {
                let plain = Self::new().allow_constant();
                let numbered = numbered(features.ncols());
                let scaler = plain.fit_named(features, weights, &numbered, Role::Values)?;
                Line::new(scaler.transform(features)?.view(), weights)
            }
            Role::Values | Role::Features => {
                step = x.nrows().div_ceil(MOST_ROWS).max(1);
                let weights = weights.map(|w| w.slice_move(s![..;step]));
                Line::mean(x.nrows().div_ceil(step), weights)
            }
        };
        let mut powers = vec![None; names.len()];
        for (j, column) in taken.into_iter().zip(columns.columns()) {
            powers[j] = self.transform.fit(column.slice(s![..;step]), &line);
        }
        Ok(powers)
    }
}

/// The mean of `values`, by their weights if there are any.
pub(crate) fn mean_by(
    weights: Option<ArrayView1<f64>>,
    values: impl ExactSizeIterator<Item = f64>,
) -> f64 {
    let n = values.len() as f64;
    match weights {
        None => values.sum::<f64>() / n,
        Some(w) => w.iter().zip(values).map(|(w, v)| w * v).sum::<f64>() / w.sum(),
    }
}

/// Scaling of the training rows' range to `[low, high]`.
///
/// New rows may fall outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MinMax {
    /// The value that the smallest value of a column is mapped to.
    pub low: f64,
    /// The value that the largest value of a column is mapped to.
    pub high: f64,
    /// Whether a constant column is mapped to `low` rather than refused.
    pub allow_constant: bool,
}

impl Default for MinMax {
    fn default() -> Self {
        Self { low: 0.0, high: 1.0, allow_constant: false }
    }
}

impl MinMax {
    /// Scaling to `[0, 1]`; refuses constant columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Scaling to `[low, high]`.
    pub fn to_range(self, low: f64, high: f64) -> Self {
        Self { low, high, ..self }
    }

    /// Maps a column that is constant over the training rows to `low` (scale 1) rather than
    /// refusing it.
    pub fn allow_constant(self) -> Self {
        Self { allow_constant: true, ..self }
    }

    /// Fits each column of `x` `[rows x columns]`. Columns are named `#1`, `#2`, ... in errors.
    ///
    /// # Errors
    /// If the range is empty or not finite; the errors of [`Standardise::fit`].
    pub fn fit(&self, x: ArrayView2<f64>) -> Result<Scaler, Error> {
        self.fit_named(x, &numbered(x.ncols()))
    }

    /// Fits the features of a training set, of rows whose weight is not 0. Errors as [`fit`](Self::fit), with
    /// the features' names.
    pub fn fit_features(&self, train: &Dataset) -> Result<Scaler, Error> {
        let train = train.counted();
        self.fit_named(train.x().view(), train.feature_names())
    }

    /// Fits the real response of a training set. Errors as [`fit`](Self::fit), and if the response
    /// is not real.
    pub fn fit_response(&self, train: &Dataset) -> Result<Scaler, Error> {
        let train = train.counted();
        self.fit_named(train.real()?.view(), train.response_names())
    }

    fn fit_named(&self, x: ArrayView2<f64>, names: &[String]) -> Result<Scaler, Error> {
        let (low, high) = (self.low, self.high);
        if !(low.is_finite() && high.is_finite() && low < high && (high - low).is_finite()) {
            let range = format!("{} to {}", number(low), number(high));
            return Err(Error::argument("range", range, "finite, with the lower end first"));
        }
        Scaler::fit(x, names, low, self.allow_constant, |_, smallest, largest| {
            (smallest, (largest - smallest) / (high - low))
        })
    }
}

/// The scaling of one column: z = low + (x - shift) / scale, or low + (g(x) - shift) / scale after a
/// transform g.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnScale {
    /// The column's name.
    pub name: String,
    /// The number that is subtracted first, in units of the column, or of g.
    pub shift: f64,
    /// The divisor after that, in units of the column, or of g; above 0.
    pub scale: f64,
    /// The transform before that, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform: Option<PowerTransform>,
}

/// Whether numbers in this range differ by rounding alone.
pub(crate) fn is_constant([smallest, largest]: [f64; 2]) -> bool {
    largest - smallest <= 8.0 * f64::EPSILON * smallest.abs().max(largest.abs()) //~ constant-column
}

fn range_of(column: ArrayView1<f64>) -> [f64; 2] {
    let ends = [f64::INFINITY, f64::NEG_INFINITY];
    column.fold(ends, |[smallest, largest], &x| [smallest.min(x), largest.max(x)])
}

impl ColumnScale {
    /// The scaling of a column of so many rows with this range, without a transform.
    fn new(
        name: &str,
        rows: usize,
        [smallest, largest]: [f64; 2],
        allow_constant: bool,
        shift_and_scale: &dyn Fn() -> (f64, f64),
    ) -> Result<Self, Error> {
        let problem = |problem: String| Err(Error::table(format!("column `{name}`"), problem));
        let (shift, scale) = if !is_constant([smallest, largest]) {
            shift_and_scale()
        } else if allow_constant {
            (smallest, 1.0)
        } else {
            let advice = [
                Advice::Ignore { column: name.into(), if_identifier: false },
                Advice::in_rust("call `Standardise::allow_constant`"),
            ];
            let rows = count(rows, "row");
            let found = format!("constant ({}) over all {rows}", number(smallest));
            return problem(found).map_err(|error| error.advise(advice));
        };
        if !(shift.is_finite() && scale.is_normal()) {
            let far = if largest >= -smallest { largest } else { smallest };
            return problem(format!(
                "the spread from {} to {} is beyond the range of numbers: mend `{}`, or leave its row out",
                number(smallest),
                number(largest),
                number(far)
            ));
        }
        Ok(Self { name: name.into(), shift, scale, transform: None })
    }

    /// x with g(x) = `value`.
    fn inverse(&self, value: f64) -> f64 {
        self.transform.map_or(value, |power| power.inverse(value))
    }
}

/// A fitted scaling.
///
/// Every scaling here acts on each column by itself, and is affine, unless a [`Transform`] g comes
/// first: z = low + (x - shift) / scale, or z = low + (g(x) - shift) / scale. [`Standardise`] and
/// [`MinMax`] say how shift and scale come from the training rows; both give a [`Scaler`], which transforms, inverts, and can be stored with
/// serde beside a posterior's draws.
///
/// ```
/// use bnn_mcmc::data::{MinMax, Standardise};
/// use ndarray::array;
/// let train = array![[1.0, 10.0], [3.0, 30.0]];
/// let scaler = Standardise::new().fit(train.view())?;
/// assert_eq!(scaler.transform(train.view())?, array![[-1.0, -1.0], [1.0, 1.0]]);
/// // New rows are scaled by what the training rows said.
/// assert_eq!(scaler.transform(array![[2.0, 40.0]].view())?, array![[0.0, 2.0]]);
/// assert_eq!(scaler.inverse(array![[0.0, 2.0]].view())?, array![[2.0, 40.0]]);
///
/// let unit = MinMax::new().fit(train.view())?;
/// assert_eq!(unit.transform(train.view())?, array![[0.0, 0.0], [1.0, 1.0]]);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaler {
    columns: Vec<ColumnScale>,
    low: f64,
}

impl Scaler {
    fn fit(
        x: ArrayView2<f64>,
        names: &[String],
        low: f64,
        allow_constant: bool,
        shift_and_scale: impl Fn(ArrayView1<f64>, f64, f64) -> (f64, f64),
    ) -> Result<Self, Error> {
        if x.nrows() == 0 {
            return Err(Error::shape("rows to fit a scaling on", 0, "at least 1"));
        }
        check_finite("values to fit a scaling on", &x.to_owned(), names)?;
        let mut columns = Vec::with_capacity(names.len());
        for (column, name) in x.columns().into_iter().zip(names) {
            let range = range_of(column);
            let shift_and_scale = || shift_and_scale(column, range[0], range[1]);
            columns.push(ColumnScale::new(
                name,
                x.nrows(),
                range,
                allow_constant,
                &shift_and_scale,
            )?);
        }
        Ok(Self { columns, low })
    }

    /// The scaling in which a column that is constant over the training rows is in units of its standard deviation over the whole
    /// `table`. An indicator is as it is.
    pub(crate) fn within(mut self, train: &Dataset, table: &Dataset) -> Self {
        let (train, table) = (train.counted(), table.counted());
        let columns = train.x().columns().into_iter().zip(table.x().columns());
        for (own, (train, table)) in self.columns.iter_mut().zip(columns) {
            if !is_constant(range_of(train)) || is_constant(range_of(table)) {
                continue;
            }
            let is_indicator = table.iter().all(|x| *x == 0.0 || *x == 1.0);
            let sd = table.std(0.0);
            if sd.is_normal() && !is_indicator {
                own.scale = sd; //~ scale-of-table
            }
        }
        self
    }

    /// The scaling with column `j` as it is.
    pub(crate) fn without(mut self, j: usize) -> Self {
        let column = &mut self.columns[j];
        (column.shift, column.scale, column.transform) = (self.low, 1.0, None); //~ without-scale
        self
    }

    /// Shift and scale of each column.
    pub fn columns(&self) -> &[ColumnScale] {
        &self.columns
    }

    /// The number to which each shift is mapped.
    pub(super) fn low(&self) -> f64 {
        self.low
    }

    /// Whether no column is transformed.
    pub fn is_affine(&self) -> bool {
        self.columns.iter().all(|column| column.transform.is_none())
    }

    /// Scales `x` `[rows x columns]`.
    ///
    /// # Errors
    /// If the number of columns differs from the fitted one; a number that a transform is not of, such as
    /// one not above 0 of the logarithm.
    pub fn transform(&self, x: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
        let z = self.map(x, |column, value| {
            let value = column.transform.map_or(value, |power| power.forward(value));
            self.low + (value - column.shift) / column.scale
        })?;
        for (column, values) in self.columns.iter().zip(x.columns()) {
            if let Some(power) = column.transform {
                let mut rows = values.iter().enumerate();
                rows.try_for_each(|(row, value)| power.check(*value, &column.name, row))?;
            }
        }
        Ok(z)
    }

    /// Undoes [`transform`](Self::transform): from scaled numbers to the columns' own units.
    ///
    /// # Errors
    /// If the number of columns differs from the fitted one.
    pub fn inverse(&self, z: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
        self.map(z, |column, value| {
            column.inverse(column.shift + (value - self.low) * column.scale)
        })
    }

    /// Converts standard deviations (or other differences) of scaled numbers to the columns' own
    /// units: they are multiplied by the scale, not shifted.
    ///
    /// # Errors
    /// If the number of columns differs from the fitted one, or one of them is transformed: the spread
    /// of y then depends on its mean.
    pub fn inverse_sd(&self, sd: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
        if let Some(power) = self.columns.iter().find_map(|column| column.transform) {
            let allowed = "affine, so that a standard deviation has one size everywhere";
            return Err(Error::argument("scaling", power, allowed));
        }
        self.map(sd, |column, value| value * column.scale)
    }

    /// log |dz/dx|, the sum over the columns of `x` `[rows x columns]`, for each row. A log density of
    /// scaled numbers and this are the log density in the columns' own units:
    ///
    /// ```text
    /// log p(x) = log p(z) + sum_j (log g_j'(x_j) - log scale_j)
    /// ```
    ///
    /// # Errors
    /// If the number of columns differs from the fitted one.
    pub fn log_derivative(&self, x: ArrayView2<f64>) -> Result<Array1<f64>, Error> {
        let each = self.map(x, |column, value| {
            let slope = column.transform.map_or(0.0, |power| power.log_derivative(value));
            slope - ln(column.scale)
        })?;
        Ok(each.rows().into_iter().map(|row| row.sum()).collect())
    }

    /// Mean and variance, in the units of column j, of a number whose scaled value has this mean and
    /// variance, and is normal if the column is transformed.
    pub(crate) fn moments(&self, j: usize, mean: f64, variance: f64) -> [f64; 2] {
        let column = &self.columns[j];
        let mean = column.shift + (mean - self.low) * column.scale;
        match column.transform {
            None => [mean, column.scale * column.scale * variance],
            Some(power) => power.moments_of_inverse(mean, column.scale * variance.sqrt()),
        }
    }

    /// A data set with scaled features.
    ///
    /// # Errors
    /// If the features' names differ from the fitted ones (a scaler fitted on a bare array goes by
    /// their number), or a scaled number is not finite.
    pub fn scale_features(&self, data: &Dataset) -> Result<Dataset, Error> {
        self.check_same_names(data.feature_names())?;
        data.clone().with_x(self.transform(data.x().view())?)
    }

    /// A data set with a scaled real response.
    ///
    /// # Errors
    /// If the response is not real; the errors of [`scale_features`](Self::scale_features).
    pub fn scale_response(&self, data: &Dataset) -> Result<Dataset, Error> {
        self.check_same_names(data.response_names())?;
        let y = self.transform(data.real()?.view())?;
        data.clone().with_real_response(y)
    }

    pub(crate) fn check_same_names(&self, names: &[String]) -> Result<(), Error> {
        if names.len() != self.columns.len() {
            return Err(Error::shape("columns to scale", names.len(), self.columns.len()));
        }
        for (i, (column, name)) in self.columns.iter().zip(names).enumerate() {
            if column.name != *name && column.name != format!("#{}", i + 1) {
                let what = format!("column {}", i + 1);
                let allowed = format!("`{}`, on which the scaling was fitted", column.name);
                return Err(Error::argument(what, format!("`{name}`"), allowed));
            }
        }
        Ok(())
    }

    fn map(
        &self,
        values: ArrayView2<f64>,
        f: impl Fn(&ColumnScale, f64) -> f64,
    ) -> Result<Array2<f64>, Error> {
        if values.ncols() != self.columns.len() {
            return Err(Error::shape("columns to scale", values.ncols(), self.columns.len()));
        }
        let mut out = values.to_owned();
        for (mut values, column) in out.columns_mut().into_iter().zip(&self.columns) {
            values.mapv_inplace(|value| f(column, value));
        }
        Ok(out)
    }
}

/// The columns of `x`, transformed.
fn forward(x: ArrayView2<f64>, powers: &[Option<PowerTransform>]) -> Array2<f64> {
    let mut z = x.to_owned();
    for (mut column, power) in z.columns_mut().into_iter().zip(powers) {
        if let Some(power) = power {
            column.mapv_inplace(|value| power.forward(value));
        }
    }
    z
}

fn numbered(columns: usize) -> Vec<String> {
    (1..=columns).map(|j| format!("#{j}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    #[test]
    fn the_standard_deviation_is_the_population_s() {
        let x = array![[1.0], [2.0], [3.0], [4.0]];
        let scaler = Standardise::new().fit(x.view()).unwrap();
        assert_eq!(scaler.columns()[0].shift, 2.5);
        assert_abs_diff_eq!(scaler.columns()[0].scale, 1.25_f64.sqrt(), epsilon = 1e-15);
    }

    #[test]
    fn a_column_far_from_zero_keeps_its_digits() {
        let x = array![[1e15 + 1.0], [1e15 + 3.0]];
        let scaler = Standardise::new().fit(x.view()).unwrap();
        assert_eq!((scaler.columns()[0].shift, scaler.columns()[0].scale), (1e15 + 2.0, 1.0));
    }

    #[test]
    fn a_column_whose_spread_is_rounding_is_constant() {
        // 1 by other ways of adding it up: what a new row differs by is in the column's own units.
        let x = array![[1.0], [1.0 + f64::EPSILON], [1.0 - f64::EPSILON]];
        let scaler = Standardise::new().allow_constant().fit(x.view()).unwrap();
        assert_eq!(scaler.columns()[0].scale, 1.0);
        assert_abs_diff_eq!(scaler.transform(array![[3.0]].view()).unwrap()[[0, 0]], 2.0);
        let error = Standardise::new().fit(x.view()).unwrap_err().to_string();
        assert!(error.contains("constant (0.9999999999999998)"), "{error}");
    }

    #[test]
    fn a_column_that_is_constant_in_training_is_in_units_of_the_table() {
        let near = 7.0 * (1.0 + f64::EPSILON);
        let x = array![[7.0, 0.0, 7.0], [7.0, 0.0, near], [1007.0, 1.0, 7.0], [2007.0, 0.0, 7.0]];
        let table = Dataset::regression(x, Array1::zeros(4)).unwrap();
        let train = table.select(&[0, 1]).unwrap();
        let scaler = Standardise::new().allow_constant().fit_features(&train).unwrap();
        let scaler = scaler.within(&train, &table);
        let scales: Vec<f64> = scaler.columns().iter().map(|column| column.scale).collect();
        assert_abs_diff_eq!(scales[0], table.x().column(0).std(0.0));
        assert_eq!((scaler.columns()[0].shift, &scales[1..]), (7.0, &[1.0, 1.0][..]));
    }

    /// Of 30,000 rows every third one is asked; lambda by scipy's `yeojohnson_normmax` of these.
    #[test]
    fn features_have_their_own_transforms_unless_they_have_two_values() {
        let n = 30_000;
        let value = |i: usize| -((i as f64 + 0.5) / n as f64).ln() + 0.25 * (i % 3) as f64;
        let x = Array2::from_shape_fn((n, 3), |(i, j)| match j {
            0 => value(i),
            1 => (i % 2) as f64,
            _ => 7.0,
        });
        let scaling = Standardise::new().allow_constant().after(Transform::YeoJohnson);
        let fit = |x: &Array2<f64>| {
            let data = Dataset::regression(x.clone(), Array1::zeros(x.nrows())).unwrap();
            scaling.fit_features(&data).unwrap()
        };
        let scaler = fit(&x);
        let transforms: Vec<_> = scaler.columns().iter().map(|c| c.transform).collect();
        assert_eq!(transforms[1..], [None, None]);
        let third = x.slice(s![..;3, ..]).to_owned();
        let of_third = fit(&third);
        assert_eq!(transforms[0], of_third.columns()[0].transform);
        let z = scaler.transform(x.view()).unwrap();
        assert_abs_diff_eq!(z.column(0).mean().unwrap(), 0.0, epsilon = 1e-9);
        assert_abs_diff_eq!(z.column(0).std(0.0), 1.0, epsilon = 1e-9);
        let without = scaler.without(0);
        assert_eq!(without.transform(x.view()).unwrap().column(0), x.column(0));
        // Of a value that is rare, these rows have one.
        let mut rare = Array2::zeros((n, 1));
        rare[[1, 0]] = 1.0;
        rare[[2, 0]] = 2.0;
        assert!(fit(&rare).is_affine());
    }

    #[test]
    fn min_max_reaches_both_ends() {
        let x = array![[3.0], [7.0], [4.0]];
        let z = MinMax::new().to_range(-1.0, 1.0).fit(x.view()).unwrap().transform(x.view());
        assert_eq!(z.unwrap(), array![[-1.0], [1.0], [-0.5]]);
        for (low, high) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (-f64::MAX, f64::MAX)] {
            let fitted = MinMax::new().to_range(low, high).fit(x.view());
            fails!(fitted, Argument { name: "range", allowed: "finite, with the lower end first" });
        }
    }

    #[test]
    fn constant_columns_are_refused_by_name_or_mapped_to_the_low_end() {
        let data =
            Dataset::regression(array![[0.1, 1.0], [0.1, 2.0], [0.1, 3.0]], array![1., 2., 3.])
                .unwrap()
                .with_feature_names(["flat", "steep"])
                .unwrap();
        for error in [
            Standardise::new().fit_features(&data).unwrap_err(),
            MinMax::new().fit_features(&data).unwrap_err(),
        ] {
            assert_eq!(
                error.to_string(),
                "column `flat`: constant (0.1) over all 3 rows: leave it out by \
                 `CsvReader::ignore([\"flat\"])`, or call `Standardise::allow_constant`"
            );
        }
        let scaler = Standardise::new().allow_constant().fit_features(&data).unwrap();
        let scaled = scaler.scale_features(&data).unwrap();
        assert_eq!(scaled.x().column(0).to_vec(), [0.0; 3]);
        assert_eq!(scaler.inverse(scaled.x().view()).unwrap().column(0).to_vec(), [0.1; 3]);
        let scaler =
            MinMax::new().to_range(-1.0, 1.0).allow_constant().fit_features(&data).unwrap();
        assert_eq!(scaler.scale_features(&data).unwrap().x().column(0).to_vec(), [-1.0; 3]);
    }

    #[test]
    fn spreads_beyond_f64_and_bad_values_are_errors() {
        let beyond = |fitted: Result<(), Error>| {
            let Err(Error::Table { problem, .. }) = fitted else { panic!("{fitted:?}") };
            assert!(problem.contains(" is beyond the range of numbers: mend `"), "{problem}");
        };
        for x in [array![[-f64::MAX], [f64::MAX]], array![[0.0], [1e-320]]] {
            beyond(Standardise::new().fit(x.view()).map(drop));
            beyond(MinMax::new().fit(x.view()).map(drop));
        }
        let fitted = Standardise::new().fit(array![[1.0], [f64::NAN]].view());
        fails!(fitted, Cell { row: "row 2", column: "#1", problem: "NaN is not a finite number" });
        assert!(Standardise::new().fit(Array2::zeros((0, 1)).view()).is_err());
    }

    #[test]
    fn a_response_is_scaled_and_its_predictions_are_scaled_back() {
        let train = Dataset::regression(array![[1.0], [2.0]], array![10.0, 30.0]).unwrap();
        let scaler = Standardise::new().fit_response(&train).unwrap();
        let scaled = scaler.scale_response(&train).unwrap();
        assert_eq!(scaled.real().unwrap(), array![[-1.0], [1.0]]);
        assert_eq!(scaler.inverse(array![[0.5], [0.0]].view()).unwrap(), array![[25.0], [20.0]]);
        assert_eq!(scaler.inverse_sd(array![[0.5]].view()).unwrap(), array![[5.0]]);
        let classes =
            Dataset::classification(array![[1.0], [2.0]], vec![0, 1], ["a", "b"]).unwrap();
        assert!(Standardise::new().fit_response(&classes).is_err());
    }

    #[test]
    fn a_scaler_refuses_other_columns_and_survives_storage() {
        let data = Dataset::regression(array![[1.0], [2.0]], array![1.0, 2.0]).unwrap();
        let scaler = MinMax::new().fit_features(&data).unwrap();
        let other = data.clone().with_feature_names(["z"]).unwrap();
        assert_eq!(
            scaler.scale_features(&other).unwrap_err().to_string(),
            "`column 1` is `z`, but must be `x1`, on which the scaling was fitted"
        );
        assert!(scaler.transform(Array2::zeros((1, 2)).view()).is_err());
        let bare = MinMax::new().fit(data.x().view()).unwrap();
        assert!(bare.scale_features(&other).is_ok());
        let stored = serde_json::to_string(&scaler).unwrap();
        assert_eq!(serde_json::from_str::<Scaler>(&stored).unwrap(), scaler);
    }
}
