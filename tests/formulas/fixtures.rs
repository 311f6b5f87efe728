//! Data and priors of every kind.

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use ndarray::Array2;

/// `rows` of 3 features, with a response of each kind; counts are from 1 to `most`.
pub fn data_sets(rows: usize, most: usize) -> Vec<Dataset> {
    let mut rng = ChainRng::new(21, 0);
    let x = Array2::from_shape_fn((rows, 3), |_| rng.normal());
    let classes = |k: usize| {
        let names: Vec<String> = (0..k).map(|i| format!("class {i}")).collect();
        let index = (0..rows).map(|i| (i * 7 + i / 5) % k).collect();
        Dataset::classification(x.clone(), index, names).unwrap()
    };
    let counts = |k| Array2::from_shape_fn((rows, k), |(i, j)| ((i * 3 + j * 5) % most + 1) as f64);
    vec![
        Dataset::regression(x.clone(), Array2::from_shape_fn((rows, 1), |_| rng.normal())).unwrap(),
        Dataset::regression(x.clone(), Array2::from_shape_fn((rows, 2), |_| rng.normal())).unwrap(),
        classes(2),
        classes(3),
        Dataset::counts(x.clone(), counts(2)).unwrap(),
        Dataset::counts(x.clone(), counts(3)).unwrap(),
        Dataset::counts(x.clone(), counts(1)).unwrap(),
    ]
}

/// `own` are the likelihood's own parameters.
pub fn priors(own: &Layout) -> Vec<Priors> {
    let noise = |priors: Priors, improper: bool| {
        let (shape, scale) = if improper { (0.0, 0.0) } else { (2.0, 0.5) };
        own.blocks().iter().fold(priors, |priors, block| {
            priors.with(&block.name, LogInverseGamma::new(shape, scale).unwrap())
        })
    };
    vec![
        noise(Priors::all(Normal::new(0.3, 0.8).unwrap()), false),
        noise(Priors::all(Uniform::new(-9.0, 9.0).unwrap()), true),
        noise(Priors::all(LogInverseGamma::new(1.5, 0.7).unwrap()), false),
        noise(Priors::all(StudentT::new(3.0, 0.2, 0.6).unwrap()), false),
        // Several blocks share one scale; the kink of the Laplace prior is never met.
        noise(
            Priors::all(Laplace::new(7.0, 0.7).unwrap()).hierarchical(
                "w*",
                "log_variance",
                LogInverseGamma::new(2.0, 1.0).unwrap(),
            ),
            false,
        ),
    ]
}

/// The inverse of a positive definite matrix and the log of its determinant, by elimination.
pub fn inverse(a: &Array2<f64>) -> (Array2<f64>, f64) {
    let n = a.nrows();
    let (mut a, mut inverse, mut log_det) = (a.clone(), Array2::eye(n), 0.0);
    for i in 0..n {
        let pivot = a[[i, i]];
        log_det += pivot.ln();
        for m in [&mut a, &mut inverse] {
            m.row_mut(i).mapv_inplace(|x| x / pivot);
        }
        for k in (0..n).filter(|k| *k != i) {
            let factor = a[[k, i]];
            for m in [&mut a, &mut inverse] {
                let row = m.row(i).to_owned();
                m.row_mut(k).scaled_add(-factor, &row);
            }
        }
    }
    (inverse, log_det)
}
