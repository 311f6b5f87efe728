//! Arrow files, also known as Feather (version 2): <https://arrow.apache.org/docs/format/Columnar.html>.
//!
//! They are read here, without the crates of Arrow, which take two minutes to build. The numbers of fields below
//! are their places in the tables of `Schema.fbs`, `Message.fbs` and `File.fbs`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::rc::Rc;

use bnn_mcmc::Error;
use bnn_mcmc::data::{ColumnType, TypedTable};

use super::cell::{self, Cell, Meaning};
use super::flat::{Broken, Flat};
use super::unpack::{Codec, unpack};
use super::{Column, Held, Orders, Unread, fill, problem};

/// The first bytes of a file, and its last.
pub const MAGIC: &[u8] = b"ARROW1";
/// The most fields of a schema, nested ones included.
const MOST_FIELDS: usize = 1 << 20;
/// The deepest nesting of fields.
const DEEPEST: usize = 64;

/// A field of a schema.
#[derive(Debug)]
pub struct Field {
    pub name: String,
    values: Values,
    /// The dictionary whose places are stored in place of the values.
    dictionary: Option<Dictionary>,
    children: Vec<Field>,
}

/// The type of the values.
#[derive(Clone, Debug, PartialEq)]
enum Values {
    Null,
    Bool,
    Int {
        bits: i32,
        signed: bool,
    },
    Float {
        bits: u32,
    },
    Decimal {
        bits: i32,
        scale: i32,
    },
    Date {
        bits: i32,
    },
    Time {
        bits: i32,
        per_second: i64,
    },
    Moment {
        per_second: i64,
        zone: Option<String>,
    },
    Text {
        bits: i32,
    },
    /// Text of which the first bytes are in the buffer of places.
    Views,
    Duration,
    /// Another type, with the number of its buffers, of which an array of views has more.
    Other {
        name: &'static str,
        buffers: usize,
        has_views: bool,
    },
}

#[derive(Clone, Debug)]
struct Dictionary {
    id: i64,
    bits: i32,
    signed: bool,
    is_ordered: bool,
}

impl Field {
    /// The zone of times.
    pub fn zone(&self) -> Option<&str> {
        match &self.values {
            Values::Moment { zone, .. } => zone.as_deref(),
            _ => None,
        }
    }

    pub fn is_duration(&self) -> bool {
        self.values == Values::Duration
    }

    /// Whether the values are categories.
    pub fn is_categorical(&self) -> bool {
        self.dictionary.is_some()
    }

    /// Whether the values are categories in an order.
    pub fn is_ordered(&self) -> bool {
        self.dictionary.as_ref().is_some_and(|dictionary| dictionary.is_ordered)
    }

    /// The type of the column and the meaning of its integers; the name of the type if it is another one.
    fn kind(&self) -> Result<Result<(ColumnType, Meaning), &'static str>, String> {
        let found = match &self.values {
            Values::Null | Values::Int { .. } | Values::Float { .. } => {
                (ColumnType::Numbers, Meaning::Number)
            }
            Values::Decimal { scale, .. } => {
                (ColumnType::Numbers, Meaning::Decimal { scale: *scale })
            }
            Values::Bool => (ColumnType::Bools, Meaning::Number),
            Values::Date { bits: 32 } => (ColumnType::Dates, Meaning::Day),
            Values::Date { .. } => {
                (ColumnType::Dates, Meaning::Moment { per_second: 1000, zone: None })
            }
            Values::Time { per_second, .. } => {
                (ColumnType::Dates, Meaning::Clock { per_second: *per_second })
            }
            Values::Moment { per_second, zone } => {
                let zone = zone.as_deref().map(cell::zone).transpose();
                let zone = zone.map_err(|e| format!("column `{}`: {e}", self.name))?;
                (ColumnType::Dates, Meaning::Moment { per_second: *per_second, zone })
            }
            Values::Text { .. } | Values::Views => (ColumnType::Text, Meaning::Number),
            Values::Duration => return Ok(Err("duration")),
            Values::Other { name, .. } => return Ok(Err(name)),
        };
        Ok(Ok(match self.dictionary {
            Some(_) => (ColumnType::Labels, found.1),
            None => found,
        }))
    }
}

/// The fields of a schema that is written as Base64, as Parquet files have it.
pub fn fields_of_base64(text: &str) -> Result<Vec<Field>, Broken> {
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len()), 0u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return Err(Broken),
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    let message = Flat::root(without_length(&bytes).ok_or(Broken)?)?;
    fields(message.table(2)?.ok_or(Broken)?)
}

/// The message behind its length, and behind the mark that newer versions put before that.
fn without_length(bytes: &[u8]) -> Option<&[u8]> {
    match bytes.first_chunk::<4>()? {
        [0xFF, 0xFF, 0xFF, 0xFF] => bytes.get(8..),
        _ => bytes.get(4..),
    }
}

/// The fields of a schema.
fn fields(schema: Flat) -> Result<Vec<Field>, Broken> {
    let mut left = MOST_FIELDS;
    schema.tables(1)?.into_iter().map(|of| field(of, DEEPEST, &mut left)).collect()
}

fn field(of: Flat, depth: usize, left: &mut usize) -> Result<Field, Broken> {
    *left = left.checked_sub(1).ok_or(Broken)?;
    let depth = depth.checked_sub(1).ok_or(Broken)?;
    let children = of.tables(5)?.into_iter().map(|child| field(child, depth, left));
    let children = children.collect::<Result<Vec<_>, _>>()?;
    let dictionary = match of.table(4)? {
        None => None,
        Some(encoding) => {
            let (bits, signed) = match encoding.table(1)? {
                Some(index) => (index.int(0, 0)?, index.bool(1)?),
                None => (32, true),
            };
            Some(Dictionary { id: encoding.long(0)?, bits, signed, is_ordered: encoding.bool(2)? })
        }
    };
    let name = of.text(0)?.unwrap_or_default().to_string();
    let values = match of.table(3)? {
        Some(kind) => values(of.byte(2)?, kind)?,
        None => return Err(Broken),
    };
    Ok(Field { name, values, dictionary, children })
}

fn values(kind: u8, of: Flat) -> Result<Values, Broken> {
    let per_second = |unit: i16| match unit {
        0 => Ok(1),
        1 => Ok(1_000),
        2 => Ok(1_000_000),
        3 => Ok(1_000_000_000),
        _ => Err(Broken),
    };
    let other = |name, buffers| Values::Other { name, buffers, has_views: false };
    Ok(match kind {
        1 => Values::Null,
        2 => Values::Int { bits: of.int(0, 0)?, signed: of.bool(1)? },
        3 => {
            Values::Float { bits: 16 << u32::try_from(of.short(0, 0)?.min(2)).map_err(|_| Broken)? }
        }
        4 => other("binary", 3),
        5 => Values::Text { bits: 32 },
        6 => Values::Bool,
        7 => Values::Decimal { scale: of.int(1, 0)?, bits: of.int(2, 128)? },
        8 => Values::Date { bits: if of.short(0, 1)? == 0 { 32 } else { 64 } },
        9 => Values::Time { per_second: per_second(of.short(0, 1)?)?, bits: of.int(1, 32)? },
        10 => Values::Moment {
            per_second: per_second(of.short(0, 0)?)?,
            zone: of.text(1)?.map(String::from),
        },
        11 => other("interval", 2),
        12 => other("list", 2),
        13 => other("struct", 1),
        // Sparse or dense.
        14 => other("union", if of.short(0, 0)? == 0 { 1 } else { 2 }),
        15 => other("binary", 2),
        16 => other("list", 1),
        17 => other("map", 2),
        18 => Values::Duration,
        19 => other("binary", 3),
        20 => Values::Text { bits: 64 },
        21 => other("list", 2),
        22 => other("run-end encoded", 0),
        23 => Values::Other { name: "binary", buffers: 2, has_views: true },
        24 => Values::Views,
        25 | 26 => other("list", 3),
        _ => return Err(Broken),
    })
}

/// Reads a file whose name in errors is `name`.
pub fn read(mut file: File, name: &str, held: Held) -> Result<(TypedTable, Orders), Error> {
    let of_file = |e: String| problem(name, format!("the Arrow file cannot be read: {e}"));
    let footer = footer(&mut file).map_err(of_file)?;
    let parsed = || -> Result<_, Broken> {
        let footer = Flat::root(&footer)?;
        let schema = footer.table(1)?.ok_or(Broken)?;
        let is_big_endian = schema.short(0, 0)? != 0;
        Ok((is_big_endian, fields(schema)?, footer.longs::<3>(2)?, footer.longs::<3>(3)?))
    };
    let (is_big_endian, fields, dictionaries, batches) =
        parsed().map_err(|Broken| of_file("its footer is broken".into()))?;
    if is_big_endian {
        return Err(of_file("its numbers are big-endian".into()));
    }
    let kinds = fields.iter().map(Field::kind).collect::<Result<Vec<_>, _>>();
    let kinds = kinds.map_err(|e| problem(name, e))?;
    let columns = fields.iter().zip(&kinds).map(|(field, kind)| match kind {
        Ok((kind, _)) => (field.name.as_str(), kind.clone()),
        Err(other) => (field.name.as_str(), ColumnType::Other(other.to_string())),
    });
    let mut table = TypedTable::new(name, columns, held.limit);
    held.reserve(&mut table, rows_of(&mut file, &batches).map_err(of_file)?)?;
    let mut known: HashMap<i64, Vec<Rc<Array>>> = HashMap::new();
    for block in dictionaries {
        let (head, body) = message(&mut file, block).map_err(of_file)?;
        dictionary(&head, body, &fields, &mut known).map_err(of_file)?;
    }
    let mut row = 0;
    for block in batches {
        let (head, body) = message(&mut file, block).map_err(of_file)?;
        let (columns, rows) = batch(&head, body, &fields, &kinds, &known).map_err(of_file)?;
        fill(&mut table, columns, row, rows, &held)?;
        row += rows;
    }
    let mut orders = Orders::new();
    for ((name, _), field) in table.columns().zip(&fields) {
        if let Some(own) = field.dictionary.as_ref().filter(|own| own.is_ordered) {
            let values = known.get(&own.id).map_or(Ok(Vec::new()), |parts| labels(parts));
            orders.insert(name.into(), values.map_err(of_file)?);
        }
    }
    Ok((table, orders))
}

/// The number of rows of a file.
pub fn rows(mut file: File, name: &str) -> Result<usize, Error> {
    let mut count = || -> Result<usize, String> {
        let footer = footer(&mut file)?;
        let batches = Flat::root(&footer)?.longs::<3>(3)?;
        rows_of(&mut file, &batches)
    };
    count().map_err(|e| problem(name, format!("the Arrow file cannot be read: {e}")))
}

/// The number of rows in these blocks.
fn rows_of(file: &mut File, batches: &[[i64; 3]]) -> Result<usize, String> {
    let mut rows = 0usize;
    for [offset, head, _] in batches {
        let (head, _) = message(file, [*offset, *head, 0])?;
        let message = Flat::root(without_length(&head).ok_or(BROKEN)?)?;
        let of = message.table(2)?.ok_or(BROKEN)?;
        let more = usize::try_from(of.long(0)?).map_err(|_| BROKEN)?;
        rows = rows.checked_add(more).ok_or(BROKEN)?;
    }
    Ok(rows)
}

/// The values of a dictionary that are there.
fn labels(parts: &[Rc<Array>]) -> Result<Vec<String>, String> {
    let mut labels = Vec::new();
    for part in parts {
        for row in 0..part.rows {
            let mut text = String::new();
            match part.value(row, &mut text)? {
                Cell::Missing => {}
                Cell::Text => labels.push(text.trim().to_string()),
                Cell::Number(number) => labels.push(number.to_string()),
                Cell::Bool(is) => labels.push(if is { "True" } else { "False" }.into()),
            }
        }
    }
    Ok(labels)
}

/// The bytes of the footer, which the last ten bytes of the file lead to.
fn footer(file: &mut File) -> Result<Vec<u8>, String> {
    let size = file.metadata().map_err(|e| e.to_string())?.len();
    let cut = || "it is cut off: it does not end in ARROW1".to_string();
    let end = part(file, size.checked_sub(10).ok_or_else(cut)?, 10)?;
    let (length, magic) = end.split_at(4);
    if magic != MAGIC {
        return Err(cut());
    }
    let length = i32::from_le_bytes(length.try_into().map_err(|_| cut())?);
    let length = u64::try_from(length).ok().filter(|length| length + 18 <= size);
    let length = length.ok_or("its footer is longer than the file")?;
    part(file, size - 10 - length, length)
}

/// So many bytes of the file from a place on.
fn part(file: &mut File, from: u64, length: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read =
        file.seek(SeekFrom::Start(from)).and_then(|_| file.take(length).read_to_end(&mut bytes));
    match read.map_err(|e| e.to_string())? {
        n if n as u64 == length => Ok(bytes),
        _ => Err("a part of it lies beyond its end".into()),
    }
}

/// The head and the body of the message in a block.
fn message(file: &mut File, [offset, head, body]: [i64; 3]) -> Result<(Vec<u8>, Vec<u8>), String> {
    let broken = || "its footer is broken".to_string();
    // The length of the head has 32 bits, and 32 more are unused.
    let head = u64::try_from(head as i32).map_err(|_| broken())?;
    let [offset, body] = [offset, body].map(u64::try_from);
    let (offset, body) = (offset.map_err(|_| broken())?, body.map_err(|_| broken())?);
    let head_bytes = part(file, offset, head)?;
    let body_bytes = part(file, offset.checked_add(head).ok_or_else(broken)?, body)?;
    Ok((head_bytes, body_bytes))
}

const BROKEN: &str = "a batch of rows is broken";

impl From<Broken> for String {
    fn from(_: Broken) -> Self {
        BROKEN.into()
    }
}

/// Reads a batch of a dictionary.
fn dictionary(
    head: &[u8],
    body: Vec<u8>,
    fields: &[Field],
    known: &mut HashMap<i64, Vec<Rc<Array>>>,
) -> Result<(), String> {
    let message = Flat::root(without_length(head).ok_or(BROKEN)?)?;
    let of = message.table(2)?.filter(|_| message.byte(1) == Ok(2)).ok_or(BROKEN)?;
    let id = of.long(0)?;
    let is_of = |field: &&Field| field.dictionary.as_ref().is_some_and(|own| own.id == id);
    // A dictionary within a nested column is not read, as that column is not.
    let Some(field) = fields.iter().find(is_of) else { return Ok(()) };
    let Ok((_, meaning)) = field.kind()? else { return Ok(()) };
    let mut parts = Parts::of(message, of.table(1)?.ok_or(BROKEN)?, body)?;
    let array = Rc::new(parts.array(&field.values, &meaning)?);
    match of.bool(2)? {
        true => known.entry(id).or_default().push(array),
        false => drop(known.insert(id, vec![array])),
    }
    Ok(())
}

type Kinds = [Result<(ColumnType, Meaning), &'static str>];

/// The columns of a batch of rows, and the number of its rows.
fn batch(
    head: &[u8],
    body: Vec<u8>,
    fields: &[Field],
    kinds: &Kinds,
    known: &HashMap<i64, Vec<Rc<Array>>>,
) -> Result<(Vec<Box<dyn Column>>, usize), String> {
    let message = Flat::root(without_length(head).ok_or(BROKEN)?)?;
    let of = message.table(2)?.filter(|_| message.byte(1) == Ok(3)).ok_or(BROKEN)?;
    let rows = usize::try_from(of.long(0)?).map_err(|_| BROKEN)?;
    let mut parts = Parts::of(message, of, body)?;
    let mut columns: Vec<Box<dyn Column>> = Vec::with_capacity(fields.len());
    for (field, kind) in fields.iter().zip(kinds) {
        let Ok((_, meaning)) = kind else {
            parts.skip(field)?;
            columns.push(Box::new(Unread));
            continue;
        };
        let array = match &field.dictionary {
            None => parts.array(&field.values, meaning)?,
            Some(Dictionary { id, bits, signed, .. }) => {
                let places = Values::Int { bits: *bits, signed: *signed };
                let places = parts.array(&places, &Meaning::Number)?;
                let values = known.get(id).cloned().unwrap_or_default();
                Array { dictionary: Some(values), ..places }
            }
        };
        if array.rows != rows {
            return Err(format!(
                "column `{}` has another number of rows than its batch",
                field.name
            ));
        }
        columns.push(Box::new(array));
    }
    Ok((columns, rows))
}

/// The parts that arrays of a batch are made of, in their order.
struct Parts {
    /// The number of rows and of missing values of each array.
    nodes: std::vec::IntoIter<[i64; 2]>,
    /// The place and the length of each buffer in the body.
    buffers: std::vec::IntoIter<[i64; 2]>,
    /// The number of the buffers beyond two of each array of views.
    views: std::vec::IntoIter<[i64; 1]>,
    codec: Option<Codec>,
    body: Rc<Vec<u8>>,
    /// Unions had a buffer of missing values once.
    is_old: bool,
}

impl Parts {
    fn of(message: Flat, batch: Flat, body: Vec<u8>) -> Result<Self, String> {
        let codec = match batch.table(3)? {
            None => None,
            Some(packing) => match packing.byte(0)? {
                0 => Some(Codec::Lz4Frame),
                1 => Some(Codec::Zstd),
                _ => return Err("it is packed in a way that is not known".into()),
            },
        };
        Ok(Self {
            nodes: batch.longs(1)?.into_iter(),
            buffers: batch.longs(2)?.into_iter(),
            views: batch.longs(4)?.into_iter(),
            codec,
            body: Rc::new(body),
            is_old: message.short(0, 0)? < 4,
        })
    }

    /// Goes past the parts of a field.
    fn skip(&mut self, field: &Field) -> Result<(), String> {
        self.nodes.next().ok_or(BROKEN)?;
        let (buffers, has_views) = match (&field.dictionary, &field.values) {
            (Some(_), _) => (2, false),
            (None, Values::Other { name, buffers, has_views }) => {
                (buffers + usize::from(*name == "union" && self.is_old), *has_views)
            }
            (None, Values::Null) => (0, false),
            (None, Values::Text { .. }) => (3, false),
            (None, Values::Views) => (2, true),
            (None, _) => (2, false),
        };
        let more = if has_views { self.views()? } else { 0 };
        for _ in 0..buffers + more {
            self.buffers.next().ok_or(BROKEN)?;
        }
        if field.dictionary.is_none() {
            field.children.iter().try_for_each(|child| self.skip(child))?;
        }
        Ok(())
    }

    fn views(&mut self) -> Result<usize, String> {
        let [views] = self.views.next().ok_or(BROKEN)?;
        Ok(usize::try_from(views).map_err(|_| BROKEN)?)
    }

    fn buffer(&mut self) -> Result<Buffer, String> {
        let [start, length] = self.buffers.next().ok_or(BROKEN)?;
        let start = usize::try_from(start).map_err(|_| BROKEN)?;
        let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
        let place = start..end.ok_or(BROKEN)?;
        let packed = self.body.get(place.clone()).ok_or(BROKEN)?;
        let (Some(codec), Some((length, packed))) = (self.codec, packed.split_first_chunk()) else {
            return Ok(Buffer::Part(Rc::clone(&self.body), place));
        };
        match i64::from_le_bytes(*length) {
            // It did not become shorter by packing.
            -1 => Ok(Buffer::Part(Rc::clone(&self.body), place.start + 8..place.end)),
            length => {
                let bytes = unpack(codec, packed)?;
                match usize::try_from(length) {
                    Ok(length) if length == bytes.len() => Ok(Buffer::Own(bytes)),
                    _ => Err("a packed part has another length than it says".into()),
                }
            }
        }
    }

    /// The next array, of a field that is not nested.
    fn array(&mut self, values: &Values, meaning: &Meaning) -> Result<Array, String> {
        let [rows, missing] = self.nodes.next().ok_or(BROKEN)?;
        let rows = usize::try_from(rows).map_err(|_| BROKEN)?;
        let (values, meaning) = (values.clone(), meaning.clone());
        let mut array = Array {
            rows,
            values,
            meaning,
            validity: None,
            places: Buffer::Own(Vec::new()),
            bytes: Vec::new(),
            dictionary: None,
        };
        if array.values == Values::Null {
            return Ok(array);
        }
        let validity = self.buffer()?;
        if missing != 0 {
            array.validity = Some(validity);
        }
        array.places = self.buffer()?;
        let bytes = match array.values {
            Values::Text { .. } => 1,
            Values::Views => self.views()?,
            _ => 0,
        };
        for _ in 0..bytes {
            array.bytes.push(self.buffer()?);
        }
        Ok(array)
    }
}

/// A part of the body of a batch, or what it was unpacked to.
enum Buffer {
    Part(Rc<Vec<u8>>, std::ops::Range<usize>),
    Own(Vec<u8>),
}

impl Buffer {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Part(body, place) => body.get(place.clone()).unwrap_or_default(),
            Self::Own(bytes) => bytes,
        }
    }

    /// The item of this size at a place.
    fn item<const N: usize>(&self, place: usize) -> Result<[u8; N], String> {
        let bytes = place.checked_mul(N).and_then(|start| self.bytes().get(start..));
        Ok(*bytes.and_then(|bytes| bytes.first_chunk()).ok_or("it has fewer values than rows")?)
    }

    fn bit(&self, place: usize) -> Result<bool, String> {
        let [byte] = self.item(place / 8)?;
        Ok(byte >> (place % 8) & 1 == 1)
    }

    fn range(&self, start: i64, length: i64) -> Result<&[u8], String> {
        let start = usize::try_from(start).ok();
        let bytes = start.and_then(|start| self.bytes().get(start..));
        let length = usize::try_from(length).ok();
        let bytes = bytes.zip(length).and_then(|(bytes, length)| bytes.get(..length));
        Ok(bytes.ok_or("a text lies beyond its buffer")?)
    }
}

/// The values of a column in a batch.
struct Array {
    rows: usize,
    values: Values,
    meaning: Meaning,
    /// A bit for each row, 0 where the value is missing.
    validity: Option<Buffer>,
    /// The values, or the places of texts.
    places: Buffer,
    /// The bytes of texts.
    bytes: Vec<Buffer>,
    /// The values that the integers are places of, if the column is of categories.
    dictionary: Option<Vec<Rc<Array>>>,
}

impl Array {
    /// The value of a row.
    fn value(&self, row: usize, text: &mut String) -> Result<Cell, String> {
        if self.values == Values::Null {
            return Ok(Cell::Missing);
        }
        if let Some(validity) = &self.validity
            && !validity.bit(row)?
        {
            return Ok(Cell::Missing);
        }
        if let Some(parts) = &self.dictionary {
            let mut place = usize::try_from(self.int(row)?).map_err(|_| NO_CATEGORY)?;
            for part in parts {
                //~ arrow-delta
                match place.checked_sub(part.rows) {
                    Some(rest) => place = rest,
                    None => return part.value(place, text),
                }
            }
            return Err(NO_CATEGORY.into());
        }
        match &self.values {
            Values::Bool => Ok(Cell::Bool(self.places.bit(row)?)),
            Values::Float { bits: 16 } => {
                Ok(cell::half(u16::from_le_bytes(self.places.item(row)?)))
            }
            Values::Float { bits: 32 } => {
                let value = f32::from_le_bytes(self.places.item(row)?);
                Ok(Cell::Number(f64::from(value)))
            }
            Values::Float { .. } => Ok(Cell::Number(f64::from_le_bytes(self.places.item(row)?))),
            Values::Decimal { bits: 256, scale } => {
                let mut bytes: [u8; 32] = self.places.item(row)?;
                bytes.reverse();
                cell::big_decimal(&bytes, *scale, text)
            }
            Values::Text { .. } | Values::Views => cell::text(&self.text(row)?, text),
            _ => cell::int(self.int(row)?, &self.meaning, text),
        }
    }

    /// The integer of a row, by the bits that the type has.
    fn int(&self, row: usize) -> Result<i128, String> {
        let (bits, signed) = match self.values {
            Values::Int { bits, signed } => (bits, signed),
            Values::Decimal { bits, .. } | Values::Date { bits } | Values::Time { bits, .. } => {
                (bits, true)
            }
            _ => (64, true),
        };
        macro_rules! int {
            ($kind:ty) => {
                <$kind>::from_le_bytes(self.places.item(row)?) as i128
            };
        }
        Ok(match (bits, signed) {
            (8, true) => int!(i8),
            (8, false) => int!(u8),
            (16, true) => int!(i16),
            (16, false) => int!(u16),
            (32, true) => int!(i32),
            (32, false) => int!(u32),
            (64, true) => int!(i64),
            (64, false) => int!(u64),
            // Of other types, so many bits are an error: times are multiplied.
            (128, true) if matches!(self.values, Values::Decimal { .. }) => int!(i128),
            _ => return Err(format!("numbers of {bits} bits are not read")),
        })
    }

    /// The bytes of a text.
    fn text(&self, row: usize) -> Result<Cow<'_, [u8]>, String> {
        let long =
            |bytes: &[u8]| i64::from(i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        if self.values == Values::Views {
            // The length, then the text itself, or its first bytes, the buffer and the place in it.
            let view: [u8; 16] = self.places.item(row)?;
            let length = long(&view);
            if (0..=12).contains(&length) {
                return Ok(view[4..4 + length as usize].to_vec().into());
            }
            let buffer = usize::try_from(long(&view[8..])).ok();
            let buffer = buffer.and_then(|place| self.bytes.get(place));
            let buffer = buffer.ok_or("a text lies in a buffer that is lacking")?;
            return Ok(buffer.range(long(&view[12..]), length)?.into());
        }
        let [start, end] = match self.values {
            Values::Text { bits: 64 } => {
                [self.places.item(row)?, self.places.item(row + 1)?].map(i64::from_le_bytes)
            }
            _ => [self.places.item(row)?, self.places.item(row + 1)?]
                .map(|bytes| i64::from(i32::from_le_bytes(bytes))),
        };
        let length = end.checked_sub(start).ok_or("a text ends before it begins")?;
        Ok(self.bytes.first().ok_or(BROKEN)?.range(start, length)?.into())
    }
}

const NO_CATEGORY: &str = "a category is not in its dictionary";

impl Column for Array {
    fn cell(&mut self, row: usize, text: &mut String) -> Result<Cell, String> {
        self.value(row, text)
    }
}
