//! Transforms of a response against numbers from elsewhere (tests/golden/transforms.py), differences and integrals.

use bnn_mcmc::data::{PowerTransform, Standardise, Transform};
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, array};
use serde::Deserialize;
use shared::refused;

#[derive(Deserialize)]
struct Golden {
    values: Vec<Values>,
    profiles: Vec<Profile>,
    moments: Vec<OfInverse>,
}

#[derive(Deserialize)]
struct Values {
    family: Transform,
    lambda: f64,
    y: Vec<f64>,
    z: Vec<f64>,
}

#[derive(Deserialize)]
struct Profile {
    family: Transform,
    x: Option<Vec<Vec<f64>>>,
    y: Vec<f64>,
    unit: Option<f64>,
    lambda: f64,
}

#[derive(Deserialize)]
struct OfInverse {
    family: Transform,
    lambda: f64,
    mean: f64,
    sd: f64,
    of_y: [f64; 2],
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../golden/transforms.json")).unwrap()
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    let error = (found - expected).abs();
    assert!(error <= tolerance * (1.0 + expected.abs()), "{found}, not {expected}");
}

/// Transforms of both families at the ends, the middle and in between, with a unit.
fn all(unit: f64) -> Vec<PowerTransform> {
    let of = |transform| move |lambda| PowerTransform { transform, lambda, unit };
    let lambdas = [0.0, 0.001, 0.4, 1.0, 1.7, 2.0];
    let box_cox = lambdas.map(of(Transform::BoxCox));
    box_cox.into_iter().chain(lambdas.map(of(Transform::YeoJohnson))).collect()
}

#[test]
fn values_are_those_of_scipy_and_come_back() {
    for Values { family, lambda, y, z } in golden().values {
        let power = PowerTransform { transform: family, lambda, unit: 1.0 };
        for (y, z) in y.into_iter().zip(z) {
            close(power.forward(y), z, 1e-13);
            // Digits of small y in sums with 1 are gone.
            close(power.inverse(power.forward(y)), y, 1e-10);
        }
    }
    // Beyond the range of Box-Cox, and where there is no transform.
    let root = PowerTransform { transform: Transform::BoxCox, lambda: 0.5, unit: 3.0 };
    assert_eq!([root.inverse(-2.0), root.inverse(-1e300)], [0.0; 2]);
    assert!(root.inverse(-1.999) > 0.0 && root.inverse(f64::NAN).is_nan());
    assert!(root.forward(0.0).is_nan() && root.log_derivative(-1.0).is_nan());
    for power in all(2.0) {
        assert!(power.inverse(f64::NAN).is_nan());
        assert!(power.moments_of_inverse(f64::NAN, 1.0)[0].is_nan());
    }
}

#[test]
fn log_derivatives_are_those_of_differences() {
    for power in all(2.5) {
        let own = [-30.0, -1.2, -0.01, 0.01, 0.8, 3.0, 700.0];
        for y in own.into_iter().filter(|y| *y > 0.0 || power.transform == Transform::YeoJohnson) {
            let h = 1e-5 * y;
            let slope = (power.forward(y + h) - power.forward(y - h)) / (2.0 * h);
            close(power.log_derivative(y), slope.ln(), 1e-7);
        }
    }
}

/// A normal density of g(y) is a density of y, of which Box-Cox leaves a part at 0.
#[test]
fn densities_of_the_response_integrate_to_one() {
    for power in all(1.5) {
        let (mean, sd) = (0.3, 0.6);
        let is_two_sided = power.transform == Transform::YeoJohnson;
        let density = |y: f64| {
            let z = (power.forward(y) - mean) / sd;
            (-0.5 * z * z + power.log_derivative(y)).exp() / (sd * std::f64::consts::TAU.sqrt())
        };
        // y = sinh(v) or e^v, equidistant in v.
        let h = 0.002;
        let at = |v: f64| match is_two_sided {
            true => density(v.sinh()) * v.cosh(),
            false => density(v.exp()) * v.exp(),
        };
        let sum: f64 = (-12_000..=12_000).map(|i| at(f64::from(i) * h) * h).sum();
        let below = match (is_two_sided, power.lambda) {
            (true, _) | (_, 0.0) => 0.0,
            (false, lambda) => {
                0.5 * statrs::function::erf::erfc(
                    (mean + 1.0 / lambda) / (sd * std::f64::consts::SQRT_2),
                )
            }
        };
        close(sum, 1.0 - below, 1e-6);
    }
}

#[test]
fn moments_are_those_of_integrals() {
    for OfInverse { family, lambda, mean, sd, of_y } in golden().moments {
        for unit in [1.0, 40.0] {
            let power = PowerTransform { transform: family, lambda, unit };
            let [first, second] = power.moments_of_inverse(mean, sd);
            let spread = of_y[1].sqrt();
            // Box-Cox with lambda above 1 has an inverse that is infinitely steep at its end.
            let is_steep = family == Transform::BoxCox && lambda > 1.0;
            let tolerance = if is_steep { 2e-5 } else { 1e-7 };
            let errors = [first / unit - of_y[0], second / unit / unit / of_y[1] - 1.0];
            println!("{family} {lambda}: {errors:?}");
            assert!(errors[0].abs() < tolerance * spread, "{first} {of_y:?}");
            assert!(errors[1].abs() < 10.0 * tolerance, "{second} {of_y:?}");
        }
    }
    let power = all(2.0)[2];
    assert_eq!(power.moments_of_inverse(0.5, 0.0), [power.inverse(0.5), 0.0]);
}

/// Without features by scipy's own search, with features by numpy's least squares.
#[test]
fn lambda_is_that_of_scipy() {
    for Profile { family, x, y, unit, lambda } in golden().profiles {
        let standardise = Standardise::new().after(family);
        let fit = |y: Array1<f64>| {
            let scaler = match &x {
                None => standardise.fit(y.insert_axis(ndarray::Axis(1)).view()),
                Some(x) => {
                    let x = Array2::from_shape_fn((x.len(), 2), |(i, j)| x[i][j]);
                    standardise.fit_response(&Dataset::regression(x, y).unwrap())
                }
            };
            scaler.unwrap().columns()[0].transform.unwrap()
        };
        let y = Array1::from(y);
        let found = fit(y.clone());
        // Below 0, where predictions would be infinite, the end of the range is best.
        assert!((found.lambda - lambda.max(0.0)).abs() < 0.000_51, "{family}: {found}, {lambda}");
        let mean_log = y.mapv(|y: f64| y.ln()).mean().unwrap();
        close(found.unit, unit.unwrap_or(mean_log.exp()), 1e-12);
        // The unit of the table does not matter.
        let other = fit(&y * 1e6);
        assert_eq!(other.lambda, found.lambda);
        close(other.forward(1e6 * y[7]), found.forward(y[7]), 1e-12);
    }
}

/// Where there are too few rows for a line, and where a line leaves nothing over.
#[test]
fn lambda_without_a_line_and_on_one() {
    let lambda = |x: &Array2<f64>, y: &Array1<f64>| {
        let data = Dataset::regression(x.clone(), y.clone()).unwrap();
        let scaler = Standardise::new().after(Transform::BoxCox).fit_response(&data).unwrap();
        scaler.columns()[0].transform.unwrap().lambda
    };
    let y = Array1::from_shape_fn(20, |i| (0.3 * (i as f64).sin() + 0.1 * i as f64 + 1.0).powi(3));
    let many = Array2::from_shape_fn((20, 30), |(i, j)| ((i * j + i) as f64).sin());
    let alone =
        Standardise::new().after(Transform::BoxCox).fit(y.view().insert_axis(ndarray::Axis(1)));
    assert_eq!(lambda(&many, &y), alone.unwrap().columns()[0].transform.unwrap().lambda);
    // The cube of a line, also with features that repeat each other, are constant, or in odd units.
    let x = Array1::from_shape_fn(20, |i| i as f64);
    let cube = x.mapv(|x| (0.2 * x + 1.0).powi(3));
    let features = ndarray::stack![
        ndarray::Axis(1),
        x,
        x.mapv(|x| 1e9 * x - 3e4),
        x.mapv(|_| 5.0),
        x.mapv(|x| 1e-12 * (3.0 * x).sin())
    ];
    assert!((lambda(&features, &cube) - 1.0 / 3.0).abs() < 0.001);
}

#[test]
fn numbers_that_a_transform_is_not_of_are_refused_by_place() {
    let y = array![[2.0, 1.0], [3.0, -4.5], [5.0, 0.0]];
    let data = Dataset::regression(Array2::ones((3, 1)), y.clone()).unwrap();
    let data = data.with_response_names(["mass", "loss"]).unwrap();
    for (transform, name) in [(Transform::Log, "the logarithm"), (Transform::BoxCox, "Box-Cox")] {
        let standardise = Standardise::new().after(transform);
        let problem = format!("-4.5 cannot be transformed by {name}, which takes numbers above 0");
        refused!(
            standardise.fit_response(&data),
            Cell { row: "row 2", column: "loss", problem: problem }
        );
        let scaler = standardise.fit(array![[1.0], [2.0]].view()).unwrap();
        let problem = format!("0 cannot be transformed by {name}, which takes numbers above 0");
        let new = array![[1.0], [0.0]];
        refused!(
            scaler.transform(new.view()),
            Cell { row: "row 2", column: "#1", problem: problem }
        );
        assert!(scaler.transform(array![[f64::NAN]].view()).is_err());
        let refusal = scaler.inverse_sd(new.view());
        refused!(refusal, Argument { name: "scaling" });
    }
    let scaler = Standardise::new().after(Transform::YeoJohnson).fit_response(&data).unwrap();
    let back = scaler.inverse(scaler.transform(y.view()).unwrap().view()).unwrap();
    back.iter().zip(&y).for_each(|(back, y)| close(*back, *y, 1e-12));
    // A constant column has no transform to learn.
    let flat = array![[2.0], [2.0]];
    let fitted = Standardise::new().after(Transform::Log).fit(flat.view());
    refused!(fitted, Table { problem: "constant (2) over all 2 rows" });
    let allowed = Standardise::new().allow_constant().after(Transform::Log).fit(flat.view());
    assert_eq!(allowed.unwrap().transform(flat.view()).unwrap(), array![[0.0], [0.0]]);
    // What was stored is read, and what was stored before there were transforms, too.
    let text = serde_json::to_string(&scaler).unwrap();
    assert_eq!(serde_json::from_str::<bnn_mcmc::data::Scaler>(&text).unwrap(), scaler);
    let plain = Standardise::new().fit(y.view()).unwrap();
    assert!(!serde_json::to_string(&plain).unwrap().contains("transform"));
}
