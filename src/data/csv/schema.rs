//! The schema of a training file, and reading other files by it.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::column::Column;
use super::numbers::Numbers;
use super::role::Role;
use super::table::{Count, Table};
use super::{CsvData, CsvReader, Features, TypedTable};
use crate::Error;
use crate::cells::shown;
use crate::data::Gap;
use crate::data::gzip::Source;
use crate::message::Advice;

/// The way in which a training file was read: applied to a test file, it gives the same features,
/// levels and classes, or an error. It can be stored with serde.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    pub(super) reader: CsvReader,
    pub(super) columns: Vec<Column>,
}

/// The places of the training file's columns in another table.
pub(super) struct Places {
    pub(super) order: Vec<usize>,
    /// The names of columns that the training file does not have.
    unused: Vec<String>,
    /// The rows of the table.
    pub(super) count: Count,
}

impl Schema {
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

    /// The columns with missing values that a feature marks.
    pub(crate) fn gaps(&self) -> Vec<Gap> {
        let (mut gaps, mut place) = (Vec::new(), 0);
        for column in &self.columns {
            let width = column.width(self.reader.encoding);
            if column.role == Role::Feature && column.is_marked() {
                let (name, mark) = (column.name.clone(), place + width - 1);
                let (labels, mut stand_in) = (column.levels.is_some(), Vec::new());
                column.push_missing(self.reader.encoding, &mut stand_in);
                stand_in.truncate(width - 1);
                gaps.push(Gap { column: name, features: place..mark, mark, labels, stand_in });
            }
            place += width;
        }
        gaps
    }

    /// The name of the feature that is the log of an exposure, if there is one.
    pub(crate) fn offset(&self) -> Option<String> {
        self.reader.offset()
    }

    /// The names of the features: of a column of labels one for each level, `column=level`, and of one
    /// with missing values another, `column is missing`; then the indicators of
    /// [groups](CsvReader::group), `column=group` and `column is new`; at the end the log of an
    /// [exposure](CsvReader::exposure), `log column`.
    pub fn feature_names(&self) -> Vec<String> {
        let encoding = self.reader.encoding;
        let features = self.columns.iter().flat_map(|column| column.features(encoding));
        let groups = self.in_order_of_groups().flat_map(Column::indicators);
        features.chain(groups).chain(self.offset()).collect()
    }

    /// The columns of groups, in the order of their indicators.
    pub(super) fn in_order_of_groups(&self) -> impl Iterator<Item = &Column> {
        let place = |column: &&Column| match column.role {
            Role::Group(place) => Some(place),
            _ => None,
        };
        let mut columns: Vec<&Column> =
            self.columns.iter().filter(|column| place(column).is_some()).collect();
        columns.sort_by_key(place);
        columns.into_iter()
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
        let line = |column: &Column| {
            let mut words = column.in_words(self.reader.encoding, self.reader.imputes);
            if let (Role::Response(_), Some(found)) = (column.role, &column.levels) {
                let is_absent = |class: &&String| !found.contains(class); //~ absent-classes
                let absent: Vec<String> = (self.reader.classes.iter().filter(is_absent))
                    .map(|class| format!("`{}`", shown(class)))
                    .collect();
                if !absent.is_empty() {
                    words += &format!(
                        "; no row has the class {}, which the model does not have",
                        absent.join(", ")
                    );
                }
            }
            (column.name.clone(), words)
        };
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
        self.read_rows(&Table::new(&self.reader, &source.name, &text, 2)?)
    }

    /// Reads the rows of a table whose columns have types, like [`read_path`](Self::read_path).
    ///
    /// # Errors
    /// The errors of [`read_path`](Self::read_path); a column of [another type](super::ColumnType::Other)
    /// that was a feature or the response in training.
    pub fn read_table(&self, table: &TypedTable) -> Result<CsvData, Error> {
        table.check_limit(self.reader.limit)?;
        self.read_rows(&Table::typed(table, 2)?)
    }

    pub(super) fn read_rows(&self, table: &Table) -> Result<CsvData, Error> {
        let known = self.without_unneeded(table);
        let Places { order, unused, count } = known.places(table)?;
        match unused.first() {
            Some(new) => {
                let problem = format!("column `{}` is not in the training file", shown(new));
                let rust = "read the features alone by `Schema::read_features`";
                let advice = ["leave it out of this one".into(), Advice::in_rust(rust)];
                Err(table.problem(problem).advise(advice))
            }
            None => {
                let read = known.data(table, known.numbers(table, &order, &count)?)?;
                Ok(CsvData { schema: self.clone(), ..read })
            }
        }
    }

    /// The schema for a table with a header, in which the column of weights and those that are ignored may be missing.
    fn without_unneeded(&self, table: &Table) -> Cow<'_, Self> {
        let is_there = |column: &Column| table.names.contains(&column.name);
        let is_unneeded = |role| matches!(role, Role::Weight | Role::Ignored);
        let lacks = |column: &Column| is_unneeded(column.role) && !is_there(column);
        match table.has_header() && self.columns.iter().any(lacks) {
            true => {
                let columns = self.columns.iter().filter(|c| !lacks(c)).cloned().collect();
                Cow::Owned(Self { reader: self.reader.clone(), columns })
            }
            false => Cow::Borrowed(self),
        }
    }

    /// The places of the columns in another table.
    pub(super) fn places(&self, table: &Table) -> Result<Places, Error> {
        let columns = self.columns.iter().map(|column| column.name.as_str());
        let (order, unused) = table.order(columns)?;
        let mut roles = vec![Role::Ignored; table.names.len()];
        order.iter().zip(&self.columns).for_each(|(&j, column)| roles[j] = column.role);
        let mut fills = vec![false; table.names.len()];
        order.iter().zip(&self.columns).for_each(|(&j, c)| fills[j] = c.missing.is_some());
        table.check_types(&roles)?;
        let count = table.count(&self.reader, &roles, &fills, &mut |_, _, _| ())?;
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
        self.read_features_of(&Table::new(&self.reader, &source.name, &text, 1)?)
    }

    /// Reads the features of a table whose columns have types, like
    /// [`read_features_path`](Self::read_features_path).
    ///
    /// # Errors
    /// The errors of [`read_table`](Self::read_table), except the errors about the response.
    pub fn read_features_table(&self, table: &TypedTable) -> Result<Features, Error> {
        if !table.is_frame {
            table.check_limit(self.reader.limit)?;
        }
        self.read_features_of(&Table::typed(table, 1)?)
    }

    /// The most bytes of text that are read: the [limit](CsvReader::limit) of the training file.
    pub fn limit(&self) -> u64 {
        self.reader.limit
    }

    fn read_features_of(&self, table: &Table) -> Result<Features, Error> {
        // Weights are of scores, and so not needed either.
        let is_response = |column: &Column| {
            matches!(column.role, Role::Response(_) | Role::Event | Role::Until | Role::Weight)
        };
        let mut columns = self.columns.clone();
        if table.has_header() {
            let positions = table.positions();
            let is_needed =
                |role: Role| matches!(role, Role::Feature | Role::Exposure | Role::Group(_));
            columns.retain(|c| is_needed(c.role) || positions.contains_key(&c.name[..]));
        } else if table.names.len() < columns.len() {
            columns.retain(|column| !is_response(column));
        }
        let left_out = columns.iter_mut().filter(|column| is_response(column));
        left_out.for_each(|column| column.role = Role::Ignored);
        let features = Self { reader: self.reader.clone(), columns };
        let Places { order, unused, count } = features.places(table)?;
        let Numbers { x, names, lines, dropped, stand_ins, .. } =
            features.numbers(table, &order, &count)?;
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
}
