//! Simulation-based calibration of the model and the sampler of a fit.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::told::Listener;
use super::{Origin, Plan, Recipe};
use crate::Error;
use crate::data::{Dataset, Schema};
use crate::message::{Setting, count, duration};
use crate::testing::{Sbc, SbcReport};

/// The chains of a simulation, their iterations of warm-up and their draws, where they were not given.
const SIZES: [usize; 3] = [2, 500, 1000];
/// The most rows that a response is simulated for, where their number is not given.
const ROWS: usize = 200;
/// The time between two lines of progress.
const EVERY: Duration = Duration::from_secs(10);

impl Recipe {
    /// Simulation-based calibration of this model and its sampler on rows like these: whether what comes out of a fit is what was put in
    /// ([`testing::Sbc`](crate::testing::Sbc) has the method). Parameters are drawn from the priors of the fit and responses from its likelihood, in
    /// standardised units and for the features of the training rows (200 of them, evenly spaced, if there are more and [`Sbc::rows`] is not given), and the posterior given them is sampled as the fit would be, with
    /// 2 chains of 500 + 1,000 iterations where their numbers are not given. **The response itself is not looked at**, but for what the model takes from it: scales,
    /// classes, the mean count. So this says whether the sampler can be believed on this model and these features, not whether the model is right for the data.
    ///
    /// The model is chosen by the data first if it is not given. With a schema, of [`fit_like`](Self::fit_like), else of [`fit`](Self::fit).
    ///
    /// ```
    /// use bnn_mcmc::fit::Fit;
    /// use bnn_mcmc::testing::Sbc;
    /// # let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    /// # let data = bnn_mcmc::data::Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin()))?;
    /// let recipe = Fit::regression("y").hidden(&[3]);
    /// let report = recipe.calibrate(&data, None, &Sbc::new().simulations(20))?;
    /// assert!(report.passes(), "{report}");
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// A table that the recipe cannot be fitted to; rows with weights, completed tables, and an ensemble, which is not a sample of the
    /// posterior; the errors of [`Sbc::run_posterior`]; if the run was asked to end.
    pub fn calibrate(
        &self,
        data: &Dataset,
        schema: Option<&Schema>,
        sbc: &Sbc,
    ) -> Result<SbcReport, Error> {
        if self.is_ensemble() {
            let allowed = "a sampler of the posterior, which alone can be calibrated".to_string();
            return Err(Error::argument("method", "an ensemble", allowed).of(Setting::Method));
        }
        if self.decided.imputed.is_some() || self.settings.impute.is_some() {
            let allowed = "a table without missing values: responses are simulated for whole rows"
                .to_string();
            return Err(Error::argument("data", "a table completed by imputation", allowed));
        }
        let (recipe, origin) = match schema {
            Some(schema) => self.like(data, schema)?,
            None => (self.clone(), Origin::default()),
        };
        let chosen = recipe.for_rows(data)?;
        chosen.constant_features(data, &origin)?;
        let (chosen, data, origin) = chosen.of_most_rows(Cow::Borrowed(data), origin)?;
        let chosen = chosen.settled(&data, &origin)?;
        let (data, origin) = chosen.of_drawn(data, origin)?;
        let [chains, warmup, draws] = SIZES;
        let mut recipe = chosen
            .chains(self.settings.chains.unwrap_or(chains))
            .warmup(self.settings.warmup.unwrap_or(warmup))
            .draws(self.settings.draws.unwrap_or(draws));
        (recipe.decided.most_draws, recipe.here.folder, recipe.here.only_chains) =
            (None, None, None);
        (recipe.here.threads, recipe.here.listener) = (None, Listener::None);
        let plan = Plan::new(recipe, data, origin)?;
        let (Plan { recipe, posterior, .. }, train) = (&plan, plan.train()?);

        let (began, done, said) = (Instant::now(), AtomicUsize::new(0), Mutex::new(EVERY));
        let progress = || {
            let done = 1 + done.fetch_add(1, Ordering::Relaxed);
            let mut next = said.lock().unwrap_or_else(PoisonError::into_inner);
            if began.elapsed() >= *next {
                *next = began.elapsed() + EVERY;
                let (done, time) = (count(done, "simulation"), began.elapsed().as_secs_f64());
                self.report(&format!("calibration {done}, {}", duration(time)));
            }
        };
        let sbc = sbc.clone().or_rows(train.rows().min(ROWS));
        sbc.run_posterior(posterior, &train, |simulated, seed| {
            let given = posterior.given(simulated)?;
            let sampled = &given; //~ calibrated-posterior
            let draws = recipe.clone().seed(seed).sample_of(&plan, sampled, None)?;
            if draws.info().stopped_early && self.here.stop.is_stopped() {
                return Err(Error::Stopped { before: "all simulations were done".into() });
            }
            progress();
            Ok(draws)
        })
    }
}
