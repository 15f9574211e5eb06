//! "I have a document: what does it say, word by word?"

use crate::id::{DocId, FieldId, TermOrdinal};

/// Per document and field the sequence of term ordinals in reading order.
#[derive(Debug)]
pub struct TokenColumn {}

impl TokenColumn {
    /// The tokens of a document.
    pub fn doc(&self, _doc: DocId) -> TokensOfDoc<'_> {
        unimplemented!("tokens")
    }
}

/// The runs of one document, in ascending order of fields. Only fields with at least one token have a run.
#[derive(Clone, Debug)]
pub struct TokensOfDoc<'a> {
    _marker: &'a (),
}

impl<'a> TokensOfDoc<'a> {
    /// Number of fields.
    pub fn field_count(&self) -> usize {
        unimplemented!("tokens")
    }
    /// Number of tokens of all fields.
    pub fn len(&self) -> usize {
        unimplemented!("tokens")
    }
    /// Whether the document has no token.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The runs.
    pub fn fields(&self) -> impl Iterator<Item = (FieldId, Run<'a>)> + use<'a> {
        std::iter::empty()
    }
    /// The run of a field.
    pub fn field(&self, _field: FieldId) -> Option<Run<'a>> {
        unimplemented!("tokens")
    }
    /// Decodes all fields at once: clears both vectors, appends to `tokens` the tokens of all runs and to `fields`
    /// each field with the index in `tokens` at which its run ends. The cheapest way to read a whole document.
    pub fn decode(&self, _fields: &mut Vec<(FieldId, u32)>, _tokens: &mut Vec<TermOrdinal>) {
        unimplemented!("tokens")
    }
}

/// The tokens of one field of one document.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    _marker: &'a (),
}

impl Run<'_> {
    /// Number of tokens, gaps included.
    pub fn len(&self) -> usize {
        unimplemented!("tokens")
    }
    /// Whether there is no token (never, for a run of an undamaged file).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Appends the tokens.
    pub fn decode(&self, _out: &mut Vec<TermOrdinal>) {
        unimplemented!("tokens")
    }
    /// Calls `f` with each token.
    pub fn for_each(&self, _f: impl FnMut(TermOrdinal)) {
        unimplemented!("tokens")
    }
}
