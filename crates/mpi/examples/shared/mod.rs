//! The settings of a run, and what is said of it.

use std::path::{Path, PathBuf};

use bnn_mcmc::draws::Draws;
use bnn_mcmc::prelude::*;
use bnn_mcmc::sampler::{Algorithm, Every};
use bnn_mcmc::targets::Target;

#[derive(clap::Args, Clone, Debug)]
pub struct Run {
    #[arg(long, default_value_t = 4)]
    pub chains: usize,
    #[arg(long, default_value_t = 500)]
    pub warmup: usize,
    #[arg(long, default_value_t = 500)]
    pub draws: usize,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The file of a checkpoint, from which the run goes on.
    #[arg(long)]
    pub checkpoint: Option<PathBuf>,
    /// A CSV file for the draws.
    #[arg(long)]
    pub out: Option<PathBuf>,
}

/// Catches SIGUSR1 and SIGTERM, on every rank: on rank 0 they end the run, and on the others nothing, since `mpirun` passes them on to
/// all.
pub fn listen() -> std::io::Result<StopHandle> {
    let stop = StopHandle::new();
    for signal in [signal_hook::consts::SIGUSR1, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stop.flag())?;
    }
    Ok(stop)
}

impl Run {
    /// Runs the sampler, until it is asked to end.
    pub fn sample<'t, T: Target, A>(
        &self,
        sampler: Sampler<'t, T, A>,
        stop: &StopHandle,
    ) -> Result<Draws, Error>
    where
        A: Algorithm<&'t T> + serde::Serialize,
    {
        let sampler = sampler.chains(self.chains).warmup(self.warmup).draws(self.draws);
        let sampler = sampler.seed(self.seed).stop_handle(stop);
        match &self.checkpoint {
            Some(path) => sampler.checkpoint(path, Every::Draws(20)).run(),
            None => sampler.run(),
        }
    }

    /// Says what came of a run, and writes its draws; returns whether it is whole.
    pub fn report(&self, draws: &Draws, ranks: usize) -> Result<bool, Error> {
        if draws.info().stopped_early {
            println!("ended after {} draws: the same command goes on", draws.n_draws());
            return Ok(false);
        }
        let info = draws.info();
        let seconds = info.warmup_seconds + info.sampling_seconds;
        println!("{ranks} ranks, {seconds:.1} s\n{}", draws.verdict()?);
        self.out.as_ref().map_or(Ok(()), |path| draws.to_csv(path))?;
        Ok(true)
    }
}

/// Writes the draws of a part, in the place of what a run before has left, if they are all that it was asked for; returns whether they
/// are.
#[allow(dead_code)]
pub fn save_part(draws: &Draws, path: &Path) -> Result<bool, Box<dyn std::error::Error>> {
    if draws.info().stopped_early {
        return Ok(false);
    }
    if path.exists() {
        std::fs::remove_dir_all(path)?;
    }
    draws.to_zarr(path)?;
    Ok(true)
}
