//! Budget of bytes for lists of word pairs.
//!
//! Near pairs and followers would fill any room: there are more pairs and cells than documents to spare. So each kind has
//! the same room, which no other kind takes from it, and within a kind the lists come first that spare most for their size.

use crate::segment::ListThresholds;

/// Bytes of the lists of one kind that are written, for each document of the segment.
const BYTES_PER_DOC: usize = 2;

/// The room for the lists of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Bytes of the lists that are open while documents are written.
    pub(super) open_bytes: usize,
    /// Bytes that are written in the end.
    pub(super) bytes: usize,
}

impl Budget {
    /// `doc_count`: of the segment.
    pub(super) fn new(doc_count: u32, thresholds: &ListThresholds) -> Budget {
        let doc_count = doc_count as usize;
        Budget { open_bytes: thresholds.open_bytes_per_doc * doc_count, bytes: BYTES_PER_DOC * doc_count }
    }
}

/// Returns the cost of a list for each document that it saves from being read: those that contain its words but are not
/// in it. The cheapest lists are written first. `holding`: number of documents that contain its words.
pub(super) fn price(list_bytes: usize, holding: u32, listed: u32) -> u64 {
    let spared = holding.saturating_sub(listed).max(1);
    ((list_bytes as u64) << u32::BITS) / u64::from(spared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_spare_more_for_their_size_are_cheaper() {
        assert!(price(10, 1000, 10) < price(20, 1000, 10));
        assert!(price(10, 1000, 10) < price(10, 500, 10));
        assert_eq!(price(3, 10, 20), price(3, 10, 9), "a list spares one document at least");
        assert_eq!(Budget::new(100, &ListThresholds::default()).bytes, 200);
    }
}
