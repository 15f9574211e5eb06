//! Documents in which words follow each other.

use lamina_segment::bits::DocSet;
use lamina_segment::segment::{SegmentReader, Sequence};
use lamina_text::id::{DocId, FieldId, TermOrdinal};
use rayon::prelude::*;

/// Larger sets are scanned on all threads, in parts of this many documents.
const SCANNED_ALONE_MAX: usize = 1024;

/// The documents of `docs` in which `words` follow each other in a field accepted by `searched`; `None` stands for any
/// one word. Cost: reading the tokens of each document up to the words.
pub fn phrase_among(
    reader: &SegmentReader,
    docs: DocSet,
    words: &[Option<TermOrdinal>],
    searched: impl Fn(FieldId) -> bool + Sync,
) -> DocSet {
    if words.len() < 2 {
        return docs;
    }
    let column = reader.tokens();
    let sequence = Sequence::new(column, words);
    let scan = |docs: &[DocId]| -> Vec<DocId> {
        let mut found = Vec::new();
        for docs in column.fetched(docs, |&doc| Some(doc)) {
            let holding = docs.filter(|&(_, span)| sequence.is_in(&column.doc_at(span), &searched));
            found.extend(holding.map(|(&doc, _)| doc));
        }
        found
    };
    let docs = docs.to_vec();
    if docs.len() <= SCANNED_ALONE_MAX {
        return DocSet::from_sorted(scan(&docs));
    }
    let parts: Vec<Vec<DocId>> = docs.par_chunks(SCANNED_ALONE_MAX).map(scan).collect();
    DocSet::from_sorted(parts.concat())
}
