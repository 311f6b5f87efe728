//! Forward and backward passes over whole data sets, and activations beside the standard library.
//!
//! `cargo bench --bench model`. The shapes are those of the peers' gradient benchmark. Prints
//! evaluations per second and GFLOP/s, counted as 6 N P (P weights, biases left out).

use std::hint::black_box;
use std::time::Instant;

use bnn_mcmc::engine::{TILE_ROWS, Tile, TileMut, TileStorage, Tiles};
use bnn_mcmc::model::{Activation, Linear, Mlp, Model};
use bnn_mcmc::rng::ChainRng;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ndarray::Array2;

/// What stands in for the likelihood.
#[derive(Clone, Copy, PartialEq)]
enum Noise {
    /// d_out = y - f.
    Gauss,
    /// Softplus and sigmoid of every logit: the work of a Bernoulli likelihood, and no less than
    /// that of a categorical one.
    Classes,
}

/// One evaluation: f, d_out, and the gradient.
struct Problem<M: Model> {
    model: M,
    x: Tiles,
    y: Tiles,
    w: Vec<f64>,
    grad: Vec<f64>,
    out: TileStorage,
    spare: TileStorage,
    ws: M::Workspace,
    noise: Noise,
}

impl<M: Model> Problem<M> {
    fn new(model: M, rows: usize, noise: Noise) -> Self {
        let mut rng = ChainRng::new(1, 0);
        let mut normals = |columns| Array2::from_shape_simple_fn((rows, columns), || rng.normal());
        let (x, y) = (normals(model.n_inputs()), normals(model.n_outputs()));
        let mut w = vec![0.0; model.layout().dim()];
        rng.fill_normal(&mut w);
        let scale = 1.0 / (model.n_inputs() as f64).sqrt();
        w.iter_mut().for_each(|w| *w *= scale);
        Self {
            x: Tiles::new(x.view()),
            y: Tiles::new(y.view()),
            grad: vec![0.0; w.len()],
            out: TileStorage::for_columns(model.n_outputs()),
            spare: TileStorage::for_columns(model.n_outputs()),
            ws: model.workspace(),
            noise,
            w,
            model,
        }
    }

    fn evaluate(&mut self) {
        self.grad.fill(0.0);
        for (x, y) in self.x.iter().zip(self.y.iter()) {
            let n = self.model.n_outputs() * x.stride();
            let mut out = TileMut::new(&mut self.out[..n], x.rows());
            self.model.forward(&self.w, x, out.reborrow(), &mut self.ws);
            if self.noise == Noise::Classes {
                let spare = &mut self.spare[..n];
                spare.copy_from_slice(out.values());
                Activation::Softplus.apply(spare);
                black_box(spare);
                Activation::Sigmoid.apply(out.values());
            }
            for (out, y) in out.values().iter_mut().zip(y.values()) {
                *out = y - *out;
            }
            out.clear_padding();
            let d_out: Tile = out.as_tile();
            self.model.backward(&self.w, x, d_out, &mut self.grad, &mut self.ws);
        }
        black_box(&self.grad);
    }
}

fn bench_model<M: Model>(c: &mut Criterion, name: &str, model: M, rows: usize, noise: Noise) {
    let weights: usize =
        model.layout().blocks().iter().filter(|b| b.shape.len() == 2).map(|b| b.range.len()).sum();
    let mut problem = Problem::new(model, rows, noise);
    let flops = (6 * rows * weights) as f64;
    let repeats = (2e7 / flops).ceil() as usize;
    let mut times: Vec<f64> = (0..101)
        .map(|_| {
            let start = Instant::now();
            (0..repeats).for_each(|_| problem.evaluate());
            start.elapsed().as_secs_f64() / repeats as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let rate = 1.0 / times[times.len() / 2];
    println!("{name}: {rate:.0} evaluations/s, {:.1} GFLOP/s", rate * flops / 1e9);
    c.bench_function(name, |b| b.iter(|| problem.evaluate()));
}

fn models(c: &mut Criterion) {
    use Activation::{Relu, Sigmoid, Tanh};
    use Noise::{Classes, Gauss};
    bench_model(c, "a 1000 x 8-1", Linear::new(8, 1).unwrap(), 1000, Gauss);
    bench_model(c, "b 351 x 34-1", Linear::new(34, 1).unwrap(), 351, Classes);
    let mlp = |sizes: &[usize], activation| Mlp::new(sizes, activation).unwrap();
    bench_model(c, "c 150 x 4-3-3 sigmoid", mlp(&[4, 3, 3], Sigmoid), 150, Classes);
    bench_model(c, "d 1000 x 4-10-1 tanh", mlp(&[4, 10, 1], Tanh), 1000, Gauss);
    bench_model(c, "e 4177 x 8-16-1 tanh", mlp(&[8, 16, 1], Tanh), 4177, Gauss);
    bench_model(c, "f 351 x 34-50-2 tanh", mlp(&[34, 50, 2], Tanh), 351, Classes);
    bench_model(c, "g 1599 x 11-50-50-1 relu", mlp(&[11, 50, 50, 1], Relu), 1599, Gauss);
    bench_model(c, "h 256 x 784-1200-1200-2 relu", mlp(&[784, 1200, 1200, 2], Relu), 256, Classes);
}

/// Time for 256 elements, four columns of a tile.
fn activations(c: &mut Criterion) {
    let mut group = c.benchmark_group("activation");
    let source: Vec<f64> = (0..4 * TILE_ROWS).map(|i| i as f64 / 32.0 - 4.0).collect();
    let mut x = source.clone();
    group.throughput(Throughput::Elements(x.len() as u64));
    let std = [
        (Activation::Tanh, f64::tanh as fn(f64) -> f64),
        (Activation::Sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
        (Activation::Softplus, |x| x.exp().ln_1p()),
    ];
    for (activation, f) in std {
        group.bench_function(activation.name(), |b| {
            b.iter(|| {
                x.copy_from_slice(&source);
                activation.apply(&mut x);
                black_box(&x);
            })
        });
        group.bench_function(format!("{activation}, std"), |b| {
            b.iter(|| {
                x.iter_mut().zip(&source).for_each(|(x, s)| *x = f(*s));
                black_box(&x);
            })
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_secs(1))
        .sample_size(30);
    targets = models, activations
}
criterion_main!(benches);
