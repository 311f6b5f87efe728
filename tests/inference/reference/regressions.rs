//! Linear regressions in the units of their tables, by NUTS with a dense metric.

use bnn_mcmc::prelude::*;
use flate2::read::GzDecoder;
use ndarray::{Array2, Axis, s};

use super::{Reference, Run, folder};

/// x = log sd^2 with sd ~ half-N(0, scale^2): a prior of one's own.
#[derive(Debug)]
struct LogHalfNormal(f64);

impl Prior for LogHalfNormal {
    fn log_density(&self, x: &[f64]) -> f64 {
        let constant = -0.5 * std::f64::consts::TAU.ln() - self.0.ln();
        x.iter().map(|x| constant + 0.5 * x - 0.5 * x.exp() / self.0.powi(2)).sum()
    }

    fn add_grad(&self, x: &[f64], grad: &mut [f64]) -> f64 {
        let each = grad.iter_mut().zip(x);
        each.for_each(|(grad, x)| *grad += 0.5 - 0.5 * x.exp() / self.0.powi(2));
        self.log_density(x)
    }

    fn draw(&self, rng: &mut ChainRng, x: &mut [f64]) -> Result<(), Error> {
        x.fill_with(|| 2.0 * (self.0 * rng.normal().abs()).ln());
        Ok(())
    }
}

fn table(name: &str) -> Array2<f64> {
    let file = folder().join("regressions").join(format!("{name}.csv.gz"));
    let text = std::io::read_to_string(GzDecoder::new(std::fs::File::open(file).unwrap())).unwrap();
    let rows: Vec<Vec<f64>> = text
        .lines()
        .map(|line| line.split(',').map(|cell| cell.trim().parse().unwrap()).collect())
        .collect();
    let columns = rows[0].len();
    Array2::from_shape_vec((rows.len(), columns), rows.concat()).unwrap()
}

pub fn run(name: &str, reference: &Reference) -> Run {
    let table = table(name);
    let d = table.ncols() - 1;
    let (x, y) = (table.slice(s![.., ..d]).to_owned(), table.column(d).to_owned());
    let mut centre = vec![0.0; d + 2];
    (centre[d], centre[d + 1]) = (y.mean().unwrap(), y.var(0.0).ln());
    let normal = |mean: f64, sd: f64| Normal::new(mean, sd).unwrap();
    let priors = Priors::new();
    let priors = match &reference.prior_coefficients[..] {
        "flat" => priors.with("w", Flat::of_numbers()).with("b", Flat::of_numbers()),
        "N(0, 10^2)" => match reference.intercept {
            true => Priors::all(normal(0.0, 10.0)),
            false => priors.with("w", normal(0.0, 10.0)),
        },
        "N(0, 1), intercept Student-t(3, 8, 10); columns are centred in the file" => {
            let intercept = StudentT::new(3.0, 8.0, 10.0).unwrap();
            priors.with("w", normal(0.0, 1.0)).with("b", intercept)
        }
        "intercept N(9.31290322580645, 100^2), slope N(0, 0.0333333333333333^2)" => {
            let slope = normal(0.0, 0.0333333333333333);
            priors.with("w", slope).with("b", normal(9.31290322580645, 100.0))
        }
        other => panic!("{name}: {other}"),
    };
    let noise = "log_noise_variance";
    let priors = match &reference.prior_sigma[..] {
        "flat" => priors.with(noise, Flat::of_sd()),
        "half-Cauchy(0, 2.5)" => priors.with(noise, LogHalfCauchy::new(2.5).unwrap()),
        "half-Student-t(3, 0, 10)" => priors.with(noise, LogHalfT::new(3.0, 10.0).unwrap()),
        "half-normal(0, 10)" => priors.with(noise, LogHalfNormal(10.0)),
        other => panic!("{name}: {other}"),
    };
    let mut model = Linear::new(d, 1).unwrap();
    if !reference.intercept {
        model = model.without_bias();
        centre.remove(d);
    }
    let data = Dataset::regression(x, y.insert_axis(Axis(1))).unwrap();
    let posterior = Posterior::new(model, Gaussian::sampled(), &data, priors).unwrap();
    let nuts = Nuts { preconditioner: Preconditioner::Dense, ..Nuts::default() };
    let draws = Sampler::new(&posterior, nuts)
        .init(Init::Around { centre, sd: 1e-3 })
        .warmup(1_000)
        .draws(1_500)
        .seed(1)
        .run()
        .unwrap();
    // The reference has the intercept first, or beside sigma where it is of centred columns.
    let first = reference.intercept && name != "diamonds-diamonds";
    Run::new(&draws, |q| {
        let sigma = (0.5 * q[q.len() - 1]).exp();
        match first {
            true => [q[d]].into_iter().chain(q[..d].iter().copied()).chain([sigma]).collect(),
            false => q[..q.len() - 1].iter().copied().chain([sigma]).collect(),
        }
    })
}
