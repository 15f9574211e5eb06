//! The deleted documents of one segment.

use std::sync::{Arc, OnceLock};

use lamina_segment::bits::DocSet;
use lamina_segment::bits::little_endian::read_u32;
use lamina_segment::segment::{FieldLengths, FileMeta, SegmentReader};
use lamina_text::id::DocId;
use roaring::RoaringBitmap;

use super::files::FileGuard;

/// Documents of a segment that are deleted. Made anew by each commit that adds to them; the segment itself never
/// changes.
#[derive(Debug, Default)]
pub struct Tombstones {
    bitmap: RoaringBitmap,
    /// The same documents in the form queries and merges work on, made when first asked for.
    set: OnceLock<DocSet>,
    /// Total length of each field over the deleted documents, computed on first use.
    field_lengths: OnceLock<FieldLengths>,
    /// File that stores the tombstones, unless they are in the manifest itself.
    file: OnceLock<TombstoneFile>,
}

#[derive(Debug)]
pub(super) struct TombstoneFile {
    pub(super) meta: FileMeta,
    pub(super) guard: Arc<FileGuard>,
}

impl Tombstones {
    pub(super) fn new(bitmap: RoaringBitmap) -> Tombstones {
        Tombstones { bitmap, set: OnceLock::new(), field_lengths: OnceLock::new(), file: OnceLock::new() }
    }

    /// Number of deleted documents.
    pub fn len(&self) -> u32 {
        // A segment holds at most `u32::MAX` documents.
        u32::try_from(self.bitmap.len()).unwrap_or(u32::MAX)
    }

    pub fn is_empty(&self) -> bool {
        self.bitmap.is_empty()
    }

    pub fn contains(&self, doc: DocId) -> bool {
        self.bitmap.contains(doc)
    }

    /// The deleted documents as a set.
    pub fn as_set(&self) -> &DocSet {
        self.set.get_or_init(|| self.bitmap.iter().collect::<DocSet>())
    }

    /// Returns the total length of each field over the deleted documents. `reader`: their segment.
    pub(super) fn field_lengths(&self, reader: &SegmentReader) -> &FieldLengths {
        self.field_lengths.get_or_init(|| FieldLengths::of(reader.tokens(), self.bitmap.iter()))
    }

    pub(super) fn bitmap(&self) -> &RoaringBitmap {
        &self.bitmap
    }

    pub(super) fn file(&self) -> Option<&TombstoneFile> {
        self.file.get()
    }

    pub(super) fn set_file(&self, file: TombstoneFile) {
        let unset = self.file.set(file).is_ok();
        debug_assert!(unset, "tombstones are written once");
    }

    pub(super) fn serialized_bytes(&self) -> usize {
        self.bitmap.serialized_size()
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.serialized_bytes());
        self.bitmap.serialize_into(&mut bytes).expect("writing to memory does not fail");
        bytes
    }

    /// `None` when the bytes are damaged or name a document that the segment does not have.
    pub(super) fn from_bytes(bytes: &[u8], doc_count: u32) -> Option<Tombstones> {
        // A run of 65,536 documents takes a few bytes, and 8 KB of memory.
        if container_count(bytes)? > u64::from(doc_count).div_ceil(1 << 16) {
            return None;
        }
        let bitmap = RoaringBitmap::deserialize_from(bytes).ok()?;
        if bitmap.max().is_some_and(|last| last >= doc_count) {
            return None;
        }
        Some(Tombstones::new(bitmap))
    }
}

/// Returns the number of sets of 65,536 documents that a serialised bitmap says it has.
fn container_count(bytes: &[u8]) -> Option<u64> {
    const WITHOUT_RUNS: u32 = 12346;
    match read_u32(bytes, 0)? {
        WITHOUT_RUNS => read_u32(bytes, 4).map(u64::from),
        with_runs => Some(u64::from(with_runs >> 16) + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_back_and_damage_is_noticed() {
        let tombstones = Tombstones::new([1, 5, 70_000].into_iter().collect());
        let bytes = tombstones.to_bytes();
        let read = Tombstones::from_bytes(&bytes, 70_001).expect("whole");
        assert_eq!(read.as_set().to_vec(), [1, 5, 70_000]);
        assert_eq!(read.len(), 3);
        assert!(read.contains(5));
        assert!(!read.contains(6));
        assert!(Tombstones::from_bytes(&bytes, 70_000).is_none());
        assert!(Tombstones::from_bytes(&bytes[..bytes.len() - 1], 70_001).is_none());
        let none = Tombstones::new(RoaringBitmap::new()).to_bytes();
        assert!(Tombstones::from_bytes(&none, 1).is_some_and(|none| none.is_empty()));
        let mut runs: RoaringBitmap = (0..200_000).collect();
        runs.optimize();
        let bytes = Tombstones::new(runs).to_bytes();
        assert!(bytes.len() < 100, "{}", bytes.len());
        assert_eq!(Tombstones::from_bytes(&bytes, 200_000).map(|read| read.len()), Some(200_000));
        assert!(Tombstones::from_bytes(&bytes, 190_000).is_none());
        assert_eq!(container_count(&bytes), Some(4));
        assert!(Tombstones::from_bytes(&bytes, 65_536).is_none());
    }
}
