//! The cells of a table as numbers.

use ndarray::Array2;

use super::column::{Column, Fill};
use super::role::Role;
use super::table::{Count, Table};
use super::{ColumnType, CsvData, Lines, Schema, StandIn};
use crate::Error;
use crate::cells::shown;
use crate::data::dataset::shortened;
use crate::data::{Dataset, Response, Task};
use crate::memory;
use crate::message::{Advice, Setting};

/// The cells of a table as numbers.
pub(super) struct Numbers {
    pub(super) x: Array2<f64>,
    /// The names of the features.
    pub(super) names: Vec<String>,
    response_names: Vec<String>,
    /// `[row, column]`; without rows if the response is classes.
    y: Array2<f64>,
    /// The upper bound of each time, if the response is times.
    upper: Vec<f64>,
    /// The class of each row, if the response is classes.
    classes: Vec<usize>,
    /// The weight of each row, if rows have weights.
    pub(super) weights: Option<Vec<f64>>,
    /// The line of each row.
    pub(super) lines: Lines,
    /// The lines that were left out.
    pub(super) dropped: Vec<usize>,
    pub(super) stand_ins: Vec<StandIn>,
}

/// The groups of a row.
struct Groups {
    /// The number of groups of each grouping.
    sizes: Vec<usize>,
    /// The group of the row in each, `None` of one that the training file does not have.
    codes: Vec<Option<usize>>,
}

impl Groups {
    fn of(columns: &[Column]) -> Self {
        let mut sizes = Vec::new();
        for column in columns {
            if let Role::Group(place) = column.role {
                sizes.resize(sizes.len().max(place + 1), 0);
                sizes[place] = column.levels.as_ref().map_or(0, Vec::len);
            }
        }
        Self { codes: vec![None; sizes.len()], sizes }
    }

    /// Adds the indicators.
    fn push(&self, x: &mut Vec<f64>) {
        for (size, code) in self.sizes.iter().zip(&self.codes) {
            let start = x.len();
            x.resize(start + size + 1, 0.0);
            x[start + code.unwrap_or(*size)] = 1.0; //~ new-group
        }
    }
}

impl Schema {
    /// Checks, before any of it is made, that the numbers of `rows` rows fit into memory, and that
    /// they and the names of the features are within the reader's limit.
    fn check_size(&self, table: &Table, rows: usize) -> Result<(), Error> {
        let encoding = self.reader.encoding;
        let (mut width, mut outputs, mut names) = (0, 0, 0u128);
        for column in &self.columns {
            outputs += usize::from(matches!(column.role, Role::Response(_)));
            width += column.width(encoding) + column.indicators().count();
            if column.role == Role::Feature {
                let levels = column.encoded_levels(encoding).iter();
                let lengths = levels.map(|level| (column.name.len() + 1 + level.len()) as u128);
                names += lengths.sum::<u128>();
            }
        }
        let most = 4 * u128::from(self.reader.limit);
        let numbers = 8 * rows as u128 * (width + outputs) as u128;
        for (bytes, what) in [(numbers, "numbers"), (names, "names")] {
            if bytes > most {
                let problem = format!(
                    "{rows} rows of {width} features with their response take {bytes} bytes as {what}, \
                     but at most {most} are allowed, four times the limit of text"
                );
                let advice = [Advice::RaiseLimit { if_trusted: false }, Advice::EncodeAsCodes];
                return Err(table.problem(problem).advise(advice));
            }
        }
        let name = format!("data set of {}", table.file);
        let size = [(rows, "rows"), (width + outputs, "columns")];
        memory::check::<f64>(&name, &size, "leave columns out")
            .map_err(|error| error.advise([Advice::EncodeAsCodes]))
    }

    /// The missing values of each column of features.
    pub(super) fn missing(&self, order: &[usize], count: &Count) -> Vec<StandIn> {
        let encoding = self.reader.encoding;
        let has_gaps = |(column, j): &(&Column, &usize)| {
            column.role == Role::Feature && count.missing[**j] > 0
        };
        let columns = self.columns.iter().zip(order).filter(has_gaps);
        let stand_in = |(column, j): (&Column, &usize)| {
            let Fill { value, marked } = column.missing?;
            let value = column.has_median(encoding).then_some(value);
            let (column, rows) = (column.name.clone(), count.missing[*j]);
            let imputed = marked && self.reader.imputes;
            Some(StandIn::Missing { column, rows, value, marked, imputed })
        };
        columns.filter_map(stand_in).collect()
    }

    /// Makes the data set.
    pub(super) fn data(&self, table: &Table, numbers: Numbers) -> Result<CsvData, Error> {
        let Numbers { x, names, response_names, y, upper, classes, weights, .. } = numbers;
        let (lines, dropped, stand_ins) = (numbers.lines, numbers.dropped, numbers.stand_ins);
        let response = match self.reader.task {
            Task::Regression => Response::Real(y),
            Task::Counts => Response::Counts(y),
            Task::Survival => {
                Response::Censored { lower: y.column(0).to_owned(), upper: upper.into() }
            }
            Task::Classification => {
                let names = self.class_names().unwrap_or_default().to_vec();
                Response::Classes { index: classes, names }
            }
        };
        let dataset = Dataset::checked(x, response, names, response_names).map_err(|error| {
            if error.is_data() { error } else { table.problem(error.to_string()) }
        })?;
        let dataset = match weights {
            Some(weights) => {
                let weighted = match table.continues {
                    true => dataset.with_weights_of_part(weights),
                    false => dataset.with_weights(weights),
                };
                weighted.map_err(|error| error.of(Setting::RowWeights))?
            }
            None => dataset,
        };
        Ok(CsvData { dataset, schema: self.clone(), lines, dropped, stand_ins, drawn_from: None })
    }

    /// Turns the cells into numbers. The cell of the i-th column is at `order[i]` of each row.
    pub(super) fn numbers(
        &self,
        table: &Table,
        order: &[usize],
        count: &Count,
    ) -> Result<Numbers, Error> {
        let (task, encoding) = (self.reader.task, self.reader.encoding);
        self.check_size(table, count.complete)?;
        let names = self.feature_names();
        let mut response_names = Vec::new();
        let mut used = Vec::with_capacity(order.len());
        for (column, &j) in self.columns.iter().zip(order) {
            match column.role {
                Role::Ignored => continue,
                Role::Response(place) => response_names.push((place, column.name.clone())),
                Role::Feature
                | Role::Exposure
                | Role::Weight
                | Role::Group(_)
                | Role::Event
                | Role::Until => {}
            }
            used.push((column, j, column.codes()));
        }
        response_names.sort();
        let response_names: Vec<String> =
            response_names.into_iter().map(|(_, name)| name).collect();

        let (rows, width, outputs) = (count.complete, names.len(), response_names.len());
        let (n_classes, n_real) = match task {
            Task::Classification => (rows, 0),
            Task::Regression | Task::Counts | Task::Survival => (0, rows * outputs),
        };
        let mut x = Vec::with_capacity(rows * width);
        let mut classes = Vec::with_capacity(n_classes);
        let mut y = vec![0.0; n_real];
        let mut lines = table.no_lines();
        let mut dropped = Vec::with_capacity(count.dropped);
        let mut stand_ins = self.missing(order, count);
        let (mut offset, mut groups) = (None, Groups::of(&self.columns));
        let mut weights: Option<Vec<f64>> = None;
        let mut upper = Vec::with_capacity(if task == Task::Survival { rows } else { 0 });
        let has_until = self.columns.iter().any(|column| column.role == Role::Until);
        table.each_row(&mut |line, cells| {
            let is_missing = |j: usize| table.is_missing(&self.reader, &cells[j]);
            let is_filled =
                |column: &Column| column.role == Role::Feature || column.missing.is_some();
            let drops = |column: &Column| match column.role {
                Role::Until => false,
                Role::Weight => self.reader.drop_missing_rows,
                _ => self.reader.drop_missing_rows || !is_filled(column),
            };
            if count.dropped > 0
                && used.iter().any(|(column, j, _)| drops(column) && is_missing(*j))
            {
                dropped.push(line);
                return Ok(());
            }
            for (column, j, codes) in &used {
                let (role, j, cell) = (column.role, *j, &cells[*j]);
                if let Role::Group(place) = role {
                    let is_missing = count.missing[j] > 0 && is_missing(j);
                    let known = codes.as_ref().filter(|_| !is_missing);
                    let text = cell.text();
                    groups.codes[place] = known.and_then(|codes| codes.get(&*text).copied());
                    if groups.codes[place].is_none() {
                        let group = if is_missing { "no value" } else { &text };
                        StandIn::new_group(&mut stand_ins, &column.name, group);
                    }
                    continue;
                }
                if role == Role::Until && is_missing(j) {
                    upper.push(f64::INFINITY);
                    continue;
                }
                if role == Role::Weight && is_missing(j) {
                    let problem = format!("no weight (`{}`)", shown(&cell.text()));
                    let advice = [Advice::DropMissing];
                    return Err(table.cell_problem(line, j, problem).advise(advice));
                }
                if count.missing[j] > 0 && is_missing(j) {
                    column.push_missing(encoding, &mut x);
                    continue;
                }
                if let Some(dates) = &column.dates {
                    let text = cell.text();
                    let time = match table.type_of(j) {
                        Some(ColumnType::Dates) => dates.read_iso(&text),
                        _ => dates.read(&text),
                    };
                    let time = time.ok_or_else(|| {
                        let problem =
                            format!("`{}` is no date as the training file has", shown(&text));
                        table.cell_problem(line, j, problem)
                    })?;
                    column.push_time(dates, time, &mut x);
                    continue;
                }
                let is_bool = table.type_of(j) == Some(&ColumnType::Bools);
                let Some(codes) = codes else {
                    // Beside an upper bound it may not be known from when on.
                    let is_open = has_until
                        && matches!(role, Role::Response(_))
                        && cell.number(table.decimal) == Some(f64::NEG_INFINITY);
                    let value = match column.bools || (is_bool && role == Role::Feature) {
                        _ if is_open => f64::NEG_INFINITY,
                        true => table.truth((line, j), cell)?,
                        false => table.number((line, j), cell, (task, role), lines.rows() == 0)?,
                    };
                    match role {
                        Role::Response(place) => y[lines.rows() * outputs + place] = value,
                        // 1 for an event: the bound is the time, which may come later in the row.
                        Role::Event if value == 1.0 => upper.push(f64::NAN),
                        Role::Event => upper.push(f64::INFINITY),
                        Role::Until => upper.push(value),
                        Role::Exposure => offset = Some(crate::portable::ln(value)),
                        Role::Weight => weights.get_or_insert_default().push(value), //~ read-weight
                        _ => column.push_number(value, &mut x),
                    }
                    continue;
                };
                // `True` here may be `true` in the training file.
                let text = cell.text();
                let same = |level: &&&str| is_bool && level.eq_ignore_ascii_case(&text);
                let code = codes.get(&*text).copied();
                let code = code.or_else(|| codes.keys().find(same).map(|level| codes[level]));
                if code.is_none() && column.missing.is_some() {
                    StandIn::unknown(&mut stand_ins, &column.name, &text);
                } else if code.is_none() {
                    let known = if role == Role::Feature { "levels" } else { "classes" };
                    let levels = shortened(column.levels.as_deref().unwrap_or_default());
                    let problem = format!(
                        "`{}` is not among the {known} of the training file: {levels}",
                        shown(&text)
                    );
                    return Err(table.cell_problem(line, j, problem));
                }
                match role {
                    Role::Response(_) => classes.extend(code),
                    _ => column.push_label(code, encoding, &mut x),
                }
            }
            groups.push(&mut x);
            x.extend(offset);
            if let Some(upper) = upper.last_mut() {
                let time = y[lines.rows() * outputs];
                *upper = if upper.is_nan() { time } else { *upper }; //~ time-of-event
                let until = || {
                    let until = used.iter().find(|(column, ..)| column.role == Role::Until);
                    until.map_or(0, |until| until.1)
                };
                if time == f64::NEG_INFINITY && *upper == f64::INFINITY {
                    let problem = "neither bound is known: leave the row out".to_string();
                    return Err(table.cell_problem(line, until(), problem));
                }
                if *upper < time {
                    let problem = format!("the upper bound {upper} is below the time, {time}");
                    return Err(table.cell_problem(line, until(), problem));
                }
            }
            lines.push(line);
            Ok(())
        })?;
        let array = |values: Vec<f64>, columns: usize| {
            Array2::from_shape_vec((values.len() / columns.max(1), columns), values)
                .expect("all rows have that many columns")
        };
        let (x, y) = (array(x, width), array(y, outputs));
        Ok(Numbers {
            x,
            names,
            response_names,
            y,
            upper,
            classes,
            weights,
            lines,
            dropped,
            stand_ins,
        })
    }
}
