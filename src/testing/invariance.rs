//! Does a kernel leave its target unchanged?

use std::fmt;

use crate::Error;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Kernel};
use crate::target::{Point, Target};

/// An invariance test: exact draws, k steps from each, comparison with fresh exact draws.
///
/// If q is an exact draw of pi and the kernel leaves pi invariant, then the point after any number
/// of steps is an exact draw again. Compared are, by two-sample Kolmogorov-Smirnov tests with
/// Bonferroni's correction: every coordinate, every product of neighbouring coordinates, and the
/// log density.
#[derive(Clone, Copy, Debug)]
pub struct Invariance {
    /// How many exact draws are moved, and how many they are compared with.
    pub replicates: usize,
    /// Steps from each draw.
    pub steps: usize,
    /// Chance that a right kernel fails, all test functions together. Seeds are fixed: a test that
    /// passed once passes always.
    pub alpha: f64,
    /// The seed.
    pub seed: u64,
}

impl Default for Invariance {
    /// 10,000 replicates of 5 steps, alpha 1e-6.
    fn default() -> Self {
        Self { replicates: 10_000, steps: 5, alpha: 1e-6, seed: 1 }
    }
}

/// One function of the state and how far its two samples are apart.
#[derive(Clone, Debug)]
pub struct TestedFunction {
    /// What was compared.
    pub name: String,
    /// The largest difference of the two empirical distribution functions.
    pub statistic: f64,
    /// The chance of a difference as large under invariance.
    pub p_value: f64,
}

/// The outcome of an [`Invariance`] test.
#[derive(Clone, Debug)]
pub struct InvarianceReport {
    /// All functions that were compared.
    pub functions: Vec<TestedFunction>,
    /// The share of accepted steps: a test of a kernel that hardly moves says little.
    pub accept_rate: f64,
    alpha: f64,
}

impl InvarianceReport {
    /// Whether no function gives reason to doubt the kernel.
    pub fn passes(&self) -> bool {
        let threshold = self.alpha / self.functions.len() as f64;
        self.functions.iter().all(|f| f.p_value >= threshold)
    }
}

impl fmt::Display for InvarianceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.passes() { "invariant" } else { "NOT INVARIANT" };
        writeln!(f, "{verdict}; {:.0} % of steps accepted", 100.0 * self.accept_rate)?;
        for t in &self.functions {
            writeln!(f, "  {:16} D = {:.4}  p = {:.2e}", t.name, t.statistic, t.p_value)?;
        }
        Ok(())
    }
}

impl Invariance {
    /// Tests the kernel that `algorithm` builds, without warm-up: at the configured step size.
    ///
    /// `draw` writes one exact draw of the target.
    pub fn run<'t, T: Target, A: Algorithm<&'t T>>(
        &self,
        target: &'t T,
        algorithm: &A,
        draw: impl Fn(&mut ChainRng, &mut [f64]),
    ) -> Result<InvarianceReport, Error> {
        let dim = target.dim();
        let mut rng = ChainRng::new(self.seed, 0);
        let pristine = algorithm.kernel(&target, &rng)?;
        let mut kernel = algorithm.kernel(&target, &rng)?;
        let mut ws = target.workspace();
        let mut point = Point::new(dim);
        let n_functions = 2 * dim;
        let mut moved = vec![Vec::with_capacity(self.replicates); n_functions];
        let mut fresh = moved.clone();
        let mut accepted = 0;
        for _ in 0..self.replicates {
            point.set(|q| draw(&mut rng, q));
            point.eval(&target, &mut ws);
            kernel.restore(pristine.state());
            kernel.freeze();
            for _ in 0..self.steps {
                let step = kernel.step(&target, &mut point, &mut ws, &mut rng);
                accepted += usize::from(step.accepted);
            }
            record(&point, &mut moved);
            point.set(|q| draw(&mut rng, q));
            point.eval(&target, &mut ws);
            record(&point, &mut fresh);
        }
        let names = target.layout().parameter_names();
        let name = |i: usize| match i {
            _ if i < dim => names[i].clone(),
            _ if i < 2 * dim - 1 => format!("{} {}", names[i - dim], names[i - dim + 1]),
            _ => "log density".to_string(),
        };
        let functions = moved
            .iter_mut()
            .zip(&mut fresh)
            .enumerate()
            .map(|(i, (a, b))| {
                let (statistic, p_value) = kolmogorov_smirnov(a, b);
                TestedFunction { name: name(i), statistic, p_value }
            })
            .collect();
        let accept_rate = accepted as f64 / (self.replicates * self.steps) as f64;
        Ok(InvarianceReport { functions, accept_rate, alpha: self.alpha })
    }
}

fn record(point: &Point, functions: &mut [Vec<f64>]) {
    let q = point.q();
    let values = q
        .iter()
        .copied()
        .chain(q.windows(2).map(|pair| pair[0] * pair[1]))
        .chain([point.log_density().total()]);
    for (function, value) in functions.iter_mut().zip(values) {
        function.push(value);
    }
}

/// The two-sample Kolmogorov-Smirnov test; both samples are sorted in place.
///
/// Returns the largest difference D of the empirical distribution functions, and the p-value by
/// Kolmogorov's limit with Stephens' correction for finite samples,
/// Q((sqrt(m) + 0.12 + 0.11 / sqrt(m)) D) with m = n1 n2 / (n1 + n2) (Stephens, JRSS B 32, 1970).
/// A NaN in either sample gives (1, 0).
pub fn kolmogorov_smirnov(a: &mut [f64], b: &mut [f64]) -> (f64, f64) {
    if a.is_empty() || b.is_empty() || a.iter().chain(&*b).any(|x| x.is_nan()) {
        return (1.0, 0.0);
    }
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let (mut i, mut j, mut d) = (0, 0, 0.0f64);
    while i < a.len() && j < b.len() {
        let x = a[i].min(b[j]);
        while i < a.len() && a[i] <= x {
            i += 1;
        }
        while j < b.len() && b[j] <= x {
            j += 1;
        }
        d = d.max((i as f64 / n - j as f64 / m).abs());
    }
    let size = (n * m / (n + m)).sqrt();
    let lambda = (size + 0.12 + 0.11 / size) * d;
    if lambda < 0.3 {
        return (d, 1.0); // the series needs many terms there, and Q is above 0.99999
    }
    let q: f64 = (1..=100)
        .map(|k| {
            let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
            sign * (-2.0 * f64::from(k * k) * lambda * lambda).exp()
        })
        .sum();
    (d, q.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_statistic_and_its_tail_are_right() {
        let (d, _) = kolmogorov_smirnov(&mut [3.0, 1.0, 2.0], &mut [2.5, 4.0, 5.0, 6.0]);
        assert_eq!(d, 0.75);
        // The upper 5 % point of Kolmogorov's distribution is 1.3581 (Smirnov 1948).
        let n = 1_000_000;
        let shift = (1.3581 / (n as f64 / 2.0).sqrt() * n as f64) as usize;
        let mut a: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let mut b: Vec<f64> = (0..n).map(|i| (i + shift) as f64 + 0.5).collect();
        let (_, p) = kolmogorov_smirnov(&mut a, &mut b);
        assert!((p - 0.05).abs() < 2e-4, "{p}");
        assert_eq!(kolmogorov_smirnov(&mut [f64::NAN], &mut [1.0]), (1.0, 0.0));
    }
}
