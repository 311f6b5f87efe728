//! The exact posterior of Bayesian linear regression.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, s};
use statrs::function::gamma::ln_gamma;

use crate::Error;
use crate::error::{finite, positive};
use crate::linalg::svd::Svd;
use crate::rng::ChainRng;

/// eta is searched for in [-LARGEST_ETA, LARGEST_ETA].
const LARGEST_ETA: f64 = 600.0;
/// Points this far below the peak of a log density, in nats, are left out.
const NEGLIGIBLE: f64 = 45.0;
/// Cells of the grid of eta.
const CELLS: usize = 1 << 14;
/// The largest relative loss to rounding that is accepted.
const LOSS: f64 = 1e-6;

/// The knowledge about the noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoiseVariance {
    /// The standard deviation of the noise is known.
    Fixed(f64),
    /// tau^2 ~ IG(shape, scale), both positive; (0, 0) is the improper 1/tau^2.
    InverseGamma {
        /// The shape a.
        shape: f64,
        /// The scale b.
        scale: f64,
    },
}

/// The exact posterior of linear regression, tempered if wanted.
///
/// q is laid out as in a [`Posterior`](crate::posterior::Posterior) of a
/// [`Linear`](crate::model::Linear) model with one output: the weights, the intercept, and
/// log tau^2 if the noise is not fixed.
///
/// ```
/// use bnn_mcmc::testing::{ConjugateRegression, NoiseVariance};
/// use ndarray::array;
/// let (x, y) = (array![[0.0], [1.0], [2.0]], array![0.1, 0.9, 2.2]);
/// let noise = NoiseVariance::InverseGamma { shape: 2.0, scale: 0.5 };
/// let exact = ConjugateRegression::new(x.view(), y.view(), 1.5, noise)?;
/// assert_eq!(exact.mean().len(), 3); // slope, intercept, log tau^2
/// assert!(exact.log_evidence()? < 0.0);
/// let halfway = exact.tempered(0.5)?;
/// assert!(halfway.covariance()[(0, 0)] > exact.covariance()[(0, 0)]);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// y ~ N(X w, tau^2 I) with N rows, independent priors w ~ N(0, v I), and tau known or
/// tau^2 ~ IG(a, b). Tempered by beta, the posterior is proportional to p(y | w, tau)^beta times
/// the prior. With the singular value decomposition X = U diag(s) V^T (U without the columns of
/// s_k = 0), z = U^T y, the residual sum of squares R = |y - U z|^2, and given eta = log tau^2, the rotated weights V^T w are independent
/// normals,
///
/// ```text
/// g_k  = beta s_k^2 v / tau^2
/// mean = v beta s_k z_k / tau^2 / (1 + g_k),   variance = v / (1 + g_k)
/// log p(y | eta) = -1/2 [ beta N log(2 pi tau^2) + sum_k log(1 + g_k)
///                         + beta / tau^2 (R + sum_k z_k^2 / (1 + g_k)) ]
/// ```
///
/// with p(y | eta) the integral of p(y | w, tau)^beta p(w) over w. Nothing is subtracted in these
/// sums, and s_k = 0 (collinear features, more weights than rows) is not a special case. The
/// posterior of eta is one-dimensional and tabulated on a fine grid, by the trapezoid rule, which
/// gives every moment to many digits, and exact draws.
///
/// # Accuracy
///
/// R and z come from the residuals of a least-squares fit w0, computed from the data themselves
/// (one step of iterative refinement): r = y - X w0, R = |r - U U^T r|^2, z_k = s_k (V^T w0)_k +
/// u_k^T r. A large mean of y thus costs only the digits that y itself lacks. Each s_k is uncertain
/// by a few rounding units of s_1: where s_1 / s_k is the condition number kappa, 1 + g_k loses
/// kappa 1e-15, which only matters if the data say anything about that direction. The constructor
/// estimates these losses, and refuses losses above 1e-6: about kappa = 1e8, or noise 1e-9 times as
/// large as y. Centre and scale the features then.
#[derive(Clone, Debug)]
pub struct ConjugateRegression {
    rows: usize,
    /// v.
    prior_variance: f64,
    noise: KnownNoise,
    beta: f64,
    directions: Vec<Direction>,
    /// V `[d x d]`.
    right: Array2<f64>,
    /// R.
    residual: f64,
    /// The uncertainty of |y - X w0|.
    residual_error: f64,
    /// (eta, probability), ascending in eta. One entry if the noise is fixed.
    grid: Vec<(f64, f64)>,
    /// Running sums of the probabilities.
    cumulative: Vec<f64>,
    /// The eta of highest density, from which means are counted: their digits count from there.
    mode: f64,
    log_normaliser: f64,
}

/// One right singular vector of X.
#[derive(Clone, Copy, Debug)]
struct Direction {
    /// s_k.
    s: f64,
    /// z_k; 0 where s_k is.
    z: f64,
    /// (V^T w0)_k.
    start: f64,
}

/// [`NoiseVariance`], checked.
#[derive(Clone, Copy, Debug)]
enum KnownNoise {
    /// eta.
    Fixed(f64),
    Sampled(InverseGamma),
}

/// tau^2 ~ IG(a, b), both positive, or the improper (0, 0).
///
/// The density is written out here rather than taken from [`crate::prior`], which this posterior is
/// there to test.
#[derive(Clone, Copy, Debug)]
struct InverseGamma {
    shape: f64,
    scale: f64,
}

impl InverseGamma {
    fn new(shape: f64, scale: f64) -> Result<Self, Error> {
        for (name, value) in [("shape", shape), ("scale", scale)] {
            let improper = shape == 0.0 && scale == 0.0;
            if !(improper || value.is_finite() && value > 0.0) {
                let name = format!("{name} of the inverse-gamma prior");
                let allowed = "a finite number above 0 (or shape and scale both 0, improper)";
                return Err(Error::argument(name, value, allowed));
            }
        }
        Ok(Self { shape, scale })
    }

    fn is_proper(self) -> bool {
        self.shape > 0.0
    }

    /// The log density of eta = log tau^2: the density of tau^2, times d tau^2 / d eta = tau^2. With
    /// v = e^eta, log [b^a / Gamma(a) v^-(a+1) e^(-b/v)] + log v. 0 if it is improper.
    fn log_density(self, eta: f64) -> f64 {
        if !self.is_proper() {
            return 0.0;
        }
        let Self { shape, scale } = self;
        shape * scale.ln() - ln_gamma(shape) - shape * eta - scale * (-eta).exp()
    }
}

impl ConjugateRegression {
    /// `x` `[rows x features]`, to which an intercept is added; `y` one response per row; the
    /// prior standard deviation of every weight and of the intercept.
    ///
    /// # Errors
    /// The errors name the problem: shapes, values that are not finite, an invalid prior, an
    /// improper posterior (noise prior (0, 0) where y can be fitted exactly), or data so badly
    /// conditioned that more than six digits would be lost.
    pub fn new(
        x: ArrayView2<f64>,
        y: ArrayView1<f64>,
        prior_sd: f64,
        noise: NoiseVariance,
    ) -> Result<Self, Error> {
        let (rows, features) = x.dim();
        if y.len() != rows || rows == 0 {
            return Err(Error::shape("number of responses", y.len(), rows.max(1)));
        }
        y.iter().try_for_each(|y| finite("response", *y).map(drop))?;
        let prior_variance = positive("prior_sd", prior_sd)?.powi(2);
        positive("square of prior_sd", prior_variance)?;
        let noise = match noise {
            NoiseVariance::Fixed(sd) => KnownNoise::Fixed(2.0 * positive("noise sd", sd)?.ln()),
            NoiseVariance::InverseGamma { shape, scale } => {
                KnownNoise::Sampled(InverseGamma::new(shape, scale)?)
            }
        };

        let mut design = Array2::ones((rows, features + 1));
        design.slice_mut(s![.., ..features]).assign(&x);
        let Svd { left, values, right } = Svd::new("design", design.view())?;
        // w0: least squares in all directions that do not amplify rounding too much.
        let smallest = f64::EPSILON.sqrt() * values[0];
        let z = left.t().dot(&y);
        let start = Array1::from_shape_fn(values.len(), |k| {
            if values[k] > smallest { z[k] / values[k] } else { 0.0 }
        });
        let w0 = right.dot(&start);
        let r = &y - &design.dot(&w0);
        let terms = y.mapv(f64::abs) + design.mapv(f64::abs).dot(&w0.mapv(f64::abs));
        let residual_error = f64::EPSILON * terms.dot(&terms).sqrt();
        let mut rest = r.clone();
        let mut directions = Vec::with_capacity(values.len());
        for (k, &s) in values.iter().enumerate() {
            let u = left.column(k);
            let correction = if s > 0.0 { u.dot(&r) } else { 0.0 };
            rest.scaled_add(-correction, &u);
            directions.push(Direction { s, z: s * start[k] + correction, start: start[k] });
        }
        let mut residual = finite("residual sum of squares", rest.dot(&rest))?;
        if residual.sqrt() <= 8.0 * residual_error {
            residual = 0.0;
        }
        Self {
            rows,
            prior_variance,
            noise,
            beta: 1.0,
            directions,
            right,
            residual,
            residual_error,
            grid: Vec::new(),
            cumulative: Vec::new(),
            mode: f64::NAN,
            log_normaliser: f64::NAN,
        }
        .tabulated()
    }

    /// The posterior with likelihood^beta in place of the likelihood, 0 <= beta <= 1, whatever the
    /// beta of `self`. At 0 it is the prior, which is an error if that is improper.
    pub fn tempered(&self, beta: f64) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&beta) {
            return Err(Error::argument("beta", beta, "from 0 to 1"));
        }
        Self { beta, ..self.clone() }.tabulated()
    }

    /// Fills in the posterior of eta.
    fn tabulated(mut self) -> Result<Self, Error> {
        let prior = match self.noise {
            KnownNoise::Fixed(eta) => {
                if eta.abs() > LARGEST_ETA {
                    return Err(Error::argument("noise sd", (0.5 * eta).exp(), OF_MODERATE_SCALE));
                }
                self.check_loss(eta)?;
                self.log_normaliser = finite("log evidence", self.log_marginal(eta))?;
                (self.grid, self.cumulative, self.mode) = (vec![(eta, 1.0)], vec![1.0], eta);
                return Ok(self);
            }
            KnownNoise::Sampled(prior) => prior,
        };
        if !prior.is_proper() && (self.beta == 0.0 || self.residual == 0.0) {
            let allowed = if self.beta == 0.0 {
                "above 0 at beta = 0: the prior itself is improper"
            } else {
                "above 0 where the model fits every response exactly: the posterior is improper"
            };
            return Err(Error::argument("shape and scale of the inverse-gamma prior", 0, allowed));
        }
        let log_joint = |eta: f64| self.log_marginal(eta) + prior.log_density(eta);
        let modes = modes(log_joint)?;
        let (mode, peak) =
            modes.iter().copied().fold(modes[0], |m, x| if x.1 > m.1 { x } else { m });
        self.check_loss(mode)?;
        let near = modes.iter().filter(|m| m.1 > peak - NEGLIGIBLE).map(|m| m.0);
        let low = edge(log_joint, near.clone().fold(mode, f64::min), -1.0, peak)?;
        let high = edge(log_joint, near.fold(mode, f64::max), 1.0, peak)?;
        let step = (high - low) / CELLS as f64;
        let mut grid: Vec<(f64, f64)> = (0..=CELLS)
            .map(|i| low + step * i as f64)
            .map(|eta| (eta, (log_joint(eta) - peak).exp()))
            .collect();
        let total: f64 = grid.iter().map(|g| g.1).sum();
        let coarse: f64 = grid.iter().step_by(2).map(|g| g.1).sum();
        // Halving the step must not change the integral; NaN does not pass either.
        let change = (2.0 * coarse / total - 1.0).abs();
        if change.is_nan() || change > 1e-8 {
            let found = format!("tabulated with a relative error of {change:.0e}");
            return Err(Error::argument("posterior of log tau^2", found, "smoother than that"));
        }
        let log_normaliser = peak + (total * step).ln();
        grid.iter_mut().for_each(|g| g.1 /= total);
        let mut below = 0.0;
        self.cumulative = grid.iter().map(|(_, p)| (below += p, below).1).collect();
        (self.grid, self.log_normaliser, self.mode) = (grid, log_normaliser, mode);
        Ok(self)
    }

    /// log p(y | eta).
    fn log_marginal(&self, eta: f64) -> f64 {
        let precision = self.beta * (-eta).exp();
        let (mut squares, mut log_det) = (self.residual, 0.0);
        for k in &self.directions {
            let g = k.s * k.s * self.prior_variance * precision;
            log_det += g.ln_1p();
            squares += k.z * k.z / (1.0 + g);
        }
        let scale = self.beta * self.rows as f64 * (std::f64::consts::TAU.ln() + eta);
        -0.5 * (scale + log_det + precision * squares)
    }

    /// E[w | eta] and Var[w | eta], both in the singular vectors.
    fn conditional(&self, eta: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        let precision = self.beta * (-eta).exp();
        self.directions.iter().map(move |k| {
            let variance =
                self.prior_variance / (1.0 + k.s * k.s * self.prior_variance * precision);
            (variance * k.s * k.z * precision, variance)
        })
    }

    /// Refuses data of which rounding takes too much at `eta`: see the accuracy of [`ConjugateRegression`].
    fn check_loss(&self, eta: f64) -> Result<(), Error> {
        let precision = self.beta * (-eta).exp();
        let (size, largest) = (self.directions.len().max(self.rows) as f64, self.directions[0].s);
        let ds = f64::EPSILON * size.sqrt() * largest;
        let (mut loss, mut moved) = (0.0f64, 0.0);
        for (k, (mean, variance)) in self.directions.iter().zip(self.conditional(eta)) {
            loss = loss.max((2.0 * k.s + ds) * ds * precision * variance);
            moved += (mean - k.start).powi(2);
        }
        if loss.is_nan() || loss > LOSS {
            let smallest = self.directions.iter().map(|k| k.s).rfind(|s| *s > 0.0);
            let found = largest / smallest.unwrap_or(largest);
            let found = format!(
                "of condition number {found:.0e}, and uncertain by {loss:.0e} next to prior and noise"
            );
            return Err(Error::argument(
                "design",
                found,
                "better conditioned: centre and scale it",
            ));
        }
        // Residuals are uncertain by `residual_error` at w0, and then by the error of X times the
        // way from there. Next to tau, that is how far means move, in standard deviations; next to
        // the residuals, which are hardly smaller, how far eta does.
        let uncertain = self.residual_error + f64::EPSILON * largest * moved.sqrt();
        let loss = uncertain * precision.sqrt();
        if loss.is_nan() || loss > LOSS {
            let found = format!("uncertain by {loss:.0e} times the noise, by rounding");
            return Err(Error::argument("residuals", found, "less so: centre and scale the data"));
        }
        Ok(())
    }

    /// The length of q.
    pub fn dim(&self) -> usize {
        self.directions.len() + usize::from(self.sampled_noise())
    }

    fn sampled_noise(&self) -> bool {
        matches!(self.noise, KnownNoise::Sampled(_))
    }

    /// log p(y), the log evidence; tempered, the log of the integral of likelihood^beta over the
    /// prior. An error if the noise prior is the improper (0, 0), which leaves it undefined.
    pub fn log_evidence(&self) -> Result<f64, Error> {
        match self.noise {
            KnownNoise::Sampled(prior) if !prior.is_proper() => Err(Error::argument(
                "shape and scale of the inverse-gamma prior",
                0,
                "above 0 for the evidence: under an improper prior it is not defined",
            )),
            _ => Ok(self.log_normaliser),
        }
    }

    /// The posterior mean of q.
    pub fn mean(&self) -> Vec<f64> {
        let mut mean = self.right.dot(&self.rotated_mean()).to_vec();
        if self.sampled_noise() {
            mean.push(self.mean_eta());
        }
        mean
    }

    fn rotated_mean(&self) -> Array1<f64> {
        let at_mode: Array1<f64> = self.conditional(self.mode).map(|c| c.0).collect();
        let mut from_mode = Array1::<f64>::zeros(at_mode.len());
        for (eta, p) in &self.grid {
            for (i, (mean, _)) in self.conditional(*eta).enumerate() {
                from_mode[i] += p * (mean - at_mode[i]);
            }
        }
        at_mode + from_mode
    }

    fn mean_eta(&self) -> f64 {
        self.mode + self.grid.iter().map(|(eta, p)| (eta - self.mode) * p).sum::<f64>()
    }

    /// The posterior covariance of q `[dim x dim]`.
    pub fn covariance(&self) -> Array2<f64> {
        let (d, dim) = (self.directions.len(), self.dim());
        let (centre, mean_eta) = (self.rotated_mean(), self.mean_eta());
        // In the singular vectors, the noise's coordinate last.
        let mut rotated = Array2::<f64>::zeros((dim, dim));
        let mut at = vec![0.0; dim];
        for (eta, p) in &self.grid {
            for (i, (mean, variance)) in self.conditional(*eta).enumerate() {
                rotated[(i, i)] += p * variance;
                at[i] = mean - centre[i];
            }
            if self.sampled_noise() {
                at[d] = eta - mean_eta;
            }
            for i in 0..dim {
                for j in 0..=i {
                    rotated[(i, j)] += p * at[i] * at[j];
                }
            }
        }
        let mut rotation = Array2::eye(dim);
        rotation.slice_mut(s![..d, ..d]).assign(&self.right);
        let symmetric =
            |a: &Array2<f64>| Array2::from_shape_fn(a.dim(), |(i, j)| a[(i.max(j), i.min(j))]);
        symmetric(&rotation.dot(&symmetric(&rotated)).dot(&rotation.t()))
    }

    /// Draws q exactly.
    pub fn draw(&self, rng: &mut ChainRng, q: &mut [f64]) {
        let d = self.directions.len();
        let u = rng.uniform();
        let cell = self.cumulative.partition_point(|below| *below <= u).min(self.grid.len() - 1);
        let mut eta = self.grid[cell].0;
        if self.sampled_noise() {
            // Uniform within the cell of the grid.
            eta += (rng.uniform() - 0.5) * (self.grid[1].0 - self.grid[0].0);
            q[d] = eta;
        }
        let rotated: Array1<f64> = self
            .conditional(eta)
            .map(|(mean, variance)| mean + variance.sqrt() * rng.normal())
            .collect();
        for (q, w) in q[..d].iter_mut().zip(&self.right.dot(&rotated)) {
            *q = *w;
        }
    }
}

const OF_MODERATE_SCALE: &str = "within 1e-130 and 1e130";

/// The local maxima (eta, value) of a log density of eta.
fn modes(log_density: impl Fn(f64) -> f64) -> Result<Vec<(f64, f64)>, Error> {
    let step = 0.25;
    let coarse: Vec<(f64, f64)> = (0..=(2.0 * LARGEST_ETA / step) as usize)
        .map(|i| step * i as f64 - LARGEST_ETA)
        .map(|eta| (eta, log_density(eta)))
        .collect();
    let mut modes = Vec::new();
    for near in coarse.windows(3).filter(|w| w[1].1 >= w[0].1 && w[1].1 > w[2].1) {
        let (mut low, mut high) = (near[0].0, near[2].0);
        for _ in 0..90 {
            let third = (high - low) / 3.0;
            if log_density(low + third) < log_density(high - third) {
                low += third;
            } else {
                high -= third;
            }
        }
        modes.push((low, log_density(low)));
    }
    let highest = |of: &[(f64, f64)]| of.iter().map(|m| m.1).fold(f64::NEG_INFINITY, f64::max);
    if !highest(&modes).is_finite() || highest(&coarse) > highest(&modes) {
        return Err(spread());
    }
    Ok(modes)
}

/// The point from `mode` in the direction of `sign` at which the log density becomes negligible.
fn edge(log_density: impl Fn(f64) -> f64, mode: f64, sign: f64, peak: f64) -> Result<f64, Error> {
    let mut width = 1e-7;
    while log_density(mode + sign * width) > peak - NEGLIGIBLE {
        width *= 1.1;
        if (mode + sign * width).abs() > LARGEST_ETA {
            return Err(spread());
        }
    }
    Ok(mode + sign * width)
}

fn spread() -> Error {
    let found = "so uncertain that it cannot be tabulated: data and prior leave it open";
    Error::argument("noise sd", found, OF_MODERATE_SCALE)
}
