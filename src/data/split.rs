//! Splits into training and test rows.

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::Dataset;
use crate::Error;
use crate::order;
use crate::rng::ChainRng;

/// The stream of a seed that shuffles rows: far from the streams of the chains, which count from 0.
const STREAM: u64 = u64::MAX;

/// The rows for training and the rows for testing, counted from 0.
///
/// Every random split is fixed by its seed. Series are split in order, by
/// [`split_at`](Dataset::split_at): shuffled rows of a series would let the future into the
/// training set.
///
/// ```
/// use bnn_mcmc::data::Dataset;
/// use ndarray::{Array1, Array2};
/// let data = Dataset::regression(Array2::eye(10), Array1::linspace(0.0, 1.0, 10))?;
/// let (train, test) = data.train_test_split(0.3, 1)?;
/// assert_eq!((train.rows(), test.rows()), (7, 3));
/// for fold in data.k_folds(5, 1)? {
///     let (train, test) = fold.apply(&data)?;
///     assert_eq!((train.rows(), test.rows()), (8, 2));
/// }
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// The training rows in increasing order.
    pub train: Vec<usize>,
    /// The test rows in increasing order.
    pub test: Vec<usize>,
}

impl Split {
    fn from_test(mut test: Vec<usize>, rows: usize) -> Self {
        test.sort_unstable();
        let train = (0..rows).filter(|row| test.binary_search(row).is_err()).collect();
        Self { train, test }
    }

    /// The training set and the test set.
    ///
    /// # Errors
    /// If one of them is empty, or a row does not exist in `data`.
    pub fn apply(&self, data: &Dataset) -> Result<(Dataset, Dataset), Error> {
        Ok((data.select(&self.train)?, data.select(&self.test)?))
    }
}

/// Where the row of a class with a single one is put.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Single {
    InTraining,
    InTest,
}

/// Random and ordered splits.
impl Dataset {
    /// A random split into training and test set. The test set has `test_fraction` of the rows,
    /// rounded; both keep the order of the rows.
    ///
    /// # Errors
    /// If the fraction is not between 0 and 1, or leaves one of the sets without rows.
    pub fn train_test_split(
        &self,
        test_fraction: f64,
        seed: u64,
    ) -> Result<(Dataset, Dataset), Error> {
        self.split_rows(test_fraction, seed)?.apply(self)
    }

    /// The rows of [`train_test_split`](Self::train_test_split).
    pub(crate) fn split_rows(&self, test_fraction: f64, seed: u64) -> Result<Split, Error> {
        let n_test = test_rows(self.rows(), test_fraction)?;
        let mut rows = shuffled(self.rows(), seed);
        rows.truncate(n_test);
        Ok(Split::from_test(rows, self.rows()))
    }

    /// Splits the rows like [`train_test_split`](Self::train_test_split), but with the classes in
    /// proportion: of a class with n rows, the test set has `test_fraction * n` to within one row,
    /// and each set has at least one row of the class.
    ///
    /// # Errors
    /// The errors of [`train_test_split`](Self::train_test_split); also if the response is not
    /// classes, or a class has only one row. A class without any row is not an error.
    pub fn stratified_split(
        &self,
        test_fraction: f64,
        seed: u64,
    ) -> Result<(Dataset, Dataset), Error> {
        self.classes()?;
        self.check_class_sizes(2, "for a stratified split")?;
        self.stratified_rows(test_fraction, seed, Single::InTraining)?.apply(self)
    }

    /// The rows of [`stratified_split`](Self::stratified_split), where a class may have a single row.
    pub(crate) fn stratified_rows(
        &self,
        test_fraction: f64,
        seed: u64,
        single: Single,
    ) -> Result<Split, Error> {
        let n_test = test_rows(self.rows(), test_fraction)?;
        let classes = self.classes()?;
        let mut members = vec![Vec::new(); self.response().width()];
        for row in shuffled(self.rows(), seed) {
            members[classes[row]].push(row);
        }
        // Each class gets its share rounded down, but at least one row; the rows still missing in
        // the test set go to the classes with the largest remainders.
        let share = |class: usize| members[class].len() as f64 * test_fraction;
        let mut sizes: Vec<usize> = (0..members.len())
            .map(|class| match members[class].len() {
                1 => usize::from(single == Single::InTest), //~ single-rows
                n => (share(class) as usize).max(1).min(n),
            })
            .collect();
        let mut by_remainder: Vec<usize> = (0..members.len())
            .filter(|&c| sizes[c] + 1 < members[c].len() && (sizes[c] as f64) < share(c))
            .collect();
        order::largest_first(&mut by_remainder, &|c| share(c).fract());
        let lacking = n_test.saturating_sub(sizes.iter().sum());
        by_remainder.iter().take(lacking).for_each(|&class| sizes[class] += 1);

        let test = members.iter().zip(sizes).flat_map(|(rows, size)| &rows[..size]);
        Ok(Split::from_test(test.copied().collect(), self.rows()))
    }

    /// The first `n_train` rows and the rest: the split for series.
    ///
    /// # Errors
    /// If one of the sets would be without rows.
    pub fn split_at(&self, n_train: usize) -> Result<(Dataset, Dataset), Error> {
        if n_train == 0 || n_train >= self.rows() {
            let allowed = format!("1 to {}", self.rows() - 1);
            return Err(Error::argument("n_train", n_train, allowed));
        }
        let (train, test) = ((0..n_train).collect(), (n_train..self.rows()).collect());
        Split { train, test }.apply(self)
    }

    /// `k` random splits for cross-validation: every row is in the test set of exactly one of
    /// them, and the sizes of the test sets differ by at most one.
    ///
    /// # Errors
    /// If `k` is below 2 or above the number of rows.
    pub fn k_folds(&self, k: usize, seed: u64) -> Result<Vec<Split>, Error> {
        self.deal(shuffled(self.rows(), seed), k)
    }

    /// Splits the rows like [`k_folds`](Self::k_folds), but with each class spread over the folds
    /// as evenly as possible: the numbers of its rows in two folds differ by at most one.
    ///
    /// # Errors
    /// The errors of [`k_folds`](Self::k_folds); also if the response is not classes, or a class
    /// has fewer than two rows.
    pub fn stratified_k_folds(&self, k: usize, seed: u64) -> Result<Vec<Split>, Error> {
        self.classes()?;
        self.check_class_sizes(2, "for stratified folds")?;
        self.folds_by_class(k, seed)
    }

    /// [`stratified_k_folds`](Self::stratified_k_folds), where a class may have a single row, which lies in one fold.
    pub(crate) fn folds_by_class(&self, k: usize, seed: u64) -> Result<Vec<Split>, Error> {
        let classes = self.classes()?;
        let mut rows = shuffled(self.rows(), seed);
        order::sort(&mut rows, &|a, b| classes[a].cmp(&classes[b]));
        self.deal(rows, k)
    }

    /// Deals rows to `k` test sets in turn.
    fn deal(&self, rows: Vec<usize>, k: usize) -> Result<Vec<Split>, Error> {
        if k < 2 || k > rows.len() {
            let allowed = format!("2 to the number of rows, {}", rows.len());
            return Err(Error::argument("k", k, allowed));
        }
        let fold = |i| rows.iter().copied().skip(i).step_by(k).collect();
        Ok((0..k).map(|i| Split::from_test(fold(i), rows.len())).collect())
    }

    fn check_class_sizes(&self, least: usize, purpose: &str) -> Result<(), Error> {
        let sizes = self.response().class_sizes().unwrap_or_default();
        let names = self.response().class_names().unwrap_or_default();
        match names.iter().zip(sizes).find(|(_, size)| (1..least).contains(size)) {
            Some((name, size)) => Err(Error::shape(
                format!("rows of class `{name}`"),
                size,
                format!("at least {least} {purpose}"),
            )),
            None => Ok(()),
        }
    }
}

fn test_rows(rows: usize, test_fraction: f64) -> Result<usize, Error> {
    if !(test_fraction > 0.0 && test_fraction < 1.0) {
        let allowed = "above 0 and below 1";
        return Err(Error::argument("test_fraction", test_fraction, allowed));
    }
    let n = (rows as f64 * test_fraction).round() as usize;
    if n == 0 || n >= rows {
        let allowed =
            format!("such that both sets get some of the rows, of which there are {rows}");
        return Err(Error::argument("test_fraction", test_fraction, allowed));
    }
    Ok(n)
}

fn shuffled(rows: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    order.shuffle(&mut ChainRng::new(seed, STREAM));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;
    use ndarray::{Array1, Array2};

    fn numbered(rows: usize) -> Dataset {
        let x = Array2::from_shape_fn((rows, 1), |(i, _)| i as f64);
        Dataset::regression(x, Array1::linspace(0.0, 1.0, rows)).unwrap()
    }

    fn classes(classes: Vec<usize>) -> Dataset {
        let x = Array2::from_shape_fn((classes.len(), 1), |(i, _)| i as f64);
        Dataset::classification(x, classes, ["a", "b", "c", "d"]).unwrap()
    }

    #[test]
    fn the_same_seed_gives_the_same_split_and_another_seed_another() {
        let data = numbered(100);
        let test = |seed| data.train_test_split(0.3, seed).unwrap().1;
        assert_eq!(test(5), test(5));
        assert_ne!(test(5), test(6));
        // A change of the shuffle would silently change every published split.
        let first: Vec<f64> = test(1).x().column(0).iter().take(5).copied().collect();
        assert_eq!(first, [2.0, 7.0, 9.0, 11.0, 12.0]);
    }

    #[test]
    fn bad_fractions_and_sizes_are_errors() {
        let data = numbered(10);
        for fraction in [0.0, 1.0, -0.5, 1.5, f64::NAN] {
            let split = data.train_test_split(fraction, 1);
            fails!(split, Argument { value: fraction, allowed: "above 0 and below 1" });
        }
        for fraction in [0.01, 0.99] {
            let split = data.train_test_split(fraction, 1);
            let allowed = "such that both sets get some of the rows, of which there are 10";
            fails!(split, Argument { value: fraction, allowed: allowed });
        }
        assert_eq!(
            data.split_at(10).unwrap_err().to_string(),
            "`n_train` is 10, but must be 1 to 9"
        );
        assert!(data.split_at(0).is_err());
        let allowed = "2 to the number of rows, 10";
        fails!(data.k_folds(1, 1), Argument { name: "k", value: 1, allowed: allowed });
        assert!(data.k_folds(11, 1).is_err());
        fails!(data.stratified_split(0.5, 1), Argument { value: "of the kind real numbers" });
    }

    #[test]
    fn a_class_of_one_row_is_named() {
        let data = classes(vec![0, 0, 1, 2, 2]);
        assert_eq!(
            data.stratified_split(0.5, 1).unwrap_err().to_string(),
            "rows of class `b`: found 1, expected at least 2 for a stratified split"
        );
        fails!(data.stratified_k_folds(2, 1), Shape { what: "rows of class `b`", found: 1 });
    }

    #[test]
    fn strata_keep_their_shares_and_a_class_without_rows_is_no_matter() {
        let data = classes((0..150).map(|i| i % 3).collect());
        let (train, test) = data.stratified_split(0.3, 1).unwrap();
        assert_eq!(train.response().class_sizes().unwrap(), [35, 35, 35, 0]);
        assert_eq!(test.response().class_sizes().unwrap(), [15, 15, 15, 0]);
        // A tiny class is in both sets all the same.
        let mut index = vec![0; 100];
        index.extend([1, 1]);
        let (train, test) = classes(index).stratified_split(0.1, 1).unwrap();
        assert_eq!(train.response().class_sizes().unwrap(), [90, 1, 0, 0]);
        assert_eq!(test.response().class_sizes().unwrap(), [10, 1, 0, 0]);
    }

    #[test]
    fn ordered_splits_keep_the_order() {
        let (train, test) = numbered(5).split_at(3).unwrap();
        assert_eq!(train.x().column(0).to_vec(), [0.0, 1.0, 2.0]);
        assert_eq!(test.x().column(0).to_vec(), [3.0, 4.0]);
    }

    #[test]
    fn a_class_of_one_row_is_on_one_side() {
        let classes = [vec![0; 10], vec![1; 6], vec![2]].concat();
        let x = Array2::from_shape_fn((17, 1), |(i, _)| i as f64);
        let data = Dataset::classification(x, classes, ["a", "b", "c"]).unwrap();
        for (single, in_test) in [(Single::InTraining, false), (Single::InTest, true)] {
            for seed in 0..20 {
                let split = data.stratified_rows(0.5, seed, single).unwrap();
                assert_eq!(split.test.contains(&16), in_test);
                let of = |class: std::ops::Range<usize>| {
                    split.test.iter().filter(|row| class.contains(row)).count()
                };
                assert_eq!([of(0..10), of(10..16)], [5, 3]);
                let all = data.folds_by_class(3, seed).unwrap();
                assert_eq!(all.iter().filter(|fold| fold.test.contains(&16)).count(), 1);
            }
        }
        assert!(data.stratified_split(0.5, 1).is_err() && data.stratified_k_folds(3, 1).is_err());
    }
}
