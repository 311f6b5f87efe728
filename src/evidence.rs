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
//! The standard error of either estimate is the standard error of the mean of one series over the
//! draws: for stepping stone sum_k r_k / mean_k(r_k), for thermodynamic integration sum_k [w_k
//! ell_k + u_k (ell_k - E_k)^2] with the weights that E_k and V_k have above. Exchanges correlate
//! the rungs, and these series account for it: on a regression with ten parameters, errors added up
//! rung by rung were too small by a third to a half.
//!
//! Thermodynamic integration has a second error, from the integration rule, which longer chains do
//! not reduce. E_beta(ell) is a function f of beta whose derivatives are the cumulants of ell: f' =
//! V, and f'' = K, the third central moment. The rule above is the two-point Hermite rule of f and
//! f'; the next one takes f'' too. With D the spacing, and each fourth or sixth derivative
//! somewhere in the interval (Davis and Rabinowitz, Methods of Numerical Integration, 2nd ed. 1984,
//! section 2.8: rules with derivative data),
//!
//! ```text
//! I_2 = D (f_0 + f_1)/2 - D^2 (f_1' - f_0')/12                           I - I_2 =  D^5 f^(4) /    720
//! I_3 = D (f_0 + f_1)/2 - D^2 (f_1' - f_0')/10 + D^3 (f_0'' + f_1'')/120   I - I_3 = -D^7 f^(6) / 100800
//! ```
//!
//! for the integral I of one interval. The discretisation is |sum_k (I_3 - I_2)|. It is
//! asymptotically the error of I_2. Where f^(4) and f^(6) have the same sign, I lies between I_2
//! and I_3, so that it is at least as large as the error, on a ladder of any spacing. That is so
//! for a linear model with known noise: f is a constant minus terms c / (1 + beta a)^n with n = 1
//! or 2 and positive a and c, whose even derivatives are all positive. With exact moments, for such
//! regressions with 1 to 50 parameters and 10 to 1,000 rows on (i/m)^5, it is 1.02 to 1.14 times
//! the true error at m = 20, and 1.2 to 3.7 times at m = 6. In practice the moments come from the
//! same draws. Third moments of hot rungs, whose log likelihoods have long tails, are noisy, and so is I_3: with few draws the
//! discretisation comes out larger than it is.
//!
//! **The error that is reported is the root of the sum of squares** of Monte Carlo standard error
//! and discretisation, as systematic and random uncertainties are combined (JCGM 100:2008, section
//! 5.1), and so is the error of the difference between the two estimates; stepping stone has no
//! discretisation term. A warning that the two disagree is given beyond the discretisation, which
//! is not a random error, and three Monte Carlo standard errors of the difference.
//!
//! A draw from the prior at which the likelihood is NaN or infinite is refused, and the estimate is
//! then the evidence of the prior without such places, which is too large: this is warned of.
//!
//! Both need an evidence that exists: an improper prior is refused when the run is set up. Densities
//! must be normalised over the response and the prior over the parameters, as all of this crate's
//! are. **The evidence depends on the width of the prior**, also where the posterior does not.
//!
//! ```
//! use bnn_mcmc::evidence::Evidence;
//! use bnn_mcmc::prelude::*;
//! use bnn_mcmc::testing::{ConjugateRegression, NoiseVariance};
//!
//! let (x, y) = (ndarray::array![[0.0], [1.0], [2.0]], ndarray::array![0.1, 0.9, 2.2]);
//! let exact = ConjugateRegression::new(x.view(), y.view(), 1.0, NoiseVariance::Fixed(0.5))?;
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
use crate::draws::LadderReport;

/// log p(y) by two methods. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The estimate by stepping stone: the headline.
    pub stepping_stone: Estimate,
    /// The estimate by thermodynamic integration; its error includes the
    /// [discretisation](Self::discretisation).
    pub thermodynamic: Estimate,
    /// The approximate error of thermodynamic integration because the ladder is finite.
    pub discretisation: f64,
    /// The error of the difference of the two estimates: its Monte Carlo standard error, which
    /// accounts for the correlation of two estimates from the same draws, and the discretisation.
    pub difference_error: f64,
    /// The Monte Carlo standard error in [`difference_error`](Self::difference_error).
    pub difference_monte_carlo: f64,
    /// The smallest effective share of draws that an interval's stepping-stone mean rests on,
    /// (sum r)^2 / (n sum r^2), over all intervals. Near 0, a few draws decide, and neither the
    /// estimate nor its standard error can be trusted.
    pub least_overlap: f64,
    /// The number of times that states came from the prior to the posterior, in the chain where
    /// that was rarest.
    pub restarts: u64,
    /// The number of draws from the prior at which the likelihood was NaN or infinite, all chains.
    pub undefined: u64,
    /// Whether the chains sampled a [surrogate](crate::surrogate), whose evidence this then is.
    pub of_surrogate: bool,
}

/// A log evidence with its standard error, in nats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// log p(y).
    pub log_evidence: f64,
    /// The Monte Carlo standard error of the estimate; for thermodynamic integration combined with
    /// the discretisation.
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

/// The estimates from one ladder: chains with equal betas share one.
struct OfLadder {
    chains: f64,
    stepping_stone: Estimate,
    thermodynamic: Estimate,
    difference: Estimate,
    discretisation: f64,
    least_overlap: f64,
}

impl Evidence {
    /// The evidence from a run of power posteriors. Chains whose ladders were adapted apart give
    /// one estimate each, of which the mean is taken; its standard error is then at least as large
    /// as the differences between them imply. (The logarithm of a mean is too small by about half
    /// its variance, which more chains of that kind do not mend: negligible for errors below 0.3.)
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
        let discretisation = mean(&|e| e.discretisation).abs();
        let difference = combine(&|e| e.difference);
        let with_discretisation = |estimate: Estimate| Estimate {
            standard_error: estimate.standard_error.hypot(discretisation),
            ..estimate
        };
        Ok(Self {
            stepping_stone: combine(&|e| e.stepping_stone),
            thermodynamic: with_discretisation(combine(&|e| e.thermodynamic)),
            discretisation,
            difference_error: with_discretisation(difference).standard_error,
            difference_monte_carlo: difference.standard_error,
            least_overlap: estimates.iter().map(|e| e.least_overlap).fold(1.0, least),
            restarts: reports.iter().map(|r| r.restarts).min().unwrap_or(0),
            undefined: reports.iter().filter_map(|r| r.divergences.first()).sum(),
            of_surrogate: draws.info().approximation.is_some(),
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
        } else if difference > 3.0 * self.difference_monte_carlo + self.discretisation {
            warnings.push(format!(
                "the two estimates disagree: they differ by {difference:.3}, more than the discretisation \
                 {:.3} and three times the Monte Carlo error of their difference {:.3}: take more rungs, \
                 or longer chains",
                self.discretisation, self.difference_monte_carlo
            ));
        }
        if self.of_surrogate {
            let what = "the chains sampled a surrogate: this is its evidence, not the model's";
            warnings.push(what.to_string());
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
        if self.discretisation > 0.5 {
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
        let Self { stepping_stone: s, thermodynamic: t, difference_error, .. } = self;
        let difference = (s.log_evidence - t.log_evidence).abs();
        writeln!(f, "log evidence   stepping stone {s}")?;
        writeln!(f, "               thermodynamic  {t}")?;
        writeln!(f, "               difference     {difference:.3} ({difference_error:.3})")?;
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
    let moments: Vec<[f64; 3]> = rungs.iter().map(moments).collect();
    let (log_evidence, weights) = integral(betas, &moments);
    let mut thermodynamic = Array2::zeros(rungs[0].dim());
    for ((rung, [mean, ..]), [w, u]) in rungs.iter().zip(&moments).zip(weights) {
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
        discretisation: next_rule(betas, &moments) - log_evidence,
        least_overlap,
    }
}

/// Mean, variance and third central moment.
fn moments(rung: &Array2<f64>) -> [f64; 3] {
    let n = rung.len() as f64;
    let mean = rung.sum() / n;
    let central = |power| rung.fold(0.0, |sum, ell| sum + (ell - mean).powi(power)) / n;
    [mean, central(2), central(3)]
}

/// The corrected trapezoid rule I_2, and the weights of each rung's mean and variance.
fn integral(betas: &[f64], moments: &[[f64; 3]]) -> (f64, Vec<[f64; 2]>) {
    let mut weights = vec![[0.0; 2]; betas.len()];
    for low in 0..betas.len() - 1 {
        let d = betas[low + 1] - betas[low];
        for (rung, sign) in [(low, 1.0), (low + 1, -1.0)] {
            weights[rung][0] += d / 2.0;
            weights[rung][1] += sign * d * d / 12.0; //~ trapezoid-correction
        }
    }
    let terms = weights.iter().zip(moments);
    (terms.map(|([w, u], [mean, variance, _])| w * mean + u * variance).sum(), weights)
}

/// The rule I_3, which takes third moments too.
fn next_rule(betas: &[f64], moments: &[[f64; 3]]) -> f64 {
    let intervals = betas.windows(2).zip(moments.windows(2));
    let of_interval = |(betas, moments): (&[f64], &[[f64; 3]])| {
        let d = betas[1] - betas[0];
        let ([e0, v0, k0], [e1, v1, k1]) = (moments[0], moments[1]);
        d * (e0 + e1) / 2.0 - d * d * (v1 - v0) / 10.0 + d.powi(3) * (k0 + k1) / 120.0
    };
    intervals.map(of_interval).sum()
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
    //~ stepping-stone-rungs
    for (pair, rung) in betas.windows(2).zip(rungs) {
        let d = pair[1] - pair[0];
        let largest = rung.fold(f64::NEG_INFINITY, |largest: f64, ell| largest.max(*ell));
        let ratios = rung.mapv(|ell| (d * (ell - largest)).exp());
        let [mean, spread, _] = moments(&ratios);
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

    /// f, f' and f'' of a polynomial at the betas, from its coefficients.
    fn of_polynomial(betas: &[f64], coefficients: &[f64]) -> Vec<[f64; 3]> {
        let derivative = |order: usize, beta: f64| -> f64 {
            let terms = coefficients.iter().enumerate().skip(order);
            let factor = |k: usize| (k + 1 - order..=k).map(|k| k as f64).product::<f64>();
            terms.map(|(k, c)| c * factor(k) * beta.powi((k - order) as i32)).sum()
        };
        betas.iter().map(|beta| [0, 1, 2].map(|order| derivative(order, *beta))).collect()
    }

    /// The corrected rule integrates cubic polynomials exactly, and the next one polynomials of
    /// degree five; their difference is then the error of the former, D^5 f^(4) / 720 for degree
    /// four.
    #[test]
    fn the_rules_are_exact_for_polynomials() {
        let betas = [0.0, 0.1, 0.4, 0.7, 1.0];
        let cubic = of_polynomial(&betas, &[2.0, 1.0, -3.0, 4.0]);
        assert!((integral(&betas, &cubic).0 - 2.5).abs() < 1e-14);
        assert!((next_rule(&betas, &cubic) - 2.5).abs() < 1e-14);
        let quintic = of_polynomial(&betas, &[2.0, 1.0, -3.0, 4.0, 5.0, -6.0]);
        assert!((next_rule(&betas, &quintic) - 2.5).abs() < 1e-14);
        assert!((integral(&betas, &quintic).0 - 2.5).abs() > 1e-5);
        let quartic = of_polynomial(&[0.0, 0.5], &[0.0, 0.0, 0.0, 0.0, 1.0]);
        let error = next_rule(&[0.0, 0.5], &quartic) - integral(&[0.0, 0.5], &quartic).0;
        assert!((error - 0.5f64.powi(5) * 24.0 / 720.0).abs() < 1e-15);
    }

    #[test]
    fn estimates_disagree_beyond_the_rule_and_three_standard_errors() {
        let differing = |by: f64| {
            let of = |log_evidence| Estimate { log_evidence, standard_error: 0.1 };
            let evidence = Evidence {
                stepping_stone: of(-10.0),
                thermodynamic: of(-10.0 - by),
                discretisation: 0.4,
                difference_error: 0.1f64.hypot(0.4),
                difference_monte_carlo: 0.1,
                least_overlap: 1.0,
                restarts: 100,
                undefined: 0,
                of_surrogate: false,
            };
            evidence.warnings()
        };
        assert_eq!(differing(0.69), [""; 0]);
        let [warning] = &differing(0.71)[..] else { panic!("one warning") };
        // Of the warnings the one about the two estimates.
        assert!(warning.starts_with("the two estimates "), "{warning}");
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
