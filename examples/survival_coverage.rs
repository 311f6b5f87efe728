//! How often the intervals of medians of survival times hold the true median: simulated sets with 30 and 70 % of the
//! times right-censored, from linear log-normal and Weibull models, fitted by `Fit::survival` with its priors.
//!
//! `cargo run --release --example survival_coverage -- [sets, by default 100]`

use bnn_mcmc::fit::{Fit, Noise};
use bnn_mcmc::prelude::*;
use ndarray::{Array1, Array2};

const ROWS: usize = 200;
/// Rows at which medians are judged in each set.
const JUDGED: usize = 20;

/// log T = 1 + 0.8 x_1 - 0.5 x_2 + 0.6 Z.
fn location(x: ndarray::ArrayView1<f64>) -> f64 {
    1.0 + 0.8 * x[0] - 0.5 * x[1]
}

const SIGMA: f64 = 0.6;

fn noise(family: Noise, rng: &mut ChainRng) -> f64 {
    match family {
        Noise::Weibull => (-(1.0 - rng.uniform()).ln()).ln(),
        _ => rng.normal(),
    }
}

/// The end at which a share of the times is censored: times to censoring are the end times U(0.5, 1.5).
fn end(family: Noise, share: f64) -> f64 {
    let mut rng = ChainRng::new(7, 0);
    let ratios = (0..200_000).map(|_| {
        let x = Array1::from_vec(vec![rng.normal(), rng.normal()]);
        let time = (location(x.view()) + SIGMA * noise(family, &mut rng)).exp();
        time / (0.5 + rng.uniform())
    });
    let mut ratios: Vec<f64> = ratios.collect();
    ratios.sort_by(f64::total_cmp);
    ratios[((1.0 - share) * ratios.len() as f64) as usize]
}

fn main() -> Result<(), Error> {
    let sets: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(100);
    println!(
        "{sets} sets of {ROWS} rows, 90 % intervals of the medians of {JUDGED} new rows of each\n"
    );
    println!(
        "| family | censored | coverage of the median | standard error | mean width / median |"
    );
    println!("| --- | --- | --- | --- | --- |");
    for (family, name) in [(Noise::LogNormal, "log-normal"), (Noise::Weibull, "Weibull")] {
        for share in [0.3, 0.7] {
            let end = end(family, share);
            let (mut covered, mut censored, mut width) = (Vec::new(), 0, 0.0);
            for set in 0..sets {
                let mut rng = ChainRng::new(set + 1, 0);
                let mut normals = |rows| Array2::from_shape_simple_fn((rows, 2), || rng.normal());
                let (x, new) = (normals(ROWS), normals(JUDGED));
                let mut rng = ChainRng::new(set + 1, 1);
                let (mut time, mut event) = (Array1::zeros(ROWS), vec![false; ROWS]);
                for i in 0..ROWS {
                    let t = (location(x.row(i)) + SIGMA * noise(family, &mut rng)).exp();
                    let c = end * (0.5 + rng.uniform());
                    (time[i], event[i]) = (t.min(c), t <= c);
                    censored += usize::from(t > c);
                }
                let data = Dataset::survival(x, time, &event)?;
                let recipe = Fit::survival("time").noise(family).hidden(&[]).seed(set);
                let fit = recipe.chains(2).warmup(300).draws(1000).fit(&data)?;
                let predicted = fit.predict_new(new.view())?.predictions;
                let survival = predicted.survival()?;
                let interval = survival.interval(survival.medians().view(), 0.9)?;
                let mut hits = 0.0;
                for row in 0..JUDGED {
                    let z = if family == Noise::Weibull { 2f64.ln().ln() } else { 0.0 };
                    let truth = (location(new.row(row)) + SIGMA * z).exp();
                    let (lower, upper) = (interval.lower[(row, 0)], interval.upper[(row, 0)]);
                    hits += f64::from(u8::from(lower <= truth && truth <= upper));
                    width += (upper - lower) / truth / (JUDGED as f64 * sets as f64);
                }
                covered.push(hits / JUDGED as f64);
            }
            let covered = Array1::from(covered);
            let error = covered.std(1.0) / (sets as f64).sqrt();
            let share = censored as f64 / (sets as f64 * ROWS as f64);
            let mean = covered.mean().unwrap_or(f64::NAN);
            println!("| {name} | {:.0} % | {mean:.3} | {error:.3} | {width:.2} |", 100.0 * share);
        }
    }
    Ok(())
}
