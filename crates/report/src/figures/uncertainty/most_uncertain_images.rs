//! The images that are most uncertain.

use bnn_mcmc::Error;
use bnn_mcmc::predict::{Measure, Uncertainty};
use ndarray::{ArrayView1, ArrayView2, s};

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
    check_pixels(pixels, size, uncertainty.inputs())?;
    if let Some(observed) = observed {
        uncertainty.scores(observed)?;
    }
    let ranking = uncertainty.ranking(measure);
    let shown = &ranking[..images.min(ranking.len())];
    let range = extent(shown.iter().flat_map(|i| pixels.row(*i).to_vec()));
    let caption = format!(
        "The {} of {} images with the largest {measure}, the most uncertain first: the predicted class with \
         its probability{}.",
        shown.len(),
        ranking.len(),
        if observed.is_some() { ", and the observed class" } else { "" }
    );
    let title = format!("Most uncertain images by {measure}");
    let mut figure = Figure::new("most-uncertain-images", title, caption);
    let (mean, names) = (uncertainty.mean(), uncertainty.class_names());
    for input in shown.iter().copied() {
        let class = predicted(mean.row(input));
        let truth = observed.map(|observed| match observed[input] {
            truth if truth == class => ", right".to_owned(),
            truth => format!(", is {}", shortened(&names[truth])),
        });
        let title = format!(
            "{} ({:.2}){}",
            shortened(&names[class]),
            mean[(input, class)],
            truth.unwrap_or_default()
        );
        figure = figure.panel(image(title, pixels.row(input), size, range));
    }
    figure.columns = Some(4);
    Ok(figure)
}

/// An error if the pixels are not those of so many images of this size.
fn check_pixels(
    pixels: ArrayView2<f64>,
    [rows, columns]: [usize; 2],
    images: usize,
) -> Result<(), Error> {
    if pixels.nrows() != images {
        return Err(Error::shape("rows of pixels", pixels.nrows(), images));
    }
    if rows.checked_mul(columns) != Some(pixels.ncols()) || pixels.ncols() == 0 {
        return Err(Error::shape(
            "columns of pixels",
            pixels.ncols(),
            format!("{rows} x {columns}"),
        ));
    }
    Ok(())
}

/// The panel of an image, from its pixels row by row.
fn image(
    title: String,
    pixels: ArrayView1<f64>,
    [rows, columns]: [usize; 2],
    range: [f64; 2],
) -> Panel {
    let row = |row: usize| pixels.slice(s![row * columns..(row + 1) * columns]).to_vec();
    let bare = || Axis::new("").scale(Scale::Bare);
    let x = bare().range(-0.5, columns as f64 - 0.5);
    let y = bare().range(rows as f64 - 0.5, -0.5);
    let aspect = (rows as f64 / columns as f64).clamp(0.5, 2.0);
    Panel { aspect, ..Panel::new(title, x, y) }.mark(Mark::Cells {
        values: (0..rows).map(row).collect(),
        range,
        palette: Palette::Grey,
        text: Vec::new(),
    })
}
