//! Forward and backward passes allocate nothing once the workspace is there.

use bnn_mcmc::engine::{Tile, TileMut, padded};
use bnn_mcmc::model::{Activation, Linear, Mlp, Model};
use bnn_mcmc::prelude::*;
use ndarray::Array2;

use crate::allocator::{allocations_of_thread as allocations, alone};

fn check<M: Model>(model: &M, what: &str) {
    for rows in [1, 40, 64] {
        let w = vec![0.1; model.layout().dim()];
        let x = vec![0.5; model.n_inputs() * padded(rows)];
        let d_out = vec![0.5; model.n_outputs() * padded(rows)];
        let (mut out, mut grad) = (d_out.clone(), w.clone());
        let mut ws = model.workspace();
        let mut pass = || {
            model.begin(&w, &mut ws);
            model.forward(&w, Tile::new(&x, rows), TileMut::new(&mut out, rows), &mut ws);
            model.backward(&w, Tile::new(&x, rows), Tile::new(&d_out, rows), &mut grad, &mut ws);
            model.finish(&mut grad, &mut ws);
        };
        // Every thread keeps a buffer for the products of wide layers, which the first of them makes.
        if what.starts_with("wide") {
            pass();
        }
        let count = allocations(pass);
        assert_eq!(count, 0, "{what}, {rows} rows");
    }
}

#[test]
fn passes_allocate_nothing() {
    alone(|| {
        check(&Linear::new(34, 2).unwrap(), "linear");
        for &activation in Activation::ALL {
            let mlp = Mlp::new(&[5, 9, 30, 2], activation).unwrap().output_activation(activation);
            check(&mlp, activation.name());
        }
        check(&Mlp::new(&[300, 99, 99, 2], Activation::Relu).unwrap(), "just narrow");
        check(&Mlp::new(&[300, 99, 99, 2], Activation::Relu).unwrap().in_f32(), "just narrow, f32");
        check(&Mlp::new(&[300, 256, 256, 2], Activation::Relu).unwrap(), "wide");
        check(&Mlp::new(&[300, 256, 256, 2], Activation::Relu).unwrap().in_f32(), "wide, f32");
    });
}

#[test]
fn gradients_of_posteriors_allocate_nothing_under_any_likelihood() {
    alone(|| {
        fn check<L: Likelihood>(likelihood: L, outputs: usize, data: &Dataset) {
            let mut priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
            for block in likelihood.layout().blocks() {
                priors = priors.with(&block.name, Normal::new(0.0, 1.0).unwrap());
            }
            let model = Mlp::new(&[2, 5, outputs], Activation::Tanh).unwrap();
            let posterior = Posterior::new(model, likelihood, data, priors).unwrap();
            let (q, mut ws) = (vec![0.3; posterior.dim()], posterior.workspace());
            let mut grad = q.clone();
            let count = allocations(|| {
                posterior.log_density_grad(&q, &mut grad, &mut ws);
                posterior.log_density(&q, &mut ws);
            });
            assert_eq!(count, 0, "{:?}", posterior.layout().block_names());
        }
        let x = Array2::from_shape_fn((70, 2), |(i, j)| ((3 * i + 5 * j) as f64).sin());
        let y = Array2::from_shape_fn((70, 2), |(i, j)| ((i + j) % 5) as f64);
        let first = y.column(0).to_owned();
        let real = Dataset::regression(x.clone(), y.clone()).unwrap();
        check(Gaussian::sampled(), 2, &real);
        check(HeteroscedasticGaussian, 4, &real);
        check(StudentTNoise::sampled(), 2, &real);
        let shares = Dataset::regression(x.clone(), y.mapv(|y| (y + 0.5) / 5.0)).unwrap();
        check(Beta, 2, &shares);
        let classes = first.iter().map(|y| *y as usize).collect();
        let classes =
            Dataset::classification(x.clone(), classes, ["a", "b", "c", "d", "e"]).unwrap();
        check(Categorical, 5, &classes);
        check(Ordinal::new(5).unwrap(), 1, &classes);
        let plain = Dataset::counts(x.clone(), first).unwrap();
        check(Poisson, 1, &plain);
        check(NegativeBinomial::sampled(), 1, &plain);
        check(NegativeBinomial::fixed(2.0).unwrap(), 1, &plain);
        check(ZeroInflated::poisson(), 1, &plain);
        check(ZeroInflated::negative_binomial(), 1, &plain);
        check(Hurdle::poisson(), 1, &plain);
        check(Hurdle::negative_binomial(), 1, &plain);
        let categories = Dataset::counts(x, y + 1.0).unwrap();
        check(Binomial, 1, &categories);
        check(Multinomial, 2, &categories);
    });
}
