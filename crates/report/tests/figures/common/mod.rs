//! What the tests of all figures share.

use bnn_mcmc_report::figure::Figure;
use roxmltree::Document;

/// Draws a figure as a file and as elements of a page: both are well-formed, without numbers that are
/// none, and say every panel's title and labels.
#[track_caller]
pub fn check(figure: &Figure) {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    assert!(!figure.name.is_empty() && figure.name.chars().all(is_name), "{}", figure.name);
    assert!(!figure.title.is_empty() && !figure.caption.is_empty(), "{}", figure.name);

    let file = figure.to_svg();
    let elements = figure.svg_elements();
    let words = words(&file);
    let of_elements: Vec<String> =
        elements.iter().flat_map(|element| words_of(element).unwrap()).collect();
    for panel in &figure.panels {
        for label in [&panel.title, &panel.x.label, &panel.y.label] {
            for found in [&words, &of_elements] {
                let is_there = label.is_empty() || found.iter().any(|word| word == label.trim());
                assert!(is_there, "{}: `{label}` is not among {found:?}", figure.name);
            }
        }
    }
}

#[track_caller]
fn words(svg: &str) -> Vec<String> {
    words_of(svg).unwrap_or_else(|error| panic!("{error}\n{svg}"))
}

/// The texts of an SVG file.
fn words_of(svg: &str) -> Result<Vec<String>, roxmltree::Error> {
    let document = Document::parse(svg)?;
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "svg");
    for attribute in document.descendants().flat_map(|node| node.attributes()) {
        let value = attribute.value();
        let is_number = !["aria-label", "font-family"].contains(&attribute.name());
        assert!(!(is_number && value.contains("NaN")), "{}=\"{value}\"", attribute.name());
    }
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    Ok(texts.filter_map(|node| node.text()).map(|text| text.trim().to_owned()).collect())
}
