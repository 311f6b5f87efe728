//! How often each class was predicted for each class that was observed.

use bnn_mcmc::predict::ConfusionMatrix;

use crate::figure::{Axis, Figure, Mark, Palette, Panel};

/// The most classes of a confusion matrix that can be read.
const MOST_CLASSES: usize = 30;

/// The number of rows for each pair of an observed and a predicted class. If there are more than 30
/// classes, the figure shows the 30 with the most errors.
pub fn confusion(matrix: &ConfusionMatrix) -> Figure {
    let (counts, all) = (&matrix.counts, matrix.names.len());
    let mut classes: Vec<usize> = (0..all).collect();
    let mut note = String::new();
    if all > MOST_CLASSES {
        let errors = |class: &usize| {
            counts.row(*class).sum() + counts.column(*class).sum() - 2 * counts[(*class, *class)]
        };
        classes.sort_by_key(|class| std::cmp::Reverse(errors(class)));
        classes.truncate(MOST_CLASSES);
        classes.sort_unstable();
        note = format!(" Shown are the {MOST_CLASSES} of {all} classes with the most errors.");
    }
    let names = || classes.iter().map(|class| &matrix.names[*class]);
    let table = |cell: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        classes.iter().map(|row| classes.iter().map(|col| cell(*row, *col)).collect()).collect()
    };
    let values = table(&|row, column| counts[(row, column)] as f64 / counts.row(row).sum() as f64);
    // Counts are written if they fit into the cells, of which so many are beside each other.
    let digits = counts.iter().max().map_or(1, |count| count.to_string().len());
    let mut text = Vec::new();
    if digits * classes.len() <= 34 {
        let word = |count: usize| if count == 0 { String::new() } else { count.to_string() };
        let of_row = |row: &usize| classes.iter().map(|col| word(counts[(*row, *col)])).collect();
        text = classes.iter().map(of_row).collect();
        note += " Numbers count rows; cells without a number have none.";
    }
    let x = Axis::names("predicted class", names());
    let y = Axis::names("observed class", names()).reversed();
    let panel = Panel { aspect: 0.9, ..Panel::new("", x, y) }.mark(Mark::Cells {
        values,
        range: [0.0, 1.0],
        palette: Palette::Viridis,
        text,
    });
    let errors = counts.sum() - counts.diag().sum();
    let caption = format!(
        "Colours are shares of the rows of each observed class. Rows on the diagonal are predicted right: all \
         but {errors} of {} are.{note}",
        counts.sum()
    );
    Figure::new("confusion", "Confusion matrix", caption).panel(panel)
}
