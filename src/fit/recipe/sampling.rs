//! The run of a recipe: the method, its sizes, and when it ends.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use rand::RngCore;
use serde::Serialize;

use super::{FitPosterior, MOST_NUMBERS, MOST_UNITS, NEARLY, Recipe, SHORT, START, Sizes};
use crate::Error;
use crate::draws::Draws;
use crate::fit::choices::Method;
use crate::fit::time::LEAST;
use crate::fit::told::{Listener, Told};
use crate::fit::{Plan, imputed};
use crate::memory::limit;
use crate::message::{Advice, Setting, count};
use crate::run::check_layout;
use crate::sampler::{Collapsed, Hmc, Init, Mams, Nuts, PowerPosteriors, Sampler, progress_report};
use crate::targets::Target;

impl Recipe {
    /// Whether a run may end with these draws: the chains have converged, or more draws would not be enough. If they have not
    /// converged, it says what becomes of it.
    pub(super) fn are_enough(&self, plan: &Plan, draws: &Draws) -> bool {
        // The last doubling is for chains that have nearly converged.
        let is_last = self.decided.most_draws.is_some_and(|most| 2 * draws.n_draws() >= most);
        // A verdict that cannot be passed now is passed on the whole run.
        let Ok(verdict) = plan.judged(draws).and_then(|judged| judged.verdict()) else {
            return is_last;
        };
        let (is_enough, times) = match self.settles() {
            true => (verdict.is_settled(), verdict.times_to_settle()),
            false => (verdict.is_converged(), verdict.times_to_converge()),
        };
        if is_enough {
            return true;
        }
        let ends = is_in_vain(times, is_last);
        self.report(&format!(
            "{:11} after {} of each chain R-hat is up to {:.3}, with {}{}",
            if ends { "ends" } else { "goes on" },
            count(draws.n_draws(), "draw"),
            verdict.max_rhat(),
            count(verdict.min_ess() as usize, "effective draw"),
            verdict.left_open(),
        ));
        ends
    }

    /// An error unless `draws` can be of a run of this recipe.
    pub(in crate::fit) fn check_draws(&self, draws: &Draws) -> Result<(), Error> {
        let info = draws.info();
        let sizes = self.sizes();
        let n = if info.stopped_early { draws.n_draws() } else { sizes.draws };
        let chains = info.part.as_ref().map_or(draws.n_chains(), |part| part.of);
        for (name, found, expected) in [
            ("seed", info.seed, self.seed_of_draws()),
            ("warmup", info.warmup as u64, sizes.warmup as u64),
            ("chains", chains as u64, sizes.chains as u64),
            ("draws", draws.n_draws() as u64, n as u64),
        ] {
            if found != expected {
                return Err(Error::argument(name, found, expected.to_string()));
            }
        }
        match info.target {
            Some(_) => Ok(()),
            None => Err(Error::argument("target of the draws", "unknown", "that of a run")),
        }
    }

    /// The seed of the sampler. Completed tables have seeds of their own.
    pub(super) fn seed_of_draws(&self) -> u64 {
        match self.decided.imputed {
            None => self.settings.seed,
            Some(table) => imputed::rng(self.settings.seed, table).child(0).next_u64(), //~ seed-of-table
        }
    }

    /// The method; if none was given, it depends on whether the output layer can be integrated out,
    /// for a response of this many columns.
    pub(in crate::fit) fn chosen_method(&self, columns: usize) -> Method {
        match self.settings.method {
            Some(method) => method,
            None if self.can_collapse(columns) && !self.decided.has_many_groups => {
                Method::Collapsed
            }
            None => Method::Nuts,
        }
    }

    /// Whether the output weights of the mean can be integrated out of a network at a reasonable cost, for
    /// so many columns of a response.
    pub(in crate::fit) fn can_collapse(&self, columns: usize) -> bool {
        let has_groups = !self.reader.groupings().is_empty();
        self.kind().can_collapse(columns, self.is_weighted())
            && self.layers().last().map_or(has_groups, |units| *units <= MOST_UNITS)
    }

    /// Whether rows have weights, as far as is known: of a recipe before its rows, whether a column of them is named.
    pub(super) fn is_weighted(&self) -> bool {
        self.decided.is_weighted || self.reader.weights_column().is_some()
    }

    /// Whether anything of a network is left where the output layer is integrated out: hidden layers, a model of
    /// the noise, or scales of groups.
    pub(super) fn has_rest(&self) -> bool {
        !self.layers().is_empty() || self.kind().is_by_row() || !self.reader.groupings().is_empty()
    }

    /// The most draws of each chain, of so many numbers each: fewer where chains run until they have converged and more
    /// would take too much memory.
    pub(super) fn most_draws_of(&self, numbers: usize) -> usize {
        let Sizes { chains, draws, .. } = self.sizes();
        let memory = usize::try_from(limit() / 4 / 8).unwrap_or(usize::MAX);
        let room = MOST_NUMBERS.min(memory) / chains.saturating_mul(numbers).max(1);
        self.decided.most_draws.map_or(draws, |most| most.min(room).max(draws)) //~ room-for-draws
    }

    /// Runs the sampler; with a checkpoint, goes on from it.
    pub(in crate::fit) fn sample(
        &self,
        plan: &Plan,
        checkpoint: Option<&Path>,
    ) -> Result<Draws, Error> {
        self.sample_of(plan, &plan.posterior, checkpoint)
    }

    /// Runs the sampler on a posterior of the fit's model and priors.
    pub(in crate::fit) fn sample_of<'t>(
        &'t self,
        plan: &'t Plan,
        posterior: &'t FitPosterior,
        checkpoint: Option<&Path>,
    ) -> Result<Draws, Error> {
        let columns = plan.data.response().width();
        match self.chosen_method(columns) {
            Method::Nuts => self.sample_by(plan, posterior, self.nuts(), checkpoint),
            Method::Mams => self.sample_by(plan, posterior, self.mams(), checkpoint),
            Method::Ensemble => self.sample_ensemble(plan, posterior, checkpoint),
            Method::Collapsed if !self.has_rest() => {
                let error = Error::argument("hidden layers", 0, "1 or more to be integrated out");
                Err(error.of(Setting::Hidden).advise([Advice::UseNuts]))
            }
            Method::Collapsed => {
                self.sample_by(plan, posterior, Collapsed::new(self.mams()), checkpoint)
            }
            Method::Tempered if self.can_collapse(columns) => {
                let rungs = PowerPosteriors::new(Collapsed::new(self.tempered()));
                self.sample_by(plan, posterior, rungs, checkpoint)
            }
            Method::Tempered => {
                self.sample_by(plan, posterior, PowerPosteriors::new(self.tempered()), checkpoint)
            }
        }
    }

    /// The sampler of [`Method::Nuts`].
    pub(in crate::fit) fn nuts(&self) -> Nuts {
        let nuts = Nuts::default();
        Nuts { target_accept: self.settings.target_accept.unwrap_or(nuts.target_accept), ..nuts }
    }

    /// The sampler of [`Method::Mams`], and of [`Method::Collapsed`].
    pub(in crate::fit) fn mams(&self) -> Mams {
        let mams = Mams::default();
        let is_deep = self.layers().len() > 1 && self.settings.method == Some(Method::Mams);
        // A short chain on a fold, too, would spend most of its time on few long trajectories.
        let is_short =
            is_deep || self.decided.is_short || self.has_many_rows() || self.decided.rows.is_some(); //~ short-paths
        let max_steps = if is_short { SHORT } else { mams.max_steps };
        Mams {
            target_accept: self.settings.target_accept.unwrap_or(mams.target_accept),
            max_steps,
            ..mams
        }
    }

    /// The sampler of [`Method::Ensemble`]: warm-up is too short for many steps before a map is learnt.
    pub(in crate::fit) fn of_member(&self) -> Mams {
        Mams { max_first_steps: 30, ..self.mams() }
    }

    /// The sampler of the rungs of [`Method::Tempered`]. Until their linear map is learnt, cold
    /// rungs would take as many steps as they may: two thirds of all gradients of a run.
    pub(in crate::fit) fn tempered(&self) -> Hmc {
        let hmc = Hmc { max_first_steps: 100, ..Hmc::default() };
        Hmc { target_accept: self.settings.target_accept.unwrap_or(hmc.target_accept), ..hmc }
    }

    /// The acceptance that warm-up aims at, for so many columns of a response.
    pub(in crate::fit) fn aimed_at(&self, columns: usize) -> f64 {
        match self.chosen_method(columns) {
            Method::Nuts => self.nuts().target_accept,
            Method::Mams | Method::Collapsed | Method::Ensemble => self.mams().target_accept,
            Method::Tempered => self.tempered().target_accept,
        }
    }

    /// The numbers of chains, iterations and draws: by the method, where they were not given.
    pub(in crate::fit) fn sizes(&self) -> Sizes {
        let [chains, warmup, draws] = match self.is_ensemble() {
            true => [8, 4100, 60],
            false => [4, 1000, 1000],
        };
        Sizes {
            chains: self.settings.chains.unwrap_or(chains),
            warmup: self.settings.warmup.unwrap_or(warmup),
            draws: self.settings.draws.unwrap_or(draws),
        }
    }

    /// Whether the draws are of an ensemble.
    pub(in crate::fit) fn is_ensemble(&self) -> bool {
        self.settings.method == Some(Method::Ensemble)
    }

    /// The starting points of the chains.
    fn start(&self, plan: &Plan, posterior: &FitPosterior) -> Result<Init, Error> {
        let mut centre = vec![0.0; posterior.dim()];
        if let (Some((mean, _)), Some(bias)) =
            (self.prior_of_bias(plan.own_train()), posterior.layout().range(&self.output_bias()))
        {
            centre[bias].fill(mean); //~ count-bias
        }
        //~ starts-of-fit
        let start = Init::Around { centre, sd: START };
        match self.ascends() {
            true => self.ascended(plan, posterior, &start),
            false => Ok(start),
        }
    }

    pub(super) fn sample_by<'t, A>(
        &'t self,
        plan: &'t Plan,
        posterior: &'t FitPosterior,
        algorithm: A,
        checkpoint: Option<&Path>,
    ) -> Result<Draws, Error>
    where
        A: crate::sampler::Algorithm<&'t FitPosterior> + Serialize,
    {
        // A network that is too large for memory is refused before anything of its size is made.
        check_layout(posterior.dim(), posterior.layout())?;
        let start = self.start(plan, posterior)?;
        let Sizes { chains, warmup, draws } = self.sizes();
        //~ seed-of-fit
        let sampler = Sampler::new(posterior, algorithm).chains(chains).seed(self.seed_of_draws());
        let most = self.most_draws_of(posterior.dim().max(plan.own_train().rows()));
        let mut sampler = sampler.warmup(warmup).draws(most).init(start);
        let are_enough = Rc::new(Cell::new(false));
        let found = are_enough.clone();
        let judge = move |so_far: &Draws| {
            found.set(self.are_enough(plan, so_far)); //~ judged-as-it-runs
            found.get()
        };
        if self.has_open_draws() {
            sampler = sampler.until(draws, judge);
            if let Some(deadline) = self.decided.deadline {
                let left = deadline.saturating_duration_since(Instant::now());
                sampler = sampler.within(left, LEAST.1);
            }
        }
        sampler = sampler.stop_handle(&self.here.stop);
        if let Some(threads) = self.here.threads {
            sampler = sampler.threads(threads);
        }
        if let Some(chains) = &self.here.only_chains {
            sampler = sampler.only_chains(chains.clone());
        }
        if let Some(path) = checkpoint {
            sampler = sampler.checkpoint(path, self.here.every);
        }
        sampler = match &self.here.listener {
            Listener::None => sampler,
            Listener::Terminal => sampler.on_progress(progress_report()),
            Listener::Own(listener) => {
                sampler.on_progress(|progress| listener(Told::Sampling(progress)))
            }
        };
        let made = sampler.run()?;
        if !are_enough.get() && !made.info().stopped_early && made.n_draws() < most {
            let draws = count(made.n_draws(), "draw");
            self.report(&format!("time is up  after {draws} of each chain"));
        }
        Ok(made)
    }
}

/// Whether a run that has not converged should end. `times` is how many times as long it would have to be: at most 1 if its length is not what it
/// lacks. Before the last doubling it ends unless four times as long may be enough.
fn is_in_vain(times: f64, is_last: bool) -> bool {
    let is_near = times <= NEARLY; // not of NaN
    times <= 1.0 || is_last && !is_near //~ nearly-converged
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::data::Dataset;
    use crate::fit::Fit;
    use crate::fit::choices::RunUntil;
    use crate::fit::saved::{DATA, FIT};

    /// A run whose time is up when it begins has a hundred draws or a few more; with that number, it is the same on any
    /// machine.
    #[test]
    fn what_the_clock_decides_is_a_number_of_draws() {
        let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
        let data = Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin())).unwrap();
        let recipe = || Fit::regression("y").hidden(&[]).chains(2).warmup(50);
        let deadline = Some(Instant::now());
        let most = recipe().draws(1 << 15).decide(|decided| decided.most_draws = Some(1 << 16));
        let most = most.decide(|decided| decided.deadline = deadline);
        let ended = most.fit(&data).unwrap();
        let n = ended.draws().n_draws();
        assert!((LEAST.1..=9 * LEAST.1).contains(&n), "{n}");
        assert!(!ended.draws().info().stopped_early);
        let named = recipe().draws(n).fit(&data).unwrap();
        assert_eq!(named.draws().values(), ended.draws().values());
        assert_eq!(ended.recipe().to_string(), named.recipe().to_string());
        // The clock was for one run.
        let more = ended.recipe().clone().draws(3000).fit(&data).unwrap();
        assert_eq!(more.draws().n_draws(), 3000);

        let folder = tempfile::tempdir().unwrap();
        let saved = |name: &str| {
            let path = folder.path().join(name);
            let fit = std::fs::read(path.join(FIT)).unwrap();
            (fit, std::fs::read(path.join(DATA)).unwrap())
        };
        let deadline = Some(Instant::now());
        let most = most
            .decide(|decided| decided.deadline = deadline)
            .in_folder(folder.path().join("clock"));
        let ended = most.fit(&data).unwrap();
        recipe()
            .draws(ended.draws().n_draws())
            .in_folder(folder.path().join("named"))
            .fit(&data)
            .unwrap();
        assert_eq!(saved("clock"), saved("named"));
    }

    /// A fit that has settled goes on by the same trajectories.
    #[test]
    fn trajectories_are_short_until_predictions_have_settled() {
        let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
        let data = Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin())).unwrap();
        let recipe = Fit::regression("y").hidden(&[2]).method(Method::Mams).chains(2).warmup(20);
        let most = |recipe: &Recipe| recipe.fit(&data).unwrap().recipe().mams().max_steps;
        assert_eq!(most(&recipe.clone().draws(20)), Mams::default().max_steps);
        assert_eq!(most(&recipe.clone().draws(20).run_until(RunUntil::Settled)), SHORT);

        let folder = tempfile::tempdir().unwrap();
        let open = recipe.within(Duration::from_secs(1)).in_folder(folder.path().join("run"));
        assert_eq!(most(&open.clone().run_until(RunUntil::Settled)), SHORT);
        assert_eq!(most(&open.clone().run_until(RunUntil::Converged)), SHORT);
        let there = Fit::load(folder.path().join("run")).unwrap();
        assert_eq!(most(&open.draws(there.draws().n_draws())), SHORT);
    }

    #[test]
    fn draws_are_doubled_once_more_where_that_may_be_enough() {
        for (times, is_last, ends) in [
            (0.9, false, true), // what they lack is another thing
            (1.5, false, false),
            (40.0, false, false),
            (f64::NAN, false, false),
            (1.5, true, false),
            (4.5, true, true),
            (f64::NAN, true, true),
        ] {
            assert_eq!(is_in_vain(times, is_last), ends, "{times} {is_last}");
        }

        let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
        let data = Dataset::regression(x.clone(), x.mapv(|x| (2.0 * x).sin())).unwrap();
        let recipe = Fit::regression("y").hidden(&[8]).chains(2).warmup(10).draws(20);
        let most = recipe.decide(|decided| decided.most_draws = Some(80));
        let far = most.fit(&data).unwrap();
        assert!(far.verdict().unwrap().times_to_converge() > NEARLY);
        assert_eq!(far.draws().n_draws(), 40);
    }

    #[test]
    fn draws_that_are_left_to_the_verdict_fit_into_memory() {
        let recipe = Fit::regression("y").chains(4).draws(1000);
        assert_eq!(recipe.most_draws_of(10), 1000);
        let recipe = recipe.decide(|decided| decided.most_draws = Some(8000));
        assert_eq!(recipe.most_draws_of(10), 8000);
        assert_eq!(recipe.most_draws_of(0), 8000);
        assert_eq!(recipe.most_draws_of(1 << 13), 1 << 12);
        // The draws that were asked for are not taken away; whether there is memory for them is the sampler's matter.
        assert_eq!(recipe.most_draws_of(1 << 20), 1000);
        assert_eq!(recipe.most_draws_of(usize::MAX), 1000);
    }
}
