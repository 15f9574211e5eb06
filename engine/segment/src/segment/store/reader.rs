//! Reads documents of a mapped segment.

use lamina_text::id::DocId;

use super::block::{document_range, lengths_end};
use super::pieces::Pieces;
use super::prepared::{Prepared, decode, unpack};
use super::writer::{self, BlockHead, block_sum};
use crate::bits::kernels::{CACHE_LINE, fetch};
use crate::bits::little_endian::read_u32;
use crate::bits::monotone::Monotone;
use crate::bits::varint::read_varint;
use crate::segment::error::Damage;
use crate::segment::format::SectionKind;
use crate::segment::{Patches, SegmentError};
use crate::storage::OwnedBytes;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// zstd never packs more than this many bytes into one, up to a block of its own; larger claims are damage.
const RATIO_MAX: usize = 1 << 15;
const ZSTD_BLOCK_BYTES: usize = 128 * 1024;

/// The original JSON of the documents.
#[derive(Clone)]
pub struct Store {
    file: Arc<str>,
    /// Distinguishes stores in the block cache of a thread.
    identity: u64,
    blocks: OwnedBytes,
    index: OwnedBytes,
    first_docs: Monotone,
    ends: Monotone,
    ends_at: usize,
    /// Offset of the checksums of the blocks in the index.
    sums_at: usize,
    dictionaries: Arc<[Dictionary]>,
    no_pieces: Pieces,
    block_bytes_max: Arc<OnceLock<usize>>,
    /// Values that documents received since they were written.
    patches: Option<Arc<Patches>>,
}

struct Dictionary {
    bytes: OwnedBytes,
    pieces: Pieces,
    /// Prepared at first use: some hundred kilobytes.
    prepared: OnceLock<Option<Prepared>>,
}

/// Lines of a block that are fetched: those of half a kilobyte, which is what most have.
const LINES_PER_FETCH: usize = 8;

/// A larger block is not kept.
const CACHED_BYTES_MAX: usize = 1024 * 1024;

thread_local! {
    static LAST_BLOCK: RefCell<LastBlock> = const { RefCell::new(LastBlock::NONE) };
}

/// The block that a thread decompressed last: neighbours are often read together.
struct LastBlock {
    /// Identity; 0: none.
    store: u64,
    block: usize,
    head: BlockHead,
    raw: Vec<u8>,
}

impl LastBlock {
    const NONE: LastBlock = LastBlock { store: 0, block: 0, head: BlockHead::NONE, raw: Vec::new() };
}

/// Identities start at 1: 0 marks an empty cache.
static NEXT_IDENTITY: AtomicU64 = AtomicU64::new(1);

/// Sections of a store in its file.
pub struct StoreSections<'a> {
    pub blocks: OwnedBytes,
    pub index: OwnedBytes,
    pub(crate) dictionaries: &'a OwnedBytes,
    pub pieces: Option<&'a OwnedBytes>,
}

impl Store {
    /// `file`: its name, for messages.
    pub fn open(file: &str, sections: StoreSections<'_>, doc_count: u32) -> Result<Store, Damage> {
        let StoreSections { blocks, index, dictionaries, pieces } = sections;
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
        let sums_at = ends_at + ends.byte_len();
        if index.len() != sums_at + 4 * block_count {
            return Err(Damage("the checksums are not those of the blocks"));
        }
        let mut dictionaries = open_dictionaries(dictionaries).ok_or(Damage("the dictionaries are cut"))?;
        if let Some(section) = pieces {
            let mut at = 0;
            for dictionary in &mut dictionaries {
                dictionary.pieces = Pieces::read(section, &mut at).ok_or(Damage("the pieces are cut"))?;
            }
            if at != section.len() {
                return Err(Damage("there are more pieces than dictionaries"));
            }
        }
        let identity = NEXT_IDENTITY.fetch_add(1, Ordering::Relaxed);
        Ok(Store {
            file: file.into(),
            identity,
            blocks,
            index,
            first_docs,
            ends,
            ends_at,
            sums_at,
            dictionaries: dictionaries.into(),
            no_pieces: Pieces::default(),
            block_bytes_max: Arc::default(),
            patches: None,
        })
    }

    /// The same documents, with what they got since.
    pub fn with_patches(&self, patches: &Arc<Patches>) -> Store {
        Store { patches: Some(Arc::clone(patches)), ..self.clone() }
    }

    /// Reports whether a document of the range received any value since it was written.
    pub(super) fn is_patched(&self, docs: &Range<DocId>) -> bool {
        self.patches.as_ref().is_some_and(|patches| patches.touch(docs))
    }

    fn patch(&self, doc: DocId, json: &mut Vec<u8>) -> Result<(), SegmentError> {
        let Some(patches) = &self.patches else { return Ok(()) };
        patches.apply(doc, json).map_err(|_| self.damaged("a document is no JSON object"))
    }

    /// By how much documents may be longer than their blocks say.
    fn extra_bytes(&self) -> usize {
        self.patches.as_ref().map_or(0, |patches| patches.extra_bytes_max())
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

    /// Head and frame of a block. Every reader of documents comes through here, so none sees bytes that differ from their
    /// checksum.
    pub(super) fn block(&self, block: usize) -> Result<(BlockHead, &[u8]), SegmentError> {
        let ends = self.index.get(self.ends_at..).unwrap_or_default();
        let (start, end) = (self.ends.get(ends, block) as usize, self.ends.get(ends, block + 1) as usize);
        let bytes = self.blocks.as_slice().get(start..end);
        let bytes = bytes.ok_or_else(|| self.damaged("a block lies outside of the section"))?;
        let expected = read_u32(&self.index, self.sums_at + 4 * block);
        let (expected, found) = (expected.unwrap_or_default(), block_sum(bytes));
        if found != expected {
            let (file, section) = (self.file.to_string(), SectionKind::Store.name());
            return Err(SegmentError::Checksum { file, section, expected, found });
        }
        BlockHead::read(bytes).ok_or_else(|| self.damaged("the head of a block is cut"))
    }

    /// The block that holds a document.
    pub(super) fn block_of(&self, doc: DocId) -> Option<usize> {
        let after = self.first_docs.partition_point(&self.index, |first| first <= u64::from(doc));
        after.checked_sub(1).filter(|&block| block < self.block_count())
    }

    /// A copy of the dictionary with this number, from 1. New segments of the same index should start from the first.
    pub(super) fn dictionary(&self, number: u8) -> Option<writer::Dictionary> {
        let Dictionary { bytes, pieces, .. } = self.dictionaries.get(usize::from(number).checked_sub(1)?)?;
        Some(writer::Dictionary { bytes: bytes.as_slice().into(), pieces: pieces.clone() })
    }

    /// Reports whether documents are packed with a trained dictionary.
    pub(crate) fn has_dictionary(&self) -> bool {
        !self.dictionaries.is_empty()
    }

    /// The pieces of the dictionary with this number, 0 for none.
    fn pieces(&self, dictionary: u8) -> &Pieces {
        let dictionary = usize::from(dictionary).checked_sub(1).and_then(|index| self.dictionaries.get(index));
        dictionary.map_or(&self.no_pieces, |dictionary| &dictionary.pieces)
    }

    /// The dictionary with this number, made ready; `None` for number 0.
    fn prepared(&self, number: u8) -> Result<Option<&Prepared>, SegmentError> {
        let Some(index) = usize::from(number).checked_sub(1) else { return Ok(None) };
        let prepared = self.dictionaries.get(index).and_then(|dictionary| {
            let prepare = || Prepared::new(&dictionary.bytes, &dictionary.pieces);
            dictionary.prepared.get_or_init(prepare).as_ref()
        });
        prepared.map(Some).ok_or_else(|| self.damaged("a block names a dictionary that is not there"))
    }

    /// Replaces `out` by the raw content of a block, given its head and frame: lengths and texts.
    fn decompress(&self, head: BlockHead, frame: &[u8], out: &mut Vec<u8>) -> Result<(), SegmentError> {
        let dictionary = self.prepared(head.dictionary)?;
        let limit = frame.len().saturating_mul(RATIO_MAX).saturating_add(ZSTD_BLOCK_BYTES);
        let bytes_max = head.raw_bytes_max().ok_or_else(|| self.damaged("a block has an impossible length"))?;
        unpack(dictionary, frame, bytes_max.min(limit), out)
            .map_err(|_| self.damaged("a block does not decompress"))?;
        // Where pieces have numbers, or words have codes, the texts are shorter than the documents.
        let may_be_shorter = matches!(dictionary, Some(Prepared::Words(_))) || !self.pieces(head.dictionary).is_empty();
        if out.len() == bytes_max || may_be_shorter {
            Ok(())
        } else {
            Err(self.damaged("a block is shorter than it says"))
        }
    }

    /// Appends the JSON of a text of a block.
    fn decode(&self, head: BlockHead, text: &[u8], out: &mut Vec<u8>) -> Result<(), SegmentError> {
        let (dictionary, pieces) = (self.prepared(head.dictionary)?, self.pieces(head.dictionary));
        let decoded = decode(dictionary, pieces, text, head.json_bytes, out);
        decoded.ok_or_else(|| self.damaged("a document names a piece that is not there, or is too long"))
    }

    /// Calls `f` with the head and the raw content of the block that holds `doc`, and the documents of the block. Calls
    /// `may_read` before, with the bytes of JSON in that block; `None`: it refused.
    fn with_block<T>(
        &self,
        doc: DocId,
        may_read: impl FnOnce(usize) -> bool,
        f: impl FnOnce(BlockHead, &[u8], Range<DocId>) -> Result<T, SegmentError>,
    ) -> Result<Option<T>, SegmentError> {
        let block = self.block_of(doc).ok_or_else(|| self.damaged("there is no such document"))?;
        LAST_BLOCK.with_borrow_mut(|last| {
            if (last.store, last.block) == (self.identity, block) {
                if !may_read(last.head.json_bytes) {
                    return Ok(None);
                }
            } else {
                let (head, frame) = self.block(block)?;
                if !may_read(head.json_bytes) {
                    return Ok(None);
                }
                // Nothing is cached while the buffer changes.
                last.store = 0;
                self.decompress(head, frame, &mut last.raw)?;
                (last.store, last.block, last.head) = (self.identity, block, head);
            }
            let answer = f(last.head, &last.raw, self.block_docs(block));
            if last.raw.capacity() > CACHED_BYTES_MAX {
                // One huge document must not stay with every thread that ever read it.
                last.store = 0;
                last.raw = Vec::new();
            }
            answer.map(Some)
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

    /// The bytes of JSON in a block, by its head.
    fn block_bytes(&self, block: usize) -> Result<usize, SegmentError> {
        let ends = self.index.get(self.ends_at..).unwrap_or_default();
        let (start, end) = (self.ends.get(ends, block) as usize, self.ends.get(ends, block + 1) as usize);
        match self.blocks.as_slice().get(start..end).and_then(BlockHead::read) {
            // A reader of the block compares all of it with its checksum.
            Some((head, _)) if head.json_bytes <= CACHED_BYTES_MAX => Ok(head.json_bytes),
            // Damage must not be taken for size.
            _ => Ok(self.block(block)?.0.json_bytes),
        }
    }

    /// The bytes of JSON in the block that holds a document, which is at least as many as it has: a document of more than a
    /// few KB has a block of its own. Reads the head of the block.
    pub fn block_bytes_of(&self, doc: DocId) -> Result<usize, SegmentError> {
        let block = self.block_of(doc).ok_or_else(|| self.damaged("there is no such document"))?;
        Ok(self.block_bytes(block)? + self.extra_bytes())
    }

    /// Compares the block that holds a document with its checksum, and decompresses nothing.
    ///
    /// # Errors
    /// [`SegmentError::Checksum`], or what contradicts the format.
    pub fn check(&self, doc: DocId) -> Result<(), SegmentError> {
        let block = self.block_of(doc).ok_or_else(|| self.damaged("there is no such document"))?;
        self.block(block).map(drop)
    }

    /// The most bytes of JSON that a block has: no document has more. Reads the head of each block the first time.
    pub fn block_bytes_max(&self) -> Result<usize, SegmentError> {
        if let Some(known) = self.block_bytes_max.get() {
            return Ok(*known + self.extra_bytes());
        }
        let mut most = 0;
        for block in 0..self.block_count() {
            most = most.max(self.block_bytes(block)?);
        }
        Ok(*self.block_bytes_max.get_or_init(|| most) + self.extra_bytes())
    }

    /// Replaces `out` by the JSON object of a document (one line, no newline). Decompresses one block of a few KB.
    pub fn get(&self, doc: DocId, out: &mut Vec<u8>) -> Result<(), SegmentError> {
        self.get_if(doc, |_| true, out).map(drop)
    }

    /// Works like [`Store::get`], if `may_read` accepts the size of the JSON in the block that contains the document.
    /// That size is at least that of the document, and reading takes two buffers of it. Returns whether the document
    /// was read.
    pub fn get_if(
        &self,
        doc: DocId,
        may_read: impl FnOnce(usize) -> bool,
        out: &mut Vec<u8>,
    ) -> Result<bool, SegmentError> {
        out.clear();
        let extra = self.extra_bytes();
        let read = self.with_block(
            doc,
            |bytes| may_read(bytes + extra),
            |head, raw, docs| {
                let range = document_range(raw, docs.len(), (doc - docs.start) as usize);
                let range = range.ok_or_else(|| self.damaged("the documents of a block are cut"))?;
                self.decode(head, &raw[range], out)?;
                self.patch(doc, out)
            },
        )?;
        Ok(read.is_some())
    }

    /// Calls `f` with each document of the range in order; each block is decompressed once.
    pub fn for_each(
        &self,
        docs: Range<DocId>,
        mut f: impl FnMut(DocId, &[u8]) -> Result<(), SegmentError>,
    ) -> Result<(), SegmentError> {
        let cut = || self.damaged("the documents of a block are cut");
        let (mut raw, mut json) = (Vec::new(), Vec::new());
        let mut next = docs.start;
        while next < docs.end {
            let block = self.block_of(next).ok_or_else(|| self.damaged("there is no such document"))?;
            let (head, frame) = self.block(block)?;
            self.decompress(head, frame, &mut raw)?;
            let in_block = self.block_docs(block);
            if !in_block.contains(&next) {
                return Err(self.damaged("the block index contradicts itself"));
            }
            let (mut lengths_at, mut start) = (0, lengths_end(&raw, in_block.len()).ok_or_else(cut)?);
            for doc in in_block {
                let length = read_varint(&raw, &mut lengths_at).ok_or_else(cut)? as usize;
                let end = start.checked_add(length).ok_or_else(cut)?;
                if docs.contains(&doc) {
                    json.clear();
                    self.decode(head, raw.get(start..end).ok_or_else(cut)?, &mut json)?;
                    self.patch(doc, &mut json)?;
                    f(doc, &json)?;
                    next = doc + 1;
                }
                start = end;
            }
        }
        Ok(())
    }

    /// Decompresses every block and decodes every document.
    pub(crate) fn validate(&self) -> Result<(), SegmentError> {
        let (mut raw, mut json) = (Vec::new(), Vec::new());
        for block in 0..self.block_count() {
            let (head, frame) = self.block(block)?;
            self.decompress(head, frame, &mut raw)?;
            let docs = self.block_docs(block).len();
            let cut = || self.damaged("the documents of a block are cut");
            json.clear();
            let (mut lengths_at, mut start) = (0, lengths_end(&raw, docs).ok_or_else(cut)?);
            for _ in 0..docs {
                let length = read_varint(&raw, &mut lengths_at).ok_or_else(cut)?;
                let end = start.checked_add(length as usize).ok_or_else(cut)?;
                self.decode(head, raw.get(start..end).ok_or_else(cut)?, &mut json)?;
                start = end;
            }
            if start != raw.len() || json.len() != head.json_bytes {
                return Err(cut());
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
            let dictionary =
                Dictionary { bytes: bytes.slice(at..end)?, pieces: Pieces::default(), prepared: OnceLock::new() };
            at = end;
            Some(dictionary)
        })
        .collect()
}
