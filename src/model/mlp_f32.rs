//! Multilayer perceptrons that compute in f32.

use super::{LINEAR_OUTPUTS, Mlp, Model, OutputLayer};
use crate::Error;
use crate::engine::network::Network;
use crate::engine::{Tile, TileMut};
use crate::layout::Layout;

/// A multilayer perceptron that computes in f32.
///
/// The function, its derivative and the layout of w are the same as for [`Mlp`](super::Mlp); the
/// arithmetic differs:
///
/// - w is rounded to f32 once for each evaluation, the inputs and d_out once for each tile; f and
///   the gradient are f32 numbers, handed on as f64. Sums over more than 4,096 rows, q, the log
///   likelihood and the log prior stay in f64.
/// - Exponentials of activations are computed in f64.
///
/// A gradient of 11-50-50-1 (ReLU, 1,599 rows) takes about half as long as the one of [`Mlp`]:
/// registers hold twice as many numbers. Where exponentials take most of the time (tanh, layers of
/// ten units) little is gained.
///
/// Memory of a chain: 68 bytes for each weight of a narrow layer and 8 of a wide one (100 inputs and
/// units), 4 (D + 2 sum_l H_l + 2 max_l H_l) bytes for each row of a tile of up to 256, and
/// half a megabyte for each thread that computes products of wide layers.
///
/// **Error** against [`Mlp`], measured (`cargo test --release f32_error_table -- --ignored
/// --nocapture`; two classes, 1,000 rows of N(0, 1) inputs, weights of
/// [`WeightInit::HeNormal`](super::WeightInit)):
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
/// Errors are relative to the outputs: about 1e-7 of a logit. With weights of the size at which
/// networks are started the density that is sampled differs by a factor of exp(1e-8 N), which no
/// test or conclusion could notice up to millions of rows; under wide priors, which make logits of
/// thousands, by one that a Metropolis test may notice (a thousandth of a nat per row in the last
/// line). Differences of nearby log densities, such as numerical gradients, always suffer: check
/// those on the [`Mlp`]. Weights beyond 3e38 are infinite. A checkpoint may be refused on another
/// kind of processor, since densities are compared to 1e-10.
///
/// When not to use it: where second derivatives are needed, which it has not, and where log
/// densities are to be compared to more than six digits.
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
    /// The network, computing in f32. See [`MlpF32`](super::MlpF32).
    pub fn in_f32(self) -> MlpF32 {
        MlpF32 { mlp: self }
    }
}

impl MlpF32 {
    /// The network, computing in f64.
    pub fn mlp(&self) -> &Mlp {
        &self.mlp
    }
}

/// Scratch memory of an [`MlpF32`]: weights, and what [`Mlp`] has.
#[derive(Clone, Debug)]
pub struct MlpF32Workspace {
    pub(super) network: Network<f32>,
}

impl Model for MlpF32 {
    type Workspace = MlpF32Workspace;

    /// The one of [`Mlp`].
    fn layout(&self) -> Layout {
        self.mlp.layout()
    }

    fn n_inputs(&self) -> usize {
        self.mlp.n_inputs()
    }

    fn n_outputs(&self) -> usize {
        self.mlp.n_outputs()
    }

    /// The description of [`Mlp`], whose function it is up to rounding.
    fn description(&self) -> Option<String> {
        self.mlp.description()
    }

    fn input_axes(&self) -> Vec<(String, usize)> {
        self.mlp.input_axes()
    }

    fn output_axes(&self) -> Vec<(String, usize)> {
        self.mlp.output_axes()
    }

    fn tile_rows(&self) -> usize {
        self.mlp.tile_rows()
    }

    fn workspace(&self) -> MlpF32Workspace {
        MlpF32Workspace { network: self.mlp.network() }
    }

    fn output_layer(&self) -> Result<OutputLayer, Error> {
        let found = format!("{} in f32", self.description().unwrap_or_default());
        Err(Error::argument("model", found, LINEAR_OUTPUTS))
    }

    walk_of_network!();
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::data::Dataset;
    use crate::likelihood::{Categorical, Gaussian};
    use crate::message::Choice;
    use crate::model::{Activation, WeightInit};
    use crate::posterior::Posterior;
    use crate::prior::{LogInverseGamma, Normal, Priors};
    use crate::rng::ChainRng;
    use crate::targets::{GradTarget, MinibatchTarget, PowerGradTarget, Target};

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
        for &activation in Activation::ALL {
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
        // Rows enough for sums that are handed on before the end.
        let mlp = Mlp::new(&[7, 5, 2], Activation::Tanh).unwrap();
        assert!(errors(mlp, WeightInit::HeNormal, 9_001, 3)[1] < 1e-5);
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
