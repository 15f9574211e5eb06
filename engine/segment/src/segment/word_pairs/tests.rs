//! Builders of small segments' word pairs, and the worked examples of `segment-format.md`.

use std::collections::BTreeMap;

use lamina_text::id::{DocId, FIRST_TERM, GAP, TermOrdinal};

use super::builder::WordPairsBuilder;
use super::cells::{Cells, CountedTerm};
use super::stored::StoredWordPairs;
use crate::bits::first_bytes;
use crate::segment::ListThresholds;
use crate::segment::format::SectionKind;
use crate::storage::OwnedBytes;

/// Terms from ordinal 2 on, with their numbers of documents. They make three cells, which begin with `a` (2), `jim` (5) and
/// `job` (6).
pub(super) const TERMS: [(&str, u32); 6] = [("a", 8), ("arm", 1), ("jam", 1), ("jim", 160), ("job", 1), ("joe", 1)];
pub(super) const TERM_DOCS: u32 = 10_240;
pub(super) const CELL_STARTS: [TermOrdinal; 3] = [2, 5, 6];
pub(super) const ORDINALS: u32 = FIRST_TERM + TERMS.len() as u32;

pub(super) fn cells(terms: &[(&str, u32)], doc_count: u32) -> Cells {
    let counted = |&(term, doc_freq): &(&str, u32)| CountedTerm { first_bytes: first_bytes(term.as_bytes()), doc_freq };
    Cells::new(terms.iter().map(counted), doc_count)
}

/// Words that all documents hold.
pub(super) fn everywhere(words: impl IntoIterator<Item = TermOrdinal>, doc_count: u32) -> Vec<(TermOrdinal, u32)> {
    words.into_iter().map(|word| (word, doc_count)).collect()
}

/// Creates a builder for frequent words below 10 that all documents contain, without followers.
pub(super) fn builder(words: &[TermOrdinal], doc_count: u32) -> WordPairsBuilder {
    let words = everywhere(words.iter().copied(), doc_count);
    WordPairsBuilder::of(words, Cells::default(), doc_count, 10, &ListThresholds::SMALL)
}

/// With the cells of [`TERMS`].
pub(super) fn followers_builder(words: &[TermOrdinal], doc_count: u32) -> WordPairsBuilder {
    let (words, cells) = (everywhere(words.iter().copied(), doc_count), cells(&TERMS, TERM_DOCS));
    WordPairsBuilder::of(words, cells, doc_count, ORDINALS, &ListThresholds::SMALL)
}

pub(super) fn sections(builder: WordPairsBuilder) -> BTreeMap<SectionKind, OwnedBytes> {
    builder.finish().into_iter().map(|(kind, bytes)| (kind, OwnedBytes::from(bytes))).collect()
}

pub(super) fn opened_sections(sections: &BTreeMap<SectionKind, OwnedBytes>, doc_count: u32) -> StoredWordPairs {
    StoredWordPairs::open(|kind| sections.get(&kind).cloned(), doc_count).expect("what was written is read")
}

/// Opens the sections that a builder writes.
pub(super) fn opened(builder: WordPairsBuilder, doc_count: u32) -> StoredWordPairs {
    opened_sections(&sections(builder), doc_count)
}

fn filled(
    words: &[TermOrdinal],
    doc_count: u32,
    docs: impl IntoIterator<Item = (DocId, Vec<Vec<TermOrdinal>>)>,
) -> WordPairsBuilder {
    let mut builder = builder(words, doc_count);
    docs.into_iter().for_each(|(doc, runs)| runs.iter().for_each(|run| builder.push(doc, run)));
    builder
}

/// The neighbours of some documents.
pub(super) fn built(
    words: &[TermOrdinal],
    doc_count: u32,
    docs: impl IntoIterator<Item = (DocId, Vec<Vec<TermOrdinal>>)>,
) -> StoredWordPairs {
    opened(filled(words, doc_count, docs), doc_count)
}

/// Creates a builder with the pairs of 100 documents.
pub(super) fn pairs_builder() -> WordPairsBuilder {
    let mut builder = builder(&[3, 5], 100);
    builder.push(7, &[5, 3, 2, 3, 3]);
    builder.push(9, &[5, 3]);
    (12..100).for_each(|doc| builder.push(doc, &[3, 3]));
    builder
}

const MANY: u32 = 6000;

fn triples_builder() -> WordPairsBuilder {
    let docs = (0..600).map(|doc| match doc {
        20 | 30 => (doc, vec![vec![5, 3], vec![3, 5]]),
        _ => (doc, vec![vec![5, 3, 5]]),
    });
    filled(&[3, 5], MANY, docs)
}

/// Documents that have 5 and 3 with a word between, and one in which a gap is between them.
fn near_builder() -> WordPairsBuilder {
    let docs = (0..300).map(|doc| match doc {
        7 => (doc, vec![vec![5, GAP, 3]]),
        _ => (doc, vec![vec![if doc % 2 == 0 { 5 } else { 4 }, 2, 3]]),
    });
    filled(&[3, 5], MANY, docs)
}

pub(super) fn with_triples() -> StoredWordPairs {
    opened(triples_builder(), MANY)
}

pub(super) fn with_near_pairs() -> StoredWordPairs {
    opened(near_builder(), MANY)
}

/// The section of the worked example of a kind.
pub(crate) fn example(kind: SectionKind) -> OwnedBytes {
    let builder = match kind {
        SectionKind::Pairs => pairs_builder(),
        SectionKind::Triples => triples_builder(),
        SectionKind::NearPairs => near_builder(),
        SectionKind::Followers => {
            let mut builder = followers_builder(&[2, 4], 100);
            builder.push(7, &[4, 5, 2, GAP, 2, 3]);
            builder.push(9, &[4, 5]);
            (20..60).for_each(|doc| builder.push(doc, &[2, 7]));
            builder
        }
        other => panic!("{other:?} are no word_pairs"),
    };
    sections(builder).remove(&kind).expect("the example has a list")
}
