//! A target whose normal coordinates are integrated out.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{GradTarget, LogDensity, PowerTarget, Target, TargetInfo, Tempered};
use crate::Error;
use crate::layout::Layout;
use crate::rng::ChainRng;

/// Given all other coordinates of q, the posterior of some of them, the weights W of a linear
/// output layer under normal noise, is a normal distribution that is known: W can be integrated
/// out, and drawn exactly.
///
/// With v the other coordinates and the likelihood to the power beta,
///
/// ```text
/// p_beta(v)     = p(v) integral p(y | v, W)^beta p(W | v) dW
/// p_beta(W | v) = N(W; mean, covariance)
/// ```
///
/// [`Posterior`](crate::posterior::Posterior) implements it where model, likelihood and prior allow it;
/// [`Tempered`] passes it on with its own beta.
pub trait ConditionallyGaussian: Target {
    /// The coordinates of q that are integrated out, as ranges in ascending order without overlap,
    /// or an error that says why none can be. Every call returns the same.
    fn gaussian_coordinates(&self) -> Result<Vec<Range<usize>>, Error>;

    /// The coordinates of q, none of them integrated out, that stay where they are while the others move:
    /// [`refresh_at`](Self::refresh_at) moves them. Every call returns the same.
    fn held_coordinates(&self) -> Vec<Range<usize>> {
        Vec::new()
    }

    /// Whether W is normal only given further variables u that q does not have, which
    /// [`refresh_at`](Self::refresh_at) draws; false by default.
    fn is_refreshed(&self) -> bool {
        false
    }

    /// If there are [further variables](Self::is_refreshed) u: leaves p_beta(q) unchanged as it moves some
    /// coordinates of `q`, then draws u given q into the workspace. All densities and draws are given u from
    /// then on. Without `rng` it moves nothing, and sets u to a typical value. By default there is no
    /// u, and it does nothing.
    fn refresh_at(
        &self,
        _beta: f64,
        _rng: Option<&mut ChainRng>,
        _q: &mut [f64],
        _ws: &mut Self::Workspace,
    ) {
    }

    /// The number of entries in the matrices of an evaluation, for the memory that a run counts for
    /// each chain before it begins.
    fn matrix_numbers(&self) -> usize {
        0
    }

    /// log p_beta(v) in two parts: the integral as `likelihood`, log p(v) as `prior`, with `beta` 1.
    /// `grad`, if it is given, is overwritten with the gradient of their sum. `q` and `grad` have all
    /// coordinates; those that are integrated out are not read, and have gradient 0.
    ///
    /// NaN where the covariance cannot be computed, or
    /// [`gaussian_coordinates`](Self::gaussian_coordinates) is an error.
    fn log_marginal_at(
        &self,
        beta: f64,
        q: &[f64],
        grad: Option<&mut [f64]>,
        ws: &mut Self::Workspace,
    ) -> LogDensity;

    /// Whether [`force_at`](Self::force_at) is something else than the gradient where `forces` are asked for; false
    /// by default. A function of the target alone.
    fn has_force(&self, _forces: Forces) -> bool {
        false
    }

    /// Overwrites `force` with an approximation of the gradient of [`log_marginal_at`](Self::log_marginal_at), and
    /// returns an approximation of its value; by default both themselves. Functions of q and beta alone, as
    /// in [`GradTarget::force`].
    fn force_at(
        &self,
        beta: f64,
        q: &[f64],
        force: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        self.log_marginal_at(beta, q, Some(force), ws)
    }

    /// Overwrites the coordinates of `q` that are integrated out with a draw of p_beta(W | v) and
    /// returns true; returns false, and leaves q unchanged, where the covariance cannot be
    /// computed.
    fn draw_conditional_at(
        &self,
        beta: f64,
        rng: &mut ChainRng,
        q: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> bool;
}

/// The numbers in which forces ([`GradTarget::force`]) are computed. The acceptance test, and with it the
/// distribution that is sampled, is the same in any case: densities are f64. Draws differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Forces {
    /// f32 where the problem is large enough to gain by it, else f64.
    #[default]
    Auto,
    /// f64: forces are gradients.
    F64,
    /// f32, where the target has such forces.
    F32,
}

impl<T: ConditionallyGaussian> ConditionallyGaussian for &T {
    forward! { self => (**self);
        fn gaussian_coordinates() -> Result<Vec<Range<usize>>, Error>;
        fn held_coordinates() -> Vec<Range<usize>>;
        fn is_refreshed() -> bool;
        fn refresh_at(
            beta: f64, rng: Option<&mut ChainRng>, q: &mut [f64], ws: &mut Self::Workspace,
        ) -> ();
        fn matrix_numbers() -> usize;
        fn has_force(forces: Forces) -> bool;
        fn force_at(beta: f64, q: &[f64], force: &mut [f64], ws: &mut Self::Workspace) -> LogDensity;
        fn log_marginal_at(
            beta: f64, q: &[f64], grad: Option<&mut [f64]>, ws: &mut Self::Workspace,
        ) -> LogDensity;
        fn draw_conditional_at(
            beta: f64, rng: &mut ChainRng, q: &mut [f64], ws: &mut Self::Workspace,
        ) -> bool;
    }
}

impl<T: ConditionallyGaussian + PowerTarget> ConditionallyGaussian for Tempered<T> {
    forward! { self => self.base();
        fn gaussian_coordinates() -> Result<Vec<Range<usize>>, Error>;
        fn held_coordinates() -> Vec<Range<usize>>;
        fn is_refreshed() -> bool;
        fn matrix_numbers() -> usize;
        fn has_force(forces: Forces) -> bool;
    }
    fn force_at(
        &self,
        beta: f64,
        q: &[f64],
        force: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        self.base().force_at(self.beta() * beta, q, force, ws) //~ force-power
    }
    fn refresh_at(
        &self,
        beta: f64,
        rng: Option<&mut ChainRng>,
        q: &mut [f64],
        ws: &mut Self::Workspace,
    ) {
        self.base().refresh_at(self.beta() * beta, rng, q, ws);
    }
    fn log_marginal_at(
        &self,
        beta: f64,
        q: &[f64],
        grad: Option<&mut [f64]>,
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        self.base().log_marginal_at(self.beta() * beta, q, grad, ws)
    }
    fn draw_conditional_at(
        &self,
        beta: f64,
        rng: &mut ChainRng,
        q: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> bool {
        self.base().draw_conditional_at(self.beta() * beta, rng, q, ws)
    }
}

/// The marginal density of all coordinates of `base` but the weights of its linear output layer,
/// which are integrated out exactly: if the noise differs between rows, the weights of the mean.
///
/// Its layout has the blocks of the base's layout without the blocks that are integrated out. If a
/// part of a block is integrated out, the rest is a vector of the same name: from the output layer
/// `w1` `[2, H]` of mean and log standard deviation remains `w1` `[H]`, the weights of the latter.
///
/// The [log density](LogDensity) has the integral of the likelihood, log p(y | v), as its
/// `likelihood`, and log p(v) as its `prior`. It is not a sum over rows, so it has no minibatches.
/// For a [`Tempered`] base the likelihood under the integral has the power beta, and the log
/// density is the marginal of the tempered joint density.
///
/// If the base has [further variables](ConditionallyGaussian::refresh_at) (Student-t noise), the density is
/// the one given them, NaN before the first [`refresh`](Self::refresh), and coordinates that are held are
/// left out, too.
///
/// Made by [`Posterior::collapsed`](crate::posterior::Posterior::collapsed), and by the algorithm
/// [`Collapsed`](crate::sampler::Collapsed), which samples it and draws the weights again. On its own
/// it serves optimisers, and whoever needs v alone.
///
/// ```
/// use bnn_mcmc::optimise::Adam;
/// use bnn_mcmc::prelude::*;
/// let x = ndarray::Array2::from_shape_fn((20, 1), |(i, _)| i as f64 / 10.0 - 1.0);
/// let y = x.column(0).mapv(|x| (3.0 * x).sin());
/// let network = Mlp::new(&[1, 8, 1], Activation::Tanh)?;
/// let priors = Priors::by_fan_in(&network)
///     .with("log_noise_variance", LogInverseGamma::new(2.0, 0.1)?);
/// let posterior = Posterior::new(network, Gaussian::sampled(), &Dataset::regression(x, y)?, priors)?;
/// let marginal = posterior.collapsed()?;
/// assert_eq!(marginal.layout().block_names(), ["w0", "b0", "log_noise_variance"]);
///
/// // The mode of what is left, and output weights for it.
/// let mut v = vec![0.1; marginal.dim()];
/// Adam { learning_rate: 0.05, ..Adam::default() }.maximise(&marginal, &mut v)?;
/// let (mut q, mut ws) = (vec![0.0; posterior.dim()], marginal.workspace());
/// marginal.scatter(&v, &mut q);
/// assert!(marginal.draw_conditional(&mut ChainRng::new(1, 0), &mut q, &mut ws));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[doc(alias = "Rao-Blackwellisation")]
#[doc(alias = "collapsed")]
#[derive(Clone, Debug)]
pub struct Marginal<T> {
    base: T,
    integrated: Vec<Range<usize>>,
    /// The other coordinates.
    kept: Vec<Range<usize>>,
    layout: Layout,
    has_force: bool,
}

/// Scratch memory of one chain on a [`Marginal`].
#[derive(Debug)]
pub struct MarginalWorkspace<W> {
    /// All coordinates, of which those that are integrated out stay 0.
    q: Vec<f64>,
    grad: Vec<f64>,
    base: W,
}

impl<T: ConditionallyGaussian> Marginal<T> {
    /// The marginal density of `base`.
    ///
    /// # Errors
    /// If the output layer cannot be integrated out
    /// ([`gaussian_coordinates`](ConditionallyGaussian::gaussian_coordinates)), or no other
    /// coordinate is left.
    pub fn new(base: T) -> Result<Self, Error> {
        let integrated = base.gaussian_coordinates()?;
        let mut left_out = [integrated.clone(), base.held_coordinates()].concat();
        left_out.sort_by_key(|range| range.start);
        let mut kept = Vec::new();
        let mut end = 0;
        let bounds = left_out.iter().map(|range| (range.start, range.end));
        for (start, next) in bounds.chain([(base.dim(), base.dim())]) {
            if start < end || next < start {
                let allowed = format!("ascending ranges without overlap below {}", base.dim());
                let found = format!("{left_out:?}");
                return Err(Error::argument("coordinates to integrate out", found, allowed));
            }
            if end < start {
                kept.push(end..start);
            }
            end = next;
        }
        let mut layout = Layout::new();
        for block in base.layout().blocks() {
            let within = |range: &Range<usize>| {
                range.end.min(block.range.end).saturating_sub(range.start.max(block.range.start))
            };
            match kept.iter().map(within).sum::<usize>() {
                0 if !block.range.is_empty() => {}
                n if n == block.range.len() => layout = layout.with_block(block),
                n => layout = layout.with(&block.name, &[n]),
            }
        }
        if layout.dim() == 0 {
            let names = base.layout().block_names().join(", ");
            let allowed = "others, too: this posterior is a normal distribution, of a linear model \
                           whose noise is known, and needs no Markov chain";
            return Err(Error::argument("blocks of the posterior", names, allowed));
        }
        let has_force = base.has_force(Forces::Auto);
        Ok(Self { base, integrated, kept, layout, has_force })
    }

    /// The same density with forces in these numbers.
    pub fn with_forces(mut self, forces: Forces) -> Self {
        self.has_force = self.base.has_force(forces);
        self
    }

    /// The target with all coordinates.
    pub fn base(&self) -> &T {
        &self.base
    }

    /// The coordinates of the base that are integrated out, in ascending order.
    pub fn integrated(&self) -> &[Range<usize>] {
        &self.integrated
    }

    /// Writes all coordinates of the base's `from` but those that are integrated out, or held, into `to`.
    pub fn gather(&self, from: &[f64], to: &mut [f64]) {
        let mut rest = to;
        for range in &self.kept {
            let part = rest.split_off_mut(..range.len()).expect("room for what is kept");
            part.copy_from_slice(&from[range.clone()]);
        }
    }

    /// Writes `from` into the base's coordinates `to`, whose other coordinates stay unchanged.
    pub fn scatter(&self, from: &[f64], to: &mut [f64]) {
        let mut rest = from;
        for range in &self.kept {
            let part = rest.split_off(..range.len()).expect("as many as are kept");
            to[range.clone()].copy_from_slice(part);
        }
    }

    /// Moves the coordinates that are [held](ConditionallyGaussian::held_coordinates), and draws the further
    /// variables that the density is given, at `q`, which has all coordinates of the base. Returns whether
    /// the density has changed.
    pub fn refresh(
        &self,
        rng: Option<&mut ChainRng>,
        q: &mut [f64],
        ws: &mut MarginalWorkspace<T::Workspace>,
    ) -> bool {
        let is_refreshed = self.base.is_refreshed();
        if is_refreshed {
            self.base.refresh_at(1.0, rng, q, &mut ws.base);
            ws.q.copy_from_slice(q);
        }
        is_refreshed
    }

    /// Overwrites the integrated coordinates of `q`, which has all coordinates of the base, with a
    /// draw from their distribution given the others; false, with q unchanged, where this
    /// distribution cannot be computed.
    pub fn draw_conditional(
        &self,
        rng: &mut ChainRng,
        q: &mut [f64],
        ws: &mut MarginalWorkspace<T::Workspace>,
    ) -> bool {
        self.base.draw_conditional_at(1.0, rng, q, &mut ws.base)
    }
}

impl<T: ConditionallyGaussian> Target for Marginal<T> {
    type Workspace = MarginalWorkspace<T::Workspace>;

    fn dim(&self) -> usize {
        self.layout.dim()
    }

    fn workspace(&self) -> Self::Workspace {
        let zeros = vec![0.0; self.base.dim()];
        MarginalWorkspace { q: zeros.clone(), grad: zeros, base: self.base.workspace() }
    }

    fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        self.scatter(q, &mut ws.q);
        self.base.log_marginal_at(1.0, &ws.q, None, &mut ws.base)
    }

    fn layout(&self) -> Layout {
        self.layout.clone()
    }

    fn draw_start(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        let mut full = vec![0.0; self.base.dim()];
        self.base.draw_start(rng, &mut full)?;
        self.gather(&full, q);
        Ok(())
    }

    fn data_checksum(&self) -> Option<u32> {
        self.base.data_checksum()
    }

    fn approximation(&self) -> Option<String> {
        self.base.approximation()
    }

    fn info(&self) -> Option<TargetInfo> {
        self.base.info()
    }
}

impl<T: ConditionallyGaussian> GradTarget for Marginal<T> {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        self.scatter(q, &mut ws.q);
        let density = self.base.log_marginal_at(1.0, &ws.q, Some(&mut ws.grad), &mut ws.base);
        self.gather(&ws.grad, grad);
        density
    }

    fn has_own_force(&self) -> bool {
        self.has_force
    }

    fn force(&self, q: &[f64], force: &mut [f64], ws: &mut Self::Workspace) -> LogDensity {
        self.scatter(q, &mut ws.q);
        let density = self.base.force_at(1.0, &ws.q, &mut ws.grad, &mut ws.base);
        self.gather(&ws.grad, force);
        density
    }
}
