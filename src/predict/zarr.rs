//! Predictions and data beside the draws in a Zarr folder.

use std::path::Path;

use ndarray::{Array2, ArrayView1, ArrayView2};
use serde_json::{Value as Json, json};

use super::predictions::Predictions;
use crate::Error;
use crate::data::{Dataset, Response};
use crate::draws::Draws;
use crate::draws::zarr::{Array, Axis, Folder, Group, Kind, Names, long_name};
use crate::layout::Block;
use crate::likelihood::Likelihood;
use crate::model::Model;
use crate::posterior::Posterior;

impl<M: Model, L: Likelihood> Posterior<M, L> {
    /// Writes the draws to a new Zarr folder, as [`Draws::to_zarr`] does, with their predictions
    /// for the rows of `data`, usually the training data: the groups that ArviZ needs for
    /// comparisons and predictive checks.
    ///
    /// | group | arrays |
    /// | --- | --- |
    /// | `posterior_predictive` | [draws](Predictions::predictive_draws) of the response, `[chain, draw, row]` |
    /// | `log_likelihood` | [log p(y given x, q)](Predictions::log_density) of the response, `[chain, draw, row]` |
    /// | `observed_data` | the response, `[row]` |
    /// | `constant_data` | the features `x`, `[row, feature]` |
    ///
    /// The response is called by its name, such as `class`; of several outputs or categories it is
    /// `y`, with one more axis `response`, which has their names. Classes are whole numbers, the
    /// places of their names in the attribute `class_names`, and counts are whole numbers; -1
    /// stands for a value that could not be drawn, since the outputs are NaN. Everything is in the
    /// units of `data`. In the group `posterior`, axes along which features lie have their names,
    /// and axes of outputs have the names of responses or classes.
    ///
    /// Time and memory are as for [`predict`](Self::predict), whose predictive draws these are.
    ///
    /// ```
    /// use bnn_mcmc::prelude::*;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.zarr");
    /// # let data = Dataset::regression(ndarray::array![[0.0], [1.0]], ndarray::array![[4.0], [7.0]])?;
    /// let priors = Priors::all(Normal::new(0.0, 1.0)?);
    /// let posterior = Posterior::new(Linear::new(1, 1)?, Gaussian::fixed(0.5)?, &data, priors)?;
    /// let draws = Sampler::new(&posterior, Nuts::default()).draws(100).run()?;
    /// posterior.to_zarr(&draws, &data, &path)?;
    /// assert_eq!(Draws::from_zarr(&path)?, draws);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`predict`](Self::predict) and [`Draws::to_zarr`].
    pub fn to_zarr(
        &self,
        draws: &Draws,
        data: &Dataset,
        path: impl AsRef<Path>,
    ) -> Result<(), Error> {
        self.write_zarr(draws, data, &self.predict(draws, data)?, path.as_ref())
    }

    /// Writes draws, `data`, and the `predictions` of its rows, which are in the units of `data`.
    pub(crate) fn write_zarr(
        &self,
        draws: &Draws,
        data: &Dataset,
        predictions: &Predictions,
        path: &Path,
    ) -> Result<(), Error> {
        predictions
            .check_unweighted("a Zarr folder of predictions, whose readers would not use them")?;
        let mut folder = Folder::create(path)?;
        let written = vec![draws.n_draws(); draws.n_chains()];
        let attributes = draws
            .chains(&written)
            .write(&mut folder, &|block, axis| self.axis_names(block, axis))?;

        let response = ResponseArray::new(data);
        let row = Axis::numbered("row", 0, data.rows());
        let size = (&written[..], draws.n_draws());
        let mut group = folder.group_of_draws("posterior_predictive", size, json!({}))?;
        let axes = response.axes(&row);
        axes.iter().try_for_each(|axis| group.coordinate(axis))?;
        let about = || response.attributes.clone();
        group.draws(&response.place, response.kind, &axes, about(), &|chain, draw, bytes| {
            let drawn = predictions.drawn.index_axis(ndarray::Axis(0), chain);
            response.add(drawn.index_axis(ndarray::Axis(0), draw), bytes);
        })?;

        let (_, densities) = predictions.known()?;
        let mut group = folder.group_of_draws("log_likelihood", size, json!({}))?;
        group.coordinate(&row)?;
        let name = long_name(&response.place, &response.name);
        group.draws(&response.place, Kind::Float, &[&row], name, &|chain, draw, bytes| {
            let density = densities.index_axis(ndarray::Axis(0), chain);
            let density: ArrayView1<f64> = density.index_axis_move(ndarray::Axis(0), draw);
            bytes.extend(density.iter().flat_map(|x| x.to_le_bytes()));
        })?;

        let mut group = folder.group("observed_data", json!({}))?;
        axes.iter().try_for_each(|axis| group.coordinate(axis))?;
        let array = Array { attributes: about(), ..Array::whole(response.kind, &axes) };
        group.whole(&response.place, array, &response.observed(data))?;

        write_features(&mut folder.group("constant_data", json!({}))?, data, &row)?;
        folder.finish(attributes)
    }

    /// The names along an axis of a block: of features, responses or classes, or the model's own.
    fn axis_names(&self, block: &Block, axis: usize) -> Option<Vec<String>> {
        let is_one =
            |axes: Vec<(String, usize)>| axes.iter().any(|(b, a)| *b == block.name && *a == axis);
        let mut named = self.model().named_axes().into_iter();
        if let Some((.., names)) = named.find(|(b, a, _)| *b == block.name && *a == axis) {
            return Some(names);
        }
        if is_one(self.model().input_axes()) {
            // An offset has no weights.
            return Some(self.feature_names()[..block.shape[axis]].to_vec());
        }
        if !is_one(self.model().output_axes()) {
            return None;
        }
        Some(match self.class_names() {
            // A single logit for two classes belongs to the second class.
            Some([_, second]) if self.model().n_outputs() == 1 => vec![second.clone()],
            Some(names) => names.to_vec(),
            None if self.response_names().len() == 2 && self.model().n_outputs() == 1 => {
                self.response_names()[..1].to_vec()
            }
            None => self.response_names().to_vec(),
        })
    }
}

/// The form of the response in arrays.
struct ResponseArray {
    name: String,
    /// The name of the array.
    place: String,
    kind: Kind,
    /// The axis of outputs or categories, if there are several.
    columns: Option<Axis>,
    attributes: Json,
}

impl ResponseArray {
    fn new(data: &Dataset) -> Self {
        let names = data.response_names();
        let is_one = names.len() == 1;
        let name = if is_one { names[0].clone() } else { "y".into() };
        let place = Names::new(&["row", "response"]).next(&name);
        let mut attributes = long_name(&place, &name);
        let kind = match data.response() {
            Response::Real(_) | Response::Censored { .. } => Kind::Float,
            Response::Counts(_) => Kind::Integer,
            Response::Classes { names, .. } => {
                attributes["class_names"] = json!(names);
                Kind::Integer
            }
        };
        let columns = (!is_one).then(|| Axis::named("response", names));
        Self { name, place, kind, columns, attributes }
    }

    fn axes<'a>(&'a self, row: &'a Axis) -> Vec<&'a Axis> {
        std::iter::once(row).chain(&self.columns).collect()
    }

    /// Appends responses `[row, column]`.
    fn add(&self, responses: ArrayView2<f64>, bytes: &mut Vec<u8>) {
        for response in responses {
            match self.kind {
                Kind::Integer if response.is_nan() => bytes.extend((-1i64).to_le_bytes()),
                Kind::Integer => bytes.extend((*response as i64).to_le_bytes()),
                _ => bytes.extend(response.to_le_bytes()),
            }
        }
    }

    fn observed(&self, data: &Dataset) -> Vec<u8> {
        let mut bytes = Vec::new();
        match data.response() {
            Response::Real(y) | Response::Counts(y) => self.add(y.view(), &mut bytes),
            Response::Classes { index, .. } => {
                let index = Array2::from_shape_fn((index.len(), 1), |(i, _)| index[i] as f64);
                self.add(index.view(), &mut bytes);
            }
            // Of a number that was not observed, the bound that is finite, the lower one if both are.
            Response::Censored { lower, upper } => {
                let end = |(l, u): (&f64, &f64)| if l.is_finite() { *l } else { *u };
                let ends: Vec<f64> = lower.iter().zip(upper).map(end).collect();
                let ends = Array2::from_shape_fn((ends.len(), 1), |(i, _)| ends[i]);
                self.add(ends.view(), &mut bytes);
            }
        }
        bytes
    }
}

fn write_features(group: &mut Group, data: &Dataset, row: &Axis) -> Result<(), Error> {
    let feature = Axis::named("feature", data.feature_names());
    group.coordinate(row)?;
    group.coordinate(&feature)?;
    let x: Vec<u8> = data.x().iter().flat_map(|x| x.to_le_bytes()).collect();
    group.whole("x", Array::whole(Kind::Float, &[row, &feature]), &x)
}
