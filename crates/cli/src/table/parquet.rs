//! Parquet files: <https://parquet.apache.org/docs/file-format/>.
//!
//! The crate `parquet` reads the pages; zstd and brotli, for which it would need a C compiler or twice as long
//! to build, are unpacked here. What a column is comes from its logical type, and from the schema of Arrow
//! that pandas, polars and R put beside it: zones of times, and categories.

use std::fs::File;
use std::sync::Arc;

use bnn_mcmc::Error;
use bnn_mcmc::data::{ColumnType, TypedTable};
use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray, Int96};
use parquet::errors::{ParquetError, Result as Read};
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescriptor;

use super::arrow::{self, Field};
use super::cell::{self, Cell, Meaning};
use super::unpack::{Codec, unpack};
use super::{Column, Held, Orders, Unread, fill, problem};

/// The rows of a column that are held at a time.
const BATCH: usize = 1 << 13;

/// A column of the table.
struct Plan {
    name: String,
    kind: ColumnType,
    /// The place among the columns of the file, whose meaning is this; `None` of one that is not read.
    leaf: Option<(usize, Meaning)>,
    /// Whether it is of categories in an order.
    is_ordered: bool,
}

/// Reads a file whose name in errors is `name`.
pub fn read(file: File, name: &str, held: Held) -> Result<(TypedTable, Orders), Error> {
    let metadata = metadata(&file, name)?;
    let file = Arc::new(file);
    let plans = plans(&metadata).map_err(|e| problem(name, e))?;
    let columns = plans.iter().map(|plan| (plan.name.as_str(), plan.kind.clone()));
    let mut table = TypedTable::new(name, columns, held.limit);
    held.reserve(&mut table, rows_in(&metadata, name)?)?;
    let mut row = 0;
    for group in metadata.row_groups() {
        let rows = rows_of(group, name)?;
        let column = |plan: &Plan| match &plan.leaf {
            None => Ok(Box::new(Unread) as Box<dyn Column>),
            Some((leaf, meaning)) => {
                let chunk = group.columns().get(*leaf);
                let chunk = chunk.ok_or("a column is lacking in a group of rows")?;
                of_chunk(&file, chunk, rows, meaning)
                    .map_err(|e| format!("column `{}`: {e}", plan.name))
            }
        };
        let columns: Result<Vec<_>, String> = plans.iter().map(column).collect();
        fill(&mut table, columns.map_err(|e| problem(name, e))?, row, rows, &held)?;
        row += rows;
    }
    let mut orders = Orders::new();
    if let Some(group) = metadata.row_groups().first() {
        for ((name, _), plan) in table.columns().zip(&plans).filter(|(_, plan)| plan.is_ordered) {
            let chunk = plan.leaf.as_ref().and_then(|(leaf, _)| group.columns().get(*leaf));
            let found = chunk.map_or(Ok(None), |chunk| categories(&file, chunk));
            let found =
                found.map_err(|e| problem(table.name(), format!("column `{name}`: {e}")))?;
            orders.extend(found.map(|found| (name.to_string(), found)));
        }
    }
    Ok((table, orders))
}

/// The number of rows of a file.
pub fn rows(file: &File, name: &str) -> Result<usize, Error> {
    rows_in(&metadata(file, name)?, name)
}

fn rows_in(metadata: &ParquetMetaData, name: &str) -> Result<usize, Error> {
    metadata.row_groups().iter().map(|group| rows_of(group, name)).sum()
}

fn metadata(file: &File, name: &str) -> Result<ParquetMetaData, Error> {
    let read = ParquetMetaDataReader::new().parse_and_finish(file);
    read.map_err(|e| problem(name, in_words(&e)))
}

fn rows_of(group: &RowGroupMetaData, name: &str) -> Result<usize, Error> {
    let rows = usize::try_from(group.num_rows());
    rows.map_err(|_| problem(name, "the number of its rows is negative"))
}

/// The texts in the dictionary of a column, which writers of Arrow fill with all categories in their order;
/// `None` where there is no such dictionary.
fn categories(
    file: &Arc<File>,
    chunk: &ColumnChunkMetaData,
) -> Result<Option<Vec<String>>, String> {
    let mut pages = pages(file, chunk, 0)?;
    let first = pages.get_next_page().map_err(|e| in_words(&e))?;
    let is_text = chunk.column_descr().physical_type() == Physical::BYTE_ARRAY;
    let Some(Page::DictionaryPage { buf, .. }) = first.filter(|_| is_text) else { return Ok(None) };
    let (mut rest, mut found) = (&buf[..], Vec::new());
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        let text = behind.get(..length).ok_or("its dictionary is broken")?;
        let text = std::str::from_utf8(text).map_err(|_| "the text is not UTF-8")?;
        found.push(text.trim().to_string());
        rest = &behind[length..];
    }
    Ok(Some(found))
}

/// The words of an error of the reader, without the name of its kind.
fn in_words(error: &ParquetError) -> String {
    match error {
        ParquetError::General(text) | ParquetError::EOF(text) | ParquetError::NYI(text) => {
            format!("the Parquet file cannot be read: {text}")
        }
        other => format!("the Parquet file cannot be read: {other}"),
    }
}

/// The columns of the table.
fn plans(metadata: &ParquetMetaData) -> Result<Vec<Plan>, String> {
    let schema = metadata.file_metadata().schema_descr();
    let roots = schema.root_schema().get_fields();
    let fields = arrow_fields(metadata);
    let mut leaves = vec![Vec::new(); roots.len()];
    for leaf in 0..schema.num_columns() {
        leaves[schema.get_column_root_idx(leaf)].push(leaf);
    }
    let plan = |(root, leaves): (usize, Vec<usize>)| {
        let name = roots[root].name().to_string();
        let field = fields.get(root).filter(|field| field.name == name);
        let found = match leaves[..] {
            [leaf] if roots[root].is_primitive() => {
                let column = schema.column(leaf);
                match column.max_rep_level() {
                    0 => kind(&column, field)?.map_err(|kind| (kind, leaf)),
                    _ => Err(("list".into(), leaf)),
                }
                .map(|(kind, meaning)| (kind, leaf, meaning))
                .map_err(|(kind, _): (String, usize)| kind)
            }
            _ => Err(match roots[root].get_basic_info().logical_type_ref() {
                Some(LogicalType::List) => "list".to_string(),
                Some(LogicalType::Map) => "map".into(),
                _ => "struct".into(),
            }),
        };
        Ok(match found {
            Ok((kind, leaf, meaning)) => {
                let is_ordered = field.is_some_and(|field| field.is_ordered);
                Plan { name, kind, leaf: Some((leaf, meaning)), is_ordered }
            }
            Err(kind) => {
                Plan { name, kind: ColumnType::Other(kind), leaf: None, is_ordered: false }
            }
        })
    };
    leaves.into_iter().enumerate().map(plan).collect()
}

/// The fields of the Arrow schema, if the file has one.
fn arrow_fields(metadata: &ParquetMetaData) -> Vec<Field> {
    let pairs = metadata.file_metadata().key_value_metadata();
    let own = pairs.into_iter().flatten().find(|pair| pair.key == "ARROW:schema");
    let text = own.and_then(|pair| pair.value.as_deref());
    text.and_then(|text| arrow::fields_of_base64(text).ok()).unwrap_or_default()
}

/// The zone of times, if the schema of Arrow has one.
fn zone_of(field: Option<&Field>) -> Option<&str> {
    field.and_then(|field| field.zone.as_deref())
}

type Found = Result<(ColumnType, Meaning), String>;

/// The type of a column and the meaning of its integers; the name of the type if it is another one.
fn kind(column: &ColumnDescriptor, field: Option<&Field>) -> Result<Found, String> {
    let converted = column.converted_type();
    let per_second = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => 1_000,
        TimeUnit::MICROS => 1_000_000,
        TimeUnit::NANOS => 1_000_000_000,
    };
    let moment = |per_second, is_utc: bool| {
        let name = zone_of(field).unwrap_or("UTC");
        let zone = is_utc.then(|| cell::zone(name)).transpose();
        let zone = zone.map_err(|e| format!("column `{}`: {e}", column.name()))?;
        Ok(Ok((ColumnType::Dates, Meaning::Moment { per_second, zone })))
    };
    let clock = |per_second| Ok(Ok((ColumnType::Dates, Meaning::Clock { per_second })));
    let of = |kind| Ok(Ok((kind, Meaning::Number)));
    let other = |name: &str| Ok(Err(name.to_string()));
    if field.is_some_and(|field| field.is_duration) {
        return other("duration");
    }
    if field.is_some_and(|field| field.is_categorical) {
        return of_categories(column);
    }
    let decimal = |scale| Ok(Ok((ColumnType::Numbers, Meaning::Decimal { scale })));
    match (column.physical_type(), column.logical_type_ref()) {
        (Physical::INT32 | Physical::INT64, Some(LogicalType::Date)) => {
            Ok(Ok((ColumnType::Dates, Meaning::Day)))
        }
        (Physical::INT32 | Physical::INT64, Some(LogicalType::Time(time))) => {
            clock(per_second(&time.unit))
        }
        (Physical::INT64, Some(LogicalType::Timestamp(time))) => {
            moment(per_second(&time.unit), time.is_adjusted_to_u_t_c)
        }
        (
            Physical::BYTE_ARRAY,
            Some(LogicalType::String | LogicalType::Enum | LogicalType::Json),
        ) => of(ColumnType::Text),
        (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Float16)) => of(ColumnType::Numbers),
        (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid)) => other("uuid"),
        (
            Physical::INT32
            | Physical::INT64
            | Physical::BYTE_ARRAY
            | Physical::FIXED_LEN_BYTE_ARRAY,
            Some(LogicalType::Decimal(of)),
        ) => decimal(of.scale),
        (physical, _) => match (physical, converted) {
            (Physical::BOOLEAN, _) => of(ColumnType::Bools),
            (Physical::INT32, ConvertedType::DATE) => Ok(Ok((ColumnType::Dates, Meaning::Day))),
            (_, ConvertedType::DECIMAL) => decimal(column.type_scale()),
            (Physical::INT32, ConvertedType::TIME_MILLIS) => clock(1_000),
            (Physical::INT64, ConvertedType::TIME_MICROS) => clock(1_000_000),
            (Physical::INT64, ConvertedType::TIMESTAMP_MILLIS) => moment(1_000, true),
            (Physical::INT64, ConvertedType::TIMESTAMP_MICROS) => moment(1_000_000, true),
            (Physical::INT32 | Physical::INT64 | Physical::FLOAT | Physical::DOUBLE, _) => {
                of(ColumnType::Numbers)
            }
            // Of old programs: a day and nanoseconds, on no clock in particular unless the schema of Arrow has one.
            (Physical::INT96, _) => moment(1_000_000_000, zone_of(field).is_some()),
            (
                Physical::BYTE_ARRAY,
                ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON,
            ) => of(ColumnType::Text),
            (_, ConvertedType::INTERVAL) => other("interval"),
            (Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY, _) => other("binary"),
        },
    }
}

/// The type of a column of categories: labels, whatever their values are.
fn of_categories(column: &ColumnDescriptor) -> Result<Found, String> {
    let found = kind(column, None)?;
    Ok(found.map(|(_, meaning)| (ColumnType::Labels, meaning)))
}

/// The pages of a column in a group of so many rows.
fn pages(file: &Arc<File>, chunk: &ColumnChunkMetaData, rows: usize) -> Result<Box<Pages>, String> {
    // The reader takes it for granted.
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    if start < 0 || chunk.compressed_size() < 0 {
        return Err("the place of its values is negative".into());
    }
    let codec = match chunk.compression() {
        Compression::ZSTD(_) => Some(Codec::Zstd),
        Compression::BROTLI(_) => Some(Codec::Brotli),
        Compression::LZO => {
            return Err("it is packed by LZO, which is not read: pack it by snappy".into());
        }
        _ => None,
    };
    let plain = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build();
    let plain = plain.map_err(|e| in_words(&e))?;
    let pages = SerializedPageReader::new(
        Arc::clone(file),
        if codec.is_some() { &plain } else { chunk },
        rows,
        None,
    );
    Ok(Box::new(Pages { pages: pages.map_err(|e| in_words(&e))?, codec }))
}

/// The column of a group of rows.
fn of_chunk(
    file: &Arc<File>,
    chunk: &ColumnChunkMetaData,
    rows: usize,
    meaning: &Meaning,
) -> Result<Box<dyn Column>, String> {
    let pages = pages(file, chunk, rows)?;
    let meaning = meaning.clone();
    let optional = chunk.column_descr().max_def_level() > 0;
    let is_unsigned = is_unsigned(chunk.column_descr());
    let is_half = chunk.column_descr().logical_type_ref() == Some(&LogicalType::Float16);
    macro_rules! column {
        ($reader:expr, $write:expr) => {
            Box::new(Chunk::new($reader, optional, $write))
        };
    }
    Ok(match get_column_reader(chunk.column_descr_ptr(), pages) {
        ColumnReader::BoolColumnReader(reader) => {
            column!(reader, |value: &bool, _: &mut String| Ok(Cell::Bool(*value)))
        }
        ColumnReader::Int32ColumnReader(reader) => {
            column!(reader, move |value: &i32, text: &mut String| {
                let value =
                    if is_unsigned { i128::from(*value as u32) } else { i128::from(*value) };
                cell::int(value, &meaning, text)
            })
        }
        ColumnReader::Int64ColumnReader(reader) => {
            column!(reader, move |value: &i64, text: &mut String| {
                let value =
                    if is_unsigned { i128::from(*value as u64) } else { i128::from(*value) };
                cell::int(value, &meaning, text)
            })
        }
        ColumnReader::Int96ColumnReader(reader) => {
            column!(reader, move |value: &Int96, text: &mut String| {
                const EPOCH: i128 = 2_440_588;
                let [low, high, day] = value.data()[..] else { return Err("not 12 bytes".into()) };
                let nanos = i128::from(u64::from(high) << 32 | u64::from(low));
                let nanos = (i128::from(day) - EPOCH) * 86_400_000_000_000 + nanos;
                cell::int(nanos, &meaning, text)
            })
        }
        ColumnReader::FloatColumnReader(reader) => {
            column!(reader, |value: &f32, _: &mut String| Ok(Cell::Number(f64::from(*value))))
        }
        ColumnReader::DoubleColumnReader(reader) => {
            column!(reader, |value: &f64, _: &mut String| Ok(Cell::Number(*value)))
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            column!(reader, move |value: &ByteArray, text: &mut String| match meaning {
                Meaning::Decimal { scale } => cell::big_decimal(value.data(), scale, text),
                _ => cell::text(value.data(), text),
            })
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            column!(reader, move |value: &FixedLenByteArray, text: &mut String| {
                match (&meaning, value.data()) {
                    (Meaning::Decimal { scale }, bytes) => cell::big_decimal(bytes, *scale, text),
                    (_, &[low, high]) if is_half => Ok(cell::half(u16::from_le_bytes([low, high]))),
                    _ => Err("a number of other than 2 bytes".into()),
                }
            })
        }
    })
}

fn is_unsigned(column: &ColumnDescriptor) -> bool {
    use ConvertedType::{UINT_8, UINT_16, UINT_32, UINT_64};
    match column.logical_type_ref() {
        Some(LogicalType::Integer(of)) => !of.is_signed,
        _ => [UINT_8, UINT_16, UINT_32, UINT_64].contains(&column.converted_type()),
    }
}

/// The pages of a column, unpacked and checked.
struct Pages {
    pages: SerializedPageReader<File>,
    /// How they are packed, unless the reader unpacks them.
    codec: Option<Codec>,
}

impl Pages {
    /// The bytes, of which the first `plain` are not packed.
    fn unpacked(&self, bytes: Bytes, plain: usize) -> Read<Bytes> {
        let Some(codec) = self.codec else { return Ok(bytes) };
        let broken = || ParquetError::General("a page is shorter than it says".into());
        let packed = bytes.get(plain..).ok_or_else(broken)?;
        if packed.is_empty() {
            return Ok(bytes);
        }
        let values = unpack(codec, packed).map_err(ParquetError::General)?;
        Ok(if plain == 0 { values.into() } else { [&bytes[..plain], &values].concat().into() })
    }
}

impl Iterator for Pages {
    type Item = Read<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Read<Option<Page>> {
        let Some(mut page) = self.pages.get_next_page()? else { return Ok(None) };
        let (buf, plain) = match &mut page {
            Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => (buf, Some(0)),
            Page::DataPageV2 {
                buf,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed,
                ..
            } => {
                let levels = *def_levels_byte_len as usize + *rep_levels_byte_len as usize;
                (buf, is_compressed.then_some(levels))
            }
        };
        if let Some(plain) = plain {
            *buf = self.unpacked(buf.clone(), plain)?;
        }
        match &page {
            // The reader makes room for so many values, of a byte or more each.
            Page::DictionaryPage { buf, num_values, .. } if *num_values as usize > buf.len() => {
                Err(ParquetError::General("a dictionary has fewer values than it says".into()))
            }
            _ => Ok(Some(page)),
        }
    }

    fn peek_next_page(&mut self) -> Read<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Read<()> {
        self.pages.skip_next_page()
    }
}

/// A column of a group of rows, a batch at a time.
struct Chunk<T: DataType, W> {
    reader: ColumnReaderImpl<T>,
    /// The cell of a value.
    write: W,
    /// Whether values may be lacking.
    optional: bool,
    /// For each row of the batch 1 if it has a value, else 0.
    levels: Vec<i16>,
    values: Vec<T::T>,
    /// The number of rows of the batch; the next one, and its value.
    rows: usize,
    row: usize,
    value: usize,
}

impl<T: DataType, W> Chunk<T, W> {
    fn new(reader: ColumnReaderImpl<T>, optional: bool, write: W) -> Self {
        let (levels, values) = (Vec::new(), Vec::new());
        Self { reader, write, optional, levels, values, rows: 0, row: 0, value: 0 }
    }
}

impl<T: DataType, W: FnMut(&T::T, &mut String) -> Result<Cell, String>> Chunk<T, W> {
    /// The place of the next value in the batch; `None` if it is missing.
    fn next(&mut self) -> Result<Option<usize>, String> {
        if self.row == self.rows {
            self.levels.clear();
            self.values.clear();
            let read =
                self.reader.read_records(BATCH, Some(&mut self.levels), None, &mut self.values);
            (self.rows, ..) = read.map_err(|e| in_words(&e))?;
            (self.row, self.value) = (0, 0);
            if self.rows == 0 {
                return Err("the column has fewer values than the file has rows".into());
            }
        }
        let is_there = !self.optional || self.levels.get(self.row) == Some(&1); //~ parquet-missing
        self.row += 1;
        self.value += usize::from(is_there);
        Ok(is_there.then(|| self.value - 1))
    }
}

impl<T: DataType, W: FnMut(&T::T, &mut String) -> Result<Cell, String>> Column for Chunk<T, W> {
    fn cell(&mut self, text: &mut String) -> Result<Cell, String> {
        let Some(value) = self.next()? else { return Ok(Cell::Missing) };
        let value = self.values.get(value).ok_or("the column has fewer values than it says")?;
        (self.write)(value, text)
    }

    fn skip(&mut self) -> Result<(), String> {
        self.next().map(|_| ())
    }
}
