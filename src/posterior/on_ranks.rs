//! The rows of a posterior on several ranks.
//!
//! Rank 0 runs the sampler. Where it evaluates the density it sends q and what is wanted to all ranks, and all of them make the
//! same evaluation: each walks its shares of the rows alone (`walk.rs`), and rank 0 receives the others' sums, share by share. It adds
//! them in the order of the shares, as one process does. An evaluation that needs a sum before its next pass over the rows, as the
//! integral over the output layer does, sends all sums to all ranks, which come to the same decisions.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::{Posterior, PosteriorWorkspace};
use crate::Error;
use crate::cbor;
use crate::error::{Unwound, unwound};
use crate::layout::Layout;
use crate::likelihood::Likelihood;
use crate::message::Advice;
use crate::model::Model;
use crate::ranks::{Ranks, check_alike};
use crate::rng::ChainRng;
use crate::targets::{
    ConditionallyGaussian, Forces, GradTarget, LogDensity, PowerGradTarget, PowerTarget, Target,
    TargetInfo,
};

/// A [`Posterior`] whose rows are evaluated by several processes: see [`Posterior::on_ranks`].
#[derive(Debug)]
pub struct OnRanks<'p, M, L> {
    posterior: &'p Posterior<M, L>,
    ranks: Arc<dyn Ranks>,
    /// Held during an evaluation: chains on other threads take turns.
    turn: Mutex<()>,
}

/// What all ranks evaluate.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Evaluation {
    Density,
    Gradient {
        beta: f64,
    },
    Marginal {
        beta: f64,
        with_gradient: bool,
    },
    Force {
        beta: f64,
    },
    Conditional {
        beta: f64,
    },
    /// Nothing any more.
    End,
}

/// Tells the other ranks that there is nothing any more, also after a panic.
struct Ended<'r>(&'r dyn Ranks);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        order(self.0, Evaluation::End, &[]);
    }
}

fn order(ranks: &dyn Ranks, what: Evaluation, q: &[f64]) {
    let mut bytes = Vec::new();
    cbor::write(&(what, q), &mut bytes).expect("numbers can be written");
    ranks.broadcast(bytes);
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Runs `work` on rank 0 with this posterior as a target whose rows all `ranks` evaluate, and returns its result there; on the
    /// other ranks it evaluates until `work` has ended, and returns `None`. All ranks have the same posterior. Of
    /// [rows in a file](crate::data::RowFile) each reads its own rows alone in an evaluation; the checksums and the response of all are read
    /// where the file is opened.
    ///
    /// Draws have the same bits for any number of ranks, and are of the posterior itself: predictions, checkpoints and
    /// all else go on with it. A rank takes one thread. There is work for all ranks where the posterior cuts its rows into as
    /// many shares: 4 million multiply-adds each, at three for each weight and row, at most 64 of them, and fewer from
    /// 131,072 weights on. A gradient sends q to
    /// each rank, and a gradient of each share to rank 0. Minibatches, predictions and leave-one-out are done by rank 0 alone.
    ///
    /// A rank that cannot go on ends all of them; the run then goes on from its checkpoint.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// use bnn_mcmc::ranks;
    /// let x = ndarray::Array2::from_shape_fn((40_000, 4), |(i, j)| ((i * (j + 1)) as f64).sin());
    /// let y = x.column(0).mapv(|x| 2.0 * x);
    /// let data = Dataset::regression(x, y)?;
    /// let network = Mlp::new(&[4, 20, 1], Activation::Tanh)?;
    /// let priors = Priors::all(Normal::new(0.0, 1.0)?);
    /// let posterior = Posterior::new(network, Gaussian::fixed(0.5)?, &data, priors)?;
    /// let mala = || Mala { step_size: 1e-3, ..Mala::default() };
    /// let alone = Sampler::new(&posterior, mala()).chains(1).warmup(0).draws(5).run()?;
    ///
    /// // Three ranks, which are threads here. With MPI this is the whole program.
    /// let mut draws = ranks::local(3, |ranks| {
    ///     posterior.on_ranks(&ranks, |target| {
    ///         Sampler::new(target, mala()).chains(1).warmup(0).draws(5).run()
    ///     })
    /// });
    /// assert_eq!(draws.remove(0).unwrap()?.values(), alone.values());
    /// assert!(draws.iter().all(Option::is_none));
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn on_ranks<R>(
        &self,
        ranks: &Arc<dyn Ranks>,
        work: impl FnOnce(&OnRanks<M, L>) -> R,
    ) -> Option<R> {
        let target = OnRanks { posterior: self, ranks: ranks.clone(), turn: Mutex::new(()) };
        check_alike(&**ranks, &self.in_words());
        if ranks.rank() == 0 {
            let _ended = Ended(&**ranks);
            return Some(work(&target));
        }
        unwound(|| target.serve()).unwrap_or_else(|unwound| target.abort(unwound));
        None
    }
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// What all ranks have in common.
    fn in_words(&self) -> String {
        let [model, likelihood] = [self.model.description(), self.likelihood.description()];
        let [model, likelihood] =
            [model, likelihood].map(|words| words.unwrap_or_else(|| "one of your own".into()));
        format!("{model}; {likelihood}; {} coordinates, {} rows", self.dim(), self.n_obs())
    }
}

impl<M: Model, L: Likelihood> OnRanks<'_, M, L> {
    /// Makes the evaluations that rank 0 asks for, until it asks for none any more.
    fn serve(&self) {
        let posterior = self.posterior;
        let mut ws = self.workspace();
        let mut rng = ChainRng::new(0, 0);
        let mut grad = vec![0.0; posterior.dim()];
        loop {
            let bytes = self.ranks.broadcast(Vec::new());
            let read: Result<(_, Vec<f64>), String> = cbor::read(&mut &bytes[..]);
            let (evaluation, mut q) = read.unwrap_or_else(|e| self.ranks.abort(&e));
            match evaluation {
                Evaluation::Density => _ = posterior.log_density(&q, &mut ws),
                Evaluation::Gradient { beta } => {
                    posterior.log_density_grad_at(beta, &q, &mut grad, &mut ws);
                }
                Evaluation::Marginal { beta, with_gradient } => {
                    let grad = with_gradient.then_some(&mut grad[..]);
                    posterior.log_marginal_at(beta, &q, grad, &mut ws);
                }
                Evaluation::Force { beta } => _ = posterior.force_at(beta, &q, &mut grad, &mut ws),
                Evaluation::Conditional { beta } => {
                    posterior.draw_conditional_at(beta, &mut rng, &mut q, &mut ws);
                }
                Evaluation::End => return,
            }
        }
    }

    /// Makes an evaluation on all ranks.
    fn all<R>(&self, evaluation: Evaluation, q: &[f64], own: impl FnOnce() -> R) -> R {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        order(&*self.ranks, evaluation, q);
        unwound(own).unwrap_or_else(|unwound| self.abort(unwound))
    }

    /// The others are in the midst of an evaluation that this rank cannot make.
    fn abort(&self, unwound: Unwound) -> ! {
        self.ranks.abort(&unwound.at("an evaluation of the rows").to_string())
    }
}

impl<M: Model, L: Likelihood> Target for OnRanks<'_, M, L> {
    type Workspace = PosteriorWorkspace<M::Workspace>;

    fn workspace(&self) -> Self::Workspace {
        PosteriorWorkspace { ranks: Some(self.ranks.clone()), ..self.posterior.workspace() }
    }

    fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        self.all(Evaluation::Density, q, || self.posterior.log_density(q, ws))
    }

    fn layout(&self) -> Layout {
        Target::layout(self.posterior)
    }

    forward! { self => self.posterior;
        fn dim() -> usize;
        fn draw_start(rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error>;
        fn data_checksum() -> Option<u32>;
        fn info() -> Option<TargetInfo>;
    }
}

impl<M: Model, L: Likelihood> GradTarget for OnRanks<'_, M, L> {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        self.log_density_grad_at(1.0, q, grad, ws)
    }
}

impl<M: Model, L: Likelihood> PowerTarget for OnRanks<'_, M, L> {
    forward! { self => self.posterior;
        fn draw_reference(rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error>;
        fn log_prior(q: &[f64], ws: &mut Self::Workspace) -> f64;
    }
}

impl<M: Model, L: Likelihood> PowerGradTarget for OnRanks<'_, M, L> {
    fn log_density_grad_at(
        &self,
        beta: f64,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        self.all(Evaluation::Gradient { beta }, q, || {
            self.posterior.log_density_grad_at(beta, q, grad, ws)
        })
    }

    forward! { self => self.posterior;
        fn log_prior_grad(q: &[f64], grad: &mut [f64], ws: &mut Self::Workspace) -> f64;
    }
}

/// Not of [`StudentTNoise`](crate::likelihood::StudentTNoise), whose precisions of rows are drawn on rank 0 alone.
impl<M: Model, L: Likelihood> ConditionallyGaussian for OnRanks<'_, M, L> {
    fn gaussian_coordinates(&self) -> Result<Vec<Range<usize>>, Error> {
        if self.posterior.is_refreshed() {
            let found = self.posterior.likelihood().description().unwrap_or_default();
            let allowed = "Gaussian or HeteroscedasticGaussian where rows are on several ranks";
            let error = Error::argument("likelihood", found, allowed);
            return Err(error.advise([Advice::UseNuts]));
        }
        self.posterior.gaussian_coordinates()
    }

    forward! { self => self.posterior;
        fn held_coordinates() -> Vec<Range<usize>>;
        fn matrix_numbers() -> usize;
        fn has_force(forces: Forces) -> bool;
    }

    fn log_marginal_at(
        &self,
        beta: f64,
        q: &[f64],
        grad: Option<&mut [f64]>,
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let evaluation = Evaluation::Marginal { beta, with_gradient: grad.is_some() };
        self.all(evaluation, q, || self.posterior.log_marginal_at(beta, q, grad, ws))
    }

    fn force_at(
        &self,
        beta: f64,
        q: &[f64],
        force: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let evaluation = Evaluation::Force { beta };
        self.all(evaluation, q, || self.posterior.force_at(beta, q, force, ws))
    }

    fn draw_conditional_at(
        &self,
        beta: f64,
        rng: &mut ChainRng,
        q: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> bool {
        let before = q.to_vec();
        self.all(Evaluation::Conditional { beta }, &before, || {
            self.posterior.draw_conditional_at(beta, rng, q, ws)
        })
    }
}
