//! The losses of optimisers along their steps.

use bnn_mcmc::Error;
use bnn_mcmc::optimise::Optimum;

use crate::figure::{Axis, Colour, Figure, Mark, Panel, Symbol};
use crate::figures::shown::Shown;

/// The history of ascents: minus the mean log density of training, and minus the held-out score, with a
/// cross where the point was taken. Both are losses: lower is better.
///
/// `fits` are the fits of an ensemble, or a single one. If there are more than eight fits, the
/// figure shows the eight whose last held-out scores are the worst.
///
/// # Errors
/// If no fit has a history: only those with early stopping do.
pub fn loss(fits: &[Optimum]) -> Result<Figure, Error> {
    let without = fits.iter().filter(|fit| fit.history.is_empty()).count();
    if without == fits.len() {
        let found = format!("{without} without evaluations");
        return Err(Error::argument("fits", found, "at least one with early stopping"));
    }
    let mut caption = "Minus the mean log density that came with the gradients since the evaluation \
                       before, and minus the score of the held-out rows, by the number of steps; lower \
                       is better, and the cross is the point that was taken. Good curves have levelled \
                       off; where the second rises while the first falls, the training data are learnt \
                       by heart."
        .to_owned();
    if without > 0 {
        caption += &format!(" {without} of {} fits have no history.", fits.len());
    }
    let shown = Shown::worst(fits.iter(), |fit| fit.history.last().map_or(0.0, |e| -e.score));
    let mut panels = [
        Panel::new(
            shown.title("training"),
            Axis::new("step"),
            Axis::new("minus log density (nats)"),
        ),
        Panel::new(shown.title("held-out rows"), Axis::new("step"), Axis::new("minus score")),
    ];
    for (number, colour, _) in shown.iter() {
        let fit = &fits[number];
        for (k, panel) in panels.iter_mut().enumerate() {
            let losses = fit.history.iter().map(|e| [e.step as f64, -[e.estimate, e.score][k]]);
            let points: Vec<_> = losses.collect();
            let taken = points.iter().copied().filter(|p| p[0] == fit.step as f64).collect();
            let name = (fits.len() > 1).then(|| format!("fit {number}"));
            panel.marks.push(Mark::Line { name, colour, points });
            panel.marks.push(Mark::points(Colour::Ink, Symbol::Cross, taken));
        }
    }
    let figure = Figure::new("loss", "Loss curves", caption);
    Ok(panels.into_iter().fold(figure, Figure::panel))
}
