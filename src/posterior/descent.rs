//! Gradient descent on the training error, from which Langevin-gradient proposals start.

use std::iter::once;

use ndarray::{Array2, s};

use super::{Observed, Posterior, PosteriorWorkspace};
use crate::Error;
use crate::engine::{LentTiles, Tile, TileMut, TileStorage, Tiles, padded};
use crate::likelihood::Likelihood;
use crate::message::Advice;
use crate::model::Model;
use crate::targets::{Descent, DescentRule, Objective, Pass};

/// Scratch memory of gradient descent, allocated at its first use.
#[derive(Debug)]
pub(super) struct DescentScratch {
    direction: Vec<f64>,
    /// The gradient of the log prior; zero where it is not part of the objective.
    prior: Vec<f64>,
    /// One row of inputs and of the response, as tiles.
    x: TileStorage,
    y: TileStorage,
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Adds the descent direction of `tiles`, pairs of x and y (minus the objective's gradient, without
    /// the prior's), to `grad`.
    fn add_direction<'a>(
        &self,
        objective: Objective,
        tiles: impl LentTiles<'a, Observed<'a>>,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) {
        match objective {
            Objective::SquaredError => {
                let (w, _) = self.split(q);
                let grad_w = &mut grad[..self.n_weights];
                self.propagate(tiles, w, grad_w, ws, |f, Observed { y, weights }, mut d_out| {
                    self.likelihood.residuals(f, y, d_out.reborrow());
                    for j in 0..d_out.columns() {
                        let rows = d_out.column(j).iter_mut().zip(weights);
                        rows.for_each(|(d, w)| *d *= w); //~ weighted-descent
                    }
                });
            }
            Objective::LogPosterior => {
                self.add_log_lik_grad(1.0, tiles, q, grad, ws);
            }
        }
    }

    /// The responses that [`residuals`](Likelihood::residuals) are taken from `[rows x outputs]`;
    /// made once.
    fn responses(&self) -> &Tiles {
        self.responses.get_or_init(|| {
            let outputs = self.model.n_outputs();
            let mut responses = Array2::zeros((self.x.rows(), outputs));
            let mut first = 0;
            for y in self.y.iter().map(|y| self.observed(y).y) {
                let zeros = vec![0.0; y.stride() * outputs];
                let mut of_tile = zeros.clone();
                let tile = TileMut::new(&mut of_tile, y.rows());
                self.likelihood.residuals(Tile::new(&zeros, y.rows()), y, tile);
                let rows = first..first + y.rows();
                responses.slice_mut(s![rows, ..]).assign(&Tile::new(&of_tile, y.rows()).view());
                first += y.rows();
            }
            Tiles::with_rows(responses.view(), self.model.tile_rows())
        })
    }

    /// Moves the weights of `q` along `direction`, plus `share` of the prior's gradient if that
    /// belongs to the objective. `prior` is scratch.
    fn descent_step(
        &self,
        rule: &DescentRule,
        share: f64,
        q: &mut [f64],
        direction: &[f64],
        prior: &mut [f64],
    ) {
        if rule.objective == Objective::LogPosterior {
            self.prior_grad(q, prior);
        }
        let steps = direction.iter().zip(prior).take(self.n_weights);
        for (q, (g, prior)) in q.iter_mut().zip(steps) {
            *q += rule.learning_rate * (g + share * *prior);
        }
    }
}

impl<M: Model, L: Likelihood> Descent for Posterior<M, L> {
    fn check_descent(&self, rule: &DescentRule) -> Result<(), Error> {
        let zeros = vec![0.0; padded(1) * self.model.n_outputs().max(self.y_columns())];
        let mut d_out = zeros.clone();
        let tile = |columns: usize| Tile::new(&zeros[..padded(1) * columns], 1);
        let outputs = self.model.n_outputs();
        let d_out = TileMut::new(&mut d_out[..padded(1) * outputs], 1);
        let is_real = self.likelihood.residuals(tile(outputs), tile(self.y_columns()), d_out);
        if rule.objective == Objective::SquaredError && !is_real {
            let allowed =
                "LogPosterior: the squared error needs a real response whose means are the outputs";
            return Err(Error::argument("objective", "SquaredError", allowed));
        }
        match rule.pass {
            Pass::PerRow => self.check_unweighted("descents row by row").map_err(|error| {
                error.advise([Advice::in_rust("take all rows at a time (`Pass::Batch`)")])
            }),
            Pass::Batch => Ok(()),
        }
    }

    fn moves(&self) -> Vec<bool> {
        (0..self.layout.dim()).map(|i| i < self.n_weights).collect()
    }

    fn descend(&self, rule: &DescentRule, q: &[f64], image: &mut [f64], ws: &mut Self::Workspace) {
        let mut scratch = ws.descent.take().unwrap_or_else(|| DescentScratch {
            direction: vec![0.0; self.layout.dim()],
            prior: vec![0.0; self.layout.dim()],
            x: TileStorage::zeros(padded(1) * self.x.columns()),
            y: TileStorage::zeros(padded(1) * self.y.columns()),
        });
        let DescentScratch { direction, prior, x: x_row, y: y_row } = &mut scratch;
        image.copy_from_slice(q);
        if rule.objective == Objective::SquaredError {
            //~ descent-prior
            prior.fill(0.0); // another rule may have used it
        }
        for _ in 0..rule.depth {
            match rule.pass {
                Pass::Batch => {
                    direction.fill(0.0);
                    let tiles = self.tiles();
                    self.add_direction(rule.objective, tiles, image, direction, ws);
                    self.descent_step(rule, 1.0, image, direction, prior);
                }
                Pass::PerRow => {
                    let (w, rate) = (&mut image[..self.n_weights], rule.learning_rate);
                    if rule.objective == Objective::SquaredError
                        && let Some(x) = self.x.in_memory()
                        && self.model.descend_rows(w, x, self.responses(), rate, &mut ws.model)
                    {
                        continue;
                    }
                    let share = 1.0 / self.x.rows() as f64;
                    let mut tiles = self.x.range(0..self.x.n_tiles(), self.y.iter());
                    while let Some((x, y)) = tiles.next_tile() {
                        for row in 0..x.rows() {
                            copy_row((x, row), x_row);
                            copy_row((y, row), y_row);
                            direction.fill(0.0);
                            let y = self.observed(Tile::new(y_row, 1));
                            let row = once((Tile::new(x_row, 1), y));
                            self.add_direction(rule.objective, row, image, direction, ws);
                            self.descent_step(rule, share, image, direction, prior);
                        }
                    }
                }
            }
        }
        ws.descent = Some(scratch);
    }
}

/// Copies one row of a tile into the first row of a tile of its own.
fn copy_row((tile, row): (Tile, usize), to: &mut [f64]) {
    for (column, to) in to.chunks_exact_mut(padded(1)).enumerate() {
        to[0] = tile.column(column)[row];
    }
}
