//! The noise of each row: the standard deviation of y given x and one draw.

use ndarray::{Array4, ArrayView2};

use super::per_draw::copy_rows;
use crate::Error;
use crate::draws::Draws;
use crate::engine::{TILE_ROWS, Tile, TileMut, Tiles};
use crate::likelihood::Likelihood;
use crate::model::Model;
use crate::posterior::{Posterior, PosteriorWorkspace};
use crate::threads;

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// The standard deviation of y given x and q, in units of the response, for inputs `x`
    /// `[rows x features]`: `[chain, draw, row, column]`.
    ///
    /// The noise alone, without the uncertainty about the mean function. It is the same for all
    /// rows under [`Gaussian`](crate::likelihood::Gaussian) noise, e^s(x) under
    /// [`HeteroscedasticGaussian`](crate::likelihood::HeteroscedasticGaussian) noise, and follows
    /// from the mean for counts. It is infinite where a Student-t distribution has no variance.
    ///
    /// # Errors
    /// Draws of another posterior, features that do not fit, an input that is not finite, a response
    /// of classes or of counts of categories.
    pub fn predict_noise_sd(
        &self,
        draws: &Draws,
        x: ArrayView2<f64>,
    ) -> Result<Array4<f64>, Error> {
        self.check_draws(draws)?;
        self.check_x(x)?;
        self.check_size((draws.n_chains(), draws.n_draws(), x.nrows()), 0)?;
        let columns = self.likelihood().n_means(self.model().n_outputs());
        let (q, x, per_draw) = (draws.flat(), self.tiles_of(x), x.nrows() * columns);
        let mut sd = vec![0.0; q.nrows() * per_draw];
        let scratch = || (self.workspace(), vec![0.0; TILE_ROWS * columns], vec![0.0; per_draw]);
        use crate::targets::Target;
        let mut all: Vec<_> = sd.chunks_exact_mut(per_draw.max(1)).map(|sd| (sd, false)).collect();
        threads::each_with(&mut all, &scratch, &|(ws, tile, mean), s, (sd, has_noise)| {
            let q = q.row(s);
            *has_noise = self.write_moments(q.to_slice().unwrap_or(&[]), &x, ws, tile, mean, sd);
        });
        if all.iter().any(|(_, has_noise)| !has_noise) {
            let found = "classes or counts of categories";
            return Err(Error::argument(
                "response of the posterior",
                found,
                "real numbers or counts in one column",
            ));
        }
        sd.iter_mut().for_each(|v| *v = v.sqrt());
        let shape = (draws.n_chains(), draws.n_draws(), x.rows(), columns);
        Ok(Array4::from_shape_vec(shape, sd).expect("a number for each draw, row and column"))
    }

    /// Writes E[y | x, q] of every row into `mean` and Var[y | x, q] into `variance`, both `[row,
    /// column]`, and returns whether there is such a variance, and room for it. `tile` is scratch
    /// memory for the columns of one tile.
    pub(super) fn write_moments(
        &self,
        q: &[f64],
        x: &Tiles,
        ws: &mut PosteriorWorkspace<M::Workspace>,
        tile: &mut [f64],
        mean: &mut [f64],
        variance: &mut [f64],
    ) -> bool {
        let likelihood = self.likelihood();
        let columns = likelihood.n_means(self.model().n_outputs());
        let (mut first, mut has_variance) = (0, !variance.is_empty());
        self.for_each_output(q, x.iter().map(|x| (x, ())), ws, |phi, out, ()| {
            let (tile, rows) = (&mut tile[..out.stride() * columns], out.rows());
            likelihood.mean(phi, out.as_tile(), TileMut::new(tile, rows));
            copy_rows(Tile::new(tile, rows), &mut mean[first * columns..]);
            has_variance =
                has_variance && likelihood.variance(phi, out.as_tile(), TileMut::new(tile, rows));
            if has_variance {
                copy_rows(Tile::new(tile, rows), &mut variance[first * columns..]);
            }
            first += rows;
        });
        has_variance
    }
}
