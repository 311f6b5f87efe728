//! What Monte Carlo error leaves open of predictions.

use ndarray::{Array2, ArrayView3, Axis};

use super::Predictions;
use super::predictions::as_quantities;
use crate::Error;
use crate::data::Response;
use crate::diagnostics::{MonteCarloError, SETTLED_SHARE, mcse_mean, quantile};
use crate::threads;

impl Predictions {
    /// What Monte Carlo error leaves open of these predictions, by the differences within chains and between them. With p_is the
    /// density of the response of row i by draw s, n rows and p_i the mean of p_is over all draws,
    ///
    /// ```text
    /// g_s     = (1/n) sum_i (p_is / p_i - 1),      se = mcse(g),      loss = (1/2n) sum_i (mcse(p_i.) / p_i)^2
    /// error of the mean log density   = sqrt(se^2 + loss^2)
    /// error of the mean of a cell     = max(mcse(m), mcse((m - mean m)^2) / (2 sd)) / sd
    /// ```
    ///
    /// mcse is the Monte Carlo standard error of a mean over draws ([`mcse_mean`]), m the expected response by each draw and sd the
    /// predictive standard deviation: of predictive draws, and of a class with probability p sqrt(p (1 - p)). By the delta method
    /// log p_i is off by the mean over draws of p_is / p_i - 1, and on average too small by half its variance: that is the
    /// expected loss of a density that is averaged over so few draws. The second error of a cell is the one of the standard
    /// deviation by what is not known of the mean.
    ///
    /// Rows count by their weights. Quantiles of predictive draws have the error of their number beside it: with 400 of them the
    /// ends of a 90 % interval are off by a tenth of a standard deviation.
    ///
    /// # Errors
    /// If there are no draws, or no response was observed.
    pub fn monte_carlo_error(&self) -> Result<MonteCarloError, Error> {
        self.draws_of_mean()?;
        let (_, densities) = self.known()?;
        let sd = self.predictive_sds();
        let means = self.quantities();
        let mut of_cells = threads::map(means.len_of(Axis(2)), &|cell| {
            let draws = means.index_axis(Axis(2), cell);
            // Nothing is left open of what never changes.
            if draws.iter().all(|draw| Some(draw) == draws.first()) {
                return 0.0;
            }
            let centre = draws.mean().unwrap_or(f64::NAN);
            let spread = mcse_mean(draws.mapv(|m| (m - centre).powi(2)).view());
            (mcse_mean(draws) / sd[cell]).max(spread / (2.0 * sd[cell] * sd[cell]))
        });
        of_cells.sort_unstable_by(f64::total_cmp);
        let weights = self.weights.as_ref();
        let log_density = of_log_densities(densities, &|row| weights.map_or(1.0, |w| w[row]));
        Ok(MonteCarloError { log_density, mean: quantile(&of_cells, SETTLED_SHARE) })
    }

    /// The predictive standard deviation of each row and column.
    fn predictive_sds(&self) -> Vec<f64> {
        let (means, drawn) = (self.quantities(), as_quantities(self.drawn.view()));
        let has_draws = match &self.response {
            Response::Real(_) | Response::Censored { .. } => true,
            Response::Counts(y) => y.ncols() == 1,
            Response::Classes { .. } => false,
        };
        threads::map(means.len_of(Axis(2)), &|cell| match has_draws {
            true => drawn.index_axis(Axis(2), cell).std(1.0),
            false => {
                let p = means.index_axis(Axis(2), cell).mean().unwrap_or(f64::NAN);
                (p * (1.0 - p)).sqrt()
            }
        })
    }
}

/// The error of the mean of log densities `[chain, draw, row]`.
fn of_log_densities(densities: ArrayView3<f64>, weight: &(dyn Fn(usize) -> f64 + Sync)) -> f64 {
    let (chains, draws, rows) = densities.dim();
    // p_is / p_i, and its Monte Carlo variance.
    let relative = threads::map(rows, &|row| {
        let of_row = densities.index_axis(Axis(2), row);
        let largest = of_row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut p = of_row.mapv(|density| (density - largest).exp());
        p /= p.mean().unwrap_or(f64::NAN);
        let is_constant = p.iter().all(|value| Some(value) == p.first());
        let error = if is_constant { 0.0 } else { mcse_mean(p.view()) };
        (p, error * error)
    });
    let total: f64 = (0..rows).map(weight).sum();
    let (mut g, mut loss) = (Array2::zeros((chains, draws)), 0.0);
    for (row, (p, variance)) in relative.iter().enumerate() {
        g.scaled_add(weight(row) / total, p);
        loss += 0.5 * weight(row) / total * variance;
    }
    let is_constant = g.iter().all(|value| Some(value) == g.first());
    let error = if is_constant { 0.0 } else { mcse_mean(g.view()) };
    error.hypot(loss)
}
