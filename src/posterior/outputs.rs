//! The model's outputs for all rows, and the log likelihood as a function of them.

use super::observed::weighted_sum;
use super::{Observed, Posterior, PosteriorWorkspace};
use crate::Error;
use crate::engine::{TILE_ROWS, Tile, TileMut, padded};
use crate::likelihood::Likelihood;
use crate::model::Model;

/// With N rows and K outputs f_i = f(x_i; w) of each, the log likelihood depends on the weights
/// through the outputs alone:
///
/// ```text
/// ell(q) = ell(f, phi) = sum_i w_i log p(y_i | f_i, phi)
/// ```
///
/// Arrays of outputs are `[row, output]`, one row after the other: N x K numbers.
impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Writes the model's outputs f for all rows of the data into `f`, N x K numbers.
    ///
    /// With [`log_likelihood_of_outputs`](Self::log_likelihood_of_outputs) and its gradient, an
    /// emulator of a model's outputs works for every likelihood.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// # let x = ndarray::array![[0.0], [1.0], [2.0]];
    /// # let data = Dataset::regression(x, ndarray::array![1.0, 3.0, 4.5])?;
    /// let priors = Priors::all(Normal::new(0.0, 1.0)?);
    /// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
    /// let (q, mut ws) = ([2.0, 1.0], posterior.workspace());
    /// let [mut f, mut d_f] = [[0.0; 3]; 2];
    /// posterior.write_outputs(&q, &mut f, &mut ws)?;
    /// assert_eq!(f, [1.0, 3.0, 5.0]); // x = 0, 1, 2
    /// let ell = posterior.log_likelihood_of_outputs(&q, &f, &mut ws)?;
    /// assert_eq!(ell, posterior.log_density(&q, &mut ws).likelihood);
    /// posterior.add_grad_of_outputs(1.0, &q, &f, &mut d_f, &mut [0.0; 2], &mut ws)?;
    /// assert_eq!(d_f, [0.0, 0.0, -2.0]); // (y - f) / 0.5^2
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// A `q` or an `f` of the wrong length.
    pub fn write_outputs(
        &self,
        q: &[f64],
        f: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> Result<(), Error> {
        self.check_lengths(q, f.len())?;
        let mut rest = f;
        self.for_each_output(q, self.tiles(), ws, |_, out, _| {
            copy_rows(out.as_tile(), take_rows(&mut rest, out.as_tile()));
        });
        Ok(())
    }

    /// ell(f, phi) for the outputs `f`, N x K numbers, with phi of `q`, whose weights do not enter.
    /// Does not allocate.
    ///
    /// # Errors
    /// A `q` or an `f` of the wrong length.
    pub fn log_likelihood_of_outputs(
        &self,
        q: &[f64],
        f: &[f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> Result<f64, Error> {
        self.check_lengths(q, f.len())?;
        let (_, phi) = self.split(q);
        let (mut sum, mut of_rows, mut rest) = (0.0, [0.0; TILE_ROWS], f);
        for y in self.y.iter() {
            let Observed { y, weights } = self.observed(y);
            let out = self.tile_of(&mut rest, y.rows(), &mut ws.out);
            let of_rows = &mut of_rows[..y.rows()];
            self.likelihood.log_lik_rows(phi, out, y, of_rows);
            sum += weighted_sum(of_rows, weights);
        }
        Ok(sum)
    }

    /// Returns [the same](Self::log_likelihood_of_outputs), writes its derivative with respect to
    /// the outputs into `d_f`, N x K numbers, and adds `factor` times its derivative with respect
    /// to phi to `grad`, which is as long as `q`. Does not allocate.
    ///
    /// # Errors
    /// Slices of the wrong length.
    pub fn add_grad_of_outputs(
        &self,
        factor: f64,
        q: &[f64],
        f: &[f64],
        d_f: &mut [f64],
        grad: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> Result<f64, Error> {
        self.check_lengths(q, f.len())?;
        self.check_lengths(grad, d_f.len())?;
        let (_, phi) = self.split(q);
        let (mut sum, mut rest, mut d_rest) = (0.0, f, d_f);
        let PosteriorWorkspace { out, d_out, grad_phi, .. } = ws;
        grad_phi.fill(0.0);
        for y in self.y.iter() {
            let Observed { y, weights } = self.observed(y);
            let out = self.tile_of(&mut rest, y.rows(), out);
            let mut d_out = TileMut::new(&mut d_out[..out.as_tile().values().len()], y.rows());
            let (f, d) = (out.as_tile(), d_out.reborrow());
            sum += self.likelihood.log_lik_grad(phi, f, y, weights, d, grad_phi);
            copy_rows(d_out.as_tile(), take_rows(&mut d_rest, d_out.as_tile()));
        }
        let grad = grad[self.n_weights..].iter_mut();
        grad.zip(&*grad_phi).for_each(|(g, phi)| *g += factor * phi); //~ outputs-noise-gradient
        Ok(sum)
    }

    fn check_lengths(&self, q: &[f64], outputs: usize) -> Result<(), Error> {
        let size = self.n_obs() * self.model.n_outputs();
        if q.len() != self.layout.dim() {
            return Err(Error::shape("length of q", q.len(), self.layout.dim()));
        }
        if outputs != size {
            return Err(Error::shape("number of outputs of all rows", outputs, size));
        }
        Ok(())
    }

    /// The next `rows` of the outputs `f` as a tile in `storage`.
    fn tile_of<'a>(&self, f: &mut &[f64], rows: usize, storage: &'a mut [f64]) -> TileMut<'a> {
        let columns = self.model.n_outputs();
        let (now, rest) = f.split_at(rows * columns);
        *f = rest;
        let mut tile = TileMut::new(&mut storage[..padded(rows) * columns], rows);
        for k in 0..columns {
            let from = now.iter().skip(k).step_by(columns);
            tile.column(k).iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        }
        tile
    }
}

/// Takes as many numbers as the tile has off the front of `f`.
fn take_rows<'a>(f: &mut &'a mut [f64], tile: Tile) -> &'a mut [f64] {
    f.split_off_mut(..tile.rows() * tile.columns()).expect("lengths were checked")
}

/// Writes a tile row by row.
fn copy_rows(tile: Tile, to: &mut [f64]) {
    for k in 0..tile.columns() {
        let to = to.iter_mut().skip(k).step_by(tile.columns());
        to.zip(tile.column(k)).for_each(|(to, from)| *to = *from);
    }
}
