//! The simultaneous band of rank-ECDFs of several chains.

use bnn_mcmc::Error;
use bnn_mcmc::rng::ChainRng;
use rand_distr::{Distribution, Hypergeometric};

/// The band for the ranks of chains with one distribution: a band that holds the counts of all
/// chains at all points together with a given probability.
///
/// All draws of all chains are ranked together. The number of a chain's draws among the `t` lowest
/// is hypergeometric, if draws are independent and chains have one distribution, whatever it is. At
/// each point the band has the counts whose two-sided tail probability, twice the smaller one of
/// P(count <= x) and P(count >= x), is at least `pointwise`. That one number is chosen such that
/// all chains stay inside at all points with the wanted probability: it is a quantile of the
/// smallest tail probability along the chains in 2,000 simulated divisions of the ranks (fewer for
/// more than 40 chains, 400 at least), whose random numbers have a fixed seed. So the coverage has
/// a standard error of 0.005 at 95 %, and where counts are few it is a little larger than wanted.
///
/// Source: Säilynoja, Bürkner, Vehtari, *Graphical test for discrete uniformity and its applications in
/// goodness-of-fit evaluation and multiple sample comparison*, Stat. Comput. 32, 2022,
/// doi:10.1007/s11222-022-10090-6, section 3. They count the ends of the band by quantiles of the
/// hypergeometric distribution at `pointwise / 2`, which is the same set.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EcdfBand {
    /// The points: numbers of the lowest draws of all chains, ascending.
    pub at: Vec<usize>,
    /// The fewest of one chain's draws among them.
    pub low: Vec<usize>,
    /// The most of one chain's draws among them.
    pub high: Vec<usize>,
}

/// The most points.
const POINTS: usize = 100;
/// The most points times chains, as far as there are 10 points: with many chains, points are fewer.
const COUNTS: usize = 400;
/// Simulated divisions of the ranks times points times chains, from 400 to 2,000 divisions.
const SIMULATED: usize = 800_000;

impl EcdfBand {
    /// The band for so many chains of so many draws, at up to 100 points.
    ///
    /// # Errors
    /// Fewer than two chains, no draws, more than 2^32 draws of all chains, and a probability that is
    /// not between 0 and 1.
    pub(crate) fn new(chains: usize, draws: usize, probability: f64) -> Result<Self, Error> {
        let (at, tails, pointwise) = level(chains, draws, probability)?;
        Ok(Self::at_level(at, &tails, pointwise))
    }

    /// The counts whose tail probability is at least `pointwise`.
    fn at_level(at: Vec<usize>, tails: &[Tails], pointwise: f64) -> Self {
        let ends = |tails: &Tails| {
            let is_inside = |p: &f64| *p >= pointwise;
            let low = tails.probability.iter().position(is_inside).unwrap_or(0);
            let high = tails.probability.iter().rposition(is_inside).unwrap_or(0);
            (tails.first + low, tails.first + high)
        };
        let (low, high) = tails.iter().map(ends).unzip();
        Self { at, low, high }
    }
}

/// The points of a band, the tail probabilities at each, and the one below which a count lies outside
/// the band.
fn level(
    chains: usize,
    draws: usize,
    probability: f64,
) -> Result<(Vec<usize>, Vec<Tails>, f64), Error> {
    if chains < 2 {
        return Err(Error::argument("chains", chains, "at least 2, to be compared"));
    }
    let total = chains.checked_mul(draws).filter(|total| (1..=1 << 32).contains(total));
    let Some(total) = total else {
        let found = format!("{chains} chains of {draws}");
        return Err(Error::argument("draws", found, "from 1 to 2^32 of all chains"));
    };
    if !(probability > 0.0 && probability < 1.0) {
        return Err(Error::argument("probability", probability, "between 0 and 1"));
    }
    let at = points(chains, draws, total);
    let tails: Vec<Tails> = at.iter().map(|t| Tails::new(total, draws, *t)).collect();
    let mut rng = ChainRng::new(0, 0);
    let divisions = (SIMULATED / (chains * at.len())).clamp(400, 2000);
    let mut smallest: Vec<f64> =
        (0..divisions).map(|_| simulate(chains, draws, &at, &tails, &mut rng)).collect();
    smallest.sort_unstable_by(f64::total_cmp);
    let pointwise = smallest[((1.0 - probability) * divisions as f64) as usize];
    Ok((at, tails, pointwise))
}

/// The points, as evenly spaced as whole numbers can be, without the last, where every chain has all
/// of its draws.
fn points(chains: usize, draws: usize, total: usize) -> Vec<usize> {
    let most = (COUNTS / chains).clamp(10, POINTS);
    let parts = draws.clamp(2, most);
    let mut at: Vec<usize> = (1..parts).map(|k| (k * total + parts / 2) / parts).collect();
    at.dedup();
    at.retain(|t| *t > 0 && *t < total);
    at
}

/// The smallest tail probability of all chains at all points of one random division of the ranks.
fn simulate(chains: usize, draws: usize, at: &[usize], tails: &[Tails], rng: &mut ChainRng) -> f64 {
    // Few ranks between two points are dealt out one by one.
    let is_dealt = draws < 20 * (at.len() + 1);
    let mut cards: Vec<u32> = match is_dealt {
        true => (0..chains as u32).flat_map(|c| std::iter::repeat_n(c, draws)).collect(),
        false => Vec::new(),
    };
    let mut counts = vec![0; chains];
    let mut smallest = 1.0f64;
    let mut before = 0;
    for (t, tails) in at.iter().zip(tails) {
        if is_dealt {
            for rank in before..*t {
                let left = (cards.len() - rank) as f64;
                cards.swap(rank, rank + (rng.uniform() * left) as usize);
                counts[cards[rank] as usize] += 1;
            }
        } else {
            divide(t - before, chains * draws - before, draws, &mut counts, rng);
        }
        before = *t;
        smallest = counts.iter().fold(smallest, |least, count| least.min(tails.of(*count)));
    }
    smallest
}

/// Adds to the counts of each chain how many of the next ranks are of its draws, when so many draws
/// of all chains are left: hypergeometric for one chain after the other, and the rest for the last.
fn divide(
    mut ranks: usize,
    mut left: usize,
    draws: usize,
    counts: &mut [usize],
    rng: &mut ChainRng,
) {
    for count in counts {
        let own = draws - *count;
        if own == left {
            *count += ranks;
            return;
        }
        let taken = match Hypergeometric::new(left as u64, own as u64, ranks as u64) {
            Ok(taken) => taken.sample(rng) as usize,
            // Its first probability underflows: one rank after the other, then.
            Err(_) => (0..ranks).fold(0, |taken, k| {
                let share = (own - taken) as f64 / (left - k) as f64;
                taken + usize::from(rng.uniform() < share)
            }),
        };
        *count += taken;
        (ranks, left) = (ranks - taken, left - own);
    }
}

/// The two-sided tail probabilities of the counts of one chain at a point, of counts that occur.
struct Tails {
    first: usize,
    probability: Vec<f64>,
}

impl Tails {
    /// The distribution of the number of a chain's draws among the `t` lowest of `total` draws,
    /// `draws` of which are the chain's.
    fn new(total: usize, draws: usize, t: usize) -> Self {
        let (least, most) = ((t + draws).saturating_sub(total), t.min(draws));
        let [n, k, all] = [draws, t, total].map(|v| v as f64);
        let mode = (((n + 1.0) * (k + 1.0) / (all + 2.0)) as usize).clamp(least, most);
        // P(x + 1) / P(x)
        let ratio = |x: usize| {
            let x = x as f64;
            (n - x) * (k - x) / ((x + 1.0) * (all - n - k + x + 1.0))
        };
        // Probabilities are in units of the mode's probability, as far as they can be told from
        // zero.
        let step = |p: f64| (p > 1e-20).then_some(p);
        let up = (mode..most).scan(1.0, |p, x| {
            *p *= ratio(x);
            step(*p)
        });
        let down = (least..mode).rev().scan(1.0, |p, x| {
            *p /= ratio(x);
            step(*p)
        });
        let mut mass: Vec<f64> = down.collect();
        let first = mode - mass.len();
        mass.reverse();
        mass.push(1.0);
        mass.extend(up);
        let sum: f64 = mass.iter().sum();
        let cumulated = |mass: &mut dyn Iterator<Item = &f64>| -> Vec<f64> {
            mass.scan(0.0, |below, p| {
                *below += p / sum;
                Some(*below)
            })
            .collect()
        };
        let (below, above) = (cumulated(&mut mass.iter()), cumulated(&mut mass.iter().rev()));
        let two_sided = |(below, above): (&f64, &f64)| (2.0 * below.min(*above)).min(1.0);
        Self { first, probability: below.iter().zip(above.iter().rev()).map(two_sided).collect() }
    }

    fn of(&self, count: usize) -> f64 {
        let place = count.checked_sub(self.first);
        place.and_then(|i| self.probability.get(i)).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of random divisions of the ranks with all counts inside, by shuffled labels.
    fn coverage(band: &EcdfBand, chains: usize, draws: usize, repeats: usize, seed: u64) -> f64 {
        let mut rng = ChainRng::new(seed, 0);
        let mut labels: Vec<usize> = (0..chains * draws).map(|i| i % chains).collect();
        let inside = (0..repeats).filter(|_| {
            for i in (1..labels.len()).rev() {
                labels.swap(i, (rng.uniform() * (i + 1) as f64) as usize);
            }
            let mut counts = vec![0; chains];
            let mut before = 0;
            (0..band.at.len()).all(|k| {
                labels[before..band.at[k]].iter().for_each(|c| counts[*c] += 1);
                before = band.at[k];
                counts.iter().all(|count| (band.low[k]..=band.high[k]).contains(count))
            })
        });
        inside.count() as f64 / repeats as f64
    }

    fn at_level(chains: usize, draws: usize, pointwise: f64) -> EcdfBand {
        let total = chains * draws;
        let at = points(chains, draws, total);
        let tails: Vec<Tails> = at.iter().map(|t| Tails::new(total, draws, *t)).collect();
        EcdfBand::at_level(at, &tails, pointwise)
    }

    #[test]
    fn all_chains_stay_inside_with_the_stated_probability() {
        // The last has so many draws that ranks are not dealt out one by one when it is simulated.
        // Of 4,000 divisions a share of 0.95 has the standard error 0.0035, the level another 0.005.
        for (chains, draws, seed) in [(2, 100, 1), (4, 250, 2), (10, 60, 3), (3, 2500, 4)] {
            let band = EcdfBand::new(chains, draws, 0.95).unwrap();
            let covered = coverage(&band, chains, draws, 4000, seed);
            assert!((0.93..0.98).contains(&covered), "{chains} x {draws}: {covered}");
        }
        let half = EcdfBand::new(4, 250, 0.5).unwrap();
        assert!((coverage(&half, 4, 250, 4000, 5) - 0.5).abs() < 0.04);
    }

    #[test]
    fn a_band_for_single_points_is_too_narrow() {
        let pointwise = at_level(4, 250, 0.05);
        assert!(coverage(&pointwise, 4, 250, 1000, 6) < 0.6);
        // Two counts less on each side of the right band are seen, too.
        let mut narrow = EcdfBand::new(4, 250, 0.95).unwrap();
        narrow.low.iter_mut().for_each(|low| *low += 2);
        narrow.high.iter_mut().for_each(|high| *high -= 2);
        assert!(coverage(&narrow, 4, 250, 4000, 7) < 0.93);
    }

    /// Bands by `tests/golden/chains.py`: of two chains the exact ones of all levels, and of several the
    /// level by shuffled labels.
    #[derive(serde::Deserialize)]
    struct Golden {
        exact: Vec<Exact>,
        simulated: Vec<Simulated>,
    }

    #[derive(serde::Deserialize)]
    struct Exact {
        draws: usize,
        at: Vec<usize>,
        bands: Vec<ExactBand>,
    }

    #[derive(serde::Deserialize)]
    struct ExactBand {
        level: f64,
        coverage: f64,
        low: Vec<usize>,
        high: Vec<usize>,
    }

    #[derive(serde::Deserialize)]
    struct Simulated {
        chains: usize,
        draws: usize,
        level: f64,
    }

    fn golden() -> Golden {
        serde_json::from_str(include_str!("../../../tests/golden/chains.json")).unwrap()
    }

    #[test]
    fn the_band_of_two_chains_is_the_exact_one() {
        for Exact { draws, at, bands } in golden().exact {
            let (_, _, pointwise) = level(2, draws, 0.95).unwrap();
            let band = EcdfBand::new(2, draws, 0.95).unwrap();
            assert_eq!(band.at, at);
            let near = |exact: &&ExactBand| (exact.level / pointwise - 1.0).abs() < 1e-6;
            let exact = bands.iter().find(near).expect("a level that occurs");
            assert_eq!((&band.low, &band.high), (&exact.low, &exact.high));
            // Counts are discrete: the next wider band covers more, the next narrower one less than
            // 0.95, except for the error of the simulation, 0.005.
            assert!(exact.coverage > 0.94, "{}", exact.coverage);
            let next = bands.iter().find(|next| next.level > exact.level * (1.0 + 1e-6));
            assert!(next.expect("a narrower band").coverage < 0.96);
        }
    }

    #[test]
    fn levels_of_several_chains_agree_with_shuffled_labels() {
        for Simulated { chains, draws, level: expected } in golden().simulated {
            let (_, _, pointwise) = level(chains, draws, 0.95).unwrap();
            let ratio = pointwise / expected;
            assert!((0.75..1.33).contains(&ratio), "{chains} x {draws}: {pointwise}, {expected}");
        }
    }

    #[test]
    fn few_draws_many_chains_and_no_draws() {
        for (chains, draws) in [(2, 1), (2, 2), (3, 1), (500, 2), (2, 1 << 18)] {
            let band = EcdfBand::new(chains, draws, 0.95).unwrap();
            assert!(!band.at.is_empty() && band.low.iter().zip(&band.high).all(|(l, h)| l <= h));
            assert!(band.high.iter().all(|high| *high <= draws));
        }
        let refused = |chains, draws, p| match EcdfBand::new(chains, draws, p) {
            Err(Error::Argument { name, value, .. }) => (name, value),
            other => panic!("{other:?}"),
        };
        let of = |name: &str, value: &str| (name.to_string(), value.to_string());
        assert_eq!(refused(1, 10, 0.95), of("chains", "1"));
        assert_eq!(refused(2, 0, 0.95), of("draws", "2 chains of 0"));
        let many = format!("2 chains of {}", usize::MAX);
        assert_eq!(refused(2, usize::MAX, 0.95), of("draws", &many));
        assert_eq!(refused(2, 10, f64::NAN), of("probability", "NaN"));
    }
}
