//! What writers did to segments while these were written anew.

use roaring::RoaringBitmap;

use super::snapshot::{SegmentView, Snapshot};

/// The sources as they are now, or `None` when one is gone or has other columns.
pub(super) fn current_views<'a>(now: &'a Snapshot, sources: &[SegmentView]) -> Option<Vec<&'a SegmentView>> {
    sources
        .iter()
        .map(|source| now.segments.iter().find(|segment| segment.reader.is_same_but_for_patches(&source.reader)))
        .collect()
}

pub(super) fn deleted_since(before: &SegmentView, now: &SegmentView) -> RoaringBitmap {
    match (&before.deleted, &now.deleted) {
        (_, None) => RoaringBitmap::new(),
        (None, Some(now)) => now.bitmap().clone(),
        (Some(before), Some(now)) => now.bitmap() - before.bitmap(),
    }
}
