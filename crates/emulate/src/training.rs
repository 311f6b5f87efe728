//! Training: the squared errors of a network on rows of a table, as a target for optimisers.

use bnn_mcmc::Error;
use bnn_mcmc::model::WeightInit;
use bnn_mcmc::optimise::{Adam, Evaluation, Optimiser, Optimum};
use bnn_mcmc::rng::ChainRng;
use bnn_mcmc::sampler::Minibatch;
use bnn_mcmc::targets::{GradTarget, LogDensity, MinibatchTarget, Target};
use ndarray::{Array1, Array2, Zip};

use crate::NetworkEmulator;
use crate::perceptron::{Pass, Perceptron};

/// Rows x and y.
type Table = [Array2<f64>; 2];

/// The weights of `network`, trained on the rows of `table`, that predict the rows `held_out` best;
/// `None` if training diverged.
pub(crate) fn train(
    settings: &NetworkEmulator,
    network: &Perceptron,
    table: &Table,
    held_out: &Table,
) -> Result<Option<Vec<f64>>, Error> {
    let NetworkEmulator { batch, dropout, learning_rate, steps, stopping, seed, .. } = *settings;
    let target = SquaredErrors::new(network, table, batch, dropout, seed);
    let held_out = SquaredErrors::new(network, held_out, batch, 0.0, seed);
    let mut start = vec![0.0; target.dim()];
    WeightInit::HeNormal.draw(&network.layout, &mut ChainRng::new(seed, 1), &mut start)?;
    let size = batch.min(target.n_obs());
    let adam = Adam { learning_rate, steps, ..Adam::new(Minibatch { size }) };
    let score = |w: &[f64]| {
        let value = held_out.log_density(w, &mut held_out.workspace());
        Ok(value.likelihood / held_out.n_obs() as f64)
    };
    let optimiser = Optimiser::new(&target, adam).seed(seed).early_stopping(stopping, score);
    let trained = optimiser.run(&start)?;
    Ok((!has_diverged(&trained)).then_some(trained.q))
}

/// Whether training never came to a better place than its start, and either had to take steps back,
/// whose numbers overflowed, or ended with twice the loss of the start.
fn has_diverged(trained: &Optimum) -> bool {
    let score = |at: Option<&Evaluation>| at.map_or(f64::NAN, |at| at.score);
    let (first, last) = (score(trained.history.first()), score(trained.history.last()));
    // Scores are negative.
    trained.step == 0 && (trained.taken_back > 0 || last.is_nan() || last < 2.0 * first)
}

/// -1/2 sum_i |y_i - o(x_i)|^2, as a function of the weights. Gradients of minibatches leave each
/// input and each unit of the first hidden layer out with probability `dropout`, one choice for all
/// rows of a batch, and divide the others by the probability of staying.
struct SquaredErrors<'a> {
    network: &'a Perceptron,
    /// `[row, input]`.
    x: &'a Array2<f64>,
    /// `[row, output]`.
    y: &'a Array2<f64>,
    /// All rows.
    rows: Vec<usize>,
    /// The most rows of a pass.
    batch: usize,
    dropout: f64,
    seed: u64,
}

struct Workspace {
    pass: Pass,
    rng: ChainRng,
    /// The factors of inputs and units of the first hidden layer.
    masks: [Array1<f64>; 2],
    /// The gradient of a part of the rows.
    part: Vec<f64>,
}

impl<'a> SquaredErrors<'a> {
    fn new(
        network: &'a Perceptron,
        [x, y]: &'a Table,
        batch: usize,
        dropout: f64,
        seed: u64,
    ) -> Self {
        Self { network, x, y, rows: (0..x.nrows()).collect(), batch, dropout, seed }
    }

    /// The forward pass of these rows. Leaves y - o as d/do.
    fn forward(&self, rows: &[usize], w: &[f64], masks: &[Array1<f64>], pass: &mut Pass) -> f64 {
        for (i, mut x) in pass.inputs().rows_mut().into_iter().enumerate() {
            match rows.get(i) {
                Some(row) => x.assign(&self.x.row(*row)),
                None => x.fill(0.0),
            }
        }
        self.network.forward(w, masks, pass);
        let (out, d_out) = pass.outputs();
        d_out.fill(0.0);
        for ((row, out), d) in rows.iter().zip(out.rows()).zip(d_out.rows_mut()) {
            Zip::from(d).and(&self.y.row(*row)).and(out).for_each(|d, y, out| *d = y - out);
        }
        -0.5 * d_out.iter().map(|d| d * d).sum::<f64>()
    }
}

impl Target for SquaredErrors<'_> {
    type Workspace = Workspace;

    fn dim(&self) -> usize {
        self.network.layout.dim()
    }

    fn workspace(&self) -> Workspace {
        let sizes = self.network.sizes();
        Workspace {
            pass: self.network.pass(self.batch.min(self.rows.len())),
            rng: ChainRng::new(self.seed, 2),
            masks: [sizes[0], sizes[1]].map(Array1::zeros),
            part: vec![0.0; self.dim()],
        }
    }

    fn log_density(&self, w: &[f64], ws: &mut Workspace) -> LogDensity {
        let parts = self.rows.chunks(self.batch);
        let values = parts.map(|rows| self.forward(rows, w, &[], &mut ws.pass));
        LogDensity::new(values.sum(), 0.0)
    }
}

impl GradTarget for SquaredErrors<'_> {
    fn log_density_grad(&self, w: &[f64], grad: &mut [f64], ws: &mut Workspace) -> LogDensity {
        let mut sum = 0.0;
        grad.fill(0.0);
        for rows in self.rows.chunks(self.batch) {
            sum += self.forward(rows, w, &[], &mut ws.pass);
            self.network.backward(w, Some(&mut ws.part), &mut ws.pass);
            grad.iter_mut().zip(&ws.part).for_each(|(grad, part)| *grad += part);
        }
        LogDensity::new(sum, 0.0)
    }
}

impl MinibatchTarget for SquaredErrors<'_> {
    fn n_obs(&self) -> usize {
        self.rows.len()
    }

    fn minibatch_grad_at(
        &self,
        beta: f64,
        rows: &[usize],
        w: &[f64],
        grad: &mut [f64],
        ws: &mut Workspace,
    ) -> LogDensity {
        let Workspace { pass, rng, masks, .. } = ws;
        let stays = 1.0 - self.dropout;
        for factor in masks.iter_mut().flatten() {
            *factor = if rng.uniform() < stays { 1.0 / stays } else { 0.0 }; //~ emulator-dropout
        }
        let value = self.forward(rows, w, masks, pass);
        self.network.backward(w, Some(grad), pass);
        let weight = self.rows.len() as f64 / rows.len() as f64;
        grad.iter_mut().for_each(|grad| *grad *= beta * weight); //~ emulator-batch
        LogDensity::new(weight * value, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use bnn_mcmc::model::Activation;

    use super::*;

    /// Twelve rows, a linear network 2-3-1, and its weights.
    fn fixture() -> (Perceptron, Table, Vec<f64>) {
        let network = Perceptron::new(vec![2, 3, 1], Activation::Identity).unwrap();
        let mut rng = ChainRng::new(4, 0);
        let table = [2, 1].map(|n| Array2::from_shape_fn((12, n), |_| rng.normal()));
        let w = (0..network.layout.dim()).map(|_| rng.normal()).collect();
        (network, table, w)
    }

    #[test]
    fn batches_have_the_mean_of_all_rows() {
        let (network, table, w) = fixture();
        let target = SquaredErrors::new(&network, &table, 5, 0.0, 7);
        let (mut ws, mut full) = (target.workspace(), vec![0.0; w.len()]);
        let [mut part, mut mean] = [(); 2].map(|()| vec![0.0; w.len()]);
        let value = target.log_density_grad(&w, &mut full, &mut ws);
        assert_eq!(value, target.log_density(&w, &mut ws));
        let mut mean_value = 0.0;
        for rows in (0..12).collect::<Vec<_>>().chunks(4) {
            let value = target.minibatch_grad_at(1.0, rows, &w, &mut part, &mut ws);
            mean_value += value.likelihood / 3.0;
            mean.iter_mut().zip(&part).for_each(|(mean, part)| *mean += part / 3.0);
        }
        assert!((mean_value - value.likelihood).abs() < 1e-10);
        assert!(mean.iter().zip(&full).all(|(a, b)| (a - b).abs() < 1e-10), "{mean:?} {full:?}");
    }

    /// The outputs of a linear network are linear in each factor of dropout, whose mean is 1, and so
    /// is the derivative with respect to the last bias.
    #[test]
    fn dropout_leaves_the_mean_output_as_it_is() {
        let (network, table, w) = fixture();
        let target = SquaredErrors::new(&network, &table, 5, 0.3, 7);
        let (mut ws, mut grad) = (target.workspace(), vec![0.0; w.len()]);
        target.log_density_grad(&w, &mut grad, &mut ws);
        let (bias, n) = (w.len() - 1, 40_000);
        let exact = grad[bias];
        let (mut sum, mut squares) = (0.0, 0.0);
        for i in 0..n {
            let rows: Vec<usize> = (0..4).map(|k| (4 * i + k) % 12).collect();
            target.minibatch_grad_at(1.0, &rows, &w, &mut grad, &mut ws);
            sum += grad[bias] - exact;
            squares += (grad[bias] - exact).powi(2);
        }
        let (mean, sd) = (sum / f64::from(n as u32), (squares / f64::from(n as u32)).sqrt());
        let error = sd / f64::from(n as u32).sqrt();
        assert!(sd > 1.0 && mean.abs() < 4.5 * error, "{mean} {error} {sd}");
    }
}
