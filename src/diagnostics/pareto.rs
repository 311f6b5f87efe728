//! Pareto-smoothed importance sampling: weights of draws, for a posterior with one row left out, or with a density to another
//! power.

/// The draws of the tail are at least this many: a fifth of the fewest draws.
const FEWEST_OF_TAIL: usize = 5;

/// The number of the largest ratios that are smoothed, of `n` draws with that relative efficiency.
fn tail_length(n: usize, relative_efficiency: f64) -> usize {
    let all = n as f64;
    let tail = if all * relative_efficiency > 225.0 {
        (3.0 * (all / relative_efficiency).sqrt()) as usize //~ pareto-tail
    } else {
        n / 5
    };
    tail.max(FEWEST_OF_TAIL)
}

/// Smoothed weights of one row, in the symbols of [`Loo`](crate::predict::Loo). Memory is kept from row to row.
#[derive(Default)]
pub(crate) struct Psis {
    /// log p(y_i | q_s) with s: the draws of the tail first, by rising ratio.
    sorted: Vec<(f64, usize)>,
    /// The excesses of the ratios in the tail over the largest ratio before the tail.
    excesses: Vec<f64>,
    /// w_s, relative to the largest ratio.
    weights: Vec<f64>,
    /// The number of smoothed weights: M, or 0.
    smoothed: usize,
    /// The smallest log p(y_i | q_s).
    smallest: f64,
    /// c, the power of 1 / p(y_i | q_s) that is the ratio.
    power: f64,
}

impl Psis {
    /// Computes the weights of the ratios p(y_i | q_s)^-c, c = `power` up to 1, from log p(y_i | q_s) of all draws,
    /// which are finite and at least 25.
    /// Returns k, or NaN, and the weights are then the ratios themselves.
    pub fn smooth(&mut self, log_lik: &[f64], power: f64, relative_efficiency: f64) -> f64 {
        let n = log_lik.len();
        let smallest = log_lik.iter().copied().fold(f64::INFINITY, f64::min);
        (self.smallest, self.power) = (smallest, power);
        let ratio = |log_lik: f64| (power * (smallest - log_lik)).exp(); //~ pareto-power
        self.weights.clear();
        self.weights.extend(log_lik.iter().map(|l| ratio(*l)));
        self.smoothed = 0;

        let m = tail_length(n, relative_efficiency);
        self.sorted.clear();
        self.sorted.extend(log_lik.iter().copied().zip(0..));
        let by_ratio = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        let (tail, last, _) = self.sorted.select_nth_unstable_by(m, by_ratio);
        let cutoff = ratio(last.0);
        tail.sort_unstable_by(|a, b| by_ratio(b, a));
        if tail[0].0 == tail[m - 1].0 {
            return f64::NAN;
        }
        self.excesses.clear();
        self.excesses.extend(tail.iter().map(|(log_lik, _)| ratio(*log_lik) - cutoff));
        let Some(pareto) = Pareto::fit(&self.excesses) else { return f64::NAN };
        for (j, (_, draw)) in tail.iter().enumerate() {
            let p = (j as f64 + 0.5) / m as f64;
            self.weights[*draw] = (cutoff + pareto.quantile(p)).min(1.0); //~ pareto-weights
        }
        self.smoothed = m;
        pareto.k
    }

    /// w_s of every draw, up to one factor.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// log (sum_s w_s p(y_i | q_s) / sum_s w_s). Where weights are the ratios and c is 1, w_s p(y_i | q_s) is
    /// the same for all s: the smallest of p(y_i | q_s).
    pub fn log_mean(&self) -> f64 {
        let (tail, body) = self.sorted.split_at(self.smoothed);
        let terms = tail.iter().map(|(log_lik, draw)| self.weights[*draw].ln() + log_lik);
        let of_draw =
            |(log_lik, _): &(f64, usize)| self.power * self.smallest + (1.0 - self.power) * log_lik;
        let largest = terms.clone().fold(self.smallest, f64::max);
        let largest = body.iter().map(of_draw).fold(largest, f64::max);
        let of_body: f64 = match self.power {
            1.0 => body.len() as f64 * (self.smallest - largest).exp(),
            _ => body.iter().map(|draw| (of_draw(draw) - largest).exp()).sum(),
        };
        let sum = of_body + terms.map(|term| (term - largest).exp()).sum::<f64>();
        largest + sum.ln() - self.weights.iter().sum::<f64>().ln()
    }
}

/// The generalised Pareto distribution of excesses, p(x) = 1/sigma (1 + k x / sigma)^(-1/k - 1).
struct Pareto {
    k: f64,
    sigma: f64,
}

impl Pareto {
    /// Fits n rising excesses x_1, ..., x_n by Zhang and Stephens (2009,
    /// doi:10.1198/tech.2009.08017), and draws k towards 1/2 as if by ten more of them. Nothing
    /// where the first quartile is 0, or an estimate is NaN.
    ///
    /// With b = -k / sigma, for which the likelihood has k(b) = 1/n sum_i log(1 - b x_i) in closed
    /// form, and on a grid of m = 30 + floor(sqrt n) points,
    ///
    /// ```text
    /// b_j  = 1/x_n + (1 - sqrt(m / (j - 1/2))) / (3 x*),    x* = x_floor(n/4 + 1/2)
    /// l(b) = n (log(-b / k(b)) - k(b) - 1)
    /// b^   = sum_j b_j e^l(b_j) / sum_j e^l(b_j)
    /// k^   = k(b^),   sigma = -k^ / b^,   k = (n k^ + 10/2) / (n + 10)
    /// ```
    ///
    /// Points whose share of the sum is below 10 rounding units are left out.
    fn fit(x: &[f64]) -> Option<Self> {
        let n = x.len() as f64;
        let (quartile, largest) = (x[(n / 4.0 + 0.5) as usize - 1], x[x.len() - 1]);
        if quartile <= 0.0 {
            return None;
        }
        let k_of = |b: f64| x.iter().map(|x| (-b * x).ln_1p()).sum::<f64>() / n;
        let m = 30 + n.sqrt() as usize;
        let grid = (1..=m).map(|j| {
            let root = (m as f64 / (j as f64 - 0.5)).sqrt();
            let b = 1.0 / largest + (1.0 - root) / (3.0 * quartile);
            let k = k_of(b);
            (b, n * ((-b / k).ln() - k - 1.0))
        });
        let mut grid: Vec<(f64, f64)> = grid.collect();
        let highest = grid.iter().map(|(_, l)| *l).fold(f64::NEG_INFINITY, f64::max);
        grid.iter_mut().for_each(|(_, l)| *l = (*l - highest).exp());
        let total: f64 = grid.iter().map(|(_, share)| share).sum();
        grid.retain(|(_, share)| *share >= 10.0 * f64::EPSILON * total);
        let total: f64 = grid.iter().map(|(_, share)| share).sum();
        let b = grid.iter().map(|(b, share)| b * share).sum::<f64>() / total;
        let k = k_of(b);
        let sigma = -k / b;
        let k = (n * k + 5.0) / (n + 10.0); //~ pareto-k-prior
        (k.is_finite() && sigma > 0.0 && sigma.is_finite()).then_some(Self { k, sigma })
    }

    /// The quantile at p: sigma ((1 - p)^-k - 1) / k.
    fn quantile(&self, p: f64) -> f64 {
        let log = -(-p).ln_1p();
        self.sigma * if self.k == 0.0 { log } else { (self.k * log).exp_m1() / self.k }
    }
}
