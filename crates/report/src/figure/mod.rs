//! A figure before it is drawn: panels of marks on axes, as numbers and words.
//!
//! A function that makes a figure computes these numbers and nothing else, so that a test can compare
//! them with numbers from elsewhere. [`Figure::to_svg`] draws them, all figures in one style.

mod axis;
mod compact;
mod decimate;
mod draw;
#[cfg(feature = "png")]
mod png;
mod style;

pub use axis::{Axis, Scale};
pub(crate) use axis::{number, shortened};
pub(crate) use draw::is_bidirectional;
pub use style::{Colour, css};

use bnn_mcmc::diagnostics::quantile;
use serde::Serialize;

/// A picture that belongs together: its panels share a title, a caption and a subject.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The name of the figure in names of files and in links: lower-case letters, digits and
    /// hyphens.
    pub name: String,
    /// The title: what is shown, in a few words.
    pub title: String,
    /// The caption: what is shown and how to read it, in one sentence or several. It is also the
    /// text for a screen reader.
    pub caption: String,
    /// The parts of the picture, in reading order.
    pub panels: Vec<Panel>,
    /// The number of columns of a matrix of panels; `None` if panels may stand side by side as the
    /// page allows.
    pub columns: Option<usize>,
}

/// Marks on a pair of axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panel {
    /// The title, which tells the panel from the others of its figure; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The marks, from back to front.
    pub marks: Vec<Mark>,
    /// Height over width.
    pub aspect: f64,
}

/// Numbers, and the shape that they are drawn as. A mark with a `name` has an entry in the panel's
/// legend; marks of the same name share it. Points that are not finite are left out: they break a
/// line.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
#[serde(tag = "mark", rename_all = "snake_case")]
pub enum Mark {
    /// A line through points.
    Line {
        /// The entry in the legend.
        name: Option<String>,
        /// The colour.
        colour: Colour,
        /// x and y.
        points: Vec<[f64; 2]>,
    },
    /// Points, each a symbol. Some of several points that lie on top of each other are left out.
    Points {
        /// The entry in the legend.
        name: Option<String>,
        /// The colour.
        colour: Colour,
        /// The symbol.
        symbol: Symbol,
        /// x and y.
        points: Vec<[f64; 2]>,
    },
    /// The area between two lines.
    Band {
        /// The entry in the legend.
        name: Option<String>,
        /// The colour, drawn translucent.
        colour: Colour,
        /// x, ascending.
        x: Vec<f64>,
        /// The lower end at each x.
        low: Vec<f64>,
        /// The upper end at each x.
        high: Vec<f64>,
    },
    /// Bars that stand on 0, such as the bars of a histogram.
    Bars {
        /// The entry in the legend.
        name: Option<String>,
        /// The colour, drawn translucent.
        colour: Colour,
        /// The ends of the bars, ascending: one more than there are bars.
        edges: Vec<f64>,
        /// The heights.
        heights: Vec<f64>,
    },
    /// Box plots at places of the horizontal axis.
    Boxes {
        /// The entry in the legend.
        name: Option<String>,
        /// The colour.
        colour: Colour,
        /// The boxes.
        boxes: Vec<BoxPlot>,
    },
    /// Horizontal intervals at places of the vertical axis, such as in a forest plot.
    Intervals {
        /// The entry in the legend.
        name: Option<String>,
        /// The colour.
        colour: Colour,
        /// The intervals.
        intervals: Vec<Interval>,
    },
    /// A matrix of coloured cells of width and height 1, whose centres are at whole numbers. The
    /// first row is at y = 0.
    Cells {
        /// The values, row by row; `NaN` leaves a cell empty.
        values: Vec<Vec<f64>>,
        /// The range of values that the colours stand for.
        range: [f64; 2],
        /// The colours.
        palette: Palette,
        /// The text in each cell, row by row; empty for none.
        text: Vec<Vec<String>>,
    },
    /// A straight line across the panel, such as a limit.
    Rule {
        /// The entry in the legend.
        name: Option<String>,
        /// The colour.
        colour: Colour,
        /// The place of the line.
        place: Place,
    },
}

/// A box plot: the quartiles, whiskers, and points beyond them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoxPlot {
    /// The place of the box on the horizontal axis.
    pub at: f64,
    /// The end of the lower whisker: the smallest value within 1.5 interquartile ranges of the box,
    /// and at most the lower quartile.
    pub low: f64,
    /// The lower quartile.
    pub lower: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub upper: f64,
    /// The end of the upper whisker: the largest value within 1.5 interquartile ranges of the box,
    /// and at least the upper quartile.
    pub high: f64,
    /// The values beyond the whiskers.
    pub outliers: Vec<f64>,
}

impl BoxPlot {
    /// The box plot of values, without values that are not finite; `None` if no value is left.
    /// Quartiles are by [`quantile`], which interpolates: of few values one may lie beyond the last
    /// value that is no outlier, and the whisker then has length 0.
    pub fn new(at: f64, values: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        if sorted.is_empty() {
            return None;
        }
        let [lower, median, upper] = [0.25, 0.5, 0.75].map(|p| quantile(&sorted, p));
        let reach = 1.5 * (upper - lower);
        let is_inside = |v: &f64| *v >= lower - reach && *v <= upper + reach;
        Some(Self {
            at,
            low: sorted.iter().copied().find(is_inside).map_or(lower, |low| low.min(lower)),
            lower,
            median,
            upper,
            high: sorted.iter().rev().copied().find(is_inside).map_or(upper, |v| v.max(upper)),
            outliers: sorted.iter().copied().filter(|v| !is_inside(v)).collect(),
        })
    }
}

/// A horizontal interval around a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The place of the interval on the vertical axis.
    pub at: f64,
    /// The value, drawn as a dot.
    pub value: f64,
    /// The ends of the inner interval, drawn as a thick line.
    pub inner: [f64; 2],
    /// The ends of the outer interval, drawn as a thin line.
    pub outer: [f64; 2],
}

/// The place of a [`Mark::Rule`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// A line at this y, from left to right.
    Horizontal(f64),
    /// A line at this x, from bottom to top.
    Vertical(f64),
    /// The line y = x.
    Diagonal,
}

/// The symbol of a point. Two kinds of points in one panel differ in symbol, not in colour alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Symbol {
    /// A filled circle.
    #[default]
    Dot,
    /// A cross of two diagonal strokes, for points out of the ordinary.
    Cross,
    /// An empty triangle.
    Triangle,
}

/// The colours of [`Mark::Cells`]. Both grow lighter or darker from one end to the other, so that
/// they can be read without colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Palette {
    /// Viridis: from dark violet, over green, to bright yellow.
    Viridis,
    /// Grey from white to black, for images.
    Grey,
}

impl Mark {
    /// A line without a name.
    pub(crate) fn line(colour: Colour, points: Vec<[f64; 2]>) -> Self {
        Self::Line { name: None, colour, points }
    }

    /// Points without a name.
    pub(crate) fn points(colour: Colour, symbol: Symbol, points: Vec<[f64; 2]>) -> Self {
        Self::Points { name: None, colour, symbol, points }
    }

    /// A rule without a name.
    pub(crate) fn rule(colour: Colour, place: Place) -> Self {
        Self::Rule { name: None, colour, place }
    }

    /// The mark with an entry in the legend.
    pub(crate) fn named(mut self, entry: impl Into<String>) -> Self {
        match &mut self {
            Self::Line { name, .. }
            | Self::Points { name, .. }
            | Self::Band { name, .. }
            | Self::Bars { name, .. }
            | Self::Boxes { name, .. }
            | Self::Intervals { name, .. }
            | Self::Rule { name, .. } => *name = Some(entry.into()),
            Self::Cells { .. } => {}
        }
        self
    }
}

impl Figure {
    /// A figure whose panels may stand side by side as the page allows.
    pub fn new(name: &str, title: impl Into<String>, caption: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            title: title.into(),
            caption: caption.into(),
            panels: Vec::new(),
            columns: None,
        }
    }

    /// The figure with one panel more.
    #[must_use]
    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// The figure as one SVG file, with as many panels side by side as it has `columns`, or else
    /// three. Colours and ground follow the reader's choice of light or dark pages.
    pub fn to_svg(&self) -> String {
        draw::figure(self)
    }

    /// The SVG elements of a page: one for each panel, or a single one for a matrix of panels.
    /// Their colours come from [`css`], which the page has to contain.
    pub fn svg_elements(&self) -> Vec<String> {
        draw::elements(self)
    }
}

impl Panel {
    /// An empty panel of the usual shape.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, marks: Vec::new(), aspect: 0.72 }
    }

    /// The panel with one mark more, in front of the others.
    #[must_use]
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }
}
