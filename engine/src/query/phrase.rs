//! Documents in which words follow each other.

use rayon::prelude::*;

use crate::bits::DocSet;
use crate::id::{DocId, FieldId, GAP, TermOrdinal};
use crate::segment::SegmentReader;

/// Documents whose tokens are fetched together.
const DOCS_PER_FETCH: usize = 16;
/// Larger sets are scanned on all threads, in parts of this many documents.
const SCANNED_ALONE_MAX: usize = 4096;

/// The documents of `docs` in which `words` follow each other in a field accepted by `searched`; `None` stands for any
/// one word. Cost: one scan of the token column per document.
pub fn phrase_among(
    reader: &SegmentReader,
    docs: DocSet,
    words: &[Option<TermOrdinal>],
    searched: impl Fn(FieldId) -> bool + Sync,
) -> DocSet {
    if words.len() < 2 {
        return docs;
    }
    let scan = |docs: &[DocId]| -> Vec<DocId> {
        let (mut fields, mut tokens) = (Vec::new(), Vec::new());
        let mut holds = |doc: DocId| {
            reader.tokens().doc(doc).decode(&mut fields, &mut tokens);
            if !may_hold(&tokens, words) {
                return false;
            }
            let mut start = 0;
            fields.iter().any(|&(field, end)| {
                let run = &tokens[start..end as usize];
                start = end as usize;
                run.len() >= words.len() && searched(field) && holds_sequence(run, words)
            })
        };
        let mut found = Vec::new();
        for docs in docs.chunks(DOCS_PER_FETCH) {
            reader.tokens().fetch(docs);
            found.extend(docs.iter().copied().filter(|&doc| holds(doc)));
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

/// Whether two words of the sequence that follow each other do so anywhere. Without a branch per token, so that many
/// tokens are compared at once.
fn may_hold(tokens: &[TermOrdinal], words: &[Option<TermOrdinal>]) -> bool {
    let next = tokens.get(1..).unwrap_or_default();
    words.windows(2).all(|pair| match *pair {
        [Some(first), Some(second)] => {
            tokens.iter().zip(next).fold(false, |found, (&a, &b)| found | ((a == first) & (b == second)))
        }
        _ => true,
    })
}

fn holds_sequence(run: &[TermOrdinal], words: &[Option<TermOrdinal>]) -> bool {
    run.windows(words.len()).any(|window| {
        window.iter().zip(words).all(|(&have, &want)| match want {
            Some(want) => have == want,
            None => have != GAP,
        })
    })
}
