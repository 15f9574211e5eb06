//! Finds the words of the query in the tokens of documents.

use lamina_segment::segment::TokensOfDoc;
use lamina_text::id::{FieldId, TermOrdinal};

use crate::query::options::QueryOptions;
use crate::rank::matcher::{Matcher, Occurrences};

/// Finds the words of the query in documents of one segment.
pub(super) struct DocumentScanner<'a> {
    matcher: &'a Matcher,
    options: &'a QueryOptions,
    fields: Vec<(FieldId, u32)>,
    tokens: Vec<TermOrdinal>,
    found: Occurrences,
}

impl<'a> DocumentScanner<'a> {
    pub(super) fn new(matcher: &'a Matcher, options: &'a QueryOptions) -> DocumentScanner<'a> {
        DocumentScanner { matcher, options, fields: Vec::new(), tokens: Vec::new(), found: Occurrences::default() }
    }

    /// Finds the words of the query in a document.
    pub(super) fn scan(&mut self, doc: &TokensOfDoc<'_>) -> &Occurrences {
        doc.decode(&mut self.fields, &mut self.tokens);
        let (matcher, found) = (self.matcher, &mut self.found);
        matcher.begin(found);
        let mut start = 0;
        for &(field, end) in &self.fields {
            let run = &self.tokens[start..end as usize];
            start = end as usize;
            if self.options.is_searchable(field) {
                let others = [self.options.typos_reach(field), self.options.forms_reach(field)];
                matcher.field(field, run, others, found);
            }
        }
        matcher.finish(found);
        &self.found
    }
}
