//! Rows that come after a run: draws of the posterior given all rows, from draws of the posterior given the first ones.
//!
//! With q_1, .., q_S drawn from p(q | D) and new rows N, which are independent of D given q,
//!
//! ```text
//! p(q | D, N)  is proportional to  p(q | D) p(N | q),        w_s = p(N | q_s)
//! ```
//!
//! Where the weights w_s are fit for use, by their Pareto k ([PSIS](crate::predict::Loo)) and the share of the draws that they keep, the draws are resampled by them, and
//! **no gradient is computed**. Copies of one draw count as one, so that updates one after the other come to moves in time. Else the rows come in by degrees, b = 0 < b_1 < .. < b_T = 1: sequential Monte Carlo on
//!
//! ```text
//! p_b(q)  is proportional to  p(q | D) p(N | q)^b
//! ```
//!
//! At each b the particles are resampled by p(N | q)^(b - b'), with b' the power before, and moved by a transition that leaves p_b
//! unchanged: b is the largest power at which, in each chain, the weights keep half of the different particles or more, by their effective number. The transition is tuned once, in a short
//! warm-up for b = 1. The particles after each of the last moves are the draws. All weights are Pareto-smoothed.
//!
//! This is exact in the limit of many draws and particles; with few of them it has a bias of the order of one over their number, which is the same in all chains. Each chain is
//! a set of particles with random numbers of its own, so that chains still tell whether they agree: the update corrects for the new rows, and not for draws that were not of the posterior before.
//!
//! Sources: N. Chopin, Biometrika 89, 2002, doi:10.1093/biomet/89.3.539; P. Del Moral, A. Doucet and A. Jasra, J. R. Statist. Soc. B 68, 2006,
//! doi:10.1111/j.1467-9868.2006.00553.x; all moves as draws, H. D. Dau and N. Chopin, J. R. Statist. Soc. B 84, 2022,
//! doi:10.1111/rssb.12475; Pareto smoothing, A. Vehtari and others, JMLR 25, 2024, arXiv:1507.02646.

use std::f64::consts::LN_2;
use std::time::Instant;

use ndarray::ArrayView2;

use crate::data::Dataset;
use crate::diagnostics::Psis;
use crate::draws::{Draws, RunInfo, STATS};
use crate::kernel::{Algorithm, Kernel, WarmupProgress};
use crate::likelihood::Likelihood;
use crate::model::Model;
use crate::portable::ln;
use crate::posterior::Posterior;
use crate::rng::ChainRng;
use crate::targets::{Point, Target};
use crate::{Error, cbor, threads};

/// The largest Pareto k of weights that are used.
pub(crate) const K_LIMIT: f64 = 0.7;
/// The least share of draws that weights alone keep, and of particles at each power.
const KEPT: f64 = 0.25;
const KEPT_AT_POWER: f64 = 0.5;
/// The fewest draws of a chain.
const FEWEST: usize = 40;
/// The fewest particles of a chain, if there are as many draws.
const PARTICLES: usize = 100;
/// The iterations in which a transition is tuned.
const TUNED: usize = 100;
/// The most powers.
const MOST_POWERS: usize = 50;
/// The stream of a seed that is for updates.
const STREAM: u64 = u64::from_le_bytes(*b"new rows");

/// An update by new rows, whose moves, if any are needed, `algorithm` makes (the module's documentation has the method).
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::update::Update;
/// # let x = ndarray::Array2::from_shape_fn((44, 1), |(i, _)| (i * 7 % 44) as f64 / 22.0 - 1.0);
/// # let all = Dataset::regression(x.clone(), x.mapv(|x| 0.5 * x + 0.1 * (9.0 * x).sin()))?;
/// let (first, rows) = (all.select(&(0..40).collect::<Vec<_>>())?, all.select(&[40, 41, 42, 43])?);
/// let priors = Priors::all(Normal::new(0.0, 1.0)?)
///     .with("log_noise_variance", LogInverseGamma::new(3.0, 1.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::sampled(), &first, priors)?;
/// let draws = Sampler::new(&posterior, Nuts::default()).run()?;
///
/// let updated = Update::new(Nuts::default()).run(&posterior, &first, &draws, &rows)?;
/// assert_eq!(updated.posterior.n_obs(), 44);
/// println!("k = {:.2}, {} gradients", updated.pareto_k, updated.gradient_evals);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Update<A> {
    algorithm: A,
    settings: Settings,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    particles: Option<usize>,
    moves: usize,
    seed: u64,
    most_gradients: Option<u64>,
}

/// What an [`Update`] has made.
#[derive(Clone, Debug)]
pub struct Updated<M, L> {
    /// The posterior given all rows: the old ones, then the new ones.
    pub posterior: Posterior<M, L>,
    /// Draws of it: as many as before of weights alone, else [moves](Update::moves) of each particle.
    pub draws: Draws,
    /// The Pareto k of the weights for all new rows at once, of the chain with the largest: above 0.7 the new rows have moved the
    /// posterior so far that its old draws say little of it.
    pub pareto_k: f64,
    /// b_1, .., b_T; of weights alone 1.
    pub powers: Vec<f64>,
    /// The gradients of tuning and moves, of all chains.
    pub gradient_evals: u64,
}

impl<A> Update<A> {
    /// A tenth as many particles as each chain has draws, at least 100 if there are as many, two moves of each at the end, seed 0, any number of gradients.
    pub fn new(algorithm: A) -> Self {
        Self {
            algorithm,
            settings: Settings { particles: None, moves: 2, seed: 0, most_gradients: None },
        }
    }

    /// The number of particles of each chain, at least 25, where weights alone do not do.
    pub fn particles(mut self, particles: usize) -> Self {
        self.settings.particles = Some(particles);
        self
    }

    /// The moves of each particle at b = 1, at least 1; there is one at each smaller power.
    pub fn moves(mut self, moves: usize) -> Self {
        self.settings.moves = moves;
        self
    }

    /// The seed. Each chain has a random stream of its own, and each number of rows another one: draws do not depend on threads.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// The most gradients, of all chains, such as a new run of all rows needs: where the rows come to need more the update ends with
    /// an error. What they need is forecast as soon as the transition is tuned: with b_1 of the draws' weights, 1 + log2(1 / b_1) powers,
    /// each with a move of every particle, as if b doubled from power to power.
    pub fn most_gradients(mut self, gradients: u64) -> Self {
        self.settings.most_gradients = Some(gradients);
        self
    }

    /// Updates `draws`, which are of `posterior` given `data`, by `rows`.
    ///
    /// # Errors
    /// Fewer than 40 draws of a chain, draws of an approximation or of another posterior, other rows than those that the posterior is given; settings out of range;
    /// new rows with other columns, or with a response that the likelihood refuses; new rows that have no finite density under some draw, or need too many powers or [gradients](Self::most_gradients).
    pub fn run<M, L>(
        &self,
        posterior: &Posterior<M, L>,
        data: &Dataset,
        draws: &Draws,
        rows: &Dataset,
    ) -> Result<Updated<M, L>, Error>
    where
        M: Model + Clone,
        L: Likelihood + Clone,
        A: for<'t> Algorithm<&'t Posterior<M, L>>,
    {
        let transition = Transition {
            name: &|target| name_of(&self.algorithm, target),
            tune: &|chain, target| chain.tune(&self.algorithm, target),
            walk: &|chain, target, moves| chain.walk(&self.algorithm, target, moves),
        };
        self.settings.run(posterior, data, draws, rows, &transition)
    }
}

/// What a transition does for an update, whatever its type is.
struct Transition<'a, T> {
    /// The name of the algorithm.
    name: &'a dyn Fn(&T) -> String,
    /// [`Chain::tune`].
    tune: &'a (dyn Fn(&mut Chain, &T) -> Result<(), Error> + Sync),
    /// [`Chain::walk`].
    walk: &'a (dyn Fn(&mut Chain, &T, usize) -> Result<(), Error> + Sync),
}

impl Settings {
    fn run<M: Model + Clone, L: Likelihood + Clone>(
        self,
        posterior: &Posterior<M, L>,
        data: &Dataset,
        draws: &Draws,
        rows: &Dataset,
        transition: &Transition<Posterior<M, L>>,
    ) -> Result<Updated<M, L>, Error> {
        let began = Instant::now();
        let particles = self.checked(posterior, data, draws)?;
        let all = data.with_rows(rows)?;
        let (target, new) = (posterior.given(&all)?, posterior.given(rows)?);
        let mut chains = self.chains(draws, all.rows());
        weigh(&mut chains, &new)?;
        let pareto_k = chains.iter().map(|chain| chain.weights(1.0).k).fold(f64::NAN, f64::max);
        let powers = match chains.iter().all(|chain| chain.weights(1.0).are_enough()) {
            true => {
                resampled(&mut chains, &target, draws.n_draws());
                vec![1.0]
            }
            false => {
                threads::try_each(&mut chains, &|chain| (transition.tune)(chain, &target))?;
                let of_a_move = gradients(&chains) as f64 / TUNED as f64;
                let doublings = -ln(next_power(&chains, 0.0)) / LN_2;
                self.check_gradients(&chains, (1.0 + doublings) * particles as f64 * of_a_move)?;
                let bridge = |power| posterior.given(&at_power(&all, data.rows(), power)?);
                self.moved(&mut chains, (particles, &new), bridge, transition)?
            }
        };
        let gradient_evals = gradients(&chains);
        let rows = chains.into_iter().map(|chain| {
            let (values, stats): (Vec<Vec<f64>>, Vec<[f64; STATS.len()]>) =
                chain.drawn.into_iter().map(|drawn| (drawn.q, drawn.stats)).unzip();
            (values.concat(), stats.concat())
        });
        let info = RunInfo {
            target: target.info(),
            algorithm: Some(format!("Update({})", (transition.name)(&target))),
            reports: Vec::new(),
            warmup_seconds: 0.0,
            sampling_seconds: began.elapsed().as_secs_f64(),
            stopped_early: false,
            panic: None,
            checkpoint_error: None,
            recorder_error: None,
            climbed: Vec::new(),
            warmup_divergences: Vec::new(),
            warmup_gradient_evals: Vec::new(),
            divergences: Vec::new(),
            ..draws.info().clone()
        };
        let names = STATS.map(String::from).to_vec();
        let draws = Draws::from_chains(posterior.layout().clone(), names, rows.collect(), info);
        Ok(Updated { posterior: target, draws, pareto_k, powers, gradient_evals })
    }

    /// The number of particles of each chain; an error unless `draws` are of the posterior of `data`.
    fn checked<M: Model + Clone, L: Likelihood + Clone>(
        &self,
        posterior: &Posterior<M, L>,
        data: &Dataset,
        draws: &Draws,
    ) -> Result<usize, Error> {
        draws.check_layout("parameters of the draws", posterior.layout())?;
        if draws.info().approximation.is_some() {
            let allowed = "draws of the posterior: weights correct for new rows alone";
            return Err(Error::argument("draws", "of an approximation", allowed));
        }
        if draws.n_draws() < FEWEST {
            let allowed = format!("at least {FEWEST} to be weighted");
            return Err(Error::argument("draws of each chain", draws.n_draws(), allowed));
        }
        let n = draws.n_draws();
        let particles = self.particles.unwrap_or((n / 10).max(PARTICLES.min(n)));
        for (name, value, least) in [("particles", particles, 25), ("moves", self.moves, 1)] {
            if value < least {
                return Err(Error::argument(name, value, format!("at least {least}")));
            }
        }
        let own = posterior.info();
        if posterior.given(data)?.info() != own {
            let allowed = "the rows that the posterior is given, scaled and in the same order";
            return Err(Error::argument("data", "other rows", allowed));
        }
        if let (Some(found), Some(expected)) = (&draws.info().target, &own) {
            found.check(expected)?;
        }
        Ok(particles)
    }

    /// The draws as particles, for an update to so many rows.
    fn chains(&self, draws: &Draws, rows: usize) -> Vec<Chain> {
        let of_chain = |(values, number): (ArrayView2<f64>, usize)| Chain {
            particles: values.rows().into_iter().map(|q| q.to_vec()).collect(),
            log_lik: Vec::new(),
            rng: ChainRng::new(self.seed, number as u64).child(STREAM).child(rows as u64),
            kernel: Vec::new(),
            drawn: Vec::new(),
            gradients: 0,
        };
        draws.values().outer_iter().zip(draws.chain_numbers()).map(of_chain).collect()
    }

    /// Moves the chains through the `bridge` of posteriors in which the new rows have a power, and returns the powers.
    fn moved<M: Model, L: Likelihood>(
        &self,
        chains: &mut [Chain],
        (particles, new): (usize, &Posterior<M, L>),
        bridge: impl Fn(f64) -> Result<Posterior<M, L>, Error>,
        transition: &Transition<Posterior<M, L>>,
    ) -> Result<Vec<f64>, Error> {
        let mut powers = Vec::new();
        while powers.last() != Some(&1.0) {
            let before = powers.last().copied().unwrap_or(0.0);
            if powers.len() == MOST_POWERS {
                let (found, name) = (powers.len() + 1, "powers that the new rows need");
                let allowed = format!("at most {MOST_POWERS}: fit all rows");
                return Err(Error::argument(name, found, allowed));
            }
            let power = next_power(chains, before);
            powers.push(power);
            let moves = if power == 1.0 { self.moves } else { 1 };
            let bridge = bridge(power)?;
            threads::try_each(chains, &|chain| {
                chain.resample(power - before, particles);
                (transition.walk)(chain, &bridge, moves)
            })?;
            weigh(chains, new)?;
            if power < 1.0 {
                self.check_gradients(chains, 0.0)?;
            }
        }
        Ok(powers)
    }

    /// An error if the gradients so far and so many more exceed the most.
    fn check_gradients(&self, chains: &[Chain], more: f64) -> Result<(), Error> {
        let needed = gradients(chains) as f64 + more;
        match self.most_gradients {
            //~ most-gradients
            Some(most) if needed > most as f64 => {
                let found = format!("about {needed:.0}");
                let allowed = format!("at most {most}: fit all rows");
                Err(Error::argument("gradients that the new rows need", found, allowed))
            }
            _ => Ok(()),
        }
    }
}

/// The gradients of all chains so far.
fn gradients(chains: &[Chain]) -> u64 {
    chains.iter().map(|chain| chain.gradients).sum()
}

/// The name of the algorithm.
fn name_of<'t, T: Target, A: Algorithm<&'t T>>(algorithm: &A, _target: &'t T) -> String {
    algorithm.name()
}

/// The rows from `first` on count `power` times as much as they do.
fn at_power(all: &Dataset, first: usize, power: f64) -> Result<Dataset, Error> {
    if power == 1.0 {
        return Ok(all.clone());
    }
    let weight = |row: usize| {
        let own = all.weights().map_or(1.0, |w| w[row]);
        if row < first { own } else { power * own } //~ power-of-new-rows
    };
    all.clone().with_weights((0..all.rows()).map(weight).collect::<Vec<f64>>())
}

/// The particles of one chain.
struct Chain {
    particles: Vec<Vec<f64>>,
    /// log p(N | q) of each.
    log_lik: Vec<f64>,
    rng: ChainRng,
    /// The state of the tuned transition, as in a checkpoint.
    kernel: Vec<u8>,
    /// The draws at the latest power.
    drawn: Vec<Drawn>,
    gradients: u64,
}

struct Drawn {
    q: Vec<f64>,
    stats: [f64; STATS.len()],
}

/// Smoothed weights of one chain's particles.
struct Weights {
    w: Vec<f64>,
    /// Pareto k, infinite where weights of so few particles are not 0 that there is none.
    k: f64,
    /// The effective number of different particles, as a share of all.
    kept: f64,
}

impl Weights {
    /// Whether they can be used in the place of moves.
    fn are_enough(&self) -> bool {
        // Where all weights of the tail are equal there is no k, and no need for one.
        let is_smooth = self.k.is_nan() || self.k <= K_LIMIT; //~ update-k
        is_smooth && self.kept >= KEPT
    }
}

/// log p(N | q) of all particles.
fn weigh<M: Model, L: Likelihood>(
    chains: &mut [Chain],
    new: &Posterior<M, L>,
) -> Result<(), Error> {
    threads::each(chains, &|_, chain| {
        let mut ws = new.workspace();
        chain.log_lik.clear();
        let of = |q: &Vec<f64>| new.log_density(q, &mut ws).likelihood;
        chain.log_lik.extend(chain.particles.iter().map(of));
    });
    let each = chains.iter().flat_map(|chain| &chain.log_lik);
    match each.copied().find(|l| !l.is_finite()) {
        None => Ok(()),
        Some(l) => {
            let allowed = "finite under every draw: the model cannot explain these rows";
            Err(Error::argument("log likelihood of the new rows", l, allowed))
        }
    }
}

/// Draws `n` of each chain's particles by their weights, which end it.
fn resampled<T: Target>(chains: &mut [Chain], target: &T, n: usize) {
    threads::each(chains, &|_, chain| {
        chain.resample(1.0, n);
        let mut ws = target.workspace();
        chain.drawn = (chain.particles.iter())
            .map(|q| Drawn { q: q.clone(), stats: stats(target, q, &mut ws) })
            .collect();
    });
}

/// The largest power after `before`, and at most 1, at which the weights of each chain keep half of its different particles.
fn next_power(chains: &[Chain], before: f64) -> f64 {
    let different: Vec<f64> = chains.iter().map(|chain| chain.weights(0.0).kept).collect();
    let keeps_half = |power: f64| {
        let mut each = chains.iter().zip(&different);
        each.all(|(chain, all)| chain.weights(power - before).kept >= KEPT_AT_POWER * all)
    };
    if keeps_half(1.0) {
        return 1.0;
    }
    let (mut low, mut high) = (before, 1.0);
    for _ in 0..20 {
        let middle = 0.5 * (low + high);
        if keeps_half(middle) { low = middle } else { high = middle }
    }
    if low > before { low } else { high }
}

impl Chain {
    /// The weights p(N | q)^power.
    fn weights(&self, power: f64) -> Weights {
        let mut psis = Psis::default();
        let negative: Vec<f64> = self.log_lik.iter().map(|l| -l).collect();
        let k = psis.smooth(&negative, power, 1.0); //~ update-weights
        let w = psis.weights().to_vec();
        // Copies of one particle, which lie side by side, have one weight.
        let (mut sum, mut squares, mut of_one) = (0.0, 0.0, 0.0);
        for (i, w) in w.iter().enumerate() {
            of_one = if i > 0 && self.particles[i] == self.particles[i - 1] { of_one } else { 0.0 }; //~ copies-count-once
            squares -= of_one * of_one;
            of_one += w;
            squares += of_one * of_one;
            sum += w;
        }
        let kept = sum * sum / squares / w.len() as f64;
        let k = if k.is_nan() && kept < KEPT { f64::INFINITY } else { k };
        Weights { w, k, kept }
    }

    /// Systematic resampling, which keeps the order: `n` particles in the place of these.
    fn resample(&mut self, power: f64, n: usize) {
        let Weights { w, .. } = self.weights(power);
        let step = w.iter().sum::<f64>() / n as f64;
        let first = self.rng.uniform();
        let (mut next, mut below) = (0, 0.0);
        let mut taken = Vec::with_capacity(n);
        for (q, w) in self.particles.iter().zip(&w) {
            below += w;
            while next < n && (next as f64 + first) * step < below {
                taken.push(q.clone());
                next += 1;
            }
        }
        // What rounding has left over.
        let last = self.particles.last().expect("a chain has particles").clone();
        taken.resize(n, last);
        self.particles = taken;
    }

    /// Tunes a transition for `target`, in a warm-up from one of the particles. It is the narrowest of the distributions on the way, so that its steps suit all of them.
    fn tune<'t, T, A>(&mut self, algorithm: &A, target: &'t T) -> Result<(), Error>
    where
        T: Target,
        A: Algorithm<&'t T>,
    {
        let mut kernel = algorithm.kernel(&target, &self.rng)?;
        let (mut ws, mut point) = (target.workspace(), Point::new(target.dim()));
        let middle = &self.particles[self.particles.len() / 2];
        point.set(|q| q.copy_from_slice(middle));
        point.eval(&target, &mut ws);
        for iteration in 0..TUNED {
            let step = kernel.step(&target, &mut point, &mut ws, &mut self.rng);
            self.gradients += u64::from(step.gradient_evals);
            kernel.adapt(&step, &point, WarmupProgress { iteration, total: TUNED });
        }
        kernel.freeze();
        let written = cbor::write(&kernel.state(), &mut self.kernel);
        written.map_err(|e| Error::argument("state of the kernel", "one that serde refuses", e))
    }

    /// Moves all particles by the tuned transition, for `target`.
    fn walk<'t, T, A>(&mut self, algorithm: &A, target: &'t T, moves: usize) -> Result<(), Error>
    where
        T: Target,
        A: Algorithm<&'t T>,
    {
        let mut kernel = algorithm.kernel(&target, &self.rng)?;
        let state = cbor::read(&mut &self.kernel[..]);
        kernel.restore(state.map_err(|e| Error::argument("state of the kernel", "lost", e))?);
        let (mut ws, mut point) = (target.workspace(), Point::new(target.dim()));
        self.drawn.clear();
        for particle in &mut self.particles {
            point.set(|q| q.copy_from_slice(particle));
            point.eval(&target, &mut ws);
            for _ in 0..moves {
                let step = kernel.step(&target, &mut point, &mut ws, &mut self.rng);
                self.gradients += u64::from(step.gradient_evals);
                let density = point.eval(&target, &mut ws);
                let stats = [
                    density.likelihood,
                    density.prior,
                    step.accept_prob.unwrap_or(1.0),
                    f64::from(u8::from(step.accepted)),
                    f64::from(u8::from(step.divergent)),
                    f64::from(step.gradient_evals),
                ];
                self.drawn.push(Drawn { q: point.q().to_vec(), stats });
            }
            particle.copy_from_slice(point.q());
        }
        Ok(())
    }
}

/// The statistics of a draw that was not moved.
fn stats<T: Target>(target: &T, q: &[f64], ws: &mut T::Workspace) -> [f64; STATS.len()] {
    let density = target.log_density(q, ws);
    [density.likelihood, density.prior, 1.0, 1.0, 0.0, 0.0]
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, Array2};

    use super::*;

    fn chain(log_lik: Vec<f64>) -> Chain {
        let particles = (0..log_lik.len()).map(|i| vec![i as f64]).collect();
        let (kernel, drawn) = (Vec::new(), Vec::new());
        Chain { particles, log_lik, rng: ChainRng::new(0, 0), kernel, drawn, gradients: 0 }
    }

    /// Quantiles of 1 + 0.02 GPD(k), which are nearly equal but for a tail.
    #[test]
    fn weights_with_a_heavy_tail_are_not_enough_though_many_are_kept() {
        let tail = |k: f64, i: usize| {
            let u = (i as f64 + 0.5) / 1000.0;
            (1.0 + 0.02 * (u.powf(-k) - 1.0) / k).ln()
        };
        for (k, are_enough) in [(0.3, true), (1.0, false)] {
            let weights = chain((0..1000).map(|i| tail(k, i)).collect()).weights(1.0);
            assert!((weights.k - k).abs() < 0.2, "{} {k}", weights.k);
            assert!(weights.kept > KEPT, "{}", weights.kept);
            assert_eq!(weights.are_enough(), are_enough, "{k}");
        }
    }

    #[test]
    fn new_rows_count_by_their_power_and_their_weight() {
        let x = Array2::from_shape_fn((4, 1), |(i, _)| i as f64);
        let all = Dataset::regression(x, Array1::zeros(4)).unwrap();
        let weights =
            |all: &Dataset, power| at_power(all, 2, power).unwrap().weights().map(|w| w.to_vec());
        assert_eq!(weights(&all, 0.25), Some(vec![1.0, 1.0, 0.25, 0.25]));
        assert_eq!(weights(&all, 1.0), None);
        let all = all.with_weights(vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(weights(&all, 0.5), Some(vec![1.0, 2.0, 1.5, 2.0]));
    }
}
