//! The likelihood of a fit, chosen when the program runs.

use ndarray::Array2;

use crate::Error;
use crate::curvature::Curvature;
use crate::data::Response;
use crate::engine::{Tile, TileMut};
use crate::layout::Layout;
use crate::likelihood::{
    Bernoulli, Beta, Categorical, Censored, Gaussian, HeteroscedasticGaussian, Hurdle, Likelihood,
    NegativeBinomial, NormalNoise, Ordinal, Poisson, SecondOrderLikelihood, StudentTNoise, Tangent,
    Weights, ZeroInflated,
};
use crate::rng::ChainRng;

/// One of the likelihoods that a [`Recipe`](super::Recipe) can ask for.
///
/// A posterior's likelihood is a type parameter; a fit learns from its table which one it needs.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum AnyLikelihood {
    /// Normal noise, the same for all rows.
    Gaussian(Gaussian),
    /// Normal noise whose standard deviation is an output of the network.
    HeteroscedasticGaussian(HeteroscedasticGaussian),
    /// Noise with heavy tails.
    StudentTNoise(StudentTNoise),
    /// Shares between 0 and 1.
    Beta(Beta),
    /// Counts.
    Poisson(Poisson),
    /// Counts that vary more than a Poisson variable's.
    NegativeBinomial(NegativeBinomial),
    /// Counts whose zeros have a probability of their own.
    Hurdle(Hurdle),
    /// Counts with extra zeros.
    ZeroInflated(ZeroInflated),
    /// Two classes.
    Bernoulli(Bernoulli),
    /// Three classes or more.
    Categorical(Categorical),
    /// Classes in order.
    Ordinal(Ordinal),
    /// Times, and other numbers with bounds.
    Censored(Censored),
}

/// Evaluates `$of`, in which `$likelihood` is the chosen one.
macro_rules! each {
    ($self:ident, $likelihood:ident => $of:expr) => {
        match $self {
            Self::Gaussian($likelihood) => $of,
            Self::HeteroscedasticGaussian($likelihood) => $of,
            Self::StudentTNoise($likelihood) => $of,
            Self::Beta($likelihood) => $of,
            Self::Poisson($likelihood) => $of,
            Self::NegativeBinomial($likelihood) => $of,
            Self::Hurdle($likelihood) => $of,
            Self::ZeroInflated($likelihood) => $of,
            Self::Bernoulli($likelihood) => $of,
            Self::Categorical($likelihood) => $of,
            Self::Ordinal($likelihood) => $of,
            Self::Censored($likelihood) => $of,
        }
    };
}

impl Likelihood for AnyLikelihood {
    fn layout(&self) -> Layout {
        each!(self, likelihood => likelihood.layout())
    }

    fn description(&self) -> Option<String> {
        each!(self, likelihood => likelihood.description())
    }

    fn encode(&self, response: &Response, n_outputs: usize) -> Result<Array2<f64>, Error> {
        each!(self, likelihood => likelihood.encode(response, n_outputs))
    }

    fn log_lik_rows(&self, phi: &[f64], out: TileMut, y: Tile, rows: &mut [f64]) {
        each!(self, likelihood => likelihood.log_lik_rows(phi, out, y, rows));
    }

    fn log_lik_grad(
        &self,
        phi: &[f64],
        out: Tile,
        y: Tile,
        weights: Weights,
        d_out: TileMut,
        d_phi: &mut [f64],
    ) -> f64 {
        each!(self, likelihood => likelihood.log_lik_grad(phi, out, y, weights, d_out, d_phi))
    }

    fn residuals(&self, out: Tile, y: Tile, d_out: TileMut) -> bool {
        each!(self, likelihood => likelihood.residuals(out, y, d_out))
    }

    fn normal_noise(&self) -> Option<NormalNoise> {
        each!(self, likelihood => likelihood.normal_noise())
    }

    fn censored(&self) -> Option<&Censored> {
        each!(self, likelihood => likelihood.censored())
    }

    fn n_means(&self, n_outputs: usize) -> usize {
        each!(self, likelihood => likelihood.n_means(n_outputs))
    }

    fn mean(&self, phi: &[f64], out: Tile, mean: TileMut) {
        each!(self, likelihood => likelihood.mean(phi, out, mean));
    }

    fn variance(&self, phi: &[f64], out: Tile, variance: TileMut) -> bool {
        each!(self, likelihood => likelihood.variance(phi, out, variance))
    }

    fn n_drawn(&self, n_outputs: usize) -> usize {
        each!(self, likelihood => likelihood.n_drawn(n_outputs))
    }

    fn draw(&self, phi: &[f64], out: TileMut, y: Tile, rng: &mut ChainRng, drawn: TileMut) {
        each!(self, likelihood => likelihood.draw(phi, out, y, rng, drawn));
    }
}

impl SecondOrderLikelihood for AnyLikelihood {
    fn log_lik_tangent(
        &self,
        curvature: Curvature,
        at: Tangent,
        r_d_out: TileMut,
        r_d_phi: &mut [f64],
    ) {
        each!(self, likelihood => likelihood.log_lik_tangent(curvature, at, r_d_out, r_d_phi));
    }
}
