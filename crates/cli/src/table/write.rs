//! Predictions as a file: CSV or Parquet.

use std::path::Path;
use std::sync::Arc;

use bnn_mcmc::data::csv_cell;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result as Done;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::Failure;
use crate::file::Writing;

/// Predicted rows, with a line for each of their responses or classes.
pub struct Block {
    /// What a place in the table is called: `line` or `table_row`.
    pub place: &'static str,
    /// The number of the row, from 0, and its place in the table, in each line.
    pub rows: Vec<[usize; 2]>,
    /// What a row has a line for each of: `response` or `class`.
    pub of: &'static str,
    /// The name of that, in each line.
    pub names: Vec<String>,
    /// The columns of numbers: the name, and the number in each line.
    pub numbers: Vec<(String, Vec<f64>)>,
}

impl Block {
    /// The lines of CSV, behind a header if there is to be one.
    fn csv(&self, has_header: bool) -> String {
        let mut text = String::new();
        if has_header {
            text = ["row", self.place, self.of].join(",");
            text.extend(self.numbers.iter().map(|(name, _)| format!(",{}", csv_cell(name))));
            text.push('\n');
        }
        for (line, ([row, place], name)) in self.rows.iter().zip(&self.names).enumerate() {
            text.push_str(&format!("{row},{place},{}", csv_cell(name)));
            text.extend(self.numbers.iter().map(|(_, numbers)| format!(",{}", numbers[line])));
            text.push('\n');
        }
        text
    }

    /// A Parquet file with these columns.
    fn begun(&self, to: Writing) -> Done<SerializedFileWriter<Writing>> {
        let places = ["row", self.place].map(|name| (name, Physical::INT64, None));
        let name = (self.of, Physical::BYTE_ARRAY, Some(LogicalType::String));
        let numbers = self.numbers.iter().map(|(name, _)| (&name[..], Physical::DOUBLE, None));
        let column = |(name, physical, logical)| {
            let column = Type::primitive_type_builder(name, physical);
            let column = column.with_repetition(Repetition::REQUIRED).with_logical_type(logical);
            column.build().map(Arc::new)
        };
        let fields = places.into_iter().chain([name]).chain(numbers).map(column);
        let fields = fields.collect::<Done<Vec<_>>>()?;
        let schema = Type::group_type_builder("predictions").with_fields(fields).build()?;
        let settings = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("bnn-mcmc ", env!("CARGO_PKG_VERSION")).into());
        SerializedFileWriter::new(to, Arc::new(schema), Arc::new(settings.build()))
    }

    /// Adds the rows to a Parquet file, as a group.
    fn add(&self, writer: &mut SerializedFileWriter<Writing>) -> Done<()> {
        let mut group = writer.next_row_group()?;
        for k in 0..2 {
            let values: Vec<i64> = self.rows.iter().map(|places| places[k] as i64).collect();
            add::<Int64Type>(&mut group, &values)?;
        }
        let names: Vec<ByteArray> = self.names.iter().map(|name| name.as_str().into()).collect();
        add::<ByteArrayType>(&mut group, &names)?;
        self.numbers.iter().try_for_each(|(_, values)| add::<DoubleType>(&mut group, values))?;
        group.close().map(drop)
    }
}

/// Adds a column to a group of rows.
fn add<T: DataType>(group: &mut SerializedRowGroupWriter<Writing>, values: &[T::T]) -> Done<()> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

/// Predictions on their way to a file.
pub enum Predicted {
    Csv(Writing),
    /// A Parquet file, which is begun when the names of its columns are known.
    NewParquet(Writing),
    Parquet(SerializedFileWriter<Writing>),
}

impl Predicted {
    /// Begins a file, or writes CSV to standard output.
    pub fn begin(path: Option<&Path>) -> Result<Self, Failure> {
        let ending = path.and_then(Path::extension).map(|e| e.to_string_lossy().to_lowercase());
        match ending.as_deref() {
            Some("parquet" | "parq" | "pq") => Ok(Self::NewParquet(Writing::begin(path)?)),
            Some("arrow" | "feather" | "ipc") => Err(Failure::usage(
                "`--out`: predictions are written as CSV, or as Parquet to a file named `.parquet`, but not as Arrow",
            )),
            _ => Ok(Self::Csv(Writing::begin(path)?)),
        }
    }

    pub fn is_parquet(&self) -> bool {
        !matches!(self, Self::Csv(_))
    }

    /// Writes rows, behind a header if they are the first. Returns whether anybody reads on.
    pub fn write(self, block: &Block, is_first: bool) -> Result<(Self, bool), Failure> {
        let mut writer = match self {
            Self::Csv(mut to) => {
                let is_read = to.write(&block.csv(is_first))?;
                return Ok((Self::Csv(to), is_read));
            }
            Self::NewParquet(to) => block.begun(to).map_err(failed)?,
            Self::Parquet(writer) => writer,
        };
        block.add(&mut writer).map_err(failed)?;
        Ok((Self::Parquet(writer), true))
    }

    /// Puts the file in its place.
    pub fn end(self) -> Result<(), Failure> {
        match self {
            Self::Csv(to) | Self::NewParquet(to) => to.end(),
            Self::Parquet(writer) => writer.into_inner().map_err(failed)?.end(),
        }
    }
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::error(format!("the predictions: {error}"))
}
