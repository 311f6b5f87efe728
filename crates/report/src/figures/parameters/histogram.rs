//! The draws of one quantity as a histogram, beside a curve that is known.

use bnn_mcmc::Error;

use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place};
use crate::figures::Quantity;
use crate::figures::bins::{bars_for, edges, left_out, shares};

/// The draws of one quantity as a histogram whose area is 1, beside a curve that is known, such as an
/// exact density: its name, and its x and y.
///
/// # Errors
/// No draws.
pub fn histogram(quantity: Quantity, curve: Option<(&str, &[[f64; 2]])>) -> Result<Figure, Error> {
    if quantity.values.is_empty() {
        return Err(Error::argument("number of draws", 0, "at least 1"));
    }
    let mut finite: Vec<f64> = quantity.values.iter().copied().filter(|v| v.is_finite()).collect();
    finite.sort_by(f64::total_cmp);
    let mut panel = Panel::new("", Axis::new(quantity.name), Axis::new("density"));
    let mut caption = "The draws of all chains as a histogram whose area is 1.".to_owned();
    let (colour, ends) = (Colour::Series(0), (finite.first(), finite.last()));
    match ends {
        (Some(low), Some(high)) if low == high => {
            let (name, place) = (Some("all draws".to_owned()), Place::Vertical(*low));
            panel = panel.mark(Mark::Rule { name, colour, place });
        }
        (Some(low), Some(high)) if (high - low).is_finite() => {
            let (name, edges) = (Some("draws".to_owned()), edges(*low, *high, bars_for(&finite)));
            let width = edges[1] - edges[0];
            let heights = shares(&finite, &edges).into_iter().map(|share| share / width).collect();
            panel = panel.mark(Mark::Bars { name, colour, edges, heights });
        }
        (Some(_), _) => caption += " The draws are too far apart for bars.",
        (None, _) => {}
    }
    if let Some((name, points)) = curve {
        let (name, points) = (Some(name.to_owned()), points.to_vec());
        panel = panel.mark(Mark::Line { name, colour: Colour::Ink, points });
        caption += " If draws are of the distribution of the curve, bars follow it but for Monte Carlo \
                    noise, which is large where draws are few.";
    }
    caption += &left_out([quantity.values]);
    let title = format!("The distribution of {}", quantity.name);
    Ok(Figure::new("histogram", title, caption).panel(panel))
}
