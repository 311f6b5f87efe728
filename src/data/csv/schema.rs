//! The schema of a training file, and the conversion of cells to numbers by it.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Read;
use std::path::Path;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::role::Role;
use super::table::{Count, Table, is_no_label};
use super::{Columns, CsvData, CsvReader, Encoding, Features, Lines};
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

/// The largest number of levels or classes of any column.
const MOST_LEVELS: usize = 1 << 16;

/// A column of the training file; `levels` are the levels of a categorical feature or the classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Column {
    name: String,
    role: Role,
    levels: Option<Vec<String>>,
    /// Whether the column holds true and false, which are 1 and 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    bools: bool,
}

/// The kind of values in a column of a table that is not text: for [`Schema::of_table`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cells {
    /// Numbers.
    Numbers,
    /// True and false, which become 1 and 0.
    Bools,
    /// Labels: one feature of 0 and 1 for each of these levels, in this order.
    Labels(Vec<String>),
    /// A column that is not a feature, for example since it is constant.
    LeftOut,
}

/// The way in which a training file was read: applied to a test file, it gives the same features,
/// levels and classes, or an error. It can be stored with serde.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// in their order, with their names; `classes` are the names of the classes in the order of
    /// their numbers, if the response is classes. Files have a header, which may hold any names,
    /// and the response's columns are called as `reader` says.
    ///
    /// ```
    /// use bnn_mcmc::data::{Cells, CsvReader, Schema};
    /// let columns = [
    ///     ("sex".into(), Cells::Labels(vec!["F".into(), "M".into()])),
    ///     ("ripe".into(), Cells::Bools),
    ///     ("length".into(), Cells::Numbers),
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
        columns: impl IntoIterator<Item = (String, Cells)>,
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
        let features = columns.into_iter().map(|(name, cells)| {
            let (role, levels, bools) = match cells {
                Cells::Numbers => (Role::Feature, None, false),
                Cells::Bools => (Role::Feature, None, true),
                Cells::Labels(levels) => (Role::Feature, Some(levels), false),
                Cells::LeftOut => (Role::Ignored, None, false),
            };
            Column { name, role, levels, bools }
        });
        let response = response.iter().enumerate().map(|(place, name)| Column {
            name: name.clone(),
            role: Role::Response(place),
            levels: classes.clone(),
            bools: false,
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
        let left_out = usize::from(self.reader.encoding == Encoding::DropFirst);
        let features = self.columns.iter().filter(|column| column.role == Role::Feature);
        let n = |column: &Column| match &column.levels {
            Some(levels) if self.reader.encoding != Encoding::Codes => levels.len() - left_out,
            _ => 1,
        };
        //~ columns-of-features
        features.flat_map(|column| vec![column.name.clone(); n(column)]).collect()
    }

    /// The names of the features: of a column of labels one for each level, `column=level`.
    pub fn feature_names(&self) -> Vec<String> {
        let left_out = usize::from(self.reader.encoding == Encoding::DropFirst);
        let mut names = Vec::new();
        for Column { name, role, levels, .. } in &self.columns {
            match (role, levels) {
                (Role::Feature, Some(levels)) if self.reader.encoding != Encoding::Codes => {
                    names.extend(levels[left_out..].iter().map(|level| format!("{name}={level}")));
                }
                (Role::Feature, _) => names.push(name.clone()),
                _ => {}
            }
        }
        names
    }

    /// Reads another file as the training file was read.
    ///
    /// With a header, columns are matched by name and may come in another order; without, by
    /// position.
    ///
    /// # Errors
    /// The errors of [`CsvReader::read_path`]; also if a column is missing or new, or a level or
    /// class did not occur in the training file.
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
            None => self.apply(&table, &order, count),
        }
    }

    /// The places of the columns in another table.
    fn places(&self, table: &Table) -> Result<Places, Error> {
        let columns = self.columns.iter().map(|column| column.name.as_str());
        let (order, unused) = table.order(columns)?;
        let mut roles = vec![Role::Ignored; table.names.len()];
        order.iter().zip(&self.columns).for_each(|(&j, column)| roles[j] = column.role);
        let count = table.count(&self.reader, &roles, |_| ())?;
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
            columns.retain(|c| c.role == Role::Feature || positions.contains_key(&c.name[..]));
        } else if table.names.len() < columns.len() {
            columns.retain(|column| !is_response(column));
        }
        let left_out = columns.iter_mut().filter(|column| is_response(column));
        left_out.for_each(|column| column.role = Role::Ignored);
        let features = Self { reader: self.reader.clone(), columns };
        let Places { order, unused, count } = features.places(&table)?;
        let Numbers { x, names, lines, dropped, .. } = features.numbers(&table, &order, count)?;
        Ok(Features { x, names, lines, dropped, unused })
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
                Role::Response(_) | Role::Ignored => None,
            })
            .collect();
        let count = table.count(reader, &roles, |cells| {
            for ((labels, cell), certain) in labels.iter_mut().zip(cells).zip(&certain) {
                let Some(seen) = labels else { continue };
                if !certain && is_no_label(cell) {
                    *labels = None;
                } else if seen.len() <= if *certain { MOST_LEVELS } else { MANY_LEVELS }
                    && !seen.contains(cell.as_ref())
                {
                    seen.insert(cell.clone());
                }
            }
        })?;
        let mut columns = Vec::with_capacity(roles.len());
        for (((role, name), labels), certain) in
            roles.into_iter().zip(&table.names).zip(labels).zip(certain)
        {
            let problem =
                |problem: String| table.problem(format!("column `{}` {problem}", shown(name)));
            let levels = labels.map(|labels| labels.into_iter().map(Cow::into_owned).collect());
            let levels: Option<Vec<String>> = match levels {
                Some(levels) => Some(by_size(levels).map_err(problem)?),
                None => None,
            };
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
                (Role::Feature, Some(levels)) if !certain && levels.len() > MANY_LEVELS => {
                    let found = format!("holds text of more than {MANY_LEVELS} kinds");
                    let advice = [
                        Advice::Ignore { column: name.clone(), if_identifier: true },
                        Advice::Categorical { column: name.clone(), if_labels: false },
                    ];
                    return Err(problem(found).advise(advice));
                }
                (Role::Feature, Some([only])) if reader.encoding == Encoding::DropFirst => {
                    return Err(problem(format!(
                        "is `{}` in all rows: nothing is left without the first level",
                        shown(only)
                    )));
                }
                _ => columns.push(Column { name: name.clone(), role, levels, bools: false }),
            }
        }
        Ok((Self { reader: reader.clone(), columns }, count))
    }

    /// Checks, before any of it is made, that the numbers of `rows` rows fit into memory, and that
    /// they and the names of the features are within the reader's limit.
    fn check_size(&self, table: &Table, rows: usize, left_out: usize) -> Result<(), Error> {
        let (mut width, mut outputs, mut names) = (0, 0, 0u128);
        for Column { name, role, levels, .. } in &self.columns {
            match (role, levels) {
                (Role::Ignored, _) => {}
                (Role::Response(_), _) => outputs += 1,
                (Role::Feature, Some(levels)) if self.reader.encoding != Encoding::Codes => {
                    let levels = &levels[left_out..];
                    width += levels.len();
                    let lengths = levels.iter().map(|level| (name.len() + 1 + level.len()) as u128);
                    names += lengths.sum::<u128>();
                }
                (Role::Feature, _) => width += 1,
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

    /// Makes the data set. The cell of the i-th column is at `order[i]` of each row.
    pub(super) fn apply(
        &self,
        table: &Table,
        order: &[usize],
        count: Count,
    ) -> Result<CsvData, Error> {
        let Numbers { x, names, response_names, y, classes, lines, dropped } =
            self.numbers(table, order, count)?;
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
        Ok(CsvData { dataset, schema: self.clone(), lines, dropped })
    }

    /// Turns the cells into numbers.
    fn numbers(&self, table: &Table, order: &[usize], count: Count) -> Result<Numbers, Error> {
        let (task, encoding) = (self.reader.task, self.reader.encoding);
        let left_out = usize::from(encoding == Encoding::DropFirst);
        self.check_size(table, count.complete, left_out)?;
        let names = self.feature_names();
        let mut response_names = Vec::new();
        let mut used = Vec::with_capacity(order.len());
        for (Column { name, role, levels, bools }, &j) in self.columns.iter().zip(order) {
            match role {
                Role::Ignored => continue,
                Role::Response(place) => response_names.push((*place, name.clone())),
                Role::Feature => {}
            }
            let codes = levels.as_ref().map(|levels| -> HashMap<&str, usize> {
                levels.iter().enumerate().map(|(code, level)| (level.as_str(), code)).collect()
            });
            used.push((*role, j, *bools, levels.as_deref().unwrap_or_default(), codes));
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
        table.each_row(|line, cells| {
            if count.dropped > 0 && used.iter().any(|(_, j, ..)| self.reader.is_missing(&cells[*j]))
            {
                dropped.push(line);
                return Ok(());
            }
            for (role, j, bools, levels, codes) in &used {
                let (role, j, cell) = (*role, *j, &cells[*j]);
                let Some(codes) = codes else {
                    let value = match bools {
                        true => table.truth((line, j), cell)?,
                        false => table.number((line, j), cell, (task, role), lines.rows() == 0)?,
                    };
                    match role {
                        Role::Response(place) => y[lines.rows() * outputs + place] = value,
                        _ => x.push(value),
                    }
                    continue;
                };
                let code = *codes.get(cell.as_ref()).ok_or_else(|| {
                    let known = if role == Role::Feature { "levels" } else { "classes" };
                    let (cell, levels) = (shown(cell), shortened(levels));
                    let problem =
                        format!("`{cell}` is not among the {known} of the training file: {levels}");
                    table.cell_problem(line, j, problem)
                })?;
                if role != Role::Feature {
                    classes.push(code);
                } else if encoding == Encoding::Codes {
                    x.push(code as f64);
                } else {
                    let start = x.len();
                    x.resize(start + codes.len() - left_out, 0.0);
                    if let Some(place) = code.checked_sub(left_out) {
                        x[start + place] = 1.0;
                    }
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
        Ok(Numbers { x, names, response_names, y, classes, lines, dropped })
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
