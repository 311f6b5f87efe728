//! The one style of all figures.

use plotters::style::RGBColor;
use serde::Serialize;

/// The colour of a mark, by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Colour {
    /// The colour of the k-th series, such as a chain. The colours are from Okabe and Ito (2008);
    /// people with colour blindness can tell them apart. They start again after the seventh.
    Series(usize),
    /// The colour of text.
    Ink,
    /// A colour that stays in the background, as for limits and references.
    Muted,
}

/// Blue, orange, bluish green, vermilion, sky blue, reddish purple, yellow: neighbours in this order
/// differ in lightness, too.
const OKABE_ITO: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xF0, 0xE4, 0x42),
];
/// Text and frames.
pub(super) const INK: RGBColor = RGBColor(0x1A, 0x1A, 0x1A);
/// References.
pub(super) const MUTED: RGBColor = RGBColor(0x6B, 0x6B, 0x6B);
/// Lines of the grid.
pub(super) const GRID: RGBColor = RGBColor(0xDD, 0xDD, 0xDD);

/// The colours that replace others on a dark page: blue and yellow would have too little contrast
/// on one of the two.
const ON_DARK: [(RGBColor, RGBColor); 4] = [
    (INK, RGBColor(0xEA, 0xEA, 0xEA)),
    (MUTED, RGBColor(0xA6, 0xA6, 0xA6)),
    (GRID, RGBColor(0x3D, 0x3D, 0x3D)),
    (OKABE_ITO[0], RGBColor(0x3D, 0x9B, 0xE0)),
];
/// The colours that replace others on a light page: Okabe and Ito's yellow is almost white there.
const ON_LIGHT: [(RGBColor, RGBColor); 1] = [(OKABE_ITO[6], RGBColor(0xB8, 0xA9, 0x00))];

impl Colour {
    pub(super) fn rgb(self) -> RGBColor {
        match self {
            Self::Series(k) => OKABE_ITO[k % OKABE_ITO.len()],
            Self::Ink => INK,
            Self::Muted => MUTED,
        }
    }
}

/// Style rules for a page with figures in it: their colours on a light page, and on a dark one.
pub fn css() -> String {
    let rules = |replaced: &[(RGBColor, RGBColor)]| {
        let mut rules = String::new();
        for (old, new) in replaced {
            let (old, new) = (hex(*old), hex(*new));
            rules += &format!("svg [fill=\"{old}\"]{{fill:{new}}}");
            rules += &format!("svg [stroke=\"{old}\"]{{stroke:{new}}}");
        }
        rules
    };
    let (light, dark) = (rules(&ON_LIGHT), rules(&ON_DARK));
    format!(
        ".ground{{fill:#fff}}{light}@media (prefers-color-scheme:dark)\
         {{.ground{{fill:#15181c}}svg [fill=\"{yellow}\"]{{fill:{yellow}}}\
         svg [stroke=\"{yellow}\"]{{stroke:{yellow}}}{dark}}}",
        yellow = hex(OKABE_ITO[6])
    )
}

/// A colour as the SVG backend writes it.
fn hex(RGBColor(r, g, b): RGBColor) -> String {
    format!("#{r:02X}{g:02X}{b:02X}")
}
