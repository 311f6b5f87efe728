//! New rows: whether they fit the training data, and their tiles.

use std::collections::HashSet;

use ndarray::{Array2, ArrayView2};

use super::Posterior;
use crate::Error;
use crate::data::Dataset;
use crate::engine::Tiles;
use crate::error::Row;
use crate::likelihood::Likelihood;
use crate::message::Advice;
use crate::model::Model;

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// The response of other rows in columns, if the names of their features, classes and responses
    /// are the same as in the training data.
    pub(crate) fn encoded(&self, data: &Dataset) -> Result<Array2<f64>, Error> {
        check_inputs(&self.model, data.n_features())?;
        let renamed = |what: &str, rename: &str| {
            let rename =
                format!("if it is the same {what} under another name, rename it by `{rename}`");
            Advice::InRust(rename.into())
        };
        check_same_names(
            "features of the data, column",
            data.feature_names(),
            &self.feature_names,
            Advice::in_rust("select them by `Dataset::select_features`"),
            renamed("column", "Dataset::with_feature_names"),
        )?;
        if let (Some(known), Some(found)) = (self.class_names(), data.response().class_names()) {
            let order = Advice::in_rust(
                "select them by `Dataset::select_classes`, or read a file by the `Schema` of the \
                 training data",
            );
            let other = Advice::in_rust(
                "read the file by the `Schema` of the training data, which knows its classes",
            );
            check_same_names("classes of the data, name", found, known, order, other)?;
        }
        let y = self.likelihood.encode(data.response(), self.model.n_outputs())?;
        check_same_names(
            "response of the data, column",
            data.response_names(),
            &self.response_names,
            "build the data set anew".into(),
            renamed("response", "Dataset::with_response_names"),
        )?;
        Ok(y)
    }

    /// A data set of the rows `x`, whose response is not known.
    pub(crate) fn without_response(&self, x: ArrayView2<f64>) -> Result<Dataset, Error> {
        check_inputs(&self.model, x.ncols())?;
        check_finite(x)?;
        let (response, x) = (self.blank.blank(x.nrows()), x.to_owned());
        Dataset::checked(x, response, self.feature_names.clone(), self.response_names.clone())
    }

    /// The tiles of `x`, as tall as the model wants them.
    pub(crate) fn tiles_of(&self, x: ArrayView2<f64>) -> Tiles {
        Tiles::with_rows(x, self.model.tile_rows())
    }
}

/// Checks that the names `found` are the `expected` ones, in the same order. The message uses
/// `what`, followed by a number counted from 1, for the item whose name differs, `order` for advice
/// on bringing the same names into that order, and `other` for advice about other names.
fn check_same_names(
    what: &str,
    found: &[String],
    expected: &[String],
    order: Advice,
    other: Advice,
) -> Result<(), Error> {
    let longest = found.len().max(expected.len());
    let Some(i) = (0..longest).find(|&i| found.get(i) != expected.get(i)) else {
        return Ok(());
    };
    let shown = |names: &[String]| names.get(i).map_or("missing".into(), |n| format!("`{n}`"));
    let known: HashSet<&String> = found.iter().collect();
    let is_reordered =
        found.len() == expected.len() && expected.iter().all(|name| known.contains(name));
    let (found, expected) = (shown(found), shown(expected));
    let (allowed, advice) = match is_reordered {
        true => ("as in the training data; all names are there, in another order", order),
        false => ("as in the training data", other),
    };
    let allowed = format!("{expected}, {allowed}");
    Err(Error::argument(format!("{what} {}", i + 1), found, allowed).advise([advice]))
}

/// Checks that all inputs to predict are finite.
pub(crate) fn check_finite(x: ArrayView2<f64>) -> Result<(), Error> {
    match x.indexed_iter().find(|(_, x)| !x.is_finite()) {
        None => Ok(()),
        Some(((row, column), value)) => Err(Error::Cell {
            table: "inputs".into(),
            row: Row::Number(row + 1),
            column: format!("#{}", column + 1),
            problem: format!("{value} is not a finite number"),
            advice: Vec::new(),
        }),
    }
}

/// Checks that rows of `n_features` numbers can be fed to `model`.
pub(crate) fn check_inputs<M: Model>(model: &M, n_features: usize) -> Result<(), Error> {
    if n_features == model.n_inputs() {
        Ok(())
    } else {
        Err(Error::shape("number of features of the data", n_features, model.n_inputs()))
    }
}
