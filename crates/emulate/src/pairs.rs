//! The pairs that emulators learn from: a position, and the target's log likelihood and gradient
//! there.

use bnn_mcmc::Error;
use bnn_mcmc::draws::Draws;
use bnn_mcmc::rng::ChainRng;
use bnn_mcmc::surrogate::positions;
use bnn_mcmc::targets::PowerGradTarget;
use ndarray::{Array1, Array2, ArrayViewMut1, Axis, concatenate};
use rand::seq::SliceRandom;

/// Positions, as they are and scaled, with log likelihoods and their gradients.
pub(crate) struct Pairs {
    pub scaling: Scaling,
    /// q `[pair, coordinate]`.
    pub q: Array2<f64>,
    /// z `[pair, coordinate]`.
    pub z: Array2<f64>,
    /// ell.
    pub log_likelihood: Array1<f64>,
    /// d ell / d z `[pair, coordinate]`.
    pub gradients: Array2<f64>,
    /// Whether a pair is held out.
    pub held_out: Vec<bool>,
}

/// z = (q - mean) / sd.
#[derive(Clone, Debug)]
pub(crate) struct Scaling {
    mean: Array1<f64>,
    pub sd: Array1<f64>,
    /// The largest |z|^2 of the pairs.
    reach: f64,
}

impl Scaling {
    /// Writes z.
    pub fn apply(&self, q: &[f64], z: ArrayViewMut1<f64>) {
        let of = z.into_iter().zip(q).zip(self.mean.iter().zip(&self.sd));
        of.for_each(|((z, q), (mean, sd))| *z = (q - mean) / sd);
    }

    /// Adds `factor` times the derivative with respect to q to `grad`, where `d_z` is that with
    /// respect to z.
    pub fn add_grad(&self, factor: f64, d_z: &Array1<f64>, grad: &mut [f64]) {
        for ((grad, d), sd) in grad.iter_mut().zip(d_z).zip(&self.sd) {
            *grad += factor * d / sd; //~ emulator-gradient
        }
    }

    /// Whether q is farther from the mean of the pairs than any of them.
    pub fn is_outside(&self, q: &[f64]) -> bool {
        let z = q.iter().zip(&self.mean).zip(&self.sd).map(|((q, mean), sd)| (q - mean) / sd);
        let square: f64 = z.map(|z| z * z).sum();
        square > self.reach //~ emulator-reach
    }
}

impl Pairs {
    /// How many pairs there will be: `pairs` of each run, or all draws.
    pub fn count(runs: &[&Draws], pairs: Option<usize>) -> usize {
        runs.iter().fold(0, |all, draws| all.saturating_add(Self::of_run(draws, pairs)))
    }

    fn of_run(draws: &Draws, pairs: Option<usize>) -> usize {
        pairs.unwrap_or(draws.n_chains() * draws.n_draws())
    }

    /// Evaluates `target` at `pairs` draws of each run, or at all, of which the share `held_out` is set apart.
    ///
    /// Errors: no runs, draws of another target, too few of them, a value that is not finite, values or
    /// coordinates that are all the same.
    pub fn of<T: PowerGradTarget>(
        target: &T,
        runs: &[&Draws],
        pairs: Option<usize>,
        held_out: f64,
        rng: &mut ChainRng,
    ) -> Result<Self, Error> {
        if !(0.05..=0.5).contains(&held_out) {
            return Err(Error::argument("held_out", held_out, "from 0.05 to 0.5"));
        }
        if runs.is_empty() {
            return Err(Error::argument("runs to learn from", 0, "at least 1"));
        }
        let names = ["pairs", "draws to learn from"];
        let of_run = |draws: &&Draws| positions(target, draws, Self::of_run(draws, pairs), names);
        let positions: Vec<Array2<f64>> = runs.iter().map(of_run).collect::<Result<_, Error>>()?;
        let views: Vec<_> = positions.iter().map(|q| q.view()).collect();
        let q = concatenate(Axis(0), &views)
            .map_err(|_| Error::shape("draws to learn from", views.len(), runs.len()))?;
        let pairs = q.nrows();
        let (mut gradients, mut log_likelihood) = (Array2::zeros(q.dim()), Array1::zeros(pairs));
        let mut ws = target.workspace();
        let [mut grad, mut of_prior] = [(); 2].map(|()| vec![0.0; target.dim()]);
        for (i, q) in q.rows().into_iter().enumerate() {
            let q = q.to_vec();
            let value = target.log_density_grad(&q, &mut grad, &mut ws);
            target.log_prior_grad(&q, &mut of_prior, &mut ws);
            let of_likelihood = grad.iter().zip(&of_prior).map(|(grad, prior)| grad - prior);
            gradients.row_mut(i).iter_mut().zip(of_likelihood).for_each(|(to, grad)| *to = grad);
            log_likelihood[i] = value.likelihood;
            if !value.is_finite() || gradients.row(i).iter().any(|g| !g.is_finite()) {
                let found = format!("{} at pair {i}", value.likelihood);
                let allowed = "finite, with its gradient, at every draw to learn from";
                return Err(Error::argument("log likelihood", found, allowed));
            }
        }
        if log_likelihood.iter().all(|ell| *ell == log_likelihood[0]) {
            let found = format!("{} at all {pairs} pairs", log_likelihood[0]);
            let allowed = "different at different draws: did the chain move?";
            return Err(Error::argument("log likelihood", found, allowed));
        }
        let mean = q.mean_axis(Axis(0)).unwrap_or_default();
        // A coordinate in which the draws do not differ is not scaled.
        let sd = q.std_axis(Axis(0), 1.0).mapv(|sd| if sd <= 0.0 { 1.0 } else { sd });
        let z = (&q - &mean) / &sd;
        gradients *= &sd;
        let reach = z.rows().into_iter().map(|z| z.dot(&z)).fold(0.0, f64::max);
        // The sums of `is_outside` may be rounded in another way.
        let reach = reach * (1.0 + 1e-12);
        // Neighbours on a chain are alike: blocks of them are held out, and equal ones stay together.
        let blocks = pairs.min(40) / 2;
        let n_held_out = ((blocks as f64 * held_out).round() as usize).clamp(1, blocks - 1);
        let mut of_block: Vec<bool> = (0..blocks).map(|i| i < n_held_out).collect();
        of_block.shuffle(rng);
        let mut held_out: Vec<bool> = (0..pairs).map(|i| of_block[i * blocks / pairs]).collect();
        for i in 1..pairs {
            if q.row(i) == q.row(i - 1) {
                held_out[i] = held_out[i - 1];
            }
        }
        if held_out.windows(2).all(|pair| pair[0] == pair[1]) {
            let found = "that hardly ever move";
            return Err(Error::argument("draws to learn from", found, "some different positions"));
        }
        let scaling = Scaling { mean, sd, reach };
        Ok(Self { scaling, q, z, log_likelihood, gradients, held_out })
    }

    /// The numbers of the pairs that are held out, or not.
    pub fn rows(&self, held_out: bool) -> Vec<usize> {
        (0..self.held_out.len()).filter(|i| self.held_out[*i] == held_out).collect()
    }
}
