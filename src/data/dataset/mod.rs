//! Rows of features with their response.

mod response;
mod select;

pub(super) use response::Kind;
pub use response::Response;
pub(super) use select::class_places;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use ndarray::{Array, Array1, Array2, ArrayView1, Axis, Dimension, Ix2};

use crate::Error;
use crate::error::Row;
use crate::message::number;

/// Features `[rows x features]`, the response of each row, and the names of the columns.
///
/// Whoever holds a `Dataset` may rely on this: there is at least one row and one feature, all
/// numbers are finite, the response has as many rows as the features, classes and counts are
/// valid, and names are unique.
///
/// ```
/// use bnn_mcmc::data::Dataset;
/// use ndarray::array;
/// let data = Dataset::regression(array![[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], array![0.1, 0.2, 0.3])?
///     .with_feature_names(["length", "width"])?;
/// assert_eq!((data.rows(), data.n_features()), (3, 2));
/// assert_eq!(data.select(&[2, 0])?.x()[(0, 1)], 7.0);
/// println!("{data}");
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Dataset {
    x: Array2<f64>,
    response: Response,
    feature_names: Vec<String>,
    response_names: Vec<String>,
    /// The weights of the rows, if they have any.
    weights: Option<Array1<f64>>,
}

/// The largest sum of weights of rows: whole numbers up to there, and their sums, are exact.
const MOST_WEIGHT: f64 = 1e15;

impl Dataset {
    /// Real responses: `x` is `[rows x features]`, `y` is `[rows x outputs]`, or `[rows]` for one
    /// output. Features are named `x1`, `x2`, ..., outputs `y1`, `y2`, ...
    ///
    /// # Errors
    /// If a number is not finite (with its row and column), row counts differ, or there is no row,
    /// no feature or no output.
    pub fn regression<D: Dimension>(x: Array2<f64>, y: Array<f64, D>) -> Result<Self, Error> {
        Self::unnamed(x, Response::Real(in_columns(y)?))
    }

    /// Classes: `classes[i]`, counted from 0, is the position of row i's class in `names`.
    /// Features are named `x1`, `x2`, ..., the response `class`.
    ///
    /// # Errors
    /// The errors of [`regression`](Self::regression); also if there are fewer than two names, a
    /// name occurs twice, or a class has no name.
    pub fn classification<S: Into<String>>(
        x: Array2<f64>,
        classes: Vec<usize>,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Self, Error> {
        let names = names.into_iter().map(Into::into).collect();
        Self::unnamed(x, Response::Classes { index: classes, names })
    }

    /// Counts: `[rows]` or `[rows x 1]` of how often something happened, without an upper limit; or
    /// `[rows x categories]` of how many trials of a row fell into each category, such as the columns
    /// successes and failures of binomial data. Features are named `x1`, `x2`, ..., columns `y1`,
    /// `y2`, ...
    ///
    /// # Errors
    /// The errors of [`regression`](Self::regression); also if a count is not a whole number from 0
    /// to 2^53, with its row and value.
    pub fn counts<D: Dimension>(x: Array2<f64>, counts: Array<f64, D>) -> Result<Self, Error> {
        Self::unnamed(x, Response::Counts(in_columns(counts)?))
    }

    /// Numbers with bounds, such as times: row i is known to lie from `lower[i]` to `upper[i]`. Equal bounds say that it
    /// was observed, an upper bound of inf that it is right-censored, a lower bound of -inf (or 0, of times) that it is
    /// left-censored. Features are named `x1`, `x2`, ..., the response `time`.
    ///
    /// ```
    /// use bnn_mcmc::data::Dataset;
    /// use ndarray::array;
    /// let (lower, upper) = (array![3.0, 5.0, 1.0], array![3.0, f64::INFINITY, 2.5]);
    /// let data = Dataset::censored(array![[0.2], [0.7], [0.1]], lower, upper)?;
    /// assert!(data.to_string().ends_with("time: 1 observed, 1 right-censored, 1 between bounds"));
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`regression`](Self::regression), other than infinite bounds; a lower bound above the upper one,
    /// or two infinite ones, which say nothing.
    pub fn censored(x: Array2<f64>, lower: Array1<f64>, upper: Array1<f64>) -> Result<Self, Error> {
        Self::unnamed(x, Response::Censored { lower, upper })
    }

    /// Survival times: `event[i]` says that row i's event happened at `time[i]`; otherwise it had not happened by then.
    /// Features are named `x1`, `x2`, ..., the response `time`.
    ///
    /// # Errors
    /// The errors of [`censored`](Self::censored); another number of events than of times.
    pub fn survival(x: Array2<f64>, time: Array1<f64>, event: &[bool]) -> Result<Self, Error> {
        if event.len() != time.len() {
            return Err(Error::shape("events", event.len(), time.len()));
        }
        let end = |(time, event): (&f64, &bool)| if *event { *time } else { f64::INFINITY };
        let upper = time.iter().zip(event).map(end).collect();
        Self::censored(x, time, upper)
    }

    fn unnamed(x: Array2<f64>, response: Response) -> Result<Self, Error> {
        let feature_names = (1..=x.ncols()).map(|j| format!("x{j}")).collect();
        let response_names = match &response {
            Response::Classes { .. } => vec!["class".to_string()],
            Response::Censored { .. } => vec!["time".to_string()],
            Response::Real(y) | Response::Counts(y) => {
                (1..=y.ncols()).map(|j| format!("y{j}")).collect()
            }
        };
        Self::checked(x, response, feature_names, response_names)
    }

    /// The one place where a `Dataset` comes into being from outside: checks everything.
    pub(crate) fn checked(
        x: Array2<f64>,
        response: Response,
        feature_names: Vec<String>,
        response_names: Vec<String>,
    ) -> Result<Self, Error> {
        if x.nrows() == 0 {
            return Err(Error::shape("rows of the data", 0, "at least 1"));
        }
        if x.ncols() == 0 {
            return Err(Error::shape("features of the data", 0, "at least 1"));
        }
        if response.rows() != x.nrows() {
            return Err(Error::shape("rows of the response", response.rows(), x.nrows()));
        }
        check_names("feature names", &feature_names, x.ncols())?;
        check_finite("features", &x, &feature_names)?;
        match &response {
            Response::Real(y) => {
                if y.ncols() == 0 {
                    return Err(Error::shape("outputs of the response", 0, "at least 1"));
                }
                check_names("response names", &response_names, y.ncols())?;
                check_finite("response", y, &response_names)?;
            }
            Response::Counts(y) => {
                if y.ncols() == 0 {
                    return Err(Error::shape("columns of the counts", 0, "at least 1"));
                }
                check_names("response names", &response_names, y.ncols())?;
                check_finite("counts", y, &response_names)?;
                if let Some(((i, j), value)) = y.indexed_iter().find(|(_, v)| !is_count(**v)) {
                    let problem =
                        format!("{} is not a count: a whole number from 0 to 2^53", number(*value));
                    return Err(cell("counts", i, &response_names[j], problem));
                }
            }
            Response::Censored { lower, upper } => {
                check_names("response names", &response_names, 1)?;
                check_bounds(lower, upper, &response_names[0])?;
            }
            Response::Classes { index, names } => {
                check_names("response names", &response_names, 1)?;
                if names.len() < 2 {
                    return Err(Error::shape("number of classes", names.len(), "at least 2"));
                }
                check_names("class names", names, names.len())?;
                if let Some((i, class)) = index.iter().enumerate().find(|(_, c)| **c >= names.len())
                {
                    let last = names.len() - 1;
                    let problem = format!("class {class} has no name; classes are 0 to {last}");
                    return Err(cell("classes", i, &response_names[0], problem));
                }
            }
        }
        Ok(Self { x, response, feature_names, response_names, weights: None })
    }

    /// Gives the rows weights w: a row stands for w rows that are equal to it, and counts w times in the
    /// log likelihood,
    ///
    /// ```text
    /// log p(q | y) = sum_i w_i log p(y_i | f(x_i), phi) + log p(q) + constant
    /// ```
    ///
    /// and in means and standard deviations of columns, in scores and in leave-one-out. They are used as they
    /// are, and not brought to another sum: twice the weights are twice the data. A row of weight 0 counts for
    /// nothing. Splits and selections of rows keep the weights.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// use ndarray::array;
    /// let short = Dataset::regression(array![[0.0], [1.0]], array![0.1, 0.9])?.with_weights([3.0, 1.0])?;
    /// let x = array![[0.0], [0.0], [0.0], [1.0]];
    /// let long = Dataset::regression(x, array![0.1, 0.1, 0.1, 0.9])?;
    /// let density = |data: &Dataset| -> Result<f64, Error> {
    ///     let priors = Priors::all(Normal::new(0.0, 1.0)?);
    ///     let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, data, priors)?;
    ///     Ok(posterior.log_density(&[0.3, 0.2], &mut posterior.workspace()).total())
    /// };
    /// assert!((density(&short)? - density(&long)?).abs() < 1e-12);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is not one weight for each row, one is negative or not finite, all are 0, or their sum exceeds
    /// 1e15, up to which whole numbers are added without rounding.
    pub fn with_weights(self, weights: impl Into<Vec<f64>>) -> Result<Self, Error> {
        let weighted = self.with_weights_of_part(weights.into())?;
        check_total(weighted.total_weight())?;
        Ok(weighted)
    }

    /// [`with_weights`](Self::with_weights) for some of a table's rows, whose weights may all be 0.
    pub(crate) fn with_weights_of_part(self, weights: Vec<f64>) -> Result<Self, Error> {
        if weights.len() != self.rows() {
            return Err(Error::shape("weights of rows", weights.len(), self.rows()));
        }
        if let Some((row, w)) = weights.iter().enumerate().find(|(_, w)| !is_weight(**w)) {
            return Err(cell("weights of rows", row, "weight", not_a_weight(*w)));
        }
        Ok(Self { weights: Some(weights.into()), ..self })
    }

    /// The weights of the rows, if they [have any](Self::with_weights).
    pub fn weights(&self) -> Option<ArrayView1<'_, f64>> {
        self.weights.as_ref().map(|w| w.view())
    }

    /// The number of rows that the rows stand for: the sum of their weights, or their number if they have
    /// none.
    pub fn total_weight(&self) -> f64 {
        self.weights.as_ref().map_or(self.rows() as f64, |w| w.sum())
    }

    /// The data without weights.
    pub fn without_weights(self) -> Self {
        Self { weights: None, ..self }
    }

    pub(crate) fn into_response(self) -> Response {
        self.response
    }

    /// The rows that count, those whose weight is not 0.
    pub(crate) fn counted(&self) -> Cow<'_, Self> {
        let is_zero = |w: &Array1<f64>| w.iter().any(|w| *w == 0.0);
        match &self.weights {
            Some(w) if is_zero(w) => {
                let rows: Vec<usize> = (0..self.rows()).filter(|i| w[*i] > 0.0).collect();
                Cow::Owned(self.rows_of(&rows))
            }
            _ => Cow::Borrowed(self),
        }
    }

    /// Names the features.
    ///
    /// # Errors
    /// If there are not as many names as features, or a name occurs twice.
    pub fn with_feature_names<S: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Self, Error> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        check_names("feature names", &names, self.n_features())?;
        self.feature_names = names;
        Ok(self)
    }

    /// Names the response: one name for each output or category, a single one for classes.
    ///
    /// # Errors
    /// If the number of names differs, or a name occurs twice.
    pub fn with_response_names<S: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Self, Error> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        check_names("response names", &names, self.response_names.len())?;
        self.response_names = names;
        Ok(self)
    }

    /// Replaces the features by `x` `[rows x features]`, under the same names.
    ///
    /// # Errors
    /// If the shape differs or a number is not finite.
    pub fn with_x(self, x: Array2<f64>) -> Result<Self, Error> {
        let weights = self.weights;
        let data = Self::checked(x, self.response, self.feature_names, self.response_names)?;
        Ok(Self { weights, ..data })
    }

    /// Replaces the features by `x` `[rows x features]`, under other names.
    pub(crate) fn with_features(self, x: Array2<f64>, names: Vec<String>) -> Result<Self, Error> {
        let weights = self.weights;
        let data = Self::checked(x, self.response, names, self.response_names)?;
        Ok(Self { weights, ..data })
    }

    /// Replaces the real response by `y` `[rows x outputs]`, under the same names.
    ///
    /// # Errors
    /// If the response was not real, the shape differs or a number is not finite.
    pub fn with_real_response(self, y: Array2<f64>) -> Result<Self, Error> {
        self.real()?;
        let (weights, y) = (self.weights, Response::Real(y));
        let data = Self::checked(self.x, y, self.feature_names, self.response_names)?;
        Ok(Self { weights, ..data })
    }

    /// Replaces the response by one that a likelihood drew, `[rows x columns]` as
    /// [`predictive_draws`](crate::predict::Predictions::predictive_draws) has it; numbers with bounds are then known exactly.
    pub(crate) fn with_drawn_response(self, y: Array2<f64>) -> Result<Self, Error> {
        let response = match self.response {
            Response::Real(_) => Response::Real(y),
            Response::Counts(_) => Response::Counts(y),
            Response::Classes { names, .. } => {
                // NaN is of a likelihood whose parameters say nothing of classes.
                if let Some(nan) = y.iter().find(|class| class.is_nan()) {
                    return Err(Error::argument("simulated class", nan, "one of the classes"));
                }
                let index = y.column(0).map(|class| *class as usize).to_vec();
                Response::Classes { index, names }
            }
            Response::Censored { .. } => {
                let exact = y.column(0).to_owned();
                Response::Censored { lower: exact.clone(), upper: exact }
            }
        };
        let weights = self.weights;
        let data = Self::checked(self.x, response, self.feature_names, self.response_names)?;
        Ok(Self { weights, ..data })
    }

    /// The features `[rows x features]`.
    pub fn x(&self) -> &Array2<f64> {
        &self.x
    }

    /// The response of each row.
    pub fn response(&self) -> &Response {
        &self.response
    }

    /// The real response `[rows x outputs]`.
    ///
    /// # Errors
    /// If the response is classes or counts.
    pub fn real(&self) -> Result<&Array2<f64>, Error> {
        self.response.real().ok_or_else(|| self.wrong_kind("real numbers"))
    }

    /// The class of each row, counted from 0.
    ///
    /// # Errors
    /// If the response is real numbers or counts.
    pub fn classes(&self) -> Result<&[usize], Error> {
        self.response.classes().ok_or_else(|| self.wrong_kind("classes"))
    }

    fn wrong_kind(&self, wanted: &str) -> Error {
        let kind = match &self.response {
            Response::Real(_) => "real numbers",
            Response::Classes { .. } => "classes",
            Response::Counts(_) => "counts",
            Response::Censored { .. } => "numbers with bounds",
        };
        Error::argument("response", format!("of the kind {kind}"), format!("of the kind {wanted}"))
    }

    /// The names of the features.
    pub fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    /// The names of the outputs or categories, or the single name of the class column.
    pub fn response_names(&self) -> &[String] {
        &self.response_names
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.x.nrows()
    }

    /// The number of features.
    pub fn n_features(&self) -> usize {
        self.x.ncols()
    }
}

/// A summary in two lines: rows and features, then the response.
impl fmt::Display for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        let (n, d) = (self.rows(), self.n_features());
        write!(f, "{n} row{}", plural(n))?;
        if self.weights.is_some() {
            write!(f, " of the weight {}", number(self.total_weight()))?;
        }
        write!(f, ", {d} feature{}: ", plural(d))?;
        writeln!(f, "{}", shortened(&self.feature_names))?;
        match &self.response {
            Response::Real(y) => {
                write!(f, "real response")?;
                for (j, (name, column)) in self.response_names.iter().zip(y.columns()).enumerate() {
                    let low = column.fold(f64::INFINITY, |a, &b| a.min(b));
                    let high = column.fold(f64::NEG_INFINITY, |a, &b| a.max(b));
                    let comma = if j == 0 { "" } else { "," };
                    write!(f, "{comma} {name} from {} to {}", number(low), number(high))?;
                }
                Ok(())
            }
            Response::Classes { names, .. } => {
                let sizes = self.response.class_sizes().unwrap_or_default();
                let sizes: Vec<_> =
                    names.iter().zip(sizes).map(|(name, size)| format!("{name} {size}")).collect();
                write!(f, "classes of {}: {}", self.response_names[0], shortened(&sizes))
            }
            Response::Counts(y) => {
                let sums: Vec<_> = self
                    .response_names
                    .iter()
                    .zip(y.columns())
                    .map(|(name, column)| format!("{name} {}", column.sum()))
                    .collect();
                write!(f, "counts, in all: {}", shortened(&sums))
            }
            Response::Censored { lower, upper } => {
                write!(f, "{}: {}", self.response_names[0], bounds_in_words(lower, upper))
            }
        }
    }
}

/// Prints the summary that [`Display`](fmt::Display) prints, not the numbers.
impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dataset({})", self.to_string().replace('\n', "; "))
    }
}

/// The names, or the first twelve of them.
pub(super) fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let listed = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN { format!("{listed}, ... ({} in all)", names.len()) } else { listed }
}

/// A response `[rows x columns]`, from one column `[rows]` or from several.
fn in_columns<D: Dimension>(y: Array<f64, D>) -> Result<Array2<f64>, Error> {
    let axes = y.ndim();
    let y = if axes == 1 { y.into_dyn().insert_axis(Axis(1)) } else { y.into_dyn() };
    y.into_dimensionality::<Ix2>().map_err(|_| Error::shape("axes of the response", axes, "1 or 2"))
}

fn cell(table: &str, row: usize, column: &str, problem: String) -> Error {
    let (table, column) = (table.into(), column.into());
    Error::Cell { table, row: Row::Number(row + 1), column, problem, advice: Vec::new() }
}

/// Whether a row may have the weight `w`.
pub(crate) fn is_weight(w: f64) -> bool {
    w >= 0.0 && w.is_finite()
}

/// What is wrong with the weight `w`.
fn not_a_weight(w: f64) -> String {
    format!("{} {NOT_A_WEIGHT}", number(w))
}

/// What is wrong with a number that is no weight.
pub(crate) const NOT_A_WEIGHT: &str = "is not a weight, which is a finite number from 0 on";

/// Checks the sum of the weights of rows.
pub(crate) fn check_total(sum: f64) -> Result<(), Error> {
    if sum == 0.0 {
        return Err(Error::argument(
            "weights of rows",
            "0 of all rows",
            "above 0 of one row at least",
        ));
    }
    if sum > MOST_WEIGHT {
        return Err(Error::argument("sum of the weights of rows", sum, "at most 1e15"));
    }
    Ok(())
}

/// Checks that bounds are in order and say something.
fn check_bounds(lower: &Array1<f64>, upper: &Array1<f64>, column: &str) -> Result<(), Error> {
    if lower.len() != upper.len() {
        return Err(Error::shape("upper bounds of the response", upper.len(), lower.len()));
    }
    for (i, (l, u)) in lower.iter().zip(upper).enumerate() {
        let says_something = l.is_finite() || u.is_finite();
        if !(l <= u && says_something) {
            let problem = format!(
                "from {} to {}: bounds must be in order, and one of them finite",
                number(*l),
                number(*u)
            );
            return Err(cell("response", i, column, problem));
        }
    }
    Ok(())
}

/// The number of rows that are observed, or censored in each way.
fn bounds_in_words(lower: &Array1<f64>, upper: &Array1<f64>) -> String {
    let kinds = ["observed", "right-censored", "left-censored", "between bounds"];
    let mut sizes = [0; 4];
    for (l, u) in lower.iter().zip(upper) {
        let kind = match (l == u, u.is_finite(), l.is_finite()) {
            (true, ..) => 0,
            (_, false, _) => 1,
            (_, _, false) => 2,
            _ => 3,
        };
        sizes[kind] += 1;
    }
    let named = kinds.iter().zip(sizes).filter(|(_, size)| *size > 0);
    named.map(|(kind, size)| format!("{size} {kind}")).collect::<Vec<_>>().join(", ")
}

pub(crate) fn is_count(value: f64) -> bool {
    (0.0..=9_007_199_254_740_992.0).contains(&value) && value.fract() == 0.0
}

pub(super) fn check_names(what: &str, names: &[String], expected: usize) -> Result<(), Error> {
    if names.len() != expected {
        return Err(Error::shape(what, names.len(), expected));
    }
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(*name)) {
        Some(twice) => Err(Error::argument(what, format!("`{twice}` twice"), "all different")),
        None => Ok(()),
    }
}

/// Checks that all numbers are finite.
pub(super) fn check_finite(table: &str, x: &Array2<f64>, names: &[String]) -> Result<(), Error> {
    match x.indexed_iter().find(|(_, value)| !value.is_finite()) {
        Some(((i, j), value)) => {
            Err(cell(table, i, &names[j], format!("{value} is not a finite number")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;
    use ndarray::{Array3, array};

    fn message(result: Result<Dataset, Error>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn a_good_table_of_each_kind_is_taken() {
        let x = array![[1.0, 2.0], [3.0, 4.0]];
        let real = Dataset::regression(x.clone(), array![1.0, 2.0]).unwrap();
        assert_eq!(real.real().unwrap().dim(), (2, 1));
        assert_eq!(real.response().width(), 1);
        fails!(real.classes(), Argument { value: "of the kind real numbers" });
        let two = Dataset::regression(x.clone(), array![[1.0, 2.0], [3.0, 4.0]]).unwrap();
        assert_eq!(two.response_names(), ["y1", "y2"]);
        let classes = Dataset::classification(x.clone(), vec![1, 0], ["a", "b"]).unwrap();
        assert_eq!(classes.classes().unwrap(), [1, 0]);
        assert_eq!(classes.response().class_sizes(), Some(vec![1, 1]));
        let counts = Dataset::counts(x, array![[3.0, 0.0], [0.0, 0.0]]).unwrap();
        assert_eq!(counts.response().counts().unwrap()[(0, 0)], 3.0);
        assert_eq!(counts.response().width(), 2);
        let plain = Dataset::counts(array![[1.0], [2.0]], array![3.0, 0.0]).unwrap();
        assert_eq!(plain.response().counts().unwrap().dim(), (2, 1));
    }

    #[test]
    fn errors_name_the_place_and_the_value() {
        let x = array![[1.0, 2.0], [3.0, 4.0]];
        let bad = array![[1.0, 2.0], [f64::NAN, 4.0]];
        assert_eq!(
            message(Dataset::regression(bad, array![1.0, 2.0])),
            "features, row 2, column `x1`: NaN is not a finite number"
        );
        assert_eq!(
            message(Dataset::regression(x.clone(), array![1.0, f64::INFINITY])),
            "response, row 2, column `y1`: inf is not a finite number"
        );
        assert_eq!(
            message(Dataset::regression(x.clone(), array![1.0])),
            "rows of the response: found 1, expected 2"
        );
        assert_eq!(
            message(Dataset::regression(x.clone(), Array3::zeros((2, 1, 1)))),
            "axes of the response: found 3, expected 1 or 2"
        );
        assert_eq!(
            message(Dataset::classification(x.clone(), vec![0, 2], ["a", "b"])),
            "classes, row 2, column `class`: class 2 has no name; classes are 0 to 1"
        );
        assert_eq!(
            message(Dataset::classification(x.clone(), vec![0, 0], ["a"])),
            "number of classes: found 1, expected at least 2"
        );
        assert_eq!(
            message(Dataset::counts(x.clone(), array![[1.0, 0.5], [1.0, 1.0]])),
            "counts, row 1, column `y2`: 0.5 is not a count: a whole number from 0 to 2^53"
        );
        let negative = Dataset::counts(x.clone(), array![[1.0, -1.0], [1.0, 1.0]]);
        let problem = "-1 is not a count: a whole number from 0 to 2^53";
        fails!(negative, Cell { row: "row 1", column: "y2", problem: problem });
        let fraction = Dataset::counts(x.clone(), array![1.0, 0.5]);
        fails!(fraction, Cell { table: "counts", row: "row 2", column: "y1" });
        let none = Dataset::counts(x.clone(), Array2::zeros((2, 0)));
        fails!(none, Shape { what: "columns of the counts", expected: "at least 1" });
        let data = Dataset::regression(x, array![1.0, 2.0]).unwrap();
        assert_eq!(
            message(data.clone().with_feature_names(["a", "a"])),
            "`feature names` is `a` twice, but must be all different"
        );
        fails!(data.clone().with_feature_names(["a"]), Shape { found: 1, expected: 2 });
        fails!(data.clone().with_response_names(["a", "b"]), Shape { found: 2, expected: 1 });
        assert_eq!(message(data.select(&[2])), "`rows` is 2, but must be 0 to 1");
        fails!(data.select(&[]), Argument { name: "rows", allowed: "at least one row" });
        fails!(data.with_x(Array2::zeros((2, 3))), Shape { found: 2, expected: 3 });
    }

    #[test]
    fn tables_without_rows_or_columns_are_refused() {
        for (shape, what) in [((0, 2), "rows of the data"), ((2, 0), "features of the data")] {
            let result = Dataset::regression(Array2::zeros(shape), Array2::zeros((shape.0, 1)));
            fails!(result, Shape { what: what, found: 0 });
        }
        let none = Dataset::regression(Array2::zeros((2, 1)), Array2::zeros((2, 0)));
        fails!(none, Shape { what: "outputs of the response", found: 0 });
    }

    #[test]
    fn the_summary_is_short() {
        let data = Dataset::classification(array![[1.0], [2.0]], vec![0, 1], ["a", "b"]).unwrap();
        assert_eq!(data.to_string(), "2 rows, 1 feature: x1\nclasses of class: a 1, b 1");
        let wide = Dataset::regression(Array2::zeros((1, 100)), array![2.5]).unwrap();
        let text = format!("{wide:?}");
        let end = "x12, ... (100 in all); real response y1 from 2.5 to 2.5)";
        assert!(text.ends_with(end), "{text}");
        let counts = Dataset::counts(array![[1.0]], array![[3.0, 4.0]]).unwrap();
        assert!(counts.to_string().ends_with("counts, in all: y1 3, y2 4"));
    }
}
