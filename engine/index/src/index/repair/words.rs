//! The words of a document, to be compared with those that were indexed of it.

use std::collections::BTreeMap;

use lamina_segment::document::{FieldMap, Shape};
use lamina_segment::segment::{Terms, TokenColumn};
use lamina_text::id::{DocId, FIRST_TERM, FieldId, GAP, Gap};
use lamina_text::text::WORD_BYTES_MAX;

use super::super::settings::{Settings, has_text};
use super::super::transaction::DocumentTarget;

/// Documents with fewer tokens in a field have all their words indexed.
const TOKENS_CUT_MIN: usize = (1 << 16) / 8;

/// Gathers the words of one document by field.
#[derive(Debug, Default)]
pub(super) struct Words(BTreeMap<FieldId, Vec<Option<Box<str>>>>);

impl Words {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Reports whether the words equal those of `doc` in the token column, in the fields that the settings search.
    pub(super) fn are_those_of(
        &self,
        doc: DocId,
        terms: &Terms,
        tokens: &TokenColumn,
        settings: &Settings,
        fields: &FieldMap,
    ) -> bool {
        let fields = fields.snapshot();
        let (mut ordinals, mut seen) = (Vec::new(), 0);
        for (field, run) in tokens.doc(doc).fields() {
            let is_searched = |name: &str| has_text(name) && settings.searchable_attributes.selects(name);
            if !fields.name(field).is_some_and(is_searched) {
                continue;
            }
            seen += 1;
            ordinals.clear();
            run.decode(&mut ordinals);
            ordinals.retain(|&ordinal| ordinal != GAP);
            let Some(words) = self.0.get(&field) else { return false };
            let is_cut = ordinals.len() >= TOKENS_CUT_MIN && words.len() > ordinals.len();
            let same = ordinals.iter().zip(words).all(|(&ordinal, word)| match word {
                None => ordinal < FIRST_TERM,
                Some(word) => *terms.term(ordinal) == *word.as_bytes(),
            });
            if !same || (words.len() != ordinals.len() && !is_cut) {
                return false;
            }
        }
        seen == self.0.len()
    }
}

impl DocumentTarget for Words {
    fn word(&mut self, field: FieldId, word: &str, _gap: Gap) {
        let word = (word.len() <= WORD_BYTES_MAX).then(|| word.into());
        self.0.entry(field).or_default().push(word);
    }

    fn next_value(&mut self, _field: FieldId) {}

    fn column_number(&mut self, _field: FieldId, _value: f64) {}

    fn column_string(&mut self, _field: FieldId, _normalised: &str, _original: &str) {}

    fn column_inexact(&mut self, _field: FieldId) {}

    fn column_null(&mut self, _field: FieldId) {}

    fn column_empty(&mut self, _field: FieldId) {}

    fn column_exists(&mut self, _field: FieldId) {}

    fn geo(&mut self, _lat: f64, _lng: f64) {}

    fn shape(&mut self, _shape: Shape) {}
}
