//! How long fields are, for rankings that weigh a word by the length of the field it stands in.

use lamina_text::id::{DocId, FieldId};

use super::TokenColumn;

/// One field over some documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldLength {
    /// Documents that have a token in the field.
    pub docs: u64,
    /// Number of tokens of all documents together, gaps included.
    pub tokens: u64,
}

/// Sums over some documents, by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldLengths(Vec<FieldLength>);

impl FieldLengths {
    /// Sums the field lengths of some documents of a segment. Cost: one look at the token counts of each.
    pub fn of(column: &TokenColumn, docs: impl Iterator<Item = DocId>) -> FieldLengths {
        let mut sums = FieldLengths::default();
        for doc in docs {
            for (field, tokens) in column.doc(doc).lengths() {
                let sum = sums.entry(field);
                sum.docs += 1;
                sum.tokens += tokens as u64;
            }
        }
        sums
    }

    fn entry(&mut self, field: FieldId) -> &mut FieldLength {
        let index = usize::from(field);
        if self.0.len() <= index {
            self.0.resize(index + 1, FieldLength::default());
        }
        &mut self.0[index]
    }

    /// Fields are below this.
    pub fn field_count(&self) -> FieldId {
        // Built from field ids.
        FieldId::try_from(self.0.len()).unwrap_or(FieldId::MAX)
    }

    /// Returns the length of one field.
    pub fn get(&self, field: FieldId) -> FieldLength {
        self.0.get(usize::from(field)).copied().unwrap_or_default()
    }

    /// Adds the sums of other documents.
    pub fn add(&mut self, other: &FieldLengths) {
        for (field, length) in (0..).zip(&other.0) {
            let sum = self.entry(field);
            sum.docs += length.docs;
            sum.tokens += length.tokens;
        }
    }

    /// Takes away the sums of some of the documents.
    pub fn subtract(&mut self, other: &FieldLengths) {
        for (sum, length) in self.0.iter_mut().zip(&other.0) {
            sum.docs = sum.docs.saturating_sub(length.docs);
            sum.tokens = sum.tokens.saturating_sub(length.tokens);
        }
    }
}
