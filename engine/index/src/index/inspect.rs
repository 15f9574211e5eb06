//! What an index holds of one word or one document, for people who look into it.

use lamina_text::id::{DocId, FIRST_TERM, FieldId, GAP, InternalId, SegmentId, TermOrdinal};

use super::error::IndexError;
use super::snapshot::Snapshot;

/// A word in one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermReport {
    pub segment: SegmentId,
    pub ordinal: TermOrdinal,
    /// Documents that hold it, deleted ones included.
    pub doc_freq: u32,
    /// The first of them.
    pub postings: Vec<PostingReport>,
}

/// A word in one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostingReport {
    pub doc: DocId,
    pub deleted: bool,
    /// Names of the fields that hold the word.
    pub fields: Vec<String>,
}

/// A document, as stored and as indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentReport {
    pub segment: SegmentId,
    pub doc: DocId,
    pub internal_id: InternalId,
    /// The JSON object, one line.
    pub json: Vec<u8>,
    /// Per text field: its name and its words in reading order.
    pub fields: Vec<(String, Vec<TokenReport>)>,
}

/// One step of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenReport {
    Word(String),
    /// A word that is too long to be indexed.
    Hole,
    /// A hard separator, or the start of the next value.
    Gap,
}

impl Snapshot {
    /// The postings of a normalised word: per segment that has it, the first `posting_count_max` documents.
    pub fn inspect_term(&self, word: &str, posting_count_max: usize) -> Vec<TermReport> {
        let reports = self.segments.iter().filter_map(|segment| {
            let reader = &segment.reader;
            let ordinal = reader.terms().ordinal(word.as_bytes())?;
            let mut postings = Vec::new();
            reader.postings().for_each(ordinal, |doc, code| {
                if postings.len() < posting_count_max {
                    let fields = reader.postings().field_sets().fields(code);
                    let fields = fields.iter().map(|&field| self.field_name(field)).collect();
                    postings.push(PostingReport { doc, deleted: !segment.is_live(doc), fields });
                }
            });
            let doc_freq = reader.postings().doc_freq(ordinal);
            Some(TermReport { segment: segment.id(), ordinal, doc_freq, postings })
        });
        reports.collect()
    }

    /// The document with this primary key, with the words that are indexed of it.
    ///
    /// # Errors
    /// [`IndexError::Segment`] when the stored bytes are damaged.
    pub fn inspect_document(&self, key: &str) -> Result<Option<DocumentReport>, IndexError> {
        let Some(address) = self.find(key) else { return Ok(None) };
        let segment = &self.segments[address.segment as usize];
        let reader = &segment.reader;
        let token = |ordinal: TermOrdinal| match ordinal {
            GAP => TokenReport::Gap,
            ordinal if ordinal < FIRST_TERM => TokenReport::Hole,
            ordinal => TokenReport::Word(String::from_utf8_lossy(&reader.terms().term(ordinal)).into_owned()),
        };
        let fields = reader.tokens().doc(address.doc).fields().map(|(field, run)| {
            let mut ordinals = Vec::new();
            run.decode(&mut ordinals);
            (self.field_name(field), ordinals.into_iter().map(token).collect())
        });
        Ok(Some(DocumentReport {
            segment: segment.id(),
            doc: address.doc,
            internal_id: reader.internal_id(address.doc),
            json: self.document(address)?,
            fields: fields.collect(),
        }))
    }

    /// The name of a field, for people.
    pub(super) fn field_name(&self, field: FieldId) -> String {
        self.fields.name(field).map_or_else(|| format!("field {field}"), str::to_owned)
    }
}
