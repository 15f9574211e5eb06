//! The vectors of stored documents, as clients see them, and how many there are.

use std::borrow::Cow;

use lamina_segment::document::{Member, members, split_vectors};
use lamina_segment::segment::{SegmentError, SegmentReader, Vectors};
use lamina_text::id::DocId;

use super::embedding::{PassageTemplate, Passages, texts_hash};
use super::error::IndexError;
use super::settings::VECTORS_FIELD;
use super::snapshot::{DocumentAddress, SegmentView, Snapshot};

/// Number of vectors in an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VectorCounts {
    /// Vectors of live documents.
    pub vectors: u64,
    /// Live documents with at least one.
    pub documents: u64,
}

/// A number of a vector while it is written: in 32 and in 64 bits, and as text.
const NUMBER_BYTES: usize = 48;

/// Ends the name of an embedder where vectors of another size than it makes now are set aside.
const ASIDE: char = '\0';

/// Returns the name of vectors that came with a document for `embedder` and have another size than it makes now: they stay, and take
/// part in no search.
pub(super) fn name_aside(embedder: &str, dimensions: u32) -> String {
    format!("{embedder}{ASIDE}{dimensions}")
}

/// The embedder of vectors that may be set aside.
pub(super) fn embedder_of(name: &str) -> &str {
    name.split_once(ASIDE).map_or(name, |(embedder, _)| embedder)
}

/// Vectors of a document that are set aside for want of their size, where it has no others.
fn aside<'r>(reader: &'r SegmentReader, embedder: &str, doc: DocId) -> Option<&'r Vectors> {
    let has_none = reader.vectors_of(embedder).is_some_and(|vectors| vectors.of(doc).is_empty());
    let is_aside = |vectors: &&Vectors| vectors.name() != embedder && embedder_of(vectors.name()) == embedder;
    let mut others = reader.vectors().iter().filter(is_aside);
    others.find(|vectors| vectors.state(doc).is_present()).filter(|_| has_none)
}

/// Reports whether a document lacks the vectors of an embedder that makes them.
pub(super) fn waits(reader: &SegmentReader, embedder: &str, doc: DocId) -> bool {
    reader.vectors_of(embedder).is_none_or(|vectors| !vectors.state(doc).is_present())
}

impl SegmentView {
    /// Live documents that wait for the vectors of an embedder that makes them. Reads a byte of each document.
    pub(super) fn waiting_count(&self, embedder: &str) -> u64 {
        match self.reader.vectors_of(embedder) {
            None => u64::from(self.live_count()),
            Some(_) => {
                let docs = 0..self.reader.doc_count();
                docs.filter(|doc| self.is_live(*doc) && waits(&self.reader, embedder, *doc)).count() as u64
            }
        }
    }
}

impl Snapshot {
    /// Reports whether documents lack vectors that an embedder has to make.
    pub fn waits_for_vectors(&self) -> bool {
        let mut makers = self.settings.all_embedders().filter(|embedder| !embedder.user_provided);
        makers.any(|embedder| self.segments.iter().any(|segment| segment.waiting_count(&embedder.name) > 0))
    }

    /// The embedders that still have to make vectors of a document.
    pub fn waited_for(&self, address: DocumentAddress) -> impl Iterator<Item = String> {
        let reader = &self.segments[address.segment as usize].reader;
        let makers = self.settings.all_embedders().filter(|embedder| !embedder.user_provided);
        makers.filter(move |embedder| waits(reader, &embedder.name, address.doc)).map(|embedder| embedder.name)
    }

    /// Bytes that [`Snapshot::vectors_json`] takes for the vectors that are stored of a document, roughly.
    pub fn vectors_json_bytes(&self, address: DocumentAddress) -> usize {
        let reader = &self.segments[address.segment as usize].reader;
        let numbers = |vectors: &Vectors| vectors.of(address.doc).len() * vectors.shape().dimensions as usize;
        reader.vectors().iter().map(|vectors| numbers(vectors) * NUMBER_BYTES).sum()
    }

    /// The `_vectors` of a document (given as it is stored) as a JSON object: for each embedder of the settings what
    /// it knows of the document, then what the document itself says of other embedders.
    ///
    /// # Errors
    /// A stored document that is damaged.
    pub fn vectors_json(&self, address: DocumentAddress, document: &[u8]) -> Result<Vec<u8>, IndexError> {
        self.vectors_json_with(address, document, true)
    }

    /// Works like [`Snapshot::vectors_json`], with or without the vectors that are set aside because of their size.
    fn vectors_json_with(
        &self,
        address: DocumentAddress,
        document: &[u8],
        with_aside: bool,
    ) -> Result<Vec<u8>, IndexError> {
        let reader = &self.segments[address.segment as usize].reader;
        let mut out = b"{".to_vec();
        for name in self.settings.embedders.keys() {
            let vectors = reader.vectors_of(name).filter(|vectors| vectors.state(address.doc).is_present());
            if let Some(vectors) = vectors {
                let aside = aside(reader, name, address.doc).filter(|_| with_aside);
                put(&mut out, name, &shown(aside.unwrap_or(vectors), address.doc)?);
            }
        }
        // What a removed embedder left behind counts as the document's own.
        let left = reader
            .vectors()
            .iter()
            .filter(|vectors| !self.settings.embedders.contains_key(embedder_of(vectors.name())));
        let left = left.filter(|vectors| !vectors.name().contains(ASIDE));
        let left: Vec<&Vectors> = left.filter(|vectors| vectors.state(address.doc).is_user_provided()).collect();
        for vectors in &left {
            put(&mut out, embedder_of(vectors.name()), &shown(vectors, address.doc)?);
        }
        let (_, own) = split_vectors(document)?;
        // Anything but an object was refused when the document was written.
        let own: Vec<Member<'_>> = own.and_then(|own| members(own).ok()).unwrap_or_default();
        for (name, value) in own {
            let is_listed = self.settings.embedders.contains_key(&*name)
                || left.iter().any(|listed| embedder_of(listed.name()) == name);
            if !is_listed {
                put(&mut out, &name, value.get());
            }
        }
        out.push(b'}');
        Ok(out)
    }

    /// The passages of a document (given as it is stored) that its vectors of an embedder stand for, in their order; `None` if they are
    /// of other texts.
    pub fn passages(
        &self,
        address: DocumentAddress,
        embedder: &str,
        template: &PassageTemplate,
        document: &[u8],
    ) -> Option<Passages> {
        let vectors = self.segments[address.segment as usize].reader.vectors_of(embedder)?;
        let stored = vectors.get(address.doc).ok().filter(|stored| stored.state.has_hash())?;
        let (plain, _) = split_vectors(document).ok()?;
        let is_searchable = |name: &str| self.settings.is_searchable_to_templates(name);
        let passages = template.render(&plain, &is_searchable).ok()?;
        let texts: Vec<String> = passages.texts().collect();
        (texts.len() == stored.count as usize && texts_hash(&texts) == stored.text_hash).then_some(passages)
    }

    /// The document as it would have to be sent to an index with these settings to be the same: as it is stored, but
    /// for `_vectors`.
    ///
    /// # Errors
    /// A stored document that is damaged.
    pub fn document_with_vectors(&self, address: DocumentAddress) -> Result<Vec<u8>, IndexError> {
        let reader = &self.segments[address.segment as usize].reader;
        let document = self.document(address)?;
        if reader.vectors().is_empty() && self.settings.embedders.is_empty() {
            return Ok(document);
        }
        // Where they go, vectors of another size would be refused.
        let mut vectors = self.vectors_json_with(address, &document, false)?;
        for embedder in self.settings.all_embedders().filter(|embedder| embedder.user_provided) {
            let known = reader.vectors_of(&embedder.name).is_some_and(|known| known.state(address.doc).is_present());
            if !known {
                // Without a word on it the document would be refused.
                lamina_segment::document::append_member(&mut vectors, &embedder.name, b"null");
            }
        }
        // A document may be long: it is copied only where it has vectors.
        let changed = match split_vectors(&document)?.0 {
            Cow::Borrowed(_) => None,
            Cow::Owned(rest) => Some(rest),
        };
        let mut document = changed.unwrap_or(document);
        if vectors != b"{}" {
            lamina_segment::document::append_member(&mut document, VECTORS_FIELD, &vectors);
        }
        Ok(document)
    }

    /// Counts the vectors of the embedders of the settings. Reads some bytes of each document that has any.
    pub(crate) fn vector_counts(&self) -> VectorCounts {
        let mut counts = VectorCounts::default();
        for segment in &self.segments {
            let known = segment.reader.vectors().iter();
            let known: Vec<&Vectors> =
                known.filter(|vectors| self.settings.embedders.contains_key(vectors.name())).collect();
            if known.is_empty() {
                continue;
            }
            for doc in (0..segment.reader.doc_count()).filter(|doc| segment.is_live(*doc)) {
                let count: u64 = known.iter().map(|vectors| vectors.of(doc).len() as u64).sum();
                counts.vectors += count;
                counts.documents += u64::from(count > 0);
            }
        }
        counts
    }
}

fn shown(vectors: &Vectors, doc: u32) -> Result<String, SegmentError> {
    // As JSON has one kind of number, values are shown as what they are in 64 bits.
    let wide: Vec<Vec<f64>> =
        vectors.decoded(doc)?.into_iter().map(|vector| vector.into_iter().map(f64::from).collect()).collect();
    let embeddings = serde_json::to_string(&wide).expect("numbers can be written");
    Ok(format!("{{\"embeddings\":{embeddings},\"regenerate\":{}}}", vectors.state(doc).regenerates()))
}

fn put(out: &mut Vec<u8>, name: &str, value: &str) {
    if out.len() > 1 {
        out.push(b',');
    }
    out.extend_from_slice(serde_json::Value::from(name).to_string().as_bytes());
    out.push(b':');
    out.extend_from_slice(value.as_bytes());
}
