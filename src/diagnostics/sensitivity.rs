//! Sensitivity to the prior and to the likelihood, by power-scaling.

use std::f64::consts::LN_2;
use std::fmt;

use ndarray::{ArrayView1, ArrayView2, Axis};
use serde::Serialize;

use super::ess_tail;
use super::pareto::Psis;
use crate::Error;

/// The powers.
const ALPHA: [f64; 2] = [0.99, 1.01];
/// A sensitivity from which on a quantity is told to depend on the prior, or on the data.
pub const SENSITIVITY_LIMIT: f64 = 0.05;
/// The fewest draws of all chains.
const FEWEST_DRAWS: usize = 25;

/// Draws of a posterior p(q | y), weighted as draws of p(q)^a p(y | q) and of p(q) p(y | q)^a, for a = 0.99 and 1.01: how
/// much does a quantity depend on the prior, and how much on the data?
///
/// The weights of draw s are p(q_s)^(a-1), or p(y | q_s)^(a-1), Pareto-smoothed. With P and Q the distribution functions of a
/// quantity under equal weights and under these, both at the sorted draws, the distance is the cumulative Jensen-Shannon
/// distance, normalised to at most 1, of the quantity or of its negative, whichever is larger:
///
/// ```text
/// CJS(P || Q) = integral P log2(2 P / (P + Q)) + 1 / (2 log 2) integral (Q - P)
/// d(a)        = sqrt((CJS(P || Q) + CJS(Q || P)) / integral (P + Q))
/// sensitivity = (d(1.01) / log2 1.01 - d(0.99) / log2 0.99) / 2
/// ```
///
/// 0 where nothing changes; a normal posterior mean that moves by 0.3 standard deviations as the component counts twice as
/// much has 0.06 to 0.07. For the same log densities values equal `psense` of arviz-stats 0.8.0.
///
/// Scaled densities are of the coordinates that are sampled, such as the logarithm of a variance.
///
/// Source: Kallioinen, Paananen, Buerkner and Vehtari 2024, <https://doi.org/10.1007/s11222-023-10366-5>.
///
/// ```
/// use bnn_mcmc::diagnostics::Influence;
/// use bnn_mcmc::prelude::*;
/// let x = ndarray::Array2::from_shape_fn((30, 1), |(i, _)| i as f64 / 10.0 - 1.5);
/// let data = Dataset::regression(x.clone(), x.mapv(|x| 5.0 * x))?;
/// // A slope of 5 is five standard deviations of its prior away.
/// let model = Mlp::new(&[1, 1], Activation::Tanh)?;
/// let posterior = Posterior::new(model, Gaussian::fixed(1.0)?, &data, Priors::all(Normal::new(0.0, 1.0)?))?;
/// let draws = Sampler::new(&posterior, Nuts::default()).seed(1).run()?;
/// let scaling = draws.power_scaling()?;
/// let slope = scaling.of(draws.parameter("w0[0,0]")?)?;
/// assert_eq!(slope.influence(), Influence::Conflict);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PowerScaling {
    /// The numbers of chains and of draws of each.
    shape: (usize, usize),
    prior: Weights,
    likelihood: Weights,
}

/// Weights of draws for both powers of a component.
#[derive(Clone, Debug)]
struct Weights {
    /// Of each power; their sum is 1.
    w: [Vec<f64>; 2],
    /// The larger of both Pareto k.
    k: f64,
}

/// How much a quantity depends on prior and likelihood: [`PowerScaling`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// Of the prior.
    pub prior: f64,
    /// Of the likelihood.
    pub likelihood: f64,
}

/// What decides about a quantity, by the limit [`SENSITIVITY_LIMIT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Influence {
    /// The prior hardly matters.
    Robust,
    /// The prior matters, and the data hardly do: little is learnt about it.
    Prior,
    /// Both matter: prior and data say different things, or the prior is meant to say something.
    Conflict,
}

impl fmt::Display for Influence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Robust => "robust",
            Self::Prior => "the prior decides",
            Self::Conflict => "prior and data may disagree",
        })
    }
}

impl Sensitivity {
    /// What decides about the quantity.
    pub fn influence(self) -> Influence {
        match (self.prior >= SENSITIVITY_LIMIT, self.likelihood >= SENSITIVITY_LIMIT) {
            (true, true) => Influence::Conflict,
            (true, false) => Influence::Prior,
            (false, _) => Influence::Robust,
        }
    }
}

impl PowerScaling {
    /// Weights by the log prior and the log likelihood of each draw, both `[chain, draw]`. A part of the prior, such as the
    /// densities of the uppermost parameters of a hierarchy, will do.
    ///
    /// # Errors
    /// Fewer than 25 draws, other shapes, values that are not finite.
    pub fn new(log_prior: ArrayView2<f64>, log_likelihood: ArrayView2<f64>) -> Result<Self, Error> {
        if log_prior.dim() != log_likelihood.dim() {
            let (found, expected) = (format!("{:?}", log_prior.dim()), log_likelihood.dim());
            return Err(Error::shape("log prior of draws", found, format!("{expected:?}")));
        }
        let prior = Weights::new("log prior of a draw", log_prior)?;
        let likelihood = Weights::new("log likelihood of a draw", log_likelihood)?;
        Ok(Self { shape: log_prior.dim(), prior, likelihood })
    }

    /// The sensitivity of a quantity `[chain, draw]`.
    ///
    /// # Errors
    /// Another shape, values that are not finite.
    pub fn of(&self, values: ArrayView2<f64>) -> Result<Sensitivity, Error> {
        if values.dim() != self.shape {
            let (found, expected) = (format!("{:?}", values.dim()), format!("{:?}", self.shape));
            return Err(Error::shape("chains and draws of a quantity", found, expected));
        }
        let mut sorted: Vec<(f64, usize)> = values.iter().copied().zip(0..).collect();
        if let Some((wrong, _)) = sorted.iter().find(|(value, _)| !value.is_finite()) {
            return Err(Error::argument("value of a draw", wrong, "finite"));
        }
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Ok(Sensitivity {
            prior: self.prior.sensitivity(&sorted),
            likelihood: self.likelihood.sensitivity(&sorted),
        })
    }

    /// Pareto k of the weights for the prior and for the likelihood: above 0.7, sensitivities are not to be relied upon. NaN
    /// where densities are the same in all draws of a tail.
    pub fn pareto_k(&self) -> [f64; 2] {
        [self.prior.k, self.likelihood.k]
    }
}

impl Weights {
    fn new(name: &str, log_density: ArrayView2<f64>) -> Result<Self, Error> {
        let n = log_density.len();
        if n < FEWEST_DRAWS {
            let allowed = format!("at least {FEWEST_DRAWS}");
            return Err(Error::argument("number of draws of all chains", n, allowed));
        }
        let flat: Vec<f64> = log_density.iter().copied().collect();
        if let Some(wrong) = flat.iter().find(|value| !value.is_finite()) {
            return Err(Error::argument(name, wrong, "finite"));
        }
        // The length of the tail is for all draws as one sequence, as in arviz-stats.
        let sequence = ArrayView1::from(&flat).insert_axis(Axis(0));
        let efficiency = ess_tail(sequence) / n as f64;
        let mut k = f64::NAN;
        let w = ALPHA.map(|alpha| {
            let mut psis = Psis::default();
            // A ratio is the exponential of minus this.
            let negative: Vec<f64> = flat.iter().map(|l| (1.0 - alpha) * l).collect(); //~ power-scaled
            k = k.max(psis.smooth(&negative, 1.0, efficiency));
            let total: f64 = psis.weights().iter().sum();
            psis.weights().iter().map(|w| w / total).collect()
        });
        Ok(Self { w, k })
    }

    /// The sensitivity of the quantity with these values of draws.
    fn sensitivity(&self, sorted: &[(f64, usize)]) -> f64 {
        let rate = |(w, alpha): (&Vec<f64>, f64)| {
            let rising = distance(sorted.iter().map(|(x, draw)| (*x, w[*draw])));
            let falling = distance(sorted.iter().rev().map(|(x, draw)| (-x, w[*draw])));
            rising.max(falling) / alpha.log2().abs()
        };
        self.w.iter().zip(ALPHA).map(rate).sum::<f64>() / 2.0
    }
}

/// The cumulative Jensen-Shannon distance of rising values under equal and under these weights, whose sum is 1. With
/// m = (P + Q) / 2 and P = m (1 - t), Q = m (1 + t), the terms of both directions add to
/// m ((1 - t) log2(1 - t) + (1 + t) log2(1 + t)), where nothing cancels for small t.
fn distance(weighted: impl ExactSizeIterator<Item = (f64, f64)>) -> f64 {
    let n = weighted.len() as f64;
    let part = |t: f64| if t > -1.0 { (1.0 + t) * t.ln_1p() } else { 0.0 };
    let [mut divergence, mut area, mut q] = [0.0; 3];
    let mut last: Option<f64> = None;
    for (i, (x, w)) in weighted.enumerate() {
        if let Some(last) = last {
            let (p, width) = (i as f64 / n, x - last);
            let t = (q - p) / (q + p);
            divergence += width * (p + q) * (part(t) + part(-t)); //~ jensen-shannon
            area += width * (p + q);
        }
        q += w;
        last = Some(x);
    }
    if area > 0.0 { (0.5 * divergence.max(0.0) / LN_2 / area).sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two draws with the weights 1/4 and 3/4: between them P = 1/2 and Q = 1/4.
    #[test]
    fn the_distance_is_that_of_its_integrals() {
        let (p, q) = (0.5f64, 0.25f64);
        let of = |p: f64, q: f64| p * (2.0 * p / (p + q)).log2() + (q - p) / (2.0 * LN_2);
        let expected = ((of(p, q) + of(q, p)) / (p + q)).sqrt();
        let found = distance([(1.0, 0.25), (4.0, 0.75)].into_iter());
        assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        assert_eq!(distance([(1.0, 0.5), (4.0, 0.5)].into_iter()), 0.0);
        assert_eq!(distance([(2.0, 0.25), (2.0, 0.75)].into_iter()), 0.0);
    }

    #[test]
    fn what_cannot_be_weighted_is_refused() {
        let fine = ndarray::Array2::from_shape_fn((2, 20), |(i, j)| ((7 * i + j) as f64).sin());
        let of = |prior: &ndarray::Array2<f64>| PowerScaling::new(prior.view(), fine.view());
        let scaling = of(&fine).unwrap();
        assert!(scaling.of(fine.view()).unwrap().prior > 0.0);
        let mut wrong = fine.clone();
        wrong[[1, 3]] = f64::NEG_INFINITY;
        assert!(of(&wrong).unwrap_err().to_string().contains("log prior of a draw"));
        assert!(scaling.of(wrong.view()).unwrap_err().to_string().contains("value of a draw"));
        assert!(scaling.of(fine.slice(ndarray::s![.., ..19])).is_err());
        assert!(scaling.of(fine.t()).is_err(), "draws and chains the other way round");
        let few = fine.slice(ndarray::s![.., ..12]);
        assert!(PowerScaling::new(few, few).unwrap_err().to_string().contains("at least 25"));
        assert!(PowerScaling::new(few, fine.view()).is_err());
        // Where densities are the same, nothing depends on them.
        let same = of(&(0.0 * &fine)).unwrap();
        assert!(same.of(fine.view()).unwrap().prior < 1e-12);
        assert!(same.pareto_k()[0].is_nan() && same.pareto_k()[1].is_finite());
    }
}
