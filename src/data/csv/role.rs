//! The roles of a table's columns in a model.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::table::{Table, numbered};
use super::{Columns, CsvReader};
use crate::Error;
use crate::message::{Advice, Setting, count};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Role {
    Ignored,
    Feature,
    /// The exposure of a count: its logarithm is the last feature.
    Exposure,
    /// The number of equal rows that a row stands for.
    Weight,
    /// The group of a row, in this place among the groupings: indicators of the groups come after the features.
    Group(usize),
    /// Whether the event of a time happened, as 1 and 0.
    Event,
    /// The upper bound of a time.
    Until,
    /// The place of the column within the response.
    Response(usize),
}

/// The roles of a table's columns so far: all are features at first.
struct Roles<'a> {
    table: &'a Table<'a>,
    positions: HashMap<&'a str, usize>,
    of: Vec<Role>,
}

/// What takes a role by being named: its name, what it can be, and the setting that names it.
type Named = (&'static str, &'static str, Setting);

/// What a column must be that says something of the response.
const NO_OTHER: &str = "a column that is neither ignored nor the response";

impl Roles<'_> {
    /// The place of a column by its name.
    fn position(&self, name: &str) -> Result<usize, Error> {
        self.table.position(&self.positions, name)
    }

    /// An error that a column cannot be what it was named as.
    fn refused(&self, column: usize, (what, allowed, setting): Named) -> Error {
        let found = format!("column `{}`", self.table.names[column]);
        Error::argument(what, found, allowed).of(setting)
    }

    /// Gives a role to a column that has no other one.
    fn assign(&mut self, column: usize, role: Role, named: Named) -> Result<(), Error> {
        if self.of[column] != Role::Feature {
            return Err(self.refused(column, named));
        }
        self.of[column] = role;
        Ok(())
    }

    /// An error if a column that is used has no name or another type, or none is a feature.
    fn check(&self) -> Result<(), Error> {
        let table = self.table;
        for (column, name) in table.names.iter().enumerate() {
            if name == &numbered(column) && table.has_header() && self.of[column] != Role::Ignored {
                let ignore = Advice::Ignore { column: name.clone(), if_identifier: false };
                let advice = ["name it".into(), ignore];
                let problem = format!("column {} has no name", column + 1);
                return Err(table.problem(problem).advise(advice));
            }
        }
        if !self.of.contains(&Role::Feature) {
            return Err(table.problem("no column is left for the features".into()));
        }
        table.check_types(&self.of)
    }
}

impl CsvReader {
    /// The role of each column of a training file.
    pub(super) fn assign_columns(&self, table: &Table) -> Result<Vec<Role>, Error> {
        let mut roles = self.roles(table)?;
        let response = self.columns_of_response(&roles)?;
        for (place, &column) in response.iter().enumerate() {
            let allowed = "a column that is not ignored, and only once";
            let named = ("response", allowed, Setting::Target);
            roles.assign(column, Role::Response(place), named)?;
        }
        if !self.classes.is_empty() && !self.task.has_classes() {
            let found = format!("named for {}", self.task);
            let error = Error::argument("classes", found, "named for classification alone");
            return Err(error.of(Setting::Classes));
        }
        self.assign_others(roles, response.len())
    }

    /// The role of each column of a training table whose response is elsewhere.
    pub(super) fn roles_of_features(&self, table: &Table) -> Result<Vec<Role>, Error> {
        self.assign_others(self.roles(table)?, 1)
    }

    /// Columns that are features, but for those that are ignored.
    fn roles<'a>(&self, table: &'a Table) -> Result<Roles<'a>, Error> {
        let (positions, of) = (table.positions(), vec![Role::Feature; table.names.len()]);
        let mut roles = Roles { table, positions, of };
        for name in &self.ignored {
            let column = roles.position(name)?;
            roles.of[column] = Role::Ignored;
        }
        Ok(roles)
    }

    /// The roles of columns beside a response of so many, which have theirs.
    fn assign_others(&self, mut roles: Roles, responses: usize) -> Result<Vec<Role>, Error> {
        self.assign_exposure(&mut roles, responses)?;
        if let Some(name) = &self.row_weights {
            let allowed = "a column that has no other role and is not ignored";
            let named = ("row weights", allowed, Setting::RowWeights);
            roles.assign(roles.position(name)?, Role::Weight, named)?;
        }
        for (place, name) in self.groups.iter().enumerate() {
            let allowed = "columns that have no other role and are not ignored, each once";
            let named = ("group", allowed, Setting::Group);
            roles.assign(roles.position(name)?, Role::Group(place), named)?;
        }
        self.assign_bounds(&mut roles)?;
        for name in &self.categorical {
            let named = ("categorical", "among the features", Setting::Categorical);
            roles.assign(roles.position(name)?, Role::Feature, named)?;
        }
        roles.check()?;
        Ok(roles.of)
    }

    /// The places of the response's columns, as many as the task needs.
    fn columns_of_response(&self, roles: &Roles) -> Result<Vec<usize>, Error> {
        let columns = roles.table.names.len();
        let response = match &self.response {
            Columns::Last => vec![columns - 1],
            Columns::Named(names) => {
                names.iter().map(|name| roles.position(name)).collect::<Result<_, _>>()?
            }
            Columns::At(positions) => {
                if let Some(p) = positions.iter().find(|p| **p >= columns) {
                    let allowed = format!("0 to {}", columns - 1);
                    let error = Error::argument("position of the response", p, allowed);
                    return Err(error.of(Setting::Target));
                }
                positions.clone()
            }
        };
        let (most, allowed) = self.task.most_columns();
        if !(1..=most).contains(&response.len()) {
            let found = count(response.len(), "column");
            return Err(Error::argument("response", found, allowed).of(Setting::Target));
        }
        Ok(response)
    }

    /// The role of the exposure of counts in so many columns.
    fn assign_exposure(&self, roles: &mut Roles, columns: usize) -> Result<(), Error> {
        let Some(name) = &self.exposure else { return Ok(()) };
        let column = roles.position(name)?;
        let named = |allowed| ("exposure", allowed, Setting::Exposure);
        roles.assign(column, Role::Exposure, named(NO_OTHER))?;
        match self.task.has_counts() && columns == 1 {
            true => Ok(()),
            false => Err(roles.refused(column, named("chosen for counts in one column alone"))),
        }
    }

    /// The role of the column that says which times are observed.
    fn assign_bounds(&self, roles: &mut Roles) -> Result<(), Error> {
        let bounds = [
            (&self.event, "event", Role::Event, Setting::Event),
            (&self.until, "until", Role::Until, Setting::Until),
        ];
        let named = bounds.iter().filter(|(name, ..)| name.is_some()).count();
        if self.task.has_bounds() && named != 1 {
            let found = if named == 0 { "not named" } else { "named beside `until`" };
            let allowed = "the column that says which times are observed, unless their upper bounds are named";
            return Err(Error::argument("event", found, allowed).of(Setting::Event));
        }
        for (name, what, role, setting) in bounds {
            let Some(name) = name else { continue };
            let column = roles.position(name)?;
            roles.assign(column, role, (what, NO_OTHER, setting))?;
            if !self.task.has_bounds() {
                let allowed = "chosen for survival times alone";
                return Err(roles.refused(column, (what, allowed, setting)));
            }
        }
        Ok(())
    }
}
