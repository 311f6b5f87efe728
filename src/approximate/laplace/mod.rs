//! The Laplace approximation: a normal distribution at a mode, with the curvature there.

mod evidence;
mod kronecker;
mod mode;
mod precision;

pub use evidence::{PriorSearch, prior_by_evidence};

use ndarray::Array2;

use self::kronecker::Kronecker;
use self::mode::{Mode, check_curvature, check_dimension, check_matrix, matrix, of};
use self::precision::{Precision, PrecisionBlock};
use super::Origin;
use crate::draws::Draws;
use crate::likelihood::SecondOrderLikelihood;
use crate::message::Advice;
use crate::model::{Mlp, SecondOrderModel};
use crate::portable::ln;
use crate::posterior::Posterior;
use crate::targets::{Curvature, FisherTarget, HessTarget};
use crate::{Error, memory};

/// A normal distribution around a mode q0 of a log density, with the inverse of the curvature there
/// as its covariance:
///
/// ```text
/// q ~ N(q0, H^-1)
/// log p(y) ~ log p(y, q0) + d/2 log(2 pi) - 1/2 log det H
/// ```
///
/// H is minus the Hessian of the log density at q0 ([`Curvature::Observed`]), or J^T C J + P
/// ([`Curvature::Expected`]): the generalised Gauss-Newton matrix, which is the Fisher information
/// of the likelihood, and the precision of the prior ([`prior`](crate::prior) has its substitute
/// where the prior is not normal). The second is nowhere negative, and belongs to the model
/// [linearised](crate::model::Linearised) at q0. Where the log density is quadratic, as in linear
/// regression with known noise, all of this is exact. Otherwise the approximation describes one
/// mode alone, and depends on the parametrisation: a variance is approximated on its log scale. The
/// evidence counts one mode only, too: a network with H tanh units in a layer has 2^H H! equal
/// ones.
///
/// The constructor chooses which entries of H are kept. With K outputs and d coordinates, n of them
/// in the last layer, and D inputs and H units in a layer:
///
/// | | H | time, beside the gradients | numbers kept | a draw |
/// | --- | --- | --- | --- | --- |
/// | [`full`](Self::full) | all entries | about d gradients, d^3 / 3 | d^2 | d^2 |
/// | [`diagonal`](Self::diagonal) | the diagonal, which is not the diagonal of the covariance | about d gradients | d, and d^2 for a while | d |
/// | [`last_layer`](Self::last_layer) | the part of the last layer, the others fixed at q0 | one pass over the rows, n^3 / 3 | n^2 | n^2 |
/// | [`kronecker`](Self::kronecker) | G (x) A + P for each layer | 2 K backward passes, H^3 + D^3 | H^2 + D^2 | H D (H + D) |
///
/// Measured on the bundled digits (1,078 training rows, standardised; MLP 64-30-10 tanh, N(0,
/// 0.5^2) priors, 2,260 weights; one mode, 200 draws, means of two runs on two cores): seconds to
/// make it, and milliseconds for a draw, where a gradient takes 0.2; and the log predictive density
/// of the test rows by the network and by the [linearised](crate::model::Linearised) one, where the
/// mode alone has -0.12.
///
/// | | time | a draw | log evidence | network | linearised |
/// | --- | --- | --- | --- | --- | --- |
/// | full, Gauss-Newton | 0.7 | 2.8 | -444 | -1.18 | -0.35 |
/// | full, Hessian | 0.7 | 2.7 | -747 | -0.54 | -0.34 |
/// | diagonal, Gauss-Newton | 0.5 | 0.03 | -835 | -0.98 | -0.47 |
/// | Kronecker-factored | 0.006 | 0.06 | -616 | -1.03 | -0.33 |
/// | last layer, Gauss-Newton | 0.07 | 0.02 | | -0.15 | -0.15 |
///
/// On these data linearised predictions are the better ones by far, and the mode alone predicts
/// these classes better than all. A prior chosen [by evidence](prior_by_evidence) does not change
/// that: its standard deviation is 0.45 by the Kronecker factors and 0.77 by the full Gauss-Newton
/// matrix.
///
/// The point must be a mode. [`newton_decrement`](Self::newton_decrement) tells how far it is from
/// one: below 1e-3 it is within 0.03 standard deviations of where the quadratic has its maximum.
/// Where the decrement is above 1 the draws say that they were made at no mode. A point where H is
/// not positive definite is refused, which the Hessian alone shows: [`Curvature::Expected`] is
/// positive at a saddle, too. More steps of an ascent do not help where the data leave directions
/// undetermined, or where the density has no second derivative (ReLU units, a Laplace prior at 0).
/// Bounds of priors are not heeded.
///
/// Sources: MacKay, Neural Computation 4, 1992, doi:10.1162/neco.1992.4.3.448; Daxberger et al.,
/// NeurIPS 2021, arXiv:2106.14806; for the Kronecker factors Martens and Grosse, ICML 2015,
/// arXiv:1503.05671.
///
/// ```
/// use bnn_mcmc::approximate::LaplaceApproximation;
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::targets::Curvature;
/// let x = ndarray::Array2::from_shape_fn((30, 1), |(i, _)| i as f64 / 15.0 - 1.0);
/// let y = x.column(0).mapv(|x| (3.0 * x).sin());
/// let data = Dataset::regression(x, y)?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let network = Mlp::new(&[1, 6, 1], Activation::Tanh)?;
/// let posterior = Posterior::new(network, Gaussian::fixed(0.1)?, &data, priors)?;
/// let mut q: Vec<f64> = (0..19).map(|i| (i as f64).sin()).collect();
/// Adam { learning_rate: 0.05, steps: 20_000, ..Adam::default() }.maximise(&posterior, &mut q)?;
///
/// let laplace = LaplaceApproximation::full(&posterior, &q, Curvature::Expected)?;
/// assert!(laplace.newton_decrement() < 1e-3);
/// let draws = laplace.draws(500, 1)?;
/// // By the network itself, and by the linear model that this normal distribution belongs to.
/// let sampled = posterior.predict(&draws, &data)?;
/// let linearised = posterior.linearised(&q)?.predict(&draws, &data)?;
/// println!("{}\n{}\n{}", sampled.scores()?, linearised.scores()?, laplace.log_evidence()?);
/// # let rmse = |p: &Predictions| p.scores().ok()?.get("rmse").map(|score| score.posterior);
/// # assert!(rmse(&linearised).is_some_and(|error| error < 0.1));
/// # assert!(rmse(&sampled) > rmse(&linearised));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LaplaceApproximation {
    origin: Origin,
    mean: Vec<f64>,
    parts: Vec<PrecisionBlock>,
    log_density: f64,
    newton_point: Vec<f64>,
    newton_decrement: f64,
}

impl LaplaceApproximation {
    /// With the whole matrix H, at `q`.
    ///
    /// # Errors
    /// `q` of the wrong length, or of a log density or gradient that is not finite; a target of
    /// more than 8,192 dimensions, or whose curvature is not known; H that is not positive
    /// definite.
    pub fn full<T: HessTarget + FisherTarget>(
        target: &T,
        q: &[f64],
        curvature: Curvature,
    ) -> Result<Self, Error> {
        let mode = Mode::new(target, q)?;
        let h = matrix(target, q, curvature)?;
        let part =
            PrecisionBlock::new((0..q.len()).collect(), Precision::dense(&h, q.len(), curvature)?);
        mode.laplace(target, format!("the full Laplace approximation by {}", of(curvature)), [part])
    }

    /// With the diagonal of H alone, at `q`: the coordinates are independent, and their variances
    /// are conditional on all others, hence smaller than the variances of [`full`](Self::full).
    ///
    /// # Errors
    /// The errors of [`full`](Self::full); an entry of the diagonal that is not positive is named
    /// by its parameter.
    pub fn diagonal<T: HessTarget + FisherTarget>(
        target: &T,
        q: &[f64],
        curvature: Curvature,
    ) -> Result<Self, Error> {
        let mode = Mode::new(target, q)?;
        let h = matrix(target, q, curvature)?;
        let diagonal: Vec<f64> = h.iter().step_by(q.len() + 1).copied().collect();
        if let Some(i) = diagonal.iter().position(|h| !(h.is_finite() && *h > 0.0)) {
            let what = format!("curvature of `{}`", target.layout().parameter_names()[i]);
            return Err(precision::not_positive(what, diagonal[i], curvature));
        }
        let part = PrecisionBlock::new((0..q.len()).collect(), Precision::Diagonal(diagonal));
        let method = format!("the diagonal Laplace approximation by {}", of(curvature));
        mode.laplace(target, method, [part])
    }

    /// The approximation for the weights of the last layer given all other coordinates, which stay
    /// at `q`.
    ///
    /// The blocks are those that the model's outputs lie along
    /// ([`Model::output_axes`](crate::model::Model::output_axes)). With Gaussian noise of a known
    /// variance and normal priors the conditional distribution of these weights is normal, and this
    /// is it. For a network whose outputs have no activation, and for a linear model, the curvature takes
    /// one pass over the rows; for other models, such as one with [`Skip`](crate::model::Skip), about a
    /// gradient for each of the n weights.
    ///
    /// # Errors
    /// The errors of [`full`](Self::full), where the dimension counts the weights of the last layer
    /// only; a model that does not say which its last layer is.
    pub fn last_layer<M: SecondOrderModel, L: SecondOrderLikelihood>(
        posterior: &Posterior<M, L>,
        q: &[f64],
        curvature: Curvature,
    ) -> Result<Self, Error> {
        let mode = Mode::new(posterior, q)?;
        let axes = posterior.model().output_axes();
        let mut coordinates: Vec<usize> = axes
            .iter()
            .filter_map(|(block, _)| posterior.layout().range(block))
            .flatten()
            .collect();
        coordinates.sort_unstable();
        coordinates.dedup();
        if coordinates.is_empty() {
            let allowed = "the blocks of the last layer";
            let error = Error::argument("output axes of the model", "none", allowed);
            return Err(error.advise([Advice::in_rust("name them by `Model::output_axes`")]));
        }
        check_dimension("weights of the last layer", coordinates.len())?;
        check_curvature(posterior, curvature)?;
        let h = posterior.curvature_of(curvature, &coordinates, q);
        let precision = Precision::dense(&h, coordinates.len(), curvature)?;
        let method = format!("the Laplace approximation of the last layer by {}", of(curvature));
        mode.laplace(posterior, method, [PrecisionBlock::new(coordinates, precision)])
    }

    /// The approximation for a network, at `q`, in which layers are independent and the Fisher
    /// information of each layer is the Kronecker product of two small matrices.
    ///
    /// For a layer z = W h + b with a = (h, 1), N rows, and S = df/dz, its information is the sum
    /// of (S^T C S) (x) (a a^T), in which the mean of the product is replaced by the product of the
    /// means:
    ///
    /// ```text
    /// F ~ G (x) A,    A = 1/N sum_i a_i a_i^T,    G = sum_i S_i^T C_i S_i
    /// ```
    ///
    /// This is exact for one row, and where all rows have the same a or the same S^T C S: in a
    /// single linear layer with Gaussian noise, for example. The precision of the prior is added
    /// exactly, without damping. It may differ between the inputs of a layer (weights and bias,
    /// [`Priors::ard`](crate::prior::Priors::ard)): with P = I (x) D, D^(-1/2) A D^(-1/2) = U
    /// diag(l) U^T and G = V diag(g) V^T,
    ///
    /// ```text
    /// H = G (x) A + I (x) D = K^T diag(1 + g_u l_i) K,    K = V^T (x) (U^T D^(1/2))
    /// ```
    ///
    /// The parameters of the likelihood and of hierarchical priors are one more independent part,
    /// with their own expected information: between these and the weights it is zero for every
    /// likelihood and prior of the crate.
    ///
    /// # Errors
    /// `q` of the wrong length, or of a log density or gradient that is not finite; priors of
    /// weights that are not normal, or differ between the units of a layer; matrices too large for
    /// memory.
    pub fn kronecker<L: SecondOrderLikelihood>(
        posterior: &Posterior<Mlp, L>,
        q: &[f64],
    ) -> Result<Self, Error> {
        let mode = Mode::new(posterior, q)?;
        let precisions = posterior.prior_precisions(q)?;
        check_curvature(posterior, Curvature::Expected)?;
        // The factors, their eigenvectors and a copy of both, and the eigenvalues of their product.
        let of_layer = |size: &[usize]| {
            let [a, g] = [size[0].saturating_add(1), size[1]];
            let squares = a.saturating_mul(a).saturating_add(g.saturating_mul(g));
            squares.saturating_mul(3).saturating_add(a.saturating_mul(g).saturating_mul(2))
        };
        let layers = posterior.model().sizes().windows(2).map(of_layer);
        let numbers = [(layers.fold(0, usize::saturating_add), "numbers")];
        let instead =
            Advice::in_rust("take the last layer alone (`LaplaceApproximation::last_layer`)");
        memory::check::<f64>("matrices of a Laplace approximation", &numbers, instead)?;
        let mut parts = Vec::new();
        let mut start = 0;
        for factors in posterior.kronecker_factors(q) {
            let coordinates = kronecker::coordinates(start, factors.units, factors.inputs);
            let columns =
                kronecker::columns(posterior.layout(), &precisions, &coordinates, &factors)?;
            start += coordinates.len();
            let precision = Precision::Kronecker(Box::new(Kronecker::new(&factors, &columns)?));
            parts.push(PrecisionBlock::new(coordinates, precision));
        }
        let rest: Vec<usize> = (posterior.n_weights()..q.len()).collect();
        if !rest.is_empty() {
            let h = posterior.curvature_of(Curvature::Expected, &rest, q);
            let precision = Precision::dense(&h, rest.len(), Curvature::Expected)?;
            parts.push(PrecisionBlock::new(rest, precision));
        }
        mode.laplace(posterior, "the Kronecker-factored Laplace approximation".into(), parts)
    }

    /// q0, the mean.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The standard deviation of every coordinate; 0 for those that are held fixed.
    pub fn sds(&self) -> Vec<f64> {
        let mut sds = vec![0.0; self.mean.len()];
        for PrecisionBlock { coordinates, precision } in &self.parts {
            for (k, variance) in coordinates.iter().zip(precision.variances()) {
                sds[*k] = variance.sqrt();
            }
        }
        sds
    }

    /// H^-1 `[d x d]`, with rows and columns of zeros for coordinates that are held fixed.
    ///
    /// # Errors
    /// A matrix too large for memory.
    pub fn covariance(&self) -> Result<Array2<f64>, Error> {
        let d = self.mean.len();
        check_matrix(d, "take `LaplaceApproximation::sds`")?;
        let mut covariance = Array2::zeros((d, d));
        for PrecisionBlock { coordinates, precision } in &self.parts {
            let mut column = vec![0.0; coordinates.len()];
            for (k, j) in coordinates.iter().enumerate() {
                column.fill(0.0);
                column[k] = 1.0;
                precision.solve(&mut column);
                coordinates.iter().zip(&column).for_each(|(i, c)| covariance[(*i, *j)] = *c);
            }
        }
        Ok(covariance)
    }

    /// The approximate log evidence: log p(y) if the priors are proper, which is not checked, and
    /// q0 is a mode.
    ///
    /// # Errors
    /// For the last layer: its integral is over some of the weights only, so it is not the
    /// evidence.
    pub fn log_evidence(&self) -> Result<f64, Error> {
        let integrated: usize = self.parts.iter().map(|part| part.coordinates.len()).sum();
        let d = self.mean.len();
        if integrated < d {
            let allowed = "a full, diagonal or Kronecker-factored one: the others have no evidence";
            return Err(Error::argument("Laplace approximation", "of the last layer", allowed));
        }
        let log_det: f64 = self.parts.iter().map(|part| part.precision.log_det()).sum();
        //~ laplace-evidence
        Ok(self.log_density + 0.5 * (d as f64 * ln(std::f64::consts::TAU) - log_det))
    }

    /// g^T H^-1 g with g the gradient of the log density at q0: 0 at a mode. Half of it is by how
    /// much a Newton step would raise the quadratic, and its square root is the length of that step
    /// in standard deviations.
    pub fn newton_decrement(&self) -> f64 {
        self.newton_decrement
    }

    /// q0 + H^-1 g: the mode itself if the log density is quadratic. With [`Curvature::Observed`]
    /// and close to a mode it is a better one; with [`Curvature::Expected`], or further away, such
    /// a step, which is not damped, can lead anywhere.
    pub fn newton_point(&self) -> &[f64] {
        &self.newton_point
    }

    /// `n` independent draws, as one chain.
    ///
    /// # Errors
    /// No draws, or more than fit into memory.
    pub fn draws(&self, n: usize, seed: u64) -> Result<Draws, Error> {
        let mut z = Vec::new();
        self.origin.draws(n, seed, |rng, q| {
            q.copy_from_slice(&self.mean);
            for PrecisionBlock { coordinates, precision } in &self.parts {
                z.resize(coordinates.len(), 0.0);
                rng.fill_normal(&mut z);
                precision.spread(&mut z);
                coordinates.iter().zip(&z).for_each(|(k, z)| q[*k] += z);
            }
        })
    }
}
