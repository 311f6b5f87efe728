//! The accuracy of classifications by their confidence.

use bnn_mcmc::Error;
use bnn_mcmc::predict::Reliability;

use super::band::binomial_interval;
use super::{LEVEL, curve_of, entry};
use crate::figure::{Axis, Colour, Figure, Mark, Panel, Place};

/// The reliability curves of classifications, each with the name of its method, and the number of
/// rows in each bin. The name may be empty where there is only one.
///
/// # Errors
/// No curve.
pub fn reliability(curves: &[(&str, &Reliability)]) -> Result<Figure, Error> {
    if curves.is_empty() {
        return Err(Error::argument("curves", "empty", "at least one curve"));
    }
    let lowest = curves.iter().flat_map(|(_, curve)| &curve.bins).map(|bin| bin.lower);
    let from = lowest.fold(1.0, f64::min).clamp(0.0, 0.9);
    let x = Axis::new("confidence (probability)").range(from, 1.0);
    let y = Axis::new("accuracy (share of rows)").range(0.0, 1.03);
    let mut accuracy = Panel { aspect: 0.9, ..Panel::new("", x.clone(), y) };
    let mut counts = Panel { aspect: 0.9, ..Panel::new("", x, Axis::new("rows")) };
    if let [(_, curve)] = curves {
        let ends = curve.bins.iter().map(|bin| {
            //~ report-reliability
            let ends = binomial_interval(bin.rows, bin.confidence, 1.0 - LEVEL);
            ends.map(|count| count as f64 / bin.rows as f64)
        });
        let (low, high) = ends.map(|[low, high]| (low, high)).unzip();
        accuracy = accuracy.mark(Mark::Band {
            name: Some("95 %, each bin".into()),
            colour: Colour::Muted,
            x: curve.bins.iter().map(|bin| bin.confidence).collect(),
            low,
            high,
        });
    }
    accuracy = accuracy.mark(Mark::rule(Colour::Ink, Place::Diagonal).named("calibrated"));
    let mut errors = Vec::new();
    for (k, (method, curve)) in curves.iter().enumerate() {
        let colour = Colour::Series(k);
        let points: Vec<[f64; 2]> =
            curve.bins.iter().map(|bin| [bin.confidence, bin.accuracy]).collect();
        accuracy = curve_of(accuracy, method, k, points);
        let (edges, heights) = bars(curve);
        counts = counts.mark(Mark::Bars { name: entry(method), colour, edges, heights });
        let of = if method.is_empty() { String::new() } else { format!(" of {method}") };
        let ece = curve.ece();
        errors.push(format!("The expected calibration error{of} over these bins is {ece:.3}."));
    }
    let band = match curves {
        [_] => {
            "; the band holds a bin of so many rows with probability 0.95 if new rows are calibrated"
        }
        _ => "",
    };
    let caption = format!(
        "Rows in bins of similar confidence, the probability of the predicted class; accuracy is the share of \
         rows that are predicted right. Below the diagonal a classification is overconfident in these rows, \
         above it too cautious{band}. {}",
        errors.join(" ")
    );
    Ok(Figure::new("reliability", "Reliability", caption).panel(accuracy).panel(counts))
}

/// Bars of the number of rows, with none between bins that do not touch.
fn bars(curve: &Reliability) -> (Vec<f64>, Vec<f64>) {
    let (mut edges, mut heights) = (Vec::new(), Vec::new());
    for bin in &curve.bins {
        match edges.last() {
            Some(end) if *end >= bin.lower => {}
            Some(_) => {
                edges.push(bin.lower);
                heights.push(0.0);
            }
            None => edges.push(bin.lower),
        }
        edges.push(bin.upper);
        heights.push(bin.rows as f64);
    }
    (edges, heights)
}
