//! Priors: densities over the named blocks of the parameter vector.
//!
//! Each block of a [`Posterior`](crate::target::Posterior) gets one prior, by the block's name or
//! by a pattern ending in `*`. Every density is normalised: evidence needs the constants.
//!
//! | prior | density of one coordinate x | proper |
//! | --- | --- | --- |
//! | [`Normal`] | N(mean, sd^2); the second argument is a standard deviation | yes |
//! | [`LogInverseGamma`] | that of x = log v for v ~ IG(shape, scale) | unless shape = scale = 0 |
//! | [`Uniform`] | 1 / (upper - lower) inside the box, 0 outside | yes |
//!
//! ```
//! use bnn_mcmc::prior::{LogInverseGamma, Normal, Priors};
//! let priors = Priors::new()
//!     .with("*", Normal::new(0.0, 1.0)?)
//!     .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?);
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

pub mod log_inverse_gamma;
pub mod normal;
pub mod uniform;

pub use log_inverse_gamma::LogInverseGamma;
pub use normal::Normal;
pub use uniform::Uniform;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::Error;
use crate::layout::Layout;
use crate::rng::ChainRng;

/// A density over one block of parameters, independent of the other blocks.
pub trait Prior: Debug + Send + Sync {
    /// log p(x), normalised; -inf outside the support. Improper priors say what they return.
    fn log_density(&self, x: &[f64]) -> f64;

    /// Adds the derivative of log p to `grad` (as long as `x`) and returns log p(x).
    fn add_grad(&self, x: &[f64], grad: &mut [f64]) -> f64;

    /// Draws x exactly. An improper prior returns an error that says why it cannot.
    fn draw(&self, rng: &mut ChainRng, x: &mut [f64]) -> Result<(), Error>;
}

/// Which prior belongs to which block. See the [module](self).
///
/// An exact name takes precedence over a pattern. Checked when the posterior is built: a name that
/// matches no block, a block without a prior, and a block that two entries of the same kind claim
/// are errors.
#[derive(Clone, Debug, Default)]
pub struct Priors {
    entries: Vec<(String, Arc<dyn Prior>)>,
}

impl Priors {
    /// No priors yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same prior for every block that no later entry names: `with("*", prior)`.
    pub fn all(prior: impl Prior + 'static) -> Self {
        Self::new().with("*", prior)
    }

    /// Gives `prior` to the block called `name`; `w*` means every block whose name starts with w.
    pub fn with(mut self, name: &str, prior: impl Prior + 'static) -> Self {
        self.entries.push((name.to_string(), Arc::new(prior)));
        self
    }

    /// The prior of every block of `layout`, in order.
    pub(crate) fn resolve(&self, layout: &Layout) -> Result<Vec<BlockPrior>, Error> {
        let error = |problem: String| Error::Prior { problem, known: layout.block_names() };
        let matches = |pattern: &str, block: &str| match pattern.strip_suffix('*') {
            Some(start) => block.starts_with(start),
            None => block == pattern,
        };
        for (pattern, _) in &self.entries {
            if !layout.blocks().iter().any(|b| matches(pattern, &b.name)) {
                return Err(error(format!("`{pattern}` matches no block")));
            }
        }
        let mut resolved = Vec::with_capacity(layout.blocks().len());
        for block in layout.blocks() {
            let claims = |exact: bool| {
                self.entries
                    .iter()
                    .filter(move |(p, _)| p.ends_with('*') != exact && matches(p, &block.name))
                    .collect::<Vec<_>>()
            };
            let mut found = claims(true);
            if found.is_empty() {
                found = claims(false);
            }
            match found[..] {
                [(_, prior)] => resolved.push(BlockPrior {
                    name: block.name.clone(),
                    range: block.range.clone(),
                    prior: prior.clone(),
                }),
                [] => return Err(error(format!("block `{}` has no prior", block.name))),
                [(first, _), (second, _), ..] => {
                    return Err(error(format!(
                        "block `{}` is claimed by both `{first}` and `{second}`",
                        block.name
                    )));
                }
            }
        }
        Ok(resolved)
    }
}

/// One block and its prior.
#[derive(Clone, Debug)]
pub(crate) struct BlockPrior {
    pub name: String,
    pub range: Range<usize>,
    pub prior: Arc<dyn Prior>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        Layout::new().with("w0", &[2, 2]).with("b0", &[2]).with("log_noise_variance", &[])
    }

    fn message(priors: Priors) -> String {
        priors.resolve(&layout()).unwrap_err().to_string()
    }

    #[test]
    fn misspelt_uncovered_and_doubly_covered_blocks_are_refused_with_the_names() {
        let normal = || Normal::new(0.0, 1.0).unwrap();
        let all = "w0, b0, log_noise_variance";
        for (priors, problem) in [
            (Priors::all(normal()).with("w1", normal()), "`w1` matches no block"),
            (Priors::new().with("w*", normal()), "block `b0` has no prior"),
            (Priors::all(normal()).with("w*", normal()), "claimed by both `*` and `w*`"),
            (Priors::all(normal()).with("w0", normal()).with("w0", normal()), "claimed by both"),
        ] {
            let message = message(priors);
            assert!(message.contains(problem) && message.contains(all), "{message}");
        }
        let ok = Priors::all(normal()).with("b0", Uniform::new(-1.0, 1.0).unwrap());
        let resolved = ok.resolve(&layout()).unwrap();
        assert_eq!(resolved[1].prior.log_density(&[2.0, 0.0]), f64::NEG_INFINITY);
        assert!(resolved[0].prior.log_density(&[2.0; 4]).is_finite());
    }
}
