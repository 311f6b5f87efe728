//! The posterior with the weights of its linear output layer integrated out.
//!
//! A row's outputs are f = W h(x; v) + b, and the noise is normal. With Phi `[n x m]` the outputs of
//! the last hidden layer and a column of ones (m = H + 1; the features themselves if there is no hidden
//! layer), P = e^-eta the precision of the noise, and column k of the response `[n x K]`, the weights of
//! output k, beta_k = (W_k1, .., W_kH, b_k), have the prior N(m0, S), S = diag(s_j^2), which is the same
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
//! have one sign. B is at least I, however small the noise and however alike two hidden units are; where
//! numbers overflow and it has no factor, the density is NaN.
//!
//! mu minimises the two squares, so that derivatives of mu drop out. With r_k = y_k - Phi mu_k,
//!
//! ```text
//! d / d Phi        = sum_k P_beta r_k mu_k^T - K P_beta Phi A^-1,   and back through the hidden layers
//! d / d eta        = beta d ell(mu) / d eta + K (m - tr B^-1) / 2
//! d / d log s_j^2  = (sum_k nu_kj^2 - K (1 - (B^-1)_jj)) / 2,       summed over the j that share it
//! ```
//!
//! Two passes over the rows: one for Phi^T Phi and Phi^T y, one for r and the gradient, which goes through
//! the tiles backwards, so that the activations of the last tile need not be computed twice. For n rows
//! that is 3 n m^2 floating-point operations and a second pass through the hidden layers more than the
//! gradient of the joint density. With rows enough for several [shares](super::walk) both passes have
//! them. Memory does not grow with the data.
//!
//! The marginal of a network's output layer: explicit marginal posterior, Rao-Blackwellised or collapsed
//! sampling; Liu, J. Am. Stat. Assoc. 89, 1994, doi:10.1080/01621459.1994.10476829. The marginal density of
//! Bayesian linear regression: Bishop, *Pattern Recognition and Machine Learning*, section 3.5.

use std::ops::Range;

use super::{Posterior, PosteriorWorkspace};
use crate::Error;
use crate::engine::gram::Gram;
use crate::engine::network::product;
use crate::engine::{Tile, TileMut, TileStorage};
use crate::likelihood::Likelihood;
use crate::linalg::local_metric::{Factorisation, Factoriser, LocalMetric};
use crate::memory;
use crate::model::{Mlp, Model, OutputLayer};
use crate::portable::exp;
use crate::prior::{BlockPrior, Family};
use crate::rng::ChainRng;
use crate::targets::{ConditionallyGaussian, LogDensity, Marginal, Target};

/// Scratch memory, and what does not change from one evaluation to the next.
#[derive(Debug)]
pub(super) struct Collapsed {
    shape: Shape,
    hidden: Option<Hidden>,
    sums: Gram,
    /// Phi^T Phi, then P_beta times A^-1.
    gram: Vec<f64>,
    inverse: Vec<f64>,
    /// Y^T Phi, and the mean mu, in the order of the layer's weights in q: W, then b.
    cross: Vec<f64>,
    mean: Vec<f64>,
    /// m0 and D, nu of each output, and a right-hand side.
    prior_mean: Vec<f64>,
    sd: Vec<f64>,
    nu: Vec<f64>,
    rhs: Vec<f64>,
    factoriser: Factoriser,
    factor: LocalMetric,
}

/// The layers before the output layer, and a tile of theirs.
#[derive(Debug)]
struct Hidden {
    mlp: Mlp,
    ws: <Mlp as Model>::Workspace,
    /// The derivative with respect to the outputs, then Phi without its ones.
    stacked: TileStorage,
    /// The derivative with respect to Phi.
    d_phi: TileStorage,
    /// The matrix `[H x (K + H)]` that makes the second of the first, and its bias.
    back: Vec<f64>,
    back_bias: Vec<f64>,
}

/// W `[K x H]` and b `[K]` from coordinate `start` of q on.
#[derive(Clone, Copy, Debug)]
struct Shape {
    start: usize,
    units: usize,
    outputs: usize,
    bias: bool,
}

impl Shape {
    /// The columns of Phi, with the ones.
    fn m(&self) -> usize {
        self.units + usize::from(self.bias)
    }

    /// All coordinates of the layer.
    fn range(&self) -> Range<usize> {
        self.start..self.start + self.outputs * self.m()
    }

    /// Where the weight of column `j` for output `k` lies within the layer.
    fn at(&self, k: usize, j: usize) -> usize {
        if j < self.units { k * self.units + j } else { self.outputs * self.units + k }
    }
}

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// The posterior of all coordinates but the weights of the output layer, which are integrated out
    /// exactly: a target of fewer dimensions, without the ridge that these weights make.
    ///
    /// The model's outputs must be linear in them ([`Linear`](crate::model::Linear), or an
    /// [`Mlp`] in f64 without an activation of its outputs), the likelihood
    /// [`Gaussian`](crate::likelihood::Gaussian), and their prior normal: any mean and standard
    /// deviation, or a hierarchical scale, which stays a coordinate. To sample, use the algorithm
    /// [`Collapsed`](crate::sampler::Collapsed) on the posterior itself, whose draws have all
    /// coordinates. A gradient costs about 3 n m^2 floating-point operations, for n rows and m output
    /// weights, and a pass forward more than the posterior's.
    ///
    /// # Errors
    /// If one of the three is something else, no coordinate is left, or m x m matrices exceed the
    /// memory.
    pub fn collapsed(&self) -> Result<Marginal<&Self>, Error> {
        Marginal::new(self)
    }

    /// Where the output layer lies in q, and the layers before it.
    fn output_layer(&self) -> Result<(Shape, Option<Mlp>), Error> {
        let OutputLayer { hidden, bias } = self.model.output_layer()?;
        let outputs = self.model.n_outputs();
        let (start, units) = match &hidden {
            Some(mlp) => (mlp.layout().dim(), mlp.n_outputs()),
            None => (0, self.model.n_inputs()),
        };
        let shape = Shape { start, units, outputs, bias };
        if shape.range().end != self.n_weights {
            let (what, end) = ("weights of the model with its output layer", shape.range().end);
            return Err(Error::shape(what, self.n_weights, end));
        }
        Ok((shape, hidden))
    }

    /// The block in which column `j` of the output layer lies, with its coordinate for output 0.
    fn block_of_column(&self, shape: &Shape, j: usize) -> (&BlockPrior, usize) {
        let coordinate = shape.start + shape.at(0, j);
        let holds = |block: &&BlockPrior| block.range.contains(&coordinate);
        (self.priors.iter().find(holds).expect("every coordinate has a prior"), coordinate)
    }

    /// The scratch memory, taken out of the workspace; to be put back.
    fn collapsed_scratch(&self, ws: &mut PosteriorWorkspace<M::Workspace>) -> Option<Collapsed> {
        if ws.collapsed.is_some() {
            return ws.collapsed.take();
        }
        self.gaussian_block().ok()?;
        let (shape, mlp) = self.output_layer().ok()?;
        let Shape { units, outputs, bias, .. } = shape;
        let (m, cholesky) = (shape.m(), Factorisation::Cholesky);
        let zeros = |n: usize| vec![0.0; n];
        let hidden = mlp.map(|mlp| Hidden {
            ws: mlp.workspace(),
            stacked: TileStorage::for_columns(outputs + units),
            d_phi: TileStorage::for_columns(units),
            back: zeros(units * (outputs + units)),
            back_bias: zeros(if bias { units } else { 0 }),
            mlp,
        });
        Some(Collapsed {
            hidden,
            sums: Gram::new(units, outputs, bias),
            gram: zeros(m * m),
            inverse: zeros(m * m),
            cross: zeros(outputs * m),
            mean: zeros(outputs * m),
            prior_mean: zeros(m),
            sd: zeros(m),
            nu: zeros(outputs * m),
            rhs: zeros(m),
            factoriser: Factoriser::new(m, cholesky),
            factor: LocalMetric::new(),
            shape,
        })
    }

    /// Computes B, its factor, nu and mu at q; returns P_beta, or `None` if B has no factor.
    fn condition(&self, beta: f64, q: &[f64], scratch: &mut Collapsed) -> Option<f64> {
        let Collapsed { shape, hidden, sums, gram, cross, mean, .. } = scratch;
        let m = shape.m();
        let (w, phi) = self.split(q);
        let mut precision = 0.0;
        if beta == 0.0 {
            gram.fill(0.0);
            cross.fill(0.0);
        } else {
            precision = beta * exp(-self.likelihood.as_gaussian()?.log_variance(phi));
            sums.clear();
            if let Some(Hidden { mlp, ws, .. }) = hidden {
                mlp.begin(&w[..shape.start], ws);
            }
            for (x, y) in self.tiles() {
                sums.add(basis(hidden, shape, w, x), y);
            }
            sums.write(gram, cross);
        }
        for j in 0..m {
            let (block, coordinate) = self.block_of_column(shape, j);
            let Family::Normal { mean, sd } = block.family(q, coordinate) else { return None };
            (scratch.prior_mean[j], scratch.sd[j]) = (mean, sd);
        }
        let (prior_mean, sd) = (&scratch.prior_mean, &scratch.sd);
        let rows = scratch.factoriser.matrix.chunks_exact_mut(m).zip(gram.chunks_exact(m));
        for (i, (row, gram)) in rows.enumerate() {
            let factor = precision * sd[i];
            for ((to, gram), sd) in row.iter_mut().zip(gram).zip(sd) {
                *to = factor * gram * sd;
            }
            row[i] += 1.0;
        }
        scratch.factoriser.factorise_alone(&mut scratch.factor);
        if !scratch.factor.is_valid() {
            return None;
        }
        let is_centred = prior_mean.iter().all(|mean| *mean == 0.0);
        for (k, nu) in scratch.nu.chunks_exact_mut(m).enumerate() {
            for (j, rhs) in scratch.rhs.iter_mut().enumerate() {
                let row = gram[j * m..][..m].iter().zip(prior_mean);
                let from_mean =
                    if is_centred { 0.0 } else { row.map(|(g, mean)| g * mean).sum::<f64>() };
                *rhs = precision * sd[j] * (cross[shape.at(k, j)] - from_mean);
            }
            scratch.factor.solve(&scratch.rhs, nu);
            for j in 0..m {
                mean[shape.at(k, j)] = prior_mean[j] + sd[j] * nu[j];
            }
        }
        Some(precision)
    }

    /// The log of the integral, without log p(v). Adds its gradient to `grad`.
    fn log_integral(
        &self,
        beta: f64,
        q: &[f64],
        mut grad: Option<&mut [f64]>,
        scratch: &mut Collapsed,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> Option<f64> {
        let precision = self.condition(beta, q, scratch)?;
        let (shape, m) = (scratch.shape, scratch.shape.m());
        let log_det = 2.0 * scratch.factor.half_log_det();
        let squares: f64 = scratch.nu.iter().map(|nu| nu * nu).sum();
        if let Some(grad) = grad.as_deref_mut() {
            scratch.factoriser.inverse(&scratch.factor, &mut scratch.inverse);
            self.add_scale_grad(grad, scratch);
            scratch.set_back(precision);
        }
        let likelihood = self.at_the_mean(beta, q, grad.as_deref_mut(), scratch, ws);
        if let Some(grad) = grad {
            let trace: f64 = scratch.inverse.iter().step_by(m + 1).sum();
            let d_log_det = 0.5 * shape.outputs as f64 * (m as f64 - trace);
            let phi = self.n_weights..self.n_weights + self.n_phi;
            for (grad, d_phi) in grad[phi].iter_mut().zip(&ws.grad_phi) {
                *grad += beta * d_phi + d_log_det;
            }
        }
        Some(beta * likelihood - 0.5 * squares - 0.5 * shape.outputs as f64 * log_det)
    }

    /// Adds the derivatives with respect to the log variances of hierarchical priors.
    fn add_scale_grad(&self, grad: &mut [f64], scratch: &Collapsed) {
        let (shape, m) = (scratch.shape, scratch.shape.m());
        for j in 0..m {
            let (block, coordinate) = self.block_of_column(&shape, j);
            if let Some(log_variance) = block.log_variance_of(coordinate) {
                let squares: f64 = scratch.nu.iter().skip(j).step_by(m).map(|nu| nu * nu).sum();
                let known = shape.outputs as f64 * (1.0 - scratch.inverse[j * m + j]);
                grad[log_variance] += 0.5 * (squares - known);
            }
        }
    }

    /// The log likelihood at the mean, its derivative with respect to phi in the workspace, and the
    /// gradient of the hidden layers added to `grad`.
    fn at_the_mean(
        &self,
        beta: f64,
        q: &[f64],
        mut grad: Option<&mut [f64]>,
        scratch: &mut Collapsed,
        ws: &mut PosteriorWorkspace<M::Workspace>,
    ) -> f64 {
        let Collapsed { shape, hidden, mean, .. } = scratch;
        let (w, phi) = self.split(q);
        let (weights, bias) = mean.split_at(shape.units * shape.outputs);
        let PosteriorWorkspace { out, d_out, grad_phi, .. } = ws;
        grad_phi.fill(0.0);
        let mut likelihood = 0.0;
        let last = self.x.iter().len() - 1;
        for number in (0..=last).rev() {
            let (x, y) = self.tile(number);
            let stride = x.stride();
            let len = shape.outputs * stride;
            let basis = match hidden {
                Some(hidden) if number == last => hidden.phi(shape, stride),
                _ => basis(hidden, shape, w, x),
            };
            let mut out = TileMut::new(&mut out[..len], x.rows());
            let mut d_out = TileMut::new(&mut d_out[..len], x.rows());
            product(weights, bias, basis, stride, out.values());
            likelihood +=
                self.likelihood.log_lik_grad(phi, out.as_tile(), y, d_out.reborrow(), grad_phi);
            if let (Some(hidden), Some(grad)) = (hidden.as_mut(), grad.as_deref_mut()) {
                d_out.clear_padding();
                hidden.backward(beta, shape, w, x, d_out.as_tile(), grad);
            }
        }
        if let (Some(Hidden { mlp, ws, .. }), Some(grad)) = (hidden, grad) {
            mlp.finish(&mut grad[..shape.start], ws);
        }
        likelihood
    }

    /// A tile of x and y.
    fn tile(&self, number: usize) -> (Tile<'_>, Tile<'_>) {
        let mut tiles = self.x.range(number..number + 1).zip(self.y.range(number..number + 1));
        tiles.next().expect("the number of a tile")
    }
}

/// The columns of Phi on the tile x, without the ones and with zeros in the padding.
fn basis<'a>(
    hidden: &'a mut Option<Hidden>,
    shape: &Shape,
    w: &[f64],
    x: Tile<'a>,
) -> &'a [f64] {
    let Some(Hidden { mlp, ws, stacked, .. }) = hidden else { return x.values() };
    let phi = &mut stacked[shape.outputs * x.stride()..][..shape.units * x.stride()];
    let mut phi = TileMut::new(phi, x.rows());
    mlp.forward(&w[..shape.start], x, phi.reborrow(), ws);
    phi.clear_padding();
    &stacked[shape.outputs * x.stride()..][..shape.units * x.stride()]
}

impl Hidden {
    /// What [`basis`] has written.
    fn phi(&self, shape: &Shape, stride: usize) -> &[f64] {
        &self.stacked[shape.outputs * stride..][..shape.units * stride]
    }

    /// Adds the gradient of a tile. `d_out` is the derivative of ell with respect to the outputs.
    fn backward(
        &mut self,
        beta: f64,
        shape: &Shape,
        w: &[f64],
        x: Tile,
        d_out: Tile,
        grad: &mut [f64],
    ) {
        let stride = x.stride();
        let outputs = shape.outputs * stride;
        for (to, d) in self.stacked[..outputs].iter_mut().zip(d_out.values()) {
            *to = beta * d;
        }
        let stacked = &self.stacked[..outputs + shape.units * stride];
        let mut d_phi = TileMut::new(&mut self.d_phi[..shape.units * stride], x.rows());
        product(&self.back, &self.back_bias, stacked, stride, d_phi.values());
        d_phi.clear_padding();
        let (w, grad) = (&w[..shape.start], &mut grad[..shape.start]);
        self.mlp.backward(w, x, d_phi.as_tile(), grad, &mut self.ws);
    }
}

impl Collapsed {
    /// Writes the matrix by which the derivatives with respect to Phi are made of those with respect
    /// to the outputs, times mu, and of Phi, times -K P_beta A^-1, whose last column meets the ones.
    fn set_back(&mut self, precision: f64) {
        let Self { shape, hidden: Some(hidden), inverse, mean, sd, .. } = self else { return };
        let (m, factor) = (shape.m(), -(shape.outputs as f64) * precision);
        let rows = hidden.back.chunks_exact_mut(shape.outputs + shape.units);
        for (j, (row, inverse)) in rows.zip(inverse.chunks_exact(m)).enumerate() {
            let (of_outputs, of_phi) = row.split_at_mut(shape.outputs);
            for (k, to) in of_outputs.iter_mut().enumerate() {
                *to = mean[shape.at(k, j)];
            }
            let covariance = |i: usize| factor * sd[j] * inverse[i] * sd[i];
            of_phi.iter_mut().enumerate().for_each(|(i, to)| *to = covariance(i));
            if let Some(bias) = hidden.back_bias.get_mut(j) {
                *bias = covariance(shape.units);
            }
        }
    }
}

impl<M: Model, L: Likelihood> ConditionallyGaussian for Posterior<M, L> {
    fn gaussian_block(&self) -> Result<Range<usize>, Error> {
        if self.likelihood.as_gaussian().is_none() {
            let found = self.likelihood.description().unwrap_or_else(|| "one of your own".into());
            let allowed = "Gaussian for the output layer to be integrated out";
            return Err(Error::argument("likelihood", found, allowed));
        }
        let (shape, _) = self.output_layer()?;
        let zeros = vec![0.0; self.dim()];
        for j in [0, shape.m() - 1] {
            let (block, coordinate) = self.block_of_column(&shape, j);
            let whole = block.range.len() == shape.outputs * shape.units.pow((j == 0).into());
            if !whole || !matches!(block.family(&zeros, coordinate), Family::Normal { .. }) {
                return Err(Error::Prior {
                    problem: format!(
                        "the prior of block `{}` is not normal, as it must be for the output layer \
                         to be integrated out",
                        block.name
                    ),
                    known: self.layout.block_names(),
                });
            }
        }
        let size = [(10, "matrices"), (shape.m(), "output weights"), (shape.m(), "output weights")];
        memory::check::<f64>("matrices of the output layer", &size, "take fewer hidden units")?;
        Ok(shape.range())
    }

    fn log_marginal_at(
        &self,
        beta: f64,
        q: &[f64],
        mut grad: Option<&mut [f64]>,
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let nan = LogDensity::new(f64::NAN, f64::NAN);
        let Some(mut scratch) = self.collapsed_scratch(ws) else { return nan };
        let layer = scratch.shape.range();
        let rest = self.priors.iter().filter(|b| !layer.contains(&b.range.start));
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

    fn draw_conditional_at(
        &self,
        beta: f64,
        rng: &mut ChainRng,
        q: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> bool {
        let Some(mut scratch) = self.collapsed_scratch(ws) else { return false };
        let is_known = self.condition(beta, q, &mut scratch).is_some();
        if is_known {
            let Collapsed { shape, mean, sd, nu, rhs, factor, .. } = &mut scratch;
            let m = shape.m();
            for k in 0..shape.outputs {
                rng.fill_normal(rhs);
                let noise = &mut nu[..m];
                factor.colour(rhs, noise);
                for j in 0..m {
                    let at = shape.at(k, j);
                    q[shape.start + at] = mean[at] + sd[j] * noise[j];
                }
            }
        }
        ws.collapsed = Some(scratch);
        is_known
    }
}
