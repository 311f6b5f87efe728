//! Surrogate targets, which stand in for others.

use serde::{Serialize, Serializer};

use super::Target;
use crate::Error;
use crate::rng::ChainRng;

/// The fingerprint by which a [checkpoint](crate::draws::checkpoint) tells a surrogate from another
/// one: its description and its density at a few random points.
pub(crate) fn fingerprint<S: Target, Z: Serializer>(
    surrogate: &S,
    serializer: Z,
) -> Result<Z::Ok, Z::Error> {
    let (mut ws, mut q) = (surrogate.workspace(), vec![0.0; surrogate.dim()]);
    let densities = [0, 1, 2].map(|stream| {
        // Within the support; the digits that are kept are the same on another processor.
        surrogate.draw_start(&mut ChainRng::new(0, stream), &mut q).unwrap_or(());
        format!("{:.6e}", surrogate.log_density(&q, &mut ws).total())
    });
    (surrogate.approximation(), densities).serialize(serializer)
}

/// An error unless both have the same coordinates.
pub(crate) fn check_coordinates(
    surrogate: &impl Target,
    target: &impl Target,
) -> Result<(), Error> {
    let (own, expected) = (surrogate.layout(), target.layout());
    if own == expected {
        return Ok(());
    }
    let found = format!("of {} coordinates in blocks {:?}", own.dim(), own.block_names());
    let (dim, blocks) = (expected.dim(), expected.block_names());
    Err(Error::argument("surrogate", found, format!("of the target's {dim} in blocks {blocks:?}")))
}
