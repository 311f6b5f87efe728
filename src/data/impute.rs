//! Multiple imputation: values for the missing cells of a table, drawn given all others.
//!
//! **Chained equations, with residuals or predictive mean matching.** In turn, the cells of each column c that has gaps are drawn
//! given all other columns, the response among them, with the present values in their gaps; after some cycles the
//! table is complete. One column, with d features of which each is standardised, and z_i the p other numbers of row i
//! and a 1: in the n rows where c is known,
//!
//! ```text
//! A = Z^T Z, its diagonal times 1 + 1/n      B = A^-1 Z^T Y      r_k = |Y_k - Z B_k|^2      k = 1 .. d
//! s_k^2 ~ r_k / chi^2(n - p - 1)              B*_k ~ N(B_k, s_k^2 A^-1)
//! ```
//!
//! (a draw of the posterior of a linear regression, of which the prior knows as much as one row: Kass and Wasserman 1995,
//! <https://doi.org/10.1080/01621459.1995.10476592>). A flatter prior would leave open what a label means that training does not
//! have: all levels of a column together are a combination of columns that is the same in all rows but these.
//! Rows with weights count as often as their weights say: in A, in Z^T Y, in r_k, in n, and where a row is chosen; rows of weight
//! 0 are given cells, and give none. Row i without a value takes
//!
//! - a **number** of a column of numbers with more than 20 different ones, if n is more than 2 (p + 1): z_i B* + (y_j - z_j B) s / (r / (n - p - 1))^1/2, with the
//!   residual of a row j chosen at random among all that have a value: it follows the regression also where few such
//!   rows are, and is as skew as they are;
//! - any **other cell**: from a row j, with all its features, chosen at random among the five of least
//!   sum_k (z_i B*_k - z_j B_k)^2 / (r_k / (n - p - 1)): labels stay labels, and grades stay whole.
//!
//! Where a column depends on others in ways of which a linear function sees nothing, that dependence is weakened. The
//! cells are taken to be missing at random: whether one is missing depends on cells that are known.
//!
//! Sources: Rubin 1987, Multiple Imputation for Nonresponse in Surveys, <https://doi.org/10.1002/9780470316696>;
//! matching: Little 1988, <https://doi.org/10.1080/07350015.1988.10509663>; its details: Morris, White and Royston 2014,
//! <https://doi.org/10.1186/1471-2288-14-75> (their residuals come from near rows, which are too few where most cells
//! are missing: spreads came out too small); chained equations: van Buuren and Groothuis-Oudshoorn 2011,
//! <https://doi.org/10.18637/jss.v045.i03>.

use std::collections::HashSet;
use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, concatenate, s};
use rand::Rng;

use super::{Dataset, Response};
use crate::Error;
use crate::linalg::cholesky::Cholesky;
use crate::linalg::dot::dot;
use crate::portable::{ln, ln_1p};
use crate::rng::ChainRng;

/// The cycles through the columns.
const CYCLES: usize = 10;
/// The rows among which one is chosen.
const NEAREST: usize = 5;
/// The most rows among which the nearest are looked for; beyond, as many are chosen at random.
const DONORS: usize = 2000;
/// A column with more different numbers is one of measurements; with at most as many, of grades.
const GRADES: usize = 20;

/// The features of a column with gaps, and the one that is 1 in the rows where it has none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Gap {
    pub(crate) column: String,
    pub(crate) features: Range<usize>,
    pub(crate) mark: usize,
    /// Whether the features stand for labels: then the column is not one of measurements.
    pub(crate) labels: bool,
    /// What stands there in rows that were not completed.
    pub(crate) stand_in: Vec<f64>,
}

impl Gap {
    fn is_in(&self, row: ArrayView1<f64>) -> bool {
        row[self.mark] != 0.0
    }

    /// Whether a row has a value that was drawn, and is not what stands in for one.
    fn is_drawn_in(&self, row: ArrayView1<f64>) -> bool {
        let mut values = self.features.clone().zip(&self.stand_in);
        self.is_in(row) && values.any(|(k, value)| row[k] != *value) //~ drawn-cell
    }
}

/// Rows that others are completed by, as often as their weights say.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) x: ArrayView2<'a, f64>,
    pub(crate) weights: Option<ArrayView1<'a, f64>>,
}

impl Known<'_> {
    fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row]) //~ imputed-weights
    }
}

/// Draws the missing cells of the rows of `data`, which may hold any numbers, given all others and the response.
///
/// # Errors
/// A column without a value in any row; numbers whose squares are not finite.
pub(crate) fn complete(
    data: &Dataset,
    gaps: &[Gap],
    rng: &mut ChainRng,
) -> Result<Array2<f64>, Error> {
    let (response, weights) = (data.response(), data.weights());
    let features = data.n_features();
    let mut all = concatenate![Axis(1), *data.x(), columns_of(response)]; //~ imputed-response
    let rows: Vec<Vec<usize>> = gaps.iter().map(|gap| rows_of(all.view(), gap, true)).collect();
    let known = Known { x: all.view(), weights };
    let donors: Vec<Vec<usize>> =
        gaps.iter().map(|gap| donors(known, gap)).collect::<Result<_, _>>()?;
    for ((gap, rows), donors) in gaps.iter().zip(&rows).zip(&donors) {
        for &row in rows {
            let from = donors[rng.random_range(0..donors.len())];
            gap.features.clone().for_each(|k| all[(row, k)] = all[(from, k)]);
        }
    }
    let mut cell = Vec::new();
    for _ in 0..CYCLES {
        for ((gap, rows), donors) in gaps.iter().zip(&rows).zip(&donors) {
            if rows.is_empty() {
                continue;
            }
            let known = Known { x: all.view(), weights };
            let matching = Matching::new(known, (gap, gaps), donors, rng)?;
            for &row in rows {
                matching.draw(all.view(), all.row(row), rng, &mut cell);
                gap.features.clone().zip(&cell).for_each(|(k, value)| all[(row, k)] = *value);
            }
        }
    }
    Ok(all.slice_move(s![.., ..features]))
}

/// Values for the missing cells of new rows, whose response is not known, given their other cells. Equal rows are given equal
/// values, in whatever table they are; a row that was completed before stays as it is.
pub(crate) struct Completion<'a> {
    known: Known<'a>,
    gaps: Vec<Gap>,
    /// For each gap that a new row has, its place among all and its regression.
    used: Vec<(usize, Matching)>,
    /// The bits of the known rows that have gaps.
    completed: HashSet<Vec<u64>>,
    rng: ChainRng,
}

impl<'a> Completion<'a> {
    /// For rows with the gaps of `new`. `known` are complete rows.
    ///
    /// # Errors
    /// Numbers whose squares are not finite.
    pub(crate) fn new(
        known: Known<'a>,
        new: ArrayView2<f64>,
        gaps: Vec<Gap>,
        rng: ChainRng,
    ) -> Result<Self, Error> {
        let mut used = Vec::new();
        // Also those whose own cell was drawn: without the response, the known ones alone may not be like the others.
        let all: Vec<usize> = (0..known.x.nrows()).filter(|row| known.weight(*row) > 0.0).collect(); //~ donors-of-new
        for (place, gap) in gaps.iter().enumerate() {
            if new.rows().into_iter().any(|row| gap.is_in(row)) {
                let mut rng = rng.child(place as u64);
                used.push((place, Matching::new(known, (gap, &gaps), &all, &mut rng)?));
            }
        }
        let with_gaps = |row: &ArrayView1<f64>| gaps.iter().any(|gap| gap.is_in(*row));
        let completed = known.x.rows().into_iter().filter(with_gaps).map(bits).collect();
        Ok(Self { known, gaps, used, completed, rng })
    }

    /// The rows with values drawn for the `time`-th time, from 0.
    pub(crate) fn draw(&self, new: ArrayView2<f64>, time: u64) -> Array2<f64> {
        let Self { known, gaps, used, completed, rng } = self;
        let (mut new, mut cell) = (new.to_owned(), Vec::new());
        for mut row in new.rows_mut() {
            let is_drawn = gaps.iter().any(|gap| gap.is_drawn_in(row.view()));
            //~ completed-before
            if is_drawn && completed.contains(&bits(row.view())) {
                continue;
            }
            let of_row = |(place, _): &&(usize, Matching)| gaps[*place].is_in(row.view());
            let open: Vec<_> = used.iter().filter(of_row).map(|(_, matching)| matching).collect();
            let mut hash = crc32fast::Hasher::new();
            row.iter().for_each(|x| hash.update(&x.to_bits().to_le_bytes()));
            let mut rng = rng.child((gaps.len() as u64) + u64::from(hash.finalize()));
            if time > 0 {
                rng = rng.child(time); //~ completed-anew
            }
            for matching in &open {
                let from = matching.donors[rng.random_range(0..matching.donors.len())];
                matching.features.clone().for_each(|k| row[k] = known.x[(from, k)]);
            }
            // A single gap needs no cycles.
            let cycles = if open.len() == 1 { 1 } else { CYCLES };
            for _ in 0..cycles {
                for matching in &open {
                    matching.draw(known.x, row.view(), &mut rng, &mut cell);
                    matching.features.clone().zip(&cell).for_each(|(k, value)| row[k] = *value);
                }
            }
        }
        gaps.iter().for_each(|gap| new.column_mut(gap.mark).fill(0.0)); //~ marks-of-new
        new
    }
}

fn bits(row: ArrayView1<f64>) -> Vec<u64> {
    row.iter().map(|x| x.to_bits()).collect()
}

/// The response as numbers to predict missing cells from: real numbers as they are, counts y as log(1 + y), an indicator
/// for each class but the first; of a time or another number with bounds one of these, its log where all are above 0, and
/// whether the bounds differ.
fn columns_of(response: &Response) -> Array2<f64> {
    match response {
        Response::Real(y) => y.clone(),
        Response::Counts(y) => y.mapv(ln_1p),
        Response::Classes { index, names } => {
            let is = |(row, class)| f64::from(u8::from(index[row] == class + 1));
            Array2::from_shape_fn((index.len(), names.len() - 1), is)
        }
        Response::Censored { lower, upper } => {
            let known = |row: usize| if lower[row].is_finite() { lower[row] } else { upper[row] };
            let positive = (0..lower.len()).all(|row| known(row) > 0.0);
            Array2::from_shape_fn((lower.len(), 2), |(row, column)| match column {
                0 if positive => ln(known(row)),
                0 => known(row),
                _ => f64::from(u8::from(upper[row] > lower[row])),
            })
        }
    }
}

/// The rows that have no value of the column, or those that have one.
fn rows_of(x: ArrayView2<f64>, gap: &Gap, missing: bool) -> Vec<usize> {
    (0..x.nrows()).filter(|&row| gap.is_in(x.row(row)) == missing).collect()
}

fn donors(known: Known, gap: &Gap) -> Result<Vec<usize>, Error> {
    let mut rows = rows_of(known.x, gap, false);
    rows.retain(|row| known.weight(*row) > 0.0);
    if rows.is_empty() {
        let found = format!("without a value in any of {} training rows", known.x.nrows());
        return Err(Error::argument(format!("column `{}`", gap.column), found, "with some values"));
    }
    Ok(rows)
}

/// Numbers less their mean in some rows, in units of the largest distance from it.
struct Standard {
    column: usize,
    mean: f64,
    scale: f64,
}

impl Standard {
    /// `None` of a constant column.
    fn new(known: Known, column: usize, rows: &[usize], n: f64) -> Option<Self> {
        let x = known.x;
        let mean: f64 = rows.iter().map(|&row| known.weight(row) * x[(row, column)] / n).sum();
        let scale =
            rows.iter().fold(0.0, |max: f64, &row| max.max((x[(row, column)] - mean).abs()));
        (scale > 1e-12 * mean.abs()).then_some(Self { column, mean, scale })
    }

    fn of(&self, row: ArrayView1<f64>) -> f64 {
        (row[self.column] - self.mean) / self.scale
    }
}

/// The sum of the numbers up to each.
fn up_to(numbers: &[f64]) -> Vec<f64> {
    let add = |sum: &mut f64, number: &f64| {
        *sum += number;
        Some(*sum)
    };
    numbers.iter().scan(0.0, add).collect()
}

/// A place with a probability in proportion to its part of these sums.
fn choose(sums: &[f64], rng: &mut ChainRng) -> usize {
    let at = sums[sums.len() - 1] * rng.uniform();
    sums.partition_point(|sum| *sum <= at).min(sums.len() - 1)
}

/// How many different numbers there are.
fn different(numbers: impl Iterator<Item = f64>) -> usize {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.dedup();
    numbers.len()
}

/// Regressions on the same predictors.
struct Regression {
    /// Z by columns.
    z: Vec<Vec<f64>>,
    /// The weights of the rows; 1 of each where they have none.
    weights: Vec<f64>,
    /// Z, each row of it times its weight, if there are weights.
    weighted: Option<Vec<Vec<f64>>>,
    /// The sum of the weights, n.
    rows_of_all: f64,
    /// The factor of A.
    factor: Cholesky,
}

impl Regression {
    /// `is_weighted` says that the weights may be others than 1.
    fn new(z: Vec<Vec<f64>>, weights: Vec<f64>, is_weighted: bool) -> Result<Self, Error> {
        let (p, rows_of_all) = (z.len(), weights.iter().sum::<f64>());
        let weighted = is_weighted.then(|| {
            let column = |z: &Vec<f64>| z.iter().zip(&weights).map(|(z, w)| z * w).collect();
            z.iter().map(column).collect::<Vec<Vec<f64>>>()
        });
        let mut a = vec![0.0; p * p];
        for (i, left) in weighted.as_ref().unwrap_or(&z).iter().enumerate() {
            (0..=i).for_each(|j| a[i * p + j] = dot::<8>(left, &z[j]));
            a[i * p + i] *= 1.0 + 1.0 / rows_of_all; //~ imputed-prior
        }
        let factor = Cholesky::new("products of the columns", &a, p)?;
        Ok(Self { z, weights, weighted, rows_of_all, factor })
    }

    /// The places of the rows among which the nearest are looked for.
    fn donors(&self, rng: &mut ChainRng) -> Vec<usize> {
        let n = self.weights.len();
        let mut donors: Vec<usize> = (0..n).collect();
        if n > DONORS && self.weighted.is_some() {
            // Copies of rows, as often as their weights say: each of them counts once.
            let sums: Vec<f64> = up_to(&self.weights);
            donors = (0..DONORS).map(|_| choose(&sums, rng)).collect(); //~ weighted-donors
        } else if n > DONORS {
            (0..DONORS).for_each(|i| donors.swap(i, rng.random_range(i..n)));
            donors.truncate(DONORS);
        }
        donors
    }

    /// B of a feature `y`, its residual standard deviation, and a drawn one, s.
    fn fit(&self, y: &[f64], rng: &mut ChainRng) -> (Vec<f64>, f64, f64) {
        let weighted = self.weighted.as_ref().unwrap_or(&self.z).iter();
        let mut b: Vec<f64> = weighted.map(|z| dot::<8>(z, y)).collect();
        self.factor.solve_lower(&mut b);
        self.factor.solve_lower_transpose(&mut b);
        let square = |row: usize| self.weights[row] * (y[row] - self.at(row, &b)).powi(2);
        let r: f64 = (0..y.len()).map(square).sum();
        let freedom = (self.rows_of_all - self.z.len() as f64).max(1.0);
        // Where nothing is left over, distances are in units of the feature's own spread.
        let sd = if r > 1e-18 { (r / freedom).sqrt() } else { 1.0 };
        let s = (r / (2.0 * rng.gamma(0.5 * freedom))).sqrt();
        (b, sd, s)
    }

    /// z B of a row.
    fn at(&self, row: usize, b: &[f64]) -> f64 {
        self.z.iter().zip(b).map(|(z, b)| z[row] * b).sum()
    }

    /// A draw of N(0, A^-1).
    fn noise(&self, rng: &mut ChainRng) -> Vec<f64> {
        let mut noise = vec![0.0; self.z.len()];
        rng.fill_normal(&mut noise);
        self.factor.solve_lower_transpose(&mut noise);
        noise
    }
}

/// The regression of one column on the others, and the rows that have a value of it.
struct Matching {
    predictors: Vec<Standard>,
    /// B*, `[feature][predictor]`, divided by the residual standard deviation; the last predictor is 1.
    drawn: Vec<Vec<f64>>,
    donors: Vec<usize>,
    /// The weights of the donors before each, and its own, if there are any.
    chances: Option<Vec<f64>>,
    /// z_j B of each donor j, divided likewise: `[donor][feature]`.
    fitted: Vec<f64>,
    features: Range<usize>,
    /// Of a column of measurements: its standard form, the residual standard deviation, and the drawn one by it.
    measured: Option<(Standard, f64, f64)>,
}

impl Matching {
    fn new(
        known: Known,
        (gap, gaps): (&Gap, &[Gap]),
        rows: &[usize],
        rng: &mut ChainRng,
    ) -> Result<Self, Error> {
        let is_predictor = |column: &usize| {
            !gap.features.contains(column) && gaps.iter().all(|gap| gap.mark != *column) //~ imputed-by-itself
        };
        let x = known.x;
        let weights: Vec<f64> = rows.iter().map(|&row| known.weight(row)).collect();
        let rows_of_all: f64 = weights.iter().sum();
        let standard = |column| Standard::new(known, column, rows, rows_of_all);
        let predictors: Vec<Standard> =
            (0..x.ncols()).filter(is_predictor).filter_map(standard).collect();
        let of_rows = |number: &Standard| rows.iter().map(|&row| number.of(x.row(row))).collect();
        let mut z: Vec<Vec<f64>> = predictors.iter().map(of_rows).collect();
        z.push(vec![1.0; rows.len()]);
        let regression = Regression::new(z, weights, known.weights.is_some())?;
        let donors = regression.donors(rng);
        let features: Vec<Standard> = gap.features.clone().filter_map(standard).collect();
        let mut drawn = Vec::with_capacity(features.len());
        let mut fitted = vec![0.0; donors.len() * features.len()];
        let mut units = None;
        for (k, feature) in features.iter().enumerate() {
            let (b, sd, s) = regression.fit(&of_rows(feature), rng);
            for (place, &donor) in donors.iter().enumerate() {
                fitted[place * features.len() + k] = regression.at(donor, &b) / sd;
            }
            units.get_or_insert((sd, s / sd));
            let noise = regression.noise(rng);
            drawn.push(b.iter().zip(&noise).map(|(b, noise)| (b + s * noise) / sd).collect());
        }
        let Regression { z, weights, weighted, .. } = regression;
        let chances = (weighted.is_some() && rows.len() <= DONORS).then(|| up_to(&weights));
        let donors = donors.into_iter().map(|place| rows[place]).collect();
        // With few degrees of freedom s, and so numbers, may be far beyond all that occur.
        let is_measured = gap.features.len() == 1
            && !gap.labels //~ imputed-codes
            && different(rows.iter().map(|&row| x[(row, gap.features.start)])) > GRADES
            && rows_of_all > 2.0 * z.len() as f64;
        let measured = features.into_iter().next().filter(|_| is_measured).zip(units);
        let measured = measured.map(|(standard, (sd, ratio))| (standard, sd, ratio));
        let features = gap.features.clone();
        Ok(Self { predictors, drawn, donors, chances, fitted, features, measured })
    }

    /// Draws the cell of a `row`; `x` are the rows that the donors are of.
    fn draw(
        &self,
        x: ArrayView2<f64>,
        row: ArrayView1<f64>,
        rng: &mut ChainRng,
        cell: &mut Vec<f64>,
    ) {
        let mut z: Vec<f64> = self.predictors.iter().map(|predictor| predictor.of(row)).collect();
        z.push(1.0);
        let own: Vec<f64> = self.drawn.iter().map(|b| dot::<8>(b, &z)).collect();
        cell.clear();
        if let Some((standard, sd, ratio)) = &self.measured {
            let place = match &self.chances {
                None => rng.random_range(0..self.donors.len()),
                Some(chances) => choose(chances, rng),
            };
            let theirs = standard.of(x.row(self.donors[place]));
            let residual = theirs - self.fitted[place] * sd;
            let value = own[0] * sd + residual * ratio; //~ imputed-residual
            cell.push(standard.mean + standard.scale * value);
            return;
        }
        let d = own.len();
        // Of donors at equal distances any may be among the nearest.
        let mut near: Vec<(f64, u32, usize)> = (0..self.donors.len())
            .map(|place| {
                let theirs = &self.fitted[place * d..(place + 1) * d];
                let distance = own.iter().zip(theirs).map(|(a, b)| (a - b).powi(2)).sum();
                (distance, rng.random(), place)
            })
            .collect();
        let few = match self.chances {
            None => NEAREST.min(near.len()),
            Some(_) => near.len(),
        };
        near.select_nth_unstable_by(few - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        // In an order that does not depend on how they were selected.
        near[..few].sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (.., place) = match &self.chances {
            None => near[rng.random_range(0..few)],
            Some(chances) => {
                let weight = |place: usize| {
                    chances[place] - place.checked_sub(1).map_or(0.0, |before| chances[before])
                };
                let mut left = rng.uniform() * chances[chances.len() - 1].min(NEAREST as f64);
                let reaches = |(.., place): &&(f64, u32, usize)| {
                    left -= weight(*place);
                    left < 0.0
                };
                *near.iter().find(reaches).unwrap_or(&near[few - 1])
            }
        };
        let from = x.row(self.donors[place]);
        cell.extend(self.features.clone().map(|k| from[k])); //~ imputed-cell
    }
}
