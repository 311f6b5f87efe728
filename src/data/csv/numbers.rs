//! The cells of a table as numbers.

use std::borrow::Cow;
use std::collections::HashMap;

use ndarray::Array2;

use super::column::{Column, Fill};
use super::role::Role;
use super::table::{Count, Table};
use super::typed::Cell;
use super::{ColumnType, CsvData, CsvReader, Dates, Lines, Schema, StandIn};
use crate::Error;
use crate::cells::shown;
use crate::data::Dataset;
use crate::data::dataset::shortened;
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
        let most = match table.is_frame() {
            true => u128::MAX,
            false => 4 * u128::from(self.reader.limit),
        };
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
        let class_names = self.class_names().unwrap_or_default().to_vec();
        let response = self.reader.task.response(y, upper, (classes, class_names));
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
        self.check_size(table, count.complete)?;
        let used = self.columns.iter().zip(order);
        let used = used.filter(|(column, _)| column.role != Role::Ignored);
        let used = used.map(|(column, &place)| {
            let are_numbers = table.type_of(place) == Some(&ColumnType::Numbers);
            Used { column, place, codes: column.codes(are_numbers) }
        });
        let used: Vec<Used> = used.collect();
        let mut encoder = Encoder::new(self, table, count, &used);
        encoder.numbers.stand_ins = self.missing(order, count);
        table.each_row(&mut |line, cells| encoder.push(line, cells))?;
        Ok(encoder.end())
    }

    /// The names of the response's columns in their order.
    fn response_names(&self) -> Vec<String> {
        let of_response = |column: &Column| match column.role {
            Role::Response(place) => Some((place, column.name.clone())),
            _ => None,
        };
        let mut names: Vec<_> = self.columns.iter().filter_map(of_response).collect();
        names.sort();
        names.into_iter().map(|(_, name)| name).collect()
    }
}

/// A column that becomes numbers.
struct Used<'a> {
    column: &'a Column,
    /// The place of its cell in each row.
    place: usize,
    /// The number of each level.
    codes: Option<HashMap<Cow<'a, str>, usize>>,
}

impl Used<'_> {
    /// Whether a row is left out where it has no value of the column.
    fn drops(&self, reader: &CsvReader) -> bool {
        match self.column.role {
            Role::Until => false,
            Role::Feature | Role::Weight => reader.drop_missing_rows,
            _ => reader.drop_missing_rows || self.column.missing.is_none(),
        }
    }

    /// Whether the table says that the column holds true and false.
    fn is_bool(&self, table: &Table) -> bool {
        table.type_of(self.place) == Some(&ColumnType::Bools)
    }

    /// The number of a label; `None` of one that the training file does not have.
    fn code(&self, label: &str, is_bool: bool) -> Option<usize> {
        let codes = self.codes.as_ref()?;
        // `True` here may be `true` in the training file.
        let same = |level: &&Cow<str>| is_bool && level.eq_ignore_ascii_case(label);
        let code = codes.get(label).copied();
        code.or_else(|| codes.keys().find(same).map(|level| codes[level]))
    }

    /// The time of a cell in seconds.
    fn time(&self, dates: &Dates, table: &Table, line: usize, cell: &Cell) -> Result<f64, Error> {
        let time = match (cell, table.type_of(self.place)) {
            (Cell::Time(time), _) => Some(*time),
            (_, Some(ColumnType::Dates)) => dates.read_iso(&cell.text()),
            _ => dates.read(&cell.text()),
        };
        time.ok_or_else(|| {
            let problem = format!("`{}` is no date as the training file has", shown(&cell.text()));
            table.cell_problem(line, self.place, problem)
        })
    }
}

/// Turns rows of cells into numbers.
struct Encoder<'a, 't> {
    reader: &'a CsvReader,
    table: &'a Table<'t>,
    count: &'a Count,
    used: &'a [Used<'a>],
    /// The place of the upper bounds of times, if there are any.
    until: Option<usize>,
    /// The groups of the row.
    groups: Groups,
    /// The log of the row's exposure.
    offset: Option<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
    /// All but `x` and `y`.
    numbers: Numbers,
}

impl<'a, 't> Encoder<'a, 't> {
    /// Without rows as yet, and without [what stands in](StandIn::Missing) for missing values.
    fn new(
        schema: &'a Schema,
        table: &'a Table<'t>,
        count: &'a Count,
        used: &'a [Used<'a>],
    ) -> Self {
        let (names, response_names) = (schema.feature_names(), schema.response_names());
        let (rows, task) = (count.complete, schema.reader.task);
        let (n_classes, n_real) = match task.has_classes() {
            true => (rows, 0),
            false => (0, rows * response_names.len()),
        };
        let until = used.iter().find(|used| used.column.role == Role::Until);
        Self {
            reader: &schema.reader,
            table,
            count,
            used,
            until: until.map(|until| until.place),
            groups: Groups::of(&schema.columns),
            offset: None,
            x: Vec::with_capacity(rows * names.len()),
            y: vec![0.0; n_real],
            numbers: Numbers {
                x: Array2::default((0, 0)),
                names,
                response_names,
                y: Array2::default((0, 0)),
                upper: Vec::with_capacity(if task.has_bounds() { rows } else { 0 }),
                classes: Vec::with_capacity(n_classes),
                weights: None,
                lines: table.no_lines(),
                dropped: Vec::with_capacity(count.dropped),
                stand_ins: Vec::new(),
            },
        }
    }

    /// Adds a row, unless it is to be left out.
    fn push(&mut self, line: usize, cells: &[Cell]) -> Result<(), Error> {
        let used = self.used;
        let is_missing = |used: &Used| self.table.is_missing(self.reader, &cells[used.place]);
        if self.count.dropped > 0
            && used.iter().any(|used| used.drops(self.reader) && is_missing(used))
        {
            self.numbers.dropped.push(line);
            return Ok(());
        }
        used.iter().try_for_each(|used| self.push_cell(used, line, &cells[used.place]))?;
        self.groups.push(&mut self.x);
        self.x.extend(self.offset);
        self.end_bounds(line)?;
        self.numbers.lines.push(line);
        Ok(())
    }

    /// Adds the numbers of a cell.
    fn push_cell(&mut self, used: &Used, line: usize, cell: &Cell) -> Result<(), Error> {
        let (table, Used { column, place, codes }) = (self.table, used);
        let is_missing = self.count.missing[*place] > 0 && table.is_missing(self.reader, cell);
        match (column.role, &column.dates, codes) {
            (Role::Group(grouping), ..) => self.set_group(grouping, used, cell, is_missing),
            (Role::Until, ..) if is_missing => self.numbers.upper.push(f64::INFINITY),
            (Role::Weight, ..) if is_missing => {
                let problem = format!("no weight (`{}`)", shown(&cell.text()));
                let error = table.cell_problem(line, *place, problem);
                return Err(error.advise([Advice::DropMissing]));
            }
            _ if is_missing => column.push_missing(self.reader.encoding, &mut self.x),
            (_, Some(dates), _) => {
                column.push_time(dates, used.time(dates, table, line, cell)?, &mut self.x);
            }
            (_, None, Some(_)) => self.push_label(used, line, cell)?,
            (_, None, None) => self.push_number(used, line, cell)?,
        }
        Ok(())
    }

    /// Takes the group of the row in one grouping.
    fn set_group(&mut self, grouping: usize, used: &Used, cell: &Cell, is_missing: bool) {
        let text = cell.text();
        let code = if is_missing { None } else { used.code(&text, false) };
        if code.is_none() {
            let group = if is_missing { "no value" } else { &text };
            StandIn::new_group(&mut self.numbers.stand_ins, &used.column.name, group);
        }
        self.groups.codes[grouping] = code;
    }

    /// Adds the class or the features of a label.
    fn push_label(&mut self, used: &Used, line: usize, cell: &Cell) -> Result<(), Error> {
        let (column, text) = (used.column, cell.text());
        let code = used.code(&text, used.is_bool(self.table));
        if code.is_none() && column.missing.is_some() {
            StandIn::unknown(&mut self.numbers.stand_ins, &column.name, &text);
        } else if code.is_none() {
            let known = if column.role == Role::Feature { "levels" } else { "classes" };
            let levels = shortened(column.levels.as_deref().unwrap_or_default());
            let text = shown(&text);
            let problem =
                format!("`{text}` is not among the {known} of the training file: {levels}");
            return Err(self.table.cell_problem(line, used.place, problem));
        }
        match column.role {
            Role::Response(_) => self.numbers.classes.extend(code),
            _ => column.push_label(code, self.reader.encoding, &mut self.x),
        }
        Ok(())
    }

    /// Adds a number, which may be true or false.
    fn push_number(&mut self, used: &Used, line: usize, cell: &Cell) -> Result<(), Error> {
        let (table, role, at) = (self.table, used.column.role, (line, used.place));
        // Beside an upper bound it may not be known from when on.
        let is_open = self.until.is_some()
            && matches!(role, Role::Response(_))
            && cell.number(table.decimal) == Some(f64::NEG_INFINITY);
        let Numbers { upper, weights, lines, response_names, .. } = &mut self.numbers;
        let row = lines.rows();
        let value = match used.column.bools || (role == Role::Feature && used.is_bool(table)) {
            _ if is_open => f64::NEG_INFINITY,
            true => table.truth(at, cell)?,
            false => table.number(at, cell, (self.reader.task, role), row == 0)?,
        };
        match role {
            Role::Response(place) => self.y[row * response_names.len() + place] = value,
            // 1 for an event: the bound is the time, which may come later in the row.
            Role::Event if value == 1.0 => upper.push(f64::NAN),
            Role::Event => upper.push(f64::INFINITY),
            Role::Until => upper.push(value),
            Role::Exposure => self.offset = Some(crate::portable::ln(value)),
            Role::Weight => weights.get_or_insert_default().push(value), //~ read-weight
            _ => used.column.push_number(value, &mut self.x),
        }
        Ok(())
    }

    /// Completes the bounds of the row's time, if the response is times.
    fn end_bounds(&mut self, line: usize) -> Result<(), Error> {
        let Numbers { upper, lines, response_names, .. } = &mut self.numbers;
        let Some(upper) = upper.last_mut() else { return Ok(()) };
        let time = self.y[lines.rows() * response_names.len()];
        *upper = if upper.is_nan() { time } else { *upper }; //~ time-of-event
        let problem = match *upper {
            f64::INFINITY if time == f64::NEG_INFINITY => {
                "neither bound is known: leave the row out".to_string()
            }
            upper if upper < time => format!("the upper bound {upper} is below the time, {time}"),
            _ => return Ok(()),
        };
        Err(self.table.cell_problem(line, self.until.unwrap_or(0), problem))
    }

    /// The numbers of all rows.
    fn end(self) -> Numbers {
        let array = |values: Vec<f64>, columns: usize| {
            Array2::from_shape_vec((values.len() / columns.max(1), columns), values)
                .expect("all rows have that many columns")
        };
        let (width, outputs) = (self.numbers.names.len(), self.numbers.response_names.len());
        Numbers { x: array(self.x, width), y: array(self.y, outputs), ..self.numbers }
    }
}
