//! Capabilities that the priors give a posterior, for kernels that need more than a density: the
//! conditional of the noise, Gaussian priors, bounds.

use super::{Observed, Posterior};
use crate::Error;
use crate::layout::Block;
use crate::likelihood::{Gaussian, Likelihood};
use crate::model::Model;
use crate::prior::{BlockPrior, Family};
use crate::targets::{BoxSupport, GaussianReference, NoiseConditional, NoiseParameters};

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Whether the prior of the output weights, the block `output`, is N(0, 1/H) for H units, or
    /// has a variance that is sampled.
    pub(crate) fn has_prior_by_fan_in(&self, output: &Block) -> bool {
        let Some(block) = self.priors.iter().find(|block| block.name == output.name) else {
            return false;
        };
        if !block.parents().is_empty() {
            return true;
        }
        let units = output.shape.get(1).copied().unwrap_or(0) as f64;
        match block.family(&[], output.range.start) {
            Family::Normal { sd, .. } => (sd * sd * units - 1.0).abs() < 0.01,
            _ => false,
        }
    }

    /// Whether weights of the model have variances that are sampled.
    pub(crate) fn has_sampled_variances(&self) -> bool {
        let of_model = |block: &&BlockPrior| block.range.end <= self.n_weights;
        self.priors.iter().filter(of_model).any(|block| !block.parents().is_empty())
    }
}

impl<M: Model> NoiseConditional for Posterior<M, Gaussian> {
    fn noise_parameters(&self) -> Result<NoiseParameters, Error> {
        let name = "log_noise_variance";
        let coordinate = self.layout.try_range(name)?.start;
        let own = |b: &&BlockPrior| b.name == name && b.parents().is_empty();
        let prior = self.priors.iter().find(own).map(|b| b.family(&[], coordinate));
        let Some(Family::LogInverseGamma { shape, scale }) = prior else {
            return Err(Error::prior(
                format!("the prior of `{name}` must be LogInverseGamma for a Gibbs update"),
                self.layout.block_names(),
            ));
        };
        let values = self.n_weighted * self.y_columns() as f64; //~ weighted-values
        Ok(NoiseParameters { coordinate, values, shape, scale, beta: 1.0 })
    }

    fn squared_error(&self, q: &[f64], ws: &mut Self::Workspace) -> f64 {
        let mut sum = 0.0;
        self.for_each_output(q, self.tiles(), ws, |_, out, Observed { y, weights }| {
            sum += Gaussian::squared_error(out.as_tile(), y, weights);
        });
        sum
    }
}

impl<M: Model, L: Likelihood> GaussianReference for Posterior<M, L> {
    fn gaussian_reference(
        &self,
        moving: &[usize],
        q: &[f64],
        mean: &mut [f64],
        sd: &mut [f64],
        _ws: &mut Self::Workspace,
    ) -> Result<(), Error> {
        // Both the blocks and the moving coordinates are in ascending order.
        let mut rest = 0;
        for block in &self.priors {
            let first = rest;
            while rest < moving.len() && block.range.contains(&moving[rest]) {
                rest += 1;
            }
            if first == rest {
                continue;
            }
            let problem = |problem: &str| {
                Error::prior(
                    format!("the prior of block `{}` {problem}", block.name),
                    self.layout.block_names(),
                )
            };
            if block.parents().any(|parent| moving.binary_search(&parent).is_ok()) {
                let what =
                    "depends on another block that moves with it: use OnBlocks on one of them";
                return Err(problem(what));
            }
            // Only columns with variances of their own differ within a block.
            let step = if block.parents().len() > 1 { 1 } else { rest - first };
            for k in (first..rest).step_by(step) {
                let Family::Normal { mean: m, sd: s } = block.family(q, moving[k]) else {
                    let what = "is not normal: use OnBlocks on the blocks whose prior is";
                    return Err(problem(what));
                };
                mean[k..k + step].fill(m);
                sd[k..k + step].fill(s);
            }
        }
        Ok(())
    }
}

impl<M: Model, L: Likelihood> BoxSupport for Posterior<M, L> {
    /// The bounds of [`Uniform`](crate::prior::Uniform) priors, and of a prior of your own whose
    /// [`family`](crate::prior::Prior::family) is uniform; none for all others.
    fn bounds(&self, lower: &mut [f64], upper: &mut [f64]) -> Result<(), Error> {
        for block in &self.priors {
            let (low, high) = block.bounds();
            lower[block.range.clone()].fill(low);
            upper[block.range.clone()].fill(high);
        }
        Ok(())
    }
}
