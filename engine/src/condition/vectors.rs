//! Which documents have vectors.

use lamina_index::index::settings::Settings;
use lamina_segment::bits::{BitsetBuilder, DocSet};
use lamina_segment::segment::SegmentReader;
use lamina_text::filter::{Vectors, VectorsKind};
use lamina_text::id::DocId;

/// A vector rule whose embedders are known.
#[derive(Debug)]
pub(super) struct VectorQuestion {
    /// Any of them.
    embedders: Vec<String>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Any,
    UserProvided,
    /// By a template.
    Generated,
    Regenerate,
    /// Made of the fragment at this position.
    Fragment(usize),
    Nothing,
}

impl VectorQuestion {
    pub(super) fn new(vectors: &Vectors, settings: &Settings) -> VectorQuestion {
        let embedders = match &vectors.embedder {
            Some(embedder) => vec![embedder.value.clone()],
            None => settings.embedders.keys().cloned().collect(),
        };
        let embedder = vectors.embedder.as_ref().and_then(|embedder| settings.embedder(&embedder.value));
        let fragments = embedder.map(|embedder| embedder.fragments).unwrap_or_default();
        let kind = match &vectors.kind {
            None => Kind::Any,
            Some(VectorsKind::UserProvided) => Kind::UserProvided,
            Some(VectorsKind::DocumentTemplate) if fragments.is_empty() => Kind::Generated,
            Some(VectorsKind::DocumentTemplate) => Kind::Nothing,
            Some(VectorsKind::Regenerate) => Kind::Regenerate,
            Some(VectorsKind::Fragment(fragment)) => {
                fragments.iter().position(|(name, _)| *name == fragment.value).map_or(Kind::Nothing, Kind::Fragment)
            }
        };
        VectorQuestion { embedders, kind }
    }

    /// The documents, deleted ones included. Reads some bytes of every document.
    pub(super) fn documents(&self, reader: &SegmentReader) -> DocSet {
        let mut docs = BitsetBuilder::new(reader.doc_count());
        for vectors in self.embedders.iter().filter_map(|name| reader.vectors_of(name)) {
            for doc in 0..reader.doc_count() {
                if !vectors.of(doc).is_empty() && self.kind.holds(vectors, doc) {
                    docs.insert(doc);
                }
            }
        }
        docs.finish()
    }
}

impl Kind {
    fn holds(self, vectors: &lamina_segment::segment::Vectors, doc: DocId) -> bool {
        let state = vectors.state(doc);
        match self {
            Kind::Any => true,
            Kind::UserProvided => state.is_user_provided(),
            Kind::Generated => !state.is_user_provided(),
            Kind::Regenerate => state.regenerates(),
            Kind::Fragment(position) => vectors.are_of_fragment(doc, position),
            Kind::Nothing => false,
        }
    }
}
