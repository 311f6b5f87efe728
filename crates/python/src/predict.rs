//! Predictions of new rows, a block of rows at a time.

use bnn_mcmc::Error;
use bnn_mcmc::fit::Fit;
use bnn_mcmc::ndarray::{Array1, Array2, ArrayView2, Axis, concatenate, s};
use bnn_mcmc::predict::Predictions;
use bnn_mcmc::sampler::StopHandle;

/// The numbers of a block's predictions: 256 MiB.
const BLOCK: usize = 1 << 25;

/// What is predicted of some rows, each `[row, output]`, in units of the response.
pub struct Predicted {
    pub mean: Array2<f64>,
    /// The standard deviation of new observations.
    pub sd: Option<Array2<f64>>,
    /// Lower and upper ends of the intervals of new observations.
    pub interval: Option<(Array2<f64>, Array2<f64>)>,
}

/// Predicts the rows of `x` in blocks, whose size follows from the draws alone, so that equal rows have equal
/// predictions on every machine. After `stop` the rest of the rows are left out.
pub fn predict(
    fit: &Fit,
    x: ArrayView2<f64>,
    with_sd: bool,
    level: Option<f64>,
    stop: &StopHandle,
) -> Result<Predicted, Error> {
    let draws = fit.draws().n_chains() * fit.draws().n_draws();
    // Means and predictive draws, also in the units before they are brought to those of the response.
    let per_row = draws * 4 * fit.data().response().width();
    let rows = (BLOCK / per_row.max(1)).max(1);
    let mut blocks = Vec::new();
    for first in (0..x.nrows().max(1)).step_by(rows) {
        let last = x.nrows().min(first + rows);
        blocks.push(predict_block(fit, x.slice(s![first..last, ..]), with_sd, level)?);
        if stop.is_stopped() {
            break;
        }
    }
    let join = |part: fn(&Predicted) -> Option<&Array2<f64>>| -> Option<Array2<f64>> {
        let parts: Option<Vec<_>> = blocks.iter().map(|block| Some(part(block)?.view())).collect();
        Some(concatenate(Axis(0), &parts?).expect("all blocks have the same columns"))
    };
    let low = join(|block| block.interval.as_ref().map(|interval| &interval.0));
    let high = join(|block| block.interval.as_ref().map(|interval| &interval.1));
    Ok(Predicted {
        mean: join(|block| Some(&block.mean)).expect("each block has means"),
        sd: join(|block| block.sd.as_ref()),
        interval: low.zip(high),
    })
}

fn predict_block(
    fit: &Fit,
    x: ArrayView2<f64>,
    with_sd: bool,
    level: Option<f64>,
) -> Result<Predicted, Error> {
    let predictions = fit.predict_new(x)?.predictions;
    let interval = level.map(|level| predictions.predictive_interval(level)).transpose()?;
    Ok(Predicted {
        mean: predictions.posterior_mean()?,
        sd: if with_sd { Some(sd(fit, x, &predictions)?) } else { None },
        interval: interval.map(|interval| (interval.lower, interval.upper)),
    })
}

/// The standard deviation of the mixture of all draws' predictive distributions, by the law of total
/// variance: var y = var_s E[y | x, q_s] + mean_s var[y | x, q_s], `[row, output]`.
fn sd(fit: &Fit, x: ArrayView2<f64>, predictions: &Predictions) -> Result<Array2<f64>, Error> {
    let scaled = fit.feature_scaler().transform(x)?;
    let noise = fit.posterior().predict_noise_sd(fit.draws(), scaled.view())?;
    let draws = noise.len_of(Axis(0)) * noise.len_of(Axis(1));
    let scales = fit.response_scaler().map(|s| s.columns().iter().map(|c| c.scale).collect());
    let scales: Array1<f64> = scales.unwrap_or_else(|| Array1::ones(1));
    let noise = noise.pow2().sum_axis(Axis(0)).sum_axis(Axis(0)) / draws as f64 * scales.pow2();
    let mean = predictions.posterior_mean()?;
    let apart = (&predictions.mean() - &mean).pow2().sum_axis(Axis(0)).sum_axis(Axis(0));
    Ok((apart / draws as f64 + noise).sqrt())
}
