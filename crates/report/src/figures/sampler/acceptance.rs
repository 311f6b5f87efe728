//! How often each chain's proposals were accepted.

use bnn_mcmc::Error;
use ndarray::{ArrayView2, Axis as Dimension};

use crate::figure::{Axis, Colour, Figure, Mark, Panel, Symbol};

/// The mean acceptance probability of each chain.
///
/// `accept_prob` is the statistic of that name, `[chain, draw]`; values that are NaN are left out.
///
/// # Errors
/// No chain or no draw.
pub fn acceptance(accept_prob: ArrayView2<f64>) -> Result<Figure, Error> {
    let (chains, draws) = accept_prob.dim();
    if chains == 0 || draws == 0 {
        let found = format!("{chains} chains of {draws} draws");
        return Err(Error::shape("accept_prob", found, "at least one chain of one draw"));
    }
    let left_out = accept_prob.iter().filter(|p| p.is_nan()).count();
    let mut caption =
        "The mean acceptance probability of each chain. The chains of a good run are about \
                       equally high."
            .to_owned();
    if left_out > 0 {
        caption += &format!(" {left_out} values are not numbers, and left out.");
    }
    let mean = |row: ndarray::ArrayView1<f64>| {
        let kept: Vec<f64> = row.iter().copied().filter(|p| !p.is_nan()).collect();
        kept.iter().sum::<f64>() / kept.len() as f64
    };
    let points = accept_prob.axis_iter(Dimension(0)).map(mean).enumerate();
    let panel = Panel::new(
        "acceptance",
        Axis::new("chain").range(-0.5, chains as f64 - 0.5),
        Axis::new("mean acceptance probability").range(0.0, 1.0),
    )
    .mark(Mark::Points {
        name: None,
        colour: Colour::Series(0),
        symbol: Symbol::Dot,
        points: points.map(|(chain, mean)| [chain as f64, mean]).collect(),
    });
    Ok(Figure::new("acceptance", "Acceptance", caption).panel(panel))
}
