//! Models against plain loops and central differences.

use bnn_mcmc::engine::{Tile, TileMut, Tiles, padded};
use bnn_mcmc::layout::Layout;
use bnn_mcmc::model::logistic;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{Descent, DescentRule, Objective, Pass};
use ndarray::Array2;

const ROWS: [usize; 5] = [1, 7, 8, 63, 64];

fn normals(rng: &mut ChainRng, n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n];
    rng.fill_normal(&mut out);
    out
}

/// Random numbers in `rows` rows of `columns` columns, stored as a tile; zero padding.
fn random_tile(rng: &mut ChainRng, rows: usize, columns: usize) -> Vec<f64> {
    let mut values = normals(rng, columns * padded(rows));
    TileMut::new(&mut values, rows).clear_padding();
    values
}

/// f(x; w) in a fresh workspace, as columns of `rows` numbers.
fn outputs<M: Model>(model: &M, w: &[f64], x: &[f64], rows: usize) -> Vec<Vec<f64>> {
    // Padding may hold anything finite.
    let mut out = vec![123.0; model.n_outputs() * padded(rows)];
    let mut ws = model.workspace();
    model.forward(w, Tile::new(x, rows), TileMut::new(&mut out, rows), &mut ws);
    let out = Tile::new(&out, rows);
    (0..model.n_outputs()).map(|k| out.column(k).to_vec()).collect()
}

/// The gradient of sum(d_out * f) added to `start`.
fn gradient<M: Model>(
    model: &M,
    w: &[f64],
    x: &[f64],
    d_out: &[f64],
    rows: usize,
    start: f64,
) -> Vec<f64> {
    let (mut ws, mut out) = (model.workspace(), vec![123.0; d_out.len()]);
    let mut grad = vec![start; w.len()];
    model.forward(w, Tile::new(x, rows), TileMut::new(&mut out, rows), &mut ws);
    model.backward(w, Tile::new(x, rows), Tile::new(d_out, rows), &mut grad, &mut ws);
    model.finish(&mut grad, &mut ws);
    grad
}

/// Compares the gradient with central differences of [`outputs`], in every coordinate but those
/// few where a ReLU has a kink in between.
fn check_gradient<M: Model>(model: &M, what: &str, rows: usize, rng: &mut ChainRng) {
    let x = random_tile(rng, rows, model.n_inputs());
    let d_out = random_tile(rng, rows, model.n_outputs());
    let w = normals(rng, model.layout().dim());
    let weighted_sum = |w: &[f64]| -> f64 {
        let d_out = Tile::new(&d_out, rows);
        let product = |(k, f): (usize, &Vec<f64>)| -> f64 {
            f.iter().zip(d_out.column(k)).map(|(f, d)| f * d).sum()
        };
        outputs(model, w, &x, rows).iter().enumerate().map(product).sum()
    };
    let found = gradient(model, &w, &x, &d_out, rows, 0.0);
    let scale = 1.0 + found.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
    let (h, middle) = (1e-5, weighted_sum(&w));
    let mut kinks = 0;
    for i in 0..w.len() {
        let mut shifted = w.clone();
        shifted[i] = w[i] + h;
        let up = (weighted_sum(&shifted) - middle) / h;
        shifted[i] = w[i] - h;
        let down = (middle - weighted_sum(&shifted)) / h;
        let numeric = (up + down) / 2.0;
        if (up - down).abs() > 0.01 * scale {
            kinks += 1; // between the two a row crosses the kink of a ReLU
            continue;
        }
        let error = (found[i] - numeric).abs() / scale;
        assert!(error < 1e-8, "{what}, {rows} rows, w[{i}]: {} and {numeric}", found[i]);
    }
    assert!(kinks <= if what.contains("relu") { 2 } else { 0 }, "{what}, {rows} rows: {kinks}");
    // `backward` adds to what is there.
    let added = gradient(model, &w, &x, &d_out, rows, 2.5);
    for (added, found) in added.iter().zip(&found) {
        assert!((added - 2.5 - found).abs() < 1e-12 * scale, "{what}, {rows} rows");
    }
}

fn scalar(activation: Activation, z: f64) -> f64 {
    match activation {
        Activation::Identity => z,
        Activation::Sigmoid => 1.0 / (1.0 + (-z).exp()),
        Activation::Tanh => z.tanh(),
        Activation::Relu => z.max(0.0),
        Activation::Softplus => z.exp().ln_1p(),
        Activation::Silu => z / (1.0 + (-z).exp()),
    }
}

/// One row through a network, in plain loops.
fn reference(mlp: &Mlp, w: &[f64], row: &[f64]) -> Vec<f64> {
    let (mut h, mut at) = (row.to_vec(), 0);
    for (l, size) in mlp.sizes().windows(2).enumerate() {
        let (inputs, units) = (size[0], size[1]);
        let last = l + 2 == mlp.sizes().len();
        let activation = if last { mlp.output() } else { mlp.hidden() };
        let unit = |i: usize| {
            let row = &w[at + i * inputs..][..inputs];
            let sum: f64 = row.iter().zip(&h).map(|(w, h)| w * h).sum();
            scalar(activation, sum + w[at + units * inputs + i])
        };
        let next = (0..units).map(unit).collect();
        at += units * (inputs + 1);
        h = next;
    }
    h
}

const SIZES: [&[usize]; 9] = [
    &[3, 1],
    &[5, 4],
    &[1, 1, 1],
    &[4, 10, 1],
    &[4, 3, 3],
    &[6, 13, 2],
    &[2, 5, 7, 1],
    &[3, 9, 4, 3],
    &[2, 3, 8, 5, 2],
];

#[test]
fn outputs_match_plain_loops() {
    let mut rng = ChainRng::new(1, 0);
    for sizes in SIZES {
        for &hidden in Activation::ALL {
            for output in [Activation::Identity, Activation::Sigmoid, Activation::Silu] {
                let mlp = Mlp::new(sizes, hidden).unwrap().output_activation(output);
                for rows in ROWS {
                    let w = normals(&mut rng, mlp.layout().dim());
                    let x = random_tile(&mut rng, rows, sizes[0]);
                    let found = outputs(&mlp, &w, &x, rows);
                    for i in 0..rows {
                        let row: Vec<f64> =
                            (0..sizes[0]).map(|j| Tile::new(&x, rows).column(j)[i]).collect();
                        for (found, expected) in found.iter().zip(reference(&mlp, &w, &row)) {
                            let error = (found[i] - expected).abs() / (1.0 + expected.abs());
                            assert!(error < 1e-12, "{sizes:?} {hidden}-{output}, row {i}: {error}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn network_gradients_match_central_differences() {
    let mut rng = ChainRng::new(2, 0);
    for sizes in SIZES {
        for &hidden in Activation::ALL {
            for output in [Activation::Identity, Activation::Sigmoid, Activation::Silu] {
                let mlp = Mlp::new(sizes, hidden).unwrap().output_activation(output);
                for rows in ROWS {
                    check_gradient(&mlp, &format!("{sizes:?} {hidden}-{output}"), rows, &mut rng);
                }
            }
        }
    }
}

#[test]
fn linear_and_logistic_models_match_a_network_without_hidden_layer() {
    let mut rng = ChainRng::new(3, 0);
    for (model, inputs, k) in [
        (Linear::new(8, 1).unwrap(), 8, 1),
        (Linear::new(3, 5).unwrap(), 3, 5),
        (logistic::binary(34).unwrap(), 34, 1),
        (logistic::multinomial(4, 3).unwrap(), 4, 3),
    ] {
        let mlp = Mlp::new(&[inputs, k], Activation::Tanh).unwrap();
        for rows in ROWS {
            check_gradient(&model, "linear", rows, &mut rng);
            check_gradient(&model.clone().without_bias(), "without bias", rows, &mut rng);
            let x = random_tile(&mut rng, rows, inputs);
            let mut w = normals(&mut rng, model.layout().dim());
            assert_eq!(outputs(&model, &w, &x, rows), outputs(&mlp, &w, &x, rows));
            let plain = model.clone().without_bias();
            w[k * inputs..].fill(0.0);
            let without = outputs(&plain, &w[..k * inputs], &x, rows);
            assert_eq!(outputs(&model, &w, &x, rows), without);
        }
    }
}

#[test]
fn one_workspace_serves_tiles_of_different_lengths() {
    let mut rng = ChainRng::new(4, 0);
    let mlp = Mlp::new(&[3, 6, 5, 2], Activation::Silu).unwrap();
    let w = normals(&mut rng, mlp.layout().dim());
    let mut ws = mlp.workspace();
    for rows in [64, 7, 33, 1, 64] {
        let (x, d_out) = (random_tile(&mut rng, rows, 3), random_tile(&mut rng, rows, 2));
        let (mut out, mut grad) = (vec![0.0; d_out.len()], vec![0.0; w.len()]);
        mlp.forward(&w, Tile::new(&x, rows), TileMut::new(&mut out, rows), &mut ws);
        mlp.backward(&w, Tile::new(&x, rows), Tile::new(&d_out, rows), &mut grad, &mut ws);
        mlp.finish(&mut grad, &mut ws);
        assert_eq!(grad, gradient(&mlp, &w, &x, &d_out, rows, 0.0));
    }
}

#[test]
fn a_weight_that_is_not_a_number_shows_in_the_output() {
    let mut rng = ChainRng::new(5, 0);
    for &hidden in Activation::ALL {
        let mlp = Mlp::new(&[2, 4, 1], hidden).unwrap();
        let mut w = normals(&mut rng, mlp.layout().dim());
        w[3] = f64::NAN;
        let x = random_tile(&mut rng, 5, 2);
        assert!(outputs(&mlp, &w, &x, 5)[0].iter().all(|f| f.is_nan()), "{hidden}");
    }
}

/// A model without a faster way to descend row by row.
struct ByTiles<M>(M);

impl<M: Model> Model for ByTiles<M> {
    type Workspace = M::Workspace;
    fn layout(&self) -> Layout {
        self.0.layout()
    }
    fn n_inputs(&self) -> usize {
        self.0.n_inputs()
    }
    fn n_outputs(&self) -> usize {
        self.0.n_outputs()
    }
    fn workspace(&self) -> M::Workspace {
        self.0.workspace()
    }
    fn begin(&self, w: &[f64], ws: &mut M::Workspace) {
        self.0.begin(w, ws);
    }
    fn forward(&self, w: &[f64], x: Tile, out: TileMut, ws: &mut M::Workspace) {
        self.0.forward(w, x, out, ws);
    }
    fn backward(&self, w: &[f64], x: Tile, d_out: Tile, grad: &mut [f64], ws: &mut M::Workspace) {
        self.0.backward(w, x, d_out, grad, ws);
    }
    fn finish(&self, grad: &mut [f64], ws: &mut M::Workspace) {
        self.0.finish(grad, ws);
    }
}

/// Row by row, a network descends to the same bits with units in lanes as with rows in lanes.
#[test]
fn descents_row_by_row_are_those_of_the_walk_over_tiles() {
    fn check<M: Model + Clone>(model: M, outputs: usize) {
        let mut rng = ChainRng::new(5, 0);
        let x = Array2::from_shape_fn((250, 9), |_| rng.normal());
        let y = Array2::from_shape_fn((250, outputs), |_| rng.normal());
        let data = Dataset::regression(x, y).unwrap();
        let priors = || Priors::all(Normal::new(0.0, 1.0).unwrap());
        let noise = || Gaussian::fixed(1.0).unwrap();
        let fast = Posterior::new(model.clone(), noise(), &data, priors());
        let slow = Posterior::new(ByTiles(model.clone()), noise(), &data, priors());
        let (fast, slow) = (fast.unwrap(), slow.unwrap());
        let q: Vec<f64> = (0..fast.dim()).map(|_| 0.5 * rng.normal()).collect();
        let rule = DescentRule {
            objective: Objective::SquaredError,
            pass: Pass::PerRow,
            learning_rate: 0.01,
            depth: 2,
        };
        let (x, responses) = (Tiles::new(data.x().view()), Tiles::new(data.real().unwrap().view()));
        let (w, mut ws) = (&mut q.clone(), model.workspace());
        assert!(model.descend_rows(w, &x, &responses, 0.01, &mut ws), "the fast way is there");
        let (mut found, mut expected) = (q.clone(), q.clone());
        let mut ws = fast.workspace();
        for _ in 0..2 {
            fast.descend(&rule, &q, &mut found, &mut ws); // the second time with memory that was used
        }
        slow.descend(&rule, &q, &mut expected, &mut slow.workspace());
        assert_eq!(found, expected);
        assert!(found.iter().all(|q| q.is_finite()));
        let moved = found.iter().zip(&q).filter(|(new, old)| new != old).count();
        assert!(2 * moved > q.len());
    }
    for outputs in [1, 3] {
        check(Linear::new(9, outputs).unwrap(), outputs);
        for &activation in Activation::ALL {
            let network = Mlp::new(&[9, 5, 11, outputs], activation).unwrap();
            check(network.clone(), outputs);
            check(network.output_activation(Activation::Sigmoid), outputs);
        }
    }
    check(Linear::new(9, 2).unwrap().without_bias(), 2);
}
