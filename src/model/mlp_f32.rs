//! Multilayer perceptrons that compute in f32, for wide layers.

use super::{Activation, Mlp, Model};
use crate::engine::wide_product;
use crate::engine::{Tile, TileMut};
use crate::layout::Layout;

/// Rows of a tile.
const ROWS: usize = 512;

/// A multilayer perceptron that computes in f32.
///
/// The function, its derivative and the layout of w are those of [`Mlp`](super::Mlp); what differs is
/// the arithmetic:
///
/// - w, the inputs and d_out are rounded to f32, once for each tile; f and the gradient are f32 numbers,
///   handed on as f64. q, the log likelihood, the log prior and every sum over tiles stay in f64.
/// - Tiles have up to 512 rows, so that rounding 2.4 million weights is a small part of the work on one.
/// - The products of the layers are faer's: near the processor's peak from a hundred units on, and
///   slower than [`Mlp`]'s own where layers are narrow. faer takes memory for them at every call.
///
/// Memory: 8 bytes for each weight, 4 (D + 2 sum_l H_l + 2 max_l H_l) bytes for each row of a tile.
///
/// **Error** against [`Mlp`], measured (`cargo test --release f32_error_table -- --ignored --nocapture`;
/// two classes, 1,000 rows of N(0, 1) inputs, weights of [`WeightInit::HeNormal`](super::WeightInit)):
///
/// | network | log likelihood, per row | gradient, relative | probabilities, the largest |
/// | --- | --- | --- | --- |
/// | 64-100-2 ReLU | 7.0e-9 | 1.9e-7 | 2.8e-7 |
/// | 64-100-2 tanh | 1.3e-10 | 3.0e-7 | 2.8e-7 |
/// | 784-300-2 ReLU | 1.0e-8 | 1.7e-7 | 4.4e-7 |
/// | 784-300-2 tanh | 1.0e-8 | 4.7e-7 | 4.6e-7 |
/// | 784-1200-1200-2 ReLU | 5.4e-9 | 6.3e-7 | 9.9e-7 |
/// | 784-1200-1200-2 tanh | 4.4e-9 | 6.1e-7 | 5.9e-7 |
/// | 64-100-100-2 ReLU, weights N(0, 0.2^2) | 5.0e-9 | 1.5e-7 | 8.6e-7 |
/// | 64-100-100-2 ReLU, weights N(0, 1) | 1.0e-5 | 4.5e-7 | 4.5e-5 |
/// | 64-100-100-2 ReLU, weights N(0, 20) | 9.3e-4 | 2.0e-7 | 1.5e-5 |
///
/// Errors are relative to the outputs: about 1e-7 of a logit. With weights of the size at which networks are
/// started the density that is sampled is another by a factor of exp(1e-8 N), which no test or conclusion could
/// notice up to millions of rows; under wide priors, which make logits of thousands, by one that a Metropolis test may
/// notice (a thousandth of a nat per row in the last line). What always suffers are differences of nearby log
/// densities, such as numerical gradients: check those on the [`Mlp`]. Weights beyond 3e38 are infinite. A
/// checkpoint may be refused on another kind of processor, since densities are compared to 1e-10.
///
/// When not to use it: for narrow networks (no gain below about 100 units), and where second
/// derivatives are needed, which it has not.
///
/// ```
/// use bnn_mcmc::model::{Activation, Mlp, Model};
/// let network = Mlp::new(&[784, 1200, 1200, 2], Activation::Relu)?.in_f32();
/// assert_eq!(network.layout().dim(), 2_385_602);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MlpF32 {
    mlp: Mlp,
}

impl Mlp {
    /// The same network, computing in f32. See [`MlpF32`](super::MlpF32).
    pub fn in_f32(self) -> MlpF32 {
        MlpF32 { mlp: self }
    }
}

impl MlpF32 {
    /// The same network, computing in f64.
    pub fn mlp(&self) -> &Mlp {
        &self.mlp
    }
}

/// Scratch memory of an [`MlpF32`]: weights, their derivative, and the activations of one tile.
#[derive(Clone, Debug)]
pub struct MlpF32Workspace {
    w: Vec<f32>,
    /// Of one layer.
    dw: Vec<f32>,
    x: Vec<f32>,
    layers: Vec<LayerOutput>,
    delta: Vec<f32>,
    delta_below: Vec<f32>,
}

/// h_l, and what its activation keeps for the backward pass.
#[derive(Clone, Debug)]
struct LayerOutput {
    h: Vec<f32>,
    kept: Vec<f32>,
}

impl Model for MlpF32 {
    type Workspace = MlpF32Workspace;

    /// That of [`Mlp`].
    fn layout(&self) -> Layout {
        self.mlp.layout()
    }

    fn n_inputs(&self) -> usize {
        self.mlp.n_inputs()
    }

    fn n_outputs(&self) -> usize {
        self.mlp.n_outputs()
    }

    fn tile_rows(&self) -> usize {
        ROWS
    }

    fn workspace(&self) -> MlpF32Workspace {
        let sizes = self.mlp.sizes();
        let layer = |l: usize| {
            let units = sizes[l + 1];
            let kept = if self.mlp.activation(l).keeps() { units } else { 0 };
            LayerOutput { h: vec![0.0; ROWS * units], kept: vec![0.0; ROWS * kept] }
        };
        let widest = *sizes[1..].iter().max().expect("at least one layer");
        let largest = sizes.windows(2).map(|size| size[0] * size[1]).max();
        MlpF32Workspace {
            w: vec![0.0; self.layout().dim()],
            dw: vec![0.0; largest.expect("at least one layer")],
            x: vec![0.0; ROWS * sizes[0]],
            layers: (0..sizes.len() - 1).map(layer).collect(),
            delta: vec![0.0; ROWS * widest],
            delta_below: vec![0.0; ROWS * widest],
        }
    }

    fn forward(&self, w: &[f64], x: Tile, mut out: TileMut, ws: &mut MlpF32Workspace) {
        let (stride, sizes) = (x.stride(), self.mlp.sizes());
        round(w, &mut ws.w);
        let mut input = &mut ws.x[..x.values().len()];
        round(x.values(), input);
        let mut rest = &ws.w[..];
        for (l, layer) in ws.layers.iter_mut().enumerate() {
            let (inputs, units) = (sizes[l], sizes[l + 1]);
            let (weights, tail) = rest.split_at(units * inputs);
            let (bias, tail) = tail.split_at(units);
            rest = tail;
            let n = units * stride;
            let h = &mut layer.h[..n];
            wide_product::forward(weights, bias, input, stride, h);
            let kept = n.min(layer.kept.len());
            activate(self.mlp.activation(l), h, &mut layer.kept[..kept]);
            input = h;
        }
        out.values().iter_mut().zip(input).for_each(|(out, f)| *out = f64::from(*f));
    }

    fn backward(
        &self,
        w: &[f64],
        x: Tile,
        d_out: Tile,
        grad: &mut [f64],
        ws: &mut MlpF32Workspace,
    ) {
        let (stride, sizes) = (x.stride(), self.mlp.sizes());
        // The weights and the inputs are those that `forward` has rounded.
        let MlpF32Workspace { w: weights, dw, x: inputs_of_tile, layers, delta, delta_below } = ws;
        round(d_out.values(), &mut delta[..d_out.values().len()]);
        let mut end = w.len();
        for l in (0..layers.len()).rev() {
            let (inputs, units) = (sizes[l], sizes[l + 1]);
            let n = units * stride;
            let delta_l = &mut delta[..n];
            let kept = n.min(layers[l].kept.len());
            let (h, kept) = (&layers[l].h[..n], &layers[l].kept[..kept]);
            differentiate(self.mlp.activation(l), h, kept, delta_l);
            let start = end - units - units * inputs;
            let (grad_w, grad_b) = grad[start..end].split_at_mut(units * inputs);
            let input = match l {
                0 => &inputs_of_tile[..inputs * stride],
                _ => &layers[l - 1].h[..inputs * stride],
            };
            let dw = &mut dw[..units * inputs];
            wide_product::backward_weights(delta_l, input, stride, dw);
            grad_w.iter_mut().zip(dw).for_each(|(g, dw)| *g += f64::from(*dw));
            for (g, delta) in grad_b.iter_mut().zip(delta_l.chunks_exact(stride)) {
                *g += delta.iter().map(|d| f64::from(*d)).sum::<f64>();
            }
            if l > 0 {
                let weights = &weights[start..end - units];
                let below = &mut delta_below[..inputs * stride];
                wide_product::backward_inputs(weights, delta_l, stride, below);
                std::mem::swap(delta, delta_below);
            }
            end = start;
        }
    }
}

fn round(from: &[f64], to: &mut [f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from as f32);
}

/// Numbers that pass through f64 at a time.
const CHUNK: usize = 64;

/// [`Activation::forward`], in f64 where it takes more than a comparison: of a wide layer's work it is
/// a thousandth.
fn activate(activation: Activation, z: &mut [f32], kept: &mut [f32]) {
    match activation {
        Activation::Identity => {}
        // NaN stays NaN.
        Activation::Relu => z.iter_mut().for_each(|z| *z = if *z < 0.0 { 0.0 } else { *z }),
        _ => {
            let mut buffers = [[0.0; CHUNK]; 2];
            let mut kept = kept.chunks_mut(CHUNK);
            for z in z.chunks_mut(CHUNK) {
                let [wide, wide_kept] = buffers.each_mut().map(|buffer| &mut buffer[..z.len()]);
                wide.iter_mut().zip(&*z).for_each(|(wide, z)| *wide = f64::from(*z));
                let kept = kept.next().unwrap_or(&mut []);
                let wide_kept = &mut wide_kept[..kept.len()];
                activation.forward(wide, wide_kept);
                round(wide, z);
                round(wide_kept, kept);
            }
        }
    }
}

/// [`Activation::backward`], likewise.
fn differentiate(activation: Activation, y: &[f32], kept: &[f32], d: &mut [f32]) {
    match activation {
        Activation::Identity => {}
        Activation::Relu => {
            d.iter_mut().zip(y).for_each(|(d, y)| *d = if *y > 0.0 { *d } else { 0.0 });
        }
        _ => {
            let widen = |from: &[f32], to: &mut [f64; CHUNK]| {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = f64::from(*from));
            };
            let [mut wide_y, mut wide_kept, mut wide_d] = [[0.0; CHUNK]; 3];
            let mut kept = kept.chunks(CHUNK);
            for (y, d) in y.chunks(CHUNK).zip(d.chunks_mut(CHUNK)) {
                let (n, kept) = (y.len(), kept.next().unwrap_or(&[]));
                widen(y, &mut wide_y);
                widen(kept, &mut wide_kept);
                widen(d, &mut wide_d);
                activation.backward(&wide_y[..n], &wide_kept[..kept.len()], &mut wide_d[..n]);
                round(&wide_d[..n], d);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::data::Dataset;
    use crate::likelihood::{Categorical, Gaussian};
    use crate::model::WeightInit;
    use crate::prior::{LogInverseGamma, Normal, Priors};
    use crate::rng::ChainRng;
    use crate::targets::{GradTarget, MinibatchTarget, Posterior, PowerGradTarget, Target};

    fn inputs(rng: &mut ChainRng, rows: usize, columns: usize) -> Array2<f64> {
        Array2::from_shape_fn((rows, columns), |_| rng.normal())
    }

    fn classes(rng: &mut ChainRng, rows: usize, columns: usize) -> Dataset {
        let x = inputs(rng, rows, columns);
        let labels = x.rows().into_iter().map(|r| usize::from(r[0] > 0.0)).collect();
        Dataset::classification(x, labels, ["a", "b"]).unwrap()
    }

    /// The relative distance of two vectors.
    fn distance(a: &[f64], b: &[f64]) -> f64 {
        let square = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>();
        (square(&mut a.iter().zip(b).map(|(a, b)| a - b)) / square(&mut b.iter().copied())).sqrt()
    }

    /// Errors of one evaluation against f64: of the log likelihood, for each row; of its gradient,
    /// relative; of the probabilities, the largest.
    fn errors(mlp: Mlp, init: WeightInit, rows: usize, seed: u64) -> [f64; 3] {
        let mut rng = ChainRng::new(seed, 0);
        let data = classes(&mut rng, rows, mlp.n_inputs());
        let mut q = vec![0.0; mlp.layout().dim()];
        init.draw(&mlp.layout(), &mut rng, &mut q).unwrap();
        let priors = || Priors::all(Normal::new(0.0, 1.0).unwrap());
        let exact = Posterior::new(mlp.clone(), Categorical, &data, priors()).unwrap();
        let single = Posterior::new(mlp.in_f32(), Categorical, &data, priors()).unwrap();
        let (mut grad, mut grad_32) = (q.clone(), q.clone());
        let density = exact.log_density_grad(&q, &mut grad, &mut exact.workspace());
        let density_32 = single.log_density_grad(&q, &mut grad_32, &mut single.workspace());
        assert_eq!(density.prior, density_32.prior);
        let p = exact.predict_at(&q, data.x().view()).unwrap();
        let p_32 = single.predict_at(&q, data.x().view()).unwrap();
        [
            (density.likelihood - density_32.likelihood).abs() / rows as f64,
            distance(&grad_32, &grad),
            (&p - &p_32).iter().fold(0.0, |m: f64, d| m.max(d.abs())),
        ]
    }

    #[test]
    fn errors_are_those_of_f32() {
        // More rows than a tile, not a multiple of anything; also narrower than a vector.
        for activation in Activation::ALL {
            for sizes in [&[7, 5, 2][..], &[33, 70, 41, 2]] {
                let mlp = Mlp::new(sizes, activation).unwrap();
                let [likelihood, grad, probability] =
                    errors(mlp, WeightInit::HeNormal, 1100 + 37, 1);
                println!("{activation} {sizes:?}: {likelihood:.1e} {grad:.1e} {probability:.1e}");
                assert!(likelihood < 1e-6 && grad < 1e-5 && probability < 2e-6);
                // Not by computing in f64.
                assert!(probability > 1e-9);
            }
        }
        let squashed = Mlp::new(&[7, 5, 2], Activation::Tanh).unwrap();
        let squashed = squashed.output_activation(Activation::Silu);
        let [.., grad, _] = errors(squashed, WeightInit::HeNormal, 100, 2);
        assert!(grad < 1e-5, "{grad}");
    }

    #[test]
    #[ignore = "figures for the documentation: cargo test --release f32_error_table -- --ignored --nocapture"]
    fn f32_error_table() {
        for sizes in [&[64, 100, 2][..], &[784, 300, 2], &[784, 1200, 1200, 2]] {
            for activation in [Activation::Relu, Activation::Tanh] {
                let mlp = Mlp::new(sizes, activation).unwrap();
                let [a, b, c] = errors(mlp, WeightInit::HeNormal, 1000, 1);
                println!("| {sizes:?} {activation} | {a:.1e} | {b:.1e} | {c:.1e} |");
            }
        }
        for sd in [0.2, 1.0, 20f64.sqrt()] {
            let mlp = Mlp::new(&[64, 100, 100, 2], Activation::Relu).unwrap();
            let [a, b, c] = errors(mlp, WeightInit::Normal { sd }, 1000, 1);
            println!("| 64-100-100-2, sd {sd:.1} | {a:.1e} | {b:.1e} | {c:.1e} |");
        }
    }

    fn regression() -> (Posterior<MlpF32, Gaussian>, Posterior<Mlp, Gaussian>, Vec<f64>) {
        let mut rng = ChainRng::new(5, 0);
        let (x, y) = (inputs(&mut rng, 700, 3), inputs(&mut rng, 700, 2));
        let data = Dataset::regression(x, y).unwrap();
        let priors = || {
            Priors::all(Normal::new(0.0, 1.0).unwrap())
                .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap())
        };
        let mlp = Mlp::new(&[3, 20, 2], Activation::Tanh).unwrap();
        let exact = Posterior::new(mlp.clone(), Gaussian::sampled(), &data, priors()).unwrap();
        let single = Posterior::new(mlp.in_f32(), Gaussian::sampled(), &data, priors()).unwrap();
        let mut q = vec![0.0; exact.layout().dim()];
        rng.fill_normal(&mut q);
        (single, exact, q)
    }

    #[test]
    fn tall_tiles_serve_every_walk_over_the_rows() {
        let (single, exact, q) = regression();
        let (mut ws, mut ws_exact) = (single.workspace(), exact.workspace());
        let (mut grad, mut grad_exact) = (q.clone(), q.clone());
        let density = exact.log_density(&q, &mut ws_exact);
        let density_32 = single.log_density(&q, &mut ws);
        approx::assert_relative_eq!(density.likelihood, density_32.likelihood, max_relative = 1e-6);
        for beta in [0.0, 0.3, 1.0] {
            exact.log_density_grad_at(beta, &q, &mut grad_exact, &mut ws_exact);
            single.log_density_grad_at(beta, &q, &mut grad, &mut ws);
            assert!(distance(&grad, &grad_exact) < 1e-6);
        }
        // A batch that fills one tile and a part of another, one of a few rows, and all rows.
        let rows: Vec<usize> = (0..700).collect();
        for size in [600, 65, 64, 3, 700] {
            let rows = &rows[700 - size..];
            let found = single.minibatch_grad_at(1.0, rows, &q, &mut grad, &mut ws);
            let expected = exact.minibatch_grad_at(1.0, rows, &q, &mut grad_exact, &mut ws_exact);
            approx::assert_relative_eq!(found.total(), expected.total(), max_relative = 1e-6);
            assert!(distance(&grad, &grad_exact) < 1e-6, "{size}");
        }
        use crate::targets::NoiseConditional;
        let (a, b) = (exact.squared_error(&q, &mut ws_exact), single.squared_error(&q, &mut ws));
        approx::assert_relative_eq!(a, b, max_relative = 1e-6);
        use crate::targets::{Descent, DescentRule, Objective, Pass};
        for pass in [Pass::Batch, Pass::PerRow] {
            for objective in [Objective::SquaredError, Objective::LogPosterior] {
                let rule = DescentRule { learning_rate: 1e-4, depth: 2, objective, pass };
                exact.descend(&rule, &q, &mut grad_exact, &mut ws_exact);
                single.descend(&rule, &q, &mut grad, &mut ws);
                assert!(distance(&grad, &grad_exact) < 1e-6, "{rule:?}");
            }
        }
    }
}
