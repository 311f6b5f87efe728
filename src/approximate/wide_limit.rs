//! Networks with one hidden layer in the limit of many units: a Gaussian process.

use ndarray::{Array1, ArrayView2};

use crate::data::{Dataset, Response};
use crate::layout::Layout;
use crate::linalg::dot::dot;
use crate::linalg::local_metric::{Factorisation, Factoriser, LocalMetric};
use crate::portable::{exp, ln};
use crate::posterior::unweighted_only;
use crate::prior::{Normal, Prior};
use crate::rng::ChainRng;
use crate::targets::{GradTarget, LogDensity, Target};
use crate::{Error, memory};

/// The limit H -> inf of a network with one hidden layer of H units, a linear part and normal noise, as a
/// density of its scales: everything else is integrated out exactly.
///
/// ```text
/// f(x) = b_1 + V x + sum_k W_k erf(sqrt(pi)/2 (w_k x + b_k))
///        w_kj ~ N(0, w_j^2), b_k ~ N(0, b^2), W_k ~ N(0, o^2/H), V_j ~ N(0, v^2/D), b_1 ~ N(0, 1)
/// y    = f(x) + s N(0, 1)
///
/// S(x, x') = b^2 + sum_j w_j^2 x_j x'_j                         covariance of the inputs of a unit
/// t(x, x') = c S(x, x') / sqrt((1 + c S(x, x)) (1 + c S(x', x'))),   c = pi/2
/// K(x, x') = o^2 (2/pi) arcsin t(x, x') + v^2 x.x'/D + 1             covariance of f
///
/// log p(y) = -1/2 (n log 2 pi + log |A| + y^T A^-1 y),   A = K + s^2 I
/// ```
///
/// erf(sqrt(pi)/2 z) has the slope of tanh at 0 and differs from it by less than 0.04. The coordinates are
/// the logarithms of the scales, in the blocks `log_weight_sd` `[D]`, `log_bias_sd` (b), `log_output_sd`
/// (o), `log_linear_sd` (v) and `log_noise_sd` (s), a priori N(0, 1), but N(-2, 1) for s. The `likelihood` of
/// a log density is the evidence given the scales, exactly. With G = (alpha alpha^T - A^-1)/2, alpha = A^-1 y,
/// M_ij = G_ij o^2 (2/pi) / sqrt(1 - t_ij^2) and r_i^2 = 1 + c S_ii,
///
/// ```text
/// d / d log o   = 2 sum_ij G_ij o^2 (2/pi) arcsin t_ij         d / d log v = 2 sum_ij G_ij v^2 x_i.x_j/D
/// d / d log s   = 2 s^2 tr G                                   d / d log b = 2 b^2 sum_ij N_ij
/// d / d log w_l = 2 w_l^2 sum_ij N_ij x_il x_jl,   N_ij = c M_ij / (r_i r_j) - [i = j] c sum_k M_ik t_ik / r_i^2
/// ```
///
/// Made for one real response and features of mean 0 and standard deviation 1. It says what a wide network
/// would predict, how far each column matters, how large the noise is, and the evidence of a prior, in
/// seconds: a reference for networks, and a first guess of their scales. For n rows an evaluation takes n^3
/// operations, and memory for 5 n^2 numbers.
///
/// Sources: Neal, *Bayesian Learning for Neural Networks* (1996), doi:10.1007/978-1-4612-0745-0, section 2.1;
/// Williams, Neural Computation 10, 1998, doi:10.1162/089976698300017412 (the kernel of erf units).
///
/// ```
/// use bnn_mcmc::approximate::WideLimit;
/// use bnn_mcmc::optimise::Adam;
/// use bnn_mcmc::prelude::*;
/// let x = ndarray::Array2::from_shape_fn((40, 2), |(i, j)| match j {
///     0 => (7 * i % 20) as f64 / 6.0 - 1.6,
///     _ => (11 * i % 17) as f64 / 5.0 - 1.6,
/// });
/// let noise = ndarray::Array1::from_shape_fn(40, |i| 0.1 * (5.0 * i as f64).cos());
/// let y = x.column(0).mapv(|x| (2.0 * x).sin()) + noise;
/// let limit = WideLimit::new(&Dataset::regression(x, y)?)?;
/// let mut scales = limit.start();
/// Adam { learning_rate: 0.1, steps: 200, ..Adam::default() }.maximise(&limit, &mut scales)?;
/// let weights = &scales[limit.layout().range("log_weight_sd").unwrap()];
/// assert!(weights[0] > weights[1] + 1.0, "the second column does not matter");
/// let (mean, sd) = limit.predict(&scales, ndarray::array![[0.5, 0.0]].view())?;
/// assert!((mean[0] - 1f64.sin()).abs() < 0.1 && sd[0] < 0.2);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[doc(alias = "NNGP")]
#[doc(alias = "Gaussian process")]
#[derive(Clone, Debug)]
pub struct WideLimit {
    /// Columns of the features, and x_i.x_j.
    columns: Vec<Vec<f64>>,
    products: Vec<f64>,
    y: Vec<f64>,
    scales: Normal,
    noise: Normal,
}

/// c: twice the square of the factor of a unit's input.
const C: f64 = std::f64::consts::FRAC_PI_2;

/// Scratch memory of a [`WideLimit`].
#[derive(Debug)]
pub struct WideLimitWorkspace {
    factoriser: Factoriser,
    factor: LocalMetric,
    /// t, and then N.
    t: Vec<f64>,
    inverse: Vec<f64>,
    /// r, alpha, and sums over rows.
    r: Vec<f64>,
    alpha: Vec<f64>,
    sums: Vec<f64>,
}

/// The scales themselves.
struct Scales<'q> {
    log_weights: &'q [f64],
    bias: f64,
    output: f64,
    linear: f64,
    noise: f64,
}

impl WideLimit {
    /// For the rows of `data`, whose features and response are standardised.
    ///
    /// # Errors
    /// Another response than one column of real numbers; weights of rows; matrices that exceed the memory.
    pub fn new(data: &Dataset) -> Result<Self, Error> {
        let Response::Real(y) = data.response() else {
            let found = "classes or counts";
            return Err(Error::shape("response for the wide limit", found, "real numbers"));
        };
        if y.ncols() != 1 {
            return Err(Error::shape("response columns for the wide limit", y.ncols(), 1));
        }
        if data.weights().is_some() {
            return Err(unweighted_only("the wide limit"));
        }
        let (n, x) = (data.rows(), data.x());
        let size = [(n, "rows"), (n, "rows"), (5, "matrices")];
        memory::check::<f64>("matrices of the wide limit", &size, "take fewer rows")?;
        let columns: Vec<Vec<f64>> =
            x.columns().into_iter().map(|column| column.to_vec()).collect();
        let mut products = vec![0.0; n * n];
        for column in &columns {
            for (row, a) in products.chunks_exact_mut(n).zip(column) {
                row.iter_mut().zip(column).for_each(|(sum, b)| *sum += a * b);
            }
        }
        let normal = |mean| Normal::new(mean, 1.0);
        let y = y.column(0).to_vec();
        Ok(Self { columns, products, y, scales: normal(0.0)?, noise: normal(-2.0)? })
    }

    /// The means of the prior, where an optimiser may begin.
    pub fn start(&self) -> Vec<f64> {
        let mut q = vec![0.0; self.dim()];
        q[self.dim() - 1] = -2.0;
        q
    }

    /// Mean and standard deviation of a new observation in each row of `x` `[rows x D]`, given the scales.
    ///
    /// # Errors
    /// Another number of scales or of features, or scales for which A has no Cholesky factor.
    pub fn predict(
        &self,
        scales: &[f64],
        x: ArrayView2<f64>,
    ) -> Result<(Array1<f64>, Array1<f64>), Error> {
        if scales.len() != self.dim() {
            return Err(Error::shape("scales of the wide limit", scales.len(), self.dim()));
        }
        if x.ncols() != self.columns.len() {
            return Err(Error::shape("features of new rows", x.ncols(), self.columns.len()));
        }
        let (mut ws, of) = (self.workspace(), self.split(scales));
        if self.condition(&of, &mut ws).is_none() {
            let allowed = "scales for which the covariance matrix is positive definite";
            return Err(Error::argument(
                "scales of the wide limit",
                format!("{scales:?}"),
                allowed,
            ));
        }
        let (n, features) = (self.y.len(), self.columns.len());
        let (mut mean, mut sd) = (Array1::zeros(x.nrows()), Array1::zeros(x.nrows()));
        let (mut k, mut solved) = (vec![0.0; n], vec![0.0; n]);
        for (i, row) in x.rows().into_iter().enumerate() {
            let (mut own, mut square) = (of.bias * of.bias, 0.0);
            for (x, log) in row.iter().zip(of.log_weights) {
                own += exp(2.0 * log) * x * x;
                square += x * x;
            }
            let r = (1.0 + C * own).sqrt();
            for (a, k) in k.iter_mut().enumerate() {
                let (mut s, mut product) = (of.bias * of.bias, 0.0);
                for ((x, log), column) in row.iter().zip(of.log_weights).zip(&self.columns) {
                    s += exp(2.0 * log) * x * column[a];
                    product += x * column[a];
                }
                *k = of.covariance(C * s / (r * ws.r[a]), product / features as f64);
            }
            let own = of.covariance(C * own / (r * r), square / features as f64);
            ws.factor.solve(&k, &mut solved);
            mean[i] = dot::<8>(&k, &ws.alpha);
            let variance = own + of.noise * of.noise - dot::<8>(&k, &solved);
            sd[i] = variance.max(of.noise * of.noise).sqrt();
        }
        Ok((mean, sd))
    }

    fn split<'q>(&self, q: &'q [f64]) -> Scales<'q> {
        let (log_weights, rest) = q.split_at(self.columns.len());
        let [bias, output, linear, noise] = [0, 1, 2, 3].map(|i| exp(rest[i]));
        Scales { log_weights, bias, output, linear, noise }
    }

    /// The log prior, with its gradient written into `grad`, if it is given.
    fn prior(&self, q: &[f64], grad: Option<&mut [f64]>) -> f64 {
        let (scales, noise) = q.split_at(q.len() - 1);
        match grad {
            Some(grad) => {
                grad.fill(0.0);
                let (of_scales, of_noise) = grad.split_at_mut(scales.len());
                self.scales.add_grad(scales, of_scales) + self.noise.add_grad(noise, of_noise)
            }
            None => self.scales.log_density(scales) + self.noise.log_density(noise),
        }
    }

    /// The log evidence given the scales; t, the factor of A and alpha stay in the workspace. `None` where A
    /// has no factor.
    fn condition(&self, of: &Scales, ws: &mut WideLimitWorkspace) -> Option<f64> {
        let (n, features) = (self.y.len(), self.columns.len() as f64);
        ws.t.fill(of.bias * of.bias);
        for (log, column) in of.log_weights.iter().zip(&self.columns) {
            let square = exp(2.0 * log);
            for (row, a) in ws.t.chunks_exact_mut(n).zip(column) {
                let factor = square * a;
                row.iter_mut().zip(column).for_each(|(s, b)| *s += factor * b);
            }
        }
        for (i, r) in ws.r.iter_mut().enumerate() {
            *r = (1.0 + C * ws.t[i * n + i]).sqrt();
        }
        let rows = ws.t.chunks_exact_mut(n).zip(self.products.chunks_exact(n));
        let to = ws.factoriser.matrix.chunks_exact_mut(n);
        for (i, ((row, products), to)) in rows.zip(to).enumerate() {
            let factor = C / ws.r[i];
            for (((t, product), to), r) in row.iter_mut().zip(products).zip(&mut *to).zip(&ws.r) {
                *t *= factor / r;
                *to = of.covariance(*t, product / features);
            }
            to[i] += of.noise * of.noise;
        }
        ws.factoriser.factorise_alone(&mut ws.factor);
        if !ws.factor.is_valid() {
            return None;
        }
        ws.factor.solve(&self.y, &mut ws.alpha);
        let square = dot::<8>(&self.y, &ws.alpha);
        let constant = n as f64 * ln(std::f64::consts::TAU);
        Some(-0.5 * (constant + square) - ws.factor.half_log_det())
    }
}

impl Scales<'_> {
    /// K, given t and x.x'/D.
    fn covariance(&self, t: f64, product: f64) -> f64 {
        self.of_units(t) + self.linear * self.linear * product + 1.0
    }

    fn of_units(&self, t: f64) -> f64 {
        self.output * self.output / C * libm::asin(t)
    }
}

impl Target for WideLimit {
    type Workspace = WideLimitWorkspace;

    fn dim(&self) -> usize {
        self.columns.len() + 4
    }

    fn workspace(&self) -> WideLimitWorkspace {
        let n = self.y.len();
        let zeros = |n: usize| vec![0.0; n];
        WideLimitWorkspace {
            factoriser: Factoriser::new(n, Factorisation::Cholesky),
            factor: LocalMetric::new(),
            t: zeros(n * n),
            inverse: zeros(n * n),
            r: zeros(n),
            alpha: zeros(n),
            sums: zeros(n),
        }
    }

    fn layout(&self) -> Layout {
        Layout::new()
            .with("log_weight_sd", &[self.columns.len()])
            .with("log_bias_sd", &[])
            .with("log_output_sd", &[])
            .with("log_linear_sd", &[])
            .with("log_noise_sd", &[])
    }

    fn log_density(&self, q: &[f64], ws: &mut WideLimitWorkspace) -> LogDensity {
        let evidence = self.condition(&self.split(q), ws).unwrap_or(f64::NAN);
        LogDensity::new(evidence, self.prior(q, None))
    }

    fn draw_start(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        let at_noise = q.len() - 1;
        self.scales.draw(rng, &mut q[..at_noise])?;
        self.noise.draw(rng, &mut q[at_noise..])
    }
}

impl GradTarget for WideLimit {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut WideLimitWorkspace,
    ) -> LogDensity {
        let (n, of, prior) = (self.y.len(), self.split(q), self.prior(q, Some(grad)));
        let Some(evidence) = self.condition(&of, ws) else {
            grad.fill(f64::NAN);
            return LogDensity::new(f64::NAN, prior);
        };
        let WideLimitWorkspace { factoriser, factor, t, inverse, r, alpha, sums } = ws;
        factoriser.inverse(factor, inverse);
        let [mut of_output, mut of_linear, mut trace] = [0.0; 3];
        let factor = of.output * of.output / C;
        // G is not kept: t becomes N.
        for i in 0..n {
            let rows = t[i * n..][..n].iter_mut().zip(&inverse[i * n..][..n]);
            let columns = self.products[i * n..][..n].iter().zip(&*alpha).zip(&*r);
            sums[i] = 0.0;
            for (j, ((t, inverse), ((product, other), r_j))) in rows.zip(columns).enumerate() {
                let g = 0.5 * (alpha[i] * other - inverse);
                of_output += g * of.of_units(*t);
                of_linear += g * product;
                if i == j {
                    trace += g;
                }
                let m = g * factor / (1.0 - *t * *t).sqrt();
                sums[i] += m * *t;
                *t = C * m / (r[i] * r_j);
            }
        }
        for i in 0..n {
            t[i * n + i] -= C * sums[i] / (r[i] * r[i]); //~ wide-limit-diagonal
        }
        let d = self.columns.len();
        for ((grad, log), column) in grad[..d].iter_mut().zip(of.log_weights).zip(&self.columns) {
            let rows = t.chunks_exact(n).zip(column);
            let sum: f64 = rows.map(|(row, x)| x * dot::<8>(row, column)).sum();
            *grad += 2.0 * exp(2.0 * log) * sum;
        }
        grad[d] += 2.0 * of.bias * of.bias * t.iter().sum::<f64>();
        grad[d + 1] += 2.0 * of_output;
        grad[d + 2] += 2.0 * of.linear * of.linear * of_linear / d as f64;
        grad[d + 3] += 2.0 * of.noise * of.noise * trace;
        LogDensity::new(evidence, prior)
    }
}
