//! A multilayer perceptron whose one backward pass gives the gradient with respect to its weights
//! and to its inputs.
//!
//! For L layers with weights W_l `[units x inputs]`, biases b_l and the activation s,
//!
//! ```text
//! a_0 = m_0 x,   z_l = W_l a_(l-1) + b_l,   a_l = m_l s(z_l) for l < L,   o = z_L
//! delta_L = d/do,   delta_l = m_l s'(z_l) W_(l+1)^T delta_(l+1),   d/dx = m_0 W_1^T delta_1
//! d/dW_l = delta_l a_(l-1)^T,   d/db_l = delta_l,   summed over rows
//! ```
//!
//! m_0 and m_1 are the factors of dropout, element by element; all others are 1.

use bnn_mcmc::Error;
use bnn_mcmc::layout::Layout;
use bnn_mcmc::model::{Activation, Mlp, Model};
use ndarray::linalg::{general_mat_mul, general_mat_vec_mul};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis};

use crate::add_combination;

/// The shape of a network. Its weights are a flat vector w with the layout of the library's
/// [`Mlp`].
#[derive(Clone, Debug)]
pub(crate) struct Perceptron {
    sizes: Vec<usize>,
    pub layout: Layout,
    pub activation: Activation,
}

/// Scratch memory for some rows at a time: for each level, from inputs to outputs, an array
/// `[row, unit]`.
#[derive(Debug)]
pub(crate) struct Pass {
    /// a_l, and o.
    values: Vec<Array2<f64>>,
    /// m_0, and m_l s'(z_l) of hidden levels.
    slopes: Vec<Array2<f64>>,
    /// d/dx, delta_l, and d/do.
    deltas: Vec<Array2<f64>>,
}

impl Pass {
    /// x `[row, input]`, to be written before a forward pass.
    pub fn inputs(&mut self) -> &mut Array2<f64> {
        &mut self.values[0]
    }

    /// o `[row, output]` after a forward pass, and d/do, to be written before a backward pass.
    pub fn outputs(&mut self) -> (&Array2<f64>, &mut Array2<f64>) {
        let last = self.values.len() - 1;
        (&self.values[last], &mut self.deltas[last])
    }

    /// d/dx `[row, input]` after a backward pass.
    pub fn d_inputs(&self) -> &Array2<f64> {
        &self.deltas[0]
    }
}

impl Perceptron {
    /// With these units from inputs to outputs.
    pub fn new(sizes: Vec<usize>, activation: Activation) -> Result<Self, Error> {
        let layout = Mlp::new(&sizes, activation)?.layout();
        Ok(Self { sizes, layout, activation })
    }

    /// Units from inputs to outputs.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    pub fn pass(&self, rows: usize) -> Pass {
        let zeros = || self.sizes.iter().map(|units| Array2::zeros((rows, *units))).collect();
        Pass { values: zeros(), slopes: zeros(), deltas: zeros() }
    }

    /// W_l and b_l, the layers counted from 0.
    fn layer<'w>(&self, l: usize, w: &'w [f64]) -> (ArrayView2<'w, f64>, ArrayView1<'w, f64>) {
        let [weights, biases] =
            [2 * l, 2 * l + 1].map(|k| &w[self.layout.blocks()[k].range.clone()]);
        let weights = ArrayView2::from_shape((self.sizes[l + 1], self.sizes[l]), weights);
        (weights.expect("the layout has these sizes"), ArrayView1::from(biases))
    }

    /// Computes the outputs with the factors m_0, m_1, ... in `masks`; those that are not there are 1.
    pub fn forward(&self, w: &[f64], masks: &[Array1<f64>], pass: &mut Pass) {
        let Pass { values, slopes, .. } = pass;
        slopes[0].fill(1.0);
        let last = self.sizes.len() - 1;
        for l in 0..last {
            if let Some(mask) = masks.get(l) {
                values[l] *= mask;
                slopes[l] *= mask;
            }
            let (weights, biases) = self.layer(l, w);
            let (below, above) = values.split_at_mut(l + 1);
            product(&below[l], weights, &mut above[0]);
            above[0] += &biases;
            if l + 1 < last {
                let both = (above[0].as_slice_mut(), slopes[l + 1].as_slice_mut());
                let (Some(z), Some(slopes)) = both else { unreachable!("made by `zeros`") };
                self.activation.apply_with_derivative(z, slopes);
            }
        }
    }

    /// From d/do to d/dx, for what the forward pass left; if `grad` is given, it is overwritten with
    /// the derivative with respect to w.
    pub fn backward(&self, w: &[f64], mut grad: Option<&mut [f64]>, pass: &mut Pass) {
        let Pass { values, slopes, deltas } = pass;
        for l in (0..self.sizes.len() - 1).rev() {
            let (below, above) = deltas.split_at_mut(l + 1);
            let (d_in, d_out) = (&mut below[l], &above[0]);
            if let Some(grad) = &mut grad {
                let [weights, biases] = [2 * l, 2 * l + 1].map(|k| &self.layout.blocks()[k]);
                let shape = (self.sizes[l + 1], self.sizes[l]);
                let of_weights = ArrayViewMut2::from_shape(shape, &mut grad[weights.range.clone()]);
                let mut of_weights = of_weights.expect("the layout has these sizes");
                general_mat_mul(1.0, &d_out.t(), &values[l], 0.0, &mut of_weights);
                grad[biases.range.clone()].copy_from_slice(&d_out.sum_axis(Axis(0)).to_vec());
            }
            product_transposed(d_out, self.layer(l, w).0, d_in);
            *d_in *= &slopes[l]; //~ perceptron-slopes
        }
    }
}

/// c = a b^T. A single row is multiplied without the memory that products of matrices take.
fn product(a: &Array2<f64>, b: ArrayView2<f64>, c: &mut Array2<f64>) {
    match a.nrows() {
        1 => general_mat_vec_mul(1.0, &b, &a.row(0), 0.0, &mut c.row_mut(0)),
        _ => general_mat_mul(1.0, a, &b.t(), 0.0, c),
    }
}

/// c = a b, in the same way.
fn product_transposed(a: &Array2<f64>, b: ArrayView2<f64>, c: &mut Array2<f64>) {
    if a.nrows() == 1 {
        c.fill(0.0);
        add_combination(a.row(0), b, c.row_mut(0));
    } else {
        general_mat_mul(1.0, a, &b, 0.0, c);
    }
}

#[cfg(test)]
mod tests {
    use bnn_mcmc::prelude::*;
    use ndarray::array;

    use super::*;

    const ALL: [Activation; 3] = [Activation::Tanh, Activation::Softplus, Activation::Silu];

    fn normals<const N: usize>(rng: &mut ChainRng, shape: [usize; 2]) -> [Array2<f64>; N] {
        [(); N].map(|()| Array2::from_shape_fn(shape, |_| rng.normal()))
    }

    /// Outputs and the derivative of the squared error with respect to the weights are those of the
    /// library's network, for several rows and for one.
    #[test]
    fn the_network_is_the_librarys() {
        let mut rng = ChainRng::new(1, 0);
        for (activation, rows) in ALL.into_iter().zip([7, 1, 12]) {
            let network = Perceptron::new(vec![3, 5, 4, 2], activation).unwrap();
            let ([x], [y]) = (normals(&mut rng, [rows, 3]), normals(&mut rng, [rows, 2]));
            let data = Dataset::regression(x.clone(), y.clone()).unwrap();
            let priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
            let mlp = Mlp::new(&[3, 5, 4, 2], activation).unwrap();
            let exact = Posterior::new(mlp, Gaussian::fixed(1.0).unwrap(), &data, priors).unwrap();
            let w: Vec<f64> = (0..exact.dim()).map(|_| rng.normal()).collect();
            let mut ws = exact.workspace();
            let (mut f, mut expected) = (vec![0.0; 2 * rows], vec![0.0; w.len()]);
            exact.write_outputs(&w, &mut f, &mut ws).unwrap();
            exact.log_likelihood().log_density_grad(&w, &mut expected, &mut ws);

            let mut pass = network.pass(rows);
            pass.inputs().assign(&x);
            network.forward(&w, &[], &mut pass);
            let (out, d_out) = pass.outputs();
            assert!(out.iter().zip(&f).all(|(a, b)| (a - b).abs() < 1e-12), "{activation}");
            *d_out = &y - out;
            let mut grad = vec![f64::NAN; w.len()];
            network.backward(&w, Some(&mut grad), &mut pass);
            assert!(grad.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-11), "{activation}");
        }
    }

    /// Both gradients of the sum of the outputs, with units left out, against central differences.
    #[test]
    fn gradients_with_dropout_are_exact() {
        let mut rng = ChainRng::new(2, 0);
        let masks = [array![2.0, 0.0, 2.0], array![0.0, 3.0, 3.0, 0.0]];
        for activation in ALL {
            let network = Perceptron::new(vec![3, 4, 4, 2], activation).unwrap();
            let w: Vec<f64> = (0..network.layout.dim()).map(|_| rng.normal()).collect();
            let [x] = normals(&mut rng, [5, 3]);
            let sum = |w: &[f64], x: &Array2<f64>| {
                let mut pass = network.pass(5);
                pass.inputs().assign(x);
                network.forward(w, &masks, &mut pass);
                let sum = pass.outputs().0.sum();
                (sum, pass)
            };
            let (mut pass, mut grad) = (sum(&w, &x).1, vec![0.0; w.len()]);
            pass.outputs().1.fill(1.0);
            network.backward(&w, Some(&mut grad), &mut pass);
            let h = 1e-5;
            let close = |found: f64, up: f64, down: f64| {
                let expected = (up - down) / (2.0 * h);
                assert!((found - expected).abs() < 1e-7, "{activation}: {found} {expected}");
            };
            for i in 0..w.len() {
                let at = |step: f64| {
                    let mut w = w.clone();
                    w[i] += step;
                    sum(&w, &x).0
                };
                close(grad[i], at(h), at(-h));
            }
            for (place, found) in pass.d_inputs().indexed_iter() {
                let at = |step: f64| {
                    let mut x = x.clone();
                    x[place] += step;
                    sum(&w, &x).0
                };
                close(*found, at(h), at(-h));
            }
        }
    }
}
