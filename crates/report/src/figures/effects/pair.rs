//! The effect of two columns together.

use bnn_mcmc::Error;
use bnn_mcmc::explain::PairEffect;

use super::OUTPUTS;
use crate::figure::{Axis, Figure, Mark, Palette, Panel};

/// The mean effect of two columns together, as coloured cells, with a panel for each of up to six outputs.
///
/// # Errors
/// An effect without points or draws.
pub fn pair(effect: &PairEffect) -> Result<Figure, Error> {
    if effect.draws.is_empty() {
        return Err(Error::shape("draws and points of the effect", 0, "at least 1"));
    }
    let mean = effect.mean();
    let (rows, columns, _) = mean.dim();
    let [first, second] = &effect.points;
    let names = |words: &[String]| words.to_vec();
    let mut panels = Vec::new();
    for (j, output) in effect.outputs.iter().enumerate().take(OUTPUTS) {
        // Rows of cells are values of the second column, from above the largest first.
        let values: Vec<Vec<f64>> =
            (0..columns).map(|m| (0..rows).map(|k| mean[(k, m, j)]).collect()).collect();
        let all = || values.iter().flatten().copied().filter(|v| v.is_finite());
        let range =
            rounded(all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        let text = values.iter().map(|row| row.iter().map(|v| format!("{v:.3}")).collect());
        let text = if rows * columns <= 36 { text.collect() } else { Vec::new() };
        let panel = Panel::new(
            if effect.outputs.len() > 1 { &output[..] } else { "" },
            Axis::names(&first.column, names(&first.words)),
            Axis::names(&second.column, names(&second.words)),
        );
        let cells = Mark::Cells { values, range, palette: Palette::Viridis, text };
        panels.push(Panel { aspect: 0.9, ..panel.mark(cells) });
    }
    let caption = format!(
        "The mean over draws of the effect of {} and {} together, from the smallest (dark) to the largest (bright).",
        first.column, second.column
    );
    let title = format!("{} by {} and {}", effect.outputs.join(", "), first.column, second.column);
    Ok(Figure { panels, ..Figure::new("pair-effect", title, caption) })
}

/// The ends of a range, in steps of a hundredth to a tenth of it, so that they are short numbers.
fn rounded(low: f64, high: f64) -> [f64; 2] {
    let digits = -((high - low).log10().floor() - 1.0);
    if !digits.is_finite() {
        return [low, high];
    }
    let decimals = digits.clamp(0.0, 300.0) as usize;
    let step = 10_f64.powf(-digits);
    let exact = |x: f64| format!("{x:.decimals$}").parse().unwrap_or(x);
    [exact((low / step).floor() * step), exact((high / step).ceil() * step)]
}
