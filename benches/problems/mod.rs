//! Problems a to h on which the crate is timed beside other libraries, with reproducible data.
//!
//! Random stream: SplitMix64 as a counter; word i of a seed is mix(seed + (i + 1) gamma). A uniform
//! is the upper 53 bits of a word; normal k is sqrt(-2 ln(1 - u_{2k})) cos(2 pi u_{2k+1}). Block b
//! of problem p has the seed 1,000,003 p + b.
//!
//! | key | network | likelihood | rows | parameters | multiply-adds per gradient |
//! | --- | --- | --- | --- | --- | --- |
//! | a | 8-1 | Gaussian | 1,000 | 10 | 16,000 |
//! | b | 34-1 | Bernoulli | 351 | 35 | 23,868 |
//! | c | 4-3-3 sigmoid | categorical | 150 | 27 | 7,650 |
//! | d | 4-10-1 tanh | Gaussian | 1,000 | 62 | 110,000 |
//! | e | 8-16-1 tanh | Gaussian | 4,177 | 162 | 1,269,808 |
//! | f | 34-50-2 tanh | categorical | 351 | 1,852 | 1,298,700 |
//! | g | 11-50-50-1 ReLU | Gaussian | 1,599 | 3,202 | 13,991,250 |
//! | h | 784-1200-1200-2 ReLU | categorical, times 46.875 | 256 | 2,385,602 | 1,589,452,800 |
//!
//! Prior N(0, s2) with variance 25 (1 for d) on all weights; IG(2, 0.5) on the noise variance.

use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::PowerGradTarget;
use ndarray::{Array2, Axis};

pub mod machine;

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

fn uniforms(seed: u64, n: usize) -> Vec<f64> {
    let word = |i: u64| {
        let mut z = seed.wrapping_add(GAMMA.wrapping_mul(i + 1));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    (0..n as u64).map(|i| (word(i) >> 11) as f64 * 2f64.powi(-53)).collect()
}

pub struct Stream {
    seed: u64,
}

impl Stream {
    pub fn new(problem: u64) -> Self {
        Self { seed: 1_000_003 * problem }
    }

    fn uniform(&mut self, n: usize) -> Vec<f64> {
        self.seed += 1;
        uniforms(self.seed - 1, n)
    }

    fn normal(&mut self, n: usize) -> Vec<f64> {
        let u = self.uniform(2 * n);
        u.chunks_exact(2)
            .map(|u| (-2.0 * (1.0 - u[0]).ln()).sqrt() * (std::f64::consts::TAU * u[1]).cos())
            .collect()
    }

    pub fn matrix(&mut self, rows: usize, columns: usize) -> Array2<f64> {
        Array2::from_shape_vec((rows, columns), self.normal(rows * columns)).unwrap()
    }
}

/// `n` normals: the first block of problem `problem`.
pub fn normals(problem: u64, n: usize) -> Vec<f64> {
    Stream::new(problem).normal(n)
}

/// Sizes of the layers, inputs first.
pub fn sizes(key: char) -> &'static [usize] {
    match key {
        'a' => &[8, 1],
        'b' => &[34, 1],
        'c' => &[4, 3, 3],
        'd' => &[4, 10, 1],
        'e' => &[8, 16, 1],
        'f' => &[34, 50, 2],
        'g' => &[11, 50, 50, 1],
        'h' => &[784, 1200, 1200, 2],
        _ => panic!("no problem {key}"),
    }
}

/// Multiply-adds that one gradient needs: for each row 3 for each weight, less one for those of the first
/// layer, since nothing is propagated to the inputs (no biases).
pub fn multiply_adds(key: char) -> f64 {
    let sizes = sizes(key);
    let weights: usize = sizes.windows(2).map(|w| w[0] * w[1]).sum();
    ((3 * weights - sizes[0] * sizes[1]) * data(key).rows()) as f64
}

/// The data set.
pub fn data(key: char) -> Dataset {
    let classes = |x, index| {
        let k = if key == 'c' { 3 } else { 2 };
        Dataset::classification(x, index, (0..k).map(|i| i.to_string())).unwrap()
    };
    let teacher = |x: &Array2<f64>| -> Vec<f64> {
        x.rows().into_iter().map(|r| r[0].sin() + 0.5 * r[1] * r[2] - 0.3 * r[3]).collect()
    };
    let regression = |x, y: Vec<f64>| {
        Dataset::regression(x, ndarray::Array1::from(y).insert_axis(Axis(1))).unwrap()
    };
    let network = |problem, rows, features| {
        let mut stream = Stream::new(problem);
        let x = stream.matrix(rows, features);
        let noise = stream.normal(rows);
        let y = teacher(&x).iter().zip(noise).map(|(f, z)| f + 0.3 * z).collect();
        regression(x, y)
    };
    let linear = |x: &Array2<f64>, w: &[f64], i: usize| -> f64 {
        let d = x.ncols();
        x.row(i).iter().zip(w).map(|(x, w)| x * w).sum::<f64>() + w[d]
    };
    match key {
        'a' => {
            let mut stream = Stream::new(1);
            let (x, w, noise) = (stream.matrix(1000, 8), stream.normal(9), stream.normal(1000));
            let y = (0..1000).map(|i| linear(&x, &w, i) + 0.5 * noise[i]).collect();
            regression(x, y)
        }
        'b' => {
            let mut stream = Stream::new(2);
            let x = stream.matrix(351, 34);
            let w: Vec<f64> = stream.normal(35).iter().map(|w| 0.3 * w).collect();
            let u = stream.uniform(351);
            let p = |i| 1.0 / (1.0 + (-linear(&x, &w, i)).exp());
            let index = (0..351).map(|i| usize::from(u[i] < p(i))).collect();
            classes(x.clone(), index)
        }
        'c' => {
            let mut stream = Stream::new(3);
            let centres = stream.matrix(3, 4);
            let noise = stream.matrix(150, 4);
            let x =
                Array2::from_shape_fn((150, 4), |(i, j)| 1.5 * centres[(i % 3, j)] + noise[(i, j)]);
            classes(x, (0..150).map(|i| i % 3).collect())
        }
        'd' => network(4, 1000, 4),
        'e' => network(5, 4177, 8),
        'f' => {
            let x = Stream::new(6).matrix(351, 34);
            let index = teacher(&x).iter().map(|t| usize::from(*t > 0.0)).collect();
            classes(x, index)
        }
        'g' => network(7, 1599, 11),
        // One minibatch of 256 rows of 12,000.
        'h' => {
            let x = Stream::new(8).uniform(256 * 784);
            let x = Array2::from_shape_vec((256, 784), x).unwrap();
            classes(x, (0..256).map(|i| i % 2).collect())
        }
        _ => panic!("no problem {key}"),
    }
}

/// The test point: W = n / sqrt(fan in), b = n / 10, log noise variance -1, in the crate's layout.
/// The stream fills W as [fan in x fan out]; the crate stores [fan out x fan in].
pub fn theta0(key: char) -> Vec<f64> {
    let sizes = sizes(key);
    let n: usize = sizes.windows(2).map(|w| w[0] * w[1] + w[1]).sum();
    let z = Stream { seed: 1_000_003 * 9007 }.normal(n);
    let (mut q, mut start) = (Vec::with_capacity(n + 1), 0);
    for w in sizes.windows(2) {
        let (fan_in, fan_out) = (w[0], w[1]);
        for o in 0..fan_out {
            for i in 0..fan_in {
                q.push(z[start + i * fan_out + o] / (fan_in as f64).sqrt());
            }
        }
        start += fan_in * fan_out;
        q.extend(z[start..start + fan_out].iter().map(|b| 0.1 * b));
        start += fan_out;
    }
    if is_regression(key) {
        q.push(-1.0);
    }
    q
}

fn is_regression(key: char) -> bool {
    matches!(key, 'a' | 'd' | 'e' | 'g')
}

fn priors(key: char) -> Priors {
    let sd = if key == 'd' { 1.0 } else { 5.0 };
    let priors = Priors::all(Normal::new(0.0, sd).unwrap());
    match is_regression(key) {
        true => priors.with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap()),
        false => priors,
    }
}

/// The posterior of a linear problem with Gaussian noise (a).
pub fn linear_gaussian(key: char) -> Posterior<Linear, Gaussian> {
    let model = Linear::new(sizes(key)[0], 1).unwrap();
    Posterior::new(model, Gaussian::sampled(), &data(key), priors(key)).unwrap()
}

/// The posterior of a logistic regression (b).
pub fn linear_bernoulli(key: char) -> Posterior<Linear, Bernoulli> {
    let model = Linear::new(sizes(key)[0], 1).unwrap();
    Posterior::new(model, Bernoulli, &data(key), priors(key)).unwrap()
}

fn network(key: char) -> Mlp {
    let activation = match key {
        'c' => Activation::Sigmoid,
        'g' | 'h' => Activation::Relu,
        _ => Activation::Tanh,
    };
    Mlp::new(sizes(key), activation).unwrap()
}

/// The posterior of a regression network (d, e, g).
pub fn network_gaussian(key: char) -> Posterior<Mlp, Gaussian> {
    Posterior::new(network(key), Gaussian::sampled(), &data(key), priors(key)).unwrap()
}

/// The posterior of a classification network (c, f).
pub fn network_categorical(key: char) -> Posterior<Mlp, Categorical> {
    Posterior::new(network(key), Categorical, &data(key), priors(key)).unwrap()
}

/// Log density at the test point and norm of its gradient, to ten digits, by an independent implementation in NumPy
/// (float64, its own backpropagation).
const REFERENCE: [(char, f64, f64); 8] = [
    ('a', -11494.87513, 13214.90378),
    ('b', -342.1909939, 120.2622094),
    ('c', -251.9137963, 53.23358512),
    ('d', -2515.370825, 4653.818209),
    ('e', -8936.447776, 13087.69893),
    ('f', -4954.170192, 213.6204231),
    ('g', -10710.04598, 4259.544946),
    ('h', -6040416.231, 22194.06792),
];

/// Panics unless log density and gradient are those of the reference, to 1e-9, in f32 to 1e-5.
pub fn check(key: char) {
    let problem = key.to_ascii_lowercase();
    let (q, mut gradient) = (theta0(problem), gradient(key));
    let mut grad = vec![0.0; q.len()];
    let log_density = gradient(&q, &mut grad);
    let norm = grad.iter().map(|g| g * g).sum::<f64>().sqrt();
    let (_, density, slope) =
        REFERENCE.into_iter().find(|r| r.0 == problem).expect("all are there");
    let allowed = if key.is_uppercase() { 1e-5 } else { 1e-9 };
    for (found, expected) in [(log_density, density), (norm, slope)] {
        assert!((found / expected - 1.0).abs() < allowed, "{key}: {found}, not {expected}");
    }
}

/// A gradient to evaluate: (q, gradient) to log density.
pub type Gradient = Box<dyn FnMut(&[f64], &mut [f64]) -> f64>;

/// The gradient of any problem; `G` and `H` are g and h in f32.
pub fn gradient(key: char) -> Gradient {
    fn boxed<T: GradTarget + 'static>(target: T) -> Gradient {
        let mut ws = target.workspace();
        Box::new(move |q, grad| target.log_density_grad(q, grad, &mut ws).total())
    }
    match key {
        'a' => boxed(linear_gaussian(key)),
        'b' => boxed(linear_bernoulli(key)),
        'c' | 'f' => boxed(network_categorical(key)),
        'G' => {
            let (network, data) = (network('g').in_f32(), data('g'));
            boxed(Posterior::new(network, Gaussian::sampled(), &data, priors('g')).unwrap())
        }
        'H' => {
            let network = network('h').in_f32();
            let posterior = Posterior::new(network, Categorical, &data('h'), priors('h')).unwrap();
            let mut ws = posterior.workspace();
            Box::new(move |q, grad| {
                const ROWS_PER_ROW: f64 = 12_000.0 / 256.0;
                let density = posterior.log_density_grad_at(ROWS_PER_ROW, q, grad, &mut ws);
                ROWS_PER_ROW * density.likelihood + density.prior
            })
        }
        _ => boxed(network_gaussian(key)),
    }
}
