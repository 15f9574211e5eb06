//! The documents of terms, and of the other forms of a word.

use std::sync::Arc;

use lamina_index::caches::FormDocs;
use lamina_segment::bits::DocSet;
use lamina_text::id::TermOrdinal;

use super::candidates::SegmentQuery;

/// Lists with more than one entry for this many documents of the segment are many.
const DENSE_SHARE: u64 = 64;

impl SegmentQuery<'_> {
    /// Documents of any of some terms, in the searched fields.
    pub(crate) fn words_docs(&self, ordinals: &[TermOrdinal]) -> DocSet {
        self.union(ordinals.iter().copied(), self.searched.as_deref())
    }

    /// Documents of one term in the searched fields.
    pub(crate) fn term_docs(&self, ordinal: TermOrdinal) -> DocSet {
        self.union(std::iter::once(ordinal), self.searched.as_deref())
    }

    /// Documents of some misspelt forms, in the searched fields that typos reach.
    pub(crate) fn misspelt_docs(&self, ordinals: &[TermOrdinal]) -> DocSet {
        self.union(ordinals.iter().copied(), self.searched_typos.as_deref())
    }

    /// Documents of any of some forms of a word, in the searched fields where forms count.
    pub(crate) fn forms_docs(&self, ordinals: &[TermOrdinal]) -> DocSet {
        self.union(ordinals.iter().copied(), self.searched_forms.as_deref())
    }

    /// The documents of the other forms of a word and those that hold it in several forms; `None` without other forms. Kept
    /// beside the segment where all fields count: forms are many lists, and the same words are asked for again.
    pub(crate) fn docs_of_forms(&self, node: usize) -> Option<Arc<FormDocs>> {
        let expansion = &self.expansions()[node];
        if expansion.forms.is_empty() {
            return None;
        }
        let find = || self.find_docs_of_forms(expansion.exact, &expansion.forms);
        if self.searched_forms.is_some() {
            return Some(Arc::new(find()));
        }
        let key = expansion.exact.into_iter().chain(expansion.forms.iter().copied()).collect();
        Some(self.caches().form_docs.get_or_find(key, find))
    }

    fn find_docs_of_forms(&self, exact: Option<TermOrdinal>, forms: &[TermOrdinal]) -> FormDocs {
        let (exact, doc_count) =
            (exact.map_or_else(DocSet::empty, |word| self.term_docs(word)), self.reader().doc_count());
        let holding = |form: &TermOrdinal| u64::from(self.reader().postings().doc_freq(*form));
        let entries = forms.iter().map(holding).sum::<u64>() + u64::from(exact.len());
        // Many lists are added up in a bitset sooner than merged one by one.
        let is_dense = entries * DENSE_SHARE > u64::from(doc_count);
        let mut seen = if is_dense { exact.clone().into_bitset(doc_count) } else { exact.clone() };
        let mut several = DocSet::empty();
        for &form in forms {
            let holding = self.forms_docs(&[form]);
            several.or_assign(&seen.and(&holding));
            seen.or_assign(&holding);
        }
        FormDocs { others: seen.and_not(&exact).shrunk(), several: several.shrunk() }
    }
}
