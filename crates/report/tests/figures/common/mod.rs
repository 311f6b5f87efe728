//! What every test of a figure asks of it.

use bnn_mcmc_report::figure::Figure;
use roxmltree::Document;

/// Draws a figure, and checks that its files are XML in which every title and label can be read. The
/// SVG is written to the folder `FIGURES`, if this variable is set.
pub fn check(figure: &Figure) {
    let svg = figure.to_svg();
    if let Ok(folder) = std::env::var("FIGURES") {
        std::fs::write(format!("{folder}/{}.svg", figure.name), &svg).unwrap();
    }
    let elements = figure.svg_elements();
    let words = |svg: &str| -> String {
        let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        texts.filter_map(|node| node.text()).map(|text| format!("{}\n", text.trim())).collect()
    };
    let (file, page) = (words(&svg), elements.iter().map(|svg| words(svg)).collect::<String>());
    for panel in &figure.panels {
        for text in [&panel.title, &panel.x.label, &panel.y.label] {
            for words in [&file, &page] {
                let is_there = words.lines().any(|line| line == text.trim());
                assert!(text.is_empty() || is_there, "{text} is not in {words}");
            }
        }
    }
    assert!(!figure.title.is_empty() && figure.caption.ends_with('.'), "{}", figure.caption);
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    assert!(figure.name.chars().all(is_plain), "{}", figure.name);
}
