//! Real responses and counts: intervals and their coverage, CRPS, skill.

use ndarray::{Array2, Array3, Array4, ArrayView1, ArrayView2, ArrayView4, Axis, Zip, s};

use super::cells::{any_nan, map_cells};
use super::conformal::check_level;
use super::predictions::{Centre, Predictions};
use crate::Error;
use crate::data::{Dataset, Response, Scaler, mean_by};
use crate::diagnostics::quantile;
use crate::message::{Advice, count};
use crate::threads;

/// Intervals, one for each row and column. From [`Predictions::mean_interval`] and
/// [`Predictions::predictive_interval`], with equal tails: at level c between the quantiles at (1 - c)/2 and (1 + c)/2 of
/// the draws. [Conformal](super::Conformal) intervals have ends of their own, and may be infinite.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The probability between the ends, such as 0.95.
    pub level: f64,
    /// The lower end, `[row, column]`: the quantile at (1 - level) / 2.
    pub lower: Array2<f64>,
    /// The upper end, `[row, column]`: the quantile at (1 + level) / 2.
    pub upper: Array2<f64>,
}

impl Interval {
    /// Upper minus lower bound, `[row, column]`.
    pub fn width(&self) -> Array2<f64> {
        &self.upper - &self.lower
    }

    /// The mean width over rows and columns, in units of the quantity that the interval is for.
    pub fn mean_width(&self) -> f64 {
        self.width().mean().unwrap_or(f64::NAN)
    }

    /// The share of `observed` `[row, column]` with lower <= y <= upper; NaN if a bound is NaN.
    ///
    /// # Errors
    /// If `observed` has another shape than the bounds.
    pub fn coverage(&self, observed: ArrayView2<f64>) -> Result<f64, Error> {
        check_shape("observed responses", observed, self.lower.dim())?;
        Ok(mean_of_cells(self.covered(observed).view(), None))
    }

    /// Whether each response is covered, 1 or 0, or NaN where the interval is.
    fn covered(&self, observed: ArrayView2<f64>) -> Array2<f64> {
        let covered = |y: &f64, low: &f64, high: &f64| match low.is_nan() {
            true => f64::NAN,
            false => f64::from(u8::from(low <= y && y <= high)),
        };
        Zip::from(observed).and(&self.lower).and(&self.upper).map_collect(covered)
    }

    /// The share that is covered and the mean width, by the weights of rows if there are any.
    pub(super) fn share_and_width(
        &self,
        observed: ArrayView2<f64>,
        weights: Option<ArrayView1<f64>>,
    ) -> Result<[f64; 2], Error> {
        check_shape("observed responses", observed, self.lower.dim())?;
        let share = mean_of_cells(self.covered(observed).view(), weights);
        Ok([share, mean_of_cells(self.width().view(), weights)])
    }
}

/// The share of observations within their predictive intervals, and the width of these intervals.
/// From [`Predictions::coverage`]. Narrow intervals are good only if enough observations lie within
/// them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// The share of observations that should lie within their intervals.
    pub level: f64,
    /// The share of rows and columns whose observation lies within its interval.
    pub share: f64,
    /// The mean width of the intervals, in units of the response.
    pub mean_width: f64,
}

/// The continuous ranked probability score of draws for one observed number, in its units.
///
/// For an observed y and draws x_1, ..., x_S of it, in order x_(1) <= ... <= x_(S),
///
/// ```text
/// CRPS = E|X - y| - 1/2 E|X - X'|
///      = 1/S sum_i |x_i - y|  -  1/S^2 sum_i (2 i - S - 1) x_(i)
/// ```
///
/// The CRPS (Gneiting and Raftery 2007, doi:10.1198/016214506000001437) is the integral of
/// (F(z) - 1[y <= z])^2 over z, in units of the response; smaller is better, and for a single draw
/// it is the absolute error. F is the empirical distribution of the draws: the sorted form takes
/// O(S log S). It exceeds the CRPS of the distribution that independent draws come from by
/// E|X - X'| / (2 S) on average, which is nothing to speak of from a few hundred draws on. NaN if
/// there are no draws or one of them is NaN; infinite if one of them is.
///
/// ```
/// use bnn_mcmc::predict::crps;
/// assert_eq!(crps(&[3.0], 1.0), 2.0); // one draw: the absolute error
/// assert_eq!(crps(&[0.0, 1.0], 0.0), 0.5 - 0.5 * 0.5);
/// ```
pub fn crps(draws: &[f64], observed: f64) -> f64 {
    let mut sorted = draws.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    crps_sorted(&sorted, observed)
}

/// Deviations from y take the place of the draws in both sums (the weights of the second add up
/// to 0): no digits are lost where draws and y are large and close.
pub(super) fn crps_sorted(sorted: &[f64], y: f64) -> f64 {
    if !any_nan(sorted) && sorted.iter().any(|x| x.is_infinite()) {
        return f64::INFINITY;
    }
    let n = sorted.len() as f64;
    let (mut distance, mut spread) = (0.0, 0.0);
    for (i, x) in sorted.iter().enumerate() {
        distance += (x - y).abs();
        spread += (2.0 * i as f64 + 1.0 - n) * (x - y);
    }
    distance / n - spread / (n * n) //~ crps-spread
}

/// The persistence forecast of an [embedded](crate::data::Takens) series: the last input of each
/// row, for every response column, `[row, column]`.
///
/// Features and response must be in the same units: embed, then predict, an unscaled series, or
/// one that was scaled before it was embedded.
///
/// # Errors
/// If the response is not real.
pub fn persistence(data: &Dataset) -> Result<Array2<f64>, Error> {
    let (last, y) = (data.x().column(data.n_features() - 1), data.real()?);
    Ok(Array2::from_shape_fn(y.dim(), |(i, _)| last[i]))
}

impl Predictions {
    /// Intervals of the mean function E\[y | x, q\]: the uncertainty about it, without noise. For
    /// classes and counts of categories, intervals of probabilities.
    ///
    /// # Errors
    /// If there are no draws, or `level` does not lie between 0 and 1.
    pub fn mean_interval(&self, level: f64) -> Result<Interval, Error> {
        Ok(self.intervals_by(self.mean(), &[level], quantile)?.remove(0))
    }

    /// Intervals of new observations at the same inputs, in units of the response.
    ///
    /// For counts, both ends are counts, and at least the share `level` of the draws lies between
    /// them, ends included. If the model is right, S draws in all cover level (S - 1) / (S + 1),
    /// and counts are covered more often than `level`, since they are discrete.
    ///
    /// # Errors
    /// If there are no draws, `level` does not lie between 0 and 1, or the response is
    /// classes.
    pub fn predictive_interval(&self, level: f64) -> Result<Interval, Error> {
        self.check_numbers()?;
        self.interval(self.predictive_draws(), level) //~ predictive-interval
    }

    /// Quantiles of new observations at these probabilities, from the posterior predictive draws: `[row, column, probability]`. Of
    /// counts each is a count, the smallest one that at least so large a share of the draws does not exceed.
    ///
    /// # Errors
    /// If there are no draws, a probability is not between 0 and 1, or the response is classes.
    pub fn predictive_quantiles(&self, probabilities: &[f64]) -> Result<Array3<f64>, Error> {
        self.check_numbers()?;
        self.draws_of_mean()?;
        if let Some(p) = probabilities.iter().find(|p| !(0.0..=1.0).contains(*p)) {
            return Err(Error::argument("probabilities", p, "between 0 and 1"));
        }
        let of_cell = |_, sorted: &[f64]| -> Vec<f64> {
            probabilities.iter().map(|p| self.quantile_of_new(sorted, *p)).collect()
        };
        let quantiles = map_cells(self.predictive_draws(), &of_cell).concat();
        let (_, _, rows, columns) = self.drawn.dim();
        let quantiles = Array3::from_shape_vec((rows, columns, probabilities.len()), quantiles);
        Ok(quantiles.expect("there is a quantile for each cell and probability"))
    }

    /// The share of observed responses within their
    /// [predictive intervals](Self::predictive_interval), and how wide the intervals are.
    ///
    /// # Errors
    /// The errors of [`predictive_interval`](Self::predictive_interval).
    pub fn coverage(&self, level: f64) -> Result<Coverage, Error> {
        Ok(self.coverages(&[level])?[0])
    }

    /// The [coverage](Self::coverage) at each of several levels, in their order. The draws of each row and
    /// column are sorted once for all levels.
    ///
    /// ```
    /// # use bnn_mcmc::prelude::*;
    /// # use ndarray::{Array2, Array3};
    /// // Observations 0 of a standard normal distribution, which lie in the middle of every interval.
    /// let data = Dataset::regression(Array2::zeros((5, 1)), Array2::zeros((5, 1)))?;
    /// let priors = Priors::all(Normal::new(0.0, 1.0)?);
    /// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(1.0)?, &data, priors)?;
    /// let draws = Draws::new(posterior.layout().clone(), Array3::zeros((1, 1000, 2)))?;
    /// let coverages = posterior.predict(&draws, &data)?.coverages(&[0.5, 0.9])?;
    /// assert!(coverages.iter().all(|coverage| coverage.share == 1.0));
    /// assert!(coverages[0].mean_width < coverages[1].mean_width);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`predictive_interval`](Self::predictive_interval), at any of the levels.
    pub fn coverages(&self, levels: &[f64]) -> Result<Vec<Coverage>, Error> {
        self.check_numbers()?;
        let intervals = self.intervals(self.predictive_draws(), levels)?; //~ coverage-intervals
        let observed = self.numbers()?.view();
        let of = |interval: &Interval| {
            let [share, mean_width] = interval.share_and_width(observed, self.weights())?;
            Ok(Coverage { level: interval.level, share, mean_width })
        };
        intervals.iter().map(of).collect()
    }

    /// The disagreement of the chains about a prediction, where it is largest: the standard
    /// deviation of the chains' mean predictions over the standard deviation of the posterior
    /// predictive draws of all chains, at the row and column where it is largest.
    ///
    /// ```text
    /// apart = max_i sd_c(m_ci) / sd(y_i),   m_ci = mean_s E[y_i | q_cs]
    /// ```
    ///
    /// Chains c = 1, .., C with draws q_cs; both standard deviations have the divisor n - 1. R-hat
    /// says whether chains agree about the mean function; this number says how large their
    /// disagreement is beside the noise of a new observation. It has no unit, and is the same [in
    /// other units](Self::unscaled) of the response, unless there is a transform. The chains' Monte Carlo errors are part of it:
    /// it is not 0 for a run that has converged, and a small number does not mean that it has. For
    /// what counts as large see [`APART_LIMITS`](crate::diagnostics::APART_LIMITS). Noise with
    /// heavy tails, such as [Student's t](crate::likelihood::StudentTNoise) with few degrees of
    /// freedom, has a large standard deviation, in which the chains seem closer than their
    /// intervals are.
    ///
    /// Rows whose predictive draws are all equal, such as counts that are nearly always 0, are left
    /// out. NaN for a single chain, and if no row is left.
    ///
    /// ```
    /// # use bnn_mcmc::prelude::*;
    /// # use ndarray::{Array2, Array3};
    /// // Two chains that expect 0 and 1, with noise of sd 2.
    /// let data = Dataset::regression(Array2::ones((1, 1)), Array2::zeros((1, 1)))?;
    /// let model = Linear::new(1, 1)?.without_bias();
    /// let priors = Priors::all(Normal::new(0.0, 1.0)?);
    /// let posterior = Posterior::new(model, Gaussian::fixed(2.0)?, &data, priors)?;
    /// let q = Array3::from_shape_fn((2, 5_000, 1), |(chain, _, _)| chain as f64);
    /// let draws = Draws::new(posterior.layout().clone(), q)?;
    /// let apart = posterior.predict(&draws, &data)?.chains_apart()?;
    /// // sd(0, 1) = sqrt(1/2), and the predictive variance is 1/4 + 4.
    /// assert!((apart - (0.5_f64 / 4.25).sqrt()).abs() < 0.01);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are no draws, or the response is neither real nor counts in one column: classes have no
    /// standard deviation.
    pub fn chains_apart(&self) -> Result<f64, Error> {
        self.check_numbers()?;
        self.draws_of_mean()?;
        let (chains, draws, rows, columns) = self.drawn.dim();
        if self.mean.dim().3 != columns
            || matches!(&self.response, Response::Counts(y) if y.ncols() > 1)
        {
            return Err(self.wrong_kind("real numbers or counts in one column"));
        }
        let drawn = self.drawn.view().into_shape_with_order((chains * draws, rows, columns));
        let drawn = drawn.expect("predictions are stored in standard order");
        //~ apart-mean
        let means = self.mean.mean_axis(Axis(1)).expect("there is at least one draw");
        let between = means.std_axis(Axis(0), 1.0);
        let each = between.indexed_iter().filter_map(|((row, column), between)| {
            let drawn = drawn.slice(s![.., row, column]);
            let is_constant = drawn.iter().all(|y| *y == drawn[0]);
            (!is_constant).then(|| between / drawn.std(1.0)) //~ apart-sd
        });
        // A NaN stays.
        let largest = each.reduce(|a, b| if a.is_nan() || b <= a { a } else { b });
        Ok(largest.unwrap_or(f64::NAN))
    }

    /// The [continuous ranked probability score](crps) of each row and column, `[row, column]`, from
    /// the posterior predictive draws; its mean is among the [scores](Self::scores).
    ///
    /// # Errors
    /// If there are no draws, or the response is classes.
    pub fn crps(&self) -> Result<Array2<f64>, Error> {
        let (y, _) = (self.numbers()?, self.draws_of_mean()?);
        let observed = y.as_standard_layout();
        let observed = observed.as_slice().expect("it was put in standard order");
        let of_cell = |cell: usize, sorted: &[f64]| crps_sorted(sorted, observed[cell]);
        let crps = map_cells(self.predictive_draws(), &of_cell);
        Ok(Array2::from_shape_vec(y.dim(), crps).expect("one score for each row and column"))
    }

    /// The skill of the posterior mean prediction against a `reference` prediction `[row, column]`
    /// such as [`persistence`]: 1 - MSE / MSE_reference, both over all rows and columns.
    ///
    /// 1 is perfect, 0 no better than the reference, and negative is worse (Murphy 1988,
    /// doi:10.1175/1520-0493(1988)116%3C2417:SSBOTM%3E2.0.CO;2). It is -inf against a perfect
    /// reference, and NaN if both are perfect.
    ///
    /// # Errors
    /// If there are no draws, the response is not real, `reference` has another shape or a
    /// number that is not finite.
    pub fn skill(&self, reference: ArrayView2<f64>) -> Result<f64, Error> {
        let y = self.response.real().ok_or_else(|| self.wrong_kind("real numbers"))?;
        self.known()?;
        check_shape("reference predictions", reference, y.dim())?;
        if let Some(value) = reference.iter().find(|r| !r.is_finite()) {
            return Err(Error::argument("reference", value, "finite in every row and column"));
        }
        let squared = |predicted: ArrayView2<f64>| {
            let squares = (y - &predicted).mapv(|d| d * d);
            match self.weights() {
                Some(_) => mean_of_cells(squares.view(), self.weights()),
                None => squares.sum(),
            }
        };
        Ok(1.0 - squared(self.posterior_mean()?.view()) / squared(reference))
    }

    /// Converts the predictions to the units of the response before `scaler` scaled it;
    /// [`Standardise::fit_response`](crate::data::Standardise::fit_response) or
    /// [`MinMax::fit_response`](crate::data::MinMax::fit_response) has fitted the scaler:
    ///
    /// ```text
    /// y = shift + (z - low) scale,   log p(y | x, q) = log p(z | x, q) - sum_j log scale_j
    /// ```
    ///
    /// Means, predictive draws, observations and all scores are then in these units, and the log
    /// predictive density is the density of the unscaled response, in nats. The log likelihood by
    /// which the [verdict](Predictions::verdict) judges the chains does not change: it is of the
    /// training data as they were given to the posterior.
    ///
    /// After a [transform](crate::data::Transform) g,
    ///
    /// ```text
    /// y = g^-1(shift + z scale),   log p(y | x, q) = log p(z | x, q) + sum_j (log g'(y_j) - log scale_j)
    /// ```
    ///
    /// and the [mean](Self::mean) is E\[y | x, q\] = E\[g^-1(shift + z scale) | x, q\] where the noise of z is
    /// normal: [`moments_of_inverse`](crate::data::PowerTransform::moments_of_inverse). Of other noise, such as
    /// Student's t, it is the median, g^-1(shift + f(x; q) scale), and [`centre`](Self::centre) is [`Centre::Median`]: for
    /// nu degrees of freedom P(z > c) falls as c^-nu, and g^-1 rises as e^z after a logarithm, where y has no mean
    /// whatever nu is, and as z^(1/lambda) of a power, where it has one only for nu > 1/lambda (and, below 0 of Yeo-Johnson,
    /// nu > 1/(2 - lambda)). Medians average less than responses where these have a tail to the right: add up
    /// [draws](Self::predictive_draws), not medians.
    ///
    /// ```
    /// use bnn_mcmc::data::Standardise;
    /// use bnn_mcmc::prelude::*;
    /// use ndarray::array;
    /// let metres = Dataset::regression(array![[0.0], [1.0], [2.0]], array![100.0, 300.0, 500.0])?;
    /// let scaler = Standardise::new().fit_response(&metres)?;
    /// let scaled = scaler.scale_response(&metres)?;
    /// let priors = Priors::all(Normal::new(0.0, 5.0)?);
    /// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.01)?, &scaled, priors)?;
    /// let draws = Sampler::new(&posterior, Nuts::default()).seed(1).run()?;
    /// let predictions = posterior.predict_new(&draws, array![[1.0]].view())?.unscaled(&scaler)?;
    /// assert!((predictions.posterior_mean()?[[0, 0]] - 300.0).abs() < 5.0);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the response is not real, or has other columns than the scaling; copies that do not fit into
    /// [memory](crate::memory). Scaling twice goes unnoticed.
    pub fn unscaled(&self, scaler: &Scaler) -> Result<Self, Error> {
        let Response::Real(z) = &self.response else {
            return Err(self.wrong_kind("real numbers"));
        };
        scaler.check_same_names(&self.response_names)?;
        self.unscaled_beside(scaler, &scaler.inverse(z.view())?)
    }

    /// [`unscaled`](Self::unscaled), with the observed response `y` as it was read, of which the
    /// inverse of its scaled numbers may differ in the last digits.
    pub(crate) fn unscaled_beside(&self, scaler: &Scaler, y: &Array2<f64>) -> Result<Self, Error> {
        let size = [(2, "arrays"), (self.mean.len().max(self.drawn.len()), "numbers")];
        let instead = "take fewer rows at a time or fewer draws";
        crate::memory::check::<f64>("predictions in own units", &size, instead).map_err(
            |error| error.advise([Advice::in_rust("thin the draws (`Draws::thinned`)")]),
        )?;
        let unscale = |values: &Array4<f64>| -> Result<Array4<f64>, Error> {
            let (shape, columns) = (values.dim(), values.len_of(Axis(3)));
            let flat = values.view().into_shape_with_order((values.len() / columns, columns));
            let flat = flat.expect("predictions are stored in standard order");
            let unscaled = scaler.inverse(flat)?.into_shape_with_order(shape);
            Ok(unscaled.expect("the shape is the one from before"))
        };
        let (mean, centre) = match &self.noise {
            //~ unscaled-mean
            Some(noise) if !scaler.is_affine() => {
                (moments(scaler, &self.mean, noise, 0), self.centre)
            }
            _ if scaler.is_affine() => (unscale(&self.mean)?, self.centre),
            _ => (unscale(&self.mean)?, Centre::Median),
        };
        let slopes = scaler.log_derivative(y.view())?;
        Ok(Self {
            mean,
            centre,
            noise: None,
            drawn: unscale(&self.drawn)?,
            times: None,
            //~ unscaled-density
            log_density: self.log_density.as_ref().map(|density| density + &slopes),
            response: Response::Real(y.clone()),
            response_names: self.response_names.clone(),
            weights: self.weights.clone(),
            trace: self.trace.clone(),
        })
    }

    fn interval(&self, values: ArrayView4<f64>, level: f64) -> Result<Interval, Error> {
        Ok(self.intervals(values, &[level])?.remove(0))
    }

    /// Intervals of new observations, one for each level.
    fn intervals(&self, values: ArrayView4<f64>, levels: &[f64]) -> Result<Vec<Interval>, Error> {
        self.intervals_by(values, levels, |draws, p| self.quantile_of_new(draws, p))
    }

    /// The p-quantile of sorted draws of new observations. For counts it is a count, the smallest
    /// one that at least the share p of the draws does not exceed: an interval between two of them
    /// holds at least its level of the draws. For real numbers it is interpolated between two
    /// draws.
    pub(super) fn quantile_of_new(&self, sorted: &[f64], p: f64) -> f64 {
        let is_counts = matches!(self.response, Response::Counts(_));
        if !is_counts || sorted.is_empty() || any_nan(sorted) {
            return quantile(sorted, p);
        }
        // A product such as 0.95 * 20 may lie above the whole number that it is meant to be.
        let rank = (p * sorted.len() as f64 * (1.0 - f64::EPSILON)).ceil() as usize;
        sorted.get(rank.clamp(1, sorted.len()) - 1).copied().unwrap_or(f64::NAN)
    }

    /// An interval for each level, of draws that are sorted once, by their quantiles.
    fn intervals_by(
        &self,
        values: ArrayView4<f64>,
        levels: &[f64],
        quantile: impl Fn(&[f64], f64) -> f64 + Sync,
    ) -> Result<Vec<Interval>, Error> {
        levels.iter().try_for_each(|level| check_level(*level))?;
        self.draws_of_mean()?;
        let tails: Vec<f64> = levels.iter().map(|level| 0.5 - 0.5 * level).collect();
        let bounds = map_cells(values, &|_, x| -> Vec<[f64; 2]> {
            tails.iter().map(|tail| [quantile(x, *tail), quantile(x, 1.0 - tail)]).collect()
        });
        let shape = (values.len_of(Axis(2)), values.len_of(Axis(3)));
        let bound = |k: usize, side: usize| {
            Array2::from_shape_vec(shape, bounds.iter().map(|b| b[k][side]).collect())
                .expect("one interval for each row and column")
        };
        let of = |(k, level): (usize, &f64)| Interval {
            level: *level,
            lower: bound(k, 0),
            upper: bound(k, 1),
        };
        Ok(levels.iter().enumerate().map(of).collect())
    }
}

/// E[y | x, q], which is `moment` 0, or Var[y | x, q], 1, of each draw, row and column, in the units from
/// before a transform, where scaled responses are normal with these means and variances
/// `[chain, draw, row, column]`. The variances of one row serve all.
pub(crate) fn moments(
    scaler: &Scaler,
    means: &Array4<f64>,
    variances: &Array4<f64>,
    moment: usize,
) -> Array4<f64> {
    let (mut moments, columns) = (means.clone(), means.len_of(Axis(3)));
    let of_draw = |values: &Array4<f64>| (values.len_of(Axis(2)) * columns).max(1);
    let (numbers, width) = (of_draw(means), of_draw(variances));
    let flat = "predictions are stored in standard order";
    let variances = variances.as_slice().expect(flat).chunks(width);
    let all = moments.as_slice_mut().expect(flat).chunks_mut(numbers);
    let mut all: Vec<_> = all.zip(variances).collect();
    threads::each(&mut all, &|_, (of_draw, variances)| {
        for (k, value) in of_draw.iter_mut().enumerate() {
            //~ noise-of-row
            *value = scaler.moments(k % columns, *value, variances[k % width])[moment];
        }
    });
    moments
}

/// The mean of `[row, column]` over all cells, by the weights of rows if there are any.
pub(super) fn mean_of_cells(values: ArrayView2<f64>, weights: Option<ArrayView1<f64>>) -> f64 {
    match weights {
        None => values.mean().unwrap_or(f64::NAN),
        Some(_) => {
            let columns = values.ncols() as f64;
            let rows = values.rows();
            mean_by(weights, rows.into_iter().map(|row| row.sum() / columns)) //~ weighted-scores
        }
    }
}

fn check_shape(what: &str, found: ArrayView2<f64>, expected: (usize, usize)) -> Result<(), Error> {
    if found.dim() == expected {
        return Ok(());
    }
    let text = |(rows, columns)| format!("{} of {}", count(rows, "row"), count(columns, "column"));
    Err(Error::shape(what, text(found.dim()), text(expected)))
}
