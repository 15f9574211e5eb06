//! Documents in which words follow each other.

use crate::bits::DocSet;
use crate::id::{DocId, FieldId, GAP, TermOrdinal};
use crate::segment::SegmentReader;

/// Keeps the documents of `docs` in which `words` follow each other in a field accepted by `searched`; `None` stands
/// for any one word. Cost: one scan of the token column per document.
pub fn retain_phrase(
    reader: &SegmentReader,
    docs: &mut DocSet,
    words: &[Option<TermOrdinal>],
    searched: impl Fn(FieldId) -> bool,
) {
    if words.len() < 2 {
        return;
    }
    let mut run = Vec::new();
    docs.retain(|doc: DocId| {
        reader.tokens().doc(doc).fields().any(|(field, tokens)| {
            if tokens.len() < words.len() || !searched(field) {
                return false;
            }
            run.clear();
            tokens.decode(&mut run);
            run.windows(words.len()).any(|window| {
                window.iter().zip(words).all(|(&have, &want)| match want {
                    Some(want) => have == want,
                    None => have != GAP,
                })
            })
        })
    });
}
