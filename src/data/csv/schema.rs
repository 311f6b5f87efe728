//! The schema of a training file, and the conversion of cells to numbers by it.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::io::Read;
use std::path::Path;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::column::{Column, Fill, median};
use super::dates::{Search, seconds};
use super::role::Role;
use super::table::{Count, Table, is_no_label};
use super::{Columns, CsvData, CsvReader, Dates, Encoding, Features, Lines, StandIn};
use crate::Error;
use crate::cells::shown;
use crate::data::Task;
use crate::data::dataset::shortened;
use crate::data::gzip::Source;
use crate::data::{Dataset, Response};
use crate::memory;
use crate::message::{self, Advice};

/// The largest number of levels of a column that was not named as categorical.
pub(super) const MANY_LEVELS: usize = 50;

/// Whether a column that was not named as categorical has more levels than a sensible feature of so many
/// rows: more than 50, or more than 10 and than half as many as there are rows.
pub(super) fn are_many(levels: usize, rows: usize) -> bool {
    levels > MANY_LEVELS || (levels > 10 && 2 * levels > rows) //~ share-of-levels
}

/// Whether all levels are numbers with the same unit, such as `12kg`. `10th` is a label.
pub(super) fn are_with_unit<S: AsRef<str>>(levels: &[S]) -> bool {
    let unit = |level: &S| -> Option<String> {
        let level = level.as_ref();
        let is_digit = |c: char| c.is_ascii_digit() || ".,+-".contains(c);
        let unit = level.trim_start_matches(is_digit);
        let is_number = level[..level.len() - unit.len()].parse::<f64>().is_ok();
        (is_number && !["", "st", "nd", "rd", "th"].contains(&unit)).then(|| unit.into())
    };
    let Some(first) = levels.first().and_then(unit) else { return false };
    levels.len() > 1 && levels.iter().all(|level| unit(level).as_ref() == Some(&first)) //~ unit
}

/// The largest number of levels or classes of any column.
const MOST_LEVELS: usize = 1 << 16;

/// The kind of values in a column of a table that is not text: for [`Schema::of_table`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cells {
    /// Numbers.
    Numbers,
    /// True and false, which become 1 and 0.
    Bools,
    /// Dates or times.
    Dates(Dates),
    /// Labels: one feature of 0 and 1 for each of these levels, in this order.
    Labels(Vec<String>),
    /// A column that is not a feature, for example since it is constant.
    LeftOut,
}

/// The way in which a training file was read: applied to a test file, it gives the same features,
/// levels and classes, or an error. It can be stored with serde.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    reader: CsvReader,
    columns: Vec<Column>,
}

/// The places of the training file's columns in another table.
struct Places {
    order: Vec<usize>,
    /// The names of columns that the training file does not have.
    unused: Vec<String>,
    /// The rows of the table.
    count: Count,
}

impl Schema {
    /// Makes the schema by which files are read like a table that was not read from text, such as a
    /// data frame: rows of files then have the same features. `columns` are the columns of features
    /// in their order, with their names, and what stands in for missing values, which are refused
    /// where that is `None`; `classes` are the names of the classes in the order of
    /// their numbers, if the response is classes. Files have a header, which may hold any names,
    /// and the response's columns are called as `reader` says.
    ///
    /// ```
    /// use bnn_mcmc::data::{Cells, CsvReader, Schema};
    /// let columns = [
    ///     ("sex".into(), Cells::Labels(vec!["F".into(), "M".into()]), None),
    ///     ("ripe".into(), Cells::Bools, None),
    ///     ("length".into(), Cells::Numbers, None),
    /// ];
    /// let schema = Schema::of_table(CsvReader::regression("rings"), columns, None)?;
    /// let new = schema.read_features("length,sex,ripe\n0.3,F,True\n".as_bytes())?;
    /// assert_eq!(new.names, ["sex=F", "sex=M", "ripe", "length"]);
    /// assert_eq!(new.x, ndarray::array![[1.0, 0.0, 1.0, 0.3]]);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// A response that the reader does not call by name; classes where the response is none, or none
    /// where it is; a name that occurs twice.
    pub fn of_table(
        reader: CsvReader,
        columns: impl IntoIterator<Item = (String, Cells, Option<Fill>)>,
        classes: Option<Vec<String>>,
    ) -> Result<Self, Error> {
        let reader = reader.header();
        let Columns::Named(response) = reader.response() else {
            let found = format!("{:?}", reader.response());
            return Err(Error::argument("response", found, "one or more columns by their names"));
        };
        if classes.is_some() != (reader.task == Task::Classification) {
            let found = format!("{:?}", reader.task);
            let allowed = "classification if, and only if, classes are named";
            return Err(Error::argument("response", found, allowed));
        }
        let features = columns.into_iter().map(|(name, cells, missing)| {
            let mut column = Column {
                name,
                role: Role::Feature,
                levels: None,
                bools: false,
                dates: None,
                missing,
            };
            match cells {
                Cells::Numbers => {}
                Cells::Bools => column.bools = true,
                Cells::Dates(dates) => column.dates = Some(dates),
                Cells::Labels(levels) => column.levels = Some(levels),
                Cells::LeftOut => column.role = Role::Ignored,
            }
            column
        });
        let response = response.iter().enumerate().map(|(place, name)| Column {
            name: name.clone(),
            role: Role::Response(place),
            levels: classes.clone(),
            bools: false,
            dates: None,
            missing: None,
        });
        let columns: Vec<Column> = features.chain(response).collect();
        let mut seen = HashSet::with_capacity(columns.len());
        if let Some(twice) = columns.iter().find(|column| !seen.insert(&column.name)) {
            let found = format!("`{}` twice", shown(&twice.name));
            return Err(Error::argument("names of columns", found, "different from each other"));
        }
        Ok(Self { reader, columns })
    }

    /// The reader that files are read by.
    pub(crate) fn reader(&self) -> &CsvReader {
        &self.reader
    }

    /// The name of the column of the table that each feature comes from.
    pub(crate) fn columns_of_features(&self) -> Vec<String> {
        let encoding = self.reader.encoding;
        //~ columns-of-features
        self.columns.iter().flat_map(|c| vec![c.name.clone(); c.width(encoding)]).collect()
    }

    /// The name of the feature that is the log of an exposure, if there is one.
    pub(crate) fn offset(&self) -> Option<String> {
        self.reader.offset()
    }

    /// The names of the features: of a column of labels one for each level, `column=level`, and of one
    /// with missing values another, `column is missing`; at the end the log of an
    /// [exposure](CsvReader::exposure), `log column`.
    pub fn feature_names(&self) -> Vec<String> {
        let encoding = self.reader.encoding;
        let features = self.columns.iter().flat_map(|column| column.features(encoding));
        features.chain(self.offset()).collect()
    }

    /// What each column of the table is taken for, and what is done with it, in words: the name and a
    /// line.
    ///
    /// ```
    /// use bnn_mcmc::data::CsvReader;
    /// let text = "sex,length,rings\nM,0.4,15\nF,,7\nM,0.6,9\n";
    /// let schema = CsvReader::regression("rings").read(text.as_bytes())?.schema;
    /// let lines: Vec<String> = schema.in_words().into_iter().map(|(_, line)| line).collect();
    /// assert_eq!(lines[0], "labels: 2 levels in 2 features");
    /// assert_eq!(lines[1], "numbers; a missing one is the median 0.5, and a feature says so");
    /// assert_eq!(lines[2], "response");
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn in_words(&self) -> Vec<(String, String)> {
        let line = |column: &Column| (column.name.clone(), column.in_words(self.reader.encoding));
        self.columns.iter().map(line).collect()
    }

    /// Reads another file as the training file was read.
    ///
    /// With a header, columns are matched by name and may come in another order; without, by
    /// position.
    ///
    /// # Errors
    /// The errors of [`CsvReader::read_path`]; also if a column is missing or new, or a class did not
    /// occur in the training file.
    pub fn read_path(&self, path: impl AsRef<Path>) -> Result<CsvData, Error> {
        self.read_source(Source::open(path.as_ref())?)
    }

    /// Reads rows like [`read_path`](Self::read_path), from anything that yields bytes.
    ///
    /// # Errors
    /// The errors of [`read_path`](Self::read_path).
    pub fn read(&self, source: impl Read) -> Result<CsvData, Error> {
        self.read_source(Source::new("input", source)?)
    }

    fn read_source(&self, mut source: Source) -> Result<CsvData, Error> {
        let text = self.reader.text(&mut source)?;
        let table = Table::new(&self.reader, &source.name, &text, 2)?;
        let Places { order, unused, count } = self.places(&table)?;
        match unused.first() {
            Some(new) => {
                let problem = format!("column `{}` is not in the training file", shown(new));
                let rust = "read the features alone by `Schema::read_features`";
                let advice = ["leave it out of this one".into(), Advice::in_rust(rust)];
                Err(table.problem(problem).advise(advice))
            }
            None => self.data(&table, self.numbers(&table, &order, &count)?),
        }
    }

    /// The places of the columns in another table.
    fn places(&self, table: &Table) -> Result<Places, Error> {
        let columns = self.columns.iter().map(|column| column.name.as_str());
        let (order, unused) = table.order(columns)?;
        let mut roles = vec![Role::Ignored; table.names.len()];
        order.iter().zip(&self.columns).for_each(|(&j, column)| roles[j] = column.role);
        let mut fills = vec![false; table.names.len()];
        order.iter().zip(&self.columns).for_each(|(&j, c)| fills[j] = c.missing.is_some());
        let count = table.count(&self.reader, &roles, &fills, |_, _, _| ())?;
        Ok(Places { order, unused, count })
    }

    /// Reads the features of new rows, whose response is not known: it may be missing from the
    /// file, and so may ignored columns. The contents of such columns and of further columns are
    /// not checked: a file with a header may have more than the training file, as exports often do,
    /// and [`Features::unused`] names them.
    ///
    /// ```
    /// use bnn_mcmc::data::CsvReader;
    /// let train = "sex,length,rings\nM,0.4,15\nF,0.5,7\nM,0.6,9\n";
    /// let schema = CsvReader::regression("rings").read(train.as_bytes())?.schema;
    /// let new = schema.read_features("length,sex\n0.3,F\n".as_bytes())?;
    /// assert_eq!(new.names, ["sex=F", "sex=M", "length"]);
    /// assert_eq!(new.x, ndarray::array![[1.0, 0.0, 0.3]]);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`read_path`](Self::read_path), except the errors about the response.
    pub fn read_features_path(&self, path: impl AsRef<Path>) -> Result<Features, Error> {
        self.read_features_source(Source::open(path.as_ref())?)
    }

    /// Reads features like [`read_features_path`](Self::read_features_path), from anything that
    /// yields bytes.
    ///
    /// # Errors
    /// The errors of [`read_features_path`](Self::read_features_path).
    pub fn read_features(&self, source: impl Read) -> Result<Features, Error> {
        self.read_features_source(Source::new("input", source)?)
    }

    fn read_features_source(&self, mut source: Source) -> Result<Features, Error> {
        let text = self.reader.text(&mut source)?;
        let table = Table::new(&self.reader, &source.name, &text, 1)?;
        let is_response = |column: &Column| matches!(column.role, Role::Response(_));
        let mut columns = self.columns.clone();
        if table.has_header() {
            let positions = table.positions();
            let is_needed = |role: Role| matches!(role, Role::Feature | Role::Exposure);
            columns.retain(|c| is_needed(c.role) || positions.contains_key(&c.name[..]));
        } else if table.names.len() < columns.len() {
            columns.retain(|column| !is_response(column));
        }
        let left_out = columns.iter_mut().filter(|column| is_response(column));
        left_out.for_each(|column| column.role = Role::Ignored);
        let features = Self { reader: self.reader.clone(), columns };
        let Places { order, unused, count } = features.places(&table)?;
        let Numbers { x, names, lines, dropped, stand_ins, .. } =
            features.numbers(&table, &order, &count)?;
        Ok(Features { x, names, lines, dropped, stand_ins, unused })
    }

    /// The names of the classes in the order of their numbers; `None` if the response is not a
    /// class.
    pub fn class_names(&self) -> Option<&[String]> {
        self.columns
            .iter()
            .find(|c| matches!(c.role, Role::Response(_)))
            .and_then(|c| c.levels.as_deref())
    }

    /// The levels of a categorical feature in the order of their numbers; `None` if there is no
    /// such feature.
    pub fn levels(&self, feature: &str) -> Option<&[String]> {
        self.columns
            .iter()
            .find(|c| c.role == Role::Feature && c.name == feature)
            .and_then(|c| c.levels.as_deref())
    }

    /// Finds out which features are categorical, their levels, and the classes.
    pub(super) fn fit(
        reader: &CsvReader,
        table: &Table,
        roles: Vec<Role>,
    ) -> Result<(Self, Count), Error> {
        let named: HashSet<&String> = reader.categorical.iter().collect();
        let is_certain = |j: usize| roles[j] != Role::Feature || named.contains(&table.names[j]);
        let certain: Vec<bool> = (0..roles.len()).map(is_certain).collect();
        // The labels of each column so far, one more than are allowed; `None` where numbers are.
        let mut labels: Vec<Option<BTreeSet<Cow<str>>>> = roles
            .iter()
            .map(|role| match role {
                Role::Feature => Some(BTreeSet::new()),
                Role::Response(_) if reader.task == Task::Classification => Some(BTreeSet::new()),
                Role::Response(_) | Role::Exposure | Role::Ignored => None,
            })
            .collect();
        let fills: Vec<bool> = roles.iter().map(|role| *role == Role::Feature).collect();
        let is_open = |certain: &bool| (!certain).then(Search::new);
        let mut searches: Vec<Option<Search>> = certain.iter().map(is_open).collect();
        let count = table.count(reader, &roles, &fills, |line, cells, is_missing| {
            for (search, (cell, is_missing)) in
                searches.iter_mut().zip(cells.iter().zip(is_missing))
            {
                if let Some(search) = search.as_mut().filter(|_| !is_missing) {
                    search.add(line, cell);
                }
            }
            let cells = cells.iter().zip(is_missing);
            for ((labels, (cell, is_missing)), certain) in
                labels.iter_mut().zip(cells).zip(&certain)
            {
                let Some(seen) = labels.as_mut().filter(|_| !is_missing) else { continue };
                if !certain && is_no_label(cell) {
                    *labels = None;
                } else if seen.len() <= if *certain { MOST_LEVELS } else { MANY_LEVELS }
                    && !seen.contains(cell.as_ref())
                {
                    seen.insert(cell.clone());
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
            let levels = labels.map(|labels| labels.into_iter().map(Cow::into_owned).collect());
            let levels: Option<Vec<String>> = match levels {
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
                (Role::Feature, Some(levels)) if certain && levels.len() > MOST_LEVELS => {
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
                        Advice::Categorical { column: name.clone(), if_labels: false },
                    ];
                    return Err(problem(found).advise(advice));
                }
                (Role::Feature, Some([])) => {
                    let leave_out = Advice::Ignore { column: name.clone(), if_identifier: false };
                    return Err(problem("has no value in any row".into()).advise([leave_out]));
                }
                (Role::Feature, Some([only])) if reader.encoding == Encoding::DropFirst => {
                    return Err(problem(format!(
                        "is `{}` in all rows: nothing is left without the first level",
                        shown(only)
                    )));
                }
                _ => {
                    let fill = Fill { value: f64::NAN, marked: count.missing[j] > 0 };
                    let missing = (role == Role::Feature).then_some(fill);
                    let name = name.clone();
                    columns.push(Column { name, role, levels, bools: false, dates: None, missing });
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
            table.each_row(|_, cells| {
                for ((times, way), cell) in times.iter_mut().zip(ways).zip(cells) {
                    let time =
                        way.filter(|_| !reader.is_missing(cell)).and_then(|way| seconds(cell, way));
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

    /// Checks, before any of it is made, that the numbers of `rows` rows fit into memory, and that
    /// they and the names of the features are within the reader's limit.
    fn check_size(&self, table: &Table, rows: usize) -> Result<(), Error> {
        let encoding = self.reader.encoding;
        let (mut width, mut outputs, mut names) = (0, 0, 0u128);
        for column in &self.columns {
            outputs += usize::from(matches!(column.role, Role::Response(_)));
            width += column.width(encoding);
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
                fill.value = median(x.view());
                x.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = fill.value);
            } else if let Some(fill) = &mut column.missing {
                fill.value = 0.0;
            }
            place += width;
        }
        numbers.stand_ins = self.missing(&order, &count);
        self.data(table, numbers)
    }

    /// The missing values of each column of features.
    fn missing(&self, order: &[usize], count: &Count) -> Vec<StandIn> {
        let encoding = self.reader.encoding;
        let columns = self.columns.iter().zip(order).filter(|(_, j)| count.missing[**j] > 0);
        let stand_in = |(column, j): (&Column, &usize)| {
            let Fill { value, marked } = column.missing?;
            let value = column.has_median(encoding).then_some(value);
            let (column, rows) = (column.name.clone(), count.missing[*j]);
            Some(StandIn::Missing { column, rows, value, marked })
        };
        columns.filter_map(stand_in).collect()
    }

    /// Makes the data set.
    fn data(&self, table: &Table, numbers: Numbers) -> Result<CsvData, Error> {
        let Numbers { x, names, response_names, y, classes, lines, dropped, stand_ins } = numbers;
        let response = match self.reader.task {
            Task::Regression => Response::Real(y),
            Task::Counts => Response::Counts(y),
            Task::Classification => {
                let names = self.class_names().unwrap_or_default().to_vec();
                Response::Classes { index: classes, names }
            }
        };
        let dataset = Dataset::checked(x, response, names, response_names).map_err(|error| {
            if error.is_data() { error } else { table.problem(error.to_string()) }
        })?;
        Ok(CsvData { dataset, schema: self.clone(), lines, dropped, stand_ins })
    }

    /// Turns the cells into numbers. The cell of the i-th column is at `order[i]` of each row.
    fn numbers(&self, table: &Table, order: &[usize], count: &Count) -> Result<Numbers, Error> {
        let (task, encoding) = (self.reader.task, self.reader.encoding);
        self.check_size(table, count.complete)?;
        let names = self.feature_names();
        let mut response_names = Vec::new();
        let mut used = Vec::with_capacity(order.len());
        for (column, &j) in self.columns.iter().zip(order) {
            match column.role {
                Role::Ignored => continue,
                Role::Response(place) => response_names.push((place, column.name.clone())),
                Role::Feature | Role::Exposure => {}
            }
            used.push((column, j, column.codes()));
        }
        response_names.sort();
        let response_names: Vec<String> =
            response_names.into_iter().map(|(_, name)| name).collect();

        let (rows, width, outputs) = (count.complete, names.len(), response_names.len());
        let (n_classes, n_real) = match task {
            Task::Classification => (rows, 0),
            Task::Regression | Task::Counts => (0, rows * outputs),
        };
        let mut x = Vec::with_capacity(rows * width);
        let mut classes = Vec::with_capacity(n_classes);
        let mut y = vec![0.0; n_real];
        let mut lines = Lines::default();
        let mut dropped = Vec::with_capacity(count.dropped);
        let mut stand_ins = self.missing(order, count);
        let mut offset = None;
        table.each_row(|line, cells| {
            let is_missing = |j: usize| self.reader.is_missing(&cells[j]);
            let drops = |role: Role| self.reader.drop_missing_rows || role != Role::Feature;
            if count.dropped > 0
                && used.iter().any(|(column, j, _)| drops(column.role) && is_missing(*j))
            {
                dropped.push(line);
                return Ok(());
            }
            for (column, j, codes) in &used {
                let (role, j, cell) = (column.role, *j, &cells[*j]);
                if count.missing[j] > 0 && is_missing(j) {
                    column.push_missing(encoding, &mut x);
                    continue;
                }
                if let Some(dates) = &column.dates {
                    let time = dates.read(cell).ok_or_else(|| {
                        let problem =
                            format!("`{}` is no date as the training file has", shown(cell));
                        table.cell_problem(line, j, problem)
                    })?;
                    column.push_time(dates, time, &mut x);
                    continue;
                }
                let Some(codes) = codes else {
                    let value = match column.bools {
                        true => table.truth((line, j), cell)?,
                        false => table.number((line, j), cell, (task, role), lines.rows() == 0)?,
                    };
                    match role {
                        Role::Response(place) => y[lines.rows() * outputs + place] = value,
                        Role::Exposure => offset = Some(crate::portable::ln(value)),
                        _ => column.push_number(value, &mut x),
                    }
                    continue;
                };
                let code = codes.get(cell.as_ref()).copied();
                if code.is_none() && column.missing.is_some() {
                    StandIn::unknown(&mut stand_ins, &column.name, cell);
                } else if code.is_none() {
                    let known = if role == Role::Feature { "levels" } else { "classes" };
                    let levels = shortened(column.levels.as_deref().unwrap_or_default());
                    let problem = format!(
                        "`{}` is not among the {known} of the training file: {levels}",
                        shown(cell)
                    );
                    return Err(table.cell_problem(line, j, problem));
                }
                match role {
                    Role::Response(_) => classes.extend(code),
                    _ => column.push_label(code, encoding, &mut x),
                }
            }
            x.extend(offset);
            lines.push(line);
            Ok(())
        })?;
        let array = |values: Vec<f64>, columns: usize| {
            Array2::from_shape_vec((values.len() / columns.max(1), columns), values)
                .expect("all rows have that many columns")
        };
        let (x, y) = (array(x, width), array(y, outputs));
        Ok(Numbers { x, names, response_names, y, classes, lines, dropped, stand_ins })
    }
}

/// The cells of a table as numbers.
struct Numbers {
    x: Array2<f64>,
    /// The names of the features.
    names: Vec<String>,
    response_names: Vec<String>,
    /// `[row, column]`; without rows if the response is classes.
    y: Array2<f64>,
    /// The class of each row, if the response is classes.
    classes: Vec<usize>,
    /// The line of each row.
    lines: Lines,
    /// The lines that were left out.
    dropped: Vec<usize>,
    stand_ins: Vec<StandIn>,
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
