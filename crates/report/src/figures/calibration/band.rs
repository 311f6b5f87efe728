//! The band that the empirical distribution function of independent uniform values stays in. Ranks
//! of several chains are not independent, and have a band of their own in `chains/ecdf_band.rs`.

use statrs::distribution::{Binomial, Discrete, DiscreteCDF, Poisson};

/// The number of points at which the band is computed: 1/100, 2/100, ..., 1.
const POINTS: usize = 100;
/// The largest number of values whose gamma is computed. More values take the gamma of so many: at
/// level 0.95 the band of 1,000,000 values then has the probability 0.948.
const EXACT: usize = 20_000;

/// A band around the distribution function of n uniform values, as counts.
pub(crate) struct UniformBand {
    /// Where: z_i, ascending, with z = 1 last.
    pub z: Vec<f64>,
    /// The least number of values up to z_i.
    pub low: Vec<u64>,
    /// The greatest number of values up to z_i.
    pub high: Vec<u64>,
}

/// The simultaneous band of n independent values that are uniform on [0, 1]: their counts up to all
/// z_i lie within it with probability `level` or a little more, since counts are whole numbers
/// (Säilynoja, Bürkner and Vehtari 2022, doi:10.1007/s11222-022-10090-6).
///
/// ```text
/// low_i = Q(gamma/2; n, z_i),   high_i = Q(1 - gamma/2; n, z_i)
/// ```
///
/// with quantiles Q of binomial distributions, and the largest gamma at which the band has the
/// level. The probability of the band is exact: counts of uniform values have the distribution of
/// counts of a Poisson process of rate n, given that it has n points (Moscovich and Nadler 2017,
/// doi:10.1016/j.spl.2016.11.027). `level` lies between 0 and 1.
pub(crate) fn uniform_band(n: usize, level: f64) -> UniformBand {
    let exact = n.min(EXACT);
    let (mut gamma, mut above) = (0.0, 1.0);
    for _ in 0..30 {
        let between = 0.5 * (gamma + above);
        match pointwise(exact, between).probability(exact) >= level {
            true => gamma = between,
            false => above = between,
        }
    }
    pointwise(n, gamma)
}

/// The interval of the middle 1 - gamma of a binomial distribution.
pub(crate) fn binomial_interval(n: usize, p: f64, gamma: f64) -> [u64; 2] {
    match Binomial::new(p, n as u64) {
        Ok(binomial) if p > 0.0 && p < 1.0 && n > 0 => {
            //~ report-band
            [binomial.inverse_cdf(0.5 * gamma), binomial.inverse_cdf(1.0 - 0.5 * gamma)]
        }
        _ if p >= 1.0 => [n as u64; 2],
        _ => [0, 0],
    }
}

fn pointwise(n: usize, gamma: f64) -> UniformBand {
    let z: Vec<f64> = (1..=POINTS).map(|i| i as f64 / POINTS as f64).collect();
    let ends = z.iter().map(|z| binomial_interval(n, *z, gamma));
    let (low, high) = ends.map(|[low, high]| (low, high)).unzip();
    UniformBand { z, low, high }
}

impl UniformBand {
    /// The probability that the counts of n uniform values lie within the band at all z_i.
    fn probability(&self, n: usize) -> f64 {
        let (Ok(step), Ok(all)) = (Poisson::new(n as f64 / POINTS as f64), Poisson::new(n as f64))
        else {
            return 1.0; // No values.
        };
        // Counts beyond have a probability of 1e-17 or less.
        let most = step.inverse_cdf(1.0 - 1e-15) as usize + 20;
        let step: Vec<f64> = (0..=most).map(|k| step.pmf(k as u64)).collect();
        // The probability of each count from `first` on, without having left the band.
        let (mut first, mut state) = (0, vec![1.0]);
        for (low, high) in self.low.iter().zip(&self.high) {
            let (low, high) = (*low as usize, *high as usize);
            let mut next = vec![0.0; high - low + 1];
            for (count, p) in (first..).zip(&state) {
                // Counts low..=high that lie 0..=most above this one.
                let (from, to) = (low.max(count), high.min(count + most));
                if from <= to {
                    let steps = &step[from - count..=to - count];
                    next[from - low..=to - low]
                        .iter_mut()
                        .zip(steps)
                        .for_each(|(q, s)| *q += p * s);
                }
            }
            (first, state) = (low, next);
        }
        // At z = 1 there is one count, n.
        state[0] / all.pmf(n as u64)
    }
}

#[cfg(test)]
mod tests {
    use bnn_mcmc::rng::ChainRng;

    use super::*;

    #[test]
    fn the_band_is_the_one_of_scipy() {
        #[derive(serde::Deserialize)]
        struct Golden {
            n: usize,
            level: f64,
            probability: f64,
            low: Vec<u64>,
            high: Vec<u64>,
        }
        let golden = include_str!("../../../tests/golden/band.json");
        let golden: Vec<Golden> = serde_json::from_str(golden).unwrap();
        assert!(golden.len() >= 5);
        for Golden { n, level, probability, low, high } in golden {
            let band = uniform_band(n, level);
            assert_eq!((band.low, band.high), (low, high), "{n} values, level {level}");
            let exact = uniform_band(n, level).probability(n);
            assert!((exact - probability).abs() < 1e-9, "{n}: {exact}, not {probability}");
        }
    }

    #[test]
    fn uniform_values_stay_within_the_band_as_often_as_it_says() {
        let mut rng = ChainRng::new(1, 0);
        for (n, level, runs) in [(20, 0.95, 20_000), (250, 0.9, 10_000), (2_000, 0.95, 3_000)] {
            let band = uniform_band(n, level);
            let inside = (0..runs).filter(|_| {
                let mut bins = [0_u64; POINTS];
                (0..n).for_each(|_| bins[(rng.uniform() * POINTS as f64) as usize] += 1);
                let mut count = 0;
                bins.iter().zip(band.low.iter().zip(&band.high)).all(|(bin, (low, high))| {
                    count += bin;
                    (low..=high).contains(&&count)
                })
            });
            let share = inside.count() as f64 / f64::from(runs);
            let exact = band.probability(n);
            assert!(exact >= level && exact < level + 0.01, "{n} values: {exact}");
            let error = (exact * (1.0 - exact) / f64::from(runs)).sqrt();
            assert!((share - exact).abs() < 4.0 * error, "{n} values: {share}, not {exact}");
        }
    }

    #[test]
    fn few_and_many_values_have_a_band() {
        for n in [0, 1, 2, 1_000_000] {
            let band = uniform_band(n, 0.95);
            assert_eq!((band.low[99], band.high[99]), (n as u64, n as u64));
            let pairs = || band.low.iter().zip(&band.high);
            assert!(pairs().all(|(low, high)| low <= high && *high <= n as u64));
        }
        // Beyond the exact range the band has Brownian limits: about 3 standard deviations.
        let band = uniform_band(1_000_000, 0.95);
        let z = (band.high[49] as f64 - 500_000.0) / 500.0;
        assert!(z > 2.8 && z < 3.2, "{z}");
    }
}
