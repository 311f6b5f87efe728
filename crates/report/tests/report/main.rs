//! The report: one page that is complete, safe and small.

use std::fs;
use std::path::PathBuf;

use bnn_mcmc::fit::Fit;
use bnn_mcmc::prelude::*;
use bnn_mcmc_report::report;
use ndarray::{Array1, Array2};

/// Writes the page to where the browser test finds it.
fn written(name: &str, page: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("{name}.html"));
    fs::write(&path, page).unwrap();
    path
}

fn iris() -> Fit {
    let data = Dataset::iris();
    Fit::classification("species").hidden(&[4]).warmup(500).draws(1000).seed(1).validation(0.3).fit(&data).unwrap()
}

#[test]
fn iris_page() {
    let page = report(&iris()).unwrap();
    let path = written("iris", &page);
    println!("{} bytes: {}", page.len(), path.display());
}
