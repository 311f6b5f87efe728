//! Whether the momenta of HMC and NUTS reach all energies.

use bnn_mcmc::Error;
use bnn_mcmc::diagnostics::{EBFMI_LIMIT, ebfmi};
use ndarray::ArrayView2;

use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place, Symbol};
use crate::figures::bins::density_mark;

/// The energies H at the draws, centred in each chain, against their changes from one draw to the
/// next, and the energy Bayesian fraction of missing information of each chain
/// ([`ebfmi`]).
///
/// `energy` is the statistic `energy` of a run of HMC or NUTS alone, `[chain, draw]`, without
/// thinning: of thinned draws the changes are too large
/// ([`Draws::ebfmi`](bnn_mcmc::draws::Draws::ebfmi) is `None` for them). Densities are by
/// [`density`](bnn_mcmc::diagnostics::density()), of equal values a vertical line; energies that are not
/// finite are left out of them, and counted in the caption. Source: Betancourt 2017, arXiv:1701.02434, section 6.1.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc_report::figures::sampler;
/// let data = Dataset::regression(ndarray::array![[0.0], [1.0]], ndarray::array![1.0, 2.0])?;
/// let priors = Priors::all(Normal::new(0.0, 1.0)?);
/// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
/// let draws = Sampler::new(&posterior, Nuts::default()).warmup(200).draws(200).run()?;
/// let figure = sampler::energy(draws.stat("energy")?)?;
/// assert_eq!(figure.panels.len(), 2);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
///
/// # Errors
/// No chains, and fewer than two draws.
pub fn energy(energy: ArrayView2<f64>) -> Result<Figure, Error> {
    let (chains, draws) = energy.dim();
    if chains == 0 || draws < 2 {
        let found = format!("{chains} chains of {draws} draws");
        return Err(Error::shape("energies", found, "at least one chain of two draws"));
    }
    let (mut levels, mut changes) = (Vec::new(), Vec::new());
    for chain in energy.outer_iter() {
        let finite: Vec<f64> = chain.iter().copied().filter(|h| h.is_finite()).collect();
        let mean = finite.iter().sum::<f64>() / finite.len() as f64;
        levels.extend(finite.iter().map(|h| h - mean));
        changes.extend(chain.windows(2).into_iter().map(|w| w[1] - w[0]).filter(|d| d.is_finite()));
    }
    let left_out = chains * draws - levels.len();
    let mut caption = format!(
        "Left: the density of the energies at the draws, less their mean in each chain, and the density of \
         their changes from one draw to the next. The two curves of a good run are about equally wide. \
         Right, by chain: the mean square of the changes over the variance of the energies (E-BFMI). Below \
         the grey line at {EBFMI_LIMIT} momenta change the energy too little, and the tails are badly \
         explored."
    );
    if left_out > 0 {
        caption += &format!(" {left_out} energies are not finite, and left out on the left.");
    }
    let mut densities = Panel::new("energies", Axis::new("energy (nats)"), Axis::new("density"));
    for (k, (name, values)) in [("at draws", levels), ("changes", changes)].into_iter().enumerate()
    {
        let mark = density_mark(values, Some(name.to_owned()), Colour::Series(k));
        densities = mark.into_iter().fold(densities, Panel::mark);
    }
    let fractions = ebfmi(energy);
    let most = fractions.iter().copied().filter(|f| f.is_finite()).fold(1.0, f64::max);
    let by_chain = Panel::new(
        "E-BFMI",
        Axis::new("chain").range(-0.5, chains as f64 - 0.5),
        Axis::new("E-BFMI").range(0.0, 1.1 * most),
    )
    .mark(
        Mark::rule(Colour::Muted, Place::Horizontal(EBFMI_LIMIT))
            .named(format!("limit {EBFMI_LIMIT}")),
    )
    .mark(Mark::points(
        Colour::Series(0),
        Symbol::Dot,
        fractions.iter().enumerate().map(|(chain, f)| [chain as f64, *f]).collect(),
    ));
    Ok(Figure::new("energy", "Energies", caption).panel(densities).panel(by_chain))
}
