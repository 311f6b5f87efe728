//! Our side of the comparison with other samplers: `run.py` in this folder runs both.
//!
//! `problem NAME` prints what others need to run the same problem: data, starting points, and log densities at 20 points. `run
//! NAME SAMPLER SEED..` prints a line of JSON for each seed: the mean of each quantity and of its square over all draws, gradients,
//! CPU seconds, divergences, the largest R-hat. Quantities are the parameters, or the outputs of a network at 20 rows.
//!
//! | problem | parameters | density |
//! | --- | --- | --- |
//! | linear | 10 | problem a of `../problems`: a linear regression with 1,000 rows |
//! | logistic | 35 | problem b: a logistic regression with 351 rows |
//! | schools | 10 | eight schools, not centred: mu ~ N(0, 5^2), tau ~ half-Cauchy(5) as log tau, z_j ~ N(0, 1), y_j ~ N(mu + tau z_j, sigma_j^2) |
//! | summers | 3 | posteriordb's kilpisjarvi: y ~ N(alpha + beta x, sigma^2), alpha ~ N(9.313, 100^2), beta ~ N(0, (1/30)^2), sigma > 0 flat, as log sigma; correlation of alpha and beta -0.9999 |
//! | classes | 27 | problem c: a network 4-3-3 with 150 rows |
//! | network | 31 | a network 4-5-1, tanh, on the first 200 rows of problem d, priors N(0, 1) |

use std::f64::consts::PI;

use bnn_mcmc::data::CsvReader;
use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use cpu_time::ProcessTime;
use ndarray::{Array2, Array3, Axis, s};
use serde_json::{Value, json};

const CHAINS: usize = 4;

/// The values of quantities, `[chain, draw, quantity]`.
type Quantities<'p> = Box<dyn Fn(&Draws) -> Array3<f64> + 'p>;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let Some(name) = words.get(1) else {
        println!("nothing to do: `run.py` calls this program");
        return;
    };
    let data = |key| {
        let data = problems::data(key);
        let y = match data.response().classes() {
            Some(classes) => classes.iter().map(|k| *k as f64).collect(),
            None => data.real().unwrap().column(0).to_vec(),
        };
        json!({"x": rows(&data.x().to_owned()), "y": y})
    };
    match &name[..] {
        "linear" => of(&words, &problems::linear_gaussian('a'), data('a'), None),
        "logistic" => of(&words, &problems::linear_bernoulli('b'), data('b'), None),
        "schools" => of(&words, &Schools, json!({"y": Schools::Y, "sd": Schools::SD}), None),
        "summers" => {
            let summers = Summers::new();
            let data = json!({"x": summers.x, "y": summers.y});
            of(&words, &summers, data, None);
        }
        "classes" => {
            let posterior = problems::network_categorical('c');
            let x = problems::data('c').x().slice(s![..20, ..]).to_owned();
            of(&words, &posterior, data('c'), Some(outputs(&posterior, x)));
        }
        "network" => {
            let all = problems::data('d');
            let rows: Vec<usize> = (0..200).collect();
            let some = all.select(&rows).unwrap();
            let priors = Priors::all(Normal::new(0.0, 1.0).unwrap())
                .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
            let model = Mlp::new(&[4, 5, 1], Activation::Tanh).unwrap();
            let posterior = Posterior::new(model, Gaussian::sampled(), &some, priors).unwrap();
            let x = some.x().slice(s![..20, ..]).to_owned();
            let y = some.real().unwrap().column(0).to_vec();
            let data = json!({"x": self::rows(&some.x().to_owned()), "y": y});
            of(&words, &posterior, data, Some(outputs(&posterior, x)));
        }
        _ => panic!("no problem {name}"),
    }
}

fn rows(x: &Array2<f64>) -> Vec<Vec<f64>> {
    x.rows().into_iter().map(|row| row.to_vec()).collect()
}

/// The outputs of a network, or its probabilities of classes, at these rows.
fn outputs<L: Likelihood>(posterior: &Posterior<Mlp, L>, x: Array2<f64>) -> Quantities<'_> {
    Box::new(move |draws| {
        let means = posterior.predict_mean(draws, x.view()).unwrap();
        let (chains, draws, rows, outputs) = means.dim();
        means.into_shape_with_order((chains, draws, rows * outputs)).unwrap()
    })
}

/// Does what the words say with a problem.
fn of<T: GradTarget + Sync>(
    words: &[String],
    target: &T,
    data: Value,
    quantities: Option<Quantities>,
) {
    let dim = target.dim();
    let start = |chain: usize| -> Vec<f64> {
        (0..dim).map(|i| 0.3 * (i as f64 + 7.0 * chain as f64 + 1.0).sin()).collect()
    };
    if words[0] == "problem" {
        let mut ws = target.workspace();
        let points: Vec<Vec<f64>> = (0..20).map(start).collect();
        let densities: Vec<f64> =
            points.iter().map(|q| target.log_density(q, &mut ws).total()).collect();
        let starts = &points[..CHAINS];
        println!(
            "{}",
            json!({"points": points, "log_densities": densities, "starts": starts, "data": data})
        );
        return;
    }
    let sampler = &words[2][..];
    for seed in &words[3..] {
        let seed = seed.parse().unwrap();
        let inits: Vec<Vec<f64>> = (0..CHAINS).map(start).collect();
        let clock = ProcessTime::now();
        macro_rules! run {
            ($kernel:expr, $draws:expr) => {
                Sampler::new(target, $kernel)
                    .chains(CHAINS)
                    .warmup(1000)
                    .draws($draws)
                    .threads(1)
                    .seed(seed)
                    .init(Init::Points(inits))
                    .run()
            };
        }
        let dense = Preconditioner::DenseFromGradients;
        let draws = match sampler {
            "nuts" => run!(Nuts::default(), 1000),
            "nuts-dense" => run!(Nuts { preconditioner: dense, ..Nuts::default() }, 1000),
            "nuts-variances" => {
                let preconditioner = Preconditioner::Diagonal;
                run!(Nuts { preconditioner, ..Nuts::default() }, 1000)
            }
            "mams" => run!(Mams::default(), 1000),
            "long" => run!(Nuts { target_accept: 0.9, ..Nuts::default() }, 25_000),
            _ => panic!("no sampler {sampler}"),
        };
        let seconds = clock.elapsed().as_secs_f64();
        let draws = match draws {
            Ok(draws) => draws,
            Err(error) => {
                println!("{}", json!({"seed": seed, "failed": error.to_string()}));
                continue;
            }
        };
        let values = match &quantities {
            None => draws.values().to_owned(),
            Some(quantities) => quantities(&draws),
        };
        let names = Layout::vector("f", values.dim().2);
        let rhat = Draws::new(names, values.clone()).unwrap().summary().unwrap().max_rhat();
        let mean = |of: fn(f64) -> f64| {
            let sum = values.mapv(of).sum_axis(Axis(0)).sum_axis(Axis(0));
            (sum / (CHAINS * draws.n_draws()) as f64).to_vec()
        };
        println!(
            "{}",
            json!({
                "seed": seed, "means": mean(|x| x), "squares": mean(|x| x * x),
                "gradients": draws.gradient_evals(), "seconds": seconds,
                "divergences": draws.divergences(), "rhat": rhat,
            })
        );
    }
}

/// Eight schools, not centred: q = (mu, log tau, z).
struct Schools;

impl Schools {
    const Y: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
    const SD: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];
}

impl Target for Schools {
    type Workspace = ();

    fn dim(&self) -> usize {
        10
    }

    fn workspace(&self) {}

    fn log_density(&self, q: &[f64], ws: &mut ()) -> LogDensity {
        self.log_density_grad(q, &mut [0.0; 10], ws)
    }
}

impl GradTarget for Schools {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], _: &mut ()) -> LogDensity {
        let (mu, tau, log_root) = (q[0], q[1].exp(), 0.5 * (2.0 * PI).ln());
        let ratio = (tau / 5.0).powi(2);
        let mut prior = -0.5 * (mu / 5.0).powi(2) - log_root - 5f64.ln();
        prior += (2.0 / (5.0 * PI)).ln() - ratio.ln_1p() + q[1];
        let mut likelihood = 0.0;
        (grad[0], grad[1]) = (-mu / 25.0, 1.0 - 2.0 * ratio / (1.0 + ratio));
        for j in 0..8 {
            let (z, sd) = (q[2 + j], Self::SD[j]);
            let residual = (Self::Y[j] - mu - tau * z) / sd;
            likelihood -= 0.5 * residual * residual + log_root + sd.ln();
            prior -= 0.5 * z * z + log_root;
            grad[0] += residual / sd;
            grad[1] += residual / sd * tau * z;
            grad[2 + j] = residual / sd * tau - z;
        }
        LogDensity::new(likelihood, prior)
    }
}

/// Temperatures of summers: q = (alpha, beta, log sigma).
struct Summers {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Summers {
    const ALPHA: [f64; 2] = [9.31290322580645, 100.0];
    const BETA_SD: f64 = 0.0333333333333333;

    fn new() -> Self {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../tests/reference/regressions/kilpisjarvi_mod-kilpisjarvi.csv.gz"
        );
        let data = CsvReader::regression(1).no_header().read_path(path).unwrap().dataset;
        Self { x: data.x().column(0).to_vec(), y: data.real().unwrap().column(0).to_vec() }
    }
}

impl Target for Summers {
    type Workspace = ();

    fn dim(&self) -> usize {
        3
    }

    fn workspace(&self) {}

    fn log_density(&self, q: &[f64], ws: &mut ()) -> LogDensity {
        self.log_density_grad(q, &mut [0.0; 3], ws)
    }
}

impl GradTarget for Summers {
    fn log_density_grad(&self, q: &[f64], grad: &mut [f64], _: &mut ()) -> LogDensity {
        let ([alpha, beta, log_sigma], n) = ([q[0], q[1], q[2]], self.y.len() as f64);
        let (precision, log_root) = ((-2.0 * log_sigma).exp(), 0.5 * (2.0 * PI).ln());
        let [mut sum, mut by_x, mut squares] = [0.0; 3];
        for (x, y) in self.x.iter().zip(&self.y) {
            let residual = y - alpha - beta * x;
            sum += residual;
            by_x += residual * x;
            squares += residual * residual;
        }
        let z = [(alpha - Self::ALPHA[0]) / Self::ALPHA[1], beta / Self::BETA_SD];
        grad[0] = precision * sum - z[0] / Self::ALPHA[1];
        grad[1] = precision * by_x - z[1] / Self::BETA_SD;
        grad[2] = precision * squares - n + 1.0;
        let mut prior = -0.5 * (z[0] * z[0] + z[1] * z[1]) - 2.0 * log_root;
        prior += log_sigma - Self::ALPHA[1].ln() - Self::BETA_SD.ln();
        LogDensity::new(-0.5 * precision * squares - n * (log_sigma + log_root), prior)
    }
}
