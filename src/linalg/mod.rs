//! Private linear algebra: Cholesky factors, eigenvalues, singular values, assignments, and
//! metrics that belong to one point.

pub(crate) mod assignment;
pub(crate) mod cholesky;
pub(crate) mod dot;
pub(crate) mod eigen;
pub(crate) mod geometric_mean;
pub(crate) mod local_metric;
pub(crate) mod svd;
mod upper;
mod vectors;
