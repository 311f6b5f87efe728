//! Simulations of a posterior of this crate.

use ndarray::{Array3, s};

use super::{Sbc, SbcReport, Simulated};
use crate::Error;
use crate::data::Dataset;
use crate::draws::Draws;
use crate::layout::Block;
use crate::likelihood::Likelihood;
use crate::model::Model;
use crate::posterior::Posterior;
use crate::testing::simulated_response;

/// Rows whose mean response is a quantity.
const ROWS: usize = 4;
/// Parameters of one block that are quantities.
const OF_BLOCK: usize = 8;

impl Sbc {
    /// Simulates from the prior and the likelihood of `posterior`, and ranks the true values among the draws that `sample` makes given
    /// the simulated data; its second argument is a seed.
    ///
    /// The features come from `data`, whose response says of what kind the simulated one is, and of how many trials counts are. **Few rows
    /// show more** of a wrong prior or Jacobian, which hardly changes the posterior where the data say much. By default there are half as many rows
    /// as the posterior has parameters, evenly spaced, so that the prior decides in some direction; faults of a likelihood may need more ([`rows`](Self::rows)). Survival times are simulated without censoring. Quantities are the log likelihood, parameters, and the mean response of up to four rows, in its first column. The parameters
    /// are up to eight of each block, evenly spaced; of a network with hidden units, which can be exchanged, not its weights, but their scales (blocks with names such as `log_relevance`).
    ///
    /// # Errors
    /// A prior that cannot be drawn from, simulated responses that the likelihood refuses (a prior so wide that they overflow), draws of
    /// other parameters, and the errors of [`run`](Self::run).
    pub fn run_posterior<M, L>(
        &self,
        posterior: &Posterior<M, L>,
        data: &Dataset,
        sample: impl Fn(&Dataset, u64) -> Result<Draws, Error> + Sync,
    ) -> Result<SbcReport, Error>
    where
        M: Model + Clone,
        L: Likelihood + Clone,
    {
        let dim = posterior.layout().dim();
        let n = match self.rows {
            None => dim.div_ceil(2).min(data.rows()),
            Some(n) if (1..=data.rows()).contains(&n) => n,
            Some(n) => {
                return Err(Error::argument("rows", n, format!("1 to {}", data.rows())));
            }
        };
        let rows = evenly(data.rows(), n);
        let design = data.select(&rows)?;
        let shown = evenly(n, ROWS);
        let weights = posterior.model().layout();
        let is_of_linear =
            |name: &str| ["w", "b", "w0", "b0", "skip"].contains(&name) || name.starts_with("log_");
        let is_linear = weights.blocks().iter().all(|block| is_of_linear(&block.name));
        // Hidden units can be exchanged, so that their weights have no ranks.
        let is_ranked =
            |b: &&Block| is_linear || b.range.start >= weights.dim() || b.name.starts_with("log_");
        let ranked: Vec<usize> = (posterior.layout().blocks().iter().filter(is_ranked))
            .flat_map(|b| evenly(b.range.len(), OF_BLOCK).into_iter().map(|i| b.range.start + i))
            .collect();
        let names = posterior.layout().parameter_names();
        self.run(|rng| {
            let mut truth = vec![0.0; dim];
            posterior.draw_prior(&mut rng.child(0), &mut truth)?;
            let values = Array3::from_shape_fn((1, 1, dim), |(_, _, i)| truth[i]);
            let true_draws = Draws::new(posterior.layout().clone(), values)?;
            let simulated = simulated_response(posterior, &truth, &design, &mut rng.child(1))?;
            let given = posterior.given(&simulated)?;
            let draws = sample(&simulated, (rng.child(2).uniform() * 2f64.powi(53)) as u64)?;
            draws.check_layout("parameters of the draws", posterior.layout())?;
            if let Some(message) = &draws.info().panic {
                return Err(Error::Panic {
                    place: "a simulation".into(),
                    message: message.clone(),
                });
            }

            let mut all = Simulated::new(&given, &truth, &draws)?;
            for &i in &ranked {
                all = all.with(&names[i], truth[i], draws.parameter(&names[i])?);
            }
            let few = simulated.select(&shown)?;
            let (ours, at_truth) = (
                given.predict_mean(&draws, few.x().view())?,
                given.predict_mean(&true_draws, few.x().view())?,
            );
            for i in 0..shown.len() {
                let name = format!("mean of row {}", rows[shown[i]]);
                all = all.with(name, at_truth[[0, 0, i, 0]], ours.slice(s![.., .., i, 0]));
            }
            Ok(all)
        })
    }
}

/// At most `k` of `0..n`, evenly spaced.
fn evenly(n: usize, k: usize) -> Vec<usize> {
    let k = k.min(n);
    (0..k).map(|i| (2 * i + 1) * n / (2 * k)).collect()
}
