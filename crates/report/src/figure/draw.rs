//! Draws figures with plotters, as SVG.
//!
//! A panel is 720 units wide and shown at about half as many pixels, so that lines and text are sharp
//! where plotters rounds to whole units.

use std::fmt::Write;

use maud::{PreEscaped, html};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::Ranged;
use plotters::prelude::{
    ChartBuilder, ChartContext, Color, ColorMap, RGBColor, ShapeStyle, TextStyle,
};
use plotters::prelude::{
    Circle, Cross, DrawingArea, DrawingAreaErrorKind, FontTransform, IntoDrawingArea, IntoFont,
    PathElement, Polygon, Rectangle, SVGBackend, Text, TriangleMarker, ViridisRGB,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::{Coordinate, number};
use super::style::{GRID, INK, MUTED, css};
use super::{BoxPlot, Colour, Figure, Interval, Mark, Palette, Panel, Place, Symbol, compact};
use super::{Scale, decimate};

/// The width of a panel in units.
const WIDTH: u32 = 720;
/// The size of text in units.
const TEXT: f64 = 28.0;
/// The width of a letter in sizes of its text, on average.
const LETTER: f64 = 0.56;
/// The most ticks of an axis.
const TICKS: usize = 6;
/// The columns in each of which a long line shows its first, lowest, highest and last point.
const COLUMNS: usize = WIDTH as usize / 3;
/// The size of cells of which each shows one point at most.
const POINT_CELL: i32 = 5;

type Backend<'a> = SVGBackend<'a>;
type Area<'a> = DrawingArea<Backend<'a>, Shift>;
type Plane<'a> = DrawingArea<Backend<'a>, Cartesian2d<Coordinate, Coordinate>>;
type Chart<'a, 'b> = ChartContext<'a, Backend<'b>, Cartesian2d<Coordinate, Coordinate>>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// All panels in one SVG file.
pub(super) fn figure(figure: &Figure) -> String {
    let (size, panels) = matrix(figure, figure.columns.unwrap_or(3));
    let ground = "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>";
    let content = format!("<style>{}</style>{ground}{panels}", css());
    element(size, &label(figure), &content, true)
}

/// The elements of a page.
pub(super) fn elements(figure: &Figure) -> Vec<String> {
    if let Some(columns) = figure.columns {
        let (size, panels) = matrix(figure, columns);
        return vec![element(size, &label(figure), &panels, false)];
    }
    let panels = figure.panels.iter();
    panels
        .map(|panel| {
            let label = match panel.title.as_str() {
                "" => label(figure),
                title => format!("{}: {title}. {}", figure.title, figure.caption),
            };
            let room = Room::of(panel);
            element((WIDTH, height(panel, &room)), &label, &panel_elements(panel, &room), false)
        })
        .collect()
}

/// The panels in rows of so many, and their size. Panels of a column have the same room at their sides, and
/// panels of a row above and below, so that their axes stand in line.
fn matrix(figure: &Figure, columns: usize) -> ((u32, u32), String) {
    let columns = columns.clamp(1, figure.panels.len().max(1));
    let mut rooms: Vec<Room> = figure.panels.iter().map(Room::of).collect();
    for column in 0..columns {
        let all = || (column..rooms.len()).step_by(columns);
        let left = all().map(|k| rooms[k].left).fold(0.0, f64::max);
        let right = all().map(|k| rooms[k].right).fold(0.0, f64::max);
        for k in (column..rooms.len()).step_by(columns) {
            (rooms[k].left, rooms[k].right) = (left, right);
        }
    }
    for row in rooms.chunks_mut(columns) {
        let head = row.iter().map(|room| room.head).max().unwrap_or(0);
        let below = row.iter().map(|room| room.below).fold(0.0, f64::max);
        row.iter_mut().for_each(|room| (room.head, room.below) = (head, below));
    }
    let mut top = 0;
    let mut body = String::new();
    for (row, rooms) in figure.panels.chunks(columns).zip(rooms.chunks(columns)) {
        for (k, (panel, room)) in row.iter().zip(rooms).enumerate() {
            let (left, drawn) = (k as u32 * WIDTH, panel_elements(panel, room));
            let _ = write!(body, "<g transform=\"translate({left} {top})\">{drawn}</g>");
        }
        top += row.iter().zip(rooms).map(|(panel, room)| height(panel, room)).max().unwrap_or(0);
    }
    ((columns as u32 * WIDTH, top), body)
}

/// The margins that a panel needs around its axes, in units.
#[derive(Clone, Debug)]
struct Room {
    /// For title and legend.
    head: u32,
    /// For the numbers and the label of the vertical axis.
    left: f64,
    /// For half of the last number of the horizontal axis, and for the scale of colours.
    right: f64,
    /// For the numbers or names and the label of the horizontal axis.
    below: f64,
}

impl Room {
    fn of(panel: &Panel) -> Self {
        let (x, y) = coordinates(panel);
        let (x_labels, y_labels) = (x.labels(TICKS), y.labels(TICKS));
        let left = widest(&y_labels) + if y_labels.is_empty() { 0.0 } else { 14.0 };
        let left = left + if panel.y.label.is_empty() { 0.0 } else { 1.5 * TEXT };
        let is_named = matches!(panel.x.scale, Scale::Names(_));
        // Half of the last number stands beyond the end of its axis.
        let last = x_labels.last().filter(|_| !is_named);
        let last = last.map_or(0.0, |label| (text_width(label) / 2.0).floor());
        let bar = if colours_of(panel).is_some() { 110.0 } else { 0.0 };
        let right = (last + 2.0).max(44.0) + bar;
        let below = match (x_labels.is_empty(), is_turned(panel, &x_labels, left)) {
            (true, _) => 0.0,
            (false, true) => widest(&x_labels) + 16.0,
            (false, false) => 1.3 * TEXT + 8.0,
        };
        let below = below + if panel.x.label.is_empty() { 0.0 } else { 1.4 * TEXT };
        Self { head: head(panel), left, right, below }
    }
}

fn widest(labels: &[String]) -> f64 {
    labels.iter().map(|label| text_width(label)).fold(0.0, f64::max)
}

/// The range of the colours of a panel's cells, if the colours need an explanation.
fn colours_of(panel: &Panel) -> Option<[f64; 2]> {
    panel.marks.iter().find_map(|mark| match mark {
        Mark::Cells { range, palette: Palette::Viridis, .. } => Some(*range),
        _ => None,
    })
}

/// Whether names below the horizontal axis do not fit side by side, and are turned.
fn is_turned(panel: &Panel, labels: &[String], left: f64) -> bool {
    let is_named = matches!(panel.x.scale, Scale::Names(_));
    is_named && (widest(labels) + 10.0) * labels.len() as f64 > across(panel, left)
}

/// The width that names below the horizontal axis have.
fn across(panel: &Panel, left: f64) -> f64 {
    let bar = if colours_of(panel).is_some() { 110.0 } else { 0.0 };
    (f64::from(WIDTH) - left - bar).max(1.0)
}

/// The text for a screen reader.
fn label(figure: &Figure) -> String {
    format!("{}. {}", figure.title, figure.caption)
}

/// An `<svg>` around its content; with a size if it is a file of its own. Characters that XML does
/// not allow or that change the direction of text, wherever they come from, become U+FFFD.
fn element((width, height): (u32, u32), label: &str, content: &str, is_file: bool) -> String {
    let view_box = format!("0 0 {width} {height}");
    let file = is_file.then_some(());
    html! {
        svg xmlns=[file.map(|()| "http://www.w3.org/2000/svg")] viewBox=(view_box) role="img"
            aria-label=(label) width=[file.map(|()| width / 2)] height=[file.map(|()| height / 2)]
            font-family="sans-serif"
        { (PreEscaped(content)) }
    }
    .into_string()
    .replace(is_not_xml, "\u{FFFD}")
}

/// Whether XML 1.0 does not allow a character, or it has no width and changes the text around it:
/// control characters, and characters that set the direction of text.
fn is_not_xml(c: char) -> bool {
    let is_allowed = matches!(c, '\t' | '\n' | '\r');
    (c.is_control() && !is_allowed) || is_bidirectional(c) || matches!(c, '\u{FFFE}' | '\u{FFFF}')
}

/// Whether a character sets the direction of the text around it.
pub(crate) fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

fn height(panel: &Panel, room: &Room) -> u32 {
    room.head + (panel.aspect * f64::from(WIDTH)) as u32
}

/// The height of title and legend.
fn head(panel: &Panel) -> u32 {
    let title = if panel.title.is_empty() { 12 } else { 44 };
    // Below a legend there is room for half the label of the highest tick.
    let lines = legend(panel).iter().map(|entry| entry.line + 1).max();
    title + lines.map_or(0, |lines| 36 * lines + 10)
}

/// An entry of a legend, and its place.
struct Entry<'a> {
    mark: &'a Mark,
    name: &'a str,
    line: u32,
    left: i32,
}

/// The entries of marks with different names, in lines.
fn legend(panel: &Panel) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry> = Vec::new();
    let (mut line, mut left) = (0, 16);
    for mark in &panel.marks {
        let Some(name) = mark.name() else { continue };
        if entries.iter().any(|entry| entry.name == name) {
            continue;
        }
        let width = 58 + text_width(name) as i32;
        if left > 16 && left + width > WIDTH as i32 {
            (line, left) = (line + 1, 16);
        }
        entries.push(Entry { mark, name, line, left });
        left += width;
    }
    entries
}

impl Mark {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Line { name, .. }
            | Self::Points { name, .. }
            | Self::Band { name, .. }
            | Self::Bars { name, .. }
            | Self::Boxes { name, .. }
            | Self::Intervals { name, .. }
            | Self::Rule { name, .. } => name.as_deref(),
            Self::Cells { .. } => None,
        }
    }

    /// Calls a function with the places that have to be on the axes.
    fn places(&self, mut each: impl FnMut(f64, f64)) {
        match self {
            Self::Line { points, .. } | Self::Points { points, .. } => {
                points.iter().for_each(|[x, y]| each(*x, *y));
            }
            Self::Band { x, low, high, .. } => {
                for ((x, low), high) in x.iter().zip(low).zip(high) {
                    each(*x, *low);
                    each(*x, *high);
                }
            }
            Self::Bars { edges, heights, .. } => {
                for (ends, height) in edges.windows(2).zip(heights) {
                    each(ends[0], 0.0);
                    each(ends[1], *height);
                }
            }
            Self::Boxes { boxes, .. } => {
                for BoxPlot { at, low, high, outliers, .. } in boxes {
                    each(*at - 0.5, *low);
                    each(*at + 0.5, *high);
                    outliers.iter().for_each(|y| each(*at, *y));
                }
            }
            Self::Intervals { intervals, .. } => {
                for Interval { at, value, outer, .. } in intervals {
                    each(outer[0], *at);
                    each(outer[1], *at);
                    each(*value, *at);
                }
            }
            Self::Cells { values, .. } => {
                let columns = values.iter().map(Vec::len).max().unwrap_or(0);
                each(-0.5, -0.5);
                each(columns as f64 - 0.5, values.len() as f64 - 0.5);
            }
            Self::Rule { place, .. } => match place {
                Place::Horizontal(y) => each(f64::NAN, *y),
                Place::Vertical(x) => each(*x, f64::NAN),
                Place::Diagonal => {}
            },
        }
    }
}

/// The axes of a panel, as long as its marks need.
fn coordinates(panel: &Panel) -> (Coordinate, Coordinate) {
    let is_shown =
        |axis: &super::Axis, v: f64| v.is_finite() && (v > 0.0 || axis.scale != Scale::Log);
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut x, mut y) = (none, none);
    for mark in &panel.marks {
        mark.places(|a, b| {
            if is_shown(&panel.x, a) {
                x = (x.0.min(a), x.1.max(a));
            }
            if is_shown(&panel.y, b) {
                y = (y.0.min(b), y.1.max(b));
            }
        });
    }
    (panel.x.coordinate(x.0, x.1), panel.y.coordinate(y.0, y.1))
}

/// The elements of a panel, which begins at the upper left corner.
fn panel_elements(panel: &Panel, room: &Room) -> String {
    let mut svg = String::new();
    {
        let size = (WIDTH, height(panel, room));
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        // The backend writes into memory.
        draw_panel(panel, room, &area).expect("a string takes what is written");
        area.present().expect("a string takes what is written");
    }
    compact::elements(&svg)
}

fn text(size: f64, colour: RGBColor, anchor: (HPos, VPos)) -> TextStyle<'static> {
    // Plotters divides by this factor, to convert the size of a font to the size of its letters.
    let font = ("sans-serif", size * 1.24).into_font();
    let style = TextStyle::from(font).pos(Pos::new(anchor.0, anchor.1));
    TextStyle { color: colour.to_backend_color(), ..style }
}

fn text_width(text: &str) -> f64 {
    LETTER * TEXT * text.chars().count() as f64
}

fn draw_panel(panel: &Panel, room: &Room, area: &Area) -> Drawn {
    if !panel.title.is_empty() {
        let style = text(31.0, INK, (HPos::Left, VPos::Center));
        area.draw(&Text::new(panel.title.clone(), (12, 24), style))?;
    }
    let first_line = if panel.title.is_empty() { 28 } else { 62 };
    for entry in legend(panel) {
        draw_entry(&entry, first_line + 36 * entry.line as i32, area)?;
    }

    let (x, y) = coordinates(panel);
    let x_labels = x.labels(TICKS);
    let is_turned = is_turned(panel, &x_labels, room.left);
    let mut chart = ChartBuilder::on(area)
        .margin_top(room.head)
        .margin_left(8)
        .margin_right(room.right as i32)
        .margin_bottom(8)
        .x_label_area_size(room.below)
        .y_label_area_size(room.left)
        .build_cartesian_2d(x, y)?;
    if panel.x.scale != Scale::Bare || panel.y.scale != Scale::Bare {
        draw_axes(panel, is_turned, &mut chart)?;
    }
    let canvas = Canvas { plane: chart.plotting_area(), area };
    panel.marks.iter().try_for_each(|mark| canvas.mark(mark))?;
    if is_turned {
        canvas.turned_names(x_labels, across(panel, room.left))?;
    }
    match colours_of(panel) {
        Some(range) => canvas.bar(range),
        None => Ok(()),
    }
}

/// Draws the axes of a panel with their labels, without names that are turned.
fn draw_axes(panel: &Panel, is_turned: bool, chart: &mut Chart) -> Drawn {
    let label = text(TEXT, INK, (HPos::Center, VPos::Center));
    let mut mesh = chart.configure_mesh();
    mesh.axis_style(MUTED)
        .bold_line_style(GRID)
        .max_light_lines(0)
        .x_labels(TICKS)
        .y_labels(TICKS)
        .label_style(label.clone())
        .axis_desc_style(label)
        .x_desc(panel.x.label.clone())
        .y_desc(panel.y.label.clone());
    if matches!(panel.x.scale, Scale::Names(_)) {
        mesh.disable_x_mesh();
    }
    if is_turned {
        // Plotters writes upright names only.
        mesh.x_labels(0).x_label_formatter(&|_| String::new());
    }
    if matches!(panel.y.scale, Scale::Names(_)) {
        mesh.disable_y_mesh();
    }
    mesh.draw()
}

/// A line of the legend: a sample of the mark, and its name.
fn draw_entry(entry: &Entry, y: i32, area: &Area) -> Drawn {
    let (left, right) = (entry.left, entry.left + 34);
    match entry.mark {
        Mark::Points { colour, symbol, .. } => {
            draw_symbol((left + 17, y), *symbol, colour.rgb(), area)?;
        }
        Mark::Band { colour, .. } | Mark::Bars { colour, .. } => {
            let sample = [(left, y - 9), (right, y + 9)];
            area.draw(&Rectangle::new(sample, colour.rgb().mix(0.45).filled()))?;
        }
        Mark::Line { colour, .. }
        | Mark::Boxes { colour, .. }
        | Mark::Intervals { colour, .. }
        | Mark::Rule { colour, .. } => {
            draw_line(vec![(left, y), (right, y)], colour.rgb().stroke_width(4), area)?;
            if let Some(series) = dots_of(entry.mark) {
                draw_dot((left + 17, y), series, colour.rgb(), area)?;
            }
        }
        Mark::Cells { .. } => {}
    }
    let style = text(TEXT, INK, (HPos::Left, VPos::Center));
    area.draw(&Text::new(entry.name.to_owned(), (right + 8, y), style))
}

fn draw_line(points: Vec<(i32, i32)>, style: ShapeStyle, area: &Area) -> Drawn {
    match points.len() {
        0 | 1 => Ok(()),
        _ => area.draw(&PathElement::new(points, style)),
    }
}

/// The points of the lower or upper end of a band.
fn end_of_band(x: &[f64], y: &[f64]) -> Vec<[f64; 2]> {
    let points: Vec<[f64; 2]> = x.iter().zip(y).map(|(x, y)| [*x, *y]).collect();
    decimate::line(&points, COLUMNS)
}

/// Where the marks of a panel are drawn.
struct Canvas<'a, 'b> {
    plane: &'a Plane<'b>,
    area: &'a Area<'b>,
}

impl Canvas<'_, '_> {
    /// The place at which a point is drawn, if it has one on both axes.
    fn place(&self, x: f64, y: f64) -> Option<(i32, i32)> {
        let axes = self.plane.as_coord_spec();
        let at = (axes.x_spec().on_axis(x)?, axes.y_spec().on_axis(y)?);
        Some(self.plane.map_coordinate(&at))
    }

    /// A line between the places that its points have.
    fn line(
        &self,
        points: impl IntoIterator<Item = (f64, f64)>,
        colour: RGBColor,
        width: u32,
    ) -> Drawn {
        let places = points.into_iter().filter_map(|(x, y)| self.place(x, y)).collect();
        draw_line(places, colour.stroke_width(width), self.area)
    }

    fn mark(&self, mark: &Mark) -> Drawn {
        match mark {
            Mark::Line { colour, points, .. } => self.curve(points, colour.rgb(), dots_of(mark)),
            Mark::Points { colour, symbol, points, .. } => {
                self.points(points.iter().map(|[x, y]| (*x, *y)), *symbol, colour.rgb())
            }
            Mark::Band { colour, x, low, high, .. } => {
                let mut outline = end_of_band(x, low);
                outline.extend(end_of_band(x, high).into_iter().rev());
                let outline: Vec<_> =
                    outline.iter().filter_map(|[x, y]| self.place(*x, *y)).collect();
                match outline.len() {
                    0..3 => Ok(()),
                    _ => self.area.draw(&Polygon::new(outline, colour.rgb().mix(0.3))),
                }
            }
            Mark::Bars { colour, edges, heights, .. } => self.bars(edges, heights, colour.rgb()),
            Mark::Boxes { colour, boxes, .. } => self.boxes(boxes, colour.rgb()),
            Mark::Intervals { colour, intervals, .. } => {
                intervals.iter().try_for_each(|interval| self.interval(interval, colour.rgb()))
            }
            Mark::Cells { values, range, palette, text } => {
                values.iter().enumerate().try_for_each(|(row, values)| {
                    let words = text.get(row).map_or(&[][..], Vec::as_slice);
                    let colour = |value: &f64| cell_colour(*value, *range, *palette);
                    let colours: Vec<_> = values.iter().map(colour).collect();
                    self.row(row as f64, &colours, words)
                })
            }
            Mark::Rule { colour, place, .. } => self.line(self.ends(*place), colour.rgb(), 3),
        }
    }

    /// A line through points, with symbols if it is of a series that has some.
    fn curve(&self, points: &[[f64; 2]], colour: RGBColor, series: Option<usize>) -> Drawn {
        // Long lines, such as traces, let the lines behind them shine through.
        let (width, opacity) = if points.len() > 600 { (2, 0.75) } else { (3, 1.0) };
        let is_drawn = |p: &[f64; 2]| self.place(p[0], p[1]).is_some();
        for run in points.chunk_by(|a, b| is_drawn(a) == is_drawn(b)) {
            let run = decimate::line(run, COLUMNS);
            let run: Vec<_> = run.iter().filter_map(|[x, y]| self.place(*x, *y)).collect();
            if let (Some(series), true) = (series, run.len() > 1) {
                // Eight symbols along the line, at other places for each series.
                let (first, last) = (run[0].0, run[run.len() - 1].0);
                for k in 0..8 {
                    let share = (k as f64 + 0.2 + 0.12 * series as f64) / 8.0;
                    let x = first + (share * f64::from(last - first)) as i32;
                    if let Some(at) = run.iter().find(|at| at.0 >= x) {
                        draw_dot(*at, series, colour, self.area)?;
                    }
                }
            }
            draw_line(run, colour.mix(opacity).stroke_width(width), self.area)?;
        }
        Ok(())
    }

    fn points(
        &self,
        points: impl Iterator<Item = (f64, f64)>,
        symbol: Symbol,
        colour: RGBColor,
    ) -> Drawn {
        let places: Vec<_> = points.filter_map(|(x, y)| self.place(x, y)).collect();
        decimate::points(&places, POINT_CELL)
            .into_iter()
            .try_for_each(|at| draw_symbol(at, symbol, colour, self.area))
    }

    fn bars(&self, edges: &[f64], heights: &[f64], colour: RGBColor) -> Drawn {
        let axis = self.plane.as_coord_spec().y_spec();
        // On a logarithmic axis bars stand on its end.
        let base = if axis.on_axis(0.0).is_some() { 0.0 } else { axis.range().start };
        for (ends, height) in edges.windows(2).zip(heights) {
            let ends = (self.place(ends[0], base), self.place(ends[1], *height));
            if let ((Some(a), Some(b)), true) = (ends, *height > 0.0) {
                // A gap of one unit between neighbours.
                let bar = [(a.0 + 1, b.1), (b.0.max(a.0 + 2), a.1)];
                self.area.draw(&Rectangle::new(bar, colour.mix(0.6).filled()))?;
            }
        }
        Ok(())
    }

    fn interval(&self, Interval { at, value, inner, outer }: &Interval, colour: RGBColor) -> Drawn {
        for (ends, width) in [(outer, 3), (inner, 9)] {
            self.line(ends.map(|x| (x, *at)), colour, width)?;
        }
        match self.place(*value, *at) {
            Some(centre) => self.area.draw(&Circle::new(centre, 8, INK.filled())),
            None => Ok(()),
        }
    }

    /// The ends of a rule.
    fn ends(&self, place: Place) -> [(f64, f64); 2] {
        let axes = self.plane.as_coord_spec();
        let (xs, ys) = (axes.x_spec().range(), axes.y_spec().range());
        match place {
            Place::Horizontal(y) => [(xs.start, y), (xs.end, y)],
            Place::Vertical(x) => [(x, ys.start), (x, ys.end)],
            Place::Diagonal => {
                let from = xs.start.min(xs.end).max(ys.start.min(ys.end));
                let to = xs.start.max(xs.end).min(ys.start.max(ys.end));
                [(from, from), (to, to)]
            }
        }
    }

    /// Part by part, so that the same parts of all boxes become one path.
    fn boxes(&self, boxes: &[BoxPlot], colour: RGBColor) -> Drawn {
        for BoxPlot { at, lower, upper, .. } in boxes {
            let corners = (self.place(at - 0.3, *upper), self.place(at + 0.3, *lower));
            if let (Some(a), Some(b)) = corners {
                self.area.draw(&Rectangle::new([a, b], colour.mix(0.3).filled()))?;
            }
        }
        for BoxPlot { at, low, lower, upper, high, .. } in boxes {
            let (left, right) = (at - 0.3, at + 0.3);
            self.line([(*at, *low), (*at, *lower)], colour, 3)?;
            self.line([(*at, *upper), (*at, *high)], colour, 3)?;
            for end in [low, high] {
                self.line([(at - 0.15, *end), (at + 0.15, *end)], colour, 3)?;
            }
            let corners =
                [(left, lower), (right, lower), (right, upper), (left, upper), (left, lower)];
            self.line(corners.map(|(x, y)| (x, *y)), colour, 3)?;
        }
        for BoxPlot { at, median, .. } in boxes {
            self.line([(at - 0.3, *median), (at + 0.3, *median)], colour, 6)?;
        }
        let outliers = boxes.iter().flat_map(|plot| plot.outliers.iter().map(|y| (plot.at, *y)));
        self.points(outliers, Symbol::Dot, colour)
    }

    /// A row of cells; neighbours of one colour become one rectangle.
    fn row(&self, y: f64, colours: &[Option<RGBColor>], words: &[String]) -> Drawn {
        let mut start = 0;
        for run in colours.chunk_by(PartialEq::eq) {
            let (from, to) = (start as f64 - 0.5, (start + run.len()) as f64 - 0.5);
            let corners = (self.place(from, y - 0.5), self.place(to, y + 0.5));
            if let (Some(colour), (Some(a), Some(b))) = (run[0], corners) {
                // One unit more, so that no ground shows between neighbours.
                let cells = [a, (b.0 + 1, b.1 + 1)];
                self.area.draw(&Rectangle::new(cells, colour.filled()))?;
            }
            start += run.len();
        }
        for (k, word) in words.iter().enumerate().filter(|(_, word)| !word.is_empty()) {
            let is_dark = match colours.get(k).copied().flatten() {
                Some(RGBColor(r, g, b)) => {
                    0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b) < 140.0
                }
                None => false,
            };
            // Black and white do not change with the page.
            let colour = if is_dark { RGBColor(255, 255, 255) } else { RGBColor(0, 0, 0) };
            if let Some(at) = self.place(k as f64, y) {
                let style = text(0.9 * TEXT, colour, (HPos::Center, VPos::Center));
                self.area.draw(&Text::new(word.clone(), at, style))?;
            }
        }
        Ok(())
    }

    /// Names below the horizontal axis that are turned, and have this width all together.
    fn turned_names(&self, names: Vec<String>, across: f64) -> Drawn {
        let font = ("sans-serif", TEXT * 1.24).into_font().transform(FontTransform::Rotate270);
        let style = TextStyle::from(font).color(&INK).pos(Pos::new(HPos::Right, VPos::Center));
        let bottom = self.plane.get_pixel_range().1.end;
        let y = self.plane.as_coord_spec().y_spec().range().start;
        // If names would overlap, every second one is written, or fewer.
        let every = (names.len() as f64 * TEXT / across).ceil().max(1.0) as usize;
        for (k, name) in names.into_iter().enumerate().step_by(every) {
            let (x, _) = self.plane.map_coordinate(&(k as f64, y));
            self.area.draw(&Text::new(name, (x, bottom + 10), style.clone()))?;
        }
        Ok(())
    }

    /// The scale of the colours of cells, to the right of them.
    fn bar(&self, [low, high]: [f64; 2]) -> Drawn {
        let (_, rows) = self.plane.get_pixel_range();
        let (top, bottom) = (rows.start, rows.end);
        let left = WIDTH as i32 - 122;
        let level = |share: f64| bottom - (share * f64::from(bottom - top)) as i32;
        for k in 0..32 {
            let colour = ViridisRGB.get_color(f64::from(k) / 31.0);
            let ends =
                [(left, level(f64::from(k + 1) / 32.0)), (left + 22, level(f64::from(k) / 32.0))];
            self.area.draw(&Rectangle::new(ends, colour.filled()))?;
        }
        for share in [0.0, 0.5, 1.0] {
            let style = text(TEXT, INK, (HPos::Left, VPos::Center));
            let at = (left + 30, level(share).clamp(top + 10, bottom - 10));
            self.area.draw(&Text::new(number(low + share * (high - low)), at, style))?;
        }
        Ok(())
    }
}

/// The number of a series whose lines carry symbols, so that they can be told apart without colour.
fn dots_of(mark: &Mark) -> Option<usize> {
    match mark {
        // A line that goes up and down at every point would hide its symbols.
        Mark::Line { name: Some(_), colour: Colour::Series(k), points } if points.len() <= 600 => {
            Some(*k)
        }
        _ => None,
    }
}

/// The symbol of a series on its line.
fn draw_dot(at: (i32, i32), series: usize, colour: RGBColor, area: &Area) -> Drawn {
    match series % 4 {
        0 => area.draw(&Circle::new(at, 7, colour.filled())),
        1 => {
            let corners = [(at.0 - 7, at.1 - 7), (at.0 + 7, at.1 + 7)];
            area.draw(&Rectangle::new(corners, colour.filled()))
        }
        2 => area.draw(&TriangleMarker::new(at, 9, colour.filled())),
        _ => area.draw(&Cross::new(at, 7, colour.stroke_width(3))),
    }
}

fn draw_symbol(at: (i32, i32), symbol: Symbol, colour: RGBColor, area: &Area) -> Drawn {
    match symbol {
        Symbol::Dot => area.draw(&Circle::new(at, 5, colour.mix(0.75).filled())),
        Symbol::Cross => area.draw(&Cross::new(at, 8, colour.stroke_width(3))),
        Symbol::Triangle => {
            let (x, y) = at;
            let corners = vec![(x, y - 9), (x + 8, y + 6), (x - 8, y + 6), (x, y - 9)];
            area.draw(&PathElement::new(corners, colour.stroke_width(3)))
        }
    }
}

/// One of 32 shades.
fn cell_colour(value: f64, [low, high]: [f64; 2], palette: Palette) -> Option<RGBColor> {
    if !value.is_finite() {
        return None;
    }
    let share = if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 };
    let share = (share * 31.0).round() / 31.0;
    Some(match palette {
        Palette::Viridis => ViridisRGB.get_color(share),
        Palette::Grey => {
            let level = (255.0 * (1.0 - share)).round() as u8;
            RGBColor(level, level, level)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Panel};
    use super::*;

    #[test]
    fn many_names_do_not_lie_on_each_other() {
        let names = Axis::names("", (0..60).map(|k| format!("name {k}")));
        let rule = Place::Horizontal(1.0);
        let panel = Panel::new("", names, Axis::new("")).mark(Mark::Rule {
            name: None,
            colour: Colour::Ink,
            place: rule,
        });
        let svg = panel_elements(&panel, &Room::of(&panel));
        let turned = svg.split("rotate(270, ").skip(1);
        let places: Vec<i32> =
            turned.filter_map(|rest| rest.split(',').next()?.parse().ok()).collect();
        assert!(places.len() > 10, "{places:?}");
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= TEXT as i32), "{places:?}");
    }

    #[test]
    fn panels_of_a_column_and_of_a_row_have_their_axes_in_line() {
        let panel = |title: &str, low: f64, high: f64| {
            let line =
                |points: Vec<[f64; 2]>| Mark::Line { name: None, colour: Colour::Ink, points };
            Panel::new(title, Axis::new("x"), Axis::new("y"))
                .mark(line(vec![[low, low], [high, high]]))
        };
        // Numbers of other lengths, and a title in one panel alone.
        let mut figure = Figure::new("f", "", "")
            .panel(panel("", 0.0, 1.0))
            .panel(panel("title", -1e5, 123_456.0))
            .panel(panel("", 0.001, 0.002))
            .panel(panel("", 1e-9, 2e-9));
        figure.columns = Some(2);
        let rooms: Vec<Room> = figure.panels.iter().map(Room::of).collect();
        assert!(rooms[0].left != rooms[2].left && rooms[0].head != rooms[1].head, "{rooms:?}");
        // The line of each panel begins 4 % within the lower left corner of its frame.
        let (_, body) = matrix(&figure, 2);
        let ends: Vec<(f64, f64)> = body
            .split("<g transform")
            .skip(1)
            .map(|panel| {
                let path = panel.rsplit("<path d=\"M").next().unwrap();
                let (x, y) = path.split_once('l').unwrap().0.split_once(' ').unwrap();
                (x.parse().unwrap(), y.parse().unwrap())
            })
            .collect();
        assert_eq!(ends[0].0, ends[2].0, "{ends:?}");
        assert_eq!(ends[1].0, ends[3].0, "{ends:?}");
        assert_eq!(ends[0].1, ends[1].1, "{ends:?}");
        assert_eq!(ends[2].1, ends[3].1, "{ends:?}");
    }
}
