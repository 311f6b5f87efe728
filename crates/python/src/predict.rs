//! Predictions of new rows, a block of rows at a time.

use bnn_mcmc::Error;
use bnn_mcmc::data::Dataset;
use bnn_mcmc::fit::Fit;
use bnn_mcmc::ndarray::{Array2, Array3, ArrayView2, Axis, s};
use bnn_mcmc::sampler::StopHandle;

/// The predictions for the rows of `x`, arrays `[row, output]` in units of the response: the means;
/// the standard deviation of new observations, if asked for; if a level is given, the lower and the
/// upper ends of their intervals.
///
/// After `stop` the rest of the rows are left out.
pub fn predict(
    fit: &Fit,
    x: ArrayView2<f64>,
    with_sd: bool,
    level: Option<f64>,
    stop: &StopHandle,
) -> Result<Vec<Array2<f64>>, Error> {
    in_blocks(fit, x, stop, |block| predict_block(fit, block, with_sd, level))
}

/// The lower and upper ends of conformal intervals, or one array that says whether a set holds a class, 1 or 0, for the rows
/// of `x`: calibrated on `rows` with a response, or by the training rows.
pub fn conformal(
    fit: &Fit,
    x: ArrayView2<f64>,
    rows: Option<&Dataset>,
    level: f64,
    stop: &StopHandle,
) -> Result<Vec<Array2<f64>>, Error> {
    let conformal = match rows {
        Some(rows) => fit.conformal_on(rows, level)?,
        None => fit.conformal(level)?,
    };
    let of_classes = fit.data().response().classes().is_some();
    in_blocks(fit, x, stop, |block| {
        let new = fit.predict_new(block)?.predictions;
        if of_classes {
            let sets = conformal.sets(&new)?;
            return Ok(vec![sets.contains.mapv(|holds| f64::from(u8::from(holds)))]);
        }
        let interval = conformal.interval(&new)?;
        Ok(vec![interval.lower, interval.upper])
    })
}

/// The arrays of `x`, which `of_block` makes of some rows at a time.
fn in_blocks(
    fit: &Fit,
    x: ArrayView2<f64>,
    stop: &StopHandle,
    of_block: impl Fn(ArrayView2<f64>) -> Result<Vec<Array2<f64>>, Error>,
) -> Result<Vec<Array2<f64>>, Error> {
    let rows = fit.rows_at_a_time();
    let mut predicted = of_block(x.slice(s![..rows.min(x.nrows()), ..]))?;
    for first in (rows..x.nrows()).step_by(rows) {
        if stop.is_stopped() {
            break;
        }
        let block = x.slice(s![first..x.nrows().min(first + rows), ..]);
        let block = of_block(block)?;
        for (whole, rows) in predicted.iter_mut().zip(&block) {
            whole.append(Axis(0), rows.view()).expect("all blocks have the same columns");
        }
    }
    Ok(predicted)
}

/// Quantiles of new observations, one array `[row, output]` for each probability.
pub fn quantiles(
    fit: &Fit,
    x: ArrayView2<f64>,
    probabilities: &[f64],
    stop: &StopHandle,
) -> Result<Vec<Array2<f64>>, Error> {
    in_blocks(fit, x, stop, |block| {
        let quantiles = fit.predict_new(block)?.predictions.predictive_quantiles(probabilities)?;
        Ok(quantiles.axis_iter(Axis(2)).map(|quantile| quantile.to_owned()).collect())
    })
}

/// The uncertainty in two parts: total, of the mean, noise.
pub fn decompose(
    fit: &Fit,
    x: ArrayView2<f64>,
    stop: &StopHandle,
) -> Result<Vec<Array2<f64>>, Error> {
    in_blocks(fit, x, stop, |block| {
        let parts = fit.decompose_predictions(block, &fit.predict_new(block)?.predictions)?;
        Ok(vec![parts.total, parts.of_mean, parts.noise])
    })
}

/// The mean function, or a new observation, by each draw of all chains: `[draw, row, output]`.
pub fn draws(fit: &Fit, x: ArrayView2<f64>, of_mean: bool) -> Result<Array3<f64>, Error> {
    let predictions = fit.predict_new(x)?.predictions;
    let draws = if of_mean { predictions.mean() } else { predictions.predictive_draws() };
    let (chains, n, rows, outputs) = draws.dim();
    let flat = draws.to_owned().into_shape_with_order((chains * n, rows, outputs));
    Ok(flat.expect("predictions are in standard order"))
}

fn predict_block(
    fit: &Fit,
    x: ArrayView2<f64>,
    with_sd: bool,
    level: Option<f64>,
) -> Result<Vec<Array2<f64>>, Error> {
    let predictions = fit.predict_new(x)?.predictions;
    let mut arrays = vec![predictions.posterior_mean()?];
    if with_sd {
        arrays.push(fit.decompose_predictions(x, &predictions)?.total.sqrt());
    }
    if let Some(level) = level {
        let interval = predictions.predictive_interval(level)?;
        arrays.extend([interval.lower, interval.upper]);
    }
    Ok(arrays)
}

/// The predictive medians of times, one column; if a level is given, also the ends of intervals of the median.
pub fn medians(
    fit: &Fit,
    x: ArrayView2<f64>,
    level: Option<f64>,
) -> Result<Vec<Array2<f64>>, Error> {
    let predictions = fit.predict_new(x)?.predictions;
    let survival = predictions.survival()?;
    let mut arrays = vec![survival.predictive_medians().insert_axis(Axis(1))];
    if let Some(level) = level {
        let interval = survival.interval(survival.medians().view(), level)?;
        arrays.extend([interval.lower, interval.upper]);
    }
    Ok(arrays)
}

/// The predictive probabilities to exceed `times`, `[row, time]`; if a level is given, also the ends of their intervals.
pub fn survival(
    fit: &Fit,
    x: ArrayView2<f64>,
    times: &[f64],
    level: Option<f64>,
) -> Result<Vec<Array2<f64>>, Error> {
    let predictions = fit.predict_new(x)?.predictions;
    let survival = predictions.survival()?;
    let mut arrays =
        vec![Array2::zeros((x.nrows(), times.len())); if level.is_some() { 3 } else { 1 }];
    for (k, time) in times.iter().enumerate() {
        if time.is_nan() {
            return Err(Error::argument("times", time, "numbers"));
        }
        arrays[0].column_mut(k).assign(&survival.predictive(*time));
        if let Some(level) = level {
            let interval = survival.interval(survival.at(*time).view(), level)?;
            arrays[1].column_mut(k).assign(&interval.lower.column(0));
            arrays[2].column_mut(k).assign(&interval.upper.column(0));
        }
    }
    Ok(arrays)
}
