//! The documents of terms, and of the other forms of a word.

use std::sync::Arc;

use super::candidates::SegmentQuery;
use crate::bits::DocSet;
use crate::caches::FormDocs;
use crate::id::TermOrdinal;

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

    /// The documents of the forms of a word and those that hold it in several of them; `None` without other forms. Kept
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
        let docs = self.forms_docs(forms);
        let holding = |form: &TermOrdinal| u64::from(self.reader().postings().doc_freq(*form));
        let (mut seen, mut several) = (exact.map_or_else(DocSet::empty, |word| self.term_docs(word)), DocSet::empty());
        // Where no document is in two lists, there is nothing to look for.
        let is_disjoint = forms.iter().map(holding).sum::<u64>() == u64::from(docs.len());
        if is_disjoint {
            several = seen.and(&docs);
        } else {
            for &form in forms {
                let holding = self.forms_docs(&[form]);
                several.or_assign(&seen.and(&holding));
                seen.or_assign(&holding);
            }
        }
        FormDocs { docs: docs.shrunk(), several: several.shrunk() }
    }
}
