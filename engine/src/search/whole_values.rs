//! Hits of which a field is the query: what people look up by its number or its name.

use hashbrown::HashSet;
use lamina_index::index::{DocumentAddress, Snapshot};
use lamina_segment::segment::SegmentReader;
use lamina_text::id::{GAP, TermOrdinal};
use lamina_text::text::TokenKind;

use super::{Hit, SearchRequest};
use crate::query::QueryOptions;
use crate::query::options::NOT_SEARCHED;

/// Maximum number of documents with a whole-value match. A value that more documents have is not a number or name that
/// identifies them, but a category.
const WHOLE_MAX: usize = 10;

/// The documents of `hits` with a searched field whose words are those of the query, unless they are many. Cost: one look at
/// the tokens of each.
pub(super) fn with_whole_value(
    snapshot: &Snapshot,
    request: &SearchRequest,
    options: &QueryOptions,
    hits: &[Hit],
) -> HashSet<DocumentAddress> {
    let tokenizer = &snapshot.resolved_settings().tokenizer;
    let tokens = tokenizer.tokens(request.query.as_deref().unwrap_or_default(), &request.languages);
    let words: Vec<&str> =
        tokens.iter().filter(|token| token.kind == TokenKind::Word).map(|token| &*token.text).collect();
    let ordinals = |reader: &SegmentReader| -> Option<Vec<TermOrdinal>> {
        words.iter().map(|word| reader.terms().ordinal(word.as_bytes())).collect()
    };
    let by_segment: Vec<Option<Vec<TermOrdinal>>> =
        snapshot.segments.iter().map(|view| ordinals(&view.reader).filter(|words| !words.is_empty())).collect();
    let (mut fields, mut tokens) = (Vec::new(), Vec::new());
    let mut found = HashSet::new();
    for hit in hits {
        let segment = hit.address.segment as usize;
        let Some((view, Some(words))) = snapshot.segments.get(segment).zip(by_segment.get(segment)) else { continue };
        view.reader.tokens().doc(hit.address.doc).decode(&mut fields, &mut tokens);
        let mut start = 0;
        for &(field, end) in &fields {
            let run = tokens.get(start..end as usize).unwrap_or_default();
            start = end as usize;
            let is_whole = || run.iter().filter(|&&token| token != GAP).eq(words);
            if options.weight(field) != NOT_SEARCHED && is_whole() {
                found.insert(hit.address);
            }
        }
        if found.len() > WHOLE_MAX {
            return HashSet::new();
        }
    }
    found
}
