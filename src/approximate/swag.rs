//! Stochastic weight averaging, Gaussian: the moments of an optimiser's iterates.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::Origin;
use crate::draws::Draws;
use crate::gradient::GradSource;
use crate::optimise::{Ascent, Optimiser, Optimum, Schedule, furthest_fall};
use crate::rng::ChainRng;
use crate::run::Init;
use crate::targets::Target;
use crate::{Error, memory};

/// Stochastic weight averaging, Gaussian (SWAG), from one start or several (multi-SWAG): plain
/// data.
///
/// From a point that is trained already an ascent with minibatches goes on, at a rate that does not
/// fall, and the normal distribution with the moments of its iterates is taken for the posterior.
/// With n iterates q_1, .., q_n, `every` steps apart, after `burn_in` steps,
///
/// ```text
/// m_i = (q_1 + .. + q_i)/i     m = m_n     v_j = (1/n) sum_i q_ij^2 - m_j^2
/// D   = [q_i - m_i], i = n - K + 1, .., n,                                       K = rank
/// q   = m + sqrt(v/2) z + D u/sqrt(2 (K - 1)),   z ~ N(0, I), u ~ N(0, I) of length K
/// ```
///
/// so that the covariance is (diag(v) + D D^T/(K - 1))/2; with K = 0 it is diag(v). With
/// [`cyclical`](Self::cyclical) the rate falls to 0 within `every` steps, again and again, and each
/// iterate is where a cycle ended.
///
/// With noise that is independent from step to step the variance in a direction of curvature k
/// would be about r V/(2 k (1 - mu)), with r the rate, mu the momentum and V the variance of the
/// gradient's noise ([`Sgd`](crate::optimise::Sgd)), where the posterior's is 1/k: right where r V
/// = 2 (1 - mu), which nothing arranges. Minibatches use up all rows in turn, so that noise cancels
/// within an epoch: at that rate the variance was 0.15 to 0.45 times the posterior's (a normal
/// mean; 200 and 1,000 rows, batches of 10 and 100, mu of 0 and 0.9), and at smaller rates less.
/// With full gradients the variance reflects only the path to the mode. Cost: one gradient for each
/// step; memory (K + 12) d numbers for each start.
///
/// When not to use it: where variances are to be believed without a check on held-out rows; from a
/// start that is not trained, which is not detected.
///
/// Source: Maddox, Garipov, Izmailov, Vetrov and Wilson, NeurIPS 2019, arXiv:1902.02476; several
/// starts: Wilson and Izmailov, NeurIPS 2020, arXiv:2002.08791.
///
/// ```
/// use bnn_mcmc::approximate::{Swag, ensemble};
/// use bnn_mcmc::prelude::*;
/// # #[cfg(feature = "datasets")] {
/// let (train, test) = bnn_mcmc::data::bundled::iris().stratified_split(0.3, 1)?;
/// let network = Mlp::new(&[4, 8, 3], Activation::Tanh)?;
/// let posterior = Posterior::new(network, Categorical, &train, Priors::all(Normal::new(0.0, 1.0)?))?;
/// let starts = Adam { learning_rate: 0.05, steps: 300, ..Adam::default() }
///     .starts(&posterior, &Init::Random, 3, 1)?;
///
/// let sgd = Sgd { learning_rate: 1e-4, steps: 2000, ..Sgd::new(Minibatch { size: 32 }) };
/// let fit = Swag { every: 20, rank: 10, ..Swag::new(sgd) }.fit(&posterior, &starts, 3, 1)?;
/// let draws = fit.draws(100, 1)?;
/// assert_eq!(draws.values().dim(), (3, 100, 67));
/// let scores = posterior.predict(&draws, &test)?.scores()?;
/// assert!(scores.get("accuracy").is_some_and(|score| score.posterior > 0.9));
/// # }
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Swag<A> {
    /// The ascent whose iterates are taken. Its steps are all of them; its rate does not fall.
    pub ascent: A,
    /// Steps before iterates are taken.
    pub burn_in: usize,
    /// Steps from one iterate to the next, at least 1.
    pub every: usize,
    /// K, the number of the last iterates that make the low-rank part of the covariance: 0, or from
    /// 2 to the number of iterates.
    pub rank: usize,
    /// Whether the rate falls to 0 within `every` steps.
    pub cyclical: bool,
}

impl<A> Swag<A> {
    /// Iterates of `ascent` 10 steps apart, from the first step on, the last 20 in the low-rank
    /// part, at a constant rate.
    pub fn new(ascent: A) -> Self {
        Self { ascent, burn_in: 0, every: 10, rank: 20, cyclical: false }
    }
}

impl<A: Ascent + Clone> Swag<A> {
    /// The number of iterates.
    fn iterates(&self) -> Result<usize, Error> {
        if self.every == 0 {
            return Err(Error::argument("every", 0, "at least 1"));
        }
        let steps = self.ascent.steps();
        if self.cyclical && !self.burn_in.is_multiple_of(self.every) {
            let allowed = format!("a multiple of `every`, {}: whole cycles", self.every);
            return Err(Error::argument("burn_in", self.burn_in, allowed));
        }
        let n = steps.saturating_sub(self.burn_in) / self.every;
        if n < 2 {
            let value =
                format!("{n} ({steps} steps, burn_in {}, every {})", self.burn_in, self.every);
            return Err(Error::argument("number of iterates", value, "at least 2"));
        }
        if self.rank == 1 || self.rank > n {
            let allowed = format!("0, or from 2 to the {n} iterates");
            return Err(Error::argument("rank", self.rank, allowed));
        }
        Ok(n)
    }

    /// Runs the ascent from where `from` starts each of `members` chains, in parallel, and takes
    /// the moments of its iterates.
    ///
    /// # Errors
    /// An argument out of range; an ascent whose last iterate has a log density lower than its
    /// start by more than 5 d + 50, or less than half of whose iterates could be taken, since its
    /// rate is too large; the errors of [`Optimiser::run_each`]; sizes that do not fit into memory.
    pub fn fit<T: Target>(
        &self,
        target: &T,
        from: &Init,
        members: usize,
        seed: u64,
    ) -> Result<SwagFit, Error>
    where
        A::Source: GradSource<T>,
    {
        let began = Instant::now();
        let wanted = self.iterates()?;
        if members == 0 {
            return Err(Error::argument("members", 0, "at least 1"));
        }
        let size = [
            (members, "members"),
            (self.rank.saturating_add(12), "vectors"),
            (target.dim(), "parameters"),
        ];
        memory::check::<f64>(
            "moments of the iterates",
            &size,
            "take fewer members or a smaller `rank`",
        )?;
        let schedule = match self.cyclical {
            true => Schedule::Cycles { steps: self.every },
            false => Schedule::Constant,
        };
        let optimiser = Optimiser::new(target, self.ascent.clone()).seed(seed).schedule(schedule);
        let members = optimiser.each(from, members, |chain, start| {
            let mut ws = target.workspace();
            let at_start = target.log_density(start, &mut ws).total();
            let (mut moments, mut last) = (Iterates::new(target.dim(), self.rank), start.to_vec());
            let fit = optimiser.run_observed(chain, start, |step, q, _| {
                //~ swag-every
                if step > self.burn_in && (step - self.burn_in).is_multiple_of(self.every) {
                    moments.add(q);
                    last.copy_from_slice(q);
                }
            })?;
            let least = self.rank.max(wanted.div_ceil(2)).max(2);
            if moments.n < least {
                let what = format!("iterates of member {chain} that were not taken back");
                let value = format!("{} of {wanted}", moments.n);
                let allowed = format!("at least {least}: take a lower learning rate");
                return Err(Error::argument(what, value, allowed));
            }
            let at_end = target.log_density(&last, &mut ws).total();
            let least = at_start - furthest_fall(target.dim());
            //~ swag-end
            if at_end.is_nan() || at_end < least {
                let what = format!("log density at the last iterate of member {chain}");
                let allowed = format!(
                    "at least {least:.4e}, not far below its start: take a lower learning rate"
                );
                return Err(Error::argument(what, format!("{at_end:.4e}"), allowed));
            }
            Ok((moments, fit))
        })?;
        let (moments, fits): (Vec<_>, Vec<_>) = members.into_iter().unzip();
        let taken: usize = moments.iter().map(|iterates: &Iterates| iterates.n).sum();
        let method = match moments.len() {
            1 => format!("SWAG of {taken} iterates, rank {}", self.rank),
            n => format!("multi-SWAG of {n} members, {taken} iterates in all, rank {}", self.rank),
        };
        Ok(SwagFit { members: moments, fits, origin: Origin::new(target, method, began) })
    }
}

/// The moments of the iterates of each member: the result of [`Swag::fit`].
#[derive(Clone, Debug)]
pub struct SwagFit {
    members: Vec<Iterates>,
    /// The end of each member's ascent, and the number of its steps that were [taken
    /// back](Optimum::taken_back).
    pub fits: Vec<Optimum>,
    origin: Origin,
}

impl SwagFit {
    /// The mean of a member's iterates, m.
    pub fn mean(&self, member: usize) -> Option<&[f64]> {
        self.members.get(member).map(|iterates| &iterates.mean[..])
    }

    /// The variances of a member's iterates, v.
    pub fn variance(&self, member: usize) -> Option<Vec<f64>> {
        self.members.get(member).map(Iterates::variance)
    }

    /// The K columns of D, each as long as q, the oldest first; none if the rank is 0.
    pub fn deviations(&self, member: usize) -> Option<&[Vec<f64>]> {
        self.members.get(member).map(|iterates| &iterates.deviations[..])
    }

    /// `n` draws of each member's distribution: `[member, draw, parameter]`.
    ///
    /// # Errors
    /// No draws, or more than fit into memory.
    pub fn draws(&self, n: usize, seed: u64) -> Result<Draws, Error> {
        self.origin.draws_of_each(self.members.len(), n, seed, |member| {
            let iterates = &self.members[member];
            let sd: Vec<f64> = iterates.variance().into_iter().map(f64::sqrt).collect();
            move |rng: &mut ChainRng, q: &mut [f64]| iterates.draw(&sd, rng, q)
        })
    }
}

/// The running moments of some iterates, and the deviations of the last of them.
#[derive(Clone, Debug)]
struct Iterates {
    n: usize,
    mean: Vec<f64>,
    /// sum_i (q_i - m)^2, by Welford's update: no two large numbers are subtracted.
    squares: Vec<f64>,
    rank: usize,
    deviations: Vec<Vec<f64>>,
}

impl Iterates {
    fn new(dim: usize, rank: usize) -> Self {
        let zeros = vec![0.0; dim];
        Self { n: 0, mean: zeros.clone(), squares: zeros, rank, deviations: Vec::new() }
    }

    fn add(&mut self, q: &[f64]) {
        self.n += 1;
        let share = 1.0 / self.n as f64;
        for ((q, mean), squares) in q.iter().zip(&mut self.mean).zip(&mut self.squares) {
            let before = q - *mean;
            *mean += share * before;
            *squares += before * (q - *mean); //~ swag-squares
        }
        if self.rank > 0 {
            let mut newest = match self.deviations.len() == self.rank {
                true => self.deviations.remove(0),
                false => vec![0.0; q.len()],
            };
            newest.iter_mut().zip(q.iter().zip(&self.mean)).for_each(|(d, (q, m))| *d = q - m);
            self.deviations.push(newest);
        }
    }

    /// v.
    fn variance(&self) -> Vec<f64> {
        self.squares.iter().map(|s| s / self.n as f64).collect()
    }

    /// Writes one draw into `q`; `sd` are the roots of v.
    fn draw(&self, sd: &[f64], rng: &mut ChainRng, q: &mut [f64]) {
        let of_diagonal = if self.rank == 0 { 1.0 } else { 0.5f64.sqrt() }; //~ swag-diagonal
        for ((q, mean), sd) in q.iter_mut().zip(&self.mean).zip(sd) {
            *q = mean + of_diagonal * sd * rng.normal();
        }
        for deviation in &self.deviations {
            let u = rng.normal() / (2.0 * (self.rank as f64 - 1.0)).sqrt(); //~ swag-rank
            q.iter_mut().zip(deviation).for_each(|(q, d)| *q += u * d);
        }
    }
}
