//! The methods that people use instead of Markov chain Monte Carlo, each a way to make [`Draws`].
//!
//! None of them samples the posterior. Their draws go through
//! [`Posterior::predict`](crate::posterior::Posterior::predict), the scores and the measures of
//! uncertainty like the draws of a run,
//! [`RunInfo::approximation`](crate::draws::RunInfo::approximation) names the method that made
//! them, and a verdict on them says that no chains were run: R-hat has nothing to compare.
//!
//! | method | what it is | draws |
//! | --- | --- | --- |
//! | [`ensemble`] of one fit | the mode of the posterior (MAP), or of the likelihood | one, repeated |
//! | [`ensemble`] of several | a deep ensemble: modes from dispersed starts | one for each member, repeated |
//! | [`LaplaceApproximation`] | a normal distribution at a mode, with the curvature there | any number |
//! | [`MeanField`] | mean-field variational inference: the closest independent normals | any number |
//! | [`Swag`] | a normal distribution with the moments of an optimiser's iterates, one for each start | any number |
//! | [`Dropout`] | one network, without a random subset of its hidden units in each draw | any number |
//!
//! [`Distil`] trains one network to predict what many draws predict on average.
//!
//! Draws of two approximations by the same seed share their random numbers: give members of a
//! mixture a seed each.
//!
//! Where a training goes wrong (steps that are taken back, a log density that falls), the last
//! point that was finite is returned, and the draws say so in the name of the method
//! ([`optimise::Optimum::problem`](crate::optimise::Optimum::problem)).

mod distil;
mod dropout;
mod ensemble;
mod laplace;
mod masked;
mod swag;
mod variational;

pub use distil::{Distil, DistillationLoss, Distilled, Student};
pub use dropout::{Dropout, DropoutFit};
pub use ensemble::ensemble;
pub use laplace::{LaplaceApproximation, PriorSearch, prior_by_evidence};
pub use swag::{Swag, SwagFit};
pub use variational::{
    DensitySamples, Elbo, Expectation, LocalNoise, MeanField, VariationalFit, WeightSamples,
};

use std::time::Instant;

use ndarray::Array3;

use crate::draws::{Approximation, Draws, RunInfo};
use crate::layout::Layout;
use crate::optimise::Optimum;
use crate::rng::ChainRng;
use crate::targets::{Target, TargetInfo};
use crate::{Error, memory};

/// The part of a seed's streams that approximations draw from: no sampler and no optimiser reads
/// it.
const DRAWS: u64 = u64::from_le_bytes(*b"approxim");

/// The origin of an approximation: its target and its method, which its draws record.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    layout: Layout,
    target: Option<TargetInfo>,
    method: String,
    seconds: f64,
}

impl Origin {
    /// The origin of a fit to `target` by `method`, such as `mean-field variational inference`,
    /// which started at `began` and ends now.
    pub(crate) fn new<T: Target>(target: &T, method: impl Into<String>, began: Instant) -> Self {
        Self {
            layout: target.layout(),
            target: target.info(),
            method: method.into(),
            seconds: began.elapsed().as_secs_f64(),
        }
    }

    /// Adds the problems in the trainings of its members to the description.
    pub(crate) fn with_problems(mut self, fits: &[Optimum]) -> Self {
        let problems: Vec<_> = fits.iter().filter_map(Optimum::problem).collect();
        if let Some(first) = problems.first() {
            let of =
                if fits.len() == 1 { String::new() } else { format!("{} of ", problems.len()) };
            self.method += &format!(
                " (**{of}{} training{} failed**: {first}; take a lower learning rate)",
                fits.len(),
                if fits.len() == 1 { "" } else { "s" },
            );
        }
        self
    }

    /// One chain of `n` draws, each of which `draw` writes into a vector as long as q.
    pub(crate) fn draws(
        &self,
        n: usize,
        seed: u64,
        draw: impl FnMut(&mut ChainRng, &mut [f64]),
    ) -> Result<Draws, Error> {
        let mut draw = Some(draw);
        self.draws_of_each(1, n, seed, |_| draw.take().expect("there is one chain"))
    }

    /// `n` draws of each of `members`, a chain each; `member` makes the draws of a member from its
    /// number.
    pub(crate) fn draws_of_each<F: FnMut(&mut ChainRng, &mut [f64])>(
        &self,
        members: usize,
        n: usize,
        seed: u64,
        mut member: impl FnMut(usize) -> F,
    ) -> Result<Draws, Error> {
        if n == 0 {
            return Err(Error::argument("number of draws", 0, "at least 1"));
        }
        let dim = self.layout.dim();
        let size = [(members, "members"), (n, "draws"), (dim, "parameters")];
        memory::check::<f64>("draws of an approximation", &size, "make fewer draws")?;
        let mut values = vec![0.0; members * n * dim];
        for (m, values) in values.chunks_exact_mut((n * dim).max(1)).enumerate() {
            let (mut draw, mut rng) = (member(m), ChainRng::new(seed, m as u64).child(DRAWS));
            values.chunks_exact_mut(dim).for_each(|q| draw(&mut rng, q));
        }
        self.draws_of(seed, (members, n), values)
    }

    /// Draws with these values, `[chain, draw, parameter]`.
    fn draws_of(
        &self,
        seed: u64,
        (chains, n): (usize, usize),
        values: Vec<f64>,
    ) -> Result<Draws, Error> {
        let shape = (chains, n, self.layout.dim());
        let values = Array3::from_shape_vec(shape, values).expect("values of all parameters");
        let info = RunInfo {
            seed,
            parameters: self.layout.dim(),
            thin: 1,
            sampling_seconds: self.seconds,
            approximation: Some(Approximation::Fitted { method: self.method.clone() }),
            target: self.target.clone(),
            ..RunInfo::default()
        };
        Ok(Draws::new(self.layout.clone(), values)?.with_info(info))
    }
}
