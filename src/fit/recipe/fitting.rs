//! From a recipe to a fit: the table, the model that is chosen, the run.

use std::borrow::{Borrow, Cow};
use std::path::Path;
use std::time::Instant;

use super::{DrawnRows, Recipe, Sizes, at_least_two};
use crate::Error;
use crate::data::{CsvData, CsvReader, Dataset, Schema, Transform, TypedTable};
use crate::fit::choices::RunUntil;
use crate::fit::folder::{CHECKPOINT, LOCK, check_entries};
use crate::fit::kinds::Noise;
use crate::fit::saved::{DATA, FIT, Read, problem, read};
use crate::fit::time::{LEAST, MOST_DOUBLINGS, SEARCH};
use crate::fit::{Fit, Origin, Plan, imputed};
use crate::message::{Advice, Setting, listed};

impl Recipe {
    /// Fits the rows of a CSV file.
    ///
    /// # Errors
    /// A file that cannot be read as the recipe says; else as [`fit`](Self::fit).
    pub fn read_csv(&self, path: impl AsRef<Path>) -> Result<Fit, Error> {
        self.fit_read(self.reader_of_text()?.read_path(path)?)
    }

    /// The reader of a file of text, of which rows are drawn as it is read if it is too long to be read whole.
    fn reader_of_text(&self) -> Result<CsvReader, Error> {
        Ok(match self.settings.most_rows.filter(|most| *most < usize::MAX) {
            None => self.reader.clone(),
            Some(rows) => self.reader.clone().sample(at_least_two(rows)?, self.settings.seed),
        })
    }

    /// Fits the rows of a table whose columns have types, such as a table of a Parquet file. A table that is
    /// given away is freed before the run begins.
    ///
    /// # Errors
    /// A table that cannot be read as the recipe says; else as [`fit`](Self::fit).
    pub fn read_table(&self, table: impl Borrow<TypedTable>) -> Result<Fit, Error> {
        let data = self.reader.read_table(table.borrow())?;
        drop(table);
        self.fit_read(data)
    }

    pub(super) fn fit_read(&self, data: CsvData) -> Result<Fit, Error> {
        let recipe = self.of_read(&data);
        let CsvData { dataset, schema, lines, dropped, stand_ins, .. } = data;
        let origin = Origin { schema: Some(schema), lines: Some(lines), dropped, stand_ins };
        recipe.run(Cow::Owned(dataset), origin)
    }

    /// The recipe for a table that was read, which knows whether rows were drawn as it was.
    fn of_read(&self, data: &CsvData) -> Self {
        let rows = data.dataset.rows();
        let drawn = data.drawn_from.map(|of| DrawnRows { rows, of, validation: None });
        self.clone().decide(|decided| decided.drawn = drawn)
    }

    /// Fits the rows of a data set. The name of the response that the recipe was made with is not used.
    ///
    /// # Errors
    /// A response of another kind; a constant column; a setting out of range; the errors of
    /// [`Posterior::new`](crate::posterior::Posterior::new) and [`Sampler::run`](crate::sampler::Sampler::run); a folder that cannot be written, or holds another
    /// fit.
    pub fn fit(&self, data: &Dataset) -> Result<Fit, Error> {
        self.run(Cow::Borrowed(data), Origin::default())
    }

    /// Fits `data` like [`fit`](Self::fit), with a [`Schema`] by which files are read like `data`;
    /// [`Schema::of_features`] learns one for a data frame. The fit can then do all that a fit of a CSV
    /// file can, such as [`Fit::predict_csv`](crate::fit::Fit::predict_csv).
    ///
    /// # Errors
    /// Features that are not called as in the schema; else as [`fit`](Self::fit).
    pub fn fit_like(&self, data: &Dataset, schema: &Schema) -> Result<Fit, Error> {
        let (recipe, origin) = self.like(data, schema)?;
        recipe.run(Cow::Borrowed(data), origin)
    }

    /// The recipe that reads like a schema, for rows that it has read.
    pub(in crate::fit) fn like(
        &self,
        data: &Dataset,
        schema: &Schema,
    ) -> Result<(Self, Origin), Error> {
        let names = schema.feature_names();
        if let Some((found, allowed)) =
            data.feature_names().iter().zip(&names).find(|(found, name)| found != name)
        {
            return Err(Error::argument("name of a feature", found, format!("`{allowed}`")));
        }
        if data.n_features() != names.len() {
            return Err(Error::shape("number of features", data.n_features(), names.len()));
        }
        let recipe = Self { reader: schema.reader().clone(), ..self.clone() };
        Ok((recipe, Origin { schema: Some(schema.clone()), ..Origin::default() }))
    }

    pub(in crate::fit) fn run(&self, data: Cow<Dataset>, origin: Origin) -> Result<Fit, Error> {
        match self.settings.impute {
            Some(tables) => imputed::run(self, tables, &data, &origin),
            None => self.run_on(data, origin),
        }
    }

    /// What a fit of `data` would sample: rows, scales, model, sampler. Nothing is sampled yet, but by the [search](super::Search) where
    /// the data choose the model. With a schema, of [`fit_like`](Self::fit_like), else of [`fit`](Self::fit).
    ///
    /// # Errors
    /// What the fit would refuse before its run; tables that are [completed](Self::impute), each of which has a plan of its own.
    pub fn plan(&self, data: &Dataset, schema: Option<&Schema>) -> Result<Plan, Error> {
        if let Some(tables) = self.settings.impute {
            let allowed = "left out: each completed table has a plan of its own";
            return Err(Error::argument("impute", tables, allowed));
        }
        let (recipe, origin) = match schema {
            Some(schema) => self.like(data, schema)?,
            None => (self.clone(), Origin::default()),
        };
        recipe.plan_of(Cow::Borrowed(data), origin)
    }

    /// The fit of one table.
    pub(in crate::fit) fn run_on(&self, data: Cow<Dataset>, origin: Origin) -> Result<Fit, Error> {
        self.plan_of(data, origin)?.run()
    }

    /// The plan of the fit of one table.
    fn plan_of(&self, data: Cow<Dataset>, origin: Origin) -> Result<Plan, Error> {
        let chosen = self.clone().for_rows(&data)?;
        for feature in chosen.constant_features(&data, &origin)? {
            self.report(&format!("`{feature}` is the same in all rows: it has no effect"));
        }
        let (chosen, data, origin) = chosen.of_most_rows(data, origin)?;
        let complete = match chosen.decided.imputed {
            None => data,
            Some(table) => Cow::Owned(imputed::complete(&chosen, table, &data, &origin)?),
        };
        // Written down with the fit: the choice here stays, whatever a later version chooses.
        let chosen = chosen.settled(&complete, &origin)?;
        let (complete, origin) = chosen.of_drawn(complete, origin)?;
        let (layers, prior) = (chosen.layers().to_vec(), chosen.prior());
        let mut chosen = chosen.hidden(&layers).weights(prior);
        chosen.settings.skip.get_or_insert(false);
        chosen.settings.power_features.get_or_insert(false);
        chosen.settings.noise = chosen.settings.noise.or(Noise::default_of(chosen.task));
        let method = chosen.chosen_method(complete.response().width());
        let chosen = chosen.method(method);
        let Sizes { chains, warmup, draws } = chosen.sizes();
        let chosen = chosen.chains(chains).warmup(warmup).draws(draws);
        chosen.check_ensemble()?;
        let plan = Plan::new(chosen, complete, origin)?;
        if let Some(names) =
            plan.data.response().class_names().filter(|_| self.settings.noise.is_some())
        {
            self.report(&format!("classes in order: {}", names.join(" < ")));
        }
        Ok(plan)
    }

    /// The recipe with a model: the one that was given, the one in its folder, or the one that the data choose.
    pub(in crate::fit) fn settled(self, data: &Dataset, origin: &Origin) -> Result<Self, Error> {
        let columns = data.response().width();
        if let Some(model) = self.settings.model {
            let mut open = self.clone();
            (open.settings.noise, open.settings.transform) = (None, Transform::None);
            open.settings.power_features = None;
            let known = open.candidates(columns);
            if !known.contains(&model) {
                let known = known.iter().map(ToString::to_string).collect();
                let allowed = format!("one of {} for this response", listed(known));
                return Err(Error::argument("model", model, allowed).of(Setting::Model));
            }
            return model.of(&self, columns).with_open_end();
        }
        if !self.is_open() {
            return self.with_open_end();
        }
        //~ model-of-folder
        if let Some(there) = self.in_its_folder()? {
            self.report("model       that of the fit in the folder");
            return Ok(match there.task == self.task {
                true => self.with_model_of(&there).until_converged(&there),
                false => self, // the difference is named
            });
        }
        if self.here.only_chains.is_some() {
            let error = Error::argument(
                "model",
                "left to the data",
                "given where a job runs some of the chains",
            );
            return Err(error.of(Setting::Model).advise([Advice::NameModel]));
        }
        let start = Instant::now();
        let deadline = self.limit().and_then(|limit| start.checked_add(limit.mul_f64(SEARCH)));
        let (chosen, pace) = self.search(data, origin, deadline)?;
        let (chosen, pace) = chosen.in_time(start, pace, data);
        let chosen = chosen.sized(start, pace);
        let lines = chosen.model_in_words(columns);
        chosen.report(&lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
        Ok(chosen)
    }

    /// The recipe of the fit in the folder of this one.
    pub(super) fn in_its_folder(&self) -> Result<Option<Self>, Error> {
        let Some(folder) = &self.here.folder else { return Ok(None) };
        match read(folder)? {
            Read::Saved(there) => there.recipe(folder).map(Some),
            // The model is not known, and another search need not come to it.
            Read::Damaged(error) => Err(error.advise([Advice::NameModel])),
            Read::Nothing if folder.join(CHECKPOINT).exists() => {
                let lost = problem(&folder.join(FIT), "it is not there");
                Err(lost.advise([Advice::NameModel]))
            }
            Read::Nothing if folder.exists() => {
                check_entries(folder, &[LOCK, DATA])?;
                Ok(None)
            }
            Read::Nothing => Ok(None),
        }
    }

    /// The recipe with the model of another one, and with its numbers of iterations where none are given.
    pub(in crate::fit) fn with_model_of(mut self, other: &Self) -> Self {
        let (own, there) = (&mut self.settings, other.settings.clone());
        own.model = None;
        (own.hidden, own.skip, own.weights) = (there.hidden, there.skip, there.weights);
        own.method = there.method;
        own.noise = own.noise.or(there.noise);
        if own.transform.is_none() {
            own.transform = there.transform;
        }
        own.power_features = own.power_features.or(there.power_features);
        let most_draws = other.decided.most_draws.filter(|_| own.draws.is_none());
        own.warmup = own.warmup.or(there.warmup);
        own.draws = own.draws.or(there.draws);

        let (own, there) = (&mut self.decided, other.decided.clone());
        own.curves = there.curves; //~ curves-of-folder
        own.search = there.search;
        own.drawn = own.drawn.or(there.drawn);
        own.most_draws = most_draws;
        own.is_short = there.is_short;
        self
    }

    /// The recipe, with a number of draws that is left to the run if it was said what it ends with; that of a fit in its folder
    /// stays.
    fn with_open_end(mut self) -> Result<Self, Error> {
        let there = self.in_its_folder().ok().flatten();
        let settles = self.settings.run_until == Some(RunUntil::Settled);
        self.decided.is_short = there.as_ref().map_or(settles, |there| there.decided.is_short);
        let is_open = self.settings.run_until.is_some()
            && self.settings.draws.is_none()
            && !self.is_ensemble();
        if !is_open {
            return Ok(self);
        }
        if self.here.only_chains.is_some() {
            let allowed = "given where a job runs some of the chains";
            return Err(Error::argument("draws", "left to the run", allowed).of(Setting::Draws));
        }
        if let Some(there) = there {
            self.settings.draws = there.settings.draws;
            self.decided.most_draws = there.decided.most_draws;
            return Ok(self.until_converged(&there));
        }
        let draws = if self.settles() { LEAST.1 } else { self.sizes().draws };
        Ok(self.beginning_with(draws, draws))
    }

    /// The recipe of a fit that is `there` in its folder, with more draws if that has settled alone and this is to converge.
    fn until_converged(self, there: &Self) -> Self {
        let ends = |recipe: &Self| recipe.settings.run_until == Some(RunUntil::Converged);
        let (Some(draws), Some(folder)) = (self.settings.draws, &self.here.folder) else {
            return self;
        };
        if !ends(&self) || ends(there) || self.has_open_draws() {
            return self;
        }
        match Fit::load(folder).and_then(|fit| fit.verdict()) {
            Ok(verdict) if !verdict.is_converged() => {
                self.beginning_with(2 * draws, draws) //~ until-converged
            }
            _ => self,
        }
    }

    /// The recipe with draws that are left to the run: at first so many, at most `usual` doubled several times, within the time.
    fn beginning_with(mut self, draws: usize, usual: usize) -> Self {
        self.decided.most_draws = Some(usual << MOST_DOUBLINGS);
        self.decided.deadline = self.deadline_of_table();
        self.draws(draws)
    }

    /// Whether the number of draws is left to the run.
    pub(in crate::fit) fn has_open_draws(&self) -> bool {
        self.decided.most_draws.is_some()
    }

    /// The recipe of a run that has made so many draws; `None` if it was stopped before its end.
    pub(in crate::fit) fn ended(mut self, drawn: Option<usize>) -> Self {
        self.decided.deadline = None;
        if let Some(most) = self.decided.most_draws.take() {
            self.settings.draws = drawn.or(Some(most));
        }
        self
    }
}
