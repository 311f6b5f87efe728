//! The response: the observations, one for each row.

use std::fmt;

use ndarray::{Array1, Array2, Axis, CowArray, Ix2, concatenate, stack};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The response of a [`Dataset`](super::Dataset): the observations, one for each row.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Response {
    /// Real numbers, `[rows x outputs]`.
    Real(Array2<f64>),
    /// One class for each row.
    Classes {
        /// The class of each row, counted from 0: a position in `names`.
        index: Vec<usize>,
        /// The names of all classes, also of those that no row belongs to.
        names: Vec<String>,
    },
    /// Counts, whole numbers from 0 on, stored as `f64`. One column `[rows x 1]`: how often something
    /// happened, without an upper limit. Two or more columns `[rows x categories]`: how many of the
    /// trials of a row fell into each category; binomial data have the columns successes and
    /// failures.
    Counts(Array2<f64>),
    /// One number for each row, such as a time, that is known exactly or to lie between bounds.
    Censored {
        /// The lower bound: -inf of a number that is left-censored.
        lower: Array1<f64>,
        /// The upper bound: inf of a number that is right-censored. Where both bounds are equal, the number was
        /// observed.
        upper: Array1<f64>,
    },
}

impl Response {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Real(y) | Self::Counts(y) => y.nrows(),
            Self::Classes { index, .. } => index.len(),
            Self::Censored { lower, .. } => lower.len(),
        }
    }

    /// The number of outputs, of classes or of categories.
    pub fn width(&self) -> usize {
        match self {
            Self::Real(y) | Self::Counts(y) => y.ncols(),
            Self::Classes { names, .. } => names.len(),
            Self::Censored { .. } => 1,
        }
    }

    /// The real responses `[rows x outputs]`, if they are real.
    pub fn real(&self) -> Option<&Array2<f64>> {
        if let Self::Real(y) = self { Some(y) } else { None }
    }

    /// The class of each row, if the response is a class.
    pub fn classes(&self) -> Option<&[usize]> {
        if let Self::Classes { index, .. } = self { Some(index) } else { None }
    }

    /// The names of the classes, if the response is a class.
    pub fn class_names(&self) -> Option<&[String]> {
        if let Self::Classes { names, .. } = self { Some(names) } else { None }
    }

    /// The counts `[rows x 1]` or `[rows x categories]`, if the response is counts.
    pub fn counts(&self) -> Option<&Array2<f64>> {
        if let Self::Counts(y) = self { Some(y) } else { None }
    }

    /// The lower and the upper bounds, if the response is numbers with bounds.
    pub fn bounds(&self) -> Option<(&Array1<f64>, &Array1<f64>)> {
        if let Self::Censored { lower, upper } = self { Some((lower, upper)) } else { None }
    }

    /// The number of rows in each class, in the order of the names, if the response is a class.
    pub fn class_sizes(&self) -> Option<Vec<usize>> {
        let Self::Classes { index, names } = self else { return None };
        let mut sizes = vec![0; names.len()];
        index.iter().for_each(|&class| sizes[class] += 1);
        Some(sizes)
    }

    /// These observations, then `more` of the same kind.
    pub(super) fn followed_by(&self, more: &Self) -> Result<Self, Error> {
        let width = |found: usize, expected: usize| match found == expected {
            true => Ok(()),
            false => Err(Error::shape("columns of the response", found, expected)),
        };
        Ok(match (self, more) {
            (Self::Real(y), Self::Real(z)) => {
                width(z.ncols(), y.ncols())?;
                Self::Real(concatenate![Axis(0), *y, *z])
            }
            (Self::Counts(y), Self::Counts(z)) => {
                width(z.ncols(), y.ncols())?;
                Self::Counts(concatenate![Axis(0), *y, *z])
            }
            (Self::Classes { index, names }, Self::Classes { index: more, names: other }) => {
                if names != other {
                    return Err(Error::shape(
                        "names of the classes",
                        other.join(", "),
                        names.join(", "),
                    ));
                }
                Self::Classes { index: [&index[..], more].concat(), names: names.clone() }
            }
            (
                Self::Censored { lower, upper },
                Self::Censored { lower: more_lower, upper: more_upper },
            ) => Self::Censored {
                lower: concatenate![Axis(0), *lower, *more_lower],
                upper: concatenate![Axis(0), *upper, *more_upper],
            },
            _ => {
                let kind = "of the kind of the others: numbers, classes, counts or times";
                return Err(Error::argument("response of the rows", "of another kind", kind));
            }
        })
    }

    /// A response of the same kind for `rows` rows of which nothing is known: 1/2, which is a share and a
    /// time as well, the first class, or one trial each that ended in the first category.
    pub(crate) fn blank(&self, rows: usize) -> Self {
        match self {
            Self::Real(y) => Self::Real(Array2::from_elem((rows, y.ncols()), 0.5)),
            Self::Counts(y) => {
                let one_of = |(_, j): (usize, usize)| f64::from(u8::from(j == 0));
                Self::Counts(Array2::from_shape_fn((rows, y.ncols()), one_of))
            }
            Self::Classes { names, .. } => {
                Self::Classes { index: vec![0; rows], names: names.clone() }
            }
            Self::Censored { .. } => {
                let halves = Array1::from_elem(rows, 0.5);
                Self::Censored { lower: halves.clone(), upper: halves }
            }
        }
    }

    /// A checksum of the numbers, of the order of rows and of the names of classes.
    pub(crate) fn checksum(&self) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        let mut add = |kind: u8, y: &Array2<f64>| {
            crc.update(&[kind]);
            [y.nrows(), y.ncols()].iter().for_each(|n| crc.update(&(*n as u64).to_le_bytes()));
            y.iter().for_each(|y| crc.update(&y.to_le_bytes()));
        };
        match self {
            Self::Real(y) => add(0, y),
            Self::Counts(y) => add(1, y),
            Self::Classes { index, names } => {
                crc.update(&[2]);
                index.iter().for_each(|class| crc.update(&(*class as u64).to_le_bytes()));
                names.iter().for_each(|name| crc.update(name.as_bytes()));
            }
            Self::Censored { lower, upper } => {
                crc.update(&[3]);
                lower.iter().chain(upper).for_each(|y| crc.update(&y.to_le_bytes()));
            }
        }
        crc.finalize()
    }

    /// The numbers in columns, as [`Kind::response`] takes them.
    pub(crate) fn in_columns(&self) -> CowArray<'_, f64, Ix2> {
        match self {
            Self::Real(y) | Self::Counts(y) => y.into(),
            Self::Classes { index, .. } => {
                Array2::from_shape_fn((index.len(), 1), |(i, _)| index[i] as f64).into()
            }
            Self::Censored { lower, upper } => {
                let bounds = stack(Axis(1), &[lower.view(), upper.view()]);
                bounds.expect("bounds of the same rows").into()
            }
        }
    }

    pub(in crate::data) fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Real(y) => Self::Real(y.select(Axis(0), rows)),
            Self::Counts(y) => Self::Counts(y.select(Axis(0), rows)),
            Self::Classes { index, names } => Self::Classes {
                index: rows.iter().map(|&row| index[row]).collect(),
                names: names.clone(),
            },
            Self::Censored { lower, upper } => {
                let [lower, upper] = [lower, upper].map(|y| y.select(Axis(0), rows));
                Self::Censored { lower, upper }
            }
        }
    }
}

/// The kind of a response, with the names of its classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::data) enum Kind {
    Real,
    Counts,
    Classes(Vec<String>),
    Censored,
}

impl Kind {
    pub fn of(response: &Response) -> Self {
        match response {
            Response::Real(_) => Self::Real,
            Response::Counts(_) => Self::Counts,
            Response::Classes { names, .. } => Self::Classes(names.clone()),
            Response::Censored { .. } => Self::Censored,
        }
    }

    /// The columns of a response with so many names.
    pub fn columns(&self, names: usize) -> usize {
        match self {
            Self::Real | Self::Counts => names,
            Self::Classes(_) => 1,
            Self::Censored => 2,
        }
    }

    /// The response of these numbers, which are not checked; `None` if a class is no whole number from 0 on.
    pub fn response(self, columns: Array2<f64>) -> Option<Response> {
        Some(match self {
            Self::Real => Response::Real(columns),
            Self::Counts => Response::Counts(columns),
            Self::Classes(names) => {
                let is_class = |class: &f64| *class >= 0.0 && class.fract() == 0.0;
                if !columns.iter().all(is_class) {
                    return None;
                }
                let index = columns.iter().map(|class| *class as usize).collect();
                Response::Classes { index, names }
            }
            Self::Censored => {
                let [lower, upper] = [0, 1].map(|j| columns.column(j).to_owned());
                Response::Censored { lower, upper }
            }
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Real => f.write_str("real numbers"),
            Self::Counts => f.write_str("counts"),
            Self::Classes(names) => write!(f, "the classes {}", names.join(", ")),
            Self::Censored => f.write_str("numbers with bounds"),
        }
    }
}
