//! The SVG that plotters writes, made small.
//!
//! Plotters writes one element on each line, with all attributes. Circles of one style that follow one
//! another become one path here, whose every point is a stroke of length 0 with round ends, and
//! attributes that have their default value, or that of the whole figure, are left out.

/// Attributes that change nothing.
const DEFAULTS: [&str; 4] =
    [" opacity=\"1\"", " stroke=\"none\"", " stroke-width=\"1\"", " font-family=\"sans-serif\""];

/// The elements of an SVG file of plotters, without the `<svg>` around them.
pub(super) fn elements(svg: &str) -> String {
    let mut out = String::with_capacity(svg.len() / 2);
    let mut dots: Option<(Dot, String)> = None;
    for line in svg.lines() {
        if line.starts_with("<svg ") || line == "</svg>" {
            continue;
        }
        if let Some(dot) = Dot::parse(line) {
            match &mut dots {
                Some((first, path)) if first.style == dot.style => path.push_str(&dot.path()),
                _ => {
                    flush(&mut dots, &mut out);
                    let path = dot.path();
                    dots = Some((dot, path));
                }
            }
            continue;
        }
        flush(&mut dots, &mut out);
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
    flush(&mut dots, &mut out);
    out
}

fn flush(dots: &mut Option<(Dot, String)>, out: &mut String) {
    if let Some((Dot { style: (radius, opacity, colour), .. }, path)) = dots.take() {
        let width = 2 * radius;
        let opacity = match opacity.as_str() {
            "1" => String::new(),
            other => format!(" opacity=\"{other}\""),
        };
        *out += &format!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
             stroke-linecap=\"round\"{opacity}/>"
        );
    }
}

/// A filled circle.
struct Dot {
    centre: (i32, i32),
    /// Radius, opacity, colour.
    style: (u32, String, String),
}

impl Dot {
    fn parse(line: &str) -> Option<Self> {
        let attributes = line.strip_prefix("<circle ")?;
        let value = |name: &str| {
            let rest = &attributes[attributes.find(&format!("{name}=\""))? + name.len() + 2..];
            rest.split('"').next()
        };
        if value("fill")? == "none" {
            return None;
        }
        Some(Self {
            centre: (value("cx")?.parse().ok()?, value("cy")?.parse().ok()?),
            style: (value("r")?.parse().ok()?, value("opacity")?.into(), value("fill")?.into()),
        })
    }

    fn path(&self) -> String {
        format!("M{} {}h0", self.centre.0, self.centre.1)
    }
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
}
