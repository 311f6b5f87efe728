//! Classes made of normal clusters around the vertices of a hypercube.

use rand::Rng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::{Clusters, Stream, at_least, room, stream, table, within};
use crate::data::{Dataset, Response};
use crate::rng::ChainRng;
use crate::{Error, memory};

/// Classes made of normal clusters around the vertices of a hypercube, among redundant and
/// uninformative features.
///
/// ```
/// use bnn_mcmc::data::simulate::Classification;
/// let recipe = Classification { rows: 300, classes: 3, informative: 4, ..Classification::default() };
/// let data = recipe.draw(1)?;
/// assert_eq!(data.x().dim(), (300, 20));
/// assert_eq!(data.response().class_names().unwrap(), ["1", "2", "3"]);
/// // The truth: six centres in four dimensions, two of each class, one after the other.
/// assert_eq!(recipe.clusters(1)?.centres.dim(), (6, 4));
/// let unflipped = Classification { flipped: 0.0, ..recipe }.draw(1)?;
/// assert_eq!(unflipped.response().class_sizes().unwrap(), [100, 100, 100]);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Classification {
    /// The number of rows, at least one for each cluster.
    pub rows: usize,
    /// The number of all features, p.
    pub features: usize,
    /// The number of features that clusters differ in, d.
    pub informative: usize,
    /// The number of features that are linear combinations of the informative ones, r.
    pub redundant: usize,
    /// The number of classes, K. They are named `1`, `2`, ...
    pub classes: usize,
    /// The number of clusters of each class, m.
    pub clusters_per_class: usize,
    /// Half of the hypercube's side, s: the larger, the easier.
    pub separation: f64,
    /// The probability that the class of a row is drawn anew.
    pub flipped: f64,
    /// The share of each class before any is flipped, kept to within one row; `None` for equal shares.
    pub shares: Option<Vec<f64>>,
}

impl Default for Classification {
    /// The defaults of scikit-learn: 100 rows of 20 features, two informative and two redundant,
    /// two classes of two clusters each in equal shares, separation 1, one hundredth flipped.
    fn default() -> Self {
        let (rows, features, informative, redundant) = (100, 20, 2, 2);
        let (classes, clusters_per_class, separation, flipped, shares) = (2, 2, 1.0, 0.01, None);
        Self {
            rows,
            features,
            informative,
            redundant,
            classes,
            clusters_per_class,
            separation,
            flipped,
            shares,
        }
    }
}

impl Classification {
    /// The table of this seed.
    ///
    /// # Errors
    /// If there are fewer rows than clusters, fewer than two classes, no cluster or no informative
    /// feature, more informative and redundant features than features, more clusters than a
    /// hypercube of `informative` dimensions has vertices; if `separation` is negative or beyond
    /// 1e150, `flipped` is not a probability, or `shares` are not one positive number for each
    /// class with the sum 1; or if the table or the matrices do not fit into memory.
    pub fn draw(&self, seed: u64) -> Result<Dataset, Error> {
        let clusters = self.clusters(seed)?;
        at_least("rows", self.rows, self.n_clusters()?)?;
        let (x, mut class) = room::<usize>(self.rows, self.features)?;
        self.shuffled_clusters(seed, &mut class);
        self.rows_of(&clusters, &mut features_and_noise(seed), x, class)
    }

    /// The table of this seed in data sets of so many rows each, the last one of the rest: tables that do not fit into memory, for a
    /// [`RowFile`](crate::data::RowFile). In memory are the clusters of all rows, 8 bytes each.
    ///
    /// # Errors
    /// The errors of [`draw`](Self::draw), of a block rather than of the table; blocks without rows.
    pub fn blocks(
        &self,
        seed: u64,
        rows: usize,
    ) -> Result<impl Iterator<Item = Result<Dataset, Error>> + '_, Error> {
        let clusters = self.clusters(seed)?;
        at_least("rows", self.rows, self.n_clusters()?)?;
        at_least("rows of a block", rows, 1)?;
        let (what, size, instead) = ("clusters of rows", [(self.rows, "rows")], "take fewer rows");
        memory::check::<usize>(what, &size, instead)?;
        let mut of_rows = memory::room(self.rows, (what, &size[..], instead))?;
        self.shuffled_clusters(seed, &mut of_rows);
        let mut streams = features_and_noise(seed);
        let block = move |first: usize| {
            let of_block = &of_rows[first..self.rows.min(first + rows)];
            let (x, mut class) = room::<usize>(of_block.len(), self.features)?;
            class.extend_from_slice(of_block);
            self.rows_of(&clusters, &mut streams, x, class)
        };
        Ok((0..self.rows).step_by(rows).map(block))
    }

    /// The next rows, of the clusters whose numbers `class` has, with features in `x`, which has room for them.
    fn rows_of(
        &self,
        clusters: &Clusters,
        [features, noise]: &mut [ChainRng; 2],
        mut x: Vec<f64>,
        mut class: Vec<usize>,
    ) -> Result<Dataset, Error> {
        let (mut z, mut row) = (vec![0.0; self.informative], vec![0.0; self.features]);
        for class in &mut class {
            features.fill_normal(&mut z);
            let (useful, unrelated) = row.split_at_mut(self.informative + self.redundant);
            clusters.place(*class, &z, useful);
            features.fill_normal(unrelated);
            x.extend_from_slice(&row);
            *class /= self.clusters_per_class;
            if noise.uniform() < self.flipped {
                *class = noise.random_range(0..self.classes); //~ flipped-class
            }
        }
        let names = (1..=self.classes).map(|class| class.to_string()).collect();
        let unrelated = self.features - self.informative - self.redundant;
        let columns = [self.informative, self.redundant, unrelated];
        table(x, Response::Classes { index: class, names }, columns, "class")
    }

    /// The clusters that [`draw`](Self::draw) has for this seed.
    ///
    /// # Errors
    /// The errors of [`draw`](Self::draw), which also looks at the rows.
    pub fn clusters(&self, seed: u64) -> Result<Clusters, Error> {
        let (d, r, clusters) = (self.informative, self.redundant, self.n_clusters()?);
        let size = [(clusters, "clusters"), (d.saturating_add(1), "rows"), (d, "columns")];
        memory::check::<f64>("matrices of the clusters", &size, "take fewer informative features")?;
        let size = [(d, "informative"), (r, "redundant features")];
        memory::check::<f64>("matrix of redundant features", &size, "take fewer of them")?;
        Ok(Clusters::draw([clusters, d, r], self.separation, &mut stream(seed, Stream::Truth)))
    }

    /// Checks all settings except the rows, and counts the clusters.
    fn n_clusters(&self) -> Result<usize, Error> {
        at_least("classes", self.classes, 2)?;
        at_least("clusters_per_class", self.clusters_per_class, 1)?;
        at_least("informative", self.informative, 1)?;
        if self.informative.checked_add(self.redundant).is_none_or(|n| n > self.features) {
            let found = format!("{} + {}", self.informative, self.redundant);
            let allowed = format!("at most the {} of `features`", self.features);
            return Err(Error::argument("informative + redundant", found, allowed));
        }
        within("separation", self.separation, 0.0..=1e150, "from 0 to 1e150")?;
        within("flipped", self.flipped, 0.0..=1.0, "from 0 to 1")?;
        if let Some(shares) = &self.shares {
            if shares.len() != self.classes {
                return Err(Error::shape("shares of classes", shares.len(), self.classes));
            }
            if let Some(share) = shares.iter().find(|s| s.is_nan() || **s <= 0.0) {
                return Err(Error::argument("shares", share, "above 0 for each class"));
            }
            let sum: f64 = shares.iter().sum();
            if (sum - 1.0).abs() > 1e-9 {
                return Err(Error::argument("sum of shares", sum, "1"));
            }
        }
        let vertices = u32::try_from(self.informative).ok().and_then(|d| 1_usize.checked_shl(d));
        let clusters = self.classes.checked_mul(self.clusters_per_class);
        match clusters {
            Some(clusters) if vertices.is_none_or(|vertices| clusters <= vertices) => Ok(clusters),
            _ => {
                let found = format!("{} x {}", self.classes, self.clusters_per_class);
                let (d, most) = (self.informative, vertices.unwrap_or(usize::MAX));
                let allowed =
                    format!("at most {most}, the vertices of {d} `informative` dimensions");
                Err(Error::argument("classes x clusters_per_class", found, allowed))
            }
        }
    }

    /// Puts the cluster of each row into `rows`, in random order.
    fn shuffled_clusters(&self, seed: u64, rows: &mut Vec<usize>) {
        self.clusters_of_rows(rows);
        rows.shuffle(&mut stream(seed, Stream::Order)); //~ class-order
    }

    /// Puts the cluster of each row into `rows`, in order. The ends of clusters are rounded, not their
    /// sizes, so that no class or cluster is more than one row away from its share.
    fn clusters_of_rows(&self, rows: &mut Vec<usize>) {
        let m = self.clusters_per_class;
        let mut before = 0.0;
        for class in 0..self.classes {
            //~ class-shares
            let share = self.shares.as_ref().map_or(1.0 / self.classes as f64, |s| s[class]);
            for cluster in 0..m {
                let end = before + share * (cluster + 1) as f64 / m as f64;
                let end = (end * self.rows as f64).round() as usize;
                rows.resize(end.min(self.rows).max(rows.len()), class * m + cluster);
            }
            before += share;
        }
        // Rounding of the sum may have left some rows over.
        rows.resize(self.rows, self.classes * m - 1);
    }
}

/// The streams of features and of noise.
fn features_and_noise(seed: u64) -> [ChainRng; 2] {
    [Stream::Features, Stream::Noise].map(|part| stream(seed, part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;
    use approx::assert_abs_diff_eq;
    use ndarray::{Array2, Axis, s};

    fn recipe() -> Classification {
        Classification {
            rows: 60_000,
            features: 8,
            informative: 3,
            redundant: 2,
            classes: 3,
            clusters_per_class: 1,
            separation: 1.5,
            flipped: 0.0,
            shares: None,
        }
    }

    #[test]
    fn rows_of_a_cluster_have_its_mean_and_covariance() {
        let (data, truth) = (recipe().draw(1).unwrap(), recipe().clusters(1).unwrap());
        assert_eq!(data.response().class_sizes().unwrap(), [20_000; 3]);
        for (k, name) in ["1", "2", "3"].into_iter().enumerate() {
            let rows: Vec<usize> =
                (0..data.rows()).filter(|i| data.classes().unwrap()[*i] == k).collect();
            let of_class = data.select(&rows).unwrap();
            let u = of_class.x().slice(s![.., ..3]).to_owned() - truth.centres.row(k);
            let n = rows.len() as f64;
            let a = truth.mixing.index_axis(Axis(0), k);
            let (expected, found) = (a.t().dot(&a), u.t().dot(&u) / n);
            let mean = u.mean_axis(Axis(0)).unwrap();
            for i in 0..3 {
                let sd = (expected[(i, i)] / n).sqrt();
                assert!(mean[i].abs() < 4.0 * sd, "class {name}, feature {i}: {mean}");
                for j in 0..3 {
                    let product = expected[(i, i)] * expected[(j, j)];
                    let sd = ((product + expected[(i, j)] * expected[(i, j)]) / n).sqrt();
                    assert_abs_diff_eq!(found[(i, j)], expected[(i, j)], epsilon = 4.5 * sd);
                }
            }
            // Unrelated features are standard normal in every class.
            let e = of_class.x().slice(s![.., 5..]);
            for ((i, j), v) in (e.t().dot(&e) / n).indexed_iter() {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert_abs_diff_eq!(*v, expected, epsilon = 4.5 * (2.0 / n).sqrt());
            }
            assert!(e.mean_axis(Axis(0)).unwrap().iter().all(|m| m.abs() < 4.0 / n.sqrt()));
        }
    }

    #[test]
    fn blocks_are_the_table() {
        let recipe = Classification { rows: 1000, flipped: 0.2, ..recipe() };
        let whole = recipe.draw(3).unwrap();
        for rows in [1, 300, 1000, 2000] {
            let blocks: Vec<Dataset> =
                recipe.blocks(3, rows).unwrap().map(Result::unwrap).collect();
            assert_eq!(blocks.len(), 1000_usize.div_ceil(rows));
            let mut first = 0;
            for block in blocks {
                let of_block: Vec<usize> = (first..first + block.rows()).collect();
                assert_eq!(block, whole.select(&of_block).unwrap());
                first += block.rows();
            }
        }
        fails!(recipe.blocks(3, 0).map(|_| ()), Argument { name: "rows of a block" });
    }

    #[test]
    fn redundant_columns_are_exact_combinations_of_the_informative() {
        let recipe = Classification { clusters_per_class: 2, ..recipe() };
        let (data, truth) = (recipe.draw(5).unwrap(), recipe.clusters(5).unwrap());
        assert!(truth.redundant.iter().all(|b| *b != 0.0));
        let v = data.x().slice(s![.., ..3]).dot(&truth.redundant);
        for (found, expected) in data.x().slice(s![.., 3..5]).iter().zip(&v) {
            assert_abs_diff_eq!(found, expected, epsilon = 1e-13);
        }
        let names = "informative1 informative2 informative3 redundant1 redundant2 unrelated1 \
                     unrelated2 unrelated3";
        assert_eq!(data.feature_names().join(" "), names);
    }

    #[test]
    fn a_flipped_share_of_rows_has_a_class_of_all() {
        let clean = recipe().draw(7).unwrap();
        let flipped = Classification { flipped: 0.3, ..recipe() }.draw(7).unwrap();
        assert_eq!(clean.x(), flipped.x());
        let (from, to) = (clean.classes().unwrap(), flipped.classes().unwrap());
        let mut moves = Array2::<f64>::zeros((3, 3));
        from.iter().zip(to).for_each(|(a, b)| moves[(*a, *b)] += 1.0);
        // A tenth goes to each of the other classes, and eight tenths stay.
        for ((a, b), count) in moves.indexed_iter() {
            let expected: f64 = if a == b { 0.8 } else { 0.1 };
            let sd = (expected * (1.0 - expected) / 20_000.0).sqrt();
            assert_abs_diff_eq!(count / 20_000.0, expected, epsilon = 4.0 * sd);
        }
    }

    #[test]
    fn classes_and_clusters_have_their_shares_in_random_order() {
        let shares = Some(vec![0.2, 0.3, 0.5]);
        let uneven = Classification { rows: 1003, clusters_per_class: 2, shares, ..recipe() };
        let sizes = uneven.draw(1).unwrap().response().class_sizes().unwrap();
        for (size, share) in sizes.iter().zip([0.2, 0.3, 0.5]) {
            assert!((*size as f64 - 1003.0 * share).abs() <= 1.0, "{sizes:?}");
        }
        let mut clusters = Vec::new();
        uneven.clusters_of_rows(&mut clusters);
        for (k, share) in [0.1, 0.1, 0.15, 0.15, 0.25, 0.25].into_iter().enumerate() {
            let size = clusters.iter().filter(|c| **c == k).count() as f64;
            assert!((size - 1003.0 * share).abs() <= 1.0, "cluster {k}: {size}");
        }
        for rows in [6, 7, 11, 1000] {
            let even = Classification { rows, clusters_per_class: 2, ..recipe() };
            let mut clusters = Vec::new();
            even.clusters_of_rows(&mut clusters);
            let size = |k| clusters.iter().filter(|c| **c == k).count();
            assert!((0..6).all(|k| (rows / 6..=rows / 6 + 1).contains(&size(k))), "{rows}");
        }
        // In random order a third of neighbours are of one class: (20,000 - 1) / 60,000.
        let data = recipe().draw(1).unwrap();
        let alike = data.classes().unwrap().windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert_abs_diff_eq!(alike as f64 / 60_000.0, 1.0 / 3.0, epsilon = 0.008);
        assert_eq!(data, recipe().draw(1).unwrap());
        assert_ne!(data, recipe().draw(2).unwrap());
    }

    #[test]
    fn errors_name_the_argument_and_what_is_allowed() {
        let good = recipe;
        for (message, bad) in [
            ("`rows` is 2, but must be at least 3", Classification { rows: 2, ..good() }),
            ("`classes` is 1, but must be at least 2", Classification { classes: 1, ..good() }),
            (
                "`clusters_per_class` is 0, but must be at least 1",
                Classification { clusters_per_class: 0, ..good() },
            ),
            (
                "`informative` is 0, but must be at least 1",
                Classification { informative: 0, ..good() },
            ),
            (
                "`informative + redundant` is 3 + 6, but must be at most the 8 of `features`",
                Classification { redundant: 6, ..good() },
            ),
            (
                "`classes x clusters_per_class` is 3 x 3, but must be at most 8, the vertices of 3 \
                 `informative` dimensions",
                Classification { clusters_per_class: 3, ..good() },
            ),
            (
                "`separation` is NaN, but must be from 0 to 1e150",
                Classification { separation: f64::NAN, ..good() },
            ),
            (
                "`flipped` is 1.5, but must be from 0 to 1",
                Classification { flipped: 1.5, ..good() },
            ),
            (
                "shares of classes: found 1, expected 3",
                Classification { shares: Some(vec![1.0]), ..good() },
            ),
            (
                "`shares` is 0, but must be above 0 for each class",
                Classification { shares: Some(vec![0.5, 0.5, 0.0]), ..good() },
            ),
            (
                "`sum of shares` is 1.5, but must be 1",
                Classification { shares: Some(vec![0.5; 3]), ..good() },
            ),
        ] {
            assert_eq!(bad.draw(1).unwrap_err().to_string(), message);
        }
        let huge = usize::MAX;
        for bad in [
            Classification { rows: huge, ..good() },
            Classification { features: huge, ..good() },
            Classification { features: huge, informative: huge, redundant: 0, ..good() },
            Classification { features: huge, redundant: huge - 3, ..good() },
            Classification { features: 100, informative: 64, classes: huge, ..good() },
        ] {
            fails!(bad.draw(1), Memory {});
        }
    }
}
