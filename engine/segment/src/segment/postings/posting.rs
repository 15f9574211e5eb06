//! A posting while segments are written.

use lamina_text::id::DocId;

use super::ZONE_BITS;

/// One document of a term, or of all terms of a prefix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting {
    pub doc: DocId,
    pub mark: Mark,
}

/// Fields and zone of one document in a register: the zone in the lowest bits, then the code of the fields. (A table of field
/// sets that leaves no room for the zone fits in no memory.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(pub(super) u32);

impl Mark {
    pub(super) const NONE: Mark = Mark(u32::MAX);

    #[inline]
    pub(crate) fn new(code: u32, zone: u8) -> Mark {
        Mark(code << ZONE_BITS | u32::from(zone))
    }

    #[inline]
    pub(crate) fn code(self) -> u32 {
        self.0 >> ZONE_BITS
    }

    #[inline]
    pub(crate) fn zone(self) -> u8 {
        (self.0 & ((1 << ZONE_BITS) - 1)) as u8
    }
}
