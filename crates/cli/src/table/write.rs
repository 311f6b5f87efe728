//! Predictions as a Parquet file.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result as Done;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::Failure;
use crate::file::Writing;

/// The columns of whole numbers, in front: the number of the row and its place in the table.
const PLACES: usize = 2;

/// Predictions on their way to a file, by the lines of CSV that they are otherwise.
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

    /// Writes lines of CSV, of which the first is a header if `has_header`. Returns whether anybody reads on.
    pub fn write(self, csv: &str, has_header: bool) -> Result<(Self, bool), Failure> {
        match self {
            Self::Csv(mut to) => {
                let is_read = to.write(csv)?;
                Ok((Self::Csv(to), is_read))
            }
            Self::NewParquet(to) => {
                let (names, columns) = columns(csv, true)?;
                let mut writer = begun(to, &names).map_err(failed)?;
                add(&mut writer, columns).map_err(failed)?;
                Ok((Self::Parquet(writer), true))
            }
            Self::Parquet(mut writer) => {
                let (_, columns) = columns(csv, has_header)?;
                add(&mut writer, columns).map_err(failed)?;
                Ok((Self::Parquet(writer), true))
            }
        }
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

/// The values of a column.
enum Values {
    Whole(Vec<i64>),
    Text(Vec<ByteArray>),
    Real(Vec<f64>),
}

/// The names in the header, and the columns: places, the name of the response or class, and real numbers.
fn columns(csv: &str, has_header: bool) -> Result<(Vec<String>, Vec<Values>), Failure> {
    let mut reader = csv::ReaderBuilder::new().has_headers(has_header).from_reader(csv.as_bytes());
    let mut names = Vec::new();
    if has_header {
        names.extend(reader.headers().map_err(failed)?.iter().map(String::from));
    }
    let mut columns = Vec::new();
    for record in reader.records() {
        for (j, cell) in record.map_err(failed)?.iter().enumerate() {
            if j == columns.len() {
                columns.push(match j {
                    0..PLACES => Values::Whole(Vec::new()),
                    PLACES => Values::Text(Vec::new()),
                    _ => Values::Real(Vec::new()),
                });
            }
            match &mut columns[j] {
                Values::Whole(values) => values.push(cell.parse().map_err(failed)?),
                Values::Text(values) => values.push(cell.into()),
                Values::Real(values) => values.push(cell.parse().map_err(failed)?),
            }
        }
    }
    Ok((names, columns))
}

/// A file with columns of these names.
fn begun(to: Writing, names: &[String]) -> Done<SerializedFileWriter<Writing>> {
    let column = |(j, name): (usize, &String)| {
        let (physical, logical) = match j {
            0..PLACES => (Physical::INT64, None),
            PLACES => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            _ => (Physical::DOUBLE, None),
        };
        let column = Type::primitive_type_builder(name, physical);
        let column = column.with_repetition(Repetition::REQUIRED).with_logical_type(logical);
        column.build().map(Arc::new)
    };
    let fields = names.iter().enumerate().map(column).collect::<Done<Vec<_>>>()?;
    let schema = Type::group_type_builder("predictions").with_fields(fields).build()?;
    let settings = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("bnn-mcmc ", env!("CARGO_PKG_VERSION")).into());
    SerializedFileWriter::new(to, Arc::new(schema), Arc::new(settings.build()))
}

/// Adds a group of rows.
fn add(writer: &mut SerializedFileWriter<Writing>, columns: Vec<Values>) -> Done<()> {
    let mut group = writer.next_row_group()?;
    for values in columns {
        let Some(mut column) = group.next_column()? else { break };
        match values {
            Values::Whole(values) => column.typed::<Int64Type>().write_batch(&values, None, None),
            Values::Text(values) => {
                column.typed::<ByteArrayType>().write_batch(&values, None, None)
            }
            Values::Real(values) => column.typed::<DoubleType>().write_batch(&values, None, None),
        }?;
        column.close()?;
    }
    group.close().map(drop)
}
