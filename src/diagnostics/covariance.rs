//! Do two samplers agree on the posterior covariance, within Monte Carlo error?

use std::fmt;

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use super::autocorr::LagProducts;
use super::chains::{Chains, mean, mean_and_variance};
use super::geyer;
use crate::Error;
use crate::draws::Draws;
use crate::threads;

/// The probability with which samplers that agree may be said to differ.
const ALPHA: f64 = 0.01;

/// With fewer effective draws of any product, no verdict is passed.
const MIN_ESS: f64 = 400.0;

/// Whether two samplers agree on the posterior covariance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Agreement {
    /// No difference beyond Monte Carlo error.
    Agree,
    /// The largest difference is beyond Monte Carlo error.
    Differ,
    /// Fewer than 400 effective draws of some product, or no entry to compare.
    TooFewDraws,
}

/// The differences of the entries of two symmetric matrices, and their standard errors, both
/// `[d x d]`; NaN where an entry is undefined or not compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Differences {
    /// The first sampler's entry less the second's.
    pub difference: Array2<f64>,
    /// The standard error of each difference.
    pub standard_error: Array2<f64>,
}

impl Differences {
    /// The differences in units of their standard errors. NaN where both are 0, as with constant
    /// parameters.
    pub fn z(&self) -> Array2<f64> {
        &self.difference / &self.standard_error
    }

    /// The row, column and z of the largest |z|, with row <= column; none if all are NaN.
    pub fn largest(&self) -> Option<(usize, usize, f64)> {
        let z = self.z();
        let upper = z.indexed_iter().filter(|((i, j), z)| i <= j && !z.is_nan());
        upper.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).map(|((i, j), z)| (i, j, *z))
    }
}

/// Two samplers' posterior covariances and correlations compared, within Monte Carlo error.
///
/// For draws x_t of a sampler, t = 1 to S, with means m_i, standard deviations s_i and
/// z_i = (x_i - m_i)/s_i, the estimated covariance C_ij and correlation r_ij are, up to terms of
/// order 1/S, means of
///
/// ```text
/// covariance    p_t = (x_ti - m_i)(x_tj - m_j)
/// correlation   p_t = z_ti z_tj - r_ij (z_ti^2 + z_tj^2) / 2 + r_ij
/// ```
///
/// (the second by the delta method: it is the influence function of r; that the m_i are estimated
/// adds nothing of first order). So each has the Monte Carlo standard error
/// sd(p) / sqrt(ESS_mean(p)), see [`mcse_mean`](super::mcse_mean). Chains that disagree with each
/// other have a small ESS, and hence a large error.
///
/// For two samplers and each entry, the difference over its standard error is
/// z_ij = (C_ij - C'_ij) / sqrt(se_ij^2 + se'_ij^2), and likewise for r, i != j. The d (d + 1)/2
/// covariances and d (d - 1)/2 correlations are d^2 comparisons: the samplers are said to differ if
/// the largest |z| exceeds the normal quantile at 1 - 0.01 / (2 d^2) (Bonferroni), which happens to
/// samplers that agree with a probability of at most 0.01, as far as the z are normal. In their tails
/// the z are normal only with thousands of effective draws: measured, samplers that agree were said
/// to differ in 1 to 4 % of comparisons with 200 to 2,000 effective draws, and in 3 to 9 % with 100
/// against many more. Below 400 effective draws no verdict is passed.
///
/// **Agreement is no more than the absence of a difference that could be seen**:
/// [`CovarianceComparison::resolution`] is the size that a difference of correlations must have to
/// be seen for sure. Modes that neither sampler visited are not seen at all. For a network's
/// weights, compare [canonical](super::Canonical) draws with one reference.
///
/// Two effective sample sizes for each pair and sampler: time d^2 S log S, memory d S.
///
/// ```
/// use bnn_mcmc::diagnostics::{Agreement, CovarianceComparison};
/// use bnn_mcmc::{draws::Draws, layout::Layout, rng::ChainRng};
/// let mut rng = ChainRng::new(1, 0);
/// let mut normal = |correlation: f64| {
///     let mut q = ndarray::Array3::from_shape_simple_fn((4, 1000, 2), || rng.normal());
///     for mut q in q.rows_mut() {
///         q[1] = correlation * q[0] + (1.0 - correlation * correlation).sqrt() * q[1];
///     }
///     Draws::new(Layout::vector("x", 2), q)
/// };
/// let (a, b, c) = (normal(0.5)?, normal(0.5)?, normal(0.7)?);
/// assert_eq!(CovarianceComparison::new(&a, &b)?.agreement(), Agreement::Agree);
/// let comparison = CovarianceComparison::new(&a, &c)?;
/// assert_eq!(comparison.agreement(), Agreement::Differ);
/// println!("{comparison}");
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CovarianceComparison {
    /// The names of the parameters.
    pub names: Vec<String>,
    /// The differences of the covariances, divided by s_i s_j, with s_i^2 the mean of both samplers'
    /// variances.
    pub covariance: Differences,
    /// The differences of the correlations, off the diagonal.
    pub correlation: Differences,
    /// The relative distance |C - C'|_F / |(C + C')/2|_F of the covariance matrices, with entries
    /// divided by s_i s_j as in `covariance`.
    pub frobenius: f64,
    /// The value of `frobenius` that is expected from Monte Carlo error alone (root mean square).
    pub frobenius_noise: f64,
    /// The smallest effective sample size of a product, of either sampler.
    pub min_ess: f64,
    /// The number of entries that were compared.
    pub comparisons: usize,
    /// The largest |z| that samplers which agree may have.
    pub limit: f64,
}

impl CovarianceComparison {
    /// Compares the draws of two samplers, all chains of each.
    ///
    /// Entries are shared out over the threads of rayon's pool; the result does not depend on
    /// their number.
    ///
    /// # Errors
    /// Draws of other parameters, fewer than 4 draws, and draws that are not finite.
    pub fn new(first: &Draws, second: &Draws) -> Result<Self, Error> {
        threads::ready()?;
        let names = first.layout().parameter_names();
        if names != second.layout().parameter_names() {
            let found = second.layout().described();
            return Err(Error::shape("blocks of `second`", found, first.layout().described()));
        }
        first.check_any_parameter()?;
        let (first, second) = (Centred::new("first", first)?, Centred::new("second", second)?);
        let d = names.len();
        let pairs: Vec<(usize, usize)> = (0..d).flat_map(|i| (i..d).map(move |j| (i, j))).collect();
        let entries = threads::map_with(pairs.len(), &Scratch::default, &|scratch, k| {
            let (i, j) = pairs[k];
            [&first, &second].map(|draws| draws.entry(i, j, scratch))
        });

        let scale: Vec<f64> = first
            .variances
            .iter()
            .zip(&second.variances)
            .map(|(a, b)| (0.5 * (a + b)).sqrt())
            .collect();
        let nan = || Array2::from_elem((d, d), f64::NAN);
        let empty = || Differences { difference: nan(), standard_error: nan() };
        let (mut covariance, mut correlation) = (empty(), empty());
        let (mut apart, mut size, mut noise) = (0.0, 0.0, 0.0);
        let mut min_ess = f64::INFINITY;
        for ((i, j), [a, b]) in pairs.into_iter().zip(entries) {
            let unit = scale[i] * scale[j];
            let times = if i == j { 1.0 } else { 2.0 };
            let mut set = |to: &mut Differences, a: Estimate, b: Estimate, unit: f64| {
                let (difference, se) = ((a.value - b.value) / unit, a.se.hypot(b.se) / unit);
                for at in [(i, j), (j, i)] {
                    (to.difference[at], to.standard_error[at]) = (difference, se);
                }
                if !(difference / se).is_nan() {
                    min_ess = min_ess.min(a.ess).min(b.ess);
                }
                (difference, se)
            };
            let (difference, se) = set(&mut covariance, a.covariance, b.covariance, unit);
            if unit > 0.0 {
                apart += times * difference * difference;
                size += times * (0.5 * (a.covariance.value + b.covariance.value) / unit).powi(2);
                noise += times * se * se;
            }
            if i != j {
                set(&mut correlation, a.correlation, b.correlation, 1.0);
            }
        }
        let compared = |x: &Differences| {
            x.z().indexed_iter().filter(|((i, j), z)| i <= j && !z.is_nan()).count()
        };
        let comparisons = compared(&covariance) + compared(&correlation);
        let tail = ALPHA / (2.0 * comparisons.max(1) as f64);
        Ok(Self {
            names,
            covariance,
            correlation,
            frobenius: f64::sqrt(apart / size),
            frobenius_noise: f64::sqrt(noise / size),
            min_ess: if comparisons > 0 { min_ess } else { f64::NAN },
            comparisons,
            limit: -Normal::standard().inverse_cdf(tail),
        })
    }

    /// The largest |z| of all entries; NaN if none was compared.
    pub fn max_z(&self) -> f64 {
        let of = |x: &Differences| x.largest().map_or(f64::NAN, |(_, _, z)| z.abs());
        of(&self.covariance).max(of(&self.correlation))
    }

    /// Whether the samplers agree.
    pub fn agreement(&self) -> Agreement {
        if self.min_ess.is_nan() || self.min_ess < MIN_ESS {
            Agreement::TooFewDraws
        } else if self.max_z() > self.limit {
            Agreement::Differ
        } else {
            Agreement::Agree
        }
    }

    /// The size of a difference of correlations that would be seen with a probability of at least
    /// 97.5 %, whichever the entry: the largest standard error times the limit plus 1.96. NaN
    /// below two parameters.
    pub fn resolution(&self) -> f64 {
        let largest = self.correlation.standard_error.iter().copied().fold(f64::NAN, f64::max);
        (self.limit + 1.96) * largest
    }
}

/// The verdict in a sentence, the largest differences, and the distance of the matrices.
impl fmt::Display for CovarianceComparison {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.agreement() {
            Agreement::Agree => writeln!(
                f,
                "the covariances agree: no difference of {} beyond {:.2} standard errors; \
                 correlations that differ by {:.3} would have been seen",
                self.comparisons,
                self.limit,
                self.resolution(),
            ),
            Agreement::Differ => writeln!(
                f,
                "the covariances differ: by up to {:.2} standard errors, where {:.2} are allowed \
                 for {} comparisons",
                self.max_z(),
                self.limit,
                self.comparisons,
            ),
            Agreement::TooFewDraws => writeln!(
                f,
                "not judged: {:.0} effective draws of some product, where {MIN_ESS} are needed",
                self.min_ess,
            ),
        }?;
        let both = [("covariance", &self.covariance), ("correlation", &self.correlation)];
        for (what, differences) in both {
            if let Some((i, j, z)) = differences.largest() {
                let (a, b, by) = (&self.names[i], &self.names[j], differences.difference[(i, j)]);
                writeln!(
                    f,
                    "largest difference of {what}: {a}, {b}: {by:.4} ({z:.2} standard errors)"
                )?;
            }
        }
        writeln!(
            f,
            "relative distance (Frobenius): {:.4}; {:.4} expected from Monte Carlo error alone",
            self.frobenius, self.frobenius_noise,
        )
    }
}

/// An estimate, its standard error and effective sample size.
#[derive(Clone, Copy)]
struct Estimate {
    value: f64,
    se: f64,
    ess: f64,
}

struct Entry {
    covariance: Estimate,
    correlation: Estimate,
}

#[derive(Default)]
struct Scratch {
    series: Vec<f64>,
    fft: LagProducts,
}

/// Draws less their means, one parameter after the other, `[parameter][chain][draw]`.
struct Centred {
    values: Vec<f64>,
    variances: Vec<f64>,
    chains: usize,
    draws: usize,
}

impl Centred {
    fn new(name: &str, draws: &Draws) -> Result<Self, Error> {
        let (chains, length, d) = draws.values().dim();
        if chains == 0 || length < 4 {
            let found = format!("{chains} chains of {length}");
            return Err(Error::shape(format!("draws of `{name}`"), found, "1 chain of 4 draws"));
        }
        if let Some((at, x)) = draws.values().indexed_iter().find(|(_, x)| !x.is_finite()) {
            let found = format!("{x} in chain {}, draw {}, parameter {}", at.0, at.1, at.2);
            return Err(Error::argument(name, found, "finite"));
        }
        let mut values = Vec::with_capacity(chains * length * d);
        let mut variances = Vec::with_capacity(d);
        for column in draws.flat().columns() {
            let start = values.len();
            values.extend(column);
            let centred = &mut values[start..];
            let centre = mean(centred);
            centred.iter_mut().for_each(|x| *x -= centre);
            variances.push(mean_and_variance(centred).1);
        }
        Ok(Self { values, variances, chains, draws: length })
    }

    fn entry(&self, i: usize, j: usize, scratch: &mut Scratch) -> Entry {
        let size = self.chains * self.draws;
        let column = |i: usize| &self.values[i * size..(i + 1) * size];
        let pairs = || column(i).iter().zip(column(j));
        let covariance = self.estimate(pairs().map(|(x, y)| x * y), scratch);
        // With n - 1 in the denominator.
        let value = covariance.value * size as f64 / (size as f64 - 1.0);
        let covariance = Estimate { value, ..covariance };
        let nan = Estimate { value: f64::NAN, se: f64::NAN, ess: f64::NAN };
        let (si, sj) = (self.variances[i].sqrt(), self.variances[j].sqrt());
        if i == j || si == 0.0 || sj == 0.0 {
            return Entry { covariance, correlation: nan };
        }
        let r = value / si / sj;
        let influence = pairs().map(|(x, y)| {
            let (x, y) = (x / si, y / sj);
            x * y - 0.5 * r * (x * x + y * y)
        });
        let correlation = Estimate { value: r, ..self.estimate(influence, scratch) };
        Entry { covariance, correlation }
    }

    /// The mean of a series.
    fn estimate(&self, series: impl Iterator<Item = f64>, scratch: &mut Scratch) -> Estimate {
        scratch.series.clear();
        scratch.series.extend(series);
        let (value, variance) = mean_and_variance(&scratch.series);
        let chains = Chains::from_slice(&scratch.series, self.chains, self.draws);
        let ess = geyer::of_series(&chains.split(), &mut scratch.fft);
        Estimate { value, se: (variance / ess).sqrt(), ess }
    }
}
