//! The chains that other methods are compared with.

use bnn_mcmc::likelihood::SecondOrderLikelihood;
use bnn_mcmc::optimise::{Adam, Optimiser};
use bnn_mcmc::prelude::*;

/// Weights from which on chains begin at modes, and trajectories are bounded.
const MANY: usize = 3000;

/// The name of the sampler, and its four chains of so many draws after as many iterations of warm-up: NUTS from small weights, or for
/// networks of many weights MAMS from modes that minibatches have found.
pub fn reference<L: SecondOrderLikelihood + Clone>(
    posterior: &Posterior<Mlp, L>,
    nuts: Nuts,
    draws: usize,
    seed: u64,
) -> Result<(&'static str, Draws), Error> {
    let dim = posterior.layout().dim();
    if dim < MANY {
        let start = Init::Around { centre: vec![0.0; dim], sd: 0.1 };
        let run = Sampler::new(posterior, nuts).warmup(draws).draws(draws).seed(seed);
        return Ok(("NUTS", run.init(start).run()?));
    }
    let size = 256.min(posterior.n_obs());
    let adam = Adam { learning_rate: 0.01, steps: 5000, ..Adam::new(Minibatch { size }) };
    let starts = Optimiser::new(posterior, adam).seed(seed).starts(&Init::Random, 4)?;
    let mams = Mams { max_steps: 256, ..Mams::default() };
    let run = Sampler::new(posterior, mams).warmup(draws).draws(draws).seed(seed);
    Ok(("MAMS", run.init(starts).run()?))
}
