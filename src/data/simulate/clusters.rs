//! The clusters that the rows of a simulated classification are drawn from.

use std::collections::HashSet;

use ndarray::{Array2, Array3, ArrayView2, Axis};

use crate::rng::ChainRng;

/// The clusters that a [`Classification`](super::Classification) draws its rows from. Cluster k, counted
/// from 0, belongs to the class of number k / `clusters_per_class`, rounded down.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// The centres c_k `[clusters x informative]`.
    pub centres: Array2<f64>,
    /// The matrices A_k `[clusters x informative x informative]`; cluster k has the covariance A_k^T A_k.
    pub mixing: Array3<f64>,
    /// B `[informative x redundant]`, which makes the redundant features of the informative ones.
    pub redundant: Array2<f64>,
}

impl Clusters {
    /// Draws the given numbers of clusters, informative and redundant features. The hypercube must
    /// have vertices for all clusters.
    pub(super) fn draw([clusters, d, r]: [usize; 3], separation: f64, rng: &mut ChainRng) -> Self {
        let mut vertices = HashSet::new();
        let mut centres = Array2::zeros((clusters, d));
        for mut centre in centres.rows_mut() {
            let vertex = loop {
                let vertex: Vec<bool> = (0..d).map(|_| rng.uniform() < 0.5).collect();
                //~ hypercube-vertices
                if vertices.insert(vertex.clone()) {
                    break vertex;
                }
            };
            let side = |up| if up { separation } else { -separation }; //~ hypercube-side
            centre.iter_mut().zip(vertex).for_each(|(c, up)| *c = side(up));
        }
        let mut entry = || 2.0 * rng.uniform() - 1.0; //~ mixing-entries
        let redundant = Array2::from_shape_simple_fn((d, r), &mut entry);
        let mixing = Array3::from_shape_simple_fn((clusters, d, d), &mut entry);
        Self { centres, mixing, redundant }
    }

    /// Puts a row of cluster k there: the informative u = c_k + z A_k, then the redundant v = u B.
    pub(super) fn place(&self, k: usize, z: &[f64], row: &mut [f64]) {
        let (u, v) = row.split_at_mut(z.len());
        u.iter_mut().zip(self.centres.row(k)).for_each(|(u, c)| *u = *c);
        add_product(z, self.mixing.index_axis(Axis(0), k), u); //~ mixing
        v.fill(0.0);
        add_product(u, self.redundant.view(), v); //~ redundant-columns
    }
}

/// Adds z M to `out`, in an order that is the same on every processor.
fn add_product(z: &[f64], matrix: ArrayView2<f64>, out: &mut [f64]) {
    for (z, row) in z.iter().zip(matrix.rows()) {
        out.iter_mut().zip(row).for_each(|(out, m)| *out += z * m);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use ndarray::Array1;

    #[test]
    fn centres_are_different_vertices_of_the_hypercube() {
        // 16 clusters need all vertices.
        let draw = |seed| Clusters::draw([16, 4, 1], 1.5, &mut ChainRng::new(seed, 0)).centres;
        let centres = draw(1);
        assert_eq!(centres.dim(), (16, 4));
        assert!(centres.iter().all(|c| c.abs() == 1.5));
        for (i, a) in centres.rows().into_iter().enumerate() {
            // Its neighbours along the four edges, at a distance of the side.
            let distance = |b: ndarray::ArrayView1<f64>| (&a - &b).mapv(f64::abs).sum();
            let edges = centres.rows().into_iter().filter(|b| distance(*b) == 3.0).count();
            assert_eq!(edges, 4, "centre {i}");
        }
        assert_ne!(centres, draw(2));
    }

    #[test]
    fn matrices_have_entries_uniform_on_both_sides_of_zero() {
        let clusters = Clusters::draw([3, 40, 20], 1.5, &mut ChainRng::new(1, 0));
        for (name, entries) in [
            ("mixing", clusters.mixing.iter().copied().collect::<Array1<f64>>()),
            ("redundant", clusters.redundant.iter().copied().collect()),
        ] {
            let n = entries.len() as f64;
            assert!(entries.iter().all(|v| (-1.0..1.0).contains(v)), "{name}");
            assert!(entries.mean().unwrap().abs() < 4.0 * (1.0 / 3.0 / n).sqrt(), "{name}");
            // The variance of a square is 1/5 - 1/9.
            assert_abs_diff_eq!(entries.var(0.0), 1.0 / 3.0, epsilon = 4.0 * (0.09 / n).sqrt());
        }
        assert_eq!(clusters.mixing.dim(), (3, 40, 40));
    }
}
