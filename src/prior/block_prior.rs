//! The density of one block of q, given the rest.

use std::ops::Range;
use std::sync::Arc;

use super::{Family, LogHalfCauchy, Prior, hierarchical};
use crate::Error;
use crate::curvature::Curvature;
use crate::rng::ChainRng;

/// One block and its prior.
#[derive(Clone, Debug)]
pub(crate) struct BlockPrior {
    pub name: String,
    pub range: Range<usize>,
    pub(super) density: Density,
}

#[derive(Clone, Debug)]
pub(super) enum Density {
    Own(Arc<dyn Prior>),
    /// N(0, e^s) with s at this coordinate of q, or at these for the columns of a matrix. They come
    /// after the block.
    Hierarchical {
        log_variances: Range<usize>,
    },
    /// Log variances s of standard deviations that are half-Cauchy, of scale e^(t/2) with t at this
    /// coordinate of q, which comes after the block.
    HalfCauchy {
        log_scale: usize,
    },
}

impl BlockPrior {
    /// The prior of a part of the block whose coordinates are independent given the rest of q: of
    /// whole rows, if columns have variances of their own.
    pub fn part(&self, range: Range<usize>) -> Self {
        Self { range, ..self.clone() }
    }

    /// Whether the prior has no parameters among the other coordinates.
    pub fn is_own(&self) -> bool {
        matches!(self.density, Density::Own(_))
    }

    /// log p of this block, given the rest of `q`.
    pub fn log_density(&self, q: &[f64]) -> f64 {
        let x = &q[self.range.clone()];
        match &self.density {
            Density::Own(prior) => prior.log_density(x),
            Density::Hierarchical { log_variances } => {
                hierarchical::log_density(x, &q[log_variances.clone()])
            }
            Density::HalfCauchy { log_scale } => {
                LogHalfCauchy::around(q[*log_scale]).log_density(x)
            }
        }
    }

    /// Adds the derivative with respect to all of `q` to `grad`, and returns log p of this block.
    pub fn add_grad(&self, q: &[f64], grad: &mut [f64]) -> f64 {
        let x = &q[self.range.clone()];
        match &self.density {
            Density::Own(prior) => prior.add_grad(x, &mut grad[self.range.clone()]),
            Density::Hierarchical { log_variances } => {
                let (before, after) = grad.split_at_mut(log_variances.start);
                let s = &q[log_variances.clone()];
                hierarchical::add_grad(x, s, &mut before[self.range.clone()], &mut after[..s.len()])
            }
            Density::HalfCauchy { log_scale } => {
                let prior = LogHalfCauchy::around(q[*log_scale]);
                grad[*log_scale] -= prior.slope(x); //~ horseshoe-common-scale
                prior.add_grad(x, &mut grad[self.range.clone()])
            }
        }
    }

    /// The product of [`Prior::add_hessian_product`], for all of `q`; `v` and `hv` are as long.
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
            Density::Hierarchical { log_variances } => {
                let (before, after) = hv.split_at_mut(log_variances.start);
                let (s, v_s) = (&q[log_variances.clone()], &v[log_variances.clone()]);
                let (v, hv, hv_s) = (&v[range.clone()], &mut before[range], &mut after[..s.len()]);
                hierarchical::add_hessian_product(curvature, (x, s), (v, v_s), (hv, hv_s));
                true
            }
            Density::HalfCauchy { log_scale } => {
                // A function of s - t: the part that is added for s is subtracted for t.
                let prior = LogHalfCauchy::around(q[*log_scale]);
                let v_t = v[*log_scale];
                for k in range {
                    let mut product = [0.0];
                    prior.add_hessian_product(curvature, &q[k..=k], &[v[k] - v_t], &mut product);
                    hv[k] += product[0];
                    hv[*log_scale] -= product[0];
                }
                true
            }
        }
    }

    /// Draws this block given the rest of `q`. Blocks without parents come first.
    pub fn draw(&self, rng: &mut ChainRng, q: &mut [f64]) -> Result<(), Error> {
        match &self.density {
            Density::Own(prior) => prior.draw(rng, &mut q[self.range.clone()]),
            Density::Hierarchical { log_variances } => {
                let (before, after) = q.split_at_mut(log_variances.start);
                let s = &after[..log_variances.len()];
                hierarchical::draw(s, rng, &mut before[self.range.clone()]);
                Ok(())
            }
            Density::HalfCauchy { log_scale } => {
                LogHalfCauchy::around(q[*log_scale]).draw(rng, &mut q[self.range.clone()])
            }
        }
    }

    /// The coordinates of q that this prior depends on besides its own block.
    pub fn parents(&self) -> Range<usize> {
        match &self.density {
            Density::Own(_) => 0..0,
            Density::Hierarchical { log_variances } => log_variances.clone(),
            Density::HalfCauchy { log_scale } => *log_scale..log_scale + 1,
        }
    }

    /// The place in which this block is drawn: after those that it depends on.
    pub fn generation(&self) -> usize {
        match &self.density {
            Density::Own(_) => 0,
            Density::HalfCauchy { .. } => 1,
            Density::Hierarchical { .. } => 2,
        }
    }

    /// The interval outside which this block has no density; infinite where there is none.
    pub fn bounds(&self) -> (f64, f64) {
        match &self.density {
            Density::Own(prior) => match prior.family() {
                Family::Uniform { lower, upper } => (lower, upper),
                _ => (f64::NEG_INFINITY, f64::INFINITY),
            },
            Density::Hierarchical { .. } | Density::HalfCauchy { .. } => {
                (f64::NEG_INFINITY, f64::INFINITY)
            }
        }
    }

    /// The coordinate of q that holds the log variance of `coordinate` in this block, if it is a
    /// parameter.
    pub fn log_variance_of(&self, coordinate: usize) -> Option<usize> {
        match &self.density {
            Density::Hierarchical { log_variances } => {
                //~ scale-of-column
                let column = (coordinate - self.range.start) % log_variances.len();
                Some(log_variances.start + column)
            }
            _ => None,
        }
    }

    /// The family of a coordinate of q in this block, given the rest of `q`.
    pub fn family(&self, q: &[f64], coordinate: usize) -> Family {
        match &self.density {
            Density::Own(prior) => prior.family(),
            Density::Hierarchical { .. } => {
                let log_variance = self.log_variance_of(coordinate).map_or(f64::NAN, |at| q[at]);
                Family::Normal { mean: 0.0, sd: hierarchical::sd(log_variance) }
            }
            Density::HalfCauchy { .. } => Family::Other,
        }
    }
}
