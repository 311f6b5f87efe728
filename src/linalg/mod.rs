pub(crate) mod cholesky;
pub(crate) mod eigen;
pub(crate) mod elementary;
