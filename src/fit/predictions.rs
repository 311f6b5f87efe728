//! Predictions of a fit, in units of the table.

use std::path::Path;

use ndarray::{Array2, Array4, ArrayView2, Axis, concatenate};
use rand::RngCore;

use super::{Fit, Plan, Predicted, imputed, range};
use crate::Error;
use crate::data::{Dataset, Features, Scaler, Schema};
use crate::draws::Draws;
use crate::likelihood::{Likelihood, NormalNoise};
use crate::predict::{Centre, Loo, Pit, Predictions, Scores, moments};
use crate::rng::ChainRng;

/// The numbers of predictions that are made at a time: 256 MiB.
const AT_A_TIME: usize = 1 << 25;

impl Fit {
    /// Predictions of rows with a known response, in the response's own units; the rows are in their
    /// own units, too. Of several completed tables the chains of the first come first, and the verdict on the predictions has no
    /// meaning, since chains of different tables should not agree.
    ///
    /// # Errors
    /// Features, responses or classes that differ from the training data's; predictions that do not
    /// fit into memory.
    pub fn predict(&self, rows: &Dataset) -> Result<Predictions, Error> {
        self.predict_seeded(rows, |seed| seed)
    }

    /// Predicts like [`predict`](Self::predict), with a seed for the posterior predictive draws that is made of the run's.
    pub(super) fn predict_seeded(
        &self,
        rows: &Dataset,
        seed: impl Fn(u64) -> u64,
    ) -> Result<Predictions, Error> {
        self.pooled(|table| table.predict_table(rows, seed(table.draws.info().seed)))
    }

    /// The predictions of all tables, which `of` makes of one.
    fn pooled(
        &self,
        of: impl Fn(&Self) -> Result<Predictions, Error>,
    ) -> Result<Predictions, Error> {
        match self.tables() {
            [one] => of(one),
            tables => Predictions::pooled(tables.iter().map(of).collect::<Result<_, _>>()?),
        }
    }

    fn predict_table(&self, rows: &Dataset, seed: u64) -> Result<Predictions, Error> {
        let Plan { features, response, posterior, .. } = &*self.plan;
        let scaled = features.scale_features(rows)?; //~ scaled-features
        let scaled = match response {
            None => scaled,
            Some(scaler) => scaler.scale_response(&scaled)?,
        };
        let parts = self.in_parts(rows.x().view(), seed, |draws, x, seed| match x {
            None => posterior.predict_seeded(draws, &scaled, seed),
            Some(x) => posterior.predict_seeded(draws, &scaled.clone().with_x(x)?, seed),
        })?;
        let predictions = Predictions::of_parts(parts, || posterior.trace(&self.draws))?;
        match response {
            None => Ok(predictions),
            Some(scaler) => predictions.unscaled_beside(scaler, rows.real()?),
        }
    }

    /// What is computed from the draws and from rows `x`. Of a completed table it is computed in parts of the draws, each with
    /// scaled features of its own, in which the missing cells were drawn anew, and with a seed of its own.
    pub(super) fn in_parts<T>(
        &self,
        x: ArrayView2<f64>,
        seed: u64,
        of: impl Fn(&Draws, Option<Array2<f64>>, u64) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let Some(completion) = imputed::completion(&self.plan, x)? else {
            return Ok(vec![of(&self.draws, None, seed)?]);
        };
        let n = self.draws.n_draws();
        // With a copy, when the parts are put together.
        let size = (self.draws.n_chains(), 2 * n, x.nrows());
        self.plan.posterior.check_size(size, 2)?;
        let parts = imputed::COMPLETIONS.min(n).max(1);
        let part = |k: usize| {
            let x = self.plan.features.transform(completion.draw(x, k as u64).view())?;
            let seed = match k {
                0 => seed,
                _ => ChainRng::new(seed, imputed::STREAM).child(k as u64).next_u64(), //~ seed-of-part
            };
            of(&self.draws.range(k * n / parts..(k + 1) * n / parts), Some(x), seed)
        };
        (0..parts).map(part).collect()
    }

    /// A number of each draw, row and column for new rows `x`, [in parts](Self::in_parts).
    pub(super) fn of_parts(
        &self,
        x: ArrayView2<f64>,
        of: impl Fn(&Draws, ArrayView2<f64>) -> Result<Array4<f64>, Error>,
    ) -> Result<Array4<f64>, Error> {
        let scaled = self.plan.features.transform(x)?;
        let of_part = |draws: &Draws, x: Option<Array2<f64>>, _| {
            of(draws, x.as_ref().unwrap_or(&scaled).view())
        };
        let parts = self.in_parts(x, 0, of_part)?;
        joined(Axis(1), parts)
    }

    /// The rows that are predicted at a time where they are many: as many as take 256 MiB for means and predictive draws, also before
    /// these are converted to the units of the response and before those of several tables are joined. The number follows from draws
    /// and columns alone, so that equal calls have equal answers on every machine.
    pub fn rows_at_a_time(&self) -> usize {
        let copies = if self.tables.is_empty() { 1 } else { 2 * self.tables.len() };
        let draws = copies * self.draws.n_chains() * self.draws.n_draws();
        (AT_A_TIME / (4 * draws * self.data().response().width()).max(1)).max(1)
    }

    /// Predictions of new rows `x` `[rows x features]`, whose columns are in the order of the training
    /// data's features and in their units.
    ///
    /// # Errors
    /// Another number of features, a number that is not finite, predictions that do not fit into
    /// memory.
    pub fn predict_new(&self, x: ArrayView2<f64>) -> Result<Predicted, Error> {
        let Plan { features, ranges, .. } = &*self.plan;
        let expected = features.scaler.columns().len();
        if x.ncols() != expected {
            let what = "number of features of the new rows";
            return Err(Error::shape(what, x.ncols(), expected));
        }
        let predictions = self.pooled(|table| table.predict_new_by_table(x))?;
        let outside = range::outside(x, ranges);
        let (dropped, stand_ins, unused) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Predicted { predictions, outside, dropped, stand_ins, unused })
    }

    fn predict_new_by_table(&self, x: ArrayView2<f64>) -> Result<Predictions, Error> {
        let Plan { features, response, posterior, .. } = &*self.plan;
        let scaled = features.transform(x)?;
        let seed = self.draws.info().seed;
        let parts = self.in_parts(x, seed, |draws, x, seed| {
            let x = x.as_ref().unwrap_or(&scaled);
            posterior.predict_new_seeded(draws, x.view(), seed)
        })?;
        let predictions = Predictions::of_parts(parts, || posterior.trace(&self.draws))?;
        match response {
            None => Ok(predictions),
            Some(scaler) => predictions.unscaled(scaler), //~ unscaled-predictions
        }
    }

    /// The standard deviation of y given x and each draw, the noise alone, in the units of the response,
    /// for new rows as of [`predict_new`](Self::predict_new): `[chain, draw, row, column]`. See
    /// [`Posterior::predict_noise_sd`](crate::posterior::Posterior::predict_noise_sd). After a [transform](super::Recipe::transform) it depends on the mean, and is infinite of
    /// noise that is not normal.
    ///
    /// # Errors
    /// The errors of [`predict_new`](Self::predict_new); a response of classes.
    pub fn predict_noise_sd(&self, x: ArrayView2<f64>) -> Result<Array4<f64>, Error> {
        let of_tables = self.tables().iter().map(|table| table.noise_sd_by_table(x));
        joined(Axis(0), of_tables.collect::<Result<_, _>>()?)
    }

    fn noise_sd_by_table(&self, x: ArrayView2<f64>) -> Result<Array4<f64>, Error> {
        let Plan { response, posterior, .. } = &*self.plan;
        let sd = self.of_parts(x, |draws, x| posterior.predict_noise_sd(draws, x))?;
        let Some(scaler) = response else { return Ok(sd) };
        let noise = posterior.likelihood().normal_noise();
        let has_moments = !matches!(noise, None | Some(NormalNoise::Mixture(_)));
        let mean = match scaler.is_affine() {
            true => sd.clone(),
            false if !has_moments => {
                return Ok(sd.mapv(|_| f64::INFINITY));
            }
            false => self.of_parts(x, |draws, x| posterior.predict_mean(draws, x))?,
        };
        Ok(moments(scaler, &mean, &sd.pow2(), 1).sqrt())
    }

    /// What point predictions are in the units of the response: means, or medians after a [transform](super::Recipe::transform) with
    /// noise that is not normal, see [`Predictions::unscaled`].
    pub fn centre(&self) -> Centre {
        let Plan { response, posterior, .. } = &*self.plan;
        let is_affine = response.as_ref().is_none_or(Scaler::is_affine);
        match posterior.likelihood().normal_noise() {
            None | Some(NormalNoise::Mixture(_)) if !is_affine => Centre::Median, //~ centre-of-fit
            _ => Centre::Mean,
        }
    }

    /// Predictions of the rows of a CSV file, in which the response's column may be missing. It is
    /// read as the training file was; columns that the training file does not have are not used.
    ///
    /// # Errors
    /// If the fit is not of a CSV file, or the file cannot be read; the errors of
    /// [`predict_new`](Self::predict_new).
    pub fn predict_csv(&self, path: impl AsRef<Path>) -> Result<Predicted, Error> {
        let new = self.schema_or_error()?.read_features_path(path)?;
        if new.names != self.plan.data.feature_names() {
            let allowed = format!("{:?}", self.plan.data.feature_names());
            return Err(Error::argument("features", format!("{:?}", new.names), allowed));
        }
        let predicted = self.predict_new(new.x.view())?;
        let Features { dropped, stand_ins, unused, .. } = new;
        Ok(Predicted { dropped, stand_ins, unused, ..predicted })
    }

    /// Reads another file with a known response as the training file was read: rows for
    /// [`scores`](Self::scores) and [`predict`](Self::predict). [`Schema::read_path`] of the [schema](Self::schema) also says which lines were left
    /// out, what stands in for missing values, and which labels training did not have.
    ///
    /// # Errors
    /// If the fit is not of a CSV file, or the file cannot be read.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Dataset, Error> {
        Ok(self.schema_or_error()?.read_path(path)?.dataset)
    }

    pub(super) fn schema_or_error(&self) -> Result<&Schema, Error> {
        self.plan.origin.schema.as_ref().ok_or_else(|| {
            let allowed = "of a file, to read other files in the same way";
            Error::argument("fit", "of a data set that was not read from a file", allowed)
        })
    }

    /// The scores of predictions of rows with a known response, in its own units.
    ///
    /// # Errors
    /// The errors of [`predict`](Self::predict).
    pub fn scores(&self, rows: &Dataset) -> Result<Scores, Error> {
        self.predict(rows)?.scores()
    }

    /// The leave-one-out predictive accuracy for each training row, without refits:
    /// [PSIS-LOO](Loo), in units of the response. Its warnings call rows as
    /// [`training_row_name`](Self::training_row_name) does. [`Loo::compare`] compares fits by it,
    /// and refuses, by the name that you give it, a fit of other rows or of another response:
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// # let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    /// # let data = Dataset::regression(x.clone(), x.mapv(|x| 100.0 * (2.0 * x).sin()))?;
    /// let recipe = Fit::regression("height").chains(2).warmup(100).draws(100);
    /// let line = recipe.clone().hidden(&[]).fit(&data)?;
    /// let network = recipe.hidden(&[4]).fit(&data)?;
    /// println!("{}", Loo::compare(&[("line", &line.loo()?), ("network", &network.loo()?)])?);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Posterior::loo`](crate::posterior::Posterior::loo); several completed tables.
    pub fn loo(&self) -> Result<Loo, Error> {
        let loo = self.of_one_table()?.plan.posterior.loo(&self.draws)?;
        let loo = match self.lines().is_some() || self.split().is_some() {
            true => {
                let rows = 0..self.training().rows();
                loo.with_row_names(rows.map(|row| self.training_row_name(row)).collect())
            }
            false => loo,
        };
        match &self.plan.response {
            None => Ok(loo),
            Some(scaler) => loo.unscaled(scaler, self.training()),
        }
    }

    /// The probability integral transform of each training response under its prediction from the other
    /// rows, without refits: [`Posterior::loo_pit`](crate::posterior::Posterior::loo_pit). Uniform if predictions are calibrated.
    ///
    /// # Errors
    /// Classes; several completed tables; else as [`Posterior::loo_pit`](crate::posterior::Posterior::loo_pit).
    pub fn loo_pit(&self, seed: u64) -> Result<Pit, Error> {
        let Plan { posterior, .. } = &*self.of_one_table()?.plan;
        posterior.loo_pit(&self.draws, &self.plan.train()?, seed) //~ loo-pit-rows
    }

    /// Writes the draws to a new Zarr folder with their predictions for the training rows, for
    /// ArviZ: the groups `posterior_predictive`, `log_likelihood`, `observed_data` and
    /// `constant_data` of [`Posterior::to_zarr`](crate::posterior::Posterior::to_zarr), in the units of the table. The response is called
    /// by its name, and log densities are of the response in its own units, as in
    /// [`loo`](Self::loo).
    ///
    /// The group `posterior` holds weights for standardised features and response, and
    /// `sample_stats` the log densities of these: [`Draws::from_zarr`] reads these groups. The
    /// folder is written beside its place and renamed when it is whole.
    ///
    /// ```no_run
    /// use bnn_mcmc::prelude::*;
    /// let fit = Fit::load("run")?;
    /// fit.to_zarr("for_arviz.zarr")?;
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// ```python
    /// # ArviZ 1 (checked: 1.3)
    /// import arviz
    /// tree = arviz.from_zarr("for_arviz.zarr")
    /// # ArviZ 0.23, whose own `from_zarr` refuses zarr-python 3
    /// import arviz, xarray
    /// tree = arviz.from_datatree(xarray.open_datatree("for_arviz.zarr", engine="zarr"))
    /// # Both
    /// arviz.loo(tree)  # the estimate of `Fit::loo`
    /// ```
    ///
    /// `draws.zarr` in the folder of a run has the groups `posterior` and `sample_stats` alone, for trace plots and
    /// R-hat: `arviz.loo` needs this folder, with the log likelihood of each row.
    ///
    /// # Errors
    /// If there is anything at `path`, or it cannot be written; predictions of all training rows by
    /// all draws that do not fit into memory; several completed tables.
    pub fn to_zarr(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let train = self.of_one_table()?.training();
        let predictions = self.predict(train)?; //~ written-predictions
        self.plan.posterior.write_zarr(&self.draws, train, &predictions, path.as_ref())
    }
}

/// Numbers of each draw by several runs along the axis of chains, 0, or of draws, 1.
fn joined(axis: Axis, mut each: Vec<Array4<f64>>) -> Result<Array4<f64>, Error> {
    if let [_] = each[..] {
        return Ok(each.swap_remove(0));
    }
    let views: Vec<_> = each.iter().map(|one| one.view()).collect();
    let all = concatenate(axis, &views);
    let all = all.map_err(|e| Error::argument("draws", e, "of one shape"))?;
    Ok(all.as_standard_layout().into_owned())
}
