//! Tables whose response is elsewhere, such as data frames.

use std::collections::HashSet;
use std::fmt;

use ndarray::{Array2, Axis};

use super::column::{Column, Fill};
use super::learn::are_many;
use super::role::Role;
use super::table::{Count, Table};
use super::{ColumnType, Columns, CsvReader, Schema, TypedTable};
use crate::Error;
use crate::cells::shown;

/// Text of more kinds than this is refused.
const MOST_KINDS: usize = 1000;

/// The features of a table without a response, and how those of another one are read: from [`Schema::of_features`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LearntFeatures {
    /// The columns and levels found. Columns that are left out are ignored.
    pub schema: Schema,
    /// `[rows x features]`.
    pub x: Array2<f64>,
    /// The features that have one value in all rows that count, and that value. Columns whose first feature is one are left out.
    pub constant: Vec<(String, f64)>,
    /// The columns of text of more kinds than are labels.
    pub text: Vec<TextOfKinds>,
}

/// A column of text of more kinds than are labels, as [`LearntFeatures`] names it. Printed, it says what is done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextOfKinds {
    /// The name of the column.
    pub column: String,
    /// The number of kinds.
    pub kinds: usize,
    /// The number of rows that have a value.
    pub rows: usize,
    /// What is done with the column.
    pub fate: FateOfText,
}

/// What is done with a column of text of more kinds than are labels. Printed, it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FateOfText {
    /// It is left out: kinds have fewer than two rows on average.
    TooFewRows,
    /// It is left out: rows without a kind would be left out otherwise.
    Gaps,
    /// Its kinds are [groups](CsvReader::group).
    Groups,
}

impl FateOfText {
    /// The fate of text of so many kinds in so many rows, beside rows without a value.
    pub fn of(kinds: usize, rows: usize, missing: usize) -> Self {
        match missing {
            _ if rows < 2 * kinds => Self::TooFewRows, //~ text-of-its-own
            0 => Self::Groups,
            _ => Self::Gaps,
        }
    }
}

/// What is done, without a subject.
impl fmt::Display for FateOfText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooFewRows => "is left out, since nearly every row has its own",
            Self::Gaps => "is left out, since some rows have none",
            Self::Groups => "has an intercept for each kind",
        })
    }
}

impl Schema {
    /// Learns how a table is read whose response is elsewhere, with its rows as numbers. Columns are features, unless `reader`
    /// says that they are ignored, [groups](CsvReader::group), or the [exposure](CsvReader::exposure). Constant columns, and text
    /// of too many kinds, are left out. Medians, and what is constant, are by the weights of rows, if they have any.
    ///
    /// ```
    /// use bnn_mcmc::data::{ColumnType, CsvReader, Schema, TypedTable, Value};
    /// let mut table = TypedTable::of_frame("X");
    /// table.add_column("sex", ColumnType::Labels, ["M", "F", "M"].map(Value::Text));
    /// table.add_column("length", ColumnType::Numbers, [0.4, 0.5, 0.6].map(Value::Number));
    /// let learnt = Schema::of_features(&CsvReader::regression("rings"), &table, None)?;
    /// assert_eq!(learnt.x, ndarray::array![[0.0, 1.0, 0.4], [1.0, 0.0, 0.5], [0.0, 1.0, 0.6]]);
    /// // With the response, files are read like the table.
    /// let schema = learnt.schema.with_response(CsvReader::regression("rings"), None)?;
    /// let new = schema.read_features("length,sex\n0.3,F\n".as_bytes())?;
    /// assert_eq!(new.names, ["sex=F", "sex=M", "length"]);
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`CsvReader::read_table`], except the errors about the response; a table whose columns are all left out.
    pub fn of_features(
        reader: &CsvReader,
        table: &TypedTable,
        weights: Option<Vec<f64>>,
    ) -> Result<LearntFeatures, Error> {
        let (reader, table) = (reader.clone().header(), Table::typed(table, 1)?);
        let roles = reader.roles_of_features(&table)?;
        let (mut schema, count) = Self::fit(&reader, &table, roles)?;
        let text = schema.settle_text(&table, &count)?;
        let order: Vec<usize> = (0..schema.columns.len()).collect();
        let mut numbers = schema.numbers(&table, &order, &count)?;
        numbers.weights = weights;
        schema.fill_in(&table, &mut numbers);
        let (x, constant) = schema.leave_out_constant(numbers.x, numbers.weights.as_deref());
        if !schema.columns.iter().any(|column| column.role == Role::Feature) {
            let what = "every column is constant: there is nothing to learn from";
            return Err(table.problem(what.into()));
        }
        Ok(LearntFeatures { schema, x, constant, text })
    }

    /// Finds the text of more kinds than are labels, and settles what is done with it.
    fn settle_text(&mut self, table: &Table, count: &Count) -> Result<Vec<TextOfKinds>, Error> {
        let mut found = Vec::new();
        for (j, column) in self.columns.iter_mut().enumerate() {
            let kinds = column.levels.as_ref().map_or(0, Vec::len);
            let is_text = table.type_of(j) == Some(&ColumnType::Text);
            if column.role != Role::Feature || !is_text || !are_many(kinds, count.complete) {
                continue;
            }
            let (name, missing) = (column.name.clone(), count.missing[j]);
            if kinds > MOST_KINDS {
                let (name, rows) = (shown(&name), count.complete);
                let problem = format!("column `{name}` has {kinds} different texts in {rows} rows");
                let advice = "leave it out, or convert it to a category";
                return Err(table
                    .problem(problem + ", as an identifier has")
                    .advise([advice.into()]));
            }
            let rows = count.complete - missing;
            let fate = FateOfText::of(kinds, rows, missing);
            if fate == FateOfText::Groups {
                (column.role, column.missing) = (Role::Group(self.reader.groups.len()), None);
                self.reader.groups.push(name.clone());
            } else {
                column.missing = Some(Fill { value: 0.0, marked: false });
                column.leave_out();
            }
            found.push(TextOfKinds { column: name, kinds, rows, fate });
        }
        match self.columns.iter().any(|column| column.role == Role::Feature) {
            true => Ok(found),
            false => Err(table.problem("no column is left for the features".into())),
        }
    }

    /// Leaves out the columns whose first feature has one value in all rows that count. Returns the other features, and those that
    /// have one value.
    fn leave_out_constant(
        &mut self,
        x: Array2<f64>,
        weights: Option<&[f64]>,
    ) -> (Array2<f64>, Vec<(String, f64)>) {
        let counts = |row: &usize| weights.is_none_or(|weights| weights[*row] > 0.0);
        let first = (0..x.nrows()).find(counts).unwrap_or(0);
        let is_constant = |place: &usize| {
            let values = x.column(*place);
            (0..x.nrows()).filter(counts).all(|row| values[row] == values[first])
        };
        let (encoding, names) = (self.reader.encoding, self.feature_names());
        let (mut kept, mut constant, mut place) = (Vec::new(), Vec::new(), 0);
        for column in &mut self.columns {
            let own = place..place + column.width(encoding);
            place = own.end;
            let here = own.clone().filter(is_constant);
            let before = constant.len();
            constant.extend(here.map(|feature| (names[feature].clone(), x[(first, feature)])));
            match constant.get(before) {
                Some((name, _)) if *name == names[own.start] => column.leave_out(), //~ constant-of-frame
                _ => kept.extend(own),
            }
        }
        kept.extend(place..x.ncols());
        match kept.len() == x.ncols() {
            true => (x, constant),
            false => (x.select(Axis(1), &kept), constant),
        }
    }

    /// The schema of a table with its response, which is elsewhere: `response` says what it is and how its columns are called,
    /// `classes` names the classes in the order of their numbers, if it is classes.
    ///
    /// # Errors
    /// A response that is not called by name; classes where the response is none, or none where it is; a name that occurs twice.
    pub fn with_response(
        self,
        response: CsvReader,
        classes: Option<Vec<String>>,
    ) -> Result<Self, Error> {
        let Self { reader, mut columns } = self;
        let CsvReader { task, response, event, until, .. } = response;
        let Columns::Named(names) = &response else {
            let found = format!("{response:?}");
            return Err(Error::argument("response", found, "one or more columns by their names"));
        };
        if classes.is_some() != (task.has_classes()) {
            let allowed = "classification if, and only if, classes are named";
            return Err(Error::argument("response", format!("{task:?}"), allowed));
        }
        // In the order of the numbers that they become.
        columns.sort_by_key(|column| match column.role {
            Role::Group(place) => 1 + place,
            Role::Exposure => usize::MAX,
            _ => 0,
        });
        let event_of =
            |name: &String| Column { bools: true, ..Column::new(name.clone(), Role::Event) };
        columns.extend(event.as_ref().map(event_of));
        columns.extend(until.as_ref().map(|name| Column::new(name.clone(), Role::Until)));
        columns.extend(names.iter().enumerate().map(|(place, name)| Column {
            levels: classes.clone(),
            ..Column::new(name.clone(), Role::Response(place))
        }));
        let mut seen = HashSet::with_capacity(columns.len());
        if let Some(column) = columns.iter().find(|column| !seen.insert(&column.name)) {
            let found = format!("`{}` twice", shown(&column.name));
            return Err(Error::argument("names of columns", found, "different from each other"));
        }
        let reader = CsvReader { task, response, event, until, ..reader };
        Ok(Self { reader, columns })
    }

    /// The schema of a table of numbers with these names, without missing values.
    pub fn of_numbers<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let number = |name: S| Column::new(name.into(), Role::Feature);
        let columns = names.into_iter().map(number).collect();
        Self { reader: CsvReader::regression(Columns::Last).header(), columns }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{array, s};

    use super::*;
    use crate::data::Value;
    use crate::error::checks::fails;

    fn numbers(table: &mut TypedTable, name: &str, numbers: &[f64]) {
        let values = numbers.iter().map(|number| Value::Number(*number));
        table.add_column(name, ColumnType::Numbers, values);
    }

    fn texts<'t>(table: &mut TypedTable, name: &str, texts: impl Iterator<Item = Option<&'t str>>) {
        table.add_column(name, ColumnType::Text, texts.map(Value::from));
    }

    fn learn(reader: &CsvReader, table: &TypedTable) -> Result<LearntFeatures, Error> {
        Schema::of_features(reader, table, None)
    }

    #[test]
    fn columns_are_what_their_types_say() {
        let mut table = TypedTable::of_frame("X");
        numbers(&mut table, "x", &[1.0, f64::NAN, 3.0, 4.0]);
        texts(&mut table, "digits", ["10", " 9", "10", "?"].map(Some).into_iter());
        texts(&mut table, "units", ["1kg", "2kg", "1kg", "2kg"].map(Some).into_iter());
        let days = ColumnType::Times { is_clock: false, zone: Some("UTC".into()) };
        let noon = |day: f64| Value::Number(86_400.0 * day + 43_200.0);
        table.add_column("day", days, [noon(0.0), noon(1.0), Value::Missing, noon(5.0)]);
        let clock = ColumnType::Times { is_clock: true, zone: None };
        table.add_column("at", clock, [0.0, 21_600.0, 43_200.0, 0.0].map(Value::Number));
        numbers(&mut table, "same", &[7.0; 4]);
        let learnt = learn(&CsvReader::regression("y"), &table).unwrap();
        let schema = learnt.schema;
        assert_eq!(schema.feature_names()[..4], ["x", "x is missing", "digits=9", "digits=10"]);
        assert_eq!(learnt.x.column(0), array![1.0, 3.0, 3.0, 4.0]);
        assert_eq!(learnt.x.slice(s![.., 2..5]).row(3), array![0.0, 0.0, 1.0]);
        assert_eq!(
            schema.feature_names()[5..],
            ["units=1kg", "units=2kg", "day years", "day is missing", "at hour sin", "at hour cos"]
        );
        assert_eq!(learnt.constant, [("same".into(), 7.0)]);
        assert_eq!(table.blank_ends().collect::<Vec<_>>(), [("digits", 1, " 9".into())]);
        // The same rows by what was learnt, of which no column is left out before its values are seen.
        let again = schema.read_features_table(&table).unwrap();
        assert_eq!(again.x, learnt.x);
        // Numbers of labels, in any writing.
        let mut new = TypedTable::of_frame("X");
        for (name, value) in [("x", 0.0), ("digits", 9.0), ("units", 1.0)] {
            numbers(&mut new, name, &[value]);
        }
        for (name, is_clock) in [("day", false), ("at", true)] {
            new.add_column(name, ColumnType::Times { is_clock, zone: None }, [Value::Missing]);
        }
        let read = schema.read_features_table(&new).unwrap();
        assert_eq!(read.x.slice(s![0, ..6]), array![0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(read.stand_ins.len(), 3, "{:?}", read.stand_ins);
    }

    /// Rows are counted from 0, and none is left out.
    #[test]
    fn rows_of_a_frame_stay() {
        let mut table = TypedTable::of_frame("X");
        numbers(&mut table, "x", &[1.0, f64::INFINITY, 3.0]);
        texts(&mut table, "g", [Some("a"), Some("a"), None].into_iter());
        let grouped = CsvReader::counts("y").group("g");
        fails!(learn(&grouped, &table), Cell { table: "X", row: "row 2", column: "g" });
        fails!(
            learn(&CsvReader::counts("y"), &table),
            Cell { table: "X", row: "row 1", column: "x" }
        );
        let mut empty = TypedTable::of_frame("X");
        numbers(&mut empty, "x", &[f64::NAN; 3]);
        let words = learn(&CsvReader::counts("y"), &empty).unwrap_err().to_string();
        assert!(words.contains("`x` has no value in any row"), "{words}");
        let mut constant = TypedTable::of_frame("X");
        numbers(&mut constant, "x", &[1.0, 1.0, 2.0]);
        assert!(learn(&CsvReader::counts("y"), &constant).is_ok());
        let weights = Some(vec![1.0, 2.0, 0.0]);
        let error = Schema::of_features(&CsvReader::counts("y"), &constant, weights).unwrap_err();
        assert!(error.to_string().contains("every column is constant"), "{error}");
    }

    #[test]
    fn text_of_many_kinds_is_grouped_or_left_out() {
        let kinds: Vec<String> = (0..130).map(|i| format!("kind {}", i % 60)).collect();
        let own: Vec<String> = (0..130).map(|i| format!("row {i}")).collect();
        let mut table = TypedTable::of_frame("X");
        numbers(&mut table, "x", &Vec::from_iter((0..130).map(f64::from)));
        texts(&mut table, "place", kinds.iter().map(|text| Some(&text[..])));
        texts(&mut table, "own", own.iter().map(|text| Some(&text[..])));
        texts(
            &mut table,
            "gaps",
            kinds.iter().enumerate().map(|(i, text)| (i > 3).then_some(&text[..])),
        );
        let learnt = learn(&CsvReader::regression("y"), &table).unwrap();
        use FateOfText::{Gaps, Groups, TooFewRows};
        let fates = learnt.text.iter().map(|text| (&text.column[..], text.fate));
        assert_eq!(Vec::from_iter(fates), [("place", Groups), ("own", TooFewRows), ("gaps", Gaps)]);
        assert_eq!((learnt.text[2].kinds, learnt.text[2].rows), (60, 126));
        assert_eq!(learnt.x.ncols(), 1 + 61);
        let names = learnt.schema.feature_names();
        assert_eq!(
            (&names[0][..], &names[1][..], &names[61][..]),
            ("x", "place=kind 0", "place is new")
        );
        let again = learnt.schema.read_features_table(&table).unwrap();
        assert_eq!(again.x, learnt.x);
    }
}
