//! Running means, variances and covariances, updated one position at a time.

use serde::{Deserialize, Serialize};

/// Running mean and variance of each coordinate.
///
/// ```text
/// mean_n = mean_{n-1} + (x - mean_{n-1}) / n
/// S_n    = S_{n-1} + (x - mean_{n-1}) (x - mean_n)
/// ```
///
/// Two groups a and b, of n_a and n_b positions, become one with
///
/// ```text
/// d = mean_b - mean_a                  n = n_a + n_b
/// mean = mean_a + d n_b / n            S = S_a + S_b + d^2 n_a n_b / n
/// ```
///
/// Sources: Welford, Technometrics 4 (1962), doi:10.1080/00401706.1962.10490022; Chan, Golub and
/// LeVeque, The American Statistician 37 (1983), doi:10.1080/00031305.1983.10483115.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Variance {
    n: f64,
    mean: Vec<f64>,
    squares: Vec<f64>,
}

impl Variance {
    /// For positions of `dim` coordinates.
    pub fn new(dim: usize) -> Self {
        Self { n: 0.0, mean: vec![0.0; dim], squares: vec![0.0; dim] }
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        self.n = 0.0;
        self.mean.fill(0.0);
        self.squares.fill(0.0);
    }

    /// Takes in one position.
    pub fn update(&mut self, x: &[f64]) {
        self.n += 1.0;
        for ((x, mean), squares) in x.iter().zip(&mut self.mean).zip(&mut self.squares) {
            let d = x - *mean;
            *mean += d / self.n;
            *squares += d * (x - *mean);
        }
    }

    /// Takes in all positions of `other`, of the same dimension.
    pub fn merge(&mut self, other: &Self) {
        if other.n == 0.0 {
            return;
        }
        let n = self.n + other.n;
        let (share, weight) = (other.n / n, self.n * other.n / n);
        let ours = self.mean.iter_mut().zip(&mut self.squares);
        for ((mean, squares), (x, s)) in ours.zip(other.mean.iter().zip(&other.squares)) {
            let d = x - *mean;
            *mean += d * share;
            *squares += s + d * d * weight;
        }
        self.n = n;
    }

    /// The number of positions taken in.
    pub fn count(&self) -> f64 {
        self.n
    }

    /// The means.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Writes the variances (divisor n - 1; NaN below 2 positions) into `out`.
    pub fn variance(&self, out: &mut [f64]) {
        for (out, squares) in out.iter_mut().zip(&self.squares) {
            *out = squares / (self.n - 1.0); //~ running-variance
        }
    }
}

/// Running mean and covariance matrix.
///
/// ```text
/// mean_n = mean_{n-1} + (x - mean_{n-1}) / n
/// S_n    = S_{n-1} + (x - mean_n) (x - mean_{n-1})^T
/// ```
///
/// Source: Welford, Technometrics 4 (1962), doi:10.1080/00401706.1962.10490022, for each pair of coordinates.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Covariance {
    n: f64,
    mean: Vec<f64>,
    /// Lower triangle, row-major in a full square.
    products: Vec<f64>,
    deviation: Vec<f64>,
}

impl Covariance {
    /// For positions of `dim` coordinates; `dim` squared numbers are kept.
    pub fn new(dim: usize) -> Self {
        let zeros = vec![0.0; dim];
        Self { n: 0.0, mean: zeros.clone(), products: vec![0.0; dim * dim], deviation: zeros }
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        self.n = 0.0;
        self.mean.fill(0.0);
        self.products.fill(0.0);
    }

    /// Takes in one position.
    pub fn update(&mut self, x: &[f64]) {
        self.n += 1.0;
        for ((d, x), mean) in self.deviation.iter_mut().zip(x).zip(&mut self.mean) {
            *d = x - *mean;
            *mean += *d / self.n;
        }
        let rows = self.products.chunks_exact_mut(x.len());
        for (i, (row, (x, mean))) in rows.zip(x.iter().zip(&self.mean)).enumerate() {
            let after = x - mean;
            for (p, d) in row[..=i].iter_mut().zip(&self.deviation) {
                *p += after * d;
            }
        }
    }

    /// The number of positions taken in.
    pub fn count(&self) -> f64 {
        self.n
    }

    /// The means.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Writes the covariance matrix (divisor n - 1), row-major and symmetric, into `out`.
    pub fn covariance(&self, out: &mut [f64]) {
        let dim = self.mean.len();
        for i in 0..dim {
            for j in 0..=i {
                let c = self.products[i * dim + j] / (self.n - 1.0);
                out[i * dim + j] = c;
                out[j * dim + i] = c;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn groups_are_merged_as_if_they_had_been_one() {
        let row = |i: usize| [(i as f64).sin(), 1e3 + (3.0 * i as f64).cos(), i as f64];
        let of = |range: std::ops::Range<usize>| {
            let mut part = Variance::new(3);
            range.for_each(|i| part.update(&row(i)));
            part
        };
        for cut in [0, 1, 2, 20, 50] {
            let mut merged = of(0..cut);
            merged.merge(&of(cut..50));
            let (whole, mut a, mut b) = (of(0..50), [0.0; 3], [0.0; 3]);
            merged.variance(&mut a);
            whole.variance(&mut b);
            assert_eq!(merged.count(), 50.0);
            for i in 0..3 {
                assert_relative_eq!(merged.mean()[i], whole.mean()[i], max_relative = 1e-14);
                assert_relative_eq!(a[i], b[i], max_relative = 1e-11);
            }
        }
    }

    #[test]
    fn agrees_with_the_two_pass_formulas() {
        let rows = [[1.0, 2.0, -1.0], [4.0, 1e3, 0.5], [-2.0, 7.0, 0.25], [0.5, 3.0, 8.0]];
        let (mut variance, mut covariance) = (Variance::new(3), Covariance::new(3));
        variance.update(&[9.0; 3]);
        covariance.update(&[9.0; 3]);
        variance.reset();
        covariance.reset();
        for row in &rows {
            variance.update(row);
            covariance.update(row);
        }
        let mean = |j: usize| rows.iter().map(|r| r[j]).sum::<f64>() / 4.0;
        let (mut v, mut c) = ([0.0; 3], [0.0; 9]);
        variance.variance(&mut v);
        covariance.covariance(&mut c);
        for i in 0..3 {
            assert_relative_eq!(variance.mean()[i], mean(i), max_relative = 1e-14);
            for j in 0..3 {
                let exact =
                    rows.iter().map(|r| (r[i] - mean(i)) * (r[j] - mean(j))).sum::<f64>() / 3.0;
                assert_relative_eq!(c[3 * i + j], exact, max_relative = 1e-12);
                if i == j {
                    assert_relative_eq!(v[i], exact, max_relative = 1e-12);
                }
            }
        }
    }
}
