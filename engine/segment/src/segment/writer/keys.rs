//! The primary keys of a segment that is being written.

use crate::bits::first_bytes;
use crate::segment::SegmentError;
use crate::segment::format::SectionWriter;
use crate::segment::keys::{NumberedKeys, SortedKeys};

/// Keys by number of arrival, one after the other.
#[derive(Debug, Default)]
pub(super) struct DocumentKeys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl DocumentKeys {
    pub(super) fn push(&mut self, key: &str) {
        self.bytes.extend_from_slice(key.as_bytes());
        self.ends.push(self.bytes.len());
    }

    /// Adds those of other documents.
    pub(super) fn absorb(&mut self, other: &DocumentKeys) {
        let first = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| end + first));
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    fn get(&self, doc: u32) -> &[u8] {
        let start = doc.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.bytes[start..self.ends[doc as usize]]
    }

    /// Writes the sections. `order` gives the documents in their final order.
    pub(super) fn finish(&self, file: &mut SectionWriter, order: &[u32]) -> Result<(), SegmentError> {
        let key = |doc: u32| self.get(order[doc as usize]);
        let mut numbers = NumberedKeys::with_capacity(order.len());
        if (0..order.len() as u32).all(|doc| numbers.push_text(key(doc), doc)) {
            return numbers.write(file);
        }
        drop(numbers);
        // Most keys differ in their first bytes.
        let mut docs: Vec<(u64, u32)> = (0..order.len() as u32).map(|doc| (first_bytes(key(doc)), doc)).collect();
        docs.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1))));
        let mut keys = SortedKeys::new(docs.len());
        for (_, doc) in docs {
            keys.push(key(doc), doc)?;
        }
        keys.write(file)
    }
}
