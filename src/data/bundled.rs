//! Seven small public data sets, embedded in the library (feature `datasets`, on by default).
//!
//! Nothing is scaled or left out here; sources, licences and checksums are in the folder `data/`
//! of the repository.
//!
//! ```
//! use bnn_mcmc::data::bundled;
//! let iris = bundled::iris();
//! assert_eq!((iris.rows(), iris.n_features()), (150, 4));
//! let (train, test) = bundled::sunspot_windows();
//! assert_eq!((train.rows(), test.rows()), (298, 198));
//! ```

use super::{CsvReader, Dataset, Takens, smooth_13_months};

const IRIS: &str = include_str!("../../data/iris.csv");
const ABALONE: &str = include_str!("../../data/abalone.csv");
const BOSTON: &str = include_str!("../../data/boston.csv");
const IONOSPHERE: &str = include_str!("../../data/ionosphere.csv");
const SUNSPOT: &str = include_str!("../../data/sunspot.csv");
const WINE_RED: &str = include_str!("../../data/wine_red.csv");
const DIGITS: &[u8] = include_bytes!("../../data/digits.csv.gz");

/// Reads an embedded file; tests have read every one of them.
fn embedded(reader: CsvReader, text: impl AsRef<[u8]>) -> Dataset {
    reader.read(text.as_ref()).expect("an embedded file is valid").dataset
}

/// Fisher's iris flowers: 150 rows, four lengths in cm, classes setosa, versicolor and virginica
/// of 50 rows each. Rows 102 and 143 are the same.
///
/// The numbers are from Fisher's article. The widespread copy of the UCI repository, which the
/// tutorial uses, differs from it in rows 35 and 38.
pub fn iris() -> Dataset {
    embedded(CsvReader::classification("species"), IRIS)
}

/// Abalone shells: 4,177 rows; the response is the number of rings, 1 to 29 (age in years less
/// 1.5). The ten features are sex in one-hot coding (`sex=F`, `sex=I` for infant, `sex=M`) and
/// seven measures, lengths in units of 200 mm and weights in units of 200 g.
///
/// Two rows have a height of 0, and two have heights far above all others. (The tutorial codes sex
/// as M 0, F 1, I 2, and scales all columns to 0 to 1 over all rows.)
pub fn abalone() -> Dataset {
    embedded(CsvReader::regression("rings"), ABALONE)
}

/// Boston housing: 506 census tracts of 1970; 13 features, among them the crime rate `crim`, nitric
/// oxides `nox` and rooms per dwelling `rm`; the response `medv` is the median value of homes in
/// thousands of dollars.
///
/// The column `b` encodes race: it is 1000 (Bk - 0.63)^2, where Bk is the proportion of Black
/// residents of the town. The data are here for comparison with published benchmarks only, and all
/// columns are there because the benchmarks use them. To leave `b` out:
///
/// ```
/// let boston = bnn_mcmc::data::bundled::boston();
/// let names = boston.feature_names().iter().filter(|name| *name != "b");
/// let without = boston.select_features(names)?;
/// assert_eq!((boston.n_features(), without.n_features()), (13, 12));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// The response is cut off at 50, which 16 rows have. Its values are from 1978, without the
/// corrections that were published later.
pub fn boston() -> Dataset {
    embedded(CsvReader::regression("medv"), BOSTON)
}

/// Red wines from Portugal: 1,599 rows, 11 physico-chemical measures such as `fixed acidity` and
/// `alcohol`; the response is the quality as graded by tasters, a whole number from 3 to 8.
///
/// 240 rows are equal to an earlier one, so that a random split puts copies of some rows into both
/// sets. (The grades become classes by reading `data/wine_red.csv` of the repository with
/// [`CsvReader::classification`].)
pub fn wine_red() -> Dataset {
    embedded(CsvReader::regression("quality"), WINE_RED)
}

/// Radar returns from the ionosphere: 351 rows, 34 features (real and imaginary part of 17
/// pulses), classes bad (126 rows) and good (225).
///
/// The second feature, `pulse01_im`, is 0 in all rows: scaling needs
/// [`allow_constant`](super::Standardise::allow_constant).
pub fn ionosphere() -> Dataset {
    embedded(CsvReader::classification("class"), IONOSPHERE)
}

/// Handwritten digits of 8x8 pixels: 1,797 rows, 64 features `px00` to `px77` (row, column) that
/// are whole numbers from 0 (white) to 16 (black), and the ten classes `0` to `9`.
///
/// [`select_classes`](Dataset::select_classes) takes some of them, as the ones and sevens:
///
/// ```
/// let digits = bnn_mcmc::data::bundled::digits().select_classes(["1", "7"])?;
/// assert_eq!(digits.response().class_sizes().unwrap(), [182, 179]);
/// let x = digits.x() / 16.0; // between 0 and 1
/// let digits = digits.with_x(x)?;
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// Three pixels are 0 in all rows (more in a subset of the classes): divide by 16 as here, or call
/// [`allow_constant`](super::Standardise::allow_constant).
pub fn digits() -> Dataset {
    embedded(CsvReader::classification("digit"), DIGITS)
}

/// One month's mean sunspot number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SunspotMonth {
    /// The year, 1749 to 2013.
    pub year: u16,
    /// The month, 1 to 12.
    pub month: u8,
    /// The monthly mean sunspot number, version 1 of the series.
    pub sunspots: f64,
}

/// The monthly mean sunspot numbers, January 1749 to September 2013: 3,177 months without a gap.
pub fn sunspot_monthly() -> Vec<SunspotMonth> {
    let data = embedded(CsvReader::regression("sunspots"), SUNSPOT);
    let (months, Ok(numbers)) = (data.x(), data.real()) else { return Vec::new() };
    let month = |(when, y): (ndarray::ArrayView1<f64>, ndarray::ArrayView1<f64>)| SunspotMonth {
        year: when[0] as u16,
        month: when[1] as u8,
        sunspots: y[0],
    };
    months.rows().into_iter().zip(numbers.rows()).map(month).collect()
}

/// The smoothed series of the tutorial by Chandra and others: 1,000 months from June 1833 on, as
/// fractions of 147.9 (not of the series' own maximum).
///
/// It is the [13-month mean](smooth_13_months) rounded to one decimal. The tutorial's own
/// values differ from these by rounding, 0.1 sunspots at most.
pub fn sunspot() -> Vec<f64> {
    let months = sunspot_monthly();
    let first = months.iter().position(|m| (m.year, m.month) == (1833, 6)).unwrap_or(0);
    let raw: Vec<f64> = months.iter().map(|m| m.sunspots).collect();
    // Value i of the smoothed series belongs to month i + 6.
    let smoothed = smooth_13_months(&raw).expect("the embedded series is long enough");
    let scaled = smoothed[first - 6..].iter().map(|s| (s * 10.0).round() / 10.0 / 147.9);
    scaled.take(1000).collect()
}

/// Training and test rows of [`sunspot`]: 298 and 198 windows of four inputs and the next value.
///
/// The series is cut after 600 values and embedded afterwards, so that no value is in both sets;
/// the windows start at every second month.
pub fn sunspot_windows() -> (Dataset, Dataset) {
    let series = sunspot();
    let takens = Takens { window: 4, lag: 1, stride: 2, horizon: 1 };
    let embed = |part: &[f64]| takens.embed(part).expect("the embedded series is long enough");
    (embed(&series[..600]), embed(&series[600..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;
    use approx::assert_abs_diff_eq;
    use ndarray::Axis;

    #[test]
    fn iris_is_fisher_s() {
        let data = iris();
        assert_eq!(data.response().class_names().unwrap(), ["setosa", "versicolor", "virginica"]);
        assert_eq!(data.response().class_sizes().unwrap(), [50, 50, 50]);
        let means = data.x().mean_axis(Axis(0)).unwrap();
        let fisher = [5.843333333333334, 3.0573333333333332, 3.758, 1.1993333333333334];
        for (mean, expected) in means.iter().zip(fisher) {
            assert_abs_diff_eq!(*mean, expected, epsilon = 1e-12);
        }
        assert_eq!(data.x().row(101), data.x().row(142));
    }

    #[test]
    fn abalone_has_its_sexes_and_rings() {
        let data = abalone();
        assert_eq!((data.rows(), data.n_features()), (4177, 10));
        assert_eq!(data.feature_names()[..4], ["sex=F", "sex=I", "sex=M", "length"]);
        let sums = data.x().sum_axis(Axis(0));
        assert_eq!(sums.iter().take(3).copied().collect::<Vec<_>>(), [1307.0, 1342.0, 1528.0]);
        let rings = data.real().unwrap();
        assert_eq!(rings.sum(), 41493.0);
        assert_eq!(rings.fold(0.0_f64, |a, &b| a.max(b)), 29.0);
        let height = data.feature_names().iter().position(|n| n == "height").unwrap();
        assert_eq!(data.x().column(height).iter().filter(|h| **h == 0.0).count(), 2);
        assert_eq!(data.x().column(height).iter().filter(|h| **h > 0.5).count(), 2);
    }

    #[test]
    fn boston_has_its_columns_and_values() {
        let data = boston();
        assert_eq!((data.rows(), data.n_features()), (506, 13));
        let names = "crim zn indus chas nox rm age dis rad tax ptratio b lstat";
        assert_eq!(data.feature_names().join(" "), names);
        let values = data.real().unwrap();
        assert_abs_diff_eq!(values.sum(), 11401.6, epsilon = 1e-9);
        assert_eq!(values.iter().filter(|v| **v == 50.0).count(), 16);
        assert!(values.iter().all(|v| (5.0..=50.0).contains(v)));
        let sums = data.x().sum_axis(Axis(0));
        assert_abs_diff_eq!(sums[0], 1828.44292, epsilon = 1e-9);
        assert_eq!((sums[3], sums[9]), (35.0, 206_568.0));
        // A square of a share from 0 to 1: at most 1000 * 0.63^2.
        assert!(data.x().column(11).iter().all(|b| (0.0..=396.9).contains(b)));
    }

    #[test]
    fn red_wine_has_its_measures_and_grades() {
        let data = wine_red();
        assert_eq!((data.rows(), data.n_features()), (1599, 11));
        assert_eq!(data.feature_names()[..2], ["fixed acidity", "volatile acidity"]);
        assert_eq!(data.feature_names()[10], "alcohol");
        let grades = data.real().unwrap();
        let count = |grade: &f64| grades.iter().filter(|g| *g == grade).count();
        let counts = [3.0, 4.0, 5.0, 6.0, 7.0, 8.0].map(|grade| count(&grade));
        assert_eq!(counts, [10, 53, 681, 638, 199, 18]);
        let sums = data.x().sum_axis(Axis(0));
        assert_eq!((sums[5], sums[6]), (25384.0, 74302.0));
        let mut rows: Vec<_> =
            data.x().rows().into_iter().zip(grades).map(|(x, y)| (x.to_vec(), *y)).collect();
        rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
        rows.dedup();
        assert_eq!(rows.len(), 1599 - 240);
    }

    #[test]
    fn ionosphere_has_a_feature_without_information() {
        let data = ionosphere();
        assert_eq!((data.rows(), data.n_features()), (351, 34));
        assert_eq!(data.response().class_names().unwrap(), ["bad", "good"]);
        assert_eq!(data.response().class_sizes().unwrap(), [126, 225]);
        assert!(data.x().column(1).iter().all(|v| *v == 0.0));
        assert!(data.x().iter().all(|v| v.abs() <= 1.0));
        let fitted = super::super::Standardise::new().fit_features(&data);
        fails!(fitted, Table { table: "column `pulse01_im`" });
    }

    #[test]
    fn digits_have_their_classes_and_pixels() {
        let data = digits();
        assert_eq!((data.rows(), data.n_features()), (1797, 64));
        assert!(
            data.response()
                .class_names()
                .unwrap()
                .iter()
                .eq(&["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"])
        );
        let sizes = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180];
        assert_eq!(data.response().class_sizes().unwrap(), sizes);
        assert_eq!(data.feature_names()[9], "px11");
        assert!(data.x().iter().all(|v| (0.0..=16.0).contains(v) && v.fract() == 0.0));
        assert_eq!(data.x().sum(), 561_718.0);
        let constant = |j: &usize| data.x().column(*j).iter().all(|v| *v == 0.0);
        assert_eq!((0..64).filter(constant).collect::<Vec<_>>(), [0, 32, 39]);
        // The first row is a zero: a ring with nothing in the middle.
        assert_eq!(data.classes().unwrap()[0], 0);
        assert_eq!(data.x().row(0).to_vec()[8..16], [0.0, 0.0, 13.0, 15.0, 10.0, 15.0, 5.0, 0.0]);
    }

    #[test]
    fn the_sunspot_months_are_without_a_gap() {
        let months = sunspot_monthly();
        assert_eq!(months.len(), 3177);
        for (i, m) in months.iter().enumerate() {
            assert_eq!((usize::from(m.year), usize::from(m.month)), (1749 + i / 12, 1 + i % 12));
        }
        assert_eq!(months[0].sunspots, 58.0);
        assert_eq!((months[3176].year, months[3176].month), (2013, 9));
    }

    #[test]
    fn the_smoothed_sunspots_are_the_tutorial_s() {
        let series = sunspot();
        assert_eq!(series.len(), 1000);
        assert_abs_diff_eq!(series[0] * 147.9, 9.3, epsilon = 1e-9);
        let (train, test) = sunspot_windows();
        assert_eq!((train.rows(), test.rows()), (298, 198));
        assert_eq!(train.x()[(1, 0)], series[2]);
        assert_eq!(test.x()[(0, 0)], series[600]);
        assert_eq!(test.real().unwrap()[(197, 0)], series[600 + 2 * 197 + 4]);
    }
}
