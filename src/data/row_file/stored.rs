//! The numbers of features as they stand in a file.

use half::f16;
use half::slice::HalfFloatSliceExt;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::message::number;

/// The form of the features in a [`RowFile`](super::RowFile), and so the rounding that they undergo.
///
/// | form | bytes | rounding |
/// | --- | --- | --- |
/// | `F64` | 8 | none |
/// | `F32` | 4 | relative error at most 2^-24, 6e-8, or an error of 7e-46 below 1.2e-38; numbers up to 3.4e38 in size |
/// | `F16` | 2 | relative error at most 2^-11, 4.9e-4, or an error of 3e-8 below 6e-5; numbers up to 65,504 in size |
/// | `U8` | 1 | to one of 256 values, offset + scale b with a byte b, with an error of at most scale / 2 |
///
/// Responses and weights of rows are always `f64`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Stored {
    /// Numbers as they are.
    F64,
    /// Single precision.
    F32,
    /// Half precision.
    F16,
    /// One of 256 values, by the \[offset, scale\] of each column.
    U8(Vec<[f64; 2]>),
}

impl Stored {
    /// Bytes as they are, the whole numbers from 0 to 255, such as the pixels of images, which are not rounded.
    pub fn bytes(columns: usize) -> Self {
        Self::U8(vec![[0.0, 1.0]; columns])
    }

    /// 256 values from the low to the high end of each column.
    pub fn ranges(ranges: &[[f64; 2]]) -> Self {
        Self::U8(ranges.iter().map(|[low, high]| [*low, (high - low) / 255.0]).collect())
    }

    /// The bytes of a number.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 => 4,
            Self::F16 => 2,
            Self::U8(_) => 1,
        }
    }

    pub(super) fn check(&self, columns: usize) -> Result<(), Error> {
        let Self::U8(scales) = self else { return Ok(()) };
        if scales.len() != columns {
            return Err(Error::shape("offsets and scales of bytes", scales.len(), columns));
        }
        let is_right = |[offset, scale]: &[f64; 2]| {
            offset.is_finite()
                && scale.is_normal()
                && *scale > 0.0
                && (offset + 255.0 * scale).is_finite()
        };
        match scales.iter().position(|scale| !is_right(scale)) {
            None => Ok(()),
            Some(j) => {
                let [offset, scale] = scales[j].map(number);
                let name = format!("offset and scale of the bytes of column {}", j + 1);
                let allowed = "finite, with a scale above 0 (a low end below the high end, 255 scales above it)";
                Err(Error::argument(name, format!("{offset} and {scale}"), allowed))
            }
        }
    }

    /// Appends a row; an error is the column whose number the form does not hold, and its limits.
    pub(super) fn write(&self, row: &[f64], bytes: &mut Vec<u8>) -> Result<(), (usize, String)> {
        let limit = |most: f64| {
            let [low, high] = [-most, most].map(number);
            format!("from {low} to {high}, as numbers of {} bytes are", self.width())
        };
        match self {
            Self::F64 => row.iter().for_each(|x| bytes.extend(x.to_le_bytes())),
            Self::F32 => {
                for (j, x) in row.iter().enumerate() {
                    let rounded = *x as f32;
                    if rounded.is_infinite() {
                        return Err((j, limit(f32::MAX.into())));
                    }
                    bytes.extend(rounded.to_le_bytes());
                }
            }
            Self::F16 => {
                for (j, x) in row.iter().enumerate() {
                    // By way of `f32`: of `f64` processors round in ways of their own.
                    let rounded = f16::from_f32(*x as f32);
                    if rounded.is_infinite() {
                        return Err((j, limit(f16::MAX.into())));
                    }
                    bytes.extend(rounded.to_le_bytes());
                }
            }
            Self::U8(scales) => {
                for (j, (x, [offset, scale])) in row.iter().zip(scales).enumerate() {
                    let byte = ((x - offset) / scale).round();
                    if !(0.0..=255.0).contains(&byte) {
                        let [low, high] = [*offset, offset + 255.0 * scale].map(number);
                        return Err((
                            j,
                            format!("from {low} to {high}, as bytes by offset and scale"),
                        ));
                    }
                    bytes.push(byte as u8);
                }
            }
        }
        Ok(())
    }

    /// Widens the bytes of a row to numbers.
    pub(super) fn read(&self, bytes: &[u8], row: &mut [f64]) {
        match self {
            Self::F64 => {
                let numbers = bytes.as_chunks().0.iter();
                row.iter_mut().zip(numbers).for_each(|(x, b)| *x = f64::from_le_bytes(*b));
            }
            Self::F32 => {
                let numbers = bytes.as_chunks().0.iter();
                row.iter_mut().zip(numbers).for_each(|(x, b)| *x = f32::from_le_bytes(*b).into());
            }
            Self::F16 => {
                // A piece at a time, which the processor widens in registers.
                let mut piece = [f16::ZERO; 64];
                for (row, bytes) in row.chunks_mut(piece.len()).zip(bytes.chunks(2 * piece.len())) {
                    let piece = &mut piece[..row.len()];
                    let halves = bytes.as_chunks().0.iter();
                    piece.iter_mut().zip(halves).for_each(|(x, b)| *x = f16::from_le_bytes(*b));
                    piece.convert_to_f64_slice(row);
                }
            }
            Self::U8(scales) => {
                for ((x, b), [offset, scale]) in row.iter_mut().zip(bytes).zip(scales) {
                    *x = offset + scale * f64::from(*b); //~ row-byte
                }
            }
        }
    }
}
