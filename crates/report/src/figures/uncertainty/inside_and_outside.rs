//! Histograms of three measures of uncertainty, of inputs like the training data and of others.

use bnn_mcmc::Error;
use bnn_mcmc::predict::Uncertainty;

use super::{MEASURES, measures};
use crate::figure::Figure;

/// Histograms of predictive entropy, expected entropy and mutual information: of inputs like the
/// training data (`inside`), and of others (`outside`).
///
/// # Errors
/// If the classes of `outside` differ.
pub fn inside_and_outside(inside: &Uncertainty, outside: &Uncertainty) -> Result<Figure, Error> {
    let separation = inside.separation(outside)?;
    let note = format!(
        " The shares are of {} inputs inside and {} outside; the area under the ROC curve, which is 0.5 \
         where a measure does not tell them apart and 1 where it does without error, is {}.",
        separation.inside,
        separation.outside,
        MEASURES.map(|m| format!("{:.3} for the {m}", separation.get(m))).join(", "),
    );
    let histograms = |measure| {
        let of = |name: &str, of: &Uncertainty| (Some(name.into()), of.measure(measure).to_vec());
        vec![of("inside", inside), of("outside", outside)]
    };
    Ok(measures("inside-and-outside", "Uncertainty inside and outside", &note, histograms))
}
