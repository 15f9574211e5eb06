//! When a scan looks at the clock.

use std::time::Instant;

/// Pieces of documents scanned between two looks at the clock.
const PIECES_PER_CLOCK_CHECK: usize = 16;

/// Reports whether the time of a search is up, before piece number `piece` is scanned. It reads the clock only for some
/// of the pieces.
#[inline]
pub(super) fn is_up(deadline: Option<Instant>, piece: usize) -> bool {
    piece.is_multiple_of(PIECES_PER_CLOCK_CHECK) && deadline.is_some_and(|deadline| Instant::now() >= deadline)
}
