//! The posterior with the weights of its linear output layer integrated out.
//!
//! A row's outputs are f = W h(x; v) + V x + b, and the noise is normal. With Phi `[n x m]` the outputs
//! of the last hidden layer, the D inputs that V is of, if there is one ([`Skip`](crate::model::Skip): the
//! features, and indicators of groups), and a column
//! of ones (m = H + D + 1; the features alone and ones if there is no hidden layer), P = e^-eta the
//! precision of the noise, and column k of the response `[n x K]`, the weights of output k,
//! beta_k = (W_k1, .., W_kH, V_k1, .., V_kD, b_k), have the prior N(m0, S), S = diag(s_j^2), the same
//! for all k. To the power beta of the likelihood, with P_beta = beta P and D = S^1/2,
//!
//! ```text
//! B     = I + P_beta D Phi^T Phi D = L L^T                 A = D^-1 B D^-1, the precision given v
//! nu_k  = B^-1 P_beta D Phi^T (y_k - Phi m0)               mu_k = m0 + D nu_k, the mean given v
//! log p_beta(y | v) = beta ell(mu) - sum_k nu_k^T nu_k / 2 - K log |B| / 2
//! beta_k | v, y ~ N(mu_k, A^-1),   drawn as mu_k + D L^-T z,   z ~ N(0, I)
//! ```
//!
//! where ell(mu) is the log likelihood at the mean. This is the usual form with y^T y - mu^T A mu, whose
//! terms cancel where there is little noise, with its square completed at the mean: the terms that are left
//! have one sign. B is at least I, however small the noise and however alike two hidden units are. In
//! floating-point numbers that I is lost where the largest eigenvalue of B is 1 / (m eps) and more, eps =
//! 2^-52: noise of a standard deviation of some 1e-6 under weights of prior variance 1. Where m eps tr B
//! exceeds 0.01, or numbers overflow, the density is NaN: such a place is a divergence, not a wrong number.
//!
//! mu minimises the two squares, so that derivatives of mu drop out. With r_k = y_k - Phi mu_k,
//!
//! ```text
//! d / d Phi        = sum_k P_beta r_k mu_k^T - K P_beta Phi A^-1,   and back through the hidden layers
//! d / d eta        = beta d ell(mu) / d eta + K (m - tr B^-1) / 2
//! d / d log s_j^2  = (sum_k nu_kj^2 - K (1 - (B^-1)_jj)) / 2,       summed over the j that share it
//! ```
//!
//! **Noise that differs between rows.** With one response column and outputs mu and s, sd = e^s,
//! given v and the weights beta_s of s the weights of mu are still normal. They alone are
//! integrated out, and beta_s is a part of v: s = Phi beta_s. With P_i = beta e^-2s_i for row i, P
//! their diagonal matrix,
//!
//! ```text
//! B  = I + D Phi^T P Phi D = L L^T              A = D^-1 B D^-1
//! nu = B^-1 D Phi^T P (y - Phi m0)              mu = m0 + D nu
//! log p_beta(y | v) = beta ell(mu) - nu^T nu / 2 - log |B| / 2
//! ```
//!
//! where beta ell(mu) = -sum_i (beta (log 2 pi / 2 + s_i) + P_i r_i^2 / 2) with r = y - Phi mu. mu
//! again minimises the two squares, and d log |B| / d s_i = -2 P_i Phi_i^T A^-1 Phi_i, so that
//!
//! ```text
//! g_i               = d / d s_i = -beta + P_i r_i^2 + P_i Phi_i^T A^-1 Phi_i
//! d / d Phi_i       = P_i r_i mu^T + g_i beta_s^T - P_i (A^-1 Phi_i)^T,   and back through the hidden layers
//! d / d beta_s      = Phi^T g
//! d / d log s_j^2   = (nu_j^2 - 1 + (B^-1)_jj) / 2
//! beta_mu | v, y    ~ N(mu, A^-1)
//! ```
//!
//! beside the derivatives of the prior of v, which has beta_s. With several response columns each
//! would have a P, and so a B, of its own: they are refused. Where B is lost to rounding, as above
//! with this B, the density is NaN. Where s = G x + c is linear in the features
//! ([`LogSd`](crate::model::LogSd)), no unit is shared: the term g_i beta_s^T is not there, and
//! d / d G = g^T X, d / d c = sum_i g_i. Student-t noise is normal given a precision for each row:
//! `mixture.rs`.
//!
//! **Weights of rows.** With weights omega_i the power of row i is beta omega_i, in beta ell(mu), in g_i and in
//! P_i = beta omega_i e^-2s_i: rows of one variance are then a case of noise by row, with s_i = eta / 2 for all of
//! them, or known. No force is in f32 then, and several response columns are refused.
//!
//! Two passes over the rows: one for Phi^T Phi and Phi^T y, one for r and the gradient, which goes through
//! the tiles backwards: the activations of the last tiles, as many as stay in the cache, are still there.
//! For n rows that is 3 n m^2 floating-point operations more than the gradient of the joint density, and
//! where there are more rows a second pass forward through the hidden layers. With rows enough for several
//! shares (`walk.rs`) both passes have them. Memory does not grow with the data.
//!
//! **Forces in f32.** Trajectories of HMC and MAMS are exact with any force that is a function of v, as long as the
//! test at their ends has the density itself ([`GradTarget::force`](crate::targets::GradTarget::force)). Where the
//! noise is the same for all rows and there is a hidden layer, both passes are there in f32 as well (`force.rs`): the
//! hidden layers, Phi^T Phi, Phi mu and Phi A^-1. B, its factor, nu, mu and what the likelihood makes of the outputs
//! stay in f64, and so do sums over more than 4,096 rows and over shares. B is then known up to about eps tr B beside
//! its least eigenvalue 1, eps = 2^-23, at most: with 5,000 rows of a network's response, 100 units and noise of
//! standard deviation 1, 0.3 and 0.1 the force is off by 1e-6, 7e-6 and 2e-5 of itself (`cargo test --release -p bnn-mcmc-tests --test
//! formulas force_error_table -- --ignored --nocapture`). Where eps tr B exceeds 1, or any number of the result is not finite, the force is
//! the gradient in f64, at the cost of both. Shares, tiles and the order of sums depend on the problem alone, so that
//! the force has the same bits at every call. Forces are in f32 where n m^2 is at least 2^24, unless
//! [`Forces`](crate::targets::Forces) say otherwise.
//!
//! The marginal of a network's output layer: explicit marginal posterior, Rao-Blackwellised or collapsed
//! sampling; Liu, J. Am. Stat. Assoc. 89, 1994, doi:10.1080/01621459.1994.10476829. The marginal density of
//! Bayesian linear regression: Bishop, *Pattern Recognition and Machine Learning*, section 3.5.

mod by_row;
mod force;
mod integral;
mod mixture;
mod scratch;

pub(super) use scratch::Collapsed;

use std::ops::Range;

use by_row::{ByRow, LogSd};

use super::{Posterior, PosteriorWorkspace};
use crate::Error;
use crate::engine::Tile;
use crate::likelihood::{Likelihood, NormalNoise};
use crate::memory;
use crate::message::Advice;
use crate::model::{Mlp, Model, NonCentred, OutputLayer, columns};
use crate::portable::ln;
use crate::prior::{BlockPrior, Family};
use crate::rng::ChainRng;
use crate::targets::{ConditionallyGaussian, Forces, LogDensity, Marginal, Target};

/// The least n m^2 with which forces are computed in f32 unless it is asked for.
const WORK_IN_F32: usize = 1 << 24;

/// W `[K x H]`, b `[K]` and V_1 `[K x D_1]`, V_2, .. from coordinate `start` of q on, of which the first rows are
/// integrated out: all rows, or the rows of mu where the rest are of s.
///
/// Scratch memory has the layer with the columns of Phi together: `[K x C]` row-major, C = H + D_1 + D_2 + .., then
/// b `[K]`.
#[derive(Clone, Debug)]
struct Shape {
    start: usize,
    /// H; the number of `inputs` if there is no hidden layer.
    units: usize,
    /// The number of the first inputs, which the hidden layers have.
    inputs: usize,
    /// D_1, D_2, .., and the first input that a V has.
    beside: Vec<usize>,
    first_beside: usize,
    outputs: usize,
    integrated: usize,
    bias: bool,
    /// Whether the noise or the weight differs between rows, or the noise is a mixture.
    by_row: bool,
}

impl Shape {
    /// C, the columns of Phi without the ones.
    fn columns(&self) -> usize {
        self.units + self.beside.iter().sum::<usize>()
    }

    /// The columns of Phi, with the ones.
    fn m(&self) -> usize {
        self.columns() + usize::from(self.bias)
    }

    /// All coordinates of the layer.
    fn range(&self) -> Range<usize> {
        self.start..self.start + self.outputs * self.m()
    }

    /// The place of the weight of column `j` for output `k` in scratch memory.
    fn at(&self, k: usize, j: usize) -> usize {
        let c = self.columns();
        if j < c { k * c + j } else { self.outputs * c + k }
    }

    /// The place that [`at`](Self::at) gives, but among the outputs that are integrated out only.
    fn in_sums(&self, k: usize, j: usize) -> usize {
        let c = self.columns();
        if j < c { k * c + j } else { self.integrated * c + k }
    }

    /// The coordinate of q of the weight of column `j` for output `k`.
    fn coordinate(&self, k: usize, j: usize) -> usize {
        if j < self.units {
            return self.start + k * self.units + j;
        }
        let mut place = self.start + self.outputs * (self.units + usize::from(self.bias));
        let mut j = j - self.units;
        for width in &self.beside {
            if j < *width {
                return place + k * width + j; //~ collapsed-skip-place
            }
            place += self.outputs * width; //~ collapsed-groupings
            j -= width;
        }
        self.start + self.outputs * self.units + k
    }

    /// The inputs of the hidden layers on the tile x.
    fn of_hidden<'x>(&self, x: Tile<'x>) -> Tile<'x> {
        columns(x, 0..self.inputs)
    }

    /// The inputs of V_1, V_2, .. on the tile x.
    fn beside<'x>(&self, x: Tile<'x>) -> &'x [f64] {
        let (first, n) = (self.first_beside, self.columns() - self.units);
        &x.values()[first * x.stride()..][..n * x.stride()] //~ collapsed-beside
    }

    /// The coordinates of q of the weights W, b and V of some outputs, without those that there are none
    /// of.
    fn parts(&self, outputs: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let widths =
            [self.units, usize::from(self.bias)].into_iter().chain(self.beside.iter().copied());
        let all = self.outputs;
        let parts = widths.scan(self.start, move |start, width| {
            let part = *start + outputs.start * width..*start + outputs.end * width;
            *start += all * width;
            Some(part)
        });
        parts.filter(|part| !part.is_empty())
    }

    /// The coordinates of q that are integrated out.
    fn integrated_parts(&self) -> impl Iterator<Item = Range<usize>> {
        self.parts(0..self.integrated)
    }

    /// The coordinates of q of beta_s.
    fn parts_of_log_sd(&self) -> impl Iterator<Item = Range<usize>> {
        self.parts(self.integrated..self.outputs)
    }

    /// Copies the layer in q to scratch memory.
    fn take(&self, q: &[f64], layer: &mut [f64]) {
        for k in 0..self.outputs {
            for j in 0..self.m() {
                layer[self.at(k, j)] = q[self.coordinate(k, j)];
            }
        }
    }

    /// beta_s of the layer in scratch memory: the weights of the columns of Phi, and of the ones.
    fn of_log_sd<'w>(&self, layer: &'w [f64]) -> (&'w [f64], &'w [f64]) {
        let (weights, bias) = layer.split_at(self.outputs * self.columns());
        (&weights[self.integrated * self.columns()..], &bias[self.integrated.min(bias.len())..])
    }
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// The posterior of all coordinates but the weights of the output layer, which are integrated out
    /// exactly: a target of fewer dimensions, without the ridge that these weights make.
    ///
    /// The model's outputs must be linear in them ([`Linear`](crate::model::Linear), or an [`Mlp`]
    /// in f64 without an activation of its outputs, with [`Skip`](crate::model::Skip) or without), the likelihood
    /// [`Gaussian`](crate::likelihood::Gaussian), or
    /// [`HeteroscedasticGaussian`](crate::likelihood::HeteroscedasticGaussian) of one response
    /// column, also with [`LogSd`](crate::model::LogSd), and their prior normal: any mean and standard deviation, or a hierarchical scale,
    /// which stays a coordinate. Where the noise is an output of the model, the output weights of
    /// the mean are integrated out, and the output weights of the log standard deviation stay
    /// coordinates. To sample, use the algorithm [`Collapsed`](crate::sampler::Collapsed) on the
    /// posterior itself, whose draws have all coordinates. A gradient costs about 3 n m^2
    /// floating-point operations, for n rows and m weights of one output, and a pass forward more
    /// than the posterior's.
    ///
    /// # Errors
    /// If one of the three is something else, no coordinate is left, or m x m matrices exceed the
    /// memory.
    pub fn collapsed(&self) -> Result<Marginal<&Self>, Error> {
        if let Some(NormalNoise::Mixture(noise)) = self.likelihood.normal_noise() {
            let allowed = "Gaussian or HeteroscedasticGaussian: of Student-t noise the integral is known \
                           only given a precision for each row";
            let error =
                Error::argument("likelihood", noise.description().unwrap_or_default(), allowed);
            return Err(error.advise([Advice::in_rust(
                "sample by the algorithm `Collapsed`, which draws these precisions",
            )]));
        }
        let marginal = Marginal::new(self)?;
        let size = [(self.matrix_numbers(), "numbers of m x m matrices")];
        memory::check::<f64>("matrices of the output layer", &size, "take fewer hidden units")?;
        Ok(marginal)
    }

    /// The number of outputs that are integrated out: all, or the first half if the others are
    /// logarithms of scales.
    fn n_integrated(&self) -> Result<usize, Error> {
        let outputs = self.model.n_outputs();
        let columns = match self.likelihood.normal_noise() {
            Some(NormalNoise::Mixture(noise)) if !noise.is_heteroscedastic() => outputs,
            _ => outputs / 2,
        };
        match self.likelihood.normal_noise() {
            Some(NormalNoise::Equal(_)) if !self.is_weighted() => Ok(outputs),
            Some(NormalNoise::Equal(_)) if outputs == 1 => Ok(1),
            Some(NormalNoise::Equal(_)) => {
                let allowed =
                    "one for the output layer to be integrated out where rows have weights";
                let error = Error::argument("response columns", outputs, allowed);
                Err(error.advise([Advice::UseNuts]))
            }
            Some(_) if columns == 1 => Ok(1),
            Some(_) => {
                let allowed = "one for the output layer to be integrated out where the noise differs \
                               between rows: each column's has a covariance matrix of its own";
                let error = Error::argument("response columns", columns, allowed);
                Err(error.advise([Advice::UseNuts]))
            }
            None => {
                let found =
                    self.likelihood.description().unwrap_or_else(|| "one of your own".into());
                let allowed = "Gaussian, HeteroscedasticGaussian or StudentTNoise for the output layer \
                               to be integrated out";
                Err(Error::argument("likelihood", found, allowed).advise([Advice::UseNuts]))
            }
        }
    }

    /// The shape of the output layer, with its place in q, and the network of the layers before it.
    fn output_layer(&self) -> Result<(Shape, Option<NonCentred<Mlp>>), Error> {
        let integrated = self.n_integrated()?;
        let OutputLayer { hidden, bias, beside, log_sd } = self.model.output_layer()?;
        let is_equal = matches!(self.likelihood.normal_noise(), Some(NormalNoise::Equal(_)));
        let by_row = self.is_weighted() || !is_equal; //~ weighted-by-row
        if log_sd && integrated == self.model.n_outputs() {
            let found = self.likelihood.description().unwrap_or_default();
            let allowed = "heteroscedastic for a model with log standard deviations";
            return Err(Error::argument("likelihood", found, allowed));
        }
        let outputs = if log_sd { integrated } else { self.model.n_outputs() };
        let all = self.model.n_inputs();
        let first_beside = beside.first().map_or(all, |inputs| inputs.start);
        let (start, units, inputs) = match &hidden {
            Some(network) => (network.layout().dim(), network.n_outputs(), network.n_inputs()),
            None => (0, first_beside, first_beside),
        };
        let mut ends = beside.iter().map(|inputs| inputs.end);
        let starts = beside.iter().skip(1).map(|inputs| inputs.start).chain([all]);
        let follow = beside.is_empty() || starts.eq(ends.by_ref());
        let known = match first_beside {
            0 => beside.first().is_some_and(|skip| skip.end == inputs), // a V of the features
            first => first == inputs,
        };
        if !(follow && known) {
            let what = "inputs of the layers before the output layer";
            return Err(Error::shape(what, inputs, all));
        }
        let beside = beside.iter().map(ExactSizeIterator::len).collect();
        let shape =
            Shape { start, units, inputs, beside, first_beside, outputs, integrated, bias, by_row };
        let after = if log_sd { outputs * (self.model.n_inputs() + 1) } else { 0 };
        if shape.range().end + after != self.n_weights {
            let what = "weights of the model with its output layer";
            let end = shape.range().end + after;
            return Err(Error::shape(what, self.n_weights, end));
        }
        Ok((shape, hidden))
    }

    /// The block in which column `j` of the output layer lies, with its coordinate for output 0.
    fn block_of_column(&self, shape: &Shape, j: usize) -> (&BlockPrior, usize) {
        let coordinate = shape.coordinate(0, j);
        let holds = |block: &&BlockPrior| block.range.contains(&coordinate);
        (self.priors.iter().find(holds).expect("every coordinate has a prior"), coordinate)
    }

    /// The scratch memory, taken out of the workspace; to be put back.
    fn collapsed_scratch(&self, ws: &mut PosteriorWorkspace<M::Workspace>) -> Option<Collapsed> {
        if ws.collapsed.is_some() {
            return ws.collapsed.take();
        }
        self.gaussian_coordinates().ok()?;
        let (shape, network) = self.output_layer().ok()?;
        let of = |part: Range<usize>| {
            let holds = |block: &&BlockPrior| block.range.contains(&part.start);
            Some(self.priors.iter().find(holds)?.part(part))
        };
        let rest: Option<Vec<BlockPrior>> = shape.parts_of_log_sd().map(of).collect();
        let by_row = self.log_sd(&shape).map(|log_sd| ByRow::new(&shape, log_sd));
        Some(Collapsed::new(shape, network, by_row, rest?, self.x.n_tiles()))
    }

    /// The scales of the rows, if they differ or the noise is a mixture.
    fn log_sd(&self, shape: &Shape) -> Option<LogSd> {
        let noise = match self.likelihood.normal_noise()? {
            NormalNoise::Equal(_) if !shape.by_row => return None,
            NormalNoise::Equal(gaussian) => {
                return Some(match gaussian.layout().dim() {
                    0 => LogSd::Known(0.5 * gaussian.log_variance(&[])),
                    _ => LogSd::Coordinate(self.n_weights),
                });
            }
            NormalNoise::ByRow => None,
            NormalNoise::Mixture(noise) => Some(noise).filter(|noise| !noise.is_heteroscedastic()),
        };
        Some(match noise {
            Some(noise) => match noise.places()[0] {
                Some(place) => LogSd::Coordinate(self.n_weights + place),
                None => LogSd::Known(0.5 * ln(noise.squared_scale_and_nu(&[0.0; 2]).0)),
            },
            None if shape.integrated < shape.outputs => LogSd::OfLayer,
            None => LogSd::OfFeatures(shape.range().end),
        })
    }

    /// The log of the marginal density, and its gradient, or a force.
    fn marginal_at(
        &self,
        beta: f64,
        q: &[f64],
        mut grad: Option<&mut [f64]>,
        is_force: bool,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> LogDensity {
        let nan = LogDensity::new(f64::NAN, f64::NAN);
        let Some(mut scratch) = self.collapsed_scratch(ws) else { return nan };
        scratch.is_force = is_force;
        let layer = scratch.shape.range();
        let before_and_after = self.priors.iter().filter(|b| !layer.contains(&b.range.start));
        let rest = before_and_after.chain(&scratch.rest); //~ by-row-prior
        let prior: f64 = match grad.as_deref_mut() {
            Some(grad) => {
                grad.fill(0.0);
                rest.map(|block| block.add_grad(q, grad)).sum()
            }
            None => rest.map(|block| block.log_density(q)).sum(),
        };
        let mut density = LogDensity::OUTSIDE;
        if prior != f64::NEG_INFINITY {
            let integral = match beta {
                0.0 => Some(0.0),
                _ => self.log_integral(beta, q, grad.as_deref_mut(), &mut scratch, ws),
            };
            density = LogDensity::new(integral.unwrap_or(f64::NAN), prior);
            if let (None, Some(grad)) = (integral, grad) {
                grad.fill(f64::NAN);
            }
        }
        ws.collapsed = Some(scratch);
        density
    }
}

impl<M: Model, L: Likelihood> ConditionallyGaussian for Posterior<M, L> {
    fn gaussian_coordinates(&self) -> Result<Vec<Range<usize>>, Error> {
        let (shape, _) = self.output_layer()?;
        let zeros = vec![0.0; self.dim()];
        // The first columns of W, V and b.
        let widths = [shape.units].into_iter().chain(shape.beside.iter().copied()).chain([1]);
        let firsts = widths.scan(0, |next, width| {
            *next += width;
            Some((*next - width, width))
        });
        for (j, width) in firsts {
            if width == 0 || j == shape.m() {
                continue;
            }
            let (block, coordinate) = self.block_of_column(&shape, j);
            let is_whole = block.range.len() == shape.outputs * width;
            if !is_whole {
                let given = format!("block `{}` of {}", block.name, block.range.len());
                let allowed = "its weights and its biases each in a block of their own";
                return Err(Error::argument("output layer", given, allowed));
            }
            if !matches!(block.family(&zeros, coordinate), Family::Normal { .. }) {
                return Err(Error::prior(
                    format!(
                        "the prior of block `{}` is not normal, as it must be for the output layer \
                         to be integrated out",
                        block.name
                    ),
                    self.layout.block_names(),
                ));
            }
        }
        Ok(shape.integrated_parts().collect())
    }

    fn held_coordinates(&self) -> Vec<Range<usize>> {
        self.degrees_of_freedom().into_iter().map(|nu| nu..nu + 1).collect()
    }

    fn is_refreshed(&self) -> bool {
        matches!(self.likelihood.normal_noise(), Some(NormalNoise::Mixture(_)))
    }

    fn refresh_at(
        &self,
        beta: f64,
        rng: Option<&mut ChainRng>,
        q: &mut [f64],
        ws: &mut Self::Workspace,
    ) {
        let Some(NormalNoise::Mixture(noise)) = self.likelihood.normal_noise() else { return };
        let Some(mut scratch) = self.collapsed_scratch(ws) else { return };
        self.refresh_mixture(&noise, beta, rng, q, &mut scratch, ws);
        ws.collapsed = Some(scratch);
    }

    fn matrix_numbers(&self) -> usize {
        /// The number of matrices in the scratch memory, or more.
        const MATRICES: usize = 15;
        let m = self.output_layer().map_or(0, |(shape, _)| shape.m());
        m.saturating_mul(m).saturating_mul(MATRICES)
    }

    fn log_marginal_at(
        &self,
        beta: f64,
        q: &[f64],
        grad: Option<&mut [f64]>,
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        self.marginal_at(beta, q, grad, false, ws)
    }

    fn has_force(&self, forces: Forces) -> bool {
        let has_room = |shape: Shape| match forces {
            Forces::F32 => true,
            Forces::F64 => false,
            Forces::Auto => self.x.rows().saturating_mul(shape.m() * shape.m()) >= WORK_IN_F32,
        };
        match (self.likelihood.normal_noise(), self.output_layer()) {
            (Some(NormalNoise::Equal(_)), Ok((shape, Some(_)))) if !shape.by_row => has_room(shape),
            _ => false,
        }
    }

    fn force_at(
        &self,
        beta: f64,
        q: &[f64],
        force: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let density = self.marginal_at(beta, q, Some(&mut *force), true, ws);
        let is_finite = density.is_finite() && force.iter().all(|f| f.is_finite());
        if is_finite || density.is_outside_support() {
            return density;
        }
        self.marginal_at(beta, q, Some(force), false, ws) //~ force-not-finite
    }

    fn draw_conditional_at(
        &self,
        beta: f64,
        rng: &mut ChainRng,
        q: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> bool {
        let Some(mut scratch) = self.collapsed_scratch(ws) else { return false };
        scratch.is_force = false;
        let is_known = self.condition(beta, q, &mut scratch, ws).is_some();
        if is_known {
            let Collapsed { shape, mean, sd, nu, rhs, factor, .. } = &mut scratch;
            let m = shape.m();
            for k in 0..shape.integrated {
                rng.fill_normal(rhs);
                let noise = &mut nu[..m];
                factor.colour(rhs, noise); //~ collapsed-colour
                for j in 0..m {
                    q[shape.coordinate(k, j)] = mean[shape.at(k, j)] + sd[j] * noise[j]; //~ collapsed-draw
                }
            }
        }
        ws.collapsed = Some(scratch);
        is_known
    }
}
