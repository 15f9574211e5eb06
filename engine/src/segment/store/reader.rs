//! Reads documents of a mapped segment.

use super::compress::decompress;
use super::writer::{BlockHead, document_range, lengths_end};
use crate::bits::kernels::{CACHE_LINE, fetch};
use crate::bits::little_endian::read_u32;
use crate::bits::monotone::Monotone;
use crate::bits::varint::read_varint;
use crate::id::DocId;
use crate::segment::SegmentError;
use crate::segment::error::Damage;
use crate::segment::format::SectionKind;
use crate::storage::OwnedBytes;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use zstd::dict::DecoderDictionary;

/// zstd never packs more than this many bytes into one, up to a block of its own; larger claims are damage.
const RATIO_MAX: usize = 1 << 15;
const ZSTD_BLOCK_BYTES: usize = 128 * 1024;

/// The original JSON of the documents.
pub struct Store {
    file: String,
    /// Tells stores apart in the block cache of a thread.
    identity: u64,
    blocks: OwnedBytes,
    index: OwnedBytes,
    first_docs: Monotone,
    ends: Monotone,
    ends_at: usize,
    dictionaries: Vec<Dictionary>,
}

struct Dictionary {
    bytes: OwnedBytes,
    /// Prepared at first use: tens of kilobytes.
    prepared: OnceLock<Option<DecoderDictionary<'static>>>,
}

/// Lines of a block that are fetched: those of half a kilobyte, which is what most have.
const LINES_PER_FETCH: usize = 8;

/// A larger block is not kept.
const CACHED_BYTES_MAX: usize = 1024 * 1024;

thread_local! {
    /// The block decompressed last, as (store, block) and content: neighbours are often read together.
    static LAST_BLOCK: RefCell<(u64, usize, Vec<u8>)> = const { RefCell::new((0, 0, Vec::new())) };
}

/// Identities start at 1: 0 marks an empty cache.
static NEXT_IDENTITY: AtomicU64 = AtomicU64::new(1);

impl Store {
    pub(crate) fn open(
        file: &str,
        blocks: OwnedBytes,
        index: OwnedBytes,
        dictionaries: &OwnedBytes,
        doc_count: u32,
    ) -> Result<Store, Damage> {
        let first_docs = Monotone::open(&index).ok_or(Damage("the block index is cut"))?;
        let ends_at = first_docs.byte_len();
        let ends = index.get(ends_at..).and_then(Monotone::open).ok_or(Damage("the block index is cut"))?;
        let block_count = first_docs.len().checked_sub(1).ok_or(Damage("the block index is empty"))?;
        let covers = first_docs.get(&index, 0) == 0
            && first_docs.get(&index, block_count) == u64::from(doc_count)
            && ends.len() == block_count + 1
            && ends.get(&index[ends_at..], block_count) == blocks.len() as u64;
        if !covers {
            return Err(Damage("the block index does not cover the documents"));
        }
        let dictionaries = open_dictionaries(dictionaries).ok_or(Damage("the dictionaries are cut"))?;
        let identity = NEXT_IDENTITY.fetch_add(1, Ordering::Relaxed);
        Ok(Store { file: file.to_owned(), identity, blocks, index, first_docs, ends, ends_at, dictionaries })
    }

    fn damaged(&self, what: &'static str) -> SegmentError {
        Damage(what).at(&self.file, SectionKind::Store.name())
    }

    /// Number of blocks.
    pub(super) fn block_count(&self) -> usize {
        self.first_docs.len() - 1
    }

    /// Documents of a block.
    pub(super) fn block_docs(&self, block: usize) -> Range<DocId> {
        let first = self.first_docs.get(&self.index, block) as DocId;
        first..self.first_docs.get(&self.index, block + 1) as DocId
    }

    /// Head and frame of a block.
    pub(super) fn block(&self, block: usize) -> Result<(BlockHead, &[u8]), SegmentError> {
        let ends = self.index.get(self.ends_at..).unwrap_or_default();
        let (start, end) = (self.ends.get(ends, block) as usize, self.ends.get(ends, block + 1) as usize);
        let bytes = self.blocks.as_slice().get(start..end);
        bytes.and_then(BlockHead::read).ok_or_else(|| self.damaged("a block lies outside of the section"))
    }

    /// The block that holds a document.
    pub(super) fn block_of(&self, doc: DocId) -> Option<usize> {
        let after = self.first_docs.partition_point(&self.index, |first| first <= u64::from(doc));
        after.checked_sub(1).filter(|&block| block < self.block_count())
    }

    /// Bytes of the dictionary with this number, from 1.
    pub(super) fn dictionary_bytes(&self, number: u8) -> Option<&[u8]> {
        self.dictionaries.get(usize::from(number).checked_sub(1)?).map(|dictionary| dictionary.bytes.as_slice())
    }

    fn decompress(&self, block: usize, out: &mut Vec<u8>) -> Result<(), SegmentError> {
        let (head, frame) = self.block(block)?;
        let dictionary = match head.dictionary {
            0 => None,
            number => {
                let dictionary = self.dictionaries.get(usize::from(number) - 1);
                let prepared = dictionary.and_then(|dictionary| {
                    dictionary.prepared.get_or_init(|| DecoderDictionary::try_copy(&dictionary.bytes).ok()).as_ref()
                });
                Some(prepared.ok_or_else(|| self.damaged("a block names a dictionary that is not there"))?)
            }
        };
        let limit = frame.len().saturating_mul(RATIO_MAX).saturating_add(ZSTD_BLOCK_BYTES);
        let raw_bytes = head.raw_bytes().filter(|&length| length <= limit);
        let raw_bytes = raw_bytes.ok_or_else(|| self.damaged("a block has an impossible length"))?;
        decompress(frame, raw_bytes, dictionary, out).map_err(|_| self.damaged("a block does not decompress"))?;
        if out.len() == raw_bytes { Ok(()) } else { Err(self.damaged("a block is shorter than it says")) }
    }

    /// Calls `f` with the raw content of the block that holds `doc`, and the documents of the block.
    fn with_block<T>(
        &self,
        doc: DocId,
        f: impl FnOnce(&[u8], Range<DocId>) -> Result<T, SegmentError>,
    ) -> Result<T, SegmentError> {
        let block = self.block_of(doc).ok_or_else(|| self.damaged("there is no such document"))?;
        LAST_BLOCK.with_borrow_mut(|(identity, last, raw)| {
            if (*identity, *last) != (self.identity, block) {
                // Nothing is cached while the buffer changes.
                *identity = 0;
                self.decompress(block, raw)?;
                (*identity, *last) = (self.identity, block);
            }
            let answer = f(raw, self.block_docs(block));
            if raw.capacity() > CACHED_BYTES_MAX {
                // One huge document must not stay with every thread that ever read it.
                *identity = 0;
                *raw = Vec::new();
            }
            answer
        })
    }

    /// Has the beginning of the block that holds `doc` brought from memory: what is read next need not wait for it.
    pub fn fetch(&self, doc: DocId) {
        let Some(block) = self.block_of(doc) else { return };
        let start = self.ends.get(self.index.get(self.ends_at..).unwrap_or_default(), block) as usize;
        for line in (start..).step_by(CACHE_LINE).take(LINES_PER_FETCH) {
            self.blocks.get(line..).into_iter().for_each(fetch);
        }
    }

    /// Replaces `out` by the JSON object of a document (one line, no newline). Decompresses one block of a few KB.
    pub fn get(&self, doc: DocId, out: &mut Vec<u8>) -> Result<(), SegmentError> {
        out.clear();
        self.with_block(doc, |raw, docs| {
            let range = document_range(raw, docs.len(), (doc - docs.start) as usize);
            let range = range.ok_or_else(|| self.damaged("the documents of a block are cut"))?;
            out.extend_from_slice(&raw[range]);
            Ok(())
        })
    }

    /// Calls `f` with each document of the range in order; each block is decompressed once.
    pub fn for_each(
        &self,
        docs: Range<DocId>,
        mut f: impl FnMut(DocId, &[u8]) -> Result<(), SegmentError>,
    ) -> Result<(), SegmentError> {
        let cut = || self.damaged("the documents of a block are cut");
        let mut raw = Vec::new();
        let mut next = docs.start;
        while next < docs.end {
            let block = self.block_of(next).ok_or_else(|| self.damaged("there is no such document"))?;
            self.decompress(block, &mut raw)?;
            let in_block = self.block_docs(block);
            if !in_block.contains(&next) {
                return Err(self.damaged("the block index contradicts itself"));
            }
            let (mut lengths_at, mut start) = (0, lengths_end(&raw, in_block.len()).ok_or_else(cut)?);
            for doc in in_block {
                let length = read_varint(&raw, &mut lengths_at).ok_or_else(cut)? as usize;
                let end = start.checked_add(length).ok_or_else(cut)?;
                if docs.contains(&doc) {
                    f(doc, raw.get(start..end).ok_or_else(cut)?)?;
                    next = doc + 1;
                }
                start = end;
            }
        }
        Ok(())
    }

    /// The compression dictionary that new segments of the same index should start from.
    pub fn dictionary(&self) -> Option<&[u8]> {
        self.dictionary_bytes(1)
    }

    /// Decompresses every block.
    pub(crate) fn validate(&self) -> Result<(), SegmentError> {
        let mut raw = Vec::new();
        for block in 0..self.block_count() {
            self.decompress(block, &mut raw)?;
            let docs = self.block_docs(block).len();
            let last = docs.checked_sub(1).and_then(|last| document_range(&raw, docs, last));
            if last.is_none_or(|range| range.end != raw.len()) {
                return Err(self.damaged("the documents of a block are cut"));
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({} blocks, {} dictionaries)", self.block_count(), self.dictionaries.len())
    }
}

fn open_dictionaries(bytes: &OwnedBytes) -> Option<Vec<Dictionary>> {
    let count = usize::from(*bytes.first()?);
    let mut at = 1 + 4 * count;
    (0..count)
        .map(|index| {
            let end = at.checked_add(read_u32(bytes, 1 + 4 * index)? as usize)?;
            let dictionary = Dictionary { bytes: bytes.slice(at..end)?, prepared: OnceLock::new() };
            at = end;
            Some(dictionary)
        })
        .collect()
}
