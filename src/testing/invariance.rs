//! Does a kernel leave its target unchanged?

use std::fmt;

use statrs::function::erf::erfc;

use super::simulated_response;
use crate::Error;
use crate::data::Dataset;
use crate::layout::Layout;
use crate::likelihood::Likelihood;
use crate::memory;
use crate::model::Model;
use crate::posterior::Posterior;
use crate::rng::ChainRng;
use crate::run::{check_chains, check_layout};
use crate::sampler::{Algorithm, Kernel};
use crate::targets::{Point, Target};

/// The largest number of steps, more than a test can make in a reasonable time.
const MOST_STEPS: usize = u32::MAX as usize;

/// An invariance test: exact draws, k steps from each, comparison with exact draws.
///
/// If q_0 is an exact draw of pi and the kernel leaves pi invariant, then q_k, the point after any
/// number of steps, is an exact draw again. Two kinds of tests look for a difference:
///
/// - whole distributions: two-sample Kolmogorov-Smirnov tests of q_k against fresh exact draws, for
///   every coordinate, every product of neighbouring coordinates, and the log density;
/// - small shifts: h(q_k) - h(q_0) has mean zero for every function h. Pairs that start from the
///   same draw differ little if steps are small, so that a z-test of their mean detects differences
///   that a comparison of two unrelated samples cannot. h is each of the above, and the square of
///   each coordinate.
///
/// The smallest p-value is compared with alpha over the number of tests (Bonferroni).
#[derive(Clone, Copy, Debug)]
pub struct Invariance {
    /// The number of exact draws that are moved, and of draws that they are compared with: at least
    /// 2, and as many as fit into memory, each with 9 numbers per coordinate.
    pub replicates: usize,
    /// Steps from each draw, 1 to 4,294,967,295: enough that a typical chain moves by a good part of the target's width.
    pub steps: usize,
    /// Chance that a right kernel fails, all tests together. Seeds are fixed: a test that passed once
    /// passes always.
    pub alpha: f64,
    /// The seed.
    pub seed: u64,
}

impl Default for Invariance {
    /// 20,000 replicates of 20 steps, alpha 1e-6.
    fn default() -> Self {
        Self { replicates: 20_000, steps: 20, alpha: 1e-6, seed: 1 }
    }
}

/// One function h of the state, and how much it differs.
#[derive(Clone, Debug)]
pub struct TestedFunction {
    /// The name of the function.
    pub name: String,
    /// Kolmogorov-Smirnov: the largest difference of the empirical distribution functions of h(q_k)
    /// and of h at fresh exact draws.
    pub ks: f64,
    /// The chance of a difference as large under invariance.
    pub ks_p_value: f64,
    /// The mean of h(q_k) - h(q_0) in its standard errors.
    pub shift: f64,
    /// The chance of a mean as far from 0 under invariance.
    pub shift_p_value: f64,
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
    /// Whether no function gives reason to doubt the kernel, and it moved: at least 1 % of its steps
    /// were accepted. A kernel that never moves leaves everything invariant.
    pub fn passes(&self) -> bool {
        let threshold = self.alpha / (2 * self.functions.len()) as f64;
        self.accept_rate >= 0.01
            && self.functions.iter().all(|f| f.ks_p_value.min(f.shift_p_value) >= threshold)
    }
}

impl fmt::Display for InvarianceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.passes() {
            true => "invariant",
            false if self.accept_rate < 0.01 => "NOT TESTED, it hardly moves",
            false => "NOT INVARIANT",
        };
        writeln!(f, "{verdict}; {:.0} % of steps accepted", 100.0 * self.accept_rate)?;
        for t in &self.functions {
            writeln!(
                f,
                "  {:16} D = {:.4}  p = {:.0e}   shift {:+6.1} SE  p = {:.0e}",
                t.name, t.ks, t.ks_p_value, t.shift, t.shift_p_value
            )?;
        }
        Ok(())
    }
}

impl Invariance {
    /// Tests the kernel that `algorithm` builds, without warm-up: at the configured step size.
    ///
    /// `draw` writes one exact draw of the target.
    ///
    /// # Errors
    /// If replicates or steps are out of range, or the algorithm refuses its configuration.
    pub fn run<'t, T: Target, A: Algorithm<&'t T>>(
        &self,
        target: &'t T,
        algorithm: &A,
        draw: impl Fn(&mut ChainRng, &mut [f64]),
    ) -> Result<InvarianceReport, Error> {
        self.check(&target, algorithm)?;
        let mut rng = ChainRng::new(self.seed, 0);
        let pristine = algorithm.kernel(&target, &rng)?;
        let mut kernel = algorithm.kernel(&target, &rng)?;
        let mut ws = target.workspace();
        let mut point = Point::new(target.dim());
        let mut samples = Samples::new(self.replicates, target.dim());
        for _ in 0..self.replicates {
            point.set(|q| draw(&mut rng, q));
            point.eval(&target, &mut ws);
            record(&point, &mut samples.before);
            kernel.restore(pristine.state());
            kernel.freeze();
            for _ in 0..self.steps {
                let step = kernel.step(&target, &mut point, &mut ws, &mut rng);
                samples.accepted += u64::from(step.accepted);
            }
            point.eval(&target, &mut ws);
            record(&point, &mut samples.after);
            point.set(|q| draw(&mut rng, q));
            point.eval(&target, &mut ws);
            record(&point, &mut samples.fresh);
        }
        Ok(self.report(&target.layout(), samples))
    }

    /// Geweke's joint test: are parameters and data together left unchanged by steps of the kernel that `algorithm` builds, each
    /// followed by new data?
    ///
    /// A pair of q ~ p(q) and y ~ p(y | q) is an exact draw of p(q, y). A step that leaves p(q | y) unchanged and new data y ~ p(y | q)
    /// leave their joint distribution unchanged, so that q keeps the distribution of the prior. No exact
    /// draw of the posterior is needed, and prior, likelihood and kernel are tested against each other: a Jacobian that is
    /// missing in one of them shows. The features come from `data`, whose response says of what kind the simulated one is; few
    /// rows move q faster, and show more. A kernel is built anew for each step: none remembers the data before.
    ///
    /// Source: Geweke, *Getting it right*, Journal of the American Statistical Association 99, 2004, doi:10.1198/016214504000001132; here with independent
    /// replicates in the place of one long chain.
    ///
    /// # Errors
    /// Those of [`run`](Self::run), a prior that cannot be drawn from, a simulated response that the likelihood refuses.
    pub fn run_joint<M, L, A>(
        &self,
        posterior: &Posterior<M, L>,
        data: &Dataset,
        algorithm: &A,
    ) -> Result<InvarianceReport, Error>
    where
        M: Model + Clone,
        L: Likelihood + Clone,
        A: for<'t> Algorithm<&'t Posterior<M, L>>,
    {
        self.check(&posterior, algorithm)?;
        let mut rng = ChainRng::new(self.seed, 0);
        let mut ws = posterior.workspace();
        let dim = posterior.dim();
        let mut point = Point::new(dim);
        let mut samples = Samples::new(self.replicates, dim);
        let mut q = vec![0.0; dim];
        let mut kernels = 0u64;
        let given = |q: &[f64], rng: &mut ChainRng| -> Result<Posterior<M, L>, Error> {
            posterior.given(&simulated_response(posterior, q, data, rng)?)
        };
        for _ in 0..self.replicates {
            posterior.draw_prior(&mut rng, &mut q)?;
            let mut now = given(&q, &mut rng)?;
            point.set(|to| to.copy_from_slice(&q));
            point.eval(&now, &mut ws);
            record(&point, &mut samples.before);
            for _ in 0..self.steps {
                {
                    let target = &now;
                    // A stream of its own for each kernel, which may keep parts of it.
                    let stream = ChainRng::new(self.seed, 0).child(kernels);
                    kernels += 1;
                    let mut kernel = algorithm.kernel(&target, &stream)?;
                    kernel.freeze();
                    let step = kernel.step(&target, &mut point, &mut ws, &mut rng);
                    samples.accepted += u64::from(step.accepted);
                }
                now = given(point.q(), &mut rng)?; //~ joint-data
                // The values at the point are for the data before.
                q.copy_from_slice(point.q());
                point.set(|to| to.copy_from_slice(&q));
                point.eval(&now, &mut ws);
            }
            record(&point, &mut samples.after);
            posterior.draw_prior(&mut rng, &mut q)?;
            let now = given(&q, &mut rng)?;
            point.set(|to| to.copy_from_slice(&q));
            point.eval(&now, &mut ws);
            record(&point, &mut samples.fresh);
        }
        Ok(self.report(posterior.layout(), samples))
    }

    fn check<T: Target, A: Algorithm<T>>(&self, target: &T, algorithm: &A) -> Result<(), Error> {
        let dim = target.dim();
        check_layout(dim, &target.layout())?;
        check_chains(2, dim, algorithm.matrix_numbers(target))?;
        let size = [(self.replicates, "replicates"), (9, "functions"), (dim, "coordinates")];
        memory::check::<f64>("replicates", &size, "take fewer replicates")?;
        if self.replicates < 2 {
            return Err(Error::argument("replicates", self.replicates, "at least 2"));
        }
        if !(1..=MOST_STEPS).contains(&self.steps) {
            return Err(Error::argument("steps", self.steps, format!("1 to {MOST_STEPS}")));
        }
        Ok(())
    }

    /// Compares the functions after the steps with those before, and with fresh draws.
    fn report(&self, layout: &Layout, samples: Samples) -> InvarianceReport {
        let dim = layout.dim();
        let Samples { before, mut after, mut fresh, accepted } = samples;
        let names = layout.parameter_names();
        let name = |i: usize| match i / dim {
            0 => names[i].clone(),
            1 => format!("{}^2", names[i - dim]),
            _ if i < 3 * dim - 1 => format!("{} {}", names[i - 2 * dim], names[i - 2 * dim + 1]),
            _ => "log density".to_string(),
        };
        let functions = (0..3 * dim).map(|i| {
            let (shift, shift_p_value) = paired_shift(&before[i], &after[i]);
            let (ks, ks_p_value) = kolmogorov_smirnov(&mut after[i], &mut fresh[i]);
            TestedFunction { name: name(i), ks, ks_p_value, shift, shift_p_value }
        });
        let accept_rate = accepted as f64 / (self.replicates as f64 * self.steps as f64);
        InvarianceReport { functions: functions.collect(), accept_rate, alpha: self.alpha }
    }
}

/// The values of all functions, `[function][replicate]`, and the number of accepted steps.
struct Samples {
    before: Vec<Vec<f64>>,
    after: Vec<Vec<f64>>,
    fresh: Vec<Vec<f64>>,
    accepted: u64,
}

impl Samples {
    fn new(replicates: usize, dim: usize) -> Self {
        let columns = || (0..3 * dim).map(|_| Vec::with_capacity(replicates)).collect();
        Self { before: columns(), after: columns(), fresh: columns(), accepted: 0 }
    }
}

fn record(point: &Point, functions: &mut [Vec<f64>]) {
    let q = point.q();
    let values = q
        .iter()
        .copied()
        .chain(q.iter().map(|x| x * x))
        .chain(q.windows(2).map(|pair| pair[0] * pair[1]))
        .chain([point.log_density().total()]);
    for (function, value) in functions.iter_mut().zip(values) {
        function.push(value);
    }
}

/// The mean of `after - before` in its standard errors, and its two-sided p-value under a normal
/// distribution. Samples that do not differ at all give (0, 1), NaN gives (NaN, 0).
fn paired_shift(before: &[f64], after: &[f64]) -> (f64, f64) {
    let n = before.len() as f64;
    let differences = before.iter().zip(after).map(|(b, a)| a - b);
    let mean = differences.clone().sum::<f64>() / n;
    let variance = differences.map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    if variance == 0.0 && mean == 0.0 {
        return (0.0, 1.0);
    }
    let z = mean / (variance / n).sqrt();
    (z, if z.is_nan() { 0.0 } else { erfc(z.abs() / std::f64::consts::SQRT_2) })
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
    a.sort_unstable_by(f64::total_cmp);
    b.sort_unstable_by(f64::total_cmp);
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
