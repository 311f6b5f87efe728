//! The log likelihood by an emulator against the true one.

use bnn_mcmc::Error;

use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place, Symbol};

/// The log likelihood by an emulator against the true one, at the same points, such as draws.
///
/// The figure follows Moslemi, Meng, Lan and Shahbaba (FBNN), figure 5. An emulator may be off by a
/// constant, which does not change the distribution that is sampled; `SurrogateError` measures the
/// rest ([`bnn_mcmc::surrogate`]).
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::surrogate::{Emulator, RowSubset};
/// use bnn_mcmc::targets::Target;
/// use bnn_mcmc_report::figures::sampler;
/// # let x = ndarray::Array2::from_shape_fn((40, 2), |(i, j)| ((7 * i + 3 * j) % 11) as f64 / 5.0 - 1.0);
/// # let y = x.column(0).mapv(|x| 0.5 * x + 0.1);
/// # let data = Dataset::regression(x, y)?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let posterior = Posterior::new(Linear::new(2, 1)?, Gaussian::fixed(0.3)?, &data, priors)?;
/// let draws = Sampler::new(&posterior, Mala::default()).warmup(200).draws(100).seed(1).run()?;
/// let emulator = RowSubset::new(&posterior, 20, 1)?;
/// let truth = draws.stat("log_likelihood")?;
/// let mut workspace = emulator.workspace();
/// let emulated: Vec<f64> = draws
///     .flat()
///     .outer_iter()
///     .map(|q| emulator.log_likelihood(&q.to_vec(), &mut workspace))
///     .collect();
/// let truth: Vec<f64> = truth.iter().copied().collect();
/// let figure = sampler::emulator(&truth, &emulated)?;
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// Slices of different lengths, or empty ones.
pub fn emulator(truth: &[f64], emulated: &[f64]) -> Result<Figure, Error> {
    if truth.len() != emulated.len() || truth.is_empty() {
        let expected = format!("{}, and at least 1", truth.len());
        return Err(Error::shape("emulated log likelihoods", emulated.len(), expected));
    }
    let points: Vec<[f64; 2]> = truth.iter().zip(emulated).map(|(t, e)| [*t, *e]).collect();
    let left_out = points.iter().filter(|p| !(p[0].is_finite() && p[1].is_finite())).count();
    let mut caption =
        "The log likelihood by the emulator against the true one. Points of a good emulator \
                       lie along the grey line, or along a line parallel to it."
            .to_owned();
    if left_out > 0 {
        let n = points.len();
        caption += &format!(" {left_out} of {n} points are not finite, and left out.");
    }
    let mut panel = Panel::new(
        "",
        Axis::new("true log likelihood (nats)"),
        Axis::new("emulated log likelihood (nats)"),
    )
    .mark(Mark::Rule { name: None, colour: Colour::Muted, place: Place::Diagonal })
    .mark(Mark::Points { name: None, colour: Colour::Series(0), symbol: Symbol::Dot, points });
    panel.aspect = 0.9;
    Ok(Figure::new("emulator", "Emulated log likelihood", caption).panel(panel))
}
