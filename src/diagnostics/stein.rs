//! The kernel Stein discrepancy: how far are these draws from that target?

use std::fmt;

use ndarray::{Array2, ArrayView2, Axis};

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::draws::Draws;
use crate::error::positive;
use crate::targets::GradTarget;

/// The largest number of draws that determine the median distance.
const MEDIAN_DRAWS: usize = 1000;

/// The kernel Stein discrepancy, and how to compute it: how far are these draws from that target?
///
/// R-hat and effective sample sizes say whether chains agree with each other. A sampler without an
/// accept-reject test can agree with itself on the wrong distribution: this compares draws with the
/// target itself, through its gradient alone, without its normalising constant.
///
/// For draws x_1 .. x_n in d dimensions with gradients g_i = grad log pi(x_i), the inverse multiquadric
/// kernel k(x, y) = (c^2 + |x - y|^2 / l^2)^(-1/2), u = c^2 + |r|^2 / l^2, r = x_i - x_j,
///
/// ```text
/// k_0(i, j) = d u^(-3/2) / l^2 - 3 |r|^2 u^(-5/2) / l^4
///             + (g_i - g_j)^T r u^(-3/2) / l^2 + g_i^T g_j u^(-1/2)
/// V   = 1/n^2 sum_(i,j) k_0(i, j)                 never negative; KSD = sqrt(V)
/// U   = 1/(n (n - 1)) sum_(i != j) k_0(i, j)      mean 0 for draws of the target
/// SE^2 = 2/(n (n - 1)) mean_(i != j) k_0(i, j)^2
/// ```
///
/// The mean of k_0(x, .) under the target is zero for every x. V of exact independent draws falls
/// like E k_0(x, x) / n, and with this kernel V to 0 means that the draws' distribution goes to the
/// target's, for targets whose log density is strongly concave far out (Gorham and Mackey, *Measuring
/// Sample Quality with Kernels*, 2017, arXiv:1703.01717; exponent -1/2, which is in the range of their
/// theorem 8). SE is the standard error of U for independent draws of the target: U a few SE above 0
/// is a bias that is larger than the noise. Autocorrelated draws have a larger one: thin them.
///
/// The units: by default every coordinate is divided by its standard deviation among the draws,
/// (gradients multiplied by it), and l is the median distance between those draws, of at most 1,000
/// of them. With a length scale given, draws are taken as they are. Compare V between samplers only
/// with the same fixed l, since the default l differs from sample to sample.
///
/// Cost: O(n^2 d), and n gradients; draws are thinned evenly to `max_draws` first. Not for densities
/// that end at a bound without vanishing there, as under a uniform prior: the mean of k_0 is zero only
/// if nothing is left over at the boundary. Not for many
/// dimensions: distances concentrate, and the power to see a wrong shape falls, beyond some tens. It
/// is also blind to the weights of modes that lie far apart, as every method that sees gradients only.
///
/// ```
/// use bnn_mcmc::diagnostics::Stein;
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::testing::GaussianTarget;
/// let target = GaussianTarget::new(vec![1.0, -2.0], &[1.0, 0.9, 0.9, 2.0])?;
/// let draws = Sampler::new(&target, Nuts::default()).seed(1).run()?;
/// let right = Stein::default().of_draws(&target, &draws)?;
/// assert!(right.u_statistic < 5.0 * right.standard_error);
/// let wrong = GaussianTarget::new(vec![1.5, -2.0], &[1.0, 0.9, 0.9, 2.0])?;
/// let wrong = Stein::default().of_draws(&wrong, &draws)?;
/// assert!(wrong.u_statistic > 20.0 * wrong.standard_error);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stein {
    /// c of the kernel, above 0.
    pub c: f64,
    /// l of the kernel, for draws as they are; `None` is the median distance of standardised draws.
    pub length_scale: Option<f64>,
    /// The largest number of draws, at least 2, to which draws are thinned evenly.
    pub max_draws: usize,
}

impl Default for Stein {
    /// c = 1, the median distance, at most 2,000 draws.
    fn default() -> Self {
        Self { c: 1.0, length_scale: None, max_draws: 2000 }
    }
}

/// A kernel Stein discrepancy: how far draws are from a target, in the symbols of [`Stein`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteinDiscrepancy {
    /// The V-statistic, the square of the discrepancy.
    pub v_statistic: f64,
    /// The U-statistic, whose mean is 0 for draws of the target.
    pub u_statistic: f64,
    /// The standard error of U, if the draws are independent ones of the target.
    pub standard_error: f64,
    /// The length scale l of the kernel.
    pub length_scale: f64,
    /// The number of draws n, after thinning.
    pub n_draws: usize,
}

impl SteinDiscrepancy {
    /// KSD = sqrt(V).
    pub fn discrepancy(&self) -> f64 {
        self.v_statistic.max(0.0).sqrt()
    }
}

impl fmt::Display for SteinDiscrepancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Stein discrepancy {:.4}; U {:.4e} is {:.1} standard errors from the 0 of independent \
             draws of the target ({} draws)",
            self.discrepancy(),
            self.u_statistic,
            self.u_statistic / self.standard_error,
            self.n_draws
        )
    }
}

impl Stein {
    /// The discrepancy of `draws`, `[draw, coordinate]`, with the gradients of the target's log
    /// density at each draw.
    ///
    /// # Errors
    /// Settings that are not allowed, shapes that differ, fewer than 2 draws, no coordinate, numbers
    /// that are not finite, and, without a length scale, a coordinate that is constant or draws most
    /// of which are equal.
    pub fn from_gradients(
        &self,
        draws: ArrayView2<f64>,
        gradients: ArrayView2<f64>,
    ) -> Result<SteinDiscrepancy, Error> {
        self.check()?;
        if gradients.dim() != draws.dim() {
            let shape = |a: ArrayView2<f64>| format!("{} x {}", a.nrows(), a.ncols());
            return Err(Error::shape("gradients", shape(gradients), shape(draws)));
        }
        let kept = self.kept(draws.nrows())?;
        self.compute(draws.select(Axis(0), &kept), gradients.select(Axis(0), &kept))
    }

    /// The discrepancy of all draws of all chains, with the gradients of `target`, which are computed
    /// for the draws that are left after thinning. Not for a density that ends abruptly at a bound,
    /// as under a uniform prior: right draws look biased there.
    ///
    /// # Errors
    /// The errors of [`from_gradients`](Self::from_gradients).
    pub fn of_draws<T: GradTarget>(
        &self,
        target: &T,
        draws: &Draws,
    ) -> Result<SteinDiscrepancy, Error> {
        self.check()?;
        draws.check_any_parameter()?;
        let all = draws.flat();
        if target.dim() != all.ncols() {
            return Err(Error::shape("parameters of the draws", all.ncols(), target.dim()));
        }
        let kept = self.kept(all.nrows())?;
        let x = all.select(Axis(0), &kept);
        let mut ws = target.workspace();
        let mut gradients = Array2::zeros(x.dim());
        let (mut q, mut grad) = (vec![0.0; target.dim()], vec![0.0; target.dim()]);
        for (x, mut g) in x.rows().into_iter().zip(gradients.rows_mut()) {
            q.iter_mut().zip(x).for_each(|(q, x)| *q = *x);
            let log_density = target.log_density_grad(&q, &mut grad, &mut ws);
            if !log_density.is_finite() {
                let name = "log density of a draw";
                return Err(Error::argument(name, log_density.total(), "a finite number"));
            }
            g.iter_mut().zip(&grad).for_each(|(g, grad)| *g = *grad);
        }
        self.compute(x, gradients)
    }

    fn check(&self) -> Result<(), Error> {
        positive("c", self.c)?;
        if let Some(l) = self.length_scale {
            positive("length_scale", l)?;
        }
        if self.max_draws < 2 {
            return Err(Error::argument("max_draws", self.max_draws, "at least 2"));
        }
        Ok(())
    }

    /// The indices of the n draws that are kept.
    fn kept(&self, n: usize) -> Result<Vec<usize>, Error> {
        if n < 2 {
            return Err(Error::argument("number of draws", n, "at least 2"));
        }
        Ok(evenly(n, self.max_draws))
    }

    fn compute(&self, mut x: Array2<f64>, mut g: Array2<f64>) -> Result<SteinDiscrepancy, Error> {
        let (n, dim) = x.dim();
        if dim == 0 {
            return Err(Error::argument("number of coordinates", 0, "at least 1"));
        }
        for (name, values) in [("a draw", &x), ("a gradient", &g)] {
            if let Some(value) = values.iter().find(|v| !v.is_finite()) {
                return Err(Error::argument(name, value, "a finite number"));
            }
        }
        let length_scale = match self.length_scale {
            Some(l) => l,
            None => {
                for (i, sd) in x.std_axis(Axis(0), 1.0).iter().enumerate() {
                    if !(*sd > 0.0 && sd.is_finite()) {
                        let name = format!("standard deviation of coordinate {i}");
                        return Err(Error::argument(name, sd, "above 0, without a length_scale"));
                    }
                    x.column_mut(i).mapv_inplace(|x| x / sd);
                    g.column_mut(i).mapv_inplace(|g| g * sd);
                }
                median_distance(&x)?
            }
        };
        let (x, g) = (x.as_standard_layout(), g.as_standard_layout());
        let (xs, gs) =
            (x.as_slice().expect("in standard layout"), g.as_slice().expect("in standard layout"));
        let (scale, c2) = (1.0 / (length_scale * length_scale), self.c * self.c);
        let (mut diagonal, mut pairs, mut squares) = (0.0, 0.0, 0.0);
        for i in 0..n {
            let (xi, gi) = (&xs[i * dim..(i + 1) * dim], &gs[i * dim..(i + 1) * dim]);
            let norm: f64 = gi.iter().map(|g| g * g).sum();
            diagonal += dim as f64 * scale * c2.powf(-1.5) + norm / self.c;
            let others = xs.chunks_exact(dim).zip(gs.chunks_exact(dim)).take(i);
            let mut of_row = 0.0; // sums of rows are added, not single terms: less rounding
            for (xj, gj) in others {
                let (mut rr, mut gr, mut gg) = (0.0, 0.0, 0.0);
                for k in 0..dim {
                    let r = xi[k] - xj[k];
                    rr += r * r;
                    gr += (gi[k] - gj[k]) * r;
                    gg += gi[k] * gj[k];
                }
                let u = c2 + rr * scale;
                let root = 1.0 / u.sqrt();
                let cube = root / u * scale;
                let value = (dim as f64 + gr) * cube - 3.0 * rr * scale * cube / u + gg * root;
                of_row += value;
                squares += value * value;
            }
            pairs += of_row;
        }
        let n_f = n as f64;
        let ordered = n_f * (n_f - 1.0);
        let v_statistic = (diagonal + 2.0 * pairs) / (n_f * n_f);
        if !(v_statistic.is_finite() && squares.is_finite()) {
            let allowed = "finite: draws or gradients are too large for this length scale";
            return Err(Error::argument("Stein discrepancy", v_statistic, allowed));
        }
        Ok(SteinDiscrepancy {
            v_statistic,
            u_statistic: 2.0 * pairs / ordered,
            standard_error: (2.0 / ordered * (2.0 * squares / ordered)).sqrt(),
            length_scale,
            n_draws: n,
        })
    }
}

/// At most `most` of the numbers 0 .. n - 1, evenly spaced.
fn evenly(n: usize, most: usize) -> Vec<usize> {
    let kept = n.min(most);
    (0..kept).map(|i| (i as u128 * n as u128 / kept as u128) as usize).collect()
}

/// The median distance between rows of `x`.
fn median_distance(x: &Array2<f64>) -> Result<f64, Error> {
    let kept = evenly(x.nrows(), MEDIAN_DRAWS);
    let mut squares = Vec::with_capacity(kept.len() * (kept.len() - 1) / 2);
    for (i, a) in kept.iter().enumerate() {
        for b in &kept[..i] {
            let (a, b) = (x.row(*a), x.row(*b));
            squares.push(a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>());
        }
    }
    let middle = squares.len() / 2;
    let (_, median, _) = squares.select_nth_unstable_by(middle, f64::total_cmp);
    let median = median.sqrt();
    if median > 0.0 && median.is_finite() {
        Ok(median)
    } else {
        let allowed = "above 0, without a length_scale";
        Err(Error::argument("median distance between draws", median, allowed))
    }
}
