//! Tiles that are lent one after the other.

use super::Tile;

/// Tiles, each with its companion, such as its responses: an [`Iterator`] whose tile may lie in memory that the next one
/// overwrites. Every iterator of pairs is one.
pub(crate) trait LentTiles<'a, W> {
    /// The next tile.
    fn next_tile<'b>(&'b mut self) -> Option<(Tile<'b>, W)>
    where
        'a: 'b;
}

impl<'a, W, I: Iterator<Item = (Tile<'a>, W)>> LentTiles<'a, W> for I {
    #[inline]
    fn next_tile<'b>(&'b mut self) -> Option<(Tile<'b>, W)>
    where
        'a: 'b,
    {
        self.next()
    }
}
