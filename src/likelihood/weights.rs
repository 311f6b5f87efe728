//! The weights of the rows of a tile.

use std::ops::Deref;
use std::slice;

use crate::engine::TILE_ROWS;

/// The weights of rows that have none.
static ONES: [f64; TILE_ROWS] = [1.0; TILE_ROWS];

/// The weights w of the rows of a [tile](crate::engine): a slice with one number for each row, that knows if it is all
/// [ones](Self::are_ones), as where the data have no weights. A likelihood may leave them out then.
///
/// ```
/// use bnn_mcmc::likelihood::Weights;
/// let (ones, given) = (Weights::ones(2), Weights::given(&[0.5, 2.0]));
/// assert_eq!((ones.sum(), given.sum()), (2.0, 2.5));
/// assert!(ones.are_ones() && !given.are_ones());
/// assert_eq!((ones[1], given[1]), (1.0, 2.0));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    values: &'a [f64],
    are_ones: bool,
}

impl<'a> Weights<'a> {
    /// Ones for so many rows.
    ///
    /// # Panics
    /// If there are more rows than [`TILE_ROWS`].
    #[inline]
    pub fn ones(rows: usize) -> Self {
        Self { values: &ONES[..rows], are_ones: true }
    }

    /// These weights, each finite and at least 0.
    #[inline]
    pub fn given(values: &'a [f64]) -> Self {
        Self { values, are_ones: false }
    }

    /// Whether rows have no weights: all are 1.
    #[inline]
    pub fn are_ones(self) -> bool {
        self.are_ones
    }

    /// The sum of the weights: the number of the rows where they have none.
    #[inline]
    pub fn sum(self) -> f64 {
        if self.are_ones { self.values.len() as f64 } else { self.values.iter().sum() }
    }

    /// The weights of all rows.
    #[inline]
    pub fn as_slice(self) -> &'a [f64] {
        self.values
    }
}

impl Deref for Weights<'_> {
    type Target = [f64];
    #[inline]
    fn deref(&self) -> &[f64] {
        self.values
    }
}

impl<'a> IntoIterator for Weights<'a> {
    type Item = &'a f64;
    type IntoIter = slice::Iter<'a, f64>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.values.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_are_as_weights_of_one() {
        for rows in [0, 1, 40, TILE_ROWS] {
            let (values, ones) = (vec![1.0; rows], Weights::ones(rows));
            let given = Weights::given(&values);
            assert_eq!((ones.as_slice(), ones.sum()), (given.as_slice(), given.sum()));
            assert!(ones.are_ones() && !given.are_ones());
            assert!(ones.into_iter().eq(&values) && ones.len() == rows);
        }
    }
}
