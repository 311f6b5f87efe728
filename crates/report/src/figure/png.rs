//! Figures as PNG files, by resvg (feature `png`).

use std::sync::{Arc, OnceLock};

use bnn_mcmc::Error;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Family, Query};
use resvg::usvg::{Options, Tree};

use super::Figure;

/// The most pixels of a picture.
const MOST_PIXELS: f64 = 1e8;
/// Fonts without serifs that systems have, in the order of preference.
const FONTS: [&str; 8] = [
    "DejaVu Sans",
    "Liberation Sans",
    "Noto Sans",
    "Open Sans",
    "Arial",
    "Helvetica",
    "Segoe UI",
    "FreeSans",
];

impl Figure {
    /// The figure as a PNG file in the colours of a light page, `scale` times as large as the SVG file,
    /// whose panels are 360 pixels wide. Only with the feature `png`.
    ///
    /// Text is written in a font of the system, so that pictures of two systems may differ.
    ///
    /// # Errors
    /// A scale that is not a positive number, or makes a picture of more than 100 million pixels, and
    /// a system without any font.
    pub fn to_png(&self, scale: f64) -> Result<Vec<u8>, Error> {
        // Fonts are looked for once: their files take some tenths of a second.
        static FOUND: OnceLock<Arc<Database>> = OnceLock::new();
        let fonts = FOUND.get_or_init(|| {
            let mut fonts = Database::new();
            fonts.load_system_fonts();
            Arc::new(fonts)
        });
        self.rendered(scale, Arc::clone(fonts))
    }

    fn rendered(&self, scale: f64, fonts: Arc<Database>) -> Result<Vec<u8>, Error> {
        let Some(family) = sans_serif(&fonts) else {
            return Err(Error::argument(
                "fonts of the system",
                "none",
                "at least one: install a package such as fonts-dejavu-core or dejavu-sans-fonts, \
                 or put a .ttf file into the folder for fonts",
            ));
        };
        let mut fonts = fonts;
        Arc::make_mut(&mut fonts).set_sans_serif_family(family);
        let options = Options { fontdb: fonts, ..Options::default() };
        // The text is this crate's own.
        let tree = Tree::from_str(&self.to_svg(), &options).map_err(|error| {
            Error::argument("the figure", error, "an SVG file that resvg reads")
        })?;
        let [width, height] = [tree.size().width(), tree.size().height()]
            .map(|size| (f64::from(size) * scale).round());
        let allowed = "a positive number with which the picture has 1 to 100,000,000 pixels";
        let refused = || Error::argument("scale", scale, allowed);
        if !(width >= 1.0 && height >= 1.0 && width * height <= MOST_PIXELS) {
            return Err(refused());
        }
        let mut pixels = Pixmap::new(width as u32, height as u32).ok_or_else(refused)?;
        let scale = scale as f32;
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| {
            Error::argument("the picture", error, "one that can be written as a PNG file")
        })
    }
}

/// A font without serifs, or any font; `None` if there is none.
fn sans_serif(fonts: &Database) -> Option<String> {
    let is_there = |name: &&&str| {
        let query = Query { families: &[Family::Name(name)], ..Query::default() };
        fonts.query(&query).is_some()
    };
    if let Some(name) = FONTS.iter().find(is_there) {
        return Some((*name).to_owned());
    }
    let first = fonts.faces().next()?;
    first.families.first().map(|(name, _)| name.clone())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use resvg::tiny_skia::Pixmap;
    use resvg::usvg::fontdb::Database;

    use crate::figure::{Axis, Colour, Figure, Mark, Panel};

    fn figure(title: &str) -> Figure {
        let bars = Mark::Bars {
            name: None,
            colour: Colour::Series(0),
            edges: vec![0.0, 1.0, 2.0],
            heights: vec![1.0, 2.0],
        };
        let panel = Panel::new(title, Axis::new("x"), Axis::new("y")).mark(bars);
        Figure::new("f", "a figure", "its caption").panel(panel)
    }

    fn is_about_fonts(error: &bnn_mcmc::Error) -> bool {
        matches!(error, bnn_mcmc::Error::Argument { name, .. } if name == "fonts of the system")
    }

    #[test]
    fn without_a_font_it_says_what_to_install() {
        let error = figure("a").rendered(1.0, Arc::new(Database::new())).unwrap_err();
        assert!(is_about_fonts(&error), "{error:?}");
        let bnn_mcmc::Error::Argument { allowed, .. } = &error else { unreachable!() };
        assert!(allowed.contains("fonts-dejavu-core"), "{allowed}");
    }

    #[test]
    fn a_picture_has_ground_bars_and_text() {
        let picture = |title: &str, scale: f64| match figure(title).to_png(scale) {
            Ok(png) => Some(Pixmap::decode_png(&png).unwrap()),
            Err(error) if is_about_fonts(&error) => {
                eprintln!("NOT CHECKED: a system without fonts");
                None
            }
            Err(error) => panic!("{error}"),
        };
        let Some(small) = picture("a", 1.0) else { return };
        let svg = figure("a").to_svg();
        let (width, height) = (small.width(), small.height());
        assert!(
            svg.contains(&format!("width=\"{width}\" height=\"{height}\"")),
            "{width} {height}"
        );
        let pixel = |x: u32, y: u32| {
            let colour = small.pixel(x, y).unwrap().demultiply();
            [colour.red(), colour.green(), colour.blue(), colour.alpha()]
        };
        assert_eq!(pixel(width - 1, 0), [255; 4]);
        // The blue of the first series, at 60 % over white.
        let share = |[r, _, b, _]: [u8; 4]| b > 180 && r < 130;
        let blue = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let blue = blue.filter(|(x, y)| share(pixel(*x, *y))).count();
        let area = (width * height) as usize;
        assert!(blue > area / 4 && blue < area, "{blue} of {area}");
        // Titles differ only in text.
        let title = |picture: &Pixmap| picture.data()[..(4 * width * 22) as usize].to_vec();
        let other = picture("a longer title", 1.0).unwrap();
        assert_ne!(title(&small), title(&other));
        assert_eq!(title(&small), title(&picture("a", 1.0).unwrap()));

        let large = picture("a", 2.5).unwrap();
        assert_eq!(large.width(), (f64::from(width) * 2.5).round() as u32);
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e6] {
            let error = figure("a").to_png(scale).unwrap_err();
            assert!(error.to_string().starts_with("`scale` is "), "{error}");
        }
    }
}
