//! The way of one chain through the plane of two quantities.

use bnn_mcmc::Error;

use super::{POINTS, check_pair};
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Symbol};
use crate::figures::Quantity;
use crate::figures::bins::left_out;

/// The way of one chain through the plane of two quantities: its first draws, joined by a line.
///
/// # Errors
/// Quantities of different shapes, no draws, a chain that there is not, and no or more than 2,000
/// draws to be shown.
pub fn path([x, y]: [Quantity; 2], chain: usize, draws: usize) -> Result<Figure, Error> {
    check_pair(&x, &y)?;
    if chain >= x.values.nrows() {
        let allowed = format!("below {}, the number of chains", x.values.nrows());
        return Err(Error::argument("chain", chain, allowed));
    }
    if !(1..=POINTS).contains(&draws) {
        return Err(Error::argument("draws", draws, format!("1 to {POINTS}")));
    }
    let of_chain = x.values.row(chain).into_iter().zip(y.values.row(chain));
    let points: Vec<[f64; 2]> = of_chain.take(draws).map(|(x, y)| [*x, *y]).collect();
    let caption = format!(
        "The first {} draws of chain {chain}, in their order; the triangle is the first. A good chain \
         crosses the whole region again and again.{}",
        points.len(),
        left_out([x.values, y.values])
    );
    let title = format!("The way of a chain: {} and {}", x.name, y.name);
    let first = points[..1].to_vec();
    let panel = Panel::new("", Axis::new(x.name), Axis::new(y.name))
        .mark(Mark::line(Colour::Series(4), points.clone()))
        .mark(Mark::points(Colour::Series(0), Symbol::Dot, points))
        .mark(Mark::points(Colour::Series(3), Symbol::Triangle, first).named("first draw"));
    Ok(Figure::new("path", title, caption).panel(panel))
}
