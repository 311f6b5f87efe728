//! Private numerics: elementary functions on slices, the three products of a dense layer on
//! [tiles](crate::tile), Cholesky factors, singular values, assignments, and metrics that belong to
//! one point.
//!
//! All of it is written once in plain loops and compiled several times, see [`simd`].

// Kernels index arrays of fixed length side by side; zipped iterators would hide the lanes.
#![allow(clippy::needless_range_loop)]

#[macro_use]
pub(crate) mod simd;

pub(crate) mod assignment;
pub(crate) mod cholesky;
pub(crate) mod elementary;
pub(crate) mod local_metric;
pub(crate) mod svd;
pub(crate) mod tile_product;
pub(crate) mod wide_product;
