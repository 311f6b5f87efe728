//! Surrogates: a cheap density in the place of an expensive one.
//!
//! A [`Surrogate`] is a target whose log likelihood ell* comes from an [`Emulator`], and whose prior
//! is the true one:
//!
//! ```text
//! log pi*(q) = ell*(q) + log p(q)
//! ```
//!
//! Every kernel that needs a density or its gradient samples it, and so do pCN and power
//! posteriors. The distribution that the chain then samples depends on how:
//!
//! | | samples | asks the true density |
//! | --- | --- | --- |
//! | any kernel on the surrogate | pi*, **not the posterior**: verdicts say so | never |
//! | [`DelayedAcceptance`](crate::sampler::DelayedAcceptance) | the posterior, exactly | once for several steps |
//! | [`SurrogateHmc`](crate::sampler::SurrogateHmc) | the posterior, exactly | once for each trajectory |
//!
//! | emulator | what it is | cost of an evaluation |
//! | --- | --- | --- |
//! | [`RowSubset`] | n of the N rows, weighted N/n, with control variates if asked | n/N of the full one |
//! | `RandomFeatures` of the crate `bnn-mcmc-emulate` | a linear combination of random functions, fitted to ell | features x d |
//! | `NetworkEmulator` of the crate `bnn-mcmc-emulate` | a network trained on ell, or on the predictions of all rows | its weights |
//! | your own | an [`Emulator`] | |
//!
//! The second and the third are in the workspace's folder `crates/emulate`. They learn from
//! [positions] at which the true density was evaluated, such as the draws of a short run, and know
//! nothing about the rest of the space. [`SurrogateError::measure`] compares an emulator with the
//! truth where the chain has been.
//!
//! # A run on a surrogate
//!
//! ```
//! use bnn_mcmc::prelude::*;
//! use bnn_mcmc::sampler::{DelayedAcceptance, Init};
//! use bnn_mcmc::surrogate::{RowSubset, Surrogate, SurrogateError};
//! # let x = ndarray::Array2::from_shape_fn((40, 2), |(i, j)| ((7 * i + 3 * j) % 11) as f64 / 5.0 - 1.0);
//! # let y = x.column(0).mapv(|x| 0.5 * x + 0.1);
//! # let data = Dataset::regression(x, y)?;
//! let priors = Priors::all(Normal::new(0.0, 1.0)?);
//! let posterior = Posterior::new(Linear::new(2, 1)?, Gaussian::fixed(0.3)?, &data, priors)?;
//! // A short run, and half of the rows, corrected where it ended.
//! let short = Sampler::new(&posterior, Mala::default()).warmup(200).draws(100).seed(1).run()?;
//! let end = short.draw(0, 99).unwrap_or_default();
//! let rows = RowSubset::new(&posterior, 20, 1)?.first_order(&posterior, end)?;
//! let surrogate = Surrogate::new(&posterior, rows);
//! // On the surrogate alone, from where the short run ended ...
//! let starts = Init::ends_of(&short);
//! let draws = Sampler::new(&surrogate, Hmc::default()).init(starts.clone()).draws(300).run()?;
//! println!("{}", draws.verdict()?); // samples an approximation
//! println!("{}", SurrogateError::measure(&surrogate, &posterior, &draws, 100)?);
//! // ... or exactly.
//! let exact = DelayedAcceptance::new(&surrogate, Hmc::default(), 2);
//! let draws = Sampler::new(&posterior, exact).init(starts).draws(300).run()?;
//! println!("accepted by both stages: {:?}", draws.accept_rate());
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

mod error;
mod rows;

pub use error::{SurrogateError, positions};
pub use rows::RowSubset;

use crate::Error;
use crate::layout::Layout;
use crate::rng::ChainRng;
use crate::targets::{
    GaussianReference, GradTarget, LogDensity, PowerGradTarget, PowerTarget, Target, TargetInfo,
};

/// A cheap stand-in for a log likelihood.
pub trait Emulator: Sync {
    /// Scratch memory of one chain.
    type Workspace: Send;

    /// Scratch memory for one chain.
    fn workspace(&self) -> Self::Workspace;

    /// ell*(q).
    fn log_likelihood(&self, q: &[f64], ws: &mut Self::Workspace) -> f64;

    /// Adds `factor` times the gradient of ell* to `grad` (as long as q), and returns ell*(q).
    fn add_grad(&self, factor: f64, q: &[f64], grad: &mut [f64], ws: &mut Self::Workspace) -> f64;

    /// Whether q lies outside the cloud of points that it learnt from, so that its value there is
    /// an extrapolation; false unless an emulator says otherwise.
    fn is_extrapolating(&self, _q: &[f64]) -> bool {
        false
    }

    /// The emulator in words, such as `100 of 5000 rows`, for verdicts on draws from a
    /// [`Surrogate`].
    fn description(&self) -> String;
}

/// The target with the prior of `target` and the log likelihood of an [`Emulator`]. See the
/// [module](self).
#[derive(Clone, Debug)]
pub struct Surrogate<T, E> {
    target: T,
    emulator: E,
}

impl<T: PowerTarget, E: Emulator> Surrogate<T, E> {
    /// `emulator` in the place of the likelihood of `target`, a reference to a
    /// [`Posterior`](crate::posterior::Posterior) or to a target of your own: it is asked for its
    /// prior alone, so that it should have [`log_prior`](PowerTarget::log_prior) and
    /// [`log_prior_grad`](PowerGradTarget::log_prior_grad) of its own.
    pub fn new(target: T, emulator: E) -> Self {
        Self { target, emulator }
    }

    /// The emulator.
    pub fn emulator(&self) -> &E {
        &self.emulator
    }
}

impl<T: PowerTarget, E: Emulator> Target for Surrogate<T, E> {
    type Workspace = (T::Workspace, E::Workspace);

    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn workspace(&self) -> Self::Workspace {
        (self.target.workspace(), self.emulator.workspace())
    }

    fn log_density(&self, q: &[f64], (of_target, ws): &mut Self::Workspace) -> LogDensity {
        match self.target.log_prior(q, of_target) {
            f64::NEG_INFINITY => LogDensity::OUTSIDE,
            prior => LogDensity::new(self.emulator.log_likelihood(q, ws), prior),
        }
    }

    fn layout(&self) -> Layout {
        self.target.layout()
    }

    fn draw_start(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        self.target.draw_start(rng, q)
    }

    fn data_checksum(&self) -> Option<u32> {
        self.target.data_checksum()
    }

    fn approximation(&self) -> Option<String> {
        Some(self.emulator.description())
    }

    fn info(&self) -> Option<TargetInfo> {
        self.target.info()
    }
}

impl<T: PowerGradTarget, E: Emulator> GradTarget for Surrogate<T, E> {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        self.log_density_grad_at(1.0, q, grad, ws)
    }
}

impl<T: PowerTarget, E: Emulator> PowerTarget for Surrogate<T, E> {
    fn draw_reference(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        self.target.draw_reference(rng, q)
    }

    fn log_prior(&self, q: &[f64], (of_target, _): &mut Self::Workspace) -> f64 {
        self.target.log_prior(q, of_target)
    }
}

impl<T: PowerGradTarget, E: Emulator> PowerGradTarget for Surrogate<T, E> {
    fn log_density_grad_at(
        &self,
        beta: f64,
        q: &[f64],
        grad: &mut [f64],
        (of_target, ws): &mut Self::Workspace,
    ) -> LogDensity {
        let prior = self.target.log_prior_grad(q, grad, of_target);
        if prior == f64::NEG_INFINITY {
            return LogDensity::OUTSIDE;
        }
        if beta == 0.0 {
            return LogDensity::new(self.emulator.log_likelihood(q, ws), prior);
        }
        LogDensity::new(self.emulator.add_grad(beta, q, grad, ws), prior)
    }

    fn log_prior_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        (of_target, _): &mut Self::Workspace,
    ) -> f64 {
        self.target.log_prior_grad(q, grad, of_target)
    }
}

impl<T: PowerTarget + GaussianReference, E: Emulator> GaussianReference for Surrogate<T, E> {
    fn gaussian_reference(
        &self,
        moving: &[usize],
        q: &[f64],
        mean: &mut [f64],
        sd: &mut [f64],
        (of_target, _): &mut Self::Workspace,
    ) -> Result<(), Error> {
        self.target.gaussian_reference(moving, q, mean, sd, of_target)
    }
}
