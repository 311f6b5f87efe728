//! Logistic regression: a [`Linear`] model that gives as many logits as the likelihood needs.
//!
//! - [`binary`]: one logit z = w . x + b; with a Bernoulli likelihood, P(y = 1) = sigmoid z;
//! - [`multinomial`]: K logits z = W x + b; with a categorical likelihood,
//!   P(y = k) = exp z_k / sum_j exp z_j. All K rows of W are free: adding one vector to each
//!   changes no probability, and only the prior says which of the equal solutions is meant.
//!
//! ```
//! use bnn_mcmc::model::{Model, logistic};
//! assert_eq!(logistic::binary(34)?.layout().dim(), 35);
//! assert_eq!(logistic::multinomial(4, 3)?.layout().dim(), 15);
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```

use super::Linear;
use crate::Error;

/// One logit from `n_features` features, with bias: for a Bernoulli likelihood.
///
/// # Errors
/// [`Error::Argument`] if `n_features` is zero.
pub fn binary(n_features: usize) -> Result<Linear, Error> {
    if n_features == 0 {
        return Err(Error::argument("n_features", n_features, "at least 1"));
    }
    Linear::new(n_features, 1)
}

/// `n_classes` logits from `n_features` features, with bias: for a categorical likelihood.
///
/// # Errors
/// [`Error::Argument`] if `n_features` is zero or there are fewer than two classes.
pub fn multinomial(n_features: usize, n_classes: usize) -> Result<Linear, Error> {
    if n_classes < 2 {
        return Err(Error::argument("n_classes", n_classes, "at least 2"));
    }
    binary(n_features)?;
    Linear::new(n_features, n_classes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;

    #[test]
    fn wrong_arguments_are_named() {
        fails!(binary(0), Argument { name: "n_features", value: 0 });
        fails!(multinomial(4, 1), Argument { name: "n_classes", value: 1 });
        fails!(multinomial(0, 3), Argument { name: "n_features", value: 0 });
    }
}
