//! Predictions against one feature, with intervals.

use bnn_mcmc::Error;
use bnn_mcmc::data::Dataset;

use super::Method;
use super::bands::bands;
use super::curve::Curve;
use crate::figure::Figure;

/// Predictions against one feature, counted from 0, with intervals of this `level`: one panel for
/// each method, on the same axes. `data` are the rows that were predicted.
///
/// Rows that are neighbours in this feature differ in others. So the mean and the ends of the
/// intervals are smoothed, and beside them, if they are known, the observations: a marginal model
/// plot (Cook and Weisberg 1997, doi:10.1080/01621459.1997.10474002), whose two curves agree if the
/// model is right. The smoother is the local linear regression of LOWESS (Cleveland 1979,
/// doi:10.1080/01621459.1979.10481038) with tricube weights on the nearest half of the rows. With a
/// single feature there are no other features to smooth over.
///
/// # Errors
/// No such feature, and the errors of [`along`](super::along()).
pub fn against_feature(
    methods: &[Method],
    data: &Dataset,
    feature: usize,
    column: usize,
    level: f64,
) -> Result<Figure, Error> {
    let Some(name) = data.feature_names().get(feature) else {
        let allowed = format!("less than {}", data.n_features());
        return Err(Error::argument("feature", feature, allowed));
    };
    let x = data.x().column(feature).to_vec();
    let curve = if data.n_features() == 1 { Curve::grouped(&x) } else { Curve::smooth(&x) };
    let figure = Figure::new("predictions-against-feature", format!("Predictions by {name}"), "");
    bands(figure, methods, (&x, name), curve, column, level)
}
