//! Histograms of three measures of uncertainty, of right and of wrong predictions.

use bnn_mcmc::Error;
use bnn_mcmc::predict::Uncertainty;

use super::{measures, predicted};
use crate::figure::Figure;

/// Histograms of predictive entropy, expected entropy and mutual information; where the `observed`
/// classes are known, of inputs that are predicted right and of inputs that are not.
///
/// # Errors
/// If there is not one class for each input, or one does not exist.
pub fn entropies(uncertainty: &Uncertainty, observed: Option<&[usize]>) -> Result<Figure, Error> {
    let all: Vec<usize> = (0..uncertainty.inputs()).collect();
    let of = |inputs: &[usize], measure| -> Vec<f64> {
        inputs.iter().map(|i| uncertainty.measure(measure)[*i]).collect()
    };
    let groups = match observed {
        None => vec![(None, all)],
        Some(observed) => {
            // It checks them.
            uncertainty.scores(observed)?;
            let is_right = |i: &usize| predicted(uncertainty.mean().row(*i)) == observed[*i];
            let (right, wrong) = all.into_iter().partition(is_right);
            vec![(Some("right"), right), (Some("wrong"), wrong)]
        }
    };
    let note = match &groups[..] {
        [(_, right), (_, wrong)] => format!(
            " {} inputs are predicted right and {} wrong, and the shares are of each group: wrong \
             predictions should be the more uncertain.",
            right.len(),
            wrong.len()
        ),
        _ => String::new(),
    };
    let histograms = |measure| -> Vec<(Option<String>, Vec<f64>)> {
        let group = |(name, inputs): &(Option<&str>, Vec<usize>)| {
            (name.map(Into::into), of(inputs, measure))
        };
        groups.iter().map(group).collect()
    };
    Ok(measures("entropies", "Uncertainty of the predictions", &note, histograms))
}
