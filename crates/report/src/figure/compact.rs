//! The SVG that plotters writes, made small.
//!
//! Plotters writes one element on each line, with all attributes. Lines of one style that follow
//! one another become one path here, whose points are written as steps from the last one, since
//! neighbours are near; and so do filled circles, as strokes of length 0 with round ends.
//! Attributes that have their default value, or the value of the whole figure, are left out.

/// Attributes that change nothing.
const DEFAULTS: [&str; 4] =
    [" opacity=\"1\"", " stroke=\"none\"", " stroke-width=\"1\"", " font-family=\"sans-serif\""];

/// The elements of an SVG file of plotters, without the `<svg>` around them.
pub(super) fn elements(svg: &str) -> String {
    let mut out = String::with_capacity(svg.len() / 2);
    // The style and the path of strokes that follow one another.
    let mut strokes: Option<(String, String)> = None;
    for line in svg.lines() {
        if line.starts_with("<svg ") || line == "</svg>" {
            continue;
        }
        if let Some((style, path)) = dot(line).or_else(|| stroke(line)).or_else(|| steps(line)) {
            match &mut strokes {
                Some((same, all)) if *same == style => all.push_str(&path),
                _ => {
                    flush(&mut strokes, &mut out);
                    strokes = Some((style, path));
                }
            }
            continue;
        }
        flush(&mut strokes, &mut out);
        match line.starts_with('<') {
            true => {
                let mut line = line.to_owned();
                for default in DEFAULTS {
                    line = line.replacen(default, "", 1);
                }
                out.push_str(&line);
            }
            // The content of a text.
            false => out.push_str(line),
        }
    }
    flush(&mut strokes, &mut out);
    out
}

fn flush(strokes: &mut Option<(String, String)>, out: &mut String) {
    if let Some((style, path)) = strokes.take() {
        *out += &format!("<path d=\"{path}\" fill=\"none\"{style}/>");
    }
}

/// The style and the path of a filled circle.
fn dot(line: &str) -> Option<(String, String)> {
    let circle = line.strip_prefix("<circle ")?;
    let colour = value(circle, "fill").filter(|fill| *fill != "none")?;
    let radius: u32 = value(circle, "r")?.parse().ok()?;
    let style = format!(
        " stroke=\"{colour}\" stroke-width=\"{}\" stroke-linecap=\"round\"{}",
        2 * radius,
        opacity(circle)?
    );
    Some((style, format!("M{} {}h0", value(circle, "cx")?, value(circle, "cy")?)))
}

/// The style and the path of a straight line.
fn stroke(line: &str) -> Option<(String, String)> {
    let ends = line.strip_prefix("<line ")?;
    let width = match value(ends, "stroke-width")? {
        "1" => String::new(),
        width => format!(" stroke-width=\"{width}\""),
    };
    let style = format!(" stroke=\"{}\"{width}{}", value(ends, "stroke")?, opacity(ends)?);
    let [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map(|name| value(ends, name));
    Some((style, format!("M{} {}L{} {}", x1?, y1?, x2?, y2?)))
}

/// The style and the path of a line through points.
fn steps(line: &str) -> Option<(String, String)> {
    let (attributes, points) = line.strip_prefix("<polyline")?.split_once(" points=\"")?;
    let mut path = String::new();
    let mut last: Option<(i32, i32)> = None;
    for point in points.strip_suffix("\"/>")?.split_ascii_whitespace() {
        let (x, y) = point.split_once(',')?;
        let (x, y): (i32, i32) = (x.parse().ok()?, y.parse().ok()?);
        match last {
            None => path = format!("M{x} {y}l"),
            Some((from_x, from_y)) => {
                let (dx, dy) = (x - from_x, y - from_y);
                // A minus sign separates numbers as well as a blank does.
                let between = |next: i32| if next < 0 { "" } else { " " };
                let before = if path.ends_with('l') { "" } else { between(dx) };
                path += &format!("{before}{dx}{}{dy}", between(dy));
            }
        }
        last = Some((x, y));
    }
    let mut style = attributes.replacen(" fill=\"none\"", "", 1);
    for default in DEFAULTS {
        style = style.replacen(default, "", 1);
    }
    Some((style, path))
}

fn opacity(attributes: &str) -> Option<String> {
    Some(match value(attributes, "opacity")? {
        "1" => String::new(),
        other => format!(" opacity=\"{other}\""),
    })
}

/// The value of an attribute.
fn value<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let start = match attributes.starts_with(&format!("{name}=\"")) {
        true => 0,
        false => attributes.find(&format!(" {name}=\""))? + 1,
    };
    attributes[start + name.len() + 2..].split('"').next()
}

#[cfg(test)]
mod tests {
    use super::elements;

    #[test]
    fn circles_of_one_style_become_one_path() {
        let circle = |x: i32, fill: &str| {
            format!(
                "<circle cx=\"{x}\" cy=\"2\" r=\"4\" opacity=\"1\" fill=\"{fill}\" stroke=\"none\" \
                 stroke-width=\"1\"/>\n"
            )
        };
        let svg = format!(
            "<svg width=\"9\" height=\"9\">\n{}{}{}<text x=\"1\" opacity=\"1\">\na &lt; b\n</text>\n</svg>\n",
            circle(1, "#000000"),
            circle(3, "#000000"),
            circle(5, "#FF0000")
        );
        assert_eq!(
            elements(&svg),
            "<path d=\"M1 2h0M3 2h0\" fill=\"none\" stroke=\"#000000\" stroke-width=\"8\" \
             stroke-linecap=\"round\"/><path d=\"M5 2h0\" fill=\"none\" stroke=\"#FF0000\" \
             stroke-width=\"8\" stroke-linecap=\"round\"/><text x=\"1\">a &lt; b</text>"
        );
    }

    #[test]
    fn straight_lines_of_one_style_become_one_path() {
        let line = |x: i32, width: i32| {
            format!(
                "<line opacity=\"1\" stroke=\"#D55E00\" stroke-width=\"{width}\" x1=\"{x}\" y1=\"2\" \
                 x2=\"3\" y2=\"4\"/>\n"
            )
        };
        let svg = format!("{}{}{}", line(1, 3), line(2, 3), line(5, 1));
        assert_eq!(
            elements(&svg),
            "<path d=\"M1 2L3 4M2 2L3 4\" fill=\"none\" stroke=\"#D55E00\" stroke-width=\"3\"/>\
             <path d=\"M5 2L3 4\" fill=\"none\" stroke=\"#D55E00\"/>"
        );
    }

    #[test]
    fn lines_are_written_as_steps() {
        let svg = "<polyline fill=\"none\" opacity=\"1\" stroke=\"#000000\" stroke-width=\"3\" \
                   points=\"10,20 12,5 12,5 9,-5 \"/>\n";
        let path = "<path d=\"M10 20l2-15 0 0-3-10\" fill=\"none\" stroke=\"#000000\" \
                    stroke-width=\"3\"/>";
        assert_eq!(elements(svg), path);
    }
}
