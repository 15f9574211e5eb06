//! Keys that are texts: an fst from key to document, behind a Bloom filter. Nearly all lookups of an upsert are for keys that
//! this segment does not have, and the filter answers those with one load of 64 bytes instead of a walk through the fst.
//!
//! A key sets `PROBES` bits of one line: the line is chosen by the high half of the key's 64-bit xxh3 hash, the bits by
//! nine-bit pieces of the low half.
//!
//! The fst crate trusts its bytes, so the checksum of that section is compared when the segment is opened.

use super::super::SegmentError;
use super::super::error::Damage;
use super::super::format::{SectionKind, SectionWriter};
use crate::storage::OwnedBytes;
use fst::Streamer;
use fst::raw::Fst;
use lamina_text::id::DocId;
use xxhash_rust::xxh3::xxh3_64;

const LINE_BYTES: usize = 64;
const LINE_BITS: u64 = 512;
/// Twelve bits per key and five probes in one line: about one lookup in a hundred passes wrongly.
const BITS_PER_KEY: usize = 12;
const PROBES: usize = 5;

/// The primary keys of a segment, as texts.
pub(super) struct TextKeys {
    fst: Fst<OwnedBytes>,
    filter: OwnedBytes,
}

/// Line and bits of a key in a filter of `lines` lines.
fn probes(key: &[u8], lines: usize) -> (usize, impl Iterator<Item = usize>) {
    let hash = xxh3_64(key);
    let line = (((hash >> 32) * lines as u64) >> 32) as usize;
    // Five pieces of nine bits need 45: the low half is stretched by a multiplication.
    let pieces = (hash as u32 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (line, (0..PROBES).map(move |i| (pieces >> (64 - 9 * (i + 1)) & (LINE_BITS - 1)) as usize))
}

impl TextKeys {
    pub(super) fn open(fst: OwnedBytes, filter: OwnedBytes, doc_count: u32) -> Result<TextKeys, Damage> {
        let fst = Fst::new(fst).map_err(|_| Damage("the fst has no valid frame"))?;
        if fst.len() != doc_count as usize {
            return Err(Damage("the number of keys is not the number of documents"));
        }
        if filter.len() != filter_lines(fst.len()) * LINE_BYTES {
            return Err(Damage("the filter has not the size for its keys"));
        }
        Ok(TextKeys { fst, filter })
    }

    /// Reports whether the key may exist. A negative answer is certain.
    #[inline]
    fn may_contain(&self, key: &[u8]) -> bool {
        let (line, mut bits) = probes(key, self.filter.len() / LINE_BYTES);
        let Some(line) = self.filter.as_slice().get(line * LINE_BYTES..(line + 1) * LINE_BYTES) else { return true };
        bits.all(|bit| line[bit / 8] >> (bit % 8) & 1 == 1)
    }

    /// The document with this key. An absent key costs one load, nearly always.
    pub(super) fn get(&self, key: &[u8]) -> Option<DocId> {
        if !self.may_contain(key) {
            return None;
        }
        self.fst.get(key).map(|doc| doc.value() as DocId)
    }

    /// Calls `f` with each key and its document, in byte order of the keys.
    pub(super) fn for_each(&self, mut f: impl FnMut(&[u8], DocId)) {
        let mut stream = self.stream();
        while let Some((key, doc)) = stream.next() {
            f(key, doc.value() as DocId);
        }
    }

    pub(super) fn stream(&self) -> fst::raw::Stream<'_> {
        self.fst.stream()
    }

    /// Checks that each document has exactly one key and passes the filter.
    pub(super) fn validate(&self, doc_count: u32) -> Result<(), Damage> {
        let mut seen = vec![false; doc_count as usize];
        let mut valid = true;
        self.for_each(|key, doc| {
            let slot = seen.get_mut(doc as usize);
            valid &= self.may_contain(key) && slot.is_some_and(|seen| !std::mem::replace(seen, true));
        });
        if valid && seen.iter().all(|&seen| seen) {
            Ok(())
        } else {
            Err(Damage("keys and documents are not one to one"))
        }
    }
}

fn filter_lines(key_count: usize) -> usize {
    (key_count * BITS_PER_KEY).div_ceil(LINE_BITS as usize).max(1)
}

/// Builds both sections from keys in strictly ascending byte order.
pub(super) struct TextKeysBuilder {
    fst: fst::raw::Builder<Vec<u8>>,
    filter: Vec<u8>,
}

impl TextKeysBuilder {
    pub(super) fn new(key_count: usize) -> TextKeysBuilder {
        TextKeysBuilder { fst: fst::raw::Builder::memory(), filter: vec![0; filter_lines(key_count) * LINE_BYTES] }
    }

    pub(super) fn push(&mut self, key: &[u8], doc: DocId) -> Result<(), SegmentError> {
        let inserted = self.fst.insert(key, u64::from(doc));
        inserted.map_err(|_| SegmentError::DuplicateKey { key: String::from_utf8_lossy(key).into_owned() })?;
        let (line, bits) = probes(key, self.filter.len() / LINE_BYTES);
        for bit in bits {
            self.filter[line * LINE_BYTES + bit / 8] |= 1 << (bit % 8);
        }
        Ok(())
    }

    fn finish(self) -> (Vec<u8>, Vec<u8>) {
        (self.fst.into_inner().expect("writing to memory does not fail"), self.filter)
    }

    /// Writes both sections.
    pub(super) fn write(self, file: &mut SectionWriter) -> Result<(), SegmentError> {
        let (fst, filter) = self.finish();
        file.section(SectionKind::Keys, 0, &fst)?;
        file.section(SectionKind::KeyFilter, 0, &filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn build(keys: &std::collections::BTreeSet<String>) -> TextKeys {
        let mut builder = TextKeysBuilder::new(keys.len());
        let count = keys.len() as u32;
        keys.iter().enumerate().for_each(|(i, key)| builder.push(key.as_bytes(), count - 1 - i as u32).unwrap());
        let (fst, filter) = builder.finish();
        let keys = TextKeys::open(OwnedBytes::from(fst), OwnedBytes::from(filter), count).unwrap();
        keys.validate(count).unwrap();
        keys
    }

    proptest! {
        #[test]
        fn keys_are_found(keys in prop::collection::btree_set("[a-zA-Z0-9_-]{1,12}", 1..200)) {
            let found = build(&keys);
            for (i, key) in keys.iter().enumerate() {
                prop_assert_eq!(found.get(key.as_bytes()), Some((keys.len() - 1 - i) as u32));
                let longer = format!("{key}.");
                prop_assert_eq!(found.get(longer.as_bytes()), None);
            }
        }
    }

    #[test]
    fn the_filter_stops_absent_keys() {
        let keys = (0..20_000).map(|i| i.to_string()).collect();
        let found = build(&keys);
        let passed = (20_000..120_000).filter(|i| found.may_contain(i.to_string().as_bytes())).count();
        assert!(passed < 3_000, "{passed} of 100000 absent keys pass the filter");
    }
}
