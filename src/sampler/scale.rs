//! The scale of proposals: a step size and a linear map L, with M = L L^T.

use serde::{Deserialize, Serialize};

use super::{Step, WarmupProgress};
use crate::Error;
use crate::adapt::{Covariance, DualAveraging, Variance, Windows};
use crate::error::positive;
use crate::linalg::cholesky::Cholesky;
use crate::linalg::geometric_mean::geometric_mean;
use crate::memory;
use crate::message::Setting;
use crate::portable::powf;
use crate::targets::Point;

/// The linear map of the proposals that is learnt during warm-up.
///
/// Proposals are made in the coordinates of x = L^-1 q, in which a well-chosen L makes the target
/// about isotropic. M is learnt during warm-up as the (co)variance of the chain, regularised as
/// n/(n+5) V + 5/(n+5) 1e-3 I (Stan reference manual; the second term is absolute, so that
/// parameters of standard deviation far below 0.01 are stepped over too carefully: scale the
/// features), and the step size by [dual averaging](crate::adapt::DualAveraging). Scales from draws
/// and gradients are not shrunk: they have no absolute unit to be shrunk towards, and an error in
/// either variance enters by its fourth root only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preconditioner {
    /// None: all coordinates have the same scale.
    Identity,
    /// A scale for each coordinate; O(d) per step.
    #[default]
    Diagonal,
    /// A scale for each coordinate, from the variances of positions and of gradients: the square of
    /// the scale is sqrt(var q_i / var g_i). O(d) per step; for kernels that use gradients.
    ///
    /// For a normal target with precision P, var g_i = P_ii: the scale lies between the marginal
    /// standard deviation and the conditional one, which bounds the step size. Source: Seyboldt,
    /// Carlson and Carpenter, *Preconditioning Hamiltonian Monte Carlo by minimising Fisher
    /// divergence*, 2026, arXiv:2603.18845, section on diagonal matrices. In a
    /// [`Cycle`](super::Cycle) whose other kernel leaves a position without a gradient, this is
    /// [`Diagonal`](Self::Diagonal).
    DiagonalFromGradients,
    /// A full covariance matrix; O(d^2) per step and in memory, O(d^3) a few times in all.
    ///
    /// For linear models, whose posterior is about one ellipsoid: for slope and intercept of
    /// the study `linear_toy`, whose correlation is -0.86, it gave twelve times as many effective
    /// draws as [`Diagonal`](Self::Diagonal). Not for networks: on iris it left MALA with fewer
    /// than a tenth of the effective draws that [`Diagonal`](Self::Diagonal) gives.
    Dense,
    /// A full matrix M from the covariances A of positions and B of gradients, for kernels that use gradients: the symmetric one with
    ///
    /// ```text
    /// M B M = A
    /// ```
    ///
    /// which minimises the Fisher divergence between the draws in the coordinates x and N(0, I) (Seyboldt, Carlson and Carpenter 2026, arXiv:2603.18845, section on full
    /// matrices). For a normal target with precision P every gradient is g = -P (q - mu), so that B = P A P for any draws, and M is the covariance P^-1 from 2 d draws,
    /// without an error of sampling and before the chain has come to rest. So it has no unit, and keeps correlations that
    /// [`Dense`](Self::Dense) shrinks away; its first window begins after 1 % of the warm-up, since trajectories are long without it. In z = q / s, s the scales of
    /// [`DiagonalFromGradients`](Self::DiagonalFromGradients), A + e I and B + e I with e = 1e-6 take the place of A and B, so that
    /// directions which no draw has seen keep that scale.
    ///
    /// Only these scales are taken from a window in which the chain has moved fewer than 2 d times (the longest window is some 40 % of the warm-up, which should have 5 d iterations and more), in which the gradient of
    /// a coordinate hardly varies, or in which another kernel of a [`Cycle`](super::Cycle) leaves positions without gradients. A step updates two d x d matrices, a window ends with an
    /// eigendecomposition, and 3 d^2 numbers are kept, thrice that while a window ends.
    ///
    /// For targets that are about one ellipsoid in units of their own: of a regression on the year, whose intercept and slope have a correlation of -0.9999, see
    /// `benches/comparison/README.md`.
    DenseFromGradients,
}

/// A step size and a linear map, adapted during warm-up. See the [`Preconditioner`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scale {
    step_size: f64,
    map: Map,
    adaptation: Option<Adaptation>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Map {
    Identity,
    Diagonal(Vec<f64>),
    Dense(Cholesky),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Adaptation {
    dual: DualAveraging,
    adapt_step_size: bool,
    moments: Moments,
    /// The windows of the warm-up, known from its first step on.
    windows: Option<Windows>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Moments {
    None,
    Diagonal(Variance),
    DiagonalFromGradients {
        positions: Variance,
        gradients: Variance,
    },
    Dense(Covariance),
    /// `moves` are the steps of the window by which the chain moved.
    DenseFromGradients {
        positions: Covariance,
        gradients: Covariance,
        moves: usize,
    },
}

impl Preconditioner {
    /// The numbers in the matrices of a [`Scale`]: the factor, the running covariances, and what is made of them
    /// while a window ends.
    pub(super) fn matrix_numbers(self, dim: usize) -> usize {
        let matrices = match self {
            Self::Dense => 4,
            Self::DenseFromGradients => 12,
            _ => 0,
        };
        dim.saturating_mul(dim).saturating_mul(matrices)
    }
}

impl Scale {
    /// The scale before warm-up: `step_size` > 0 and the identity map.
    ///
    /// `target_accept` in (0, 1) is the acceptance that the step size is adapted to; `None` keeps
    /// it fixed.
    ///
    /// Errors: a number out of range, or a `dim` that does not fit into memory.
    pub fn new(
        dim: usize,
        step_size: f64,
        target_accept: Option<f64>,
        preconditioner: Preconditioner,
    ) -> Result<Self, Error> {
        // The vectors of the diagonal, and of two running variances.
        let vectors = dim.saturating_mul(5);
        let numbers = preconditioner.matrix_numbers(dim).saturating_add(vectors);
        memory::check::<f64>("dim", &[(numbers, "numbers")], "take fewer dimensions")?;
        Self::of_run(dim, step_size, target_accept, preconditioner)
    }

    /// Makes a scale like [`new`](Self::new), but without checking the memory, which the run has
    /// done: kernels that are made during a run must not depend on how much memory is left then.
    pub(super) fn of_run(
        dim: usize,
        step_size: f64,
        target_accept: Option<f64>,
        preconditioner: Preconditioner,
    ) -> Result<Self, Error> {
        positive("step_size", step_size)?;
        if let Some(target) = target_accept
            && !(target > 0.0 && target < 1.0)
        {
            let error = Error::argument("target_accept", target, "between 0 and 1, exclusive");
            return Err(error.of(Setting::TargetAccept));
        }
        let (map, moments) = match preconditioner {
            Preconditioner::Identity => (Map::Identity, Moments::None),
            Preconditioner::Diagonal => {
                (Map::Diagonal(vec![1.0; dim]), Moments::Diagonal(Variance::new(dim)))
            }
            Preconditioner::DiagonalFromGradients => {
                let (positions, gradients) = (Variance::new(dim), Variance::new(dim));
                let moments = Moments::DiagonalFromGradients { positions, gradients };
                (Map::Diagonal(vec![1.0; dim]), moments)
            }
            Preconditioner::Dense | Preconditioner::DenseFromGradients => {
                let mut identity = vec![0.0; dim * dim];
                identity.iter_mut().step_by(dim + 1).for_each(|x| *x = 1.0);
                let identity = Cholesky::new("identity", &identity, dim)?;
                let positions = Covariance::new(dim);
                let moments = match preconditioner {
                    Preconditioner::Dense => Moments::Dense(positions),
                    _ => Moments::DenseFromGradients {
                        positions,
                        gradients: Covariance::new(dim),
                        moves: 0,
                    },
                };
                (Map::Dense(identity), moments)
            }
        };
        let adaptation = Some(Adaptation {
            dual: DualAveraging::new(step_size, target_accept.unwrap_or(0.5)),
            adapt_step_size: target_accept.is_some(),
            moments,
            windows: None,
        });
        Ok(Self { step_size, map, adaptation })
    }

    /// An error if the linear map is one of another dimension.
    pub(super) fn check_dim(&self, dim: usize) -> Result<(), Error> {
        match &self.map {
            Map::Diagonal(scales) if scales.len() != dim => {
                Err(Error::shape("coordinates of the scale", scales.len(), dim))
            }
            Map::Dense(factor) if factor.dim() != dim => {
                Err(Error::shape("coordinates of the scale", factor.dim(), dim))
            }
            _ => Ok(()),
        }
    }

    /// With a gentler adaptation of a step size that is known roughly; see
    /// [`DualAveraging::with_gamma`].
    pub(crate) fn with_gamma(mut self, gamma: f64) -> Self {
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.dual = adaptation.dual.clone().with_gamma(gamma);
        }
        self
    }

    /// The present step size.
    pub fn step_size(&self) -> f64 {
        self.step_size
    }

    /// The diagonal of L, if L is diagonal and not the identity.
    pub(super) fn diagonal(&self) -> Option<&[f64]> {
        match &self.map {
            Map::Diagonal(sd) => Some(sd),
            _ => None,
        }
    }

    /// out = L x.
    pub fn mul(&self, x: &[f64], out: &mut [f64]) {
        match &self.map {
            Map::Identity => out.copy_from_slice(x),
            Map::Diagonal(sd) => {
                for ((out, x), sd) in out.iter_mut().zip(x).zip(sd) {
                    *out = sd * x;
                }
            }
            Map::Dense(factor) => factor.mul_lower(x, out),
        }
    }

    /// out = L^T x.
    pub fn mul_transpose(&self, x: &[f64], out: &mut [f64]) {
        match &self.map {
            Map::Dense(factor) => factor.mul_lower_transpose(x, out),
            _ => self.mul(x, out),
        }
    }

    /// x becomes L^-1 x.
    pub(super) fn solve(&self, x: &mut [f64]) {
        match &self.map {
            Map::Identity => {}
            Map::Diagonal(sd) => x.iter_mut().zip(sd).for_each(|(x, sd)| *x /= sd),
            Map::Dense(factor) => factor.solve_lower(x),
        }
    }

    /// Whether the step size is being adapted.
    pub fn adapts_step_size(&self) -> bool {
        self.adaptation.as_ref().is_some_and(|a| a.adapt_step_size)
    }

    /// Goes on from `step_size`, and forgets the adaptation so far, if the step size is being
    /// adapted.
    pub fn restart_step_size(&mut self, step_size: f64) {
        if let Some(adaptation) = &mut self.adaptation
            && adaptation.adapt_step_size
        {
            adaptation.dual.restart(step_size);
            self.step_size = step_size;
        }
    }

    /// Takes a step size that a kernel has found by means of its own.
    pub(super) fn set_step_size(&mut self, step_size: f64) {
        self.step_size = step_size;
    }

    /// Learns from one step of the warm-up. True if L has changed: a step of the same length means
    /// something else now.
    pub fn adapt(&mut self, step: &Step, current: &Point, warmup: WarmupProgress) -> bool {
        let Some(adaptation) = &mut self.adaptation else { return false };
        if adaptation.adapt_step_size {
            adaptation.dual.update(step.accept_prob.unwrap_or(0.0));
            self.step_size = adaptation.dual.step_size();
        }
        let windows = adaptation.windows.get_or_insert_with(|| match adaptation.moments {
            Moments::DenseFromGradients { .. } => Windows::early(warmup.total),
            _ => Windows::new(warmup.total),
        });
        if !windows.contains(warmup.iteration) {
            return false;
        }
        match &mut adaptation.moments {
            Moments::None => return false,
            Moments::Diagonal(variance) => variance.update(current.q()),
            Moments::DiagonalFromGradients { positions, gradients } => {
                positions.update(current.q());
                if current.has_force() {
                    gradients.update(current.force());
                }
            }
            Moments::Dense(covariance) => covariance.update(current.q()),
            Moments::DenseFromGradients { positions, gradients, moves } => {
                *moves += usize::from(step.accepted);
                positions.update(current.q());
                if current.has_force() {
                    gradients.update(current.force());
                }
            }
        }
        let learnt =
            windows.ends_after(warmup.iteration) && self.map.learn(&mut adaptation.moments);
        if learnt {
            // In the new coordinates the target is about a standard normal.
            self.restart_step_size(1.0 / (current.q().len() as f64).sqrt());
        }
        learnt
    }

    /// Ends the adaptation.
    pub fn freeze(&mut self) {
        if let Some(adaptation) = self.adaptation.take()
            && adaptation.adapt_step_size
            && adaptation.windows.is_some()
        {
            self.step_size = adaptation.dual.averaged();
        }
    }
}

/// The weight of an estimated variance from n draws, and the term that is added to it.
fn regularisation(n: f64) -> (f64, f64) {
    const PSEUDO_COUNT: f64 = 5.0;
    const PRIOR_VARIANCE: f64 = 1e-3;
    (n / (n + PSEUDO_COUNT), PRIOR_VARIANCE * PSEUDO_COUNT / (n + PSEUDO_COUNT))
}

/// Scales from the variances of positions, which are reset, and of gradients.
fn learn_diagonal(sd: &mut [f64], positions: &mut Variance, gradients: Option<&Variance>) -> bool {
    let (data, prior) = regularisation(positions.count());
    let (mut v, mut g) = (vec![0.0; sd.len()], vec![0.0; sd.len()]);
    positions.variance(&mut v);
    positions.reset();
    if let Some(gradients) = gradients {
        gradients.variance(&mut g);
    }
    let moved = v.iter().all(|v| v.is_finite() && *v > 0.0);
    if moved {
        for ((sd, v), g) in sd.iter_mut().zip(v).zip(g) {
            *sd = scale_from(v, g).unwrap_or((data * v + prior).sqrt());
        }
    }
    moved
}

/// The scale of a coordinate from the variances of its positions and gradients. None if its gradient hardly varies, as under a uniform
/// prior where the data do not inform it: its positions alone know it then.
fn scale_from(v: f64, g: f64) -> Option<f64> {
    let from_both = powf(v / g, 0.25);
    let known = g > 0.0 && from_both.is_normal() && from_both <= 1e3 * v.sqrt();
    known.then_some(from_both)
}

/// M of a window's covariances, which are reset, after so many moves. None if they are unusable.
fn dense_from_gradients(
    positions: &mut Covariance,
    gradients: &mut Covariance,
    moves: usize,
) -> Option<Vec<f64>> {
    let (n, dim) = (positions.count(), positions.mean().len());
    let complete = gradients.count() == n;
    let (data, prior) = regularisation(n);
    let (mut a, mut b) = (vec![0.0; dim * dim], vec![0.0; dim * dim]);
    positions.covariance(&mut a);
    gradients.covariance(&mut b);
    positions.reset();
    gradients.reset();
    let mut scales = vec![0.0; dim];
    let mut all_known = complete && moves >= 2 * dim; //~ dense-few
    for (i, scale) in scales.iter_mut().enumerate() {
        let (v, g) = (a[i * dim + i], if complete { b[i * dim + i] } else { 0.0 });
        if !(v.is_finite() && v > 0.0) {
            return None;
        }
        let from_both = scale_from(v, g);
        all_known &= from_both.is_some();
        *scale = from_both.unwrap_or((data * v + prior).sqrt());
    }
    let mut m = vec![0.0; dim * dim];
    if all_known {
        for i in 0..dim {
            for j in 0..dim {
                let unit = scales[i] * scales[j];
                let floor = if i == j { 1e-6 } else { 0.0 };
                a[i * dim + j] = a[i * dim + j] / unit + floor;
                b[i * dim + j] = b[i * dim + j] * unit + floor; //~ dense-gradients
            }
        }
        m = geometric_mean(&a, &b, dim).ok()?;
    } else {
        m.iter_mut().step_by(dim + 1).for_each(|m| *m = 1.0);
    }
    for i in 0..dim {
        for j in 0..dim {
            m[i * dim + j] *= scales[i] * scales[j];
        }
    }
    Some(m)
}

impl Map {
    /// Takes up the moments of one window and resets them. False if the positions are unusable: a
    /// chain that did not move, or a matrix that is not positive definite.
    fn learn(&mut self, moments: &mut Moments) -> bool {
        match (self, moments) {
            (Map::Diagonal(sd), Moments::Diagonal(variance)) => learn_diagonal(sd, variance, None),
            (Map::Diagonal(sd), Moments::DiagonalFromGradients { positions, gradients }) => {
                let complete = gradients.count() == positions.count();
                let moved = learn_diagonal(sd, positions, complete.then_some(&*gradients));
                gradients.reset();
                moved
            }
            (Map::Dense(factor), Moments::Dense(covariance)) => {
                let (data, prior) = regularisation(covariance.count());
                let dim = covariance.mean().len();
                let mut learnt = vec![0.0; dim * dim];
                covariance.covariance(&mut learnt);
                covariance.reset();
                let moved = learnt.iter().step_by(dim + 1).all(|v| v.is_finite() && *v > 0.0);
                learnt.iter_mut().for_each(|c| *c *= data);
                learnt.iter_mut().step_by(dim + 1).for_each(|v| *v += prior);
                match Cholesky::new("covariance", &learnt, dim) {
                    Ok(new) if moved => {
                        *factor = new;
                        true
                    }
                    _ => false,
                }
            }
            (Map::Dense(factor), Moments::DenseFromGradients { positions, gradients, moves }) => {
                let dim = positions.mean().len();
                let m = dense_from_gradients(positions, gradients, std::mem::take(moves));
                match m.and_then(|m| Cholesky::new("scale", &m, dim).ok()) {
                    Some(new) => {
                        *factor = new;
                        true
                    }
                    None => false,
                }
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::eigen::SymmetricEigen;
    use crate::rng::ChainRng;

    /// M of `n` draws of a random walk, which are dependent and have not come to rest, of N(0, P^-1), a pair of whose coordinates has the correlation 0.9999, in `units`.
    fn learnt_of_normal(
        dim: usize,
        n: usize,
        units: &dyn Fn(usize) -> f64,
    ) -> (Vec<f64>, Vec<f64>) {
        let (rho, mut rng) = (0.9999, ChainRng::new(3, 0));
        // P in the units of `units`: the first two coordinates are the pair, the others independent.
        let precision = |i: usize, j: usize| {
            let scaled = match (i.min(j), i.max(j)) {
                (0, 0) | (1, 1) => 1.0 / (1.0 - rho * rho),
                (0, 1) => -rho / (1.0 - rho * rho),
                (a, b) => f64::from(a == b),
            };
            scaled / (units(i) * units(j))
        };
        let (mut positions, mut gradients) = (Covariance::new(dim), Covariance::new(dim));
        let mut q: Vec<f64> = (0..dim).map(|i| 10.0 * units(i)).collect();
        for _ in 0..n {
            q.iter_mut().enumerate().for_each(|(i, q)| *q += 0.3 * units(i) * rng.normal());
            let force = |i: usize| -(0..dim).map(|j| precision(i, j) * q[j]).sum::<f64>();
            positions.update(&q);
            gradients.update(&(0..dim).map(force).collect::<Vec<_>>());
        }
        let learnt = dense_from_gradients(&mut positions, &mut gradients, n).unwrap();
        let exact = |i: usize, j: usize| {
            let scaled = match (i.min(j), i.max(j)) {
                (0, 1) => rho,
                (a, b) => f64::from(a == b),
            };
            scaled * units(i) * units(j)
        };
        let exact = (0..dim * dim).map(|k| exact(k / dim, k % dim)).collect();
        (learnt, exact)
    }

    /// The largest and the least factor by which the standard deviation of a direction is off: the eigenvalues of L^-1 M L^-T, `exact` = L L^T.
    fn off_by(learnt: &[f64], exact: &[f64], dim: usize) -> [f64; 2] {
        let lower = Cholesky::new("exact", exact, dim).unwrap();
        let mut rows = learnt.to_vec();
        for _ in 0..2 {
            rows.chunks_exact_mut(dim).for_each(|row| lower.solve_lower(row));
            rows = (0..dim * dim).map(|k| rows[k % dim * dim + k / dim]).collect();
        }
        let values = SymmetricEigen::new("M", &rows, dim).unwrap().values;
        [values[0].sqrt(), values[dim - 1].sqrt()]
    }

    /// The walk is 40 times as wide as the narrow direction, and gradients see the wide one so little that e makes it up to a fifth too short: 1e-9
    /// in its place leaves it within 0.1 %.
    #[test]
    fn dense_scales_from_gradients_are_those_of_a_normal_target() {
        for (dim, n) in [(2, 25), (3, 25), (10, 25), (10, 100)] {
            for units in
                [&|_| 1.0, &|i| if i % 2 == 0 { 1e-6 } else { 1e4 }] as [&dyn Fn(usize) -> f64; 2]
            {
                let (learnt, exact) = learnt_of_normal(dim, n, units);
                let [least, largest] = off_by(&learnt, &exact, dim);
                assert!(0.8 < least && largest < 1.02, "{dim}, {n}: {least} to {largest}");
            }
        }
        // Too few draws for a matrix: the scales of each coordinate.
        let (learnt, _) = learnt_of_normal(10, 19, &|_| 1.0);
        assert!((0..100).all(|k| (learnt[k] != 0.0) == (k % 11 == 0)));
    }

    /// Multiplying q by c multiplies its scale by c and its gradient by 1 / c.
    #[test]
    fn scales_from_gradients_have_no_unit_of_their_own() {
        let mut rng = ChainRng::new(1, 0);
        let draws: Vec<f64> = (0..1000).map(|_| rng.normal()).collect();
        let learnt = |c: f64| {
            let (mut positions, mut gradients) = (Variance::new(1), Variance::new(1));
            for x in &draws {
                positions.update(&[c * x]);
                gradients.update(&[-4.0 * x / c]);
            }
            let mut sd = [1.0];
            assert!(learn_diagonal(&mut sd, &mut positions, Some(&gradients)));
            sd[0]
        };
        // var q = c^2, var g = 16 / c^2.
        assert!((learnt(1.0) - 0.5).abs() < 1e-12);
        for c in [1e-9, 1e-4, 1e4, 1e9] {
            assert!((learnt(c) / c - 0.5).abs() < 1e-9, "{c}: {}", learnt(c));
        }
    }
}
