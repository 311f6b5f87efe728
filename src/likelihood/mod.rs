//! Likelihoods: the density p(y | f, phi) of a response given a model's outputs.
//!
//! A likelihood sees the outputs f of one [tile](crate::engine) of rows, the responses of those
//! rows, and its own parameters phi (a noise variance, say). It owns the link: a classification
//! model's outputs are logits.
//!
//! | likelihood | response | outputs | own parameters |
//! | --- | --- | --- | --- |
//! | [`Gaussian`] | [`Response::Real`] | one per response column | `log_noise_variance`, unless fixed |
//! | [`HeteroscedasticGaussian`] | [`Response::Real`] | mean and log sd, two per response column | none |
//! | [`StudentTNoise`] | [`Response::Real`] | one per response column, or location and log scale | `log_squared_scale`, `log_degrees_of_freedom`, unless fixed |
//! | [`Beta`] | [`Response::Real`] between 0 and 1 | 1 logit of the mean per response column | `log_precision` |
//! | [`Bernoulli`] | [`Response::Classes`] of two | 1 logit | none |
//! | [`Categorical`] | [`Response::Classes`] | one logit per class | none |
//! | [`Ordinal`] | [`Response::Classes`] in order | 1 | `first_cutpoint`, unless fixed, and `log_increments` |
//! | [`Binomial`] | [`Response::Counts`] of (successes, failures) | 1 logit | none |
//! | [`Multinomial`] | [`Response::Counts`] | one logit per category | none |
//! | [`Poisson`] | [`Response::Counts`] in one column | 1 log rate | none |
//! | [`NegativeBinomial`] | [`Response::Counts`] in one column | 1 log mean | `log_dispersion`, unless fixed |
//! | [`Hurdle`] | [`Response::Counts`] in one column | 1 log mean | `logit_zeros`, and `log_dispersion` of negative binomial counts |
//! | [`ZeroInflated`] | [`Response::Counts`] in one column | 1 log mean | `logit_extra_zeros`, and `log_dispersion` of negative binomial counts |
//! | [`Censored`] | [`Response::Censored`] | 1 location, of the number or of its logarithm | `log_scale`, unless fixed |
//!
//! Own parameters need priors of their own, by name: [`Priors::all`](crate::prior::Priors::all) is for
//! the weights of the model.
//!
//! All are normalised in y, and finite with finite gradients for logits up to 1e300 in size. Where the
//! density underflows to 0, because e^f or a squared residual overflows, its logarithm is -inf, and
//! samplers reject.
//! [`SecondOrderLikelihood`] adds second derivatives, observed and expected; they are the same where
//! the outputs are logits.

mod bernoulli;
mod beta;
mod binomial;
mod categorical;
mod censored;
mod count_rows;
mod gamma_functions;
mod gaussian;
mod heteroscedastic_gaussian;
mod hurdle;
mod multinomial;
mod negative_binomial;
mod normal_tails;
mod ordinal;
mod poisson;
mod student_t_noise;
mod time_distribution;
mod weights;
mod zero_inflated;

pub use bernoulli::Bernoulli;
pub use beta::Beta;
pub(crate) use beta::{NOT_AT_ENDS, SHARES, is_share};
pub use binomial::Binomial;
pub use categorical::Categorical;
pub use censored::Censored;
pub(crate) use censored::{NOT_AT_ZERO, TIMES};
pub use gaussian::Gaussian;
pub use heteroscedastic_gaussian::HeteroscedasticGaussian;
pub use hurdle::Hurdle;
pub use multinomial::Multinomial;
pub use negative_binomial::NegativeBinomial;
pub use ordinal::Ordinal;
pub use poisson::Poisson;
pub use student_t_noise::StudentTNoise;
pub use time_distribution::{TimeDistribution, TimeFamily};
pub use weights::Weights;
pub use zero_inflated::ZeroInflated;

use ndarray::Array2;
use rand_distr::Distribution;

use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::elementary::exp_in_place;
use crate::engine::simd::Vector;
use crate::engine::{TILE_ROWS, Tile, TileMut};
use crate::layout::Layout;
use crate::message::count;
use crate::portable::{exp, exp_m1, ln, ln_1p, ln_factorial};
use crate::rng::ChainRng;

/// The density of a response given a model's outputs. See the [module](self).
pub trait Likelihood: Sync {
    /// The named blocks of the likelihood's own parameters phi; empty if it has none.
    fn layout(&self) -> Layout {
        Layout::new()
    }

    /// The likelihood in words, with its fixed values: `Gaussian with variance 0.25`. A posterior
    /// refuses to predict with draws of a likelihood with another description; `None`, the default,
    /// is not compared. Keep it when the type moves.
    fn description(&self) -> Option<String> {
        None
    }

    /// Checks that `response` and a model with `n_outputs` outputs fit this likelihood, and
    /// returns the columns `[rows x any]` that the other methods get to see as `y`.
    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error>;

    /// Writes log p(y_i | f_i, phi) for each row i of a tile into `rows`.
    ///
    /// `out` holds f `[rows x n_outputs]` on entry and may hold anything afterwards.
    fn log_lik_rows(&self, phi: &[f64], out: TileMut, y: Tile, rows: &mut [f64]);

    /// Returns the sum of w_i log p(y_i | f_i, phi) over the rows i of a tile, with their `weights` w,
    /// writes its derivative with respect to f into `d_out` (padding: anything), and adds that with
    /// respect to phi to `d_phi`.
    ///
    /// There is a weight for each row, finite and at least 0: [ones](Weights::ones) where the data have none. A row of
    /// weight 0 counts for nothing, also where its density is 0.
    fn log_lik_grad(
        &self,
        phi: &[f64],
        out: Tile,
        y: Tile,
        weights: Weights,
        d_out: TileMut,
        d_phi: &mut [f64],
    ) -> f64;

    /// Writes y - f into `d_out` (padding: anything) and returns true, if the response is real and
    /// every output is the mean of a response column.
    fn residuals(&self, _out: Tile, _y: Tile, _d_out: TileMut) -> bool {
        false
    }

    /// The normal noise of the response; `None`, the default, if the response has another
    /// distribution. With normal noise the weights of a linear output layer that give the mean can
    /// be [integrated out](crate::targets::Marginal).
    fn normal_noise(&self) -> Option<NormalNoise> {
        None
    }

    /// The likelihood of numbers with bounds; `None`, the default, if the response is none. Predictions by it have
    /// survival functions.
    fn censored(&self) -> Option<&Censored> {
        None
    }

    /// The number of columns that [`mean`](Self::mean) writes for a model with `n_outputs`.
    fn n_means(&self, n_outputs: usize) -> usize {
        n_outputs
    }

    /// Writes E[y | f, phi] into `mean` `[rows x n_means]`: one column for each column of a real
    /// response, probabilities for classes (one column, for the second class, if there are two and
    /// one logit), expected proportions for counts of categories, the expected count for counts in
    /// one column.
    fn mean(&self, phi: &[f64], out: Tile, mean: TileMut);

    /// Writes Var[y | f, phi] into `variance` `[rows x n_means]` (padding: anything) and returns
    /// true, if the response is real or counts in one column.
    fn variance(&self, _phi: &[f64], _out: Tile, _variance: TileMut) -> bool {
        false
    }

    /// The number of columns that [`draw`](Self::draw) writes for a model with `n_outputs`.
    fn n_drawn(&self, n_outputs: usize) -> usize {
        n_outputs
    }

    /// Draws one response y_i ~ p(y | f_i, phi) for each row of a tile into `drawn`
    /// `[rows x n_drawn]`, as a [`Response`] holds it: real numbers, the position of a class
    /// (counted from 0, one column), or counts in as many trials as the row of `y` has.
    ///
    /// `out` holds f `[rows x n_outputs]` on entry and may hold anything afterwards. A draw from an
    /// f that is NaN is NaN.
    fn draw(&self, phi: &[f64], out: TileMut, y: Tile, rng: &mut ChainRng, drawn: TileMut);
}

/// Normal noise: the result of [`Likelihood::normal_noise`].
#[derive(Clone, Copy, Debug)]
pub enum NormalNoise {
    /// Every output is the mean of a response column, and the variance is the same for all rows.
    Equal(Gaussian),
    /// The first half of the outputs are the means of the response columns, the second half the
    /// logarithms of their standard deviations ([`HeteroscedasticGaussian`]).
    ByRow,
    /// Normal given a precision for each row, a mixture of normal distributions, of one scale for all rows or
    /// [by row](StudentTNoise::heteroscedastic) as above.
    Mixture(StudentTNoise),
}

/// Some rows, and a direction: what a [derivative along it](SecondOrderLikelihood::log_lik_tangent) is taken at.
#[derive(Clone, Copy, Debug)]
pub struct Tangent<'t> {
    /// The likelihood's own parameters.
    pub phi: &'t [f64],
    /// The outputs f, `[rows x n_outputs]`.
    pub out: Tile<'t>,
    /// The output of [`mean`](Likelihood::mean) for f, `[rows x n_means]`, which is computed once for all directions.
    pub mean: Tile<'t>,
    /// The responses, as [`encode`](Likelihood::encode) has them, a row each.
    pub y: Tile<'t>,
    /// The weights of the rows.
    pub weights: Weights<'t>,
    /// The direction in f, `[rows x n_outputs]`.
    pub r_out: Tile<'t>,
    /// The direction in phi, as long as phi.
    pub r_phi: &'t [f64],
}

/// A likelihood with second derivatives.
pub trait SecondOrderLikelihood: Likelihood {
    /// The derivative of the gradient along (r_out, r_phi): the Hessian of the rows' weighted sum of log
    /// likelihoods times that direction, or with [`Curvature::Expected`] the Hessian's expectation over
    /// y ~ p(y | f, phi), which is minus the Fisher information.
    ///
    /// Writes the part of f into `r_d_out` `[rows x n_outputs]` (padding: anything) and adds the
    /// part of phi to `r_d_phi`.
    fn log_lik_tangent(
        &self,
        curvature: Curvature,
        at: Tangent,
        r_d_out: TileMut,
        r_d_phi: &mut [f64],
    );
}

/// -w trials p (1 - p) R z for one logit; `trials` and `weights` w of all rows.
fn logit_tangent(trials: Option<&[f64]>, weights: Weights, p: &[f64], r: &[f64], r_d: &mut [f64]) {
    for (i, ((d, p), r)) in r_d.iter_mut().zip(p).zip(r).enumerate() {
        *d = weights[i] * (-trials.map_or(1.0, |n| n[i]) * p * (1.0 - p) * r);
    }
}

/// -w trials p_k (R z_k - sum_j p_j R z_j) for the K logits of each row.
fn softmax_tangent(trials: Option<&[f64]>, weights: Weights, p: Tile, r: Tile, mut r_d: TileMut) {
    let mut mean = [0.0; TILE_ROWS];
    for j in 0..p.columns() {
        for ((mean, p), r) in mean.iter_mut().zip(p.column(j)).zip(r.column(j)) {
            *mean += p * r;
        }
    }
    for j in 0..p.columns() {
        let (p, r) = (p.column(j), r.column(j));
        for (i, d) in r_d.column(j).iter_mut().enumerate() {
            *d = weights[i] * (-trials.map_or(1.0, |n| n[i]) * p[i] * (r[i] - mean[i]));
        }
    }
}

/// The error for a response that `likelihood` cannot use.
fn mismatch(likelihood: &str, response: &Response, expected: &str) -> Error {
    let width = response.width();
    let found = match response {
        Response::Real(_) => format!("real numbers in {}", count(width, "column")),
        Response::Classes { names, .. } => {
            format!("{} ({})", count(width, "class"), names.join(", "))
        }
        Response::Counts(_) if width == 1 => "counts in one column".into(),
        Response::Counts(_) => format!("counts of {width} categories"),
        Response::Censored { .. } => "numbers with bounds".into(),
    };
    Error::shape(format!("response for the {likelihood} likelihood"), found, expected)
}

/// Checks the number of the model's outputs.
fn check_outputs(likelihood: &str, found: usize, expected: usize) -> Result<(), Error> {
    if found == expected {
        Ok(())
    } else {
        Err(Error::shape(
            format!("number of model outputs for the {likelihood} likelihood"),
            found,
            expected,
        ))
    }
}

/// Checks that every row of counts has at least one trial.
fn check_trials(likelihood: &str, counts: &Array2<f64>) -> Result<(), Error> {
    match counts.rows().into_iter().position(|row| row.sum() == 0.0) {
        None => Ok(()),
        Some(i) => Err(Error::table(
            format!("response for the {likelihood} likelihood"),
            format!("row {} has no trials: all its counts are 0", i + 1),
        )),
    }
}

/// log(2 pi).
const LN_TAU: f64 = 1.8378770664093453;

/// count * log_probability, with 0 * -inf = 0.
pub(crate) fn weighted(count: f64, log_probability: f64) -> f64 {
    if count == 0.0 { 0.0 } else { count * log_probability }
}

/// Writes the largest of each row's columns into `maximum` (as long as a padded column).
#[inline(always)]
fn row_maximum(values: &[f64], maximum: &mut [f64]) {
    maximum.fill(f64::NEG_INFINITY);
    for column in values.chunks_exact(maximum.len()) {
        for (m, z) in maximum.iter_mut().zip(column) {
            *m = if *z > *m { *z } else { *m };
        }
    }
}

/// Subtracts the row maximum from all columns of `values` and returns exp of the differences in
/// their place; `maximum` and `sum` (as long as a column) get the maximum and the sum of exps.
fn softmax_parts(values: &mut [f64], maximum: &mut [f64], sum: &mut [f64]) {
    subtract_maximum(values, maximum);
    crate::engine::elementary::exp_in_place(values);
    sum_columns(values, sum);
}

dispatch! {
    fn subtract_maximum(values: &mut [f64], maximum: &mut [f64]) => subtract_maximum_body
}
#[inline(always)]
fn subtract_maximum_body<V: Vector<f64>>(_: V::Level, values: &mut [f64], maximum: &mut [f64]) {
    row_maximum(values, maximum);
    for column in values.chunks_exact_mut(maximum.len()) {
        for (z, m) in column.iter_mut().zip(&*maximum) {
            *z -= m;
        }
    }
}

dispatch! {
    fn sum_columns(values: &[f64], sum: &mut [f64]) => sum_columns_body
}
#[inline(always)]
fn sum_columns_body<V: Vector<f64>>(_: V::Level, values: &[f64], sum: &mut [f64]) {
    sum.fill(0.0);
    for column in values.chunks_exact(sum.len()) {
        for (s, e) in sum.iter_mut().zip(column) {
            *s += e;
        }
    }
}

/// Replaces logits by the running sums e_1, e_1 + e_2, ... of e_k = exp(z_k - max z) in each row:
/// the distribution function of the categories, times its last column.
fn cumulate_softmax(out: &mut TileMut) {
    let stride = out.stride();
    let (mut maximum, mut sum) = ([0.0; TILE_ROWS], [0.0; TILE_ROWS]);
    softmax_parts(out.values(), &mut maximum[..stride], &mut sum[..stride]);
    sum.fill(0.0);
    for column in out.values().chunks_exact_mut(stride) {
        for (e, s) in column.iter_mut().zip(&mut sum) {
            *s += *e;
            *e = *s;
        }
    }
}

/// One draw of the number of successes in `n` trials; NaN if `n` is NaN, or if `p` is not a
/// probability.
fn draw_binomial(n: f64, p: f64, rng: &mut ChainRng) -> f64 {
    match rand_distr::Binomial::new(n as u64, p) {
        Ok(binomial) if !n.is_nan() => (binomial.sample(rng) as f64).min(n),
        _ => f64::NAN,
    }
}

/// One draw of a count with this rate; NaN if the rate is, or if it is above 1.8e19.
fn draw_poisson(rate: f64, rng: &mut ChainRng) -> f64 {
    if rate == 0.0 {
        return 0.0;
    }
    rand_distr::Poisson::new(rate).map_or(f64::NAN, |poisson| poisson.sample(rng))
}

/// Counts in one column, as the columns y and log y!.
fn encode_plain_counts(likelihood: &str, response: &Response) -> Result<Array2<f64>, Error> {
    match response {
        Response::Counts(counts) if counts.ncols() == 1 => {
            Ok(Array2::from_shape_fn((counts.nrows(), 2), |(i, j)| match j {
                0 => counts[(i, 0)],
                _ => ln_factorial(counts[(i, 0)]),
            }))
        }
        _ => Err(mismatch(likelihood, response, "counts in one column")),
    }
}

/// Writes e^f.
fn exp_of(out: Tile, mut to: TileMut) {
    to.values().copy_from_slice(out.values());
    exp_in_place(to.values());
}

/// Writes y - f.
fn subtract(y: Tile, f: Tile, mut d: TileMut) {
    for j in 0..f.columns() {
        for ((d, f), y) in d.column(j).iter_mut().zip(f.column(j)).zip(y.column(j)) {
            *d = y - f;
        }
    }
}

/// log(1 + e^x).
fn softplus(x: f64) -> f64 {
    x.max(0.0) + ln_1p(exp(-x.abs()))
}

/// 1 / (1 + e^-x).
fn sigmoid(x: f64) -> f64 {
    let e = exp(-x.abs());
    if x < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
}

/// softplus(-|x|), sigmoid(x) and sigmoid(-x), by one exponential.
fn logistic(x: f64) -> [f64; 3] {
    let e = exp(-x.abs());
    let (large, small) = (1.0 / (1.0 + e), e / (1.0 + e));
    let [above, below] = if x < 0.0 { [small, large] } else { [large, small] };
    [ln_1p(e), above, below]
}

/// log(1 - e^-x) for x >= 0.
fn ln_1m_exp(x: f64) -> f64 {
    if x < 0.7 { ln(-exp_m1(-x)) } else { ln_1p(-exp(-x)) }
}

/// x / (e^x - 1) for x >= 0.
fn over_exp_m1(x: f64) -> f64 {
    match exp_m1(x) {
        0.0 => 1.0,
        f64::INFINITY => 0.0,
        rise => x / rise,
    }
}

/// The range of the likelihood's own parameters whose logarithms are sampled: beyond it the density
/// is taken to be 0.
const ORDINARY: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

/// Checks that a value of such a parameter can be worked with.
fn ordinary(name: &str, value: f64) -> Result<f64, Error> {
    match ORDINARY.contains(&value) {
        true => Ok(value),
        false => Err(Error::argument(name, value, "from 1e-100 to 1e100")),
    }
}
