//! Survival functions, medians and restricted means of times, and their scores.

use ndarray::{Array1, Array3, Array4, ArrayView1, ArrayView3, Axis};

use super::predictions::Predictions;
use super::regression::Interval;
use crate::diagnostics::quantile;
use crate::likelihood::{TimeDistribution, TimeFamily};
use crate::{Error, order, threads};

/// The times at which the Brier score is evaluated, evenly spaced.
const GRID: usize = 100;

/// The distributions of times by each draw for each row.
#[derive(Clone, Debug)]
pub(super) struct Times {
    pub(super) family: TimeFamily,
    /// Location and scale, `[chain, draw, row, 2]`.
    pub(super) parameters: Array4<f64>,
}

/// What predictions say about times, or other numbers with bounds: by each draw of q for each row the
/// [distribution](TimeDistribution) of T. From [`Predictions::survival`].
///
/// Quantities by draw are `[chain, draw, row]`; their [interval](Self::interval) over draws is the uncertainty about
/// them. The *predictive* survival function of a row is their mean, which also knows what the parameters are not known
/// to be:
///
/// ```text
/// P(T > t | x, data) = mean_s P(T > t | x, q_s)
/// ```
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use ndarray::{Array2, array};
/// // Times with the median 2 e^x, followed for 3 years.
/// let mut rng = ChainRng::new(1, 0);
/// let x = Array2::from_shape_simple_fn((300, 1), || rng.normal());
/// let all = x.column(0).mapv(|x| (2.0_f64.ln() + x + 0.5 * rng.normal()).exp());
/// let event: Vec<bool> = all.iter().map(|time| *time < 3.0).collect();
/// let data = Dataset::survival(x, all.mapv(|time| time.min(3.0)), &event)?;
/// let priors = Priors::all(Normal::new(0.0, 2.0)?).with("log_scale", Normal::new(-0.5, 1.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Censored::log_normal(), &data, priors)?;
/// let draws = Sampler::new(&posterior, Nuts::default()).seed(1).run()?;
///
/// let predictions = posterior.predict_new(&draws, array![[0.0]].view())?;
/// let survival = predictions.survival()?;
/// let medians = survival.medians();
/// let interval = survival.interval(medians.view(), 0.98)?;
/// assert!(interval.lower[[0, 0]] < 2.0 && 2.0 < interval.upper[[0, 0]]);
/// assert!((survival.predictive(2.0)[0] - 0.5).abs() < 0.1);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Survival<'p> {
    times: &'p Times,
}

impl Predictions {
    /// Survival functions, medians, quantiles and restricted means of times.
    ///
    /// # Errors
    /// If the response is not [numbers with bounds](crate::data::Response::Censored).
    pub fn survival(&self) -> Result<Survival<'_>, Error> {
        match &self.times {
            Some(times) => Ok(Survival { times }),
            None => Err(self.wrong_kind("numbers with bounds")),
        }
    }

    /// Mean and 90 % interval, over all draws, of the medians of each row and of the probabilities to exceed `times`.
    pub(super) fn times_in_table(&self, times: &[f64]) -> Vec<(String, Vec<[f64; 3]>)> {
        let Ok(survival) = self.survival() else { return Vec::new() };
        let cells = |values: Array3<f64>| {
            survival.rows(values.view(), &|sorted, mean| {
                [mean, quantile(sorted, 0.05), quantile(sorted, 0.95)]
            })
        };
        let median = survival.rows(survival.medians().view(), &|sorted, _| {
            [0.5, 0.05, 0.95].map(|p| quantile(sorted, p))
        });
        let at = times.iter().map(|t| (format!("survival_{t}"), cells(survival.at(*t))));
        std::iter::once(("median".to_string(), median)).chain(at).collect()
    }
}

impl Survival<'_> {
    /// The family of the times.
    pub fn family(&self) -> TimeFamily {
        self.times.family
    }

    /// The distribution of the time of a row by one draw.
    ///
    /// # Panics
    /// If there is no such chain, draw or row.
    pub fn distribution(&self, chain: usize, draw: usize, row: usize) -> TimeDistribution {
        let at = |k| self.times.parameters[[chain, draw, row, k]];
        TimeDistribution { family: self.times.family, location: at(0), scale: at(1) }
    }

    /// A number of the distribution by each draw for each row: `[chain, draw, row]`.
    pub fn each(&self, of: impl Fn(TimeDistribution) -> f64 + Sync) -> Array3<f64> {
        self.each_of(&of)
    }

    fn each_of(&self, of: &(dyn Fn(TimeDistribution) -> f64 + Sync)) -> Array3<f64> {
        let (chains, draws, rows, _) = self.times.parameters.dim();
        let flat = self.times.parameters.as_slice().expect("stored in standard order");
        let family = self.times.family;
        let mut values = vec![0.0; chains * draws * rows];
        threads::each(&mut values, &|i, value| {
            let (location, scale) = (flat[2 * i], flat[2 * i + 1]);
            *value = of(TimeDistribution { family, location, scale });
        });
        Array3::from_shape_vec((chains, draws, rows), values).expect("one number for each")
    }

    /// The survival function at `time`: P(T > time | x, q), `[chain, draw, row]`.
    pub fn at(&self, time: f64) -> Array3<f64> {
        self.each(|distribution| distribution.survival(time))
    }

    /// The medians of T, `[chain, draw, row]`.
    pub fn medians(&self) -> Array3<f64> {
        self.each(|distribution| distribution.quantile(0.5))
    }

    /// The p-quantiles of T, `[chain, draw, row]`.
    ///
    /// # Errors
    /// A p that is not above 0 and below 1.
    pub fn quantiles(&self, p: f64) -> Result<Array3<f64>, Error> {
        if !(0.0 < p && p < 1.0) {
            return Err(Error::argument("p", p, "above 0 and below 1"));
        }
        Ok(self.each(|distribution| distribution.quantile(p)))
    }

    /// The [restricted means](TimeDistribution::restricted_mean) E min(T, until), `[chain, draw, row]`.
    ///
    /// # Errors
    /// A time that is not finite.
    pub fn restricted_means(&self, until: f64) -> Result<Array3<f64>, Error> {
        if !until.is_finite() {
            return Err(Error::argument("until", until, "a finite number"));
        }
        Ok(self.each(|distribution| distribution.restricted_mean(until)))
    }

    /// The central interval, over all draws, of values by draw `[chain, draw, row]`: one column.
    ///
    /// # Errors
    /// A level that is not above 0 and below 1; no draws.
    pub fn interval(&self, values: ArrayView3<f64>, level: f64) -> Result<Interval, Error> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::argument("level", level, "above 0 and below 1"));
        }
        if values.is_empty() {
            return Err(Error::shape("values by draw", 0, "at least 1"));
        }
        let ends = self.rows(values, &|sorted, _| {
            [0.5 - 0.5 * level, 0.5 + 0.5 * level].map(|p| quantile(sorted, p))
        });
        let end = |k: usize| ends.iter().map(|ends| ends[k]).collect::<Array1<f64>>();
        let column = |k: usize| end(k).insert_axis(Axis(1));
        Ok(Interval { level, lower: column(0), upper: column(1) })
    }

    /// Summarises the draws of each row, given sorted and with their mean.
    fn rows<T: Send>(
        &self,
        values: ArrayView3<f64>,
        of: &(dyn Fn(&[f64], f64) -> T + Sync),
    ) -> Vec<T> {
        threads::map(values.len_of(Axis(2)), &|row| {
            let row = values.index_axis(Axis(2), row);
            let mut sorted: Vec<f64> = row.iter().copied().collect();
            let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
            sorted.sort_unstable_by(f64::total_cmp);
            of(&sorted, mean)
        })
    }

    /// The distributions of a row by all draws.
    fn of_row(&self, row: usize) -> impl Iterator<Item = TimeDistribution> + Clone {
        let (chains, draws, _, _) = self.times.parameters.dim();
        let all = (0..chains).flat_map(move |chain| (0..draws).map(move |draw| (chain, draw)));
        all.map(move |(chain, draw)| self.distribution(chain, draw, row))
    }

    fn n_rows(&self) -> usize {
        self.times.parameters.dim().2
    }

    /// The predictive survival function of each row at `time`: the mean over all draws.
    pub fn predictive(&self, time: f64) -> Array1<f64> {
        threads::map(self.n_rows(), &|row| self.predictive_of(row, time)).into()
    }

    fn predictive_of(&self, row: usize, time: f64) -> f64 {
        let (sum, n) = self
            .of_row(row)
            .fold((0.0, 0.0), |(sum, n), draw| (sum + draw.survival(time), n + 1.0));
        sum / n
    }

    /// The predictive medians: of each row the time at which the predictive survival function is 1/2.
    pub fn predictive_medians(&self) -> Array1<f64> {
        threads::map(self.n_rows(), &|row| self.predictive_median(row)).into()
    }

    /// The median lies between those by the single draws. It is found by the Illinois method on the scale of the
    /// location.
    fn predictive_median(&self, row: usize) -> f64 {
        let is_log = self.times.family.is_of_logs();
        let (scaled, time) =
            (|t: f64| if is_log { t.ln() } else { t }, |y: f64| if is_log { y.exp() } else { y });
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for draw in self.of_row(row) {
            let median = scaled(draw.quantile(0.5));
            (low, high) = (low.min(median), high.max(median));
        }
        let above = |y: f64| self.predictive_of(row, time(y)) - 0.5;
        let (mut at_low, mut at_high) = (above(low), above(high));
        if at_low <= 0.0 || at_high >= 0.0 || !low.is_finite() || !high.is_finite() {
            return time(if at_low <= 0.0 { low } else { high });
        }
        let mut side = 0;
        for _ in 0..200 {
            if high - low <= 1e-12 * low.abs().max(high.abs()) {
                break;
            }
            let y = (low * at_high - high * at_low) / (at_high - at_low);
            let y = if low < y && y < high { y } else { 0.5 * low + 0.5 * high };
            let here = above(y);
            if here == 0.0 {
                return time(y);
            }
            if here > 0.0 {
                (low, at_low) = (y, here);
                at_high *= if side == 1 { 0.5 } else { 1.0 };
                side = 1;
            } else {
                (high, at_high) = (y, here);
                at_low *= if side == -1 { 0.5 } else { 1.0 };
                side = -1;
            }
        }
        time(0.5 * low + 0.5 * high)
    }

    /// Concordance and integrated Brier score of the rows with these bounds, if each is observed or right-censored; by
    /// the weights of rows, if there are any.
    pub(super) fn scores(
        &self,
        lower: ArrayView1<f64>,
        upper: ArrayView1<f64>,
        weights: Option<ArrayView1<f64>>,
    ) -> Result<Vec<(&'static str, f64)>, Error> {
        let is_plain = |(l, u): (&f64, &f64)| l == u || (*u == f64::INFINITY && l.is_finite());
        if !lower.iter().zip(upper).all(is_plain) {
            return Ok(Vec::new());
        }
        let event: Vec<bool> = lower.iter().zip(upper).map(|(l, u)| l == u).collect();
        let medians = self.predictive_medians();
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let c = concordance_by(medians.view(), lower, &event, weight)?;
        let brier = integrated_brier_by(lower, &event, weight, |time| self.predictive(time))?;
        Ok(vec![("concordance", c), ("integrated_brier", brier)])
    }
}

fn check_events(time: ArrayView1<f64>, event: &[bool]) -> Result<(), Error> {
    match event.len() == time.len() {
        true => Ok(()),
        false => Err(Error::shape("events", event.len(), time.len())),
    }
}

/// Harrell's c: of all pairs of rows of which it is known whose event came first, the share in which it has the smaller
/// `predicted` time; equal predictions count one half. 0.5 is chance; NaN if there is no such pair.
///
/// A pair is known if the earlier row has an event. Of two rows with the same time it is known if only one has an event,
/// which then came first.
///
/// Source: Harrell, Lee and Mark, Statistics in Medicine 15, 1996,
/// doi:10.1002/(SICI)1097-0258(19960229)15:4<361::AID-SIM168>3.0.CO;2-4.
///
/// ```
/// use bnn_mcmc::predict::concordance;
/// use ndarray::array;
/// // The second row was censored before the third had its event: nothing is known of that pair.
/// let (time, event) = (array![1.0, 2.0, 3.0], [true, false, true]);
/// assert_eq!(concordance(array![5.0, 4.0, 9.0].view(), time.view(), &event)?, 0.5);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// Other numbers of predictions or events than of times.
pub fn concordance(
    predicted: ArrayView1<f64>,
    time: ArrayView1<f64>,
    event: &[bool],
) -> Result<f64, Error> {
    concordance_by(predicted, time, event, |_| 1.0)
}

/// [`concordance`] of rows with weights: a pair of rows of weights w and v stands for w v pairs.
///
/// From the last time to the first, with the sum of the weights at each predicted time in a [`Sums`]: n log n operations.
fn concordance_by(
    predicted: ArrayView1<f64>,
    time: ArrayView1<f64>,
    event: &[bool],
    weight: impl Fn(usize) -> f64,
) -> Result<f64, Error> {
    check_events(time, event)?;
    if predicted.len() != time.len() {
        return Err(Error::shape("predicted times", predicted.len(), time.len()));
    }
    let mut longest: Vec<f64> = predicted.iter().copied().filter(|p| !p.is_nan()).collect();
    longest.sort_unstable_by(|a, b| b.total_cmp(a));
    longest.dedup();
    let mut rows: Vec<usize> = (0..time.len()).collect();
    rows.sort_unstable_by(|&a, &b| time[b].total_cmp(&time[a]).then(event[a].cmp(&event[b])));
    let (mut later, mut all_later) = (Sums::new(longest.len()), 0.0);
    let (mut pairs, mut right) = (0.0, 0.0);
    for same_time in rows.chunk_by(|&a, &b| time[a] == time[b]) {
        // Rows that are censored come first: their events are later than those at this time.
        let (censored, events) = same_time.split_at(same_time.partition_point(|&i| !event[i]));
        let mut add = |rows: &[usize], later: &mut Sums| {
            for &i in rows {
                all_later += weight(i);
                if !predicted[i].is_nan() {
                    later.add(longest.partition_point(|p| *p > predicted[i]), weight(i)); //~ weighted-pairs
                }
            }
            all_later
        };
        let known = add(censored, &mut later);
        for &i in events {
            pairs += weight(i) * known;
            if !predicted[i].is_nan() {
                let place = longest.partition_point(|p| *p > predicted[i]);
                let longer = later.before(place);
                let equal = later.before(place + 1) - longer;
                right += weight(i) * (longer + 0.5 * equal); //~ tied-predictions
            }
        }
        add(events, &mut later);
    }
    Ok(right / pairs)
}

/// Sums of the first of n numbers, each in log n operations: Fenwick, Software: Practice and Experience 24, 1994,
/// doi:10.1002/spe.4380240306. Place i has the sum of as many numbers up to it as the lowest bit of i + 1 says.
struct Sums(Vec<f64>);

impl Sums {
    fn new(n: usize) -> Self {
        Self(vec![0.0; n])
    }

    /// Adds to the number at a place.
    fn add(&mut self, place: usize, number: f64) {
        let mut i = place + 1;
        while i <= self.0.len() {
            self.0[i - 1] += number;
            i += i & i.wrapping_neg();
        }
    }

    /// The sum of the numbers before a place.
    fn before(&self, place: usize) -> f64 {
        let (mut i, mut sum) = (place, 0.0);
        while i > 0 {
            sum += self.0[i - 1];
            i &= i - 1;
        }
        sum
    }
}

/// The integrated Brier score of survival functions: `survival` gives P(T > t) of each row for a time t.
///
/// At t a row counts with weights that make up for censoring, by the Kaplan-Meier estimate G(t) = P(C > t) of the time
/// to censoring in these rows,
///
/// ```text
/// BS(t) = mean_i  S_i(t)^2 / G(t_i-)        if an event happened at t_i <= t
///                 (1 - S_i(t))^2 / G(t)     if t_i > t
///                 0                         if censored at t_i <= t
/// ```
///
/// and the score is the mean of BS(t) from the first to the last event, by the trapezoidal rule on 100 times. G(t_i-)
/// is P(C >= t_i): a row that is censored at the time of an event was still watched. 0 is perfect, and S = 1/2 everywhere
/// has 1/4; NaN if there are not two different times of events.
///
/// Source: Graf, Schmoor, Sauerbrei and Schumacher, Statistics in Medicine 18, 1999,
/// doi:10.1002/(SICI)1097-0258(19990915/30)18:17/18<2529::AID-SIM274>3.0.CO;2-5.
///
/// # Errors
/// Another number of events than of times; a survival function with another number of rows.
pub fn integrated_brier(
    time: ArrayView1<f64>,
    event: &[bool],
    survival: impl Fn(f64) -> Array1<f64>,
) -> Result<f64, Error> {
    integrated_brier_by(time, event, |_| 1.0, survival)
}

/// [`integrated_brier`] of rows with weights, in the means and in the Kaplan-Meier estimate.
fn integrated_brier_by(
    time: ArrayView1<f64>,
    event: &[bool],
    weight: impl Fn(usize) -> f64,
    survival: impl Fn(f64) -> Array1<f64>,
) -> Result<f64, Error> {
    check_events(time, event)?;
    let counts = |i: &usize| event[*i] && weight(*i) > 0.0;
    let with_event = || (0..time.len()).filter(counts).map(|i| time[i]);
    let (first, last) = with_event()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), time| (a.min(time), b.max(time)));
    if first >= last {
        return Ok(f64::NAN);
    }
    let censoring = KaplanMeier::of_censoring(time, event, &weight);
    let of_censoring: Vec<f64> = time.iter().map(|time| 1.0 / censoring.before(*time)).collect();
    let (mut sum, n) = (0.0, (0..time.len()).map(&weight).sum::<f64>());
    for k in 0..GRID {
        let share = k as f64 / (GRID - 1) as f64;
        let t = if k == GRID - 1 { last } else { first + share * (last - first) };
        let (s, later) = (survival(t), 1.0 / censoring.after(t));
        if s.len() != time.len() {
            return Err(Error::shape("rows of the survival function", s.len(), time.len()));
        }
        let mut score = 0.0;
        for (i, time) in time.iter().enumerate() {
            // Rows that count for nothing may lie beyond the last time of the estimate, where it is 0.
            if weight(i) == 0.0 {
                continue;
            }
            score += weight(i)
                * match (*time > t, event[i]) {
                    (true, _) => (1.0 - s[i]) * (1.0 - s[i]) * later,
                    (false, true) => s[i] * s[i] * of_censoring[i], //~ censoring-weights
                    (false, false) => 0.0,
                };
        }
        let end = if k == 0 || k == GRID - 1 { 0.5 } else { 1.0 };
        sum += end * score / n;
    }
    Ok(sum / (GRID - 1) as f64)
}

/// A Kaplan-Meier estimate: times in order, and its value from each of them on.
struct KaplanMeier {
    times: Vec<f64>,
    values: Vec<f64>,
}

impl KaplanMeier {
    /// Of the time to censoring. Where both happen at one time, events come first.
    fn of_censoring(time: ArrayView1<f64>, event: &[bool], weight: impl Fn(usize) -> f64) -> Self {
        let mut order: Vec<usize> = (0..time.len()).filter(|i| weight(*i) > 0.0).collect();
        order::sort(&mut order, &|i, j| time[i].total_cmp(&time[j]));
        // The weight of each row and of all after it: exactly 0 after the last one.
        let mut later = vec![0.0; order.len() + 1];
        for (at, row) in order.iter().enumerate().rev() {
            later[at] = later[at + 1] + weight(*row);
        }
        let (mut times, mut values, mut value) = (Vec::new(), Vec::new(), 1.0);
        let mut at = 0;
        while at < order.len() {
            let t = time[order[at]];
            let tied = order[at..].iter().take_while(|i| time[**i] == t).count();
            let at_t = order[at..at + tied].iter();
            let censored: f64 = at_t.filter(|i| !event[**i]).map(|i| weight(*i)).sum();
            if censored > 0.0 {
                //~ weighted-at-risk
                value *= 1.0 - censored / (censored + later[at + tied]);
                times.push(t);
                values.push(value);
            }
            at += tied;
        }
        Self { times, values }
    }

    /// P(C > t).
    fn after(&self, t: f64) -> f64 {
        self.at(self.times.partition_point(|time| *time <= t))
    }

    /// P(C >= t).
    fn before(&self, t: f64) -> f64 {
        self.at(self.times.partition_point(|time| *time < t))
    }

    fn at(&self, steps: usize) -> f64 {
        if steps == 0 { 1.0 } else { self.values[steps - 1] }
    }
}
