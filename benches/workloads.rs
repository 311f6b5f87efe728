//! Twelve fixed workloads, whose instructions `benches/ledger.sh` counts.
//!
//!     cargo run --release -p bnn-mcmc-benches --bin workloads -- nuts
//!
//! All of a process is counted: problems and tables are small beside the work. One thread, so that nothing waits for
//! another. Times depend on the load of a machine, instructions do not.

use std::hint::black_box;
use std::time::Duration;

use bnn_mcmc::data::CsvReader;
use bnn_mcmc::fit::Fit;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Collapsed, Mams};
use ndarray::Array2;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Gradients of problem `key`.
fn gradients(key: char) {
    let (q, mut gradient) = (problems::theta0(key), problems::gradient(key));
    let (mut grad, calls) = (vec![0.0; q.len()], (1e8 / problems::multiply_adds(key)) as usize);
    for _ in 0..calls {
        black_box(gradient(black_box(&q), &mut grad));
    }
}

fn sample<T: Target, A: for<'t> Algorithm<&'t T>>(
    target: &T,
    algorithm: A,
    n: usize,
) -> Result<Draws> {
    let sampler = Sampler::new(target, algorithm).chains(1).warmup(n).draws(n).threads(1);
    Ok(sampler.run()?)
}

/// A network 8-30-1 on 100 rows.
fn wide() -> Result<Posterior<Mlp, Gaussian>> {
    let x = Array2::from_shape_vec((100, 8), problems::normals(21, 800))?;
    let y = x.rows().into_iter().map(|x| x[0].sin() + x[1] * x[2]).collect::<Vec<f64>>();
    let data = Dataset::regression(x, ndarray::Array1::from(y))?;
    let priors = Priors::all(Normal::new(0.0, 1.0)?)
        .with("log_noise_variance", LogInverseGamma::new(2.0, 0.5)?);
    let network = Mlp::new(&[8, 30, 1], Activation::Tanh)?;
    Ok(Posterior::new(network, Gaussian::sampled(), &data, priors)?)
}

/// A table of `rows` rows with five numbers and a label, as text.
fn table(rows: usize) -> String {
    let numbers = problems::normals(22, 5 * rows);
    let row = |(i, x): (usize, &[f64])| {
        let y = x[0] - 0.5 * x[1] + 0.3 * x[4];
        format!("{:.4},{:.4},{:.4},{:.4},{},{y:.4}\n", x[0], x[1], x[2], x[3], ["n", "s"][i % 2])
    };
    "a,b,c,d,e,y\n".to_string() + &numbers.chunks(5).enumerate().map(row).collect::<String>()
}

fn predict() -> Result<()> {
    let posterior = problems::network_gaussian('d');
    let draws = Sampler::new(&posterior, Rwm::default()).chains(2).warmup(0).draws(50).run()?;
    let data = problems::data('d');
    black_box(posterior.predict(&draws, &data)?);
    Ok(())
}

fn search() -> Result<()> {
    let read = CsvReader::regression("y").read(table(30).as_bytes())?;
    let recipe = Fit::regression("y").chains(1).warmup(10).draws(10).seed(1).threads(1);
    // Without time the linear model is tried alone: the networks would take three minutes under valgrind.
    let recipe = recipe.within(Duration::ZERO);
    black_box(recipe.fit_like(&read.dataset, &read.schema)?);
    Ok(())
}

fn main() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or_default();
    match name.as_str() {
        key @ ("a" | "b" | "c" | "d" | "e" | "f" | "g") => key.chars().for_each(gradients),
        "nuts" => drop(sample(&problems::linear_gaussian('a'), Nuts::default(), 100)?),
        "collapsed" => drop(sample(&wide()?, Collapsed::new(Mams::default()), 20)?),
        "predict" => predict()?,
        "read" => {
            let text = table(5_000);
            black_box(CsvReader::regression("y").read(text.as_bytes())?);
        }
        "search" => search()?,
        _ => {
            return Err(format!(
                "`{name}` is none of a to g, nuts, collapsed, predict, read, search"
            )
            .into());
        }
    }
    Ok(())
}
