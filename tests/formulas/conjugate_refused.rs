//! What the exact posterior of linear regression refuses: bad arguments, improper posteriors, data that rounding
//! spoils.

use bnn_mcmc::Error;
use bnn_mcmc::testing::{ConjugateRegression, NoiseVariance};
use ndarray::{Array1, Array2};
use shared::{failed, refused, said};

use super::conjugate_reference::{Data, IMPROPER, SAMPLED, correlated, line, wide};

fn of(data: &Data, prior_sd: f64, noise: NoiseVariance) -> Result<(), Error> {
    ConjugateRegression::new(data.0.view(), data.1.view(), prior_sd, noise).map(drop)
}

#[test]
fn bad_arguments_are_refused_by_name() {
    let data = line(6, 0.0, 1.0, 2.0, 1.0);
    for (shape, scale, name) in [
        (2.0, 0.0, "scale"),
        (f64::NAN, 1.0, "shape"),
        (-1.0, 1.0, "shape"),
        (0.0, 1.0, "shape"),
        (1.0, f64::INFINITY, "scale"),
        (1.0, -1.0, "scale"),
    ] {
        let refused = of(&data, 1.0, NoiseVariance::InverseGamma { shape, scale });
        let value = if name == "shape" { shape } else { scale };
        let name = format!("{name} of the inverse-gamma prior");
        refused!(refused, Argument { name: name, value: value });
    }
    for sd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused!(of(&data, sd, SAMPLED), Argument { name: "prior_sd", value: sd });
        let fixed = of(&data, 1.0, NoiseVariance::Fixed(sd));
        refused!(fixed, Argument { name: "noise sd", value: sd });
    }
    for (sd, square) in [(1e-200, 0.0), (1e200, f64::INFINITY)] {
        let name = "square of prior_sd";
        refused!(of(&data, sd, SAMPLED), Argument { name: name, value: square });
        failed!(of(&data, 1.0, NoiseVariance::Fixed(sd)), Argument { name: "noise sd" });
    }
    let (x, y) = data;
    let with = |value: f64| {
        let (mut x, mut y) = (x.clone(), y.clone());
        x[(2, 0)] = value;
        let of_x = of(&(x.clone(), y.clone()), 1.0, SAMPLED);
        x[(2, 0)] = 0.0;
        y[3] = value;
        (of_x, of(&(x, y), 1.0, SAMPLED))
    };
    for value in [f64::NAN, f64::INFINITY] {
        let (of_x, of_y) = with(value);
        refused!(of_x, Argument { value: format!("{value} in row 2, column 0") });
        refused!(of_y, Argument { name: "response", value: value });
    }
    let (what, expected) = ("number of responses", 6);
    let short = (x.clone(), y.slice(ndarray::s![..5]).to_owned());
    refused!(of(&short, 1.0, SAMPLED), Shape { what: what, found: 5, expected: expected });
    let empty = (Array2::zeros((0, 1)), Array1::zeros(0));
    refused!(of(&empty, 1.0, SAMPLED), Shape { what: what, found: 0 });
    let exact = ConjugateRegression::new(x.view(), y.view(), 1.0, SAMPLED).unwrap();
    for beta in [-0.1, 1.1, f64::NAN] {
        refused!(exact.tempered(beta), Argument { name: "beta", value: beta });
    }
}

#[test]
fn improper_posteriors_are_refused() {
    // In words that say that the posterior is improper; the last ones, that the prior is.
    let name = "shape and scale of the inverse-gamma prior";
    // As many weights as rows, or more; y = 0; and y on a line, to rounding.
    let two = line(2, 0.0, 1.0, 2.0, 1.0);
    refused!(of(&two, 1.0, IMPROPER), Argument { name: name, value: 0 });
    refused!(of(&wide(), 1.0, IMPROPER), Argument { name: name, value: 0 });
    let (x, y) = line(20, 0.0, 1.0, 2.0, 1.0);
    refused!(of(&(x, 0.0 * y), 1.0, IMPROPER), Argument { name: name, value: 0 });
    for n in [3, 10, 1000] {
        let (slope, intercept) = (std::f64::consts::PI, std::f64::consts::E);
        let (x, _) = line(n, 1.0 / 3.0, 10.0, 1.0, 0.0);
        let y = x.column(0).mapv(|x| slope * x + intercept * 1e3);
        refused!(of(&(x, y), 1.0, IMPROPER), Argument { name: name, value: 0 });
    }
    let (x, y) = line(20, 0.0, 1.0, 2.0, 1.0);
    let exact = ConjugateRegression::new(x.view(), y.view(), 1.0, IMPROPER).unwrap();
    let evidence = failed!(exact.log_evidence(), Argument { name: name, value: 0 });
    said!(evidence);
    let prior = failed!(exact.tempered(0.0), Argument { name: name, value: 0 });
    said!(prior);
    assert_ne!(evidence.to_string(), prior.to_string());
    let half = exact.tempered(0.5).unwrap();
    assert!(half.covariance()[(0, 0)] > exact.covariance()[(0, 0)] && half.log_evidence().is_err());
}

/// What would lose more than six digits is refused, and what does not matter is not.
#[test]
fn data_that_rounding_spoils_are_refused() {
    let far = line(20, 1e9, 1.0, 0.5, 0.0);
    let error = failed!(of(&far, 100.0, SAMPLED), Argument { name: "design" });
    let Error::Argument { value, .. } = &error else { unreachable!() };
    assert!(value.starts_with("of condition number "), "{error}");
    // Features of very different size, under a prior which holds the others' weights anyway.
    let (mut x, y) = correlated();
    x.column_mut(0).mapv_inplace(|x| 1e-12 * x);
    let tiny = ConjugateRegression::new(x.view(), y.view(), 1.0, SAMPLED).unwrap();
    assert!((tiny.covariance()[(0, 0)] - 1.0).abs() < 1e-6);
    // Noise in the last digits of y.
    let (x, y) = line(20, 0.0, 1.0, 2.0, 1.0);
    let y = y.mapv(|y| y + 1e12);
    failed!(of(&(x.clone(), y), 1e12, SAMPLED), Argument { name: "residuals" });
    // A prior whose tail reaches beyond e^600.
    let vague = NoiseVariance::InverseGamma { shape: 1e-3, scale: 1e-3 };
    let (x, y) = line(20, 0.0, 1.0, 2.0, 1.0);
    let exact = ConjugateRegression::new(x.view(), y.view(), 1.0, vague).unwrap();
    for beta in [0.0, 1e-300] {
        refused!(exact.tempered(beta), Argument { name: "noise sd" });
    }
}
