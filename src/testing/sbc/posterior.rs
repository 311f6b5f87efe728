//! Simulations of a posterior of this crate.

use ndarray::{Array3, s};

use super::{Sbc, SbcReport, Simulated};
use crate::Error;
use crate::data::Dataset;
use crate::draws::Draws;
use crate::likelihood::Likelihood;
use crate::model::Model;
use crate::posterior::Posterior;
use crate::testing::simulated_response;

/// Rows whose mean response is a quantity.
const ROWS: usize = 4;

impl Sbc {
    /// Simulates from the prior and the likelihood of `posterior`, and ranks the true values among the draws that `sample` makes given
    /// the simulated data; its second argument is a seed.
    ///
    /// The features are those of `data`, whose response says of what kind the simulated one is, and of how many trials counts are. **Few rows
    /// show more** of a wrong prior or Jacobian, which hardly changes the posterior where the data say much. By default there are half as many rows
    /// as the posterior has parameters, evenly spaced, so that the prior decides in some direction; faults of a likelihood may need more ([`rows`](Self::rows)). Survival times are simulated without censoring. Quantities are the log likelihood, all parameters
    /// but a network's weights (of a linear model these, too), and the mean response of up to four rows, in its first column.
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
        let rows: Vec<usize> = (0..n).map(|i| (2 * i + 1) * data.rows() / (2 * n)).collect();
        let design = data.select(&rows)?;
        let shown: Vec<usize> =
            (0..n.min(ROWS)).map(|i| (2 * i + 1) * n / (2 * n.min(ROWS))).collect();
        // Hidden units can be exchanged, so that their weights have no ranks.
        let weights = posterior.model().layout();
        let is_linear = weights.blocks().iter().all(|b| ["w", "b"].contains(&&b.name[..]));
        let weights = weights.dim();
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
            for (name, i) in posterior.layout().parameter_names().into_iter().zip(0..) {
                if i >= weights || is_linear {
                    all = all.with(&name, truth[i], draws.parameter(&name)?);
                }
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
