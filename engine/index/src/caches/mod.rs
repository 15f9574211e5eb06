//! What queries found in a segment lately. A segment never changes, so the answers stay right as long as it lives.
//!
//! People type the same words again and again: each key typed asks for the typos and the splits of all words before it
//! once more. The caches stand beside the reader of a segment, which knows nothing of queries.

mod bounded;
mod max_impacts;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use lamina_segment::bits::DocSet;
use lamina_segment::segment::{Column, NearBeginnings, SegmentReader};
use lamina_text::id::TermOrdinal;
use lamina_text::text::Language;

use self::bounded::{BoundedCache, HeapBytes};
use self::max_impacts::MaxImpactCache;
use crate::runtime::Runtime;

/// Documents in which two words follow each other. Finding them takes a scan of the token column of every document that
/// holds both.
pub(crate) type PairCache = BoundedCache<[TermOrdinal; 2], DocSet>;

/// Terms near a word. Finding them takes a walk of the dictionary.
pub(crate) type TypoCache = BoundedCache<TypoKey, TypoTerms>;

/// Documents of frequent words. Finding them takes a pass over their postings.
pub(crate) type WordDocsCache = BoundedCache<WordDocsKey, DocSet>;

/// Ways to read a word as two terms. Finding them takes a walk of the dictionary, and a look-up for each term met.
pub(crate) type CutCache = BoundedCache<Box<str>, Vec<Cut>>;

/// Places in the term dictionary at which the terms begin like a word. Finding them takes a walk of the dictionary.
pub(crate) type BeginningCache = BoundedCache<Box<str>, NearBeginnings>;

/// Documents of which one element passes a filter, by its text. Finding them takes reading them.
pub(crate) type ElementCache = BoundedCache<Box<str>, DocSet>;

/// Columns of what a field has in the elements that pass a filter, by the text of both. Making them takes reading documents.
pub(crate) type ElementValuesCache = BoundedCache<Box<str>, Column>;

/// Terms that share the stem of a word. Finding them takes stemming all that begin like it.
pub(crate) type FormsCache = BoundedCache<FormsKey, Vec<TermOrdinal>>;

/// Documents of the forms of a word, by the word itself, if the segment knows it, and its forms.
pub(crate) type FormDocsCache = BoundedCache<Box<[TermOrdinal]>, FormDocs>;

/// The documents of the forms of a word.
#[derive(Debug)]
pub struct FormDocs {
    /// Documents that hold another form than the word itself, and not the word.
    pub others: DocSet,
    /// Documents that hold two forms or more, the word itself among them.
    pub several: DocSet,
}

/// A word and the language of its stem.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FormsKey {
    pub word: Box<str>,
    pub language: Language,
}

/// A word read as two terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Bytes of the left one.
    pub at: usize,
    pub words: [TermOrdinal; 2],
    /// No more documents have them next to each other.
    pub docs_max: u32,
}

/// The word of a query and how far terms may be from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypoKey {
    pub word: Box<str>,
    /// Terms may go on after the word.
    pub prefix: bool,
    /// Typos, 1 or 2.
    pub budget: u8,
}

/// A word and how many typos its forms have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WordDocsKey {
    pub word: TypoKey,
    /// 0: the word itself, or what begins like it; 1, 2: forms with so many typos.
    pub class: u8,
}

/// Terms by their number of typos: one, two; ascending.
pub type TypoTerms = [Vec<TermOrdinal>; 2];

/// The caches of one segment: eight of at most eight bytes a document each, up to 6 MiB, a byte a document for some
/// rankings, and, where elements are sorted or counted by, two columns of at most 20 bytes a document each, up to 20 MiB.
#[derive(Debug)]
pub struct SegmentCaches {
    pub pairs: PairCache,
    pub cuts: CutCache,
    pub typos: TypoCache,
    pub beginnings: BeginningCache,
    pub word_docs: WordDocsCache,
    pub forms: FormsCache,
    pub elements: ElementCache,
    pub element_values: ElementValuesCache,
    pub form_docs: FormDocsCache,
    /// The language of the texts, once it was asked for; `None` in it when they do not say.
    pub language: OnceLock<Option<Language>>,
    pub max_impacts: MaxImpactCache,
    warm_up_begun: AtomicBool,
    runtime: Arc<Runtime>,
}

/// A segment and what queries found in it.
#[derive(Clone, Copy, Debug)]
pub struct CachedSegment<'a> {
    pub reader: &'a SegmentReader,
    pub caches: &'a SegmentCaches,
}

impl SegmentCaches {
    /// Empty caches of a segment with so many documents. `runtime`: of its index.
    pub fn new(doc_count: u32, runtime: Arc<Runtime>) -> SegmentCaches {
        SegmentCaches {
            pairs: PairCache::new(doc_count),
            cuts: CutCache::new(doc_count),
            typos: TypoCache::new(doc_count),
            beginnings: BeginningCache::new(doc_count),
            word_docs: WordDocsCache::new(doc_count),
            forms: FormsCache::new(doc_count),
            elements: ElementCache::new(doc_count),
            element_values: ElementValuesCache::of_columns(doc_count),
            form_docs: FormDocsCache::new(doc_count),
            language: OnceLock::new(),
            max_impacts: MaxImpactCache::default(),
            warm_up_begun: AtomicBool::new(false),
            runtime,
        }
    }

    /// Reports whether the caller is the first to warm up the caches. Later calls return false.
    pub fn begin_warm_up(&self) -> bool {
        !self.warm_up_begun.swap(true, Ordering::Relaxed)
    }

    /// Reports whether new entries evict older ones from now on.
    pub fn are_full(&self) -> bool {
        self.pairs.is_full() || self.cuts.is_full() || self.typos.is_full() || self.beginnings.is_full()
    }

    /// Returns the resources that searches of this index share with those of other indexes.
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }
}

impl HeapBytes for [TermOrdinal; 2] {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl HeapBytes for TypoKey {
    fn heap_bytes(&self) -> usize {
        self.word.len()
    }
}

impl HeapBytes for WordDocsKey {
    fn heap_bytes(&self) -> usize {
        self.word.heap_bytes()
    }
}

impl HeapBytes for Column {
    fn heap_bytes(&self) -> usize {
        self.bytes_len()
    }
}

impl HeapBytes for FormsKey {
    fn heap_bytes(&self) -> usize {
        self.word.len()
    }
}

impl HeapBytes for Box<[TermOrdinal]> {
    fn heap_bytes(&self) -> usize {
        size_of_val::<[TermOrdinal]>(self)
    }
}

impl HeapBytes for FormDocs {
    fn heap_bytes(&self) -> usize {
        self.others.heap_bytes() + self.several.heap_bytes()
    }
}

impl HeapBytes for Vec<TermOrdinal> {
    fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<TermOrdinal>()
    }
}

impl HeapBytes for Box<str> {
    fn heap_bytes(&self) -> usize {
        self.len()
    }
}

impl HeapBytes for DocSet {
    fn heap_bytes(&self) -> usize {
        DocSet::heap_bytes(self)
    }
}

impl HeapBytes for TypoTerms {
    fn heap_bytes(&self) -> usize {
        self.iter().map(|terms| terms.capacity() * size_of::<TermOrdinal>()).sum()
    }
}

impl HeapBytes for NearBeginnings {
    fn heap_bytes(&self) -> usize {
        NearBeginnings::heap_bytes(self)
    }
}

impl HeapBytes for Vec<Cut> {
    fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<Cut>()
    }
}
