//! Predictions: what the draws say about given inputs, and how good it is.
//!
//! A prediction is an average over posterior draws. For draw s and input x, f(x; q_s) gives an
//! expected response E[y | x, q_s] and, where a response y was observed, a density p(y | x, q_s):
//!
//! ```text
//! posterior mean prediction    E[y | x] = mean_s E[y | x, q_s]
//! log predictive density       log mean_s p(y | x, q_s)
//! ```
//!
//! Draws of functions can be compared between chains where weights cannot (hidden units may be
//! permuted): the [verdict](crate::diagnostics::Verdict) on a run is passed on them.

mod scores;

pub use scores::{Score, Scores};

use std::io::Write;
use std::path::Path;

use ndarray::{Array1, Array3, Array4, ArrayView2, ArrayView3, ArrayView4, Axis};
use rayon::prelude::*;

use crate::Error;
use crate::data::{Dataset, Response};
use crate::diagnostics::{Judge, Verdict};
use crate::draws::Draws;
use crate::likelihood::Likelihood;
use crate::model::Model;
use crate::target::posterior::check_inputs;
use crate::target::{Posterior, Target};
use crate::tile::{TILE_ROWS, Tile, TileMut, Tiles};

/// Predictions for the rows of a data set whose response is known. From [`Posterior::predict`].
#[derive(Clone, Debug)]
pub struct Predictions {
    /// E[y | x, q], `[chain, draw, row, column]`.
    mean: Array4<f64>,
    /// log p(y | x, q), `[chain, draw, row]`.
    log_density: Array3<f64>,
    observed: Response,
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Predicts the rows of `data`, and scores them with its response, for every draw.
    ///
    /// Memory: draws x rows x (columns + 1) numbers; [`Draws::thinned`] helps with long runs.
    ///
    /// Errors: draws of another posterior, features or a response that do not fit.
    pub fn predict(&self, draws: &Draws, data: &Dataset) -> Result<Predictions, Error> {
        let y = self.likelihood().encode(data.response(), self.model().n_outputs())?;
        let (y, rows) = (Tiles::new(y.view()), data.rows());
        let (mean, log_density) = self.walk_draws(draws, data.x().view(), Some(&y))?;
        let shape = (draws.n_chains(), draws.n_draws(), rows);
        let log_density = Array3::from_shape_vec(shape, log_density)
            .expect("one number was written for each draw and row");
        Ok(Predictions { mean, log_density, observed: data.response().clone() })
    }

    /// E[y | x, q] for inputs `x` `[rows x features]`: `[chain, draw, row, column]`.
    ///
    /// Columns are response columns, class probabilities (one column for two classes: that of the
    /// second), or expected proportions.
    pub fn predict_mean(&self, draws: &Draws, x: ArrayView2<f64>) -> Result<Array4<f64>, Error> {
        Ok(self.walk_draws(draws, x, None)?.0)
    }

    /// Means, and log densities of `y` if it is given, for all draws in order.
    fn walk_draws(
        &self,
        draws: &Draws,
        x: ArrayView2<f64>,
        y: Option<&Tiles>,
    ) -> Result<(Array4<f64>, Vec<f64>), Error> {
        if draws.layout() != self.layout() {
            return Err(Error::shape(
                "parameters of the draws",
                draws.layout().block_names().join(", "),
                self.layout().block_names().join(", "),
            ));
        }
        check_inputs(self.model(), x.ncols())?;
        let (likelihood, rows) = (self.likelihood(), x.nrows());
        let columns = likelihood.n_means(self.model().n_outputs());
        let x = Tiles::new(x);
        let n = draws.n_chains() * draws.n_draws();
        let mut means = vec![0.0; n * rows * columns];
        let mut densities = vec![0.0; if y.is_some() { n * rows } else { 0 }];
        let flat = draws.flat();
        let per_draw =
            |q: &[f64], means: &mut [f64], densities: &mut [f64], scratch: &mut Scratch<M>| {
                let mut first = 0;
                let mut y_tiles = y.map(Tiles::iter);
                self.for_each_output(q, &x, &mut scratch.ws, |phi, out| {
                    let rows = out.rows();
                    let mean = &mut scratch.mean[..out.stride() * columns];
                    likelihood.mean(phi, out.as_tile(), TileMut::new(mean, rows));
                    let mean = Tile::new(mean, rows);
                    for j in 0..columns {
                        for (i, m) in mean.column(j).iter().enumerate() {
                            means[(first + i) * columns + j] = *m;
                        }
                    }
                    if let Some(y) = y_tiles.as_mut().and_then(Iterator::next) {
                        likelihood.log_lik_rows(phi, out, y, &mut densities[first..first + rows]);
                    }
                    first += rows;
                });
            };
        let scratch =
            || Scratch::<M> { ws: self.workspace(), mean: vec![0.0; TILE_ROWS * columns] };
        if rows > 0 && columns > 0 {
            let work = means.par_chunks_mut(rows * columns).enumerate();
            if y.is_some() {
                work.zip(densities.par_chunks_mut(rows)).for_each_init(
                    scratch,
                    |scratch, ((s, means), densities)| {
                        let q = flat.row(s);
                        per_draw(q.to_slice().unwrap_or(&[]), means, densities, scratch);
                    },
                );
            } else {
                work.for_each_init(scratch, |scratch, (s, means)| {
                    per_draw(flat.row(s).to_slice().unwrap_or(&[]), means, &mut [], scratch);
                });
            }
        }
        let shape = (draws.n_chains(), draws.n_draws(), rows, columns);
        let means = Array4::from_shape_vec(shape, means)
            .expect("one number was written for each draw, row and column");
        Ok((means, densities))
    }
}

/// Scratch memory of one thread.
struct Scratch<M: Model> {
    ws: crate::target::PosteriorWorkspace<M::Workspace>,
    mean: Vec<f64>,
}

impl Predictions {
    /// E[y | x, q], `[chain, draw, row, column]`.
    pub fn mean(&self) -> ArrayView4<'_, f64> {
        self.mean.view()
    }

    /// log p(y | x, q), `[chain, draw, row]`.
    pub fn log_density(&self) -> ArrayView3<'_, f64> {
        self.log_density.view()
    }

    /// The observed response.
    pub fn observed(&self) -> &Response {
        &self.observed
    }

    /// [`mean`](Self::mean) as quantities to diagnose, `[chain, draw, row * column]`.
    pub fn quantities(&self) -> ArrayView3<'_, f64> {
        let (chains, draws, rows, columns) = self.mean.dim();
        self.mean
            .view()
            .into_shape_with_order((chains, draws, rows * columns))
            .expect("predictions are stored in standard order")
    }

    /// The verdict on the run that these predictions were made from: on the predictions, on the
    /// log likelihood and on the log prior. `draws` are those the predictions were made from.
    pub fn verdict(&self, draws: &Draws) -> Result<Verdict, Error> {
        Judge::new()
            .quantities("predictions", self.quantities())
            .quantity("log likelihood", draws.stat("log_likelihood")?)
            .quantity("log prior", draws.stat("log_prior")?)
            .judge()
    }

    /// RMSE, MAE or accuracy, and the log predictive density. An error if there are no draws.
    pub fn scores(&self) -> Result<Scores, Error> {
        scores::scores(self)
    }

    /// One line per row and column: `row, column, observed, mean, sd, q05, q50, q95` over draws.
    ///
    /// For classes, `column` is the class, and `observed` is 1 where it was the one observed.
    pub fn to_csv(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let file = std::fs::File::create(path).map_err(|e| Error::io(path, e))?;
        self.write_csv(std::io::BufWriter::new(file)).map_err(|e| Error::io(path, e))
    }

    /// As [`to_csv`](Self::to_csv), to any writer.
    pub fn write_csv(&self, writer: impl Write) -> std::io::Result<()> {
        let mut csv = csv::Writer::from_writer(writer);
        csv.write_record(["row", "column", "observed", "mean", "sd", "q05", "q50", "q95"])?;
        let names = self.column_names();
        let observed = self.observed_columns();
        let (_, _, rows, columns) = self.mean.dim();
        for i in 0..rows {
            for j in 0..columns {
                let at = self.mean.index_axis(Axis(3), j);
                let values: Array1<f64> = at.index_axis(Axis(2), i).iter().copied().collect();
                let mut sorted = values.to_vec();
                sorted.sort_by(f64::total_cmp);
                let mut record = vec![i.to_string(), names[j].clone()];
                record.push(observed[(i, j)].to_string());
                record.push(values.mean().unwrap_or(f64::NAN).to_string());
                record.push(values.std(1.0).to_string());
                record.extend([0.05, 0.5, 0.95].map(|p| quantile(&sorted, p).to_string()));
                csv.write_record(&record)?;
            }
        }
        csv.flush()
    }

    fn column_names(&self) -> Vec<String> {
        let columns = self.mean.dim().3;
        match &self.observed {
            Response::Classes { names, .. } if columns == 1 => vec![names[1].clone()],
            Response::Classes { names, .. } => names.clone(),
            _ => (0..columns).map(|j| j.to_string()).collect(),
        }
    }

    /// What was observed, on the scale of the means.
    fn observed_columns(&self) -> ndarray::Array2<f64> {
        let (_, _, rows, columns) = self.mean.dim();
        let indicator = |hit: bool| f64::from(u8::from(hit));
        ndarray::Array2::from_shape_fn((rows, columns), |(i, j)| match &self.observed {
            Response::Real(y) => y[(i, j)],
            Response::Classes { index, .. } if columns == 1 => index[i] as f64,
            Response::Classes { index, .. } => indicator(index[i] == j),
            Response::Counts(counts) => counts[(i, j)] / counts.row(i).sum(),
        })
    }
}

/// The quantile of sorted values by linear interpolation of order statistics (type 7 of Hyndman
/// and Fan, 1996).
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = p * last as f64;
    let (low, part) = (position.floor() as usize, position.fract());
    let high = (low + 1).min(last);
    sorted[low] + part * (sorted[high] - sorted[low])
}
