//! Draws, data and verdicts that several files use.

use bnn_mcmc::diagnostics::{Cause, Judge, Outcome, Verdict};
use bnn_mcmc::predict::Predictions;
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2, Array3, Axis};

/// An autoregressive process of order 1 with variance 1.
pub fn ar1(chains: usize, draws: usize, phi: f64, seed: u64) -> Array2<f64> {
    let mut rng = ChainRng::new(seed, 0);
    let mut x = Array2::zeros((chains, draws));
    for mut chain in x.rows_mut() {
        let mut state = rng.normal();
        for draw in &mut chain {
            *draw = state;
            state = phi * state + (1.0 - phi * phi).sqrt() * rng.normal();
        }
    }
    x
}

/// Chains in modes of their own, of which each mixes.
pub fn in_modes(draws: usize, phi: f64, seed: u64) -> Array2<f64> {
    let mut x = ar1(4, draws, phi, seed);
    x.outer_iter_mut().enumerate().for_each(|(c, mut x)| x += 3.0 * c as f64);
    x
}

/// Draws `[chain, draw, parameter]`.
pub fn draws_of(parameters: &[Array2<f64>]) -> Array3<f64> {
    let views: Vec<_> = parameters.iter().map(|p| p.view()).collect();
    ndarray::stack(Axis(2), &views).unwrap()
}

/// Normal numbers.
pub fn normals(seed: u64, shape: (usize, usize)) -> Array2<f64> {
    let mut rng = ChainRng::new(seed, 0);
    Array2::from_shape_fn(shape, |_| rng.normal())
}

/// A regression of 40 rows on three features, two of which are correlated, with noise of sd 0.5.
pub fn correlated_features() -> (Array2<f64>, Array1<f64>) {
    let mut rng = ChainRng::new(11, 0);
    let mut x = Array2::from_shape_fn((40, 3), |_| rng.normal());
    for i in 0..40 {
        x[(i, 2)] = 0.8 * x[(i, 1)] + 0.6 * x[(i, 2)];
    }
    let y = Array1::from_shape_fn(40, |i| {
        1.0 + 2.0 * x[(i, 0)] - x[(i, 1)] + 0.5 * x[(i, 2)] + 0.5 * rng.normal()
    });
    (x, y)
}

/// The verdict on one quantity.
pub fn verdict(draws: &Array2<f64>) -> Verdict {
    let verdict = Judge::new().quantity("log-likelihood", draws.view()).judge().unwrap();
    println!("{verdict}");
    verdict
}

/// A text with `#` for its numbers, where these depend on draws.
pub fn without_numbers(text: &str) -> String {
    let word = |word: &str| {
        let number = word.trim_end_matches([',', ';', ':', ')']);
        match number.parse::<f64>() {
            Ok(_) => format!("#{}", &word[number.len()..]),
            Err(_) => word.to_string(),
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The verdict with other numbers in place of those that are computed from draws, whose last digits
/// differ between processors: its sentence is for the golden file.
pub fn in_round_numbers(verdict: &Verdict) -> Verdict {
    let mut round = verdict.clone();
    let set = |value: &mut f64, to: f64| {
        if !value.is_nan() {
            *value = to;
        }
    };
    match &mut round.outcome {
        Outcome::Converged { max_rhat, min_ess } | Outcome::NoParameters { max_rhat, min_ess } => {
            set(max_rhat, 1.005);
            set(min_ess, 2310.0);
        }
        Outcome::NearlyConverged { max_rhat, min_ess } => {
            set(max_rhat, 1.03);
            set(min_ess, 120.0);
        }
        Outcome::TooFewDraws { min_ess, .. } => set(min_ess, 150.0),
        Outcome::OneChainDisagrees { rhat_without, max_rhat, .. } => {
            set(rhat_without, 1.01);
            set(max_rhat, 1.5);
        }
        Outcome::ChainsDrift { halves_rhat, max_rhat, .. } => {
            set(halves_rhat, 1.3);
            set(max_rhat, 1.5);
        }
        Outcome::ChainsStuck { max_rhat, .. } | Outcome::ChainsDisagree { max_rhat } => {
            set(max_rhat, 1.5);
        }
        Outcome::OneChain { halves_rhat, drifts } => {
            set(halves_rhat, if *drifts { 1.3 } else { 1.02 });
        }
        Outcome::Divergent { max_rhat, .. } => set(max_rhat, 1.005),
        Outcome::WrongTemperature { max_rhat, temperature, .. } => {
            set(max_rhat, 1.005);
            set(temperature, 0.25);
        }
        _ => {}
    }
    if let Some(Cause::NotArrived { lowest, highest, sd, .. }) = &mut round.cause {
        (*lowest, *highest, *sd) = (1590.0, 1638.0, 4.0);
    }
    round
}

pub fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// A linear posterior on `data`, and `values` `[chain, draw, parameter]` as its draws.
pub fn linear<L: Likelihood>(
    likelihood: L,
    data: &Dataset,
    outputs: usize,
    values: Array3<f64>,
) -> (Posterior<Linear, L>, Draws) {
    let mut priors = Priors::all(Normal::new(0.0, 1.0).unwrap());
    for block in likelihood.layout().blocks() {
        priors = priors.with(&block.name, Normal::new(0.0, 1.0).unwrap());
    }
    let model = Linear::new(data.n_features(), outputs).unwrap();
    let posterior = Posterior::new(model, likelihood, data, priors).unwrap();
    let draws = Draws::new(posterior.layout().clone(), values).unwrap();
    (posterior, draws)
}

/// The same q in each of `n` draws of one chain.
pub fn same(q: &[f64], n: usize) -> Array3<f64> {
    Array3::from_shape_fn((1, n, q.len()), |(_, _, k)| q[k])
}

/// Predictions by a linear model that knows q.
pub fn known<L: Likelihood>(
    likelihood: L,
    data: &Dataset,
    outputs: usize,
    q: &[f64],
    n: usize,
) -> Predictions {
    let (posterior, draws) = linear(likelihood, data, outputs, same(q, n));
    posterior.predict(&draws, data).unwrap()
}

/// One real response, whose posterior predictive draws are `values` but for 1e-13.
pub fn with_draws(values: &[f64], observed: &[f64]) -> Predictions {
    let y = Array1::from(observed.to_vec());
    let data = Dataset::regression(Array2::zeros((y.len(), 1)), y).unwrap();
    let q = Array3::from_shape_fn((1, values.len(), 2), |(_, s, k)| [0.0, values[s]][k]);
    let (posterior, draws) = linear(Gaussian::fixed(1e-14).unwrap(), &data, 1, q);
    posterior.predict(&draws, &data).unwrap()
}

/// Two classes with these probabilities of the second: as one column (Bernoulli) and as two.
pub fn binary(probabilities: &[f64], classes: &[usize]) -> [Predictions; 2] {
    let logit = |p: f64| (p / (1.0 - p)).ln().min(800.0);
    let x = Array2::from_shape_fn((classes.len(), 1), |(i, _)| logit(probabilities[i]));
    let data = Dataset::classification(x, classes.to_vec(), ["no", "yes"]).unwrap();
    let two = known(Categorical, &data, 2, &[0.0, 1.0, 0.0, 0.0], 2);
    [known(Bernoulli, &data, 1, &[1.0, 0.0], 2), two]
}

/// Three classes with these probabilities.
pub fn ternary(probabilities: &[[f64; 3]], classes: &[usize]) -> Predictions {
    let x = Array2::from_shape_fn((classes.len(), 3), |(i, k)| probabilities[i][k].ln());
    let data = Dataset::classification(x, classes.to_vec(), ["a", "b", "long name"]).unwrap();
    let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    known(Categorical, &data, 3, &identity, 2)
}

/// Rows whose responses come from the very distribution that is predicted, unless `noise` or
/// `shift` say otherwise.
pub fn simulated(noise: f64, shift: f64) -> Predictions {
    let x = normals(31, (4_000, 1));
    let z = normals(32, (4_000, 1));
    let y = 2.0 * &x + 0.3 * &z;
    let data = Dataset::regression(x, y).unwrap();
    known(Gaussian::fixed(noise).unwrap(), &data, 1, &[2.0, shift], 500)
}

/// The random numbers of `tests/golden/congruential.py`.
pub struct Congruential(pub u64);

impl Congruential {
    pub fn uniform(&mut self) -> f64 {
        self.0 = (1_103_515_245 * self.0 + 12_345) % (1 << 31);
        self.0 as f64 / (1u64 << 31) as f64
    }
    /// Nearly normal.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}
