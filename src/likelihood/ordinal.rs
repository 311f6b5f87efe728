//! Classes in order, one output.

use ndarray::Array2;

use super::{
    Likelihood, ORDINARY, SecondOrderLikelihood, Tangent, Weights, check_outputs, ln_1m_exp,
    logistic, mismatch, over_exp_m1, sigmoid, weighted,
};
use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::{Tile, TileMut};
use crate::layout::Layout;
use crate::portable::exp;
use crate::rng::ChainRng;

/// The most classes of an [`Ordinal`] response.
const MOST_CLASSES: usize = 100;

/// P(y <= class k) = sigmoid(c_k - f(x)) with cutpoints c_1 < .. < c_{K-1}: the cumulative logit, or proportional
/// odds. The response has K classes, whose order is the order of their numbers; the model has one output.
///
/// The larger f, the higher the class. The cutpoints are ordered by construction: the parameters are the first
/// cutpoint and the logarithms of the increments,
///
/// ```text
/// c_k = c_{k-1} + D_k,   D_k = e^d_k,   k = 2 .. K - 1
/// ```
///
/// Class k lies between l = c_{k-1} - f and u = c_k - f, with l = -inf for the first class and u = inf for the last.
/// A difference of sigmoids would be 0 far from both cutpoints; its logarithm has a form in which nothing cancels,
///
/// ```text
/// sigmoid(u) - sigmoid(l) = (1 - e^-(u - l)) sigmoid(u) sigmoid(-l)
/// ell            = L(D_k) - softplus(-u) - softplus(l),     L(D) = log(1 - e^-D)
/// d ell / d u    = sigmoid(-u)         d ell / d l = -sigmoid(l), beside the term
/// d L / d d_k    = M_k,                M = D / (e^D - 1)
/// ```
///
/// in which the first class has neither L nor l, and the last class neither L nor u. With s_j = sum of d ell / d u and
/// d ell / d l over the rows' ends that are the cutpoint j,
///
/// ```text
/// d ell / d f    = -(d ell / d u + d ell / d l)
/// d ell / d c_1  = s_1 + .. + s_{K-1}
/// d ell / d d_j  = D_j (s_j + .. + s_{K-1}) + M_j (number of rows of class j)
/// ```
///
/// Second derivatives follow from d sigmoid / d u = sigmoid(u) sigmoid(-u) and d M / d d = M (1 - D - M); an
/// expectation is a sum over the classes.
///
/// **Which parameter places f.** A constant added to f and to c_1 changes nothing, so one of both must be left
/// out. [`new`](Self::new) has c_1 as a parameter: take a model without a bias of its output, such as
/// [`Linear::without_bias`](crate::model::Linear::without_bias). For networks, whose output has a bias b, take
/// [`with_first_cutpoint`](Self::with_first_cutpoint): with c_1 fixed at 0, -b is the first cutpoint.
///
/// **Priors.** Blocks: `first_cutpoint` = c_1 unless fixed, and `log_increments` = (d_2, .., d_{K-1}) if K > 2. Priors
/// are of these. The Jacobian of (c_1, d) to c is triangular, with 1 and D_k on its diagonal, so a density
/// p(c) of ordered cutpoints has the log density log p(c) + d_2 + .. + d_{K-1} in these coordinates. Outside
/// D_k from 1e-100 to 1e100 the density is taken to be 0.
///
/// Source: McCullagh, Journal of the Royal Statistical Society B 42, 1980, doi:10.1111/j.2517-6161.1980.tb01109.x.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use ndarray::array;
/// let x = array![[0.0], [1.0], [2.0], [3.0]];
/// let data = Dataset::classification(x, vec![0, 1, 1, 2], ["poor", "fair", "good"])?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?)
///     .with("first_cutpoint", Normal::new(0.0, 2.0)?)
///     .with("log_increments", Normal::new(0.0, 1.0)?);
/// let line = Linear::new(1, 1)?.without_bias();
/// let posterior = Posterior::new(line, Ordinal::new(3)?, &data, priors)?;
/// assert_eq!(posterior.layout().block_names(), ["w", "first_cutpoint", "log_increments"]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ordinal {
    classes: usize,
    first: Option<f64>,
}

impl Ordinal {
    /// So many classes, 2 to 100, with the first cutpoint as a parameter, for models without a bias.
    pub fn new(classes: usize) -> Result<Self, Error> {
        match (2..=MOST_CLASSES).contains(&classes) {
            true => Ok(Self { classes, first: None }),
            false => {
                let allowed = "2 to 100: more classes in order are numbers, for a regression";
                Err(Error::argument("classes of the ordinal likelihood", classes, allowed))
            }
        }
    }

    /// The first cutpoint is fixed, for models with a bias, which takes its place.
    ///
    /// # Errors
    /// A number that is not finite.
    pub fn with_first_cutpoint(self, c_1: f64) -> Result<Self, Error> {
        match c_1.is_finite() {
            true => Ok(Self { first: Some(c_1), ..self }),
            false => Err(Error::argument("first cutpoint", c_1, "a finite number")),
        }
    }

    /// c_1 if it is a parameter, else 0; and the part of the increments.
    fn split<'p>(&self, phi: &'p [f64]) -> (f64, &'p [f64]) {
        match self.first {
            Some(_) => (0.0, phi),
            None => (phi[0], &phi[1..]),
        }
    }

    /// The cutpoints; `None` where the density is taken to be 0.
    fn cutpoints(&self, phi: &[f64]) -> Option<Cutpoints> {
        let (sampled, log_increments) = self.split(phi);
        let mut cuts = Cutpoints {
            classes: self.classes,
            at: [self.first.unwrap_or(sampled); MOST_CLASSES],
            increments: [0.0; MOST_CLASSES],
            log_shares: [0.0; MOST_CLASSES],
        };
        for (k, d) in log_increments.iter().enumerate() {
            let increment = exp(*d);
            if !ORDINARY.contains(&increment) {
                return None;
            }
            cuts.increments[k + 1] = increment;
            cuts.log_shares[k + 1] = ln_1m_exp(increment);
            cuts.at[k + 1] = cuts.at[k] + increment; //~ cutpoints
        }
        Some(cuts)
    }

    /// Adds the derivatives of the cutpoints, and of the logarithms of the increments beside those, to phi.
    fn add(&self, cuts: &Cutpoints, ends: &[f64; MOST_CLASSES], own: &[f64], to_phi: &mut [f64]) {
        let from = usize::from(self.first.is_none());
        let mut above = 0.0;
        for k in (1..self.classes - 1).rev() {
            above += ends[k];
            to_phi[from + k - 1] += cuts.increments[k] * above + own[k];
        }
        if from == 1 {
            to_phi[0] += above + ends[0];
        }
    }
}

/// c_1, .., c_{K-1}, of which the first has the place 0, and D_k and L(D_k) of the k-th of them.
struct Cutpoints {
    classes: usize,
    at: [f64; MOST_CLASSES],
    increments: [f64; MOST_CLASSES],
    log_shares: [f64; MOST_CLASSES],
}

/// A class seen from an output.
struct Seen {
    /// ell.
    log_p: f64,
    /// sigmoid(-u) and sigmoid(u), 0 and 1 for the last class.
    upper: [f64; 2],
    /// sigmoid(l) and sigmoid(-l), 0 and 1 for the first class.
    lower: [f64; 2],
}

impl Cutpoints {
    /// Class `k`, counted from 0, given f.
    fn seen(&self, k: usize, f: f64) -> Seen {
        let mut seen = Seen { log_p: 0.0, upper: [0.0, 1.0], lower: [0.0, 1.0] };
        if k + 1 < self.classes {
            let u = self.at[k] - f;
            let [tail, above, below] = logistic(u);
            seen.log_p -= (-u).max(0.0) + tail;
            seen.upper = [below, above];
        }
        if k > 0 {
            let l = self.at[k - 1] - f;
            let [tail, above, below] = logistic(l);
            seen.log_p -= l.max(0.0) + tail;
            seen.lower = [above, below];
        }
        if k > 0 && k + 1 < self.classes {
            seen.log_p += self.log_shares[k]; //~ ordinal-density
        }
        seen
    }

    /// P(y <= class k), counted from 0.
    fn cumulative(&self, k: usize, f: f64) -> f64 {
        if k + 1 < self.classes { sigmoid(self.at[k] - f) } else { 1.0 }
    }
}

impl Likelihood for Ordinal {
    fn layout(&self) -> Layout {
        let layout = match self.first {
            None => Layout::new().with("first_cutpoint", &[]),
            Some(_) => Layout::new(),
        };
        match self.classes {
            2 => layout,
            classes => layout.with("log_increments", &[classes - 2]),
        }
    }

    fn description(&self) -> Option<String> {
        let first = self.first.map_or("sampled".into(), |c| c.to_string());
        Some(format!("ordinal of {} classes, first cutpoint {first}", self.classes))
    }

    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        let Response::Classes { index, names } = response else {
            return Err(mismatch("ordinal", response, "classes"));
        };
        if names.len() != self.classes {
            return Err(mismatch("ordinal", response, &format!("{} classes", self.classes)));
        }
        check_outputs("ordinal", n_outputs, 1)?;
        Ok(Array2::from_shape_fn((index.len(), 1), |(i, _)| index[i] as f64))
    }

    fn log_lik_rows(&self, phi: &[f64], out: TileMut, y: Tile, rows: &mut [f64]) {
        let Some(cuts) = self.cutpoints(phi) else {
            return rows.fill(f64::NEG_INFINITY);
        };
        for ((row, y), f) in rows.iter_mut().zip(y.column(0)).zip(out.as_tile().column(0)) {
            *row = cuts.seen(*y as usize, *f).log_p;
        }
    }

    fn log_lik_grad(
        &self,
        phi: &[f64],
        out: Tile,
        y: Tile,
        weights: Weights,
        mut d_out: TileMut,
        d_phi: &mut [f64],
    ) -> f64 {
        let Some(cuts) = self.cutpoints(phi) else {
            d_out.values().fill(0.0);
            return f64::NEG_INFINITY;
        };
        let (mut ends, mut rows, mut ell) = ([0.0; MOST_CLASSES], [0.0; MOST_CLASSES], 0.0);
        let outputs = d_out.column(0).iter_mut().zip(y.column(0)).zip(out.column(0));
        for (((d, y), f), w) in outputs.zip(weights) {
            let k = *y as usize;
            let Seen { log_p, upper, lower } = cuts.seen(k, *f);
            ell += weighted(*w, log_p);
            *d = w * (lower[0] - upper[0]);
            ends[k] += w * upper[0];
            ends[k.saturating_sub(1)] -= w * lower[0];
            rows[k] += w;
        }
        for k in (1..self.classes - 1).rev() {
            rows[k] *= over_exp_m1(cuts.increments[k]); //~ increment-gradient
        }
        self.add(&cuts, &ends, &rows, d_phi);
        ell
    }

    /// One column for the second of two classes, else one for each.
    fn n_means(&self, _n_outputs: usize) -> usize {
        if self.classes == 2 { 1 } else { self.classes }
    }

    /// The probabilities of the classes.
    fn mean(&self, phi: &[f64], out: Tile, mut mean: TileMut) {
        let Some(cuts) = self.cutpoints(phi) else {
            return mean.values().fill(f64::NAN);
        };
        let first = usize::from(self.classes == 2);
        for j in 0..mean.columns() {
            for (p, f) in mean.column(j).iter_mut().zip(out.column(0)) {
                *p = exp(cuts.seen(first + j, *f).log_p);
            }
        }
    }

    fn n_drawn(&self, _n_outputs: usize) -> usize {
        1
    }

    /// Draws by inversion of the distribution function of the classes.
    fn draw(&self, phi: &[f64], out: TileMut, _y: Tile, rng: &mut ChainRng, mut drawn: TileMut) {
        let Some(cuts) = self.cutpoints(phi) else {
            return drawn.values().fill(f64::NAN);
        };
        for (y, f) in drawn.column(0).iter_mut().zip(out.as_tile().column(0)) {
            let u = rng.uniform();
            let class = (0..self.classes).find(|k| u < cuts.cumulative(*k, *f)); //~ ordinal-draw
            *y = if f.is_nan() { f64::NAN } else { class.unwrap_or(0) as f64 };
        }
    }
}

/// The derivatives of sums over rows along a direction.
struct OfCutpoints<'c> {
    cuts: &'c Cutpoints,
    /// The directions of the cutpoints.
    r_at: [f64; MOST_CLASSES],
    /// Of each cutpoint: the sum of the derivatives with respect to it, and its own derivative.
    ends: [f64; MOST_CLASSES],
    r_ends: [f64; MOST_CLASSES],
    /// The rows of each class.
    rows: [f64; MOST_CLASSES],
}

impl OfCutpoints<'_> {
    /// Adds a row of class `k` with this weight, and returns the derivative of d ell / d f.
    fn add(&mut self, weight: f64, k: usize, seen: &Seen, r_f: f64) -> f64 {
        let slope = |[sigmoid, rest]: [f64; 2]| weight * sigmoid * rest;
        let below = k.saturating_sub(1);
        let r_upper = -slope(seen.upper) * (self.r_at[k] - r_f);
        let r_lower = -slope(seen.lower) * (self.r_at[below] - r_f);
        self.ends[k] += weight * seen.upper[0];
        self.ends[below] -= weight * seen.lower[0];
        self.r_ends[k] += r_upper;
        self.r_ends[below] += r_lower;
        self.rows[k] += weight;
        -(r_upper + r_lower)
    }
}

impl SecondOrderLikelihood for Ordinal {
    fn log_lik_tangent(
        &self,
        curvature: Curvature,
        at: Tangent,
        mut r_d_out: TileMut,
        r_d_phi: &mut [f64],
    ) {
        let Tangent { phi, out, y, weights, r_out, r_phi, .. } = at;
        let Some(cuts) = self.cutpoints(phi) else {
            return r_d_out.values().fill(0.0);
        };
        let (r_first, r_log) = self.split(r_phi);
        let zeros = [0.0; MOST_CLASSES];
        let mut sums = OfCutpoints {
            cuts: &cuts,
            r_at: [r_first; MOST_CLASSES],
            ends: zeros,
            r_ends: zeros,
            rows: zeros,
        };
        for (k, r) in r_log.iter().enumerate() {
            sums.r_at[k + 1] = sums.r_at[k] + cuts.increments[k + 1] * r;
        }
        for (i, d) in r_d_out.column(0).iter_mut().enumerate() {
            let (f, r_f, w) = (out.column(0)[i], r_out.column(0)[i], weights[i]);
            *d = match curvature {
                Curvature::Observed => {
                    let k = y.column(0)[i] as usize;
                    sums.add(w, k, &cuts.seen(k, f), r_f)
                }
                Curvature::Expected => (0..self.classes)
                    .map(|k| (k, cuts.seen(k, f)))
                    .map(|(k, seen)| sums.add(w * exp(seen.log_p), k, &seen, r_f))
                    .sum(),
            };
        }
        self.add_tangent(&sums, r_log, r_d_phi);
    }
}

impl Ordinal {
    /// Adds the derivatives of the gradient with respect to phi.
    fn add_tangent(&self, sums: &OfCutpoints, r_log: &[f64], r_d_phi: &mut [f64]) {
        let (mut own, mut above) = ([0.0; MOST_CLASSES], 0.0);
        for (k, r) in r_log.iter().enumerate().rev().map(|(k, r)| (k + 1, r)) {
            above += sums.ends[k];
            let (increment, m) = (sums.cuts.increments[k], over_exp_m1(sums.cuts.increments[k]));
            own[k] = (increment * above + sums.rows[k] * m * (1.0 - increment - m)) * r;
        }
        self.add(sums.cuts, &sums.r_ends, &own, r_d_phi);
    }
}
