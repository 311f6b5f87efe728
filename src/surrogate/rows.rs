//! A part of the rows in the place of all.

use rand::seq::index;

use super::Emulator;
use crate::Error;
use crate::likelihood::Likelihood;
use crate::linalg::dot::dot;
use crate::model::Model;
use crate::posterior::Posterior;
use crate::posterior::PosteriorWorkspace;
use crate::rng::ChainRng;
use crate::targets::{GradTarget, HessTarget, Target};

/// The log likelihood of n of the N rows, weighted N/n, with control variates if asked.
///
/// With S the rows, drawn once without replacement, w = N/n, ell_S their log likelihood, g and H the
/// gradient and the Hessian of ell, and delta = q - c the distance from a centre c,
///
/// ```text
/// ell*(q) = w ell_S(q)                                             RowSubset::new
///           + [ell(c) - w ell_S(c)] + [g(c) - w g_S(c)] delta      and first_order
///           + 1/2 delta^T [H(c) - w H_S(c)] delta                  and second_order
/// ```
///
/// The rest is the Taylor expansion, at c, of the error of the first line, which it removes up to
/// the order of the expansion: near c, a mode or the mean of a short run, ell* is as good as exact.
/// Without it the error of ell* at a typical draw has a standard deviation of about N/sqrt(n) times
/// the spread of the rows' own changes of log likelihood, which for n much smaller than N is many
/// nats, and the chain samples another distribution. A centre serves one mode: at another mode of a
/// network the expansion does not help. Far from c it may grow where ell falls, so that a chain on
/// the surrogate alone can run away, and one under delayed acceptance is rejected there.
///
/// An evaluation costs n/N of the full one, with `second_order` and d^2 multiplications more.
///
/// ```
/// use bnn_mcmc::optimise::{Adam, Ascent};
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::surrogate::{RowSubset, Surrogate};
/// # let x = ndarray::Array2::from_shape_fn((400, 2), |(i, j)| ((7 * i + 3 * j) % 11) as f64 / 5.0 - 1.0);
/// # let y = x.column(0).mapv(|x| 0.5 * x + 0.1);
/// # let data = Dataset::regression(x, y)?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let posterior = Posterior::new(Linear::new(2, 1)?, Gaussian::fixed(0.3)?, &data, priors)?;
/// let mut mode = vec![0.0; 3];
/// Adam { learning_rate: 0.05, ..Adam::default() }.maximise(&posterior, &mut mode)?;
/// let rows = RowSubset::new(&posterior, 50, 1)?.first_order(&posterior, &mode)?;
/// let surrogate = Surrogate::new(&posterior, rows);
/// assert!(Sampler::new(&surrogate, Mala::default()).draws(100).run().is_ok());
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RowSubset<M, L> {
    rows: Posterior<M, L>,
    n_all: usize,
    expansion: Option<Expansion>,
}

/// constant + slope delta + 1/2 delta^T H delta.
#[derive(Clone, Debug)]
struct Expansion {
    centre: Vec<f64>,
    constant: f64,
    slope: Vec<f64>,
    /// d x d; empty for the first order.
    hessian: Vec<f64>,
}

/// Scratch memory of a [`RowSubset`].
#[derive(Debug)]
pub struct RowSubsetWorkspace<W> {
    rows: PosteriorWorkspace<W>,
    delta: Vec<f64>,
}

impl<M: Model + Clone, L: Likelihood + Clone> RowSubset<M, L> {
    /// `rows` rows of the data of `posterior`, from 1 to all, by a draw of the seed.
    ///
    /// # Errors
    /// Another number of rows, or a posterior without parameters.
    pub fn new(posterior: &Posterior<M, L>, rows: usize, seed: u64) -> Result<Self, Error> {
        let n_all = posterior.n_obs();
        if posterior.dim() == 0 {
            return Err(Error::argument("dimension of the posterior", 0, "at least 1"));
        }
        if !(1..=n_all).contains(&rows) {
            let allowed = format!("from 1 to the {n_all} rows of the data");
            return Err(Error::argument("rows of the subset", rows, allowed));
        }
        let mut chosen = index::sample(&mut ChainRng::new(seed, 0), n_all, rows).into_vec();
        chosen.sort_unstable();
        Ok(Self { rows: posterior.subset(&chosen), n_all, expansion: None })
    }

    /// With control variates of the first order at `centre`: one gradient over all rows. `posterior`
    /// is the one that the rows were taken from.
    ///
    /// # Errors
    /// A centre of the wrong length, or where the log likelihood or its gradient is not finite; a
    /// posterior with another number of rows.
    pub fn first_order(
        mut self,
        posterior: &Posterior<M, L>,
        centre: &[f64],
    ) -> Result<Self, Error> {
        let dim = posterior.dim();
        if centre.len() != dim {
            return Err(Error::shape("length of the centre", centre.len(), dim));
        }
        if posterior.n_obs() != self.n_all {
            return Err(Error::shape("rows of the posterior", posterior.n_obs(), self.n_all));
        }
        let (mut slope, mut of_rows) = (vec![0.0; dim], vec![0.0; dim]);
        let all = posterior.log_likelihood();
        let at_all = all.log_density_grad(centre, &mut slope, &mut all.workspace()).likelihood;
        let part = self.rows.log_likelihood();
        let at_rows = part.log_density_grad(centre, &mut of_rows, &mut part.workspace()).likelihood;
        let weight = self.weight();
        slope.iter_mut().zip(of_rows).for_each(|(all, rows)| *all -= weight * rows);
        let constant = at_all - weight * at_rows;
        if !constant.is_finite() || slope.iter().any(|s| !s.is_finite()) {
            let allowed = "where the log likelihood and its gradient are finite";
            return Err(Error::argument("centre", format!("{centre:?}"), allowed));
        }
        let (centre, hessian) = (centre.to_vec(), Vec::new());
        self.expansion = Some(Expansion { centre, constant, slope, hessian });
        Ok(self)
    }

    /// With control variates of the second order at `centre`: one Hessian over all rows, and d^2
    /// numbers.
    ///
    /// # Errors
    /// The errors of [`first_order`](Self::first_order); a model, likelihood or prior without
    /// second derivatives; too many coordinates for the matrix.
    pub fn second_order(self, posterior: &Posterior<M, L>, centre: &[f64]) -> Result<Self, Error>
    where
        Posterior<M, L>: HessTarget,
    {
        posterior.check_hessian()?;
        let mut subset = self.first_order(posterior, centre)?;
        let dim = centre.len();
        let size = [(2, "matrices"), (dim, "rows"), (dim, "columns")];
        let instead = "use control variates of the first order";
        crate::memory::check::<f64>("Hessian of the control variates", &size, instead)?;
        let (mut all, mut hessian) = (vec![0.0; dim * dim], vec![0.0; dim * dim]);
        posterior.neg_hessian_at(1.0, centre, &mut all, &mut posterior.workspace());
        let rows = &subset.rows;
        let weight = subset.weight(); //~ rows-hessian
        rows.neg_hessian_at(weight, centre, &mut hessian, &mut rows.workspace());
        // The prior's part cancels.
        hessian.iter_mut().zip(all).for_each(|(rows, all)| *rows -= all);
        if let Some(expansion) = &mut subset.expansion {
            expansion.hessian = hessian;
        }
        Ok(subset)
    }
}

impl<M: Model, L: Likelihood> RowSubset<M, L> {
    /// N/n.
    fn weight(&self) -> f64 {
        self.n_all as f64 / self.rows.n_obs() as f64
    }
}

impl Expansion {
    /// Adds `factor` times the gradient to `grad`, if there is one, and returns the value.
    fn add_grad(&self, factor: f64, q: &[f64], grad: &mut [f64], delta: &mut [f64]) -> f64 {
        for (delta, (q, centre)) in delta.iter_mut().zip(q.iter().zip(&self.centre)) {
            *delta = q - centre;
        }
        grad.iter_mut().zip(&self.slope).for_each(|(grad, slope)| *grad += factor * slope);
        let mut value = self.constant + dot::<8>(&self.slope, delta);
        for (i, row) in self.hessian.chunks_exact(delta.len()).enumerate() {
            let product = dot::<8>(row, delta);
            value += 0.5 * delta[i] * product;
            if let Some(grad) = grad.get_mut(i) {
                *grad += factor * product;
            }
        }
        value
    }
}

impl<M: Model, L: Likelihood> Emulator for RowSubset<M, L> {
    type Workspace = RowSubsetWorkspace<M::Workspace>;

    fn workspace(&self) -> Self::Workspace {
        RowSubsetWorkspace { rows: self.rows.workspace(), delta: vec![0.0; self.rows.dim()] }
    }

    fn log_likelihood(&self, q: &[f64], ws: &mut Self::Workspace) -> f64 {
        let of_rows = self.weight() * self.rows.full_log_lik(q, &mut ws.rows);
        let expansion = self.expansion.as_ref();
        of_rows + expansion.map_or(0.0, |e| e.add_grad(0.0, q, &mut [], &mut ws.delta))
    }

    fn add_grad(&self, factor: f64, q: &[f64], grad: &mut [f64], ws: &mut Self::Workspace) -> f64 {
        let weight = self.weight();
        //~ rows-gradient
        let of_rows = weight * self.rows.add_full_grad(factor * weight, q, grad, &mut ws.rows);
        let expansion = self.expansion.as_ref();
        of_rows + expansion.map_or(0.0, |e| e.add_grad(factor, q, grad, &mut ws.delta))
    }

    fn description(&self) -> String {
        let variates = match &self.expansion {
            None => "",
            Some(e) if e.hessian.is_empty() => " with control variates of the first order",
            Some(_) => " with control variates of the second order",
        };
        format!("{} of {} rows{variates}", self.rows.n_obs(), self.n_all)
    }
}
