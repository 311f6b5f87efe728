//! Does Hamiltonian Monte Carlo explore the energies of its target?

use ndarray::{ArrayView1, ArrayView2};

/// The energy Bayesian fraction of missing information of each chain.
///
/// ```text
/// E-BFMI = sum_t (H_t - H_(t-1))^2 / sum_t (H_t - mean H)^2
/// ```
///
/// `energy` is H at each draw, `[chain, draw]`. A fresh momentum changes H by as much as the
/// momentum's kinetic energy varies; where that is little against the spread of H the chain walks
/// slowly from one energy to the next, and its tails are badly explored: heavy tails, a funnel.
/// Below [`EBFMI_LIMIT`](super::EBFMI_LIMIT) results are doubtful. NaN below two draws or
/// for constant energies. Source: Betancourt, *A conceptual introduction to Hamiltonian Monte
/// Carlo*, 2017, arXiv:1701.02434, section 6.1.
///
/// ```
/// use ndarray::array;
/// let ebfmi = bnn_mcmc::diagnostics::ebfmi(array![[1.0, 3.0, 2.0]].view());
/// assert_eq!(ebfmi, [2.5]); // (4 + 1) / (1 + 1 + 0)
/// ```
pub fn ebfmi(energy: ArrayView2<f64>) -> Vec<f64> {
    let of_chain = |chain: ArrayView1<f64>| {
        let mean = chain.mean().unwrap_or(f64::NAN);
        let steps: f64 = chain.windows(2).into_iter().map(|w| (w[1] - w[0]).powi(2)).sum();
        steps / chain.iter().map(|h| (h - mean).powi(2)).sum::<f64>()
    };
    energy.outer_iter().map(of_chain).collect()
}
