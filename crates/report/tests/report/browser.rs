//! The page in a browser: headless Chromium, where it is installed, with axe-core, where `npm ci` has
//! been run in `tests/browser`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bnn_mcmc_report::report;
use serde_json::Value;

use super::{HOSTILE, hostile, iris, not_converged, written};

/// What the page finds of itself, written into its own text when all is done.
const PROBE: &str = r#"
window.addEventListener('load', async () => {
  const box = document.querySelector('.verdict').getBoundingClientRect();
  const found = {
    height: window.innerHeight,
    verdict: [box.top, box.bottom],
    overflow: document.documentElement.scrollWidth - window.innerWidth,
    cut: [...document.querySelectorAll('svg text')].filter(text => {
      const svg = text.ownerSVGElement.getBoundingClientRect(), own = text.getBoundingClientRect();
      return own.left < svg.left - 2 || own.right > svg.right + 2;
    }).map(text => text.textContent),
    // The height of the text at axes, in pixels: one size, near that of the page's text.
    sizes: [...new Set([...document.querySelectorAll('.figures svg text[font-size="28"]')].map(text => {
      const svg = text.ownerSVGElement;
      return Math.round(28 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width);
    }))],
    // The part of the page's width in which nothing is, by the boxes of text, tables and figures.
    empty: (() => {
      const main = document.querySelector('main').getBoundingClientRect();
      const parts = [...document.querySelectorAll('main p, main table, main svg, main dd')];
      const columns = new Array(12).fill(0);
      for (const part of parts) {
        const box = part.getBoundingClientRect();
        for (let k = 0; k < 12; k++) {
          const left = main.left + k * main.width / 12, right = left + main.width / 12;
          if (box.left < right && box.right > left) columns[k] += box.height;
        }
      }
      return Math.min(...columns) / Math.max(...columns);
    })(),
    scripts: document.scripts.length,
    text: document.body.innerText,
    faults: [],
  };
  if (window.axe) {
    const result = await axe.run();
    found.faults = result.violations
      .filter(fault => ['serious', 'critical'].includes(fault.impact))
      .map(fault => fault.id + ': ' + fault.nodes.map(node => node.html).slice(0, 3).join(' | '));
  }
  const out = document.createElement('pre');
  out.id = 'found';
  out.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(found))));
  document.body.append(out);
});
"#;

fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

/// What a browser finds of a page.
fn found(browser: &Path, page: &Path, size: &str, is_dark: bool) -> (Value, String) {
    let axe = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/browser/node_modules/axe-core/axe.min.js");
    let html = fs::read_to_string(page).unwrap();
    let axe = fs::read_to_string(axe).unwrap_or_else(|_| {
        println!("NOT CHECKED: accessibility (npm ci --prefix crates/report/tests/browser)");
        String::new()
    });
    let scripts = format!("<script>{axe}</script><script>{PROBE}</script></body>");
    let probed = page.with_extension(format!("{size}.{is_dark}.probe.html"));
    fs::write(&probed, html.replace("</body>", &scripts)).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]);
    command.args(["--disable-background-networking", "--disable-component-update"]);
    command.args(["--disable-sync", "--hide-scrollbars", "--enable-logging=stderr"]);
    command.args(["--virtual-time-budget=30000", "--dump-dom"]);
    if is_dark {
        command.arg("--blink-settings=preferredColorScheme=0");
    }
    command.arg(format!("--user-data-dir={}", profile.path().display()));
    command.arg(format!("--window-size={size}")).arg(format!("file://{}", probed.display()));
    let output = command.output().unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let log = String::from_utf8_lossy(&output.stderr);
    let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    let start = dom.find("id=\"found\">").unwrap_or_else(|| panic!("no answer of {page:?}: {log}"));
    let encoded = dom[start + 11..].split('<').next().unwrap();
    (serde_json::from_slice(&decoded(encoded)).unwrap(), console.join("\n"))
}

/// Base64, as browsers write it.
fn decoded(text: &str) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let place = |letter: u8| LETTERS.iter().position(|l| *l == letter);
    let mut bytes = Vec::new();
    let (mut bits, mut n) = (0_u32, 0);
    for value in text.bytes().filter_map(place) {
        (bits, n) = (bits << 6 | value as u32, n + 6);
        if n >= 8 {
            n -= 8;
            bytes.push((bits >> n) as u8);
            bits &= (1 << n) - 1;
        }
    }
    bytes
}

#[test]
fn pages_work_in_a_browser() {
    let Some(browser) = chromium() else {
        println!("NOT CHECKED: the report in a browser (install chromium)");
        return;
    };
    for (name, fit, verdict) in [
        ("browser_iris", iris(), "Converged"),
        ("browser_not_converged", not_converged(), "Not converged"),
        ("browser_hostile", hostile(), HOSTILE),
    ] {
        let page = written(name, &report(&fit).unwrap());
        for (size, is_dark) in [("1400,900", false), ("1400,900", true), ("400,800", false)] {
            let (found, console) = found(&browser, &page, size, is_dark);
            let context = format!("{name} at {size}, dark {is_dark}");
            assert_eq!(console, "", "{context}");
            assert_eq!(found["faults"], serde_json::json!([]), "{context}");
            assert_eq!(found["cut"], serde_json::json!([]), "{context}");
            assert!(found["overflow"].as_f64().unwrap() <= 0.0, "{context}: {}", found["overflow"]);
            let sizes: Vec<f64> = serde_json::from_value(found["sizes"].clone()).unwrap();
            if size.starts_with("1400") {
                // Text of figures has one size, and no part of the page's width is empty.
                assert!(
                    sizes.len() == 1 && (14.0..=17.0).contains(&sizes[0]),
                    "{context}: {sizes:?}"
                );
                assert!(found["empty"].as_f64().unwrap() > 0.5, "{context}: {}", found["empty"]);
            } else {
                assert!(sizes.iter().all(|size| *size >= 12.0), "{context}: {sizes:?}");
            }
            // The two of the test itself.
            assert_eq!(found["scripts"], 2, "{context}");
            let (top, bottom) = (found["verdict"][0].as_f64(), found["verdict"][1].as_f64());
            assert!(top.unwrap() >= 0.0 && bottom.unwrap() <= found["height"].as_f64().unwrap());
            assert!(found["text"].as_str().unwrap().contains(verdict), "{context}");
        }
    }
}
