//! The evidence p(y), the integral of likelihood times prior: how well a model explains the data
//! before its parameters are known.
//!
//! A run of [`PowerPosteriors`](crate::sampler::PowerPosteriors) from the prior (beta = 0) to the
//! posterior (beta = 1) holds two estimates of its logarithm, which fail in different ways:
//!
//! - **stepping stone** (Xie, Lewis, Fan, Kuo and Chen, Syst. Biol. 60, 2011,
//!   doi:10.1093/sysbio/syq085), with D_k = beta_{k+1} - beta_k,
//!
//!   ```text
//!   log Z   = sum_k log mean_k(r_k),   r_k = exp(D_k ell)
//!   ```
//!
//!   where mean_k is over the draws of rung k;
//! - **thermodynamic integration** (Friel, Hurn and Wyse, Stat. Comput. 24, 2014,
//!   doi:10.1007/s11222-013-9397-1), the trapezoid rule for log Z = int_0^1 E_beta(ell) dbeta with a
//!   correction of second order, E_k and V_k the mean and variance of ell on rung k,
//!
//!   ```text
//!   log Z   = sum_k [D_k (E_k + E_{k+1}) / 2 - D_k^2 (V_{k+1} - V_k) / 12]
//!   ```
//!
//! The standard error of either is that of the mean of one series over the draws: for stepping stone
//! sum_k r_k / mean_k(r_k), for thermodynamic integration sum_k [w_k ell_k + u_k (ell_k - E_k)^2]
//! with the weights that E_k and V_k have above. Exchanges correlate the rungs, and these series
//! have all of that in them: on a regression with ten parameters, errors added up rung by rung were
//! too small by a third to a half.
//!
//! Beside the thermodynamic estimate stands a discretisation term. The rule's error is of fourth order
//! in the spacing, so that with L the estimate of all rungs and L' that of every second one, it is
//! about (L' - L) / 15. For conjugate regression on (i/m)^5 with m of 12 or more it is 1.0 to 1.2
//! times the true error; with fewer rungs it may be far off.
//!
//! A draw from the prior at which the likelihood is no number is refused, and what is estimated then is
//! the evidence of the prior without such places, which is too large: this is warned of.
//!
//! Both need an evidence that exists: an improper prior is refused when the run is set up. Densities
//! must be normalised over the response and the prior over the parameters, as all of this crate's
//! are. **The evidence depends on the width of the prior**, also where the posterior does not.
//!
//! ```
//! use bnn_mcmc::evidence::Evidence;
//! use bnn_mcmc::prelude::*;
//! use bnn_mcmc::testing::{ConjugateRegression, Noise};
//!
//! let (x, y) = (ndarray::array![[0.0], [1.0], [2.0]], ndarray::array![0.1, 0.9, 2.2]);
//! let exact = ConjugateRegression::new(x.view(), y.view(), 1.0, Noise::Fixed(0.5))?;
//! let data = Dataset::regression(x, y)?;
//! let priors = Priors::all(Normal::new(0.0, 1.0)?);
//! let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
//!
//! let draws = Sampler::new(&posterior, PowerPosteriors::new(Mala::default())).seed(1).run()?;
//! let evidence = Evidence::of(&draws)?;
//! println!("{evidence}");
//! assert!((evidence.stepping_stone.log_evidence - exact.log_evidence()?).abs() < 0.1);
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

use std::fmt;

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::diagnostics::mcse_mean;
use crate::draws::Draws;
use crate::sampler::LadderReport;

/// log p(y) by two methods. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// By stepping stone: the headline.
    pub stepping_stone: Estimate,
    /// By thermodynamic integration.
    pub thermodynamic: Estimate,
    /// About how far the latter is off because the ladder is finite; infinite for two rungs, which
    /// leave nothing to compare.
    pub discretisation: f64,
    /// The standard error of the difference of the two estimates, which come from the same draws.
    pub difference_error: f64,
    /// The smallest effective share of draws that an interval's stepping-stone mean rests on,
    /// (sum r)^2 / (n sum r^2), over all intervals. Near 0, a few draws decide, and neither the
    /// estimate nor its standard error can be trusted.
    pub least_overlap: f64,
    /// How often states came from the prior to the posterior, in the chain where that was rarest.
    pub restarts: u64,
    /// Draws from the prior at which the likelihood was no number, all chains.
    pub undefined: u64,
}

/// A log evidence with its Monte Carlo standard error, in nats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// log p(y).
    pub log_evidence: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// The log of a Bayes factor with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BayesFactor {
    /// log p(y | first model) - log p(y | second model).
    pub log_bayes_factor: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// What one ladder gives: chains with equal betas share one.
struct OfLadder {
    chains: f64,
    stepping_stone: Estimate,
    thermodynamic: Estimate,
    difference: Estimate,
    discretisation: f64,
    least_overlap: f64,
}

impl Evidence {
    /// The evidence from a run of power posteriors. Chains whose ladders were adapted apart give one
    /// estimate each, of which the mean is taken; its standard error is then at least what the
    /// differences between them say. (The logarithm of a mean is too small by about half its
    /// variance, which more chains of that kind do not mend: negligible for errors below 0.3.)
    ///
    /// Errors: draws of another sampler, fewer than 10 draws per chain, or a ladder that does not
    /// begin at 0.
    pub fn of(draws: &Draws) -> Result<Self, Error> {
        let reports = LadderReport::of(draws)?;
        if draws.n_draws() < 10 {
            return Err(Error::argument("draws per chain", draws.n_draws(), "at least 10"));
        }
        if let Some(report) = reports.iter().find(|report| report.betas.first() != Some(&0.0)) {
            let found = report.betas.first().map_or("missing".to_string(), f64::to_string);
            let allowed = "0: evidence needs draws from a proper prior";
            return Err(Error::argument("beta_0 of the ladder", found, allowed));
        }
        // Chains by ladder, in order of appearance.
        let mut ladders: Vec<(&[f64], Vec<usize>)> = Vec::new();
        for (chain, report) in reports.iter().enumerate() {
            match ladders.iter_mut().find(|(betas, _)| *betas == report.betas) {
                Some((_, chains)) => chains.push(chain),
                None => ladders.push((&report.betas, vec![chain])),
            }
        }
        let mut estimates = Vec::with_capacity(ladders.len());
        for (betas, chains) in ladders {
            let mut rungs = Vec::with_capacity(betas.len());
            for k in 0..betas.len() {
                let cold = k + 1 == betas.len();
                let name =
                    if cold { "log_likelihood" } else { &format!("rung_{k}.log_likelihood") };
                rungs.push(draws.stat(name)?.select(Axis(0), &chains));
            }
            estimates.push(of_ladder(betas, &rungs));
        }
        let total: f64 = estimates.iter().map(|e| e.chains).sum();
        let mean = |of: &dyn Fn(&OfLadder) -> f64| {
            estimates.iter().map(|e| e.chains * of(e)).sum::<f64>() / total
        };
        let combine = |of: &dyn Fn(&OfLadder) -> Estimate| {
            let log_evidence = mean(&|e| of(e).log_evidence);
            let squares =
                estimates.iter().map(|e| (e.chains / total * of(e).standard_error).powi(2));
            let within = squares.sum::<f64>().sqrt();
            let n = estimates.len() as f64;
            let spread = mean(&|e| (of(e).log_evidence - log_evidence).powi(2));
            let between = if n > 1.0 { (spread / (n - 1.0)).sqrt() } else { 0.0 };
            // `max` would drop a NaN.
            let standard_error = if between > within { between } else { within };
            Estimate { log_evidence, standard_error }
        };
        Ok(Self {
            stepping_stone: combine(&|e| e.stepping_stone),
            thermodynamic: combine(&|e| e.thermodynamic),
            discretisation: mean(&|e| e.discretisation).abs(),
            difference_error: combine(&|e| e.difference).standard_error,
            least_overlap: estimates.iter().map(|e| e.least_overlap).fold(1.0, least),
            restarts: reports.iter().map(|r| r.restarts).min().unwrap_or(0),
            undefined: reports.iter().filter_map(|r| r.divergences.first()).sum(),
        })
    }

    /// log p(y | this model) - log p(y | the other), by stepping stone. Positive values speak for
    /// this one. Both must explain the same rows of the same response.
    pub fn bayes_factor(&self, other: &Self) -> BayesFactor {
        let (a, b) = (self.stepping_stone, other.stepping_stone);
        BayesFactor {
            log_bayes_factor: a.log_evidence - b.log_evidence,
            standard_error: a.standard_error.hypot(b.standard_error),
        }
    }

    /// Reasons for distrust; empty if there are none.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let (a, b) = (self.stepping_stone, self.thermodynamic);
        let difference = (a.log_evidence - b.log_evidence).abs();
        if !a.log_evidence.is_finite() {
            let what = "the likelihood is 0 at all draws of a rung: the prior (or reference) does not \
                        reach the posterior, or a density underflows";
            warnings.push(what.to_string());
        } else if !b.log_evidence.is_finite() {
            let what = "the likelihood is 0 somewhere under the prior, or underflows: no thermodynamic \
                        estimate";
            warnings.push(what.to_string());
        } else if difference > 3.0 * self.difference_error + self.discretisation {
            warnings.push(format!(
                "the two estimates differ by {difference:.3}, more than three times the standard \
                 error of their difference {:.3} plus the discretisation {:.3}: take more rungs, or \
                 longer chains",
                self.difference_error, self.discretisation
            ));
        }
        if a.standard_error > 0.5 {
            warnings.push(format!(
                "the standard error {:.2} is large: odds between models are uncertain by a factor \
                 of {:.1} or more",
                a.standard_error,
                a.standard_error.exp()
            ));
        }
        if self.undefined > 0 {
            warnings.push(format!(
                "the likelihood was no number at {} draws from the prior, which are left out: the \
                 evidence is too large",
                self.undefined
            ));
        }
        if self.discretisation == f64::INFINITY {
            warnings.push("two rungs leave nothing to check the estimates by".to_string());
        } else if self.discretisation > 0.5 {
            warnings.push(format!(
                "the ladder is coarse: thermodynamic integration is off by about {:.2}",
                self.discretisation
            ));
        }
        if self.least_overlap.is_nan() || self.least_overlap < 0.01 {
            warnings.push(format!(
                "between two rungs only {:.2} % of the draws count: take more rungs",
                100.0 * self.least_overlap
            ));
        }
        if self.restarts < 10 {
            warnings.push(format!(
                "in one chain, states came from the prior to the posterior {} times only: a mode may \
                 be missed; run longer, or take the number of rungs that the LadderReport suggests",
                self.restarts
            ));
        }
        warnings
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stepping_stone: s, thermodynamic: t, .. } = self;
        writeln!(f, "log evidence   stepping stone {s}",)?;
        writeln!(
            f,
            "               thermodynamic  {t}, discretisation {:.3}",
            self.discretisation
        )?;
        for warning in self.warnings() {
            writeln!(f, "warning: {warning}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} ({:.3})", self.log_evidence, self.standard_error)
    }
}

impl fmt::Display for BayesFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let log = self.log_bayes_factor;
        let (for_first, odds) = (log >= 0.0, log.abs().exp());
        let odds = if for_first { format!("{odds:.3} to 1") } else { format!("1 to {odds:.3}") };
        write!(f, "log Bayes factor {log:.2} ({:.2}): odds {odds}", self.standard_error)
    }
}

/// The estimates from log likelihoods `[chain, draw]` of each rung.
fn of_ladder(betas: &[f64], rungs: &[Array2<f64>]) -> OfLadder {
    let moments: Vec<(f64, f64)> = rungs.iter().map(moments).collect();
    let all: Vec<usize> = (0..betas.len()).collect();
    let (log_evidence, weights) = integral(betas, &moments, &all);
    // Every second rung, counted from either end, where that makes a difference.
    let last = all.len() - 1;
    let from_hot =
        all.iter().copied().filter(|k| k.is_multiple_of(2) || *k == last).collect::<Vec<_>>();
    let from_cold =
        all.iter().copied().filter(|k| (last - k).is_multiple_of(2) || *k == 0).collect::<Vec<_>>();
    let errors =
        [from_hot, from_cold].map(|at| (integral(betas, &moments, &at).0 - log_evidence) / 15.0);
    let discretisation = if errors[0].abs() > errors[1].abs() { errors[0] } else { errors[1] };

    let mut thermodynamic = Array2::zeros(rungs[0].dim());
    for ((rung, (mean, _)), (w, u)) in rungs.iter().zip(&moments).zip(weights) {
        thermodynamic.zip_mut_with(rung, |sum, ell| *sum += w * ell + u * (ell - mean).powi(2));
    }
    let SteppingStone { log_evidence: by_stones, series, least_overlap } =
        stepping_stone(betas, rungs);
    let estimate = |log_evidence, series: &Array2<f64>| {
        // A series without variation, as under a flat likelihood, has no error.
        let constant = series.iter().all(|s| *s == series[(0, 0)]);
        let standard_error = if constant { 0.0 } else { mcse_mean(series.view()) };
        Estimate { log_evidence, standard_error }
    };
    OfLadder {
        chains: rungs[0].nrows() as f64,
        stepping_stone: estimate(by_stones, &series),
        difference: estimate(by_stones - log_evidence, &(&series - &thermodynamic)),
        thermodynamic: estimate(log_evidence, &thermodynamic),
        discretisation: if last == 1 { f64::INFINITY } else { discretisation },
        least_overlap,
    }
}

fn moments(rung: &Array2<f64>) -> (f64, f64) {
    let n = rung.len() as f64;
    let mean = rung.sum() / n;
    (mean, rung.fold(0.0, |sum, ell| sum + (ell - mean).powi(2)) / n)
}

/// The corrected trapezoid rule over the rungs `at`, and the weights of each one's mean and
/// variance.
fn integral(betas: &[f64], moments: &[(f64, f64)], at: &[usize]) -> (f64, Vec<(f64, f64)>) {
    let mut weights = vec![(0.0, 0.0); betas.len()];
    for pair in at.windows(2) {
        let (low, high) = (pair[0], pair[1]);
        let d = betas[high] - betas[low];
        for (rung, sign) in [(low, 1.0), (high, -1.0)] {
            weights[rung].0 += d / 2.0;
            weights[rung].1 += sign * d * d / 12.0;
        }
    }
    let terms = weights.iter().zip(moments).zip(0..);
    let sum = terms
        .filter(|(_, k)| at.contains(k))
        .map(|(((w, u), (mean, variance)), _)| w * mean + u * variance)
        .sum();
    (sum, weights)
}

struct SteppingStone {
    log_evidence: f64,
    /// The sum over rungs of r_k / mean_k(r_k), `[chain, draw]`.
    series: Array2<f64>,
    least_overlap: f64,
}

fn stepping_stone(betas: &[f64], rungs: &[Array2<f64>]) -> SteppingStone {
    let (mut log_evidence, mut least_overlap) = (0.0, 1.0);
    let mut series = Array2::zeros(rungs[0].dim());
    for (pair, rung) in betas.windows(2).zip(rungs) {
        let d = pair[1] - pair[0];
        let largest = rung.fold(f64::NEG_INFINITY, |largest: f64, ell| largest.max(*ell));
        let ratios = rung.mapv(|ell| (d * (ell - largest)).exp());
        let (mean, spread) = moments(&ratios);
        log_evidence += d * largest + mean.ln();
        series.zip_mut_with(&ratios, |sum, r| *sum += r / mean);
        least_overlap = least(least_overlap, mean * mean / (mean * mean + spread));
    }
    SteppingStone { log_evidence, series, least_overlap }
}

/// The smaller of two numbers; NaN if either is.
fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E_beta[ell] of a cubic polynomial in beta is integrated exactly by the corrected rule, from
    /// its values and derivatives (V is the derivative of E).
    #[test]
    fn the_corrected_rule_is_exact_for_cubics() {
        let betas: Vec<f64> = [0.0, 0.1, 0.4, 0.7, 1.0].to_vec();
        let of = |b: f64| (2.0 + b - 3.0 * b * b + 4.0 * b.powi(3), 1.0 - 6.0 * b + 12.0 * b * b);
        let moments: Vec<_> = betas.iter().map(|b| of(*b)).collect();
        let all: Vec<_> = (0..5).collect();
        let exact = 2.0 + 0.5 - 1.0 + 1.0;
        assert!((integral(&betas, &moments, &all).0 - exact).abs() < 1e-14);
        assert!((integral(&betas, &moments, &[0, 2, 4]).0 - exact).abs() < 1e-14);
    }

    #[test]
    fn a_flat_likelihood_is_its_own_evidence() {
        let rungs = vec![Array2::from_elem((2, 50), -7.25); 4];
        let of = of_ladder(&[0.0, 0.1, 0.5, 1.0], &rungs);
        assert!((of.stepping_stone.log_evidence + 7.25).abs() < 1e-12);
        assert!((of.thermodynamic.log_evidence + 7.25).abs() < 1e-12);
        assert_eq!((of.stepping_stone.standard_error, of.least_overlap), (0.0, 1.0));
        assert!(of.discretisation.abs() < 1e-12);
    }
}
