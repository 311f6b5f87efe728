//! Priors: densities over the named blocks of the parameter vector.
//!
//! Each block of a [`Posterior`](crate::targets::Posterior) gets one prior, by the block's name or
//! by a pattern ending in `*`. Every density is normalised: evidence needs the constants.
//!
//! | prior | density of one coordinate x | proper |
//! | --- | --- | --- |
//! | [`Normal`] | N(mean, sd^2); the second argument is a standard deviation | yes |
//! | [`LogInverseGamma`] | that of x = log v for v ~ IG(shape, scale) | unless shape = scale = 0 |
//! | [`Laplace`] | e^(-abs(x - location) / scale) / (2 scale) | yes |
//! | [`StudentT`] | Student's t with given degrees of freedom, location and scale | yes |
//! | [`Uniform`] | 1 / (upper - lower) inside the box, 0 outside | yes |
//! | [`Priors::hierarchical`] | N(0, v), the variance v sampled too | if that of v is |
//!
//! Their curvature: minus the second derivative of log p, with t = (x - location) / scale and nu
//! degrees of freedom, and the precision that takes its place in a
//! [Fisher metric](crate::targets::FisherTarget), which must nowhere be negative:
//!
//! | prior | minus second derivative | precision in a metric |
//! | --- | --- | --- |
//! | [`Normal`] | 1 / sd^2 | the same |
//! | [`LogInverseGamma`] | scale e^-x | shape, its expectation under the prior |
//! | [`Laplace`] | 0, but for the kink | 1 / variance = 1 / (2 scale^2) |
//! | [`StudentT`] | (nu + 1) (nu - t^2) / (scale (nu + t^2))^2 | (nu + 1) / ((nu + 3) scale^2), its expectation |
//! | [`Uniform`] | 0 | 1 / variance = 12 / (upper - lower)^2 |
//! | [`Priors::hierarchical`] | x, x: e^-s; x, s: -e^-s x; s, s: e^-s/2 sum x^2 | e^-s; 0; n/2: the expectation given s |
//!
//! ```
//! use bnn_mcmc::prior::{LogInverseGamma, Normal, Priors};
//! let priors = Priors::new()
//!     .with("*", Normal::new(0.0, 1.0)?)
//!     .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?);
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

mod laplace;
mod log_inverse_gamma;
mod normal;
mod student_t;
mod uniform;

pub use laplace::Laplace;
pub use log_inverse_gamma::LogInverseGamma;
pub use normal::Normal;
pub use student_t::StudentT;
pub use uniform::Uniform;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::Error;
use crate::curvature::Curvature;
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

    /// The family, for kernels that make use of conjugacy or of bounds.
    fn family(&self) -> Family {
        Family::Other
    }

    /// Adds to `hv` the Hessian of log p at x times v (all as long as `x`), and returns true.
    ///
    /// With [`Curvature::Expected`] the Hessian is replaced by a matrix that is negative semi-definite
    /// at every x and the same for all x if possible: minus a precision, for metrics. The default
    /// adds nothing and returns false, which says that neither is known; kernels that need second
    /// derivatives then refuse the block.
    fn add_hessian_product(
        &self,
        _curvature: Curvature,
        _x: &[f64],
        _v: &[f64],
        _hv: &mut [f64],
    ) -> bool {
        false
    }
}

/// hv -= precision v: all that a prior with equal curvature everywhere adds.
fn subtract_scaled(precision: f64, v: &[f64], hv: &mut [f64]) -> bool {
    hv.iter_mut().zip(v).for_each(|(hv, v)| *hv -= precision * v);
    true
}

/// A family of priors that some kernels know how to use.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Family {
    /// Independent normal coordinates.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        sd: f64,
    },
    /// Logarithms of inverse-gamma variables.
    LogInverseGamma {
        /// The shape.
        shape: f64,
        /// The scale.
        scale: f64,
    },
    /// Independent coordinates, uniform on one interval.
    Uniform {
        /// The lower bound.
        lower: f64,
        /// The upper bound.
        upper: f64,
    },
    /// Any other.
    Other,
}

/// Which prior belongs to which block. See the [module](self).
///
/// An exact name takes precedence over a pattern, and a longer pattern over a shorter one: `*` is what
/// holds for the rest. Checked when the posterior is built: a name that matches no block, a block
/// without a prior, and a block that two entries claim with equal right are errors.
#[derive(Clone, Debug, Default)]
pub struct Priors {
    entries: Vec<(String, Entry)>,
    /// Blocks that hierarchical priors add to the posterior.
    added: Vec<(String, Arc<dyn Prior>)>,
}

#[derive(Clone, Debug)]
enum Entry {
    Own(Arc<dyn Prior>),
    /// N(0, exp of the block that is named).
    Hierarchical(String),
}

impl Priors {
    /// No priors yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same prior for every block that no other entry names: `with("*", prior)`.
    pub fn all(prior: impl Prior + 'static) -> Self {
        Self::new().with("*", prior)
    }

    /// Gives `prior` to the block called `name`; `w*` means every block whose name starts with w.
    pub fn with(mut self, name: &str, prior: impl Prior + 'static) -> Self {
        self.entries.push((name.to_string(), Entry::Own(Arc::new(prior))));
        self
    }

    /// Gives N(0, v) to every coordinate of the blocks matched by `name`, with the variance v a
    /// parameter of its own, common to all of them:
    ///
    /// ```text
    /// x | s ~ N(0, e^s),   s = log v ~ hyperprior
    /// log p(x | s)   = -n/2 (log 2 pi + s) - e^-s/2 sum x^2
    /// d / d s        = -n/2 + e^-s/2 sum x^2
    /// ```
    ///
    /// The posterior gets one more block, called `log_variance`, that holds s.
    pub fn hierarchical(
        mut self,
        name: &str,
        log_variance: &str,
        hyperprior: impl Prior + 'static,
    ) -> Self {
        self.entries.push((name.to_string(), Entry::Hierarchical(log_variance.to_string())));
        self.added.push((log_variance.to_string(), Arc::new(hyperprior)));
        self
    }

    /// The layout with the blocks that hierarchical priors add, and the prior of every block.
    pub(crate) fn resolve(&self, layout: &Layout) -> Result<(Layout, Vec<BlockPrior>), Error> {
        let error = |problem: String| Error::Prior { problem, known: layout.block_names() };
        for (pattern, _) in &self.entries {
            if !layout.blocks().iter().any(|block| block.matches(pattern)) {
                return Err(error(format!("`{pattern}` matches no block")));
            }
        }
        let mut full = layout.clone();
        for (name, _) in &self.added {
            if full.range(name).is_some() {
                return Err(error(format!("there is a block `{name}` already")));
            }
            full = full.with(name, &[]);
        }
        let mut resolved = Vec::with_capacity(full.blocks().len());
        for block in layout.blocks() {
            // The exact name, or the longest of the patterns.
            let claims = self.entries.iter().filter(|(name, _)| block.matches(name));
            let rank = |name: &str| if name.ends_with('*') { name.len() } else { usize::MAX };
            let best = claims.clone().map(|(name, _)| rank(name)).max();
            let found: Vec<_> = claims.filter(|(name, _)| Some(rank(name)) == best).collect();
            let density = match found[..] {
                [(_, Entry::Own(prior))] => Density::Own(prior.clone()),
                [(_, Entry::Hierarchical(name))] => {
                    Density::Hierarchical { log_variance: full.try_range(name)?.start }
                }
                [] => return Err(error(format!("block `{}` has no prior", block.name))),
                [(first, _), (second, _), ..] => {
                    return Err(error(format!(
                        "block `{}` is claimed by both `{first}` and `{second}`",
                        block.name
                    )));
                }
            };
            let (name, range) = (block.name.clone(), block.range.clone());
            resolved.push(BlockPrior { name, range, density });
        }
        for (name, prior) in &self.added {
            let (range, density) = (full.try_range(name)?, Density::Own(prior.clone()));
            resolved.push(BlockPrior { name: name.clone(), range, density });
        }
        Ok((full, resolved))
    }
}

/// One block and its prior.
#[derive(Clone, Debug)]
pub(crate) struct BlockPrior {
    pub name: String,
    pub range: Range<usize>,
    density: Density,
}

#[derive(Clone, Debug)]
enum Density {
    Own(Arc<dyn Prior>),
    /// N(0, e^s) with s at this coordinate of q.
    Hierarchical {
        log_variance: usize,
    },
}

impl BlockPrior {
    /// log p of this block, given the rest of `q`.
    pub fn log_density(&self, q: &[f64]) -> f64 {
        let x = &q[self.range.clone()];
        match &self.density {
            Density::Own(prior) => prior.log_density(x),
            Density::Hierarchical { log_variance } => {
                normal_log_density(x.len(), sum_of_squares(x), q[*log_variance])
            }
        }
    }

    /// Adds the derivative with respect to all of `q` to `grad`, and returns log p of this block.
    pub fn add_grad(&self, q: &[f64], grad: &mut [f64]) -> f64 {
        let x = &q[self.range.clone()];
        match &self.density {
            Density::Own(prior) => prior.add_grad(x, &mut grad[self.range.clone()]),
            Density::Hierarchical { log_variance } => {
                let (s, squares) = (q[*log_variance], sum_of_squares(x));
                let precision = (-s).exp();
                for (grad, x) in grad[self.range.clone()].iter_mut().zip(x) {
                    *grad -= precision * x;
                }
                grad[*log_variance] += 0.5 * (precision * squares - x.len() as f64);
                normal_log_density(x.len(), squares, s)
            }
        }
    }

    /// As [`Prior::add_hessian_product`], for all of `q`; `v` and `hv` are as long.
    pub fn add_hessian_product(
        &self,
        curvature: Curvature,
        q: &[f64],
        v: &[f64],
        hv: &mut [f64],
    ) -> bool {
        let range = self.range.clone();
        let x = &q[range.clone()];
        match &self.density {
            Density::Own(prior) => {
                prior.add_hessian_product(curvature, x, &v[range.clone()], &mut hv[range])
            }
            Density::Hierarchical { log_variance } => {
                let (s, v_s, v) = (q[*log_variance], v[*log_variance], &v[range.clone()]);
                let precision = (-s).exp();
                subtract_scaled(precision, v, &mut hv[range.clone()]);
                match curvature {
                    Curvature::Observed => {
                        let mut cross = 0.0;
                        for ((hv, x), v) in hv[range].iter_mut().zip(x).zip(v) {
                            *hv += precision * x * v_s;
                            cross += x * v;
                        }
                        hv[*log_variance] += precision * (cross - 0.5 * sum_of_squares(x) * v_s);
                    }
                    Curvature::Expected => hv[*log_variance] -= 0.5 * x.len() as f64 * v_s,
                }
                true
            }
        }
    }

    /// Draws this block given the rest of `q`. Blocks without parents come first.
    pub fn draw(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        match &self.density {
            Density::Own(prior) => prior.draw(rng, &mut q[self.range.clone()]),
            Density::Hierarchical { log_variance } => {
                let sd = (0.5 * q[*log_variance]).exp();
                q[self.range.clone()].fill_with(|| sd * rng.normal());
                Ok(())
            }
        }
    }

    /// The coordinate of q that this prior depends on besides its own block.
    pub fn parent(&self) -> Option<usize> {
        match self.density {
            Density::Own(_) => None,
            Density::Hierarchical { log_variance } => Some(log_variance),
        }
    }

    /// The interval outside which this block has no density; infinite where there is none.
    pub fn bounds(&self) -> (f64, f64) {
        match &self.density {
            Density::Own(prior) => match prior.family() {
                Family::Uniform { lower, upper } => (lower, upper),
                _ => (f64::NEG_INFINITY, f64::INFINITY),
            },
            Density::Hierarchical { .. } => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// The family, given the rest of `q`.
    pub fn family(&self, q: &[f64]) -> Family {
        match &self.density {
            Density::Own(prior) => prior.family(),
            Density::Hierarchical { log_variance } => {
                Family::Normal { mean: 0.0, sd: (0.5 * q[*log_variance]).exp() }
            }
        }
    }
}

/// log of N(0, e^s) for n coordinates with the given sum of squares.
fn normal_log_density(n: usize, squares: f64, s: f64) -> f64 {
    -0.5 * (n as f64 * (std::f64::consts::TAU.ln() + s) + (-s).exp() * squares)
}

fn sum_of_squares(x: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    for chunk in x.chunks(8) {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += x * x;
        }
    }
    sums.iter().sum()
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
            (Priors::all(normal()).with("*", normal()), "claimed by both `*` and `*`"),
            (Priors::all(normal()).with("w0", normal()).with("w0", normal()), "claimed by both"),
        ] {
            let message = message(priors);
            assert!(message.contains(problem) && message.contains(all), "{message}");
        }
        let ok = Priors::all(normal()).with("b0", Uniform::new(-1.0, 1.0).unwrap());
        let (full, resolved) = ok.resolve(&layout()).unwrap();
        assert_eq!(full, layout());
        assert_eq!(resolved[1].log_density(&[2.0; 7]), f64::NEG_INFINITY);
        assert!(resolved[0].log_density(&[2.0; 7]).is_finite());

        let variance = || LogInverseGamma::new(1.0, 1.0).unwrap();
        let hierarchy = Priors::all(normal()).hierarchical("w*", "log_variance", variance());
        let (full, resolved) = hierarchy.resolve(&layout()).unwrap();
        assert_eq!(full.block_names(), ["w0", "b0", "log_noise_variance", "log_variance"]);
        assert_eq!((resolved[0].parent(), resolved[1].parent()), (Some(7), None));
        let twice = Priors::all(normal()).hierarchical("w0", "b0", variance());
        assert!(message(twice).contains("there is a block `b0` already"));
    }
}
