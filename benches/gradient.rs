//! One gradient of the log posterior, of the problems in `problems`; then of a network 8-H-1 with its output
//! layer, with that integrated out, and so in f32 (a force).
//!
//!     cargo bench --bench gradient
//!
//! Printed first: evaluations per second (median), GFLOP/s of the operations needed, the share of one
//! core's peak for fused multiply-adds (in f64; twice that in f32), measured in the same run, and the share of the floor, which is the
//! time of these operations at the peak and of the elementary functions as fast as this crate computes them on data in the first
//! cache ([`Elementary`]); then criterion's own report.

use std::hint::black_box;

use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::Forces;
use criterion::Criterion;
use problems::machine::{median_seconds, peak_gflops};

/// Seconds of elementary functions: what they add to a gradient on 1,024 rows of one feature.
struct Elementary {
    tanh: f64,
    sigmoid: f64,
    /// Of a Bernoulli row, beside a Gaussian one.
    bernoulli: f64,
    /// Of a categorical row of two and of three classes, beside a Gaussian one with as many responses.
    categorical: [f64; 2],
}

impl Elementary {
    fn measured() -> Result<Self, Error> {
        const ROWS: usize = 1024;
        const UNITS: usize = 32;
        fn gradient<M: Model, L: Likelihood>(
            model: M,
            likelihood: L,
            data: &Dataset,
        ) -> Result<f64, Error> {
            let priors = Priors::all(Normal::new(0.0, 1.0)?);
            let posterior = Posterior::new(model, likelihood, data, priors)?;
            let q = problems::normals(14, posterior.layout().dim());
            let (mut grad, mut ws) = (q.clone(), posterior.workspace());
            let seconds = median_seconds(|| {
                black_box(posterior.log_density_grad(black_box(&q), &mut grad, &mut ws));
            });
            Ok(seconds / ROWS as f64)
        }
        let x = ndarray::Array2::from_shape_vec((ROWS, 1), problems::normals(13, ROWS)).unwrap();
        let real = |columns: usize| {
            let y = ndarray::Array2::from_shape_fn((ROWS, columns), |(i, _)| x[(i, 0)].sin());
            Dataset::regression(x.clone(), y)
        };
        let classes = |classes: usize| {
            let names: Vec<String> = (0..classes).map(|class| class.to_string()).collect();
            Dataset::classification(x.clone(), (0..ROWS).map(|i| i % classes).collect(), names)
        };
        let normal = || Gaussian::fixed(0.5);
        let of = |activation| gradient(Mlp::new(&[1, UNITS, 1], activation)?, normal()?, &real(1)?);
        let linear = |outputs| Linear::new(1, outputs);
        let relu = of(Activation::Relu)?;
        let plain = |columns| gradient(linear(columns)?, normal()?, &real(columns)?);
        let categorical =
            |k| Ok::<_, Error>(gradient(linear(k)?, Categorical, &classes(k)?)? - plain(k)?);
        Ok(Self {
            tanh: (of(Activation::Tanh)? - relu) / UNITS as f64,
            sigmoid: (of(Activation::Sigmoid)? - relu) / UNITS as f64,
            bernoulli: gradient(linear(1)?, Bernoulli, &classes(2)?)? - plain(1)?,
            categorical: [categorical(2)?, categorical(3)?],
        })
    }

    /// Seconds in a gradient of a problem.
    fn of(&self, problem: char) -> f64 {
        let Self { tanh, sigmoid, bernoulli, categorical: [two, three] } = self;
        let of_row = match problem {
            'b' => *bernoulli,
            'c' => 3.0 * sigmoid + three,
            'd' => 10.0 * tanh,
            'e' => 16.0 * tanh,
            'f' => 50.0 * tanh + two,
            _ => 0.0,
        };
        of_row * problems::data(problem).rows() as f64
    }
}

/// The gradients of the posterior and of its marginal. Operations of the latter: the first layer forward and back,
/// the lower triangle of Phi' Phi, Phi A^-1, and the products with the response, the mean and the residuals.
fn with_and_without_output_layer(rows: usize, units: usize, peak: f64, criterion: &mut Criterion) {
    let x = ndarray::Array2::from_shape_vec((rows, 8), problems::normals(9, 8 * rows)).unwrap();
    let y = x.column(0).mapv(|x| (2.0 * x).sin());
    let data = Dataset::regression(x, y).unwrap();
    let network = Mlp::new(&[8, units, 1], Activation::Tanh).unwrap();
    let priors = Priors::by_fan_in(&network)
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5).unwrap());
    let joint = Posterior::new(network, Gaussian::sampled(), &data, priors).unwrap();
    let marginal = joint.collapsed().unwrap();
    let (n, h) = (rows as f64, units as f64);
    let m = h + 1.0;
    let operations =
        [2.0 * n * (2.0 * 8.0 * h + 3.0 * h), n * (4.0 * 8.0 * h + 3.0 * m * m + 6.0 * m)];
    let q = problems::normals(10, joint.layout().dim());
    let mut v = vec![0.0; marginal.dim()];
    marginal.gather(&q, &mut v);
    let forced = marginal.clone().with_forces(Forces::F32);
    let (mut joint_ws, mut ws, mut forced_ws) =
        (joint.workspace(), marginal.workspace(), forced.workspace());
    let mut of_joint =
        |grad: &mut [f64]| joint.log_density_grad(black_box(&q), grad, &mut joint_ws);
    let mut of_marginal =
        |grad: &mut [f64]| marginal.log_density_grad(black_box(&v), grad, &mut ws);
    let mut of_force = |force: &mut [f64]| forced.force(black_box(&v), force, &mut forced_ws);
    type Gradient<'a> = &'a mut dyn FnMut(&mut [f64]) -> LogDensity;
    let gradients: [(Gradient, &str, f64, f64); 3] = [
        (&mut of_joint, "posterior", operations[0], peak),
        (&mut of_marginal, "marginal", operations[1], peak),
        (&mut of_force, "force in f32", operations[1], 2.0 * peak),
    ];
    for (gradient, name, operations, peak) in gradients {
        let mut grad = vec![0.0; if name == "posterior" { q.len() } else { v.len() }];
        let seconds = median_seconds(|| {
            black_box(gradient(&mut grad));
        });
        let (gflops, name) = (operations / seconds / 1e9, format!("{name} 8-{units}-1, {rows}"));
        println!("{name:26} {:12.0} {gflops:10.2} {:10.1}", 1.0 / seconds, 100.0 * gflops / peak);
        criterion.bench_function(&format!("gradient/{name}"), |b| b.iter(|| gradient(&mut grad)));
    }
}

fn main() -> Result<(), Error> {
    let mut criterion = Criterion::default().configure_from_args();
    let peak = peak_gflops();
    println!("peak: {peak:.1} GFLOP/s in f64 on one core");
    let elementary = Elementary::measured()?;
    let [tanh, sigmoid] = [elementary.tanh, elementary.sigmoid].map(|s| 1e9 * s);
    let [bernoulli, two, three] =
        [elementary.bernoulli, elementary.categorical[0], elementary.categorical[1]]
            .map(|s| 1e9 * s);
    println!(
        "tanh {tanh:.2} ns, sigmoid {sigmoid:.2}; a row of Bernoulli {bernoulli:.2}, of two classes {two:.2}, of three {three:.2}\n"
    );
    println!(
        "{:8} {:>12} {:>10} {:>10} {:>10}",
        "problem", "evals/s", "GFLOP/s", "% of peak", "% of floor"
    );
    for key in ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'G'] {
        let (peak, problem) = if key == 'G' { (2.0 * peak, 'g') } else { (peak, key) };
        let name = if key == 'G' { "g f32".to_string() } else { key.to_string() };
        let (q, mut gradient) = (problems::theta0(problem), problems::gradient(key));
        let mut grad = vec![0.0; q.len()];
        let seconds = median_seconds(|| {
            black_box(gradient(black_box(&q), &mut grad));
        });
        let operations = 2.0 * problems::multiply_adds(problem);
        let gflops = operations / seconds / 1e9;
        let floor = operations / (1e9 * peak) + elementary.of(problem);
        let [of_peak, of_floor] = [gflops / peak, floor / seconds].map(|share| 100.0 * share);
        println!("{name:8} {:12.0} {gflops:10.2} {of_peak:10.1} {of_floor:10.1}", 1.0 / seconds);
        criterion.bench_function(&format!("gradient/{name}"), |b| {
            b.iter(|| gradient(black_box(&q), &mut grad));
        });
    }
    println!("\n{:26} {:>12} {:>10} {:>10}", "8-H-1, rows", "evals/s", "GFLOP/s", "% of peak");
    for (rows, units) in [(200, 10), (900, 100), (7_373, 100)] {
        with_and_without_output_layer(rows, units, peak, &mut criterion);
    }
    criterion.final_summary();
    Ok(())
}
