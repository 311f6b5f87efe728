//! The schema of a training file: which columns are labels or dates, levels and classes, medians.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use super::column::{Column, Fill, median, weighted_median};
use super::dates::{Search, seconds};
use super::role::Role;
use super::table::{Count, Table, is_no_label};
use super::typed::Cell;
use super::{ColumnType, CsvData, CsvReader, Dates, Encoding, Schema};
use crate::Error;
use crate::cells::shown;
use crate::data::Task;
use crate::data::dataset::shortened;
use crate::message::{self, Advice};

/// The largest number of levels of a column that was not named as categorical.
pub(super) const MANY_LEVELS: usize = 50;

/// Whether a column that was not named as categorical has more levels than a sensible feature of so many
/// rows: more than 50, or more than 10 and than half as many as there are rows.
pub(super) fn are_many(levels: usize, rows: usize) -> bool {
    levels > MANY_LEVELS || (levels > 10 && 2 * levels > rows) //~ share-of-levels
}

/// Whether all levels are numbers with the same unit, such as `12kg` or `$12`. `10th` is a label.
pub(super) fn are_with_unit<S: AsRef<str>>(levels: &[S]) -> bool {
    let unit = |level: &S| -> Option<String> {
        let level = level.as_ref();
        let number = level.trim_start_matches(['$', '\u{20ac}', '\u{a3}', '\u{a5}']);
        let before = &level[..level.len() - number.len()]; //~ unit-before
        let is_digit = |c: char| c.is_ascii_digit() || ".,+-".contains(c);
        let unit = number.trim_start_matches(is_digit);
        let is_number = number[..number.len() - unit.len()].parse::<f64>().is_ok();
        let is_unit = !before.is_empty() || !["", "st", "nd", "rd", "th"].contains(&unit);
        (is_number && is_unit).then(|| format!("{before}{unit}"))
    };
    let Some(first) = levels.first().and_then(unit) else { return false };
    levels.len() > 1 && levels.iter().all(|level| unit(level).as_ref() == Some(&first)) //~ unit
}

/// The largest number of levels or classes of any column.
const MOST_LEVELS: usize = 1 << 16;

impl Schema {
    /// Finds out which features are categorical, their levels, and the classes.
    pub(super) fn fit(
        reader: &CsvReader,
        table: &Table,
        roles: Vec<Role>,
    ) -> Result<(Self, Count), Error> {
        let named: HashSet<&String> = reader.categorical.iter().collect();
        let is_certain = |j: usize| {
            roles[j] != Role::Feature
                || named.contains(&table.names[j])
                || table.type_of(j) == Some(&ColumnType::Labels)
        };
        let certain: Vec<bool> = (0..roles.len()).map(is_certain).collect();
        // The labels of each column so far, one more than are allowed; `None` where numbers are.
        let mut labels: Vec<Option<BTreeSet<Cow<str>>>> = roles
            .iter()
            .map(|role| match role {
                Role::Feature | Role::Group(_) => Some(BTreeSet::new()),
                Role::Response(_) if reader.task == Task::Classification => Some(BTreeSet::new()),
                Role::Response(_)
                | Role::Exposure
                | Role::Weight
                | Role::Event
                | Role::Until
                | Role::Ignored => None,
            })
            .collect();
        let fills: Vec<bool> = roles.iter().map(|role| *role == Role::Feature).collect();
        let may_be_dates = |j: usize| table.type_of(j).is_none_or(|of| *of == ColumnType::Dates);
        let is_open =
            |(j, certain): (usize, &bool)| (!certain && may_be_dates(j)).then(Search::new);
        let mut searches: Vec<Option<Search>> = certain.iter().enumerate().map(is_open).collect();
        // Text of digits is text. Where nothing is certain, bools are numbers.
        let is_no_label = |j: usize, cell: &Cell| match table.type_of(j) {
            Some(ColumnType::Text) => false, //~ typed-text
            Some(ColumnType::Bools) => true,
            _ => cell.number(table.decimal).is_some() || is_no_label(&cell.text(), table.decimal),
        };
        let count = table.count(reader, &roles, &fills, &mut |line, cells, is_missing| {
            for (search, (cell, is_missing)) in
                searches.iter_mut().zip(cells.iter().zip(is_missing))
            {
                if let Some(search) = search.as_mut().filter(|_| !is_missing) {
                    search.add(line, &cell.text());
                }
            }
            let cells = cells.iter().zip(is_missing).enumerate();
            for ((labels, (j, (cell, is_missing))), certain) in
                labels.iter_mut().zip(cells).zip(&certain)
            {
                let Some(seen) = labels.as_mut().filter(|_| !is_missing) else { continue };
                if !certain && is_no_label(j, cell) {
                    *labels = None;
                } else if seen.len() <= if *certain { MOST_LEVELS } else { MANY_LEVELS }
                    && !seen.contains(&*cell.text())
                {
                    seen.insert(cell.to_text());
                }
            }
        })?;
        let ways = searches.into_iter().enumerate().map(|(j, search)| {
            let end = search.and_then(|search| search.end(reader.date_order));
            end.transpose().map_err(|problem| {
                let line = problem.line;
                let (problem, advice) = problem.said();
                table.cell_problem(line, j, problem).advise(advice)
            })
        });
        let ways = ways.collect::<Result<Vec<_>, _>>()?;
        let mut dates = Self::dates(reader, table, &ways)?;
        let mut columns = Vec::with_capacity(roles.len());
        for (j, (((role, name), labels), certain)) in
            roles.into_iter().zip(&table.names).zip(labels).zip(certain).enumerate()
        {
            let problem =
                |problem: String| table.problem(format!("column `{}` {problem}", shown(name)));
            let levels = labels
                .map(|labels| labels.into_iter().map(Cow::into_owned).collect::<Vec<String>>());
            // True and false in text are what they are in a table with types.
            let is_open = role == Role::Feature && !certain && table.type_of(j).is_none();
            let are_bools = levels.as_deref().is_some_and(are_bools);
            let is_text_of_bools = is_open && are_bools; //~ bools-of-text
            let levels: Option<Vec<String>> = match levels {
                Some(_) if is_text_of_bools => None,
                Some(levels) if matches!(role, Role::Response(_)) && !reader.classes.is_empty() => {
                    Some(in_order(&levels, &reader.classes).map_err(problem)?)
                }
                Some(levels) => Some(by_size(levels).map_err(problem)?),
                None => None,
            };
            if ways[j].is_some() {
                let missing = Some(Fill { value: f64::NAN, marked: count.missing[j] > 0 });
                let (name, dates) = (name.clone(), dates[j].take());
                columns.push(Column { name, role, levels: None, bools: false, dates, missing });
                continue;
            }
            match (role, levels.as_deref()) {
                (Role::Response(_), Some([only])) => {
                    let (name, only) = (shown(name), shown(only));
                    let problem = format!("all rows are of one class, `{name}` = `{only}`");
                    return Err(table.problem(problem));
                }
                (Role::Response(_), Some(classes)) if classes.len() > MOST_LEVELS => {
                    return Err(problem(format!(
                        "has more than {MOST_LEVELS} classes: is this a regression?"
                    )));
                }
                (Role::Response(_), Some(classes))
                    if classes.len() > MANY_LEVELS.max(count.complete / 2) =>
                {
                    let rows = message::count(count.complete, "row");
                    let found =
                        format!("has {} classes in {rows}: is this a regression?", classes.len());
                    return Err(problem(found));
                }
                (Role::Group(_), Some(groups))
                    if groups.len() < 2 || groups.len() >= count.complete =>
                {
                    let (groups, rows) = (groups.len(), message::count(count.complete, "row"));
                    let groups = message::count(groups, "group");
                    let allowed =
                        "2 or more, and fewer than rows, are needed to tell groups from noise";
                    return Err(problem(format!("has {groups} in {rows}: {allowed}")));
                }
                (Role::Feature | Role::Group(_), Some(levels))
                    if certain && levels.len() > MOST_LEVELS =>
                {
                    let found = format!("has more than {MOST_LEVELS} levels");
                    let column = name.clone();
                    let advice = [Advice::Ignore { column, if_identifier: true }];
                    return Err(problem(found).advise(advice));
                }
                (Role::Feature, Some(levels)) if !certain && are_with_unit(levels) => {
                    let found =
                        format!("holds numbers with a unit, such as `{}`", shown(&levels[0]));
                    let column = name.clone();
                    let advice = [
                        "take the unit out".into(),
                        Advice::Categorical { column, if_labels: true },
                    ];
                    return Err(problem(found).advise(advice));
                }
                (Role::Feature, Some(levels))
                    if !certain && are_many(levels.len(), count.complete) =>
                {
                    let found = match levels.len() {
                        n if n > MANY_LEVELS => {
                            format!("holds text of more than {MANY_LEVELS} kinds")
                        }
                        n => {
                            let rows = message::count(count.complete, "row");
                            format!("holds text of {n} kinds in {rows}")
                        }
                    };
                    let advice = [
                        Advice::Ignore { column: name.clone(), if_identifier: true },
                        Advice::Group { column: name.clone() },
                        Advice::Categorical { column: name.clone(), if_labels: false },
                    ];
                    return Err(problem(found).advise(advice));
                }
                (Role::Feature, Some([])) => {
                    let leave_out = Advice::Ignore { column: name.clone(), if_identifier: false };
                    return Err(problem("has no value in any row".into()).advise([leave_out]));
                }
                (Role::Feature, Some([only])) if reader.encoding == Encoding::DropFirst => {
                    let found = format!(
                        "is `{}` in all rows: nothing is left without the first level",
                        shown(only)
                    );
                    let leave_out = Advice::Ignore { column: name.clone(), if_identifier: false };
                    return Err(problem(found).advise([leave_out]));
                }
                _ => {
                    let fill = Fill { value: f64::NAN, marked: count.missing[j] > 0 };
                    let missing = (role == Role::Feature).then_some(fill);
                    let name = name.clone();
                    let is_bool = table.type_of(j) == Some(&ColumnType::Bools);
                    let bools = role == Role::Event
                        || (role == Role::Feature && is_bool && levels.is_none())
                        || is_text_of_bools;
                    columns.push(Column { name, role, levels, bools, dates: None, missing });
                }
            }
        }
        Ok((Self { reader: reader.clone(), columns }, count))
    }

    /// The features of the columns whose dates are written in the way that is given for each.
    fn dates(
        reader: &CsvReader,
        table: &Table,
        ways: &[Option<Option<&'static str>>],
    ) -> Result<Vec<Option<Dates>>, Error> {
        let mut times = vec![Vec::new(); ways.len()];
        if ways.iter().any(Option::is_some) {
            table.each_row(&mut |_, cells| {
                for ((times, way), cell) in times.iter_mut().zip(ways).zip(cells) {
                    let time = way
                        .filter(|_| !table.is_missing(reader, cell))
                        .and_then(|way| seconds(&cell.text(), way));
                    times.extend(time);
                }
                Ok(())
            })?;
        }
        let of = |(way, times): (&Option<Option<&str>>, Vec<f64>)| {
            way.map(|way| Dates::of(times, way.is_none()).written(way))
        };
        Ok(ways.iter().zip(times).map(of).collect())
    }

    /// Learns what stands in for missing values from the training file, and makes the data set.
    pub(super) fn train(mut self, table: &Table, count: Count) -> Result<CsvData, Error> {
        let order: Vec<usize> = (0..table.names.len()).collect();
        let mut numbers = self.numbers(table, &order, &count)?;
        let (encoding, mut place) = (self.reader.encoding, 0);
        for column in &mut self.columns {
            let width = column.width(encoding);
            let has_median = column.has_median(encoding);
            if let Some(fill) = column.missing.as_mut().filter(|_| has_median) {
                let mut x = numbers.x.column_mut(place);
                fill.value = match &numbers.weights {
                    None => median(x.view()),
                    Some(weights) => weighted_median(x.view(), weights),
                };
                x.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = fill.value);
            } else if let Some(fill) = &mut column.missing {
                fill.value = 0.0;
            } else if matches!(column.role, Role::Group(_)) {
                // In other files.
                column.missing = Some(Fill { value: 0.0, marked: false });
            }
            place += width;
        }
        numbers.stand_ins = self.missing(&order, &count);
        self.data(table, numbers)
    }
}

/// Whether all labels are true or false, in any writing.
fn are_bools(labels: &[String]) -> bool {
    let is_bool =
        |label: &String| ["true", "false"].iter().any(|word| label.eq_ignore_ascii_case(word));
    !labels.is_empty() && labels.iter().all(is_bool)
}

/// The classes that occur, in the order in which they were named.
fn in_order(found: &[String], named: &[String]) -> Result<Vec<String>, String> {
    match found.iter().find(|class| !named.contains(class)) {
        Some(other) => Err(format!(
            "has the class `{}`, which is not among those that were named: {}",
            shown(other),
            shortened(named)
        )),
        None => Ok(named.iter().filter(|name| found.contains(name)).cloned().collect()), //~ named-classes
    }
}

/// Sorts labels, given in the order of Unicode, by size if all are numbers.
fn by_size(labels: Vec<String>) -> Result<Vec<String>, String> {
    let number = |label: &String| label.parse().ok().filter(|value: &f64| value.is_finite());
    let Some(numbers) = labels.iter().map(number).collect::<Option<Vec<f64>>>() else {
        return Ok(labels);
    };
    let mut both: Vec<_> = numbers.into_iter().zip(labels).collect();
    both.sort_by(|a, b| a.0.total_cmp(&b.0));
    if let Some(pair) = both.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let (a, b) = (shown(&pair[0].1), shown(&pair[1].1));
        return Err(format!(
            "has labels that are the same number, `{a}` and `{b}`: write them in one way"
        ));
    }
    Ok(both.into_iter().map(|(_, label)| label).collect())
}
