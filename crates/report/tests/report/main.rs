//! The report: one page that is complete, safe, small, and works in a browser.

mod browser;
mod pages;

use std::fs;
use std::path::PathBuf;

use bnn_mcmc::fit::{Fit, Method, Recipe};
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2};

/// Names that must be shown as they are.
const HOSTILE: &str = "<script>\"&";

/// Writes a page to a file, for a browser and for people who want to look at it.
fn written(name: &str, page: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html"));
    fs::write(&path, page).unwrap();
    path
}

fn iris() -> Fit {
    let data = bnn_mcmc::data::bundled::iris();
    let recipe = Fit::classification("species").hidden(&[4]).warmup(500).draws(1000).seed(1);
    recipe.validation(0.3).fit(&data).unwrap()
}

/// A line with noise; `strength` is about 500 in 60 rows.
fn strength() -> Dataset {
    let mut rng = ChainRng::new(5, 0);
    let x = Array2::from_shape_simple_fn((60, 2), || rng.normal());
    let y: Array1<f64> =
        x.rows().into_iter().map(|r| 500.0 + 100.0 * r[0] + 20.0 * rng.normal()).collect();
    let data = Dataset::regression(x, y).unwrap().with_feature_names(["age", "water"]).unwrap();
    data.with_response_names(["strength"]).unwrap()
}

fn regression() -> Recipe {
    Fit::regression("strength").hidden(&[3]).warmup(100).draws(100).seed(1)
}

/// Too few draws of too narrow a network: the chains disagree.
fn not_converged() -> Fit {
    regression().method(Method::Nuts).warmup(5).draws(30).fit(&strength()).unwrap()
}

/// Two classes, features and a response whose names are markup.
fn hostile() -> Fit {
    let data = bnn_mcmc::data::bundled::iris();
    let classes: Vec<usize> = data.classes().unwrap().iter().map(|c| usize::from(*c > 0)).collect();
    let data = Dataset::classification(data.x().clone(), classes, [HOSTILE, "</style><b>'"])
        .unwrap()
        .with_feature_names(["<img src=x onerror=alert(1)>", "a`b`", "**c**", HOSTILE])
        .unwrap()
        .with_response_names([HOSTILE])
        .unwrap();
    Fit::classification(HOSTILE).hidden(&[2]).warmup(100).draws(100).fit(&data).unwrap()
}
