//! The rows of a recipe: those that are drawn, those for training and for validation, and whether they can be learnt from.

use std::borrow::Cow;

use rand::RngCore;
use rand::seq::SliceRandom;

use super::{ColumnsOf, Decided, DrawnRows, MOST_UNITS, Recipe, at_least_two};
use crate::Error;
use crate::data::Single::{InTest, InTraining};
use crate::data::{Dataset, Split, indicator, new_group};
use crate::fit::Origin;
use crate::fit::plan::check_features;
use crate::fit::search::STREAM;
use crate::message::{Advice, Setting};
use crate::rng::ChainRng;

impl Recipe {
    /// The features of a whole table that have the same value in all rows, beside others of their column.
    ///
    /// # Errors
    /// A column none of whose features differs.
    pub(in crate::fit) fn constant_features(
        &self,
        data: &Dataset,
        origin: &Origin,
    ) -> Result<Vec<String>, Error> {
        match self.decided.drawn {
            // Where rows were drawn while they were read, a level may lie among the others.
            Some(_) => Ok(Vec::new()),
            None => {
                let features = self.columns_of(data)?.features;
                check_features(data, features, origin.schema.as_ref()) //~ constant-of-table
            }
        }
    }

    /// The recipe for as many rows as there may be at most, and these rows.
    pub(in crate::fit) fn of_most_rows<'d>(
        mut self,
        data: Cow<'d, Dataset>,
        origin: Origin,
    ) -> Result<(Self, Cow<'d, Dataset>, Origin), Error> {
        let Some(rows) = self.settings.most_rows.filter(|most| *most < data.rows()) else {
            return Ok((self, data, origin));
        };
        let of = data.rows();
        self.decided.drawn = Some(DrawnRows { rows: at_least_two(rows)?, of, validation: None });
        let (data, origin) = self.of_drawn(data, origin)?;
        Ok((self, data, origin))
    }

    /// The rows that were drawn of a table, or the table if none were, or if it has been drawn from before.
    pub(in crate::fit) fn of_drawn<'d>(
        &self,
        data: Cow<'d, Dataset>,
        origin: Origin,
    ) -> Result<(Cow<'d, Dataset>, Origin), Error> {
        let drawn = self.decided.drawn.filter(|drawn| drawn.of == data.rows());
        let Some(DrawnRows { rows, of, validation }) = drawn else { return Ok((data, origin)) };
        let split = if validation.is_some() { self.split(&data)? } else { None };
        let drawn = match (validation, split) {
            (Some(kept), Some(Split { train, test })) => {
                let mut drawn = self.draw(&data, train, rows - kept)?;
                drawn.extend(self.draw(&data, test, kept)?); //~ drawn-validation
                drawn
            }
            _ => self.draw(&data, (0..of).collect(), rows)?,
        };
        let lines = origin.lines.as_ref().map(|lines| lines.of_rows_alone(&drawn));
        Ok((Cow::Owned(data.select(&drawn)?), Origin { lines, ..origin }))
    }

    /// So many of these rows, in their order; of classes as many of each as it has a share in the rows.
    pub(super) fn draw(
        &self,
        data: &Dataset,
        from: Vec<usize>,
        n: usize,
    ) -> Result<Vec<usize>, Error> {
        let mut rng = ChainRng::new(self.settings.seed, STREAM).child(1);
        let n = n.min(from.len());
        if self.task.has_classes() && n < from.len() && n >= data.response().width() {
            let of = data.rows_of(&from);
            let share = n as f64 / from.len() as f64;
            if let Ok(split) = of.stratified_rows(share, rng.next_u64(), InTest)
                && split.test.len() == n
            {
                return Ok(split.test.into_iter().map(|row| from[row]).collect()); //~ drawn-classes
            }
        }
        let mut drawn = from;
        drawn.shuffle(&mut rng); //~ drawn-rows
        drawn.truncate(n);
        drawn.sort_unstable();
        Ok(drawn)
    }

    /// The recipe for rows that have weights, or have none.
    ///
    /// # Errors
    /// If a column of weights is named, and the rows have none.
    pub(in crate::fit) fn for_rows(self, data: &Dataset) -> Result<Self, Error> {
        let is_weighted = data.weights().is_some();
        match self.reader.weights_column() {
            Some(column) if !is_weighted => {
                let found = format!("column `{column}`, and the rows have no weights");
                let allowed = "named for rows with weights alone";
                let error = Error::argument("row weights", found, allowed).of(Setting::RowWeights);
                Err(error.advise([Advice::in_rust("give them by `Dataset::with_weights`")]))
            }
            _ => {
                let columns = self.columns_of(data);
                let groupings = columns.map_or(Vec::new(), |columns| columns.groupings);
                let groups: usize = groupings.iter().map(|(_, groups)| groups.len()).sum();
                let has_many_groups = groups > MOST_UNITS;
                let n_rows = data.rows();
                let decided = Decided { is_weighted, has_many_groups, n_rows, ..self.decided };
                Ok(Self { decided, ..self })
            }
        }
    }

    /// The name of the column of weights in `data.csv`, if the rows have weights.
    pub(in crate::fit) fn weights_column(&self, data: &Dataset) -> Option<String> {
        let column = self.reader.weights_column().unwrap_or("weight");
        data.weights().map(|_| column.into())
    }

    /// The rows for training and the rows for validation, if there are any.
    pub(in crate::fit) fn split(&self, data: &Dataset) -> Result<Option<Split>, Error> {
        if self.decided.rows.is_some() {
            return Ok(self.decided.rows.clone());
        }
        if self.settings.validation == 0.0 {
            return Ok(None);
        }
        if !(self.settings.validation > 0.0 && self.settings.validation < 1.0) {
            let error =
                Error::argument("validation", self.settings.validation, "from 0 to below 1");
            return Err(error.of(Setting::Validation));
        }
        let rows = self.first_rows(data)?;
        // The rows that the search and the imputation have left stay out.
        let drawn = self.decided.drawn.filter(|drawn| drawn.rows == rows && drawn.of > rows);
        if let Some(kept) = drawn.and_then(|drawn| drawn.validation) {
            let mut train: Vec<usize> = (0..rows - kept).collect();
            train.extend(rows..data.rows());
            return Ok(Some(Split { train, test: (rows - kept..rows).collect() }));
        }
        let kept = (rows as f64 * self.settings.validation).round() as usize;
        if kept == 0 || kept >= rows {
            let allowed =
                format!("such a share of {rows} rows that some are kept, and some are left");
            let error = Error::argument("validation", self.settings.validation, allowed);
            return Err(error.of(Setting::Validation));
        }
        let first = data.first(rows);
        let (share, seed) = (self.settings.validation, self.settings.seed);
        let mut split = match self.task.has_classes() {
            //~ validation-classes
            true => first.stratified_rows(share, seed, InTraining)?,
            //~ validation-rows
            false => first.split_rows(share, seed)?,
        };
        split.train.extend(rows..data.rows()); //~ new-rows-are-learnt-from
        Ok(Some(split))
    }

    /// The number of training rows, of these rows, from which scalings and the like are learnt; they come first.
    pub(in crate::fit) fn first_training_rows(
        &self,
        train: &Dataset,
        data: &Dataset,
    ) -> Result<usize, Error> {
        match self.decided.rows {
            Some(_) => Ok(train.rows()), // of a fold
            None => Ok(train.rows() - (data.rows() - self.first_rows(data)?)), //~ learnt-from
        }
    }

    /// The number of rows before all updates.
    pub(in crate::fit) fn first_rows(&self, data: &Dataset) -> Result<usize, Error> {
        match self.decided.learnt_from {
            None => Ok(data.rows()),
            Some(rows) if (1..=data.rows()).contains(&rows) => Ok(rows),
            Some(rows) => {
                let allowed = format!("1 to {}, those of the table", data.rows());
                Err(Error::argument("rows that scalings are learnt from", rows, allowed))
            }
        }
    }

    /// An error if the response, whose rows are of `origin`, cannot be learnt from, or not be transformed as is asked
    /// for.
    pub(in crate::fit) fn check_response(
        &self,
        data: &Dataset,
        origin: &Origin,
    ) -> Result<(), Error> {
        match data.response().real() {
            _ if self.settings.transform.is_none() => {}
            Some(y) => {
                let row = |row| origin.row(row);
                self.settings.transform.check("response", y.view(), data.response_names(), row)?;
            }
            None => {
                let found = format!("chosen for {}", self.task);
                let allowed = "chosen for real responses alone";
                return Err(Error::argument("transform", found, allowed).of(Setting::Transform));
            }
        }
        self.kind().check(data, origin, self.settings.transform)
    }

    /// The columns of x: the features, then the indicators of each grouping, then an offset.
    ///
    /// # Errors
    /// If the last columns of `data` are not these.
    pub(in crate::fit) fn columns_of(&self, data: &Dataset) -> Result<ColumnsOf, Error> {
        let names = data.feature_names();
        let mut end = names.len();
        if let Some(name) = self.reader.offset() {
            self.check_offset(&name, data)?;
            end -= 1;
        }
        let mut groupings = Vec::new();
        for column in self.reader.groupings().iter().rev() {
            let prefix = indicator(column, "");
            let first = names[..end].iter().rposition(|name| name == &new_group(column));
            let last = first.filter(|last| last + 1 == end);
            let of_group = |name: &&String| name.starts_with(&prefix);
            let groups = names[..last.unwrap_or(0)].iter().rev().take_while(of_group).count();
            if groups == 0 {
                let found = names[..end].last().map_or("none".into(), |name| format!("`{name}`"));
                let allowed = format!(
                    "after the features `{}`, .., and last `{}`",
                    indicator(column, "group"),
                    new_group(column)
                );
                return Err(Error::argument("group", found, allowed).of(Setting::Group));
            }
            let start = end - groups - 1;
            let group = |name: &String| name.strip_prefix(&prefix).unwrap_or("a new one").into();
            groupings.push((column.clone(), names[start..end].iter().map(group).collect()));
            end = start;
        }
        groupings.reverse();
        if end == 0 {
            let allowed = "1 or more beside groups and an exposure";
            return Err(Error::argument("features", 0, allowed));
        }
        Ok(ColumnsOf { features: end, groupings })
    }

    /// An error if the response has no exposure, or the last feature is none.
    pub(super) fn check_offset(&self, name: &str, data: &Dataset) -> Result<(), Error> {
        let found = match data.response().counts() {
            Some(y) if y.ncols() == 1 => {
                let last = data.feature_names().last();
                last.filter(|last| *last != name).map(|last| format!("`{last}`"))
            }
            _ => Some(format!("chosen for {}", self.task)),
        };
        match found {
            None => Ok(()),
            Some(found) => {
                let allowed = format!("the last feature, `{name}`, of counts in one column");
                Err(Error::argument("exposure", found, allowed).of(Setting::Exposure))
            }
        }
    }
}
