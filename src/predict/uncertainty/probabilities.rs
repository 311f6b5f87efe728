//! Class probabilities: the values read from them, and the checks that they are probabilities.

use std::collections::HashSet;

use ndarray::{ArrayView1, ArrayView2};

use crate::Error;

/// The tolerance for the sum of a row's probabilities, which should be 1: probabilities computed in
/// f32 are not exact.
const SUM_TOLERANCE: f64 = 1e-5;

/// The probability of a class, also where there is one column for the second of two.
pub(super) fn of_class(p: ArrayView1<f64>, class: usize) -> f64 {
    match (p.len(), class) {
        (1, 0) => (1.0 - p[0]).max(0.0),
        (1, _) => p[0],
        _ => p[class],
    }
}

pub(super) fn p_ln_p(p: f64) -> f64 {
    if p > 0.0 { p * p.ln() } else { 0.0 }
}

pub(super) fn check_class_names(names: &[String]) -> Result<(), Error> {
    if names.len() < 2 {
        return Err(Error::shape("number of class names", names.len(), "at least 2"));
    }
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(*name)) {
        Some(name) => {
            Err(Error::argument("class names", format!("`{name}` twice"), "all different"))
        }
        None => Ok(()),
    }
}

pub(super) fn check_same_classes(found: &[String], expected: &[String]) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::shape("classes of the probabilities", found.join(", "), expected.join(", ")))
}

pub(super) fn check_columns(found: usize, classes: usize) -> Result<(), Error> {
    if found == classes || (found, classes) == (1, 2) {
        return Ok(());
    }
    let or_one = if classes == 2 { ", or 1 for the second" } else { "" };
    let expected = format!("{classes}, one for each class{or_one}");
    Err(Error::shape("columns of the probabilities", found, expected))
}

/// Checks the probabilities of one draw.
pub(super) fn check_probabilities(
    probabilities: ArrayView2<f64>,
    inputs: usize,
    class_names: &[String],
) -> Result<(), Error> {
    if probabilities.nrows() != inputs {
        return Err(Error::shape("inputs of the probabilities", probabilities.nrows(), inputs));
    }
    check_columns(probabilities.ncols(), class_names.len())?;
    for (i, row) in probabilities.rows().into_iter().enumerate() {
        if let Some(p) = row.iter().find(|p| !(0.0..=1.0 + SUM_TOLERANCE).contains(*p)) {
            let name = format!("probability of input {i}");
            return Err(Error::argument(name, p, "from 0 to 1"));
        }
        let sum = row.sum();
        if row.len() > 1 && (sum - 1.0).abs() > SUM_TOLERANCE {
            let name = format!("sum of the probabilities of input {i}");
            return Err(Error::argument(name, sum, format!("1 to within {SUM_TOLERANCE}")));
        }
    }
    Ok(())
}
