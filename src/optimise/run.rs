//! The loop of all optimisers.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::Ascent;
use crate::Error;
use crate::cut;
use crate::error::{caught, positive};
use crate::gradient::{GradSource, GradStream};
use crate::kernel::Step;
use crate::portable::cos;
use crate::rng::ChainRng;
use crate::run::Init;
use crate::run::{check_chains, check_layout};
use crate::targets::{LogDensity, Point, Target};
use crate::threads;

/// The part of a chain's random stream that minibatches are drawn from: no sampler reads it.
const BATCHES: u64 = u64::from_le_bytes(*b"optimise");

/// The schedule of the rate of an ascent: in step t the rate is r_t = c r times the factor of the
/// variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Schedule {
    /// (1 + cos(pi t/steps))/2: half a cosine, from 1 to 0.
    #[default]
    Cosine,
    /// 1.
    Constant,
    /// Half a cosine after the other: with u the steps since the present cycle began,
    /// (1 + cos(pi u/steps))/2.
    Cycles {
        /// Steps of one cycle, at least 1.
        steps: usize,
    },
}

impl Schedule {
    fn check(&self) -> Result<(), Error> {
        match self {
            Self::Cycles { steps: 0 } => Err(Error::argument("steps of a cycle", 0, "at least 1")),
            _ => Ok(()),
        }
    }

    /// The factor of the rate of step `t` of `steps`.
    pub(crate) fn factor(&self, t: usize, steps: usize) -> f64 {
        let half_cosine = |t: usize, of: usize| 0.5 * (1.0 + cos(PI * t as f64 / of as f64));
        match self {
            Self::Cosine => half_cosine(t, steps),
            Self::Constant => 1.0,
            Self::Cycles { steps } => half_cosine(t % steps, *steps), //~ cyclical-rate
        }
    }
}

/// The rule for stopping when the score of held-out rows no longer improves.
///
/// The score is evaluated at the start, after every `every` steps and after the last one.
/// `patience` evaluations in a row that are no better than the best one end the ascent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlyStopping {
    /// Steps between two evaluations, at least 1.
    pub every: usize,
    /// Evaluations without improvement after which to stop, at least 1.
    pub patience: usize,
}

impl Default for EarlyStopping {
    /// Every 50 steps, and a patience of 10.
    fn default() -> Self {
        Self { every: 50, patience: 10 }
    }
}

impl EarlyStopping {
    fn check(&self) -> Result<(), Error> {
        for (name, value) in [("every", self.every), ("patience", self.patience)] {
            if value == 0 {
                return Err(Error::argument(name, 0, "at least 1"));
            }
        }
        Ok(())
    }
}

/// The record of one evaluation of the held-out score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Steps made so far.
    pub step: usize,
    /// The held-out score.
    pub score: f64,
    /// The mean of the log densities, or of their estimates by minibatches, that came with the
    /// gradients since the evaluation before; at step 0 the one there.
    pub estimate: f64,
}

/// The result of an ascent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Optimum {
    /// The point: the one with the best held-out score, if there is a score; else the one with the
    /// highest log density, if gradients are full; else the last one.
    pub q: Vec<f64>,
    /// The log density of the target there, over all rows.
    pub log_density: LogDensity,
    /// The log density where the ascent began.
    pub log_density_at_start: LogDensity,
    /// The number of steps after which it was reached.
    pub step: usize,
    /// The number of steps made, fewer than configured if the ascent stopped early.
    pub steps: usize,
    /// The number of steps that led to a point where something was not finite, and were taken back.
    /// If it is large, or `step` is 0, the learning rate is too large.
    pub taken_back: usize,
    /// The evaluations of the held-out score, in order of steps; empty without one.
    pub history: Vec<Evaluation>,
}

impl Optimum {
    /// The problem with the ascent, in words: most of its steps were taken back, or the log density
    /// fell. `None` if there is no sign of a problem.
    ///
    /// Draws of a posterior in d dimensions lie about d/2 below its mode, and an ascent with
    /// minibatches, or one that holds other rows out, may end below its start; a fall of more than
    /// 5 d + 50 is a rate that is too large.
    pub fn problem(&self) -> Option<String> {
        let (end, start) = (self.log_density.total(), self.log_density_at_start.total());
        if 2 * self.taken_back > self.steps {
            return Some(format!("{} of {} steps were taken back", self.taken_back, self.steps));
        }
        let fell = end.is_nan() || end < start - furthest_fall(self.q.len());
        fell.then(|| format!("the log density fell from {start:.4e} to {end:.4e}"))
    }
}

/// The largest fall of the log density on the way that is allowed in `dim` dimensions.
pub(crate) fn furthest_fall(dim: usize) -> f64 {
    5.0 * dim as f64 + 50.0
}

/// A score of single points; larger is better.
type Score<'a> = dyn Fn(&[f64]) -> Result<f64, Error> + Sync + 'a;

/// An [`Ascent`] on a target: its starts, its random stream, and when it stops.
///
/// See [`optimise`](super) for an example.
pub struct Optimiser<'a, T, A> {
    target: &'a T,
    ascent: A,
    seed: u64,
    schedule: Schedule,
    watch: Option<(EarlyStopping, Box<Score<'a>>)>,
}

impl<T: std::fmt::Debug, A: std::fmt::Debug> std::fmt::Debug for Optimiser<'_, T, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Optimiser")
            .field("target", &self.target)
            .field("ascent", &self.ascent)
            .field("seed", &self.seed)
            .field("schedule", &self.schedule)
            .field("early_stopping", &self.watch.as_ref().map(|(stopping, _)| stopping))
            .finish()
    }
}

impl<'a, T, A> Optimiser<'a, T, A>
where
    T: Target,
    A: Ascent,
    A::Source: GradSource<T>,
{
    /// `ascent` (an [`Adam`](super::Adam) or [`Sgd`](super::Sgd)) on `target`, with seed 0, a rate
    /// that falls along half a cosine, and no early stopping.
    pub fn new(target: &'a T, ascent: A) -> Self {
        Self { target, ascent, seed: 0, schedule: Schedule::default(), watch: None }
    }

    /// The schedule of the rate.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// The seed of starts and minibatches. Starts and minibatches of chain c come from streams of
    /// (seed, c).
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Stops as `stopping` says, and returns the point with the best `score`: larger is better.
    ///
    /// A score of NaN counts as no improvement, and is an error at the start. For the mean log
    /// predictive density of held-out rows give `|q| held_out.score(q)`, from
    /// [`Posterior::held_out`](crate::posterior::Posterior::held_out).
    pub fn early_stopping(
        mut self,
        stopping: EarlyStopping,
        score: impl Fn(&[f64]) -> Result<f64, Error> + Sync + 'a,
    ) -> Self {
        self.watch = Some((stopping, Box::new(score)));
        self
    }

    /// The ascent from `q`, with the random stream of chain 0.
    ///
    /// Errors: an argument out of range, `q` of the wrong length or of a log density or gradient
    /// that is not finite; the errors of the score; rows in a file that cannot be read; a panic of the target or the score.
    pub fn run(&self, q: &[f64]) -> Result<Optimum, Error> {
        self.run_observed(0, q, |_, _, _| {})
    }

    /// The ascent from `q` with the random stream of this chain. `observe` gets the number of each
    /// step that was not taken back, where it led, and the estimate of the log density there.
    pub(crate) fn run_observed(
        &self,
        chain: usize,
        q: &[f64],
        mut observe: impl FnMut(usize, &[f64], f64),
    ) -> Result<Optimum, Error> {
        let mut rng = batches(self.seed, chain);
        let how = (&self.ascent, self.schedule);
        caught(format!("chain {chain} of the optimisation"), || {
            cut::apart(|| ascend(self.target, how, q, &mut rng, self.watch(), &mut observe))
        })?
    }

    /// The ascents from where `from` starts each of `chains` chains, in parallel. Results do not
    /// depend on the number of threads.
    ///
    /// Errors: the errors of [`run`](Self::run) and [`Sampler::run`](crate::sampler::Sampler::run),
    /// by the first chain that has one; no chains.
    pub fn run_each(&self, from: &Init, chains: usize) -> Result<Vec<Optimum>, Error> {
        self.each(from, chains, |chain, start| self.run_observed(chain, start, |_, _, _| {}))
    }

    /// The results of `fit` for each chain's number and start, in parallel.
    pub(crate) fn each<R: Send>(
        &self,
        from: &Init,
        chains: usize,
        fit: impl Fn(usize, &[f64]) -> Result<R, Error> + Sync,
    ) -> Result<Vec<R>, Error> {
        check_layout(self.target.dim(), &self.target.layout())?;
        if chains == 0 {
            return Err(Error::argument("chains", 0, "at least 1"));
        }
        check_chains(chains, self.target.dim(), 0)?;
        threads::ready()?;
        let fit = |chain| {
            // The stream by which a sampler's chain finds its start.
            let mut rng = ChainRng::new(self.seed, chain as u64).child(u64::MAX);
            let mut ws = self.target.workspace();
            let place = format!("chain {chain} of the optimisation, at its start,");
            let start = caught(place, || {
                cut::apart(|| from.find(self.target, chain, chains, &mut rng, &mut ws))
            })??;
            fit(chain, start.q())
        };
        threads::map(chains, &fit).into_iter().collect()
    }

    /// The points of [`run_each`](Self::run_each), for
    /// [`Sampler::init`](crate::sampler::Sampler::init).
    pub fn starts(&self, from: &Init, chains: usize) -> Result<Init, Error> {
        let fits = self.run_each(from, chains)?;
        Ok(Init::Points(fits.into_iter().map(|fit| fit.q).collect()))
    }

    fn watch(&self) -> Option<(EarlyStopping, &Score<'a>)> {
        self.watch.as_ref().map(|(stopping, score)| (*stopping, &**score))
    }
}

/// The random stream of the minibatches of one chain.
fn batches(seed: u64, chain: usize) -> ChainRng {
    ChainRng::new(seed, chain as u64).child(BATCHES)
}

/// The held-out scores of one ascent.
struct Watch<'a> {
    stopping: EarlyStopping,
    score: &'a Score<'a>,
    /// The best point, its score and step, and the evaluations since.
    q: Vec<f64>,
    best: f64,
    step: usize,
    since: usize,
    history: Vec<Evaluation>,
}

impl Watch<'_> {
    /// Evaluates `q`, and says whether patience has come to its end.
    fn is_over(&mut self, step: usize, q: &[f64], estimate: f64) -> Result<bool, Error> {
        let score = (self.score)(q)?;
        self.history.push(Evaluation { step, score, estimate });
        if score > self.best {
            (self.best, self.step, self.since) = (score, step, 0);
            self.q.copy_from_slice(q);
        } else {
            self.since += usize::from(step > 0);
        }
        Ok(self.since >= self.stopping.patience)
    }
}

/// The mean of the estimates since it was last asked for.
#[derive(Default)]
struct Mean {
    sum: f64,
    count: usize,
    last: f64,
}

impl Mean {
    fn add(&mut self, estimate: LogDensity) {
        self.sum += estimate.total();
        self.count += 1;
    }

    /// The one before if there were none.
    fn take(&mut self) -> f64 {
        if self.count > 0 {
            self.last = self.sum / self.count as f64;
        }
        (self.sum, self.count) = (0.0, 0);
        self.last
    }
}

/// Whether a gradient and its squares are finite.
fn is_usable(grad: &[f64]) -> bool {
    grad.iter().all(|g| (g * g).is_finite())
}

/// The largest number of steps, more than an ascent can make in a reasonable time.
const MOST_STEPS: usize = u32::MAX as usize;

/// The ascent from `start`. See [`optimise`](super).
fn ascend<T, A>(
    target: &T,
    (ascent, schedule): (&A, Schedule),
    start: &[f64],
    rng: &mut ChainRng,
    watch: Option<(EarlyStopping, &Score)>,
    observe: &mut dyn FnMut(usize, &[f64], f64),
) -> Result<Optimum, Error>
where
    T: Target,
    A: Ascent,
    A::Source: GradSource<T>,
{
    let (learning_rate, steps) =
        (positive("learning_rate", ascent.learning_rate())?, ascent.steps());
    if !(1..=MOST_STEPS).contains(&steps) {
        let allowed = format!("1 to {MOST_STEPS}: the learning rate falls until the last of them");
        return Err(Error::argument("steps", steps, allowed));
    }
    ascent.check()?;
    schedule.check()?;
    if start.len() != target.dim() {
        return Err(Error::shape("length of q", start.len(), target.dim()));
    }
    let mut watch = match watch {
        None => None,
        Some((stopping, score)) => {
            stopping.check()?;
            let (q, best) = (start.to_vec(), f64::NEG_INFINITY);
            Some(Watch { stopping, score, q, best, step: 0, since: 0, history: Vec::new() })
        }
    };
    let (mut stream, mut ws) = (ascent.gradient().stream(target)?, target.workspace());
    let mut walk = Walk::new(ascent.state(start.len()), start);
    let begun = stream.eval(target, &mut walk.here, &mut ws, rng).accepted;
    check_start(target, &mut walk.here, begun, &stream, &mut ws)?;
    let log_density_at_start = target.log_density(start, &mut ws);
    let is_exact = <A::Source as GradSource<T>>::Stream::IS_EXACT;
    walk.best.copy_from(&walk.here);
    let mut mean = Mean::default();
    mean.add(stream.estimate(&walk.here));
    if let Some(watch) = &mut watch {
        watch.is_over(0, walk.here.q(), mean.take())?;
        if watch.history[0].score.is_nan() {
            return Err(Error::argument("score at the start of the ascent", "NaN", "a number"));
        }
    }
    while walk.made < steps {
        let rate = learning_rate * schedule.factor(walk.made, steps);
        if walk.step(target, (ascent, rate), &mut stream, &mut ws, rng).accepted {
            let estimate = stream.estimate(&walk.here);
            mean.add(estimate);
            observe(walk.made, walk.here.q(), estimate.total());
        }
        if let Some(watch) = &mut watch
            && (walk.made.is_multiple_of(watch.stopping.every) || walk.made == steps)
            && watch.is_over(walk.made, walk.here.q(), mean.take())?
        {
            break;
        }
    }
    let Walk { here, best, best_step, made, taken_back, .. } = walk;
    Ok(match watch {
        Some(Watch { q, step, history, .. }) => {
            let log_density = target.log_density(&q, &mut ws);
            Optimum { q, log_density, log_density_at_start, step, steps: made, taken_back, history }
        }
        None => {
            let (mut point, step) = if is_exact { (best, best_step) } else { (here, made) };
            let log_density = point.eval(target, &mut ws);
            let (q, history) = (point.q().to_vec(), Vec::new());
            Optimum { q, log_density, log_density_at_start, step, steps: made, taken_back, history }
        }
    })
}

/// The points and the memory of an ascent between two steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Walk<S> {
    state: S,
    here: Point,
    /// Room for the point that a step tries.
    next: Point,
    /// The point with the highest log density, where gradients are full.
    best: Point,
    best_step: usize,
    /// c, by which rates are smaller since steps were taken back.
    factor: f64,
    made: usize,
    taken_back: usize,
}

impl<S> Walk<S> {
    /// No steps yet, at `start`.
    pub fn new(state: S, start: &[f64]) -> Self {
        let mut here = Point::new(start.len());
        here.set(|q| q.copy_from_slice(start));
        Self {
            state,
            next: here.clone(),
            best: here.clone(),
            here,
            best_step: 0,
            factor: 1.0,
            made: 0,
            taken_back: 0,
        }
    }

    /// Begins at a point whose log density was evaluated.
    pub fn begin(&mut self, start: &Point) {
        self.here.copy_from(start);
        self.best.copy_from(start);
    }

    /// The steps so far.
    pub fn made(&self) -> usize {
        self.made
    }

    /// The point with the highest log density so far, where gradients are full.
    pub fn best(&self) -> &Point {
        &self.best
    }

    /// A step at `rate`, which is not accepted if it was taken back.
    pub fn step<T: Target, A: Ascent<State = S>, G: GradStream<T>>(
        &mut self,
        target: &T,
        (ascent, rate): (&A, f64),
        stream: &mut G,
        ws: &mut T::Workspace,
        rng: &mut ChainRng,
    ) -> Step {
        let Self { state, here, next, best, .. } = self;
        // The gradient here is known, unless its batch went with a step that was taken back.
        let mut step = stream.eval(target, here, ws, rng);
        let mut arrived = step.accepted && is_usable(stream.grad(here));
        if arrived {
            next.set(|q| {
                q.copy_from_slice(here.q());
                ascent.step(self.factor * rate, stream.grad(here), q, state);
            });
            arrived = next.q().iter().all(|q| q.is_finite());
        }
        if arrived {
            let there = stream.eval(target, next, ws, rng);
            step.gradient_evals += there.gradient_evals;
            arrived = there.accepted && is_usable(stream.grad(next));
        }
        self.made += 1;
        if arrived {
            std::mem::swap(here, next);
            if G::IS_EXACT && here.log_density().total() > best.log_density().total() {
                best.copy_from(here);
                self.best_step = self.made;
            }
        } else {
            if G::IS_EXACT {
                here.copy_from(best);
            }
            *state = ascent.state(here.q().len());
            self.factor *= 0.5;
            self.taken_back += 1;
        }
        Step { accepted: arrived, divergent: !arrived, ..step }
    }
}

/// Checks the log density and the gradient at the start, where there is nothing to go back to.
fn check_start<T: Target, G: GradStream<T>>(
    target: &T,
    here: &mut Point,
    begun: bool,
    stream: &G,
    ws: &mut T::Workspace,
) -> Result<(), Error> {
    if begun && is_usable(stream.grad(here)) {
        return Ok(());
    }
    let density = here.eval(target, ws);
    if !density.is_finite() {
        let what = "log density at the start of the ascent";
        return Err(Error::argument(what, density.total(), "finite"));
    }
    let allowed = "a number whose square is finite";
    let worst = stream.grad(here).iter().position(|g| !(g * g).is_finite());
    Err(match worst {
        Some(i) => {
            let what = format!("coordinate {i} of the gradient at the start of the ascent");
            Error::argument(what, stream.grad(here)[i], allowed)
        }
        // A stream does not hold a gradient that it has refused.
        None => {
            let what = "gradient of the first minibatch, at the start of the ascent";
            Error::argument(what, "not finite", "finite")
        }
    })
}
