//! R-hat of every parameter, by block of the layout.

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::Summary;
use bnn_mcmc::layout::Layout;

use super::figure;
use crate::figure::Figure;

/// R-hat of every parameter, in a column for each block of the layout, with a box plot and the limit
/// 1.01.
///
/// The figure follows Chandra and Simmons, *Bayesian neural networks via MCMC: a Python-based
/// tutorial*, arXiv:2304.02595, figure 10, with the limit of Vehtari et al. 2021
/// (doi:10.1214/20-BA1221) instead of 1.1. See [`models`](super::models()) for what a column shows.
/// If there are more than 40 blocks, the figure shows the 40 with the largest R-hat, where an
/// undefined one counts as the largest.
///
/// ```
/// use bnn_mcmc::diagnostics::Summary;
/// use bnn_mcmc::layout::Layout;
/// use bnn_mcmc_report::figures::rhat;
/// let mut rng = bnn_mcmc::rng::ChainRng::new(1, 0);
/// let draws = ndarray::Array3::from_shape_simple_fn((4, 500, 12), || rng.normal());
/// let layout = Layout::new().with("weights", &[2, 5]).with("biases", &[2]);
/// let summary = Summary::new(&layout.parameter_names(), draws.view())?;
/// let figure = rhat::blocks(&summary, &layout)?;
/// assert!(figure.to_svg().contains("biases"));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// If the layout has another number of parameters than the summary, or none.
pub fn blocks(summary: &Summary, layout: &Layout) -> Result<Figure, Error> {
    if layout.dim() != summary.rows.len() {
        return Err(Error::shape("parameters of the layout", layout.dim(), summary.rows.len()));
    }
    let blocks = layout.blocks().iter();
    let columns: Vec<_> =
        blocks.map(|b| (b.name.as_str(), &summary.rows[b.range.clone()])).collect();
    figure("parameter", "block", columns)
}
