//! The methods that are used instead of sampling, all on one posterior, and how far each is from
//! the exact one.

use std::time::Instant;

use bnn_mcmc::approximate::{Dropout, Elbo, LaplaceApproximation, MeanField, Swag, ensemble};
use bnn_mcmc::likelihood::SecondOrderLikelihood;
use bnn_mcmc::optimise::{Adam, Optimiser, Sgd};
use bnn_mcmc::predict::Predictions;
use bnn_mcmc::prelude::*;
use bnn_mcmc::targets::Curvature;

/// How the rivals are fitted.
#[derive(clap::Args, Clone, Debug)]
pub struct Settings {
    /// Members of ensembles.
    #[arg(long, default_value_t = 10)]
    pub members: usize,
    /// Steps of Adam to a mode, over all rows.
    #[arg(long, default_value_t = 3000)]
    pub steps: usize,
    /// Steps of trainings in minibatches of 64 rows: VI, dropout, SWAG.
    #[arg(long, default_value_t = 10_000)]
    pub noisy_steps: usize,
    /// The learning rate of SWAG, for the mean loss of a row; halved until the ascent stays.
    #[arg(long, default_value_t = 0.02)]
    pub swag_rate: f64,
    /// Draws of each distribution that can be drawn from.
    #[arg(long, default_value_t = 1000)]
    pub fitted_draws: usize,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// A method's draws and what they took.
pub struct Rival {
    pub name: String,
    pub draws: Draws,
    pub seconds: f64,
    /// Where the network is linearised for its predictions, if it is.
    linearised: Option<Vec<f64>>,
}

impl Rival {
    pub fn new(name: impl Into<String>, draws: Draws, seconds: f64) -> Self {
        Self { name: name.into(), draws, seconds, linearised: None }
    }

    pub fn predict<L: SecondOrderLikelihood + Clone>(
        &self,
        posterior: &Posterior<Mlp, L>,
        data: &Dataset,
    ) -> Result<Predictions, Error> {
        match &self.linearised {
            None => posterior.predict(&self.draws, data),
            Some(at) => posterior.linearised(at)?.predict(&self.draws, data),
        }
    }
}

/// More coordinates than this have no full Laplace approximation here.
const FULL: usize = 3000;
/// Rates of SWAG are not halved below this.
const LEAST_RATE: f64 = 1e-7;
/// Rates of dropout to choose from.
const RATES: [f64; 4] = [0.05, 0.1, 0.2, 0.5];

/// All of them. The rate of dropout is chosen by `part`, the posterior of a part of the rows, and
/// `rest`, the others.
pub fn rivals<L: SecondOrderLikelihood + Clone>(
    posterior: &Posterior<Mlp, L>,
    (part, rest): (&Posterior<Mlp, L>, &Dataset),
    settings: &Settings,
) -> Result<Vec<Rival>, Error> {
    let (seed, n) = (settings.seed, settings.fitted_draws);
    let (dim, rows) = (posterior.layout().dim(), posterior.n_obs());
    let batch = Minibatch { size: rows.min(64) };
    let noisy =
        Adam { learning_rate: 0.01, steps: settings.noisy_steps, ..Adam::new(batch.clone()) };
    let mut found = Vec::new();
    let timed = |began: Instant| began.elapsed().as_secs_f64();

    let began = Instant::now();
    let adam = Adam { steps: settings.steps, ..Adam::default() };
    let modes = Optimiser::new(posterior, adam).seed(seed);
    let map = modes.run_each(&Init::Random, 1)?;
    let of_map = timed(began);
    let mode = map[0].q.clone();
    found.push(Rival::new("MAP", ensemble(posterior, &map, n)?, of_map));

    let began = Instant::now();
    let members = modes.run_each(&Init::Random, settings.members)?;
    found.push(Rival::new(
        "ensemble",
        ensemble(posterior, &members, n.div_ceil(settings.members))?,
        timed(began),
    ));

    let began = Instant::now();
    let vi = MeanField::new(noisy.clone());
    let draws = vi.fit(&Elbo::local(posterior)?.seed(seed), &mode)?.draws(n, seed)?;
    found.push(Rival::new("mean-field VI", draws, of_map + timed(began)));

    let mut laplace = |name: &str, fit: &dyn Fn() -> Result<LaplaceApproximation, Error>| {
        let began = Instant::now();
        let draws = fit()?.draws(n, seed)?;
        let seconds = of_map + timed(began);
        found.push(Rival::new(format!("Laplace, {name}"), draws.clone(), seconds));
        Ok::<_, Error>((draws, seconds))
    };
    let mut wide = Vec::new();
    if dim <= FULL {
        wide.push((
            "full",
            laplace("full", &|| LaplaceApproximation::full(posterior, &mode, Curvature::Expected))?,
        ));
    }
    wide.push((
        "Kronecker",
        laplace("Kronecker", &|| LaplaceApproximation::kronecker(posterior, &mode))?,
    ));
    // The outputs are linear in the last layer.
    laplace("last layer", &|| {
        LaplaceApproximation::last_layer(posterior, &mode, Curvature::Expected)
    })?;
    for (name, (draws, seconds)) in wide {
        let rival = Rival::new(format!("Laplace, {name}, linear"), draws, seconds);
        found.push(Rival { linearised: Some(mode.clone()), ..rival });
    }

    let began = Instant::now();
    let dropout = Dropout::new(noisy);
    let (chosen, _) = dropout.choose_rate(part, rest, &RATES, &Init::Random, seed)?;
    let dropout = Dropout { rate: chosen.rate, ..dropout };
    let fit = dropout.fit(posterior, &Init::Random, seed)?;
    let name = format!("dropout at {}", fit.rate);
    found.push(Rival::new(name, fit.draws(n, seed)?, timed(began)));

    let starts = Init::Points(members.into_iter().map(|fit| fit.q).collect());
    for (name, starts, members, before) in [
        ("SWAG", Init::Points(vec![mode]), 1, of_map),
        ("multi-SWAG", starts, settings.members, found[1].seconds),
    ] {
        let began = Instant::now();
        let mut rate = settings.swag_rate;
        let fit = loop {
            // The gradient is a sum over rows.
            let sgd = Sgd {
                learning_rate: rate / rows as f64,
                steps: settings.noisy_steps,
                ..Sgd::new(batch.clone())
            };
            let swag = Swag { burn_in: settings.noisy_steps / 4, ..Swag::new(sgd) };
            match swag.fit(posterior, &starts, members, seed) {
                Err(_) if rate > LEAST_RATE => rate /= 2.0,
                fit => break fit?,
            }
        };
        let name = format!("{name} at {rate:.1e}");
        found.push(Rival::new(name, fit.draws(n.div_ceil(members), seed)?, before + timed(began)));
    }
    Ok(found)
}
