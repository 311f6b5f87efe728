//! One simulation: true values, and draws of the same quantities.

use ndarray::{Array2, ArrayView2, Axis};

use crate::Error;
use crate::diagnostics::ess_bulk;
use crate::draws::Draws;
use crate::rng::ChainRng;
use crate::targets::Target;

/// The true values of one simulation's quantities, and their draws given its data, `[chain, draw]` each.
#[derive(Clone, Debug)]
pub struct Simulated {
    quantities: Vec<(String, f64, Array2<f64>)>,
}

impl Simulated {
    /// The log likelihood of `target` at the true parameters and at the draws: what sees faults that no parameter shows. `target` is
    /// the posterior given the simulated data.
    ///
    /// # Errors
    /// If `truth`, or a draw, is not as long as the target's `dim`.
    pub fn new<T: Target>(target: &T, truth: &[f64], draws: &Draws) -> Result<Self, Error> {
        for (what, found) in [
            ("number of true parameters", truth.len()),
            ("number of parameters of the draws", draws.layout().dim()),
        ] {
            if found != target.dim() {
                return Err(Error::shape(what, found, target.dim()));
            }
        }
        let mut ws = target.workspace();
        let mut log_likelihood = |q: &[f64]| target.log_density(q, &mut ws).likelihood;
        let at_truth = log_likelihood(truth);
        let shape = (draws.n_chains(), draws.n_draws());
        let of_draws =
            draws.flat().rows().into_iter().map(|q| log_likelihood(&q.to_vec())).collect();
        let of_draws = Array2::from_shape_vec(shape, of_draws).expect("one for each draw");
        Ok(Self::of("log likelihood", at_truth, of_draws.view()))
    }

    /// One quantity of a simulation that is not of a [`Target`]: its true value and its draws. Let the log likelihood be the first one.
    pub fn of(name: impl Into<String>, truth: f64, draws: ArrayView2<f64>) -> Self {
        Self { quantities: Vec::new() }.with(name, truth, draws)
    }

    /// Adds a quantity: its true value and its draws.
    pub fn with(mut self, name: impl Into<String>, truth: f64, draws: ArrayView2<f64>) -> Self {
        self.quantities.push((name.into(), truth, draws.to_owned()));
        self
    }

    /// Adds all parameters that `draws` hold, whose true values are `truth` in the same order. The weights of a network with
    /// hidden units are no good quantities: units can be exchanged, and chains do not visit all orders of them.
    ///
    /// # Errors
    /// If there are not as many true values as parameters.
    pub fn with_parameters(mut self, truth: &[f64], draws: &Draws) -> Result<Self, Error> {
        let names = draws.layout().parameter_names();
        if names.len() != truth.len() {
            return Err(Error::shape("number of true parameters", truth.len(), names.len()));
        }
        for (i, (name, truth)) in names.into_iter().zip(truth).enumerate() {
            let of = draws.values().index_axis_move(Axis(2), i);
            self.quantities.push((name, *truth, of.to_owned()));
        }
        Ok(self)
    }

    /// The ranks among `n` of the draws, evenly spaced over all chains; equal values are put in a random order.
    pub(super) fn ranks(self, n: usize, rng: &mut ChainRng) -> Result<Ranked, Error> {
        let mut ranked = Ranked { names: Vec::new(), ranks: Vec::new(), ess: Vec::new() };
        for (name, truth, draws) in self.quantities {
            if draws.len() < n {
                let what = format!("draws of `{name}`");
                return Err(Error::argument(what, draws.len(), format!("at least {n}")));
            }
            if let Some(value) = draws.iter().chain([&truth]).find(|x| !x.is_finite()) {
                return Err(Error::argument(format!("`{name}`"), value, "a finite number"));
            }
            // Chains of fewer than four draws have none that can be counted.
            let ess = ess_bulk(draws.view());
            ranked.ess.push(if ess.is_finite() { ess } else { 0.0 });
            let all: Vec<f64> = draws.into_iter().collect();
            let taken = (0..n).map(|l| all[(2 * l + 1) * all.len() / (2 * n)]);
            let (mut below, mut equal) = (0, 0);
            for x in taken {
                below += u32::from(x < truth); //~ sbc-rank
                equal += u32::from(x == truth);
            }
            let among = (rng.uniform() * f64::from(equal + 1)) as u32;
            ranked.names.push(name);
            ranked.ranks.push(below + among.min(equal));
        }
        Ok(ranked)
    }
}

/// The ranks of one simulation's true values, and the effective draws of each quantity.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ranked {
    pub names: Vec<String>,
    pub ranks: Vec<u32>,
    pub ess: Vec<f64>,
}

impl Ranked {
    pub fn check_names(&self, other: &Self, simulation: usize) -> Result<(), Error> {
        if self.names == other.names {
            return Ok(());
        }
        let what = format!("quantities of simulation {simulation}");
        Err(Error::shape(what, other.names.join(", "), self.names.join(", ")))
    }
}
