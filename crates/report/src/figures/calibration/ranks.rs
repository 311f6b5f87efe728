//! The ranks of simulation-based calibration beside those of a right sampler.

use bnn_mcmc::testing::SbcReport;

use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place};

/// For each quantity, the difference between the share of simulations whose true value ranks below r and the share if ranks are
/// uniform, with the [band](SbcReport::band) in which a right sampler stays at all places with the probability 1 -
/// [alpha](SbcReport::alpha).
///
/// Source: Säilynoja, Bürkner, Vehtari 2022, doi:10.1007/s11222-022-10090-6.
pub fn ranks(report: &SbcReport) -> Figure {
    let band = report.band();
    let simulations = report.ranks().nrows();
    let cells = (band.len() + 1) as f64;
    let caption = format!(
        "The ranks of true values among draws of the posterior, in {simulations} simulations: the share of ranks below \
         that of the horizontal axis, less the share if all ranks are equally frequent. With a right sampler the \
         line of one quantity leaves the grey band anywhere with a probability of {:.4}. Posteriors are too high if the line \
         is above 0 throughout, and too low if it is below; they are too narrow if it is above 0 on the left and below on the \
         right, and too wide in the opposite case.",
        report.alpha()
    );
    let mut figure = Figure::new("sbc-ranks", "Simulation-based calibration", caption);
    let along = |inner: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
        // Both ends are certain.
        std::iter::once(0.0).chain(inner).chain([0.0]).collect()
    };
    let mut at = along(&mut band.iter().map(|[u, ..]| *u));
    at[band.len() + 1] = 1.0;
    for ((name, of), p) in
        report.names().iter().zip(report.ranks().columns()).zip(report.p_values())
    {
        let share = |u: f64| {
            // Ranks are whole numbers, and u is a multiple of 1 / cells.
            let below = of.iter().filter(|rank| f64::from(**rank) < u * cells - 0.5);
            below.count() as f64 / simulations as f64
        };
        let heights = along(&mut band.iter().map(|[u, ..]| share(*u) - u)); //~ report-sbc-ranks
        let panel = Panel::new(
            format!("{name}, p = {p:.1e}"),
            Axis::new("rank / number of ranks").range(0.0, 1.0),
            Axis::new("difference of shares"),
        )
        .mark(Mark::Band {
            name: Some("a right sampler".into()),
            colour: Colour::Muted,
            x: at.clone(),
            low: along(&mut band.iter().map(|[u, low, _]| low - u)),
            high: along(&mut band.iter().map(|[u, _, high]| high - u)),
        })
        .mark(Mark::rule(Colour::Ink, Place::Horizontal(0.0)))
        .mark(Mark::line(
            Colour::Series(0),
            at.iter().zip(heights).map(|(x, y)| [*x, y]).collect(),
        ));
        figure = figure.panel(panel);
    }
    figure
}
