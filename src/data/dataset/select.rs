//! Some of the rows, features or classes of a data set, in any order.

use std::borrow::Cow;
use std::collections::HashMap;

use ndarray::{ArrayView1, Axis, concatenate};

use super::{Dataset, Response, check_names, check_total};
use crate::Error;

impl Dataset {
    /// Some features, or all of them in another order, with the same response.
    ///
    /// ```
    /// use bnn_mcmc::data::Dataset;
    /// let data = Dataset::regression(ndarray::array![[1.0, 2.0, 3.0]], ndarray::array![0.5])?
    ///     .with_feature_names(["length", "width", "height"])?;
    /// let two = data.select_features(["height", "length"])?;
    /// assert_eq!(two.x(), ndarray::array![[3.0, 1.0]]);
    /// assert_eq!(two.feature_names(), ["height", "length"]);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no name, a name occurs twice or no feature has it.
    pub fn select_features<S: Into<String>>(
        &self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Self, Error> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let places = places_of(&self.feature_names);
        let place = |name: &String| {
            places.get(&name[..]).copied().ok_or_else(|| Error::UnknownName {
                what: "feature".into(),
                name: name.clone(),
                known: self.feature_names.clone(),
            })
        };
        let columns = names.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let x = self.x.select(Axis(1), &columns);
        let data = Self::checked(x, self.response.clone(), names, self.response_names.clone())?;
        Ok(Self { weights: self.weights.clone(), ..data })
    }

    /// The given rows, counted from 0, in the given order; a row may occur more than once. The
    /// names of all classes are kept.
    ///
    /// # Errors
    /// If `rows` is empty or names a row that does not exist, or the [weights](Self::with_weights) of all of
    /// them are 0.
    pub fn select(&self, rows: &[usize]) -> Result<Self, Error> {
        if rows.is_empty() {
            return Err(Error::argument("rows", "empty", "at least one row"));
        }
        if let Some(row) = rows.iter().find(|row| **row >= self.rows()) {
            return Err(Error::argument("rows", row, format!("0 to {}", self.rows() - 1)));
        }
        let data = self.rows_of(rows);
        if let Some(w) = &data.weights {
            check_total(w.sum())?;
        }
        Ok(data)
    }

    /// The given rows, which exist.
    pub(crate) fn rows_of(&self, rows: &[usize]) -> Self {
        Self {
            x: self.x.select(Axis(0), rows),
            response: self.response.select(rows),
            feature_names: self.feature_names.clone(),
            response_names: self.response_names.clone(),
            weights: self.weights.as_ref().map(|w| w.select(Axis(0), rows)),
        }
    }

    /// The first `n` rows, at least 1 and at most all.
    pub(crate) fn first(&self, n: usize) -> Cow<'_, Self> {
        match n < self.rows() {
            true => Cow::Owned(self.rows_of(&(0..n).collect::<Vec<usize>>())),
            false => Cow::Borrowed(self),
        }
    }

    /// These rows, then `more` of them.
    ///
    /// # Errors
    /// Other names of features, responses or classes, another kind of response, weights in one of them alone, weights whose sum is too
    /// large.
    pub fn with_rows(&self, more: &Self) -> Result<Self, Error> {
        let names = |all: &[String]| all.join(", ");
        for (what, found, expected) in [
            ("names of the features", &more.feature_names, &self.feature_names),
            ("names of the responses", &more.response_names, &self.response_names),
        ] {
            if found != expected {
                return Err(Error::shape(what, names(found), names(expected)));
            }
        }
        let has = |data: &Self| if data.weights.is_some() { "some" } else { "none" };
        if has(more) != has(self) {
            return Err(Error::shape("weights of rows", has(more), has(self)));
        }
        let response = self.response.followed_by(&more.response)?;
        let both = |a: ArrayView1<f64>, b: ArrayView1<f64>| concatenate![Axis(0), a, b];
        let weights = self.weights().zip(more.weights()).map(|(a, b)| both(a, b));
        if let Some(w) = &weights {
            check_total(w.sum())?;
        }
        Ok(Self {
            x: concatenate![Axis(0), self.x, more.x],
            response,
            feature_names: self.feature_names.clone(),
            response_names: self.response_names.clone(),
            weights,
        })
    }

    /// The rows of some classes, which are numbered anew in the given order. The rows keep theirs.
    ///
    /// ```
    /// use bnn_mcmc::data::Dataset;
    /// let x = ndarray::array![[0.0], [1.0], [2.0], [3.0]];
    /// let data = Dataset::classification(x, vec![2, 0, 1, 0], ["moth", "bee", "fly"])?;
    /// let two = data.select_classes(["fly", "moth"])?;
    /// assert_eq!(two.response().class_names().unwrap(), ["fly", "moth"]);
    /// assert_eq!(two.classes()?, [0, 1, 1]);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the response is not classes, there are fewer than two names, a name occurs twice or no
    /// class has it, or a class has no rows.
    pub fn select_classes<S: Into<String>>(
        &self,
        classes: impl IntoIterator<Item = S>,
    ) -> Result<Self, Error> {
        let Response::Classes { index, names } = &self.response else {
            return Err(self.wrong_kind("classes"));
        };
        let chosen: Vec<String> = classes.into_iter().map(Into::into).collect();
        let sizes = self.response.class_sizes().unwrap_or_default();
        let places = class_places("class", names, &sizes, &chosen)?;
        let rows: Vec<usize> = (0..self.rows()).filter(|i| places[index[*i]].is_some()).collect();
        let mut data = self.select(&rows)?;
        let index = rows.iter().filter_map(|i| places[index[*i]]).collect();
        data.response = Response::Classes { index, names: chosen };
        Ok(data)
    }
}

/// The place of each name.
fn places_of(names: &[String]) -> HashMap<&str, usize> {
    names.iter().enumerate().map(|(place, name)| (&name[..], place)).collect()
}

/// The place of each class among the `chosen` ones, if it is one of them. `what` names the classes
/// in errors; `sizes` are their rows.
pub(in crate::data) fn class_places(
    what: &str,
    names: &[String],
    sizes: &[usize],
    chosen: &[String],
) -> Result<Vec<Option<usize>>, Error> {
    if chosen.len() < 2 {
        return Err(Error::shape("number of classes to select", chosen.len(), "at least 2"));
    }
    check_names("classes to select", chosen, chosen.len())?;
    let (mut places, known) = (vec![None; names.len()], places_of(names));
    for (place, name) in chosen.iter().enumerate() {
        let Some(&class) = known.get(&name[..]) else {
            let (what, name, known) = (what.into(), name.clone(), names.to_vec());
            return Err(Error::UnknownName { what, name, known });
        };
        if sizes[class] == 0 {
            return Err(Error::shape(format!("rows of {what} `{name}`"), 0, "at least 1"));
        }
        places[class] = Some(place);
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::checks::fails;
    use ndarray::array;

    fn message(result: Result<Dataset, Error>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn classes_are_selected_and_numbered_anew() {
        let x = array![[0.0], [1.0], [2.0], [3.0], [4.0]];
        let data = Dataset::classification(x.clone(), vec![2, 0, 1, 0, 2], ["a", "b", "c", "none"])
            .and_then(|data| data.with_response_names(["kind"]))
            .unwrap();
        let two = data.select_classes(["c", "a"]).unwrap();
        assert_eq!(two.x().column(0).to_vec(), [0.0, 1.0, 3.0, 4.0]);
        assert_eq!(two.classes().unwrap(), [0, 1, 1, 0]);
        assert_eq!(two.response().class_names().unwrap(), ["c", "a"]);
        assert_eq!(two.response_names(), ["kind"]);
        // All classes in another order, and back.
        let turned = data.select_classes(["b", "c", "a"]).unwrap();
        assert_eq!(turned.classes().unwrap(), [1, 2, 0, 2, 1]);
        let back = turned.select_classes(vec!["a".to_string(), "b".into(), "c".into()]).unwrap();
        assert_eq!(back.classes().unwrap(), data.classes().unwrap());

        let error = |chosen: &[&str]| message(data.select_classes(chosen.to_vec()));
        assert_eq!(
            error(&["a", "d"]),
            "there is no class named `d`; there are: `a`, `b`, `c`, `none`"
        );
        assert_eq!(error(&["a", "none"]), "rows of class `none`: found 0, expected at least 1");
        assert_eq!(error(&["a"]), "number of classes to select: found 1, expected at least 2");
        assert_eq!(
            error(&["a", "b", "a"]),
            "`classes to select` is `a` twice, but must be all different"
        );
        let real = Dataset::regression(x, array![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        fails!(real.select_classes(["a", "b"]), Argument { value: "of the kind real numbers" });
    }

    #[test]
    fn features_are_selected_by_name() {
        let data = Dataset::regression(array![[1.0, 2.0], [3.0, 4.0]], array![5.0, 6.0]).unwrap();
        let turned = data.select_features(["x2", "x1"]).unwrap();
        assert_eq!(turned.x(), array![[2.0, 1.0], [4.0, 3.0]]);
        assert_eq!(turned.response(), data.response());
        assert_eq!(turned.select_features(data.feature_names()).unwrap(), data);
        let error = |names: &[&str]| message(data.select_features(names.to_vec()));
        assert_eq!(error(&["x3"]), "there is no feature named `x3`; there are: `x1`, `x2`");
        fails!(data.select_features(["x1", "x1"]), Argument { value: "`x1` twice" });
        let none = data.select_features([""; 0]);
        fails!(none, Shape { what: "features of the data", found: 0 });
    }

    #[test]
    fn rows_are_selected_with_their_response_and_all_class_names() {
        let data =
            Dataset::classification(array![[1.0], [2.0], [3.0]], vec![0, 1, 2], ["a", "b", "c"])
                .unwrap()
                .select(&[2, 2, 0])
                .unwrap();
        assert_eq!(data.x().column(0).to_vec(), [3.0, 3.0, 1.0]);
        assert_eq!(data.classes().unwrap(), [2, 2, 0]);
        assert_eq!(data.response().class_names().unwrap().len(), 3);
    }
}
