//! The probability integral transform of rows that are left out.

use ndarray::{Array2, ArrayView3};

use super::super::per_draw::Observed;
use super::super::{Pit, calibration};
use super::THIN;
use super::rows_at_a_time;
use super::smoothing::Smoothing;
use crate::Error;
use crate::data::{Dataset, Response};
use crate::draws::Draws;
use crate::likelihood::Likelihood;
use crate::memory;
use crate::message::Advice;
use crate::model::Model;
use crate::posterior::Posterior;
use crate::rng::ChainRng;

/// The part of a chain's random stream that responses of rows left out are drawn from.
const LEFT_OUT: u64 = u64::from_le_bytes(*b"left out");

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// LOO-PIT: the [probability integral transform](Pit) of each training row under its predictive
    /// distribution given the others, of real responses and counts. It answers, without rows held
    /// back, whether the whole predictive distribution is right.
    ///
    /// With posterior predictive draws x_s ~ p(y_i | q_s), the [smoothed weights](super::Loo) w_s of
    /// row i and their mean w,
    ///
    /// ```text
    /// u = (sum_s w_s 1[x_s < y] + v (sum_s w_s 1[x_s = y] + w)) / (sum_s w_s + w),     v ~ U(0, 1)
    /// ```
    ///
    /// for each column of the response, which for equal weights is the u of
    /// [`Predictions::pit`](super::super::Predictions::pit). The PIT of training rows without
    /// weights is too often near 1/2, since each row has drawn the prediction towards itself.
    ///
    /// `data` are the training data, from which the response is read. x_s and v depend on `seed`,
    /// and not on the number of threads. The relative efficiency is computed for each row. The
    /// memory is the same as for [`loo`](Self::loo).
    ///
    /// # Errors
    /// Classes, data of another response than the training data's, and the errors of
    /// [`loo`](Self::loo).
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// let mut rng = ChainRng::new(1, 0);
    /// let x = ndarray::Array2::from_shape_simple_fn((200, 1), || rng.normal());
    /// let y = x.mapv(|x| 2.0 * x + 0.5 * rng.normal());
    /// let data = Dataset::regression(x, y)?;
    /// let priors = Priors::all(Normal::new(0.0, 5.0)?);
    /// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
    /// let draws = Sampler::new(&posterior, Nuts::default()).seed(1).run()?;
    /// let pit = posterior.loo_pit(&draws, &data, 1)?;
    /// assert!(pit.ks_distance() < 1.6 / 200f64.sqrt());
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn loo_pit(&self, draws: &Draws, data: &Dataset, seed: u64) -> Result<Pit, Error> {
        self.check_chains_of_own(draws)?;
        let observed = match data.response() {
            Response::Real(y) | Response::Counts(y) => y,
            Response::Classes { .. } => {
                return Err(Error::argument("response", "classes", "real numbers or counts"));
            }
            Response::Censored { .. } => {
                let found = "numbers with bounds";
                return Err(Error::argument("response", found, "real numbers or counts"));
            }
        };
        let (found, expected) = (data.response().checksum(), self.response_checksum());
        if Some(found) != expected {
            let shown = |checksum: Option<u32>| {
                checksum.map_or("unknown".into(), |c| format!("checksum {c:08x}"))
            };
            let expected = format!("{}, of the training data", shown(expected));
            return Err(Error::shape("response of the data", shown(Some(found)), expected));
        }
        let (chains, n) = (draws.n_chains(), draws.n_draws());
        let smoothing = Smoothing::new((chains, n), None)?;
        let (rows, columns) = observed.dim();
        let outputs = self.model().n_outputs();
        let numbers = self.likelihood().n_means(outputs) + 1 + columns;
        let block = rows_at_a_time(chains * n * numbers, self.model().tile_rows()).min(rows);
        let size = [(chains * n, "draws"), (block, "rows at a time"), (numbers, "numbers")];
        memory::check::<f64>("predictions", &size, "take fewer draws")
            .map_err(|error| error.advise([Advice::in_rust(THIN)]))?;
        let weights = self.weights().unwrap_or_default();
        let v = calibration::uniforms(seed, observed.len());
        let mut values = Vec::with_capacity(observed.len());
        for first in (0..rows).step_by(block) {
            let width = block.min(rows - first);
            let (x, y) = self.rows_in_tiles(first..first + width);
            let stream = |chain| ChainRng::new(seed, chain).child(LEFT_OUT).child(first as u64);
            let streams = draws.chain_numbers().map(|chain| stream(chain as u64)).collect();
            let walk = self.walk(draws.flat(), &x, Some(&Observed { y, streams, n_draws: n }));
            let log_lik = ArrayView3::from_shape((chains, n, width), &walk.log_density[..])
                .expect("one number was written for each draw and row");
            let pits = smoothing.map_rows(log_lik, first, &|scratch, row, log_lik| {
                let w = weights.get(first + row).copied().unwrap_or(1.0);
                scratch.row(&smoothing, w, log_lik);
                let cell = |column: usize| {
                    let at = (first + row) * columns + column;
                    let drawn = walk.drawn.values[row * columns + column..].iter();
                    let (drawn, y) =
                        (drawn.step_by(width * columns), observed[(first + row, column)]);
                    pit(scratch.psis.weights(), drawn, y, v[at]) //~ loo-pit-weights
                };
                (0..columns).map(cell).collect::<Vec<f64>>()
            })?;
            values.extend(pits.into_iter().flatten());
        }
        let values =
            Array2::from_shape_vec((rows, columns), values).expect("one value for each cell");
        Ok(Pit { values })
    }
}

/// u for an observed `y`.
fn pit<'a>(weights: &[f64], drawn: impl Iterator<Item = &'a f64>, y: f64, v: f64) -> f64 {
    let (mut all, mut below, mut equal) = (0.0, 0.0, 0.0);
    for (w, x) in weights.iter().zip(drawn) {
        if x.is_nan() {
            return f64::NAN;
        }
        all += w;
        below += if *x < y { *w } else { 0.0 };
        equal += if *x == y { *w } else { 0.0 };
    }
    let mean = all / weights.len() as f64;
    (below + v * (equal + mean)) / (all + mean)
}
