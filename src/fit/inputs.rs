//! The inputs of the model: scaled features, and their curves.

use ndarray::{Array2, ArrayView2, s};

use super::Recipe;
use crate::Error;
use crate::data::{Curves, Dataset, Scaler};

/// The scaling of features, learnt from the training rows, and the [curves](Curves) of an additive model.
#[derive(Debug)]
pub(super) struct Inputs {
    pub scaler: Scaler,
    /// The number of features that are learnt from, behind which the curves come.
    features: usize,
    curves: Option<Curves>,
}

impl Inputs {
    /// The inputs of a recipe, with curves of the first `features` features of the rows that it learns from if it has some.
    pub fn new(
        recipe: &Recipe,
        scaler: Scaler,
        rows: &Dataset,
        features: usize,
    ) -> Result<Self, Error> {
        let curves = match recipe.decided.curves {
            true => {
                let scaled = scaler.scale_features(rows)?;
                Some(Curves::of(scaled.x().view(), rows.weights(), features)?)
            }
            false => None,
        };
        Ok(Self { scaler, features, curves })
    }

    /// The data set with the inputs in place of the features.
    pub fn scale_features(&self, rows: &Dataset) -> Result<Dataset, Error> {
        let scaled = self.scaler.scale_features(rows)?;
        let Some(curves) = &self.curves else { return Ok(scaled) };
        let mut names = scaled.feature_names().to_vec();
        let offset = names.split_off(self.features);
        for (feature, n) in curves.features() {
            let of = rows.feature_names()[feature].clone();
            names.extend((1..=n).map(|m| format!("{of}, curve {m}")));
        }
        names.extend(offset);
        let x = curves.insert(scaled.x().view(), self.features);
        scaled.with_features(x, names)
    }

    /// The inputs of rows `x` of features.
    pub fn transform(&self, x: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
        let scaled = self.scaler.transform(x)?;
        Ok(match &self.curves {
            None => scaled,
            Some(curves) => curves.insert(scaled.view(), self.features),
        })
    }

    /// The features of rows of inputs.
    pub fn inverse(&self, inputs: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
        let all = self.scaler.columns().len();
        let curves = inputs.ncols() - all;
        let (first, rest) = (self.features, self.features + curves);
        let mut x = Array2::zeros((inputs.nrows(), all));
        x.slice_mut(s![.., ..first]).assign(&inputs.slice(s![.., ..first]));
        x.slice_mut(s![.., first..]).assign(&inputs.slice(s![.., rest..]));
        self.scaler.inverse(x.view())
    }

    /// The columns of the table that inputs belong to, of features that belong to `columns`: the curves of a feature are one
    /// more.
    pub fn columns(&self, columns: &[String]) -> Vec<String> {
        let curves = self.curves.iter().flat_map(Curves::features);
        let of_curve = |(feature, n): (usize, usize)| {
            std::iter::repeat_n(format!("{}, curve", columns[feature]), n)
        };
        columns.iter().cloned().chain(curves.flat_map(of_curve)).collect()
    }
}
