//! Normal features with a linear response.

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use super::{Stream, at_least, room, stream, table, within};
use crate::data::{Dataset, Response};
use crate::{Error, memory};

/// Features that are normal and independent, with a response that is linear in some of them.
///
/// ```
/// use bnn_mcmc::data::simulate::Regression;
/// let recipe = Regression { rows: 200, features: 8, informative: 3, ..Regression::default() };
/// let data = recipe.draw(1)?;
/// assert_eq!(data.x().dim(), (200, 8));
/// assert_eq!(data.feature_names()[2..4], ["informative3", "unrelated1"]);
/// let w = recipe.coefficients(1)?;
/// assert!(w[2] > 0.0 && w[3] == 0.0);
/// // The response without its noise:
/// let exact = Regression { noise_sd: 0.0, ..recipe }.draw(1)?;
/// assert_eq!(exact.x(), data.x());
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regression {
    /// The number of rows; more rows begin with the same ones.
    pub rows: usize,
    /// The number of all features, p.
    pub features: usize,
    /// The number of features with a coefficient above 0, d.
    pub informative: usize,
    /// The largest coefficient that an informative feature may have.
    pub largest_coefficient: f64,
    /// The response where all features are 0.
    pub intercept: f64,
    /// The standard deviation of the response around the line; scikit-learn's default is 0.
    pub noise_sd: f64,
}

impl Default for Regression {
    /// 100 rows of 100 features, of which 10 are informative, with coefficients up to 100 and noise of
    /// sd 1.
    fn default() -> Self {
        let (largest_coefficient, intercept, noise_sd) = (100.0, 0.0, 1.0);
        Self { rows: 100, features: 100, informative: 10, largest_coefficient, intercept, noise_sd }
    }
}

impl Regression {
    /// The table of this seed.
    ///
    /// # Errors
    /// If there is no row or no feature, more features are informative than there are, a standard
    /// deviation or coefficient is negative or beyond 1e150, or the table does not fit into memory.
    pub fn draw(&self, seed: u64) -> Result<Dataset, Error> {
        self.blocks(seed, self.rows)?.next().expect("a block of all rows")
    }

    /// The table of this seed in data sets of so many rows each, the last one of the rest: tables that do not fit into memory, for a
    /// [`RowFile`](crate::data::RowFile).
    ///
    /// ```
    /// use bnn_mcmc::data::simulate::Regression;
    /// use bnn_mcmc::data::{RowFile, Stored};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("simulated.rows");
    /// let recipe = Regression { rows: 1000, ..Regression::default() };
    /// let mut writer = RowFile::create(&path, Stored::F16)?;
    /// for block in recipe.blocks(1, 300)? {
    ///     writer.push(&block?)?;
    /// }
    /// assert_eq!(writer.finish()?.response(), recipe.draw(1)?.response());
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`draw`](Self::draw), of a block rather than of the table; blocks without rows.
    pub fn blocks(
        &self,
        seed: u64,
        rows: usize,
    ) -> Result<impl Iterator<Item = Result<Dataset, Error>> + '_, Error> {
        let w = self.coefficients(seed)?;
        at_least("rows", self.rows, 1)?;
        at_least("rows of a block", rows, 1)?;
        let (mut features, mut noise) =
            (stream(seed, Stream::Features), stream(seed, Stream::Noise));
        let mut row = vec![0.0; self.features];
        let block = move |first: usize| {
            let rows = rows.min(self.rows - first);
            let (mut x, mut y) = room::<f64>(rows, self.features)?;
            for _ in 0..rows {
                features.fill_normal(&mut row);
                let line: f64 = row.iter().zip(&w).map(|(x, w)| x * w).sum();
                y.push(self.intercept + line + self.noise_sd * noise.normal()); //~ simulated-response
                x.extend_from_slice(&row);
            }
            let y = Array2::from_shape_vec((rows, 1), y).expect("a number for each row");
            let columns = [self.informative, 0, self.features - self.informative];
            table(x, Response::Real(y), columns, "y")
        };
        Ok((0..self.rows).step_by(rows).map(block))
    }

    /// The coefficients w_1, ..., w_p that [`draw`](Self::draw) has for this seed, in the order of the
    /// columns.
    ///
    /// # Errors
    /// The errors of [`draw`](Self::draw), which also looks at the rows.
    pub fn coefficients(&self, seed: u64) -> Result<Array1<f64>, Error> {
        at_least("features", self.features, 1)?;
        if self.informative > self.features {
            let allowed = format!("at most the {} of `features`", self.features);
            return Err(Error::argument("informative", self.informative, allowed));
        }
        let (largest, not_negative) = (self.largest_coefficient, "from 0 to 1e150");
        within("largest_coefficient", largest, 0.0..=1e150, not_negative)?;
        within("intercept", self.intercept, -1e150..=1e150, "from -1e150 to 1e150")?;
        within("noise_sd", self.noise_sd, 0.0..=1e150, not_negative)?;
        memory::check::<f64>("features", &[(self.features, "coefficients")], "take fewer")?;
        let mut rng = stream(seed, Stream::Truth);
        let mut w = Array1::zeros(self.features);
        //~ simulated-informative
        w.iter_mut().take(self.informative).for_each(|w| *w = largest * (1.0 - rng.uniform()));
        Ok(w)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;
    use crate::linalg::cholesky::Cholesky;
    use approx::assert_abs_diff_eq;
    use ndarray::{Axis, concatenate};

    fn recipe() -> Regression {
        let (rows, features, informative) = (5000, 12, 5);
        let (largest_coefficient, intercept, noise_sd) = (0.4, -7.0, 3.0);
        Regression { rows, features, informative, largest_coefficient, intercept, noise_sd }
    }

    /// The least-squares coefficients of a seed's table less the true ones, each over its standard error,
    /// and the standard deviation of the residuals.
    fn errors_of_least_squares(seed: u64) -> (Vec<f64>, f64) {
        let (data, w) = (recipe().draw(seed).unwrap(), recipe().coefficients(seed).unwrap());
        let (n, p) = data.x().dim();
        let x = concatenate![Axis(1), data.x().view(), Array2::ones((n, 1))];
        let truth = concatenate![Axis(0), w, ndarray::array![-7.0]];
        let y = data.real().unwrap().column(0);
        let gram: Vec<f64> = x.t().dot(&x).iter().copied().collect();
        let factor = Cholesky::new("X^T X", &gram, p + 1).unwrap();
        let solve = |mut b: Vec<f64>| {
            factor.solve_lower(&mut b);
            Array1::from(b)
        };
        // The columns of L^-1, where (X^T X)^-1 = L^-T L^-1.
        let unit = |j| (0..=p).map(|i| if i == j { 1.0 } else { 0.0 }).collect();
        let inverse: Vec<Array1<f64>> = (0..=p).map(|j| solve(unit(j))).collect();
        let solved = solve(x.t().dot(&y).to_vec());
        let estimate: Array1<f64> = inverse.iter().map(|column| column.dot(&solved)).collect();
        let residual = &y - &x.dot(&estimate);
        let sd = (residual.dot(&residual) / (n - p - 1) as f64).sqrt();
        let se = inverse.iter().map(|column| sd * column.dot(column).sqrt());
        let errors = (&estimate - &truth).into_iter().zip(se).map(|(e, se)| e / se);
        (errors.collect(), sd)
    }

    #[test]
    fn least_squares_recover_the_truth_within_their_errors() {
        let (seeds, mut squares) = (200, 0.0);
        for seed in 0..seeds {
            let (errors, sd) = errors_of_least_squares(seed);
            // The sd of an estimated sd is sd / sqrt(2 n) = 0.03.
            assert_abs_diff_eq!(sd, 3.0, epsilon = 0.12);
            assert!(errors.iter().all(|z| z.abs() < 4.5), "seed {seed}: {errors:?}");
            squares += errors.iter().map(|z| z * z).sum::<f64>();
        }
        // Chi-squared with 13 degrees of freedom for each table: a variance of 26.
        let (mean, sd) = (squares / seeds as f64, (26.0 / seeds as f64).sqrt());
        assert!((mean - 13.0).abs() < 4.0 * sd, "{mean}");
    }

    #[test]
    fn without_noise_the_response_is_the_line_of_the_informative_features() {
        let exact = Regression { noise_sd: 0.0, ..recipe() };
        let (data, w) = (exact.draw(2).unwrap(), exact.coefficients(2).unwrap());
        assert!(w.iter().take(5).all(|w| 0.0 < *w && *w <= 0.4));
        assert!(w.iter().skip(5).all(|w| *w == 0.0));
        let line = data.x().dot(&w) - 7.0;
        for (y, line) in data.real().unwrap().iter().zip(&line) {
            assert_abs_diff_eq!(y, line, epsilon = 1e-13);
        }
        let noisy = Regression { rows: 6000, ..recipe() }.draw(2).unwrap();
        assert_eq!(noisy.x().slice(ndarray::s![..5000, ..]), data.x());
        assert_ne!(noisy, Regression { rows: 6000, ..recipe() }.draw(3).unwrap());
        assert_eq!(noisy, Regression { rows: 6000, ..recipe() }.draw(2).unwrap());
    }

    #[test]
    fn blocks_are_the_table() {
        let whole = recipe().draw(3).unwrap();
        for rows in [1, 1700, 5000, usize::MAX] {
            let blocks: Vec<Dataset> =
                recipe().blocks(3, rows).unwrap().map(Result::unwrap).collect();
            assert_eq!(blocks.len(), 5000_usize.div_ceil(rows));
            let x: Vec<_> = blocks.iter().map(|block| block.x().view()).collect();
            let y: Vec<_> = blocks.iter().map(|block| block.real().unwrap().view()).collect();
            assert_eq!(concatenate(Axis(0), &x).unwrap(), whole.x());
            assert_eq!(concatenate(Axis(0), &y).unwrap(), whole.real().unwrap());
        }
        fails!(recipe().blocks(3, 0).map(|_| ()), Argument { name: "rows of a block", value: 0 });
    }

    #[test]
    fn features_are_standard_normal_and_coefficients_uniform() {
        let data = recipe().draw(4).unwrap();
        let n = data.rows() as f64;
        let moments = data.x().t().dot(data.x()) / n;
        for ((i, j), v) in moments.indexed_iter() {
            let (expected, sd) =
                if i == j { (1.0, (2.0 / n).sqrt()) } else { (0.0, n.sqrt().recip()) };
            assert_abs_diff_eq!(*v, expected, epsilon = 4.5 * sd);
        }
        let many = Regression { features: 10_000, informative: 10_000, ..Regression::default() };
        let w = many.coefficients(1).unwrap() / 100.0;
        assert_abs_diff_eq!(w.mean().unwrap(), 0.5, epsilon = 0.012);
        assert_abs_diff_eq!(w.var(0.0), 1.0 / 12.0, epsilon = 0.003);
    }

    #[test]
    fn errors_name_the_argument_and_what_is_allowed() {
        for (message, bad) in [
            ("`rows` is 0, but must be at least 1", Regression { rows: 0, ..recipe() }),
            ("`features` is 0, but must be at least 1", Regression { features: 0, ..recipe() }),
            (
                "`informative` is 13, but must be at most the 12 of `features`",
                Regression { informative: 13, ..recipe() },
            ),
            (
                "`noise_sd` is -1, but must be from 0 to 1e150",
                Regression { noise_sd: -1.0, ..recipe() },
            ),
            (
                "`intercept` is NaN, but must be from -1e150 to 1e150",
                Regression { intercept: f64::NAN, ..recipe() },
            ),
            (
                "`largest_coefficient` is inf, but must be from 0 to 1e150",
                Regression { largest_coefficient: f64::INFINITY, ..recipe() },
            ),
        ] {
            assert_eq!(bad.draw(1).unwrap_err().to_string(), message);
        }
        let none = Regression { informative: 0, ..recipe() };
        assert!(none.coefficients(1).unwrap().iter().all(|w| *w == 0.0) && none.draw(1).is_ok());
        let huge = usize::MAX;
        for (rows, features) in [(huge, 12), (3, huge), (huge, huge), (3, 1 << 58)] {
            fails!(Regression { rows, features, ..recipe() }.draw(1), Memory {});
        }
    }
}
