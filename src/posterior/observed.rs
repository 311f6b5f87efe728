//! The response of a tile, and the weights of its rows.

use ndarray::{Array2, ArrayView1, Axis, concatenate};

use super::Posterior;
use crate::Error;
use crate::engine::{Tile, Tiles};
use crate::likelihood::{Likelihood, Weights, weighted};
use crate::model::Model;

/// The response of a tile as the likelihood sees it, and the weights of its rows: ones if they have none.
#[derive(Clone, Copy)]
pub(crate) struct Observed<'a> {
    pub(crate) y: Tile<'a>,
    pub(crate) weights: Weights<'a>,
}

/// The columns of y, and a column of the weights if there are any.
pub(super) fn with_weights(y: Array2<f64>, weights: Option<ArrayView1<f64>>) -> Array2<f64> {
    match weights {
        None => y,
        Some(w) => {
            let columns = [y.view(), w.insert_axis(Axis(1))];
            concatenate(Axis(1), &columns).expect("a weight for each row")
        }
    }
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Takes a tile of y apart.
    pub(crate) fn observed<'a>(&self, tile: Tile<'a>) -> Observed<'a> {
        let columns = self.y_columns();
        match self.is_weighted {
            true => {
                let (y, _) = tile.values().split_at(columns * tile.stride());
                Observed {
                    y: Tile::new(y, tile.rows()),
                    weights: Weights::given(tile.column(columns)),
                }
            }
            false => Observed { y: tile, weights: Weights::ones(tile.rows()) },
        }
    }

    /// The number of columns of y as the likelihood sees it.
    pub(super) fn y_columns(&self) -> usize {
        self.y.columns() - usize::from(self.is_weighted)
    }

    /// Whether rows have weights.
    pub(crate) fn is_weighted(&self) -> bool {
        self.is_weighted
    }

    /// The sum of the weights of the rows: their number if they have none.
    pub(crate) fn n_weighted(&self) -> f64 {
        self.n_weighted
    }

    /// The weights of all rows, if rows have weights.
    pub(crate) fn weights(&self) -> Option<Vec<f64>> {
        let all = || self.observed_in(0..self.x.n_tiles()).flat_map(|o| o.weights.to_vec());
        self.is_weighted.then(|| all().collect())
    }

    /// The weights of these rows, if rows have weights.
    pub(super) fn weights_of(&self, rows: &[usize]) -> Option<Vec<f64>> {
        let weights = self.weights()?;
        Some(rows.iter().map(|row| weights[*row]).collect())
    }

    /// Tiles of y without their column of weights.
    pub(super) fn without_weights(&self, tiles: &Tiles) -> Tiles {
        let y: Vec<_> = tiles.iter().map(|tile| self.observed(tile).y.view()).collect();
        let y = concatenate(Axis(0), &y).expect("tiles of the same columns");
        Tiles::with_rows(y.view(), self.model.tile_rows())
    }

    /// The error of a `method` that has no place for weights of rows, where there are some.
    pub(crate) fn check_unweighted(&self, method: &str) -> Result<(), Error> {
        match self.is_weighted {
            true => Err(unweighted_only(method)),
            false => Ok(()),
        }
    }
}

/// The sum of w_i l_i, with 0 for a row of weight 0.
pub(crate) fn weighted_sum(log_lik: &[f64], weights: Weights) -> f64 {
    log_lik.iter().zip(weights).map(|(l, w)| weighted(*w, *l)).sum() //~ weighted-rows
}

/// The error of a `method` that has no place for weights of rows.
pub(crate) fn unweighted_only(method: &str) -> Error {
    Error::argument("weights of rows", "given", format!("none for {method}"))
}
