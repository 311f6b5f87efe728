//! The schema of a training file: which columns are labels or dates, levels and classes, medians.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use ndarray::ArrayView1;

use super::column::{Column, Fill, median, weighted_median};
use super::dates::{ISO, Search};
use super::numbers::Numbers;
use super::role::Role;
use super::table::{Count, Table, is_no_label};
use super::typed::Cell;
use super::{ColumnType, CsvData, CsvReader, Dates, Encoding, Schema};
use crate::Error;
use crate::cells::shown;
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

/// What is learnt of a column from its cells.
struct Learner<'a, 't> {
    reader: &'a CsvReader,
    table: &'a Table<'t>,
    place: usize,
    role: Role,
    /// Whether the column is known to be labels, or none, without its cells.
    is_certain: bool,
    /// The labels so far, one more than are allowed; `None` where numbers are.
    labels: Option<BTreeSet<Cow<'t, str>>>,
    /// `None` where no dates can be.
    search: Option<Search>,
}

impl<'a, 't> Learner<'a, 't> {
    /// A column without cells as yet; `is_named` says that the reader was told that the column is labels.
    fn new(
        reader: &'a CsvReader,
        table: &'a Table<'t>,
        (place, role): (usize, Role),
        is_named: bool,
    ) -> Self {
        let kind = table.type_of(place);
        let are_labels = kind == Some(&ColumnType::Labels)
            || (table.is_frame() && kind == Some(&ColumnType::Text));
        let is_certain = role != Role::Feature || is_named || are_labels;
        let may_be_labels = match role {
            Role::Feature | Role::Group(_) => true,
            Role::Response(_) => reader.task.has_classes(),
            Role::Exposure | Role::Weight | Role::Event | Role::Until | Role::Ignored => false,
        };
        let may_be_dates = !is_certain && kind.is_none_or(|kind| *kind == ColumnType::Dates);
        let (labels, search) = (may_be_labels.then(BTreeSet::new), may_be_dates.then(Search::new));
        Self { reader, table, place, role, is_certain, labels, search }
    }

    /// Takes one more cell that has a value.
    fn add(&mut self, line: usize, cell: &Cell<'t>) {
        if let Some(search) = &mut self.search {
            search.add(line, &cell.text());
        }
        let is_number = !self.is_certain && self.labels.is_some() && self.is_no_label(cell);
        let most = if self.is_certain { MOST_LEVELS } else { MANY_LEVELS };
        match &mut self.labels {
            labels if is_number => *labels = None,
            Some(seen) if seen.len() <= most && !seen.contains(&*cell.text()) => {
                seen.insert(cell.to_text());
            }
            _ => {}
        }
    }

    /// Whether the cell cannot be a label. Text of digits is text. Where nothing is certain, bools are numbers.
    fn is_no_label(&self, cell: &Cell) -> bool {
        let table = self.table;
        match table.type_of(self.place) {
            Some(ColumnType::Text) => false, //~ typed-text
            Some(ColumnType::Bools | ColumnType::Times { .. }) => true,
            _ => cell.number(table.decimal).is_some() || is_no_label(&cell.text(), table.decimal),
        }
    }

    /// The way of writing the day of its dates, `None` for times of the day; `None` if the column holds no dates.
    fn way(&mut self) -> Result<Option<Option<&'static str>>, Error> {
        if let Some(ColumnType::Times { is_clock, .. }) = self.table.type_of(self.place) {
            let are_some = self.role == Role::Feature && self.labels.is_none();
            return Ok(are_some.then(|| (!is_clock).then_some(ISO)));
        }
        let way = self.search.take().and_then(|search| search.end(self.reader.date_order));
        way.transpose().map_err(|problem| {
            let line = problem.line;
            let (problem, advice) = problem.said();
            self.table.cell_problem(line, self.place, problem).advise(advice)
        })
    }

    /// The column, after all rows have been counted.
    fn column(mut self, count: &Count, dates: Option<Dates>) -> Result<Column, Error> {
        let (role, kind, name) = (self.role, self.table.type_of(self.place), self.name().clone());
        let fill = Fill { value: f64::NAN, marked: count.missing[self.place] > 0 };
        let missing = (role == Role::Feature).then_some(fill);
        if dates.is_some() {
            return Ok(Column { dates, missing, ..Column::new(name, role) });
        }
        let labels = self.labels.take();
        let labels: Option<Vec<String>> =
            labels.map(|labels| labels.into_iter().map(Cow::into_owned).collect());
        // True and false in text are what they are in a table with types.
        let is_open = role == Role::Feature && !self.is_certain && kind.is_none();
        let are_bools = labels.as_deref().is_some_and(are_bools);
        let is_text_of_bools = is_open && are_bools; //~ bools-of-text
        let labels = labels.filter(|_| !is_text_of_bools);
        let levels = labels.map(|labels| self.levels(labels)).transpose()?;
        if let Some(levels) = &levels {
            self.check(levels, count.complete)?;
        }
        let is_bool = kind == Some(&ColumnType::Bools);
        let bools = role == Role::Event
            || (role == Role::Feature && is_bool && levels.is_none())
            || is_text_of_bools;
        Ok(Column { name, role, levels, bools, dates, missing })
    }

    /// The name of the column.
    fn name(&self) -> &'a String {
        &self.table.names[self.place]
    }

    /// An error that says something of the column.
    fn problem(&self, problem: String) -> Error {
        self.table.problem(format!("column `{}` {problem}", shown(self.name())))
    }

    /// The labels in the order of their numbers.
    fn levels(&self, labels: Vec<String>) -> Result<Vec<String>, Error> {
        let levels = match self.role {
            Role::Response(_) if !self.reader.classes.is_empty() => {
                in_order(&labels, &self.reader.classes)
            }
            _ => by_size(labels),
        };
        levels.map_err(|problem| self.problem(problem))
    }

    /// An error if the levels, in so many rows, are none that the column can have in its role.
    fn check(&self, levels: &[String], rows: usize) -> Result<(), Error> {
        match self.role {
            Role::Response(_) => self.check_classes(levels, rows),
            Role::Group(_) if levels.len() < 2 || levels.len() >= rows => {
                let groups = message::count(levels.len(), "group");
                let rows = message::count(rows, "row");
                let allowed =
                    "2 or more, and fewer than rows, are needed to tell groups from noise";
                Err(self.problem(format!("has {groups} in {rows}: {allowed}")))
            }
            Role::Group(_) | Role::Feature => self.check_labels(levels, rows),
            Role::Exposure | Role::Weight | Role::Event | Role::Until | Role::Ignored => Ok(()),
        }
    }

    /// An error if there is one class, or are more than a classification has.
    fn check_classes(&self, classes: &[String], rows: usize) -> Result<(), Error> {
        match classes {
            [only] => {
                let (name, only) = (shown(self.name()), shown(only));
                let problem = format!("all rows are of one class, `{name}` = `{only}`");
                Err(self.table.problem(problem))
            }
            _ => check_number_of_classes(classes.len(), rows).map_err(|found| self.problem(found)),
        }
    }

    /// An error if labels are too many, numbers with a unit, or none to tell rows apart by.
    fn check_labels(&self, levels: &[String], rows: usize) -> Result<(), Error> {
        let column = || self.name().clone();
        let ignore = |if_identifier| Advice::Ignore { column: column(), if_identifier };
        let labels = |if_labels| Advice::Categorical { column: column(), if_labels };
        let (found, advice) = match levels {
            _ if self.is_certain && levels.len() > MOST_LEVELS => {
                (format!("has more than {MOST_LEVELS} levels"), vec![ignore(true)])
            }
            _ if !self.is_certain && are_with_unit(levels) => {
                let found = format!("holds numbers with a unit, such as `{}`", shown(&levels[0]));
                (found, vec!["take the unit out".into(), labels(true)])
            }
            _ if !self.is_certain && are_many(levels.len(), rows) => {
                let kinds = match levels.len() {
                    n if n > MANY_LEVELS => format!("more than {MANY_LEVELS} kinds"),
                    n => format!("{n} kinds in {}", message::count(rows, "row")),
                };
                let advice = vec![ignore(true), Advice::Group { column: column() }, labels(false)];
                (format!("holds text of {kinds}"), advice)
            }
            [] => ("has no value in any row".into(), vec![ignore(false)]),
            [only] if self.reader.encoding == Encoding::DropFirst => {
                let only = shown(only);
                let found =
                    format!("is `{only}` in all rows: nothing is left without the first level");
                (found, vec![ignore(false)])
            }
            _ => return Ok(()),
        };
        Err(self.problem(found).advise(advice))
    }
}

impl Schema {
    /// Finds out which features are categorical, their levels, and the classes.
    pub(super) fn fit(
        reader: &CsvReader,
        table: &Table,
        roles: Vec<Role>,
    ) -> Result<(Self, Count), Error> {
        let named: HashSet<&String> = reader.categorical.iter().collect();
        let learner = |(j, role): (usize, &Role)| {
            Learner::new(reader, table, (j, *role), named.contains(&table.names[j]))
        };
        let mut learners: Vec<Learner> = roles.iter().enumerate().map(learner).collect();
        let fills: Vec<bool> = roles.iter().map(|role| *role == Role::Feature).collect();
        let count = table.count(reader, &roles, &fills, &mut |line, cells, is_missing| {
            for ((learner, cell), is_missing) in learners.iter_mut().zip(cells).zip(is_missing) {
                if !is_missing {
                    learner.add(line, cell);
                }
            }
        })?;
        let ways = learners.iter_mut().map(Learner::way).collect::<Result<Vec<_>, _>>()?;
        let dates = Self::dates(reader, table, &ways)?;
        let columns = learners.into_iter().zip(dates);
        let columns = columns.map(|(learner, dates)| learner.column(&count, dates));
        let columns = columns.collect::<Result<Vec<Column>, Error>>()?;
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
                        .and_then(|way| cell.seconds(way));
                    times.extend(time);
                }
                Ok(())
            })?;
        }
        let of = |(j, (way, times)): (usize, (&Option<Option<&str>>, Vec<f64>))| {
            let dates = Dates::of(times, (*way)?.is_none());
            Some(match table.type_of(j) {
                Some(ColumnType::Times { zone, .. }) => dates.in_zone(zone.clone()),
                _ => dates.written((*way)?),
            })
        };
        Ok(ways.iter().zip(times).enumerate().map(of).collect())
    }

    /// Learns what stands in for missing values from the training file, and makes the data set.
    pub(super) fn train(mut self, table: &Table, count: Count) -> Result<CsvData, Error> {
        let order: Vec<usize> = (0..table.names.len()).collect();
        let mut numbers = self.numbers(table, &order, &count)?;
        self.fill_in(table, &mut numbers);
        numbers.stand_ins = self.missing(&order, &count);
        self.data(table, numbers)
    }

    /// Learns what stands in for the missing values of training rows, and puts it there.
    pub(super) fn fill_in(&mut self, table: &Table, numbers: &mut Numbers) {
        let (encoding, mut place) = (self.reader.encoding, 0);
        for (j, column) in self.columns.iter_mut().enumerate() {
            let width = column.width(encoding);
            let has_median = column.has_median(encoding);
            if let Some(fill) = column.missing.as_mut().filter(|_| has_median) {
                let mut x = numbers.x.column_mut(place);
                // One behind the other they are read faster.
                let values = table.all_numbers(j).map_or(x.view(), ArrayView1::from);
                fill.value = match &numbers.weights {
                    None => median(values),
                    Some(weights) => weighted_median(values, weights),
                };
                if fill.marked {
                    x.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = fill.value);
                }
            } else if let Some(fill) = &mut column.missing {
                fill.value = 0.0;
            } else if matches!(column.role, Role::Group(_)) {
                // In other files.
                column.missing = Some(Fill { value: 0.0, marked: false });
            }
            place += width;
        }
    }
}

/// What is wrong with so many classes in so many rows, if anything is.
fn check_number_of_classes(classes: usize, rows: usize) -> Result<(), String> {
    let found = match classes {
        _ if classes > MOST_LEVELS => format!("more than {MOST_LEVELS} classes"),
        _ if classes > MANY_LEVELS.max(rows / 2) => {
            format!("{classes} classes in {}", message::count(rows, "row"))
        }
        _ => return Ok(()),
    };
    Err(format!("has {found}: is this a regression?"))
}

/// The classes of a response in so many rows in the order that a table of text gives them: by size if all are numbers, else as text.
///
/// ```
/// let classes = ["100", "9", "10"].map(String::from).to_vec();
/// assert_eq!(bnn_mcmc::data::classes_in_order(classes, 30)?, ["9", "10", "100"]);
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// What is to be said of the response: it has too many classes, or one number written in two ways.
pub fn classes_in_order(mut classes: Vec<String>, rows: usize) -> Result<Vec<String>, String> {
    check_number_of_classes(classes.len(), rows)?;
    classes.sort();
    by_size(classes)
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
