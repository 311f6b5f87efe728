//! One rung of the ladder: a chain at one temperature.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::message::Advice;
use crate::rng::ChainRng;
use crate::sampler::{Algorithm, Kernel, Step};
use crate::targets::{Point, PowerTarget, Target, Tempered};

/// One chain of the population.
pub(super) struct Rung<T: Target, K> {
    pub target: Tempered<T>,
    /// The kernel of the rung; `None` at beta = 0, where draws come from the prior.
    pub kernel: Option<K>,
    pub point: Point,
    /// The point at which a draw from the prior is tried.
    proposal: Point,
    ws: T::Workspace,
    rng: ChainRng,
    pub last: Option<Step>,
    /// Whether it stands at a point of its own.
    pub started: bool,
    /// The sum of its acceptance probabilities since the start or the end of warm-up, and how many
    /// there are.
    pub accept_probs: (f64, u64),
    /// Divergences since then.
    pub divergences: u64,
}

/// The part of a [`Rung`] that a checkpoint holds; `S` is the state of its kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "S: Serialize", deserialize = "S: DeserializeOwned"))]
pub(super) struct RungState<S> {
    beta: f64,
    kernel: Option<S>,
    point: Point,
    rng: ChainRng,
    last: Option<Step>,
    started: bool,
    accept_probs: (f64, u64),
    divergences: u64,
}

impl<T: PowerTarget + Copy + Send, K: Kernel<Tempered<T>>> Rung<T, K> {
    /// The number of draws from the prior that a rung tries for a start of finite log density.
    const TRIES: usize = 100;

    /// A rung that stands nowhere yet.
    fn unplaced<A>(algorithm: &A, target: Tempered<T>, rng: &ChainRng) -> Result<Self, Error>
    where
        A: Algorithm<Tempered<T>, Kernel = K>,
    {
        let (dim, beta) = (target.dim(), target.beta());
        let kernel = if beta > 0.0 { Some(algorithm.kernel(&target, rng)?) } else { None };
        Ok(Self {
            kernel,
            point: Point::new(dim),
            proposal: Point::new(dim),
            ws: target.workspace(),
            last: None,
            started: false,
            accept_probs: (0.0, 0),
            divergences: 0,
            target,
            rng: rng.child(0),
        })
    }

    /// The rung that has this state.
    pub fn of_state<A>(algorithm: &A, base: T, state: RungState<K::State>) -> Result<Self, Error>
    where
        A: Algorithm<Tempered<T>, Kernel = K>,
    {
        let mut rung = Self::unplaced(algorithm, Tempered::new(base, state.beta)?, &state.rng)?;
        rung.restore(algorithm, state);
        Ok(rung)
    }

    pub fn new<A>(algorithm: &A, target: Tempered<T>, mut rng: ChainRng) -> Result<Self, Error>
    where
        A: Algorithm<Tempered<T>, Kernel = K>,
    {
        let (dim, beta) = (target.dim(), target.beta());
        let mut rung = Self::unplaced(algorithm, target, &rng)?;
        if beta == 1.0 {
            return Ok(rung); // starts where the chain does
        }
        let mut q = vec![0.0; dim];
        for _ in 0..Self::TRIES {
            match rung.target.base().draw_reference(&mut rng, &mut q) {
                Ok(()) => {}
                // Without draws from the prior, the rung starts where the chain does.
                Err(_) if beta > 0.0 => return Ok(rung),
                Err(error) => {
                    let value = "0";
                    let allowed = format!("above 0 where the prior cannot be drawn from ({error})");
                    let advice = Advice::in_rust("take a `Ladder::Given`");
                    let error = Error::argument("beta_0 of the ladder", value, allowed);
                    return Err(error.advise([advice]));
                }
            }
            rung.start_at(&q);
            let likelihood = rung.point.log_density().likelihood;
            if rung.point.log_density().is_finite() && likelihood < f64::INFINITY {
                rung.started = true;
                return Ok(rung);
            }
        }
        if beta > 0.0 {
            return Ok(rung); // where the chain starts, the density is finite
        }
        let last = rung.point.log_density();
        let allowed = format!(
            "such that the density at draws from the prior is a number (log likelihood {}, log \
             prior {} at the last of {} draws)",
            last.likelihood,
            last.prior,
            Self::TRIES
        );
        Err(Error::argument("beta_0 of the ladder", "0", allowed))
    }

    pub fn start_at(&mut self, q: &[f64]) {
        self.point.set(|own| own.copy_from_slice(q));
        self.point.eval(&self.target, &mut self.ws);
    }

    /// One move within the rung.
    pub fn step(&mut self) {
        let Self { target, kernel, point, proposal, ws, rng, .. } = self;
        let step = match kernel {
            Some(kernel) => {
                let step = kernel.step(target, point, ws, rng);
                point.eval(target, ws); // what exchanges go by; known, unless the kernel needs none
                step
            }
            None => {
                let mut drawn = false;
                proposal.set(|q| drawn = target.base().draw_reference(rng, q).is_ok());
                let density = proposal.eval(target, ws);
                // A likelihood of zero is allowed here, NaN is not.
                let accepted =
                    drawn && density.prior.is_finite() && density.likelihood < f64::INFINITY;
                if accepted {
                    std::mem::swap(point, proposal);
                }
                Step { accept_prob: None, accepted, divergent: !accepted, gradient_evals: 0 }
            }
        };
        self.last = Some(step);
        self.divergences += u64::from(step.divergent);
        if let Some(accept_prob) = step.accept_prob {
            self.accept_probs.0 += accept_prob;
            self.accept_probs.1 += 1;
        }
    }

    /// Moves the chain to another temperature, with a kernel that keeps its adaptation. If the
    /// algorithm refuses, the rung stays unchanged.
    pub fn retemper<A: Algorithm<Tempered<T>, Kernel = K>>(
        &mut self,
        algorithm: &A,
        beta: f64,
    ) -> Result<(), Error> {
        if beta == self.target.beta() {
            return Ok(());
        }
        let target = Tempered::new(*self.target.base(), beta)?;
        let mut kernel = algorithm.kernel(&target, &self.rng)?;
        if let Some(old) = &self.kernel {
            kernel.restore(old.state());
        }
        self.target = target;
        self.kernel = Some(kernel);
        self.point.temper(beta);
        Ok(())
    }

    /// Ends the warm-up: the counts begin anew.
    pub fn freeze(&mut self) {
        (self.accept_probs, self.divergences) = ((0.0, 0), 0);
        if let Some(kernel) = &mut self.kernel {
            kernel.freeze();
        }
    }

    pub fn state(&self) -> RungState<K::State> {
        RungState {
            beta: self.target.beta(),
            kernel: self.kernel.as_ref().map(Kernel::state),
            point: self.point.clone(),
            rng: self.rng.clone(),
            last: self.last,
            started: self.started,
            accept_probs: self.accept_probs,
            divergences: self.divergences,
        }
    }

    pub fn restore<A: Algorithm<Tempered<T>, Kernel = K>>(
        &mut self,
        algorithm: &A,
        state: RungState<K::State>,
    ) {
        self.retemper(algorithm, state.beta)
            .expect("the inner algorithm has made a kernel for this rung of the checkpoint before");
        self.point = state.point;
        self.rng = state.rng;
        self.last = state.last;
        self.started = state.started;
        self.accept_probs = state.accept_probs;
        self.divergences = state.divergences;
        if let (Some(kernel), Some(state)) = (&mut self.kernel, state.kernel) {
            kernel.restore(state);
        }
    }
}
