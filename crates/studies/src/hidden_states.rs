//! A hidden Markov model as a density of your own, without a gradient or a Jacobian by hand.
//!
//!     cargo run --release -p bnn-mcmc-studies -- hidden_states
//!
//! A machine is in one of two states, which are not seen; from hour to hour it stays in state k with probability P[k, k]. What
//! is seen are waiting times, exponential with rate lambda_k:
//!
//! ```text
//! s_t | s_{t-1} = j ~ P[j, .],   t_t | s_t = k ~ Exp(lambda_k),   lambda_1 < lambda_2
//! P[j, .] ~ Dirichlet(2, 2),     lambda_k ~ half-N(0, 2^2)
//! ```
//!
//! The states are summed out by the forward algorithm (Rabiner, Proceedings of the IEEE 77, 1989, doi:10.1109/5.18626). The rows
//! of P are simplexes, and the rates are in order: without it their names could be exchanged, and each chain would choose its
//! own.

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::{Autodiff, Density, Number};

use crate::shared::{AnyError, Flags};

struct HiddenStates {
    times: Vec<f64>,
}

/// log(e^a + e^b), without overflow.
fn log_sum<N: Number>(a: N, b: N) -> N {
    let (large, small) = if a > b { (a, b) } else { (b, a) };
    large + (small - large).exp().ln_1p()
}

impl Density for HiddenStates {
    fn layout(&self) -> Layout {
        Layout::new().with("p", &[2, 2]).with("lambda", &[2])
    }

    /// `theta` holds the rows of P, then the rates; it keeps to the constraints.
    fn log_density<N: Number>(&self, theta: &[N]) -> (N, N) {
        let (p, lambda) = theta.split_at(4);
        let log_p = [p[0].ln(), p[1].ln(), p[2].ln(), p[3].ln()];
        let seen = |t: f64| [0, 1].map(|k| lambda[k].ln() - lambda[k] * t);
        // log p(times so far, state now), from either state alike.
        let mut state = seen(self.times[0]);
        for t in &self.times[1..] {
            let now = seen(*t);
            let into = |k: usize| log_sum(state[0] + log_p[k], state[1] + log_p[2 + k]);
            state = [into(0) + now[0], into(1) + now[1]];
        }
        let rows: N = log_p.into_iter().sum();
        let rates: N = lambda.iter().map(|l| (*l / 2.0).powi(2)).sum();
        (log_sum(state[0], state[1]), rows - rates * 0.5)
    }
}

pub type Args = Flags;

pub fn run(args: Args) -> Result<(), AnyError> {
    let (stays, rates) = ([0.95, 0.9], [0.5, 3.0]);
    let mut rng = ChainRng::new(args.seed, 1 << 32);
    let mut state = 0;
    let times = (0..300).map(|_| {
        if rng.uniform() > stays[state] {
            state = 1 - state;
        }
        -(1.0 - rng.uniform()).ln() / rates[state]
    });
    let density = HiddenStates { times: times.collect() };

    let constraints = [("p", Constraint::Simplex), ("lambda", Constraint::PositiveOrdered)];
    let target = Constrained::new(Autodiff::new(density), &constraints)?;
    let draws = Sampler::new(&target, Nuts::default())
        .warmup(if args.quick { 300 } else { 1_000 })
        .draws(if args.quick { 200 } else { 1_000 })
        .seed(args.seed)
        .run()?
        .constrained(&target)?;

    println!("300 waiting times, rates {rates:?}, states that stay with probability {stays:?}\n");
    let summary = draws.summary()?;
    println!("{summary}");
    println!("{}", draws.verdict()?);
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out).map_err(|e| Error::io(out, e))?;
        draws.to_csv(out.join("draws.csv"))?;
        summary.to_csv(out.join("summary.csv"))?;
    }
    Ok(())
}
