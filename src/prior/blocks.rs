//! Which prior belongs to which block of q.

use std::ops::Range;
use std::sync::Arc;

use super::{Family, Prior, hierarchical};
use crate::Error;
use crate::curvature::Curvature;
use crate::layout::Layout;
use crate::rng::ChainRng;

/// Which prior belongs to which block. See the [module](super).
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
                hierarchical::log_density(x, q[*log_variance])
            }
        }
    }

    /// Adds the derivative with respect to all of `q` to `grad`, and returns log p of this block.
    pub fn add_grad(&self, q: &[f64], grad: &mut [f64]) -> f64 {
        let x = &q[self.range.clone()];
        match &self.density {
            Density::Own(prior) => prior.add_grad(x, &mut grad[self.range.clone()]),
            Density::Hierarchical { log_variance } => {
                let (log_density, d_s) =
                    hierarchical::add_grad(x, q[*log_variance], &mut grad[self.range.clone()]);
                grad[*log_variance] += d_s;
                log_density
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
                let (s, v_s) = (q[*log_variance], v[*log_variance]);
                let (v, hv_x) = (&v[range.clone()], &mut hv[range]);
                hv[*log_variance] +=
                    hierarchical::add_hessian_product(curvature, x, s, v, v_s, hv_x);
                true
            }
        }
    }

    /// Draws this block given the rest of `q`. Blocks without parents come first.
    pub fn draw(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        match &self.density {
            Density::Own(prior) => prior.draw(rng, &mut q[self.range.clone()]),
            Density::Hierarchical { log_variance } => {
                let s = q[*log_variance];
                hierarchical::draw(s, rng, &mut q[self.range.clone()]);
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
                Family::Normal { mean: 0.0, sd: hierarchical::sd(q[*log_variance]) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prior::{LogInverseGamma, Normal, Uniform};

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
