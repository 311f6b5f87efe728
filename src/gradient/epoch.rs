//! The order in which batches use up the rows.

use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::rng::ChainRng;

/// Batches of rows without replacement over shuffled epochs.
///
/// ```
/// use bnn_mcmc::rng::ChainRng;
/// use bnn_mcmc::sampler::Epoch;
/// let mut epoch = Epoch::new(10, 4)?;
/// let mut rng = ChainRng::new(1, 0);
/// let mut rows = epoch.next_batch(&mut rng).to_vec();
/// rows.extend(epoch.next_batch(&mut rng));
/// rows.sort();
/// rows.dedup();
/// assert_eq!(rows.len(), 8); // two are left out; the third batch begins a new epoch
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// The rows before `place` are used up; the others have no order yet.
    rows: Vec<usize>,
    place: usize,
    size: usize,
}

impl Epoch {
    /// Batches of `size` out of `n` rows.
    ///
    /// # Errors
    /// If `size` is 0 or beyond `n`.
    pub fn new(n: usize, size: usize) -> Result<Self, Error> {
        if !(1..=n).contains(&size) {
            let allowed = format!("from 1 to the {n} rows of the data");
            return Err(Error::argument("size of a minibatch", size, allowed));
        }
        Ok(Self { rows: (0..n).collect(), place: 0, size })
    }

    /// The next batch. Fisher and Yates' shuffle, as far as the batch needs it.
    pub fn next_batch(&mut self, rng: &mut ChainRng) -> &[usize] {
        if self.rows.len() - self.place < self.size {
            self.place = 0;
        }
        let batch = self.place..self.place + self.size;
        for i in batch.clone() {
            let j = rng.random_range(i..self.rows.len()); //~ epoch-row
            self.rows.swap(i, j);
        }
        self.place = batch.end;
        &self.rows[batch]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;

    #[test]
    fn epochs_use_each_row_once_and_all_rows_equally() {
        let mut rng = ChainRng::new(2, 0);
        for (n, size) in [(12, 4), (10, 4), (7, 7), (5, 1)] {
            let mut epoch = Epoch::new(n, size).unwrap();
            let (mut counts, mut pairs) = (vec![0u32; n], 0u32);
            let epochs = 3000;
            for _ in 0..epochs {
                let mut seen = vec![false; n];
                for batch in 0..n / size {
                    for row in epoch.next_batch(&mut rng) {
                        assert!(!std::mem::replace(&mut seen[*row], true), "row {row} twice");
                        counts[*row] += 1;
                        pairs += u32::from(batch == 0 && *row < 2);
                    }
                }
            }
            // Each row is in an epoch with probability (n - n mod size) / n, and in its first batch with
            // probability size / n.
            let used = (n - n % size) as f64 / n as f64;
            let sd = (f64::from(epochs) * used * (1.0 - used)).sqrt();
            for count in counts {
                assert!((f64::from(count) - used * f64::from(epochs)).abs() <= 5.0 * sd);
            }
            let p = size as f64 / n as f64;
            let sd = (2.0 * f64::from(epochs) * p * (1.0 - p)).sqrt();
            assert!((f64::from(pairs) - 2.0 * p * f64::from(epochs)).abs() <= 5.0 * sd);
        }
    }

    #[test]
    fn batches_beyond_the_data_are_refused() {
        for size in [0, 11, usize::MAX] {
            let (name, allowed) = ("size of a minibatch", "from 1 to the 10 rows of the data");
            fails!(Epoch::new(10, size), Argument { name: name, value: size, allowed: allowed });
        }
    }
}
