//! The linear model of a fit's rows.

use std::borrow::Cow;

use super::choices::Candidate;
use super::kinds::Noise;
use super::{Fit, Plan, Recipe};
use crate::Error;

/// Chains, iterations of warm-up and draws.
const SIZES: [usize; 3] = [2, 500, 500];

impl Fit {
    /// The linear model ([`Candidate::Linear`]) of the same training rows, by 2 chains of 500 draws: what any other model should
    /// predict better than. Of classes, counts and times the scale of its weights is sampled
    /// ([`WeightPrior::Scales`](super::WeightPrior::Scales)), so that they are not held back by a prior that is too tight. Rows that were kept for validation are kept from it, too.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// # let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    /// # let data = Dataset::regression(x.clone(), x.mapv(|x| 100.0 * (2.0 * x).sin()))?;
    /// let fit = Fit::regression("height").hidden(&[4]).chains(2).warmup(300).draws(200).fit(&data)?;
    /// let linear = fit.linear_model()?;
    /// println!("{}", Loo::compare(&[("network", &fit.loo()?), ("linear", &linear.loo()?)])?);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Recipe::fit`]; several completed tables.
    pub fn linear_model(&self) -> Result<Self, Error> {
        let Plan { recipe, data, origin, .. } = &*self.of_one_table()?.plan;
        let [chains, warmup, draws] = SIZES;
        let mut plain = Recipe::new(recipe.task, data.response_names().to_vec().into());
        (plain.reader, plain.decided.rows) = (recipe.reader.clone(), recipe.decided.rows.clone());
        (plain.settings.validation, plain.settings.seed) =
            (recipe.settings.validation, recipe.settings.seed);
        (plain.decided.learnt_from, plain.decided.drawn) =
            (recipe.decided.learnt_from, recipe.decided.drawn);
        // Of numbers that may be negative the other noises are refused.
        plain.settings.noise = recipe.settings.noise.filter(|noise| *noise == Noise::Normal);
        let plain = plain.chains(chains).warmup(warmup).draws(draws);
        Candidate::Linear
            .of(&plain, data.response().width())
            .run(Cow::Borrowed(data), origin.clone())
    }
}
