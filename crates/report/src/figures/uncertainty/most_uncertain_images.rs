//! The images that are most uncertain.

use bnn_mcmc::Error;
use bnn_mcmc::predict::{Measure, Uncertainty};
use ndarray::{ArrayView2, s};

use super::{MOST_PANELS, predicted};
use crate::figure::{Axis, Figure, Mark, Palette, Panel, Scale, shortened};
use crate::figures::bins::extent;

/// The images that are most uncertain by a measure, each with its predicted class and its
/// probability, and the observed class if it is known.
///
/// `pixels` `[input, pixel]` are the features, row by row of the image from above; large values are
/// drawn dark. `size` are the image's numbers of rows and columns.
///
/// # Errors
/// Pixels of other inputs or of another size; no images or more than 24; classes as in
/// [`entropies`](super::entropies()).
pub fn most_uncertain_images(
    uncertainty: &Uncertainty,
    measure: Measure,
    pixels: ArrayView2<f64>,
    size: [usize; 2],
    observed: Option<&[usize]>,
    images: usize,
) -> Result<Figure, Error> {
    if images == 0 || images > MOST_PANELS {
        return Err(Error::argument("images", images, format!("1 to {MOST_PANELS}")));
    }
    if pixels.nrows() != uncertainty.inputs() {
        return Err(Error::shape("rows of pixels", pixels.nrows(), uncertainty.inputs()));
    }
    let [rows, columns] = size;
    if rows.checked_mul(columns) != Some(pixels.ncols()) || pixels.ncols() == 0 {
        return Err(Error::shape(
            "columns of pixels",
            pixels.ncols(),
            format!("{rows} x {columns}"),
        ));
    }
    if let Some(observed) = observed {
        uncertainty.scores(observed)?;
    }
    let ranking = uncertainty.ranking(measure);
    let shown = &ranking[..images.min(ranking.len())];
    let range = extent(shown.iter().flat_map(|i| pixels.row(*i).to_vec()));
    let names = uncertainty.class_names();
    let caption = format!(
        "The {} of {} images with the largest {measure}, the most uncertain first: the predicted class with \
         its probability{}.",
        shown.len(),
        ranking.len(),
        if observed.is_some() { ", and the observed class" } else { "" }
    );
    let title = format!("Most uncertain images by {measure}");
    let mut figure = Figure::new("most-uncertain-images", title, caption);
    for input in shown {
        let mean = uncertainty.mean();
        let class = predicted(mean.row(*input));
        let truth = observed.map(|observed| match observed[*input] {
            truth if truth == class => ", right".to_owned(),
            truth => format!(", is {}", shortened(&names[truth])),
        });
        let title = format!(
            "{} ({:.2}){}",
            shortened(&names[class]),
            mean[(*input, class)],
            truth.unwrap_or_default()
        );
        let pixel =
            |row: usize| pixels.slice(s![*input, row * columns..(row + 1) * columns]).to_vec();
        let bare = || Axis::new("").scale(Scale::Bare);
        let x = bare().range(-0.5, columns as f64 - 0.5);
        let y = bare().range(rows as f64 - 0.5, -0.5);
        let aspect = (rows as f64 / columns as f64).clamp(0.5, 2.0);
        figure = figure.panel(Panel { aspect, ..Panel::new(title, x, y) }.mark(Mark::Cells {
            values: (0..rows).map(pixel).collect(),
            range,
            palette: Palette::Grey,
            text: Vec::new(),
        }));
    }
    figure.columns = Some(4);
    Ok(figure)
}
