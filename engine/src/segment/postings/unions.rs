//! Unions of crowded prefixes, computed when the segment is written.
//!
//! While somebody types, the first letters match thousands of terms whose lists hold most of the documents. Joining them
//! takes longer than the rest of the query. For the prefixes of one to three characters that would be the dearest to
//! join, the union is stored: as a posting list without field sets, in a share of the segment that is bounded by bytes
//! per document.
//!
//! The layout is in `segment-format.md`.
//! Entries are in byte order of the prefixes.

use super::list::{List, put_list};
use crate::bits::DocSet;
use crate::bits::varint::{put_varint, read_varint};
use crate::id::DocId;
use crate::storage::OwnedBytes;

/// Unions are kept for prefixes of up to this many characters.
const PREFIX_CHARS_MAX: usize = 3;
/// A union is kept when joining would touch more than this many postings and terms (a term weighs 16).
const COST_MIN: u64 = 50_000;
const TERM_COST: u64 = 16;
/// All unions together take at most this many bytes per document.
const BYTES_PER_DOC_MAX: u64 = 6;

/// Collects the unions while terms are written in order: at any time there is one open prefix per length.
pub(crate) struct UnionsBuilder {
    doc_count: u32,
    open: Vec<OpenPrefix>,
    /// Closed prefixes, for their buffers.
    spare: Vec<OpenPrefix>,
    done: Vec<Union>,
    done_bytes: u64,
}

/// A prefix whose terms are being written. Its documents are a list with repeats until it proves to be crowded: most
/// prefixes never do, and then nothing but a few copies was spent on them.
#[derive(Default)]
struct OpenPrefix {
    prefix: Vec<u8>,
    cost: u64,
    list: Vec<DocId>,
    words: Vec<u64>,
}

impl OpenPrefix {
    fn push(&mut self, docs: &[DocId], doc_count: u32) {
        let was_crowded = self.cost >= COST_MIN;
        self.cost += docs.len() as u64 + TERM_COST;
        if self.cost < COST_MIN {
            return self.list.extend_from_slice(docs);
        }
        if !was_crowded {
            self.words.clear();
            self.words.resize((doc_count as usize).div_ceil(64), 0);
            set_bits(&mut self.words, &self.list);
        }
        set_bits(&mut self.words, docs);
    }
}

fn set_bits(words: &mut [u64], docs: &[DocId]) {
    for &doc in docs {
        words[doc as usize / 64] |= 1 << (doc % 64);
    }
}

struct Union {
    prefix: Vec<u8>,
    cost: u64,
    doc_freq: u32,
    list: Vec<u8>,
}

impl UnionsBuilder {
    pub(super) fn new(doc_count: u32) -> UnionsBuilder {
        UnionsBuilder { doc_count, open: Vec::new(), spare: Vec::new(), done: Vec::new(), done_bytes: 0 }
    }

    pub(super) fn push(&mut self, term: &[u8], docs: &[DocId]) {
        // With few documents even joining everything is cheap.
        if u64::from(self.doc_count) * 8 < COST_MIN {
            return;
        }
        let same = self.open.iter().take_while(|open| term.starts_with(&open.prefix)).count();
        self.close_from(same);
        let mut ends = char_ends(term).skip(same);
        while self.open.len() < PREFIX_CHARS_MAX {
            let Some(end) = ends.next() else { break };
            let mut open = self.spare.pop().unwrap_or_default();
            open.prefix.clear();
            open.prefix.extend_from_slice(&term[..end]);
            open.cost = 0;
            open.list.clear();
            self.open.push(open);
        }
        for open in &mut self.open {
            open.push(docs, self.doc_count);
        }
    }

    fn close_from(&mut self, from: usize) {
        for open in self.open.drain(from..) {
            if open.cost >= COST_MIN {
                let docs = bits_to_docs(&open.words);
                let codes = vec![0; docs.len()];
                let mut list = Vec::new();
                put_list(&mut list, &docs, &codes, self.doc_count);
                let (prefix, cost) = (open.prefix.clone(), open.cost);
                self.done_bytes += list.len() as u64;
                self.done.push(Union { prefix, cost, doc_freq: docs.len() as u32, list });
            }
            self.spare.push(open);
        }
        // Memory is bounded all the time, not only what is written in the end.
        if self.done_bytes > 4 * self.bytes_max() {
            self.keep_best();
        }
    }

    fn bytes_max(&self) -> u64 {
        u64::from(self.doc_count) * BYTES_PER_DOC_MAX
    }

    /// Drops the unions that save the least work per byte.
    fn keep_best(&mut self) {
        self.done.sort_by(|a, b| {
            let gain = |union: &Union| union.cost / (union.list.len() as u64 + 1);
            gain(b).cmp(&gain(a)).then_with(|| a.prefix.cmp(&b.prefix))
        });
        let mut left = self.bytes_max();
        self.done.retain(|union| {
            let bytes = union.list.len() as u64;
            let keep = bytes <= left;
            left -= if keep { bytes } else { 0 };
            keep
        });
        self.done_bytes = self.bytes_max() - left;
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.close_from(0);
        self.keep_best();
        self.done.sort_by(|a, b| a.prefix.cmp(&b.prefix));
        let mut section = Vec::new();
        put_varint(&mut section, self.done.len() as u64);
        let mut offset = 0;
        for union in &self.done {
            section.push(union.prefix.len() as u8);
            section.extend_from_slice(&union.prefix);
            put_varint(&mut section, u64::from(union.doc_freq));
            put_varint(&mut section, offset);
            offset += union.list.len() as u64;
        }
        self.done.iter().for_each(|union| section.extend_from_slice(&union.list));
        section
    }
}

fn bits_to_docs(words: &[u64]) -> Vec<DocId> {
    DocSet::from_words(words.to_vec()).to_vec()
}

/// Where the characters of `term` end. Terms are UTF-8; for anything else each byte counts.
fn char_ends(term: &[u8]) -> impl Iterator<Item = usize> + '_ {
    (1..=term.len()).filter(|&end| term.get(end).is_none_or(|&next| next & 0xc0 != 0x80))
}

/// The stored unions: a few hundred entries on the heap, the lists in the file.
pub(super) struct Unions {
    bytes: OwnedBytes,
    lists_at: usize,
    entries: Vec<(Box<[u8]>, u32, usize)>,
    doc_count: u32,
}

impl Unions {
    pub(super) fn open(bytes: OwnedBytes, doc_count: u32) -> Option<Unions> {
        let mut at = 0;
        let count = read_varint(&bytes, &mut at)?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let len = usize::from(*bytes.get(at)?);
            let prefix = bytes.get(at + 1..at + 1 + len)?.into();
            at += 1 + len;
            let doc_freq = u32::try_from(read_varint(&bytes, &mut at)?).ok()?;
            let offset = usize::try_from(read_varint(&bytes, &mut at)?).ok()?;
            if doc_freq == 0 || doc_freq > doc_count {
                return None;
            }
            entries.push((prefix, doc_freq, offset));
        }
        entries.is_sorted_by(|a, b| a.0 < b.0).then_some(Unions { bytes, lists_at: at, entries, doc_count })
    }

    fn list(&self, index: usize) -> List<'_> {
        let (_, doc_freq, offset) = self.entries[index];
        let bytes = self.lists_at.checked_add(offset).and_then(|at| self.bytes.get(at..)).unwrap_or_default();
        List::new(bytes, doc_freq, self.doc_count)
    }

    pub(super) fn get(&self, prefix: &[u8]) -> Option<List<'_>> {
        let index = self.entries.binary_search_by(|entry| entry.0.as_ref().cmp(prefix)).ok()?;
        Some(self.list(index))
    }

    pub(super) fn prefixes(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().map(|entry| &*entry.0)
    }

    pub(super) fn is_valid(&self) -> bool {
        (0..self.entries.len()).all(|index| self.list(index).is_valid(1))
    }
}
