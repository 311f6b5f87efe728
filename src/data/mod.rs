//! Data: tables, in memory and in files of rows, reading them from text and from IDX files, scaling, splits, series,
//! simulated tables, and seven bundled sets.
//!
//! From a CSV file to training and test rows, scaled by the training rows:
//!
//! ```
//! use bnn_mcmc::data::{CsvReader, Standardise};
//! # let file = tempfile::NamedTempFile::new().unwrap();
//! # let path = file.path();
//! # let mut text = String::from("length,width,kind\n");
//! # for i in 0..20 { text += &format!("{},{},{}\n", i, i * i, ["moth", "bee"][i % 2]); }
//! # std::fs::write(path, text).unwrap();
//! let data = CsvReader::classification("kind").read_path(path)?.dataset;
//! println!("{data}");
//!
//! let (train, test) = data.stratified_split(0.3, 1)?;
//! let scaler = Standardise::new().fit_features(&train)?;
//! let (train, test) = (scaler.scale_features(&train)?, scaler.scale_features(&test)?);
//! assert_eq!((train.rows(), test.rows()), (14, 6));
//! assert_eq!(train.response().class_names().unwrap(), ["bee", "moth"]);
//! # Ok::<(), bnn_mcmc::Error>(())
//! ```
//!
//! Training and test rows in two files: read the first with a [`CsvReader`] and the second with
//! the [`Schema`] that the first one gave, so that levels and classes have the same numbers.
//!
//! Images and labels as MNIST has them are read by an [`IdxReader`]; text and IDX files may be
//! packed by gzip, which is recognised by its first two bytes.
//!
//! Rows that do not fit into memory are written to a [`RowFile`], from a CSV file of any size by
//! [`CsvReader::store_path`], and read as a posterior needs them.
//!
//! A [`Dataset`] is valid once it exists. A problem with a file, an array or an argument is an
//! [`Error`](crate::Error) that names it. Of a file with gaps, [`StandIn`]s and the lines that were
//! left out say what was done.

#[cfg(feature = "datasets")]
pub mod bundled;
#[cfg(feature = "tables")]
mod csv;
#[cfg(feature = "tables")]
mod curves;
mod dataset;
#[cfg(feature = "tables")]
mod gzip;
#[cfg(feature = "tables")]
mod idx;
#[cfg(feature = "tables")]
mod impute;
mod row_file;
mod scale;
mod series;
pub mod simulate;
mod split;
mod task;
mod transform;

pub use crate::cells::{csv_cell, guarded, shown, unguarded};
#[cfg(feature = "tables")]
pub use csv::{
    Charset, ColumnDescription, ColumnType, Columns, CsvData, CsvReader, DateOrder, Dates, Decimal,
    Description, Encoding, FateOfText, Features, Fill, Finding, LearntFeatures, Lines, Schema,
    StandIn, StoredCsv, TableColumn, TextOfKinds, TypedTable, Value, ValueKind, classes_in_order,
    rows_drawn,
};
#[cfg(feature = "tables")]
pub(crate) use csv::{FEW_GRADES, ROWS_OF_GRADE, indicator, new_group};
#[cfg(feature = "tables")]
pub(crate) use curves::Curves;
pub use dataset::{Dataset, Response};
#[cfg(feature = "tables")]
pub use idx::IdxReader;
#[cfg(feature = "tables")]
pub(crate) use impute::{Completion, Gap, Known, complete};
pub use row_file::{RowFile, RowWriter, Stored};
pub use scale::{ColumnScale, MinMax, Scaler, Standardise};
pub(crate) use scale::{is_constant, mean_by};
pub use series::{Takens, smooth_13_months};
pub(crate) use split::Single;
pub use split::Split;
pub use task::Task;
pub use transform::{PowerTransform, Transform};
