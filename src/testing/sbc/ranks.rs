//! Are ranks uniform? The simultaneous band of their empirical distribution function, its test, and what that finds.
//!
//! Of N ranks that are uniform on 0 .. L, with K = L + 1, the number below k is binomial (N, k / K). At each k = 1 .. L the count c has
//! the two-sided tail probability 2 min(P(C <= c), P(C >= c)), and the test's statistic is the least of them; its
//! distribution under uniform ranks is simulated.

use crate::Error;
use crate::portable::{erf, exp, ln, ln_gamma};
use crate::rng::ChainRng;

/// Simulations of the statistic for each false alarm that is allowed.
const PER_ALARM: f64 = 20.0;

/// The smallest chance of a false alarm of one quantity that a million simulated statistics resolve.
pub(super) const LEAST_ALPHA: f64 = 2e-5;

/// The distribution of the statistic for N ranks on 0 .. L.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub simulations: usize,
    pub draws: usize,
    /// The chance of a false alarm of one quantity.
    pub alpha: f64,
    /// `[k - 1][c]`: the log of the two-sided tail probability of c ranks below k.
    tails: Vec<Vec<f64>>,
    /// Statistics under uniform ranks, in rising order.
    sorted: Vec<f64>,
}

impl Reference {
    pub fn new(simulations: usize, draws: usize, alpha: f64, seed: u64) -> Self {
        let tails = (1..=draws).map(|k| two_sided(simulations, k as f64 / (draws + 1) as f64));
        let mut reference =
            Self { simulations, draws, alpha, tails: tails.collect(), sorted: Vec::new() };
        let mut rng = ChainRng::new(seed, 0).child(u64::from_le_bytes(*b"SBC band"));
        let n = (PER_ALARM / alpha).clamp(2_000.0, 1e6) as usize;
        let cells = (draws + 1) as f64;
        let mut counts = vec![0; draws + 1];
        reference.sorted = (0..n)
            .map(|_| {
                counts.fill(0);
                (0..simulations).for_each(|_| counts[(rng.uniform() * cells) as usize] += 1);
                reference.statistic(&counts)
            })
            .collect();
        reference.sorted.sort_unstable_by(f64::total_cmp);
        reference
    }

    /// The log of the least tail probability; `counts` are of each rank.
    fn statistic(&self, counts: &[usize]) -> f64 {
        let mut below = 0;
        let at = self.tails.iter().zip(counts).map(|(tails, count)| {
            below += count;
            tails[below]
        });
        at.fold(f64::INFINITY, f64::min)
    }

    /// The chance of ranks as far from uniform.
    pub fn p_value(&self, ranks: impl Iterator<Item = u32>) -> f64 {
        let mut counts = vec![0; self.draws + 1];
        ranks.for_each(|rank| counts[rank as usize] += 1);
        let statistic = self.statistic(&counts);
        let as_small = self.sorted.partition_point(|s| *s <= statistic); //~ sbc-p-value
        (1 + as_small) as f64 / (1 + self.sorted.len()) as f64
    }

    /// The share of ranks below k / (L + 1), and the least and the largest share that the band has there, for k = 1 .. L.
    pub fn band(&self) -> Vec<[f64; 3]> {
        // p(s) > alpha, as in `p_value`, for this statistic and those above.
        let most = (self.alpha * (1 + self.sorted.len()) as f64) as usize;
        let passes = |s: &f64| 1 + self.sorted.partition_point(|other| other <= s) > most;
        let limit = self.sorted.iter().copied().find(passes).unwrap_or(f64::INFINITY);
        let n = self.simulations as f64;
        let of = |(k, tails): (usize, &Vec<f64>)| {
            let inside = |tail: &f64| *tail >= limit;
            let low = tails.iter().position(inside).unwrap_or(0);
            let high = tails.iter().rposition(inside).unwrap_or(self.simulations);
            [(k + 1) as f64 / (self.draws + 1) as f64, low as f64 / n, high as f64 / n]
        };
        self.tails.iter().enumerate().map(of).collect()
    }

    /// The share of 400 repeats in which the test finds a normal posterior that is displaced by `shift` of its standard
    /// deviations, or `factor` times as wide as it should be.
    pub fn power(&self, shift: f64, factor: f64) -> f64 {
        const REPEATS: usize = 400;
        let ranks = rank_distribution(shift, factor, self.draws);
        let mut rng = ChainRng::new(17, 0).child(u64::from_le_bytes(*b"SBC find"));
        let found = (0..REPEATS).filter(|_| {
            let rank = |_| {
                let u = rng.uniform();
                ranks.partition_point(|below| *below <= u).min(self.draws) as u32
            };
            let of_repeat: Vec<u32> = (0..self.simulations).map(rank).collect();
            self.p_value(of_repeat.into_iter()) <= self.alpha
        });
        found.count() as f64 / REPEATS as f64
    }
}

/// The distribution function of the rank, P(rank <= r) for r = 0 .. L, of a true value t ~ N(0, 1) among `draws` of N(shift, factor^2): binomial
/// with the probability Phi((t - shift) / factor), integrated over t.
fn rank_distribution(shift: f64, factor: f64, draws: usize) -> Vec<f64> {
    const STEP: f64 = 0.02;
    let mut mass = vec![0.0; draws + 1];
    for i in -400..=400 {
        let t = f64::from(i) * STEP;
        let weight = STEP * exp(-0.5 * t * t) / std::f64::consts::TAU.sqrt();
        let z = (t - shift) / factor;
        let tail = |z: f64| (0.5 * (1.0 + erf(z / std::f64::consts::SQRT_2))).max(1e-300);
        let log_mass = binomial(draws, ln(tail(z)), ln(tail(-z)));
        mass.iter_mut().zip(log_mass).for_each(|(mass, of)| *mass += weight * exp(of));
    }
    let total: f64 = mass.iter().sum();
    let mut below = 0.0;
    mass.iter()
        .map(|mass| {
            below += mass / total;
            below
        })
        .collect()
}

/// The log probabilities of 0 .. n under a binomial distribution, by the logs of its probability p and of q = 1 - p.
fn binomial(n: usize, log_p: f64, log_q: f64) -> impl Iterator<Item = f64> {
    let log_factorial = |n: usize| ln_gamma(n as f64 + 1.0);
    (0..=n).map(move |c| {
        let choose = log_factorial(n) - log_factorial(c) - log_factorial(n - c);
        choose + c as f64 * log_p + (n - c) as f64 * log_q
    })
}

/// The logs of 2 min(P(C <= c), P(C >= c)) for c = 0 .. n, C ~ Bin(n, p).
fn two_sided(n: usize, p: f64) -> Vec<f64> {
    let mass: Vec<f64> = binomial(n, ln(p), ln(1.0 - p)).map(exp).collect();
    let mut up = mass.clone();
    (1..=n).for_each(|c| up[c] += up[c - 1]);
    let mut down = mass;
    (0..n).rev().for_each(|c| down[c] += down[c + 1]);
    up.iter().zip(&down).map(|(up, down)| ln(2.0 * up.min(*down))).collect()
}

/// The fewest simulations, in steps of a fifth, with which both faults are found in 99 of 100 repeats.
pub(super) fn simulations_to_find(
    shift: f64,
    factor: f64,
    draws: usize,
    alpha: f64,
) -> Result<usize, Error> {
    let faults = [(shift, 1.0), (0.0, factor), (0.0, 1.0 / factor)];
    let mut n = 50;
    while n <= super::MOST_SIMULATIONS / 5 {
        let reference = Reference::new(n, draws, alpha, 1);
        if faults.iter().all(|(shift, factor)| reference.power(*shift, *factor) >= 0.99) {
            return Ok(n);
        }
        n = n * 6 / 5;
    }
    let found = format!("{shift} standard deviations, or a factor of {factor}");
    Err(Error::argument("fault to find", found, "a larger one, which fewer simulations find"))
}

/// The smallest displacement, and the smallest factors above and below 1, that are found in 99 of 100 repeats; `None` where
/// nothing up to 5 is.
pub(super) fn found(reference: &Reference) -> [Option<f64>; 3] {
    let least = |fault: &dyn Fn(f64) -> (f64, f64), range: [f64; 2]| {
        let is_found = |size: f64| {
            let (shift, factor) = fault(size);
            reference.power(shift, factor) >= 0.99
        };
        let [mut low, mut high] = range.map(ln);
        if !is_found(range[1]) {
            return None;
        }
        for _ in 0..8 {
            let middle = 0.5 * (low + high);
            *(if is_found(exp(middle)) { &mut high } else { &mut low }) = middle;
        }
        Some(exp(high))
    };
    let narrow = least(&|size| (0.0, 1.0 / size), [1.01, 5.0]).map(|size| 1.0 / size);
    [least(&|size| (size, 1.0), [0.01, 5.0]), least(&|size| (0.0, size), [1.01, 5.0]), narrow]
}
