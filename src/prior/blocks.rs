//! The assignment of priors to the blocks of q.

use std::sync::Arc;

use super::block_prior::{BlockPrior, Density};
use super::{Normal, Prior};
use crate::Error;
use crate::layout::{Block, Layout};
use crate::message::Advice;
use crate::model::{Model, layers};

/// The assignment of priors to blocks. See the [module](super).
///
/// An exact name takes precedence over a pattern, and a longer pattern over a shorter one: `*`
/// holds for the rest of the model's blocks. A likelihood's own parameters, such as
/// `log_noise_variance`, are never matched by `*` alone: a prior that is right for weights is
/// hardly right for them. Checked when the posterior is built: a name that matches no block, a
/// block without a prior, and a block that two entries claim with equal right are errors.
#[derive(Clone, Debug, Default)]
pub struct Priors {
    entries: Vec<(String, Entry)>,
    /// Blocks that hierarchical priors add to the posterior.
    added: Vec<Added>,
}

/// A block of log variances.
#[derive(Clone, Debug)]
struct Added {
    name: String,
    /// The pattern of the matrices that have these columns, if there is one log variance for each
    /// column.
    columns_of: Option<String>,
    density: Hyperprior,
}

#[derive(Clone, Debug)]
enum Hyperprior {
    Own(Arc<dyn Prior>),
    /// Half-Cauchy, of a scale that is the log variance in the block that is named.
    HalfCauchy(String),
}

#[derive(Clone, Debug)]
enum Entry {
    Own(Arc<dyn Prior>),
    /// A prior like `Own` that gives way to any other entry of the same name.
    FanIn(Arc<dyn Prior>),
    /// N(0, exp of the block that is named), or of its number for the column.
    Hierarchical(String),
}

impl Priors {
    /// No priors yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One prior for every block of the model that no other entry names: `with("*", prior)`.
    /// Parameters of the likelihood need priors of their own, by name; a posterior without them is
    /// refused with their names.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// use ndarray::array;
    /// let data = Dataset::regression(array![[0.0], [1.0]], array![0.1, 0.9])?;
    /// let weights = Priors::all(Normal::new(0.0, 1.0)?);
    /// let posterior = |priors| {
    ///     Posterior::new(Linear::new(1, 1)?, Gaussian::sampled(), &data, priors)
    /// };
    /// let error = posterior(weights.clone()).unwrap_err().to_string();
    /// assert!(error.contains("block `log_noise_variance` has no prior"), "{error}");
    /// let noise = LogInverseGamma::new(2.0, 0.5)?;
    /// assert!(posterior(weights.with("log_noise_variance", noise)).is_ok());
    /// # Ok::<(), Error>(())
    /// ```
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
        self.added.push(Added {
            name: log_variance.to_string(),
            columns_of: None,
            density: Hyperprior::Own(Arc::new(hyperprior)),
        });
        self
    }

    /// Automatic relevance determination: N(0, v_j) for every weight of input j in the first layer
    /// `name`, with the variances v_1, ..., v_D of the D inputs parameters of their own (MacKay
    /// 1994; Neal 1996, doi:10.1007/978-1-4612-0745-0, section 1.2.3).
    ///
    /// ```text
    /// w_kj | s_j ~ N(0, e^s_j),   s_j = log v_j ~ hyperprior, independent,   k = 1, ..., H units
    /// ```
    ///
    /// The posterior gets one more block, called `log_variances`, that holds s_1, ..., s_D in the
    /// order of the features: large for inputs that matter. With features of one scale the s_j can
    /// be compared. The weights are sampled as they are (centred): the more units a layer has, the
    /// better its weights determine s_j, and the easier this is for NUTS and HMC. A
    /// [`LogHalfCauchy`](super::LogHalfCauchy) hyperprior lets single inputs be large among many
    /// small ones; [`horseshoe`](Self::horseshoe) learns its scale, too.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// use ndarray::array;
    /// let data = Dataset::regression(array![[0.0, 1.0], [1.0, 3.0]], array![0.1, 0.9])?;
    /// let network = Mlp::new(&[2, 8, 1], Activation::Tanh)?;
    /// let priors = Priors::by_fan_in(&network).ard("w0", "log_relevance", LogHalfCauchy::new(1.0)?);
    /// let posterior = Posterior::new(network, Gaussian::fixed(0.5)?, &data, priors)?;
    /// assert_eq!(posterior.layout().range("log_relevance").unwrap().len(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn ard(self, name: &str, log_variances: &str, hyperprior: impl Prior + 'static) -> Self {
        self.for_columns(name, log_variances, Hyperprior::Own(Arc::new(hyperprior)))
    }

    /// The horseshoe for the inputs of the first layer `name`: as [`ard`](Self::ard), with
    /// half-Cauchy standard deviations whose common scale tau is a parameter, too (Carvalho, Polson
    /// and Scott 2010, doi:10.1093/biomet/asq017; for the nodes of networks, Ghosh, Yao and
    /// Doshi-Velez 2018, arXiv:1806.05975).
    ///
    /// ```text
    /// w_kj ~ N(0, tau^2 lambda_j^2),   lambda_j ~ C+(0, 1),   log tau^2 ~ hyperprior,   k = 1, ..., H units
    /// log p(s_j | t) = -log(2 pi) - log cosh((s_j - t) / 2),   s_j = log tau^2 lambda_j^2,   t = log tau^2
    /// ```
    ///
    /// Most inputs are shrunk to nothing and a few not at all. The posterior gets two more blocks:
    /// `log_variances` holds s_1, ..., s_D, and `log_scale` holds t. For a half-Cauchy tau, give it
    /// [`LogHalfCauchy::new`](super::LogHalfCauchy::new), of a scale that is small where few inputs
    /// are believed to matter. In a linear model with one output every weight has its own lambda.
    ///
    /// All are sampled as they are (centred), on the log scale: NUTS manages where the weights of a
    /// column, H of them, say something about s_j. Look at the divergences; for measurements see
    /// [`WeightPrior::Horseshoe`](crate::fit::WeightPrior::Horseshoe). There is no slab: the tails
    /// are as heavy as the half-Cauchy's.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// let network = Mlp::new(&[20, 16, 1], Activation::Tanh)?;
    /// let priors = Priors::by_fan_in(&network)
    ///     .horseshoe("w0", "log_relevance", "log_scale", LogHalfCauchy::new(0.2)?)
    ///     .with("log_noise_variance", LogInverseGamma::new(2.0, 0.1)?);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn horseshoe(
        self,
        name: &str,
        log_variances: &str,
        log_scale: &str,
        hyperprior: impl Prior + 'static,
    ) -> Self {
        let half_cauchy = Hyperprior::HalfCauchy(log_scale.to_string());
        let mut priors = self.for_columns(name, log_variances, half_cauchy);
        priors.added.push(Added {
            name: log_scale.to_string(),
            columns_of: None,
            density: Hyperprior::Own(Arc::new(hyperprior)),
        });
        priors
    }

    fn for_columns(mut self, name: &str, log_variances: &str, density: Hyperprior) -> Self {
        self.entries.push((name.to_string(), Entry::Hierarchical(log_variances.to_string())));
        self.added.push(Added {
            name: log_variances.to_string(),
            columns_of: Some(name.to_string()),
            density,
        });
        self
    }

    /// N(0, 1/H) for the weights of every layer after the first, where H is the number of its inputs,
    /// and N(0, 1) for the weights of the first layer and all biases.
    ///
    /// The inputs of a unit or an output are then a sum of H terms whose variance does not depend on
    /// H: networks can be made wider, which makes their posteriors easier to sample, and deeper,
    /// without saturated units or wider functions a priori (Neal 1996,
    /// doi:10.1007/978-1-4612-0745-0, chapter 2). It is made for features and responses of mean 0
    /// and sd 1. For a model of one layer, H is the number of features, as it is for the [linear
    /// part](crate::model::Skip) beside a network. Parameters of the likelihood, and the log
    /// variances of a [`NonCentred`](crate::model::NonCentred) model, need priors of their own. Log
    /// standard deviations of a [`LogSd`](crate::model::LogSd) model have N(0, 1) for all weights. A
    /// later entry with the name of a layer takes the place of N(0, 1/H), so that
    /// [`ard`](Self::ard) and [`horseshoe`](Self::horseshoe) also work where the first layer is the
    /// only one.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// // w1 ~ N(0, 1/50), w2 ~ N(0, 1/20)
    /// let network = Mlp::new(&[8, 50, 20, 1], Activation::Tanh)?;
    /// let priors = Priors::by_fan_in(&network)
    ///     .with("log_noise_variance", LogInverseGamma::new(2.0, 0.1)?);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn by_fan_in(model: &impl Model) -> Self {
        let normal = |sd| Normal::new(0.0, sd).expect("an ordinary sd");
        let mut priors = Self::all(normal(1.0));
        let layout = model.layout();
        let (layers, skip) = layers(&layout);
        let first = usize::from(layers.len() > 1); //~ fan-in-first
        let scaled = layers.into_iter().skip(first).chain(skip);
        for Block { name, shape, .. } in scaled.filter(|block| block.shape[1] > 0) {
            let prior = Arc::new(normal((1.0 / shape[1] as f64).sqrt()));
            priors.entries.push((name.clone(), Entry::FanIn(prior)));
        }
        priors
    }

    /// The layout of the model's blocks, the likelihood's own, and those that hierarchical priors
    /// add, and the prior of every block.
    pub(crate) fn resolve(
        &self,
        model: &Layout,
        own: &Layout,
    ) -> Result<(Layout, Vec<BlockPrior>), Error> {
        let layout = &model.clone().then(own);
        let error = |problem: String| Error::prior(problem, layout.block_names());
        let is_own = |block: &Block| block.range.start >= model.dim();
        let matches = |block: &Block, pattern: &str| {
            block.matches(pattern) && !(is_own(block) && pattern == "*") //~ prior-pattern
        };
        for (pattern, _) in &self.entries {
            if !layout.blocks().iter().any(|block| matches(block, pattern)) {
                return Err(error(format!("`{pattern}` matches no block")));
            }
        }
        let mut full = layout.clone();
        for Added { name, columns_of, .. } in &self.added {
            if full.range(name).is_some() {
                return Err(error(format!("there is a block `{name}` already")));
            }
            let Some(pattern) = columns_of else {
                full = full.with(name, &[]);
                continue;
            };
            let mut matched = layout.blocks().iter().filter(|block| matches(block, pattern));
            let columns =
                matched.clone().find_map(|block| block.shape.last().copied()).unwrap_or(0);
            if let Some(other) = matched.find(|b| b.shape.len() != 2 || b.shape[1] != columns) {
                return Err(error(format!(
                    "`{name}` has a variance for each column of `{pattern}`, but `{}` is no matrix of {columns} \
                     columns",
                    other.name
                )));
            }
            full = full.with(name, &[columns]);
        }
        let mut resolved = Vec::with_capacity(full.blocks().len());
        for block in layout.blocks() {
            // The exact name, or the longest of the patterns.
            let claims = self.entries.iter().filter(|(name, _)| matches(block, name));
            let rank = |(name, entry): &(String, Entry)| match entry {
                Entry::FanIn(_) => usize::MAX - 1,
                _ if name.ends_with('*') => name.len(),
                _ => usize::MAX,
            };
            let best = claims.clone().map(rank).max();
            let found: Vec<_> = claims.filter(|claim| Some(rank(claim)) == best).collect();
            let density = match found[..] {
                [(_, Entry::Own(prior) | Entry::FanIn(prior))] => Density::Own(prior.clone()),
                [(_, Entry::Hierarchical(name))] => {
                    Density::Hierarchical { log_variances: full.try_range(name)? }
                }
                [] if is_own(block) => {
                    let problem = "has no prior: it is the likelihood's own, and a prior of all blocks is for the \
                                   weights of the model";
                    let advice = Advice::in_rust("give it one by name, as by `Priors::with`");
                    return Err(error(format!("block `{}` {problem}", block.name)).advise([advice]));
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
        for Added { name, density, .. } in &self.added {
            let density = match density {
                Hyperprior::Own(prior) => Density::Own(prior.clone()),
                Hyperprior::HalfCauchy(scale) => {
                    Density::HalfCauchy { log_scale: full.try_range(scale)?.start }
                }
            };
            resolved.push(BlockPrior { name: name.clone(), range: full.try_range(name)?, density });
        }
        Ok((full, resolved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;
    use crate::prior::{LogInverseGamma, Normal, Uniform};

    fn model() -> Layout {
        Layout::new().with("w0", &[2, 2]).with("b0", &[2])
    }

    fn own() -> Layout {
        Layout::new().with("log_noise_variance", &[])
    }

    fn message(priors: Priors) -> String {
        priors.resolve(&model(), &own()).unwrap_err().to_string()
    }

    #[test]
    fn misspelt_uncovered_and_doubly_covered_blocks_are_refused_with_the_names() {
        let normal = || Normal::new(0.0, 1.0).unwrap();
        for (priors, expected) in [
            (Priors::all(normal()).with("w1", normal()), "`w1` matches no block"),
            (Priors::new().with("w*", normal()), "block `b0` has no prior"),
            (
                Priors::all(normal()).with("*", normal()),
                "block `w0` is claimed by both `*` and `*`",
            ),
            (
                Priors::all(normal()).with("w0", normal()).with("w0", normal()),
                "block `w0` is claimed by both `w0` and `w0`",
            ),
        ] {
            let Err(Error::Prior { problem, known, .. }) = priors.resolve(&model(), &own()) else {
                panic!("{expected}")
            };
            assert_eq!(problem, expected);
            assert_eq!(known, ["w0", "b0", "log_noise_variance"]);
        }
        // A prior for all weights does not hold for the noise.
        let weights = Priors::all(normal()).with("b0", Uniform::new(-1.0, 1.0).unwrap());
        let message_of = message(weights.clone());
        let part = "block `log_noise_variance` has no prior: it is the likelihood's own";
        assert!(message_of.contains(part), "{message_of}");
        let (full, resolved) = weights.with("log*", normal()).resolve(&model(), &own()).unwrap();
        assert_eq!(full, model().then(&own()));
        assert_eq!(resolved[1].log_density(&[2.0; 7]), f64::NEG_INFINITY);
        assert!(resolved[0].log_density(&[2.0; 7]).is_finite());

        let variance = || LogInverseGamma::new(1.0, 1.0).unwrap();
        let priors = || Priors::all(normal()).with("log_noise_variance", normal());
        let hierarchy = priors().hierarchical("w*", "log_variance", variance());
        let (full, resolved) = hierarchy.resolve(&model(), &own()).unwrap();
        assert_eq!(full.block_names(), ["w0", "b0", "log_noise_variance", "log_variance"]);
        assert_eq!((resolved[0].parents(), resolved[1].parents()), (7..8, 0..0));
        let twice = priors().hierarchical("w0", "b0", variance());
        let problem = "there is a block `b0` already";
        fails!(twice.resolve(&model(), &own()), Prior { problem: problem });
    }
}
