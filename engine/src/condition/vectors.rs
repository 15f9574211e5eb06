//! Which documents have vectors.

use crate::bits::{BitsetBuilder, DocSet};
use crate::filter::{Vectors, VectorsKind};
use crate::index::settings::Settings;
use crate::segment::{SegmentReader, VectorState};

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
    Generated,
    Regenerate,
    /// Nothing makes vectors from fragments.
    Nothing,
}

impl VectorQuestion {
    pub(super) fn new(vectors: &Vectors, settings: &Settings) -> VectorQuestion {
        let embedders = match &vectors.embedder {
            Some(embedder) => vec![embedder.value.clone()],
            None => settings.embedders.keys().cloned().collect(),
        };
        let kind = match &vectors.kind {
            None => Kind::Any,
            Some(VectorsKind::UserProvided) => Kind::UserProvided,
            Some(VectorsKind::DocumentTemplate) => Kind::Generated,
            Some(VectorsKind::Regenerate) => Kind::Regenerate,
            Some(VectorsKind::Fragment(_)) => Kind::Nothing,
        };
        VectorQuestion { embedders, kind }
    }

    /// The documents, deleted ones included. Reads some bytes of every document.
    pub(super) fn documents(&self, reader: &SegmentReader) -> DocSet {
        let mut docs = BitsetBuilder::new(reader.doc_count());
        for vectors in self.embedders.iter().filter_map(|name| reader.vectors_of(name)) {
            for doc in 0..reader.doc_count() {
                if !vectors.of(doc).is_empty() && self.kind.holds(vectors.state(doc)) {
                    docs.insert(doc);
                }
            }
        }
        docs.finish()
    }
}

impl Kind {
    fn holds(self, state: VectorState) -> bool {
        match self {
            Kind::Any => true,
            Kind::UserProvided => state.is_user_provided(),
            Kind::Generated => !state.is_user_provided(),
            Kind::Regenerate => state.regenerates(),
            Kind::Nothing => false,
        }
    }
}
